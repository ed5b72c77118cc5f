//! Private training from a file.

mod table;
