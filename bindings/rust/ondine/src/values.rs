use std::any::Any;
use std::ffi::{c_void, CStr};
use std::mem::size_of;
use std::ptr;
use std::slice;

use ondine_sys as sys;

use crate::callbacks::release_owner;
use crate::error::{check, mismatch};
use crate::options::c_text;
use crate::{DType, Element, Plain, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    None,
    Tensor,
    SparseTensor,
    Sequence,
    Map,
    Optional,
}

pub(crate) struct Info {
    pub dtype: DType,
    pub dims: Vec<usize>,
    pub elements: usize,
    pub bytes: usize,
}

fn c_dims(dims: &[usize]) -> Result<Vec<i64>> {
    dims.iter()
        .map(|&one| {
            i64::try_from(one).or_else(|_| mismatch(format!("a dim of {one} is too large")))
        })
        .collect()
}

fn check_count(dims: &[usize], count: usize) -> Result<()> {
    let product = dims.iter().try_fold(1usize, |all, &one| all.checked_mul(one));
    match product {
        Some(needed) if needed == count => Ok(()),
        Some(needed) => mismatch(format!(
            "a tensor of dims {dims:?} has {needed} elements; the slice has {count}"
        )),
        None => mismatch(format!("a tensor of dims {dims:?} is too large")),
    }
}

/// A tensor, sequence, map, optional or sparse tensor. Its elements do not change.
pub struct Value(pub(crate) *mut sys::ondine_value);

// SAFETY: handles may be used from any thread, and nothing writes elements.
unsafe impl Send for Value {}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: a handle of this object.
        unsafe { sys::ondine_value_free(self.0) }
    }
}

impl Value {
    /// A tensor with a copy of the elements, in row-major order.
    pub fn from_slice<T: Element>(dims: &[usize], elements: &[T]) -> Result<Value> {
        check_count(dims, elements.len())?;
        Value::copied(T::DTYPE, dims, elements.as_ptr() as *const c_void)
    }

    /// A tensor that takes the elements over, without a copy.
    pub fn from_vec<T: Element>(dims: &[usize], elements: Vec<T>) -> Result<Value> {
        check_count(dims, elements.len())?;
        let shape = c_dims(dims)?;
        let data = elements.as_ptr() as *mut c_void;
        let owner: Box<Box<dyn Any + Send>> = Box::new(Box::new(elements));
        let user = Box::into_raw(owner) as *mut c_void;
        let mut value = ptr::null_mut();
        // SAFETY: the elements stay where they are until release_owner drops them.
        let made = check(unsafe {
            let rank = shape.len();
            sys::ondine_tensor_wrap(
                T::DTYPE.0,
                rank,
                shape.as_ptr(),
                data,
                Some(release_owner),
                user,
                &mut value,
            )
        });
        match made {
            Ok(()) => Ok(Value(value)),
            Err(error) => {
                // SAFETY: an error leaves the elements to this function.
                unsafe { release_owner(user) };
                Err(error)
            }
        }
    }

    /// A tensor of a type that Rust has no elements of, such as `DType::BFLOAT16`, from their bytes
    /// in the order of this machine. Elements below a byte take one each.
    pub fn from_bytes(dtype: DType, dims: &[usize], bytes: &[u8]) -> Result<Value> {
        let width = dtype.bytes()?;
        if bytes.len() % width != 0 {
            return mismatch(format!("{} bytes are no elements of {width}", bytes.len()));
        }
        check_count(dims, bytes.len() / width)?;
        let mut aligned = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
        let target = aligned.as_mut_ptr() as *mut u8;
        // SAFETY: the target has room for the bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        Value::copied(dtype, dims, target as *const c_void)
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(element: T) -> Result<Value> {
        Value::from_slice(&[], &[element])
    }

    pub fn zeros(dtype: DType, dims: &[usize]) -> Result<Value> {
        Value::copied(dtype, dims, ptr::null())
    }

    pub(crate) fn copied(dtype: DType, dims: &[usize], data: *const c_void) -> Result<Value> {
        let shape = c_dims(dims)?;
        let mut value = ptr::null_mut();
        // SAFETY: data has as many elements as the dims say, or is NULL.
        check(unsafe {
            sys::ondine_tensor_new(dtype.0, shape.len(), shape.as_ptr(), data, &mut value)
        })?;
        Ok(Value(value))
    }

    pub fn strings<S: AsRef<str>>(dims: &[usize], texts: &[S]) -> Result<Value> {
        check_count(dims, texts.len())?;
        let shape = c_dims(dims)?;
        let pointers: Vec<_> = texts.iter().map(|one| one.as_ref().as_ptr() as *const _).collect();
        let lengths: Vec<usize> = texts.iter().map(|one| one.as_ref().len()).collect();
        let mut value = ptr::null_mut();
        // SAFETY: every text has its length.
        check(unsafe {
            let (texts, lengths) = (pointers.as_ptr(), lengths.as_ptr());
            sys::ondine_tensor_strings(shape.len(), shape.as_ptr(), texts, lengths, &mut value)
        })?;
        Ok(Value(value))
    }

    pub fn sequence(elements: &[&Value]) -> Result<Value> {
        let handles: Vec<_> = elements.iter().map(|one| one.0 as *const _).collect();
        let mut value = ptr::null_mut();
        check(unsafe { sys::ondine_value_sequence(handles.as_ptr(), handles.len(), &mut value) })?;
        Ok(Value(value))
    }

    /// `keys`: a tensor of rank 1 of integers or strings, one for each element.
    pub fn map(keys: &Value, elements: &[&Value]) -> Result<Value> {
        let handles: Vec<_> = elements.iter().map(|one| one.0 as *const _).collect();
        let mut value = ptr::null_mut();
        check(unsafe {
            sys::ondine_value_map(keys.0, handles.as_ptr(), handles.len(), &mut value)
        })?;
        Ok(Value(value))
    }

    pub fn optional(element: Option<&Value>) -> Result<Value> {
        let mut value = ptr::null_mut();
        let given = element.map_or(ptr::null_mut(), |one| one.0);
        check(unsafe { sys::ondine_value_optional(given, &mut value) })?;
        Ok(Value(value))
    }

    /// `elements` [nnz], `indices` [nnz] linear or [nnz, rank]; the dims are those of the whole.
    pub fn sparse(elements: &Value, indices: &Value, dims: &[usize]) -> Result<Value> {
        let shape = c_dims(dims)?;
        let mut value = ptr::null_mut();
        check(unsafe {
            sys::ondine_value_sparse(elements.0, indices.0, shape.len(), shape.as_ptr(), &mut value)
        })?;
        Ok(Value(value))
    }

    pub fn kind(&self) -> Result<Kind> {
        let mut kind = 0;
        check(unsafe { sys::ondine_value_kind(self.0, &mut kind) })?;
        Ok(match kind {
            sys::ONDINE_TENSOR => Kind::Tensor,
            sys::ONDINE_SPARSE_TENSOR => Kind::SparseTensor,
            sys::ONDINE_SEQUENCE => Kind::Sequence,
            sys::ONDINE_MAP => Kind::Map,
            sys::ONDINE_OPTIONAL => Kind::Optional,
            _ => Kind::None,
        })
    }

    pub(crate) fn info(&self) -> Result<Info> {
        let (mut dtype, mut rank, mut dims, mut elements, mut bytes) = (0, 0, ptr::null(), 0, 0);
        // SAFETY: dims is valid as long as this value.
        unsafe {
            check(sys::ondine_tensor_info(
                self.0,
                &mut dtype,
                &mut rank,
                &mut dims,
                &mut elements,
                &mut bytes,
            ))?;
            let dims = if rank == 0 { &[] } else { slice::from_raw_parts(dims, rank) };
            let dims = dims.iter().map(|&one| one as usize).collect();
            Ok(Info { dtype: DType(dtype), dims, elements, bytes })
        }
    }

    pub fn dtype(&self) -> Result<DType> {
        Ok(self.info()?.dtype)
    }

    pub fn dims(&self) -> Result<Vec<usize>> {
        Ok(self.info()?.dims)
    }

    pub(crate) fn data(&self) -> Result<*const u8> {
        let mut data = ptr::null_mut();
        check(unsafe { sys::ondine_tensor_data(self.0, &mut data) })?;
        Ok(data as *const u8)
    }

    fn elements_of(&self, dtype: DType) -> Result<(*const u8, usize)> {
        let info = self.info()?;
        if info.dtype != dtype {
            let (has, asked) = (info.dtype.0, dtype.0);
            return mismatch(format!("the tensor has elements of type {has}, not {asked}"));
        }
        Ok((self.data()?, info.elements))
    }

    /// The elements of a tensor, in row-major order.
    pub fn as_slice<T: Plain>(&self) -> Result<&[T]> {
        let (data, count) = self.elements_of(T::DTYPE)?;
        if count == 0 {
            return Ok(&[]);
        }
        // SAFETY: the elements have this type, are aligned and stay as long as this value.
        Ok(unsafe { slice::from_raw_parts(data as *const T, count) })
    }

    /// The bytes of a tensor's elements, whatever their type.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        let bytes = self.info()?.bytes;
        let data = self.data()?;
        // SAFETY: as many bytes as the library says.
        Ok(if bytes == 0 { &[] } else { unsafe { slice::from_raw_parts(data, bytes) } })
    }

    pub fn to_bools(&self) -> Result<Vec<bool>> {
        self.elements_of(DType::BOOL)?;
        Ok(self.as_bytes()?.iter().map(|&byte| byte != 0).collect())
    }

    /// The texts of a tensor of strings.
    pub fn to_strings(&self) -> Result<Vec<String>> {
        (0..self.info()?.elements)
            .map(|index| {
                let (mut text, mut length) = (ptr::null(), 0);
                // SAFETY: the text is valid as long as this value.
                unsafe {
                    check(sys::ondine_tensor_string(self.0, index, &mut text, &mut length))?;
                    let bytes = slice::from_raw_parts(text as *const u8, length);
                    Ok(String::from_utf8_lossy(bytes).into_owned())
                }
            })
            .collect()
    }

    /// Elements of a sequence, map or optional; the values of a sparse tensor are element 0.
    pub fn elements(&self) -> Result<Vec<Value>> {
        let mut count = 0;
        check(unsafe { sys::ondine_value_count(self.0, &mut count) })?;
        (0..count)
            .map(|index| {
                let mut element = ptr::null_mut();
                check(unsafe { sys::ondine_value_element(self.0, index, &mut element) })?;
                Ok(Value(element))
            })
            .collect()
    }

    /// Keys of a map, indices of a sparse tensor.
    pub fn keys(&self) -> Result<Value> {
        let mut keys = ptr::null_mut();
        check(unsafe { sys::ondine_value_keys(self.0, &mut keys) })?;
        Ok(Value(keys))
    }
}

/// Values by name, in order: what calls are fed with and what they return.
pub struct Values(pub(crate) *mut sys::ondine_values);

// SAFETY: as of Value.
unsafe impl Send for Values {}

impl Drop for Values {
    fn drop(&mut self) {
        unsafe { sys::ondine_values_free(self.0) }
    }
}

impl Values {
    pub fn new() -> Result<Values> {
        let mut values = ptr::null_mut();
        check(unsafe { sys::ondine_values_new(&mut values) })?;
        Ok(Values(values))
    }

    /// Adds the value or takes the place of the one of this name.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let name = c_text(name, "a name")?;
        check(unsafe { sys::ondine_values_set(self.0, name.as_ptr(), value.0) })
    }

    /// The same with a tensor that has a copy of the elements.
    pub fn set_slice<T: Element>(
        &mut self,
        name: &str,
        dims: &[usize],
        elements: &[T],
    ) -> Result<()> {
        let value = Value::from_slice(dims, elements).map_err(|error| error.about(name))?;
        self.set(name, &value)
    }

    /// `Values::new()?.with("image", &[32, 4], &image)?`
    pub fn with<T: Element>(
        mut self,
        name: &str,
        dims: &[usize],
        elements: &[T],
    ) -> Result<Values> {
        self.set_slice(name, dims, elements)?;
        Ok(self)
    }

    pub fn names(&self) -> Result<Vec<String>> {
        let mut count = 0;
        check(unsafe { sys::ondine_values_count(self.0, &mut count) })?;
        (0..count)
            .map(|index| {
                let mut name = ptr::null();
                // SAFETY: the name is valid until the values change.
                unsafe {
                    check(sys::ondine_values_name(self.0, index, &mut name))?;
                    Ok(CStr::from_ptr(name).to_string_lossy().into_owned())
                }
            })
            .collect()
    }

    pub fn get(&self, name: &str) -> Result<Value> {
        let name = c_text(name, "a name")?;
        let mut value = ptr::null_mut();
        check(unsafe { sys::ondine_values_get(self.0, name.as_ptr(), &mut value) })?;
        Ok(Value(value))
    }

    /// The only element of a tensor of numbers or booleans.
    pub fn scalar(&self, name: &str) -> Result<f64> {
        let name = c_text(name, "a name")?;
        let mut number = 0.0;
        check(unsafe { sys::ondine_values_scalar(self.0, name.as_ptr(), &mut number) })?;
        Ok(number)
    }
}
