//! What the parties send each other: an envelope, a batch, the file of a task. Each is refused, or is encoded
//! again as the same bytes. The encryption is replaced by none, so that what is inside is reached.

use shuffledp_protocol::batch::Batch;
use shuffledp_protocol::envelope::{envelope_length, open, window_of};
use shuffledp_protocol::hpke::{ENC, Hpke, HpkeError, Sealed, SecretKey, TAG};
use shuffledp_protocol::task::{Bytes32, Task};
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// Opens everything: the text is what comes before the tag.
struct Open;

impl Hpke for Open {
    fn keys(&self) -> Result<(Bytes32, SecretKey), HpkeError> {
        Err(HpkeError("made"))
    }

    fn seal(&self, _: &Bytes32, _: &[u8], _: &[u8], _: &[u8]) -> Result<Sealed, HpkeError> {
        Err(HpkeError("sealed"))
    }

    fn open(
        &self,
        _: &SecretKey,
        _: &[u8; ENC],
        _: &[u8],
        _: &[u8],
        text: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, HpkeError> {
        let length = text.len().checked_sub(TAG).ok_or(HpkeError("opened"))?;
        Ok(Zeroizing::new(text[..length].to_vec()))
    }
}

/// The task of the seeds.
static TASK: LazyLock<Task> = LazyLock::new(|| {
    Task::from_json(include_str!("../seeds/task/commute.json")).expect("the seed is a task")
});

fn one_sentence(error: impl std::fmt::Display) {
    let said = error.to_string();
    assert!(!said.is_empty() && !said.contains('\n'), "{said:?}");
}

/// An envelope for the shuffler.
pub(crate) fn envelope(data: &[u8]) {
    let keys = [(7, SecretKey::new(Zeroizing::new([1; 32])))];
    match open(&Open, &TASK, &keys, data) {
        Ok(opened) => {
            assert_eq!(data.len(), envelope_length(&TASK));
            assert_eq!(window_of(data), Some(opened.window));
            assert_eq!(opened.inner.row().len(), ENC + TASK.report_length() + TAG);
        }
        Err(error) => one_sentence(error),
    }
}

/// A batch for the analyzer.
pub(crate) fn batch(data: &[u8]) {
    match Batch::decode(&TASK, data) {
        Ok(batch) => {
            assert_eq!(batch.encode(&TASK), data);
            let key = SecretKey::new(Zeroizing::new([1; 32]));
            let reports = batch.open(&Open, &TASK, &key);
            assert_eq!(
                reports.readable.len() as u64 + reports.unreadable,
                batch.reports()
            );
        }
        Err(error) => one_sentence(error),
    }
}

/// The file of a task.
pub(crate) fn task(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Task::from_json(text) {
        Ok(task) => {
            let stored = task.to_json();
            let again = Task::from_json(&stored).map(|again| (again.id(), again.to_json()));
            assert!(again.is_ok_and(|again| again == (task.id(), stored)));
        }
        Err(error) => one_sentence(error),
    }
}
