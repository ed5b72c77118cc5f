//! Sources of randomness: ChaCha20 keyed by the operating system, or, in a simulation, by a seed.
//!
//! The trait is sealed, so that no device can be given a weak generator.

use crate::error::Error;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

mod sealed {
    #[expect(
        unnameable_types,
        reason = "sealed: no other crate may implement `Random`"
    )]
    pub trait Sealed {}
}

/// A source of uniform bits.
pub trait Random: sealed::Sealed {
    /// 64 bits.
    fn word(&mut self) -> u64;

    /// Fills `bytes`.
    fn fill(&mut self, bytes: &mut [u8]);

    /// Which of the two generators this is, for randomizers whose type is known only at run time.
    #[doc(hidden)]
    fn source(&mut self) -> Source<'_>;
}

/// One of the two generators.
#[doc(hidden)]
#[derive(Debug)]
pub enum Source<'a> {
    /// Keyed by the operating system.
    Secure(&'a mut Secure),
    /// Keyed by a seed.
    Simulated(&'a mut Simulated),
}

/// Cryptographic randomness, keyed by the operating system: for devices.
#[derive(Debug)]
pub struct Secure(ChaCha20Rng);

impl Secure {
    /// A new generator, keyed with 256 bits from the operating system.
    pub fn new() -> Result<Self, Error> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| Error::NoRandomness(error.to_string()))?;
        Ok(Self(ChaCha20Rng::from_seed(seed)))
    }
}

/// Reproducible randomness, for simulations. It gives no privacy: the seed determines every draw.
///
/// ```
/// use shuffledp_randomizers::{Random, Simulated};
/// let (mut once, mut again) = (Simulated::new(7, 0), Simulated::new(7, 0));
/// assert_eq!(once.word(), again.word());
/// assert_ne!(once.word(), Simulated::new(7, 1).word());
/// ```
#[derive(Debug)]
pub struct Simulated(ChaCha20Rng);

impl Simulated {
    /// The stream number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Self(generator)
    }

    /// The stream number `stream` of a key of 256 bits. The key determines every draw: keep it secret.
    pub fn keyed(key: [u8; 32], stream: u64) -> Self {
        let mut generator = ChaCha20Rng::from_seed(key);
        generator.set_stream(stream);
        Self(generator)
    }
}

impl sealed::Sealed for Secure {}
impl sealed::Sealed for Simulated {}
impl<R: Random + ?Sized> sealed::Sealed for &mut R {}

impl<R: Random + ?Sized> Random for &mut R {
    #[inline]
    fn word(&mut self) -> u64 {
        (**self).word()
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        (**self).fill(bytes);
    }

    fn source(&mut self) -> Source<'_> {
        (**self).source()
    }
}

impl Random for Secure {
    #[inline]
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    fn source(&mut self) -> Source<'_> {
        Source::Secure(self)
    }
}

impl Random for Simulated {
    #[inline]
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    fn source(&mut self) -> Source<'_> {
        Source::Simulated(self)
    }
}
