//! A question is a value: its JSON Schema, its way through TOML and JSON and back, and the sums it refuses.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{
    Accountant, Domain, Error, Input, Mechanism, Parameter, PerUser, Plan, RandomizerSpec,
    Relation, Round, RoundSpec, account, catalog, round_schema,
};

/// A description of every randomizer of the catalog, with numbers for all that it needs.
fn filled(name: &str) -> RandomizerSpec {
    let mut spec = RandomizerSpec::new(name).unwrap();
    for parameter in spec.entry().needs() {
        match parameter {
            Parameter::Epsilon0 => spec.epsilon0 = Some(1.25.into()),
            Parameter::Delta0 => spec.delta0 = Some(1e-9),
            Parameter::Sigma => spec.sigma = Some(2.0),
            Parameter::Blanket => spec.blanket = Some(0.5),
            Parameter::Categories => spec.k = Some(5),
            Parameter::Dimension => spec.dimension = Some(8),
            Parameter::Ratio => spec.p = Some(3.0),
            Parameter::Variation => spec.beta = Some(0.25),
            Parameter::Cover => spec.q = Some(3.0),
            Parameter::Rows => spec.rows = Some(vec![vec![0.75, 0.25], vec![0.25, 0.75]]),
            other => panic!("{other}"),
        }
    }
    spec
}

#[test]
fn the_schema_that_is_checked_in_is_the_catalogs() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/round.schema.json");
    let made = serde_json::to_string_pretty(&round_schema()).unwrap() + "\n";
    if std::env::var("SCHEMA").as_deref() == Ok("overwrite") {
        std::fs::write(file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(kept == made, "remake it with SCHEMA=overwrite");
}

/// Every name that flags know, plans know; and a description survives JSON, TOML, a plan and a ledger.
#[test]
fn every_randomizer_of_the_catalog_goes_through_every_door_and_back() {
    let own = catalog().filter(|entry| entry.takes_own_epsilon0());
    let with_a_range = own.map(|entry| {
        let mut spec = filled(entry.name());
        spec.epsilon0 = Some(PerUser::Range([0.5, 2.0]));
        spec
    });
    let all = catalog().map(|entry| filled(entry.name()));
    for randomizer in all.chain(with_a_range) {
        let entry = randomizer.entry();
        let mut spec = RoundSpec::new(randomizer);
        spec.users = Some(1000);
        if entry.input() != Input::Records {
            spec.colluding = 0.1;
        }
        spec.rounds = 3;
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(
            serde_json::from_str::<RoundSpec>(&text).unwrap(),
            spec,
            "{text}"
        );
        let round = Round::try_from(&spec).unwrap();
        assert_eq!(RoundSpec::of(&round, 3), spec, "{text}");
        let file = format!("[[round]]\n{}", toml::to_string(&spec).unwrap());
        let plan = Plan::from_toml(&file).unwrap();
        assert_eq!(plan.rounds(), [(round.clone(), 3)], "{file}");
        assert_eq!(plan.relation(), round.relation());
        let mut ledger = Accountant::new("all", 1000).unwrap();
        ledger.compose(&round, 3).unwrap();
        assert_eq!(
            Accountant::from_json(&ledger.to_json()).unwrap().to_json(),
            ledger.to_json()
        );
        // A mechanism without a description can say itself well enough to be read back.
        let bare = Round::new(round.mechanism().clone(), 1000).unwrap();
        let again = Round::try_from(&RoundSpec::of(&bare, 1)).unwrap();
        assert_eq!(again.mechanism(), round.mechanism(), "{}", entry.name());
    }
}

#[test]
fn what_is_missing_or_too_much_is_named() {
    for entry in catalog() {
        let full = filled(entry.name());
        for parameter in entry.needs() {
            let mut spec = full.clone();
            match parameter {
                Parameter::Epsilon0 => spec.epsilon0 = None,
                Parameter::Delta0 => spec.delta0 = None,
                Parameter::Sigma => spec.sigma = None,
                Parameter::Categories => spec.k = None,
                Parameter::Dimension => spec.dimension = None,
                Parameter::Rows => spec.rows = None,
                _ => continue,
            }
            let error = spec.mechanism().unwrap_err();
            assert_eq!(error.parameter(), Some(*parameter), "{error}");
            assert!(error.to_string().starts_with(entry.name()), "{error}");
        }
        let mut spec = full.clone();
        spec.p = Some(2.0);
        if entry.name() != "ratio" {
            let error = spec.mechanism().unwrap_err().to_string();
            assert_eq!(error, format!("p 2 is not a parameter of {}", entry.name()));
        }
    }
    let error = RandomizerSpec::new("kr").unwrap_err().to_string();
    assert!(
        error.starts_with("there is no randomizer `kr`: known are ldp, krr, rr,"),
        "{error}"
    );
}

/// The plan that was certified under replacement, and the plan that added up two relations.
#[test]
fn random_allocation_is_about_adding_a_record_and_mixes_with_nothing_else() {
    let allocation = "[[round]]\nrandomizer = \"random-allocation\"\nsigma = 1.0\nusers = 1000\n";
    let plan = Plan::from_toml(allocation).unwrap();
    let answer = account(&plan).unwrap().epsilon(1e-6).unwrap();
    assert_eq!(answer.relation(), Relation::AddOrRemove);
    assert_eq!(
        answer.to_string(),
        "between 0.171728 and 0.171729 when one record is added or removed"
    );
    let mixed = format!("{allocation}[[round]]\nepsilon0 = 1.0\nusers = 1000\n");
    let error = Plan::from_toml(&mixed).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 5, field `round`: a guarantee for when one user's value is replaced cannot be added to one for \
         when one record is added or removed: account for them separately, and state both"
    );
    let steps = Round::new(Mechanism::random_allocation(1.0).unwrap(), 1000).unwrap();
    let public = Mechanism::random_allocation_of_a_known_number(1.0).unwrap();
    let public = Round::new(public, 1000).unwrap();
    let shuffled = Round::new(Mechanism::ldp(1.0).unwrap(), 1000).unwrap();
    for (first, second) in [(&steps, &shuffled), (&shuffled, &steps), (&steps, &public)] {
        let mut ledger = Accountant::new("mixed", 1000).unwrap();
        ledger.compose(first, 1).unwrap();
        assert_eq!(ledger.relation(), Some(first.relation()));
        let refused = Error::TwoRelations {
            here: first.relation(),
            there: second.relation(),
        };
        assert_eq!(ledger.compose(second, 1).unwrap_err(), refused);
        let delta = shuffledp_accounting::Delta::new(1e-6).unwrap();
        let budget = shuffledp_accounting::Epsilon::new(1.0).unwrap();
        assert_eq!(
            ledger.would_exceed(second, 1, budget, delta).unwrap_err(),
            refused
        );
        assert_eq!(ledger.rounds(), 1);
    }
    // Replacement is not a relation that it has.
    let mut spec = filled("random-allocation");
    spec.relation = Some(Relation::Replace);
    assert!(
        spec.mechanism()
            .unwrap_err()
            .to_string()
            .contains("no guarantee")
    );
}

/// A tenth of three users is nobody: the lower bound must not exceed what three honest users have above.
#[test]
fn a_fraction_of_a_user_does_not_collude_below() {
    for users in [3, 7, 15, 31] {
        for fraction in [0.01, 0.1, 0.25, 0.4] {
            let round = |fraction: f64| {
                let round = Round::new(Mechanism::ldp(1.0).unwrap(), users).unwrap();
                round.colluding(fraction)
            };
            let Ok(some) = round(fraction) else { continue };
            let whole = (fraction * users as f64).floor() / users as f64;
            let (some, fewer) = (
                account(&some).unwrap(),
                account(&round(whole).unwrap()).unwrap(),
            );
            let (some, fewer) = (some.delta(0.3).unwrap(), fewer.delta(0.3).unwrap());
            assert!(
                some.lower().value() <= fewer.upper().value(),
                "{users} {fraction}"
            );
            assert_eq!(some.lower(), fewer.lower(), "{users} {fraction}");
        }
    }
    // 0.1 of 30 is 3 users on both sides.
    let round = Round::new(Mechanism::ldp(1.0).unwrap(), 30)
        .unwrap()
        .colluding(0.1)
        .unwrap();
    assert_eq!((round.honest(), round.most_honest()), (27, 27));
}

/// Of one particular randomizer that is known by its local guarantee, nothing is claimed from below.
#[test]
fn a_guarantee_alone_gives_no_lower_bound() {
    for times in [1, 10] {
        let class = Round::new(Mechanism::ldp(1.0).unwrap(), 1000).unwrap();
        let one = Round::new(Mechanism::some_ldp(1.0).unwrap(), 1000).unwrap();
        let price = |round: &Round| {
            let plan = Plan::new(round.clone(), times).unwrap();
            account(&plan).unwrap().epsilon(1e-6).unwrap()
        };
        let (class, one) = (price(&class), price(&one));
        assert_eq!(class.upper(), one.upper());
        assert!(class.lower().value() > 0.0);
        assert_eq!((one.lower().value(), one.lower().method()), (0.0, "none"));
        assert_eq!(one.lower().attained_by(), None);
    }
    // Beside rounds with a lower bound it adds nothing to it.
    let known = Round::new(Mechanism::binary_response(1.0).unwrap(), 1000).unwrap();
    let unknown = Round::new(Mechanism::some_ldp(3.0).unwrap(), 1000).unwrap();
    let alone = account(Plan::new(known.clone(), 5).unwrap()).unwrap();
    let plan = Plan::new(known, 5).unwrap().then(unknown, 5).unwrap();
    let both = account(&plan).unwrap().epsilon(1e-6).unwrap();
    let alone = alone.epsilon(1e-6).unwrap();
    assert!((both.lower().value() / alone.lower().value() - 1.0).abs() < 1e-3);
    assert!(both.upper().value() > 2.0 * alone.upper().value());
}

#[test]
fn domains_of_noise_say_what_a_person_holds() {
    for name in ["gaussian", "laplace"] {
        let mut spec = filled(name);
        assert_eq!(spec.input(), Input::Number);
        spec.domain = Some(Domain::Ball);
        assert!(matches!(spec.input(), Input::Vector(_)));
        assert!(spec.phrase().contains("vectors"), "{}", spec.phrase());
    }
}

/// The probability that an output supports all of a thousand values is below what a double holds: it was
/// refused.
#[test]
fn a_thousand_categories_have_an_answer_at_every_epsilon0() {
    use shuffledp_accounting::OracleKind;
    for kind in [
        OracleKind::SymmetricUnary,
        OracleKind::OptimizedUnary,
        OracleKind::LocalHashing,
    ] {
        for k in [900, 997, 1000, 1074, 5000] {
            for epsilon0 in [0.001, 0.1, 1.0] {
                let mechanism = Mechanism::oracle(kind, k, epsilon0).unwrap();
                let round = Round::new(mechanism, 1_000_000).unwrap();
                let answer = account(&round).unwrap().epsilon(1e-8).unwrap();
                assert!(
                    answer.upper().value() <= epsilon0,
                    "{kind:?} {k} {epsilon0}"
                );
            }
        }
    }
}

/// Tiny guarantees, where the difference of two tails once lost digits: what each user has without a
/// shuffler, δ₀ + (1 − δ₀)(E − 1)/(E + 1), in 30 digits. The round of two is no worse, and certified.
#[test]
fn tiny_approximate_guarantees_are_certified() {
    use shuffledp_accounting::Standing;
    for (epsilon0, delta0, alone) in [
        (
            1.517_498_206_007_486_6e-12,
            3.430_928_830_965_592e-13,
            1.101_841_986_1e-12,
        ),
        (
            1.937_219_706_529_940_4e-8,
            1.162_291_761_266_468e-8,
            2.130_901_603_9e-8,
        ),
    ] {
        let round = Round::new(Mechanism::approximate_ldp(epsilon0, delta0).unwrap(), 2).unwrap();
        let answer = account(&round).unwrap().delta(0.0).unwrap();
        assert_eq!(answer.upper().standing(), Standing::Certified);
        let value = answer.upper().value();
        assert!(
            value <= alone * (1.0 + 1e-9) && value >= delta0,
            "{value} {alone}"
        );
    }
}

/// Gaussian noise is (ε, 0)-DP for no ε, with or without a shuffler.
#[test]
fn no_epsilon_is_enough_at_delta_zero() {
    use shuffledp_accounting::{Delta, unshuffled};
    let gaussian = Mechanism::gaussian(20.0, Domain::Ball).unwrap();
    for mechanism in [gaussian, Mechanism::binary_response(1.0).unwrap()] {
        assert!(unshuffled(&mechanism, 2, Delta::new(0.0).unwrap()).is_err());
        let answer = unshuffled(&mechanism, 2, Delta::new(1e-300).unwrap()).unwrap();
        assert!(answer.lower().value() < answer.upper().value());
    }
}

/// A device's law replaces that of the description only where it is about the same kind of round.
#[test]
fn a_round_is_run_only_by_a_mechanism_of_its_kind() {
    let round = || Round::new(Mechanism::ldp(1.0).unwrap(), 1000).unwrap();
    let steps = || Mechanism::random_allocation(1.0).unwrap();
    assert!(round().run_by(steps()).is_err());
    let gaussian = || Mechanism::gaussian(2.0, Domain::Interval).unwrap();
    assert!(round().run_by(gaussian()).is_ok());
    let adaptive = round().adaptive_within_round().unwrap().run_by(gaussian());
    assert!(adaptive.unwrap().is_adaptive_within_round());
    // Stored and read back, it is the round that was priced.
    let mut ledger = Accountant::new("run", 1000).unwrap();
    ledger
        .compose(&round().run_by(Mechanism::ldp(5.0).unwrap()).unwrap(), 1)
        .unwrap();
    let again = Accountant::from_json(&ledger.to_json()).unwrap();
    let delta = shuffledp_accounting::Delta::new(1e-6).unwrap();
    assert_eq!(
        again.epsilon(delta).unwrap(),
        ledger.epsilon(delta).unwrap()
    );
}

/// Steps of a trusted server do not drop out.
#[test]
fn steps_do_not_drop_out() {
    use shuffledp_accounting::{Delta, with_dropout};
    let steps = Round::new(Mechanism::random_allocation(1.0).unwrap(), 100).unwrap();
    assert!(with_dropout(&steps, 1, 0.2, Delta::new(1e-6).unwrap()).is_err());
}

/// The published lower bound of sampled rounds counts all users: colluders only help the analyzer.
#[test]
fn a_published_lower_bound_is_below_every_upper_bound_when_users_collude() {
    use shuffledp_accounting::{Divergence, Side, curves};
    for (users, sample, colluding) in [(100, 50, 0.5), (100, 50, 0.1), (40, 39, 0.3)] {
        let round = Round::new(Mechanism::ldp(2.0).unwrap(), users).unwrap();
        let round = round.sample(sample).unwrap().colluding(colluding).unwrap();
        let bracket = Divergence::new(&round).unwrap();
        for curve in curves(&round).unwrap() {
            if curve.side == Side::Lower {
                for order in [2.0, 4.0, 16.0] {
                    let below = curve.curve.as_ref().unwrap().at(order);
                    // m of n without colluders is the same round with less to know.
                    let alone = Round::new(Mechanism::ldp(2.0).unwrap(), users).unwrap();
                    let alone = Divergence::new(&alone.sample(sample).unwrap()).unwrap();
                    let most = alone.at(order).unwrap().upper().value();
                    assert!(
                        below <= most,
                        "{users} {sample} {colluding} {order}: {below} {most}"
                    );
                    assert!(below <= bracket.at(order).unwrap().upper().value());
                }
            }
        }
    }
}

#[test]
fn numbers_have_no_coordinates_and_matrices_no_thousand_rows() {
    let mut spec = filled("gaussian");
    spec.dimension = Some(5);
    assert!(spec.mechanism().is_err());
    spec.domain = Some(Domain::Ball);
    assert!(spec.mechanism().is_ok());
    spec.dimension = Some(0);
    let error = spec.mechanism().unwrap_err().to_string();
    assert_eq!(error, "dimension 0 is outside [1, 2^53]");
    let mut spec = filled("matrix");
    spec.rows = Some(vec![vec![0.5, 0.5]; 65]);
    assert_eq!(
        spec.mechanism().unwrap_err().parameter(),
        Some(Parameter::Rows)
    );
    // The least noise at which nothing has to be spent on epsilon0.
    let mut spec = filled("discrete-gaussian");
    (spec.sigma, spec.delta0) = (Some(100.0), Some(0.1));
    assert!(spec.mechanism().is_ok());
}
