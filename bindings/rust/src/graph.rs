//! ONNX models.

use crate::codes::Code;
use crate::error::{Error, Result};
use crate::native::{bytes, c_path, c_text, check, slice_at, text, Cancel, Compute, OneThread, Owned};
use crate::sys;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::path::Path;

/// Makes the enum of values, with what C calls each of its types.
macro_rules! data {
    ($($(#[$doc:meta])* $name:ident($type:ty) = $element:ident,)*) => {
        /// Values of an input or an output. Types that Rust lacks are their codes.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Data {
            $($(#[$doc])* $name(Vec<$type>),)*
        }

        impl Data {
            /// Element, address and bytes, for C.
            fn raw(&self) -> (sys::Element, *mut c_void, usize) {
                match self {
                    $(Self::$name(values) => {
                        (sys::$element, values.as_ptr() as *mut c_void, std::mem::size_of_val(values.as_slice()))
                    })*
                }
            }

            /// Copies values that the library gave.
            ///
            /// # Safety
            /// The tensor must be one that the library has just filled.
            unsafe fn copied(raw: &sys::Tensor) -> Result<Self> {
                // SAFETY: promised by the caller; bytes of a bool are 0 or 1.
                unsafe {
                    match raw.element {
                        $(sys::$element => Ok(Self::$name(
                            slice_at(raw.data as *const $type, raw.data_size / std::mem::size_of::<$type>()).to_vec(),
                        )),)*
                        other => Err(Error::new(
                            Code::Unsupported,
                            format!("an output has element {other}, which this crate does not know"),
                        )),
                    }
                }
            }
        }
    };
}

data! {
    /// Floats of 32 bits.
    F32(f32) = ELEMENT_FLOAT32,
    /// Floats of 64 bits.
    F64(f64) = ELEMENT_FLOAT64,
    /// Signed numbers of 8 bits.
    I8(i8) = ELEMENT_INT8,
    /// Signed numbers of 16 bits.
    I16(i16) = ELEMENT_INT16,
    /// Signed numbers of 32 bits.
    I32(i32) = ELEMENT_INT32,
    /// Signed numbers of 64 bits.
    I64(i64) = ELEMENT_INT64,
    /// Numbers of 8 bits.
    U8(u8) = ELEMENT_UINT8,
    /// Numbers of 16 bits.
    U16(u16) = ELEMENT_UINT16,
    /// Numbers of 32 bits.
    U32(u32) = ELEMENT_UINT32,
    /// Numbers of 64 bits.
    U64(u64) = ELEMENT_UINT64,
    /// Truth values.
    Bool(bool) = ELEMENT_BOOL,
    /// Codes of float16.
    F16(u16) = ELEMENT_FLOAT16,
    /// Codes of bfloat16.
    Bf16(u16) = ELEMENT_BFLOAT16,
    /// Codes of float8_e4m3fn.
    F8E4M3fn(u8) = ELEMENT_FLOAT8_E4M3FN,
    /// Codes of float8_e5m2.
    F8E5M2(u8) = ELEMENT_FLOAT8_E5M2,
    /// Numbers of 4 bits, two in a byte.
    U4(u8) = ELEMENT_UINT4,
    /// Signed numbers of 4 bits, two in a byte.
    I4(u8) = ELEMENT_INT4,
}

/// Input or output of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Extents, outermost first; none for a scalar.
    pub shape: Vec<u64>,
    /// The values in row-major order.
    pub data: Data,
}

impl Value {
    /// Makes a value; the library checks that shape and data agree.
    pub fn new(shape: &[u64], data: Data) -> Self {
        Self {
            shape: shape.to_vec(),
            data,
        }
    }
}

/// ONNX model of opset 7 or later. Threads may share one, and have a [`GraphSession`] each.
#[derive(Debug)]
pub struct Graph {
    handle: Owned,
}

impl Graph {
    /// Reads an .onnx file, or an .entity with one. [`Code::Unsupported`] lists every operation that Loom lacks.
    ///
    /// `max_bytes` is the most bytes of all values of a run; 0: 16 GiB.
    pub fn open(path: impl AsRef<Path>, max_bytes: u64) -> Result<Self> {
        let path = c_path(path.as_ref(), "the path of the graph")?;
        // SAFETY: path and options last during the call.
        Self::made(max_bytes, |options, to| unsafe {
            sys::loom_graph_open(path.as_ptr(), options, to)
        })
    }

    /// Reads the contents of a file, which must hold every tensor.
    pub fn from_bytes(contents: &[u8], max_bytes: u64) -> Result<Self> {
        // SAFETY: contents and options last during the call.
        Self::made(max_bytes, |options, to| unsafe {
            sys::loom_graph_from_memory(bytes(contents), contents.len(), options, to)
        })
    }

    fn made(
        max_bytes: u64,
        function: impl FnOnce(*const sys::GraphOptions, *mut sys::Graph) -> sys::Status,
    ) -> Result<Self> {
        let options = sys::GraphOptions {
            max_bytes,
            ..Default::default()
        };
        Ok(Self {
            handle: Owned::make(|to| function(&options, to))?,
        })
    }

    /// Returns a JSON object: inputs and outputs with name, type and shape ("?": any extent), opset, operations and how
    /// often, constants and their bytes.
    pub fn info(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_graph_info(self.handle.get(), to) })
    }

    /// Makes a user of the graph.
    pub fn session(&self, compute: &Compute) -> Result<GraphSession> {
        let compute = compute.filled()?;
        // SAFETY: the options last during the call.
        let handle = Owned::make(|to| unsafe { sys::loom_graph_session_create(self.handle.get(), &compute.raw, to) })?;
        Ok(GraphSession {
            handle,
            _one_thread: PhantomData,
        })
    }
}

/// One user of a graph: plans, memory, outputs.
#[derive(Debug)]
pub struct GraphSession {
    handle: Owned,
    _one_thread: OneThread,
}

impl GraphSession {
    /// Runs the graph on inputs by name.
    ///
    /// [`Code::InvalidArgument`] for an input that is missing, unknown or of another type, [`Code::ShapeMismatch`] for
    /// one of another shape.
    pub fn run(&mut self, inputs: &[(&str, &Value)]) -> Result<()> {
        self.run_with(inputs, None)
    }

    /// Like [`run`](GraphSession::run), with a flag that ends the call with [`Code::Cancelled`].
    pub fn run_with(&mut self, inputs: &[(&str, &Value)], cancel: Option<&Cancel>) -> Result<()> {
        let done = self.run_bound(inputs, cancel);
        // SAFETY: handles are numbers. The inputs may end now.
        let unbound = check(unsafe { sys::loom_graph_session_unbind(self.handle.get()) });
        done.and(unbound)
    }

    fn run_bound(&mut self, inputs: &[(&str, &Value)], cancel: Option<&Cancel>) -> Result<()> {
        for (name, value) in inputs {
            let name = c_text(name, "the name of an input")?;
            let (element, data, data_size) = value.data.raw();
            let raw = sys::Tensor {
                element,
                data,
                data_size,
                shape: value.shape.as_ptr(),
                shape_count: value.shape.len(),
                ..Default::default()
            };
            // SAFETY: the values last until they are unbound, in run_with().
            check(unsafe { sys::loom_graph_session_bind(self.handle.get(), name.as_ptr(), &raw) })?;
        }
        // SAFETY: what is bound lasts during the call.
        check(unsafe { sys::loom_graph_session_run(self.handle.get(), Cancel::handle_of(cancel)) })
    }

    /// Copies an output of the last run. [`Code::InvalidState`] before a run.
    pub fn output(&self, name: &str) -> Result<Value> {
        let name = c_text(name, "the name of an output")?;
        let mut raw = sys::Tensor::default();
        // SAFETY: the output lasts until the next call with the session.
        unsafe {
            check(sys::loom_graph_session_output(
                self.handle.get(),
                name.as_ptr(),
                &mut raw,
            ))?;
            Ok(Value {
                shape: slice_at(raw.shape, raw.shape_count).to_vec(),
                data: Data::copied(&raw)?,
            })
        }
    }

    /// Returns the SHA-256 of all outputs of the last run, hexadecimal: equal on every machine, and that of `loom run`.
    pub fn hash(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_graph_session_hash(self.handle.get(), to) })
    }
}
