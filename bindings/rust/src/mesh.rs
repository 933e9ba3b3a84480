//! Networks that move in ticks.

use crate::error::Result;
use crate::native::{blob, bytes, c_text, check, text, Cancel, Compute, OneThread, Owned};
use crate::network::Network;
use crate::sys;
use crate::tensor::{Element, Tensor};
use std::marker::PhantomData;

/// Options of a step mesh.
#[derive(Clone, Debug, Default)]
pub struct MeshOptions {
    /// Threads, instruction set and device. No result depends on them.
    pub compute: Compute,
    /// Number of captured ticks that a state keeps for [`StepMesh::backward`], at most 65536.
    pub history: u64,
    /// Keeps the activations that [`StepMesh::backward`] reads.
    pub backward: bool,
    /// Keeps the inputs of every tick, which [`StepMesh::tween`] starts from.
    pub keep_inputs: bool,
}

/// Options of [`StepMesh::step`].
#[derive(Clone, Debug, Default)]
pub struct Ticks {
    /// Number of ticks; 0: one.
    pub count: u64,
    /// Keeps these ticks in the history of the states, for [`StepMesh::backward`].
    pub capture: bool,
    /// Dropout and batch statistics, as in training.
    pub training: bool,
    /// Flag that ends the call with [`crate::Code::Cancelled`].
    pub cancel: Option<Cancel>,
}

/// Network whose cells all move at once: in each tick a cell reads the outputs of the tick before.
///
/// Its users have a [`StepState`] each.
#[derive(Debug)]
pub struct StepMesh {
    handle: Owned,
    _one_thread: OneThread,
}

impl StepMesh {
    /// Prepares a network for ticks with inputs of that shape, samples first.
    pub fn new(network: &Network, shape: &[u64], options: &MeshOptions) -> Result<Self> {
        let compute = options.compute.filled()?;
        let raw = sys::StepMeshOptions {
            compute: &compute.raw,
            history: options.history,
            backward: i32::from(options.backward),
            keep_inputs: i32::from(options.keep_inputs),
            ..Default::default()
        };
        // SAFETY: shape and options last during the call.
        let handle = Owned::make(|to| unsafe {
            sys::loom_step_mesh_create(network.handle(), shape.as_ptr(), shape.len(), &raw, to)
        })?;
        Ok(Self {
            handle,
            _one_thread: PhantomData,
        })
    }

    /// Returns a JSON object: cells, memory of a state in bytes.
    pub fn info(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_step_mesh_info(self.handle.get(), to) })
    }

    /// Makes a user of the mesh, without input and outputs.
    pub fn state(&self) -> Result<StepState<'_>> {
        // SAFETY: the place of the handle is valid.
        self.child(|to| unsafe { sys::loom_step_state_create(self.handle.get(), to) })
    }

    fn child(&self, function: impl FnOnce(*mut sys::Handle) -> sys::Status) -> Result<StepState<'_>> {
        Ok(StepState {
            handle: Owned::make(function)?,
            mesh: self,
        })
    }

    /// Moves states. After an error none of them has moved in the tick that failed.
    pub fn step(&self, states: &[&StepState<'_>], ticks: &Ticks) -> Result<()> {
        let handles = handles_of(states);
        let raw = sys::TickOptions {
            ticks: ticks.count,
            capture: i32::from(ticks.capture),
            training: i32::from(ticks.training),
            cancel: Cancel::handle_of(ticks.cancel.as_ref()),
            ..Default::default()
        };
        // SAFETY: handles and options last during the call.
        check(unsafe { sys::loom_step_mesh_step(self.handle.get(), handles.as_ptr(), handles.len(), &raw) })
    }

    /// Goes back through at most so many captured ticks, 0 for all of them, from a gradient of the last cell's output:
    /// adds to the gradients of the weights.
    ///
    /// Returns the gradient of the newest tick's input, or None if that tick had no input.
    /// [`crate::Code::NoHistory`] when the last tick was not captured.
    pub fn backward<T: Element>(
        &self,
        state: &StepState<'_>,
        output_gradient: &Tensor<T>,
        ticks: u64,
    ) -> Result<Option<Tensor<T>>> {
        let mut raw = sys::Tensor::default();
        // SAFETY: the gradient lasts during the call, the one that comes back until the next one.
        unsafe {
            let dy = output_gradient.raw();
            check(sys::loom_step_mesh_backward(
                self.handle.get(),
                state.handle.get(),
                &dy,
                ticks,
                &mut raw,
            ))?;
            if raw.data.is_null() {
                return Ok(None);
            }
            Tensor::copied(&raw).map(Some)
        }
    }

    /// Returns the gradient of a weight of that shape, summed since it was last cleared.
    pub fn gradient<T: Element>(&self, weight: &str, shape: &[u64]) -> Result<Tensor<T>> {
        let name = c_text(weight, "the name of a weight")?;
        let mut values = Tensor::zeros(shape)?;
        let raw = values.raw_mut();
        // SAFETY: the memory to fill is as large as the tensor says.
        check(unsafe { sys::loom_step_mesh_gradient(self.handle.get(), name.as_ptr(), &raw) })?;
        Ok(values)
    }

    /// Sets every gradient to 0.
    pub fn clear_gradients(&self) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_step_mesh_clear_gradients(self.handle.get()) })
    }

    /// Begins learning by targets, with options of docs/guide/tween.md as JSON.
    ///
    /// A step goes back through so many captured ticks, 0 for the last tick alone. The mesh keeps its inputs
    /// ([`MeshOptions::keep_inputs`]).
    pub fn tween(&self, config: &str, ticks: u64) -> Result<MeshTween<'_>> {
        // SAFETY: the config lasts during the call.
        let handle = Owned::make(|to| unsafe {
            sys::loom_mesh_tween_create(self.handle.get(), bytes(config.as_bytes()), config.len(), ticks, to)
        })?;
        Ok(MeshTween { handle, _mesh: self })
    }
}

fn handles_of(states: &[&StepState<'_>]) -> Vec<sys::Handle> {
    states.iter().map(|state| state.handle.get()).collect()
}

/// One user of a mesh: outputs of the cells, recurrent states, captured ticks.
#[derive(Debug)]
pub struct StepState<'m> {
    handle: Owned,
    mesh: &'m StepMesh,
}

impl<'m> StepState<'m> {
    /// Sets the input of the first cell. It stays until it is replaced (`hold`), or for the next tick alone.
    pub fn set_input<T: Element>(&mut self, x: &Tensor<T>, hold: bool) -> Result<()> {
        // SAFETY: the input is copied at once.
        check(unsafe { sys::loom_step_state_set_input(self.handle.get(), &x.raw(), i32::from(hold)) })
    }

    /// Removes the input.
    pub fn clear_input(&mut self) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_step_state_clear_input(self.handle.get()) })
    }

    /// Returns the output of a cell in the last tick; None is the last cell.
    ///
    /// [`crate::Code::NoValue`] before data has reached the cell.
    pub fn output<T: Element>(&self, cell: Option<u32>) -> Result<Tensor<T>> {
        let mut raw = sys::Tensor::default();
        // SAFETY: the output lasts until the next call with the mesh.
        unsafe {
            check(sys::loom_step_state_output(
                self.handle.get(),
                cell.map_or(-1, i64::from),
                &mut raw,
            ))?;
            Tensor::copied(&raw)
        }
    }

    /// Returns the number of ticks since the start.
    pub fn ticks(&self) -> Result<u64> {
        let mut ticks = 0;
        // SAFETY: the place is valid.
        check(unsafe { sys::loom_step_state_ticks(self.handle.get(), &mut ticks) })?;
        Ok(ticks)
    }

    /// Returns the SHA-256 of the whole state, hexadecimal: equal on every machine.
    pub fn hash(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_step_state_hash(self.handle.get(), to) })
    }

    /// Returns the whole state, for [`restore`](StepState::restore) on any machine.
    pub fn snapshot(&self) -> Result<Vec<u8>> {
        // SAFETY: the place of the blob is valid.
        blob(|to| unsafe { sys::loom_step_state_snapshot(self.handle.get(), to) })
    }

    /// Replaces the state by a snapshot of a state of an equal mesh.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<()> {
        // SAFETY: the bytes last during the call.
        check(unsafe { sys::loom_step_state_restore(self.handle.get(), bytes(snapshot), snapshot.len()) })
    }

    /// Resets the state to its beginning: no input, no outputs, no history, tick 0.
    pub fn reset(&mut self) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_step_state_reset(self.handle.get()) })
    }

    /// Copies the state; the copy moves on its own.
    pub fn fork(&self) -> Result<StepState<'m>> {
        // SAFETY: the place of the handle is valid.
        self.mesh
            .child(|to| unsafe { sys::loom_step_state_fork(self.handle.get(), to) })
    }
}

/// Learning by targets between ticks, of [`StepMesh::tween`].
#[derive(Debug)]
pub struct MeshTween<'m> {
    handle: Owned,
    _mesh: &'m StepMesh,
}

impl MeshTween<'_> {
    /// Moves all weights once towards targets of the last cell's outputs, one state's after another.
    pub fn step<T: Element>(
        &mut self,
        states: &[&StepState<'_>],
        targets: &Tensor<T>,
        learning_rate: f64,
    ) -> Result<()> {
        let handles = handles_of(states);
        let raw = sys::Tensor {
            shape: std::ptr::null(),
            shape_count: 0,
            ..targets.raw()
        };
        // SAFETY: handles and targets last during the call.
        check(unsafe {
            sys::loom_mesh_tween_step(self.handle.get(), handles.as_ptr(), handles.len(), &raw, learning_rate)
        })
    }
}
