//! Adapters of models.
use std::path::Path;
use std::ptr;

use ondine_sys as sys;

use crate::error::check;
use crate::json::Json;
use crate::options::c_text;
use crate::texts::{c_path, json};
use crate::{Model, Options, Result};

/// Adapters in a folder. `weight`: how often they count, 1 for once. `name` `None`: the last part of
/// the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdapterFolder<'a> {
    pub folder: &'a Path,
    pub weight: f64,
    pub name: Option<&'a str>,
}

impl Model {
    /// The adapters that the options lora, dora, ... of preparing gave the model: a list, empty for
    /// others.
    pub fn adapters(&self) -> Result<Json> {
        json(|text| unsafe { sys::ondine_model_adapters(self.handle, text) })
    }

    /// Writes the adapters to a folder in the layout of PEFT.
    pub fn save_adapters(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = c_path(folder.as_ref())?;
        check(unsafe { sys::ondine_model_save_adapters(self.handle, folder.as_ptr()) })
    }

    /// Assigns adapters of a folder in the layout of PEFT: all or, with an error, none.
    pub fn load_adapters(&mut self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = c_path(folder.as_ref())?;
        check(unsafe { sys::ondine_model_load_adapters(self.handle, folder.as_ptr()) })
    }

    /// A model for inference with adapters of several folders beside the weights of this one, which
    /// both share. The input "adapter.NAME" weighs each from call to call. `load`: group load.
    pub fn with_adapters(&self, folders: &[AdapterFolder], load: &Options) -> Result<Model> {
        let load = load.list()?;
        let texts = folders
            .iter()
            .map(|one| {
                let name = one.name.map(|name| c_text(name, "a name")).transpose()?;
                Ok((c_path(one.folder)?, name))
            })
            .collect::<Result<Vec<_>>>()?;
        let list: Vec<sys::ondine_adapter_folder> = folders
            .iter()
            .zip(&texts)
            .map(|(one, (folder, name))| sys::ondine_adapter_folder {
                folder: folder.as_ptr(),
                weight: one.weight,
                name: name.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
            })
            .collect();
        let mut made = ptr::null_mut();
        check(unsafe {
            let (count, load) = (list.len(), load.as_ptr());
            sys::ondine_model_with_adapters(self.handle, list.as_ptr(), count, load, &mut made)
        })?;
        Ok(Model::of(made, Json::Null))
    }
}
