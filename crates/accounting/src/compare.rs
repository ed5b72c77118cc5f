//! Every published bound that has something to say about a round, beside ours.
//!
//! One-round guarantees (ε, δ) are composed over T rounds by [`kairouz_2015`], the best that (ε, δ) alone allows, half of δ going to the rounds; Rényi curves are added and converted. With m of n sampled, guarantees for the m are amplified by
//! [`balle_2018`]. A lower bound on a Rényi divergence bounds no ε from below, so those are not here: ask for divergences.

use crate::account::account;
use crate::atoms::Atoms;
use crate::bound::{Delta, Side, Standing};
use crate::bounds::balle_2019::Inequality;
use crate::bounds::shuffled_check_in::{self, CheckIn};
use crate::bounds::{
    Unmet, balle_2018, balle_2019, dwork_2010, enhanced_rdp, erlingsson_2019, feldman_2021,
    feldman_2023, kairouz_2015, numerical_accounting, require, secure_aggregation, zhu_2022,
};
use crate::cells::Fineness;
use crate::curves::{curves, one_rate};
use crate::error::{Error, Parameter, within};
use crate::gaussian::gdp_epsilon;
use crate::mechanism::{LocalEpsilon, Mechanism};
use crate::participation::Participation;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::rdp::RdpCurve;
use crate::round::Round;
use std::time::Instant;

/// What one bound says.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Which bound: its module, and what of it.
    pub name: String,
    /// Upper or lower.
    pub side: Side,
    /// How sure.
    pub standing: Standing,
    /// ε, or the condition that is not met.
    pub epsilon: Result<f64, Unmet>,
    /// The Rényi order that gave it.
    pub order: Option<f64>,
    /// What a reader should know.
    pub note: Option<String>,
    /// Seconds it took.
    pub seconds: f64,
    /// Whether it is the tightest proved bound of its side.
    pub tightest: bool,
}

/// ε of `rounds` rounds at δ by every bound that is about such rounds.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, Round, Side, compare};
/// let round = Round::new(Mechanism::ldp(1.0)?, 100_000)?;
/// let table = compare(&round, 1, Delta::new(1e-6)?)?;
/// let best = table.iter().find(|entry| entry.tightest && entry.side == Side::Upper).unwrap();
/// assert_eq!(best.name, "shuffledp profile/ldp");
/// assert!(table.iter().any(|entry| entry.name == "feldman-2021 closed form"));
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn compare(round: &Round, rounds: u64, delta: Delta) -> Result<Vec<Comparison>, Error> {
    compare_where(round, rounds, delta, &|_| true)
}

/// [`compare`] by the bounds whose names are wanted, and ours.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, Round, compare_where};
/// let round = Round::new(Mechanism::ldp(1.0)?, 100_000)?;
/// let table = compare_where(&round, 1, Delta::new(1e-6)?, &|name| name.contains("feldman"))?;
/// // Two closed forms, and the bracket.
/// assert_eq!(table.len(), 4);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn compare_where(
    round: &Round,
    rounds: u64,
    delta: Delta,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Comparison>, Error> {
    let delta = within(
        Parameter::Delta,
        delta.value(),
        (1e-300..1.0).contains(&delta.value()),
        "[1e-300, 1)",
    )?;
    let plan = Plan::new(round.clone(), rounds)?;
    let mut table = Table {
        rounds,
        delta,
        wanted,
        entries: Vec::new(),
    };
    match round.mechanism() {
        Mechanism::Ldp(epsilon0) => table.local(round, *epsilon0, None)?,
        Mechanism::BinaryResponse(epsilon0) => table.local(round, *epsilon0, Some(2))?,
        Mechanism::KaryResponse(k, epsilon0) => table.local(round, *epsilon0, Some(k.value()))?,
        Mechanism::Oracle(oracle) => table.local(round, oracle.epsilon0(), None)?,
        Mechanism::ApproximateLdp(epsilon0, delta0) => {
            table.approximate(round, epsilon0.value(), delta0.value());
        }
        Mechanism::Gaussian(sigma, _) => table.gaussian(round, sigma.value())?,
        Mechanism::Scalar(scalar) => table.local(round, scalar.epsilon0(), None)?,
        Mechanism::Ratio(_) | Mechanism::Matrix(_) | Mechanism::RandomAllocation(_) => {}
    }
    table.ours(&plan)?;
    Ok(table.finish())
}

/// ε of one round at δ.
type OneRound = Box<dyn Fn(f64) -> Result<f64, Unmet>>;
/// An answer and the Rényi order behind it.
type Value = Result<(f64, Option<f64>), Unmet>;

struct Table<'a> {
    rounds: u64,
    delta: f64,
    wanted: &'a dyn Fn(&str) -> bool,
    entries: Vec<Comparison>,
}

impl Table<'_> {
    fn add(
        &mut self,
        name: impl Into<String>,
        standing: Standing,
        note: Option<&str>,
        value: impl FnOnce() -> Value,
    ) {
        let name = name.into();
        if !(self.wanted)(&name) {
            return;
        }
        let start = Instant::now();
        let value = value();
        let seconds = start.elapsed().as_secs_f64();
        let (epsilon, order) = match value {
            Ok((epsilon, order)) if epsilon.is_finite() => (Ok(epsilon), order),
            Ok(_) => (Err(Unmet("a finite epsilon at this delta".into())), None),
            Err(unmet) => (Err(unmet), None),
        };
        self.entries.push(Comparison {
            name,
            side: Side::Upper,
            standing,
            epsilon,
            order,
            note: note.map(str::to_owned),
            seconds,
            tightest: false,
        });
    }

    /// What has been published as a Rényi curve, converted.
    fn converted(&mut self, round: &Round) -> Result<(), Error> {
        let (rounds, delta) = (self.rounds, self.delta);
        for curve in curves(round)? {
            if curve.side == Side::Upper {
                self.add(curve.name, curve.standing, curve.note, || {
                    converted(rounds, delta, curve.curve?)
                });
            }
        }
        Ok(())
    }

    /// A guarantee (ε(δ), δ) for one round, composed.
    fn composed(&self, one: impl Fn(f64) -> Result<f64, Unmet>) -> Value {
        if self.rounds == 1 {
            return Ok((one(self.delta)?, None));
        }
        let each = 0.5 * self.delta / self.rounds as f64;
        let epsilon = kairouz_2015::epsilon(self.rounds, one(each)?, each, self.delta)?;
        Ok((epsilon, None))
    }

    /// Rounds of ε₀-LDP randomizers; `categories` if it is randomized response.
    fn local(
        &mut self,
        round: &Round,
        local: LocalEpsilon,
        categories: Option<u64>,
    ) -> Result<(), Error> {
        let epsilon0 = local.value();
        let (users, adaptive) = (round.honest(), round.is_adaptive_within_round());
        let (rounds, delta) = (self.rounds, self.delta);
        let settled = move || {
            require(!adaptive, || {
                "reports do not depend on earlier ones of the round".into()
            })
        };
        self.add(
            "local, kairouz-2015",
            Standing::Proved,
            Some("what each user has without the shuffler"),
            || Ok((kairouz_2015::epsilon(rounds, epsilon0, 0.0, delta)?, None)),
        );
        match round.participation() {
            Participation::Everyone => {
                self.closed_forms(users, epsilon0, categories, adaptive, "", 1.0);
                self.add(
                    "enhanced-rdp Theorem 2 (GDP)",
                    Standing::Asymptotic,
                    Some("no error term: not a bound"),
                    || {
                        let mu = enhanced_rdp::theorem_2(users, epsilon0) * (rounds as f64).sqrt();
                        Ok((gdp_epsilon(mu, delta), None))
                    },
                );
                if let Some(k) = categories {
                    for printed in [true, false] {
                        let (name, standing, note) = if printed {
                            (
                                "as printed",
                                Standing::Conjectured,
                                "an adversary who sees every coin, with counts taken as independent that are not: nobody has proved it an upper bound",
                            )
                        } else {
                            (
                                "tight",
                                Standing::Proved,
                                "an adversary who sees every coin",
                            )
                        };
                        let each = 0.5 * delta / rounds as f64;
                        self.add(
                            format!("numerical-accounting A_s, {name}"),
                            standing,
                            Some(note),
                            || {
                                settled()?;
                                let one = |delta| {
                                    numerical_accounting::strong_epsilon(
                                        users, k, epsilon0, delta, printed,
                                    )
                                };
                                if rounds == 1 {
                                    return Ok((one(delta)?, None));
                                }
                                Ok((
                                    kairouz_2015::epsilon(rounds, one(each)?, each, delta)?,
                                    None,
                                ))
                            },
                        );
                    }
                }
            }
            Participation::Sample(sample) => {
                let sample = sample.min(users);
                let rate = sample as f64 / users as f64;
                self.closed_forms(
                    sample,
                    epsilon0,
                    categories,
                    adaptive,
                    " + balle-2018",
                    rate,
                );
                let base = Profile::new(
                    if adaptive {
                        Atoms::ldp_adaptive(local)?
                    } else {
                        Atoms::ldp(local)?
                    },
                    sample,
                );
                self.add(
                    "zhu-2022 on the clones of the sample",
                    Standing::Certified,
                    None,
                    || {
                        zhu_2022::epsilon(&base, rate, rounds, delta)
                            .map(|epsilon| (epsilon, None))
                            .ok_or_else(|| Unmet("losses that a lattice can hold".into()))
                    },
                );
            }
            Participation::CheckIn(range) => {
                let rate = range.highest();
                let first_cut = |delta| {
                    one_rate(range)?;
                    shuffled_check_in::first_cut(users, rate, epsilon0, delta)
                };
                let value = self.composed(first_cut);
                self.add(
                    "shuffled-check-in Theorem 1, corrected",
                    Standing::Proved,
                    None,
                    || value,
                );
                let setting = CheckIn {
                    users,
                    rate,
                    epsilon0,
                    delta0: 0.0,
                    delta1: delta,
                };
                let why = Some(shuffled_check_in::WHY_REFUTED);
                self.add("shuffled-check-in baseline", Standing::Refuted, why, || {
                    let share = 0.5 * delta;
                    converted(
                        rounds,
                        delta,
                        shuffled_check_in::baseline(first_cut(share)?, share),
                    )
                });
                self.add(
                    "shuffled-check-in Approach 1",
                    Standing::Refuted,
                    why,
                    || {
                        one_rate(range)?;
                        converted(rounds, delta, shuffled_check_in::approach_1(setting))
                    },
                );
                self.add(
                    "shuffled-check-in Approach 2",
                    Standing::Refuted,
                    why,
                    || {
                        one_rate(range)?;
                        converted(rounds, delta, shuffled_check_in::approach_2(setting))
                    },
                );
            }
        }
        self.converted(round)?;
        self.baselines(round)?;
        self.moments(round)
    }

    /// The (ε, δ) theorems about n users, one round, amplified by sampling at `rate`.
    fn closed_forms(
        &mut self,
        users: u64,
        epsilon0: f64,
        categories: Option<u64>,
        adaptive: bool,
        suffix: &str,
        rate: f64,
    ) {
        let settled = move || {
            require(!adaptive, || {
                "reports do not depend on earlier ones of the round".into()
            })
        };
        let sampled = |one: &dyn Fn(f64) -> Result<f64, Unmet>, delta: f64| -> Result<f64, Unmet> {
            let epsilon = one((delta / rate).min(0.5))?;
            Ok(balle_2018::amplified(epsilon, rate))
        };
        let forms: Vec<(&str, OneRound)> = vec![
            (
                "erlingsson-2019",
                Box::new(move |delta| erlingsson_2019::epsilon(users, epsilon0, delta)),
            ),
            (
                "balle-2019 Hoeffding",
                Box::new(move |delta| {
                    settled()?;
                    balle_2019::epsilon(Inequality::Hoeffding, users, epsilon0, categories, delta)
                }),
            ),
            (
                "balle-2019 Bennett",
                Box::new(move |delta| {
                    settled()?;
                    balle_2019::epsilon(Inequality::Bennett, users, epsilon0, categories, delta)
                }),
            ),
            (
                "feldman-2021 closed form",
                Box::new(move |delta| feldman_2021::epsilon(users, epsilon0, delta)),
            ),
            (
                "feldman-2023 closed form",
                Box::new(move |delta| {
                    settled()?;
                    feldman_2023::epsilon(users, epsilon0, delta)
                }),
            ),
        ];
        for (name, form) in forms {
            let value = self.composed(|delta| sampled(&*form, delta));
            self.add(format!("{name}{suffix}"), Standing::Proved, None, || value);
        }
    }

    /// One round as tight as we can, composed by what does not look inside.
    fn baselines(&mut self, round: &Round) -> Result<(), Error> {
        if self.rounds == 1 {
            return Ok(());
        }
        let (rounds, delta) = (self.rounds, self.delta);
        let each = 0.5 * delta / rounds as f64;
        let deep = || {
            require(each >= Delta::SMALLEST, || {
                "delta/(2T) of at least 1e-300".into()
            })
        };
        let one_round = |delta: f64| -> Result<f64, Error> {
            let delta = Delta::new(delta.max(Delta::SMALLEST))?;
            Ok(account(round)?.epsilon(delta)?.upper.value.value())
        };
        let (one, whole) = (one_round(each)?, one_round(delta / rounds as f64)?);
        self.add(
            "one exact round + basic composition",
            Standing::Proved,
            None,
            || {
                deep()?;
                Ok((dwork_2010::basic(rounds, whole), None))
            },
        );
        self.add(
            "one exact round + dwork-2010",
            Standing::Proved,
            None,
            || {
                deep()?;
                Ok((dwork_2010::advanced(rounds, one, each, delta)?, None))
            },
        );
        self.add(
            "one exact round + kairouz-2015",
            Standing::Proved,
            None,
            || {
                deep()?;
                Ok((kairouz_2015::epsilon(rounds, one, each, delta)?, None))
            },
        );
        Ok(())
    }

    /// The exact Rényi divergence of the atoms.
    fn moments(&mut self, round: &Round) -> Result<(), Error> {
        let (profiles, name) = crate::account::dominating_profiles(round, Fineness::Coarse)?;
        let (rounds, delta) = (self.rounds, self.delta);
        let few = profiles
            .iter()
            .all(|profile| profile.atoms().iter().count() <= Profile::MOST_ATOMS);
        self.add(
            format!("shuffledp moments/{name}"),
            Standing::Proved,
            None,
            || {
                require(few, || "a law of at most four atoms".into())?;
                let mut worst = (0.0, None);
                for profile in &profiles {
                    for &direction in profile.directions() {
                        let (epsilon, order) = converted(rounds, delta, profile.rdp(direction))?;
                        if epsilon >= worst.0 {
                            worst = (epsilon, order);
                        }
                    }
                }
                Ok(worst)
            },
        );
        Ok(())
    }

    /// Rounds of (ε₀, δ₀)-LDP randomizers.
    fn approximate(&mut self, round: &Round, epsilon0: f64, delta0: f64) {
        let (users, suffix, rate) = match round.participation() {
            Participation::Sample(sample) => {
                let sample = sample.min(round.honest());
                (
                    sample,
                    " + balle-2018",
                    sample as f64 / round.honest() as f64,
                )
            }
            _ => (round.honest(), "", 1.0),
        };
        let check_in = matches!(round.participation(), Participation::CheckIn(_));
        let (rounds, delta) = (self.rounds, self.delta);
        self.add(
            "local, kairouz-2015",
            Standing::Proved,
            Some("what each user has without the shuffler"),
            || {
                Ok((
                    kairouz_2015::epsilon(rounds, epsilon0, delta0, delta)?,
                    None,
                ))
            },
        );
        let value = self.composed(|delta| {
            require(!check_in, || {
                "everybody takes part, or a sample does".into()
            })?;
            let epsilon = feldman_2021::epsilon_approximate(
                users,
                epsilon0,
                delta0,
                (delta / rate).min(0.5),
            )?;
            Ok(balle_2018::amplified(epsilon, rate))
        });
        self.add(
            format!("feldman-2021 (epsilon0, delta0){suffix}"),
            Standing::Proved,
            None,
            || value,
        );
    }

    /// Rounds of Gaussian noise.
    fn gaussian(&mut self, round: &Round, sigma: f64) -> Result<(), Error> {
        let users = round.honest();
        let (rounds, delta) = (self.rounds, self.delta);
        let local = 1.0 / sigma;
        self.add(
            "local, exact",
            Standing::Proved,
            Some("what each user has without the shuffler"),
            || Ok((gdp_epsilon(local * (rounds as f64).sqrt(), delta), None)),
        );
        self.add(
            "shuffledp gaussian-pair",
            Standing::Conjectured,
            Some("exact for one pair of datasets: a guarantee only if no pair is worse"),
            || {
                let pair = Mechanism::random_allocation(sigma)
                    .and_then(|mechanism| Plan::new(round.with_mechanism(mechanism), rounds))
                    .and_then(|plan| account(&plan)?.upper_epsilon(delta));
                Ok((pair.map_err(|error| Unmet(error.to_string()))?, None))
            },
        );
        self.converted(round)?;
        match round.participation() {
            Participation::Everyone => {
                let value = self.composed(|delta| clones_of_gaussian(users, sigma, delta));
                self.add(
                    "feldman-2021 (epsilon0, delta0), best delta0",
                    Standing::Proved,
                    None,
                    || value,
                );
            }
            Participation::Sample(_) => {}
            Participation::CheckIn(range) => {
                let rate = range.highest();
                self.add(
                    "secure aggregation, pld",
                    Standing::Proved,
                    Some("only the noisy sum is seen"),
                    || {
                        one_rate(range)?;
                        let sigma = 2.0 * sigma;
                        let value = secure_aggregation::epsilon(users, rate, sigma, rounds, delta)?;
                        Ok((value, None))
                    },
                );
            }
        }
        Ok(())
    }

    /// The certified bracket.
    fn ours(&mut self, plan: &Plan) -> Result<(), Error> {
        let start = Instant::now();
        let answer = account(plan)?.epsilon(Delta::new(self.delta)?)?;
        let seconds = start.elapsed().as_secs_f64();
        for bound in [&answer.upper, &answer.lower] {
            self.entries.push(Comparison {
                name: format!("shuffledp {}", bound.method),
                side: bound.side,
                standing: bound.standing,
                epsilon: Ok(bound.value.value()),
                order: None,
                note: bound.attained_by.clone(),
                seconds,
                tightest: false,
            });
        }
        Ok(())
    }

    /// Sorted, the tightest marked, contradictions said.
    fn finish(mut self) -> Vec<Comparison> {
        let value = |entry: &Comparison| entry.epsilon.as_ref().copied().unwrap_or(f64::INFINITY);
        let sure =
            |entry: &Comparison| matches!(entry.standing, Standing::Certified | Standing::Proved);
        // Secure aggregation is another system: its numbers do not compete.
        let other = |entry: &Comparison| {
            entry.name.ends_with("Theorem 4") || entry.name.starts_with("secure aggregation")
        };
        let rival = |entry: &Comparison| sure(entry) && entry.epsilon.is_ok() && !other(entry);
        let lower = self
            .entries
            .iter()
            .filter(|entry| entry.side == Side::Lower && rival(entry))
            .map(value)
            .fold(0.0, f64::max);
        let upper = self
            .entries
            .iter()
            .filter(|entry| entry.side == Side::Upper && rival(entry) && value(entry) >= lower)
            .map(value)
            .fold(f64::INFINITY, f64::min);
        for entry in &mut self.entries {
            let Ok(epsilon) = entry.epsilon else { continue };
            entry.tightest = sure(entry)
                && !other(entry)
                && match entry.side {
                    Side::Upper => epsilon == upper,
                    Side::Lower => epsilon == lower,
                };
            if entry.side == Side::Upper && epsilon < lower && !other(entry) {
                let before = entry
                    .note
                    .take()
                    .map_or(String::new(), |note| format!("{note}; "));
                entry.note = Some(format!("{before}below the lower bound: false here"));
            }
        }
        self.entries.sort_by(|a, b| {
            (a.side == Side::Lower)
                .cmp(&(b.side == Side::Lower))
                .then(a.epsilon.is_err().cmp(&b.epsilon.is_err()))
                .then(value(a).total_cmp(&value(b)))
        });
        self.entries
    }
}

/// A Rényi curve over all rounds, as ε.
fn converted(rounds: u64, delta: f64, curve: RdpCurve) -> Value {
    let best = curve
        .times(rounds)
        .epsilon(delta)
        .map_err(|error| Unmet(error.to_string()))?;
    Ok((best.value, Some(best.order)))
}

/// A Gaussian randomizer is (ε₀, δ₀)-LDP for every δ₀: the best of them through the clones.
fn clones_of_gaussian(users: u64, sigma: f64, delta: f64) -> Result<f64, Unmet> {
    let mut best = Err(Unmet(
        "(e^epsilon + 1)(1 + e^-epsilon0/2) n delta0 < delta".into(),
    ));
    for step in 0..40 {
        let delta0 = delta / users as f64 * 10f64.powf(-0.5 - 0.15 * f64::from(step));
        let epsilon0 = gdp_epsilon(1.0 / sigma, delta0);
        if let Ok(epsilon) = feldman_2021::epsilon_approximate(users, epsilon0, delta0, delta) {
            if best.as_ref().map_or(true, |known| epsilon < *known) {
                best = Ok(epsilon);
            }
        } else if best.is_err() {
            best = feldman_2021::epsilon_approximate(users, epsilon0, delta0, delta);
        }
    }
    best
}
