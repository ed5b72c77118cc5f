//! Probes that must come back: the same on the way as a report, in no batch, published when the window is
//! closed.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::{Place, SMALLEST, Server};
use shuffledp_protocol::envelope::{PROBES, envelope_length, seal, seal_dummy};
use shuffledp_protocol::task::Bytes32;
use shuffledp_protocol::task::Value;
use shuffledp_randomizers::Secure;
use shuffledp_service::probes::{Record, read_published, write_envelopes};
use shuffledp_service::{AwsLc, ServiceError};

fn record(place: &Place) -> Record {
    Record::open(&place.at("probes.json")).unwrap()
}

fn crowd(place: &Place, window: u64, people: u64, file: &str) {
    let values: Vec<Value> = (0..people).map(|_| Value::Category(1)).collect();
    let path = place.at("inbox").join(file);
    place.device().simulate(window, &values, &path).unwrap();
}

#[test]
fn probes_come_back_by_files() {
    let place = Place::new(|_, _| ());
    let inbox = [place.at("inbox")];
    let envelopes = record(&place)
        .make(&place.task, &place.key(), 0, 5)
        .unwrap();
    let length = envelope_length(&place.task);
    assert!(envelopes.iter().all(|envelope| envelope.len() == length));
    // One is lost on the way, and one comes twice.
    write_envelopes(&envelopes[1..], &place.at("inbox/probes")).unwrap();
    place.put("again", &envelopes[2]);
    // Probes are nobody: they do not make a batch large enough, and publish nothing before it is.
    crowd(&place, 0, SMALLEST - 1, "few");
    let held = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!(
        (held.released.len(), held.waiting[0].reports),
        (0, SMALLEST - 1)
    );
    assert_eq!((held.probes, held.refused), (4, 0));
    assert!(!place.at("batches/window-0.probes").exists());
    crowd(&place, 0, 1, "enough");
    // Probes of a window that is not released stay unpublished.
    let others = record(&place)
        .make(&place.task, &place.key(), 1, 1)
        .unwrap();
    place.put("others", &others[0]);
    let entry = place.shuffler().shuffle(&inbox).unwrap().released.remove(0);
    assert_eq!(entry.reports, SMALLEST);
    let published = read_published(&place.at("batches/window-0.probes")).unwrap();
    assert_eq!((published.window, published.probes.len()), (0, 4));
    let mut sorted = published.probes.clone();
    sorted.sort();
    assert_eq!(sorted, published.probes);
    let returned = record(&place).check(&place.task, &published).unwrap();
    assert_eq!((returned.made, returned.missing.len()), (5, 1));
    // What comes later changes nothing, and a list that was lost is written again.
    place.put("late", &envelopes[0]);
    std::fs::remove_file(place.at("batches/window-0.probes")).unwrap();
    place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!(
        read_published(&place.at("batches/window-0.probes")).unwrap(),
        published
    );
    // A list is about its task and its window.
    let other = Place::new(|spec, _| spec.name.push('s'));
    let refused = record(&place).check(&other.task, &published);
    assert!(matches!(refused, Err(ServiceError::OtherTask { .. })));
    let mut of_window_9 = published;
    of_window_9.window = 9;
    let refused = record(&place).check(&place.task, &of_window_9);
    assert!(matches!(refused, Err(ServiceError::NoProbes { window: 9 })));
}

#[test]
fn probes_come_back_over_sockets() {
    let place = Place::new(|_, _| ());
    let server = Server::start(&place);
    let (task, connection) = (&place.task, server.connection());
    let key = server.service.active_key().unwrap();
    let sent = record(&place)
        .send(task, &connection, Some(key), None, 3)
        .unwrap();
    assert_eq!(sent, 0);
    let lost = record(&place).make(task, &key, 0, 1).unwrap();
    // The answers are those to a report and to a dummy, and it may come twice.
    let mut random = Secure::new().unwrap();
    let nothing = Bytes32([0; 32]);
    let report = seal(&AwsLc, task, &key, 0, nothing, &[1], &mut random).unwrap();
    let first = server.post(task, &report);
    assert_eq!(first, (202, String::new()));
    let another = record(&place).make(task, &key, 0, 1).unwrap();
    let dummy = seal_dummy(&AwsLc, task, &key, 0, nothing, &mut random).unwrap();
    for body in [&another[0], &another[0], &dummy, &report] {
        assert_eq!(server.post(task, body), first);
    }
    let more =
        (1..SMALLEST).map(|_| seal(&AwsLc, task, &key, 0, nothing, &[1], &mut random).unwrap());
    let more: Vec<u8> = more.flatten().collect();
    assert_eq!(server.post(task, &more).0, 202);
    // While the window is open nobody learns anything.
    let before = server.metrics();
    assert_eq!(server.get(task, "/probes/0", None).0, 409);
    assert!(connection.probes(task, 0).is_err());
    drop(server);
    // What was answered is on disk.
    let server = Server::start(&place);
    let connection = server.connection();
    assert_eq!(server.metrics(), before);
    server.close(task, 0);
    let published = connection.probes(task, 0).unwrap();
    assert_eq!(published.probes.len(), 4);
    assert_eq!(connection.probes(task, 0).unwrap(), published);
    let returned = record(&place).check(task, &published).unwrap();
    assert_eq!((returned.made, returned.missing.len()), (5, 1));
    // The analyzer has the reports alone, and no way to the marks as a batch.
    let batches = server.batches(task);
    assert_eq!((batches.len(), batches[0].reports), (1, SMALLEST));
    let path = format!("/batches/0/{PROBES}");
    assert_eq!(server.get(task, &path, Some(&server.token)).0, 404);
    assert!(server.metrics().contains("state=\"sealed\"} 1"));
    // Too late: the window is closed, and what is published stays.
    assert_eq!(server.post(task, &lost[0]).0, 410);
    assert_eq!(connection.probes(task, 0).unwrap(), published);
    // A closed window without probes has none, and one that nobody has closed says nothing.
    server.close(task, 1);
    assert_eq!(connection.probes(task, 1).unwrap().probes, []);
    assert_eq!(server.get(task, "/probes/2", None).0, 409);
    let other = server.get(task, "/probes/x", None).0;
    assert!(other == 400 || other == 404, "{other}");
}

/// Somebody who makes up reports with the name under which marks are kept adds none.
#[test]
fn a_report_is_no_probe() {
    let place = Place::new(|_, _| ());
    let server = Server::start(&place);
    let (task, key) = (&place.task, server.service.active_key().unwrap());
    let mut random = Secure::new().unwrap();
    let posing = seal(&AwsLc, task, &key, 0, PROBES, &[1], &mut random).unwrap();
    assert_eq!(server.post(task, &posing).0, 400);
    server.close(task, 0);
    assert_eq!(server.connection().probes(task, 0).unwrap().probes, []);
}

#[test]
fn a_probe_needs_no_token_and_has_the_length_of_a_report_with_one() {
    let place = Place::new(|spec, folder| {
        use shuffledp_service::tokens::{issuer_public, make_issuer};
        let (_, public) = make_issuer(0, 1, &folder.join("issuer")).unwrap();
        spec.tokens = Some(issuer_public(&public).unwrap());
    });
    let server = Server::start(&place);
    let (task, key) = (&place.task, server.service.active_key().unwrap());
    let probe = record(&place).make(task, &key, 0, 1).unwrap();
    assert_eq!(probe[0].len(), envelope_length(task));
    assert_eq!(server.post(task, &probe[0]).0, 202);
    server.close(task, 0);
    let published = server.connection().probes(task, 0).unwrap();
    assert_eq!(record(&place).check(task, &published).unwrap().missing, []);
}
