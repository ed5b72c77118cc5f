//! An audit of a running shuffler: the attack of [`shuffledp_protocol::audit`] on reports that go through
//! both layers of encryption, a socket, the store and its disk, and come out as an analyzer fetches them.
//!
//! The shuffler is started here, on loopback. A run of the attack is one window: all reports are sent in
//! order, the operator closes the window, the analyzer fetches what is released and opens it. The attacker is
//! an analyzer who reads whatever it is given, also a batch that is too small. Runs that go on at the same
//! time have tasks of their own, so that each has a window of its own.
//!
//! A [`Defect`] is a store that breaks a promise, to see that the audit notices.

mod defect;

pub use defect::Defect;

use crate::client::Connection;
use crate::error::ServiceError;
use crate::keys::{Party, make_at};
use crate::loopback::Loopback;
use crate::suite::AwsLc;
use defect::Defective;
use shuffledp_accounting::{Input, Participation, RoundSpec};
use shuffledp_protocol::ShuffleError;
use shuffledp_protocol::audit::{Audit, AuditError, Audited};
use shuffledp_protocol::batch;
use shuffledp_protocol::envelope::{ShufflerKey, envelope_length, seal};
use shuffledp_protocol::hpke::SecretKey;
use shuffledp_protocol::task::{Bytes32, Task, TaskError, TaskSpec, Values};
use shuffledp_randomizers::Secure;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Tasks of a shuffler that is audited. A window takes longer to close the more its task has had, so that
/// there are many more of them than runs at a time.
const TASKS: usize = 32;
/// The most envelopes of one request: what a shuffler takes by default.
const TOGETHER: usize = 1000;

/// Refuses an audit of rounds in which some stay silent: who takes part is not for the shuffler to decide.
pub fn check(audit: &Audit) -> Result<(), AuditError> {
    let setting = audit.setting();
    match setting.participation == Participation::Everyone && setting.dropout == 0.0 {
        true => Ok(()),
        false => Err(AuditError::SomeAreSilent),
    }
}

/// A task, and its first open window.
struct Lane {
    task: Task,
    window: u64,
}

/// A shuffler of its own that an audit attacks.
pub struct UnderAudit {
    shuffler: Loopback,
    connection: Connection,
    operator: Connection,
    key: ShufflerKey,
    secret: SecretKey,
    /// Tasks that no run is using.
    idle: Mutex<Vec<Lane>>,
    returned: Condvar,
}

impl UnderAudit {
    /// Starts a shuffler of rounds like this one, which promises (`epsilon`, `delta`) for each, in a folder.
    pub fn start(
        round: &RoundSpec,
        (epsilon, delta): (f64, f64),
        defect: Option<Defect>,
        folder: &Path,
    ) -> Result<Self, ServiceError> {
        let (_, _, analyzer_key, secret) = make_at(Party::Analyzer, 0, folder, None)?;
        let values = match round.randomizer.input() {
            Input::Category => Values::Numbered,
            Input::Number => Values::Range([0.0, 1.0]),
            _ => Values::Radius(1.0),
        };
        let task = |number: usize| {
            Task::new(TaskSpec {
                name: format!("audit {number}"),
                round: round.clone(),
                values: values.clone(),
                epsilon,
                delta,
                window_seconds: None,
                tokens: None,
                second_shuffler: None,
                analyzer_key,
            })
        };
        let tasks: Vec<Task> = (0..TASKS).map(task).collect::<Result<_, TaskError>>()?;
        let shuffler =
            Loopback::start_with(&tasks, &folder.join("shuffler"), |store| match defect {
                None => store,
                Some(defect) => Arc::new(Defective::new(store, defect)),
            })?;
        let connection = Connection::new(shuffler.url(), None)?;
        let key = connection.now(&tasks[0])?.key;
        let lanes = tasks.into_iter().map(|task| Lane { task, window: 0 });
        Ok(Self {
            operator: Connection::new(shuffler.operator(), None)?,
            shuffler,
            connection,
            key,
            secret,
            idle: Mutex::new(lanes.collect()),
            returned: Condvar::new(),
        })
    }

    /// Attacks it; `ran` is told of every few runs. Refused where [`check`] refuses.
    pub fn audit(&self, audit: Audit, ran: impl Fn(u64) + Sync) -> Result<Audited, AuditError> {
        check(&audit)?;
        audit.run_behind(
            &|reports, length, _, each| {
                let passed = self.pass(reports, length, each);
                passed.map_err(|error| ShuffleError::Elsewhere(Box::new(error)))
            },
            ran,
        )
    }

    /// One window: what the analyzer is given of these reports.
    fn pass(
        &self,
        reports: &[u8],
        length: usize,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ServiceError> {
        let mut random = Secure::new().map_err(TaskError::from)?;
        let mut lane = self.lane();
        let task = &lane.task;
        let nothing = Bytes32([0; 32]);
        let mut envelopes = Vec::with_capacity(reports.len() / length * envelope_length(task));
        for report in reports.chunks_exact(length) {
            let (key, window) = (&self.key, lane.window);
            envelopes.extend(seal(
                &AwsLc,
                task,
                key,
                window,
                nothing,
                report,
                &mut random,
            )?);
        }
        for together in envelopes.chunks(TOGETHER * envelope_length(task)) {
            self.connection.send(task, together)?;
        }
        let sealed = self.operator.close(task, lane.window, None)?;
        for listed in &sealed {
            let bytes = self.connection.fetch(task, self.shuffler.token(), listed)?;
            for row in batch::reports(task, &bytes) {
                each(&row.open(&AwsLc, task, &self.secret, listed.window, &listed.context)?);
            }
        }
        lane.window += 1;
        self.idle().push(lane);
        self.returned.notify_one();
        Ok(())
    }

    /// A task that no run is using; waits for one.
    fn lane(&self) -> Lane {
        let mut idle = self.idle();
        loop {
            // The one that was used least.
            let first = (0..idle.len()).min_by_key(|&place| idle[place].window);
            if let Some(place) = first {
                return idle.swap_remove(place);
            }
            let waited = self.returned.wait(idle);
            idle = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A thread that panics in between leaves whole lanes.
    fn idle(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the shuffler.
    pub fn stop(self) -> Result<(), ServiceError> {
        self.shuffler.stop()
    }
}
