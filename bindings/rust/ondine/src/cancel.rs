use std::ptr;

use ondine_sys as sys;

use crate::error::check;
use crate::Result;

/// Asks calls to end: those of the models that watch it. Clones are the same flag.
#[derive(Clone)]
pub struct Cancel(std::sync::Arc<Flag>);

struct Flag(*mut sys::ondine_cancel);

// SAFETY: the functions of a flag may be called from any threads at once.
unsafe impl Send for Flag {}
unsafe impl Sync for Flag {}

impl Drop for Flag {
    fn drop(&mut self) {
        unsafe { sys::ondine_cancel_free(self.0) }
    }
}

impl Cancel {
    pub fn new() -> Result<Cancel> {
        let mut cancel = ptr::null_mut();
        check(unsafe { sys::ondine_cancel_new(&mut cancel) })?;
        Ok(Cancel(std::sync::Arc::new(Flag(cancel))))
    }

    pub(crate) fn handle(&self) -> *mut sys::ondine_cancel {
        self.0 .0
    }

    /// Calls that watch the flag end with `Code::Cancelled`, until it is reset.
    pub fn request(&self) -> Result<()> {
        check(unsafe { sys::ondine_cancel_request(self.0 .0) })
    }

    pub fn reset(&self) -> Result<()> {
        check(unsafe { sys::ondine_cancel_reset(self.0 .0) })
    }
}
