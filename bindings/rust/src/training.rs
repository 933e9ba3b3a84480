//! Networks that learn: step by step, or whole trainings.

use crate::error::Result;
use crate::native::{
    bytes, check, optional_path, pointer, slice_at, text, Callback, Cancel, Compute, OneThread, Owned,
};
use crate::network::Network;
use crate::sys;
use crate::tensor::Tensor;
use std::ffi::{c_void, CStr};
use std::marker::PhantomData;
use std::path::PathBuf;

/// Outputs that a network learns for its inputs.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// Numbers in the shape of the output.
    Values(&'a Tensor),
    /// An id from 0 per row of the output, for losses as "softmax_crossentropy".
    Classes(&'a [i32]),
}

/// Tensors of a batch, for C.
struct Batch {
    inputs: sys::Tensor,
    targets: sys::Tensor,
}

impl Batch {
    fn new(inputs: &Tensor, targets: Targets) -> Self {
        let targets = match targets {
            Targets::Values(values) => values.raw(),
            Targets::Classes(classes) => sys::Tensor {
                element: sys::ELEMENT_INT32,
                data: classes.as_ptr() as *mut c_void,
                data_size: std::mem::size_of_val(classes),
                ..Default::default()
            },
        };
        Self {
            inputs: inputs.raw(),
            targets,
        }
    }

    /// Describes the batch to C, as long as it lives.
    fn raw(&self) -> sys::Batch {
        sys::Batch {
            inputs: &self.inputs,
            targets: &self.targets,
            ..Default::default()
        }
    }
}

/// Outcome of a step of training.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Loss of the batch, before the step.
    pub loss: f64,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Norm of the gradients, if the config clips by it; else 0.
    pub gradient_norm: f64,
    /// The layer and the number that were not finite, if the step was skipped; everything is then as before.
    pub skipped: Option<String>,
}

/// Training of a network, step by step, with batches of the caller.
#[derive(Debug)]
pub struct Trainer {
    handle: Owned,
    _one_thread: OneThread,
}

impl Trainer {
    /// Makes a network ready to learn from inputs of that shape, by a config in JSON (docs/guide/training.md).
    ///
    /// The network learns in place. Nothing else may change it meanwhile.
    pub fn new(network: &Network, shape: &[u64], config: &str) -> Result<Self> {
        Self::with(network, shape, config, &Compute::default())
    }

    /// Like [`new`](Trainer::new), with threads and a device.
    pub fn with(network: &Network, shape: &[u64], config: &str, compute: &Compute) -> Result<Self> {
        let compute = compute.filled()?;
        // SAFETY: config, shape and options last during the call.
        let handle = Owned::make(|to| unsafe {
            sys::loom_trainer_create(
                network.handle(),
                bytes(config.as_bytes()),
                config.len(),
                shape.as_ptr(),
                shape.len(),
                &compute.raw,
                to,
            )
        })?;
        Ok(Self {
            handle,
            _one_thread: PhantomData,
        })
    }

    /// Learns from one batch. A step with numbers that are not finite is skipped.
    pub fn step(&mut self, inputs: &Tensor, targets: Targets) -> Result<Step> {
        self.step_with(inputs, targets, None)
    }

    /// Like [`step`](Trainer::step), with a flag that ends the step; everything is then as before.
    pub fn step_with(&mut self, inputs: &Tensor, targets: Targets, cancel: Option<&Cancel>) -> Result<Step> {
        let batch = Batch::new(inputs, targets);
        let mut step = sys::TrainingStep::default();
        // SAFETY: the batch lasts during the call; `why` lasts until the next one.
        unsafe {
            let cancel = Cancel::handle_of(cancel);
            check(sys::loom_trainer_step(
                self.handle.get(),
                &batch.raw(),
                cancel,
                &mut step,
            ))?;
            let why = || String::from_utf8_lossy(slice_at(step.why as *const u8, step.why_size)).into_owned();
            Ok(Step {
                loss: step.loss,
                learning_rate: step.learning_rate,
                gradient_norm: step.gradient_norm,
                skipped: (step.skipped != 0).then(why),
            })
        }
    }

    /// Runs the network on a batch without learning, and returns the loss and the output.
    pub fn evaluate(&mut self, inputs: &Tensor, targets: Targets) -> Result<(f64, Tensor)> {
        let batch = Batch::new(inputs, targets);
        let (mut loss, mut output) = (0., sys::Tensor::default());
        // SAFETY: the batch lasts during the call, the output until the next one.
        unsafe {
            check(sys::loom_trainer_evaluate(
                self.handle.get(),
                &batch.raw(),
                &mut loss,
                &mut output,
            ))?;
            Ok((loss, Tensor::copied(&output)?))
        }
    }

    /// Sets the epoch, from 0, for schedules that count epochs.
    pub fn set_epoch(&mut self, epoch: u64) -> Result<()> {
        // SAFETY: handles are numbers.
        check(unsafe { sys::loom_trainer_set_epoch(self.handle.get(), epoch) })
    }

    /// Returns a JSON object: steps, skipped ones, learning rate, memory in bytes.
    pub fn info(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_trainer_info(self.handle.get(), to) })
    }
}

/// Place in a training that an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Phase {
    Begin,
    EpochBegin,
    BatchBegin,
    BatchEnd,
    ValidationEnd,
    Checkpoint,
    EpochEnd,
    End,
}

/// Event of a training.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// Place in the training.
    pub phase: Phase,
    /// Epoch, from 0.
    pub epoch: u64,
    /// Epochs of the training.
    pub epochs: u64,
    /// Batch of the epoch, from 0.
    pub batch: u64,
    /// Batches of an epoch.
    pub batches: u64,
    /// Loss of the last batch; at the end of an epoch its mean.
    pub loss: f64,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// JSON object of metrics after a validation; else None.
    pub validation: Option<String>,
}

unsafe extern "C" fn on_training(user: *mut c_void, event: *const sys::TrainingEvent) -> i32 {
    // SAFETY: `user` is the callback of the call that runs, and the event lasts during this one.
    unsafe {
        let event = &*event;
        let validation =
            (!event.validation.is_null()).then(|| CStr::from_ptr(event.validation).to_string_lossy().into_owned());
        let phase = match event.phase {
            sys::TRAINING_BEGIN => Phase::Begin,
            sys::TRAINING_EPOCH_BEGIN => Phase::EpochBegin,
            sys::TRAINING_BATCH_BEGIN => Phase::BatchBegin,
            sys::TRAINING_BATCH_END => Phase::BatchEnd,
            sys::TRAINING_VALIDATION_END => Phase::ValidationEnd,
            sys::TRAINING_CHECKPOINT => Phase::Checkpoint,
            sys::TRAINING_EPOCH_END => Phase::EpochEnd,
            _ => Phase::End,
        };
        (*(user as *mut Callback<Event>)).call(Event {
            phase,
            epoch: event.epoch,
            epochs: event.epochs,
            batch: event.batch,
            batches: event.batches,
            loss: event.loss,
            learning_rate: event.learning_rate,
            validation,
        })
    }
}

/// Options of a whole training.
#[derive(Clone, Debug, Default)]
pub struct TrainOptions {
    /// Threads and device. No result depends on them.
    pub compute: Compute,
    /// Folder of the run, with journal, checkpoint, model and report; None: none.
    pub out: Option<PathBuf>,
    /// Folder that relative paths of the config start from; None: the current one.
    pub folder: Option<PathBuf>,
    /// Flag that ends the run after the current step.
    pub cancel: Option<Cancel>,
}

/// Training that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// JSON object: stop reason, losses by epoch, hash, metrics.
    pub outcome: String,
}

/// Runs a whole training by a config in JSON (docs/guide/training.md).
///
/// The network learns in place; None: the config names one. Samples replace the config's data; None: it names files.
/// The function is called with every event; returning false ends the run after this one.
pub fn train(
    config: &str,
    network: Option<&Network>,
    samples: Option<(&Tensor, Targets)>,
    options: &TrainOptions,
    mut progress: impl FnMut(Event) -> bool,
) -> Result<Run> {
    let compute = options.compute.filled()?;
    let (out, folder) = (
        optional_path(&options.out, "out")?,
        optional_path(&options.folder, "folder")?,
    );
    let mut callback = Callback::new(&mut progress);
    let raw = sys::TrainingOptions {
        compute: &compute.raw,
        out: pointer(&out),
        folder: pointer(&folder),
        cancel: Cancel::handle_of(options.cancel.as_ref()),
        progress: Some(on_training),
        user: callback.user(),
        ..Default::default()
    };
    let batch = samples.map(|(inputs, targets)| Batch::new(inputs, targets));
    let batch = batch.as_ref().map(Batch::raw);
    // SAFETY: everything that the pointers name lasts during the call.
    let outcome = text(|to| unsafe {
        sys::loom_training_run(
            bytes(config.as_bytes()),
            config.len(),
            network.map_or(0, Network::handle),
            batch.as_ref().map_or(std::ptr::null(), |batch| batch),
            std::ptr::null(),
            &raw,
            to,
        )
    });
    callback.finish();
    Ok(Run { outcome: outcome? })
}
