//! Looking into a message without unpacking it: `index.js` beside this is what users call.

pub mod addon;
mod ahead;
pub mod keys;
pub mod many;
pub mod path;
pub mod rhythm;
pub mod skip;
pub mod types;
pub mod validate;
