//! Subset selection (Ye, Barg 2018): a set of w of the k values, E times as likely if it contains the true
//! value. E = e^ε₀, w = max(1, round(k/(E+1))).
//!
//! ```text
//! P[contains x | x] = p = wE/(wE + k − w);   then w − 1 of the others, uniformly; else w of the others
//! P[contains v | x] = q = p (w−1)/(k−1) + (1−p) w/(k−1)
//! ```
//!
//! p is rounded down, towards more privacy. A report is the members in increasing order.

use crate::categorical::{Frequency, Support};
use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::{Coin, below};
use crate::sample::random::Random;
use crate::wire;
use shuffledp_accounting::{Mechanism, Oracle, OracleKind, RandomizerSpec};

/// Subset selection.
pub type SubsetSelection = Frequency<Subset>;

/// The distribution of reports of [`SubsetSelection`].
#[derive(Clone, Debug)]
pub struct Subset {
    categories: u64,
    size: u64,
    mechanism: Mechanism,
    inside: Coin,
}

impl SubsetSelection {
    /// Subset selection for 2 to 2³² categories.
    pub fn new(categories: u64, epsilon0: f64) -> Result<Self, Error> {
        domain::categories(categories)?;
        domain::epsilon0(epsilon0, domain::LARGEST_EPSILON0)?;
        let oracle = Oracle::new(OracleKind::SubsetSelection, categories, epsilon0)?;
        let size = oracle.subset_size();
        let weight = size as f64 * epsilon0.exp();
        let outside = (categories - size) as f64;
        Ok(Self(Subset {
            categories,
            size,
            mechanism: oracle.into(),
            inside: Coin::at_most(weight, outside),
        }))
    }
}

impl Subset {
    /// The members of the set that a report is, checked.
    fn members(&self, report: &[u8]) -> Result<Vec<u64>, Error> {
        wire::sized(report, self.report_length())?;
        let members: Result<Vec<u64>, Error> = report
            .chunks(wire::bytes(self.categories))
            .map(|place| wire::get(place, self.categories))
            .collect();
        let members = members?;
        if members.windows(2).all(|pair| pair[0] < pair[1]) {
            Ok(members)
        } else {
            Err(Error::report("members are not in increasing order"))
        }
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = SubsetSelection::new(spec.k()?, spec.epsilon0()?)?;
    Ok(Device::Category(Dynamic::of(randomizer)))
}

impl Support for Subset {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn categories(&self) -> u64 {
        self.categories
    }

    fn report_length(&self) -> usize {
        self.size as usize * wire::bytes(self.categories)
    }

    fn chances(&self) -> (f64, f64) {
        let (p, rest) = (self.inside.probability(), self.inside.complement());
        let (w, others) = (self.size as f64, self.categories as f64 - 1.0);
        (p, (p * (w - 1.0) + rest * w) / others)
    }

    fn draw<R: Random + ?Sized>(&self, value: u64, random: &mut R, report: &mut [u8]) {
        let inside = self.inside.toss(random);
        let mut wanted = self.size - u64::from(inside);
        let mut places = report.chunks_mut(wire::bytes(self.categories));
        let mut send = |member: u64| {
            if let Some(place) = places.next() {
                wire::put(member, place);
            }
        };
        // One pass over the others; each is taken with the probability that makes all sets equally likely
        // (Fan, Muller, Rezucha 1962).
        let mut left = self.categories - 1;
        for category in 0..self.categories {
            if category == value {
                if inside {
                    send(category);
                }
                continue;
            }
            if wanted > 0 && below(left, random) < wanted {
                send(category);
                wanted -= 1;
            }
            left -= 1;
        }
    }

    fn supported(&self, report: &[u8], mut each: impl FnMut(usize)) -> Result<(), Error> {
        self.members(report)?
            .into_iter()
            .for_each(|member| each(member as usize));
        Ok(())
    }

    fn probability(&self, value: u64, report: &[u8]) -> Option<f64> {
        let members = self.members(report).ok()?;
        let choose = |n: u64, k: u64| {
            (0..k)
                .map(|i| (n - i) as f64 / (i + 1) as f64)
                .product::<f64>()
        };
        let others = self.categories - 1;
        Some(if members.contains(&value) {
            self.inside.probability() / choose(others, self.size - 1)
        } else {
            self.inside.complement() / choose(others, self.size)
        })
    }
}
