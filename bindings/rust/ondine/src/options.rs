use std::ffi::CString;
use std::fmt::Display;
use std::ptr;

use ondine_sys as sys;

use crate::{Code, Error, Result};

/// Options by the names of the command line without the dashes. The library checks names and values;
/// [`option_table`](crate::option_table) lists all.
///
/// ```
/// use ondine::Options;
/// let brief = Options::from([("loss", "mse"), ("optimizer", "adam")]);
/// let more = brief.with("learning-rate", 1e-3).with("seed", 7);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Vec<(String, String)>);

impl Options {
    /// No options: the defaults.
    pub fn new() -> Options {
        Options::default()
    }

    /// Adds an option. One that may be repeated is added again for each value.
    pub fn with(mut self, name: &str, value: impl Display) -> Options {
        self.0.push((name.to_string(), value.to_string()));
        self
    }

    pub(crate) fn list(&self) -> Result<OptionList> {
        OptionList::new(&self.0)
    }
}

impl<const COUNT: usize> From<[(&str, &str); COUNT]> for Options {
    fn from(pairs: [(&str, &str); COUNT]) -> Options {
        pairs.into_iter().fold(Options::new(), |all, (name, value)| all.with(name, value))
    }
}

pub(crate) fn c_text(text: &str, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(Code::Mismatch, format!("{what} has a NUL character: {}", text.escape_debug()))
    })
}

pub(crate) struct OptionList {
    _texts: Vec<CString>,
    list: Vec<sys::ondine_option>,
}

impl OptionList {
    fn new(pairs: &[(String, String)]) -> Result<OptionList> {
        let (mut texts, mut list) = (Vec::new(), Vec::new());
        for (name, value) in pairs {
            let option = |text: &str| {
                c_text(text, "an option").map_err(|e| Error::new(Code::InvalidOption, e.reason()))
            };
            let (name, value) = (option(name)?, option(value)?);
            list.push(sys::ondine_option { name: name.as_ptr(), value: value.as_ptr() });
            texts.extend([name, value]);
        }
        list.push(sys::ondine_option { name: ptr::null(), value: ptr::null() });
        Ok(OptionList { _texts: texts, list })
    }

    /// NULL for no options.
    pub(crate) fn as_ptr(&self) -> *const sys::ondine_option {
        if self.list.len() == 1 {
            ptr::null()
        } else {
            self.list.as_ptr()
        }
    }
}

/// A list of names that ends with NULL.
pub(crate) struct Names {
    _texts: Vec<CString>,
    list: Vec<*const std::os::raw::c_char>,
}

impl Names {
    pub(crate) fn new<S: AsRef<str>>(names: &[S]) -> Result<Names> {
        let texts = names
            .iter()
            .map(|one| c_text(one.as_ref(), "a name"))
            .collect::<Result<Vec<CString>>>()?;
        let list = texts.iter().map(|one| one.as_ptr()).chain([ptr::null()]).collect();
        Ok(Names { _texts: texts, list })
    }

    /// NULL for no names.
    pub(crate) fn as_ptr(&self) -> *const *const std::os::raw::c_char {
        if self.list.len() == 1 {
            ptr::null()
        } else {
            self.list.as_ptr()
        }
    }
}
