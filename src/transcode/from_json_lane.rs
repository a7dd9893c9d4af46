//! The fast lane of `from_json`: JSON text that is as it should be, in one loop with a stack of its
//! own. At the first thing that is out of the ordinary it gives up, and serde_json reads the text
//! from its start and says what is wrong with it, if anything is.
//!
//! serde_json alone takes 1.7 times as long for a document of floats (`bench/transcode.mjs`).

use lexical_parse_float::lemire::compute_float;

use super::from_json::{FromJson, ROOM, TooLong};
use super::json_text::plain_bytes;
use crate::pack::put::{put_int, put_number, put_unsigned};
use crate::wire::{self, MAX_SAFE_INTEGER, UNSIGNED_FORMS};

/// Not for this lane.
pub struct Odd;

impl From<TooLong> for Odd {
    fn from(_: TooLong) -> Odd {
        Odd
    }
}

/// A container that is open.
#[derive(Clone, Copy)]
pub struct Frame {
    /// Where the header is.
    at: usize,
    n: u64,
    is_map: bool,
    /// How many keys there were around it.
    keys: usize,
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// As many digits always fit 64 bits.
const MAX_DIGITS: usize = 19;

pub struct FastLane<'a> {
    text: &'a str,
    pos: usize,
    to: &'a mut FromJson,
    stack: Vec<Frame>,
    keys: Keys,
    max_depth: usize,
}

impl FastLane<'_> {
    /// Adds the message of a whole text. What it added before it gave up is the caller's to take
    /// back.
    pub fn read(text: &str, to: &mut FromJson, max_depth: usize) -> Result<(), Odd> {
        let mut stack = std::mem::take(&mut to.frames);
        let mut keys = std::mem::take(&mut to.keys);
        stack.clear();
        keys.open.clear();
        let mut lane = FastLane { text, pos: 0, to, stack, keys, max_depth };
        let read = lane.run();
        lane.space();
        let is_whole = lane.pos == text.len();
        (to.frames, to.keys) = (lane.stack, lane.keys);
        if is_whole { read } else { Err(Odd) }
    }

    fn run(&mut self) -> Result<(), Odd> {
        loop {
            self.space();
            // One value.
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(open @ (b'{' | b'[')) => {
                    let is_map = open == b'{';
                    self.pos += 1;
                    if self.stack.len() >= self.max_depth {
                        return Err(Odd);
                    }
                    self.space();
                    if self.peek() == Some(if is_map { b'}' } else { b']' }) {
                        self.pos += 1;
                        self.to.put_byte(if is_map { wire::FIXMAP } else { wire::FIXARRAY });
                    } else {
                        let at = self.to.put_byte(wire::NIL);
                        let keys = self.keys.open.len();
                        self.stack.push(Frame { at, n: 1, is_map, keys });
                        if is_map {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b't') => self.word("true", wire::TRUE)?,
                Some(b'f') => self.word("false", wire::FALSE)?,
                Some(b'n') => self.word("null", wire::NIL)?,
                _ => return Err(Odd),
            }
            // What comes behind it.
            loop {
                let Some(frame) = self.stack.last_mut() else { return Ok(()) };
                let is_map = frame.is_map;
                // As `space`, which the frame is in the way of.
                let bytes = self.text.as_bytes();
                while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.pos) {
                    self.pos += 1;
                }
                match bytes.get(self.pos) {
                    Some(b',') => {
                        frame.n += 1;
                        self.pos += 1;
                        if is_map {
                            self.space();
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if is_map => {}
                    Some(b']') if !is_map => {}
                    _ => return Err(Odd),
                }
                self.pos += 1;
                let Frame { at, n, keys, .. } = *frame;
                self.stack.pop();
                if is_map {
                    self.keys.close(keys)?;
                }
                self.to.end(at, n, is_map)?;
            }
        }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    #[inline(always)]
    fn space(&mut self) {
        const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.pos) {
            self.pos += 1;
            // Indentation.
            while let Some(chunk) = bytes[self.pos..].first_chunk()
                && u64::from_ne_bytes(*chunk) == SPACES
            {
                self.pos += 8;
            }
        }
    }

    fn word(&mut self, word: &str, byte: u8) -> Result<(), Odd> {
        if !self.text.as_bytes()[self.pos..].starts_with(word.as_bytes()) {
            return Err(Odd);
        }
        self.pos += word.len();
        self.to.put_byte(byte);
        Ok(())
    }

    /// A key and its colon.
    #[inline(always)]
    fn key(&mut self) -> Result<(), Odd> {
        if self.peek() != Some(b'"') {
            return Err(Odd);
        }
        let start = self.to.out.pos;
        self.string()?;
        let key = &self.to.out.written()[start..];
        self.keys.open.push(hash(key));
        // Perhaps an ext that is written as an object.
        if self.to.exts.is_some() && key.ends_with(b"$ext") {
            return Err(Odd);
        }
        self.space();
        if self.peek() != Some(b':') {
            return Err(Odd);
        }
        self.pos += 1;
        Ok(())
    }

    #[inline(always)]
    fn string(&mut self) -> Result<(), Odd> {
        let bytes = self.text.as_bytes();
        let start = self.pos + 1;
        let mut at = start;
        loop {
            if let Some(chunk) = bytes[at..].first_chunk() {
                let plain = plain_bytes(u64::from_le_bytes(*chunk));
                at += plain;
                if plain == 8 {
                    continue;
                }
            }
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => return self.escaped(start, at),
                // Near the end of the text.
                Some(0x20..) => at += 1,
                _ => return Err(Odd),
            }
        }
        self.pos = at + 1;
        Ok(self.to.put_string(&self.text[start..at])?)
    }

    /// A string whose first escape is at `at`.
    #[inline(never)]
    fn escaped(&mut self, start: usize, mut at: usize) -> Result<(), Odd> {
        let bytes = self.text.as_bytes();
        let mut text = String::new();
        let mut from = start;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    text.push_str(&self.text[from..at]);
                    let (char, len) = escape(&bytes[at + 1..]).ok_or(Odd)?;
                    text.push(char);
                    at += 1 + len;
                    from = at;
                }
                Some(0x20..) => at += 1,
                _ => return Err(Odd),
            }
        }
        text.push_str(&self.text[from..at]);
        self.pos = at + 1;
        Ok(self.to.put_string(&text)?)
    }

    #[inline(always)]
    fn number(&mut self) -> Result<(), Odd> {
        let bytes = self.text.as_bytes();
        let start = self.pos;
        let is_negative = bytes[start] == b'-';
        let mut at = start + usize::from(is_negative);
        let first = at;
        let mut digits = 0u64;
        at = take_few_digits(bytes, at, &mut digits);
        let whole = at - first;
        // No digit, or a zero in front of others.
        if whole == 0 || whole > 1 && bytes[first] == b'0' {
            return Err(Odd);
        }
        let mut count = whole;
        let mut exponent = 0;
        let mut is_int = true;
        if bytes.get(at) == Some(&b'.') {
            is_int = false;
            at += 1;
            let point = at;
            at = take_digits(bytes, at, &mut digits);
            if at == point {
                return Err(Odd);
            }
            count += at - point;
            exponent = -((at - point) as i64);
        }
        if let Some(b'e' | b'E') = bytes.get(at) {
            is_int = false;
            at += 1;
            let is_below = bytes.get(at) == Some(&b'-');
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            let from = at;
            let mut power = 0i64;
            while let Some(&byte) = bytes.get(at)
                && byte.is_ascii_digit()
            {
                power = power.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
                at += 1;
            }
            if at == from {
                return Err(Odd);
            }
            exponent = exponent.saturating_add(if is_below { -power } else { power });
        }
        self.pos = at;
        let out = &mut self.to.out;
        out.reserve(ROOM);
        if is_int && count <= MAX_DIGITS && !(is_negative && (digits == 0 || digits > 1 << 63)) {
            // SAFETY: room was made.
            unsafe {
                if is_negative {
                    put_int((digits as i64).wrapping_neg(), &UNSIGNED_FORMS, out);
                } else {
                    put_unsigned(digits, &UNSIGNED_FORMS, out);
                }
            }
            return Ok(());
        }
        let exact = count <= MAX_DIGITS && digits <= MAX_SAFE_INTEGER as u64;
        let number = match POWERS.get(exponent.unsigned_abs() as usize) {
            // Both are exact, so that the one rounding is the right one.
            Some(power) if exact => {
                let size = digits as f64;
                let size = if exponent < 0 { size / power } else { size * power };
                if is_negative { -size } else { size }
            }
            _ => {
                let text = &self.text[start..at];
                // Integers of 64 bits that have twenty digits.
                if is_int && let Ok(int) = text.parse() {
                    // SAFETY: room was made.
                    unsafe { put_unsigned(int, &UNSIGNED_FORMS, out) };
                    return Ok(());
                }
                let number = match float(digits, exponent) {
                    Some(size) if count <= MAX_DIGITS => {
                        Some(if is_negative { -size } else { size })
                    }
                    _ => text.parse().ok(),
                };
                number.filter(|number| number.is_finite()).ok_or(Odd)?
            }
        };
        // SAFETY: room was made.
        unsafe { put_number::<false>(number, 0, &UNSIGNED_FORMS, out) };
        Ok(())
    }
}

/// The double nearest to `digits` × 10^`exponent`, where 128 bits of that power tell which one it is:
/// nearly always. `str::parse` does the same after reading the digits once more.
#[inline(always)]
fn float(digits: u64, exponent: i64) -> Option<f64> {
    let float = compute_float::<f64>(exponent, digits, false);
    let biased_exponent = u64::try_from(float.exp).ok()?;
    Some(f64::from_bits(float.mant | biased_exponent << (f64::MANTISSA_DIGITS - 1)))
}

/// Appends the digits at `at` to a number, which wraps; where they end.
#[inline(always)]
fn take_digits(bytes: &[u8], mut at: usize, number: &mut u64) -> usize {
    while let Some(chunk) = bytes[at..].first_chunk()
        && let Some(eight) = eight_digits(u64::from_le_bytes(*chunk))
    {
        *number = number.wrapping_mul(100_000_000).wrapping_add(eight);
        at += 8;
    }
    take_few_digits(bytes, at, number)
}

/// The same where eight are too many to expect.
#[inline(always)]
fn take_few_digits(bytes: &[u8], mut at: usize, number: &mut u64) -> usize {
    while let Some(&byte) = bytes.get(at)
        && byte.is_ascii_digit()
    {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at += 1;
    }
    at
}

/// The number that eight bytes are, if all of them are digits; the first is the lowest byte.
#[inline(always)]
fn eight_digits(bytes: u64) -> Option<u64> {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    // A digit is 0x30 to 0x39: neither it nor six more leaves the row.
    let row = 0xf0 * EACH;
    if (bytes & row) | ((bytes.wrapping_add(6 * EACH) & row) >> 4) != 0x33 * EACH {
        return None;
    }
    let digits = bytes & (0x0f * EACH);
    // Neighbours become numbers of two digits, those of four, and those one of eight.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// What the bytes behind a backslash stand for, and how many they are.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 4)?;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    };
    let char = match bytes.first()? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        &byte @ (b'"' | b'\\' | b'/') => char::from(byte),
        b'u' => {
            let first = unit(1)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first)?, 5));
            }
            let second = unit(7).filter(|_| bytes[5..].starts_with(b"\\u"))?;
            let low = second.checked_sub(0xdc00).filter(|&low| low < 0x400)?;
            return Some((char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low)?, 11));
        }
        _ => return None,
    };
    Some((char, 1))
}

/// Hashes of the keys of all open objects, so that a key that comes twice is noticed.
#[derive(Default)]
pub struct Keys {
    open: Vec<u64>,
    /// A table for objects with many of them; 0 is a free place.
    table: Vec<u64>,
}

/// Up to so many keys are compared each with each.
const FEW_KEYS: usize = 8;

impl Keys {
    /// Ends the object whose keys start at `from`.
    #[inline(always)]
    fn close(&mut self, from: usize) -> Result<(), Odd> {
        let keys = &self.open[from..];
        let is_twice = if keys.len() <= FEW_KEYS {
            let mut is_twice = false;
            for (index, key) in keys.iter().enumerate() {
                for other in &keys[..index] {
                    is_twice |= key == other;
                }
            }
            is_twice
        } else {
            has_twice(keys, &mut self.table)
        };
        self.open.truncate(from);
        if is_twice { Err(Odd) } else { Ok(()) }
    }
}

#[inline(never)]
fn has_twice(keys: &[u64], table: &mut Vec<u64>) -> bool {
    let size = (2 * keys.len()).next_power_of_two();
    table.clear();
    table.resize(size, 0);
    for &key in keys {
        // 0 and 1 are one key here, which costs a reading by serde_json once in 2^64 keys.
        let key = key.max(1);
        let mut at = key as usize & (size - 1);
        while table[at] != 0 {
            if table[at] == key {
                return true;
            }
            at = (at + 1) & (size - 1);
        }
        table[at] = key;
    }
    false
}

/// Equal for equal bytes. Others are made to collide at will by whoever writes the text; all that
/// comes of it is that serde_json reads it.
#[inline(always)]
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, bytes: u64| {
        let product = u128::from(hash ^ bytes) * u128::from(FACTOR);
        product as u64 ^ (product >> 64) as u64
    };
    let mut hash = bytes.len() as u64;
    let mut rest = bytes;
    while let Some((chunk, tail)) = rest.split_first_chunk() {
        hash = mix(hash, u64::from_le_bytes(*chunk));
        rest = tail;
    }
    if let Some((chunk, tail)) = rest.split_first_chunk() {
        hash = mix(hash, u64::from(u32::from_le_bytes(*chunk)));
        rest = tail;
    }
    let last = rest.iter().fold(1, |bytes, &byte| bytes << 8 | u64::from(byte));
    mix(hash, last)
}

#[cfg(test)]
mod tests {
    use super::{eight_digits, float};

    #[test]
    fn floats_as_the_standard_library_has_them() {
        let mut state = 1u64;
        let mut unknown = 0;
        for exponent in -345..=310 {
            for round in 0..200 {
                // Any digits, few of them, and the halfway points between two floats.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
                let digits = match round % 4 {
                    0 => state,
                    1 => state >> 40,
                    2 => (state >> 11 << 11) | 1 << 10,
                    _ => (state >> 11) * 2 + 1,
                };
                let Some(size) = float(digits, exponent) else {
                    unknown += 1;
                    continue;
                };
                let text = format!("{digits}e{exponent}");
                assert_eq!(text.parse(), Ok(size), "{text}");
            }
        }
        assert!(unknown < 1000, "{unknown}");
        assert_eq!(float(0, 5), Some(0.0));
        assert_eq!(float(9_007_199_254_740_993, 0), Some(9_007_199_254_740_992.0));
        assert_eq!(float(22_250_738_585_072_011, -324), Some(2.225_073_858_507_201e-308));
        assert_eq!(float(1, 309), Some(f64::INFINITY));
        assert_eq!(float(4, i64::MIN), Some(0.0));
    }

    #[test]
    fn eight_digits_or_none() {
        for number in (0..100_000_000).step_by(9973).chain([12_345_678, 99_999_999]) {
            let text: [u8; 8] = format!("{number:08}").into_bytes().try_into().unwrap_or_default();
            assert_eq!(eight_digits(u64::from_le_bytes(text)), Some(number));
            for at in 0..8 {
                for other in (0..=255).filter(|byte: &u8| !byte.is_ascii_digit()) {
                    let mut text = text;
                    text[at] = other;
                    assert_eq!(eight_digits(u64::from_le_bytes(text)), None, "{text:?}");
                }
            }
        }
    }
}
