//! Shapes of the maps that come in: the keys of a map, in order, are a path in a trie, and the node
//! at its end is the shape. Each node remembers the child that was taken last, so that records of
//! one shape cost one comparison a key.
//!
//! The trie is bounded in nodes, in key bytes and in the length of a path; a map that does not fit
//! goes out with its keys as strings. When it is full it starts anew.

use super::strings::{hash_of, random_seed, same_bytes};
use crate::wire;

pub const ROOT: u32 = 0;
/// Maps with more keys are dictionaries, not records.
pub const MAX_KEYS: usize = 128;
/// Longer keys are not worth remembering.
const MAX_KEY_BYTES: usize = 255;
const MAX_NODES: usize = 1 << 13;
const MAX_BYTES: usize = 1 << 18;
/// Slots at first: most codecs see a few shapes.
const MIN_SLOTS: usize = 1 << 9;
/// A node with this many children stands where keys are data; the root is where shapes part.
const MAX_CHILDREN: u16 = 64;
const MAX_ROOT_CHILDREN: u16 = 2048;
/// Keys and records refused for want of room before the trie starts anew: what fills it may be long gone.
const MAX_REFUSALS: u32 = 1 << 14;
/// Bytes readable behind the last key, for comparisons eight bytes at a time.
const PADDING: usize = 8;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    /// The key's header and bytes, as the shortest form writes them.
    key_at: u32,
    key_len: u32,
    parent: u32,
    /// The child that was taken last.
    predicted: u32,
    hash: u32,
    children: u16,
}

pub struct Trie {
    nodes: Vec<Node>,
    bytes: Vec<u8>,
    /// Open addressing by parent and key; at least twice as many slots as nodes.
    slots: Vec<u32>,
    pub generation: i32,
    pub full: bool,
    refusals: u32,
    seed: u32,
}

impl Default for Trie {
    fn default() -> Self {
        let mut trie = Trie {
            nodes: Vec::new(),
            bytes: Vec::new(),
            slots: Vec::new(),
            generation: 0,
            full: false,
            refusals: 0,
            seed: random_seed(),
        };
        trie.clear();
        trie
    }
}

impl Trie {
    /// Starts anew: every shape id handed out before is void.
    pub fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.full = false;
        self.refusals = 0;
        self.nodes.clear();
        self.nodes.push(Node {
            key_at: 0,
            key_len: 0,
            parent: NONE,
            predicted: NONE,
            hash: 0,
            children: 0,
        });
        self.bytes.clear();
        self.bytes.extend([0; PADDING]);
        self.slots.clear();
        self.slots.resize(MIN_SLOTS, NONE);
    }

    /// Compares the input at `at` with the key of the child that `node` expects next. Returns the
    /// child and the bytes of the key.
    #[inline(always)]
    pub fn predict(&self, node: u32, input: &[u8], at: usize) -> Option<(u32, usize)> {
        let child = self.nodes[node as usize].predicted;
        let expected = self.nodes.get(child as usize)?;
        let len = expected.key_len as usize;
        // Eight readable bytes past the key let every comparison be a whole word.
        if input.len() < at + len + PADDING {
            return self.predict_at_end(child, input, at);
        }
        let key_at = expected.key_at as usize;
        debug_assert!(key_at + len + PADDING <= self.bytes.len());
        // SAFETY: both sides have `len + PADDING` readable bytes.
        let same =
            unsafe { same_bytes(input.as_ptr().add(at), self.bytes.as_ptr().add(key_at), len) };
        same.then_some((child, len))
    }

    #[cold]
    #[inline(never)]
    fn predict_at_end(&self, child: u32, input: &[u8], at: usize) -> Option<(u32, usize)> {
        let key = self.encoded_key(child);
        input[at..].starts_with(key).then_some((child, key.len()))
    }

    /// The child of `node` for a key with its header, if there is one.
    #[inline]
    pub fn find(&mut self, node: u32, encoded: &[u8]) -> Option<u32> {
        let hash = hash_of(node ^ self.seed, encoded);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let child = self.slots[slot];
            let found = self.nodes.get(child as usize)?;
            if found.hash == hash && found.parent == node && self.encoded_key(child) == encoded {
                self.nodes[node as usize].predicted = child;
                return Some(child);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The child of `node` for `key`, made when it is new and there is room.
    #[inline(never)]
    pub fn step(&mut self, node: u32, key: &str) -> Option<u32> {
        if key.len() > MAX_KEY_BYTES {
            return None;
        }
        let mut encoded = [0u8; MAX_KEY_BYTES + 2];
        let header = if key.len() <= 31 {
            encoded[0] = wire::FIXSTR | key.len() as u8;
            1
        } else {
            encoded[0] = wire::STR8;
            encoded[1] = key.len() as u8;
            2
        };
        encoded[header..header + key.len()].copy_from_slice(key.as_bytes());
        let encoded = &encoded[..header + key.len()];
        if let Some(child) = self.find(node, encoded) {
            return Some(child);
        }

        let limit = if node == ROOT { MAX_ROOT_CHILDREN } else { MAX_CHILDREN };
        if self.nodes[node as usize].children >= limit {
            self.refuse();
            return None;
        }
        if self.nodes.len() >= MAX_NODES || self.bytes.len() + encoded.len() > MAX_BYTES {
            self.full = true;
            return None;
        }
        let child = self.nodes.len() as u32;
        let key_at = self.bytes.len() - PADDING;
        self.bytes.truncate(key_at);
        self.bytes.extend(encoded);
        self.bytes.extend([0; PADDING]);
        let hash = hash_of(node ^ self.seed, encoded);
        if 2 * (self.nodes.len() + 1) > self.slots.len() {
            self.grow();
        }
        self.take_slot(child, hash);
        self.nodes.push(Node {
            key_at: key_at as u32,
            key_len: encoded.len() as u32,
            parent: node,
            predicted: NONE,
            hash,
            children: 0,
        });
        let parent = &mut self.nodes[node as usize];
        parent.children += 1;
        parent.predicted = child;
        Some(child)
    }

    /// Counts a key, or a record, that has to do without a place.
    #[cold]
    pub fn refuse(&mut self) {
        self.refusals += 1;
        self.full |= self.refusals > MAX_REFUSALS;
    }

    fn take_slot(&mut self, child: u32, hash: u32) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != NONE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = child;
    }

    fn grow(&mut self) {
        let slots = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(slots, NONE);
        for node in 1..self.nodes.len() {
            self.take_slot(node as u32, self.nodes[node].hash);
        }
    }

    fn encoded_key(&self, node: u32) -> &[u8] {
        let Node { key_at, key_len, .. } = self.nodes[node as usize];
        &self.bytes[key_at as usize..(key_at + key_len) as usize]
    }

    /// The keys on the path to `node`, in order; `None` for an id that is none.
    pub fn keys(&self, node: u32) -> Option<Vec<&str>> {
        let mut keys = Vec::new();
        let mut at = node;
        while at != ROOT {
            let parent = self.nodes.get(at as usize)?.parent;
            let encoded = self.encoded_key(at);
            let header = if encoded[0] == wire::STR8 { 2 } else { 1 };
            keys.push(std::str::from_utf8(&encoded[header..]).ok()?);
            at = parent;
        }
        keys.reverse();
        Some(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_again_and_knows_its_keys() {
        let mut trie = Trie::default();
        let a = trie.step(ROOT, "a").unwrap();
        let ab = trie.step(a, "a key of more than eight bytes").unwrap();
        assert_eq!(trie.step(ROOT, "a"), Some(a));
        assert_eq!(trie.step(a, "a key of more than eight bytes"), Some(ab));
        assert_ne!(trie.step(a, "a"), Some(a));
        assert_eq!(trie.keys(ab).unwrap(), ["a", "a key of more than eight bytes"]);
        assert_eq!(trie.keys(ROOT).unwrap(), [""; 0]);
        assert_eq!(trie.keys(99), None);
    }

    #[test]
    fn predicts_the_child_taken_last_and_only_that() {
        let mut trie = Trie::default();
        trie.step(ROOT, "abc").unwrap();
        let child = trie.step(ROOT, "abd").unwrap();
        for behind in 0..12 {
            let mut input = b"\xa3abd".to_vec();
            input.extend(vec![0x61; behind]);
            assert_eq!(trie.predict(ROOT, &input, 0), Some((child, 4)));
            input[3] = b'c';
            assert_eq!(trie.predict(ROOT, &input, 0), None);
            assert_eq!(trie.predict(ROOT, &input[..3], 0), None);
        }
    }

    #[test]
    fn is_bounded() {
        let mut trie = Trie::default();
        let mut made = 0;
        for i in 0..100_000 {
            let key = format!("key {i}");
            let node = trie.step(ROOT, &key).and_then(|first| trie.step(first, &key));
            made += usize::from(node.is_some());
        }
        assert!(made <= usize::from(MAX_ROOT_CHILDREN));
        assert_eq!(trie.step(ROOT, &"x".repeat(256)), None);
        for first in ["key 0", "key 1"] {
            let first = trie.step(ROOT, first).unwrap();
            for i in 0..1000 {
                if let Some(node) = trie.step(first, &format!("child {i}")) {
                    for j in 0..1000 {
                        trie.step(node, &format!("grandchild {j}"));
                    }
                }
            }
        }
        assert!(trie.full);
        assert!(trie.nodes.len() <= MAX_NODES);
        let generation = trie.generation;
        trie.clear();
        assert_ne!(trie.generation, generation);
        assert!(!trie.full);
    }
}
