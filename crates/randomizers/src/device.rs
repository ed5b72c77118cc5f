//! Devices by name: the randomizers of the catalog as code that runs.
//!
//! The accountant's catalog has each randomizer's name, parameters and mechanism; this list has the code that
//! runs it. To add a randomizer, write a file with a `device` function and add one line to [`DEVICES`].
//!
//! All randomizers for the same kind of value have one type here ([`CategoryDevice`], [`NumberDevice`],
//! [`VectorDevice`]), so programs that take a name from a user need no list of types.

use crate::categorical::{hadamard, kary_response, local_hashing, subset, unary};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::estimate::{Counts, Estimate, Sum};
use crate::randomizer::Randomizer;
use crate::scalar::{
    self, discrete_gaussian, discrete_laplace, duchi, hybrid, piecewise, square_wave,
};
use crate::vector::one_bit::{r_1, r_2, r_inf};
use crate::vector::{self, VectorEstimate, VectorSum, mixed_gaussian, priv_unit, ramp};
use shuffledp_accounting::{Domain, Mechanism, RandomizerSpec, names};

/// Makes a device from its description and, for vectors, the largest norm (the radius).
type Maker = fn(&RandomizerSpec, f64) -> Result<Device, Error>;

/// The randomizers that can run, by their names in the catalog.
const DEVICES: &[(&str, Maker)] = &[
    ("krr", kary_response::device),
    ("rr", kary_response::device),
    ("sue", unary::symmetric_device),
    ("oue", unary::optimized_device),
    ("subset", subset::device),
    ("hadamard", hadamard::device),
    ("olh", local_hashing::device),
    ("laplace", laplace),
    ("discrete-laplace", discrete_laplace::device),
    ("duchi", duchi::device),
    ("piecewise", piecewise::device),
    ("hybrid", hybrid::device),
    ("square-wave", square_wave::device),
    ("gaussian", gaussian),
    ("mixed-gaussian", mixed_gaussian::device),
    ("discrete-gaussian", discrete_gaussian::device),
    ("r-inf", r_inf::device),
    ("r-1", r_1::device),
    ("r-2", r_2::device),
    ("priv-unit", priv_unit::device),
    ("ramp", ramp::device),
];

/// The number of coordinates of a vector when a description has none: small, for examples and audits.
pub const DIMENSION: u64 = 8;

/// A randomizer of one of k values.
pub type CategoryDevice = Dynamic<u64, Counts, Vec<Estimate>>;
/// A randomizer of a number in [0, 1].
pub type NumberDevice = Dynamic<f64, Sum, Estimate>;
/// A randomizer of a vector whose norm is bounded.
pub type VectorDevice = Dynamic<[f32], VectorSum, VectorEstimate>;

/// A randomizer made from its name, by the kind of value it takes.
///
/// ```
/// use shuffledp_accounting::RandomizerSpec;
/// use shuffledp_randomizers::{Device, Randomizer, Secure};
/// let mut spec = RandomizerSpec::new("krr")?;
/// (spec.k, spec.epsilon0) = (Some(10), Some(3.0.into()));
/// let Device::Category(device) = Device::new(&spec, 1.0)? else { panic!() };
/// let mut report = vec![0; device.report_length()];
/// device.randomize(&7, &mut Secure::new()?, &mut report)?;
/// // The mechanism that runs is the one that bounds are computed for.
/// assert_eq!(*device.mechanism(), spec.mechanism()?);
/// # Ok::<(), shuffledp_randomizers::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Device {
    /// For one of k values.
    Category(CategoryDevice),
    /// For a number in [0, 1].
    Number(NumberDevice),
    /// For a vector whose norm is bounded.
    Vector(VectorDevice),
}

impl Device {
    /// The device of a description. Vectors have norm at most `radius`; other kinds of value ignore it.
    pub fn new(spec: &RandomizerSpec, radius: f64) -> Result<Self, Error> {
        // Missing and superfluous parameters are refused in one place; a device has one ε₀.
        spec.mechanism()?;
        spec.device_epsilon0()?;
        match DEVICES.iter().find(|(name, _)| *name == spec.name()) {
            Some((_, maker)) => maker(spec, radius),
            None => Err(Error::NotRun {
                randomizer: spec.name(),
                known: names(|entry| Self::exists(entry.name())),
            }),
        }
    }

    /// Whether a randomizer of the catalog can run.
    ///
    /// ```
    /// assert!(shuffledp_randomizers::Device::exists("krr"));
    /// assert!(!shuffledp_randomizers::Device::exists("ldp"));
    /// ```
    pub fn exists(name: &str) -> bool {
        DEVICES.iter().any(|(known, _)| *known == name)
    }

    /// The mechanism that the accountant computes bounds for.
    pub fn mechanism(&self) -> &Mechanism {
        match self {
            Self::Category(device) => device.mechanism(),
            Self::Number(device) => device.mechanism(),
            Self::Vector(device) => device.mechanism(),
        }
    }

    /// The length of a report in bytes.
    pub fn report_length(&self) -> usize {
        match self {
            Self::Category(device) => device.report_length(),
            Self::Number(device) => device.report_length(),
            Self::Vector(device) => device.report_length(),
        }
    }
}

fn laplace(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    match spec.domain.unwrap_or_default() {
        Domain::Interval => discrete_laplace::fine_device(spec),
        Domain::Ball => vector::laplace::device(spec, radius),
    }
}

fn gaussian(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    match spec.domain.unwrap_or_default() {
        Domain::Interval => scalar::gaussian::device(spec),
        Domain::Ball => vector::gaussian::device(spec, radius),
    }
}

/// The number of coordinates of a description.
pub(crate) fn dimension(spec: &RandomizerSpec) -> usize {
    spec.dimension.unwrap_or(DIMENSION) as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{DEVICES, Device};
    use shuffledp_accounting::{Domain, Input, Local, RandomizerSpec, catalog};

    /// A description with every parameter that the randomizer needs.
    fn filled(name: &str) -> RandomizerSpec {
        let mut spec = RandomizerSpec::new(name).unwrap();
        let needs: Vec<&str> = spec.entry().needs().iter().map(|p| p.field()).collect();
        spec.epsilon0 = needs.contains(&"epsilon0").then_some(1.5.into());
        spec.delta0 = needs.contains(&"delta0").then_some(1e-9);
        spec.sigma = needs.contains(&"sigma").then_some(2.0);
        spec.blanket = needs.contains(&"blanket").then_some(0.3);
        spec.k = needs.contains(&"k").then_some(7);
        // Without it the price is that of any dimension, and the device has one.
        spec.dimension = matches!(name, "priv-unit" | "ramp").then_some(8);
        spec
    }

    fn input(device: &Device) -> &'static str {
        match device {
            Device::Category(_) => "category",
            Device::Number(_) => "number",
            Device::Vector(_) => "vector",
        }
    }

    /// A device takes the kind of value that the catalog states, and runs the mechanism of its name.
    #[test]
    fn every_device_is_the_randomizer_of_its_name() {
        for (name, _) in DEVICES {
            assert!(catalog().any(|entry| entry.name() == *name), "{name}");
            let mut spec = filled(name);
            let takes_domain = spec.entry().takes().iter().any(|p| p.field() == "domain");
            for ball in [false, true] {
                if ball && !takes_domain {
                    continue;
                }
                spec.domain = ball.then_some(Domain::Ball);
                let device = Device::new(&spec, 1.0).unwrap();
                let expected = match spec.input() {
                    Input::Category => "category",
                    Input::Number => "number",
                    Input::Vector(_) => "vector",
                    other => panic!("{name}: {other}"),
                };
                assert_eq!(input(&device), expected, "{name}");
                // The device runs the mechanism of its name; on a grid it is a little more private, never
                // less.
                let (run, priced) = (device.mechanism(), spec.mechanism().unwrap());
                match (run.local(), priced.local()) {
                    (Local::Pure(run), Local::Pure(priced)) => {
                        let (run, priced) = (run.value(), priced.value());
                        assert!(
                            run <= priced && run > priced - 1e-5,
                            "{name}: {run} {priced}"
                        );
                    }
                    _ => assert_eq!(*run, priced, "{name}"),
                }
                assert_eq!(run.has_lower_bound(), priced.has_lower_bound(), "{name}");
            }
        }
    }

    #[test]
    fn what_cannot_be_run_says_what_can() {
        let error = Device::new(&filled("ldp"), 1.0).unwrap_err().to_string();
        assert!(
            error.starts_with("ldp can be priced but not run: krr, rr,"),
            "{error}"
        );
    }
}
