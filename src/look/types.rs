//! What a value is, by its head: its type and its length.

use crate::look::keys::check_claim;
use crate::look::path::{Inside, Rules, inside};
use crate::look::skip::is_tag;
use crate::tape::*;
use crate::token::{Token, token};
use crate::unpack::parse::Utf8;
use crate::wire;

/// One of the `TYPE_…` values, and how long it is: elements, pairs, UTF-16 units or bytes.
pub fn type_at(input: &[u8], at: usize, rules: &Rules) -> Result<(i32, Option<usize>), Fault> {
    match inside(input, at)? {
        Inside::Array { n, first } => {
            check_claim(input, at, first, n, false)?;
            return Ok((TYPE_ARRAY, Some(n)));
        }
        Inside::Map { n, first } => {
            check_claim(input, at, first, n, true)?;
            return Ok((TYPE_MAP, Some(n)));
        }
        Inside::Nothing => {}
    }
    let (token, _) = token(input, at)?;
    Ok(match token {
        Token::Nil => (TYPE_NIL, None),
        Token::Bool(_) => (TYPE_BOOLEAN, None),
        Token::Int(_) | Token::Uint(_) => (TYPE_INTEGER, None),
        Token::Float32(_) | Token::Float64(_) => (TYPE_FLOAT, None),
        Token::Str(range) => {
            let units = units(&input[range.clone()], rules.utf8);
            (TYPE_STRING, Some(units.ok_or_else(|| Fault::at(FAULT_INVALID_UTF8, at))?))
        }
        Token::Bin(range) => (TYPE_BINARY, Some(range.len())),
        Token::Ext(ext_type, range) => match rules.kinds[usize::from(ext_type as u8)] {
            KIND_EXT if ext_type == wire::TIMESTAMP => (TYPE_TIMESTAMP, None),
            kind if is_tag(kind) => (TYPE_EXT, None),
            _ => (TYPE_EXT, Some(range.len())),
        },
        Token::Array(_) | Token::Map(_) => (TYPE_ARRAY, None),
    })
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
