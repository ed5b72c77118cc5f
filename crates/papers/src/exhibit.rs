//! An exhibit, its three files, and the page that lists all exhibits.

use crate::error::Error;
use crate::learning::School;
use crate::{
    enhanced_rdp, numerical_accounting, ours, shuffle_gaussian, shuffled_check_in,
    subsampled_shuffle_rdp,
};
use shuffledp_plot::{Kind, Picture, Sheet};

/// A table or a figure.
pub struct Exhibit {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) make: Make,
}

/// How an exhibit is made.
#[derive(Clone, Copy)]
pub(crate) enum Make {
    /// By accounting alone.
    Accounted(fn() -> Result<Shown, Error>),
    /// By learning from MNIST.
    Learnt(fn(&School) -> Result<Shown, Error>),
}

/// An exhibit, made.
pub struct Shown {
    pub(crate) sheet: Sheet,
    pub(crate) picture: Picture,
    /// What is run, in a sentence.
    pub(crate) settings: String,
    /// Paragraphs and tables below the picture.
    pub(crate) text: Vec<String>,
}

/// The name of a file, below a folder of the reader's choice, and its content.
pub type File = (String, Vec<u8>);

/// The papers, and the claim of each; ours last.
const PAPERS: [(&str, &str); 6] = [
    (
        "shuffle-gaussian",
        "*Shuffle Gaussian mechanism for differential privacy*: the Renyi divergence of shuffled Gaussian noise, \
         as a sum over partitions",
    ),
    (
        "shuffled-check-in",
        "*Shuffled check-in: privacy amplification towards practical distributed learning*: users take part by \
         their own coin",
    ),
    (
        "numerical-accounting",
        "*Numerical accounting in the shuffle model of differential privacy*: privacy-loss distributions of the \
         clones, and of k-ary randomized response",
    ),
    (
        "enhanced-rdp",
        "*Renyi differential privacy in the shuffle model: enhanced amplification bounds*: Renyi divergences by \
         way of the clones",
    ),
    (
        "subsampled-shuffle-rdp",
        "*Renyi differential privacy of the subsampled shuffle model in distributed learning*: Renyi divergences \
         of a shuffled sample",
    ),
    ("ours", "What this project adds"),
];

/// All exhibits, in the order of the papers.
pub fn exhibits() -> Vec<Exhibit> {
    let mut all = Vec::new();
    all.extend(shuffle_gaussian::EXHIBITS);
    all.extend(shuffled_check_in::EXHIBITS);
    all.extend(numerical_accounting::EXHIBITS);
    all.extend(enhanced_rdp::EXHIBITS);
    all.extend(subsampled_shuffle_rdp::EXHIBITS);
    all.extend(ours::EXHIBITS);
    all
}

impl Exhibit {
    /// Paper and item, as in `shuffle-gaussian/table-1`.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// What it shows, in a few words.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// The paper, as in `shuffle-gaussian`.
    pub fn paper(&self) -> &'static str {
        self.id.split('/').next().unwrap_or_default()
    }

    fn item(&self) -> &'static str {
        self.id.split('/').next_back().unwrap_or_default()
    }

    /// Whether MNIST is needed.
    pub fn learns(&self) -> bool {
        matches!(self.make, Make::Learnt(_))
    }

    /// Makes it. Without a school, only exhibits that do not learn.
    pub fn made(&self, school: Option<&School>) -> Result<Shown, Error> {
        match (self.make, school) {
            (Make::Accounted(make), _) => make(),
            (Make::Learnt(make), Some(school)) => make(school),
            (Make::Learnt(_), None) => Err(Error::NoSchool { exhibit: self.id }),
        }
    }

    /// Numbers, picture and note, one folder for each paper.
    pub fn files(&self, shown: &Shown) -> Result<[File; 3], Error> {
        let id = self.id;
        Ok([
            (format!("{id}.csv"), shown.sheet.csv().into_bytes()),
            (
                format!("{id}.svg"),
                shown.picture.draw(&shown.sheet, Kind::Svg)?,
            ),
            (format!("{id}.md"), self.note(shown).into_bytes()),
        ])
    }

    fn note(&self, shown: &Shown) -> String {
        let (id, item) = (self.id, self.item());
        let data = if self.learns() { " --data MNIST" } else { "" };
        format!(
            "# {}: {}\n\n{}\n\n![{}]({item}.svg)\n\n{}\n\n\
             Numbers: [{item}.csv]({item}.csv). Made by `shuffledp reproduce {id}{data}`.\n",
            self.heading(),
            self.title,
            shown.settings,
            shown.picture.title,
            shown.text.join("\n\n"),
        )
    }

    /// shuffle-gaussian, Table 1; subsampled-shuffle-rdp, Figure 3 (epsilon).
    fn heading(&self) -> String {
        let kind = match self.item().split_once('-') {
            Some(("table", number)) => ("Table", number),
            Some(("figure", number)) => ("Figure", number),
            _ => return self.paper().to_owned(),
        };
        let number = match kind.1.split_once('-') {
            Some((number, part)) => format!("{number} ({part})"),
            None => kind.1.to_owned(),
        };
        format!("{}, {} {number}", self.paper(), kind.0)
    }
}

/// The page that lists all exhibits.
pub fn index() -> String {
    let mut page = "# The papers, reproduced\n\nThe tables and figures of the five papers that this project started \
                    from, made anew by `shuffledp reproduce all --data MNIST` (without `--data`, those that are \
                    about accounting alone): each with its numbers (CSV), a picture (SVG) and a note on what the \
                    paper prints, what the same formula gives here, and what is right today. What the papers got \
                    wrong, with evidence: [errata](../docs/errata.md).\n"
        .to_owned();
    let all = exhibits();
    for (paper, claim) in PAPERS {
        page += &format!("\n## {paper}\n\n{claim}.\n\n| | |\n|---|---|\n");
        for exhibit in all.iter().filter(|exhibit| exhibit.paper() == paper) {
            let item = exhibit.item();
            page += &format!(
                "| <img src=\"{paper}/{item}.svg\" width=\"360\" alt=\"{item}\"> | [{}]({paper}/{item}.md): {} |\n",
                exhibit.heading(),
                exhibit.title
            );
        }
    }
    page
}
