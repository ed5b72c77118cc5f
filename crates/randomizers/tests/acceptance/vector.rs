//! Randomizers of vectors.

use crate::common::{draws_fit, golden, law, priced_alike, wire_is_strict};
use shuffledp_randomizers::{
    Ball, Error, GaussianVector, LaplaceVector, MixedGaussian, PrivUnit, R1, R2, RInf, Ramp,
    Random, Randomizer, Simulated, VectorEstimate, VectorSum, Vectors,
};

/// Means of fixed vectors: every coordinate within five standard errors, and the mean square within 1 % of
/// the formula.
fn vectors_are_unbiased<R>(randomizer: &R, values: &[&[f32]], draws: usize, seed: u64)
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate>,
{
    let mut random = Simulated::new(seed, 5);
    let mut report = vec![0; randomizer.report_length()];
    for value in values {
        let mut tally = randomizer.tally();
        let mut squares = vec![0.0; value.len()];
        for _ in 0..draws {
            randomizer
                .randomize(value, &mut random, &mut report)
                .unwrap();
            randomizer.add(&report, &mut tally).unwrap();
            let mut one = randomizer.tally();
            randomizer.add(&report, &mut one).unwrap();
            for (square, x) in squares.iter_mut().zip(randomizer.estimate(&one).mean) {
                *square += x * x / draws as f64;
            }
        }
        let estimate = randomizer.estimate(&tally);
        for ((mean, square), x) in estimate.mean.iter().zip(&squares).zip(*value) {
            let error = (square / draws as f64).sqrt();
            assert!(
                (mean - f64::from(*x)).abs() < 5.0 * error,
                "{mean} {x} {error}"
            );
        }
        let size: f64 = value.iter().map(|x| f64::from(*x).powi(2)).sum();
        let ratio = (squares.iter().sum::<f64>() - size) / randomizer.variance(value);
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        let claimed = estimate.variance * draws as f64;
        assert!(claimed >= 0.999 * randomizer.variance(value), "{claimed}");
    }
}

/// Contributions with nothing to settle give the same sums as reports from the same randomness.
fn contributions_are_reports<R>(randomizer: &R, values: &[&[f32]])
where
    R: Randomizer<Value = [f32], Tally = VectorSum>,
{
    let (mut once, mut again) = (Simulated::new(123, 0), Simulated::new(123, 0));
    let (mut direct, mut by_report) = (randomizer.tally(), randomizer.tally());
    let mut report = vec![0; randomizer.report_length()];
    for draw in 0..300 {
        let value = values[draw % values.len()];
        randomizer
            .contribute(value, &mut once, &mut direct)
            .unwrap();
        randomizer
            .randomize(value, &mut again, &mut report)
            .unwrap();
        randomizer.add(&report, &mut by_report).unwrap();
    }
    assert_eq!(direct, by_report);
    randomizer.settle(&mut once, &mut direct);
    assert_eq!(direct, by_report);
    assert_eq!(once.word(), again.word());
}

#[test]
fn contributing_is_sending_and_adding() {
    let values: [&[f32]; 3] = [&[0.5, -0.2, 0.1], &[0.0, 0.0, 0.0], &[0.0, -0.9, 0.0]];
    contributions_are_reports(&RInf::new(3, 1.0, 1.0).unwrap(), &values);
    contributions_are_reports(&R1::new(3, 1.0, 1.0).unwrap(), &values);
    contributions_are_reports(&R2::new(3, 1.0, 1.0).unwrap(), &values);
    // Directions that lean are drawn another way, with the same law: see there (`vector::leaning`).
    contributions_are_reports(&LaplaceVector::new(3, 1.0, 1.0).unwrap(), &values);
}

/// The largest distance between the distribution functions of two samples of one size, divided by the
/// distance that one pair of samples in a million exceeds.
fn apart(one: &mut [f64], other: &mut [f64]) -> f64 {
    one.sort_by(f64::total_cmp);
    other.sort_by(f64::total_cmp);
    let (mut i, mut j, mut largest) = (0, 0, 0usize);
    while i < one.len() && j < other.len() {
        if one[i] <= other[j] {
            i += 1;
        } else {
            j += 1;
        }
        largest = largest.max(i.abs_diff(j));
    }
    let n = one.len() as f64;
    // Smirnov: P[distance > t √(2/n)] ≤ 2e^{−2t²}.
    let limit = (0.5 * 2e6f64.ln()).sqrt() * (2.0 / n).sqrt();
    largest as f64 / n / limit
}

/// How far the sums of a settled batch and of a batch of reports are from the truth, coordinate by
/// coordinate, over many small batches.
fn settled_and_sent(batches: usize) -> [Vec<f64>; 2] {
    let randomizer = GaussianVector::new(3, 2.0, 1.5).unwrap();
    let values: [&[f32]; 4] = [
        &[1.2, 0.0, -1.6],
        &[0.0; 3],
        &[0.1, -0.2, 0.3],
        &[0.0, 2.0, 0.0],
    ];
    let truth = [1.3, 1.8, -1.3];
    let mut random = Simulated::new(151, 0);
    let mut report = vec![0; randomizer.report_length()];
    let (mut settled, mut sent) = (Vec::new(), Vec::new());
    for _ in 0..batches {
        let (mut direct, mut by_report) = (randomizer.tally(), randomizer.tally());
        for value in values {
            randomizer
                .contribute(value, &mut random, &mut direct)
                .unwrap();
            randomizer
                .randomize(value, &mut random, &mut report)
                .unwrap();
            randomizer.add(&report, &mut by_report).unwrap();
        }
        randomizer.settle(&mut random, &mut direct);
        for (tally, sample) in [(&direct, &mut settled), (&by_report, &mut sent)] {
            assert_eq!(tally.reports(), 4);
            let mean = randomizer.estimate(tally).mean;
            sample.extend(mean.iter().zip(truth).map(|(x, truth)| 4.0 * x - truth));
        }
    }
    [settled, sent]
}

#[test]
fn a_settled_batch_has_the_law_of_a_batch_of_reports() {
    let [mut settled, mut sent] = settled_and_sent(250_000);
    // Every coordinate, then all of them, among which a deviation of 3 % more or less would be seen.
    for coordinate in 0..3 {
        let of = |all: &[f64]| all.iter().skip(coordinate).step_by(3).copied().collect();
        let (mut one, mut other): (Vec<f64>, Vec<f64>) = (of(&settled), of(&sent));
        let far = apart(&mut one, &mut other);
        assert!(far < 1.0, "coordinate {coordinate}: {far} of the limit");
    }
    // The noise of two coordinates is independent.
    for sample in [&settled, &sent] {
        let product: f64 = sample.chunks_exact(3).map(|x| x[0] * x[1]).sum();
        let square: f64 = sample.iter().map(|x| x * x).sum::<f64>() / 3.0;
        assert!(product.abs() < 5.0 * square / 500.0, "{product} {square}");
    }
    let far = apart(&mut settled, &mut sent);
    assert!(far < 1.0, "{far} of the limit");
    for factor in [0.97, 1.03] {
        let mut wrong: Vec<f64> = settled.iter().map(|x| factor * x).collect();
        let far = apart(&mut wrong, &mut sent);
        assert!(far > 1.0, "a factor of {factor} is not seen: {far}");
    }
}

#[test]
fn batches_are_settled_once_however_they_are_put_together() {
    let randomizer = GaussianVector::new(1000, 1.0, 1.0).unwrap();
    let mut random = Simulated::new(152, 0);
    let value = vec![0.01; 1000];
    let contribute = |people: usize, random: &mut Simulated, tally: &mut VectorSum| {
        for _ in 0..people {
            randomizer.contribute(&value, random, tally).unwrap();
        }
    };
    let mut report = vec![0; randomizer.report_length()];
    let mut tally = randomizer.tally();
    contribute(30, &mut random, &mut tally);
    randomizer.settle(&mut random, &mut tally);
    let once = tally.clone();
    randomizer.settle(&mut random, &mut tally);
    assert_eq!(tally, once);
    // Reports have their own noise; a merged part that is not settled is settled with the rest.
    for _ in 0..30 {
        randomizer
            .randomize(&value, &mut random, &mut report)
            .unwrap();
        randomizer.add(&report, &mut tally).unwrap();
    }
    let mut part = randomizer.tally();
    contribute(40, &mut random, &mut part);
    tally.merge(&part);
    randomizer.settle(&mut random, &mut tally);
    let mean = randomizer.estimate(&tally).mean;
    let square: f64 = mean.iter().map(|x| (x - 0.01).powi(2)).sum();
    // The variance over a thousand coordinates has a relative standard error of 4.5 %.
    let ratio = square * 100.0 / randomizer.variance(&value);
    assert!((ratio - 1.0).abs() < 0.22, "{ratio}");
}

/// Draws of every coordinate, in cells, against the distribution function of its noise on integers:
/// `cdf(level, z)` is the probability of less than z.
fn coordinates_fit<R: Randomizer<Value = [f32]>>(
    randomizer: &R,
    value: &[f32],
    levels: &[i64],
    cell: i64,
    cdf: impl Fn(f64) -> f64,
) {
    const CELLS: i64 = 40;
    let width = randomizer.report_length() / value.len();
    let mut random = Simulated::new(161, 0);
    let mut report = vec![0; randomizer.report_length()];
    let draws = 400_000;
    let mut counts = vec![[0.0; 2 * CELLS as usize]; value.len()];
    for _ in 0..draws {
        randomizer
            .randomize(value, &mut random, &mut report)
            .unwrap();
        for ((at, level), counts) in report.chunks(width).zip(levels).zip(&mut counts) {
            // Two's complement, of either width.
            let sign = if at[width - 1] < 128 { 0 } else { 255 };
            let mut all = [sign; 8];
            all[..width].copy_from_slice(at);
            let noise = i64::from_le_bytes(all) - level;
            let place = noise.div_euclid(cell).clamp(-CELLS, CELLS - 1);
            counts[(place + CELLS) as usize] += 1.0;
        }
    }
    for counts in counts {
        let (mut chi, mut freedom) = (0.0, -1.0f64);
        for (place, count) in (-CELLS..CELLS).zip(counts) {
            let ends = [place, place + 1].map(|end| match end {
                end if end == -CELLS => 0.0,
                CELLS => 1.0,
                _ => cdf((end * cell) as f64),
            });
            let expected = (ends[1] - ends[0]) * f64::from(draws);
            assert!(expected > 5.0, "cell {place} is too rare");
            chi += (count - expected).powi(2) / expected;
            freedom += 1.0;
        }
        let limit =
            freedom * (1.0 - 2.0 / (9.0 * freedom) + 4.75 * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
        assert!(chi < limit, "chi-square {chi}, limit {limit}");
    }
}

#[test]
fn gaussian_vector() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    for sigma in [0.3, 2.0] {
        let randomizer = GaussianVector::new(5, 1.0, sigma).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 300_000, 142);
        let ratio = randomizer.variance(&inside) / (5.0 * sigma * sigma);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
        assert!((randomizer.scale().powi(2) / (5.0 * sigma * sigma) - 1.0).abs() < 1e-9);
        assert!(randomizer.influence().is_infinite());
    }
    // Differences of the normal law, at a radius that is no power of two; 2^16 cells to a deviation, a tenth
    // of that in one.
    let randomizer = GaussianVector::new(3, 3.0, 0.7).unwrap();
    let value: [f32; 3] = [1.1, -2.7, 0.0];
    let levels = value.map(|x| (f64::from(x) / (0.7 * 3.0 / 65536.0)) as i64);
    coordinates_fit(&randomizer, &value, &levels, 6554, |z| {
        0.5 * shuffledp_numerics::special::erfc(-z / 65536.0 / 2f64.sqrt())
    });
    // Likelihoods are densities, up to a factor that all values share.
    let mut report = [0; 12];
    let sent: [i32; 3] = [40_000, -90_000, 7];
    for (at, x) in report.chunks_mut(4).zip(sent) {
        at.copy_from_slice(&x.to_le_bytes());
    }
    let density = |levels: [i64; 3]| {
        let square = |(x, level): (i32, i64)| (f64::from(x) + 0.5 - level as f64).powi(2);
        let total: f64 = sent.into_iter().zip(levels).map(square).sum();
        (-0.5 * total / 2f64.powi(32)).exp()
    };
    let likelihood = randomizer.likelihood(&value[..], &report).unwrap();
    assert!((likelihood / density(levels) * density([0; 3]) - 1.0).abs() < 1e-12);
    assert_eq!(randomizer.likelihood(&[0.0; 3][..], &report), Some(1.0));
    // A vector outside by less than the tolerance is brought inside before its levels are contributed.
    let mut random = Simulated::new(143, 0);
    for beyond in [1.0 + 9e-7, 1.0 + 1e-7, 1.0] {
        for d in [1usize, 2, 7, 1000] {
            let randomizer = GaussianVector::new(d, 1.0, 0.3).unwrap();
            let value = vec![(beyond / (d as f64).sqrt()) as f32; d];
            randomizer.check(&value).unwrap();
            let mut tally = randomizer.tally();
            randomizer
                .contribute(&value, &mut random, &mut tally)
                .unwrap();
            let mean = randomizer.estimate(&tally).mean;
            let norm = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(norm <= 1.0 + 2e-12 && norm > 1.0 - 2e-4, "{norm}");
        }
    }
    let randomizer = GaussianVector::new(5, 1.0, 2.0).unwrap();
    wire_is_strict(
        &randomizer,
        &[1.0, 0.1, 0.0, 0.0, 0.0][..],
        &[&[], &[0; 40]],
    );
    wire_is_strict(&randomizer, &[f32::NAN, 0.0, 0.0, 0.0, 0.0][..], &[]);
    wire_is_strict(&randomizer, &[0.0; 4][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "40ed0000f97affffb315ffffdb4dfeff6a780000 04fb010073580100b283ffffd6b5ffff58d9feff",
    );
}

#[test]
fn mixed_gaussian() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    for (sigma, blanket) in [(0.3, 0.5), (2.0, 0.8)] {
        let randomizer = MixedGaussian::new(5, 1.0, sigma, blanket).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 300_000, 144);
        let share = 1.0 - blanket;
        let square = (5.0 * sigma * sigma + share * blanket) / (share * share);
        assert!((randomizer.variance(&long) / square - 1.0).abs() < 1e-6);
        assert!((randomizer.scale().powi(2) / square - 1.0).abs() < 1e-9);
        assert!(randomizer.influence().is_infinite());
        // Contributions have the same mean and, once settled, the same spread.
        let (batches, mut random) = (40_000, Simulated::new(145, 0));
        let (mut mean, mut spread) = ([0.0; 5], 0.0);
        for _ in 0..batches {
            let mut tally = randomizer.tally();
            for value in [&long, &inside] {
                randomizer
                    .contribute(value, &mut random, &mut tally)
                    .unwrap();
            }
            randomizer.settle(&mut random, &mut tally);
            for (i, x) in randomizer.estimate(&tally).mean.into_iter().enumerate() {
                mean[i] += x / f64::from(batches);
                spread += (x - 0.5 * f64::from(long[i] + inside[i])).powi(2) / f64::from(batches);
            }
        }
        let expected = (randomizer.variance(&long) + randomizer.variance(&inside)) / 4.0;
        assert!(
            (spread / expected - 1.0).abs() < 0.03,
            "{spread} {expected}"
        );
        let error = (expected / f64::from(batches)).sqrt();
        for (i, x) in mean.into_iter().enumerate() {
            assert!((x - 0.5 * f64::from(long[i] + inside[i])).abs() < 5.0 * error);
        }
    }
    // Two normal laws, mixed: one coordinate, with the place of the vector at the origin.
    let (sigma, blanket) = (0.7, 0.4);
    let randomizer = MixedGaussian::new(1, 3.0, sigma, blanket).unwrap();
    let level = (1.5 / (sigma * 3.0 / 65536.0)) as i64;
    let below = |z: f64| 0.5 * shuffledp_numerics::special::erfc(-z / 65536.0 / 2f64.sqrt());
    coordinates_fit(&randomizer, &[1.5], &[level], 6554, |z| {
        (1.0 - blanket) * below(z) + blanket * below(z + level as f64)
    });
    // Likelihoods are those of plain noise, mixed with that of zero.
    let plain = GaussianVector::new(1, 3.0, sigma).unwrap();
    let report = 40_000i32.to_le_bytes();
    let likelihood = |value: f32| randomizer.likelihood(&[value][..], &report).unwrap();
    let mixed = 0.6 * plain.likelihood(&[1.5][..], &report).unwrap() + 0.4;
    assert!((likelihood(1.5) / mixed - 1.0).abs() < 1e-12);
    assert!((likelihood(0.0) - 1.0).abs() < 1e-12);
    // The coin never tells more often than it should.
    assert!(MixedGaussian::new(1, 1.0, 1.0, 1.0).is_err());
    let randomizer = MixedGaussian::new(5, 1.0, 2.0, 0.5).unwrap();
    wire_is_strict(
        &randomizer,
        &[1.0, 0.1, 0.0, 0.0, 0.0][..],
        &[&[], &[0; 40]],
    );
    wire_is_strict(&randomizer, &[f32::NAN, 0.0, 0.0, 0.0, 0.0][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "6a78000038ee01000c7201004c5dffffd6b5ffff 18c4ffff84c4ffff7582fffff66700001178feff",
    );
}

#[test]
fn laplace_vector() {
    let long: [f32; 5] = [0.25, 0.0, 0.0, -0.75, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.25];
    for epsilon0 in [0.5, 8.0] {
        let randomizer = LaplaceVector::new(5, 1.0, epsilon0).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 300_000, 172);
        // Twice the square of 2/epsilon0 on every coordinate.
        let ratio = randomizer.variance(&inside) * epsilon0 * epsilon0 / 40.0;
        assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
        assert!(randomizer.influence().is_infinite());
    }
    // The law of a two-sided geometric number with the rate that the documentation gives.
    let randomizer = LaplaceVector::new(3, 3.0, 20.0).unwrap();
    let value: [f32; 3] = [0.7, -2.2, 0.0];
    let levels = value.map(|x| (f64::from(x) / 3.0 * 1_048_576.0) as i64);
    let rate = 20.0 / 2_097_152.0;
    coordinates_fit(&randomizer, &value, &levels, 20_000, |z| {
        // P[Z < z] = P[Z ≥ 1 − z] for z ≤ 0, and P[Z ≥ g] = e^{−rate g}/(1 + e^{−rate}) for g ≥ 1.
        let tail = |g: f64| (-rate * g).exp() / (1.0 + (-rate).exp());
        if z <= 0.0 {
            tail(1.0 - z)
        } else {
            1.0 - tail(z)
        }
    });
    let randomizer = LaplaceVector::new(5, 1.0, 2.0).unwrap();
    wire_is_strict(
        &randomizer,
        &[0.5, 0.6, 0.0, 0.0, 0.0][..],
        &[&[], &[0; 80]],
    );
    wire_is_strict(&randomizer, &[f32::NAN, 0.0, 0.0, 0.0, 0.0][..], &[]);
    wire_is_strict(&randomizer, &[0.0; 6][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "1b44ffffffffffffa786070000000000ae12fcffffffffff6c61f5ffffffffff8b7be4ffffffffff \
         8299eaffffffffff3bf6b7ffffffffff7aeef8ffffffffffdeb8f9ffffffffff523b010000000000",
    );
}

#[test]
fn no_report_of_a_laplace_vector_says_more_than_epsilon0() {
    const K: i64 = 1 << 20;
    // A vector of norm 1 exceeds this radius by nearly the tolerance, which is more than a level.
    const RADIUS: f64 = 1.0 / (1.0 + 9.8e-7);
    for epsilon0 in [0.01, 0.3, 1.0, 7.7, 100.0] {
        let one = LaplaceVector::new(1, RADIUS, epsilon0).unwrap();
        let at = |value: f32, y: i64| one.probability(&[value][..], &y.to_le_bytes()).unwrap();
        let (mut largest, mut total) = (0.0f64, 0.0);
        // The range in which the ratio changes, and some points beyond.
        for y in (-K - 2000..=K + 2000)
            .step_by(13)
            .chain([-K, 0, K, -9 * K, 9 * K])
        {
            for (a, b) in [(1.0, -1.0), (-1.0, 1.0), (0.999, -1.0)] {
                one.check(&[a][..]).unwrap();
                largest = largest.max((at(a, y) / at(b, y)).ln());
            }
        }
        assert!(largest <= epsilon0 * (1.0 + 1e-13), "{largest} {epsilon0}");
        // Bringing the vector inside costs a few levels, and rounding the rate a little.
        assert!(largest > epsilon0 * (1.0 - 4e-6), "{largest} {epsilon0}");
        if epsilon0 == 100.0 {
            for y in -K..=2 * K {
                total += at(0.7, y);
            }
            assert!((total - 1.0).abs() < 1e-9, "{total}");
        }

        let two = LaplaceVector::new(2, RADIUS, epsilon0).unwrap();
        let values: [[f32; 2]; 8] = [
            [1.0, 0.0],
            [-1.0, 0.0],
            [0.0, 1.0],
            [0.0, -1.0],
            [0.5, 0.5],
            [-0.5, 0.5],
            [1.0, -1e-40],
            [f32::MIN_POSITIVE, -0.999_999_9],
        ];
        let mut largest: f64 = 0.0;
        for place in 0..33 * 33i64 {
            let y = [place % 33 - 16, place / 33 - 16].map(|x| x * K / 12);
            let report = y.map(i64::to_le_bytes).concat();
            let at: Vec<[f64; 2]> = values
                .iter()
                .map(|value| {
                    two.check(&value[..]).unwrap();
                    [
                        two.probability(&value[..], &report).unwrap().ln(),
                        two.likelihood(&value[..], &report).unwrap().ln(),
                    ]
                })
                .collect();
            for a in &at {
                for b in &at {
                    largest = largest.max(a[0] - b[0]);
                    let differ = (a[0] - b[0]) - (a[1] - b[1]);
                    assert!(differ.abs() < 1e-11 * (1.0 + epsilon0), "{differ}");
                }
            }
        }
        assert!(
            largest <= epsilon0 * (1.0 + 1e-13) + 1e-13,
            "{largest} {epsilon0}"
        );
        assert!(largest > epsilon0 * (1.0 - 4e-6), "{largest} {epsilon0}");
    }
}

#[test]
fn r_inf() {
    let corner: [f32; 3] = [0.5, 0.5, -0.5];
    let opposite = corner.map(|x| -x);
    let inside: [f32; 3] = [0.1, -0.5, 0.0];
    let randomizer = RInf::new(3, 0.5, 1.0).unwrap();
    let rows = law(&randomizer, &[&corner[..], &opposite[..], &inside[..]], &[]);
    priced_alike(
        randomizer.mechanism(),
        vec![rows[0].clone(), rows[1].clone()],
    );
    draws_fit(&randomizer, &inside[..], 101);
    vectors_are_unbiased(&randomizer, &[&corner, &inside, &[0.0; 3]], 400_000, 102);
    wire_is_strict(&randomizer, &[0.6, 0.0, 0.0][..], &[&[6]]);
    wire_is_strict(&randomizer, &[f32::NAN, 0.0, 0.0][..], &[]);
    wire_is_strict(&randomizer, &[0.0, 0.0][..], &[]);
    golden(&randomizer, &[&corner[..], &inside[..]], "03 02");
}

#[test]
fn r_1() {
    let corner: [f32; 3] = [0.0, 2.0, 0.0];
    let opposite = corner.map(|x| -x);
    let inside: [f32; 3] = [0.5, -0.5, 0.75];
    let randomizer = R1::new(3, 2.0, 1.5).unwrap();
    let rows = law(&randomizer, &[&corner[..], &opposite[..], &inside[..]], &[]);
    priced_alike(
        randomizer.mechanism(),
        vec![rows[0].clone(), rows[1].clone()],
    );
    draws_fit(&randomizer, &inside[..], 111);
    vectors_are_unbiased(&randomizer, &[&corner, &inside, &[0.0; 3]], 400_000, 112);
    wire_is_strict(&randomizer, &[1.0, 1.0, 0.1][..], &[&[8]]);
    golden(&randomizer, &[&corner[..], &inside[..]], "05 05");
}

#[test]
fn r_2() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let opposite = long.map(|x| -x);
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    let randomizer = R2::new(5, 1.0, 2.0).unwrap();
    // Given the seed.
    law(
        &randomizer,
        &[&long[..], &opposite[..], &inside[..], &[0.0; 5][..]],
        &[9; 16],
    );
    vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 400_000, 122);
    // In high dimension the square is about (pi/2) d C².
    let wide = R2::new(10_000, 1.0, 1.0).unwrap();
    let c = (1f64.exp() + 1.0) / 1f64.exp_m1();
    assert!((wide.scale().powi(2) / (0.5 * std::f64::consts::PI * 1e4 * c * c) - 1.0).abs() < 1e-4);
    assert_eq!(wide.report_length(), 17);
    wire_is_strict(&randomizer, &[1.0, 0.1, 0.0, 0.0, 0.0][..], &[&[2; 17]]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "22ec148010e5aa80fea2d5d3892674a000 36a2ea9bfd4cef3e332fa28eca69111b01",
    );
    // The direction of a seed, by ChaCha8 written out in Python and the normal quantiles of scipy.
    let mut tally = randomizer.tally();
    let report = [vec![9; 16], vec![1]].concat();
    randomizer.add(&report, &mut tally).unwrap();
    let mean = randomizer.estimate(&tally).mean;
    let text: Vec<String> = mean
        .iter()
        .map(|x| format!("{:.5}", x / randomizer.scale()))
        .collect();
    assert_eq!(text.join(" "), "-0.17497 0.12199 0.90157 -0.10898 0.36028");
}

/// Ratios of likelihoods of many seeds at opposite vectors: never above ε₀, and, where `sharp`, attained but
/// for the margin that the device leaves.
fn leans_within(
    randomizer: &impl Randomizer<Value = [f32]>,
    value: &[f32],
    epsilon0: f64,
    sharp: bool,
) {
    let mut random = Simulated::new(133, 0);
    let mut report = [0; 16];
    let opposite: Vec<f32> = value.iter().map(|x| -x).collect();
    let mut largest: f64 = 0.0;
    for _ in 0..2000 {
        randomizer
            .randomize(value, &mut random, &mut report)
            .unwrap();
        let at = |value: &[f32]| randomizer.probability(value, &report).unwrap();
        largest = largest.max((at(value) / at(&opposite)).ln().abs());
    }
    assert!(largest <= epsilon0 + 1e-14, "{largest}");
    assert!(!sharp || largest > epsilon0 - 1e-5, "{largest}");
}

/// Reports by the height of their direction, in eight bands of one share each: a chi-square test against the
/// likelihoods, and the same seeds under the uniform law.
fn heights_fit(randomizer: &impl Randomizer<Value = [f32]>, value: &[f32], seed: u64) {
    const DRAWS: usize = 200_000;
    const BANDS: usize = 8;
    let mut random = Simulated::new(seed, 0);
    let mut report = [0; 16];
    // By likelihood: it rises with the height, but is constant below the start. Uniform seeds, weighted by
    // their likelihood, must have the law of the reports.
    let mut uniform: Vec<f64> = (0..DRAWS)
        .map(|_| {
            random.fill(&mut report);
            randomizer.probability(value, &report).unwrap()
        })
        .collect();
    uniform.sort_by(f64::total_cmp);
    let total: f64 = uniform.iter().sum();
    assert!((total / DRAWS as f64 - 1.0).abs() < 0.02, "{total}");
    let mut edges: Vec<f64> = (1..BANDS).map(|i| uniform[i * DRAWS / BANDS]).collect();
    edges.dedup();
    let band = |likelihood: f64| edges.partition_point(|edge| *edge < likelihood);
    let (mut wanted, mut seen) = (vec![0.0; edges.len() + 1], vec![0.0; edges.len() + 1]);
    for likelihood in &uniform {
        wanted[band(*likelihood)] += likelihood;
    }
    for _ in 0..DRAWS {
        randomizer
            .randomize(value, &mut random, &mut report)
            .unwrap();
        seen[band(randomizer.probability(value, &report).unwrap())] += 1.0;
    }
    for (wanted, seen) in wanted.iter().zip(&seen) {
        // Both are samples: within six standard errors of their difference.
        let error = (20.0 * wanted.max(10.0)).sqrt();
        assert!((wanted - seen).abs() < 6.0 * error, "{wanted} {seen}");
    }
}

/// The direction of a seed, by ChaCha8 written out in Python and the normal quantiles of its standard
/// library.
fn has_the_direction_of_its_seed<B: Ball>(randomizer: &Vectors<B>) {
    let mut tally = randomizer.tally();
    randomizer.add(&[9; 16], &mut tally).unwrap();
    let mean = randomizer.estimate(&tally).mean;
    let text: Vec<String> = mean
        .iter()
        .map(|x| format!("{:.5}", x / randomizer.scale()))
        .collect();
    assert_eq!(text.join(" "), "0.64042 -0.41312 0.06762 0.58619 -0.26647");
    // The last bit turns a direction round.
    let mut turned = [9; 16];
    turned[15] |= 0x80;
    randomizer.add(&turned, &mut tally).unwrap();
    assert!(randomizer.estimate(&tally).mean.iter().all(|x| *x == 0.0));
}

#[test]
fn priv_unit() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    for epsilon0 in [0.5, 4.0] {
        let randomizer = PrivUnit::new(5, 1.0, epsilon0).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 400_000, 132);
        leans_within(&randomizer, &long, epsilon0, true);
    }
    // At larger epsilon0 it is clearly better than a direction and a bit.
    let (unit, bit) = (
        PrivUnit::new(1000, 1.0, 6.0).unwrap(),
        R2::new(1000, 1.0, 6.0).unwrap(),
    );
    assert!(
        unit.scale() < 0.6 * bit.scale(),
        "{} {}",
        unit.scale(),
        bit.scale()
    );
    let randomizer = PrivUnit::new(5, 1.0, 2.0).unwrap();
    wire_is_strict(&randomizer, &[2.0, 0.0, 0.0, 0.0, 0.0][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..], &long[..], &inside[..]],
        "22ec148010e5aa80fea2d5d3892674a0 332fa28eca69111b4e09c76d77ac0685 \
         0b6cbbf2a1ed388cce5368b180b44cea 14f3249ee743be4b0014e3c6418d659d",
    );
    has_the_direction_of_its_seed(&randomizer);
}

#[test]
fn ramp() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    for (epsilon0, start) in [(0.5, None), (4.0, None), (4.0, Some(0.0))] {
        let randomizer = Ramp::new(5, 1.0, epsilon0, start).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 400_000, 142);
        // In five dimensions the cap is the pole, which no seed is.
        leans_within(&randomizer, &long, epsilon0, false);
        heights_fit(&randomizer, &inside, 143);
        heights_fit(&randomizer, &long, 144);
    }
    // In high dimension, too, where normal numbers matter far out.
    let axis: Vec<f32> = (0..300).map(|i| if i == 7 { 1.0 } else { 0.0 }).collect();
    let dense = vec![300f32.sqrt().recip() * 0.999; 300];
    for value in [axis, dense] {
        heights_fit(&Ramp::new(300, 1.0, 3.0, None).unwrap(), &value, 145);
        heights_fit(&PrivUnit::new(300, 1.0, 3.0).unwrap(), &value, 146);
    }
    let randomizer = Ramp::new(5, 1.0, 2.0, None).unwrap();
    wire_is_strict(&randomizer, &[2.0, 0.0, 0.0, 0.0, 0.0][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..], &long[..], &inside[..]],
        "22ec148010e5aa80fea2d5d3892674a0 332fa28eca69111b4e09c76d77ac0685 \
         0b6cbbf2a1ed388cce5368b180b44cea 14f3249ee743be4b0014e3c6418d659d",
    );
    has_the_direction_of_its_seed(&randomizer);
    let refused = |result: Result<Ramp, Error>| result.unwrap_err().to_string();
    assert_eq!(
        refused(Ramp::new(1, 1.0, 1.0, None)),
        "dimension 1 is outside [2, 2^30] for the ramp"
    );
    assert_eq!(
        refused(Ramp::new(5, 1.0, 17.0, None)),
        "epsilon0 17 is outside [1e-6, 16] for the ramp"
    );
    assert!(Ramp::new(5, 1.0, 1.0, Some(-1.0)).is_err());
}

/// Tries of a device: as many words of randomness for every vector, but for the one that turns short vectors
/// round. The standard error is one in a hundred.
#[test]
fn the_number_of_tries_does_not_depend_on_the_vector() {
    const DRAWS: u32 = 20_000;
    let randomizer = Ramp::new(50, 1.0, 3.0, None).unwrap();
    let mut axis = vec![0.0; 50];
    axis[0] = 1.0;
    let dense = vec![50f32.sqrt().recip() * 0.999; 50];
    let lengths = [axis, dense, vec![0.0; 50]].map(|value| {
        // Every report comes from fresh randomness, of which the next word tells how much was used.
        let mut report = [0; 16];
        let mut seen = 0u32;
        for draw in 0..DRAWS {
            let mut random = Simulated::new(u64::from(draw), 9);
            let mut words = Simulated::new(u64::from(draw), 9);
            randomizer
                .randomize(&value, &mut random, &mut report)
                .unwrap();
            let next = random.word();
            seen += (0..).position(|_| words.word() == next).unwrap() as u32;
        }
        f64::from(seen) / f64::from(DRAWS)
    });
    for length in lengths {
        assert!((length / lengths[0] - 1.0).abs() < 0.06, "{lengths:?}");
    }
}
