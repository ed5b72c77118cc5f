//! A batch that is released only once it holds enough reports, of which each device sends one by a coin.
//!
//! A shuffler cannot know how many people there are, nor who of them stayed silent. What it can enforce is
//! the size n of the smallest batch that it releases. So the price is that of an analyzer who knows who takes
//! part, all other coins included.
//!
//! ```text
//! b        user 1's coin, P[b = 1] = γ, thrown without a look at the value
//! M_h      h honest reports in a random order
//! batch    b = 0: nothing depends on user 1's value;  b = 1: M_h with h ≥ the honest users among n
//!
//! δ(ε) = γ δ_{M_h}(ε) ≤ γ δ_{M_honest(n)}(ε),     ε(δ) = ε_{M_honest(n)}(δ / γ)
//! ```
//!
//! One honest report more is post-processing of the batch without it, so δ falls with h. Batches that are not
//! released tell that there were too few reports, which no value has a say in.
//!
//! Check-in ([`crate::Participation::CheckIn`]) hides more, since it lets nobody know who takes part, and is
//! about a known number of people. Here the coin counts in δ alone, and the number of people not at all.
//!
//! Standing: that of the round. Attained by an analyzer who knows the others' coins.

use crate::account::{account, answerable};
use crate::bound::{Answer, Bound, Delta, Epsilon, Numerics, Standing};
use crate::error::{Error, Parameter, within};
use crate::participation::Participation;
use crate::round::Round;

/// ε at δ of a batch of at least as many reports as the round has users, where each device sends one with
/// probability `rate`. The round has no sample and no check-in of its own: who takes part is known.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, Round, account, of_batch};
/// let smallest = Round::new(Mechanism::kary_response(10, 2.0)?, 5_000)?;
/// let delta = Delta::new(1e-6)?;
/// let (all, some) = (of_batch(&smallest, 1.0, delta)?, of_batch(&smallest, 0.1, delta)?);
/// assert_eq!(all, account(&smallest)?.epsilon(1e-6)?);
/// // One in ten answers: a little less is lost, and never by counting on those who stay silent.
/// assert!(some.upper().value() < all.upper().value());
/// assert!(some.upper().value() > 0.8 * all.upper().value());
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn of_batch(smallest: &Round, rate: f64, delta: Delta) -> Result<Answer<Epsilon>, Error> {
    let delta = answerable(delta)?;
    let known = 0.0 < rate && rate <= 1.0;
    let rate = within(Parameter::CheckIn, rate, known, "(0, 1]")?;
    // Without users there is no coin of theirs, and the neighbor of a record may be its absence.
    if !smallest.mechanism().has_users() {
        return Err(Error::StepsNotUsers);
    }
    if smallest.participation() != Participation::Everyone {
        return Err(Error::TwoParticipations);
    }
    if rate == 1.0 {
        return account(smallest)?.epsilon(delta);
    }
    if delta >= rate {
        return nothing_lost(smallest);
    }
    // The quotient is rounded to nearest: its neighbors enclose the true one.
    let (below, above) = ((delta / rate).next_down(), (delta / rate).next_up());
    let account = account(smallest)?;
    let lower = match above < 1.0 {
        true => account.epsilon(above)?.lower().clone(),
        false => Bound::none(Epsilon::new(0.0)?, Standing::Certified),
    };
    Ok(account.epsilon(below)?.with_lower(lower))
}

/// A user sends a report less often than δ.
fn nothing_lost(smallest: &Round) -> Result<Answer<Epsilon>, Error> {
    let zero = Epsilon::new(0.0)?;
    let upper = Bound::upper(zero, Standing::Certified, "rate-below-delta".into());
    let lower = Bound::none(zero, Standing::Certified);
    let numerics = Numerics::Profile { accuracy: 0.0 };
    Ok(Answer::new(smallest.relation(), upper, lower, numerics))
}
