//! The text of a message: every string of the tape, one after another, as the addon fetched it.
//! Strings go out as UTF-8; an unpaired surrogate is U+FFFD, and two strings never fuse.

use super::out::Out;
use crate::tape::{FAULT_INTERNAL, Fault};
use crate::wire;

/// Units that can be read behind the last one.
pub const TEXT_PADDING: usize = 32;

pub enum Units<'a> {
    /// All of the text is ASCII: a unit is a byte.
    Ascii(&'a [u8]),
    Utf16(&'a [u16]),
}

pub struct Text<'a> {
    units: Units<'a>,
    at: usize,
    end: usize,
}

impl<'a> Text<'a> {
    /// `units` must go on for [`TEXT_PADDING`] readable units behind the text's own.
    pub fn new(units: Units<'a>) -> Self {
        let readable = match &units {
            Units::Ascii(bytes) => bytes.len(),
            Units::Utf16(units) => units.len(),
        };
        assert!(readable >= TEXT_PADDING);
        Text { units, at: 0, end: readable - TEXT_PADDING }
    }

    /// Writes the next string of the text, `len` units long.
    #[inline(always)]
    pub fn write_next(&mut self, len: usize, out: &mut Out) -> Result<(), Fault> {
        let at = self.at;
        if len > self.end - at {
            return Err(Fault::at(FAULT_INTERNAL, at));
        }
        self.at = at + len;
        match &self.units {
            Units::Ascii(bytes) => {
                // SAFETY: `at + len <= end`, and the padding is readable behind that.
                unsafe { write_ascii(bytes.as_ptr().add(at), len, out) };
            }
            Units::Utf16(units) => {
                // SAFETY: as above.
                unsafe { write_utf16(units.as_ptr().add(at), len, out) };
            }
        }
        Ok(())
    }
}

/// Bytes of the header of a string of `len` bytes.
#[inline(always)]
pub fn str_header_len(len: usize) -> usize {
    match len {
        0..=31 => 1,
        32..=0xff => 2,
        0x100..=0xffff => 3,
        _ => 5,
    }
}

/// Writes a str header; the caller has made room for five bytes.
///
/// # Safety
/// `out.reserve` has made room for five bytes.
#[inline(always)]
pub unsafe fn put_str_header(len: usize, out: &mut Out) {
    // SAFETY: passed on to the caller.
    unsafe {
        match len {
            0..=31 => out.put(wire::FIXSTR | len as u8),
            32..=0xff => out.put_bytes([wire::STR8, len as u8]),
            0x100..=0xffff => {
                out.put(wire::STR16);
                out.put_bytes((len as u16).to_be_bytes());
            }
            _ => {
                out.put(wire::STR32);
                out.put_bytes((len as u32).to_be_bytes());
            }
        }
    }
}

/// # Safety
/// `from` is readable for `len + TEXT_PADDING` bytes, all of the first `len` ASCII.
#[inline(always)]
unsafe fn write_ascii(from: *const u8, len: usize, out: &mut Out) {
    out.reserve(len + TEXT_PADDING + 5);
    // SAFETY: room for header, text and padding was made; the source has its padding.
    unsafe {
        put_str_header(len, out);
        if len <= TEXT_PADDING {
            std::ptr::copy_nonoverlapping(from, out.tail(), TEXT_PADDING);
        } else {
            std::ptr::copy_nonoverlapping(from, out.tail(), len);
        }
    }
    out.pos += len;
}

/// # Safety
/// `from` is readable for `len + TEXT_PADDING` units.
#[inline(always)]
unsafe fn write_utf16(from: *const u16, len: usize, out: &mut Out) {
    out.reserve(3 * len + TEXT_PADDING + 5);
    // SAFETY: room was made for the longest outcome and the narrowing's overhang.
    unsafe {
        let start = out.pos;
        put_str_header(len, out);
        if narrow_ascii(from, len, out.tail()) {
            out.pos += len;
        } else {
            write_utf16_wide(from, len, start, out);
        }
    }
}

/// # Safety
/// `from` is readable for `len` units; `start` is where a header for `len` bytes was just written,
/// and room for `3 * len` bytes was made behind it.
unsafe fn write_utf16_wide(from: *const u16, len: usize, start: usize, out: &mut Out) {
    // SAFETY: the caller's promise.
    let units = unsafe { std::slice::from_raw_parts(from, len) };
    let guessed = out.pos - start;
    let room = 3 * len;
    // SAFETY: room for `3 * len` bytes; they are only written before they are read.
    let bytes = unsafe { std::slice::from_raw_parts_mut(out.tail(), room) };
    let written = utf16_to_utf8(units, bytes);
    let needed = str_header_len(written);
    // SAFETY: reserved by the caller: five bytes of header and `3 * len` of text.
    unsafe {
        if needed != guessed {
            let text = out.tail();
            std::ptr::copy(text, text.add(needed).sub(guessed), written);
        }
        out.pos = start;
        put_str_header(written, out);
    }
    out.pos += written;
}

/// Converts to UTF-8 and returns the bytes written. `bytes` must hold three for each unit.
pub fn utf16_to_utf8(units: &[u16], bytes: &mut [u8]) -> usize {
    assert!(bytes.len() >= 3 * units.len());
    let (mut i, mut at) = (0, 0);
    while i < units.len() {
        // ASCII in pieces of sixteen, the rest unit by unit.
        if let Some(piece) = units[i..].first_chunk()
            && let Some(to) = bytes[at..].first_chunk_mut()
        {
            let ascii = narrow(piece, to);
            if ascii == PIECE {
                // By a constant, so that the next piece need not wait for this one.
                (i, at) = (i + PIECE, at + PIECE);
                continue;
            }
            (i, at) = (i + ascii, at + ascii);
        }
        (i, at) = convert_until_ascii(units, i, bytes, at);
    }
    at
}

const PIECE: usize = 16;

/// Writes the low bytes of all units, and says how many at the start are ASCII.
#[inline(always)]
fn narrow(from: &[u16; PIECE], to: &mut [u8; PIECE]) -> usize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: sixteen units and as many bytes; SSE2 is part of x86-64.
    unsafe {
        use std::arch::x86_64::*;
        let a = _mm_loadu_si128(from.as_ptr().cast());
        let b = _mm_loadu_si128(from.as_ptr().add(8).cast());
        _mm_storeu_si128(to.as_mut_ptr().cast(), _mm_packus_epi16(a, b));
        let high_bits = _mm_set1_epi16(0xff80u16 as i16);
        let is_ascii = |units| {
            let high = _mm_and_si128(units, high_bits);
            _mm_cmpeq_epi16(high, _mm_setzero_si128())
        };
        let ascii = _mm_movemask_epi8(_mm_packs_epi16(is_ascii(a), is_ascii(b)));
        (!ascii as u32).trailing_zeros() as usize
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        for (to, &unit) in to.iter_mut().zip(from) {
            *to = unit as u8;
        }
        from.iter().position(|&unit| unit >= 0x80).unwrap_or(PIECE)
    }
}

/// Converts from `i` on up to the first two units that are ASCII: a single one, as between words, is
/// not worth the change.
fn convert_until_ascii(
    units: &[u16],
    mut i: usize,
    bytes: &mut [u8],
    mut at: usize,
) -> (usize, usize) {
    let mut was_ascii = false;
    while i < units.len() {
        let unit = u32::from(units[i]);
        i += 1;
        if unit < 0x80 {
            bytes[at] = unit as u8;
            at += 1;
            if was_ascii {
                break;
            }
            was_ascii = true;
            continue;
        }
        was_ascii = false;
        if unit < 0x800 {
            bytes[at..at + 2]
                .copy_from_slice(&[0xc0 | (unit >> 6) as u8, 0x80 | (unit & 63) as u8]);
            at += 2;
            continue;
        }
        let mut scalar = unit;
        if unit & 0xf800 == 0xd800 {
            let low = units.get(i).map_or(0, |&low| u32::from(low));
            if unit < 0xdc00 && low & 0xfc00 == 0xdc00 {
                i += 1;
                scalar = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                bytes[at..at + 4].copy_from_slice(&[
                    0xf0 | (scalar >> 18) as u8,
                    0x80 | (scalar >> 12 & 63) as u8,
                    0x80 | (scalar >> 6 & 63) as u8,
                    0x80 | (scalar & 63) as u8,
                ]);
                at += 4;
                continue;
            }
            scalar = 0xfffd;
        }
        bytes[at..at + 3].copy_from_slice(&[
            0xe0 | (scalar >> 12) as u8,
            0x80 | (scalar >> 6 & 63) as u8,
            0x80 | (scalar & 63) as u8,
        ]);
        at += 3;
    }
    (i, at)
}

/// Writes the low bytes of `len` units to `to` and says whether all of the units were ASCII. Reads
/// and writes up to 15 units and bytes past the end.
///
/// # Safety
/// `from` is readable for `len + TEXT_PADDING` units, `to` writable for `len + TEXT_PADDING` bytes.
#[inline(always)]
pub unsafe fn narrow_ascii(from: *const u16, len: usize, to: *mut u8) -> bool {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64; each step reads 16 units and writes 16 bytes, at most 15 past
    // the end, which the caller's padding covers.
    unsafe {
        use std::arch::x86_64::{
            __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8,
            _mm_or_si128, _mm_packus_epi16, _mm_set1_epi16, _mm_setzero_si128, _mm_storeu_si128,
        };
        let high_bits = _mm_set1_epi16(0xff80u16 as i16);
        let mut seen = _mm_setzero_si128();
        let mut at = 0;
        while at + 16 <= len {
            let a = _mm_loadu_si128(from.add(at).cast::<__m128i>());
            let b = _mm_loadu_si128(from.add(at + 8).cast::<__m128i>());
            seen = _mm_or_si128(seen, _mm_or_si128(a, b));
            _mm_storeu_si128(to.add(at).cast::<__m128i>(), _mm_packus_epi16(a, b));
            at += 16;
        }
        if at < len {
            let a = _mm_loadu_si128(from.add(at).cast::<__m128i>());
            let b = _mm_loadu_si128(from.add(at + 8).cast::<__m128i>());
            _mm_storeu_si128(to.add(at).cast::<__m128i>(), _mm_packus_epi16(a, b));
            // Only the units of this string count; what lies behind it may be anything.
            let zero = _mm_setzero_si128();
            let a_ascii =
                _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(a, high_bits), zero)) as u32;
            let b_ascii =
                _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(b, high_bits), zero)) as u32;
            let wanted = ((1u64 << (2 * (len - at))) - 1) as u32;
            if (a_ascii | b_ascii << 16) & wanted != wanted {
                return false;
            }
        }
        let none = _mm_cmpeq_epi8(_mm_and_si128(seen, high_bits), _mm_setzero_si128());
        _mm_movemask_epi8(none) == 0xffff
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let mut seen = 0;
        for at in 0..len {
            // SAFETY: inside the string.
            unsafe {
                let unit = *from.add(at);
                seen |= unit;
                *to.add(at) = unit as u8;
            }
        }
        seen < 0x80
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_like_the_standard_library() {
        let samples = ["", "a", "é", "ж漢🐦", "\u{7ff}\u{800}\u{ffff}\u{10000}\u{10ffff}"];
        for sample in samples {
            let units: Vec<u16> = sample.encode_utf16().collect();
            let mut bytes = vec![0; 3 * units.len()];
            let written = utf16_to_utf8(&units, &mut bytes);
            assert_eq!(&bytes[..written], sample.as_bytes());
        }
        for lone in [&[0xd800u16][..], &[0xdc00, 0x78], &[0xd83d, 0xd83d, 0xde00]] {
            let mut bytes = vec![0; 3 * lone.len()];
            let written = utf16_to_utf8(lone, &mut bytes);
            assert_eq!(&bytes[..written], String::from_utf16_lossy(lone).as_bytes());
        }
    }

    #[test]
    fn converts_long_text_of_all_kinds() {
        let pieces =
            ["abcdefghijklmnopqrstuvwxyz", "é", "ж ж", "漢字かな", "🐦", " ", "\u{7f}\u{80}"];
        let mut state = 1u32;
        for len in 0..300 {
            let mut text = String::new();
            while text.len() < len {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let piece = pieces[(state >> 16) as usize % pieces.len()];
                let chars = 1 + (state >> 24) as usize % 40;
                text.extend(piece.chars().cycle().take(chars));
            }
            let mut units: Vec<u16> = text.encode_utf16().collect();
            if state & 1 == 1 {
                units.insert(len / 3, 0xd800 | (state >> 20 & 0x7ff) as u16);
            }
            let expected = String::from_utf16_lossy(&units);
            let mut bytes = vec![0; 3 * units.len()];
            let written = utf16_to_utf8(&units, &mut bytes);
            assert_eq!(&bytes[..written], expected.as_bytes());
        }
    }

    #[test]
    fn narrowing_looks_at_the_string_and_at_nothing_behind_it() {
        for len in 0..70 {
            let mut units = vec![b'a' as u16; len];
            units.extend([0xffff; TEXT_PADDING]);
            let mut bytes = vec![0u8; len + TEXT_PADDING];
            // SAFETY: both have their padding.
            assert!(unsafe { narrow_ascii(units.as_ptr(), len, bytes.as_mut_ptr()) });
            assert!(bytes[..len].iter().all(|&byte| byte == b'a'));
            for bad in 0..len {
                units[bad] = 0x80;
                // SAFETY: as above.
                assert!(!unsafe { narrow_ascii(units.as_ptr(), len, bytes.as_mut_ptr()) });
                units[bad] = 0x161;
                // SAFETY: as above.
                assert!(!unsafe { narrow_ascii(units.as_ptr(), len, bytes.as_mut_ptr()) });
                units[bad] = b'a' as u16;
            }
        }
    }
}
