//! Tasks: what is promised is certified, what is changed has another id, and nonsense is refused by name.

#![allow(clippy::unwrap_used)]

use shuffledp_accounting::{RandomizerSpec, RoundSpec};
use shuffledp_protocol::Confidence;
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Value, Values};
use shuffledp_protocol::token::{Bytes256, Issuer};
use shuffledp_randomizers::Secure;

fn randomizer(name: &str, epsilon0: f64) -> RandomizerSpec {
    let mut spec = RandomizerSpec::new(name).unwrap();
    spec.epsilon0 = Some(epsilon0.into());
    spec
}

fn commute() -> TaskSpec {
    let mut krr = randomizer("krr", 2.0);
    krr.k = Some(3);
    let mut round = RoundSpec::new(krr);
    (round.users, round.rounds) = (Some(1000), 30);
    TaskSpec {
        name: "commute".to_owned(),
        round,
        values: Values::Labels(["bike", "bus", "car"].map(str::to_owned).to_vec()),
        epsilon: 0.4,
        delta: 1e-6,
        window_seconds: Some(86_400),
        analyzer_key: Bytes32([7; 32]),
        tokens: None,
        second_shuffler: None,
    }
}

/// An odd number of 2048 bits, if `last` is odd.
fn modulus(last: u8) -> Bytes256 {
    let mut modulus = [255; 256];
    modulus[255] = last;
    Bytes256(modulus)
}

fn issuer(first_window: u64, keys: impl Into<Vec<Bytes256>>) -> Option<Issuer> {
    let keys = keys.into();
    Some(Issuer { first_window, keys })
}

fn refused(change: impl FnOnce(&mut TaskSpec)) -> String {
    let mut spec = commute();
    change(&mut spec);
    Task::new(spec).unwrap_err().to_string()
}

#[test]
fn nonsense_is_refused_by_name() {
    let messages = [
        refused(|spec| spec.name.clear()),
        refused(|spec| spec.name = "a\nb".to_owned()),
        refused(|spec| spec.round.users = None),
        refused(|spec| spec.round.users = Some(1)),
        refused(|spec| spec.round.rounds = 0),
        refused(|spec| spec.round.sample = Some(10)),
        refused(|spec| spec.round.check_in = Some(1.5.into())),
        refused(|spec| spec.round.check_in = Some(f64::NAN.into())),
        refused(|spec| {
            spec.round.check_in = Some(shuffledp_accounting::PerUser::Range([0.1, 0.2]))
        }),
        refused(|spec| spec.round.adaptive_within_round = true),
        refused(|spec| spec.round.colluding = 0.9995),
        refused(|spec| spec.round.randomizer = randomizer("ldp", 2.0)),
        refused(|spec| spec.round.randomizer = randomizer("r-2", 2.0)),
        refused(|spec| spec.round.randomizer.k = None),
        refused(|spec| spec.round.randomizer.k = Some(4)),
        refused(|spec| spec.values = Values::Range([0.0, 1.0])),
        refused(|spec| spec.values = Values::Labels(["a", "b", "a"].map(str::to_owned).to_vec())),
        refused(|spec| spec.values = Values::Labels(["a", "b", ""].map(str::to_owned).to_vec())),
        refused(|spec| spec.epsilon = f64::NAN),
        refused(|spec| spec.epsilon = 0.0),
        refused(|spec| spec.delta = 0.0),
        refused(|spec| spec.delta = 1.5),
        refused(|spec| spec.window_seconds = Some(0)),
        refused(|spec| spec.tokens = issuer(0, [])),
        refused(|spec| spec.tokens = issuer(0, vec![modulus(1); 1001])),
        refused(|spec| spec.tokens = issuer(u64::MAX, [modulus(1)])),
        refused(|spec| spec.tokens = issuer(0, [modulus(1), modulus(2)])),
        refused(|spec| spec.tokens = issuer(0, [Bytes256([127; 256])])),
        refused(|spec| spec.tokens = issuer(7, [modulus(1), modulus(3), modulus(1)])),
    ];
    let expected = [
        "name \"\" is not a text of 1 to 100 bytes",
        "name \"a\\nb\" is not",
        "users",
        "users 1 is outside [2, 2^53]",
        "rounds 0 is not 1 or more",
        "a task has no sample",
        "check-in rate 1.5 is outside (0, 1]",
        "check-in rate NaN is outside (0, 1]",
        "check_in 0.1..0.2 is not one number",
        "do not look at earlier reports",
        "colluding fraction 0.9995",
        "ldp can be priced but not run",
        "needs dimension",
        "krr needs k",
        "labels of number 3 is not as many as",
        "needs labels, or numbered values",
        "label \"a\" is not a text",
        "label \"\" is not a text",
        "epsilon NaN is outside [0, inf)",
        "epsilon 0 at delta 1e-6 is promised",
        "delta 0 is outside [1e-300, 1)",
        "delta 1.5 is outside [1e-300, 1)",
        "window_seconds 0 is not in [1, 315360000]",
        "token_issuer for 0 windows is not for 1 to 1000",
        "token_issuer for 1001 windows is not for 1 to 1000",
        "token_issuer from window 18446744073709551615 on is not for windows below 2^64",
        "token_issuer with its key number 1 is not with odd moduli of 2048 bits alone",
        "token_issuer with its key number 0 is not with odd moduli",
        "token_issuer with its key number 2 is not with another key for each window",
    ];
    assert_eq!(messages.len(), expected.len());
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{message}");
    }
}

/// The id is of every key and of the window it is for; a task without tokens has the id that it always had.
#[test]
fn the_issuer_is_part_of_the_task() {
    let with = |tokens| {
        let task = Task::new(TaskSpec {
            tokens,
            ..commute()
        });
        task.unwrap()
    };
    let tasks = [
        with(None),
        with(issuer(0, [modulus(1)])),
        with(issuer(1, [modulus(1)])),
        with(issuer(0, [modulus(3)])),
        with(issuer(0, [modulus(1), modulus(3)])),
        with(issuer(0, [modulus(3), modulus(1)])),
    ];
    for (place, task) in tasks.iter().enumerate() {
        assert!(tasks[..place].iter().all(|other| other.id() != task.id()));
        assert_eq!(Task::from_json(&task.to_json()).unwrap().id(), task.id());
        let trusted = task.guarantee().unwrap().trusted.join(" ");
        let names_the_issuer =
            trusted.contains("The issuer is trusted to sign once for a person and a window");
        assert_eq!(names_the_issuer, place > 0, "{trusted}");
    }
    assert!(tasks[1].encoding().starts_with(tasks[0].encoding()));
    assert!(!tasks[0].to_json().contains("tokens"));
}

#[test]
fn no_promise_below_what_is_certified() {
    let task = Task::new(commute()).unwrap();
    let certified = task.answer().upper().value();
    let promise = |epsilon| TaskSpec {
        epsilon,
        ..commute()
    };
    assert!(Task::new(promise(certified)).is_ok());
    let below = Task::new(promise(certified.next_down()))
        .unwrap_err()
        .to_string();
    assert!(
        below.contains("is certified for a batch of 1,000 reports"),
        "{below}"
    );
    // People who collude hide nobody.
    let mut spec = promise(certified);
    spec.round.colluding = 0.01;
    assert!(Task::new(spec).is_err());
    // A batch that is answered by a coin costs less, and all windows together are counted as answered.
    let mut spec = promise(certified);
    spec.round.check_in = Some(0.1.into());
    let some = Task::new(spec).unwrap();
    assert!(some.answer().upper().value() < certified);
    assert_eq!(some.total().unwrap(), task.total().unwrap());
    assert!(task.total().unwrap().upper().value() > 4.0 * certified);
}

#[test]
fn a_file_that_was_changed_is_refused() {
    let task = Task::new(commute()).unwrap();
    let text = task.to_json();
    assert_eq!(Task::from_json(&text).unwrap().to_json(), text);
    for (from, to) in [
        ("\"rounds\": 30", "\"rounds\": 31"),
        ("\"bike\"", "\"tram\""),
        ("\"delta\": 1e-6", "\"delta\": 1e-5"),
        ("\"epsilon\": 0.4", "\"epsilon\": 0.5"),
        (&task.id().to_string()[..8], "00000000"),
    ] {
        assert!(text.contains(from), "{from} {text}");
        let error = Task::from_json(&text.replacen(from, to, 1)).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the task says that its id is"),
            "{error}"
        );
    }
    let fewer = text.replacen("\"users\": 1000", "\"users\": 10", 1);
    assert!(
        Task::from_json(&fewer)
            .unwrap_err()
            .to_string()
            .contains("is promised")
    );
    for bad in ["", "{}", "[1]", &text.replacen("\"name\"", "\"nom\"", 1)] {
        let error = Task::from_json(bad).unwrap_err().to_string();
        assert!(error.starts_with("not a task: "), "{error}");
    }
}

#[test]
fn values_are_read_as_people_write_them() {
    let task = Task::new(commute()).unwrap();
    assert_eq!(task.value("bus").unwrap(), Value::Category(1));
    let error = task.value("Bus").unwrap_err().to_string();
    assert_eq!(error, "value \"Bus\" is not one of the labels of the task");

    let mut spec = commute();
    spec.values = Values::Numbered;
    let numbered = Task::new(spec).unwrap();
    assert_eq!(numbered.value("2").unwrap(), Value::Category(2));
    for bad in ["3", "-1", "1.5", "", "NaN"] {
        assert!(numbered.value(bad).is_err(), "{bad}");
    }

    let mut spec = commute();
    (spec.round.randomizer, spec.values) = (randomizer("duchi", 2.0), Values::Range([-20.0, 60.0]));
    spec.epsilon = 0.5;
    let mean = Task::new(spec).unwrap();
    assert_eq!(mean.value("20").unwrap(), Value::Number(0.5));
    for bad in ["-21", "61", "nan", "inf", "warm"] {
        assert!(mean.value(bad).is_err(), "{bad}");
    }

    let mut spec = commute();
    let mut vectors = randomizer("r-2", 2.0);
    vectors.dimension = Some(3);
    (spec.round.randomizer, spec.values) = (vectors, Values::Radius(2.0));
    spec.epsilon = 0.5;
    let vectors = Task::new(spec).unwrap();
    let value = vectors.value("1, 0, -1").unwrap();
    let mut random = Secure::new().unwrap();
    assert_eq!(
        vectors.randomize(&value, &mut random).unwrap().len(),
        vectors.report_length()
    );
    for bad in ["1,2", "3,0,0", "nan,0,0", "inf,0,0"] {
        let value = vectors.value(bad).unwrap();
        assert!(vectors.randomize(&value, &mut random).is_err(), "{bad}");
    }
    assert!(vectors.value("a,b,c").is_err());
    assert!(vectors.randomize(&Value::Category(1), &mut random).is_err());
}

/// A batch is read with the intervals that it deserves: 2,000 people, half of whom hold the first value.
#[test]
fn a_batch_is_read_in_the_words_of_the_task() {
    let task = Task::new(commute()).unwrap();
    let mut random = Secure::new().unwrap();
    let mut reports = Vec::new();
    for person in 0..20_000 {
        let value = task.value(["bike", "bus"][person % 2]).unwrap();
        reports.push(task.randomize(&value, &mut random).unwrap());
    }
    reports.push(vec![3]);
    let confidence = Confidence::new(1.0 - 1e-9).unwrap();
    let findings = task
        .read(reports.iter().map(Vec::as_slice), confidence)
        .unwrap();
    assert_eq!((findings.taken, findings.malformed), (20_000, 1));
    for (finding, (name, share)) in
        findings
            .findings
            .iter()
            .zip([("bike", 0.5), ("bus", 0.5), ("car", 0.0)])
    {
        let (low, high) = finding.interval.unwrap();
        assert_eq!(finding.name.as_deref(), Some(name));
        assert!(
            low <= share && share <= high && high - low < 0.2,
            "{finding:?}"
        );
    }
}

/// What a batch shows of its promise: up to the share that was allowed for nothing changes; beyond it, the
/// price is that of a task whose smallest batch are the other reports; and among none there is nothing but
/// the local guarantee.
#[test]
fn made_up_reports_hide_nobody() {
    let upper = |spec: &TaskSpec, users: u64| {
        let mut spec = TaskSpec {
            epsilon: 50.0,
            ..spec.clone()
        };
        spec.round.users = Some(users);
        Task::new(spec).unwrap().answer().upper().value()
    };
    for (colluding, check_in, allowed) in [
        (0.0, None, 0),
        (0.2, None, 200),
        (0.2, Some(0.1), 200),
        // A share that is whole but for rounding: 0.29 of 100 is not 28.
        (0.29, None, 290),
    ] {
        let mut spec = TaskSpec {
            epsilon: 0.5,
            ..commute()
        };
        spec.round.colluding = colluding;
        spec.round.check_in = check_in.map(f64::into);
        let task = Task::new(spec.clone()).unwrap();
        let of = |made_up| task.guarantee_of_batch(1000, made_up).unwrap();
        let promise = task.guarantee().unwrap();
        for made_up in [0, allowed / 2, allowed] {
            let kept = of(made_up);
            assert!(kept.holds && !kept.local && kept.allowed == allowed);
            assert_eq!(kept.sentences(), promise.sentences());
            assert_eq!(kept.trusted, promise.trusted);
            assert_eq!(&kept.certified, task.answer());
        }
        let mut before = task.answer().upper().value();
        for made_up in [allowed + 1, 600, 900, 990] {
            let broken = of(made_up);
            let price = broken.certified.upper().value();
            assert_eq!(price, upper(&spec, 1000 - made_up), "{made_up}");
            assert!(price > before && price < 2.0, "{made_up}: {price}");
            assert_eq!(broken.holds, price <= 0.5);
            assert_ne!(broken.trusted, promise.trusted);
            let text = broken.sentences().join(" ");
            assert_eq!(text.contains("DOES NOT HOLD"), price > 0.5, "{text}");
            assert!(
                text.contains(&format!("{made_up} of the 1,000 reports")),
                "{text}"
            );
            assert!(
                text.contains("All windows of a device together cost more"),
                "{text}"
            );
            before = price;
        }
        // Two honest people hide each other a little; one has the local guarantee, epsilon0 = 2.
        for made_up in [999, 1000] {
            let alone = of(made_up);
            let price = alone.certified.upper().value();
            assert!(alone.local && !alone.holds && price > before, "{price}");
            assert!((1.99..=2.0 + 1e-9).contains(&price), "{price}");
            assert!(alone.sentences()[1].contains("local guarantee"));
        }
        // Of two others one may collude: one is left.
        assert_eq!(of(998).local, colluding > 0.0, "{colluding}");
    }
    let task = Task::new(commute()).unwrap();
    // A batch that is larger than it has to be has room for them, and costs no more in all windows.
    let large = task.guarantee_of_batch(5000, 4000).unwrap();
    assert!(large.holds && &large.certified == task.answer());
    let text = large.sentences().join(" ");
    assert!(
        text.contains("holds all the same") && text.contains("at most 30 windows of this task"),
        "{text}"
    );
    for (reports, made_up, message) in [
        (
            999,
            0,
            "reports 999 is not at least the smallest batch of the task",
        ),
        (
            1000,
            1001,
            "made_up 1001 is not at most the reports of the batch",
        ),
    ] {
        let refused = task.guarantee_of_batch(reports, made_up).unwrap_err();
        assert_eq!(refused.to_string(), message);
    }
}

/// The promise is about one task; and a coin hides a person only as long as nobody knows what it said.
#[test]
fn the_promise_says_whom_it_counts_on() {
    let mut spec = commute();
    spec.round.check_in = Some(0.1.into());
    let promise = Task::new(spec.clone()).unwrap().guarantee().unwrap();
    let text = [promise.sentences(), promise.trusted].concat().join(" ");
    for words in [
        "at most 30 windows of this task",
        "other tasks adds to it",
        "delta is 1/0.1 times as large",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    spec.round.rounds = 1;
    let sentences = Task::new(spec).unwrap().guarantee().unwrap().sentences();
    assert!(sentences[1].contains("one window of this task"));
}
