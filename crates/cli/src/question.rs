//! The flags that describe rounds, the same in every command, and the question that they are parsed into,
//! once.

use crate::failure::Failure;
use crate::number::{Count, OneOrRange, Real};
use crate::output::Format;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use shuffledp::{
    Account, Domain, Parameter, Plan, RandomizerSpec, Relation, RoundSpec, Unknown, account,
    catalog,
};
use std::path::{Path, PathBuf};

/// The set of values that noise is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DomainName {
    /// Numbers in [0, 1]
    Interval,
    /// Vectors of norm at most 1, of any dimension
    Ball,
}

/// The names of the catalog, with their titles. A ratio summary has no flags: it is for plan files and
/// programs.
fn randomizers() -> impl TypedValueParser<Value = String> {
    let with_flags = catalog().filter(|entry| !entry.needs().contains(&Parameter::Ratio));
    PossibleValuesParser::new(
        with_flags.map(|entry| PossibleValue::new(entry.name()).help(entry.title())),
    )
}

/// The randomizer, the users, and who takes part.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct RoundFlags {
    /// Local randomizer
    #[arg(long, value_name = "NAME", default_value = "ldp", value_parser = randomizers())]
    randomizer: String,
    /// Local epsilon of one report: 0, or from 1e-12 to 100; or a range that contains each user's own, for
    /// randomizers that take one
    #[arg(long, value_name = "E0|LO..HI")]
    epsilon0: Option<OneOrRange>,
    /// Local delta of one report, for approx-ldp, some-approx-ldp and discrete-gaussian
    #[arg(long, value_name = "D0")]
    delta0: Option<Real>,
    /// Row-stochastic matrix as a CSV file without a header, for matrix
    #[arg(long, value_name = "CSV")]
    file: Option<PathBuf>,
    /// Standard deviation of the noise, for gaussian, discrete-gaussian and random-allocation; of the share
    /// of one participant, for secure-sum, discrete-gaussian-sum and skellam-sum
    #[arg(long, value_name = "S")]
    sigma: Option<Real>,
    /// Values that noise is added to, for gaussian, laplace and secure-sum: numbers in [0, 1] at distance at
    /// most 1, or vectors of norm at most 1 at distance at most 2 [default: interval; for secure-sum: ball]
    #[arg(long, value_enum, value_name = "WHERE")]
    domain: Option<DomainName>,
    /// Number of categories, for krr, sue, oue, subset, hadamard, olh, discrete-laplace, sue-sum and oue-sum;
    /// steps of the grid to a length of 1, for discrete-gaussian-sum and skellam-sum
    #[arg(long, value_name = "K")]
    k: Option<Count>,
    /// Number of coordinates of a vector; needed for discrete-gaussian-sum and skellam-sum, and lowers the
    /// bounds of priv-unit and ramp [default: 8 in audit]
    #[arg(long, value_name = "D")]
    dimension: Option<Count>,
    /// Where the density of ramp begins to rise, in standard deviations of the cosine [default: where it is
    /// most efficient]
    #[arg(long, value_name = "T0")]
    start: Option<Real>,
    /// Probability of a report that does not depend on the value, for mixed-gaussian
    #[arg(long, value_name = "B")]
    blanket: Option<Real>,
    /// Number of users n, at least 2 (1e6 is understood)
    #[arg(long, value_name = "N")]
    users: Option<Count>,
    /// M of N users take part, drawn without replacement [default: everybody]
    #[arg(long, value_name = "M")]
    sample: Option<Count>,
    /// Each user takes part with probability G, or with an own probability between LO and HI [default:
    /// everybody]
    #[arg(long, value_name = "G|LO..HI")]
    check_in: Option<OneOrRange>,
    /// Number of rounds (adaptive composition)
    #[arg(long, value_name = "T", default_value = "1")]
    rounds: Count,
    /// A report may depend on earlier reports of the same round. The bounds of ldp stay the same; those of
    /// another randomizer change only if its pairs of values have different laws
    #[arg(long)]
    adaptive_within_round: bool,
    /// Fraction of users who may collude with the analyzer, and hide nobody
    #[arg(long, value_name = "F", default_value = "0")]
    colluding: Real,
    /// TOML file with several kinds of rounds, instead of the flags above
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "randomizer", "epsilon0", "delta0", "file", "sigma", "domain", "k", "dimension", "start",
            "blanket", "users", "sample", "check_in", "rounds", "adaptive_within_round", "colluding",
        ]
    )]
    plan: Option<PathBuf>,
    /// Relative accuracy of the epsilon or delta of several rounds, in [1e-7, 0.01]; for epsilon, delta and
    /// curve, and not for one round, which is not composed [default: 3.2e-5]
    #[arg(long, value_name = "A", help_heading = "Output")]
    accuracy: Option<Real>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,
}

/// The rounds that are asked about.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) plan: Plan,
    /// The description of the one kind of round, if it came from flags.
    spec: Option<RoundSpec>,
}

impl Question {
    /// The question that a description asks.
    pub(crate) fn of(spec: RoundSpec) -> Result<Self, Failure> {
        Ok(Self {
            plan: spec.plan()?,
            spec: Some(spec),
        })
    }

    /// The rounds in a sentence.
    pub(crate) fn sentence(&self) -> String {
        self.plan.sentence()
    }

    /// Which two datasets are compared.
    pub(crate) fn relation(&self) -> Relation {
        self.plan.relation()
    }

    /// The whole question as JSON: the fields of a round, or the list of a plan's rounds.
    pub(crate) fn query(&self) -> Map<String, Value> {
        match &self.spec {
            Some(spec) => described(spec),
            None => {
                let mut query = Map::new();
                query.insert("plan".into(), json!(self.plan));
                query.insert("rounds".into(), json!(self.plan.total()));
                query
            }
        }
    }
}

/// A round's fields as JSON.
pub(crate) fn described(spec: &RoundSpec) -> Map<String, Value> {
    // Strings, finite numbers and lists of them: nothing that JSON cannot hold.
    match serde_json::to_value(spec) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

impl RoundFlags {
    /// The round that the flags describe: everything is parsed, nothing is checked.
    pub(crate) fn spec(&self) -> Result<RoundSpec, Failure> {
        if let Some(path) = &self.plan {
            let name = path.display();
            let message =
                format!("--plan {name} has many kinds of rounds: describe one of them with flags");
            return Err(Failure::flag("--plan", message));
        }
        let mut randomizer = RandomizerSpec::new(&self.randomizer)?;
        let real = |flag: Option<Real>| flag.map(|number| number.0);
        let count = |flag: Option<Count>| flag.map(|number| number.0);
        randomizer.epsilon0 = self.epsilon0.map(|epsilon0| epsilon0.0);
        randomizer.delta0 = real(self.delta0);
        randomizer.sigma = real(self.sigma);
        randomizer.k = count(self.k);
        randomizer.dimension = count(self.dimension);
        randomizer.start = real(self.start);
        randomizer.blanket = real(self.blanket);
        randomizer.domain = self.domain.map(|domain| match domain {
            DomainName::Interval => Domain::Interval,
            DomainName::Ball => Domain::Ball,
        });
        randomizer.rows = self.file.as_deref().map(matrix).transpose()?;
        if self.sample.is_some() && self.check_in.is_some() {
            let message = "--sample and --check-in are two ways of taking part: give one of them";
            return Err(Failure::flag("--check-in", message));
        }
        Ok(RoundSpec {
            users: count(self.users),
            sample: count(self.sample),
            check_in: self.check_in.map(|check_in| check_in.0),
            adaptive_within_round: self.adaptive_within_round,
            colluding: self.colluding.0,
            rounds: self.rounds.0,
            ..RoundSpec::new(randomizer)
        })
    }

    /// The question, ready to be priced.
    pub(crate) fn question(&self) -> Result<Question, Failure> {
        match &self.plan {
            Some(path) => Ok(Question {
                plan: read_plan(path)?,
                spec: None,
            }),
            None => Question::of(self.spec()?),
        }
    }

    /// The round with one number left open for the command itself to set.
    pub(crate) fn open(&self, unknown: Unknown, why: &str) -> Result<RoundSpec, Failure> {
        let spec = self.spec()?;
        if let Some(value) = spec.given(unknown) {
            let flag = flag(unknown.parameter());
            let message = format!("{flag} {value} is {why}: leave it out");
            return Err(Failure::flag(flag, message));
        }
        Ok(spec)
    }

    /// For commands and rounds that compose nothing: the accuracy of a composition would do nothing.
    pub(crate) fn refuse_accuracy(&self) -> Result<(), Failure> {
        match self.accuracy {
            Some(accuracy) => {
                let message = format!(
                    "--accuracy {accuracy} is for the epsilon and delta of several rounds, which are \
                     composed: leave it out"
                );
                Err(Failure::flag("--accuracy", message))
            }
            None => Ok(()),
        }
    }

    /// The account of a question, at the accuracy asked for.
    pub(crate) fn account(&self, plan: &Plan) -> Result<Account, Failure> {
        if plan.total() == 1 {
            self.refuse_accuracy()?;
        }
        self.account_of_some(plan)
    }

    /// The same of one of several numbers of rounds, of which some are composed.
    pub(crate) fn account_of_some(&self, plan: &Plan) -> Result<Account, Failure> {
        let account = account(plan)?;
        match self.accuracy {
            Some(Real(accuracy)) => Ok(account.with_accuracy(accuracy)?),
            None => Ok(account),
        }
    }
}

/// The flag that sets a parameter.
pub(crate) fn flag(parameter: Parameter) -> String {
    match parameter {
        Parameter::Rows => "--file".to_owned(),
        other => format!("--{}", other.field().replace('_', "-")),
    }
}

/// Reads the rows of a matrix; errors name the file.
fn matrix(path: &Path) -> Result<Vec<Vec<f64>>, Failure> {
    let refused = |error| Failure::flag("--file", format!("--file {}: {error}", path.display()));
    shuffledp_tables::read_matrix(path).map_err(refused)
}

/// Reads a plan; errors name the file.
fn read_plan(path: &Path) -> Result<Plan, Failure> {
    let name = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::flag("--plan", format!("--plan {name} cannot be read: {error}"))
    };
    let refused =
        |error: shuffledp::Error| Failure::flag("--plan", format!("--plan {name}: {error}"));
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    let most = Plan::LARGEST_FILE as u64;
    if bytes > most {
        return Err(refused(shuffledp::Error::PlanTooLarge { bytes, most }));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Plan::from_toml(&text).map_err(refused)
}
