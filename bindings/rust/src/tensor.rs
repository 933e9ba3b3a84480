//! Values with their shape.

use crate::codes::Code;
use crate::error::{Error, Result};
use crate::native::slice_at;
use crate::sys;
use std::ffi::c_void;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Type of the numbers of a tensor: f32, or f64 for networks with `"activations": "f64"`.
pub trait Element: Copy + Default + std::fmt::Debug + sealed::Sealed {
    #[doc(hidden)]
    const ELEMENT: sys::Element;
}

impl Element for f32 {
    const ELEMENT: sys::Element = sys::ELEMENT_FLOAT32;
}

impl Element for f64 {
    const ELEMENT: sys::Element = sys::ELEMENT_FLOAT64;
}

/// Numbers in row-major order with their shape, samples first.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T: Element = f32> {
    shape: Vec<u64>,
    values: Vec<T>,
}

impl<T: Element> Tensor<T> {
    /// Makes a tensor; [`Code::ShapeMismatch`] when the shape has another number of values.
    pub fn new(shape: &[u64], values: Vec<T>) -> Result<Self> {
        let count = count_of(shape)?;
        if count != values.len() {
            let text = format!("the shape {shape:?} has {count} values, got {}", values.len());
            return Err(Error::new(Code::ShapeMismatch, text));
        }
        Ok(Self {
            shape: shape.to_vec(),
            values,
        })
    }

    pub(crate) fn zeros(shape: &[u64]) -> Result<Self> {
        Ok(Self {
            shape: shape.to_vec(),
            values: vec![T::default(); count_of(shape)?],
        })
    }

    /// Returns the extents, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the values in row-major order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values to change.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Returns the values of one of the outermost parts: of a sample, of a text.
    ///
    /// # Panics
    /// If the tensor has no such part.
    pub fn row(&self, index: usize) -> &[T] {
        let rows = self.shape.first().map_or(1, |&rows| rows as usize);
        assert!(index < rows, "row {index} of {rows}");
        let width = self.values.len() / rows;
        &self.values[index * width..(index + 1) * width]
    }

    /// Describes the tensor to C, which reads it, or fills one that was just made.
    pub(crate) fn raw(&self) -> sys::Tensor {
        sys::Tensor {
            element: T::ELEMENT,
            data: self.values.as_ptr() as *mut c_void,
            data_size: std::mem::size_of_val(self.values.as_slice()),
            shape: self.shape.as_ptr(),
            shape_count: self.shape.len(),
            ..Default::default()
        }
    }

    /// Like `raw()`, for memory that C fills.
    pub(crate) fn raw_mut(&mut self) -> sys::Tensor {
        let data = self.values.as_mut_ptr() as *mut c_void;
        sys::Tensor { data, ..self.raw() }
    }

    /// Copies a tensor that the library gave.
    ///
    /// # Safety
    /// The tensor must be one that the library has just filled.
    pub(crate) unsafe fn copied(raw: &sys::Tensor) -> Result<Self> {
        if raw.element != T::ELEMENT {
            let text = format!(
                "the network computes in element {}, the input has element {}: f32 is 1, f64 is 11",
                raw.element,
                T::ELEMENT
            );
            return Err(Error::new(Code::ShapeMismatch, text));
        }
        // SAFETY: promised by the caller.
        unsafe {
            Ok(Self {
                shape: slice_at(raw.shape, raw.shape_count).to_vec(),
                values: slice_at(raw.data as *const T, raw.data_size / std::mem::size_of::<T>()).to_vec(),
            })
        }
    }
}

fn count_of(shape: &[u64]) -> Result<usize> {
    shape
        .iter()
        .try_fold(1usize, |count, &extent| {
            count.checked_mul(usize::try_from(extent).ok()?)
        })
        .filter(|&count| count <= isize::MAX as usize / 8)
        .ok_or_else(|| Error::new(Code::SizeOverflow, format!("the shape {shape:?} has too many values")))
}
