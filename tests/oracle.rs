//! Both halves against `rmpv`, an independent implementation: what it encodes the parser reads to
//! the same value, what the encoder writes it decodes to the same value. The reader and the writer
//! of tapes in `model` do what `build.js` and `walk.js` do.

mod model;
mod values;

use model::bytes::same_as_rmpv;
use model::read::{Codec, tag_of};
use model::write::{Held, Packer, check_packed};
use model::{Js, WORDS, encode, expected, options};
use msgpack_rs::pack::encode::Encoder;
use msgpack_rs::pack::shapes::Shapes;
use msgpack_rs::pack::text::{TEXT_PADDING, Text, Units};
use msgpack_rs::tape::*;
use msgpack_rs::unpack::parse::{Int64, Options};
use proptest::prelude::*;
use rmpv::Value;
use values::{any_options, cases, value, value_with_any_keys, value_with_object_keys};

// ---------------------------------------------------------------------------------------------
// The parser.

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn reads_what_rmpv_writes(
        values in prop::collection::vec(value(), 1..6),
        options in any_options(),
        words in 17usize..400,
    ) {
        let mut codec = Codec::new(words);
        let messages: Vec<_> = values.iter().map(encode).collect();
        for _ in 0..4 {
            for (value, message) in values.iter().zip(&messages) {
                let wanted = expected(value, &options).unwrap();
                prop_assert_eq!(codec.unpack(message, options).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn reads_numbers_as_keys(
        values in prop::collection::vec(value_with_object_keys(), 1..4),
        options in any_options(),
    ) {
        let mut codec = Codec::new(64);
        for _ in 0..3 {
            for value in &values {
                let wanted = expected(value, &options).unwrap();
                prop_assert_eq!(codec.unpack(&encode(value), options).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn reads_any_keys_as_maps(
        values in prop::collection::vec(value_with_any_keys(), 1..4),
        options in any_options(),
    ) {
        let options = Options { map_keys: true, ..options };
        let mut codec = Codec::new(64);
        for _ in 0..3 {
            for value in &values {
                let wanted = expected(value, &options).unwrap();
                prop_assert_eq!(codec.unpack(&encode(value), options).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn object_mode_refuses_what_is_no_key(value in value_with_any_keys()) {
        let outcome = Codec::new(64).unpack(&encode(&value), options());
        match (expected(&value, &options()), outcome) {
            (Some(wanted), Ok(value)) => prop_assert_eq!(value, wanted),
            (None, Err(fault)) => prop_assert_eq!(fault.code, FAULT_KEY),
            (wanted, outcome) => prop_assert!(false, "{:?} but {:?}", wanted, outcome),
        }
    }

    #[test]
    fn every_prefix_is_truncated(
        value in prop_oneof![value(), value_with_object_keys()],
        options in any_options(),
        map_keys in any::<bool>(),
    ) {
        let options = Options { map_keys, ..options };
        let message = encode(&value);
        let mut codec = Codec::new(64);
        let step = message.len() / 300 + 1;
        for len in (0..message.len()).step_by(step) {
            for mode in [MODE_ONE, MODE_FROM] {
                let fault = codec.unpack(&message[..len], Options { mode, ..options }).unwrap_err();
                prop_assert_eq!(fault.code, FAULT_TRUNCATED);
            }
        }
        // What those taught is forgotten.
        prop_assert_eq!(
            codec.unpack(&message, options).unwrap(),
            expected(&value, &options).unwrap()
        );
    }

    #[test]
    fn a_series_and_where_each_ends(
        values in prop::collection::vec(value(), 0..12),
        words in 17usize..400,
    ) {
        let mut codec = Codec::new(words);
        let series: Vec<u8> = values.iter().flat_map(encode).collect();
        let wanted: Vec<_> = values.iter().map(|v| expected(v, &options()).unwrap()).collect();
        for _ in 0..3 {
            let all = Options { mode: MODE_ALL, ..options() };
            prop_assert_eq!(codec.unpack(&series, all).unwrap(), Js::List(wanted.clone()));
            let mut at = 0;
            for (value, wanted) in values.iter().zip(&wanted) {
                let from = Options { mode: MODE_FROM, ..options() };
                let (read, end) = codec.unpack_from(&series, at, from).unwrap();
                prop_assert_eq!(&read, wanted);
                at += encode(value).len();
                prop_assert_eq!(end, at);
            }
        }
        if values.len() > 1 {
            let fault = codec.unpack(&series, options()).unwrap_err();
            prop_assert_eq!(fault, Fault::at(FAULT_EXTRA_BYTES, encode(&values[0]).len()));
        }
    }

    #[test]
    fn agrees_with_rmpv_on_damaged_messages(
        value in value(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        (options, map_keys) in (any_options(), any::<bool>()),
    ) {
        let mut message = encode(&value);
        for (at, byte) in damage {
            let at = at.index(message.len());
            message[at] = byte;
        }
        let int64 = Int64::Auto;
        same_as_rmpv(&mut Codec::new(64), &message, Options { int64, map_keys, ..options });
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn agrees_with_rmpv_on_random_bytes(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), 0x80u8..0xa4, 0xc0u8..0xe0, 0u8..8],
            0..80,
        ),
        (options, map_keys) in (any_options(), any::<bool>()),
    ) {
        let mut codec = Codec::new(17);
        let options = Options { int64: Int64::Auto, map_keys, ..options };
        same_as_rmpv(&mut codec, &bytes, options);
        // The same again, and as a series.
        same_as_rmpv(&mut codec, &bytes, options);
        if let Ok(ours) = codec.unpack(&bytes, Options { mode: MODE_ALL, ..options }) {
            let mut rest = &bytes[..];
            let mut theirs = Vec::new();
            while !rest.is_empty() {
                theirs.push(rmpv::decode::read_value(&mut rest).unwrap());
            }
            prop_assert_eq!(Some(ours), expected(&Value::Array(theirs), &options));
        }
    }
}

/// A generator of its own for the large cases, where proptest would take long to draw and shrink.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) as usize) % n
    }
}

fn check(codec: &mut Codec, value: &Value, options: Options) {
    let message = encode(value);
    let wanted = expected(value, &options).unwrap();
    assert!(codec.unpack(&message, options).unwrap() == wanted, "another value");
}

#[test]
fn maps_of_more_keys_than_a_shape_has() {
    let mut random = Random(1);
    let mut codec = Codec::new(64);
    for n in [127, 128, 129, 130, 1000, 5000, 16_383, 16_384, 20_000] {
        let key = |i: usize| match i % 50 {
            0 => format!("\u{416}{i}"),
            1 => format!("a key that is too long to be known, number {i}"),
            2 => WORDS[i / 50 % WORDS.len()].to_owned(),
            _ => format!("{i}"),
        };
        let value = |i: usize| Value::from(WORDS[random.below(WORDS.len()) * i % WORDS.len()]);
        let map: Vec<_> = (0..n).map(|i| Value::from(key(i))).zip((0..n).map(value)).collect();
        let map = Value::Map(map);
        for _ in 0..3 {
            check(&mut codec, &map, options());
        }
        let list = Value::Array(vec![map.clone(), Value::from("behind"), map]);
        check(&mut codec, &list, options());
        check(&mut codec, &list, Options { map_keys: true, ..options() });
    }
    for tag in [K_KNOWN, K_NEW, K_INHERITED, U_STR, U_WIDE_STR] {
        assert!(codec.keys_seen[tag as usize] > 0, "no key with tag {tag}");
    }
}

#[test]
fn shapes_come_and_go_and_maps_fall_back_to_pairs() {
    let mut random = Random(2);
    let mut codec = Codec::new(64);
    for round in 0..1500 {
        let fresh = random.below(2) == 0;
        let keys = 1 + random.below(if fresh { 40 } else { 12 });
        let list = (0..1 + random.below(4)).map(|_| {
            let key = |i: usize| match (fresh, random.below(40)) {
                (true, _) => Value::from(format!("key {round} {i}")),
                (false, 0) => Value::from(random.below(100_000)),
                (false, 1) => Value::from("x".repeat(random.below(400))),
                (false, 2) => Value::from(format!("another {}", random.below(1000))),
                _ => Value::from(WORDS[i]),
            };
            let keys: Vec<_> = (0..keys).map(key).collect();
            let mut item = || match random.below(4) {
                0 => Value::from(WORDS[random.below(WORDS.len())]),
                1 => Value::Map(vec![(Value::from("in"), Value::from(WORDS[1]))]),
                2 => Value::Map(vec![(Value::from(random.below(9)), Value::from("\u{416}"))]),
                _ => Value::from(random.below(1 << 30)),
            };
            Value::Map(keys.into_iter().map(|key| (key, item())).collect())
        });
        let list = Value::Array(list.collect());
        check(&mut codec, &list, options());
        check(&mut codec, &list, options());
    }
    assert!(codec.parser.trie.generation > 1, "the trie was never full");
    assert!(codec.fallbacks > 100);
    assert!(codec.seen[U_OBJECT as usize] > 1000);
}

#[test]
fn known_strings_are_the_ones_they_were() {
    let mut random = Random(3);
    let mut codec = Codec::new(64);
    for round in 0..400 {
        let range = if round % 40 < 30 { 300 } else { 30_000 };
        let text = |i: usize| match i % 7 {
            0 => format!("{i}"),
            1 => format!("{i:026}"),
            2 => format!("{i:027}"),
            3 => format!("{i:028}"),
            4 => format!("\u{e9}{i}"),
            5 => format!("{i:08}"),
            _ => WORDS[i % WORDS.len()].to_owned(),
        };
        let list: Vec<_> = (0..400).map(|_| Value::from(text(random.below(range)))).collect();
        let message = encode(&Value::Array(list.clone()));
        if round % 3 == 0 {
            let cut = random.below(message.len());
            assert_eq!(codec.unpack(&message[..cut], options()).unwrap_err().code, FAULT_TRUNCATED);
            if round % 2 == 0 {
                // As when JavaScript fails to build what was parsed.
                let _ = codec.part(&message, 0, 0, options()).unwrap();
                codec.parser.forget();
            }
        }
        let value = Value::Array(list);
        check(&mut codec, &value, options());
    }
    assert!(codec.seen[U_KNOWN_STR as usize] > 10_000);
}

fn record(i: usize, random: &mut Random) -> Value {
    Value::Map(vec![
        (Value::from("id"), Value::from(i)),
        (Value::from("name"), Value::from(WORDS[random.below(WORDS.len())])),
        (Value::from("score"), Value::F64(i as f64 / 8.0)),
    ])
}

#[test]
fn long_arrays_come_in_parts() {
    let mut random = Random(4);
    let any = |i: usize, random: &mut Random| match random.below(9) {
        0 => Value::Nil,
        1 => Value::from(WORDS[random.below(WORDS.len())]),
        2 => Value::Array(vec![Value::from(i); random.below(30)]),
        3 => Value::from(u64::MAX),
        4 => Value::Binary(vec![7; random.below(40)]),
        5 => Value::Ext(5, vec![8; random.below(40)]),
        6 => Value::from("long \u{416} ".repeat(random.below(300))),
        7 => Value::Map((0..random.below(200)).map(|k| (Value::from(k), Value::Nil)).collect()),
        _ => record(i, random),
    };
    let nil = |_: usize, _: &mut Random| Value::Nil;
    type Make = dyn Fn(usize, &mut Random) -> Value;
    let makes: [(&Make, usize); 3] = [(&record, 3000), (&any, 3000), (&nil, 70_000)];
    let mut codec = Codec::new(64);
    for n in [255, 256, 257, 3000, 70_000] {
        for (make, most) in makes {
            if n > most {
                continue;
            }
            let items: Vec<_> = (0..n).map(|i| make(i, &mut random)).collect();
            let message = encode(&Value::Array(items.clone()));
            let wanted = expected(&Value::Array(items), &options()).unwrap();
            codec.parts = 0;
            assert!(codec.unpack(&message, options()).unwrap() == wanted);
            assert!(n < 3000 || n < most || codec.parts > 0);
            // The same elements as a series.
            let all = Options { mode: MODE_ALL, ..options() };
            let header = if n < 65_536 { 3 } else { 5 };
            assert!(codec.unpack(&message[header..], all).unwrap() == wanted);
            // In the middle of other bytes.
            let mut within = b"\xc1\xc1".to_vec();
            within.extend(&message);
            within.extend(b"\xc1");
            let from = Options { mode: MODE_FROM, ..options() };
            let (value, end) = codec.unpack_from(&within, 2, from).unwrap();
            assert!(value == wanted);
            assert_eq!(end, within.len() - 1);
            let one = codec.unpack_from(&within, 2, options()).unwrap_err();
            assert_eq!(one, Fault::at(FAULT_EXTRA_BYTES, within.len() - 1));
            for _ in 0..30 {
                let cut = random.below(message.len());
                let fault = codec.unpack(&message[..cut], options()).unwrap_err();
                assert_eq!(fault.code, FAULT_TRUNCATED);
            }
            assert!(codec.unpack(&message, options()).unwrap() == wanted);
        }
    }
}

#[test]
fn many_blocks_of_text_in_one_message() {
    let mut random = Random(8);
    let mut codec = Codec::new(64);
    for units in [&["x", "yz"][..], &["\u{416}", "\u{6f22}x"], &["x", "\u{e9}", "\u{1f426}"]] {
        let text = |i: usize, random: &mut Random| {
            let long = if random.below(100) == 0 { 1500 } else { 90 };
            let unit = units[random.below(units.len())];
            Value::from(format!("{i} {}", unit.repeat(random.below(long))))
        };
        let list: Vec<_> = (0..5000).map(|i| text(i, &mut random)).collect();
        let keys: Vec<_> = (5000..9000).map(|i| text(i, &mut random)).collect();
        let map = Value::Map(keys.into_iter().zip(list.iter().cloned()).collect());
        // Neither is a root array, which would come in parts.
        check(&mut codec, &Value::Map(vec![(Value::from("list"), Value::Array(list))]), options());
        check(&mut codec, &map, options());
    }
}

#[test]
fn depth_is_the_same_however_a_message_is_handed_over() {
    let nest = |depth: usize, n: usize| {
        let inner = (1..depth).fold(Value::Nil, |value, _| Value::Array(vec![value]));
        let mut items = vec![Value::Nil; n];
        items[n - 1] = inner;
        encode(&Value::Array(items))
    };
    for n in [1, 255, 256, 20_000] {
        for depth in 1..6 {
            for mode in [MODE_ONE, MODE_FROM, MODE_ALL] {
                let message = nest(depth, n);
                let mut codec = Codec::new(64);
                let enough = Options { max_depth: depth, mode, ..options() };
                assert!(codec.unpack(&message, enough).is_ok());
                let fault =
                    codec.unpack(&message, Options { max_depth: depth - 1, ..enough }).unwrap_err();
                let at = if depth == 1 { 0 } else { message.len() - 2 };
                assert_eq!(fault, Fault::at(FAULT_DEPTH, at), "{n} {depth} {mode}");
            }
        }
    }
}

/// It took a quarter of a second for 20 KB, and sixteen seconds for 160 KB.
#[test]
fn the_tape_of_maps_without_a_shape_grew_by_a_value_at_a_time() {
    let chain = [&[0x81, 1].repeat(900)[..], &[0xc0]].concat();
    for n in [1u8, 10, 100] {
        let message = [&[0x91, 0xdc, 0, n][..], &chain.repeat(usize::from(n))].concat();
        let mut codec = Codec::new(64);
        codec.part(&message, 0, 0, options()).unwrap();
        assert!(codec.grown < 20, "parsed {} times", codec.grown);
    }
}

#[test]
fn a_large_claim_costs_nothing() {
    for claim in
        [&b"\xdd\xff\xff\xff\xff\x01"[..], b"\xdf\xff\xff\xff\xff\xa1a", b"\xdc\xff\xff\xc0"]
    {
        for depth in 0..20 {
            let message = [&[0x91].repeat(depth)[..], claim, &[0xdc, 0, 9].repeat(9)].concat();
            let mut codec = Codec::new(64);
            for mode in [MODE_ONE, MODE_FROM, MODE_ALL] {
                let fault = codec.unpack(&message, Options { mode, ..options() }).unwrap_err();
                assert_eq!(fault.code, FAULT_TRUNCATED);
            }
            assert!(codec.tape.len() < 1024);
        }
    }
}

// ---------------------------------------------------------------------------------------------
// The encoder.

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn rmpv_reads_what_the_encoder_writes(
        values in prop::collection::vec(
            prop_oneof![value(), value_with_any_keys()],
            1..5,
        ),
        choices in prop::collection::vec(any::<u8>(), 1..64),
        float32 in any::<bool>(),
    ) {
        let mut packer = Packer::new();
        packer.options = if float32 { FLOAT32_LOSSLESS } else { 0 };
        for value in values.iter().chain(&values) {
            let packed = packer.pack(value, &choices).unwrap();
            check_packed(value, &packed.bytes, float32);
        }
    }

    #[test]
    fn what_the_encoder_writes_the_parser_reads(
        values in prop::collection::vec(value(), 1..4),
        choices in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let (mut packer, mut codec) = (Packer::new(), Codec::new(64));
        for value in values.iter().chain(&values) {
            let packed = packer.pack(value, &choices).unwrap();
            let wanted = expected(value, &options()).unwrap();
            prop_assert_eq!(codec.unpack(&packed.bytes, options()).unwrap(), wanted);
        }
    }
}

#[test]
fn headers_are_corrected_at_every_width() {
    let mut random = Random(5);
    let mut packer = Packer::new();
    let mut skips = 0;
    for n in [0, 1, 14, 15, 16, 17, 30, 31, 32, 255, 256, 65_520, 65_535, 65_536, 65_540] {
        for _ in 0..if n > 1000 { 2 } else { 40 } {
            let choices: Vec<u8> = (0..40).map(|_| random.below(256) as u8).collect();
            let item = |i: usize| match i % 3 {
                0 => Value::Nil,
                1 => Value::from(i),
                _ => Value::from("text"),
            };
            let map: Vec<_> = (0..n).map(|i| (Value::from(format!("{i}")), item(i))).collect();
            let map = Value::Map(map);
            let large = Value::Binary(vec![3; (32 << 10) + random.below(3) - 1]);
            let list = Value::Array(vec![
                large.clone(),
                Value::Map(vec![(Value::from("first"), large.clone()), (Value::from("m"), map)]),
                Value::from("behind"),
                Value::Ext(4, vec![1; 32 << 10]),
            ]);
            let packed = packer.pack(&list, &choices).unwrap();
            skips += packed.skips;
            check_packed(&list, &packed.bytes, false);
        }
    }
    assert!(skips > 10_000);
}

#[test]
fn text_of_every_width_at_every_edge() {
    let mut packer = Packer::new();
    let mut random = Random(6);
    for unit in ["a", "\u{e9}", "\u{6f22}", "\u{1f426}"] {
        for bytes in [0, 1, 15, 16, 31, 32, 33, 64, 255, 256, 257, 1023, 1024, 3000, 65_536] {
            for more in 0..3 {
                let text = unit.repeat(bytes / unit.len() + more);
                let list = Value::Array(vec![Value::from(text.as_str()), Value::from("z"), {
                    Value::Map(vec![(Value::from(text.as_str()), Value::from(text.as_str()))])
                }]);
                let choices: Vec<u8> = (0..40).map(|_| random.below(256) as u8).collect();
                let packed = packer.pack(&list, &choices).unwrap();
                check_packed(&list, &packed.bytes, false);
            }
        }
    }
}

#[test]
fn lone_surrogates_are_replaced_and_never_fuse() {
    let strings: [&[u16]; 7] = [
        &[0xd83d],
        &[0xdc26],
        &[0x61, 0xd83d],
        &[0xdc26, 0x62],
        &[0xd83d, 0xd83d, 0xdc26],
        &[0xdc26, 0xd83d],
        &[0xd83d; 100],
    ];
    let mut words = vec![(strings.len() as i32) << TAG_BITS | P_ARRAY];
    let mut rope = Vec::new();
    for string in strings {
        words.push((string.len() as i32) << TAG_BITS | P_STR);
        rope.extend(string);
    }
    rope.extend([0xdc26; TEXT_PADDING]);
    let mut encoder = Encoder::default();
    encoder.start(0, 1000, 1);
    let mut text = Text::new(Units::Utf16(&rope));
    encoder.run(&words, &Shapes::default(), &mut text, &mut Held::default()).unwrap();
    let read = rmpv::decode::read_value(&mut encoder.out.written()).unwrap();
    let wanted = strings.iter().map(|units| Value::from(String::from_utf16_lossy(units)));
    assert_eq!(read, Value::Array(wanted.collect()));
}

#[test]
fn packing_and_unpacking_are_as_deep() {
    let kinds: [fn(Value) -> Value; 3] = [
        |value| Value::Array(vec![value]),
        |value| Value::Map(vec![(Value::from("a"), value)]),
        |value| Value::Array(vec![Value::from("b"), value, Value::Map(Vec::new())]),
    ];
    for bottom in [Value::Nil, Value::Array(Vec::new()), Value::Array(vec![Value::from(1); 3])] {
        for kind in kinds {
            for depth in 0..8 {
                let value = (0..depth).fold(bottom.clone(), |value, _| kind(value));
                for max_depth in 0..10 {
                    for choice in 0..9 {
                        let mut packer = Packer::new();
                        packer.max_depth = max_depth;
                        let packed = packer.pack(&value, &[choice, 1, 5]);
                        let unpacked = Codec::new(64)
                            .unpack(&encode(&value), Options { max_depth, ..options() });
                        assert_eq!(packed.is_ok(), unpacked.is_ok(), "{value} {max_depth}");
                        assert!(packed.err().is_none_or(|fault| fault.code == FAULT_DEPTH));
                    }
                }
            }
        }
    }
}

#[test]
fn a_tape_that_makes_no_sense_is_a_fault_and_no_panic() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let mut encoder = Encoder::default();
        encoder.start(0, 1000, 1);
        let mut shapes = Shapes::default();
        shapes.define(["a", "b"].into_iter());
        shapes.define([].into_iter());
        let words: Vec<i32> = (0..random.below(12))
            .map(|_| {
                let payload = [0, 1, 2, 3, 7, -1, 40][random.below(7)];
                // Buffers and long strings are looked up by the caller.
                let tag = [P_INT, P_STR, P_SHAPE, P_ARRAY, P_NUMBER, P_CONST, P_INTS, P_NUMBERS]
                    .into_iter()
                    .chain([P_MAP, P_DATE, P_BIGINT, P_TIMESTAMP, 15])
                    .nth(random.below(13));
                payload << TAG_BITS | tag.unwrap()
            })
            .collect();
        // A count below zero would be a count of billions.
        let words: Vec<i32> = words
            .into_iter()
            .filter(|&word| word >= 0 || !matches!(tag_of(word), P_ARRAY | P_MAP))
            .collect();
        let rope = [0x61; 8 + TEXT_PADDING];
        let mut text = Text::new(Units::Ascii(&rope));
        match encoder.run(&words, &shapes, &mut text, &mut Held::default()) {
            Ok(()) if encoder.done() => {
                rmpv::decode::read_value(&mut encoder.out.written()).unwrap();
            }
            Ok(()) => {}
            Err(fault) => assert_eq!(fault.code, FAULT_INTERNAL),
        }
    }
}
