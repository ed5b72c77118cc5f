//! A file of records from somebody else, as CSV and as Parquet: every row of a column is read, or the file is
//! refused by a sentence of one line that names it.

use shuffledp_tables::{Column, Error};
use std::path::Path;

/// Writes it into a folder and reads two columns.
pub(crate) fn run(folder: &Path, data: &[u8]) {
    for name in ["data.csv", "data.parquet"] {
        let file = folder.join(name);
        std::fs::write(&file, data).expect("the folder can be written to");
        let mut texts = 0;
        let read = Column::new(&file, "city").texts(&mut |row, _| {
            texts += 1;
            assert_eq!(row, texts);
            Ok(())
        });
        check(name, read, texts);
        let mut numbers = 0;
        let read = Column::new(&file, "age").numbers(&mut |row, number| {
            numbers += 1;
            assert!(row == numbers && number.is_finite());
            Ok(())
        });
        check(name, read, numbers);
    }
}

fn check(name: &str, read: Result<u64, Error>, rows: u64) {
    match read {
        Ok(read) => assert!(read == rows && rows > 0),
        Err(error) => {
            let said = error.to_string();
            assert!(said.contains(name) && !said.contains('\n'), "{said:?}");
        }
    }
}
