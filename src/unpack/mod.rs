//! Bytes → tape; `build.js` beside this goes on from there.

pub mod addon;
pub mod keys;
pub mod parse;
pub mod text;
pub mod trie;
