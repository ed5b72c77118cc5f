//! The blanket-mixed Gaussian: Gaussian noise around a vector or, with probability b, around zero.
//!
//! ```text
//! R(x) = (1 − b) N(x, σ²I) + b N(0, σ²I),      |x| ≤ 1, any dimension
//! ```
//!
//! Source: *Shuffling-aware optimization for private vector mean estimation*, 2026 (arXiv 2604.28032). Its
//! blanket bM, M = N(0, σ²I), is part of its definition, so that no mass has to be moved as for plain
//! Gaussian noise; where σ is large, moving some widens it. With s = 1/σ and z ~ N(0, 1):
//!
//! | law | (P, Q) |
//! |---|---|
//! | upper | 1 + (1 − b)/b·(e^{sz − s²/2}, e^{−sz − s²/2}) with probability b, else (0, 0) |
//! | upper, at a cost | the same with a wider blanket: Theorem G ([`crate::upper`]) |
//! | lower, all others at user 1's second vector | (U₀/U₁, 1) under U₁, the laws of user 1's reports |
//! | lower for Rényi divergences, all others at zero | b + (1 − b)·(e^{sz − s²/2}, e^{−sz − s²/2}) |
//!
//! With one user the upper law is exact, and more users never raise it: no bound without a shuffler is below
//! it but for the error of its evaluation, which shows at the smallest σ and b. The mean of a report is (1 −
//! b)x, so that its estimate of x has noise of σ/(1 − b) in each coordinate.
//!
//! Proof: `mixed_gaussian.proof.md` beside this file. Standing: certified.

use super::{Adversary, Family, KnownCurve, KnownCurves, Local, Mechanism};
use crate::atoms::{Atom, Atoms};
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::digits::plain;
use crate::error::{Error, Parameter, within};
use crate::gaussian::renyi::{opposite_attained, opposite_curves};
use crate::gaussian::{Opposite, half_line};
use crate::local::{Domain, Sigma};
use crate::round::Round;
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use crate::upper::alone::Alone;
use crate::upper::gaussian_ball::theorem_g;
use shuffledp_numerics::special::exp;

/// Gaussian noise around the vector or around zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MixedGaussian {
    /// In units of the radius of the ball.
    sigma: f64,
    /// b.
    blanket: f64,
}

/// b is from here, where the mechanism is as good as plain Gaussian noise, …
const LEAST_BLANKET: f64 = 1e-3;
/// … to here, where one report in a million says something.
const MOST_BLANKET: f64 = 0.999_999;

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "mixed-gaussian",
    title: "Gaussian noise around a vector or, with some probability, around zero",
    needs: &[Parameter::Sigma, Parameter::Blanket],
    takes: &[Parameter::Dimension],
    pairs_are_alike: true,
    own_epsilon0: false,
    input: |_| Input::Vector(VectorNorm::L2),
    mechanism: |spec| Mechanism::mixed_gaussian(spec.sigma()?, spec.blanket()?),
    phrase: |spec| {
        let share = spec.blanket.map_or_else(|| "b".to_owned(), plain);
        format!(
            "Gaussian noise around vectors of norm at most 1, or around zero with probability {share}"
        )
    },
}];

impl MixedGaussian {
    pub(super) fn new(sigma: f64, blanket: f64) -> Result<Self, Error> {
        // Noise has the domain of Gaussian noise on a ball.
        Mechanism::gaussian(sigma, Domain::Ball)?;
        let inside = (LEAST_BLANKET..=MOST_BLANKET).contains(&blanket);
        let allowed = format!("[{}, {}]", plain(LEAST_BLANKET), plain(MOST_BLANKET));
        let blanket = within(Parameter::Blanket, blanket, inside, allowed)?;
        Ok(Self { sigma, blanket })
    }

    /// The upper law.
    fn dominating(&self) -> Opposite {
        let (share, rest) = (self.blanket, 1.0 - self.blanket);
        Opposite {
            radius: 1.0 / self.sigma,
            share,
            rest,
            base: 1.0,
            factor: rest / share,
        }
    }

    /// All others at zero, whose reports have the law M.
    fn others_at_zero(&self) -> Opposite {
        Opposite {
            radius: 1.0 / self.sigma,
            share: 1.0,
            rest: 0.0,
            base: self.blanket,
            factor: 1.0 - self.blanket,
        }
    }

    /// All others at user 1's second vector, below the truth: reports are rounded to cells.
    fn pair(&self, fineness: Fineness) -> Result<Atoms, Error> {
        let radius = 1.0 / self.sigma;
        let (base, factor) = (
            self.blanket,
            (1.0 - self.blanket) * exp(-0.5 * radius * radius),
        );
        let ray = half_line(radius);
        let mut atoms = Vec::new();
        for cell in ray.below_hyperbola(fineness) {
            // The densities of user 1's two laws against M.
            let (first, second) = (base + factor * cell.up, base + factor * cell.down);
            let (more, size) = (factor * cell.difference, factor * cell.size);
            // P = U₀/U₁ and Q = 1 under U₁, in the cell and in its mirror image.
            for (p, q, more) in [(first, second, more), (second, first, -more)] {
                atoms.push(Atom::measured(
                    cell.weight * q,
                    p / q,
                    1.0,
                    more / q,
                    size / q,
                ));
            }
        }
        Atoms::of_limit(atoms, 2.0 * radius * ray.to)
    }
}

impl Family for MixedGaussian {
    fn name(&self) -> &'static str {
        ENTRIES[0].name
    }

    fn has_one_worst_law(&self) -> bool {
        // `mixed_gaussian.proof.md`, section 2.
        true
    }

    fn local(&self) -> Local {
        // Twice the radius apart. A σ that a mechanism accepts is one that its guarantee does.
        Sigma::new(0.5 * self.sigma).map_or(Local::Unknown, Local::Gdp)
    }

    /// One step coarser than asked for: user 1's two values are twice as far from each other as either is
    /// from the center, so that a cell is half as wide for them as for noise on an interval.
    fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![self.dominating().above(fineness.coarser())?])
    }

    fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        let mut all: Vec<Box<dyn UpperProfile>> = Vec::new();
        // Where likelihood ratios are extreme the law is evaluated too coarsely to be below it.
        all.extend(Alone::new(self.local()).map(|alone| Box::new(alone) as Box<_>));
        let sigma = Sigma::new(0.5 * self.sigma).ok();
        all.extend(sigma.and_then(|sigma| theorem_g(sigma, self.blanket, round)));
        all
    }

    fn adversaries(&self, fineness: Fineness) -> Result<Vec<Adversary>, Error> {
        Ok(vec![Adversary {
            atoms: self.pair(fineness.coarser())?,
            name: "mixed-gaussian-pair".into(),
            words: "user 1's two vectors opposite to each other and of norm 1, every other user holding the \
                    second"
                .into(),
        }])
    }

    fn known_curves(&self, round: &Round) -> Option<KnownCurves> {
        let words = "user 1's two vectors opposite to each other and of norm 1, every other user holding the \
                     zero vector";
        Some(KnownCurves {
            upper: vec![KnownCurve {
                curves: opposite_curves(self.dominating(), round),
                name: self.name().to_owned(),
            }],
            lower: vec![(
                opposite_attained(self.others_at_zero(), round),
                self.name().to_owned(),
                words.to_owned(),
            )],
        })
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            sigma: Some(self.sigma),
            blanket: Some(self.blanket),
            ..RandomizerSpec::of(&ENTRIES[0])
        }
    }
}
