//! A model that was trained is used: by the command, and by Python with safetensors and numpy.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Heights and shares of green of two kinds of plants, a row a user.
fn plants(rows: usize) -> String {
    let mut text = String::from("height,green,kind\n");
    for row in 0..rows {
        let share = (row * 7919 % rows) as f64 / rows as f64;
        text += &match row % 2 {
            0 => format!("{},{},oak\n", 1.2 + 0.8 * share, 0.6 - 0.4 * share),
            _ => format!("{},{},moss\n", 0.5 * share, 0.5 + 0.4 * share),
        };
    }
    text
}

fn shuffledp(words: &str, folder: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .args(words.split_whitespace())
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words}");
    String::from_utf8(output.stdout).unwrap()
}

/// Trains on the plants, into the folder `run` beside them.
fn trained(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("plants.csv"), plants(2000)).unwrap();
    let words = "train --data plants.csv --label kind --classes moss,oak --range height=0..2 --range 0..1 \
                 --epsilon0 4 --rounds 20 --rate 0.5 --seed 1 --out run";
    shuffledp(words, &folder);
    folder
}

#[test]
fn a_model_is_used_where_it_was_trained_and_elsewhere() {
    let folder = trained("model-used");
    let csv = shuffledp(
        "predict --model run --data plants.csv --format csv",
        &folder,
    );
    let right = csv
        .lines()
        .skip(1)
        .zip(plants(2000).lines().skip(1))
        .filter(|(row, plant)| row.split(',').nth(1) == plant.split(',').nth(2))
        .count();
    assert!(right > 1900, "{right} of 2000");
    // In another order and without the label: the same classes.
    let text: String = plants(2000)
        .lines()
        .map(|line| {
            let mut cells = line.split(',');
            let (height, green) = (cells.next().unwrap(), cells.next().unwrap());
            format!("{green},{height}\n")
        })
        .collect();
    fs::write(folder.join("others.csv"), text).unwrap();
    let others = shuffledp(
        "predict --model run --data others.csv --format csv",
        &folder,
    );
    assert_eq!(others, csv);
}

/// Python's classes are those of the command. The interpreter is that of `SHUFFLEDP_PYTHON`, which has numpy
/// and safetensors (`.ci/run` makes one); without it there is nothing to compare with.
#[test]
fn python_reads_the_model() {
    let Ok(python) = std::env::var("SHUFFLEDP_PYTHON") else {
        println!("SHUFFLEDP_PYTHON is not set: not compared with Python");
        return;
    };
    let folder = trained("model-python");
    let script = r#"
import csv, json, numpy as np
from safetensors.numpy import load_file
card, tensors = json.load(open("run/model.json")), load_file("run/model.safetensors")
columns = card["names"]["columns"]
low, high = (np.array([column[end] for column in columns]) for end in ("low", "high"))
with open("plants.csv") as file:
    rows = np.array([[float(row[c["column"]]) for c in columns] for row in csv.DictReader(file)])
scores = (2 * (rows - low) / (high - low) - 1) @ tensors["0.weight"] + tensors["0.bias"]
for best in scores.argmax(axis=1):
    print(card["names"]["classes"][best])
"#;
    let output = Command::new(python)
        .args(["-c", script])
        .current_dir(&folder)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    let csv = shuffledp(
        "predict --model run --data plants.csv --format csv",
        &folder,
    );
    let classes = csv
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(1).unwrap());
    let theirs = String::from_utf8(output.stdout).unwrap();
    assert!(theirs.lines().eq(classes));
}
