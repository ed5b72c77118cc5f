//! The place of a report in its batch says nothing about when it came: through the whole store.

use crate::conformance::{NOW, buckets, report};
use crate::place::{Place, all, of_every_store};
use shuffledp_protocol::batch;
use shuffledp_protocol::task::Bytes32;
use shuffledp_randomizers::Secure;
use shuffledp_service::store::BatchName;

of_every_store! { the_first_arrival_is_anywhere the_first_of_a_thousand_is_anywhere }

/// Reports of a batch.
const REPORTS: u64 = 8;
/// Batches of a window.
const CONTEXTS: u64 = 40;

/// Chi-square of the place of the first report, of the second and so on, each over the places: summed, of
/// 7 times 7 degrees of freedom.
pub(crate) fn first_arrival(place: &Place, windows: u64) -> f64 {
    let store = place.open();
    let task = Bytes32([3; 32]);
    let mut times = [[0.0_f64; REPORTS as usize]; REPORTS as usize];
    let name = |window, context: u64| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&context.to_be_bytes());
        BatchName {
            task,
            window,
            context: Bytes32(bytes),
        }
    };
    for window in 0..windows {
        // Half of them each in a call of its own, the others together: neither may show.
        for number in 0..REPORTS {
            let numbers = (0..CONTEXTS).map(|context| (context, context * REPORTS + number));
            let reports = numbers.map(|(context, number)| report(name(window, context), number));
            let reports: Vec<_> = reports.collect();
            match window % 2 == 0 {
                true => drop(store.take(&reports).unwrap()),
                false => reports.chunks(CONTEXTS as usize / 2).for_each(|reports| {
                    store.take(reports).unwrap();
                }),
            }
        }
        store.close_windows(&task, window + 1).unwrap();
        for context in 0..CONTEXTS {
            let batch = name(window, context);
            store.close(&batch, REPORTS, NOW).unwrap();
            let held = buckets(&batch, &store.read(&batch).unwrap());
            for (place, number) in held.iter().enumerate() {
                times[(number % REPORTS) as usize][place] += 1.0;
            }
        }
    }
    let expected = (windows * CONTEXTS) as f64 / REPORTS as f64;
    let square = |times: &f64| (times - expected).powi(2) / expected;
    times.as_flattened().iter().map(square).sum()
}

/// 1,200 batches. Of 49 degrees of freedom chi-square exceeds 120 with probability 1e-7; where every report
/// stays in its place it is 67,200.
fn the_first_arrival_is_anywhere(place: &Place) {
    let chi_square = first_arrival(place, 30);
    assert!(chi_square < 120.0, "{chi_square}");
}

/// Reports of a large batch.
const MANY: u64 = 1000;

/// Chi-square of the place of a report among a thousand, in bins of fifty: 19 degrees of freedom.
fn spread(places: &[usize]) -> f64 {
    const BINS: usize = 20;
    let mut times = [0.0_f64; BINS];
    for place in places {
        times[place * BINS / MANY as usize] += 1.0;
    }
    let expected = places.len() as f64 / BINS as f64;
    let square = |times: &f64| (times - expected).powi(2) / expected;
    times.iter().map(square).sum()
}

/// Batches of a thousand, sealed as the stores do: the place of the first arrival, and that of the last. Of
/// 19 degrees of freedom chi-square exceeds 70 with probability 1e-7; where the first one stays in its place
/// it is 19 for each batch.
#[test]
fn the_first_and_the_last_of_a_thousand_are_anywhere() {
    let (zeros, mut random) = (Bytes32([0; 32]), Secure::new().unwrap());
    let batches = if all() { 10_000 } else { 1000 };
    let (mut firsts, mut lasts) = (Vec::new(), Vec::new());
    for _ in 0..batches {
        let rows: Vec<[u8; 2]> = (0..MANY as u16).map(u16::to_be_bytes).collect();
        let bytes = batch::seal(&zeros, 0, &zeros, rows, &mut random);
        let rows = &bytes[bytes.len() - 2 * MANY as usize..];
        let place = |number: u64| {
            let wanted = (number as u16).to_be_bytes();
            rows.chunks(2).position(|row| row == wanted).unwrap()
        };
        firsts.push(place(0));
        lasts.push(place(MANY - 1));
    }
    for places in [firsts, lasts] {
        let chi_square = spread(&places);
        assert!(chi_square < 70.0, "{chi_square}");
    }
}

/// The same through a store, from an arrival in a transaction of its own to the bytes that are fetched.
fn the_first_of_a_thousand_is_anywhere(place: &Place) {
    let store = place.open();
    let task = Bytes32([4; 32]);
    let mut firsts = Vec::new();
    for window in 0..if all() { 200 } else { 20 } {
        let batch = BatchName {
            task,
            window,
            context: Bytes32([0; 32]),
        };
        let reports: Vec<_> = (0..MANY).map(|number| report(batch, number)).collect();
        store.take(&reports[..1]).unwrap();
        store.take(&reports[1..]).unwrap();
        store.close_windows(&task, window + 1).unwrap();
        store.close(&batch, MANY, NOW).unwrap();
        let held = buckets(&batch, &store.read(&batch).unwrap());
        firsts.push(held.iter().position(|number| *number == 0).unwrap());
    }
    let chi_square = spread(&firsts);
    assert!(chi_square < 70.0, "{chi_square}");
}
