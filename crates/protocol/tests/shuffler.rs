//! Every order is equally likely, in memory and beyond it, and nothing of the order of arrival is left
//! behind.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_protocol::{ShuffleError, Shuffler};
use shuffledp_randomizers::{Random, Simulated};
use std::cell::RefCell;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

/// Room for 256 reports: with `filler` reports before them the rest go to the store.
fn shuffled(items: u64, spill: bool, random: Simulated) -> Vec<u64> {
    const LENGTH: usize = 8;
    let memory = 256 * LENGTH;
    let filler = if spill { 300 } else { 0 };
    let mut shuffler =
        Shuffler::new(LENGTH, memory, random, || Ok(Cursor::new(Vec::new()))).unwrap();
    for number in 0..items {
        shuffler.push(&number.to_le_bytes()).unwrap();
    }
    // Others that only take up room.
    for _ in 0..filler {
        shuffler.push(&u64::MAX.to_le_bytes()).unwrap();
    }
    assert_eq!(shuffler.reports(), items + filler);
    let mut seen = Vec::new();
    let mut all = 0;
    shuffler
        .finish(|report| {
            let number = u64::from_le_bytes(report.try_into().unwrap());
            all += 1;
            if number != u64::MAX {
                seen.push(number);
            }
        })
        .unwrap();
    assert_eq!(all, items + filler);
    seen
}

#[test]
fn all_orders_of_four_are_alike() {
    for (spill, trials) in [(false, 240_000u64), (true, 48_000)] {
        let mut counts = std::collections::HashMap::new();
        for trial in 0..trials {
            *counts
                .entry(shuffled(4, spill, Simulated::new(1, trial)))
                .or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        let expected = trials as f64 / 24.0;
        let chi: f64 = counts
            .values()
            .map(|&count| (f64::from(count) - expected).powi(2) / expected)
            .sum();
        // 23 degrees of freedom: beyond 73 once in a million.
        assert!(chi < 73.0, "spill {spill}: {chi}");
    }
}

#[test]
fn a_report_may_end_up_anywhere() {
    for (spill, trials) in [(false, 20_000u64), (true, 5_000)] {
        // The first to arrive and the last, in tenths of the batch.
        let mut places = [[0u32; 10]; 2];
        for trial in 0..trials {
            let order = shuffled(1000, spill, Simulated::new(2, trial));
            for (which, item) in [0, 999].into_iter().enumerate() {
                let place = order.iter().position(|&at| at == item).unwrap();
                places[which][place / 100] += 1;
            }
        }
        for counts in places {
            let expected = trials as f64 / 10.0;
            let chi: f64 = counts
                .iter()
                .map(|&count| (f64::from(count) - expected).powi(2) / expected)
                .sum();
            // 9 degrees of freedom: beyond 45 once in a million.
            assert!(chi < 45.0, "spill {spill}: {counts:?}");
        }
    }
}

/// A store whose bytes can be looked at.
#[derive(Clone, Default)]
struct Seen(Rc<RefCell<Cursor<Vec<u8>>>>);

impl Read for Seen {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl Write for Seen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Seen {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

#[test]
fn what_lies_on_disk_says_nothing() {
    // Every report the same bytes: a store that kept them would show a pattern.
    for length in [5, 32] {
        let stores = RefCell::new(Vec::new());
        let open = || {
            let store = Seen::default();
            stores.borrow_mut().push(store.clone());
            Ok(store)
        };
        let mut shuffler =
            Shuffler::new(length, 16_384 * length, Simulated::new(3, 0), open).unwrap();
        let report = vec![0xab; length];
        let many = 2_000_000;
        for _ in 0..many {
            shuffler.push(&report).unwrap();
        }
        let mut given = 0;
        shuffler
            .finish(|out| {
                assert_eq!(out, report);
                given += 1;
            })
            .unwrap();
        assert_eq!(given, many);
        let mut counts = [0u64; 256];
        for store in stores.borrow().iter() {
            for byte in store.0.borrow().get_ref() {
                counts[*byte as usize] += 1;
            }
        }
        let total: u64 = counts.iter().sum();
        assert_eq!(total, (many * length) as u64);
        let expected = total as f64 / 256.0;
        let chi: f64 = counts
            .iter()
            .map(|&count| (count as f64 - expected).powi(2) / expected)
            .sum();
        // 255 degrees of freedom: beyond 380 once in a million.
        assert!(chi < 380.0, "{chi}");
    }
}

#[test]
fn other_lengths_and_impossible_shapes_are_refused() {
    let open = || Ok(Cursor::new(Vec::new()));
    assert!(matches!(
        Shuffler::new(0, 1000, Simulated::new(0, 0), open),
        Err(ShuffleError::Shape { .. })
    ));
    assert!(Shuffler::new(100, 1000, Simulated::new(0, 0), open).is_err());
    let mut shuffler = Shuffler::new(4, 4096, Simulated::new(0, 0), open).unwrap();
    let message = shuffler.push(&[1, 2, 3]).unwrap_err().to_string();
    assert_eq!(
        message,
        "a report of 3 bytes in a batch of reports of 4 bytes"
    );
    assert_eq!(shuffler.reports(), 0);
    // A full disk is an error, not a smaller batch.
    let full = || -> io::Result<Cursor<Vec<u8>>> { Err(io::Error::other("no space")) };
    let mut shuffler = Shuffler::new(4, 1024, Simulated::new(0, 0), full).unwrap();
    let refused = (0..300).find_map(|_| shuffler.push(&[0; 4]).err());
    assert_eq!(
        refused.unwrap().to_string(),
        "the shuffler's store: no space"
    );
}

#[test]
fn an_empty_batch_is_empty() {
    let open = || Ok(Cursor::new(Vec::new()));
    let shuffler = Shuffler::new(4, 4096, Simulated::new(0, 0), open).unwrap();
    shuffler.finish(|_| panic!("nothing was sent")).unwrap();
    let mut random = Simulated::new(9, 9);
    assert_ne!(random.word(), random.word());
}
