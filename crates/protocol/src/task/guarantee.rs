//! What a task promises its users, what a batch shows of it, and what has to be trusted: in words, and as
//! data.
//!
//! ```text
//! n   the smallest batch,  c   the share of a batch that may collude
//! N   a batch,             m   its reports that no device of the task has sent
//!
//! promised    for n reports, ⌈c n⌉ of which hide nobody
//! m ≤ ⌊c N⌋   the batch may be as it was promised to be
//! m > ⌊c N⌋   it is not: the price is that of N − m reports, of which the share c may collude
//! N − m < 2   nobody is left to hide among: the local guarantee of a report is all there is
//! ```
//!
//! A report that the analyzer's key does not open, or that is malformed, is made up: devices of the task send
//! none. It hides nobody, since everybody sees which one it is.
//!
//! Standing: that of the round ([`of_batch`]).

use super::{Task, TaskError, rate, smallest};
use serde::Serialize;
use shuffledp_accounting::{
    Answer, Delta, Epsilon, Relation, Round, RoundSpec, grouped, of_batch, plain, unshuffled,
};

/// The promise of a task.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Guarantee {
    /// Which change of the data it is about.
    pub relation: Relation,
    /// The ε that every batch is promised.
    pub epsilon: f64,
    /// The δ that every batch is promised.
    pub delta: f64,
    /// What the accountant says of a batch of the smallest size.
    pub certified: Answer<Epsilon>,
    /// The reports of the smallest batch that is released.
    pub smallest_batch: u64,
    /// The share of a batch that may show the analyzer their reports.
    pub colluding: f64,
    /// The windows that a device answers at most.
    pub windows: u64,
    /// What the accountant says of all these windows together, at the same δ.
    pub all_windows: Answer<Epsilon>,
    /// What has to be trusted, in sentences.
    pub trusted: Vec<String>,
}

/// What holds for one batch.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BatchGuarantee {
    /// The reports of the batch.
    pub reports: u64,
    /// Those of them that no device of the task has sent.
    pub made_up: u64,
    /// How many of them the promise allows for.
    pub allowed: u64,
    /// Whether what was promised holds for this batch.
    pub holds: bool,
    /// Whether nobody is left to hide among: only the local guarantee of a report holds.
    pub local: bool,
    /// What the accountant says of this batch: of one of the smallest size where no more is made up than is
    /// allowed for, and of the other reports where more is.
    pub certified: Answer<Epsilon>,
    /// What has to be trusted for that, in sentences.
    pub trusted: Vec<String>,
    /// Whether all windows of a device together cost what the task says, if its others are as promised.
    #[serde(skip)]
    in_all: bool,
    #[serde(skip)]
    promise: Guarantee,
}

impl Task {
    /// What its users are promised.
    pub fn guarantee(&self) -> Result<Guarantee, TaskError> {
        let round = &self.spec.round;
        Ok(Guarantee {
            relation: self.answer.relation(),
            epsilon: self.spec.epsilon,
            delta: self.spec.delta,
            certified: self.answer.clone(),
            smallest_batch: self.smallest_batch(),
            colluding: round.colluding,
            windows: round.rounds,
            all_windows: self.total()?,
            trusted: self.trusted(false),
        })
    }

    /// What holds for a batch of so many reports, of which so many are made up: unreadable, or malformed. An
    /// error where there is no such batch of the task.
    ///
    /// ```
    /// # use shuffledp_accounting::{RandomizerSpec, RoundSpec};
    /// # use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Values};
    /// # let mut randomizer = RandomizerSpec::new("krr")?;
    /// # (randomizer.k, randomizer.epsilon0) = (Some(3), Some(2.0.into()));
    /// # let mut round = RoundSpec::new(randomizer);
    /// # round.users = Some(1000);
    /// # let spec = TaskSpec {
    /// #     name: "commute".to_owned(),
    /// #     round,
    /// #     values: Values::Numbered,
    /// #     epsilon: 0.4,
    /// #     delta: 1e-6,
    /// #     window_seconds: None,
    /// #     tokens: None,
    /// #     second_shuffler: None,
    /// #     analyzer_key: Bytes32([7; 32]),
    /// # };
    /// // A task whose batches have 1,000 reports or more, and none that is made up.
    /// let task = Task::new(spec)?;
    /// assert!(task.guarantee_of_batch(1000, 0)?.holds);
    /// // Among the other 100 nobody hides as well as among 1,000.
    /// let flooded = task.guarantee_of_batch(1000, 900)?;
    /// assert!(!flooded.holds && flooded.certified.upper().value() > 0.4);
    /// # Ok::<(), shuffledp_protocol::task::TaskError>(())
    /// ```
    pub fn guarantee_of_batch(
        &self,
        reports: u64,
        made_up: u64,
    ) -> Result<BatchGuarantee, TaskError> {
        if reports < self.smallest_batch() {
            let allowed = "at least the smallest batch of the task";
            return Err(TaskError::parameter(
                "reports",
                reports.to_string(),
                allowed,
            ));
        }
        if made_up > reports {
            let allowed = "at most the reports of the batch";
            return Err(TaskError::parameter(
                "made_up",
                made_up.to_string(),
                allowed,
            ));
        }
        let promise = self.guarantee()?;
        let allowed = reports - self.round_of(reports)?.most_honest();
        if made_up <= allowed {
            return Ok(BatchGuarantee {
                reports,
                made_up,
                allowed,
                holds: true,
                local: false,
                certified: self.answer.clone(),
                trusted: promise.trusted.clone(),
                in_all: true,
                promise,
            });
        }
        let delta = Delta::of_epsilon(self.spec.delta)?;
        let alone = || {
            let local = unshuffled(self.device.mechanism(), 1, delta);
            local.map(|certified| (certified, true, false))
        };
        let (certified, local, in_all) = match reports - made_up {
            0 | 1 => alone()?,
            rest => match self.round_of(rest) {
                Ok(round) => {
                    let least = self.round_of(self.smallest_batch())?.honest();
                    let in_all = round.honest() >= least;
                    let rate = rate(&self.spec.round)?;
                    (of_batch(&round, rate, delta)?, false, in_all)
                }
                // Those who may collude are all but one of the others.
                Err(TaskError::Accounting(shuffledp_accounting::Error::TooFewHonest {
                    ..
                })) => alone()?,
                Err(error) => return Err(error),
            },
        };
        Ok(BatchGuarantee {
            reports,
            made_up,
            allowed,
            holds: certified.upper().value() <= self.spec.epsilon,
            local,
            certified,
            trusted: self.trusted(true),
            in_all,
            promise,
        })
    }

    /// The round of so many reports.
    fn round_of(&self, reports: u64) -> Result<Round, TaskError> {
        let spec = RoundSpec {
            users: Some(reports),
            ..self.spec.round.clone()
        };
        smallest(&spec, &self.device)
    }

    /// What is trusted in every batch, or in one of whose reports more are made up than were allowed for.
    fn trusted(&self, of_the_others: bool) -> Vec<String> {
        let mut trusted = vec![
            "Devices run the randomizer of the task, and draw from their operating system's randomness.",
        ];
        trusted.push(match self.spec.second_shuffler {
            None => {
                "The shuffler shows the analyzer nothing but batches. An analyzer who learns who sent \
                 what is held back by the local guarantee of a report alone."
            }
            Some(_) => {
                "One of the two shufflers, whichever it is, does as it should and shows nobody what it \
                 sees. The first sees who sends, and nothing that the analyzer gets; the second sees what \
                 the analyzer gets, in an order that the first has drawn, and nobody who sends. An \
                 analyzer who has both is held back by the local guarantee of a report alone."
            }
        });
        let mut trusted: Vec<String> = trusted.into_iter().map(str::to_owned).collect();
        let colluding = self.spec.round.colluding;
        trusted.push(match (colluding > 0.0, of_the_others) {
            (true, others) => format!(
                "At most a fraction {} of the {} are from people who show them to the analyzer, or from \
                 people who are made up.",
                plain(colluding),
                match others {
                    false => "reports of a batch",
                    true => "other reports of this batch",
                }
            ),
            (false, false) => {
                "Nobody in a batch shows the analyzer their report, and nobody in it is made up.".to_owned()
            }
            (false, true) => {
                "None of the other reports of this batch is shown to the analyzer by those who sent it, and \
                 none of them is made up."
                    .to_owned()
            }
        });
        if self.spec.tokens.is_some() {
            trusted.push(
                "A batch counts tokens, one to a report. Whoever makes up people needs a signature of \
                 the issuer for each of them and for that window. The issuer is trusted to sign once for \
                 a person and a window, and to make up nobody itself. It signs blindly: from a token \
                 neither it nor the shuffler, nor both together, can tell whose it is."
                    .to_owned(),
            );
        }
        trusted.extend(self.of_two_shufflers().map(str::to_owned));
        if let (Some(_), Ok(rate)) = (&self.coin, rate(&self.spec.round)) {
            let rate = plain(rate);
            trusted.push(format!(
                "Each device throws its own coin, which says with probability {rate} that it answers, \
                 without a look at its value. The promise counts on nobody else staying silent. It is an \
                 average over a person's own coin: to an analyzer who knows that a person has answered, \
                 delta is 1/{rate} times as large for them."
            ));
        }
        trusted
    }

    /// Who counts, if one of two shufflers is not honest.
    fn of_two_shufflers(&self) -> Option<&'static str> {
        self.spec.second_shuffler?;
        Some(match self.spec.tokens {
            Some(_) => {
                "The second shuffler counts tokens, which the first does not see: a first one that keeps \
                 reports back cannot make up others. The first counts envelopes: if the second is not \
                 honest, people who are made up count."
            }
            None => {
                "Each shuffler counts. But a first one that is not honest can keep reports back and put \
                 reports of its own into their place, and without tokens the second cannot tell: the first \
                 is trusted not to."
            }
        })
    }
}

impl Guarantee {
    /// The promise in sentences, without what is trusted.
    pub fn sentences(&self) -> Vec<String> {
        let (delta, upper) = (plain(self.delta), self.certified.upper());
        let mut sentences = vec![format!(
            "Every batch has {} reports or more, and what the analyzer sees of it is ({}, \
             {delta})-differentially private when {} ({}: {upper}, {}).",
            grouped(self.smallest_batch),
            plain(self.epsilon),
            self.relation,
            upper.standing(),
            upper.method(),
        )];
        sentences.push(self.in_all());
        sentences
    }

    /// What all windows of a device together cost.
    fn in_all(&self) -> String {
        let (delta, all) = (plain(self.delta), self.all_windows.upper());
        match self.windows {
            1 => "A device answers one window of this task. What it answers to other tasks adds to it."
                .to_owned(),
            many => format!(
                "A device answers at most {} windows of this task, which together are ({all}, \
                 {delta})-differentially private ({}, {}). What it answers to other tasks adds to it.",
                grouped(many),
                all.standing(),
                all.method(),
            ),
        }
    }
}

impl BatchGuarantee {
    /// What holds for the batch in sentences, without what is trusted: the promise, unless the batch itself
    /// shows that more of it is made up than was allowed for.
    pub fn sentences(&self) -> Vec<String> {
        let promise = &self.promise;
        if self.made_up <= self.allowed {
            return promise.sentences();
        }
        let (epsilon, delta) = (plain(promise.epsilon), plain(promise.delta));
        let (upper, rest) = (self.certified.upper(), self.reports - self.made_up);
        let mut sentences = vec![format!(
            "{} of the {} reports of this batch are made up: they hide nobody, and the promise allows for {} \
             of them. {}",
            grouped(self.made_up),
            grouped(self.reports),
            grouped(self.allowed),
            match self.holds {
                true => format!("What was promised, ({epsilon}, {delta}), holds all the same."),
                false => format!("What was promised, ({epsilon}, {delta}), DOES NOT HOLD for it."),
            }
        )];
        sentences.push(match self.local {
            true => format!(
                "There is nobody to hide among: what holds is the local guarantee of a report, ({upper}, \
                 {delta})-differentially private when {} ({}, {}).",
                promise.relation,
                upper.standing(),
                upper.method(),
            ),
            false => format!(
                "What the analyzer sees of the other {} reports is ({upper}, {delta})-differentially private \
                 when {} ({}, {}).",
                grouped(rest),
                promise.relation,
                upper.standing(),
                upper.method(),
            ),
        });
        sentences.push(match self.in_all || promise.windows == 1 {
            true => promise.in_all(),
            false => {
                "All windows of a device together cost more than the task says, if one of its \
                      batches is like this one."
                    .to_owned()
            }
        });
        sentences
    }
}
