//! The attack comes close to what theory says is there, never beyond what it says is not, and finds what is
//! broken.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{Delta, Mechanism, Participation, RandomizerSpec, Rate, Round, account};
use shuffledp_protocol::Confidence;
use shuffledp_protocol::ShuffleError;
use shuffledp_protocol::audit::{
    Evidence, Finding, Pair, Setting, Shuffle, audit, categories as categories_of, leaking,
    shuffled, unshuffled, with_others,
};
use shuffledp_randomizers::{
    DiscreteLaplace, Duchi, Gaussian, HadamardResponse, Hierarchy, Hybrid, KaryResponse,
    LocalHashing, Piecewise, Prefixes, PrivUnit, R1, R2, RInf, Ramp, Randomizer, Simulated,
    SubsetSelection, UnaryEncoding,
};

fn setting(users: u64, trials: u64, delta: f64) -> Setting {
    Setting {
        users,
        participation: Participation::Everyone,
        dropout: 0.0,
        rounds: 1,
        trials,
        delta,
        confidence: Confidence::new(0.95).unwrap(),
        seed: 20_261_116,
    }
}

/// Lower and upper bound of one round at δ.
fn bracket(mechanism: &Mechanism, setting: &Setting) -> (f64, f64) {
    let round = Round::new(mechanism.clone(), setting.users).unwrap();
    let round = match setting.participation {
        Participation::Everyone => round,
        Participation::Sample(size) => round.sample(size).unwrap(),
        Participation::CheckIn(rate) => round.check_in(rate.highest()).unwrap(),
    };
    let plan = shuffledp_accounting::Plan::new(round, setting.rounds).unwrap();
    let answer = account(&plan)
        .unwrap()
        .epsilon(Delta::new(setting.delta).unwrap())
        .unwrap();
    (answer.lower().value(), answer.upper().value())
}

fn categories(k: u64) -> Vec<Pair<u64>> {
    (0..k.min(3))
        .rev()
        .map(|others| Pair {
            first: 0,
            second: 1,
            others,
        })
        .collect()
}

fn attack(randomizer: &KaryResponse, k: u64, setting: &Setting, shuffle: Shuffle<'_>) -> Finding {
    audit(randomizer, &categories(k), setting, shuffle, |_| ()).unwrap()
}

/// Of 100 users.
#[test]
fn comes_within_a_quarter_of_what_is_there() {
    for (k, epsilon0, delta) in [(2, 2.0, 1e-2), (10, 2.0, 1e-2), (2, 4.0, 1e-3)] {
        let randomizer = KaryResponse::new(k, epsilon0).unwrap();
        let setting = setting(100, 200_000, delta);
        let (lower, upper) = bracket(randomizer.mechanism(), &setting);
        let found = attack(&randomizer, k, &setting, &shuffled).epsilon;
        assert!(
            found > 0.75 * lower && found <= upper,
            "k = {k}: found {found} in [{lower}, {upper}]"
        );
    }
}

/// An attack that always "found" something would go past the bound by luck: at 95 % once in twenty, were it
/// exactly at it. Here it stays below, with any participation, and over rounds.
#[test]
fn stays_below_the_upper_bound() {
    let kary = KaryResponse::new(4, 2.0).unwrap();
    let mut settings = vec![setting(50, 60_000, 0.01); 4];
    settings[0].participation = Participation::Sample(20);
    settings[1].participation = Participation::CheckIn(Rate::exactly(0.3).unwrap());
    settings[2].dropout = 0.3;
    settings[3].rounds = 4;
    for setting in &settings {
        let (lower, upper) = bracket(kary.mechanism(), setting);
        let finding = attack(&kary, 4, setting, &shuffled);
        assert!(finding.epsilon <= upper, "{setting:?}: {finding:?}");
        // What dropouts hide is not in the bracket.
        assert!(
            finding.epsilon > 0.4 * lower || setting.dropout > 0.0,
            "{setting:?}: {finding:?} of {lower}"
        );
    }

    let setting = setting(20, 20_000, 0.01);
    let numbers = [0.0, 1.0].map(|others| Pair {
        first: 0.0,
        second: 1.0,
        others,
    });
    let gaussian = Gaussian::new(1.0).unwrap();
    let found = audit(&gaussian, &numbers, &setting, &shuffled, |_| ()).unwrap();
    let (lower, upper) = bracket(gaussian.mechanism(), &setting);
    assert!(found.epsilon > 0.5 * lower && found.epsilon <= upper);

    // Five hundred bits have probabilities below the smallest double: only those that matter are looked at.
    let unary = UnaryEncoding::optimized(500, 2.0).unwrap();
    let found = audit(&unary, &categories(500), &setting, &shuffled, |_| ()).unwrap();
    let (lower, upper) = bracket(unary.mechanism(), &setting);
    assert!(found.epsilon > 0.5 * lower && found.epsilon <= upper);

    let direction = R2::new(3, 1.0, 2.0).unwrap();
    let vectors = [Pair {
        first: vec![1.0f32, 0.0, 0.0],
        second: vec![-1.0, 0.0, 0.0],
        others: vec![-1.0, 0.0, 0.0],
    }];
    let found = audit(&direction, &vectors, &setting, &shuffled, |_| ()).unwrap();
    let (lower, upper) = bracket(direction.mechanism(), &setting);
    assert!(found.epsilon > 0.5 * lower && found.epsilon <= upper);
}

/// Always swaps the ends: the last report comes out first.
fn leaking_the_last(
    reports: &[u8],
    length: usize,
    random: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), ShuffleError> {
    let last = reports.len() - length;
    each(&reports[last..]);
    shuffled(&reports[..last], length, random, each)
}

#[test]
fn finds_a_shuffler_that_does_not_forget() {
    for k in [2, 10] {
        let randomizer = KaryResponse::new(k, 1.0).unwrap();
        let setting = setting(100, 20_000, 1e-3);
        let (_, upper) = bracket(randomizer.mechanism(), &setting);
        for (shuffle, position) in [
            (&unshuffled as Shuffle<'_>, None),
            (&leaking, Some(0)),
            (&leaking_the_last, Some(0)),
        ] {
            let finding = attack(&randomizer, k, &setting, shuffle);
            assert!(finding.epsilon > 2.0 * upper, "{finding:?} above {upper}");
            assert_ne!(finding.evidence, Evidence::Batch);
            if let Some(position) = position {
                assert_eq!(finding.evidence, Evidence::Position(position));
            }
        }
    }
}

/// Nobody to hide behind, no δ: what is found is the local guarantee, and nothing more.
#[test]
fn finds_the_local_guarantee_and_not_more() {
    fn attack<R, V>(randomizer: &R, first: V, second: V, epsilon0: f64)
    where
        R: Randomizer + Sync,
        V: std::borrow::Borrow<R::Value> + Clone + Sync,
    {
        finds(randomizer, (first, second), epsilon0, 0.9);
    }
    fn finds<R, V>(randomizer: &R, (first, second): (V, V), epsilon0: f64, part: f64)
    where
        R: Randomizer + Sync,
        V: std::borrow::Borrow<R::Value> + Clone + Sync,
    {
        let pair = Pair {
            others: first.clone(),
            first,
            second,
        };
        let mut setting = setting(2, 200_000, 0.0);
        setting.confidence = Confidence::new(0.999).unwrap();
        let finding = audit(randomizer, &[pair], &setting, &unshuffled, |_| ()).unwrap();
        let found = finding.epsilon;
        assert!(
            found <= epsilon0 && found > part * epsilon0,
            "{found}: {finding:?}"
        );
    }
    attack(&KaryResponse::new(5, 1.0).unwrap(), 0, 1, 1.0);
    attack(&UnaryEncoding::symmetric(5, 1.0).unwrap(), 0, 1, 1.0);
    attack(&UnaryEncoding::optimized(5, 1.0).unwrap(), 0, 1, 1.0);
    attack(&SubsetSelection::new(10, 1.0).unwrap(), 0, 1, 1.0);
    attack(&HadamardResponse::new(10, 1.0).unwrap(), 0, 1, 1.0);
    attack(&LocalHashing::new(10, 1.0).unwrap(), 0, 1, 1.0);
    attack(&Hierarchy::new(3, 1.0).unwrap(), 0, 7, 1.0);
    attack(&Duchi::new(1.0).unwrap(), 0.0, 1.0, 1.0);
    attack(&Piecewise::new(1.0).unwrap(), 0.0, 1.0, 1.0);
    attack(&Hybrid::new(1.0).unwrap(), 0.0, 1.0, 1.0);
    attack(&DiscreteLaplace::fine(1.0).unwrap(), 0.0, 1.0, 1.0);
    let (up, down) = (vec![1.0f32, 0.0, 0.0], vec![-1.0f32, 0.0, 0.0]);
    let (ones, minus) = (vec![1.0f32; 3], vec![-1.0f32; 3]);
    attack(&RInf::new(3, 1.0, 1.0).unwrap(), ones, minus, 1.0);
    attack(
        &R1::new(3, 1.0, 1.0).unwrap(),
        up.clone(),
        down.clone(),
        1.0,
    );
    attack(
        &R2::new(3, 1.0, 1.0).unwrap(),
        up.clone(),
        down.clone(),
        1.0,
    );
    attack(
        &PrivUnit::new(3, 1.0, 1.0).unwrap(),
        up.clone(),
        down.clone(),
        1.0,
    );
    // The ramp has its full ratio at the pole alone, near which few reports are.
    let ramp = Ramp::new(3, 1.0, 1.0, None).unwrap();
    finds(&ramp, (up, down), 1.0, 0.8);
    let texts = (b"abc".to_vec(), b"xyz".to_vec());
    attack(&Prefixes::new(3, 1.0).unwrap(), texts.0, texts.1, 1.0);
}

/// Priced at ε₀, run at 2ε₀.
#[test]
fn finds_half_the_noise() {
    for k in [2, 10] {
        let setting = setting(100, 50_000, 1e-2);
        let promised = KaryResponse::new(k, 1.0).unwrap();
        let (_, upper) = bracket(promised.mechanism(), &setting);
        let broken = KaryResponse::new(k, 2.0).unwrap();
        let finding = attack(&broken, k, &setting, &shuffled);
        assert!(finding.epsilon > 1.5 * upper, "{finding:?} above {upper}");
    }
}

#[test]
fn refuses_what_it_cannot_run() {
    let randomizer = KaryResponse::new(3, 1.0).unwrap();
    let outside = [Pair {
        first: 0,
        second: 3,
        others: 1,
    }];
    let error = audit(
        &randomizer,
        &outside,
        &setting(10, 1000, 0.1),
        &shuffled,
        |_| (),
    );
    assert_eq!(error.unwrap_err().to_string(), "value 3 is outside [0, 2]");
    assert!(
        audit(
            &randomizer,
            &categories(3),
            &setting(1, 1000, 0.1),
            &shuffled,
            |_| ()
        )
        .is_err()
    );
    assert!(
        audit(
            &randomizer,
            &categories(3),
            &setting(10, 10, 0.1),
            &shuffled,
            |_| ()
        )
        .is_err()
    );
}

/// A seed gives the same finding in every version: one generator draws attendance, reports and shuffle in
/// turn.
#[test]
fn a_seed_gives_the_same_finding() {
    let spec = RandomizerSpec::new("krr").map(|mut spec| {
        (spec.k, spec.epsilon0) = (Some(10), Some(4.0.into()));
        spec
    });
    let (ends, more) = categories_of(&spec.unwrap());
    let pairs: Vec<Pair<u64>> = ends
        .into_iter()
        .flat_map(|(first, second)| with_others(first, second, &more))
        .collect();
    let randomizer = KaryResponse::new(10, 4.0).unwrap();
    let mut setting = setting(50, 5000, 0.01);
    setting.seed = 3;
    for (participation, expected, seen) in [
        (Participation::Everyone, 2.51103546849297, (592, 28)),
        (Participation::Sample(20), 0.942257564113548, (1367, 448)),
    ] {
        setting.participation = participation;
        let finding = audit(&randomizer, &pairs, &setting, &shuffled, |_| ()).unwrap();
        assert_eq!(finding.seen, seen);
        assert!((finding.epsilon - expected).abs() < 1e-12, "{finding:?}");
    }
}
