//! What the header of a tape asks of the parser, and what it says when the parser is done.

use super::parse::{End, Options, Parser, Stop};
use super::text::TextSink;
use crate::tape::*;

pub struct Request {
    options: Options,
    pub start: usize,
    left: usize,
}

impl Request {
    #[inline(always)]
    pub fn of(words: &[i32]) -> Request {
        let mode = words[MODE as usize];
        let max_depth = words[MAX_DEPTH as usize] as usize;
        let options = Options::from_bits(words[OPTIONS as usize], max_depth, mode);
        let (start, left) = if mode == MODE_ONE {
            (0, 0)
        } else {
            (header_f64(words, OFFSET_F64) as usize, header_f64(words, LENGTH_F64) as usize)
        };
        Request { options, start, left }
    }

    /// Whether the next part of a message is asked for.
    #[inline(always)]
    pub fn is_rest(&self) -> bool {
        matches!(self.options.mode, MODE_REST_OF_ONE | MODE_REST_OF_FROM)
    }

    #[inline(always)]
    pub fn run<S: TextSink>(
        &self,
        parser: &mut Parser,
        input: &[u8],
        words: &mut [i32],
        sink: &mut S,
    ) -> Result<End, Stop> {
        let start = self.start.min(input.len());
        let outcome = parser.parse(input, start, self.left, words, self.options, sink);
        words[GENERATION as usize] = parser.trie.generation;
        outcome
    }
}

#[inline(always)]
pub fn answer(words: &mut [i32], outcome: Result<End, Stop>) {
    let (status, length) = match outcome {
        Ok(end) => {
            words[STOPPED as usize] = end.stopped.map_or(0, |fault| fault.code);
            set_header_f64(words, OFFSET_F64, end.pos as f64);
            let status = if end.left == 0 { STATUS_OK } else { STATUS_MORE };
            (status, end.stopped.map_or(end.left, |fault| fault.offset))
        }
        Err(Stop::Grow(size)) => (STATUS_GROW, size),
        Err(Stop::Fault(fault)) => (fault.code, fault.offset),
    };
    words[STATUS as usize] = status;
    set_header_f64(words, LENGTH_F64, length as f64);
}
