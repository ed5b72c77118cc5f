//! Normal probabilities, by code of their own.

/// P[a report from `center` falls into each cell] for cells between these edges, in one coordinate.
pub(crate) fn cells(center: f64, sigma: f64, edges: &[f64]) -> Vec<f64> {
    let below = |y: f64| 0.5 * erfc((center - y) / (sigma * 2f64.sqrt()));
    let mut cumulated = vec![0.0];
    cumulated.extend(edges.iter().map(|&edge| below(edge)));
    cumulated.push(1.0);
    cumulated.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// erfc by its continued fraction and series (Abramowitz, Stegun 7.1.5 and 7.1.14): 1e-12 is more than
/// enough.
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x > 2.5 {
        let tail = (1..=80)
            .rev()
            .fold(x, |sum, k| x + 0.5 * f64::from(k) / sum);
        return (-x * x).exp() / (tail * std::f64::consts::PI.sqrt());
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..120 {
        let k = f64::from(k);
        term *= -x * x / k;
        sum += term / (2.0 * k + 1.0);
    }
    1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum
}
