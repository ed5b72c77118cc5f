//! The description of one round: the randomizer, the users, and who takes part.

use crate::error::{Error, Parameter, within, within_count};
use crate::mechanism::Mechanism;
use crate::participation::{Participation, Rate};
use crate::relation::Relation;
use crate::spec::{RandomizerSpec, RoundSpec};
use shuffledp_numerics::MAX_COUNT;

/// A shuffled round of `users` users. A description: no number is computed until [`crate::account`].
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The randomizer by name, as it was asked for.
    randomizer: RandomizerSpec,
    mechanism: Mechanism,
    users: u64,
    colluding: f64,
    honest: u64,
    most_honest: u64,
    participation: Participation,
    adaptive_within_round: bool,
}

impl Round {
    /// Everybody takes part, nobody colludes.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, Round};
    /// let round = Round::new(Mechanism::ldp(2.0)?, 10_000)?.check_in(0.01)?;
    /// assert_eq!(round.users(), 10_000);
    /// let alone = Round::new(Mechanism::ldp(2.0)?, 1).unwrap_err();
    /// assert!(alone.to_string().contains("nobody to hide among"));
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(mechanism: Mechanism, users: u64) -> Result<Self, Error> {
        Self::built(mechanism.spec(), mechanism, users)
    }

    /// The same of a randomizer by name.
    pub fn of(randomizer: RandomizerSpec, users: u64) -> Result<Self, Error> {
        let mechanism = randomizer.mechanism()?;
        Self::built(randomizer, mechanism, users)
    }

    fn built(randomizer: RandomizerSpec, mechanism: Mechanism, users: u64) -> Result<Self, Error> {
        Self::check_users(users)?;
        Ok(Self {
            randomizer,
            mechanism,
            users,
            colluding: 0.0,
            honest: users,
            most_honest: users,
            participation: Participation::Everyone,
            adaptive_within_round: false,
        })
    }

    /// An error unless there are at least two users.
    pub(crate) fn check_users(users: u64) -> Result<(), Error> {
        if users == 1 {
            return Err(Error::OneUser);
        }
        within_count(
            Parameter::Users,
            users,
            (2..=MAX_COUNT).contains(&users),
            "[2, 2^53]",
        )
        .map(|_| ())
    }

    /// `size` of the users, drawn without replacement.
    pub fn sample(self, size: u64) -> Result<Self, Error> {
        within_count(
            Parameter::Sample,
            size,
            size >= 1,
            format!("[1, {}]", self.users),
        )?;
        if size > self.users {
            return Err(Error::SampleTooLarge {
                sample: size,
                users: self.users,
            });
        }
        self.taking_part(Participation::Sample(size))
    }

    /// Each user takes part with probability `rate`.
    pub fn check_in(self, rate: f64) -> Result<Self, Error> {
        self.taking_part(Participation::CheckIn(Rate::exactly(rate)?))
    }

    /// Each user takes part with a probability of their own in [`lowest`, `highest`].
    pub fn check_in_between(self, lowest: f64, highest: f64) -> Result<Self, Error> {
        self.taking_part(Participation::CheckIn(Rate::between(lowest, highest)?))
    }

    fn taking_part(mut self, participation: Participation) -> Result<Self, Error> {
        self.refuse_steps()?;
        if self.participation != Participation::Everyone {
            return Err(Error::TwoParticipations);
        }
        self.participation = participation;
        Ok(self)
    }

    /// The same round, each user taking part with another probability.
    pub(crate) fn with_check_in(&self, rate: f64) -> Result<Self, Error> {
        self.refuse_steps()?;
        Ok(Self {
            participation: Participation::CheckIn(Rate::exactly(rate)?),
            ..self.clone()
        })
    }

    /// A fraction of the users may show the analyzer their reports: they hide nobody.
    pub fn colluding(mut self, fraction: f64) -> Result<Self, Error> {
        within(
            Parameter::Colluding,
            fraction,
            (0.0..1.0).contains(&fraction),
            "[0, 1)",
        )?;
        if fraction > 0.0 {
            self.refuse_steps()?;
        }
        // A decimal fraction of a whole number is often whole only up to rounding: 0.1 of 30 is 3 users, not
        // 4.
        let exact = fraction * self.users as f64;
        let slack = (4.0 * f64::EPSILON * exact).min(1e-6);
        self.colluding = fraction;
        // A fraction of a user cannot collude. One colluding user more is safe for an upper bound, one less
        // for a lower bound.
        self.honest = self.users - (exact - slack).ceil() as u64;
        self.most_honest = self.users - (exact + slack).floor() as u64;
        if self.honest < 2 {
            return Err(Error::TooFewHonest {
                fraction,
                users: self.users,
                honest: self.honest,
            });
        }
        Ok(self)
    }

    /// A report may depend on earlier reports of the same round.
    pub fn adaptive_within_round(mut self) -> Result<Self, Error> {
        if !self.mechanism.covers_adaptivity() {
            return Err(Error::AdaptiveNotCovered {
                mechanism: self.mechanism.name(),
            });
        }
        self.adaptive_within_round = true;
        Ok(self)
    }

    /// An error for mechanisms that have steps in place of users: steps do not take part or collude.
    fn refuse_steps(&self) -> Result<(), Error> {
        if self.mechanism.has_users() {
            Ok(())
        } else {
            Err(Error::StepsNotUsers)
        }
    }

    /// The same round with the mechanism of the device that runs it: on a grid a randomizer may have another
    /// law. An error where the mechanism has another neighboring relation, has no users, or does not cover
    /// the adaptivity of the round.
    pub fn run_by(self, mechanism: Mechanism) -> Result<Self, Error> {
        if mechanism.relation() != self.relation() {
            return Err(Error::TwoRelations {
                here: self.relation(),
                there: mechanism.relation(),
            });
        }
        let run = self.with_mechanism(mechanism);
        if run.participation != Participation::Everyone || run.colluding > 0.0 {
            run.refuse_steps()?;
        }
        if run.adaptive_within_round {
            return run.adaptive_within_round();
        }
        Ok(run)
    }

    /// The same round of another mechanism.
    pub(crate) fn with_mechanism(&self, mechanism: Mechanism) -> Self {
        Self {
            randomizer: mechanism.spec(),
            mechanism,
            ..self.clone()
        }
    }

    /// The randomizer by name, with its parameters.
    pub fn randomizer(&self) -> &RandomizerSpec {
        &self.randomizer
    }

    /// `rounds` such rounds in a sentence.
    pub fn sentence(&self, rounds: u64) -> String {
        RoundSpec::of(self, rounds).sentence(None)
    }

    /// Which two datasets a guarantee about this round compares.
    pub fn relation(&self) -> Relation {
        self.mechanism.relation()
    }

    /// What each user runs.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// n.
    pub fn users(&self) -> u64 {
        self.users
    }

    /// The fraction of users who may collude.
    pub fn colluding_fraction(&self) -> f64 {
        self.colluding
    }

    /// The users who do not collude, at least.
    pub fn honest(&self) -> u64 {
        self.honest
    }

    /// The users who do not collude, at most: a fraction of a user cannot collude.
    pub fn most_honest(&self) -> u64 {
        self.most_honest
    }

    /// Who takes part.
    pub fn participation(&self) -> Participation {
        self.participation
    }

    /// Whether a user's randomizer may depend on earlier reports of the round.
    pub fn is_adaptive_within_round(&self) -> bool {
        self.adaptive_within_round
    }
}
