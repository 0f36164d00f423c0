use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::raw::c_int;
use std::path::Path;
use std::ptr;
use std::slice;

use ondine_sys as sys;

use crate::callbacks::{self, Call, Registered};
use crate::error::{check, mismatch};
use crate::json::Json;
use crate::options::{c_text, Names};
use crate::texts::{c_path, json};
use crate::{DType, Element, Model, Options, Result, Values};

/// What data is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Training,
    Evaluation,
    /// Targets are not read, so that they may be missing.
    Inference,
}

impl Use {
    fn number(self) -> c_int {
        match self {
            Use::Training => sys::ONDINE_FOR_TRAINING,
            Use::Evaluation => sys::ONDINE_FOR_EVALUATION,
            Use::Inference => sys::ONDINE_FOR_INFERENCE,
        }
    }
}

/// A column of rows that the caller makes: element type and dims of its entry in a row.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub dtype: DType,
    pub dims: Vec<usize>,
}

impl Column {
    pub fn of<T: Element>(name: &str, dims: &[usize]) -> Column {
        Column { name: name.into(), dtype: T::DTYPE, dims: dims.into() }
    }
}

/// The entries of a row, which the caller fills. They are zeros before.
pub struct Row<'a> {
    entries: &'a [*mut c_void],
    columns: &'a [(DType, usize)],
}

impl<'a> Row<'a> {
    /// SAFETY: an entry for each column, of as many bytes.
    pub(crate) unsafe fn new(
        entries: *const *mut c_void,
        columns: &'a [(DType, usize)],
    ) -> Row<'a> {
        let entries = match columns.len() {
            0 => &[],
            count => slice::from_raw_parts(entries, count),
        };
        Row { entries, columns }
    }

    /// The bytes of the entry of column `index`.
    pub fn bytes(&mut self, index: usize) -> Result<&mut [u8]> {
        match (self.entries.get(index), self.columns.get(index)) {
            (Some(_), Some((_, 0))) => Ok(&mut []),
            // SAFETY: the entry has this size, and this borrows the row.
            (Some(&entry), Some(&(_, size))) => {
                Ok(unsafe { slice::from_raw_parts_mut(entry as *mut u8, size) })
            }
            _ => mismatch(format!("there is no column {index} of {}", self.columns.len())),
        }
    }

    /// Copies all elements of the entry of column `index`.
    pub fn set<T: Element>(&mut self, index: usize, elements: &[T]) -> Result<()> {
        if let Some((dtype, _)) = self.columns.get(index).filter(|one| one.0 != T::DTYPE) {
            let (has, given) = (dtype.number(), T::DTYPE.number());
            return mismatch(format!("column {index} has elements of type {has}, not {given}"));
        }
        let target = self.bytes(index)?;
        let size = std::mem::size_of_val(elements);
        if size != target.len() {
            let (has, given) = (target.len() / std::mem::size_of::<T>(), elements.len());
            return mismatch(format!(
                "the entry of column {index} has {has} elements, not {given}"
            ));
        }
        // SAFETY: elements have no padding and as many bytes as the target.
        unsafe {
            ptr::copy_nonoverlapping(elements.as_ptr() as *const u8, target.as_mut_ptr(), size)
        };
        Ok(())
    }
}

/// Rows to train with or to evaluate.
pub struct Dataset {
    pub(crate) handle: *mut sys::ondine_dataset,
    _not_sync: PhantomData<*const ()>,
}

// SAFETY: handles may be used from any thread; closures are Send.
unsafe impl Send for Dataset {}

impl Drop for Dataset {
    fn drop(&mut self) {
        unsafe { sys::ondine_dataset_free(self.handle) }
    }
}

impl Dataset {
    fn of(handle: *mut sys::ondine_dataset) -> Dataset {
        Dataset { handle, _not_sync: PhantomData }
    }

    /// Files and folders. `options`: group data.
    pub fn open<S: AsRef<str>>(places: &[S], options: &Options) -> Result<Dataset> {
        Dataset::open_with(places, ptr::null(), Use::Training, options)
    }

    /// The same, read as the model takes it.
    pub fn open_for<S: AsRef<str>>(
        places: &[S],
        model: &Model,
        what_for: Use,
        options: &Options,
    ) -> Result<Dataset> {
        Dataset::open_with(places, model.handle, what_for, options)
    }

    fn open_with<S: AsRef<str>>(
        places: &[S],
        model: *const sys::ondine_model,
        what_for: Use,
        options: &Options,
    ) -> Result<Dataset> {
        let (places, list) = (Names::new(places)?, options.list()?);
        let mut made = ptr::null_mut();
        check(unsafe {
            let (places, list) = (places.as_ptr(), list.as_ptr());
            sys::ondine_dataset_open(places, model, what_for.number(), list, &mut made)
        })?;
        Ok(Dataset::of(made))
    }

    /// Tensors whose first axis counts rows.
    pub fn from_values(
        training: &Values,
        validation: Option<&Values>,
        options: &Options,
    ) -> Result<Dataset> {
        let list = options.list()?;
        let validation = validation.map_or(ptr::null_mut(), |one| one.0);
        let mut made = ptr::null_mut();
        check(unsafe {
            sys::ondine_dataset_from_values(training.0, validation, list.as_ptr(), &mut made)
        })?;
        Ok(Dataset::of(made))
    }

    /// Rows that are read when they are needed, by one thread at a time. The same row must have the
    /// same entries whenever it is read.
    pub fn from_rows(
        columns: &[Column],
        rows: u64,
        read: impl FnMut(u64, &mut Row) -> Result<()> + Send + 'static,
        options: &Options,
    ) -> Result<Dataset> {
        let list = options.list()?;
        let (mut texts, mut shapes, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for one in columns {
            texts.push(c_text(&one.name, "the name of a column")?);
            let width = one.dtype.bytes()?;
            let size = one.dims.iter().try_fold(width, |all, &dim| all.checked_mul(dim));
            match size {
                Some(size) => sizes.push((one.dtype, size)),
                None => {
                    let (name, dims) = (&one.name, &one.dims);
                    return mismatch(format!("column '{name}' of dims {dims:?} is too large"));
                }
            }
            shapes.push(one.dims.iter().map(|&dim| dim as i64).collect::<Vec<i64>>());
        }
        let given: Vec<_> = columns
            .iter()
            .zip(texts.iter().zip(&shapes))
            .map(|(one, (name, dims))| sys::ondine_column {
                name: name.as_ptr(),
                dtype: one.dtype.number(),
                rank: dims.len(),
                dims: dims.as_ptr(),
            })
            .collect();
        let user = Registered::new(Call::Row(Box::new(read), sizes)).into_user();
        let mut made = ptr::null_mut();
        // SAFETY: the library releases `user`, also where the call fails.
        check(unsafe {
            let (row, forget) = (Some(callbacks::row as _), Some(callbacks::forget as _));
            let (columns, count) = (given.as_ptr(), given.len());
            sys::ondine_dataset_from_rows(
                columns,
                count,
                rows,
                row,
                forget,
                user,
                list.as_ptr(),
                &mut made,
            )
        })?;
        Ok(Dataset::of(made))
    }

    /// Rows, columns, classes, notes, ...
    pub fn describe(&self) -> Result<Json> {
        json(|text| unsafe { sys::ondine_dataset_describe(self.handle, text) })
    }

    pub fn rows(&self) -> Result<u64> {
        let mut rows = 0;
        check(unsafe { sys::ondine_dataset_rows(self.handle, &mut rows) })?;
        Ok(rows)
    }

    /// The training part without the validation part.
    pub fn training(&self) -> Result<Dataset> {
        let mut part = ptr::null_mut();
        check(unsafe { sys::ondine_dataset_training(self.handle, &mut part) })?;
        Ok(Dataset::of(part))
    }

    /// The validation part, which may be empty.
    pub fn validation(&self) -> Result<Dataset> {
        let mut part = ptr::null_mut();
        check(unsafe { sys::ondine_dataset_validation(self.handle, &mut part) })?;
        Ok(Dataset::of(part))
    }

    /// The training part in two: `fraction` of the rows are the second's.
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Dataset, Dataset)> {
        let (mut first, mut second) = (ptr::null_mut(), ptr::null_mut());
        check(unsafe {
            sys::ondine_dataset_split(self.handle, fraction, seed, &mut first, &mut second)
        })?;
        Ok((Dataset::of(first), Dataset::of(second)))
    }

    /// The training part in batches, each by value. See [`BatchOrder`].
    pub fn batches(&self, size: u64, order: BatchOrder) -> Result<Batches> {
        let mut made = ptr::null_mut();
        let model = order.model.map_or(ptr::null_mut(), |one| one.handle);
        let algorithm = order.algorithm.map_or(-1, |one| one as i64);
        check(unsafe {
            let shuffle = c_int::from(order.shuffle);
            sys::ondine_batches_new(
                self.handle,
                size,
                order.seed,
                order.epoch,
                shuffle,
                model,
                algorithm,
                &mut made,
            )
        })?;
        Ok(Batches(made, PhantomData))
    }
}

/// The order of rows, which follows from seed and epoch, and what batches are for.
#[derive(Clone, Copy)]
pub struct BatchOrder<'a> {
    pub seed: u64,
    pub epoch: u64,
    pub shuffle: bool,
    /// Batches are feeds for its training algorithm `algorithm`, or with `None` for inference.
    pub model: Option<&'a Model>,
    pub algorithm: Option<usize>,
}

impl Default for BatchOrder<'_> {
    fn default() -> Self {
        BatchOrder { seed: 0, epoch: 0, shuffle: true, model: None, algorithm: Some(0) }
    }
}

/// An iterator over batches.
pub struct Batches(*mut sys::ondine_batches, PhantomData<*const ()>);

// SAFETY: as of Dataset.
unsafe impl Send for Batches {}

impl Drop for Batches {
    fn drop(&mut self) {
        unsafe { sys::ondine_batches_free(self.0) }
    }
}

impl Batches {
    /// Batches of a whole epoch.
    pub fn total(&self) -> Result<u64> {
        let mut count = 0;
        check(unsafe { sys::ondine_batches_count(self.0, &mut count) })?;
        Ok(count)
    }
}

impl Iterator for Batches {
    type Item = Result<Values>;

    fn next(&mut self) -> Option<Result<Values>> {
        let mut batch = ptr::null_mut();
        match check(unsafe { sys::ondine_batches_next(self.0, &mut batch) }) {
            Err(error) => Some(Err(error)),
            Ok(()) if batch.is_null() => None,
            Ok(()) => Some(Ok(Values(batch))),
        }
    }
}

pub(crate) fn places_of(places: &[impl AsRef<Path>]) -> Result<Vec<String>> {
    places.iter().map(|one| Ok(c_path(one.as_ref())?.into_string().unwrap_or_default())).collect()
}
