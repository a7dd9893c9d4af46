//! Tape → bytes. One loop over the words with a stack of its own: a message may arrive in several
//! pieces of tape, so everything that must outlive one piece is in [`Encoder`].

use super::out::Out;
use super::put::*;
use super::records::{Form, Records};
use super::shapes::{KEY_PADDING, Shapes};
use super::text::Text;
use crate::tape::*;
use crate::wire::{self, IntForm, MAX_SAFE_INTEGER, RECORD_FORMS, UNSIGNED_FORMS};

/// What the encoder asks of the side that holds the caller's own buffers and long strings.
pub trait Refs {
    /// Appends `len` bytes of buffer `index`, or fails when it has another length by now.
    fn bytes(&mut self, index: u32, len: usize, out: &mut Out) -> Result<(), Fault>;
    /// Fails when buffer `index` has another length than `len` by now.
    fn check(&mut self, index: u32, len: usize) -> Result<(), Fault>;
    /// Appends string `index` of `units` UTF-16 units, header included.
    fn string(
        &mut self,
        index: u32,
        units: usize,
        probably_ascii: bool,
        out: &mut Out,
    ) -> Result<(), Fault>;
    /// The sign (true below zero) and the magnitude of BigInt `index`, its lowest 64 bits first.
    fn bigint(&mut self, index: u32) -> Result<(bool, Vec<u64>), Fault>;
}

/// A binary from this size on is copied once, into the result (`bench/` workload `binary`).
const SPLICE_BYTES: usize = 32 << 10;

/// Room for any scalar, made once a value: nine bytes, and what fixed-width stores write past it.
const SCALAR_ROOM: usize = 32;

/// `end_key` of a frame without registered keys.
const ARRAY: u32 = u32::MAX;
const MAP: u32 = u32::MAX - 1;
/// What is written is part of the one value that follows.
const PREFIX: u32 = u32::MAX - 2;
/// A record whose names come first, as values.
const NAMES: u32 = u32::MAX - 3;
/// Set in the `end_key` of a record: its keys are not written. The marks above have it too.
const RECORD: u32 = 1 << 31;

/// Prefixes that may be open for each level of `max_depth`: a mark, and a tag or two.
const PREFIXES: usize = 3;

/// One open container.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Values still to come; keys of a generic map count as values.
    left: u32,
    total: u32,
    /// The key behind the shape's last one, or one of the two marks above.
    end_key: u32,
    /// Properties that turned out to be left out.
    skipped: u32,
    /// Where a map's header is, and where the last key of a generic one is.
    header_at: usize,
    key_at: usize,
}

const ROOT: Frame =
    Frame { left: 1, total: 1, end_key: ARRAY, skipped: 0, header_at: 0, key_at: 0 };

pub struct Encoder {
    pub out: Out,
    frame: Frame,
    stack: Vec<Frame>,
    /// Levels that may be open; an open prefix raises it by its own.
    max_depth: usize,
    max_stack: usize,
    options: i32,
    unsigned: &'static [IntForm; 65],
    pub records: Records,
    /// Where objects that may come again were written, and the ids of those that did.
    marks: Vec<usize>,
    ids: Vec<u32>,
    next_id: u32,
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder {
            out: Out::default(),
            frame: ROOT,
            stack: Vec::new(),
            max_depth: 0,
            max_stack: 0,
            options: 0,
            unsigned: &UNSIGNED_FORMS,
            records: Records::default(),
            marks: Vec::new(),
            ids: Vec::new(),
            next_id: 0,
        }
    }
}

impl Encoder {
    /// Begins a message, or `count` of them; `out.start` has said where they go.
    pub fn start(&mut self, options: i32, max_depth: usize, count: u32) {
        self.frame = Frame { left: count, total: count, ..ROOT };
        self.stack.clear();
        self.max_depth = max_depth;
        self.max_stack = max_depth.saturating_mul(1 + PREFIXES);
        self.options = options;
        if options & OPT_RECORDS != 0 {
            self.unsigned = &RECORD_FORMS;
            self.records.start();
        } else {
            self.unsigned = &UNSIGNED_FORMS;
        }
        if !self.marks.is_empty() {
            self.marks.clear();
            self.ids.clear();
        }
        self.next_id = 0;
    }

    /// Forgets an unfinished message, and what it told its reader.
    pub fn reset(&mut self) {
        self.records.roll_back();
        self.frame = ROOT;
        self.stack.clear();
    }

    /// Whether the root value is complete.
    pub fn done(&self) -> bool {
        self.frame.left == 0
    }

    /// Encodes one piece of tape.
    pub fn run(
        &mut self,
        words: &[i32],
        shapes: &Shapes,
        text: &mut Text,
        refs: &mut impl Refs,
    ) -> Result<(), Fault> {
        // Without an option that changes the wire, the code for those that do is not there.
        if self.options & !OPT_FLOAT32 == 0 {
            self.run_with::<false>(words, shapes, text, refs)?;
        } else {
            self.run_with::<true>(words, shapes, text, refs)?;
        }
        if self.done() && self.next_id > 0 {
            self.insert_ids();
        }
        Ok(())
    }

    #[inline(never)]
    fn run_with<const OPTIONS: bool>(
        &mut self,
        words: &[i32],
        shapes: &Shapes,
        text: &mut Text,
        refs: &mut impl Refs,
    ) -> Result<(), Fault> {
        let mut frame = self.frame;
        let result = self.run_from::<OPTIONS>(&mut frame, words, shapes, text, refs);
        self.frame = frame;
        result
    }

    #[inline(always)]
    fn run_from<const OPTIONS: bool>(
        &mut self,
        frame: &mut Frame,
        words: &[i32],
        shapes: &Shapes,
        text: &mut Text,
        refs: &mut impl Refs,
    ) -> Result<(), Fault> {
        let internal = || Fault::at(FAULT_INTERNAL, 0);
        let unsigned = if OPTIONS { self.unsigned } else { &UNSIGNED_FORMS };
        let options = if OPTIONS { self.options } else { self.options & OPT_FLOAT32 };
        let mut f = *frame;
        let mut i = 0;
        // A fault leaves the frame as it was at the value that caused it, which `path` reads.
        macro_rules! fail {
            ($fault:expr) => {{
                *frame = f;
                return Err($fault);
            }};
        }
        macro_rules! check {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(fault) => fail!(fault),
                }
            };
        }
        macro_rules! open {
            ($n:expr, $end_key:expr, $at:expr) => {{
                if self.stack.len() >= self.max_depth {
                    fail!(Fault::at(FAULT_DEPTH, 0));
                }
                if $n > 0 {
                    f.left -= 1;
                    self.stack.push(f);
                    f = Frame {
                        left: $n,
                        total: $n,
                        end_key: $end_key,
                        skipped: 0,
                        header_at: $at,
                        key_at: 0,
                    };
                    continue;
                }
            }};
        }
        while i < words.len() {
            if f.left == 0 {
                fail!(internal());
            }
            let word = words[i];
            i += 1;
            let key_at = self.out.pos;
            if f.end_key < RECORD {
                let (key, len) = shapes.padded(f.end_key - f.left);
                self.out.reserve(len + KEY_PADDING + SCALAR_ROOM);
                // SAFETY: room was made; a key can be read for KEY_PADDING bytes from its start.
                unsafe {
                    if len <= KEY_PADDING {
                        std::ptr::copy_nonoverlapping(key, self.out.tail(), KEY_PADDING);
                    } else {
                        std::ptr::copy_nonoverlapping(key, self.out.tail(), len);
                    }
                }
                self.out.pos += len;
            } else {
                self.out.reserve(SCALAR_ROOM);
                if f.end_key == MAP && f.left & 1 == 0 {
                    f.key_at = key_at;
                }
            }
            let payload = word >> TAG_BITS;
            match word & ((1 << TAG_BITS) - 1) {
                // SAFETY: SCALAR_ROOM was reserved.
                P_INT => unsafe { put_int(i64::from(payload), unsigned, &mut self.out) },
                P_STR => check!(text.write_next(payload as usize, &mut self.out)),
                P_SHAPE => {
                    let Some(&shape) = shapes.shapes.get(payload as usize) else {
                        fail!(internal())
                    };
                    let end_key = shape.first_key + shape.keys;
                    let at = self.out.pos;
                    if OPTIONS
                        && options & OPT_RECORDS != 0
                        && self.records.put(payload as u32, shapes, &mut self.out) == Form::Record
                    {
                        open!(shape.keys, end_key | RECORD, at);
                    } else {
                        // SAFETY: SCALAR_ROOM was reserved.
                        unsafe { put_object_header::<OPTIONS>(shape.keys, options, &mut self.out) };
                        open!(shape.keys, end_key, at);
                    }
                }
                P_ARRAY => {
                    let n = payload as u32;
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe { put_array_header(n, &mut self.out) };
                    // An array that is one run of numbers needs no frame.
                    let next = words.get(i).copied().unwrap_or_default();
                    let is_run = matches!(next & ((1 << TAG_BITS) - 1), P_INTS | P_NUMBERS);
                    if is_run && next >> TAG_BITS == payload && n > 0 {
                        if self.stack.len() >= self.max_depth {
                            fail!(Fault::at(FAULT_DEPTH, 0));
                        }
                        match self.put_run::<OPTIONS>(next, words, i + 1) {
                            Some(end) => i = end,
                            None => fail!(internal()),
                        }
                    } else {
                        open!(n, ARRAY, 0);
                    }
                }
                P_NUMBER => {
                    let at = (i + 1) & !1;
                    let Some(number) = double_at(words, at) else { fail!(internal()) };
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe { put_number::<OPTIONS>(number, options, unsigned, &mut self.out) };
                    i = at + 2;
                }
                P_CONST => {
                    let byte = match payload {
                        CONST_NIL => wire::NIL,
                        CONST_FALSE => wire::FALSE,
                        CONST_TRUE => wire::TRUE,
                        CONST_SKIP => {
                            // Take the key back; the header is corrected when the map closes.
                            self.out.pos = match f.end_key {
                                MAP if f.left & 1 == 0 => fail!(internal()),
                                MAP => f.key_at,
                                RECORD.. => fail!(internal()),
                                _ => key_at,
                            };
                            f.skipped += 1;
                            wire::NIL
                        }
                        _ => {
                            let (ext_type, byte) = match payload {
                                CONST_UNDEFINED => (EXT_UNDEFINED as u8, 0),
                                _ => (wire::TIMESTAMP as u8, 0xff),
                            };
                            // SAFETY: SCALAR_ROOM was reserved.
                            unsafe { self.out.put_bytes([wire::FIXEXT1, ext_type]) };
                            byte
                        }
                    };
                    if payload != CONST_SKIP {
                        // SAFETY: SCALAR_ROOM was reserved.
                        unsafe { self.out.put(byte) };
                    }
                }
                P_INTS | P_NUMBERS => {
                    if payload <= 0 || payload as u32 > f.left {
                        fail!(internal());
                    }
                    match self.put_run::<OPTIONS>(word, words, i) {
                        Some(end) => i = end,
                        None => fail!(internal()),
                    }
                    f.left -= payload as u32 - 1;
                }
                P_MAP => {
                    let pairs = payload as u32;
                    let at = self.out.pos;
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe { put_map_header(pairs, &mut self.out) };
                    open!(2 * pairs, MAP, at);
                }
                P_BIN => {
                    let Some(len) = length_at(words, i) else { fail!(internal()) };
                    i += 2;
                    let Ok(short) = u32::try_from(len) else {
                        fail!(Fault::at(FAULT_TOO_LARGE, 0))
                    };
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe { put_bin_header(short, &mut self.out) };
                    check!(self.put_ref(payload as u32, len, refs));
                }
                P_LONG_STR => {
                    let Some(&[units, probably_ascii]) =
                        words.get(i..i + 2).and_then(|pair| pair.first_chunk())
                    else {
                        fail!(internal())
                    };
                    i += 2;
                    let ascii = probably_ascii != 0;
                    check!(refs.string(payload as u32, units as usize, ascii, &mut self.out));
                }
                P_EXT => {
                    let (Some(&index), Some(len)) = (words.get(i), length_at(words, i + 1)) else {
                        fail!(internal())
                    };
                    i += 3;
                    let Ok(short) = u32::try_from(len) else {
                        fail!(Fault::at(FAULT_TOO_LARGE, 0))
                    };
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe { put_ext_header(payload as i8, short, &mut self.out) };
                    check!(self.put_ref(index as u32, len, refs));
                }
                P_DATE => {
                    let at = (i + 1) & !1;
                    let Some(milliseconds) = double_at(words, at) else { fail!(internal()) };
                    i = at + 2;
                    let ms = milliseconds as i64;
                    let seconds = ms.div_euclid(1000);
                    let nanoseconds = ms.rem_euclid(1000) as u32 * 1_000_000;
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe { put_timestamp(seconds, nanoseconds, &mut self.out) };
                }
                P_BIGINT => {
                    let at = (i + 1) & !1;
                    let Some(bits) = bits_at(words, at) else { fail!(internal()) };
                    i = at + 2;
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe {
                        if OPTIONS && options & OPT_WIDE_BIGINT != 0 {
                            self.out.put(if payload != 0 { wire::UINT64 } else { wire::INT64 });
                            self.out.put_bytes(bits.to_be_bytes());
                        } else if payload != 0 {
                            put_unsigned(bits, unsigned, &mut self.out);
                        } else if bits as i64 > MAX_SAFE_INTEGER {
                            // Both 64-bit forms are as short; int 64 is what peers write for these.
                            self.out.put(wire::INT64);
                            self.out.put_bytes(bits.to_be_bytes());
                        } else {
                            put_int(bits as i64, unsigned, &mut self.out);
                        }
                    }
                }
                P_TIMESTAMP => {
                    let at = (i + 2) & !1;
                    let (Some(&nanoseconds), Some(seconds)) = (words.get(i), bits_at(words, at))
                    else {
                        fail!(internal())
                    };
                    i = at + 2;
                    // SAFETY: SCALAR_ROOM was reserved.
                    unsafe { put_timestamp(seconds as i64, nanoseconds as u32, &mut self.out) };
                }
                P_RARE => {
                    let (frame, at, opened) =
                        check!(self.run_rare::<OPTIONS>(f, payload, words, i, shapes, refs));
                    (f, i) = (frame, at);
                    if opened {
                        continue;
                    }
                }
                _ => fail!(internal()),
            }
            f.left -= 1;
            while f.left == 0 {
                if f.skipped > 0 {
                    if f.end_key == PREFIX {
                        self.max_depth -= 1;
                    } else {
                        self.shrink_map(&f);
                    }
                }
                match self.stack.pop() {
                    Some(parent) => f = parent,
                    None => break,
                }
            }
        }
        *frame = f;
        Ok(())
    }

    /// The kinds of words that few messages have: what is written, where the next word is, and
    /// whether the frame is a new one, whose first value comes next.
    #[inline(never)]
    fn run_rare<const OPTIONS: bool>(
        &mut self,
        f: Frame,
        kind: i32,
        words: &[i32],
        mut at: usize,
        shapes: &Shapes,
        refs: &mut impl Refs,
    ) -> Result<(Frame, usize, bool), Fault> {
        let internal = || Fault::at(FAULT_INTERNAL, 0);
        if kind == PR_MARK {
            // The value behind it may be in the next piece.
            self.marks.push(self.out.pos);
            self.ids.push(0);
            return Ok((self.open_prefix(f)?, at, true));
        }
        let argument = *words.get(at).ok_or_else(internal)?;
        at += 1;
        let start = self.out.pos;
        match kind {
            PR_TAG => {
                // SAFETY: SCALAR_ROOM was reserved.
                unsafe { self.out.put_bytes([wire::FIXEXT1, argument as u8, 0]) };
                return Ok((self.open_prefix(f)?, at, true));
            }
            PR_REF => {
                let id = self.ids.get_mut(argument as usize).ok_or_else(internal)?;
                if *id == 0 {
                    self.next_id += 1;
                    *id = self.next_id;
                }
                // SAFETY: SCALAR_ROOM was reserved.
                unsafe { self.out.put_bytes(id_ext(EXT_POINTER, *id)) };
            }
            PR_RECORD => {
                let n = argument as u32;
                if self.records.put_unnamed(n, &mut self.out) != Form::Record {
                    return Err(internal());
                }
                let names_at = self.out.pos;
                return self.open(f, 2 * n, NAMES, names_at, at);
            }
            PR_OBJECT => {
                let pairs = argument as u32;
                // SAFETY: SCALAR_ROOM was reserved.
                unsafe { put_object_header::<OPTIONS>(pairs, self.options, &mut self.out) };
                return self.open(f, 2 * pairs, MAP, start, at);
            }
            PR_SHAPED_MAP => {
                let shape = *shapes.shapes.get(argument as usize).ok_or_else(internal)?;
                // SAFETY: SCALAR_ROOM was reserved.
                unsafe { put_map_header(shape.keys, &mut self.out) };
                return self.open(f, shape.keys, shape.first_key + shape.keys, start, at);
            }
            PR_BIGINT => {
                let (negative, magnitude) = refs.bigint(argument as u32)?;
                put_bigint(negative, &magnitude, &mut self.out);
            }
            PR_TYPED => {
                let index = *words.get(at).ok_or_else(internal)?;
                let len = length_at(words, at + 1).ok_or_else(internal)?;
                at += 3;
                let payload_len =
                    u32::try_from(len + 1).map_err(|_| Fault::at(FAULT_TOO_LARGE, 0))?;
                // SAFETY: SCALAR_ROOM was reserved.
                unsafe {
                    put_long_ext_header(EXT_TYPED as i8, payload_len, &mut self.out);
                    self.out.put(argument as u8);
                }
                self.put_ref(index as u32, len, refs)?;
            }
            _ => return Err(internal()),
        }
        Ok((f, at, false))
    }

    /// A frame for the one value that what was written belongs to.
    fn open_prefix(&mut self, mut f: Frame) -> Result<Frame, Fault> {
        if self.max_depth >= self.max_stack {
            return Err(Fault::at(FAULT_DEPTH, 0));
        }
        self.max_depth += 1;
        f.left -= 1;
        self.stack.push(f);
        Ok(Frame { left: 1, end_key: PREFIX, skipped: 1, ..ROOT })
    }

    /// A frame for `n` values, or none where there are none.
    fn open(
        &mut self,
        mut f: Frame,
        n: u32,
        end_key: u32,
        header_at: usize,
        at: usize,
    ) -> Result<(Frame, usize, bool), Fault> {
        if self.stack.len() >= self.max_depth {
            return Err(Fault::at(FAULT_DEPTH, 0));
        }
        if n == 0 {
            return Ok((f, at, false));
        }
        f.left -= 1;
        self.stack.push(f);
        Ok((Frame { left: n, total: n, end_key, skipped: 0, header_at, key_at: 0 }, at, true))
    }

    /// Writes a run of numbers, whose word is `word`, from the words at `at`; returns where it ends.
    #[inline(always)]
    fn put_run<const OPTIONS: bool>(
        &mut self,
        word: i32,
        words: &[i32],
        at: usize,
    ) -> Option<usize> {
        let unsigned = if OPTIONS { self.unsigned } else { &UNSIGNED_FORMS };
        let n = (word >> TAG_BITS) as usize;
        if word & ((1 << TAG_BITS) - 1) == P_INTS {
            let run = words.get(at..at.checked_add(n)?)?;
            self.out.reserve(5 * n + SCALAR_ROOM);
            for &int in run {
                // SAFETY: five bytes an element and the overhang were reserved.
                unsafe { put_int(i64::from(int), unsigned, &mut self.out) };
            }
            return Some(at + n);
        }
        let start = (at + 1) & !1;
        let run = words.get(start..start.checked_add(2 * n)?)?;
        self.out.reserve(9 * n + SCALAR_ROOM);
        for pair in run.chunks_exact(2) {
            let number = double_from(pair[0], pair[1]);
            // SAFETY: nine bytes an element and the overhang were reserved.
            unsafe { put_number::<OPTIONS>(number, self.options, unsigned, &mut self.out) };
        }
        Some(start + 2 * n)
    }

    fn put_ref(&mut self, index: u32, len: usize, refs: &mut impl Refs) -> Result<(), Fault> {
        if len >= SPLICE_BYTES {
            refs.check(index, len)?;
            self.out.splice(index, len);
            Ok(())
        } else {
            refs.bytes(index, len, &mut self.out)
        }
    }

    /// Where the encoder stands, as a JSONPath: `$.users[3].name`.
    pub fn path(&self, shapes: &Shapes) -> String {
        let mut path = String::from("$");
        // In an outer frame the container inside was counted already.
        let outer = self.stack.iter().map(|frame| (frame, frame.left));
        let inner = std::iter::once((&self.frame, self.frame.left.wrapping_sub(1)));
        for (frame, left) in outer.chain(inner).skip(1) {
            let index = frame.total.wrapping_sub(1).wrapping_sub(left);
            match frame.end_key {
                ARRAY => path.push_str(&format!("[{index}]")),
                MAP => self.push_map_key(frame.key_at, &mut path),
                PREFIX => {}
                NAMES => {
                    let name = index.wrapping_sub(frame.total / 2);
                    push_key(nth_string(&self.out.written()[frame.header_at..], name), &mut path);
                }
                end_key => push_key(shapes.encoded((end_key & !RECORD) - left - 1), &mut path),
            }
        }
        path
    }

    /// Puts ids in front of the objects that came again.
    #[cold]
    #[inline(never)]
    fn insert_ids(&mut self) {
        let referred = self.marks.iter().zip(&self.ids).filter(|(_, id)| **id != 0);
        let prefixes: Vec<_> = referred.map(|(&at, &id)| (at, id_ext(EXT_ID, id))).collect();
        self.out.insert(&prefixes);
        // Another piece may follow that has no words.
        self.next_id = 0;
    }

    /// Corrects the header of a map that left properties out.
    #[cold]
    #[inline(never)]
    fn shrink_map(&mut self, frame: &Frame) {
        let total = if frame.end_key == MAP { frame.total / 2 } else { frame.total };
        let n = total - frame.skipped;
        let at = frame.header_at;
        let header_len = |n: u32| match n {
            0..=15 if self.out.written()[at] != wire::MAP16 || self.options & OPT_MAP16 == 0 => 1,
            0..=0xffff => 3,
            _ => 5,
        };
        let (len, surplus) = (header_len(n), header_len(total) - header_len(n));
        self.out.remove(at, surplus);
        self.marks
            .iter_mut()
            .rev()
            .take_while(|mark| **mark > at)
            .for_each(|mark| *mark -= surplus);
        match len {
            1 => self.out.patch(at, &[wire::FIXMAP | n as u8]),
            3 => {
                self.out.patch(at, &[wire::MAP16]);
                self.out.patch(at + 1, &(n as u16).to_be_bytes());
            }
            _ => self.out.patch(at + 1, &n.to_be_bytes()),
        }
    }

    fn push_map_key(&self, at: usize, path: &mut String) {
        let written = self.out.written();
        match written.get(at) {
            Some(&(wire::FIXSTR..=0xbf | wire::STR8..=wire::STR32)) => {
                push_key(&written[at..], path);
            }
            Some(&byte @ 0..=0x7f) => path.push_str(&format!("[{byte}]")),
            _ => path.push_str("[?]"),
        }
    }
}

/// The header and the text of the string that starts `bytes`.
fn string_len(bytes: &[u8]) -> (usize, usize) {
    match bytes[0] {
        wire::STR8 => (2, usize::from(bytes[1])),
        wire::STR16 => (3, usize::from(u16::from_be_bytes([bytes[1], bytes[2]]))),
        wire::STR32 => (5, u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize),
        byte => (1, usize::from(byte & 31)),
    }
}

/// The texts of the strings that `bytes` are.
pub fn texts(mut bytes: &[u8]) -> Vec<&str> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let (header, len) = string_len(bytes);
        texts.push(std::str::from_utf8(&bytes[header..header + len]).unwrap_or_default());
        bytes = &bytes[header + len..];
    }
    texts
}

/// String `n` of those that start `bytes`.
fn nth_string(mut bytes: &[u8], n: u32) -> &[u8] {
    for _ in 0..n {
        let (header, len) = string_len(bytes);
        bytes = &bytes[header + len..];
    }
    bytes
}

/// Adds the key whose encoded form starts `bytes`.
fn push_key(bytes: &[u8], path: &mut String) {
    let (header, len) = string_len(bytes);
    let key = String::from_utf8_lossy(&bytes[header..header + len]);
    let plain = |c: char| c == '_' || c == '$' || c.is_alphanumeric();
    if !key.is_empty() && key.chars().all(plain) && !key.starts_with(|c: char| c.is_ascii_digit()) {
        path.push('.');
        path.push_str(&key);
    } else {
        path.push_str(&format!("[{key:?}]"));
    }
}

#[inline(always)]
fn double_from(low: i32, high: i32) -> f64 {
    f64::from_bits(u64::from(low as u32) | u64::from(high as u32) << 32)
}

#[inline(always)]
fn bits_at(words: &[i32], at: usize) -> Option<u64> {
    let pair = words.get(at..at + 2)?;
    Some(u64::from(pair[0] as u32) | u64::from(pair[1] as u32) << 32)
}

#[inline(always)]
fn double_at(words: &[i32], at: usize) -> Option<f64> {
    bits_at(words, at).map(f64::from_bits)
}

fn length_at(words: &[i32], at: usize) -> Option<usize> {
    let pair = words.get(at..at + 2)?;
    usize::try_from(u64::from(pair[0] as u32) | u64::from(pair[1] as u32) << 32).ok()
}

/// An id or a pointer of an object.
fn id_ext(ext_type: i32, id: u32) -> [u8; 6] {
    let [a, b, c, d] = id.to_be_bytes();
    [wire::FIXEXT4, ext_type as u8, a, b, c, d]
}

/// A BigInt of more than 64 bits: two's complement in whole 64-bit words, as few as there can be.
#[cold]
fn put_bigint(negative: bool, magnitude: &[u64], out: &mut Out) {
    let mut words = magnitude.to_vec();
    if negative {
        let mut carry = true;
        for word in &mut words {
            (*word, carry) = (!*word).overflowing_add(u64::from(carry));
        }
    }
    let sign = if negative { u64::MAX } else { 0 };
    if words.last().is_none_or(|last| (last ^ sign) >> 63 != 0) {
        words.push(sign);
    }
    let len = 8 * words.len();
    out.reserve(len + SCALAR_ROOM);
    // SAFETY: room was made.
    unsafe {
        put_ext_header(EXT_BIGINT as i8, len as u32, out);
        for word in words.iter().rev() {
            out.put_bytes(word.to_be_bytes());
        }
    }
}
