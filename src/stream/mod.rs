//! Messages that arrive in pieces.

pub mod scan;
