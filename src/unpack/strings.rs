//! Short strings seen before, by their bytes: JavaScript holds each under its id, so that one that
//! comes again costs no new string, and as a key of a dictionary not the engine's own search for it
//! either. Bounded; where it is full a new string takes an old one's place.
//!
//! A key of a dictionary is remembered at once, a value when it comes the second time. While few
//! values come again, they are not even looked up.

/// Ids at first; JavaScript holds a string of up to [`MAX_BYTES`] for each.
const MIN_SLOTS: usize = 1 << 8;
/// Ids at most. A key that is known saves so much that a search outside the second-level cache is
/// worth it, a value does not.
pub const MAX_KEY_SLOTS: usize = 1 << 15;
pub const MAX_VALUE_SLOTS: usize = 1 << 12;
pub const MAX_BYTES: usize = 27;
/// A map with more keys than this would push out all others.
pub const MAX_KEYS: usize = MAX_KEY_SLOTS / 2;
/// Places where a string may be.
const PROBES: usize = 8;
/// A lookup reads up to so many bytes behind the string.
pub const PADDING: usize = 8;

/// After so many lookups of values it is decided whether to go on with them: not if fewer than one
/// in `WORTHWHILE` was known, until `MIN_REST` more have passed, and twice as many each time that
/// it turns out so again (`bench/` workload `strings`).
const WINDOW: u32 = 1 << 11;
const WORTHWHILE: u32 = 2;
const MIN_REST: u32 = 1 << 13;
const MAX_REST: u32 = 1 << 20;

/// Hashes of values that came once.
const SEEN: usize = 1 << 13;

/// Names of properties that objects inherit.
const INHERITED: [&[u8]; 12] = [
    b"__defineGetter__",
    b"__defineSetter__",
    b"__lookupGetter__",
    b"__lookupSetter__",
    b"__proto__",
    b"constructor",
    b"hasOwnProperty",
    b"isPrototypeOf",
    b"propertyIsEnumerable",
    b"toLocaleString",
    b"toString",
    b"valueOf",
];

#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    bytes: [u8; MAX_BYTES],
    /// 0 where there is no string.
    len: u8,
    hash: u32,
}

// A comparison reads whole words, the last of them up to here.
const _: () = assert!(size_of::<Slot>() == 32 && MAX_BYTES <= 24 + PADDING);

const EMPTY: Slot = Slot { hash: 0, len: 0, bytes: [0; MAX_BYTES] };

pub enum Known {
    /// JavaScript has it.
    Yes(u32),
    /// It has this id from now on.
    New(u32),
    /// A key that objects inherit a property for: the builder must not assign it.
    Inherited,
    /// Not one to remember.
    No,
}

pub struct Strings {
    slots: Vec<Slot>,
    max_slots: usize,
    /// Strings that found a place since the last growth, others' included.
    crowding: usize,
    /// Ids given out by the message being parsed.
    fresh: Vec<u32>,
    seen: Vec<u32>,
    lookups: u32,
    hits: u32,
    resting: u32,
    rest: u32,
    seed: u32,
}

impl Strings {
    pub fn new(max_slots: usize) -> Self {
        Strings {
            slots: Vec::new(),
            max_slots,
            crowding: 0,
            fresh: Vec::new(),
            seen: Vec::new(),
            lookups: 0,
            hits: 0,
            resting: 0,
            rest: MIN_REST,
            seed: random_seed(),
        }
    }

    /// Looks a dictionary's key up, and gives it an id if `remember` and it has none.
    pub fn key(&mut self, key: &[u8], remember: bool) -> Known {
        if remember && (1..=MAX_BYTES).contains(&key.len()) {
            let mut padded = [0; MAX_BYTES + PADDING];
            padded[..key.len()].copy_from_slice(key);
            let hash = hash_of(self.seed, key);
            // SAFETY: the copy has its padding.
            let (id, free) = unsafe { self.find(padded.as_ptr(), key.len(), hash) };
            if let Some(id) = id {
                return Known::Yes(id);
            }
            if !INHERITED.contains(&key) && std::str::from_utf8(key).is_ok() {
                return Known::New(self.insert(key, hash, free));
            }
        }
        if INHERITED.contains(&key) { Known::Inherited } else { Known::No }
    }

    /// Looks a value up; gives it an id if it is ASCII and came before.
    ///
    /// # Safety
    /// `len` is 1 to [`MAX_BYTES`], and `from` readable for `len + PADDING` bytes.
    #[inline(always)]
    pub unsafe fn value(&mut self, from: *const u8, len: usize) -> Known {
        if self.resting > 0 {
            self.resting -= 1;
            return Known::No;
        }
        self.lookups = self.lookups.wrapping_add(1);
        // SAFETY: the caller's promise.
        let value = unsafe { std::slice::from_raw_parts(from, len) };
        let hash = hash_of(self.seed, value);
        // SAFETY: the caller's promise.
        let (id, free) = unsafe { self.find(from, len, hash) };
        if let Some(id) = id {
            self.hits = self.hits.wrapping_add(1);
            return Known::Yes(id);
        }
        self.new_value(value, hash, free)
    }

    #[inline(never)]
    fn new_value(&mut self, value: &[u8], hash: u32, free: Option<usize>) -> Known {
        if self.lookups >= WINDOW {
            if self.hits < self.lookups / WORTHWHILE {
                self.resting = self.rest;
                self.rest = (2 * self.rest).min(MAX_REST);
            } else {
                self.rest = MIN_REST;
            }
            (self.lookups, self.hits) = (0, 0);
        }
        if self.seen.is_empty() {
            self.seen.resize(SEEN, 0);
        }
        let seen = &mut self.seen[hash as usize & (SEEN - 1)];
        if *seen != hash {
            *seen = hash;
            return Known::No;
        }
        // A full table changes only while it serves.
        let serves = free.is_some() || self.hits > self.lookups / WORTHWHILE;
        if !serves || !value.is_ascii() {
            return Known::No;
        }
        Known::New(self.insert(value, hash, free))
    }

    /// The id of a string, or else where it could go.
    ///
    /// # Safety
    /// `from` is readable for `len + PADDING` bytes, `len` at most [`MAX_BYTES`] and not 0.
    #[inline(always)]
    unsafe fn find(&self, from: *const u8, len: usize, hash: u32) -> (Option<u32>, Option<usize>) {
        let mask = self.slots.len() - 1;
        for probe in 0..PROBES {
            let id = (hash as usize + probe) & mask;
            // SAFETY: the mask keeps `id` inside the slots, of which there are a power of two.
            let slot = unsafe { self.slots.get_unchecked(id) };
            if slot.hash == hash && usize::from(slot.len) == len {
                // SAFETY: the caller's padding, and the slot's own (see above).
                if unsafe { same_bytes(from, (&raw const *slot).cast(), len) } {
                    return (Some(id as u32), None);
                }
            }
            if slot.len == 0 {
                return (None, Some(id));
            }
        }
        (None, None)
    }

    fn insert(&mut self, string: &[u8], hash: u32, free: Option<usize>) -> u32 {
        let mask = self.slots.len() - 1;
        // Half full, or half of it lost to others: it is too small.
        self.crowding += 1;
        let id = free.unwrap_or_else(|| (hash as usize + (hash >> 16) as usize % PROBES) & mask);
        let mut slot = Slot { hash, len: string.len() as u8, ..EMPTY };
        slot.bytes[..string.len()].copy_from_slice(string);
        self.slots[id] = slot;
        self.fresh.push(id as u32);
        id as u32
    }

    /// Begins a message; the ids of the last one have reached JavaScript.
    pub fn start(&mut self) {
        self.fresh.clear();
        let slots = self.slots.len();
        if slots < self.max_slots && (slots == 0 || self.crowding > slots / 2) {
            self.crowding = 0;
            self.slots.clear();
            self.slots.resize((2 * slots).max(MIN_SLOTS), EMPTY);
        }
    }

    /// A place among the ids of this message, for `forget_since`.
    pub fn mark(&self) -> usize {
        self.fresh.len()
    }

    /// Takes back the ids given out since `mark`.
    pub fn forget_since(&mut self, mark: usize) {
        for id in self.fresh.drain(mark..) {
            self.slots[id as usize] = EMPTY;
        }
    }

    /// Takes back the ids of a message that will not reach JavaScript.
    pub fn forget_fresh(&mut self) {
        for id in self.fresh.drain(..) {
            self.slots[id as usize] = EMPTY;
        }
    }
}

/// Compares `len` bytes, 1 at least, a word at a time.
///
/// # Safety
/// Both pointers are readable for `len` bytes rounded up to whole words.
#[inline(always)]
pub unsafe fn same_bytes(a: *const u8, b: *const u8, len: usize) -> bool {
    let word = |from: *const u8, at: usize| {
        // SAFETY: the caller's promise; `at < len`.
        unsafe { from.add(at).cast::<u64>().read_unaligned() }
    };
    let mut at = 0;
    while at + 8 < len {
        if word(a, at) != word(b, at) {
            return false;
        }
        at += 8;
    }
    // 1 to 8 bytes are left; the shift drops those behind them.
    let behind = 8 * (8 - (len - at)) as u32;
    (u64::from_le(word(a, at)) ^ u64::from_le(word(b, at))) << behind == 0
}

/// A number that nobody outside knows, so that nobody can choose strings whose hashes are the same.
pub fn random_seed() -> u32 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() as u32
}

/// A hash of `bytes` in the context of `seed`, a word at a time.
#[inline(always)]
pub fn hash_of(seed: u32, bytes: &[u8]) -> u32 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = (hash ^ word).wrapping_mul(MULTIPLIER);
        product ^ product >> 32
    };
    let len = bytes.len();
    let mut hash = (u64::from(seed) << 32) ^ len as u64;
    if len >= 8 {
        for chunk in bytes.chunks_exact(8) {
            hash = mix(hash, u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        }
        let last = &bytes[len - 8..];
        hash = mix(hash, u64::from_le_bytes(last.try_into().unwrap_or_default()));
    } else if len >= 4 {
        let word = |at: usize| {
            u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default()))
        };
        hash = mix(hash, word(0) | word(len - 4) << 32);
    } else if len > 0 {
        let byte = |at: usize| u64::from(bytes[at]);
        hash = mix(hash, byte(0) | byte(len / 2) << 8 | byte(len - 1) << 16);
    }
    hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_once() {
        let mut keys = Strings::new(MAX_KEY_SLOTS);
        keys.start();
        for i in 0..500 {
            let key = format!("key {i}");
            assert!(matches!(keys.key(key.as_bytes(), true), Known::New(_)));
            assert!(matches!(keys.key(key.as_bytes(), true), Known::Yes(_)));
        }
        assert!(matches!(keys.key(b"__proto__", true), Known::Inherited));
        assert!(matches!(keys.key(b"toString", false), Known::Inherited));
        assert!(matches!(keys.key(b"key 1", false), Known::No));
        assert!(matches!(keys.key(b"", true), Known::No));
        assert!(matches!(keys.key(&[b'x'; 28], true), Known::No));
        assert!(matches!(keys.key(&[0xff, 0xfe], true), Known::No));
    }

    #[test]
    fn what_never_reached_javascript_is_new_again() {
        let mut keys = Strings::new(MAX_KEY_SLOTS);
        keys.start();
        keys.key(b"before", true);
        keys.start();
        keys.key(b"a", true);
        keys.forget_fresh();
        assert!(matches!(keys.key(b"before", true), Known::Yes(_)));
        assert!(matches!(keys.key(b"a", true), Known::New(_)));
    }

    #[test]
    fn two_keys_never_share_an_id_and_memory_is_bounded() {
        let mut keys = Strings::new(MAX_KEY_SLOTS);
        let mut held = vec![String::new(); MAX_KEY_SLOTS];
        for i in 0..400_000u32 {
            if i % 5000 == 0 {
                keys.start();
            }
            let key = format!("{}", i.wrapping_mul(2_654_435_761) % 90_000);
            match keys.key(key.as_bytes(), true) {
                Known::Yes(id) => assert_eq!(held[id as usize], key),
                Known::New(id) => held[id as usize] = key,
                Known::Inherited | Known::No => unreachable!(),
            }
        }
        assert_eq!(keys.slots.len(), MAX_KEY_SLOTS);
    }

    #[test]
    fn a_value_is_new_the_second_time() {
        let mut strings = Strings::new(MAX_KEY_SLOTS);
        strings.start();
        let padded = |value: &str| [value.as_bytes(), &[0xff; PADDING]].concat();
        let mut find = |value: &str| {
            let bytes = padded(value);
            // SAFETY: padded.
            unsafe { strings.value(bytes.as_ptr(), value.len()) }
        };
        for value in ["a", "eight by", "twenty-seven bytes, no more"] {
            assert!(matches!(find(value), Known::No));
            assert!(matches!(find(value), Known::New(_)));
            assert!(matches!(find(value), Known::Yes(_)));
        }
        for _ in 0..3 {
            assert!(matches!(find("h\u{e9}llo"), Known::No));
        }
    }

    #[test]
    fn values_that_never_come_again_are_soon_left_alone() {
        let mut strings = Strings::new(MAX_KEY_SLOTS);
        strings.start();
        for i in 0..2 * WINDOW {
            let bytes = [format!("{i}").as_bytes(), &[0; PADDING]].concat();
            // SAFETY: padded.
            unsafe { strings.value(bytes.as_ptr(), bytes.len() - PADDING) };
        }
        assert!(strings.resting > 0);
    }
}
