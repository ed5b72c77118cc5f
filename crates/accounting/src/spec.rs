//! The description of a round, as flags, plan files, JSON and ledgers give it.
//!
//! [`RoundSpec`] is the one form that all of them are parsed into: the randomizer and its parameters, the
//! number of users, who takes part, the number of rounds. It may be invalid. A [`Round`] is made from it by
//! checking it, and every round can be turned back into its spec.
//!
//! ```
//! use shuffledp_accounting::{Round, RoundSpec};
//! let text = r#"{
//!     "randomizer": "krr", "k": 10, "epsilon0": 3.0, "users": 10000, "check_in": 0.01, "rounds": 5
//! }"#;
//! let spec: RoundSpec = serde_json::from_str(text)?;
//! assert_eq!(spec.rounds, 5);
//! let round = Round::try_from(&spec)?;
//! assert_eq!(round.users(), 10_000);
//! assert_eq!(
//!     round.sentence(5),
//!     "5 shuffled rounds, 10,000 users, 10-ary randomized response, epsilon0 = 3, \
//!      each taking part with probability 0.01."
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::calibrate::Unknown;
use crate::catalog::{self, Entry, Input};
use crate::digits::{grouped, plain};
use crate::error::{Error, Parameter, within, within_count};
use crate::local::{Domain, LocalEpsilon};
use crate::mechanism::Mechanism;
use crate::participation::Participation;
use crate::per_user::PerUser;
use crate::plan::Plan;
use crate::relation::Relation;
use crate::round::Round;
use serde::{Deserialize, Serialize};

/// A randomizer by name, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomizerSpec {
    pub(crate) entry: &'static Entry,
    /// The local guarantee ε₀, or the range that everybody's own lies in.
    pub epsilon0: Option<PerUser>,
    /// The local δ₀.
    pub delta0: Option<f64>,
    /// The standard deviation of Gaussian noise.
    pub sigma: Option<f64>,
    /// The set of values that noise is added to.
    pub domain: Option<Domain>,
    /// The number of categories.
    pub k: Option<u64>,
    /// The number of coordinates of a vector; only the laws of directions, and of integer noise on a sum,
    /// depend on it.
    pub dimension: Option<u64>,
    /// Where the density of a direction begins to rise, in standard deviations of the cosine.
    pub start: Option<f64>,
    /// The probability of a report that does not depend on the value.
    pub blanket: Option<f64>,
    /// The bound p on likelihood ratios, in a ratio summary.
    pub p: Option<f64>,
    /// The bound β on the total variation distance, in a ratio summary.
    pub beta: Option<f64>,
    /// The bound q on the cover by the other users, in a ratio summary.
    pub q: Option<f64>,
    /// The rows of a matrix.
    pub rows: Option<Vec<Vec<f64>>>,
    /// The neighboring relation, where a mechanism has several.
    pub relation: Option<Relation>,
}

impl RandomizerSpec {
    /// The randomizer of this name, without parameters.
    ///
    /// ```
    /// use shuffledp_accounting::RandomizerSpec;
    /// let mut spec = RandomizerSpec::new("krr")?;
    /// assert_eq!(
    ///     spec.mechanism().unwrap_err().to_string(),
    ///     "krr needs k, the number of categories (at least 2)"
    /// );
    /// (spec.k, spec.epsilon0) = (Some(10), Some(3.0.into()));
    /// assert_eq!(spec.phrase(), "10-ary randomized response");
    /// assert!(spec.mechanism().is_ok());
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(name: &str) -> Result<Self, Error> {
        catalog::find(name).map(Self::of)
    }

    pub(crate) fn of(entry: &'static Entry) -> Self {
        Self {
            entry,
            epsilon0: None,
            delta0: None,
            sigma: None,
            domain: None,
            k: None,
            dimension: None,
            start: None,
            blanket: None,
            p: None,
            beta: None,
            q: None,
            rows: None,
            relation: None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Its entry in the catalog.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// What a person holds.
    pub fn input(&self) -> Input {
        (self.entry.input)(self)
    }

    /// The randomizer in a few words, as part of a sentence.
    pub fn phrase(&self) -> String {
        (self.entry.phrase)(self)
    }

    /// Whether every pair of values is as hard to tell apart as every other.
    pub fn pairs_are_alike(&self) -> bool {
        self.entry.pairs_are_alike
    }

    /// The mechanism of the accountant. An error where a parameter is missing, is not one of this randomizer,
    /// or is outside its domain.
    pub fn mechanism(&self) -> Result<Mechanism, Error> {
        self.check()?;
        (self.entry.mechanism)(self)
    }

    /// Parameters that are missing, or are not this randomizer's.
    fn check(&self) -> Result<(), Error> {
        let (needs, takes) = (self.entry.needs, self.entry.takes);
        for &parameter in needs {
            if self.given(parameter).is_none() {
                return Err(self.missing(parameter));
            }
        }
        if let Some(dimension) = self.dimension {
            within_count(Parameter::Dimension, dimension, dimension >= 1, "[1, 2^53]")?;
        }
        let vector = matches!(self.input(), Input::Vector(_));
        for &parameter in Parameter::OF_RANDOMIZERS {
            // Numbers have no coordinates, even where the randomizer can run on vectors too.
            let idle = parameter == Parameter::Dimension && !vector;
            if let Some(value) = self.given(parameter)
                && (idle || !needs.contains(&parameter) && !takes.contains(&parameter))
            {
                return Err(Error::SurplusParameter {
                    randomizer: self.name(),
                    parameter,
                    value,
                });
            }
        }
        self.check_range()
    }

    /// A parameter as it was given, as a short text.
    pub fn given(&self, parameter: Parameter) -> Option<String> {
        let real = |value: Option<f64>| value.map(plain);
        let count = |value: Option<u64>| value.map(|value| value.to_string());
        match parameter {
            Parameter::Epsilon0 => self.epsilon0.map(|value| value.to_string()),
            Parameter::Delta0 => real(self.delta0),
            Parameter::Sigma => real(self.sigma),
            Parameter::Domain => self.domain.map(|domain| domain.name().to_owned()),
            Parameter::Categories => count(self.k),
            Parameter::Dimension => count(self.dimension),
            Parameter::Start => real(self.start),
            Parameter::Blanket => real(self.blanket),
            Parameter::Ratio => real(self.p),
            Parameter::Variation => real(self.beta),
            Parameter::Cover => real(self.q),
            Parameter::Rows => self
                .rows
                .as_ref()
                .map(|rows| format!("of {} rows", rows.len())),
            Parameter::Relation => self.relation.map(|relation| relation.name().to_owned()),
            _ => None,
        }
    }

    /// The ε₀ that the accountant prices, where it must be there. Of a range it is the highest: for the
    /// randomizers that take a range, a round of users with an ε₀ of their own costs what it costs with
    /// everybody at the highest, no more and no less (Theorem O, `per_user.proof.md`).
    pub fn epsilon0(&self) -> Result<f64, Error> {
        let epsilon0 = self.epsilon0.map(PerUser::highest);
        epsilon0.ok_or_else(|| self.missing(Parameter::Epsilon0))
    }

    /// The ε₀ of a device, which has one where the randomizer has: a range is refused.
    pub fn device_epsilon0(&self) -> Result<Option<f64>, Error> {
        let one = |epsilon0: PerUser| {
            let value = epsilon0.to_string();
            epsilon0.common().ok_or(Error::RangeOnDevice { value })
        };
        self.epsilon0.map(one).transpose()
    }

    /// Which ε₀ users have in the instances that attain a lower bound, where they could have several.
    pub(crate) fn everybody_at(&self) -> String {
        match self.epsilon0 {
            Some(PerUser::Range([_, highest])) => {
                format!(", everybody at epsilon0 {}", plain(highest))
            }
            _ => String::new(),
        }
    }

    /// A range of ε₀ is one of numbers in order, and this randomizer's to have.
    fn check_range(&self) -> Result<(), Error> {
        let Some(PerUser::Range([lowest, highest])) = self.epsilon0 else {
            return Ok(());
        };
        LocalEpsilon::new(lowest)?;
        LocalEpsilon::new(highest)?;
        within(
            Parameter::Epsilon0,
            highest,
            lowest <= highest,
            format!("[{}, 100], from the lowest epsilon0 on", plain(lowest)),
        )?;
        if lowest < highest && !self.entry.own_epsilon0 {
            return Err(Error::RangeNotCovered {
                randomizer: self.name(),
                value: PerUser::Range([lowest, highest]).to_string(),
                covered: catalog::names(Entry::takes_own_epsilon0),
            });
        }
        Ok(())
    }

    /// σ, where it must be there.
    pub fn sigma(&self) -> Result<f64, Error> {
        self.sigma.ok_or_else(|| self.missing(Parameter::Sigma))
    }

    /// δ₀, where it must be there.
    pub fn delta0(&self) -> Result<f64, Error> {
        self.delta0.ok_or_else(|| self.missing(Parameter::Delta0))
    }

    /// The probability of a report that does not depend on the value, where it must be there.
    pub fn blanket(&self) -> Result<f64, Error> {
        self.blanket.ok_or_else(|| self.missing(Parameter::Blanket))
    }

    /// k, where it must be there.
    pub fn k(&self) -> Result<u64, Error> {
        self.k.ok_or_else(|| self.missing(Parameter::Categories))
    }

    /// The number of coordinates, where it must be there.
    pub fn dimension(&self) -> Result<u64, Error> {
        self.dimension
            .ok_or_else(|| self.missing(Parameter::Dimension))
    }

    /// The number of values for a phrase; the letter k if it is not given.
    pub(crate) fn many(&self) -> String {
        self.k.map_or_else(|| "k".to_owned(), grouped)
    }

    pub(crate) fn missing(&self, parameter: Parameter) -> Error {
        Error::MissingParameter {
            randomizer: self.name(),
            parameter,
        }
    }

    /// The parameter that says how much noise there is, and a phrase with its value for a sentence.
    fn amount(&self) -> Option<(Parameter, String)> {
        let parameter = match self.epsilon0 {
            Some(_) => Parameter::Epsilon0,
            None => Parameter::Sigma,
        };
        let value = self.given(parameter)?;
        let phrase = match self.epsilon0.and_then(PerUser::common) {
            None if parameter == Parameter::Epsilon0 => format!("each with an epsilon0 in {value}"),
            _ => format!("{} = {value}", parameter.field()),
        };
        Some((parameter, phrase))
    }
}

/// The description of a round: parsed from flags, TOML or JSON, and not yet checked.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct RoundSpec {
    /// What each user runs.
    pub randomizer: RandomizerSpec,
    /// The number of users n.
    pub users: Option<u64>,
    /// m of the n users take part, drawn without replacement.
    pub sample: Option<u64>,
    /// Each user takes part with a probability in this range.
    pub check_in: Option<PerUser>,
    /// A report may depend on earlier reports of the same round.
    pub adaptive_within_round: bool,
    /// The fraction of users who may collude with the analyzer.
    pub colluding: f64,
    /// How many such rounds there are.
    pub rounds: u64,
}

impl RoundSpec {
    /// One round of a randomizer in which everybody takes part; the number of users is still missing.
    pub fn new(randomizer: RandomizerSpec) -> Self {
        Self {
            randomizer,
            users: None,
            sample: None,
            check_in: None,
            adaptive_within_round: false,
            colluding: 0.0,
            rounds: 1,
        }
    }

    /// A round that occurs `rounds` times, as it was described.
    pub fn of(round: &Round, rounds: u64) -> Self {
        let (mut sample, mut check_in) = (None, None);
        match round.participation() {
            Participation::Everyone => {}
            Participation::Sample(size) => sample = Some(size),
            Participation::CheckIn(rate) if rate.lowest() == rate.highest() => {
                check_in = Some(PerUser::One(rate.lowest()));
            }
            Participation::CheckIn(rate) => {
                check_in = Some(PerUser::Range([rate.lowest(), rate.highest()]));
            }
        }
        Self {
            randomizer: round.randomizer().clone(),
            users: Some(round.users()),
            sample,
            check_in,
            adaptive_within_round: round.is_adaptive_within_round(),
            colluding: round.colluding_fraction(),
            rounds,
        }
    }

    /// The same with one of its numbers set.
    ///
    /// ```
    /// use shuffledp_accounting::{RandomizerSpec, RoundSpec, Unknown};
    /// let any = RoundSpec::new(RandomizerSpec::new("ldp")?);
    /// let spec = any.with(Unknown::Users, 1e6).with(Unknown::Epsilon0, 4.0);
    /// assert_eq!(spec.users, Some(1_000_000));
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn with(&self, unknown: Unknown, value: f64) -> Self {
        let mut spec = self.clone();
        match unknown {
            Unknown::Epsilon0 => spec.randomizer.epsilon0 = Some(value.into()),
            Unknown::Sigma => spec.randomizer.sigma = Some(value),
            Unknown::CheckIn => spec.check_in = Some(PerUser::One(value)),
            Unknown::Rounds => spec.rounds = value as u64,
            Unknown::Users => spec.users = Some(value as u64),
        }
        spec
    }

    /// The number as it was given; one round is the default.
    pub fn given(&self, unknown: Unknown) -> Option<String> {
        match unknown {
            Unknown::Epsilon0 => self.randomizer.given(Parameter::Epsilon0),
            Unknown::Sigma => self.randomizer.given(Parameter::Sigma),
            Unknown::CheckIn => self.check_in.map(|rate| rate.to_string()),
            Unknown::Rounds => (self.rounds != 1).then(|| self.rounds.to_string()),
            Unknown::Users => self.users.map(|users| users.to_string()),
        }
    }

    /// The plan that it describes: this round, `rounds` times.
    pub fn plan(&self) -> Result<Plan, Error> {
        Plan::new(Round::try_from(self)?, self.rounds)
    }

    /// The rounds in a sentence. The parameter that a command searches for or varies is `open`, and is
    /// written as a letter.
    pub fn sentence(&self, open: Option<Parameter>) -> String {
        let many = |parameter: Parameter, letter: &str, number: Option<u64>| match number {
            Some(number) if open != Some(parameter) => grouped(number),
            _ => letter.to_owned(),
        };
        let users = many(Parameter::Users, "n", self.users);
        let rounds = many(Parameter::Rounds, "T", Some(self.rounds));
        let phrase = self.randomizer.phrase();
        let amount = match self.randomizer.amount() {
            Some((parameter, phrase)) if open != Some(parameter) => format!(", {phrase}"),
            _ => String::new(),
        };
        if self.randomizer.input() == Input::Records {
            let passes = match rounds.as_str() {
                "1" => "One pass".to_owned(),
                many => format!("{many} passes"),
            };
            return format!(
                "{passes} over {users} steps of {phrase}, one of which, chosen at random, \
                 sees a record{amount}."
            );
        }
        let only_sum = self.randomizer.entry().only_sum_is_seen();
        let rounds = match (rounds.as_str(), only_sum) {
            ("1", false) => "One shuffled round".to_owned(),
            (many, false) => format!("{many} shuffled rounds"),
            ("1", true) => "One round of secure aggregation".to_owned(),
            (many, true) => format!("{many} rounds of secure aggregation"),
        };
        let mut sentence = format!("{rounds}, {users} users, {phrase}{amount}");
        if let Some(delta0) = self.randomizer.delta0 {
            sentence += &format!(", delta0 = {}", plain(delta0));
        }
        if let Some(sample) = self.sample {
            sentence += &format!(", {} of them sampled", grouped(sample));
        }
        if let Some(rate) = self.check_in {
            let rate = match open {
                Some(Parameter::CheckIn) => "g".to_owned(),
                _ => rate.to_string(),
            };
            sentence += &format!(", each taking part with probability {rate}");
        }
        if self.adaptive_within_round {
            sentence += ", adaptive within the round";
        }
        if self.colluding != 0.0 {
            sentence += &format!(", a fraction {} colluding", plain(self.colluding));
        }
        if only_sum {
            sentence += ": only the sum and the number of participants are seen";
        }
        sentence + "."
    }
}

impl TryFrom<&RoundSpec> for Round {
    type Error = Error;

    fn try_from(spec: &RoundSpec) -> Result<Self, Error> {
        let users = spec.users.ok_or(Error::UsersMissing)?;
        let mut round = Self::of(spec.randomizer.clone(), users)?;
        if let Some(size) = spec.sample {
            round = round.sample(size)?;
        }
        match spec.check_in {
            None => {}
            Some(PerUser::One(rate)) => round = round.check_in(rate)?,
            Some(PerUser::Range([lowest, highest])) => {
                round = round.check_in_between(lowest, highest)?;
            }
        }
        if spec.adaptive_within_round {
            round = round.adaptive_within_round()?;
        }
        round.colluding(spec.colluding)
    }
}

/// The fields of a round in a file. Their names are defined here only.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default = "any_ldp")]
    randomizer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epsilon0: Option<PerUser>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta0: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sigma: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<Domain>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "count"
    )]
    k: Option<u64>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "count"
    )]
    dimension: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blanket: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beta: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    q: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Vec<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    relation: Option<Relation>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "count"
    )]
    users: Option<u64>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "count"
    )]
    sample: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check_in: Option<PerUser>,
    #[serde(default)]
    adaptive_within_round: bool,
    #[serde(default)]
    colluding: f64,
    /// `repeat` in plan files.
    #[serde(default, alias = "repeat", deserialize_with = "count")]
    rounds: Option<u64>,
}

fn any_ldp() -> String {
    "ldp".to_owned()
}

/// A whole number, also as `1e6`, which TOML and JSON read as a float.
fn count<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Whole(u64),
        Real(f64),
    }
    const LARGEST: f64 = shuffledp_numerics::MAX_COUNT as f64;
    let wrong = |text: String| {
        serde::de::Error::custom(format!("{text} is not a whole number from 0 to 2^53"))
    };
    match Number::deserialize(deserializer) {
        Ok(Number::Whole(number)) => Ok(Some(number)),
        Ok(Number::Real(number)) if number.fract() == 0.0 && (0.0..=LARGEST).contains(&number) => {
            Ok(Some(number as u64))
        }
        Ok(Number::Real(number)) => Err(wrong(plain(number))),
        Err(_) => Err(wrong("this".to_owned())),
    }
}

impl TryFrom<Fields> for RoundSpec {
    type Error = Error;

    fn try_from(fields: Fields) -> Result<Self, Error> {
        let randomizer = RandomizerSpec {
            epsilon0: fields.epsilon0,
            delta0: fields.delta0,
            sigma: fields.sigma,
            domain: fields.domain,
            k: fields.k,
            dimension: fields.dimension,
            start: fields.start,
            blanket: fields.blanket,
            p: fields.p,
            beta: fields.beta,
            q: fields.q,
            rows: fields.rows,
            relation: fields.relation,
            ..RandomizerSpec::new(&fields.randomizer)?
        };
        Ok(Self {
            randomizer,
            users: fields.users,
            sample: fields.sample,
            check_in: fields.check_in,
            adaptive_within_round: fields.adaptive_within_round,
            colluding: fields.colluding,
            rounds: fields.rounds.unwrap_or(1),
        })
    }
}

impl From<RoundSpec> for Fields {
    fn from(spec: RoundSpec) -> Self {
        let randomizer = spec.randomizer;
        Self {
            randomizer: randomizer.name().to_owned(),
            epsilon0: randomizer.epsilon0,
            delta0: randomizer.delta0,
            sigma: randomizer.sigma,
            domain: randomizer.domain,
            k: randomizer.k,
            dimension: randomizer.dimension,
            start: randomizer.start,
            blanket: randomizer.blanket,
            p: randomizer.p,
            beta: randomizer.beta,
            q: randomizer.q,
            rows: randomizer.rows,
            relation: randomizer.relation,
            users: spec.users,
            sample: spec.sample,
            check_in: spec.check_in,
            adaptive_within_round: spec.adaptive_within_round,
            colluding: spec.colluding,
            rounds: Some(spec.rounds),
        }
    }
}
