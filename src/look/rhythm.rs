//! Guessing lengths. Where a value ends is known when its first byte is there, and where that byte is
//! when the value before it ends: one waits for the other. In a row of alike objects each value is as
//! long as its counterpart in the object before. Taken for granted, and compared when the byte is
//! there, that length lets the processor read the values behind it meanwhile.

use super::skip::{HEADS, Head, short_value};
use crate::wire;

/// The most values of an object with all that is in it.
const MAX_PERIOD: usize = 64;
/// Before the end of the input by so much, nothing is guessed: the most bytes that a first byte says.
const MAX_LEN: usize = 32;
/// Right guesses that pay for a wrong one, how many of them are saved up, and for how many bytes
/// there is no guess where guesses do not pay (`bench/streams.mjs`, chunks).
const PRICE: i32 = 6;
const MAX_SAVED: i32 = 64;
const PAUSE: usize = 1 << 14;

pub struct Rhythm {
    /// The lengths of the values of the last object, from its map on. The same twice: the compiler must
    /// not see that what is compared is what is taken for granted.
    expected: [u8; MAX_PERIOD],
    granted: [u8; MAX_PERIOD],
    /// The first byte of such an object, how many values it has, and how many of them there were.
    map: u8,
    period: usize,
    phase: usize,
    saved: i32,
    pause: usize,
}

impl Default for Rhythm {
    fn default() -> Self {
        Rhythm {
            expected: [0; MAX_PERIOD],
            granted: [0; MAX_PERIOD],
            map: 0,
            period: 0,
            phase: 0,
            saved: MAX_SAVED,
            pause: 0,
        }
    }
}

impl Rhythm {
    /// Goes past values whose first byte or two say all, that are there whole, and that with what is
    /// owed behind them end at `limit` at the latest; not farther than guesses are worth it. Where that
    /// is, and how many values are owed there.
    pub fn go_past(
        &mut self,
        input: &[u8],
        mut pos: usize,
        mut owed: u64,
        limit: usize,
    ) -> (usize, u64) {
        while self.pause == 0 && owed > 0 {
            (pos, owed) = self.guess(input, pos, owed, limit);
            if owed == 0 {
                break;
            }
            let Some(&byte) = input.get(pos) else { break };
            let Some((len, inside)) = short_value(input, pos, byte) else { break };
            let more = owed - 1 + inside;
            if more > limit.saturating_sub(pos + len) as u64 {
                break;
            }
            if byte != wire::STR8 {
                self.learn(byte, len as u8);
            }
            (pos, owed) = (pos + len, more);
        }
        (pos, owed)
    }

    /// A value that was not there whole, by its first byte.
    pub fn cut(&mut self, byte: u8) {
        let Head { len, .. } = HEADS[usize::from(byte)];
        if self.pause == 0 && len > 0 {
            self.learn(byte, len);
        }
    }

    /// Bytes that were passed in a pause.
    pub fn rest(&mut self, bytes: usize) {
        self.pause = self.pause.saturating_sub(bytes);
    }

    /// Goes on for as long as the guesses are right.
    #[inline(never)]
    fn guess(&mut self, input: &[u8], start: usize, owed: u64, limit: usize) -> (usize, u64) {
        let end = input.len().saturating_sub(MAX_LEN);
        if self.period == 0 || start >= end {
            return (start, owed);
        }
        let (mut pos, mut left, mut phase, mut hits) = (start, owed, self.phase, 0);
        let (expected, granted) = (&self.expected[..self.period], &self.granted[..self.period]);
        loop {
            if phase == expected.len() {
                // A branch of its own: what is taken for granted must not depend on what is read.
                if input[pos] != self.map {
                    break;
                }
                phase = 0;
            }
            // No value takes more than one away from what is owed.
            let most = expected.len().min(phase + left.min(MAX_PERIOD as u64) as usize);
            let from = phase;
            while phase < most && pos < end {
                let Head { len, inside } = HEADS[usize::from(input[pos])];
                if expected[phase] != len {
                    break;
                }
                pos += usize::from(granted[phase]);
                left = left + u64::from(inside) - 1;
                phase += 1;
            }
            hits += (phase - from) as i32;
            if phase != expected.len() || pos >= end || left == 0 {
                break;
            }
        }
        // Room only gets less from value to value: if there is any now there always was.
        if left > limit.saturating_sub(pos) as u64 {
            self.stop();
            return (start, owed);
        }
        self.phase = phase;
        let price = if pos < end && left > 0 { PRICE } else { 0 };
        self.saved = MAX_SAVED.min(self.saved + hits - price);
        if self.saved < 0 {
            self.stop();
        }
        (pos, left)
    }

    /// No guesses for a while; then what is known is learned anew.
    fn stop(&mut self) {
        *self = Rhythm { pause: PAUSE, ..Rhythm::default() };
    }

    /// A value that was not guessed.
    #[inline(always)]
    fn learn(&mut self, byte: u8, len: u8) {
        let is_map = (wire::FIXMAP..wire::FIXARRAY).contains(&byte);
        if is_map && byte == self.map {
            self.period = self.phase;
            self.phase = 0;
        } else if self.phase == MAX_PERIOD || self.map == 0 {
            (self.map, self.period) = (if is_map { byte } else { 0 }, 0);
            self.phase = 0;
        }
        self.expected[self.phase] = len;
        self.granted[self.phase] = len;
        self.phase += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_objects_are_guessed_wherever_they_are_cut() {
        let objects: Vec<u8> = (0..400u16)
            .flat_map(|i| [0x82, 0xa1, b'a', 0xcd, (i >> 8) as u8, i as u8, 0xa2, b'b', b'c', 0xc3])
            .collect();
        for step in 1..300 {
            let (mut rhythm, mut pos, mut owed) = (Rhythm::default(), 0, 400);
            for end in (step..objects.len()).step_by(step) {
                if pos >= end {
                    continue;
                }
                (pos, owed) = rhythm.go_past(&objects[..end], pos, owed, objects.len());
                assert!(end - pos < 3, "stopped at {pos} of {end} in steps of {step}");
                // What a scanner does with the value that is cut.
                let Some(&byte) = objects[..end].get(pos) else { continue };
                let Head { len, inside } = HEADS[usize::from(byte)];
                rhythm.cut(byte);
                (pos, owed) = (pos + usize::from(len), owed - 1 + u64::from(inside));
            }
            let expected = if step < 10 { rhythm.period.min(5) } else { 5 };
            assert_eq!((rhythm.period, rhythm.pause), (expected, 0), "in steps of {step}");
            assert_eq!(owed, plain(&objects[..pos], 400));
        }
    }

    /// What is owed behind `input`, a value at a time.
    fn plain(input: &[u8], mut owed: u64) -> u64 {
        let mut pos = 0;
        while pos < input.len() {
            let Head { len, inside } = HEADS[usize::from(input[pos])];
            (pos, owed) = (pos + usize::from(len), owed - 1 + u64::from(inside));
        }
        owed
    }
}
