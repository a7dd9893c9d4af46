//! Decimal digits, eight at a time and without a branch for how many there are: numbers of all
//! widths, one after the other, make a branch be guessed wrong for each of them.

const EACH: u64 = u64::from_ne_bytes([1; 8]);
/// More than eight digits can say.
const EIGHT_DIGITS: u64 = 100_000_000;
/// By the number of places.
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut places = 1;
    while places < 20 {
        powers[places] = 10 * powers[places - 1];
        places += 1;
    }
    powers
};

/// What it is to have so many digits behind it, up to 19.
#[inline(always)]
pub fn power(places: usize) -> u64 {
    POWERS[places]
}

/// Bytes of text at whose start a number is looked for. Its digits are read eight at a time from any of
/// the first 32, and then what is behind them does not count.
pub const WINDOW: usize = 48;

/// Which of the first 32 bytes are no digits, the first in the lowest bit. `None` where that takes
/// longer than to read them, or if all are digits.
#[inline(always)]
pub fn others(window: &[u8; WINDOW]) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        let half = |at: usize| {
            // SAFETY: 16 of the bytes from 0 or 16 on; SSE2 is part of x86-64.
            unsafe {
                let bytes = _mm_loadu_si128(window.as_ptr().add(at).cast());
                let digits = _mm_sub_epi8(bytes, _mm_set1_epi8(b'0' as i8));
                // Where the smaller one of it and 9 is itself.
                let is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
                _mm_movemask_epi8(is_digit) as u32
            }
        };
        let others = !(half(0) | half(16) << 16);
        (others != 0).then_some(others)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = window;
        None
    }
}

/// The number that the digits are of which there are `len` at `at`, up to 19.
#[inline(always)]
pub fn value(window: &[u8; WINDOW], at: usize, len: usize) -> u64 {
    match len {
        0..=8 => eight(window, at, len),
        9..=16 => eight(window, at, 8) * power(len - 8) + eight(window, at + 8, len - 8),
        _ => {
            let first = eight(window, at, 8) * EIGHT_DIGITS + eight(window, at + 8, 8);
            first * power(len - 16) + eight(window, at + 16, len - 16)
        }
    }
}

/// The same for what comes in all widths.
#[inline(always)]
pub fn any_value(window: &[u8; WINDOW], at: usize, len: usize) -> u64 {
    if len > 16 {
        return value(window, at, len);
    }
    let behind = len.saturating_sub(8);
    eight(window, at, len - behind) * power(behind) + eight(window, at + 8, behind)
}

#[inline(always)]
fn eight(window: &[u8; WINDOW], at: usize, len: usize) -> u64 {
    let bytes = window[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
    number_of(bytes ^ (EACH * 0x30), len)
}

/// Appends the digits at `at` to a number, which wraps; where they end.
#[inline(always)]
pub fn read(bytes: &[u8], mut at: usize, number: &mut u64) -> usize {
    while let Some(chunk) = bytes[at..].first_chunk() {
        let (digits, count) = leading_digits(u64::from_le_bytes(*chunk));
        *number = number.wrapping_mul(POWERS[count]).wrapping_add(digits);
        at += count;
        if count < 8 {
            return at;
        }
    }
    // Near the end of the text.
    while let Some(&byte) = bytes.get(at)
        && byte.is_ascii_digit()
    {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at += 1;
    }
    at
}

/// The number that the digits are with which eight bytes begin, and how many they are. The first is
/// the lowest byte.
#[inline(always)]
fn leading_digits(bytes: u64) -> (u64, usize) {
    // A digit becomes 0 to 9; ten and more set the highest bit when 0x76 is added. What is carried
    // goes to bytes behind the first of those, which do not count.
    let digits = bytes ^ (EACH * 0x30);
    let others = (digits.wrapping_add(EACH * 0x76) | digits) & (EACH * 0x80);
    let count = others.trailing_zeros() as usize / 8;
    (number_of(digits, count), count)
}

/// The number that the first `len` of eight digits are, each in a byte, the first in the lowest.
#[inline(always)]
fn number_of(digits: u64, len: usize) -> u64 {
    // Zeros take the place of the rest, in front. By 64 in two steps.
    let shift = 4 * (8 - len);
    let digits = digits << shift << shift;
    // Neighbours become numbers of two digits, those of four, and those one of eight.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// Writes a number, and returns where it ends.
///
/// # Safety
/// 24 bytes to write.
#[inline(always)]
pub unsafe fn write(number: u64, to: *mut u8) -> *mut u8 {
    // SAFETY: three times eight bytes at most.
    unsafe {
        if number < EIGHT_DIGITS {
            return write_first(number, to);
        }
        let (high, low) = (number / EIGHT_DIGITS, number % EIGHT_DIGITS);
        let to = if high < EIGHT_DIGITS {
            write_first(high, to)
        } else {
            let to = write_first(high / EIGHT_DIGITS, to);
            write_eight(high % EIGHT_DIGITS, to)
        };
        write_eight(low, to)
    }
}

/// # Safety
/// Eight bytes to write.
#[inline(always)]
unsafe fn write_first(number: u64, to: *mut u8) -> *mut u8 {
    let digits = eight_digits(number);
    // The last one stays if all are zero.
    let zeros = (digits | 1 << 63).trailing_zeros() as usize / 8;
    let text = (digits | (EACH * 0x30)) >> (8 * zeros);
    // SAFETY: the caller's.
    unsafe {
        to.cast::<[u8; 8]>().write_unaligned(text.to_le_bytes());
        to.add(8 - zeros)
    }
}

/// # Safety
/// Eight bytes to write.
#[inline(always)]
unsafe fn write_eight(number: u64, to: *mut u8) -> *mut u8 {
    let text = eight_digits(number) | (EACH * 0x30);
    // SAFETY: the caller's.
    unsafe {
        to.cast::<[u8; 8]>().write_unaligned(text.to_le_bytes());
        to.add(8)
    }
}

/// The digits of a number that has up to eight, each in a byte, the first in the lowest.
#[inline(always)]
fn eight_digits(number: u64) -> u64 {
    // Divided by 10 000, then both halves by 100, then all four by 10: by multiplications that are
    // exact for numbers so small.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_are_read() {
        for number in (0..EIGHT_DIGITS).step_by(9973).chain([12_345_678, 99_999_999]) {
            let text: [u8; 8] = format!("{number:08}").into_bytes().try_into().unwrap_or_default();
            for count in 0..=8 {
                let before = number / POWERS[8 - count];
                let others: &[u8] =
                    if count == 8 { b"0" } else { &[0, 47, 58, 128, 176, 185, 255] };
                for &other in others {
                    let mut text = text;
                    if count < 8 {
                        text[count] = other;
                    }
                    assert_eq!(leading_digits(u64::from_le_bytes(text)), (before, count));
                }
            }
        }
        for other in (0..=255).filter(|byte: &u8| !byte.is_ascii_digit()) {
            for at in 0..8 {
                let mut text = *b"12345678";
                text[at] = other;
                assert_eq!(leading_digits(u64::from_le_bytes(text)).1, at);
            }
        }
        for (text, at, number) in [
            ("", 0, 7),
            ("x", 0, 7),
            ("0", 1, 70),
            ("1234567", 7, 71_234_567),
            ("1234567890123456,", 16, 71_234_567_890_123_456),
            (
                "18446744073709551615 ",
                20,
                7u64.wrapping_mul(10u64.wrapping_pow(20)).wrapping_sub(1),
            ),
        ] {
            let mut found = 7;
            assert_eq!(read(text.as_bytes(), 0, &mut found), at, "{text}");
            assert_eq!(found, number, "{text}");
        }
    }

    #[test]
    fn digits_that_are_written() {
        let check = |number: u64| {
            let mut text = [b'x'; 24];
            // SAFETY: as many bytes.
            let end = unsafe { write(number, text.as_mut_ptr()) };
            let len = end as usize - text.as_ptr() as usize;
            assert_eq!(text[..len], *number.to_string().as_bytes());
        };
        for power in 0..20 {
            let power = 10u64.pow(power);
            for number in [power - 1, power, power + 1, 2 * (power / 3)] {
                check(number);
            }
        }
        (0..2_000_000).chain((0..EIGHT_DIGITS).step_by(9973)).for_each(check);
        (0..64).for_each(|bits| check(u64::MAX >> bits));
    }
}
