//! All parts of a message parsed before JavaScript asks for the first: on another thread. What is
//! kept of a part is what `parse` leaves behind in the tape, and its texts.

use std::collections::VecDeque;

use super::parse::{Parser, Stop};
use super::request::{self, Request};
use super::text::TextSink;
use crate::memory;
use crate::tape::*;

pub struct Part {
    /// The tape as far as it was used.
    pub words: Vec<i32>,
    pub texts: Vec<Text>,
}

pub enum Text {
    Latin1(Vec<u8>),
    Utf16(Vec<u16>),
}

/// Keeps the texts, in the order of their numbers.
#[derive(Default)]
struct Texts(Vec<Text>);

impl TextSink for Texts {
    fn take_number(&mut self) -> u32 {
        self.0.push(Text::Latin1(Vec::new()));
        self.0.len() as u32 - 1
    }

    fn latin1(&mut self, number: u32, text: &[u8]) -> Result<(), Fault> {
        self.0[number as usize] = Text::Latin1(memory::copy(text));
        Ok(())
    }

    fn utf16(&mut self, number: u32, text: &[u16]) -> Result<(), Fault> {
        self.0[number as usize] = Text::Utf16(memory::copy(text));
        Ok(())
    }
}

/// Where a tape starts that has to grow.
const FIRST_WORDS: usize = 16 << 10;

/// Parses by the header of a tape, and then the rest of what came in parts.
pub fn parse_all(parser: &mut Parser, input: &[u8], header: &[i32]) -> VecDeque<Part> {
    let mut parts = VecDeque::new();
    let mut tape = vec![0; FIRST_WORDS];
    tape[..header.len()].copy_from_slice(header);
    let generation = parser.trie.generation;
    loop {
        let mut texts = Texts::default();
        let outcome = Request::of(&tape).run(parser, input, &mut tape, &mut texts);
        if let Err(Stop::Grow(words)) = outcome {
            memory::resize(&mut tape, words);
            continue;
        }
        request::answer(&mut tape, outcome);
        let status = tape[STATUS as usize];
        let is_whole = matches!(status, STATUS_OK | STATUS_MORE);
        let used = if is_whole { tape[USED as usize] } else { HEADER_WORDS };
        parts.push_back(Part { words: memory::copy(&tape[..used as usize]), texts: texts.0 });
        // Ids of shapes start anew with the next part: it is parsed when this one is built.
        if status != STATUS_MORE || parser.trie.full || parser.trie.generation != generation {
            return parts;
        }
        tape[MODE as usize] = rest_of(tape[MODE as usize]);
    }
}

/// The mode in which the next part is asked for.
fn rest_of(mode: i32) -> i32 {
    match mode {
        MODE_ONE => MODE_REST_OF_ONE,
        MODE_FROM => MODE_REST_OF_FROM,
        mode => mode,
    }
}
