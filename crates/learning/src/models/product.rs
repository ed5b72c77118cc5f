//! The matrix products that layers are made of, on matrices stored row after row.
//!
//! ```text
//! C = A·B        C = Aᵀ·B        C = A·Bᵀ        y = B·x
//! ```
//!
//! They come from a crate whose kernels use the widest vectors that the machine has: half the time of loops
//! in safe Rust, blocked by hand, at the sizes of the papers' networks. So the last bits of a gradient are
//! the same on one machine and may differ between two. A single row is not worth packing, and is a loop here.

use super::real::Real;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

const LANES: usize = 8;

/// C = A·B with A of `inner` columns and B and C of `columns`.
pub(crate) fn product<T: Real>(a: &[T], b: &[T], c: &mut [T], inner: usize, columns: usize) {
    if c.len() == columns {
        return weighted_rows(a, b, c);
    }
    let rows = c.len() / columns;
    let (a, b) = (view(a, rows, inner), view(b, inner, columns));
    multiply(&a, &b, c, rows, columns);
}

/// C = Aᵀ·B with A of `rows` columns and B and C of `columns`.
pub(crate) fn product_of_transposed<T: Real>(
    a: &[T],
    b: &[T],
    c: &mut [T],
    rows: usize,
    columns: usize,
) {
    let inner = b.len() / columns;
    let (a, b) = (view(a, inner, rows), view(b, inner, columns));
    multiply(&a.reversed_axes(), &b, c, rows, columns);
}

/// C = A·Bᵀ with A and B of `inner` columns and C of `columns`.
pub(crate) fn product_with_transposed<T: Real>(
    a: &[T],
    b: &[T],
    c: &mut [T],
    inner: usize,
    columns: usize,
) {
    let rows = c.len() / columns;
    let (a, b) = (view(a, rows, inner), view(b, columns, inner));
    multiply(&a, &b.reversed_axes(), c, rows, columns);
}

/// y = B·x, the sum over each row of B in lanes.
pub(crate) fn product_with_vector<T: Real>(b: &[T], x: &[T], y: &mut [T]) {
    debug_assert_eq!(b.len(), x.len() * y.len());
    for (row, y) in b.chunks_exact(x.len()).zip(y) {
        let mut sums = [T::ZERO; LANES];
        let (row, x) = (row.chunks_exact(LANES), x.chunks_exact(LANES));
        let rest = row.remainder().iter().zip(x.remainder());
        let mut sum = rest.fold(T::ZERO, |sum, (&b, &x)| sum + b * x);
        for (b, x) in row.zip(x) {
            for ((sum, &b), &x) in sums.iter_mut().zip(b).zip(x) {
                *sum += b * x;
            }
        }
        for lane in sums {
            sum += lane;
        }
        *y = sum;
    }
}

/// C is one row: the rows of B, weighted.
fn weighted_rows<T: Real>(weights: &[T], b: &[T], c: &mut [T]) {
    c.fill(T::ZERO);
    for (&a, row) in weights.iter().zip(b.chunks_exact(c.len())) {
        for (sum, &b) in c.iter_mut().zip(row) {
            *sum += a * b;
        }
    }
}

fn view<T>(numbers: &[T], rows: usize, columns: usize) -> ArrayView2<'_, T> {
    // Every caller's sizes come from one layer.
    #[expect(clippy::expect_used)]
    ArrayView2::from_shape((rows, columns), numbers).expect("as many numbers as rows times columns")
}

fn multiply<T: Real>(
    a: &ArrayView2<T>,
    b: &ArrayView2<T>,
    c: &mut [T],
    rows: usize,
    columns: usize,
) {
    // Every caller's sizes come from one layer.
    #[expect(clippy::expect_used)]
    let mut c = ArrayViewMut2::from_shape((rows, columns), c)
        .expect("as many numbers as rows times columns");
    general_mat_mul(T::ONE, a, b, T::ZERO, &mut c);
}

#[cfg(test)]
mod tests {
    use super::{product, product_of_transposed, product_with_transposed, product_with_vector};

    /// Whole numbers, so that all orders of additions agree.
    fn matrix(rows: usize, columns: usize) -> Vec<f64> {
        (0..rows * columns)
            .map(|i| ((i * 7 + i / 5) % 11) as f64 - 5.0)
            .collect()
    }

    fn direct(a: &[f64], b: &[f64], inner: usize, columns: usize) -> Vec<f64> {
        let mut c = Vec::new();
        for row in a.chunks(inner) {
            for column in 0..columns {
                c.push((0..inner).map(|l| row[l] * b[l * columns + column]).sum());
            }
        }
        c
    }

    fn transposed(a: &[f64], columns: usize) -> Vec<f64> {
        let rows = a.len() / columns;
        (0..a.len())
            .map(|i| a[i % rows * columns + i / rows])
            .collect()
    }

    #[test]
    fn products_of_every_small_size_are_right() {
        for rows in 1..10 {
            for inner in 1..6 {
                for columns in (1..20).step_by(3) {
                    let (a, b) = (matrix(rows, inner), matrix(inner, columns));
                    let wanted = direct(&a, &b, inner, columns);
                    let mut c = vec![f64::NAN; rows * columns];
                    product(&a, &b, &mut c, inner, columns);
                    assert_eq!(c, wanted);
                    let turned = transposed(&a, inner);
                    c.fill(f64::NAN);
                    product_of_transposed(&turned, &b, &mut c, rows, columns);
                    assert_eq!(c, wanted);
                    let turned = transposed(&b, columns);
                    c.fill(f64::NAN);
                    product_with_transposed(&a, &turned, &mut c, inner, columns);
                    assert_eq!(c, wanted);
                }
                let (b, x) = (matrix(rows, 3 * inner), matrix(3 * inner, 1));
                let mut y = vec![f64::NAN; rows];
                product_with_vector(&b, &x, &mut y);
                assert_eq!(y, direct(&b, &x, 3 * inner, 1));
            }
        }
    }
}
