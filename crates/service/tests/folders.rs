//! Three parties, three folders: what is released, what is held back, and what a device refuses.

#![allow(clippy::unwrap_used)]

use shuffledp_accounting::{RandomizerSpec, RoundSpec};
use shuffledp_protocol::Confidence;
use shuffledp_protocol::batch::Batch;
use shuffledp_protocol::envelope::seal;
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Value, Values};
use shuffledp_randomizers::Secure;
use shuffledp_service::AwsLc;
use shuffledp_service::folders::{Device, Shuffler, analyze, read_task, write_task};
use shuffledp_service::keys::{self, Party};
use shuffledp_service::ledger::{Decision, Ledger};
use std::path::PathBuf;
use tempfile::TempDir;

/// Everybody's folders in one place, which the parties of a test share and those of a collection do not.
struct Place {
    folder: TempDir,
    task: Task,
}

impl Place {
    /// A task of two values with a batch of at least four reports.
    fn new(change: impl FnOnce(&mut TaskSpec)) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        keys::make(Party::Shuffler, 1, &at("shuffler")).unwrap();
        let (_, public, _) = keys::make(Party::Analyzer, 0, &at("analyzer")).unwrap();
        let mut response = RandomizerSpec::new("rr").unwrap();
        response.epsilon0 = Some(1.0.into());
        let mut round = RoundSpec::new(response);
        (round.users, round.rounds) = (Some(4), 2);
        let mut spec = TaskSpec {
            name: "smokers".to_owned(),
            round,
            values: Values::Labels(["no", "yes"].map(str::to_owned).to_vec()),
            epsilon: 1.0,
            delta: 1e-6,
            window_seconds: None,
            analyzer_key: keys::analyzer_public(&public).unwrap(),
            tokens: None,
            second_shuffler: None,
        };
        change(&mut spec);
        let task = Task::new(spec).unwrap();
        write_task(&task, &at("task.json")).unwrap();
        std::fs::create_dir(at("inbox")).unwrap();
        Self { folder, task }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn device(&self) -> Device {
        let shuffler = keys::shuffler_public(&self.at("shuffler/shuffler-1.pub")).unwrap();
        Device::new(read_task(&self.at("task.json")).unwrap(), shuffler).unwrap()
    }

    fn shuffler(&self) -> Shuffler {
        self.shuffler_into("batches")
    }

    fn shuffler_into(&self, folder: &str) -> Shuffler {
        let files = [self.at("shuffler/shuffler-1.key")];
        let keys = keys::shuffler_secrets(&files).unwrap();
        Shuffler::new(self.task.clone(), keys, &files, &self.at(folder)).unwrap()
    }

    /// The list beside the shuffler's key.
    fn memory(&self) -> PathBuf {
        self.at(&format!("shuffler/released-{}.jsonl", self.task.id()))
    }

    /// So many people answer a window, in a file of this name.
    fn send(&self, people: u64, window: u64, file: &str) {
        let values: Vec<Value> = (0..people)
            .map(|person| Value::Category(person % 2))
            .collect();
        let path = self.at("inbox").join(file);
        assert_eq!(
            self.device().simulate(window, &values, &path).unwrap(),
            people
        );
    }

    fn batches(&self) -> Vec<PathBuf> {
        let names = std::fs::read_dir(self.at("batches"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut names: Vec<PathBuf> = names
            .filter(|path| path.extension().is_some_and(|ending| ending == "batch"))
            .collect();
        names.sort();
        names
    }
}

#[test]
fn a_batch_goes_from_devices_to_the_analyzer() {
    let place = Place::new(|_| ());
    place.send(3, 5, "some");
    let inbox = [place.at("inbox")];
    let held = place.shuffler().shuffle(&inbox).unwrap();
    assert!(held.released.is_empty() && place.batches().is_empty());
    assert_eq!((held.waiting[0].window, held.waiting[0].reports), (5, 3));
    place.send(1, 5, "one more");
    place.send(2, 6, "another window");
    std::fs::write(place.at("inbox/note.txt"), "not an envelope").unwrap();
    let shuffled = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!(
        (
            shuffled.released.len(),
            shuffled.waiting.len(),
            shuffled.refused
        ),
        (1, 1, 1)
    );
    let batches = place.batches();
    assert_eq!(batches.len(), 1);
    let key = keys::analyzer_secret(&place.at("analyzer/analyzer.key"), &place.task).unwrap();
    let confidence = Confidence::new(0.95).unwrap();
    let analyzed = analyze(&place.task, &key, &batches[0], confidence).unwrap();
    assert_eq!(
        (analyzed.window, analyzed.reports, analyzed.unreadable),
        (5, 4, 0)
    );
    assert_eq!(
        (analyzed.findings.taken, analyzed.findings.malformed),
        (4, 0)
    );
}

/// A second batch of a window, with one report more, would show that report.
#[test]
fn a_window_is_released_once() {
    let place = Place::new(|_| ());
    place.send(4, 0, "first");
    let inbox = [place.at("inbox")];
    assert_eq!(place.shuffler().shuffle(&inbox).unwrap().released.len(), 1);
    let released = std::fs::read(&place.batches()[0]).unwrap();
    place.send(1, 0, "late");
    let again = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((again.released.len(), again.late), (0, 5));
    // Nor when the batch was moved away.
    std::fs::remove_file(&place.batches()[0]).unwrap();
    place.send(5, 0, "many more");
    let again = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((again.released.len(), again.late), (0, 10));
    assert!(place.batches().is_empty() && !released.is_empty());
}

#[test]
fn a_report_that_comes_twice_counts_once() {
    let place = Place::new(|_| ());
    place.send(3, 0, "three");
    for copy in 0..5 {
        std::fs::copy(
            place.at("inbox/three"),
            place.at("inbox").join(format!("copy {copy}")),
        )
        .unwrap();
    }
    let shuffled = place.shuffler().shuffle(&[place.at("inbox")]).unwrap();
    assert_eq!(
        (
            shuffled.released.len(),
            shuffled.repeated,
            shuffled.waiting[0].reports
        ),
        (0, 15, 3)
    );
}

/// After a crash between the entry of the list and the batch's name, the batch gets its name, byte for byte;
/// after one before the entry, the window is still open.
#[test]
fn a_crash_releases_nothing_twice() {
    let place = Place::new(|_| ());
    place.send(4, 0, "four");
    let inbox = [place.at("inbox")];
    let entry = place.shuffler().shuffle(&inbox).unwrap().released.remove(0);
    let (batch, list) = (
        place.at("batches").join(&entry.file),
        place.at("batches/released.jsonl"),
    );
    let bytes = std::fs::read(&batch).unwrap();
    let prepared = place.at("batches").join(format!(".{}.part", entry.digest));
    std::fs::rename(&batch, &prepared).unwrap();
    assert!(
        place
            .shuffler()
            .shuffle(&inbox)
            .unwrap()
            .released
            .is_empty()
    );
    assert_eq!(std::fs::read(&batch).unwrap(), bytes);

    // Between the entry beside the key and the copy of the list.
    std::fs::rename(&batch, &prepared).unwrap();
    std::fs::remove_file(&list).unwrap();
    let again = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((again.released.len(), again.elsewhere.len()), (0, 0));
    assert_eq!(std::fs::read(&batch).unwrap(), bytes);

    std::fs::rename(&batch, &prepared).unwrap();
    std::fs::remove_file(&list).unwrap();
    std::fs::remove_file(place.memory()).unwrap();
    let again = place.shuffler().shuffle(&inbox).unwrap().released.remove(0);
    assert_ne!(again.digest, entry.digest);
    assert_eq!(place.batches().len(), 1);
    // A folder is of one task: its batches have the names of their windows.
    let other = Place::new(|_| ());
    let files = [other.at("shuffler/shuffler-1.key")];
    let keys = keys::shuffler_secrets(&files).unwrap();
    let mut mixed = Shuffler::new(other.task.clone(), keys, &files, &place.at("batches")).unwrap();
    assert!(
        mixed
            .shuffle(&inbox)
            .unwrap_err()
            .to_string()
            .contains("of the task")
    );
    // A list that cannot be read is no list of windows that are open.
    std::fs::write(&list, "half an ent").unwrap();
    assert!(place.shuffler().shuffle(&inbox).is_err());
}

#[test]
fn a_device_answers_a_window_once_and_stops_at_its_limit() {
    let place = Place::new(|_| ());
    let (mut device, value) = (place.device(), Value::Category(1));
    let path = |window: u64| place.at("inbox").join(window.to_string());
    let mut report = |window: u64, name: u64| {
        let mut ledger = Ledger::open(&place.at("ledger.json")).unwrap();
        device
            .report(&mut ledger, window, &value, &path(name))
            .map_err(|error| error.to_string())
    };
    assert_eq!(report(0, 0).unwrap(), Decision::Answered);
    assert_eq!(
        report(0, 1).unwrap_err(),
        "window 0 was decided before: this device has answered it"
    );
    // A file in the way costs nothing.
    assert!(report(1, 0).unwrap_err().ends_with("is there already"));
    assert_eq!(report(1, 1).unwrap(), Decision::Answered);
    let spent = "this device has answered 2 windows of the task, and answers no more";
    assert_eq!(report(2, 2).unwrap_err(), spent);
    assert!(path(0).exists() && path(1).exists() && !path(2).exists());
    let status = Ledger::open(&place.at("ledger.json"))
        .unwrap()
        .status(&place.task);
    assert_eq!((status.answered, status.silent, status.most), (2, 0, 2));
    // One program at a time; and a damaged ledger is not an empty one.
    let held = Ledger::open(&place.at("ledger.json")).unwrap();
    assert!(
        Ledger::open(&place.at("ledger.json"))
            .unwrap_err()
            .to_string()
            .contains("in use")
    );
    drop(held);
    std::fs::write(place.at("ledger.json"), "{").unwrap();
    assert!(Ledger::open(&place.at("ledger.json")).is_err());
}

/// The coin is thrown once: asking again does not change what it said.
#[test]
fn a_silent_window_stays_silent() {
    let place = Place::new(|spec| spec.round.check_in = Some(1e-9.into()));
    let mut device = place.device();
    let mut ledger = Ledger::open(&place.at("ledger.json")).unwrap();
    let path = place.at("inbox/report");
    let value = Value::Category(0);
    for window in 0..20 {
        assert_eq!(
            device.report(&mut ledger, window, &value, &path).unwrap(),
            Decision::Silent
        );
        let again = device
            .report(&mut ledger, window, &value, &path)
            .unwrap_err();
        assert!(
            again
                .to_string()
                .ends_with("this device stays silent in it")
        );
    }
    assert!(!path.exists());
    assert_eq!(ledger.status(&place.task).silent, 20);
}

#[test]
fn keys_are_for_their_party_and_their_task() {
    let (place, other) = (Place::new(|_| ()), Place::new(|_| ()));
    let shuffler = place.at("shuffler/shuffler-1.key");
    let public = place.at("shuffler/shuffler-1.pub");
    let message = |error: shuffledp_service::ServiceError| error.to_string();
    let wrong = keys::analyzer_secret(&shuffler, &place.task)
        .map(|_| ())
        .map_err(message);
    assert!(
        wrong
            .unwrap_err()
            .contains("it is the shuffler's, and the analyzer's is needed")
    );
    let foreign = other.at("analyzer/analyzer.key");
    let wrong = keys::analyzer_secret(&foreign, &place.task)
        .map(|_| ())
        .map_err(message);
    assert!(
        wrong
            .unwrap_err()
            .contains("the task is for the analyzer's key")
    );
    let wrong = keys::shuffler_secrets(std::slice::from_ref(&public))
        .map(|_| ())
        .map_err(message);
    assert!(wrong.unwrap_err().contains("it has no secret key"));
    let twice = keys::shuffler_secrets(&[shuffler.clone(), other.at("shuffler/shuffler-1.key")]);
    assert!(
        twice
            .map(|_| ())
            .map_err(message)
            .unwrap_err()
            .contains("another key of number 1")
    );
    assert!(
        message(keys::make(Party::Shuffler, 1, &place.at("shuffler")).unwrap_err())
            .contains("already")
    );
    // The secret file is its owner's alone, and the public one holds no secret.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&shuffler).unwrap().permissions().mode() & 0o77,
            0
        );
    }
    assert!(!std::fs::read_to_string(public).unwrap().contains("secret"));
}

/// Whoever sends envelopes chooses contexts: two with the same beginning are two batches in two files.
#[test]
fn contexts_with_one_beginning_are_two_batches() {
    let place = Place::new(|_| ());
    let [mut one, mut other] = [[0xab; 32]; 2];
    (one[31], other[31]) = (1, 2);
    for context in [one, other].map(Bytes32) {
        let mut device = place.device().with_context(context);
        let values = [0, 1, 0, 1].map(Value::Category);
        let path = place.at("inbox").join(context.to_string());
        device.simulate(0, &values, &path).unwrap();
    }
    let released = place.shuffler().shuffle(&[place.at("inbox")]).unwrap();
    assert_eq!((released.released.len(), place.batches().len()), (2, 2));
    for entry in released.released {
        let bytes = std::fs::read(place.at("batches").join(&entry.file)).unwrap();
        assert_eq!(Batch::digest(&bytes), entry.digest);
    }
}

/// A batch that a crash left without its entry, beside the batch that its window got later, would show the
/// report that came in between.
#[test]
fn what_was_prepared_and_not_listed_is_deleted() {
    let place = Place::new(|_| ());
    place.send(4, 0, "first");
    let inbox = [place.at("inbox")];
    let entry = place.shuffler().shuffle(&inbox).unwrap().released.remove(0);
    let folder = place.at("batches");
    // As if it had been killed between the file and the list, and once more while it wrote the file.
    let left = [format!(".{}.part", entry.digest), ".abc.part".to_owned()];
    std::fs::copy(folder.join(&entry.file), folder.join(&left[1])).unwrap();
    std::fs::rename(folder.join(&entry.file), folder.join(&left[0])).unwrap();
    std::fs::remove_file(folder.join("released.jsonl")).unwrap();
    std::fs::remove_file(place.memory()).unwrap();
    place.send(1, 0, "late");
    // Also where nothing can be released.
    let nothing = place.shuffler().shuffle(&[]).unwrap();
    assert!(nothing.released.is_empty());
    assert!(left.iter().all(|name| !folder.join(name).exists()));
    let entry = place.shuffler().shuffle(&inbox).unwrap().released.remove(0);
    assert_eq!((entry.reports, place.batches().len()), (5, 1));
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let parts: Vec<String> = names.filter(|name| name.contains("part")).collect();
    assert_eq!(parts, Vec::<String>::new());
}

/// A window that was released is released nowhere else: not into another folder, and not into its own after
/// somebody has emptied it.
#[test]
fn a_window_is_released_into_one_folder() {
    let place = Place::new(|_| ());
    place.send(4, 0, "four");
    let inbox = [place.at("inbox")];
    assert_eq!(place.shuffler().shuffle(&inbox).unwrap().released.len(), 1);
    place.send(1, 0, "one more");
    let other = place.shuffler_into("other").shuffle(&inbox).unwrap();
    assert_eq!((other.released.len(), other.late), (0, 5));
    assert_eq!(other.elsewhere.into_iter().collect::<Vec<_>>(), [0]);
    assert!(!place.at("other/window-0.batch").exists());
    std::fs::remove_dir_all(place.at("batches")).unwrap();
    let emptied = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((emptied.released.len(), emptied.late), (0, 5));
    // The windows after it are released wherever one likes.
    place.send(4, 1, "next");
    let next = place.shuffler_into("other").shuffle(&inbox).unwrap();
    assert_eq!((next.released.len(), next.released[0].window), (1, 1));
    assert_eq!(place.shuffler().shuffle(&inbox).unwrap().released.len(), 0);
}

/// One person among three reports that no device sends: there is nobody to hide among.
#[test]
fn a_batch_that_is_made_up_does_not_keep_the_promise() {
    let place = Place::new(|_| ());
    place.send(1, 0, "a person");
    let shuffler = keys::shuffler_public(&place.at("shuffler/shuffler-1.pub")).unwrap();
    let mut random = Secure::new().unwrap();
    let mut made_up = Vec::new();
    for _ in 0..3 {
        // A report of two values is 0 or 1.
        let nothing = Bytes32([0; 32]);
        let envelope = seal(
            &AwsLc,
            &place.task,
            &shuffler,
            0,
            nothing,
            &[255],
            &mut random,
        );
        made_up.extend(envelope.unwrap());
    }
    std::fs::write(place.at("inbox/made up"), made_up).unwrap();
    place.shuffler().shuffle(&[place.at("inbox")]).unwrap();
    let key = keys::analyzer_secret(&place.at("analyzer/analyzer.key"), &place.task).unwrap();
    let confidence = Confidence::new(0.95).unwrap();
    let analyzed = analyze(&place.task, &key, &place.batches()[0], confidence).unwrap();
    assert_eq!((analyzed.reports, analyzed.made_up()), (4, 3));
    let held = place
        .task
        .guarantee_of_batch(4, analyzed.made_up())
        .unwrap();
    assert!(held.local && held.certified.upper().value() > 0.9999);
}

/// What is for everybody can be read by everybody, as far as the process allows that for any file; what is
/// secret can be read by its owner alone.
#[test]
fn public_files_are_readable_and_secret_ones_are_not() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(|_| ());
    let mode = |path: &str| {
        let metadata = std::fs::metadata(place.at(path)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    std::fs::write(place.at("any"), "").unwrap();
    let public = mode("any") & 0o644;
    for path in [
        "task.json",
        "shuffler/shuffler-1.pub",
        "analyzer/analyzer.pub",
    ] {
        assert_eq!(mode(path), public, "{path}");
    }
    for path in ["shuffler/shuffler-1.key", "analyzer/analyzer.key"] {
        assert_eq!(mode(path), 0o600, "{path}");
    }
}
