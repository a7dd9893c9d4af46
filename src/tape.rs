//! The contract between the two halves: what the words of a tape mean.
//!
//! A tape is an `ArrayBuffer` that JavaScript owns, seen as 32-bit words (and as doubles and 64-bit
//! integers where a value needs them). It starts with a header block, then come the words of the
//! message. A word is `payload << 4 | tag`. `tape.js` holds the same numbers for JavaScript; a test
//! compares the two through [`LAYOUT`].

macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: i32 = $value;)*
        /// Every constant of the contract by name, for the test that compares it with `tape.js`.
        pub static LAYOUT: &[(&str, i32)] = &[$((stringify!($name), $value)),*];
    };
}

layout! {
    TAG_BITS = 4;

    // The header block, in words. Offsets and lengths are doubles, so that 2^32 is no edge.
    /// Out: one of the `STATUS_…` values, or a `FAULT_…` code.
    STATUS = 0;
    /// In: the options of this call, `OPT_…` bits.
    OPTIONS = 1;
    /// In: how many containers may be open at once.
    MAX_DEPTH = 2;
    /// Pack, in: the first word behind the message's words.
    END = 3;
    /// Pack, in: UTF-16 units in the rope.
    ROPE_UNITS = 4;
    /// Pack, in: where in the slab the result may start.
    SLAB_AT = 5;
    /// Pack, in: which slab, 0 for small results, 1 for larger ones.
    SLAB = 15;
    /// Pack, in: a container with no more room below it than this is walked without recursion.
    DEEP_ROOM = 7;
    /// Unpack, in: one of the `MODE_…` values. Look, in: one of the `LOOK_…` values.
    MODE = 6;
    /// Pack, in: how many messages there are, one behind the other.
    COUNT = 6;
    /// Unpack, out: changes whenever shape ids start anew.
    GENERATION = 7;
    /// Unpack, out: the word of the root value.
    ROOT = 9;
    /// Pack, out: how many record structures the reader shares by now.
    SHARED = 8;
    /// Unpack, out, of MODE_STREAM: why no message follows, a `FAULT_…` code whose offset is
    /// LENGTH_F64, or 0.
    STOPPED = 8;
    /// Out, a double at this index: bytes of the result, or the offset of a fault.
    LENGTH_F64 = 5;
    /// Unpack, in: where to start. Out: where the value ended. A double at this index.
    OFFSET_F64 = 6;
    /// Unpack, out: words in use.
    USED = 14;
    /// Unpack, out: how deep the message nests.
    DEPTH = 3;
    /// Look, out: one of the `TYPE_…` values, or the `LEVEL_…` bits.
    TYPE = 4;
    /// Look, out: values in all, and messages. Doubles at these indexes.
    NODES_F64 = 4;
    VALUES_F64 = 7;
    /// The first word behind the header block; even, so that doubles can follow at once.
    HEADER_WORDS = 16;

    STATUS_OK = 0;
    /// Pack: the bytes are in the slab. Unpack never says this.
    STATUS_IN_SLAB = 1;
    /// Unpack: the tape is too short; try again with one of LENGTH_F64 words.
    STATUS_GROW = 2;
    /// Unpack: the root is a long array and this was a part of it; ROOT's block has its elements.
    /// Go on at OFFSET_F64 with the mode below.
    STATUS_MORE = 3;

    /// Look: there is nothing at the end of the path.
    STATUS_ABSENT = 4;

    FAULT_TRUNCATED = 16;
    FAULT_EXTRA_BYTES = 17;
    FAULT_INVALID_BYTE = 18;
    FAULT_INVALID_UTF8 = 19;
    FAULT_KEY = 20;
    FAULT_DEPTH = 21;
    FAULT_TIMESTAMP = 22;
    FAULT_TOO_LARGE = 23;
    FAULT_CHANGED = 24;
    FAULT_INPUT = 25;
    FAULT_INTERNAL = 26;
    FAULT_RECORD = 27;
    FAULT_REFERENCE = 28;
    FAULT_EXTENSION = 29;
    /// A text that is no JSON, or a number that JSON does not have.
    FAULT_JSON = 30;

    /// Pack, two bits: 0 never a float 32, or one of the next three.
    OPT_FLOAT32 = 3;
    FLOAT32_LOSSLESS = 1;
    FLOAT32_ALWAYS = 2;
    /// Where the reader can round it to the same decimal number.
    FLOAT32_FIT = 3;
    /// Pack: objects are records. Unpack: so are they on the wire.
    OPT_RECORDS = 4;
    /// Pack: the header of an object is a map 16 at least.
    OPT_MAP16 = 8;
    /// Pack: numbers outside 32 bits are floats.
    OPT_INT32 = 16;
    /// Pack: a BigInt takes its 64 bits however small it is.
    OPT_WIDE_BIGINT = 32;

    OPT_MAPS_MAP = 1;
    OPT_TIMESTAMPS = 2;
    OPT_UTF8_FATAL = 8;
    OPT_UTF8_RAW = 16;
    /// Two bits: 0 auto, 1 bigint, 2 number, 3 string.
    OPT_INT64_SHIFT = 5;
    /// Float 32 numbers are rounded to the decimal digits that they stand for.
    OPT_ROUND = 128;
    /// A record id that nothing defines is a fault, not the integer that it could be.
    OPT_STRICT_IDS = 256;
    /// Nil and booleans can be keys of an object, and a timestamp of one byte is a Date that is none.
    OPT_LENIENT = 512;
    /// What the message before has defined still holds.
    OPT_KEEP = 1024;

    // Options of JSON text.
    /// Two bits: how binary data are written; 0 is base64.
    OPT_BINARY = 3;
    BINARY_HEX = 1;
    BINARY_ARRAY = 2;
    /// NaN and the infinities are a fault, not null.
    OPT_THROW_NON_FINITE = 4;
    OPT_JSON_UTF8_FATAL = 8;
    /// Any number of values.
    OPT_MULTIPLE = 16;
    /// `{"$ext":…,"data":…}` is an ext again.
    OPT_READ_EXTS = 32;

    MODE_ONE = 0;
    MODE_FROM = 1;
    MODE_ALL = 2;
    /// The rest of a root array of which LENGTH_F64 elements are left (in, and out again).
    MODE_REST_OF_ONE = 3;
    MODE_REST_OF_FROM = 4;
    /// All messages up to one that is not complete or is damaged: STOPPED says which.
    MODE_STREAM = 5;

    /// Where the value starts: OFFSET_F64.
    LOOK_START = 0;
    /// And where it ends: LENGTH_F64.
    LOOK_END = 1;
    /// And what it is: TYPE.
    LOOK_TYPE = 2;
    /// And its length: LENGTH_F64, −1 if it has none.
    LOOK_LENGTH = 3;

    TYPE_NIL = 0;
    TYPE_BOOLEAN = 1;
    TYPE_INTEGER = 2;
    TYPE_FLOAT = 3;
    TYPE_STRING = 4;
    TYPE_BINARY = 5;
    TYPE_ARRAY = 6;
    TYPE_MAP = 7;
    TYPE_TIMESTAMP = 8;
    TYPE_EXT = 9;

    LEVEL_MAP = 1;
    /// Nothing in it has anything inside or a length of its own.
    LEVEL_FLAT = 2;

    /// A place is an offset times `PLACE_KINDS`, and one of these.
    PLACE_VALUE = 0;
    PLACE_ARRAY = 1;
    PLACE_MAP = 2;
    PLACE_KINDS = 4;

    // Tags of the pack tape.
    /// Payload: the integer, 28 bits signed.
    P_INT = 0;
    /// Payload: UTF-16 units, taken from the rope.
    P_STR = 1;
    /// Payload: shape id; its values follow, one for each key.
    P_SHAPE = 2;
    /// Payload: elements; they follow.
    P_ARRAY = 3;
    /// A number: a double at the next even word. Whether it goes out as an integer is Rust's choice.
    P_NUMBER = 4;
    /// Payload: one of the `CONST_…` values.
    P_CONST = 5;
    /// Payload: how many elements of the open array follow as plain 32-bit integers.
    P_INTS = 6;
    /// Payload: how many elements of the open array follow as doubles, from the next even word.
    P_NUMBERS = 7;
    /// Payload: pairs; key, value, key, value follow.
    P_MAP = 8;
    /// Payload: index into the refs; the next two words are the byte length seen, low and high.
    P_BIN = 9;
    /// Payload: index into the refs of a string that does not go through the rope. Next words: its
    /// UTF-16 units; 1 if it looks like ASCII.
    P_LONG_STR = 10;
    /// Payload: the ext type; next word the index into the refs of its data, then two of its length.
    P_EXT = 11;
    /// A Date: milliseconds as a double at the next even word.
    P_DATE = 12;
    /// Payload: 0 for a signed, 1 for an unsigned 64-bit integer at the next even word.
    P_BIGINT = 13;
    /// Nanoseconds in the next word, seconds as a 64-bit integer at the next even word behind it.
    P_TIMESTAMP = 14;
    /// Payload: one of the `PR_…` kinds.
    P_RARE = 15;

    /// An object whose keys are no shape, as a record. Next word: how many; the keys, then the values.
    PR_RECORD = 0;
    /// The next word is an ext type that the value behind it, a whole one, is tagged with.
    PR_TAG = 1;
    /// The value that follows is an object that may come again.
    PR_MARK = 2;
    /// An object that came before. Next word: the number of its mark.
    PR_REF = 3;
    /// A BigInt of more than 64 bits. Next word: its index in the refs.
    PR_BIGINT = 4;
    /// A typed array. Next words: its code, its index in the refs, its byte length, low and high.
    PR_TYPED = 5;
    /// The same as P_MAP for an object. Next word: pairs.
    PR_OBJECT = 6;
    /// A Map whose keys are a shape, which is the next word; its values follow.
    PR_SHAPED_MAP = 7;

    // Tags of the unpack tape.
    /// Payload: the integer, 28 bits signed.
    U_INT = 0;
    /// Payload: `offset << 12 | length` in the current Latin-1 block; offset 0 opens the next one.
    U_STR = 1;
    /// The same in the current UTF-16 block.
    U_WIDE_STR = 2;
    /// Payload: index of a block: shape id, then the values.
    U_OBJECT = 3;
    /// Payload: index of a block: count, then the elements.
    U_ARRAY = 4;
    /// Payload: index of a block: count, then plain 32-bit integers.
    U_INTS = 5;
    /// Payload: index of a block: count, then doubles. The block's index is odd.
    U_NUMBERS = 6;
    /// Payload: index of a double.
    U_NUMBER = 7;
    /// Payload: one of the `CONST_…` values.
    U_CONST = 8;
    /// The next of the message's texts, whole.
    U_LONG_STR = 9;
    /// Payload: index of a block: shape id of the keys known so far, how many those are, how many
    /// keys in all, the values of the known ones, then key, value, key, value.
    U_MAP = 10;
    /// Payload: index of a block: offset (low, high) and length of bytes of the input.
    U_BIN = 11;
    /// Payload: index of a block: ext type, offset (low, high), length; offset of the ext itself.
    U_EXT = 12;
    /// Payload: index of a double, milliseconds.
    U_DATE = 13;
    /// Payload: the id of a string that JavaScript holds.
    U_KNOWN_STR = 14;
    /// Payload: index of a block at an even word: two words, then one of the `RARE_…` kinds.
    U_RARE = 15;

    /// The two words are a 64-bit integer.
    RARE_INT64 = 0;
    RARE_UINT64 = 1;
    /// The same as decimal text.
    RARE_INT64_TEXT = 2;
    RARE_UINT64_TEXT = 3;
    /// The two words are seconds, the word behind the kind nanoseconds.
    RARE_TIMESTAMP = 4;
    /// The first word is the id that the next of the message's texts has from now on.
    RARE_NEW_STR = 5;
    /// A record whose names are no shape: the first word is the number of its structure, the second
    /// how many values follow the kind.
    RARE_RECORD = 6;
    /// A value with an ext type as its tag: the value's word, the type; behind the kind the ext's
    /// offset, low and high.
    RARE_TAG = 7;
    /// An object that is pointed at: its word, its id.
    RARE_ID = 8;
    /// The first word is the id of an object that came before; behind the kind the ext's offset.
    RARE_REF = 9;
    /// A BigInt as two's complement, big-endian: offset low and high; behind the kind its length.
    RARE_BIGINT = 10;
    /// A typed array: offset low and high of its bytes; behind the kind their length, its code, and
    /// the offset of the ext.
    RARE_TYPED = 11;

    // In the place of a key of a U_MAP block three tags mean something else.
    /// Payload: the id of a key that JavaScript holds.
    K_KNOWN = 3;
    /// Payload: index of a block: the key's own word, the id it has from now on.
    K_NEW = 4;
    /// Payload: index of a block: the own word of a key that objects inherit a property for.
    K_INHERITED = 5;

    CONST_NIL = 0;
    CONST_FALSE = 1;
    CONST_TRUE = 2;
    /// Pack: a property that is left out. Unpack: never.
    CONST_SKIP = 3;
    /// Unpack: '', [], {}.
    CONST_EMPTY_STR = 4;
    CONST_EMPTY_ARRAY = 5;
    CONST_EMPTY_MAP = 6;
    CONST_EMPTY_OBJECT = 7;
    /// Ext type 0, and a Date that is none.
    CONST_UNDEFINED = 8;
    CONST_INVALID_DATE = 9;

    // The ext types that msgpackr gave a meaning.
    EXT_UNDEFINED = 0;
    EXT_BIGINT = 0x42;
    EXT_BUNDLE = 0x62;
    EXT_ERROR = 0x65;
    EXT_ID = 0x69;
    EXT_POINTER = 0x70;
    EXT_RECORD = 0x72;
    EXT_SET = 0x73;
    EXT_TYPED = 0x74;
    EXT_REGEXP = 0x78;

    // What an ext type means to the parser; JavaScript says so for each type once.
    KIND_EXT = 0;
    /// A tag of any value, or of an array.
    KIND_TAG = 1;
    KIND_ARRAY_TAG = 2;
    KIND_UNDEFINED = 3;
    KIND_BIGINT = 4;
    KIND_TYPED = 5;
    KIND_RECORD = 6;
    KIND_ID = 7;
    KIND_POINTER = 8;
    KIND_REFUSED = 9;
    KIND_BUNDLE = 10;
    /// Bytes, whatever the type means otherwise.
    KIND_OWN = 11;

    /// Bits of the length in a string word of the unpack tape; the rest is the offset.
    STR_LENGTH_BITS = 12;
}

/// A double of the header block.
pub fn header_f64(words: &[i32], index: i32) -> f64 {
    let at = 2 * index as usize;
    f64::from_bits(u64::from(words[at] as u32) | u64::from(words[at + 1] as u32) << 32)
}

pub fn set_header_f64(words: &mut [i32], index: i32, value: f64) {
    let (at, bits) = (2 * index as usize, value.to_bits());
    words[at] = bits as i32;
    words[at + 1] = (bits >> 32) as i32;
}

/// What went wrong, as one of the `FAULT_…` codes, and at which byte of the input (unpack).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub code: i32,
    pub offset: usize,
}

impl Fault {
    #[cold]
    pub fn at(code: i32, offset: usize) -> Fault {
        Fault { code, offset }
    }
}
