//! A vector as integers (levels) that lie inside the ball.
//!
//! ```text
//! level of x_i:   s x_i, truncated towards zero
//! Σ size(level) ≤ most, in integers:   size(l) = |l| for the l₁ ball, l² for the l₂ ball
//! ```
//!
//! Sizes are added up as f64 and in lanes, which is several times as fast as a chain of integers. The sum is
//! exact below 2⁵³, and every `most` is: a sum that has been rounded was at least 2⁵³ before, and sizes are
//! not negative, so it stays above `most`.
//!
//! Truncation makes no coordinate larger, so the levels of a vector in the ball are in the ball.
//! [`crate::Randomizer::check`] accepts norms a millionth above the radius, and norms are rounded. A vector
//! whose levels are outside is scaled down until they are inside: the noise is calibrated to the ball, and
//! the guarantee must not be off by a millionth. Cost: two passes, and one for each step of scaling.

/// The first relative step by which a vector outside the ball is scaled down; it doubles each time. Ten times
/// smaller than the largest excess that is accepted, so that hardly more is taken off than must be.
const CUT: f64 = 1e-7;
/// Sums that are added up side by side: as many f64 as the widest vectors of a processor hold.
const LANES: usize = 8;

/// The levels of a vector at `scale`, or at a smaller scale if their sizes add up to more than `most`.
pub(crate) fn inside(
    value: &[f32],
    scale: f64,
    most: u64,
    size: impl Fn(f64) -> f64,
) -> impl Iterator<Item = i64> {
    debug_assert!(most < 1 << 53, "a size that f64 does not hold");
    let mut cut = 0.0f64;
    loop {
        let smaller = scale * (1.0 - cut).max(0.0);
        if total(value, smaller, &size) <= most as f64 {
            return value.iter().map(move |x| level(*x, smaller));
        }
        cut = (2.0 * cut).max(CUT);
    }
}

/// The sum of the sizes of the levels.
fn total(value: &[f32], scale: f64, size: impl Fn(f64) -> f64) -> f64 {
    let of = |x: &f32| size(level(*x, scale) as f64);
    let mut sums = [0.0f64; LANES];
    let chunks = value.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(of).sum();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += of(x);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Truncated towards zero; NaN becomes zero.
fn level(x: f32, scale: f64) -> i64 {
    (f64::from(x) * scale) as i64
}

#[cfg(test)]
mod tests {
    use super::inside;
    use crate::sample::random::{Random, Simulated};

    /// In the l₁ ball and in the l₂ ball of `steps` steps, for a radius of one.
    fn both(value: &[f32], steps: u64) -> [Vec<i64>; 2] {
        let scale = steps as f64 * (1.0 - 1e-12);
        let square = |level: f64| level * level;
        let flat: Vec<i64> = inside(value, scale, steps, f64::abs).collect();
        let round: Vec<i64> = inside(value, scale, steps * steps, square).collect();
        let total: u128 = flat.iter().map(|l| u128::from(l.unsigned_abs())).sum();
        assert!(total <= u128::from(steps), "{total} {steps}");
        let total: u128 = round
            .iter()
            .map(|l| u128::from(l.unsigned_abs()).pow(2))
            .sum();
        assert!(total <= u128::from(steps).pow(2), "{total} {steps}");
        [flat, round]
    }

    #[test]
    fn what_is_inside_is_cut_to_the_grid_and_no_more() {
        let [flat, round] = both(&[0.5, -0.25, 1e-9, -0.0, f32::MIN_POSITIVE], 1001);
        assert_eq!(flat, [500, -250, 0, 0, 0]);
        assert_eq!(round, flat);
        // At the very corner a step is lost to the doubt about rounding.
        assert_eq!(both(&[1.0, 0.0], 1 << 20)[0], [(1 << 20) - 1, 0]);
    }

    #[test]
    fn no_vector_has_levels_outside() {
        let beyond = 1.0 + 9e-7;
        for steps in [1, 7, 327, 218_453, 1 << 20] {
            for d in [1usize, 2, 3, 100, 4096] {
                for norm in [1.0, beyond, 1.0 + f64::from(f32::EPSILON)] {
                    let flat = vec![(norm / d as f64) as f32; d];
                    let round = vec![(norm / (d as f64).sqrt()) as f32; d];
                    both(&flat, steps);
                    both(&round, steps);
                }
            }
            both(&[beyond as f32, 1e-40, -1e-45, f32::MIN_POSITIVE], steps);
            // Not checked, and not let out either.
            both(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0], steps);
            both(&[f32::MAX, f32::MIN, 0.5], steps);
        }
    }

    #[test]
    fn a_vector_outside_by_the_tolerance_moves_by_hardly_more() {
        let steps = 1 << 20;
        let levels = &both(&[0.6, -0.800_000_7], steps)[1];
        for (level, x) in levels.iter().zip([0.6, -0.800_000_7]) {
            let back = *level as f64 / steps as f64;
            assert!((back - x).abs() < 3e-6, "{back} {x}");
        }
    }

    #[test]
    fn vectors_at_random_about_the_sphere() {
        let mut random = Simulated::new(31, 0);
        for case in 0..20_000u64 {
            let d = 1 + (random.word() % 40) as usize;
            // Exponents far apart: some coordinates carry all, others are denormal.
            let mut value: Vec<f64> = (0..d)
                .map(|_| {
                    let size = 2f64.powi(-((random.word() % (1 + case % 140)) as i32));
                    let part = random.word() as f64 / 2f64.powi(64);
                    if random.word() >> 63 == 0 {
                        size * part
                    } else {
                        -size * part
                    }
                })
                .collect();
            let flat = case % 2 == 0;
            let norm: f64 = if flat {
                value.iter().map(|x| x.abs()).sum()
            } else {
                value.iter().map(|x| x * x).sum::<f64>().sqrt()
            };
            let wanted = 1.0 + 1e-6 * (random.word() as f64 / 2f64.powi(64) - 0.2);
            value.iter_mut().for_each(|x| *x *= wanted / norm);
            let value: Vec<f32> = value.iter().map(|x| *x as f32).collect();
            both(&value, 1 + random.word() % (1 << 20));
        }
    }
}
