//! One round alone: answered by its profiles, without discretizing the privacy loss.

use crate::bound::{Answer, Bound, Delta, Epsilon, Numerics, Standing};
use crate::error::Error;
use crate::laws::{Attained, Priced};
use crate::profile::FINE;

impl Priced {
    /// The largest ε that an adversary attains, and this adversary; none where no lower bound is known.
    pub(crate) fn lower_epsilon(&self, delta: f64) -> (f64, Option<&Attained>) {
        let (mut lower, mut best): (f64, _) = (0.0, self.first_attained());
        for attained in self.attained.iter().filter(|_| self.attains()) {
            if lower == 0.0 || attained.profile.exceeds(lower, delta) {
                let value = attained.profile.epsilon(delta);
                if value > lower {
                    (lower, best) = (value, Some(attained));
                }
            }
        }
        (lower, best)
    }

    /// The largest δ that an adversary attains, and this adversary.
    pub(crate) fn lower_delta(&self, epsilon: f64) -> (f64, Option<&Attained>) {
        let (mut lower, mut best) = (0.0, self.first_attained());
        for attained in self.attained.iter().filter(|_| self.attains()) {
            let value = attained.profile.delta(epsilon);
            if value > lower {
                (lower, best) = (value, Some(attained));
            }
        }
        (lower, best)
    }

    fn first_attained(&self) -> Option<&Attained> {
        self.attained.first().filter(|_| self.attains())
    }

    pub(crate) fn epsilon(&self, delta: f64) -> Result<Answer<Epsilon>, Error> {
        let (upper, (lower, best)) = rayon::join(
            || self.dominating.epsilon(delta),
            || self.lower_epsilon(delta),
        );
        let (upper, way) = upper;
        finite(upper, self.dominating_name, delta)?;
        ordered(lower, upper)?;
        Ok(self.answer(Epsilon::new(upper)?, Epsilon::new(lower)?, best, way))
    }

    pub(crate) fn delta(&self, epsilon: f64) -> Result<Answer<Delta>, Error> {
        let (upper, way) = self.dominating.delta(epsilon);
        let (lower, best) = self.lower_delta(epsilon);
        ordered(lower, upper)?;
        Ok(self.answer(Delta::new(upper)?, Delta::new(lower)?, best, way))
    }

    fn answer<T: Copy>(&self, upper: T, lower: T, best: Option<&Attained>, way: &str) -> Answer<T> {
        let certified = Standing::Certified;
        let method = format!("{way}/{}", self.dominating_name);
        Answer::new(
            self.round.relation(),
            Bound::upper(upper, certified, method),
            match best {
                Some(best) => {
                    let method = format!("profile/{}", best.name);
                    Bound::lower(lower, certified, method, best.words.clone())
                }
                None => Bound::none(lower, certified),
            },
            Numerics::Profile { accuracy: FINE },
        )
    }
}

/// An error where no finite ε can be proved.
pub(crate) fn finite(epsilon: f64, mechanism: &'static str, delta: f64) -> Result<(), Error> {
    if epsilon.is_finite() {
        Ok(())
    } else {
        Err(Error::NoFiniteEpsilon { mechanism, delta })
    }
}

/// An error where the two bounds contradict each other.
pub(crate) fn ordered(lower: f64, upper: f64) -> Result<(), Error> {
    if lower <= upper {
        Ok(())
    } else {
        Err(Error::Contradiction { lower, upper })
    }
}
