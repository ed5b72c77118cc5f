//! Randomizers of a number in [0, 1].

use crate::common::{DRAWS, configured, draws_fit, golden, law, priced_alike, wire_is_strict};
use shuffledp_accounting::{Channel, Local, Mechanism, Round, account};
use shuffledp_randomizers::{
    DiscreteGaussian, DiscreteLaplace, Duchi, Estimate, Gaussian, Hybrid, Piecewise, Randomizer,
    Simulated, SquareWave, Sum,
};

/// Means of fixed values: within five standard errors, and the variance within 1 % of the formula.
fn means_are_unbiased<R>(randomizer: &R, values: &[f64], seed: u64)
where
    R: Randomizer<Value = f64, Tally = Sum, Estimate = Estimate>,
{
    let mut random = Simulated::new(seed, 4);
    let mut report = vec![0; randomizer.report_length()];
    for value in values {
        let mut tally = randomizer.tally();
        for _ in 0..DRAWS {
            randomizer
                .randomize(value, &mut random, &mut report)
                .unwrap();
            randomizer.add(&report, &mut tally).unwrap();
        }
        let estimate = randomizer.estimate(&tally);
        assert!(
            (estimate.value - value).abs() < 5.0 * estimate.deviation(),
            "{value}: {estimate:?}"
        );
        let ratio = estimate.variance * DRAWS as f64 / randomizer.variance(value);
        assert!((ratio - 1.0).abs() < 0.01, "{value}: {ratio}");
    }
}

#[test]
fn duchi() {
    let values = [0.0, 0.25, 0.5, 1.0];
    let listed: Vec<&f64> = values.iter().collect();
    for epsilon0 in [0.2, 1.0, 5.0] {
        let randomizer = Duchi::new(epsilon0).unwrap();
        let rows = law(&randomizer, &listed, &[]);
        priced_alike(
            randomizer.mechanism(),
            vec![rows[0].clone(), rows[3].clone()],
        );
    }
    let randomizer = Duchi::new(1.0).unwrap();
    for value in values {
        draws_fit(&randomizer, &value, 71);
    }
    means_are_unbiased(&randomizer, &values, 72);
    wire_is_strict(&randomizer, &1.5, &[&[2]]);
    wire_is_strict(&randomizer, &f64::NAN, &[]);
    golden(&randomizer, &listed, "00 00 01 00");
}

#[test]
fn piecewise() {
    for epsilon0 in [0.5, 1.0, 4.0] {
        let randomizer = Piecewise::new(epsilon0).unwrap();
        // Every cell of two distant windows: the law is constant on three pieces, whose ends are looked at.
        let own = configured(randomizer.mechanism());
        assert!(own <= epsilon0 && own > epsilon0 - 2e-6, "{own}");
        let cell = |number: u32| number.to_le_bytes()[..3].to_vec();
        let mut largest: f64 = 0.0;
        for number in [0, 1, (1 << 23), (1 << 24) - 1] {
            let report = cell(number);
            let at = |value: f64| randomizer.probability(&value, &report).unwrap();
            largest = largest.max((at(0.0) / at(1.0)).ln().abs());
        }
        assert!((largest - own).abs() < 1e-12, "{largest} {own}");
        means_are_unbiased(&randomizer, &[0.0, 0.3, 1.0], 81);
    }
    let randomizer = Piecewise::new(1.0).unwrap();
    wire_is_strict(&randomizer, &-0.1, &[]);
    golden(&randomizer, &[&0.0, &0.5, &1.0], "08c9b8 c5e581 a6cef7");
}

#[test]
fn square_wave() {
    for epsilon0 in [1e-3, 0.5, 1.0, 4.0] {
        let randomizer = SquareWave::new(epsilon0).unwrap();
        // Every report of the two ends and the middle: the law by name is that of the listed probabilities.
        let rows = law(&randomizer, &[&0.0, &1.0, &0.5], &[]);
        priced_alike(randomizer.mechanism(), rows);
        means_are_unbiased(&randomizer, &[0.0, 0.3, 1.0], 83);
    }
    // No pair of values is worse than the two ends.
    let randomizer = SquareWave::new(1.0).unwrap();
    let values: [f64; 7] = [0.0, 0.1, 0.2501, 0.5, 0.6, 0.9, 1.0];
    let values: Vec<&f64> = values.iter().collect();
    let all = Mechanism::matrix(Channel::new(law(&randomizer, &values, &[])).unwrap());
    let upper = |mechanism: Mechanism| {
        let round = Round::new(mechanism, 50).unwrap();
        account(&round)
            .unwrap()
            .epsilon(1e-4)
            .unwrap()
            .upper()
            .value()
    };
    let (ends, any) = (upper(randomizer.mechanism().clone()), upper(all));
    assert!((any / ends - 1.0).abs() < 1e-5, "{any} {ends}");
    wire_is_strict(&randomizer, &1.1, &[]);
    draws_fit(&randomizer, &0.3, 84);
    golden(&randomizer, &[&0.0, &0.5, &1.0], "4304 1003 e005");
}

#[test]
fn discrete_laplace() {
    for (levels, epsilon0) in [(2, 1.0), (5, 0.5), (11, 3.0)] {
        let randomizer = DiscreteLaplace::new(levels, epsilon0).unwrap();
        let own = configured(randomizer.mechanism());
        assert!(own <= epsilon0 && own > epsilon0 * (1.0 - 1e-8), "{own}");
        let sent = |z: i64| z.to_le_bytes();
        let at = |value: f64, z: i64| randomizer.probability(&value, &sent(z)).unwrap();
        let total: f64 = (-2000..2000).map(|z| at(0.0, z)).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
        let largest = (-50..50)
            .map(|z| (at(0.0, z) / at(1.0, z)).ln().abs())
            .fold(0.0, f64::max);
        assert!((largest - own).abs() < 1e-12 * own, "{largest} {own}");
        means_are_unbiased(&randomizer, &[0.0, 0.37, 1.0], 91);
    }
    let fine = DiscreteLaplace::fine(1.0).unwrap();
    means_are_unbiased(&fine, &[0.2], 92);
    // 2/epsilon0² of continuous Laplace noise.
    assert!((fine.variance(&0.2) - 2.0).abs() < 1e-5);
    wire_is_strict(&fine, &1.1, &[]);
    golden(&fine, &[&0.0, &0.5], "3df7ffffffffffff 4cd6ffffffffffff");
}

#[test]
fn gaussian() {
    for sigma in [0.5, 5.0] {
        let randomizer = Gaussian::new(sigma).unwrap();
        means_are_unbiased(&randomizer, &[0.0, 0.6, 1.0], 95);
        let variance = randomizer.variance(&0.3);
        assert!(
            (variance / (sigma * sigma) - 1.0).abs() < 1e-3,
            "{variance}"
        );
    }
    let randomizer = Gaussian::new(1.0).unwrap();
    wire_is_strict(&randomizer, &f64::INFINITY, &[]);
    golden(
        &randomizer,
        &[&0.0, &0.5],
        "2ac1ffffffffffff ed0c020000000000",
    );
}

#[test]
fn discrete_gaussian() {
    for sigma in [0.5, 4.0] {
        let randomizer = DiscreteGaussian::new(sigma, 1e-9).unwrap();
        means_are_unbiased(&randomizer, &[0.0, 0.6], 97);
        // The guarantee of the mechanism, against a sum over the distribution itself.
        let Local::Approximate(epsilon0, delta0) = randomizer.mechanism().local() else {
            panic!()
        };
        let at = |value: f64, z: i64| randomizer.probability(&value, &z.to_le_bytes()).unwrap();
        let e = epsilon0.value().exp();
        let total: f64 = (-30_000..30_000)
            .map(|z| (at(0.0, z) - e * at(1.0, z)).max(0.0))
            .sum();
        assert!(
            total <= delta0.value() && total > 0.99 * delta0.value(),
            "{total}"
        );
    }
    let randomizer = DiscreteGaussian::new(1.0, 1e-9).unwrap();
    wire_is_strict(&randomizer, &2.0, &[]);
    golden(
        &randomizer,
        &[&0.0, &0.5],
        "57fcffffffffffff 7404000000000000",
    );
}

#[test]
fn hybrid() {
    for epsilon0 in [0.3, 2.0] {
        let randomizer = Hybrid::new(epsilon0).unwrap();
        means_are_unbiased(&randomizer, &[0.0, 0.4, 1.0], 98);
    }
    let randomizer = Hybrid::new(2.0).unwrap();
    let at = |value: f64, report: &[u8]| randomizer.probability(&value, report).unwrap();
    for report in [[0u8, 1, 0, 0], [1, 0, 0, 0]] {
        let ratio = (at(0.0, &report) / at(1.0, &report)).ln().abs();
        assert!(ratio <= 2.0 && ratio > 2.0 - 1e-5, "{ratio}");
    }
    wire_is_strict(
        &randomizer,
        &2.0,
        &[&[2, 0, 0, 0], &[0, 1, 1, 0], &[0, 2, 0, 0]],
    );
    golden(&randomizer, &[&0.0, &0.5], "01ffec10 00010000");
}
