//! A trained model as two files that other programs can read.
//!
//! ```text
//! model.safetensors   for each layer with parameters `N.weight` and `N.bias`, 32-bit floats; N counts all
//!                     layers from 0. Dense: y = xᵀW + b, axes (inputs, outputs). Convolution: axes (line,
//!                     column, channel, filter).
//! model.json          the card: architecture, features, columns with their public ranges, classes,
//!                     accuracy and guarantee
//! ```
//!
//! Both are made from the parameters and the description of the run, so they cost no privacy beyond that of
//! the rounds.

use super::Outcome;
use super::choices::{FeatureKind, ModelKind};
use super::setup::Setup;
use super::spec::{CategoryColumn, ColumnRange, RunSpec, StandIn};
use crate::data::{Dataset, Shape};
use crate::error::Error;
use crate::models::{Activation, Model};
use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use shuffledp_accounting::Relation;
use std::fs;
use std::path::Path;

/// The names of the two files.
pub const MODEL_FILES: [&str; 2] = ["model.safetensors", "model.json"];
/// The version of the card's form.
const VERSION: u32 = 1;

/// What is computed from an example: its features, then layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// The shape of an example before its features are taken.
    pub input: Shape,
    /// The numbers that the layers see.
    pub features: FeatureKind,
    /// The layers.
    pub model: ModelKind,
    /// Numbers in the hidden layer of an MLP.
    pub hidden: u64,
    /// The activation after a hidden layer.
    pub activation: Activation,
}

/// The meaning of the numbers of an example and of its label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// The column that was learnt, of a table.
    pub label: Option<String>,
    /// The classes; a label is a place among them.
    pub classes: Vec<String>,
    /// The numbers of a table, in order. A number x of the public range lo..hi becomes
    /// 2 (x − lo)/(hi − lo) − 1. Empty for pictures.
    pub columns: Vec<ColumnRange>,
    /// The columns of categories, after the numbers: for each value one number, 1 for that of a row and 0 for
    /// the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<CategoryColumn>,
    /// The values that stand in for empty cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<StandIn>,
}

impl Names {
    /// Whether an example is a row of a table.
    pub fn is_table(&self) -> bool {
        !(self.columns.is_empty() && self.categories.is_empty())
    }

    /// How many numbers a row becomes.
    pub fn numbers(&self) -> usize {
        let values = self.categories.iter().map(|category| category.values.len());
        self.columns.len() + values.sum::<usize>()
    }

    /// Classes that are known by their numbers.
    pub(super) fn numbered(classes: usize) -> Self {
        Self {
            classes: (0..classes).map(|class| class.to_string()).collect(),
            ..Self::default()
        }
    }
}

/// The guarantee that a model was trained with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarantee {
    /// The certified ε of all rounds together.
    pub epsilon: f64,
    /// The δ at which it holds.
    pub delta: f64,
    /// The neighboring relation.
    pub relation: Relation,
    /// The change of the data, in words: "private when …".
    pub change: String,
    /// Whether the randomness came from a public seed: then nobody is protected.
    pub simulated: bool,
}

/// The card of a trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    version: u32,
    shuffledp: String,
    /// Sentences on algorithm, data and learner.
    pub about: Vec<String>,
    /// What is computed from an example.
    pub architecture: Architecture,
    /// The meaning of its numbers.
    pub names: Names,
    /// The accuracy on the examples that the run was judged by.
    pub accuracy: Option<f64>,
    /// None where nobody was protected, or no finite ε can be proved.
    pub privacy: Option<Guarantee>,
}

/// A model with its parameters and its card.
#[derive(Clone, Debug)]
pub struct Trained {
    card: Card,
    model: Model,
    parameters: Vec<f32>,
}

/// The class that a model gives to an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The place of the class among [`Names::classes`].
    pub class: usize,
    /// Its probability according to the model.
    pub probability: f64,
}

impl Architecture {
    /// The architecture that a description asks for, on examples of this shape.
    pub(super) fn new(spec: &RunSpec, input: Shape) -> Self {
        let pictures = input.height >= 8 && input.width >= 8;
        let linear = spec.model == ModelKind::Logistic;
        let usual = match pictures && linear {
            true => FeatureKind::OrientedGradients,
            false => FeatureKind::Plain,
        };
        Self {
            input,
            features: spec.features.unwrap_or(usual),
            model: spec.model,
            hidden: spec.hidden.unwrap_or(HIDDEN),
            activation: spec.activation,
        }
    }

    /// The examples as the layers see them.
    pub(super) fn seen(&self, data: &Dataset) -> Result<Dataset, Error> {
        data.mapped(|shape, images| self.features.of(shape, images))
    }

    /// The layers, for so many classes, on features of this shape.
    pub(super) fn network(&self, features: Shape, classes: usize) -> Result<Model, Error> {
        let activation = self.activation;
        match self.model {
            ModelKind::Logistic => Model::logistic(features, classes),
            ModelKind::Mlp => {
                let hidden = usize::try_from(self.hidden).unwrap_or(usize::MAX);
                Model::mlp(features, hidden, activation, classes)
            }
            ModelKind::Cnn => Model::cnn_disjoint(features, activation, classes),
            ModelKind::CnnOverlapping => Model::cnn_overlapping(features, activation, classes),
        }
    }
}

/// Numbers in a hidden layer where none are given: enough for the tables and pictures of the guide.
const HIDDEN: u64 = 32;

impl Trained {
    /// The model that a run ended with.
    ///
    /// ```
    /// use shuffledp_learning::Error;
    /// use shuffledp_learning::run::{Looks, RunSpec, Setup, Source, Trained, run};
    /// let spec = RunSpec {
    ///     data: Some(Source::Demo),
    ///     sample: Some(200),
    ///     rounds: Some(2),
    ///     seed: Some(1),
    ///     ..RunSpec::default()
    /// };
    /// let setup = Setup::read(spec)?;
    /// let outcome = run::<Error>(&setup, None, Looks::Priced, &mut |_| Ok(()))?;
    /// let trained = Trained::new(&setup, &outcome)?;
    /// let image = vec![0.0; trained.card().architecture.input.numbers()];
    /// let prediction = trained.classify(&image)?[0];
    /// assert!(prediction.class < 10 && prediction.probability >= 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(setup: &Setup, outcome: &Outcome) -> Result<Self, Error> {
        let change = |relation| outcome.unit.change(relation);
        let privacy = outcome.spent.as_ref().map(|spent| Guarantee {
            epsilon: spent.upper().value(),
            delta: setup.delta().value(),
            relation: spent.relation(),
            change: change(spent.relation()),
            simulated: setup.spec().seed.is_some(),
        });
        let card = Card {
            version: VERSION,
            shuffledp: env!("CARGO_PKG_VERSION").to_owned(),
            about: setup.about().to_vec(),
            architecture: setup.architecture().clone(),
            names: setup.names().clone(),
            accuracy: outcome.points.last().and_then(|point| point.accuracy),
            privacy,
        };
        Ok(Self {
            card,
            model: setup.model().clone(),
            parameters: outcome.parameters.clone(),
        })
    }

    /// The card.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The two files, by the names of [`MODEL_FILES`].
    pub fn files(&self) -> Result<[Vec<u8>; 2], Error> {
        let refused = |why: String| Error::ModelFile {
            file: MODEL_FILES[0].into(),
            why,
        };
        let tensors = self.model.tensors();
        let bytes: Vec<Vec<u8>> = tensors
            .iter()
            .map(|tensor| {
                let numbers = self.parameters[tensor.place.clone()].iter();
                numbers.flat_map(|number| number.to_le_bytes()).collect()
            })
            .collect();
        let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
            let view = TensorView::new(Dtype::F32, tensor.axes.clone(), bytes);
            view.map(|view| (tensor.name.clone(), view))
        });
        let views: Result<Vec<_>, _> = views.collect();
        let views = views.map_err(|error| refused(error.to_string()))?;
        let parameters = safetensors::serialize(views, None);
        let parameters = parameters.map_err(|error| refused(error.to_string()))?;
        let card = serde_json::to_string_pretty(&self.card);
        let card = card.map_err(|error| Error::ModelFile {
            file: MODEL_FILES[1].into(),
            why: error.to_string(),
        })?;
        Ok([parameters, (card + "\n").into_bytes()])
    }

    /// Reads both files of a folder, and checks them against each other.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let bytes = |name: &str| {
            let file = folder.join(name);
            fs::read(&file).map_err(|source| Error::Unreadable { file, source })
        };
        let [parameters, card] = MODEL_FILES.map(bytes);
        let refused = |name: &str, why: String| Error::ModelFile {
            file: folder.join(name),
            why,
        };
        let card: Card = serde_json::from_slice(&card?)
            .map_err(|error| refused(MODEL_FILES[1], error.to_string()))?;
        if card.version != VERSION {
            let why = format!("version {} is not {VERSION}", card.version);
            return Err(refused(MODEL_FILES[1], why));
        }
        // One empty picture gives the shape of the features; the shape is checked first.
        let (architecture, classes) = (&card.architecture, card.names.classes.len());
        let wrong = |error: Error| refused(MODEL_FILES[1], error.to_string());
        architecture.input.check(classes).map_err(wrong)?;
        let empty = vec![0.0; architecture.input.numbers()];
        let (row, _) = architecture
            .features
            .of(architecture.input, empty)
            .map_err(wrong)?;
        let model = architecture.network(row, classes).map_err(wrong)?;
        let columns = card.names.numbers();
        if card.names.is_table() && columns != architecture.input.numbers() {
            let numbers = architecture.input.numbers();
            let why = format!("{columns} columns for an input of {numbers} numbers");
            return Err(refused(MODEL_FILES[1], why));
        }
        let parameters =
            read_tensors(&model, &parameters?).map_err(|why| refused(MODEL_FILES[0], why))?;
        Ok(Self {
            card,
            model,
            parameters,
        })
    }

    /// The class of each example: rows of numbers of the input's shape, one after the other.
    pub fn classify(&self, examples: &[f32]) -> Result<Vec<Prediction>, Error> {
        let input = self.card.architecture.input;
        let numbers = input.numbers();
        if !examples.len().is_multiple_of(numbers) {
            return Err(Error::Length {
                what: "examples",
                given: examples.len(),
                wanted: numbers,
            });
        }
        let (row, features) = self
            .card
            .architecture
            .features
            .of(input, examples.to_vec())?;
        features
            .par_chunks_exact(row.numbers())
            .with_min_len(64)
            .map_init(
                || self.model.workspace(),
                |workspace, image| {
                    let all = self
                        .model
                        .probabilities(&self.parameters, image, workspace)?;
                    let mut best = Prediction {
                        class: 0,
                        probability: 0.0,
                    };
                    for (class, &probability) in all.iter().enumerate() {
                        if probability > best.probability {
                            best = Prediction { class, probability };
                        }
                    }
                    Ok(best)
                },
            )
            .collect()
    }
}

/// The parameters of a model from the bytes of its tensors: all of them, and no others.
fn read_tensors(model: &Model, bytes: &[u8]) -> Result<Vec<f32>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let tensors = model.tensors();
    if file.len() != tensors.len() {
        return Err(format!("{} tensors, not {}", file.len(), tensors.len()));
    }
    let mut parameters = Vec::with_capacity(model.parameters());
    for tensor in &tensors {
        let name = &tensor.name;
        let view = file.tensor(name).map_err(|error| error.to_string())?;
        if view.dtype() != Dtype::F32 || view.shape() != tensor.axes {
            let (dtype, shape) = (view.dtype(), view.shape());
            let axes = &tensor.axes;
            return Err(format!(
                "{name} is {dtype:?} of {shape:?}, the card asks for F32 of {axes:?}"
            ));
        }
        let numbers = view.data().chunks_exact(4).map(|number| {
            // Chunks of four bytes have four.
            f32::from_le_bytes([number[0], number[1], number[2], number[3]])
        });
        parameters.extend(numbers);
    }
    match parameters.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(format!("parameter {at} is {}", parameters[at])),
        None => Ok(parameters),
    }
}
