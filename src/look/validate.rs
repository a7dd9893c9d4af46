//! Whether bytes unpack, without unpacking them: the faults, and their offsets, that `parse` finds
//! with the same options. Only what the functions of the package read, no records and no ids.
//!
//! Bytes may come in pieces. Then nobody knows how many are still to come, so that a container that
//! claims too many entries is found out only where they are missing.

use crate::look::path::skip_one;
use crate::look::skip::{
    Kinds, LENGTHS, MIN_ROW, NO_ROW, is_number, is_tag, length, numbers, points,
};
use crate::tape::*;
use crate::token::{timestamp, truncated};
use crate::wire;

#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub kinds: &'a Kinds,
    pub max_depth: usize,
    /// Strings must be UTF-8.
    pub utf8_fatal: bool,
    /// Keys are values of any type.
    pub map_keys: bool,
    /// A timestamp need not be a Date.
    pub timestamps: bool,
    /// Any number of messages, one behind the other.
    pub multiple: bool,
}

impl<'a> Rules<'a> {
    pub fn from_bits(bits: i32, max_depth: usize, multiple: bool, kinds: &'a Kinds) -> Rules<'a> {
        Rules {
            kinds,
            max_depth,
            utf8_fatal: bits & OPT_UTF8_FATAL != 0,
            map_keys: bits & OPT_MAPS_MAP != 0,
            timestamps: bits & OPT_TIMESTAMPS != 0,
            multiple,
        }
    }
}

/// What there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub values: u64,
    pub bytes: u64,
    /// Arrays and maps inside one another.
    pub depth: usize,
    /// Values at every level, keys included.
    pub nodes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bottom,
    /// An array, or a map whose keys are values like any other.
    Items,
    /// A map whose keys are strings and numbers.
    Pairs,
    /// The one value behind a tag; no level of its own.
    Tag,
}

impl Kind {
    fn of_map(rules: &Rules) -> Kind {
        if rules.map_keys { Kind::Items } else { Kind::Pairs }
    }
}

#[derive(Clone, Copy)]
struct Frame {
    kind: Kind,
    /// Values still to come; in a map an even number of them if a key is next.
    left: u64,
    /// Values that the containers around this one still owe.
    owed: u64,
}

const BOTTOM: Frame = Frame { kind: Kind::Bottom, left: 0, owed: 0 };

/// Tags that may be open for each level of `max_depth`, as for the parser.
const TAGS: usize = 3;

/// Open containers for which a validator that is used again keeps memory.
const KEPT_FRAMES: usize = 1 << 10;

/// More than any value needs to tell what it is and how long: an ext 32 with a whole timestamp.
const MAX_UNIT: usize = 32;

pub struct Validator {
    stack: Vec<Frame>,
    f: Frame,
    /// Arrays and maps, and tags, that are open.
    open: usize,
    tags: usize,
    /// A message has begun and is not complete.
    is_within: bool,
    summary: Summary,
    /// Bytes still to come of a string, a bin or an ext, whose marker was at `long_at` of the whole.
    long: u64,
    long_at: usize,
    /// The long value is a string whose bytes matter.
    text: Option<Text>,
    /// The start of a value of which the piece had no more.
    rest: Vec<u8>,
}

/// A string that comes in pieces: what there is of a character that is not complete.
#[derive(Default)]
struct Text {
    character: Vec<u8>,
}

/// `Ok`: where a run stopped because there is no more.
type Run = Result<usize, Fault>;

impl Default for Validator {
    fn default() -> Self {
        Validator {
            stack: Vec::new(),
            f: BOTTOM,
            open: 0,
            tags: 0,
            is_within: false,
            summary: Summary::default(),
            long: 0,
            long_at: 0,
            text: None,
            rest: Vec::new(),
        }
    }
}

/// All of `input`.
pub fn validate(input: &[u8], rules: &Rules) -> Result<Summary, Fault> {
    Validator::default().whole(input, rules)
}

impl Validator {
    /// All of `input`, whatever there was before.
    pub fn whole(&mut self, input: &[u8], rules: &Rules) -> Result<Summary, Fault> {
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        // The memory of an outlier is not kept.
        stack.shrink_to(KEPT_FRAMES);
        *self = Validator { stack, ..Validator::default() };
        self.feed(input, rules, true)
    }

    /// The key at `pos` of a map that is nothing else's: where it ends, if it unpacks.
    pub fn key(&mut self, input: &[u8], pos: usize, rules: &Rules) -> Result<usize, Fault> {
        let end = skip_one(input, pos, rules.kinds)?;
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        *self = Validator {
            stack,
            // A key and its value are to come, of which there is only the key.
            f: Frame { kind: Kind::of_map(rules), left: 2, owed: 0 },
            open: 1,
            summary: Summary { bytes: pos as u64, ..Summary::default() },
            ..Validator::default()
        };
        self.run(&input[pos..end], rules, false)?;
        Ok(end)
    }

    /// Goes on with `piece`. A fault's offset is counted over all pieces, and after it nothing more
    /// can come.
    pub fn feed(
        &mut self,
        mut piece: &[u8],
        rules: &Rules,
        is_last: bool,
    ) -> Result<Summary, Fault> {
        loop {
            piece = self.long_value(piece)?;
            if self.long > 0 {
                if is_last {
                    return Err(truncated(self.long_at));
                }
                return Ok(self.summary);
            }
            if self.rest.is_empty() {
                let end = self.run(piece, rules, is_last)?;
                self.rest.extend_from_slice(&piece[end..]);
                return if is_last { self.finish(rules) } else { Ok(self.summary) };
            }
            let before = self.rest.len();
            let taken = piece.len().min(MAX_UNIT - before);
            self.rest.extend_from_slice(&piece[..taken]);
            let rest = std::mem::take(&mut self.rest);
            let end = self.run(&rest, rules, is_last && taken == piece.len())?;
            if end < before {
                self.rest = rest[end..].to_vec();
                piece = &piece[taken..];
                if piece.is_empty() {
                    return if is_last { self.finish(rules) } else { Ok(self.summary) };
                }
            } else {
                piece = &piece[end - before..];
            }
        }
    }

    fn finish(&self, rules: &Rules) -> Result<Summary, Fault> {
        if self.summary.values == 0 && !rules.multiple {
            return Err(truncated(self.summary.bytes as usize));
        }
        Ok(self.summary)
    }

    /// Takes what `piece` has of a long value; returns what is behind it.
    fn long_value<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], Fault> {
        if self.long == 0 {
            return Ok(piece);
        }
        let taken = self.long.min(piece.len() as u64);
        let (part, behind) = piece.split_at(taken as usize);
        self.long -= taken;
        self.summary.bytes += taken;
        if let Some(text) = &mut self.text {
            let is_fine = text.push(part) && (self.long > 0 || text.character.is_empty());
            if !is_fine {
                return Err(Fault::at(FAULT_INVALID_UTF8, self.long_at));
            }
            if self.long == 0 {
                self.text = None;
            }
        }
        Ok(behind)
    }

    fn run(&mut self, input: &[u8], rules: &Rules, is_last: bool) -> Run {
        let run = match (is_last, rules.utf8_fatal) {
            (true, false) => self.values::<true, false>(input, rules),
            (true, true) => self.values::<true, true>(input, rules),
            (false, false) => self.values::<false, false>(input, rules),
            (false, true) => self.values::<false, true>(input, rules),
        };
        let base = self.summary.bytes;
        match run {
            Ok(end) => {
                self.summary.bytes += end as u64;
                Ok(end)
            }
            Err(fault) => Err(Fault::at(fault.code, base as usize + fault.offset)),
        }
    }

    /// Values up to the end of `input`: what is cut off there is a fault if nothing follows, and else
    /// where to go on.
    #[inline(never)]
    fn values<const LAST: bool, const FATAL: bool>(&mut self, input: &[u8], rules: &Rules) -> Run {
        let mut f = self.f;
        let mut pos = 0;
        // No attempt at a row of numbers before here.
        let mut no_row = 0;
        // Bytes for what is claimed.
        let room = |pos: usize| if LAST { (input.len() - pos) as u64 } else { u64::MAX };
        // What a value that is cut off comes to.
        macro_rules! short {
            ($at:expr) => {{
                if LAST {
                    return Err(truncated($at));
                }
                self.f = f;
                return Ok($at);
            }};
        }
        // The bytes of a string, a bin or an ext, all of which need not be here yet.
        macro_rules! data {
            ($at:expr, $from:expr, $len:expr, $is_text:expr) => {{
                let (at, from, len): (usize, usize, usize) = ($at, $from, $len);
                let here = input.len() - from;
                if len > here {
                    if LAST {
                        return Err(truncated(at));
                    }
                    self.long = (len - here) as u64;
                    self.long_at = self.summary.bytes as usize + at;
                    if FATAL && $is_text {
                        let mut text = Text::default();
                        if !text.push(&input[from..]) {
                            return Err(Fault::at(FAULT_INVALID_UTF8, at));
                        }
                        self.text = Some(text);
                    }
                    pos = input.len();
                } else {
                    pos = from + len;
                    if FATAL && $is_text && !is_utf8(&input[from..pos]) {
                        return Err(Fault::at(FAULT_INVALID_UTF8, at));
                    }
                }
            }};
        }
        loop {
            if f.left == 0 {
                match f.kind {
                    Kind::Bottom => {
                        if self.is_within {
                            self.is_within = false;
                            self.summary.values += 1;
                        }
                        if pos == input.len() {
                            self.f = f;
                            return Ok(pos);
                        }
                        if !rules.multiple && self.summary.values > 0 {
                            return Err(Fault::at(FAULT_EXTRA_BYTES, pos));
                        }
                        self.is_within = true;
                        self.summary.nodes += 1;
                        f.left = 1;
                    }
                    Kind::Tag => {
                        self.tags -= 1;
                        f = self.stack.pop().unwrap_or(BOTTOM);
                        continue;
                    }
                    Kind::Items | Kind::Pairs => {
                        self.open -= 1;
                        f = self.stack.pop().unwrap_or(BOTTOM);
                        continue;
                    }
                }
            }
            // What the first byte tells the length of.
            if f.kind == Kind::Pairs {
                while f.left > 0 {
                    if f.left & 1 == 0 {
                        let Some(end) = short_key::<FATAL>(input, pos) else {
                            break;
                        };
                        pos = end;
                        f.left -= 1;
                    }
                    let Some(end) = short_value::<FATAL>(input, pos) else {
                        break;
                    };
                    pos = end;
                    f.left -= 1;
                }
            } else {
                if f.left >= MIN_ROW && pos >= no_row {
                    let start = pos;
                    (pos, f.left) = numbers(input, pos, f.left);
                    if pos == start && self.open < rules.max_depth {
                        let before = f.left;
                        let n;
                        (pos, f.left, n) = points(input, pos, f.left, f.owed, input.len());
                        if pos > start {
                            self.summary.nodes += n * (before - f.left);
                            self.summary.depth = self.summary.depth.max(self.open + 1);
                        }
                    }
                    no_row = if pos > start { pos } else { pos + NO_ROW };
                }
                while f.left > 0 {
                    let Some(end) = short_value::<FATAL>(input, pos) else {
                        break;
                    };
                    pos = end;
                    f.left -= 1;
                }
            }
            if f.left == 0 {
                continue;
            }
            let at = pos;
            let Some(&byte) = input.get(at) else { short!(at) };
            let field = |bytes: usize| length(input, at, bytes);
            let is_key = f.kind == Kind::Pairs && f.left & 1 == 0;
            if is_key && !is_key_byte(byte) {
                if byte == wire::NEVER_USED {
                    return Err(Fault::at(FAULT_INVALID_BYTE, at));
                }
                // What is cut off is truncated before it is a key of the wrong type.
                if LAST && !has_all(input, at, byte) {
                    return Err(truncated(at));
                }
                return Err(Fault::at(FAULT_KEY, at));
            }
            match byte {
                wire::FIXSTR..=0xbf => {
                    f.left -= 1;
                    data!(at, at + 1, usize::from(byte & 31), true);
                }
                wire::STR8..=wire::STR32 => {
                    let bytes = 1 << (byte - wire::STR8);
                    let Ok(len) = field(bytes) else { short!(at) };
                    f.left -= 1;
                    data!(at, at + 1 + bytes, len, true);
                }
                wire::BIN8..=wire::BIN32 => {
                    let bytes = 1 << (byte - wire::BIN8);
                    let Ok(len) = field(bytes) else { short!(at) };
                    f.left -= 1;
                    data!(at, at + 1 + bytes, len, false);
                }
                wire::FIXARRAY..=0x9f | wire::ARRAY16 | wire::ARRAY32 => {
                    let (n, first) = match byte {
                        wire::ARRAY16 | wire::ARRAY32 => {
                            let bytes = 2 << (byte - wire::ARRAY16);
                            let Ok(n) = field(bytes) else { short!(at) };
                            (n as u64, at + 1 + bytes)
                        }
                        _ => (u64::from(byte & 15), at + 1),
                    };
                    f.left -= 1;
                    pos = first;
                    self.container(&mut f, at, room(pos), n, Kind::Items, rules)?;
                }
                wire::FIXMAP..=0x8f | wire::MAP16 | wire::MAP32 => {
                    let (n, first) = match byte {
                        wire::MAP16 | wire::MAP32 => {
                            let bytes = 2 << (byte - wire::MAP16);
                            let Ok(n) = field(bytes) else { short!(at) };
                            (n as u64, at + 1 + bytes)
                        }
                        _ => (u64::from(byte & 15), at + 1),
                    };
                    f.left -= 1;
                    pos = first;
                    let kind = Kind::of_map(rules);
                    self.container(&mut f, at, room(pos), 2 * n, kind, rules)?;
                }
                wire::EXT8..=wire::EXT32 | wire::FIXEXT1..=wire::FIXEXT16 => {
                    let (len, from) = match byte {
                        wire::FIXEXT1.. => (1 << (byte - wire::FIXEXT1), at + 1),
                        _ => {
                            let bytes = 1 << (byte - wire::EXT8);
                            let Ok(len) = field(bytes) else { short!(at) };
                            (len, at + 1 + bytes)
                        }
                    };
                    let Some(&ext_type) = input.get(from) else { short!(at) };
                    let kind = rules.kinds[usize::from(ext_type)];
                    if LAST && len >= input.len() - from {
                        return Err(truncated(at));
                    }
                    if kind == KIND_EXT && ext_type as i8 == wire::TIMESTAMP {
                        if !matches!(len, 4 | 8 | 12) {
                            return Err(Fault::at(FAULT_TIMESTAMP, at));
                        }
                        let Some(time) = input.get(from + 1..from + 1 + len) else { short!(at) };
                        if !is_time(time, rules.timestamps) {
                            return Err(Fault::at(FAULT_TIMESTAMP, at));
                        }
                    }
                    f.left -= 1;
                    data!(at, from + 1, len, false);
                    if is_tag(kind) {
                        if self.tags >= TAGS * rules.max_depth {
                            return Err(Fault::at(FAULT_DEPTH, at));
                        }
                        let owed = f.owed + f.left;
                        if owed + 1 > room(pos) {
                            return Err(truncated(at));
                        }
                        self.tags += 1;
                        self.stack.push(f);
                        f = Frame { kind: Kind::Tag, left: 1, owed };
                    }
                }
                wire::NEVER_USED => return Err(Fault::at(FAULT_INVALID_BYTE, at)),
                // A number that is cut off, or one of a few bytes near the end.
                _ => {
                    let end = at + usize::from(LENGTHS[usize::from(byte)]);
                    if end > input.len() {
                        short!(at);
                    }
                    pos = end;
                    f.left -= 1;
                }
            }
            if self.long > 0 {
                self.f = f;
                return Ok(pos);
            }
        }
    }

    /// Opens a container that holds `inside` values, for which there are `room` bytes.
    #[inline(always)]
    fn container(
        &mut self,
        f: &mut Frame,
        at: usize,
        room: u64,
        inside: u64,
        kind: Kind,
        rules: &Rules,
    ) -> Result<(), Fault> {
        let owed = f.owed + f.left;
        if owed + inside > room {
            return Err(truncated(at));
        }
        if self.open >= rules.max_depth {
            return Err(Fault::at(FAULT_DEPTH, at));
        }
        self.summary.depth = self.summary.depth.max(self.open + 1);
        if inside > 0 {
            self.summary.nodes += inside;
            self.open += 1;
            self.stack.push(*f);
            *f = Frame { kind, left: inside, owed };
        }
        Ok(())
    }
}

/// Where a key ends whose first byte tells.
#[inline(always)]
fn short_key<const FATAL: bool>(input: &[u8], pos: usize) -> Option<usize> {
    let byte = *input.get(pos)?;
    if byte & 0xe0 != wire::FIXSTR {
        return None;
    }
    let end = pos + 1 + usize::from(byte & 31);
    if end > input.len() || FATAL && !input[pos + 1..end].is_ascii() {
        return None;
    }
    Some(end)
}

/// Where a value ends whose first byte tells.
#[inline(always)]
fn short_value<const FATAL: bool>(input: &[u8], pos: usize) -> Option<usize> {
    let byte = *input.get(pos)?;
    let len = usize::from(LENGTHS[usize::from(byte)]);
    let end = pos + len;
    if len == 0 || end > input.len() {
        return None;
    }
    if FATAL && byte & 0xe0 == wire::FIXSTR && !input[pos + 1..end].is_ascii() {
        return None;
    }
    Some(end)
}

/// Whether a key of an object can start with this byte.
fn is_key_byte(byte: u8) -> bool {
    is_number(byte) || matches!(byte, wire::FIXSTR..=0xbf | wire::STR8..=wire::STR32)
}

/// Whether a value that is no key is there, without what is inside it.
fn has_all(input: &[u8], at: usize, byte: u8) -> bool {
    let bytes = match byte {
        wire::BIN8..=wire::BIN32 => 1 << (byte - wire::BIN8),
        wire::EXT8..=wire::EXT32 => 1 << (byte - wire::EXT8),
        wire::ARRAY16 | wire::MAP16 => 2,
        wire::ARRAY32 | wire::MAP32 => 4,
        _ => 0,
    };
    let Ok(len) = length(input, at, bytes) else {
        return false;
    };
    let needed = match byte {
        wire::EXT8..=wire::EXT32 => len + 1,
        wire::FIXEXT1..=wire::FIXEXT16 => 1 + (1 << (byte - wire::FIXEXT1)),
        _ => len,
    };
    needed <= input.len() - at - 1 - bytes
}

fn is_utf8(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Whether the data of a timestamp is a time, and a `Date` unless any time will do.
fn is_time(data: &[u8], any: bool) -> bool {
    /// The first and the last millisecond of a `Date`.
    const MAX_DATE_MS: i128 = 8_640_000_000_000_000;
    let Some((seconds, nanoseconds)) = timestamp(data) else {
        return false;
    };
    let ms = i128::from(seconds) * 1000 + i128::from(nanoseconds / 1_000_000);
    any || (-MAX_DATE_MS..=MAX_DATE_MS).contains(&ms)
}

impl Text {
    /// Whether the text is UTF-8 up to here.
    fn push(&mut self, mut bytes: &[u8]) -> bool {
        while !self.character.is_empty() {
            let Some((&byte, behind)) = bytes.split_first() else {
                return true;
            };
            bytes = behind;
            self.character.push(byte);
            match std::str::from_utf8(&self.character) {
                Ok(_) => self.character.clear(),
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) => {
                self.character.extend_from_slice(&bytes[error.valid_up_to()..]);
                error.error_len().is_none()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: Kinds = {
        let mut kinds = [KIND_EXT; 256];
        kinds[9] = KIND_TAG;
        kinds
    };

    fn rules(bits: i32, max_depth: usize) -> Rules<'static> {
        Rules::from_bits(bits, max_depth, false, &KINDS)
    }

    fn fault(input: &[u8], rules: &Rules) -> Option<(i32, usize)> {
        validate(input, rules).err().map(|fault| (fault.code, fault.offset))
    }

    #[test]
    fn what_there_is() {
        let summary = |values, bytes, depth, nodes| Ok(Summary { values, bytes, depth, nodes });
        assert_eq!(validate(&[0xc0], &rules(0, 1)), summary(1, 1, 0, 1));
        assert_eq!(validate(&[0x90], &rules(0, 1)), summary(1, 1, 1, 1));
        assert_eq!(validate(&[0x81, 0xa1, b'a', 0x91, 1], &rules(0, 2)), summary(1, 5, 2, 4));
        let all = Rules { multiple: true, ..rules(0, 1) };
        assert_eq!(validate(&[1, 0x91, 2], &all), summary(2, 3, 1, 3));
        assert_eq!(validate(&[], &all), summary(0, 0, 0, 0));
    }

    #[test]
    fn faults_and_where_they_are() {
        let plain = rules(0, 2);
        assert_eq!(fault(&[], &plain), Some((FAULT_TRUNCATED, 0)));
        assert_eq!(fault(&[1, 2], &plain), Some((FAULT_EXTRA_BYTES, 1)));
        assert_eq!(fault(&[0x91, 0xc1], &plain), Some((FAULT_INVALID_BYTE, 1)));
        assert_eq!(fault(&[0x92, 0x91, 1, 0x92, 1], &plain), Some((FAULT_TRUNCATED, 3)));
        assert_eq!(fault(&[0x91, 0x91, 0x91, 1], &plain), Some((FAULT_DEPTH, 2)));
        assert_eq!(fault(&[0x91, 0x91, 0x90], &plain), Some((FAULT_DEPTH, 2)));
        assert_eq!(fault(&[0x81, 0xc0, 1], &plain), Some((FAULT_KEY, 1)));
        assert_eq!(fault(&[0x81, 0xc0, 1], &rules(OPT_MAPS_MAP, 2)), None);
        assert_eq!(fault(&[0x91, 0xd4, 0xff, 0], &plain), Some((FAULT_TIMESTAMP, 1)));
        assert_eq!(fault(&[0x91, 0xa1, 0xff], &plain), None);
        assert_eq!(
            fault(&[0x91, 0xa1, 0xff], &rules(OPT_UTF8_FATAL, 2)),
            Some((FAULT_INVALID_UTF8, 1))
        );
    }

    #[test]
    fn a_time_is_a_date_unless_any_will_do() {
        let late = [0xc7, 12, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(fault(&late, &rules(0, 1)), Some((FAULT_TIMESTAMP, 0)));
        assert_eq!(fault(&late, &rules(OPT_TIMESTAMPS, 1)), None);
    }

    #[test]
    fn tags_are_no_levels_and_have_a_limit() {
        for n in 0..8 {
            let mut input = [0xd4, 9, 0].repeat(n);
            input.push(0x90);
            let expected = (n > 6).then_some((FAULT_DEPTH, 18));
            assert_eq!(fault(&input, &rules(0, 2)), expected, "{n}");
            if n <= 6 {
                assert_eq!(
                    validate(&input, &rules(0, 2)).map(|one| (one.depth, one.nodes)),
                    Ok((1, 1))
                );
            }
        }
    }

    #[test]
    fn in_pieces_as_in_one() {
        let mut input = vec![0x94, 0xcb, 1, 2, 3, 4, 5, 6, 7, 8, 0xd9, 40];
        input.extend("é漢😀a".repeat(4).as_bytes());
        input.extend([0xc7, 12, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0xd4, 9, 0]);
        input.extend([0x81, 0xa1, b'k', 0xc4, 3, 1, 2, 3]);
        for bits in [0, OPT_UTF8_FATAL, OPT_MAPS_MAP] {
            let rules = rules(bits, 3);
            let whole = validate(&input, &rules);
            assert!(whole.is_ok(), "{whole:?}");
            for size in 1..=input.len() {
                let mut validator = Validator::default();
                for piece in input.chunks(size) {
                    validator.feed(piece, &rules, false).unwrap();
                }
                assert_eq!(validator.feed(&[], &rules, true), whole, "{size}");
            }
        }
    }
}
