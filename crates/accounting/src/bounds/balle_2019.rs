//! Balle, Bell, Gascón, Nissim, *The privacy blanket of the shuffle model* (CRYPTO 2019): two closed forms.
//!
//! The blanket ω is a sub-probability below every user's distribution of reports; g is its mass. With a =
//! e^ε, L = (U₀ − aU₁)/ω is the privacy amplification variable, and A = a − 1 = −E L under the blanket:
//!
//! ```text
//! Hoeffding   δ ≤ (1/gn) (b²/4A) (1 − g + g e^{−2A²/b²})ⁿ,   b the range of L
//! Bennett     δ ≤ (1/gn) b₊/ln(1 + A b₊/c) [ (1 − g + g e^{−t})ⁿ − (1 − g)ⁿ ],   b₊ = max L, c ≥ Var L
//!             t = (c/b₊²) φ(A b₊/c),  φ(u) = (1+u) ln(1+u) − u
//!
//! any ε₀-LDP  g = 1/E,  b = (a+1)(E − 1/E),  b₊ = hi,  c = (hi − μ)(μ − lo)
//!             with L in [lo, hi] = [1/E − aE, E − a/E] and μ = 1 − a
//! k-RR        g = k/(E+k−1),  b = (1−g)k(a+1),  b₊ = g(1−a) + (1−g)k,  c = (1−g)²(k(1+a²) − (1−a)²)
//! ```
//!
//! Side: upper. Standing: proved. Users must not adapt to each other's reports within the round.

use super::{Unmet, solve};

/// Which concentration inequality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inequality {
    /// From the range alone.
    Hoeffding,
    /// From the variance as well.
    Bennett,
}

/// g, b, b₊ and c at one a.
struct Amplification {
    mass: f64,
    range: f64,
    most: f64,
    variance: f64,
}

fn any_ldp(epsilon0: f64, a: f64) -> Amplification {
    let e = epsilon0.exp();
    let (low, high, mean) = (1.0 / e - a * e, e - a / e, 1.0 - a);
    Amplification {
        mass: 1.0 / e,
        range: (a + 1.0) * (e - 1.0 / e),
        most: high,
        variance: (high - mean) * (mean - low),
    }
}

fn kary(k: u64, epsilon0: f64, a: f64) -> Amplification {
    let (e, k) = (epsilon0.exp(), k as f64);
    let mass = k / (e + k - 1.0);
    // 1 − g = (E − 1)/(E + k − 1), without cancellation.
    let rest = epsilon0.exp_m1() / (e + k - 1.0);
    Amplification {
        mass,
        range: rest * k * (a + 1.0),
        most: mass * (1.0 - a) + rest * k,
        variance: rest * rest * (k * (1.0 + a * a) - (1.0 - a) * (1.0 - a)),
    }
}

fn delta(inequality: Inequality, users: f64, excess: f64, law: &Amplification) -> f64 {
    let g = law.mass;
    let scale = 1.0 / (g * users);
    match inequality {
        Inequality::Hoeffding => {
            let b2 = law.range * law.range;
            let shrink = g * (-2.0 * excess * excess / b2).exp_m1();
            scale * b2 / (4.0 * excess) * (users * shrink.ln_1p()).exp()
        }
        Inequality::Bennett => {
            if law.most <= 0.0 {
                return 0.0;
            }
            let u = excess * law.most / law.variance;
            // φ(u)/u², without cancellation near 0.
            let bend = if u < 1e-3 {
                0.5 - u / 6.0 + u * u / 12.0 - u * u * u / 20.0
            } else {
                ((1.0 + u) * u.ln_1p() - u) / (u * u)
            };
            let t = excess * excess / law.variance * bend;
            let shrink = g * (-t).exp_m1();
            let absent = if g < 1.0 {
                users * (-g).ln_1p()
            } else {
                f64::NEG_INFINITY
            };
            let present = users * shrink.ln_1p();
            let reach = law.variance / excess * (u / u.ln_1p());
            scale * reach * present.exp() * -(absent - present).exp_m1()
        }
    }
}

/// ε of one round; `categories` for k-ary randomized response, none for any ε₀-LDP randomizer.
///
/// ```
/// use shuffledp_accounting::bounds::balle_2019::{Inequality, epsilon};
/// // Ten-ary randomized response: the variance gives a better bound than the range.
/// let hoeffding = epsilon(Inequality::Hoeffding, 1000, 2.0, Some(10), 1e-5)?;
/// let bennett = epsilon(Inequality::Bennett, 1000, 2.0, Some(10), 1e-5)?;
/// assert!((hoeffding - 0.68218).abs() < 1e-5 && (bennett - 0.29572).abs() < 1e-5);
/// # Ok::<(), shuffledp_accounting::bounds::Unmet>(())
/// ```
pub fn epsilon(
    inequality: Inequality,
    users: u64,
    epsilon0: f64,
    categories: Option<u64>,
    wanted: f64,
) -> Result<f64, Unmet> {
    let falling = |epsilon: f64| {
        let (a, excess) = (epsilon.exp(), epsilon.exp_m1());
        let law = match categories {
            Some(k) => kary(k, epsilon0, a),
            None => any_ldp(epsilon0, a),
        };
        delta(inequality, users as f64, excess.max(1e-300), &law)
    };
    // No bound is needed above ε₀.
    solve(epsilon0, wanted, falling)
        .ok_or_else(|| Unmet("n large enough for the inequality to get below epsilon0".into()))
}
