//! Past values without reading them. What is missing is a number of values, and how they nest does
//! not matter: no stack, however deep they are. Lengths are checked, and claims as `parse` does it.

use crate::look::ahead::Ahead;
use crate::tape::{FAULT_INVALID_BYTE, Fault, KIND_ARRAY_TAG, KIND_TAG};
use crate::token::truncated;
use crate::wire;

/// By ext type: what it means, one of the `KIND_…` values.
pub type Kinds = [i32; 256];

/// What the first byte alone says of a value.
#[derive(Clone, Copy)]
pub struct Head {
    /// Its bytes without the values inside it; 0 where the first byte does not say.
    pub len: u8,
    /// The values inside it.
    pub inside: u8,
}

pub static HEADS: [Head; 256] = {
    let mut heads = [Head { len: 0, inside: 0 }; 256];
    let mut byte = 0;
    while byte < 256 {
        let (len, inside) = match byte as u8 {
            first @ wire::FIXMAP..=0x8f => (1, 2 * (first & 15)),
            first @ wire::FIXARRAY..=0x9f => (1, first & 15),
            first @ wire::FIXSTR..=0xbf => (1 + (first & 31), 0),
            wire::NIL | wire::FALSE | wire::TRUE => (1, 0),
            wire::FLOAT32 => (5, 0),
            wire::FLOAT64 => (9, 0),
            _ => (wire::INT_READS[byte].len, 0),
        };
        heads[byte] = Head { len, inside };
        byte += 1;
    }
    heads
};

/// By first byte: how long a value is that has none inside it, 0 where the byte does not say.
pub static LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_container = matches!(byte as u8, wire::FIXMAP..wire::FIXSTR);
        lengths[byte] = if is_container { 0 } else { HEADS[byte].len };
        byte += 1;
    }
    lengths
};

/// Numbers in a row that one look tells to have the same width.
const STRIDE: usize = 8;
/// The same for points.
const POINTS: usize = STRIDE / 2;
/// No attempt at rows where fewer values than this are to come.
pub const MIN_ROW: u64 = 2 * STRIDE as u64;
/// Bytes behind a row, or what turned out to be none, in which no other is looked for.
pub const NO_ROW: usize = 128;

/// Whether an ext of this kind is a tag: the value behind it belongs to it.
pub fn is_tag(kind: i32) -> bool {
    matches!(kind, KIND_TAG | KIND_ARRAY_TAG)
}

/// Where the `owed` values end that start at `pos`.
pub fn skip(input: &[u8], pos: usize, owed: u64, kinds: &Kinds) -> Result<usize, Fault> {
    let (pos, owed) = go_past(input, pos, owed, kinds, input.len());
    if owed == 0 {
        return Ok(pos);
    }
    let Some(&byte) = input.get(pos) else {
        return Err(truncated(pos));
    };
    if HEADS[usize::from(byte)].len == 0 {
        long_value(input, pos, byte, kinds)?;
    }
    Err(truncated(pos))
}

/// Goes past `owed` values, as far as they are there whole and what they claim to hold, a byte for
/// each value, would end at `limit` at the latest: where that is, and how many are owed there.
pub fn go_past(
    input: &[u8],
    mut pos: usize,
    mut owed: u64,
    kinds: &Kinds,
    limit: usize,
) -> (usize, u64) {
    let mut ahead = Ahead::new(pos);
    // No attempt at a row of numbers before here.
    let mut no_row = pos;
    let mut steps = 0;
    while owed > 0 {
        if owed >= MIN_ROW && pos >= no_row {
            let start = pos;
            (pos, owed) = numbers(input, pos, owed);
            if pos == start {
                (pos, owed, _) = points(input, pos, owed, 0, limit);
            }
            if pos > start {
                // Nothing is faster.
                ahead.not_before(pos + NO_ROW);
                continue;
            }
            no_row = pos + NO_ROW;
        }
        if pos >= ahead.from {
            (pos, owed) = ahead.skip(input, pos, owed, steps, kinds, limit);
            steps = 0;
        }
        steps += 1;
        let Some(&byte) = input.get(pos) else { break };
        let (end, inside) = match HEADS[usize::from(byte)] {
            Head { len: 0, .. } => match long_value(input, pos, byte, kinds) {
                Ok(value) => value,
                Err(_) => break,
            },
            head => (pos + usize::from(head.len), u64::from(head.inside)),
        };
        if end > input.len() {
            break;
        }
        let more = owed - 1 + inside;
        // Only what may have something inside is asked, though it be empty, as `parse` does it.
        if more > limit.saturating_sub(end) as u64 && (inside > 0 || is_container(byte)) {
            break;
        }
        (pos, owed) = (end, more);
        if inside >= MIN_ROW {
            no_row = pos;
        }
    }
    (pos, owed)
}

/// Bytes of the value that starts at `pos` with `byte`, and values inside it, if the first byte or two
/// say that and it is there whole.
#[inline(always)]
pub fn short_value(input: &[u8], pos: usize, byte: u8) -> Option<(usize, u64)> {
    let Head { len, inside } = HEADS[usize::from(byte)];
    let len = match len {
        0 if byte == wire::STR8 => 2 + usize::from(*input.get(pos + 1)?),
        0 => return None,
        len => usize::from(len),
    };
    (len <= input.len() - pos).then_some((len, u64::from(inside)))
}

fn is_container(byte: u8) -> bool {
    matches!(byte, wire::FIXMAP..wire::FIXSTR | wire::ARRAY16..=wire::MAP32)
}

/// Where the value at `pos` ends and how many are inside it, for those whose first byte does not
/// tell.
#[inline(never)]
pub fn long_value(
    input: &[u8],
    pos: usize,
    byte: u8,
    kinds: &Kinds,
) -> Result<(usize, u64), Fault> {
    let field = |bytes: usize| length(input, pos, bytes);
    Ok(match byte {
        wire::STR8..=wire::STR32 => {
            let bytes = 1 << (byte - wire::STR8);
            (pos + 1 + bytes + field(bytes)?, 0)
        }
        wire::BIN8..=wire::BIN32 => {
            let bytes = 1 << (byte - wire::BIN8);
            (pos + 1 + bytes + field(bytes)?, 0)
        }
        wire::ARRAY16 | wire::ARRAY32 => {
            let bytes = 2 << (byte - wire::ARRAY16);
            (pos + 1 + bytes, field(bytes)? as u64)
        }
        wire::MAP16 | wire::MAP32 => {
            let bytes = 2 << (byte - wire::MAP16);
            (pos + 1 + bytes, 2 * field(bytes)? as u64)
        }
        wire::EXT8..=wire::EXT32 => {
            let bytes = 1 << (byte - wire::EXT8);
            ext(input, pos, pos + 1 + bytes, field(bytes)?, kinds)?
        }
        wire::FIXEXT1..=wire::FIXEXT16 => {
            ext(input, pos, pos + 1, 1 << (byte - wire::FIXEXT1), kinds)?
        }
        _ => return Err(Fault::at(FAULT_INVALID_BYTE, pos)),
    })
}

/// Where an ext whose type is at `from` ends, and whether a value follows that belongs to it.
fn ext(
    input: &[u8],
    at: usize,
    from: usize,
    len: usize,
    kinds: &Kinds,
) -> Result<(usize, u64), Fault> {
    if len >= input.len() - from {
        return Err(truncated(at));
    }
    let is_tag = is_tag(kinds[usize::from(input[from])]);
    Ok((from + 1 + len, u64::from(is_tag)))
}

/// A big-endian length of 1, 2 or 4 bytes behind the marker at `at`.
#[inline(always)]
pub fn length(input: &[u8], at: usize, bytes: usize) -> Result<usize, Fault> {
    let Some(field) = input.get(at + 1..at + 1 + bytes) else {
        return Err(truncated(at));
    };
    Ok(field.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)))
}

#[inline(always)]
pub fn is_number(byte: u8) -> bool {
    matches!(byte, 0x00..=0x7f | wire::NEGATIVE_FIXINT..=0xff | wire::FLOAT32..=wire::INT64)
}

/// Goes on past a row of numbers that have the same width: without it each waits for the first byte
/// of the one before it. Whole values only; `pos` stays where it is if there is no row.
#[inline(never)]
pub fn numbers(input: &[u8], pos: usize, owed: u64) -> (usize, u64) {
    match input.get(pos) {
        Some(&byte) if is_number(byte) => match LENGTHS[usize::from(byte)] {
            1 => fixints(input, pos, owed),
            2 => wide::<2>(input, pos, owed, byte),
            3 => wide::<3>(input, pos, owed, byte),
            5 => wide::<5>(input, pos, owed, byte),
            _ => wide::<9>(input, pos, owed, byte),
        },
        _ => (pos, owed),
    }
}

#[inline(always)]
fn wide<const WIDTH: usize>(input: &[u8], mut pos: usize, mut owed: u64, byte: u8) -> (usize, u64) {
    while owed >= STRIDE as u64
        && let Some(group) = input.get(pos..pos + STRIDE * WIDTH)
        && (0..STRIDE).fold(0, |other, k| other | (group[k * WIDTH] ^ byte)) == 0
    {
        pos += STRIDE * WIDTH;
        owed -= STRIDE as u64;
    }
    (pos, owed)
}

/// The same for a row of points, arrays of two or three doubles each, and how many numbers each has.
/// `outside` is owed behind the row; `limit` is where all of it ends at the latest.
#[inline(never)]
pub fn points(
    input: &[u8],
    pos: usize,
    owed: u64,
    outside: u64,
    limit: usize,
) -> (usize, u64, u64) {
    const PAIR: u8 = wire::FIXARRAY | 2;
    const TRIPLE: u8 = wire::FIXARRAY | 3;
    let ((pos, owed), n) = match input.get(pos) {
        Some(&PAIR) => (points_of::<2, 19>(input, pos, owed, outside, limit), 2),
        Some(&TRIPLE) => (points_of::<3, 28>(input, pos, owed, outside, limit), 3),
        _ => ((pos, owed), 0),
    };
    (pos, owed, n)
}

#[inline(always)]
fn points_of<const N: usize, const WIDTH: usize>(
    input: &[u8],
    mut pos: usize,
    mut owed: u64,
    outside: u64,
    limit: usize,
) -> (usize, u64) {
    let header = wire::FIXARRAY | N as u8;
    while owed >= POINTS as u64
        && let Some(group) = input.get(pos..pos + POINTS * WIDTH)
        && (0..POINTS).fold(0, |other, k| {
            let point = &group[k * WIDTH..(k + 1) * WIDTH];
            let numbers = (0..N).fold(0, |other, i| other | (point[1 + 9 * i] ^ wire::FLOAT64));
            other | (point[0] ^ header) | numbers
        }) == 0
        // The claim of each array: if there is room behind the last, there was before.
        && owed + outside - POINTS as u64 <= limit.saturating_sub(pos + POINTS * WIDTH) as u64
    {
        pos += POINTS * WIDTH;
        owed -= POINTS as u64;
    }
    (pos, owed)
}

#[inline(always)]
fn fixints(input: &[u8], mut pos: usize, mut owed: u64) -> (usize, u64) {
    while owed >= STRIDE as u64
        && let Some(group) = input[pos..].first_chunk::<STRIDE>()
        && are_fixints(u64::from_ne_bytes(*group))
    {
        pos += STRIDE;
        owed -= STRIDE as u64;
    }
    (pos, owed)
}

/// Whether all eight bytes are fixints: the highest bit is 0, or the highest three are 1.
#[inline(always)]
fn are_fixints(bytes: u64) -> bool {
    bytes & !(bytes << 1 & bytes << 2) & 0x8080_8080_8080_8080 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::KIND_EXT;
    use crate::token::{Token, token};

    const NO_KINDS: Kinds = [KIND_EXT; 256];

    fn end(input: &[u8]) -> Result<usize, Fault> {
        skip(input, 0, 1, &NO_KINDS)
    }

    /// Walks that took turns once waited for ever where one of them was in the middle of exts.
    #[test]
    fn long_rows_of_every_two_forms_end() {
        let forms: Vec<Vec<u8>> = [
            "00",
            "ff",
            "c0",
            "a0",
            "a161",
            "d90161",
            "da000161",
            "db0000000161",
            "c400",
            "c50000",
            "c600000000",
            "c40101",
            "ca00000000",
            "cb0000000000000000",
            "cd0001",
            "cf0000000000000001",
            "d40101",
            "d5010101",
            "d60101010101",
            "d7010101010101010101",
            "c70001",
            "c8000001",
            "c90000000001",
            "c70cff000000010000000000000001",
            "90",
            "80",
            "dc0000",
            "de0000",
            "dd00000000",
            "df00000000",
            "9101",
            "810101",
            "dc000101",
            "92c0c2",
            "c7010101",
        ]
        .iter()
        .map(|hex| {
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap_or_default();
            (0..hex.len()).step_by(2).map(byte).collect()
        })
        .collect();
        for first in &forms {
            for second in &forms {
                let pair = [&first[..], second].concat();
                let n = 40_000 / pair.len();
                let mut input = vec![wire::ARRAY32];
                input.extend((2 * n as u32).to_be_bytes());
                for _ in 0..n {
                    input.extend(&pair);
                }
                assert_eq!(end(&input), Ok(input.len()), "{pair:x?}");
            }
        }
    }

    #[test]
    fn every_first_byte_has_its_length() {
        for byte in 0..=u8::MAX {
            let mut input = vec![0; 80];
            input[0] = byte;
            let expected = match byte {
                0x80..=0x8f => Ok(1 + 2 * usize::from(byte & 15)),
                0x90..=0x9f => Ok(1 + usize::from(byte & 15)),
                0xa0..=0xbf => Ok(1 + usize::from(byte & 31)),
                0xc1 => Err(Fault::at(FAULT_INVALID_BYTE, 0)),
                0xc4 | 0xcc | 0xd0 | 0xd9 => Ok(2),
                0xc5 | 0xc7 | 0xcd | 0xd1 | 0xd4 | 0xda | 0xdc | 0xde => Ok(3),
                0xc8 | 0xd5 => Ok(4),
                0xc6 | 0xca | 0xce | 0xd2 | 0xdb | 0xdd | 0xdf => Ok(5),
                0xc9 | 0xd6 => Ok(6),
                0xcb | 0xcf | 0xd3 => Ok(9),
                0xd7 => Ok(10),
                0xd8 => Ok(18),
                _ => Ok(1),
            };
            assert_eq!(end(&input), expected, "{byte:#x}");
            if let Ok(len) = expected {
                assert_eq!(end(&input[..len]), Ok(len), "{byte:#x}");
                assert!(end(&input[..len - 1]).is_err(), "{byte:#x}");
            }
        }
    }

    #[test]
    fn a_hundred_thousand_levels_need_no_stack() {
        let mut input = vec![0x91; 100_000];
        input.push(0xc0);
        assert_eq!(end(&input), Ok(100_001));
        input.pop();
        assert_eq!(end(&input), Err(truncated(99_999)));
    }

    #[test]
    fn rows_of_numbers_end_where_they_end() {
        let numbers: [&[u8]; 6] = [
            &[5],
            &[0xff],
            &[0xcc, 200],
            &[0xcd, 1, 0],
            &[0xce, 1, 0, 0, 0],
            &[0xcb, 1, 2, 3, 4, 5, 6, 7, 8],
        ];
        for number in numbers {
            for n in 0..60u16 {
                for other in numbers {
                    let mut input = vec![0xdc, 0, n as u8 + 1];
                    for _ in 0..n {
                        input.extend(number);
                    }
                    input.extend(other);
                    assert_eq!(end(&input), Ok(input.len()));
                    assert!(end(&input[..input.len() - 1]).is_err());
                    let len = input.len();
                    input.extend([0xcb; 100]);
                    assert_eq!(end(&input), Ok(len));
                }
            }
        }
    }

    /// The same, a value at a time.
    fn plain(input: &[u8], mut pos: usize, mut owed: u64) -> Result<usize, Fault> {
        while owed > 0 {
            let (token, end) = token(input, pos)?;
            let inside = match token {
                Token::Array(n) => Some(u64::from(n)),
                Token::Map(n) => Some(2 * u64::from(n)),
                _ => None,
            };
            owed = owed - 1 + inside.unwrap_or(0);
            if inside.is_some() && owed > (input.len() - end) as u64 {
                return Err(truncated(pos));
            }
            pos = end;
        }
        Ok(pos)
    }

    /// Values of all kinds, one behind the other, `count` of them at the top.
    fn mixture(mut seed: u64, count: usize, kinds: u64) -> Vec<u8> {
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut input = Vec::new();
        let mut open = count;
        while open > 0 {
            open -= 1;
            let noise = |n: u64, random: &mut dyn FnMut(u64) -> u64| {
                (0..n).map(|_| random(256) as u8).collect::<Vec<_>>()
            };
            match random(kinds) {
                0 => input.push(random(128) as u8),
                1 => {
                    let text = noise(random(32), &mut random);
                    input.push(0xa0 | text.len() as u8);
                    input.extend(text);
                }
                2 => {
                    input.push(0xcb);
                    input.extend(noise(8, &mut random));
                }
                3 => {
                    let n = random(6) as usize;
                    input.push(0x90 | n as u8);
                    open += n;
                }
                4 => {
                    input.push(0x92);
                    for _ in 0..2 {
                        input.push(0xcb);
                        input.extend(noise(8, &mut random));
                    }
                }
                5 => {
                    let text = match random(3) {
                        0 => noise(random(300), &mut random),
                        1 => "漢字かな".repeat(random(30) as usize).into_bytes(),
                        _ => "déjà вю ".repeat(random(30) as usize).into_bytes(),
                    };
                    input.extend([0xda, (text.len() >> 8) as u8, text.len() as u8]);
                    input.extend(text);
                }
                6 => {
                    let n = random(4) as usize;
                    input.push(0x80 | n as u8);
                    open += 2 * n;
                }
                _ => {
                    input.push(0xcd);
                    input.extend(noise(2, &mut random));
                }
            }
        }
        input
    }

    #[test]
    fn in_several_places_at_once_as_one_by_one() {
        for seed in 0..24 {
            // Fewer kinds are rows and points, more are none.
            let mut input = mixture(seed, 6000, 1 + seed % 8);
            let count = 6000;
            assert_eq!(skip(&input, 0, count, &NO_KINDS), Ok(input.len()), "seed {seed}");
            for part in (1..40).step_by(5) {
                let count = count * part / 40;
                assert_eq!(skip(&input, 0, count, &NO_KINDS), plain(&input, 0, count));
                let cut = &input[..input.len() * part as usize / 40];
                assert_eq!(skip(cut, 0, 6000, &NO_KINDS), plain(cut, 0, 6000), "seed {seed}");
            }
            for k in 0..20 {
                let at = input.len() * k / 20 + 7 * k % 11;
                let Some(byte) = input.get_mut(at) else { continue };
                let before = std::mem::replace(byte, [0xc1, 0xdd, 0xdf, 0xdb][k % 4]);
                assert_eq!(skip(&input, 0, count, &NO_KINDS), plain(&input, 0, count));
                input[at] = before;
            }
        }
    }

    #[test]
    fn data_of_any_byte_leads_nobody_astray() {
        for byte in 0..=u8::MAX {
            let mut input = vec![0xdd, 0, 0, 0, 204];
            for _ in 0..4 {
                input.extend([0xc6, 0, 0, 0x80, 0]);
                input.extend([byte; 0x8000]);
                input.extend([7; 50]);
            }
            assert_eq!(end(&input), Ok(input.len()), "{byte:#x}");
            input.pop();
            assert_eq!(end(&input), Err(truncated(input.len())), "{byte:#x}");
        }
    }

    #[test]
    fn fixints_in_a_word() {
        for byte in 0..=u8::MAX {
            let expected = !(0x80..0xe0).contains(&byte);
            for at in 0..8 {
                let mut bytes = [0xe0; 8];
                bytes[at] = byte;
                assert_eq!(are_fixints(u64::from_ne_bytes(bytes)), expected, "{byte:#x}");
            }
        }
    }

    #[test]
    fn more_is_claimed_than_there_is() {
        assert_eq!(end(&[0xdd, 0xff, 0xff, 0xff, 0xff, 1, 2]), Err(truncated(0)));
        assert_eq!(end(&[0xdf, 0xff, 0xff, 0xff, 0xff, 1, 2]), Err(truncated(0)));
        assert_eq!(end(&[0x93, 0x91, 1, 2]), Err(truncated(1)));
        assert_eq!(end(&[0xdb, 0xff, 0xff, 0xff, 0xff, 1, 2]), Err(truncated(0)));
        assert_eq!(end(&[0xc9, 0xff, 0xff, 0xff, 0xff, 1, 2]), Err(truncated(0)));
    }

    #[test]
    fn a_tag_and_its_value_are_one() {
        let mut kinds = NO_KINDS;
        kinds[5] = KIND_TAG;
        assert_eq!(skip(&[0xd4, 5, 0, 0xd4, 5, 0, 0x91, 7, 9], 0, 1, &kinds), Ok(8));
        assert_eq!(skip(&[0xc7, 0, 5, 0x91, 7, 9], 0, 1, &kinds), Ok(5));
        assert_eq!(skip(&[0xd4, 5, 0], 0, 1, &kinds), Err(truncated(0)));
        assert_eq!(skip(&[0xd4, 5, 0], 0, 1, &NO_KINDS), Ok(3));
    }
}
