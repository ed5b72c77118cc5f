//! Seeds and their mutations, without a fuzzer: the same inputs at every run, on every machine.

use std::path::Path;

/// Bytes that decoders are known to trip over: ends of ranges, and what ends a token.
const BYTES: &[u8] = b"\0\x01\x7f\x80\xff\n\r\"'[]{}=,.-+eE019# \xef\xbb\xbf";

/// Pieces that mean something in one of the formats.
const PIECES: &[&str] = &[
    "-1",
    "0",
    "1e400",
    "-0.0",
    "nan",
    "inf",
    "-inf",
    "1e-320",
    "18446744073709551616",
    "9007199254740993",
    "0.5",
    "\"\"",
    "[[round]]\n",
    "{}",
    "[]",
    "null",
    "true",
    "users = 2\n",
    "repeat = 18446744073709551615\n",
    "\u{0}",
    "é",
    "\u{1f600}",
    "\n\n",
    "\"",
    "PAR1",
    ",,",
    "'''",
];

/// SplitMix64 (Steele, Lea, Flood 2014): good enough to pick places.
struct Picks(u64);

impl Picks {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        (word % most.max(1) as u64) as usize
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let end = start + self.below((length - start).min(32) + 1);
        start..end
    }

    /// Changes a few places.
    fn mutate(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..=self.below(3) {
            let at = self.below(data.len());
            match self.below(8) {
                0 if !data.is_empty() => data[at] ^= 1 << self.below(8),
                1 if !data.is_empty() => data[at] = BYTES[self.below(BYTES.len())],
                2 => data.truncate(at),
                3 => drop(data.drain(self.range(data.len()))),
                4 => {
                    let piece = data[self.range(data.len())].to_vec();
                    data.splice(at..at, piece);
                }
                5 => {
                    let piece = other[self.range(other.len())].to_vec();
                    data.splice(at..at, piece);
                }
                6 => {
                    let piece = PIECES[self.below(PIECES.len())];
                    let range = self.range(data.len());
                    data.splice(range, piece.bytes());
                }
                _ => {
                    let piece = PIECES[self.below(PIECES.len())];
                    data.splice(at..at, piece.bytes());
                }
            }
        }
    }
}

/// Shows the input if the body panics.
struct Shown<'a>(&'a str, &'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: \"{}\"", self.0, self.1.escape_ascii());
        }
    }
}

/// Runs the body on every seed in a folder, and on `mutations` mutations of each.
pub(crate) fn run(seeds: &Path, mutations: u64, mut body: impl FnMut(&str, &[u8])) {
    let entries = std::fs::read_dir(seeds).expect("the folder of seeds");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a seed").path()).collect();
    files.sort();
    let seeds: Vec<(String, Vec<u8>)> = files
        .iter()
        .map(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), std::fs::read(file).expect("a seed"))
        })
        .collect();
    assert!(!seeds.is_empty());
    for (index, (name, seed)) in seeds.iter().enumerate() {
        let mut tried = |data: &[u8]| {
            let _shown = Shown(name, data);
            body(name, data);
        };
        tried(seed);
        let mut picks = Picks(index as u64);
        for _ in 0..mutations {
            let mut data = seed.clone();
            let other = &seeds[picks.below(seeds.len())].1;
            picks.mutate(&mut data, other);
            tried(&data);
        }
    }
}
