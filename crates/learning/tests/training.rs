//! Rounds of private learning: the short way gives what the long way gives, nobody's gradient is used
//! unclipped or not finite, and the ledger goes with the parameters.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::bounds::kairouz_2015;
use shuffledp_accounting::{Accountant, Delta, Epsilon, Mechanism, Round, account};
use shuffledp_learning::data::synthetic;
use shuffledp_learning::{
    Algorithm, BlocksSgd, CentralSgd, Charge, Dataset, Gradients, Key, Model, Norm, PlainSgd,
    Recipe, Rule, Schedule, SecureSumSgd, Sharing, ShuffledSgd, Training, Way,
};
use shuffledp_randomizers::{
    GaussianVector, PrivUnit, R1, R2, RInf, Ramp, Randomizer, VectorEstimate, VectorSum,
};

fn data() -> Dataset {
    synthetic::blobs(5, 600, 300).unwrap()
}

/// Gradients of norm at most 1.
fn gradients<'a>(model: &'a Model, data: &'a Dataset, norm: Norm) -> Gradients<'a> {
    Gradients {
        model,
        examples: data.train(),
        norm,
        bound: 1.0,
    }
}

fn sampled<R: Randomizer>(randomizer: &R, users: u64, sample: u64) -> Round {
    let round = Round::new(randomizer.mechanism().clone(), users).unwrap();
    round.sample(sample).unwrap()
}

/// One step at rate 1, without momentum: parameters move by the mean gradient. What it was, reports and
/// refusals.
fn one_step(algorithm: &dyn Algorithm, start: Vec<f32>, key: u64) -> (Vec<f64>, u64, u64) {
    let recipe = Recipe {
        rounds: 1,
        rate: 1.0,
        schedule: Schedule::Constant,
        rule: Rule::Momentum(0.0),
        radius: None,
    };
    let mut training = Training::new(recipe, start.clone(), "blobs", 600).unwrap();
    let report = training.step(algorithm, Key::simulated(key)).unwrap();
    let moved = start.iter().zip(training.parameters());
    let mean = moved.map(|(before, now)| f64::from(before - now)).collect();
    (mean, report.reports, report.refused)
}

/// The mean gradient of one round, by either way, from the same randomness.
fn means<R>(randomizer: &R, norm: Norm) -> [Vec<f64>; 2]
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let gradients = gradients(&model, &data, norm);
    [Way::Shuffled, Way::Fast].map(|way| {
        let charge = Charge::Shuffled(sampled(randomizer, 600, 200));
        let algorithm = ShuffledSgd::new(gradients, randomizer, charge, way).unwrap();
        let start = vec![0.0; model.parameters()];
        let (mean, reports, refused) = one_step(&algorithm, start, 9);
        assert_eq!((reports, refused), (200, 0));
        mean
    })
}

/// The same devices draw the same reports, and a sum does not depend on its order but for rounding: one law.
#[test]
fn the_short_way_is_the_long_way() {
    let d = data().shape().numbers() * 10 + 10;
    for [long, short] in [
        means(&R2::new(d, 1.0, 1.5).unwrap(), Norm::L2),
        means(&RInf::new(d, 1.0, 1.5).unwrap(), Norm::LInf),
        means(&R1::new(d, 1.0, 1.5).unwrap(), Norm::L1),
    ] {
        let size = long.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(size > 0.0);
        for (one, other) in long.iter().zip(&short) {
            assert!((one - other).abs() < 1e-6 * size);
        }
    }
}

/// Gaussian noise is not drawn the same way twice, one draw for the whole sum against one for every report;
/// nor are directions that lean, which are turned to a cosine that was drawn by itself. Each coordinate is a
/// number: two samples of one law.
#[test]
fn fast_noise_has_the_law_of_shuffled_noise() {
    let d = data().shape().numbers() * 10 + 10;
    let gaussian = GaussianVector::new(d, 1.0, 2.0).unwrap();
    fast_and_shuffled(&gaussian, 2.0);
    let ramp = Ramp::new(d, 1.0, 2.5, None).unwrap();
    fast_and_shuffled(&ramp, ramp.scale() / (d as f64).sqrt());
    let step = PrivUnit::new(d, 1.0, 1.5).unwrap();
    fast_and_shuffled(&step, step.scale() / (d as f64).sqrt());
}

/// Both ways for a randomizer whose reports have noise of this deviation in a coordinate.
fn fast_and_shuffled<R>(randomizer: &R, wanted: f64)
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let gradients = gradients(&model, &data, Norm::L2);
    let truth = true_mean(&model, &data, &vec![0.0; model.parameters()], Norm::L2);
    let round = Round::new(randomizer.mechanism().clone(), 600).unwrap();
    let noise = |way, factor: f64| {
        let charge = Charge::Shuffled(round.clone());
        let algorithm = ShuffledSgd::new(gradients, randomizer, charge, way).unwrap();
        let mut noise = Vec::new();
        for key in 0..4 {
            // Other keys for the other way: nothing is shared.
            let key = key + if way == Way::Fast { 100 } else { 0 };
            let (mean, reports, _) = one_step(&algorithm, vec![0.0; model.parameters()], key);
            assert_eq!(reports, 600);
            noise.extend(
                mean.iter()
                    .zip(&truth)
                    .map(|(x, true_x)| factor * (x - true_x)),
            );
        }
        noise.sort_by(f64::total_cmp);
        noise
    };
    let (shuffled, fast) = (noise(Way::Shuffled, 1.0), noise(Way::Fast, 1.0));
    // Each is as wide as it must be to one part in twenty-five.
    let many = shuffled.len() as f64;
    for sample in [&shuffled, &fast] {
        let deviation = (sample.iter().map(|x| x * x).sum::<f64>() / many).sqrt();
        let off = (deviation / (wanted / 600f64.sqrt()) - 1.0).abs();
        assert!(off < 5.0 / (2.0 * many).sqrt(), "{off}");
    }
    // Of one shape, by Kolmogorov and Smirnov at one in a million; a quarter wider would show.
    let limit = (0.5 * 2e6f64.ln()).sqrt() * (2.0 / many).sqrt();
    assert!(kolmogorov(&shuffled, &fast) < limit);
    assert!(kolmogorov(&shuffled, &noise(Way::Fast, 1.25)) > limit);
}

/// The largest distance between the distribution functions of two sorted samples of one size.
fn kolmogorov(one: &[f64], other: &[f64]) -> f64 {
    let (mut i, mut j, mut most) = (0, 0, 0usize);
    while i < one.len() && j < other.len() {
        if one[i] <= other[j] {
            i += 1;
        } else {
            j += 1;
        }
        most = most.max(i.abs_diff(j));
    }
    most as f64 / one.len() as f64
}

/// The mean of all clipped gradients at these parameters.
fn true_mean(model: &Model, data: &Dataset, parameters: &[f32], norm: Norm) -> Vec<f64> {
    let d = model.parameters();
    let mut truth = vec![0.0; d];
    let (mut workspace, mut gradient) = (model.workspace(), vec![0.0; d]);
    for (image, label) in data.train().iter() {
        model
            .gradient(parameters, image, label, &mut workspace, &mut gradient)
            .unwrap();
        norm.clip(&mut gradient, 1.0).unwrap();
        let many = data.train().len() as f64;
        truth
            .iter_mut()
            .zip(&gradient)
            .for_each(|(sum, x)| *sum += f64::from(*x) / many);
    }
    truth
}

/// ‖a − b‖².
fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// With little noise the mean of many rounds is the mean of the clipped gradients, as far off as the
/// randomizer says.
#[test]
fn the_mean_is_that_of_clipped_gradients() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let parameters = model.initial(1);
    let truth = true_mean(&model, &data, &parameters, Norm::L2);
    let randomizer = R2::new(model.parameters(), 1.0, 8.0).unwrap();
    let round = Round::new(randomizer.mechanism().clone(), 600).unwrap();
    let algorithm = ShuffledSgd::new(
        gradients(&model, &data, Norm::L2),
        &randomizer,
        Charge::Shuffled(round),
        Way::Fast,
    )
    .unwrap();
    let mut mean = vec![0.0; model.parameters()];
    const ROUNDS: u64 = 40;
    for round in 0..ROUNDS {
        let (moved, ..) = one_step(&algorithm, parameters.clone(), 100 + round);
        let share = 1.0 / ROUNDS as f64;
        mean.iter_mut()
            .zip(moved)
            .for_each(|(sum, x)| *sum += share * x);
    }
    let off = apart(&mean, &truth);
    // B² over all reports is what noise leaves, but for a few percent: its square is a sum of many.
    let noise = randomizer.scale().powi(2) / (600.0 * ROUNDS as f64);
    assert!(
        off < 1.2 * noise && off > 0.8 * noise,
        "{off} against {noise}"
    );
    assert!(apart(&truth, &vec![0.0; truth.len()]) > 0.0);
}

/// A user of several examples has one clipped gradient, the mean of theirs, and sends one report.
#[test]
fn a_user_of_several_examples_counts_once() {
    let data = data().with_train(|train| train.grouped(&[3; 200])).unwrap();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let parameters = model.initial(3);
    let gradients = Gradients {
        bound: 0.5,
        ..gradients(&model, &data, Norm::L2)
    };
    let mut expected = vec![0.0f64; parameters.len()];
    for user in 0..200 {
        let mut mean = vec![0.0f64; parameters.len()];
        for at in data.train().of_user(user) {
            let (image, label) = data.train().get(at).unwrap();
            let mut own = vec![0.0; parameters.len()];
            let mut workspace = model.workspace();
            model
                .gradient(&parameters, image, label, &mut workspace, &mut own)
                .unwrap();
            mean.iter_mut()
                .zip(own)
                .for_each(|(sum, slope)| *sum += f64::from(slope) / 3.0);
        }
        let norm = mean.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
        // Every mean is longer than the bound, so that clipping examples one by one would be seen.
        assert!(norm > 0.5, "{norm}");
        expected
            .iter_mut()
            .zip(mean)
            .for_each(|(sum, slope)| *sum += slope * 0.5 / norm);
    }
    let everybody: Vec<usize> = (0..200).collect();
    let (sum, refused) = gradients.sum(&parameters, &everybody).unwrap();
    assert_eq!(refused, 0);
    assert!(apart(&sum, &expected) < 1e-5, "{}", apart(&sum, &expected));

    let randomizer = R2::new(parameters.len(), 0.5, 8.0).unwrap();
    let round = Round::new(randomizer.mechanism().clone(), 200).unwrap();
    let charge = Charge::Shuffled(round);
    let algorithm = ShuffledSgd::new(gradients, &randomizer, charge, Way::Shuffled).unwrap();
    let (_, reports, _) = one_step(&algorithm, parameters, 3);
    assert_eq!(reports, 200);
    // A round of as many people as there are examples is another one.
    let round = Round::new(randomizer.mechanism().clone(), 600).unwrap();
    assert!(ShuffledSgd::new(gradients, &randomizer, Charge::Shuffled(round), Way::Fast).is_err());
    // Held-out users take all of their examples along.
    let held = data.validation(0.25).unwrap();
    assert_eq!((held.train().users(), held.train().len()), (150, 450));
    assert_eq!((held.test().users(), held.test().len()), (50, 150));
}

/// Reports are lost, nobody is credited with it, and the lower bound is that of fewer users.
#[test]
fn lost_reports_are_not_credited() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 2.0).unwrap();
    let round = Round::new(randomizer.mechanism().clone(), 600).unwrap();
    let begin = || Training::new(recipe(1), vec![0.0; model.parameters()], "blobs", 600).unwrap();
    let delta = Delta::new(1e-5).unwrap();
    let spent = |charge: Charge, way| {
        let gradients = gradients(&model, &data, Norm::L2);
        let algorithm = ShuffledSgd::new(gradients, &randomizer, charge, way).unwrap();
        let mut training = begin();
        let report = training.step(&algorithm, Key::simulated(4)).unwrap();
        let answer = training
            .epsilon(algorithm.charge(), delta)
            .unwrap()
            .unwrap();
        (report.reports, answer)
    };
    let (all, whole) = spent(Charge::Shuffled(round.clone()), Way::Shuffled);
    assert_eq!(all, 600);
    for way in [Way::Shuffled, Way::Fast] {
        let (some, lossy) = spent(Charge::Lossy(round.clone(), 0.3), way);
        // Six standard deviations of a binomial count are 67.
        assert!((353..=487).contains(&some), "{some}");
        assert_eq!(lossy.upper(), whole.upper());
        assert!(lossy.lower().value() < whole.lower().value());
    }
    for wrong in [1.0, -0.1, f64::NAN] {
        let charge = Charge::Lossy(round.clone(), wrong);
        let gradients = gradients(&model, &data, Norm::L2);
        assert!(ShuffledSgd::new(gradients, &randomizer, charge, Way::Fast).is_err());
    }
}

/// Users come at rates of their own, the price is that of the range, and rates outside it are refused.
#[test]
fn users_have_rates_of_their_own() {
    let rates: Vec<f64> = (0..600)
        .map(|user| if user < 300 { 0.1 } else { 0.5 })
        .collect();
    let data = data().with_train(|train| train.with_rates(rates)).unwrap();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 2.0).unwrap();
    let of = |lowest, highest| {
        let round = Round::new(randomizer.mechanism().clone(), 600).unwrap();
        let charge = Charge::Shuffled(round.check_in_between(lowest, highest).unwrap());
        let gradients = gradients(&model, &data, Norm::L2);
        ShuffledSgd::new(gradients, &randomizer, charge, Way::Fast)
    };
    let algorithm = of(0.1, 0.5).unwrap();
    let (_, reports, _) = one_step(&algorithm, vec![0.0; model.parameters()], 5);
    // 180 on average, with a standard deviation of 10.
    assert!((120..=240).contains(&reports), "{reports}");
    let refused = of(0.2, 0.5).unwrap_err().to_string();
    assert_eq!(refused, "check-in rate 0.1 of user 0 is outside [0.2, 0.5]");
}

/// One batch of everything: training without protection steps along the mean gradient, central training along
/// it and its noise.
#[test]
fn baselines_step_along_the_mean() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let parameters = model.initial(1);
    let truth = true_mean(&model, &data, &parameters, Norm::L2);
    let gradients = gradients(&model, &data, Norm::L2);
    let plain = PlainSgd::new(gradients, 600).unwrap();
    let (moved, reports, _) = one_step(&plain, parameters.clone(), 1);
    assert_eq!(reports, 600);
    assert!(apart(&moved, &truth) < 1e-10);
    // Two batches an epoch: two steps along the halves, of noise σC·2/n each.
    let central = CentralSgd::new(gradients, 2, 3.0).unwrap();
    let d = model.parameters() as f64;
    let (mut off, many) = (0.0, 20);
    for key in 0..many {
        let (moved, reports, _) = one_step(&central, parameters.clone(), key);
        assert_eq!(reports, 600);
        // Steps are short, so that the second sees about the parameters of the first: two means.
        let twice: Vec<f64> = truth.iter().map(|x| 2.0 * x).collect();
        off += apart(&moved, &twice) / many as f64;
    }
    let noise = 2.0 * d * (3.0f64 * 2.0 / 600.0).powi(2);
    assert!((off / noise - 1.0).abs() < 0.2, "{off} against {noise}");
}

/// Blocks of which each is heard once, in an order that is drawn anew, and charged as a shuffle of blocks.
#[test]
fn every_block_is_heard_once() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 50.0).unwrap();
    let round = Round::new(randomizer.mechanism().clone(), 7).unwrap();
    let gradients = gradients(&model, &data, Norm::L2);
    // Steps depend on those before: the round must say so.
    assert!(BlocksSgd::new(gradients, &randomizer, round.clone()).is_err());
    let round = round.adaptive_within_round().unwrap();
    let blocks = BlocksSgd::new(gradients, &randomizer, round.clone()).unwrap();
    let parameters = model.initial(1);
    let (one, reports, refused) = one_step(&blocks, parameters.clone(), 3);
    let (other, ..) = one_step(&blocks, parameters, 4);
    assert_eq!((reports, refused), (7, 0));
    assert!(apart(&one, &other) > 0.0);
    let many = Round::new(randomizer.mechanism().clone(), 601).unwrap();
    let many = many.adaptive_within_round().unwrap();
    let refused = BlocksSgd::new(gradients, &randomizer, many).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "blocks 601 is outside [2, 600], the number of examples"
    );
}

#[test]
fn gradients_that_are_not_finite_are_refused_and_counted() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 1.0).unwrap();
    let gradients = gradients(&model, &data, Norm::L2);
    // Scores beyond the largest float.
    let parameters = vec![f32::MAX; model.parameters()];
    for way in [Way::Shuffled, Way::Fast] {
        let charge = Charge::Shuffled(sampled(&randomizer, 600, 100));
        let algorithm = ShuffledSgd::new(gradients, &randomizer, charge, way).unwrap();
        let (mean, reports, refused) = one_step(&algorithm, parameters.clone(), 11);
        assert!(refused > 0);
        // Their owners are not given away by silence.
        assert_eq!(reports, 100);
        assert!(mean.iter().all(|slope| slope.is_finite()));
    }
}

fn recipe(rounds: u64) -> Recipe {
    Recipe {
        rounds,
        rate: 0.2,
        schedule: Schedule::Cosine,
        rule: Rule::Momentum(0.9),
        radius: None,
    }
}

/// Interrupted after any round and gone on with: the same parameters, the same ledger.
#[test]
fn going_on_from_a_checkpoint_is_not_having_stopped() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 4.0).unwrap();
    let round = sampled(&randomizer, 600, 200);
    let charge = Charge::Shuffled(round.clone());
    let gradients = gradients(&model, &data, Norm::L2);
    let algorithm =
        ShuffledSgd::new(gradients, &randomizer, charge.clone(), Way::Shuffled).unwrap();
    let key = Key::simulated(12);
    let begin = || Training::new(recipe(6), model.initial(2), "blobs", 600).unwrap();
    let mut through = begin();
    for number in 1..=6 {
        assert_eq!(through.step(&algorithm, key).unwrap().round, number);
    }
    for stop in 0..6 {
        let mut first = begin();
        (0..stop).for_each(|_| {
            first.step(&algorithm, key).unwrap();
        });
        let mut second = Training::from_json(&first.to_json().unwrap()).unwrap();
        assert_eq!(second.done(), stop);
        (stop..6).for_each(|_| {
            second.step(&algorithm, key).unwrap();
        });
        assert_eq!(second.parameters(), through.parameters());
        assert_eq!(second.to_json().unwrap(), through.to_json().unwrap());
    }
    // The ledger is that of six such rounds.
    let delta = Delta::new(1e-5).unwrap();
    let mut accountant = Accountant::new("blobs", 600).unwrap();
    accountant.compose(&round, 6).unwrap();
    let spent = through.epsilon(&charge, delta).unwrap().unwrap();
    let answer = accountant.epsilon(delta).unwrap();
    assert_eq!(spent, answer);
    // Parameters and ledger that do not go together are refused.
    let torn = through
        .to_json()
        .unwrap()
        .replace("\"done\":6", "\"done\":5");
    assert!(Training::from_json(&torn).is_err());
    assert!(Training::from_json("{}").is_err());
    // Momentum of fewer parameters than there are.
    let mut cut: serde_json::Value = serde_json::from_str(&through.to_json().unwrap()).unwrap();
    cut["server"]["first"].as_array_mut().unwrap().pop();
    let refused = Training::from_json(&cut.to_string()).unwrap_err();
    assert!(
        refused.to_string().contains("not of its parameters"),
        "{refused}"
    );
    // Rounds of another kind, or none, are another run.
    assert!(through.follows(&begin(), &charge).unwrap());
    let other = Charge::Shuffled(sampled(&randomizer, 600, 100));
    assert!(!through.follows(&begin(), &other).unwrap());
    assert!(!through.follows(&begin(), &Charge::Nothing).unwrap());
}

/// The last round that a budget allows, and not the one after, against prices asked one by one.
#[test]
fn a_budget_is_asked_before_it_is_overrun() {
    let randomizer = R2::new(10, 1.0, 1.0).unwrap();
    let round = sampled(&randomizer, 600, 200);
    let delta = Delta::new(1e-5).unwrap();
    let fresh = || Training::new(recipe(6), vec![0.0; 10], "blobs", 600).unwrap();
    let price = |rounds: u64| {
        let mut accountant = Accountant::new("blobs", 600).unwrap();
        accountant.compose(&round, rounds).unwrap();
        accountant.epsilon(delta).unwrap().upper().value()
    };
    let charge = Charge::Shuffled(round.clone());
    for target in [0.5, 1.0] {
        let budget = Epsilon::new(target).unwrap();
        let rounds = fresh().affordable(&charge, 1000, budget, delta).unwrap();
        assert!(rounds > 1 && rounds < 1000, "{rounds}");
        assert!(price(rounds) <= target, "{rounds}");
        assert!(price(rounds + 1) > target * (1.0 - 1e-6), "{rounds}");
        // Never more than are asked for.
        assert_eq!(
            fresh()
                .affordable(&charge, rounds - 1, budget, delta)
                .unwrap(),
            rounds - 1
        );
    }
    let nothing = Epsilon::new(1e-6).unwrap();
    assert_eq!(
        fresh().affordable(&charge, 1000, nothing, delta).unwrap(),
        0
    );
    // Without a shuffler one round is ε₀, and two are hardly less than twice that.
    let local = Charge::Local(round);
    let of = |target: f64| {
        let budget = Epsilon::new(target).unwrap();
        fresh().affordable(&local, 1000, budget, delta).unwrap()
    };
    assert_eq!((of(0.9), of(1.0), of(1.9), of(2.0)), (0, 1, 1, 2));
    let budget = Epsilon::new(30.0).unwrap();
    let rounds = fresh().affordable(&local, 1000, budget, delta).unwrap();
    let total = |rounds| kairouz_2015::epsilon(rounds, 1.0, 0.0, 1e-5).unwrap();
    assert!(total(rounds) <= 30.0 && total(rounds + 1) > 30.0);
    assert_eq!(
        fresh()
            .affordable(&Charge::Nothing, 77, nothing, delta)
            .unwrap(),
        77
    );
}

#[test]
fn a_round_is_charged_as_what_it_is() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 4.0).unwrap();
    let cheaper = R2::new(model.parameters(), 1.0, 1.0).unwrap();
    let gradients = gradients(&model, &data, Norm::L2);
    for charge in [
        Charge::Shuffled(Round::new(cheaper.mechanism().clone(), 600).unwrap()),
        Charge::Local(Round::new(randomizer.mechanism().clone(), 1000).unwrap()),
        Charge::Nothing,
    ] {
        assert!(ShuffledSgd::new(gradients, &randomizer, charge, Way::Fast).is_err());
    }
}

/// The point of it all.
#[test]
fn a_crowd_teaches() {
    let data = synthetic::blobs(5, 4000, 1000).unwrap();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 6.0).unwrap();
    let round = Round::new(randomizer.mechanism().clone(), 4000)
        .unwrap()
        .check_in(0.5)
        .unwrap();
    let gradients = gradients(&model, &data, Norm::L2);
    let charge = Charge::Shuffled(round);
    let algorithm = ShuffledSgd::new(gradients, &randomizer, charge, Way::Fast).unwrap();
    let mut training = Training::new(recipe(80), model.initial(2), "blobs", 4000).unwrap();
    for _ in 0..80 {
        let report = training.step(&algorithm, Key::simulated(14)).unwrap();
        assert!((1800..2200).contains(&report.reports));
    }
    let accuracy = model.accuracy(training.parameters(), data.test()).unwrap();
    assert!(accuracy > 0.6, "{accuracy}");
}

const SHARING: Sharing = Sharing {
    sigma: 0.5,
    levels: Some(1 << 12),
    dropout: 0.0,
    quorum: 1.0,
};

/// A round of secure sums over 600 users with the mean that it steps along, and the number of shares in it.
fn secure_step(sharing: Sharing, check_in: f64, way: Way, key: u64) -> (Vec<f64>, u64) {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let gradients = gradients(&model, &data, Norm::L2);
    let round = |mechanism| Ok(Round::new(mechanism, 600)?.check_in(check_in)?);
    let algorithm = SecureSumSgd::new(gradients, sharing, round, way).unwrap();
    let (mean, reports, refused) = one_step(&algorithm, vec![0.0; model.parameters()], key);
    assert_eq!(refused, 0);
    (mean, reports)
}

/// Masks cancel to the last bit, with and without dropouts: the sum is that of the same shares without masks.
#[test]
fn a_secure_sum_is_the_sum_of_its_shares() {
    let lossy = Sharing {
        dropout: 0.1,
        quorum: 0.7,
        ..SHARING
    };
    for sharing in [SHARING, lossy] {
        let [long, short] =
            [Way::Shuffled, Way::Fast].map(|way| secure_step(sharing, 0.2, way, 31));
        assert_eq!(long, short);
        assert!(long.1 > 80 && long.1 < 160, "{}", long.1);
        assert!(long.0.iter().any(|x| *x != 0.0));
    }
}

/// What is stepped along is the mean of the clipped gradients, and noise of variance σ²/k in each coordinate.
#[test]
fn a_secure_sum_is_the_plain_sum_and_noise_of_its_law() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let start = vec![0.0; model.parameters()];
    let gradients = gradients(&model, &data, Norm::L2);
    let everybody: Vec<usize> = (0..600).collect();
    let (sum, _) = gradients.sum(&start, &everybody).unwrap();
    let round = |mechanism| Ok(Round::new(mechanism, 600)?);
    let algorithm = SecureSumSgd::new(gradients, SHARING, round, Way::Fast).unwrap();
    let (mut square, mut count) = (0.0, 0.0);
    for key in 0..20 {
        let (mean, reports, _) = one_step(&algorithm, start.clone(), key);
        assert_eq!(reports, 600);
        for (mean, sum) in mean.iter().zip(&sum) {
            square += (mean * 600.0 - sum).powi(2);
            count += 1.0;
        }
    }
    // Truncation to the grid moves 600 levels by less than 1/4096 each, far less than the noise of 12.2.
    let variance = square / count;
    let wanted = 600.0 * SHARING.sigma.powi(2);
    let off = 5.0 * wanted * (2.0f64 / count).sqrt() + 0.01;
    assert!((variance - wanted).abs() < off, "{variance} {wanted}");
}

/// Too few shares: nothing is shown, no step is taken, and the round is charged.
#[test]
fn a_secure_sum_below_its_quorum_shows_nothing() {
    let strict = Sharing {
        dropout: 0.2,
        ..SHARING
    };
    for way in [Way::Shuffled, Way::Fast] {
        let (mean, shares) = secure_step(strict, 0.2, way, 32);
        assert_eq!(shares, 0);
        assert!(mean.iter().all(|x| *x == 0.0));
        // Fewer than three participants hide nobody.
        let (mean, shares) = secure_step(SHARING, 1e-4, way, 33);
        assert_eq!(shares, 0);
        assert!(mean.iter().all(|x| *x == 0.0));
    }
}

/// The price is that of as much noise as the quorum brings, in the dimension and on the grid that run.
#[test]
fn a_secure_sum_is_priced_at_its_quorum() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let d = model.parameters() as u64;
    let delta = Delta::new(1e-6).unwrap();
    let price = |round: &Round| account(round).unwrap().epsilon(delta).unwrap();
    let half = |mechanism| Ok(Round::new(mechanism, 600)?.check_in(0.5)?);
    let charged = |quorum: f64| {
        let sharing = Sharing { quorum, ..SHARING };
        let gradients = gradients(&model, &data, Norm::L2);
        let algorithm = SecureSumSgd::new(gradients, sharing, half, Way::Fast).unwrap();
        price(algorithm.charge().round().unwrap()).upper().value()
    };
    let by_name = |sigma: f64| {
        let mechanism = Mechanism::discrete_gaussian_sum(sigma, 1 << 12, d).unwrap();
        price(&half(mechanism).unwrap()).upper().value()
    };
    assert_eq!(charged(1.0), by_name(0.5));
    let (three_quarters, wanted) = (charged(0.75), by_name(0.5 * 0.75f64.sqrt()));
    assert!(three_quarters >= wanted && three_quarters < wanted * (1.0 + 1e-9));
    assert!(three_quarters > 1.1 * charged(1.0));
}

#[test]
fn what_is_no_secure_sum_is_refused() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let refused = |sharing, sample: u64| {
        let round = |mechanism| Ok(Round::new(mechanism, 600)?.sample(sample)?);
        let gradients = gradients(&model, &data, Norm::L2);
        let result = SecureSumSgd::new(gradients, sharing, round, Way::Fast);
        result.map(|_| ()).unwrap_err().to_string()
    };
    let with = |levels: Option<u64>, dropout, quorum| Sharing {
        sigma: 0.5,
        levels,
        dropout,
        quorum,
    };
    assert_eq!(
        refused(with(None, 0.5, 1.0), 100),
        "dropout 0.5 is outside [0, 0.5)"
    );
    assert_eq!(
        refused(with(None, f64::NAN, 1.0), 100),
        "dropout NaN is outside [0, 0.5)"
    );
    assert_eq!(
        refused(with(None, 0.0, 0.5), 100),
        "quorum 0.5 is outside (0.5, 1]"
    );
    assert_eq!(
        refused(with(Some(1 << 24), 0.0, 1.0), 100),
        "levels 16777216 is outside [1, 1970352], so that sums of 600 shares stay below 2^31"
    );
    for sigma in [1e12, f64::NAN, 0.0, -1.0] {
        let message = refused(Sharing { sigma, ..SHARING }, 100);
        assert!(message.starts_with("sigma "), "{message}");
    }
    assert_eq!(
        refused(SHARING, 2),
        "sample 2 is outside [3, 600]: of a sum of two each knows the other's share"
    );
}
