//! What JavaScript calls: a whole text or message at once, or a stream of them piece by piece.

use std::cell::RefCell;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;

use napi::sys::{self, napi_callback_info, napi_env, napi_value};
use napi::{Error, Result};

use super::elements::{ArrayStream, Count};
use super::from_json::{self, Before, FromJson, JsonFault};
use super::json_text::{Binary, Text};
use super::path_filter::PathFilter;
use super::to_json::{self, ToJson};
use super::values;
use crate::addon::{
    add_function, call, check, fault_value, fetch_units, integer, numbers, private_bytes, strings,
    target_bytes,
};
use crate::memory;
use crate::pack::text::utf16_to_utf8;
use crate::pool;
use crate::tape::*;

/// What was read of the options, and the kinds of ext types.
#[derive(Clone)]
struct Settings {
    flags: i32,
    max_depth: usize,
    indent: Vec<u8>,
    kinds: Arc<[i32; 256]>,
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
            kinds: self.kinds.clone(),
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
    string: JsString,
    kinds: Kinds,
}

struct Kinds(Arc<[i32; 256]>);

impl Default for Kinds {
    fn default() -> Self {
        Kinds(Arc::new([KIND_EXT; 256]))
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
        if self.string.capacity() > KEEP_BYTES {
            self.string = JsString::default();
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
            add_function(env, transcoder, c"takeMessage", take_message, shared.clone())?;
            add_function(env, transcoder, c"takeText", take_text, shared.clone())?;
            add_function(env, transcoder, c"fromJsonAsync", from_json_async, shared.clone())?;
            add_function(env, transcoder, c"toJsonAsync", to_json_async, shared.clone())?;
            add_function(env, transcoder, c"openFromJson", open_from_json, shared.clone())?;
            add_function(env, transcoder, c"openToJson", open_to_json, shared.clone())?;
            add_function(env, transcoder, c"openCount", open_count, shared.clone())?;
            add_function(env, transcoder, c"openArray", open_array, shared.clone())?;
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
    kinds: &Kinds,
) -> Result<Settings> {
    Ok(Settings {
        flags: integer(env, flags)? as i32,
        max_depth: integer(env, max_depth)? as usize,
        indent: strings(env, indent)?.pop().unwrap_or_default().into_bytes(),
        kinds: kinds.0.clone(),
    })
}

/// `fromJson(text, flags, maxDepth, [])` → how many bytes the message has, or a fault. The text is a
/// string or bytes.
unsafe extern "C" fn from_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [input, flags, max_depth, indent]: [napi_value; 4],
    ) -> Result<napi_value> {
        let mut transcoder = borrow(shared)?;
        let Transcoder { from_json, kinds, string, .. } = &mut *transcoder;
        let options = settings(env, [flags, max_depth, indent], kinds)?.of_from_json();
        from_json.clear();
        // SAFETY: no JavaScript runs while the text is read.
        let read = match unsafe { private_bytes(env, input) } {
            Some(text) => read_bytes(from_json, text, options),
            None => match memory::attempt(string, |string| Ok(string.fetch(env, input)), |_| ()) {
                Ok(fetched) => fetched.map(|()| read_string(from_json, string, options))?,
                Err(fault) => Err(fault),
            },
        };
        match read {
            Ok(()) => number(env, from_json.len() as f64),
            Err(fault) => {
                from_json.clear();
                transcoder.trim();
                json_fault(env, &fault)
            }
        }
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

/// A string that is read. Its memory is used again.
#[derive(Default)]
struct JsString {
    ascii: Vec<u8>,
    /// What there is instead of ASCII: so many units at the start of `units`.
    len: Option<usize>,
    units: Vec<u16>,
    utf8: Vec<u8>,
}

/// So many units at the start of a string say whether it is likely to be ASCII.
const SAMPLE_UNITS: usize = 1024;

impl JsString {
    /// Fetches a string; what is none is an empty one.
    fn fetch(&mut self, env: napi_env, string: napi_value) -> Result<()> {
        self.len = Some(0);
        let room = self.units.len().max(SAMPLE_UNITS + 1);
        self.units.resize(room, 0);
        let (mut units, mut copied) = (0, 0);
        // SAFETY: without a buffer Node only counts; then it writes what there is room for.
        unsafe {
            let get = sys::napi_get_value_string_utf16;
            if get(env, string, null_mut(), 0, &mut units) != sys::Status::napi_ok {
                return Ok(());
            }
            let room = SAMPLE_UNITS + 1;
            check(get(env, string, self.units.as_mut_ptr(), room, &mut copied))?;
        }
        if copied < units && self.units[..copied].iter().all(|&unit| unit < 0x80) {
            self.ascii.clear();
            // With no room for more than ASCII: the memory alone takes longer than the text.
            memory::reserve(&mut self.ascii, units + 1);
            let to = self.ascii.as_mut_ptr().cast();
            let mut copied = 0;
            // SAFETY: room for so many bytes and a NUL was made, and so many of them are written.
            unsafe {
                check(sys::napi_get_value_string_utf8(env, string, to, units + 1, &mut copied))?;
                self.ascii.set_len(copied);
            }
            if copied == units && self.ascii.is_ascii() {
                self.len = None;
                return Ok(());
            }
        }
        if copied < units {
            self.units.clear();
            memory::reserve(&mut self.units, units + 1);
            // SAFETY: room for so many units and one more was made, and so many are written.
            unsafe {
                fetch_units(env, string, units, self.units.as_mut_ptr())?;
                self.units.set_len(units);
            }
        }
        self.len = Some(units);
        Ok(())
    }

    /// The text of what was fetched; on any thread.
    fn text(&mut self) -> &str {
        let utf8 = match self.len {
            None => &self.ascii[..],
            Some(len) => {
                let room = self.utf8.len().max(3 * len);
                memory::resize(&mut self.utf8, room);
                let written = utf16_to_utf8(&self.units[..len], &mut self.utf8);
                &self.utf8[..written]
            }
        };
        // SAFETY: ASCII as was looked at, or what was made of units, which is well-formed.
        unsafe { std::str::from_utf8_unchecked(utf8) }
    }

    /// Bytes of the largest of its parts.
    fn capacity(&self) -> usize {
        self.ascii.capacity().max(self.utf8.capacity()).max(2 * self.units.capacity())
    }
}

/// `toJson(bytes, flags, maxDepth, [indent])` → how many bytes the text has, or a fault.
unsafe extern "C" fn to_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [input, flags, max_depth, indent]: [napi_value; 4],
    ) -> Result<napi_value> {
        let mut transcoder = borrow(shared)?;
        let Transcoder { text, kinds, .. } = &mut *transcoder;
        let options = settings(env, [flags, max_depth, indent], kinds)?.of_to_json();
        // SAFETY: no JavaScript runs while the message is read.
        let input = unsafe { private_bytes(env, input) }.unwrap_or_default();
        text.bytes.clear();
        match ToJson::new(options).feed(input, true, text) {
            Ok(_) => number(env, text.bytes.len() as f64),
            Err(fault) => {
                transcoder.trim();
                fault_value(env, fault)
            }
        }
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

/// Reads a text; memory that is refused is a fault.
fn read_bytes(
    from_json: &mut FromJson,
    text: &[u8],
    options: from_json::Options,
) -> std::result::Result<(), JsonFault> {
    memory::attempt(from_json, |from_json| from_json.read(text, options), FromJson::clear)
}

/// The same of a string that was fetched.
fn read_string(
    from_json: &mut FromJson,
    string: &mut JsString,
    options: from_json::Options,
) -> std::result::Result<(), JsonFault> {
    let read = |from_json: &mut FromJson| from_json.read_text(string.text(), options);
    memory::attempt(from_json, read, FromJson::clear)
}

/// `takeMessage(to)`: copies what `fromJson` made to memory of its length.
unsafe extern "C" fn take_message(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [to]: [napi_value; 1]) -> Result<napi_value> {
        let mut transcoder = borrow(shared)?;
        let from_json = &mut transcoder.from_json;
        // SAFETY: no JavaScript runs while the memory is written.
        let to = unsafe { target_bytes(env, to)? };
        if to.len() == from_json.len() {
            from_json.copy_to(to);
        }
        transcoder.from_json.clear();
        transcoder.trim();
        Ok(null_mut())
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

/// `takeText(to)`: copies what `toJson` made to memory of its length.
unsafe extern "C" fn take_text(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [to]: [napi_value; 1]) -> Result<napi_value> {
        let mut transcoder = borrow(shared)?;
        let text = &transcoder.text.bytes;
        // SAFETY: no JavaScript runs while the memory is written.
        let to = unsafe { target_bytes(env, to)? };
        if to.len() == text.len() {
            to.copy_from_slice(text);
        }
        transcoder.trim();
        Ok(null_mut())
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

enum JobText {
    Bytes(Vec<u8>),
    String(JsString),
}

struct FromJsonJob {
    text: JobText,
    options: from_json::Options,
    message: std::result::Result<Vec<u8>, JsonFault>,
}

impl pool::Job for FromJsonJob {
    fn run(&mut self) {
        let mut from_json = FromJson::default();
        let read = match &mut self.text {
            JobText::Bytes(text) => read_bytes(&mut from_json, text, self.options),
            JobText::String(string) => read_string(&mut from_json, string, self.options),
        };
        self.message = read.map(|()| {
            let mut message = Vec::new();
            memory::resize(&mut message, from_json.len());
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
            settings(env, [flags, max_depth, indent], &borrow(shared)?.kinds)?.of_from_json();
        // SAFETY: no JavaScript runs while the bytes are copied.
        let text = match unsafe { private_bytes(env, input) } {
            Some(text) => JobText::Bytes(memory::copy(text)),
            None => {
                let mut string = JsString::default();
                string.fetch(env, input)?;
                JobText::String(string)
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
            settings(env, [flags, max_depth, indent], &borrow(shared)?.kinds)?.of_to_json();
        // SAFETY: no JavaScript runs while the bytes are copied.
        let input = memory::copy(unsafe { private_bytes(env, input) }.unwrap_or_default());
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
        let mut transcoder = borrow(shared)?;
        Arc::make_mut(&mut transcoder.kinds.0)[usize::from(ext_type as u8)] = kind as i32;
        Ok(null_mut())
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

struct ToJsonStream {
    /// What has come and is not used yet, and how much came before it.
    rest: Vec<u8>,
    before: usize,
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
        let kinds = &borrow(shared)?.kinds;
        let to_json = ToJson::new(settings(env, [flags, max_depth, indent], kinds)?.of_to_json());
        let path = strings(env, path)?;
        let to_text = if path.is_empty() {
            ToText::All(to_json)
        } else {
            ToText::At(PathFilter::new(path, to_json))
        };
        let state = ToJsonStream { rest: Vec::new(), before: 0, to_text, text: Text::default() };
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
        let ToJsonStream { rest, before, to_text, text } = &mut *state;
        let is_last = integer(env, is_last)? != 0;
        // SAFETY: no JavaScript runs while the chunk is read.
        let chunk = unsafe { private_bytes(env, chunk) }.unwrap_or_default();
        let whole = rest.is_empty();
        if !whole {
            rest.extend_from_slice(chunk);
        }
        let input = if whole { chunk } else { &*rest };
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
                *before += used;
                if whole {
                    rest.extend_from_slice(&chunk[used..]);
                } else {
                    rest.drain(..used);
                }
                output
            }
            Err(fault) => {
                let fault = Fault { offset: *before + fault.offset, ..fault };
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
    options: from_json::Options,
    scanner: values::Scanner,
    /// What has come and is not used yet, and where it is.
    rest: Vec<u8>,
    before: Before,
}

/// `openFromJson(flags, maxDepth, [])` → `write(chunk, isLast)`, a function that returns the messages
/// that are complete by now, or a fault with the messages before it.
unsafe extern "C" fn open_from_json(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [flags, max_depth, indent]: [napi_value; 3],
    ) -> Result<napi_value> {
        let kinds = &borrow(shared)?.kinds;
        let options = settings(env, [flags, max_depth, indent], kinds)?.of_from_json();
        let state = FromJsonStream {
            options: from_json::Options { multiple: true, ..options },
            scanner: values::Scanner::default(),
            rest: Vec::new(),
            before: Before::default(),
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
        let FromJsonStream { options, scanner, rest, before } = &mut *state;
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
            rest.extend_from_slice(&chunk[..end]);
            if let Err(fault) = read_bytes(&mut from_json, rest, *options) {
                let value = json_fault(env, &before.of(fault))?;
                set(env, value, c"output", message(env, &mut from_json)?)?;
                return Ok(value);
            }
            before.pass(rest);
            rest.clear();
        }
        rest.extend_from_slice(&chunk[end..]);
        message(env, &mut from_json)
    }
    // SAFETY: made by `open_from_json` with this state.
    unsafe { call(env, info, body) }
}

/// `openCount()` → `write(chunk, isLast)`, a function that returns how many elements the array has that
/// a text is, when it has seen all of it; −1 for a text that is something else.
unsafe extern "C" fn open_count(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(_: &Shared, env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        stream_object(env, c"write", write_count, RefCell::new(Count::default()))
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

unsafe extern "C" fn write_count(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &RefCell<Count>,
        env: napi_env,
        [chunk, is_last]: [napi_value; 2],
    ) -> Result<napi_value> {
        let mut count = borrow(shared)?;
        // SAFETY: no JavaScript runs while the chunk is read.
        count.feed(unsafe { private_bytes(env, chunk) }.unwrap_or_default());
        if integer(env, is_last)? == 0 && !count.is_other() {
            return Ok(null_mut());
        }
        number(env, count.total().map_or(-1.0, |total| total as f64))
    }
    // SAFETY: made by `open_count` with this state.
    unsafe { call(env, info, body) }
}

/// `openArray(flags, maxDepth, [], total)` → the same as `openFromJson`, for one text that is an array
/// of so many elements: each is written when it is complete.
unsafe extern "C" fn open_array(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [flags, max_depth, indent, total]: [napi_value; 4],
    ) -> Result<napi_value> {
        let kinds = &borrow(shared)?.kinds;
        let options = settings(env, [flags, max_depth, indent], kinds)?.of_from_json();
        let state = ArrayStream::new(options, integer(env, total)?);
        stream_object(env, c"write", write_array, RefCell::new(state))
    }
    // SAFETY: made by `create_transcoder` with this state.
    unsafe { call(env, info, body) }
}

unsafe extern "C" fn write_array(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &RefCell<ArrayStream>,
        env: napi_env,
        [chunk, is_last]: [napi_value; 2],
    ) -> Result<napi_value> {
        let mut state = borrow(shared)?;
        let is_last = integer(env, is_last)? != 0;
        // SAFETY: no JavaScript runs while the chunk is read.
        let chunk = unsafe { private_bytes(env, chunk) }.unwrap_or_default();
        let mut from_json = FromJson::default();
        let outcome = memory::attempt(
            &mut from_json,
            |from_json| state.feed(chunk, is_last, from_json),
            FromJson::clear,
        );
        let output = message(env, &mut from_json)?;
        let Err(fault) = outcome else { return Ok(output) };
        let value = json_fault(env, &fault)?;
        set(env, value, c"output", output)?;
        Ok(value)
    }
    // SAFETY: made by `open_array` with this state.
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

/// A fault with its `line`, `column` and `message`.
fn json_fault(env: napi_env, fault: &JsonFault) -> Result<napi_value> {
    let JsonFault { fault: Fault { code, offset }, line, column, .. } = fault;
    let (offset, line, column) = (*offset as f64, *line as f64, *column as f64);
    let places =
        [(c"code", f64::from(*code)), (c"offset", offset), (c"line", line), (c"column", column)];
    let object = numbers(env, &places)?;
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
