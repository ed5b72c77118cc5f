//! `shuffledp token`: one anonymous token for a person and a window, by three files: a request, an answer,
//! and the wallet of the device.

use crate::failure::Failure;
use crate::number::Count;
use crate::output::{Block, Format, Grid, Report, fields};
use clap::{Args, Subcommand};
use serde_json::json;
use shuffledp_service::folders::read_task;
use shuffledp_service::tokens::{Issuer, Wallet, read_answer, read_request, write};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct TokenArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A device asks for the token of a window: what the issuer signs and cannot read
    #[command(
        after_help = "Example:\n  shuffledp token request --task task.json --window 0 --wallet wallet.json \
            --out request.json"
    )]
    Request {
        #[command(flatten)]
        about: About,
        /// The window
        #[arg(long, value_name = "W")]
        window: Count,
        /// This device's file of tokens
        #[arg(long, value_name = "FILE")]
        wallet: PathBuf,
        /// Where the request goes: a new file
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// The issuer signs a request, once for a person and a window
    #[command(
        after_help = "Example:\n  shuffledp token sign --task task.json --key issuer/issuer.key --person \
            'member 17' --out answer.json request.json"
    )]
    Sign {
        #[command(flatten)]
        about: About,
        /// The issuer's file of its secret keys; the list of who had a signature is beside it
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Who asks, as the issuer knows people
        #[arg(long, value_name = "NAME")]
        person: String,
        /// Where the answer goes: a new file
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// The request
        request: PathBuf,
    },
    /// The device takes the answer: its report of the window carries a token then
    #[command(
        after_help = "Example:\n  shuffledp token finish --task task.json --wallet wallet.json answer.json"
    )]
    Finish {
        #[command(flatten)]
        about: About,
        /// This device's file of tokens
        #[arg(long, value_name = "FILE")]
        wallet: PathBuf,
        /// The answer
        answer: PathBuf,
    },
}

#[derive(Args)]
struct About {
    /// The file of the task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl TokenArguments {
    pub(crate) fn format(&self) -> Format {
        match &self.what {
            What::Request { about, .. } | What::Sign { about, .. } | What::Finish { about, .. } => {
                about.format
            }
        }
    }

    pub(crate) fn report(&self) -> Result<Report, Failure> {
        match &self.what {
            What::Request {
                about,
                window,
                wallet,
                out,
            } => {
                let task = read_task(&about.task)?;
                let request = Wallet::open(wallet)?.request(&task, window.0)?;
                write(&request, out)?;
                let path = out.display();
                Ok(about.done(
                    window.0,
                    out,
                    format!("{path}: for the issuer. It shows who asks, and nothing of the token."),
                ))
            }
            What::Sign {
                about,
                key,
                person,
                out,
                request,
            } => {
                let (task, request) = (read_task(&about.task)?, read_request(request)?);
                let answer = Issuer::open(key)?.sign(&task, person, &request)?;
                write(&answer, out)?;
                let (window, path) = (answer.window, out.display());
                let sentence = format!("{path}: signed for {person} and window {window}.");
                Ok(about.done(window, out, sentence))
            }
            What::Finish {
                about,
                wallet,
                answer,
            } => {
                let (task, answer) = (read_task(&about.task)?, read_answer(answer)?);
                Wallet::open(wallet)?.finish(&task, &answer)?;
                let window = answer.window;
                let sentence = format!("The token of window {window} is in {}.", wallet.display());
                Ok(about.done(window, wallet, sentence))
            }
        }
    }
}

impl About {
    fn done(&self, window: u64, file: &Path, sentence: String) -> Report {
        let mut csv = Grid::new(["window", "file"]);
        csv.row([window.to_string(), file.display().to_string()]);
        let json = json!({ "query": { "task": self.task }, "window": window, "file": file });
        Report {
            blocks: vec![Block::Line(sentence)],
            json: fields(json),
            csv,
            relation: None,
            after: None,
        }
    }
}
