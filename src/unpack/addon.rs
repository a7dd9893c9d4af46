//! Unpack at the addon's edge: hands the input to the parser and its texts to JavaScript.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::sys::{self, napi_callback_info, napi_env, napi_value};
use napi::{Error, Result};

use super::ahead::{Part, Text, parse_all};
use super::parse::{Parser, Stop};
use super::request::{self, Request};
use super::text::TextSink;
use crate::addon::{
    add_function, array_buffer, array_length, call, check, element, integer, private_bytes,
    string_array, strings,
};
use crate::memory;
use crate::pool::{self, MainThread};
use crate::stream::scan::{Meaning, Scan, Scanner};
use crate::tape::*;

struct Unpacker {
    /// The tape is an ArrayBuffer that JavaScript holds until it sets another.
    tape: *mut i32,
    words: usize,
    parser: Parser,
    /// Of messages of which a stream has brought only a part.
    scanners: Vec<Option<Scanner>>,
    texts: Vec<napi_value>,
    /// Parts of a message that were parsed ahead.
    ready: VecDeque<Part>,
}

type Shared = RefCell<Unpacker>;

/// `createParser()` → an object with the functions below: a parser with a state of its own.
pub(crate) unsafe extern "C" fn create_parser(
    env: napi_env,
    info: napi_callback_info,
) -> napi_value {
    fn body(_: &(), env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let shared = Rc::new(RefCell::new(Unpacker {
            tape: null_mut(),
            words: 0,
            parser: Parser::default(),
            scanners: Vec::new(),
            texts: Vec::new(),
            ready: VecDeque::new(),
        }));
        let mut parser = null_mut();
        // SAFETY: `env` is live; every function gets its own count of the state.
        unsafe {
            check(sys::napi_create_object(env, &mut parser))?;
            add_function(env, parser, c"parse", parse, shared.clone())?;
            add_function(env, parser, c"setTape", set_tape, shared.clone())?;
            add_function(env, parser, c"shapeKeys", shape_keys, shared.clone())?;
            add_function(env, parser, c"scan", scan, shared.clone())?;
            add_function(env, parser, c"openScan", open_scan, shared.clone())?;
            add_function(env, parser, c"closeScan", close_scan, shared.clone())?;
            add_function(env, parser, c"setExtKind", set_ext_kind, shared.clone())?;
            add_function(env, parser, c"setSequential", set_sequential, shared.clone())?;
            add_function(env, parser, c"setStructures", set_structures, shared.clone())?;
            add_function(env, parser, c"structureNames", structure_names, shared.clone())?;
            add_function(env, parser, c"forget", forget, shared.clone())?;
            add_function(env, parser, c"parseAhead", parse_ahead, Rc::new(shared))?;
        }
        Ok(parser)
    }
    // SAFETY: made by `lib.rs` with this state.
    unsafe { call(env, info, body) }
}

fn borrow(shared: &Shared) -> Result<std::cell::RefMut<'_, Unpacker>> {
    shared.try_borrow_mut().map_err(|_| Error::from_reason("the parser is in use"))
}

/// Makes JavaScript strings of the texts, in the order of their numbers.
struct JsTexts<'a> {
    env: napi_env,
    texts: &'a mut Vec<napi_value>,
}

impl TextSink for JsTexts<'_> {
    fn take_number(&mut self) -> u32 {
        self.texts.push(null_mut());
        self.texts.len() as u32 - 1
    }

    fn latin1(&mut self, number: u32, text: &[u8]) -> std::result::Result<(), Fault> {
        // SAFETY: Node copies the text.
        check(unsafe {
            sys::napi_create_string_latin1(
                self.env,
                text.as_ptr().cast(),
                text.len() as isize,
                &mut self.texts[number as usize],
            )
        })
        .map_err(|_| Fault::at(FAULT_TOO_LARGE, 0))
    }

    fn utf16(&mut self, number: u32, text: &[u16]) -> std::result::Result<(), Fault> {
        // SAFETY: Node copies the text.
        check(unsafe {
            sys::napi_create_string_utf16(
                self.env,
                text.as_ptr(),
                text.len() as isize,
                &mut self.texts[number as usize],
            )
        })
        .map_err(|_| Fault::at(FAULT_TOO_LARGE, 0))
    }
}

/// `parse(bytes)`: returns the message's text: nothing, one string, or an array of them.
unsafe extern "C" fn parse(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [input]: [napi_value; 1]) -> Result<napi_value> {
        let mut unpacker = borrow(shared)?;
        let unpacker = &mut *unpacker;
        // SAFETY: the tape is alive and no JavaScript runs during this call.
        let words = unsafe { std::slice::from_raw_parts_mut(unpacker.tape, unpacker.words) };
        // SAFETY: no JavaScript runs before this call returns.
        let Some(input) = (unsafe { private_bytes(env, input) }) else {
            words[STATUS as usize] = FAULT_INPUT;
            return Ok(null_mut());
        };
        if !unpacker.ready.is_empty() {
            return replay(env, unpacker, words);
        }
        let request = Request::of(words);
        // Between two parts an extension may have cut the memory of the input.
        if request.is_rest() && request.start > input.len() {
            words[STATUS as usize] = FAULT_INPUT;
            return Ok(null_mut());
        }
        unpacker.texts.clear();
        let mut sink = JsTexts { env, texts: &mut unpacker.texts };
        let outcome = memory::attempt(
            &mut unpacker.parser,
            |parser| request.run(parser, input, words, &mut sink),
            Parser::take_back,
        );
        let is_parsed = outcome.is_ok();
        request::answer(words, outcome);
        if is_parsed { texts_value(env, &unpacker.texts) } else { Ok(null_mut()) }
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// Hands over the next of the parts that were parsed ahead, as if it were parsed now.
#[cold]
fn replay(env: napi_env, unpacker: &mut Unpacker, words: &mut [i32]) -> Result<napi_value> {
    let Some(part) = unpacker.ready.pop_front() else { return Ok(null_mut()) };
    let Some(tape) = words.get_mut(..part.words.len()) else {
        request::answer(words, Err(Stop::Grow(part.words.len())));
        unpacker.ready.push_front(part);
        return Ok(null_mut());
    };
    tape.copy_from_slice(&part.words);
    unpacker.texts.clear();
    let mut sink = JsTexts { env, texts: &mut unpacker.texts };
    for text in &part.texts {
        let number = sink.take_number();
        let made = match text {
            Text::Latin1(text) => sink.latin1(number, text),
            Text::Utf16(text) => sink.utf16(number, text),
        };
        if let Err(fault) = made {
            request::answer(words, Err(Stop::Fault(fault)));
            return Ok(null_mut());
        }
    }
    texts_value(env, &unpacker.texts)
}

/// `parseAhead(bytes)` → a job, as `pool::start` has it: what `parse` would do with the same header,
/// and then with those that follow, is done on another thread, and `parse` hands it over. Until the
/// promise is settled JavaScript neither calls this parser nor changes the bytes, and holds them.
unsafe extern "C" fn parse_ahead(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Rc<Shared>, env: napi_env, [input]: [napi_value; 1]) -> Result<napi_value> {
        let mut unpacker = borrow(shared)?;
        // SAFETY: as in `parse`.
        let words = unsafe { std::slice::from_raw_parts(unpacker.tape, unpacker.words) };
        // SAFETY: JavaScript holds the bytes and keeps them as they are until the promise is settled.
        let input = unsafe { private_bytes(env, input) }.unwrap_or_default();
        let job = ParseAhead {
            header: words[..HEADER_WORDS as usize].to_vec(),
            input,
            parser: std::mem::take(&mut unpacker.parser),
            ready: VecDeque::new(),
            unpacker: MainThread::new(shared.clone()),
        };
        pool::start(env, job)
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

struct ParseAhead {
    header: Vec<i32>,
    input: &'static [u8],
    parser: Parser,
    ready: VecDeque<Part>,
    unpacker: MainThread<Rc<Shared>>,
}

impl pool::Job for ParseAhead {
    fn run(&mut self) {
        let parts = memory::attempt(
            &mut self.parser,
            |parser| Ok::<_, Fault>(parse_all(parser, self.input, &self.header)),
            Parser::take_back,
        );
        self.ready = parts.unwrap_or_else(|fault| {
            let mut words = self.header.clone();
            request::answer(&mut words, Err(Stop::Fault(fault)));
            VecDeque::from([Part { words, texts: Vec::new() }])
        });
    }

    fn finish(self, _: napi_env) -> Result<napi_value> {
        let Some(shared) = self.unpacker.into_inner() else { return Ok(null_mut()) };
        let mut unpacker = borrow(&shared)?;
        unpacker.parser = self.parser;
        unpacker.ready = self.ready;
        Ok(null_mut())
    }
}

/// `openScan()` → the number of a scanner.
unsafe extern "C" fn open_scan(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let mut unpacker = borrow(shared)?;
        // A message begins: those before it have defined nothing for it.
        unpacker.parser.structures.end_message();
        let scanners = &mut unpacker.scanners;
        let number = scanners.iter().position(Option::is_none).unwrap_or_else(|| {
            scanners.push(None);
            scanners.len() - 1
        });
        scanners[number] = Some(Scanner::default());
        let mut result = null_mut();
        // SAFETY: a live environment.
        check(unsafe { sys::napi_create_uint32(env, number as u32, &mut result) })?;
        Ok(result)
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// `closeScan(number)`: the scanner is not needed any more.
unsafe extern "C" fn close_scan(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [number]: [napi_value; 1]) -> Result<napi_value> {
        let number = integer(env, number)? as usize;
        if let Some(scanner) = borrow(shared)?.scanners.get_mut(number) {
            *scanner = None;
        }
        Ok(null_mut())
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// `scan(piece, number)`: looks with a scanner for the end of a message, from OFFSET_F64 of the piece
/// on, that may not take more than LENGTH_F64 bytes. STATUS_OK: it ends at OFFSET_F64 of the piece. STATUS_MORE: at least
/// LENGTH_F64 bytes are missing. Or a fault, whose offset is counted from the start of the message.
unsafe extern "C" fn scan(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [piece, number]: [napi_value; 2],
    ) -> Result<napi_value> {
        let number = integer(env, number)? as usize;
        let mut unpacker = borrow(shared)?;
        let unpacker = &mut *unpacker;
        // SAFETY: as in `parse`.
        let words = unsafe { std::slice::from_raw_parts_mut(unpacker.tape, unpacker.words) };
        // SAFETY: no JavaScript runs before this call returns.
        let Some(piece) = (unsafe { private_bytes(env, piece) }) else {
            words[STATUS as usize] = FAULT_INPUT;
            return Ok(null_mut());
        };
        let start = (header_f64(words, OFFSET_F64) as usize).min(piece.len());
        let max = header_f64(words, LENGTH_F64) as u64;
        let options = words[OPTIONS as usize];
        let meaning = Meaning {
            kinds: &unpacker.parser.ext_kinds,
            has_distant: unpacker.parser.has_distant,
            records: options & OPT_RECORDS != 0,
            strict_ids: options & OPT_STRICT_IDS != 0,
        };
        let Some(Some(scanner)) = unpacker.scanners.get_mut(number) else {
            return Err(Error::from_reason("a scanner"));
        };
        let structures = &unpacker.parser.structures;
        let (status, number) = match scanner.scan(&piece[start..], max, &meaning, structures) {
            Ok(Scan::Complete(at)) => {
                set_header_f64(words, OFFSET_F64, (start + at) as f64);
                (STATUS_OK, 0.0)
            }
            Ok(Scan::More(missing)) => (STATUS_MORE, missing as f64),
            Err(fault) => (fault.code, fault.offset as f64),
        };
        words[STATUS as usize] = status;
        set_header_f64(words, LENGTH_F64, number);
        Ok(null_mut())
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

fn texts_value(env: napi_env, texts: &[napi_value]) -> Result<napi_value> {
    match texts {
        [] => Ok(null_mut()),
        [text] => Ok(*text),
        _ => {
            let mut array = null_mut();
            // SAFETY: a live environment and its own values.
            unsafe {
                check(sys::napi_create_array_with_length(env, texts.len(), &mut array))?;
                for (index, &text) in texts.iter().enumerate() {
                    check(sys::napi_set_element(env, array, index as u32, text))?;
                }
            }
            Ok(array)
        }
    }
}

/// `setTape(arrayBuffer)`: the tape from now on.
unsafe extern "C" fn set_tape(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [tape]: [napi_value; 1]) -> Result<napi_value> {
        let mut unpacker = borrow(shared)?;
        // SAFETY: JavaScript holds the tape until it sets another, and never detaches it.
        let (data, len) = unsafe { array_buffer(env, tape)? };
        (unpacker.tape, unpacker.words) = (data.cast(), len / 4);
        Ok(null_mut())
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// `shapeKeys(id)` → the keys of a shape, in order.
unsafe extern "C" fn shape_keys(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [id]: [napi_value; 1]) -> Result<napi_value> {
        let unpacker = borrow(shared)?;
        let node = integer(env, id)?;
        let keys = unpacker.parser.trie.keys(node).ok_or_else(|| Error::from_reason("a shape"))?;
        string_array(env, keys)
    }
    // SAFETY: made by `create_parser` with this state.
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
        borrow(shared)?.parser.set_ext_kind(ext_type as u8, kind as i32);
        Ok(null_mut())
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// `setSequential(flag)`: whether definitions hold for the messages that follow, too.
unsafe extern "C" fn set_sequential(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [flag]: [napi_value; 1]) -> Result<napi_value> {
        let flag = integer(env, flag)? != 0;
        borrow(shared)?.parser.structures.sequential = flag;
        Ok(null_mut())
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// `setStructures(structures)`: what is shared from now on, an array of arrays of names.
unsafe extern "C" fn set_structures(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [structures]: [napi_value; 1]) -> Result<napi_value> {
        let structures = (0..array_length(env, structures)?)
            .map(|index| strings(env, element(env, structures, index)?))
            .collect::<Result<Vec<_>>>()?;
        borrow(shared)?.parser.structures.set_shared(structures);
        Ok(null_mut())
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// `structureNames(serial)` → the names of a structure that is no shape.
unsafe extern "C" fn structure_names(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [serial]: [napi_value; 1]) -> Result<napi_value> {
        let serial = integer(env, serial)?;
        let unpacker = borrow(shared)?;
        let names = unpacker.parser.structures.names(serial);
        string_array(env, names.ok_or_else(|| Error::from_reason("a structure"))?)
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}

/// `forget()`: the last message was not built, so JavaScript lacks the strings that it taught.
unsafe extern "C" fn forget(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, _: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        borrow(shared)?.parser.take_back();
        Ok(null_mut())
    }
    // SAFETY: made by `create_parser` with this state.
    unsafe { call(env, info, body) }
}
