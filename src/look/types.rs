//! What a value is, by its head: its type and its length.

use crate::look::keys::check_claim;
use crate::look::path::Rules;
use crate::look::skip::{Kinds, is_tag};
use crate::tape::*;
use crate::token::{Token, token};
use crate::unpack::parse::Utf8;
use crate::wire;

/// One of the `TYPE_…` values.
pub fn type_at(input: &[u8], at: usize, kinds: &Kinds) -> Result<i32, Fault> {
    Ok(match token(input, at)?.0 {
        Token::Nil => TYPE_NIL,
        Token::Bool(_) => TYPE_BOOLEAN,
        Token::Int(_) | Token::Uint(_) => TYPE_INTEGER,
        Token::Float32(_) | Token::Float64(_) => TYPE_FLOAT,
        Token::Str(_) => TYPE_STRING,
        Token::Bin(_) => TYPE_BINARY,
        Token::Array(_) => TYPE_ARRAY,
        Token::Map(_) => TYPE_MAP,
        Token::Ext(ext_type, _) if is_timestamp(ext_type, kinds) => TYPE_TIMESTAMP,
        Token::Ext(..) => TYPE_EXT,
    })
}

/// Elements, pairs, UTF-16 units or bytes, `None` for what has no length.
pub fn length_at(input: &[u8], at: usize, rules: &Rules) -> Result<Option<usize>, Fault> {
    let (token, end) = token(input, at)?;
    Ok(match token {
        Token::Array(n) => {
            check_claim(input, at, end, n as usize, false)?;
            Some(n as usize)
        }
        Token::Map(n) => {
            check_claim(input, at, end, n as usize, true)?;
            Some(n as usize)
        }
        Token::Str(text) => {
            let units = units(&input[text], rules.utf8);
            Some(units.ok_or_else(|| Fault::at(FAULT_INVALID_UTF8, at))?)
        }
        Token::Bin(data) => Some(data.len()),
        Token::Ext(ext_type, data) => {
            let is_tag = is_tag(rules.kinds[usize::from(ext_type as u8)]);
            let has_length = !is_tag && !is_timestamp(ext_type, rules.kinds);
            has_length.then_some(data.len())
        }
        _ => None,
    })
}

fn is_timestamp(ext_type: i8, kinds: &Kinds) -> bool {
    ext_type == wire::TIMESTAMP && kinds[usize::from(ext_type as u8)] == KIND_EXT
}

/// UTF-16 units of the string that `bytes` become, or the bytes where they become a buffer.
fn units(bytes: &[u8], utf8: Utf8) -> Option<usize> {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        // A unit for each first byte, and two for those of four bytes.
        let units = bytes.iter().filter(|&&byte| byte as i8 >= -0x40).count();
        return Some(units + bytes.iter().filter(|&&byte| byte >= 0xf0).count());
    }
    match utf8 {
        Utf8::Fatal => None,
        Utf8::Raw => Some(bytes.len()),
        Utf8::Replace => Some(String::from_utf8_lossy(bytes).encode_utf16().count()),
    }
}
