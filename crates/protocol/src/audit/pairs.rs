//! The pairs of datasets that an audit tries where none is given: values that are easy to tell apart, with
//! others who hold a third value or one of the two.

use super::Pair;
use shuffledp_accounting::{Input, RandomizerSpec, VectorNorm};
use shuffledp_randomizers::DIMENSION;

/// User 1 holds `first` or `second`; the others hold the first of `more` that is neither, or one of the two.
///
/// ```
/// use shuffledp_protocol::audit::with_others;
/// let others: Vec<u64> = with_others(0, 1, &[1, 2]).iter().map(|pair| pair.others).collect();
/// assert_eq!(others, [2, 0, 1]);
/// ```
pub fn with_others<V: Clone + PartialEq>(first: V, second: V, more: &[V]) -> Vec<Pair<V>> {
    let mut neither = more
        .iter()
        .filter(|value| **value != first && **value != second);
    let all = neither.next().into_iter().chain([&first, &second]);
    all.map(|others| Pair {
        first: first.clone(),
        second: second.clone(),
        others: others.clone(),
    })
    .collect()
}

/// The values of user 1 that an audit of categories tries, and values for the others.
pub fn categories(spec: &RandomizerSpec) -> (Vec<(u64, u64)>, Vec<u64>) {
    let k = spec.k.unwrap_or(2);
    let mut ends = vec![(0, 1)];
    if k > 3 && !spec.pairs_are_alike() {
        ends.push((0, k - 1));
    }
    (ends, (0..k.min(3)).rev().collect())
}

/// The values of user 1 that an audit of numbers in [0, 1] tries, and values for the others.
pub fn numbers() -> (Vec<(f64, f64)>, Vec<f64>) {
    (vec![(0.0, 1.0)], vec![0.5])
}

/// Opposite vectors of norm 1, with others at one of them or at 0.
pub fn vectors(spec: &RandomizerSpec) -> Vec<Pair<Vec<f32>>> {
    let dimension = spec.dimension.unwrap_or(DIMENSION) as usize;
    let mut axis = vec![0.0f32; dimension];
    if spec.input() == Input::Vector(VectorNorm::LInf) {
        axis.fill(1.0);
    } else if let Some(first) = axis.first_mut() {
        *first = 1.0;
    }
    let opposite: Vec<f32> = axis.iter().map(|x| -x).collect();
    let middle = vec![0.0; dimension];
    [&axis, &opposite, &middle]
        .map(|others| Pair {
            first: axis.clone(),
            second: opposite.clone(),
            others: others.clone(),
        })
        .to_vec()
}
