//! Value → tape, as walk.js does it, in pieces.

use std::collections::HashMap;

use msgpack_rs::pack::encode::{Encoder, Refs};
use msgpack_rs::pack::out::Out;
use msgpack_rs::pack::shapes::Shapes;
use msgpack_rs::pack::text::{TEXT_PADDING, Text, Units};
use msgpack_rs::tape::*;
use rmpv::Value;

use super::{MAX_DATE_MS, MAX_SAFE, WORDS, encode, read_value, timestamp};

/// Decisions of the writer, drawn by proptest and used in turn.
pub struct Choices {
    drawn: Vec<u8>,
    at: usize,
}

impl Choices {
    fn below(&mut self, n: u8) -> u8 {
        self.at += 1;
        self.drawn[(self.at - 1) % self.drawn.len()] % n
    }

    fn one_in(&mut self, n: u8) -> bool {
        self.below(n) == 0
    }
}

#[derive(Default)]
pub struct Piece {
    words: Vec<i32>,
    rope: Vec<u16>,
}

#[derive(Default)]
pub struct Held {
    bytes: HashMap<u32, Vec<u8>>,
    strings: HashMap<u32, String>,
}

impl Refs for Held {
    fn check(&mut self, index: u32, len: usize) -> Result<(), Fault> {
        assert_eq!(self.bytes[&index].len(), len);
        Ok(())
    }

    fn bytes(&mut self, index: u32, len: usize, out: &mut Out) -> Result<(), Fault> {
        assert_eq!(self.bytes[&index].len(), len);
        out.extend(&self.bytes[&index]);
        Ok(())
    }

    fn string(&mut self, index: u32, units: usize, _: bool, out: &mut Out) -> Result<(), Fault> {
        let string = &self.strings[&index];
        assert_eq!(string.encode_utf16().count(), units);
        out.extend(&encode(&Value::from(string.as_str())));
        Ok(())
    }

    fn bigint(&mut self, _: u32) -> Result<(bool, Vec<u64>), Fault> {
        Err(Fault::at(FAULT_INTERNAL, 0))
    }
}

pub struct Writer<'a> {
    choices: Choices,
    pieces: Vec<Piece>,
    piece: Piece,
    held: Held,
    refs: u32,
    shapes: &'a mut Shapes,
    shape_ids: &'a mut HashMap<Vec<String>, u32>,
    /// Whether a value that is left out may stand here.
    skips: usize,
}

impl Writer<'_> {
    fn push(&mut self, payload: i32, tag: i32) {
        self.piece.words.push(payload << TAG_BITS | tag);
    }

    fn maybe_split(&mut self) {
        if self.choices.one_in(6) {
            self.pieces.push(std::mem::take(&mut self.piece));
        }
    }

    fn push_bits(&mut self, bits: u64) {
        let words = &mut self.piece.words;
        // What lies in the gap means nothing.
        words.resize((words.len() + 1) & !1, -1);
        words.extend([bits as i32, (bits >> 32) as i32]);
    }

    fn push_number(&mut self, number: f64) {
        self.push(-1, P_NUMBER);
        self.push_bits(number.to_bits());
    }

    fn push_reference(&mut self) -> u32 {
        self.refs += 1;
        self.refs - 1
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> u32 {
        let index = self.push_reference();
        self.held.bytes.insert(index, bytes.to_vec());
        index
    }

    fn string(&mut self, string: &str) {
        let units: Vec<u16> = string.encode_utf16().collect();
        if units.len() >= 1024 || self.choices.one_in(9) {
            let index = self.push_reference();
            self.held.strings.insert(index, string.to_owned());
            self.push(index as i32, P_LONG_STR);
            self.piece.words.extend([units.len() as i32, i32::from(self.choices.one_in(2))]);
        } else {
            self.push(units.len() as i32, P_STR);
            self.piece.rope.extend(units);
        }
    }

    fn int(&mut self, n: i128) {
        let small = i32::try_from(n).ok().filter(|n| n << TAG_BITS >> TAG_BITS == *n);
        match small {
            Some(n) if !self.choices.one_in(4) => self.push(n, P_INT),
            _ if n.abs() <= MAX_SAFE && !self.choices.one_in(3) => self.push_number(n as f64),
            _ if n < 0 || (n <= i128::from(i64::MAX) && self.choices.one_in(2)) => {
                self.push(0, P_BIGINT);
                self.push_bits(n as i64 as u64);
            }
            _ => {
                self.push(1, P_BIGINT);
                self.push_bits(n as u64);
            }
        }
    }

    fn value(&mut self, value: &Value) {
        self.maybe_split();
        match value {
            Value::Nil => self.push(CONST_NIL, P_CONST),
            Value::Boolean(b) => self.push(if *b { CONST_TRUE } else { CONST_FALSE }, P_CONST),
            Value::Integer(_) => self.int(int_of(value).unwrap()),
            Value::F32(x) => self.push_number(f64::from(*x)),
            Value::F64(x) => self.push_number(*x),
            Value::String(s) => self.string(s.as_str().unwrap()),
            Value::Binary(bytes) => {
                let index = self.push_bytes(bytes);
                self.push(index as i32, P_BIN);
                self.piece.words.extend([bytes.len() as i32, 0]);
            }
            Value::Ext(-1, data) => {
                let (seconds, nanoseconds) = timestamp(data).unwrap();
                // What no Date holds is no Date's.
                let ms = seconds
                    .checked_mul(1000)
                    .and_then(|ms| ms.checked_add(i64::from(nanoseconds / 1_000_000)))
                    .filter(|ms| ms.abs() <= MAX_DATE_MS);
                if let Some(ms) = ms
                    && nanoseconds % 1_000_000 == 0
                    && self.choices.one_in(2)
                {
                    self.push(0, P_DATE);
                    self.push_bits((ms as f64).to_bits());
                } else {
                    self.push(0, P_TIMESTAMP);
                    self.piece.words.push(nanoseconds as i32);
                    self.push_bits(seconds as u64);
                }
            }
            Value::Ext(ext_type, data) => {
                let index = self.push_bytes(data);
                self.push(i32::from(*ext_type), P_EXT);
                self.piece.words.extend([index as i32, data.len() as i32, 0]);
            }
            Value::Array(items) => {
                self.push(items.len() as i32, P_ARRAY);
                self.items(items);
            }
            Value::Map(pairs) => self.map(pairs),
        }
    }

    fn items(&mut self, items: &[Value]) {
        let mut at = 0;
        while at < items.len() {
            let most = items.len() - at;
            let most = if self.choices.one_in(3) { most.min(3) } else { most };
            let run = &items[at..at + most];
            let ints = run.iter().map_while(int_of).map_while(|n| i32::try_from(n).ok()).count();
            let numbers = run.iter().map_while(number_of).count();
            match self.choices.below(3) {
                0 if ints > 0 => {
                    self.push(ints as i32, P_INTS);
                    let run = run[..ints].iter().map(|n| int_of(n).unwrap() as i32);
                    self.piece.words.extend(run);
                    at += ints;
                }
                1 if numbers > 0 => {
                    self.push(numbers as i32, P_NUMBERS);
                    for item in &run[..numbers] {
                        self.push_bits(number_of(item).unwrap().to_bits());
                    }
                    at += numbers;
                }
                _ => {
                    self.value(&run[0]);
                    at += 1;
                }
            }
            self.maybe_split();
        }
    }

    fn map(&mut self, pairs: &[(Value, Value)]) {
        // With properties that are left out among them.
        let mut entries: Vec<(Value, Option<&Value>)> = Vec::new();
        let skips = if self.choices.one_in(3) { 2 + self.choices.below(17) } else { 0 };
        for i in 0..skips / 2 {
            entries.push((Value::from(format!("left out {i}")), None));
        }
        for (key, item) in pairs {
            if skips > 0 && self.choices.one_in(3) {
                entries.push((Value::from(WORDS[usize::from(self.choices.below(24))]), None));
            }
            entries.push((key.clone(), Some(item)));
        }
        for i in 0..skips / 2 {
            entries.push((Value::from(format!("left out behind {i}")), None));
        }
        let keys: Option<Vec<String>> =
            entries.iter().map(|(key, _)| key.as_str().map(String::from)).collect();
        match keys {
            Some(keys) if !self.choices.one_in(3) => {
                let Writer { shapes, shape_ids, .. } = &mut *self;
                let id = *shape_ids
                    .entry(keys.clone())
                    .or_insert_with(|| shapes.define(keys.iter().map(String::as_str)));
                self.push(id as i32, P_SHAPE);
                for (_, item) in entries {
                    self.item_or_skip(item);
                }
            }
            _ => {
                self.push(entries.len() as i32, P_MAP);
                for (key, item) in entries {
                    self.value(&key);
                    self.item_or_skip(item);
                }
            }
        }
    }

    fn item_or_skip(&mut self, item: Option<&Value>) {
        match item {
            Some(item) => self.value(item),
            None => {
                self.maybe_split();
                self.push(CONST_SKIP, P_CONST);
                self.skips += 1;
            }
        }
    }
}

pub fn int_of(value: &Value) -> Option<i128> {
    let Value::Integer(n) = value else { return None };
    n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from))
}

/// A value that JavaScript has as a number.
pub fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::F32(x) => Some(f64::from(*x)),
        Value::F64(x) => Some(*x),
        _ => int_of(value).filter(|n| n.abs() <= MAX_SAFE).map(|n| n as f64),
    }
}

/// The value as its shortest form says it: integers of the safe range as such, the rest as floats.
pub fn shortest(value: &Value, float32: bool) -> Value {
    let again = |value: &Value| shortest(value, float32);
    match value {
        Value::F32(_) | Value::F64(_) => {
            let x = number_of(value).unwrap();
            let is_int = x.fract() == 0.0 && x.abs() <= MAX_SAFE as f64;
            if is_int && (x != 0.0 || x.is_sign_positive()) {
                Value::from(x as i64)
            } else if float32 && (x.is_nan() || f64::from(x as f32) == x) {
                Value::F32(if x.is_nan() { f32::NAN } else { x as f32 })
            } else {
                Value::F64(if x.is_nan() { f64::NAN } else { x })
            }
        }
        Value::Ext(-1, data) => {
            let (seconds, nanoseconds) = timestamp(data).unwrap();
            let data = if nanoseconds == 0 && (0..1 << 32).contains(&seconds) {
                (seconds as u32).to_be_bytes().to_vec()
            } else if (0..1 << 34).contains(&seconds) {
                (u64::from(nanoseconds) << 34 | seconds as u64).to_be_bytes().to_vec()
            } else {
                [&nanoseconds.to_be_bytes()[..], &seconds.to_be_bytes()].concat()
            };
            Value::Ext(-1, data)
        }
        Value::Array(items) => Value::Array(items.iter().map(again).collect()),
        Value::Map(pairs) => {
            Value::Map(pairs.iter().map(|(key, item)| (again(key), again(item))).collect())
        }
        other => other.clone(),
    }
}

pub fn has_wide_bigints(value: &Value) -> bool {
    match value {
        Value::Integer(n) => n.as_i64().is_some_and(|n| i128::from(n) > MAX_SAFE),
        Value::Array(items) => items.iter().any(has_wide_bigints),
        Value::Map(pairs) => pairs.iter().any(|(k, v)| has_wide_bigints(k) || has_wide_bigints(v)),
        _ => false,
    }
}

pub struct Packer {
    encoder: Encoder,
    pub options: i32,
    pub max_depth: usize,
    shapes: Shapes,
    shape_ids: HashMap<Vec<String>, u32>,
}

pub struct Packed {
    pub bytes: Vec<u8>,
    pub skips: usize,
}

impl Packer {
    pub fn new() -> Packer {
        let (encoder, shapes) = (Encoder::default(), Shapes::default());
        Packer { encoder, options: 0, max_depth: 1000, shapes, shape_ids: HashMap::new() }
    }

    pub fn pack(&mut self, value: &Value, choices: &[u8]) -> Result<Packed, Fault> {
        let mut writer = Writer {
            choices: Choices { drawn: choices.to_vec(), at: 0 },
            pieces: Vec::new(),
            piece: Piece::default(),
            held: Held::default(),
            refs: 0,
            shapes: &mut self.shapes,
            shape_ids: &mut self.shape_ids,
            skips: 0,
        };
        writer.value(value);
        let Writer { mut pieces, piece, mut held, skips, choices, .. } = writer;
        pieces.push(piece);
        let mut slab = vec![0xaa; usize::from(choices.drawn[0])];
        let encoder = &mut self.encoder;
        encoder.start(self.options, self.max_depth, 1);
        // SAFETY: the slab outlives the message.
        unsafe { encoder.out.start(slab.as_mut_ptr(), slab.len()) };
        for (i, mut piece) in pieces.into_iter().enumerate() {
            assert!(!encoder.done() || piece.words.is_empty());
            let ascii = piece.rope.iter().all(|&unit| unit < 0x80);
            let narrow: Vec<u8>;
            // What lies behind the text is not ASCII, and no part of it.
            piece.rope.extend([0xd83d; TEXT_PADDING]);
            let units = if ascii && i % 3 > 0 {
                narrow = piece.rope.iter().map(|&unit| unit as u8).collect();
                Units::Ascii(&narrow)
            } else {
                Units::Utf16(&piece.rope)
            };
            encoder.run(&piece.words, &self.shapes, &mut Text::new(units), &mut held)?;
        }
        assert!(encoder.done());
        let mut bytes = encoder.out.written().to_vec();
        for splice in encoder.out.splices.iter().rev() {
            let large = &held.bytes[&splice.reference];
            assert_eq!(large.len(), splice.len);
            bytes.splice(splice.at..splice.at, large.iter().copied());
        }
        assert_eq!(bytes.len(), encoder.out.result_len());
        encoder.out.trim();
        Ok(Packed { bytes, skips })
    }
}

pub fn check_packed(value: &Value, packed: &[u8], float32: bool) {
    let wanted = shortest(value, float32);
    let bytes = encode(&wanted);
    assert_eq!(packed.len(), bytes.len(), "not the shortest forms");
    let mut rest = packed;
    let read = read_value(&mut rest).unwrap();
    assert!(rest.is_empty());
    // NaN is never equal to itself; its bytes are.
    if has_wide_bigints(&wanted) {
        assert_eq!(encode(&read), bytes);
    } else {
        assert_eq!(packed, bytes);
    }
}
