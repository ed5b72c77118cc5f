//! Rounds from end to end: who takes part, what is read, and how often the truth lies where the analyzer
//! says.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{Participation, Rate};
use shuffledp_protocol::{
    Analyzer, Attendance, Collection, Confidence, Cumulative, heavy_hitters, make_consistent,
    of_all_users,
};
use shuffledp_randomizers::{
    Duchi, Gaussian, HadamardResponse, Hierarchy, KaryResponse, Piecewise, Prefixes, Randomizer,
    Simulated, UnaryEncoding, categorical::best_oracle,
};
use std::borrow::Borrow;
use std::io::Cursor;

fn check_in(rate: f64) -> Participation {
    Participation::CheckIn(Rate::exactly(rate).unwrap())
}

/// One round of a dataset.
fn collected<'a, R, V>(
    randomizer: &'a R,
    users: u64,
    value: impl Fn(u64) -> V + Sync,
    participation: Participation,
    seed: u64,
) -> Analyzer<'a, R>
where
    R: Randomizer + Sync,
    V: Borrow<R::Value>,
{
    let collection = Collection {
        users,
        attendance: Attendance::new(participation, users, 0.0).unwrap(),
        memory: 1 << 24,
    };
    let random = |stream| Ok(Simulated::new(seed, stream));
    let open = || Ok(Cursor::new(Vec::new()));
    collection
        .run(randomizer, value, random, open, |_| ())
        .unwrap()
}

/// Every user as often as every other, any two together as often as any other two, and never more than the
/// sample.
#[test]
fn samples_are_uniform() {
    let mut random = Simulated::new(1, 0);
    let (mut once, mut both) = ([0u32; 6], [[0u32; 6]; 6]);
    for _ in 0..60_000 {
        let mut attendance = Attendance::new(Participation::Sample(2), 6, 0.0).unwrap();
        let came: Vec<usize> = (0..6).filter(|_| attendance.comes(&mut random)).collect();
        assert_eq!(came.len(), 2);
        assert!(!attendance.comes(&mut random));
        came.iter().for_each(|user| once[*user] += 1);
        both[came[0]][came[1]] += 1;
    }
    // A third of the time, give or take 115; one pair in fifteen, give or take 61.
    assert!(once.iter().all(|count| (19_400..20_600).contains(count)));
    for (first, row) in both.iter().enumerate() {
        assert!(
            row[first + 1..]
                .iter()
                .all(|count| (3_700..4_300).contains(count))
        );
    }
}

#[test]
fn coins_and_dropouts_come_up_as_often_as_they_say() {
    let mut random = Simulated::new(2, 0);
    let mut share = |participation, dropout| {
        let mut attendance = Attendance::new(participation, 100_000, dropout).unwrap();
        (0..100_000)
            .filter(|_| attendance.comes(&mut random))
            .count() as f64
            / 1e5
    };
    assert_eq!(share(Participation::Everyone, 0.0), 1.0);
    assert_eq!(share(check_in(1.0), 0.0), 1.0);
    for (participation, dropout, expected) in [
        (Participation::Everyone, 0.25, 0.75),
        (check_in(0.3), 0.0, 0.3),
        (check_in(0.3), 0.5, 0.15),
        (Participation::Sample(40_000), 0.5, 0.2),
    ] {
        let seen = share(participation, dropout);
        assert!((seen - expected).abs() < 0.008, "{seen} for {expected}");
    }
    assert!(Attendance::new(Participation::Everyone, 10, 1.0).is_err());
    assert!(Attendance::new(Participation::Everyone, 10, f64::NAN).is_err());
    assert!(Attendance::new(Participation::Sample(11), 10, 0.0).is_err());
    let range = Participation::CheckIn(Rate::between(0.1, 0.2).unwrap());
    assert!(Attendance::new(range, 10, 0.0).is_err());
}

/// How often the intervals of 200 rounds hold the shares of all users.
fn share_coverage<R>(randomizer: &R, categories: u64, participation: Participation) -> f64
where
    R: Randomizer<Value = u64, Estimate = Vec<shuffledp_randomizers::Estimate>> + Sync,
{
    const USERS: u64 = 4000;
    // Category j has a share of about 1/2, 1/4, … and the last ones nobody.
    let value = |user: u64| u64::from(user.trailing_ones()).min(categories - 2);
    let mut truth = vec![0.0; categories as usize];
    (0..USERS).for_each(|user| truth[value(user) as usize] += 1.0 / USERS as f64);
    let confidence = Confidence::new(0.95).unwrap();
    let (mut held, mut all) = (0, 0);
    for seed in 0..200 {
        let analyzer = collected(randomizer, USERS, value, participation, seed);
        for (share, truth) in analyzer.estimate().unwrap().into_iter().zip(&truth) {
            let (low, high) = confidence.around(of_all_users(share, analyzer.taken(), USERS));
            held += u32::from(low <= *truth && *truth <= high);
            all += 1;
        }
    }
    f64::from(held) / f64::from(all)
}

/// Each user comes as often as their own rate says, and no coin leaves the range that was priced.
#[test]
fn users_come_at_rates_of_their_own() {
    let participation = Participation::CheckIn(Rate::between(0.1, 0.6).unwrap());
    let rates = [0.1, 0.35, 0.6];
    let mut random = Simulated::new(7, 0);
    let mut came = [0u32; 3];
    for _ in 0..40_000 {
        let mut attendance = Attendance::with_rates(participation, &rates, 3, 0.0).unwrap();
        for came in &mut came {
            *came += u32::from(attendance.comes(&mut random));
        }
        // Nobody is left in line.
        assert!(!attendance.comes(&mut random));
    }
    for (came, rate) in came.into_iter().zip(rates) {
        let error = (rate * (1.0 - rate) / 40_000.0f64).sqrt();
        assert!(
            (f64::from(came) / 40_000.0 - rate).abs() < 5.0 * error,
            "{came} {rate}"
        );
    }
    let refused = |participation, rates: &[f64], users| {
        let refused = Attendance::with_rates(participation, rates, users, 0.0);
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        refused(participation, &[0.2, 0.05, 0.3], 3),
        "check-in rate 0.05 of user 1 is outside [0.1, 0.6]"
    );
    assert!(refused(participation, &[0.2, f64::NAN, 0.3], 3).contains("NaN of user 1"));
    assert_eq!(
        refused(participation, &[0.2], 3),
        "1 check-in rates for a round of 3 users by check-in"
    );
    assert!(refused(Participation::Everyone, &[0.2], 1).ends_with("by everybody"));
}

#[test]
fn shares_lie_in_their_intervals_as_often_as_they_say() {
    for participation in [
        Participation::Everyone,
        Participation::Sample(1000),
        check_in(0.25),
    ] {
        let covered = [
            share_coverage(&KaryResponse::new(8, 2.0).unwrap(), 8, participation),
            share_coverage(&KaryResponse::new(8, 6.0).unwrap(), 8, participation),
            share_coverage(&HadamardResponse::new(8, 2.0).unwrap(), 8, participation),
            share_coverage(&UnaryEncoding::optimized(8, 2.0).unwrap(), 8, participation),
        ];
        // 1600 intervals each: half a percent is a deviation, a little more as those of a round hang
        // together.
        assert!(
            covered.iter().all(|share| (0.93..0.97).contains(share)),
            "{participation:?}: {covered:?}"
        );
    }
}

/// Where a few people decide, and an estimate of nothing would have no variance: a sample of a hundred, one
/// holder in a hundred, almost no noise.
#[test]
fn rare_values_lie_in_their_intervals_too() {
    fn coverage<R>(randomizer: &R) -> f64
    where
        R: Randomizer<Value = u64, Estimate = Vec<shuffledp_randomizers::Estimate>> + Sync,
    {
        let value = |user: u64| u64::from(!user.is_multiple_of(100));
        let confidence = Confidence::new(0.95).unwrap();
        let held = (0..400).filter(|seed| {
            let analyzer = collected(randomizer, 10_000, value, Participation::Sample(100), *seed);
            let share = of_all_users(analyzer.estimate().unwrap()[0], 100, 10_000);
            let (low, high) = confidence.around(share);
            low <= 0.01 && 0.01 <= high
        });
        held.count() as f64 / 400.0
    }
    let covered = [
        coverage(&KaryResponse::new(16, 8.0).unwrap()),
        coverage(&UnaryEncoding::optimized(16, 8.0).unwrap()),
        coverage(&HadamardResponse::new(16, 8.0).unwrap()),
    ];
    assert!(covered.iter().all(|share| *share > 0.92), "{covered:?}");
    // Everybody holds 1, and hardly a bit is turned.
    let duchi = Duchi::new(8.0).unwrap();
    let confidence = Confidence::new(0.95).unwrap();
    let held = (0..400).filter(|seed| {
        let analyzer = collected(&duchi, 100, |_| 1.0, Participation::Everyone, *seed);
        let (low, high) = confidence.around(analyzer.estimate().unwrap());
        low <= 1.0 && 1.0 <= high
    });
    assert!(held.count() > 370);
}

#[test]
fn means_lie_in_their_intervals_as_often_as_they_say() {
    fn coverage<R>(randomizer: &R, participation: Participation) -> f64
    where
        R: Randomizer<Value = f64, Estimate = shuffledp_randomizers::Estimate> + Sync,
    {
        const USERS: u64 = 2000;
        let value = |user: u64| (user % 100) as f64 / 99.0;
        let confidence = Confidence::new(0.95).unwrap();
        let held = (0..200).filter(|seed| {
            let analyzer = collected(randomizer, USERS, value, participation, *seed);
            let (low, high) = confidence.around(analyzer.estimate().unwrap());
            low <= 0.5 && 0.5 <= high
        });
        held.count() as f64 / 200.0
    }
    for participation in [
        Participation::Everyone,
        Participation::Sample(500),
        check_in(0.2),
    ] {
        let covered = [
            coverage(&Duchi::new(1.0).unwrap(), participation),
            coverage(&Piecewise::new(2.0).unwrap(), participation),
            coverage(&Gaussian::new(1.0).unwrap(), participation),
        ];
        // 200 intervals: 1.5 % is a deviation.
        assert!(
            covered.iter().all(|share| (0.9..=1.0).contains(share)),
            "{participation:?}: {covered:?}"
        );
    }
}

#[test]
fn quantiles_lie_in_their_intervals_as_often_as_they_say() {
    const USERS: u64 = 20_000;
    let hierarchy = Hierarchy::new(6, 3.0).unwrap();
    // The square of a uniform number: the share below x is √x.
    let value = |user: u64| {
        let number = (user as f64 + 0.5) / USERS as f64;
        (64.0 * number * number) as u64
    };
    let confidence = Confidence::new(0.95).unwrap();
    let (mut held, mut width) = (0, 0);
    let shares = [0.1, 0.25, 0.5, 0.75, 0.9];
    for seed in 0..200 {
        let analyzer = collected(&hierarchy, USERS, value, Participation::Everyone, seed);
        let cumulative = Cumulative::new(&analyzer.estimate().unwrap(), USERS).unwrap();
        for share in shares {
            let truth = (64.0 * share * share) as usize;
            let quantile = cumulative.quantile(share, confidence);
            let (low, high) = quantile.interval;
            assert!(low <= quantile.value && quantile.value <= high);
            held += u32::from(low <= truth && truth <= high);
            width += high - low;
        }
    }
    let covered = f64::from(held) / 1000.0;
    assert!(covered > 0.93, "{covered}");
    // And they say something: a few of 64 cells.
    assert!((width as f64) < 1000.0 * 16.0, "{width}");
    // Without a report about a level there is nothing to say.
    let analyzer = collected(&hierarchy, 2, value, Participation::Everyone, 1);
    assert!(Cumulative::new(&analyzer.estimate().unwrap(), 2).is_none());
}

/// A histogram says the same, in memory and beyond it, on one core and on many.
#[test]
fn a_simulation_is_the_same_wherever_it_runs() {
    let oracle = best_oracle::device(100, 1.0).unwrap();
    let shares = |memory: usize, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let collection = Collection {
                users: 50_000,
                attendance: Attendance::new(check_in(0.5), 50_000, 0.1).unwrap(),
                memory,
            };
            let random = |stream| Ok(Simulated::new(7, stream));
            let open = || Ok(Cursor::new(Vec::new()));
            let analyzer = collection.run(&oracle, |user| user % 100, random, open, |_| ());
            analyzer.unwrap().estimate().unwrap()
        })
    };
    let once = shares(1 << 24, 1);
    assert_eq!(once, shares(1 << 24, 2));
    // An order is all that differs, and nothing depends on it.
    assert_eq!(once, shares(1 << 12, 2));
}

#[test]
fn malformed_reports_are_counted_and_change_nothing() {
    let randomizer = HadamardResponse::new(5, 1.0).unwrap();
    let mut clean = Analyzer::new(&randomizer);
    let mut soiled = Analyzer::new(&randomizer);
    for report in 0..8u8 {
        clean.take(&[report]);
        soiled.take(&[report]);
        soiled.take(&[200 + report]);
        soiled.take(&[]);
    }
    assert_eq!((soiled.taken(), soiled.refused()), (8, 16));
    assert_eq!(clean.estimate(), soiled.estimate());
}

/// The nearest point of the simplex: nothing that moves a little from it is nearer.
#[test]
fn consistent_shares_are_the_nearest() {
    let mut random = Simulated::new(3, 0);
    let mut number = || shuffledp_randomizers::below(2001, &mut random) as f64 / 1000.0 - 1.0;
    for _ in 0..200 {
        let shares: Vec<f64> = (0..7).map(|_| number()).collect();
        let mut nearest = shares.clone();
        make_consistent(&mut nearest);
        assert!(nearest.iter().all(|share| *share >= 0.0));
        assert!((nearest.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // Moving mass from i to j changes the square of the distance by 2 (gap_j − gap_i): never down.
        for i in (0..7).filter(|&i| nearest[i] > 0.0) {
            for j in 0..7 {
                let gap = |place: usize| nearest[place] - shares[place];
                assert!(gap(j) - gap(i) > -1e-12);
            }
        }
    }
}

#[test]
fn heavy_hitters_are_found_and_nothing_else() {
    const USERS: u64 = 300_000;
    let prefixes = Prefixes::new(6, 3.0).unwrap();
    // Three that many hold, two of them with a common beginning, and a hundred thousand that few do.
    let value = |user: u64| match user % 20 {
        0..4 => b"shared".to_vec(),
        4..7 => b"shadow".to_vec(),
        7..9 => b"on".to_vec(),
        _ => (user / 2).to_string().into_bytes(),
    };
    let confidence = Confidence::new(0.95).unwrap();
    let mut missed = 0;
    for seed in 0..10 {
        let analyzer = collected(&prefixes, USERS, value, Participation::Everyone, seed);
        let (found, asked) = heavy_hitters(&prefixes, analyzer.tally(), USERS, confidence);
        let names: Vec<&[u8]> = found
            .iter()
            .take(3)
            .map(|hitter| &hitter.value[..])
            .collect();
        assert_eq!(names, [&b"shared"[..], b"shadow", b"on"]);
        let each = confidence.for_each_of(asked as u64);
        for (hitter, truth) in found.iter().zip([0.2, 0.15, 0.1]) {
            let (low, high) = each.around(hitter.share);
            missed += u32::from(!(low..=high).contains(&truth));
        }
        // Values that nobody holds, by luck: one run in twenty may have one.
        missed += u32::from(found.len() > 3);
    }
    assert!(missed <= 3, "{missed}");
}
