//! The words for a mechanism, the same in every accounting command, and the round they describe.

use crate::answer::Format;
use crate::failure::Failure;
use crate::number::{grouped, real, whole};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use shuffledp::{Mechanism, Round};

/// A local randomizer by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Randomizer {
    /// Any epsilon0-LDP randomizer
    Ldp,
    /// k-ary randomized response
    Krr,
    /// Binary randomized response
    Rr,
}

/// What is run, by how many, and who takes part.
#[derive(Args, Debug)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct Words {
    /// Local randomizer
    #[arg(long, value_enum, default_value_t = Randomizer::Ldp)]
    randomizer: Randomizer,
    /// Local guarantee: 0, or from 1e-12 to 100
    #[arg(long, value_name = "E0", allow_hyphen_values = true)]
    epsilon0: String,
    /// Number of categories, for krr
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    k: Option<String>,
    /// Number of users n, at least 2 (1e6 is understood)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    users: String,
    /// M of N users take part, drawn without replacement [default: everybody]
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    sample: Option<String>,
    /// Each user takes part with probability G, or with one of their own between LO and HI [default: everybody]
    #[arg(long, value_name = "G|LO..HI", allow_hyphen_values = true)]
    check_in: Option<String>,
    /// Number of rounds (adaptive composition); only 1 so far
    #[arg(
        long,
        value_name = "T",
        default_value = "1",
        allow_hyphen_values = true
    )]
    rounds: String,
    /// A user's randomizer may depend on earlier reports of the same round
    #[arg(long)]
    adaptive_within_round: bool,
    /// Fraction of users who may collude with the analyzer: they do not count in n
    #[arg(
        long,
        value_name = "F",
        default_value = "0",
        allow_hyphen_values = true
    )]
    colluding: String,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,
}

impl Words {
    /// The round, and the same words as JSON.
    pub(crate) fn round(&self) -> Result<(Round, Map<String, Value>), Failure> {
        let epsilon0 = real("--epsilon0", &self.epsilon0)?;
        let mut query = Map::new();
        let name = match self.randomizer {
            Randomizer::Ldp => "ldp",
            Randomizer::Krr => "krr",
            Randomizer::Rr => "rr",
        };
        query.insert("randomizer".into(), json!(name));
        query.insert("epsilon0".into(), json!(epsilon0));
        let mechanism = match (self.randomizer, &self.k) {
            (Randomizer::Krr, Some(k)) => {
                let k = whole("--k", k)?;
                query.insert("k".into(), json!(k));
                Mechanism::kary_response(k, epsilon0)?
            }
            (Randomizer::Krr, None) => {
                return Err(Failure::words(
                    "--k",
                    "--randomizer krr needs --k, the number of categories (at least 2)",
                ));
            }
            (_, Some(k)) => {
                return Err(Failure::words(
                    "--k",
                    format!("--k {k} is only for --randomizer krr"),
                ));
            }
            (Randomizer::Ldp, None) => Mechanism::ldp(epsilon0)?,
            (Randomizer::Rr, None) => Mechanism::binary_response(epsilon0)?,
        };
        let users = whole("--users", &self.users)?;
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
        let rounds = whole("--rounds", &self.rounds)?;
        if rounds != 1 {
            return Err(Failure::value(
                "--rounds",
                &self.rounds,
                "1: the composition of several rounds is not there yet",
            ));
        }
        query.insert("rounds".into(), json!(rounds));
        query.insert(
            "adaptive_within_round".into(),
            json!(self.adaptive_within_round),
        );
        if self.adaptive_within_round {
            round = round.adaptive_within_round()?;
        }
        let colluding = real("--colluding", &self.colluding)?;
        query.insert("colluding".into(), json!(colluding));
        round = round.colluding(colluding)?;
        Ok((round, query))
    }

    /// The round in a sentence.
    pub(crate) fn sentence(&self, query: &Map<String, Value>) -> String {
        let count = |key: &str| query.get(key).and_then(Value::as_u64).unwrap_or_default();
        let epsilon0 = self.epsilon0.trim();
        let runs = match self.randomizer {
            Randomizer::Ldp => "any epsilon0-LDP randomizer".to_owned(),
            Randomizer::Krr => format!("{}-ary randomized response", grouped(count("k"))),
            Randomizer::Rr => "binary randomized response".to_owned(),
        };
        let mut sentence = format!(
            "One shuffled round, {} users, {runs}, epsilon0 = {epsilon0}",
            grouped(count("users"))
        );
        if query.contains_key("sample") {
            sentence += &format!(", {} of them sampled", grouped(count("sample")));
        }
        if let Some(rate) = &self.check_in {
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
