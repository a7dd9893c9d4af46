//! Records that a stream of messages defines: what becomes of their structures in the long run.

mod model;

use model::read::{Collected, tag_of};
use msgpack_rs::tape::*;
use msgpack_rs::unpack::parse::{Options, Parser};

/// The tag of the root, and of its block where that is a rare one.
fn tags(parser: &mut Parser, tape: &mut [i32], message: &[u8]) -> (i32, i32) {
    let options = Options::from_bits(OPT_RECORDS | OPT_STRICT_IDS, 1000, MODE_ONE);
    let end = parser.parse(message, 0, 0, tape, options, &mut Collected::default());
    assert_eq!(end.unwrap_or_else(|_| panic!("a fault")).pos, message.len());
    // Nobody builds what was parsed.
    parser.forget();
    let root = tape[ROOT as usize];
    let kind = (root as u32 >> TAG_BITS) as usize + 2;
    (tag_of(root), if tag_of(root) == U_RARE { tape[kind] } else { -1 })
}

#[test]
fn a_structure_defined_when_the_trie_was_crowded_was_slow_for_ever() {
    let mut parser = Parser::default();
    parser.set_ext_kind(EXT_RECORD as u8, KIND_RECORD);
    parser.structures.sequential = true;
    let mut tape = vec![0; 4096];
    for i in 0..3000 {
        // A record of one name that comes once.
        let mut message = vec![0xd4, 0x72, 0x40, 0x91, 0xa4];
        message.extend(format!("{i:04}").bytes());
        message.push(1);
        tags(&mut parser, &mut tape, &message);
    }
    let slow = (U_RARE, RARE_RECORD);
    assert_eq!(tags(&mut parser, &mut tape, b"\xd4\x72\x41\x91\xa4name\x01"), slow);
    let used = (0..20_000).map(|_| tags(&mut parser, &mut tape, b"\x41\x01"));
    let slow = used.filter(|tags| *tags != (U_OBJECT, -1)).count();
    assert!(slow < 17_000, "{slow} times without a shape");
    assert_eq!(tags(&mut parser, &mut tape, b"\x41\x01"), (U_OBJECT, -1));
}
