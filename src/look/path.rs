//! The way to one value: at each level past what is not on it, and no further than the value.
//!
//! A path comes from JavaScript as a packed array with two entries a step: the name as text, or
//! nil, and the same as a number, or nil where it is none. As the name of a property `'7'` has
//! both, and a key of either type fits; as a key of a `Map` a step has one of them.

use crate::look::skip::{Kinds, LENGTHS, length, skip};
use crate::tape::{FAULT_INTERNAL, FAULT_INVALID_BYTE, Fault};
use crate::token::{Token, token, truncated};
use crate::unpack::parse::{Int64, Utf8};
use crate::wire::{self, INT_READS, MAX_SAFE_INTEGER};

/// How keys are compared: as unpacking makes them, by the same options.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub kinds: &'a Kinds,
    pub int64: Int64,
    pub utf8: Utf8,
    /// Keys are values of any type.
    pub map_keys: bool,
}

/// One level of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step<'a> {
    pub text: Option<&'a [u8]>,
    pub number: Option<f64>,
}

/// A path, packed.
#[derive(Clone)]
pub struct Path<'a> {
    packed: &'a [u8],
    pos: usize,
    left: u32,
}

/// What JavaScript packs is right; anything else is a fault of ours.
fn damaged() -> Fault {
    Fault::at(FAULT_INTERNAL, 0)
}

impl<'a> Path<'a> {
    /// The path at `at`, and where the next one starts, if each step is taken.
    pub fn new(packed: &'a [u8], at: usize) -> Result<Path<'a>, Fault> {
        match token(packed, at) {
            Ok((Token::Array(n), pos)) => Ok(Path { packed, pos, left: n / 2 }),
            _ => Err(damaged()),
        }
    }

    pub fn step(&mut self) -> Result<Option<Step<'a>>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let text = match self.token()? {
            Token::Str(range) => Some(&self.packed[range]),
            _ => None,
        };
        let number = match self.token()? {
            Token::Int(int) => Some(int as f64),
            Token::Float64(number) => Some(number),
            _ => None,
        };
        Ok(Some(Step { text, number }))
    }

    fn token(&mut self) -> Result<Token, Fault> {
        let (token, end) = token(self.packed, self.pos).map_err(|_| damaged())?;
        self.pos = end;
        Ok(token)
    }

    /// Where it ends, once every step is taken.
    pub fn end(&self) -> usize {
        self.pos
    }
}

/// The number of an element: only one that is written as JavaScript writes it.
pub fn index(step: &Step) -> Option<u32> {
    if let Some(number) = step.number {
        let index = number as u32;
        return (f64::from(index) == number).then_some(index);
    }
    match step.text? {
        b"0" => Some(0),
        digits @ [b'1'..=b'9', ..] if digits.len() <= 10 => {
            std::str::from_utf8(digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// What a value has inside.
pub enum Inside {
    Array { n: usize, first: usize },
    Map { n: usize, first: usize },
    Nothing,
}

/// What the value at `at` has inside, if a path can lead on from it.
#[inline(always)]
pub fn inside(input: &[u8], at: usize) -> Result<Inside, Fault> {
    let Some(&byte) = input.get(at) else {
        return Err(truncated(at));
    };
    let field = |bytes: usize| length(input, at, bytes);
    Ok(match byte {
        wire::FIXARRAY..=0x9f => Inside::Array { n: usize::from(byte & 15), first: at + 1 },
        wire::ARRAY16 => Inside::Array { n: field(2)?, first: at + 3 },
        wire::ARRAY32 => Inside::Array { n: field(4)?, first: at + 5 },
        wire::FIXMAP..=0x8f => Inside::Map { n: usize::from(byte & 15), first: at + 1 },
        wire::MAP16 => Inside::Map { n: field(2)?, first: at + 3 },
        wire::MAP32 => Inside::Map { n: field(4)?, first: at + 5 },
        wire::NEVER_USED => return Err(Fault::at(FAULT_INVALID_BYTE, at)),
        _ => Inside::Nothing,
    })
}

/// Where the value is that the path leads to, if it is there.
pub fn find(
    input: &[u8],
    start: usize,
    path: &mut Path,
    rules: &Rules,
) -> Result<Option<usize>, Fault> {
    let mut pos = start;
    while let Some(step) = path.step()? {
        let found = match inside(input, pos)? {
            Inside::Array { n, first } => match index(&step) {
                Some(k) if (k as usize) < n => Some(skip(input, first, k.into(), rules.kinds)?),
                _ => None,
            },
            Inside::Map { n, first } => pair(input, first, n, &step, rules)?,
            Inside::Nothing => None,
        };
        match found {
            Some(at) => pos = at,
            None => return Ok(None),
        }
    }
    if pos < input.len() { Ok(Some(pos)) } else { Err(truncated(pos)) }
}

/// The value behind the first of `n` keys that the step names.
fn pair(
    input: &[u8],
    mut pos: usize,
    n: usize,
    step: &Step,
    rules: &Rules,
) -> Result<Option<usize>, Fault> {
    for _ in 0..n {
        let (key, value) = key(input, pos, rules.kinds)?;
        if key.is(step, rules) {
            return Ok(Some(value));
        }
        pos = skip_one(input, value, rules.kinds)?;
    }
    Ok(None)
}

/// Where the value at `pos` ends.
#[inline(always)]
pub fn skip_one(input: &[u8], pos: usize, kinds: &Kinds) -> Result<usize, Fault> {
    if let Some(&byte) = input.get(pos) {
        let len = usize::from(LENGTHS[usize::from(byte)]);
        if len > 0 && len <= input.len() - pos {
            return Ok(pos + len);
        }
    }
    skip(input, pos, 1, kinds)
}

/// A map's key, as far as a step can name it.
#[derive(Debug, PartialEq)]
pub enum Key<'a> {
    Text(&'a [u8]),
    Number(f64),
    /// One of the 64-bit forms.
    Wide(i128),
    Other,
}

/// The key at `at`, and where it ends.
#[inline(always)]
pub fn key<'a>(input: &'a [u8], at: usize, kinds: &Kinds) -> Result<(Key<'a>, usize), Fault> {
    let Some(&byte) = input.get(at) else {
        return Err(truncated(at));
    };
    if byte & 0xe0 == wire::FIXSTR {
        let from = at + 1;
        let end = from + usize::from(byte & 31);
        let Some(text) = input.get(from..end) else {
            return Err(truncated(at));
        };
        return Ok((Key::Text(text), end));
    }
    other_key(input, at, byte, kinds)
}

#[inline(never)]
fn other_key<'a>(
    input: &'a [u8],
    at: usize,
    byte: u8,
    kinds: &Kinds,
) -> Result<(Key<'a>, usize), Fault> {
    let is_named = matches!(byte, wire::STR8..=wire::STR32 | wire::FLOAT32 | wire::FLOAT64);
    if !is_named && INT_READS[usize::from(byte)].len == 0 {
        return Ok((Key::Other, skip(input, at, 1, kinds)?));
    }
    let (token, end) = token(input, at)?;
    let key = match token {
        Token::Str(text) => Key::Text(&input[text]),
        Token::Float32(number) => Key::Number(number.into()),
        Token::Float64(number) => Key::Number(number),
        Token::Int(int) if matches!(byte, wire::UINT64 | wire::INT64) => Key::Wide(int.into()),
        Token::Int(int) => Key::Number(int as f64),
        Token::Uint(int) => Key::Wide(int.into()),
        _ => Key::Other,
    };
    Ok((key, end))
}

impl Key<'_> {
    /// Whether it is the key that the step names.
    #[inline(always)]
    pub fn is(&self, step: &Step, rules: &Rules) -> bool {
        match *self {
            Key::Text(bytes) => {
                step.text.is_some_and(|text| text == bytes || is_repaired(bytes, text, rules))
            }
            Key::Number(number) => step.number.is_some_and(|other| same_number(number, other)),
            Key::Wide(int) => is_wide(int, step, rules),
            Key::Other => false,
        }
    }
}

/// As keys of a `Map` are the same.
fn same_number(one: f64, other: f64) -> bool {
    one == other || one.is_nan() && other.is_nan()
}

/// U+FFFD stands in unpacked keys for what is no UTF-8.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Whether `bytes` are not UTF-8 and become `text` all the same.
#[inline(always)]
fn is_repaired(bytes: &[u8], text: &[u8], rules: &Rules) -> bool {
    // U+FFFD takes three bytes, and stands for no more than that.
    bytes.len() <= text.len() && repaired(bytes, text, rules)
}

#[inline(never)]
fn repaired(bytes: &[u8], text: &[u8], rules: &Rules) -> bool {
    let keeps_bytes = rules.utf8 == Utf8::Raw && rules.map_keys;
    if rules.utf8 == Utf8::Fatal || keeps_bytes {
        return false;
    }
    text.windows(REPLACEMENT.len()).any(|part| part == REPLACEMENT)
        && std::str::from_utf8(bytes).is_err()
        && String::from_utf8_lossy(bytes).as_bytes() == text
}

/// A key in one of the 64-bit forms: what `int64` makes of it.
#[inline(never)]
fn is_wide(int: i128, step: &Step, rules: &Rules) -> bool {
    let is_safe = int.unsigned_abs() <= MAX_SAFE_INTEGER as u128;
    let as_number = match rules.int64 {
        Int64::Number => true,
        Int64::Auto => is_safe,
        Int64::BigInt | Int64::Text => false,
    };
    if as_number {
        return step.number.is_some_and(|number| number == int as f64);
    }
    // A bigint is the key of a property by its digits, and of a Map only as a bigint.
    let by_digits = rules.int64 == Int64::Text || !rules.map_keys;
    by_digits && step.text.is_some_and(|text| text == int.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::many::find_many;
    use crate::tape::KIND_EXT;

    const KINDS: Kinds = [KIND_EXT; 256];

    fn rules(map_keys: bool) -> Rules<'static> {
        Rules { kinds: &KINDS, int64: Int64::Auto, utf8: Utf8::Replace, map_keys }
    }

    /// Names as JavaScript packs them: a text, and nil or a fixint.
    fn packed(steps: &[(&str, Option<u8>)]) -> Vec<u8> {
        let mut packed = vec![wire::FIXARRAY | (2 * steps.len() as u8)];
        for &(text, number) in steps {
            packed.push(wire::FIXSTR | text.len() as u8);
            packed.extend(text.as_bytes());
            packed.push(number.unwrap_or(wire::NIL));
        }
        packed
    }

    fn found(input: &[u8], steps: &[(&str, Option<u8>)]) -> Result<Option<usize>, Fault> {
        let packed = packed(steps);
        let one = find(input, 0, &mut Path::new(&packed, 0).unwrap(), &rules(false));
        let many = find_many(input, &[&[0x91], &packed[..]].concat(), &rules(false));
        assert_eq!(one.map(|at| vec![at]), many);
        one
    }

    // { a: [10, { b: 20 }], 7: null, "c": 0xc1 }
    const INPUT: &[u8] =
        &[0x83, 0xa1, b'a', 0x92, 10, 0x81, 0xa1, b'b', 20, 7, 0xc0, 0xa1, b'c', wire::NEVER_USED];

    #[test]
    fn a_path_leads_to_its_value() {
        assert_eq!(found(INPUT, &[]), Ok(Some(0)));
        assert_eq!(found(INPUT, &[("a", None)]), Ok(Some(3)));
        assert_eq!(found(INPUT, &[("a", None), ("0", Some(0))]), Ok(Some(4)));
        assert_eq!(found(INPUT, &[("a", None), ("1", Some(1)), ("b", None)]), Ok(Some(8)));
        assert_eq!(found(INPUT, &[("7", Some(7))]), Ok(Some(10)));
        assert_eq!(found(INPUT, &[("c", None)]), Ok(Some(13)));
    }

    #[test]
    fn or_to_nothing() {
        assert_eq!(found(INPUT, &[("a", None), ("2", Some(2))]), Ok(None));
        assert_eq!(found(INPUT, &[("a", None), ("x", None)]), Ok(None));
        assert_eq!(found(INPUT, &[("a", None), ("0", Some(0)), ("0", Some(0))]), Ok(None));
        assert_eq!(found(&[0xc0], &[("a", None)]), Ok(None));
        // Without an end, but no path can lead on from it.
        assert_eq!(found(&[wire::STR8], &[("a", None)]), Ok(None));
        let cut = &[0x82, 0xa1, b'a', 0x92, wire::STR8];
        assert_eq!(found(cut, &[("a", None), ("0", Some(0)), ("0", Some(0))]), Ok(None));
        assert_eq!(found(cut, &[("a", None), ("x", None)]), Ok(None));
        let fault = Fault::at(FAULT_INVALID_BYTE, 13);
        assert_eq!(found(INPUT, &[("d", None)]), Err(fault));
        assert_eq!(
            found(&INPUT[..8], &[("a", None), ("1", Some(1)), ("b", None)]),
            Err(truncated(8))
        );
    }

    #[test]
    fn several_paths_in_one_pass() {
        let paths: [&[(&str, Option<u8>)]; 4] =
            [&[("7", Some(7))], &[("a", None), ("1", Some(1))], &[("c", None)], &[("a", None)]];
        let mut all = vec![0x94];
        for path in paths {
            all.extend(packed(path));
        }
        let expected = vec![Some(10), Some(5), Some(13), Some(3)];
        assert_eq!(find_many(INPUT, &all, &rules(false)), Ok(expected));
    }

    #[test]
    fn an_index_is_written_in_one_way() {
        let text = |text: &'static str| index(&Step { text: Some(text.as_bytes()), number: None });
        assert_eq!(text("0"), Some(0));
        assert_eq!(text("4294967295"), Some(u32::MAX));
        for other in ["", "00", "01", "-0", "+1", "1.0", "1e3", "4294967296", "99999999999", "a"] {
            assert_eq!(text(other), None, "{other}");
        }
        let number = |number| index(&Step { text: None, number: Some(number) });
        assert_eq!(number(-0.0), Some(0));
        assert_eq!(number(7.0), Some(7));
        for other in [-1.0, 0.5, f64::NAN, f64::INFINITY, 4_294_967_296.0] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn keys_of_a_map_are_of_one_type() {
        let text = Step { text: Some(b"7"), number: None };
        let number = Step { text: None, number: Some(7.0) };
        let both = Step { text: Some(b"7"), number: Some(7.0) };
        for (key, as_text, as_number) in [
            (Key::Text(b"7"), true, false),
            (Key::Number(7.0), false, true),
            (Key::Wide(7), false, true),
        ] {
            assert_eq!(key.is(&text, &rules(true)), as_text);
            assert_eq!(key.is(&number, &rules(true)), as_number);
            assert!(key.is(&both, &rules(false)));
        }
        assert!(
            !Key::Wide(1 << 60).is(&Step { text: None, number: Some(2f64.powi(60)) }, &rules(true))
        );
        let digits = (1i64 << 60).to_string();
        let step = Step { text: Some(digits.as_bytes()), number: None };
        assert!(Key::Wide(1 << 60).is(&step, &rules(false)));
        assert!(!Key::Wide(1 << 60).is(&step, &rules(true)));
    }
}
