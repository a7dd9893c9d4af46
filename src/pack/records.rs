//! Records: the names of an object's properties go out once, as the definition of a structure, and
//! after that one or two bytes stand for all of them. The structure table is the shape table seen
//! through two indexes: structures that the reader shares already, and the writer's own, which are
//! defined within the message (or the stream) that uses them.

use std::collections::HashMap;

use super::out::Out;
use super::put::put_array_header;
use super::shapes::Shapes;
use crate::tape::EXT_RECORD;
use crate::wire;

/// One-byte ids, and the first of those that a second byte follows in the two-byte form.
const FIRST_ID: u8 = 0x40;
const FIRST_WIDE_ID: u8 = 0x60;
/// Structures whose ids are one byte in either form, and how many ids share a second byte.
const NARROW: u32 = 32;

/// Indexes that ids of two bytes can tell apart.
const MAX_INDEXES: u32 = 8192;

const NONE: u32 = u32::MAX;

/// The names of a structure, each as it is written.
type Names = Box<[u8]>;

#[derive(Default)]
pub struct Records {
    max_shared: u32,
    max_own: u32,
    /// Where the own indexes start: behind the shared ones, or further up.
    own_base: u32,
    skipped: u32,
    two_byte: bool,
    sequential: bool,
    /// By shape: the index of its structure, and whether it may be shared.
    indexes: Vec<u32>,
    shareable: Vec<bool>,
    shared: Vec<(u32, Names)>,
    by_names: HashMap<Names, u32>,
    shared_before: usize,
    /// By index behind the shared ones: the shape that has it.
    own: Vec<u32>,
    own_next: u32,
    /// Own indexes that the message being written has given out.
    fresh: Vec<u32>,
}

/// How an object goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Record,
    /// There is no index for it.
    Map,
}

impl Records {
    /// `skipped` own indexes belong to another writer of the same stream.
    pub fn configure(&mut self, max_shared: u32, max_own: u32, sequential: bool, skipped: u32) {
        *self = Records { max_shared, max_own, sequential, skipped, ..Records::default() };
        self.choose_ids();
    }

    fn choose_ids(&mut self) {
        self.own_base = self.max_shared + self.skipped;
        self.max_own = self.max_own.min(MAX_INDEXES.saturating_sub(self.own_base));
        let ids = self.own_base + self.max_own;
        self.two_byte = self.max_shared > NARROW || ids > 2 * NARROW;
        self.own = vec![NONE; self.max_own as usize];
        self.own_next = 0;
    }

    /// A shape has been defined, as the next id.
    pub fn add_shape(&mut self, names: &[u8], shareable: bool) {
        let index = self.by_names.get(names).copied().unwrap_or(NONE);
        self.indexes.push(index);
        self.shareable.push(shareable);
    }

    /// All shapes are void; the reader keeps what it shares.
    pub fn clear_shapes(&mut self) {
        self.indexes.clear();
        self.shareable.clear();
        self.fresh.clear();
        self.own.fill(NONE);
    }

    /// Replaces what the reader shares; `names` gives each structure's count of names and the names.
    pub fn set_shared(&mut self, structures: Vec<(u32, Names)>, shapes: &Shapes) {
        self.by_names.clear();
        for (index, (_, names)) in structures.iter().enumerate() {
            self.by_names.entry(names.clone()).or_insert(index as u32);
        }
        self.shared = structures;
        self.shared_before = self.shared.len();
        self.max_shared = self.max_shared.max(self.shared.len() as u32);
        self.choose_ids();
        for (shape, index) in self.indexes.iter_mut().enumerate() {
            *index = self.by_names.get(shapes.names(shape as u32)).copied().unwrap_or(NONE);
        }
    }

    pub fn shared(&self) -> &[(u32, Names)] {
        &self.shared
    }

    /// A message begins: the reader has forgotten the own structures, unless they are a stream's.
    pub fn start(&mut self) {
        self.shared_before = self.shared.len();
        if !self.sequential {
            self.forget_fresh();
            self.own_next = 0;
        }
        self.fresh.clear();
    }

    /// The message does not go out: what it has defined is not known to anyone.
    pub fn roll_back(&mut self) {
        self.forget_fresh();
        let before = self.shared_before.min(self.shared.len());
        for (_, names) in self.shared.drain(before..) {
            if let Some(index) = self.by_names.remove(&names) {
                self.indexes
                    .iter_mut()
                    .filter(|each| **each == index)
                    .for_each(|each| *each = NONE);
            }
        }
    }

    fn forget_fresh(&mut self) {
        for at in self.fresh.drain(..) {
            let shape = std::mem::replace(&mut self.own[at as usize], NONE);
            if let Some(index) = self.indexes.get_mut(shape as usize)
                && *index == self.own_base + at
            {
                *index = NONE;
            }
        }
    }

    /// Writes the id of `shape`, with its definition where the reader needs it.
    pub fn put(&mut self, shape: u32, shapes: &Shapes, out: &mut Out) -> Form {
        let index = self.indexes[shape as usize];
        if index != NONE {
            let own = index.wrapping_sub(self.own_base) as usize;
            if (index as usize) < self.shared.len() || self.own.get(own) == Some(&shape) {
                out.reserve(ID_ROOM);
                self.put_id(index, out);
                return Form::Record;
            }
        }
        let names = shapes.names(shape);
        if self.shareable[shape as usize] && self.shared.len() < self.max_shared as usize {
            let index = self.shared.len() as u32;
            let names: Names = names.into();
            self.by_names.insert(names.clone(), index);
            self.shared.push((shapes.shapes[shape as usize].keys, names));
            self.indexes[shape as usize] = index;
            out.reserve(ID_ROOM);
            self.put_id(index, out);
            return Form::Record;
        }
        let Some(index) = self.next_own(shape) else { return Form::Map };
        self.indexes[shape as usize] = index;
        out.reserve(ID_ROOM + 5);
        self.put_definition(index, shapes.shapes[shape as usize].keys, out);
        out.extend(names);
        Form::Record
    }

    /// Writes the definition of a structure of `keys` names that no shape stands for; the names
    /// follow.
    pub fn put_unnamed(&mut self, keys: u32, out: &mut Out) -> Form {
        let Some(index) = self.next_own(NONE) else { return Form::Map };
        out.reserve(ID_ROOM + 5);
        self.put_definition(index, keys, out);
        Form::Record
    }

    fn next_own(&mut self, shape: u32) -> Option<u32> {
        if self.max_own == 0 {
            return None;
        }
        let at = self.own_next;
        self.own_next = (at + 1) % self.max_own;
        self.own[at as usize] = shape;
        self.fresh.push(at);
        Some(self.own_base + at)
    }

    fn put_definition(&self, index: u32, keys: u32, out: &mut Out) {
        let (id, high) = self.id(index);
        // SAFETY: the callers have reserved ID_ROOM and five bytes for the array's header.
        unsafe {
            match high {
                None => out.put_bytes([wire::FIXEXT1, EXT_RECORD as u8, id]),
                Some(high) => out.put_bytes([wire::FIXEXT2, EXT_RECORD as u8, id, high]),
            }
            put_array_header(keys, out);
        }
    }

    fn put_id(&self, index: u32, out: &mut Out) {
        let (id, high) = self.id(index);
        // SAFETY: the callers have reserved ID_ROOM.
        unsafe {
            out.put(id);
            if let Some(high) = high {
                out.put(high);
            }
        }
    }

    /// The bytes that stand for a structure.
    fn id(&self, index: u32) -> (u8, Option<u8>) {
        if index < NARROW || !self.two_byte {
            return (FIRST_ID + index as u8, None);
        }
        let wide = index - NARROW;
        (FIRST_WIDE_ID + (wide % NARROW) as u8, Some((wide / NARROW) as u8))
    }
}

/// An id with the ext header of its definition, and what a scalar may need behind it.
const ID_ROOM: usize = 16;
