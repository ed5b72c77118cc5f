//! The command line as a person types it: the README's examples, ordinary questions, and mistakes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[test]
fn the_readme_shows_what_the_command_prints() {
    trycmd::TestCases::new().case("../../README.md");
}

#[test]
fn the_guide_shows_what_the_command_prints() {
    trycmd::TestCases::new().case("../../docs/*.md");
}

#[test]
fn answers_and_mistakes() {
    trycmd::TestCases::new().case("tests/commands/*.md");
}
