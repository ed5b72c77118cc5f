//! `shuffledp audit`: attacks the code that runs, and puts what it found beside the bracket.

use crate::answer::{Format, STYLE};
use crate::device::{Device, of_category, of_number, of_vector};
use crate::failure::Failure;
use crate::number::{grouped, plain, real, rounded, whole};
use crate::progress::Progress;
use crate::words::{Question, Words};
use clap::{Args, ValueEnum};
use comfy_table::{ContentArrangement, Table};
use serde_json::json;
use shuffledp::protocol::Confidence;
use shuffledp::protocol::audit::{
    Evidence, Finding, Pair, Place, Setting, Shuffle, audit, shuffled,
};
use shuffledp::protocol::shuffler;
use shuffledp::randomizers::{Random, Randomizer, Secure, Simulated};
use shuffledp::{Answer, Delta, Epsilon, Side};
use std::borrow::Borrow;
use std::process::ExitCode;

/// Reports of one dataset, where nobody says how many runs: some twenty seconds, of categories and of the rest.
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
    pub(crate) words: Words,
    /// Central delta: what rests on events rarer than this is not seen
    #[arg(
        long,
        value_name = "D",
        default_value = "1e-3",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    delta: String,
    /// The two values of user 1, such as 0,1 [default: searched for]
    #[arg(
        long,
        value_name = "A,B",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    pair: Option<String>,
    /// What all others hold [default: searched for]
    #[arg(
        long,
        value_name = "C",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    others: Option<String>,
    /// Runs of each dataset [default: what makes 1.5e8 reports, 2.5e7 of numbers and vectors, from 1000 to 1.5e6]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    trials: Option<String>,
    /// How sure the finding is, in [0.5, 1)
    #[arg(
        long,
        value_name = "C",
        default_value = "0.95",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    confidence: String,
    /// Users who would take part and fail to, by a coin that knows no value
    #[arg(
        long,
        value_name = "F",
        default_value = "0",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    dropout: String,
    /// Runs with the same seed are the same [default: drawn, and printed]
    #[arg(
        long,
        value_name = "S",
        allow_hyphen_values = true,
        help_heading = "Attack"
    )]
    seed: Option<String>,
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
    /// The text, and whether the guarantee was broken.
    pub(crate) fn text(&self) -> Result<(String, ExitCode), Failure> {
        let words = &self.words;
        words.refuse_accuracy()?;
        let delta = Delta::new(real("--delta", &self.delta)?)?;
        if let Some(text) = &words.dimension
            && whole("--dimension", text)? > MOST_COORDINATES
        {
            return Err(Failure::value(
                "--dimension",
                text,
                "at most 2^20 for an audit",
            ));
        }
        let priced = Device::new(words, 1.0)?;
        let device = match self.fault {
            Some(Fault::HalfNoise) => Device::new(words, 2.0).map_err(|_| {
                let message =
                    "--break half-noise: at twice the epsilon0, or half the sigma, no device runs";
                Failure::words("--break", message)
            })?,
            _ => Device::new(words, 1.0)?,
        };
        let setting = self.setting(&device, delta)?;
        let (question, bracket) = words.price(priced.mechanism(), setting.dropout, delta)?;
        let shuffle: Shuffle = match self.fault {
            Some(Fault::NoShuffle) => unshuffled,
            Some(Fault::LeakFirst) => leaking,
            _ => shuffled,
        };
        let (finding, pair) = match &device {
            Device::Category(device) => {
                let pairs = self.categories(words)?;
                of_category!(device, r => self.attack(r, &pairs, &setting, shuffle)?)
            }
            Device::Number(device) => {
                let pairs = self.numbers()?;
                of_number!(device, r => self.attack(r, &pairs, &setting, shuffle)?)
            }
            Device::Vector(device) => {
                let pairs = self.vectors(words)?;
                of_vector!(device, r => self.attack(r, &pairs, &setting, shuffle)?)
            }
        };
        let violated = finding.epsilon > bracket.upper.value.value();
        let found = Found {
            finding,
            pair,
            violated,
        };
        let text = match words.format {
            Format::Table => self.table(&question, &setting, &bracket, &found),
            Format::Json => json_object(question, &setting, &bracket, &found, self.fault),
            Format::Csv => csv_lines(&setting, &bracket, &found),
        };
        let code = if violated {
            ExitCode::from(VIOLATED)
        } else {
            ExitCode::SUCCESS
        };
        Ok((text, code))
    }

    fn setting(&self, device: &Device, delta: Delta) -> Result<Setting, Failure> {
        let words = &self.words;
        if words.is_plan() {
            return Err(Failure::words(
                "--plan",
                "--plan has many kinds of rounds: audit one of them",
            ));
        }
        if words.adaptive_within_round {
            let message = "--adaptive-within-round: an audit runs randomizers that do not look at earlier reports";
            return Err(Failure::words("--adaptive-within-round", message));
        }
        let question = words.description()?;
        // Words describe one kind of round.
        let (round, rounds) = &question.plan.rounds()[0];
        if round.honest() != round.users() {
            let message = format!(
                "--colluding {}: an audit runs honest users; give their number as --users",
                words.colluding
            );
            return Err(Failure::words("--colluding", message));
        }
        let (users, rounds) = (round.users(), *rounds);
        if users > MOST_USERS {
            return Err(Failure::value(
                "--users",
                &users.to_string(),
                "at most 1e7 for an audit, which runs them all every time",
            ));
        }
        if rounds > 10_000 {
            return Err(Failure::value(
                "--rounds",
                &rounds.to_string(),
                "at most 10000 for an audit",
            ));
        }
        let length = device.report_length() as u64;
        if users.saturating_mul(length) > MOST_BYTES {
            let message = format!(
                "--users {users} with reports of {length} bytes: an audit holds all of a run in memory, up to 2^28 bytes"
            );
            return Err(Failure::words("--users", message));
        }
        let confidence = real("--confidence", &self.confidence)?;
        let trials = match &self.trials {
            Some(text) => whole("--trials", text)?,
            None => {
                let reports = REPORTS[usize::from(!matches!(device, Device::Category(_)))];
                (reports / (users * rounds)).clamp(1000, 1_500_000)
            }
        };
        if !(1000..=1_000_000_000).contains(&trials) {
            return Err(Failure::value(
                "--trials",
                &trials.to_string(),
                "in [1000, 1e9]",
            ));
        }
        let dropout = real("--dropout", &self.dropout)?;
        if !(0.0..1.0).contains(&dropout) {
            return Err(Failure::value("--dropout", &self.dropout, "in [0, 1)"));
        }
        Ok(Setting {
            users,
            participation: round.participation(),
            dropout,
            rounds,
            trials,
            delta: delta.value(),
            confidence: Confidence::new(confidence).ok_or_else(|| {
                Failure::value("--confidence", &self.confidence, "in [0.5, 1 - 1e-12]")
            })?,
            seed: match &self.seed {
                Some(text) => whole("--seed", text)?,
                // Short enough to type again.
                None => Secure::new()?.word() >> 32,
            },
        })
    }

    /// Datasets of values that are typed, or of those that tell most: others who hold neither value, or one of them.
    fn pairs<V: Copy + PartialEq>(
        &self,
        parse: impl Fn(&'static str, &str) -> Result<V, Failure>,
        ends: &[(V, V)],
        more: &[V],
    ) -> Result<Vec<Pair<V>>, Failure> {
        let ends = match &self.pair {
            None => ends.to_vec(),
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
                return Err(Failure::words(
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
                None => {
                    let third = more
                        .iter()
                        .copied()
                        .find(|value| *value != first && *value != second);
                    let all = third.into_iter().chain([first, second]);
                    pairs.extend(all.map(|others| Pair {
                        first,
                        second,
                        others,
                    }));
                }
            }
        }
        Ok(pairs)
    }

    fn categories(&self, words: &Words) -> Result<Vec<Pair<u64>>, Failure> {
        let k = match &words.k {
            Some(text) => whole("--k", text)?,
            None => 2,
        };
        // Values far apart may lie in different blocks.
        let mut ends = vec![(0, 1)];
        if k > 3 && words.randomizer == crate::words::Randomizer::Hadamard {
            ends.push((0, k - 1));
        }
        let more: Vec<u64> = (0..k.min(3)).rev().collect();
        self.pairs(whole, &ends, &more)
    }

    fn numbers(&self) -> Result<Vec<Pair<f64>>, Failure> {
        self.pairs(real, &[(0.0, 1.0)], &[0.5])
    }

    /// Opposite vectors, and others at one of them, at right angles, or at the middle.
    fn vectors(&self, words: &Words) -> Result<Vec<Pair<Vec<f32>>>, Failure> {
        if self.pair.is_some() || self.others.is_some() {
            let flag = if self.pair.is_some() {
                "--pair"
            } else {
                "--others"
            };
            return Err(Failure::words(
                flag,
                format!("{flag}: vectors are not typed; opposite ones are tried"),
            ));
        }
        let dimension = match &words.dimension {
            Some(text) => whole("--dimension", text)? as usize,
            None => crate::device::DIMENSION,
        };
        let mut axis = vec![0.0f32; dimension];
        if words.randomizer == crate::words::Randomizer::RInf {
            axis.fill(1.0);
        } else {
            axis[0] = 1.0;
        }
        let opposite: Vec<f32> = axis.iter().map(|x| -x).collect();
        let middle = vec![0.0; dimension];
        Ok([&axis, &opposite, &middle]
            .map(|others| Pair {
                first: axis.clone(),
                second: opposite.clone(),
                others: others.clone(),
            })
            .to_vec())
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
                    return Err(Failure::words(flag, format!("{flag}: {error}")));
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

    fn table(
        &self,
        question: &Question,
        setting: &Setting,
        bracket: &Answer<Epsilon>,
        found: &Found,
    ) -> String {
        let percent = plain(100.0 * setting.confidence.value());
        let mut table = Table::new();
        table
            .load_style(STYLE)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(["", "epsilon", "standing", "method"]);
        let mut bound = |side: Side, value: f64, standing: String, method: &str| {
            let name = if method == ATTACK {
                "found".to_owned()
            } else {
                side.to_string()
            };
            table.add_row([name, rounded(value, side), standing, method.to_owned()]);
        };
        let (upper, lower) = (&bracket.upper, &bracket.lower);
        bound(
            Side::Upper,
            upper.value.value(),
            upper.standing.to_string(),
            &upper.method,
        );
        bound(
            Side::Lower,
            lower.value.value(),
            lower.standing.to_string(),
            &lower.method,
        );
        bound(
            Side::Lower,
            found.finding.epsilon,
            format!("{percent} % confidence"),
            ATTACK,
        );
        let fault = match self.fault {
            None => "",
            Some(Fault::NoShuffle) => " A broken copy: nothing is shuffled.",
            Some(Fault::HalfNoise) => " A broken copy: half the noise that is priced.",
            Some(Fault::LeakFirst) => " A broken copy: the first report stays where it is.",
        };
        let verdict = if found.violated {
            format!(
                "Violated: what ran is not ({}, {})-differentially private, but for a chance of {}.",
                rounded(upper.value.value(), Side::Upper),
                plain(setting.delta),
                plain_doubt(setting.confidence)
            )
        } else {
            "Not violated: the attack found nothing beyond the upper bound.".to_owned()
        };
        format!(
            "{}{fault} At delta = {}:\n\n{}\n\nAttack: {}\n{verdict}\n",
            question.sentence,
            plain(setting.delta),
            table.trim_fmt(),
            found.story(setting),
        )
    }
}

/// The method of what was found.
const ATTACK: &str = "likelihood-ratio attack";

/// How often the confidence is misplaced, in digits that do not show the rounding of a difference.
fn plain_doubt(confidence: Confidence) -> String {
    plain((1e12 * (1.0 - confidence.value())).round() / 1e12)
}

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
        let (likelier, other) = if finding.first {
            ("first", "second")
        } else {
            ("second", "first")
        };
        format!(
            "{}, sending {sends}; {looked} speaks for the {likelier} value by a factor of {:.4} or more\nin {} of {} runs with it, and in {} of as many with the {other} (seed {}).",
            self.pair,
            finding.threshold,
            grouped(finding.seen.0),
            grouped(finding.trials),
            grouped(finding.seen.1),
            setting.seed,
        )
    }
}

fn json_object(
    question: Question,
    setting: &Setting,
    bracket: &Answer<Epsilon>,
    found: &Found,
    fault: Option<Fault>,
) -> String {
    let finding = &found.finding;
    let position = match finding.evidence {
        Evidence::Batch => None,
        Evidence::Position(place) => Some(place),
    };
    let object = json!({
        "query": question.query,
        "delta": setting.delta,
        "epsilon": {
            "upper": bracket.upper.value.value(),
            "lower": bracket.lower.value.value(),
            "found": finding.epsilon,
        },
        "upper": {"method": bracket.upper.method, "standing": bracket.upper.standing},
        "lower": {"method": bracket.lower.method, "standing": bracket.lower.standing},
        "found": {
            "confidence": setting.confidence.value(),
            "pair": found.pair,
            "position": position,
            "factor": finding.threshold,
            "seen": [finding.seen.0, finding.seen.1],
            "trials": finding.trials,
            "dropout": setting.dropout,
            "seed": setting.seed,
            "broken": fault.and_then(|fault| fault.to_possible_value().map(|value| value.get_name().to_owned())),
        },
        "violated": found.violated,
    });
    format!("{object}\n")
}

fn csv_lines(setting: &Setting, bracket: &Answer<Epsilon>, found: &Found) -> String {
    let (upper, lower) = (&bracket.upper, &bracket.lower);
    format!(
        "side,epsilon,standing,method,delta,seed\n\
         upper,{},{},{},{delta},\n\
         lower,{},{},{},{delta},\n\
         found,{},{} confidence,{ATTACK},{delta},{}\n",
        upper.value.value(),
        upper.standing,
        upper.method,
        lower.value.value(),
        lower.standing,
        lower.method,
        found.finding.epsilon,
        setting.confidence.value(),
        setting.seed,
        delta = setting.delta,
    )
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

/// A shuffler that is none.
fn unshuffled(
    reports: &[u8],
    length: usize,
    _: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), shuffler::Error> {
    reports.chunks_exact(length).for_each(each);
    Ok(())
}

/// A shuffler that forgets the first report.
fn leaking(
    reports: &[u8],
    length: usize,
    random: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), shuffler::Error> {
    let (first, rest) = reports.split_at(length.min(reports.len()));
    first.chunks_exact(length).for_each(&mut *each);
    shuffled(rest, length, random, each)
}
