//! Every published Rényi curve that applies to a round, with its side and standing. [`crate::compare`]
//! converts the upper ones to ε; a picture over orders draws them all.
//!
//! Curves that depend on a δ (the Approaches of shuffled-check-in) are not here: they are no bounds on a
//! Rényi divergence.

use crate::bound::{Side, Standing};
use crate::bounds::shuffle_gaussian::{self, Crowd};
use crate::bounds::{Unmet, enhanced_rdp, girgis_2021, require, shuffled_check_in, wang_2019};
use crate::error::Error;
use crate::local::LocalEpsilon;
use crate::mechanism::Local;
use crate::participation::{Participation, Rate};
use crate::rdp::RdpCurve;
use crate::round::Round;

/// The mechanism of shuffled-check-in's Theorem 4, which is not a shuffle.
pub(crate) const SECURE_SUM: &str = "secure aggregation: only the noisy sum is seen";

/// A published curve λ ↦ ε(λ) for one round.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Curve {
    /// Its source, and the theorem.
    pub name: &'static str,
    /// Upper or lower.
    pub side: Side,
    /// How it is established.
    pub standing: Standing,
    /// A remark for readers.
    pub note: Option<&'static str>,
    /// The curve, or the condition that is not met.
    pub curve: Result<RdpCurve, Unmet>,
    /// The mechanism that it is about, where that is another one than the round's.
    pub other_mechanism: Option<&'static str>,
}

/// The curves about a round; none where nothing has been published.
///
/// ```
/// use shuffledp_accounting::{Mechanism, Round, Side, curves};
/// let round = Round::new(Mechanism::ldp(2.0)?, 10_000)?;
/// let all = curves(&round)?;
/// let mut upper = all.iter().filter(|curve| curve.side == Side::Upper);
/// let girgis = upper.find(|curve| curve.name == "girgis-2021 CCS").unwrap();
/// assert!(girgis.curve.as_ref().unwrap().at(4.0) > 0.03);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn curves(round: &Round) -> Result<Vec<Curve>, Error> {
    if let Some(sigma) = round.mechanism().gaussian_sum() {
        return Ok(gaussian_sum(round, sigma));
    }
    match round.mechanism().local() {
        Local::Pure(epsilon0) => local(round, epsilon0),
        Local::Gaussian(sigma) => Ok(gaussian(round, sigma.value())),
        Local::Approximate(..) | Local::Gdp(_) | Local::Unknown => Ok(Vec::new()),
    }
}

impl Curve {
    fn upper(
        name: &'static str,
        standing: Standing,
        note: Option<&'static str>,
        curve: Result<RdpCurve, Unmet>,
    ) -> Self {
        Self {
            name,
            side: Side::Upper,
            standing,
            note,
            curve,
            other_mechanism: None,
        }
    }

    fn lower(name: &'static str, curve: RdpCurve) -> Self {
        Self {
            name,
            side: Side::Lower,
            standing: Standing::Proved,
            note: None,
            curve: Ok(curve),
            other_mechanism: None,
        }
    }
}

/// Rounds of ε₀-LDP randomizers.
fn local(round: &Round, local: LocalEpsilon) -> Result<Vec<Curve>, Error> {
    let (users, epsilon0) = (round.honest(), local.value());
    let adaptive = round.is_adaptive_within_round();
    let not_adaptive = || {
        require(!adaptive, || {
            "reports do not depend on earlier ones of the round".into()
        })
    };
    // The lower bounds are attained by binary randomized response, which a named randomizer need not be.
    let any = round.mechanism().includes_binary_response();
    let mut all = Vec::new();
    match round.participation() {
        Participation::Everyone => {
            all.push(Curve::upper(
                "girgis-2021 CCS",
                Standing::Proved,
                None,
                not_adaptive().map(|()| girgis_2021::shuffle_upper(users, epsilon0)),
            ));
            all.push(Curve::upper(
                "enhanced-rdp Theorem 1, corrected",
                Standing::Proved,
                Some("the exact Renyi divergence of the 2021 clones"),
                Ok(enhanced_rdp::theorem_1(users, local)?),
            ));
            all.push(Curve::upper(
                "enhanced-rdp Corollary 2",
                Standing::Asymptotic,
                Some("no error term: not a bound"),
                Ok(enhanced_rdp::corollary_2(users, epsilon0)),
            ));
            if any {
                let lower = girgis_2021::shuffle_lower(round.most_honest(), epsilon0);
                all.push(Curve::lower("girgis-2021 CCS", lower));
            }
        }
        Participation::Sample(drawn) => {
            let sample = drawn.min(users);
            let rate = sample as f64 / users as f64;
            all.push(Curve::upper(
                "girgis-2021 NeurIPS Theorem 1",
                Standing::Proved,
                None,
                not_adaptive().map(|()| girgis_2021::sampled_upper(users, sample, epsilon0)),
            ));
            all.push(Curve::upper(
                "girgis-2021 CCS + wang-2019",
                Standing::Proved,
                None,
                not_adaptive().map(|()| {
                    let base = girgis_2021::shuffle_upper(sample, epsilon0);
                    wang_2019::sampled(base, rate, epsilon0, 20_000)
                }),
            ));
            if any {
                all.push(Curve::lower(
                    "girgis-2021 NeurIPS Theorem 2",
                    girgis_2021::sampled_lower(round.users(), drawn, local)?,
                ));
            }
        }
        Participation::CheckIn(_) => {}
    }
    Ok(all)
}

/// Rounds of Gaussian noise.
fn gaussian(round: &Round, sigma: f64) -> Vec<Curve> {
    const WORST: Option<&str> =
        Some("the divergence of one pair of datasets: a guarantee only if no pair is worse");
    const WHY: Option<&str> =
        Some("false: takes the rate gamma where, given k check-ins, it is k/n");
    let users = round.honest();
    let pair = |crowd| Ok(shuffle_gaussian::pair(sigma, crowd));
    let mut all = vec![Curve::upper(
        "shuffle-gaussian Corollary 1",
        Standing::Proved,
        Some("the mechanism without its shuffler"),
        Ok(shuffle_gaussian::unshuffled(sigma)),
    )];
    match round.participation() {
        Participation::Everyone => {
            all.push(Curve::upper(
                "shuffle-gaussian Theorem 1",
                Standing::Conjectured,
                WORST,
                pair(Crowd::Everyone(users)),
            ));
            all.push(Curve::upper(
                "shuffle-gaussian Theorem 1, orders <= 30",
                Standing::Conjectured,
                Some("as in the paper's Table 1"),
                pair(Crowd::Everyone(users)).map(|curve| curve.capped(30.0)),
            ));
        }
        Participation::Sample(sample) => {
            let sample = sample.min(users);
            all.push(Curve::upper(
                "shuffle-gaussian pair, sampled",
                Standing::Conjectured,
                WORST,
                pair(Crowd::Sample(sample, users)),
            ));
            all.push(Curve::upper(
                "shuffle-gaussian Theorem 2",
                Standing::Conjectured,
                Some("puts a lower bound where an upper bound belongs"),
                Ok(shuffle_gaussian::theorem_2(sigma, sample, users)),
            ));
        }
        Participation::CheckIn(range) => {
            let rate = range.highest();
            let same = || one_rate(range);
            all.push(Curve::upper(
                "shuffle-gaussian pair, check-in",
                Standing::Conjectured,
                WORST,
                same().and_then(|()| pair(Crowd::CheckIn(users, rate))),
            ));
            all.push(Curve::upper(
                "shuffle-gaussian equation 17",
                Standing::Refuted,
                WHY,
                same().and_then(|()| shuffle_gaussian::equation_17(sigma, users, rate)),
            ));
            all.push(Curve::upper(
                "shuffle-gaussian Theorem 3",
                Standing::Refuted,
                WHY,
                same().map(|()| shuffle_gaussian::theorem_3(sigma, users, rate)),
            ));
            all.push(Curve {
                other_mechanism: Some(SECURE_SUM),
                ..theorem_4(users, range, sigma)
            });
        }
    }
    all
}

/// Rounds of Gaussian noise of which only the sum is seen.
fn gaussian_sum(round: &Round, sigma: f64) -> Vec<Curve> {
    match round.participation() {
        Participation::CheckIn(range) => vec![theorem_4(round.honest(), range, sigma)],
        Participation::Everyone | Participation::Sample(_) => Vec::new(),
    }
}

fn theorem_4(users: u64, range: Rate, sigma: f64) -> Curve {
    // A domain of diameter 1 is one of norm 1/2, in another unit.
    let curve = one_rate(range)
        .and_then(|()| shuffled_check_in::distributed(users, range.highest(), 2.0 * sigma))
        .map(|curve| curve.capped(1024.0));
    Curve::upper("shuffled-check-in Theorem 4", Standing::Proved, None, curve)
}

/// The published theorems about check-in assume one rate for everybody.
pub(crate) fn one_rate(range: Rate) -> Result<(), Unmet> {
    require(range.lowest() == range.highest(), || {
        "everybody to take part with the same probability".into()
    })
}
