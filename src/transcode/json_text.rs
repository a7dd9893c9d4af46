//! JSON text that grows. It is written as `JSON.stringify` writes it.

use std::fmt::Write as _;

use data_encoding::{BASE64, HEXLOWER};

use super::time;
use crate::tape::{FAULT_TOO_LARGE, Fault};

/// How the bytes of a bin or an ext are written, and read back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    Base64,
    Hex,
    /// An array of the bytes as numbers.
    Array,
}

/// Room that any scalar needs but those with a length of their own; a number has up to 25 bytes.
const SCALAR_ROOM: usize = 64;
/// The longest escape of one byte: `\u001f`.
pub const ESCAPE_ROOM: usize = 6;

#[derive(Default)]
pub struct Text {
    pub bytes: Vec<u8>,
}

impl Text {
    /// Makes room for `n` bytes, so that what is appended next cannot fail.
    #[inline(always)]
    pub fn room(&mut self, n: usize) -> Result<(), Fault> {
        if self.bytes.capacity() - self.bytes.len() < n { self.grow(n) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, n: usize) -> Result<(), Fault> {
        self.bytes.try_reserve(n).map_err(|_| Fault::at(FAULT_TOO_LARGE, 0))
    }

    pub fn scalar_room(&mut self) -> Result<(), Fault> {
        self.room(SCALAR_ROOM)
    }

    #[inline(always)]
    pub fn put(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    #[inline(always)]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn int(&mut self, int: impl itoa::Integer) {
        self.extend(itoa::Buffer::new().format(int).as_bytes());
    }

    /// A finite number as JavaScript writes it, −0 as 0.
    pub fn float(&mut self, number: f64) {
        match float_text(number) {
            FloatText::Int(int) => self.int(int),
            FloatText::Plain => self.extend(zmij::Buffer::new().format_finite(number).as_bytes()),
            FloatText::Exponent => {
                self.extend(ryu_js::Buffer::new().format_finite(number).as_bytes());
            }
        }
    }

    /// A string with its quotes. `text` is well-formed UTF-8.
    pub fn string(&mut self, text: &[u8]) -> Result<(), Fault> {
        self.room(text.len() + ESCAPE_ROOM + 2)?;
        self.put(b'"');
        self.escaped(text)?;
        self.put(b'"');
        Ok(())
    }

    #[inline(always)]
    fn escaped(&mut self, text: &[u8]) -> Result<(), Fault> {
        let mut from = 0;
        let mut at = 0;
        while at < text.len() {
            if let Some(chunk) = text[at..].first_chunk() {
                let plain = plain_bytes(u64::from_le_bytes(*chunk));
                at += plain;
                if plain == 8 {
                    continue;
                }
            }
            let byte = text[at];
            if !needs_escape(byte) {
                at += 1;
                continue;
            }
            self.extend(&text[from..at]);
            let (escape, len) = escape(byte);
            self.extend(&escape[..len]);
            at += 1;
            from = at;
            self.room(text.len() - at + ESCAPE_ROOM + 2)?;
        }
        self.extend(&text[from..]);
        Ok(())
    }

    pub fn binary(&mut self, data: &[u8], form: Binary) -> Result<(), Fault> {
        let encoding = match form {
            Binary::Base64 => BASE64,
            Binary::Hex => HEXLOWER,
            Binary::Array => {
                // At most three digits and a comma each.
                self.room(4 * data.len() + 2)?;
                self.put(b'[');
                for (index, &byte) in data.iter().enumerate() {
                    if index > 0 {
                        self.put(b',');
                    }
                    self.int(byte);
                }
                self.put(b']');
                return Ok(());
            }
        };
        let len = encoding.encode_len(data.len());
        self.room(len + 2)?;
        self.put(b'"');
        let from = self.bytes.len();
        self.bytes.resize(from + len, 0);
        encoding.encode_mut(data, &mut self.bytes[from..]);
        self.put(b'"');
        Ok(())
    }

    pub fn timestamp(&mut self, seconds: i64, nanoseconds: u32) {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(text, "\"{}\"", time::Iso { seconds, nanoseconds });
        self.extend(text.as_bytes());
    }

    /// Makes a string of the JSON text from `start` on.
    pub fn quote_from(&mut self, start: usize) -> Result<(), Fault> {
        let text = self.bytes.split_off(start);
        self.string(&text)
    }
}

/// Which digits a finite number has as text.
pub enum FloatText {
    /// Those of an integer, also for −0.
    Int(i64),
    /// Those that zmij and JavaScript write alike, zmij in two thirds of ryu-js's time.
    Plain,
    /// Those that ryu-js writes.
    Exponent,
}

#[inline(always)]
pub fn float_text(number: f64) -> FloatText {
    let (int, size) = (number as i64, number.abs());
    if int as f64 == number && size < 1e15 {
        FloatText::Int(int)
    } else if (1e-5..1e15).contains(&size) {
        FloatText::Plain
    } else {
        FloatText::Exponent
    }
}

/// How a byte is escaped, and the length of that.
pub fn escape(byte: u8) -> ([u8; 8], usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        8 => b'b',
        9 => b't',
        10 => b'n',
        12 => b'f',
        13 => b'r',
        _ => {
            let [high, low] = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            return ([b'\\', b'u', b'0', b'0', high, low, 0, 0], 6);
        }
    };
    ([b'\\', short, 0, 0, 0, 0, 0, 0], 2)
}

#[inline(always)]
fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// How many of eight bytes, from the lowest on, need no escape.
#[inline(always)]
pub fn plain_bytes(bytes: u64) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    // The highest bit of a byte is set where the byte is zero; those above the first such one may
    // be wrong, and do not count.
    let zero = |each: u64| each.wrapping_sub(ONES) & !each & HIGH;
    let equals = |byte: u8| zero(bytes ^ u64::from_ne_bytes([byte; 8]));
    let control = bytes.wrapping_sub(ONES * 0x20) & !bytes & HIGH;
    ((control | equals(b'"') | equals(b'\\')).trailing_zeros() / 8) as usize
}
