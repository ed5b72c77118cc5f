//! What is printed with `--format json` is what the schema of answers says, for every command; and the schema
//! says no more and no less than the library's types.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod running;

use running::Shuffler;
use serde_json::{Map, Value, json};
use shuffledp::{Relation, Side, Standing};
use std::path::Path;
use std::process::Command;

/// Every command in every shape of its answer, by its definition in the schema.
const ANSWERS: &[(&str, &str)] = &[
    ("epsilon", "epsilon --epsilon0 1 --users 1000 --delta 1e-6"),
    (
        "epsilon",
        "epsilon --plan plans/two_kinds.toml --delta 1e-6",
    ),
    (
        "epsilon",
        "epsilon --plan plans/random_allocation.toml --delta 1e-6",
    ),
    (
        "epsilon",
        "epsilon --randomizer some-ldp --epsilon0 1 --users 1000 --delta 1e-6",
    ),
    (
        "epsilon",
        "epsilon --epsilon0 1 --users 1000 --check-in 0.1..0.2 --rounds 2 --delta 1e-6",
    ),
    (
        "epsilon",
        "epsilon --randomizer krr --k 4 --epsilon0 0.5..2 --users 1000 --delta 1e-6",
    ),
    (
        "epsilon",
        "epsilon --plan plans/own_epsilon0.toml --delta 1e-6",
    ),
    ("delta", "delta --epsilon0 1 --users 1000 --epsilon 0.1"),
    ("rdp", "rdp --epsilon0 1 --users 1000 --orders 2,8"),
    ("compare", "compare --epsilon0 1 --users 1000 --delta 1e-6"),
    (
        "compare",
        "compare --randomizer krr --k 4 --epsilon0 1 --users 1000 --rounds 4 --delta 1e-6",
    ),
    (
        "calibrate",
        "calibrate --users 1000 --target-epsilon 0.5 --delta 1e-6 --solve epsilon0",
    ),
    (
        "calibrate",
        "calibrate --epsilon0 1 --target-epsilon 0.5 --delta 1e-6 --solve users",
    ),
    (
        "calibrate",
        "calibrate --epsilon0 1 --users 1000 --target-epsilon 1 --delta 1e-6 --solve rounds",
    ),
    (
        "calibrate",
        "calibrate --epsilon0 1 --users 1000 --target-epsilon 1 --delta 1e-6 --solve check-in",
    ),
    (
        "calibrate",
        "calibrate --randomizer some-ldp --users 99 --target-epsilon 1 --delta 1e-6 --solve epsilon0",
    ),
    (
        "curve",
        "curve --epsilon0 1 --users 1000 --delta 1e-6 --over rounds --from 1 --to 9 --points 2",
    ),
    (
        "curve",
        "curve --epsilon0 1 --users 1000 --epsilon 0.1 --over check-in --from 0.1 --to 1 --points 2",
    ),
    (
        "curve",
        "curve --epsilon0 1 --delta 1e-6 --over users --from 100 --to 900 --points 2",
    ),
    (
        "curve",
        "curve --epsilon0 1 --users 1000 --over delta --from 1e-6 --to 1e-5 --points 2 --bounds all",
    ),
    (
        "curve",
        "curve --epsilon0 1 --users 1000 --over epsilon --from 0.1 --to 0.2 --points 2",
    ),
    (
        "curve",
        "curve --epsilon0 1 --users 1000 --over order --from 2 --to 9 --points 2",
    ),
    (
        "simulate",
        "simulate histogram --input simulate.in/people.csv --column city --epsilon0 1 --seed 1",
    ),
    (
        "simulate",
        "simulate mean --input simulate.in/people.csv --column age --range 0..120 --epsilon0 1 --truth",
    ),
    (
        "simulate",
        "simulate quantiles --input simulate.in/people.csv --column age --range 0..120 --epsilon0 4 --seed 1",
    ),
    (
        "simulate",
        "simulate heavy-hitters --input simulate.in/people.csv --column city --epsilon0 4 --users 1e5 \
         --seed 1",
    ),
    (
        "audit",
        "audit --randomizer rr --epsilon0 1 --users 10 --trials 1000 --seed 1",
    ),
    (
        "audit",
        "audit --randomizer rr --epsilon0 1 --users 10 --trials 1000 --break no-shuffle",
    ),
    ("train", "train --demo --rounds 1 --sample 40 --seed 1"),
    (
        "train",
        "train --demo --rounds 2 --sample 40 --schedule steps --steps 2=0.1 --seed 1",
    ),
    (
        "search",
        "train --demo --rounds 1 --sample 200 --validation 0.2 --search rate=0.1,0.3 --seed 1",
    ),
    (
        "search",
        "train --demo --rounds 1 --algorithm none --sample 200 --public --search clip=0.5,1 --seed 1",
    ),
    (
        "train",
        "train --demo --rounds 1 --algorithm check-in --check-in 0.01..0.02 --dropout 0.1 --per-user 2",
    ),
    (
        "train",
        "train --demo --randomizer auto --target-epsilon 1 --reports 20000 --rounds 2 --max-epsilon0 3",
    ),
    (
        "train",
        "train --demo --rounds 1 --sample 40 --algorithm none",
    ),
    (
        "train",
        "train --demo --rounds 1 --algorithm central --seed 1",
    ),
    (
        "predict",
        "predict --model predict.in/model --data predict.in/trees.csv",
    ),
    ("error", "epsilon --epsilon0 1 --users 1000 --delta 2"),
    ("error", "epsilon --epsilon0 1 --users 1000"),
    (
        "error",
        "simulate mean --input no.csv --column age --range 0..120 --epsilon0 1",
    ),
];

/// The three parties of a collection, in the order in which they act in one folder.
const PARTIES: &[(&str, &str)] = &[
    ("keys", "keys shuffler"),
    ("keys", "keys analyzer"),
    (
        "task",
        "task new --name smokers --randomizer rr --epsilon0 1 --labels no,yes --users 2 --check-in 0.999999 \
         --rounds 3 --target-epsilon 1 --delta 1e-6 --analyzer-key analyzer.pub --out task.json",
    ),
    ("task", "task show task.json"),
    (
        "report",
        "report --task task.json --shuffler-key shuffler-1.pub --window 7 --value yes --ledger ledger.json \
         --out inbox/one",
    ),
    (
        "report",
        "report --task task.json --ledger ledger.json --status",
    ),
    (
        "report",
        "report --task task.json --ledger ledger.json --lifetime-epsilon 3 --lifetime-alone 9 \
         --at-least-users 2 --at-most-epsilon 1 --status",
    ),
    (
        "error",
        "report --task task.json --shuffler-key shuffler-1.pub --window 9 --value yes --ledger strict.json \
         --at-least-users 3 --out inbox/refused",
    ),
    (
        "report",
        "report --task task.json --shuffler-key shuffler-1.pub --window 7 --input people.csv --column smokes \
         --out inbox/many",
    ),
    (
        "report",
        "report --task task.json --shuffler-key shuffler-1.pub --window 8 --value no --ledger ledger.json \
         --out inbox/two",
    ),
    (
        "probe",
        "probe send --task task.json --shuffler-key shuffler-1.pub --window 7 --count 2 --record probes.json \
         --out inbox/probes",
    ),
    (
        "shuffle",
        "shuffle --task task.json --key shuffler-1.key --input inbox --out batches",
    ),
    (
        "shuffle",
        "shuffle --task task.json --key shuffler-1.key --input inbox --out elsewhere",
    ),
    (
        "analyze",
        "analyze --task task.json --key analyzer.key batches/window-7.batch",
    ),
    (
        "error",
        "analyze --task task.json --key shuffler-1.key batches/window-7.batch",
    ),
    (
        "probe",
        "probe check --task task.json --record probes.json --published batches/window-7.probes",
    ),
    ("keys", "keys token --out analyzer"),
    (
        "keys",
        "keys issuer --windows 2 --first-window 7 --out issuer",
    ),
    (
        "task",
        "task new --name members --randomizer rr --epsilon0 1 --labels no,yes --users 2 --target-epsilon 1 \
         --delta 1e-6 --analyzer-key analyzer.pub --token-issuer issuer/issuer.pub --out members.json",
    ),
    (
        "token",
        "token request --task members.json --window 8 --wallet wallet.json --out request.json",
    ),
    (
        "token",
        "token sign --task members.json --key issuer/issuer.key --person me --out answer.json request.json",
    ),
    (
        "error",
        "token request --task members.json --window 9 --wallet wallet.json --out no.json",
    ),
    (
        "token",
        "token finish --task members.json --wallet wallet.json answer.json",
    ),
    (
        "report",
        "report --task members.json --shuffler-key shuffler-1.pub --window 8 --value yes --ledger \
         members-ledger.json --wallet wallet.json --out inbox/member",
    ),
    (
        "error",
        "report --task members.json --shuffler-key shuffler-1.pub --window 7 --value yes --ledger \
         members-ledger.json --out inbox/nobody",
    ),
    ("keys", "keys second-shuffler"),
    (
        "task",
        "task new --name chain --randomizer rr --epsilon0 1 --labels no,yes --users 2 --target-epsilon 1 \
         --delta 1e-6 --analyzer-key analyzer.pub --second-shuffler second-shuffler.pub --out chain.json",
    ),
    (
        "report",
        "report --task chain.json --shuffler-key shuffler-1.pub --window 0 --input people.csv \
         --column smokes --out chain/many",
    ),
    (
        "shuffle",
        "shuffle --task chain.json --key shuffler-1.key --input chain --out handed",
    ),
    (
        "shuffle",
        "shuffle --task chain.json --second-key second-shuffler.key --input handed/window-0.handed --out \
         released",
    ),
    (
        "analyze",
        "analyze --task chain.json --key analyzer.key released/window-0.batch",
    ),
    (
        "error",
        "analyze --task chain.json --key analyzer.key handed/window-0.handed",
    ),
    ("keys", "keys master --out shuffler/master-2.key --number 2"),
    ("error", "keys master --out shuffler/master-2.key"),
    ("error", "keys master"),
    ("error", "keys analyzer --number 2 --out another"),
    ("error", "keys shuffler --number 256 --out another"),
    ("analyze", "demo --devices 1000"),
];

/// What devices and the analyzer ask a running shuffler, before and after its window is closed.
const OVER_THE_NETWORK: [&[(&str, &str)]; 2] = [
    &[
        (
            "report",
            "report --task task.json --to URL --shuffler-key keys/shuffler-1.pub --value yes --ledger \
             ledger.json",
        ),
        (
            "report",
            "report --task task.json --to URL --value no --ledger other.json --cover",
        ),
        (
            "error",
            "report --task task.json --to URL --value yes --ledger ledger.json",
        ),
        (
            "probe",
            "probe send --task task.json --to URL --count 2 --record probes.json",
        ),
        (
            "error",
            "probe check --task task.json --from URL --record probes.json --window 0",
        ),
        (
            "analyzer",
            "analyzer fetch --task task.json --from URL --token token --out early",
        ),
    ],
    &[
        (
            "analyzer",
            "analyzer fetch --task task.json --from URL --token token --out batches",
        ),
        (
            "probe",
            "probe check --task task.json --from URL --record probes.json --window 0",
        ),
        (
            "analyze",
            "analyzer estimate --task task.json --from URL --token token --key analyzer.key",
        ),
        (
            "analyzer",
            "analyzer ack --task task.json --from URL --token token batches/window-0.batch",
        ),
        (
            "error",
            "analyzer fetch --task task.json --from URL --token task.json --out batches",
        ),
        (
            "error",
            "report --task task.json --to URL --window 0 --value yes --ledger third.json",
        ),
    ],
];

fn shuffledp(words: &str, more: &[&str]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands");
    shuffledp_in(folder.as_ref(), words, more)
}

fn shuffledp_in(folder: &Path, words: &str, more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .args(words.split_whitespace())
        .args(more)
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The two schemas, which refer to each other by the names of their files.
struct Schemas {
    answer: Value,
    round: Value,
}

impl Schemas {
    fn read() -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../accounting/schema");
        let read = |name: &str| {
            let text = std::fs::read_to_string(format!("{folder}/{name}.schema.json")).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        Self {
            answer: read("answer"),
            round: read("round"),
        }
    }

    /// What is wrong with an answer, by a definition of the schema of answers.
    fn wrong(&self, definition: &str, value: &Value) -> Option<String> {
        let schema = &self.answer["$defs"][definition];
        assert!(schema.is_object(), "no definition {definition}");
        self.check(schema, value, definition).err()
    }

    /// Draft 2020-12, the keywords that the two schemas use; any other is refused.
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let schema = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => return Err(format!("{at} may not be there")),
            Value::Object(schema) => schema,
            other => panic!("{other} is not a schema"),
        };
        let number = value.as_f64();
        let fail = |what: String| Err(format!("{at}: {value} {what}"));
        for (keyword, rule) in schema {
            match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "default" => {}
                "properties" | "additionalProperties" | "then" => {}
                "$ref" => self.check(self.resolve(rule.as_str().unwrap()), value, at)?,
                "type" => {
                    let types = rule
                        .as_array()
                        .cloned()
                        .unwrap_or_else(|| vec![rule.clone()]);
                    if !types.iter().any(|name| is(name.as_str().unwrap(), value)) {
                        return fail(format!("is not {rule}"));
                    }
                }
                "enum" if !rule.as_array().unwrap().contains(value) => {
                    return fail(format!("is none of {rule}"));
                }
                "const" if rule != value => return fail(format!("is not {rule}")),
                "enum" | "const" => {}
                "required" => {
                    for name in rule.as_array().unwrap() {
                        if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                            return fail(format!("lacks {name}"));
                        }
                    }
                }
                "items" => {
                    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}[{place}]"))?;
                    }
                }
                "minItems" | "maxItems" => {
                    let (length, limit) = (value.as_array().map(Vec::len), rule.as_u64().unwrap());
                    let inside = length.is_none_or(|length| match keyword.as_str() {
                        "minItems" => length as u64 >= limit,
                        _ => length as u64 <= limit,
                    });
                    if !inside {
                        return fail(format!("has not {keyword} {rule}"));
                    }
                }
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                    let limit = rule.as_f64().unwrap();
                    let inside = number.is_none_or(|number| match keyword.as_str() {
                        "minimum" => number >= limit,
                        "maximum" => number <= limit,
                        "exclusiveMinimum" => number > limit,
                        "exclusiveMaximum" => number < limit,
                        _ => number % limit == 0.0,
                    });
                    if !inside {
                        return fail(format!("is not within {keyword} {rule}"));
                    }
                }
                "allOf" => {
                    for rule in rule.as_array().unwrap() {
                        self.check(rule, value, at)?;
                    }
                }
                "anyOf" | "oneOf" => {
                    let tried = rule.as_array().unwrap().iter();
                    let tried: Vec<_> = tried.map(|rule| self.check(rule, value, at)).collect();
                    let fitting = tried.iter().filter(|result| result.is_ok()).count();
                    if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                        return fail(format!("has {fitting} of {keyword}: {tried:?}"));
                    }
                }
                "if" => {
                    if self.check(rule, value, at).is_ok() {
                        self.check(&schema["then"], value, at)?;
                    }
                }
                other => panic!("{at}: the keyword {other} is not checked"),
            }
        }
        let none = Map::new();
        let named = schema
            .get("properties")
            .map_or(&none, |all| all.as_object().unwrap());
        for (name, field) in value.as_object().into_iter().flatten() {
            let rest = schema.get("additionalProperties");
            if let Some(rule) = named.get(name).or(rest) {
                self.check(rule, field, &format!("{at}.{name}"))?;
            }
        }
        Ok(())
    }

    fn resolve(&self, name: &str) -> &Value {
        match name.strip_prefix("#/$defs/") {
            Some(definition) => &self.answer["$defs"][definition],
            None => {
                assert_eq!(name, "round.schema.json");
                &self.round
            }
        }
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is not a type"),
    }
}

#[test]
fn so_are_the_answers_of_three_parties() {
    let schemas = Schemas::read();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.csv"), "smokes\nyes\nno\nno\n").unwrap();
    for (definition, line) in PARTIES {
        let answer = shuffledp_in(folder.path(), line, &["--format", "json"]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(schemas.wrong(definition, &answer), None, "{line}");
        let mut more = answer;
        more["surplus"] = json!(1);
        assert!(schemas.wrong(definition, &more).is_some(), "{line}");
    }
}

#[test]
fn and_the_answers_over_the_network() {
    let schemas = Schemas::read();
    let folder = tempfile::tempdir().unwrap();
    let ask = |line: &str| shuffledp_in(folder.path(), line, &["--format", "json"]);
    ask("keys analyzer");
    let token: Value = serde_json::from_str(&ask("keys token")).unwrap();
    let task = ask(
        "task new --name smokers --randomizer rr --epsilon0 1 --labels no,yes --users 2 --target-epsilon 1 \
         --delta 1e-6 --analyzer-key analyzer.pub --out task.json",
    );
    let task: Value = serde_json::from_str(&task).unwrap();
    running::configure(folder.path(), token["sha256"].as_str().unwrap());
    let mut shuffler = Shuffler::start(folder.path());
    for (part, lines) in OVER_THE_NETWORK.iter().enumerate() {
        for (definition, line) in *lines {
            let line = line.replace("URL", &format!("http://{}", shuffler.public));
            let answer: Value = serde_json::from_str(&ask(&line)).unwrap();
            assert_eq!(schemas.wrong(definition, &answer), None, "{line}: {answer}");
        }
        if part == 0 {
            let answer = shuffler.close_window(task["id"].as_str().unwrap());
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert!(
                answer.contains("\"state\":\"sealed\",\"reports\":2"),
                "{answer}"
            );
        }
    }
    // Asked to stop, it ends in order.
    let id = shuffler.child.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert!(shuffler.child.wait().unwrap().success());
}

#[test]
fn every_answer_is_what_the_schema_says() {
    let schemas = Schemas::read();
    for (definition, line) in ANSWERS {
        let answer: Value = serde_json::from_str(&shuffledp(line, &["--format", "json"])).unwrap();
        assert_eq!(schemas.wrong(definition, &answer), None, "{line}");
        let whole = schemas.check(&schemas.answer, &answer, "answer");
        assert_eq!(whole, Ok(()), "{line}");
        if *definition == "error" {
            continue;
        }
        for field in ["version", "relation", "query"] {
            let mut lacking = answer.clone();
            lacking.as_object_mut().unwrap().remove(field).unwrap();
            assert!(
                schemas.wrong(definition, &lacking).is_some(),
                "{line}: {field}"
            );
        }
        let mut more = answer.clone();
        more["surplus"] = json!(1);
        assert!(schemas.wrong(definition, &more).is_some(), "{line}");
        // With the value that was found, or the first of those that vary, a question is whole.
        let open = match *definition {
            "calibrate" => answer["solve"].as_str(),
            "curve" => answer["over"].as_str(),
            _ => None,
        };
        if let Some(name) = open.filter(|name| !["epsilon", "delta", "order"].contains(name)) {
            let mut question = answer["query"].clone();
            assert!(question.get(name).is_none(), "{line}");
            let value = &answer[name];
            question[name] = value.get(0).unwrap_or(value).clone();
            assert_eq!(
                schemas.check(&schemas.round, &question, "query"),
                Ok(()),
                "{line}"
            );
        }
    }
}

/// A command that prints JSON and is not tried above would go unseen.
#[test]
fn every_command_that_prints_json_is_tried() {
    let names = |words: &str| {
        let help = shuffledp(words, &["--help"]);
        let (_, list) = help.split_once("Commands:\n").unwrap();
        let list = list.split("\n\n").next().unwrap();
        let names = list.lines().filter(|line| !line.starts_with("    "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        let names = names.filter(|name| *name != "help");
        names
            .map(|name| format!("{words} {name}").trim().to_owned())
            .collect::<Vec<_>>()
    };
    let mut commands = names("");
    commands.extend(names("simulate"));
    commands.extend(names("analyzer"));
    commands.extend(names("token"));
    commands.extend(names("probe"));
    let mut printing = 0;
    for command in commands {
        if shuffledp(&command, &["--help"]).contains("--format") {
            let tried = ANSWERS
                .iter()
                .chain(PARTIES)
                .chain(OVER_THE_NETWORK.into_iter().flatten())
                .any(|(name, line)| *name != "error" && line.starts_with(&format!("{command} ")));
            assert!(tried, "{command}");
            printing += 1;
        }
    }
    assert_eq!(printing, 26);
}

#[test]
fn names_are_those_of_the_library() {
    let definitions = &Schemas::read().answer["$defs"];
    let relations = [
        Relation::Replace,
        Relation::ReplaceByNothing,
        Relation::AddOrRemove,
    ];
    assert_eq!(definitions["relation"]["enum"], json!(relations));
    assert_eq!(
        definitions["side"]["enum"],
        json!([Side::Upper, Side::Lower])
    );
    let standings = [
        Standing::Certified,
        Standing::Proved,
        Standing::Conjectured,
        Standing::Asymptotic,
        Standing::Refuted,
    ];
    assert_eq!(definitions["standing"]["enum"], json!(standings));
}

/// The check finds what it should: each of these is wrong in one place.
#[test]
fn wrong_answers_are_told_from_right_ones() {
    let schemas = Schemas::read();
    let line = "epsilon --epsilon0 1 --users 1000 --delta 1e-6";
    let answer: Value = serde_json::from_str(&shuffledp(line, &["--format", "json"])).unwrap();
    for (place, value) in [
        ("/relation", json!("replaced")),
        ("/relation", Value::Null),
        ("/delta", json!("1e-6")),
        ("/epsilon/upper", Value::Null),
        ("/upper/standing", json!("sure")),
        ("/query/users", json!(1)),
        ("/query/randomizer", json!("kr")),
        ("/query/epsilon0", json!("1")),
        ("/numerics/kind", json!("guess")),
    ] {
        let mut wrong = answer.clone();
        *wrong.pointer_mut(place).unwrap() = value;
        assert!(schemas.wrong("epsilon", &wrong).is_some(), "{place}");
    }
}
