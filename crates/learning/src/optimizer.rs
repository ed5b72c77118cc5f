//! What the server does with an averaged gradient: everything from here on is post-processing, and costs no
//! privacy.
//!
//! ```text
//! momentum   u ← βu + g,                                                θ ← θ − ηu
//! Adam       u ← β₁u + (1−β₁)g,  w ← β₂w + (1−β₂)g²,                    (Kingma, Ba 2015)
//!            θ ← θ − η (u/(1−β₁ᵗ)) / (√(w/(1−β₂ᵗ)) + 1e-8)
//! ball       θ ← θ₀ + (θ − θ₀) min(1, R/‖θ − θ₀‖₂)                     θ₀ what training began with
//! ```

use crate::error::Error;
use serde::{Deserialize, Serialize};
use shuffledp_accounting::plain;

/// How a step follows from a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Rule {
    /// Gradient descent with momentum β; 0 is without.
    Momentum(f64),
    /// Adam, with β₁ and β₂.
    Adam(f64, f64),
}

/// A rate that holds from a round on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// The first round with this rate; rounds are counted from 1.
    pub from: u64,
    /// The rate.
    pub rate: f64,
}

/// How the rate η changes over the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Schedule {
    /// Not at all.
    Constant,
    /// Along a quarter of a cosine to 0, over all rounds that are planned.
    Cosine,
    /// As 1/√t.
    Root,
    /// Other rates from some rounds on, in the order of these rounds.
    Steps(Vec<RateStep>),
}

impl Schedule {
    /// The rate in round `round`, from 1, of `rounds`, where that of the first is `first`.
    ///
    /// ```
    /// use shuffledp_learning::{RateStep, Schedule};
    /// let steps = Schedule::Steps(vec![RateStep { from: 421, rate: 0.18 }]);
    /// assert_eq!(steps.rate(0.3, 420, 1200), 0.3);
    /// assert_eq!(steps.rate(0.3, 421, 1200), 0.18);
    /// ```
    pub fn rate(&self, first: f64, round: u64, rounds: u64) -> f64 {
        match self {
            Self::Constant => first,
            Self::Cosine => {
                let done = (round.saturating_sub(1)) as f64 / rounds.max(1) as f64;
                first * (0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos()))
            }
            Self::Root => first * (1.0 / (round.max(1) as f64).sqrt()),
            Self::Steps(steps) => {
                let begun = steps.iter().rev().find(|step| step.from <= round);
                begun.map_or(first, |step| step.rate)
            }
        }
    }

    /// Refuses steps that do not follow one another, or have no rate.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self::Steps(steps) = self else {
            return Ok(());
        };
        let mut last = 1;
        for &RateStep { from, rate } in steps {
            let refuse = |allowed: &str| {
                Err(Error::parameter(
                    "steps",
                    format!("{from}={}", plain(rate)),
                    allowed,
                ))
            };
            if from <= last {
                return refuse("rounds that rise, from 2 on");
            }
            if !(rate > 0.0 && rate.is_finite()) {
                return refuse("rates in (0, inf)");
            }
            last = from;
        }
        Ok(())
    }
}

/// The server's side of training: parameters, and what it remembers of earlier gradients.
///
/// ```
/// use shuffledp_learning::{Optimizer, Rule};
/// // Down the parabola θ².
/// let mut server = Optimizer::new(Rule::Momentum(0.9), vec![1.0], None)?;
/// for _ in 0..200 {
///     let slope = 2.0 * f64::from(server.parameters()[0]);
///     server.step(&[slope], 0.02)?;
/// }
/// assert!(server.parameters()[0].abs() < 1e-2);
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimizer {
    rule: Rule,
    parameters: Vec<f32>,
    first: Vec<f64>,
    second: Vec<f64>,
    steps: u64,
    ball: Option<(f64, Vec<f32>)>,
}

impl Optimizer {
    /// From these parameters, staying within `radius` of them if there is one.
    pub fn new(rule: Rule, parameters: Vec<f32>, radius: Option<f64>) -> Result<Self, Error> {
        let below_one = |name, beta: f64| match (0.0..1.0).contains(&beta) {
            true => Ok(()),
            false => Err(Error::parameter(name, beta, "[0, 1)")),
        };
        let moments = match rule {
            Rule::Momentum(beta) => {
                below_one("momentum", beta)?;
                (beta > 0.0, false)
            }
            Rule::Adam(first, second) => {
                below_one("beta1", first)?;
                below_one("beta2", second)?;
                (true, true)
            }
        };
        if let Some(radius) = radius
            && !(radius > 0.0 && radius.is_finite())
        {
            return Err(Error::parameter("radius", radius, "(0, inf)"));
        }
        let many = parameters.len();
        Ok(Self {
            rule,
            first: vec![0.0; if moments.0 { many } else { 0 }],
            second: vec![0.0; if moments.1 { many } else { 0 }],
            steps: 0,
            ball: radius.map(|radius| (radius, parameters.clone())),
            parameters,
        })
    }

    /// θ.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Whether the stored averages have as many numbers as the parameters: a stored file may have been cut.
    pub(crate) fn is_whole(&self) -> bool {
        let many = self.parameters.len();
        let (first, second) = match self.rule {
            Rule::Momentum(beta) => (beta > 0.0, false),
            Rule::Adam(..) => (true, true),
        };
        self.first.len() == if first { many } else { 0 }
            && self.second.len() == if second { many } else { 0 }
            && self
                .ball
                .as_ref()
                .is_none_or(|(_, start)| start.len() == many)
    }

    /// One step against a gradient, at a rate. Parameters that leave the range of numbers are an error, after
    /// which nothing can be done with them.
    pub fn step(&mut self, gradient: &[f64], rate: f64) -> Result<(), Error> {
        Error::unless_length("gradient", gradient.len(), self.parameters.len())?;
        if gradient.iter().any(|slope| !slope.is_finite()) || !rate.is_finite() {
            return Err(Error::NotFinite);
        }
        self.steps += 1;
        match self.rule {
            Rule::Momentum(0.0) => {
                for (parameter, slope) in self.parameters.iter_mut().zip(gradient) {
                    *parameter -= (rate * slope) as f32;
                }
            }
            Rule::Momentum(beta) => {
                let moved = self.parameters.iter_mut().zip(&mut self.first);
                for ((parameter, speed), slope) in moved.zip(gradient) {
                    *speed = beta * *speed + slope;
                    *parameter -= (rate * *speed) as f32;
                }
            }
            Rule::Adam(beta1, beta2) => {
                let steps = self.steps as f64;
                let (bias1, bias2) = (1.0 - beta1.powf(steps), 1.0 - beta2.powf(steps));
                let moments = self.first.iter_mut().zip(&mut self.second);
                let moved = self.parameters.iter_mut().zip(moments);
                for ((parameter, (first, second)), slope) in moved.zip(gradient) {
                    *first = beta1 * *first + (1.0 - beta1) * slope;
                    *second = beta2 * *second + (1.0 - beta2) * slope * slope;
                    let step = *first / bias1 / ((*second / bias2).sqrt() + 1e-8);
                    *parameter -= (rate * step) as f32;
                }
            }
        }
        if self
            .parameters
            .iter()
            .any(|parameter| !parameter.is_finite())
        {
            return Err(Error::Diverged);
        }
        if let Some((radius, start)) = &self.ball {
            let away = |(parameter, start): (&f32, &f32)| f64::from(*parameter) - f64::from(*start);
            let square: f64 = self
                .parameters
                .iter()
                .zip(start)
                .map(|pair| away(pair).powi(2))
                .sum();
            let shrink = radius / square.sqrt();
            if shrink < 1.0 {
                for (parameter, start) in self.parameters.iter_mut().zip(start) {
                    let off = f64::from(*parameter) - f64::from(*start);
                    *parameter = (f64::from(*start) + shrink * off) as f32;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Optimizer, RateStep, Rule, Schedule};

    #[test]
    fn steps_are_those_of_the_formulas() {
        let mut plain = Optimizer::new(Rule::Momentum(0.0), vec![1.0, 2.0], None).unwrap();
        plain.step(&[0.5, -1.0], 0.1).unwrap();
        assert_eq!(plain.parameters(), [0.95, 2.1]);
        let mut heavy = Optimizer::new(Rule::Momentum(0.5), vec![0.0], None).unwrap();
        heavy.step(&[1.0], 1.0).unwrap();
        heavy.step(&[1.0], 1.0).unwrap();
        // 1, then 1 + 1/2.
        assert_eq!(heavy.parameters(), [-2.5]);
        // Adam's first step is the rate, whatever the size of the gradient.
        let mut adam = Optimizer::new(Rule::Adam(0.9, 0.999), vec![0.0, 0.0], None).unwrap();
        adam.step(&[1e-3, -1e3], 0.01).unwrap();
        assert!((adam.parameters()[0] + 0.01).abs() < 1e-6);
        assert!((adam.parameters()[1] - 0.01).abs() < 1e-6);
    }

    #[test]
    fn a_ball_is_not_left() {
        let mut near = Optimizer::new(Rule::Momentum(0.0), vec![1.0, 0.0], Some(0.5)).unwrap();
        near.step(&[-3.0, -4.0], 1.0).unwrap();
        assert!((near.parameters()[0] - 1.3).abs() < 1e-6);
        assert!((near.parameters()[1] - 0.4).abs() < 1e-6);
    }

    #[test]
    fn rates_fall_as_they_say() {
        assert_eq!(Schedule::Constant.rate(3.0, 7, 10), 3.0);
        assert_eq!(Schedule::Cosine.rate(3.0, 1, 10), 3.0);
        assert!((Schedule::Cosine.rate(3.0, 6, 10) - 1.5).abs() < 1e-12);
        assert_eq!(Schedule::Root.rate(3.0, 4, 10), 1.5);
        let step = |from, rate| RateStep { from, rate };
        let steps = Schedule::Steps(vec![step(3, 0.5), step(5, 2.0)]);
        let rates: Vec<f64> = (1..=6).map(|round| steps.rate(1.0, round, 6)).collect();
        assert_eq!(rates, [1.0, 1.0, 0.5, 0.5, 2.0, 2.0]);
    }

    #[test]
    fn steps_that_do_not_follow_one_another_are_refused() {
        let of = |steps: &[(u64, f64)]| {
            let steps = steps.iter().map(|&(from, rate)| RateStep { from, rate });
            Schedule::Steps(steps.collect()).check()
        };
        assert!(of(&[(2, 0.5), (3, 2.0)]).is_ok());
        for wrong in [
            &[(1, 0.5)][..],
            &[(0, 0.5)],
            &[(5, 0.5), (5, 0.4)],
            &[(5, 0.5), (4, 0.4)],
            &[(5, 0.0)],
            &[(5, f64::NAN)],
            &[(5, f64::INFINITY)],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    /// Runs that were stored before there were steps are read.
    #[test]
    fn a_schedule_is_stored_by_its_name() {
        for (schedule, json) in [
            (Schedule::Constant, "\"constant\""),
            (Schedule::Cosine, "\"cosine\""),
            (Schedule::Root, "\"root\""),
            (
                Schedule::Steps(vec![RateStep {
                    from: 421,
                    rate: 0.18,
                }]),
                r#"{"steps":[{"from":421,"rate":0.18}]}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&schedule).unwrap(), json);
            assert_eq!(serde_json::from_str::<Schedule>(json).unwrap(), schedule);
        }
    }

    #[test]
    fn parameters_that_leave_the_range_of_numbers_are_an_error() {
        for radius in [None, Some(1.0)] {
            let mut far = Optimizer::new(Rule::Momentum(0.0), vec![1.0], radius).unwrap();
            assert!(far.step(&[1.0], 1e300).is_err());
        }
    }

    #[test]
    fn what_is_no_step_is_refused() {
        let mut server = Optimizer::new(Rule::Momentum(0.0), vec![1.0], None).unwrap();
        assert!(server.step(&[f64::NAN], 1.0).is_err());
        assert!(server.step(&[1.0, 2.0], 1.0).is_err());
        assert_eq!(server.parameters(), [1.0]);
        assert!(Optimizer::new(Rule::Momentum(1.0), vec![1.0], None).is_err());
        assert!(Optimizer::new(Rule::Adam(0.9, f64::NAN), vec![1.0], None).is_err());
        assert!(Optimizer::new(Rule::Momentum(0.0), vec![1.0], Some(0.0)).is_err());
    }
}
