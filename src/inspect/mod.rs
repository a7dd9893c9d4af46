//! What is in a file, value by value, for people who look for what is wrong with it. `inspector`
//! goes through the bytes, `page` writes the lines.

pub mod addon;
pub mod inspector;
pub mod page;
