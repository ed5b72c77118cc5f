//! The square wave mechanism (Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li 2020) for numbers in [0, 1], on a
//! grid.
//!
//! ```text
//! M = 1024 levels to the interval, j = xM rounded without bias;   reports are the cells 0, …, M + 2h
//! P(y) = E/Z for j ≤ y ≤ j + 2h (the wave), 1/Z elsewhere;        Z = (2h+1)E + M,   h = ⌊bM⌋
//! b = (ε₀E − E + 1) / (2E(E − 1 − ε₀)), which maximizes the mutual information of value and report
//! ```
//!
//! **Blanket.** 1/Z on every cell. (P, Q) is (E, 1) on the wave of user 1's first value, (1, E) on that of
//! the second, (E, E) on both and (1, 1) elsewhere.
//!
//! **Worst pair.** The two ends, whose waves do not meet (2h < M, since b ≤ 1/2). For waves that share cells,
//! X has the values E(1−a) on the shared and 1−a on as many other cells; moving the waves apart turns each
//! such pair of cells into E−a and 1−aE. The sum of the two values stays, and they lie further apart: a
//! spread of the same mean, larger in convex order. Values between two levels are mixtures, and δ is convex
//! in user 1's two laws. ∎
//!
//! The lower bounds are datasets with all others at one end, or in the middle. Standing: exact laws;
//! certified when evaluated by `profile`.

use super::{Adversary, Family, Local, Mechanism};
use crate::atoms::{Atom, Atoms};
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::local::LocalEpsilon;
use crate::spec::RandomizerSpec;

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "square-wave",
    title: "The square wave mechanism, for distributions of numbers",
    needs: &[Parameter::Epsilon0],
    takes: &[],
    pairs_are_alike: false,
    own_epsilon0: false,
    input: |_| Input::Number,
    mechanism: |spec| SquareWave::new(spec.epsilon0()?).map(Mechanism::from),
    phrase: |_| "the square wave mechanism".to_owned(),
}];

/// The square wave mechanism at ε₀, on its grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SquareWave {
    epsilon0: LocalEpsilon,
    half: u64,
}

impl SquareWave {
    /// M, the levels of the interval. With 1024 a report fits into two bytes, and the grid is finer than
    /// estimates are accurate.
    pub const LEVELS: u64 = 1024;

    /// At ε₀.
    ///
    /// ```
    /// use shuffledp_accounting::SquareWave;
    /// let wave = SquareWave::new(1.0)?;
    /// assert_eq!((wave.half(), wave.cells()), (262, 1549));
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(epsilon0: f64) -> Result<Self, Error> {
        let local = LocalEpsilon::new(epsilon0)?;
        Ok(Self {
            epsilon0: local,
            // Fewer cells than levels, so that the waves of the two ends do not meet.
            half: ((Self::width(epsilon0) * Self::LEVELS as f64) as u64).min(Self::LEVELS / 2 - 1),
        })
    }

    /// b, in [0, 1/2).
    fn width(epsilon0: f64) -> f64 {
        // Both differences lose their digits where ε₀ is small: there b is 1/2 − ε₀/3 to first order. No
        // guarantee depends on b.
        if epsilon0 < 1e-3 {
            return 0.5 - epsilon0 / 3.0;
        }
        let e = epsilon0.exp();
        let growth = epsilon0.exp_m1();
        (epsilon0 * e - growth) / (2.0 * e * (growth - epsilon0))
    }

    /// h: the wave reaches this many cells to either side.
    pub fn half(&self) -> u64 {
        self.half
    }

    /// The number of cells that a report may be.
    pub fn cells(&self) -> u64 {
        Self::LEVELS + 2 * self.half + 1
    }

    /// The atoms against the blanket, or against others who all hold one value: `others` is the first cell of
    /// their wave.
    fn atoms(&self, others: Option<u64>) -> Result<Atoms, Error> {
        let (wave, levels) = (2 * self.half + 1, Self::LEVELS);
        let growth = self.epsilon0.value().exp_m1();
        let e = 1.0 + growth;
        let z = wave as f64 * e + levels as f64;
        // How many cells of a wave that begins at `first` the others' wave covers.
        let covered = |first: u64| match others {
            Some(start) => wave.saturating_sub(start.abs_diff(first)),
            None => 0,
        };
        let (first, second) = (covered(0), covered(levels));
        let all = if others.is_some() { wave } else { 0 };
        let between = (levels - wave, all - first - second);
        let mut atoms = Vec::new();
        for ((cells, inside), difference) in [
            ((wave, first), growth),
            ((wave, second), -growth),
            (between, 0.0),
        ] {
            let (p, q) = match difference {
                d if d > 0.0 => (e, 1.0),
                d if d < 0.0 => (1.0, e),
                _ => (1.0, 1.0),
            };
            // Outside the others' wave their probability is 1/Z, inside E/Z.
            for (count, crowd) in [(cells - inside, 1.0), (inside, e)] {
                let weight = count as f64 * crowd / z;
                atoms.push(Atom::of(weight, p / crowd, q / crowd, difference / crowd));
            }
        }
        let rest = if others.is_none() {
            wave as f64 * growth / z
        } else {
            0.0
        };
        atoms.push(Atom::of(rest, 0.0, 0.0, 0.0));
        Atoms::of_epsilon0(atoms, self.epsilon0)
    }
}

impl Family for SquareWave {
    fn name(&self) -> &'static str {
        "square-wave"
    }

    fn local(&self) -> Local {
        Local::Pure(self.epsilon0)
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![self.atoms(None)?])
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        let places = [
            (0, "every other user at one end"),
            (Self::LEVELS / 2, "every other user in the middle"),
        ];
        let adversary = |(start, others): (u64, &str)| {
            Ok(Adversary {
                atoms: self.atoms(Some(start))?,
                name: self.name().into(),
                words: format!("square wave, user 1 at either end, {others}"),
            })
        };
        places.into_iter().map(adversary).collect()
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            epsilon0: Some(self.epsilon0.value().into()),
            ..RandomizerSpec::of(&ENTRIES[0])
        }
    }
}
