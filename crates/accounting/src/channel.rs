//! A finite local randomizer given as a row-stochastic matrix: row x is the law of the report of input x.

use crate::error::Error;

/// The smallest probability allowed, other than zero: products of three of them stay in the range of doubles.
const SMALLEST: f64 = 1e-100;

/// A channel with at least two inputs and two outputs, finite ε₀, rows that sum to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    rows: Vec<Vec<f64>>,
}

impl Channel {
    /// The most inputs of a channel in a [`RandomizerSpec`](crate::RandomizerSpec): every pair of inputs is
    /// evaluated against every third one, and more would take minutes.
    pub const MOST_INPUTS: usize = 64;
    /// The most entries of such a channel: every entry is an atom, and more would take minutes.
    pub const MOST_ENTRIES: usize = 250_000;

    /// Checks and keeps the rows. Sums may be off by 1e-9 (decimals in a file); rows are divided by their
    /// sums.
    ///
    /// ```
    /// use shuffledp_accounting::Channel;
    /// let channel = Channel::new(vec![vec![0.75, 0.25], vec![0.25, 0.75]])?;
    /// assert!((channel.local_epsilon() - 3f64.ln()).abs() < 1e-15);
    /// let holes = Channel::new(vec![vec![1.0, 0.0], vec![0.5, 0.5]]);
    /// assert_eq!(
    ///     holes.unwrap_err().to_string(),
    ///     "channel column 1 is possible in row 1 and impossible in row 0: \
    ///      the channel has no finite epsilon0"
    /// );
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self, Error> {
        let width = rows.first().map_or(0, Vec::len);
        if rows.len() < 2 || width < 2 {
            return Err(Error::ChannelShape {
                row: rows.len().saturating_sub(1),
                length: width,
            });
        }
        for (row, entries) in rows.iter().enumerate() {
            if entries.len() != width {
                return Err(Error::ChannelShape {
                    row,
                    length: entries.len(),
                });
            }
            for (column, &value) in entries.iter().enumerate() {
                if value != 0.0 && !(SMALLEST..=1.0).contains(&value) {
                    return Err(Error::ChannelEntry { row, column, value });
                }
            }
            let sum: f64 = entries.iter().sum();
            if (sum - 1.0).abs() > 1e-9 {
                return Err(Error::ChannelRow { row, sum });
            }
        }
        for column in 0..width {
            let possible = rows.iter().position(|row| row[column] > 0.0);
            let impossible = rows.iter().position(|row| row[column] == 0.0);
            if let (Some(possible), Some(impossible)) = (possible, impossible) {
                return Err(Error::ChannelUnbounded {
                    column,
                    possible,
                    impossible,
                });
            }
        }
        let rows = rows
            .into_iter()
            .map(|row| {
                let sum = compensated_sum(&row);
                row.into_iter().map(|entry| entry / sum).collect()
            })
            .collect();
        Ok(Self { rows })
    }

    /// The rows, normalized.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// For each output, the least probability any input gives it: the blanket.
    pub fn blanket(&self) -> Vec<f64> {
        self.fold_columns(f64::min)
    }

    /// The ε₀ of the channel: the largest ln of a ratio within a column.
    pub fn local_epsilon(&self) -> f64 {
        let most = self.fold_columns(f64::max);
        let least = self.blanket();
        let ratio = most
            .iter()
            .zip(&least)
            .filter(|(most, _)| **most > 0.0)
            .map(|(most, least)| most / least)
            .fold(1.0, f64::max);
        ratio.ln()
    }

    fn fold_columns(&self, pick: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let mut columns = self.rows[0].clone();
        for row in &self.rows[1..] {
            for (kept, &entry) in columns.iter_mut().zip(row) {
                *kept = pick(*kept, entry);
            }
        }
        columns
    }
}

/// A sum whose rounding error does not grow with its length (Kahan).
fn compensated_sum(terms: &[f64]) -> f64 {
    let (mut sum, mut carry) = (0.0, 0.0);
    for term in terms {
        let corrected = term - carry;
        let next = sum + corrected;
        carry = (next - sum) - corrected;
        sum = next;
    }
    sum
}
