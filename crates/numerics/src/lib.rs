//! Numerics with bounded errors, independent of privacy.
//!
//! The certified functions return an enclosure: a lower and an upper bound of the true value that include
//! every truncation, discretization and rounding error.
//!
//! | module | contents |
//! |---|---|
//! | [`special`] | elementary and special functions |
//! | [`rounding`] | directed rounding: `exp_up`, `ln_down`, ...; bounds on rounding errors |
//! | [`enclosure`] | lower and upper bounds, as logarithms |
//! | [`log_space`] | sums of numbers known by their logarithms |
//! | [`stirling`] | ln n! without cancellation: Stirling remainder and deviance |
//! | [`binomial`] | binomial probabilities and tails, n up to 2⁵³, down to 1e-300 and below |
//! | [`multinomial`] | multinomial probabilities |
//! | [`search`] | bisection, golden section and root finding; the result states which end is safe |
//! | [`laplace`] | E f(S) from the cumulant function of S, as a certified enclosure |
//! | [`lattice`] | sums of any number of independent lattice variables |
//! | [`likelihood_ratio`] | the likelihood ratios of a pair of sums, counted into cells |
//! | [`power_series`] | powers of a power series, by logarithms |
//! | [`symmetric_ratio`] | moments of the ratio of two sums that may be exchanged, at any order |
//! | [`positive_part`] | E(X₁ + … + Xₘ + s)₊ for independent, identically distributed X, for any m |
//!
//! The accountant's upper bounds of one round come from [`positive_part`]: read its first lines next.

pub mod binomial;
mod circular;
pub mod compensated;
mod counts;
pub mod enclosure;
pub mod laplace;
pub mod lattice;
pub mod likelihood_ratio;
pub mod log_space;
pub mod multinomial;
mod near_zero;
pub mod positive_part;
pub mod power_series;
mod ratio_moment;
pub mod rounding;
mod saddle;
pub mod search;
pub mod special;
pub mod stirling;
pub mod symmetric_ratio;

/// The largest count that the library accepts: every integer up to 2⁵³ is exactly a double.
pub const MAX_COUNT: u64 = 1 << 53;
