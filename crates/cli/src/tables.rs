//! Errors of input files, with flags: the library names files, columns and values, and the command adds the
//! flags that they came from.

use crate::failure::{Failure, not_built};
#[cfg(feature = "train")]
use shuffledp::learning::run::TableSpec;
use shuffledp::plain;
use shuffledp_tables::{CellProblem, ColumnProblem, Error, quoted};

/// The error of the file of `--input`, of which `--column` is read.
pub(crate) fn refused_records(error: Error) -> Failure {
    match &error {
        Error::NoColumn { column, .. } => value("--column", column, &error),
        Error::SameName { .. } => twice("--column", &error),
        Error::ListedTwice { .. } => Failure::flag("--values", "--values: a value is listed twice"),
        Error::Column {
            problem: ColumnProblem::OneValue,
            ..
        } => {
            let advice = "a histogram is of two or more (--values)";
            Failure::flag("--column", format!("{error}: {advice}"))
        }
        Error::Cell { problem, .. } => {
            let words = match problem {
                CellProblem::Outside { value, low, high } => {
                    let [value, low, high] = [value, low, high].map(|number| plain(*number));
                    format!("{value} is outside --range {low}..{high}")
                }
                CellProblem::NotListed { value } => {
                    format!("{} is not one of the --values", quoted(value))
                }
                CellProblem::TooMany { .. } => format!("{problem}: ask for heavy-hitters"),
                CellProblem::Refused { .. } => format!("{problem} (--length)"),
                _ => problem.to_string(),
            };
            cell("--input", &error, &words)
        }
        _ => refused("--input", &error),
    }
}

/// The error of the table of `--data`, of which `label` is predicted.
#[cfg(feature = "train")]
pub(crate) fn refused_examples(error: Error, spec: &TableSpec) -> Failure {
    let label = &spec.label;
    let is_chosen = |column: &String| {
        spec.columns
            .as_ref()
            .is_some_and(|list| list.contains(column))
    };
    let is = |name: &Option<String>, column: &String| name.as_ref() == Some(column);
    let is_feature =
        |column: &String| column != label && !is(&spec.user, column) && !is(&spec.rates, column);
    const ADVICE: &str = "every column without another use is a feature and a number, or one of a list of \
                          values (--category)";
    match &error {
        Error::NoColumn { column, .. } if column == label => value("--label", column, &error),
        Error::NoColumn { column, .. } if is_chosen(column) => value("--columns", column, &error),
        Error::NoColumn { column, .. } => {
            let flag = match () {
                () if is(&spec.user, column) => "--user",
                () if is(&spec.rates, column) => "--rates",
                () => "--range",
            };
            value(flag, column, &error)
        }
        Error::Categories { column, reason } => {
            Failure::flag("--category", format!("--category {column}: {reason}"))
        }
        Error::StandIn {
            column,
            value,
            reason,
        } => Failure::flag("--missing", format!("--missing {column}={value}: {reason}")),
        Error::SameName { column, .. } if column == label => twice("--label", &error),
        Error::RangeOfLabel { column } => {
            let message = format!("--range {column}: that is the label, which is not a number");
            Failure::flag("--range", message)
        }
        Error::TwoRanges { column, low, high } => {
            let ends = format!("{}..{}", plain(*low), plain(*high));
            let message = match column {
                None => format!("--range {ends}: every column has a range already"),
                Some(name) => {
                    let column = quoted(name);
                    format!("--range {name}={ends}: column {column} has a range already")
                }
            };
            Failure::flag("--range", message)
        }
        Error::TestShare { value: share } => value("--test-share", &share.to_string(), &error),
        Error::NoExamples { .. } => {
            let message = error.to_string().replacen("test_share", "--test-share", 1);
            Failure::flag("--test-share", message)
        }
        Error::Classes { value: list } => value("--classes", list, &error),
        Error::LabelIsFeature { column } => {
            let message = format!("--columns {column}: that is the --label, which is learnt");
            Failure::flag("--columns", message)
        }
        Error::ListedTwice { value } if is_chosen(value) => Failure::flag(
            "--columns",
            format!("--columns {value}: it is listed twice"),
        ),
        Error::ListedTwice { .. } => {
            Failure::flag("--classes", "--classes: a class is listed twice")
        }
        Error::Column { problem, .. } => match problem {
            ColumnProblem::OneValue => {
                let advice = "there are two classes or more (--classes)";
                Failure::flag("--label", format!("{error}: {advice}"))
            }
            ColumnProblem::Text { .. } => Failure::flag("--data", format!("{error}: {ADVICE}")),
            _ => refused("--data", &error),
        },
        Error::NoValue { column, .. } if is_feature(column) => {
            let advice = "a value for empty cells can be declared (--missing)";
            Failure::flag("--data", format!("--data: {error}: {advice}"))
        }
        Error::Cell {
            problem, column, ..
        } => {
            let words = match problem {
                CellProblem::NotNumber { .. } => format!("{problem}: {ADVICE}"),
                CellProblem::Outside { .. } if is_feature(column) => {
                    format!("{problem} (--range)")
                }
                CellProblem::NotListed { value } if column == label => {
                    format!("{} is not one of the --classes", quoted(value))
                }
                CellProblem::NotListed { value } => {
                    format!(
                        "{} is not one of the values of its --category",
                        quoted(value)
                    )
                }
                CellProblem::TooMany { most } => {
                    let most = shuffledp::grouped(*most as u64);
                    format!("more than {most} different labels: a label is one of a few classes")
                }
                _ => problem.to_string(),
            };
            cell("--data", &error, &words)
        }
        _ => refused("--data", &error),
    }
}

/// What is wrong with the table of `--data`, whose rows are classified.
#[cfg(feature = "train")]
pub(crate) fn refused_rows(error: Error) -> Failure {
    match &error {
        Error::Cell { problem, .. } => {
            let words = match problem {
                CellProblem::Outside { .. } => format!("{problem} of the model"),
                _ => problem.to_string(),
            };
            cell("--data", &error, &words)
        }
        _ => refused("--data", &error),
    }
}

/// A name, a share or a list that is not what is allowed.
fn value(flag: &str, value: &str, error: &Error) -> Failure {
    Failure::value(flag, value, &error.allowed().unwrap_or_default())
}

/// A column that was asked for, where several have its name.
fn twice(flag: &str, error: &Error) -> Failure {
    match error {
        Error::SameName { file, column } => {
            let file = file.display();
            let message = format!("{flag} {column}: {file} has more than one column of that name");
            Failure::flag(flag, message)
        }
        _ => Failure::flag(flag, error.to_string()),
    }
}

/// The error of a cell.
fn cell(flag: &str, error: &Error, words: &str) -> Failure {
    match error {
        Error::Cell {
            file, row, column, ..
        } => {
            let (file, column) = (file.display(), quoted(column));
            Failure::flag(
                flag,
                format!("row {row} of {file}, column {column}: {words}"),
            )
        }
        _ => Failure::flag(flag, error.to_string()),
    }
}

/// The error of a file, for every command.
fn refused(flag: &str, error: &Error) -> Failure {
    let message = match error {
        Error::Unreadable { .. } | Error::UnknownKind { .. } => format!("{flag} {error}"),
        Error::ParquetNotBuilt { file } => {
            not_built(&format!("{} is a Parquet file", file.display()), "parquet")
        }
        _ => error.to_string(),
    };
    Failure::flag(flag, message)
}
