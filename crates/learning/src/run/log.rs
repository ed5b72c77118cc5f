//! The log of a run: one line a round, as CSV.
//!
//! ```text
//! round,reports,refused,accuracy,epsilon_upper,epsilon_lower
//! 1,4000,0,,,                        no look
//! 20,4000,0,0.7235,0.2785,0.1966     a look at accuracy and ε
//! 20,4000,0,0.7235,inf,              no finite ε can be proved
//! 20,4000,0,0.7235,none,             nobody is protected
//! ```

/// The ε spent so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Price {
    /// It was not computed after this round.
    Unasked,
    /// Nobody is protected.
    Unprotected,
    /// No finite ε can be proved.
    Unprovable,
    /// The upper and the lower bound.
    Spent(f64, f64),
}

/// A round of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Which round, from 1.
    pub round: u64,
    /// Reports that arrived.
    pub reports: u64,
    /// Gradients that were not finite.
    pub refused: u64,
    /// Accuracy on the test examples, where it was looked at.
    pub accuracy: Option<f64>,
    /// The ε of all rounds up to this one.
    pub price: Price,
}

/// The header of a log.
const COLUMNS: &str = "round,reports,refused,accuracy,epsilon_upper,epsilon_lower";

impl Point {
    /// A line of a log.
    fn to_csv(self) -> String {
        let Self {
            round,
            reports,
            refused,
            ..
        } = self;
        let accuracy = self
            .accuracy
            .map_or(String::new(), |share| share.to_string());
        let (upper, lower) = match self.price {
            Price::Spent(upper, lower) => (upper.to_string(), lower.to_string()),
            Price::Unprovable => ("inf".to_owned(), String::new()),
            Price::Unprotected => ("none".to_owned(), String::new()),
            Price::Unasked => (String::new(), String::new()),
        };
        format!("{round},{reports},{refused},{accuracy},{upper},{lower}")
    }

    /// A line of a log, read back.
    fn from_csv(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [round, reports, refused, accuracy, upper, lower] = fields[..] else {
            return None;
        };
        Some(Self {
            round: round.parse().ok()?,
            reports: reports.parse().ok()?,
            refused: refused.parse().ok()?,
            accuracy: match accuracy {
                "" => None,
                share => Some(share.parse().ok()?),
            },
            price: match upper {
                "" => Price::Unasked,
                "inf" => Price::Unprovable,
                "none" => Price::Unprotected,
                upper => Price::Spent(upper.parse().ok()?, lower.parse().ok()?),
            },
        })
    }
}

/// A log as CSV, with its header.
pub fn to_csv<'a>(points: impl IntoIterator<Item = &'a Point>) -> String {
    let mut text = COLUMNS.to_owned() + "\n";
    for point in points {
        text += &point.to_csv();
        text += "\n";
    }
    text
}

/// The first rounds of a log; none if it has fewer, or if a line is malformed.
pub(super) fn from_csv(text: &str, rounds: u64) -> Option<Vec<Point>> {
    let lines = text.lines().skip(1).take(rounds as usize);
    let points: Vec<Point> = lines.map(Point::from_csv).collect::<Option<_>>()?;
    (points.len() as u64 == rounds).then_some(points)
}

#[cfg(test)]
mod tests {
    use super::{Point, Price, from_csv, to_csv};

    #[test]
    fn a_log_is_read_back() {
        let prices = [
            Price::Unasked,
            Price::Unprotected,
            Price::Unprovable,
            Price::Spent(0.30000000000000004, 1e-9),
        ];
        let points: Vec<Point> = (1..)
            .zip(prices)
            .map(|(round, price)| Point {
                round,
                reports: 10,
                refused: 1,
                accuracy: (round % 2 == 0).then_some(0.1),
                price,
            })
            .collect();
        let text = to_csv(&points);
        assert_eq!(from_csv(&text, 4), Some(points.clone()));
        assert_eq!(from_csv(&text, 3), Some(points[..3].to_vec()));
        assert_eq!(from_csv(&text, 5), None);
        assert_eq!(from_csv(&text.replace(",10,", ","), 4), None);
    }
}
