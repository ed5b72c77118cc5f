//! An exhibit, its three files, and the page that lists all exhibits.

use crate::error::Error;
use crate::learning::{Pictures, School};
use crate::note::{PICTURE, fragment};
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
    /// By learning from other pictures.
    LearntFrom(Pictures, fn(&School) -> Result<Shown, Error>),
}

/// An exhibit, made.
pub struct Shown {
    pub(crate) sheet: Sheet,
    pub(crate) picture: Picture,
    /// The note without its heading, with [`PICTURE`] where the picture stands.
    pub(crate) note: String,
}

/// The name of a file, below a folder of the reader's choice, and its content.
pub type File = (String, Vec<u8>);

/// A paper: its name here, its claim, and the items of it that are not made.
struct Paper {
    name: &'static str,
    claim: &'static str,
    not_made: Option<&'static str>,
}

/// The papers; ours last.
const PAPERS: [Paper; 6] = [
    Paper {
        name: "shuffle-gaussian",
        claim: "*Shuffle Gaussian mechanism for differential privacy*: the Renyi divergence of shuffled \
                Gaussian noise, as a sum over partitions",
        not_made: None,
    },
    Paper {
        name: "shuffled-check-in",
        claim: "*Shuffled check-in: privacy amplification towards practical distributed learning*: users \
                take part by their own coin",
        not_made: Some(
            "Table 1 (orders of running times), Figure 1 (a drawing of the protocol), Table 3 (the network, \
             which the learning exhibits train). Nor are the profile by a coupling of Appendix D.1 (the \
             exact atoms of a round stand in its place), ternary divergences as functions of their own (they \
             are inside the published bounds that need them), and the claim that communication is linear \
             where it was quadratic",
        ),
    },
    Paper {
        name: "numerical-accounting",
        claim: "*Numerical accounting in the shuffle model of differential privacy*: privacy-loss \
                distributions of the clones, and of k-ary randomized response",
        not_made: None,
    },
    Paper {
        name: "enhanced-rdp",
        claim: "*Renyi differential privacy in the shuffle model: enhanced amplification bounds*: Renyi \
                divergences by way of the clones",
        not_made: Some(
            "Figure 1 (a drawing of the shuffle model), Table 2 (the settings of Figure 4). Nor is the rate \
             of convergence of Lemma 2: no certified number here rests on a normal limit",
        ),
    },
    Paper {
        name: "subsampled-shuffle-rdp",
        claim: "*Renyi differential privacy of the subsampled shuffle model in distributed learning*: Renyi \
                divergences of a shuffled sample",
        not_made: Some(
            "Figure 1 (a drawing of the algorithm), Table 1 (the network of Figure 3). Nor are an experiment \
             on the convergence of Theorem 3 (its losses are convex and its networks are not), the R_p \
             between p = 1, 2 and infinity, 99 % without protection, and what it leaves to later work: \
             random check-in, and participants who send what they like",
        ),
    },
    Paper {
        name: "ours",
        claim: "What this project adds",
        not_made: None,
    },
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

    /// What it learns from, if it does.
    pub fn learns(&self) -> Option<Pictures> {
        match self.make {
            Make::Accounted(_) => None,
            Make::Learnt(_) => Some(Pictures::Mnist),
            Make::LearntFrom(pictures, _) => Some(pictures),
        }
    }

    /// Makes it. Without a school, only exhibits that do not learn.
    pub fn made(&self, school: Option<&School>) -> Result<Shown, Error> {
        match (self.make, school) {
            (Make::Accounted(make), _) => make(),
            (Make::Learnt(make) | Make::LearntFrom(_, make), Some(school)) => make(school),
            (Make::Learnt(_) | Make::LearntFrom(..), None) => {
                Err(Error::NoSchool { exhibit: self.id })
            }
        }
    }

    /// Numbers, picture and note, one folder for each paper.
    pub fn files(&self, shown: &Shown) -> Result<[File; 3], Error> {
        let id = self.id;
        Ok([
            (
                format!("{id}.csv"),
                shown.picture.csv(&shown.sheet).into_bytes(),
            ),
            (
                format!("{id}.svg"),
                shown.picture.draw(&shown.sheet, Kind::Svg)?,
            ),
            (format!("{id}.md"), self.note(shown).into_bytes()),
        ])
    }

    fn note(&self, shown: &Shown) -> String {
        let (id, item) = (self.id, self.item());
        let data = self.learns().map_or(String::new(), |pictures| {
            format!(" {} {}", pictures.flag(), pictures.name())
        });
        let picture = format!("![{}]({item}.svg)", shown.picture.title);
        format!(
            "# {}: {}\n\n{}\n\n\
             Numbers: [{item}.csv]({item}.csv). Made by `shuffledp reproduce {id}{data}`.\n",
            self.heading(),
            self.title,
            shown.note.replacen(PICTURE, &picture, 1),
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

/// The page that lists all exhibits, and the items of the papers that are not made.
pub fn index() -> String {
    let mut page = format!("# The papers, reproduced\n\n{}\n", fragment!("index.md"));
    let all = exhibits();
    for paper in PAPERS {
        let (name, claim) = (paper.name, paper.claim);
        page += &format!("\n## {name}\n\n{claim}.\n\n| | |\n|---|---|\n");
        for exhibit in all.iter().filter(|exhibit| exhibit.paper() == name) {
            let (item, heading, title) = (exhibit.item(), exhibit.heading(), exhibit.title);
            page += &format!(
                "| <img src=\"{name}/{item}.svg\" width=\"360\" alt=\"{item}\"> \
                 | [{heading}]({name}/{item}.md): {title} |\n"
            );
        }
        if let Some(items) = paper.not_made {
            page += &format!("\nNot made: {items}.\n");
        }
    }
    page
}
