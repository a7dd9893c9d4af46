//! Looking at the addon's edge: paths and options in, places in the input out, through a header
//! block of its own.

use std::cell::RefCell;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::sys::{self, napi_callback_info, napi_env, napi_value};
use napi::{Error, Result};

use super::keys::{self, Level};
use super::many::find_many;
use super::path::{self, Path};
use super::skip::{Kinds, skip};
use super::types::{length_at, type_at};
use super::validate::{self, Summary, Validator};
use crate::addon::{
    add_function, array_buffer, bytes, call, check, fault_value, integer, numbers, private_bytes,
};
use crate::memory;
use crate::pool;
use crate::tape::*;
use crate::unpack::parse::Options;

struct Looker {
    /// An ArrayBuffer that JavaScript holds.
    words: *mut i32,
    kinds: Kinds,
    validator: Validator,
    /// Of streams.
    streams: Vec<Option<Validator>>,
}

type Shared = RefCell<Looker>;

/// `createLooker()` → an object with the functions below.
pub(crate) unsafe extern "C" fn create_looker(
    env: napi_env,
    info: napi_callback_info,
) -> napi_value {
    fn body(_: &(), env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let shared = Rc::new(RefCell::new(Looker {
            words: null_mut(),
            kinds: [KIND_EXT; 256],
            validator: Validator::default(),
            streams: Vec::new(),
        }));
        let mut looker = null_mut();
        // SAFETY: `env` is live; every function gets its own count of the state.
        unsafe {
            check(sys::napi_create_object(env, &mut looker))?;
            add_function(env, looker, c"setHeader", set_header, shared.clone())?;
            add_function(env, looker, c"setExtKind", set_ext_kind, shared.clone())?;
            add_function(env, looker, c"find", find, shared.clone())?;
            add_function(env, looker, c"findMany", find_many_values, shared.clone())?;
            add_function(env, looker, c"lengthOf", length_of, shared.clone())?;
            add_function(env, looker, c"keys", keys_of, shared.clone())?;
            add_function(env, looker, c"level", level_of, shared.clone())?;
            add_function(env, looker, c"validate", validate_all, shared.clone())?;
            add_function(env, looker, c"validateAsync", validate_async, shared.clone())?;
            add_function(env, looker, c"openStream", open_stream, shared.clone())?;
            add_function(env, looker, c"feed", feed, shared.clone())?;
            add_function(env, looker, c"closeStream", close_stream, shared)?;
        }
        Ok(looker)
    }
    // SAFETY: made by `lib.rs` with this state.
    unsafe { call(env, info, body) }
}

fn borrow(shared: &Shared) -> Result<std::cell::RefMut<'_, Looker>> {
    shared.try_borrow_mut().map_err(|_| Error::from_reason("the looker is in use"))
}

/// The header block, and the state that is no part of it.
fn parts(looker: &mut Looker) -> (&mut [i32], &Kinds, &mut Validator) {
    // SAFETY: JavaScript sets the header first and holds it; nothing else runs during a call.
    let words = unsafe { std::slice::from_raw_parts_mut(looker.words, HEADER_WORDS as usize) };
    (words, &looker.kinds, &mut looker.validator)
}

/// Says in the header what became of a call.
fn settle<T>(words: &mut [i32], outcome: std::result::Result<Option<T>, Fault>) -> Option<T> {
    let (status, value) = match outcome {
        Ok(Some(value)) => (STATUS_OK, Some(value)),
        Ok(None) => (STATUS_ABSENT, None),
        Err(fault) => {
            set_header_f64(words, LENGTH_F64, fault.offset as f64);
            (fault.code, None)
        }
    };
    words[STATUS as usize] = status;
    value
}

fn path_rules<'a>(words: &[i32], kinds: &'a Kinds) -> path::Rules<'a> {
    let Options { int64, utf8, map_keys, .. } = Options::from_bits(words[OPTIONS as usize], 0, 0);
    path::Rules { kinds, int64, utf8, map_keys }
}

fn validate_rules<'a>(words: &[i32], kinds: &'a Kinds) -> validate::Rules<'a> {
    let max_depth = words[MAX_DEPTH as usize] as usize;
    let multiple = words[MODE as usize] == MODE_ALL;
    validate::Rules::from_bits(words[OPTIONS as usize], max_depth, multiple, kinds)
}

/// Where the packed path leads; without one, to the whole value.
fn find_value(
    input: &[u8],
    packed: Option<&[u8]>,
    rules: &path::Rules,
) -> std::result::Result<Option<usize>, Fault> {
    match packed {
        Some(packed) => path::find(input, 0, &mut Path::new(packed, 0)?, rules),
        None => Ok(Some(0)),
    }
}

/// The bytes of an argument that JavaScript has packed, `None` for anything else.
///
/// # Safety
/// As for `bytes`.
unsafe fn packed<'a>(env: napi_env, value: napi_value) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { bytes(env, value) }
}

/// Runs `look` on the input; a status says where the input is none that can be read as it is.
fn with_input(
    shared: &Shared,
    env: napi_env,
    input: napi_value,
    look: impl FnOnce(&[u8], &mut [i32], &Kinds, &mut Validator) -> Result<napi_value>,
) -> Result<napi_value> {
    let mut looker = borrow(shared)?;
    let (words, kinds, validator) = parts(&mut looker);
    // SAFETY: no JavaScript runs before this call returns.
    let Some(input) = (unsafe { private_bytes(env, input) }) else {
        words[STATUS as usize] = FAULT_INPUT;
        return Ok(null_mut());
    };
    look(input, words, kinds, validator)
}

/// `find(bytes, path)`: looks for a value; MODE says what is asked of it.
unsafe extern "C" fn find(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [input, path]: [napi_value; 2]) -> Result<napi_value> {
        // SAFETY: no JavaScript runs before this call returns.
        let packed = unsafe { packed(env, path) };
        with_input(shared, env, input, |input, words, kinds, _| {
            let rules = path_rules(words, kinds);
            let outcome = find_value(input, packed, &rules).and_then(|found| {
                let Some(at) = found else { return Ok(None) };
                match words[MODE as usize] {
                    LOOK_END => {
                        let end = skip(input, at, 1, kinds)?;
                        set_header_f64(words, LENGTH_F64, end as f64);
                    }
                    LOOK_TYPE => words[TYPE as usize] = type_at(input, at, kinds)?,
                    LOOK_LENGTH => {
                        let length = length_at(input, at, &rules)?;
                        set_header_f64(words, LENGTH_F64, length.map_or(-1.0, |n| n as f64));
                    }
                    _ => {}
                }
                Ok(Some(at))
            });
            if let Some(at) = settle(words, outcome) {
                set_header_f64(words, OFFSET_F64, at as f64);
            }
            Ok(null_mut())
        })
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `findMany(bytes, paths)` → an ArrayBuffer of doubles: where each value is, NaN for none.
unsafe extern "C" fn find_many_values(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [input, paths]: [napi_value; 2]) -> Result<napi_value> {
        // SAFETY: no JavaScript runs before this call returns.
        let packed = unsafe { packed(env, paths) }.unwrap_or_default();
        with_input(shared, env, input, |input, words, kinds, _| {
            let outcome = find_many(input, packed, &path_rules(words, kinds)).map(Some);
            let Some(found) = settle(words, outcome) else { return Ok(null_mut()) };
            let places = found.into_iter().map(|at| at.map_or(f64::NAN, |at| at as f64));
            new_memory(env, places, &[])
        })
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `lengthOf(bytes)`: where the value at OFFSET_F64 ends: LENGTH_F64.
unsafe extern "C" fn length_of(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [input]: [napi_value; 1]) -> Result<napi_value> {
        with_input(shared, env, input, |input, words, kinds, _| {
            let start = (header_f64(words, OFFSET_F64) as usize).min(input.len());
            let outcome = skip(input, start, 1, kinds).map(Some);
            if let Some(end) = settle(words, outcome) {
                set_header_f64(words, LENGTH_F64, end as f64);
            }
            Ok(null_mut())
        })
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `keys(bytes, path)` → an ArrayBuffer: the keys of a map, packed as an array.
unsafe extern "C" fn keys_of(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [input, path]: [napi_value; 2]) -> Result<napi_value> {
        // SAFETY: no JavaScript runs before this call returns.
        let packed = unsafe { packed(env, path) };
        with_input(shared, env, input, |input, words, kinds, _| {
            let rules = validate_rules(words, kinds);
            let outcome = find_value(input, packed, &path_rules(words, kinds)).and_then(|found| {
                let Some(at) = found else { return Ok(None) };
                keys::keys(input, at, &rules)
            });
            match settle(words, outcome) {
                Some(keys) => new_memory(env, std::iter::empty(), &keys),
                None => Ok(null_mut()),
            }
        })
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `level(bytes)` → an ArrayBuffer: the places of the values of the container at OFFSET_F64, as
/// doubles, and behind them the keys of a map, packed as an array. VALUES_F64 says how many, TYPE the
/// `LEVEL_…` bits; what is flat has no places.
unsafe extern "C" fn level_of(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [input]: [napi_value; 1]) -> Result<napi_value> {
        with_input(shared, env, input, |input, words, kinds, _| {
            let start = (header_f64(words, OFFSET_F64) as usize).min(input.len());
            let outcome = keys::level(input, start, kinds);
            let Some(Level { is_map, is_flat, values, keys }) = settle(words, outcome) else {
                return Ok(null_mut());
            };
            words[TYPE as usize] =
                if is_map { LEVEL_MAP } else { 0 } | if is_flat { LEVEL_FLAT } else { 0 };
            set_header_f64(words, VALUES_F64, values.len() as f64);
            let places = values
                .into_iter()
                .map(|(at, kind)| at as f64 * f64::from(PLACE_KINDS) + f64::from(kind));
            new_memory(env, places, &keys)
        })
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `validate(bytes)`: all of the input, as one message or with MODE_ALL as any number of them.
unsafe extern "C" fn validate_all(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [input]: [napi_value; 1]) -> Result<napi_value> {
        with_input(shared, env, input, |input, words, kinds, validator| {
            let outcome = validator.whole(input, &validate_rules(words, kinds));
            report(words, outcome);
            Ok(null_mut())
        })
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

struct ValidateJob {
    input: Vec<u8>,
    flags: i32,
    max_depth: usize,
    multiple: bool,
    kinds: Kinds,
    outcome: std::result::Result<Summary, Fault>,
}

impl pool::Job for ValidateJob {
    fn run(&mut self) {
        let rules =
            validate::Rules::from_bits(self.flags, self.max_depth, self.multiple, &self.kinds);
        self.outcome = validate::validate(&self.input, &rules);
    }

    fn finish(self, env: napi_env) -> Result<napi_value> {
        let Summary { values, bytes, depth, nodes } = match self.outcome {
            Ok(summary) => summary,
            Err(fault) => return fault_value(env, fault),
        };
        let (values, bytes, nodes) = (values as f64, bytes as f64, nodes as f64);
        let properties =
            [(c"values", values), (c"bytes", bytes), (c"depth", depth as f64), (c"nodes", nodes)];
        numbers(env, &properties)
    }
}

/// `validateAsync(bytes, flags, maxDepth, multiple)`: the same on another thread; a promise of an
/// object with the figures, or of a fault.
unsafe extern "C" fn validate_async(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [input, flags, max_depth, multiple]: [napi_value; 4],
    ) -> Result<napi_value> {
        let job = ValidateJob {
            // SAFETY: no JavaScript runs while the bytes are copied.
            input: memory::copy(unsafe { private_bytes(env, input) }.unwrap_or_default()),
            flags: integer(env, flags)? as i32,
            max_depth: integer(env, max_depth)? as usize,
            multiple: integer(env, multiple)? != 0,
            kinds: borrow(shared)?.kinds,
            outcome: Ok(Summary::default()),
        };
        pool::start(env, job)
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

fn report(words: &mut [i32], outcome: std::result::Result<Summary, Fault>) {
    if let Some(Summary { values, bytes, depth, nodes }) = settle(words, outcome.map(Some)) {
        words[DEPTH as usize] = depth as i32;
        set_header_f64(words, VALUES_F64, values as f64);
        set_header_f64(words, NODES_F64, nodes as f64);
        set_header_f64(words, LENGTH_F64, bytes as f64);
    }
}

/// `openStream()` → the number of a validator for bytes in pieces.
unsafe extern "C" fn open_stream(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let mut looker = borrow(shared)?;
        let streams = &mut looker.streams;
        let number = streams.iter().position(Option::is_none).unwrap_or_else(|| {
            streams.push(None);
            streams.len() - 1
        });
        streams[number] = Some(Validator::default());
        let mut result = null_mut();
        // SAFETY: a live environment.
        check(unsafe { sys::napi_create_uint32(env, number as u32, &mut result) })?;
        Ok(result)
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `feed(piece, number, isLast)`: goes on with a validator; a last piece may be no bytes at all.
unsafe extern "C" fn feed(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [piece, number, is_last]: [napi_value; 3],
    ) -> Result<napi_value> {
        let (number, is_last) = (integer(env, number)? as usize, integer(env, is_last)? != 0);
        let mut looker = borrow(shared)?;
        let looker = &mut *looker;
        let Some(Some(mut validator)) = looker.streams.get_mut(number).map(Option::take) else {
            return Err(Error::from_reason("a validator"));
        };
        let (words, kinds, _) = parts(looker);
        // SAFETY: no JavaScript runs before this call returns.
        let outcome = match unsafe { private_bytes(env, piece) } {
            Some(piece) => validator.feed(piece, &validate_rules(words, kinds), is_last),
            None if is_last => validator.feed(&[], &validate_rules(words, kinds), true),
            None => Err(Fault::at(FAULT_INPUT, 0)),
        };
        report(words, outcome);
        looker.streams[number] = Some(validator);
        Ok(null_mut())
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `closeStream(number)`: the validator is not needed any more.
unsafe extern "C" fn close_stream(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [number]: [napi_value; 1]) -> Result<napi_value> {
        let number = integer(env, number)? as usize;
        if let Some(stream) = borrow(shared)?.streams.get_mut(number) {
            *stream = None;
        }
        Ok(null_mut())
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `setHeader(arrayBuffer)`: the header block from now on.
unsafe extern "C" fn set_header(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [header]: [napi_value; 1]) -> Result<napi_value> {
        // SAFETY: JavaScript holds the header and never detaches it.
        let (data, len) = unsafe { array_buffer(env, header)? };
        if len < 4 * HEADER_WORDS as usize {
            return Err(Error::from_reason("a header block"));
        }
        borrow(shared)?.words = data.cast();
        Ok(null_mut())
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// `setExtKind(type, kind)`: what an ext type (0 to 255) means from now on.
unsafe extern "C" fn set_ext_kind(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [ext_type, kind]: [napi_value; 2],
    ) -> Result<napi_value> {
        let (ext_type, kind) = (integer(env, ext_type)?, integer(env, kind)?);
        borrow(shared)?.kinds[usize::from(ext_type as u8)] = kind as i32;
        Ok(null_mut())
    }
    // SAFETY: made by `create_looker` with this state.
    unsafe { call(env, info, body) }
}

/// An ArrayBuffer of doubles and the bytes behind them.
fn new_memory(
    env: napi_env,
    doubles: impl ExactSizeIterator<Item = f64>,
    behind: &[u8],
) -> Result<napi_value> {
    let (mut data, mut buffer) = (null_mut(), null_mut());
    let size = 8 * doubles.len() + behind.len();
    // SAFETY: a live environment.
    check(unsafe { sys::napi_create_arraybuffer(env, size, &mut data, &mut buffer) })?;
    if size > 0 {
        // SAFETY: new memory of this size that only this call knows.
        let memory = unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>(), size) };
        let (front, back) = memory.split_at_mut(8 * doubles.len());
        for (place, double) in front.chunks_exact_mut(8).zip(doubles) {
            place.copy_from_slice(&double.to_ne_bytes());
        }
        back.copy_from_slice(behind);
    }
    Ok(buffer)
}
