//! What a device's owner allows, what its ledger keeps, and what it sends when it answers no more.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::{NOTHING, Place, Server};
use shuffledp_protocol::envelope::{ShufflerKey, envelope_length, seal, seal_dummy, seal_probe};
use shuffledp_protocol::hpke::Hpke;
use shuffledp_protocol::task::{Task, TaskSpec, Value};
use shuffledp_protocol::token::NONCE;
use shuffledp_randomizers::Secure;
use shuffledp_service::answer::{Habits, answer};
use shuffledp_service::folders::Device;
use shuffledp_service::keys::shuffler_secrets;
use shuffledp_service::ledger::{Budget, Decision, Ledger, Terms};
use shuffledp_service::tokens::{issuer_public, make_issuer};
use shuffledp_service::{AwsLc, ServiceError};
use std::path::PathBuf;

const DELTA: f64 = 1e-6;

fn budget(epsilon: f64, alone: Option<f64>) -> Terms {
    Terms {
        budget: Some(Budget {
            epsilon,
            delta: DELTA,
            alone,
        }),
        ..Terms::default()
    }
}

/// The same question under another name.
fn renamed(place: &Place, number: u64, change: impl FnOnce(&mut TaskSpec)) -> Task {
    let mut spec = place.task.spec().clone();
    spec.name = format!("smokers {number}");
    change(&mut spec);
    Task::new(spec).unwrap()
}

/// A device with a ledger answers a task once: what it decided, and the file of its envelope.
fn ask(
    place: &Place,
    task: &Task,
    window: u64,
    cover: bool,
) -> (Result<Decision, ServiceError>, PathBuf) {
    let mut ledger = Ledger::open(&place.at("ledger.json")).unwrap();
    let mut device = Device::new(task.clone(), place.key()).unwrap();
    if cover {
        device = device.with_cover();
    }
    let path = place.at(&format!("outbox/{}-{window}", task.id()));
    let decided = device.report(&mut ledger, window, &Value::Category(1), &path);
    (decided, path)
}

/// Somebody who asks the same question under many names is told no more than the owner of a device allows.
#[test]
fn a_budget_bounds_all_tasks_together() {
    let place = Place::new(|_, _| ());
    let open = || Ledger::open(&place.at("ledger.json")).unwrap();
    open().set_terms(budget(3.0, None)).unwrap();
    let mut answered = 0;
    for number in 0..8 {
        let task = renamed(&place, number, |_| ());
        // Each call opens the file anew, as after a crash.
        match ask(&place, &task, 0, false).0 {
            Ok(Decision::Answered) => answered += 1,
            Err(ServiceError::BeyondBudget { shuffled, .. }) => assert!(shuffled > 3.0),
            other => panic!("{other:?}"),
        }
    }
    let spent = open().spent(DELTA).unwrap();
    // A batch of four hides little: an answer costs about its epsilon0, which is 1.
    assert!((3..8).contains(&answered), "{answered}");
    assert!(spent.shuffled <= 3.0 && spent.shuffled > 1.0, "{spent:?}");
    assert!(
        spent.alone.is_some_and(|alone| alone >= spent.shuffled),
        "{spent:?}"
    );
    assert_eq!(open().terms(), budget(3.0, None));
    // Other terms leave the budget as it is.
    let others = Terms {
        at_least_users: Some(2),
        ..Terms::default()
    };
    open().set_terms(others).unwrap();
    assert_eq!(open().terms().budget, budget(3.0, None).budget);
    // What no shuffler takes part in has a bound of its own.
    let alone = Place::new(|_, _| ());
    let open = || Ledger::open(&alone.at("ledger.json")).unwrap();
    open().set_terms(budget(100.0, Some(2.5))).unwrap();
    let answered = (0..5).filter(|number| {
        let task = renamed(&alone, *number, |_| ());
        ask(&alone, &task, 0, false).0.is_ok()
    });
    assert_eq!(answered.count(), 2);
    assert!(open().set_terms(budget(f64::NAN, None)).is_err());
    assert!(open().set_terms(budget(1.0, Some(-1.0))).is_err());
}

#[test]
fn a_task_below_what_the_owner_asks_for_is_refused() {
    let place = Place::new(|_, _| ());
    let set = |terms| {
        let mut ledger = Ledger::open(&place.at("ledger.json")).unwrap();
        ledger.set_terms(terms).unwrap();
    };
    set(Terms {
        at_least_users: Some(100),
        at_most_epsilon: Some(0.9),
        ..Terms::default()
    });
    let pair = renamed(&place, 0, |spec| spec.round.users = Some(2));
    // Not with a dummy either.
    for cover in [false, true] {
        let (refused, path) = ask(&place, &pair, 0, cover);
        let few = matches!(
            refused,
            Err(ServiceError::TooFewUsers {
                users: 2,
                least: 100
            })
        );
        assert!(few && !path.exists(), "{refused:?}");
    }
    let dear = renamed(&place, 1, |spec| spec.round.users = Some(100));
    let (refused, _) = ask(&place, &dear, 0, false);
    assert!(
        matches!(refused, Err(ServiceError::TooMuchEpsilon { .. })),
        "{refused:?}"
    );
    let good = renamed(&place, 2, |spec| {
        (spec.round.users, spec.epsilon) = (Some(100), 0.9);
    });
    assert_eq!(ask(&place, &good, 0, false).0.unwrap(), Decision::Answered);
}

/// Who has answered as often as may be goes on like the others: with dummies, of which each window has one.
#[test]
fn cover_goes_on_when_there_are_no_more_answers() {
    let place = Place::new(|spec, _| spec.round.rounds = 1);
    let length = envelope_length(&place.task) as u64;
    let sent = |path: PathBuf| std::fs::metadata(path).unwrap().len();
    let (decided, path) = ask(&place, &place.task, 0, true);
    assert_eq!((decided.unwrap(), sent(path)), (Decision::Answered, length));
    let (decided, path) = ask(&place, &place.task, 1, true);
    assert_eq!(
        (decided.unwrap(), sent(path.clone())),
        (Decision::Covered, length)
    );
    std::fs::remove_file(path).unwrap();
    let (again, path) = ask(&place, &place.task, 1, true);
    assert!(matches!(again, Err(ServiceError::Decided { window: 1, .. })) && !path.exists());
    let (spent, _) = ask(&place, &place.task, 2, false);
    assert!(
        matches!(spent, Err(ServiceError::Spent { most: 1 })),
        "{spent:?}"
    );
    // Over sockets too, and also where the budget of all tasks is what is spent.
    let server = Server::start(&place);
    let habits = Habits {
        cover: true,
        ..Habits::default()
    };
    let (ledger, value) = (place.at("other.json"), Value::Category(1));
    let mut held = Ledger::open(&ledger).unwrap();
    held.set_terms(budget(0.5, None)).unwrap();
    drop(held);
    let done = answer(&server.connection(), &place.task, &ledger, &value, &habits).unwrap();
    assert_eq!(done.decided, Some((0, Decision::Covered)));
    server.close(&place.task, 0);
    assert!(server.metrics().contains("outcome=\"dummy\"} 1\n"));
}

/// One key for both layers is one party that sees who sent what.
#[test]
fn an_envelope_to_the_analyzer_is_refused() {
    let place = Place::new(|_, _| ());
    let (task, mut random) = (&place.task, Secure::new().unwrap());
    let key = ShufflerKey {
        number: 1,
        key: task.spec().analyzer_key,
    };
    let report = seal(&AwsLc, task, &key, 0, NOTHING, &[1], &mut random);
    assert!(report.is_err_and(|error| error.to_string().contains("analyzer")));
    assert!(seal_dummy(&AwsLc, task, &key, 0, NOTHING, &mut random).is_err());
    assert!(seal_probe(&AwsLc, task, &key, 0, &mut random).is_err());
}

/// A number above the modulus is refused before anything is computed: a dummy would be verified sooner than a
/// report.
#[test]
fn what_stands_for_a_signature_is_below_every_modulus() {
    let place = Place::new(|spec, folder| {
        let (_, public) = make_issuer(0, 1, &folder.join("issuer")).unwrap();
        spec.tokens = Some(issuer_public(&public).unwrap());
    });
    let secrets = shuffler_secrets(&[place.at("shuffler/shuffler-1.key")]).unwrap();
    let mut random = Secure::new().unwrap();
    for _ in 0..64 {
        let dummy = seal_dummy(&AwsLc, &place.task, &place.key(), 0, NOTHING, &mut random).unwrap();
        let (header, rest) = dummy.split_at(42);
        let (enc, text) = rest.split_first_chunk().unwrap();
        let info = b"shuffledp/1 outer\x01\x02";
        let plain = AwsLc.open(&secrets[0].1, enc, info, header, text).unwrap();
        assert!(plain[1 + 16 + 32 + NONCE] < 128);
    }
}

/// A larger budget for who sees batches leaves the bound for a shuffler that is not honest.
#[test]
fn a_new_budget_keeps_the_bound_without_shufflers() {
    let place = Place::new(|_, _| ());
    let mut ledger = Ledger::open(&place.at("ledger.json")).unwrap();
    ledger.set_terms(budget(2.0, Some(20.0))).unwrap();
    ledger.set_terms(budget(3.0, None)).unwrap();
    assert_eq!(ledger.terms(), budget(3.0, Some(20.0)));
    ledger.set_terms(Terms::default()).unwrap();
    assert_eq!(ledger.terms(), budget(3.0, Some(20.0)));
}
