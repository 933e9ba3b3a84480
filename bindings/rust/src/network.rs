//! Networks of any layers: made of a spec, read from a file, run, changed.

use crate::error::Result;
use crate::native::{blob, bytes, c_path, c_text, check, slice_at, text, Cancel, Compute, OneThread, Owned};
use crate::sys;
use crate::tensor::{Element, Tensor};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Mutex;

/// Grid of layers with their weights. Inputs and outputs have the samples first.
#[derive(Debug)]
pub struct Network {
    handle: Owned,
    session: Mutex<Option<NetworkSession>>, // of forward()
}

impl Network {
    /// Makes a network of a spec or checkpoint in JSON. Weights that it does not hold are drawn from its seed.
    pub fn new(spec: &str) -> Result<Self> {
        let options = sys::NetworkOptions::default();
        // SAFETY: spec and options last during the call.
        Self::made(|to| unsafe { sys::loom_network_from_json(bytes(spec.as_bytes()), spec.len(), &options, to) })
    }

    /// Makes a transformer with random weights of an arch_config in JSON.
    pub fn from_arch(config: &str) -> Result<Self> {
        // SAFETY: the config lasts during the call.
        Self::made(|to| unsafe { sys::loom_network_from_arch(bytes(config.as_bytes()), config.len(), to) })
    }

    /// Reads a network: an .entity, a spec or checkpoint in JSON, a file of Loom 0.8x, an ONNX file as one cell.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = c_path(path.as_ref(), "the path of the network")?;
        let options = sys::NetworkOptions::default();
        // SAFETY: path and options last during the call.
        Self::made(|to| unsafe { sys::loom_network_open(path.as_ptr(), &options, to) })
    }

    /// Reads the contents of a file of [`open`](Network::open).
    pub fn from_bytes(data: &[u8]) -> Result<Self> {
        let options = sys::NetworkOptions::default();
        // SAFETY: data and options last during the call.
        Self::made(|to| unsafe { sys::loom_network_from_memory(bytes(data), data.len(), &options, to) })
    }

    pub(crate) fn made(function: impl FnOnce(*mut sys::Network) -> sys::Status) -> Result<Self> {
        Ok(Self {
            handle: Owned::make(function)?,
            session: Mutex::new(None),
        })
    }

    pub(crate) fn handle(&self) -> sys::Network {
        self.handle.get()
    }

    /// Copies the network; the copy shares nothing with it that can change.
    pub fn try_clone(&self) -> Result<Self> {
        // SAFETY: the place of the handle is valid.
        Self::made(|to| unsafe { sys::loom_network_clone(self.handle(), to) })
    }

    /// Runs the network on samples. Threads that share it take turns; a [`session`](Network::session) each runs them
    /// at the same time.
    pub fn forward<T: Element>(&self, input: &Tensor<T>) -> Result<Tensor<T>> {
        let mut kept = self.session.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if kept.is_none() {
            *kept = Some(self.session(&SessionOptions::default())?);
        }
        kept.as_mut().expect("it was made").forward(input)
    }

    /// Makes a session: activations, gradients and states of one user.
    pub fn session(&self, options: &SessionOptions) -> Result<NetworkSession> {
        let compute = options.compute.filled()?;
        let raw = sys::NetworkSessionOptions {
            compute: &compute.raw,
            backward: i32::from(options.backward),
            context: options.context,
            ..Default::default()
        };
        // SAFETY: the options last during the call.
        let handle = Owned::make(|to| unsafe { sys::loom_network_session_create(self.handle(), &raw, to) })?;
        Ok(NetworkSession {
            handle,
            _one_thread: PhantomData,
        })
    }

    /// Writes the network into a file, whole or not at all: .json a checkpoint, everything else an .entity.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref(), "the path of the network")?;
        // SAFETY: the path lasts during the call.
        check(unsafe { sys::loom_network_save(self.handle(), path.as_ptr(), 0) })
    }

    /// Returns the contents of an .entity file, for [`from_bytes`](Network::from_bytes).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: the place of the blob is valid.
        blob(|to| unsafe { sys::loom_network_to_bytes(self.handle(), sys::FORMAT_ENTITY, 0, to) })
    }

    /// Returns the spec as JSON, without weights: every setting that is not the default.
    pub fn spec(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_network_spec(self.handle(), to) })
    }

    /// Returns a JSON object: grid, layers, types, memory in bytes, shapes, warnings.
    pub fn info(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_network_info(self.handle(), to) })
    }

    /// Returns the SHA-256 of all weights, hexadecimal. Equal networks have equal hashes on every machine.
    pub fn hash(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_network_hash(self.handle(), to) })
    }

    /// Returns a JSON list of the weights: name, layer, role, shape, dtype, frozen, master.
    pub fn weights(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_network_weights(self.handle(), to) })
    }

    /// Returns a copy of the values of a weight, as "layers.0.weight", whose shape must be that one.
    pub fn get<T: Element>(&self, name: &str, shape: &[u64]) -> Result<Tensor<T>> {
        let name = c_text(name, "the name of a weight")?;
        let mut values = Tensor::zeros(shape)?;
        let raw = values.raw_mut();
        // SAFETY: the memory to fill is as large as the tensor says.
        check(unsafe { sys::loom_network_get_weight(self.handle(), name.as_ptr(), &raw) })?;
        Ok(values)
    }

    /// Replaces the values of a weight. A packed weight encodes them.
    pub fn set<T: Element>(&self, name: &str, values: &Tensor<T>) -> Result<()> {
        let name = c_text(name, "the name of a weight")?;
        // SAFETY: name and values last during the call.
        check(unsafe { sys::loom_network_set_weight(self.handle(), name.as_ptr(), &values.raw()) })
    }

    /// Infers all shapes from that of the input, and returns the shape of the output.
    pub fn prepare(&self, shape: &[u64]) -> Result<Vec<u64>> {
        let (mut output, mut count) = (std::ptr::null(), 0);
        // SAFETY: the places are valid; the shape is copied at once.
        unsafe {
            check(sys::loom_network_prepare(
                self.handle(),
                shape.as_ptr(),
                shape.len(),
                &mut output,
                &mut count,
            ))?;
            Ok(slice_at(output, count).to_vec())
        }
    }

    /// Gives the matrices another numeric type, as "int8". Masters stay exact.
    pub fn morph(&self, dtype: &str) -> Result<()> {
        let dtype = c_text(dtype, "dtype")?;
        // SAFETY: the text lasts during the call.
        check(unsafe { sys::loom_network_morph(self.handle(), std::ptr::null(), dtype.as_ptr()) })
    }
}

/// Options of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Threads, instruction set and device. No result depends on them.
    pub compute: Compute,
    /// Keeps the values that [`NetworkSession::backward`] reads.
    pub backward: bool,
    /// Above 0: attention and recurrent layers go on from call to call, up to so many positions.
    pub context: u64,
}

/// Options of a forward.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    /// Dropout and batch statistics, as in training.
    pub training: bool,
    /// Step of the random streams of dropout.
    pub step: u32,
    /// Flag that ends the call with [`crate::Code::Cancelled`].
    pub cancel: Option<Cancel>,
}

/// One user of a network: activations, gradients, states. Several may run one network at the same time.
#[derive(Debug)]
pub struct NetworkSession {
    handle: Owned,
    _one_thread: OneThread,
}

impl NetworkSession {
    /// Runs the network on samples.
    pub fn forward<T: Element>(&mut self, input: &Tensor<T>) -> Result<Tensor<T>> {
        self.forward_with(input, &Pass::default())
    }

    /// Like [`forward`](NetworkSession::forward), with options.
    pub fn forward_with<T: Element>(&mut self, input: &Tensor<T>, pass: &Pass) -> Result<Tensor<T>> {
        let mut output = sys::Tensor::default();
        let raw = sys::Pass {
            training: i32::from(pass.training),
            step: pass.step,
            cancel: Cancel::handle_of(pass.cancel.as_ref()),
            ..Default::default()
        };
        // SAFETY: input and options last during the call; the output lasts until the next one.
        unsafe {
            let input = input.raw();
            check(sys::loom_network_session_forward(
                self.handle.get(),
                &input,
                &raw,
                &mut output,
            ))?;
            Tensor::copied(&output)
        }
    }

    /// Runs the backward pass after a forward: adds to the gradients of the weights and returns that of the input.
    pub fn backward<T: Element>(&mut self, output_gradient: &Tensor<T>) -> Result<Tensor<T>> {
        let mut input_gradient = sys::Tensor::default();
        // SAFETY: the gradient lasts during the call, the one that comes back until the next one.
        unsafe {
            let raw = output_gradient.raw();
            check(sys::loom_network_session_backward(
                self.handle.get(),
                &raw,
                0,
                &mut input_gradient,
            ))?;
            Tensor::copied(&input_gradient)
        }
    }

    /// Returns the gradient of a weight of that shape, summed since it was last cleared.
    pub fn gradient<T: Element>(&self, weight: &str, shape: &[u64]) -> Result<Tensor<T>> {
        let name = c_text(weight, "the name of a weight")?;
        let mut values = Tensor::zeros(shape)?;
        let raw = values.raw_mut();
        // SAFETY: the memory to fill is as large as the tensor says.
        check(unsafe { sys::loom_network_session_gradient(self.handle.get(), name.as_ptr(), &raw) })?;
        Ok(values)
    }

    /// Sets every gradient to 0.
    pub fn clear_gradients(&mut self) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_network_session_clear_gradients(self.handle.get()) })
    }

    /// Resets every sequence and state.
    pub fn reset(&mut self) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_network_session_reset(self.handle.get()) })
    }
}
