//! Of each message only the value that a path leads to, as JSON text. Resumable like `to_json`.

use std::borrow::Cow;

use super::json_text::Text;
use super::to_json::{Step, ToJson};
use crate::tape::*;
use crate::token::{Token, token};

struct Frame {
    /// Values still to come; a pair is two.
    left: u64,
    is_map: bool,
    /// How many keys of the path lead here; `None` if it leads elsewhere.
    on_path: Option<usize>,
    /// The element that comes next.
    index: u32,
}

pub struct PathFilter {
    path: Vec<String>,
    pub to_json: ToJson,
    max_depth: usize,
    stack: Vec<Frame>,
    /// How many keys of the path lead to the next value.
    next: Option<usize>,
    is_writing: bool,
    is_tagged: bool,
    pub found: u64,
}

impl PathFilter {
    pub fn new(path: Vec<String>, to_json: ToJson) -> PathFilter {
        PathFilter {
            path,
            max_depth: to_json.options.max_depth,
            to_json,
            stack: Vec::new(),
            next: Some(0),
            is_writing: false,
            is_tagged: false,
            found: 0,
        }
    }

    /// Goes on at the start of `input` and returns how much of it was used.
    pub fn feed(&mut self, input: &[u8], is_last: bool, out: &mut Text) -> Result<usize, Fault> {
        let mut pos = 0;
        while pos < input.len() || is_last && (!self.stack.is_empty() || self.is_tagged) {
            if self.is_writing || !self.is_tagged && self.next == Some(self.path.len()) {
                self.is_writing = true;
                self.to_json.options.max_depth = self.max_depth - self.stack.len();
                match self.to_json.message(input, pos, is_last, out)? {
                    Step::More(at) => return Ok(at),
                    Step::Done(end) => pos = end,
                }
                out.room(1)?;
                out.put(b'\n');
                self.is_writing = false;
                self.found += 1;
                self.end_value();
                continue;
            }
            let (token, end) = match token(input, pos) {
                Err(fault) if fault.code == FAULT_TRUNCATED && !is_last => return Ok(pos),
                other => other?,
            };
            match token {
                Token::Ext(ext_type, data)
                    if self.to_json.options.kinds[usize::from(ext_type as u8)] == KIND_TAG =>
                {
                    // The path does not lead into what is tagged.
                    pos = data.end;
                    self.is_tagged = true;
                    self.next = None;
                    continue;
                }
                Token::Array(n) if n > 0 => self.open(pos, u64::from(n), false)?,
                Token::Map(n) if n > 0 => self.open(pos, 2 * u64::from(n), true)?,
                scalar => {
                    let key = self.stack.last_mut().filter(|f| f.is_map && f.left % 2 == 0);
                    if let Some(f) = key
                        && let Some(keys) = f.on_path
                        && key_text(input, &scalar)
                            .is_some_and(|key| key == self.path[keys].as_bytes())
                    {
                        // The first of equal keys is the one.
                        f.on_path = None;
                        f.left -= 1;
                        self.next = Some(keys + 1);
                    } else {
                        self.end_value();
                    }
                }
            }
            self.is_tagged = false;
            pos = end;
        }
        Ok(pos)
    }

    fn open(&mut self, at: usize, left: u64, is_map: bool) -> Result<(), Fault> {
        if self.stack.len() >= self.max_depth {
            return Err(Fault::at(FAULT_DEPTH, at));
        }
        // A key that is a container is none that a path can name.
        let is_key = self.stack.last().is_some_and(|f| f.is_map && f.left % 2 == 0);
        let on_path = self.next.take().filter(|_| !is_key);
        self.stack.push(Frame { left, is_map, on_path, index: 0 });
        self.expect_element();
        Ok(())
    }

    /// A value is complete, and with it perhaps those around it.
    fn end_value(&mut self) {
        self.next = None;
        loop {
            let Some(f) = self.stack.last_mut() else {
                self.next = Some(0);
                return;
            };
            f.left -= 1;
            if f.left > 0 {
                break;
            }
            self.stack.pop();
        }
        self.expect_element();
    }

    /// Whether the path leads to the next element of an array.
    fn expect_element(&mut self) {
        if let Some(f) = self.stack.last_mut()
            && !f.is_map
        {
            self.next = f.on_path.filter(|&keys| self.path[keys] == f.index.to_string());
            self.next = self.next.map(|keys| keys + 1);
            f.index = f.index.wrapping_add(1);
        }
    }
}

/// The name of the property that a key stands for.
fn key_text<'a>(input: &'a [u8], key: &Token) -> Option<Cow<'a, [u8]>> {
    let mut text = Text::default();
    match key {
        Token::Str(range) => return Some(Cow::Borrowed(&input[range.clone()])),
        Token::Int(int) => text.int(*int),
        Token::Uint(int) => text.int(*int),
        Token::Float32(number) => text.float(f64::from(*number)),
        Token::Float64(number) => text.float(*number),
        _ => return None,
    }
    Some(Cow::Owned(text.bytes))
}
