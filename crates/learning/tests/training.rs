//! Rounds of private learning: the short way gives what the long way gives, nobody's gradient is used unclipped or not finite, and the ledger goes with the parameters.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{Accountant, Delta, Epsilon, Participation, Round};
use shuffledp_learning::data::synthetic;
use shuffledp_learning::{Crowd, Dataset, Model, Norm, Recipe, Rule, Schedule, Training, Way};
use shuffledp_protocol::Attendance;
use shuffledp_randomizers::{
    PrivUnit, R1, R2, RInf, Randomizer, Simulated, VectorEstimate, VectorSum,
};

fn data() -> Dataset {
    synthetic::blobs(5, 600, 300).unwrap()
}

/// Gradients of norm at most 1.
fn crowd<'a, R>(
    model: &'a Model,
    data: &'a Dataset,
    randomizer: &'a R,
    norm: Norm,
) -> Crowd<'a, R> {
    Crowd {
        model,
        examples: data.train(),
        randomizer,
        norm,
        bound: 1.0,
    }
}

/// The mean gradient of one round, by either way, from the same randomness.
fn means<R>(randomizer: &R, norm: Norm) -> [Vec<f64>; 2]
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let crowd = crowd(&model, &data, randomizer, norm);
    [Way::Shuffled, Way::Added].map(|way| {
        let attendance = Attendance::new(Participation::Sample(200), 600, 0.0).unwrap();
        let random = |stream| Ok(Simulated::new(9, stream));
        let gathered = crowd
            .round(&model.initial(1), attendance, way, random)
            .unwrap()
            .unwrap();
        assert_eq!((gathered.reports, gathered.refused), (200, 0));
        gathered.mean
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
        means(&PrivUnit::new(d, 1.0, 1.5).unwrap(), Norm::L2),
    ] {
        let size = long.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(size > 0.0);
        for (one, other) in long.iter().zip(&short) {
            assert!((one - other).abs() < 1e-12 * size);
        }
    }
}

/// With almost no noise the mean of the reports is the mean of the clipped gradients.
#[test]
fn the_mean_is_that_of_clipped_gradients() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let parameters = model.initial(1);
    let d = model.parameters();
    let mut truth = vec![0.0; d];
    let (mut workspace, mut gradient) = (model.workspace(), vec![0.0; d]);
    for (image, label) in data.train().iter() {
        model
            .gradient(&parameters, image, label, &mut workspace, &mut gradient)
            .unwrap();
        Norm::L2.clip(&mut gradient, 1.0).unwrap();
        let many = data.train().len() as f64;
        truth
            .iter_mut()
            .zip(&gradient)
            .for_each(|(sum, x)| *sum += f64::from(*x) / many);
    }
    let randomizer = R2::new(d, 1.0, 8.0).unwrap();
    let crowd = crowd(&model, &data, &randomizer, Norm::L2);
    let mut mean = vec![0.0; d];
    const ROUNDS: u64 = 40;
    for round in 0..ROUNDS {
        let attendance = Attendance::new(Participation::Everyone, 600, 0.0).unwrap();
        let random = |stream| Ok(Simulated::new(10, round << 32 | stream));
        let gathered = crowd
            .round(&parameters, attendance, Way::Added, random)
            .unwrap();
        let share = 1.0 / ROUNDS as f64;
        mean.iter_mut()
            .zip(gathered.unwrap().mean)
            .for_each(|(sum, x)| *sum += share * x);
    }
    let square = |of: &dyn Fn(usize) -> f64| (0..d).map(|i| of(i).powi(2)).sum::<f64>();
    let off = square(&|i| mean[i] - truth[i]);
    // B² over all reports is what noise leaves, but for a few percent: its square is a sum of many.
    let noise = randomizer.scale().powi(2) / (600.0 * ROUNDS as f64);
    assert!(
        off < 1.2 * noise && off > 0.8 * noise,
        "{off} against {noise}"
    );
    assert!(square(&|i| truth[i]) > 0.0);
}

#[test]
fn gradients_that_are_not_finite_are_refused_and_counted() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 1.0).unwrap();
    let crowd = crowd(&model, &data, &randomizer, Norm::L2);
    // Scores beyond the largest float.
    let parameters = vec![f32::MAX; model.parameters()];
    let attendance = Attendance::new(Participation::Sample(100), 600, 0.0).unwrap();
    let random = |stream| Ok(Simulated::new(11, stream));
    let gathered = crowd
        .round(&parameters, attendance, Way::Shuffled, random)
        .unwrap()
        .unwrap();
    assert!(gathered.refused > 0);
    // Their owners are not given away by silence.
    assert_eq!(gathered.reports, 100);
    assert!(gathered.mean.iter().all(|slope| slope.is_finite()));
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
    let crowd = crowd(&model, &data, &randomizer, Norm::L2);
    let round = Round::new(randomizer.mechanism().clone(), 600)
        .unwrap()
        .sample(200)
        .unwrap();
    let step = |training: &mut Training| {
        let done = training.done();
        let random = |stream| Ok(Simulated::new(12, done << 32 | stream));
        training
            .step(&crowd, &round, Way::Shuffled, random)
            .unwrap()
    };
    let begin = || Training::new(recipe(6), model.initial(2), "blobs", 600).unwrap();
    let mut through = begin();
    for number in 1..=6 {
        assert_eq!(step(&mut through).round, number);
    }
    for stop in 0..6 {
        let mut first = begin();
        (0..stop).for_each(|_| {
            step(&mut first);
        });
        let mut second = Training::from_json(&first.to_json().unwrap()).unwrap();
        assert_eq!(second.done(), stop);
        (stop..6).for_each(|_| {
            step(&mut second);
        });
        assert_eq!(second.parameters(), through.parameters());
        assert_eq!(second.to_json().unwrap(), through.to_json().unwrap());
    }
    // The ledger is that of six such rounds.
    let delta = Delta::new(1e-5).unwrap();
    let mut accountant = Accountant::new("blobs", 600).unwrap();
    accountant.compose(&round, 6).unwrap();
    assert_eq!(
        through.epsilon(delta).unwrap(),
        accountant.epsilon(delta).unwrap()
    );
    // And a budget is asked before it is overrun.
    let spent = through.epsilon(delta).unwrap().upper.value;
    assert!(through.would_exceed(&round, spent, delta).unwrap());
    let more = Epsilon::new(2.0 * spent.value()).unwrap();
    assert!(!through.would_exceed(&round, more, delta).unwrap());
    // Parameters and ledger that do not go together are refused.
    let torn = through
        .to_json()
        .unwrap()
        .replace("\"done\":6", "\"done\":5");
    assert!(Training::from_json(&torn).is_err());
    assert!(Training::from_json("{}").is_err());
}

#[test]
fn a_round_is_charged_as_what_it_is() {
    let data = data();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 4.0).unwrap();
    let crowd = crowd(&model, &data, &randomizer, Norm::L2);
    let mut training = Training::new(recipe(6), model.initial(2), "blobs", 1000).unwrap();
    let cheaper = R2::new(model.parameters(), 1.0, 1.0).unwrap();
    for round in [
        Round::new(cheaper.mechanism().clone(), 600).unwrap(),
        Round::new(randomizer.mechanism().clone(), 1000).unwrap(),
    ] {
        let random = |stream| Ok(Simulated::new(13, stream));
        assert!(training.step(&crowd, &round, Way::Added, random).is_err());
    }
    assert_eq!(training.done(), 0);
}

/// The point of it all.
#[test]
fn a_crowd_teaches() {
    let data = synthetic::blobs(5, 4000, 1000).unwrap();
    let model = Model::logistic(data.shape(), data.classes()).unwrap();
    let randomizer = R2::new(model.parameters(), 1.0, 6.0).unwrap();
    let crowd = crowd(&model, &data, &randomizer, Norm::L2);
    let round = Round::new(randomizer.mechanism().clone(), 4000)
        .unwrap()
        .check_in(0.5)
        .unwrap();
    let mut training = Training::new(recipe(40), model.initial(2), "blobs", 4000).unwrap();
    for done in 0..40 {
        let random = |stream| Ok(Simulated::new(14, done << 32 | stream));
        let report = training.step(&crowd, &round, Way::Added, random).unwrap();
        assert!((1800..2200).contains(&report.reports));
    }
    let accuracy = model.accuracy(training.parameters(), data.test()).unwrap();
    assert!(accuracy > 0.6, "{accuracy}");
}
