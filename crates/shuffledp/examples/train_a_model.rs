//! Train a model: 20,000 people hold one labeled example each. In every round 4,000 of them send the
//! randomized, clipped gradient of their own example through a shuffler, and the ledger says what that
//! has cost so far.

use shuffledp::learning::data::synthetic;
use shuffledp::learning::{
    Charge, Gradients, Key, Model, Norm, Recipe, Rule, Schedule, ShuffledSgd, Training, Way,
};
use shuffledp::randomizers::{R2, Randomizer};
use shuffledp::{Delta, Round};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let data = synthetic::blobs(7, 20_000, 1000)?;
    let users = data.train().len() as u64;
    let model = Model::logistic(data.shape(), data.classes())?;
    let gradients = Gradients {
        model: &model,
        examples: data.train(),
        norm: Norm::L2,
        bound: 1.0,
    };

    // What a device runs, and what a round of such devices is charged as.
    let randomizer = R2::new(model.parameters(), 1.0, 3.0)?;
    let round = Round::new(randomizer.mechanism().clone(), users)?.sample(4000)?;
    let charge = Charge::Shuffled(round);
    let algorithm = ShuffledSgd::new(gradients, &randomizer, charge.clone(), Way::Shuffled)?;

    let recipe = Recipe {
        rounds: 40,
        rate: 0.3,
        schedule: Schedule::Cosine,
        rule: Rule::Momentum(0.9),
        radius: None,
    };
    let start = vec![0.0; model.parameters()];
    let mut training = Training::new(recipe, start, "blobs", users)?;
    // A secret key protects people; `Key::simulated` would make the same run again and protect nobody.
    let key = Key::secret()?;
    for round in 1..=40 {
        training.step(&algorithm, key)?;
        if round % 10 == 0 {
            let spent = training.epsilon(&charge, Delta::new(1e-6)?)?;
            let epsilon = spent.map_or(f64::INFINITY, |spent| spent.upper().value());
            let accuracy = model.accuracy(training.parameters(), data.test())?;
            println!("round {round}: accuracy {accuracy:.3}, epsilon at most {epsilon:.3}");
        }
    }
    Ok(())
}

#[test]
fn runs() -> Result<(), Box<dyn Error>> {
    main()
}
