//! MessagePack → JSON text. One loop over the tokens with a stack of its own; it can stop behind
//! any of them, so that a message may come in pieces.

use std::sync::Arc;

use super::json_text::{Binary, Text};
use crate::tape::*;
use crate::token::{Token, timestamp, token, truncated};
use crate::wire::TIMESTAMP;

#[derive(Clone, Debug)]
pub struct Options {
    pub max_depth: usize,
    pub binary: Binary,
    /// NaN and the infinities are a fault, not null.
    pub throws_non_finite: bool,
    pub fatal_utf8: bool,
    /// What a level is indented by; nothing for text without white space.
    pub indent: Vec<u8>,
    /// Any number of messages, each on a line of its own.
    pub multiple: bool,
    /// By ext type: what it means, one of the `KIND_…` values.
    pub kinds: Arc<[i32; 256]>,
}

#[derive(Clone, Copy)]
pub struct Frame {
    /// Values still to come; a pair is two.
    pub left: u64,
    pub is_map: bool,
    pub is_empty: bool,
    /// The container is a key, whose text starts here.
    pub key_start: Option<usize>,
}

impl Frame {
    /// Whether the next value is a key.
    fn wants_key(&self) -> bool {
        self.is_map && self.left.is_multiple_of(2)
    }
}

pub struct ToJson {
    pub options: Options,
    pub stack: Vec<Frame>,
    /// Values that the open containers still owe.
    pub owed: u64,
    /// How deep the key is that is a container; there is no white space in it.
    pub key_depth: Option<usize>,
    /// A tag came, and not the value behind it.
    pub is_tagged: bool,
    /// Whether there is only ASCII in the strings that the fast lane has written. It may be false
    /// though there is: what lies behind a string was looked at with it.
    pub is_ascii: bool,
    pub messages: u64,
}

/// With more open containers than this a piece of a message is not tried by the fast lane: they are
/// kept for the case that it has to be taken back.
const MOST_OPEN: usize = 64;
/// Bytes of a text with white space at most: the longest string, as for `JSON.stringify`. A byte of a
/// message becomes a line, which is as long as the message is deep.
const MOST_PRETTY: usize = (1 << 29) - 24;

/// How far a message came: to this offset of the input.
pub enum Step {
    Done(usize),
    /// The next token is not there yet.
    More(usize),
}

impl ToJson {
    pub fn new(options: Options) -> ToJson {
        ToJson {
            options,
            stack: Vec::new(),
            owed: 0,
            key_depth: None,
            is_tagged: false,
            is_ascii: true,
            messages: 0,
        }
    }

    /// Goes on at the start of `input` and returns how much of it was used. With `is_last` that is
    /// all of it, or there is a fault.
    pub fn feed(&mut self, input: &[u8], is_last: bool, out: &mut Text) -> Result<usize, Fault> {
        let mut pos = 0;
        loop {
            let is_open = !self.stack.is_empty() || self.is_tagged;
            if !is_open && pos == input.len() && (self.options.multiple || self.messages > 0) {
                return Ok(pos);
            }
            if !is_open && !self.options.multiple && self.messages > 0 {
                return Err(Fault::at(FAULT_EXTRA_BYTES, pos));
            }
            match self.message(input, pos, is_last, out)? {
                Step::More(at) => return Ok(at),
                Step::Done(end) => pos = end,
            }
            if self.options.multiple {
                out.room(1)?;
                out.put(b'\n');
            }
        }
    }

    /// Goes on with one message at `pos`. The fast lane copies strings without a look at their UTF-8:
    /// the text is validated at its end, and written again, with care, if it is ill-formed.
    pub fn message(
        &mut self,
        input: &[u8],
        pos: usize,
        is_last: bool,
        out: &mut Text,
    ) -> Result<Step, Fault> {
        if self.stack.len() > MOST_OPEN || self.key_depth.is_some() {
            return self.tokens(input, pos, is_last, false, out);
        }
        let (open, owed, is_tagged) = (self.stack.clone(), self.owed, self.is_tagged);
        let (messages, from) = (self.messages, out.bytes.len());
        self.is_ascii = true;
        let step = self.tokens(input, pos, is_last, true, out);
        if self.is_ascii || step.is_ok() && simdutf8::basic::from_utf8(&out.bytes[from..]).is_ok() {
            return step;
        }
        // Again, and every string with care: the first fault is the one to tell.
        (self.stack, self.owed, self.is_tagged) = (open, owed, is_tagged);
        (self.messages, self.key_depth) = (messages, None);
        out.bytes.truncate(from);
        self.tokens(input, pos, is_last, false, out)
    }

    /// One token after the other; with a fast lane those that it takes.
    fn tokens(
        &mut self,
        input: &[u8],
        mut pos: usize,
        is_last: bool,
        with_lane: bool,
        out: &mut Text,
    ) -> Result<Step, Fault> {
        loop {
            if with_lane && self.has_lane() {
                pos = self.lane(input, pos, is_last, out)?;
                if self.stack.is_empty() {
                    self.messages += 1;
                    return Ok(Step::Done(pos));
                }
            }
            let at = pos;
            let (token, end) = match token(input, at) {
                Err(fault) if fault.code == FAULT_TRUNCATED && !is_last => {
                    return Ok(Step::More(at));
                }
                other => other?,
            };
            pos = end;
            if let Token::Ext(ext_type, data) = &token
                && self.options.kinds[usize::from(*ext_type as u8)] == KIND_TAG
            {
                // The tag has bytes of its own, and the value behind them is what is tagged.
                pos = data.end;
                self.is_tagged = true;
                continue;
            }
            self.is_tagged = false;
            let left = if is_last { (input.len() - end) as u64 } else { u64::MAX };
            self.value(input, token, left, out).map_err(|fault| Fault { offset: at, ..fault })?;
            if self.stack.is_empty() {
                self.messages += 1;
                return Ok(Step::Done(pos));
            }
        }
    }

    /// Writes a value, and the end of what it completes. A fault's offset is not told.
    #[inline(always)]
    fn value(
        &mut self,
        input: &[u8],
        token: Token,
        left: u64,
        out: &mut Text,
    ) -> Result<(), Fault> {
        out.scalar_room()?;
        let is_key = self.stack.last().is_some_and(Frame::wants_key);
        if let Some(f) = self.stack.last_mut() {
            let is_first = std::mem::replace(&mut f.is_empty, false);
            let is_value_of_pair = f.is_map && !is_key;
            f.left -= 1;
            self.owed -= 1;
            if !is_value_of_pair {
                if !is_first {
                    out.put(b',');
                }
                self.new_line(out)?;
            }
        }
        match token {
            Token::Array(n) => {
                out.put(b'[');
                self.open(u64::from(n), false, is_key, left, out)?;
            }
            Token::Map(n) => {
                out.put(b'{');
                self.open(2 * u64::from(n), true, is_key, left, out)?;
            }
            scalar => {
                let start = out.bytes.len();
                self.scalar(input, scalar, is_key, out)?;
                if is_key {
                    if out.bytes[start] != b'"' {
                        out.quote_from(start)?;
                    }
                    self.colon(out)?;
                }
            }
        }
        while let Some(&f) = self.stack.last()
            && f.left == 0
        {
            self.close(f, out)?;
        }
        Ok(())
    }

    /// Opens a container of so many values, whose bracket is written.
    fn open(
        &mut self,
        values: u64,
        is_map: bool,
        is_key: bool,
        left: u64,
        out: &mut Text,
    ) -> Result<(), Fault> {
        if self.owed + values > left {
            return Err(truncated(0));
        }
        if self.stack.len() >= self.options.max_depth {
            return Err(Fault::at(FAULT_DEPTH, 0));
        }
        // The text of a text of a text would double with each of them.
        if is_key && self.key_depth.is_some() {
            return Err(Fault::at(FAULT_KEY, 0));
        }
        if is_key {
            self.key_depth = Some(self.stack.len());
        }
        self.owed += values;
        let key_start = is_key.then(|| out.bytes.len() - 1);
        self.stack.push(Frame { left: values, is_map, is_empty: true, key_start });
        Ok(())
    }

    /// Closes the innermost container, which is `f`.
    fn close(&mut self, f: Frame, out: &mut Text) -> Result<(), Fault> {
        self.stack.pop();
        if !f.is_empty {
            self.new_line(out)?;
        }
        out.room(1)?;
        out.put(if f.is_map { b'}' } else { b']' });
        if let Some(start) = f.key_start {
            self.key_depth = None;
            out.quote_from(start)?;
            self.colon(out)?;
        }
        Ok(())
    }

    /// Bytes of the text that stay as they are. Those behind are of a key that is not complete, and
    /// are to be at the start of the text from now on.
    pub fn certain(&mut self, out: &Text) -> usize {
        let start = self.key_depth.and_then(|depth| self.stack[depth].key_start.as_mut());
        start.map_or(out.bytes.len(), std::mem::take)
    }

    fn new_line(&self, out: &mut Text) -> Result<(), Fault> {
        if self.is_pretty() { self.line(self.stack.len(), out) } else { Ok(()) }
    }

    fn is_pretty(&self) -> bool {
        !self.options.indent.is_empty() && self.key_depth.is_none()
    }

    /// Starts a line at so many levels.
    fn line(&self, levels: usize, out: &mut Text) -> Result<(), Fault> {
        let indent = &self.options.indent;
        let len = 1 + levels * indent.len();
        if out.bytes.len().saturating_add(len) > MOST_PRETTY {
            return Err(Fault::at(FAULT_TOO_LARGE, 0));
        }
        out.room(len)?;
        out.put(b'\n');
        for _ in 0..levels {
            out.extend(indent);
        }
        out.scalar_room()
    }

    fn colon(&self, out: &mut Text) -> Result<(), Fault> {
        out.room(2)?;
        out.put(b':');
        if self.is_pretty() {
            out.put(b' ');
        }
        Ok(())
    }

    #[inline(always)]
    fn scalar(
        &self,
        input: &[u8],
        token: Token,
        is_key: bool,
        out: &mut Text,
    ) -> Result<(), Fault> {
        match token {
            Token::Str(range) => return self.string(&input[range], out),
            Token::Int(int) => out.int(int),
            Token::Uint(int) => out.int(int),
            Token::Float64(number) => return self.float(number, out),
            Token::Float32(number) => return self.float(f64::from(number), out),
            Token::Nil => out.extend(b"null"),
            Token::Bool(is_true) => out.extend(if is_true { b"true" } else { b"false" }),
            Token::Bin(range) => {
                let level = (self.is_pretty() && !is_key).then_some(self.stack.len());
                return self.binary(&input[range], level, out);
            }
            Token::Ext(ext_type, range) => return self.ext(ext_type, &input[range], is_key, out),
            // Containers are no scalars.
            Token::Array(_) | Token::Map(_) => {}
        }
        Ok(())
    }

    fn float(&self, number: f64, out: &mut Text) -> Result<(), Fault> {
        if number.is_finite() {
            out.float(number);
        } else if self.options.throws_non_finite {
            return Err(Fault::at(FAULT_JSON, 0));
        } else {
            out.extend(b"null");
        }
        Ok(())
    }

    #[inline(always)]
    fn string(&self, text: &[u8], out: &mut Text) -> Result<(), Fault> {
        if text.is_ascii() || simdutf8::basic::from_utf8(text).is_ok() {
            return out.string(text);
        }
        if self.options.fatal_utf8 {
            return Err(Fault::at(FAULT_INVALID_UTF8, 0));
        }
        out.string(encoding_rs::UTF_8.decode_without_bom_handling(text).0.as_bytes())
    }

    fn ext(&self, ext_type: i8, data: &[u8], is_key: bool, out: &mut Text) -> Result<(), Fault> {
        let kind = self.options.kinds[usize::from(ext_type as u8)];
        if ext_type == TIMESTAMP && kind != KIND_OWN {
            let (seconds, nanoseconds) =
                timestamp(data).ok_or_else(|| Fault::at(FAULT_TIMESTAMP, 0))?;
            out.timestamp(seconds, nanoseconds);
            return Ok(());
        }
        let is_pretty = self.is_pretty() && !is_key;
        let line = |levels: usize, out: &mut Text| {
            if is_pretty { self.line(levels, out) } else { Ok(()) }
        };
        let level = self.stack.len();
        let space: &[u8] = if is_pretty { b" " } else { b"" };
        out.put(b'{');
        line(level + 1, out)?;
        out.extend(b"\"$ext\":");
        out.extend(space);
        out.int(ext_type);
        out.put(b',');
        line(level + 1, out)?;
        out.extend(b"\"data\":");
        out.extend(space);
        self.binary(data, is_pretty.then_some(level + 1), out)?;
        line(level, out)?;
        out.put(b'}');
        Ok(())
    }

    /// The bytes of a bin or an ext; an array of them that stands at a level has lines.
    fn binary(&self, data: &[u8], level: Option<usize>, out: &mut Text) -> Result<(), Fault> {
        let (Some(level), Binary::Array, false) = (level, self.options.binary, data.is_empty())
        else {
            return out.binary(data, self.options.binary);
        };
        out.put(b'[');
        for (index, &byte) in data.iter().enumerate() {
            if index > 0 {
                out.put(b',');
            }
            self.line(level + 1, out)?;
            out.int(byte);
        }
        self.line(level, out)?;
        out.put(b']');
        Ok(())
    }
}
