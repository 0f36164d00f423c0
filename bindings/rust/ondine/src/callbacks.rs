//! Closures that the library calls. It knows them by numbers that are never given twice, so that one
//! that is gone is found without touching memory. Panics do not cross the library: they go on where
//! the call returns.
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_int};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use ondine_sys as sys;

use crate::data::Row;
use crate::json::Json;
use crate::lent::Lent;
use crate::trainer::Metric;
use crate::{DType, Error, Result};

type Payload = Box<dyn Any + Send>;

pub(crate) enum Failure {
    Panic(Payload),
    Error(String),
}

pub(crate) type ReportCall<'a> = Box<dyn FnMut(&Json) -> ControlFlow<()> + Send + 'a>;
pub(crate) type PieceCall<'a> = Box<dyn FnMut(&str) -> ControlFlow<()> + Send + 'a>;
pub(crate) type TextCall<'a> = Box<dyn FnMut(&str) + Send + 'a>;
type RowCall = Box<dyn FnMut(u64, &mut Row) -> Result<()> + Send>;
type ExternalCall = Box<dyn FnMut(&str, u64, &mut [u8]) -> Result<()> + Send>;

pub(crate) enum Call {
    Text(TextCall<'static>),
    Piece(PieceCall<'static>),
    Report(ReportCall<'static>),
    Progress(Box<dyn FnMut(f64) -> ControlFlow<()> + Send>),
    Wait(Box<dyn FnMut() -> ControlFlow<()> + Send>),
    Row(RowCall, Vec<(DType, usize)>),
    Metric(Box<dyn Metric + Send>),
    External(ExternalCall),
    Finetune {
        assumed: TextCall<'static>,
        step: Option<ReportCall<'static>>,
        epoch: Option<ReportCall<'static>>,
    },
}

type Shared = Arc<Mutex<Call>>;

static CALLS: Mutex<(usize, BTreeMap<usize, Shared>)> = Mutex::new((0, BTreeMap::new()));
static FAILURES: Mutex<BTreeMap<c_int, Failure>> = Mutex::new(BTreeMap::new());
static FAILED: AtomicI32 = AtomicI32::new(0);
const MOST_FAILURES: usize = 64; // that no call asked for

thread_local! {
    static PENDING: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A closure that is known to the library until this is dropped.
pub(crate) struct Registered(usize);

impl Registered {
    pub(crate) fn new(call: Call) -> Registered {
        let mut calls = locked(&CALLS);
        calls.0 += 1;
        let number = calls.0;
        calls.1.insert(number, Arc::new(Mutex::new(call)));
        Registered(number)
    }

    pub(crate) fn user(&self) -> *mut c_void {
        self.0 as *mut c_void
    }

    /// The library calls `forget` in the end.
    pub(crate) fn into_user(self) -> *mut c_void {
        let user = self.user();
        std::mem::forget(self);
        user
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let gone = locked(&CALLS).1.remove(&self.0);
        drop(gone); // after the lock: it may drop objects that have closures themselves
    }
}

pub(crate) unsafe extern "C" fn forget(user: *mut c_void) {
    let _ = catch_unwind(|| drop(Registered(user as usize)));
}

/// Drops a vector that the library used as elements.
pub(crate) unsafe extern "C" fn release_owner(user: *mut c_void) {
    let _ =
        catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(user as *mut Box<dyn Any + Send>))));
}

/// What a callback of this thread failed with that could not tell the library.
pub(crate) fn take_pending() -> Option<Failure> {
    PENDING.with(|slot| slot.borrow_mut().take())
}

fn remember(failure: Failure) -> c_int {
    PENDING.with(|slot| *slot.borrow_mut() = Some(failure));
    1
}

/// What the callback failed with whose number the reason of an error names.
pub(crate) fn take_failure(reason: &str) -> Option<Failure> {
    let (_, number) = reason.rsplit_once("callback returned ")?;
    locked(&FAILURES).remove(&number.parse().ok()?)
}

fn failed(failure: Failure) -> c_int {
    let number = FAILED.fetch_add(1, Ordering::Relaxed).rem_euclid(i32::MAX - 1) + 2;
    let mut failures = locked(&FAILURES);
    failures.insert(number, failure);
    if failures.len() > MOST_FAILURES {
        failures.pop_first();
    }
    number
}

/// Runs a closure by its number. `None`: it is gone or runs already.
fn with<T>(user: *mut c_void, work: impl FnOnce(&mut Call) -> T) -> std::thread::Result<Option<T>> {
    let found = locked(&CALLS).1.get(&(user as usize)).cloned();
    catch_unwind(AssertUnwindSafe(|| {
        let shared = found?;
        let mut call = match shared.try_lock() {
            Ok(call) => call,
            Err(TryLockError::Poisoned(call)) => call.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(work(&mut call))
    }))
}

fn stops(user: *mut c_void, work: impl FnOnce(&mut Call) -> ControlFlow<()>) -> c_int {
    match with(user, work) {
        Ok(Some(ControlFlow::Continue(()))) => 0,
        Ok(_) => 1,
        Err(payload) => remember(Failure::Panic(payload)),
    }
}

fn fails(user: *mut c_void, work: impl FnOnce(&mut Call) -> Result<()>) -> c_int {
    match with(user, work) {
        Ok(Some(Ok(()))) => 0,
        Ok(Some(Err(error))) => failed(Failure::Error(error.to_string())),
        Ok(None) => failed(Failure::Error("the callback is gone or runs already".into())),
        Err(payload) => failed(Failure::Panic(payload)),
    }
}

fn kind<T>() -> Result<T> {
    Err(Error::new(crate::Code::Internal, "a callback of another kind"))
}

const STOP: ControlFlow<()> = ControlFlow::Break(());

pub(crate) unsafe extern "C" fn text(user: *mut c_void, text: *const c_char) {
    let line = crate::error::text_at(text);
    stops(user, |call| {
        match call {
            Call::Text(say) => say(&line),
            Call::Finetune { assumed, .. } => assumed(&line),
            _ => return STOP,
        }
        ControlFlow::Continue(())
    });
}

pub(crate) unsafe extern "C" fn piece(
    user: *mut c_void,
    piece: *const c_char,
    length: usize,
) -> c_int {
    let bytes = match length {
        0 => &[][..],
        _ => std::slice::from_raw_parts(piece as *const u8, length),
    };
    let part = String::from_utf8_lossy(bytes);
    stops(user, |call| match call {
        Call::Piece(tell) => tell(&part),
        _ => STOP,
    })
}

unsafe fn report_of(text: *const c_char) -> Json {
    Json::parse(&crate::error::text_at(text)).unwrap_or(Json::Null)
}

pub(crate) unsafe extern "C" fn report(user: *mut c_void, text: *const c_char) -> c_int {
    let report = report_of(text);
    stops(user, |call| match call {
        Call::Report(tell) => tell(&report),
        Call::Finetune { step: Some(tell), .. } => tell(&report),
        _ => STOP,
    })
}

pub(crate) unsafe extern "C" fn epoch(user: *mut c_void, text: *const c_char) -> c_int {
    let report = report_of(text);
    stops(user, |call| match call {
        Call::Finetune { epoch: Some(tell), .. } => tell(&report),
        _ => STOP,
    })
}

pub(crate) unsafe extern "C" fn progress(user: *mut c_void, fraction: f64) -> c_int {
    stops(user, |call| match call {
        Call::Progress(tell) => tell(fraction),
        _ => STOP,
    })
}

pub(crate) unsafe extern "C" fn wait(user: *mut c_void) -> c_int {
    stops(user, |call| match call {
        Call::Wait(ask) => ask(),
        _ => STOP,
    })
}

pub(crate) unsafe extern "C" fn row(
    user: *mut c_void,
    row: u64,
    entries: *const *mut c_void,
) -> c_int {
    fails(user, |call| match call {
        Call::Row(read, columns) => read(row, &mut Row::new(entries, columns)),
        _ => kind(),
    })
}

pub(crate) unsafe extern "C" fn external(
    user: *mut c_void,
    location: *const c_char,
    offset: u64,
    length: u64,
    bytes: *mut c_void,
) -> c_int {
    let location = crate::error::text_at(location);
    stops(user, |call| {
        let Call::External(read) = call else { return STOP };
        let target = if length == 0 {
            &mut [][..]
        } else {
            std::slice::from_raw_parts_mut(bytes as *mut u8, length as usize)
        };
        match read(&location, offset, target) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                remember(Failure::Error(error.to_string()));
                STOP
            }
        }
    })
}

pub(crate) unsafe extern "C" fn begin(user: *mut c_void) {
    stops(user, |call| {
        let Call::Metric(metric) = call else { return STOP };
        metric.begin();
        ControlFlow::Continue(())
    });
}

pub(crate) unsafe extern "C" fn add(
    user: *mut c_void,
    outputs: *const sys::ondine_values,
    batch: *const sys::ondine_values,
) -> c_int {
    fails(user, |call| match call {
        Call::Metric(metric) => metric.add(&Lent::new(outputs), &Lent::new(batch)),
        _ => kind(),
    })
}

pub(crate) unsafe extern "C" fn value(user: *mut c_void, result: *mut f64) -> c_int {
    fails(user, |call| match call {
        Call::Metric(metric) => {
            *result = metric.value()?;
            Ok(())
        }
        _ => kind(),
    })
}
