//! Both halves against `rmpv`, an independent implementation: what it encodes the parser reads to
//! the same value, what the encoder writes it decodes to the same value. The reader and the writer
//! of tapes below do what `build.js` and `walk.js` do.

use std::collections::HashMap;

use msgpack_rs::pack::encode::{Encoder, Refs};
use msgpack_rs::pack::out::Out;
use msgpack_rs::pack::shapes::Shapes;
use msgpack_rs::pack::text::{TEXT_PADDING, Text, Units};
use msgpack_rs::tape::*;
use msgpack_rs::unpack::parse::{Int64, Options, Parser, Stop, Utf8};
use msgpack_rs::unpack::text::TextSink;
use proptest::prelude::*;
use rmpv::Value;

const MAX_SAFE: i128 = (1 << 53) - 1;

// ---------------------------------------------------------------------------------------------
// Values as JavaScript would see them.

/// What a message says, without what JavaScript cannot tell apart: 1 and 1.0, one NaN and another.
#[derive(Clone, Debug, PartialEq)]
enum Js {
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

fn number(number: f64) -> Js {
    Js::Number(if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() })
}

/// How the value that `rmpv` read comes out with these options; `None` where it is an error.
fn expected(value: &Value, options: &Options) -> Option<Js> {
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
                if ms.abs() > 8_640_000_000_000_000 {
                    return None;
                }
                Js::Date(ms as i64)
            }
        }
        Value::Ext(ext_type, data) => Js::Ext(*ext_type, data.clone()),
    })
}

fn timestamp(data: &[u8]) -> Option<(i64, u32)> {
    let big = |bytes: &[u8]| bytes.iter().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
    let (seconds, nanoseconds) = match data.len() {
        4 => (big(data) as i64, 0),
        8 => ((big(data) % (1 << 34)) as i64, big(data) >> 34),
        12 => (big(&data[4..]) as i64, big(&data[..4])),
        _ => return None,
    };
    (nanoseconds < 1_000_000_000).then_some((seconds, nanoseconds as u32))
}

// ---------------------------------------------------------------------------------------------
// Tape → value, as build.js does it.

#[derive(Default)]
struct Collected(Vec<Option<Vec<u16>>>);

impl TextSink for Collected {
    fn take_number(&mut self) -> u32 {
        self.0.push(None);
        self.0.len() as u32 - 1
    }

    fn latin1(&mut self, number: u32, text: &[u8]) -> Result<(), Fault> {
        assert!(text.is_ascii());
        self.put(number, text.iter().map(|&byte| u16::from(byte)).collect());
        Ok(())
    }

    fn utf16(&mut self, number: u32, text: &[u16]) -> Result<(), Fault> {
        self.put(number, text.to_vec());
        Ok(())
    }
}

impl Collected {
    fn put(&mut self, number: u32, text: Vec<u16>) {
        assert!(!text.is_empty(), "a text that no string needs");
        assert!(self.0[number as usize].replace(text).is_none(), "a text twice");
    }
}

/// A parser and what JavaScript keeps for it from one message to the next.
struct Codec {
    parser: Parser,
    tape: Vec<i32>,
    known: Vec<String>,
    known_keys: Vec<String>,
    generation: i32,
    shapes: HashMap<u32, Vec<String>>,
    /// How often the tape was too short, and parts that were handed over.
    grown: usize,
    parts: usize,
    /// Words of each kind that the last messages had.
    seen: [usize; 16],
    keys_seen: [usize; 16],
    fallbacks: usize,
}

/// The root, or what went wrong; and where it ended.
type Outcome = Result<(Js, usize), Fault>;

impl Codec {
    fn new(words: usize) -> Codec {
        Codec {
            parser: Parser::default(),
            tape: vec![0; words.max(HEADER_WORDS as usize + 1)],
            known: Vec::new(),
            known_keys: Vec::new(),
            generation: 0,
            shapes: HashMap::new(),
            grown: 0,
            parts: 0,
            seen: [0; 16],
            keys_seen: [0; 16],
            fallbacks: 0,
        }
    }

    /// One call of `parse`, with a longer tape for as long as it asks for one.
    fn part(
        &mut self,
        input: &[u8],
        start: usize,
        left: usize,
        options: Options,
    ) -> Result<(Collected, usize, usize), Fault> {
        loop {
            let mut texts = Collected::default();
            // What a tape holds from before is no one's business.
            self.tape.fill(-1);
            match self.parser.parse(input, start, left, &mut self.tape, options, &mut texts) {
                Ok(end) => return Ok((texts, end.pos, end.left)),
                Err(Stop::Fault(fault)) => {
                    assert!(fault.offset <= input.len(), "a fault behind the input");
                    return Err(fault);
                }
                Err(Stop::Grow(words)) => {
                    assert!(words > self.tape.len(), "no growth");
                    assert!(words <= 3 * input.len() + 4096 + self.tape.len(), "too much growth");
                    self.grown += 1;
                    self.tape.resize(words, 0);
                }
            }
        }
    }

    /// A whole message from `start`, in parts where the parser says so.
    fn unpack_from(&mut self, input: &[u8], start: usize, options: Options) -> Outcome {
        let (texts, mut end, mut left) = self.part(input, start, 0, options)?;
        let mut root = self.build(input, texts, options);
        if options.mode == MODE_ALL || left > 0 {
            let mut mode = options.mode;
            if mode != MODE_ALL {
                mode = if mode == MODE_ONE { MODE_REST_OF_ONE } else { MODE_REST_OF_FROM };
            }
            while left > 0 {
                let part_left = if mode == MODE_ALL { 0 } else { left };
                let (texts, part_end, then_left) =
                    self.part(input, end, part_left, Options { mode, ..options })?;
                self.parts += 1;
                let (Js::List(items), Js::List(more)) =
                    (&mut root, self.build(input, texts, options))
                else {
                    panic!("a part that is no list");
                };
                assert!(!more.is_empty(), "an empty part");
                assert!(part_end > end, "a part of no bytes");
                if mode != MODE_ALL {
                    assert_eq!(then_left + more.len(), left, "elements left");
                }
                items.extend(more);
                (end, left) = (part_end, then_left);
            }
        }
        Ok((root, end))
    }

    fn unpack(&mut self, input: &[u8], options: Options) -> Result<Js, Fault> {
        self.unpack_from(input, 0, options).map(|(value, end)| {
            assert_eq!(end, input.len());
            value
        })
    }

    fn build(&mut self, input: &[u8], texts: Collected, options: Options) -> Js {
        if self.parser.trie.generation != self.generation {
            self.generation = self.parser.trie.generation;
            self.shapes.clear();
        }
        let texts = texts.0.into_iter().map(|text| text.expect("a text never came")).collect();
        let tape = std::mem::take(&mut self.tape);
        let mut reader = Reader {
            codec: self,
            tape: &tape,
            input,
            texts,
            next_text: 0,
            narrow: 0,
            wide: 0,
            map_keys: options.map_keys,
        };
        let root = reader.value(tape[ROOT as usize]);
        assert_eq!(reader.next_text, reader.texts.len(), "texts left over");
        self.tape = tape;
        root
    }
}

struct Reader<'a> {
    codec: &'a mut Codec,
    tape: &'a [i32],
    input: &'a [u8],
    texts: Vec<Vec<u16>>,
    next_text: usize,
    narrow: usize,
    wide: usize,
    map_keys: bool,
}

fn string_of(units: &[u16]) -> String {
    String::from_utf16(units).expect("well-formed UTF-16")
}

fn tag_of(word: i32) -> i32 {
    word & ((1 << TAG_BITS) - 1)
}

fn payload_of(word: i32) -> usize {
    (word as u32 >> TAG_BITS) as usize
}

impl Reader<'_> {
    fn at(&self, index: usize) -> i32 {
        assert!(index >= HEADER_WORDS as usize, "a block inside the header");
        assert!(index < self.tape[USED as usize] as usize, "a block behind the words in use");
        self.tape[index]
    }

    fn bits(&self, index: usize) -> u64 {
        assert_eq!(index % 2, 0);
        u64::from(self.at(index) as u32) | u64::from(self.at(index + 1) as u32) << 32
    }

    fn open_text(&mut self) -> usize {
        self.next_text += 1;
        self.next_text - 1
    }

    fn cut(&self, text: usize, word: i32) -> String {
        let place = payload_of(word);
        let (offset, len) = (place >> STR_LENGTH_BITS, place & ((1 << STR_LENGTH_BITS) - 1));
        assert!(len > 0);
        string_of(&self.texts[text][offset..offset + len])
    }

    fn bytes(&self, low: usize, high: usize, len: usize) -> Vec<u8> {
        let start = self.at(low) as u32 as usize | (self.at(high) as u32 as usize) << 32;
        self.input[start..start + self.at(len) as u32 as usize].to_vec()
    }

    fn value(&mut self, word: i32) -> Js {
        let q = payload_of(word);
        self.codec.seen[tag_of(word) as usize] += 1;
        match tag_of(word) {
            U_INT => number(f64::from(word >> TAG_BITS)),
            U_STR => {
                if q >> STR_LENGTH_BITS == 0 {
                    self.narrow = self.open_text();
                }
                Js::Text(self.cut(self.narrow, word))
            }
            U_WIDE_STR => {
                if q >> STR_LENGTH_BITS == 0 {
                    self.wide = self.open_text();
                }
                Js::Text(self.cut(self.wide, word))
            }
            U_OBJECT => {
                let keys = self.shape(self.at(q) as u32);
                let entries = keys.into_iter().enumerate();
                Js::Map(entries.map(|(i, key)| self.entry(Js::Text(key), q + 1 + i)).collect())
            }
            U_ARRAY => {
                let n = self.at(q) as usize;
                Js::List((0..n).map(|i| self.value(self.at(q + 1 + i))).collect())
            }
            U_INTS => {
                let n = self.at(q) as usize;
                Js::List((0..n).map(|i| number(f64::from(self.at(q + 1 + i)))).collect())
            }
            U_NUMBERS => {
                assert_eq!(q % 2, 1);
                let n = self.at(q) as usize;
                let numbers = (0..n).map(|i| f64::from_bits(self.bits(q + 1 + 2 * i)));
                Js::List(numbers.map(number).collect())
            }
            U_NUMBER => number(f64::from_bits(self.bits(2 * q))),
            U_CONST => match q as i32 {
                CONST_NIL => Js::Nil,
                CONST_FALSE => Js::Bool(false),
                CONST_TRUE => Js::Bool(true),
                CONST_EMPTY_STR => Js::Text(String::new()),
                CONST_EMPTY_ARRAY => Js::List(Vec::new()),
                CONST_EMPTY_MAP => Js::Map(Vec::new()),
                other => panic!("constant {other}"),
            },
            U_LONG_STR => {
                let text = self.open_text();
                Js::Text(string_of(&self.texts[text]))
            }
            U_MAP => self.pairs(q),
            U_BIN => Js::Bin(self.bytes(q, q + 1, q + 2)),
            U_EXT => Js::Ext(self.at(q) as i8, self.bytes(q + 1, q + 2, q + 3)),
            U_DATE => Js::Date(f64::from_bits(self.bits(2 * q)) as i64),
            U_KNOWN_STR => Js::Text(self.codec.known[q].clone()),
            U_RARE => {
                let bits = self.bits(q);
                match self.at(q + 2) {
                    RARE_INT64 => Js::BigInt(i128::from(bits as i64)),
                    RARE_UINT64 => Js::BigInt(i128::from(bits)),
                    RARE_INT64_TEXT => Js::Text((bits as i64).to_string()),
                    RARE_UINT64_TEXT => Js::Text(bits.to_string()),
                    RARE_TIMESTAMP => Js::Timestamp(bits as i64, self.at(q + 3) as u32),
                    RARE_NEW_STR => {
                        let text = self.open_text();
                        let string = string_of(&self.texts[text]);
                        let id = self.at(q) as usize;
                        remember(&mut self.codec.known, id, &string);
                        Js::Text(string)
                    }
                    other => panic!("kind {other}"),
                }
            }
            _ => unreachable!(),
        }
    }

    fn entry(&mut self, key: Js, at: usize) -> (Js, Js) {
        (key, self.value(self.at(at)))
    }

    fn shape(&mut self, id: u32) -> Vec<String> {
        let Codec { parser, shapes, .. } = &mut *self.codec;
        let keys = || parser.trie.keys(id).expect("a shape").into_iter().map(String::from);
        shapes.entry(id).or_insert_with(|| keys().collect()).clone()
    }

    fn pairs(&mut self, q: usize) -> Js {
        let (prefix, total) = (self.at(q + 1) as usize, self.at(q + 2) as usize);
        let names = self.shape(self.at(q) as u32);
        assert_eq!(names.len(), prefix);
        let mut at = q + 3;
        let mut entries = Vec::with_capacity(total);
        for name in names {
            entries.push(self.entry(Js::Text(name), at));
            at += 1;
        }
        self.codec.fallbacks += usize::from(prefix > 0);
        for _ in prefix..total {
            let word = self.at(at);
            let key = if self.map_keys { self.value(word) } else { self.key(word) };
            entries.push(self.entry(key, at + 1));
            at += 2;
        }
        Js::Map(entries)
    }

    fn key(&mut self, word: i32) -> Js {
        let q = payload_of(word);
        self.codec.keys_seen[tag_of(word) as usize] += 1;
        match tag_of(word) {
            K_KNOWN => Js::Text(self.codec.known_keys[q].clone()),
            K_NEW => {
                let Js::Text(key) = self.value(self.at(q)) else { panic!("a key that is no text") };
                let id = self.at(q + 1) as usize;
                remember(&mut self.codec.known_keys, id, &key);
                Js::Text(key)
            }
            K_INHERITED => self.value(self.at(q)),
            _ => self.value(word),
        }
    }
}

fn remember(list: &mut Vec<String>, id: usize, string: &str) {
    if list.len() <= id {
        list.resize(id + 1, String::from("never given"));
    }
    list[id] = string.to_owned();
}

// ---------------------------------------------------------------------------------------------
// Values to try.

fn options() -> Options {
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

fn any_options() -> impl Strategy<Value = Options> {
    let int64 = [Int64::Auto, Int64::BigInt, Int64::Number, Int64::Text];
    let utf8 = [Utf8::Replace, Utf8::Fatal, Utf8::Raw];
    (prop::sample::select(int64.to_vec()), prop::sample::select(utf8.to_vec()), any::<bool>())
        .prop_map(|(int64, utf8, timestamps)| Options { int64, utf8, timestamps, ..options() })
        .boxed()
}

fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).unwrap();
    bytes
}

const WORDS: [&str; 24] = [
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

fn value() -> BoxedStrategy<Value> {
    value_with(string_key())
}

fn value_with_any_keys() -> BoxedStrategy<Value> {
    value_with(scalar())
}

fn value_with_object_keys() -> BoxedStrategy<Value> {
    value_with(prop_oneof![3 => string_key(), 1 => int(), 1 => float()].boxed())
}

/// So many cases each time, or as many as PROPTEST_CASES says.
fn cases(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    if given { config } else { ProptestConfig { cases, ..config } }
}

// ---------------------------------------------------------------------------------------------
// The parser.

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn reads_what_rmpv_writes(
        values in prop::collection::vec(value(), 1..6),
        options in any_options(),
        words in 17usize..400,
    ) {
        let mut codec = Codec::new(words);
        let messages: Vec<_> = values.iter().map(encode).collect();
        for _ in 0..4 {
            for (value, message) in values.iter().zip(&messages) {
                let wanted = expected(value, &options).unwrap();
                prop_assert_eq!(codec.unpack(message, options).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn reads_numbers_as_keys(
        values in prop::collection::vec(value_with_object_keys(), 1..4),
        options in any_options(),
    ) {
        let mut codec = Codec::new(64);
        for _ in 0..3 {
            for value in &values {
                let wanted = expected(value, &options).unwrap();
                prop_assert_eq!(codec.unpack(&encode(value), options).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn reads_any_keys_as_maps(
        values in prop::collection::vec(value_with_any_keys(), 1..4),
        options in any_options(),
    ) {
        let options = Options { map_keys: true, ..options };
        let mut codec = Codec::new(64);
        for _ in 0..3 {
            for value in &values {
                let wanted = expected(value, &options).unwrap();
                prop_assert_eq!(codec.unpack(&encode(value), options).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn object_mode_refuses_what_is_no_key(value in value_with_any_keys()) {
        let outcome = Codec::new(64).unpack(&encode(&value), options());
        match (expected(&value, &options()), outcome) {
            (Some(wanted), Ok(value)) => prop_assert_eq!(value, wanted),
            (None, Err(fault)) => prop_assert_eq!(fault.code, FAULT_KEY),
            (wanted, outcome) => prop_assert!(false, "{:?} but {:?}", wanted, outcome),
        }
    }

    #[test]
    fn every_prefix_is_truncated(
        value in prop_oneof![value(), value_with_object_keys()],
        options in any_options(),
        map_keys in any::<bool>(),
    ) {
        let options = Options { map_keys, ..options };
        let message = encode(&value);
        let mut codec = Codec::new(64);
        let step = message.len() / 300 + 1;
        for len in (0..message.len()).step_by(step) {
            for mode in [MODE_ONE, MODE_FROM] {
                let fault = codec.unpack(&message[..len], Options { mode, ..options }).unwrap_err();
                prop_assert_eq!(fault.code, FAULT_TRUNCATED);
            }
        }
        // What those taught is forgotten.
        prop_assert_eq!(
            codec.unpack(&message, options).unwrap(),
            expected(&value, &options).unwrap()
        );
    }

    #[test]
    fn a_series_and_where_each_ends(
        values in prop::collection::vec(value(), 0..12),
        words in 17usize..400,
    ) {
        let mut codec = Codec::new(words);
        let series: Vec<u8> = values.iter().flat_map(encode).collect();
        let wanted: Vec<_> = values.iter().map(|v| expected(v, &options()).unwrap()).collect();
        for _ in 0..3 {
            let all = Options { mode: MODE_ALL, ..options() };
            prop_assert_eq!(codec.unpack(&series, all).unwrap(), Js::List(wanted.clone()));
            let mut at = 0;
            for (value, wanted) in values.iter().zip(&wanted) {
                let from = Options { mode: MODE_FROM, ..options() };
                let (read, end) = codec.unpack_from(&series, at, from).unwrap();
                prop_assert_eq!(&read, wanted);
                at += encode(value).len();
                prop_assert_eq!(end, at);
            }
        }
        if values.len() > 1 {
            let fault = codec.unpack(&series, options()).unwrap_err();
            prop_assert_eq!(fault, Fault::at(FAULT_EXTRA_BYTES, encode(&values[0]).len()));
        }
    }

    #[test]
    fn agrees_with_rmpv_on_damaged_messages(
        value in value(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        (options, map_keys) in (any_options(), any::<bool>()),
    ) {
        let mut message = encode(&value);
        for (at, byte) in damage {
            let at = at.index(message.len());
            message[at] = byte;
        }
        let int64 = Int64::Auto;
        same_as_rmpv(&mut Codec::new(64), &message, Options { int64, map_keys, ..options })?;
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn agrees_with_rmpv_on_random_bytes(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), 0x80u8..0xa4, 0xc0u8..0xe0, 0u8..8],
            0..80,
        ),
        (options, map_keys) in (any_options(), any::<bool>()),
    ) {
        let mut codec = Codec::new(17);
        let options = Options { int64: Int64::Auto, map_keys, ..options };
        same_as_rmpv(&mut codec, &bytes, options)?;
        // The same again, and as a series.
        same_as_rmpv(&mut codec, &bytes, options)?;
        if let Ok(ours) = codec.unpack(&bytes, Options { mode: MODE_ALL, ..options }) {
            let mut rest = &bytes[..];
            let mut theirs = Vec::new();
            while !rest.is_empty() {
                theirs.push(rmpv::decode::read_value(&mut rest).unwrap());
            }
            prop_assert_eq!(Some(ours), expected(&Value::Array(theirs), &options));
        }
    }
}

fn same_as_rmpv(codec: &mut Codec, bytes: &[u8], options: Options) -> Result<(), TestCaseError> {
    let mut rest = bytes;
    let theirs = rmpv::decode::read_value(&mut rest);
    let their_end = bytes.len() - rest.len();
    match codec.unpack_from(bytes, 0, Options { mode: MODE_FROM, ..options }) {
        Ok((ours, end)) => {
            prop_assert_eq!(Some(ours), expected(&theirs.unwrap(), &options));
            prop_assert_eq!(end, their_end);
        }
        Err(Fault { code, offset }) => {
            let byte = bytes.get(offset).copied();
            match code {
                FAULT_TRUNCATED => prop_assert!(theirs.is_err()),
                // rmpv takes this one for nil.
                FAULT_INVALID_BYTE => prop_assert_eq!(byte, Some(0xc1)),
                FAULT_TIMESTAMP => {
                    prop_assert!(matches!(byte, Some(0xc7..=0xc9 | 0xd4..=0xd8)));
                }
                FAULT_KEY => {
                    prop_assert!(!options.map_keys);
                    let no_key = matches!(byte, Some(0x80..=0x9f | 0xc0..=0xc9 | 0xd4..));
                    prop_assert!(no_key);
                }
                FAULT_INVALID_UTF8 => {
                    prop_assert_eq!(options.utf8, Utf8::Fatal);
                    prop_assert!(matches!(byte, Some(0xa0..=0xbf | 0xd9..=0xdb)));
                }
                _ => prop_assert!(false, "fault {} at {}", code, offset),
            }
            // A message that is in order for us too is refused by neither.
            if let Ok(theirs) = theirs
                && code != FAULT_INVALID_BYTE
            {
                prop_assert_eq!(expected(&theirs, &options), None);
            }
        }
    }
    Ok(())
}

/// A generator of its own for the large cases, where proptest would take long to draw and shrink.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) as usize) % n
    }
}

fn check(codec: &mut Codec, value: &Value, options: Options) {
    let message = encode(value);
    let wanted = expected(value, &options).unwrap();
    assert!(codec.unpack(&message, options).unwrap() == wanted, "another value");
}

#[test]
fn maps_of_more_keys_than_a_shape_has() {
    let mut random = Random(1);
    let mut codec = Codec::new(64);
    for n in [127, 128, 129, 130, 1000, 5000, 16_383, 16_384, 20_000] {
        let key = |i: usize| match i % 50 {
            0 => format!("\u{416}{i}"),
            1 => format!("a key that is too long to be known, number {i}"),
            2 => WORDS[i / 50 % WORDS.len()].to_owned(),
            _ => format!("{i}"),
        };
        let value = |i: usize| Value::from(WORDS[random.below(WORDS.len()) * i % WORDS.len()]);
        let map: Vec<_> = (0..n).map(|i| Value::from(key(i))).zip((0..n).map(value)).collect();
        let map = Value::Map(map);
        for _ in 0..3 {
            check(&mut codec, &map, options());
        }
        let list = Value::Array(vec![map.clone(), Value::from("behind"), map]);
        check(&mut codec, &list, options());
        check(&mut codec, &list, Options { map_keys: true, ..options() });
    }
    for tag in [K_KNOWN, K_NEW, K_INHERITED, U_STR, U_WIDE_STR] {
        assert!(codec.keys_seen[tag as usize] > 0, "no key with tag {tag}");
    }
}

#[test]
fn shapes_come_and_go_and_maps_fall_back_to_pairs() {
    let mut random = Random(2);
    let mut codec = Codec::new(64);
    for round in 0..1500 {
        let fresh = random.below(2) == 0;
        let keys = 1 + random.below(if fresh { 40 } else { 12 });
        let list = (0..1 + random.below(4)).map(|_| {
            let key = |i: usize| match (fresh, random.below(40)) {
                (true, _) => Value::from(format!("key {round} {i}")),
                (false, 0) => Value::from(random.below(100_000)),
                (false, 1) => Value::from("x".repeat(random.below(400))),
                (false, 2) => Value::from(format!("another {}", random.below(1000))),
                _ => Value::from(WORDS[i]),
            };
            let keys: Vec<_> = (0..keys).map(key).collect();
            let mut item = || match random.below(4) {
                0 => Value::from(WORDS[random.below(WORDS.len())]),
                1 => Value::Map(vec![(Value::from("in"), Value::from(WORDS[1]))]),
                2 => Value::Map(vec![(Value::from(random.below(9)), Value::from("\u{416}"))]),
                _ => Value::from(random.below(1 << 30)),
            };
            Value::Map(keys.into_iter().map(|key| (key, item())).collect())
        });
        let list = Value::Array(list.collect());
        check(&mut codec, &list, options());
        check(&mut codec, &list, options());
    }
    assert!(codec.parser.trie.generation > 1, "the trie was never full");
    assert!(codec.fallbacks > 100);
    assert!(codec.seen[U_OBJECT as usize] > 1000);
}

#[test]
fn known_strings_are_the_ones_they_were() {
    let mut random = Random(3);
    let mut codec = Codec::new(64);
    for round in 0..400 {
        let range = if round % 40 < 30 { 300 } else { 30_000 };
        let text = |i: usize| match i % 7 {
            0 => format!("{i}"),
            1 => format!("{i:026}"),
            2 => format!("{i:027}"),
            3 => format!("{i:028}"),
            4 => format!("\u{e9}{i}"),
            5 => format!("{i:08}"),
            _ => WORDS[i % WORDS.len()].to_owned(),
        };
        let list: Vec<_> = (0..400).map(|_| Value::from(text(random.below(range)))).collect();
        let message = encode(&Value::Array(list.clone()));
        if round % 3 == 0 {
            let cut = random.below(message.len());
            assert_eq!(codec.unpack(&message[..cut], options()).unwrap_err().code, FAULT_TRUNCATED);
            if round % 2 == 0 {
                // As when JavaScript fails to build what was parsed.
                let _ = codec.part(&message, 0, 0, options()).unwrap();
                codec.parser.forget();
            }
        }
        let value = Value::Array(list);
        check(&mut codec, &value, options());
    }
    assert!(codec.seen[U_KNOWN_STR as usize] > 10_000);
}

fn record(i: usize, random: &mut Random) -> Value {
    Value::Map(vec![
        (Value::from("id"), Value::from(i)),
        (Value::from("name"), Value::from(WORDS[random.below(WORDS.len())])),
        (Value::from("score"), Value::F64(i as f64 / 8.0)),
    ])
}

#[test]
fn long_arrays_come_in_parts() {
    let mut random = Random(4);
    let any = |i: usize, random: &mut Random| match random.below(9) {
        0 => Value::Nil,
        1 => Value::from(WORDS[random.below(WORDS.len())]),
        2 => Value::Array(vec![Value::from(i); random.below(30)]),
        3 => Value::from(u64::MAX),
        4 => Value::Binary(vec![7; random.below(40)]),
        5 => Value::Ext(5, vec![8; random.below(40)]),
        6 => Value::from("long \u{416} ".repeat(random.below(300))),
        7 => Value::Map((0..random.below(200)).map(|k| (Value::from(k), Value::Nil)).collect()),
        _ => record(i, random),
    };
    let nil = |_: usize, _: &mut Random| Value::Nil;
    type Make = dyn Fn(usize, &mut Random) -> Value;
    let makes: [(&Make, usize); 3] = [(&record, 3000), (&any, 3000), (&nil, 70_000)];
    let mut codec = Codec::new(64);
    for n in [255, 256, 257, 3000, 70_000] {
        for (make, most) in makes {
            if n > most {
                continue;
            }
            let items: Vec<_> = (0..n).map(|i| make(i, &mut random)).collect();
            let message = encode(&Value::Array(items.clone()));
            let wanted = expected(&Value::Array(items), &options()).unwrap();
            codec.parts = 0;
            assert!(codec.unpack(&message, options()).unwrap() == wanted);
            assert!(n < 3000 || n < most || codec.parts > 0);
            // The same elements as a series.
            let all = Options { mode: MODE_ALL, ..options() };
            let header = if n < 65_536 { 3 } else { 5 };
            assert!(codec.unpack(&message[header..], all).unwrap() == wanted);
            // In the middle of other bytes.
            let mut within = b"\xc1\xc1".to_vec();
            within.extend(&message);
            within.extend(b"\xc1");
            let from = Options { mode: MODE_FROM, ..options() };
            let (value, end) = codec.unpack_from(&within, 2, from).unwrap();
            assert!(value == wanted);
            assert_eq!(end, within.len() - 1);
            let one = codec.unpack_from(&within, 2, options()).unwrap_err();
            assert_eq!(one, Fault::at(FAULT_EXTRA_BYTES, within.len() - 1));
            for _ in 0..30 {
                let cut = random.below(message.len());
                let fault = codec.unpack(&message[..cut], options()).unwrap_err();
                assert_eq!(fault.code, FAULT_TRUNCATED);
            }
            assert!(codec.unpack(&message, options()).unwrap() == wanted);
        }
    }
}

#[test]
fn many_blocks_of_text_in_one_message() {
    let mut random = Random(8);
    let mut codec = Codec::new(64);
    for units in [&["x", "yz"][..], &["\u{416}", "\u{6f22}x"], &["x", "\u{e9}", "\u{1f426}"]] {
        let text = |i: usize, random: &mut Random| {
            let long = if random.below(100) == 0 { 1500 } else { 90 };
            let unit = units[random.below(units.len())];
            Value::from(format!("{i} {}", unit.repeat(random.below(long))))
        };
        let list: Vec<_> = (0..5000).map(|i| text(i, &mut random)).collect();
        let keys: Vec<_> = (5000..9000).map(|i| text(i, &mut random)).collect();
        let map = Value::Map(keys.into_iter().zip(list.iter().cloned()).collect());
        // Neither is a root array, which would come in parts.
        check(&mut codec, &Value::Map(vec![(Value::from("list"), Value::Array(list))]), options());
        check(&mut codec, &map, options());
    }
}

#[test]
fn depth_is_the_same_however_a_message_is_handed_over() {
    let nest = |depth: usize, n: usize| {
        let inner = (1..depth).fold(Value::Nil, |value, _| Value::Array(vec![value]));
        let mut items = vec![Value::Nil; n];
        items[n - 1] = inner;
        encode(&Value::Array(items))
    };
    for n in [1, 255, 256, 20_000] {
        for depth in 1..6 {
            for mode in [MODE_ONE, MODE_FROM, MODE_ALL] {
                let message = nest(depth, n);
                let mut codec = Codec::new(64);
                let enough = Options { max_depth: depth, mode, ..options() };
                assert!(codec.unpack(&message, enough).is_ok());
                let fault =
                    codec.unpack(&message, Options { max_depth: depth - 1, ..enough }).unwrap_err();
                let at = if depth == 1 { 0 } else { message.len() - 2 };
                assert_eq!(fault, Fault::at(FAULT_DEPTH, at), "{n} {depth} {mode}");
            }
        }
    }
}

#[test]
fn a_large_claim_costs_nothing() {
    for claim in
        [&b"\xdd\xff\xff\xff\xff\x01"[..], b"\xdf\xff\xff\xff\xff\xa1a", b"\xdc\xff\xff\xc0"]
    {
        for depth in 0..20 {
            let message = [&[0x91].repeat(depth)[..], claim, &[0xdc, 0, 9].repeat(9)].concat();
            let mut codec = Codec::new(64);
            for mode in [MODE_ONE, MODE_FROM, MODE_ALL] {
                let fault = codec.unpack(&message, Options { mode, ..options() }).unwrap_err();
                assert_eq!(fault.code, FAULT_TRUNCATED);
            }
            assert!(codec.tape.len() < 1024);
        }
    }
}

// ---------------------------------------------------------------------------------------------
// Value → tape, as walk.js does it, in pieces.

/// Decisions of the writer, drawn by proptest and used in turn.
struct Choices {
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
struct Piece {
    words: Vec<i32>,
    rope: Vec<u16>,
}

#[derive(Default)]
struct Held {
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

struct Writer<'a> {
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
                if nanoseconds % 1_000_000 == 0 && self.choices.one_in(2) {
                    self.push(0, P_DATE);
                    let ms = seconds * 1000 + i64::from(nanoseconds / 1_000_000);
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

fn int_of(value: &Value) -> Option<i128> {
    let Value::Integer(n) = value else { return None };
    n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from))
}

/// A value that JavaScript has as a number.
fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::F32(x) => Some(f64::from(*x)),
        Value::F64(x) => Some(*x),
        _ => int_of(value).filter(|n| n.abs() <= MAX_SAFE).map(|n| n as f64),
    }
}

/// The value as its shortest form says it: integers of the safe range as such, the rest as floats.
fn shortest(value: &Value, float32: bool) -> Value {
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

fn has_wide_bigints(value: &Value) -> bool {
    match value {
        Value::Integer(n) => n.as_i64().is_some_and(|n| i128::from(n) > MAX_SAFE),
        Value::Array(items) => items.iter().any(has_wide_bigints),
        Value::Map(pairs) => pairs.iter().any(|(k, v)| has_wide_bigints(k) || has_wide_bigints(v)),
        _ => false,
    }
}

struct Packer {
    encoder: Encoder,
    options: i32,
    max_depth: usize,
    shapes: Shapes,
    shape_ids: HashMap<Vec<String>, u32>,
}

struct Packed {
    bytes: Vec<u8>,
    skips: usize,
}

impl Packer {
    fn new() -> Packer {
        let (encoder, shapes) = (Encoder::default(), Shapes::default());
        Packer { encoder, options: 0, max_depth: 1000, shapes, shape_ids: HashMap::new() }
    }

    fn pack(&mut self, value: &Value, choices: &[u8]) -> Result<Packed, Fault> {
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

fn check_packed(value: &Value, packed: &[u8], float32: bool) {
    let wanted = shortest(value, float32);
    let bytes = encode(&wanted);
    assert_eq!(packed.len(), bytes.len(), "not the shortest forms");
    let mut rest = packed;
    let read = rmpv::decode::read_value(&mut rest).unwrap();
    assert!(rest.is_empty());
    // NaN is never equal to itself; its bytes are.
    if has_wide_bigints(&wanted) {
        assert_eq!(encode(&read), bytes);
    } else {
        assert_eq!(packed, bytes);
    }
}

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn rmpv_reads_what_the_encoder_writes(
        values in prop::collection::vec(
            prop_oneof![value(), value_with_any_keys()],
            1..5,
        ),
        choices in prop::collection::vec(any::<u8>(), 1..64),
        float32 in any::<bool>(),
    ) {
        let mut packer = Packer::new();
        packer.options = if float32 { FLOAT32_LOSSLESS } else { 0 };
        for value in values.iter().chain(&values) {
            let packed = packer.pack(value, &choices).unwrap();
            check_packed(value, &packed.bytes, float32);
        }
    }

    #[test]
    fn what_the_encoder_writes_the_parser_reads(
        values in prop::collection::vec(value(), 1..4),
        choices in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let (mut packer, mut codec) = (Packer::new(), Codec::new(64));
        for value in values.iter().chain(&values) {
            let packed = packer.pack(value, &choices).unwrap();
            let wanted = expected(value, &options()).unwrap();
            prop_assert_eq!(codec.unpack(&packed.bytes, options()).unwrap(), wanted);
        }
    }
}

#[test]
fn headers_are_corrected_at_every_width() {
    let mut random = Random(5);
    let mut packer = Packer::new();
    let mut skips = 0;
    for n in [0, 1, 14, 15, 16, 17, 30, 31, 32, 255, 256, 65_520, 65_535, 65_536, 65_540] {
        for _ in 0..if n > 1000 { 2 } else { 40 } {
            let choices: Vec<u8> = (0..40).map(|_| random.below(256) as u8).collect();
            let item = |i: usize| match i % 3 {
                0 => Value::Nil,
                1 => Value::from(i),
                _ => Value::from("text"),
            };
            let map: Vec<_> = (0..n).map(|i| (Value::from(format!("{i}")), item(i))).collect();
            let map = Value::Map(map);
            let large = Value::Binary(vec![3; (32 << 10) + random.below(3) - 1]);
            let list = Value::Array(vec![
                large.clone(),
                Value::Map(vec![(Value::from("first"), large.clone()), (Value::from("m"), map)]),
                Value::from("behind"),
                Value::Ext(4, vec![1; 32 << 10]),
            ]);
            let packed = packer.pack(&list, &choices).unwrap();
            skips += packed.skips;
            check_packed(&list, &packed.bytes, false);
        }
    }
    assert!(skips > 10_000);
}

#[test]
fn text_of_every_width_at_every_edge() {
    let mut packer = Packer::new();
    let mut random = Random(6);
    for unit in ["a", "\u{e9}", "\u{6f22}", "\u{1f426}"] {
        for bytes in [0, 1, 15, 16, 31, 32, 33, 64, 255, 256, 257, 1023, 1024, 3000, 65_536] {
            for more in 0..3 {
                let text = unit.repeat(bytes / unit.len() + more);
                let list = Value::Array(vec![Value::from(text.as_str()), Value::from("z"), {
                    Value::Map(vec![(Value::from(text.as_str()), Value::from(text.as_str()))])
                }]);
                let choices: Vec<u8> = (0..40).map(|_| random.below(256) as u8).collect();
                let packed = packer.pack(&list, &choices).unwrap();
                check_packed(&list, &packed.bytes, false);
            }
        }
    }
}

#[test]
fn lone_surrogates_are_replaced_and_never_fuse() {
    let strings: [&[u16]; 7] = [
        &[0xd83d],
        &[0xdc26],
        &[0x61, 0xd83d],
        &[0xdc26, 0x62],
        &[0xd83d, 0xd83d, 0xdc26],
        &[0xdc26, 0xd83d],
        &[0xd83d; 100],
    ];
    let mut words = vec![(strings.len() as i32) << TAG_BITS | P_ARRAY];
    let mut rope = Vec::new();
    for string in strings {
        words.push((string.len() as i32) << TAG_BITS | P_STR);
        rope.extend(string);
    }
    rope.extend([0xdc26; TEXT_PADDING]);
    let mut encoder = Encoder::default();
    encoder.start(0, 1000, 1);
    let mut text = Text::new(Units::Utf16(&rope));
    encoder.run(&words, &Shapes::default(), &mut text, &mut Held::default()).unwrap();
    let read = rmpv::decode::read_value(&mut encoder.out.written()).unwrap();
    let wanted = strings.iter().map(|units| Value::from(String::from_utf16_lossy(units)));
    assert_eq!(read, Value::Array(wanted.collect()));
}

#[test]
fn packing_and_unpacking_are_as_deep() {
    let kinds: [fn(Value) -> Value; 3] = [
        |value| Value::Array(vec![value]),
        |value| Value::Map(vec![(Value::from("a"), value)]),
        |value| Value::Array(vec![Value::from("b"), value, Value::Map(Vec::new())]),
    ];
    for bottom in [Value::Nil, Value::Array(Vec::new()), Value::Array(vec![Value::from(1); 3])] {
        for kind in kinds {
            for depth in 0..8 {
                let value = (0..depth).fold(bottom.clone(), |value, _| kind(value));
                for max_depth in 0..10 {
                    for choice in 0..9 {
                        let mut packer = Packer::new();
                        packer.max_depth = max_depth;
                        let packed = packer.pack(&value, &[choice, 1, 5]);
                        let unpacked = Codec::new(64)
                            .unpack(&encode(&value), Options { max_depth, ..options() });
                        assert_eq!(packed.is_ok(), unpacked.is_ok(), "{value} {max_depth}");
                        assert!(packed.err().is_none_or(|fault| fault.code == FAULT_DEPTH));
                    }
                }
            }
        }
    }
}

#[test]
fn a_tape_that_makes_no_sense_is_a_fault_and_no_panic() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let mut encoder = Encoder::default();
        encoder.start(0, 1000, 1);
        let mut shapes = Shapes::default();
        shapes.define(["a", "b"].into_iter());
        shapes.define([].into_iter());
        let words: Vec<i32> = (0..random.below(12))
            .map(|_| {
                let payload = [0, 1, 2, 3, 7, -1, 40][random.below(7)];
                // Buffers and long strings are looked up by the caller.
                let tag = [P_INT, P_STR, P_SHAPE, P_ARRAY, P_NUMBER, P_CONST, P_INTS, P_NUMBERS]
                    .into_iter()
                    .chain([P_MAP, P_DATE, P_BIGINT, P_TIMESTAMP, 15])
                    .nth(random.below(13));
                payload << TAG_BITS | tag.unwrap()
            })
            .collect();
        // A count below zero would be a count of billions.
        let words: Vec<i32> = words
            .into_iter()
            .filter(|&word| word >= 0 || !matches!(tag_of(word), P_ARRAY | P_MAP))
            .collect();
        let rope = [0x61; 8 + TEXT_PADDING];
        let mut text = Text::new(Units::Ascii(&rope));
        match encoder.run(&words, &shapes, &mut text, &mut Held::default()) {
            Ok(()) if encoder.done() => {
                rmpv::decode::read_value(&mut encoder.out.written()).unwrap();
            }
            Ok(()) => {}
            Err(fault) => assert_eq!(fault.code, FAULT_INTERNAL),
        }
    }
}
