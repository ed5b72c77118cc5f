//! The addresses of a shuffler, for devices and analyzers and, apart from them, for its operator.
//!
//! A device gets 202 with an empty body for a report, for one that it sent before, for a dummy and for a
//! probe. Whatever does not open gets the same 400. Nothing of a request is logged.

use super::access::allowed;
use super::{Served, Service, metrics, page};
use crate::intake::{Busy, MOST_CONTEXTS, Room};
use crate::probes::Published;
use crate::server::NotReady;
use crate::store::{BatchName, Record, StoreError};
use crate::tallies::Outcome;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HOST, ORIGIN, RETRY_AFTER,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::{Value, json};
use shuffledp_protocol::batch;
use shuffledp_protocol::envelope::{PROBES, envelope_length};
use shuffledp_protocol::task::Bytes32;
use shuffledp_randomizers::{Random, Secure};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

type Shared = State<Arc<Service>>;

/// Every address with its method and who may use it: what the routers are built of, and what the description
/// in `docs/openapi.json` is compared with.
pub const ROUTES: &[(&str, &str, &str)] = &[
    ("post", "/v1/tasks/{task}/reports", "anybody"),
    ("get", "/v1/tasks/{task}", "anybody"),
    ("get", "/v1/tasks/{task}/batches", "analyzer"),
    (
        "get",
        "/v1/tasks/{task}/batches/{window}/{context}",
        "analyzer",
    ),
    (
        "post",
        "/v1/tasks/{task}/batches/{window}/{context}/acknowledgement",
        "analyzer",
    ),
    ("get", "/v1/tasks/{task}/probes/{window}", "anybody"),
    ("get", "/guarantee", "anybody"),
    ("get", "/healthz", "anybody"),
    ("get", "/readyz", "anybody"),
    ("get", "/metrics", "operator"),
    ("get", "/v1/journal", "operator"),
    ("post", "/v1/keys/rotation", "operator"),
    ("post", "/v1/clock/confirmation", "operator"),
    (
        "post",
        "/v1/tasks/{task}/windows/{window}/closing",
        "operator",
    ),
    ("post", "/v1/tasks/{task}/contexts/{context}", "operator"),
];

/// The largest body of a request that is not of reports.
const SMALL: usize = 4096;

fn handler(path: &str) -> MethodRouter<Arc<Service>> {
    match path {
        "/v1/tasks/{task}/reports" => post(reports).layer(DefaultBodyLimit::disable()),
        "/v1/tasks/{task}" => get(task),
        "/v1/tasks/{task}/batches" => get(batches),
        "/v1/tasks/{task}/batches/{window}/{context}" => get(batch),
        "/v1/tasks/{task}/batches/{window}/{context}/acknowledgement" => post(acknowledge),
        "/v1/tasks/{task}/probes/{window}" => get(probes),
        "/guarantee" => get(guarantee),
        "/healthz" => get(async || "alive\n"),
        "/readyz" => get(ready),
        "/metrics" => get(show_metrics),
        "/v1/journal" => get(journal),
        "/v1/keys/rotation" => post(rotate),
        "/v1/clock/confirmation" => post(confirm_clock),
        "/v1/tasks/{task}/contexts/{context}" => post(add_context),
        _ => post(close),
    }
}

fn routes(service: Arc<Service>, wanted: impl Fn(&str, &str) -> bool) -> Router {
    let mut router = Router::new();
    for (_, path, who) in ROUTES.iter().filter(|(_, path, who)| wanted(path, who)) {
        let handler = match *who {
            "operator" => handler(path).layer(axum::middleware::from_fn_with_state(
                Arc::clone(&service),
                operators_only,
            )),
            _ => handler(path),
        };
        router = router.route(path, handler);
    }
    router
        .fallback(async || Refusal::Unknown)
        .layer(DefaultBodyLimit::max(SMALL))
        .with_state(service)
}

/// What devices, relays and analyzers see.
pub(super) fn public(service: Arc<Service>) -> Router {
    routes(service, |_, who| who != "operator")
}

/// What the operator sees.
pub(super) fn operator(service: Arc<Service>) -> Router {
    routes(service, |path, who| {
        who == "operator" || path == "/healthz" || path == "/readyz"
    })
}

/// Why a request is refused.
enum Refusal {
    Unknown,
    Unauthorized,
    Malformed(&'static str),
    NoLength,
    TooLarge(usize),
    Late,
    Closed,
    Conflict(String),
    Busy(u32),
    NotWritten(u32),
    Held(u32),
    Foreign,
    Failed,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, message) = match &self {
            Self::Unknown => (StatusCode::NOT_FOUND, "there is nothing at this address"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "a token is needed"),
            Self::Malformed(message) => (StatusCode::BAD_REQUEST, *message),
            Self::NoLength => (StatusCode::LENGTH_REQUIRED, "Content-Length is needed"),
            Self::TooLarge(most) => {
                let message = format!("a request has at most {most} envelopes");
                return (
                    StatusCode::PAYLOAD_TOO_LARGE,
                    Json(json!({ "error": message })),
                )
                    .into_response();
            }
            Self::Late => (StatusCode::REQUEST_TIMEOUT, "the request took too long"),
            Self::Closed => (StatusCode::GONE, "the window is not open"),
            Self::Conflict(message) => (StatusCode::CONFLICT, message.as_str()),
            Self::Busy(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the shuffler is busy: send the same envelope again later",
            ),
            Self::NotWritten(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the shuffler could not write: send the same envelope again later",
            ),
            Self::Held(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the shuffler waits for its operator: send the same again later",
            ),
            Self::Foreign => (
                StatusCode::FORBIDDEN,
                "the operator's side answers programs of this machine, by its address",
            ),
            Self::Failed => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the shuffler could not do it now",
            ),
        };
        let mut response = (status, Json(json!({ "error": message }))).into_response();
        if let Self::Busy(seconds) | Self::NotWritten(seconds) | Self::Held(seconds) = self {
            let seconds = HeaderValue::from(seconds);
            response.headers_mut().insert(RETRY_AFTER, seconds);
        }
        response
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            // A batch that is open, or that expired, is as if it were not there: that it is there would tell
            // that somebody answered.
            StoreError::Unknown(_) | StoreError::NoEdge(_) => Self::Unknown,
            StoreError::OtherDigest { .. } => Self::Conflict(error.to_string()),
            other => {
                tracing::error!(error = %other, "the store failed");
                Self::Failed
            }
        }
    }
}

/// A call of the store, off the threads that answer.
async fn blocking<T: Send + 'static>(
    service: &Arc<Service>,
    call: impl FnOnce(&Service) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let service = Arc::clone(service);
    match tokio::task::spawn_blocking(move || call(&service)).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "a call failed");
            Err(Refusal::Failed)
        }
    }
}

impl Service {
    fn served(&self, id: &str) -> Result<&Served, Refusal> {
        let id = Bytes32::try_from(id.to_owned()).map_err(|_| Refusal::Unknown)?;
        self.tasks.get(&id).ok_or(Refusal::Unknown)
    }

    /// A task, for its analyzer alone. A task that is not there and one that is not theirs look the same.
    fn of_analyzer(&self, id: &str, headers: &HeaderMap) -> Result<&Served, Refusal> {
        let served = self.served(id).ok();
        let hash = served.and_then(|served| served.analyzer.as_ref());
        match (allowed(authorization(headers), hash), served) {
            (true, Some(served)) => Ok(served),
            _ => Err(Refusal::Unauthorized),
        }
    }

    /// Seconds after which a device may come again, drawn for each.
    fn later(&self) -> u32 {
        let most = u64::from(self.config.limits.retry_after_seconds);
        let drawn = Secure::new().map_or(0, |mut random| random.word() % most);
        // Below a number of 32 bits.
        1 + drawn as u32
    }

    fn busy(&self, _: Busy) -> Refusal {
        Refusal::Busy(self.later())
    }

    fn failed(&self) -> Refusal {
        Refusal::NotWritten(self.later())
    }

    /// Whether the store is the one that was left: what is listed does not depend on the clock.
    fn is_as_left(&self) -> Result<(), Refusal> {
        match self.restored.load(Ordering::Acquire) {
            true => Err(Refusal::Held(self.later())),
            false => Ok(()),
        }
    }

    /// Whether clock and store are to be trusted.
    fn holds_on(&self) -> Result<(), Refusal> {
        self.may_go_on().map_err(|_| Refusal::Held(self.later()))
    }
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()
}

/// Whether a request comes from a program and not from a page in a browser: of another origin, or of a name
/// that was made to lead to loopback. Without a token there is nothing else that tells them apart.
fn is_of_this_machine(headers: &HeaderMap) -> bool {
    if headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site") {
        return false;
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let named = host.and_then(|host| host.parse::<Authority>().ok());
    named.is_some_and(|named| {
        let name = named.host().trim_matches(['[', ']']);
        name == "localhost"
            || name
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

async fn operators_only(
    State(service): Shared,
    request: Request,
    next: axum::middleware::Next,
) -> Response {
    let (headers, hash) = (
        request.headers(),
        service.config.operator_token_sha256.as_ref(),
    );
    match hash {
        Some(_) if !allowed(authorization(headers), hash) => {
            return Refusal::Unauthorized.into_response();
        }
        None if !is_of_this_machine(headers) => return Refusal::Foreign.into_response(),
        _ => {}
    }
    next.run(request).await
}

/// Envelopes of one task, one after the other.
async fn reports(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Refusal> {
    let served = service.served(&id)?;
    service.holds_on()?;
    let limits = &service.config.limits;
    let length = envelope_length(&served.open.task);
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let announced: usize = announced
        .and_then(|text| text.parse().ok())
        .ok_or(Refusal::NoLength)?;
    let wrong = Refusal::Malformed("the body is not a whole number of envelopes of this task");
    if announced == 0 || !announced.is_multiple_of(length) {
        return Err(wrong);
    }
    if announced / length > limits.envelopes_in_request {
        return Err(Refusal::TooLarge(limits.envelopes_in_request));
    }
    let patience = Duration::from_secs(limits.request_seconds);
    let received = tokio::time::timeout(patience, received(&service, body, announced));
    let (envelopes, room) = received.await.map_err(|_| Refusal::Late)??;
    if envelopes.len() != announced {
        return Err(wrong);
    }
    let task = Arc::clone(&served.open);
    let answer = service.intake.submit(task, envelopes, room);
    let outcomes = answer
        .map_err(|busy| service.busy(busy))?
        .await
        .map_err(|_| Refusal::Failed)?;
    if outcomes.contains(&Outcome::Failed) {
        return Err(service.failed());
    }
    // Where one of many comes too early, the others are taken all the same, and a relay does not hold back
    // what others sent until a window opens that somebody has made up.
    let later = [Outcome::Early, Outcome::Full];
    if outcomes.iter().all(|outcome| later.contains(outcome)) {
        return Err(service.busy(Busy));
    }
    // A relay that sends many learns nothing about one of them.
    match outcomes[..] {
        [Outcome::Malformed] => Err(Refusal::Malformed("the envelope is none of this task")),
        [Outcome::Closed] => Err(Refusal::Closed),
        _ => Ok(StatusCode::ACCEPTED),
    }
}

/// The bytes of a body, with room for those that have come: who announces many and sends none holds none.
/// Where there is no room the rest is read all the same and forgotten, or the sender would see a broken
/// connection and no answer.
async fn received(
    service: &Service,
    mut body: Body,
    announced: usize,
) -> Result<(Vec<u8>, Room), Refusal> {
    let (mut bytes, mut room) = (Vec::new(), service.intake.room());
    let mut fits = service.intake.has_room(announced);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::Malformed("the body did not arrive"))?;
        let Ok(part) = frame.into_data() else {
            continue;
        };
        fits = fits && room.grow(part.len()).is_ok();
        match fits {
            true => bytes.extend_from_slice(&part),
            false => (bytes, room) = (Vec::new(), service.intake.room()),
        }
    }
    match fits {
        true => Ok((bytes, room)),
        false => Err(service.busy(Busy)),
    }
}

/// An answer in JSON of these bytes, which all who ask share.
fn shared(bytes: Bytes) -> Response {
    ([(CONTENT_TYPE, "application/json")], bytes).into_response()
}

/// What a device needs to answer: the task, the windows that are open, and the key.
async fn task(State(service): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    let served = service.served(&id)?;
    service.holds_on()?;
    let key = service.active_key().ok_or(Refusal::Failed)?;
    let now = service.clock.now().ok_or(Refusal::Failed)?;
    let first_open = served.open.first_open.load(Ordering::Acquire);
    let open = served.open.schedule.open(now, first_open);
    if open.is_empty() {
        return Err(Refusal::Closed);
    }
    Ok(shared(served.answer.at(key, open)))
}

fn shown(record: &Record) -> Value {
    json!({
        "window": record.name.window,
        "context": record.name.context,
        "state": record.state,
        "reports": record.reports,
        "digest": record.digest,
    })
}

async fn batches(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let id = service.of_analyzer(&id, &headers)?.open.task.id();
    service.is_as_left()?;
    let batches = blocking(&service, move |service| {
        let mut records = service.store.batches(&id, 0)?;
        let is_batch = |record: &Record| record.name.context != PROBES;
        records.retain(|record| record.state.may_be_fetched() && is_batch(record));
        Ok(records.iter().map(shown).collect::<Vec<_>>())
    });
    Ok(Json(json!({ "batches": batches.await? })))
}

fn name(served: &Served, window: &str, context: String) -> Result<BatchName, Refusal> {
    let context = Bytes32::try_from(context).ok();
    Ok(BatchName {
        task: served.open.task.id(),
        window: window.parse().map_err(|_| Refusal::Unknown)?,
        // Marks of probes are no batch of the analyzer.
        context: context
            .filter(|context| *context != PROBES)
            .ok_or(Refusal::Unknown)?,
    })
}

/// The marks of the probes of a closed window. Nobody learns of one while its window is open.
async fn probes(
    State(service): Shared,
    Path((id, window)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let window: u64 = window.parse().map_err(|_| Refusal::Unknown)?;
    let served = service.served(&id)?;
    service.holds_on()?;
    let first_open = served.open.first_open.load(Ordering::Acquire);
    if window >= first_open {
        return Err(Refusal::Conflict("the window is open".to_owned()));
    }
    let task = served.open.task.id();
    if let Some(made) = service.marks.of(&task, window) {
        return Ok(shared(made));
    }
    let turn = Arc::clone(&service.marks.one_at_a_time);
    let turn = turn.acquire_owned().await.map_err(|_| Refusal::Failed)?;
    let made = blocking(&service, move |service| {
        // Held to the end, also where nobody waits for the answer any more.
        let _alone = turn;
        match service.marks.of(&task, window) {
            Some(made) => Ok(made),
            None => published(service, task, window),
        }
    });
    Ok(shared(made.await?))
}

/// Reads the marks of a window from the store, and keeps the answer.
fn published(service: &Service, task: Bytes32, window: u64) -> Result<Bytes, Refusal> {
    let name = BatchName {
        task,
        window,
        context: PROBES,
    };
    let mut probes = match service.store.read(&name) {
        Ok(bytes) => batch::marks(&bytes).ok_or(Refusal::Failed)?,
        // None has come.
        Err(StoreError::Unknown(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    probes.sort_unstable();
    let full = probes.len() as u64 >= service.config.limits.probes_in_window;
    let published = Published {
        task,
        window,
        full: full || service.intake.missed_probes(&task, window),
        probes,
    };
    Ok(service.marks.keep(&published))
}

async fn batch(
    State(service): Shared,
    Path((id, window, context)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let name = name(service.of_analyzer(&id, &headers)?, &window, context)?;
    service.holds_on()?;
    let bytes = blocking(&service, move |service| Ok(service.store.read(&name)?)).await?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, bytes).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Acknowledgement {
    digest: Bytes32,
}

async fn acknowledge(
    State(service): Shared,
    Path((id, window, context)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    let name = name(service.of_analyzer(&id, &headers)?, &window, context)?;
    service.holds_on()?;
    let patience = Duration::from_secs(service.config.limits.request_seconds);
    let body = tokio::time::timeout(patience, to_bytes(body, SMALL)).await;
    let body = body.map_err(|_| Refusal::Late)?;
    let malformed = Refusal::Malformed("the body is not {\"digest\": …}");
    let body = body
        .ok()
        .and_then(|body| serde_json::from_slice(&body).ok());
    let Acknowledgement { digest } = body.ok_or(malformed)?;
    let record = blocking(&service, move |service| {
        let record = service.store.acknowledge(&name, &digest)?;
        service.log(&record);
        Ok(record)
    });
    Ok(Json(shown(&record.await?)))
}

async fn guarantee(State(service): Shared, headers: HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        let (html, policy) = page::guarantee(&service);
        return (
            [(CONTENT_SECURITY_POLICY, policy)],
            axum::response::Html(html),
        )
            .into_response();
    }
    let tasks = service.tasks.values().map(page::statement);
    let statement = json!({
        "accountant": page::ACCOUNTANT,
        "tasks": tasks.collect::<Vec<_>>(),
    });
    Json(statement).into_response()
}

async fn ready(State(service): Shared) -> Response {
    let ready = blocking(&service, |service| Ok(service.ready())).await;
    match ready {
        Ok(Ok(())) => "ready\n".into_response(),
        Ok(Err(reason)) => not_ready(&reason),
        Err(refusal) => refusal.into_response(),
    }
}

fn not_ready(reason: &NotReady) -> Response {
    let body = Json(json!({ "error": reason.to_string() }));
    (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
}

async fn show_metrics(State(service): Shared) -> Result<Response, Refusal> {
    let text = blocking(&service, |service| Ok(metrics::text(service)?)).await?;
    Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
}

async fn journal(State(service): Shared) -> Result<Json<Value>, Refusal> {
    let entries = blocking(&service, |service| Ok(service.store.journal()?));
    Ok(Json(json!({ "entries": entries.await? })))
}

/// Takes reports about one thing more that devices are sent.
async fn add_context(
    State(service): Shared,
    Path((id, context)): Path<(String, String)>,
) -> Result<Json<Value>, Refusal> {
    let served = service.served(&id)?;
    let context = Bytes32::try_from(context).map_err(|_| Refusal::Unknown)?;
    if !served.open.add_context(context) {
        let message =
            format!("a task has at most {MOST_CONTEXTS} contexts, none of them that of probes");
        return Err(Refusal::Conflict(message));
    }
    tracing::info!(task = %served.open.task.id(), %context, "context");
    Ok(Json(json!({ "context": context })))
}

async fn rotate(State(service): Shared) -> Result<Json<Value>, Refusal> {
    let key = blocking(&service, |service| {
        if let Err(error) = service.rotate_keys() {
            tracing::error!(%error, "no new key");
            return Err(Refusal::Failed);
        }
        service.active_key().ok_or(Refusal::Failed)
    });
    Ok(Json(json!({ "shuffler_key": key.await? })))
}

/// The clock is right, however far it has gone.
async fn confirm_clock(State(service): Shared) -> Result<Json<Value>, Refusal> {
    let now = blocking(&service, |service| {
        service.confirm_clock().map_err(|error| {
            tracing::error!(%error, "the time is not confirmed");
            Refusal::Failed
        })
    });
    Ok(Json(json!({ "now": now.await? })))
}

/// Closes a window now: it must be the first that is open.
async fn close(
    State(service): Shared,
    Path((id, window)): Path<(String, String)>,
) -> Result<Json<Value>, Refusal> {
    let window: u64 = window.parse().map_err(|_| Refusal::Unknown)?;
    let closed = blocking(&service, move |service| {
        let served = service.served(&id)?;
        let open = served.open.first_open.load(Ordering::Acquire);
        if window != open || window == u64::MAX {
            let message = format!("the first window that is open is {open}");
            return Err(Refusal::Conflict(message));
        }
        let id = served.open.task.id();
        let closed = service.close_by_hand(&id, served, window);
        closed.map_err(|error| {
            tracing::error!(%error, "a window is not closed");
            Refusal::Failed
        })
    });
    let closed = closed.await?;
    let closed = closed.iter();
    let batches = closed.filter(|record| record.name.context != PROBES);
    Ok(Json(
        json!({ "closed": batches.map(shown).collect::<Vec<_>>() }),
    ))
}
