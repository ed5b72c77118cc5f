//! Secure sums as the server sees them: the plain sum, whoever drops out, or nothing.

#![allow(clippy::unwrap_used)]

use shuffledp_protocol::secure_aggregation::{
    AggregationError, Aggregator, Participant, Revealed, begin,
};
use shuffledp_randomizers::{Random, Simulated};

const LENGTH: usize = 5;

/// Vectors of all residues, so that sums wrap around.
fn vectors(many: u64, random: &mut Simulated) -> Vec<[u32; LENGTH]> {
    let vector = |_| [(); LENGTH].map(|()| random.word() as u32);
    (0..many).map(vector).collect()
}

/// The server after the reports of all but the missing.
fn after_reports(
    people: &[Participant],
    mut server: Aggregator,
    values: &[[u32; LENGTH]],
    missing: impl Fn(usize) -> bool,
) -> Aggregator {
    for (place, (person, values)) in people.iter().zip(values).enumerate() {
        if !missing(place) {
            server.take(place, &person.masked(values).unwrap()).unwrap();
        }
    }
    server
}

/// What those reveal who arrived and are not silent.
fn revealed(
    people: &mut [Participant],
    server: &Aggregator,
    silent: impl Fn(usize) -> bool,
) -> Vec<Revealed> {
    let here = server.arrived();
    let speaks = |place: &usize| here[*place] && !silent(*place);
    (0..people.len())
        .filter(speaks)
        .map(|place| people[place].reveal(here).unwrap())
        .collect()
}

/// The plain sum of those who are not missing.
fn plain_sum(values: &[[u32; LENGTH]], missing: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut sum = vec![0u32; LENGTH];
    for (_, values) in values
        .iter()
        .enumerate()
        .filter(|(place, _)| !missing(*place))
    {
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum = sum.wrapping_add(*value);
        }
    }
    sum
}

/// Everybody against everybody (few), and on a ring (many); before the reports and after them.
#[test]
fn a_missing_participant_costs_its_report_and_nothing_else() {
    let mut random = Simulated::new(1, 0);
    for (many, least) in [(4, 3), (7, 4), (20, 16), (200, 194)] {
        let values = vectors(many, &mut random);
        for lost in [0, 1, many - least] {
            for late in [0, 1] {
                // Every 3rd is missing, and those beside them fall silent after their report.
                let missing = |place: usize| place % 3 == 1 && (place as u64) / 3 < lost;
                let silent = |place: usize| place % 3 == 2 && (place as u64) / 3 < late && many > 4;
                let (mut people, server) = begin(many, LENGTH, least, &mut random).unwrap();
                let server = after_reports(&people, server, &values, missing);
                let answers = revealed(&mut people, &server, silent);
                let sum = server.unmask(&answers).unwrap();
                assert_eq!(sum, plain_sum(&values, missing), "{many} {lost} {late}");
            }
        }
    }
}

#[test]
fn a_round_below_its_least_number_is_not_unmasked() {
    let mut random = Simulated::new(2, 0);
    let values = vectors(10, &mut random);
    let (mut people, server) = begin(10, LENGTH, 8, &mut random).unwrap();
    let server = after_reports(&people, server, &values, |place| place < 3);
    let too_few = AggregationError::TooFew {
        arrived: 7,
        least: 8,
    };
    // Participants refuse, whatever the server asks for; and so does an honest server.
    let refused = people[5].reveal(server.arrived()).err().unwrap();
    assert_eq!(refused, too_few);
    assert_eq!(server.unmask(&[]).unwrap_err(), too_few);
    // One whose report did not arrive keeps its own seed: the key of its deposit may be open.
    let mut arrived = [true; 10];
    arrived[4] = false;
    let refused = people[4].reveal(&arrived).err().unwrap();
    assert_eq!(refused, AggregationError::Unexpected(4));
}

#[test]
fn too_few_neighbors_open_nothing() {
    let mut random = Simulated::new(3, 0);
    let values = vectors(9, &mut random);
    let (mut people, server) = begin(9, LENGTH, 5, &mut random).unwrap();
    let server = after_reports(&people, server, &values, |place| place == 0);
    // Of eight neighbors five are needed, and four speak.
    let mut answers = revealed(&mut people, &server, |place| place > 4);
    let stuck = server.clone().unmask(&answers).unwrap_err();
    assert!(
        matches!(stuck, AggregationError::Unrecoverable(_)),
        "{stuck}"
    );
    // Whoever has spoken does not speak again, and not about another sum.
    let again = people[3].reveal(&[true; 9]).err().unwrap();
    assert_eq!(again, AggregationError::Unexpected(3));
    answers.extend(revealed(&mut people, &server, |place| place != 5));
    assert_eq!(
        server.unmask(&answers).unwrap(),
        plain_sum(&values, |place| place == 0)
    );
}

/// One masked report is uniform, whatever it is of: its bytes by chi-square, and so are those of the sum of
/// all but one, from which an unmasked report would show.
#[test]
fn a_single_masked_report_is_uniform() {
    let mut random = Simulated::new(4, 0);
    for value in [0, 1_000_000] {
        let mut counts = [[0u32; 256]; 2];
        for _ in 0..8 {
            let (people, _) = begin(6, 4096, 6, &mut random).unwrap();
            let values = vec![value; 4096];
            let mut sum = vec![0u32; 4096];
            for person in &people[..5] {
                for (sum, word) in sum.iter_mut().zip(person.masked(&values).unwrap()) {
                    *sum = sum.wrapping_add(word);
                }
            }
            for (counts, report) in counts
                .iter_mut()
                .zip([people[2].masked(&values).unwrap(), sum])
            {
                for byte in report.iter().flat_map(|word| word.to_le_bytes()) {
                    counts[usize::from(byte)] += 1;
                }
            }
        }
        let expected = f64::from(8 * 4096 * 4) / 256.0;
        for counts in counts {
            let off = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
            let chi: f64 = counts.iter().map(off).sum();
            assert!(chi < 255.0 + 5.0 * (2.0 * 255.0f64).sqrt(), "{chi}");
        }
    }
}

/// Another round has other masks: the difference of one participant's reports says nothing.
#[test]
fn masks_are_used_once() {
    let mut random = Simulated::new(5, 0);
    let mut first = || {
        let (people, _) = begin(4, LENGTH, 3, &mut random).unwrap();
        people[0].masked(&[0; LENGTH]).unwrap()
    };
    assert_ne!(first(), first());
}

#[test]
fn what_is_no_round_is_refused() {
    let mut random = Simulated::new(6, 0);
    let mut refused = |many, least| begin(many, 1, least, &mut random).err().unwrap();
    assert_eq!(refused(2, 2), AggregationError::Participants(2));
    for least in [5, 11] {
        let participants = 10;
        let expected = AggregationError::Least {
            least,
            participants,
        };
        assert_eq!(refused(participants, least), expected);
    }
    // A sum of two, and a least number that 254 neighbors do not suffice for.
    let (participants, least) = (3, 2);
    let expected = AggregationError::Least {
        least,
        participants,
    };
    assert_eq!(refused(participants, least), expected);
    let (participants, least) = (2000, 1100);
    let expected = AggregationError::Sparse {
        least,
        participants,
    };
    assert_eq!(refused(participants, least), expected);
    assert!(begin(2000, 1, 1600, &mut random).is_ok());
    let (people, mut server) = begin(3, LENGTH, 3, &mut random).unwrap();
    assert!(people[0].masked(&[0]).is_err());
    server.take(1, &[0; LENGTH]).unwrap();
    for (place, length) in [(1, LENGTH), (3, LENGTH), (0, 1)] {
        assert!(server.take(place, &vec![0; length]).is_err());
    }
    // A sum with a stranger in it counts for nobody.
    assert!(server.take_sum([0, 7], &[0; LENGTH]).is_err());
    assert_eq!(server.arrived(), [false, true, false]);
}
