//! Uniform numbers for simulations, the same on every machine.

use shuffledp_randomizers::{Random, Simulated};

/// Uniform in [0, 1), on a grid of 2⁻²⁴.
pub(crate) fn uniform(random: &mut Simulated) -> f32 {
    (random.word() >> 40) as f32 / (1u64 << 24) as f32
}
