//! What a shuffler promises, as data and as a page for people.

use super::{Served, Service};
use axum::http::HeaderValue;
use data_encoding::BASE64;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Who computed the numbers.
pub(super) const ACCOUNTANT: &str = concat!("shuffledp ", env!("CARGO_PKG_VERSION"));

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;\
    color:#1b1b1b;background:#fff}code{overflow-wrap:anywhere}\
    @media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}}";

/// The promise of a task as data.
pub(super) fn statement(served: &Served) -> Value {
    let task = &served.open.task;
    json!({
        "task": task.id(),
        "name": task.spec().name,
        "round": task.spec().round,
        "window_seconds": task.spec().window_seconds,
        "guarantee": served.guarantee,
        "sentences": served.guarantee.sentences(),
    })
}

/// The promises of all tasks as a page, and its security policy: nothing is loaded, nothing runs.
pub(super) fn guarantee(service: &Service) -> (String, HeaderValue) {
    let mut html = String::from("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.push_str(
        "<meta name=\"viewport\" content=\"width=device-width\"><title>What is promised</title>",
    );
    // Writing to memory cannot fail.
    let _ = write!(
        html,
        "<style>{STYLE}</style></head><body><h1>What is promised</h1>"
    );
    for served in service.tasks.values() {
        let (task, guarantee) = (&served.open.task, &served.guarantee);
        let _ = write!(html, "<section><h2>{}</h2>", escaped(&task.spec().name));
        for sentence in guarantee.sentences() {
            let _ = write!(html, "<p>{}</p>", escaped(&sentence));
        }
        html.push_str("<h3>What has to be trusted</h3><ul>");
        for sentence in &guarantee.trusted {
            let _ = write!(html, "<li>{}</li>", escaped(sentence));
        }
        let _ = write!(
            html,
            "</ul><p>Task <code>{}</code></p></section>",
            task.id()
        );
    }
    let _ = write!(
        html,
        "<footer><p>Computed by {ACCOUNTANT}.</p></footer></body></html>"
    );
    let hash = BASE64.encode(&Sha256::digest(STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; frame-ancestors 'none'; base-uri 'none'"
    );
    // Letters, digits and signs of base 64: every one of them may be in a header.
    let policy = HeaderValue::from_str(&policy);
    (
        html,
        policy.unwrap_or(HeaderValue::from_static("default-src 'none'")),
    )
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_name_is_a_text_and_no_markup() {
        assert_eq!(
            escaped("<a href='x'>\"&"),
            "&lt;a href=&#39;x&#39;&gt;&quot;&amp;"
        );
    }
}
