//! Rényi divergences of a plan: at every order an upper bound for all pairs of datasets, and a lower bound
//! that one pair attains.
//!
//! Upper: the largest over the laws that together dominate a round (the same convex order that makes them
//! dominate every δ makes them dominate every Rényi divergence), added over rounds. Lower: the largest over
//! explicit adversaries, the same one in every round of a kind. For Gaussian noise: λ/(2σ²), the mechanism
//! without its shuffler, above; the pair of [`crate::bounds::shuffle_gaussian`] below.
//!
//! Standing: proved; ordinary floating point. (For certified numbers, from privacy loss distributions, see
//! [`crate::Account::renyi`].)

use crate::account::{Account, account};
use crate::bound::{Answer, Bound, Numerics, Standing};
use crate::cells::Fineness;
use crate::error::{Error, Parameter, within};
use crate::laws::{Attained, attained_profiles, dominating_profiles};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::rdp::{LARGEST_ORDER, RdpCurve};
use crate::relation::Relation;
use crate::round::Round;

/// The curves of one kind of round.
struct Kind {
    times: f64,
    upper: Vec<RdpCurve>,
    upper_name: String,
    lower: Vec<(RdpCurve, String, String)>,
}

/// Rényi divergences of a plan.
pub struct Divergence {
    relation: Relation,
    source: Source,
}

/// Where the numbers come from.
enum Source {
    /// Sums over counts.
    Moments(Vec<Kind>),
    /// Privacy loss distributions, for laws of many atoms.
    Distributions(Account),
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
        let kinds: Result<Option<Vec<Kind>>, Error> = plan
            .rounds()
            .iter()
            .map(|(round, times)| Kind::new(round, *times as f64))
            .collect();
        let source = match kinds? {
            Some(kinds) => Source::Moments(kinds),
            None => Source::Distributions(account(&plan)?),
        };
        Ok(Self {
            relation: plan.relation(),
            source,
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
        let kinds = match &self.source {
            Source::Moments(kinds) => kinds,
            Source::Distributions(account) => return account.renyi(order.max(1.0 + 1e-6)),
        };
        let (mut upper, mut lower) = (0.0, 0.0);
        let (mut above, mut below, mut words) = (Vec::new(), Vec::new(), Vec::new());
        for kind in kinds {
            upper += kind.times
                * kind
                    .upper
                    .iter()
                    .map(|curve| curve.at(order))
                    .fold(0.0, f64::max);
            above.push(kind.upper_name.clone());
            let best = kind
                .lower
                .iter()
                .map(|(curve, name, words)| (curve.at(order), name, words))
                // A curve without a value gives no lower bound.
                .filter(|(value, ..)| value.is_finite())
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((value, name, text)) = best {
                lower += kind.times * value;
                below.push(name.clone());
                words.push(text.clone());
            }
        }
        if lower > upper * (1.0 + 1e-9) {
            return Err(Error::Contradiction { lower, upper });
        }
        let join = |mut parts: Vec<String>, by: &str| {
            parts.dedup();
            parts.join(by)
        };
        let proved = Standing::Proved;
        let method = format!("moments/{}", join(above, "+"));
        let lower = match below.is_empty() {
            true => Bound::none(0.0, proved),
            false => {
                let method = format!("moments/{}", join(below, "+"));
                Bound::lower(lower.min(upper), proved, method, join(words, "; "))
            }
        };
        let upper = Bound::upper(upper, proved, method);
        Ok(Answer::new(self.relation, upper, lower, Numerics::Moments))
    }

    /// Which two datasets are compared.
    pub fn relation(&self) -> Relation {
        self.relation
    }
}

impl Kind {
    /// `None` where a law has too many atoms to sum over their counts.
    fn new(round: &Round, times: f64) -> Result<Option<Self>, Error> {
        let attains = round.mechanism().has_lower_bound();
        if let Some(known) = round.mechanism().known_curves(round) {
            return Ok(Some(Self {
                times,
                upper: known.upper,
                upper_name: known.upper_name.into(),
                lower: known.lower,
            }));
        }
        let (profiles, name) = dominating_profiles(round, Fineness::Coarse)?;
        if profiles.is_empty() {
            return Err(Error::NotPriced { mechanism: name });
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
            upper: profiles.iter().flat_map(curves).collect(),
            upper_name: name.to_owned(),
            lower,
        }))
    }
}
