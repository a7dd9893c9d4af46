#![no_main]

#[path = "../../tests/model/mod.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|data: &[u8]| model::without::transcoding(data));
