//! Two shufflers on one database, as `docs/operating.md` says: its commands start the server, and its
//! configuration is that of both. Skipped, and said so, where PostgreSQL is not installed.

#![allow(clippy::unwrap_used)]

mod running;

use running::Shuffler;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");

/// The first block of a language after the heading.
fn block(language: &str) -> String {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let section = page
        .split("## Two shufflers on one database")
        .nth(1)
        .unwrap();
    let block = section.split(&format!("```{language}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// Runs lines of a shell in a folder, as a user that PostgreSQL does not refuse.
fn shell(folder: &Path, lines: &str) -> bool {
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = match root {
        true => {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--", "sh"]);
            command
        }
        false => Command::new("sh"),
    };
    let command = command.args(["-e", "-c", lines]).current_dir(folder);
    // What the server inherits it holds open.
    let null = || std::process::Stdio::null();
    command
        .stdout(null())
        .stderr(null())
        .status()
        .unwrap()
        .success()
}

/// What a command prints; it succeeds.
fn ask(folder: &Path, line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shuffledp"));
    let command = command.args(line.split_whitespace()).current_dir(folder);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A server in a folder, stopped when it is dropped.
struct Server<'f>(&'f Path);

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let path = block("sh").lines().next().unwrap().to_owned();
        let _ = shell(self.0, &format!("{path}\npg_ctl -D data -m immediate stop"));
    }
}

#[test]
fn what_two_shufflers_take_is_one_batch() {
    if !Path::new("/usr/lib/postgresql").exists() {
        eprintln!("\n*** SKIPPED: two shufflers are NOT tested. Install `postgresql`. ***\n");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (folder, database) = (place.path(), place.path().join("database"));
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir(&database).unwrap();
    std::fs::set_permissions(&database, PermissionsExt::from_mode(0o777)).unwrap();
    let server = Server(&database);
    assert!(
        shell(&database, &block("sh")),
        "the page's commands start no server"
    );

    ask(folder, "keys analyzer");
    ask(folder, "keys master --out master.key");
    let token: Value = serde_json::from_str(&ask(folder, "keys token --format json")).unwrap();
    let task = ask(
        folder,
        "task new --name smokers --randomizer rr --epsilon0 1 --labels no,yes --users 4 --target-epsilon 1 \
         --delta 1e-6 --analyzer-key analyzer.pub --out task.json --format json",
    );
    let task: Value = serde_json::from_str(&task).unwrap();
    let mut config = block("toml");
    for (said, here) in [
        ("/the/folder/of/the/socket", database.to_str().unwrap()),
        (
            "the hash that `keys token` printed",
            token["sha256"].as_str().unwrap(),
        ),
        ("127.0.0.1:8080", "127.0.0.1:0"),
        ("127.0.0.1:8081", "127.0.0.1:0"),
    ] {
        assert!(config.contains(said), "{said}");
        config = config.replace(said, here);
    }
    for name in ["one", "two"] {
        std::fs::create_dir(folder.join(name)).unwrap();
        std::fs::write(folder.join(name).join("shuffler.toml"), &config).unwrap();
    }
    let both = ["one", "two"].map(|name| Shuffler::start(&folder.join(name)));
    for device in 0..6 {
        let url = format!("http://{}", both[device % 2].public);
        ask(
            folder,
            &format!("report --task task.json --to {url} --value no --ledger {device}.json"),
        );
    }
    let closed = both[0].close_window(task["id"].as_str().unwrap());
    assert!(closed.contains("\"reports\":6"), "{closed}");
    let from = format!("http://{}", both[1].public);
    let fetch =
        format!("analyzer fetch --task task.json --from {from} --token token --format json");
    let fetched: Value = serde_json::from_str(&ask(folder, &fetch)).unwrap();
    assert_eq!(fetched["batches"][0]["reports"], 6, "{fetched}");
    drop((both, server));
}
