use std::ffi::c_void;
use std::mem::transmute;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::ptr;

use ondine_sys as sys;

use crate::callbacks::{self, Call, Registered, ReportCall, TextCall};
use crate::data::places_of;
use crate::error::check;
use crate::json::Json;
use crate::options::{c_text, Names};
use crate::texts::{c_path, take_bytes, take_json, take_text, Source};
use crate::{Dataset, Model, Options, Result};

enum Network<'a> {
    New,
    Given(Source<'a>),
    Loaded(&'a Model),
}

enum Rows<'a> {
    None,
    Places(Vec<String>),
    Given(&'a Dataset),
}

/// From a model and data to a tuned model: looks at both, prepares, trains, evaluates and writes.
///
/// ```no_run
/// use ondine::{Finetune, Options};
/// let tuned = Finetune::new()
///     .model("net.onnx")
///     .data(&["photos"])
///     .output("tuned.onnx")
///     .options(Options::new().with("epochs", 5))
///     .on_assumed(|line| println!("assumed: {line}"))
///     .run()?;
/// println!("{}", tuned.report.get("evaluation").get("metrics"));
/// # Ok::<(), ondine::Error>(())
/// ```
pub struct Finetune<'a> {
    network: Network<'a>,
    data: Result<Rows<'a>>,
    validation: Result<Rows<'a>>,
    output: Option<PathBuf>,
    options: Options,
    data_options: Options,
    load: Options,
    assumed: TextCall<'a>,
    step: Option<ReportCall<'a>>,
    epoch: Option<ReportCall<'a>>,
}

/// What a run gives: the tuned model with its training information, and the finetune report.
pub struct Tuned {
    pub model: Model,
    pub report: Json,
}

impl Default for Finetune<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Finetune<'a> {
    /// With a new network for the data, unless a model is given.
    pub fn new() -> Finetune<'a> {
        Finetune {
            network: Network::New,
            data: Ok(Rows::None),
            validation: Ok(Rows::None),
            output: None,
            options: Options::new(),
            data_options: Options::new(),
            load: Options::new(),
            assumed: Box::new(|_| {}),
            step: None,
            epoch: None,
        }
    }

    /// The inference model: a file or the bytes of one.
    pub fn model(mut self, source: impl Into<Source<'a>>) -> Self {
        self.network = Network::Given(source.into());
        self
    }

    /// A model that is loaded, with its present weights.
    pub fn loaded_model(mut self, model: &'a Model) -> Self {
        self.network = Network::Loaded(model);
        self
    }

    /// Files and folders, which are read as the model takes them.
    pub fn data(mut self, places: &[impl AsRef<Path>]) -> Self {
        self.data = places_of(places).map(Rows::Places);
        self
    }

    pub fn dataset(mut self, dataset: &'a Dataset) -> Self {
        self.data = Ok(Rows::Given(dataset));
        self
    }

    /// Validation data; without, a part of the data.
    pub fn validation_data(mut self, places: &[impl AsRef<Path>]) -> Self {
        self.validation = places_of(places).map(Rows::Places);
        self
    }

    pub fn validation(mut self, dataset: &'a Dataset) -> Self {
        self.validation = Ok(Rows::Given(dataset));
        self
    }

    /// The file of the tuned inference model.
    pub fn output(mut self, file: impl Into<PathBuf>) -> Self {
        self.output = Some(file.into());
        self
    }

    /// Group finetune.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Group data, for files and folders.
    pub fn data_options(mut self, options: Options) -> Self {
        self.data_options = options;
        self
    }

    /// Group load.
    pub fn load_options(mut self, options: Options) -> Self {
        self.load = options;
        self
    }

    /// Before training, with each line of what was assumed.
    pub fn on_assumed(mut self, say: impl FnMut(&str) + Send + 'a) -> Self {
        self.assumed = Box::new(say);
        self
    }

    /// With the report of each step; `Break` ends the run, which then writes no output.
    pub fn on_step(mut self, tell: impl FnMut(&Json) -> ControlFlow<()> + Send + 'a) -> Self {
        self.step = Some(Box::new(tell));
        self
    }

    /// With the report of each epoch; `Break` ends the run after the next step.
    pub fn on_epoch(mut self, tell: impl FnMut(&Json) -> ControlFlow<()> + Send + 'a) -> Self {
        self.epoch = Some(Box::new(tell));
        self
    }

    pub fn run(self) -> Result<Tuned> {
        let (data, validation) = (self.data?, self.validation?);
        let (places, dataset) = names_of(&data)?;
        let (validation_places, validation) = names_of(&validation)?;
        let options = [&self.options, &self.data_options, &self.load].map(Options::list);
        let [options, data_options, load] = options;
        let (options, data_options, load) = (options?, data_options?, load?);
        let output = self.output.as_deref().map(c_path).transpose()?;
        let (mut file, mut bytes, mut size, mut model) = (None, ptr::null(), 0, ptr::null());
        match self.network {
            Network::New => {}
            Network::Given(Source::File(path)) => file = Some(c_path(path)?),
            Network::Given(Source::Bytes(given)) => {
                (bytes, size) = (given.as_ptr() as *const c_void, given.len());
            }
            Network::Loaded(given) => model = given.handle as *const _,
        }
        let on_step = self.step.as_ref().map(|_| callbacks::report as _);
        let on_epoch = self.epoch.as_ref().map(|_| callbacks::epoch as _);
        // SAFETY: the closures are gone before this function returns.
        let call = unsafe {
            Call::Finetune {
                assumed: transmute::<TextCall<'a>, TextCall<'static>>(self.assumed),
                step: transmute::<Option<ReportCall<'a>>, Option<ReportCall<'static>>>(self.step),
                epoch: transmute::<Option<ReportCall<'a>>, Option<ReportCall<'static>>>(self.epoch),
            }
        };
        let closures = Registered::new(call);
        let run = sys::ondine_finetune_run {
            file: file.as_ref().map_or(ptr::null(), |one| one.as_ptr()),
            bytes,
            size,
            model,
            places: places.as_ref().map_or(ptr::null(), Names::as_ptr),
            dataset,
            validation_places: validation_places.as_ref().map_or(ptr::null(), Names::as_ptr),
            validation,
            output: output.as_ref().map_or(ptr::null(), |one| one.as_ptr()),
            options: options.as_ptr(),
            data_options: data_options.as_ptr(),
            load: load.as_ptr(),
            on_assumed: Some(callbacks::text as _),
            on_step,
            on_epoch,
            user: closures.user(),
        };
        let (mut made, mut text) = (ptr::null_mut(), ptr::null_mut());
        let failed = unsafe { sys::ondine_finetune(&run, &mut made, &mut text) };
        // Before a panic of a callback goes on.
        let tuned = Tuned { model: Model::of(made, Json::Null), report: take_json(text) };
        check(failed).map(|()| tuned)
    }
}

fn names_of(rows: &Rows) -> Result<(Option<Names>, *const sys::ondine_dataset)> {
    Ok(match rows {
        Rows::None => (None, ptr::null()),
        Rows::Places(places) => (Some(Names::new(places)?), ptr::null()),
        Rows::Given(dataset) => (None, dataset.handle),
    })
}

/// The bytes of an .onnx file with a small network for the data, and a line about it. `kind`: mlp,
/// cnn, unet, text or audio; `None`: that which fits. `options`: group network.
pub fn new_network(
    kind: Option<&str>,
    dataset: &Dataset,
    options: &Options,
) -> Result<(Vec<u8>, String)> {
    let (kind, list) = (kind.map(|one| c_text(one, "a kind")).transpose()?, options.list()?);
    let (mut bytes, mut size, mut text) = (ptr::null_mut(), 0, ptr::null_mut());
    check(unsafe {
        let kind = kind.as_ref().map_or(ptr::null(), |one| one.as_ptr());
        let list = list.as_ptr();
        sys::ondine_new_network(kind, dataset.handle, list, &mut bytes, &mut size, &mut text)
    })?;
    Ok((take_bytes(bytes, size), take_text(text)))
}
