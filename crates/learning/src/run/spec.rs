//! The description of a run in plain values: parsed from flags, a form or JSON, and not yet checked.
//!
//! [`Setup::new`](super::Setup::new) checks it. A field that is `None` gets its default there.

use super::choices::{AlgorithmKind, Choice, FeatureKind, ModelKind, OptimizerKind, ScheduleKind};
use super::selection::{AUTO, REPORTS};
use super::trained::Names;
use crate::data::{Dataset, cifar, idx, synthetic};
use crate::error::Error;
use crate::models::Activation;
use crate::optimizer::{RateStep, Schedule};
use serde::{Deserialize, Serialize};
use shuffledp_accounting::{
    Domain, Entry, Input, Parameter, PerUser, RandomizerSpec, catalog, grouped, plain,
};
use shuffledp_randomizers::Device;
use std::path::{Path, PathBuf};

/// Training and test examples of the demonstration.
const DEMO: (usize, usize) = (20_000, 2_000);

/// What is learnt from what, by whom and how: everything that a run depends on.
///
/// ```
/// use shuffledp_learning::run::{RunSpec, Source};
/// let spec: RunSpec = serde_json::from_str(r#"{"data": "demo", "epsilon0": 2, "rounds": 5}"#)?;
/// assert_eq!(spec.data, Some(Source::Demo));
/// assert_eq!(spec.delta, 1e-5);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSpec {
    /// Where the examples come from.
    pub data: Option<Source>,
    /// The share of the training examples that is held out and judged by, instead of the test examples.
    pub validation: Option<f64>,
    /// The numbers that the model sees. Default: oriented gradients for logistic regression on pictures, else
    /// plain.
    pub features: Option<FeatureKind>,
    /// What is trained.
    pub model: ModelKind,
    /// Numbers in the hidden layer of an MLP. Default: 32.
    pub hidden: Option<u64>,
    /// The activation after a hidden layer.
    pub activation: Activation,
    /// How users are asked, and whom they trust.
    pub algorithm: AlgorithmKind,
    /// The randomizer of gradients by its name in the catalog, or [`AUTO`] for the best one. Default: `r-2`;
    /// `laplace` for blocks.
    pub randomizer: Option<String>,
    /// How many reports may be computed in all, where the randomizer is chosen.
    pub reports: Option<u64>,
    /// The largest ε₀ that users agree to, where the randomizer is chosen.
    pub max_epsilon0: Option<f64>,
    /// The local guarantee ε₀ of one report.
    pub epsilon0: Option<f64>,
    /// Gaussian noise σ in units of `clip`; of a secure sum, the noise of one share.
    pub sigma: Option<f64>,
    /// The probability of a report that does not depend on the gradient, for `mixed-gaussian`.
    pub blanket: Option<f64>,
    /// The norm C that gradients are clipped to. Default: 1; no clipping without protection.
    pub clip: Option<f64>,
    /// Users sampled each round. Default: all.
    pub sample: Option<u64>,
    /// The probability that a user takes part in a round, or the range that everybody's own lies in.
    pub check_in: Option<PerUser>,
    /// Training examples of one user, one after the other in the data; not for tables, which say whose a row
    /// is ([`TableSpec::user`]). Default: 1.
    pub per_user: Option<u64>,
    /// The fraction of the users who may show the analyzer their reports: they hide nobody. Default: 0.
    pub colluding: Option<f64>,
    /// The number of blocks.
    pub blocks: Option<u64>,
    /// Batches of an epoch of central training. Default: 100.
    pub batches: Option<u64>,
    /// Steps of a secure sum's grid to `clip`. Default: as many as sums modulo 2³² have room for, at most
    /// 2¹⁴.
    pub levels: Option<u64>,
    /// The probability that a participant drops out: its report is lost. Default: 0.
    pub dropout: Option<f64>,
    /// The fraction of a secure sum's participants whose shares must arrive. Default: 1 − 2·`dropout`.
    pub quorum: Option<f64>,
    /// Reports are added where they are drawn instead of being shuffled or masked.
    pub fast: bool,
    /// Rounds; epochs for blocks and central training. Default: 100, or as many as `target_epsilon` allows.
    pub rounds: Option<u64>,
    /// The learning rate of the first round. Default: 0.1.
    pub rate: Option<f64>,
    /// How the rate changes.
    pub schedule: ScheduleKind,
    /// The rates from some rounds on, for the schedule `steps`.
    pub steps: Option<Vec<RateStep>>,
    /// How the server steps along a mean gradient.
    pub optimizer: OptimizerKind,
    /// The momentum of SGD. Default: 0.9.
    pub momentum: Option<f64>,
    /// The parameters stay within this distance of the start.
    pub radius: Option<f64>,
    /// Training stops before the round that would take the certified ε above this.
    pub target_epsilon: Option<f64>,
    /// The central δ.
    pub delta: f64,
    /// Rounds between two looks at accuracy and ε. Default: a twentieth of all.
    pub every: Option<u64>,
    /// A seed makes the run a simulation that protects nobody. Default: the operating system's randomness.
    pub seed: Option<u64>,
    /// The seed of a network's initial parameters, which are public. Default: `seed`; where there is none,
    /// one that is drawn for the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            data: None,
            validation: None,
            features: None,
            model: ModelKind::default(),
            hidden: None,
            activation: Activation::Tanh,
            algorithm: AlgorithmKind::default(),
            randomizer: None,
            reports: None,
            max_epsilon0: None,
            epsilon0: None,
            sigma: None,
            blanket: None,
            clip: None,
            sample: None,
            check_in: None,
            per_user: None,
            colluding: None,
            blocks: None,
            batches: None,
            levels: None,
            dropout: None,
            quorum: None,
            fast: false,
            rounds: None,
            rate: None,
            schedule: ScheduleKind::default(),
            steps: None,
            optimizer: OptimizerKind::default(),
            momentum: None,
            radius: None,
            target_epsilon: None,
            delta: 1e-5,
            every: None,
            seed: None,
            start: None,
        }
    }
}

/// Where examples come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Source {
    /// A synthetic set of pictures.
    Demo,
    /// A folder with the files of MNIST, Fashion-MNIST or CIFAR-10.
    Folder(PathBuf),
    /// A table, one row a user. This crate does not read tables: the caller brings the [`Data`].
    Table(TableSpec),
}

/// A table as it is learnt from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// The file.
    pub path: PathBuf,
    /// The column to be learnt.
    pub label: String,
    /// The column that says whose row it is: a user may have several. Every row is a user's own where there
    /// is none.
    #[serde(default)]
    pub user: Option<String>,
    /// The column with each user's own probability of taking part in a round.
    #[serde(default)]
    pub rates: Option<String>,
    /// The columns to learn from; every column without another use where none are given. They are numbers,
    /// but for those of `categories`.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// The columns of categories, each with all values that there may be.
    #[serde(default)]
    pub categories: Vec<CategoryColumn>,
    /// The columns whose cells may be empty, each with the value that stands in.
    #[serde(default)]
    pub missing: Vec<StandIn>,
    /// The public ranges of the numbers; 0 to 1 where none is given.
    #[serde(default)]
    pub ranges: Vec<ColumnRange>,
    /// The classes, known beforehand; without them, those that occur are taken.
    #[serde(default)]
    pub classes: Option<Vec<String>>,
    /// The share of the rows that is kept for testing.
    #[serde(default = "a_fifth")]
    pub test_share: f64,
}

impl TableSpec {
    /// A table of users with one row each, all columns but the label numbers in 0..1, a fifth of the rows
    /// kept for testing.
    pub fn new(path: impl Into<PathBuf>, label: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            label: label.into(),
            user: None,
            rates: None,
            columns: None,
            categories: Vec::new(),
            missing: Vec::new(),
            ranges: Vec::new(),
            classes: None,
            test_share: a_fifth(),
        }
    }
}

fn a_fifth() -> f64 {
    0.2
}

/// A column of categories: a number for each value, 1 for that of a row and 0 for the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryColumn {
    /// The column.
    pub column: String,
    /// All values that there may be, in the order of their numbers; known beforehand.
    pub values: Vec<String>,
}

/// The value that stands in for an empty cell of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandIn {
    /// The column.
    pub column: String,
    /// A number of its range, or one of its values.
    pub value: String,
}

/// The public range of a column of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnRange {
    /// The column; none for every column without a range of its own.
    #[serde(default)]
    pub column: Option<String>,
    /// The lower end.
    pub low: f64,
    /// The higher end.
    pub high: f64,
}

/// Examples with a sentence on them.
#[derive(Clone, Debug)]
pub struct Data {
    /// The examples.
    pub dataset: Dataset,
    /// The meaning of their numbers.
    pub names: Names,
    /// What they are, as the beginning of a sentence.
    pub about: String,
    /// What a reader must know beyond that.
    pub notes: Vec<String>,
}

impl Data {
    /// Examples of this name.
    pub fn new(dataset: Dataset, name: &str) -> Self {
        let (train, test) = (dataset.train().len() as u64, dataset.test().len() as u64);
        let about = format!(
            "{name}: {} examples to learn from, {} to be judged by",
            grouped(train),
            grouped(test)
        );
        Self {
            names: Names::numbered(dataset.classes()),
            dataset,
            about,
            notes: Vec::new(),
        }
    }
}

impl Source {
    /// Reads the examples; those of a table are read by the caller.
    pub fn read(&self) -> Result<Data, Error> {
        match self {
            Self::Demo => {
                let dataset = synthetic::blobs(7, DEMO.0, DEMO.1)?;
                Ok(Data::new(dataset, "A synthetic set of soft blobs"))
            }
            Self::Folder(path) => {
                let dataset = match has_cifar(path) {
                    true => cifar::read(path)?,
                    false => idx::read(path)?,
                };
                Ok(Data::new(dataset, &path.display().to_string()))
            }
            Self::Table(table) => Err(Error::TableNotRead {
                path: table.path.clone(),
            }),
        }
    }
}

/// The randomizers that can protect a gradient.
///
/// ```
/// use shuffledp_learning::run::randomizers;
/// assert!(randomizers().any(|entry| entry.name() == "r-2"));
/// assert!(!randomizers().any(|entry| entry.name() == "krr"));
/// ```
pub fn randomizers() -> impl Iterator<Item = &'static Entry> {
    catalog().filter(|entry| {
        let of_vectors = matches!(entry.input(), Input::Vector(_));
        Device::exists(entry.name()) && (of_vectors || entry.takes().contains(&Parameter::Domain))
    })
}

/// Whether a folder has CIFAR-10 in it.
fn has_cifar(folder: &Path) -> bool {
    folder.join("data_batch_1.bin").exists()
}

impl RunSpec {
    /// With the numbers of the demonstration where it is run and nothing is said.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        if self.data != Some(Source::Demo) {
            return self;
        }
        if self.algorithm.has_devices() && self.randomizer_needs(Parameter::Epsilon0) {
            self.epsilon0.get_or_insert(3.0);
        }
        match self.algorithm {
            _ if self.is_chosen() => {}
            AlgorithmKind::CldpSgd | AlgorithmKind::Local | AlgorithmKind::None => {
                self.sample.get_or_insert(4000);
            }
            AlgorithmKind::CheckIn => {
                self.check_in.get_or_insert(PerUser::One(0.2));
            }
            AlgorithmKind::SecureSum => {
                self.sigma.get_or_insert(1.0);
                if self.sample.is_none() {
                    self.check_in.get_or_insert(PerUser::One(0.2));
                }
            }
            AlgorithmKind::Blocks => {
                self.blocks.get_or_insert(100);
            }
            AlgorithmKind::Central => {
                self.sigma.get_or_insert(10.0);
            }
        }
        if self.target_epsilon.is_none() {
            self.rounds.get_or_insert(60);
        }
        self.rate.get_or_insert(0.3);
        self.features.get_or_insert(FeatureKind::Plain);
        self
    }

    /// The randomizer that protects a gradient, by name.
    pub(super) fn randomizer_name(&self) -> &str {
        match (&self.randomizer, self.algorithm) {
            (Some(name), _) => name,
            (None, AlgorithmKind::Blocks) => "laplace",
            (None, _) => "r-2",
        }
    }

    /// Whether the best randomizer is wanted.
    pub(super) fn is_chosen(&self) -> bool {
        self.randomizer.as_deref() == Some(AUTO)
    }

    /// Refuses what the choice of a randomizer decides, and the lack of what it needs.
    fn check_choice(&self) -> Result<(), Error> {
        if !self.is_chosen() {
            let of = ("randomizer", self.randomizer_name());
            return match (self.reports, self.max_epsilon0) {
                (Some(_), _) => Err(Error::surplus("reports", of)),
                (_, Some(_)) => Err(Error::surplus("max_epsilon0", of)),
                _ => Ok(()),
            };
        }
        let auto = ("randomizer", AUTO);
        if self.algorithm != AlgorithmKind::CldpSgd {
            return Err(Error::surplus("algorithm", auto));
        }
        for (parameter, given) in [
            ("epsilon0", self.epsilon0.is_some()),
            ("sigma", self.sigma.is_some()),
            ("blanket", self.blanket.is_some()),
            ("sample", self.sample.is_some()),
        ] {
            if given {
                return Err(Error::surplus(parameter, auto));
            }
        }
        if self.target_epsilon.is_none() {
            return Err(Error::needed("target_epsilon", "the budget", auto));
        }
        if self.reports.is_none() {
            return Err(Error::needed("reports", REPORTS, auto));
        }
        match self.max_epsilon0 {
            Some(most) if most.is_nan() || most <= 0.0 => {
                Err(Error::parameter("max_epsilon0", plain(most), "(0, inf)"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the randomizer has this parameter.
    fn randomizer_needs(&self, parameter: Parameter) -> bool {
        let spec = RandomizerSpec::new(self.randomizer_name());
        spec.is_ok_and(|spec| spec.entry().needs().contains(&parameter))
    }

    /// The randomizer of gradients with so many coordinates.
    pub(super) fn randomizer(&self, dimension: usize) -> Result<RandomizerSpec, Error> {
        let mut spec = RandomizerSpec::new(self.randomizer_name())?;
        spec.epsilon0 = self.epsilon0.map(Into::into);
        spec.sigma = self.sigma;
        spec.blanket = self.blanket;
        spec.dimension = Some(dimension as u64);
        if spec.entry().takes().contains(&Parameter::Domain) {
            spec.domain = Some(Domain::Ball);
        }
        Ok(spec)
    }

    /// Refuses a field that means nothing to this algorithm, optimizer or model, and the lack of one that is
    /// needed. [`Setup::new`](super::Setup::new) does so first; a caller who reads data may do so before.
    pub fn check(&self) -> Result<(), Error> {
        use AlgorithmKind::{Blocks, Central, CheckIn, CldpSgd, Local, None as Plain, SecureSum};
        let of = |names: &[AlgorithmKind]| names.contains(&self.algorithm);
        let has_devices = self.algorithm.has_devices();
        let algorithm = ("algorithm", self.algorithm.name());
        for (parameter, given, allowed) in [
            (
                "sample",
                self.sample.is_some(),
                of(&[CldpSgd, SecureSum, Local, Plain]),
            ),
            (
                "check_in",
                self.check_in.is_some(),
                of(&[CheckIn, SecureSum]),
            ),
            ("levels", self.levels.is_some(), of(&[SecureSum])),
            (
                "dropout",
                self.dropout.is_some(),
                of(&[CldpSgd, CheckIn, SecureSum]),
            ),
            ("per_user", self.per_user.is_some(), !of(&[Blocks, Central])),
            (
                "colluding",
                self.colluding.is_some(),
                of(&[CldpSgd, CheckIn]),
            ),
            ("quorum", self.quorum.is_some(), of(&[SecureSum])),
            ("blocks", self.blocks.is_some(), of(&[Blocks])),
            ("batches", self.batches.is_some(), of(&[Central])),
            ("randomizer", self.randomizer.is_some(), has_devices),
            (
                "target_epsilon",
                self.target_epsilon.is_some(),
                !of(&[Plain]),
            ),
            ("fast", self.fast, of(&[CldpSgd, CheckIn, SecureSum, Local])),
        ] {
            if given && !allowed {
                return Err(Error::surplus(parameter, algorithm));
            }
        }
        if let (Some(Source::Table(table)), Some(_)) = (&self.data, self.per_user) {
            // Rows in a row may be of different people; the table says whose they are.
            let of = ("data", table.path.display().to_string());
            return Err(Error::surplus("per_user", (of.0, &of.1)));
        }
        if let Some(Source::Table(table)) = &self.data
            && let Some(rates) = &table.rates
            && !matches!(self.check_in, Some(PerUser::Range(_)))
        {
            let meaning = "the range that everybody's own rate lies in";
            return Err(Error::needed("check_in", meaning, ("rates", rates)));
        }
        if let Some(dropout) = self.dropout
            && !(0.0..1.0).contains(&dropout)
        {
            return Err(Error::parameter("dropout", plain(dropout), "[0, 1)"));
        }
        if let (Some(size), Some(_)) = (self.sample, self.check_in) {
            let size = size.to_string();
            return Err(Error::surplus("check_in", ("sample", &size)));
        }
        self.check_choice()?;
        let needs_epsilon0 = self.is_chosen() || self.randomizer_needs(Parameter::Epsilon0);
        let of_blanket = has_devices && self.randomizer_needs(Parameter::Blanket);
        let (of_epsilon0, of_sigma) = match self.algorithm {
            Plain => (false, false),
            SecureSum | Central => (false, true),
            _ => (needs_epsilon0, !needs_epsilon0),
        };
        let noise_of = match has_devices {
            false => algorithm,
            true => ("randomizer", self.randomizer_name()),
        };
        for (parameter, given, wanted, meaning) in [
            (
                "epsilon0",
                self.epsilon0.is_some(),
                of_epsilon0,
                "the local guarantee",
            ),
            (
                "sigma",
                self.sigma.is_some(),
                of_sigma,
                "the noise in units of the clipping norm",
            ),
            (
                "blanket",
                self.blanket.is_some(),
                of_blanket,
                "the probability of a report that does not depend on the gradient",
            ),
        ] {
            if given && !wanted {
                return Err(Error::surplus(parameter, noise_of));
            }
            if wanted && !given && !self.is_chosen() {
                return Err(Error::needed(parameter, meaning, noise_of));
            }
        }
        for (parameter, missing, meaning) in [
            (
                "check_in",
                of(&[CheckIn]) && self.check_in.is_none(),
                "each user's probability of taking part",
            ),
            (
                "blocks",
                of(&[Blocks]) && self.blocks.is_none(),
                "the number of blocks",
            ),
        ] {
            if missing {
                return Err(Error::needed(parameter, meaning, algorithm));
            }
        }
        if self.momentum.is_some() && self.optimizer == OptimizerKind::Adam {
            let optimizer = ("optimizer", self.optimizer.name());
            return Err(Error::surplus("momentum", optimizer));
        }
        let schedule = ("schedule", self.schedule.name());
        match (self.schedule == ScheduleKind::Steps, self.steps.is_some()) {
            (true, false) => {
                let meaning = "rounds and the rates from them on";
                return Err(Error::needed("steps", meaning, schedule));
            }
            (false, true) => return Err(Error::surplus("steps", schedule)),
            _ => {}
        }
        if let Some(steps) = &self.steps {
            Schedule::Steps(steps.clone()).check()?;
        }
        if self.hidden.is_some() && self.model != ModelKind::Mlp {
            return Err(Error::surplus("hidden", ("model", self.model.name())));
        }
        Ok(())
    }
}
