//! JSON text → MessagePack, value by value as it is read.
//!
//! How many elements a container has is known at its end only, and whether a key comes again. Until
//! then a container has a header of one byte; what turns out to be otherwise is made so when the
//! message is copied to where it is wanted.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use data_encoding::{BASE64, Encoding, HEXLOWER_PERMISSIVE};
use memchr::{memchr, memchr_iter, memchr2, memrchr};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::from_json_lane::{FastLane, Frame, Keys};
use super::json_text::Binary;
use super::values;
use crate::memory;
use crate::pack::out::Out;
use crate::pack::put::{put_array_header, put_ext_header, put_int, put_number, put_unsigned};
use crate::pack::text::put_str_header;
use crate::tape::{FAULT_DEPTH, FAULT_INVALID_UTF8, FAULT_JSON, FAULT_TOO_LARGE, Fault};
use crate::token::{Token, token};
use crate::wire::{self, UNSIGNED_FORMS};

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub max_depth: usize,
    /// Any number of values, with or without white space between.
    pub multiple: bool,
    /// How the data of `{"$ext":…,"data":…}` are written, if that is to be an ext again.
    pub exts: Option<Binary>,
    /// Ill-formed UTF-8 is a fault, not U+FFFD.
    pub fatal_utf8: bool,
}

/// What is wrong with a text, and where: `offset` in bytes from 0, the others from 1.
#[derive(Debug)]
pub struct JsonFault {
    pub fault: Fault,
    pub message: String,
    pub line: usize,
    /// In UTF-16 units.
    pub column: usize,
}

/// Bytes of what was read that are others in the message.
#[derive(Clone)]
struct Edit {
    at: usize,
    len: usize,
    with: With,
}

#[derive(Clone)]
enum With {
    /// A header that takes more than the one byte it had.
    Header { n: u32, is_map: bool },
    /// A value that was read later, for the same key.
    Value(Range<usize>),
    /// That pair where it was read.
    Nothing,
}

/// More than a MessagePack length can say.
#[derive(Debug)]
pub struct TooLong;

/// Stacks and tables that took more than this are given back after the message that needed them.
const KEEP_BYTES: usize = 1 << 20;
/// Room for any header or number.
pub const ROOM: usize = 16;
/// Stack that one level of a text can take, and what is made when there is less.
const STACK_ROOM: usize = 64 << 10;
const STACK_STEP: usize = 1 << 20;

#[derive(Default)]
pub struct FromJson {
    pub out: Out,
    edits: Vec<Edit>,
    /// For the fast lane.
    pub frames: Vec<Frame>,
    pub keys: Keys,
    /// How much deeper a value may nest.
    depth_left: usize,
    pub exts: Option<Binary>,
    fault: Option<i32>,
    pub values: u64,
}

impl FromJson {
    /// Adds the message or messages of a whole text. After a fault those before it stay.
    pub fn read(&mut self, bytes: &[u8], options: Options) -> Result<(), JsonFault> {
        // All of the text at once: string by string it takes three times as long.
        let error = match simdutf8::compat::from_utf8(bytes) {
            Ok(text) => return self.read_text(text, options),
            Err(error) => error,
        };
        if !options.fatal_utf8 {
            let text = encoding_rs::UTF_8.decode_without_bom_handling(bytes).0;
            return self.read_text(&text, options).map_err(|mut fault| {
                fault.fault.offset = offset_before_decoding(bytes, fault.fault.offset);
                fault
            });
        }
        // Something before it may be wrong already. No value goes on behind a U+FFFD.
        let valid = &bytes[..error.valid_up_to()];
        let mut text = String::from_utf8_lossy(valid).into_owned();
        text.push(char::REPLACEMENT_CHARACTER);
        match self.read_text(&text, options) {
            Err(fault) if fault.fault.offset < valid.len() => Err(fault),
            _ => {
                let fault = Fault::at(FAULT_INVALID_UTF8, valid.len());
                Err(JsonFault::new(valid, fault, "ill-formed UTF-8".to_owned()))
            }
        }
    }

    /// The same of a text that is well-formed.
    pub fn read_text(&mut self, text: &str, options: Options) -> Result<(), JsonFault> {
        let mark = self.mark();
        let first = self.read_as_it_is(text, options);
        let Err((fault, message)) = first else { return Ok(()) };
        match without_halves(text).filter(|_| fault.code == FAULT_JSON) {
            None => Err(JsonFault::new(text.as_bytes(), fault, message)),
            Some(text) => {
                self.reset(mark);
                self.read_as_it_is(&text, options)
                    .map_err(|(fault, message)| JsonFault::new(text.as_bytes(), fault, message))
            }
        }
    }

    fn read_as_it_is(&mut self, text: &str, options: Options) -> Result<(), (Fault, String)> {
        self.exts = options.exts;
        if !options.multiple {
            return self.one(text, 0, options.max_depth);
        }
        let mut scanner = values::Scanner::default();
        let mut from = 0;
        while let Some(end) = scanner.end(&text.as_bytes()[from..]) {
            self.one(&text[from..from + end], from, options.max_depth)?;
            from += end;
        }
        if scanner.is_open() { self.one(&text[from..], from, options.max_depth) } else { Ok(()) }
    }

    /// Adds the message of a text that is one value and stands at `offset`.
    fn one(&mut self, text: &str, offset: usize, max_depth: usize) -> Result<(), (Fault, String)> {
        let mark = self.mark();
        if FastLane::read(text, self, max_depth).is_ok() {
            self.values += 1;
            return Ok(());
        }
        self.reset(mark);
        self.depth_left = max_depth;
        self.fault = None;
        let mut json = serde_json::Deserializer::from_str(text);
        json.disable_recursion_limit();
        let read =
            AssertUnwindSafe(|| Value(self).deserialize(&mut json).and_then(|()| json.end()));
        let error = match catch_unwind(read) {
            Ok(read) => read.err().map(|error| error.to_string()),
            Err(panic) => match panic.downcast() {
                Ok(halt) => {
                    let Halt(error) = *halt;
                    Some(error)
                }
                Err(panic) => resume_unwind(panic),
            },
        };
        if let Some(error) = error {
            self.reset(mark);
            let code = self.fault.unwrap_or(FAULT_JSON);
            let (mut at, message) = error_place(text.as_bytes(), &error);
            if code == FAULT_DEPTH {
                at = too_deep(text.as_bytes(), max_depth);
            }
            return Err((Fault::at(code, offset + at), message.to_owned()));
        }
        self.values += 1;
        Ok(())
    }

    /// Bytes of the messages.
    pub fn len(&mut self) -> usize {
        // Inner containers end before the ones around them; what takes the place of a value comes
        // before the value's own header.
        self.edits.sort_unstable_by_key(|edit| (edit.at, Reverse(edit.len)));
        let mut len = 0;
        self.pieces(|piece| len += piece.len());
        len
    }

    pub fn is_empty(&self) -> bool {
        self.out.pos == 0
    }

    /// Copies the messages to `to`, which has just their length: `len` was asked for before.
    pub fn copy_to(&self, mut to: &mut [u8]) {
        self.pieces(|piece| {
            let (head, tail) = std::mem::take(&mut to).split_at_mut(piece.len());
            head.copy_from_slice(piece);
            to = tail;
        });
    }

    /// The messages piece by piece, each byte once, however edits are within one another.
    fn pieces(&self, mut each: impl FnMut(&[u8])) {
        let bytes = self.out.written();
        let mut open = vec![(0, bytes.len())];
        while let Some((start, end)) = open.pop() {
            let mut rest = &self.edits[..];
            let mut pos = start;
            while pos < end {
                // Those within what was left out are not gone through: each level would do so again.
                if rest.first().is_some_and(|edit| edit.at < pos) {
                    rest = &rest[rest.partition_point(|edit| edit.at < pos)..];
                }
                let Some((edit, others)) = rest.split_first() else { break };
                rest = others;
                if edit.at >= end {
                    break;
                }
                each(&bytes[pos..edit.at]);
                pos = edit.at + edit.len;
                match &edit.with {
                    With::Nothing => {}
                    With::Header { n, is_map } => {
                        let (header, len) = header(*n, *is_map);
                        each(&header[..len]);
                    }
                    With::Value(value) => {
                        open.push((pos, end));
                        open.push((value.start, value.end));
                        pos = end;
                    }
                }
            }
            each(&bytes[pos..end]);
        }
    }

    /// Starts anew, and gives memory back after an outlier.
    pub fn clear(&mut self) {
        self.out.trim();
        self.edits = Vec::new();
        memory::trim(&mut self.frames, KEEP_BYTES);
        self.keys.trim(KEEP_BYTES);
        self.values = 0;
    }

    fn mark(&self) -> (usize, usize, u64) {
        (self.out.pos, self.edits.len(), self.values)
    }

    fn reset(&mut self, (pos, edits, values): (usize, usize, u64)) {
        self.out.pos = pos;
        self.edits.truncate(edits);
        self.values = values;
    }

    /// A container's header of one byte for now.
    fn open<E: serde::de::Error>(&mut self) -> Result<usize, E> {
        if self.depth_left == 0 {
            self.fault = Some(FAULT_DEPTH);
            return Err(E::custom("nested deeper than maxDepth"));
        }
        self.depth_left -= 1;
        Ok(self.put_byte(wire::NIL))
    }

    fn close<E: serde::de::Error>(&mut self, at: usize, n: u64, is_map: bool) -> Result<(), E> {
        self.depth_left += 1;
        self.end(at, n, is_map).map_err(|TooLong| self.too_large())
    }

    /// Completes the header at `at` of a container with so many entries.
    #[inline(always)]
    pub fn end(&mut self, at: usize, n: u64, is_map: bool) -> Result<(), TooLong> {
        let fix = if is_map { wire::FIXMAP } else { wire::FIXARRAY };
        match u32::try_from(n) {
            Ok(n @ 0..=15) => self.out.patch(at, &[fix | n as u8]),
            Ok(n) => {
                let with = With::Header { n, is_map };
                memory::push(&mut self.edits, Edit { at, len: 1, with });
            }
            Err(_) => return Err(TooLong),
        }
        Ok(())
    }

    /// Adds a byte and returns where it is.
    #[inline(always)]
    pub fn put_byte(&mut self, byte: u8) -> usize {
        self.out.reserve(1);
        // SAFETY: room was made.
        unsafe { self.out.put(byte) };
        self.out.pos - 1
    }

    /// Adds the header of an array whose elements are added next.
    pub fn put_array_header(&mut self, n: u32) {
        self.out.reserve(ROOM);
        // SAFETY: room was made.
        unsafe { put_array_header(n, &mut self.out) };
    }

    /// Adds a string.
    #[inline(always)]
    pub fn put_string(&mut self, text: &str) -> Result<(), TooLong> {
        if u32::try_from(text.len()).is_err() {
            return Err(TooLong);
        }
        self.out.reserve(text.len() + ROOM);
        // SAFETY: room was made.
        unsafe { put_str_header(text.len(), &mut self.out) };
        self.out.extend(text.as_bytes());
        Ok(())
    }

    fn too_large<E: serde::de::Error>(&mut self) -> E {
        self.fault = Some(FAULT_TOO_LARGE);
        E::custom("more than a MessagePack length can say")
    }

    fn string<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        self.put_string(text).map_err(|TooLong| self.too_large())
    }

    fn ext<E: serde::de::Error>(&mut self, ext_type: i8, data: &[u8]) -> Result<(), E> {
        let Ok(len) = u32::try_from(data.len()) else { return Err(self.too_large()) };
        self.out.reserve(ROOM);
        // SAFETY: room was made.
        unsafe { put_ext_header(ext_type, len, &mut self.out) };
        self.out.extend(data);
        Ok(())
    }
}

/// A header of more than one byte, and how long it is.
fn header(n: u32, is_map: bool) -> ([u8; 5], usize) {
    let (short, long) =
        if is_map { (wire::MAP16, wire::MAP32) } else { (wire::ARRAY16, wire::ARRAY32) };
    let [a, b, c, d] = n.to_be_bytes();
    if n > 0xffff { ([long, a, b, c, d], 5) } else { ([short, c, d, 0, 0], 3) }
}

/// The first error, on its way to where it is told. It takes the short way: by the long one every
/// level that it leaves would look for an error of its own, and count all lines before that.
struct Halt(String);

#[cold]
fn halt<T, E: fmt::Display>(error: E) -> T {
    resume_unwind(Box::new(Halt(error.to_string())))
}

/// A value, which goes to the message.
struct Value<'a>(&'a mut FromJson);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.out.extend(&[wire::NIL]);
        Ok(())
    }

    fn visit_bool<E>(self, is_true: bool) -> Result<(), E> {
        self.0.out.extend(&[if is_true { wire::TRUE } else { wire::FALSE }]);
        Ok(())
    }

    #[inline(always)]
    fn visit_u64<E>(self, int: u64) -> Result<(), E> {
        self.0.out.reserve(ROOM);
        // SAFETY: room was made.
        unsafe { put_unsigned(int, &UNSIGNED_FORMS, &mut self.0.out) };
        Ok(())
    }

    #[inline(always)]
    fn visit_i64<E>(self, int: i64) -> Result<(), E> {
        self.0.out.reserve(ROOM);
        // SAFETY: room was made.
        unsafe { put_int(int, &UNSIGNED_FORMS, &mut self.0.out) };
        Ok(())
    }

    #[inline(always)]
    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.0.out.reserve(ROOM);
        // SAFETY: room was made.
        unsafe { put_number::<false>(number, 0, &UNSIGNED_FORMS, &mut self.0.out) };
        Ok(())
    }

    #[inline(always)]
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.0.string(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let to = self.0;
        let at = to.open()?;
        stacker::maybe_grow(STACK_ROOM, STACK_STEP, || {
            let mut n = 0;
            while seq.next_element_seed(Value(to)).unwrap_or_else(halt).is_some() {
                n += 1;
            }
            to.close(at, n, false)
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let to = self.0;
        let at = to.open()?;
        stacker::maybe_grow(STACK_ROOM, STACK_STEP, || {
            let mut pairs = Pairs::default();
            let mut ext = ExtSoFar::default();
            let edits = to.edits.len();
            loop {
                let key = to.out.pos;
                let Some(name) = map.next_key_seed(Key(to)).unwrap_or_else(halt) else { break };
                let value = to.out.pos;
                map.next_value_seed(Value(to)).unwrap_or_else(halt);
                ext.add(pairs.all.len(), name, value, &to.out);
                pairs.add(key, value, &to.out);
            }
            let has_each_once = pairs.again.is_empty();
            let n = pairs.once(&mut to.edits);
            to.close(at, n, true)?;
            if let (2, true, Some(form), Some(ext_type), Some(data)) =
                (n, has_each_once, to.exts, ext.ext_type, ext.data)
                && let Some(bytes) = ext_data(&to.out.written()[data..], form)
            {
                to.edits.truncate(edits);
                to.out.pos = at;
                to.ext(ext_type, &bytes)?;
            }
            Ok(())
        })
    }
}

/// A key, which goes to the message too.
struct Key<'a>(&'a mut FromJson);

/// The keys of an ext written as an object.
#[derive(PartialEq)]
enum Name {
    Ext,
    Data,
    Other,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Name;

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    #[inline(always)]
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Name, E> {
        self.0.string(text)?;
        Ok(match text {
            "$ext" => Name::Ext,
            "data" => Name::Data,
            _ => Name::Other,
        })
    }
}

/// What a map has of an ext: its type, and where its data is.
#[derive(Default)]
struct ExtSoFar {
    ext_type: Option<i8>,
    data: Option<usize>,
}

impl ExtSoFar {
    /// Pair number `n` has this name, and its value starts at `value`.
    #[inline(always)]
    fn add(&mut self, n: usize, name: Name, value: usize, out: &Out) {
        if name == Name::Ext && n == 0 {
            self.ext_type = match token(out.written(), value) {
                Ok((Token::Int(int), _)) => i8::try_from(int).ok(),
                _ => None,
            };
        }
        if name == Name::Data && n == 1 {
            self.data = Some(value);
        }
    }
}

/// The pairs of a map so far. Of those with equal keys the last is the one, in the place of the first,
/// as in an object that JavaScript makes of the text.
#[derive(Default)]
struct Pairs {
    all: Vec<Pair>,
    /// By key: which of them it is.
    places: HashMap<Vec<u8>, usize>,
    /// Those whose key came before.
    again: Vec<Range<usize>>,
}

/// Where a value is, and the last one for its key.
struct Pair {
    value: Range<usize>,
    last: Range<usize>,
}

impl Pairs {
    fn add(&mut self, key: usize, at: usize, out: &Out) {
        let value = at..out.pos;
        match self.places.entry(out.written()[key..at].to_vec()) {
            Entry::Vacant(entry) => {
                entry.insert(self.all.len());
                self.all.push(Pair { last: value.clone(), value });
            }
            Entry::Occupied(entry) => {
                self.again.push(key..value.end);
                self.all[*entry.get()].last = value;
            }
        }
    }

    /// Leaves each key once, and tells how many there are.
    fn once(self, edits: &mut Vec<Edit>) -> u64 {
        let n = self.all.len() as u64;
        if self.again.is_empty() {
            return n;
        }
        for Pair { value, last } in self.all {
            if value != last {
                edits.push(Edit { at: value.start, len: value.len(), with: With::Value(last) });
            }
        }
        for pair in self.again {
            edits.push(Edit { at: pair.start, len: pair.len(), with: With::Nothing });
        }
        n
    }
}

/// The bytes that a value stands for, or `None` if it is not of this form.
fn ext_data(value: &[u8], form: Binary) -> Option<Vec<u8>> {
    let decode = |encoding: Encoding| match token(value, 0) {
        Ok((Token::Str(text), _)) => encoding.decode(&value[text]).ok(),
        _ => None,
    };
    match form {
        Binary::Base64 => decode(BASE64),
        Binary::Hex => decode(HEXLOWER_PERMISSIVE),
        Binary::Array => {
            // An array's header is one byte for now, whatever its length.
            let is_array = matches!(value[0], wire::FIXARRAY..=0x9f | wire::NIL) && value.len() > 1
                || value[0] == wire::FIXARRAY;
            let mut bytes = Vec::new();
            let mut pos = 1;
            while is_array && pos < value.len() {
                let Ok((Token::Int(int), end)) = token(value, pos) else { return None };
                bytes.push(u8::try_from(int).ok()?);
                pos = end;
            }
            is_array.then_some(bytes)
        }
    }
}

/// The text with U+FFFD for each escaped surrogate that has no other half, which serde_json refuses.
/// `None` if there is none.
#[cold]
fn without_halves(text: &str) -> Option<String> {
    let mut repaired = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = memchr(b'\\', &bytes[at..]) {
        at += next;
        let half = |at: usize| {
            let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
            u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        match (half(at), half(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                repaired.extend_from_slice(&bytes[repaired.len()..at]);
                repaired.extend_from_slice(b"\\ufffd");
                at += 6;
            }
            _ => at = (at + 2).min(bytes.len()),
        }
    }
    if repaired.is_empty() {
        return None;
    }
    repaired.extend_from_slice(&bytes[repaired.len()..]);
    String::from_utf8(repaired).ok()
}

/// Where in the text the error is that serde_json tells as `… at line … column …`, and what it is.
#[cold]
fn error_place<'a>(text: &[u8], error: &'a str) -> (usize, &'a str) {
    let (message, place) = error.rsplit_once(" at line ").unwrap_or((error, ""));
    let (line, column) = place.split_once(" column ").unwrap_or_default();
    let number = |text: &str| text.parse().unwrap_or(0);
    let at = if message.starts_with("EOF ") {
        text.len()
    } else {
        let line_start = match number(line) {
            0 | 1 => 0,
            line => memchr_iter(b'\n', text).nth(line - 2).map_or(text.len(), |at| at + 1),
        };
        // The column counts the bytes up to the one that is wrong.
        (line_start + number(column)).saturating_sub(1).min(text.len())
    };
    if message == "number out of range" {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let before = text[..at].iter().rposition(|byte| !is_part(byte));
        return (before.map_or(0, |before| before + 1), message);
    }
    bad_digit(text, at).map_or((at, message), |digit| (digit, "invalid escape"))
}

/// The first byte of an escape's four digits that is none, for an error that is told behind them.
fn bad_digit(text: &[u8], at: usize) -> Option<usize> {
    const DIGITS: usize = 4;
    (at.saturating_sub(1 + DIGITS)..at).find_map(|escape| {
        let slashes = text[..escape].iter().rev().take_while(|&&byte| byte == b'\\').count();
        if !text[escape..].starts_with(b"\\u") || slashes % 2 != 0 {
            return None;
        }
        let mut digits = text[escape + 2..].iter().take(DIGITS);
        Some(escape + 2 + digits.position(|byte| !byte.is_ascii_hexdigit())?)
    })
}

/// Where a text that is right so far has more than `max_depth` containers open.
fn too_deep(text: &[u8], max_depth: usize) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(next) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
                    at += next;
                    if text[at] == b'"' {
                        break;
                    }
                    at += 2;
                }
            }
            b'[' | b'{' if depth == max_depth => break,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

/// Where in `bytes` an offset of their text is, which has U+FFFD for what is ill-formed.
fn offset_before_decoding(bytes: &[u8], offset: usize) -> usize {
    let (mut at, mut left) = (0, offset);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if left <= valid {
            return at + left;
        }
        at += valid;
        left -= valid;
        if left < char::REPLACEMENT_CHARACTER.len_utf8() {
            return at;
        }
        at += chunk.invalid().len();
        left -= char::REPLACEMENT_CHARACTER.len_utf8();
    }
    at
}

/// Of no place in the text.
impl From<Fault> for JsonFault {
    fn from(fault: Fault) -> JsonFault {
        JsonFault { fault, message: "no memory for it".to_owned(), line: 1, column: 1 }
    }
}

impl JsonFault {
    pub fn new(text: &[u8], fault: Fault, message: String) -> JsonFault {
        let (line, column) = position(&text[..fault.offset]);
        JsonFault { fault, message, line, column }
    }
}

/// Where a text that comes in pieces goes on: what was before it.
#[derive(Default)]
pub struct Before {
    bytes: usize,
    lines: usize,
    /// UTF-16 units in the line.
    units: usize,
}

impl Before {
    /// Goes past a piece.
    pub fn pass(&mut self, piece: &[u8]) {
        let (line, column) = position(piece);
        self.units = column - 1 + if line == 1 { self.units } else { 0 };
        self.lines += line - 1;
        self.bytes += piece.len();
    }

    /// A fault of the next piece, by its place in the whole text.
    pub fn of(&self, mut fault: JsonFault) -> JsonFault {
        if fault.line == 1 {
            fault.column += self.units;
        }
        fault.line += self.lines;
        fault.fault.offset += self.bytes;
        fault
    }
}

/// Line and column, both from 1, of what stands behind this text; the column counts UTF-16 units.
pub fn position(before: &[u8]) -> (usize, usize) {
    let line_start = memrchr(b'\n', before).map_or(0, |at| at + 1);
    let line = 1 + memchr_iter(b'\n', before).count();
    let column = 1 + String::from_utf8_lossy(&before[line_start..]).encode_utf16().count();
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::{bad_digit, offset_before_decoding, too_deep, without_halves};

    #[test]
    fn offsets_before_decoding() {
        // One U+FFFD for 0xff, one for the two bytes that could have begun a character.
        let bytes = b"a\xffb\xe6\xbcc";
        let offsets: Vec<_> = (0..=9).map(|at| offset_before_decoding(bytes, at)).collect();
        assert_eq!(offsets, [0, 1, 1, 1, 2, 3, 3, 3, 5, 6]);
        assert_eq!(offset_before_decoding(b"", 0), 0);
    }

    #[test]
    fn levels() {
        assert_eq!(too_deep(b"[1, {\"[[\": \"\\\"[\"}, [ [", 2), 21);
        assert_eq!(too_deep(b" {", 0), 1);
        assert_eq!(too_deep(b"\"[", 0), 2);
    }

    #[test]
    fn digits_of_escapes() {
        assert_eq!(bad_digit(br#""\u12x4""#, 6), Some(5));
        assert_eq!(bad_digit(br#""\u1"#, 4), None);
        assert_eq!(bad_digit(br#""\\u1x"#, 6), None);
        assert_eq!(bad_digit(br#""\\\u1x"#, 7), Some(6));
    }

    #[test]
    fn halves_of_pairs() {
        assert_eq!(without_halves(r#""\ud83d\ude00 \\ud800""#), None);
        let repaired = without_halves(r#""\udc00\ud83d\ude00\uD800x\ud800\ud800""#);
        assert_eq!(repaired.as_deref(), Some(r#""\ufffd\ud83d\ude00\ufffdx\ufffd\ufffd""#));
        assert_eq!(without_halves(r#""\ud800"#).as_deref(), Some(r#""\ufffd"#));
        assert_eq!(without_halves(r#""\"#), None);
    }
}
