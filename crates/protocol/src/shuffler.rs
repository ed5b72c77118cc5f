//! A batch of equally long reports, in a uniformly random order.
//!
//! In memory: Fisher and Yates's permutation, every swap drawn without bias. Beyond a limit of memory: each
//! report goes into one of 256 buckets, drawn at random; at the end the buckets are permuted in memory one
//! after the other and given out in turn. That is a sort by independent random keys, of which the bucket is
//! the first byte: every order is equally likely, whatever the order of arrival. (Buckets by sender, or of
//! equal sizes, would not be.)
//!
//! A bucket on disk is in the order of arrival, so it is encrypted with ChaCha20 under keys that never leave
//! memory: when the shuffler is gone, so is the order. A key of 256 bits reaches only some of the n! orders
//! of a large batch; the security of the cipher is the assumption that nobody can tell.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use shuffledp_randomizers::{Random, below};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The number of buckets: one for each value of a byte.
const BUCKETS: usize = 256;
/// Bytes that a bucket holds before it writes, so that writes are few.
const BUFFER: usize = 1 << 15;

/// Why a batch cannot be shuffled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShuffleError {
    /// A report of another length: the length would identify it.
    #[error("a report of {got} bytes in a batch of reports of {length} bytes")]
    Length {
        /// Its bytes.
        got: usize,
        /// Those of the others.
        length: usize,
    },
    /// Reports must have bytes, and memory must hold some of them.
    #[error(
        "reports of {length} bytes within {memory} bytes of memory: at least one byte, and room for \
         {BUCKETS} reports"
    )]
    Shape {
        /// Bytes of a report.
        length: usize,
        /// Bytes of memory.
        memory: usize,
    },
    /// More than 256 times the memory.
    #[error("a batch of {reports} reports: a bucket of it exceeds {memory} bytes of memory")]
    TooLarge {
        /// How many reports.
        reports: u64,
        /// Bytes of memory.
        memory: usize,
    },
    /// The place for reports failed.
    #[error("the shuffler's store: {0}")]
    Store(#[from] io::Error),
    /// A shuffler that is another program failed.
    #[error("the shuffler: {0}")]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

/// A batch that is being gathered.
///
/// ```
/// use shuffledp_protocol::Shuffler;
/// use shuffledp_randomizers::Secure;
/// use std::io::Cursor;
///
/// let mut shuffler = Shuffler::new(2, 1 << 20, Secure::new()?, || Ok(Cursor::new(Vec::new())))?;
/// for number in 0..100u16 {
///     shuffler.push(&number.to_le_bytes())?;
/// }
/// let mut seen = Vec::new();
/// shuffler.finish(|report| seen.push(u16::from_le_bytes([report[0], report[1]])))?;
/// assert_ne!(seen, (0..100).collect::<Vec<u16>>());
/// seen.sort();
/// assert_eq!(seen, (0..100).collect::<Vec<u16>>());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shuffler<R, F, O> {
    length: usize,
    memory: usize,
    random: R,
    open: O,
    reports: u64,
    held: Vec<u8>,
    buckets: Vec<Bucket<F>>,
}

/// Reports in the order of arrival, encrypted.
struct Bucket<F> {
    store: F,
    key: [u8; 32],
    cipher: ChaCha20Rng,
    buffer: Vec<u8>,
    bytes: u64,
}

impl<F: Read + Write + Seek> Bucket<F> {
    fn new<R: Random>(store: F, random: &mut R) -> Self {
        let mut key = [0; 32];
        random.fill(&mut key);
        Self {
            store,
            key,
            cipher: ChaCha20Rng::from_seed(key),
            buffer: Vec::new(),
            bytes: 0,
        }
    }

    fn push(&mut self, report: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(report);
        if self.buffer.len() >= BUFFER {
            // Whole words only: the stream is read back in one piece.
            self.flush(self.buffer.len() & !3)?;
        }
        Ok(())
    }

    fn flush(&mut self, bytes: usize) -> io::Result<()> {
        encrypt(&mut self.cipher, &mut self.buffer[..bytes]);
        self.store.write_all(&self.buffer[..bytes])?;
        self.bytes += bytes as u64;
        self.buffer.drain(..bytes);
        Ok(())
    }

    /// Bytes of all its reports.
    fn size(&self) -> u64 {
        self.bytes + self.buffer.len() as u64
    }

    /// Everything that was put in.
    fn take(mut self, all: &mut Vec<u8>) -> io::Result<()> {
        self.flush(self.buffer.len())?;
        self.store.seek(SeekFrom::Start(0))?;
        all.clear();
        all.resize(self.bytes as usize, 0);
        self.store.read_exact(all)?;
        encrypt(&mut ChaCha20Rng::from_seed(self.key), all);
        Ok(())
    }
}

/// Adds the key stream to the bytes; doing so a second time decrypts them.
fn encrypt(cipher: &mut ChaCha20Rng, bytes: &mut [u8]) {
    let mut words = bytes.chunks_exact_mut(4);
    for word in &mut words {
        let stream = cipher.next_u32().to_le_bytes();
        word.iter_mut()
            .zip(stream)
            .for_each(|(byte, key)| *byte ^= key);
    }
    let rest = words.into_remainder();
    if !rest.is_empty() {
        let stream = cipher.next_u32().to_le_bytes();
        rest.iter_mut()
            .zip(stream)
            .for_each(|(byte, key)| *byte ^= key);
    }
}

/// A uniformly random permutation.
fn permute<R: Random>(reports: &mut [u8], length: usize, random: &mut R) {
    let count = reports.len() / length;
    for last in (1..count).rev() {
        let other = below(last as u64 + 1, random) as usize;
        if other < last {
            let (front, back) = reports.split_at_mut(last * length);
            front[other * length..(other + 1) * length].swap_with_slice(&mut back[..length]);
        }
    }
}

impl<R, F, O> Shuffler<R, F, O>
where
    R: Random,
    F: Read + Write + Seek,
    O: FnMut() -> io::Result<F>,
{
    /// For reports of `length` bytes. Beyond `memory` bytes they go to places that `open` gives, such as
    /// temporary files.
    pub fn new(length: usize, memory: usize, random: R, open: O) -> Result<Self, ShuffleError> {
        if length == 0 || memory / length < BUCKETS {
            return Err(ShuffleError::Shape { length, memory });
        }
        Ok(Self {
            length,
            memory,
            random,
            open,
            reports: 0,
            held: Vec::new(),
            buckets: Vec::new(),
        })
    }

    /// How many reports there are.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Takes a report.
    pub fn push(&mut self, report: &[u8]) -> Result<(), ShuffleError> {
        if report.len() != self.length {
            return Err(ShuffleError::Length {
                got: report.len(),
                length: self.length,
            });
        }
        self.reports += 1;
        if self.buckets.is_empty() {
            if self.held.len() + report.len() <= self.memory {
                self.held.extend_from_slice(report);
                return Ok(());
            }
            for _ in 0..BUCKETS {
                let store = (self.open)()?;
                self.buckets.push(Bucket::new(store, &mut self.random));
            }
            for held in std::mem::take(&mut self.held).chunks_exact(self.length) {
                self.spill(held)?;
            }
        }
        self.spill(report)
    }

    fn spill(&mut self, report: &[u8]) -> Result<(), ShuffleError> {
        let drawn = (self.random.word() % BUCKETS as u64) as usize;
        Ok(self.buckets[drawn].push(report)?)
    }

    /// Gives out all reports in a random order.
    pub fn finish(mut self, mut each: impl FnMut(&[u8])) -> Result<(), ShuffleError> {
        if self.buckets.is_empty() {
            permute(&mut self.held, self.length, &mut self.random);
            self.held.chunks_exact(self.length).for_each(each);
            return Ok(());
        }
        let mut all = Vec::new();
        for bucket in std::mem::take(&mut self.buckets) {
            if bucket.size() > self.memory as u64 {
                return Err(ShuffleError::TooLarge {
                    reports: self.reports,
                    memory: self.memory,
                });
            }
            bucket.take(&mut all)?;
            permute(&mut all, self.length, &mut self.random);
            all.chunks_exact(self.length).for_each(&mut each);
        }
        Ok(())
    }
}
