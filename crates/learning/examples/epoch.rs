//! One epoch of private learning, to be timed beside others: 60,000 gradients of the network of 13,722 parameters, each clipped to norm 1, and added up.
//!
//! ```text
//! cargo run --release -p shuffledp-learning --example epoch -- clipped     without a randomizer
//!                                                              added      each by R2 at epsilon0 1.5, added where it is drawn
//!                                                              shuffled   the same through the shuffler and the analyzer
//!                                                              first      parameters and the first gradient, unclipped, as JSON
//! ```
//!
//! Prints seconds, peak memory in MB (from `/proc`), and the norm of the sum. Images are made by a formula; another program can make the same ones.

use rayon::prelude::*;
use shuffledp_accounting::Participation;
use shuffledp_learning::{Activation, Crowd, Error, Examples, Model, Norm, Shape, Way};
use shuffledp_protocol::Attendance;
use shuffledp_randomizers::{R2, Secure};
use std::time::Instant;

const EXAMPLES: usize = 60_000;
const SHAPE: Shape = Shape {
    channels: 1,
    height: 28,
    width: 28,
};
const BOUND: f64 = 1.0;
const EPSILON0: f64 = 1.5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let what = std::env::args().nth(1).unwrap_or_default();
    let model = Model::cnn_disjoint(SHAPE, Activation::Tanh, 10)?;
    let parameters = model.initial(1);
    let examples = examples()?;
    let start = Instant::now();
    let sum = match what.as_str() {
        "clipped" => clipped(&model, &parameters, &examples)?,
        "added" => randomised(&model, &parameters, &examples, Way::Added)?,
        "shuffled" => randomised(&model, &parameters, &examples, Way::Shuffled)?,
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

/// A fifth of the numbers is ink, as in handwriting; classes take turns.
fn examples() -> Result<Examples, Error> {
    let images = (0..EXAMPLES * SHAPE.numbers())
        .map(|at| (at as u32).wrapping_mul(2_654_435_769) >> 16)
        .map(|word| match word % 5 {
            0 => word as f32 / 32_768.0 - 1.0,
            _ => -1.0,
        })
        .collect();
    let labels = (0..EXAMPLES).map(|at| (at % 10) as u8).collect();
    Examples::new(SHAPE, 10, images, labels)
}

/// The sum of all clipped gradients, on all cores.
fn clipped(model: &Model, parameters: &[f32], examples: &Examples) -> Result<Vec<f64>, Error> {
    let numbers = SHAPE.numbers();
    let parts = examples
        .images()
        .par_chunks(500 * numbers)
        .zip(examples.labels().par_chunks(500))
        .map_init(
            || (model.workspace(), vec![0.0; parameters.len()]),
            |(workspace, gradient), (images, labels)| {
                let mut sum = vec![0.0; parameters.len()];
                for (image, &label) in images.chunks_exact(numbers).zip(labels) {
                    model.gradient(parameters, image, label, workspace, gradient)?;
                    Norm::L2.clip(gradient, BOUND)?;
                    for (sum, slope) in sum.iter_mut().zip(&*gradient) {
                        *sum += slope;
                    }
                }
                Ok(sum)
            },
        )
        .collect::<Result<Vec<Vec<f32>>, Error>>()?;
    let mut total = vec![0.0; parameters.len()];
    for part in &parts {
        for (total, sum) in total.iter_mut().zip(part) {
            *total += f64::from(*sum);
        }
    }
    Ok(total)
}

/// The same, estimated from what randomizers report.
fn randomised(
    model: &Model,
    parameters: &[f32],
    examples: &Examples,
    way: Way,
) -> Result<Vec<f64>, Error> {
    let crowd = Crowd {
        model,
        examples,
        randomizer: &R2::new(parameters.len(), BOUND, EPSILON0)?,
        norm: Norm::L2,
        bound: BOUND,
    };
    let everybody = Attendance::new(Participation::Everyone, EXAMPLES as u64, 0.0)?;
    let gathered = crowd.round(parameters, everybody, way, |_| Secure::new())?;
    let (mean, many) = gathered.map_or((Vec::new(), 0), |all| (all.mean, all.reports));
    Ok(mean.iter().map(|x| x * many as f64).collect())
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
