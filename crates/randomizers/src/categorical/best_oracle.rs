//! The better of two oracles that are fast at any number of categories.
//!
//! k-ary randomized response has the smaller variance below 3E + 2 categories, Hadamard response from there
//! on (Wang et al. 2017). E = e^ε₀.

use crate::categorical::{HadamardResponse, KaryResponse};
use crate::device::CategoryDevice;
use crate::dynamic::Dynamic;
use crate::error::Error;

/// The name, in the catalog, of the oracle with the smaller variance.
///
/// ```
/// use shuffledp_randomizers::categorical::best_oracle;
/// assert_eq!(best_oracle::name(10, 1.0), "krr");
/// assert_eq!(best_oracle::name(11, 1.0), "hadamard");
/// ```
pub fn name(categories: u64, epsilon0: f64) -> &'static str {
    if is_kary(categories, epsilon0) {
        "krr"
    } else {
        "hadamard"
    }
}

/// A device that runs the oracle with the smaller variance.
///
/// ```
/// use shuffledp_randomizers::{KaryResponse, Randomizer, categorical::best_oracle};
/// let device = best_oracle::device(10, 1.0)?;
/// assert_eq!(device.mechanism(), KaryResponse::new(10, 1.0)?.mechanism());
/// # Ok::<(), shuffledp_randomizers::Error>(())
/// ```
pub fn device(categories: u64, epsilon0: f64) -> Result<CategoryDevice, Error> {
    if is_kary(categories, epsilon0) {
        KaryResponse::new(categories, epsilon0).map(Dynamic::of)
    } else {
        HadamardResponse::new(categories, epsilon0).map(Dynamic::of)
    }
}

fn is_kary(categories: u64, epsilon0: f64) -> bool {
    (categories as f64) < 3.0 * epsilon0.exp() + 2.0
}
