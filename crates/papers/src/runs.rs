//! The log of a run: a small text file, kept beside the notes, so that they are made without learning again.
//!
//! ```text
//! # shuffledp train --data MNIST --model cnn … --seed 1
//! # shuffledp 0.1.0
//! # a round: {"randomizer":{"name":"gaussian",…},…}
//! round,accuracy
//! 20,0.1325
//! ```
//!
//! The first line is the command, with its seed; the second is who ran it; the third is what a round is
//! charged as, and is missing where nobody is protected. Then a row for each look. A log is written when its
//! run is over, and never in part.

use crate::error::Error;
use crate::learning::Course;
use shuffledp::{Round, RoundSpec};
use std::path::Path;

const ROUND: &str = "a round: ";
const HEADER: &str = "round,accuracy";

/// A course, and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) command: String,
    pub(crate) course: Course,
}

impl Log {
    /// As text.
    fn text(&self) -> Result<String, Error> {
        let mut text = format!(
            "# {}\n# shuffledp {}\n",
            self.command,
            env!("CARGO_PKG_VERSION")
        );
        if let Some(round) = &self.course.round {
            let spec = serde_json::to_string(&RoundSpec::of(round, 1));
            let spec = spec.map_err(|error| Error::Run(Box::new(error)))?;
            text += &format!("# {ROUND}{spec}\n");
        }
        text += HEADER;
        text.push('\n');
        for (round, accuracy) in &self.course.looks {
            text += &format!("{round},{accuracy}\n");
        }
        Ok(text)
    }

    /// From such text.
    fn parsed(text: &str) -> Result<Self, String> {
        let head: Vec<&str> = text
            .lines()
            .map_while(|line| line.strip_prefix("# "))
            .collect();
        let command = head
            .first()
            .ok_or("the first line is not # and a command")?;
        let round = match head.iter().find_map(|line| line.strip_prefix(ROUND)) {
            None => None,
            Some(spec) => {
                let spec: RoundSpec =
                    serde_json::from_str(spec).map_err(|error| error.to_string())?;
                Some(Round::try_from(&spec).map_err(|error| error.to_string())?)
            }
        };
        let mut rows = text.lines().skip(head.len());
        if rows.next() != Some(HEADER) {
            return Err(format!("there is no line {HEADER} below the head"));
        }
        let mut looks: Vec<(u64, f64)> = Vec::new();
        for row in rows {
            let look = row.split_once(',');
            let look = look.and_then(|(round, accuracy)| {
                let look: (u64, f64) = (round.parse().ok()?, accuracy.parse().ok()?);
                let rises = looks.last().is_none_or(|last| last.0 < look.0);
                (rises && (0.0..=1.0).contains(&look.1)).then_some(look)
            });
            looks.push(look.ok_or_else(|| format!("{row} is not a later round and an accuracy"))?);
        }
        if looks.is_empty() {
            return Err("there is no look".to_owned());
        }
        Ok(Self {
            command: (*command).to_owned(),
            course: Course { round, looks },
        })
    }

    /// From a file; none if there is no such file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let refuse = |why: String| Error::Log {
            path: path.to_owned(),
            why,
        };
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self::parsed(&text).map_err(refuse)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refuse(error.to_string())),
        }
    }

    /// Into a file, in a folder that is made where it is missing. The file appears as a whole.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        let text = self.text()?;
        let unfinished = path.with_extension("unfinished");
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&unfinished, text))
            .and_then(|()| std::fs::rename(&unfinished, path));
        written.map_err(|error| Error::Log {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Log;
    use crate::learning::Course;
    use shuffledp::{Domain, Mechanism, Round};

    fn log(round: Option<Round>) -> Log {
        Log {
            command: "shuffledp train --seed 1".to_owned(),
            course: Course {
                round,
                looks: vec![(20, 0.1325), (40, 1.0 / 3.0)],
            },
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let noise = Mechanism::gaussian(2.5, Domain::Ball).unwrap();
        let round = Round::new(noise, 60_000).unwrap().check_in(0.1).unwrap();
        for round in [None, Some(round)] {
            let log = log(round);
            let back = Log::parsed(&log.text().unwrap()).unwrap();
            assert_eq!(back.command, log.command);
            assert_eq!(back.course.round, log.course.round);
            assert_eq!(back.course.looks, log.course.looks);
        }
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let whole = log(None).text().unwrap();
        for (from, to) in [
            ("# shuffledp train", "shuffledp train"),
            ("round,accuracy", "round;accuracy"),
            ("40,", "20,"),
            ("40,0.3", "40,1.3"),
            ("0.1325", ""),
            ("# shuffledp 0", "# a round: {}\n# shuffledp 0"),
        ] {
            assert!(whole.contains(from), "{from}");
            assert!(Log::parsed(&whole.replacen(from, to, 1)).is_err(), "{from}");
        }
        assert!(Log::parsed("# shuffledp train\nround,accuracy\n").is_err());
    }
}
