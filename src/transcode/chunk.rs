//! Strings in chunks: copied whole, the last one with what is behind the string, and looked through on
//! the way for what ends a JSON string or needs an escape in it.

pub const CHUNK: usize = 16;

/// What a chunk holds.
pub struct Chunk {
    /// So many bytes come before the first quote, backslash or control character.
    pub plain: usize,
    pub is_ascii: bool,
}

/// # Safety
/// `CHUNK` bytes to read at `from`, and as many of room at `to`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn copy_chunk(from: *const u8, to: *mut u8) -> Chunk {
    use std::arch::x86_64::*;
    // SAFETY: the caller's bytes; SSE2 is part of x86-64.
    unsafe {
        let bytes = _mm_loadu_si128(from.cast());
        _mm_storeu_si128(to.cast(), bytes);
        let equals = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
        // Where the smaller one of a byte and 0x1f is the byte, it is a control character.
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        let escaped = _mm_or_si128(control, _mm_or_si128(equals(b'"'), equals(b'\\')));
        Chunk {
            plain: (_mm_movemask_epi8(escaped) | 1 << CHUNK).trailing_zeros() as usize,
            is_ascii: _mm_movemask_epi8(bytes) == 0,
        }
    }
}

/// # Safety
/// `CHUNK` bytes to read at `from`, and as many of room at `to`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub unsafe fn copy_chunk(from: *const u8, to: *mut u8) -> Chunk {
    use super::json_text::plain_bytes;
    // SAFETY: the caller's bytes.
    let [first, last] = unsafe {
        let bytes = from.cast::<[u64; 2]>().read_unaligned();
        to.cast::<[u64; 2]>().write_unaligned(bytes);
        bytes.map(u64::to_le)
    };
    let plain = match plain_bytes(first) {
        8 => 8 + plain_bytes(last),
        plain => plain,
    };
    Chunk { plain, is_ascii: (first | last) & u64::from_ne_bytes([0x80; 8]) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain() {
        for at in 0..=CHUNK {
            for odd in 0..=255u8 {
                let mut from = *b"abcdefgh~!#[]\x7f\xc3\xa9";
                if let Some(byte) = from.get_mut(at) {
                    *byte = odd;
                }
                let mut to = [0; CHUNK];
                // SAFETY: both have a chunk.
                let chunk = unsafe { copy_chunk(from.as_ptr(), to.as_mut_ptr()) };
                let is_odd = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
                assert_eq!(chunk.plain, from.iter().position(is_odd).unwrap_or(CHUNK), "{from:?}");
                assert_eq!(chunk.is_ascii, from.is_ascii());
                assert_eq!(to, from);
            }
        }
    }
}
