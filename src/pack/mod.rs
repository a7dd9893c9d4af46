//! Tape → bytes; `walk.js` beside this comes before.

pub mod addon;
pub mod encode;
pub mod float32;
pub mod out;
pub mod put;
pub mod records;
pub mod shapes;
pub mod text;
