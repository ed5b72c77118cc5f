//! A device's ledger: which windows of which task it has decided, how often it has answered, and what its
//! owner allows.
//!
//! The coin of a window is thrown once, and a device answers a window once: a decision is on disk before
//! anything is sent. After a crash in between, the window stays decided and nothing is sent: the ledger may
//! count a report that nobody received, and never forgets one that somebody did. A device stops for good when
//! it has answered as many windows as its task allows.
//!
//! A task bounds its own windows, and nobody but the device knows how many tasks there are: the same question
//! under fifty names is fifty tasks. So the owner of a device may set [`Terms`], which stand in the ledger:
//!
//! * a budget over all tasks together, (ε, δ) as the accountant composes them ([`lifetime`]): for who sees
//!   batches alone, if every shuffler and every task does as it promises. Beyond it nothing is answered;
//! * the smallest batch and the largest ε of a task that is answered at all. A device cannot see whether a
//!   shuffler keeps to them. What holds against one that does not is the sum of the local guarantees, which
//!   has a bound of its own.

use crate::error::ServiceError;
use crate::secure_file::{lock, read_or_begin, replace};
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::{Lifetime, Task, TaskSpec, check_budget, lifetime};
use shuffledp_randomizers::Secure;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What a device decided about a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// To send a report.
    Answered,
    /// To stay silent: the coin said so.
    Silent,
    /// To send a dummy: it answers no more, and nobody is to see that.
    Covered,
}

impl Decision {
    fn words(self) -> &'static str {
        match self {
            Self::Answered => "has answered it",
            Self::Silent => "stays silent in it",
            Self::Covered => "has sent a dummy in it",
        }
    }
}

/// A bound on what all answers of a device cost together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The largest ε of all answers, for who sees batches alone.
    pub epsilon: f64,
    /// The δ at which it is counted.
    pub delta: f64,
    /// The largest ε of all answers for who knows which report is whose, at the same δ; none where that is
    /// not bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<f64>,
}

/// What the owner of a device allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The bound over all tasks together; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// No task with smaller batches is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_users: Option<u64>,
    /// No task that promises a larger ε for a batch is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_epsilon: Option<f64>,
}

impl Terms {
    /// These, and where they say nothing the others: a new bound for who sees batches leaves the other one.
    fn or(self, others: Self) -> Self {
        let budget = self.budget.map(|budget| Budget {
            alone: budget
                .alone
                .or(others.budget.and_then(|before| before.alone)),
            ..budget
        });
        Self {
            budget: budget.or(others.budget),
            at_least_users: self.at_least_users.or(others.at_least_users),
            at_most_epsilon: self.at_most_epsilon.or(others.at_most_epsilon),
        }
    }

    /// Refuses a task that is not within them.
    fn check(&self, task: &Task) -> Result<(), ServiceError> {
        let (users, epsilon) = (task.smallest_batch(), task.spec().epsilon);
        match (self.at_least_users, self.at_most_epsilon) {
            (Some(least), _) if users < least => Err(ServiceError::TooFewUsers { users, least }),
            (_, Some(most)) if epsilon > most => {
                Err(ServiceError::TooMuchEpsilon { epsilon, most })
            }
            _ => Ok(()),
        }
    }
}

/// The windows of one task.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Windows {
    task: TaskSpec,
    decided: BTreeMap<u64, Decision>,
}

impl Windows {
    fn count(&self, decision: Decision) -> u64 {
        let of = self.decided.values();
        of.filter(|other| **other == decision).count() as u64
    }
}

/// What is in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Content {
    terms: Terms,
    tasks: BTreeMap<String, Windows>,
}

/// A device's ledger, held by one program at a time.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    content: Content,
    _lock: File,
}

/// How much of a task's allowance is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The windows that were answered.
    pub answered: u64,
    /// The windows in which the coin said to stay silent.
    pub silent: u64,
    /// The windows that may be answered in all.
    pub most: u64,
}

impl Ledger {
    /// Opens the ledger of a file, or begins one.
    pub fn open(path: &Path) -> Result<Self, ServiceError> {
        let lock = lock(path)?;
        let content = read_or_begin(path, "a device's ledger")?;
        Ok(Self {
            path: path.to_owned(),
            content,
            _lock: lock,
        })
    }

    /// What is used up of a task.
    pub fn status(&self, task: &Task) -> Status {
        let windows = self.content.tasks.get(&task.id().to_string());
        let count = |decision| windows.map_or(0, |windows| windows.count(decision));
        Status {
            answered: count(Decision::Answered),
            silent: count(Decision::Silent),
            most: task.spec().round.rounds,
        }
    }

    /// What the owner allows.
    pub fn terms(&self) -> Terms {
        self.content.terms
    }

    /// Sets what the owner allows from now on; what is not given stays as it was.
    pub fn set_terms(&mut self, terms: Terms) -> Result<(), ServiceError> {
        if let Some(budget) = terms.budget {
            check_budget(budget.epsilon, budget.delta)?;
            check_budget(budget.alone.unwrap_or(0.0), budget.delta)?;
        }
        check_budget(terms.at_most_epsilon.unwrap_or(0.0), 0.5)?;
        let terms = terms.or(self.content.terms);
        if terms == self.content.terms {
            return Ok(());
        }
        self.content.terms = terms;
        self.write()
    }

    /// What all answers so far cost together at a δ, to all tasks.
    pub fn spent(&self, delta: f64) -> Result<Lifetime, ServiceError> {
        self.spent_with(None, delta)
    }

    /// The same with one answer more.
    fn spent_with(&self, more: Option<&Task>, delta: f64) -> Result<Lifetime, ServiceError> {
        let tasks = self.content.tasks.values();
        let answered = tasks.map(|windows| (&windows.task, windows.count(Decision::Answered)));
        let more = more.map(|task| (task.spec(), 1));
        Ok(lifetime(answered.chain(more), delta)?)
    }

    /// Why no window of this task is answered any more, or at all.
    fn refusal(&self, task: &Task) -> Result<Option<ServiceError>, ServiceError> {
        let status = self.status(task);
        if status.answered >= status.most {
            return Ok(Some(ServiceError::Spent { most: status.most }));
        }
        let terms = &self.content.terms;
        if let Err(refused) = terms.check(task) {
            return Ok(Some(refused));
        }
        let Some(budget) = terms.budget else {
            return Ok(None);
        };
        let then = self.spent_with(Some(task), budget.delta)?;
        let beyond = then.shuffled > budget.epsilon;
        let beyond_alone = match (budget.alone, then.alone) {
            (Some(most), Some(alone)) => alone > most,
            (Some(_), None) => true,
            (None, _) => false,
        };
        Ok(
            (beyond || beyond_alone).then_some(ServiceError::BeyondBudget {
                budget,
                shuffled: then.shuffled,
                alone: then.alone,
            }),
        )
    }

    /// Whether no window of this task is answered any more. A task that the owner does not allow at all is
    /// not meant: it gets no dummies either.
    pub(crate) fn is_spent(&self, task: &Task) -> Result<bool, ServiceError> {
        let spent = |refusal| {
            matches!(
                refusal,
                ServiceError::Spent { .. } | ServiceError::BeyondBudget { .. }
            )
        };
        Ok(self.refusal(task)?.is_some_and(spent))
    }

    /// Throws the coin of a window and writes down what it said. An error where the window was decided
    /// before, or where the task or the owner allows no more answers.
    pub fn decide(
        &mut self,
        task: &Task,
        window: u64,
        random: &mut Secure,
    ) -> Result<Decision, ServiceError> {
        self.check_open(task, window)?;
        if let Some(refused) = self.refusal(task)? {
            return Err(refused);
        }
        let decision = match task.answers(random) {
            true => Decision::Answered,
            false => Decision::Silent,
        };
        self.put(task, window, decision)
    }

    /// Writes down that a dummy goes out for a window that is not answered. An error where the window was
    /// decided before.
    pub(crate) fn cover(&mut self, task: &Task, window: u64) -> Result<Decision, ServiceError> {
        self.check_open(task, window)?;
        self.put(task, window, Decision::Covered)
    }

    fn check_open(&self, task: &Task, window: u64) -> Result<(), ServiceError> {
        let windows = self.content.tasks.get(&task.id().to_string());
        match windows.and_then(|windows| windows.decided.get(&window)) {
            Some(decision) => {
                let decision = decision.words();
                Err(ServiceError::Decided { window, decision })
            }
            None => Ok(()),
        }
    }

    fn put(
        &mut self,
        task: &Task,
        window: u64,
        decision: Decision,
    ) -> Result<Decision, ServiceError> {
        let tasks = &mut self.content.tasks;
        let windows = tasks.entry(task.id().to_string());
        let windows = windows.or_insert_with(|| Windows {
            task: task.spec().clone(),
            decided: BTreeMap::new(),
        });
        windows.decided.insert(window, decision);
        self.write()?;
        Ok(decision)
    }

    fn write(&self) -> Result<(), ServiceError> {
        // Texts and finite numbers: nothing that JSON cannot hold.
        let text = serde_json::to_string_pretty(&self.content).unwrap_or_default() + "\n";
        replace(&self.path, text.as_bytes())
    }
}
