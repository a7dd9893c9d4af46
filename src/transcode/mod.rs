//! JSON text ⇄ MessagePack, without a value in between: `from_json` and `to_json` are the two
//! directions, `values` finds where a JSON text ends that is followed by others.

pub mod addon;
pub mod elements;
mod fast_lane;
pub mod from_json;
pub mod json_text;
pub mod path_filter;
pub mod time;
pub mod to_json;
pub mod values;
