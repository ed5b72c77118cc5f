//! The place of a report in its batch says nothing about when it came: through the whole store.

use crate::conformance::{NOW, buckets, report};
use crate::place::{Place, of_every_store};
use shuffledp_protocol::task::Bytes32;
use shuffledp_service::store::BatchName;

of_every_store! { the_first_arrival_is_anywhere }

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
