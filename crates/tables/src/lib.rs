//! Columns and tables of CSV and Parquet files: one row a person.
//!
//! A [`Column`] is read row by row, as text or as finite numbers. [`Values`] are the different texts of a
//! column with the place of each row's among them, which is what histograms and heavy hitters are collected
//! from; [`Column::within`] gives the numbers of a public range, for means and quantiles. With the feature
//! `learning`, `Table` is a data set to learn from.
//!
//! The kind of a file is that of its extension, or else of its first bytes. An [`Error`] names the file, and
//! the row, column and value where there are some.
//!
//! ```
//! use shuffledp_tables::{Column, Values};
//!
//! let path = std::env::temp_dir().join("shuffledp-tables-example.csv");
//! std::fs::write(&path, "city,age\nOslo,30\nBonn,45\nOslo,20\n")?;
//! let cities = Values::read(Column::new(&path, "city"), None)?;
//! assert_eq!((cities.names, cities.places), (vec!["Bonn".into(), "Oslo".into()], vec![1, 0, 1]));
//! assert_eq!(Column::new(&path, "age").within(0.0, 100.0)?, [0.3, 0.45, 0.2]);
//! let refused = Column::new(&path, "age").within(0.0, 40.0).unwrap_err();
//! assert!(refused.to_string().ends_with("column 'age': 45 is outside its range 0..40"));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod column;
#[cfg(feature = "learning")]
mod columns;
mod error;
mod in_csv;
#[cfg(feature = "parquet")]
mod in_parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod in_parquet;
#[cfg(feature = "learning")]
mod learning;
mod matrix;
mod values;

pub use column::Column;
pub use error::{CellProblem, ColumnProblem, Error, quoted};
#[cfg(feature = "learning")]
pub use learning::{Rows, Table};
pub use matrix::{MatrixError, read_matrix};
pub use values::Values;
