//! Bytes → tape. One loop with a stack of its own and no recursion. Every length is compared with
//! what is left of the input before anything is reserved for it, nested claims together: the values
//! that all open containers still owe never outnumber the bytes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::records::{FIRST_ID, Id, NO_NODE, Structure, Structures, defined_id};
use super::strings::{self, Known, Strings};
use super::text::{MAX_SHARED_BYTES, TextSink, Texts};
use super::trie::{self, Trie};
use crate::pack::float32;
use crate::tape::*;
use crate::wire::{self, INT_READS, IntRead, MAX_NANOSECONDS, MAX_SAFE_INTEGER, RECORD_INT_READS};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Int64 {
    Auto,
    BigInt,
    Number,
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Utf8 {
    Replace,
    Fatal,
    Raw,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub max_depth: usize,
    pub int64: Int64,
    pub utf8: Utf8,
    /// Keys are values like any other.
    pub map_keys: bool,
    /// Timestamps with their nanoseconds.
    pub timestamps: bool,
    /// The fixints from 64 on may be ids of records; with `strict_ids` they are nothing else.
    pub records: bool,
    pub strict_ids: bool,
    /// Float 32 stands for a decimal number.
    pub round: bool,
    /// Keys that are nil or booleans have their text, and a timestamp of one byte is no time.
    pub lenient: bool,
    /// What the message before has defined still holds.
    pub keep_structures: bool,
    pub mode: i32,
}

impl Options {
    pub fn from_bits(bits: i32, max_depth: usize, mode: i32) -> Options {
        let utf8 = match bits & (OPT_UTF8_FATAL | OPT_UTF8_RAW) {
            0 => Utf8::Replace,
            OPT_UTF8_FATAL => Utf8::Fatal,
            _ => Utf8::Raw,
        };
        let int64 = match bits >> OPT_INT64_SHIFT & 3 {
            0 => Int64::Auto,
            1 => Int64::BigInt,
            2 => Int64::Number,
            _ => Int64::Text,
        };
        Options {
            max_depth,
            int64,
            utf8,
            map_keys: bits & OPT_MAPS_MAP != 0,
            timestamps: bits & OPT_TIMESTAMPS != 0,
            records: bits & OPT_RECORDS != 0,
            strict_ids: bits & OPT_STRICT_IDS != 0,
            round: bits & OPT_ROUND != 0,
            keep_structures: bits & OPT_KEEP != 0,
            lenient: bits & OPT_LENIENT != 0,
            mode,
        }
    }
}

/// Why a parse stopped.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    Fault(Fault),
    /// The tape is too short; try again with one of this many words.
    Grow(usize),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}

/// `node` of a frame that is not a map on its way through the trie.
const ARRAY: u32 = u32::MAX;
const PAIRS: u32 = u32::MAX - 1;
const BOTTOM: u32 = u32::MAX - 2;
/// The one value behind a tag or an id; no level of its own.
const TAG: u32 = u32::MAX - 3;
/// Tags that may be open for each level of `max_depth`.
const TAGS: usize = 3;

#[derive(Clone, Copy)]
struct Frame {
    /// Values (arrays) or pairs (maps) still to come.
    left: u32,
    /// Where the next word goes.
    slot: u32,
    /// Where the container's block is, and its own word.
    block: u32,
    home: u32,
    /// The map's place in the trie, or one of the marks above.
    node: u32,
    /// Values that the containers around this one still owe.
    owed: u64,
}

impl Frame {
    /// Bytes that must still come, at the fewest: its own entries and what is owed around it.
    #[inline(always)]
    fn still_owed(&self) -> u64 {
        self.owed + u64::from(self.left) * if self.node == ARRAY { 1 } else { 2 }
    }
}

/// A block's index has 28 bits.
const MAX_WORDS: usize = 1 << 28;

/// No message takes more words than this a byte, and a few: seven for the two bytes of a map of one
/// pair that turns out to have no shape. Were it less, a tape of just so many words would be made
/// longer by a value at a time, and the message parsed again for each.
const MAX_WORDS_A_BYTE: usize = 4;

/// A root array of so many elements and more, and a series of messages, is handed over in parts of
/// about so many words, so that a large message needs no large tape (`bench/` workload `users`).
const LONG_ARRAY: usize = 256;
const PART_WORDS: usize = 6 << 10;

/// A depth that makes the builder use a stack of its own, however shallow the message is.
const ALWAYS_DEEP: usize = i32::MAX as usize;

/// Positive fixints are copied so many at a time.
const FIXINT_STEP: usize = 8;

pub struct Parser {
    pub trie: Trie,
    texts: Texts,
    keys: Strings,
    values: Strings,
    stack: Vec<Frame>,
    deepest: usize,
    roots: Vec<i32>,
    last_root: Root,
    /// What the table of structures was before the message.
    message_mark: usize,
    /// By ext type: what it means, one of the `KIND_…` values.
    pub ext_kinds: [i32; 256],
    /// Whether an ext may say more of what follows than that a value belongs to it.
    pub has_distant: bool,
    is_extended: bool,
    pub structures: Structures,
    /// Ids of objects that the message has defined.
    ids: HashSet<u32>,
    /// Ids of the arrays of names in definitions.
    name_arrays: HashMap<u32, Structure>,
}

/// What one parse works on.
struct Run<'a, S> {
    input: &'a [u8],
    pos: usize,
    tape: &'a mut [i32],
    top: usize,
    options: Options,
    max_stack: usize,
    /// Whether a string may be part of a bundle, and the bundle in use.
    reads_bundles: bool,
    bundle: Option<Bundle>,
    reads: &'static [IntRead; 256],
    sink: &'a mut S,
    /// Root values still to come, of a series or a long array; `None` for a single one.
    roots_left: Option<usize>,
}

/// Strings that are kept in one place, to be taken from it one after the other: where the next of
/// each kind starts, where the last one ends.
#[derive(Clone)]
struct Bundle {
    wide: std::ops::Range<usize>,
    ascii: std::ops::Range<usize>,
    end: usize,
}

/// Where a parse ended.
pub struct End {
    pub pos: usize,
    /// Root values that are left: elements of a long array, or any number other than 0 for a series.
    pub left: usize,
    /// Why a stream's next message is not there.
    pub stopped: Option<Fault>,
}

/// What there was when the last message of a stream was complete.
#[derive(Clone, Copy)]
struct Root {
    pos: usize,
    keys: usize,
    values: usize,
    structures: usize,
}

enum Array {
    Done(i32),
    Mixed,
}

impl Default for Parser {
    fn default() -> Self {
        Parser {
            trie: Trie::default(),
            texts: Texts::default(),
            keys: Strings::new(strings::MAX_KEY_SLOTS),
            values: Strings::new(strings::MAX_VALUE_SLOTS),
            stack: Vec::new(),
            deepest: 0,
            roots: Vec::new(),
            message_mark: 0,
            last_root: Root { pos: 0, keys: 0, values: 0, structures: 0 },
            ext_kinds: [KIND_EXT; 256],
            has_distant: false,
            is_extended: false,
            structures: Structures::default(),
            ids: HashSet::new(),
            name_arrays: HashMap::new(),
        }
    }
}

impl Parser {
    /// Takes back what the last message taught: it will not reach JavaScript.
    pub fn forget(&mut self) {
        self.keys.forget_fresh();
        self.values.forget_fresh();
    }

    /// From now on `ext_type` means what `kind` says.
    pub fn set_ext_kind(&mut self, ext_type: u8, kind: i32) {
        self.ext_kinds[usize::from(ext_type)] = kind;
        self.is_extended |= kind != KIND_EXT;
        self.has_distant |= matches!(kind, KIND_ID | KIND_RECORD | KIND_BUNDLE);
    }

    /// Objects that are pointed at, and bundles of strings, come in one piece.
    fn needs_whole_messages(&self) -> bool {
        let is = |ext_type: i32, kind| self.ext_kinds[ext_type as usize] == kind;
        is(EXT_ID, KIND_ID) || is(EXT_BUNDLE, KIND_BUNDLE)
    }

    /// Parses from `start`, in the middle of an array with `left` more elements if the mode says so.
    /// The root's word is in the header block.
    pub fn parse<S: TextSink>(
        &mut self,
        input: &[u8],
        start: usize,
        left: usize,
        tape: &mut [i32],
        options: Options,
        sink: &mut S,
    ) -> Result<End, Stop> {
        // Without a type or an id that means something, the code for those that do is not there.
        if !self.is_extended && !options.records {
            if self.trie.full {
                self.trie.clear();
            }
            let result = self.parse_whole::<S, false>(input, start, left, tape, options, sink);
            if result.is_err() {
                self.forget();
            }
            return result;
        }
        let is_part = match options.mode {
            MODE_REST_OF_ONE | MODE_REST_OF_FROM => true,
            MODE_ALL => start > 0,
            // Of a stream every piece starts with a message of its own.
            MODE_STREAM => start > 0 && self.structures.sequential,
            _ => false,
        };
        // Ids belong to one message; only a long array has parts, and then it has no ids.
        self.ids.clear();
        self.name_arrays.clear();
        if !is_part {
            if !options.keep_structures {
                self.structures.start();
            }
            self.message_mark = self.structures.mark();
            if self.trie.full {
                self.structures.keep_names(&self.trie);
                self.trie.clear();
            }
        }
        let mark = self.structures.mark();
        let result = self.parse_whole::<S, true>(input, start, left, tape, options, sink);
        match &result {
            Ok(_) => {}
            // The same again, on a longer tape.
            Err(Stop::Grow(_)) => {
                self.structures.roll_back(mark);
                self.forget();
            }
            // What came in parts is taken back whole.
            Err(Stop::Fault(_)) => self.take_back(),
        }
        result
    }

    /// Takes back all of the last message: it will not reach JavaScript.
    pub fn take_back(&mut self) {
        self.structures.roll_back(self.message_mark);
        self.forget();
    }

    #[inline(never)]
    fn parse_whole<S: TextSink, const EXTENDED: bool>(
        &mut self,
        input: &[u8],
        start: usize,
        left: usize,
        tape: &mut [i32],
        options: Options,
        sink: &mut S,
    ) -> Result<End, Stop> {
        self.keys.start();
        self.values.start();
        self.texts.clear();
        self.deepest = 0;
        self.stack.clear();
        self.roots.clear();
        let top = HEADER_WORDS as usize;
        let reads = if EXTENDED && options.records { &RECORD_INT_READS } else { &INT_READS };
        let max_stack = options.max_depth.saturating_mul(1 + TAGS);
        let reads_bundles = EXTENDED && self.ext_kinds[EXT_BUNDLE as usize] == KIND_BUNDLE;
        let mut run = Run {
            input,
            pos: start,
            tape,
            top,
            options,
            max_stack,
            reads_bundles,
            bundle: None,
            reads,
            sink,
            roots_left: None,
        };
        assert!(run.tape.len() > run.top);
        match options.mode {
            MODE_ALL | MODE_STREAM => run.roots_left = Some(usize::MAX),
            // Claimed with the first part: checked again, a fault would depend on how parts are cut.
            MODE_REST_OF_ONE | MODE_REST_OF_FROM => run.roots_left = Some(left),
            _ if EXTENDED && self.needs_whole_messages() => {}
            _ => run.roots_left = run.long_array()?,
        }
        if !is_series(options.mode) && run.roots_left.is_some() {
            // The array itself is one level.
            if options.max_depth == 0 {
                return Err(Fault::at(FAULT_DEPTH, start).into());
            }
            run.options.max_depth -= 1;
            run.max_stack -= 1;
        }
        let mut stopped = None;
        if !is_series(options.mode) || start < input.len() {
            self.last_root =
                Root { pos: start, keys: 0, values: 0, structures: self.structures.mark() };
            match self.run::<S, EXTENDED>(&mut run) {
                Err(Stop::Fault(fault)) if options.mode == MODE_STREAM => {
                    stopped = Some(fault);
                    run.pos = self.last_root.pos;
                    self.keys.forget_since(self.last_root.keys);
                    self.values.forget_since(self.last_root.values);
                    self.structures.roll_back(self.last_root.structures);
                }
                other => other?,
            }
        }
        self.texts.finish(run.sink)?;
        let mut left = 0;
        if let Some(roots_left) = run.roots_left {
            run.need(1 + self.roots.len())?;
            let block = run.top;
            run.top += 1 + self.roots.len();
            run.tape[block] = self.roots.len() as i32;
            run.tape[block + 1..run.top].copy_from_slice(&self.roots);
            run.tape[ROOT as usize] = word(block, U_ARRAY);
            left = match options.mode {
                _ if stopped.is_some() => 0,
                MODE_ALL | MODE_STREAM => input.len() - run.pos,
                _ => roots_left,
            };
        }
        let strict = matches!(options.mode, MODE_ONE | MODE_REST_OF_ONE);
        if strict && left == 0 && run.pos < input.len() {
            return Err(Fault::at(FAULT_EXTRA_BYTES, run.pos).into());
        }
        run.tape[USED as usize] = run.top as i32;
        run.tape[DEPTH as usize] = self.deepest as i32;
        Ok(End { pos: run.pos, left, stopped })
    }

    #[inline(always)]
    fn run<S: TextSink, const EXTENDED: bool>(&mut self, run: &mut Run<S>) -> Result<(), Stop> {
        let home = ROOT as u32;
        // Elements of a long array that are still to come owe their bytes too.
        let owed = match run.options.mode {
            MODE_ALL | MODE_STREAM => 0,
            _ => run.roots_left.map_or(0, |left| left.saturating_sub(1) as u64),
        };
        let mut f = Frame { left: 0, slot: 0, block: 0, home, node: BOTTOM, owed };
        let mut slot = ROOT as usize;
        'values: loop {
            // One value, whose word goes to `slot`.
            let at = run.pos;
            let Some(&byte) = run.input.get(at) else {
                return Err(Fault::at(FAULT_TRUNCATED, at).into());
            };
            run.pos = at + 1;
            let word_here = 'word: {
                match byte {
                    0x00..FIRST_ID => i32::from(byte) << TAG_BITS,
                    FIRST_ID..=0x7f => {
                        if EXTENDED && run.options.records {
                            match self.record(run, at, byte, &mut f, &mut slot)? {
                                Some(word) => break 'word word,
                                None => continue 'values,
                            }
                        }
                        i32::from(byte) << TAG_BITS
                    }
                    wire::NEGATIVE_FIXINT..=0xff => i32::from(byte as i8) << TAG_BITS,
                    wire::FIXSTR..=0xbf => self.string(run, at, usize::from(byte & 31))?,
                    wire::FIXMAP..=0x8f | wire::MAP16 | wire::MAP32 => {
                        let n = match byte {
                            wire::MAP16 => run.length(at, 2)?,
                            wire::MAP32 => run.length(at, 4)?,
                            _ => usize::from(byte & 15),
                        };
                        let owed = f.still_owed();
                        run.check_claim(at, owed + 2 * n as u64)?;
                        self.check_depth(run, at)?;
                        if n == 0 {
                            break 'word CONST_EMPTY_MAP << TAG_BITS | U_CONST;
                        }
                        self.stack.push(f);
                        self.deepest = self.deepest.max(self.stack.len());
                        let block = run.top;
                        let home = slot as u32;
                        if run.options.map_keys || n > trie::MAX_KEYS {
                            run.need(3 + 2 * n)?;
                            run.top += 3 + 2 * n;
                            run.set(block, trie::ROOT as i32);
                            run.set(block + 1, 0);
                            run.set(block + 2, n as i32);
                            run.set(slot, word(block, U_MAP));
                            let (left, node) =
                                if run.options.map_keys { (2 * n, ARRAY) } else { (n, PAIRS) };
                            f = Frame {
                                left: left as u32,
                                slot: block as u32 + 3,
                                block: block as u32,
                                home,
                                node,
                                owed,
                            };
                        } else {
                            run.need(1 + n)?;
                            run.top += 1 + n;
                            run.set(slot, word(block, U_OBJECT));
                            f = Frame {
                                left: n as u32,
                                slot: block as u32 + 1,
                                block: block as u32,
                                home,
                                node: trie::ROOT,
                                owed,
                            };
                        }
                        slot = self.next(run, &mut f)?;
                        continue 'values;
                    }
                    wire::FIXARRAY..=0x9f | wire::ARRAY16 | wire::ARRAY32 => {
                        let n = match byte {
                            wire::ARRAY16 => run.length(at, 2)?,
                            wire::ARRAY32 => run.length(at, 4)?,
                            _ => usize::from(byte & 15),
                        };
                        let owed = f.still_owed();
                        run.check_claim(at, owed + n as u64)?;
                        self.check_depth(run, at)?;
                        if n == 0 {
                            break 'word CONST_EMPTY_ARRAY << TAG_BITS | U_CONST;
                        }
                        match run.numbers(n)? {
                            Array::Done(word) => break 'word word,
                            Array::Mixed => {}
                        }
                        self.stack.push(f);
                        self.deepest = self.deepest.max(self.stack.len());
                        let block = run.top;
                        run.need(1 + n)?;
                        run.top += 1 + n;
                        run.set(block, n as i32);
                        run.set(slot, word(block, U_ARRAY));
                        f = Frame {
                            left: n as u32 - 1,
                            slot: block as u32 + 2,
                            block: block as u32,
                            home: slot as u32,
                            node: ARRAY,
                            owed,
                        };
                        slot = block + 1;
                        continue 'values;
                    }
                    wire::NIL => CONST_NIL << TAG_BITS | U_CONST,
                    wire::FALSE => CONST_FALSE << TAG_BITS | U_CONST,
                    wire::TRUE => CONST_TRUE << TAG_BITS | U_CONST,
                    wire::STR8 => {
                        let len = run.length(at, 1)?;
                        self.string(run, at, len)?
                    }
                    wire::STR16 => {
                        let len = run.length(at, 2)?;
                        self.string(run, at, len)?
                    }
                    wire::STR32 => {
                        let len = run.length(at, 4)?;
                        self.string(run, at, len)?
                    }
                    wire::FLOAT32 | wire::FLOAT64 | wire::UINT8..=wire::INT64 => run.number(at)?,
                    wire::BIN8 | wire::BIN16 | wire::BIN32 => {
                        let len = run.length(at, 1 << (byte - wire::BIN8))?;
                        run.bytes(at, len)?
                    }
                    wire::EXT8 | wire::EXT16 | wire::EXT32 | wire::FIXEXT1..=wire::FIXEXT16 => {
                        let len = match byte {
                            wire::FIXEXT1.. => 1 << (byte - wire::FIXEXT1),
                            _ => run.length(at, 1 << (byte - wire::EXT8))?,
                        };
                        if len >= run.input.len() - run.pos {
                            return Err(run.truncated(at));
                        }
                        let kind = self.ext_kinds[usize::from(run.input[run.pos])];
                        if !EXTENDED || kind == KIND_EXT {
                            break 'word run.ext(at, len)?;
                        }
                        match self.special_ext(run, at, len, kind, &mut f, &mut slot)? {
                            Some(word) => word,
                            None => continue 'values,
                        }
                    }
                    wire::NEVER_USED => {
                        if !EXTENDED {
                            return Err(Fault::at(FAULT_INVALID_BYTE, at).into());
                        }
                        let bytes = run.bundled(at)?;
                        let behind = run.pos;
                        run.pos = run.offset_of(bytes);
                        let word = self.string(run, at, bytes.len())?;
                        run.pos = behind;
                        word
                    }
                }
            };
            run.set(slot, word_here);

            // Where the next value goes.
            while f.left == 0 {
                if f.node < BOTTOM {
                    if EXTENDED && f.node == TAG {
                        run.options.max_depth -= 1;
                    } else {
                        run.set(f.block as usize, f.node as i32);
                    }
                }
                if f.node == BOTTOM {
                    if EXTENDED && let Some(bundle) = run.bundle.take() {
                        run.pos = bundle.end;
                    }
                    if let Some(left) = &mut run.roots_left {
                        *left -= 1;
                        if run.options.mode == MODE_STREAM {
                            self.last_root = Root {
                                pos: run.pos,
                                keys: self.keys.mark(),
                                values: self.values.mark(),
                                structures: self.structures.mark(),
                            };
                        }
                        let more = match run.options.mode {
                            MODE_ALL | MODE_STREAM => run.pos < run.input.len(),
                            _ => *left > 0,
                        };
                        if !is_series(run.options.mode) {
                            f.owed = left.saturating_sub(1) as u64;
                        }
                        // Ids belong to one value; definitions, to all that come together, but in
                        // a stream that is no more than chance.
                        if EXTENDED && is_series(run.options.mode) {
                            self.ids.clear();
                            self.name_arrays.clear();
                            if run.options.mode == MODE_STREAM {
                                self.structures.end_message();
                            }
                        }
                        self.roots.push(run.tape[ROOT as usize]);
                        if more && run.top + self.roots.len() < PART_WORDS {
                            break;
                        }
                    }
                    return Ok(());
                }
                f = self.stack.pop().unwrap_or(f);
            }
            if f.node == BOTTOM {
                slot = ROOT as usize;
            } else {
                slot = self.next(run, &mut f)?;
            }
        }
    }

    /// Whether a record can start with this byte.
    fn is_record(&mut self, byte: u8) -> bool {
        match self.structures.id(byte & 0x3f) {
            Id::Index(index) => self.structures.get(index, &mut self.trie).is_some(),
            Id::Wide(_) => true,
        }
    }

    /// What the byte of a record's id at `at` begins: a word, or a frame whose first value is next.
    #[inline(always)]
    fn record<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        byte: u8,
        f: &mut Frame,
        slot: &mut usize,
    ) -> Result<Option<i32>, Stop> {
        let index = match self.structures.id(byte & 0x3f) {
            Id::Index(index) => index,
            Id::Wide(low) => {
                let Some(&high) = run.input.get(run.pos) else {
                    return Err(run.truncated(at));
                };
                run.pos += 1;
                Structures::wide_index(low, high)
            }
        };
        match self.structures.get(index, &mut self.trie) {
            Some(structure) => self.open_record(run, at, structure, f, slot),
            None if run.options.strict_ids || run.pos != at + 1 => {
                Err(Fault::at(FAULT_RECORD, at).into())
            }
            None => Ok(Some(i32::from(byte) << TAG_BITS)),
        }
    }

    #[inline(always)]
    fn open_record<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        structure: Structure,
        f: &mut Frame,
        slot: &mut usize,
    ) -> Result<Option<i32>, Stop> {
        let n = structure.names as usize;
        let owed = f.still_owed();
        run.check_claim(at, owed + n as u64)?;
        self.check_depth(run, at)?;
        if n == 0 {
            return Ok(Some(CONST_EMPTY_OBJECT << TAG_BITS | U_CONST));
        }
        self.stack.push(*f);
        self.deepest = self.deepest.max(self.stack.len());
        let first = if structure.node == NO_NODE {
            // A structure is defined once, and used for as long as a stream lives: one that came
            // when the trie was crowded must have its place some day.
            if n <= trie::MAX_KEYS {
                self.trie.refuse();
            }
            run.need(4 + n)?;
            let block = (run.top + 1) & !1;
            run.set(block, structure.serial as i32);
            run.set(block + 1, n as i32);
            run.set(block + 2, RARE_RECORD);
            run.set(*slot, word(block, U_RARE));
            block + 3
        } else {
            run.need(1 + n)?;
            run.set(run.top, structure.node as i32);
            run.set(*slot, word(run.top, U_OBJECT));
            run.top + 1
        };
        run.top = first + n;
        *f = Frame {
            left: n as u32 - 1,
            slot: first as u32 + 1,
            block: first as u32 - 1,
            home: *slot as u32,
            node: ARRAY,
            owed,
        };
        *slot = first;
        Ok(None)
    }

    /// An ext whose type has a meaning: a word, or a frame whose first value is next.
    #[inline(never)]
    fn special_ext<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        len: usize,
        kind: i32,
        f: &mut Frame,
        slot: &mut usize,
    ) -> Result<Option<i32>, Stop> {
        let ext_type = run.input[run.pos];
        run.pos += 1;
        let data = run.pos;
        run.pos += len;
        let payload = &run.input[data..data + len];
        let id = || match *payload {
            [a, b, c, d] => Ok(u32::from_be_bytes([a, b, c, d])),
            _ => Err(Fault::at(FAULT_REFERENCE, at)),
        };
        match kind {
            KIND_UNDEFINED => Ok(Some(CONST_UNDEFINED << TAG_BITS | U_CONST)),
            KIND_OWN => {
                run.pos = data;
                run.ext_bytes(at, ext_type as i8, len).map(Some)
            }
            KIND_BIGINT | KIND_TYPED => {
                let is_typed = kind == KIND_TYPED;
                // An ext without a byte has no code to pass over, and may end with the input.
                let skip = usize::from(is_typed && len > 0);
                run.need(8)?;
                let block = (run.top + 1) & !1;
                run.set_bits(block, (data + skip) as u64);
                run.set(block + 2, if is_typed { RARE_TYPED } else { RARE_BIGINT });
                run.set(block + 3, (len - skip) as i32);
                run.set(block + 4, payload.first().map_or(-1, |&code| i32::from(code)));
                run.set_bits(block + 5, at as u64);
                run.top = block + 7;
                Ok(Some(word(block, U_RARE)))
            }
            KIND_TAG | KIND_ARRAY_TAG => {
                if kind == KIND_ARRAY_TAG {
                    match run.input.get(run.pos) {
                        Some(&(wire::FIXARRAY..=0x9f | wire::ARRAY16 | wire::ARRAY32)) => {}
                        Some(_) => return Err(Fault::at(FAULT_EXTENSION, at).into()),
                        None => return Err(run.truncated(run.pos)),
                    }
                }
                let block = self.open_tag(run, at, RARE_TAG, f, slot)?;
                run.set(block + 1, i32::from(ext_type as i8));
                run.set_bits(block + 3, at as u64);
                Ok(None)
            }
            KIND_RECORD => {
                let Some((index, wide)) = defined_id(payload) else {
                    return Err(Fault::at(FAULT_RECORD, at).into());
                };
                let structure = self.definition(run, at, index, wide)?;
                self.open_record(run, at, structure, f, slot)
            }
            KIND_BUNDLE => {
                let Some(&[a, b, c, d]) = payload.first_chunk() else {
                    return Err(Fault::at(FAULT_EXTENSION, at).into());
                };
                run.open_bundle(at, data + u32::from_be_bytes([a, b, c, d]) as usize)?;
                Ok(None)
            }
            KIND_ID => {
                let id = id()?;
                // One object has one id, and an id one object.
                let again = matches!(run.input.get(run.pos..run.pos + 2),
                    Some([wire::FIXEXT4, next]) if *next == EXT_ID as u8);
                if again || !self.ids.insert(id) {
                    return Err(Fault::at(FAULT_REFERENCE, at).into());
                }
                let block = self.open_tag(run, at, RARE_ID, f, slot)?;
                run.set(block + 1, id as i32);
                Ok(None)
            }
            KIND_POINTER => {
                let id = id()?;
                if !self.ids.contains(&id) {
                    return Err(Fault::at(FAULT_REFERENCE, at).into());
                }
                run.need(6)?;
                let block = (run.top + 1) & !1;
                run.set(block, id as i32);
                run.set(block + 2, RARE_REF);
                run.set_bits(block + 3, at as u64);
                run.top = block + 5;
                Ok(Some(word(block, U_RARE)))
            }
            _ => Err(Fault::at(FAULT_REFERENCE, at).into()),
        }
    }

    /// A frame for the value that comes next, whose word the block starts with.
    fn open_tag<S>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        kind: i32,
        f: &mut Frame,
        slot: &mut usize,
    ) -> Result<usize, Stop> {
        if run.options.max_depth >= run.max_stack {
            return Err(Fault::at(FAULT_DEPTH, at).into());
        }
        run.options.max_depth += 1;
        run.need(6)?;
        let block = (run.top + 1) & !1;
        run.top = block + 5;
        run.set(block + 2, kind);
        run.set(*slot, word(block, U_RARE));
        let owed = f.still_owed();
        run.check_claim(at, owed + 1)?;
        self.stack.push(*f);
        // What is pointed at is built with a stack of its own, which knows it before it is complete.
        self.deepest =
            if kind == RARE_ID { ALWAYS_DEEP } else { self.deepest.max(self.stack.len()) };
        *f = Frame {
            left: 0,
            slot: block as u32,
            block: block as u32,
            home: *slot as u32,
            node: TAG,
            owed,
        };
        *slot = block;
        Ok(block)
    }

    /// Reads the names of a definition.
    #[inline(never)]
    fn definition<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        index: usize,
        wide: bool,
    ) -> Result<Structure, Stop> {
        // The array of names may itself be an object that comes again.
        let mut named = None;
        let prefix = &run.input[run.pos..];
        if let [wire::FIXEXT4, rest @ ..] = prefix
            && prefix.len() < 6
            && rest.first().is_none_or(|&ext_type| {
                matches!(self.ext_kinds[usize::from(ext_type)], KIND_ID | KIND_POINTER)
            })
        {
            return Err(run.truncated(run.pos));
        }
        if let Some(&[wire::FIXEXT4, ext_type, a, b, c, d]) = run.input[run.pos..].first_chunk() {
            let id = u32::from_be_bytes([a, b, c, d]);
            match self.ext_kinds[usize::from(ext_type)] {
                KIND_ID => named = Some(id),
                KIND_POINTER => {
                    let Some(&structure) = self.name_arrays.get(&id) else {
                        return Err(Fault::at(FAULT_REFERENCE, run.pos).into());
                    };
                    run.pos += 6;
                    return Ok(self.structures.define_again(index, wide, structure));
                }
                _ => {}
            }
        }
        if named.is_some() {
            run.pos += 6;
        }
        let header = run.pos;
        let Some(&byte) = run.input.get(header) else {
            return Err(run.truncated(header));
        };
        run.pos += 1;
        let n = match byte {
            wire::FIXARRAY..=0x9f => usize::from(byte & 15),
            wire::ARRAY16 => run.length(header, 2)?,
            wire::ARRAY32 => run.length(header, 4)?,
            _ => return Err(Fault::at(FAULT_RECORD, at).into()),
        };
        run.check_claim(header, n as u64)?;
        let mut node = trie::ROOT;
        // Names that are no path in the trie, the ones before them included.
        let mut names = (n > trie::MAX_KEYS).then(Vec::new);
        for _ in 0..n {
            if names.is_none()
                && let Some((child, len)) = self.trie.predict(node, run.input, run.pos)
            {
                run.pos += len;
                node = child;
                continue;
            }
            let name = run.name()?;
            match &mut names {
                Some(names) => names.push(name.into_owned()),
                None => match self.trie.step(node, &name) {
                    Some(child) => node = child,
                    None => {
                        let before = self.trie.keys(node).unwrap_or_default();
                        let mut all: Vec<_> = before.into_iter().map(str::to_owned).collect();
                        all.push(name.into_owned());
                        names = Some(all);
                    }
                },
            }
        }
        let names = names.map_or(Ok(node), Err);
        let structure = self.structures.define(index, wide, n as u32, names, self.trie.generation);
        if let Some(id) = named {
            self.name_arrays.insert(id, structure);
        }
        Ok(structure)
    }

    /// The slot of the frame's next value; reads the key in front of it.
    #[inline(always)]
    fn next<S: TextSink>(&mut self, run: &mut Run<S>, f: &mut Frame) -> Result<usize, Stop> {
        f.left -= 1;
        let slot = f.slot as usize;
        if f.node < BOTTOM {
            if let Some((child, len)) = self.trie.predict(f.node, run.input, run.pos) {
                run.pos += len;
                f.node = child;
                f.slot += 1;
                return Ok(slot);
            }
            return self.key(run, f);
        }
        if f.node == ARRAY {
            f.slot += 1;
            return Ok(slot);
        }
        let total = run.tape[f.block as usize + 2];
        let remember = (total as u32 as usize) < strings::MAX_KEYS;
        let word = self.key_word(run, remember)?;
        run.set(slot, word);
        f.slot += 2;
        Ok(slot + 1)
    }

    /// A key that was not the predicted one. When the trie has no place for it, the map goes on as
    /// pairs.
    #[inline(never)]
    fn key<S: TextSink>(&mut self, run: &mut Run<S>, f: &mut Frame) -> Result<usize, Stop> {
        let at = run.pos;
        let bundle = run.bundle.clone();
        if let Some(bytes) = run.key_bytes()? {
            let encoded = &run.input[at..run.pos];
            let child = match self.trie.find(f.node, encoded) {
                Some(child) => Some(child),
                None => match std::str::from_utf8(bytes) {
                    Ok(key) => self.trie.step(f.node, key),
                    Err(_) if run.options.utf8 == Utf8::Fatal => {
                        return Err(Fault::at(FAULT_INVALID_UTF8, at).into());
                    }
                    Err(_) => None,
                },
            };
            if let Some(child) = child {
                f.node = child;
                f.slot += 1;
                return Ok(f.slot as usize - 1);
            }
        }
        run.pos = at;
        run.bundle = bundle;
        let known = (f.slot - f.block) as usize - 1;
        let total = known + 1 + f.left as usize;
        let size = 3 + known + 2 * (total - known);
        run.need(size)?;
        let block = run.top;
        run.top += size;
        run.set(block, f.node as i32);
        run.set(block + 1, known as i32);
        run.set(block + 2, total as i32);
        let from = f.block as usize + 1;
        run.tape.copy_within(from..from + known, block + 3);
        run.set(f.home as usize, word(block, U_MAP));
        f.node = PAIRS;
        f.block = block as u32;
        f.slot = (block + 3 + known) as u32;
        let word = self.key_word(run, true)?;
        let slot = f.slot as usize;
        run.set(slot, word);
        f.slot += 2;
        Ok(slot + 1)
    }

    /// A key as a word of its own.
    fn key_word<S: TextSink>(&mut self, run: &mut Run<S>, remember: bool) -> Result<i32, Stop> {
        let at = run.pos;
        if let Some(bytes) = run.key_bytes()? {
            let len = bytes.len();
            let found = self.keys.key(bytes, remember);
            if let Known::Yes(id) = found {
                return Ok(word(id as usize, K_KNOWN));
            }
            let behind = run.pos;
            run.pos = run.offset_of(bytes);
            let string = self.string_of(run, at, len, Utf8::Replace)?;
            run.pos = behind;
            let (id, tag) = match found {
                Known::New(id) => (id, K_NEW),
                Known::Inherited => (0, K_INHERITED),
                _ => return Ok(string),
            };
            run.need(2)?;
            let block = run.top;
            run.top += 2;
            run.set(block, string);
            run.set(block + 1, id as i32);
            return Ok(word(block, tag));
        }
        let byte = run.input[at];
        run.pos = at + 1;
        match byte {
            FIRST_ID..=0x7f if run.options.records && self.is_record(byte) => {
                Err(Fault::at(FAULT_KEY, at).into())
            }
            FIRST_ID..=0x7f if run.options.records && run.options.strict_ids => {
                Err(Fault::at(FAULT_RECORD, at).into())
            }
            0x00..=0x7f | wire::NEGATIVE_FIXINT..=0xff => Ok(i32::from(byte as i8) << TAG_BITS),
            wire::FLOAT32 | wire::FLOAT64 | wire::UINT8..=wire::INT64 => run.number(at),
            wire::NIL | wire::FALSE | wire::TRUE if run.options.lenient => {
                let constant = match byte {
                    wire::NIL => CONST_NIL,
                    wire::FALSE => CONST_FALSE,
                    _ => CONST_TRUE,
                };
                Ok(constant << TAG_BITS | U_CONST)
            }
            // What is cut off is truncated before it is a key of the wrong type.
            _ => {
                run.skip_scalar(at, byte)?;
                Err(Fault::at(FAULT_KEY, at).into())
            }
        }
    }

    #[inline(always)]
    fn check_depth<S>(&self, run: &Run<S>, at: usize) -> Result<(), Stop> {
        if self.stack.len() >= run.options.max_depth {
            return Err(Fault::at(FAULT_DEPTH, at).into());
        }
        Ok(())
    }

    /// The string of `len` bytes at `run.pos`; its marker was at `at`.
    #[inline(always)]
    fn string<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        len: usize,
    ) -> Result<i32, Stop> {
        let readable = run.input.len() - run.pos;
        if (1..=strings::MAX_BYTES).contains(&len) && readable >= len {
            let from = run.pos;
            let found = if readable >= len + strings::PADDING {
                // SAFETY: just checked.
                unsafe { self.values.value(run.input[from..].as_ptr(), len) }
            } else {
                let mut padded = [0; strings::MAX_BYTES + strings::PADDING];
                padded[..len].copy_from_slice(&run.input[from..from + len]);
                // SAFETY: the copy has its padding.
                unsafe { self.values.value(padded.as_ptr(), len) }
            };
            match found {
                Known::Yes(id) => {
                    run.pos = from + len;
                    return Ok(word(id as usize, U_KNOWN_STR));
                }
                Known::New(id) => return self.new_string(run, len, id),
                _ => {}
            }
        }
        self.string_of(run, at, len, run.options.utf8)
    }

    /// The same, as a string that JavaScript makes.
    #[inline(always)]
    fn string_of<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        len: usize,
        raw_or: Utf8,
    ) -> Result<i32, Stop> {
        let from = run.pos;
        let readable = run.input.len() - from;
        if len > readable {
            return Err(Fault::at(FAULT_TRUNCATED, at).into());
        }
        run.pos = from + len;
        if len == 0 {
            return Ok(CONST_EMPTY_STR << TAG_BITS | U_CONST);
        }
        if len <= MAX_SHARED_BYTES {
            let start = run.input[from..].as_ptr();
            // SAFETY: `readable` bytes are left of the input, `len` at least.
            if let Some(word) = unsafe { self.texts.push_ascii(start, len, readable, run.sink)? } {
                return Ok(word);
            }
        }
        self.other_string(run, at, from, len, raw_or)
    }

    /// A string that JavaScript is to keep: one of its own, so that it keeps nothing else.
    #[inline(never)]
    fn new_string<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        len: usize,
        id: u32,
    ) -> Result<i32, Stop> {
        let from = run.pos;
        run.pos += len;
        self.texts.push_long(&run.input[from..from + len], run.sink)?;
        run.need(4)?;
        let block = (run.top + 1) & !1;
        run.set(block, id as i32);
        run.set(block + 2, RARE_NEW_STR);
        run.top = block + 3;
        Ok(word(block, U_RARE))
    }

    /// A string that is long or not ASCII.
    #[inline(never)]
    fn other_string<S: TextSink>(
        &mut self,
        run: &mut Run<S>,
        at: usize,
        from: usize,
        len: usize,
        raw_or: Utf8,
    ) -> Result<i32, Stop> {
        let bytes = &run.input[from..from + len];
        if run.options.utf8 != Utf8::Replace && simdutf8::basic::from_utf8(bytes).is_err() {
            if run.options.utf8 == Utf8::Fatal {
                return Err(Fault::at(FAULT_INVALID_UTF8, at).into());
            }
            if raw_or == Utf8::Raw {
                run.pos = from;
                return run.bytes(at, len);
            }
        }
        let pushed = if len <= MAX_SHARED_BYTES {
            self.texts.push_utf8(bytes, run.sink)
        } else {
            self.texts.push_long(bytes, run.sink)
        };
        pushed.map_err(|fault| Fault::at(fault.code, at).into())
    }
}

/// Whether there may be any number of messages.
fn is_series(mode: i32) -> bool {
    matches!(mode, MODE_ALL | MODE_STREAM)
}

#[inline(always)]
fn word(payload: usize, tag: i32) -> i32 {
    (payload << TAG_BITS) as i32 | tag
}

impl<'a, S> Run<'a, S> {
    #[inline(always)]
    fn set(&mut self, at: usize, word: i32) {
        debug_assert!(at < self.tape.len());
        // SAFETY: every index comes from a block that `need` has found room for.
        unsafe { *self.tape.get_unchecked_mut(at) = word };
    }

    /// Checks that `words` more fit behind `top`.
    #[inline(always)]
    fn need(&self, words: usize) -> Result<(), Stop> {
        if self.tape.len() - self.top < words { Err(self.grow(words)) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&self, words: usize) -> Stop {
        let needed = self.top + words;
        let density = needed as f64 / (self.pos.max(1)) as f64;
        let whole = if self.roots_left.is_some() { 0.0 } else { self.input.len() as f64 * 1.1 };
        let estimate = (density * whole) as usize;
        let most = (MAX_WORDS_A_BYTE * self.input.len() + 64).max(needed);
        let words = estimate.max(2 * self.tape.len()).max(needed).min(most);
        if words > MAX_WORDS {
            if needed > MAX_WORDS {
                return Fault::at(FAULT_TOO_LARGE, self.pos).into();
            }
            return Stop::Grow(MAX_WORDS);
        }
        Stop::Grow(words)
    }

    #[inline(always)]
    fn truncated(&self, at: usize) -> Stop {
        Fault::at(FAULT_TRUNCATED, at).into()
    }

    /// All that is owed must still be there, a byte a value.
    #[inline(always)]
    fn check_claim(&self, at: usize, owed: u64) -> Result<(), Stop> {
        if owed > (self.input.len() - self.pos) as u64 { Err(self.truncated(at)) } else { Ok(()) }
    }

    /// Reads the header of a root that is an array so long that it is handed over in parts; leaves
    /// anything else, numbers among them, alone.
    fn long_array(&mut self) -> Result<Option<usize>, Stop> {
        let at = self.pos;
        let len = match self.input.get(at) {
            Some(&wire::ARRAY16) => 2,
            Some(&wire::ARRAY32) => 4,
            _ => return Ok(None),
        };
        self.pos += 1;
        let n = self.length(at, len)?;
        let numbers = match self.input.get(self.pos) {
            Some(FIRST_ID..=0x7f) => !self.options.records,
            Some(0x00..=0x7f | wire::NEGATIVE_FIXINT.. | wire::FLOAT32..=wire::INT64) => true,
            _ => false,
        };
        if n < LONG_ARRAY || numbers {
            self.pos = at;
            return Ok(None);
        }
        self.check_claim(at, n as u64)?;
        Ok(Some(n))
    }

    /// A big-endian length of 1, 2 or 4 bytes at `pos`; `at` is where its marker was.
    #[inline(always)]
    fn length(&mut self, at: usize, bytes: usize) -> Result<usize, Stop> {
        let Some(field) = self.input.get(self.pos..self.pos + bytes) else {
            return Err(self.truncated(at));
        };
        self.pos += bytes;
        Ok(field.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)))
    }

    /// The bytes of a str key, or `None` for anything else, with `pos` behind what was read.
    fn key_bytes(&mut self) -> Result<Option<&'a [u8]>, Stop> {
        if self.reads_bundles {
            self.bundle_ext()?;
        }
        let at = self.pos;
        let Some(&byte) = self.input.get(at) else {
            return Err(self.truncated(at));
        };
        self.pos = at + 1;
        let len = match byte {
            wire::FIXSTR..=0xbf => usize::from(byte & 31),
            wire::STR8 => self.length(at, 1)?,
            wire::STR16 => self.length(at, 2)?,
            wire::STR32 => self.length(at, 4)?,
            wire::NEVER_USED => return self.bundled(at).map(Some),
            _ => {
                self.pos = at;
                return Ok(None);
            }
        };
        let Some(bytes) = self.input.get(self.pos..self.pos + len) else {
            return Err(self.truncated(at));
        };
        self.pos += len;
        Ok(Some(bytes))
    }

    /// Where `bytes`, a part of the input, start.
    fn offset_of(&self, bytes: &[u8]) -> usize {
        bytes.as_ptr().addr() - self.input.as_ptr().addr()
    }

    /// The ext that opens a bundle may stand in front of a key, too.
    #[cold]
    fn bundle_ext(&mut self) -> Result<(), Stop> {
        let at = self.pos;
        let data = match self.input[at..] {
            [wire::FIXEXT4, ext_type, ..] if ext_type == EXT_BUNDLE as u8 => at + 2,
            [wire::EXT16, _, _, ext_type, ..] if ext_type == EXT_BUNDLE as u8 => at + 4,
            _ => return Ok(()),
        };
        let len = match self.input[at] {
            wire::FIXEXT4 => 4,
            _ => u16::from_be_bytes([self.input[at + 1], self.input[at + 2]]).into(),
        };
        let Some(payload) = self.input.get(data..data + len) else {
            return Err(self.truncated(at));
        };
        let Some(&[a, b, c, d]) = payload.first_chunk() else {
            return Err(Fault::at(FAULT_EXTENSION, at).into());
        };
        self.pos = data + len;
        self.open_bundle(at, data + u32::from_be_bytes([a, b, c, d]) as usize)
    }

    /// Finds the two strings at `start` that those of the message are taken from: what is not ASCII,
    /// and what is.
    fn open_bundle(&mut self, at: usize, start: usize) -> Result<(), Stop> {
        // Each comes behind the one before it: none is read twice.
        let earliest = self.bundle.as_ref().map_or(self.pos, |bundle| bundle.end);
        if start < earliest {
            return Err(Fault::at(FAULT_EXTENSION, at).into());
        }
        let behind = self.pos;
        self.reads_bundles = false;
        let mut string = |from: usize| {
            self.pos = from;
            let is_string = matches!(
                self.input.get(from),
                Some(wire::FIXSTR..=0xbf | &(wire::STR8 | wire::STR16 | wire::STR32))
            );
            match self.input.get(from) {
                None => Err(self.truncated(at)),
                Some(_) if !is_string => Err(Fault::at(FAULT_EXTENSION, at).into()),
                Some(_) => match self.key_bytes()? {
                    Some(bytes) => Ok(self.pos - bytes.len()..self.pos),
                    None => Err(Fault::at(FAULT_EXTENSION, at).into()),
                },
            }
        };
        let wide = string(start)?;
        let ascii = string(wide.end)?;
        let end = ascii.end;
        self.bundle = Some(Bundle { wide, ascii, end });
        self.reads_bundles = true;
        self.pos = behind;
        Ok(())
    }

    /// The string of the bundle that stands where 0xc1 and its length are; the length counts UTF-16
    /// units, below zero for one that is not ASCII.
    #[inline(never)]
    fn bundled(&mut self, at: usize) -> Result<&'a [u8], Stop> {
        let invalid = || Stop::from(Fault::at(FAULT_INVALID_BYTE, at));
        if self.bundle.is_none() {
            return Err(invalid());
        }
        let Some(&byte) = self.input.get(self.pos) else {
            return Err(self.truncated(at));
        };
        let read = INT_READS[usize::from(byte)];
        if read.len == 0 {
            return Err(invalid());
        }
        if self.input.len() - self.pos < usize::from(read.len) {
            return Err(self.truncated(at));
        }
        let units = read.int(self.bits_at(self.pos + usize::from(read.at)));
        self.pos += usize::from(read.len);
        let bundle = self.bundle.as_mut().ok_or_else(invalid)?;
        let from = if units >= 0 { &mut bundle.ascii } else { &mut bundle.wide };
        let text = &self.input[from.clone()];
        let mut left = units.unsigned_abs();
        let mut len = 0;
        while left > 0 {
            let (bytes, taken) = match text.get(len) {
                None => return Err(invalid()),
                Some(0..=0xbf) => (1, 1),
                Some(0xc0..=0xdf) => (2, 1),
                Some(0xe0..=0xef) => (3, 1),
                Some(0xf0..) => (4, 2),
            };
            if units >= 0 {
                // A byte is a unit.
                len = usize::try_from(left).map_err(|_| invalid())?;
                break;
            }
            len += bytes;
            left = left.saturating_sub(taken);
        }
        let bytes = text.get(..len).ok_or_else(invalid)?;
        from.start += len;
        Ok(bytes)
    }

    /// The name of a record's field. One that is no string has its text.
    fn name(&mut self) -> Result<Cow<'a, str>, Stop> {
        let at = self.pos;
        if let Some(bytes) = self.key_bytes()? {
            if self.options.utf8 == Utf8::Fatal && std::str::from_utf8(bytes).is_err() {
                return Err(Fault::at(FAULT_INVALID_UTF8, at).into());
            }
            return Ok(String::from_utf8_lossy(bytes));
        }
        let byte = self.input[at];
        self.pos = at + 1;
        let name = match byte {
            0x00..=0x7f => byte.to_string(),
            wire::NEGATIVE_FIXINT..=0xff => (byte as i8).to_string(),
            wire::NIL => "null".into(),
            wire::FALSE => "false".into(),
            wire::TRUE => "true".into(),
            wire::FIXEXT1 if self.input.get(at + 1) == Some(&(EXT_UNDEFINED as u8)) => {
                self.skip_scalar(at, byte)?;
                self.pos = at + 3;
                "undefined".into()
            }
            wire::UINT8..=wire::INT64 => {
                let read = INT_READS[usize::from(byte)];
                if self.input.len() - at < usize::from(read.len) {
                    return Err(self.truncated(at));
                }
                self.pos = at + usize::from(read.len);
                let int = read.int(self.bits_at(at + 1));
                if read.fits(int) { int.to_string() } else { (int as u64).to_string() }
            }
            _ => {
                self.skip_scalar(at, byte)?;
                return Err(Fault::at(FAULT_RECORD, at).into());
            }
        };
        Ok(name.into())
    }

    /// The value of a float 32.
    fn float32(&self, bits: u32) -> f64 {
        let number = f32::from_bits(bits);
        if self.options.round { float32::round(number) } else { f64::from(number) }
    }

    /// Checks that the head of a value that cannot be a key is complete.
    fn skip_scalar(&mut self, at: usize, byte: u8) -> Result<(), Stop> {
        let len = match byte {
            wire::BIN8 | wire::BIN16 | wire::BIN32 => self.length(at, 1 << (byte - wire::BIN8))?,
            wire::EXT8 | wire::EXT16 | wire::EXT32 => {
                1 + self.length(at, 1 << (byte - wire::EXT8))?
            }
            wire::FIXEXT1..=wire::FIXEXT16 => 1 + (1 << (byte - wire::FIXEXT1)),
            wire::ARRAY16 | wire::MAP16 => self.length(at, 2)?,
            wire::ARRAY32 | wire::MAP32 => self.length(at, 4)?,
            _ => 0,
        };
        if len > self.input.len() - self.pos { Err(self.truncated(at)) } else { Ok(()) }
    }

    /// A double of its own, at an even word.
    #[inline(always)]
    fn double(&mut self, number: f64, tag: i32) -> Result<i32, Stop> {
        self.need(3)?;
        let at = (self.top + 1) & !1;
        self.set_bits(at, number.to_bits());
        self.top = at + 2;
        Ok(word(at / 2, tag))
    }

    #[inline(always)]
    fn set_bits(&mut self, at: usize, bits: u64) {
        self.set(at, bits as i32);
        self.set(at + 1, (bits >> 32) as i32);
    }

    /// The eight bytes at `at`, big-endian; zeros behind the end of the input.
    #[inline(always)]
    fn bits_at(&self, at: usize) -> u64 {
        if let Some(bytes) = self.input.get(at..at + 8) {
            return u64::from_be_bytes(bytes.try_into().unwrap_or_default());
        }
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(self.input.get(at..).unwrap_or_default()) {
            *to = *from;
        }
        u64::from_be_bytes(bytes)
    }

    /// An integer or float outside the two fixint ranges, whose marker is at `at`.
    #[inline(always)]
    fn number(&mut self, at: usize) -> Result<i32, Stop> {
        let byte = self.input[at];
        let bits = self.bits_at(at + 1);
        let read = INT_READS[usize::from(byte)];
        if read.len == 0 {
            let (len, number) = if byte == wire::FLOAT64 {
                (9, f64::from_bits(bits))
            } else {
                (5, self.float32((bits >> 32) as u32))
            };
            if self.input.len() - at < len {
                return Err(self.truncated(at));
            }
            self.pos = at + len;
            return self.double(number, U_NUMBER);
        }
        if self.input.len() - at < usize::from(read.len) {
            return Err(self.truncated(at));
        }
        self.pos = at + usize::from(read.len);
        if read.shift == 0 {
            return self.int64(bits, byte == wire::INT64);
        }
        self.small_int(read.int(bits))
    }

    /// An integer of the safe range.
    #[inline(always)]
    fn small_int(&mut self, int: i64) -> Result<i32, Stop> {
        let inline = (int as i32) << TAG_BITS;
        if i64::from(inline >> TAG_BITS) == int {
            return Ok(inline);
        }
        self.double(int as f64, U_NUMBER)
    }

    fn int64(&mut self, bits: u64, signed: bool) -> Result<i32, Stop> {
        let as_number = match self.options.int64 {
            Int64::Auto if signed => (bits as i64).unsigned_abs() <= MAX_SAFE_INTEGER as u64,
            Int64::Auto => bits <= MAX_SAFE_INTEGER as u64,
            Int64::Number => true,
            Int64::BigInt | Int64::Text => false,
        };
        if as_number {
            return if signed {
                self.small_int_or_double(bits as i64, bits as i64 as f64)
            } else {
                self.small_int_or_double(i64::try_from(bits).unwrap_or(i64::MAX), bits as f64)
            };
        }
        self.need(4)?;
        let block = (self.top + 1) & !1;
        let kind = match (self.options.int64 == Int64::Text, signed) {
            (false, true) => RARE_INT64,
            (false, false) => RARE_UINT64,
            (true, true) => RARE_INT64_TEXT,
            (true, false) => RARE_UINT64_TEXT,
        };
        self.set_bits(block, bits);
        self.set(block + 2, kind);
        self.top = block + 3;
        Ok(word(block, U_RARE))
    }

    fn small_int_or_double(&mut self, int: i64, double: f64) -> Result<i32, Stop> {
        if int.unsigned_abs() <= MAX_SAFE_INTEGER as u64 {
            self.small_int(int)
        } else {
            self.double(double, U_NUMBER)
        }
    }

    /// The `len` bytes at `pos`, by their place in the input.
    fn bytes(&mut self, at: usize, len: usize) -> Result<i32, Stop> {
        if len > self.input.len() - self.pos {
            return Err(self.truncated(at));
        }
        self.need(3)?;
        let block = self.top;
        self.set_bits(block, self.pos as u64);
        self.set(block + 2, len as i32);
        self.top += 3;
        self.pos += len;
        Ok(word(block, U_BIN))
    }

    /// The ext type at `pos` and the `len` bytes behind it.
    fn ext(&mut self, at: usize, len: usize) -> Result<i32, Stop> {
        if len >= self.input.len() - self.pos {
            return Err(self.truncated(at));
        }
        let ext_type = self.input[self.pos] as i8;
        self.pos += 1;
        if ext_type == wire::TIMESTAMP {
            if self.options.lenient && len == 1 {
                self.pos += 1;
                return Ok(CONST_INVALID_DATE << TAG_BITS | U_CONST);
            }
            return self.timestamp(at, len);
        }
        self.ext_bytes(at, ext_type, len)
    }

    /// The `len` bytes of an ext.
    fn ext_bytes(&mut self, at: usize, ext_type: i8, len: usize) -> Result<i32, Stop> {
        self.need(6)?;
        let block = self.top;
        self.set(block, i32::from(ext_type));
        self.set_bits(block + 1, self.pos as u64);
        self.set(block + 3, len as i32);
        self.set_bits(block + 4, at as u64);
        self.top += 6;
        self.pos += len;
        Ok(word(block, U_EXT))
    }

    fn timestamp(&mut self, at: usize, len: usize) -> Result<i32, Stop> {
        let bits = self.bits_at(self.pos);
        let (seconds, nanoseconds) = match len {
            4 => ((bits >> 32) as i64, 0),
            8 => ((bits & ((1 << 34) - 1)) as i64, (bits >> 34) as u32),
            12 => (self.bits_at(self.pos + 4) as i64, (bits >> 32) as u32),
            _ => return Err(Fault::at(FAULT_TIMESTAMP, at).into()),
        };
        if nanoseconds > MAX_NANOSECONDS {
            return Err(Fault::at(FAULT_TIMESTAMP, at).into());
        }
        self.pos += len;
        if self.options.timestamps {
            self.need(5)?;
            let block = (self.top + 1) & !1;
            self.set_bits(block, seconds as u64);
            self.set(block + 2, RARE_TIMESTAMP);
            self.set(block + 3, nanoseconds as i32);
            self.top = block + 4;
            return Ok(word(block, U_RARE));
        }
        /// The first and the last millisecond of a `Date`.
        const MAX_DATE_MS: i64 = 8_640_000_000_000_000;
        let milliseconds = seconds
            .checked_mul(1000)
            .and_then(|ms| ms.checked_add(i64::from(nanoseconds / 1_000_000)))
            .filter(|ms| (-MAX_DATE_MS..=MAX_DATE_MS).contains(ms));
        match milliseconds {
            Some(ms) => self.double(ms as f64, U_DATE),
            None => Err(Fault::at(FAULT_TIMESTAMP, at).into()),
        }
    }

    /// An array of nothing but numbers takes no word per element: plain 32-bit integers if all of
    /// them fit, doubles otherwise. `pos` and `top` are untouched if it turns out to be mixed.
    #[inline(always)]
    fn numbers(&mut self, n: usize) -> Result<Array, Stop> {
        match self.input.get(self.pos) {
            Some(0x00..=0x7f | wire::NEGATIVE_FIXINT..=0xff | wire::UINT8..=wire::INT64) => {
                self.ints(n)
            }
            Some(&(wire::FLOAT32 | wire::FLOAT64)) => self.doubles(n),
            _ => Ok(Array::Mixed),
        }
    }

    #[inline(never)]
    fn ints(&mut self, n: usize) -> Result<Array, Stop> {
        self.need(1 + n)?;
        let block = self.top;
        let plain_int64 = self.options.int64 == Int64::Auto;
        let reads = self.reads;
        let fixints = if self.options.records { FIRST_ID } else { 0x80 };
        let mut pos = self.pos;
        let mut k = 0;
        while k < n {
            if let Some(chunk) = self.input.get(pos..pos + FIXINT_STEP)
                && n - k >= FIXINT_STEP
                && chunk.iter().fold(0, |seen, &byte| seen | byte) < fixints
            {
                let to = block + 1 + k;
                for (word, &byte) in self.tape[to..to + FIXINT_STEP].iter_mut().zip(chunk) {
                    *word = i32::from(byte);
                }
                pos += FIXINT_STEP;
                k += FIXINT_STEP;
                continue;
            }
            let Some(&byte) = self.input.get(pos) else {
                return Err(self.truncated(pos));
            };
            let read = reads[usize::from(byte)];
            let int = read.int(self.bits_at(pos + usize::from(read.at)));
            let short = (i64::from(int as i32) == int) & read.fits(int);
            if !short | (read.len == 0) | (read.len == 9) {
                // A float, an integer of more than 32 bits, or no number.
                let number = matches!(byte, wire::FLOAT32..=wire::INT64);
                if read.len == 9 && !plain_int64 {
                    return Ok(Array::Mixed);
                }
                if number && !(short && read.len == 9) {
                    return self.doubles(n);
                }
                if !number {
                    return Ok(Array::Mixed);
                }
            }
            if self.input.len() - pos < usize::from(read.len) {
                return Err(self.truncated(pos));
            }
            self.set(block + 1 + k, int as i32);
            pos += usize::from(read.len);
            k += 1;
        }
        self.set(block, n as i32);
        self.top = block + 1 + n;
        self.pos = pos;
        Ok(Array::Done(word(block, U_INTS)))
    }

    #[inline(never)]
    fn doubles(&mut self, n: usize) -> Result<Array, Stop> {
        self.need(2 + 2 * n)?;
        let block = self.top | 1;
        let plain_int64 = self.options.int64 == Int64::Auto;
        let reads = self.reads;
        let mut pos = self.pos;
        for k in 0..n {
            let Some(&byte) = self.input.get(pos) else {
                return Err(self.truncated(pos));
            };
            let read = reads[usize::from(byte)];
            let (number, len) = if byte == wire::FLOAT64 {
                (f64::from_bits(self.bits_at(pos + 1)), 9)
            } else if read.len != 0 {
                let int = read.int(self.bits_at(pos + usize::from(read.at)));
                let safe = int.unsigned_abs() <= MAX_SAFE_INTEGER as u64;
                if !(safe & read.fits(int) & (plain_int64 | (read.len != 9))) {
                    return Ok(Array::Mixed);
                }
                (int as f64, usize::from(read.len))
            } else if byte == wire::FLOAT32 {
                (self.float32((self.bits_at(pos + 1) >> 32) as u32), 5)
            } else {
                return Ok(Array::Mixed);
            };
            if self.input.len() - pos < len {
                return Err(self.truncated(pos));
            }
            self.set_bits(block + 1 + 2 * k, number.to_bits());
            pos += len;
        }
        self.set(block, n as i32);
        self.top = block + 1 + 2 * n;
        self.pos = pos;
        Ok(Array::Done(word(block, U_NUMBERS)))
    }
}
