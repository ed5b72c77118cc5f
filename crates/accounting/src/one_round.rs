//! One round alone: answered by its profiles, without discretizing the privacy loss.

use crate::approximate::{self, Named};
use crate::bound::{Answer, Bound, Delta, Epsilon, Numerics, Standing};
use crate::error::Error;
use crate::laws::{Attained, Priced};
use crate::profile::FINE;
use shuffledp_numerics::enclosure::Wanted;

impl Priced {
    /// The least ε that can be shown, and by what.
    pub(crate) fn upper_epsilon(&self, delta: f64) -> Result<Named, Error> {
        let described = [(&self.round, 1)];
        if self.is_approximate() {
            return approximate::epsilon(&described, delta, &crate::account::pure_epsilon);
        }
        let mut upper: f64 = 0.0;
        for profile in &self.dominating {
            if upper == 0.0 || !profile.meets(upper, delta) {
                upper = upper.max(profile.epsilon_upper(delta));
            }
        }
        let local = approximate::local_epsilon(&described, delta);
        Ok(if local.0 < upper {
            local
        } else {
            (upper, "profile")
        })
    }

    /// The least δ that can be shown, and by what.
    pub(crate) fn upper_delta(&self, epsilon: f64) -> Result<Named, Error> {
        let described = [(&self.round, 1)];
        if self.is_approximate() {
            return approximate::delta(&described, epsilon, &crate::account::pure_delta);
        }
        let upper = self
            .dominating
            .iter()
            .map(|profile| profile.delta_as(epsilon, Wanted::Upper).upper)
            .fold(0.0, f64::max);
        let local = approximate::local_delta(&described, epsilon);
        Ok(if local.0 < upper {
            local
        } else {
            (upper, "profile")
        })
    }

    /// The largest ε that an adversary attains, and which; none where no lower bound is known.
    pub(crate) fn lower_epsilon(&self, delta: f64) -> (f64, Option<&Attained>) {
        let (mut lower, mut best): (f64, _) = (0.0, self.first_attained());
        for attained in self.attained.iter().filter(|_| self.attains()) {
            if lower == 0.0 || attained.profile.exceeds(lower, delta) {
                let value = attained.profile.epsilon_lower(delta);
                if value > lower {
                    (lower, best) = (value, Some(attained));
                }
            }
        }
        (lower, best)
    }

    /// The largest δ that an adversary attains, and which.
    fn lower_delta(&self, epsilon: f64) -> (f64, Option<&Attained>) {
        let (mut lower, mut best) = (0.0, self.first_attained());
        for attained in self.attained.iter().filter(|_| self.attains()) {
            let value = attained.profile.delta_as(epsilon, Wanted::Lower).lower;
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
        let (upper, (lower, best)) =
            rayon::join(|| self.upper_epsilon(delta), || self.lower_epsilon(delta));
        let (upper, way) = upper?;
        finite(upper, self.dominating_name, delta)?;
        ordered(lower, upper)?;
        Ok(self.answer(Epsilon::new(upper)?, Epsilon::new(lower)?, best, way))
    }

    pub(crate) fn delta(&self, epsilon: f64) -> Result<Answer<Delta>, Error> {
        let (upper, way) = self.upper_delta(epsilon)?;
        let (lower, best) = self.lower_delta(epsilon);
        ordered(lower, upper)?;
        Ok(self.answer(Delta::new(upper)?, Delta::new(lower)?, best, way))
    }

    fn answer<T: Copy>(&self, upper: T, lower: T, best: Option<&Attained>, way: &str) -> Answer<T> {
        let certified = Standing::Certified;
        let method = format!("{way}/{}", self.dominating_name);
        Answer::new(
            self.round.relation(),
            Bound::upper(upper, self.standing(way), method),
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

/// Where no ε can be proved there is no answer.
pub(crate) fn finite(epsilon: f64, mechanism: &'static str, delta: f64) -> Result<(), Error> {
    if epsilon.is_finite() {
        Ok(())
    } else {
        Err(Error::NoFiniteEpsilon { mechanism, delta })
    }
}

/// Two bounds that contradict each other are not an answer.
pub(crate) fn ordered(lower: f64, upper: f64) -> Result<(), Error> {
    if lower <= upper {
        Ok(())
    } else {
        Err(Error::Contradiction { lower, upper })
    }
}
