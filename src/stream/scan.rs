//! Where the message ends that a stream has brought only a part of. Every byte is looked at once,
//! however small the pieces are, and nothing is built: the parser reads the message when it is whole.
//!
//! What is missing is a number of values and a number of bytes; how they nest does not matter.

use std::collections::HashMap;

use crate::look::rhythm::Rhythm;
use crate::look::skip::{Kinds, go_past, short_value};
use crate::tape::*;
use crate::unpack::records::{FIRST_ID, Id, Structures, defined_id};
use crate::wire;

/// The longest header: an ext 32 with its type, and the two bytes of a record's id behind it.
const MAX_HEADER: usize = 8;

/// From so much on it is faster to skip in several places at once (`bench/streams.mjs`, chunks).
const LARGE_PIECE: usize = 1 << 13;

pub struct Scanner {
    /// Values to come, and bytes of the value at hand.
    owed: u64,
    skip: u64,
    header: [u8; MAX_HEADER],
    header_len: usize,
    /// Bytes of the message so far.
    seen: u64,
    rhythm: Rhythm,
    /// The next array is the names of this structure, by its index.
    defines: Option<(usize, bool)>,
    /// Values to come that are such names: a number among them is no id.
    names: u64,
    has_bundle: bool,
    /// The array of names that comes next has this id; counts of those that had one.
    naming: Option<u32>,
    named: HashMap<u32, u32>,
    /// What the message defines: how many names the structure at an index has, and whether its id
    /// takes two bytes.
    defined: HashMap<usize, (u32, bool)>,
    /// Whether any of those ids does.
    has_wide: bool,
}

pub enum Scan {
    /// The message ends at this offset of the piece.
    Complete(usize),
    /// At least so many bytes are still to come.
    More(u64),
}

/// What the types of the codec mean to it.
pub struct Meaning<'a> {
    pub kinds: &'a [i32; 256],
    /// Whether an ext among them may say more of what follows than that a value belongs to it.
    pub has_distant: bool,
    pub records: bool,
    pub strict_ids: bool,
}

impl Meaning<'_> {
    /// Whether a number of values is all that can be missing.
    fn is_plain(&self) -> bool {
        !self.records && !self.has_distant
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Scanner {
            owed: 1,
            skip: 0,
            header: [0; MAX_HEADER],
            header_len: 0,
            seen: 0,
            rhythm: Rhythm::default(),
            defines: None,
            names: 0,
            has_bundle: false,
            naming: None,
            named: HashMap::new(),
            defined: HashMap::new(),
            has_wide: false,
        }
    }
}

impl Scanner {
    /// Goes on with `piece`. A fault's offset is counted from the start of the message.
    pub fn scan(
        &mut self,
        piece: &[u8],
        max: u64,
        meaning: &Meaning,
        structures: &Structures,
    ) -> Result<Scan, Fault> {
        let mut pos = 0;
        loop {
            if self.skip > 0 {
                let left = (piece.len() - pos) as u64;
                let taken = self.skip.min(left);
                self.skip -= taken;
                pos += taken as usize;
                self.seen += taken;
                if self.skip > 0 {
                    return self.more(max);
                }
            }
            if self.header_len == 0 {
                let start = pos;
                if meaning.is_plain() {
                    pos = self.skip_plain(piece, pos, meaning.kinds, max);
                }
                pos += self.skip_simple(&piece[pos..], meaning.records, max);
                self.rhythm.rest(pos - start);
            }
            if self.owed == 0 {
                if self.seen > max {
                    return Err(Fault::at(FAULT_TOO_LARGE, max as usize));
                }
                *self = Scanner::default();
                return Ok(Scan::Complete(pos));
            }
            let Some(&first) =
                (if self.header_len > 0 { self.header.first() } else { piece.get(pos) })
            else {
                return self.more(max);
            };
            let len = self.header_len_of(first, structures, meaning);
            // An id is as long as its type says, which is in the header by then.
            let is_whole = self.fill_header(len, piece, &mut pos)
                && self.fill_header(self.ids_len(meaning), piece, &mut pos);
            if !is_whole {
                return self.more(max);
            }
            let at = (self.seen - self.header_len as u64) as usize;
            self.rhythm.cut(first);
            self.value(at, meaning, structures)?;
            self.header_len = 0;
            if self.seen + self.owed + self.skip > max {
                return Err(Fault::at(FAULT_TOO_LARGE, at));
            }
        }
    }

    /// Whether the header has `len` bytes now, with those of `piece` from `pos` on.
    fn fill_header(&mut self, len: usize, piece: &[u8], pos: &mut usize) -> bool {
        while self.header_len < len {
            let Some(&byte) = piece.get(*pos) else { return false };
            self.header[self.header_len] = byte;
            self.header_len += 1;
            *pos += 1;
            self.seen += 1;
        }
        true
    }

    /// Goes past what takes no closer look, in the fastest way, where nothing but a number of values can
    /// be missing.
    fn skip_plain(&mut self, piece: &[u8], pos: usize, kinds: &Kinds, max: u64) -> usize {
        let room = usize::try_from(max.saturating_sub(self.seen)).unwrap_or(usize::MAX);
        let limit = pos.saturating_add(room);
        let (end, owed) = if piece.len() - pos >= LARGE_PIECE {
            go_past(piece, pos, self.owed, kinds, limit)
        } else {
            self.rhythm.go_past(piece, pos, self.owed, limit)
        };
        self.owed = owed;
        self.seen += (end - pos) as u64;
        end
    }

    /// Goes past values of which the first byte or two say all, and that are there whole.
    #[inline(always)]
    fn skip_simple(&mut self, piece: &[u8], records: bool, max: u64) -> usize {
        let first_id = if records { FIRST_ID } else { 0x80 };
        // The next array may be the names of a structure.
        let has_containers = self.defines.is_none();
        let (mut pos, mut owed, mut names) = (0, self.owed, self.names);
        while owed > 0 {
            let Some(&byte) = piece.get(pos) else { break };
            let Some((len, inside)) = short_value(piece, pos, byte) else { break };
            if names == 0 && (first_id..0x80).contains(&byte) {
                break;
            }
            let more = owed - 1 + inside;
            let is_container = (wire::FIXMAP..wire::FIXSTR).contains(&byte);
            // What claims too much is told by where it is.
            if is_container && !(has_containers && self.seen + (pos + len) as u64 + more <= max) {
                break;
            }
            pos += len;
            owed = more;
            names = names.saturating_sub(1);
        }
        (self.owed, self.names) = (owed, names);
        self.seen += pos as u64;
        pos
    }

    fn more(&self, max: u64) -> Result<Scan, Fault> {
        if self.seen + self.owed + self.skip > max {
            return Err(Fault::at(FAULT_TOO_LARGE, self.seen as usize));
        }
        Ok(Scan::More(self.owed + self.skip))
    }

    /// Bytes of the header with the id of a structure behind the ext's type; 0 for anything else.
    fn ids_len(&self, meaning: &Meaning) -> usize {
        // An array of names may be an object that comes again.
        if self.defines.is_some() && self.header[0] == wire::FIXEXT4 {
            let kind = meaning.kinds[usize::from(self.header[1])];
            return if matches!(kind, KIND_ID | KIND_POINTER) { 6 } else { 0 };
        }
        let (header, len) = match self.header[0] {
            first @ wire::FIXEXT1..=wire::FIXEXT2 => (2, 1 << (first - wire::FIXEXT1)),
            wire::EXT8 => (3, usize::from(self.header[1])),
            wire::EXT16 if self.header[1] == 0 => (4, usize::from(self.header[2])),
            wire::EXT32 if self.header[1..4] == [0; 3] => (6, usize::from(self.header[4])),
            _ => return 0,
        };
        let ext_type = self.header[header - 1];
        let is_id = meaning.kinds[usize::from(ext_type)] == KIND_RECORD && len <= 2;
        if is_id { header + len } else { 0 }
    }

    /// The header is complete: what it says is still to come.
    fn value(
        &mut self,
        at: usize,
        meaning: &Meaning,
        structures: &Structures,
    ) -> Result<(), Fault> {
        let header = self.header;
        let number =
            |bytes: usize| header[1..1 + bytes].iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
        self.owed -= 1;
        let is_name = self.names > 0;
        self.names = self.names.saturating_sub(1);
        match header[0] {
            byte @ FIRST_ID..=0x7f if meaning.records && !is_name => {
                let index = match self.id(byte & 0x3f, structures) {
                    Id::Index(index) => index,
                    Id::Wide(low) => Structures::wide_index(low, header[1]),
                };
                let own = self.defined.get(&index);
                match own.map(|each| each.0).or_else(|| structures.names_at(index)) {
                    Some(names) => self.owed += u64::from(names),
                    None if meaning.strict_ids || self.header_len > 1 => {
                        return Err(Fault::at(FAULT_RECORD, at));
                    }
                    None => {}
                }
            }
            byte @ wire::FIXMAP..=0x8f => self.owed += 2 * u64::from(byte & 15),
            byte @ wire::FIXARRAY..=0x9f => self.array(u64::from(byte & 15)),
            byte @ wire::FIXSTR..=0xbf => self.skip = u64::from(byte & 31),
            wire::NEVER_USED => {
                if meaning.kinds[EXT_BUNDLE as usize] != KIND_BUNDLE || !self.has_bundle {
                    return Err(Fault::at(FAULT_INVALID_BYTE, at));
                }
                // The number behind it is what counts.
                self.owed += 1;
            }
            byte @ wire::BIN8..=wire::BIN32 => self.skip = number(1 << (byte - wire::BIN8)),
            byte @ wire::STR8..=wire::STR32 => self.skip = number(1 << (byte - wire::STR8)),
            wire::FLOAT32 => self.skip = 4,
            wire::FLOAT64 => self.skip = 8,
            byte @ wire::UINT8..=wire::UINT64 => self.skip = 1 << (byte - wire::UINT8),
            byte @ wire::INT8..=wire::INT64 => self.skip = 1 << (byte - wire::INT8),
            wire::ARRAY16 => self.array(number(2)),
            wire::ARRAY32 => self.array(number(4)),
            wire::MAP16 => self.owed += 2 * number(2),
            wire::MAP32 => self.owed += 2 * number(4),
            byte @ wire::EXT8..=wire::EXT32 => {
                let bytes = 1 << (byte - wire::EXT8);
                self.ext(at, number(bytes), header[1 + bytes], meaning)?;
            }
            byte @ wire::FIXEXT1..=wire::FIXEXT16 => {
                self.ext(at, 1 << (byte - wire::FIXEXT1), header[1], meaning)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn array(&mut self, n: u64) {
        self.owed += n;
        if let Some((index, wide)) = self.defines.take() {
            // The names, and a value for each of them.
            self.owed += n;
            self.names = n;
            self.define(index, n as u32, wide);
            if let Some(id) = self.naming.take() {
                self.named.insert(id, n as u32);
            }
        }
    }

    fn ext(&mut self, at: usize, len: u64, ext_type: u8, meaning: &Meaning) -> Result<(), Fault> {
        self.skip = len;
        let kind = meaning.kinds[usize::from(ext_type)];
        if self.defines.is_some() && self.header_len == 6 && matches!(kind, KIND_ID | KIND_POINTER)
        {
            self.skip = 0;
            let id = self.header[2..6].iter().fold(0, |id, &byte| id << 8 | u32::from(byte));
            if kind == KIND_ID {
                self.naming = Some(id);
                self.owed += 1;
                return Ok(());
            }
            let (Some(&n), Some((index, wide))) = (self.named.get(&id), self.defines.take()) else {
                return Err(Fault::at(FAULT_REFERENCE, at));
            };
            self.define(index, n, wide);
            self.owed += u64::from(n);
            return Ok(());
        }
        match kind {
            KIND_TAG | KIND_ARRAY_TAG | KIND_ID => self.owed += 1,
            KIND_RECORD => {
                self.skip = 0;
                let id = self.header_len.saturating_sub(len.min(3) as usize);
                let Some(defined) = defined_id(&self.header[id..self.header_len]) else {
                    return Err(Fault::at(FAULT_RECORD, at));
                };
                self.owed += 1;
                self.defines = Some(defined);
            }
            KIND_BUNDLE => {
                // Its two strings are the last of the message; the value itself is still to come.
                self.owed += if self.has_bundle { 1 } else { 3 };
                self.has_bundle = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn define(&mut self, index: usize, names: u32, wide: bool) {
        self.defined.insert(index, (names, wide));
        self.has_wide |= wide;
    }

    /// What the byte `0x40 + low` stands for, by what the message itself has defined first.
    fn id(&self, low: u8, structures: &Structures) -> Id {
        let index = usize::from(low);
        let own = self.defined.get(&index);
        if own.is_some_and(|each| !each.1) {
            Id::Index(index)
        } else if index >= 32 && self.has_wide && !structures.is_narrow(index) {
            Id::Wide(index)
        } else {
            structures.id(low)
        }
    }

    /// Bytes of a header that starts with `first`: the marker, the length, the type of an ext.
    fn header_len_of(&self, first: u8, structures: &Structures, meaning: &Meaning) -> usize {
        match first {
            FIRST_ID..=0x7f if meaning.records && self.names == 0 => {
                match self.id(first & 0x3f, structures) {
                    Id::Index(_) => 1,
                    Id::Wide(_) => 2,
                }
            }
            wire::BIN8..=wire::BIN32 => 1 + (1 << (first - wire::BIN8)),
            wire::EXT8..=wire::EXT32 => 2 + (1 << (first - wire::EXT8)),
            wire::STR8..=wire::STR32 => 1 + (1 << (first - wire::STR8)),
            wire::FIXEXT1..=wire::FIXEXT16 => 2,
            wire::ARRAY16 | wire::MAP16 => 3,
            wire::ARRAY32 | wire::MAP32 => 5,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::skip::skip;

    /// Alike objects, some with a string of another length or a value more, and now and then an array
    /// of anything.
    fn message(mut seed: u64, count: u16) -> Vec<u8> {
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut input = vec![wire::ARRAY16, (count >> 8) as u8, count as u8];
        for i in 0..count {
            let [high, low] = i.to_be_bytes();
            match random(40) {
                0 => {
                    input.extend([0x98, 1, 0xcc, 200, 0xa2, b'h', b'i', 0xc0, 0xd9, 2, b'y', b'o']);
                    input.extend([0xc4, 3, 1, 2, 3, 0x81, 0xa0, 0x90, 0xd6, 5, 1, 2, 3, 4]);
                }
                1 => {
                    input.extend([0x83, 0xa1, b'i', 0xcd, high, low, 0xa1, b's', 0xa0, 0xa0, 0x82])
                }
                2 => input.extend([0xd9, 40]),
                _ => input.extend([0x82, 0xa1, b'i', 0xcd, high, low, 0xa1, b's']),
            }
            let len = match input.last() {
                Some(b's') => random(2) * 6,
                Some(0x82) => {
                    input.extend([1, 2, 3]);
                    3
                }
                Some(40) => {
                    input.extend([b' '; 40]);
                    continue;
                }
                _ => continue,
            };
            input.push(0xa0 | len as u8);
            input.extend(vec![b'x'; len as usize]);
        }
        input
    }

    #[test]
    fn the_end_is_where_skipping_ends_whatever_the_pieces() {
        let kinds = [KIND_EXT; 256];
        let meaning =
            Meaning { kinds: &kinds, has_distant: false, records: false, strict_ids: false };
        let structures = Structures::default();
        for seed in 0..6 {
            let mut input = message(seed, 6000);
            let end = skip(&input, 0, 1, &kinds).unwrap_or(0);
            assert_eq!(end, input.len(), "seed {seed}");
            input.extend([7; 100]);
            for step in [1, 7, 100, 1000, 4000, 9000, 20_000, 70_000] {
                let mut scanner = Scanner::default();
                let (mut at, mut found) = (0, None);
                for piece in input.chunks(step) {
                    match scanner.scan(piece, u64::MAX, &meaning, &structures) {
                        Ok(Scan::Complete(here)) => {
                            found = Some(at + here);
                            break;
                        }
                        Ok(Scan::More(missing)) => {
                            at += piece.len();
                            assert!(at + missing as usize <= end, "seed {seed}, step {step}");
                        }
                        Err(fault) => panic!("{fault:?} at {at}, seed {seed}, step {step}"),
                    }
                }
                assert_eq!(found, Some(end), "seed {seed}, step {step}");
            }
        }
    }

    #[test]
    fn what_claims_too_much_is_told_wherever_it_is() {
        let kinds = [KIND_EXT; 256];
        let meaning =
            Meaning { kinds: &kinds, has_distant: false, records: false, strict_ids: false };
        for at in [0, 1, 50, 2000, 5000] {
            let mut input = vec![wire::ARRAY16, 0x17, 0x70];
            for i in 0..6000 {
                if i == at {
                    input.extend([0xdd, 0, 1, 0, 0]);
                } else {
                    input.extend([0x82, 0xa1, b'a', 1, 0xa1, b'b', 0xc3]);
                }
            }
            let claim = 3 + 7 * at;
            let max = (claim + 5 + 0x1_0000 + 5998 - at) as u64;
            for (max, is_too_large) in [(max, true), (max + 1, false)] {
                for step in [1, 100, 1000, 9000, 70_000] {
                    let mut scanner = Scanner::default();
                    let mut fault = None;
                    for piece in input[..claim + 5].chunks(step) {
                        let scanned = scanner.scan(piece, max, &meaning, &Structures::default());
                        fault = fault.or(scanned.err());
                    }
                    let expected = is_too_large.then(|| Fault::at(FAULT_TOO_LARGE, claim));
                    assert_eq!(fault, expected, "{at}, step {step}");
                }
            }
        }
    }
}
