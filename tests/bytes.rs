//! The properties that the fuzzers of `fuzz/` look for faults of, on stable and in bounded time: with
//! random bytes and with all of the corpus.

mod model;
mod values;

use std::fs;
use std::path::Path;

use model::bytes::{CHOICES, canonical, parse_bytes, stream_cuts};
use model::without::{looking, transcoding};
use proptest::prelude::*;
use values::{cases, damaged, soup};

fn with_choices(message: BoxedStrategy<Vec<u8>>) -> BoxedStrategy<Vec<u8>> {
    let choice = prop_oneof![any::<u8>(), Just(0u8)];
    (prop::collection::vec(choice, CHOICES), message)
        .prop_map(|(choices, message)| [choices, message].concat())
        .boxed()
}

fn input() -> BoxedStrategy<Vec<u8>> {
    prop_oneof![with_choices(damaged()), with_choices(soup())].boxed()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn parsing_agrees_with_rmpv(data in input()) {
        parse_bytes(&data);
    }

    #[test]
    fn canonical_messages_come_back_as_they_were(data in input()) {
        canonical(&data);
    }

    #[test]
    fn a_stream_ends_where_its_messages_do(data in input()) {
        stream_cuts(&data);
    }

    #[test]
    fn json_and_messages_turn_into_each_other(data in input()) {
        transcoding(&data);
    }

    #[test]
    fn validation_finds_what_unpacking_finds(data in input()) {
        looking(&data);
    }
}

/// Texts that are JSON, or nearly so.
fn json_soup() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\"a\""),
        Just("\"b\""),
        Just("1"),
        Just("-0.5e3"),
        Just("12345678901234567890"),
        Just("null"),
        Just("true"),
        Just(" "),
        Just("\"\\u00e9\\n\""),
        Just("\"a\":"),
        Just("{\"a\":1,\"a\":[2]}"),
        Just("\n"),
        Just("1e400"),
    ];
    prop::collection::vec(part, 0..24)
        .prop_map(|parts| [vec![0; CHOICES], parts.concat().into_bytes()].concat())
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn texts_are_what_they_are_to_serde_json(data in json_soup()) {
        transcoding(&data);
    }
}

/// `rmpv` and the model recurse, up to `max_depth` levels.
const STACK_BYTES: usize = 64 << 20;

/// Runs `property` with every file of the corpus of a target.
fn corpus(target: &str, property: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files: Vec<_> =
        fs::read_dir(folder).expect("the corpus").map(|each| each.unwrap()).collect();
    assert!(files.len() >= 20, "a corpus of {} files", files.len());
    let replay = move || {
        for file in files {
            println!("{}", file.path().display());
            property(&fs::read(file.path()).unwrap());
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(replay);
    thread.unwrap().join().expect("the file named last");
}

#[test]
fn corpus_of_parse_bytes() {
    corpus("parse_bytes", parse_bytes);
}

#[test]
fn corpus_of_canonical() {
    corpus("canonical", canonical);
}

#[test]
fn corpus_of_stream_cuts() {
    corpus("stream_cuts", stream_cuts);
}

#[test]
fn corpus_of_transcoding() {
    corpus("transcoding", transcoding);
}

#[test]
fn corpus_of_looking() {
    corpus("looking", looking);
}

#[test]
fn corpus_of_parse_bytes_without_unpacking() {
    corpus("parse_bytes", transcoding);
    corpus("parse_bytes", looking);
}
