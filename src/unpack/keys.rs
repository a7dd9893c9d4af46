//! Keys of dictionaries seen before, by their bytes: JavaScript holds the string of each under its
//! id, so that a key that comes again costs neither a new string nor the engine's own search for
//! it. Bounded; where it is full a new key takes an old one's place.

/// Ids at first, and at most; JavaScript holds a string of up to [`MAX_BYTES`] for each.
const MIN_SLOTS: usize = 1 << 11;
const MAX_SLOTS: usize = 1 << 15;
const MAX_BYTES: usize = 27;
/// A map with more keys than this would push out all others.
pub const MAX_KEYS: usize = MAX_SLOTS / 2;
/// Places where a key may be.
const PROBES: usize = 8;

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
struct Slot {
    hash: u32,
    /// 0 where there is no key.
    len: u8,
    bytes: [u8; MAX_BYTES],
}

const EMPTY: Slot = Slot { hash: 0, len: 0, bytes: [0; MAX_BYTES] };

pub enum Key {
    /// JavaScript has it.
    Known(u32),
    /// It has this id from now on.
    New(u32),
    /// Objects inherit a property of this name: the builder must not assign it.
    Inherited,
    /// Not one to remember.
    Other,
}

#[derive(Default)]
pub struct Keys {
    slots: Vec<Slot>,
    /// Keys that lost their place to others since the last growth.
    pushed_out: usize,
    /// Ids given out by the message being parsed.
    fresh: Vec<u32>,
}

impl Keys {
    /// Looks `key` up, and gives it an id if `remember` and it has none.
    pub fn find(&mut self, key: &[u8], remember: bool) -> Key {
        let len = key.len();
        if !remember || len == 0 || len > MAX_BYTES || self.slots.is_empty() {
            return if INHERITED.contains(&key) { Key::Inherited } else { Key::Other };
        }
        let mask = self.slots.len() - 1;
        let hash = hash_of(0, key);
        let mut free = None;
        for probe in 0..PROBES {
            let id = (hash as usize + probe) & mask;
            let slot = &self.slots[id];
            if slot.hash == hash && &slot.bytes[..usize::from(slot.len)] == key {
                return Key::Known(id as u32);
            }
            if slot.len == 0 {
                free = Some(id);
                break;
            }
        }
        if INHERITED.contains(&key) {
            return Key::Inherited;
        }
        if std::str::from_utf8(key).is_err() {
            return Key::Other;
        }
        let id = free.unwrap_or_else(|| {
            self.pushed_out += 1;
            (hash as usize + (hash >> 16) as usize % PROBES) & mask
        });
        let mut slot = Slot { hash, len: len as u8, ..EMPTY };
        slot.bytes[..len].copy_from_slice(key);
        self.slots[id] = slot;
        self.fresh.push(id as u32);
        Key::New(id as u32)
    }

    /// Begins a message; the ids of the last one have reached JavaScript.
    pub fn start(&mut self) {
        self.fresh.clear();
        let slots = self.slots.len();
        if slots < MAX_SLOTS && (slots == 0 || self.pushed_out > slots / 2) {
            self.pushed_out = 0;
            self.slots.clear();
            self.slots.resize((2 * slots).max(MIN_SLOTS), EMPTY);
        }
    }

    /// Takes back the ids of a message that will not reach JavaScript.
    pub fn forget_fresh(&mut self) {
        for id in self.fresh.drain(..) {
            self.slots[id as usize] = EMPTY;
        }
    }
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
        let mut keys = Keys::default();
        keys.start();
        for i in 0..500 {
            let key = format!("key {i}");
            assert!(matches!(keys.find(key.as_bytes(), true), Key::New(_)));
            assert!(matches!(keys.find(key.as_bytes(), true), Key::Known(_)));
        }
        assert!(matches!(keys.find(b"__proto__", true), Key::Inherited));
        assert!(matches!(keys.find(b"toString", false), Key::Inherited));
        assert!(matches!(keys.find(b"key 1", false), Key::Other));
        assert!(matches!(keys.find(b"", true), Key::Other));
        assert!(matches!(keys.find(&[b'x'; 28], true), Key::Other));
        assert!(matches!(keys.find(&[0xff, 0xfe], true), Key::Other));
    }

    #[test]
    fn what_never_reached_javascript_is_new_again() {
        let mut keys = Keys::default();
        keys.start();
        keys.find(b"before", true);
        keys.start();
        keys.find(b"a", true);
        keys.forget_fresh();
        assert!(matches!(keys.find(b"before", true), Key::Known(_)));
        assert!(matches!(keys.find(b"a", true), Key::New(_)));
    }

    #[test]
    fn two_keys_never_share_an_id_and_memory_is_bounded() {
        let mut keys = Keys::default();
        let mut held = vec![String::new(); MAX_SLOTS];
        for i in 0..400_000u32 {
            if i % 5000 == 0 {
                keys.start();
            }
            let key = format!("{}", i.wrapping_mul(2_654_435_761) % 90_000);
            match keys.find(key.as_bytes(), true) {
                Key::Known(id) => assert_eq!(held[id as usize], key),
                Key::New(id) => held[id as usize] = key,
                Key::Inherited | Key::Other => unreachable!(),
            }
        }
        assert_eq!(keys.slots.len(), MAX_SLOTS);
    }
}
