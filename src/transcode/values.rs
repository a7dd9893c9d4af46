//! Where a JSON text ends that is followed by others. Nothing is checked: what stands between two
//! ends is for the parser to judge.

use memchr::memchr2;

/// Looks for the end of a value; what it has seen need not be there any more when more comes.
#[derive(Default)]
pub struct Scanner {
    state: State,
    depth: usize,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Between,
    /// A number or a literal, up to what cannot be a part of one.
    Word,
    Container,
    /// In a string, and whether the next byte is escaped.
    Text {
        escaped: bool,
    },
}

impl Scanner {
    /// Where the value ends that `text` goes on with, or `None` if that is not in it.
    pub fn end(&mut self, text: &[u8]) -> Option<usize> {
        let mut pos = 0;
        while let Some(&byte) = text.get(pos) {
            match self.state {
                State::Text { escaped: true } => self.state = State::Text { escaped: false },
                State::Text { escaped: false } => {
                    pos += memchr2(b'"', b'\\', &text[pos..])?;
                    if text[pos] == b'\\' {
                        self.state = State::Text { escaped: true };
                    } else if self.depth == 0 {
                        return self.done(pos + 1);
                    } else {
                        self.state = State::Container;
                    }
                }
                State::Word => match byte {
                    b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'{' | b'[' => return self.done(pos),
                    _ => {}
                },
                State::Between => match byte {
                    b' ' | b'\t' | b'\n' | b'\r' => {}
                    b'"' => self.state = State::Text { escaped: false },
                    b'{' | b'[' => (self.state, self.depth) = (State::Container, 1),
                    _ => self.state = State::Word,
                },
                State::Container => match byte {
                    b'"' => self.state = State::Text { escaped: false },
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return self.done(pos + 1);
                        }
                    }
                    _ => {}
                },
            }
            pos += 1;
        }
        None
    }

    /// Whether a value has begun.
    pub fn is_open(&self) -> bool {
        self.state != State::Between
    }

    fn done(&mut self, end: usize) -> Option<usize> {
        *self = Scanner::default();
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::Scanner;

    fn ends(text: &[u8], step: usize) -> Vec<usize> {
        let mut scanner = Scanner::default();
        let mut ends = Vec::new();
        for (index, piece) in text.chunks(step).enumerate() {
            let mut from = 0;
            while let Some(end) = scanner.end(&piece[from..]) {
                from += end;
                ends.push(index * step + from);
            }
        }
        if scanner.is_open() {
            ends.push(text.len());
        }
        ends
    }

    #[test]
    fn ends_of_values() {
        let text = br#" 1 22"a\"]"[1,{"]":"}\\"}]{} null[] "x""y" tru"#;
        let expected = vec![2, 5, 11, 26, 28, 33, 35, 39, 42, 46];
        for step in 1..=text.len() {
            assert_eq!(ends(text, step), expected, "pieces of {step}");
        }
    }
}
