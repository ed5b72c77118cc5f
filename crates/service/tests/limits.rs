//! What somebody without a token can make a shuffler hold or do, and what a configuration must not say.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::{NOTHING, Place, SMALLEST, Server};
use shuffledp_protocol::envelope::{
    PROBES, ShufflerKey, envelope_length, seal, seal_dummy, seal_probe, seal_with_token,
};
use shuffledp_protocol::task::Task;
use shuffledp_randomizers::Secure;
use shuffledp_service::AwsLc;
use shuffledp_service::server::config::Config;
use shuffledp_service::tokens::{Issuer, Wallet, issuer_public, make_issuer};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn random() -> Secure {
    Secure::new().unwrap()
}

fn report(task: &Task, key: &ShufflerKey, window: u64) -> Vec<u8> {
    let sealed = seal(&AwsLc, task, key, window, NOTHING, &[1], &mut random());
    sealed.unwrap()
}

fn dummy(task: &Task, key: &ShufflerKey) -> Vec<u8> {
    seal_dummy(&AwsLc, task, key, 0, NOTHING, &mut random()).unwrap()
}

fn key(server: &Server) -> ShufflerKey {
    server.service.active_key().unwrap()
}

fn refused(place: &Place, change: impl FnOnce(&mut Config)) -> String {
    match Server::start_with(place, change) {
        Ok(_) => "it started".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// A batch is put into order in memory: a restart gives nobody the same room again.
#[test]
fn a_window_has_no_more_room_after_a_restart() {
    let place = Place::new(|_, _| ());
    let few = |config: &mut Config| {
        config.limits.envelopes_in_window = SMALLEST;
        config.limits.dummies_in_window = 1;
    };
    let task = &place.task;
    let server = Server::start_with(&place, few).unwrap();
    for _ in 1..SMALLEST {
        assert_eq!(server.post(task, &report(task, &key(&server), 0)).0, 202);
    }
    assert_eq!(server.post(task, &dummy(task, &key(&server))).0, 202);
    drop(server);
    let server = Server::start_with(&place, few).unwrap();
    assert_eq!(server.post(task, &report(task, &key(&server), 0)).0, 202);
    assert_eq!(server.post(task, &report(task, &key(&server), 0)).0, 503);
    server.close(task, 0);
    assert_eq!(server.batches(task)[0].reports, SMALLEST);
}

/// Everybody can send what carries no token, without end. People with a token have their room all the same,
/// and nobody on the way sees from an answer what an envelope is.
#[test]
fn what_has_no_token_takes_no_room_from_what_has_one() {
    let place = Place::new(|spec, folder| {
        let (_, public) = make_issuer(0, 1, &folder.join("issuer")).unwrap();
        spec.tokens = Some(issuer_public(&public).unwrap());
    });
    let task = &place.task;
    let few = |config: &mut Config| {
        config.limits.envelopes_in_window = SMALLEST;
        config.limits.dummies_in_window = 2;
        config.limits.probes_in_window = 2;
    };
    let server = Server::start_with(&place, few).unwrap();
    let key = key(&server);
    let probe = || seal_probe(&AwsLc, task, &key, 0, &mut random()).unwrap();
    let accepted = (202, String::new());
    for _ in 0..3 * SMALLEST {
        assert_eq!(server.post(task, &dummy(task, &key)), accepted);
        assert_eq!(server.post(task, &probe().0), accepted);
    }
    let mut issuer = Issuer::open(&place.at("issuer/issuer.key")).unwrap();
    let mut report = |person: u64| {
        let mut wallet = Wallet::open(&place.at(&format!("{person}.wallet"))).unwrap();
        let request = wallet.request(task, 0).unwrap();
        let answer = issuer.sign(task, &person.to_string(), &request).unwrap();
        wallet.finish(task, &answer).unwrap();
        let token = wallet.token(task, 0).unwrap();
        seal_with_token(&AwsLc, task, &key, NOTHING, &token, &[1], &mut random()).unwrap()
    };
    for person in 0..SMALLEST {
        assert_eq!(server.post(task, &report(person)), accepted);
    }
    // The window is full: for everybody, or the answer would tell dummies and reports apart.
    for envelope in [report(SMALLEST), dummy(task, &key), probe().0] {
        assert_eq!(server.post(task, &envelope).0, 503);
    }
    server.close(task, 0);
    assert_eq!(server.batches(task)[0].reports, SMALLEST);
    let metrics = server.metrics();
    for (outcome, count) in [("dummy", 2), ("probe", 2), ("dropped", 6 * SMALLEST - 4)] {
        let line = format!("outcome=\"{outcome}\"}} {count}\n");
        assert!(metrics.contains(&line), "{line} {metrics}");
    }
    let published = server.connection().probes(task, 0).unwrap();
    assert_eq!((published.probes.len(), published.full), (2, true));
}

/// A window is bounded in bytes, whatever the length of the task's reports.
#[test]
fn a_window_is_bounded_in_bytes() {
    let place = Place::new(|_, _| ());
    let task = &place.task;
    let length = envelope_length(task) as u64;
    let server = Server::start_with(&place, |config| {
        config.limits.bytes_in_window = (SMALLEST + 1) * length - 1;
    });
    let server = server.unwrap();
    for _ in 0..SMALLEST {
        assert_eq!(server.post(task, &report(task, &key(&server), 0)).0, 202);
    }
    assert_eq!(server.post(task, &report(task, &key(&server), 0)).0, 503);
    drop(server);
    // A window that no batch of the task fits into.
    let message = refused(&place, |config| {
        config.limits.bytes_in_window = SMALLEST * length - 1
    });
    let wanted = format!("limits.bytes_in_window {} is not", SMALLEST * length - 1);
    assert!(message.contains(&wanted), "{message}");
    let message = refused(&place, |config| {
        config.limits.envelopes_in_window = SMALLEST - 1
    });
    assert!(
        message.contains("limits.envelopes_in_window 3 is not"),
        "{message}"
    );
}

/// A request that the configuration allows has room in the queue, or it would be turned away for ever.
#[test]
fn a_configuration_that_turns_requests_away_for_ever_is_refused() {
    let place = Place::new(|_, _| ());
    let most = 1000 * envelope_length(&place.task);
    let message = refused(&place, |config| config.limits.queue_bytes = most - 1);
    assert!(message.contains("limits.queue_bytes"), "{message}");
    assert!(
        message.contains("limits.envelopes_in_request 1000"),
        "{message}"
    );
    assert!(Server::start_with(&place, |config| config.limits.queue_bytes = most).is_ok());
    let message = refused(&place, |config| config.task[0].contexts = vec![PROBES]);
    assert!(message.contains("is that of probes"), "{message}");
}

/// One envelope of a window that has not begun does not keep those of others in a relay's request out.
#[test]
fn an_early_envelope_keeps_nobody_else_out() {
    let place = Place::new(|_, _| ());
    let server = Server::start(&place);
    let (task, key) = (&place.task, key(&server));
    let early = report(task, &key, u64::MAX);
    let together = [report(task, &key, 0), early.clone(), report(task, &key, 0)].concat();
    assert_eq!(server.post(task, &together), (202, String::new()));
    assert_eq!(server.post(task, &early).0, 503);
    assert_eq!(server.post(task, &[early.clone(), early].concat()).0, 503);
}

/// Who asks and does not read holds a connection, and what was to be sent: not for ever.
#[test]
fn who_does_not_read_is_let_go() {
    let place = Place::new(|_, _| ());
    let server = Server::start_with(&place, |config| {
        (config.limits.connections, config.limits.request_seconds) = (1, 1);
    });
    let server = server.unwrap();
    let address = server.url.trim_start_matches("http://");
    let asked = format!(
        "GET /v1/tasks/{} HTTP/1.1\r\nHost: x\r\n\r\n",
        place.task.id()
    );
    let mut slow = TcpStream::connect(address).unwrap();
    slow.set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    // Far more answers than the operating system holds for both sides.
    let requests = asked.repeat(1000);
    while slow.write_all(requests.as_bytes()).is_ok() {}
    let begun = Instant::now();
    let served = || {
        let mut other = TcpStream::connect(address).unwrap();
        let _ = other.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        let _ = other.read_to_string(&mut answer);
        answer.starts_with("HTTP/1.1 200")
    };
    while !served() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it is still held"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The marks of probes are put together once, however many ask.
#[test]
fn what_everybody_may_ask_for_is_the_same_bytes() {
    let place = Place::new(|_, _| ());
    let server = Server::start(&place);
    let (task, key) = (&place.task, key(&server));
    for _ in 0..3 {
        let (probe, _) = seal_probe(&AwsLc, task, &key, 0, &mut random()).unwrap();
        assert_eq!(server.post(task, &probe).0, 202);
    }
    let open = server.get(task, "", None);
    assert_eq!(server.get(task, "", None), open);
    server.close(task, 0);
    let next = server.get(task, "", None);
    assert!(
        open.1.contains("\"first\":0") && next.1.contains("\"first\":1"),
        "{}",
        next.1
    );
    let published = server.get(task, "/probes/0", None);
    assert_eq!(published.0, 200);
    // What is there is served without the store: also where it would not open any more.
    for _ in 0..3 {
        assert_eq!(server.get(task, "/probes/0", None), published);
    }
    // A new key is in the next answer.
    server.service.rotate_keys().unwrap();
    assert_ne!(server.get(task, "", None), next);
}
