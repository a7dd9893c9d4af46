//! Tape → value, as build.js does it.

use std::collections::HashMap;

use msgpack_rs::tape::*;
use msgpack_rs::unpack::parse::{Options, Parser, Stop};
use msgpack_rs::unpack::text::TextSink;

use super::{Js, number};

#[derive(Default)]
pub struct Collected(Vec<Option<Vec<u16>>>);

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
pub struct Codec {
    pub parser: Parser,
    pub tape: Vec<i32>,
    known: Vec<String>,
    known_keys: Vec<String>,
    generation: i32,
    shapes: HashMap<u32, Vec<String>>,
    /// How often the tape was too short, and parts that were handed over.
    pub grown: usize,
    pub parts: usize,
    /// Words of each kind that the last messages had.
    pub seen: [usize; 16],
    pub keys_seen: [usize; 16],
    pub fallbacks: usize,
}

/// The root, or what went wrong; and where it ended.
pub type Outcome = Result<(Js, usize), Fault>;

impl Codec {
    pub fn new(words: usize) -> Codec {
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
    pub fn part(
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
                    assert!(words <= 4 * input.len() + 4096 + self.tape.len(), "too much growth");
                    self.grown += 1;
                    self.tape.resize(words, 0);
                }
            }
        }
    }

    /// A whole message from `start`, in parts where the parser says so.
    pub fn unpack_from(&mut self, input: &[u8], start: usize, options: Options) -> Outcome {
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

    pub fn unpack(&mut self, input: &[u8], options: Options) -> Result<Js, Fault> {
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

pub struct Reader<'a> {
    codec: &'a mut Codec,
    pub tape: &'a [i32],
    input: &'a [u8],
    texts: Vec<Vec<u16>>,
    next_text: usize,
    narrow: usize,
    wide: usize,
    map_keys: bool,
}

pub fn string_of(units: &[u16]) -> String {
    String::from_utf16(units).expect("well-formed UTF-16")
}

pub fn tag_of(word: i32) -> i32 {
    word & ((1 << TAG_BITS) - 1)
}

pub fn payload_of(word: i32) -> usize {
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

pub fn remember(list: &mut Vec<String>, id: usize, string: &str) {
    if list.len() <= id {
        list.resize(id + 1, String::from("never given"));
    }
    list[id] = string.to_owned();
}
