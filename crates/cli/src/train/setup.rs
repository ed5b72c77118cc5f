//! What the words of a training run stand for: data, model, devices, who takes part, and how to learn.

use super::table::Table;
use super::{
    AlgorithmName, Features, ModelName, OptimizerName, Protection, ScheduleName, TrainWords,
};
use crate::failure::Failure;
use crate::number::{grouped, plain, real, whole};
use shuffledp::learning::data::{cifar, idx, synthetic};
use shuffledp::learning::{
    Activation, Algorithm, BlocksSgd, CentralSgd, Charge, Dataset, Gradients, Key, Model, Norm,
    PlainSgd, Recipe, Rule, Schedule, ShuffledSgd, Way, oriented_gradients,
};
use shuffledp::randomizers::{
    GaussianVector, LaplaceVector, PrivUnit, R1, R2, RInf, Randomizer as _,
};
use shuffledp::{Delta, Epsilon, Mechanism, Round};
use std::path::Path;

/// Examples of the demonstration: to learn from, to be judged by.
const DEMO: (usize, usize) = (20_000, 2_000);
/// Rounds where neither they nor a budget are given, and where only a budget is.
const ROUNDS: u64 = 100;
const MOST_ROUNDS: u64 = 10_000;
/// No gradient is longer.
const UNBOUNDED: f64 = 1e30;

/// Everything but the devices, which borrow from it.
pub(super) struct Setup {
    pub(super) data: Dataset,
    pub(super) model: Model,
    /// The first parameters.
    pub(super) start: Vec<f32>,
    pub(super) recipe: Recipe,
    pub(super) delta: Delta,
    pub(super) target: Option<Epsilon>,
    pub(super) device: Option<Device>,
    norm: Norm,
    bound: f64,
    /// Sentences that say what is run.
    pub(super) about: Vec<String>,
    /// What a reader must know beyond that.
    pub(super) notes: Vec<String>,
    /// What two neighboring data sets differ by.
    pub(super) adjacency: &'static str,
}

/// What a person's device runs.
pub(super) enum Device {
    R1(R1),
    R2(R2),
    RInf(RInf),
    PrivUnit(PrivUnit),
    Gaussian(GaussianVector),
    Laplace(LaplaceVector),
}

/// Does the same with whichever it is.
macro_rules! of_device {
    ($device:expr, $randomizer:ident => $does:expr) => {
        match $device {
            Device::R1($randomizer) => $does,
            Device::R2($randomizer) => $does,
            Device::RInf($randomizer) => $does,
            Device::PrivUnit($randomizer) => $does,
            Device::Gaussian($randomizer) => $does,
            Device::Laplace($randomizer) => $does,
        }
    };
}

impl Device {
    fn mechanism(&self) -> Mechanism {
        of_device!(self, randomizer => randomizer.mechanism().clone())
    }
}

impl TrainWords {
    /// Everything that can be refused before the first round is.
    pub(super) fn setup(&self) -> Result<Setup, Failure> {
        self.refuse_strangers()?;
        let mut notes = Vec::new();
        let (data, mut about) = self.dataset(&mut notes)?;
        if data.train().len() < 2 {
            let message = "--data: one example to learn from is nobody to hide among";
            return Err(Failure::words("--data", message));
        }
        let model = self.network(&data)?;
        let delta = Delta::new(real("--delta", &self.delta)?)?;
        let target = match &self.target_epsilon {
            Some(text) => {
                let target = real("--target-epsilon", text)?;
                let target = Epsilon::new(target)
                    .map_err(|_| Failure::value("--target-epsilon", text, "in [0, inf)"))?;
                Some(target)
            }
            None => None,
        };
        let recipe = self.recipe(target.is_some())?;
        let protection = self.protection();
        let norm = match (self.algorithm, protection) {
            (AlgorithmName::Central | AlgorithmName::None, _) => Norm::L2,
            (_, Protection::R2 | Protection::PrivUnit | Protection::Gaussian) => Norm::L2,
            (_, Protection::R1 | Protection::Laplace) => Norm::L1,
            (_, Protection::RInf) => Norm::LInf,
        };
        let bound = match (&self.clip, self.algorithm) {
            (None, AlgorithmName::None) => UNBOUNDED,
            (None, _) => 1.0,
            (Some(text), _) => real("--clip", text)?,
        };
        if !(1e-30..=UNBOUNDED).contains(&bound) {
            let text = self.clip.as_deref().unwrap_or_default();
            return Err(Failure::value("--clip", text, "in [1e-30, 1e30]"));
        }
        let device = match self.algorithm {
            AlgorithmName::Central | AlgorithmName::None => None,
            _ => Some(self.device(protection, model.parameters(), bound)?),
        };
        // The loss of logistic regression is convex: nothing has to be broken up by chance.
        let start = match self.model {
            ModelName::Logistic => vec![0.0; model.parameters()],
            _ => model.initial(1),
        };
        let mut setup = Setup {
            data,
            model,
            start,
            recipe,
            delta,
            target,
            device,
            norm,
            bound,
            about: Vec::new(),
            notes,
            adjacency: match self.algorithm {
                AlgorithmName::Central => "one record is replaced by an empty one",
                AlgorithmName::Blocks => "a whole block is replaced",
                AlgorithmName::Local => "the value of a user who is called every round is replaced",
                _ => "one user's value is replaced",
            },
        };
        about.insert(0, self.sentence(&setup)?);
        about.push(self.learner(&setup));
        setup.about = about;
        Ok(setup)
    }

    /// Words that mean nothing to this algorithm or this data.
    fn refuse_strangers(&self) -> Result<(), Failure> {
        if self.data.is_none() && !self.demo {
            let message = "--data, a folder or a table to learn from, is needed (or --demo)";
            return Err(Failure::words("--data", message));
        }
        let name = self.algorithm.name();
        let not_for = |flag: &'static str| {
            Failure::words(flag, format!("{flag} is not for --algorithm {name}"))
        };
        use AlgorithmName::{Blocks, Central, CheckIn, CldpSgd, Local, None as Plain};
        let of = |names: &[AlgorithmName]| names.contains(&self.algorithm);
        for (flag, given, allowed) in [
            (
                "--sample",
                self.sample.is_some(),
                of(&[CldpSgd, Local, Plain]),
            ),
            ("--check-in", self.check_in.is_some(), of(&[CheckIn])),
            ("--blocks", self.blocks.is_some(), of(&[Blocks])),
            ("--batches", self.batches.is_some(), of(&[Central])),
            (
                "--randomizer",
                self.randomizer.is_some(),
                !of(&[Central, Plain]),
            ),
            (
                "--target-epsilon",
                self.target_epsilon.is_some(),
                !of(&[Plain]),
            ),
            ("--fast", self.fast, of(&[CldpSgd, CheckIn, Local])),
        ] {
            if given && !allowed {
                return Err(not_for(flag));
            }
        }
        let gaussian = self.protection() == Protection::Gaussian;
        let (epsilon0, sigma) = match self.algorithm {
            Plain => (false, false),
            Central => (false, true),
            _ => (!gaussian, gaussian),
        };
        let of = match self.algorithm {
            Plain | Central => format!("--algorithm {name}"),
            _ => format!("--randomizer {}", self.protection().name()),
        };
        for (flag, given, wanted, what) in [
            (
                "--epsilon0",
                self.epsilon0.is_some(),
                epsilon0,
                "the local guarantee",
            ),
            (
                "--sigma",
                self.sigma.is_some(),
                sigma,
                "the noise in units of --clip",
            ),
        ] {
            if given && !wanted {
                return Err(Failure::words(flag, format!("{flag} is not for {of}")));
            }
            if wanted && !given {
                return Err(Failure::words(
                    flag,
                    format!("{flag}, {what}, is needed for {of}"),
                ));
            }
        }
        if self.momentum.is_some() && self.optimizer == OptimizerName::Adam {
            let message = "--momentum is not for --optimizer adam";
            return Err(Failure::words("--momentum", message));
        }
        if self.hidden.is_some() && self.model != ModelName::Mlp {
            return Err(Failure::words("--hidden", "--hidden is for --model mlp"));
        }
        Ok(())
    }

    /// What protects a gradient.
    fn protection(&self) -> Protection {
        match (self.randomizer, self.algorithm) {
            (Some(protection), _) => protection,
            (None, AlgorithmName::Blocks) => Protection::Laplace,
            (None, _) => Protection::R2,
        }
    }

    /// The examples as the model sees them, and a sentence on them.
    fn dataset(&self, notes: &mut Vec<String>) -> Result<(Dataset, Vec<String>), Failure> {
        let (mut data, mut sentence) = self.source(notes)?;
        if let Some(text) = &self.validation {
            data = data.validation(real("--validation", text)?)?;
            notes.push("Accuracy is on examples held out of the training set, which are not protected; the test set was not looked at.".into());
        }
        let pictures = data.shape().height >= 8 && data.shape().width >= 8;
        let linear = self.model == ModelName::Logistic;
        let features = self.features.unwrap_or(match pictures && linear {
            true => Features::OrientedGradients,
            false => Features::Plain,
        });
        if features == Features::OrientedGradients {
            data = oriented_gradients(&data)?;
            sentence +=
                ", each as 128 oriented gradients, which a device computes from its own picture";
        }
        Ok((data, vec![sentence + "."]))
    }

    fn source(&self, notes: &mut Vec<String>) -> Result<(Dataset, String), Failure> {
        if self.data.is_none() && self.label.is_some() {
            let message = "--label is for a table, with --data";
            return Err(Failure::words("--label", message));
        }
        if self.label.is_none() {
            for (flag, given) in [
                ("--range", !self.range.is_empty()),
                ("--classes", self.classes.is_some()),
                ("--test-share", self.test_share.is_some()),
            ] {
                if given {
                    let message = format!("{flag} is for a table, with --label");
                    return Err(Failure::words(flag, message));
                }
            }
        }
        let of = |data: &Dataset, name: String| {
            let (train, test) = (data.train().len() as u64, data.test().len() as u64);
            format!(
                "{name}: {} examples to learn from, {} to be judged by",
                grouped(train),
                grouped(test)
            )
        };
        let Some(path) = &self.data else {
            let data = synthetic::blobs(7, DEMO.0, DEMO.1)?;
            let sentence = of(&data, "A synthetic set of soft blobs".into());
            return Ok((data, sentence));
        };
        let name = path.display().to_string();
        if let Some(label) = &self.label {
            let test_share = match &self.test_share {
                Some(text) => real("--test-share", text)?,
                None => 0.2,
            };
            let table = Table {
                path,
                label,
                ranges: &self.range,
                classes: self.classes.as_deref(),
                test_share,
            };
            let loaded = table.dataset()?;
            if loaded.classes_occur {
                notes.push(format!(
                    "The classes were taken from the file ({}): a real collection must know them beforehand (--classes).",
                    loaded.classes.join(", ")
                ));
            }
            notes.push("The rows to be judged by are not protected: accuracy is theirs.".into());
            let features = loaded.features.len() as u64;
            let sentence = format!(
                "{}, {} numbers each",
                of(&loaded.data, name),
                grouped(features)
            );
            return Ok((loaded.data, sentence));
        }
        if path.is_file() {
            let message =
                format!("--label, the column to be learnt, is needed for the table {name}");
            return Err(Failure::words("--label", message));
        }
        let data = match cifar_in(path) {
            true => cifar::read(path)?,
            false => idx::read(path)?,
        };
        let sentence = of(&data, name);
        Ok((data, sentence))
    }

    fn network(&self, data: &Dataset) -> Result<Model, Failure> {
        let (shape, classes) = (data.shape(), data.classes());
        let activation = match self.activation {
            super::ActivationName::Tanh => Activation::Tanh,
            super::ActivationName::Relu => Activation::Relu,
        };
        Ok(match self.model {
            ModelName::Logistic => Model::logistic(shape, classes)?,
            ModelName::Mlp => {
                let hidden = match &self.hidden {
                    Some(text) => whole("--hidden", text)? as usize,
                    None => 32,
                };
                Model::mlp(shape, hidden, activation, classes)?
            }
            ModelName::Cnn => Model::cnn_disjoint(shape, activation, classes)?,
            ModelName::CnnOverlapping => Model::cnn_overlapping(shape, activation, classes)?,
        })
    }

    fn recipe(&self, budget: bool) -> Result<Recipe, Failure> {
        let rounds = match (&self.rounds, self.demo && self.data.is_none(), budget) {
            (Some(text), ..) => whole("--rounds", text)?,
            (None, _, true) => MOST_ROUNDS,
            (None, ..) => ROUNDS,
        };
        let rate = match &self.rate {
            Some(text) => real("--rate", text)?,
            None => 0.1,
        };
        let rule = match self.optimizer {
            OptimizerName::Adam => Rule::Adam(0.9, 0.999),
            OptimizerName::Sgd => Rule::Momentum(match &self.momentum {
                Some(text) => real("--momentum", text)?,
                None => 0.9,
            }),
        };
        let radius = match &self.radius {
            Some(text) => Some(real("--radius", text)?),
            None => None,
        };
        Ok(Recipe {
            rounds,
            rate,
            schedule: match self.schedule {
                ScheduleName::Constant => Schedule::Constant,
                ScheduleName::Cosine => Schedule::Cosine,
                ScheduleName::Root => Schedule::Root,
            },
            rule,
            radius,
        })
    }

    fn device(&self, protection: Protection, d: usize, bound: f64) -> Result<Device, Failure> {
        let epsilon0 = || real("--epsilon0", self.epsilon0.as_deref().unwrap_or_default());
        Ok(match protection {
            Protection::R1 => Device::R1(R1::new(d, bound, epsilon0()?)?),
            Protection::R2 => Device::R2(R2::new(d, bound, epsilon0()?)?),
            Protection::RInf => Device::RInf(RInf::new(d, bound, epsilon0()?)?),
            Protection::PrivUnit => Device::PrivUnit(PrivUnit::new(d, bound, epsilon0()?)?),
            Protection::Laplace => Device::Laplace(LaplaceVector::new(d, bound, epsilon0()?)?),
            Protection::Gaussian => {
                let sigma = real("--sigma", self.sigma.as_deref().unwrap_or_default())?;
                Device::Gaussian(GaussianVector::new(d, bound, sigma)?)
            }
        })
    }

    /// Who takes part: the round that is charged.
    fn round(&self, mechanism: Mechanism, users: u64) -> Result<Round, Failure> {
        let needed = |flag: &'static str, what: &str| {
            let name = self.algorithm.name();
            Failure::words(
                flag,
                format!("{flag}, {what}, is needed for --algorithm {name}"),
            )
        };
        Ok(match self.algorithm {
            AlgorithmName::CheckIn => {
                let text = self.check_in.as_ref();
                let text = text.ok_or_else(|| {
                    needed("--check-in", "each user's probability of taking part")
                })?;
                Round::new(mechanism, users)?.check_in(real("--check-in", text)?)?
            }
            AlgorithmName::Blocks => {
                let text = self.blocks.as_ref();
                let text = text.ok_or_else(|| needed("--blocks", "how many there are"))?;
                let blocks = at_least_two("--blocks", text)?;
                Round::new(mechanism, blocks)?.adaptive_within_round()?
            }
            _ => {
                let round = Round::new(mechanism, users)?;
                match &self.sample {
                    Some(text) => round.sample(whole("--sample", text)?)?,
                    None => round,
                }
            }
        })
    }

    /// What is run, in a sentence.
    fn sentence(&self, setup: &Setup) -> Result<String, Failure> {
        let users = setup.data.train().len() as u64;
        let people = match (&self.sample, &self.check_in) {
            (Some(sample), _) => format!(
                "{} of {} users a round",
                grouped(whole("--sample", sample)?),
                grouped(users)
            ),
            (_, Some(rate)) => format!(
                "{} users, each taking part in a round with probability {}",
                grouped(users),
                plain(real("--check-in", rate)?)
            ),
            _ => format!("all of {} users every round", grouped(users)),
        };
        let bound = plain(setup.bound);
        let norm = match setup.norm {
            Norm::L1 => "l1 norm",
            Norm::L2 => "l2 norm",
            Norm::LInf => "coordinates of at most",
        };
        let noise = match (&self.epsilon0, &self.sigma) {
            (Some(epsilon0), _) => format!("epsilon0 = {}", plain(real("--epsilon0", epsilon0)?)),
            (_, Some(sigma)) => format!("sigma = {}", plain(real("--sigma", sigma)?)),
            _ => String::new(),
        };
        let device = format!(
            "gradients clipped to {norm} {bound}, {}, {noise}",
            self.protection().title()
        );
        let way = match self.fast {
            true => {
                "; reports are added where they are drawn, not shuffled: the sum has the same law (--fast)"
            }
            false => "",
        };
        Ok(match self.algorithm {
            AlgorithmName::CldpSgd => format!("CLDP-SGD: {people}, {device}{way}."),
            AlgorithmName::CheckIn => format!("Shuffled check-in SGD: {people}, {device}{way}."),
            AlgorithmName::Local => {
                format!("Local training: {people}, {device}, and no shuffler{way}.")
            }
            AlgorithmName::Blocks => {
                let text = self.blocks.as_deref().unwrap_or_default();
                let blocks = whole("--blocks", text)?;
                let size = plain((users as f64 / blocks.max(1) as f64 * 10.0).round() / 10.0);
                format!(
                    "Shuffled noisy SGD: {} blocks of {size} examples in a new order every epoch, {device}.\nTHE UNIT OF PRIVACY IS A BLOCK of {size} examples, not one example: a block is what hides among the others.",
                    grouped(blocks)
                )
            }
            AlgorithmName::Central => {
                let text = self.batches.as_deref().unwrap_or("100");
                format!(
                    "Central DP-SGD: a trusted server holds all {} records, {} batches an epoch, gradients clipped to l2 norm {bound}, Gaussian noise, {noise}.",
                    grouped(users),
                    grouped(whole("--batches", text)?)
                )
            }
            AlgorithmName::None => match setup.bound < UNBOUNDED {
                true => format!("No protection: {people}, gradients clipped to l2 norm {bound}."),
                false => format!("No protection: {people}, gradients as they are."),
            },
        })
    }

    /// Model and optimizer.
    fn learner(&self, setup: &Setup) -> String {
        let recipe = &setup.recipe;
        let rule = match recipe.rule {
            Rule::Momentum(beta) => format!("momentum {}", plain(beta)),
            Rule::Adam(..) => "Adam".to_owned(),
            rule => format!("{rule:?}"),
        };
        let schedule = match recipe.schedule {
            Schedule::Constant => "constant".to_owned(),
            Schedule::Cosine => "falling along a cosine".to_owned(),
            Schedule::Root => "falling as one over the root of the round".to_owned(),
            schedule => format!("{schedule:?}"),
        };
        let ball = recipe.radius.map_or(String::new(), |radius| {
            format!(", within {} of the start", plain(radius))
        });
        format!(
            "{}, {} parameters; {rule}, rate {}, {schedule}{ball}.",
            self.model.title(),
            grouped(setup.model.parameters() as u64),
            plain(recipe.rate),
        )
    }

    /// Where the randomness comes from.
    pub(super) fn key(&self) -> Result<Key, Failure> {
        match &self.seed {
            Some(text) => Ok(Key::simulated(whole("--seed", text)?)),
            None => Ok(Key::secret()?),
        }
    }
}

impl Setup {
    /// The way of learning.
    pub(super) fn algorithm<'a>(
        &'a self,
        words: &TrainWords,
    ) -> Result<Box<dyn Algorithm + 'a>, Failure> {
        let gradients = Gradients {
            model: &self.model,
            examples: self.data.train(),
            norm: self.norm,
            bound: self.bound,
        };
        let users = self.data.train().len() as u64;
        let Some(device) = &self.device else {
            return Ok(match words.algorithm {
                AlgorithmName::Central => {
                    let text = words.batches.as_deref().unwrap_or("100");
                    let batches = at_least_two("--batches", text)?;
                    let sigma = real("--sigma", words.sigma.as_deref().unwrap_or_default())?;
                    Box::new(CentralSgd::new(gradients, batches, sigma)?)
                }
                _ => {
                    let batch = match &words.sample {
                        Some(text) => whole("--sample", text)?,
                        None => users,
                    };
                    Box::new(PlainSgd::new(gradients, batch)?)
                }
            });
        };
        let round = words.round(device.mechanism(), users)?;
        let way = if words.fast { Way::Fast } else { Way::Shuffled };
        let charge = match words.algorithm {
            AlgorithmName::Local => Charge::Local(round.clone()),
            _ => Charge::Shuffled(round.clone()),
        };
        Ok(of_device!(device, randomizer => match words.algorithm {
            AlgorithmName::Blocks => Box::new(BlocksSgd::new(gradients, randomizer, round)?) as Box<dyn Algorithm>,
            _ => Box::new(ShuffledSgd::new(gradients, randomizer, charge, way)?),
        }))
    }
}

/// As many as are needed for one to hide among.
fn at_least_two(flag: &'static str, text: &str) -> Result<u64, Failure> {
    match whole(flag, text)? {
        0 | 1 => Err(Failure::value(flag, text, "2 or more")),
        many => Ok(many),
    }
}

/// Whether a folder has CIFAR-10 in it.
fn cifar_in(folder: &Path) -> bool {
    folder.join("data_batch_1.bin").exists()
}
