//! The command as a running shuffler, on any free ports.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

/// Writes the configuration of a shuffler of `task.json`.
// Not every test asks.
#[allow(dead_code)]
pub(crate) fn configure(folder: &Path, token_hash: &str) {
    let config = format!(
        "listen = '127.0.0.1:0'\noperator_listen = '127.0.0.1:0'\n[[task]]\nfile = 'task.json'\n\
         analyzer_token_sha256 = '{token_hash}'\n"
    );
    std::fs::write(folder.join("shuffler.toml"), config).unwrap();
}

/// A running shuffler, ended when it is dropped.
pub(crate) struct Shuffler {
    pub(crate) child: Child,
    pub(crate) public: String,
    operator: String,
    events: Option<JoinHandle<Vec<String>>>,
}

impl Shuffler {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
            .args(["shuffler", "--config", "shuffler.toml"])
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut events = BufReader::new(child.stderr.take().unwrap()).lines();
        let listens = loop {
            let event: Value = serde_json::from_str(&events.next().unwrap().unwrap()).unwrap();
            if event["fields"]["message"] == "the shuffler listens" {
                break event["fields"].clone();
            }
        };
        // Events that nobody reads would stop it.
        let events = std::thread::spawn(move || events.map_while(Result::ok).collect());
        let address = |field: &str| listens[field].as_str().unwrap().to_owned();
        Self {
            child,
            public: address("public"),
            operator: address("operator"),
            events: Some(events),
        }
    }

    /// Ends it, and gives the events since it listened.
    // Not every test asks.
    #[allow(dead_code)]
    pub(crate) fn events(&mut self) -> Vec<String> {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.events.take().unwrap().join().unwrap()
    }

    /// A request at the public address, by hand: the answer as it comes.
    // Not every test asks.
    #[allow(dead_code)]
    pub(crate) fn post(&self, path: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.public).unwrap();
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n");
        write!(stream, "{head}Connection: close\r\n\r\n").unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn close_window(&self, task: &str) -> String {
        let mut operator = TcpStream::connect(&self.operator).unwrap();
        let path = format!("/v1/tasks/{task}/windows/0/closing");
        let (host, none) = (&self.operator, "Content-Length: 0\r\nConnection: close");
        write!(
            operator,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\n{none}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        operator.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Shuffler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
