//! Sums of many independent variables on a lattice, without forming their distribution.
//!
//! Each variable has a finite measure on the multiples of a power of two. The sum of T₁ variables of the
//! first kind, T₂ of the second, … has the cumulant function
//!
//! ```text
//! K(z) = Σ_r T_r ln φ_r(z),     φ_r(z) = Σ_i p_i e^{z x_i}
//! ```
//!
//! and E(1 − e^{t−S})₊ is a Laplace integral over one period of it ([`crate::laplace`], kernel `Lattice`). A
//! Fourier transform of the whole distribution would need a window that grows with √T and would round to an
//! absolute error. Here some tens of nodes near the real axis are enough at any T, with relative accuracy
//! wherever the saddle point lies.
//!
//! The masses are treated as exact and need not add up to one. Standing: certified.
//!
//! * `measure`: one variable, and its tilting.
//! * `sum`: independent variables added, and their cumulant function on the real axis.
//! * `tilted`: transforms of a tilted measure, at one θ or at all of them.
//! * `line`: the sum's cumulant function on a vertical line.
//! * `ramp`: the expectations E(1 − e^{t−S})₊ and E(S − t)₊.

mod line;
mod measure;
mod ramp;
mod sum;
mod tilted;

pub use measure::{Measure, Tilt};
pub use ramp::Ramp;
pub use sum::Sum;
