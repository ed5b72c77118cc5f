//! The promises of a store, one by one.

use crate::place::{Place, of_every_store};
use shuffledp_protocol::batch::Batch;
use shuffledp_protocol::lifecycle::{NoEdge, State};
use shuffledp_protocol::task::Bytes32;
use shuffledp_service::store::journal::{Event, verify};
use shuffledp_service::store::{Arrival, BatchName, Record, Store, StoreError, Taken};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

of_every_store! {
    a_report_is_taken_once
    a_refused_report_leaves_no_tag
    a_tag_is_of_its_task_and_window
    a_closed_window_stays_closed
    a_batch_below_its_size_expires
    a_sealed_batch_holds_every_report_once_and_stays_as_it_is
    an_edge_that_there_is_not_is_refused
    contexts_do_not_mix
    a_dummy_is_taken_like_a_report_and_is_in_no_batch
    the_rows_of_open_batches_are_counted
    what_cannot_be_taken_leaves_nothing
    reports_that_race_the_closing_are_in_the_batch_or_refused
    closing_does_not_wait_for_the_stream_of_reports_to_end
    the_journal_tells_of_batches_and_no_more
    many_reports_fill_several_chunks
    a_master_that_is_missing_is_noticed
}

pub(crate) const LENGTH: usize = 48;
/// The time of closing, where a test has none.
pub(crate) const NOW: u64 = 1_800_000_000;
const HEADER: usize = 81;

pub(crate) fn name(window: u64) -> BatchName {
    BatchName {
        task: Bytes32([7; 32]),
        window,
        context: Bytes32([0; 32]),
    }
}

pub(crate) fn tag(number: u64) -> Bytes32 {
    let mut tag = [0xa5; 32];
    tag[..8].copy_from_slice(&number.to_be_bytes());
    Bytes32(tag)
}

/// A report with a bucket of its own: its number.
pub(crate) fn report(batch: BatchName, number: u64) -> Arrival {
    let mut row = vec![0x5a; LENGTH];
    row[..8].copy_from_slice(&number.to_be_bytes());
    Arrival {
        batch,
        tags: vec![tag(2 * number), tag(2 * number + 1)],
        row,
        dummy: false,
    }
}

fn reports(batch: BatchName, numbers: std::ops::Range<u64>) -> Vec<Arrival> {
    numbers.map(|number| report(batch, number)).collect()
}

/// The buckets of a batch, in its order, after a look at everything around them.
pub(crate) fn buckets(batch: &BatchName, bytes: &[u8]) -> Vec<u64> {
    assert_eq!(bytes[0], 1);
    assert_eq!(bytes[1..33], batch.task.0);
    assert_eq!(bytes[33..41], batch.window.to_be_bytes());
    assert_eq!(bytes[41..73], batch.context.0);
    let rows: Vec<&[u8]> = bytes[HEADER..].chunks(LENGTH).collect();
    assert_eq!(bytes[73..81], (rows.len() as u64).to_be_bytes());
    let bucket = |row: &&[u8]| {
        assert_eq!(row[8..], [0x5a; LENGTH - 8]);
        u64::from_be_bytes(row[..8].try_into().unwrap())
    };
    rows.iter().map(bucket).collect()
}

/// Closes the window of a batch, and the batch.
fn close(store: &dyn Store, batch: &BatchName, smallest: u64) -> Record {
    store.close_windows(&batch.task, batch.window + 1).unwrap();
    store.close(batch, smallest, NOW).unwrap()
}

fn a_report_is_taken_once(place: &Place) {
    let store = place.open();
    let [one, other] = [report(name(0), 1), report(name(0), 2)];
    // Within one call, in a later one, after the store was opened anew; by all tags or by one of them.
    let calls = [one.clone(), other.clone(), one.clone()];
    let taken = store.take(&calls).unwrap();
    assert_eq!(taken, [Taken::New, Taken::New, Taken::Repeated]);
    assert_eq!(store.take(&calls).unwrap(), [Taken::Repeated; 3]);
    drop(store);
    let store = place.open();
    for shared in 0..2 {
        let mut third = report(name(0), 3);
        third.tags[shared] = one.tags[1];
        assert_eq!(store.take(&[third]).unwrap(), [Taken::Repeated]);
    }
    assert_eq!(close(&*store, &name(0), 2).reports, Some(2));
}

/// Whoever knows one tag of a report that is on its way must not keep it out with a report of their own that
/// is refused.
fn a_refused_report_leaves_no_tag(place: &Place) {
    let store = place.open();
    store.take(&[report(name(0), 1)]).unwrap();
    let mut spoiler = report(name(0), 2);
    spoiler.tags.push(tag(2));
    let with_honest = [spoiler.clone(), report(name(0), 2)];
    let taken = store.take(&with_honest[..1]).unwrap();
    assert_eq!(taken, [Taken::Repeated]);
    let taken = store.take(&with_honest).unwrap();
    assert_eq!(taken, [Taken::Repeated, Taken::New]);
    // The same where the spoiler stands on a report of its own call.
    let mut spoiler = report(name(0), 4);
    spoiler.tags.push(tag(6));
    let taken = store.take(&[report(name(0), 3), spoiler, report(name(0), 4)]);
    assert_eq!(taken.unwrap(), [Taken::New, Taken::Repeated, Taken::New]);
}

fn a_tag_is_of_its_task_and_window(place: &Place) {
    let store = place.open();
    let mut task = name(0);
    task.task = Bytes32([8; 32]);
    let mut context = name(0);
    context.context = Bytes32([9; 32]);
    let again = [name(0), name(1), task, context].map(|batch| report(batch, 1));
    let taken = store.take(&again).unwrap();
    // Not of its context: a device answers a window once, whatever it was sent.
    let expected = [Taken::New, Taken::New, Taken::New, Taken::Repeated];
    assert_eq!(taken, expected);
}

fn a_closed_window_stays_closed(place: &Place) {
    let store = place.open();
    let task = name(0).task;
    assert_eq!(store.close_windows(&task, 0).unwrap(), 0);
    assert_eq!(store.close_windows(&task, 5).unwrap(), 5);
    // The clock steps back.
    assert_eq!(store.close_windows(&task, 3).unwrap(), 5);
    drop(store);
    let store = place.open();
    assert_eq!(store.close_windows(&task, 0).unwrap(), 5);
    let late = [4, 5, 3].map(|window| report(name(window), window));
    let taken = store.take(&late).unwrap();
    assert_eq!(taken, [Taken::Closed, Taken::New, Taken::Closed]);
    // Another task has windows of its own, and the largest number is a window.
    let mut other = name(4);
    other.task = Bytes32([8; 32]);
    let largest = name(u64::MAX);
    let taken = store.take(&[report(other, 1), report(largest, 9)]).unwrap();
    assert_eq!(taken, [Taken::New, Taken::New]);
    assert_eq!(store.close_windows(&task, u64::MAX).unwrap(), u64::MAX);
    let taken = store.take(&[report(name(u64::MAX - 1), 1), report(largest, 10)]);
    assert_eq!(taken.unwrap(), [Taken::Closed, Taken::New]);
}

fn a_batch_below_its_size_expires(place: &Place) {
    let store = place.open();
    store.take(&reports(name(0), 0..9)).unwrap();
    let record = close(&*store, &name(0), 10);
    let expected = (State::Expired, Some(9), None);
    assert_eq!((record.state, record.reports, record.digest), expected);
    // Not even by asking for less.
    assert_eq!(store.close(&name(0), 1, NOW).unwrap(), record);
    assert!(store.read(&name(0)).is_err());
    assert!(store.acknowledge(&name(0), &tag(0)).is_err());
    drop(store);
    let store = place.open();
    assert_eq!(store.batches(&name(0).task, 0).unwrap(), [record]);
    assert!(store.read(&name(0)).is_err());
}

fn a_sealed_batch_holds_every_report_once_and_stays_as_it_is(place: &Place) {
    let store = place.open();
    store.take(&reports(name(0), 0..10)).unwrap();
    store.take(&reports(name(1), 10..15)).unwrap();
    let open = store.batches(&name(0).task, 0).unwrap();
    let told: Vec<_> = open
        .iter()
        .map(|batch| (batch.state, batch.reports))
        .collect();
    assert_eq!(told, [(State::Open, None), (State::Open, None)]);
    let sealed = close(&*store, &name(0), 10);
    assert_eq!((sealed.state, sealed.reports), (State::Sealed, Some(10)));
    let bytes = store.read(&name(0)).unwrap();
    assert_eq!(sealed.digest, Some(Batch::digest(&bytes)));
    let set: BTreeSet<u64> = buckets(&name(0), &bytes).into_iter().collect();
    assert_eq!(set, (0..10).collect());
    // A report for it comes too late, a second closing changes nothing, and neither does a new start.
    assert_eq!(store.take(&[report(name(0), 99)]).unwrap(), [Taken::Closed]);
    assert_eq!(store.close(&name(0), 11, NOW).unwrap(), sealed);
    drop(store);
    let store = place.open();
    assert_eq!(store.read(&name(0)).unwrap(), bytes);
    let released = store
        .acknowledge(&name(0), &sealed.digest.unwrap())
        .unwrap();
    assert_eq!(released.state, State::Released);
    assert_eq!(store.read(&name(0)).unwrap(), bytes);
    assert_eq!(store.close(&name(0), 10, NOW).unwrap(), released);
    let shredded = store.shred(&name(0)).unwrap();
    assert_eq!(shredded.state, State::Shredded);
    assert!(store.read(&name(0)).is_err());
    // The other window goes on.
    assert_eq!(store.take(&[report(name(1), 15)]).unwrap(), [Taken::New]);
    assert_eq!(close(&*store, &name(1), 6).reports, Some(6));
}

fn an_edge_that_there_is_not_is_refused(place: &Place) {
    let store = place.open();
    let unknown = |outcome| matches!(outcome, Err(StoreError::Unknown(batch)) if batch == name(0));
    let digest = tag(0);
    assert!(unknown(store.close(&name(0), 1, NOW)));
    assert!(unknown(store.shred(&name(0))));
    assert!(unknown(store.acknowledge(&name(0), &digest)));
    assert!(matches!(store.read(&name(0)), Err(StoreError::Unknown(_))));
    store.take(&reports(name(0), 0..3)).unwrap();
    let early = store.close(&name(0), 1, NOW);
    assert!(
        matches!(early, Err(StoreError::WindowOpen { first_open: 0, .. })),
        "{early:?}"
    );
    let no_edge = |outcome, from| match outcome {
        Err(StoreError::NoEdge(NoEdge { state, .. })) => assert_eq!(state, from),
        other => panic!("{other:?}"),
    };
    no_edge(store.shred(&name(0)), State::Open);
    no_edge(store.acknowledge(&name(0), &digest), State::Open);
    assert!(store.read(&name(0)).is_err());
    let sealed = close(&*store, &name(0), 1).digest.unwrap();
    match store.acknowledge(&name(0), &digest) {
        Err(StoreError::OtherDigest {
            stored,
            acknowledged,
        }) => assert_eq!((stored, acknowledged), (sealed, digest)),
        other => panic!("{other:?}"),
    }
    let first = store.acknowledge(&name(0), &sealed).unwrap();
    assert_eq!(store.acknowledge(&name(0), &sealed).unwrap(), first);
    store.shred(&name(0)).unwrap();
    no_edge(store.shred(&name(0)), State::Shredded);
    no_edge(store.acknowledge(&name(0), &sealed), State::Shredded);
}

fn contexts_do_not_mix(place: &Place) {
    let store = place.open();
    let mut other = name(0);
    other.context = Bytes32([1; 32]);
    let mixed =
        (0..20).map(|number| report([name(0), other][usize::from(number % 4 == 0)], number));
    store.take(&mixed.collect::<Vec<_>>()).unwrap();
    assert_eq!(close(&*store, &name(0), 10).reports, Some(15));
    // Its five reports are nobody else's company.
    let record = close(&*store, &other, 10);
    assert_eq!((record.state, record.reports), (State::Expired, Some(5)));
    let held = buckets(&name(0), &store.read(&name(0)).unwrap());
    assert!(held.iter().all(|number| number % 4 != 0));
}

/// The shuffler's limits go on after a start from what open windows hold, dummies too.
fn the_rows_of_open_batches_are_counted(place: &Place) {
    let store = place.open();
    assert_eq!(store.rows(&name(0).task).unwrap(), []);
    let dummy = Arrival {
        dummy: true,
        ..report(name(1), 9)
    };
    store.take(&reports(name(0), 0..3)).unwrap();
    store.take(&reports(name(1), 4..6)).unwrap();
    store.take(&[dummy, report(name(1), 4)]).unwrap();
    let mut rows = store.rows(&name(0).task).unwrap();
    rows.sort_unstable();
    assert_eq!(rows, [(name(0), 3), (name(1), 3)]);
    close(&*store, &name(0), 2);
    drop(store);
    assert_eq!(place.open().rows(&name(0).task).unwrap(), [(name(1), 3)]);
    assert_eq!(place.open().rows(&Bytes32([8; 32])).unwrap(), []);
}

/// Refused where a report is, stored where one is, and dropped at the end: it is no company for anybody.
fn a_dummy_is_taken_like_a_report_and_is_in_no_batch(place: &Place) {
    let store = place.open();
    let dummy = |number| Arrival {
        dummy: true,
        ..report(name(0), number)
    };
    let mixed = [report(name(0), 1), dummy(2), report(name(0), 3), dummy(4)];
    assert_eq!(store.take(&mixed).unwrap(), [Taken::New; 4]);
    assert_eq!(store.take(&mixed).unwrap(), [Taken::Repeated; 4]);
    // A report cannot come in its place afterwards, nor the other way round.
    let exchanged = [dummy(1), report(name(0), 2)];
    assert_eq!(store.take(&exchanged).unwrap(), [Taken::Repeated; 2]);
    store.take(&[dummy(5), report(name(1), 6)]).unwrap();
    let record = close(&*store, &name(0), 2);
    assert_eq!((record.state, record.reports), (State::Sealed, Some(2)));
    assert_eq!(record.closed, Some(NOW));
    let mut held = buckets(&name(0), &store.read(&name(0)).unwrap());
    held.sort_unstable();
    assert_eq!(held, [1, 3]);
    assert_eq!(store.take(&mixed).unwrap(), [Taken::Closed; 4]);
    // Dummies do not make a batch large enough.
    store
        .take(&[Arrival {
            batch: name(1),
            ..dummy(7)
        }])
        .unwrap();
    let record = close(&*store, &name(1), 2);
    assert_eq!((record.state, record.reports), (State::Expired, Some(1)));
    // From a window on.
    assert_eq!(store.batches(&name(0).task, 1).unwrap(), [record]);
}

fn what_cannot_be_taken_leaves_nothing(place: &Place) {
    let store = place.open();
    let mut without = report(name(0), 1);
    without.tags.clear();
    let refused = store.take(&[report(name(0), 0), without]);
    assert!(matches!(refused, Err(StoreError::NoTag)), "{refused:?}");
    let mut long = report(name(0), 9);
    long.row.push(0);
    for first in [0, 1] {
        // Beside another one of the same call, then of an earlier one.
        let refused = store.take(&[report(name(0), first), long.clone()]);
        let (got, length) = match refused {
            Err(StoreError::RowLength { got, length }) => (got, length),
            other => panic!("{other:?}"),
        };
        assert_eq!((got, length), (LENGTH + 1, LENGTH));
        assert_eq!(
            store.take(&[report(name(0), 0)]).unwrap()[0] == Taken::New,
            first == 0
        );
    }
    assert!(store.take(&[]).unwrap().is_empty());
    assert_eq!(close(&*store, &name(0), 1).reports, Some(1));
}

/// Four threads send while a fifth closes: what was said to be taken is in the batch, and nothing else is.
pub(crate) fn reports_that_race_the_closing_are_in_the_batch_or_refused(place: &Place) {
    // Of a database there are two users with a store each.
    let store = place.open();
    let second = match place {
        Place::Database(_) => Some(place.open()),
        _ => None,
    };
    let second = second.as_deref().unwrap_or(&*store);
    for round in 0..10 {
        let batch = name(round);
        let (next, begun) = (AtomicU64::new(0), AtomicBool::new(false));
        let mut accepted = BTreeSet::new();
        std::thread::scope(|scope| {
            let sender = |index: usize| {
                let (store, next, begun) = ([&*store, second][index % 2], &next, &begun);
                move || {
                    let mut accepted = Vec::new();
                    loop {
                        let start = next.fetch_add(10, Ordering::Relaxed);
                        // Every report is sent by two threads.
                        let group = reports(batch, start / 2..start / 2 + 10);
                        let taken = store.take(&group).unwrap();
                        let numbers = (start / 2..).zip(&taken);
                        let new = numbers.filter(|(_, taken)| **taken == Taken::New);
                        accepted.extend(new.map(|(number, _)| number));
                        begun.store(true, Ordering::Release);
                        if taken.contains(&Taken::Closed) {
                            assert_eq!(taken, [Taken::Closed; 10]);
                            return accepted;
                        }
                    }
                }
            };
            let senders: Vec<_> = (0..4).map(|index| scope.spawn(sender(index))).collect();
            // A busy machine may take its time over the first of them.
            while !begun.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(
                second.close_windows(&batch.task, round + 1).unwrap(),
                round + 1
            );
            let closers =
                [&*store, second].map(|store| scope.spawn(move || store.close(&batch, 1, NOW)));
            let records = closers.map(|closer| closer.join().unwrap().unwrap());
            assert_eq!(records[0], records[1]);
            for sender in senders {
                for number in sender.join().unwrap() {
                    assert!(accepted.insert(number), "{number} was taken twice");
                }
            }
        });
        let held = buckets(&batch, &store.read(&batch).unwrap());
        assert_eq!(held.len(), accepted.len());
        assert_eq!(held.into_iter().collect::<BTreeSet<_>>(), accepted);
    }
    verify(&store.journal().unwrap()).unwrap();
}

fn closing_does_not_wait_for_the_stream_of_reports_to_end(place: &Place) {
    let store = place.open();
    let (next, end) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    let start = next.fetch_add(50, Ordering::Relaxed);
                    store
                        .take(&reports(name(u64::MAX), start..start + 50))
                        .unwrap();
                }
            });
        }
        let start = Instant::now();
        for window in 1..6 {
            std::thread::sleep(Duration::from_millis(20));
            store.close_windows(&name(0).task, window).unwrap();
        }
        end.store(true, Ordering::Relaxed);
        // Far above what it takes, and below a stream that does not end.
        assert!(start.elapsed() < Duration::from_secs(30));
    });
}

fn the_journal_tells_of_batches_and_no_more(place: &Place) {
    let store = place.open();
    store.note("a task was loaded").unwrap();
    store.ready().unwrap();
    let batch = name(0);
    for number in 0..5 {
        store.take(&[report(batch, number)]).unwrap();
    }
    let digest = close(&*store, &batch, 5).digest.unwrap();
    store.read(&batch).unwrap();
    store.acknowledge(&batch, &digest).unwrap();
    store.acknowledge(&batch, &digest).unwrap();
    drop(store);
    let store = place.open();
    store.shred(&batch).unwrap();
    let journal = store.journal().unwrap();
    verify(&journal).unwrap();
    let (reports, smallest) = (5, 5);
    let text = "a task was loaded".to_owned();
    let expected = [
        Event::Note { text },
        Event::Sealed {
            batch,
            reports,
            smallest,
            digest,
        },
        Event::Released { batch, digest },
        Event::Shredded { batch },
    ];
    let told: Vec<Event> = journal.iter().map(|entry| entry.event().unwrap()).collect();
    assert_eq!(told, expected);
}

fn many_reports_fill_several_chunks(place: &Place) {
    let store = place.open();
    const MANY: u64 = 50_000;
    for start in (0..MANY).step_by(5000) {
        store.take(&reports(name(0), start..start + 5000)).unwrap();
    }
    assert_eq!(close(&*store, &name(0), MANY).reports, Some(MANY));
    let bytes = store.read(&name(0)).unwrap();
    assert!(bytes.len() > 2 << 20);
    let set: BTreeSet<u64> = buckets(&name(0), &bytes).into_iter().collect();
    assert_eq!(set, (0..MANY).collect());
}

fn a_master_that_is_missing_is_noticed(place: &Place) {
    let store = place.open_with(&[(1, 1)]).unwrap();
    store.take(&[report(name(0), 1)]).unwrap();
    drop(store);
    let damaged = |masters| matches!(place.open_with(masters), Err(StoreError::Damaged(_)));
    assert!(damaged(&[(2, 2)]));
    assert!(damaged(&[(1, 2)]));
    // Rotated: from now on the new one alone will do.
    let store = place.open_with(&[(1, 1), (2, 2)]).unwrap();
    assert_eq!(
        store.take(&[report(name(0), 1)]).unwrap(),
        [Taken::Repeated]
    );
    drop(store);
    assert!(damaged(&[(1, 1)]));
    let store = place.open_with(&[(2, 2)]).unwrap();
    let taken = store
        .take(&[report(name(0), 1), report(name(0), 2)])
        .unwrap();
    assert_eq!(taken, [Taken::Repeated, Taken::New]);
    assert_eq!(close(&*store, &name(0), 2).state, State::Sealed);
    assert_eq!(buckets(&name(0), &store.read(&name(0)).unwrap()).len(), 2);
}
