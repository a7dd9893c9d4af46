//! One value's bytes: the shortest form of each header and number.

use super::float32;
use super::out::Out;
use crate::tape::{OPT_FLOAT32, OPT_INT32, OPT_MAP16};
use crate::wire::{self, IntForm, MAX_SAFE_INTEGER, NEGATIVE_FORMS};

/// # Safety
/// Ten bytes of room.
#[inline(always)]
unsafe fn put_form(form: wire::IntForm, bits: u64, out: &mut Out) {
    let tail = out.tail();
    // SAFETY: the caller's ten bytes: a marker and eight more, of which `len` stay.
    unsafe {
        *tail = form.marker;
        let bytes = (bits << form.shift).to_be_bytes();
        tail.add(usize::from(form.at)).cast::<[u8; 8]>().write_unaligned(bytes);
    }
    out.pos += usize::from(form.len);
}

/// The shortest of the integer forms, without a branch on its width.
///
/// # Safety
/// Ten bytes of room.
#[inline(always)]
pub(crate) unsafe fn put_int(int: i64, unsigned: &'static [IntForm; 65], out: &mut Out) {
    let magnitude = (int ^ (int >> 63)) as u64;
    let bits = 64 - magnitude.leading_zeros() as usize;
    let forms = if int < 0 { &NEGATIVE_FORMS } else { unsigned };
    // SAFETY: passed on.
    unsafe { put_form(forms[bits], int as u64, out) }
}

/// # Safety
/// Ten bytes of room.
#[inline(always)]
pub(crate) unsafe fn put_unsigned(int: u64, unsigned: &'static [IntForm; 65], out: &mut Out) {
    // SAFETY: passed on.
    unsafe { put_form(unsigned[64 - int.leading_zeros() as usize], int, out) }
}

/// The integer part of a number that fits 64 bits; what others give is in no relation to them, and
/// never a safe integer equal to them. (`as` saturates instead, which costs more.)
#[inline(always)]
fn truncate(number: f64) -> i64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_mm_cvttsd_si64, _mm_set_sd};
        _mm_cvttsd_si64(_mm_set_sd(number))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        number as i64
    }
}

/// An integer in the safe range goes out as one, anything else as a float.
///
/// # Safety
/// Ten bytes of room.
#[inline(always)]
pub(crate) unsafe fn put_number<const OPTIONS: bool>(
    number: f64,
    options: i32,
    unsigned: &'static [IntForm; 65],
    out: &mut Out,
) {
    let int = truncate(number);
    let in_range = if OPTIONS && options & OPT_INT32 != 0 {
        (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&int)
    } else {
        int.unsigned_abs() <= MAX_SAFE_INTEGER as u64
    };
    let is_int = int as f64 == number && in_range && (int != 0 || number.to_bits() == 0);
    let float32 = options & OPT_FLOAT32;
    // SAFETY: passed on.
    unsafe {
        if is_int {
            put_int(int, unsigned, out);
        } else if float32 != 0 && float32::takes(number, float32) {
            // float 32
            let bits = if number.is_nan() { 0x7fc0_0000 } else { (number as f32).to_bits() };
            out.put(wire::FLOAT32);
            out.put_bytes(bits.to_be_bytes());
        } else {
            // float 64. A NaN's payload is no value of JavaScript's: all of them are one NaN.
            let bits = if number.is_nan() { 0x7ff8_0000_0000_0000 } else { number.to_bits() };
            let tail = out.tail();
            *tail = wire::FLOAT64;
            tail.add(1).cast::<[u8; 8]>().write_unaligned(bits.to_be_bytes());
            out.pos += 9;
        }
    }
}

/// # Safety
/// Five bytes of room.
#[inline(always)]
pub(crate) unsafe fn put_array_header(n: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        match n {
            0..=15 => out.put(wire::FIXARRAY | n as u8),
            16..=0xffff => put_16(wire::ARRAY16, n, out),
            _ => put_32(wire::ARRAY32, n, out),
        }
    }
}

/// # Safety
/// Five bytes of room.
#[inline(always)]
pub(crate) unsafe fn put_map_header(n: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        match n {
            0..=15 => out.put(wire::FIXMAP | n as u8),
            16..=0xffff => put_16(wire::MAP16, n, out),
            _ => put_32(wire::MAP32, n, out),
        }
    }
}

/// The header of an object that is no record.
///
/// # Safety
/// Five bytes of room.
#[inline(always)]
pub(crate) unsafe fn put_object_header<const OPTIONS: bool>(n: u32, options: i32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        if OPTIONS && options & OPT_MAP16 != 0 && n <= 0xffff {
            put_16(wire::MAP16, n, out);
        } else {
            put_map_header(n, out);
        }
    }
}

/// # Safety
/// Five bytes of room.
pub(crate) unsafe fn put_bin_header(n: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        match n {
            0..=0xff => out.put_bytes([wire::BIN8, n as u8]),
            0x100..=0xffff => put_16(wire::BIN16, n, out),
            _ => put_32(wire::BIN32, n, out),
        }
    }
}

/// # Safety
/// Six bytes of room.
pub(crate) unsafe fn put_ext_header(ext_type: i8, n: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        match n {
            1 => out.put(wire::FIXEXT1),
            2 => out.put(wire::FIXEXT2),
            4 => out.put(wire::FIXEXT4),
            8 => out.put(wire::FIXEXT8),
            16 => out.put(wire::FIXEXT16),
            _ => return put_long_ext_header(ext_type, n, out),
        }
        out.put(ext_type as u8);
    }
}

/// Never one of the fixed lengths.
///
/// # Safety
/// Six bytes of room.
pub(crate) unsafe fn put_long_ext_header(ext_type: i8, n: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        match n {
            0..=0xff => out.put_bytes([wire::EXT8, n as u8]),
            0x100..=0xffff => put_16(wire::EXT16, n, out),
            _ => put_32(wire::EXT32, n, out),
        }
        out.put(ext_type as u8);
    }
}

/// The shortest of the three forms: 32 bits of seconds, 30 + 34 bits, or 32 + 64 bits.
/// <https://github.com/msgpack/msgpack/blob/master/spec.md#timestamp-extension-type>
///
/// # Safety
/// Fifteen bytes of room.
pub(crate) unsafe fn put_timestamp(seconds: i64, nanoseconds: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        if nanoseconds == 0 && u32::try_from(seconds).is_ok() {
            out.put_bytes([wire::FIXEXT4, wire::TIMESTAMP as u8]);
            out.put_bytes((seconds as u32).to_be_bytes());
        } else if (0..1 << 34).contains(&seconds) {
            out.put_bytes([wire::FIXEXT8, wire::TIMESTAMP as u8]);
            out.put_bytes((u64::from(nanoseconds) << 34 | seconds as u64).to_be_bytes());
        } else {
            out.put_bytes([wire::EXT8, 12, wire::TIMESTAMP as u8]);
            out.put_bytes(nanoseconds.to_be_bytes());
            out.put_bytes(seconds.to_be_bytes());
        }
    }
}

/// # Safety
/// Three bytes of room.
unsafe fn put_16(marker: u8, n: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        out.put(marker);
        out.put_bytes((n as u16).to_be_bytes());
    }
}

/// # Safety
/// Five bytes of room.
unsafe fn put_32(marker: u8, n: u32, out: &mut Out) {
    // SAFETY: passed on.
    unsafe {
        out.put(marker);
        out.put_bytes(n.to_be_bytes());
    }
}
