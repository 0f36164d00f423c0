use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_int};
use std::panic::resume_unwind;

use ondine_sys as sys;

use crate::callbacks::{self, Failure};

/// What went wrong. The numbers are those of `<ondine/c.h>` and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum Code {
    InvalidModel = sys::ONDINE_INVALID_MODEL,
    Unsupported = sys::ONDINE_UNSUPPORTED,
    Mismatch = sys::ONDINE_MISMATCH,
    Corrupt = sys::ONDINE_CORRUPT,
    Io = sys::ONDINE_IO,
    Limit = sys::ONDINE_LIMIT,
    Cancelled = sys::ONDINE_CANCELLED,
    Internal = sys::ONDINE_INTERNAL,
    NotFinite = sys::ONDINE_NOT_FINITE,
    NotFound = sys::ONDINE_NOT_FOUND,
    Exists = sys::ONDINE_EXISTS,
    InvalidOption = sys::ONDINE_INVALID_OPTION,
}

const CODES: [Code; 12] = [
    Code::InvalidModel,
    Code::Unsupported,
    Code::Mismatch,
    Code::Corrupt,
    Code::Io,
    Code::Limit,
    Code::Cancelled,
    Code::Internal,
    Code::NotFinite,
    Code::NotFound,
    Code::Exists,
    Code::InvalidOption,
];

impl Code {
    fn of(number: c_int) -> Code {
        CODES.into_iter().find(|one| *one as c_int == number).unwrap_or(Code::Internal)
    }

    /// As in `<ondine/c.h>`.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// For example "not_found".
    pub fn name(self) -> &'static str {
        // SAFETY: the library gives a constant text.
        unsafe { CStr::from_ptr(sys::ondine_code_name(self as c_int)) }
            .to_str()
            .unwrap_or("unknown")
    }
}

/// An error of the library. `Display` prints the reason, then a line for each enclosing object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    reason: String,
    context: Vec<String>,
    message: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// For callbacks that fail, and for what this crate refuses itself.
    pub fn new(code: Code, reason: impl Into<String>) -> Error {
        let reason = reason.into();
        Error { code, message: reason.clone(), reason, context: Vec::new() }
    }

    pub fn code(&self) -> Code {
        self.code
    }

    /// The reason alone.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The enclosing objects, innermost first.
    pub fn context(&self) -> &[String] {
        &self.context
    }

    pub(crate) fn about(mut self, name: &str) -> Error {
        self.add(format!("'{name}'"));
        self
    }

    fn add(&mut self, line: String) {
        self.message.push('\n');
        self.message.push_str(&line);
        self.context.push(line);
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

pub(crate) fn mismatch<T>(reason: String) -> Result<T> {
    Err(Error::new(Code::Mismatch, reason))
}

/// SAFETY: NULL or a text that stays until the copy is made.
pub(crate) unsafe fn text_at(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

unsafe fn take(error: *mut sys::ondine_error) -> Error {
    let mut context = Vec::new();
    loop {
        let line = sys::ondine_error_context(error, context.len());
        if line.is_null() {
            break;
        }
        context.push(text_at(line));
    }
    let made = Error {
        code: Code::of(sys::ondine_error_code(error)),
        reason: text_at(sys::ondine_error_reason(error)),
        message: text_at(sys::ondine_error_message(error)),
        context,
    };
    sys::ondine_error_free(error);
    made
}

/// The result of a call. A panic of a callback goes on here, and what a callback failed with becomes
/// part of the error.
pub(crate) fn check(error: *mut sys::ondine_error) -> Result<()> {
    // SAFETY: NULL or an error that the library gave to this call.
    let result = if error.is_null() { Ok(()) } else { Err(unsafe { take(error) }) };
    let pending = callbacks::take_pending();
    let mut failures = vec![pending];
    let result = result.map_err(|mut made| {
        failures.push(callbacks::take_failure(&made.reason));
        for failure in &failures {
            if let Some(Failure::Error(line)) = failure {
                made.add(line.clone());
            }
        }
        made
    });
    for failure in failures.into_iter().flatten() {
        if let Failure::Panic(payload) = failure {
            resume_unwind(payload);
        }
    }
    result
}
