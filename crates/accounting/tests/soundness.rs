//! The smoke alarm: every upper bound against every dataset of enumerated mechanisms, n ≤ 5.
//!
//! Chain of trust: the enumeration below is the definition of the shuffle model and shares no code with the
//! library. Each upper bound lies above it, each lower bound equals it on its own dataset, and three classic
//! mistakes are caught by it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Dice, Matrix, Part, extremal_channel, hockey_stick, kary, multisets, view};
use shuffledp_accounting::atoms::Atoms;
use shuffledp_accounting::profile::Profile;
use shuffledp_accounting::{
    Account, Categories, Channel, Epsilon, LocalEpsilon, Mechanism, RatioSummary, Round, account,
};

use std::collections::BTreeMap;

/// Rounding of the enumeration itself.
const SLACK: f64 = 1e-13;

fn taking_part(round: Round, part: Part) -> Round {
    match part {
        Part::Everyone => round,
        Part::CheckIn(rate) => round.check_in(rate).unwrap(),
        Part::Sample(size) => round.sample(size as u64).unwrap(),
    }
}

fn upper(account: &Account, a: f64) -> f64 {
    account
        .delta(Epsilon::new(a.ln()).unwrap())
        .unwrap()
        .upper()
        .value()
}

/// Calls `check(x0, x1, a, divergence)` for all ordered pairs of inputs, all datasets of the others and all
/// `alphas`; counts the calls.
fn for_every_dataset(
    channel: &Matrix,
    n: usize,
    part: Part,
    alphas: &[f64],
    mut check: impl FnMut(usize, usize, f64, f64),
) -> usize {
    let inputs = channel.len();
    let mut triples = 0;
    for others in multisets(inputs, n - 1) {
        let views: Vec<_> = (0..inputs)
            .map(|x| {
                let mut users = vec![x];
                users.extend(&others);
                view(channel, &users, part)
            })
            .collect();
        for x0 in 0..inputs {
            for x1 in (0..inputs).filter(|&x1| x1 != x0) {
                for &a in alphas {
                    check(x0, x1, a, hockey_stick(&views[x0], &views[x1], a));
                    triples += 1;
                }
            }
        }
    }
    triples
}

fn alphas(epsilon0: f64) -> Vec<f64> {
    [0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98]
        .iter()
        .map(|fraction| (fraction * epsilon0).exp())
        .collect()
}

/// The ways of taking part that are tried for n users.
fn parts(dice: &mut Dice, n: usize) -> Vec<Part> {
    let mut parts = vec![Part::Everyone, Part::CheckIn(0.05 + 0.9 * dice.unit())];
    if n > 2 {
        parts.push(Part::Sample(1 + dice.below(n - 1)));
    }
    parts
}

#[test]
fn no_dataset_of_any_channel_exceeds_an_upper_bound() {
    let mut dice = Dice::new(2026);
    let mut triples = 0;
    let mut tightest: f64 = 0.0;
    for trial in 0..60 {
        let epsilon0 = [0.3, 1.0, 2.0, 4.0, 6.0][dice.below(5)];
        let inputs = 2 + trial % 3;
        let n = 2 + dice.below(if inputs == 4 { 3 } else { 4 });
        let channel = if trial % 5 == 0 {
            kary(inputs, epsilon0)
        } else {
            extremal_channel(&mut dice, inputs, epsilon0)
        };
        let alphas = alphas(epsilon0);
        for part in parts(&mut dice, n) {
            let priced = |mechanism: Mechanism| {
                account(&taking_part(Round::new(mechanism, n as u64).unwrap(), part)).unwrap()
            };
            let general = priced(Mechanism::ldp(epsilon0).unwrap());
            let adaptive = account(
                &taking_part(
                    Round::new(Mechanism::ldp(epsilon0).unwrap(), n as u64).unwrap(),
                    part,
                )
                .adaptive_within_round()
                .unwrap(),
            )
            .unwrap();
            let matrix = priced(Mechanism::matrix(Channel::new(channel.clone()).unwrap()));
            let bounds: Vec<(f64, [f64; 3])> = alphas
                .iter()
                .map(|&a| {
                    (
                        a,
                        [&general, &adaptive, &matrix].map(|account| upper(account, a)),
                    )
                })
                .collect();
            triples += for_every_dataset(&channel, n, part, &alphas, |x0, x1, a, truth| {
                let (_, bounds) = bounds.iter().find(|(b, _)| *b == a).unwrap();
                for bound in bounds {
                    assert!(
                        truth <= bound * (1.0 + 1e-12) + SLACK,
                        "{truth} > {bound}: n {n}, {part:?}, a {a}, inputs {x0} and {x1} of {channel:?}"
                    );
                }
                // A channel's own blanket is never worse than the general bound.
                assert!(bounds[2] <= bounds[0] * (1.0 + 1e-5) + SLACK);
                if truth > 1e-9 {
                    tightest = tightest.max(truth / bounds[0]);
                }
            });
        }
    }
    assert!(triples >= 20_000, "only {triples} triples");
    assert!(
        tightest > 0.99,
        "the general bound should be nearly attained somewhere: {tightest}"
    );
    println!("{triples} triples, largest truth/bound {tightest:.9}");
}

#[test]
fn no_dataset_of_randomized_response_exceeds_its_own_bound() {
    let mut dice = Dice::new(7);
    let mut triples = 0;
    for k in 2..=5usize {
        for epsilon0 in [0.5, 1.0, 3.0, 5.0] {
            let n = if k == 5 { 3 } else { 4 };
            let channel = kary(k, epsilon0);
            let alphas = alphas(epsilon0);
            for part in parts(&mut dice, n) {
                let mechanism = Mechanism::kary_response(k as u64, epsilon0).unwrap();
                let account =
                    account(&taking_part(Round::new(mechanism, n as u64).unwrap(), part)).unwrap();
                let bounds: Vec<f64> = alphas.iter().map(|&a| upper(&account, a)).collect();
                let mut largest = vec![0.0f64; alphas.len()];
                triples += for_every_dataset(&channel, n, part, &alphas, |_, _, a, truth| {
                    let i = alphas.iter().position(|&b| b == a).unwrap();
                    assert!(
                        truth <= bounds[i] * (1.0 + 1e-12) + SLACK,
                        "k {k} a {a} {part:?}"
                    );
                    largest[i] = largest[i].max(truth);
                });
                // The lower bound is one of these datasets.
                for (&a, &most) in alphas.iter().zip(&largest) {
                    let lower = account
                        .delta(Epsilon::new(a.ln()).unwrap())
                        .unwrap()
                        .lower()
                        .clone();
                    assert!(lower.value() <= most * (1.0 + 1e-12) + SLACK, "k {k} a {a}");
                }
            }
        }
    }
    assert!(triples > 5_000);
}

/// The law of the histogram of reports of users who each run a randomizer of their own.
fn own_histograms(users: &[(&Matrix, usize)]) -> BTreeMap<Vec<u8>, f64> {
    let mut law = BTreeMap::from([(vec![0u8; users[0].0[0].len()], 1.0)]);
    for (channel, x) in users {
        let mut next = BTreeMap::new();
        for (histogram, probability) in &law {
            for (y, entry) in channel[*x]
                .iter()
                .enumerate()
                .filter(|(_, entry)| **entry > 0.0)
            {
                let mut grown: Vec<u8> = histogram.clone();
                grown[y] += 1;
                *next.entry(grown).or_default() += probability * entry;
            }
        }
        law = next;
    }
    law
}

/// A shuffle hides nobody whose reports look different: "any ε₀-LDP randomizer" is one that all users share.
/// User 1 answers yes or no, the others red or green, all of them with ε₀ = 1; the bound for a shared
/// randomizer is 0.198.
#[test]
fn users_with_randomizers_of_their_own_are_not_covered() {
    let response = kary(2, 1.0);
    let padded = |before: usize| -> Matrix {
        let pad = |row: &Vec<f64>| [vec![0.0; before], row.clone(), vec![0.0; 2 - before]].concat();
        response.iter().map(pad).collect()
    };
    let (yes_no, red_green) = (padded(0), padded(2));
    let view = |x: usize| own_histograms(&[(&yes_no, x), (&red_green, 0), (&red_green, 1)]);
    let a = 0.3f64.exp();
    let truth = hockey_stick(&view(0), &view(1), a);
    let e = 1f64.exp();
    assert!((truth - (e - a) / (e + 1.0)).abs() < SLACK, "{truth}");
    assert!((truth - 0.368026).abs() < 1e-6);
    let shared = account(&Round::new(Mechanism::ldp(1.0).unwrap(), 3).unwrap()).unwrap();
    assert!(upper(&shared, a) < 0.1981);
    // No number of others changes it: the guarantee is the local one.
    let crowd = [(&red_green, 0); 6];
    let view = |x: usize| own_histograms(&[&[(&yes_no, x)], &crowd[..]].concat());
    assert!((hockey_stick(&view(0), &view(1), a) - truth).abs() < SLACK);
}

/// k-ary randomized response where everybody has an ε₀ of their own: the bound at the largest of them holds.
#[test]
fn randomized_response_with_an_epsilon0_for_each_user_costs_at_most_the_largest() {
    let mut triples = 0;
    for k in [2usize, 3] {
        for own in [
            [2.0, 0.3, 1.0],
            [0.3, 2.0, 2.0],
            [1.0, 2.0, 0.1],
            [2.0, 2.0, 0.7],
        ] {
            let mechanism = Mechanism::kary_response(k as u64, 2.0).unwrap();
            let priced = account(&Round::new(mechanism, 3).unwrap()).unwrap();
            let channels: Vec<Matrix> = own.iter().map(|epsilon0| kary(k, *epsilon0)).collect();
            for others in 0..k * k {
                let view = |x: usize| {
                    let values = [x, others / k, others % k];
                    let users: Vec<(&Matrix, usize)> = channels.iter().zip(values).collect();
                    own_histograms(&users)
                };
                for (x0, x1) in (0..k * k).map(|pair| (pair / k, pair % k)) {
                    for a in alphas(2.0).into_iter().filter(|_| x0 != x1) {
                        let truth = hockey_stick(&view(x0), &view(x1), a);
                        assert!(
                            truth <= upper(&priced, a) + SLACK,
                            "{k} {own:?} {others} {a}"
                        );
                        triples += 1;
                    }
                }
            }
        }
    }
    assert!(triples > 1500, "{triples}");
}

#[test]
fn each_lower_bound_is_the_enumerated_value_of_its_own_dataset() {
    let mut dice = Dice::new(11);
    for n in 2..=5usize {
        for (k, others) in [(2usize, 0usize), (3, 0), (3, 2), (4, 0), (4, 2)] {
            for epsilon0 in [0.4, 1.0, 2.5, 5.0] {
                let (categories, local) = (
                    Categories::new(k as u64).unwrap(),
                    LocalEpsilon::new(epsilon0).unwrap(),
                );
                let base = if others == 0 {
                    Atoms::kary_first(categories, local).unwrap()
                } else {
                    Atoms::kary_third(categories, local).unwrap()
                };
                let channel = kary(k, epsilon0);
                for part in parts(&mut dice, n) {
                    let profile = match part {
                        Part::Everyone => Profile::new(base.clone(), n as u64),
                        Part::CheckIn(rate) => {
                            let exact = shuffledp_accounting::Rate::exactly(rate).unwrap();
                            Profile::new(base.check_in(exact, rate).unwrap(), n as u64)
                        }
                        Part::Sample(size) => Profile::sampled(base.clone(), n as u64, size as u64),
                    };
                    let users = |x: usize| {
                        let mut users = vec![others; n];
                        users[0] = x;
                        users
                    };
                    let (p, q) = (
                        view(&channel, &users(0), part),
                        view(&channel, &users(1), part),
                    );
                    for a in alphas(epsilon0) {
                        let truth = hockey_stick(&p, &q, a).max(hockey_stick(&q, &p, a));
                        let got = profile.delta(a.ln());
                        assert!(
                            got.lower <= truth * (1.0 + 1e-10) + SLACK
                                && truth <= got.upper * (1.0 + 1e-10) + SLACK,
                            "n {n} k {k} others {others} {part:?} a {a}: {truth} not in {got:?}"
                        );
                        assert!(
                            got.upper < 1e-300 || got.upper - got.lower <= 1e-4 * got.upper,
                            "too wide: {got:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_ratio_summary_dominates_every_channel_that_has_it_and_is_attained() {
    let mut dice = Dice::new(5);
    for _ in 0..40 {
        let epsilon0 = 0.3 + 4.0 * dice.unit();
        let channel = extremal_channel(&mut dice, 3, epsilon0);
        let n = 2 + dice.below(3);
        let (x0, x1) = (0, 1);
        let variation: f64 = channel[x0]
            .iter()
            .zip(&channel[x1])
            .map(|(u, v)| (u - v).max(0.0))
            .sum();
        if variation < 1e-6 {
            continue;
        }
        let e = epsilon0.exp();
        let summary = RatioSummary::new(e * (1.0 + 1e-12), variation, e * (1.0 + 1e-12)).unwrap();
        for part in parts(&mut dice, n) {
            let round = Round::new(Mechanism::ratio(summary), n as u64).unwrap();
            let summary_account = account(&taking_part(round, part)).unwrap();
            for others in multisets(3, n - 1) {
                let users = |x: usize| [vec![x], others.clone()].concat();
                let (p, q) = (
                    view(&channel, &users(x0), part),
                    view(&channel, &users(x1), part),
                );
                for a in alphas(epsilon0) {
                    let bound = upper(&summary_account, a);
                    let truth = hockey_stick(&p, &q, a).max(hockey_stick(&q, &p, a));
                    assert!(
                        truth <= bound * (1.0 + 1e-11) + SLACK,
                        "{truth} > {bound} at {a}"
                    );
                }
            }
        }
    }
}

#[test]
fn rates_within_a_range_never_exceed_the_range_bound() {
    let mut dice = Dice::new(3);
    let (lowest, highest) = (0.2, 0.6);
    for _ in 0..12 {
        let epsilon0 = [0.5, 2.0, 5.0][dice.below(3)];
        let channel = extremal_channel(&mut dice, 3, epsilon0);
        let n = 3;
        let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), n).unwrap();
        let account = account(&round.check_in_between(lowest, highest).unwrap()).unwrap();
        // One row for each input at each of three rates: users with rates of their own are users with inputs
        // of their own.
        let rates = [lowest, 0.37, highest];
        let wide: Matrix = rates
            .iter()
            .flat_map(|&rate| {
                channel.iter().map(move |row| {
                    let mut row: Vec<f64> = row.iter().map(|entry| entry * rate).collect();
                    row.push(1.0 - rate);
                    row
                })
            })
            .collect();
        for a in alphas(epsilon0) {
            let bound = upper(&account, a);
            for own in 0..rates.len() {
                for others in multisets(wide.len(), n as usize - 1) {
                    let users = |x: usize| [vec![3 * own + x], others.clone()].concat();
                    let p = view(&wide, &users(0), Part::Everyone);
                    let q = view(&wide, &users(1), Part::Everyone);
                    let truth = hockey_stick(&p, &q, a);
                    assert!(
                        truth <= bound * (1.0 + 1e-12) + SLACK,
                        "{truth} > {bound} at {a}"
                    );
                }
            }
        }
    }
}

#[test]
fn randomizers_chosen_from_earlier_reports_stay_below_the_adaptive_bound() {
    // Users are permuted, then report in turn, each by a channel that depends on all reports before theirs;
    // the analyzer sees the sequence.
    let mut dice = Dice::new(17);
    for _ in 0..60 {
        let epsilon0 = [0.5, 1.0, 3.0, 5.0][dice.below(4)];
        let (n, inputs) = (2 + dice.below(2), 3);
        let mut channels: std::collections::BTreeMap<Vec<usize>, Matrix> = Default::default();
        let mut law = |users: &[usize], channels: &mut std::collections::BTreeMap<_, Matrix>| {
            let mut law: std::collections::BTreeMap<Vec<usize>, f64> = Default::default();
            for order in permutations(users.len()) {
                let mut stack = vec![(Vec::new(), 1.0 / factorial(users.len()))];
                while let Some((reports, probability)) = stack.pop() {
                    if reports.len() == users.len() {
                        *law.entry(reports).or_default() += probability;
                        continue;
                    }
                    let channel = channels
                        .entry(reports.clone())
                        .or_insert_with(|| extremal_channel(&mut dice, inputs, epsilon0));
                    let row = &channel[users[order[reports.len()]]];
                    for (y, entry) in row.iter().enumerate() {
                        let mut longer = reports.clone();
                        longer.push(y);
                        stack.push((longer, probability * entry));
                    }
                }
            }
            law
        };
        let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), n as u64).unwrap();
        let account = account(&round.adaptive_within_round().unwrap()).unwrap();
        for others in multisets(inputs, n - 1) {
            let users = |x: usize| [vec![x], others.clone()].concat();
            let p = law(&users(0), &mut channels);
            let q = law(&users(1), &mut channels);
            for a in alphas(epsilon0) {
                let (truth, bound) = (hockey_stick(&p, &q, a), upper(&account, a));
                assert!(
                    truth <= bound * (1.0 + 1e-12) + SLACK,
                    "{truth} > {bound} at {a}"
                );
            }
        }
    }
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    permutations(n - 1)
        .into_iter()
        .flat_map(|shorter| {
            (0..n).map(move |place| {
                let mut longer = shorter.clone();
                longer.insert(place, n - 1);
                longer
            })
        })
        .collect()
}

/// How many datasets of k-ary randomized response lie above the bound given by these atoms.
fn violations(k: usize, epsilon0: f64, n: usize, part: Part, atoms: &Atoms) -> usize {
    let profile = Profile::new(atoms.clone(), n as u64);
    let mut found = 0;
    for_every_dataset(
        &kary(k, epsilon0),
        n,
        part,
        &alphas(epsilon0),
        |_, _, a, truth| {
            if truth > profile.delta(a.ln()).upper * (1.0 + 1e-9) + SLACK {
                found += 1;
            }
        },
    );
    found
}

#[test]
fn wrong_atoms_are_caught() {
    let (k, epsilon0, n, rate) = (4usize, 3.0f64, 3usize, 0.5f64);
    let e = epsilon0.exp();
    let everyone = |atoms: &[(f64, f64, f64)]| {
        violations(k, epsilon0, n, Part::Everyone, &Atoms::new(atoms).unwrap())
    };
    let check_in = |atoms: &[(f64, f64, f64)]| {
        violations(
            k,
            epsilon0,
            n,
            Part::CheckIn(rate),
            &Atoms::new(atoms).unwrap(),
        )
    };

    // Right: left-over and shared components apart.
    let p = 1.0 / (e + k as f64 - 1.0);
    let shared = (k as f64 - 2.0) * p;
    assert_eq!(
        everyone(&[
            (p, e, 1.0),
            (p, 1.0, e),
            (shared, 1.0, 1.0),
            ((e - 1.0) * p, 0.0, 0.0)
        ]),
        0
    );
    // Wrong: the two-count pair with p = 1/(E+k−1).
    let rest = 1.0 - 2.0 * p;
    let common = (1.0 - (e + 1.0) * p) / rest;
    assert!(everyone(&[(p, e, 1.0), (p, 1.0, e), (rest, common, common)]) > 0);

    // Right: check-in with absence apart from the left-over.
    let g = rate / (e + 1.0);
    let left_over = rate - 2.0 * g;
    assert_eq!(
        check_in(&[
            (g, e, 1.0),
            (g, 1.0, e),
            (left_over, 0.0, 0.0),
            (1.0 - rate, 1.0, 1.0)
        ]),
        0
    );
    // Wrong: left-over merged with the shared component.
    let merged = (1.0 - rate) / (1.0 - 2.0 * g);
    assert!(check_in(&[(g, e, 1.0), (g, 1.0, e), (1.0 - 2.0 * g, merged, merged)]) > 0);
    // Wrong: the rate applied twice.
    let twice = rate * rate;
    let g = twice / (e + 1.0);
    assert!(
        check_in(&[
            (g, e, 1.0),
            (g, 1.0, e),
            (twice - 2.0 * g, 0.0, 0.0),
            (1.0 - twice, 1.0, 1.0)
        ]) > 0
    );
}
