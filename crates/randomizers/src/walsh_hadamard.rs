//! The Walsh–Hadamard transform, in place and without scaling.

/// Replaces every entry by the sum of all entries with the signs of its row of the Walsh–Hadamard matrix. The
/// length must be a power of two. Cost: n log n additions.
pub(crate) fn walsh_hadamard(values: &mut [f64]) {
    let mut width = 1;
    while width < values.len() {
        for pair in values.chunks_mut(2 * width) {
            let (low, high) = pair.split_at_mut(width);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        width *= 2;
    }
}
