//! Reports that are directions: values in high precision, every dataset on finite spheres, and the order of
//! things.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Matrix, Part, exhaustive, golden, hockey_stick, multisets, view};
use shuffledp_accounting::atoms::Atoms;
use shuffledp_accounting::profile::Profile;
use shuffledp_accounting::{
    DirectionLaw, Divergence, Mechanism, Parameter, Plan, RandomizerSpec, Round, account,
};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// A ramp with a start, or PrivUnit where it is negative.
fn law(dimension: u64, epsilon0: f64, start: f64) -> DirectionLaw {
    if start < 0.0 {
        DirectionLaw::priv_unit(Some(dimension), epsilon0).unwrap()
    } else {
        DirectionLaw::ramp(Some(dimension), epsilon0, Some(start)).unwrap()
    }
}

fn delta(round: &Round, epsilon: f64) -> (f64, f64) {
    let answer = account(round).unwrap().delta(epsilon).unwrap();
    (answer.lower().value(), answer.upper().value())
}

/// (lower, upper) of ε at 1e-6.
fn epsilon(plan: impl Into<Plan>) -> (f64, f64) {
    let answer = account(plan).unwrap().epsilon(1e-6).unwrap();
    (answer.lower().value(), answer.upper().value())
}

/// golden/directions.csv: incomplete beta functions and one integral in 30 digits.
#[test]
fn moments_and_delta_of_two_users_have_their_known_values() {
    let rows = golden("directions.csv");
    assert_eq!(rows.len(), 72);
    for row in &rows {
        let number = |i: usize| row[i].parse::<f64>().unwrap();
        let law = law(number(0) as u64, number(1), number(2));
        // A cap that was searched for is where it should be to half of all digits.
        let digits = if number(2) < 0.0 { 2e-6 } else { 1e-12 };
        let near = |value: Option<f64>, wanted: f64, digits: f64| {
            let value = value.unwrap();
            assert!(
                (value - wanted).abs() <= digits * wanted,
                "{row:?}: {value} {wanted}"
            );
        };
        near(law.start(), number(3), digits);
        near(law.mean_rise(), number(4), 10.0 * digits);
        near(law.mean_length(), number(5), 1e-10);
        near(law.efficiency(), number(6), 10.0 * digits);
        let round = Round::new(Mechanism::from(law), 2).unwrap();
        let (lower, upper) = delta(&round, number(7));
        let slack = if number(2) < 0.0 { 1e-5 } else { 1e-13 };
        let (above, below) = (number(8), number(9));
        assert!(upper >= above * (1.0 - slack), "{row:?}: upper {upper}");
        assert!(lower <= below * (1.0 + slack), "{row:?}: lower {lower}");
        // A relative error in ε costs about −ln δ times as much in δ.
        let allowed = |delta: f64| 4e-5 * (1.0 - delta.ln());
        assert!(upper <= above * (1.0 + allowed(above)), "{row:?}: {upper}");
        assert!(lower >= below * (1.0 - allowed(below)), "{row:?}: {lower}");
    }
}

/// 1 + (E − 1) rise(c).
fn ratio(law: &DirectionLaw, epsilon0: f64, c: f64) -> f64 {
    let (start, end) = (law.start().unwrap(), law.end().unwrap());
    let rise = if c >= end {
        1.0
    } else {
        ((c - start) / (end - start)).max(0.0)
    };
    1.0 + epsilon0.exp_m1() * rise
}

/// The report of a vector by the piece of a finite sphere that it lies in: `pieces` has the points of each.
/// Vectors shorter than 1 turn round.
fn channel(
    law: &DirectionLaw,
    epsilon0: f64,
    pieces: &[Vec<Vec<f64>>],
    inputs: &[Vec<f64>],
) -> Matrix {
    inputs
        .iter()
        .map(|x| {
            let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            let density = |v: &Vec<f64>| {
                let inner: f64 = v.iter().zip(x).map(|(v, x)| v * x).sum();
                let c = if norm > 0.0 { inner / norm } else { v[0] };
                let up = 0.5 + 0.5 * norm;
                up * ratio(law, epsilon0, c) + (1.0 - up) * ratio(law, epsilon0, -c)
            };
            let mut row: Vec<f64> = pieces
                .iter()
                .map(|points| points.iter().map(density).sum())
                .collect();
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|entry| *entry /= total);
            row
        })
        .collect()
}

/// A circle in arcs of many points each.
fn circle(arcs: usize) -> Vec<Vec<Vec<f64>>> {
    let points = 4096 / arcs;
    let angle = |i: usize| TAU * (i as f64 + 0.5) / (arcs * points) as f64;
    (0..arcs)
        .map(|arc| {
            let turned = |i: usize| angle(arc * points + i) - PI / arcs as f64;
            (0..points)
                .map(|i| vec![turned(i).cos(), turned(i).sin()])
                .collect()
        })
        .collect()
}

/// A sphere in bands of one area, each in quarters.
fn globe(bands: usize) -> Vec<Vec<Vec<f64>>> {
    const POINTS: usize = 48;
    let mut pieces = Vec::new();
    for band in 0..bands {
        for quarter in 0..4 {
            let mut points = Vec::new();
            for i in 0..POINTS {
                for j in 0..POINTS {
                    let share = (i as f64 + 0.5) / POINTS as f64;
                    let z = 1.0 - 2.0 * (band as f64 + share) / bands as f64;
                    let turn = quarter as f64 + (j as f64 + 0.5) / POINTS as f64;
                    let (sin, cos) = (FRAC_PI_2 * turn).sin_cos();
                    let radius = (1.0 - z * z).sqrt();
                    points.push(vec![radius * cos, radius * sin, z]);
                }
            }
            pieces.push(points);
        }
    }
    pieces
}

/// The largest δ over all datasets of `users` of the channel's inputs, and all values that user 1's is
/// replaced by.
fn worst(channel: &Matrix, users: usize, part: Part, epsilon: f64) -> f64 {
    let mut worst: f64 = 0.0;
    for others in multisets(channel.len(), users - 1) {
        let views: Vec<_> = (0..channel.len())
            .map(|x| {
                let mut inputs = vec![x];
                inputs.extend(&others);
                view(channel, &inputs, part)
            })
            .collect();
        for p in &views {
            for q in &views {
                worst = worst.max(hockey_stick(p, q, epsilon.exp()));
            }
        }
    }
    worst
}

/// Vectors on a circle: eight directions, a shorter one and none at all.
fn on_circle() -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = (0..8)
        .map(|i| (TAU * f64::from(i) / 8.0).sin_cos())
        .map(|(sin, cos)| vec![cos, sin])
        .collect();
    all.extend([vec![0.4, 0.3], vec![0.0, 0.0]]);
    all
}

fn on_globe() -> Vec<Vec<f64>> {
    let third = 3f64.sqrt().recip();
    let mut all = vec![vec![third; 3], vec![0.0, 0.0, 0.5]];
    for axis in 0..3 {
        for sign in [1.0, -1.0] {
            let mut x = vec![0.0; 3];
            x[axis] = sign;
            all.push(x);
        }
    }
    all
}

/// Finite spheres lose a little of what a report says (its piece is told, not its place), so no dataset may
/// exceed the upper bound; sums over points are good to some 1e-4.
#[test]
fn no_dataset_on_a_finite_sphere_is_worse() {
    let mut closest: f64 = 0.0;
    for (epsilon0, start) in [(1.0, 0.2), (3.0, 0.0), (3.0, 0.8), (2.0, -1.0)] {
        for dimension in [2, 3] {
            let law = law(dimension, epsilon0, start);
            let channel = if dimension == 2 {
                channel(&law, epsilon0, &circle(8), &on_circle())
            } else {
                channel(&law, epsilon0, &globe(3), &on_globe())
            };
            let all = Round::new(Mechanism::from(law), 4).unwrap();
            let round = |users: u64| Round::new(Mechanism::from(law), users).unwrap();
            let mut cases = vec![
                (round(2), 2, Part::Everyone),
                (round(2).check_in(0.5).unwrap(), 2, Part::CheckIn(0.5)),
                (round(3).sample(2).unwrap(), 3, Part::Sample(2)),
            ];
            if dimension == 2 || exhaustive() {
                cases.push((round(3), 3, Part::Everyone));
            }
            if exhaustive() {
                cases.push((all, 4, Part::Everyone));
            }
            for (round, users, part) in cases {
                for epsilon in [0.0, 0.3 * epsilon0] {
                    let truth = worst(&channel, users, part, epsilon);
                    let (lower, upper) = delta(&round, epsilon);
                    assert!(
                        truth <= upper * (1.0 + 1e-4),
                        "{law:?} {users} {part:?} {epsilon}: {truth} > {upper}"
                    );
                    assert!(lower <= upper);
                    closest = closest.max(truth / upper);
                }
            }
        }
    }
    assert!(closest > 0.9, "nothing came near the bound: {closest}");
}

/// What the enumeration would catch: a pair at right angles in place of opposite vectors, and others who are
/// counted as uniform altogether.
#[test]
fn wrong_laws_are_caught() {
    let epsilon0 = 3.0;
    let law = law(2, epsilon0, 0.0);
    let channel = channel(&law, epsilon0, &circle(32), &on_circle()[..8]);
    let truth = worst(&channel, 2, Part::Everyone, 0.3);
    let low = 1.0 / (1.0 + epsilon0.exp_m1() * law.mean_rise().unwrap());
    let wrong = |x1: usize, mass: f64| {
        let each = mass / 32.0;
        let mut atoms: Vec<(f64, f64, f64)> = channel[0]
            .iter()
            .zip(&channel[x1])
            .map(|(p, q)| (each, p / each, q / each))
            .collect();
        if mass < 1.0 {
            atoms.push((1.0 - mass, 0.0, 0.0));
        }
        Profile::new(Atoms::new(&atoms).unwrap(), 2)
            .delta(0.3)
            .upper
    };
    assert!(wrong(4, low) >= truth);
    assert!(wrong(2, low) < truth && wrong(4, 1.0) < truth);
    let (_, upper) = delta(&Round::new(Mechanism::from(law), 2).unwrap(), 0.3);
    assert!(upper >= wrong(4, low) && upper < wrong(4, low) * 1.01);
}

/// The lower bound is a dataset's: finer arcs come up to it from below.
#[test]
fn the_lower_bound_is_attained() {
    for (epsilon0, start) in [(2.0, 0.3), (2.0, -1.0)] {
        let law = law(2, epsilon0, start);
        let opposite = [vec![1.0, 0.0], vec![-1.0, 0.0]];
        let channel = channel(&law, epsilon0, &circle(64), &opposite);
        let views = [0, 1].map(|x| view(&channel, &[x, 1, 1], Part::Everyone));
        let a = 0.4f64.exp();
        let attained =
            hockey_stick(&views[0], &views[1], a).max(hockey_stick(&views[1], &views[0], a));
        let (lower, _) = delta(&Round::new(Mechanism::from(law), 3).unwrap(), 0.4);
        // Arcs of a hundredth of the circle still hide a little.
        let excess = lower / attained - 1.0;
        assert!((-1e-3..0.02).contains(&excess), "{lower} {attained}");
    }
}

/// The ramp that is chosen is the most efficient one, and better than any step.
#[test]
fn the_default_start_is_the_best_one() {
    for dimension in [2, 10, 128, 1290, 1 << 30] {
        for epsilon0 in [0.01, 0.5, 2.0, 6.0, 16.0] {
            let best = DirectionLaw::ramp(Some(dimension), epsilon0, None).unwrap();
            let root = (dimension as f64).sqrt();
            let start = best.start().unwrap() * root;
            let efficiency = best.efficiency().unwrap();
            for other in [0.9 * start, start + 0.01, 1.1 * start] {
                if (0.0..0.999 * root).contains(&other) && (other - start).abs() > 1e-4 {
                    let other = law(dimension, epsilon0, other).efficiency().unwrap();
                    assert!(other < efficiency, "{dimension} {epsilon0} {start}");
                }
            }
            let step = law(dimension, epsilon0, -1.0).efficiency().unwrap();
            assert!(step < efficiency, "{dimension} {epsilon0}: step {step}");
        }
    }
}

/// Below any ε₀-LDP randomizer, the ramp below PrivUnit, and the two bounds not far apart.
#[test]
fn directions_cost_less_than_any_randomizer() {
    for dimension in [2, 128, 1_000_000] {
        for epsilon0 in [0.1, 1.0, 4.0] {
            let any = epsilon(&Round::new(Mechanism::ldp(epsilon0).unwrap(), 10_000).unwrap()).1;
            let mut last = any;
            for start in [-1.0, 0.0] {
                let mechanism = Mechanism::from(law(dimension, epsilon0, start));
                let (lower, upper) = epsilon(&Round::new(mechanism, 10_000).unwrap());
                assert!(lower <= upper && upper < last, "{dimension} {epsilon0}");
                assert!(upper < 1.45 * lower, "{upper} {lower}");
                last = upper;
            }
        }
    }
}

/// Composed, sampled and with colluders: lower bounds stay below upper ones, and more rounds cost more.
#[test]
fn the_order_of_things() {
    let mechanism = || Mechanism::from(DirectionLaw::ramp(Some(128), 3.0, None).unwrap());
    let round = |users| Round::new(mechanism(), users).unwrap();
    let one = epsilon(&round(1000));
    let many = epsilon(Plan::new(round(1000), 50).unwrap());
    assert!(one.0 <= one.1 && many.0 <= many.1 && one.1 < many.0);
    let colluding = epsilon(&round(1000).colluding(0.5).unwrap());
    assert!(one.1 < colluding.1);
    let sampled = epsilon(&round(1000).sample(100).unwrap());
    let checked = epsilon(&round(1000).check_in(0.1).unwrap());
    assert!(sampled.0 <= sampled.1 && checked.0 <= checked.1 && sampled.1 < one.1);
    let adaptive = epsilon(&round(1000).adaptive_within_round().unwrap());
    assert_eq!(adaptive.1, one.1);
}

/// Rényi divergences of a shuffled round, not of a report on its own: about order · v/(2n).
#[test]
fn renyi_divergences_are_amplified() {
    for start in [-1.0, 0.5] {
        let law = law(128, 2.0, start);
        let v = 4.0 * 128.0 * law.mean_length().unwrap().powi(2) / law.efficiency().unwrap();
        let round = Round::new(Mechanism::from(law), 10_000).unwrap();
        let divergence = Divergence::new(&round).unwrap();
        for order in [2.0, 8.0] {
            let answer = divergence.at(order).unwrap();
            let expected = 0.5 * order * v / 10_000.0;
            let (lower, upper) = (answer.lower().get(), answer.upper().get());
            assert!(
                (upper / expected - 1.0).abs() < 0.05,
                "{order}: {upper} {expected}"
            );
            assert!(0.5 * upper < lower && lower < upper, "{lower} {upper}");
        }
    }
}

/// Without a number of coordinates, or with hardly any noise, what holds for any randomizer holds, and no
/// lower bound is claimed.
#[test]
fn an_unknown_dimension_is_read_safely() {
    let any = epsilon(&Round::new(Mechanism::ldp(2.0).unwrap(), 1000).unwrap());
    for name in ["priv-unit", "ramp"] {
        let mut spec = RandomizerSpec::new(name).unwrap();
        spec.epsilon0 = Some(2.0.into());
        let mechanism = spec.mechanism().unwrap();
        assert!(!mechanism.has_lower_bound());
        assert_eq!(epsilon(&Round::new(mechanism, 1000).unwrap()), (0.0, any.1));
        spec.dimension = Some(50);
        let mechanism = spec.mechanism().unwrap();
        assert!(mechanism.has_lower_bound());
        let (lower, upper) = epsilon(&Round::new(mechanism, 1000).unwrap());
        assert!(lower > 0.0 && upper < any.1);
        spec.epsilon0 = Some(40.0.into());
        assert!(!spec.mechanism().unwrap().has_lower_bound());
        spec.epsilon0 = Some(0.0.into());
        assert_eq!(
            epsilon(&Round::new(spec.mechanism().unwrap(), 1000).unwrap()).1,
            0.0
        );
    }
}

#[test]
fn what_is_not_a_direction_is_refused() {
    let ramp = |dimension, start| {
        DirectionLaw::ramp(dimension, 1.0, start)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        ramp(Some(1), None),
        "dimension 1 is outside [2, 2^53] for directions"
    );
    assert_eq!(ramp(Some(100), Some(-0.5)), "start -0.5 is outside [0, 6]");
    assert_eq!(ramp(None, Some(f64::NAN)), "start NaN is outside [0, 6]");
    assert!(ramp(Some(4), Some(2.5)).starts_with("start 2.5 is outside [0, 1.99"));
    let mut spec = RandomizerSpec::new("priv-unit").unwrap();
    (spec.epsilon0, spec.start) = (Some(1.0.into()), Some(0.5));
    assert_eq!(spec.given(Parameter::Start).as_deref(), Some("0.5"));
    assert_eq!(
        spec.mechanism().unwrap_err().to_string(),
        "start 0.5 is not a parameter of priv-unit"
    );
}
