//! What holds for any bytes at all. Each function takes bytes and panics where something does not
//! hold: the targets of `fuzz/` call them with what a fuzzer has made up, the tests with what is in
//! `fuzz/corpus` and with random messages.

use msgpack_rs::stream::scan::{Meaning, Scan, Scanner};
use msgpack_rs::tape::*;
use msgpack_rs::unpack::parse::{Int64, Options, Parser, Stop, Utf8};
use msgpack_rs::unpack::records::Structures;
use rmpv::Value;

use super::read::{Codec, Collected};
use super::write::{Packer, check_packed, shortest};
use super::{Js, MAX_SAFE, encode, expected, options, read_value, timestamp, value_of};

/// Bytes before the message that say how it is to be read.
pub const CHOICES: usize = 4;
/// The longest message: a parse of it takes no time, and it can nest deeper than `max_depth`.
const MAX_MESSAGE: usize = 1 << 14;

/// The choices, zeros where there are none, and the message.
pub fn split(data: &[u8]) -> ([u8; CHOICES], &[u8]) {
    let mut choices = [0; CHOICES];
    let (head, message) = data.split_at(data.len().min(CHOICES));
    choices[..head.len()].copy_from_slice(head);
    (choices, &message[..message.len().min(MAX_MESSAGE)])
}

pub fn options_of(choice: u8, depth: u8) -> Options {
    // The forms that are wider than their number are all one to rmpv.
    let int64 = if choice & 1 == 0 { Int64::Auto } else { Int64::Number };
    let utf8 = [Utf8::Replace, Utf8::Fatal, Utf8::Raw, Utf8::Replace][usize::from(choice >> 1 & 3)];
    let max_depth = if depth == 0 { 1000 } else { usize::from(depth) };
    let (map_keys, timestamps) = (choice & 8 != 0, choice & 16 != 0);
    Options { int64, utf8, map_keys, timestamps, max_depth, ..options() }
}

/// Parsing accepts and refuses what `rmpv` does, to the same values: the first time and when the
/// shapes and the strings are known, one message, a series and the messages of a stream. After it
/// the codec reads a good message.
pub fn parse_bytes(data: &[u8]) {
    let ([choice, depth, words, _], message) = split(data);
    let options = options_of(choice, depth);
    let mut codec = Codec::new(usize::from(words));
    for _ in 0..3 {
        same_as_rmpv(&mut codec, message, options);
    }
    let whole = codec.unpack_from(message, 0, options).map(|(value, _)| value);
    let mut rest = message;
    let mut theirs = Vec::new();
    let series = codec.unpack(message, Options { mode: MODE_ALL, ..options });
    if let Ok(series) = series {
        while !rest.is_empty() {
            theirs.push(read_value(&mut rest).expect("a series that rmpv refuses"));
        }
        if let [one] = &theirs[..] {
            assert_eq!(whole.ok(), expected(one, &options));
        }
        assert_eq!(Some(series), expected(&Value::Array(theirs), &options));
    }
    reads_a_good_message(&mut codec);
}

fn reads_a_good_message(codec: &mut Codec) {
    let good =
        b"\x84\xa2id\x07\xa4name\xa5probe\xa4list\x93\x01\xcb\x40\x04\0\0\0\0\0\0\xc0\xa1m\x80";
    let key = |key: &str| Js::Text(key.into());
    let number = |n: f64| Js::Number(n.to_bits());
    let wanted = Js::Map(vec![
        (key("id"), number(7.0)),
        (key("name"), Js::Text("probe".into())),
        (key("list"), Js::List(vec![number(1.0), number(2.5), Js::Nil])),
        (key("m"), Js::Map(Vec::new())),
    ]);
    assert_eq!(codec.unpack(good, options()).unwrap(), wanted);
}

/// How many arrays and maps are inside one another.
fn depth_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        Value::Map(pairs) => {
            1 + pairs.iter().map(|(k, v)| depth_of(k).max(depth_of(v))).max().unwrap_or(0)
        }
        _ => 0,
    }
}

pub fn same_as_rmpv(codec: &mut Codec, bytes: &[u8], options: Options) {
    let mut rest = bytes;
    let theirs = read_value(&mut rest);
    let their_end = bytes.len() - rest.len();
    match codec.unpack_from(bytes, 0, Options { mode: MODE_FROM, ..options }) {
        Ok((ours, end)) => {
            let theirs = theirs.expect("bytes that rmpv refuses");
            assert!(depth_of(&theirs) <= options.max_depth, "too deep");
            assert_eq!(Some(ours), expected(&theirs, &options));
            assert_eq!(end, their_end);
        }
        Err(Fault { code, offset }) => {
            let byte = bytes.get(offset).copied();
            match code {
                FAULT_TRUNCATED => assert!(theirs.is_err(), "nothing is missing"),
                // rmpv takes this one for nil.
                FAULT_INVALID_BYTE => assert_eq!(byte, Some(0xc1)),
                FAULT_TIMESTAMP => assert!(matches!(byte, Some(0xc7..=0xc9 | 0xd4..=0xd8))),
                FAULT_KEY => {
                    assert!(!options.map_keys);
                    assert!(matches!(byte, Some(0x80..=0x9f | 0xc0..=0xc9 | 0xd4..)));
                }
                FAULT_INVALID_UTF8 => {
                    assert_eq!(options.utf8, Utf8::Fatal);
                    assert!(matches!(byte, Some(0xa0..=0xbf | 0xd9..=0xdb)));
                }
                FAULT_DEPTH => assert!(matches!(byte, Some(0x80..=0x9f | 0xdc..=0xdf))),
                _ => panic!("fault {code} at {offset}"),
            }
            // A message that is in order for us too is refused by neither.
            if let Ok(theirs) = theirs
                && code != FAULT_INVALID_BYTE
            {
                let too_deep = depth_of(&theirs) > options.max_depth;
                assert!(too_deep || expected(&theirs, &options).is_none(), "refused: {code}");
                assert!(code != FAULT_DEPTH || too_deep, "not too deep");
            }
        }
    }
}

/// A message in its canonical form is the same bytes again when it is parsed and then encoded.
pub fn canonical(data: &[u8]) {
    let (choices, mut message) = split(data);
    let Ok(value) = read_value(&mut message) else { return };
    let options = Options { map_keys: true, timestamps: true, ..options() };
    if depth_of(&value) > options.max_depth || !is_text(&value) {
        return;
    }
    // A timestamp that is none.
    if expected(&value, &options).is_none() {
        return;
    }
    let bytes = encode(&shortest(&value, false));
    let (mut codec, mut packer) = (Codec::new(0), Packer::new());
    for _ in 0..2 {
        let js = codec.unpack(&bytes, options).expect("a canonical message");
        let again = value_of(&js);
        let packed = packer.pack(&again, &choices).expect("a value that was parsed");
        check_packed(&again, &packed.bytes, false);
        // An integer that only a BigInt holds may take either of its 64-bit forms.
        if !has_wide_integers(&value) {
            assert_eq!(packed.bytes, bytes, "other bytes");
        }
        let back = codec.unpack(&packed.bytes, options).expect("what the encoder writes");
        assert_eq!(back, js, "another value");
    }
    reads_a_good_message(&mut codec);
}

/// Whether all strings are well-formed, as those of JavaScript are once they are encoded.
fn is_text(value: &Value) -> bool {
    match value {
        Value::String(s) => s.is_str(),
        Value::Array(items) => items.iter().all(is_text),
        Value::Map(pairs) => pairs.iter().all(|(k, v)| is_text(k) && is_text(v)),
        _ => true,
    }
}

fn has_wide_integers(value: &Value) -> bool {
    match value {
        Value::Integer(n) => n.as_i64().is_none_or(|n| i128::from(n).abs() > MAX_SAFE),
        Value::Array(items) => items.iter().any(has_wide_integers),
        Value::Map(pairs) => {
            pairs.iter().any(|(k, v)| has_wide_integers(k) || has_wide_integers(v))
        }
        // Seconds are not a number of JavaScript's.
        Value::Ext(-1, data) => timestamp(data).is_none(),
        _ => false,
    }
}

/// However a stream is cut, the scanner finds the ends that the parser does, and stops where it
/// does; with records, tags and references too. What it says is missing is missing.
pub fn stream_cuts(data: &[u8]) {
    let (choices, message) = split(data);
    let [choice, step, ..] = choices;
    let extended = choice & 1 != 0;
    let records = choice & 2 != 0;
    let mut parser = Parser::default();
    let mut options = options();
    if extended {
        for (ext_type, kind) in KINDS {
            if kind == KIND_RECORD && !records {
                continue;
            }
            parser.set_ext_kind(ext_type as u8, kind);
        }
        options = Options { records, strict_ids: choice & 4 != 0, map_keys: records, ..options };
        if choice & 8 != 0 {
            let names = |names: &[&str]| names.iter().map(|&name| String::from(name)).collect();
            parser.structures.set_shared(vec![names(&["a", "b"]), names(&[]), names(&["id"])]);
        }
    }
    let (ends, fault) = ends_by_parsing(&mut parser, message, options);
    // As when a scanner is opened.
    parser.structures.end_message();
    let meaning = Meaning {
        kinds: &parser.ext_kinds,
        has_distant: parser.has_distant,
        records: options.records,
        strict_ids: options.strict_ids,
    };
    for step in [message.len().max(1), 1, 1 + usize::from(step), 1 + usize::from(step % 7)] {
        let scanned = scan_in_steps(message, step, &meaning, &parser.structures);
        let complete = &scanned.ends[..ends.len().min(scanned.ends.len())];
        assert_eq!(complete, ends, "other ends in steps of {step}");
        for &(at, missing) in &scanned.missing {
            let end = scanned.ends.iter().find(|&&end| end > at);
            assert!(end.is_none_or(|&end| at as u64 + missing <= end as u64), "not missing");
        }
        let Some(fault) = fault else {
            assert!(scanned.ends.len() == ends.len() && scanned.fault.is_none());
            continue;
        };
        match fault.code {
            // A claim of more than there is stops the parser at once, the scanner waits for it; an
            // ext it refuses before it has come.
            FAULT_TRUNCATED => {
                assert_eq!(scanned.ends.len(), ends.len(), "complete in steps of {step}");
                assert!(scanned.fault.is_none_or(|scanned| scanned.offset >= fault.offset));
            }
            FAULT_INVALID_BYTE => assert_eq!(scanned.fault, Some(fault)),
            _ => {}
        }
    }
    stream_of_messages(&mut parser, message, options, &ends, fault);
}

const KINDS: [(i32, i32); 11] = [
    (1, KIND_TAG),
    (2, KIND_OWN),
    (EXT_UNDEFINED, KIND_UNDEFINED),
    (EXT_BIGINT, KIND_BIGINT),
    (EXT_ERROR, KIND_TAG),
    (EXT_ID, KIND_ID),
    (EXT_POINTER, KIND_POINTER),
    (EXT_RECORD, KIND_RECORD),
    (EXT_SET, KIND_ARRAY_TAG),
    (EXT_TYPED, KIND_TYPED),
    (EXT_REGEXP, KIND_TAG),
];

/// One message after the other: where each ends, and what is wrong with the one that does not.
fn ends_by_parsing(
    parser: &mut Parser,
    input: &[u8],
    options: Options,
) -> (Vec<usize>, Option<Fault>) {
    let mut tape = vec![0; HEADER_WORDS as usize + 1];
    let mut ends = Vec::new();
    let mut at = 0;
    while at < input.len() {
        match end_of_one(parser, input, at, &mut tape, options) {
            Ok(end) => {
                assert!(end > at && end <= input.len());
                ends.push(end);
                at = end;
            }
            // The scanner counts from the start of the message.
            Err(Fault { code, offset }) => return (ends, Some(Fault::at(code, offset - at))),
        }
    }
    (ends, None)
}

fn end_of_one(
    parser: &mut Parser,
    input: &[u8],
    start: usize,
    tape: &mut Vec<i32>,
    options: Options,
) -> Result<usize, Fault> {
    let (mut at, mut left, mut mode) = (start, 0, MODE_FROM);
    loop {
        let end = parse_once(parser, input, at, left, tape, Options { mode, ..options })?;
        // Nobody builds what was parsed.
        parser.forget();
        (at, left, mode) = (end.0, end.1, MODE_REST_OF_FROM);
        if left == 0 {
            return Ok(at);
        }
    }
}

type Part = (usize, usize, usize, Option<Fault>);

/// One part: where it ends, what is left, how many root values it has, why it stopped.
fn parse_once(
    parser: &mut Parser,
    input: &[u8],
    start: usize,
    left: usize,
    tape: &mut Vec<i32>,
    options: Options,
) -> Result<Part, Fault> {
    loop {
        let mut texts = Collected::default();
        match parser.parse(input, start, left, tape, options, &mut texts) {
            Ok(end) => {
                let root = tape[ROOT as usize] as u32 as usize >> TAG_BITS;
                let count = if options.mode == MODE_STREAM { tape[root] as usize } else { 1 };
                return Ok((end.pos, end.left, count, end.stopped));
            }
            Err(Stop::Fault(fault)) => {
                assert!(fault.offset <= input.len(), "a fault behind the input");
                return Err(fault);
            }
            Err(Stop::Grow(words)) => {
                assert!(words > tape.len() && words <= 4 * input.len() + 4096 + tape.len());
                tape.resize(words, 0);
            }
        }
    }
}

#[derive(Default)]
struct Scanned {
    ends: Vec<usize>,
    fault: Option<Fault>,
    /// Where a piece ended, and how many bytes were missing at least.
    missing: Vec<(usize, u64)>,
}

fn scan_in_steps(input: &[u8], step: usize, meaning: &Meaning, structures: &Structures) -> Scanned {
    let mut scanner = Scanner::default();
    let mut scanned = Scanned::default();
    for (count, piece) in input.chunks(step).enumerate() {
        let start = count * step;
        let mut at = 0;
        while at < piece.len() {
            match scanner.scan(&piece[at..], u64::MAX, meaning, structures) {
                Ok(Scan::Complete(len)) => {
                    at += len;
                    scanned.ends.push(start + at);
                }
                Ok(Scan::More(missing)) => {
                    at = piece.len();
                    scanned.missing.push((start + at, missing));
                }
                Err(fault) => {
                    scanned.fault = Some(fault);
                    return scanned;
                }
            }
        }
    }
    scanned
}

/// All messages in one go, as those of a piece of a stream.
fn stream_of_messages(
    parser: &mut Parser,
    input: &[u8],
    options: Options,
    ends: &[usize],
    fault: Option<Fault>,
) {
    let mut tape = vec![0; HEADER_WORDS as usize + 1];
    let options = Options { mode: MODE_STREAM, ..options };
    let (mut at, mut count) = (0, 0);
    while at < input.len() {
        let (end, left, messages, stopped) =
            parse_once(parser, input, at, 0, &mut tape, options).expect("a stream");
        parser.forget();
        count += messages;
        at = end;
        if let Some(stopped) = stopped {
            let start = ends.last().copied().unwrap_or(0);
            assert_eq!(Some(Fault::at(stopped.code, stopped.offset - start)), fault);
            break;
        }
        assert_eq!(left, input.len() - at);
    }
    assert_eq!(at, ends.last().copied().unwrap_or(0), "the stream ends elsewhere");
    assert_eq!(count, ends.len(), "another number of messages");
}
