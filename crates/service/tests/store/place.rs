//! Where a store of a test is: a temporary folder, or a schema of its own in a PostgreSQL database.
//!
//! The database is that of `SHUFFLEDP_POSTGRES` (a connection string). Without it, a server of Debian's
//! package is started in a temporary folder, on a socket there; it ends with the test program, whatever ends
//! that one.

use crate::memory::{Defect, Memory};
use postgres::{Client, NoTls};
use shuffledp_service::store::embedded::Embedded;
use shuffledp_service::store::postgres::Postgres;
use shuffledp_service::store::vault::Vault;
use shuffledp_service::store::{Store, StoreError};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;
use zeroize::Zeroizing;

pub(crate) enum Place {
    Folder(TempDir),
    /// A folder that another program made.
    Found(PathBuf),
    Database(String),
    Memory(Memory),
}

/// A vault of masters that are one byte each, 32 times.
pub(crate) fn vault(masters: &[(u32, u8)]) -> Vault {
    let masters = masters.iter();
    Vault::new(masters.map(|(number, byte)| (*number, Zeroizing::new([*byte; 32])))).unwrap()
}

/// Whether the long tests are asked for, by `SHUFFLEDP_TESTS=all`. Another word is a mistake.
pub(crate) fn all() -> bool {
    match std::env::var("SHUFFLEDP_TESTS") {
        Ok(word) if word == "all" => true,
        Ok(word) => panic!("SHUFFLEDP_TESTS={word}: all is the only word"),
        Err(_) => false,
    }
}

impl Place {
    pub(crate) fn folder() -> Self {
        Self::Folder(TempDir::new().unwrap())
    }

    pub(crate) fn memory(defect: Defect) -> Self {
        Self::Memory(Memory::new(defect))
    }

    /// A new schema, if there is a database.
    pub(crate) fn database() -> Option<Self> {
        static SERVER: OnceLock<Option<(String, Option<ChildStdin>)>> = OnceLock::new();
        let server = SERVER.get_or_init(|| {
            let given = std::env::var("SHUFFLEDP_POSTGRES").ok();
            let server = given.map(|given| (given, None)).or_else(start);
            if server.is_none() {
                // Past the harness, which shows nothing of a test that passes.
                let _ = std::io::stderr().write_all(
                    b"\n*** SKIPPED: the PostgreSQL store is NOT tested. Install `postgresql`, or name a \
                      database in SHUFFLEDP_POSTGRES. ***\n\n",
                );
            }
            server
        });
        let (server, _) = server.as_ref()?;
        let mut client = Client::connect(server, NoTls).unwrap();
        let name = TempDir::new().unwrap();
        let name = name.path().file_name().unwrap().to_str().unwrap();
        let schema = format!("test{}", name.replace('.', "_").to_lowercase());
        let schema = format!("{schema}_{}", std::process::id());
        client
            .batch_execute(&format!("create schema {schema}"))
            .unwrap();
        let connection = format!("{server} options='-c search_path={schema}'");
        Some(Self::Database(connection))
    }

    pub(crate) fn open(&self) -> Box<dyn Store> {
        self.open_with(&[(1, 1)]).unwrap()
    }

    pub(crate) fn open_with(&self, masters: &[(u32, u8)]) -> Result<Box<dyn Store>, StoreError> {
        let vault = vault(masters);
        Ok(match self {
            Self::Folder(folder) => Box::new(Embedded::open(folder.path(), vault)?),
            Self::Found(folder) => Box::new(Embedded::open(folder, vault)?),
            Self::Database(connection) => Box::new(Postgres::open(connection, vault)?),
            Self::Memory(memory) => Box::new(memory.clone()),
        })
    }

    /// What another program is told to find it.
    pub(crate) fn address(&self) -> (&'static str, String) {
        match self {
            Self::Folder(folder) => ("folder", folder.path().to_str().unwrap().to_owned()),
            Self::Found(folder) => ("folder", folder.to_str().unwrap().to_owned()),
            Self::Database(connection) => ("database", connection.clone()),
            Self::Memory(_) => panic!("another program cannot find it"),
        }
    }

    pub(crate) fn at(kind: &str, address: &str) -> Self {
        match kind {
            "folder" => Self::Found(address.into()),
            _ => Self::Database(address.to_owned()),
        }
    }
}

/// The newest installed server, its folder of programs.
fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.map(|version| version.unwrap().path().join("bin"));
    let with_server = folders.filter(|folder| folder.join("initdb").exists());
    with_server.max()
}

/// Starts a server, which lives until its input is closed. It does not sync its files: that matters when the
/// machine loses power, which no test does to it.
const SERVER: &str = r#"
set -eu
folder=$(mktemp -d /tmp/shuffledp-postgres.XXXXXX)
trap 'rm -rf "$folder"' EXIT
"$1/initdb" -D "$folder/data" -A trust -U shuffledp -E UTF8 --locale=C --no-sync >&2
"$1/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off \
    -c max_connections=100 -c log_min_messages=fatal -c deadlock_timeout=100ms </dev/null >&2 &
server=$!
echo "$folder"
cat >/dev/null
kill -INT "$server"
wait "$server" || true
"#;

fn start() -> Option<(String, Option<ChildStdin>)> {
    let bin = installed()?;
    let root = Command::new("id").arg("-u").output().ok()?.stdout == b"0\n";
    let mut command = match root {
        // The server refuses to run as root.
        true => {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--", "sh"]);
            command
        }
        false => Command::new("sh"),
    };
    let command = command.args(["-c", SERVER, "sh"]).arg(bin).current_dir("/");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.stderr(Stdio::null()).spawn().ok()?;
    let mut folder = String::new();
    BufReader::new(server.stdout.take()?)
        .read_line(&mut folder)
        .ok()?;
    let folder = folder.trim();
    if folder.is_empty() {
        return None;
    }
    let connection = format!("host={folder} user=shuffledp dbname=postgres");
    for _ in 0..300 {
        if Client::connect(&connection, NoTls).is_ok() {
            return Some((connection, server.stdin.take()));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    None
}

/// The same test of every store.
macro_rules! of_every_store {
    ($($test:ident)*) => {
        mod embedded {
            $(#[test]
            fn $test() {
                super::$test(&crate::place::Place::folder());
            })*
        }
        mod postgres {
            $(#[test]
            fn $test() {
                if let Some(place) = crate::place::Place::database() {
                    super::$test(&place);
                }
            })*
        }
    };
}
pub(crate) use of_every_store;
