//! Rounds of which only a noisy sum is seen: high-precision values, every dataset of few users on a grid, the
//! order of things, and what a wrong formula would say.

#![allow(clippy::unwrap_used)]

mod common;

use common::bounds::{delta_of as delta, epsilon};
use shuffledp_accounting::{
    Delta, Divergence, Domain, Mechanism, Plan, Round, account, compare, with_dropout,
};

fn round(users: u64, sigma: f64) -> Round {
    Round::new(Mechanism::secure_sum(sigma, Domain::Ball).unwrap(), users).unwrap()
}

/// Every row of golden/secure_sum.csv (mpmath, 40 digits): the forward direction is the worst.
#[test]
fn one_round_is_known_exactly() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/secure_sum.csv");
    let text = std::fs::read_to_string(file).unwrap();
    let mut rows = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        let (users, sample) = (number(0) as u64, number(1) as u64);
        let mut round = round(users, number(4));
        if sample > 0 {
            round = round.sample(sample).unwrap();
        } else if number(2) < 1.0 {
            round = round.check_in(number(2)).unwrap();
        }
        let colluding = number(3) / number(0);
        let round = round.colluding(colluding).unwrap();
        let (low, high) = delta(&account(&round).unwrap(), number(5));
        let truth = number(6);
        assert!(number(7) <= truth);
        assert!(high >= truth, "{line}: {high}");
        // Buckets of counts are a few parts in 1e4 wide, and coarser where they hardly ever occur.
        let slack = if truth > 1e-30 { 1.01 } else { 10.0 };
        assert!(high <= truth * slack, "{line}: {high}");
        assert!(low <= truth, "{line}: {low}");
        // Of a sample, colluders keep what they know to themselves in the lower bound.
        if colluding == 0.0 || sample == 0 {
            assert!(low >= truth / slack, "{line}: {low}");
        }
        rows += 1;
    }
    assert!(rows >= 19);
}

/// N(center, deviation²) at y.
fn density(y: f64, center: f64, deviation: f64) -> f64 {
    let z = (y - center) / deviation;
    (-0.5 * z * z).exp() / (deviation * std::f64::consts::TAU.sqrt())
}

/// Who takes part in the enumeration.
#[derive(Clone, Copy, Debug)]
enum Part {
    Everyone,
    Sample(u32),
    CheckIn(f64),
}

/// Hₐ(P‖Q) of two datasets on a line, by summing over every set of participants and integrating over the sum
/// that is seen with their number.
fn enumerated(part: Part, sigma: f64, a: f64, p: &[f64], q: &[f64]) -> f64 {
    let n = p.len();
    // For every k, the means of the sum and their probabilities under both datasets.
    let mut means: Vec<Vec<(f64, f64, f64)>> = vec![Vec::new(); n + 1];
    for set in 0u32..1 << n {
        let k = set.count_ones();
        let probability = match part {
            Part::Everyone => f64::from(u8::from(k as usize == n)),
            Part::Sample(m) if k != m => 0.0,
            Part::Sample(m) => {
                let all = (0u32..1 << n).filter(|set| set.count_ones() == m).count();
                1.0 / all as f64
            }
            Part::CheckIn(g) => g.powi(k as i32) * (1.0 - g).powi(n as i32 - k as i32),
        };
        let mean = |x: &[f64]| (0..n).filter(|i| set >> i & 1 == 1).map(|i| x[i]).sum();
        if k > 0 && probability > 0.0 {
            let (p, q): (f64, f64) = (mean(p), mean(q));
            // Sets with the same two sums are seen as one.
            match means[k as usize].iter_mut().find(|m| m.1 == p && m.2 == q) {
                Some(known) => known.0 += probability,
                None => means[k as usize].push((probability, p, q)),
            }
        }
    }
    let mut total = 0.0;
    for (k, sums) in means.iter().enumerate().skip(1) {
        let deviation = sigma * (k as f64).sqrt();
        let step = deviation / 96.0;
        let reach = ((n as f64 + 6.0 * deviation) / step) as i32;
        for i in -reach..=reach {
            let y = step * f64::from(i);
            let excess: f64 = sums
                .iter()
                .map(|&(w, p, q)| w * (density(y, p, deviation) - a * density(y, q, deviation)))
                .sum();
            total += step * excess.max(0.0);
        }
    }
    total
}

/// Every dataset of two to four users on the grid {−1, 0, 1}, with user 1 at any two of its points; of a
/// dataset and its reflection at 0, one.
fn every_dataset(n: usize, mut look: impl FnMut(&[f64], &[f64])) {
    const GRID: [f64; 3] = [-1.0, 0.0, 1.0];
    for index in 0..3usize.pow(n as u32 - 1) {
        let others = (0..n - 1).map(|i| GRID[index / 3usize.pow(i as u32) % 3]);
        let others: Vec<f64> = others.collect();
        for (first, second) in [(1.0, -1.0), (1.0, 0.0), (0.0, 1.0)] {
            let dataset = |own: f64| -> Vec<f64> {
                std::iter::once(own).chain(others.iter().copied()).collect()
            };
            look(&dataset(first), &dataset(second));
        }
    }
}

const SETTINGS: [(usize, Part, f64); 7] = [
    (2, Part::Everyone, 1.0),
    (2, Part::Sample(1), 1.0),
    (2, Part::CheckIn(0.5), 2.0),
    (3, Part::Sample(2), 1.5),
    (3, Part::CheckIn(0.3), 1.0),
    (4, Part::Sample(1), 0.8),
    (4, Part::CheckIn(0.7), 1.2),
];

fn taking_part(round: Round, part: Part) -> Round {
    match part {
        Part::Everyone => round,
        Part::Sample(m) => round.sample(u64::from(m)).unwrap(),
        Part::CheckIn(g) => round.check_in(g).unwrap(),
    }
}

#[test]
fn no_dataset_of_few_users_is_worse_and_one_is_as_bad() {
    for (n, part, sigma) in SETTINGS {
        let account = account(&taking_part(round(n as u64, sigma), part)).unwrap();
        for at in [0.0, 0.4, 1.5] {
            let (low, high) = delta(&account, at);
            let mut worst: f64 = 0.0;
            every_dataset(n, |p, q| {
                worst = worst.max(enumerated(part, sigma, f64::exp(at), p, q));
            });
            // The integral is a sum over a lattice of a function with a kink.
            assert!(
                worst <= high + 3e-5,
                "{n} {part:?} {sigma} {at}: {worst} {high}"
            );
            assert!(
                worst >= low - 3e-5,
                "{n} {part:?} {sigma} {at}: {worst} {low}"
            );
            assert!(high - low <= 1e-6 + 1e-6 * high);
        }
    }
}

/// What the enumeration would catch: the rate γ where it is k/n given k, the noise of all users where k take
/// part, a diameter of 1.
#[test]
fn wrong_formulas_are_below_some_dataset() {
    let tail = |z: f64| {
        // Φ(−z) by integration: independent of the library.
        let steps = 4000;
        let h = 12.0 / f64::from(steps);
        (0..steps)
            .map(|i| h * density(z + h * (f64::from(i) + 0.5), 0.0, 1.0))
            .sum::<f64>()
    };
    let gaussian = |mu: f64, b: f64| {
        let e = b.ln();
        tail(e / mu - mu / 2.0) - b * tail(e / mu + mu / 2.0)
    };
    let (n, g, sigma, a) = (3, 0.3, 1.0, f64::exp(1.0));
    let mut worst: f64 = 0.0;
    every_dataset(n, |p, q| {
        worst = worst.max(enumerated(Part::CheckIn(g), sigma, a, p, q));
    });
    let mixture = |rate: fn(f64, f64) -> f64, shares: fn(f64) -> f64, diameter: f64| -> f64 {
        let weights = [
            (1.0, 3.0 * g * 0.49),
            (2.0, 3.0 * g * g * 0.7),
            (3.0, g * g * g),
        ];
        let term = |&(k, p): &(f64, f64)| {
            let q = rate(k, g);
            p * q * gaussian(diameter / (sigma * shares(k).sqrt()), 1.0 + (a - 1.0) / q)
        };
        weights.iter().map(term).sum()
    };
    let right = mixture(|k, _| k / 3.0, |k| k, 2.0);
    assert!((right - worst).abs() < 3e-5, "{right} {worst}");
    for wrong in [
        mixture(|_, g| g, |k| k, 2.0),
        mixture(|k, _| k / 3.0, |_| 3.0, 2.0),
        mixture(|k, _| k / 3.0, |k| k, 1.0),
    ] {
        assert!(wrong < 0.97 * worst, "{wrong} {worst}");
    }
}

/// Everybody in every round: √(T/n)·2/σ-GDP, from both sides.
#[test]
fn rounds_in_which_everybody_takes_part_are_one_gaussian_mechanism() {
    let gaussian = |mu: f64| {
        // One user alone with noise 1/μ on an interval of length 1.
        let mechanism = Mechanism::gaussian(1.0 / mu, Domain::Interval).unwrap();
        let alone = shuffledp_accounting::unshuffled(&mechanism, 1, Delta::new(1e-6).unwrap());
        alone.unwrap().upper().value()
    };
    for (users, sigma, rounds) in [
        (1000, 1.0, 1),
        (1000, 1.0, 100),
        (100, 3.0, 7),
        (1_000_000, 0.01, 4),
    ] {
        let truth = gaussian((rounds as f64 / users as f64).sqrt() * 2.0 / sigma);
        let (low, high) = epsilon(Plan::new(round(users, sigma), rounds).unwrap(), 1e-6);
        assert!(
            low <= truth && truth <= high * (1.0 + 1e-9),
            "{low} {truth} {high}"
        );
        assert!(
            high / low < 1.0005,
            "{users} {rounds}: {low} {truth} {high}"
        );
    }
}

/// An interval of length 1 is a ball of radius 1/2.
#[test]
fn numbers_are_vectors_of_half_the_noise() {
    let interval = Mechanism::secure_sum(1.0, Domain::Interval).unwrap();
    let interval = Round::new(interval, 500).unwrap().check_in(0.2).unwrap();
    let ball = round(500, 2.0).check_in(0.2).unwrap();
    assert_eq!(epsilon(&interval, 1e-6), epsilon(&ball, 1e-6));
}

#[test]
fn more_noise_and_more_users_hide_better_and_more_colluders_worse() {
    let mut before = f64::INFINITY;
    for sigma in [0.05, 0.1, 0.3, 1.0, 3.0, 10.0] {
        let (low, high) = epsilon(&round(2000, sigma).check_in(0.1).unwrap(), 1e-7);
        assert!(low <= high && high < before);
        before = low;
    }
    let mut before = f64::INFINITY;
    for users in [10, 100, 1000, 1_000_000, 1_000_000_000] {
        let (low, high) = epsilon(&round(users, 1.0), 1e-7);
        assert!(low <= high && high < before);
        before = low;
    }
    for part in [Part::Everyone, Part::Sample(200), Part::CheckIn(0.2)] {
        let mut before = 0.0;
        for colluding in [0.0, 0.1, 0.5, 0.9] {
            let round = taking_part(round(1000, 1.0), part)
                .colluding(colluding)
                .unwrap();
            let (low, high) = epsilon(&round, 1e-7);
            assert!(
                low <= high && high > before,
                "{part:?} {colluding}: {low} {high} {before}"
            );
            before = high;
        }
    }
    // A range of rates is no better than its ends, and one rate is the range of itself.
    let (_, low) = epsilon(&round(1000, 1.0).check_in(0.1).unwrap(), 1e-6);
    let (_, high) = epsilon(&round(1000, 1.0).check_in(0.2).unwrap(), 1e-6);
    let range = round(1000, 1.0).check_in_between(0.1, 0.2).unwrap();
    assert!(epsilon(&range, 1e-6).1 >= low.max(high));
}

/// The lower bound never exceeds the upper one over many rounds, and both grow.
#[test]
fn composed_rounds_stay_in_order() {
    for part in [Part::Everyone, Part::Sample(50), Part::CheckIn(0.02)] {
        let round = taking_part(round(1000, 0.7), part);
        let mut before = (0.0, 0.0);
        for rounds in [1, 2, 10, 1000] {
            let (low, high) = epsilon(Plan::new(round.clone(), rounds).unwrap(), 1e-5);
            assert!(
                low <= high && low > before.0 && high > before.1,
                "{part:?} {rounds}: {low} {high}"
            );
            before = (low, high);
        }
    }
}

/// Two rounds of the pair that attains the lower bound, integrated on a square.
#[test]
fn two_rounds_are_not_below_the_product_of_the_pair() {
    // 1 of 2 users sampled, σ = 1: P = (N(1) + N(−1))/2, Q = N(−1), likelihood ratio (1 + e^{2y})/2.
    let sampled = round(2, 1.0).sample(1).unwrap();
    let a = f64::exp(0.8);
    let step = 0.02;
    let points: Vec<(f64, f64)> = (-450..=450)
        .map(|i| {
            let y = step * f64::from(i);
            let q = density(y, -1.0, 1.0);
            (0.5 * (density(y, 1.0, 1.0) + q), q)
        })
        .collect();
    let mut truth = 0.0;
    for (p0, q0) in &points {
        for (p1, q1) in &points {
            truth += step * step * (p0 * p1 - a * q0 * q1).max(0.0);
        }
    }
    let account = account(Plan::new(sampled, 2).unwrap()).unwrap();
    let (low, high) = delta(&account, 0.8);
    assert!(
        low <= truth + 1e-5 && truth <= high + 1e-5,
        "{low} {truth} {high}"
    );
    assert!(low >= 0.999 * truth, "{low} {truth}");
}

/// The Rényi curves: exact where everybody takes part, else around the pair's moment by integration; and
/// below the published one.
#[test]
fn renyi_curves_enclose_the_pairs_moments() {
    let everybody = Divergence::new(&round(100, 1.0)).unwrap().at(8.0).unwrap();
    assert!((everybody.upper().get() / 0.16 - 1.0).abs() < 1e-9);
    assert!((everybody.lower().get() / 0.16 - 1.0).abs() < 1e-9);
    let (q, mu, order) = (0.1, 0.5f64, 6.0);
    let sampled = round(160, 1.0).sample(16).unwrap();
    let moment: f64 = (-12_000..24_000)
        .map(|i| {
            let z = f64::from(i) * 1e-3;
            1e-3 * density(z, 0.0, 1.0) * (1.0 - q + q * (mu * z - 0.5 * mu * mu).exp()).powf(order)
        })
        .sum();
    let truth = moment.ln() / (order - 1.0);
    let answer = Divergence::new(&sampled).unwrap().at(order).unwrap();
    let (low, high) = (answer.lower().get(), answer.upper().get());
    assert!(low <= truth && truth <= high, "{low} {truth} {high}");
    assert!(
        low > truth * 0.9999 && high < truth * 1.3,
        "{low} {truth} {high}"
    );
    let check_in = round(60_000, 0.86).check_in(0.001).unwrap();
    let ours = Divergence::new(&check_in).unwrap();
    let published = shuffledp_accounting::curves(&check_in).unwrap();
    assert_eq!(published.len(), 1);
    for order in [2.0, 3.0, 6.0] {
        let theirs = published[0].curve.as_ref().unwrap().at(order);
        let answer = ours.at(order).unwrap();
        assert!(answer.lower().get() <= answer.upper().get());
        assert!(
            answer.upper().get() <= theirs,
            "{order}: {} {theirs}",
            answer.upper().get()
        );
    }
}

/// shuffled-check-in's Theorem 4 is a row about this very mechanism, and above ours.
#[test]
fn compare_has_the_published_bound() {
    let round = round(60_000, 0.86).check_in(0.001).unwrap();
    let rows = compare(&round, 100, Delta::new(1e-5).unwrap()).unwrap();
    let find = |name: &str| rows.iter().find(|row| row.name.contains(name)).unwrap();
    let theirs = find("Theorem 4");
    assert!(theirs.other_mechanism.is_none());
    let ours = find("pld/secure-sum");
    assert!(ours.tightest && ours.epsilon.clone().unwrap() < theirs.epsilon.clone().unwrap());
}

/// The noise of those who drop out is missing: a price that ignores it is refused.
#[test]
fn dropouts_of_a_sum_are_refused() {
    let at = Delta::new(1e-6).unwrap();
    let error = with_dropout(&round(1000, 1.0), 1, 0.1, at).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("takes a share of the noise along"),
        "{error}"
    );
    assert!(with_dropout(&round(1000, 1.0), 1, 0.0, at).is_ok());
    let error = Mechanism::secure_sum(0.0, Domain::Ball)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "sigma 0 is outside [1e-6, 1e6]");
}

/// A law on the integers, symmetric around 0: probabilities of −reach, …, reach.
fn convolved(law: &[f64], times: u64) -> Vec<f64> {
    let mut sum = vec![1.0];
    for _ in 0..times {
        let mut next = vec![0.0; sum.len() + law.len() - 1];
        for (i, p) in sum.iter().enumerate() {
            for (j, q) in law.iter().enumerate() {
                next[i + j] += p * q;
            }
        }
        sum = next;
    }
    sum
}

/// e^{−z²/2s²}, normalized.
fn discrete_gaussian(scale: f64) -> Vec<f64> {
    let reach = (12.0 * scale + 8.0) as i32;
    let weight = |z: i32| (-0.5 * (f64::from(z) / scale).powi(2)).exp();
    let total: f64 = (-reach..=reach).map(weight).sum();
    (-reach..=reach).map(|z| weight(z) / total).collect()
}

/// The difference of two Poisson variables of half the variance each.
fn skellam(variance: f64) -> Vec<f64> {
    let reach = (14.0 * variance.sqrt() + 20.0) as usize;
    let mut poisson = vec![(-0.5 * variance).exp()];
    for j in 1..2 * reach {
        poisson.push(poisson[j - 1] * 0.5 * variance / j as f64);
    }
    let at = |z: usize| -> f64 {
        (z..poisson.len())
            .map(|i| poisson[i] * poisson[i - z])
            .sum()
    };
    let reach = reach as i64;
    (-reach..=reach)
        .map(|z| at(z.unsigned_abs() as usize))
        .collect()
}

/// Hₐ of the sum in one or two coordinates, the mean moved by an integer vector.
fn moved(law: &[f64], by: [usize; 2], a: f64) -> f64 {
    let pairs = |by: usize| -> Vec<(f64, f64)> {
        let at = |i: Option<usize>| i.and_then(|i| law.get(i)).copied().unwrap_or(0.0);
        let both = (0..law.len() + by).map(|i| (at(Some(i)), at(i.checked_sub(by))));
        both.filter(|(p, q)| p + q > 1e-25).collect()
    };
    if by[1] == 0 {
        return pairs(by[0]).iter().map(|(p, q)| (p - a * q).max(0.0)).sum();
    }
    let mut total = 0.0;
    for (p0, q0) in pairs(by[0]) {
        for (p1, q1) in pairs(by[1]) {
            total += (p0 * p1 - a * q0 * q1).max(0.0);
        }
    }
    total
}

/// Sums of two to four integer shares by convolution, every integer vector within the distance in one and two
/// dimensions; also where shares are so narrow that a sum of them is far from a discrete Gaussian.
#[test]
fn integer_noise_hides_every_vector_and_one_as_little_as_said() {
    type Make = fn(f64, u64, u64) -> Result<Mechanism, shuffledp_accounting::Error>;
    let levels = 2;
    for (is_skellam, make) in [
        (false, Mechanism::discrete_gaussian_sum as Make),
        (true, Mechanism::skellam_sum as Make),
    ] {
        for (users, scale) in [(2, 0.8), (2, 3.0), (3, 1.5), (4, 2.5)] {
            let law = match is_skellam {
                true => skellam(scale * scale * users as f64),
                false => convolved(&discrete_gaussian(scale), users),
            };
            for dimension in [1, 2] {
                let mechanism = make(scale / levels as f64, levels, dimension).unwrap();
                let account = account(&Round::new(mechanism, users).unwrap()).unwrap();
                for at in [0.0, 0.5, 1.5] {
                    let (low, high) = delta(&account, at);
                    let mut worst: f64 = 0.0;
                    for first in 0..=4usize {
                        for second in 0..=4usize {
                            let inside = first * first + second * second <= 16;
                            if inside && first > 0 && (second == 0 || dimension == 2) {
                                worst = worst.max(moved(&law, [first, second], f64::exp(at)));
                            }
                        }
                    }
                    let name = format!("{is_skellam} {users} {scale} {dimension} {at}");
                    assert!(worst <= high * (1.0 + 1e-9), "{name}: {worst} {high}");
                    let pair = moved(&law, [4, 0], f64::exp(at));
                    assert!(low <= pair * (1.0 + 1e-9), "{name}: {pair} {low}");
                    if is_skellam {
                        assert!(low >= pair * (1.0 - 1e-9), "{name}: {pair} {low}");
                    } else if scale > 2.0 {
                        assert!(
                            high <= 1.6 * worst && low >= 0.7 * pair,
                            "{name}: {low} {worst} {high}"
                        );
                    }
                }
            }
        }
    }
}

/// On a fine grid integer noise is Gaussian noise, and Skellam noise nearly; coarse grids and many dimensions
/// cost.
#[test]
fn a_grid_costs_what_is_said() {
    let gaussian = epsilon(&round(1000, 1.0), 1e-6);
    let on_grid = |mechanism: Mechanism| epsilon(&Round::new(mechanism, 1000).unwrap(), 1e-6);
    let fine = on_grid(Mechanism::discrete_gaussian_sum(1.0, 1000, 1_000_000).unwrap());
    assert!(
        fine.1 / gaussian.1 - 1.0 < 1e-5 && 1.0 - fine.0 / gaussian.0 < 1e-5,
        "{fine:?}"
    );
    let skellam = on_grid(Mechanism::skellam_sum(1.0, 1000, 100).unwrap());
    assert!(
        skellam.0 <= gaussian.1 * 1.0001 && skellam.1 > gaussian.1,
        "{skellam:?}"
    );
    assert!(skellam.1 < 1.12 * gaussian.1, "{skellam:?} {gaussian:?}");
    let coarse = on_grid(Mechanism::skellam_sum(1.0, 2, 1_000_000).unwrap());
    assert!(coarse.1 >= skellam.1, "{coarse:?} {skellam:?}");
    let error = Mechanism::skellam_sum(1.0, 1, 3).unwrap_err().to_string();
    assert_eq!(error, "k 1 is outside [2, 2^25] for a grid");
    // Sampled, and over several rounds.
    for mechanism in [
        Mechanism::discrete_gaussian_sum(1.0, 8, 1000).unwrap(),
        Mechanism::skellam_sum(1.0, 8, 1000).unwrap(),
    ] {
        let round = Round::new(mechanism, 1000).unwrap().check_in(0.1).unwrap();
        let (low, high) = epsilon(&round, 1e-6);
        assert!(low <= high && high < 0.13 && low > 0.095, "{low} {high}");
        let (low, high) = epsilon(Plan::new(round, 20).unwrap(), 1e-6);
        assert!(low <= high && high < 2.0 * low, "{low} {high}");
    }
}

/// The divergences of integer noise are above those of the exact law in one dimension.
#[test]
fn renyi_curves_of_integer_noise_hold() {
    let (users, scale) = (3, 2.0);
    for (mechanism, law) in [
        (
            Mechanism::discrete_gaussian_sum(scale / 2.0, 2, 1).unwrap(),
            convolved(&discrete_gaussian(scale), users),
        ),
        (
            Mechanism::skellam_sum(scale / 2.0, 2, 1).unwrap(),
            skellam(scale * scale * users as f64),
        ),
    ] {
        let divergence = Divergence::new(&Round::new(mechanism, users).unwrap()).unwrap();
        for order in [2.0f64, 5.0] {
            let moment: f64 = (0..law.len() - 4)
                .filter(|&i| law[i] > 1e-60)
                .map(|i| law[i + 4].powf(order) * law[i].powf(1.0 - order))
                .sum();
            let truth = moment.ln() / (order - 1.0);
            let answer = divergence.at(order).unwrap();
            let (low, high) = (answer.lower().get(), answer.upper().get());
            assert!(low <= truth * (1.0 + 1e-9), "{order}: {low} {truth}");
            assert!(
                truth <= high * (1.0 + 1e-6) && high < 1.5 * truth,
                "{order}: {truth} {high}"
            );
        }
    }
}
