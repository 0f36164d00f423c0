//! Texts, bytes and reports that calls give and take.
use std::ffi::{c_void, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;
use std::slice;

use ondine_sys as sys;

use crate::error::{check, mismatch, text_at};
use crate::json::Json;
use crate::options::c_text;
use crate::Result;

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    match path.to_str() {
        Some(text) => c_text(text, "a path"),
        None => mismatch(format!("the path {path:?} is no UTF-8")),
    }
}

/// A text that the library gave.
pub(crate) fn take_text(text: *mut c_char) -> String {
    // SAFETY: NULL or a text that ends with ondine_free.
    unsafe {
        let made = text_at(text);
        sys::ondine_free(text as *mut c_void);
        made
    }
}

pub(crate) fn take_json(text: *mut c_char) -> Json {
    Json::parse(&take_text(text)).unwrap_or(Json::Null)
}

pub(crate) fn take_bytes(bytes: *mut c_void, size: usize) -> Vec<u8> {
    // SAFETY: memory of this size that ends with ondine_free.
    unsafe {
        let made = match size {
            0 => Vec::new(),
            _ => slice::from_raw_parts(bytes as *const u8, size).to_vec(),
        };
        sys::ondine_free(bytes);
        made
    }
}

/// A call that writes a report.
pub(crate) fn json(call: impl FnOnce(*mut *mut c_char) -> *mut sys::ondine_error) -> Result<Json> {
    let mut text = ptr::null_mut();
    let failed = call(&mut text);
    let report = take_json(text); // before a panic of a callback goes on
    check(failed).map(|()| report)
}

/// An .onnx model: in a file, or as the bytes of one.
pub enum Source<'a> {
    File(&'a Path),
    Bytes(&'a [u8]),
}

impl<'a> From<&'a str> for Source<'a> {
    fn from(file: &'a str) -> Self {
        Source::File(Path::new(file))
    }
}
impl<'a> From<&'a Path> for Source<'a> {
    fn from(file: &'a Path) -> Self {
        Source::File(file)
    }
}
impl<'a> From<&'a std::path::PathBuf> for Source<'a> {
    fn from(file: &'a std::path::PathBuf) -> Self {
        Source::File(file)
    }
}
impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Source::Bytes(bytes)
    }
}
impl<'a> From<&'a Vec<u8>> for Source<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Source::Bytes(bytes)
    }
}
