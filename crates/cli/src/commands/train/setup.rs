//! What the words of a training run stand for: data, model, devices, who takes part, and how to learn.

use super::table::Table;
use super::{AlgorithmName, Features, ModelName, OptimizerName, ScheduleName, TrainWords};
use crate::failure::Failure;
use crate::number::{Count, Real};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use shuffledp::learning::data::{cifar, idx, synthetic};
use shuffledp::learning::{
    Activation, Algorithm, BlocksSgd, CentralSgd, Charge, Dataset, Gradients, Key, Model, Norm,
    PlainSgd, Recipe, Rule, Schedule, ShuffledSgd, Way, oriented_gradients,
};
use shuffledp::randomizers::{Device, Randomizer as _, VectorDevice};
use shuffledp::{
    Delta, Domain, Epsilon, Input, Mechanism, Parameter, RandomizerSpec, Relation, Round, catalog,
    grouped, plain,
};
use std::path::Path;

/// Examples of the demonstration: to learn from, to be judged by.
const DEMO: (usize, usize) = (20_000, 2_000);
/// Rounds where neither they nor a budget are given, and where only a budget is.
const ROUNDS: u64 = 100;
const MOST_ROUNDS: u64 = 10_000;
/// Batches of an epoch of central training, where nobody says.
const BATCHES: u64 = 100;
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
    pub(super) device: Option<VectorDevice>,
    norm: Norm,
    bound: f64,
    /// Sentences that say what is run.
    pub(super) about: Vec<String>,
    /// What a reader must know beyond that.
    pub(super) notes: Vec<String>,
    /// The change that a guarantee is about, where the unit is not one user's value.
    unit: Option<&'static str>,
}

/// The names of the randomizers that can run on vectors, with their titles.
pub(super) fn randomizers_of_vectors() -> impl TypedValueParser<Value = String> {
    let of_vectors = catalog().filter(|entry| {
        let vector = matches!(entry.input(), Input::Vector(_));
        Device::exists(entry.name()) && (vector || entry.takes().contains(&Parameter::Domain))
    });
    PossibleValuesParser::new(
        of_vectors.map(|entry| PossibleValue::new(entry.name()).help(entry.title())),
    )
}

impl TrainWords {
    /// Everything that can be refused before the first round is.
    pub(super) fn setup(&self) -> Result<Setup, Failure> {
        self.refuse_strangers()?;
        let mut notes = Vec::new();
        let (data, mut about) = self.dataset(&mut notes)?;
        if data.train().len() < 2 {
            let message = "--data: one example to learn from is nobody to hide among";
            return Err(Failure::flag("--data", message));
        }
        let model = self.network(&data)?;
        let delta = Delta::new(self.delta.0)?;
        let target = match &self.target_epsilon {
            Some(target) => {
                let epsilon = Epsilon::new(target.0)
                    .map_err(|_| Failure::value("--target-epsilon", target, "in [0, inf)"))?;
                Some(epsilon)
            }
            None => None,
        };
        let recipe = self.recipe(target.is_some())?;
        let bound = match (self.clip, self.algorithm) {
            (None, AlgorithmName::None) => UNBOUNDED,
            (None, _) => 1.0,
            (Some(Real(clip)), _) => clip,
        };
        if !(1e-30..=UNBOUNDED).contains(&bound) {
            return Err(Failure::value("--clip", Real(bound), "in [1e-30, 1e30]"));
        }
        let (mut norm, mut device) = (Norm::L2, None);
        if !matches!(self.algorithm, AlgorithmName::Central | AlgorithmName::None) {
            let spec = self.randomizer(model.parameters())?;
            if let (Input::Vector(own), Device::Vector(made)) =
                (spec.input(), Device::new(&spec, bound)?)
            {
                (norm, device) = (own.into(), Some(made));
            }
        }
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
            unit: match self.algorithm {
                AlgorithmName::Blocks => Some("a whole block is replaced"),
                AlgorithmName::Local => {
                    Some("the value of a user who is called every round is replaced")
                }
                _ => None,
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
            return Err(Failure::flag("--data", message));
        }
        let name = self.algorithm.name();
        let not_for = |flag: &'static str| {
            Failure::flag(flag, format!("{flag} is not for --algorithm {name}"))
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
        let needs_epsilon0 = self.needs_epsilon0();
        let (epsilon0, sigma) = match self.algorithm {
            Plain => (false, false),
            Central => (false, true),
            _ => (needs_epsilon0, !needs_epsilon0),
        };
        let of = match self.algorithm {
            Plain | Central => format!("--algorithm {name}"),
            _ => format!("--randomizer {}", self.randomizer_name()),
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
                return Err(Failure::flag(flag, format!("{flag} is not for {of}")));
            }
            if wanted && !given {
                return Err(Failure::flag(
                    flag,
                    format!("{flag}, {what}, is needed for {of}"),
                ));
            }
        }
        if self.momentum.is_some() && self.optimizer == OptimizerName::Adam {
            let message = "--momentum is not for --optimizer adam";
            return Err(Failure::flag("--momentum", message));
        }
        if self.hidden.is_some() && self.model != ModelName::Mlp {
            return Err(Failure::flag("--hidden", "--hidden is for --model mlp"));
        }
        Ok(())
    }

    /// The randomizer that protects a gradient, by name.
    fn randomizer_name(&self) -> &str {
        match (&self.randomizer, self.algorithm) {
            (Some(name), _) => name,
            (None, AlgorithmName::Blocks) => "laplace",
            (None, _) => "r-2",
        }
    }

    /// Whether its noise is said by a local guarantee.
    pub(super) fn needs_epsilon0(&self) -> bool {
        let spec = RandomizerSpec::new(self.randomizer_name());
        spec.is_ok_and(|spec| spec.entry().needs().contains(&Parameter::Epsilon0))
    }

    /// The randomizer of gradients with so many coordinates.
    fn randomizer(&self, dimension: usize) -> Result<RandomizerSpec, Failure> {
        let mut spec = RandomizerSpec::new(self.randomizer_name())?;
        spec.epsilon0 = self.epsilon0.map(|number| number.0);
        spec.sigma = self.sigma.map(|number| number.0);
        spec.dimension = Some(dimension as u64);
        if spec.entry().takes().contains(&Parameter::Domain) {
            spec.domain = Some(Domain::Ball);
        }
        Ok(spec)
    }

    /// The examples as the model sees them, and a sentence on them.
    fn dataset(&self, notes: &mut Vec<String>) -> Result<(Dataset, Vec<String>), Failure> {
        let (mut data, mut sentence) = self.source(notes)?;
        if let Some(Real(share)) = self.validation {
            data = data.validation(share)?;
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
            return Err(Failure::flag("--label", message));
        }
        if self.label.is_none() {
            for (flag, given) in [
                ("--range", !self.range.is_empty()),
                ("--classes", self.classes.is_some()),
                ("--test-share", self.test_share.is_some()),
            ] {
                if given {
                    let message = format!("{flag} is for a table, with --label");
                    return Err(Failure::flag(flag, message));
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
            let test_share = self.test_share.map_or(0.2, |share| share.0);
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
            return Err(Failure::flag("--label", message));
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
                let hidden = self.hidden.map_or(32, |hidden| hidden.0 as usize);
                Model::mlp(shape, hidden, activation, classes)?
            }
            ModelName::Cnn => Model::cnn_disjoint(shape, activation, classes)?,
            ModelName::CnnOverlapping => Model::cnn_overlapping(shape, activation, classes)?,
        })
    }

    fn recipe(&self, budget: bool) -> Result<Recipe, Failure> {
        let rounds = match (self.rounds, budget) {
            (Some(Count(rounds)), _) => rounds,
            (None, true) => MOST_ROUNDS,
            (None, false) => ROUNDS,
        };
        let rate = self.rate.map_or(0.1, |rate| rate.0);
        let rule = match self.optimizer {
            OptimizerName::Adam => Rule::Adam(0.9, 0.999),
            OptimizerName::Sgd => Rule::Momentum(self.momentum.map_or(0.9, |beta| beta.0)),
        };
        let radius = self.radius.map(|radius| radius.0);
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

    /// Who takes part: the round that is charged.
    fn round(&self, mechanism: Mechanism, users: u64) -> Result<Round, Failure> {
        let needed = |flag: &'static str, what: &str| {
            let name = self.algorithm.name();
            Failure::flag(
                flag,
                format!("{flag}, {what}, is needed for --algorithm {name}"),
            )
        };
        Ok(match self.algorithm {
            AlgorithmName::CheckIn => {
                let Some(Real(rate)) = self.check_in else {
                    let what = "each user's probability of taking part";
                    return Err(needed("--check-in", what));
                };
                Round::new(mechanism, users)?.check_in(rate)?
            }
            AlgorithmName::Blocks => {
                let Some(blocks) = self.blocks else {
                    return Err(needed("--blocks", "how many there are"));
                };
                let blocks = at_least_two("--blocks", blocks)?;
                Round::new(mechanism, blocks)?.adaptive_within_round()?
            }
            _ => {
                let round = Round::new(mechanism, users)?;
                match self.sample {
                    Some(Count(size)) => round.sample(size)?,
                    None => round,
                }
            }
        })
    }

    /// What is run, in a sentence.
    fn sentence(&self, setup: &Setup) -> Result<String, Failure> {
        let users = setup.data.train().len() as u64;
        let people = match (self.sample, self.check_in) {
            (Some(Count(sample)), _) => {
                format!("{} of {} users a round", grouped(sample), grouped(users))
            }
            (_, Some(rate)) => format!(
                "{} users, each taking part in a round with probability {rate}",
                grouped(users),
            ),
            _ => format!("all of {} users every round", grouped(users)),
        };
        let bound = plain(setup.bound);
        let norm = match setup.norm {
            Norm::L1 => "l1 norm",
            Norm::L2 => "l2 norm",
            Norm::LInf => "coordinates of at most",
        };
        let noise = match (self.epsilon0, self.sigma) {
            (Some(epsilon0), _) => format!("epsilon0 = {epsilon0}"),
            (_, Some(sigma)) => format!("sigma = {sigma}"),
            _ => String::new(),
        };
        // The catalog speaks of vectors of norm 1, and these have been clipped to the bound.
        let phrase = self.randomizer(1)?.phrase();
        let title = phrase.split(" on ").next().unwrap_or_default();
        let device = format!("gradients clipped to {norm} {bound}, {title}, {noise}");
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
                let blocks = self.blocks.map_or(1, |blocks| blocks.0);
                let size = plain((users as f64 / blocks.max(1) as f64 * 10.0).round() / 10.0);
                format!(
                    "Shuffled noisy SGD: {} blocks of {size} examples in a new order every epoch, {device}.\nTHE UNIT OF PRIVACY IS A BLOCK of {size} examples, not one example: a block is what hides among the others.",
                    grouped(blocks)
                )
            }
            AlgorithmName::Central => {
                format!(
                    "Central DP-SGD: a trusted server holds all {} records, {} batches an epoch, gradients clipped \
                     to l2 norm {bound}, Gaussian noise, {noise}.",
                    grouped(users),
                    grouped(self.batches.map_or(BATCHES, |batches| batches.0))
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
        match self.seed {
            Some(Count(seed)) => Ok(Key::simulated(seed)),
            None => Ok(Key::secret()?),
        }
    }
}

impl Setup {
    /// The change that a guarantee is about.
    pub(super) fn change(&self, relation: Relation) -> String {
        self.unit
            .map_or_else(|| relation.to_string(), str::to_owned)
    }

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
                    let batches = words.batches.unwrap_or(Count(BATCHES));
                    let batches = at_least_two("--batches", batches)?;
                    // Its absence was refused before.
                    let sigma = words.sigma.map_or(f64::NAN, |sigma| sigma.0);
                    Box::new(CentralSgd::new(gradients, batches, sigma)?)
                }
                _ => {
                    let batch = words.sample.map_or(users, |sample| sample.0);
                    Box::new(PlainSgd::new(gradients, batch)?)
                }
            });
        };
        let round = words.round(device.mechanism().clone(), users)?;
        let way = if words.fast { Way::Fast } else { Way::Shuffled };
        let charge = match words.algorithm {
            AlgorithmName::Local => Charge::Local(round.clone()),
            _ => Charge::Shuffled(round.clone()),
        };
        Ok(match words.algorithm {
            AlgorithmName::Blocks => Box::new(BlocksSgd::new(gradients, device, round)?),
            _ => Box::new(ShuffledSgd::new(gradients, device, charge, way)?),
        })
    }
}

/// As many as are needed for one to hide among.
fn at_least_two(flag: &'static str, many: Count) -> Result<u64, Failure> {
    match many.0 {
        0 | 1 => Err(Failure::value(flag, many, "2 or more")),
        many => Ok(many),
    }
}

/// Whether a folder has CIFAR-10 in it.
fn cifar_in(folder: &Path) -> bool {
    folder.join("data_batch_1.bin").exists()
}
