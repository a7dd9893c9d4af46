//! The elements of a JSON text that is one array, each of them a text of its own, so that an array of
//! any size is never in memory as a whole. As in `values`, nothing is checked.

use memchr::memchr2;

use super::from_json::{Before, FromJson, JsonFault, Options};
use crate::tape::{FAULT_JSON, Fault};

/// What stands at the end of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The bracket that opens the array.
    Open,
    /// The comma behind an element.
    Comma,
    /// The bracket that closes the array.
    Close,
    /// Something in front of the array, or behind it.
    Other,
}

#[derive(Default)]
pub struct Elements {
    place: Place,
    /// Containers within the element.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

#[derive(Default, PartialEq)]
enum Place {
    #[default]
    Before,
    Within,
    Behind,
}

impl Elements {
    /// Where the next mark is in `text`, that goes on behind the last mark.
    pub fn next(&mut self, text: &[u8]) -> Option<(usize, Mark)> {
        let mut pos = 0;
        while let Some(&byte) = text.get(pos) {
            if self.in_string {
                if self.is_escaped {
                    self.is_escaped = false;
                } else {
                    pos += memchr2(b'"', b'\\', &text[pos..])?;
                    self.is_escaped = text[pos] == b'\\';
                    self.in_string = self.is_escaped;
                }
            } else if self.place != Place::Within {
                match byte {
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    b'[' if self.place == Place::Before => {
                        self.place = Place::Within;
                        return Some((pos, Mark::Open));
                    }
                    _ => return Some((pos, Mark::Other)),
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b',' if self.depth == 0 => return Some((pos, Mark::Comma)),
                    b']' if self.depth == 0 => {
                        self.place = Place::Behind;
                        return Some((pos, Mark::Close));
                    }
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
            pos += 1;
        }
        None
    }

    /// Whether the array has ended.
    pub fn is_over(&self) -> bool {
        self.place == Place::Behind
    }
}

/// Counts the elements of a text that is one array.
#[derive(Default)]
pub struct Count {
    elements: Elements,
    count: u64,
    /// The element at hand has something other than white space.
    has_any: bool,
    is_other: bool,
}

impl Count {
    pub fn feed(&mut self, text: &[u8]) {
        let mut from = 0;
        while !self.is_other && from < text.len() {
            let found = self.elements.next(&text[from..]);
            let end = found.map_or(text.len(), |(end, _)| from + end);
            self.has_any |= text[from..end].iter().any(|byte| !byte.is_ascii_whitespace());
            match found {
                Some((_, Mark::Other)) => self.is_other = true,
                Some((_, Mark::Open)) => self.has_any = false,
                Some((_, Mark::Comma)) => self.count += 1,
                Some((_, Mark::Close)) if self.count > 0 || self.has_any => self.count += 1,
                _ => {}
            }
            from = end + 1;
        }
    }

    /// Whether the text is known not to be one array.
    pub fn is_other(&self) -> bool {
        self.is_other
    }

    /// How many there are, or `None` if the text is not one array.
    pub fn total(&self) -> Option<u64> {
        (self.elements.is_over() && !self.is_other).then_some(self.count)
    }
}

/// One message from a JSON text that is an array and comes in pieces: how many elements it has is
/// known already.
pub struct ArrayStream {
    options: Options,
    elements: Elements,
    total: u32,
    seen: u64,
    /// The element at hand so far.
    rest: Vec<u8>,
    before: Before,
}

impl ArrayStream {
    pub fn new(options: Options, total: u32) -> ArrayStream {
        let max_depth = options.max_depth.saturating_sub(1);
        ArrayStream {
            options: Options { multiple: false, max_depth, ..options },
            elements: Elements::default(),
            total,
            seen: 0,
            rest: Vec::new(),
            before: Before::default(),
        }
    }

    /// Adds what is complete by now.
    pub fn feed(
        &mut self,
        mut text: &[u8],
        is_last: bool,
        to: &mut FromJson,
    ) -> Result<(), JsonFault> {
        while let Some((end, mark)) = self.elements.next(text) {
            let (piece, tail) = text.split_at(end);
            self.rest.extend_from_slice(piece);
            match mark {
                Mark::Open => to.put_array_header(self.total),
                Mark::Comma => self.element(to)?,
                Mark::Close if self.seen == 0 && self.is_space() => {}
                Mark::Close => self.element(to)?,
                Mark::Other => return Err(self.fault("trailing characters")),
            }
            if mark == Mark::Close && self.seen != u64::from(self.total) {
                return Err(self.fault("the text has changed meanwhile"));
            }
            // The mark itself is no part of what comes next.
            self.rest.push(tail[0]);
            self.before.pass(&self.rest);
            self.rest.clear();
            text = &tail[1..];
        }
        self.rest.extend_from_slice(text);
        if is_last && !self.elements.is_over() {
            return Err(self.fault("EOF while parsing a list"));
        }
        Ok(())
    }

    fn element(&mut self, to: &mut FromJson) -> Result<(), JsonFault> {
        to.read(&self.rest, self.options).map_err(|mut fault| {
            // It is not the text that ends here.
            if fault.message.starts_with("EOF ") {
                fault.message = "expected more of a value".to_owned();
            }
            self.before.of(fault)
        })?;
        self.seen += 1;
        Ok(())
    }

    fn is_space(&self) -> bool {
        self.rest.iter().all(u8::is_ascii_whitespace)
    }

    /// A fault behind what is at hand.
    fn fault(&self, message: &str) -> JsonFault {
        let fault = Fault::at(FAULT_JSON, self.rest.len());
        self.before.of(JsonFault::new(&self.rest, fault, message.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::from_json::{FromJson, Options};
    use super::{ArrayStream, Count};

    fn count(text: &str, step: usize) -> Option<u64> {
        let mut count = Count::default();
        text.as_bytes().chunks(step).for_each(|piece| count.feed(piece));
        count.total()
    }

    #[test]
    fn counts() {
        for (text, expected) in [
            ("[]", Some(0)),
            (" [ \n ] ", Some(0)),
            ("[1]", Some(1)),
            (" [1,2 , {\"a\":[1,2],\"b\":\"],[\"},\"\\\"]\"]\n", Some(4)),
            ("[[],[[]],{}]", Some(3)),
            ("", None),
            ("[1,2", None),
            ("[1][2]", None),
            ("[1]2", None),
            ("{\"a\":[1]}", None),
            ("1", None),
        ] {
            for step in 1..=text.len().max(1) {
                assert_eq!(count(text, step), expected, "{text} in pieces of {step}");
            }
        }
    }

    const OPTIONS: Options =
        Options { max_depth: 3, multiple: false, exts: None, fatal_utf8: false };

    fn bytes(from_json: &mut FromJson) -> Vec<u8> {
        let mut bytes = vec![0; from_json.len()];
        from_json.copy_to(&mut bytes);
        bytes
    }

    /// The message, or code, offset, line, column.
    fn stream(text: &[u8], total: u32, step: usize) -> Result<Vec<u8>, (i32, usize, usize, usize)> {
        let mut stream = ArrayStream::new(OPTIONS, total);
        let mut to = FromJson::default();
        let pieces = text.chunks(step).map(|piece| (piece, false)).chain([(&[][..], true)]);
        for (piece, is_last) in pieces {
            stream.feed(piece, is_last, &mut to).map_err(|found| {
                (found.fault.code, found.fault.offset, found.line, found.column)
            })?;
        }
        Ok(bytes(&mut to))
    }

    #[test]
    fn an_array_in_pieces_is_the_array() {
        for text in [
            "[]",
            " [ ] ",
            "[1]",
            "\n[1, \"a,]\\\"\" ,[2,[]],{\"a\":{}}\n , null]\n",
            "[\"\u{e9}\u{1f600}\",\"\\ud83d\\ude00\"]",
        ] {
            let mut whole = FromJson::default();
            whole.read(text.as_bytes(), OPTIONS).unwrap_or_else(|fault| panic!("{fault:?}"));
            let mut count = Count::default();
            count.feed(text.as_bytes());
            let total = count.total().unwrap_or_default() as u32;
            let expected = bytes(&mut whole);
            for step in 1..=text.len() {
                assert_eq!(stream(text.as_bytes(), total, step), Ok(expected.clone()), "{text}");
            }
        }
    }

    #[test]
    fn faults_are_where_they_are_in_the_whole() {
        use crate::tape::{FAULT_DEPTH, FAULT_JSON};
        for (text, total, expected) in [
            ("[1,\n \u{e9}]", 2, (FAULT_JSON, 5, 2, 2)),
            ("[1,\n2,\n\"\u{e9}\",x]", 4, (FAULT_JSON, 12, 3, 5)),
            ("[1,,2]", 3, (FAULT_JSON, 3, 1, 4)),
            ("[1,]", 2, (FAULT_JSON, 3, 1, 4)),
            ("[1,2", 2, (FAULT_JSON, 4, 1, 5)),
            ("[1]\n 2", 1, (FAULT_JSON, 5, 2, 2)),
            ("[[[[1]]]]", 1, (FAULT_DEPTH, 3, 1, 4)),
            ("[1,2]", 3, (FAULT_JSON, 4, 1, 5)),
        ] {
            for step in 1..=text.len() {
                let found = stream(text.as_bytes(), total, step);
                assert_eq!(found, Err(expected), "{text} in pieces of {step}");
            }
        }
    }
}
