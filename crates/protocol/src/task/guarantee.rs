//! What a task promises its users, and what has to be trusted for it: in words, and as data.

use super::{Task, TaskError};
use serde::Serialize;
use shuffledp_accounting::{Answer, Epsilon, Relation, grouped, plain};

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
            trusted: self.trusted(),
        })
    }

    fn trusted(&self) -> Vec<String> {
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
        trusted.push(match colluding > 0.0 {
            true => format!(
                "At most a fraction {} of the reports of a batch are from people who show them to the \
                 analyzer, or from people who are made up.",
                plain(colluding)
            ),
            false => "Nobody in a batch shows the analyzer their report, and nobody in it is made up."
                .to_owned(),
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
        if self.coin.is_some() {
            trusted.push(
                "Each device throws its own coin, without a look at its value. The promise counts on nobody \
                 staying silent: it holds where the analyzer knows who answered."
                    .to_owned(),
            );
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
        let all = self.all_windows.upper();
        sentences.push(match self.windows {
            1 => "A device answers one window.".to_owned(),
            many => format!(
                "A device answers at most {} windows, which together are ({all}, {delta})-differentially \
                 private ({}, {}).",
                grouped(many),
                all.standing(),
                all.method(),
            ),
        });
        sentences
    }
}
