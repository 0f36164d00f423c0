use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use ondine_sys as sys;

use crate::{DType, Kind, Result, Value, Values};

/// Values that a callback sees until it returns, in memory that is used again afterwards.
pub struct Lent<'a>(ManuallyDrop<Values>, PhantomData<&'a ()>);

impl Lent<'_> {
    pub(crate) fn new(values: *const sys::ondine_values) -> Self {
        Lent(ManuallyDrop::new(Values(values as *mut _)), PhantomData)
    }

    pub fn names(&self) -> Result<Vec<String>> {
        self.0.names()
    }

    /// A copy, which may be kept.
    pub fn get(&self, name: &str) -> Result<Value> {
        let value = self.0.get(name)?;
        if value.kind()? != Kind::Tensor {
            return Ok(value); // an output, which is not in memory that is used again
        }
        let info = value.info()?;
        if info.dtype == DType::STRING {
            return Value::strings(&info.dims, &value.to_strings()?);
        }
        Value::copied(info.dtype, &info.dims, value.data()? as *const c_void)
    }

    pub fn scalar(&self, name: &str) -> Result<f64> {
        self.0.scalar(name)
    }
}
