//! Figure 4: shuffled noisy SGD over blocks, as printed and with noise that protects a block.

use super::principal;
use crate::curves::{any_ldp, converted, digits, epsilon};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{Course, School, percent};
use crate::note::{markdown, note};
use rayon::prelude::*;
use shuffledp::bounds::enhanced_rdp::corollary_2;
use shuffledp::learning::data::idx;
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
use std::rc::Rc;

const COMPONENTS: usize = 60;
const CLIP: f64 = 10.0;
const RATE: f64 = 0.05;
const DELTA: f64 = 1e-5;
const EPOCHS: u64 = 50;
/// Epochs between two looks.
const EVERY: u64 = 5;
/// What the paper's Table 2 calls the batch size, and its Algorithm 1 the number of blocks.
const M: u64 = 300;
const PRINTED: f64 = 0.9707;
const AT: [f64; 6] = [0.1, 0.2, 0.5, 1.0, 1.5, 2.0];
/// Of R_2: its reports are long, whatever the gradient.
const OTHER_RATE: f64 = 0.001;
const OTHER_CLIP: f64 = 1.0;

/// What the components are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Light in [0, 1].
    Unit,
    /// Light of mean 0 and variance 1 in every pixel.
    Standard,
    /// Light in [0, 1]; every component divided by its deviation.
    White,
}

impl Scale {
    fn name(self) -> &'static str {
        match self {
            Self::Unit => "light in [0, 1]",
            Self::Standard => "standardized pixels",
            Self::White => "light in [0, 1], whitened",
        }
    }
}

fn clip_name(norm: Option<Norm>) -> &'static str {
    match norm {
        Some(Norm::L1) => "l1",
        Some(Norm::L2) => "l2",
        Some(Norm::LInf) => "linf",
        None => "nothing",
    }
}

/// How a block becomes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Algorithm 1 to the letter, with m blocks.
    Blocks,
    /// The same with blocks of m examples, as Table 2 has it.
    Batches,
    /// Laplace noise for the whole ball, on the mean of each of m blocks.
    Laplace,
    /// R_2 on the mean of each of m blocks.
    Direction,
}

const WAYS: [Way; 4] = [Way::Blocks, Way::Batches, Way::Laplace, Way::Direction];

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    way: Way,
    /// What gradients are clipped in, where they are summed as printed; none is not at all.
    norm: Option<Norm>,
    scale: Scale,
    hidden: usize,
    /// None is no noise.
    epsilon0: Option<f64>,
}

/// The network and the scale of the figure: the best of the search with the printed clip.
const HIDDEN: usize = 16;
const SCALE: Scale = Scale::Standard;
/// The search, without noise and at ε₀ = 2.
const SEARCHED: [(Option<Norm>, Scale, usize); 10] = [
    (Some(Norm::L1), Scale::Unit, 16),
    (Some(Norm::L1), Scale::White, 16),
    (Some(Norm::L1), Scale::Standard, 8),
    (Some(Norm::L1), Scale::Standard, 16),
    (Some(Norm::L1), Scale::Standard, 32),
    (Some(Norm::L1), Scale::Standard, 64),
    (Some(Norm::L2), Scale::Unit, 64),
    (Some(Norm::L2), Scale::Standard, 64),
    (None, Scale::Unit, 64),
    (None, Scale::Standard, 64),
];

impl Case {
    const fn of_figure(way: Way, epsilon0: Option<f64>) -> Self {
        Self {
            way,
            norm: Some(Norm::L1),
            scale: SCALE,
            hidden: HIDDEN,
            epsilon0,
        }
    }

    /// The name of its log, and what it says there.
    fn log(self) -> (String, String) {
        let Self { way, hidden, .. } = self;
        let (way, about) = match way {
            Way::Blocks => ("blocks", format!("Algorithm 1 as printed, {M} blocks")),
            Way::Batches => ("batches", format!("Algorithm 1, blocks of {M} examples")),
            Way::Laplace => ("laplace", format!("Laplace noise for a block, {M} blocks")),
            Way::Direction => ("r-2", format!("R_2 for a block, {M} blocks")),
        };
        let scale = match self.scale {
            Scale::Unit => "unit",
            Scale::Standard => "standard",
            Scale::White => "white",
        };
        let (clip, of) = (clip_name(self.norm), self.scale.name());
        let (noise, local) = match self.epsilon0 {
            None => ("no-noise".to_owned(), "no noise".to_owned()),
            Some(epsilon0) => (format!("{epsilon0}"), format!("epsilon0 = {epsilon0}")),
        };
        (
            format!("enhanced-rdp/runs/{way}-{clip}-{scale}-{hidden}-{noise}"),
            format!(
                "enhanced-rdp/figure-4: {about}, clipped in {clip}, {local}, {COMPONENTS} principal \
                 components of {of}, {hidden} hidden numbers, {EPOCHS} epochs, seed 1; training accuracy"
            ),
        )
    }

    fn accuracies(self, data: &Dataset) -> Result<Vec<(u64, f64)>, Error> {
        let model = Model::mlp(data.shape(), self.hidden, Activation::Relu, data.classes())?;
        let lesson = Lesson { data, model };
        let many = lesson.model.parameters();
        match (self.way, self.epsilon0) {
            (Way::Blocks, epsilon0) => lesson.as_printed(self.norm, M, epsilon0),
            (Way::Batches, epsilon0) => {
                lesson.as_printed(self.norm, data.train().len() as u64 / M, epsilon0)
            }
            (Way::Laplace, Some(epsilon0)) => {
                let noise = LaplaceVector::new(many, CLIP, epsilon0)?;
                lesson.protected(&noise, (Norm::L1, CLIP), RATE)
            }
            (Way::Direction, Some(epsilon0)) => {
                let direction = R2::new(many, OTHER_CLIP, epsilon0)?;
                lesson.protected(&direction, (Norm::L2, OTHER_CLIP), OTHER_RATE)
            }
            (Way::Laplace | Way::Direction, None) => Err(Error::Unprotected),
        }
    }
}

/// What is learnt from what.
struct Lesson<'a> {
    data: &'a Dataset,
    model: Model,
}

impl Lesson<'_> {
    /// On the examples that it learnt from, as in the paper.
    fn accuracy(&self, parameters: &[f32]) -> Result<f64, Error> {
        Ok(self.model.accuracy(parameters, self.data.train())?)
    }

    /// Algorithm 1 to the letter: (1/m) Σ over the clipped gradients of a block, and Laplace noise of
    /// 2C/(ε₀m); none without ε₀.
    fn as_printed(
        &self,
        norm: Option<Norm>,
        blocks: u64,
        epsilon0: Option<f64>,
    ) -> Result<Vec<(u64, f64)>, Error> {
        let examples = self.data.train();
        let mut server = Optimizer::new(Rule::Momentum(0.0), self.model.initial(1), None)?;
        let (mut workspace, many) = (self.model.workspace(), self.model.parameters());
        let (mut gradient, mut sum) = (vec![0.0f32; many], vec![0.0f64; many]);
        let size = examples.len() as u64 / blocks;
        let mut random = Simulated::new(1, 0);
        let mut order: Vec<u64> = (0..blocks).collect();
        let mut looks = Vec::new();
        for epoch in 1..=EPOCHS {
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
                    if let Some(norm) = norm {
                        norm.clip(&mut gradient, CLIP)?;
                    }
                    for (sum, slope) in sum.iter_mut().zip(&gradient) {
                        *sum += f64::from(*slope);
                    }
                }
                for slope in &mut sum {
                    *slope /= M as f64;
                    if let Some(epsilon0) = epsilon0 {
                        *slope += 2.0 * CLIP / (epsilon0 * M as f64) * laplace(&mut random);
                    }
                }
                server.step(&sum, RATE)?;
            }
            if epoch % EVERY == 0 {
                looks.push((epoch, self.accuracy(server.parameters())?));
            }
        }
        Ok(looks)
    }

    /// A block's mean, protected as a whole.
    fn protected<R>(
        &self,
        randomizer: &R,
        norm: (Norm, f64),
        rate: f64,
    ) -> Result<Vec<(u64, f64)>, Error>
    where
        R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate>,
    {
        let gradients = Gradients {
            model: &self.model,
            examples: self.data.train(),
            norm: norm.0,
            bound: norm.1,
        };
        let round = Round::new(randomizer.mechanism().clone(), M)?.adaptive_within_round()?;
        let algorithm = BlocksSgd::new(gradients, randomizer, round)?;
        let recipe = Recipe {
            rounds: EPOCHS,
            rate,
            schedule: Schedule::Constant,
            rule: Rule::Momentum(0.0),
            radius: None,
        };
        let mut training = Training::new(recipe, self.model.initial(1), "blocks", M)?;
        let mut looks = Vec::new();
        for epoch in 1..=EPOCHS {
            training.step(&algorithm, Key::simulated(1))?;
            if epoch % EVERY == 0 {
                looks.push((epoch, self.accuracy(training.parameters())?));
            }
        }
        Ok(looks)
    }
}

/// Laplace noise of scale 1, for a simulation: its digits protect nobody.
fn laplace(random: &mut Simulated) -> f64 {
    let word = random.word();
    let size = -(((word >> 12) as f64 + 0.5) / (1u64 << 52) as f64).ln();
    if word & 1 == 0 { size } else { -size }
}

/// The examples at each scale that some cases need.
fn scaled(mnist: &Dataset, cases: &[Case]) -> Result<Vec<(Scale, Dataset)>, Error> {
    let all = [Scale::Unit, Scale::Standard, Scale::White];
    let needed = |scale: &Scale| cases.iter().any(|case| case.scale == *scale);
    let made = all.into_iter().filter(needed).map(|scale| {
        let light = match scale {
            Scale::Unit | Scale::White => principal::unit(mnist)?,
            Scale::Standard => principal::standardized(mnist)?,
        };
        let components = principal::components(&light, COMPONENTS)?;
        Ok(match scale {
            Scale::Unit | Scale::Standard => (scale, components),
            Scale::White => (scale, principal::standardized(&components)?),
        })
    });
    made.collect()
}

/// All cases, each once: those without a log are run on all cores.
fn courses(school: &School, cases: &[Case]) -> Result<Vec<Rc<Course>>, Error> {
    let logs: Vec<(String, String)> = cases.iter().map(|case| case.log()).collect();
    school.others(&logs, |folder, missing, keep| {
        let wanted: Vec<Case> = missing.iter().map(|&at| cases[at]).collect();
        let data = scaled(&idx::read(folder)?, &wanted)?;
        let one = |&at: &usize| -> Result<(usize, Course), Error> {
            let data = data.iter().find(|data| data.0 == cases[at].scale);
            let (_, data) = data.ok_or(Error::Unprotected)?;
            let looks = cases[at].accuracies(data)?;
            Ok((at, Course { round: None, looks }))
        };
        for together in missing.chunks(rayon::current_num_threads()) {
            let made: Result<Vec<_>, Error> = together.par_iter().map(one).collect();
            for (at, course) in made? {
                keep(at, course)?;
            }
        }
        Ok(())
    })
}

pub(super) fn figure_4(school: &School) -> Result<Shown, Error> {
    let mut cases = Vec::new();
    for epsilon0 in AT {
        cases.extend(WAYS.map(|way| Case::of_figure(way, Some(epsilon0))));
    }
    cases.push(Case::of_figure(Way::Blocks, None));
    // What is not clipped cannot be protected by noise.
    let searched: Vec<(Case, Option<Case>)> = SEARCHED
        .iter()
        .map(|&(norm, scale, hidden)| {
            let quiet = Case {
                way: Way::Batches,
                norm,
                scale,
                hidden,
                epsilon0: None,
            };
            let epsilon0 = Some(2.0);
            (quiet, norm.map(|_| Case { epsilon0, ..quiet }))
        })
        .collect();
    for case in searched.iter().flat_map(|pair| [Some(pair.0), pair.1]) {
        cases.extend(case.filter(|case| !cases.contains(case)));
    }
    let courses = courses(school, &cases)?;
    let end = |case: Case| {
        let at = cases.iter().position(|other| *other == case);
        let look = at.and_then(|at| courses[at].looks.last());
        look.map_or(f64::NAN, |look| look.1)
    };
    let made = AT.map(|epsilon0| WAYS.map(|way| end(Case::of_figure(way, Some(epsilon0)))));
    let limit = end(Case::of_figure(Way::Blocks, None));
    let mut prices = Vec::new();
    for epsilon0 in AT {
        let round = any_ldp(epsilon0, M)?.adaptive_within_round()?;
        let certified = epsilon(&round, EPOCHS as f64, DELTA)?.upper().value();
        let theirs = converted(&corollary_2(M, epsilon0), EPOCHS as f64, DELTA);
        prices.push([certified, theirs.unwrap_or(f64::NAN)]);
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
            series("printed", Look::Line, vec![PRINTED; AT.len()]),
            series("no noise", Look::Line, vec![limit; AT.len()]),
            series("as printed, 300 blocks", Look::Line, column(0)),
            series("as printed, blocks of 300", Look::Line, column(1)),
            series("Laplace noise for a block", Look::Line, column(2)),
            series("R_2 for a block", Look::Line, column(3)),
            series("certified epsilon, unit a block", Look::Hidden, priced(0)),
            series("Theorem 3", Look::Hidden, priced(1)),
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
            "as printed, 300 blocks of 200",
            "as printed, 200 blocks of 300",
            "Laplace for a block",
            "R_2 for a block",
            "certified ε, unit a block",
            "Theorem 3 (asymptotic)",
        ],
        &rows,
    );
    let rows: Vec<Vec<String>> = searched
        .iter()
        .map(|(quiet, noisy)| {
            vec![
                quiet.scale.name().to_owned(),
                clip_name(quiet.norm).to_owned(),
                format!("{}", quiet.hidden),
                percent(end(*quiet)),
                noisy.map_or("-".to_owned(), |noisy| percent(end(noisy))),
            ]
        })
        .collect();
    let search = markdown(
        &[
            "components of",
            "clipped in",
            "hidden",
            "no noise",
            "ε₀ = 2",
        ],
        &rows,
    );
    let most = |norm: Option<Norm>| {
        let of_norm = searched.iter().filter(|pair| pair.0.norm == norm);
        let noisy = |pair: &(Case, Option<Case>)| pair.1.map_or(0.0, end);
        let ends = of_norm.map(|pair| (end(pair.0), noisy(pair)));
        let (quiet, noisy) = ends.fold((0.0, 0.0), |(a, b): (f64, f64), (x, y)| {
            (a.max(x), b.max(y))
        });
        (percent(quiet), percent(noisy))
    };
    let (l1, l2, free) = (most(Some(Norm::L1)), most(Some(Norm::L2)), most(None));
    let parameters = (COMPONENTS + 1) * HIDDEN + (HIDDEN + 1) * 10;
    let above = |row: Option<&[f64; 2]>| row.map_or(f64::NAN, |row| row[1] / row[0]);
    let one = AT.iter().position(|&epsilon0| epsilon0 == 1.0);
    let at_one = one.map_or([f64::NAN; 4], |row| made[row]);
    let last = made.last().copied().unwrap_or([f64::NAN; 4]);
    Ok(Shown {
        picture: Picture {
            title: "Figure 4: accuracy of shuffled noisy SGD over ε₀".to_owned(),
            subtitle: format!(
                "MNIST, {COMPONENTS} principal components, {EPOCHS} epochs; accuracy on the training \
                 examples"
            ),
            x: Axis::log("local ε₀"),
            y: Axis::linear("training accuracy"),
            within: (0.0, 1.0),
        },
        sheet,
        note: note!(
            "figure_4.md",
            clip = CLIP,
            rate = RATE,
            hidden = HIDDEN,
            parameters = parameters,
            table = table,
            search = search,
            in_l1 = l1.0,
            in_l2 = l2.0,
            noisy_in_l1 = l1.1,
            noisy_in_l2 = l2.1,
            free = free.0,
            at_one = percent(at_one[0]),
            printed = percent(last[0]),
            batches = percent(last[1]),
            limit = percent(limit),
            laplace = percent(last[2]),
            deviation = digits(2.0 * CLIP * 2f64.sqrt() / 2.0),
            other_clip = OTHER_CLIP,
            other_rate = OTHER_RATE,
            direction = percent(last[3]),
            length = digits(
                (std::f64::consts::PI / 2.0 * parameters as f64).sqrt() * (2f64.exp() + 1.0)
                    / 2f64.exp_m1()
            ),
            above_first = digits(above(prices.first())),
            above_last = digits(above(prices.last())),
        ),
    })
}
