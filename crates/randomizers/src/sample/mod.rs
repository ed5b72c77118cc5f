//! Sampling: sources of randomness, exact coins and dice, exact integer noise, directions from seeds, the
//! cosines of directions, and vectors on a grid.

pub(crate) mod coin;
pub(crate) mod cosine;
pub(crate) mod levels;
pub(crate) mod noise;
pub(crate) mod random;
pub(crate) mod sphere;
