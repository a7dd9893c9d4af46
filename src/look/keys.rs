//! One level of a message: where its values are, and its keys as a message of their own, which the
//! parser reads like any other.

use crate::look::path::{Inside, inside, skip_one};
use crate::look::skip::{Kinds, LENGTHS};
use crate::look::validate::{Rules, Validator};
use crate::tape::{Fault, PLACE_ARRAY, PLACE_MAP, PLACE_VALUE};
use crate::token::truncated;
use crate::wire;

/// An array or a map.
pub struct Level {
    pub is_map: bool,
    /// Nothing in it has anything inside or a length of its own: then the rest is not filled.
    pub is_flat: bool,
    /// Where each value starts, and what it has inside, a `PLACE_…` value.
    pub values: Vec<(usize, i32)>,
    /// An array of the keys, packed.
    pub keys: Vec<u8>,
}

/// The level at `at`, `None` where there is no array and no map.
pub fn level(input: &[u8], at: usize, kinds: &Kinds) -> Result<Option<Level>, Fault> {
    let (is_map, n, first) = match inside(input, at)? {
        Inside::Array { n, first } => (false, n, first),
        Inside::Map { n, first } => (true, n, first),
        Inside::Nothing => return Ok(None),
    };
    check_claim(input, at, first, n, is_map)?;
    let mut level = Level { is_map, is_flat: true, values: Vec::new(), keys: Vec::new() };
    if is_flat(input, first, if is_map { 2 * n } else { n }) {
        return Ok(Some(level));
    }
    level.is_flat = false;
    level.values.reserve_exact(n);
    if is_map {
        array_header(&mut level.keys, n);
    }
    let mut pos = first;
    for _ in 0..n {
        if is_map {
            let end = skip_one(input, pos, kinds)?;
            level.keys.extend_from_slice(&input[pos..end]);
            pos = end;
        }
        let end = skip_one(input, pos, kinds)?;
        let kind = match inside(input, pos)? {
            Inside::Array { .. } => PLACE_ARRAY,
            Inside::Map { .. } => PLACE_MAP,
            Inside::Nothing => PLACE_VALUE,
        };
        level.values.push((pos, kind));
        pos = end;
    }
    Ok(Some(level))
}

/// Whether the first byte of each value tells its length.
fn is_flat(input: &[u8], mut pos: usize, n: usize) -> bool {
    (0..n).all(|_| {
        let len = input.get(pos).map_or(0, |&byte| usize::from(LENGTHS[usize::from(byte)]));
        pos += len;
        len > 0
    })
}

/// The keys of the map at `at`, packed, with the faults that unpacking them where they are would
/// have; `None` where there is no map.
pub fn keys(input: &[u8], at: usize, rules: &Rules) -> Result<Option<Vec<u8>>, Fault> {
    let Inside::Map { n, first } = inside(input, at)? else {
        return Ok(None);
    };
    check_claim(input, at, first, n, true)?;
    let mut keys = Vec::new();
    array_header(&mut keys, n);
    let mut validator = Validator::default();
    let mut pos = first;
    for _ in 0..n {
        let end = validator.key(input, pos, rules)?;
        keys.extend_from_slice(&input[pos..end]);
        pos = skip_one(input, end, rules.kinds)?;
    }
    Ok(Some(keys))
}

/// Entries that could not be there are not counted on.
pub fn check_claim(
    input: &[u8],
    at: usize,
    first: usize,
    n: usize,
    is_map: bool,
) -> Result<(), Fault> {
    let least = if is_map { 2 * n } else { n };
    if least > input.len() - first { Err(truncated(at)) } else { Ok(()) }
}

fn array_header(to: &mut Vec<u8>, n: usize) {
    to.push(wire::ARRAY32);
    to.extend((n as u32).to_be_bytes());
}
