//! What a message says, by `rmpv`, an independent implementation, and by the two halves of this
//! one. Shared by the tests and, through a path, by the targets of `fuzz/`.

// No user of this needs all of it.
#![allow(dead_code)]

pub mod bytes;
pub mod read;
pub mod without;
pub mod write;

use msgpack_rs::tape::MODE_ONE;
use msgpack_rs::unpack::parse::{Int64, Options, Utf8};
use rmpv::Value;

pub const MAX_SAFE: i128 = (1 << 53) - 1;
/// The last millisecond of a `Date`.
pub const MAX_DATE_MS: i64 = 8_640_000_000_000_000;

pub fn options() -> Options {
    Options {
        max_depth: 1000,
        int64: Int64::Auto,
        utf8: Utf8::Replace,
        map_keys: false,
        timestamps: false,
        mode: MODE_ONE,
        ..Options::from_bits(0, 1000, MODE_ONE)
    }
}

pub fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).unwrap();
    bytes
}

/// A map is two levels to `rmpv`.
const THEIR_DEPTH: usize = 3000;

pub fn read_value(bytes: &mut &[u8]) -> Result<Value, rmpv::decode::Error> {
    rmpv::decode::read_value_with_max_depth(bytes, THEIR_DEPTH)
}

pub const WORDS: [&str; 24] = [
    "",
    "a",
    "b",
    "id",
    "name",
    "type",
    "value",
    "19",
    "0",
    "-1",
    "__proto__",
    "constructor",
    "toString",
    "h\u{e9}",
    "\u{416}\u{443}\u{43a}",
    "\u{6f22}\u{5b57}",
    "\u{1f426}",
    "exactly eight",
    "just a few bytes more than",
    "a key of twenty-seven bytes",
    "a key of twenty-eight bytes.",
    "thirty-one bytes, the last fixed",
    "and thirty-two bytes, one more..",
    "nul\0nul",
];

/// What a message says, without what JavaScript cannot tell apart: 1 and 1.0, one NaN and another.
#[derive(Clone, Debug, PartialEq)]
pub enum Js {
    Nil,
    Bool(bool),
    /// The bits of a double.
    Number(u64),
    BigInt(i128),
    Text(String),
    Bin(Vec<u8>),
    Ext(i8, Vec<u8>),
    Timestamp(i64, u32),
    Date(i64),
    List(Vec<Js>),
    /// Entries in order, equal keys included.
    Map(Vec<(Js, Js)>),
}

pub fn number(number: f64) -> Js {
    Js::Number(if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() })
}

/// How the value that `rmpv` read comes out with these options; `None` where it is an error.
pub fn expected(value: &Value, options: &Options) -> Option<Js> {
    Some(match value {
        Value::Nil => Js::Nil,
        Value::Boolean(b) => Js::Bool(*b),
        Value::Integer(n) => {
            let n = n.as_i64().map_or_else(|| i128::from(n.as_u64().unwrap()), i128::from);
            let wide = n > i128::from(u32::MAX) || n < i128::from(i32::MIN);
            let safe = (-MAX_SAFE..=MAX_SAFE).contains(&n);
            match options.int64 {
                Int64::Auto if !safe => Js::BigInt(n),
                Int64::BigInt if wide => Js::BigInt(n),
                Int64::Text if wide => Js::Text(n.to_string()),
                _ => number(n as f64),
            }
        }
        Value::F32(x) => number(f64::from(*x)),
        Value::F64(x) => number(*x),
        Value::String(s) => match (s.as_str(), options.utf8) {
            (Some(s), _) => Js::Text(s.to_owned()),
            (None, Utf8::Replace) => Js::Text(String::from_utf8_lossy(s.as_bytes()).into_owned()),
            (None, Utf8::Raw) => Js::Bin(s.as_bytes().to_vec()),
            (None, Utf8::Fatal) => return None,
        },
        Value::Binary(bytes) => Js::Bin(bytes.clone()),
        Value::Array(items) => {
            Js::List(items.iter().map(|item| expected(item, options)).collect::<Option<_>>()?)
        }
        Value::Map(pairs) => {
            let mut entries = Vec::with_capacity(pairs.len());
            for (key, item) in pairs {
                let key = match key {
                    _ if options.map_keys => expected(key, options)?,
                    Value::String(s) if options.utf8 == Utf8::Fatal && !s.is_str() => return None,
                    Value::String(s) => {
                        Js::Text(String::from_utf8_lossy(s.as_bytes()).into_owned())
                    }
                    Value::Integer(_) | Value::F32(_) | Value::F64(_) => expected(key, options)?,
                    _ => return None,
                };
                entries.push((key, expected(item, options)?));
            }
            Js::Map(entries)
        }
        Value::Ext(-1, data) => {
            let (seconds, nanoseconds) = timestamp(data)?;
            if options.timestamps {
                Js::Timestamp(seconds, nanoseconds)
            } else {
                let ms = i128::from(seconds) * 1000 + i128::from(nanoseconds / 1_000_000);
                if ms.abs() > i128::from(MAX_DATE_MS) {
                    return None;
                }
                Js::Date(ms as i64)
            }
        }
        Value::Ext(ext_type, data) => Js::Ext(*ext_type, data.clone()),
    })
}

pub fn timestamp(data: &[u8]) -> Option<(i64, u32)> {
    let big = |bytes: &[u8]| bytes.iter().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
    let (seconds, nanoseconds) = match data.len() {
        4 => (big(data) as i64, 0),
        8 => ((big(data) % (1 << 34)) as i64, big(data) >> 34),
        12 => (big(&data[4..]) as i64, big(&data[..4])),
        _ => return None,
    };
    (nanoseconds < 1_000_000_000).then_some((seconds, nanoseconds as u32))
}

/// The value that a [`Js`] with all its keys and nanoseconds came from, in its shortest forms.
pub fn value_of(js: &Js) -> Value {
    match js {
        Js::Nil => Value::Nil,
        Js::Bool(b) => Value::from(*b),
        Js::Number(bits) => Value::F64(f64::from_bits(*bits)),
        Js::BigInt(n) => match u64::try_from(*n) {
            Ok(n) => Value::from(n),
            Err(_) => Value::from(*n as i64),
        },
        Js::Text(text) => Value::from(text.as_str()),
        Js::Bin(bytes) => Value::Binary(bytes.clone()),
        Js::Ext(ext_type, data) => Value::Ext(*ext_type, data.clone()),
        Js::Timestamp(seconds, nanoseconds) => {
            let data = [&nanoseconds.to_be_bytes()[..], &seconds.to_be_bytes()].concat();
            Value::Ext(-1, data)
        }
        Js::Date(ms) => {
            let nanoseconds = ms.rem_euclid(1000) as u32 * 1_000_000;
            value_of(&Js::Timestamp(ms.div_euclid(1000), nanoseconds))
        }
        Js::List(items) => Value::Array(items.iter().map(value_of).collect()),
        Js::Map(pairs) => {
            Value::Map(pairs.iter().map(|(k, v)| (value_of(k), value_of(v))).collect())
        }
    }
}
