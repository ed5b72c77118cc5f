//! A trained model in two files: what is written is read back, and what is not a model is refused.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use shuffledp_learning::run::{
    Looks, MODEL_FILES, ModelKind, RunSpec, Setup, Source, Trained, run,
};
use shuffledp_learning::{Error, Shape};
use std::fs;
use std::path::Path;

/// A short run on the demonstration's pictures, and its model in a folder.
fn trained(folder: &Path, model: ModelKind) -> (Setup, Trained) {
    let spec = RunSpec {
        data: Some(Source::Demo),
        model,
        sample: Some(500),
        rounds: Some(3),
        fast: true,
        seed: Some(1),
        ..RunSpec::default()
    };
    let setup = Setup::read(spec).unwrap();
    let outcome = run::<Error>(&setup, None, Looks::Priced, &mut |_| Ok(())).unwrap();
    let trained = Trained::new(&setup, &outcome).unwrap();
    for (name, bytes) in MODEL_FILES.into_iter().zip(trained.files().unwrap()) {
        fs::write(folder.join(name), bytes).unwrap();
    }
    (setup, trained)
}

#[test]
fn what_is_written_is_read_back() {
    for model in [ModelKind::Logistic, ModelKind::Mlp, ModelKind::Cnn] {
        let folder = tempfile::tempdir().unwrap();
        let (setup, trained) = trained(folder.path(), model);
        let again = Trained::read(folder.path()).unwrap();
        assert_eq!(again.card(), trained.card());
        let images = &setup.data().test().images()[..setup.data().shape().numbers() * 50];
        let predictions = again.classify(images).unwrap();
        assert_eq!(predictions, trained.classify(images).unwrap());
        let mut workspace = setup.model().workspace();
        let card = again.card();
        for (image, prediction) in images
            .chunks_exact(setup.data().shape().numbers())
            .zip(&predictions)
        {
            assert!(prediction.class < card.names.classes.len());
            assert!(prediction.probability >= 0.1 && prediction.probability <= 1.0);
            let scored = setup
                .model()
                .classify(&parameters(&again), image, &mut workspace);
            assert_eq!(usize::from(scored.unwrap()), prediction.class);
        }
        let privacy = card.privacy.as_ref().unwrap();
        assert!(privacy.simulated && privacy.epsilon > 0.0);
        assert_eq!(privacy.change, "one user's value is replaced");
    }
}

/// The parameters, in the order of the file: layer after layer, weights before biases.
fn parameters(trained: &Trained) -> Vec<f32> {
    let [bytes, _] = trained.files().unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let mut tensors: Vec<(u64, bool, usize, usize)> = header
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(name, tensor)| {
            let (layer, kind) = name.split_once('.').unwrap();
            let end = |at: usize| tensor["data_offsets"][at].as_u64().unwrap() as usize;
            (layer.parse().unwrap(), kind == "bias", end(0), end(1))
        })
        .collect();
    tensors.sort_unstable();
    let data = &bytes[8 + length..];
    let bytes = tensors.iter().flat_map(|&(_, _, from, to)| &data[from..to]);
    let bytes: Vec<u8> = bytes.copied().collect();
    bytes
        .chunks_exact(4)
        .map(|number| f32::from_le_bytes(number.try_into().unwrap()))
        .collect()
}

#[test]
fn files_that_are_not_a_model_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, trained) = trained(folder.path(), ModelKind::Logistic);
    let [parameters, card] = trained.files().unwrap();
    let [first, second] = MODEL_FILES.map(|name| folder.path().join(name));
    let refused = || Trained::read(folder.path()).unwrap_err().to_string();
    let card: Value = serde_json::from_slice(&card).unwrap();
    for (field, value, message) in [
        ("/version", json!(2), "version 2 is not 1"),
        (
            "/names/classes",
            json!(["a"]),
            "classes 1 is outside [2, 256]",
        ),
        (
            "/names/classes",
            json!(["a", "b"]),
            "the card asks for F32 of",
        ),
        ("/architecture/model", json!("cnn"), "tensors, not"),
        ("/architecture/model", json!("forest"), "unknown variant"),
        ("/architecture/input/height", json!(0), "is outside"),
        (
            "/architecture/input/height",
            json!(1u64 << 60),
            "is outside",
        ),
        ("/architecture/hidden", json!(-1), "invalid value"),
    ] {
        let mut other = card.clone();
        *other.pointer_mut(field).unwrap() = value;
        fs::write(&second, other.to_string()).unwrap();
        let found = refused();
        assert!(found.contains(message), "{field}: {found}");
    }
    fs::write(&second, card.to_string()).unwrap();
    // Cut anywhere, and with a number that is none.
    for end in [0, 7, 8, 100, parameters.len() - 1] {
        fs::write(&first, &parameters[..end]).unwrap();
        assert!(refused().contains("model.safetensors is refused"), "{end}");
    }
    let mut wrong = parameters.clone();
    let last = wrong.len() - 4;
    wrong[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&first, &wrong).unwrap();
    assert!(refused().ends_with("is NaN"), "{}", refused());
    fs::remove_file(&first).unwrap();
    assert!(refused().contains("cannot be read"));
    let shape = Shape {
        channels: 1,
        height: 3,
        width: 3,
    };
    assert!(trained.classify(&vec![0.0; shape.numbers()]).is_err());
}
