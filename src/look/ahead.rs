//! Skipping in several places at once. Where a value starts is known when the one before it is
//! read, so going from value to value is waiting for memory. But a walk that starts anywhere soon
//! meets the right one: then both stand at the same place, and go on alike. So a few walks start
//! ahead, on guesses, and take turns; when the right walk meets one of them it goes on where that
//! one has got to. What is guessed wrong costs time and changes nothing.

use super::skip::{HEADS, Head, Kinds, long_value};
use crate::tape::Fault;
use crate::token::truncated;
use crate::wire;

/// Walks at a time.
const LANES: usize = 4;
/// Bytes that a walk goes: a part of what has been skipped, so that not much is in vain where that
/// ends, and of what may be left.
const MIN_SEGMENT: usize = 1 << 12;
const MAX_SEGMENT: usize = 1 << 15;
const PART: usize = 8;
/// No guesses before so much has been skipped, nor with less to come.
const MIN_SKIPPED: usize = 1 << 12;
/// Nor where values have more bytes than this, on average: one by one they take no time, and a guess
/// within a long one leads nowhere.
const MAX_EACH: usize = 48;
/// Walks that may be through before the right one has met them.
const MAX_DONE: usize = 16;
/// The bytes of a segment in which a guess should meet the right walk. One that fails there is
/// followed by another, one byte on, and so often at most.
const TRIAL: usize = 64;
/// Values that two walks take until they have met, or never will.
const MAX_STEPS: usize = 512;

/// Where to try it next, and where skipping began.
pub struct Ahead {
    start: usize,
    pub from: usize,
    wait: usize,
    /// Where the last attempt ended.
    since: usize,
    /// The most values that were owed.
    most: u64,
}

/// A walk through a segment.
#[derive(Clone, Copy, Default)]
struct Lane {
    pos: usize,
    /// Where the segment ends.
    end: usize,
    start: usize,
    /// How many more values are owed than at the start, and the fewest from `mark` on.
    owed: i64,
    low: i64,
    mark: usize,
    /// Which segment it is; `NONE` for a walk that only keeps the others company.
    number: usize,
    is_lost: bool,
}

const NONE: usize = usize::MAX;

/// The right walk: how far it has got, and what is owed there.
#[derive(Clone, Copy)]
struct Walk {
    pos: usize,
    owed: u64,
}

impl Ahead {
    pub fn new(start: usize) -> Ahead {
        Ahead { start, from: start + MIN_SKIPPED, wait: MIN_SEGMENT, since: start, most: 0 }
    }

    /// No attempt before `pos`.
    pub fn not_before(&mut self, pos: usize) {
        self.from = self.from.max(pos);
    }

    /// Goes on as far as guesses lead: where that is, and how many values are owed there. That is in
    /// front of anything that needs a closer look: the end of what is owed, a fault, a wrong guess.
    /// `steps` is how many values there were since the last time; what is owed ends at `limit` at the
    /// latest.
    #[inline(never)]
    pub fn skip(
        &mut self,
        input: &[u8],
        pos: usize,
        owed: u64,
        steps: usize,
        kinds: &Kinds,
        limit: usize,
    ) -> (usize, u64) {
        let passed = pos - std::mem::replace(&mut self.since, pos);
        if passed > steps * MAX_EACH {
            self.from = pos + MIN_SKIPPED;
            return (pos, owed);
        }
        let mut right = Walk { pos, owed };
        let mut next_start = pos;
        // Segments that have begun, and those that the right walk has met.
        let (mut begun, mut met) = (0, 0);
        let mut done = [Lane { number: NONE, ..Lane::default() }; MAX_DONE];
        let mut lanes = [Lane { number: NONE, ..Lane::default() }; LANES];
        self.most = self.most.max(owed);
        self.from = loop {
            let end = self.guess_end(&right, input.len());
            let mut are_idle = true;
            for lane in &mut lanes {
                if lane.pos < lane.end {
                    are_idle &= lane.number == NONE;
                    continue;
                }
                let left = end.saturating_sub(next_start);
                let size = ((next_start - self.start) / PART).min(left / LANES);
                let size = size.clamp(MIN_SEGMENT, MAX_SEGMENT);
                if left > size && begun < met + MAX_DONE {
                    *lane = Lane::new(input, next_start, size, begun, kinds);
                    next_start += size;
                    begun += 1;
                    are_idle = false;
                } else if begun > 0 {
                    *lane = Lane::new(input, pos, MIN_SEGMENT, 0, kinds);
                    lane.number = NONE;
                }
            }
            if are_idle {
                break right.pos + MIN_SEGMENT;
            }
            turns(input, &mut lanes, kinds);
            for lane in &lanes {
                if lane.pos >= lane.end && lane.number != NONE {
                    done[lane.number % MAX_DONE] = *lane;
                }
            }
            let mut wrong = None;
            while wrong.is_none() && done[met % MAX_DONE].number == met {
                let lane = &done[met % MAX_DONE];
                if !right.meet(input, lane, kinds, limit) {
                    wrong = Some(lane.end);
                }
                met += 1;
            }
            if let Some(end) = wrong {
                // Step by step through its segment. Guesses that led nowhere are paid for.
                self.wait = if right.pos - pos > self.wait { MIN_SEGMENT } else { 2 * self.wait };
                break end.max(right.pos + self.wait);
            }
        };
        self.since = right.pos;
        (right.pos, right.owed)
    }

    /// Where what is owed may end: what there was tells how long a value is. Never behind `len`.
    fn guess_end(&self, right: &Walk, len: usize) -> usize {
        let passed = self.most.saturating_sub(right.owed).max(1);
        let each = (right.pos - self.start) as f64 / passed as f64;
        let left = each * right.owed as f64;
        len.min(right.pos.saturating_add(left as usize).saturating_add(MIN_SKIPPED))
    }
}

impl Lane {
    /// A walk through the `size` bytes at `start`, to the first value that starts past its trial.
    fn new(input: &[u8], start: usize, size: usize, number: usize, kinds: &Kinds) -> Lane {
        let mut lane = Lane { pos: start, start, end: start + size, number, ..Lane::default() };
        // The first is no guess.
        if number > 0 {
            let first = behind_text(input, start, lane.end - 2 * TRIAL);
            for start in first..first + TRIAL {
                (lane.pos, lane.start, lane.owed, lane.is_lost) = (start, start, 0, false);
                while !lane.is_lost && lane.pos < start + TRIAL {
                    lane.step(input, kinds);
                    // Hardly the length of anything.
                    lane.is_lost |= lane.pos > lane.end;
                }
                if !lane.is_lost {
                    break;
                }
                lane.pos = lane.end;
            }
        }
        (lane.low, lane.mark) = (lane.owed, lane.pos);
        lane
    }

    /// One value.
    fn step(&mut self, input: &[u8], kinds: &Kinds) {
        match step(input, self.pos, kinds) {
            Ok((end, inside)) => {
                self.pos = end;
                self.owed += inside - 1;
                self.low = self.low.min(self.owed);
            }
            Err(_) => {
                self.is_lost = true;
                self.pos = self.end;
            }
        }
    }
}

/// Where text ends that is not ASCII and that `start` is in the middle of: to go through it as if it
/// were values takes long.
fn behind_text(input: &[u8], start: usize, end: usize) -> usize {
    let aligned = (start..start + 3).find(|&pos| {
        let len = character(input, pos);
        len > 0 && character(input, pos + len) > 0
    });
    let mut pos = aligned.unwrap_or(start);
    while pos < end {
        match character(input, pos) {
            0 => break,
            len => pos += len,
        }
    }
    pos
}

/// Bytes of the character at `pos`, if it has two or three.
fn character(input: &[u8], pos: usize) -> usize {
    let is_next = |byte: u8| byte & 0xc0 == 0x80;
    match input.get(pos..) {
        Some(&[0xe0..=0xef, a, b, ..]) if is_next(a) && is_next(b) => 3,
        Some(&[0xc2..=0xdf, a, ..]) if is_next(a) => 2,
        _ => 0,
    }
}

/// Steps by turns, until one of the walks is through or meets a value that takes a closer look.
#[inline(never)]
fn turns(input: &[u8], lanes: &mut [Lane; LANES], kinds: &Kinds) {
    // Only so many variables have registers; a function that is called would take them away.
    let [mut a, mut b, mut c, mut d] = lanes.map(|lane| (lane.pos, lane.owed, lane.low));
    let ends = lanes.map(|lane| lane.end);
    let mut stuck = LANES;
    macro_rules! step {
        ($walk:ident, $lane:expr) => {
            let byte = input[$walk.0];
            let Head { len, inside } = HEADS[usize::from(byte)];
            if len > 0 {
                $walk.0 += usize::from(len);
                $walk.1 += i64::from(inside) - 1;
            } else if let Some((len, inside)) = medium(input, $walk.0, byte) {
                $walk.0 += len;
                $walk.1 += inside - 1;
            } else {
                stuck = $lane;
                break;
            }
            $walk.2 = $walk.2.min($walk.1);
        };
    }
    while a.0 < ends[0] && b.0 < ends[1] && c.0 < ends[2] && d.0 < ends[3] {
        step!(a, 0);
        step!(b, 1);
        step!(c, 2);
        step!(d, 3);
    }
    for (lane, (pos, owed, low)) in lanes.iter_mut().zip([a, b, c, d]) {
        (lane.pos, lane.owed, lane.low) = (pos, owed, low);
    }
    if stuck < LANES {
        // All of them, so that none waits for ever for one that is stuck again and again: a walk that
        // keeps the others company starts anew when it is through.
        for lane in lanes.iter_mut().filter(|lane| lane.pos < lane.end) {
            lane.step(input, kinds);
        }
    }
}

/// Bytes of a value and values inside it, for the common forms with a length of 8 or 16 bits.
#[inline(always)]
fn medium(input: &[u8], pos: usize, byte: u8) -> Option<(usize, i64)> {
    let &[high, low] = input[pos + 1..].first_chunk()?;
    let length = usize::from(u16::from_be_bytes([high, low]));
    match byte {
        wire::STR8 | wire::BIN8 => Some((2 + usize::from(high), 0)),
        wire::STR16 | wire::BIN16 => Some((3 + length, 0)),
        wire::ARRAY16 => Some((3, length as i64)),
        wire::MAP16 => Some((3, 2 * length as i64)),
        _ => None,
    }
}

impl Walk {
    /// Goes on to the end of a walk that has been through a later segment, if the two meet and
    /// nothing on its way needs a closer look.
    fn meet(&mut self, input: &[u8], lane: &Lane, kinds: &Kinds, limit: usize) -> bool {
        if self.pos >= lane.end {
            // A long value reaches past it.
            return true;
        }
        let (mut guess, mut ahead) = (lane.start, 0);
        // Together they go on to where the lane began to note the fewest.
        for _ in 0..MAX_STEPS {
            if guess == self.pos && guess >= lane.mark {
                break;
            }
            let from = guess.min(self.pos);
            let Ok((end, inside)) = step(input, from, kinds) else {
                return false;
            };
            if from == guess {
                guess = end;
                ahead += inside - 1;
            } else if !self.go(input, end, inside - 1, limit) {
                return false;
            }
        }
        let is_right = guess == self.pos
            && (lane.mark..=lane.pos).contains(&guess)
            && !lane.is_lost
            && self.owed as i64 - ahead + lane.low > 0;
        is_right && self.go(input, lane.pos, lane.owed - ahead, limit)
    }

    /// Goes on to `end`, where `more` values are owed than here, if all that is owed has room there.
    fn go(&mut self, input: &[u8], end: usize, more: i64, limit: usize) -> bool {
        let owed = self.owed as i64 + more;
        let has_room =
            end <= input.len() && owed > 0 && owed as u64 <= limit.saturating_sub(end) as u64;
        if has_room {
            (self.pos, self.owed) = (end, owed as u64);
        }
        has_room
    }
}

/// One value: where it ends, within the input, and how many are inside it.
fn step(input: &[u8], pos: usize, kinds: &Kinds) -> Result<(usize, i64), Fault> {
    let Some(&byte) = input.get(pos) else {
        return Err(truncated(pos));
    };
    let (end, inside) = match HEADS[usize::from(byte)] {
        Head { len: 0, .. } => long_value(input, pos, byte, kinds)?,
        head => (pos + usize::from(head.len), u64::from(head.inside)),
    };
    if end > input.len() { Err(truncated(pos)) } else { Ok((end, inside as i64)) }
}
