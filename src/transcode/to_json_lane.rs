//! The fast lane of `to_json`: what most messages consist of, in one loop that writes through a
//! pointer. It stops in front of anything else, and near the end of the input; `to_json` writes that
//! value and comes back.
//!
//! Between two tokens the text ends as the next one wants it: with the bracket that was opened, the
//! colon behind a key, or the comma for the next value. Where there is no next one the closing bracket
//! takes the comma's place. `to_json` writes its commas in front of values instead; the lane puts one
//! there when it begins, and takes the last one back when it stops.
//!
//! Strings are not looked through for ill-formed UTF-8 one by one: between them there is only ASCII,
//! so the text is well-formed if and only if each of them is, and `to_json` asks of all that was
//! written at once.

use std::mem::MaybeUninit;

use super::chunk::{CHUNK, Chunk, copy_chunk};
use super::digits;
use super::json_text::{ESCAPE_ROOM, FloatText, Text, escape, float_text};
use super::to_json::{Frame, ToJson};
use crate::tape::Fault;
use crate::wire::{self, INT_READS};

/// No head is longer.
const _: () = assert!(CHUNK > crate::token::MAX_HEAD);
/// All that is written for a value and a key before it, but their strings' text: a number with its
/// comma, quotes, a colon.
const ROOM: usize = 64;

/// Where the text grows. `Text` learns of it when the lane ends, or has no more room.
struct Tail {
    at: *mut u8,
    end: *mut u8,
}

impl Tail {
    fn of(text: &mut Text) -> Tail {
        let spare = text.bytes.spare_capacity_mut().as_mut_ptr_range();
        Tail { at: spare.start.cast(), end: spare.end.cast() }
    }

    /// # Safety
    /// `at` is where the text that was written ends.
    unsafe fn settle(text: &mut Text, at: *mut u8) {
        // SAFETY: passed on.
        unsafe {
            let len = at.offset_from_unsigned(text.bytes.as_ptr());
            text.bytes.set_len(len);
        }
    }

    #[inline(always)]
    fn room(&mut self, text: &mut Text, n: usize) -> Result<(), Fault> {
        if self.end as usize - (self.at as usize) < n {
            // By value, so that both stay in registers otherwise.
            *self = grow(text, self.at, n)?;
        }
        Ok(())
    }

    /// # Safety
    /// A byte of room.
    #[inline(always)]
    unsafe fn put(&mut self, byte: u8) {
        // SAFETY: passed on.
        unsafe {
            *self.at = byte;
            self.at = self.at.add(1);
        }
    }

    /// Writes `N` bytes, of which `len` count.
    ///
    /// # Safety
    /// `N` bytes of room.
    #[inline(always)]
    unsafe fn put_bytes<const N: usize>(&mut self, bytes: [u8; N], len: usize) {
        // SAFETY: passed on.
        unsafe {
            self.at.cast::<[u8; N]>().write_unaligned(bytes);
            self.at = self.at.add(len);
        }
    }

    /// A number as `Text::float` writes it; nothing for what is not finite.
    ///
    /// # Safety
    /// 64 bytes of room.
    #[inline(always)]
    unsafe fn put_float(&mut self, number: f64) -> bool {
        const { assert!(size_of::<zmij::Buffer>() <= 32 && align_of::<zmij::Buffer>() == 1) };
        if !number.is_finite() {
            return false;
        }
        // SAFETY: passed on; the room is good for a `Buffer` by its size, and any address is by its
        // alignment.
        unsafe {
            match float_text(number) {
                FloatText::Int(int) => self.put_int(int),
                FloatText::Plain => {
                    // It writes where the text goes: copied from elsewhere, it would be read before
                    // it has arrived there.
                    let buffer = self.at.cast::<MaybeUninit<zmij::Buffer>>();
                    (*buffer).write(zmij::Buffer::new());
                    let text = (*buffer).assume_init_mut().format_finite(number);
                    let (from, len) = (text.as_ptr(), text.len());
                    if !std::ptr::eq(from, self.at) {
                        std::ptr::copy(from, self.at, len);
                    }
                    self.at = self.at.add(len);
                }
                FloatText::Exponent => {
                    let mut buffer = ryu_js::Buffer::new();
                    let text = buffer.format_finite(number);
                    std::ptr::copy_nonoverlapping(text.as_ptr(), self.at, text.len());
                    self.at = self.at.add(text.len());
                }
            }
        }
        true
    }

    /// An integer with a sign.
    ///
    /// # Safety
    /// 64 bytes of room.
    #[inline(always)]
    unsafe fn put_int(&mut self, int: i64) {
        // SAFETY: passed on.
        unsafe {
            *self.at = b'-';
            self.at = digits::write(int.unsigned_abs(), self.at.add(usize::from(int < 0)));
        }
    }
}

#[cold]
#[inline(never)]
fn grow(text: &mut Text, at: *mut u8, n: usize) -> Result<Tail, Fault> {
    // SAFETY: `at` is a tail's.
    unsafe { Tail::settle(text, at) };
    text.room(n)?;
    Ok(Tail::of(text))
}

/// A big-endian field behind the marker at `at`.
///
/// # Safety
/// All of it is inside the input.
#[inline(always)]
unsafe fn field<const N: usize>(input: &[u8], at: usize) -> [u8; N] {
    // SAFETY: passed on.
    unsafe { input.as_ptr().add(at + 1).cast::<[u8; N]>().read_unaligned() }
}

/// The length of a string whose marker is at `at`, and of its head. `None` for what is no string,
/// or one of more than 65 535 bytes.
///
/// # Safety
/// Three bytes of input at `at`.
#[inline(always)]
unsafe fn string_head(input: &[u8], at: usize) -> Option<(usize, usize)> {
    // SAFETY: passed on.
    unsafe {
        match *input.get_unchecked(at) {
            byte @ wire::FIXSTR..=0xbf => Some((usize::from(byte & 31), 1)),
            wire::STR8 => Some((usize::from(u8::from_be_bytes(field(input, at))), 2)),
            wire::STR16 => Some((usize::from(u16::from_be_bytes(field(input, at))), 3)),
            _ => None,
        }
    }
}

/// Writes the string of `len` bytes at `from` in its quotes, with `ROOM` bytes of room behind it.
/// `None` where a chunk might reach behind the input.
#[inline(always)]
fn put_string(
    input: &[u8],
    from: usize,
    len: usize,
    text: &mut Text,
    to: &mut Tail,
    is_ascii: &mut bool,
) -> Result<Option<usize>, Fault> {
    if len + CHUNK > input.len() - from {
        return Ok(None);
    }
    to.room(text, len + CHUNK + ROOM)?;
    let mut at = from;
    let end = from + len;
    // SAFETY: the input has a chunk more than the string, and room was made for as much.
    unsafe {
        to.put(b'"');
        while at < end {
            let Chunk { plain, is_ascii: is_chunk_ascii } =
                copy_chunk(input.as_ptr().add(at), to.at);
            *is_ascii &= is_chunk_ascii;
            let plain = plain.min(end - at);
            to.at = to.at.add(plain);
            at += plain;
            if plain < CHUNK && at < end {
                to.room(text, end - at + ESCAPE_ROOM + CHUNK + ROOM)?;
                let (bytes, len) = escape(*input.get_unchecked(at));
                to.put_bytes(bytes, len);
                at += 1;
            }
        }
        to.put(b'"');
    }
    Ok(Some(end))
}

/// Three digits at most and a comma, and how many bytes that is.
const SMALL_INTS: [[u8; 5]; 128] = {
    let mut texts = [[0; 5]; 128];
    let mut int = 0;
    while int < 128 {
        let (a, b, c) = (b'0' + int / 100, b'0' + int / 10 % 10, b'0' + int % 10);
        texts[int as usize] = match int {
            0..10 => [c, b',', 0, 0, 2],
            10..100 => [b, c, b',', 0, 3],
            _ => [a, b, c, b',', 4],
        };
        int += 1;
    }
    texts
};

impl ToJson {
    /// Whether the lane can go on where the message is.
    pub fn has_lane(&self) -> bool {
        !self.stack.is_empty()
            && self.key_depth.is_none()
            && !self.is_tagged
            && self.options.indent.is_empty()
    }

    /// Goes on at `start`, and returns how far it came. If `is_ascii` is false then, the caller is to
    /// find out whether the text is well-formed. After a fault, which only memory is, the innermost
    /// container is lost.
    pub fn lane(
        &mut self,
        input: &[u8],
        start: usize,
        is_last: bool,
        text: &mut Text,
    ) -> Result<usize, Fault> {
        let Some(Frame { mut left, mut is_map, mut is_empty, .. }) = self.stack.pop() else {
            return Ok(start);
        };
        // What changes with every token is kept in variables, and put back where the lane ends.
        let mut pos = start;
        let mut is_ascii = self.is_ascii;
        let mut owed = self.owed;
        let mut to = Tail::of(text);
        to.room(text, ROOM)?;
        // The key stands there, and its colon.
        let is_in_pair = is_map && left % 2 == 1;
        let begins_with_comma = !(is_empty || is_in_pair);
        if begins_with_comma {
            // SAFETY: room was made.
            unsafe { to.put(b',') };
        }
        loop {
            if input.len() - pos < CHUNK {
                break;
            }
            to.room(text, ROOM)?;
            // SAFETY: the input has a chunk, which is longer than any head, and there is room for
            // a key's colon and a scalar.
            unsafe {
                if is_map && left % 2 == 0 {
                    let Some((len, head)) = string_head(input, pos) else { break };
                    let from = pos + head;
                    let Some(end) = put_string(input, from, len, text, &mut to, &mut is_ascii)?
                    else {
                        break;
                    };
                    to.put(b':');
                    pos = end;
                    left -= 1;
                    owed -= 1;
                    if input.len() - pos < CHUNK {
                        break;
                    }
                }
                let byte = *input.get_unchecked(pos);
                let mut container = None;
                match byte {
                    0..0x80 => {
                        let [a, b, c, d, len] = SMALL_INTS[usize::from(byte)];
                        // The comma is written once more below.
                        to.put_bytes([a, b, c, d], usize::from(len) - 1);
                        pos += 1;
                    }
                    wire::FIXSTR..=0xbf | wire::STR8 | wire::STR16 => {
                        let Some((len, head)) = string_head(input, pos) else { break };
                        let from = pos + head;
                        let Some(end) = put_string(input, from, len, text, &mut to, &mut is_ascii)?
                        else {
                            break;
                        };
                        pos = end;
                    }
                    wire::FLOAT64 => {
                        let number = f64::from_be_bytes(field(input, pos));
                        if !to.put_float(number) {
                            break;
                        }
                        pos += 9;
                    }
                    wire::FLOAT32 => {
                        let number = f32::from_be_bytes(field(input, pos));
                        if !to.put_float(f64::from(number)) {
                            break;
                        }
                        pos += 5;
                    }
                    wire::NIL => {
                        to.put_bytes(*b"null", 4);
                        pos += 1;
                    }
                    wire::FALSE => {
                        to.put_bytes(*b"false", 5);
                        pos += 1;
                    }
                    wire::TRUE => {
                        to.put_bytes(*b"true", 4);
                        pos += 1;
                    }
                    0x80..0xa0 => {
                        let n = u32::from(byte & 15);
                        container = Some((byte < wire::FIXARRAY, n, 1));
                    }
                    wire::ARRAY16 | wire::MAP16 => {
                        let n = u16::from_be_bytes(field(input, pos));
                        container = Some((byte == wire::MAP16, u32::from(n), 3));
                    }
                    wire::ARRAY32 | wire::MAP32 => {
                        let n = u32::from_be_bytes(field(input, pos));
                        container = Some((byte == wire::MAP32, n, 5));
                    }
                    wire::UINT8..=wire::INT64 | 0xe0.. => {
                        let read = INT_READS[usize::from(byte)];
                        let bits = input.as_ptr().add(pos + usize::from(read.at));
                        let int =
                            read.int(u64::from_be_bytes(bits.cast::<[u8; 8]>().read_unaligned()));
                        if read.fits(int) {
                            to.put_int(int);
                        } else {
                            to.at = digits::write(int as u64, to.at);
                        }
                        pos += usize::from(read.len);
                    }
                    _ => break,
                }
                if let Some((is_map_inside, n, head)) = container {
                    let values = u64::from(n) << u32::from(is_map_inside);
                    let rest = (input.len() - pos - head) as u64;
                    let is_too_deep = self.stack.len() + 1 >= self.options.max_depth;
                    if is_too_deep || is_last && owed - 1 + values > rest {
                        break;
                    }
                    pos += head;
                    let brackets = if is_map_inside { *b"{}" } else { *b"[]" };
                    if n > 0 {
                        to.put(brackets[0]);
                        let outer =
                            Frame { left: left - 1, is_map, is_empty: false, key_start: None };
                        self.stack.push(outer);
                        owed = owed - 1 + values;
                        (left, is_map) = (values, is_map_inside);
                        continue;
                    }
                    to.put_bytes(brackets, 2);
                }
                to.put(b',');
                left -= 1;
                owed -= 1;
                while left == 0 {
                    // Over the comma.
                    *to.at.sub(1) = if is_map { b'}' } else { b']' };
                    let Some(outer) = self.stack.pop() else {
                        self.is_ascii = is_ascii;
                        self.owed = owed;
                        Tail::settle(text, to.at);
                        return Ok(pos);
                    };
                    (left, is_map) = (outer.left, outer.is_map);
                    to.room(text, ROOM)?;
                    to.put(b',');
                }
            }
        }
        if pos != start || begins_with_comma {
            // SAFETY: that wrote at least one byte.
            unsafe {
                let last = *to.at.sub(1);
                if last == b',' {
                    to.at = to.at.sub(1);
                }
                is_empty = last == b'[' || last == b'{';
            }
        }
        // SAFETY: all before it was written.
        unsafe { Tail::settle(text, to.at) };
        self.stack.push(Frame { left, is_map, is_empty, key_start: None });
        self.is_ascii = is_ascii;
        self.owed = owed;
        Ok(pos)
    }
}
