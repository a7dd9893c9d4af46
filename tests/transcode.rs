//! Both directions of `transcode` against `serde_json` and `rmpv`, whole and in pieces.

use msgpack_rs::tape::*;
use msgpack_rs::transcode::from_json::{self, FromJson, JsonFault};
use msgpack_rs::transcode::json_text::{Binary, Text};
use msgpack_rs::transcode::path_filter::PathFilter;
use msgpack_rs::transcode::to_json::{self, ToJson};
use proptest::prelude::*;
use serde_json::Value;

const KINDS: [i32; 256] = [KIND_EXT; 256];

fn to_options() -> to_json::Options {
    to_json::Options {
        max_depth: 1000,
        binary: Binary::Base64,
        throws_non_finite: false,
        fatal_utf8: false,
        indent: Vec::new(),
        multiple: false,
        kinds: KINDS.into(),
    }
}

fn from_options() -> from_json::Options {
    from_json::Options { max_depth: 1000, multiple: false, exts: None, fatal_utf8: false }
}

fn read(text: &[u8], options: from_json::Options) -> Result<Vec<u8>, JsonFault> {
    let mut from_json = FromJson::default();
    from_json.read(text, options)?;
    let mut message = vec![0; from_json.len()];
    from_json.copy_to(&mut message);
    Ok(message)
}

fn write(message: &[u8], options: to_json::Options) -> Result<String, Fault> {
    let mut text = Text::default();
    let used = ToJson::new(options).feed(message, true, &mut text)?;
    assert_eq!(used, message.len());
    Ok(String::from_utf8(text.bytes).expect("the text is UTF-8"))
}

/// What `rmpv` reads of a message that came from JSON.
fn value_of(message: &[u8]) -> Value {
    fn value(from: rmpv::Value) -> Value {
        match from {
            rmpv::Value::Nil => Value::Null,
            rmpv::Value::Boolean(is_true) => is_true.into(),
            rmpv::Value::Integer(int) => match (int.as_u64(), int.as_i64()) {
                (Some(int), _) => int.into(),
                (_, Some(int)) => int.into(),
                _ => panic!("an integer of no size"),
            },
            rmpv::Value::F64(number) => number.into(),
            rmpv::Value::String(text) => text.as_str().expect("UTF-8").into(),
            rmpv::Value::Array(items) => items.into_iter().map(value).collect(),
            rmpv::Value::Map(pairs) => pairs
                .into_iter()
                .map(|(key, item)| (key.as_str().expect("a key").to_owned(), value(item)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => panic!("{other} is nothing that JSON has"),
        }
    }
    let mut rest = message;
    let read = rmpv::decode::read_value_with_max_depth(&mut rest, 10_000).expect("a message");
    assert!(rest.is_empty(), "{} bytes behind the message", rest.len());
    value(read)
}

/// Numbers that have one form: an integer that is a safe one goes out as such.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-300i64..300).prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite, and no integer", |x| x.is_finite() && x.fract() != 0.0)
            .prop_map(Value::from),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        any::<String>().prop_map(Value::from),
        "[ -~]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 200, 40, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..40)
                .prop_map(|pairs| pairs.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

fn message() -> impl Strategy<Value = rmpv::Value> {
    let leaf = prop_oneof![
        Just(rmpv::Value::Nil),
        any::<bool>().prop_map(rmpv::Value::from),
        any::<i64>().prop_map(rmpv::Value::from),
        any::<u64>().prop_map(rmpv::Value::from),
        any::<f64>().prop_map(rmpv::Value::from),
        any::<f32>().prop_map(rmpv::Value::from),
        any::<String>().prop_map(rmpv::Value::from),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(rmpv::Value::from),
        (any::<i8>(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_filter("no timestamp", |(ext_type, _)| *ext_type != -1)
            .prop_map(|(ext_type, data)| rmpv::Value::Ext(ext_type, data)),
    ];
    leaf.prop_recursive(5, 100, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(rmpv::Value::from),
            prop::collection::vec((inner.clone(), inner), 0..20).prop_map(rmpv::Value::from),
        ]
    })
}

fn encoded(value: &rmpv::Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).expect("writing to memory");
    bytes
}

/// All that comes of these pieces, as a stream that keeps what is not used.
fn in_pieces(
    pieces: &[&[u8]],
    mut feed: impl FnMut(&[u8], bool, &mut Text) -> (Result<usize, Fault>, usize),
) -> (Vec<u8>, Option<(i32, usize)>) {
    let (mut rest, mut before) = (Vec::new(), 0);
    let (mut text, mut output) = (Text::default(), Vec::new());
    for index in 0..=pieces.len() {
        rest.extend_from_slice(pieces.get(index).unwrap_or(&&[][..]));
        let (used, certain) = feed(&rest, index == pieces.len(), &mut text);
        output.extend(text.bytes.drain(..certain));
        match used {
            Ok(used) => {
                before += used;
                rest.drain(..used);
            }
            Err(fault) => return (output, Some((fault.code, before + fault.offset))),
        }
    }
    assert!(text.bytes.is_empty(), "text that never became certain");
    (output, None)
}

fn streamed(pieces: &[&[u8]], options: &to_json::Options) -> (Vec<u8>, Option<(i32, usize)>) {
    let mut to_json = ToJson::new(options.clone());
    in_pieces(pieces, |input, is_last, text| {
        let used = to_json.feed(input, is_last, text);
        let certain = to_json.certain(text);
        (used, certain)
    })
}

fn filtered(
    pieces: &[&[u8]],
    path: &[&str],
    options: &to_json::Options,
) -> (Vec<u8>, Option<(i32, usize)>) {
    let path = path.iter().map(|&name| name.to_owned()).collect();
    let mut filter = PathFilter::new(path, ToJson::new(options.clone()));
    in_pieces(pieces, |input, is_last, text| {
        let used = filter.feed(input, is_last, text);
        let certain = filter.to_json.certain(text);
        (used, certain)
    })
}

fn split<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn json_to_msgpack_is_what_rmpv_reads(value in json(), is_pretty: bool) {
        let to_string =
            if is_pretty { serde_json::to_string_pretty } else { serde_json::to_string };
        let text = to_string(&value).expect("a text");
        let message = read(text.as_bytes(), from_options()).expect("it is JSON");
        prop_assert_eq!(value_of(&message), value);
    }

    #[test]
    fn and_back_to_the_same_text(value in json()) {
        let text = serde_json::to_string(&value).expect("a text");
        let message = read(text.as_bytes(), from_options()).expect("it is JSON");
        let back = write(&message, to_options()).expect("it has a text");
        prop_assert_eq!(serde_json::from_str::<Value>(&back).expect("JSON"), value);
    }

    #[test]
    fn what_is_written_is_json(value in message(), indent in "[ \t]{0,3}") {
        let options = to_json::Options { indent: indent.into_bytes(), ..to_options() };
        match write(&encoded(&value), options) {
            Ok(text) => { serde_json::from_str::<serde::de::IgnoredAny>(&text).expect("JSON"); }
            Err(fault) => prop_assert_eq!(fault.code, FAULT_KEY),
        }
    }

    #[test]
    fn messages_in_pieces(
        values in prop::collection::vec(message(), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        path in prop::collection::vec(prop_oneof![Just("0"), Just("1"), Just("a")], 1..3),
    ) {
        let mut bytes: Vec<u8> = values.iter().flat_map(encoded).collect();
        if let (Some((at, byte)), false) = (damage, bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let options =
            to_json::Options { multiple: true, indent: b" ".to_vec(), max_depth: 4, ..to_options() };
        let pieces = split(&bytes, &cuts);
        prop_assert_eq!(streamed(&pieces, &options), streamed(&[&bytes], &options));
        prop_assert_eq!(filtered(&pieces, &path, &options), filtered(&[&bytes], &path, &options));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        fatal_utf8: bool,
        multiple: bool,
    ) {
        let options = to_json::Options { fatal_utf8, multiple, max_depth: 5, ..to_options() };
        match write(&bytes, options) {
            Ok(_) => {}
            Err(fault) => prop_assert!(fault.offset <= bytes.len()),
        }
        let options =
            from_json::Options { fatal_utf8, multiple, max_depth: 5, exts: Some(Binary::Hex) };
        match read(&bytes, options) {
            Ok(message) => { write(&message, to_json::Options { multiple, ..to_options() }).expect("a text"); }
            Err(fault) => prop_assert!(fault.fault.offset <= bytes.len()),
        }
    }

    #[test]
    fn texts_that_are_nearly_json(
        text in r#"([\[\]{},:"\\ \n]|\\u[dD][89cC]00|é|1|-|e|\.|null|"a":){0,40}"#,
        multiple: bool,
    ) {
        let options = from_json::Options { multiple, ..from_options() };
        let found = read(text.as_bytes(), options);
        if !multiple && !text.contains("\\u") {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            let is_huge = found.as_ref().is_err_and(|fault| fault.message.contains("out of range"));
            prop_assert!(is_huge || found.is_ok() == is_json, "{text:?}: {found:?}");
        }
        match found {
            Ok(message) => { write(&message, to_json::Options { multiple, ..to_options() }).expect("a text"); }
            Err(fault) => {
                prop_assert!(fault.fault.offset <= text.len());
                prop_assert!(text.is_char_boundary(fault.fault.offset));
                let before = &text[..fault.fault.offset];
                prop_assert_eq!(fault.line, before.matches('\n').count() + 1);
                let line = before.rsplit('\n').next().unwrap_or_default();
                prop_assert_eq!(fault.column, line.encode_utf16().count() + 1);
            }
        }
    }
}

#[test]
fn headers_that_become_longer_within_one_another() {
    let mut value = Value::from(1);
    for n in [15usize, 16, 17, 255, 256, 65_535, 65_536] {
        let mut items = vec![Value::Null; n - 1];
        items.insert(n / 2, value);
        let map: serde_json::Map<_, _> =
            (0..20).map(|key| (format!("k{key}"), vec![key; 20].into())).collect();
        value = vec![Value::from(items), map.into()].into();
    }
    let message = read(value.to_string().as_bytes(), from_options()).expect("it is JSON");
    assert_eq!(value_of(&message), value);
}

#[test]
fn messages_before_a_fault_stay() {
    let mut from_json = FromJson::default();
    let options = from_json::Options { multiple: true, ..from_options() };
    let fault = from_json.read(b"1 [2, 3] [4, x] 5", options).expect_err("x is no value");
    assert_eq!((fault.fault.code, fault.fault.offset), (FAULT_JSON, 13));
    assert_eq!(from_json.values, 2);
    let mut message = vec![0; from_json.len()];
    from_json.copy_to(&mut message);
    assert_eq!(message, [1, 0x92, 2, 3]);
    from_json.read(b"6", options).expect("a number");
    assert_eq!(from_json.len(), 5);
}

/// An error tells its place once, not once for every level that it leaves.
#[test]
fn an_error_below_a_million_levels() {
    let text = "[".repeat(1_000_000);
    let options = from_json::Options { max_depth: usize::MAX, ..from_options() };
    let fault = read(text.as_bytes(), options).expect_err("nothing is closed");
    assert_eq!((fault.fault.code, fault.fault.offset), (FAULT_JSON, 1_000_000));
    let options = from_json::Options { max_depth: 999_999, ..from_options() };
    let fault = read(text.as_bytes(), options).expect_err("one level too many");
    assert_eq!((fault.fault.code, fault.fault.offset), (FAULT_DEPTH, 999_999));
}
