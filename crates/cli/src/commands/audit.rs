//! `shuffledp audit`: estimates epsilon by attacking the implementation, next to the proved bounds.

use crate::commands::epsilon::table;
use crate::failure::Failure;
use crate::number::{Count, NotAllowed, Real};
use crate::output::{Block, Grid, Report, fields};
use crate::progress::Progress;
use crate::question::{RoundFlags, described};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use shuffledp::protocol::Confidence;
use shuffledp::protocol::audit::{
    Evidence, Finding, Holds, Pair, Place, Setting, Shuffle, audit, categories, leaking, numbers,
    shuffled, unshuffled, vectors, with_others,
};
use shuffledp::randomizers::{Device, Random, Randomizer, Secure};
use shuffledp::{
    Answer, Delta, Epsilon, Round, RoundSpec, Side, grouped, plain, rounded, with_dropout,
};
use std::borrow::Borrow;
use std::process::ExitCode;
use std::str::FromStr;

/// Reports of one dataset, where nobody says how many runs: some twenty seconds, of categories and of the
/// rest.
const REPORTS: [u64; 2] = [150_000_000, 25_000_000];
/// Users of an audit: each run is all of them.
const MOST_USERS: u64 = 10_000_000;
/// Bytes of the reports of one run.
const MOST_BYTES: u64 = 1 << 28;
/// Coordinates of vectors: several are held for each pair.
const MOST_COORDINATES: u64 = 1 << 20;
/// The attack went past the guarantee.
const VIOLATED: u8 = 3;

/// A fault to put in, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Reports come out in the order in which they came in
    NoShuffle,
    /// Randomized at twice the epsilon0 (half the sigma) that is priced
    HalfNoise,
    /// The first report stays where it is, the others are shuffled
    LeakFirst,
}

/// What to attack, and how long.
#[derive(Args)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    pub(crate) round: RoundFlags,
    /// Central delta: events rarer than this are not seen
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
    /// Runs of each dataset [default: what makes 1.5e8 reports, 2.5e7 of numbers and vectors, from 1000 to
    /// 1.5e6]
    #[arg(long, value_name = "N", help_heading = "Attack")]
    trials: Option<Count>,
    /// Confidence of the finding, in [0.5, 1)
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
}

impl AuditArguments {
    /// What was found, and whether the guarantee was broken.
    pub(crate) fn report(&self) -> Result<(Report, ExitCode), Failure> {
        self.round.refuse_accuracy()?;
        let delta = Delta::new(self.delta.0)?;
        let spec = self.round.spec()?;
        if let Some(dimension) = spec.randomizer.dimension
            && dimension > MOST_COORDINATES
        {
            let allowed = "at most 2^20 for an audit";
            return Err(Failure::value("--dimension", dimension, allowed));
        }
        let priced = Device::new(&spec.randomizer, 1.0)?;
        let device = match self.fault {
            Some(Fault::HalfNoise) => {
                let mut louder = spec.randomizer.clone();
                louder.epsilon0 = louder.epsilon0.map(|epsilon0| 2.0 * epsilon0);
                louder.sigma = louder.sigma.map(|sigma| 0.5 * sigma);
                Device::new(&louder, 1.0).map_err(|_| {
                    let message = "--break half-noise: at twice the epsilon0, or half the sigma, no device runs";
                    Failure::flag("--break", message)
                })?
            }
            _ => priced.clone(),
        };
        let round = Round::try_from(&spec)?.run_by(priced.mechanism().clone())?;
        let setting = self.setting(&spec, &round, &device, delta)?;
        let bracket = with_dropout(&round, spec.rounds, setting.dropout, delta)?;
        let shuffle: Shuffle = match self.fault {
            Some(Fault::NoShuffle) => unshuffled,
            Some(Fault::LeakFirst) => leaking,
            _ => shuffled,
        };
        let (finding, pair) = match &device {
            Device::Category(device) => {
                self.attack(device, &self.categories(&spec)?, &setting, shuffle)?
            }
            Device::Number(device) => self.attack(device, &self.numbers()?, &setting, shuffle)?,
            Device::Vector(device) => {
                self.attack(device, &self.vectors(&spec)?, &setting, shuffle)?
            }
            _ => {
                return Err(Failure::flag(
                    "--randomizer",
                    "--randomizer: nobody attacks this",
                ));
            }
        };
        let violated = finding.epsilon > bracket.upper().value();
        let found = Found {
            finding,
            pair,
            violated,
        };
        let code = if violated {
            ExitCode::from(VIOLATED)
        } else {
            ExitCode::SUCCESS
        };
        Ok((self.found(&spec, &setting, &bracket, &found), code))
    }

    fn setting(
        &self,
        spec: &RoundSpec,
        round: &Round,
        device: &Device,
        delta: Delta,
    ) -> Result<Setting, Failure> {
        if spec.adaptive_within_round {
            let message = "--adaptive-within-round: an audit runs randomizers that do not look at earlier reports";
            return Err(Failure::flag("--adaptive-within-round", message));
        }
        if round.honest() != round.users() {
            let message = format!(
                "--colluding {}: an audit runs honest users; give their number as --users",
                plain(spec.colluding)
            );
            return Err(Failure::flag("--colluding", message));
        }
        let (users, rounds) = (round.users(), spec.rounds);
        if users > MOST_USERS {
            let allowed = "at most 1e7 for an audit, which runs them all every time";
            return Err(Failure::value("--users", users, allowed));
        }
        if rounds > 10_000 {
            let allowed = "at most 10000 for an audit";
            return Err(Failure::value("--rounds", rounds, allowed));
        }
        let length = device.report_length() as u64;
        if users.saturating_mul(length) > MOST_BYTES {
            let message = format!(
                "--users {users} with reports of {length} bytes: an audit holds all of a run in memory, \
                 up to 2^28 bytes"
            );
            return Err(Failure::flag("--users", message));
        }
        let trials = match self.trials {
            Some(Count(trials)) => trials,
            None => {
                let reports = REPORTS[usize::from(!matches!(device, Device::Category(_)))];
                (reports / (users * rounds)).clamp(1000, 1_500_000)
            }
        };
        if !(1000..=1_000_000_000).contains(&trials) {
            return Err(Failure::value("--trials", trials, "in [1000, 1e9]"));
        }
        if !(0.0..1.0).contains(&self.dropout.0) {
            return Err(Failure::value("--dropout", self.dropout, "in [0, 1)"));
        }
        Ok(Setting {
            users,
            participation: round.participation(),
            dropout: self.dropout.0,
            rounds,
            trials,
            delta: delta.value(),
            confidence: Confidence::new(self.confidence.0).ok_or_else(|| {
                Failure::value("--confidence", self.confidence, "in [0.5, 1 - 1e-12]")
            })?,
            seed: match self.seed {
                Some(Count(seed)) => seed,
                // Short enough to type again.
                None => Secure::new()?.word() >> 32,
            },
        })
    }

    /// Datasets of the values that are typed, or of the `ends` that an audit tries.
    fn pairs<V: Copy + PartialEq>(
        &self,
        parse: impl Fn(&'static str, &str) -> Result<V, Failure>,
        (ends, more): (Vec<(V, V)>, Vec<V>),
    ) -> Result<Vec<Pair<V>>, Failure> {
        let ends = match &self.pair {
            None => ends,
            Some(text) => match text.split_once(',') {
                Some((first, second)) => vec![(parse("--pair", first)?, parse("--pair", second)?)],
                None => return Err(Failure::value("--pair", text, "two values, such as 0,1")),
            },
        };
        let chosen = match &self.others {
            Some(text) => Some(parse("--others", text)?),
            None => None,
        };
        let mut pairs = Vec::new();
        for (first, second) in ends {
            if first == second {
                return Err(Failure::flag(
                    "--pair",
                    "--pair: the two values are the same: there is nothing to tell apart",
                ));
            }
            match chosen {
                Some(others) => pairs.push(Pair {
                    first,
                    second,
                    others,
                }),
                None => pairs.extend(with_others(first, second, &more)),
            }
        }
        Ok(pairs)
    }

    fn categories(&self, spec: &RoundSpec) -> Result<Vec<Pair<u64>>, Failure> {
        let whole = |flag: &'static str, text: &str| typed(flag, text, |Count(number)| number);
        self.pairs(whole, categories(&spec.randomizer))
    }

    fn numbers(&self) -> Result<Vec<Pair<f64>>, Failure> {
        let real = |flag: &'static str, text: &str| typed(flag, text, |Real(number)| number);
        self.pairs(real, numbers())
    }

    /// Opposite vectors: none can be typed.
    fn vectors(&self, spec: &RoundSpec) -> Result<Vec<Pair<Vec<f32>>>, Failure> {
        let typed = [
            ("--pair", self.pair.is_some()),
            ("--others", self.others.is_some()),
        ];
        match typed.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Failure::flag(
                flag,
                format!("{flag}: vectors are not typed; opposite ones are tried"),
            )),
            None => Ok(vectors(&spec.randomizer)),
        }
    }

    /// Runs it.
    fn attack<R, V>(
        &self,
        randomizer: &R,
        pairs: &[Pair<V>],
        setting: &Setting,
        shuffle: Shuffle,
    ) -> Result<(Finding, String), Failure>
    where
        R: Randomizer + Sync,
        V: Borrow<R::Value> + Sync + Shown,
    {
        for pair in pairs {
            for (flag, value) in [
                ("--pair", &pair.first),
                ("--pair", &pair.second),
                ("--others", &pair.others),
            ] {
                if let Err(error) = randomizer.check(value.borrow()) {
                    return Err(Failure::flag(flag, format!("{flag}: {error}")));
                }
            }
        }
        let progress = Progress::of(setting.runs(pairs.len()), "runs");
        let finding = audit(randomizer, pairs, setting, shuffle, |runs| {
            progress.advance(runs)
        })?;
        let pair = &pairs[finding.pair];
        let words = format!(
            "user 1 holds {} or {}, all others {}",
            pair.first.shown(),
            pair.second.shown(),
            pair.others.shown()
        );
        Ok((finding, words))
    }

    fn found(
        &self,
        spec: &RoundSpec,
        setting: &Setting,
        bracket: &Answer<Epsilon>,
        found: &Found,
    ) -> Report {
        let percent = plain(100.0 * setting.confidence.value());
        let mut bounds = table("epsilon", bracket);
        bounds.row([
            "found".to_owned(),
            rounded(found.finding.epsilon, Side::Lower),
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
        sentence += match self.fault {
            None => "",
            Some(Fault::NoShuffle) => " A broken copy: nothing is shuffled.",
            Some(Fault::HalfNoise) => " A broken copy: half the noise that is priced.",
            Some(Fault::LeakFirst) => " A broken copy: the first report stays where it is.",
        };
        let (upper, delta) = (bracket.upper(), plain(setting.delta));
        let verdict = if found.violated {
            format!(
                "Violated: with {percent} % confidence this code is not ({upper}, {delta})-differentially private \
                 when {}.",
                bracket.relation()
            )
        } else {
            format!(
                "Not violated: the attack found nothing beyond the upper bound, which is about privacy when {}.",
                bracket.relation()
            )
        };
        let attack = Block::Line(format!("Attack: {}", found.story(setting)));
        Report {
            blocks: vec![
                Block::Paragraph(format!("{sentence} At delta = {delta}:")),
                Block::Table(bounds),
                attack,
                Block::Line(verdict),
            ],
            json: self.json(spec, setting, bracket, found),
            csv: csv(setting, bracket, found),
            relation: Some(bracket.relation()),
            after: None,
        }
    }

    fn json(
        &self,
        spec: &RoundSpec,
        setting: &Setting,
        bracket: &Answer<Epsilon>,
        found: &Found,
    ) -> Map<String, Value> {
        let finding = &found.finding;
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
                "pair": found.pair,
                "position": position,
                "factor": finding.threshold,
                "seen": [finding.seen.0, finding.seen.1],
                "trials": finding.trials,
                "dropout": setting.dropout,
                "seed": setting.seed,
                "broken": fault.map(|fault| fault.get_name().to_owned()),
            },
            "violated": found.violated,
        }))
    }
}

/// A value that was typed.
fn typed<T: FromStr<Err = NotAllowed>, V>(
    flag: &str,
    text: &str,
    value: impl Fn(T) -> V,
) -> Result<V, Failure> {
    let parsed = text.parse().map(value);
    parsed.map_err(|error| Failure::value(flag, text, &error.to_string()))
}

/// The method of what was found.
const ATTACK: &str = "likelihood-ratio attack";

/// What came out of it.
struct Found {
    finding: Finding,
    pair: String,
    violated: bool,
}

impl Found {
    /// The attack in a sentence.
    fn story(&self, setting: &Setting) -> String {
        let finding = &self.finding;
        let looked = match finding.evidence {
            Evidence::Batch => "the batch".to_owned(),
            Evidence::Position(place) => {
                format!("report {} of the batch", grouped(place as u64 + 1))
            }
        };
        let sends = match finding.place {
            Place::First => "first",
            Place::Last => "last",
        };
        let (likelier, other) = if finding.likelier == Holds::First {
            ("first", "second")
        } else {
            ("second", "first")
        };
        format!(
            "{}, sending {sends}; {looked} speaks for the {likelier} value by a factor of {:.4} or more\n\
             in {} of {} runs with it, and in {} of as many with the {other} (seed {}).",
            self.pair,
            finding.threshold,
            grouped(finding.seen.0),
            grouped(finding.trials),
            grouped(finding.seen.1),
            setting.seed,
        )
    }
}

fn csv(setting: &Setting, bracket: &Answer<Epsilon>, found: &Found) -> Grid {
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
        found.finding.epsilon.to_string(),
        format!("{} confidence", setting.confidence.value()),
        ATTACK.to_owned(),
        delta,
        setting.seed.to_string(),
    ]);
    csv
}

/// A value in a sentence.
trait Shown {
    fn shown(&self) -> String;
}

impl Shown for u64 {
    fn shown(&self) -> String {
        grouped(*self)
    }
}

impl Shown for f64 {
    fn shown(&self) -> String {
        plain(*self)
    }
}

impl Shown for Vec<f32> {
    fn shown(&self) -> String {
        let sum: f32 = self.iter().sum();
        let name = if sum > 0.0 {
            "a vector u of norm 1"
        } else if sum < 0.0 {
            "-u"
        } else {
            "0"
        };
        name.to_owned()
    }
}
