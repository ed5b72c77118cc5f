//! Each of the two bounds alone, against sums over all outcomes.

use super::draw::Draw;
use super::largest::{Datasets, Effort};
use super::{ALONE, Bucket, Tilt, View, integral, sum};
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

/// Everybody takes part.
fn everybody(epsilon0: f64, epsilon: f64) -> Tilt {
    View::new(epsilon0, epsilon, 2, 2).tilt(0.0).unwrap()
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
        let tilt = everybody(epsilon0, epsilon);
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
        let tilt = everybody(epsilon0, epsilon);
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
                let tilt = everybody(epsilon0, z * deviation);
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
    let users = 1 << 53;
    let datasets = Datasets::new((1.0, 0.0), (users, users), ALONE).unwrap();
    let largest = datasets.ln_largest(f64::NEG_INFINITY).exp();
    let expected = 2.0 * 0.5f64.sinh() / 2f64.powf(26.5) / std::f64::consts::TAU.sqrt();
    assert!(
        (largest / expected - 1.0).abs() < 1e-9,
        "{largest} {expected}"
    );
}

/// P(H = h) by multiplying ratios, then dividing by the sum.
fn drawn_of_kind(all: u64, drawn: u64, kind: u64) -> Vec<(u64, f64)> {
    let (least, most) = ((kind + drawn).saturating_sub(all), kind.min(drawn));
    let mut ln = 0.0;
    let mut law = vec![(least, ln)];
    for h in least..most {
        let up = (drawn - h) as f64 * (kind - h) as f64;
        let down = (h + 1) as f64 * (all + h + 1 - kind - drawn) as f64;
        ln += (up / down).ln();
        law.push((h + 1, ln));
    }
    let largest = law.iter().fold(f64::NEG_INFINITY, |m, &(_, ln)| m.max(ln));
    let total: f64 = law.iter().map(|(_, ln)| (ln - largest).exp()).sum();
    law.iter()
        .map(|&(h, ln)| (h, (ln - largest).exp() / total))
        .collect()
}

#[test]
fn tails_of_a_draw_are_tails() {
    for (all, drawn) in [(10u64, 3u64), (50, 49), (300, 30), (300, 200), (1000, 999)] {
        let draw = Draw { all, drawn };
        for kind in [0, 1, 2, all / 3, all / 2, all - 1, all] {
            let law = drawn_of_kind(all, drawn, kind);
            for x in 0..=drawn {
                let truth: f64 = law.iter().filter(|(h, _)| *h >= x).map(|(_, p)| p).sum();
                let bound = draw.ln_at_least(x, kind).exp();
                assert!(bound >= truth * (1.0 - 1e-9), "{all} {drawn} {kind} {x}");
                // Beyond two standard deviations the geometric series is close.
                if x as f64 > draw.mean(kind) + 2.0 * draw.deviation(kind) + 2.0 {
                    assert!(bound <= 2.0 * truth + 1e-300, "{all} {drawn} {kind} {x}");
                }
            }
            for exponent in [0.5, 3.0, 20.0, 200.0] {
                let (low, high) = draw.between((kind, kind), exponent);
                let below: f64 = law.iter().filter(|(h, _)| *h < low).map(|(_, p)| p).sum();
                let above: f64 = law.iter().filter(|(h, _)| *h > high).map(|(_, p)| p).sum();
                assert!(
                    below.max(above) <= (-exponent).exp(),
                    "{all} {drawn} {kind}"
                );
            }
        }
    }
}

/// E G(H, R/M), each G summed: a bucket's bound is not below it, by sums or by the closed form alone.
#[test]
fn a_bucket_of_a_sample_is_above_its_datasets() {
    let closed_forms = Effort {
        summed: 0.0,
        ..ALONE
    };
    for (epsilon0, z) in [(0.5, 0.3), (0.5, 4.0), (2.0, 1.0), (2.0, 3.0), (2.0, 5.0)] {
        for (users, taking_part) in [(900u64, 300u64), (900, 870), (4000, 400)] {
            let deviation = 2.0 * (0.5f64 * epsilon0).sinh() * (taking_part as f64).sqrt();
            let epsilon = z * deviation / users as f64;
            let view = View::new(epsilon0, epsilon, users, taking_part);
            let (others, drawn) = (users - 1, taking_part - 1);
            let of_dataset = |k: u64| -> f64 {
                let of = |&(h, p): &(u64, f64)| {
                    let share = (k - h) as f64 / (others - drawn) as f64;
                    let tilt = view.tilt(share);
                    p * tilt.map_or(0.0, |tilt| sum::ln_bound(&tilt, h, drawn - h).exp())
                };
                let likely = drawn_of_kind(others, drawn, k);
                let likely = likely.iter().filter(|(_, p)| *p > 1e-30);
                likely.map(of).sum::<f64>().ln()
            };
            for effort in [ALONE, closed_forms] {
                let (epsilons, users) = ((epsilon0, epsilon), (users, taking_part));
                let datasets = Datasets::new(epsilons, users, effort).unwrap();
                let largest = datasets.ln_largest(f64::NEG_INFINITY);
                for (first, last) in [
                    (0, others),
                    (0, 5),
                    (others / 10, others / 8),
                    (others / 2, others / 2),
                    (others - 3, others),
                ] {
                    let bound = datasets.bound(Bucket { first, last }, f64::NEG_INFINITY);
                    for k in [first, (first + last) / 2, last] {
                        let truth = of_dataset(k);
                        assert!(
                            bound >= truth - SLACK && largest >= truth - SLACK,
                            "{epsilon0} {z} {users:?} {first} {last} {k}: {bound} {largest} {truth}"
                        );
                    }
                }
            }
        }
    }
}
