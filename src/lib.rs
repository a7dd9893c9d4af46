//! msgpack-rs, the Rust half. `pack` and `unpack` hold one direction each, both languages side by
//! side; `tape` is what they agree on. Only the modules called `addon` know Node-API.

mod addon;
pub mod inspect;
pub mod look;
mod memory;
pub mod pack;
pub mod pool;
pub mod stream;
pub mod tape;
pub mod token;
pub mod transcode;
pub mod unpack;
pub mod wire;

use std::rc::Rc;

use napi::bindgen_prelude::{JsValue, Object, Result};
use napi_derive::napi;

/// Called once for every environment (the main thread, each worker) that loads the addon.
#[napi(module_exports)]
pub fn init(exports: Object) -> Result<()> {
    let env = exports.value().env;
    // SAFETY: Node hands over a live environment and its exports object.
    unsafe {
        addon::add_function(
            env,
            exports.raw(),
            c"createPacker",
            pack::addon::create_packer,
            Rc::new(()),
        )?;
        addon::add_function(
            env,
            exports.raw(),
            c"createParser",
            unpack::addon::create_parser,
            Rc::new(()),
        )?;
        addon::add_function(
            env,
            exports.raw(),
            c"createTranscoder",
            transcode::addon::create_transcoder,
            Rc::new(()),
        )?;
        addon::add_function(
            env,
            exports.raw(),
            c"createLooker",
            look::addon::create_looker,
            Rc::new(()),
        )
    }
}

/// Name and value of every constant of the tape, for the test that compares them with `tape.js`.
#[napi]
pub fn tape_layout() -> Vec<(String, i32)> {
    tape::LAYOUT.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

/// The version this binary was built from; the loader refuses one that is not its own.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
