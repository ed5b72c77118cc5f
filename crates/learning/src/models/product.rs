//! The matrix products that layers are made of, on matrices stored row after row.
//!
//! ```text
//! C = A·B        C = Aᵀ·B        y = B·x
//! ```
//!
//! Four rows by eight columns of C at a time stay in registers while A and B stream by; the compiler turns eight columns into vector instructions. The matrices here are so small (a few thousand numbers) that copying them into the layout of a big product costs more than it gains. Every number of C is a sum in one fixed order.

use super::real::Real;

const ROWS: usize = 4;
const COLUMNS: usize = 8;

/// C = A·B with A of `inner` columns and B and C of `columns`.
pub(crate) fn product<T: Real>(a: &[T], b: &[T], c: &mut [T], inner: usize, columns: usize) {
    debug_assert_eq!(a.len() * columns, c.len() * inner);
    debug_assert_eq!(b.len(), inner * columns);
    let mut blocks = a.chunks_exact(ROWS * inner);
    let mut out = c.chunks_exact_mut(ROWS * columns);
    for (a, c) in blocks.by_ref().zip(out.by_ref()) {
        let (a0, rest) = a.split_at(inner);
        let (a1, rest) = rest.split_at(inner);
        let (a2, a3) = rest.split_at(inner);
        let lines = || {
            a0.iter()
                .zip(a1)
                .zip(a2.iter().zip(a3))
                .map(|((&a0, &a1), (&a2, &a3))| [a0, a1, a2, a3])
        };
        tile(lines, b, c, columns);
    }
    let rest = blocks.remainder().chunks_exact(inner);
    for (a, c) in rest.zip(out.into_remainder().chunks_exact_mut(columns)) {
        weighted_rows(a.iter().copied(), b, c);
    }
}

/// C = Aᵀ·B with A of `rows` columns and B and C of `columns`.
pub(crate) fn product_of_transposed<T: Real>(
    a: &[T],
    b: &[T],
    c: &mut [T],
    rows: usize,
    columns: usize,
) {
    debug_assert_eq!(a.len() * columns, b.len() * rows);
    debug_assert_eq!(c.len(), rows * columns);
    let mut out = c.chunks_exact_mut(ROWS * columns);
    let mut first = 0;
    for c in out.by_ref() {
        let lines = || {
            a.chunks_exact(rows).map(|line| {
                let part = &line[first..first + ROWS];
                [part[0], part[1], part[2], part[3]]
            })
        };
        tile(lines, b, c, columns);
        first += ROWS;
    }
    for (row, c) in out.into_remainder().chunks_exact_mut(columns).enumerate() {
        weighted_rows(a.chunks_exact(rows).map(|line| line[first + row]), b, c);
    }
}

/// y = B·x, a sum over the rows of B in lanes.
pub(crate) fn product_with_vector<T: Real>(b: &[T], x: &[T], y: &mut [T]) {
    debug_assert_eq!(b.len(), x.len() * y.len());
    for (row, y) in b.chunks_exact(x.len()).zip(y) {
        let mut sums = [T::ZERO; COLUMNS];
        let (row, x) = (row.chunks_exact(COLUMNS), x.chunks_exact(COLUMNS));
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

/// Four rows of C, from what `lines` gives of A for each row of B.
fn tile<T: Real, I: Iterator<Item = [T; ROWS]>>(
    lines: impl Fn() -> I,
    b: &[T],
    c: &mut [T],
    columns: usize,
) {
    let whole = columns - columns % COLUMNS;
    for first in (0..whole).step_by(COLUMNS) {
        let mut sums = [[T::ZERO; COLUMNS]; ROWS];
        for (a, row) in lines().zip(b.chunks_exact(columns)) {
            let row = &row[first..first + COLUMNS];
            for (sums, a) in sums.iter_mut().zip(a) {
                for (sum, &b) in sums.iter_mut().zip(row) {
                    *sum += a * b;
                }
            }
        }
        for (line, sums) in c.chunks_exact_mut(columns).zip(&sums) {
            line[first..first + COLUMNS].copy_from_slice(sums);
        }
    }
    for column in whole..columns {
        let mut sums = [T::ZERO; ROWS];
        for (a, row) in lines().zip(b.chunks_exact(columns)) {
            for (sum, a) in sums.iter_mut().zip(a) {
                *sum += a * row[column];
            }
        }
        for (line, sum) in c.chunks_exact_mut(columns).zip(sums) {
            line[column] = sum;
        }
    }
}

/// One row of C: the rows of B, weighted.
fn weighted_rows<T: Real>(weights: impl Iterator<Item = T>, b: &[T], c: &mut [T]) {
    c.fill(T::ZERO);
    for (a, row) in weights.zip(b.chunks_exact(c.len())) {
        for (sum, &b) in c.iter_mut().zip(row) {
            *sum += a * b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{product, product_of_transposed, product_with_vector};

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
                    let turned: Vec<f64> = (0..inner * rows)
                        .map(|i| a[i % rows * inner + i / rows])
                        .collect();
                    c.fill(f64::NAN);
                    product_of_transposed(&turned, &b, &mut c, rows, columns);
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
