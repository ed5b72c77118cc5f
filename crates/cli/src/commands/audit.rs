//! `shuffledp audit`: estimates epsilon by attacking the implementation, next to the proved bounds.

use crate::commands::epsilon::table;
use crate::failure::Failure;
use crate::number::{Count, NotAllowed, Real};
use crate::output::{Block, Grid, Report, fields};
use crate::progress::Progress;
use crate::question::{RoundFlags, described};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use shuffledp::protocol::audit::{self, Audit, AuditSpec, Audited, Evidence, Held, Holds, Place};
use shuffledp::{Input, RoundSpec, Side, grouped, plain, rounded};
use std::process::ExitCode;
use std::str::FromStr;

/// Runs of each dataset behind a running shuffler: about a minute.
const TRIALS_ON_THE_NETWORK: u64 = 1000;
/// Exit code if the attack exceeded the upper bound.
const VIOLATED: u8 = 3;

/// A deliberate fault, to test that the audit finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Reports leave the shuffler in the order in which they were sent
    NoShuffle,
    /// Reports are randomized at twice the epsilon0 (half the sigma) of the accounting
    HalfNoise,
    /// The first report stays in the first place, the others are shuffled
    LeakFirst,
    /// With --network: batches are released however small they are, and attacked when there are four reports
    #[cfg(feature = "service")]
    SealSmall,
}

/// The reports of a batch that is too small: with fewer than that the bounds of many randomizers end.
#[cfg(feature = "service")]
const SMALL: u64 = 4;

impl Fault {
    /// None where it is a fault of a running shuffler alone.
    fn of_the_library(self) -> Option<audit::Fault> {
        Some(match self {
            Self::NoShuffle => audit::Fault::NoShuffle,
            Self::HalfNoise => audit::Fault::HalfNoise,
            Self::LeakFirst => audit::Fault::LeakFirst,
            #[cfg(feature = "service")]
            Self::SealSmall => return None,
        })
    }
}

/// The attack: datasets, number of runs, confidence.
#[derive(Args)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    pub(crate) round: RoundFlags,
    /// Central delta; events rarer than this are not observed
    #[arg(
        long,
        value_name = "D",
        default_value = "1e-3",
        help_heading = "Attack"
    )]
    delta: Real,
    /// The two values of user 1, such as 0,1 [default: searched for]
    #[arg(
        long,
        value_name = "A,B",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    pair: Option<String>,
    /// The value of all others [default: searched for]
    #[arg(
        long,
        value_name = "C",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    others: Option<String>,
    /// Runs of each dataset [default: as many as make 1.5e8 reports, or 2.5e7 of numbers or vectors, but at
    /// least 1000 and at most 1.5e6]
    #[arg(long, value_name = "N", help_heading = "Attack")]
    trials: Option<Count>,
    /// Confidence level of the epsilon that is found, in [0.5, 1)
    #[arg(
        long,
        value_name = "C",
        default_value = "0.95",
        help_heading = "Attack"
    )]
    confidence: Real,
    /// Fraction of participants whose report is lost, independently of their value
    #[arg(long, value_name = "F", default_value = "0", help_heading = "Attack")]
    dropout: Real,
    /// Runs with the same seed are the same [default: drawn, and printed]
    #[arg(long, value_name = "S", help_heading = "Attack")]
    seed: Option<Count>,
    /// Audit a broken copy, to see that the fault is found
    #[arg(
        long = "break",
        value_enum,
        value_name = "FAULT",
        help_heading = "Attack"
    )]
    fault: Option<Fault>,
    /// Attack a running shuffler: reports are sealed, sent to it on loopback, stored, released and fetched;
    /// with 1000 runs unless --trials says otherwise. The seed is that of the reports, not of the shuffler
    #[cfg(feature = "service")]
    #[arg(long, help_heading = "Attack")]
    network: bool,
}

impl AuditArguments {
    /// The report, and the exit code.
    pub(crate) fn report(&self) -> Result<(Report, ExitCode), Failure> {
        self.round.refuse_accuracy()?;
        let round = self.round.spec()?;
        let mut spec = AuditSpec::new(round.clone(), self.delta.0);
        spec.confidence = self.confidence.0;
        spec.dropout = self.dropout.0;
        spec.trials = self.trials.map(|Count(trials)| trials);
        spec.seed = self.seed.map(|Count(seed)| seed);
        spec.fault = self.fault.and_then(Fault::of_the_library);
        let input = round.randomizer.input();
        spec.pair = match &self.pair {
            None => None,
            Some(text) => Some(match text.split_once(',') {
                Some((first, second)) => (
                    held(input, "--pair", first)?,
                    held(input, "--pair", second)?,
                ),
                None => return Err(Failure::value("--pair", text, "two values, such as 0,1")),
            }),
        };
        let others = self.others.as_deref();
        spec.others = others
            .map(|text| held(input, "--others", text))
            .transpose()?;
        if self.network() && spec.trials.is_none() {
            spec.trials = Some(TRIALS_ON_THE_NETWORK);
        }
        let mut audit = spec.prepare()?;
        let promised = audit.answer().clone();
        if self.seals_small() {
            audit = self.of_a_small_batch(spec)?;
        }
        let progress = Progress::of(audit.runs(), "runs");
        let ran = |runs| progress.advance(runs);
        let mut audited = match self.network() {
            false => audit.run(ran)?,
            true => self.on_the_network(&round, audit, promised.upper().value(), ran)?,
        };
        drop(progress);
        if self.seals_small() {
            // The promise is about batches that are large enough, and this one was released all the same.
            audited.violated = audited.finding.epsilon > promised.upper().value();
            audited.answer = promised;
        }
        let code = match audited.violated {
            true => ExitCode::from(VIOLATED),
            false => ExitCode::SUCCESS,
        };
        Ok((self.found(&round, &audited), code))
    }

    #[cfg(feature = "service")]
    fn network(&self) -> bool {
        self.network
    }

    #[cfg(feature = "service")]
    fn seals_small(&self) -> bool {
        self.fault == Some(Fault::SealSmall)
    }

    #[cfg(not(feature = "service"))]
    fn seals_small(&self) -> bool {
        false
    }

    /// The same attack on fewer reports than the smallest batch has.
    #[cfg(feature = "service")]
    fn of_a_small_batch(&self, mut spec: AuditSpec) -> Result<Audit, Failure> {
        if !self.network {
            let message =
                "--break seal-small is a fault of a running shuffler: --network is needed";
            return Err(Failure::flag("--break", message));
        }
        if spec.round.users.is_some_and(|users| users <= SMALL) {
            let message = format!("--break seal-small sends {SMALL} reports: --users must be more");
            return Err(Failure::flag("--users", message));
        }
        spec.round.users = Some(SMALL);
        Ok(spec.prepare()?)
    }

    /// There is no such fault.
    #[cfg(not(feature = "service"))]
    fn of_a_small_batch(&self, spec: AuditSpec) -> Result<Audit, Failure> {
        Ok(spec.prepare()?)
    }

    /// Attacks a running shuffler, or one whose store has the fault.
    #[cfg(feature = "service")]
    fn on_the_network(
        &self,
        round: &RoundSpec,
        audit: Audit,
        promised: f64,
        ran: impl Fn(u64) + Sync,
    ) -> Result<Audited, Failure> {
        use shuffledp_service::audit::{Defect, UnderAudit, check};
        check(&audit)?;
        let defect = match self.fault {
            Some(Fault::NoShuffle) => Some(Defect::KeepsOrder),
            Some(Fault::LeakFirst) => Some(Defect::KeepsFirst),
            Some(Fault::SealSmall) => Some(Defect::ReleasesAll),
            Some(Fault::HalfNoise) | None => None,
        };
        let folder = tempfile::tempdir().map_err(|error| {
            Failure::incomplete(format!("a temporary folder cannot be made: {error}"))
        })?;
        let promise = (promised, self.delta.0);
        let shuffler = UnderAudit::start(round, promise, defect, folder.path())?;
        let audited = shuffler.audit(audit, ran)?;
        shuffler.stop()?;
        Ok(audited)
    }

    #[cfg(not(feature = "service"))]
    fn network(&self) -> bool {
        false
    }

    /// There is no flag for it.
    #[cfg(not(feature = "service"))]
    fn on_the_network(
        &self,
        _: &RoundSpec,
        audit: Audit,
        _: f64,
        ran: impl Fn(u64) + Sync,
    ) -> Result<Audited, Failure> {
        Ok(audit.run(ran)?)
    }

    fn found(&self, spec: &RoundSpec, audited: &Audited) -> Report {
        let (setting, bracket) = (&audited.setting, &audited.answer);
        let percent = plain(100.0 * setting.confidence.value());
        let mut bounds = table("epsilon", bracket);
        bounds.row([
            "found".to_owned(),
            rounded(audited.finding.epsilon, Side::Lower),
            format!("{percent} % confidence"),
            ATTACK.to_owned(),
        ]);
        let mut sentence = spec.sentence(None);
        if setting.dropout > 0.0 {
            sentence += &format!(
                " A fraction {} of them drops out, which the upper bound does not credit.",
                plain(setting.dropout)
            );
        }
        if self.network() {
            sentence += " Reports go through a running shuffler, its sockets and its store.";
        }
        sentence += match self.fault {
            None => "",
            Some(Fault::NoShuffle) => " A broken copy: nothing is shuffled.",
            Some(Fault::HalfNoise) => " A broken copy: half the noise that is priced.",
            Some(Fault::LeakFirst) => " A broken copy: the first report stays where it is.",
            #[cfg(feature = "service")]
            Some(Fault::SealSmall) => " A broken copy: batches of 4 reports are released.",
        };
        let (upper, delta) = (bracket.upper(), plain(setting.delta));
        let verdict = if audited.violated {
            format!(
                "Violated: with {percent} % confidence this code is not ({upper}, {delta})-differentially \
                 private when {}.",
                bracket.relation()
            )
        } else {
            format!(
                "Not violated: the attack found nothing beyond the upper bound, which is about privacy when \
                 {}.",
                bracket.relation()
            )
        };
        let attack = Block::Line(format!("Attack: {}", story(audited)));
        Report {
            blocks: vec![
                Block::Paragraph(format!("{sentence} At delta = {delta}:")),
                Block::Table(bounds),
                attack,
                Block::Line(verdict),
            ],
            json: self.json(spec, audited),
            csv: csv(audited),
            relation: Some(bracket.relation()),
            after: None,
        }
    }

    fn json(&self, spec: &RoundSpec, audited: &Audited) -> Map<String, Value> {
        let (setting, bracket) = (&audited.setting, &audited.answer);
        let finding = &audited.finding;
        let position = match finding.evidence {
            Evidence::Batch => None,
            Evidence::Position(place) => Some(place),
        };
        let fault = self.fault.and_then(|fault| fault.to_possible_value());
        fields(json!({
            "query": described(spec),
            "delta": setting.delta,
            "epsilon": {
                "upper": bracket.upper().value(),
                "lower": bracket.lower().value(),
                "found": finding.epsilon,
            },
            "upper": bracket.upper(),
            "lower": bracket.lower(),
            "found": {
                "confidence": setting.confidence.value(),
                "pair": datasets(audited),
                "position": position,
                "factor": finding.threshold,
                "seen": [finding.seen.0, finding.seen.1],
                "trials": finding.trials,
                "dropout": setting.dropout,
                "seed": setting.seed,
                "broken": fault.map(|fault| fault.get_name().to_owned()),
                "network": self.network(),
            },
            "violated": audited.violated,
        }))
    }
}

/// A value that was typed, of the kind that the randomizer is for.
fn held(input: Input, flag: &str, text: &str) -> Result<Held, Failure> {
    match input {
        Input::Category => typed(flag, text, |Count(number)| Held::Category(number)),
        Input::Vector(_) => {
            let message = format!("{flag}: vectors are not typed; opposite ones are tried");
            Err(Failure::flag(flag, message))
        }
        _ => typed(flag, text, |Real(number)| Held::Number(number)),
    }
}

fn typed<T: FromStr<Err = NotAllowed>>(
    flag: &str,
    text: &str,
    value: impl Fn(T) -> Held,
) -> Result<Held, Failure> {
    let parsed = text.parse().map(value);
    parsed.map_err(|error| Failure::value(flag, text, &error.to_string()))
}

/// The name of the attack, in the column of methods.
const ATTACK: &str = "likelihood-ratio attack";

/// The two datasets in words.
fn datasets(audited: &Audited) -> String {
    let pair = &audited.pair;
    let [first, second, others] = [&pair.first, &pair.second, &pair.others].map(shown);
    format!("user 1 holds {first} or {second}, all others {others}")
}

/// The attack in a sentence.
fn story(audited: &Audited) -> String {
    let finding = &audited.finding;
    let looked = match finding.evidence {
        Evidence::Batch => "the batch".to_owned(),
        Evidence::Position(place) => format!("report {} of the batch", grouped(place as u64 + 1)),
    };
    let sends = match finding.place {
        Place::First => "first",
        Place::Last => "last",
    };
    let (likelier, other) = match finding.likelier {
        Holds::First => ("first", "second"),
        Holds::Second => ("second", "first"),
    };
    format!(
        "{}, sending {sends}; {looked} favors the {likelier} value by a likelihood ratio of {:.4} or more\n\
         in {} of {} runs with it, and in {} of as many with the {other} (seed {}).",
        datasets(audited),
        finding.threshold,
        grouped(finding.seen.0),
        grouped(finding.trials),
        grouped(finding.seen.1),
        audited.setting.seed,
    )
}

fn csv(audited: &Audited) -> Grid {
    let (setting, bracket) = (&audited.setting, &audited.answer);
    let mut csv = Grid::new(["side", "epsilon", "standing", "method", "delta", "seed"]);
    let delta = setting.delta.to_string();
    for bound in bracket.bounds() {
        csv.row([
            bound.side().to_string(),
            bound.value().to_string(),
            bound.standing().to_string(),
            bound.method().to_owned(),
            delta.clone(),
            String::new(),
        ]);
    }
    csv.row([
        "found".to_owned(),
        audited.finding.epsilon.to_string(),
        format!("{} confidence", setting.confidence.value()),
        ATTACK.to_owned(),
        delta,
        setting.seed.to_string(),
    ]);
    csv
}

/// A value in a sentence; vectors are those that an audit tries.
fn shown(held: &Held) -> String {
    match held {
        Held::Category(value) => grouped(*value),
        Held::Number(value) => plain(*value),
        Held::Vector(vector) => {
            let sum: f32 = vector.iter().sum();
            let name = if sum > 0.0 {
                "a vector u of norm 1"
            } else if sum < 0.0 {
                "-u"
            } else {
                "0"
            };
            name.to_owned()
        }
        other => format!("{other:?}"),
    }
}
