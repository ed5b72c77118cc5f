//! Figure 4: shuffled noisy SGD over blocks, as printed and with noise that protects a block.

use super::principal;
use crate::curves::{any_ldp, converted, digits, epsilon};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{School, percent};
use crate::note::{markdown, note};
use rayon::prelude::*;
use shuffledp::bounds::enhanced_rdp::corollary_2;
use shuffledp::learning::{
    Activation, BlocksSgd, Dataset, Gradients, Key, Model, Norm, Optimizer, Recipe, Rule, Schedule,
    Training,
};
use shuffledp::randomizers::{
    LaplaceVector, R2, Random as _, Randomizer, Simulated, VectorEstimate, VectorSum, below,
};
use shuffledp::{Round, Side};
use shuffledp_plot::{Axis, Picture};
use shuffledp_plot::{Look, Series, Sheet};

const COMPONENTS: usize = 60;
const HIDDEN: usize = 64;
const BLOCKS: u64 = 300;
const CLIP: f64 = 10.0;
const RATE: f64 = 0.05;
const DELTA: f64 = 1e-5;
const EPOCHS: u64 = 20;
const PRINTED_EPOCHS: u64 = 50;
const PRINTED: f64 = 0.9707;
const AT: [f64; 6] = [0.1, 0.2, 0.5, 1.0, 1.5, 2.0];
/// Of R_2: its reports are long, whatever the gradient.
const OTHER_RATE: f64 = 0.001;
const OTHER_CLIP: f64 = 1.0;

/// What is learnt from what.
struct Lesson {
    data: Dataset,
    model: Model,
}

impl Lesson {
    /// On the examples that it learnt from, as in the paper.
    fn accuracy(&self, parameters: &[f32]) -> Result<f64, Error> {
        Ok(self.model.accuracy(parameters, self.data.train())?)
    }

    /// Algorithm 1 to the letter: (1/m) Σ over a block of n/m clipped gradients, and Laplace noise of
    /// 2C/(ε₀m); none without ε₀.
    fn as_printed(&self, epsilon0: Option<f64>) -> Result<f64, Error> {
        let examples = self.data.train();
        let mut server = Optimizer::new(Rule::Momentum(0.0), self.model.initial(1), None)?;
        let (mut workspace, many) = (self.model.workspace(), self.model.parameters());
        let (mut gradient, mut sum) = (vec![0.0f32; many], vec![0.0f64; many]);
        let size = examples.len() as u64 / BLOCKS;
        let mut random = Simulated::new(1, 0);
        let mut order: Vec<u64> = (0..BLOCKS).collect();
        for _ in 0..EPOCHS {
            for last in (1..order.len()).rev() {
                order.swap(last, below(last as u64 + 1, &mut random) as usize);
            }
            for block in &order {
                sum.fill(0.0);
                for at in block * size..(block + 1) * size {
                    let Some((image, label)) = examples.get(at as usize) else {
                        continue;
                    };
                    let theta = server.parameters();
                    self.model
                        .gradient(theta, image, label, &mut workspace, &mut gradient)?;
                    Norm::L1.clip(&mut gradient, CLIP)?;
                    for (sum, slope) in sum.iter_mut().zip(&gradient) {
                        *sum += f64::from(*slope);
                    }
                }
                for slope in &mut sum {
                    *slope /= BLOCKS as f64;
                    if let Some(epsilon0) = epsilon0 {
                        *slope += 2.0 * CLIP / (epsilon0 * BLOCKS as f64) * laplace(&mut random);
                    }
                }
                server.step(&sum, RATE)?;
            }
        }
        self.accuracy(server.parameters())
    }

    /// A block's mean, protected as a whole.
    fn protected<R>(&self, randomizer: &R, norm: (Norm, f64), rate: f64) -> Result<f64, Error>
    where
        R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate>,
    {
        let gradients = Gradients {
            model: &self.model,
            examples: self.data.train(),
            norm: norm.0,
            bound: norm.1,
        };
        let round = Round::new(randomizer.mechanism().clone(), BLOCKS)?.adaptive_within_round()?;
        let algorithm = BlocksSgd::new(gradients, randomizer, round)?;
        let recipe = Recipe {
            rounds: EPOCHS,
            rate,
            schedule: Schedule::Constant,
            rule: Rule::Momentum(0.0),
            radius: None,
        };
        let mut training = Training::new(recipe, self.model.initial(1), "blocks", BLOCKS)?;
        for _ in 0..EPOCHS {
            training.step(&algorithm, Key::simulated(1))?;
        }
        self.accuracy(training.parameters())
    }
}

/// Laplace noise of scale 1, for a simulation: its digits protect nobody.
fn laplace(random: &mut Simulated) -> f64 {
    let word = random.word();
    let size = -(((word >> 12) as f64 + 0.5) / (1u64 << 52) as f64).ln();
    if word & 1 == 0 { size } else { -size }
}

pub(super) fn figure_4(school: &School) -> Result<Shown, Error> {
    let data = principal::components(&school.mnist()?, COMPONENTS)?;
    let model = Model::mlp(data.shape(), HIDDEN, Activation::Relu, data.classes())?;
    let lesson = Lesson { data, model };
    let parameters = lesson.model.parameters();
    let limit = lesson.as_printed(None)?;
    let made: Result<Vec<[f64; 3]>, Error> = AT
        .par_iter()
        .map(|&epsilon0| {
            let laplace = LaplaceVector::new(parameters, CLIP, epsilon0)?;
            let direction = R2::new(parameters, OTHER_CLIP, epsilon0)?;
            Ok([
                lesson.as_printed(Some(epsilon0))?,
                lesson.protected(&laplace, (Norm::L1, CLIP), RATE)?,
                lesson.protected(&direction, (Norm::L2, OTHER_CLIP), OTHER_RATE)?,
            ])
        })
        .collect();
    let made = made?;
    let price = |epsilon0: f64, epochs: u64| -> Result<f64, Error> {
        let round = any_ldp(epsilon0, BLOCKS)?.adaptive_within_round()?;
        Ok(epsilon(&round, epochs as f64, DELTA)?.upper().value())
    };
    let mut prices = Vec::new();
    for epsilon0 in AT {
        let theirs = converted(&corollary_2(BLOCKS, epsilon0), PRINTED_EPOCHS as f64, DELTA);
        prices.push([
            price(epsilon0, PRINTED_EPOCHS)?,
            price(epsilon0, EPOCHS)?,
            theirs.unwrap_or(f64::NAN),
        ]);
    }
    let series = |name: &str, look: Look, values: Vec<f64>| Series {
        name: name.to_owned(),
        side: Side::Upper,
        standing: None,
        look,
        values: values.into_iter().map(Some).collect(),
    };
    let column = |index: usize| made.iter().map(|row| row[index]).collect();
    let priced = |index: usize| prices.iter().map(|row| row[index]).collect();
    let sheet = Sheet {
        over: "epsilon0".to_owned(),
        at: AT.to_vec(),
        series: vec![
            series(
                "printed, after about 50 epochs",
                Look::Line,
                vec![PRINTED; AT.len()],
            ),
            series("no noise", Look::Line, vec![limit; AT.len()]),
            series("as printed", Look::Line, column(0)),
            series("Laplace noise for a block", Look::Line, column(1)),
            series("R_2 for a block", Look::Line, column(2)),
            series(
                "certified epsilon of 50 epochs, unit a block",
                Look::Hidden,
                priced(0),
            ),
            series(
                "certified epsilon of the epochs that were run",
                Look::Hidden,
                priced(1),
            ),
            series("Theorem 3, 50 epochs", Look::Hidden, priced(2)),
        ],
    };
    let rows: Vec<Vec<String>> = AT
        .iter()
        .zip(made.iter().zip(&prices))
        .map(|(epsilon0, (accuracy, price))| {
            let mut row = vec![format!("{epsilon0}")];
            row.extend(accuracy.map(percent));
            row.extend(price.map(digits));
            row
        })
        .collect();
    let table = markdown(
        &[
            "ε₀",
            "as printed",
            "Laplace for a block",
            "R_2 for a block",
            "certified ε of 50 epochs",
            "certified ε of 20 epochs",
            "Theorem 3 (asymptotic), 50 epochs",
        ],
        &rows,
    );
    let above = |row: Option<&[f64; 3]>| row.map_or(f64::NAN, |row| row[2] / row[0]);
    let one = AT.iter().position(|&epsilon0| epsilon0 == 1.0);
    let at_one = one.map_or([f64::NAN; 3], |row| made[row]);
    let last = made.last().copied().unwrap_or([f64::NAN; 3]);
    let block = lesson.data.train().len() as u64 / BLOCKS;
    Ok(Shown {
        picture: Picture {
            title: "Figure 4: accuracy of shuffled noisy SGD over ε₀".to_owned(),
            subtitle: format!(
                "MNIST, {COMPONENTS} principal components, {BLOCKS} blocks of {block}, {EPOCHS} epochs; \
                 accuracy on the training examples"
            ),
            x: Axis::log("local ε₀"),
            y: Axis::linear("training accuracy"),
            within: (0.0, 1.0),
        },
        sheet,
        note: note!(
            "figure_4.md",
            epochs = EPOCHS,
            printed_epochs = PRINTED_EPOCHS,
            blocks = BLOCKS,
            clip = CLIP,
            rate = RATE,
            hidden = HIDDEN,
            parameters = parameters,
            table = table,
            block = block,
            at_one = percent(at_one[0]),
            printed = percent(last[0]),
            limit = percent(limit),
            laplace = percent(last[1]),
            deviation = digits(2.0 * CLIP * 2f64.sqrt() / 2.0),
            other_clip = OTHER_CLIP,
            other_rate = OTHER_RATE,
            direction = percent(last[2]),
            length = digits(
                (std::f64::consts::PI / 2.0 * parameters as f64).sqrt() * (2f64.exp() + 1.0)
                    / 2f64.exp_m1()
            ),
            above_first = digits(above(prices.first())),
            above_last = digits(above(prices.last())),
        ),
    })
}
