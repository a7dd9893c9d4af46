//! The structures of the records that come in: which names stand behind an id. A definition holds
//! for the message that it is in, or for the rest of a stream; shared structures come from outside.

use std::collections::{HashMap, HashSet};

use super::trie::{self, Trie};

/// One-byte ids, and the first of those that a second byte may follow.
pub const FIRST_ID: u8 = 0x40;
const FIRST_WIDE_ID: u8 = 0x60;
const NARROW: usize = 32;

/// `node` of a structure whose names have no place in the trie.
pub const NO_NODE: u32 = u32::MAX;

#[derive(Clone, Copy)]
pub struct Structure {
    /// The shape of its objects, while the trie is of that generation.
    pub node: u32,
    pub generation: i32,
    pub names: u32,
    /// Unlike an index, never given to another structure.
    pub serial: u32,
    wide: bool,
    defined: bool,
}

const UNDEFINED: Structure =
    Structure { node: NO_NODE, generation: 0, names: 0, serial: 0, wide: false, defined: false };

/// The index that a definition gives to its structure, by the payload of the ext, and whether its id
/// takes two bytes; `None` if it is no id.
pub fn defined_id(payload: &[u8]) -> Option<(usize, bool)> {
    match *payload {
        [id @ FIRST_ID..=0x7f] => Some((usize::from(id - FIRST_ID), false)),
        [id @ FIRST_WIDE_ID..=0x7f, high] => {
            Some((Structures::wide_index(usize::from(id - FIRST_ID), high), true))
        }
        _ => None,
    }
}

/// What the first byte of an id says.
pub enum Id {
    Index(usize),
    /// A second byte says more.
    Wide(usize),
}

#[derive(Default)]
pub struct Structures {
    table: Vec<Structure>,
    /// By serial: the names of what is shared, and of other structures that the trie does not have.
    shared_names: HashMap<u32, Vec<String>>,
    names: HashMap<u32, Vec<String>>,
    /// What definitions have replaced, since the message or the stream began.
    replaced: Vec<(usize, Structure)>,
    next_serial: u32,
    /// Whether the table has changed since the names were last looked through.
    has_changed: bool,
    wide: bool,
    shared_are_wide: bool,
    pub sequential: bool,
}

impl Structures {
    /// Replaces what is shared.
    pub fn set_shared(&mut self, structures: Vec<Vec<String>>) {
        self.table.clear();
        self.names.clear();
        self.shared_names.clear();
        self.replaced.clear();
        self.shared_are_wide = structures.len() > NARROW;
        self.wide = self.shared_are_wide;
        for names in structures {
            let wide = self.table.len() >= NARROW && self.shared_are_wide;
            let serial = self.take_serial();
            self.table.push(Structure {
                node: NO_NODE,
                // No trie has it: the names are looked up when the structure is first used.
                generation: i32::MIN,
                names: names.len() as u32,
                serial,
                wide,
                defined: true,
            });
            self.shared_names.insert(serial, names);
        }
    }

    fn take_serial(&mut self) -> u32 {
        self.next_serial = self.next_serial.wrapping_add(1);
        self.next_serial
    }

    /// A message begins that is no part of the one before.
    pub fn start(&mut self) {
        if self.sequential {
            self.replaced.clear();
        } else {
            self.roll_back(0);
        }
        if self.has_changed && !self.names.is_empty() {
            let used = self.table.iter().filter(|each| each.defined).map(|each| each.serial);
            let used: HashSet<u32> = used.collect();
            self.names.retain(|serial, _| used.contains(serial));
        }
        self.has_changed = false;
    }

    /// A message of a stream ends: what it has defined is not for those behind it, unless all do.
    /// The names stay until the next message starts.
    pub fn end_message(&mut self) {
        if !self.sequential {
            self.roll_back(0);
        }
    }

    /// A place to roll back to.
    pub fn mark(&self) -> usize {
        self.replaced.len()
    }

    /// Takes back the definitions since `mark`.
    pub fn roll_back(&mut self, mark: usize) {
        if self.replaced.len() > mark {
            for (index, structure) in self.replaced.drain(mark..).rev() {
                self.table[index] = structure;
            }
            self.wide =
                self.wide && (self.shared_are_wide || self.table.iter().any(|each| each.wide));
        }
    }

    /// The trie is about to start anew: keeps the names that only it has.
    pub fn keep_names(&mut self, trie: &Trie) {
        for structure in &self.table {
            if structure.defined
                && structure.generation == trie.generation
                && !self.shared_names.contains_key(&structure.serial)
                && let Some(keys) = trie.keys(structure.node)
            {
                let names = keys.into_iter().map(str::to_owned).collect();
                self.names.entry(structure.serial).or_insert(names);
            }
        }
    }

    /// What the byte `0x40 + low` stands for.
    #[inline(always)]
    pub fn id(&self, low: u8) -> Id {
        let low = usize::from(low);
        if low >= NARROW
            && self.wide
            && self.table.get(low).is_none_or(|each| !each.defined || each.wide)
        {
            return Id::Wide(low);
        }
        Id::Index(low)
    }

    /// Whether there is a structure at `low` whose id is one byte.
    pub fn is_narrow(&self, low: usize) -> bool {
        self.table.get(low).is_some_and(|each| each.defined && !each.wide)
    }

    /// The index of an id of two bytes.
    pub fn wide_index(low: usize, high: u8) -> usize {
        low + NARROW * usize::from(high)
    }

    #[inline(always)]
    pub fn get(&mut self, index: usize, trie: &mut Trie) -> Option<Structure> {
        let structure = *self.table.get(index)?;
        if structure.generation == trie.generation {
            return structure.defined.then_some(structure);
        }
        if !structure.defined {
            return None;
        }
        self.find_again(index, trie)
    }

    /// Looks the names of a structure up in a trie that has started anew.
    #[cold]
    #[inline(never)]
    fn find_again(&mut self, index: usize, trie: &mut Trie) -> Option<Structure> {
        let structure = &mut self.table[index];
        structure.generation = trie.generation;
        let names = self.names.get(&structure.serial);
        structure.node = match names.or_else(|| self.shared_names.get(&structure.serial)) {
            Some(names) if names.len() <= trie::MAX_KEYS => {
                let step = |node, name: &String| trie.step(node, name);
                names.iter().try_fold(trie::ROOT, step).unwrap_or(NO_NODE)
            }
            _ => NO_NODE,
        };
        Some(*structure)
    }

    /// Defines the structure at `index`: by its node, or by its names where it has none.
    pub fn define(
        &mut self,
        index: usize,
        wide: bool,
        count: u32,
        names: Result<u32, Vec<String>>,
        generation: i32,
    ) -> Structure {
        let serial = self.take_serial();
        let node = match names {
            Ok(node) => node,
            Err(names) => {
                self.names.insert(serial, names);
                NO_NODE
            }
        };
        self.put(index, Structure { node, generation, names: count, serial, wide, defined: true })
    }

    /// How many names the structure at `index` has.
    pub fn names_at(&self, index: usize) -> Option<u32> {
        self.table.get(index).filter(|each| each.defined).map(|each| each.names)
    }

    /// Defines the structure at `index` with the names of another.
    pub fn define_again(&mut self, index: usize, wide: bool, other: Structure) -> Structure {
        self.put(index, Structure { wide, ..other })
    }

    fn put(&mut self, index: usize, structure: Structure) -> Structure {
        if self.table.len() <= index {
            self.table.resize(index + 1, UNDEFINED);
        }
        self.wide |= structure.wide;
        self.has_changed = true;
        self.replaced.push((index, std::mem::replace(&mut self.table[index], structure)));
        structure
    }

    /// The names of a structure that has no node.
    pub fn names(&self, serial: u32) -> Option<Vec<&str>> {
        let names = self.names.get(&serial).or_else(|| self.shared_names.get(&serial));
        Some(names?.iter().map(String::as_str).collect())
    }
}
