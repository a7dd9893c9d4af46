//! Bytes → tape; `build.js` beside this goes on from there.

pub mod addon;
pub mod ahead;
pub mod parse;
pub mod records;
pub mod request;
pub mod strings;
pub mod text;
pub mod trie;
