//! *Rényi differential privacy of the subsampled shuffle model in distributed learning*.

mod figure_3;

use crate::curves::{
    any_ldp, band, between, clones_2021, converted, digits, epsilon, extremes, line, local, whole,
};
use crate::error::Error;
use crate::exhibit::{Exhibit, Make, Shown};
use crate::note::{fragment, markdown, note};
use shuffledp::bounds::{Unmet, balle_2018, dwork_2010, girgis_2021, kairouz_2015, wang_2019};
use shuffledp::profile::Profile;
use shuffledp::rdp::RdpCurve;
use shuffledp::{Epsilon, Standing};
use shuffledp_numerics::search::bisect_integers;
use shuffledp_plot::{Axis, EVERYWHERE, Picture};
use shuffledp_plot::{Series, Sheet};

pub(super) const EXHIBITS: [Exhibit; 5] = [
    Exhibit {
        id: "subsampled-shuffle-rdp/figure-2a",
        title: "epsilon over rounds, a thousand of a million",
        make: Make::Accounted(figure_2a),
    },
    Exhibit {
        id: "subsampled-shuffle-rdp/figure-2b",
        title: "epsilon over rounds, ten thousand of ten million",
        make: Make::Accounted(figure_2b),
    },
    Exhibit {
        id: "subsampled-shuffle-rdp/figure-2c",
        title: "epsilon over users, a thousand of them sampled",
        make: Make::Accounted(figure_2c),
    },
    Exhibit {
        id: "subsampled-shuffle-rdp/figure-3-epsilon",
        title: "the epsilon axis of the learning experiment",
        make: Make::Accounted(figure_3_epsilon),
    },
    Exhibit {
        id: "subsampled-shuffle-rdp/figure-3",
        title: "accuracy over epsilon",
        make: Make::Learnt(figure_3::figure_3),
    },
];

/// Orders up to which the moments of a sample are evaluated, as the notes say: more change no digit of the
/// figures.
const ORDERS: u64 = 2048;

/// Rounds of a sample.
#[derive(Clone, Copy)]
struct Setting {
    users: u64,
    sample: u64,
    epsilon0: f64,
    rounds: f64,
    delta: f64,
}

impl Setting {
    fn rate(self) -> f64 {
        self.sample as f64 / self.users as f64
    }

    /// One round's ε of the sample, amplified by sampling, composed by Kairouz et al.: `clones` has the
    /// shuffle's ε.
    fn composed(self, clones: &Profile) -> Result<f64, Unmet> {
        let each = 0.5 * self.delta / self.rounds;
        let one = clones.epsilon_upper(each / self.rate());
        let sampled = balle_2018::amplified(one, self.rate());
        kairouz_2015::epsilon(self.rounds as u64, sampled, each, self.delta)
    }

    /// The same without any amplification by shuffling.
    fn unamplified(self) -> Result<f64, Unmet> {
        let sampled = balle_2018::amplified(self.epsilon0, self.rate());
        dwork_2010::advanced(self.rounds as u64, sampled, 0.0, self.delta)
    }
}

/// A published curve, or why there is none.
type Published = Result<RdpCurve, Unmet>;

/// What has been published about a sample of a crowd. The curves remember what they were asked, so there is
/// one of each.
struct Crowd {
    setting: Setting,
    theorem_1: Published,
    theorem_2: Published,
    wang: Published,
}

/// All the crowds of a figure.
struct Crowds(Vec<Crowd>);

impl Crowds {
    fn new(settings: impl Iterator<Item = Setting>) -> Self {
        let mut all = Self(Vec::new());
        for setting in settings {
            if all.of(setting).is_none() {
                all.0.push(Crowd::new(setting));
            }
        }
        all
    }

    fn of(&self, s: Setting) -> Option<&Crowd> {
        let same = |known: Setting| (known.users, known.sample) == (s.users, s.sample);
        self.0.iter().find(|crowd| same(crowd.setting))
    }
}

impl Crowd {
    fn new(setting: Setting) -> Self {
        let (users, sample, epsilon0) = (setting.users, setting.sample, setting.epsilon0);
        let lower = local(epsilon0).and_then(|e| girgis_2021::sampled_lower(users, sample, e));
        let base = girgis_2021::sampled_upper(sample, sample, epsilon0);
        Self {
            setting,
            theorem_1: Ok(girgis_2021::sampled_upper(users, sample, epsilon0)),
            theorem_2: lower.map_err(|error| Unmet(error.to_string())),
            wang: Ok(wang_2019::sampled(base, setting.rate(), epsilon0, ORDERS)),
        }
    }
}

/// The curves of the figures, at every value; ours first.
fn all(at: &[f64], setting: impl Fn(f64) -> Setting + Sync) -> Result<Vec<Series>, Error> {
    let mut series = band(
        "shuffledp",
        0,
        at,
        |x| {
            let s = setting(x);
            let round = any_ldp(s.epsilon0, s.users)?.sample(s.sample)?;
            epsilon(&round, s.rounds, s.delta)
        },
        Epsilon::value,
    )?
    .to_vec();
    let unmet = |error: shuffledp::Error| Unmet(error.to_string());
    let crowds = Crowds::new(at.iter().map(|&x| setting(x)));
    let published = |name: &str, standing: Standing, which: fn(&Crowd) -> &Published| {
        line(name, standing, at, |x| {
            let s = setting(x);
            let curve = crowds.of(s).map(which);
            let curve = curve.ok_or_else(|| Unmet("a curve".into()))?;
            converted(curve.as_ref().map_err(Clone::clone)?, s.rounds, s.delta)
        })
    };
    let mut red = published("Theorem 2, converted", Standing::Refuted, |crowd| {
        &crowd.theorem_2
    });
    // Neither an upper bound nor a lower one.
    red.standing = None;
    series.push(red);
    series.push(published("Theorem 1", Standing::Proved, |crowd| {
        &crowd.theorem_1
    }));
    series.push(published(
        "moments of the shuffle + wang-2019",
        Standing::Proved,
        |crowd| &crowd.wang,
    ));
    series.push(line(
        "exact clones of 2021 + sampling + kairouz-2015",
        Standing::Proved,
        at,
        |x| {
            let s = setting(x);
            s.composed(&clones_2021(s.epsilon0, s.sample).map_err(unmet)?)
        },
    ));
    series.push(line(
        "no shuffler + sampling + dwork-2010",
        Standing::Proved,
        at,
        |x| setting(x).unamplified(),
    ));
    Ok(series)
}

/// The last row in words: each bound as a multiple of Theorem 1's and of the certified one.
fn last(at: &[f64], over: &str, series: &[Series]) -> String {
    let rows: Vec<Vec<String>> = [4, 3, 5, 6, 2, 0, 1]
        .into_iter()
        .filter_map(|index: usize| {
            let value = |index: usize| series[index].values.last().copied().flatten();
            let (own, theorem, certified) = (value(index)?, value(3)?, value(0)?);
            Some(vec![
                series[index].label(),
                digits(own),
                digits(own / theorem),
                digits(own / certified),
            ])
        })
        .collect();
    let table = markdown(&["bound", "ε", "over Theorem 1", "over certified"], &rows);
    let x = at.last().copied().unwrap_or_default();
    format!("At {over} = {x}:\n\n{table}")
}

fn shown(
    at: Vec<f64>,
    series: Vec<Series>,
    over: &str,
    x: &str,
    title: &str,
    setting: &str,
    text: String,
) -> Shown {
    Shown {
        picture: Picture {
            title: title.to_owned(),
            subtitle: setting.to_owned(),
            x: Axis::log(x),
            y: Axis::log("ε at δ = 1e-8"),
            within: EVERYWHERE,
        },
        note: note!(
            "subsampled_shuffle_rdp/figure_2.md",
            setting = setting,
            last = last(&at, over, &series),
            text = text,
            colors = fragment!("subsampled_shuffle_rdp/colors.md"),
            red = red(),
        ),
        sheet: Sheet {
            over: over.to_owned(),
            at,
            series,
        },
    }
}

/// Why the paper's red curve is no bound.
fn red() -> String {
    fragment!("subsampled_shuffle_rdp/red.md")
}

/// The last value of one series over that of another.
fn last_ratio(series: &[Series], a: usize, b: usize) -> f64 {
    let last = |index: usize| series[index].values.last().copied().flatten();
    last(a).unwrap_or(f64::NAN) / last(b).unwrap_or(f64::NAN)
}

fn figure_2a() -> Result<Shown, Error> {
    let at = whole(1, 100_000, 11);
    let setting = |rounds: f64| Setting {
        users: 1_000_000,
        sample: 1000,
        epsilon0: 2.0,
        rounds,
        delta: 1e-8,
    };
    let series = all(&at, setting)?;
    // The closed form for the moments of the shuffle, sampled in the same way.
    let end = setting(1e5);
    let form = girgis_2021::shuffle_upper(end.sample, end.epsilon0);
    let form = wang_2019::sampled(form, end.rate(), end.epsilon0, ORDERS);
    let closed_form = converted(&form, end.rounds, end.delta)?;
    let theorem = converted(
        &girgis_2021::sampled_upper(end.users, end.sample, end.epsilon0),
        end.rounds,
        end.delta,
    )?;
    let text = fragment!(
        "subsampled_shuffle_rdp/figure_2a.md",
        clones = format!("{:.1}", last_ratio(&series, 5, 3)),
        moments = format!("{:.1}", last_ratio(&series, 4, 3)),
        closed_form = format!("{:.1}", closed_form / theorem),
        certified = format!("{:.1}", last_ratio(&series, 3, 0)),
    );
    Ok(shown(
        at,
        series,
        "rounds",
        "rounds T",
        "Figure 2a: ε of T rounds, a thousand of a million",
        "ε₀ = 2, n = 1,000,000, 1,000 sampled each round, δ = 1e-8",
        text,
    ))
}

fn figure_2b() -> Result<Shown, Error> {
    let at = whole(1, 100_000, 11);
    let series = all(&at, |rounds| Setting {
        users: 10_000_000,
        sample: 10_000,
        epsilon0: 1.0,
        rounds,
        delta: 1e-8,
    })?;
    let factor = format!("{:.1}", last_ratio(&series, 4, 5));
    let text = fragment!("subsampled_shuffle_rdp/figure_2b.md", factor = factor);
    Ok(shown(
        at,
        series,
        "rounds",
        "rounds T",
        "Figure 2b: ε of T rounds, ten thousand of ten million",
        "ε₀ = 1, n = 10,000,000, 10,000 sampled each round, δ = 1e-8",
        text,
    ))
}

fn figure_2c() -> Result<Shown, Error> {
    let at = whole(10_000, 100_000_000, 9);
    let series = all(&at, |users| Setting {
        users: users as u64,
        sample: 1000,
        epsilon0: 2.0,
        rounds: 1e5,
        delta: 1e-8,
    })?;
    Ok(shown(
        at,
        series,
        "users",
        "users n",
        "Figure 2c: ε over the number of users, a thousand sampled",
        "ε₀ = 2, 1,000 sampled each round, T = 100,000, δ = 1e-8",
        fragment!("subsampled_shuffle_rdp/figure_2c.md"),
    ))
}

/// The last of the 1,200 rounds at which Theorem 1 prints no more than this, with two decimals as in the
/// paper.
fn last_round(theorem: &RdpCurve, target: f64) -> u64 {
    let printed = |rounds: u64| converted(theorem, rounds as f64, 1e-5).unwrap_or(f64::NAN);
    bisect_integers(1200, 1, |rounds| printed(rounds) < target + 0.005).holds
}

fn figure_3_epsilon() -> Result<Shown, Error> {
    const TARGETS: [(f64, &str); 2] = [(1.4, "80 %"), (2.91, "90 %")];
    let setting = |rounds: f64| Setting {
        users: 60_000,
        sample: 10_000,
        epsilon0: 1.5,
        rounds,
        delta: 1e-5,
    };
    let at: Vec<f64> = (1..=25).map(|epoch| f64::from(epoch) * 48.0).collect();
    let series = all(&at, setting)?;
    let theorem = girgis_2021::sampled_upper(60_000, 10_000, 1.5);
    let clones = clones_2021(1.5, 10_000)?;
    let (mut rows, mut ratios) = (Vec::new(), Vec::new());
    for (target, accuracy) in TARGETS {
        let last = last_round(&theorem, target);
        let round = any_ldp(1.5, 60_000)?.sample(10_000)?;
        let answer = epsilon(&round, last as f64, 1e-5)?;
        let (upper, below) = (answer.upper().value(), answer.lower().value());
        let other = setting(last as f64).composed(&clones);
        rows.push(vec![
            accuracy.to_owned(),
            format!("{target}"),
            format!("{last}"),
            other.map_or("-".to_owned(), digits),
            between(below, upper),
            digits(target / upper),
        ]);
        ratios.push(target / upper);
    }
    let (least, most) = extremes(ratios);
    let table = markdown(
        &[
            "accuracy",
            "ε, printed",
            "round where Theorem 1 prints it",
            "clones exactly, sampled, kairouz-2015",
            "certified bracket",
            "printed over certified",
        ],
        &rows,
    );
    Ok(Shown {
        picture: Picture {
            title: "Figure 3: ε of the rounds of the learning experiment".to_owned(),
            subtitle:
                "ε₀ = 1.5, n = 60,000, 10,000 sampled each round, δ = 1e-5; six rounds are an epoch"
                    .to_owned(),
            x: Axis::linear("rounds T"),
            y: Axis::log("ε at δ = 1e-5"),
            within: EVERYWHERE,
        },
        sheet: Sheet {
            over: "rounds".to_owned(),
            at,
            series,
        },
        note: note!(
            "subsampled_shuffle_rdp/figure_3_epsilon.md",
            table = table,
            least = format!("{:.1}", least),
            most = format!("{:.1}", most),
            red = red(),
        ),
    })
}
