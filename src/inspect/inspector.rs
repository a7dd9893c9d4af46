//! Goes through MessagePack that may come in pieces, and writes a line for each value. Depth is a
//! counter, and no value is held: of a long one there is only its start.

use super::page::{Data, Page, Style, key_label};
use crate::tape::{FAULT_DEPTH, FAULT_INVALID_BYTE, FAULT_TRUNCATED, Fault};
use crate::token::{Head, MAX_HEAD, head};
use crate::wire::format_name;

/// Bytes of a str, a bin or an ext that are looked at.
const PREVIEW: usize = 64;
/// Bytes that are shown in front of a fault, and from it on.
const BEFORE: usize = 8;
const FROM: usize = 9;
/// Bytes that are shown in front of the end of input that is not complete.
const BEFORE_END: usize = 16;
/// Bytes that must not be forgotten: those of a value that is not complete, and some before it.
const RECENT: usize = MAX_HEAD + PREVIEW + BEFORE_END;
/// Containers around a fault that are told.
const TOLD_CONTAINERS: usize = 4;

pub struct Inspector {
    page: Page,
    max_depth: usize,
    frames: Vec<Frame>,
    /// What stands for the key whose value is next.
    key: String,
    /// Where the next value starts, in the whole input.
    offset: u64,
    /// Its bytes so far.
    pending: Vec<u8>,
    /// Bytes of the value before that are still to come, and where it starts.
    skip: u64,
    skipped: Skipped,
    /// Bytes that came, and the last of them.
    seen: u64,
    recent: Vec<u8>,
    stop: Option<Stop>,
}

#[derive(Clone, Copy)]
struct Frame {
    is_map: bool,
    /// Values that have begun, keys among them.
    begun: u64,
    values: u64,
    offset: u64,
}

#[derive(Clone, Copy, Default)]
struct Skipped {
    offset: u64,
    first: u8,
}

struct Stop {
    code: i32,
    offset: u64,
    /// The bytes around the fault; those behind it may be still to come.
    around: Vec<u8>,
    /// Which of them is at fault.
    at: usize,
    is_told: bool,
}

impl Inspector {
    pub fn new(style: Style, max_depth: usize) -> Inspector {
        Inspector {
            page: Page::new(style),
            max_depth,
            frames: Vec::new(),
            key: String::new(),
            offset: 0,
            pending: Vec::new(),
            skip: 0,
            skipped: Skipped::default(),
            seen: 0,
            recent: Vec::new(),
            stop: None,
        }
    }

    /// Goes on with `piece` and returns the lines that are certain by now.
    pub fn write(&mut self, piece: &[u8]) -> String {
        if self.stop.is_some() {
            self.behind_fault(piece);
        } else if let Err(fault) = self.read(piece) {
            self.stop_at(fault, piece);
        } else {
            self.seen += piece.len() as u64;
            self.remember(piece);
        }
        std::mem::take(&mut self.page.text)
    }

    /// There is no more.
    pub fn end(&mut self) -> String {
        if self.stop.is_some() {
            self.tell_around();
        } else if self.skip > 0 {
            let Skipped { offset, first } = self.skipped;
            self.stop_at_end(offset, Some(first), self.skip, false);
        } else {
            self.close();
            if !self.pending.is_empty() {
                self.end_in_value();
            } else if !self.frames.is_empty() {
                self.stop_at_end(self.seen, None, 0, true);
            }
        }
        std::mem::take(&mut self.page.text)
    }

    /// What is wrong, once all about it is told: a `FAULT_…` code, and where.
    pub fn fault(&self) -> Option<(i32, u64)> {
        self.stop.as_ref().filter(|stop| stop.is_told).map(|stop| (stop.code, stop.offset))
    }

    fn read(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let mut rest = piece;
        loop {
            let skipped = self.skip.min(rest.len() as u64);
            self.skip -= skipped;
            self.offset += skipped;
            rest = &rest[skipped as usize..];
            if self.skip > 0 {
                return Ok(());
            }
            if self.pending.is_empty() {
                let Some(used) = self.value(rest)? else {
                    self.pending.extend_from_slice(rest);
                    return Ok(());
                };
                rest = &rest[used..];
            } else {
                let held = self.pending.len();
                let taken = rest.len().min(MAX_HEAD + PREVIEW - held);
                let mut window = std::mem::take(&mut self.pending);
                window.extend_from_slice(&rest[..taken]);
                let Some(used) = self.value(&window)? else {
                    self.pending = window;
                    return Ok(());
                };
                rest = &rest[used - held..];
                window.clear();
                self.pending = window;
            }
        }
    }

    /// Writes the line of the value that starts `bytes`, and returns how many of them it took;
    /// `None` if they are too few.
    fn value(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        self.close();
        let (head, end) = match head(bytes, 0) {
            Err(fault) if fault.code == FAULT_TRUNCATED => return Ok(None),
            other => other?,
        };
        let len = data_len(head);
        let data = Data { bytes: bytes[end..].get(..len.min(PREVIEW)).unwrap_or(&[]), len };
        if data.bytes.len() < len.min(PREVIEW) {
            return Ok(None);
        }
        let values = match head {
            Head::Array(n) => Some(u64::from(n)),
            Head::Map(n) => Some(2 * u64::from(n)),
            _ => None,
        };
        if values.is_some() && self.frames.len() >= self.max_depth {
            return Err(Fault::at(FAULT_DEPTH, 0));
        }

        self.line(&bytes[..end], head, data);
        self.begin(head, data);
        if let Some(values) = values {
            let is_map = matches!(head, Head::Map(_));
            self.frames.push(Frame { is_map, begun: 0, values, offset: self.offset });
        }
        let used = end + data.bytes.len();
        self.skip = (len - data.bytes.len()) as u64;
        self.skipped = Skipped { offset: self.offset, first: bytes[0] };
        self.offset += used as u64;
        Ok(Some(used))
    }

    fn line(&mut self, head_bytes: &[u8], head: Head, data: Data) {
        self.page.columns(self.offset, head_bytes, data, self.frames.len());
        self.label();
        self.page.value(format_name(head_bytes[0]), head, data);
        self.page.line_end();
    }

    fn label(&mut self) {
        match self.frames.last() {
            None => {}
            Some(frame) if !frame.is_map => {
                self.page.label(format_args!("[{}]", frame.begun));
            }
            Some(frame) if frame.begun % 2 == 0 => self.page.label("key"),
            Some(_) => self.page.label(&self.key),
        }
    }

    /// Another value of the innermost container has begun.
    fn begin(&mut self, head: Head, data: Data) {
        if let Some(frame) = self.frames.last_mut() {
            if frame.is_map && frame.begun % 2 == 0 {
                self.key = key_label(head, data);
            }
            frame.begun += 1;
        }
    }

    /// Leaves the containers that are complete.
    fn close(&mut self) {
        while let Some(frame) = self.frames.pop_if(|frame| frame.begun == frame.values) {
            // It may have been a key, and have had keys of its own.
            self.key.clear();
            self.key.push_str(if frame.is_map { "{…}" } else { "[…]" });
        }
    }

    fn remember(&mut self, piece: &[u8]) {
        let kept = RECENT.saturating_sub(piece.len()).min(self.recent.len());
        self.recent.drain(..self.recent.len() - kept);
        self.recent.extend_from_slice(&piece[piece.len().saturating_sub(RECENT)..]);
    }

    /// The value that is next cannot be one. `piece` is what came last.
    #[cold]
    fn stop_at(&mut self, fault: Fault, piece: &[u8]) {
        let mut bytes = std::mem::take(&mut self.recent);
        // How much of what was remembered is behind the start of the value.
        let behind = (self.seen - self.offset.min(self.seen)) as usize;
        let at = if behind > 0 {
            bytes.len() - behind
        } else {
            bytes.len() + (self.offset - self.seen) as usize
        };
        let end = (at + FROM).saturating_sub(bytes.len()).min(piece.len());
        let start = at.saturating_sub(BEFORE);
        bytes.extend_from_slice(&piece[..end]);
        let around = bytes.split_off(start);

        let data = Data { bytes: &[], len: 0 };
        self.page.columns(self.offset, &around[at - start..][..1], data, self.frames.len());
        self.label();
        if fault.code == FAULT_INVALID_BYTE {
            self.page.fault("0xc1 is the byte that MessagePack never uses");
        } else {
            self.page.fault(format_args!("nested deeper than {} levels", self.max_depth));
        }
        self.tell_containers(true);
        let is_told = false;
        let stop = Stop { code: fault.code, offset: self.offset, around, at: at - start, is_told };
        self.stop = Some(stop);
        self.tell_around_if_whole();
    }

    fn behind_fault(&mut self, piece: &[u8]) {
        if let Some(stop) = &mut self.stop {
            let missing = (stop.at + FROM).saturating_sub(stop.around.len());
            stop.around.extend_from_slice(&piece[..missing.min(piece.len())]);
        }
        self.tell_around_if_whole();
    }

    fn tell_around_if_whole(&mut self) {
        if self.stop.as_ref().is_some_and(|stop| stop.around.len() >= stop.at + FROM) {
            self.tell_around();
        }
    }

    fn tell_around(&mut self) {
        if let Some(stop) = &mut self.stop
            && !stop.is_told
        {
            self.page.around(stop.offset - stop.at as u64, &stop.around, stop.at);
            stop.is_told = true;
        }
    }

    /// The input ends in the value that is pending.
    #[cold]
    fn end_in_value(&mut self) {
        let bytes = std::mem::take(&mut self.pending);
        let offset = self.offset;
        if let Ok((head, end)) = head(&bytes, 0) {
            let data = Data { bytes: &bytes[end..], len: data_len(head) };
            self.line(&bytes[..end], head, data);
            let missing = (data.len - data.bytes.len()) as u64;
            self.begin(head, data);
            self.stop_at_end(offset, Some(bytes[0]), missing, false);
        } else {
            self.page.columns(offset, &bytes, Data { bytes: &[], len: 0 }, self.frames.len());
            self.label();
            self.page.format(format_name(bytes[0]));
            self.page.line_end();
            // With zeros behind it the head is complete, and says how long it is.
            let mut padded = [0; MAX_HEAD];
            padded[..bytes.len()].copy_from_slice(&bytes);
            let end = head(&padded, 0).map_or(bytes.len() + 1, |(_, end)| end);
            self.stop_at_end(offset, Some(bytes[0]), (end - bytes.len()) as u64, true);
        }
    }

    /// The input ends with `missing` bytes of the value at `offset` that starts with `first`, or in
    /// front of a value. `is_next` says that this value has not been counted yet.
    #[cold]
    fn stop_at_end(&mut self, offset: u64, first: Option<u8>, missing: u64, is_next: bool) {
        self.page.columns(self.seen, &[], Data { bytes: &[], len: 0 }, self.frames.len());
        match first {
            Some(first) => {
                let name = format_name(first);
                let start = self.page.place(offset);
                let (s, are) = if missing == 1 { ("", "is") } else { ("s", "are") };
                self.page.fault(format_args!(
                    "the input ends here: {missing} byte{s} of the {name} at {start} {are} missing"
                ));
            }
            None => self.page.fault("the input ends here"),
        }
        self.tell_containers(is_next);
        let at = self.recent.len().min(BEFORE_END);
        let around = self.recent.split_off(self.recent.len() - at);
        self.page.around(self.seen - at as u64, &around, at);
        self.stop = Some(Stop { code: FAULT_TRUNCATED, offset, around, at, is_told: true });
    }

    /// Where in the containers around it the fault is, from the inside.
    fn tell_containers(&mut self, is_next: bool) {
        for (index, frame) in self.frames.iter().rev().take(TOLD_CONTAINERS).enumerate() {
            // Counted from 1.
            let number = frame.begun + u64::from(is_next && index == 0);
            let start = self.page.place(frame.offset);
            if frame.is_map {
                let what = if number % 2 == 1 { "key" } else { "value" };
                let (pair, pairs) = (number.div_ceil(2), frame.values / 2);
                self.page.remark(format_args!("in {what} {pair} of {pairs} of the map at {start}"));
            } else {
                let of = frame.values;
                self.page
                    .remark(format_args!("in element {number} of {of} of the array at {start}"));
            }
        }
        let untold = self.frames.len().saturating_sub(TOLD_CONTAINERS);
        if untold > 0 {
            self.page.remark(format_args!("and {untold} more around that"));
        }
    }
}

fn data_len(head: Head) -> usize {
    match head {
        Head::Str(len) | Head::Bin(len) | Head::Ext(_, len) => len as usize,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::token::{Token, token};

    /// The text of `input` in pieces of `len` bytes, and what was wrong.
    fn in_pieces(input: &[u8], len: usize, depth: usize) -> (String, Option<(i32, u64)>) {
        let mut inspector = Inspector::new(Style::default(), depth);
        let mut text = String::new();
        for piece in input.chunks(len) {
            text += &inspector.write(piece);
        }
        text += &inspector.end();
        (text, inspector.fault())
    }

    fn inspect(input: &[u8]) -> (String, Option<(i32, u64)>) {
        let whole = in_pieces(input, usize::MAX, 1000);
        for len in [1, 2, 3, 7, 64, 73, 1000] {
            assert_eq!(in_pieces(input, len, 1000), whole, "in pieces of {len}");
        }
        whole
    }

    fn lines(input: &[u8]) -> Vec<String> {
        let (text, fault) = inspect(input);
        assert_eq!(fault, None);
        text.lines().map(str::to_owned).collect()
    }

    /// What a line says, without the columns of offsets and bytes.
    fn said(line: &str) -> String {
        line.chars().skip(38).collect()
    }

    /// What is said of a value that stands alone.
    fn value(input: &[u8]) -> String {
        let [line] = &lines(input)[..] else { panic!("one line") };
        said(line)
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(inspect(b""), (String::new(), None));
    }

    #[test]
    fn every_format_has_its_name_and_value() {
        for (input, expected) in [
            (&b"\x00"[..], "positive fixint 0"),
            (b"\x7f", "positive fixint 127"),
            (b"\x80", "fixmap, 0 pairs"),
            (b"\x90", "fixarray, 0 elements"),
            (b"\xa0", "fixstr \"\""),
            (b"\xa2hi", "fixstr \"hi\""),
            (b"\xc0", "nil"),
            (b"\xc2", "false"),
            (b"\xc3", "true"),
            (b"\xc4\x00", "bin 8 0 bytes"),
            (b"\xc4\x02\xde\xad", "bin 8 de ad"),
            (b"\xc5\x00\x01\x07", "bin 16 07"),
            (b"\xc6\x00\x00\x00\x01\x07", "bin 32 07"),
            (b"\xc7\x00\x05", "ext 8 type 5, 0 bytes"),
            (b"\xc8\x00\x01\x05\x07", "ext 16 type 5, 07"),
            (b"\xc9\x00\x00\x00\x01\x80\x07", "ext 32 type -128, 07"),
            (b"\xca\x3f\x80\x00\x00", "float 32 1.0"),
            (b"\xca\x3d\xcc\xcc\xcd", "float 32 0.1"),
            (b"\xca\x7f\x80\x00\x00", "float 32 Infinity"),
            (b"\xcb\xbf\xf8\x00\x00\x00\x00\x00\x00", "float 64 -1.5"),
            (b"\xcb\x80\x00\x00\x00\x00\x00\x00\x00", "float 64 -0.0"),
            (b"\xcb\xff\xf0\x00\x00\x00\x00\x00\x00", "float 64 -Infinity"),
            (b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "float 64 NaN"),
            (b"\xcb\x7e\x37\xe4\x3c\x88\x00\x75\x9c", "float 64 1e300"),
            (b"\xcc\xff", "uint 8 255"),
            (b"\xcd\xff\xff", "uint 16 65535"),
            (b"\xce\xff\xff\xff\xff", "uint 32 4294967295"),
            (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "uint 64 18446744073709551615"),
            (b"\xd0\x80", "int 8 -128"),
            (b"\xd1\x80\x00", "int 16 -32768"),
            (b"\xd2\x80\x00\x00\x00", "int 32 -2147483648"),
            (b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "int 64 -9223372036854775808"),
            (b"\xd4\x05\x07", "fixext 1 type 5, 07"),
            (b"\xd5\x05\x07\x08", "fixext 2 type 5, 07 08"),
            (b"\xd6\x05\x07\x08\x09\x0a", "fixext 4 type 5, 07 08 09 0a"),
            (
                b"\xd7\x05\x00\x00\x00\x00\x00\x00\x00\x00",
                "fixext 8 type 5, 00 00 00 00 00 00 00 00",
            ),
            (b"\xd9\x01a", "str 8 \"a\""),
            (b"\xda\x00\x01a", "str 16 \"a\""),
            (b"\xdb\x00\x00\x00\x01a", "str 32 \"a\""),
            (b"\xdc\x00\x00", "array 16, 0 elements"),
            (b"\xdd\x00\x00\x00\x00", "array 32, 0 elements"),
            (b"\xde\x00\x00", "map 16, 0 pairs"),
            (b"\xdf\x00\x00\x00\x00", "map 32, 0 pairs"),
            (b"\xe0", "negative fixint -32"),
            (b"\xff", "negative fixint -1"),
        ] {
            assert_eq!(value(input), expected);
        }
        let long = [&b"\xd8\x05"[..], &[7; 16]].concat();
        let sevens = ["07"; 16].join(" ");
        assert_eq!(value(&long), format!("fixext 16 type 5, {sevens}"));
    }

    #[test]
    fn timestamps_are_points_in_time() {
        for (input, expected) in [
            (&b"\xd6\xff\x65\x53\xf1\x00"[..], "fixext 4 timestamp 2023-11-14T22:13:20.000Z"),
            (
                b"\xd7\xff\x00\x00\x00\x04\x65\x53\xf1\x00",
                "fixext 8 timestamp 2023-11-14T22:13:20.000000001Z",
            ),
            (
                b"\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff",
                "ext 8 timestamp 1969-12-31T23:59:59.000Z",
            ),
            (b"\xd4\xff\x07", "fixext 1 type -1, 07 is no timestamp"),
            (b"\xc7\x00\xff", "ext 8 type -1, 0 bytes is no timestamp"),
        ] {
            assert_eq!(value(input), expected);
        }
    }

    #[test]
    fn a_long_value_is_shown_by_its_start() {
        let text = [&b"\xd9\xff"[..], &[b'x'; 255], b"\x07"].concat();
        let shown = "x".repeat(PREVIEW);
        assert_eq!(
            lines(&text),
            [
                format!("       0  d9 ff 78 78 78 78 78 78 …   str 8 \"{shown}…\" (255 bytes)"),
                "     257  07                          positive fixint 7".to_owned(),
            ]
        );
        let bin = [&b"\xc4\x11"[..], &[1; 17]].concat();
        let ones = ["01"; 16].join(" ");
        assert_eq!(value(&bin), format!("bin 8 {ones}… (17 bytes)"));
    }

    #[test]
    fn maps_and_arrays_are_a_tree() {
        let input = b"\x83\xa1a\x92\x01\x81\x02\xc0\x93\x01\x02\x90\x80\xa1b\xc4\x01\x09\xc3";
        assert_eq!(
            lines(input),
            [
                "       0  83                          fixmap, 3 pairs",
                "       1  a1 61                         key: fixstr \"a\"",
                "       3  92                            \"a\": fixarray, 2 elements",
                "       4  01                              [0]: positive fixint 1",
                "       5  81                              [1]: fixmap, 1 pair",
                "       6  02                                key: positive fixint 2",
                "       7  c0                                2: nil",
                "       8  93                            key: fixarray, 3 elements",
                "       9  01                              [0]: positive fixint 1",
                "      10  02                              [1]: positive fixint 2",
                "      11  90                              [2]: fixarray, 0 elements",
                "      12  80                            […]: fixmap, 0 pairs",
                "      13  a1 62                         key: fixstr \"b\"",
                "      15  c4 01 09                      \"b\": bin 8 09",
                "      18  c3                          true",
            ]
        );
    }

    #[test]
    fn a_key_that_is_a_map_and_one_that_is_long() {
        let key = [b'k'; 40];
        let input = [&b"\x82\x81\x01\x02\x03\xd9\x28"[..], &key, b"\x04"].concat();
        let lines = lines(&input);
        assert_eq!(lines[4], "       4  03                            {…}: positive fixint 3");
        let shown = "k".repeat(32);
        assert_eq!(
            lines[6],
            format!("      47  04                            \"{shown}…\": positive fixint 4")
        );
    }

    fn tail(input: &[u8]) -> (Vec<String>, Option<(i32, u64)>) {
        let (text, fault) = inspect(input);
        let from = text.lines().position(|line| line.contains("!!")).expect("a fault");
        (text.lines().skip(from).map(str::to_owned).collect(), fault)
    }

    #[test]
    fn the_byte_that_is_never_used_is_pointed_at() {
        let (lines, fault) = tail(b"\x81\xa1a\x93\x01\xc1\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b");
        assert_eq!(fault, Some((FAULT_INVALID_BYTE, 5)));
        assert_eq!(
            lines,
            [
                "       5  c1                              [1]: !! 0xc1 is the byte that MessagePack never uses",
                "          in element 2 of 3 of the array at 3",
                "          in value 1 of 1 of the map at 0",
                "          0: 81 a1 61 93 01 c1 02 03 04 05 06 07 08 09",
                "                            ^^",
            ]
        );
    }

    #[test]
    fn a_fault_far_behind_the_start_is_shown_with_the_bytes_before_it() {
        let input = [&[b'\xa3', b'x', b'y', b'z'].repeat(500)[..], b"\xc1"].concat();
        let (lines, fault) = tail(&input);
        assert_eq!(fault, Some((FAULT_INVALID_BYTE, 2000)));
        assert_eq!(
            lines[1..],
            [
                "          1992: a3 78 79 7a a3 78 79 7a c1",
                "                                        ^^"
            ]
        );
    }

    #[test]
    fn the_end_of_the_input_is_pointed_at() {
        let (lines, fault) = tail(b"\x92\x01");
        assert_eq!(fault, Some((FAULT_TRUNCATED, 2)));
        assert_eq!(
            lines,
            [
                "       2                                !! the input ends here",
                "          in element 2 of 2 of the array at 0",
                "          0: 92 01",
                "                   ^^",
            ]
        );
    }

    #[test]
    fn what_is_missing_of_a_value_is_told() {
        for (input, fault, shown, told) in [
            (&b"\x01\xa3ab"[..], 1, "fixstr \"ab…\" (3 bytes)", "1 byte of the fixstr at 1 is"),
            (b"\xce\x00\x01", 0, "uint 32", "2 bytes of the uint 32 at 0 are"),
            (b"\xcb", 0, "float 64", "8 bytes of the float 64 at 0 are"),
            (b"\xdb\x00\x00\x01", 0, "str 32", "1 byte of the str 32 at 0 is"),
            (b"\xc7\x05", 0, "ext 8", "1 byte of the ext 8 at 0 is"),
            (b"\xc4\x05\x01", 0, "bin 8 01… (5 bytes)", "4 bytes of the bin 8 at 0 are"),
        ] {
            let (text, found) = inspect(input);
            assert_eq!(found, Some((FAULT_TRUNCATED, fault)));
            let lines: Vec<_> = text.lines().collect();
            let at = lines.iter().position(|line| line.contains("!!")).unwrap();
            assert_eq!(said(lines[at - 1]), shown);
            let end = input.len();
            assert_eq!(
                lines[at],
                format!("{end:>8}{:30}!! the input ends here: {told} missing", "")
            );
        }
    }

    #[test]
    fn a_long_value_that_is_cut_off_is_the_element_that_is_not_complete() {
        let input = [&b"\x91\xda\x03\xe8"[..], &[b'x'; 900]].concat();
        let (lines, fault) = tail(&input);
        assert_eq!(fault, Some((FAULT_TRUNCATED, 1)));
        assert_eq!(
            lines[0].trim(),
            "904                                !! the input ends here: 100 bytes of the str 16 at 1 are missing"
        );
        assert_eq!(lines[1], "          in element 1 of 1 of the array at 0");
    }

    #[test]
    fn depth_is_a_counter() {
        let deep = vec![0x91; 100_000];
        let (text, fault) = in_pieces(&deep, 4096, 1_000_000);
        assert_eq!(fault, Some((FAULT_TRUNCATED, 100_000)));
        assert_eq!(text.lines().count(), 100_000 + 8);
        assert!(text.contains("(17 deep) [0]: fixarray, 1 element\n"));
        assert!(text.contains("\n          and 99996 more around that\n"));

        let (text, fault) = in_pieces(&[0x91, 0x91, 0x91, 0x90], 1, 3);
        assert_eq!(fault, Some((FAULT_DEPTH, 3)));
        assert!(text.contains("[0]: !! nested deeper than 3 levels\n"));
        assert_eq!(in_pieces(&[0x91, 0x91, 0x90], 1, 3).1, None);
    }

    /// How many values there are before the fault, and the fault, as tokens tell it.
    fn by_tokens(input: &[u8]) -> (usize, Option<(i32, u64)>) {
        let (mut at, mut owed, mut values) = (0, 0u64, 0);
        while at < input.len() || owed > 0 {
            match token(input, at) {
                Err(fault) => return (values, Some((fault.code, at as u64))),
                Ok((token, end)) => {
                    owed = owed.saturating_sub(1);
                    owed += match token {
                        Token::Array(n) => u64::from(n),
                        Token::Map(n) => 2 * u64::from(n),
                        _ => 0,
                    };
                    at = end;
                    values += 1;
                }
            }
        }
        (values, None)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn any_bytes_are_shown_up_to_the_first_fault(
            parts in prop::collection::vec(prop_oneof![
                3 => prop::collection::vec(any::<u8>(), 0..6),
                // Short containers and strings, so that something comes of it.
                5 => prop::collection::vec(0x80u8..0xa9, 1..4),
                1 => (1u8..200).prop_map(|len| [&[0xd9, len][..], &vec![b'x'; len.into()]].concat()),
            ], 0..40),
            len in 1usize..100,
        ) {
            let input = parts.concat();
            let (text, fault) = in_pieces(&input, usize::MAX, 1_000_000);
            prop_assert_eq!(&in_pieces(&input, len, 1_000_000).0, &text);
            let (values, expected) = by_tokens(&input);
            prop_assert_eq!(fault, expected);
            let shown = text.lines().take_while(|line| !line.contains("!!")).count();
            // What is cut off by the end of the input has a line, too.
            let has_part = fault.is_some_and(|(code, offset)| {
                code == FAULT_TRUNCATED && offset < input.len() as u64
            });
            prop_assert_eq!(shown, values + usize::from(has_part));
        }
    }

    #[test]
    fn what_comes_after_a_fault_changes_nothing() {
        let mut inspector = Inspector::new(Style::default(), 10);
        let input = [&[0xc1][..], &[0; 20]].concat();
        inspector.write(&input);
        assert_eq!(inspector.fault(), Some((FAULT_INVALID_BYTE, 0)));
        assert_eq!(inspector.write(b"\x01\x02"), "");
        assert_eq!(inspector.end(), "");
    }

    #[test]
    fn offsets_in_hex_are_so_everywhere() {
        let mut inspector = Inspector::new(Style { hex: true, colours: false }, 10);
        let mut text = inspector.write(&[&[0; 27][..], &[0x92, 1]].concat());
        text += &inspector.end();
        assert!(text.contains("\n0000001b  92                          fixarray, 2 elements\n"));
        assert!(text.contains("in element 2 of 2 of the array at 0x1b\n          0xd: 00"));
    }

    #[test]
    fn colours_leave_the_text_as_it_is() {
        let input = b"\x82\xa1a\xca\x3f\x80\x00\x00\xa1b\xd4\xff\x01\xc4\x01\x02\xc1";
        let mut inspector = Inspector::new(Style { colours: true, hex: false }, 10);
        let coloured = inspector.write(input) + &inspector.end();
        let mut plain = String::new();
        let mut parts = coloured.split('\x1b');
        plain += parts.next().unwrap();
        for part in parts {
            plain += part.split_once('m').unwrap().1;
        }
        assert_ne!(coloured, plain);
        assert_eq!(plain, inspect(input).0);
    }
}
