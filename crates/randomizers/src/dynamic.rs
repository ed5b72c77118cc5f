//! A randomizer whose type is known only at run time.
//!
//! [`Randomizer`] has methods that are generic over the source of randomness, so it has no trait objects.
//! There are two sources; a trait that takes the source as a value ([`Source`]) does have them. The code is
//! still compiled for each source: only the call itself is indirect.

use crate::error::Error;
use crate::randomizer::Randomizer;
use crate::sample::random::{Random, Source};
use shuffledp_accounting::Mechanism;
use std::fmt;
use std::sync::Arc;

/// A randomizer whose type is known only at run time.
pub struct Dynamic<V: ?Sized, T, E>(Arc<dyn Erased<V, T, E>>);

impl<V: ?Sized, T, E> Dynamic<V, T, E> {
    pub(crate) fn of(
        randomizer: impl Randomizer<Value = V, Tally = T, Estimate = E> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(randomizer))
    }
}

impl<V: ?Sized, T, E> Clone for Dynamic<V, T, E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V: ?Sized, T, E> fmt::Debug for Dynamic<V, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dynamic({:?})", self.0.mechanism())
    }
}

/// [`Randomizer`] with the source of randomness as a value instead of a type parameter.
trait Erased<V: ?Sized, T, E>: Send + Sync {
    fn mechanism(&self) -> &Mechanism;
    fn report_length(&self) -> usize;
    fn check(&self, value: &V) -> Result<(), Error>;
    fn draw(&self, value: &V, random: Source<'_>, report: &mut [u8]);
    fn tally(&self) -> T;
    fn add(&self, report: &[u8], tally: &mut T) -> Result<(), Error>;
    fn contribute(&self, value: &V, random: Source<'_>, tally: &mut T) -> Result<(), Error>;
    fn settle(&self, random: Source<'_>, tally: &mut T);
    fn estimate(&self, tally: &T) -> E;
    fn variance(&self, value: &V) -> f64;
    fn influence(&self) -> f64;
    fn probability(&self, value: &V, report: &[u8]) -> Option<f64>;
    fn likelihood(&self, value: &V, report: &[u8]) -> Option<f64>;
}

impl<V: ?Sized, T, E, D> Erased<V, T, E> for D
where
    D: Randomizer<Value = V, Tally = T, Estimate = E> + Send + Sync,
{
    fn mechanism(&self) -> &Mechanism {
        Randomizer::mechanism(self)
    }

    fn report_length(&self) -> usize {
        Randomizer::report_length(self)
    }

    fn check(&self, value: &V) -> Result<(), Error> {
        Randomizer::check(self, value)
    }

    fn draw(&self, value: &V, random: Source<'_>, report: &mut [u8]) {
        match random {
            Source::Secure(random) => Randomizer::draw(self, value, random, report),
            Source::Simulated(random) => Randomizer::draw(self, value, random, report),
        }
    }

    fn tally(&self) -> T {
        Randomizer::tally(self)
    }

    fn add(&self, report: &[u8], tally: &mut T) -> Result<(), Error> {
        Randomizer::add(self, report, tally)
    }

    fn contribute(&self, value: &V, random: Source<'_>, tally: &mut T) -> Result<(), Error> {
        match random {
            Source::Secure(random) => Randomizer::contribute(self, value, random, tally),
            Source::Simulated(random) => Randomizer::contribute(self, value, random, tally),
        }
    }

    fn settle(&self, random: Source<'_>, tally: &mut T) {
        match random {
            Source::Secure(random) => Randomizer::settle(self, random, tally),
            Source::Simulated(random) => Randomizer::settle(self, random, tally),
        }
    }

    fn estimate(&self, tally: &T) -> E {
        Randomizer::estimate(self, tally)
    }

    fn variance(&self, value: &V) -> f64 {
        Randomizer::variance(self, value)
    }

    fn influence(&self) -> f64 {
        Randomizer::influence(self)
    }

    fn probability(&self, value: &V, report: &[u8]) -> Option<f64> {
        Randomizer::probability(self, value, report)
    }

    fn likelihood(&self, value: &V, report: &[u8]) -> Option<f64> {
        Randomizer::likelihood(self, value, report)
    }
}

impl<V: ?Sized, T, E> Randomizer for Dynamic<V, T, E> {
    type Value = V;
    type Tally = T;
    type Estimate = E;

    fn mechanism(&self) -> &Mechanism {
        self.0.mechanism()
    }

    fn report_length(&self) -> usize {
        self.0.report_length()
    }

    fn check(&self, value: &V) -> Result<(), Error> {
        self.0.check(value)
    }

    fn draw<R: Random + ?Sized>(&self, value: &V, random: &mut R, report: &mut [u8]) {
        self.0.draw(value, random.source(), report);
    }

    fn tally(&self) -> T {
        self.0.tally()
    }

    fn add(&self, report: &[u8], tally: &mut T) -> Result<(), Error> {
        self.0.add(report, tally)
    }

    fn contribute<R: Random + ?Sized>(
        &self,
        value: &V,
        random: &mut R,
        tally: &mut T,
    ) -> Result<(), Error> {
        self.0.contribute(value, random.source(), tally)
    }

    fn settle<R: Random + ?Sized>(&self, random: &mut R, tally: &mut T) {
        self.0.settle(random.source(), tally);
    }

    fn estimate(&self, tally: &T) -> E {
        self.0.estimate(tally)
    }

    fn variance(&self, value: &V) -> f64 {
        self.0.variance(value)
    }

    fn influence(&self) -> f64 {
        self.0.influence()
    }

    fn probability(&self, value: &V, report: &[u8]) -> Option<f64> {
        self.0.probability(value, report)
    }

    fn likelihood(&self, value: &V, report: &[u8]) -> Option<f64> {
        self.0.likelihood(value, report)
    }
}
