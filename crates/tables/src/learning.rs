//! A table to learn from: one column is the label, others are features; one may say whose row it is, and one
//! how often that user takes part.
//!
//! ```text
//! number x of the public range lo..hi     2 (x − lo)/(hi − lo) − 1, in [−1, 1]
//! category of k listed values             k numbers: 1 for the value of the row, 0 for the others
//! empty cell                              refused, or the value that was declared for it
//! label                                   its place among the classes
//! ```
//!
//! Ranges are given and never read off the data: the smallest and largest value of a column are two users'
//! values, and would not be protected. The same holds for the classes; if they are not given, those that
//! occur are taken, and [`Table::classes_occur`] says so.
//!
//! A share of the users is kept to judge by, with all of their rows. A fixed seed draws them: every run keeps
//! the same rows.

use crate::column::Column;
use crate::columns::{Cell, Columns, Wanted, names};
use crate::error::{CellProblem, ColumnProblem, Error, quoted};
use crate::values::{Known, sort};
use shuffledp::learning::run::{CategoryColumn, ColumnRange, Names, StandIn, TableSpec};
use shuffledp::learning::{Dataset, Examples, Shape};
use shuffledp::randomizers::{Simulated, below};
use std::path::Path;

/// The most classes: a label is stored in a byte.
const MOST_CLASSES: usize = 256;
/// The most values of a column of categories: each is a number of every example.
const MOST_VALUES: usize = 10_000;
/// The seed that draws the users kept for testing; public.
const SEED: u64 = 1;

/// A table as it is learnt from.
///
/// ```
/// use shuffledp::learning::run::TableSpec;
/// use shuffledp_tables::{Error, Table};
/// let spec = TableSpec::new("no/such/file.csv", "city");
/// let spec = TableSpec { test_share: 2.0, ..spec };
/// assert_eq!(Table::read(&spec).unwrap_err(), Error::TestShare { value: 2.0 });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// An image is a row, a channel a feature.
    pub data: Dataset,
    /// The label, its classes, and the features in order with their ranges.
    pub names: Names,
    /// Whether the classes are those that occur: which exist is then not protected.
    pub classes_occur: bool,
}

impl Table {
    /// Reads it.
    pub fn read(table: &TableSpec) -> Result<Self, Error> {
        if !(table.test_share > 0.0 && table.test_share < 1.0) {
            let value = table.test_share;
            return Err(Error::TestShare { value });
        }
        if let Some(list) = &table.classes
            && (!(2..=MOST_CLASSES).contains(&list.len()) || list.iter().any(String::is_empty))
        {
            let value = list.join(",");
            return Err(Error::Classes { value });
        }
        let mut classes = Known::new(table.classes.as_deref(), MOST_CLASSES)?;
        let mut users = Known::new(None, usize::MAX)?;
        let layout = Layout::of_table(table)?;
        let mut features = Features::new(&layout);
        let (mut labels, mut owners, mut rates) = (Vec::new(), Vec::new(), Vec::new());
        let columns = &layout.columns;
        let rows = columns.read(&mut |row, place, cell| {
            let refused = |problem| columns.refused(row, place, problem);
            match (layout.uses[place], cell) {
                (Use::Label, Cell::Text(text)) => {
                    let place = classes.place(text.trim(), |_| Ok(()));
                    labels.push(place.map_err(refused)?);
                }
                (Use::User, Cell::Text(text)) => {
                    let place = users.place(text.trim(), |_| Ok(()));
                    owners.push(place.map_err(refused)?);
                }
                (Use::Rate, Cell::Number(rate)) => {
                    let (low, high) = (0.0, 1.0);
                    if !(rate > low && rate <= high) {
                        let value = rate;
                        return Err(refused(CellProblem::Outside { value, low, high }));
                    }
                    rates.push(rate);
                }
                (Use::Feature(feature), cell) => {
                    features.take(&layout, feature, cell).map_err(refused)?;
                }
                // Labels, users and rates are never missing, and of one kind each.
                _ => {}
            }
            Ok(())
        })?;
        let mut class_names = classes.names;
        if class_names.len() < 2 {
            return Err(Error::Column {
                file: table.path.clone(),
                column: table.label.clone(),
                problem: ColumnProblem::OneValue,
            });
        }
        let classes_occur = table.classes.is_none();
        if classes_occur {
            sort(&mut class_names, &mut labels);
        }
        let crowd = Crowd {
            rows,
            owners,
            rates,
            users: users.names,
        };
        Ok(Self {
            data: split(table, &crowd, &features, &labels, class_names.len())?,
            names: layout.names(Some(table.label.clone()), class_names),
            classes_occur,
        })
    }
}

/// Rows of a table in the form that a trained model reads: its columns by name, scaled by their ranges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rows {
    /// The numbers of all rows, row after row.
    pub numbers: Vec<f32>,
    /// The label of each row, where the file has the label's column; it need not be one of the classes.
    pub labels: Option<Vec<String>>,
}

impl Rows {
    /// Reads the columns that a model was trained on. Others are not looked at.
    pub fn read(path: &Path, model: &Names) -> Result<Self, Error> {
        let all = names(path)?;
        let label = model
            .label
            .as_deref()
            .filter(|label| all.iter().any(|name| name == label));
        let layout = Layout::of_model(path, model, label)?;
        let mut features = Features::new(&layout);
        let mut labels = label.map(|_| Vec::new());
        let columns = &layout.columns;
        let rows = columns.read(&mut |row, place, cell| {
            match (layout.uses[place], cell) {
                (Use::Feature(feature), cell) => {
                    let refused = |problem| columns.refused(row, place, problem);
                    features.take(&layout, feature, cell).map_err(refused)?;
                }
                (_, Cell::Text(text)) => {
                    if let Some(labels) = &mut labels {
                        labels.push(text.trim().to_owned());
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        let mut numbers = Vec::new();
        for row in 0..rows as usize {
            features.append(row, &mut numbers);
        }
        Ok(Self { numbers, labels })
    }
}

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Label,
    User,
    Rate,
    Feature(usize),
}

/// A feature, and how a cell of it becomes numbers.
struct Feature {
    kind: Kind,
    /// The cell that stands in for an empty one, already as it is kept.
    stand_in: Option<f32>,
}

enum Kind {
    /// A number of this range.
    Number(f64, f64),
    /// One of these values, and where they are.
    Category(Known),
}

impl Feature {
    /// A cell as it is kept: a scaled number, or the place of a value.
    fn kept(&self, cell: Cell) -> Result<f32, CellProblem> {
        match (&self.kind, cell) {
            (Kind::Number(low, high), Cell::Number(value)) => scaled(value, (*low, *high)),
            // At most 10,000 values, which an f32 counts exactly.
            (Kind::Category(known), Cell::Text(text)) => {
                Ok(known.listed_place(text.trim())? as f32)
            }
            // A column is read as its kind wants it, and a cell is missing where there is a stand-in.
            _ => Ok(self.stand_in.unwrap_or_default()),
        }
    }

    /// How many numbers it becomes.
    fn width(&self) -> usize {
        match &self.kind {
            Kind::Number(..) => 1,
            Kind::Category(known) => known.names.len(),
        }
    }
}

/// The columns of a table and their uses.
struct Layout<'a> {
    columns: Columns<'a>,
    uses: Vec<Use>,
    /// Numbers first, in the order of the file or of the list of columns; then categories.
    features: Vec<Feature>,
    ranges: Vec<ColumnRange>,
    categories: &'a [CategoryColumn],
    missing: &'a [StandIn],
}

impl<'a> Layout<'a> {
    fn of_table(table: &'a TableSpec) -> Result<Self, Error> {
        let all = names(&table.path)?;
        let find = |name: &str| Column::new(&table.path, name).find(&all);
        let label = (table.label.as_str(), Use::Label, "the label");
        let user = table
            .user
            .as_deref()
            .map(|name| (name, Use::User, "the user"));
        let rate = table
            .rates
            .as_deref()
            .map(|name| (name, Use::Rate, "the rate"));
        let special: Vec<(&str, Use, &'static str)> =
            [Some(label), user, rate].into_iter().flatten().collect();
        for (place, (name, _, what)) in special.iter().enumerate() {
            find(name)?;
            if let Some((_, _, other)) = special[..place].iter().find(|(other, ..)| other == name) {
                return Err(Error::UsedTwice {
                    column: (*name).to_owned(),
                    one: other,
                    other: what,
                });
            }
        }
        let features: Vec<String> = match &table.columns {
            Some(chosen) => {
                for name in chosen {
                    find(name)?;
                    match special.iter().find(|(special, ..)| special == name) {
                        Some((_, Use::Label, _)) => {
                            let column = name.clone();
                            return Err(Error::LabelIsFeature { column });
                        }
                        Some((.., what)) => {
                            return Err(Error::UsedTwice {
                                column: name.clone(),
                                one: what,
                                other: "a feature",
                            });
                        }
                        None => {}
                    }
                }
                chosen.clone()
            }
            None => {
                let is_special =
                    |name: &String| special.iter().any(|(special, ..)| special == name);
                all.iter()
                    .filter(|name| !is_special(name))
                    .cloned()
                    .collect()
            }
        };
        let mut sorted: Vec<&String> = features.iter().collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let column = twice[0].clone();
            let file = table.path.clone();
            return Err(match table.columns {
                Some(_) => Error::ListedTwice { value: column },
                None => Error::SameName { file, column },
            });
        }
        let special = special.iter().map(|(name, to, _)| (*name, *to)).collect();
        let numbers = |features: &[String]| ranges_of(table, features);
        Self::new(
            &table.path,
            special,
            features,
            &table.categories,
            &table.missing,
            numbers,
        )
    }

    fn of_model(path: &'a Path, model: &'a Names, label: Option<&'a str>) -> Result<Self, Error> {
        let own = |range: &ColumnRange| range.column.clone().unwrap_or_default();
        let numbers = model.columns.iter().map(own);
        let categories = model
            .categories
            .iter()
            .map(|category| category.column.clone());
        let special = label.map(|label| (label, Use::Label)).into_iter().collect();
        let ranges = |_: &[String]| Ok(model.columns.clone());
        let features = numbers.chain(categories).collect();
        Self::new(
            path,
            special,
            features,
            &model.categories,
            &model.missing,
            ranges,
        )
    }

    /// `ranges` gives the ranges of the features that are numbers, in their order.
    fn new(
        path: &'a Path,
        special: Vec<(&str, Use)>,
        features: Vec<String>,
        categories: &'a [CategoryColumn],
        missing: &'a [StandIn],
        ranges: impl Fn(&[String]) -> Result<Vec<ColumnRange>, Error>,
    ) -> Result<Self, Error> {
        if features.is_empty() {
            let file = path.to_owned();
            return Err(Error::OnlyLabel { file });
        }
        for (place, category) in categories.iter().enumerate() {
            let column = category.column.clone();
            if !features.contains(&column) {
                let reason = not_among(&features);
                return Err(Error::Categories { column, reason });
            }
            if categories[..place]
                .iter()
                .any(|other| other.column == column)
            {
                let reason = "they are listed twice".to_owned();
                return Err(Error::Categories { column, reason });
            }
        }
        let is_category = |name: &String| categories.iter().any(|other| other.column == *name);
        let numbers: Vec<String> = features
            .into_iter()
            .filter(|name| !is_category(name))
            .collect();
        let ranges = ranges(&numbers)?;
        let mut kinds: Vec<(&str, Kind)> = numbers
            .iter()
            .zip(&ranges)
            .map(|(name, range)| (name.as_str(), Kind::Number(range.low, range.high)))
            .collect();
        for category in categories {
            kinds.push((&category.column, Kind::Category(known_values(category)?)));
        }
        for (place, stand_in) in missing.iter().enumerate() {
            if !kinds.iter().any(|(name, _)| *name == stand_in.column) {
                let known: Vec<String> = kinds.iter().map(|(name, _)| (*name).to_owned()).collect();
                return Err(refused_stand_in(stand_in, not_among(&known)));
            }
            if missing[..place]
                .iter()
                .any(|other| other.column == stand_in.column)
            {
                return Err(refused_stand_in(
                    stand_in,
                    "there is another one".to_owned(),
                ));
            }
        }
        let mut layout = Self {
            columns: Columns {
                path,
                wanted: Vec::new(),
            },
            uses: Vec::new(),
            features: Vec::new(),
            ranges,
            categories,
            missing,
        };
        for (name, to) in special {
            layout.add(name, to != Use::Rate, false, to);
        }
        for (name, kind) in kinds {
            let stand_in = missing.iter().find(|stand_in| stand_in.column == name);
            let is_text = matches!(kind, Kind::Category(_));
            let mut feature = Feature {
                kind,
                stand_in: None,
            };
            if let Some(stand_in) = stand_in {
                let text = stand_in.value.trim();
                let cell = match (is_text, text.parse()) {
                    (true, _) => Cell::Text(text),
                    (false, Ok(number)) => Cell::Number(number),
                    (false, Err(_)) => {
                        return Err(refused_stand_in(stand_in, "it is not a number".to_owned()));
                    }
                };
                let kept = feature.kept(cell);
                let refused =
                    |problem: CellProblem| refused_stand_in(stand_in, problem.to_string());
                feature.stand_in = Some(kept.map_err(refused)?);
            }
            let place = layout.features.len();
            layout.features.push(feature);
            layout.add(name, is_text, stand_in.is_some(), Use::Feature(place));
        }
        Ok(layout)
    }

    fn add(&mut self, name: &str, is_text: bool, may_be_missing: bool, to: Use) {
        self.columns.wanted.push(Wanted {
            name: name.to_owned(),
            is_text,
            may_be_missing,
        });
        self.uses.push(to);
    }

    fn names(self, label: Option<String>, classes: Vec<String>) -> Names {
        Names {
            label,
            classes,
            columns: self.ranges,
            categories: self.categories.to_vec(),
            missing: self.missing.to_vec(),
        }
    }
}

/// The column that was asked for is no feature.
fn not_among(features: &[String]) -> String {
    let all: Vec<String> = features.iter().map(|name| quoted(name)).collect();
    format!("the features are {}", all.join(", "))
}

fn refused_stand_in(stand_in: &StandIn, reason: String) -> Error {
    Error::StandIn {
        column: stand_in.column.clone(),
        value: stand_in.value.clone(),
        reason,
    }
}

/// The values of a column of categories.
fn known_values(category: &CategoryColumn) -> Result<Known, Error> {
    let refused = |reason: &str| {
        Err(Error::Categories {
            column: category.column.clone(),
            reason: reason.to_owned(),
        })
    };
    let values = &category.values;
    if !(2..=MOST_VALUES).contains(&values.len()) || values.iter().any(String::is_empty) {
        return refused("2 to 10,000 values are needed, such as a,b,c");
    }
    match Known::new(Some(values), MOST_VALUES) {
        Ok(known) => Ok(known),
        Err(_) => refused("a value is listed twice"),
    }
}

/// The features of all rows, as they are kept: column after column.
struct Features {
    kept: Vec<Vec<f32>>,
    /// The number of values of a category; none of a number.
    values: Vec<Option<usize>>,
}

impl Features {
    fn new(layout: &Layout) -> Self {
        let values = layout.features.iter().map(|feature| match &feature.kind {
            Kind::Number(..) => None,
            Kind::Category(_) => Some(feature.width()),
        });
        Self {
            kept: vec![Vec::new(); layout.features.len()],
            values: values.collect(),
        }
    }

    fn take(&mut self, layout: &Layout, feature: usize, cell: Cell) -> Result<(), CellProblem> {
        self.kept[feature].push(layout.features[feature].kept(cell)?);
        Ok(())
    }

    /// The numbers of a row.
    fn append(&self, row: usize, numbers: &mut Vec<f32>) {
        for (kept, values) in self.kept.iter().zip(&self.values) {
            let Some(&kept) = kept.get(row) else { continue };
            match values {
                None => numbers.push(kept),
                Some(values) => {
                    let one = |value: usize| if value as f32 == kept { 1.0 } else { 0.0 };
                    numbers.extend((0..*values).map(one));
                }
            }
        }
    }

    fn width(&self) -> usize {
        self.values.iter().map(|values| values.unwrap_or(1)).sum()
    }
}

/// A number of a public range, brought to [−1, 1].
fn scaled(value: f64, (low, high): (f64, f64)) -> Result<f32, CellProblem> {
    if !(low..=high).contains(&value) {
        return Err(CellProblem::Outside { value, low, high });
    }
    Ok((2.0 * ((value - low) / (high - low)) - 1.0) as f32)
}

/// The range of every feature that is a number.
fn ranges_of(table: &TableSpec, numbers: &[String]) -> Result<Vec<ColumnRange>, Error> {
    let (mut of_all, mut own) = (None, vec![None; numbers.len()]);
    for range in &table.ranges {
        let place = match &range.column {
            None => &mut of_all,
            Some(name) if *name == table.label => {
                let column = name.clone();
                return Err(Error::RangeOfLabel { column });
            }
            Some(name) if table.categories.iter().any(|other| other.column == *name) => {
                let (column, reason) = (name.clone(), "they have no range".to_owned());
                return Err(Error::Categories { column, reason });
            }
            Some(name) => &mut own[Column::new(&table.path, name).find(numbers)?],
        };
        if place.replace((range.low, range.high)).is_some() {
            return Err(Error::TwoRanges {
                column: range.column.clone(),
                low: range.low,
                high: range.high,
            });
        }
    }
    let of_all = of_all.unwrap_or((0.0, 1.0));
    let ranges = numbers.iter().zip(own).map(|(name, own)| {
        let (low, high) = own.unwrap_or(of_all);
        ColumnRange {
            column: Some(name.clone()),
            low,
            high,
        }
    });
    Ok(ranges.collect())
}

/// Whose the rows are.
struct Crowd {
    rows: u64,
    /// For each row the place of its user; empty where every row is a user's own.
    owners: Vec<u32>,
    /// For each row the rate of its user; empty where users have none.
    rates: Vec<f64>,
    /// The names of the users.
    users: Vec<String>,
}

impl Crowd {
    /// The rows of each user, users in the order of their first rows.
    fn rows_of_users(&self) -> Vec<Vec<usize>> {
        if self.owners.is_empty() {
            return (0..self.rows as usize).map(|row| vec![row]).collect();
        }
        let mut rows = vec![Vec::new(); self.users.len()];
        for (row, owner) in self.owners.iter().enumerate() {
            rows[*owner as usize].push(row);
        }
        rows
    }
}

/// The rows of the users to learn from and of those to be judged by, each user's rows in the order of the
/// file.
fn split(
    table: &TableSpec,
    crowd: &Crowd,
    features: &Features,
    labels: &[u32],
    classes: usize,
) -> Result<Dataset, Error> {
    let users = crowd.rows_of_users();
    let kept = (table.test_share * users.len() as f64).round() as u64;
    if kept == 0 || kept >= users.len() as u64 {
        return Err(Error::NoExamples {
            file: table.path.clone(),
            rows: crowd.rows,
            test_share: table.test_share,
            tested: kept,
        });
    }
    let mut random = Simulated::new(SEED, 0);
    let mut parts = [const { Part::new() }; 2];
    let (mut wanted, mut left) = (kept, users.len() as u64);
    for rows in &users {
        // Of the users that are left, each is as likely to be one of those still wanted.
        let tested = below(left, &mut random) < wanted;
        wanted -= u64::from(tested);
        left -= 1;
        let part = &mut parts[usize::from(tested)];
        part.sizes.push(rows.len());
        for (place, &row) in rows.iter().enumerate() {
            features.append(row, &mut part.images);
            // Classes are at most 256.
            part.labels.push(labels[row] as u8);
            let Some(&rate) = crowd.rates.get(row) else {
                continue;
            };
            match (place, part.rates.last()) {
                (0, _) => part.rates.push(rate),
                (_, Some(&known)) if known == rate => {}
                (_, known) => {
                    let rates = table.rates.as_deref().unwrap_or_default();
                    let problem = CellProblem::Refused {
                        value: rate.to_string(),
                        reason: format!("another row of this user has {}", known.unwrap_or(&0.0)),
                    };
                    return Err(Column::new(&table.path, rates).at(row as u64 + 1, problem));
                }
            }
        }
    }
    let shape = Shape {
        channels: features.width(),
        height: 1,
        width: 1,
    };
    let refused = |error: shuffledp::learning::Error| Error::Examples {
        file: table.path.clone(),
        reason: error.to_string(),
    };
    let [train, test] = parts.map(|part| part.examples(shape, classes).map_err(refused));
    Dataset::new(train?, test?).map_err(refused)
}

/// The rows of some users.
struct Part {
    images: Vec<f32>,
    labels: Vec<u8>,
    sizes: Vec<usize>,
    rates: Vec<f64>,
}

impl Part {
    const fn new() -> Self {
        Self {
            images: Vec::new(),
            labels: Vec::new(),
            sizes: Vec::new(),
            rates: Vec::new(),
        }
    }

    fn examples(
        self,
        shape: Shape,
        classes: usize,
    ) -> Result<Examples, shuffledp::learning::Error> {
        let examples = Examples::new(shape, classes, self.images, self.labels)?;
        let examples = examples.grouped(&self.sizes)?;
        match self.rates.is_empty() {
            true => Ok(examples),
            false => examples.with_rates(self.rates),
        }
    }
}
