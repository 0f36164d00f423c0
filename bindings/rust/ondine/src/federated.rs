use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::ptr;
use std::time::Duration;

use ondine_sys as sys;

use crate::callbacks::{self, Call, Registered};
use crate::error::check;
use crate::json::Json;
use crate::options::c_text;
use crate::texts::take_json;
use crate::{Dataset, Model, Options, Result, Values};

/// What a node of a federation does with a message, for callers that have a connection.
pub struct FederatedWorker {
    handle: *mut sys::ondine_federated_worker,
    wait: Option<Registered>,
    _not_sync: PhantomData<*const ()>,
}

// SAFETY: handles may be used from any thread; closures are Send.
unsafe impl Send for FederatedWorker {}

impl Drop for FederatedWorker {
    fn drop(&mut self) {
        unsafe { sys::ondine_federated_worker_free(self.handle) }
    }
}

impl FederatedWorker {
    /// Holds copies of the model and the data. `options`: group train; `federation`: group federate,
    /// without the options of the connection.
    pub fn new(
        model: &Model,
        dataset: &Dataset,
        options: &Options,
        federation: &Options,
    ) -> Result<FederatedWorker> {
        let (options, federation) = (options.list()?, federation.list()?);
        let mut handle = ptr::null_mut();
        check(unsafe {
            let (options, federation) = (options.as_ptr(), federation.as_ptr());
            sys::ondine_federated_worker_new(
                model.handle,
                dataset.handle,
                options,
                federation,
                &mut handle,
            )
        })?;
        Ok(FederatedWorker { handle, wait: None, _not_sync: PhantomData })
    }

    /// Is asked after every step; `Break` ends what waits.
    pub fn on_wait(&mut self, ask: impl FnMut() -> ControlFlow<()> + Send + 'static) -> Result<()> {
        let made = Registered::new(Call::Wait(Box::new(ask)));
        let call = Some(callbacks::wait as _);
        check(unsafe { sys::ondine_federated_worker_on_wait(self.handle, call, made.user()) })?;
        self.wait = Some(made);
        Ok(())
    }

    /// `kind`: "train", "evaluate" or "query". `arrays`: the weights that a training step updates.
    /// `settings`: a JSON object. Gives the arrays of a training and the federated answer.
    pub fn answer(
        &mut self,
        kind: &str,
        arrays: Option<&Values>,
        settings: Option<&str>,
        within: Option<Duration>,
    ) -> Result<(Option<Values>, Json)> {
        let kind = c_text(kind, "a type of message")?;
        let settings = settings.map(|one| c_text(one, "settings")).transpose()?;
        let (mut trained, mut text) = (ptr::null_mut(), ptr::null_mut());
        check(unsafe {
            sys::ondine_federated_worker_answer(
                self.handle,
                kind.as_ptr(),
                arrays.map_or(ptr::null_mut(), |one| one.0),
                settings.as_ref().map_or(ptr::null(), |one| one.as_ptr()),
                within.map_or(-1.0, |time| time.as_secs_f64()),
                &mut trained,
                &mut text,
            )
        })?;
        let trained = (!trained.is_null()).then_some(Values(trained));
        Ok((trained, take_json(text)))
    }
}
