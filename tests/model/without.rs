//! What holds for any bytes where nothing is unpacked: JSON and MessagePack turn into each other, and
//! `validate` finds what unpacking finds. Like `bytes`, for the fuzzers and for the tests.

use msgpack_rs::look::skip::skip;
use msgpack_rs::look::validate::{self, Validator, validate};
use msgpack_rs::tape::*;
use msgpack_rs::transcode::from_json::{self, FromJson};
use msgpack_rs::transcode::json_text::{Binary, Text};
use msgpack_rs::transcode::to_json::{self, ToJson};
use msgpack_rs::unpack::parse::{Options, Utf8};
use serde::de::IgnoredAny;

use super::bytes::{options_of, split};
use super::read::Codec;

fn max_depth(depth: u8) -> usize {
    if depth == 0 { 1000 } else { usize::from(depth) }
}

fn message_of(text: &[u8], depth: usize) -> Result<Vec<u8>, Fault> {
    let mut to = FromJson::default();
    let options =
        from_json::Options { max_depth: depth, multiple: false, exts: None, fatal_utf8: true };
    to.read(text, options).map_err(|found| found.fault)?;
    let mut message = vec![0; to.len()];
    to.copy_to(&mut message);
    Ok(message)
}

fn to_json(depth: usize) -> ToJson {
    ToJson::new(to_json::Options {
        max_depth: depth,
        binary: Binary::Base64,
        throws_non_finite: false,
        fatal_utf8: true,
        indent: Vec::new(),
        multiple: false,
        kinds: [KIND_EXT; 256].into(),
    })
}

fn text_of(message: &[u8], depth: usize) -> Result<Vec<u8>, Fault> {
    let mut text = Text::default();
    to_json(depth).feed(message, true, &mut text)?;
    Ok(text.bytes)
}

/// The bytes as a JSON text, and as a message.
pub fn transcoding(data: &[u8]) {
    let ([_, depth, cut, _], input) = split(data);
    from_text(input, max_depth(depth));
    from_message(input, max_depth(depth), usize::from(cut));
}

/// serde_json takes and refuses the same texts; what a message is written as stays that.
fn from_text(text: &[u8], depth: usize) {
    let Ok(text) = std::str::from_utf8(text) else {
        let found = message_of(text, depth);
        assert!(matches!(
            found,
            Err(Fault { code: FAULT_INVALID_UTF8 | FAULT_JSON | FAULT_DEPTH, .. })
        ));
        return;
    };
    match message_of(text.as_bytes(), depth) {
        Ok(message) => {
            // Half a surrogate pair is U+FFFD, which serde_json does not do.
            if !text.contains("\\u") {
                serde_json::from_str::<IgnoredAny>(text).expect("a text that serde_json refuses");
            }
            let json = text_of(&message, depth).expect("a message of JSON");
            let again = message_of(&json, depth).expect("the JSON of a message");
            assert_eq!(text_of(&again, depth).ok(), Some(json));
        }
        Err(Fault { code, offset }) => {
            assert!(offset <= text.len());
            assert!(matches!(code, FAULT_JSON | FAULT_DEPTH), "{code}");
            if code == FAULT_JSON {
                assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
            }
        }
    }
}

/// The text is JSON, whole and in two pieces; the faults are those of unpacking.
fn from_message(message: &[u8], depth: usize, cut: usize) {
    let options = Options {
        utf8: Utf8::Fatal,
        map_keys: true,
        timestamps: true,
        max_depth: depth,
        ..super::options()
    };
    let unpacked = Codec::new(0).unpack(message, options);
    let written = text_of(message, depth);
    match &written {
        Ok(json) => {
            unpacked.expect("a message that does not unpack");
            serde_json::from_slice::<IgnoredAny>(json).expect("a text that is no JSON");
            let mut text = Text::default();
            let mut stream = to_json(depth);
            let (head, _) = message.split_at(cut.min(message.len()));
            let used = stream.feed(head, false, &mut text).expect("the start of a message");
            stream.feed(&message[used..], true, &mut text).expect("the rest of a message");
            assert_eq!(&text.bytes, json);
        }
        // A key within a key may be anything to others.
        Err(Fault { code: FAULT_KEY, .. }) => {}
        Err(fault) => assert_eq!(unpacked.err(), Some(*fault)),
    }
}

/// `validate` says what unpacking does, whole and in pieces, and skipping ends where it ends.
pub fn looking(data: &[u8]) {
    let ([choice, depth, cut, _], message) = split(data);
    let options = options_of(choice, depth);
    let kinds = [KIND_EXT; 256];
    let rules = validate::Rules {
        kinds: &kinds,
        max_depth: options.max_depth,
        utf8_fatal: options.utf8 == Utf8::Fatal,
        map_keys: options.map_keys,
        timestamps: options.timestamps,
        multiple: false,
    };
    let unpacked = Codec::new(0).unpack(message, options);
    let found = validate(message, &rules);
    assert_eq!(found.err(), unpacked.err());
    let Ok(summary) = found else { return };
    assert_eq!((summary.values, summary.bytes), (1, message.len() as u64));
    assert_eq!(skip(message, 0, 1, &kinds), Ok(message.len()));
    let (head, tail) = message.split_at(usize::from(cut).min(message.len()));
    let mut pieces = Validator::default();
    pieces.feed(head, &rules, false).expect("the start of a message");
    assert_eq!(pieces.feed(tail, &rules, true), Ok(summary));
}
