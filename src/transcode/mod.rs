//! JSON text ⇄ MessagePack, without a value in between: `from_json` and `to_json` are the two
//! directions, each with a fast lane for what is common; `values` finds where a JSON text ends that
//! is followed by others.

pub mod addon;
mod chunk;
mod digits;
pub mod elements;
pub mod from_json;
mod from_json_lane;
pub mod json_text;
pub mod path_filter;
pub mod time;
pub mod to_json;
mod to_json_lane;
pub mod values;
