//! The Walsh–Hadamard transform, in place and without scaling.

/// In place: every entry becomes the sum of all with the signs of its row of the Walsh–Hadamard matrix; the
/// length is a power of two.
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
