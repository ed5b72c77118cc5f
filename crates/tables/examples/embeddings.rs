//! A Parquet file of embeddings, as a pre-trained network gives them: a row a person, a column for each
//! number of the network's last layer but one, and the label. `docs/training.in/embeddings.parquet` is
//!
//! ```sh
//! cargo run -p shuffledp-tables --features learning --example embeddings -- embeddings.parquet
//! ```
//!
//! The network stands for any other: it sees the pictures of the demonstration, four of their ten classes,
//! and has one layer of random weights, y = tanh(Wx + b) with b = 0. What it gives is rounded to hundredths,
//! so that the file is small.

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use shuffledp::learning::data::synthetic;
use shuffledp::randomizers::{Simulated, below};
use std::error::Error;
use std::fs::File;
use std::sync::Arc;

/// Numbers of a row.
const NUMBERS: usize = 16;
/// Pictures that are drawn.
const PICTURES: usize = 10_000;
/// Classes that are kept.
const CLASSES: u8 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the name of a file is needed")?;
    let data = synthetic::blobs(5, PICTURES, 1)?;
    let inputs = data.shape().numbers();
    let mut random = Simulated::new(11, 0);
    // Uniform in ±1, times what brings sums over all inputs to the size of 1.
    let reach = (3.0 / inputs as f64).sqrt();
    let mut weight = || reach * (2.0 * below(1 << 32, &mut random) as f64 / 2f64.powi(32) - 1.0);
    let weights: Vec<f64> = (0..NUMBERS * inputs).map(|_| 2.0 * weight()).collect();
    let kept: Vec<(&[f32], u8)> = data
        .train()
        .iter()
        .filter(|(_, label)| *label < CLASSES)
        .collect();
    let number = |image: &[f32], at: usize| {
        let sum: f64 = weights[at * inputs..][..inputs]
            .iter()
            .zip(image)
            .map(|(w, x)| w * f64::from(*x))
            .sum();
        ((100.0 * sum.tanh()).round() / 100.0) as f32
    };
    let mut schema = "message embeddings {".to_owned();
    for at in 0..NUMBERS {
        schema += &format!(" required float e{at};");
    }
    schema += " required int32 label; }";
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .build();
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut file = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let mut at = 0;
    while let Some(mut column) = group.next_column()? {
        match column.untyped() {
            ColumnWriter::FloatColumnWriter(writer) => {
                let values: Vec<f32> = kept.iter().map(|(image, _)| number(image, at)).collect();
                writer.write_batch(&values, None, None)?;
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                let values: Vec<i32> = kept.iter().map(|(_, label)| i32::from(*label)).collect();
                writer.write_batch(&values, None, None)?;
            }
            _ => return Err("the schema has no such column".into()),
        }
        column.close()?;
        at += 1;
    }
    group.close()?;
    file.close()?;
    Ok(())
}
