//! Plans: several kinds of rounds, each repeated, from code or from a TOML file.
//!
//! ```toml
//! [[round]]
//! randomizer = "krr"        # ldp (default), krr, rr, ratio, matrix
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
//! The same fields, as JSON, are how an [`crate::Accountant`] is stored.

use crate::channel::Channel;
use crate::error::{Error, Parameter, within};
use crate::mechanism::{Domain, Mechanism, RatioSummary};
use crate::oracle::OracleKind;
use crate::participation::Participation;
use crate::round::Round;
use crate::scalar::ScalarKind;
use serde::{Deserialize, Serialize};

/// The most kinds of rounds in a plan.
const MOST_KINDS: usize = 1000;
/// The most rounds in all.
pub(crate) const MOST_ROUNDS: u64 = 1_000_000_000;
/// The largest plan file, in bytes.
const LARGEST_FILE: usize = 1 << 20;

/// Rounds in any order: the price of a composition does not depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    rounds: Vec<(Round, u64)>,
}

impl Plan {
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
    pub fn then(mut self, round: Round, times: u64) -> Result<Self, Error> {
        Self::check_total(self.total(), times)?;
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

    /// Whether `times` more rounds after `before` are not too many, nor none.
    pub(crate) fn check_total(before: u64, times: u64) -> Result<(), Error> {
        let allowed = (1..=MOST_ROUNDS).contains(&times) && before + times <= MOST_ROUNDS;
        within(Parameter::Rounds, times as f64, allowed, "[1, 1e9] in all").map(|_| ())
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
    /// let error = Plan::from_toml("[[round]]\nepsilon0 = 2.0\nusers = 10000\ncheck_in = -0.5\n").unwrap_err();
    /// assert_eq!(error.to_string(), "line 4, field `check_in`: check-in rate -0.5 is outside (0, 1]");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        if text.len() > LARGEST_FILE {
            return Err(Error::PlanTooLarge {
                bytes: text.len() as u64,
                most: LARGEST_FILE as u64,
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
            let repeat = spec.repeat;
            let round = Round::try_from(spec).map_err(place)?;
            let next = match plan {
                None => Self::new(round, repeat),
                Some(plan) => plan.then(round, repeat),
            };
            plan = Some(next.map_err(place)?);
        }
        plan.ok_or(Error::PlanEmpty)
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

/// The field that sets a parameter.
fn field_of(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Epsilon0 => "epsilon0",
        Parameter::Delta0 => "delta0",
        Parameter::Sigma => "sigma",
        Parameter::Users => "users",
        Parameter::Sample => "sample",
        Parameter::CheckIn => "check_in",
        Parameter::Colluding => "colluding",
        Parameter::Categories => "k",
        Parameter::Rounds => "repeat",
        Parameter::Ratio => "p",
        Parameter::Variation => "beta",
        Parameter::Cover => "q",
        Parameter::Epsilon
        | Parameter::Delta
        | Parameter::Accuracy
        | Parameter::Order
        | Parameter::Alpha => "round",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    #[serde(default)]
    round: Vec<toml::Spanned<RoundSpec>>,
}

/// A round in plain words, as it is written in a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoundSpec {
    #[serde(default)]
    randomizer: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epsilon0: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta0: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sigma: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<DomainName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    k: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beta: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    q: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Vec<f64>>>,
    users: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check_in: Option<RateSpec>,
    #[serde(default)]
    adaptive_within_round: bool,
    #[serde(default)]
    colluding: f64,
    #[serde(default = "once")]
    pub(crate) repeat: u64,
}

fn once() -> u64 {
    1
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    #[default]
    Ldp,
    Krr,
    Rr,
    Ratio,
    Matrix,
    ApproxLdp,
    Gaussian,
    RandomAllocation,
    Laplace,
    TruncatedLaplace,
    DiscreteLaplace,
    Duchi,
    Piecewise,
    Sue,
    Oue,
    Subset,
    Hadamard,
    Olh,
}

/// Where the values are that Gaussian noise is added to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum DomainName {
    Interval,
    Ball,
}

impl Name {
    /// The frequency oracle of this name.
    fn oracle(self) -> Option<OracleKind> {
        match self {
            Self::Sue => Some(OracleKind::SymmetricUnary),
            Self::Oue => Some(OracleKind::OptimizedUnary),
            Self::Subset => Some(OracleKind::SubsetSelection),
            Self::Hadamard => Some(OracleKind::HadamardResponse),
            Self::Olh => Some(OracleKind::LocalHashing),
            _ => None,
        }
    }

    fn of_oracle(kind: OracleKind) -> Self {
        match kind {
            OracleKind::SymmetricUnary => Self::Sue,
            OracleKind::OptimizedUnary => Self::Oue,
            OracleKind::SubsetSelection => Self::Subset,
            OracleKind::HadamardResponse => Self::Hadamard,
            OracleKind::LocalHashing => Self::Olh,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
enum RateSpec {
    One(f64),
    Range([f64; 2]),
}

impl RoundSpec {
    /// The words for a round that occurs `repeat` times.
    pub(crate) fn of(round: &Round, repeat: u64) -> Self {
        let mut spec = Self {
            randomizer: Name::Ldp,
            epsilon0: None,
            delta0: None,
            sigma: None,
            domain: None,
            k: None,
            p: None,
            beta: None,
            q: None,
            rows: None,
            users: round.users(),
            sample: None,
            check_in: None,
            adaptive_within_round: round.is_adaptive_within_round(),
            colluding: round.colluding_fraction(),
            repeat,
        };
        match round.mechanism() {
            Mechanism::Ldp(epsilon0) => spec.epsilon0 = Some(epsilon0.value()),
            Mechanism::BinaryResponse(epsilon0) => {
                (spec.randomizer, spec.epsilon0) = (Name::Rr, Some(epsilon0.value()));
            }
            Mechanism::KaryResponse(k, epsilon0) => {
                (spec.randomizer, spec.k) = (Name::Krr, Some(k.value()));
                spec.epsilon0 = Some(epsilon0.value());
            }
            Mechanism::Ratio(summary) => {
                spec.randomizer = Name::Ratio;
                (spec.p, spec.beta) = (Some(summary.ratio()), Some(summary.variation()));
                spec.q = Some(summary.cover());
            }
            Mechanism::Matrix(channel) => {
                (spec.randomizer, spec.rows) = (Name::Matrix, Some(channel.rows().to_vec()));
            }
            Mechanism::Oracle(oracle) => {
                spec.randomizer = Name::of_oracle(oracle.kind());
                spec.k = Some(oracle.categories().value());
                spec.epsilon0 = Some(oracle.epsilon0().value());
            }
            Mechanism::ApproximateLdp(epsilon0, delta0) => {
                (spec.randomizer, spec.epsilon0) = (Name::ApproxLdp, Some(epsilon0.value()));
                spec.delta0 = Some(delta0.value());
            }
            Mechanism::Scalar(scalar) => {
                spec.epsilon0 = Some(scalar.epsilon0().value());
                spec.randomizer = match scalar.kind() {
                    ScalarKind::Laplace => Name::Laplace,
                    ScalarKind::TruncatedLaplace => Name::TruncatedLaplace,
                    ScalarKind::DiscreteLaplace(levels) => {
                        spec.k = Some(levels.value());
                        Name::DiscreteLaplace
                    }
                    ScalarKind::Duchi => Name::Duchi,
                    ScalarKind::Piecewise => Name::Piecewise,
                };
            }
            Mechanism::Gaussian(sigma, domain) => {
                spec.randomizer = Name::Gaussian;
                // Exact: the diameter is 1 or 2.
                spec.sigma = Some(sigma.value() * domain.diameter());
                spec.domain = Some(match domain {
                    Domain::Interval => DomainName::Interval,
                    Domain::Ball => DomainName::Ball,
                });
            }
            Mechanism::RandomAllocation(sigma) => {
                (spec.randomizer, spec.sigma) = (Name::RandomAllocation, Some(sigma.value()));
            }
        }
        match round.participation() {
            Participation::Everyone => {}
            Participation::Sample(size) => spec.sample = Some(size),
            Participation::CheckIn(rate) if rate.lowest() == rate.highest() => {
                spec.check_in = Some(RateSpec::One(rate.lowest()));
            }
            Participation::CheckIn(rate) => {
                spec.check_in = Some(RateSpec::Range([rate.lowest(), rate.highest()]));
            }
        }
        spec
    }

    fn mechanism(&self) -> Result<Mechanism, Error> {
        let needed =
            |field: &'static str, value: Option<f64>| value.ok_or(Error::MissingField { field });
        let surplus = |present: bool, field: &'static str| {
            if present {
                Err(Error::SurplusField { field })
            } else {
                Ok(())
            }
        };
        let name = self.randomizer;
        surplus(
            self.k.is_some()
                && !matches!(name, Name::Krr | Name::DiscreteLaplace)
                && name.oracle().is_none(),
            "k",
        )?;
        surplus(self.rows.is_some() && name != Name::Matrix, "rows")?;
        surplus(self.delta0.is_some() && name != Name::ApproxLdp, "delta0")?;
        let noisy = matches!(name, Name::Gaussian | Name::RandomAllocation);
        surplus(self.sigma.is_some() && !noisy, "sigma")?;
        surplus(self.domain.is_some() && name != Name::Gaussian, "domain")?;
        for (field, value) in [("p", self.p), ("beta", self.beta), ("q", self.q)] {
            surplus(value.is_some() && name != Name::Ratio, field)?;
        }
        surplus(
            self.epsilon0.is_some() && (noisy || matches!(name, Name::Ratio | Name::Matrix)),
            "epsilon0",
        )?;
        if let Some(kind) = name.oracle() {
            return Mechanism::oracle(
                kind,
                self.k.ok_or(Error::MissingField { field: "k" })?,
                needed("epsilon0", self.epsilon0)?,
            );
        }
        let scalar = |kind| Mechanism::scalar(kind, needed("epsilon0", self.epsilon0)?);
        match name {
            Name::Ldp => Mechanism::ldp(needed("epsilon0", self.epsilon0)?),
            Name::Rr => Mechanism::binary_response(needed("epsilon0", self.epsilon0)?),
            Name::Krr => Mechanism::kary_response(
                self.k.ok_or(Error::MissingField { field: "k" })?,
                needed("epsilon0", self.epsilon0)?,
            ),
            Name::ApproxLdp => Mechanism::approximate_ldp(
                needed("epsilon0", self.epsilon0)?,
                needed("delta0", self.delta0)?,
            ),
            Name::Gaussian => Mechanism::gaussian(
                needed("sigma", self.sigma)?,
                match self.domain {
                    None | Some(DomainName::Interval) => Domain::Interval,
                    Some(DomainName::Ball) => Domain::Ball,
                },
            ),
            Name::RandomAllocation => Mechanism::random_allocation(needed("sigma", self.sigma)?),
            Name::DiscreteLaplace => Mechanism::discrete_laplace(
                self.k.ok_or(Error::MissingField { field: "k" })?,
                needed("epsilon0", self.epsilon0)?,
            ),
            Name::Laplace => scalar(ScalarKind::Laplace),
            Name::TruncatedLaplace => scalar(ScalarKind::TruncatedLaplace),
            Name::Duchi => scalar(ScalarKind::Duchi),
            Name::Piecewise => scalar(ScalarKind::Piecewise),
            // Seen to above.
            Name::Sue | Name::Oue | Name::Subset | Name::Hadamard | Name::Olh => {
                Err(Error::MissingField { field: "k" })
            }
            Name::Ratio => Ok(Mechanism::Ratio(RatioSummary::new(
                needed("p", self.p)?,
                needed("beta", self.beta)?,
                needed("q", self.q)?,
            )?)),
            Name::Matrix => Ok(Mechanism::Matrix(Channel::new(
                self.rows
                    .clone()
                    .ok_or(Error::MissingField { field: "rows" })?,
            )?)),
        }
    }
}

impl TryFrom<RoundSpec> for Round {
    type Error = Error;

    fn try_from(spec: RoundSpec) -> Result<Self, Error> {
        let mut round = Self::new(spec.mechanism()?, spec.users)?;
        if let Some(size) = spec.sample {
            round = round.sample(size)?;
        }
        match spec.check_in {
            None => {}
            Some(RateSpec::One(rate)) => round = round.check_in(rate)?,
            Some(RateSpec::Range([lowest, highest])) => {
                round = round.check_in_between(lowest, highest)?;
            }
        }
        if spec.adaptive_within_round {
            round = round.adaptive_within_round()?;
        }
        round.colluding(spec.colluding)
    }
}
