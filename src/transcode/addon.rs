//! What JavaScript calls: a whole text or message at once, or a stream of them piece by piece.

use std::cell::RefCell;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::sys::{self, napi_callback_info, napi_env, napi_value};
use napi::{Error, Result};

use super::from_json::{self, FromJson, JsonFault};
use super::json_text::{Binary, Text};
use super::path_filter::PathFilter;
use super::to_json::{self, ToJson};
use super::values;
use crate::addon::{
    add_function, call, check, fetch_utf8, fetch_utf16, integer, private_bytes, strings,
};
use crate::pack::text::utf16_to_utf8;
use crate::pool;
use crate::tape::*;

/// What was read of the options, and the kinds of ext types.
#[derive(Clone)]
struct Settings {
    flags: i32,
    max_depth: usize,
    indent: Vec<u8>,
    kinds: [i32; 256],
}

impl Settings {
    fn has(&self, flag: i32) -> bool {
        self.flags & flag != 0
    }

    fn binary(&self) -> Binary {
        match self.flags & OPT_BINARY {
            BINARY_HEX => Binary::Hex,
            BINARY_ARRAY => Binary::Array,
            _ => Binary::Base64,
        }
    }

    fn of_to_json(&self) -> to_json::Options {
        to_json::Options {
            max_depth: self.max_depth,
            binary: self.binary(),
            throws_non_finite: self.has(OPT_THROW_NON_FINITE),
            fatal_utf8: self.has(OPT_JSON_UTF8_FATAL),
            indent: self.indent.clone(),
            multiple: self.has(OPT_MULTIPLE),
            kinds: self.kinds,
        }
    }

    fn of_from_json(&self) -> from_json::Options {
        from_json::Options {
            max_depth: self.max_depth,
            multiple: self.has(OPT_MULTIPLE),
            exts: self.has(OPT_READ_EXTS).then(|| self.binary()),
            fatal_utf8: self.has(OPT_JSON_UTF8_FATAL),
        }
    }
}

/// What one environment's transcoders share: memory that is used again.
#[derive(Default)]
struct Transcoder {
    from_json: FromJson,
    text: Text,
    /// The UTF-8 of a string that is read.
    utf8: Vec<u8>,
    kinds: Kinds,
}

struct Kinds([i32; 256]);

impl Default for Kinds {
    fn default() -> Self {
        Kinds([KIND_EXT; 256])
    }
}

type Shared = RefCell<Transcoder>;

/// Text that took more memory than this does not keep it (`bench/transcode.mjs`).
const KEEP_BYTES: usize = 8 << 20;

impl Transcoder {
    fn trim(&mut self) {
        if self.text.bytes.capacity() > KEEP_BYTES {
            self.text = Text::default();
        }
        if self.utf8.capacity() > KEEP_BYTES {
            self.utf8 = Vec::new();
        }
    }
}

/// `createTranscoder()` → an object with the functions below.
pub(crate) unsafe extern "C" fn create_transcoder(
    env: napi_env,
    info: napi_callback_info,
) -> napi_value {
    fn body(_: &(), env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let shared = Rc::new(RefCell::new(Transcoder::default()));
        let mut transcoder = null_mut();
        // SAFETY: `env` is live; every function gets its own count of the state.
        unsafe {
            check(sys::napi_create_object(env, &mut transcoder))?;
            add_function(env, transcoder, c"fromJson", from_json, shared.clone())?;
            add_function(env, transcoder, c"toJson", to_json, shared.clone())?;
            add_function(env, transcoder, c"fromJsonAsync", from_json_async, shared.clone())?;
            add_function(env, transcoder, c"toJsonAsync", to_json_async, shared.clone())?;
            add_function(env, transcoder, c"openFromJson", open_from_json, shared.clone())?;
            add_function(env, transcoder, c"openToJson", open_to_json, shared.clone())?;
            add_function(env, transcoder, c"setExtKind", set_ext_kind, shared)?;
        }
        Ok(transcoder)
    }
    // SAFETY: made by `lib.rs` with this state.
    unsafe { call(env, info, body) }
}

fn borrow<T>(shared: &RefCell<T>) -> Result<std::cell::RefMut<'_, T>> {
    shared.try_borrow_mut().map_err(|_| Error::from_reason("the transcoder is in use"))
}

fn settings(
    env: napi_env,
    [flags, max_depth, indent]: [napi_value; 3],
    kinds: [i32; 256],
) -> Result<Settings> {
    let mut space = strings(env, indent)?;
    Ok(Settings {
        flags: integer(env, flags)? as i32,
        max_depth: integer(env, max_depth)? as usize,
        indent: space.pop().unwrap_or_default().into_bytes(),
        kinds,
    })
}

/// `fromJson(text, flags, maxDepth, [])` → a Buffer, or a fault. The text is a string or bytes.
unsafe extern "C" fn from_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [input, flags, max_depth, indent]: [napi_value; 4],
    ) -> Result<napi_value> {
        let mut transcoder = borrow(shared)?;
        let Transcoder { from_json, kinds, utf8, .. } = &mut *transcoder;
        let options = settings(env, [flags, max_depth, indent], kinds.0)?.of_from_json();
        // SAFETY: no JavaScript runs while the text is read.
        let text = match unsafe { private_bytes(env, input) } {
            Some(text) => text,
            None => string_bytes(env, input, utf8)?,
        };
        from_json.clear();
        if let Err(fault) = from_json.read(text, options) {
            from_json.clear();
            return json_fault(env, &fault);
        }
        let result = message(env, from_json);
        from_json.clear();
        transcoder.trim();
        result
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

/// So many units at the start of a string say whether it is likely to be ASCII.
const SAMPLE_UNITS: usize = 1024;

/// The UTF-8 of a string; nothing for what is none.
fn string_bytes(env: napi_env, string: napi_value, to: &mut Vec<u8>) -> Result<&[u8]> {
    let (mut units, mut copied) = (0, 0);
    let mut sample = [0; SAMPLE_UNITS + 1];
    // SAFETY: without a buffer Node only counts; then it writes what there is room for.
    unsafe {
        let get = sys::napi_get_value_string_utf16;
        if get(env, string, null_mut(), 0, &mut units) != sys::Status::napi_ok {
            return Ok(&[]);
        }
        check(get(env, string, sample.as_mut_ptr(), sample.len(), &mut copied))?;
    }
    let room = 3 * units + 1;
    if to.len() < room {
        // Not `resize`, which would write all of the zeros.
        *to = vec![0; room];
    }
    let len = if sample[..copied].iter().all(|&unit| unit < 0x80) {
        fetch_utf8(env, string, to)?
    } else {
        let mut utf16 = vec![0; units + 1];
        fetch_utf16(env, string, units, &mut utf16)?;
        utf16_to_utf8(&utf16[..units], to)
    };
    Ok(&to[..len])
}

/// `toJson(bytes, flags, maxDepth, [indent])` → a Buffer, or a fault.
unsafe extern "C" fn to_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [input, flags, max_depth, indent]: [napi_value; 4],
    ) -> Result<napi_value> {
        let mut transcoder = borrow(shared)?;
        let Transcoder { text, kinds, .. } = &mut *transcoder;
        let options = settings(env, [flags, max_depth, indent], kinds.0)?.of_to_json();
        // SAFETY: no JavaScript runs while the message is read.
        let input = unsafe { private_bytes(env, input) }.unwrap_or_default();
        text.bytes.clear();
        let result = match ToJson::new(options).feed(input, true, text) {
            Ok(_) => buffer(env, &text.bytes),
            Err(fault) => fault_value(env, fault),
        };
        transcoder.trim();
        result
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

struct FromJsonJob {
    text: Vec<u8>,
    options: from_json::Options,
    message: std::result::Result<Vec<u8>, JsonFault>,
}

impl pool::Job for FromJsonJob {
    fn run(&mut self) {
        let mut from_json = FromJson::default();
        self.message = from_json.read(&self.text, self.options).map(|()| {
            let mut message = vec![0; from_json.len()];
            from_json.copy_to(&mut message);
            message
        });
    }

    fn finish(self, env: napi_env) -> Result<napi_value> {
        match &self.message {
            Ok(message) => buffer(env, message),
            Err(fault) => json_fault(env, fault),
        }
    }
}

/// The same as `fromJson`, on another thread: a job, as `pool::start` has it, of what that returns.
unsafe extern "C" fn from_json_async(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [input, flags, max_depth, indent]: [napi_value; 4],
    ) -> Result<napi_value> {
        let options =
            settings(env, [flags, max_depth, indent], borrow(shared)?.kinds.0)?.of_from_json();
        let mut utf8 = Vec::new();
        // SAFETY: no JavaScript runs while the bytes are copied.
        let text = match unsafe { private_bytes(env, input) } {
            Some(text) => text.to_vec(),
            None => {
                let len = string_bytes(env, input, &mut utf8)?.len();
                utf8.truncate(len);
                utf8
            }
        };
        pool::start(env, FromJsonJob { text, options, message: Ok(Vec::new()) })
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

struct ToJsonJob {
    input: Vec<u8>,
    to_json: ToJson,
    text: Text,
    fault: Option<Fault>,
}

impl pool::Job for ToJsonJob {
    fn run(&mut self) {
        self.fault = self.to_json.feed(&self.input, true, &mut self.text).err();
    }

    fn finish(self, env: napi_env) -> Result<napi_value> {
        match self.fault {
            Some(fault) => fault_value(env, fault),
            None => buffer(env, &self.text.bytes),
        }
    }
}

/// The same as `toJson`, on another thread: a job, as `pool::start` has it, of what that returns.
unsafe extern "C" fn to_json_async(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [input, flags, max_depth, indent]: [napi_value; 4],
    ) -> Result<napi_value> {
        let options =
            settings(env, [flags, max_depth, indent], borrow(shared)?.kinds.0)?.of_to_json();
        // SAFETY: no JavaScript runs while the bytes are copied.
        let input = unsafe { private_bytes(env, input) }.unwrap_or_default().to_vec();
        let to_json = ToJson::new(options);
        pool::start(env, ToJsonJob { input, to_json, text: Text::default(), fault: None })
    }
    // SAFETY: made by `create_transcoder` with this state.
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
        borrow(shared)?.kinds.0[usize::from(ext_type as u8)] = kind as i32;
        Ok(null_mut())
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

/// Of a stream: what has come and is not used yet, and how much came before it.
#[derive(Default)]
struct Stream {
    rest: Vec<u8>,
    before: usize,
}

struct ToJsonStream {
    stream: Stream,
    to_text: ToText,
    /// What is not certain yet.
    text: Text,
}

enum ToText {
    All(ToJson),
    At(PathFilter),
}

/// `openToJson(flags, maxDepth, [indent], path)` → `write(chunk, isLast)`, a function that returns
/// the text that is certain by now, or a fault with the text before it. An empty array is no path.
unsafe extern "C" fn open_to_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [flags, max_depth, indent, path]: [napi_value; 4],
    ) -> Result<napi_value> {
        let kinds = borrow(shared)?.kinds.0;
        let to_json = ToJson::new(settings(env, [flags, max_depth, indent], kinds)?.of_to_json());
        let path = strings(env, path)?;
        let to_text = if path.is_empty() {
            ToText::All(to_json)
        } else {
            ToText::At(PathFilter::new(path, to_json))
        };
        let state = ToJsonStream { stream: Stream::default(), to_text, text: Text::default() };
        stream_object(env, c"write", write_to_json, RefCell::new(state))
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

unsafe extern "C" fn write_to_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &RefCell<ToJsonStream>,
        env: napi_env,
        [chunk, is_last]: [napi_value; 2],
    ) -> Result<napi_value> {
        let mut state = borrow(shared)?;
        let ToJsonStream { stream, to_text, text } = &mut *state;
        let is_last = integer(env, is_last)? != 0;
        // SAFETY: no JavaScript runs while the chunk is read.
        let chunk = unsafe { private_bytes(env, chunk) }.unwrap_or_default();
        let whole = stream.rest.is_empty();
        if !whole {
            stream.rest.extend_from_slice(chunk);
        }
        let input = if whole { chunk } else { &stream.rest };
        let used = match to_text {
            ToText::All(to_json) => to_json.feed(input, is_last, text),
            ToText::At(filter) => filter.feed(input, is_last, text),
        };
        let certain = match to_text {
            ToText::All(to_json) => to_json.certain(text),
            ToText::At(filter) => filter.to_json.certain(text),
        };
        let output = buffer(env, &text.bytes[..certain]);
        text.bytes.drain(..certain);
        match used {
            Ok(used) => {
                stream.before += used;
                if whole {
                    stream.rest.extend_from_slice(&chunk[used..]);
                } else {
                    stream.rest.drain(..used);
                }
                output
            }
            Err(fault) => {
                let fault = Fault { offset: stream.before + fault.offset, ..fault };
                let value = fault_value(env, fault)?;
                set(env, value, c"output", output?)?;
                Ok(value)
            }
        }
    }
    // SAFETY: made by `open_to_json` with this state.
    unsafe { call(env, info, body) }
}

struct FromJsonStream {
    stream: Stream,
    options: from_json::Options,
    scanner: values::Scanner,
    /// Lines before the rest, and UTF-16 units before it in its own line.
    lines: usize,
    units: usize,
}

/// `openFromJson(flags, maxDepth, [])` → `write(chunk, isLast)`, a function that returns the messages
/// that are complete by now, or a fault with the messages before it.
unsafe extern "C" fn open_from_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [flags, max_depth, indent]: [napi_value; 3],
    ) -> Result<napi_value> {
        let kinds = borrow(shared)?.kinds.0;
        let options = settings(env, [flags, max_depth, indent], kinds)?.of_from_json();
        let state = FromJsonStream {
            stream: Stream::default(),
            options: from_json::Options { multiple: true, ..options },
            scanner: values::Scanner::default(),
            lines: 0,
            units: 0,
        };
        stream_object(env, c"write", write_from_json, RefCell::new(state))
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

unsafe extern "C" fn write_from_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &RefCell<FromJsonStream>,
        env: napi_env,
        [chunk, is_last]: [napi_value; 2],
    ) -> Result<napi_value> {
        let mut state = borrow(shared)?;
        let FromJsonStream { stream, options, scanner, lines, units } = &mut *state;
        let is_last = integer(env, is_last)? != 0;
        // SAFETY: no JavaScript runs while the chunk is read.
        let chunk = unsafe { private_bytes(env, chunk) }.unwrap_or_default();
        let (mut end, mut is_complete) = (0, is_last);
        // A number ends where the next chunk starts, perhaps.
        while let Some(more) = scanner.end(&chunk[end..]) {
            end += more;
            is_complete = true;
        }
        if is_last {
            end = chunk.len();
        }
        let mut from_json = FromJson::default();
        if is_complete {
            stream.rest.extend_from_slice(&chunk[..end]);
            if let Err(mut fault) = from_json.read(&stream.rest, *options) {
                if fault.line == 1 {
                    fault.column += *units;
                }
                fault.line += *lines;
                fault.fault.offset += stream.before;
                let value = json_fault(env, &fault)?;
                set(env, value, c"output", message(env, &mut from_json)?)?;
                return Ok(value);
            }
            stream.before += stream.rest.len();
            let (more, column) = from_json::position(&stream.rest);
            *units = column - 1 + if more == 1 { *units } else { 0 };
            *lines += more - 1;
            stream.rest.clear();
        }
        stream.rest.extend_from_slice(&chunk[end..]);
        message(env, &mut from_json)
    }
    // SAFETY: made by `open_from_json` with this state.
    unsafe { call(env, info, body) }
}

fn stream_object<T>(
    env: napi_env,
    name: &std::ffi::CStr,
    callback: unsafe extern "C" fn(napi_env, napi_callback_info) -> napi_value,
    state: T,
) -> Result<napi_value> {
    let mut object = null_mut();
    // SAFETY: `env` is live and the object its own.
    unsafe {
        check(sys::napi_create_object(env, &mut object))?;
        add_function(env, object, name, callback, Rc::new(state))?;
    }
    Ok(object)
}

/// A Buffer with these bytes.
fn buffer(env: napi_env, bytes: &[u8]) -> Result<napi_value> {
    let mut value = null_mut();
    // SAFETY: Node copies the bytes.
    let status = unsafe {
        sys::napi_create_buffer_copy(
            env,
            bytes.len(),
            bytes.as_ptr().cast(),
            null_mut(),
            &mut value,
        )
    };
    if status == sys::Status::napi_ok { Ok(value) } else { too_large(env) }
}

/// A Buffer with the messages that were read.
fn message(env: napi_env, from_json: &mut FromJson) -> Result<napi_value> {
    let (mut value, mut data) = (null_mut(), null_mut());
    let len = from_json.len();
    // SAFETY: the out-pointers are ours.
    let status = unsafe { sys::napi_create_buffer(env, len, &mut data, &mut value) };
    if status != sys::Status::napi_ok {
        return too_large(env);
    }
    if len > 0 {
        // SAFETY: Node made `len` bytes that nobody else knows yet.
        from_json.copy_to(unsafe { std::slice::from_raw_parts_mut(data.cast(), len) });
    }
    Ok(value)
}

/// No Buffer can be so long, or there is no memory for it.
fn too_large(env: napi_env) -> Result<napi_value> {
    let mut exception = null_mut();
    // SAFETY: an exception that Node-API left pending is ours to take.
    unsafe { sys::napi_get_and_clear_last_exception(env, &mut exception) };
    fault_value(env, Fault::at(FAULT_TOO_LARGE, 0))
}

/// A fault as an object with `code` and `offset`.
fn fault_value(env: napi_env, fault: Fault) -> Result<napi_value> {
    let mut object = null_mut();
    // SAFETY: a live environment.
    check(unsafe { sys::napi_create_object(env, &mut object) })?;
    set(env, object, c"code", number(env, fault.code as f64)?)?;
    set(env, object, c"offset", number(env, fault.offset as f64)?)?;
    Ok(object)
}

/// The same with `line`, `column` and `message`.
fn json_fault(env: napi_env, fault: &JsonFault) -> Result<napi_value> {
    let object = fault_value(env, fault.fault)?;
    set(env, object, c"line", number(env, fault.line as f64)?)?;
    set(env, object, c"column", number(env, fault.column as f64)?)?;
    let mut message = null_mut();
    let text = fault.message.as_bytes();
    // SAFETY: Node copies the text.
    check(unsafe {
        sys::napi_create_string_utf8(env, text.as_ptr().cast(), text.len() as isize, &mut message)
    })?;
    set(env, object, c"message", message)?;
    Ok(object)
}

fn number(env: napi_env, number: f64) -> Result<napi_value> {
    let mut value = null_mut();
    // SAFETY: a live environment.
    check(unsafe { sys::napi_create_double(env, number, &mut value) })?;
    Ok(value)
}

fn set(env: napi_env, object: napi_value, name: &std::ffi::CStr, value: napi_value) -> Result<()> {
    // SAFETY: a live environment and its own values.
    check(unsafe { sys::napi_set_named_property(env, object, name.as_ptr(), value) })
}
