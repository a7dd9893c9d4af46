//! One value's head, for whatever goes through a message without building it: what the value is,
//! where its bytes are, where the next value starts.

use std::ops::Range;

use crate::tape::{FAULT_INVALID_BYTE, FAULT_TRUNCATED, Fault};
use crate::wire::{self, INT_READS};

/// A value, without those inside it. `D` is the data of a str, a bin or an ext: where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<D = Range<usize>> {
    Nil,
    Bool(bool),
    /// Every signed form, and the unsigned ones that fit.
    Int(i64),
    /// Past 2^63 − 1.
    Uint(u64),
    Float32(f32),
    Float64(f64),
    Str(D),
    Bin(D),
    /// So many values follow.
    Array(u32),
    /// So many pairs of a key and a value follow.
    Map(u32),
    Ext(i8, D),
}

/// A value as far as its head tells it: of its data, how many bytes follow.
pub type Head = Token<u32>;

/// The longest head: a number of 64 bits.
pub const MAX_HEAD: usize = 9;

/// The value that starts at `at`, and where its head ends. A fault's offset is `at`.
#[inline(always)]
pub fn token(input: &[u8], at: usize) -> Result<(Token, usize), Fault> {
    read(input, at, |from, len| {
        let len = len as usize;
        if len > input.len() - from {
            Err(truncated(at))
        } else {
            Ok((from..from + len, from + len))
        }
    })
}

/// The same without its data, which need not be there.
#[inline(always)]
pub fn head(input: &[u8], at: usize) -> Result<(Head, usize), Fault> {
    read(input, at, |from, len| Ok((len, from)))
}

/// `data` makes what stands for `len` bytes of data that start somewhere, and says what ends there.
#[inline(always)]
fn read<D>(
    input: &[u8],
    at: usize,
    data: impl Fn(usize, u32) -> Result<(D, usize), Fault>,
) -> Result<(Token<D>, usize), Fault> {
    let Some(&byte) = input.get(at) else {
        return Err(truncated(at));
    };
    let pos = at + 1;
    Ok(match byte {
        wire::FIXMAP..=0x8f => (Token::Map(u32::from(byte & 15)), pos),
        wire::FIXARRAY..=0x9f => (Token::Array(u32::from(byte & 15)), pos),
        wire::FIXSTR..=0xbf => {
            let (text, end) = data(pos, u32::from(byte & 31))?;
            (Token::Str(text), end)
        }
        wire::NIL => (Token::Nil, pos),
        wire::FALSE => (Token::Bool(false), pos),
        wire::TRUE => (Token::Bool(true), pos),
        wire::NEVER_USED => return Err(Fault::at(FAULT_INVALID_BYTE, at)),
        wire::STR8..=wire::STR32 => {
            let (len, from) = length(input, at, 1 << (byte - wire::STR8))?;
            let (text, end) = data(from, len)?;
            (Token::Str(text), end)
        }
        wire::BIN8..=wire::BIN32 => {
            let (len, from) = length(input, at, 1 << (byte - wire::BIN8))?;
            let (bytes, end) = data(from, len)?;
            (Token::Bin(bytes), end)
        }
        wire::ARRAY16 | wire::ARRAY32 => {
            let (n, end) = length(input, at, 2 << (byte - wire::ARRAY16))?;
            (Token::Array(n), end)
        }
        wire::MAP16 | wire::MAP32 => {
            let (n, end) = length(input, at, 2 << (byte - wire::MAP16))?;
            (Token::Map(n), end)
        }
        wire::FLOAT32 => (Token::Float32(f32::from_be_bytes(field(input, at)?)), at + 5),
        wire::FLOAT64 => (Token::Float64(f64::from_be_bytes(field(input, at)?)), at + 9),
        wire::EXT8..=wire::EXT32 | wire::FIXEXT1..=wire::FIXEXT16 => {
            let (len, from) = match byte {
                wire::EXT8..=wire::EXT32 => length(input, at, 1 << (byte - wire::EXT8))?,
                _ => (1 << (byte - wire::FIXEXT1), pos),
            };
            let Some(&ext_type) = input.get(from) else {
                return Err(truncated(at));
            };
            let (bytes, end) = data(from + 1, len)?;
            (Token::Ext(ext_type as i8, bytes), end)
        }
        _ => {
            // One of the integer forms.
            let read = INT_READS[usize::from(byte)];
            let end = at + usize::from(read.len);
            if end > input.len() {
                return Err(truncated(at));
            }
            let int = read.int(bits_at(input, at + usize::from(read.at)));
            if read.fits(int) { (Token::Int(int), end) } else { (Token::Uint(int as u64), end) }
        }
    })
}

/// A big-endian length of 1, 2 or 4 bytes behind the marker at `at`, and where it ends.
#[inline(always)]
fn length(input: &[u8], at: usize, bytes: usize) -> Result<(u32, usize), Fault> {
    let from = at + 1;
    let Some(field) = input.get(from..from + bytes) else {
        return Err(truncated(at));
    };
    let length = field.iter().fold(0, |length, &byte| length << 8 | u32::from(byte));
    Ok((length, from + bytes))
}

#[inline(always)]
fn field<const N: usize>(input: &[u8], at: usize) -> Result<[u8; N], Fault> {
    input[at + 1..].first_chunk().copied().ok_or_else(|| truncated(at))
}

/// The eight bytes at `at`, big-endian; zeros behind the end of the input.
#[inline(always)]
fn bits_at(input: &[u8], at: usize) -> u64 {
    if let Some(bytes) = input[at..].first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes[..input.len() - at].copy_from_slice(&input[at..]);
    u64::from_be_bytes(bytes)
}

#[cold]
pub fn truncated(at: usize) -> Fault {
    Fault::at(FAULT_TRUNCATED, at)
}

/// A point in time: seconds and nanoseconds of a timestamp's data, `None` for data that is none.
pub fn timestamp(data: &[u8]) -> Option<(i64, u32)> {
    let (seconds, nanoseconds) = match data.len() {
        4 => (i64::from(u32::from_be_bytes(data.try_into().ok()?)), 0),
        8 => {
            let bits = u64::from_be_bytes(data.try_into().ok()?);
            ((bits & ((1 << 34) - 1)) as i64, (bits >> 34) as u32)
        }
        12 => {
            let (nanoseconds, seconds) = data.split_at(4);
            (
                i64::from_be_bytes(seconds.try_into().ok()?),
                u32::from_be_bytes(nanoseconds.try_into().ok()?),
            )
        }
        _ => return None,
    };
    (nanoseconds <= wire::MAX_NANOSECONDS).then_some((seconds, nanoseconds))
}
