//! Numbers for the operator, as Prometheus reads them. None is about a window that is open, and none about a
//! client: a number that moves while people answer would show who does.

use super::Service;
use crate::store::StoreError;
use crate::tallies::Outcome;
use shuffledp_protocol::envelope::PROBES;
use shuffledp_protocol::lifecycle::State;
use std::fmt::Write;
use std::sync::atomic::Ordering;

/// The text format of Prometheus.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All numbers.
pub(super) fn text(service: &Service) -> Result<String, StoreError> {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, samples: Vec<(String, u64)>| {
        // Writing to memory cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let (mut windows, mut envelopes, mut batches) = (Vec::new(), Vec::new(), Vec::new());
    let mut stuck = Vec::new();
    for (id, served) in &service.tasks {
        let first_open = served.open.first_open.load(Ordering::Acquire);
        windows.push((format!("{{task=\"{id}\"}}"), first_open));
        let failed = served.stuck.load(Ordering::Acquire);
        stuck.push((format!("{{task=\"{id}\"}}"), failed));
        for outcome in Outcome::ALL {
            let labels = format!("{{task=\"{id}\",outcome=\"{}\"}}", outcome.name());
            envelopes.push((labels, service.tallies.closed(id, first_open, outcome)));
        }
        let mut records = service.store.batches(id, 0)?;
        records.retain(|record| record.name.context != PROBES);
        for state in State::ALL.into_iter().filter(|state| *state != State::Open) {
            let labels = format!("{{task=\"{id}\",state=\"{}\"}}", state.name());
            let count = records
                .iter()
                .filter(|record| record.state == state)
                .count();
            batches.push((labels, count as u64));
        }
    }
    let ready = u64::from(service.ready().is_ok());
    metric(
        "shuffledp_ready",
        "gauge",
        "Whether reports are taken.",
        vec![(String::new(), ready)],
    );
    metric(
        "shuffledp_first_open_window",
        "gauge",
        "The first window that is open.",
        windows,
    );
    metric(
        "shuffledp_envelopes_total",
        "counter",
        "Envelopes of closed windows since the start, by what became of them.",
        envelopes,
    );
    metric(
        "shuffledp_batches",
        "gauge",
        "Batches of closed windows, by state.",
        batches,
    );
    metric(
        "shuffledp_batches_stuck",
        "gauge",
        "Batches of closed windows that could not be closed or destroyed.",
        stuck,
    );
    Ok(text)
}
