use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::os::raw::c_int;
use std::ptr;
use std::time::Duration;

use ondine_sys as sys;

use crate::callbacks::{self, Call, Registered};
use crate::error::check;
use crate::json::Json;
use crate::options::{c_text, Names};
use crate::texts::{c_path, json, take_json, take_text, Source};
use crate::{Cancel, Options, Result, Value, Values};

/// An ONNX model with its state. It goes from thread to thread, but is used by one at a time:
/// [`Model::try_clone`] makes one for another thread.
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<ondine::Model>();
/// ```
pub struct Model {
    pub(crate) handle: *mut sys::ondine_model,
    report: Json,
    progress: Option<Registered>,
    warning: Option<Registered>,
    _external: Option<Registered>,
    _not_sync: PhantomData<*const ()>,
}

// SAFETY: handles may be used from any thread; closures are Send.
unsafe impl Send for Model {}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { sys::ondine_model_free(self.handle) }
    }
}

type Fetches<'a> = &'a [&'a str];

impl Model {
    pub(crate) fn of(handle: *mut sys::ondine_model, report: Json) -> Model {
        Model {
            handle,
            report,
            progress: None,
            warning: None,
            _external: None,
            _not_sync: PhantomData,
        }
    }

    /// A model as it is. `options`: group load.
    pub fn load<'a>(source: impl Into<Source<'a>>, options: &Options) -> Result<Model> {
        let list = options.list()?;
        let mut model = ptr::null_mut();
        match source.into() {
            Source::File(path) => {
                let path = c_path(path)?;
                check(unsafe { sys::ondine_model_load(path.as_ptr(), list.as_ptr(), &mut model) })?
            }
            Source::Bytes(bytes) => check(unsafe {
                let (data, size) = (bytes.as_ptr() as *const c_void, bytes.len());
                sys::ondine_model_load_bytes(
                    data,
                    size,
                    None,
                    ptr::null_mut(),
                    list.as_ptr(),
                    &mut model,
                )
            })?,
        }
        Ok(Model::of(model, Json::Null))
    }

    /// The bytes of a model that keeps tensors outside: `read` fills the bytes of a location from an
    /// offset on.
    pub fn load_with_external_data(
        bytes: &[u8],
        read: impl FnMut(&str, u64, &mut [u8]) -> Result<()> + Send + 'static,
        options: &Options,
    ) -> Result<Model> {
        let list = options.list()?;
        let read = Registered::new(Call::External(Box::new(read)));
        let mut model = ptr::null_mut();
        check(unsafe {
            let (data, size) = (bytes.as_ptr() as *const c_void, bytes.len());
            sys::ondine_model_load_bytes(
                data,
                size,
                Some(callbacks::external),
                read.user(),
                list.as_ptr(),
                &mut model,
            )
        })?;
        let mut made = Model::of(model, Json::Null);
        made._external = Some(read);
        Ok(made)
    }

    /// An inference model with its training information, initialized and ready to train. `options`:
    /// group prepare; `load`: group load.
    pub fn prepare<'a>(
        source: impl Into<Source<'a>>,
        options: &Options,
        load: &Options,
    ) -> Result<Model> {
        let (list, load) = (options.list()?, load.list()?);
        let (mut model, mut text) = (ptr::null_mut(), ptr::null_mut());
        let (options, load) = (list.as_ptr(), load.as_ptr());
        match source.into() {
            Source::File(path) => {
                let path = c_path(path)?;
                check(unsafe {
                    sys::ondine_prepare(path.as_ptr(), options, load, &mut model, &mut text)
                })?
            }
            Source::Bytes(bytes) => check(unsafe {
                let (data, size) = (bytes.as_ptr() as *const c_void, bytes.len());
                sys::ondine_prepare_bytes(data, size, options, load, &mut model, &mut text)
            })?,
        }
        Ok(Model::of(model, take_json(text)))
    }

    /// The same of a model that is loaded, with its present weights.
    pub fn prepare_model(&self, options: &Options, load: &Options) -> Result<Model> {
        let (list, load) = (options.list()?, load.list()?);
        let (mut model, mut text) = (ptr::null_mut(), ptr::null_mut());
        check(unsafe {
            sys::ondine_prepare_model(
                self.handle,
                list.as_ptr(),
                load.as_ptr(),
                &mut model,
                &mut text,
            )
        })?;
        Ok(Model::of(model, take_json(text)))
    }

    /// A model of its own with the present state.
    pub fn try_clone(&self) -> Result<Model> {
        let mut clone = ptr::null_mut();
        check(unsafe { sys::ondine_model_clone(self.handle, &mut clone) })?;
        Ok(Model::of(clone, self.report.clone()))
    }

    /// What preparing chose; `Json::Null` for a model that was loaded.
    pub fn prepare_report(&self) -> &Json {
        &self.report
    }

    /// Inputs, outputs, algorithms, state, metadata, warnings, ...
    pub fn describe(&self) -> Result<Json> {
        json(|text| unsafe { sys::ondine_model_describe(self.handle, text) })
    }

    /// SHA-256 of the model without the values of its state, in hexadecimal.
    pub fn fingerprint(&self) -> Result<String> {
        let mut text = ptr::null_mut();
        check(unsafe { sys::ondine_model_fingerprint(self.handle, &mut text) })?;
        Ok(take_text(text))
    }

    /// Training steps since the model was loaded or initialized.
    pub fn steps(&self) -> Result<u64> {
        let mut steps = 0;
        check(unsafe { sys::ondine_model_steps(self.handle, &mut steps) })?;
        Ok(steps)
    }

    /// The printed form of a stage: model, graph, training, gradient, optimized, plan.
    pub fn inspect(&self, stage: &str, algorithm: usize) -> Result<String> {
        let stage = c_text(stage, "a stage")?;
        let mut text = ptr::null_mut();
        check(unsafe {
            sys::ondine_model_inspect(self.handle, stage.as_ptr(), algorithm, &mut text)
        })?;
        Ok(take_text(text))
    }

    /// Memory that a call with these feeds takes. `algorithm` `None`: that of [`Model::infer`].
    pub fn plan(&self, feeds: &Values, algorithm: Option<usize>, fetches: Fetches) -> Result<Json> {
        let names = Names::new(fetches)?;
        let algorithm = algorithm.map_or(-1, |one| one as i64);
        json(|text| unsafe {
            sys::ondine_model_plan(self.handle, feeds.0, algorithm, names.as_ptr(), text)
        })
    }

    pub fn initialize(&mut self, seed: u64) -> Result<()> {
        check(unsafe { sys::ondine_model_initialize(self.handle, seed) })
    }

    /// One step of the first training algorithm.
    pub fn train_step(&mut self, feeds: &Values) -> Result<Values> {
        self.train_step_of(0, feeds, &[])
    }

    /// One step of a training algorithm. `fetches`: outputs that are wanted; none: those of the
    /// algorithm.
    pub fn train_step_of(
        &mut self,
        algorithm: usize,
        feeds: &Values,
        fetches: Fetches,
    ) -> Result<Values> {
        let names = Names::new(fetches)?;
        let mut results = ptr::null_mut();
        check(unsafe {
            let fetches = names.as_ptr();
            sys::ondine_model_train_step(self.handle, feeds.0, algorithm, fetches, &mut results)
        })?;
        Ok(Values(results))
    }

    /// Loss and metrics of a batch in evaluation mode, without updates.
    pub fn eval_step(&self, feeds: &Values) -> Result<Values> {
        self.eval_step_of(0, feeds, &[])
    }

    pub fn eval_step_of(
        &self,
        algorithm: usize,
        feeds: &Values,
        fetches: Fetches,
    ) -> Result<Values> {
        let names = Names::new(fetches)?;
        let mut results = ptr::null_mut();
        check(unsafe {
            let fetches = names.as_ptr();
            sys::ondine_model_eval_step(self.handle, feeds.0, algorithm, fetches, &mut results)
        })?;
        Ok(Values(results))
    }

    /// `fetches`: outputs that are wanted; none: all.
    pub fn infer(&self, feeds: &Values, fetches: Fetches) -> Result<Values> {
        let names = Names::new(fetches)?;
        let mut results = ptr::null_mut();
        check(unsafe {
            sys::ondine_model_infer(self.handle, feeds.0, names.as_ptr(), &mut results)
        })?;
        Ok(Values(results))
    }

    /// The derivatives of the loss by state variables, by their names, without updates.
    pub fn gradients(&self, algorithm: usize, feeds: &Values) -> Result<Values> {
        let mut gradients = ptr::null_mut();
        check(unsafe {
            sys::ondine_model_gradients(self.handle, feeds.0, algorithm, &mut gradients)
        })?;
        Ok(Values(gradients))
    }

    pub fn learning_rate(&self, algorithm: usize) -> Result<f32> {
        let mut rate = 0.0;
        check(unsafe { sys::ondine_model_get_learning_rate(self.handle, algorithm, &mut rate) })?;
        Ok(rate)
    }

    pub fn set_learning_rate(&mut self, algorithm: usize, rate: f32) -> Result<()> {
        check(unsafe { sys::ondine_model_set_learning_rate(self.handle, algorithm, rate) })
    }

    /// A copy of a state variable.
    pub fn state(&self, name: &str) -> Result<Value> {
        let name = c_text(name, "a name")?;
        let mut value = ptr::null_mut();
        check(unsafe { sys::ondine_model_get_state(self.handle, name.as_ptr(), &mut value) })?;
        Ok(Value(value))
    }

    /// All at once or, with an error, none.
    pub fn set_state(&mut self, values: &Values) -> Result<()> {
        check(unsafe { sys::ondine_model_set_state(self.handle, values.0) })
    }

    /// All float32 weights, one after the other in the order of the state.
    pub fn parameters(&self) -> Result<Vec<f32>> {
        let mut count = 0;
        check(unsafe { sys::ondine_model_parameter_count(self.handle, &mut count) })?;
        let mut numbers = vec![0.0; count];
        check(unsafe {
            sys::ondine_model_get_parameters(self.handle, numbers.as_mut_ptr(), count)
        })?;
        Ok(numbers)
    }

    pub fn set_parameters(&mut self, numbers: &[f32]) -> Result<()> {
        check(unsafe {
            sys::ondine_model_set_parameters(self.handle, numbers.as_ptr(), numbers.len())
        })
    }

    /// Gives every parameter the value of its running average (option average of prepare).
    pub fn take_averages(&mut self) -> Result<()> {
        check(unsafe { sys::ondine_model_take_averages(self.handle) })
    }

    pub fn set_threads(&mut self, threads: i32) -> Result<()> {
        check(unsafe { sys::ondine_model_set_threads(self.handle, threads) })
    }

    /// Every call that takes longer fails with `Code::Limit`.
    pub fn set_deadline(&mut self, deadline: Option<Duration>) -> Result<()> {
        let milliseconds = match deadline {
            Some(time) => i64::try_from(time.as_millis()).unwrap_or(i64::MAX),
            None => -1,
        };
        check(unsafe { sys::ondine_model_set_deadline(self.handle, milliseconds) })
    }

    pub fn set_cancel(&mut self, cancel: Option<&Cancel>) -> Result<()> {
        let flag = cancel.map_or(ptr::null_mut(), |one| one.handle());
        check(unsafe { sys::ondine_model_set_cancel(self.handle, flag) })
    }

    /// Tells the fraction of a call that is done; `Break` ends it with `Code::Cancelled`.
    pub fn on_progress(
        &mut self,
        tell: impl FnMut(f64) -> ControlFlow<()> + Send + 'static,
    ) -> Result<()> {
        let made = Registered::new(Call::Progress(Box::new(tell)));
        check(unsafe {
            let call = Some(callbacks::progress as _);
            sys::ondine_model_set_progress(self.handle, call, made.user())
        })?;
        self.progress = Some(made);
        Ok(())
    }

    /// Tells each warning: those that are known at once, others when a call finds them.
    pub fn on_warning(&mut self, say: impl FnMut(&str) + Send + 'static) -> Result<()> {
        let made = Registered::new(Call::Text(Box::new(say)));
        check(unsafe {
            let call = Some(callbacks::text as _);
            sys::ondine_model_set_warning_callback(self.handle, call, made.user())
        })?;
        self.warning = Some(made);
        Ok(())
    }

    pub fn set_profiling(&mut self, on: bool) -> Result<()> {
        check(unsafe { sys::ondine_model_set_profiling(self.handle, c_int::from(on)) })
    }

    /// Seconds by operator since profiling was switched on.
    pub fn profile(&self) -> Result<Json> {
        json(|text| unsafe { sys::ondine_model_profile(self.handle, text) })
    }
}
