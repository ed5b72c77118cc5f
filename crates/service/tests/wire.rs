//! The wire format against vectors of a client in another language (`golden/generate_wire.py`), and against
//! another implementation of HPKE, both ways.

#![allow(clippy::unwrap_used)]

use data_encoding::HEXLOWER;
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use serde_json::Value;
use shuffledp_protocol::batch::{Batch, Gathering};
use shuffledp_protocol::envelope::{Kind, ShufflerKey, envelope_length, open, seal};
use shuffledp_protocol::hpke::{Hpke, SecretKey};
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec};
use shuffledp_protocol::{Confidence, task};
use shuffledp_randomizers::Secure;
use shuffledp_service::AwsLc;
use zeroize::Zeroizing;

const GOLDEN: &str = include_str!("../../../golden/wire.json");

struct Golden(Value);

impl Golden {
    fn read() -> Self {
        Self(serde_json::from_str(GOLDEN).unwrap())
    }

    fn spec(&self) -> TaskSpec {
        serde_json::from_value(self.0["task"].clone()).unwrap()
    }

    fn task(&self) -> Task {
        Task::new(self.spec()).unwrap()
    }

    fn key(&self, party: &str) -> SecretKey {
        SecretKey::new(Zeroizing::new(self.bytes32(&self.0[party]["secret"]).0))
    }

    fn shuffler(&self) -> Vec<(u8, SecretKey)> {
        vec![(7, self.key("shuffler"))]
    }

    fn public(&self) -> ShufflerKey {
        ShufflerKey {
            number: 7,
            key: self.bytes32(&self.0["shuffler"]["public"]),
        }
    }

    fn bytes32(&self, value: &Value) -> Bytes32 {
        Bytes32::try_from(value.as_str().unwrap().to_owned()).unwrap()
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    HEXLOWER.decode(value.as_str().unwrap().as_bytes()).unwrap()
}

fn defects(value: &Value) -> impl Iterator<Item = (&String, Vec<u8>)> {
    let defects = value.as_object().unwrap();
    assert!(!defects.is_empty());
    defects.iter().map(|(name, value)| (name, bytes(value)))
}

/// A batch of this envelope and as many others as make it large enough; what the analyzer reads in it.
fn readable(golden: &Golden, task: &Task, envelope: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let mut gathering = Gathering::new(task);
    let others = golden.0["good"].as_array().unwrap().iter().take(3);
    let others = others.map(|good| bytes(&good["envelope"]));
    for envelope in std::iter::once(envelope.to_vec()).chain(others) {
        gathering.take(open(&AwsLc, task, &golden.shuffler(), &envelope).unwrap());
    }
    let (batches, waiting) = gathering.close(&mut Secure::new().unwrap());
    assert!(waiting.is_empty());
    let reports = batches[0].open(&AwsLc, task, &golden.key("analyzer"));
    (reports.readable, reports.unreadable)
}

#[test]
fn a_task_has_the_encoding_and_the_id_that_another_language_gives_it() {
    let golden = Golden::read();
    let task = golden.task();
    assert_eq!(
        HEXLOWER.encode(task.encoding()),
        golden.0["encoding"].as_str().unwrap()
    );
    assert_eq!(task.id(), golden.bytes32(&golden.0["task_id"]));
    assert_eq!(Task::from_json(&task.to_json()).unwrap().id(), task.id());
}

#[test]
fn envelopes_of_another_language_open() {
    let golden = Golden::read();
    let task = golden.task();
    let mut gathering = Gathering::new(&task);
    let mut sent = Vec::new();
    for good in golden.0["good"].as_array().unwrap() {
        let opened = open(&AwsLc, &task, &golden.shuffler(), &bytes(&good["envelope"])).unwrap();
        assert_eq!(opened.window, good["window"].as_u64().unwrap());
        assert_eq!(opened.context, Bytes32([0; 32]));
        gathering.take(opened);
        sent.push(vec![good["report"].as_u64().unwrap() as u8]);
    }
    let (batches, _) = gathering.close(&mut Secure::new().unwrap());
    let mut read = batches[0]
        .open(&AwsLc, &task, &golden.key("analyzer"))
        .readable;
    read.sort();
    sent.sort();
    assert_eq!(read, sent);
}

#[test]
fn dummies_of_another_language_are_dropped() {
    let golden = Golden::read();
    let task = golden.task();
    let mut gathering = Gathering::new(&task);
    let dummies = golden.0["dummies"].as_array().unwrap();
    for dummy in dummies {
        let envelope = bytes(dummy);
        assert_eq!(envelope.len(), envelope_length(&task));
        let opened = open(&AwsLc, &task, &golden.shuffler(), &envelope).unwrap();
        assert_eq!(opened.kind, Kind::Dummy);
        gathering.take(opened);
    }
    assert_eq!(gathering.dummies(), dummies.len() as u64);
    let (batches, waiting) = gathering.close(&mut Secure::new().unwrap());
    assert!(batches.is_empty() && waiting.is_empty());
}

#[test]
fn probes_of_another_language_have_their_mark() {
    let golden = Golden::read();
    let task = golden.task();
    let mut gathering = Gathering::new(&task);
    let probes = golden.0["probes"].as_array().unwrap();
    for probe in probes {
        let envelope = bytes(&probe["envelope"]);
        assert_eq!(envelope.len(), envelope_length(&task));
        let opened = open(&AwsLc, &task, &golden.shuffler(), &envelope).unwrap();
        let mark = golden.bytes32(&probe["mark"]);
        assert_eq!(opened.kind, Kind::Probe(mark));
        gathering.take(opened);
        assert!(gathering.probes()[&probe["window"].as_u64().unwrap()].contains(&mark));
    }
    assert!(!probes.is_empty());
    let (batches, waiting) = gathering.close(&mut Secure::new().unwrap());
    assert!(batches.is_empty() && waiting.is_empty());
}

/// Each defect is refused for what its name says.
#[test]
fn defective_envelopes_are_refused() {
    let golden = Golden::read();
    let task = golden.task();
    for (name, envelope) in defects(&golden.0["defects"]) {
        let error = open(&AwsLc, &task, &golden.shuffler(), &envelope).unwrap_err();
        let message = error.to_string();
        let expected = match name.split('_').next().unwrap() {
            "length" => "an envelope of 1",
            "version" => "an envelope of wire version",
            "key" => "an envelope for the shuffler's key 8",
            "task" => "an envelope of the task",
            "sealed" => "does not open",
            "kind" => "an envelope of kind",
            "context" => "an envelope with the context of probes",
            other => panic!("{other}"),
        };
        let empty = name == "length_empty" && message.starts_with("an envelope of 0 bytes");
        assert!(message.contains(expected) || empty, "{name}: {message}");
    }
    // The shuffler cannot see these, the analyzer can.
    for (name, envelope) in defects(&golden.0["unreadable"]) {
        assert_eq!(readable(&golden, &task, &envelope).1, 1, "{name}");
    }
    for (name, envelope) in defects(&golden.0["malformed"]) {
        let (reports, unreadable) = readable(&golden, &task, &envelope);
        assert_eq!(unreadable, 0, "{name}");
        let confidence = Confidence::new(0.95).unwrap();
        let findings = task
            .read(reports.iter().map(Vec::as_slice), confidence)
            .unwrap();
        assert_eq!((findings.taken, findings.malformed), (3, 1), "{name}");
    }
}

/// The same of a task with tokens: what another language signed and sealed, and what it signed wrongly.
#[test]
fn tokens_of_another_language_are_verified() {
    let golden = Golden::read();
    let vectors = &golden.0["tokens"];
    let spec: TaskSpec = serde_json::from_value(vectors["task"].clone()).unwrap();
    let task = Task::new(spec).unwrap();
    let encoding = HEXLOWER.encode(task.encoding());
    assert_eq!(encoding, vectors["encoding"].as_str().unwrap());
    assert_eq!(task.id(), golden.bytes32(&vectors["task_id"]));
    assert_eq!(Task::from_json(&task.to_json()).unwrap().id(), task.id());
    let opened = |envelope: &[u8]| open(&AwsLc, &task, &golden.shuffler(), envelope);
    let mut gathering = Gathering::new(&task);
    for good in vectors["good"].as_array().unwrap() {
        let opened = opened(&bytes(&good["envelope"])).unwrap();
        assert_eq!(opened.window, good["window"].as_u64().unwrap());
        assert_eq!(opened.token.unwrap().to_vec(), bytes(&good["nonce"]));
        gathering.take(opened.clone());
        gathering.take(opened);
    }
    assert_eq!(gathering.repeated(), 2);
    for dummy in vectors["dummies"].as_array().unwrap() {
        let opened = opened(&bytes(dummy)).unwrap();
        assert_eq!((opened.kind, opened.token), (Kind::Dummy, None));
    }
    for (name, envelope) in defects(&vectors["defects"]) {
        let message = opened(&envelope).unwrap_err().to_string();
        let expected = match name.split('_').next().unwrap() {
            "length" => "an envelope of 188 bytes: those of this task have 476",
            "token" => "an envelope without a token of the window",
            other => panic!("{other}"),
        };
        assert!(message.contains(expected), "{name}: {message}");
    }
}

/// From envelopes through both shufflers: what another language sealed in three layers.
#[test]
fn three_layers_of_another_language_open() {
    let golden = Golden::read();
    let vectors = &golden.0["chain"];
    let spec: TaskSpec = serde_json::from_value(vectors["task"].clone()).unwrap();
    let task = Task::new(spec).unwrap();
    let encoding = HEXLOWER.encode(task.encoding());
    assert_eq!(encoding, vectors["encoding"].as_str().unwrap());
    assert_eq!(task.id(), golden.bytes32(&vectors["task_id"]));
    let secret = golden.bytes32(&vectors["second_shuffler"]["secret"]).0;
    let secret = SecretKey::new(Zeroizing::new(secret));
    let mut first = Gathering::new(&task);
    for envelope in vectors["envelopes"].as_array().unwrap() {
        let envelope = bytes(envelope);
        assert_eq!(envelope.len(), envelope_length(&task));
        first.take(open(&AwsLc, &task, &golden.shuffler(), &envelope).unwrap());
    }
    let mut random = Secure::new().unwrap();
    let through_the_first = first.close(&mut random).0[0].encode(&task);
    let mut expected: Vec<Vec<u8>> = vectors["reports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| vec![report.as_u64().unwrap() as u8])
        .collect();
    expected.sort();
    let handed = bytes(&vectors["handed"]);
    for bytes in [&through_the_first, &handed] {
        let mut second = Gathering::new(&task);
        let batch = Batch::decode_handed(&task, bytes).unwrap();
        assert_eq!(batch.open_middle(&AwsLc, &secret, &mut second), 0);
        let (batches, _) = second.close(&mut random);
        let mut reports = batches[0]
            .open(&AwsLc, &task, &golden.key("analyzer"))
            .readable;
        reports.sort();
        assert_eq!(reports, expected);
    }
    // Each defect takes the place of the last row.
    for (name, row) in defects(&vectors["defects"]) {
        let mut changed = handed.clone();
        let place = changed.len() - row.len();
        changed[place..].copy_from_slice(&row);
        let mut second = Gathering::new(&task);
        let batch = Batch::decode_handed(&task, &changed).unwrap();
        assert_eq!(batch.open_middle(&AwsLc, &secret, &mut second), 1, "{name}");
    }
}

#[test]
fn batches_of_another_language_are_read_and_defective_ones_refused() {
    let golden = Golden::read();
    let task = golden.task();
    let written = bytes(&golden.0["batch"]["bytes"]);
    let batch = Batch::decode(&task, &written).unwrap();
    assert_eq!(batch.encode(&task), written);
    assert_eq!(
        Batch::digest(&written),
        golden.bytes32(&golden.0["batch"]["digest"])
    );
    let reports = batch.open(&AwsLc, &task, &golden.key("analyzer"));
    let expected = golden.0["batch"]["reports"].as_array().unwrap().iter();
    let expected: Vec<Vec<u8>> = expected
        .map(|report| vec![report.as_u64().unwrap() as u8])
        .collect();
    assert_eq!((reports.readable, reports.unreadable), (expected, 0));
    for (name, batch) in defects(&golden.0["batch"]["defects"]) {
        let message = Batch::decode(&task, &batch).unwrap_err().to_string();
        let expected = match name.split('_').next().unwrap() {
            "length" => "which is not the length that it states",
            "version" => "wire version 9",
            "task" => "a batch of the task",
            "too" => "a batch of 3 reports: those of this task have 4 or more",
            "repeated" => "holds a report twice",
            other => panic!("{other}"),
        };
        assert!(message.contains(expected), "{name}: {message}");
    }
}

type Kem25519 = X25519HkdfSha256;

/// The other implementation opens what ours seals, and ours what the other seals.
#[test]
fn two_implementations_of_hpke_agree() {
    let (info, aad, text) = (
        b"info".as_slice(),
        b"aad".as_slice(),
        b"a report".as_slice(),
    );
    let (public, secret) = AwsLc.keys().unwrap();
    let sealed = AwsLc.seal(&public, info, aad, text).unwrap();
    let theirs = <Kem25519 as Kem>::PrivateKey::from_bytes(secret.bytes()).unwrap();
    let enc = <Kem25519 as Kem>::EncappedKey::from_bytes(&sealed.enc).unwrap();
    let opened = hpke::single_shot_open::<ChaCha20Poly1305, HkdfSha256, Kem25519>(
        &OpModeR::Base,
        &theirs,
        &enc,
        info,
        &sealed.text,
        aad,
    );
    assert_eq!(opened.unwrap(), text);

    let to = <Kem25519 as Kem>::PublicKey::from_bytes(&public.0).unwrap();
    let (enc, sealed) = hpke::single_shot_seal::<ChaCha20Poly1305, HkdfSha256, Kem25519>(
        &OpModeS::Base,
        &to,
        info,
        text,
        aad,
    )
    .unwrap();
    let enc: [u8; 32] = enc.to_bytes().as_slice().try_into().unwrap();
    assert_eq!(
        *AwsLc.open(&secret, &enc, info, aad, &sealed).unwrap(),
        text
    );
    assert!(AwsLc.open(&secret, &enc, info, b"other", &sealed).is_err());
    assert!(AwsLc.open(&secret, &enc, b"other", aad, &sealed).is_err());
}

/// Every bit of an envelope matters, and every number of the task.
#[test]
fn nothing_can_be_changed() {
    let golden = Golden::read();
    let task = golden.task();
    let mut random = Secure::new().unwrap();
    let context = Bytes32([9; 32]);
    let envelope = seal(
        &AwsLc,
        &task,
        &golden.public(),
        3,
        context,
        &[1],
        &mut random,
    )
    .unwrap();
    assert_eq!(envelope.len(), envelope_length(&task));
    let opened = open(&AwsLc, &task, &golden.shuffler(), &envelope).unwrap();
    assert_eq!((opened.window, opened.context), (3, context));
    for bit in 0..8 * envelope.len() {
        let mut changed = envelope.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // The highest bit of a point's last byte is not read (RFC 7748), and is part of the key derivation.
        assert!(
            open(&AwsLc, &task, &golden.shuffler(), &changed).is_err(),
            "bit {bit}"
        );
    }
    let spec = golden.spec();
    let changes: [fn(&mut TaskSpec); 12] = [
        |spec| spec.name.push('s'),
        |spec| spec.round.users = Some(5),
        |spec| spec.round.rounds = 31,
        |spec| spec.round.check_in = Some(0.4.into()),
        |spec| spec.round.check_in = None,
        |spec| spec.round.colluding = 0.2,
        |spec| spec.round.randomizer.epsilon0 = Some(1.9.into()),
        |spec| spec.values = task::Values::Numbered,
        |spec| spec.epsilon = 2.1,
        |spec| spec.delta = 1e-7,
        |spec| spec.window_seconds = None,
        |spec| spec.analyzer_key = Bytes32([1; 32]),
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let mut changed = spec.clone();
        change(&mut changed);
        let changed = Task::new(changed).unwrap();
        assert_ne!(changed.id(), task.id(), "{place}");
        assert!(
            open(&AwsLc, &changed, &golden.shuffler(), &envelope).is_err(),
            "{place}"
        );
        // With the task id written over as well, the seal does not hold.
        let mut forged = envelope.clone();
        forged[2..34].copy_from_slice(&changed.id().0);
        let error = open(&AwsLc, &changed, &golden.shuffler(), &forged).unwrap_err();
        assert!(
            error.to_string().contains("does not open"),
            "{place}: {error}"
        );
    }
}

/// The shuffler has the outer key and never a report.
#[test]
fn the_shuffler_reads_no_report() {
    let golden = Golden::read();
    let task = golden.task();
    let mut random = Secure::new().unwrap();
    let nothing = Bytes32([0; 32]);
    let mut gathering = Gathering::new(&task);
    for report in [0u8, 1, 2, 1] {
        let envelope = seal(
            &AwsLc,
            &task,
            &golden.public(),
            0,
            nothing,
            &[report],
            &mut random,
        )
        .unwrap();
        gathering.take(open(&AwsLc, &task, &golden.shuffler(), &envelope).unwrap());
    }
    let (batches, _) = gathering.close(&mut random);
    let with_its_own_key = batches[0].open(&AwsLc, &task, &golden.key("shuffler"));
    assert_eq!(
        (with_its_own_key.readable.len(), with_its_own_key.unreadable),
        (0, 4)
    );
}

/// All 24 orders of four reports, equally often: chi-square with 23 degrees of freedom.
#[test]
fn every_order_is_equally_likely() {
    const RUNS: u32 = 24_000;
    let golden = Golden::read();
    let task = golden.task();
    let keys = golden.shuffler();
    let mut random = Secure::new().unwrap();
    let opened: Vec<_> = golden.0["good"]
        .as_array()
        .unwrap()
        .iter()
        .map(|good| open(&AwsLc, &task, &keys, &bytes(&good["envelope"])).unwrap())
        .collect();
    let mut seen = std::collections::BTreeMap::<Vec<u8>, u32>::new();
    for _ in 0..RUNS {
        let mut gathering = Gathering::new(&task);
        opened
            .iter()
            .for_each(|opened| gathering.take(opened.clone()));
        let (batches, _) = gathering.close(&mut random);
        *seen.entry(batches[0].encode(&task)).or_default() += 1;
    }
    let expected = f64::from(RUNS) / 24.0;
    let statistic: f64 = seen
        .values()
        .map(|count| (f64::from(*count) - expected).powi(2) / expected)
        .sum();
    assert_eq!(seen.len(), 24);
    // Exceeded once in 10^6 runs.
    assert!(statistic < 71.0, "{statistic}");
}
