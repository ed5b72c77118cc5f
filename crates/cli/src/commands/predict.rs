//! `shuffledp predict`: the classes that a trained model gives to the rows of a table, or to the test
//! examples of a folder of pictures.

use crate::failure::Failure;
use crate::output::{Block, Format, Grid, Report, fields};
use crate::tables::refused_rows;
use clap::Args;
use serde_json::json;
use shuffledp::learning::run::{Card, Prediction, Source, Trained};
use shuffledp::{Side, grouped, plain, rounded};
use shuffledp_tables::Rows;
use std::path::PathBuf;

/// Rows that a table for people shows; the other formats have all.
const SHOWN: usize = 20;

#[derive(Args)]
pub(crate) struct PredictArguments {
    /// The folder of a run of `shuffledp train --out`, with model.safetensors and model.json
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// A CSV or Parquet table with the columns that the model was trained on, or a folder of pictures,
    /// whose test examples are classified
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// How to print; csv has a line for every row
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

/// Examples with the label of each, where it is known.
struct Asked {
    numbers: Vec<f32>,
    labels: Option<Vec<String>>,
}

impl PredictArguments {
    /// Classifies every row.
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let trained = Trained::read(&self.model)
            .map_err(|error| Failure::flag("--model", format!("--model: {error}")))?;
        let card = trained.card();
        let asked = self.read(card)?;
        let predictions = trained.classify(&asked.numbers)?;
        let class = |prediction: &Prediction| card.names.classes[prediction.class].clone();
        let accuracy = asked.labels.as_ref().map(|labels| {
            let right = predictions.iter().zip(labels);
            let right = right.filter(|(prediction, label)| class(prediction) == **label);
            right.count() as f64 / predictions.len() as f64
        });
        let mut csv = Grid::new(["row", "class", "probability"]).right_aligned([0, 2]);
        let mut shown = csv.clone();
        for (at, prediction) in predictions.iter().enumerate() {
            let (row, probability) = (at + 1, prediction.probability);
            if at < SHOWN {
                shown.row([
                    grouped(row as u64),
                    class(prediction),
                    format!("{probability:.3}"),
                ]);
            }
            csv.row([row.to_string(), class(prediction), probability.to_string()]);
        }
        let all: Vec<_> = predictions
            .iter()
            .map(|prediction| {
                json!({ "class": class(prediction), "probability": prediction.probability })
            })
            .collect();
        let mut blocks = vec![Block::Table(shown)];
        let rows = grouped(predictions.len() as u64);
        blocks.push(Block::Line(match predictions.len() > SHOWN {
            true => format!("The first {SHOWN} of {rows} rows; --format csv has all."),
            false => format!("{rows} rows."),
        }));
        if let Some(accuracy) = accuracy {
            blocks.push(Block::Line(format!(
                "Accuracy on these rows: {accuracy:.4}. It is not protected: it is computed from them."
            )));
        }
        blocks.push(Block::Line(guarantee(card)));
        Ok(Report {
            blocks,
            json: fields(json!({
                "query": { "model": self.model, "data": self.data },
                "privacy": card.privacy,
                "accuracy": accuracy,
                "predictions": all,
            })),
            csv,
            relation: card.privacy.as_ref().map(|privacy| privacy.relation),
            after: None,
        })
    }

    fn read(&self, card: &Card) -> Result<Asked, Failure> {
        if card.names.is_table() {
            let rows = Rows::read(&self.data, &card.names).map_err(refused_rows)?;
            return Ok(Asked {
                numbers: rows.numbers,
                labels: rows.labels,
            });
        }
        let data = Source::Folder(self.data.clone()).read()?.dataset;
        let (shape, wanted) = (data.shape(), card.architecture.input);
        if shape != wanted {
            let size = |shape: shuffledp::learning::Shape| {
                format!("{}x{}x{}", shape.height, shape.width, shape.channels)
            };
            let message = format!(
                "--data has pictures of {}, the model was trained on {}",
                size(shape),
                size(wanted)
            );
            return Err(Failure::flag("--data", message));
        }
        let labels = data.test().labels().iter();
        let labels = labels.map(|label| card.names.classes.get(usize::from(*label)).cloned());
        Ok(Asked {
            numbers: data.test().images().to_vec(),
            labels: labels.collect(),
        })
    }
}

/// What the model promises to the people it was trained on.
fn guarantee(card: &Card) -> String {
    match &card.privacy {
        None => "The model protects nobody it was trained on, or no finite epsilon can be proved."
            .to_owned(),
        Some(privacy) if privacy.simulated => format!(
            "The model was trained in a simulation from a public seed: its randomness protects nobody. Run \
             without a seed it would be ({}, {})-differentially private when {}.",
            rounded(privacy.epsilon, Side::Upper),
            plain(privacy.delta),
            privacy.change
        ),
        Some(privacy) => format!(
            "The model is ({}, {})-differentially private when {}, of the data it was trained on.",
            rounded(privacy.epsilon, Side::Upper),
            plain(privacy.delta),
            privacy.change
        ),
    }
}
