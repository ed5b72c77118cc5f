//! Every published bound that applies to a round, next to this library's.
//!
//! One-round guarantees (ε, δ) are composed over T rounds by [`kairouz_2015`], the best composition that
//! knows only (ε, δ), with half of δ spent on the rounds. Rényi curves are added and converted. With m of n
//! sampled, guarantees for the m are amplified by [`balle_2018`]. A lower bound on a Rényi divergence is no
//! lower bound on ε; [`crate::curves`] has those.
//!
//! [`compare`] computes each bound on a thread of its own and waits for it at most `LIMIT`. The row of a
//! bound that fails or takes longer says so, and the other rows are not affected. It may be called from all
//! threads of a pool at once.

use crate::account::{Account, account, answerable};
use crate::atoms::Atoms;
use crate::bound::{Delta, Side, Standing};
use crate::bounds::balle_2019::Inequality;
use crate::bounds::shuffled_check_in::{self, CheckIn};
use crate::bounds::{
    Unmet, balle_2018, balle_2019, chen_2024, dwork_2010, enhanced_rdp, erlingsson_2019,
    feldman_2021, feldman_2023, kairouz_2015, numerical_accounting, require, secure_aggregation,
    zhu_2022,
};
use crate::cells::Fineness;
use crate::curves::{Curve, curves, one_rate};
use crate::error::Error;
use crate::gaussian::gdp_epsilon;
use crate::laws::{Priced, dominating_profiles};
use crate::local::LocalEpsilon;
use crate::mechanism::{Local, Mechanism};
use crate::participation::{Participation, Rate};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::rdp::RdpCurve;
use crate::round::Round;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long [`compare`] waits for one bound. Nearly all take milliseconds; half a minute is about as long as
/// a person waits for a table.
const LIMIT: Duration = Duration::from_secs(30);

/// The result of one bound.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The name of the bound: its source, and the theorem or variant.
    pub name: String,
    /// Upper or lower.
    pub side: Side,
    /// How it is established.
    pub standing: Standing,
    /// ε, or the condition that is not met.
    pub epsilon: Result<f64, Unmet>,
    /// The Rényi order that gave it.
    pub order: Option<f64>,
    /// A remark for readers.
    pub note: Option<String>,
    /// Seconds it took.
    pub seconds: f64,
    /// Whether it is the tightest proved bound of its side.
    pub tightest: bool,
    /// The mechanism that it is about, where that is another one than the round's: it is no bound on the
    /// round.
    pub other_mechanism: Option<&'static str>,
    /// Whether it is the upper or the lower bound of this library.
    pub is_ours: bool,
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
    compared(round, rounds, delta, &|_| true, Some(LIMIT))
}

/// [`compare`] by the bounds whose names are wanted, and ours, however long they take.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, Round, compare_where};
/// let round = Round::new(Mechanism::ldp(1.0)?, 100_000)?;
/// let table = compare_where(&round, 1, Delta::new(1e-6)?, &|name| name.contains("feldman"))?;
/// // Two closed forms, the clones of 2021 evaluated numerically, and the bracket.
/// assert_eq!(table.len(), 5);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn compare_where(
    round: &Round,
    rounds: u64,
    delta: Delta,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Comparison>, Error> {
    compared(round, rounds, delta, wanted, None)
}

fn compared(
    round: &Round,
    rounds: u64,
    delta: Delta,
    wanted: &dyn Fn(&str) -> bool,
    limit: Option<Duration>,
) -> Result<Vec<Comparison>, Error> {
    let plan = Plan::new(round.clone(), rounds)?;
    let question = Question {
        round: round.clone(),
        rounds,
        delta: answerable(delta)?,
    };
    let mut rows = match round.mechanism().local() {
        Local::Pure(epsilon0) => question.local(epsilon0),
        Local::Approximate(epsilon0, delta0) => {
            question.approximate(epsilon0.value(), delta0.value())
        }
        Local::Gaussian(sigma) => question.gaussian(sigma.value()),
        Local::Gdp(_) | Local::Unknown => question.converted(),
    };
    rows.retain(|row| wanted(&row.name));
    let mut entries: Vec<Comparison> = rows.into_iter().map(|row| row.computed(limit)).collect();
    entries.extend(ours(plan, delta, limit));
    Ok(finished(entries))
}

/// An answer and the Rényi order behind it.
type Value = Result<(f64, Option<f64>), Unmet>;

/// A bound that has not been computed yet.
struct Row {
    name: String,
    standing: Standing,
    note: Option<&'static str>,
    other_mechanism: Option<&'static str>,
    value: Box<dyn FnOnce() -> Value + Send>,
}

impl Row {
    fn new(
        name: impl Into<String>,
        standing: Standing,
        note: Option<&'static str>,
        value: impl FnOnce() -> Value + Send + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            standing,
            note,
            other_mechanism: None,
            value: Box::new(value),
        }
    }

    /// A bound on another mechanism, shown for comparison.
    fn about(self, mechanism: &'static str) -> Self {
        Self {
            other_mechanism: Some(mechanism),
            ..self
        }
    }

    fn computed(self, limit: Option<Duration>) -> Comparison {
        let (value, seconds) = timed(limit, self.value);
        let (epsilon, order) = match value.and_then(|value| value) {
            Ok((epsilon, order)) if epsilon.is_finite() => (Ok(epsilon), order),
            Ok(_) => (Err(Unmet("a finite epsilon at this delta".into())), None),
            Err(unmet) => (Err(unmet), None),
        };
        Comparison {
            name: self.name,
            side: Side::Upper,
            standing: self.standing,
            epsilon,
            order,
            note: self.note.map(str::to_owned),
            seconds,
            tightest: false,
            other_mechanism: self.other_mechanism,
            is_ours: false,
        }
    }
}

/// The result of a computation, if it ends within the limit, and the seconds it took. A computation that
/// takes longer goes on in the background, and its result is dropped.
fn timed<T: Send + 'static>(
    limit: Option<Duration>,
    compute: impl FnOnce() -> T + Send + 'static,
) -> (Result<T, Unmet>, f64) {
    let start = Instant::now();
    let Some(limit) = limit else {
        let value = compute();
        return (Ok(value), start.elapsed().as_secs_f64());
    };
    let (sender, receiver) = mpsc::channel();
    // A thread of a pool that waits here does no work for the pool: with all of them waiting, a computation
    // that needed the same pool would never begin.
    let apart = rayon::current_thread_index().and_then(|_| own_pool());
    let thread = std::thread::Builder::new().spawn(move || {
        let value = match apart {
            Some(pool) => pool.install(compute),
            None => compute(),
        };
        // An error means that the receiver has stopped waiting: the result is not needed.
        let _ = sender.send(value);
    });
    let result = match thread {
        Ok(_) => receiver.recv_timeout(limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                let seconds = limit.as_secs();
                Unmet(format!("more than the {seconds} seconds it was given"))
            }
            RecvTimeoutError::Disconnected => {
                Unmet("a computation that does not break off: please report this".into())
            }
        }),
        Err(error) => Err(Unmet(format!("a thread to run on ({error})"))),
    };
    (result, start.elapsed().as_secs_f64())
}

/// The threads that compute rows for a caller who is in a pool of threads; none where the system has no more.
fn own_pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let build = || ThreadPoolBuilder::new().build().ok();
    POOL.get_or_init(build).as_ref()
}

/// An error of the library as the condition that is not met.
fn unmet(error: Error) -> Unmet {
    Unmet(format!("another question: {error}"))
}

/// The certified upper and lower bound of this library.
fn ours(plan: Plan, delta: Delta, limit: Option<Duration>) -> Vec<Comparison> {
    let entry = |name: String, side: Side, seconds: f64| Comparison {
        name,
        side,
        standing: Standing::Certified,
        epsilon: Err(Unmet(String::new())),
        order: None,
        note: None,
        seconds,
        tightest: false,
        other_mechanism: None,
        is_ours: true,
    };
    let (answer, seconds) = timed(limit, move || account(&plan)?.epsilon(delta));
    match answer.and_then(|answer| answer.map_err(unmet)) {
        Ok(answer) => answer
            .bounds()
            .into_iter()
            .map(|bound| Comparison {
                standing: bound.standing(),
                epsilon: Ok(bound.value()),
                note: bound.attained_by().map(str::to_owned),
                ..entry(
                    format!("shuffledp {}", bound.method()),
                    bound.side(),
                    seconds,
                )
            })
            .collect(),
        Err(unmet) => vec![Comparison {
            epsilon: Err(unmet),
            ..entry("shuffledp".into(), Side::Upper, seconds)
        }],
    }
}

/// The rounds, and the δ at which they are compared.
#[derive(Clone)]
struct Question {
    round: Round,
    rounds: u64,
    delta: f64,
}

const WITHOUT_SHUFFLER: Option<&str> = Some("what each user has without the shuffler");

impl Question {
    /// A guarantee (ε(δ), δ) for one round, composed.
    fn composed(
        &self,
        one: impl Fn(f64) -> Result<f64, Unmet> + Send + 'static,
    ) -> impl FnOnce() -> Value + Send + 'static {
        let (rounds, delta) = (self.rounds, self.delta);
        move || {
            if rounds == 1 {
                return Ok((one(delta)?, None));
            }
            let each = 0.5 * delta / rounds as f64;
            let epsilon = kairouz_2015::epsilon(rounds, one(each)?, each, delta)?;
            Ok((epsilon, None))
        }
    }

    /// The condition of theorems that do not cover reports which depend on earlier reports of the round.
    fn not_adaptive(&self) -> impl Fn() -> Result<(), Unmet> + Copy + Send + use<> {
        let adaptive = self.round.is_adaptive_within_round();
        move || {
            require(!adaptive, || {
                "reports do not depend on earlier ones of the round".into()
            })
        }
    }

    /// Published Rényi curves, converted.
    fn converted(&self) -> Vec<Row> {
        let (rounds, delta) = (self.rounds, self.delta);
        let row = |curve: Curve| {
            let other_mechanism = curve.other_mechanism;
            let row = Row::new(curve.name, curve.standing, curve.note, move || {
                converted(rounds, delta, curve.curve?)
            });
            Row {
                other_mechanism,
                ..row
            }
        };
        // No curve is refused for a round that is valid; if one were, the others' rows would still be there.
        let all = curves(&self.round).unwrap_or_default();
        let upper = all.into_iter().filter(|curve| curve.side == Side::Upper);
        upper.map(row).collect()
    }

    /// Rounds of ε₀-LDP randomizers.
    fn local(&self, local: LocalEpsilon) -> Vec<Row> {
        let epsilon0 = local.value();
        let users = self.round.honest();
        let (rounds, delta) = (self.rounds, self.delta);
        let mut rows = vec![Row::new(
            "local, kairouz-2015",
            Standing::Proved,
            WITHOUT_SHUFFLER,
            move || Ok((kairouz_2015::epsilon(rounds, epsilon0, 0.0, delta)?, None)),
        )];
        match self.round.participation() {
            Participation::Everyone => {
                rows.extend(self.closed_forms(users, epsilon0, "", 1.0));
                rows.push(Row::new(
                    "enhanced-rdp Theorem 2 (GDP)",
                    Standing::Asymptotic,
                    Some("no error term: not a bound"),
                    move || {
                        let mu = enhanced_rdp::theorem_2(users, epsilon0) * (rounds as f64).sqrt();
                        Ok((gdp_epsilon(mu, delta), None))
                    },
                ));
                rows.extend(self.every_coin(epsilon0));
            }
            Participation::Sample(sample) => {
                let sample = sample.min(users);
                let rate = sample as f64 / users as f64;
                rows.extend(self.closed_forms(sample, epsilon0, " + balle-2018", rate));
                rows.push(Row::new(
                    "zhu-2022 on the clones of the sample",
                    Standing::Certified,
                    None,
                    move || {
                        let base = Profile::new(Atoms::ldp(local).map_err(unmet)?, sample);
                        zhu_2022::epsilon(&base, rate, rounds, delta)
                            .map(|epsilon| (epsilon, None))
                            .ok_or_else(|| Unmet("losses that a lattice can hold".into()))
                    },
                ));
            }
            Participation::CheckIn(range) => rows.extend(self.check_in(range, epsilon0)),
        }
        rows.push(self.gdp_of_2024(epsilon0, 0.0));
        rows.push(self.clones_of_2021(local));
        rows.extend(self.converted());
        rows.extend(self.baselines());
        rows.push(self.moments());
        rows
    }

    /// The Gaussian limit of Chen et al. 2024, of which no error is known.
    fn gdp_of_2024(&self, epsilon0: f64, delta0: f64) -> Row {
        let (users, rounds, delta) = (self.round.honest(), self.rounds, self.delta);
        let everybody = matches!(self.round.participation(), Participation::Everyone);
        let why = Some(chen_2024::WHY_REFUTED);
        Row::new("chen-2024 (GDP)", Standing::Refuted, why, move || {
            require(everybody, || "everybody takes part".into())?;
            require(rounds == 1, || "one round".into())?;
            Ok((chen_2024::epsilon(users, epsilon0, delta0, delta)?, None))
        })
    }

    /// The clones of Feldman, McMillan and Talwar 2021, evaluated numerically: what was the best bound for
    /// rounds that are adaptive within themselves.
    fn clones_of_2021(&self, local: LocalEpsilon) -> Row {
        let (rounds, delta, round) = (self.rounds, self.delta, self.round.clone());
        let name = "feldman-2021 clones, numerical";
        Row::new(name, Standing::Certified, None, move || {
            let law = Atoms::ldp_adaptive(local)
                .and_then(|atoms| Priced::by_law(&round, atoms, "clones"));
            let account = Account::of(vec![(Arc::new(law.map_err(unmet)?), rounds)]);
            Ok((account.upper_epsilon(delta).map_err(unmet)?, None))
        })
    }

    /// k-ary randomized response against an adversary who sees every coin.
    fn every_coin(&self, epsilon0: f64) -> Vec<Row> {
        let Some(k) = self.round.mechanism().categories() else {
            return Vec::new();
        };
        let (users, k, not_adaptive) = (self.round.honest(), k.value(), self.not_adaptive());
        let (rounds, delta) = (self.rounds, self.delta);
        let one = move |delta: f64, printed: bool| {
            not_adaptive()?;
            numerical_accounting::strong_epsilon(users, k, epsilon0, delta, printed)
        };
        vec![
            Row::new(
                "numerical-accounting A_s, as printed",
                Standing::Conjectured,
                Some(
                    "an adversary who sees every coin, with counts taken as independent that are not: \
                     nobody has proved it an upper bound",
                ),
                self.composed(move |delta| one(delta, true)),
            ),
            Row::new(
                "numerical-accounting A_s, tight",
                Standing::Proved,
                Some("an adversary who sees every coin"),
                move || {
                    if rounds == 1 {
                        return Ok((one(delta, false)?, None));
                    }
                    not_adaptive()?;
                    let epsilon = numerical_accounting::strong_composed_epsilon(
                        users, k, epsilon0, rounds, delta,
                    )?;
                    Ok((epsilon, None))
                },
            ),
        ]
    }

    /// The theorems of shuffled-check-in.
    fn check_in(&self, range: Rate, epsilon0: f64) -> Vec<Row> {
        let (users, rate) = (self.round.honest(), range.highest());
        let (rounds, delta) = (self.rounds, self.delta);
        let first_cut = move |delta: f64| {
            one_rate(range)?;
            shuffled_check_in::first_cut(users, rate, epsilon0, delta)
        };
        let setting = CheckIn {
            users,
            rate,
            epsilon0,
            delta0: 0.0,
            delta1: delta,
        };
        let refuted = |name: &str, value: Box<dyn FnOnce() -> Value + Send>| {
            let why = Some(shuffled_check_in::WHY_REFUTED);
            Row::new(name, Standing::Refuted, why, value)
        };
        vec![
            Row::new(
                "shuffled-check-in Theorem 1, corrected",
                Standing::Proved,
                None,
                self.composed(first_cut),
            ),
            refuted(
                "shuffled-check-in baseline",
                Box::new(move || {
                    let share = 0.5 * delta;
                    let curve = shuffled_check_in::baseline(first_cut(share)?, share);
                    converted(rounds, delta, curve)
                }),
            ),
            refuted(
                "shuffled-check-in Approach 1",
                Box::new(move || {
                    one_rate(range)?;
                    converted(rounds, delta, shuffled_check_in::approach_1(setting))
                }),
            ),
            refuted(
                "shuffled-check-in Approach 2",
                Box::new(move || {
                    one_rate(range)?;
                    converted(rounds, delta, shuffled_check_in::approach_2(setting))
                }),
            ),
        ]
    }

    /// The (ε, δ) theorems about n users, one round, amplified by sampling at `rate`.
    fn closed_forms(&self, users: u64, epsilon0: f64, suffix: &str, rate: f64) -> Vec<Row> {
        let categories = self.round.mechanism().categories().map(|k| k.value());
        let not_adaptive = self.not_adaptive();
        let blanket = move |inequality: Inequality, delta: f64| {
            not_adaptive()?;
            balle_2019::epsilon(inequality, users, epsilon0, categories, delta)
        };
        type OneRound = Box<dyn Fn(f64) -> Result<f64, Unmet> + Send>;
        let forms: [(&str, OneRound); 5] = [
            (
                "erlingsson-2019",
                Box::new(move |delta| erlingsson_2019::epsilon(users, epsilon0, delta)),
            ),
            (
                "balle-2019 Hoeffding",
                Box::new(move |delta| blanket(Inequality::Hoeffding, delta)),
            ),
            (
                "balle-2019 Bennett",
                Box::new(move |delta| blanket(Inequality::Bennett, delta)),
            ),
            (
                "feldman-2021 closed form",
                Box::new(move |delta| feldman_2021::epsilon(users, epsilon0, delta)),
            ),
            (
                "feldman-2023 closed form",
                Box::new(move |delta| {
                    not_adaptive()?;
                    feldman_2023::epsilon(users, epsilon0, delta)
                }),
            ),
        ];
        forms
            .into_iter()
            .map(|(name, form)| {
                let value = self.composed(move |delta| {
                    let epsilon = form((delta / rate).min(0.5))?;
                    Ok(balle_2018::amplified(epsilon, rate))
                });
                Row::new(format!("{name}{suffix}"), Standing::Proved, None, value)
            })
            .collect()
    }

    /// The certified ε of one round, composed by theorems that know only (ε, δ).
    fn baselines(&self) -> Vec<Row> {
        if self.rounds == 1 {
            return Vec::new();
        }
        let (rounds, delta) = (self.rounds, self.delta);
        let each = 0.5 * delta / rounds as f64;
        let round = self.round.clone();
        let one_round = move |delta: f64| -> Result<f64, Unmet> {
            require(each >= Delta::SMALLEST, || {
                "delta/(2T) of at least 1e-300".into()
            })?;
            let account = account(&round).map_err(unmet)?;
            account.upper_epsilon(delta).map_err(unmet)
        };
        let row = |name: &str, value: Box<dyn FnOnce() -> Value + Send>| {
            Row::new(name, Standing::Proved, None, value)
        };
        let (first, second) = (one_round.clone(), one_round.clone());
        vec![
            row(
                "one exact round + basic composition",
                Box::new(move || {
                    let whole = first(delta / rounds as f64)?;
                    Ok((dwork_2010::basic(rounds, whole), None))
                }),
            ),
            row(
                "one exact round + dwork-2010",
                Box::new(move || {
                    let one = second(each)?;
                    Ok((dwork_2010::advanced(rounds, one, each, delta)?, None))
                }),
            ),
            row(
                "one exact round + kairouz-2015",
                Box::new(move || {
                    let one = one_round(each)?;
                    Ok((kairouz_2015::epsilon(rounds, one, each, delta)?, None))
                }),
            ),
        ]
    }

    /// The exact Rényi divergence of the atoms.
    fn moments(&self) -> Row {
        let (rounds, delta, round) = (self.rounds, self.delta, self.round.clone());
        let name = format!("shuffledp moments/{}", round.mechanism().name());
        Row::new(name, Standing::Proved, None, move || {
            let (profiles, _) = dominating_profiles(&round, Fineness::Coarse).map_err(unmet)?;
            let few = |profile: &Profile| profile.atoms().iter().count() <= Profile::MOST_ATOMS;
            require(profiles.iter().all(few), || {
                "a law of at most four atoms".into()
            })?;
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
        })
    }

    /// Rounds of (ε₀, δ₀)-LDP randomizers.
    fn approximate(&self, epsilon0: f64, delta0: f64) -> Vec<Row> {
        let honest = self.round.honest();
        let (users, suffix, rate) = match self.round.participation() {
            Participation::Sample(sample) => {
                let sample = sample.min(honest);
                (sample, " + balle-2018", sample as f64 / honest as f64)
            }
            _ => (honest, "", 1.0),
        };
        let check_in = matches!(self.round.participation(), Participation::CheckIn(_));
        let (rounds, delta) = (self.rounds, self.delta);
        let clones = self.composed(move |delta| {
            require(!check_in, || {
                "everybody takes part, or a sample does".into()
            })?;
            let share = (delta / rate).min(0.5);
            let epsilon = feldman_2021::epsilon_approximate(users, epsilon0, delta0, share)?;
            Ok(balle_2018::amplified(epsilon, rate))
        });
        vec![
            Row::new(
                "local, kairouz-2015",
                Standing::Proved,
                WITHOUT_SHUFFLER,
                move || {
                    let epsilon = kairouz_2015::epsilon(rounds, epsilon0, delta0, delta)?;
                    Ok((epsilon, None))
                },
            ),
            Row::new(
                format!("feldman-2021 (epsilon0, delta0){suffix}"),
                Standing::Proved,
                None,
                clones,
            ),
            self.gdp_of_2024(epsilon0, delta0),
        ]
    }

    /// Rounds of Gaussian noise.
    fn gaussian(&self, sigma: f64) -> Vec<Row> {
        let users = self.round.honest();
        let (rounds, delta) = (self.rounds, self.delta);
        let round = self.round.clone();
        let mut rows = vec![
            Row::new(
                "local, exact",
                Standing::Proved,
                WITHOUT_SHUFFLER,
                move || {
                    let mu = (rounds as f64).sqrt() / sigma;
                    Ok((gdp_epsilon(mu, delta), None))
                },
            ),
            Row::new(
                "shuffledp gaussian-pair",
                Standing::Conjectured,
                Some("exact for one pair of datasets: a guarantee only if no pair is worse"),
                move || {
                    let pair = Mechanism::random_allocation(sigma)
                        .and_then(|mechanism| Plan::new(round.with_mechanism(mechanism), rounds))
                        .and_then(|plan| account(&plan)?.upper_epsilon(delta));
                    Ok((pair.map_err(unmet)?, None))
                },
            ),
        ];
        rows.extend(self.converted());
        match self.round.participation() {
            Participation::Everyone => rows.push(Row::new(
                "feldman-2021 (epsilon0, delta0), best delta0",
                Standing::Proved,
                None,
                self.composed(move |delta| clones_of_gaussian(users, sigma, delta)),
            )),
            Participation::Sample(_) => {}
            Participation::CheckIn(range) => rows.push(
                Row::new(
                    "secure aggregation, pld",
                    Standing::Proved,
                    None,
                    move || {
                        one_rate(range)?;
                        // A domain of diameter 1 is one of norm 1/2, in another unit.
                        let (rate, sigma) = (range.highest(), 2.0 * sigma);
                        let value = secure_aggregation::epsilon(users, rate, sigma, rounds, delta)?;
                        Ok((value, None))
                    },
                )
                .about(crate::curves::SECURE_SUM),
            ),
        }
        rows
    }
}

/// Sorts the rows, marks the tightest bound of each side, and notes contradictions. Bounds on other
/// mechanisms come last and are not compared.
fn finished(mut entries: Vec<Comparison>) -> Vec<Comparison> {
    let value = |entry: &Comparison| entry.epsilon.as_ref().copied().unwrap_or(f64::INFINITY);
    let rival = |entry: &Comparison| {
        matches!(entry.standing, Standing::Certified | Standing::Proved)
            && entry.epsilon.is_ok()
            && entry.other_mechanism.is_none()
    };
    let lower = entries
        .iter()
        .filter(|entry| entry.side == Side::Lower && rival(entry))
        .map(value)
        .fold(0.0, f64::max);
    let upper = entries
        .iter()
        .filter(|entry| entry.side == Side::Upper && rival(entry) && value(entry) >= lower)
        .map(value)
        .fold(f64::INFINITY, f64::min);
    for entry in &mut entries {
        let Ok(epsilon) = entry.epsilon else { continue };
        entry.tightest = rival(entry)
            && match entry.side {
                Side::Upper => epsilon == upper,
                Side::Lower => epsilon == lower,
            };
        let own = entry.other_mechanism.is_none();
        if entry.side == Side::Upper && epsilon < lower && own {
            let before = entry
                .note
                .take()
                .map_or(String::new(), |note| format!("{note}; "));
            entry.note = Some(format!("{before}below the lower bound: false here"));
        }
    }
    entries.sort_by(|a, b| {
        let last =
            |entry: &Comparison| (entry.other_mechanism.is_some(), entry.side == Side::Lower);
        last(a)
            .cmp(&last(b))
            .then(a.epsilon.is_err().cmp(&b.epsilon.is_err()))
            .then(value(a).total_cmp(&value(b)))
    });
    entries
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{LIMIT, compared};
    use crate::bound::Delta;
    use crate::mechanism::Mechanism;
    use crate::round::Round;

    /// With every thread of the pool waiting for a row, no row may need one of them.
    #[test]
    fn all_threads_of_a_pool_may_compare_at_once() {
        let round = Round::new(Mechanism::ldp(1.0).unwrap(), 100).unwrap();
        let delta = Delta::new(1e-6).unwrap();
        let tables =
            rayon::broadcast(|_| compared(&round, 1, delta, &|_| false, Some(LIMIT)).unwrap());
        for ours in tables.iter().flatten() {
            assert!(ours.epsilon.is_ok(), "{:?}", ours.epsilon);
        }
    }
}
