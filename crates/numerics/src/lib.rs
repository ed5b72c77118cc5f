//! Numbers that can be trusted. Nothing in here knows about privacy.
//!
//! | module | what it gives |
//! |---|---|
//! | [`special`] | elementary and special functions |
//! | [`rounding`] | directed rounding: `exp_up`, `ln_down`, ...; bounds on rounding errors |
//! | [`enclosure`] | two logarithms with the truth between them |
//! | [`log_space`] | sums of numbers known by their logarithms |
//! | [`stirling`] | ln n! without cancellation: Stirling remainder and deviance |
//! | [`binomial`] | binomial probabilities and tails, n up to 2⁵³, down to 1e-300 and below |
//! | [`multinomial`] | multinomial probabilities |
//! | [`search`] | bisection, golden section and root finding; the result says which end is safe |
//! | [`laplace`] | E f(S) from the cumulant function of S, as a certified enclosure |
//! | [`lattice`] | sums of many independent lattice variables, at any number |
//! | [`likelihood_ratio`] | the likelihood ratios of a pair of sums, counted into cells |
//! | [`positive_part`] | E(X₁ + … + Xₘ + s)₊ for independent, identically distributed X: certified, at any m |

pub mod binomial;
mod compensated;
mod counts;
pub mod enclosure;
pub mod laplace;
pub mod lattice;
pub mod likelihood_ratio;
pub mod log_space;
pub mod multinomial;
pub mod positive_part;
mod ratio_moment;
pub mod rounding;
mod saddle;
pub mod search;
pub mod special;
pub mod stirling;

/// The largest count the library works with: every integer up to here is a double.
pub const MAX_COUNT: u64 = 1 << 53;
