//! What the parties send each other: an envelope, a batch, the file of a task. Each is refused, or is encoded
//! again as the same bytes. The encryption is replaced by none, so that what is inside is reached.

use shuffledp_protocol::batch::{Batch, Gathering};
use shuffledp_protocol::envelope::{Kind, envelope_length, open, window_of};
use shuffledp_protocol::hpke::{ENC, Hpke, HpkeError, Sealed, SecretKey, TAG};
use shuffledp_protocol::task::{Bytes32, Task};
use shuffledp_protocol::token::{Bytes256, MODULUS, Pss, TOKEN};
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

/// Takes every second signature.
impl Pss for Open {
    fn verifies(&self, _: &Bytes256, _: &[u8], signature: &[u8; MODULUS]) -> bool {
        signature[MODULUS - 1].is_multiple_of(2)
    }
}

/// The tasks of the seeds: an ordinary one, one with tokens, and one with tokens and a second shuffler.
static TASKS: LazyLock<[Task; 3]> = LazyLock::new(|| {
    [
        include_str!("../seeds/task/commute.json"),
        include_str!("../seeds/task/tokens.json"),
        include_str!("../seeds/task/chain.json"),
    ]
    .map(|text| Task::from_json(text).expect("the seed is a task"))
});

fn one_sentence(error: impl std::fmt::Display) {
    let said = error.to_string();
    assert!(!said.is_empty() && !said.contains('\n'), "{said:?}");
}

/// An envelope for the shuffler.
pub(crate) fn envelope(data: &[u8]) {
    let keys = [(7, SecretKey::new(Zeroizing::new([1; 32])))];
    for task in TASKS.iter() {
        let (tokens, second) = (&task.spec().tokens, &task.spec().second_shuffler);
        match open(&Open, task, &keys, data) {
            Ok(opened) => {
                assert_eq!(data.len(), envelope_length(task));
                assert_eq!(window_of(data), Some(opened.window));
                let report = ENC + task.report_length() + TAG;
                let middle = ENC + tokens.as_ref().map_or(0, |_| TOKEN) + report + TAG;
                let length = second.map_or(report, |_| middle);
                assert_eq!(opened.inner.row().len(), length);
                let counted = opened.kind == Kind::Report && tokens.is_some() && second.is_none();
                assert_eq!(opened.token.is_some(), counted);
            }
            Err(error) => one_sentence(error),
        }
    }
}

/// A batch for the analyzer, and one for the second shuffler.
pub(crate) fn batch(data: &[u8]) {
    let key = SecretKey::new(Zeroizing::new([1; 32]));
    for task in TASKS.iter() {
        match Batch::decode(task, data) {
            Ok(batch) => {
                assert_eq!(batch.encode(task), data);
                let reports = batch.open(&Open, task, &key);
                assert_eq!(
                    reports.readable.len() as u64 + reports.unreadable,
                    batch.reports()
                );
            }
            Err(error) => one_sentence(error),
        }
        match Batch::decode_handed(task, data) {
            Ok(batch) => {
                assert_eq!(batch.encode(task), data);
                let mut gathering = Gathering::new(task);
                let refused = batch.open_middle(&Open, &key, &mut gathering);
                let known = refused + gathering.repeated();
                assert!(known <= batch.reports());
            }
            Err(error) => one_sentence(error),
        }
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
