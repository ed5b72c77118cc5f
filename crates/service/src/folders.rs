//! The three parties by files: devices put envelopes into a folder, the shuffler makes batches of them, the
//! analyzer reads a batch.
//!
//! The shuffler keeps a list of what was released, beside its secret key (`memory`), and a copy of it beside
//! the batches (`released.jsonl`). A window that is in either is closed for good: a second batch of the same
//! window, with one report more, would show that report. The order of writing is: the batch under a name
//! that nobody looks for, the entry beside the key, the copy, the batch's own name. After a crash the entry
//! decides: with it the batch gets its name the next time, without it the file is deleted before anything is
//! released. It must not stay: whoever finds it beside the batch that the window gets later, with one report
//! more, sees that report.

use crate::error::ServiceError;
use crate::ledger::{Decision, Ledger};
pub use crate::memory::Released;
use crate::memory::{Memory, add, read_list, write_list};
use crate::probes::Published;
use crate::secure_file::{PART, create_public, create_with_folder, lock, remove, replace};
use crate::suite::AwsLc;
use crate::tokens::Wallet;
use sha2::{Digest, Sha256};
use shuffledp_protocol::Confidence;
use shuffledp_protocol::batch::{Batch, Expired, Gathering};
use shuffledp_protocol::envelope::{
    ShufflerKey, envelope_length, open, seal, seal_dummy, seal_with_token,
};
use shuffledp_protocol::hpke::SecretKey;
use shuffledp_protocol::task::{Bytes32, Findings, Task, TaskError, Value};
use shuffledp_randomizers::Secure;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The list of batches that were released.
const RELEASED: &str = "released.jsonl";

/// Reads the file of a task.
pub fn read_task(path: &Path) -> Result<Task, ServiceError> {
    let text = std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?;
    Ok(Task::from_json(&text)?)
}

/// Writes the file of a new task.
pub fn write_task(task: &Task, path: &Path) -> Result<(), ServiceError> {
    create_public(path, task.to_json().as_bytes())
}

/// What the file of a batch is called: by its window, and by its whole context where there is one. Whoever
/// sends envelopes chooses contexts: two of them with the same beginning are two batches.
pub fn batch_name(window: u64, context: &Bytes32) -> String {
    match context.0 == [0; 32] {
        true => format!("window-{window}.batch"),
        false => format!("window-{window}-{context}.batch"),
    }
}

/// Writes the file of a batch that was fetched; the same batch may be there already.
pub fn write_batch(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    match std::fs::read(path) {
        Ok(there) if there == bytes => Ok(()),
        _ => create_with_folder(path, bytes),
    }
}

/// What devices were sent for a window, as their envelopes name it: the SHA-256 of a file, such as a model.
pub fn context_of(path: &Path) -> Result<Bytes32, ServiceError> {
    let bytes = std::fs::read(path).map_err(ServiceError::unreadable(path))?;
    Ok(Bytes32(Sha256::digest(bytes).into()))
}

/// A device's side: the task, and the shuffler's key.
#[derive(Debug)]
pub struct Device {
    task: Task,
    shuffler: ShufflerKey,
    cover: bool,
    context: Bytes32,
    wallet: Option<Wallet>,
    random: Secure,
}

impl Device {
    /// A device of this task.
    pub fn new(task: Task, shuffler: ShufflerKey) -> Result<Self, ServiceError> {
        let random = Secure::new().map_err(TaskError::from)?;
        Ok(Self {
            task,
            shuffler,
            cover: false,
            context: Bytes32([0; 32]),
            wallet: None,
            random,
        })
    }

    /// The same device with its tokens, for a task whose reports have some.
    pub fn with_wallet(mut self, wallet: Wallet) -> Self {
        self.wallet = Some(wallet);
        self
    }

    /// The same device, which writes a dummy where its coin says to stay silent, and where it answers no
    /// more: nobody who sees envelopes go by sees who answers.
    pub fn with_cover(mut self) -> Self {
        self.cover = true;
        self
    }

    /// The same device, whose reports are about what it was sent ([`context_of`]): they are in one batch with
    /// those about the same alone.
    pub fn with_context(mut self, context: Bytes32) -> Self {
        self.context = context;
        self
    }

    /// Answers a window as its ledger and its coin allow: writes an envelope to a new file, or nothing.
    pub fn report(
        &mut self,
        ledger: &mut Ledger,
        window: u64,
        value: &Value,
        path: &Path,
    ) -> Result<Decision, ServiceError> {
        // What can be refused is refused before anything is written down about the window.
        if path.exists() {
            return Err(ServiceError::Exists {
                path: path.to_owned(),
            });
        }
        let envelope = self.envelope(window, value);
        // Both are made whatever the coin says: silence takes as long as an answer.
        let dummy = self.dummy(window)?;
        if self.cover && ledger.is_spent(&self.task)? {
            // Also without a token: who answers no more asks for none.
            let decision = ledger.cover(&self.task, window)?;
            create_with_folder(path, &dummy)?;
            return Ok(decision);
        }
        let envelope = envelope?;
        match ledger.decide(&self.task, window, &mut self.random)? {
            Decision::Answered => {
                create_with_folder(path, &envelope)?;
                Ok(Decision::Answered)
            }
            silent => {
                if self.cover {
                    create_with_folder(path, &dummy)?;
                }
                Ok(silent)
            }
        }
    }

    /// The envelopes of many devices that are simulated here, each with a coin of its own and without a
    /// ledger. Nobody has tokens for them: a task that wants some is refused.
    pub fn simulate<'v>(
        &mut self,
        window: u64,
        values: impl IntoIterator<Item = &'v Value>,
        path: &Path,
    ) -> Result<u64, ServiceError> {
        if self.task.spec().tokens.is_some() {
            return Err(ServiceError::NoToken { window });
        }
        let (mut all, mut sent) = (Vec::new(), 0);
        for value in values {
            if self.task.answers(&mut self.random) {
                all.extend(self.envelope(window, value)?);
                sent += 1;
            }
        }
        create_with_folder(path, &all)?;
        Ok(sent)
    }

    fn dummy(&mut self, window: u64) -> Result<Vec<u8>, ServiceError> {
        let random = &mut self.random;
        Ok(seal_dummy(
            &AwsLc,
            &self.task,
            &self.shuffler,
            window,
            self.context,
            random,
        )?)
    }

    /// An envelope with a report about a value. It asks neither coin nor ledger.
    pub(crate) fn envelope(&mut self, window: u64, value: &Value) -> Result<Vec<u8>, ServiceError> {
        let report = self.task.randomize(value, &mut self.random)?;
        let (task, shuffler, random) = (&self.task, &self.shuffler, &mut self.random);
        let context = self.context;
        if task.spec().tokens.is_none() {
            return Ok(seal(
                &AwsLc, task, shuffler, window, context, &report, random,
            )?);
        }
        let wallet = self.wallet.as_ref();
        let token = wallet.and_then(|wallet| wallet.token(task, window));
        let token = token.ok_or(ServiceError::NoToken { window })?;
        Ok(seal_with_token(
            &AwsLc, task, shuffler, context, &token, &report, random,
        )?)
    }
}

/// What a shuffler did with the envelopes of a folder.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Shuffled {
    /// Batches that were released now.
    pub released: Vec<Released>,
    /// Windows with too few reports so far. They wait.
    pub waiting: Vec<Expired>,
    /// Envelopes that came again.
    pub repeated: u64,
    /// Envelopes without a report, of devices that stay silent.
    pub dummies: u64,
    /// Probes of windows that were released now, or that wait.
    pub probes: u64,
    /// Envelopes of windows that were released before.
    pub late: u64,
    /// The windows among them that were released into another folder than this one.
    pub elsewhere: BTreeSet<u64>,
    /// Envelopes and files that are none of this task's.
    pub refused: u64,
}

/// Which shuffler of a task it is.
#[derive(Debug)]
enum Hop {
    /// The only one, or the first: it opens envelopes. The first hands batches on, for the second.
    First(Vec<(u8, SecretKey)>),
    /// The second: it opens what the first handed on.
    Second(SecretKey),
}

/// The shuffler's side.
#[derive(Debug)]
pub struct Shuffler {
    task: Task,
    hop: Hop,
    folder: PathBuf,
    memory: BTreeSet<PathBuf>,
    random: Secure,
}

impl Shuffler {
    /// A shuffler that releases batches into `folder`: for the analyzer, or for the second shuffler where the
    /// task has one. It remembers what it has released beside the files of its keys.
    pub fn new(
        task: Task,
        keys: Vec<(u8, SecretKey)>,
        files: &[PathBuf],
        folder: &Path,
    ) -> Result<Self, ServiceError> {
        Self::at(task, Hop::First(keys), files, folder)
    }

    /// The second shuffler of a task, with its key and the file of it: its input is what the first one handed
    /// on.
    pub fn second(
        task: Task,
        key: SecretKey,
        file: &Path,
        folder: &Path,
    ) -> Result<Self, ServiceError> {
        Self::at(task, Hop::Second(key), &[file.to_owned()], folder)
    }

    fn at(task: Task, hop: Hop, files: &[PathBuf], folder: &Path) -> Result<Self, ServiceError> {
        std::fs::create_dir_all(folder).map_err(ServiceError::unwritable(folder))?;
        let random = Secure::new().map_err(TaskError::from)?;
        Ok(Self {
            task,
            hop,
            folder: folder.to_owned(),
            memory: files.iter().map(|file| parent(file)).collect(),
            random,
        })
    }

    /// Reads all envelopes in files of these folders; the second shuffler, all batches that were handed on.
    /// Releases a batch for every window that has reports enough and was not released before.
    pub fn shuffle(&mut self, inputs: &[PathBuf]) -> Result<Shuffled, ServiceError> {
        let list = self.folder.join(RELEASED);
        let _one_at_a_time = lock(&list)?;
        let memory = Memory::open(
            &self.memory,
            self.task.id(),
            matches!(self.hop, Hop::Second(_)),
        )?;
        let mut here = read_list(&list, &self.task.id())?;
        let known = here.len();
        let mut released = memory.released()?;
        // What a crash has left without its name is of this folder too.
        let unnamed = released
            .iter()
            .filter(|entry| self.prepared(entry).exists());
        add(&mut here, unnamed.cloned());
        self.finish(&here)?;
        if here.len() > known {
            write_list(&list, &here)?;
        }
        self.sweep()?;
        // What this folder alone knows, from before there was a memory beside the key, is remembered there
        // too.
        let new = |entry: &&Released| !released.iter().any(|there| there.digest == entry.digest);
        for entry in here.iter().filter(new) {
            memory.remember(entry, &BTreeSet::new())?;
        }
        add(&mut released, here.iter().cloned());
        let of = |entry: &Released| (entry.window, entry.context);
        let closed: BTreeSet<(u64, Bytes32)> = released.iter().map(of).collect();
        let closed_here: BTreeSet<(u64, Bytes32)> = here.iter().map(of).collect();
        let late = |shuffled: &mut Shuffled, window: u64, context: Bytes32, reports: u64| {
            shuffled.late += reports;
            if !closed_here.contains(&(window, context)) {
                shuffled.elsewhere.insert(window);
            }
        };
        let mut shuffled = Shuffled::default();
        let mut gathering = Gathering::new(&self.task).with_spent(memory.spent(&released)?);
        for path in files(inputs)? {
            let bytes = std::fs::read(&path).map_err(ServiceError::unreadable(&path))?;
            let keys = match &self.hop {
                Hop::First(keys) => keys,
                Hop::Second(key) => {
                    match Batch::decode_handed(&self.task, &bytes) {
                        Ok(batch) if closed.contains(&(batch.window(), batch.context())) => {
                            late(
                                &mut shuffled,
                                batch.window(),
                                batch.context(),
                                batch.reports(),
                            );
                        }
                        Ok(batch) => {
                            shuffled.refused += batch.open_middle(&AwsLc, key, &mut gathering);
                        }
                        Err(_) => shuffled.refused += 1,
                    }
                    continue;
                }
            };
            for envelope in bytes.chunks(envelope_length(&self.task)) {
                match open(&AwsLc, &self.task, keys, envelope) {
                    Ok(opened) if closed.contains(&(opened.window, opened.context)) => {
                        late(&mut shuffled, opened.window, opened.context, 1);
                    }
                    Ok(opened) => gathering.take(opened),
                    Err(_) => shuffled.refused += 1,
                }
            }
        }
        (shuffled.repeated, shuffled.dummies) = (gathering.repeated(), gathering.dummies());
        let mut probes = gathering.probes().clone();
        shuffled.probes = probes.values().map(|marks| marks.len() as u64).sum();
        let spent = gathering.spent().clone();
        let (batches, waiting) = gathering.close(&mut self.random);
        shuffled.waiting = waiting;
        for batch in batches {
            let first = !released.iter().any(|entry| entry.window == batch.window());
            let marks = probes.remove(&batch.window()).unwrap_or_default();
            let marks = first.then(|| marks.into_iter().collect());
            let entry = self.prepare(&batch, marks)?;
            let nothing = BTreeSet::new();
            let spent = spent.get(&(batch.window(), batch.context()));
            memory.remember(&entry, spent.unwrap_or(&nothing))?;
            released.push(entry.clone());
            here.push(entry.clone());
            write_list(&list, &here)?;
            self.finish(std::slice::from_ref(&entry))?;
            shuffled.released.push(entry);
        }
        Ok(shuffled)
    }

    /// Writes a batch under a name that nobody looks for.
    fn prepare(
        &self,
        batch: &Batch,
        probes: Option<Vec<Bytes32>>,
    ) -> Result<Released, ServiceError> {
        let bytes = batch.encode(&self.task);
        let digest = Batch::digest(&bytes);
        let (task, window, context) = (self.task.id(), batch.window(), batch.context());
        let mut file = batch_name(window, &context);
        if matches!(self.hop, Hop::First(_)) && self.task.spec().second_shuffler.is_some() {
            file = file.replace(".batch", ".handed");
        }
        let entry = Released {
            task,
            window,
            context,
            reports: batch.reports(),
            digest,
            file,
            probes,
        };
        replace(&self.prepared(&entry), &bytes)?;
        Ok(entry)
    }

    /// Where a batch is before it has its name.
    fn prepared(&self, entry: &Released) -> PathBuf {
        self.folder.join(format!(".{}{PART}", entry.digest))
    }

    /// Gives every batch of the list its name that does not have it yet, and publishes the marks of its
    /// probes.
    fn finish(&self, released: &[Released]) -> Result<(), ServiceError> {
        for entry in released {
            let (prepared, path) = (self.prepared(entry), self.folder.join(&entry.file));
            match std::fs::rename(&prepared, &path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(ServiceError::unwritable(&path)(error));
                }
                _ => {}
            }
            let (task, window) = (entry.task, entry.window);
            let path = self.folder.join(format!("window-{window}.probes"));
            if let Some(probes) = entry.probes.clone().filter(|_| !path.exists()) {
                let published = Published {
                    task,
                    window,
                    probes,
                    full: false,
                };
                // Texts and numbers: nothing that JSON cannot hold.
                let text = serde_json::to_string_pretty(&published).unwrap_or_default() + "\n";
                replace(&path, text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Deletes what a crash has left of batches that are not in the list; those that are have their names.
    /// The list's lock is held: no other shuffler is writing one.
    fn sweep(&self) -> Result<(), ServiceError> {
        let folder = &self.folder;
        for entry in std::fs::read_dir(folder).map_err(ServiceError::unreadable(folder))? {
            let path = entry.map_err(ServiceError::unreadable(folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.starts_with('.') && name.ends_with(PART)) {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

/// The folder that a file is in.
fn parent(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The files of these folders, and these files.
fn files(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, ServiceError> {
    let mut files = Vec::new();
    for input in inputs {
        if !input.is_dir() {
            files.push(input.clone());
            continue;
        }
        for entry in std::fs::read_dir(input).map_err(ServiceError::unreadable(input))? {
            let path = entry.map_err(ServiceError::unreadable(input))?.path();
            if path.is_file() {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// What an analyzer found in a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Analyzed {
    /// The batch's window.
    pub window: u64,
    /// The reports that the batch holds.
    pub reports: u64,
    /// Reports that the analyzer's key does not open.
    pub unreadable: u64,
    /// The estimates from the others.
    pub findings: Findings,
}

impl Analyzed {
    /// The reports that no device of the task has sent
    /// ([`guarantee_of_batch`](shuffledp_protocol::task::Task::guarantee_of_batch)).
    pub fn made_up(&self) -> u64 {
        self.unreadable + self.findings.malformed
    }
}

/// Reads the file of a batch with the analyzer's key.
pub fn analyze(
    task: &Task,
    key: &SecretKey,
    path: &Path,
    confidence: Confidence,
) -> Result<Analyzed, ServiceError> {
    let bytes = std::fs::read(path).map_err(ServiceError::unreadable(path))?;
    analyze_bytes(task, key, &bytes, confidence, path)
}

/// The same of bytes that were fetched; `path` names them in messages.
pub fn analyze_bytes(
    task: &Task,
    key: &SecretKey,
    bytes: &[u8],
    confidence: Confidence,
    path: &Path,
) -> Result<Analyzed, ServiceError> {
    let batch = Batch::decode(task, bytes).map_err(|error| ServiceError::Batch {
        path: path.to_owned(),
        error,
    })?;
    let reports = batch.open(&AwsLc, task, key);
    let findings = task.read(reports.readable.iter().map(Vec::as_slice), confidence)?;
    Ok(Analyzed {
        window: batch.window(),
        reports: batch.reports(),
        unreadable: reports.unreadable,
        findings,
    })
}
