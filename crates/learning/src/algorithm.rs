//! The common interface of all algorithms: a round asks some users, moves the server's parameters, and has a
//! price.

use crate::charge::Charge;
use crate::error::Error;
use crate::optimizer::Optimizer;
use sha2::{Digest, Sha256};
use shuffledp_randomizers::{Random, Secure, Simulated};

/// The source of the randomness of a run: the same key gives the same run.
///
/// A round that is interrupted and run again draws the same reports again, so nobody sees two where one is
/// charged. The key takes the noise off: it is as secret as the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// From the operating system.
    pub fn secret() -> Result<Self, Error> {
        let mut key = [0; 32];
        Secure::new()?.fill(&mut key);
        Ok(Self(key))
    }

    /// From a seed that everybody may know: a simulation, which protects nobody.
    pub fn simulated(seed: u64) -> Self {
        let mut key = [0; 32];
        Simulated::new(seed, 0).fill(&mut key);
        Self(key)
    }

    /// As 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// From such digits.
    ///
    /// ```
    /// use shuffledp_learning::Key;
    /// let key = Key::simulated(7);
    /// assert_eq!(Key::from_hex(&key.to_hex()), Some(key));
    /// assert_eq!(Key::from_hex("7"), None);
    /// ```
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; 32];
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).ok()?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(Self(key))
    }

    /// SHA-256 of key and text: only a holder of the key can check which text it is of.
    pub fn seal(self, text: &str) -> String {
        let hash = Sha256::new().chain_update(self.0).chain_update(text);
        let bytes = hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The generators of a round.
    pub(crate) fn round(self, round: u64) -> Draws {
        Draws { key: self.0, round }
    }
}

/// The generators of one round.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    key: [u8; 32],
    round: u64,
}

impl Draws {
    /// One for each purpose, or chunk of devices; fewer than 2³² of them.
    pub(crate) fn stream(self, stream: u64) -> Simulated {
        Simulated::keyed(self.key, self.round << 32 | stream)
    }
}

/// The reports of a round, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Reports that arrived, or examples that were used.
    pub reports: u64,
    /// Gradients that were not finite.
    pub refused: u64,
}

/// A way of learning.
pub trait Algorithm {
    /// The charge for one round.
    fn charge(&self) -> &Charge;

    /// One round: asks, and steps at this rate.
    fn round(&self, server: &mut Optimizer, rate: f64, draws: Draws) -> Result<Gathered, Error>;
}
