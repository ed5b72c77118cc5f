//! Each of the two bounds alone, against sums over all outcomes.

use super::{BinaryCount, Bucket, Tilt, integral, sum};
use shuffledp_numerics::binomial::Binomial;

/// ln of the largest F(k, t) for these users, by the definition: two loops and a maximum.
fn by_definition(epsilon0: f64, epsilon: f64, high: u64, low: u64) -> f64 {
    let (a, p) = (epsilon.exp(), 1.0 / (epsilon0.exp() + 1.0));
    let law = |users: u64, p: f64| -> Vec<f64> {
        let binomial = Binomial::new(users, p).unwrap();
        (0..=users).map(|j| binomial.ln_pmf(j).exp()).collect()
    };
    let (first, second) = (law(high, 1.0 - p), law(low, p));
    let mut count = vec![0.0; first.len() + second.len() - 1];
    for (i, u) in first.iter().enumerate() {
        for (j, v) in second.iter().enumerate() {
            count[i + j] += u * v;
        }
    }
    let at = |j: usize| count.get(j).copied().unwrap_or(0.0);
    let before = |j: usize| if j > 0 { at(j - 1) } else { 0.0 };
    let (gain, cost) = (1.0 - p - a * p, a * (1.0 - p) - p);
    let terms = (0..=count.len()).map(|j| (gain * before(j) - cost * at(j)).max(0.0));
    terms.sum::<f64>().ln()
}

/// In ln δ: what the definition loses to rounding.
const SLACK: f64 = 1e-9;

fn questions() -> impl Iterator<Item = (f64, f64)> {
    [0.05, 0.5, 1.0, 2.0, 3.0].into_iter().flat_map(|epsilon0| {
        [0.0, 1e-4, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5]
            .into_iter()
            .map(move |share| (epsilon0, share * epsilon0))
    })
}

#[test]
fn the_sum_is_the_definition() {
    for (epsilon0, epsilon) in questions().chain([(8.0, 3.0), (8.0, 7.9), (2.0, 1.999)]) {
        let tilt = Tilt::new(epsilon0, epsilon);
        for (high, low) in [(0, 0), (1, 0), (0, 1), (7, 4), (60, 0), (0, 60), (150, 90)] {
            let truth = by_definition(epsilon0, epsilon, high, low);
            let bound = sum::ln_bound(&tilt, high, low);
            // Below this the definition subtracts nearly equal probabilities.
            if truth > -25.0 {
                assert!(
                    (bound - truth).abs() < SLACK,
                    "{epsilon0} {epsilon} {high} {low}: {bound} {truth}"
                );
            }
        }
    }
}

#[test]
fn the_integral_is_above_every_k_of_its_bucket() {
    let mut used = 0;
    for (epsilon0, epsilon) in questions() {
        let tilt = Tilt::new(epsilon0, epsilon);
        for others in [150u64, 400, 1000] {
            let largest = |ks: &[u64]| -> f64 {
                let of = |&k: &u64| sum::ln_bound(&tilt, k, others - k);
                ks.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
            };
            for (first, last) in [
                (0, others),
                (0, others / 3),
                (others / 3, others / 2),
                (others / 2, others),
                (others - 7, others),
            ] {
                let bucket = Bucket { first, last };
                let bound = integral::ln_bound(&tilt, others, bucket);
                let ks: Vec<u64> = (first..=last).step_by(7).chain([last]).collect();
                let truth = largest(&ks);
                assert!(
                    bound >= truth - SLACK,
                    "{epsilon0} {epsilon} {others} {bucket:?}: {bound} < {truth}"
                );
                used += usize::from(bound.is_finite());
            }
        }
    }
    assert!(used > 400, "{used} bounds were of use");
}

#[test]
fn the_integral_is_close_for_one_k() {
    // The error falls like one over the variance: N/4 at most, (z⁴ + 1) of it or so.
    for others in [10_000u64, 100_000, 1_000_000] {
        for epsilon0 in [0.1, 1.0, 2.0] {
            let deviation = 2.0 * (0.5f64 * epsilon0).sinh() / (others as f64).sqrt();
            for z in [0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 6.0] {
                let tilt = Tilt::new(epsilon0, z * deviation);
                for k in [0, others / 3, others / 2, others - 1, others] {
                    let bucket = Bucket { first: k, last: k };
                    let bound = integral::ln_bound(&tilt, others, bucket);
                    let truth = sum::ln_bound(&tilt, k, others - k);
                    let excess = bound - truth;
                    assert!(excess >= -SLACK, "{others} {epsilon0} {z} {k}: {excess}");
                    let allowed = 60.0 / (others as f64 * tilt.kinds[0].variance);
                    assert!(excess <= allowed, "{others} {epsilon0} {z} {k}: {excess}");
                }
            }
        }
    }
}

#[test]
fn huge_rounds_are_close_to_a_gaussian() {
    // 2⁵³ users at ε₀ = 1: δ(0) = 2Φ(μ/2) − 1 ≈ μ/√(2π), μ = 2 sinh(ε₀/2)/√n.
    let count = BinaryCount {
        epsilon0: 1.0,
        others: (1 << 53) - 1,
    };
    let largest = count.ln_largest(&Tilt::new(1.0, 0.0)).exp();
    let expected = 2.0 * 0.5f64.sinh() / 2f64.powf(26.5) / std::f64::consts::TAU.sqrt();
    assert!(
        (largest / expected - 1.0).abs() < 1e-9,
        "{largest} {expected}"
    );
}
