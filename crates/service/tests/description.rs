//! The description in `docs/openapi.json` and what a running shuffler answers: every status that is seen is
//! described, every body has the described form, and what is described is seen.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::{NOTHING, Place, SMALLEST, Server};
use serde_json::{Map, Value};
use shuffledp_protocol::envelope::{envelope_length, seal, seal_probe};
use shuffledp_randomizers::Secure;
use shuffledp_service::AwsLc;
use shuffledp_service::server::access::new_token;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;

/// Statuses that a test cannot bring about without a slow network, a broken disk or a wrong clock.
const NOT_TRIED: &[(&str, &str)] = &[("", "408"), ("", "503"), ("get /v1/tasks/{task}", "410")];

/// Whether a value has the form of a schema: as much of JSON Schema as the description uses.
fn check(all: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what}: {value} is not of {schema}"));
    let mut known = Map::new();
    for (key, rule) in schema.as_object().unwrap() {
        match key.as_str() {
            "$ref" => {
                let path = rule.as_str().unwrap().trim_start_matches('#');
                check(all, all.pointer(path).unwrap(), value)?;
                return Ok(());
            }
            "type" => {
                let kinds: Vec<&str> = match rule {
                    Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                    one => one.as_str().into_iter().collect(),
                };
                let is = |kind: &&str| match *kind {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_u64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("type {other}"),
                };
                if !kinds.iter().any(is) {
                    return wrong("type");
                }
            }
            "anyOf" => {
                let mut forms = rule.as_array().unwrap().iter();
                if !forms.any(|form| check(all, form, value).is_ok()) {
                    return wrong("anyOf");
                }
            }
            "enum" if !rule.as_array().unwrap().contains(value) => return wrong("enum"),
            "pattern" => {
                // The one pattern that there is: a hash.
                assert_eq!(rule, "^[0-9a-f]{64}$");
                let digits =
                    |text: &str| text.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
                if !value
                    .as_str()
                    .is_none_or(|text| text.len() == 64 && digits(text))
                {
                    return wrong("pattern");
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                        return wrong("required");
                    }
                }
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(all, rule, item)?;
                }
            }
            "properties" => {
                known = rule.as_object().unwrap().clone();
                for (name, rule) in &known {
                    if let Some(part) = value.get(name) {
                        check(all, rule, part)?;
                    }
                }
            }
            "minimum" | "maximum" | "description" | "format" | "enum" | "additionalProperties" => {}
            other => panic!("the test does not know {other}"),
        }
    }
    // Where the parts of an object are listed, there are no others.
    let listed = |name: &String| known.contains_key(name);
    match value.as_object() {
        Some(parts) if !known.is_empty() && !parts.keys().all(listed) => wrong("another part"),
        _ => Ok(()),
    }
}

/// A request by hand, which is sent as it is: status, headers, body.
fn request(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, BTreeMap<String, String>, Vec<u8>) {
    let (address, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let (method, mut head) = (method.to_uppercase(), String::new());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !head.contains("Transfer-Encoding") && !head.contains("Content-Length") {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    let head =
        format!("{method} /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{head}\r\n");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_lowercase(), value.to_owned())
    });
    (status, headers.collect(), answer[end + 4..].to_vec())
}

struct Compared {
    described: Value,
    seen: BTreeSet<(String, String)>,
}

impl Compared {
    /// Makes a request and compares its answer; gives the status and the body.
    fn ask(
        &mut self,
        (method, path, base): (&str, &str, &str),
        parts: &[(&str, &str)],
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let mut url = format!("{base}{path}");
        for (name, part) in parts {
            url = url.replace(&format!("{{{name}}}"), part);
        }
        let (status, answered, bytes) = request(method, &url, headers, body);
        let kind = answered.get("content-type");
        let has_wait = answered.contains_key("retry-after");
        let what = format!("{method} {path} {status}");
        let operation = &self.described["paths"][path][method];
        let answer = &operation["responses"][status.to_string()];
        assert!(answer.is_object(), "{what} is not described");
        match (&answer["content"], kind) {
            (Value::Null, None) => assert!(bytes.is_empty(), "{what} has a body"),
            (content, Some(kind)) => {
                let kind = kind.split(';').next().unwrap();
                let schema = &content[kind]["schema"];
                assert!(schema.is_object(), "{what} of {kind} is not described");
                if kind == "application/json" {
                    let value: Value = serde_json::from_slice(&bytes).unwrap();
                    check(&self.described, schema, &value)
                        .unwrap_or_else(|error| panic!("{what}: {error}"));
                }
            }
            other => panic!("{what}: {other:?}"),
        }
        let describes_wait = answer["headers"]["Retry-After"].is_object();
        assert_eq!(has_wait, describes_wait, "{what}: Retry-After");
        self.seen
            .insert((format!("{method} {path}"), status.to_string()));
        (status, bytes)
    }
}

#[test]
fn what_is_answered_is_what_is_described() {
    let text = include_str!("../../../docs/openapi.json");
    let mut compared = Compared {
        described: serde_json::from_str(text).unwrap(),
        seen: BTreeSet::new(),
    };
    let place = Place::new(|_, _| ());
    let (task, mut random) = (&place.task, Secure::new().unwrap());
    let (operator_token, hash) = new_token().unwrap();
    let bearer = format!("Bearer {}", *operator_token);
    let operator = [("Authorization", bearer.as_str())];
    let server = Server::start_with(&place, |config| {
        config.operator_token_sha256 = Some(hash);
        config.limits.envelopes_in_window = SMALLEST;
        config.limits.envelopes_in_request = 10;
    });
    let server = server.unwrap();
    let (public, private) = (server.url.clone(), server.operator.clone());
    let (id, other) = (task.id().to_string(), "11".repeat(32));
    let key = server.service.active_key().unwrap();
    let mut sealed = |window| seal(&AwsLc, task, &key, window, NOTHING, &[1], &mut random).unwrap();

    let reports = ("post", "/v1/tasks/{task}/reports", public.as_str());
    let [ours, theirs] = [&id, &other].map(|task| [("task", task.as_str())]);
    let full: Vec<u8> = (0..SMALLEST).flat_map(|_| sealed(0)).collect();
    for (parts, body, status) in [
        (&ours, full, 202),
        (&ours, sealed(0), 503),
        (&ours, sealed(9), 503),
        (&ours, vec![1], 400),
        (&ours, vec![1; envelope_length(task)], 503),
        (&theirs, sealed(0), 404),
    ] {
        assert_eq!(compared.ask(reports, parts, &[], &body).0, status);
    }
    let unknown_length = [("Transfer-Encoding", "chunked")];
    assert_eq!(
        compared
            .ask(reports, &ours, &unknown_length, b"0\r\n\r\n")
            .0,
        411
    );
    let length = (11 * envelope_length(task)).to_string();
    let too_long = [("Content-Length", length.as_str())];
    assert_eq!(compared.ask(reports, &ours, &too_long, &[]).0, 413);
    let (probe, _) = seal_probe(&AwsLc, task, &key, 1, &mut Secure::new().unwrap()).unwrap();

    let now = ("get", "/v1/tasks/{task}", public.as_str());
    assert_eq!(compared.ask(now, &ours, &[], &[]).0, 200);
    assert_eq!(compared.ask(now, &theirs, &[], &[]).0, 404);

    let closing = "/v1/tasks/{task}/windows/{window}/closing";
    let closing = ("post", closing, private.as_str());
    for (task, window, headers, status) in [
        (&id, "0", &[][..], 401),
        (&id, "0", &operator[..], 200),
        (&id, "0", &operator[..], 409),
        (&id, "x", &operator[..], 404),
        (&other, "0", &operator[..], 404),
    ] {
        let parts = [("task", task.as_str()), ("window", window)];
        assert_eq!(compared.ask(closing, &parts, headers, &[]).0, status);
    }
    assert_eq!(compared.ask(reports, &ours, &[], &sealed(0)).0, 410);
    assert_eq!(compared.ask(reports, &ours, &[], &sealed(1)).0, 202);
    assert_eq!(compared.ask(reports, &ours, &[], &probe).0, 202);
    // A window with a batch that is too small.
    let parts = [("task", id.as_str()), ("window", "1")];
    assert_eq!(compared.ask(closing, &parts, &operator, &[]).0, 200);

    let analyzer = format!("Bearer {}", server.token);
    let analyzer = [("Authorization", analyzer.as_str())];
    let batches = ("get", "/v1/tasks/{task}/batches", public.as_str());
    assert_eq!(compared.ask(batches, &ours, &[], &[]).0, 401);
    let (status, listed) = compared.ask(batches, &ours, &analyzer, &[]);
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    assert_eq!(
        (status, listed["batches"].as_array().unwrap().len()),
        (200, 1)
    );
    let nothing = NOTHING.to_string();
    let of = |window| {
        [
            ("task", id.as_str()),
            ("window", window),
            ("context", nothing.as_str()),
        ]
    };
    let batch = "/v1/tasks/{task}/batches/{window}/{context}";
    let batch = ("get", batch, public.as_str());
    for (window, headers, status) in [
        ("0", &[][..], 401),
        ("0", &analyzer[..], 200),
        ("1", &analyzer[..], 404),
    ] {
        assert_eq!(compared.ask(batch, &of(window), headers, &[]).0, status);
    }
    let acknowledged = "/v1/tasks/{task}/batches/{window}/{context}/acknowledgement";
    let acknowledged = ("post", acknowledged, public.as_str());
    let digest = listed["batches"][0]["digest"].as_str().unwrap();
    let [right, wrong] = [digest, &other].map(|digest| format!("{{\"digest\":\"{digest}\"}}"));
    for (window, headers, body, status) in [
        ("0", &[][..], right.as_str(), 401),
        ("0", &analyzer[..], "{}", 400),
        ("0", &analyzer[..], wrong.as_str(), 409),
        ("0", &analyzer[..], right.as_str(), 200),
        ("7", &analyzer[..], right.as_str(), 404),
    ] {
        let answer = compared.ask(acknowledged, &of(window), headers, body.as_bytes());
        assert_eq!(answer.0, status);
    }
    let probes = ("get", "/v1/tasks/{task}/probes/{window}", public.as_str());
    for (window, status) in [("1", 200), ("0", 200), ("2", 409), ("x", 404)] {
        let parts = [("task", id.as_str()), ("window", window)];
        assert_eq!(compared.ask(probes, &parts, &[], &[]).0, status);
    }
    for accept in ["application/json", "text/html"] {
        let guarantee = ("get", "/guarantee", public.as_str());
        assert_eq!(
            compared.ask(guarantee, &[], &[("Accept", accept)], &[]).0,
            200
        );
    }
    for path in ["/healthz", "/readyz"] {
        for base in [&public, &private] {
            assert_eq!(compared.ask(("get", path, base), &[], &[], &[]).0, 200);
        }
    }
    let context = "/v1/tasks/{task}/contexts/{context}";
    let context = ("post", context, private.as_str());
    let named = [("task", id.as_str()), ("context", other.as_str())];
    assert_eq!(compared.ask(context, &named, &[], &[]).0, 401);
    assert_eq!(compared.ask(context, &named, &operator, &[]).0, 200);
    let unnamed = [("task", id.as_str()), ("context", "x")];
    assert_eq!(compared.ask(context, &unnamed, &operator, &[]).0, 404);
    let probes = shuffledp_protocol::envelope::PROBES.to_string();
    let of_probes = [("task", id.as_str()), ("context", probes.as_str())];
    assert_eq!(compared.ask(context, &of_probes, &operator, &[]).0, 409);
    let of_operators = [
        ("get", "/metrics"),
        ("get", "/v1/journal"),
        ("post", "/v1/keys/rotation"),
        ("post", "/v1/clock/confirmation"),
    ];
    for (method, path) in of_operators {
        let asked = (method, path, private.as_str());
        assert_eq!(compared.ask(asked, &[], &[], &[]).0, 401);
        assert_eq!(compared.ask(asked, &[], &operator, &[]).0, 200);
    }
    drop(server);

    // Without a token, pages in a browser are turned away.
    let server = Server::start(&place);
    let page = [("Origin", "https://example.org")];
    let closing = "/v1/tasks/{task}/windows/{window}/closing";
    let context = "/v1/tasks/{task}/contexts/{context}";
    for (method, path) in of_operators
        .into_iter()
        .chain([("post", closing), ("post", context)])
    {
        let parts = [
            ("task", id.as_str()),
            ("window", "2"),
            ("context", other.as_str()),
        ];
        let asked = (method, path, server.operator.as_str());
        assert_eq!(compared.ask(asked, &parts, &page, &[]).0, 403);
    }
    drop(server);

    // What is described and was not seen.
    for (path, methods) in compared.described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            for status in operation["responses"].as_object().unwrap().keys() {
                let name = format!("{method} {path}");
                let not_tried = NOT_TRIED
                    .iter()
                    .any(|(of, not)| not == status && (of.is_empty() || *of == name));
                let seen = compared.seen.contains(&(name.clone(), status.clone()));
                assert!(
                    seen || not_tried,
                    "{name} {status} is described and was not seen"
                );
            }
        }
    }
}
