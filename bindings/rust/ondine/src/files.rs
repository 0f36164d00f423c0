//! Files of models.
use std::os::raw::c_int;
use std::path::Path;
use std::ptr;

use ondine_sys as sys;

use crate::error::check;
use crate::json::Json;
use crate::texts::{c_path, json, take_bytes};
use crate::{Model, Options, Result};

impl Model {
    pub fn save_checkpoint(&self, file: impl AsRef<Path>) -> Result<()> {
        let file = c_path(file.as_ref())?;
        check(unsafe { sys::ondine_model_save_checkpoint(self.handle, file.as_ptr()) })
    }

    /// The restore report.
    pub fn restore_checkpoint(&mut self, file: impl AsRef<Path>) -> Result<Json> {
        let file = c_path(file.as_ref())?;
        json(|text| unsafe {
            sys::ondine_model_restore_checkpoint(self.handle, file.as_ptr(), text)
        })
    }

    /// Writes the tuned model. `options`: group export.
    pub fn export_inference(&self, file: impl AsRef<Path>, options: &Options) -> Result<()> {
        let (file, list) = (c_path(file.as_ref())?, options.list()?);
        check(unsafe {
            sys::ondine_model_export_inference(self.handle, file.as_ptr(), list.as_ptr())
        })
    }

    /// Writes the model with its training information. `options`: group export.
    pub fn export_training(&self, file: impl AsRef<Path>, options: &Options) -> Result<()> {
        let (file, list) = (c_path(file.as_ref())?, options.list()?);
        check(unsafe {
            sys::ondine_model_export_training(self.handle, file.as_ptr(), list.as_ptr())
        })
    }

    /// The bytes of the tuned model.
    pub fn inference_bytes(&self) -> Result<Vec<u8>> {
        let (mut bytes, mut size) = (ptr::null_mut(), 0);
        check(unsafe {
            sys::ondine_model_export_inference_bytes(self.handle, &mut bytes, &mut size)
        })?;
        Ok(take_bytes(bytes, size))
    }

    /// The bytes of the model with its training information.
    pub fn training_bytes(&self) -> Result<Vec<u8>> {
        let (mut bytes, mut size) = (ptr::null_mut(), 0);
        check(unsafe {
            sys::ondine_model_export_training_bytes(self.handle, &mut bytes, &mut size)
        })?;
        Ok(take_bytes(bytes, size))
    }

    /// A .safetensors file. `all`: every state variable, not only weights.
    pub fn save_weights(&self, file: impl AsRef<Path>, all: bool) -> Result<()> {
        let file = c_path(file.as_ref())?;
        check(unsafe {
            sys::ondine_model_save_weights(self.handle, file.as_ptr(), c_int::from(all))
        })
    }

    /// The weight report.
    pub fn load_weights(&mut self, file: impl AsRef<Path>, all: bool) -> Result<Json> {
        let file = c_path(file.as_ref())?;
        json(|text| unsafe {
            sys::ondine_model_load_weights(self.handle, file.as_ptr(), c_int::from(all), text)
        })
    }
}

/// All findings on a model: none when it loads with strict=true. `options`: group load.
pub fn check_model(file: impl AsRef<Path>, options: &Options) -> Result<Vec<String>> {
    let (file, list) = (c_path(file.as_ref())?, options.list()?);
    let found = json(|text| unsafe { sys::ondine_check(file.as_ptr(), list.as_ptr(), text) })?;
    Ok(found.list().iter().filter_map(|one| one.text()).map(String::from).collect())
}

/// Whether there is a checkpoint to restore.
pub fn has_checkpoint(file: impl AsRef<Path>) -> Result<bool> {
    let file = c_path(file.as_ref())?;
    let mut found = 0;
    check(unsafe { sys::ondine_has_checkpoint(file.as_ptr(), &mut found) })?;
    Ok(found != 0)
}
