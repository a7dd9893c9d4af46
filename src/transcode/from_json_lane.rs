//! The fast lane of `from_json`: JSON text that is as it should be, in one loop with a stack of its
//! own. At the first thing that is out of the ordinary it gives up, and serde_json reads the text
//! from its start and says what is wrong with it, if anything is.
//!
//! serde_json alone takes 1.7 times as long for a document of floats (`bench/transcode.mjs`).

use lexical_parse_float::lemire::compute_float;

use super::chunk::{CHUNK, copy_chunk};
use super::digits;
use super::from_json::{FromJson, ROOM, TooLong};
use super::json_text::plain_bytes;
use crate::memory;
use crate::pack::put::{put_int, put_number, put_unsigned};
use crate::wire::{self, UNSIGNED_FORMS};

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
/// And as many a double. Some of sixteen do; to tell them apart takes longer than it saves.
const EXACT_DIGITS: usize = 15;

pub struct FastLane<'a> {
    text: &'a str,
    to: &'a mut FromJson,
    stack: Vec<Frame>,
    keys: Keys,
    max_depth: usize,
}

// Where the text is read goes from one to the next by value: in memory it would be waited for.
impl FastLane<'_> {
    /// Adds the message of a whole text. What it added before it gave up is the caller's to take
    /// back.
    pub fn read(text: &str, to: &mut FromJson, max_depth: usize) -> Result<(), Odd> {
        let mut stack = std::mem::take(&mut to.frames);
        let mut keys = std::mem::take(&mut to.keys);
        stack.clear();
        keys.open.clear();
        let mut lane = FastLane { text, to, stack, keys, max_depth };
        let end = lane.value();
        (to.frames, to.keys) = (lane.stack, lane.keys);
        if space(text.as_bytes(), end?) == text.len() { Ok(()) } else { Err(Odd) }
    }

    /// Adds the first value of the text, and returns where that ends.
    fn value(&mut self) -> Result<usize, Odd> {
        let bytes = self.text.as_bytes();
        let mut pos = 0;
        loop {
            pos = space(bytes, pos);
            // One value.
            match bytes.get(pos) {
                Some(b'"') => pos = self.string(pos)?,
                Some(b'-' | b'0'..=b'9') => pos = self.number(pos)?,
                Some(open @ (b'{' | b'[')) => {
                    let is_map = *open == b'{';
                    if self.stack.len() >= self.max_depth {
                        return Err(Odd);
                    }
                    pos = space(bytes, pos + 1);
                    if bytes.get(pos) == Some(if is_map { &b'}' } else { &b']' }) {
                        pos += 1;
                        self.to.put_byte(if is_map { wire::FIXMAP } else { wire::FIXARRAY });
                    } else {
                        let at = self.to.put_byte(wire::NIL);
                        let keys = self.keys.open.len();
                        self.stack.push(Frame { at, n: 1, is_map, keys });
                        if is_map {
                            pos = self.key(pos)?;
                        }
                        continue;
                    }
                }
                Some(b't') => pos = self.word(pos, "true", wire::TRUE)?,
                Some(b'f') => pos = self.word(pos, "false", wire::FALSE)?,
                Some(b'n') => pos = self.word(pos, "null", wire::NIL)?,
                _ => return Err(Odd),
            }
            // What comes behind it.
            loop {
                let Some(frame) = self.stack.last_mut() else { return Ok(pos) };
                let is_map = frame.is_map;
                pos = space(bytes, pos);
                match bytes.get(pos) {
                    Some(b',') => {
                        frame.n += 1;
                        pos += 1;
                        if is_map {
                            pos = self.key(space(bytes, pos))?;
                        }
                        break;
                    }
                    Some(b'}') if is_map => {}
                    Some(b']') if !is_map => {}
                    _ => return Err(Odd),
                }
                pos += 1;
                let Frame { at, n, keys, .. } = *frame;
                self.stack.pop();
                if is_map {
                    self.keys.close(keys)?;
                }
                self.to.end(at, n, is_map)?;
            }
        }
    }

    fn word(&mut self, pos: usize, word: &str, byte: u8) -> Result<usize, Odd> {
        if !self.text.as_bytes()[pos..].starts_with(word.as_bytes()) {
            return Err(Odd);
        }
        self.to.put_byte(byte);
        Ok(pos + word.len())
    }

    /// A key and its colon.
    #[inline(always)]
    fn key(&mut self, pos: usize) -> Result<usize, Odd> {
        let bytes = self.text.as_bytes();
        if bytes.get(pos) != Some(&b'"') {
            return Err(Odd);
        }
        let start = self.to.out.pos;
        let pos = space(bytes, self.string(pos)?);
        let key = &self.to.out.written()[start..];
        memory::push(&mut self.keys.open, hash(key));
        // Perhaps an ext that is written as an object.
        if self.to.exts.is_some() && key.ends_with(b"$ext") {
            return Err(Odd);
        }
        if bytes.get(pos) == Some(&b':') { Ok(pos + 1) } else { Err(Odd) }
    }

    #[inline(always)]
    fn string(&mut self, pos: usize) -> Result<usize, Odd> {
        let bytes = self.text.as_bytes();
        let start = pos + 1;
        let mut at = start;
        if bytes.len() - start >= 2 * CHUNK {
            let out = &mut self.to.out;
            out.reserve(ROOM + 2 * CHUNK);
            // Most strings are short, and copied behind a header of one byte by the time that their
            // end is seen.
            // SAFETY: the text has two chunks more, and there is room for them and the header.
            unsafe {
                let (from, to) = (bytes.as_ptr().add(start), out.tail().add(1));
                let mut len = copy_chunk(from, to).plain;
                if len == CHUNK {
                    len += copy_chunk(from.add(CHUNK), to.add(CHUNK)).plain;
                }
                if len < 2 * CHUNK && *from.add(len) == b'"' {
                    out.put(wire::FIXSTR | len as u8);
                    out.pos += len;
                    return Ok(start + len + 1);
                }
                at += len;
            }
        }
        self.long_string(start, at)
    }

    /// A string in which nothing stands in the way before `at`.
    fn long_string(&mut self, start: usize, mut at: usize) -> Result<usize, Odd> {
        let bytes = self.text.as_bytes();
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
        self.to.put_string(&self.text[start..at])?;
        Ok(at + 1)
    }

    /// A string whose first escape is at `at`.
    #[inline(never)]
    fn escaped(&mut self, start: usize, mut at: usize) -> Result<usize, Odd> {
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
        self.to.put_string(&text)?;
        Ok(at + 1)
    }

    #[inline(always)]
    fn number(&mut self, start: usize) -> Result<usize, Odd> {
        let bytes = self.text.as_bytes();
        let is_negative = bytes[start] == b'-';
        let first = start + usize::from(is_negative);
        let number = match Decimal::short(bytes, first) {
            Some(number) => number,
            None => Decimal::read(bytes, first)?,
        };
        let Decimal { digits, count, whole, exponent, is_int, end } = number;
        // No digit, or a zero in front of others.
        if whole == 0 || whole > 1 && bytes[first] == b'0' {
            return Err(Odd);
        }
        let out = &mut self.to.out;
        out.reserve(ROOM);
        let is_signed = digits <= i64::MAX as u64 && !(is_negative && digits == 0);
        if is_int && count <= MAX_DIGITS && is_signed {
            // Without a branch for the sign.
            let sign = -i64::from(is_negative);
            // SAFETY: room was made.
            unsafe { put_int((digits as i64 ^ sign) - sign, &UNSIGNED_FORMS, out) };
            return Ok(end);
        }
        let exact = count <= EXACT_DIGITS;
        let power = usize::try_from(exponent.unsigned_abs()).ok();
        let number = match power.and_then(|power| POWERS.get(power)) {
            // Both are exact, so that the one rounding is the right one.
            Some(power) if exact => {
                let size = digits as f64;
                let size = if exponent < 0 { size / power } else { size * power };
                if is_negative { -size } else { size }
            }
            _ => {
                let text = &self.text[start..end];
                // Those of 64 bits that have twenty digits, or need all bits.
                if is_int && let Ok(int) = text.parse() {
                    // SAFETY: room was made.
                    unsafe { put_unsigned(int, &UNSIGNED_FORMS, out) };
                    return Ok(end);
                }
                if is_int && let Ok(int) = text.parse() {
                    // SAFETY: room was made.
                    unsafe { put_int(int, &UNSIGNED_FORMS, out) };
                    return Ok(end);
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
        Ok(end)
    }
}

#[inline(always)]
fn space(bytes: &[u8], mut pos: usize) -> usize {
    const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(pos) {
        pos += 1;
        // Indentation.
        while let Some(chunk) = bytes[pos..].first_chunk()
            && u64::from_ne_bytes(*chunk) == SPACES
        {
            pos += 8;
        }
    }
    pos
}

/// A number without its sign: `digits` × 10^`exponent`, if `digits` has not wrapped.
struct Decimal {
    digits: u64,
    /// How many digits there are, and how many in front of a point.
    count: usize,
    whole: usize,
    exponent: i64,
    /// There is neither a point nor an exponent.
    is_int: bool,
    end: usize,
}

impl Decimal {
    /// The number at `first`, if it is one that ends soon, without an exponent.
    #[inline(always)]
    fn short(bytes: &[u8], first: usize) -> Option<Decimal> {
        let window = bytes[first..].first_chunk()?;
        // The first byte that is no digit ends the number, or is the point; then the second ends it.
        let mut others = digits::others(window)?;
        let whole = others.trailing_zeros() as usize;
        if whole > MAX_DIGITS {
            return None;
        }
        let (behind, decimal);
        if window[whole] == b'.' {
            others &= others - 1;
            // All digits, the point not counted; none may be behind it, or too many.
            let count = others.trailing_zeros() as usize - 1;
            if count == whole || count > MAX_DIGITS {
                return None;
            }
            let places = count - whole;
            behind = window[count + 1];
            decimal = Decimal {
                digits: digits::value(window, 0, whole) * digits::power(places)
                    + digits::value(window, whole + 1, places),
                count,
                whole,
                exponent: -(places as i64),
                is_int: false,
                end: first + count + 1,
            };
        } else {
            behind = window[whole];
            decimal = Decimal {
                digits: digits::any_value(window, 0, whole),
                count: whole,
                whole,
                exponent: 0,
                is_int: true,
                end: first + whole,
            };
        }
        if matches!(behind, b'e' | b'E') { None } else { Some(decimal) }
    }

    /// The same of any number.
    #[inline(never)]
    fn read(bytes: &[u8], first: usize) -> Result<Decimal, Odd> {
        let mut digits = 0u64;
        let mut at = digits::read(bytes, first, &mut digits);
        let whole = at - first;
        let mut count = whole;
        let mut exponent = 0;
        let mut is_int = true;
        if bytes.get(at) == Some(&b'.') {
            is_int = false;
            at += 1;
            let point = at;
            at = digits::read(bytes, at, &mut digits);
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
        Ok(Decimal { digits, count, whole, exponent, is_int, end: at })
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

    /// Gives memory back after an outlier.
    pub fn trim(&mut self, keep_bytes: usize) {
        memory::trim(&mut self.open, keep_bytes);
        memory::trim(&mut self.table, keep_bytes);
    }
}

#[inline(never)]
fn has_twice(keys: &[u64], table: &mut Vec<u64>) -> bool {
    let size = (2 * keys.len()).next_power_of_two();
    table.clear();
    memory::resize(table, size);
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
    use super::{FromJson, float};
    use crate::transcode::from_json::Options;

    #[test]
    fn memory_that_an_outlier_needed_is_given_back() {
        let options = Options { max_depth: 1 << 20, multiple: false, exts: None, fatal_utf8: true };
        let capacities = |text: &str| {
            let mut to = FromJson::default();
            assert!(to.read_text(text, options).is_ok());
            let used = [to.frames.capacity(), to.keys.open.capacity(), to.keys.table.capacity()];
            to.clear();
            let kept = [to.frames.capacity(), to.keys.open.capacity(), to.keys.table.capacity()];
            (used, kept)
        };
        let object = |keys: usize| {
            let pairs: Vec<_> = (0..keys).map(|key| format!("\"{key}\":1")).collect();
            format!("{{{}}}", pairs.join(","))
        };
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let (used, kept) = capacities(&object(20));
        assert_eq!(used, kept);
        let (used, kept) = capacities(&object(1 << 18));
        assert!(used[1] >= 1 << 18 && used[2] >= 1 << 19);
        assert_eq!(kept[1..], [0, 0]);
        let (used, kept) = capacities(&nested(1 << 16));
        assert!(used[0] >= 1 << 15);
        assert_eq!(kept[0], 0);
    }

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
}
