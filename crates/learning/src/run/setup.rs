//! A described run, checked: data, model, devices, participation and recipe. Everything that can be refused
//! before the first round is refused here.

use super::choices::{
    AlgorithmKind, Choice as _, FeatureKind, ModelKind, OptimizerKind, ScheduleKind,
};
use super::selection::Selection;
use super::spec::{Data, RunSpec};
use super::trained::{Architecture, Names};
use crate::algorithm::{Algorithm, Key};
use crate::blocks::BlocksSgd;
use crate::central::CentralSgd;
use crate::charge::Charge;
use crate::clip::Norm;
use crate::data::{Dataset, Examples};
use crate::error::Error;
use crate::gradients::Gradients;
use crate::models::Model;
use crate::optimizer::{Rule, Schedule};
use crate::plain::PlainSgd;
use crate::secure_sum_sgd::{SecureSumSgd, Sharing};
use crate::shuffled_sgd::{ShuffledSgd, Way};
use crate::training::Recipe;
use serde::{Deserialize, Serialize};
use shuffledp_accounting::{
    Delta, Epsilon, Input, Mechanism, PerUser, Rate, Relation, Round, grouped, plain,
};
use shuffledp_randomizers::{
    Device, Random as _, Randomizer as _, Secure, Simulated, VectorDevice, below,
};

/// Rounds where neither they nor a budget are given.
const ROUNDS: u64 = 100;
/// Rounds where only a budget is given: a limit on the time of a run.
const MOST_ROUNDS: u64 = 10_000;
/// Batches of an epoch of central training where none are given.
const BATCHES: u64 = 100;
/// A clipping norm that no finite gradient of a model reaches: stands for no clipping.
const UNBOUNDED: f64 = 1e30;
/// What a reader of a secure sum's guarantee must know.
const SUM_TRUST: &str = "Trusted: the server that adds the shares keeps to the protocol, and tells the \
    analyzer nothing but the sum, how many took part and how many shares arrived; participants add their \
    noise, keep it to themselves (those who collude with the analyzer take theirs off the sum, and epsilon \
    counts none who do), and drop out no matter who they are.";

/// The seed of simulated rates of taking part, which are public.
const RATES_SEED: u64 = 2;
/// What a reader of a run at simulated rates must know.
const RATES: &str = "The users' own probabilities of taking part were drawn evenly from the range, by a \
    fixed seed. The guarantee holds for all in that range.";

/// Whose data a guarantee protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Unit {
    /// One user's example.
    User,
    /// All examples of one user together.
    UserWithAllExamples,
    /// The example of a user who sends a report in every round.
    UserOfEveryRound,
    /// All examples of one block together.
    Block,
    /// One record that a trusted server holds.
    Record,
    /// Nobody's.
    Nothing,
}

impl Unit {
    /// The change of the data that a guarantee is about, as in "private when …".
    pub fn change(self, relation: Relation) -> String {
        match self {
            Self::Block => "a whole block is replaced".to_owned(),
            Self::UserWithAllExamples => "all examples of one user are replaced".to_owned(),
            Self::UserOfEveryRound => {
                "the value of a user who is called every round is replaced".to_owned()
            }
            Self::User | Self::Record | Self::Nothing => relation.to_string(),
        }
    }
}

/// A run that was checked and has not begun.
///
/// ```
/// use shuffledp_learning::run::{RunSpec, Setup, Source};
/// let spec = RunSpec { data: Some(Source::Demo), ..RunSpec::default() };
/// let setup = Setup::read(spec)?;
/// assert_eq!(setup.model().parameters(), 1970);
/// let spec = RunSpec { delta: 0.0, ..setup.spec().clone() };
/// assert_eq!(Setup::read(spec).unwrap_err().to_string(), "delta 0 is outside [1e-300, 1)");
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
#[derive(Debug)]
pub struct Setup {
    spec: RunSpec,
    data: Dataset,
    architecture: Architecture,
    names: Names,
    model: Model,
    /// The first parameters.
    start: Vec<f32>,
    recipe: Recipe,
    delta: Delta,
    target: Option<Epsilon>,
    device: Option<VectorDevice>,
    norm: Norm,
    bound: f64,
    about: Vec<String>,
    notes: Vec<String>,
    /// How the randomizer was chosen, where it was.
    selection: Option<Selection>,
}

impl Setup {
    /// Reads the data that the description names, and checks the rest.
    pub fn read(spec: RunSpec) -> Result<Self, Error> {
        let spec = spec.resolved();
        let source = spec.data.as_ref().ok_or(Error::NoData)?;
        // Before data is read, which takes longer.
        spec.check()?;
        let data = source.read()?;
        Self::new(spec, data)
    }

    /// Checks a description with data that the caller has read.
    pub fn new(spec: RunSpec, data: Data) -> Result<Self, Error> {
        let spec = spec.resolved();
        spec.check()?;
        let Prepared {
            data,
            architecture,
            names,
            about: about_data,
            notes,
        } = prepared(&spec, data)?;
        if data.train().users() < 2 {
            return Err(Error::Examples {
                why: "one user to learn from is nobody to hide among".into(),
            });
        }
        let model = architecture.network(data.shape(), data.classes())?;
        let selection = match spec.is_chosen() {
            false => None,
            true => {
                let users = data.train().users() as u64;
                Some(Selection::new(&spec, model.parameters(), users)?)
            }
        };
        let asked = (spec.target_epsilon.unwrap_or_default(), spec.delta);
        let mut spec = match &selection {
            Some(selection) => selection.applied(spec),
            None => spec,
        };
        let target = match spec.target_epsilon {
            None => None,
            Some(target) => Some(
                Epsilon::new(target)
                    .map_err(|_| Error::parameter("target_epsilon", plain(target), "[0, inf)"))?,
            ),
        };
        let bound = match (spec.clip, spec.algorithm) {
            (Some(clip), _) => clip,
            (None, AlgorithmKind::None) => UNBOUNDED,
            (None, _) => 1.0,
        };
        if !(1e-30..=UNBOUNDED).contains(&bound) {
            return Err(Error::parameter("clip", plain(bound), "[1e-30, 1e30]"));
        }
        if spec.every == Some(0) {
            return Err(Error::parameter("every", 0, "[1, inf)"));
        }
        let (mut norm, mut device) = (Norm::L2, None);
        if spec.algorithm.has_devices() {
            let randomizer = spec.randomizer(model.parameters())?;
            let made = Device::new(&randomizer, bound)?;
            let (Input::Vector(own), Device::Vector(made)) = (randomizer.input(), made) else {
                let allowed = "a randomizer of vectors";
                return Err(Error::parameter("randomizer", randomizer.name(), allowed));
            };
            (norm, device) = (own.into(), Some(made));
        }
        let start = match spec.model {
            // The loss of logistic regression is convex: no symmetry has to be broken by chance.
            ModelKind::Logistic => vec![0.0; model.parameters()],
            _ => {
                // The record has what was drawn: who goes on with the run has the same start.
                let start = match (spec.start, spec.seed) {
                    (Some(start), _) | (None, Some(start)) => start,
                    (None, None) => *spec.start.insert(drawn()?),
                };
                model.initial(start)
            }
        };
        let mut setup = Self {
            recipe: recipe(&spec, target.is_some()),
            delta: Delta::new(spec.delta)?,
            spec,
            data,
            architecture,
            names,
            model,
            start,
            target,
            device,
            norm,
            bound,
            about: Vec::new(),
            notes,
            selection,
        };
        if setup.spec.algorithm == AlgorithmKind::SecureSum {
            setup.notes.push(SUM_TRUST.into());
            let quorum = setup.sharing()?.quorum;
            if quorum < 1.0 {
                setup.notes.push(format!(
                    "Epsilon is that of sums with the noise of a fraction {} of the participants. More \
                     shares make it smaller, so that no lower bound is claimed.",
                    plain(quorum)
                ));
            }
        }
        setup.about = vec![setup.sentence()?, about_data, setup.learner()];
        if let Some(selection) = &setup.selection {
            let sentence = selection.sentence(asked.0, asked.1);
            setup.about.push(sentence);
        }
        let algorithm = setup.algorithm()?;
        algorithm.charge().check(setup.delta)?;
        drop(algorithm);
        Ok(setup)
    }

    /// The description, with the numbers of the demonstration filled in.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// The examples as the model sees them.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// What is computed from an example.
    pub(super) fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The meaning of the numbers of an example.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// What is trained.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The first parameters.
    pub(super) fn start(&self) -> &[f32] {
        &self.start
    }

    /// How to learn, with as many rounds as are asked for.
    pub(super) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The norm that gradients are clipped to; none where they are not.
    pub fn clip(&self) -> Option<f64> {
        (self.bound < UNBOUNDED).then_some(self.bound)
    }

    /// The central δ.
    pub fn delta(&self) -> Delta {
        self.delta
    }

    /// The budget, if there is one.
    pub fn target(&self) -> Option<Epsilon> {
        self.target
    }

    /// Sentences that say what is run: the algorithm, the data, the model.
    pub fn about(&self) -> &[String] {
        &self.about
    }

    /// How the randomizer was chosen, where it was.
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_ref()
    }

    /// What a reader must know beyond that.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whose data the guarantee protects.
    pub fn unit(&self) -> Unit {
        match self.spec.algorithm {
            AlgorithmKind::CldpSgd | AlgorithmKind::CheckIn | AlgorithmKind::SecureSum => {
                match self.has_several() {
                    true => Unit::UserWithAllExamples,
                    false => Unit::User,
                }
            }
            AlgorithmKind::Local => Unit::UserOfEveryRound,
            AlgorithmKind::Blocks => Unit::Block,
            AlgorithmKind::Central => Unit::Record,
            AlgorithmKind::None => Unit::Nothing,
        }
    }

    /// A key of this run: of its seed, or a fresh one.
    pub(super) fn key(&self) -> Result<Key, Error> {
        match self.spec.seed {
            Some(seed) => Ok(Key::simulated(seed)),
            None => Key::secret(),
        }
    }

    /// The way of learning.
    pub fn algorithm(&self) -> Result<Box<dyn Algorithm + '_>, Error> {
        let gradients = Gradients {
            model: &self.model,
            examples: self.data.train(),
            norm: self.norm,
            bound: self.bound,
        };
        let users = self.users();
        let way = if self.spec.fast {
            Way::Fast
        } else {
            Way::Shuffled
        };
        if self.spec.algorithm == AlgorithmKind::SecureSum {
            let round = |mechanism| self.round(mechanism);
            let sharing = self.sharing()?;
            return Ok(Box::new(SecureSumSgd::new(gradients, sharing, round, way)?));
        }
        let Some(device) = &self.device else {
            if self.spec.algorithm == AlgorithmKind::Central {
                let batches = self.spec.batches.unwrap_or(BATCHES);
                return Ok(Box::new(CentralSgd::new(
                    gradients,
                    batches,
                    self.sigma()?,
                )?));
            }
            let batch = self.spec.sample.unwrap_or(users);
            if !(1..=users).contains(&batch) {
                let allowed = format!("[1, {users}], the number of users");
                return Err(Error::parameter("sample", batch, allowed));
            }
            return Ok(Box::new(PlainSgd::new(gradients, batch)?));
        };
        let round = self.round(device.mechanism().clone())?;
        Ok(match self.spec.algorithm {
            AlgorithmKind::Blocks => Box::new(BlocksSgd::new(gradients, device, round)?),
            AlgorithmKind::Local => {
                let charge = Charge::Local(round);
                Box::new(ShuffledSgd::new(gradients, device, charge, way)?)
            }
            _ => {
                let charge = match self.spec.dropout {
                    Some(dropout) if dropout != 0.0 => Charge::Lossy(round, dropout),
                    _ => Charge::Shuffled(round),
                };
                Box::new(ShuffledSgd::new(gradients, device, charge, way)?)
            }
        })
    }

    fn sigma(&self) -> Result<f64, Error> {
        let algorithm = ("algorithm", self.spec.algorithm.name());
        let sigma = self.spec.sigma;
        sigma.ok_or_else(|| Error::needed("sigma", "the noise", algorithm))
    }

    /// The shares of a secure sum.
    fn sharing(&self) -> Result<Sharing, Error> {
        let dropout = self.spec.dropout.unwrap_or(0.0);
        Ok(Sharing {
            sigma: self.sigma()?,
            levels: self.spec.levels,
            dropout,
            // Of many participants twice as many as usual hardly ever drop out.
            quorum: self.spec.quorum.unwrap_or(1.0 - 2.0 * dropout),
        })
    }

    /// Whether some user has several examples.
    fn has_several(&self) -> bool {
        self.data.train().users() < self.data.train().len()
    }

    fn users(&self) -> u64 {
        self.data.train().users() as u64
    }

    /// The round that is charged.
    fn round(&self, mechanism: Mechanism) -> Result<Round, Error> {
        let (spec, users) = (&self.spec, self.users());
        if let Some(blocks) = spec.blocks {
            if !(2..=users).contains(&blocks) {
                let allowed = format!("[2, {users}], the number of examples");
                return Err(Error::parameter("blocks", blocks, allowed));
            }
            return Ok(Round::new(mechanism, blocks)?.adaptive_within_round()?);
        }
        let round = Round::new(mechanism, users)?.colluding(spec.colluding.unwrap_or(0.0))?;
        Ok(match (spec.sample, spec.check_in) {
            (Some(size), _) => round.sample(size)?,
            (_, Some(PerUser::One(rate))) => round.check_in(rate)?,
            (_, Some(PerUser::Range([lowest, highest]))) => {
                round.check_in_between(lowest, highest)?
            }
            _ => round,
        })
    }

    /// Algorithm, participation and randomizer in a sentence.
    fn sentence(&self) -> Result<String, Error> {
        let (spec, users) = (&self.spec, self.users());
        let mut people = match (spec.sample, spec.check_in) {
            (Some(sample), _) => {
                format!("{} of {} users a round", grouped(sample), grouped(users))
            }
            (_, Some(PerUser::One(rate))) => format!(
                "{} users, each taking part in a round with probability {}",
                grouped(users),
                plain(rate),
            ),
            (_, Some(range)) => format!(
                "{} users, each taking part in a round with a probability of its own in {range}",
                grouped(users),
            ),
            _ => format!("all of {} users every round", grouped(users)),
        };
        if let Some(dropout) = spec.dropout
            && dropout > 0.0
            && spec.algorithm != AlgorithmKind::SecureSum
        {
            people += &format!(", each report lost with probability {}", plain(dropout));
        }
        if let Some(colluding) = spec.colluding
            && colluding > 0.0
        {
            let fraction = plain(colluding);
            people += &format!(", a fraction {fraction} of all users colluding with the analyzer");
        }
        let gradients = match self.has_several() {
            true => "the mean gradient of a user's examples",
            false => "gradients",
        };
        let bound = plain(self.bound);
        let norm = match self.norm {
            Norm::L1 => "l1 norm",
            Norm::L2 => "l2 norm",
            Norm::LInf => "coordinates of at most",
        };
        let noise = match (spec.epsilon0, spec.sigma) {
            (Some(epsilon0), _) => format!("epsilon0 = {}", plain(epsilon0)),
            (_, Some(sigma)) => format!("sigma = {}", plain(sigma)),
            _ => String::new(),
        };
        // The catalog speaks of vectors of norm 1, and these have been clipped to the bound.
        let phrase = spec.randomizer(1)?.phrase();
        let title = phrase.split(" on ").next().unwrap_or_default();
        let device = format!("{gradients} clipped to {norm} {bound}, {title}, {noise}");
        let way = match spec.fast {
            true => {
                "; reports are added where they are drawn, not shuffled: the sum has the same law"
            }
            false => "",
        };
        Ok(match spec.algorithm {
            AlgorithmKind::CldpSgd => format!("CLDP-SGD: {people}, {device}{way}."),
            AlgorithmKind::CheckIn => format!("Shuffled check-in SGD: {people}, {device}{way}."),
            AlgorithmKind::SecureSum => {
                let Sharing {
                    dropout, quorum, ..
                } = self.sharing()?;
                let lost = match dropout > 0.0 {
                    true => format!(
                        ", each dropping out with probability {}, at least a fraction {} of them needed",
                        plain(dropout),
                        plain(quorum)
                    ),
                    false => String::new(),
                };
                let way = match spec.fast {
                    true => "; shares are added without masks: the sum is the same",
                    false => "",
                };
                format!(
                    "Secure sums: {people}{lost}, {gradients} clipped to l2 norm {bound}, a share of \
                     discrete Gaussian noise from each participant, {noise}{way}.\n\
                     Only the sum and the numbers of participants and of shares are seen."
                )
            }
            AlgorithmKind::Local => {
                format!("Local training: {people}, {device}, and no shuffler{way}.")
            }
            AlgorithmKind::Blocks => {
                let blocks = spec.blocks.unwrap_or(1);
                let size = plain((users as f64 / blocks.max(1) as f64 * 10.0).round() / 10.0);
                format!(
                    "Shuffled noisy SGD: {} blocks of {size} examples in a new order every epoch, {device}.\n\
                     THE UNIT OF PRIVACY IS A BLOCK of {size} examples, not one example: a block is what \
                     hides among the others.",
                    grouped(blocks)
                )
            }
            AlgorithmKind::Central => {
                format!(
                    "Central DP-SGD: a trusted server holds all {} records, {} batches an epoch, \
                     gradients clipped to l2 norm {bound}, Gaussian noise, {noise}.",
                    grouped(users),
                    grouped(spec.batches.unwrap_or(BATCHES))
                )
            }
            AlgorithmKind::None => match self.bound < UNBOUNDED {
                true => format!("No protection: {people}, {gradients} clipped to l2 norm {bound}."),
                false => format!("No protection: {people}, {gradients} as they are."),
            },
        })
    }

    /// Model and optimizer in a sentence.
    fn learner(&self) -> String {
        let recipe = &self.recipe;
        let rule = match recipe.rule {
            Rule::Momentum(beta) => format!("momentum {}", plain(beta)),
            Rule::Adam(..) => "Adam".to_owned(),
        };
        let schedule = match &recipe.schedule {
            Schedule::Constant => "constant".to_owned(),
            Schedule::Cosine => "falling along a cosine".to_owned(),
            Schedule::Root => "falling as one over the root of the round".to_owned(),
            Schedule::Steps(steps) => {
                let steps = steps.iter().map(|step| {
                    let (rate, from) = (plain(step.rate), grouped(step.from));
                    format!("{rate} from round {from} on")
                });
                format!("then {}", steps.collect::<Vec<_>>().join(", "))
            }
        };
        let ball = recipe.radius.map_or(String::new(), |radius| {
            format!(", within {} of the start", plain(radius))
        });
        format!(
            "{}, {} parameters; {rule}, rate {}, {schedule}{ball}.",
            self.spec.model.title(),
            grouped(self.model.parameters() as u64),
            plain(recipe.rate),
        )
    }
}

/// A seed of initial parameters that no other run has. It is public, and has nothing to do with the key.
fn drawn() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    Secure::new()?.fill(&mut bytes);
    // 53 bits: every reader of JSON has them.
    Ok(u64::from_le_bytes(bytes) >> 11)
}

/// The examples as the model sees them, and what is said about them.
struct Prepared {
    data: Dataset,
    architecture: Architecture,
    names: Names,
    about: String,
    notes: Vec<String>,
}

fn prepared(spec: &RunSpec, data: Data) -> Result<Prepared, Error> {
    let Data {
        dataset: mut data,
        names,
        mut about,
        mut notes,
    } = data;
    if let Some(examples) = spec.per_user {
        data = data.with_train(|train| of_several(train, examples))?;
        about += &format!(
            ", {} users of {} examples each",
            grouped(data.train().users() as u64),
            grouped(examples)
        );
    }
    if let Some(share) = spec.validation {
        data = data.validation(share)?;
        about += &format!(
            "; of the former {} are held out to be judged by instead",
            grouped(data.test().len() as u64)
        );
        let note = "Accuracy is on examples held out of the training set, which are not protected; \
                    the test set was not looked at.";
        notes.push(note.into());
    }
    if let Some(PerUser::Range([lowest, highest])) = spec.check_in
        && data.train().rates().is_none()
    {
        data = data.with_train(|train| with_simulated_rates(train, lowest, highest))?;
        notes.push(RATES.into());
    }
    let architecture = Architecture::new(spec, data.shape());
    about += match architecture.features {
        FeatureKind::Plain => "",
        FeatureKind::OrientedGradients => {
            ", each as 128 oriented gradients, which a device computes from its own picture"
        }
        FeatureKind::SmoothGradients => {
            ", each as 200 smooth gradients, which a device computes from its own picture"
        }
        FeatureKind::ColorGradients => {
            ", each as 448 smooth gradients and colors, which a device computes from its own picture"
        }
        FeatureKind::Scattering => {
            ", each as scattering coefficients, which a device computes from its own picture"
        }
    };
    Ok(Prepared {
        data: architecture.seen(&data)?,
        architecture,
        names,
        about: about + ".",
        notes,
    })
}

/// The same examples, so many in a row of each user; the last user may have fewer.
fn of_several(examples: Examples, each: u64) -> Result<Examples, Error> {
    let all = examples.len();
    let several = usize::try_from(each)
        .ok()
        .filter(|each| (1..=all / 2).contains(each));
    let Some(several) = several else {
        let allowed = format!("[1, {}], half of the {all} training examples", all / 2);
        return Err(Error::parameter("per_user", each, allowed));
    };
    let mut sizes = vec![several; all / several];
    if !all.is_multiple_of(several) {
        sizes.push(all % several);
    }
    examples.grouped(&sizes)
}

/// Rates drawn evenly from a range. Those that are out of order are refused with the round.
fn with_simulated_rates(examples: Examples, lowest: f64, highest: f64) -> Result<Examples, Error> {
    Rate::between(lowest, highest)?;
    let mut random = Simulated::new(RATES_SEED, 0);
    let steps = 1u64 << 32;
    let rates = (0..examples.users()).map(|_| {
        let share = below(steps, &mut random) as f64 / steps as f64;
        (lowest + (highest - lowest) * share).clamp(lowest, highest)
    });
    let rates = rates.collect();
    examples.with_rates(rates)
}

fn recipe(spec: &RunSpec, has_budget: bool) -> Recipe {
    Recipe {
        rounds: spec.rounds.unwrap_or(match has_budget {
            true => MOST_ROUNDS,
            false => ROUNDS,
        }),
        rate: spec.rate.unwrap_or(0.1),
        schedule: match spec.schedule {
            ScheduleKind::Constant => Schedule::Constant,
            ScheduleKind::Cosine => Schedule::Cosine,
            ScheduleKind::Root => Schedule::Root,
            ScheduleKind::Steps => Schedule::Steps(spec.steps.clone().unwrap_or_default()),
        },
        rule: match spec.optimizer {
            OptimizerKind::Adam => Rule::Adam(0.9, 0.999),
            OptimizerKind::Sgd => Rule::Momentum(spec.momentum.unwrap_or(0.9)),
        },
        radius: spec.radius,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::choices::ModelKind;
    use super::super::spec::{RunSpec, Source};
    use super::Setup;

    fn network(seed: Option<u64>) -> Setup {
        Setup::read(RunSpec {
            data: Some(Source::Demo),
            model: ModelKind::Mlp,
            seed,
            ..RunSpec::default()
        })
        .unwrap()
    }

    /// A seed says where a network starts; 1 is where all of them started once, and the logs of runs under
    /// `papers/` with it.
    #[test]
    fn a_network_starts_from_its_seed() {
        let one = network(Some(1));
        assert_eq!(one.start(), one.model().initial(1));
        assert_eq!(one.spec().start, None);
        assert_eq!(one.start(), network(Some(1)).start());
        assert_ne!(one.start(), network(Some(2)).start());
    }

    /// Without a seed every run has a start of its own, which its description keeps.
    #[test]
    fn without_a_seed_the_start_is_drawn_and_kept() {
        let (one, other) = (network(None), network(None));
        assert_ne!(one.start(), other.start());
        assert!(one.spec().start.is_some_and(|start| start < 1 << 53));
        let again = Setup::read(one.spec().clone()).unwrap();
        assert_eq!(one.start(), again.start());
    }

    /// Logistic regression starts from zero, with nothing to be drawn.
    #[test]
    fn a_linear_model_starts_from_zero() {
        let setup = Setup::read(RunSpec {
            data: Some(Source::Demo),
            ..RunSpec::default()
        })
        .unwrap();
        assert!(setup.start().iter().all(|parameter| *parameter == 0.0));
        assert_eq!(setup.spec().start, None);
    }
}
