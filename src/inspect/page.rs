//! Lines of text: an offset, bytes in hex, and what they are.

use std::fmt::{Display, Write};

use crate::token::{Head, timestamp};
use crate::transcode::time::Iso;
use crate::wire::TIMESTAMP;

/// Bytes of a value that the column of bytes has room for: a number with its marker.
const COLUMN_BYTES: usize = 9;
/// Bytes of a bin or an ext that are written out as its value.
const SHOWN_BINARY: usize = 16;
/// Characters of a key that are repeated in front of its value.
const SHOWN_KEY: usize = 32;
/// Levels that are indented; deeper ones say how deep they are.
const MAX_INDENT: usize = 16;

#[derive(Clone, Copy, Default, Debug)]
pub struct Style {
    pub colours: bool,
    /// Offsets in hex, not decimal.
    pub hex: bool,
}

/// Select Graphic Rendition, by what it is for.
#[derive(Clone, Copy)]
pub enum Colour {
    Plain,
    Offset,
    Data,
    Label,
    Format,
    Text,
    Number,
    Fault,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Colour::Plain => "",
            Colour::Offset | Colour::Data => "\x1b[2m",
            Colour::Label => "\x1b[34m",
            Colour::Format => "\x1b[36m",
            Colour::Text => "\x1b[32m",
            Colour::Number => "\x1b[33m",
            Colour::Fault => "\x1b[1;31m",
        }
    }
}

#[derive(Default)]
pub struct Page {
    pub text: String,
    style: Style,
}

/// A value's data as far as it is looked at: a str, a bin or an ext may have more.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    pub bytes: &'a [u8],
    /// Bytes in all.
    pub len: usize,
}

impl Data<'_> {
    fn is_cut(self) -> bool {
        self.bytes.len() < self.len
    }
}

impl Page {
    pub fn new(style: Style) -> Page {
        Page { text: String::new(), style }
    }

    fn put(&mut self, colour: Colour, text: impl Display) {
        self.coloured(colour, |line| {
            // Writing to a String cannot fail.
            let _ = write!(line, "{text}");
        });
    }

    fn hex(&mut self, colour: Colour, bytes: &[u8]) {
        self.coloured(colour, |line| push_hex(line, bytes));
    }

    fn coloured(&mut self, colour: Colour, write: impl FnOnce(&mut String)) {
        let code = if self.style.colours { colour.code() } else { "" };
        self.text.push_str(code);
        write(&mut self.text);
        if !code.is_empty() {
            self.text.push_str("\x1b[0m");
        }
    }

    fn spaces(&mut self, n: usize) {
        self.text.extend(std::iter::repeat_n(' ', n));
    }

    pub fn line_end(&mut self) {
        self.text.push('\n');
    }

    /// The columns in front of what a line has to say.
    pub fn columns(&mut self, offset: u64, head: &[u8], data: Data, depth: usize) {
        if self.style.hex {
            self.put(Colour::Offset, format_args!("{offset:08x}"));
        } else {
            self.put(Colour::Offset, format_args!("{offset:>8}"));
        }
        self.text.push_str("  ");
        let shown = match head.len() + data.len {
            all if all > COLUMN_BYTES => COLUMN_BYTES - 1,
            all => all,
        };
        let head = &head[..head.len().min(shown)];
        let bytes = &data.bytes[..data.bytes.len().min(shown - head.len())];
        self.hex(Colour::Plain, head);
        if !bytes.is_empty() {
            self.text.push(' ');
            self.hex(Colour::Data, bytes);
        }
        let mut width = (3 * (head.len() + bytes.len())).saturating_sub(1);
        if data.len > bytes.len() {
            self.text.push_str(" …");
            width += 2;
        }
        self.spaces(3 * COLUMN_BYTES + 1 - width.min(3 * COLUMN_BYTES));
        self.spaces(2 * depth.min(MAX_INDENT));
        if depth > MAX_INDENT {
            self.put(Colour::Offset, format_args!("({depth} deep) "));
        }
    }

    pub fn label(&mut self, label: impl Display) {
        self.put(Colour::Label, label);
        self.text.push_str(": ");
    }

    /// The name of the format and the value.
    pub fn value(&mut self, format: &str, head: Head, data: Data) {
        self.put(Colour::Format, format);
        match head {
            // Their names say it.
            Head::Nil | Head::Bool(_) => {}
            Head::Array(n) => {
                self.put(Colour::Plain, format_args!(", {n} element{}", plural(n)));
            }
            Head::Map(n) => self.put(Colour::Plain, format_args!(", {n} pair{}", plural(n))),
            Head::Int(_) | Head::Uint(_) | Head::Float32(_) | Head::Float64(_) => {
                self.text.push(' ');
                self.put(Colour::Number, Scalar(head));
            }
            Head::Str(_) => {
                self.text.push(' ');
                let text = quoted(data, usize::MAX);
                self.put(Colour::Text, text);
                self.length_if_cut(data, data.bytes.len());
            }
            Head::Bin(_) => self.binary("", data),
            Head::Ext(ext_type, _) => self.ext(ext_type, data),
        }
    }

    fn ext(&mut self, ext_type: i8, data: Data) {
        let is_timestamp = ext_type == TIMESTAMP && !data.is_cut();
        if is_timestamp && let Some((seconds, nanoseconds)) = timestamp(data.bytes) {
            self.put(Colour::Plain, " timestamp ");
            return self.put(Colour::Number, Iso { seconds, nanoseconds });
        }
        self.put(Colour::Plain, format_args!(" type {ext_type}"));
        self.binary(",", data);
        if is_timestamp {
            self.put(Colour::Fault, " is no timestamp");
        }
    }

    fn binary(&mut self, separator: &str, data: Data) {
        let shown = data.bytes.len().min(SHOWN_BINARY);
        if data.len == 0 {
            return self.put(Colour::Plain, format_args!("{separator} 0 bytes"));
        }
        self.text.push_str(separator);
        self.text.push(' ');
        self.hex(Colour::Text, &data.bytes[..shown]);
        if shown < data.len {
            self.put(Colour::Text, "…");
        }
        self.length_if_cut(data, shown);
    }

    fn length_if_cut(&mut self, data: Data, shown: usize) {
        if shown < data.len {
            self.put(Colour::Plain, format_args!(" ({} bytes)", data.len));
        }
    }

    /// Only the name: the value is not there.
    pub fn format(&mut self, format: &str) {
        self.put(Colour::Format, format);
    }

    pub fn fault(&mut self, text: impl Display) {
        self.put(Colour::Fault, format_args!("!! {text}"));
        self.line_end();
    }

    /// More about the fault, below what it says.
    pub fn remark(&mut self, text: impl Display) {
        self.put(Colour::Plain, format_args!("{:1$}{text}", "", REMARK_INDENT));
        self.line_end();
    }

    /// An offset in the middle of text.
    pub fn place(&self, offset: u64) -> String {
        if self.style.hex { format!("0x{offset:x}") } else { offset.to_string() }
    }

    /// Bytes from `offset` on, and a mark below the one at `at`.
    pub fn around(&mut self, offset: u64, bytes: &[u8], at: usize) {
        let start = format!("{:2$}{}: ", "", self.place(offset), REMARK_INDENT);
        let mark = start.len() + 3 * at;
        self.put(Colour::Plain, start);
        self.hex(Colour::Plain, bytes);
        self.line_end();
        self.put(Colour::Fault, format_args!("{:1$}^^", "", mark));
        self.line_end();
    }
}

const REMARK_INDENT: usize = 10;

pub fn plural(n: u32) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// What stands for a key in front of its value.
pub fn key_label(head: Head, data: Data) -> String {
    match head {
        Head::Str(_) => quoted(data, SHOWN_KEY),
        Head::Bin(_) => "bin".into(),
        Head::Ext(ext_type, _) => format!("ext {ext_type}"),
        Head::Array(_) => "[…]".into(),
        Head::Map(_) => "{…}".into(),
        _ => Scalar(head).to_string(),
    }
}

/// `de ad`. The formatter of the standard library takes most of the time of a line.
fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (index, &byte) in bytes.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

struct Scalar(Head);

impl Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.0 {
            Head::Nil => f.write_str("nil"),
            Head::Bool(bool) => write!(f, "{bool}"),
            Head::Int(int) => write!(f, "{int}"),
            Head::Uint(int) => write!(f, "{int}"),
            Head::Float32(number) if number.is_infinite() => infinity(f, number > 0.0),
            Head::Float64(number) if number.is_infinite() => infinity(f, number > 0.0),
            // With a point or an exponent, which tells it from an integer.
            Head::Float32(number) => write!(f, "{number:?}"),
            Head::Float64(number) => write!(f, "{number:?}"),
            _ => Ok(()),
        }
    }
}

fn infinity(f: &mut std::fmt::Formatter, is_positive: bool) -> std::fmt::Result {
    f.write_str(if is_positive { "Infinity" } else { "-Infinity" })
}

/// A string in quotes, up to `most` characters of it. Nothing in it can move a terminal's cursor or
/// turn its text around; bytes that are no UTF-8 are `\xff`.
fn quoted(data: Data, most: usize) -> String {
    let mut text = String::with_capacity(data.bytes.len() + 4);
    let mut left = most;
    let mut is_cut = data.is_cut();
    text.push('"');
    let mut chunks = data.bytes.utf8_chunks().peekable();
    'chunks: while let Some(chunk) = chunks.next() {
        for char in chunk.valid().chars() {
            if left == 0 {
                is_cut = true;
                break 'chunks;
            }
            left -= 1;
            escape(char, &mut text);
        }
        // The last character may go on behind what there is of the string.
        let is_part = is_cut && chunks.peek().is_none() && is_start_of_char(chunk.invalid());
        if !is_part {
            for byte in chunk.invalid() {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push_str(if is_cut { "…\"" } else { "\"" });
    text
}

fn is_start_of_char(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn escape(char: char, text: &mut String) {
    match char {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        // Control characters, and those that have no shape or change the direction of others.
        '\0'..='\x1f'
        | '\x7f'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => {
            let _ = write!(text, "\\u{{{:x}}}", u32::from(char));
        }
        _ => text.push(char),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> String {
        quoted(Data { bytes, len: bytes.len() }, usize::MAX)
    }

    #[test]
    fn strings_are_quoted_so_that_nothing_hides_in_them() {
        assert_eq!(whole(b""), r#""""#);
        assert_eq!(whole("Ada, é, 漢, 😀".as_bytes()), r#""Ada, é, 漢, 😀""#);
        assert_eq!(whole(b"a\"b\\c\n\r\t"), r#""a\"b\\c\n\r\t""#);
        assert_eq!(whole(b"\x1b[31m\x00\x7f"), r#""\u{1b}[31m\u{0}\u{7f}""#);
        assert_eq!(
            whole("\u{9b}\u{202e}\u{200b}\u{feff}".as_bytes()),
            r#""\u{9b}\u{202e}\u{200b}\u{feff}""#
        );
    }

    #[test]
    fn bytes_that_are_no_utf8_are_shown_as_such() {
        assert_eq!(whole(b"a\xffb"), r#""a\xffb""#);
        // A lone surrogate, and a character that is cut off by the end of the string itself.
        assert_eq!(whole(b"\xed\xa0\x80"), r#""\xed\xa0\x80""#);
        assert_eq!(whole(b"a\xe6\xbc"), r#""a\xe6\xbc""#);
    }

    #[test]
    fn a_cut_string_ends_with_a_whole_character() {
        let text = "aé漢😀".as_bytes();
        for (end, expected) in
            [(1, "a"), (2, "a"), (3, "aé"), (4, "aé"), (5, "aé"), (6, "aé漢"), (9, "aé漢")]
        {
            let data = Data { bytes: &text[..end], len: text.len() };
            assert_eq!(quoted(data, usize::MAX), format!("\"{expected}…\""), "{end}");
        }
        assert_eq!(quoted(Data { bytes: b"a\xff", len: 3 }, usize::MAX), r#""a\xff…""#);
        let data = Data { bytes: text, len: text.len() };
        assert_eq!(quoted(data, 3), "\"aé漢…\"");
        assert_eq!(quoted(data, 4), "\"aé漢😀\"");
    }
}
