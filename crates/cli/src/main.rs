//! The `shuffledp` command: asks the library, prints.

// What only one feature uses is dead code without it. The default build has all features and no such exception.
#![cfg_attr(
    not(all(feature = "parquet", feature = "plots", feature = "train")),
    allow(dead_code)
)]

mod answer;
mod audit;
mod calibration;
mod column;
mod comparison;
mod curve;
mod device;
mod divergences;
mod failure;
mod manual;
mod number;
mod plot;
mod progress;
#[cfg(all(feature = "train", feature = "plots"))]
mod reproduce;
mod series;
mod simulate;
#[cfg(feature = "train")]
mod train;
mod values;
mod words;

use answer::Format;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use failure::Failure;
use shuffledp::{Delta, Epsilon};
use std::io::Write;
use std::process::ExitCode;
use words::Words;

/// Privacy accounting in the shuffle model of differential privacy.
///
/// Every answer is an upper bound (the guarantee) beside a lower bound (what no analysis can get below), each with its standing.
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
    Epsilon(EpsilonArguments),
    /// The central delta of shuffled rounds at a given epsilon
    #[command(after_help = "Example:\n  shuffledp delta --epsilon0 4 --users 1e6 --epsilon 0.05")]
    Delta(DeltaArguments),
    /// Renyi divergences of shuffled rounds at given orders
    #[command(
        after_help = "Example:\n  shuffledp rdp --epsilon0 4 --users 1e4 --orders 2,4,8:64:8"
    )]
    Rdp(RdpArguments),
    /// Every published bound on the same rounds, beside ours
    #[command(
        after_help = "Example:\n  shuffledp compare --epsilon0 2 --users 1e6 --sample 1000 --rounds 1e4 --delta 1e-8"
    )]
    Compare(EpsilonArguments),
    /// The best value of one parameter that still meets a budget
    #[command(
        after_help = "Example:\n  shuffledp calibrate --users 1e5 --rounds 10 --target-epsilon 0.5 --delta 1e-6 --solve epsilon0"
    )]
    Calibrate(CalibrateArguments),
    /// Bounds over one parameter, as a series and as a picture
    #[command(
        after_help = "Example:\n  shuffledp curve --epsilon0 2 --users 1e6 --sample 1000 --delta 1e-8 --over rounds --from 1 --to 1e5 --log --bounds girgis,feldman-2021 --plot rounds.svg"
    )]
    Curve(curve::CurveArguments),
    /// The tables and figures of the papers, ours beside theirs
    #[cfg(all(feature = "train", feature = "plots"))]
    #[command(
        after_help = "Example:\n  shuffledp reproduce shuffled-check-in/table-2 --out papers"
    )]
    Reproduce(reproduce::ReproduceArguments),
    /// A collection from the records of a file: devices, shuffler and analyzer in one process
    Simulate(simulate::SimulateArguments),
    /// Attacks the code that runs, and puts what it finds beside the bracket
    #[command(
        after_help = "Example:\n  shuffledp audit --randomizer krr --k 10 --epsilon0 1 --users 100\n\nThe exit code is 3 if the attack went beyond the upper bound."
    )]
    Audit(audit::AuditArguments),
    /// Private learning: gradients of examples that stay with their owners, with the budget as it is spent
    #[cfg(feature = "train")]
    #[command(
        after_help = "Examples:\n  shuffledp train --demo\n  shuffledp train --data mnist --epsilon0 1.5 --sample 10000 --target-epsilon 0.25 --out run\n  shuffledp train --resume run"
    )]
    Train(Box<train::TrainArguments>),
    /// Completions for a shell, on standard output
    #[command(after_help = "Example:\n  shuffledp completions bash > shuffledp.bash")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The manual page of shuffledp or of one of its commands, on standard output
    #[command(
        after_help = "Examples:\n  shuffledp man > shuffledp.1\n  shuffledp man simulate histogram > shuffledp-simulate-histogram.1"
    )]
    Man {
        /// The command; none for shuffledp as a whole
        command: Vec<String>,
    },
}

#[derive(Args)]
struct EpsilonArguments {
    #[command(flatten)]
    words: Words,
    /// Central delta, in [1e-300, 1)
    #[arg(
        long,
        value_name = "D",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    delta: String,
}

#[derive(Args)]
struct CalibrateArguments {
    #[command(flatten)]
    words: Words,
    /// Central epsilon that may not be exceeded
    #[arg(
        long,
        value_name = "E",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    target_epsilon: String,
    /// Central delta, in [1e-300, 1)
    #[arg(
        long,
        value_name = "D",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    delta: String,
    /// What to solve for
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Question")]
    solve: calibration::Solve,
}

#[derive(Args)]
struct RdpArguments {
    #[command(flatten)]
    words: Words,
    /// Orders above 1, such as 2,4,8:64 or 8:64:8 (from, to, step)
    #[arg(
        long,
        value_name = "LIST",
        default_value = "2,4,8,16,32,64,128,256",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    orders: String,
}

#[derive(Args)]
struct DeltaArguments {
    #[command(flatten)]
    words: Words,
    /// Central epsilon, in [0, inf)
    #[arg(
        long,
        value_name = "E",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    epsilon: String,
}

fn main() -> ExitCode {
    let command = match Command::try_parse() {
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
        Ok((text, code)) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => code,
            // Whoever reads has had enough: not an error.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => code,
            Err(error) => Failure::unwritten(&error).report(Format::Table),
        },
        Err(failure) => failure.report(format),
    }
}

impl Ask {
    fn format(&self) -> Format {
        match self {
            Self::Epsilon(arguments) | Self::Compare(arguments) => arguments.words.format,
            Self::Rdp(arguments) => arguments.words.format,
            Self::Delta(arguments) => arguments.words.format,
            Self::Calibrate(arguments) => arguments.words.format,
            Self::Curve(arguments) => arguments.words.format,
            Self::Simulate(arguments) => arguments.format(),
            Self::Audit(arguments) => arguments.words.format,
            #[cfg(feature = "train")]
            Self::Train(arguments) => arguments.format,
            #[cfg(all(feature = "train", feature = "plots"))]
            Self::Reproduce(_) => Format::Table,
            Self::Completions { .. } | Self::Man { .. } => Format::Table,
        }
    }

    /// What to print, and the exit code.
    fn answer(self) -> Result<(String, ExitCode), Failure> {
        let text = match self {
            Self::Epsilon(EpsilonArguments { words, delta }) => {
                let delta = Delta::new(number::real("--delta", &delta)?)?;
                let question = words.question()?;
                let answer = words.account(&question)?.epsilon(delta)?;
                let given = ("delta", delta.value());
                answer::text(
                    words.format,
                    question,
                    given,
                    "epsilon",
                    &answer,
                    Epsilon::value,
                )
            }
            Self::Delta(DeltaArguments { words, epsilon }) => {
                let epsilon = Epsilon::new(number::real("--epsilon", &epsilon)?)?;
                let question = words.question()?;
                let answer = words.account(&question)?.delta(epsilon)?;
                let given = ("epsilon", epsilon.value());
                answer::text(
                    words.format,
                    question,
                    given,
                    "delta",
                    &answer,
                    Delta::value,
                )
            }
            Self::Rdp(RdpArguments { words, orders }) => {
                words.refuse_accuracy()?;
                let orders = divergences::orders(&orders)?;
                divergences::text(words.format, words.question()?, &orders)?
            }
            Self::Compare(EpsilonArguments { words, delta }) => {
                let delta = Delta::new(number::real("--delta", &delta)?)?;
                words.refuse_accuracy()?;
                comparison::text(words.format, words.question()?, delta)?
            }
            Self::Calibrate(CalibrateArguments {
                words,
                target_epsilon,
                delta,
                solve,
            }) => {
                let target = number::real("--target-epsilon", &target_epsilon)?;
                let target = Epsilon::new(target).map_err(|_| {
                    Failure::value("--target-epsilon", &target_epsilon, "in [0, inf)")
                })?;
                let delta = Delta::new(number::real("--delta", &delta)?)?;
                calibration::text(&words, solve, target, delta)?
            }
            Self::Curve(arguments) => arguments.text()?,
            #[cfg(all(feature = "train", feature = "plots"))]
            Self::Reproduce(arguments) => arguments.text()?,
            Self::Simulate(arguments) => arguments.text()?,
            #[cfg(feature = "train")]
            Self::Train(arguments) => arguments.text()?,
            Self::Audit(arguments) => return arguments.text(),
            Self::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Command::command(), "shuffledp", &mut script);
                String::from_utf8_lossy(&script).into_owned()
            }
            Self::Man { command } => manual::page(Command::command(), &command)?,
        };
        Ok((text, ExitCode::SUCCESS))
    }
}
