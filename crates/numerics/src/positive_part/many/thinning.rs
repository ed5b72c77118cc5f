//! Thinning: neighboring atoms merged, above or below the given law in convex order.

use super::super::Atom;
use crate::compensated::Total;
use crate::enclosure::End;

/// The atoms on the given side of these, which are sorted.
pub(super) fn thinned(atoms: &[Atom], width: f64, end: End) -> Vec<Atom> {
    match end {
        End::Upper => thinned_above(atoms, width),
        End::Lower => thinned_below(atoms, width),
    }
}

/// The atoms of each stretch of length at most `width`, moved to its two ends with the mean kept: larger in
/// convex order.
fn thinned_above(atoms: &[Atom], width: f64) -> Vec<Atom> {
    let mut kept: Vec<Atom> = Vec::new();
    let mut start = 0;
    let mut carried = Total::default();
    while start < atoms.len() {
        let low = atoms[start];
        let end = start + atoms[start..].partition_point(|a| a.value <= low.value + width);
        let high = atoms[end - 1];
        let mut left = carried;
        carried = Total::default();
        left.add(low.weight);
        if end - start > 2 {
            let gap = high.value - low.value;
            for atom in &atoms[start + 1..end - 1] {
                // Several atoms may have one value.
                if gap == 0.0 {
                    left.add(atom.weight);
                    continue;
                }
                left.add(atom.weight * ((high.value - atom.value) / gap));
                carried.add(atom.weight * ((atom.value - low.value) / gap));
            }
        }
        kept.push(Atom {
            weight: left.value(),
            ..low
        });
        // The last of the stretch is the first of the next one.
        start = if end - start > 1 { end - 1 } else { end };
        if start == atoms.len() - 1 {
            carried.add(atoms[start].weight);
            kept.push(Atom {
                weight: carried.value(),
                ..atoms[start]
            });
            break;
        }
    }
    kept
}

/// The atoms of each stretch of length at most `width`, moved to their mean: smaller in convex order.
fn thinned_below(atoms: &[Atom], width: f64) -> Vec<Atom> {
    let mut kept = Vec::new();
    let mut start = 0;
    while start < atoms.len() {
        let low = atoms[start];
        let end = start + atoms[start..].partition_point(|a| a.value <= low.value + width);
        let (mut weight, mut moment) = (Total::default(), Total::default());
        let mut magnitude: f64 = 0.0;
        for atom in &atoms[start..end] {
            weight.add(atom.weight);
            moment.add(atom.weight * (atom.value - low.value));
            magnitude = magnitude.max(atom.magnitude);
        }
        kept.push(Atom {
            weight: weight.value(),
            value: low.value + moment.value() / weight.value(),
            magnitude,
        });
        start = end;
    }
    kept
}
