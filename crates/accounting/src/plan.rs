//! Plans: several kinds of rounds, each repeated, from code or from a TOML file.
//!
//! ```toml
//! [[round]]
//! randomizer = "krr"        # any name of the catalog; ldp by default
//! k = 10
//! epsilon0 = 3.0
//! users = 10000
//! check_in = 0.01           # or [0.01, 0.02]; or sample = 100; default: everybody
//! repeat = 100
//!
//! [[round]]                 # a population that shrinks is a plan
//! epsilon0 = 3.0
//! users = 8000
//! colluding = 0.1
//! repeat = 50
//! ```
//!
//! The fields are those of a [`RoundSpec`]. The same, as JSON, are how an [`crate::Accountant`] is stored.

use crate::digits::grouped;
use crate::error::{Error, Parameter, within_count};
use crate::relation::Relation;
use crate::round::Round;
use crate::spec::RoundSpec;
use serde::{Deserialize, Serialize, Serializer};

/// The most kinds of rounds in a plan: each has a distribution of its own, which limits time and memory.
const MOST_KINDS: usize = 1000;
/// The most rounds in all: beyond any practical use, and exact as a double.
pub(crate) const MOST_ROUNDS: u64 = 1_000_000_000;
/// The most kinds of rounds that a sentence lists, so that it stays readable.
const MOST_SAID: usize = 4;

/// Rounds in any order: the price of a composition does not depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    rounds: Vec<(Round, u64)>,
}

/// An error where two guarantees have different neighboring relations.
pub(crate) fn check_relation(present: &Round, next: &Round) -> Result<(), Error> {
    let (here, there) = (present.relation(), next.relation());
    if here == there {
        Ok(())
    } else {
        Err(Error::TwoRelations { here, there })
    }
}

impl Plan {
    /// The largest plan file that is read, in bytes: a thousand kinds of rounds with room to spare.
    pub const LARGEST_FILE: usize = 1 << 20;

    /// One kind of round, `times` times.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, Plan, Round};
    /// let round = Round::new(Mechanism::ldp(2.0)?, 10_000)?;
    /// let plan = Plan::new(round.clone(), 100)?.then(round.check_in(0.1)?, 50)?;
    /// assert_eq!(plan.total(), 150);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(round: Round, times: u64) -> Result<Self, Error> {
        Self { rounds: Vec::new() }.then(round, times)
    }

    /// `times` more rounds of this kind.
    ///
    /// An error where the round has another neighboring relation than those before it: an ε for replacing a
    /// value and one for adding a record must not be added.
    pub fn then(mut self, round: Round, times: u64) -> Result<Self, Error> {
        Self::check_total(self.total(), times)?;
        if let Some((first, _)) = self.rounds.first() {
            check_relation(first, &round)?;
        }
        match self
            .rounds
            .iter()
            .position(|(present, _)| *present == round)
        {
            Some(index) => self.rounds[index].1 += times,
            None if self.rounds.len() == MOST_KINDS => {
                return Err(Error::TooManyKinds { most: MOST_KINDS });
            }
            None => self.rounds.push((round, times)),
        }
        Ok(self)
    }

    /// An error where `times` is zero, or where `before` and `times` rounds are too many.
    pub(crate) fn check_total(before: u64, times: u64) -> Result<(), Error> {
        let allowed = (1..=MOST_ROUNDS).contains(&times) && before + times <= MOST_ROUNDS;
        within_count(Parameter::Rounds, times, allowed, "[1, 1e9] in all").map(|_| ())
    }

    /// Which two datasets a guarantee about these rounds compares.
    pub fn relation(&self) -> Relation {
        // A plan has at least one round, and all of them have the same relation.
        self.rounds[0].0.relation()
    }

    /// The rounds in a sentence.
    ///
    /// ```
    /// use shuffledp_accounting::Plan;
    /// let plan = Plan::from_toml("[[round]]\nepsilon0 = 2.0\nusers = 10000\nrepeat = 7\n")?;
    /// let sentence = "7 shuffled rounds, 10,000 users, any epsilon0-LDP randomizer, epsilon0 = 2.";
    /// assert_eq!(plan.sentence(), sentence);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn sentence(&self) -> String {
        match &self.rounds[..] {
            [(round, times)] => round.sentence(*times),
            rounds => {
                let kinds = rounds.len();
                let mut text = format!("{} rounds of {kinds} kinds", grouped(self.total()));
                for (i, (round, times)) in rounds.iter().take(MOST_SAID).enumerate() {
                    let sentence = round.sentence(*times);
                    let separator = if i == 0 { ": " } else { "; " };
                    text += separator;
                    text += sentence.trim_end_matches('.');
                }
                if kinds > MOST_SAID {
                    text += &format!("; and {} more kinds", kinds - MOST_SAID);
                }
                text + "."
            }
        }
    }

    /// The kinds of rounds, each with its number.
    pub fn rounds(&self) -> &[(Round, u64)] {
        &self.rounds
    }

    /// The number of rounds.
    pub fn total(&self) -> u64 {
        self.rounds.iter().map(|(_, times)| times).sum()
    }

    /// Reads a plan; errors name the line and the field.
    ///
    /// ```
    /// use shuffledp_accounting::Plan;
    /// let plan = Plan::from_toml("[[round]]\nepsilon0 = 2.0\nusers = 10000\nrepeat = 7\n")?;
    /// assert_eq!(plan.total(), 7);
    /// let wrong = "[[round]]\nepsilon0 = 2.0\nusers = 10000\ncheck_in = -0.5\n";
    /// let error = Plan::from_toml(wrong).unwrap_err();
    /// assert_eq!(error.to_string(), "line 4, field `check_in`: check-in rate -0.5 is outside (0, 1]");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        if text.len() > Self::LARGEST_FILE {
            return Err(Error::PlanTooLarge {
                bytes: text.len() as u64,
                most: Self::LARGEST_FILE as u64,
            });
        }
        let line_of = |position: usize| text[..position.min(text.len())].matches('\n').count() + 1;
        let file: PlanFile = toml::from_str(text).map_err(|error| Error::PlanSyntax {
            line: error.span().map_or(1, |span| line_of(span.start)),
            message: error.message().trim().replace('\n', ", "),
        })?;
        let mut plan: Option<Self> = None;
        for entry in file.round {
            let start = entry.span().start;
            let spec = entry.into_inner();
            let place = |error: Error| {
                let field = error.parameter().map(field_of);
                let line = field
                    .and_then(|field| line_of_field(text, start, field))
                    .unwrap_or_else(|| line_of(start));
                Error::PlanField {
                    line,
                    field: field.unwrap_or("round"),
                    error: Box::new(error),
                }
            };
            let repeat = spec.rounds;
            let round = Round::try_from(&spec).map_err(place)?;
            let next = match plan {
                None => Self::new(round, repeat),
                Some(plan) => plan.then(round, repeat),
            };
            plan = Some(next.map_err(place)?);
        }
        plan.ok_or(Error::PlanEmpty)
    }
}

/// The list of its rounds, in the fields of a [`RoundSpec`].
impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let specs = self
            .rounds
            .iter()
            .map(|(round, times)| RoundSpec::of(round, *times));
        serializer.collect_seq(specs)
    }
}

impl From<&Round> for Plan {
    fn from(round: &Round) -> Self {
        Self {
            rounds: vec![(round.clone(), 1)],
        }
    }
}

impl From<&Self> for Plan {
    fn from(plan: &Self) -> Self {
        plan.clone()
    }
}

/// The line, within the table that starts at `start`, on which a field is set.
fn line_of_field(text: &str, start: usize, field: &str) -> Option<usize> {
    let before = text[..start.min(text.len())].matches('\n').count();
    text.lines()
        .enumerate()
        .skip(before)
        // The header of this table is the first line; the next header ends it.
        .take_while(|(i, line)| *i == before || !line.trim_start().starts_with("[["))
        .find(|(_, line)| {
            line.trim_start()
                .strip_prefix(field)
                .is_some_and(|rest| rest.trim_start().starts_with('='))
        })
        .map(|(i, _)| i + 1)
}

/// The name of the field in a plan file that sets a parameter.
fn field_of(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Rounds => "repeat",
        other => other.field(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    #[serde(default)]
    round: Vec<toml::Spanned<RoundSpec>>,
}
