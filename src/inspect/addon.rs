//! The inspector at the addon's edge.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use super::inspector;
use super::page::Style;

#[napi]
pub struct Inspector {
    inner: inspector::Inspector,
}

#[napi]
impl Inspector {
    #[napi(constructor)]
    pub fn new(colours: bool, hex: bool, max_depth: u32) -> Self {
        let style = Style { colours, hex };
        Inspector { inner: inspector::Inspector::new(style, max_depth as usize) }
    }

    #[napi(catch_unwind)]
    pub fn write(&mut self, piece: &[u8]) -> Buffer {
        self.inner.write(piece).into_bytes().into()
    }

    #[napi(catch_unwind)]
    pub fn end(&mut self) -> Buffer {
        self.inner.end().into_bytes().into()
    }

    /// A `FAULT_…` code, or 0.
    #[napi]
    pub fn fault_code(&self) -> i32 {
        self.inner.fault().map_or(0, |fault| fault.0)
    }

    #[napi]
    pub fn fault_offset(&self) -> f64 {
        self.inner.fault().map_or(0, |fault| fault.1) as f64
    }
}
