//! Frequency oracles: local randomizers over k categories whose large output alphabets fall into a few kinds
//! of outputs.
//!
//! Each sends an output y of a base law that does not depend on the value, reweighted by E/Z if y *supports*
//! the value x and by 1/Z if not (E = e^ε₀):
//!
//! | oracle | output y | y supports x | parameter |
//! |---|---|---|---|
//! | SUE | k bits, each 1 with chance q = 1/(e^{ε₀/2}+1) | bit x is 1 | E/Z = e^{ε₀/2}, 1/Z = e^{−ε₀/2} |
//! | OUE | the same, q = 1/(E+1) | bit x is 1 | E/Z = (E+1)/2, 1/Z = (E+1)/(2E) |
//! | subset selection | a uniform w-subset | it contains x | w = max(1, round(k/(E+1))) |
//! | Hadamard response | a position in B blocks of b | in x's block, where x's row is +1 | b, B below |
//! | OLH | (hash, bucket), uniform | the hash of x is the bucket | g = round(E) + 1 buckets |
//!
//! SUE is basic RAPPOR; OUE and OLH: Wang et al. 2017; subset selection: Ye, Barg 2018; Hadamard response:
//! Acharya, Sun, Zhang 2019, where a row is one of a Hadamard matrix.
//!
//! So for user 1's values x₀ and x₁ the ratios at an output depend only on which of the two it supports, and
//! on whether it supports *all* values, where the blanket inf_x r_x is E/Z and not 1/Z. For explicit datasets
//! (all others at x₂) they depend on which of the three it supports. The cost does not depend on k. All pairs
//! of values are alike, except that for Hadamard response a pair may share its block or not: both are tried.
//!
//! Hashes are taken to be uniformly random functions, drawn for each report and sent with it.
//!
//! Standing: exact laws; certified when evaluated by `profile`. `tests/oracle.rs` compares with the full
//! channels.

use super::{Adversary, Family, Local, Mechanism};
use crate::atoms::{Atom, Atoms};
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::local::{Categories, LocalEpsilon};
use crate::spec::RandomizerSpec;

/// Which oracle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleKind {
    /// Symmetric unary encoding, basic one-time RAPPOR.
    SymmetricUnary,
    /// Optimized unary encoding.
    OptimizedUnary,
    /// Subset selection.
    SubsetSelection,
    /// Hadamard response.
    HadamardResponse,
    /// Optimized local hashing.
    LocalHashing,
}

/// A frequency oracle over k categories at ε₀.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oracle {
    kind: OracleKind,
    categories: Categories,
    epsilon0: LocalEpsilon,
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry(
        OracleKind::SymmetricUnary,
        "Symmetric unary encoding (basic RAPPOR)",
        |spec| oracle(OracleKind::SymmetricUnary, spec),
        |spec| format!("symmetric unary encoding of {} values", spec.many()),
    ),
    entry(
        OracleKind::OptimizedUnary,
        "Optimized unary encoding",
        |spec| oracle(OracleKind::OptimizedUnary, spec),
        |spec| format!("optimized unary encoding of {} values", spec.many()),
    ),
    entry(
        OracleKind::SubsetSelection,
        "Subset selection",
        |spec| oracle(OracleKind::SubsetSelection, spec),
        |spec| format!("subset selection from {} values", spec.many()),
    ),
    entry(
        OracleKind::HadamardResponse,
        "Hadamard response",
        |spec| oracle(OracleKind::HadamardResponse, spec),
        |spec| format!("Hadamard response over {} values", spec.many()),
    ),
    entry(
        OracleKind::LocalHashing,
        "Optimized local hashing",
        |spec| oracle(OracleKind::LocalHashing, spec),
        |spec| format!("local hashing of {} values", spec.many()),
    ),
];

const fn entry(
    kind: OracleKind,
    title: &'static str,
    mechanism: fn(&RandomizerSpec) -> Result<Mechanism, Error>,
    phrase: fn(&RandomizerSpec) -> String,
) -> Entry {
    let name = kind.names().0;
    let needs = &[Parameter::Categories, Parameter::Epsilon0];
    Entry {
        // Two values of Hadamard response may share a block or not.
        pairs_are_alike: !matches!(kind, OracleKind::HadamardResponse),
        ..Entry::new(name, title, needs, |_| Input::Category, mechanism, phrase)
    }
}

fn oracle(kind: OracleKind, spec: &RandomizerSpec) -> Result<Mechanism, Error> {
    Mechanism::oracle(kind, spec.k()?, spec.epsilon0()?)
}

impl OracleKind {
    /// Its name in the catalog, and in a sentence.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::SymmetricUnary => ("sue", "symmetric unary encoding"),
            Self::OptimizedUnary => ("oue", "optimized unary encoding"),
            Self::SubsetSelection => ("subset", "subset selection"),
            Self::HadamardResponse => ("hadamard", "Hadamard response"),
            Self::LocalHashing => ("olh", "local hashing"),
        }
    }
}

impl Family for Oracle {
    fn name(&self) -> &'static str {
        self.kind.names().0
    }

    fn has_one_worst_law(&self) -> bool {
        // All pairs are alike, but for local hashing, where a pair may or may not collide.
        self.kind != OracleKind::LocalHashing
    }

    fn local(&self) -> Local {
        Local::Pure(self.epsilon0)
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        self.laws()
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        let (name, title) = self.kind.names();
        let named = |(atoms, words): (Atoms, &str)| Adversary {
            atoms,
            name: name.into(),
            words: format!("{title}, {words}"),
        };
        Ok(self.datasets()?.into_iter().map(named).collect())
    }

    fn spec(&self) -> RandomizerSpec {
        let own = |entry: &&Entry| entry.name == self.name();
        RandomizerSpec {
            k: Some(self.categories.value()),
            epsilon0: Some(self.epsilon0.value().into()),
            // Every kind has an entry above.
            ..RandomizerSpec::of(ENTRIES.iter().find(own).unwrap_or(&ENTRIES[0]))
        }
    }
}

/// Outputs that support the same values: their probability under the base law, and which of x₀, x₁, x₂ they
/// support.
#[derive(Clone, Copy, Debug)]
struct Kind {
    base: f64,
    supports: [bool; 3],
    /// Whether they support every value there is.
    all: bool,
}

/// The factors of the probability of an output that supports the value, and of one that does not.
struct Weights {
    high: f64,
    low: f64,
}

impl Oracle {
    /// Over k categories at ε₀.
    ///
    /// ```
    /// use shuffledp_accounting::{Oracle, OracleKind};
    /// let oracle = Oracle::new(OracleKind::SubsetSelection, 100, 1.0)?;
    /// assert_eq!(oracle.subset_size(), 27);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(kind: OracleKind, k: u64, epsilon0: f64) -> Result<Self, Error> {
        Ok(Self {
            kind,
            categories: Categories::new(k)?,
            epsilon0: LocalEpsilon::new(epsilon0)?,
        })
    }

    /// Which oracle.
    pub fn kind(&self) -> OracleKind {
        self.kind
    }

    /// k.
    pub fn categories(&self) -> Categories {
        self.categories
    }

    /// ε₀.
    pub fn epsilon0(&self) -> LocalEpsilon {
        self.epsilon0
    }

    /// How many values a report of subset selection has.
    pub fn subset_size(&self) -> u64 {
        self.subset() as u64
    }

    /// How many buckets local hashing has.
    pub fn hash_buckets(&self) -> u64 {
        self.buckets() as u64
    }

    /// How many blocks Hadamard response has, and how many positions each.
    pub fn hadamard_blocks(&self) -> (u64, u64) {
        let (blocks, size) = self.blocks();
        (blocks as u64, size as u64)
    }

    /// The laws that together dominate a shuffle of this oracle for all values of the others.
    fn laws(&self) -> Result<Vec<Atoms>, Error> {
        let weights = self.weights();
        let growth = self.epsilon0.value().exp_m1();
        self.pairs()
            .into_iter()
            .map(|kinds| {
                let mut atoms = Vec::new();
                let mut covered = 0.0;
                for kind in kinds {
                    let floor = if kind.all { weights.high } else { weights.low };
                    let weight = kind.base * floor;
                    covered += weight;
                    let [first, second, _] = kind.supports;
                    atoms.push(if kind.all {
                        Atom::of(weight, 1.0, 1.0, 0.0)
                    } else {
                        ratio_atom(weight, first, second, 1.0, growth)
                    });
                }
                atoms.push(Atom::of((1.0 - covered).max(0.0), 0.0, 0.0, 0.0));
                Atoms::of_epsilon0(atoms, self.epsilon0)
            })
            .collect()
    }

    /// Explicit datasets: all others at a third value, or at user 1's first one; with words for them.
    fn datasets(&self) -> Result<Vec<(Atoms, &'static str)>, Error> {
        let weights = self.weights();
        let growth = self.epsilon0.value().exp_m1();
        let law = |kinds: &[Kind], others: usize| {
            let atoms = kinds
                .iter()
                .map(|kind| {
                    let (held, by) = if kind.supports[others] {
                        (weights.high, 1.0 + growth)
                    } else {
                        (weights.low, 1.0)
                    };
                    let [first, second, _] = kind.supports;
                    ratio_atom(kind.base * held, first, second, by, growth)
                })
                .collect();
            Atoms::of_epsilon0(atoms, self.epsilon0)
        };
        let mut all = Vec::new();
        for kinds in self.triples() {
            all.push((law(&kinds, 2)?, "every other user holding a third value"));
        }
        for kinds in self.pairs() {
            all.push((
                law(&kinds, 0)?,
                "every other user holding one of the two values",
            ));
        }
        Ok(all)
    }

    fn weights(&self) -> Weights {
        let epsilon0 = self.epsilon0.value();
        let e = epsilon0.exp();
        let by_size = |share: f64| {
            let z = share * epsilon0.exp_m1() + 1.0;
            Weights {
                high: e / z,
                low: 1.0 / z,
            }
        };
        match self.kind {
            OracleKind::SymmetricUnary => Weights {
                high: (0.5 * epsilon0).exp(),
                low: (-0.5 * epsilon0).exp(),
            },
            OracleKind::OptimizedUnary => Weights {
                high: 0.5 * (e + 1.0),
                low: 0.5 * (e + 1.0) / e,
            },
            OracleKind::SubsetSelection => by_size(self.subset() / self.k()),
            OracleKind::HadamardResponse => {
                let (blocks, _) = self.blocks();
                by_size(0.5 / blocks)
            }
            OracleKind::LocalHashing => by_size(1.0 / self.buckets()),
        }
    }

    fn k(&self) -> f64 {
        self.categories.value() as f64
    }

    /// w.
    fn subset(&self) -> f64 {
        let e = self.epsilon0.value().exp();
        (self.k() / (e + 1.0)).round().max(1.0)
    }

    /// g.
    fn buckets(&self) -> f64 {
        self.epsilon0.value().exp().round() + 1.0
    }

    /// B and b.
    fn blocks(&self) -> (f64, f64) {
        let e = self.epsilon0.value().exp();
        let blocks = (e.min(2.0 * self.k()).log2().ceil() - 1.0).max(0.0).exp2();
        let size = ((self.k() / blocks).ceil() + 1.0).log2().ceil().exp2();
        (blocks, size)
    }

    /// How many blocks hold a value.
    fn used_blocks(&self) -> f64 {
        let (blocks, _) = self.blocks();
        (self.k() / (self.k() / blocks).ceil()).ceil()
    }

    /// The kinds of outputs as x₀ and x₁ see them, for every kind of pair.
    fn pairs(&self) -> Vec<Vec<Kind>> {
        match self.kind {
            OracleKind::SymmetricUnary | OracleKind::OptimizedUnary => {
                vec![independent(self.bit(), self.k(), 2)]
            }
            OracleKind::LocalHashing => vec![independent(1.0 / self.buckets(), self.k(), 2)],
            OracleKind::SubsetSelection => vec![drawn(self.subset(), self.k(), 2)],
            OracleKind::HadamardResponse => {
                let (blocks, size) = self.blocks();
                let total = blocks * size;
                // The first position of the only block supports every value.
                let everything = if blocks == 1.0 { 1.0 / total } else { 0.0 };
                let quarter = 0.25 * size / total;
                let mut all = Vec::new();
                if (self.k() / blocks).ceil() >= 2.0 {
                    all.push(vec![
                        kind(everything, [true, true, true], true),
                        kind(quarter - everything, [true, true, false], false),
                        kind(quarter, [true, false, false], false),
                        kind(quarter, [false, true, false], false),
                        kind(1.0 - 3.0 * quarter, [false, false, false], false),
                    ]);
                }
                if self.used_blocks() >= 2.0 {
                    all.push(vec![
                        kind(2.0 * quarter, [true, false, false], false),
                        kind(2.0 * quarter, [false, true, false], false),
                        kind(1.0 - 4.0 * quarter, [false, false, false], false),
                    ]);
                }
                all
            }
        }
    }

    /// The kinds of outputs as x₀, x₁ and a third value see them.
    fn triples(&self) -> Vec<Vec<Kind>> {
        if self.categories.value() < 3 {
            return Vec::new();
        }
        match self.kind {
            OracleKind::SymmetricUnary | OracleKind::OptimizedUnary => {
                vec![independent(self.bit(), self.k(), 3)]
            }
            OracleKind::LocalHashing => vec![independent(1.0 / self.buckets(), self.k(), 3)],
            OracleKind::SubsetSelection => vec![drawn(self.subset(), self.k(), 3)],
            OracleKind::HadamardResponse => {
                let (blocks, size) = self.blocks();
                let total = blocks * size;
                let quarter = 0.25 * size / total;
                let held = (self.k() / blocks).ceil();
                let mut all = Vec::new();
                // Rows 1, 2 and 3 = 1 xor 2 of a block; their product is constant.
                if held >= 3.0 {
                    all.push(vec![
                        kind(quarter, [true, true, true], false),
                        kind(quarter, [true, false, false], false),
                        kind(quarter, [false, true, false], false),
                        kind(quarter, [false, false, true], false),
                        kind(1.0 - 4.0 * quarter, [false, false, false], false),
                    ]);
                }
                // Two in one block, the third in another.
                if held >= 2.0 && self.used_blocks() >= 2.0 {
                    all.push(vec![
                        kind(quarter, [true, true, false], false),
                        kind(quarter, [true, false, false], false),
                        kind(quarter, [false, true, false], false),
                        kind(2.0 * quarter, [false, false, true], false),
                        kind(1.0 - 5.0 * quarter, [false, false, false], false),
                    ]);
                    // The third in the block of the first.
                    all.push(vec![
                        kind(quarter, [true, false, true], false),
                        kind(quarter, [true, false, false], false),
                        kind(quarter, [false, false, true], false),
                        kind(2.0 * quarter, [false, true, false], false),
                        kind(1.0 - 5.0 * quarter, [false, false, false], false),
                    ]);
                }
                // Three blocks.
                if self.used_blocks() >= 3.0 {
                    all.push(vec![
                        kind(2.0 * quarter, [true, false, false], false),
                        kind(2.0 * quarter, [false, true, false], false),
                        kind(2.0 * quarter, [false, false, true], false),
                        kind(1.0 - 6.0 * quarter, [false, false, false], false),
                    ]);
                }
                all
            }
        }
    }

    /// Probability of a 1 where the value is another, in unary encodings.
    fn bit(&self) -> f64 {
        let epsilon0 = self.epsilon0.value();
        match self.kind {
            OracleKind::SymmetricUnary => 1.0 / ((0.5 * epsilon0).exp() + 1.0),
            _ => 1.0 / (epsilon0.exp() + 1.0),
        }
    }
}

/// Outputs that support all values are merged with others if their probability is below this: the weights of
/// atoms must stay above 1e-300.
const RAREST: f64 = 1e-250;

fn kind(base: f64, supports: [bool; 3], all: bool) -> Kind {
    Kind {
        base: base.max(0.0),
        supports,
        all,
    }
}

/// P and Q are E where the value is supported and 1 where it is not, divided by the ratio `by` of the others,
/// 1 or E.
fn ratio_atom(weight: f64, first: bool, second: bool, by: f64, growth: f64) -> Atom {
    let value = |supported: bool| if supported { 1.0 + growth } else { 1.0 };
    let difference = f64::from(i8::from(first) - i8::from(second)) * growth;
    Atom::of(
        weight,
        value(first) / by,
        value(second) / by,
        difference / by,
    )
}

/// Kinds of outputs by which of the first `looked` of k values they support, each independently with
/// probability q.
fn independent(q: f64, k: f64, looked: usize) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for code in 0..1usize << looked {
        let supports = |i: usize| i < looked && code >> i & 1 == 1;
        let base: f64 = (0..looked)
            .map(|i| if supports(i) { q } else { 1.0 - q })
            .product();
        let flags = [supports(0), supports(1), supports(2)];
        if looked == 2 && code == 3 {
            // Whether all the others are supported as well. Where that is too rare for a double, such outputs
            // are counted among the rest: a smaller blanket is a valid blanket, and datasets do not tell them
            // apart.
            let everything = base * q.powf(k - 2.0);
            let everything = if everything < RAREST { 0.0 } else { everything };
            kinds.push(kind(everything, [true; 3], true));
            kinds.push(kind(base - everything, [true, true, false], false));
        } else {
            kinds.push(kind(base, flags, false));
        }
    }
    kinds
}

/// The same for a uniform subset of w out of k.
fn drawn(w: f64, k: f64, looked: usize) -> Vec<Kind> {
    (0..1usize << looked)
        .map(|code| {
            let supports = |i: usize| i < looked && code >> i & 1 == 1;
            let (mut inside, mut outside, mut base) = (w, k - w, 1.0);
            for i in 0..looked {
                let left = inside + outside;
                if supports(i) {
                    base *= inside / left;
                    inside -= 1.0;
                } else {
                    base *= outside / left;
                    outside -= 1.0;
                }
            }
            kind(base, [supports(0), supports(1), supports(2)], false)
        })
        .collect()
}
