//! Rényi divergences of a plan: at every order an upper bound for all pairs of datasets, and a lower bound
//! that one pair attains.
//!
//! Upper: the largest over the laws that together dominate a round (the same convex order that makes them
//! dominate every δ makes them dominate every Rényi divergence), added over rounds. Lower: the largest over
//! explicit adversaries, the same one in every round of a kind. For Gaussian noise on an interval: its
//! blanket
//! ([`crate::gaussian::renyi`]) above, or λ/(2σ²), the mechanism without its shuffler, where that is smaller;
//! on a ball the latter alone, because the mass that Theorem G moves has no Rényi divergence. The pair of
//! [`crate::bounds::shuffle_gaussian`] below.
//!
//! Standing: proved; ordinary floating point. (For certified numbers, from privacy loss distributions, see
//! [`crate::Account::renyi`].)

use crate::account::{Account, account};
use crate::bound::{Answer, Bound, Numerics, Standing};
use crate::cells::Fineness;
use crate::error::{Error, Parameter, within};
use crate::laws::{Attained, attained_profiles, dominating_profiles};
use crate::mechanism::KnownCurve;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::rdp::{LARGEST_ORDER, RdpCurve};
use crate::relation::Relation;
use crate::round::Round;

/// How the method of a bound from moments begins.
const MOMENTS: &str = "moments/";

/// One kind of round.
enum Kind {
    /// By its curves.
    Curves(Curves),
    /// By privacy loss distributions: a law has too many atoms to sum over their counts.
    Losses(Account),
}

/// The curves of one kind of round.
struct Curves {
    times: f64,
    /// The smallest holds.
    upper: Vec<KnownCurve>,
    lower: Vec<(RdpCurve, String, String)>,
}

/// Rényi divergences of a plan.
pub struct Divergence {
    relation: Relation,
    kinds: Vec<Kind>,
}

impl Divergence {
    /// Prepares the curves of a round or a plan.
    ///
    /// ```
    /// use shuffledp_accounting::{Divergence, Mechanism, Round};
    /// let divergence = Divergence::new(&Round::new(Mechanism::ldp(4.0)?, 10_000)?)?;
    /// let answer = divergence.at(64.0)?;
    /// assert!((answer.upper().get() - 1.11905942).abs() < 1e-8);
    /// assert!(answer.lower().get() < answer.upper().get());
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(plan: impl Into<Plan>) -> Result<Self, Error> {
        let plan = plan.into();
        let mut kinds = Vec::new();
        for (round, times) in plan.rounds() {
            kinds.push(match Curves::new(round, *times as f64)? {
                Some(curves) => Kind::Curves(curves),
                None => Kind::Losses(account(&Plan::new(round.clone(), *times)?)?),
            });
        }
        // Losses compose as a whole.
        if kinds.iter().all(|kind| matches!(kind, Kind::Losses(_))) {
            kinds = vec![Kind::Losses(account(&plan)?)];
        }
        Ok(Self {
            relation: plan.relation(),
            kinds,
        })
    }

    /// The two bounds at an order above 1.
    pub fn at(&self, order: f64) -> Result<Answer<f64>, Error> {
        within(
            Parameter::Order,
            order,
            order > 1.0 && order <= LARGEST_ORDER,
            "(1, 1e6]",
        )?;
        let by_losses = |account: &Account| account.renyi(order.max(1.0 + 1e-6));
        if let [Kind::Losses(account)] = &self.kinds[..] {
            return by_losses(account);
        }
        let (mut upper, mut lower) = (0.0, 0.0);
        let (mut above, mut below, mut words) = (Vec::new(), Vec::new(), Vec::new());
        for kind in &self.kinds {
            match kind {
                Kind::Losses(account) => {
                    let answer = by_losses(account)?;
                    upper += answer.upper().get();
                    above.push(answer.upper().method().to_owned());
                    if let Some(text) = answer.lower().attained_by() {
                        lower += answer.lower().get();
                        below.push(answer.lower().method().to_owned());
                        words.push(text.to_owned());
                    }
                }
                Kind::Curves(curves) => {
                    if let Some((value, name)) = curves.above(order) {
                        upper += curves.times * value;
                        above.push(format!("{MOMENTS}{name}"));
                    }
                    if let Some((value, name, text)) = curves.below(order) {
                        lower += curves.times * value;
                        below.push(format!("{MOMENTS}{name}"));
                        words.push(text.to_owned());
                    }
                }
            }
        }
        if lower > upper * (1.0 + 1e-9) {
            return Err(Error::Contradiction { lower, upper });
        }
        let proved = Standing::Proved;
        let method = named(above);
        let lower = match below.is_empty() {
            true => Bound::none(0.0, proved),
            false => Bound::lower(lower.min(upper), proved, named(below), join(words, "; ")),
        };
        let upper = Bound::upper(upper, proved, method);
        Ok(Answer::new(self.relation, upper, lower, Numerics::Moments))
    }

    /// Which two datasets are compared.
    pub fn relation(&self) -> Relation {
        self.relation
    }
}

/// Parts in a row, neighbors that are alike once.
fn join(mut parts: Vec<String>, by: &str) -> String {
    parts.dedup();
    parts.join(by)
}

/// The methods of several kinds of rounds: `moments/ldp+rr`, or `moments/ldp+pld/laplace`.
fn named(methods: Vec<String>) -> String {
    let names: Option<Vec<&str>> = methods
        .iter()
        .map(|method| method.strip_prefix(MOMENTS))
        .collect();
    match names {
        Some(names) => {
            let names = names.into_iter().map(str::to_owned).collect();
            format!("{MOMENTS}{}", join(names, "+"))
        }
        None => join(methods, "+"),
    }
}

impl Curves {
    /// The smallest upper bound at this order, and its name.
    fn above(&self, order: f64) -> Option<(f64, &str)> {
        let all = self.upper.iter();
        all.map(|known| (known.at(order), known.name.as_str()))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The largest lower bound at this order, its name, and its datasets.
    fn below(&self, order: f64) -> Option<(f64, &str, &str)> {
        let all = self.lower.iter();
        all.map(|(curve, name, words)| (curve.at(order), name.as_str(), words.as_str()))
            // A curve without a value gives no lower bound.
            .filter(|(value, ..)| value.is_finite())
            .max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// `None` where a law has too many atoms to sum over their counts.
    fn new(round: &Round, times: f64) -> Result<Option<Self>, Error> {
        let attains = round.mechanism().has_lower_bound();
        if let Some(known) = round.mechanism().known_curves(round) {
            return Ok(Some(Self {
                times,
                upper: known.upper,
                lower: known.lower,
            }));
        }
        let (profiles, name) = dominating_profiles(round, Fineness::Coarse)?;
        if profiles.is_empty() {
            return Err(Error::NoRenyiDivergence { mechanism: name });
        }
        let attained = attained_profiles(round, Fineness::Coarse)?;
        let few = |profile: &Profile| profile.atoms().iter().count() <= Profile::MOST_ATOMS;
        let few_attained = |attained: &Attained| attained.profile.law().is_some_and(few);
        if !(profiles.iter().all(few) && attained.iter().all(few_attained)) {
            return Ok(None);
        }
        let curves = |profile: &Profile| -> Vec<RdpCurve> {
            profile
                .directions()
                .iter()
                .map(|&direction| profile.rdp(direction))
                .collect()
        };
        let lower = attained
            .iter()
            .filter(|_| attains)
            .flat_map(|attained| {
                let law = attained.profile.law();
                law.map_or(Vec::new(), curves)
                    .into_iter()
                    .map(|curve| (curve, attained.name.clone(), attained.words.clone()))
            })
            .collect();
        Ok(Some(Self {
            times,
            upper: vec![KnownCurve {
                curves: profiles.iter().flat_map(curves).collect(),
                name: name.to_owned(),
            }],
            lower,
        }))
    }
}
