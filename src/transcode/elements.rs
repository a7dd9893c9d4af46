//! The elements of a JSON text that is one array, each of them a text of its own, so that an array of
//! any size is never in memory as a whole. As in `values`, nothing is checked.

use memchr::memchr2;

/// What stands at the end of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The bracket that opens the array.
    Open,
    /// The comma behind an element.
    Comma,
    /// The bracket that closes the array.
    Close,
    /// Something in front of the array, or behind it.
    Other,
}

#[derive(Default)]
pub struct Elements {
    place: Place,
    /// Containers within the element.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

#[derive(Default, PartialEq)]
enum Place {
    #[default]
    Before,
    Within,
    Behind,
}

impl Elements {
    /// Where the next mark is in `text`, that goes on behind the last mark.
    pub fn next(&mut self, text: &[u8]) -> Option<(usize, Mark)> {
        let mut pos = 0;
        while let Some(&byte) = text.get(pos) {
            if self.in_string {
                if self.is_escaped {
                    self.is_escaped = false;
                } else {
                    pos += memchr2(b'"', b'\\', &text[pos..])?;
                    self.is_escaped = text[pos] == b'\\';
                    self.in_string = self.is_escaped;
                }
            } else if self.place != Place::Within {
                match byte {
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    b'[' if self.place == Place::Before => {
                        self.place = Place::Within;
                        return Some((pos, Mark::Open));
                    }
                    _ => return Some((pos, Mark::Other)),
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b',' if self.depth == 0 => return Some((pos, Mark::Comma)),
                    b']' if self.depth == 0 => {
                        self.place = Place::Behind;
                        return Some((pos, Mark::Close));
                    }
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
            pos += 1;
        }
        None
    }

    /// Whether the array has ended.
    pub fn is_over(&self) -> bool {
        self.place == Place::Behind
    }
}

/// Counts the elements of a text that is one array.
#[derive(Default)]
pub struct Count {
    elements: Elements,
    count: u64,
    /// The element at hand has something other than white space.
    has_any: bool,
    is_other: bool,
}

impl Count {
    pub fn feed(&mut self, text: &[u8]) {
        let mut from = 0;
        while !self.is_other && from < text.len() {
            let found = self.elements.next(&text[from..]);
            let end = found.map_or(text.len(), |(end, _)| from + end);
            self.has_any |= text[from..end].iter().any(|byte| !byte.is_ascii_whitespace());
            match found {
                Some((_, Mark::Other)) => self.is_other = true,
                Some((_, Mark::Open)) => self.has_any = false,
                Some((_, Mark::Comma)) => self.count += 1,
                Some((_, Mark::Close)) if self.count > 0 || self.has_any => self.count += 1,
                _ => {}
            }
            from = end + 1;
        }
    }

    /// How many there are, or `None` if the text is not one array.
    pub fn total(&self) -> Option<u64> {
        (self.elements.is_over() && !self.is_other).then_some(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::Count;

    fn count(text: &str, step: usize) -> Option<u64> {
        let mut count = Count::default();
        text.as_bytes().chunks(step).for_each(|piece| count.feed(piece));
        count.total()
    }

    #[test]
    fn counts() {
        for (text, expected) in [
            ("[]", Some(0)),
            (" [ \n ] ", Some(0)),
            ("[1]", Some(1)),
            (" [1,2 , {\"a\":[1,2],\"b\":\"],[\"},\"\\\"]\"]\n", Some(4)),
            ("[[],[[]],{}]", Some(3)),
            ("", None),
            ("[1,2", None),
            ("[1][2]", None),
            ("[1]2", None),
            ("{\"a\":[1]}", None),
            ("1", None),
        ] {
            for step in 1..=text.len().max(1) {
                assert_eq!(count(text, step), expected, "{text} in pieces of {step}");
            }
        }
    }
}
