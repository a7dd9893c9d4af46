//! Node-API by hand, for the functions that are called once a message: the wrapper that `#[napi]`
//! generates costs as much as a small message does.
//!
//! State belongs to the functions (their data pointer), never to a `static`, so that every
//! environment and every codec has its own.

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::Rc;

use napi::sys::{self, napi_callback_info, napi_env, napi_value};
use napi::{Error, Result, Status};

use crate::memory;
use crate::tape::Fault;

/// A hand-written function: its state, the environment, its arguments.
pub type Body<T, const N: usize> = fn(&T, napi_env, [napi_value; N]) -> Result<napi_value>;

pub fn check(status: sys::napi_status) -> Result<()> {
    if status == sys::Status::napi_ok {
        Ok(())
    } else {
        Err(Error::new(Status::from(status), "Node-API call failed"))
    }
}

/// Adds a function with `state` to `target`. The state lives as long as one of its functions.
///
/// # Safety
/// `env` is live and `target` one of its objects.
pub unsafe fn add_function<T>(
    env: napi_env,
    target: napi_value,
    name: &CStr,
    callback: unsafe extern "C" fn(napi_env, napi_callback_info) -> napi_value,
    state: Rc<T>,
) -> Result<()> {
    let data = Rc::into_raw(state).cast_mut().cast::<c_void>();
    let mut function = null_mut();
    // SAFETY: the caller's promise; `data` is freed by the finalizer, which comes after every call.
    unsafe {
        check(sys::napi_create_function(
            env,
            name.as_ptr(),
            name.count_bytes() as isize,
            Some(callback),
            data,
            &mut function,
        ))?;
        check(sys::napi_add_finalizer(
            env,
            function,
            data,
            Some(free_rc::<T>),
            null_mut(),
            null_mut(),
        ))?;
        check(sys::napi_set_named_property(env, target, name.as_ptr(), function))
    }
}

unsafe extern "C" fn free_rc<T>(_: napi_env, data: *mut c_void, _: *mut c_void) {
    // SAFETY: `data` came from `Rc::into_raw` of this type, once for each finalizer.
    drop(unsafe { Rc::from_raw(data.cast::<T>()) });
}

/// Runs a function's body: fetches its arguments and state, and turns a panic or an error into a
/// JavaScript exception. Nothing unwinds into Node.
///
/// # Safety
/// Called by Node with the environment and info of a call to a function that `add_function` made
/// with state of type `T`.
#[inline(always)]
pub unsafe fn call<T, const N: usize>(
    env: napi_env,
    info: napi_callback_info,
    body: Body<T, N>,
) -> napi_value {
    let mut count = N;
    let mut arguments = [null_mut(); N];
    let mut data = null_mut();
    // SAFETY: Node's own call; `arguments` has room for `count`.
    let status = unsafe {
        sys::napi_get_cb_info(env, info, &mut count, arguments.as_mut_ptr(), null_mut(), &mut data)
    };
    if status != sys::Status::napi_ok {
        return null_mut();
    }
    // SAFETY: the function holds one count of the Rc, so the state is alive during its call.
    let state = unsafe { &*data.cast::<T>() };
    match catch_unwind(AssertUnwindSafe(|| body(state, env, arguments))) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => throw(env, &error.reason),
        Err(payload) => throw(env, memory::reason(&*payload)),
    }
}

#[cold]
fn throw(env: napi_env, reason: &str) -> napi_value {
    let message = format!("msgpack-rs: {reason}\0");
    let mut pending = false;
    // SAFETY: `env` is live during a call; both strings end in NUL.
    unsafe {
        sys::napi_is_exception_pending(env, &mut pending);
        if !pending {
            sys::napi_throw_error(env, c"ERR_MSGPACK_INTERNAL".as_ptr(), message.as_ptr().cast());
        }
    }
    null_mut()
}

/// Fetches as much of a string as fits, as UTF-8, and returns the bytes. V8 is fast at this only
/// while the text is ASCII, and only with three bytes of room for every unit.
pub fn fetch_utf8(env: napi_env, string: napi_value, to: &mut [u8]) -> Result<usize> {
    let mut copied = 0;
    // SAFETY: Node writes no more than it is told there is room for.
    check(unsafe {
        sys::napi_get_value_string_utf8(env, string, to.as_mut_ptr().cast(), to.len(), &mut copied)
    })?;
    Ok(copied)
}

/// Fetches all of a string, which has so many units.
pub fn fetch_utf16(env: napi_env, string: napi_value, units: usize, to: &mut [u16]) -> Result<()> {
    assert!(to.len() > units);
    // SAFETY: room for the text and the NUL behind it.
    unsafe { fetch_units(env, string, units, to.as_mut_ptr()) }
}

/// The same to memory that need not be initialized.
///
/// # Safety
/// `to` has room for a unit more.
pub unsafe fn fetch_units(
    env: napi_env,
    string: napi_value,
    units: usize,
    to: *mut u16,
) -> Result<()> {
    let mut copied = 0;
    // SAFETY: passed on.
    check(unsafe { sys::napi_get_value_string_utf16(env, string, to, units + 1, &mut copied) })?;
    if copied != units {
        return Err(Error::from_reason("a string's length"));
    }
    Ok(())
}

fn string(env: napi_env, value: napi_value) -> Result<String> {
    let mut len = 0;
    // SAFETY: without a buffer Node only counts.
    check(unsafe { sys::napi_get_value_string_utf8(env, value, null_mut(), 0, &mut len) })?;
    let mut bytes = vec![0u8; len + 1];
    let copied = fetch_utf8(env, value, &mut bytes)?;
    bytes.truncate(copied);
    String::from_utf8(bytes).map_err(|_| Error::from_reason("a key's text"))
}

pub fn array_length(env: napi_env, array: napi_value) -> Result<u32> {
    let mut length = 0;
    // SAFETY: Node checks the type.
    check(unsafe { sys::napi_get_array_length(env, array, &mut length) })?;
    Ok(length)
}

pub fn element(env: napi_env, array: napi_value, index: u32) -> Result<napi_value> {
    let mut value = null_mut();
    // SAFETY: Node checks the type.
    check(unsafe { sys::napi_get_element(env, array, index, &mut value) })?;
    Ok(value)
}

/// The strings of a JavaScript array.
pub fn strings(env: napi_env, array: napi_value) -> Result<Vec<String>> {
    (0..array_length(env, array)?).map(|index| string(env, element(env, array, index)?)).collect()
}

pub fn integer(env: napi_env, value: napi_value) -> Result<u32> {
    let mut integer = 0;
    // SAFETY: Node checks the type.
    check(unsafe { sys::napi_get_value_uint32(env, value, &mut integer) })?;
    Ok(integer)
}

/// A JavaScript array of these strings.
pub fn string_array(env: napi_env, strings: Vec<&str>) -> Result<napi_value> {
    let mut array = null_mut();
    // SAFETY: a live environment and its own values.
    unsafe {
        check(sys::napi_create_array_with_length(env, strings.len(), &mut array))?;
        for (index, text) in strings.iter().enumerate() {
            let mut string = null_mut();
            check(sys::napi_create_string_utf8(
                env,
                text.as_ptr().cast(),
                text.len() as isize,
                &mut string,
            ))?;
            check(sys::napi_set_element(env, array, index as u32, string))?;
        }
    }
    Ok(array)
}

/// The bytes of an `ArrayBuffer`.
///
/// # Safety
/// `value` is an ArrayBuffer of this environment. The pointer is good for as long as JavaScript
/// neither detaches it nor lets go of it.
pub unsafe fn array_buffer(env: napi_env, value: napi_value) -> Result<(*mut u8, usize)> {
    let (mut data, mut len) = (null_mut(), 0);
    // SAFETY: the caller's promise.
    check(unsafe { sys::napi_get_arraybuffer_info(env, value, &mut data, &mut len) })?;
    Ok((data.cast(), len))
}

/// The bytes of a `Uint8Array`, `None` for anything that is none.
///
/// # Safety
/// The slice must be gone before JavaScript runs again.
#[inline(always)]
pub unsafe fn bytes<'a>(env: napi_env, value: napi_value) -> Option<&'a [u8]> {
    let (mut kind, mut len, mut data) = (0, 0, null_mut());
    // SAFETY: Node checks the type; the out-pointers are ours.
    let status = unsafe {
        sys::napi_get_typedarray_info(
            env,
            value,
            &mut kind,
            &mut len,
            &mut data,
            null_mut(),
            null_mut(),
        )
    };
    if status != sys::Status::napi_ok || kind != sys::TypedarrayType::uint8_array {
        return None;
    }
    if len == 0 || data.is_null() {
        return Some(&[]);
    }
    // SAFETY: Node says that `len` bytes are there; the caller keeps JavaScript from running.
    Some(unsafe { std::slice::from_raw_parts(data.cast(), len) })
}

/// The same for input that is parsed where it is: `None` also for shared memory, which another
/// thread may write meanwhile, and for a view without bytes, which may be a detached one.
///
/// # Safety
/// The slice must be gone before JavaScript runs again.
#[inline(always)]
pub unsafe fn private_bytes<'a>(env: napi_env, value: napi_value) -> Option<&'a [u8]> {
    let (mut kind, mut len, mut data, mut buffer) = (0, 0, null_mut(), null_mut());
    let mut private = false;
    // SAFETY: Node checks the type; the out-pointers are ours.
    unsafe {
        let status = sys::napi_get_typedarray_info(
            env,
            value,
            &mut kind,
            &mut len,
            &mut data,
            &mut buffer,
            null_mut(),
        );
        if status != sys::Status::napi_ok || kind != sys::TypedarrayType::uint8_array {
            return None;
        }
        if sys::napi_is_arraybuffer(env, buffer, &mut private) != sys::Status::napi_ok || !private {
            return None;
        }
    }
    if len == 0 || data.is_null() {
        return None;
    }
    // SAFETY: Node says that `len` bytes are there; the caller keeps JavaScript from running.
    Some(unsafe { std::slice::from_raw_parts(data.cast(), len) })
}

/// An object with numbers as its properties.
pub fn numbers(env: napi_env, properties: &[(&CStr, f64)]) -> Result<napi_value> {
    let mut object = null_mut();
    // SAFETY: a live environment and its own values.
    unsafe {
        check(sys::napi_create_object(env, &mut object))?;
        for (name, number) in properties {
            let mut value = null_mut();
            check(sys::napi_create_double(env, *number, &mut value))?;
            check(sys::napi_set_named_property(env, object, name.as_ptr(), value))?;
        }
    }
    Ok(object)
}

/// A fault as an object with `code` and `offset`.
pub fn fault_value(env: napi_env, fault: Fault) -> Result<napi_value> {
    numbers(env, &[(c"code", f64::from(fault.code)), (c"offset", fault.offset as f64)])
}

/// The memory of a `Uint8Array` that is to be written, and its length in bytes.
pub fn target_memory(env: napi_env, target: napi_value) -> Result<(*mut u8, usize)> {
    let (mut kind, mut len, mut data) = (0, 0, null_mut());
    // SAFETY: Node checks the type; the out-pointers are ours.
    check(unsafe {
        sys::napi_get_typedarray_info(
            env,
            target,
            &mut kind,
            &mut len,
            &mut data,
            null_mut(),
            null_mut(),
        )
    })?;
    Ok((data.cast(), len))
}

/// The same as a slice.
///
/// # Safety
/// The slice must be gone before JavaScript runs again, and nobody else has one of the same memory.
pub unsafe fn target_bytes<'a>(env: napi_env, value: napi_value) -> Result<&'a mut [u8]> {
    let (data, len) = target_memory(env, value)?;
    if len == 0 || data.is_null() {
        return Ok(&mut []);
    }
    // SAFETY: Node says that `len` bytes are there; the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts_mut(data, len) })
}
