use std::os::raw::c_int;

use ondine_sys as sys;

use crate::{Result, Value};

/// An element type, by its number in onnx.TensorProto.DataType.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DType(pub(crate) c_int);

#[rustfmt::skip]
impl DType {
    pub const FLOAT32: DType = DType(sys::ONDINE_FLOAT32);
    pub const UINT8: DType = DType(sys::ONDINE_UINT8);
    pub const INT8: DType = DType(sys::ONDINE_INT8);
    pub const UINT16: DType = DType(sys::ONDINE_UINT16);
    pub const INT16: DType = DType(sys::ONDINE_INT16);
    pub const INT32: DType = DType(sys::ONDINE_INT32);
    pub const INT64: DType = DType(sys::ONDINE_INT64);
    pub const STRING: DType = DType(sys::ONDINE_STRING);
    pub const BOOL: DType = DType(sys::ONDINE_BOOL);
    pub const FLOAT16: DType = DType(sys::ONDINE_FLOAT16);
    pub const FLOAT64: DType = DType(sys::ONDINE_FLOAT64);
    pub const UINT32: DType = DType(sys::ONDINE_UINT32);
    pub const UINT64: DType = DType(sys::ONDINE_UINT64);
    pub const COMPLEX64: DType = DType(sys::ONDINE_COMPLEX64);
    pub const COMPLEX128: DType = DType(sys::ONDINE_COMPLEX128);
    pub const BFLOAT16: DType = DType(sys::ONDINE_BFLOAT16);
    pub const FLOAT8E4M3FN: DType = DType(sys::ONDINE_FLOAT8E4M3FN);
    pub const FLOAT8E4M3FNUZ: DType = DType(sys::ONDINE_FLOAT8E4M3FNUZ);
    pub const FLOAT8E5M2: DType = DType(sys::ONDINE_FLOAT8E5M2);
    pub const FLOAT8E5M2FNUZ: DType = DType(sys::ONDINE_FLOAT8E5M2FNUZ);
    pub const UINT4: DType = DType(sys::ONDINE_UINT4);
    pub const INT4: DType = DType(sys::ONDINE_INT4);
    pub const FLOAT4E2M1: DType = DType(sys::ONDINE_FLOAT4E2M1);
    pub const FLOAT8E8M0: DType = DType(sys::ONDINE_FLOAT8E8M0);
    pub const UINT2: DType = DType(sys::ONDINE_UINT2);
    pub const INT2: DType = DType(sys::ONDINE_INT2);
}

impl DType {
    pub fn number(self) -> i32 {
        self.0
    }

    /// The library refuses a number that is no element type.
    pub fn from_number(number: i32) -> DType {
        DType(number)
    }

    /// Bytes of an element.
    pub(crate) fn bytes(self) -> Result<usize> {
        Ok(Value::zeros(self, &[1])?.info()?.bytes)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Types of Rust that are element types of tensors.
pub trait Element: sealed::Sealed + Copy + Send + 'static {
    const DTYPE: DType;
}

/// Elements of which every pattern of bits is one.
pub trait Plain: Element {}

macro_rules! elements {
    ($($type:ty: $dtype:ident),*) => {
        $(impl sealed::Sealed for $type {}
        impl Element for $type { const DTYPE: DType = DType::$dtype; }
        impl Plain for $type {})*
    };
}
elements!(f32: FLOAT32, f64: FLOAT64, i8: INT8, i16: INT16, i32: INT32, i64: INT64,
          u8: UINT8, u16: UINT16, u32: UINT32, u64: UINT64);
impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::BOOL;
}
