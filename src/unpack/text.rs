//! The text of a message on its way to JavaScript: ASCII strings together in Latin-1 blocks, the
//! others in UTF-16 blocks, long ones by themselves. A block is bounded, because a string that
//! JavaScript cuts out of it keeps all of it alive.

use crate::memory;
use crate::tape::{Fault, STR_LENGTH_BITS, TAG_BITS, U_LONG_STR, U_STR, U_WIDE_STR};

/// Takes finished texts. They are numbered in the order in which the builder will need them, which
/// is the order of their first strings, so a number is taken before the text is complete.
pub trait TextSink {
    fn take_number(&mut self) -> u32;
    fn latin1(&mut self, number: u32, text: &[u8]) -> Result<(), Fault>;
    fn utf16(&mut self, number: u32, text: &[u16]) -> Result<(), Fault>;
}

/// Units in a block at most: what one kept string can hold alive (`bench/` row `retention`).
const BLOCK_UNITS: usize = 32 << 10;
/// Strings of more bytes than this get a text of their own; a string word has 12 bits of length.
pub const MAX_SHARED_BYTES: usize = 1024;
const _: () = assert!(MAX_SHARED_BYTES < 1 << STR_LENGTH_BITS);

#[derive(Default)]
pub struct Texts {
    latin1: Vec<u8>,
    latin1_number: u32,
    utf16: Vec<u16>,
    utf16_number: u32,
    /// For the conversion of one long string.
    long: Vec<u16>,
}

fn string_word(offset: usize, len: usize, tag: i32) -> i32 {
    ((offset as i32) << STR_LENGTH_BITS | len as i32) << TAG_BITS | tag
}

impl Texts {
    pub fn clear(&mut self) {
        self.latin1.clear();
        self.utf16.clear();
        self.latin1.reserve(BLOCK_UNITS + MAX_SHARED_BYTES);
    }

    /// Adds a string of 1 to [`MAX_SHARED_BYTES`] bytes; `readable` says how many bytes can be read
    /// from its start. Returns its word, or `None` when the bytes are not ASCII.
    ///
    /// # Safety
    /// `from` is readable for `readable` bytes, and those are at least `len`.
    #[inline(always)]
    pub unsafe fn push_ascii(
        &mut self,
        from: *const u8,
        len: usize,
        readable: usize,
        sink: &mut impl TextSink,
    ) -> Result<Option<i32>, Fault> {
        let mut offset = self.latin1.len();
        if offset + len > BLOCK_UNITS {
            self.close_latin1(sink)?;
            offset = 0;
        }
        // SAFETY: `clear` made room for a full block and one more string with its overhang; the
        // caller says what can be read.
        unsafe {
            let to = self.latin1.as_mut_ptr().add(offset);
            let ascii = if readable >= len + COPY_STEP {
                copy_ascii(from, len, to)
            } else {
                std::ptr::copy_nonoverlapping(from, to, len);
                std::slice::from_raw_parts(from, len).is_ascii()
            };
            if !ascii {
                return Ok(None);
            }
            self.latin1.set_len(offset + len);
        }
        if offset == 0 {
            self.latin1_number = sink.take_number();
        }
        Ok(Some(string_word(offset, len, U_STR)))
    }

    #[cold]
    #[inline(never)]
    fn close_latin1(&mut self, sink: &mut impl TextSink) -> Result<(), Fault> {
        if !self.latin1.is_empty() {
            sink.latin1(self.latin1_number, &self.latin1)?;
            self.latin1.clear();
        }
        Ok(())
    }

    /// Adds a string of 1 to [`MAX_SHARED_BYTES`] bytes that is not ASCII. What is ill-formed
    /// becomes U+FFFD, as WHATWG's decoder does it.
    #[inline(never)]
    pub fn push_utf8(&mut self, bytes: &[u8], sink: &mut impl TextSink) -> Result<i32, Fault> {
        if self.utf16.is_empty() || self.utf16.len() + bytes.len() > BLOCK_UNITS {
            self.close_utf16(sink)?;
            self.utf16_number = sink.take_number();
        }
        let offset = self.utf16.len();
        self.utf16.resize(offset + bytes.len() + 1, 0);
        let len = encoding_rs::mem::convert_utf8_to_utf16(bytes, &mut self.utf16[offset..]);
        self.utf16.truncate(offset + len);
        Ok(string_word(offset, len, U_WIDE_STR))
    }

    fn close_utf16(&mut self, sink: &mut impl TextSink) -> Result<(), Fault> {
        if !self.utf16.is_empty() {
            sink.utf16(self.utf16_number, &self.utf16)?;
            self.utf16.clear();
        }
        Ok(())
    }

    /// A string of its own, of any length.
    #[inline(never)]
    pub fn push_long(&mut self, bytes: &[u8], sink: &mut impl TextSink) -> Result<i32, Fault> {
        let number = sink.take_number();
        if bytes.is_ascii() {
            sink.latin1(number, bytes)?;
        } else {
            memory::resize(&mut self.long, bytes.len() + 1);
            let len = encoding_rs::mem::convert_utf8_to_utf16(bytes, &mut self.long);
            let made = sink.utf16(number, &self.long[..len]);
            if self.long.capacity() > BLOCK_UNITS {
                self.long = Vec::new();
            }
            made?;
        }
        Ok(U_LONG_STR)
    }

    /// Hands over what is still open.
    pub fn finish(&mut self, sink: &mut impl TextSink) -> Result<(), Fault> {
        self.close_latin1(sink)?;
        self.close_utf16(sink)
    }
}

/// [`copy_ascii`] reads and writes up to one step past the end.
const COPY_STEP: usize = 16;

/// Copies `len` bytes and says whether all of them are ASCII.
///
/// # Safety
/// `from` is readable and `to` writable for `len + COPY_STEP` bytes.
#[inline(always)]
unsafe fn copy_ascii(from: *const u8, len: usize, to: *mut u8) -> bool {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64; the last step starts below `len`.
    unsafe {
        use std::arch::x86_64::{
            __m128i, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128,
            _mm_storeu_si128,
        };
        let mut seen = _mm_setzero_si128();
        let mut at = 0;
        while at + COPY_STEP < len {
            let bytes = _mm_loadu_si128(from.add(at).cast::<__m128i>());
            seen = _mm_or_si128(seen, bytes);
            _mm_storeu_si128(to.add(at).cast::<__m128i>(), bytes);
            at += COPY_STEP;
        }
        let bytes = _mm_loadu_si128(from.add(at).cast::<__m128i>());
        _mm_storeu_si128(to.add(at).cast::<__m128i>(), bytes);
        let wanted = (1u32 << (len - at)) - 1;
        (_mm_movemask_epi8(bytes) as u32 & wanted) | _mm_movemask_epi8(seen) as u32 == 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: eight bytes a step; the last step starts below `len`.
    unsafe {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let mut seen = 0;
        let mut at = 0;
        while at + 8 < len {
            let bytes = from.add(at).cast::<u64>().read_unaligned();
            seen |= bytes;
            to.add(at).cast::<u64>().write_unaligned(bytes);
            at += 8;
        }
        let bytes = from.add(at).cast::<u64>().read_unaligned();
        to.add(at).cast::<u64>().write_unaligned(bytes);
        let last = u64::from_le(bytes) << (8 * (8 - (len - at)) as u32);
        (seen | last) & HIGH == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copying_looks_at_the_string_and_at_nothing_behind_it() {
        for len in 1..70 {
            let mut from = vec![b'a'; len];
            from.extend([0xff; COPY_STEP]);
            let mut to = vec![0u8; len + COPY_STEP];
            // SAFETY: both have the step of overhang.
            assert!(unsafe { copy_ascii(from.as_ptr(), len, to.as_mut_ptr()) });
            assert_eq!(to[..len], from[..len]);
            for bad in 0..len {
                from[bad] = 0x80;
                // SAFETY: as above.
                assert!(!unsafe { copy_ascii(from.as_ptr(), len, to.as_mut_ptr()) });
                from[bad] = b'a';
            }
        }
    }
}
