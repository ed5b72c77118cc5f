//! One token for a person and a window, from the request to the batch: by files, and over sockets.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::{NOTHING, Place, SMALLEST, Server};
use shuffledp_protocol::envelope::{
    Kind, ShufflerKey, envelope_length, open, seal, seal_dummy, seal_with_token,
};
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec};
use shuffledp_protocol::token::{Bytes256, Token};
use shuffledp_randomizers::Secure;
use shuffledp_service::answer::{Habits, answer};
use shuffledp_service::folders::Device;
use shuffledp_service::keys::shuffler_secrets;
use shuffledp_service::tokens::{Answer, Issuer, Wallet, issuer_public, make_issuer};
use shuffledp_service::{AwsLc, ServiceError};
use std::path::Path;

/// The windows that the issuer has keys for.
const FIRST: u64 = 0;
const WINDOWS: u64 = 2;

fn with_tokens(spec: &mut TaskSpec, folder: &Path) {
    let (_, public) = make_issuer(FIRST, WINDOWS, &folder.join("issuer")).unwrap();
    spec.tokens = Some(issuer_public(&public).unwrap());
}

fn place() -> Place {
    Place::new(with_tokens)
}

fn issuer(place: &Place) -> Issuer {
    Issuer::open(&place.at("issuer/issuer.key")).unwrap()
}

fn wallet(place: &Place, person: &str) -> Wallet {
    Wallet::open(&place.at(&format!("{person}.wallet"))).unwrap()
}

/// A person asks for a token, has it signed, and takes it home.
fn ask(place: &Place, person: &str, window: u64) -> Result<(), ServiceError> {
    let mut wallet = wallet(place, person);
    let request = wallet.request(&place.task, window)?;
    let answer = issuer(place).sign(&place.task, person, &request)?;
    wallet.finish(&place.task, &answer)
}

fn token(place: &Place, person: &str, window: u64) -> Token {
    ask(place, person, window).unwrap();
    wallet(place, person).token(&place.task, window).unwrap()
}

fn envelope(place: &Place, key: &ShufflerKey, token: &Token) -> Vec<u8> {
    let mut random = Secure::new().unwrap();
    seal_with_token(&AwsLc, &place.task, key, NOTHING, token, &[1], &mut random).unwrap()
}

#[test]
fn a_batch_counts_people_by_files() {
    let place = place();
    let inbox = [place.at("inbox")];
    for person in ["a", "b", "c"] {
        ask(&place, person, 0).unwrap();
        let mut device = place.device().with_wallet(wallet(&place, person));
        place.put(person, &place.envelope(&mut device, 0).unwrap());
        // Each of them answers as often as they like, with a ledger that forgets.
        for again in 0..3 {
            let name = format!("{person}{again}");
            place.put(&name, &place.envelope(&mut device, 0).unwrap());
        }
    }
    let held = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((held.released.len(), held.repeated), (0, 9));
    assert_eq!(held.waiting[0].reports, 3);
    ask(&place, "d", 0).unwrap();
    let mut device = place.device().with_wallet(wallet(&place, "d"));
    place.put("d", &place.envelope(&mut device, 0).unwrap());
    let shuffled = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!(shuffled.released[0].reports, SMALLEST);
    // A token of one window is none of another.
    let error = place.envelope(&mut device, 1).unwrap_err();
    assert!(
        matches!(error, ServiceError::NoToken { window: 1 }),
        "{error}"
    );
    let simulated = place.device().simulate(0, [], &place.at("inbox/many"));
    assert!(matches!(simulated, Err(ServiceError::NoToken { .. })));
    // Without one nothing is decided: the ledger is as it was.
    let ledger = place.at("ledger.json");
    let value = place.task.value("yes").unwrap();
    let mut held = shuffledp_service::ledger::Ledger::open(&ledger).unwrap();
    let refused = place
        .device()
        .report(&mut held, 0, &value, &place.at("inbox/e"));
    assert!(matches!(refused, Err(ServiceError::NoToken { window: 0 })));
    assert_eq!(held.status(&place.task).answered, 0);
}

/// A token is spent for its window, whatever its report is about and however often the shuffler runs.
#[test]
fn a_token_is_spent_once_over_several_runs() {
    let place = place();
    let inbox = [place.at("inbox")];
    let tokens = ["a", "b", "c", "d"].map(|person| token(&place, person, 0));
    let about = |context: Bytes32, token: &Token| {
        let (mut random, key) = (Secure::new().unwrap(), place.key());
        seal_with_token(&AwsLc, &place.task, &key, context, token, &[1], &mut random).unwrap()
    };
    for (name, token) in ["a", "b", "c", "d"].iter().zip(&tokens) {
        place.put(name, &about(Bytes32([1; 32]), token));
    }
    let first = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((first.released.len(), first.repeated), (1, 0));
    // The same people send again, about something else, to the next run.
    for (name, token) in ["e", "f", "g", "h"].iter().zip(&tokens) {
        place.put(name, &about(Bytes32([2; 32]), token));
    }
    let second = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((second.released.len(), second.repeated), (0, 4));
    // What was not released is not spent: it waits, and is taken with the others.
    let next = ["a", "b", "c", "d"].map(|person| token(&place, person, 1));
    for (name, token) in ["i", "j", "k"].iter().zip(&next) {
        place.put(name, &about(Bytes32([1; 32]), token));
    }
    let waits = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((waits.released.len(), waits.waiting[0].reports), (0, 3));
    place.put("l", &about(Bytes32([1; 32]), &next[3]));
    let all = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!((all.released.len(), all.released[0].reports), (1, 4));
}

#[test]
fn a_batch_counts_people_over_sockets() {
    let place = place();
    let server = Server::start(&place);
    let key = server.service.active_key().unwrap();
    let people = ["a", "b", "c", "d"];
    let tokens = people.map(|person| token(&place, person, 0));
    let first = server.post(&place.task, &envelope(&place, &key, &tokens[0]));
    assert_eq!(first, (202, String::new()));
    // Spent before: another report with the same token, a dummy, and the same envelope are answered alike.
    let mut random = Secure::new().unwrap();
    let dummy = seal_dummy(&AwsLc, &place.task, &key, 0, Bytes32([0; 32]), &mut random).unwrap();
    assert_eq!(dummy.len(), envelope_length(&place.task));
    for body in [envelope(&place, &key, &tokens[0]), dummy] {
        assert_eq!(server.post(&place.task, &body), first);
    }
    for token in &tokens[1..3] {
        server.post(&place.task, &envelope(&place, &key, token));
    }
    // The fourth answers as a device does.
    let habits = Habits {
        wallet: Some(place.at("d.wallet")),
        ..Habits::default()
    };
    let (ledger, value) = (place.at("d.json"), place.task.value("no").unwrap());
    let connection = server.connection();
    answer(&connection, &place.task, &ledger, &value, &habits).unwrap();
    server.close(&place.task, 0);
    let batches = server.batches(&place.task);
    assert_eq!((batches.len(), batches[0].reports), (1, SMALLEST));
    let metrics = server.metrics();
    for line in [
        "outcome=\"taken\"} 4",
        "outcome=\"repeated\"} 1",
        "outcome=\"dummy\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} {metrics}");
    }
}

/// Three people with ten envelopes each are three people.
#[test]
fn too_few_tokens_are_too_few_people() {
    let place = place();
    let server = Server::start(&place);
    let key = server.service.active_key().unwrap();
    for person in ["a", "b", "c"] {
        let token = token(&place, person, 0);
        let many = (0..10).flat_map(|_| envelope(&place, &key, &token));
        let many: Vec<u8> = many.collect();
        assert_eq!(server.post(&place.task, &many).0, 202);
    }
    server.close(&place.task, 0);
    assert_eq!(server.batches(&place.task), []);
}

/// Made by hand, as a stranger would: a device of ours refuses to.
#[test]
fn what_is_not_signed_is_malformed_like_anything_else() {
    let place = place();
    let server = Server::start(&place);
    let key = server.service.active_key().unwrap();
    let good = token(&place, "a", 0);
    let damaged = envelope(&place, &key, &good);
    let malformed = {
        let mut damaged = damaged.clone();
        damaged[100] ^= 1;
        server.post(&place.task, &damaged)
    };
    assert_eq!(malformed.0, 400);
    let changed = |change: fn(&mut Token)| {
        let mut token = good.clone();
        change(&mut token);
        token
    };
    let others = self::place();
    let tokens = [
        changed(|token| token.nonce[0] ^= 1),
        changed(|token| token.signature.0[255] ^= 1),
        changed(|token| token.signature = Bytes256([0; 256])),
        // Of another window of the same issuer, and of another issuer.
        token(&place, "a", 1),
        token(&others, "a", 0),
    ];
    for (place_in_list, token) in tokens.into_iter().enumerate() {
        let as_if = Token { window: 0, ..token };
        let forged = forged(&place.task, &key, &as_if);
        assert_eq!(forged.len(), envelope_length(&place.task));
        assert_eq!(
            server.post(&place.task, &forged),
            malformed,
            "{place_in_list}"
        );
    }
    // The same bytes with the token as it was signed are taken: it is the token that was refused.
    assert_eq!(
        server
            .post(&place.task, &forged(&place.task, &key, &good))
            .0,
        202
    );
    // A device refuses to send what will not be taken.
    let mut random = Secure::new().unwrap();
    let bad = changed(|token| token.nonce[0] ^= 1);
    let refused = seal_with_token(&AwsLc, &place.task, &key, NOTHING, &bad, &[1], &mut random);
    assert!(refused.is_err());
    assert!(seal(&AwsLc, &place.task, &key, 0, NOTHING, &[1], &mut random).is_err());
}

/// The bytes of docs/wire.md, put together by hand.
fn forged(task: &Task, key: &ShufflerKey, token: &Token) -> Vec<u8> {
    use shuffledp_protocol::hpke::Hpke;
    let window = token.window.to_be_bytes();
    let inner_aad = [&task.id().0[..], &window, &NOTHING.0].concat();
    let to = &task.spec().analyzer_key;
    let inner = AwsLc
        .seal(to, b"shuffledp/1 inner\x01\x03", &inner_aad, &[1])
        .unwrap();
    let signature = &token.signature.0;
    let plain = [
        &[0][..],
        &[7; 16],
        &NOTHING.0,
        &token.nonce,
        signature,
        &inner.enc,
        &inner.text,
    ];
    let header = [&[1, key.number][..], &task.id().0, &window].concat();
    let info = b"shuffledp/1 outer\x01\x02";
    let outer = AwsLc
        .seal(&key.key, info, &header, &plain.concat())
        .unwrap();
    [&header[..], &outer.enc, &outer.text].concat()
}

#[test]
fn a_person_has_one_signature_for_a_window() {
    let place = place();
    ask(&place, "a", 0).unwrap();
    // The same request again has the same answer: the first one may have been lost.
    let request = wallet(&place, "a").request(&place.task, 0).unwrap();
    let again = issuer(&place).sign(&place.task, "a", &request).unwrap();
    wallet(&place, "a").finish(&place.task, &again).unwrap();
    // Another request of the same person has none, and costs nobody else theirs.
    let mut second = Wallet::open(&place.at("second wallet")).unwrap();
    let request = second.request(&place.task, 0).unwrap();
    let refused = issuer(&place).sign(&place.task, "a", &request);
    assert!(matches!(
        refused,
        Err(ServiceError::Issued { window: 0, .. })
    ));
    issuer(&place).sign(&place.task, "b", &request).unwrap();
    ask(&place, "a", 1).unwrap();
    // Windows that the issuer has no key for.
    let refused = wallet(&place, "a").request(&place.task, 2);
    assert!(matches!(
        refused,
        Err(ServiceError::NoIssuerKey {
            first: 0,
            last: 1,
            ..
        })
    ));
    for person in ["", "a\nb", &"a".repeat(201)] {
        let refused = issuer(&place).sign(&place.task, person, &request);
        assert!(
            matches!(refused, Err(ServiceError::Person { .. })),
            "{person:?}"
        );
    }
    // Two programs would sign twice.
    let held = issuer(&place);
    let busy = Issuer::open(&place.at("issuer/issuer.key"));
    assert!(matches!(busy.map(|_| ()), Err(ServiceError::InUse { .. })));
    drop(held);
    // A list that cannot be read is no list of nobody.
    std::fs::write(place.at("issuer/issued.json"), "{").unwrap();
    assert!(Issuer::open(&place.at("issuer/issuer.key")).is_err());
}

/// Keys that sign for two tasks would give a person two tokens of one of them.
#[test]
fn keys_are_for_one_task() {
    let place = place();
    ask(&place, "a", 0).unwrap();
    let mut spec = place.task.spec().clone();
    spec.name = "drinkers".to_owned();
    let other = Task::new(spec).unwrap();
    let mut second = Wallet::open(&place.at("second wallet")).unwrap();
    let request = second.request(&other, 0).unwrap();
    let refused = issuer(&place).sign(&other, "a", &request);
    assert!(matches!(refused, Err(ServiceError::OtherTask { .. })));
    // Nor are they those of a task that names another issuer, or none.
    let others = self::place();
    let request = second.request(&others.task, 0).unwrap();
    let fresh = make_issuer(FIRST, WINDOWS, &place.at("fresh")).unwrap().0;
    let refused = Issuer::open(&fresh)
        .unwrap()
        .sign(&others.task, "a", &request);
    assert!(matches!(
        refused,
        Err(ServiceError::OtherIssuer { window: 0 })
    ));
    let without = Place::new(|_, _| ());
    let refused = second.request(&without.task, 0);
    assert!(matches!(refused, Err(ServiceError::WithoutTokens)));
    assert!(make_issuer(0, 0, &place.at("none")).is_err());
    assert!(make_issuer(0, 1001, &place.at("none")).is_err());
    assert!(make_issuer(u64::MAX, 1, &place.at("none")).is_err());
    assert!(Issuer::open(&place.at("issuer/issuer.pub")).is_err());
    assert!(issuer_public(&place.at("analyzer/analyzer.pub")).is_err());
}

#[test]
fn a_wallet_takes_only_what_was_signed_for_it() {
    let place = place();
    let mut mine = wallet(&place, "a");
    let request = mine.request(&place.task, 0).unwrap();
    assert_eq!(mine.request(&place.task, 0).unwrap(), request);
    let other = wallet(&place, "b").request(&place.task, 0).unwrap();
    let theirs = issuer(&place).sign(&place.task, "b", &other).unwrap();
    assert!(matches!(
        mine.finish(&place.task, &theirs),
        Err(ServiceError::Blind(_))
    ));
    let of_window_1 = Answer {
        window: 1,
        ..theirs.clone()
    };
    let refused = mine.finish(&place.task, &of_window_1);
    assert!(matches!(
        refused,
        Err(ServiceError::NotRequested { window: 1 })
    ));
    assert_eq!(mine.token(&place.task, 0), None);
    let answer = issuer(&place).sign(&place.task, "a", &request).unwrap();
    mine.finish(&place.task, &answer).unwrap();
    drop(mine);
    let token = wallet(&place, "a").token(&place.task, 0).unwrap();
    assert!(token.is_of(&AwsLc, &place.task));
    // Nothing that the issuer has seen is in the token.
    assert!(token.signature != answer.signature && token.signature != request.blinded);
    let list = std::fs::read_to_string(place.at("issuer/issued.json")).unwrap();
    assert!(!list.contains(&data_encoding::HEXLOWER.encode(&token.nonce)));
}

/// Opened by the shuffler's library, for each kind.
#[test]
fn a_dummy_needs_no_token() {
    let place = place();
    let keys = shuffler_secrets(&[place.at("shuffler/shuffler-1.key")]).unwrap();
    let key = place.key();
    let token = token(&place, "a", 0);
    let opened = open(&AwsLc, &place.task, &keys, &envelope(&place, &key, &token)).unwrap();
    assert_eq!(
        (opened.kind, opened.token),
        (Kind::Report, Some(token.nonce))
    );
    let mut random = Secure::new().unwrap();
    let dummy = seal_dummy(&AwsLc, &place.task, &key, 0, Bytes32([0; 32]), &mut random).unwrap();
    let opened = open(&AwsLc, &place.task, &keys, &dummy).unwrap();
    assert_eq!((opened.kind, opened.token), (Kind::Dummy, None));
    assert!(Device::new(place.task.clone(), key).is_ok());
}
