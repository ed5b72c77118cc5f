//! Two variants of a shuffled round: the same reports without a shuffler, and a round that loses reports.
//!
//! # Without a shuffler
//!
//! The analyzer sees who sent which report, and one person may take part in every round: T rounds of the
//! local guarantee.
//!
//! ```text
//! ε₀-LDP, (ε₀, δ₀)-LDP   optimal composition (Kairouz, Oh, Viswanath 2015), exact for randomized response
//! Gaussian noise         √T/σ-GDP, exactly (Dong, Roth, Su 2019)
//! ```
//!
//! Standing: proved; ordinary floating point.
//!
//! # With dropouts
//!
//! Reports are lost independently of their values, by coins that nobody sees. The upper bound is that of a
//! round without losses: the reports that arrive are a function of those that were sent (data processing).
//! The lower bound is that of check-in at the rate of the reports that arrive. It is not known for a sample
//! that shrinks, or for a range of rates. For sums the upper bound would be false, because the noise of the
//! lost reports is missing: dropouts are refused there.

use crate::account::{account, answerable};
use crate::bound::{Answer, Bound, Delta, Epsilon, Numerics, Standing};
use crate::bounds::kairouz_2015;
use crate::digits::plain;
use crate::error::{Error, Parameter, within};
use crate::gaussian::gdp_epsilon;
use crate::mechanism::{Local, Mechanism};
use crate::one_round::finite;
use crate::participation::Participation;
use crate::plan::Plan;
use crate::round::Round;

/// A bound on the relative distance from the truth at which the searches for ε end.
const ROUNDED_UP: f64 = 1e-9;

/// ε of a person who sends `rounds` reports of this mechanism without a shuffler.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, unshuffled};
/// let answer = unshuffled(&Mechanism::binary_response(1.0)?, 20, Delta::new(1e-5)?)?;
/// assert!(answer.upper().value() < 20.0 && answer.upper().value() > 19.9);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn unshuffled(
    mechanism: &Mechanism,
    rounds: u64,
    delta: Delta,
) -> Result<Answer<Epsilon>, Error> {
    answerable(delta)?;
    let kairouz = |epsilon0: f64, delta0: f64| match rounds {
        0 => Ok(0.0),
        _ => kairouz_2015::epsilon(rounds, epsilon0, delta0, delta.value()).map_err(|unmet| {
            Error::Domain {
                parameter: Parameter::Delta,
                value: plain(delta.value()),
                allowed: unmet.to_string(),
            }
        }),
    };
    let (value, method, attained) = match mechanism.local() {
        Local::Pure(epsilon0) => {
            let words = "binary randomized response in every round";
            let attained = mechanism.includes_binary_response().then_some(words);
            (kairouz(epsilon0.value(), 0.0)?, "kairouz-2015", attained)
        }
        Local::Approximate(epsilon0, delta0) => {
            let value = kairouz(epsilon0.value(), delta0.value())?;
            (value, "kairouz-2015", None)
        }
        Local::Gaussian(sigma) => {
            let mu = (rounds as f64).sqrt() / sigma.value();
            let words = "two values as far apart as can be, in every round";
            (gdp_epsilon(mu, delta.value()), "gdp", Some(words))
        }
        Local::Gdp(sigma) => {
            let mu = (rounds as f64).sqrt() / sigma.value();
            (gdp_epsilon(mu, delta.value()), "gdp", None)
        }
        Local::Unknown => {
            return Err(Error::NoLocalGuarantee {
                mechanism: mechanism.name(),
            });
        }
    };
    finite(value, mechanism.name(), delta.value())?;
    let proved = Standing::Proved;
    let upper = Epsilon::new(value)?;
    let lower = match attained {
        Some(words) => {
            // The value was rounded up, by less than this.
            let lower = Epsilon::new(value * (1.0 - ROUNDED_UP))?;
            Bound::lower(lower, proved, method.into(), words.into())
        }
        None => Bound::none(Epsilon::new(0.0)?, proved),
    };
    let upper = Bound::upper(upper, proved, method.into());
    Ok(Answer::new(
        mechanism.relation(),
        upper,
        lower,
        Numerics::Moments,
    ))
}

/// ε of `rounds` rounds at δ where a fraction of those who would take part drop out, by coins that nobody
/// sees.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, Round, with_dropout};
/// let round = Round::new(Mechanism::kary_response(4, 1.0)?, 1000)?;
/// let at = Delta::new(1e-6)?;
/// let (all, some) = (with_dropout(&round, 1, 0.0, at)?, with_dropout(&round, 1, 0.2, at)?);
/// assert_eq!(all.upper(), some.upper());
/// assert!(some.lower().value() < all.lower().value());
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn with_dropout(
    round: &Round,
    rounds: u64,
    dropout: f64,
    delta: Delta,
) -> Result<Answer<Epsilon>, Error> {
    let inside = (0.0..1.0).contains(&dropout);
    let dropout = within(Parameter::Dropout, dropout, inside, "[0, 1)")?;
    if dropout > 0.0 && round.randomizer().entry().only_sum_is_seen() {
        let allowed = "{0}: of a sum, a participant who drops out takes a share of the noise along";
        within(Parameter::Dropout, dropout, false, allowed)?;
    }
    let answer = account(&Plan::new(round.clone(), rounds)?)?.epsilon(delta)?;
    if dropout == 0.0 {
        return Ok(answer);
    }
    let rate = match round.participation() {
        Participation::Everyone => Some(1.0),
        Participation::CheckIn(rate) if rate.lowest() == rate.highest() => Some(rate.lowest()),
        _ => None,
    };
    let lower = match rate {
        Some(rate) => {
            let fewer = round.with_check_in(rate * (1.0 - dropout))?;
            let answer = account(&Plan::new(fewer, rounds)?)?.epsilon(delta)?;
            answer.lower().clone()
        }
        None => Bound::none(Epsilon::new(0.0)?, Standing::Certified),
    };
    Ok(answer.with_lower(lower))
}
