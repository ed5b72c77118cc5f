//! A device and an analyzer over the network: what a running shuffler is asked.

use crate::error::ServiceError;
use crate::probes::Published;
use rustls::crypto::aws_lc_rs::default_provider;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use shuffledp_protocol::batch::Batch;
use shuffledp_protocol::envelope::{ShufflerKey, envelope_length};
use shuffledp_protocol::lifecycle::State;
use shuffledp_protocol::task::{Bytes32, Task};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, Body};

/// How long a request may take: a batch of a million reports is some 100 MB.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often an envelope is sent again where the shuffler is busy.
const TRIES: u32 = 5;
/// The longest wait between two tries, in seconds, whatever the shuffler says.
const LONGEST_WAIT: u64 = 60;
/// The largest batch that is fetched, in bytes.
const LARGEST_BATCH: u64 = 16 << 30;

/// A shuffler at an address.
#[derive(Clone, Debug)]
pub struct Connection {
    agent: Agent,
    url: String,
}

/// What a device needs to answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Now {
    /// The key to seal to.
    pub key: ShufflerKey,
    /// The windows that are open.
    pub windows: RangeInclusive<u64>,
}

/// A batch that the analyzer may fetch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Listed {
    /// Its window.
    pub window: u64,
    /// What its devices had been sent.
    pub context: Bytes32,
    /// Sealed, or released: acknowledged before.
    pub state: State,
    /// How many reports it holds.
    pub reports: u64,
    /// The hash of its bytes.
    pub digest: Bytes32,
}

/// The id of the task that is served. Nothing else of it is read: the device has its own file, of which the
/// id is the hash, and a server must not choose what a device computes with.
#[derive(Deserialize)]
struct ServedTask {
    id: Bytes32,
}

#[derive(Deserialize)]
struct TaskAnswer {
    task: ServedTask,
    shuffler_key: ShufflerKey,
    windows: Windows,
}

#[derive(Deserialize)]
struct Windows {
    first: u64,
    last: u64,
}

/// A batch that was closed; without number and digest where it expired or has none.
#[derive(Deserialize)]
struct ClosedBatch {
    window: u64,
    context: Bytes32,
    state: State,
    reports: Option<u64>,
    digest: Option<Bytes32>,
}

#[derive(Deserialize)]
struct Closed {
    closed: Vec<ClosedBatch>,
}

#[derive(Deserialize)]
struct Batches {
    batches: Vec<Listed>,
}

impl Connection {
    /// A shuffler at `https://…`, or at `http://…` on this machine: 127.0.0.0/8, `[::1]`, `localhost`. An
    /// address elsewhere that is not encrypted is refused. `authority` is a file of certificates in PEM that
    /// sign the shuffler's; without it, those that browsers trust.
    ///
    /// ```
    /// use shuffledp_service::client::Connection;
    /// assert!(Connection::new("http://127.0.0.1:8080", None).is_ok());
    /// assert!(Connection::new("http://shuffler.example", None).is_err());
    /// ```
    pub fn new(url: &str, authority: Option<&Path>) -> Result<Self, ServiceError> {
        let url = url.trim_end_matches('/');
        check(url)?;
        let roots = match authority {
            None => RootCerts::WebPki,
            Some(path) => RootCerts::Specific(Arc::new(certificates(path)?)),
        };
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
            .root_certs(roots)
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .tls_config(tls)
            .build();
        Ok(Self {
            agent: config.into(),
            url: url.to_owned(),
        })
    }

    /// What the shuffler serves of a task. Refused where it says that this is another one.
    pub fn now(&self, task: &Task) -> Result<Now, ServiceError> {
        let answer: TaskAnswer = self.read(&format!("/v1/tasks/{}", task.id()), None)?;
        if answer.task.id != task.id() {
            return Err(ServiceError::OtherTask {
                wanted: task.id(),
                served: answer.task.id,
            });
        }
        Ok(Now {
            key: answer.shuffler_key,
            windows: answer.windows.first..=answer.windows.last,
        })
    }

    /// Sends envelopes, one after the other; the same ones again where the shuffler is busy, as late as it
    /// says. An envelope that arrives twice counts once.
    pub fn send(&self, task: &Task, envelopes: &[u8]) -> Result<(), ServiceError> {
        let url = format!("{}/v1/tasks/{}/reports", self.url, task.id());
        debug_assert!(envelopes.len().is_multiple_of(envelope_length(task)));
        for left in (0..TRIES).rev() {
            let sent = self.agent.post(&url).send(envelopes);
            let response = sent.map_err(|error| self.unreachable(error))?;
            if response.status() != 503 || left == 0 {
                return expect(response, 202).map(drop);
            }
            let wait = response.headers().get("retry-after");
            let wait = wait.and_then(|value| value.to_str().ok()?.parse().ok());
            std::thread::sleep(Duration::from_secs(wait.unwrap_or(1).min(LONGEST_WAIT)));
        }
        Ok(())
    }

    /// The batches of a task that its analyzer may fetch.
    pub fn batches(&self, task: &Task, token: &str) -> Result<Vec<Listed>, ServiceError> {
        let batches: Batches =
            self.read(&format!("/v1/tasks/{}/batches", task.id()), Some(token))?;
        Ok(batches.batches)
    }

    /// The bytes of a batch, checked against the digest of the list.
    pub fn fetch(&self, task: &Task, token: &str, batch: &Listed) -> Result<Vec<u8>, ServiceError> {
        let request = self.agent.get(self.batch_url(task, batch));
        let request = request.header("Authorization", format!("Bearer {token}"));
        let response = request.call().map_err(|error| self.unreachable(error))?;
        let mut body = expect(response, 200)?.into_body();
        let read = body.with_config().limit(LARGEST_BATCH).read_to_vec();
        let bytes = read.map_err(|error| self.unreachable(error))?;
        let digest = Batch::digest(&bytes);
        match digest == batch.digest {
            true => Ok(bytes),
            false => Err(ServiceError::OtherDigest {
                listed: batch.digest,
                found: digest,
            }),
        }
    }

    /// Tells the shuffler that the analyzer has a batch: it need not keep it.
    pub fn acknowledge(
        &self,
        task: &Task,
        token: &str,
        batch: &Listed,
    ) -> Result<(), ServiceError> {
        let url = format!("{}/acknowledgement", self.batch_url(task, batch));
        let request = self
            .agent
            .post(url)
            .header("Authorization", format!("Bearer {token}"))
            .header("Content-Type", "application/json");
        let sent = request.send(format!("{{\"digest\":\"{}\"}}", batch.digest));
        expect(sent.map_err(|error| self.unreachable(error))?, 200).map(drop)
    }

    /// The marks of the probes that the shuffler received in a closed window.
    pub fn probes(&self, task: &Task, window: u64) -> Result<Published, ServiceError> {
        let published: Published =
            self.read(&format!("/v1/tasks/{}/probes/{window}", task.id()), None)?;
        match (published.task == task.id(), published.window == window) {
            (true, true) => Ok(published),
            (true, false) => Err(self.unreachable("it publishes another window")),
            (false, _) => Err(ServiceError::OtherTask {
                wanted: task.id(),
                served: published.task,
            }),
        }
    }

    /// Closes the first open window of a task, at the operator's address: the batches that were sealed.
    pub fn close(
        &self,
        task: &Task,
        window: u64,
        token: Option<&str>,
    ) -> Result<Vec<Listed>, ServiceError> {
        let url = format!(
            "{}/v1/tasks/{}/windows/{window}/closing",
            self.url,
            task.id()
        );
        let mut request = self.agent.post(url);
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let sent = request.send_empty();
        let response = expect(sent.map_err(|error| self.unreachable(error))?, 200)?;
        let closed: Closed = self.parse(response)?;
        let sealed = closed.closed.into_iter().filter_map(|batch| {
            let (reports, digest) = (batch.reports?, batch.digest?);
            Some(Listed {
                window: batch.window,
                context: batch.context,
                state: batch.state,
                reports,
                digest,
            })
        });
        Ok(sealed.collect())
    }

    fn batch_url(&self, task: &Task, batch: &Listed) -> String {
        let (id, window, context) = (task.id(), batch.window, batch.context);
        format!("{}/v1/tasks/{id}/batches/{window}/{context}", self.url)
    }

    fn read<T: DeserializeOwned>(
        &self,
        path: &str,
        token: Option<&str>,
    ) -> Result<T, ServiceError> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let response = request.call().map_err(|error| self.unreachable(error))?;
        self.parse(expect(response, 200)?)
    }

    fn parse<T: DeserializeOwned>(&self, response: Response<Body>) -> Result<T, ServiceError> {
        let text = response.into_body().read_to_string();
        let text = text.map_err(|error| self.unreachable(error))?;
        serde_json::from_str(&text).map_err(|error| self.unreachable(error))
    }

    fn unreachable(&self, error: impl ToString) -> ServiceError {
        ServiceError::Unreachable {
            url: self.url.clone(),
            message: error.to_string(),
        }
    }
}

/// Refuses what is no address, and one to which envelopes and tokens would go in the clear.
fn check(url: &str) -> Result<(), ServiceError> {
    let none = || ServiceError::Url {
        url: url.to_owned(),
    };
    let address: Uri = url.parse().map_err(|_| none())?;
    let host = address.host().filter(|host| !host.is_empty());
    match (address.scheme_str(), host) {
        (Some("https"), Some(_)) => Ok(()),
        (Some("http"), Some(host)) if is_loopback(host) => Ok(()),
        (Some("http"), Some(_)) => Err(ServiceError::NotEncrypted {
            url: url.to_owned(),
        }),
        _ => Err(none()),
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let number = bare.parse().is_ok_and(|host: IpAddr| host.is_loopback());
    number || host.eq_ignore_ascii_case("localhost")
}

/// The shuffler's own words where it refuses.
fn expect(mut response: Response<Body>, wanted: u16) -> Result<Response<Body>, ServiceError> {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    let status = response.status().as_u16();
    if status == wanted {
        return Ok(response);
    }
    let text = response.body_mut().read_to_string().unwrap_or_default();
    let said = serde_json::from_str(&text).map(|refused: Refused| refused.error);
    Err(ServiceError::Refused {
        status,
        message: said.unwrap_or_else(|_| "no reason was given".to_owned()),
    })
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, ServiceError> {
    const WHAT: &str = "a file of certificates";
    let pem = std::fs::read(path).map_err(ServiceError::unreadable(path))?;
    let items: Result<Vec<PemItem<'static>>, _> = parse_pem(&pem).collect();
    let items = items.map_err(|error| ServiceError::content(path, WHAT, error))?;
    let certificates = items.into_iter().filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    match certificates.is_empty() {
        true => Err(ServiceError::content(path, WHAT, "there is none in it")),
        false => Ok(certificates),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::error::ServiceError;

    #[test]
    fn what_is_not_encrypted_stays_on_this_machine() {
        for url in [
            "https://shuffler.example",
            "https://shuffler.example:8443/below",
            "https://10.0.0.1",
            "http://127.0.0.1:8080",
            "http://127.9.8.7",
            "http://[::1]:8080",
            "http://localhost:8080",
            "http://LocalHost",
        ] {
            assert!(check(url).is_ok(), "{url}");
        }
        for url in [
            "http://shuffler.example",
            "http://10.0.0.1:8080",
            "http://0.0.0.0:8080",
            "http://[::]:8080",
            "http://[::2]",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://127.0.0.1@shuffler.example",
            "http://localhost:80@shuffler.example/",
            "HTTP://shuffler.example",
        ] {
            let refused = check(url);
            assert!(
                matches!(refused, Err(ServiceError::NotEncrypted { .. })),
                "{url}: {refused:?}"
            );
            let message = refused.map_err(|error| error.to_string());
            assert!(
                message.is_err_and(|text| text.contains(url) && text.contains("[::1]")),
                "{url}"
            );
        }
        for url in [
            "",
            "shuffler.example",
            "ftp://127.0.0.1",
            "http://",
            "https://",
            "http:///v1",
            "//127.0.0.1",
            "http://a b",
        ] {
            let refused = check(url);
            assert!(
                matches!(refused, Err(ServiceError::Url { .. })),
                "{url}: {refused:?}"
            );
        }
    }
}
