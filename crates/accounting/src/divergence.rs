//! Rényi divergences of a plan: at every order an upper bound for all pairs of datasets, and a lower bound
//! that one pair attains.
//!
//! Upper: the largest over the laws that together dominate a round (the same convex order that makes them
//! dominate every δ makes them dominate every Rényi divergence), added over rounds. Lower: the largest over
//! explicit adversaries, the same one in every round of a kind. For Gaussian noise: λ/(2σ²), the mechanism
//! without its shuffler, above; the pair of [`crate::bounds::shuffle_gaussian`] below.
//!
//! Standing: proved; ordinary floating point. (Certified, from privacy loss distributions:
//! [`crate::Account::renyi`].)

use crate::account::{Account, account, attained_profiles, dominating_profiles};
use crate::bound::{Answer, Bound, Numerics, Side, Standing};
use crate::bounds::shuffle_gaussian::{self, Crowd};
use crate::cells::Fineness;
use crate::error::{Error, Parameter, within};
use crate::mechanism::Mechanism;
use crate::participation::Participation;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::rdp::{LARGEST_ORDER, Orders, RdpCurve};
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
    source: Source,
}

/// Where the numbers come from.
enum Source {
    /// Sums over counts.
    Moments(Vec<Kind>),
    /// Laws of many atoms: privacy loss distributions.
    Distributions(Account),
}

impl Divergence {
    /// Prepares the curves of a round or a plan.
    ///
    /// ```
    /// use shuffledp_accounting::{Divergence, Mechanism, Round};
    /// let divergence = Divergence::new(&Round::new(Mechanism::ldp(4.0)?, 10_000)?)?;
    /// let answer = divergence.at(64.0)?;
    /// assert!((answer.upper.value - 1.11905942).abs() < 1e-8);
    /// assert!(answer.lower.value < answer.upper.value);
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
        Ok(Self { source })
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
        Ok(Answer {
            upper: Bound {
                value: upper,
                side: Side::Upper,
                standing: Standing::Proved,
                method: format!("moments/{}", join(above, "+")),
                attained_by: None,
            },
            lower: Bound {
                value: lower.min(upper),
                side: Side::Lower,
                standing: Standing::Proved,
                method: format!("moments/{}", join(below, "+")),
                attained_by: Some(join(words, "; ")),
            },
            numerics: Numerics::Moments,
        })
    }
}

impl Kind {
    /// `None` where a law has too many atoms to sum over their counts.
    fn new(round: &Round, times: f64) -> Result<Option<Self>, Error> {
        if let Mechanism::Gaussian(sigma, _) = round.mechanism() {
            return Ok(Some(Self::gaussian(round, sigma.value(), times)));
        }
        if let Mechanism::RandomAllocation(sigma) = round.mechanism() {
            let kind = Self::gaussian(round, sigma.value(), times);
            let pair = shuffle_gaussian::pair(sigma.value(), Crowd::Everyone(round.users()));
            // Known at integer orders. It rises with the order, so the value at the next higher integer is
            // above it.
            let largest = shuffle_gaussian::LARGEST as f64;
            let above = RdpCurve::new(Orders::Reals(largest), move |order| pair.at(order.ceil()));
            return Ok(Some(Self {
                upper: vec![above],
                upper_name: "random-allocation".into(),
                ..kind
            }));
        }
        let (profiles, name) = dominating_profiles(round, Fineness::Coarse)?;
        let attained = attained_profiles(round, Fineness::Coarse)?;
        let few = |profile: &Profile| profile.atoms().iter().count() <= Profile::MOST_ATOMS;
        if !(profiles.iter().all(few) && attained.iter().all(|attained| few(&attained.profile))) {
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
            .flat_map(|attained| {
                curves(&attained.profile)
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

    fn gaussian(round: &Round, sigma: f64, times: f64) -> Self {
        let users = round.honest();
        let crowd = match round.participation() {
            Participation::Everyone => Crowd::Everyone(users),
            Participation::Sample(size) => Crowd::Sample(size, round.users()),
            Participation::CheckIn(rate) => Crowd::CheckIn(users, rate.highest()),
        };
        let pair = shuffle_gaussian::pair(sigma, crowd);
        // Known at integer orders. It rises with the order, so the value at the next lower integer is below
        // it.
        let below = RdpCurve::new(
            Orders::Reals(shuffle_gaussian::LARGEST as f64),
            move |order| {
                if order < 2.0 {
                    0.0
                } else {
                    pair.at(order.floor())
                }
            },
        );
        Self {
            times,
            upper: vec![shuffle_gaussian::unshuffled(sigma)],
            upper_name: "gaussian-unshuffled".into(),
            lower: vec![(
                below,
                "gaussian".into(),
                "Gaussian noise, every other user holding one of the two values".into(),
            )],
        }
    }
}
