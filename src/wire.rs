//! MessagePack's own table: the first byte of every value and the widths behind it.
//! <https://github.com/msgpack/msgpack/blob/master/spec.md#formats>

pub const FIXMAP: u8 = 0x80;
pub const FIXARRAY: u8 = 0x90;
pub const FIXSTR: u8 = 0xa0;
pub const NIL: u8 = 0xc0;
/// The one byte that the specification never uses.
pub const NEVER_USED: u8 = 0xc1;
pub const FALSE: u8 = 0xc2;
pub const TRUE: u8 = 0xc3;
pub const BIN8: u8 = 0xc4;
pub const BIN16: u8 = 0xc5;
pub const BIN32: u8 = 0xc6;
pub const EXT8: u8 = 0xc7;
pub const EXT16: u8 = 0xc8;
pub const EXT32: u8 = 0xc9;
pub const FLOAT32: u8 = 0xca;
pub const FLOAT64: u8 = 0xcb;
pub const UINT8: u8 = 0xcc;
pub const UINT16: u8 = 0xcd;
pub const UINT32: u8 = 0xce;
pub const UINT64: u8 = 0xcf;
pub const INT8: u8 = 0xd0;
pub const INT16: u8 = 0xd1;
pub const INT32: u8 = 0xd2;
pub const INT64: u8 = 0xd3;
pub const FIXEXT1: u8 = 0xd4;
pub const FIXEXT2: u8 = 0xd5;
pub const FIXEXT4: u8 = 0xd6;
pub const FIXEXT8: u8 = 0xd7;
pub const FIXEXT16: u8 = 0xd8;
pub const STR8: u8 = 0xd9;
pub const STR16: u8 = 0xda;
pub const STR32: u8 = 0xdb;
pub const ARRAY16: u8 = 0xdc;
pub const ARRAY32: u8 = 0xdd;
pub const MAP16: u8 = 0xde;
pub const MAP32: u8 = 0xdf;
pub const NEGATIVE_FIXINT: u8 = 0xe0;

/// What the specification calls the format that starts with `byte`.
pub fn format_name(byte: u8) -> &'static str {
    match byte {
        0x00..=0x7f => "positive fixint",
        FIXMAP..=0x8f => "fixmap",
        FIXARRAY..=0x9f => "fixarray",
        FIXSTR..=0xbf => "fixstr",
        NIL => "nil",
        NEVER_USED => "(never used)",
        FALSE => "false",
        TRUE => "true",
        BIN8 => "bin 8",
        BIN16 => "bin 16",
        BIN32 => "bin 32",
        EXT8 => "ext 8",
        EXT16 => "ext 16",
        EXT32 => "ext 32",
        FLOAT32 => "float 32",
        FLOAT64 => "float 64",
        UINT8 => "uint 8",
        UINT16 => "uint 16",
        UINT32 => "uint 32",
        UINT64 => "uint 64",
        INT8 => "int 8",
        INT16 => "int 16",
        INT32 => "int 32",
        INT64 => "int 64",
        FIXEXT1 => "fixext 1",
        FIXEXT2 => "fixext 2",
        FIXEXT4 => "fixext 4",
        FIXEXT8 => "fixext 8",
        FIXEXT16 => "fixext 16",
        STR8 => "str 8",
        STR16 => "str 16",
        STR32 => "str 32",
        ARRAY16 => "array 16",
        ARRAY32 => "array 32",
        MAP16 => "map 16",
        MAP32 => "map 32",
        NEGATIVE_FIXINT..=0xff => "negative fixint",
    }
}

/// The ext type of a timestamp.
pub const TIMESTAMP: i8 = -1;
pub const MAX_NANOSECONDS: u32 = 999_999_999;

/// 2^53 - 1: the largest integer that a JavaScript number and the next one up do not share.
pub const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// How one integer goes out: `marker`, then `len - 1` bytes. A fixint has no marker of its own, so
/// its `at` is 0: the value overwrites the marker, and no branch is needed to tell the two apart.
#[derive(Clone, Copy)]
pub struct IntForm {
    pub marker: u8,
    /// Where the value's bytes start behind the first byte of the form.
    pub at: u8,
    /// Bytes in all.
    pub len: u8,
    /// How far left the value moves so that its bytes are the first ones of a big-endian u64.
    pub shift: u8,
}

const fn int_form(marker: u8, bytes: u8) -> IntForm {
    IntForm { marker, at: 1, len: 1 + bytes, shift: 64 - 8 * bytes }
}

const FIXINT: IntForm = IntForm { marker: 0, at: 0, len: 1, shift: 56 };

/// The shortest form of a non-negative integer, by its significant bits (0..=64).
pub static UNSIGNED_FORMS: [IntForm; 65] = {
    let mut forms = [FIXINT; 65];
    let mut bits = 8;
    while bits <= 64 {
        forms[bits] = match bits {
            8 => int_form(UINT8, 1),
            9..=16 => int_form(UINT16, 2),
            17..=32 => int_form(UINT32, 4),
            _ => int_form(UINT64, 8),
        };
        bits += 1;
    }
    forms
};

/// The same where the integers from 64 to 127 are ids of records when they stand alone: all of them
/// have seven bits.
pub static RECORD_FORMS: [IntForm; 65] = {
    let mut forms = UNSIGNED_FORMS;
    forms[7] = int_form(UINT8, 1);
    forms
};

/// The shortest form of a negative integer, by the significant bits of its complement (0..=63).
pub static NEGATIVE_FORMS: [IntForm; 65] = {
    let mut forms = [FIXINT; 65];
    let mut bits = 6;
    while bits <= 64 {
        forms[bits] = match bits {
            6..=7 => int_form(INT8, 1),
            8..=15 => int_form(INT16, 2),
            16..=31 => int_form(INT32, 4),
            _ => int_form(INT64, 8),
        };
        bits += 1;
    }
    forms
};

/// How one integer comes in, by its first byte: the mirror of [`IntForm`]. `len` is 0 where the
/// byte is no integer. A fixint reads itself as an int 8, which both of its ranges are.
#[derive(Clone, Copy)]
pub struct IntRead {
    pub len: u8,
    pub at: u8,
    pub shift: u8,
    /// All ones for a signed form, 0 for an unsigned one.
    pub signed: i8,
}

impl IntRead {
    /// The integer whose big-endian bytes start `bits`, without a branch on its sign. One of more
    /// than 63 bits (unsigned, and negative here) is out of the safe range either way.
    #[inline(always)]
    pub fn int(self, bits: u64) -> i64 {
        let logical = (bits >> self.shift) as i64;
        let arithmetic = bits as i64 >> self.shift;
        logical ^ ((logical ^ arithmetic) & i64::from(self.signed))
    }

    /// Whether `int` is what the wire says: false for unsigned integers past 63 bits.
    #[inline(always)]
    pub fn fits(self, int: i64) -> bool {
        (int >= 0) | (self.signed != 0)
    }
}

/// The same where the fixints from 64 to 127 are ids of records.
pub static RECORD_INT_READS: [IntRead; 256] = {
    let mut reads = INT_READS;
    let mut byte = 0x40;
    while byte <= 0x7f {
        reads[byte].len = 0;
        byte += 1;
    }
    reads
};

pub static INT_READS: [IntRead; 256] = {
    let mut reads = [IntRead { len: 0, at: 0, shift: 0, signed: 0 }; 256];
    let mut byte = 0;
    while byte < 256 {
        let (bytes, signed) = match byte as u8 {
            0x00..=0x7f | NEGATIVE_FIXINT..=0xff => {
                reads[byte] = IntRead { len: 1, at: 0, shift: 56, signed: -1 };
                (0, true)
            }
            UINT8 => (1, false),
            UINT16 => (2, false),
            UINT32 => (4, false),
            UINT64 => (8, false),
            INT8 => (1, true),
            INT16 => (2, true),
            INT32 => (4, true),
            INT64 => (8, true),
            _ => (0, false),
        };
        if bytes > 0 {
            reads[byte] = IntRead {
                len: 1 + bytes,
                at: 1,
                shift: 64 - 8 * bytes,
                signed: if signed { -1 } else { 0 },
            };
        }
        byte += 1;
    }
    reads
};
