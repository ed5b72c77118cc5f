//! Published bounds: against independent high-precision values, against brute force, against each other, and,
//! where they are wrong, against what refutes them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Dice, Part, exhaustive, extremal_channel, hockey_stick, kary, multisets, view};
use shuffledp_accounting::atoms::Atoms;
use shuffledp_accounting::bounds::balle_2019::{self, Inequality};
use shuffledp_accounting::bounds::shuffle_gaussian::{self, Crowd};
use shuffledp_accounting::bounds::shuffled_check_in::CheckIn;
use shuffledp_accounting::bounds::{
    Unmet, chen_2024, dwork_2010, enhanced_rdp, erlingsson_2019, feldman_2021, feldman_2023,
    girgis_2021, kairouz_2015, numerical_accounting, shuffled_check_in, wang_2019, zhu_2022,
};
use shuffledp_accounting::profile::{Direction, Profile};
use shuffledp_accounting::rdp::{Orders, RdpCurve};
use shuffledp_accounting::{
    Delta, Divergence, Domain, Mechanism, Plan, Rate, Round, Side, Standing, account, compare,
    compare_where,
};
use std::collections::{BTreeMap, HashMap};

/// One line of golden/bounds.csv.
struct Row {
    name: String,
    fields: HashMap<String, f64>,
}

impl Row {
    fn get(&self, name: &str) -> f64 {
        self.fields[name]
    }

    fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    fn count(&self, name: &str) -> u64 {
        self.get(name) as u64
    }
}

fn golden() -> Vec<Row> {
    let mut lines = include_str!("../../../golden/bounds.csv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let mut fields = line.split(',');
            let name = fields.next().unwrap().to_owned();
            let fields = header[1..]
                .iter()
                .zip(fields)
                .filter(|(_, text)| !text.is_empty())
                .map(|(name, text)| ((*name).to_owned(), text.parse().unwrap()))
                .collect();
            Row { name, fields }
        })
        .collect()
}

fn local(epsilon0: f64) -> shuffledp_accounting::LocalEpsilon {
    shuffledp_accounting::LocalEpsilon::new(epsilon0).unwrap()
}

fn categories(k: u64) -> shuffledp_accounting::Categories {
    shuffledp_accounting::Categories::new(k).unwrap()
}

/// The Rényi curve of the atoms that a row names.
fn atoms_curve(row: &Row) -> RdpCurve {
    let epsilon0 = local(row.get("epsilon0"));
    let (atoms, direction) = match row.name.as_str() {
        "atoms-rdp-ldp" => (Atoms::ldp(epsilon0), Direction::Forward),
        "atoms-rdp-adaptive" => (Atoms::ldp_adaptive(epsilon0), Direction::Forward),
        "atoms-rdp-krr" => (
            Atoms::kary_blanket(categories(row.count("k")), epsilon0),
            Direction::Forward,
        ),
        "atoms-rdp-3rr" => (
            Atoms::kary_third(categories(3), epsilon0),
            Direction::Forward,
        ),
        "atoms-rdp-rr-forward" => (
            Atoms::kary_first(categories(2), epsilon0),
            Direction::Forward,
        ),
        "atoms-rdp-rr-reverse" => (
            Atoms::kary_first(categories(2), epsilon0),
            Direction::Reverse,
        ),
        other => panic!("{other}"),
    };
    let mut atoms = atoms.unwrap();
    if row.has("rate") {
        let rate = row.get("rate");
        atoms = atoms.check_in(Rate::exactly(rate).unwrap(), rate).unwrap();
    }
    let sample = if row.has("m") {
        row.count("m")
    } else {
        row.count("n")
    };
    Profile::sampled(atoms, row.count("n"), sample).rdp(direction)
}

fn evaluate(row: &Row) -> f64 {
    let (n, order) = (
        row.count("n"),
        row.fields.get("order").copied().unwrap_or(f64::NAN),
    );
    let k = row.fields.get("k").map(|&k| k as u64);
    match row.name.as_str() {
        "erlingsson-2019" => {
            erlingsson_2019::epsilon(n, row.get("epsilon0"), row.get("delta")).unwrap()
        }
        "balle-2019-hoeffding" => balle_2019::epsilon(
            Inequality::Hoeffding,
            n,
            row.get("epsilon0"),
            k,
            row.get("delta"),
        )
        .unwrap(),
        "balle-2019-bennett" => balle_2019::epsilon(
            Inequality::Bennett,
            n,
            row.get("epsilon0"),
            k,
            row.get("delta"),
        )
        .unwrap(),
        "feldman-2021" => feldman_2021::epsilon(n, row.get("epsilon0"), row.get("delta")).unwrap(),
        "feldman-2023" => feldman_2023::epsilon(n, row.get("epsilon0"), row.get("delta")).unwrap(),
        "chen-2024" => {
            // δ₀ is in the column of the rate.
            let delta0 = row.get("rate");
            chen_2024::epsilon(n, row.get("epsilon0"), delta0, row.get("delta")).unwrap()
        }
        "girgis-2021-upper" => girgis_2021::shuffle_upper(n, row.get("epsilon0")).at(order),
        "girgis-2021-lower" => girgis_2021::shuffle_lower(n, row.get("epsilon0")).at(order),
        "girgis-2021-subsampled-upper" => {
            girgis_2021::sampled_upper(n, row.count("m"), row.get("epsilon0")).at(order)
        }
        "girgis-2021-subsampled-lower" => {
            girgis_2021::sampled_lower(n, row.count("m"), local(row.get("epsilon0")))
                .unwrap()
                .at(order)
        }
        "wang-2019" => {
            let (m, epsilon0) = (row.count("m"), row.get("epsilon0"));
            let base = girgis_2021::shuffle_upper(m, epsilon0);
            wang_2019::sampled(base, m as f64 / n as f64, epsilon0, 1000).at(order)
        }
        "shuffle-gaussian" => {
            let crowd = if row.has("m") {
                Crowd::Sample(row.count("m"), n)
            } else if row.has("rate") {
                Crowd::CheckIn(n, row.get("rate"))
            } else {
                Crowd::Everyone(n)
            };
            shuffle_gaussian::pair(row.get("sigma"), crowd).at(order)
        }
        "shuffle-gaussian-reverse" => shuffle_gaussian::reverse(row.get("sigma"), n).at(order),
        "kov" => kairouz_2015::epsilon(n, row.get("epsilon0"), 0.0, row.get("delta")).unwrap(),
        "strong-adversary-printed" => {
            numerical_accounting::strong_printed(n, k.unwrap(), row.get("epsilon0"), order).unwrap()
        }
        "strong-adversary-tight" => {
            numerical_accounting::strong_tight(n, k.unwrap(), row.get("epsilon0"), order)
        }
        "distributed-check-in" => {
            shuffled_check_in::distributed(n, row.get("rate"), row.get("sigma"))
                .unwrap()
                .at(order)
        }
        _ => atoms_curve(row).at(order),
    }
}

#[test]
fn every_bound_is_what_an_independent_evaluation_says() {
    let mut wrong = Vec::new();
    for row in golden() {
        let (got, truth) = (evaluate(&row), row.get("value"));
        let error = (got / truth - 1.0).abs();
        let error = if truth == 0.0 { got } else { error };
        let allowed = match row.name.as_str() {
            "strong-adversary-tight" => 1e-6,
            "shuffle-gaussian" => 1e-12,
            _ => 1e-10,
        };
        if error.is_nan() || error > allowed {
            wrong.push(format!(
                "{} {:?}: {got} {truth} {error:e}",
                row.name, row.fields
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// D_λ(P‖Q) of two enumerated laws.
fn divergence<K: Ord>(p: &BTreeMap<K, f64>, q: &BTreeMap<K, f64>, order: f64) -> f64 {
    let moment: f64 = p
        .iter()
        .map(|(key, p)| p.powf(order) * q[key].powf(1.0 - order))
        .sum();
    moment.ln() / (order - 1.0)
}

/// The curves that bound every ε₀-LDP channel from above, for whoever takes part.
fn upper_curves(n: u64, epsilon0: f64, part: Part) -> Vec<(&'static str, RdpCurve)> {
    let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), n).unwrap();
    let general = |round: &Round| {
        let divergence = Divergence::new(round).unwrap();
        RdpCurve::new(Orders::Reals(1e6), move |order| {
            divergence.at(order).unwrap().upper().get()
        })
    };
    match part {
        Part::Everyone => vec![
            ("moments/ldp", general(&round)),
            ("girgis-2021 CCS", girgis_2021::shuffle_upper(n, epsilon0)),
            (
                "enhanced-rdp Theorem 1",
                enhanced_rdp::theorem_1(n, local(epsilon0)).unwrap(),
            ),
        ],
        Part::Sample(m) => {
            let m = m as u64;
            let rate = m as f64 / n as f64;
            let base =
                Profile::new(Atoms::ldp(local(epsilon0)).unwrap(), m).rdp(Direction::Forward);
            vec![
                ("moments/ldp", general(&round.sample(m).unwrap())),
                (
                    "girgis-2021 Theorem 1",
                    girgis_2021::sampled_upper(n, m, epsilon0),
                ),
                (
                    "girgis-2021 CCS + wang-2019",
                    wang_2019::sampled(girgis_2021::shuffle_upper(m, epsilon0), rate, epsilon0, 64),
                ),
                (
                    "moments + wang-2019",
                    wang_2019::sampled(base, rate, epsilon0, 64),
                ),
            ]
        }
        Part::CheckIn(rate) => vec![("moments/ldp", general(&round.check_in(rate).unwrap()))],
    }
}

#[test]
fn no_channel_exceeds_a_proved_curve() {
    let mut dice = Dice::new(31);
    let mut checks = 0;
    let mut tightest: f64 = 0.0;
    for trial in 0..30 {
        let epsilon0 = [0.3, 1.0, 2.0, 4.0][dice.below(4)];
        let inputs = 2 + trial % 2;
        let n = 2 + dice.below(3);
        let channel = if trial % 4 == 0 {
            kary(inputs, epsilon0)
        } else {
            extremal_channel(&mut dice, inputs, epsilon0)
        };
        for part in [
            Part::Everyone,
            Part::CheckIn(0.1 + 0.8 * dice.unit()),
            Part::Sample(1 + dice.below(n)),
        ] {
            let curves = upper_curves(n as u64, epsilon0, part);
            for order in [2.0, 3.0, 8.0, 40.0] {
                let bounds: Vec<f64> = curves.iter().map(|(_, curve)| curve.at(order)).collect();
                for others in multisets(inputs, n - 1) {
                    for (x0, x1) in [(0, 1), (1, 0), (0, inputs - 1), (inputs - 1, 0)] {
                        let with = |x: usize| {
                            let mut all = others.clone();
                            all.push(x);
                            view(&channel, &all, part)
                        };
                        let truth = divergence(&with(x0), &with(x1), order);
                        for ((name, _), bound) in curves.iter().zip(&bounds) {
                            checks += 1;
                            assert!(
                                truth <= bound * (1.0 + 1e-9) + 1e-12,
                                "{name} at order {order}: {truth} > {bound}, n {n}, {part:?}, {channel:?}"
                            );
                        }
                        tightest = tightest.max(truth / bounds[0]);
                    }
                }
            }
        }
    }
    assert!(checks > 10_000, "only {checks}");
    assert!(tightest > 0.95, "{tightest}");
}

#[test]
fn no_channel_exceeds_a_guarantee_of_few_users() {
    // The (ε, δ) theorems that say something about a handful of users, at large δ.
    let mut dice = Dice::new(77);
    let mut tried = HashMap::<&str, usize>::new();
    for trial in 0..40 {
        let epsilon0 = [0.1, 0.2, 1.0, 2.0, 3.0][dice.below(5)];
        let (inputs, n) = (2 + trial % 2, 3 + dice.below(2));
        let named = trial % 2 == 0;
        let channel = if named {
            kary(inputs, epsilon0)
        } else {
            extremal_channel(&mut dice, inputs, epsilon0)
        };
        let (users, k) = (n as u64, inputs as u64);
        let sample = 2 + dice.below(n - 1);
        let base = Profile::new(Atoms::ldp(local(epsilon0)).unwrap(), sample as u64);
        let rate = sample as f64 / n as f64;
        for delta in [0.02, 0.1, 0.2, 0.35] {
            let mut guarantees = vec![
                (
                    "hoeffding",
                    Part::Everyone,
                    balle_2019::epsilon(Inequality::Hoeffding, users, epsilon0, None, delta).ok(),
                ),
                (
                    "bennett",
                    Part::Everyone,
                    balle_2019::epsilon(Inequality::Bennett, users, epsilon0, None, delta).ok(),
                ),
                (
                    "zhu",
                    Part::Sample(sample),
                    zhu_2022::epsilon(&base, rate, 1, delta),
                ),
            ];
            if named {
                guarantees.extend([
                    (
                        "hoeffding k",
                        Part::Everyone,
                        balle_2019::epsilon(Inequality::Hoeffding, users, epsilon0, Some(k), delta)
                            .ok(),
                    ),
                    (
                        "bennett k",
                        Part::Everyone,
                        balle_2019::epsilon(Inequality::Bennett, users, epsilon0, Some(k), delta)
                            .ok(),
                    ),
                    (
                        "A_s",
                        Part::Everyone,
                        numerical_accounting::strong_epsilon(users, k, epsilon0, delta, false).ok(),
                    ),
                ]);
            }
            for (name, part, epsilon) in guarantees {
                let Some(epsilon) = epsilon else { continue };
                *tried.entry(name).or_default() += 1;
                for others in multisets(inputs, n - 1) {
                    for (x0, x1) in [(0, 1), (1, 0)] {
                        let with = |x: usize| {
                            let mut all = others.clone();
                            all.push(x);
                            view(&channel, &all, part)
                        };
                        let truth = hockey_stick(&with(x0), &with(x1), epsilon.exp());
                        assert!(
                            truth <= delta * (1.0 + 1e-6),
                            "{name}: {truth} > {delta} at {epsilon}, n {n}, {part:?}, {channel:?}"
                        );
                    }
                }
            }
        }
    }
    assert!(
        tried.len() == 6 && tried.values().all(|&times| times >= 10),
        "{tried:?}"
    );
}

#[test]
fn no_closed_form_is_below_what_randomized_response_attains() {
    let mut dice = Dice::new(7);
    let mut tried = HashMap::<&str, usize>::new();
    for _ in 0..150 {
        let users = 10f64.powf(1.5 + 5.5 * dice.unit()) as u64;
        let epsilon0 = 0.1 + 5.0 * dice.unit() * dice.unit();
        let delta = 10f64.powf(-2.0 - 8.0 * dice.unit());
        let k = 2 + dice.below(20) as u64;
        let lowest = |mechanism: Mechanism| {
            let round = Round::new(mechanism, users).unwrap();
            let answer = account(&round).unwrap().epsilon(Delta::new(delta).unwrap());
            answer.unwrap().lower().value()
        };
        let general = lowest(Mechanism::ldp(epsilon0).unwrap());
        let response = lowest(Mechanism::kary_response(k, epsilon0).unwrap());
        let forms: [(&str, Result<f64, Unmet>, f64); 8] = [
            (
                "erlingsson",
                erlingsson_2019::epsilon(users, epsilon0, delta),
                general,
            ),
            (
                "hoeffding",
                balle_2019::epsilon(Inequality::Hoeffding, users, epsilon0, None, delta),
                general,
            ),
            (
                "bennett",
                balle_2019::epsilon(Inequality::Bennett, users, epsilon0, None, delta),
                general,
            ),
            (
                "hoeffding k",
                balle_2019::epsilon(Inequality::Hoeffding, users, epsilon0, Some(k), delta),
                response,
            ),
            (
                "bennett k",
                balle_2019::epsilon(Inequality::Bennett, users, epsilon0, Some(k), delta),
                response,
            ),
            (
                "feldman 2021",
                feldman_2021::epsilon(users, epsilon0, delta),
                general,
            ),
            (
                "feldman 2023",
                feldman_2023::epsilon(users, epsilon0, delta),
                general,
            ),
            (
                "A_s",
                numerical_accounting::strong_epsilon(users, k, epsilon0, delta, false),
                response,
            ),
        ];
        for (name, value, least) in forms {
            if let Ok(value) = value {
                *tried.entry(name).or_default() += 1;
                assert!(
                    value >= least,
                    "{name}: {value} < {least}, n {users}, {epsilon0}, k {k}, {delta:e}"
                );
            }
        }
        let rate = 0.01 + 0.5 * dice.unit();
        if let Ok(value) = shuffled_check_in::first_cut(users, rate, epsilon0, delta) {
            *tried.entry("first cut").or_default() += 1;
            let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), users).unwrap();
            let account = account(&round.check_in(rate).unwrap()).unwrap();
            let answer = account.epsilon(Delta::new(delta).unwrap()).unwrap();
            assert!(
                value >= answer.lower().value(),
                "first cut: {value} {answer:?}"
            );
        }
    }
    assert!(
        tried.len() == 9 && tried.values().all(|&times| times >= 5),
        "{tried:?}"
    );
}

#[test]
fn published_tables_come_out() {
    // Shuffle-Gaussian Table 1, "Ours": orders up to 30; and without the cap.
    let curve = shuffle_gaussian::pair(9.48, Crowd::Everyone(60_000));
    let delta = 1.0 / 60_000.0;
    let capped = curve.clone().capped(30.0);
    let row: Vec<String> = (1..=7)
        .map(|times| {
            format!(
                "{:.5}",
                capped.clone().times(times).epsilon(delta).unwrap().value
            )
        })
        .collect();
    assert_eq!(
        row,
        [
            "0.22820", "0.22820", "0.22821", "0.22821", "0.22821", "0.22822", "0.22822"
        ]
    );
    for (times, printed) in [
        (1, "0.00141"),
        (2, "0.00159"),
        (3, "0.00177"),
        (7, "0.00251"),
    ] {
        let answer = curve.clone().times(times).epsilon(delta).unwrap();
        assert_eq!(format!("{:.5}", answer.value), printed);
    }
    assert_eq!(curve.epsilon(delta).unwrap().order, 1976.0);
    // The atoms of Theorem S, nine digits.
    for (n, epsilon0, values) in [
        (
            10_000,
            4.0,
            [0.0103613707, 0.0207269594, 0.0832984864, 1.11905942],
        ),
        (
            100_000,
            2.0,
            [9.73197239e-5, 1.94639451e-4, 7.78558102e-4, 3.11425220e-3],
        ),
    ] {
        let curve = Profile::new(Atoms::ldp(local(epsilon0)).unwrap(), n).rdp(Direction::Forward);
        for (order, truth) in [2.0, 4.0, 16.0, 64.0].into_iter().zip(values) {
            assert!((curve.at(order) / truth - 1.0).abs() < 6e-9, "{n} {order}");
        }
    }
    // Its Rényi divergences at large n, nine digits.
    for (n, sigma, order, truth) in [
        (10_000, 1.0, 2.0, 1.71813422075e-4),
        (10_000, 1.0, 32.0, 6.78965962838),
        (10_000, 1.0, 64.0, 22.789659628),
        (100_000_000, 3.0, 16.0, 9.40152549988e-9),
        (1_000_000_000, 10.0, 2.0, 1.00501671e-11),
    ] {
        let got = shuffle_gaussian::pair(sigma, Crowd::Everyone(n)).at(order);
        assert!(
            (got / truth - 1.0).abs() < 2e-9,
            "{n} {sigma} {order}: {got:e}"
        );
    }
    // Subsampled-shuffle-rdp Theorem 1, δ = 1e-8.
    for (epsilon0, users, values) in [
        (2.0, 1_000_000, [0.12647, 0.34651, 1.04022]),
        (1.0, 10_000_000, [0.0080690, 0.0241224, 0.0764274]),
    ] {
        for (times, printed) in [1_000, 10_000, 100_000].into_iter().zip(values) {
            let curve = girgis_2021::sampled_upper(users, users / 1000, epsilon0).times(times);
            let value = curve.epsilon(1e-8).unwrap().value;
            // The values known are for a list of orders; the best order gains up to 4e-4 on them.
            let unit = if epsilon0 == 2.0 { 1e-5 } else { 1e-7 };
            assert!(
                value <= printed + 0.51 * unit && value >= printed * (1.0 - 4e-4) - unit,
                "{epsilon0} {times}: {value}"
            );
        }
    }
    // Lemma 7 of numerical-accounting on m = 100 of n = 10000, ε₀ = 3, δ = 1e-6.
    let base = Profile::new(Atoms::ldp(local(3.0)).unwrap(), 100);
    // By a lattice of step 1e-4 and FFT elsewhere. (One direction's pair alone, which the lemma does not
    // allow for a < 1, would give 0.25031, 0.49537, 1.20831.)
    for (times, truth) in [
        (1, 0.1724960),
        (10, 0.2520746),
        (100, 0.5184903),
        (1000, 1.3664197),
    ] {
        let value = zhu_2022::epsilon(&base, 0.01, times, 1e-6).unwrap();
        assert!((value / truth - 1.0).abs() < 1e-4, "{times}: {value}");
    }
}

#[test]
fn what_is_refuted_is_refuted() {
    // Shuffled-check-in Table 2 (n = 1e4, T = 100, δ = 1e-4): the smallest printed value of each row, against
    // an explicit adversary.
    for (epsilon0, rate, printed, false_there) in [
        (2.0, 1e-2, 0.049, true),
        (2.0, 1e-3, 0.012, true),
        (8.0, 1e-2, 8.18, false),
        (8.0, 1e-3, 1.58, false),
    ] {
        let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), 10_000).unwrap();
        let plan = Plan::new(round.check_in(rate).unwrap(), 100).unwrap();
        let answer = account(&plan)
            .unwrap()
            .epsilon(Delta::new(1e-4).unwrap())
            .unwrap();
        assert_eq!(
            printed < answer.lower().value(),
            false_there,
            "{epsilon0} {rate}"
        );
    }
    // Lemma 1: to publish everything with probability δ is (0, δ)-DP, and has no finite divergence; the lemma
    // gives one.
    assert!(shuffled_check_in::lemma_1(10.0, 0.0, 1e-5).is_finite());
    // Shuffle-Gaussian Theorem 3, and equation 17 whose bound it is: n = 4, γ = 0.1, σ = 1, λ = 12.
    let truth = shuffle_gaussian::pair(1.0, Crowd::CheckIn(4, 0.1)).at(12.0);
    let claimed = shuffle_gaussian::theorem_3(1.0, 4, 0.1).at(12.0);
    assert!((truth - 4.404).abs() < 1e-3, "{truth}");
    assert!(
        (claimed - 3.606).abs() < 1e-3 && claimed < truth,
        "{claimed} {truth}"
    );
    assert!(shuffle_gaussian::equation_17(1.0, 4, 0.1).unwrap().at(12.0) < claimed);
    // Enhanced-rdp Corollary 2: binary randomized response itself has more.
    let claimed = enhanced_rdp::corollary_2(10_000, 4.0).at(64.0);
    let round = Round::new(Mechanism::binary_response(4.0).unwrap(), 10_000).unwrap();
    let answer = Divergence::new(&round).unwrap().at(64.0).unwrap();
    assert!((claimed - 0.699).abs() < 1e-3, "{claimed}");
    assert!(answer.lower().get() > claimed, "{answer:?}");
    assert!((answer.upper().get() - 1.119).abs() < 1e-3);
    // Chen et al. 2024: 3-ary randomized response costs more.
    let round = Round::new(Mechanism::ldp(4.0).unwrap(), 1_000).unwrap();
    let attained = account(&round)
        .unwrap()
        .epsilon(1e-6)
        .unwrap()
        .lower()
        .value();
    let table = compare(&round, 1, Delta::new(1e-6).unwrap()).unwrap();
    let row = table
        .iter()
        .find(|row| row.name.starts_with("chen-2024"))
        .unwrap();
    assert_eq!(row.standing, Standing::Refuted);
    assert!(*row.epsilon.as_ref().unwrap() < 0.81 * attained, "{row:?}");
    assert!(!row.tightest && row.note.as_deref().unwrap().ends_with("false here"));
}

#[test]
fn a_limit_theorem_names_the_condition_that_fails() {
    let delta = Delta::new(1e-6).unwrap();
    let round = Round::new(Mechanism::approximate_ldp(1.0, 1e-9).unwrap(), 1_000).unwrap();
    for (round, rounds, condition) in [
        (round.clone(), 1, None),
        (round.clone(), 2, Some("one round")),
        (
            round.clone().sample(100).unwrap(),
            1,
            Some("everybody takes part"),
        ),
        (
            round.check_in(0.5).unwrap(),
            1,
            Some("everybody takes part"),
        ),
    ] {
        let table = compare_where(&round, rounds, delta, &|name| name == "chen-2024 (GDP)");
        let table = table.unwrap();
        let row = table
            .iter()
            .find(|row| row.name == "chen-2024 (GDP)")
            .unwrap();
        let unmet = row.epsilon.as_ref().err().map(ToString::to_string);
        assert_eq!(unmet.as_deref(), condition, "{row:?}");
    }
    for (users, delta0, delta) in [
        (1, 0.0, 1e-6),
        (9, 1.0, 1e-6),
        (9, f64::NAN, 1e-6),
        (9, 0.0, 0.0),
    ] {
        assert!(chen_2024::epsilon(users, 1.0, delta0, delta).is_err());
    }
}

#[test]
fn comparing_names_what_is_tightest_and_what_is_false() {
    let delta = Delta::new(1e-6).unwrap();
    let round = Round::new(Mechanism::ldp(4.0).unwrap(), 1_000).unwrap();
    for rounds in [1, 50] {
        let table = compare(&round, rounds, delta).unwrap();
        let sure = |standing| matches!(standing, Standing::Certified | Standing::Proved);
        let best = table
            .iter()
            .find(|entry| entry.tightest && entry.side == Side::Upper)
            .unwrap();
        let floor = table
            .iter()
            .find(|entry| entry.tightest && entry.side == Side::Lower)
            .unwrap();
        for entry in &table {
            let Ok(epsilon) = entry.epsilon else { continue };
            if entry.side == Side::Upper && sure(entry.standing) {
                assert!(epsilon >= *best.epsilon.as_ref().unwrap(), "{entry:?}");
            }
            let said = entry
                .note
                .as_deref()
                .is_some_and(|note| note.contains("false here"));
            let is_false = entry.side == Side::Upper && epsilon < *floor.epsilon.as_ref().unwrap();
            assert_eq!(said, is_false, "{entry:?}");
        }
        assert!(best.name.starts_with("shuffledp"));
    }
}

#[test]
fn comparing_has_a_table_for_every_family() {
    let delta = Delta::new(1e-6).unwrap();
    let families = [
        Mechanism::gaussian(2.0, Domain::Interval).unwrap(),
        Mechanism::approximate_ldp(1.0, 1e-12).unwrap(),
        Mechanism::kary_response(5, 2.0).unwrap(),
        Mechanism::binary_response(1.0).unwrap(),
    ];
    let has_tables = |mechanism: Mechanism| {
        // Gaussian noise takes ten seconds over three rounds: the fast tests take one.
        let long = matches!(mechanism.local(), shuffledp_accounting::Local::Gaussian(_));
        let rounds = if long && !exhaustive() { 1 } else { 3 };
        let round = Round::new(mechanism, 5_000).unwrap();
        for round in [
            round.clone(),
            round.clone().sample(200).unwrap(),
            round.check_in(0.05).unwrap(),
        ] {
            let table = compare(&round, rounds, delta).unwrap();
            assert!(!table.is_empty());
            assert!(
                table
                    .iter()
                    .all(|entry| entry.epsilon.as_ref().map_or(true, |e| *e >= 0.0))
            );
        }
    };
    // Gaussian noise takes as long as all others.
    let [gaussian, others @ ..] = families;
    std::thread::scope(|scope| {
        scope.spawn(|| has_tables(gaussian));
        others.into_iter().for_each(has_tables);
    });
}

#[test]
fn conversions_find_their_order_and_invert_each_other() {
    // A brute search over two million orders finds nothing better.
    for (slope, delta) in [(0.5, 1e-6), (1e-7, 1e-10), (40.0, 1e-3)] {
        let curve = RdpCurve::new(Orders::Reals(1e6), move |order| slope * order);
        let best = curve.epsilon(delta).unwrap();
        let mut least = f64::INFINITY;
        let mut order = 1.0005;
        while order < 9e5 {
            let slack = (order - 1.0) * (-1.0f64 / order).ln_1p() - f64::ln(order);
            least = least.min(slope * order + (slack - f64::ln(delta)) / (order - 1.0));
            order = 1.0 + (order - 1.0) * 1.001;
        }
        assert!(
            best.value <= least.max(0.0) * (1.0 + 1e-6),
            "{slope}: {best:?} {least}"
        );
        let back = curve.delta(best.value).unwrap().value;
        assert!((back / delta - 1.0).abs() < 1e-3, "{slope}: {back}");
    }
    // Integer orders: a chord lies above the curve, and composition adds.
    let integer = RdpCurve::new(Orders::Integers(100), |order| 0.01 * order);
    let real = RdpCurve::new(Orders::Reals(100.0), |order| 0.01 * order);
    for order in [2.5, 7.25, 99.5] {
        assert!(integer.at(order) >= real.at(order) && integer.at(order) < 1.2 * real.at(order));
    }
    assert!(integer.at(100.5).is_infinite() && real.at(1.0).is_infinite());
    let both = integer.clone().times(3).plus(&real);
    assert!((both.at(10.0) - 0.4).abs() < 1e-12);
    assert!(real.epsilon(0.0).is_err() && real.delta(f64::NAN).is_err());
    // More rounds cost more; composing baselines are ordered.
    for rounds in [2, 100, 100_000] {
        let optimal = kairouz_2015::epsilon(rounds, 0.01, 1e-12, 1e-6).unwrap();
        assert!(optimal <= dwork_2010::basic(rounds, 0.01) * (1.0 + 1e-12));
        assert!(optimal <= dwork_2010::advanced(rounds, 0.01, 1e-12, 1e-6).unwrap());
    }
}

#[test]
fn sums_with_strides_agree_with_certified_distributions() {
    let mut dice = Dice::new(5);
    for _ in 0..25 {
        let epsilon0 = 0.2 + 5.0 * dice.unit();
        let users = 10f64.powf(1.0 + 6.0 * dice.unit()) as u64;
        let order = 1.1 + 10f64.powf(3.0 * dice.unit());
        let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), users).unwrap();
        let round = match dice.below(3) {
            0 => round,
            1 => round.sample(1 + dice.below(users as usize) as u64).unwrap(),
            _ => round.check_in(0.01 + 0.9 * dice.unit()).unwrap(),
        };
        let moments = Divergence::new(&round).unwrap().at(order).unwrap();
        let certified = account(&round).unwrap().renyi(order).unwrap();
        let (sum, upper) = (moments.upper().get(), certified.upper().get());
        assert!(
            sum <= upper * (1.0 + 1e-9),
            "{round:?} {order}: {sum} {upper}"
        );
        // A lattice ends at a tail of e^{−735}; beyond that it can only charge the largest loss.
        if order * epsilon0 < 600.0 {
            assert!(sum >= 0.99 * upper, "{round:?} {order}: {sum} {upper}");
        }
    }
}

#[test]
fn orders_in_the_thousands_at_any_number_of_users() {
    let users = 1_000_000_000_000;
    let order = 10_000.0;
    let curves = [
        (
            "moments",
            Profile::new(Atoms::ldp(local(4.0)).unwrap(), users).rdp(Direction::Forward),
        ),
        (
            "gaussian",
            shuffle_gaussian::pair(1.0, Crowd::Everyone(users)),
        ),
        ("girgis upper", girgis_2021::shuffle_upper(users, 1.0)),
        ("girgis lower", girgis_2021::shuffle_lower(users, 1.0)),
        (
            "girgis sampled",
            girgis_2021::sampled_upper(users, 1_000_000_000, 1.0),
        ),
        (
            "girgis + wang",
            wang_2019::sampled(
                girgis_2021::shuffle_upper(1_000_000_000, 1.0),
                1e-3,
                1.0,
                20_000,
            ),
        ),
        ("gaussian, reverse", shuffle_gaussian::reverse(1.0, users)),
        (
            "gaussian, sampled",
            shuffle_gaussian::pair(5.0, Crowd::Sample(1_000_000_000, users)),
        ),
        (
            "gaussian Theorem 2",
            shuffle_gaussian::theorem_2(5.0, 1_000_000_000, users),
        ),
        (
            "distributed",
            shuffled_check_in::distributed(users, 1e-3, 5.0).unwrap(),
        ),
        (
            "girgis sampled lower",
            girgis_2021::sampled_lower(users, 1_000_000_000, local(1.0)).unwrap(),
        ),
    ];
    for (name, curve) in curves {
        let value = curve.at(order);
        assert!(value.is_finite() && value > 0.0, "{name}: {value}");
    }
    // To leading order λ χ²/(2n).
    let e = 4f64.exp();
    let leading = order * (e - 1.0).powi(2) / (e + 1.0) / users as f64;
    let exact = Profile::new(Atoms::ldp(local(4.0)).unwrap(), users)
        .rdp(Direction::Forward)
        .at(order);
    assert!((exact / leading - 1.0).abs() < 1e-4, "{exact} {leading}");
}

#[test]
fn more_users_hide_better() {
    // Conjecture 1 of shuffle-gaussian, a theorem: the mean of n is a reverse martingale.
    for sigma in [0.5, 1.0, 3.0] {
        for order in [2.0, 5.0, 12.0] {
            let values: Vec<f64> = (1..40)
                .map(|n| shuffle_gaussian::pair(sigma, Crowd::Everyone(n)).at(order))
                .collect();
            assert!(
                values.windows(2).all(|pair| pair[1] < pair[0]),
                "{sigma} {order}"
            );
            assert!((values[0] / (order / (2.0 * sigma * sigma)) - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn approaches_of_shuffled_check_in_have_values() {
    let setting = CheckIn {
        users: 10_000,
        rate: 0.01,
        epsilon0: 2.0,
        delta0: 1e-8,
        delta1: 1e-4,
    };
    for curve in [
        shuffled_check_in::approach_1(setting),
        shuffled_check_in::approach_2(setting),
    ] {
        let value = curve.times(100).epsilon(1e-4).unwrap().value;
        assert!(value > 0.01 && value < 1.0, "{value}");
    }
}

#[test]
fn divergences_at_the_ends_of_their_range() {
    // Enumerated in quadruple precision (n = 30), or dominated by the single outcome that no other user
    // hides; every case once was wrong, slow or an error.
    let bracket = |mechanism: Mechanism, users: u64, order: f64| {
        let answer = Divergence::new(&Round::new(mechanism, users).unwrap())
            .unwrap()
            .at(order)
            .unwrap();
        (answer.lower().get(), answer.upper().get())
    };
    for (epsilon0, users, order, truth) in [
        (40.0, 1_000_000_000_000_000, 2.0, 39.995751645744704),
        (35.0, 1_000_000_000_000, 100.0, 34.99999363119519),
        (20.0, 30, 2.0, 19.99999993816539),
        (4.1193, 1483, 2.84, 0.11541334223819075),
        (4.6, 2500, 2.0, 0.07902725412),
        (1e-12, 30, 2.0, 3.33333333333499e-26),
        (1e-12, 30, 1.001, 1.66833333333e-26),
        (1e-8, 30, 2.0, 3.333333349999994e-18),
    ] {
        let (_, upper) = bracket(Mechanism::ldp(epsilon0).unwrap(), users, order);
        assert!(
            (upper / truth - 1.0).abs() < 1e-9,
            "{epsilon0} {users} {order}: {upper} {truth}"
        );
    }
    for (epsilon0, users, order, truth) in [
        (6.7746, 36_748, 7.0, 0.1190226692),
        (5.0, 20_000, 30.0, 0.3687613956),
        (5.0, 1_000_000, 2000.0, 1.640646078),
    ] {
        let (lower, upper) = bracket(Mechanism::binary_response(epsilon0).unwrap(), users, order);
        assert!(
            (lower / truth - 1.0).abs() < 1e-8 && lower <= upper,
            "{epsilon0} {users}: {lower} {truth}"
        );
    }
    // A gigantic crowd with hardly any noise in common: two peaks, far apart.
    for (epsilon0, users) in [(14.0, 100_000_000_000), (20.0, 10_000_000_000_000)] {
        for order in [1.5, 30.0, 1e3, 1e5] {
            let (lower, upper) = bracket(Mechanism::ldp(epsilon0).unwrap(), users, order);
            assert!(
                lower > 0.999 * upper && lower <= upper,
                "{epsilon0} {order}: {lower} {upper}"
            );
        }
    }
    // Gaussian noise between integer orders.
    let (lower, _) = bracket(Mechanism::gaussian(1.0, Domain::Interval).unwrap(), 2, 2.5);
    assert!(lower <= 0.79331, "{lower}");
    // Numerical integration over both reports gives 0.455818.
    let (lower, _) = bracket(Mechanism::gaussian(1.0, Domain::Interval).unwrap(), 2, 1.5);
    assert!(lower > 0.19 && lower <= 0.455_818, "{lower}");
}

#[test]
fn comparisons_that_once_were_wrong() {
    let upper = |round: Round, rounds: u64, delta: f64, name: &str| {
        let table = compare(&round, rounds, Delta::new(delta).unwrap()).unwrap();
        let entry = table
            .iter()
            .find(|entry| entry.name.starts_with(name))
            .unwrap()
            .clone();
        entry.epsilon
    };
    // One rate is assumed where a range is given.
    let ranged = Round::new(Mechanism::ldp(1.0).unwrap(), 1_000_000)
        .unwrap()
        .check_in_between(1e-4, 0.5)
        .unwrap();
    assert!(upper(ranged.clone(), 1, 1e-6, "shuffled-check-in Theorem 1").is_err());
    // User 1 at 0.5 and the others at 1e-4: δ(0.2) is 1.9e-6.
    let answer = account(&ranged)
        .unwrap()
        .epsilon(Delta::new(1e-6).unwrap())
        .unwrap();
    assert!(answer.lower().value() > 0.2, "{answer:?}");
    // 1 − q in the optimal composition.
    let two = Round::new(Mechanism::ldp(36.5).unwrap(), 2).unwrap();
    assert!(upper(two, 10, 1e-6, "local, kairouz-2015").unwrap() > 364.99);
    // Always something to say.
    let round = Round::new(Mechanism::approximate_ldp(1.0, 1e-12).unwrap(), 1000).unwrap();
    assert!(upper(round.check_in(0.1).unwrap(), 1, 1e-6, "local").unwrap() <= 1.0);
}

/// Two rounds of k-ary randomized response against an adversary who sees every coin, by listing all he can
/// see.
#[test]
fn an_adversary_who_sees_every_coin_learns_no_more_than_composed() {
    let (n, k, epsilon0) = (6u64, 3u64, 1.2f64);
    let e = epsilon0.exp();
    let gamma = k as f64 / (e + k as f64 - 1.0);
    let each = gamma / k as f64;
    // The other n − 1 drew the two values so many times.
    let counts = |first: i64, second: i64| -> f64 {
        let rest = n as i64 - 1 - first - second;
        if first < 0 || second < 0 || rest < 0 {
            return 0.0;
        }
        let factorial = |m: i64| (1..=m).map(|i| i as f64).product::<f64>();
        factorial(n as i64 - 1) / (factorial(first) * factorial(second) * factorial(rest))
            * each.powi((first + second) as i32)
            * (1.0 - 2.0 * each).powi(rest as i32)
    };
    // What one round shows: that the target threw a random value, or the counts with their own answer among
    // them.
    let mut seen = vec![(gamma, gamma)];
    for first in 0..=n as i64 {
        for second in 0..=n as i64 {
            let one = (1.0 - gamma) * counts(first - 1, second);
            let other = (1.0 - gamma) * counts(first, second - 1);
            seen.push((one, other));
        }
    }
    let total: f64 = seen.iter().map(|(one, _)| one).sum();
    assert!((total - 1.0).abs() < 1e-12);
    // Outcomes that the second dataset cannot give: their probabilities are added up over rounds, as if no
    // two could happen.
    let certain: f64 = seen.iter().filter(|(_, q)| *q == 0.0).map(|(p, _)| p).sum();
    for rounds in [1, 2] {
        let twice = if rounds == 2 { certain * certain } else { 0.0 };
        let composed = numerical_accounting::strong_composed(n, k, epsilon0, rounds).unwrap();
        // Both questions have answers, also where no epsilon will do.
        let found = composed.epsilon(0.35);
        assert!(composed.delta(found * 1.001 + 1e-9) <= 0.35, "{found}");
        assert_eq!(composed.epsilon(0.1), f64::INFINITY);
        for epsilon in [0.0, 0.3, 0.8, 1.5, 2.5] {
            let a = f64::exp(epsilon);
            let truth: f64 = if rounds == 1 {
                seen.iter().map(|(p, q)| (p - a * q).max(0.0)).sum()
            } else {
                seen.iter()
                    .flat_map(|x| seen.iter().map(move |y| (x.0 * y.0, x.1 * y.1)))
                    .map(|(p, q)| (p - a * q).max(0.0))
                    .sum()
            };
            let bound = composed.delta(epsilon);
            assert!(
                bound >= truth * (1.0 - 1e-12) && bound <= truth + twice + 1e-6,
                "T = {rounds}, epsilon {epsilon}: {bound} against {truth}"
            );
        }
    }
}
