//! Memory in proportion to a message, which may not be there. Where an allocation fails Rust ends
//! the process; what a message asks for must end in an error instead.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::tape::{FAULT_TOO_LARGE, Fault};

/// What unwinds to [`attempt`].
struct Refused;

/// Room for `more` elements behind those that `vec` has.
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) {
    if vec.try_reserve(more).is_err() {
        refuse();
    }
}

/// `len` elements, the new ones as they are by default.
pub fn resize<T: Clone + Default>(vec: &mut Vec<T>, len: usize) {
    reserve(vec, len.saturating_sub(vec.len()));
    vec.resize(len, T::default());
}

/// One more element.
#[inline(always)]
pub fn push<T>(vec: &mut Vec<T>, element: T) {
    if vec.len() == vec.capacity() {
        reserve(vec, 1);
    }
    vec.push(element);
}

/// Gives back what is more than so many bytes: only an outlier needed it.
pub fn trim<T>(vec: &mut Vec<T>, keep_bytes: usize) {
    if vec.capacity() * size_of::<T>() > keep_bytes {
        *vec = Vec::new();
    }
}

/// A copy.
pub fn copy<T: Copy>(from: &[T]) -> Vec<T> {
    let mut vec = Vec::new();
    reserve(&mut vec, from.len());
    vec.extend_from_slice(from);
    vec
}

/// What JavaScript is told of where nothing else can be returned; it makes an error of its own of it.
pub const REFUSED: &str = "memory is refused";

/// What the error says for what has unwound as far as that.
pub fn reason(payload: &(dyn Any + Send)) -> &'static str {
    if payload.is::<Refused>() { REFUSED } else { "a panic in the addon; please report it" }
}

/// Unwinds, but not as a panic: nothing is printed.
#[cold]
fn refuse() -> ! {
    resume_unwind(Box::new(Refused))
}

/// Runs `body` on `state`; memory that it is refused is a fault, and what it has half changed by then
/// is for `undo`.
pub fn attempt<S, R, E: From<Fault>>(
    state: &mut S,
    body: impl FnOnce(&mut S) -> Result<R, E>,
    undo: impl FnOnce(&mut S),
) -> Result<R, E> {
    match catch_unwind(AssertUnwindSafe(|| body(state))) {
        Ok(result) => result,
        Err(payload) if payload.is::<Refused>() => {
            undo(state);
            Err(Fault::at(FAULT_TOO_LARGE, 0).into())
        }
        Err(payload) => resume_unwind(payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_there_is_a_fault() {
        let mut vec = vec![1u64];
        for more in [usize::MAX, isize::MAX as usize, 1 << 58] {
            // Miri does not refuse, it ends.
            if cfg!(miri) && more == 1 << 58 {
                continue;
            }
            let result: Result<(), Fault> = attempt(
                &mut vec,
                |vec| {
                    vec.push(2);
                    reserve(vec, more);
                    Ok(())
                },
                |vec| vec.truncate(1),
            );
            assert_eq!(result, Err(Fault::at(FAULT_TOO_LARGE, 0)));
            assert_eq!(vec, [1]);
        }
        resize(&mut vec, 3);
        assert_eq!(vec, [1, 0, 0]);
        push(&mut vec, 7);
        assert_eq!(vec, [1, 0, 0, 7]);
        vec.shrink_to_fit();
        trim(&mut vec, 32);
        assert_eq!(vec, [1, 0, 0, 7]);
        trim(&mut vec, 31);
        assert_eq!(vec.capacity(), 0);
    }

    #[test]
    #[should_panic(expected = "another")]
    fn a_panic_stays_one() {
        let _: Result<(), Fault> = attempt(&mut (), |()| panic!("another"), |()| ());
    }
}
