//! `shuffledp reproduce`: arguments and printing; the exhibits themselves are in `shuffledp-papers`.

use crate::commands::train;
use crate::failure::Failure;
use crate::progress::Progress;
use clap::{ArgGroup, Args};
use shuffledp::grouped;
use shuffledp::learning::run::Source;
use shuffledp_papers::{Course, Error, Exhibit, Learner, Pictures, School, exhibits, index};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(group(ArgGroup::new("pictures").args(["data", "cifar10"]).multiple(true)))]
pub(crate) struct ReproduceArguments {
    /// An exhibit by its name, a paper for all of its exhibits, or 'all'
    #[arg(value_name = "ID", required_unless_present = "list")]
    id: Option<String>,
    /// List the names of all exhibits
    #[arg(long, conflicts_with_all = ["id", "out"])]
    list: bool,
    /// Folder to write into, with one subfolder for each paper
    #[arg(long, value_name = "DIR", default_value = "papers")]
    out: PathBuf,
    /// Folder with the files of MNIST, for runs of exhibits that train a model and whose log is not in the
    /// folder of --out (`scripts/fetch-data mnist DIR` fetches them)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder with the files of CIFAR-10, for those runs on it that are not logged
    #[arg(long, value_name = "DIR")]
    cifar10: Option<PathBuf>,
    /// Train again where the log of a run is there
    #[arg(long, requires = "pictures")]
    again: bool,
}

/// The data that runs need which are not logged, and its source.
fn wanted(pictures: Pictures) -> String {
    let (flag, name, fetched) = (pictures.flag(), pictures.name(), pictures.fetched());
    format!("{flag}, a folder with the files of {name} (`{fetched}` fetches them)")
}

impl ReproduceArguments {
    /// Computes the exhibits, and returns the paths of the files written.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let all = exhibits();
        let Some(id) = &self.id else {
            let lines: Vec<String> = all
                .iter()
                .map(|exhibit| format!("{:39} {}\n", exhibit.id(), exhibit.title()))
                .collect();
            return Ok(lines.concat());
        };
        let everything = id == "all";
        let asked: Vec<&Exhibit> = all
            .iter()
            .filter(|exhibit| everything || exhibit.id() == id || exhibit.paper() == id)
            .collect();
        if asked.is_empty() {
            let allowed = "an exhibit or a paper: `shuffledp reproduce --list` names them";
            return Err(Failure::value("ID", id, allowed));
        }
        let progress = Progress::of(asked.len() as u64, "exhibits");
        let watch = |done: u64, planned: u64| {
            let (done, planned) = (grouped(done), grouped(planned));
            progress.say(format!("round {done} of {planned}"));
        };
        let data = self.data.as_deref();
        let school = School::new(data, &Student, &watch)
            .with(Pictures::Cifar10, self.cifar10.as_deref())
            .keeping(&self.out, self.again);
        let (mut lines, mut left_out) = (String::new(), Vec::new());
        for exhibit in asked {
            progress.say(exhibit.id());
            match exhibit.made(Some(&school)) {
                Ok(shown) => {
                    for (name, bytes) in exhibit.files(&shown)? {
                        lines += &self.written(&name, &bytes)?;
                    }
                }
                Err(Error::NoData { pictures, .. }) if exhibit.id() == id => {
                    let message = format!("{}, is needed for {id}", wanted(pictures));
                    return Err(Failure::flag(pictures.flag(), message));
                }
                Err(Error::NoData { pictures, .. }) => left_out.push((pictures, exhibit.id())),
                Err(error) => return Err(error.into()),
            }
            progress.step();
        }
        if everything {
            lines += &self.written("README.md", index().as_bytes())?;
        }
        for pictures in Pictures::ALL {
            let of_these = left_out.iter().filter(|(missing, _)| *missing == pictures);
            let ids: Vec<&str> = of_these.map(|(_, id)| *id).collect();
            if !ids.is_empty() {
                let wanted = wanted(pictures);
                lines += &format!("Left out without {wanted}: {}\n", ids.join(", "));
            }
        }
        Ok(lines)
    }

    /// Writes a file below `--out`, and gives its path as a line.
    fn written(&self, name: &str, bytes: &[u8]) -> Result<String, Failure> {
        let path = self.out.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        std::fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))?;
        Ok(format!("{}\n", path.display()))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let name = path.display();
    Failure::flag("--out", format!("--out: {name} cannot be written: {error}"))
}

/// Trains as `shuffledp train` does.
struct Student;

impl Learner for Student {
    fn course(
        &self,
        data: &Path,
        line: &str,
        step: &mut dyn FnMut(u64, u64),
    ) -> Result<Course, Error> {
        let mut run = || -> Result<_, Failure> {
            let mut spec = train::parsed(line)?;
            spec.data = Some(Source::Folder(data.to_owned()));
            train::course(spec, step)
        };
        let course = run().map_err(|failure| Error::Run(Box::new(failure)))?;
        Ok(Course {
            round: course.round,
            looks: course.looks,
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Accounting(error) => error.into(),
            Error::Randomizer(error) => error.into(),
            Error::Learning(error) => error.into(),
            Error::Picture(error) => error.into(),
            Error::Log { .. } => Self::flag("--out", format!("--out: {error}")),
            Error::Run(error) => match error.downcast::<Self>() {
                Ok(failure) => *failure,
                Err(error) => Self::incomplete(error.to_string()),
            },
            error => Self::incomplete(error.to_string()),
        }
    }
}
