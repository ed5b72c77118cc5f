//! Randomizers with densities: known brackets, finite channels, brute force, simulation, and the order of
//! things on a thousand settings.

#![allow(clippy::unwrap_used)]

mod common;

use common::bounds::delta;
use common::{bounds, exhaustive};
use shuffledp_accounting::{Channel, Delta, Domain, Mechanism, Plan, Round, ScalarKind, account};

/// SplitMix64: the same settings on every machine.
struct Random(u64);

impl Random {
    /// Uniform between two numbers.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        low + (high - low) * (z >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn epsilon(mechanism: Mechanism, users: u64, delta: f64) -> (f64, f64) {
    bounds::epsilon(&Round::new(mechanism, users).unwrap(), delta)
}

/// Brackets computed independently (Python, convex-order convolution), all digits given.
#[test]
fn brackets_on_an_interval() {
    let gaussian = |sigma| Mechanism::gaussian(sigma, Domain::Interval).unwrap();
    let laplace = |epsilon0| Mechanism::scalar(ScalarKind::Laplace, epsilon0).unwrap();
    for (mechanism, users, upper, lower) in [
        (gaussian(1.0), 1_000, "0.2122", "0.1717"),
        (gaussian(1.0), 10_000, "0.0601", "0.0458"),
        (gaussian(1.0), 100_000, "0.0173", "0.0130"),
        (gaussian(2.0), 1_000, "0.0704", "0.0592"),
        (gaussian(2.0), 10_000, "0.0204", "0.0171"),
        (gaussian(5.0), 1_000, "0.0225", "0.0208"),
        (gaussian(5.0), 10_000, "0.0064", "0.0059"),
        // Printed elsewhere as 0.0017; it is 0.0016477 (45-digit arithmetic).
        (gaussian(5.0), 100_000, "0.0018", "0.0016"),
        (laplace(1.0), 10_000, "0.0378", "0.0313"),
        (laplace(4.0), 10_000, "0.3281", "0.2445"),
    ] {
        let (low, high) = epsilon(mechanism.clone(), users, 1e-6);
        assert_eq!(
            (format!("{high:.4}").as_str(), format!("{low:.4}").as_str()),
            (upper, lower),
            "{mechanism:?}, {users} users"
        );
    }
}

/// Three digits, as the page prints them.
fn three(value: f64) -> String {
    let digits = (2.0 - value.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').to_owned()
}

/// Every number of the table in docs/randomizers.md.
#[test]
fn the_page_says_what_is_computed() {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/randomizers.md"
    ))
    .unwrap();
    let words = |users: u64| match users {
        1_000 => "1,000",
        10_000 => "10,000",
        _ => "1,000,000",
    };
    for (epsilon0, sigma) in [(0.5, 11.44), (1.0, 5.868), (2.0, 3.026), (4.0, 1.575)] {
        for users in [1_000, 10_000, 1_000_000] {
            let any = epsilon(Mechanism::ldp(epsilon0).unwrap(), users, 1e-6).1;
            let laplace = Mechanism::scalar(ScalarKind::Laplace, epsilon0).unwrap();
            let laplace = epsilon(laplace, users, 1e-6);
            let gaussian = Mechanism::gaussian(sigma, Domain::Interval).unwrap();
            let gaussian = epsilon(gaussian, users, 1e-6);
            let row = format!(
                "| {epsilon0} | {} | {} | {} / {} | {:.2} | {sigma} | {} / {} | {:.2} |",
                words(users),
                three(any),
                three(laplace.1),
                three(laplace.0),
                any / laplace.1,
                three(gaussian.1),
                three(gaussian.0),
                any / gaussian.1,
            );
            assert!(page.contains(&row), "not on the page: {row}");
        }
    }
}

/// Noise that is known to be ε₀-LDP is never worse off than any ε₀-LDP randomizer.
#[test]
fn the_specific_bound_beats_the_general_one() {
    for epsilon0 in [0.5, 2.0, 4.0] {
        for users in [1_000, 100_000] {
            let general = epsilon(Mechanism::ldp(epsilon0).unwrap(), users, 1e-6).1;
            for kind in [
                ScalarKind::Laplace,
                ScalarKind::TruncatedLaplace,
                ScalarKind::Piecewise,
                ScalarKind::Duchi,
                ScalarKind::Hybrid,
            ] {
                let (low, high) = epsilon(Mechanism::scalar(kind, epsilon0).unwrap(), users, 1e-6);
                assert!(
                    low <= high && high <= general * 1.000_001,
                    "{kind:?} {epsilon0} {users}"
                );
            }
        }
    }
}

/// Discrete Laplace noise on k values is a k by k channel, reports beyond the ends counted as the ends: every
/// pair of inputs and its blanket are tried there, here only the ends.
fn discrete_laplace(k: usize, epsilon0: f64) -> Vec<Vec<f64>> {
    let alpha = (-epsilon0 / (k - 1) as f64).exp();
    (0..k)
        .map(|x| {
            (0..k)
                .map(|z| {
                    let here = alpha.powi((x as i32 - z as i32).abs()) / (1.0 + alpha);
                    if z == 0 || z == k - 1 {
                        here
                    } else {
                        (1.0 - alpha) * here
                    }
                })
                .collect()
        })
        .collect()
}

#[test]
fn the_ends_are_the_worst_values_of_discrete_laplace_noise() {
    for (k, epsilon0, users) in [(3, 1.0, 50), (4, 2.0, 3), (5, 0.3, 1000), (6, 4.0, 20)] {
        let channel = Channel::new(discrete_laplace(k, epsilon0)).unwrap();
        let all = Round::new(Mechanism::matrix(channel), users).unwrap();
        let ends = Mechanism::discrete_laplace(k as u64, epsilon0).unwrap();
        let ends = Round::new(ends, users).unwrap();
        for epsilon in [0.0, 0.1, 0.5] {
            let ((_, all), (_, ends)) = (delta(&all, epsilon), delta(&ends, epsilon));
            assert!(
                (all - ends).abs() <= 1e-6 * ends,
                "k {k} eps0 {epsilon0}: {all} {ends}"
            );
        }
    }
}

/// With many values the discrete noise is the continuous one.
#[test]
fn discrete_laplace_noise_converges() {
    let (low, high) = epsilon(
        Mechanism::scalar(ScalarKind::Laplace, 2.0).unwrap(),
        5_000,
        1e-6,
    );
    let (l, h) = epsilon(
        Mechanism::discrete_laplace(4_001, 2.0).unwrap(),
        5_000,
        1e-6,
    );
    assert!(
        (l / low - 1.0).abs() < 1e-3 && (h / high - 1.0).abs() < 1e-3,
        "{l} {low} {h} {high}"
    );
}

/// The largest δ over all datasets of three users of a channel, by enumerating every multiset of reports.
fn brute_force(rows: &[Vec<f64>], epsilon: f64) -> f64 {
    let (inputs, outputs) = (rows.len(), rows[0].len());
    // The probability of each multiset of three reports, at the place of its sorted triple.
    let law = |x: [usize; 3]| {
        let mut law = vec![0.0; outputs * outputs * outputs];
        for a in 0..outputs {
            for b in 0..outputs {
                for c in 0..outputs {
                    let mut reports = [a, b, c];
                    reports.sort_unstable();
                    let [a1, b1, c1] = reports;
                    law[(a1 * outputs + b1) * outputs + c1] +=
                        rows[x[0]][a] * rows[x[1]][b] * rows[x[2]][c];
                }
            }
        }
        law
    };
    let mut worst: f64 = 0.0;
    for y in 0..inputs {
        for z in y..inputs {
            let laws: Vec<Vec<f64>> = (0..inputs).map(|x| law([x, y, z])).collect();
            for p in &laws {
                for q in &laws {
                    let excess = |(p, q): (&f64, &f64)| (p - epsilon.exp() * q).max(0.0);
                    worst = worst.max(p.iter().zip(q).map(excess).sum());
                }
            }
        }
    }
    worst
}

/// A channel that has the given density integrated over cells as rows: what rounding reports to cells leaves
/// of a randomizer on these inputs.
fn rounded(cdf: impl Fn(f64, f64) -> f64, inputs: &[f64], edges: &[f64]) -> Vec<Vec<f64>> {
    inputs
        .iter()
        .map(|&x| {
            let mut row = vec![cdf(x, edges[0])];
            row.extend(
                edges
                    .windows(2)
                    .map(|pair| cdf(x, pair[1]) - cdf(x, pair[0])),
            );
            row.push(1.0 - cdf(x, edges[edges.len() - 1]));
            row
        })
        .collect()
}

/// No dataset of three users does worse than the upper bound, whatever is done to the reports; and cells do
/// nearly as well as the lower one says some dataset does.
#[test]
fn no_dataset_of_three_is_worse() {
    let inputs = [0.0, 0.3, 0.5, 0.8, 1.0];
    let edges: Vec<f64> = (0..=9).map(|i| -0.4 + 0.2 * f64::from(i)).collect();
    let normal = |x: f64| 0.5 * shuffledp_numerics::special::erfc(-x / std::f64::consts::SQRT_2);
    for epsilon0 in [0.5, 2.0, 5.0] {
        let laplace = |x: f64, y: f64| {
            let z = epsilon0 * (y - x);
            if z < 0.0 {
                0.5 * z.exp()
            } else {
                1.0 - 0.5 * (-z).exp()
            }
        };
        let truncated = |x: f64, y: f64| {
            let y = y.clamp(0.0, 1.0);
            (laplace(x, y) - laplace(x, 0.0)) / (laplace(x, 1.0) - laplace(x, 0.0))
        };
        let sigma = 2.0 / epsilon0;
        let gaussian = |x: f64, y: f64| normal((y - x) / sigma);
        let scalar = |kind| Mechanism::scalar(kind, epsilon0).unwrap();
        let narrow: Vec<f64> = (1..=9).map(|i| 0.1 * f64::from(i)).collect();
        let channels = [
            (
                scalar(ScalarKind::Laplace),
                rounded(laplace, &inputs, &edges),
            ),
            (
                scalar(ScalarKind::TruncatedLaplace),
                rounded(truncated, &inputs, &narrow),
            ),
            (
                Mechanism::gaussian(sigma, Domain::Interval).unwrap(),
                rounded(gaussian, &inputs, &edges),
            ),
            (
                Mechanism::discrete_laplace(5, epsilon0).unwrap(),
                discrete_laplace(5, epsilon0),
            ),
        ];
        for (mechanism, rows) in channels {
            let round = Round::new(mechanism.clone(), 3).unwrap();
            for epsilon in [0.0, 0.2, 0.7] {
                let (low, high) = delta(&round, epsilon);
                let found = brute_force(&rows, epsilon);
                assert!(
                    found <= high * (1.0 + 1e-9),
                    "{mechanism:?} at {epsilon}: {found} {high}"
                );
                // What rare reports far out give away, cells of this size do not see.
                assert!(
                    low <= high && (low < 1e-3 || found >= 0.5 * low),
                    "{mechanism:?} at {epsilon}: {found} {low}"
                );
            }
        }
    }
}

/// The piecewise mechanism on a few values: its reports, by which windows they fall into. And the hybrid,
/// which has these reports and Duchi's.
#[test]
fn no_dataset_of_three_is_worse_for_the_piecewise_mechanism_and_the_hybrid() {
    for epsilon0 in [0.5f64, 1.0, 3.0] {
        let h = (0.5 * epsilon0).exp();
        let c = (h + 1.0) / (h - 1.0);
        let low = (h - 1.0) / (2.0 * h * (h + 1.0));
        let values = [-1.0, -0.4, 0.0, 0.5, 1.0];
        let window = |x: f64| {
            let start = 0.5 * (c + 1.0) * x - 0.5 * (c - 1.0);
            (start, start + c - 1.0)
        };
        let mut edges: Vec<f64> = values
            .iter()
            .flat_map(|&x| [window(x).0, window(x).1])
            .collect();
        edges.extend([-c, c]);
        edges.sort_by(f64::total_cmp);
        edges.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        let rows: Vec<Vec<f64>> = values
            .iter()
            .map(|&x| {
                let (start, end) = window(x);
                edges
                    .windows(2)
                    .map(|pair| {
                        let middle = 0.5 * (pair[0] + pair[1]);
                        let inside = start < middle && middle < end;
                        (pair[1] - pair[0]) * low * if inside { epsilon0.exp() } else { 1.0 }
                    })
                    .collect()
            })
            .collect();
        for row in &rows {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let often = if epsilon0 > 0.61 { 1.0 - 1.0 / h } else { 0.0 };
        let lean = 0.5 * (0.5 * epsilon0).tanh();
        let mixed = |(row, x): (&Vec<f64>, &f64)| {
            let mut mixed: Vec<f64> = row.iter().map(|entry| often * entry).collect();
            mixed.extend([0.5 + lean * x, 0.5 - lean * x].map(|bit| (1.0 - often) * bit));
            mixed
        };
        let hybrid: Vec<Vec<f64>> = rows.iter().zip(&values).map(mixed).collect();
        for (kind, rows) in [(ScalarKind::Piecewise, rows), (ScalarKind::Hybrid, hybrid)] {
            let round = Round::new(Mechanism::scalar(kind, epsilon0).unwrap(), 3).unwrap();
            for epsilon in [0.0, 0.2, 0.7] {
                let (lower, upper) = delta(&round, epsilon);
                let found = brute_force(&rows, epsilon);
                assert!(
                    found <= upper * (1.0 + 1e-9),
                    "{kind:?} {epsilon0} at {epsilon}: {found} {upper}"
                );
                // The datasets of the lower bound are among these.
                assert!(
                    found >= lower * (1.0 - 1e-9),
                    "{kind:?} {epsilon0} at {epsilon}: {found} {lower}"
                );
            }
        }
    }
}

/// The mechanism itself, run: user 1 at one end or the other, everybody's noise drawn, reports shuffled, and
/// the likelihood-ratio test made on what is seen.
#[test]
fn simulation_confirms_the_bracket() {
    let mut random = Random(1);
    let (users, sigma, rounds) = (4usize, 1.0, 400_000);
    let mut normal = move || {
        let (u, v) = (random.between(0.0, 1.0), random.between(0.0, 1.0));
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    for epsilon in [0.2f64, 0.8] {
        let a = epsilon.exp();
        // The ratio of the shuffled densities, user 1 at 1 over user 1 at 0, the others at 0.
        let ratio = |reports: &[f64]| {
            let terms = reports
                .iter()
                .map(|y| ((2.0 * y - 1.0) / (2.0 * sigma * sigma)).exp());
            terms.sum::<f64>() / users as f64
        };
        let mut hits = [0.0, 0.0];
        for (world, hit) in hits.iter_mut().enumerate() {
            for _ in 0..rounds {
                let mut reports: Vec<f64> = (0..users).map(|_| sigma * normal()).collect();
                reports[0] += world as f64;
                reports.sort_by(f64::total_cmp);
                if ratio(&reports) > a {
                    *hit += 1.0;
                }
            }
        }
        let [from_zero, from_one] = hits.map(|hit| hit / f64::from(rounds));
        let seen = from_one - a * from_zero;
        let variance = from_one * (1.0 - from_one) + a * a * from_zero * (1.0 - from_zero);
        let error = 5.0 * (variance / f64::from(rounds)).sqrt();
        let gaussian = Mechanism::gaussian(sigma, Domain::Interval).unwrap();
        let (low, high) = delta(&Round::new(gaussian, users as u64).unwrap(), epsilon);
        assert!(seen - error <= high, "{seen} ± {error} above {high}");
        // The attack is the one that the lower bound is the value of.
        assert!(
            (seen - low).abs() <= error,
            "{seen} ± {error}, attained {low}"
        );
    }
}

/// On a thousand settings: the lower bound is below the upper one, and more users, or more noise, never hurt.
///
/// The fast tests take the first 210: each kind of noise (7) with each way of taking part (3), and whether
/// users and noise are varied too (every tenth).
#[test]
fn order_on_a_thousand_settings() {
    use rayon::prelude::*;
    let settings = if exhaustive() { 1000 } else { 210u64 };
    let failures: Vec<String> = (0..settings)
        .into_par_iter()
        .filter_map(|seed| {
            let mut random = Random(seed);
            let users = 10f64.powf(random.between(0.4, 6.5)) as u64;
            let noise = 10f64.powf(random.between(-0.2, 1.0));
            let epsilon0 = 10f64.powf(random.between(-1.0, 0.8));
            let kind = seed % 7;
            let mechanism = |noise: f64, epsilon0: f64| {
                match kind {
                    0 | 1 => Mechanism::gaussian(noise, Domain::Interval),
                    2 => Mechanism::random_allocation(noise),
                    3 => Mechanism::scalar(ScalarKind::Laplace, epsilon0),
                    4 => Mechanism::scalar(ScalarKind::TruncatedLaplace, epsilon0),
                    5 => Mechanism::scalar(ScalarKind::Piecewise, epsilon0),
                    _ => Mechanism::discrete_laplace(2 + seed % 90, epsilon0),
                }
                .unwrap()
            };
            let round = |users: u64, noise: f64, epsilon0: f64| {
                let round = Round::new(mechanism(noise, epsilon0), users.max(2)).unwrap();
                match seed % 3 {
                    _ if kind == 2 => round,
                    0 => round.check_in(0.3).unwrap(),
                    1 => round.sample((users.max(2) / 2).max(1)).unwrap(),
                    _ => round,
                }
            };
            // About where δ is small and not tiny.
            let scale = if kind < 3 { 1.0 / noise } else { epsilon0 };
            let epsilon = scale * 4.0 / (users as f64).sqrt() * random.between(0.0, 1.0);
            let here = delta(&round(users, noise, epsilon0), epsilon);
            let mut wrong = here.0 > here.1;
            if seed % 10 == 0 {
                let more = delta(&round(2 * users, noise, epsilon0), epsilon);
                let quieter = delta(&round(users, noise * 1.2, epsilon0 / 1.2), epsilon);
                for better in [more, quieter] {
                    wrong |= better.1 > here.1 * (1.0 + 1e-4) || better.0 > here.0 * (1.0 + 1e-4);
                }
            }
            wrong.then(|| {
                format!("seed {seed}, kind {kind}, {users} users, eps {epsilon}: {here:?}")
            })
        })
        .collect();
    assert!(failures.is_empty(), "{}: {:#?}", failures.len(), failures);
}

/// What a law leaves out counts as δ, also after composition, where beyond the largest loss that the law
/// knows δ would else be zero. With other rounds in the plan there is no closed form to fall back on.
#[test]
fn what_a_law_leaves_out_is_not_forgotten() {
    let gaussian = Mechanism::gaussian(1.0, Domain::Interval).unwrap();
    let response = Mechanism::binary_response(0.001).unwrap();
    let plan = Plan::new(Round::new(gaussian, 1000).unwrap(), 1)
        .and_then(|plan| plan.then(Round::new(response, 1000)?, 1))
        .unwrap();
    let account = account(&plan).unwrap();
    // The law knows losses up to 36 and leaves out reports of probability 1e-291. Each user has ε = 37.4 at
    // this δ without a shuffler: an answer below that would have forgotten them. No answer is none either.
    if let Ok(deep) = account.epsilon(Delta::new(1e-299).unwrap()) {
        assert!(deep.upper().value() > 36.01, "{deep:?}");
    }
    // Tightness, which takes ten seconds more.
    if exhaustive() {
        let usual = account.epsilon(Delta::new(1e-9).unwrap()).unwrap();
        assert!(usual.upper().value() < 2.0, "{usual:?}");
    }
}

/// Where noise is next to nothing: widths that cancel, terms that are hardly ever low, exponentials that
/// overflow.
#[test]
fn next_to_no_noise() {
    let piecewise = Mechanism::scalar(ScalarKind::Piecewise, 25.0).unwrap();
    let (low, high) = delta(&Round::new(piecewise, 2).unwrap(), 5.0);
    // The other user in the middle, by enumeration in 60 digits.
    let truth = 0.999_996_271_285_674_4;
    assert!(
        high >= truth && low <= truth + 1e-15 && high - low < 1e-6,
        "{low} {high}"
    );
    for epsilon0 in [25.0, 40.0, 100.0] {
        for kind in [
            ScalarKind::Laplace,
            ScalarKind::TruncatedLaplace,
            ScalarKind::Piecewise,
            ScalarKind::Duchi,
        ] {
            let noise = Mechanism::scalar(kind, epsilon0).unwrap();
            for users in [2, 300] {
                let (low, high) = delta(&Round::new(noise.clone(), users).unwrap(), 0.0);
                assert!(
                    low > 0.99 && high <= 1.0 && low <= high,
                    "{kind:?} {epsilon0}: {low} {high}"
                );
            }
        }
    }
    let ball = Mechanism::gaussian(2.0, Domain::Ball).unwrap();
    let round = Round::new(ball, 10).unwrap();
    let before = delta(&round, 30.0).1;
    for epsilon in [700.0, 709.0, 710.0, 1000.0] {
        assert!(delta(&round, epsilon).1 <= before, "at {epsilon}");
    }
}

/// Randomized response that says the truth outright with probability δ₀, enumerated: near ε₀ nothing but
/// those δ₀ is left, and a bound that forgot them would be below.
#[test]
fn no_dataset_of_three_is_worse_for_approximate_guarantees() {
    for (epsilon0, delta0) in [(0.5f64, 1e-3), (1.0, 1e-2), (3.0, 1e-4)] {
        let truth = (1.0 - delta0) * epsilon0.exp() / (epsilon0.exp() + 1.0);
        let rows = vec![
            vec![truth, 1.0 - delta0 - truth, delta0, 0.0],
            vec![1.0 - delta0 - truth, truth, 0.0, delta0],
        ];
        let mechanism = Mechanism::approximate_ldp(epsilon0, delta0).unwrap();
        let round = Round::new(mechanism, 3).unwrap();
        for fraction in [0.0, 0.5, 0.9, 0.999, 1.1] {
            let epsilon = fraction * epsilon0;
            let (_, upper) = delta(&round, epsilon);
            let found = brute_force(&rows, epsilon);
            assert!(
                found <= upper,
                "{epsilon0} {delta0} at {epsilon}: {found} {upper}"
            );
            assert!(fraction < 0.999 || found >= 0.99 * delta0);
        }
    }
}

/// Two users of distributed check-in on a line, integrated over everything that can be seen: the number of
/// those who take part, and their noisy sum.
#[test]
fn no_dataset_of_two_is_worse_for_secure_aggregation() {
    use shuffledp_accounting::bounds::secure_aggregation;
    let density = |y: f64, center: f64, deviation: f64| {
        let z = (y - center) / deviation;
        (-0.5 * z * z).exp() / (deviation * std::f64::consts::TAU.sqrt())
    };
    for (rate, sigma) in [(0.5, 2.0), (0.1, 1.0), (0.9, 4.0)] {
        for wanted in [1e-2, 1e-4] {
            let epsilon = secure_aggregation::epsilon(2, rate, sigma, 1, wanted).unwrap();
            let a = epsilon.exp();
            let mut worst: f64 = 0.0;
            for other in [-1.0, 0.0, 1.0] {
                let seen = |y: f64, own: f64| {
                    let one = 0.5 * (density(y, own, sigma) + density(y, other, sigma));
                    let two = density(y, own + other, sigma * 2f64.sqrt());
                    [2.0 * rate * (1.0 - rate) * one, rate * rate * two]
                };
                let step = 0.01;
                let value: f64 = (-8000..8000)
                    .map(|i| {
                        let y = step * f64::from(i);
                        let (p, q) = (seen(y, 1.0), seen(y, -1.0));
                        let excess = |i: usize| (p[i] - a * q[i]).max(0.0);
                        step * (excess(0) + excess(1))
                    })
                    .sum();
                worst = worst.max(value);
            }
            assert!(
                worst <= wanted * (1.0 + 1e-3),
                "{rate} {sigma} {wanted}: {worst}"
            );
            // With the other at user 1's second value the sample hides as little as the formula says.
            assert!(worst >= 0.9 * wanted, "{rate} {sigma} {wanted}: {worst}");
        }
    }
}
