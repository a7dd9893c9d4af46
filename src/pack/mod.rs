//! Tape → bytes; `walk.js` beside this comes before.

pub mod addon;
pub mod encode;
pub mod out;
pub mod shapes;
pub mod text;
