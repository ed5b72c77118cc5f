//! The words for a mechanism, the same in every accounting command, and the round they describe.

use crate::answer::Format;
use crate::failure::Failure;
use crate::number::{grouped, plain, real, whole};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use shuffledp::randomizers::{DiscreteGaussian, Randomizer as _};
use shuffledp::{
    Account, Answer, Channel, Delta, Domain, Epsilon, Mechanism, OracleKind, Plan, Round,
    ScalarKind, Unknown, account,
};
use std::path::{Path, PathBuf};

/// A local randomizer by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Randomizer {
    /// Any epsilon0-LDP randomizer
    Ldp,
    /// k-ary randomized response
    Krr,
    /// Binary randomized response
    Rr,
    /// Symmetric unary encoding (basic RAPPOR)
    Sue,
    /// Optimized unary encoding
    Oue,
    /// Subset selection
    Subset,
    /// Hadamard response
    Hadamard,
    /// Optimized local hashing
    Olh,
    /// Your own: a row-stochastic matrix in a CSV file, one row an input
    Matrix,
    /// Laplace noise on values in [0, 1]
    Laplace,
    /// Laplace noise given that the report stays in [0, 1]
    TruncatedLaplace,
    /// Two-sided geometric noise on k equally spaced values
    DiscreteLaplace,
    /// Duchi, Jordan and Wainwright's mean mechanism
    Duchi,
    /// The piecewise mean mechanism
    Piecewise,
    /// Duchi's bit or the piecewise mechanism, by a coin
    Hybrid,
    /// Gaussian noise (see --domain)
    Gaussian,
    /// Integer Gaussian noise on values in [0, 1]
    DiscreteGaussian,
    /// One coordinate of a vector of bounded coordinates, and one bit
    #[value(name = "r-inf")]
    RInf,
    /// One Hadamard measurement of a vector of bounded l1 norm, and one bit
    #[value(name = "r-1")]
    R1,
    /// A random direction against a vector of bounded l2 norm, and one bit
    #[value(name = "r-2")]
    R2,
    /// A direction that leans to a vector of bounded l2 norm
    PrivUnit,
    /// Any (epsilon0, delta0)-LDP randomizer
    ApproxLdp,
    /// Central DP-SGD: one of N steps of the Gaussian mechanism, chosen at random, sees the record
    RandomAllocation,
}

/// Where the values are that Gaussian noise is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Where {
    /// Numbers in [0, 1]
    Interval,
    /// Vectors of norm at most 1, of any dimension
    Ball,
}

/// What is run, by how many, and who takes part.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct Words {
    /// Local randomizer
    #[arg(long, value_enum, default_value_t = Randomizer::Ldp)]
    pub(crate) randomizer: Randomizer,
    /// Local guarantee: 0, or from 1e-12 to 100
    #[arg(long, value_name = "E0", allow_hyphen_values = true)]
    pub(crate) epsilon0: Option<String>,
    /// Local delta, for approx-ldp and discrete-gaussian
    #[arg(long, value_name = "D0", allow_hyphen_values = true)]
    pub(crate) delta0: Option<String>,
    /// A CSV file without a header, for matrix
    #[arg(long, value_name = "CSV")]
    file: Option<PathBuf>,
    /// Standard deviation of the noise, for gaussian, discrete-gaussian and random-allocation
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(crate) sigma: Option<String>,
    /// Values that gaussian noise is added to: numbers in [0, 1], which a replacement moves by up to 1, or vectors of norm at most 1 in any dimension, by up to 2 [default: interval]
    #[arg(long, value_enum, value_name = "WHERE")]
    pub(crate) domain: Option<Where>,
    /// Number of categories, for krr, sue, oue, subset, hadamard, olh and discrete-laplace
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub(crate) k: Option<String>,
    /// Number of coordinates, for r-inf, r-1, r-2 and priv-unit: no price depends on it [default: 8, where they are run]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub(crate) dimension: Option<String>,
    /// Number of users n, at least 2 (1e6 is understood)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) users: Option<String>,
    /// M of N users take part, drawn without replacement [default: everybody]
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    sample: Option<String>,
    /// Each user takes part with probability G, or with one of their own between LO and HI [default: everybody]
    #[arg(long, value_name = "G|LO..HI", allow_hyphen_values = true)]
    check_in: Option<String>,
    /// Number of rounds (adaptive composition)
    #[arg(
        long,
        value_name = "T",
        default_value = "1",
        allow_hyphen_values = true
    )]
    rounds: String,
    /// A user's randomizer may depend on earlier reports of the same round
    #[arg(long)]
    pub(crate) adaptive_within_round: bool,
    /// Fraction of users who may collude with the analyzer: they do not count in n
    #[arg(
        long,
        value_name = "F",
        default_value = "0",
        allow_hyphen_values = true
    )]
    pub(crate) colluding: String,
    /// A TOML file of several kinds of rounds, instead of the words above
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "epsilon0", "delta0", "sigma", "domain", "file", "k", "dimension", "users", "sample", "check_in", "rounds", "colluding",
            "adaptive_within_round", "randomizer",
        ]
    )]
    plan: Option<PathBuf>,
    /// Relative accuracy of a composed epsilon, in [1e-7, 0.01] [default: 3.2e-5]
    #[arg(
        long,
        value_name = "A",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub(crate) accuracy: Option<String>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,
}

/// The largest plan file that is read, in bytes.
const LARGEST_PLAN: u64 = 1 << 20;

/// What was asked about: the plan, the same words as JSON, and a sentence.
pub(crate) struct Question {
    pub(crate) plan: Plan,
    pub(crate) query: Map<String, Value>,
    pub(crate) sentence: String,
    /// What the two datasets differ in.
    pub(crate) adjacency: &'static str,
}

impl Words {
    /// The plan that the words describe, ready to be priced.
    pub(crate) fn question(&self) -> Result<Question, Failure> {
        let instead = match self.randomizer {
            Randomizer::Hybrid | Randomizer::PrivUnit => "ldp at its epsilon0",
            Randomizer::DiscreteGaussian => "approx-ldp at a local guarantee of its own",
            _ => return self.description(),
        };
        Err(Failure::words(
            "--randomizer",
            format!(
                "this --randomizer has no law of its own here, so nothing could be said below its price; it can be run (simulate, audit), and its price is that of {instead}"
            ),
        ))
    }

    /// The same for randomizers that are run, too: a price below is not to be taken from it.
    pub(crate) fn description(&self) -> Result<Question, Failure> {
        let (plan, query, sentence) = match &self.plan {
            Some(path) => {
                let plan = read_plan(path)?;
                let mut query = Map::new();
                query.insert("plan".into(), json!(path.display().to_string()));
                query.insert("rounds".into(), json!(plan.total()));
                let sentence = format!(
                    "{} shuffled rounds of {} kinds, as in {}.",
                    grouped(plan.total()),
                    plan.rounds().len(),
                    path.display()
                );
                (plan, query, sentence)
            }
            None => {
                let mut query = Map::new();
                let mechanism = self.mechanism(&mut query)?;
                let round = self.round(mechanism, &mut query)?;
                let rounds = whole("--rounds", &self.rounds)?;
                query.insert("rounds".into(), json!(rounds));
                let plan = Plan::new(round, rounds)?;
                let sentence = self.sentence(&query, None);
                (plan, query, sentence)
            }
        };
        let adjacency = if self.randomizer == Randomizer::RandomAllocation {
            "one record is added or removed"
        } else {
            "one user's value is replaced"
        };
        Ok(Question {
            plan,
            query,
            sentence,
            adjacency,
        })
    }

    /// Whether a file says what is run.
    pub(crate) fn is_plan(&self) -> bool {
        self.plan.is_some()
    }

    /// The same words with one of them set.
    pub(crate) fn with(&self, turned: Unknown, value: f64) -> Self {
        let mut words = self.clone();
        let text = value.to_string();
        match turned {
            Unknown::Epsilon0 => words.epsilon0 = Some(text),
            Unknown::Rounds => words.rounds = text,
            Unknown::Users => words.users = Some(text),
            Unknown::CheckIn => words.check_in = Some(text),
            Unknown::Sigma => words.sigma = Some(text),
        }
        words
    }

    /// A word that the command itself turns cannot be given.
    pub(crate) fn refuse_given(&self, turned: Unknown, why: &str) -> Result<(), Failure> {
        if self.plan.is_some() {
            let message = "--plan has many values: describe one kind of round instead";
            return Err(Failure::words("--plan", message));
        }
        let given = match turned {
            Unknown::Epsilon0 => self.epsilon0.as_ref(),
            Unknown::Rounds => {
                Some(&self.rounds).filter(|rounds| !matches!(whole("--rounds", rounds), Ok(1)))
            }
            Unknown::Users => self.users.as_ref(),
            Unknown::CheckIn => self.check_in.as_ref(),
            Unknown::Sigma => self.sigma.as_ref(),
        };
        match given {
            Some(value) => {
                let (flag, _) = names(turned);
                let message = format!("{flag} {value} is {why}: leave it out");
                Err(Failure::words(flag, message))
            }
            None => Ok(()),
        }
    }

    /// For commands that have no lattice of their own to refine.
    pub(crate) fn refuse_accuracy(&self) -> Result<(), Failure> {
        match &self.accuracy {
            Some(accuracy) => {
                let message = format!("--accuracy {accuracy} is for epsilon and delta");
                Err(Failure::words("--accuracy", message))
            }
            None => Ok(()),
        }
    }

    /// The account of a question, at the accuracy asked for.
    pub(crate) fn account(&self, question: &Question) -> Result<Account, Failure> {
        let account = account(&question.plan)?;
        match &self.accuracy {
            Some(accuracy) => Ok(account.with_accuracy(real("--accuracy", accuracy)?)?),
            None => Ok(account),
        }
    }

    /// The same question about what runs: its price is that of the code, whatever the words' own would be.
    pub(crate) fn question_of(&self, mechanism: Mechanism) -> Result<Question, Failure> {
        let mut question = self.description()?;
        let round = self.round(mechanism, &mut Map::new())?;
        question.plan = Plan::new(round, question.plan.total())?;
        Ok(question)
    }

    /// What the code that runs costs at a delta, where a fraction of those who would take part drop out.
    ///
    /// Dropouts are not credited above: reports that arrive are computed from those that would have. Below they are: what is attained is attained with those who come, for whom dropping out is one more coin.
    pub(crate) fn price(
        &self,
        mechanism: Mechanism,
        dropout: f64,
        delta: Delta,
    ) -> Result<(Question, Answer<Epsilon>), Failure> {
        let mut question = self.question_of(mechanism.clone())?;
        let mut answer = self.account(&question)?.epsilon(delta)?;
        if dropout > 0.0 {
            question.sentence += &format!(
                " A fraction {} of them drops out, which the upper bound does not credit.",
                plain(dropout)
            );
        }
        // What is attained by some randomizer with this local guarantee says nothing of this one; and nothing is known of what a sample attains when some of it drops out.
        let guarantee_only = matches!(mechanism, Mechanism::Ldp(_) | Mechanism::ApproximateLdp(..));
        let range = self
            .check_in
            .as_ref()
            .is_some_and(|rate| rate.contains(".."));
        if guarantee_only || dropout > 0.0 && (self.sample.is_some() || range) {
            answer.lower.value = Epsilon::new(0.0)?;
            answer.lower.method = "none".into();
            answer.lower.attained_by = None;
        } else if dropout > 0.0 {
            let rate = match &self.check_in {
                Some(text) => real("--check-in", text)?,
                None => 1.0,
            };
            let fewer = self.with(Unknown::CheckIn, rate * (1.0 - dropout));
            let fewer = fewer.question_of(mechanism)?;
            answer.lower = self.account(&fewer)?.epsilon(delta)?.lower;
        }
        Ok((question, answer))
    }

    /// The round of a mechanism, its words into the query.
    fn round(
        &self,
        mechanism: Mechanism,
        query: &mut Map<String, Value>,
    ) -> Result<Round, Failure> {
        let Some(users) = &self.users else {
            return Err(Failure::words(
                "--users",
                "--users, the number of users, is needed",
            ));
        };
        let users = whole("--users", users)?;
        query.insert("users".into(), json!(users));
        let mut round = Round::new(mechanism, users)?;
        if let Some(sample) = &self.sample {
            let sample = whole("--sample", sample)?;
            query.insert("sample".into(), json!(sample));
            round = round.sample(sample)?;
        }
        if let Some(text) = &self.check_in {
            if self.sample.is_some() {
                return Err(Failure::words(
                    "--check-in",
                    "--sample and --check-in are two ways of taking part: give one of them",
                ));
            }
            if let Some((lowest, highest)) = text.split_once("..") {
                let (lowest, highest) = (real("--check-in", lowest)?, real("--check-in", highest)?);
                query.insert("check_in".into(), json!([lowest, highest]));
                round = round.check_in_between(lowest, highest)?;
            } else {
                let rate = real("--check-in", text)?;
                query.insert("check_in".into(), json!(rate));
                round = round.check_in(rate)?;
            }
        }
        query.insert(
            "adaptive_within_round".into(),
            json!(self.adaptive_within_round),
        );
        if self.adaptive_within_round {
            round = round.adaptive_within_round()?;
        }
        let colluding = real("--colluding", &self.colluding)?;
        query.insert("colluding".into(), json!(colluding));
        Ok(round.colluding(colluding)?)
    }

    /// The randomizer, whose words go into the query.
    fn mechanism(&self, query: &mut Map<String, Value>) -> Result<Mechanism, Failure> {
        let (name, own): (&str, &[&str]) = match self.randomizer {
            Randomizer::Ldp => ("ldp", &["--epsilon0"]),
            Randomizer::Krr => ("krr", &["--k", "--epsilon0"]),
            Randomizer::Rr => ("rr", &["--epsilon0"]),
            Randomizer::Sue => ("sue", &["--k", "--epsilon0"]),
            Randomizer::Oue => ("oue", &["--k", "--epsilon0"]),
            Randomizer::Subset => ("subset", &["--k", "--epsilon0"]),
            Randomizer::Hadamard => ("hadamard", &["--k", "--epsilon0"]),
            Randomizer::Olh => ("olh", &["--k", "--epsilon0"]),
            Randomizer::Matrix => ("matrix", &["--file"]),
            Randomizer::ApproxLdp => ("approx-ldp", &["--epsilon0", "--delta0"]),
            Randomizer::Laplace => ("laplace", &["--epsilon0"]),
            Randomizer::TruncatedLaplace => ("truncated-laplace", &["--epsilon0"]),
            Randomizer::DiscreteLaplace => ("discrete-laplace", &["--k", "--epsilon0"]),
            Randomizer::Duchi => ("duchi", &["--epsilon0"]),
            Randomizer::Piecewise => ("piecewise", &["--epsilon0"]),
            Randomizer::Hybrid => ("hybrid", &["--epsilon0"]),
            Randomizer::Gaussian => ("gaussian", &["--sigma"]),
            Randomizer::DiscreteGaussian => ("discrete-gaussian", &["--sigma", "--delta0"]),
            Randomizer::RInf => ("r-inf", &["--epsilon0"]),
            Randomizer::R1 => ("r-1", &["--epsilon0"]),
            Randomizer::R2 => ("r-2", &["--epsilon0"]),
            Randomizer::PrivUnit => ("priv-unit", &["--epsilon0"]),
            Randomizer::RandomAllocation => ("random-allocation", &["--sigma"]),
        };
        query.insert("randomizer".into(), json!(name));
        let given = [
            ("--k", &self.k, "the number of categories (at least 2)"),
            ("--epsilon0", &self.epsilon0, "the local guarantee"),
            ("--delta0", &self.delta0, "the local delta"),
            (
                "--sigma",
                &self.sigma,
                "the standard deviation of the noise",
            ),
        ];
        match (&self.file, self.randomizer) {
            (None, Randomizer::Matrix) => {
                let message = "--randomizer matrix needs --file, a CSV file of its rows";
                return Err(Failure::words("--file", message));
            }
            (Some(file), Randomizer::Matrix) => {
                query.insert("file".into(), json!(file.display().to_string()));
            }
            (Some(file), _) => {
                let message = format!("--file {} is not for --randomizer {name}", file.display());
                return Err(Failure::words("--file", message));
            }
            (None, _) => {}
        }
        if self.domain.is_some() && self.randomizer != Randomizer::Gaussian {
            let message = format!("--domain is not for --randomizer {name}");
            return Err(Failure::words("--domain", message));
        }
        if let Some(dimension) = &self.dimension {
            let vectors = [
                Randomizer::RInf,
                Randomizer::R1,
                Randomizer::R2,
                Randomizer::PrivUnit,
            ];
            if !vectors.contains(&self.randomizer) {
                let message = format!("--dimension {dimension} is not for --randomizer {name}");
                return Err(Failure::words("--dimension", message));
            }
            query.insert("dimension".into(), json!(whole("--dimension", dimension)?));
        }
        for (flag, value, what) in given {
            match (own.contains(&flag), value) {
                (true, None) => {
                    let message = format!("--randomizer {name} needs {flag}, {what}");
                    return Err(Failure::words(flag, message));
                }
                (false, Some(value)) => {
                    let message = format!("{flag} {value} is not for --randomizer {name}");
                    return Err(Failure::words(flag, message));
                }
                _ => {}
            }
        }
        let mut number = |flag: &'static str, key: &str, text: &Option<String>| {
            let value = real(flag, text.as_deref().unwrap_or_default())?;
            query.insert(key.into(), json!(value));
            Ok::<f64, Failure>(value)
        };
        Ok(match self.randomizer {
            // The accountant has no law of their own for hybrid and priv-unit.
            Randomizer::Ldp | Randomizer::Hybrid | Randomizer::PrivUnit => {
                Mechanism::ldp(number("--epsilon0", "epsilon0", &self.epsilon0)?)?
            }
            // Whatever is measured, what protects is one bit.
            Randomizer::Rr | Randomizer::RInf | Randomizer::R1 | Randomizer::R2 => {
                Mechanism::binary_response(number("--epsilon0", "epsilon0", &self.epsilon0)?)?
            }
            Randomizer::Krr => {
                let epsilon0 = number("--epsilon0", "epsilon0", &self.epsilon0)?;
                let k = whole("--k", self.k.as_deref().unwrap_or_default())?;
                query.insert("k".into(), json!(k));
                Mechanism::kary_response(k, epsilon0)?
            }
            Randomizer::Sue
            | Randomizer::Oue
            | Randomizer::Subset
            | Randomizer::Hadamard
            | Randomizer::Olh => {
                let epsilon0 = number("--epsilon0", "epsilon0", &self.epsilon0)?;
                let k = whole("--k", self.k.as_deref().unwrap_or_default())?;
                query.insert("k".into(), json!(k));
                let kind = match self.randomizer {
                    Randomizer::Sue => OracleKind::SymmetricUnary,
                    Randomizer::Oue => OracleKind::OptimizedUnary,
                    Randomizer::Subset => OracleKind::SubsetSelection,
                    Randomizer::Hadamard => OracleKind::HadamardResponse,
                    _ => OracleKind::LocalHashing,
                };
                Mechanism::oracle(kind, k, epsilon0)?
            }
            Randomizer::Matrix => {
                Mechanism::Matrix(read_matrix(self.file.as_deref().unwrap_or(Path::new("")))?)
            }
            Randomizer::ApproxLdp => Mechanism::approximate_ldp(
                number("--epsilon0", "epsilon0", &self.epsilon0)?,
                number("--delta0", "delta0", &self.delta0)?,
            )?,
            Randomizer::Laplace
            | Randomizer::TruncatedLaplace
            | Randomizer::Duchi
            | Randomizer::Piecewise => {
                let kind = match self.randomizer {
                    Randomizer::Laplace => ScalarKind::Laplace,
                    Randomizer::TruncatedLaplace => ScalarKind::TruncatedLaplace,
                    Randomizer::Duchi => ScalarKind::Duchi,
                    _ => ScalarKind::Piecewise,
                };
                Mechanism::scalar(kind, number("--epsilon0", "epsilon0", &self.epsilon0)?)?
            }
            Randomizer::DiscreteLaplace => {
                let epsilon0 = number("--epsilon0", "epsilon0", &self.epsilon0)?;
                let k = whole("--k", self.k.as_deref().unwrap_or_default())?;
                query.insert("k".into(), json!(k));
                Mechanism::discrete_laplace(k, epsilon0)?
            }
            Randomizer::Gaussian => {
                let sigma = number("--sigma", "sigma", &self.sigma)?;
                let (domain, name) = match self.domain {
                    None | Some(Where::Interval) => (Domain::Interval, "interval"),
                    Some(Where::Ball) => (Domain::Ball, "ball"),
                };
                query.insert("domain".into(), json!(name));
                Mechanism::gaussian(sigma, domain)?
            }
            Randomizer::DiscreteGaussian => {
                let sigma = number("--sigma", "sigma", &self.sigma)?;
                let delta0 = number("--delta0", "delta0", &self.delta0)?;
                DiscreteGaussian::new(sigma, delta0)?.mechanism().clone()
            }
            Randomizer::RandomAllocation => {
                Mechanism::random_allocation(number("--sigma", "sigma", &self.sigma)?)?
            }
        })
    }

    /// The round in a sentence that leaves one word open.
    pub(crate) fn sentence_over(&self, query: &Map<String, Value>, turned: Unknown) -> String {
        self.sentence(query, Some(turned))
    }

    /// The round in a sentence; a word that is turned is a letter.
    fn sentence(&self, query: &Map<String, Value>, turned: Option<Unknown>) -> String {
        let count = |key: &str| query.get(key).and_then(Value::as_u64).unwrap_or_default();
        let runs = match self.randomizer {
            Randomizer::Ldp => "any epsilon0-LDP randomizer".to_owned(),
            Randomizer::Krr => format!("{}-ary randomized response", grouped(count("k"))),
            Randomizer::Rr => "binary randomized response".to_owned(),
            Randomizer::Sue => {
                format!("symmetric unary encoding of {} values", grouped(count("k")))
            }
            Randomizer::Oue => {
                format!("optimized unary encoding of {} values", grouped(count("k")))
            }
            Randomizer::Subset => format!("subset selection from {} values", grouped(count("k"))),
            Randomizer::Hadamard => {
                format!("Hadamard response over {} values", grouped(count("k")))
            }
            Randomizer::Olh => format!("local hashing of {} values", grouped(count("k"))),
            Randomizer::Matrix => "the randomizer of a file".to_owned(),
            Randomizer::ApproxLdp => "any (epsilon0, delta0)-LDP randomizer".to_owned(),
            Randomizer::Laplace => "Laplace noise on [0, 1]".to_owned(),
            Randomizer::TruncatedLaplace => "truncated Laplace noise on [0, 1]".to_owned(),
            Randomizer::DiscreteLaplace => {
                format!("discrete Laplace noise on {} values", grouped(count("k")))
            }
            Randomizer::Duchi => "Duchi's mean mechanism".to_owned(),
            Randomizer::Piecewise => "the piecewise mean mechanism".to_owned(),
            Randomizer::Hybrid => "the hybrid mean mechanism".to_owned(),
            Randomizer::DiscreteGaussian => "discrete Gaussian noise on [0, 1]".to_owned(),
            Randomizer::RInf => "R_inf on vectors".to_owned(),
            Randomizer::R1 => "R_1 on vectors".to_owned(),
            Randomizer::R2 => "R_2 on vectors".to_owned(),
            Randomizer::PrivUnit => "PrivUnit on vectors".to_owned(),
            Randomizer::Gaussian if self.domain == Some(Where::Ball) => {
                "Gaussian noise on vectors of norm at most 1".to_owned()
            }
            Randomizer::Gaussian => "Gaussian noise on [0, 1]".to_owned(),
            Randomizer::RandomAllocation => "Gaussian noise".to_owned(),
        };
        let (parameter, value) = match self.randomizer {
            Randomizer::Gaussian | Randomizer::DiscreteGaussian | Randomizer::RandomAllocation => {
                ("sigma", self.sigma.as_deref())
            }
            Randomizer::Matrix => ("file", self.file.as_deref().and_then(Path::to_str)),
            _ => ("epsilon0", self.epsilon0.as_deref()),
        };
        let value = match turned {
            Some(Unknown::Epsilon0 | Unknown::Sigma) => String::new(),
            _ => format!(", {parameter} = {}", value.unwrap_or_default().trim()),
        };
        let many = |turns: Unknown, letter: &str, key: &str| match turned {
            Some(turned) if turned == turns => letter.to_owned(),
            _ => grouped(count(key)),
        };
        let users = many(Unknown::Users, "n", "users");
        let rounds = many(Unknown::Rounds, "T", "rounds");
        if self.randomizer == Randomizer::RandomAllocation {
            let passes = match rounds.as_str() {
                "1" => "One pass".to_owned(),
                many => format!("{many} passes"),
            };
            return format!(
                "{passes} over {users} steps of the Gaussian mechanism, one of which, chosen at random, sees a record{value}."
            );
        }
        let rounds = match rounds.as_str() {
            "1" => "One shuffled round".to_owned(),
            many => format!("{many} shuffled rounds"),
        };
        let mut sentence = format!("{rounds}, {users} users, {runs}{value}");
        if let Some(delta0) = &self.delta0 {
            sentence += &format!(", delta0 = {}", delta0.trim());
        }
        if query.contains_key("sample") {
            sentence += &format!(", {} of them sampled", grouped(count("sample")));
        }
        if let Some(rate) = &self.check_in {
            let rate = match turned {
                Some(Unknown::CheckIn) => "g",
                _ => rate,
            };
            sentence += &format!(", each taking part with probability {rate}");
        }
        if self.adaptive_within_round {
            sentence += ", adaptive within the round";
        }
        if query["colluding"] != json!(0.0) {
            sentence += &format!(", a fraction {} colluding", self.colluding);
        }
        sentence + "."
    }
}

/// The flag of a word that can be turned, and its name in a query.
pub(crate) fn names(turned: Unknown) -> (&'static str, &'static str) {
    match turned {
        Unknown::Epsilon0 => ("--epsilon0", "epsilon0"),
        Unknown::Rounds => ("--rounds", "rounds"),
        Unknown::Users => ("--users", "users"),
        Unknown::CheckIn => ("--check-in", "check_in"),
        Unknown::Sigma => ("--sigma", "sigma"),
    }
}

/// The largest matrix that is read: bytes of the file, entries, and inputs (every pair of which is priced).
const LARGEST_MATRIX: u64 = 1 << 25;
const MOST_ENTRIES: usize = 250_000;
const MOST_INPUTS: usize = 64;

/// Reads a matrix; errors name the file and the line.
fn read_matrix(path: &Path) -> Result<Channel, Failure> {
    let name = path.display();
    let fail = |message: String| Failure::words("--file", format!("--file {name}: {message}"));
    let size = std::fs::metadata(path)
        .map_err(|error| fail(error.to_string()))?
        .len();
    if size > LARGEST_MATRIX {
        return Err(fail(format!(
            "{size} bytes: at most {LARGEST_MATRIX} are read"
        )));
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|error| fail(error.to_string()))?;
    let (mut rows, mut entries) = (Vec::new(), 0);
    for record in reader.records() {
        let record = record.map_err(|error| fail(error.to_string()))?;
        let line = rows.len() + 1;
        let row: Result<Vec<f64>, Failure> = record
            .iter()
            .enumerate()
            .map(|(column, text)| {
                text.parse().map_err(|_| {
                    fail(format!(
                        "line {line}, column {}: '{text}' is not a number",
                        column + 1
                    ))
                })
            })
            .collect();
        entries += record.len();
        rows.push(row?);
        if rows.len() > MOST_INPUTS || entries > MOST_ENTRIES {
            return Err(fail(format!(
                "more than {MOST_INPUTS} rows or {MOST_ENTRIES} entries: every pair of inputs is priced, and this would take too long"
            )));
        }
    }
    Channel::new(rows).map_err(|error| fail(format!("{error} (rows and columns from 0)")))
}

/// Reads a plan; errors name the file.
fn read_plan(path: &Path) -> Result<Plan, Failure> {
    let name = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::words("--plan", format!("--plan {name} cannot be read: {error}"))
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST_PLAN {
        return Err(Failure::words(
            "--plan",
            format!(
                "--plan {name} is {size} bytes long: at most {LARGEST_PLAN} are read; repeat a round with `repeat`"
            ),
        ));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Plan::from_toml(&text)
        .map_err(|error| Failure::words("--plan", format!("--plan {name}: {error}")))
}
