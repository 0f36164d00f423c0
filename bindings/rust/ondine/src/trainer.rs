use std::marker::PhantomData;
use std::mem::transmute;
use std::ops::ControlFlow;
use std::ptr;

use ondine_sys as sys;

use crate::callbacks::{self, Call, Registered, ReportCall};
use crate::error::check;
use crate::json::Json;
use crate::lent::Lent;
use crate::options::{c_text, Names};
use crate::texts::json;
use crate::{Dataset, Model, Options, Result};

/// A metric of validation data that the caller computes. Early stopping and schedules know it as
/// "val_NAME".
pub trait Metric {
    /// Before each evaluation.
    fn begin(&mut self);
    /// The outputs and the feeds of every batch.
    fn add(&mut self, outputs: &Lent<'_>, batch: &Lent<'_>) -> Result<()>;
    fn value(&mut self) -> Result<f64>;
}

type OwnMetric<'a> = Box<dyn Metric + Send + 'a>;

/// The training loop. It borrows the model until it is dropped.
pub struct Trainer<'a> {
    handle: *mut sys::ondine_trainer,
    model: &'a mut Model,
    closures: Vec<Registered>,
    _borrowed: PhantomData<*const &'a ()>,
}

// SAFETY: handles may be used from any thread; closures are Send.
unsafe impl Send for Trainer<'_> {}

impl Drop for Trainer<'_> {
    fn drop(&mut self) {
        unsafe { sys::ondine_trainer_free(self.handle) }
    }
}

impl<'a> Trainer<'a> {
    /// `options`: group train. The order of rows follows from the seed of the model.
    pub fn new(model: &'a mut Model, options: &Options) -> Result<Trainer<'a>> {
        let list = options.list()?;
        let mut handle = ptr::null_mut();
        check(unsafe { sys::ondine_trainer_new(model.handle, list.as_ptr(), &mut handle) })?;
        Ok(Trainer { handle, model, closures: Vec::new(), _borrowed: PhantomData })
    }

    pub fn model(&self) -> &Model {
        self.model
    }

    fn register(&mut self, call: Call) -> *mut std::ffi::c_void {
        let made = Registered::new(call);
        let user = made.user();
        self.closures.push(made);
        user
    }

    /// Adds a callback that gets the report of each step; `Break` ends the run.
    pub fn on_step(
        &mut self,
        tell: impl FnMut(&Json) -> ControlFlow<()> + Send + 'a,
    ) -> Result<()> {
        let user = self.register(report_call(Box::new(tell)));
        let call = Some(callbacks::report as _);
        check(unsafe { sys::ondine_trainer_on_step(self.handle, call, user) })
    }

    /// The same of each epoch.
    pub fn on_epoch(
        &mut self,
        tell: impl FnMut(&Json) -> ControlFlow<()> + Send + 'a,
    ) -> Result<()> {
        let user = self.register(report_call(Box::new(tell)));
        let call = Some(callbacks::report as _);
        check(unsafe { sys::ondine_trainer_on_epoch(self.handle, call, user) })
    }

    /// `outputs` that the metric reads; none: the first of the main graph.
    pub fn add_metric(
        &mut self,
        name: &str,
        outputs: &[&str],
        metric: impl Metric + Send + 'a,
    ) -> Result<()> {
        let (name, outputs) = (c_text(name, "the name of a metric")?, Names::new(outputs)?);
        let metric: OwnMetric<'a> = Box::new(metric);
        // SAFETY: as in report_call.
        let metric = unsafe { transmute::<OwnMetric<'a>, OwnMetric<'static>>(metric) };
        let user = self.register(Call::Metric(metric));
        let given = sys::ondine_metric {
            name: name.as_ptr(),
            begin: Some(callbacks::begin as _),
            add: Some(callbacks::add as _),
            value: Some(callbacks::value as _),
            outputs: outputs.as_ptr(),
        };
        check(unsafe { sys::ondine_trainer_add_metric(self.handle, &given, user) })
    }

    /// Restores the checkpoint of the options: the restore report.
    pub fn resume(&mut self) -> Result<Json> {
        json(|text| unsafe { sys::ondine_trainer_resume(self.handle, text) })
    }

    /// Trains until all epochs are done or something stops the run: the fit report. The validation
    /// data are the validation part of `training`, or what the options set apart.
    pub fn fit(&mut self, training: &Dataset) -> Result<Json> {
        json(|text| unsafe {
            sys::ondine_trainer_fit(self.handle, training.handle, ptr::null(), text)
        })
    }

    /// The same with validation data of its own.
    pub fn fit_with(&mut self, training: &Dataset, validation: &Dataset) -> Result<Json> {
        json(|text| unsafe {
            sys::ondine_trainer_fit(self.handle, training.handle, validation.handle, text)
        })
    }

    /// Loss and metrics of the training part of a data set, as of validation.
    pub fn evaluate(&mut self, dataset: &Dataset) -> Result<Json> {
        json(|text| unsafe { sys::ondine_trainer_evaluate(self.handle, dataset.handle, text) })
    }

    /// What other threads and callbacks may do while [`Trainer::fit`] runs.
    pub fn controls(&self) -> Controls {
        Controls { trainer: self.handle as usize, model: self.model.handle as usize }
    }
}

/// SAFETY of what it makes: the trainer, which alone calls the closure, lives no longer than 'a, and
/// drops it.
fn report_call<'a>(tell: ReportCall<'a>) -> Call {
    Call::Report(unsafe { transmute::<ReportCall<'a>, ReportCall<'static>>(tell) })
}

/// Stops a run from another thread or a callback. Calls after the trainer was dropped are errors.
#[derive(Clone, Copy, Debug)]
pub struct Controls {
    trainer: usize,
    model: usize,
}

impl Controls {
    /// A run ends before its next step, saves and returns.
    pub fn request_stop(&self) -> Result<()> {
        // Handles are numbers that the library checks.
        check(unsafe { sys::ondine_trainer_request_stop(self.trainer as *mut _) })
    }

    pub fn set_learning_rate(&self, algorithm: usize, rate: f32) -> Result<()> {
        check(unsafe { sys::ondine_model_set_learning_rate(self.model as *mut _, algorithm, rate) })
    }
}

/// Compares an output of the model with the labels of the data. `options`: group evaluate.
pub fn evaluate(model: &Model, dataset: &Dataset, options: &Options) -> Result<Json> {
    let list = options.list()?;
    json(|text| unsafe { sys::ondine_evaluate(model.handle, dataset.handle, list.as_ptr(), text) })
}
