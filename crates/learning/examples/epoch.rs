//! One epoch of private learning, to be timed beside others: 60,000 gradients of the network of 13,722
//! parameters, each clipped to norm 1, and added up.
//!
//! ```text
//! cargo run --release -p shuffledp-learning --example epoch -- WHAT
//!
//! clipped    without a randomizer
//! added      each by R2 at epsilon0 1.5, added where it is drawn
//! shuffled   the same through the shuffler and the analyzer
//! first      parameters and the first gradient, unclipped, as JSON
//! ```
//!
//! Prints seconds, peak memory in MB (from `/proc`), and the norm of the sum. Images are made by a formula;
//! another program can make the same ones.

#[path = "../benches/pictures/mod.rs"]
mod pictures;

use pictures::{EXAMPLES, SHAPE, clipped, examples};
use shuffledp_accounting::Round;
use shuffledp_learning::{
    Activation, Charge, Error, Examples, Key, Model, Recipe, Rule, Schedule, ShuffledSgd, Training,
    Way,
};
use shuffledp_randomizers::{R2, Randomizer};
use std::time::Instant;

const EPSILON0: f64 = 1.5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let what = std::env::args().nth(1).unwrap_or_default();
    let model = Model::cnn_disjoint(SHAPE, Activation::Tanh, 10)?;
    let parameters = model.initial(1);
    let examples = examples()?;
    let start = Instant::now();
    let sum = match what.as_str() {
        "clipped" => {
            let everybody: Vec<usize> = (0..EXAMPLES).collect();
            clipped(&model, &examples).sum(&parameters, &everybody)?.0
        }
        "added" => randomized(&model, &parameters, &examples, Way::Fast)?,
        "shuffled" => randomized(&model, &parameters, &examples, Way::Shuffled)?,
        "first" => {
            let mut gradient = vec![0.0; parameters.len()];
            if let Some((image, label)) = examples.get(0) {
                let workspace = &mut model.workspace();
                model.gradient(&parameters, image, label, workspace, &mut gradient)?;
            }
            let both = serde_json::json!({ "parameters": parameters, "gradient": gradient });
            println!("{both}");
            return Ok(());
        }
        _ => return Err("which: clipped, added, shuffled or first?".into()),
    };
    let seconds = start.elapsed().as_secs_f64();
    let norm = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
    println!("{seconds:.3} {:.0} {norm:.3}", peak()?);
    Ok(())
}

/// The same sum, estimated from what randomizers report: how far one step at rate 1 moves the parameters,
/// times the reports.
fn randomized(
    model: &Model,
    parameters: &[f32],
    examples: &Examples,
    way: Way,
) -> Result<Vec<f64>, Error> {
    let randomizer = R2::new(parameters.len(), 1.0, EPSILON0)?;
    let round = Round::new(randomizer.mechanism().clone(), EXAMPLES as u64)?;
    let gradients = clipped(model, examples);
    let algorithm = ShuffledSgd::new(gradients, &randomizer, Charge::Shuffled(round), way)?;
    let recipe = Recipe {
        rounds: 1,
        rate: 1.0,
        schedule: Schedule::Constant,
        rule: Rule::Momentum(0.0),
        radius: None,
    };
    let start = parameters.to_vec();
    let mut training = Training::new(recipe, start, "epoch", EXAMPLES as u64)?;
    let report = training.step(&algorithm, Key::secret()?)?;
    let moved = parameters.iter().zip(training.parameters());
    let many = report.reports as f64;
    Ok(moved
        .map(|(before, now)| many * f64::from(before - now))
        .collect())
}

/// The most memory that this process had, in MB.
fn peak() -> Result<f64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next())
        .ok_or("/proc/self/status does not say")?;
    Ok(kilobytes.parse::<f64>()? / 1024.0)
}
