//! Pictures that a person asks for: the file is what its ending says, and shows what it should.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::PathBuf;
use std::process::Command;

/// Runs a curve into a file of this name.
fn drawn(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let status = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .args(
            "curve --epsilon0 1 --users 1e4 --delta 1e-6 --over rounds --from 1 --to 100 --log \
            --points 5"
                .split(' '),
        )
        .args(["--bounds", "feldman-2023,erlingsson", "--plot"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    assert!(status.stderr.is_empty(), "a bar where there is no terminal");
    std::fs::read(path).unwrap()
}

#[test]
fn an_svg_names_every_line_that_it_draws() {
    let text = String::from_utf8(drawn("rounds.svg")).unwrap();
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
    for words in [
        "shuffledp, upper (certified)",
        "shuffledp, lower (certified)",
        "feldman-2023 closed form (proved)",
        "rounds T",
        "ε at δ = 1e-6",
    ] {
        assert!(text.contains(words), "lacks {words}");
    }
    // One round of erlingsson-2019 needs more users: no line, and no entry.
    assert!(!text.contains("erlingsson"));
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

#[test]
fn a_png_is_one() {
    let bytes = drawn("rounds.png");
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let size = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert!(
        size(16) > 1000 && size(20) > 700,
        "wide and high enough for print"
    );
}

#[test]
fn the_same_question_draws_the_same_picture() {
    assert_eq!(drawn("once.svg"), drawn("twice.svg"));
}
