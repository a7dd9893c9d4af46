//! Values, options and bytes to try, as proptest draws them.

// No user of this needs all of it.
#![allow(dead_code)]

use msgpack_rs::unpack::parse::{Int64, Options, Utf8};
use proptest::prelude::*;
use rmpv::Value;

use crate::model::{WORDS, encode, options};

pub fn any_options() -> impl Strategy<Value = Options> {
    let int64 = [Int64::Auto, Int64::BigInt, Int64::Number, Int64::Text];
    let utf8 = [Utf8::Replace, Utf8::Fatal, Utf8::Raw];
    (prop::sample::select(int64.to_vec()), prop::sample::select(utf8.to_vec()), any::<bool>())
        .prop_map(|(int64, utf8, timestamps)| Options { int64, utf8, timestamps, ..options() })
        .boxed()
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![
        8 => prop::sample::select(&WORDS[..]).prop_map(String::from),
        3 => "[a-z]{0,9}",
        2 => "\\PC{0,40}",
        1 => ("[a-z\u{e9}\u{416}\u{1f426}]{1,4}", 1usize..300).prop_map(|(s, n)| s.repeat(n)),
    ]
    .boxed()
}

fn int() -> BoxedStrategy<Value> {
    let edges = (0u32..65, -2i128..3, any::<bool>()).prop_map(|(bits, by, negative)| {
        let n = (1i128 << bits) + by;
        let n = if negative { -n } else { n };
        n.clamp(i128::from(i64::MIN), i128::from(u64::MAX))
    });
    prop_oneof![edges, any::<i64>().prop_map(i128::from), (-200i128..400)]
        .prop_map(|n| match u64::try_from(n) {
            Ok(n) => Value::from(n),
            Err(_) => Value::from(n as i64),
        })
        .boxed()
}

fn float() -> BoxedStrategy<Value> {
    prop_oneof![
        any::<f64>().prop_map(Value::F64),
        any::<f32>().prop_map(|x| Value::F64(f64::from(x))),
        (-1000i32..1000).prop_map(|n| Value::F64(f64::from(n))),
        (-1000i32..1000).prop_map(|n| Value::F64(f64::from(n) / 4.0)),
        prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, 9007199254740992.0])
            .prop_map(Value::F64),
    ]
    .boxed()
}

fn ext() -> BoxedStrategy<Value> {
    let own = (any::<i8>(), prop::collection::vec(any::<u8>(), 0..20))
        .prop_filter("no timestamp", |(ext_type, _)| *ext_type != -1)
        .prop_map(|(ext_type, data)| Value::Ext(ext_type, data));
    let short = any::<u32>().prop_map(|s| Value::Ext(-1, s.to_be_bytes().to_vec()));
    let middle = (0u64..1 << 34, 0u64..1_000_000_000)
        .prop_map(|(s, ns)| Value::Ext(-1, (ns << 34 | s).to_be_bytes().to_vec()));
    let long = (-8_640_000_000_000i64..8_640_000_000_000, 0u32..1_000_000_000)
        .prop_map(|(s, ns)| Value::Ext(-1, [&ns.to_be_bytes()[..], &s.to_be_bytes()].concat()));
    prop_oneof![own, short, middle, long].boxed()
}

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        1 => Just(Value::Nil),
        1 => any::<bool>().prop_map(Value::Boolean),
        3 => int(),
        2 => float(),
        1 => any::<f32>().prop_map(Value::F32),
        5 => text().prop_map(Value::from),
        1 => prop::collection::vec(any::<u8>(), 0..70).prop_map(Value::Binary),
        1 => ext(),
    ]
    .boxed()
}

/// Values whose maps have keys of `key`.
fn value_with(key: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    scalar()
        .prop_recursive(4, 60, 8, move |inner| {
            let records = (
                prop::collection::vec(key.clone(), 0..5),
                prop::collection::vec(prop::collection::vec(inner.clone(), 5), 0..5),
            )
                .prop_map(|(keys, rows)| {
                    let row = |row: Vec<Value>| Value::Map(keys.iter().cloned().zip(row).collect());
                    Value::Array(rows.into_iter().map(row).collect())
                });
            prop_oneof![
                3 => prop::collection::vec(inner.clone(), 0..18).prop_map(Value::Array),
                3 => prop::collection::vec((key.clone(), inner), 0..18).prop_map(Value::Map),
                2 => records,
                1 => prop::collection::vec(int(), 0..20).prop_map(Value::Array),
                1 => prop::collection::vec(prop_oneof![int(), float()], 0..20)
                    .prop_map(Value::Array),
            ]
        })
        .boxed()
}

fn string_key() -> BoxedStrategy<Value> {
    text().prop_map(Value::from).boxed()
}

pub fn value() -> BoxedStrategy<Value> {
    value_with(string_key())
}

pub fn value_with_any_keys() -> BoxedStrategy<Value> {
    value_with(scalar())
}

pub fn value_with_object_keys() -> BoxedStrategy<Value> {
    value_with(prop_oneof![3 => string_key(), 1 => int(), 1 => float()].boxed())
}

/// So many cases each time, or as many as PROPTEST_CASES says.
pub fn cases(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    if given { config } else { ProptestConfig { cases, ..config } }
}

/// Bytes among which those that start something are frequent.
pub fn soup() -> BoxedStrategy<Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), 0x80u8..0xa4, 0xc0u8..0xe0, 0u8..8];
    prop::collection::vec(byte, 0..120).boxed()
}

/// Messages one after the other, some of them with bytes that are not theirs, or cut off.
pub fn damaged() -> BoxedStrategy<Vec<u8>> {
    let damage = (any::<prop::sample::Index>(), any::<u8>());
    (
        prop::collection::vec(prop_oneof![value(), value_with_any_keys()], 1..4),
        prop::collection::vec(damage, 0..4),
        prop::option::of(any::<prop::sample::Index>()),
    )
        .prop_map(|(values, damage, cut)| {
            let mut bytes: Vec<u8> = values.iter().flat_map(encode).collect();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        })
        .boxed()
}
