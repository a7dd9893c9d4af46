//! Pack at the addon's edge: fetches the rope and the caller's buffers, runs the encoder.

use std::cell::RefCell;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::sys::{self, napi_callback_info, napi_env, napi_value};
use napi::{Error, Result};

use super::encode::{Encoder, Refs};
use super::out::Out;
use super::shapes::Shapes;
use super::text::{TEXT_PADDING, Text, Units, put_str_header, utf16_to_utf8};
use crate::addon::{
    add_function, array_buffer, array_length, bytes, call, check, element, fetch_utf8, fetch_utf16,
    integer, string_array, strings, target_memory,
};
use crate::memory;
use crate::tape::*;

/// A rope of fewer units is fetched as UTF-16 at once: that does not make V8 flatten it first, and
/// saves the question whether it is ASCII (`bench/` workload `event`).
const SHORT_ROPE_UNITS: usize = 1024;

/// A rope that was not ASCII says that the next ones are not either: V8 takes 50 times as long to
/// write such a text as UTF-8 as an ASCII one (`bench/` workload `unicode`).
const WIDE_ROPES: u32 = 16;

/// Scratch above this is given back after the message that needed it.
const KEEP_UNITS: usize = 1 << 18;

/// One codec: its tape, its slab, and what must outlive one piece of tape.
struct Packer {
    /// The tape is an ArrayBuffer that the codec's JavaScript holds for as long as its functions.
    tape: *mut i32,
    tape_words: usize,
    /// The slab for small results and the one for larger ones.
    slabs: [(*mut u8, usize); 2],
    encoder: Encoder,
    shapes: Shapes,
    started: bool,
    scratch: Scratch,
}

/// Where ropes are fetched to, and what the last ones were.
#[derive(Default)]
struct Scratch {
    utf8: Vec<u8>,
    utf16: Vec<u16>,
    /// How many more ropes to take as UTF-16, since one was not ASCII.
    wide_ropes: u32,
}

type Shared = RefCell<Packer>;

pub(crate) unsafe extern "C" fn create_packer(
    env: napi_env,
    info: napi_callback_info,
) -> napi_value {
    fn body(_: &(), env: napi_env, [tape]: [napi_value; 1]) -> Result<napi_value> {
        // SAFETY: JavaScript passes a fresh ArrayBuffer, which it holds and never detaches.
        let (tape, len) = unsafe { array_buffer(env, tape)? };
        let shared = Rc::new(RefCell::new(Packer {
            tape: tape.cast(),
            tape_words: len / 4,
            slabs: [(null_mut(), 0); 2],
            encoder: Encoder::default(),
            shapes: Shapes::default(),
            started: false,
            scratch: Scratch::default(),
        }));
        let mut packer = null_mut();
        // SAFETY: `env` is live; every function gets its own count of the state.
        unsafe {
            check(sys::napi_create_object(env, &mut packer))?;
            add_function(env, packer, c"encode", encode, shared.clone())?;
            add_function(env, packer, c"take", take, shared.clone())?;
            add_function(env, packer, c"splices", splices, shared.clone())?;
            add_function(env, packer, c"takeWritten", take_written, shared.clone())?;
            add_function(env, packer, c"setSlab", set_slab, shared.clone())?;
            add_function(env, packer, c"defineShape", define_shape, shared.clone())?;
            add_function(env, packer, c"clearShapes", clear_shapes, shared.clone())?;
            add_function(env, packer, c"configureRecords", configure_records, shared.clone())?;
            add_function(env, packer, c"setShared", set_shared, shared.clone())?;
            add_function(env, packer, c"sharedNames", shared_names, shared.clone())?;
            add_function(env, packer, c"path", path, shared.clone())?;
            add_function(env, packer, c"reset", reset, shared)?;
        }
        Ok(packer)
    }
    // SAFETY: made by `lib.rs` with this state.
    unsafe { call(env, info, body) }
}

fn borrow(shared: &Shared) -> Result<std::cell::RefMut<'_, Packer>> {
    shared.try_borrow_mut().map_err(|_| Error::from_reason("the codec is in use"))
}

/// `encode(rope, refs)`: encodes the words from the header block to END. The message may go on in
/// another call; when its root value is complete the STATUS says where the result is.
unsafe extern "C" fn encode(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [rope, refs]: [napi_value; 2]) -> Result<napi_value> {
        let mut packer = borrow(shared)?;
        let packer = &mut *packer;
        // SAFETY: the tape is alive and no JavaScript runs during this call.
        let tape = unsafe { std::slice::from_raw_parts_mut(packer.tape, packer.tape_words) };
        let (header, words) = tape.split_at_mut(HEADER_WORDS as usize);
        if !packer.started {
            packer.started = true;
            let max_depth = header[MAX_DEPTH as usize] as usize;
            let count = header[COUNT as usize] as u32;
            packer.encoder.start(header[OPTIONS as usize], max_depth, count);
            let (slab, len) = packer.slabs[usize::from(header[SLAB as usize] != 0)];
            let at = (header[SLAB_AT as usize] as usize).min(len);
            // SAFETY: JavaScript holds the slab, has just seen that it is not detached, and `at`
            // lies inside it; nothing is written there after this call.
            unsafe { packer.encoder.out.start(slab.wrapping_add(at), len - at) };
        }
        let end = (header[END as usize] - HEADER_WORDS) as usize;
        let words = words.get(..end).ok_or_else(|| Error::from_reason("the tape's end"))?;
        let units = header[ROPE_UNITS as usize] as usize;
        let scratch = &mut packer.scratch;
        let result = memory::attempt(
            &mut packer.encoder,
            |encoder| {
                let text = scratch.fetch_rope(env, rope, units);
                let mut text = text.map_err(|_| Fault::at(FAULT_INTERNAL, 0))?;
                encoder.run(words, &packer.shapes, &mut text, &mut JsRefs { env, refs })
            },
            Encoder::reset,
        );
        packer.scratch.trim();
        let done = result.is_ok() && packer.encoder.done();
        let in_slab = done && packer.encoder.out.in_slab();
        if !in_slab {
            // What is not complete by now is not there when JavaScript has run: user code can take
            // the slab away, and a result is taken to where the slab goes on.
            packer.encoder.out.leave_slab(0);
        }
        let length = packer.encoder.out.result_len();
        match result {
            Ok(()) => {
                header[STATUS as usize] = if in_slab { STATUS_IN_SLAB } else { STATUS_OK };
                if in_slab {
                    packer.started = false;
                }
            }
            Err(fault) => header[STATUS as usize] = fault.code,
        }
        header[SHARED as usize] = packer.encoder.records.shared().len() as i32;
        set_header_f64(header, LENGTH_F64, length as f64);
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

impl Scratch {
    /// Fetches `units` UTF-16 units of text in the cheaper of two ways.
    fn fetch_rope(&mut self, env: napi_env, rope: napi_value, units: usize) -> Result<Text<'_>> {
        static NOTHING: [u8; TEXT_PADDING] = [0; TEXT_PADDING];
        if units == 0 {
            return Ok(Text::new(Units::Ascii(&NOTHING)));
        }
        if units >= SHORT_ROPE_UNITS && self.wide_ropes == 0 {
            // As many bytes as units: every one of them is ASCII.
            grow(&mut self.utf8, 3 * units + TEXT_PADDING);
            if fetch_utf8(env, rope, &mut self.utf8)? == units {
                return Ok(Text::new(Units::Ascii(&self.utf8[..units + TEXT_PADDING])));
            }
            self.wide_ropes = WIDE_ROPES;
        }
        self.wide_ropes = self.wide_ropes.saturating_sub(1);
        let room = units + TEXT_PADDING;
        grow(&mut self.utf16, room);
        fetch_utf16(env, rope, units, &mut self.utf16)?;
        Ok(Text::new(Units::Utf16(&self.utf16[..room])))
    }

    /// Gives memory back after an outlier.
    fn trim(&mut self) {
        if self.utf16.capacity() > KEEP_UNITS {
            self.utf16 = Vec::new();
        }
        if self.utf8.capacity() > 3 * KEEP_UNITS {
            self.utf8 = Vec::new();
        }
    }
}

/// Makes room without clearing it on every call.
fn grow<T: Clone + Default>(scratch: &mut Vec<T>, room: usize) {
    if scratch.len() < room {
        memory::resize(scratch, room.next_power_of_two());
    }
}

/// The caller's buffers and long strings, in an array of the codec's own.
struct JsRefs {
    env: napi_env,
    refs: napi_value,
}

impl JsRefs {
    fn get(&self, index: u32) -> std::result::Result<napi_value, Fault> {
        element(self.env, self.refs, index).map_err(|_| Fault::at(FAULT_INTERNAL, 0))
    }

    fn string_into(
        &self,
        string: napi_value,
        units: usize,
        probably_ascii: bool,
        out: &mut Out,
    ) -> Result<()> {
        out.reserve(3 * units + 6);
        if probably_ascii {
            let start = out.pos;
            // SAFETY: room was made for the header, three bytes a unit and the NUL that Node adds.
            let len = unsafe {
                put_str_header(units, out);
                let room = std::slice::from_raw_parts_mut(out.tail(), 3 * units + 1);
                fetch_utf8(self.env, string, room)?
            };
            if len == units {
                out.pos += len;
                return Ok(());
            }
            out.pos = start;
        }
        let mut utf16 = Vec::new();
        memory::resize(&mut utf16, units + 1);
        fetch_utf16(self.env, string, units, &mut utf16)?;
        // SAFETY: the same room; the text is written behind the longest header, then moved up.
        unsafe {
            let start = out.pos;
            const LONGEST_HEADER: usize = 5;
            let to = out.tail().add(LONGEST_HEADER);
            let room = std::slice::from_raw_parts_mut(to, 3 * units);
            let len = utf16_to_utf8(&utf16[..units], room);
            put_str_header(len, out);
            let header = out.pos - start;
            if header != LONGEST_HEADER {
                std::ptr::copy(to, out.tail(), len);
            }
            out.pos += len;
        }
        Ok(())
    }
}

impl Refs for JsRefs {
    fn bytes(&mut self, index: u32, len: usize, out: &mut Out) -> std::result::Result<(), Fault> {
        let value = self.get(index)?;
        // SAFETY: the slice is copied before this call returns.
        let bytes = unsafe { bytes(self.env, value) }.unwrap_or_default();
        if bytes.len() != len {
            return Err(Fault::at(FAULT_CHANGED, 0));
        }
        out.extend(bytes);
        Ok(())
    }

    fn check(&mut self, index: u32, len: usize) -> std::result::Result<(), Fault> {
        let value = self.get(index)?;
        // SAFETY: only the length is looked at.
        match unsafe { bytes(self.env, value) } {
            Some(bytes) if bytes.len() == len => Ok(()),
            _ => Err(Fault::at(FAULT_CHANGED, 0)),
        }
    }

    fn string(
        &mut self,
        index: u32,
        units: usize,
        probably_ascii: bool,
        out: &mut Out,
    ) -> std::result::Result<(), Fault> {
        let value = self.get(index)?;
        self.string_into(value, units, probably_ascii, out)
            .map_err(|_| Fault::at(FAULT_INTERNAL, 0))
    }

    fn bigint(&mut self, index: u32) -> std::result::Result<(bool, Vec<u64>), Fault> {
        let value = self.get(index)?;
        let (mut sign, mut count) = (0, 0);
        let internal = |_| Fault::at(FAULT_INTERNAL, 0);
        // SAFETY: without room for words Node only counts them; then it writes no more than `count`.
        unsafe {
            let get = sys::napi_get_value_bigint_words;
            check(get(self.env, value, null_mut(), &mut count, null_mut())).map_err(internal)?;
            let mut words = vec![0; count];
            check(get(self.env, value, &mut sign, &mut count, words.as_mut_ptr()))
                .map_err(internal)?;
            Ok((sign != 0, words))
        }
    }
}

/// `take(target, refs)`: copies the finished message into `target`, which has its length.
unsafe extern "C" fn take(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [target, refs]: [napi_value; 2]) -> Result<napi_value> {
        let mut packer = borrow(shared)?;
        let packer = &mut *packer;
        // SAFETY: as in `encode`.
        let header = unsafe { std::slice::from_raw_parts_mut(packer.tape, HEADER_WORDS as usize) };
        header[STATUS as usize] = STATUS_OK;
        // No JavaScript runs before the copy is done.
        let (target, len) = target_memory(env, target)?;
        if !packer.encoder.done() || len != packer.encoder.out.result_len() {
            return Err(Error::from_reason("the result's length"));
        }
        let out = &mut packer.encoder.out;
        let mut to = target;
        let mut put = |bytes: &[u8]| {
            // SAFETY: the pieces add up to `len`, as `Out` counts them, and none lies in the target:
            // what was written is our own, and the others are looked at below.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
                to = to.add(bytes.len());
            }
        };
        // A value may hold pieces of the very memory that it is packed into.
        let in_target = |bytes: &[u8]| {
            let (start, end) = (target.addr(), target.addr() + len);
            bytes.as_ptr().addr() < end && start < bytes.as_ptr().addr() + bytes.len()
        };
        let mut moved = Vec::new();
        for splice in &out.splices {
            let value = JsRefs { env, refs }.get(splice.reference);
            // SAFETY: copied at once, if at all.
            let bytes = value.ok().and_then(|value| unsafe { bytes(env, value) });
            moved.push(bytes.filter(|bytes| in_target(bytes)).map(<[u8]>::to_vec));
        }
        let written = out.written();
        let mut from = 0;
        for (splice, moved) in out.splices.iter().zip(&moved) {
            put(&written[from..splice.at]);
            from = splice.at;
            if let Some(bytes) = moved.as_deref().filter(|bytes| bytes.len() == splice.len) {
                put(bytes);
                continue;
            }
            let value = JsRefs { env, refs }.get(splice.reference);
            // SAFETY: copied at once.
            let bytes = value.ok().and_then(|value| unsafe { bytes(env, value) });
            match bytes {
                Some(bytes) if bytes.len() == splice.len => put(bytes),
                _ => {
                    header[STATUS as usize] = FAULT_CHANGED;
                    return Ok(null_mut());
                }
            }
        }
        put(&written[from..]);
        out.trim();
        packer.started = false;
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `splices()` → where in what is written a binary belongs that is not, and its index in the refs;
/// the next one's, and so on.
unsafe extern "C" fn splices(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let packer = borrow(shared)?;
        let mut array = null_mut();
        // SAFETY: a live environment and its own values.
        unsafe {
            check(sys::napi_create_array(env, &mut array))?;
            let numbers = packer.encoder.out.splices.iter();
            let numbers =
                numbers.flat_map(|splice| [splice.at as f64, f64::from(splice.reference)]);
            for (index, number) in numbers.enumerate() {
                let mut value = null_mut();
                check(sys::napi_create_double(env, number, &mut value))?;
                check(sys::napi_set_element(env, array, index as u32, value))?;
            }
        }
        Ok(array)
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `takeWritten(target)`: copies what is written, without those binaries, into `target`, which has
/// its length.
unsafe extern "C" fn take_written(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [target]: [napi_value; 1]) -> Result<napi_value> {
        let mut packer = borrow(shared)?;
        let packer = &mut *packer;
        // No JavaScript runs before the copy is done.
        let (target, len) = target_memory(env, target)?;
        let written = packer.encoder.out.written();
        if !packer.encoder.done() || len != written.len() {
            return Err(Error::from_reason("the result's length"));
        }
        // SAFETY: `len` bytes on both sides; what is written is our own memory.
        unsafe { std::ptr::copy_nonoverlapping(written.as_ptr(), target, len) };
        packer.encoder.out.trim();
        packer.started = false;
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `setSlab(which, arrayBuffer)`: where small (0) or larger (1) results go from now on.
unsafe extern "C" fn set_slab(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [which, slab]: [napi_value; 2]) -> Result<napi_value> {
        let mut packer = borrow(shared)?;
        let mut index = 0;
        // SAFETY: Node checks the type.
        check(unsafe { sys::napi_get_value_uint32(env, which, &mut index) })?;
        // SAFETY: JavaScript says in each call of `encode` how much of the slab there is to write.
        packer.slabs[usize::from(index != 0)] = unsafe { array_buffer(env, slab)? };
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `defineShape(keys, shareable)` → id. The second is 0 where the keys are none to share.
unsafe extern "C" fn define_shape(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [keys, shareable]: [napi_value; 2],
    ) -> Result<napi_value> {
        let keys = strings(env, keys)?;
        let shareable = integer(env, shareable)? != 0;
        let mut packer = borrow(shared)?;
        let packer = &mut *packer;
        let id = packer.shapes.define(keys.iter().map(String::as_str));
        packer.encoder.records.add_shape(packer.shapes.names(id), shareable);
        let mut result = null_mut();
        // SAFETY: a live environment.
        check(unsafe { sys::napi_create_uint32(env, id, &mut result) })?;
        Ok(result)
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `configureRecords(maxShared, maxOwn, sequential, skipped)`: forgets all structures.
unsafe extern "C" fn configure_records(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        shared: &Shared,
        env: napi_env,
        [max_shared, max_own, sequential, skipped]: [napi_value; 4],
    ) -> Result<napi_value> {
        let (max_shared, max_own) = (integer(env, max_shared)?, integer(env, max_own)?);
        let (sequential, skipped) = (integer(env, sequential)? != 0, integer(env, skipped)?);
        let records = &mut borrow(shared)?.encoder.records;
        records.configure(max_shared, max_own, sequential, skipped);
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `setShared(structures)`: what the reader shares from now on, an array of arrays of names.
unsafe extern "C" fn set_shared(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [structures]: [napi_value; 1]) -> Result<napi_value> {
        let mut encoded = Shapes::default();
        let mut all = Vec::new();
        for index in 0..array_length(env, structures)? {
            let names = strings(env, element(env, structures, index)?)?;
            encoded.clear();
            let id = encoded.define(names.iter().map(String::as_str));
            all.push((names.len() as u32, encoded.names(id).into()));
        }
        let mut packer = borrow(shared)?;
        let packer = &mut *packer;
        packer.encoder.records.set_shared(all, &packer.shapes);
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `sharedNames(index)` → the names of a structure that the reader shares.
unsafe extern "C" fn shared_names(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, [index]: [napi_value; 1]) -> Result<napi_value> {
        let index = integer(env, index)? as usize;
        let packer = borrow(shared)?;
        let structure = packer.encoder.records.shared().get(index);
        let (_, encoded) = structure.ok_or_else(|| Error::from_reason("a structure"))?;
        string_array(env, super::encode::texts(encoded))
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `clearShapes()`: forgets all shapes; ids start anew.
unsafe extern "C" fn clear_shapes(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, _: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let mut packer = borrow(shared)?;
        packer.shapes.clear();
        packer.encoder.records.clear_shapes();
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `path()`: where the encoder stands in the value.
unsafe extern "C" fn path(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, env: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let packer = borrow(shared)?;
        let path = packer.encoder.path(&packer.shapes);
        let mut result = null_mut();
        // SAFETY: a live environment; `path` is UTF-8.
        check(unsafe {
            sys::napi_create_string_utf8(
                env,
                path.as_ptr().cast(),
                path.len() as isize,
                &mut result,
            )
        })?;
        Ok(result)
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}

/// `reset()`: drops an unfinished message.
unsafe extern "C" fn reset(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(shared: &Shared, _: napi_env, []: [napi_value; 0]) -> Result<napi_value> {
        let mut packer = borrow(shared)?;
        // A walk may fail before anything of the message was encoded.
        if packer.started {
            packer.encoder.reset();
            packer.encoder.out.trim();
            packer.started = false;
        }
        Ok(null_mut())
    }
    // SAFETY: made by `create_packer` with this state.
    unsafe { call(env, info, body) }
}
