//! The choices that a run is described by, each a name with a meaning.
//!
//! A program that asks a person (flags, a form) takes the names and the meanings from [`Choice::LIST`]; JSON
//! uses the same names.

use crate::data::Shape;
use crate::error::Error;
use crate::features::{color_gradients_of, gradients_of, scattering_of, smooth_gradients_of};
use crate::models::Activation;
use serde::{Deserialize, Serialize};

/// One of a few named alternatives.
///
/// ```
/// use shuffledp_learning::run::{AlgorithmKind, Choice};
/// assert_eq!(AlgorithmKind::from_name("check-in"), Some(AlgorithmKind::CheckIn));
/// assert_eq!(AlgorithmKind::CheckIn.name(), "check-in");
/// ```
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// Every alternative with its name and its meaning; the meaning is empty where the name says it all.
    const LIST: &'static [(Self, &'static str, &'static str)];

    /// Its name, in kebab case.
    fn name(self) -> &'static str {
        let own = Self::LIST.iter().find(|(choice, ..)| *choice == self);
        own.map_or("", |(_, name, _)| name)
    }

    /// The alternative of this name.
    fn from_name(name: &str) -> Option<Self> {
        let named = Self::LIST.iter().find(|(_, known, _)| *known == name);
        named.map(|(choice, ..)| *choice)
    }
}

/// How users are asked, and whom they trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AlgorithmKind {
    /// A sample of the users each round, through the shuffler.
    #[default]
    CldpSgd,
    /// Each user by its own coin, through the shuffler.
    CheckIn,
    /// A sample of the users, or each by its own coin; of their noisy gradients only the sum is seen.
    SecureSum,
    /// Blocks of examples in a random order, each a step. The unit of privacy is a block.
    Blocks,
    /// The reports of [`AlgorithmKind::CldpSgd`] without a shuffler.
    Local,
    /// A trusted server holds the data and adds the noise.
    Central,
    /// No protection.
    None,
}

impl Choice for AlgorithmKind {
    const LIST: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::CldpSgd,
            "cldp-sgd",
            "A sample of the users each round, through the shuffler",
        ),
        (
            Self::CheckIn,
            "check-in",
            "Each user by its own coin, through the shuffler",
        ),
        (
            Self::SecureSum,
            "secure-sum",
            "A sample of the users, or each by its own coin; only the noisy sum is seen",
        ),
        (
            Self::Blocks,
            "blocks",
            "Blocks of examples in a random order, each a step: the unit of privacy is a block",
        ),
        (
            Self::Local,
            "local",
            "The reports of cldp-sgd with nobody to shuffle them",
        ),
        (
            Self::Central,
            "central",
            "A trusted server holds the data and adds the noise",
        ),
        (Self::None, "none", "No protection"),
    ];
}

impl AlgorithmKind {
    /// Whether devices send reports of a local randomizer.
    pub(super) fn has_devices(self) -> bool {
        !matches!(self, Self::SecureSum | Self::Central | Self::None)
    }
}

/// What is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelKind {
    /// Logistic regression.
    #[default]
    Logistic,
    /// One hidden layer.
    Mlp,
    /// The papers' network with disjoint pooling.
    Cnn,
    /// The papers' network with overlapping pooling.
    CnnOverlapping,
}

impl Choice for ModelKind {
    const LIST: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Logistic, "logistic", "Logistic regression"),
        (Self::Mlp, "mlp", "One hidden layer"),
        (
            Self::Cnn,
            "cnn",
            "The papers' network with disjoint pooling: 13,722 parameters on 28x28 pixels",
        ),
        (
            Self::CnnOverlapping,
            "cnn-overlapping",
            "The papers' network with overlapping pooling: 26,010 parameters",
        ),
    ];
}

impl ModelKind {
    /// At the beginning of a sentence.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Logistic => "Logistic regression",
            Self::Mlp => "A network of one hidden layer",
            Self::Cnn => "The convolutional network with disjoint pooling",
            Self::CnnOverlapping => "The convolutional network with overlapping pooling",
        }
    }
}

/// The numbers that a model is given for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FeatureKind {
    /// The numbers of the example.
    Plain,
    /// 128 oriented gradients of the picture.
    OrientedGradients,
    /// 200 oriented gradients of overlapping cells, as square roots around their mean.
    SmoothGradients,
    /// 448 numbers of a picture in three colors: smooth gradients at three scales, and colors.
    ColorGradients,
    /// Scattering coefficients of the picture, 81 for each 4x4 pixels and color.
    Scattering,
}

impl Choice for FeatureKind {
    const LIST: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Plain, "plain", "The numbers of the example"),
        (
            Self::OrientedGradients,
            "oriented-gradients",
            "128 oriented gradients of the picture",
        ),
        (
            Self::SmoothGradients,
            "smooth-gradients",
            "200 oriented gradients of overlapping cells of the picture, as square roots",
        ),
        (
            Self::ColorGradients,
            "color-gradients",
            "Smooth gradients of a color picture at three scales, and its colors: 448 numbers",
        ),
        (
            Self::Scattering,
            "scattering",
            "Scattering coefficients of the picture: 81 for each 4x4 pixels and color",
        ),
    ];
}

impl FeatureKind {
    /// The features of images of this shape, row after row, and the shape of a row.
    pub(super) fn of(self, shape: Shape, images: Vec<f32>) -> Result<(Shape, Vec<f32>), Error> {
        match self {
            Self::Plain => Ok((shape, images)),
            Self::OrientedGradients => gradients_of(shape, &images),
            Self::SmoothGradients => smooth_gradients_of(shape, &images),
            Self::ColorGradients => color_gradients_of(shape, &images),
            Self::Scattering => scattering_of(shape, &images),
        }
    }
}

/// How the server steps along a mean gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OptimizerKind {
    /// Gradient descent with momentum.
    #[default]
    Sgd,
    /// Adam.
    Adam,
}

impl Choice for OptimizerKind {
    const LIST: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Sgd, "sgd", "Gradient descent with momentum"),
        (Self::Adam, "adam", "Adam"),
    ];
}

impl Choice for Activation {
    const LIST: &'static [(Self, &'static str, &'static str)] =
        &[(Self::Tanh, "tanh", ""), (Self::Relu, "relu", "")];
}

/// How the learning rate changes over the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ScheduleKind {
    /// Not at all.
    Constant,
    /// To 0 along a cosine.
    #[default]
    Cosine,
    /// As one over the root of the round.
    Root,
    /// Other rates from some rounds on.
    Steps,
}

impl Choice for ScheduleKind {
    const LIST: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Constant, "constant", "Not at all"),
        (
            Self::Cosine,
            "cosine",
            "To 0 along a cosine, over the planned rounds",
        ),
        (Self::Root, "root", "As one over the root of the round"),
        (
            Self::Steps,
            "steps",
            "Other rates from the rounds of --steps on",
        ),
    ];
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{AlgorithmKind, Choice, FeatureKind, ModelKind, OptimizerKind, ScheduleKind};
    use crate::models::Activation;
    use serde::Serialize;

    fn same_names<T: Choice + Serialize>() {
        for (choice, name, _) in T::LIST {
            let json = serde_json::to_value(choice).unwrap();
            assert_eq!(json.as_str(), Some(*name));
        }
    }

    #[test]
    fn json_uses_the_listed_names() {
        same_names::<AlgorithmKind>();
        same_names::<ModelKind>();
        same_names::<FeatureKind>();
        same_names::<OptimizerKind>();
        same_names::<Activation>();
        same_names::<ScheduleKind>();
    }
}
