//! The shapes that JavaScript has registered: the keys of an object in order, kept encoded (header
//! and UTF-8), so that writing a key is one copy.

use crate::wire;

/// Bytes that can be read behind the last key, so that a short key is copied in one fixed step.
pub const KEY_PADDING: usize = 32;

#[derive(Clone, Copy)]
pub struct Key {
    pub at: u32,
    pub len: u32,
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub first_key: u32,
    pub keys: u32,
}

#[derive(Default)]
pub struct Shapes {
    bytes: Vec<u8>,
    pub keys: Vec<Key>,
    pub shapes: Vec<Shape>,
}

impl Shapes {
    /// Registers a shape; its id is the count of those before it.
    pub fn define<'a>(&mut self, keys: impl Iterator<Item = &'a str>) -> u32 {
        let first_key = self.keys.len() as u32;
        self.bytes.truncate(self.bytes.len().saturating_sub(KEY_PADDING));
        for key in keys {
            let at = self.bytes.len() as u32;
            let len = key.len();
            match len {
                0..=31 => self.bytes.push(wire::FIXSTR | len as u8),
                32..=0xff => self.bytes.extend([wire::STR8, len as u8]),
                0x100..=0xffff => {
                    self.bytes.push(wire::STR16);
                    self.bytes.extend((len as u16).to_be_bytes());
                }
                _ => {
                    self.bytes.push(wire::STR32);
                    self.bytes.extend((len as u32).to_be_bytes());
                }
            }
            self.bytes.extend(key.as_bytes());
            self.keys.push(Key { at, len: self.bytes.len() as u32 - at });
        }
        self.bytes.extend([0; KEY_PADDING]);
        self.shapes.push(Shape { first_key, keys: self.keys.len() as u32 - first_key });
        self.shapes.len() as u32 - 1
    }

    pub fn clear(&mut self) {
        *self = Shapes::default();
    }

    /// The encoded keys of a shape, one behind the other.
    pub fn names(&self, shape: u32) -> &[u8] {
        let Shape { first_key, keys } = self.shapes[shape as usize];
        let (first, end) = (first_key as usize, (first_key + keys) as usize);
        let start = self.keys.get(first).map_or(0, |key| key.at as usize);
        let stop = self.keys[first..end].last().map_or(start, |key| (key.at + key.len) as usize);
        &self.bytes[start..stop]
    }

    /// The encoded bytes of a key.
    pub fn encoded(&self, key: u32) -> &[u8] {
        let Key { at, len } = self.keys[key as usize];
        &self.bytes[at as usize..(at + len) as usize]
    }

    /// The same as a pointer, from which [`KEY_PADDING`] bytes can be read however short it is.
    #[inline(always)]
    pub fn padded(&self, key: u32) -> (*const u8, usize) {
        let Key { at, len } = self.keys[key as usize];
        (self.bytes[at as usize..].as_ptr(), len as usize)
    }
}
