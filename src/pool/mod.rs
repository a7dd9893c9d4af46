//! Work on libuv's threads, for the functions that return promises.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use napi::bindgen_prelude::{AsyncTask, ToNapiValue};
use napi::sys::{self, napi_callback_info, napi_env, napi_value};
use napi::{Env, Error, Result, Task};

use crate::addon::{add_function, call, check};
use crate::memory;

/// What is done on another thread, and made a value of on JavaScript's.
pub trait Job: Send + Sized + 'static {
    fn run(&mut self);
    fn finish(self, env: napi_env) -> Result<napi_value>;
}

/// Begins a job: an object with a `promise` of what it comes to, and a function `cancel`. Cancelled
/// work that no thread has begun is not done, and the promise is rejected.
pub(crate) fn start<J: Job>(env: napi_env, job: J) -> Result<napi_value> {
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let work = Work { job: Some(job), is_cancelled: is_cancelled.clone() };
    let mut started = null_mut();
    // SAFETY: `env` is live and the object its own.
    unsafe {
        check(sys::napi_create_object(env, &mut started))?;
        add_function(env, started, c"cancel", cancel, Rc::new(is_cancelled))?;
        let promise = AsyncTask::to_napi_value(env, AsyncTask::new(work))?;
        check(sys::napi_set_named_property(env, started, c"promise".as_ptr(), promise))?;
    }
    Ok(started)
}

unsafe extern "C" fn cancel(env: napi_env, info: napi_callback_info) -> napi_value {
    fn body(
        is_cancelled: &Arc<AtomicBool>,
        _: napi_env,
        []: [napi_value; 0],
    ) -> Result<napi_value> {
        is_cancelled.store(true, Ordering::Relaxed);
        Ok(null_mut())
    }
    // SAFETY: made by `start` with this state.
    unsafe { call(env, info, body) }
}

struct Work<J> {
    job: Option<J>,
    is_cancelled: Arc<AtomicBool>,
}

/// A value that `finish` returned; nothing is `undefined`.
pub struct Finished(napi_value);

impl ToNapiValue for Finished {
    unsafe fn to_napi_value(env: napi_env, Finished(value): Self) -> Result<napi_value> {
        if !value.is_null() {
            return Ok(value);
        }
        // SAFETY: `env` is live.
        unsafe { ToNapiValue::to_napi_value(env, ()) }
    }
}

impl napi::bindgen_prelude::TypeName for Finished {
    fn type_name() -> &'static str {
        "Finished"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::Unknown
    }
}

impl<J: Job> Task for Work<J> {
    type Output = ();
    type JsValue = Finished;

    fn compute(&mut self) -> Result<()> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(Error::from_reason("cancelled"));
        }
        let run = || self.job.as_mut().map(Job::run);
        // Nothing unwinds into libuv.
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(_) => Ok(()),
            Err(payload) => Err(Error::from_reason(memory::reason(&*payload))),
        }
    }

    fn resolve(&mut self, env: Env, (): ()) -> Result<Finished> {
        let job = self.job.take().ok_or_else(|| Error::from_reason("a job that is done"))?;
        job.finish(env.raw()).map(Finished)
    }
}

/// A value of one thread that travels with a job, and is touched on its own thread only.
pub struct MainThread<T> {
    value: Option<T>,
    home: ThreadId,
}

// SAFETY: the value is reached through `into_inner` and dropped only on the thread it came from.
unsafe impl<T> Send for MainThread<T> {}

impl<T> MainThread<T> {
    pub fn new(value: T) -> MainThread<T> {
        MainThread { value: Some(value), home: thread::current().id() }
    }

    pub fn into_inner(mut self) -> Option<T> {
        assert_eq!(thread::current().id(), self.home);
        self.value.take()
    }
}

impl<T> Drop for MainThread<T> {
    fn drop(&mut self) {
        // Elsewhere it is better lost than freed.
        if thread::current().id() != self.home {
            std::mem::forget(self.value.take());
        }
    }
}
