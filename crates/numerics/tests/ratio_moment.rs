//! scratch
use shuffledp_numerics::likelihood_ratio::{Atom, PairSum};
fn clones(e0: f64) -> Vec<Atom> {
    let ratio = e0.exp();
    let weight = 1.0 / (ratio + 1.0);
    [
        (weight, ratio, 1.0),
        (weight, 1.0, ratio),
        (1.0 - 2.0 * weight, 0.0, 0.0),
    ]
    .map(|(weight, numerator, denominator)| Atom {
        weight,
        numerator,
        denominator,
    })
    .to_vec()
}
#[test]
fn scratch() {
    for (n, e0, orders) in [
        (10_000u64, 4.0, vec![2.0, 4.0, 16.0, 64.0, 1000.0, 10000.0]),
        (100_000, 2.0, vec![2.0, 4.0, 16.0, 64.0]),
        (1_000_000, 4.0, vec![64.0, 1000.0, 4500.0, 10000.0]),
        (1_000_000_000_000, 4.0, vec![2.0, 64.0, 10000.0]),
    ] {
        for order in orders {
            let atoms = clones(e0);
            let t = std::time::Instant::now();
            let v = PairSum {
                atoms: &atoms,
                count: n,
                shift: 0.0,
            }
            .ln_excess_moment(order);
            let rdp = if v < 30.0 { v.exp().ln_1p() } else { v } / (order - 1.0);
            println!("{n} {e0} {order}: {rdp:.12e} {:?}", t.elapsed());
        }
    }
}
