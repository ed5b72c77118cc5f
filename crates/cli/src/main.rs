//! The `shuffledp` command: arguments in, reports out. Every number comes from the library.

// Code that only one feature uses is dead without it. The default build has all features and allows no dead
// code.
#![cfg_attr(not(all(feature = "papers", feature = "parquet")), allow(dead_code))]

#[cfg(feature = "train")]
mod choice;
mod commands;
mod failure;
#[cfg(feature = "train")]
mod interrupt;
mod manual;
mod number;
mod output;
mod plot;
mod progress;
mod question;
mod tables;
mod values;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
#[cfg(feature = "papers")]
use commands::reproduce;
#[cfg(feature = "service")]
use commands::{analyze, analyzer, demo, keys, probe, report, shuffle, shuffler, task, token};
use commands::{audit, calibrate, curve, epsilon, rdp, simulate};
#[cfg(feature = "train")]
use commands::{predict, train};
use failure::Failure;
use output::{Format, Report};
use std::io::Write;
use std::process::ExitCode;

/// Privacy accounting in the shuffle model of differential privacy.
///
/// Every answer has an upper bound (the guarantee) and a lower bound (no analysis can prove less), each with
/// its standing, and names the neighboring relation.
#[derive(Parser)]
#[command(name = "shuffledp", version, max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    ask: Ask,
}

#[derive(Subcommand)]
enum Ask {
    /// The central epsilon of shuffled rounds at a given delta
    #[command(after_help = "Example:\n  shuffledp epsilon --epsilon0 4 --users 1e6 --delta 1e-8")]
    Epsilon(epsilon::EpsilonArguments),
    /// The central delta of shuffled rounds at a given epsilon
    #[command(after_help = "Example:\n  shuffledp delta --epsilon0 4 --users 1e6 --epsilon 0.05")]
    Delta(epsilon::DeltaArguments),
    /// Renyi divergences of shuffled rounds at given orders
    #[command(
        after_help = "Example:\n  shuffledp rdp --epsilon0 4 --users 1e4 --orders 2,4,8:64:8"
    )]
    Rdp(rdp::RdpArguments),
    /// Every published bound on the same rounds, next to the bounds of this tool
    #[command(
        after_help = "Example:\n  shuffledp compare --epsilon0 2 --users 1e6 --sample 1000 --rounds 1e4 \
            --delta 1e-8"
    )]
    Compare(epsilon::EpsilonArguments),
    /// The best value of one parameter that still meets a budget
    #[command(
        after_help = "Example:\n  shuffledp calibrate --users 1e5 --rounds 10 --target-epsilon 0.5 \
            --delta 1e-6 --solve epsilon0"
    )]
    Calibrate(calibrate::CalibrateArguments),
    /// Bounds over a range of one parameter, as a table and as a picture
    #[command(
        after_help = "Example:\n  shuffledp curve --epsilon0 2 --users 1e6 --sample 1000 --delta 1e-8 \
            --over rounds --from 1 --to 1e5 --log --bounds girgis,feldman-2021 --plot rounds.svg"
    )]
    Curve(curve::CurveArguments),
    /// Tables and figures of papers, computed again next to the published numbers
    #[cfg(feature = "papers")]
    #[command(
        after_help = "Example:\n  shuffledp reproduce shuffled-check-in/table-2 --out papers"
    )]
    Reproduce(reproduce::ReproduceArguments),
    /// Simulate a collection from the records of a file: devices, shuffler and analyzer in one process
    Simulate(simulate::SimulateArguments),
    /// Estimate epsilon by attacking the implementation, next to the proved bounds
    #[command(
        after_help = "Example:\n  shuffledp audit --randomizer krr --k 10 --epsilon0 1 --users 100\n\nThe \
            exit code is 3 if the attack went beyond the upper bound."
    )]
    Audit(audit::AuditArguments),
    /// Train a model from clipped and randomized gradients, and print the privacy budget as it is spent
    #[cfg(feature = "train")]
    #[command(
        after_help = "Examples:\n  shuffledp train --demo\n  shuffledp train --data mnist --epsilon0 1.5 \
            --sample 10000 --target-epsilon 0.25 --out run\n  shuffledp train --resume run"
    )]
    Train(Box<train::TrainArguments>),
    /// The classes that a trained model gives to the rows of a table or to pictures
    #[cfg(feature = "train")]
    #[command(
        after_help = "Example:\n  shuffledp predict --model run --data people.csv --format csv"
    )]
    Predict(predict::PredictArguments),
    /// What devices, shuffler and analyzer of a collection agree on: written, or shown
    #[cfg(feature = "service")]
    Task(task::TaskArguments),
    /// New keys: of the shuffler, the analyzer, an issuer of tokens; tokens, and master keys of a store
    #[cfg(feature = "service")]
    #[command(
        after_help = "Examples:\n  shuffledp keys shuffler --out keys\n  shuffledp keys master --out \
        master-2.key --number 2"
    )]
    Keys(keys::KeysArguments),
    /// Anonymous tokens: one report for a person and a window, and nobody learns whose
    #[cfg(feature = "service")]
    Token(token::TokenArguments),
    /// A device's report: randomized, sealed for the shuffler, counted in the device's ledger
    #[cfg(feature = "service")]
    #[command(
        after_help = "Examples:\n  shuffledp report --task task.json --shuffler-key shuffler-1.pub --window \
            0 --value bus --ledger ledger.json --out outbox/report\n  shuffledp report --task task.json \
            --shuffler-key shuffler-1.pub --window 0 --input people.csv --column mode --out outbox/many\n  \
            shuffledp report --task task.json --ledger ledger.json --status"
    )]
    Report(report::ReportArguments),
    /// The shuffler: envelopes in, batches in a random order out, and none that is too small
    #[cfg(feature = "service")]
    #[command(
        after_help = "Example:\n  shuffledp shuffle --task task.json --key shuffler-1.key --input inbox \
            --out batches"
    )]
    Shuffle(shuffle::ShuffleArguments),
    /// The analyzer: estimates with intervals from a batch, and what they cost
    #[cfg(feature = "service")]
    #[command(
        after_help = "Example:\n  shuffledp analyze --task task.json --key analyzer.key \
            batches/window-0.batch"
    )]
    Analyze(analyze::AnalyzeArguments),
    /// The shuffler on the network: takes sealed reports, enforces the smallest batch, forgets the order
    #[cfg(feature = "service")]
    #[command(
        after_help = "Examples:\n  shuffledp shuffler --defaults > shuffler.toml\n  shuffledp shuffler \
            --config shuffler.toml\n  shuffledp shuffler --config shuffler.toml --check-journal"
    )]
    Shuffler(shuffler::ShufflerArguments),
    /// The analyzer of a running shuffler: fetch, ack, estimate
    #[cfg(feature = "service")]
    Analyzer(analyzer::AnalyzerArguments),
    /// Devices, shuffler and analyzer over loopback, from keys to a private histogram
    #[cfg(feature = "service")]
    #[command(after_help = "Example:\n  shuffledp demo")]
    Demo(demo::DemoArguments),
    /// Envelopes that must come back: an auditor sees whether somebody keeps reports away
    #[cfg(feature = "service")]
    Probe(probe::ProbeArguments),
    /// Completions for a shell, on standard output
    #[command(after_help = "Example:\n  shuffledp completions bash > shuffledp.bash")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The manual page of shuffledp or of one of its commands, on standard output
    #[command(
        after_help = "Examples:\n  shuffledp man > shuffledp.1\n  shuffledp man simulate histogram > \
            shuffledp-simulate-histogram.1"
    )]
    Man {
        /// The command; without it, the page of shuffledp itself
        command: Vec<String>,
    },
}

fn main() -> ExitCode {
    let matches = with_negative_numbers(Command::command()).try_get_matches();
    let command = match matches.and_then(|matches| Command::from_arg_matches(&matches)) {
        Ok(command) => command,
        // Help and version are not errors: clap prints them on standard output and leaves with 0.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.exit()
        }
        Err(error) => return Failure::from(error).report(Format::of_command_line()),
    };
    let format = command.ask.format();
    match command.ask.answer() {
        Ok((text, code, after)) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => after.map_or(code, |failure| failure.report(Format::Table)),
            // The reader has closed the pipe: not an error.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => code,
            Err(error) => Failure::unwritten(&error).report(Format::Table),
        },
        Err(failure) => failure.report(format),
    }
}

/// Values such as -1 and -0.5..2 are values, not flags: the library refuses those that make no sense.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| {
            if argument.get_action().takes_values() && !argument.is_positional() {
                argument.allow_hyphen_values(true)
            } else {
                argument
            }
        })
        .mut_subcommands(with_negative_numbers)
}

/// Text for standard output, the exit code, and a failure after the numbers were computed.
type Printed = (String, ExitCode, Option<Failure>);

impl Ask {
    fn format(&self) -> Format {
        match self {
            Self::Epsilon(arguments) | Self::Compare(arguments) => arguments.round.format,
            Self::Rdp(arguments) => arguments.round.format,
            Self::Delta(arguments) => arguments.round.format,
            Self::Calibrate(arguments) => arguments.round.format,
            Self::Curve(arguments) => arguments.round.format,
            Self::Simulate(arguments) => arguments.format(),
            Self::Audit(arguments) => arguments.round.format,
            #[cfg(feature = "train")]
            Self::Train(arguments) => arguments.format,
            #[cfg(feature = "train")]
            Self::Predict(arguments) => arguments.format,
            #[cfg(feature = "service")]
            Self::Task(arguments) => arguments.format(),
            #[cfg(feature = "service")]
            Self::Keys(arguments) => arguments.format,
            #[cfg(feature = "service")]
            Self::Token(arguments) => arguments.format(),
            #[cfg(feature = "service")]
            Self::Report(arguments) => arguments.format,
            #[cfg(feature = "service")]
            Self::Shuffle(arguments) => arguments.format,
            #[cfg(feature = "service")]
            Self::Analyze(arguments) => arguments.format,
            #[cfg(feature = "service")]
            Self::Shuffler(_) => Format::Table,
            #[cfg(feature = "service")]
            Self::Analyzer(arguments) => arguments.format(),
            #[cfg(feature = "service")]
            Self::Demo(arguments) => arguments.format,
            #[cfg(feature = "service")]
            Self::Probe(arguments) => arguments.format(),
            #[cfg(feature = "papers")]
            Self::Reproduce(_) => Format::Table,
            Self::Completions { .. } | Self::Man { .. } => Format::Table,
        }
    }

    /// Whether the command shows progress of its own.
    fn has_bar(&self) -> bool {
        match self {
            Self::Curve(_) | Self::Simulate(_) | Self::Audit(_) => true,
            // Its events are its progress.
            #[cfg(feature = "service")]
            Self::Shuffler(_) => true,
            #[cfg(feature = "train")]
            Self::Train(_) => true,
            #[cfg(feature = "papers")]
            Self::Reproduce(_) => true,
            _ => false,
        }
    }

    fn answer(self) -> Result<Printed, Failure> {
        let format = self.format();
        let mut code = ExitCode::SUCCESS;
        let waiting = (!self.has_bar()).then(progress::Waiting::start);
        let report: Report = match self {
            Self::Epsilon(arguments) => arguments.report()?,
            Self::Delta(arguments) => arguments.report()?,
            Self::Rdp(arguments) => arguments.report()?,
            Self::Compare(arguments) => arguments.comparison()?,
            Self::Calibrate(arguments) => arguments.report()?,
            Self::Curve(arguments) => arguments.report()?,
            Self::Simulate(arguments) => arguments.report()?,
            Self::Audit(arguments) => {
                let (report, verdict) = arguments.report()?;
                code = verdict;
                report
            }
            #[cfg(feature = "papers")]
            Self::Reproduce(arguments) => return Ok((arguments.text()?, code, None)),
            #[cfg(feature = "train")]
            Self::Train(arguments) => return Ok((arguments.text()?, code, None)),
            #[cfg(feature = "train")]
            Self::Predict(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Task(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Keys(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Token(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Report(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Shuffle(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Analyze(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Shuffler(arguments) => return Ok((arguments.text()?, code, None)),
            #[cfg(feature = "service")]
            Self::Analyzer(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Demo(arguments) => arguments.report()?,
            #[cfg(feature = "service")]
            Self::Probe(arguments) => {
                let (report, verdict) = arguments.report()?;
                code = verdict;
                report
            }
            Self::Man { command } => {
                let page = manual::page(Command::command(), &command)?;
                return Ok((page, code, None));
            }
            Self::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Command::command(), "shuffledp", &mut script);
                return Ok((String::from_utf8_lossy(&script).into_owned(), code, None));
            }
        };
        let (text, after) = report.rendered(format);
        drop(waiting);
        Ok((text, code, after))
    }
}
