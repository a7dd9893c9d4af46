//! Which numbers go out as float 32, and what a reader makes of one that stands for a decimal.

use std::sync::LazyLock;

use crate::tape::{FLOAT32_ALWAYS, FLOAT32_LOSSLESS};

/// By the exponent of a float 32: the power of ten that turns its decimal digits into an integer. The
/// factor is as rough as it is wherever such numbers are read.
#[allow(clippy::approx_constant)]
static MULTIPLIERS: LazyLock<[f64; 256]> = LazyLock::new(|| {
    std::array::from_fn(|exponent| {
        let digits = (45.15 - exponent as f64 * 0.30103).floor() as i32;
        format!("1e{digits}").parse().unwrap_or(f64::NAN)
    })
});

fn multiplier(number: f32) -> f64 {
    MULTIPLIERS[(number.to_bits() >> 23 & 0xff) as usize]
}

/// Whether a number that is no integer goes out as float 32, by one of the `FLOAT32_…` modes.
#[inline(always)]
pub fn takes(number: f64, mode: i32) -> bool {
    if mode == FLOAT32_LOSSLESS {
        f64::from(number as f32) == number || number.is_nan()
    } else {
        takes_decimal(number, mode)
    }
}

#[inline(never)]
fn takes_decimal(number: f64, mode: i32) -> bool {
    if !(-2147483648.0..4294967296.0).contains(&number) {
        return false;
    }
    if mode == FLOAT32_ALWAYS {
        return true;
    }
    let scaled = number * multiplier(number as f32);
    f64::from(scaled as i32) == scaled && round(number as f32) == number
}

/// The decimal number that a float 32 stands for: its value to the digits that it can tell apart.
pub fn round(number: f32) -> f64 {
    let multiplier = multiplier(number);
    let scaled = f64::from(number) * multiplier;
    // NaN, the infinities, and what no decimal was written as.
    if !scaled.is_finite() || scaled.abs() >= 2147483648.0 || scaled == 0.0 {
        return f64::from(number);
    }
    (scaled + 0.5f64.copysign(scaled)).trunc() / multiplier
}
