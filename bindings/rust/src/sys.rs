//! The C ABI of Loom: constants, structs and functions of loom.h. Made by tools/gen_bindings.py from api/loom.json.
//!
//! Structs begin with their size, which `Default` sets; the other fields are 0, which means their defaults.

use core::ffi::{c_char, c_void};

/// Any of the handles below. 0 stands for none.
pub type Handle = u64;
/// Bytes that a function returns: a text, ids, a snapshot.
pub type Blob = Handle;
/// A flag that ends one long call from another thread.
pub type Cancel = Handle;
/// Workers that any number of sessions share.
pub type Threads = Handle;
/// Text to token ids and back. Immutable.
pub type Tokenizer = Handle;
/// A language model: weights, tokenizer, chat template. Immutable.
pub type Model = Handle;
/// Sequences of tokens with their keys and values, over one model.
pub type Session = Handle;
/// One generation, step by step, over one session.
pub type Generator = Handle;
/// A conversation over a session.
pub type Chat = Handle;
/// A grid of layers with their weights. Calls that change it answer BUSY while another thread runs it, and the other
/// way round.
pub type Network = Handle;
/// One user of a network: activations, gradients, states. Several may run one network at the same time.
pub type NetworkSession = Handle;
/// A network that learns, step by step.
pub type Trainer = Handle;
/// A network that moves in ticks: in each every cell reads what the others left in the tick before.
pub type StepMesh = Handle;
/// One user of a step mesh: outputs of the cells, recurrent states, captured ticks.
pub type StepState = Handle;
/// A network that learns by targets, in single calls.
pub type Tween = Handle;
/// A step mesh that learns by targets between its ticks.
pub type MeshTween = Handle;
/// Networks that are judged, mixed and changed, generation by generation.
pub type Population = Handle;
/// A network that computes gradients for a training in another process.
pub type Replica = Handle;
/// A graph of operations, as an ONNX file holds one. Immutable.
pub type Graph = Handle;
/// One user of a graph: plans, memory, inputs and outputs. Several may run one graph at the same time.
pub type GraphSession = Handle;
/// A model that turns texts into vectors.
pub type Encoder = Handle;
/// Measures how fast accuracy recovers after the task changes.
pub type Adaptation = Handle;
/// A layer of a kind of the host's own, in one call of a callback. It lasts until the callback returns, and need not
/// be released.
pub type Layer = Handle;
/// The task of an evolution that runs in another process.
pub type Judge = Handle;

/// Version of this interface. Libraries of an equal version serve programs of older headers, whose structs may be
/// smaller.
pub type Abi = i32;
/// compared with loom_library_abi_version() when a program loads the library
pub const ABI_VERSION: Abi = 1;

/// Status of a call: OK, or the reason why it failed. loom_last_error() has the text.
pub type Status = i32;
/// done
pub const OK: Status = 0;
/// an argument is outside what the function takes
pub const INVALID_ARGUMENT: Status = 1;
/// a configuration contradicts itself
pub const INVALID_CONFIG: Status = 2;
/// shapes that must fit do not
pub const SHAPE_MISMATCH: Status = 3;
/// a size overflows
pub const SIZE_OVERFLOW: Status = 4;
/// a number is outside its range
pub const OUT_OF_RANGE: Status = 5;
/// an index is outside of what it counts
pub const INDEX_OUT_OF_RANGE: Status = 6;
/// a value is infinite or NaN
pub const NON_FINITE: Status = 7;
/// a name is unknown
pub const UNKNOWN_NAME: Status = 8;
/// a key is unknown
pub const UNKNOWN_KEY: Status = 9;
/// there is no such file or part
pub const NOT_FOUND: Status = 10;
/// the system refused to read or write
pub const IO_ERROR: Status = 11;
/// no room is left on the disk
pub const DISK_FULL: Status = 12;
/// the content makes no sense
pub const CORRUPT_DATA: Status = 13;
/// the content is known and not supported
pub const UNSUPPORTED: Status = 14;
/// out of memory
pub const OUT_OF_MEMORY: Status = 15;
/// the context of a session holds no more tokens
pub const CONTEXT_FULL: Status = 16;
/// the model brings no chat template
pub const NO_TEMPLATE: Status = 17;
/// a chat template failed
pub const TEMPLATE_ERROR: Status = 18;
/// a limit that guards against hostile input was met
pub const LIMIT_EXCEEDED: Status = 19;
/// links lead in a circle
pub const LINK_CYCLE: Status = 20;
/// the caller's cancel ended the call
pub const CANCELLED: Status = 21;
/// a tensor has no values
pub const EMPTY_TENSOR: Status = 22;
/// a link leads backwards where none may
pub const FEEDBACK_LINK: Status = 23;
/// a link leads to an empty cell
pub const LINK_TO_EMPTY: Status = 24;
/// containers are nested too deep
pub const NESTING_TOO_DEEP: Status = 25;
/// the object is not in the state that the call needs
pub const INVALID_STATE: Status = 26;
/// there is no value so far
pub const NO_VALUE: Status = 27;
/// there is no history so far
pub const NO_HISTORY: Status = 28;
/// the format cannot hold the values exactly
pub const LOSSY_SAVE: Status = 29;
/// another thread uses the object, or this call was made from a callback of it
pub const BUSY: Status = 30;
/// the handle is none, was released, or is of another kind
pub const BAD_HANDLE: Status = 31;
/// the graphics card is lost with the values on it; objects of language models continue on the CPU
pub const DEVICE_LOST: Status = 32;

/// Kind of the object that a handle refers to.
pub type Kind = i32;
pub const KIND_NONE: Kind = 0;
pub const KIND_BLOB: Kind = 1;
pub const KIND_CANCEL: Kind = 2;
pub const KIND_THREADS: Kind = 3;
pub const KIND_TOKENIZER: Kind = 4;
pub const KIND_MODEL: Kind = 5;
pub const KIND_SESSION: Kind = 6;
pub const KIND_GENERATOR: Kind = 7;
pub const KIND_NETWORK: Kind = 8;
pub const KIND_NETWORK_SESSION: Kind = 9;
pub const KIND_TRAINER: Kind = 10;
pub const KIND_STEP_MESH: Kind = 11;
pub const KIND_STEP_STATE: Kind = 12;
pub const KIND_TWEEN: Kind = 13;
pub const KIND_MESH_TWEEN: Kind = 14;
pub const KIND_POPULATION: Kind = 15;
pub const KIND_CHAT: Kind = 16;
pub const KIND_REPLICA: Kind = 17;
pub const KIND_LAYER: Kind = 18;
pub const KIND_GRAPH: Kind = 19;
pub const KIND_GRAPH_SESSION: Kind = 20;
pub const KIND_ENCODER: Kind = 21;
pub const KIND_ADAPTATION: Kind = 22;
pub const KIND_JUDGE: Kind = 23;

/// The type of a tensor's numbers, numbered as in ONNX files. Values follow each other, little-endian; two codes of 4
/// bits share a byte, the first one in the low bits.
pub type Element = i32;
/// unspecified
pub const ELEMENT_NONE: Element = 0;
pub const ELEMENT_FLOAT32: Element = 1;
pub const ELEMENT_UINT8: Element = 2;
pub const ELEMENT_INT8: Element = 3;
pub const ELEMENT_UINT16: Element = 4;
pub const ELEMENT_INT16: Element = 5;
pub const ELEMENT_INT32: Element = 6;
pub const ELEMENT_INT64: Element = 7;
/// a byte each, 0 or 1
pub const ELEMENT_BOOL: Element = 9;
pub const ELEMENT_FLOAT16: Element = 10;
pub const ELEMENT_FLOAT64: Element = 11;
pub const ELEMENT_UINT32: Element = 12;
pub const ELEMENT_UINT64: Element = 13;
pub const ELEMENT_BFLOAT16: Element = 16;
pub const ELEMENT_FLOAT8_E4M3FN: Element = 17;
pub const ELEMENT_FLOAT8_E5M2: Element = 19;
pub const ELEMENT_UINT4: Element = 21;
pub const ELEMENT_INT4: Element = 22;

/// How a training treats a folder that holds a run.
pub type RunStart = i32;
/// begins; a folder that holds a run is INVALID_ARGUMENT
pub const RUN_FRESH: RunStart = 0;
/// continues from the last checkpoint, or begins where there is none
pub const RUN_RESUME: RunStart = 1;
/// begins again and overwrites the run
pub const RUN_OVERWRITE: RunStart = 2;

/// The place in a training that an event reports.
pub type TrainingPhase = i32;
pub const TRAINING_BEGIN: TrainingPhase = 0;
pub const TRAINING_EPOCH_BEGIN: TrainingPhase = 1;
pub const TRAINING_BATCH_BEGIN: TrainingPhase = 2;
pub const TRAINING_BATCH_END: TrainingPhase = 3;
pub const TRAINING_VALIDATION_END: TrainingPhase = 4;
pub const TRAINING_CHECKPOINT: TrainingPhase = 5;
pub const TRAINING_EPOCH_END: TrainingPhase = 6;
pub const TRAINING_END: TrainingPhase = 7;

/// Why a training ended.
pub type TrainingStop = i32;
/// it continues
pub const TRAINING_STOP_NOT_YET: TrainingStop = 0;
/// after its last epoch
pub const TRAINING_STOP_FINISHED: TrainingStop = 1;
/// validations no longer improved
pub const TRAINING_STOP_EARLY_STOP: TrainingStop = 2;
/// a callback or cancel ended it; it can be resumed
pub const TRAINING_STOP_STOPPED: TrainingStop = 3;
/// values were not finite; the outcome has a message
pub const TRAINING_STOP_DIVERGED: TrainingStop = 4;

/// A pass over the layers of a network.
pub type PassKind = i32;
pub const PASS_FORWARD: PassKind = 0;
/// gradients
pub const PASS_BACKWARD: PassKind = 1;
/// of a step mesh
pub const PASS_TICK: PassKind = 2;
/// gaps of target propagation
pub const PASS_TWEEN: PassKind = 3;

/// A file that Loom reads.
pub type SchemaKind = i32;
/// the spec of a network
pub const SCHEMA_NETWORK: SchemaKind = 0;
/// the config of a training
pub const SCHEMA_TRAINING: SchemaKind = 1;
/// the config of an evolution
pub const SCHEMA_EVOLUTION: SchemaKind = 2;

/// How a network becomes bytes.
pub type NetworkFormat = i32;
/// the binary format: every weight as it is
pub const FORMAT_ENTITY: NetworkFormat = 0;
/// a JSON checkpoint: the spec, and packed weights in Base64
pub const FORMAT_JSON: NetworkFormat = 1;

/// How much a message matters.
pub type LogLevel = i32;
/// a call failed
pub const LOG_ERROR: LogLevel = 1;
/// a lost graphics card whose work continues on the CPU
pub const LOG_INFO: LogLevel = 3;

/// How a text becomes a prompt.
pub type PromptForm = i32;
/// a question for a model with a chat template, a text to continue for the others
pub const PROMPT_AUTO: PromptForm = 0;
/// the text is continued as it is
pub const PROMPT_RAW: PromptForm = 1;
/// the text is a question; NO_TEMPLATE when the model brings no template
pub const PROMPT_CHAT: PromptForm = 2;
/// the text is a conversation for the chat template: a JSON list of messages with role and content
pub const PROMPT_MESSAGES: PromptForm = 3;

/// Why a generation ended.
pub type Stop = i32;
/// it goes on
pub const STOP_NOT_YET: Stop = 0;
/// an end-of-sequence token
pub const STOP_EOS: Stop = 1;
/// a stop string
pub const STOP_TEXT: Stop = 2;
/// max_tokens
pub const STOP_LENGTH: Stop = 3;
/// the context is full
pub const STOP_CONTEXT: Stop = 4;
/// the caller's cancel
pub const STOP_CANCELLED: Stop = 5;

/// Called on the calling thread with the fraction that is done, from 0 to 1. Return 1 to continue, 0 to cancel the
/// call.
pub type OnProgress = Option<unsafe extern "C" fn(user: *mut c_void, fraction: f64) -> i32>;

/// Called on the calling thread with each event of a training. Return 1 to continue, 0 to stop training after this
/// event.
pub type OnTraining = Option<unsafe extern "C" fn(user: *mut c_void, event: *const TrainingEvent) -> i32>;

/// Called on the calling thread for each step of a training whose gradients other processes compute. Fill gradients,
/// losses and counts of the event. Return 1 to continue, 0 to stop the training before this step.
pub type OnShards = Option<unsafe extern "C" fn(user: *mut c_void, event: *const ShardsEvent) -> i32>;

/// Called on the calling thread after each generation with its report, a JSON object. Return 1 to continue, 0 to end
/// the evolution.
pub type OnGeneration = Option<unsafe extern "C" fn(user: *mut c_void, report: *const c_char) -> i32>;

/// Called on the calling thread after each layer of a pass, children before their container. Return 1 to continue, 0
/// to end the watch.
pub type OnLayer = Option<unsafe extern "C" fn(user: *mut c_void, event: *const LayerEvent) -> i32>;

/// Called on the calling thread after each window of layers. Return 1 to continue, 0 to end the watch.
pub type OnWindow = Option<unsafe extern "C" fn(user: *mut c_void, event: *const WindowEvent) -> i32>;

/// Called on the calling thread for each generation of an evolution whose networks other processes judge. Fill the
/// fitness of the event. Return 1 to continue, 0 to end the evolution with CANCELLED.
pub type OnJudging = Option<unsafe extern "C" fn(user: *mut c_void, event: *const JudgingEvent) -> i32>;

/// Reads up to `size` bytes from `offset` on into `to` and returns how many, 0 for none; -1 is a failure.
pub type ReadAt = Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, to: *mut c_void, size: usize) -> i64>;

/// Function that a worker of the host calls.
pub type Work = Option<unsafe extern "C" fn(job: *mut c_void, worker: i32)>;

/// Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns when all have
/// returned.
pub type RunWork = Option<unsafe extern "C" fn(user: *mut c_void, work: Work, job: *mut c_void, workers: i32)>;

/// Takes one line.
pub type OnLog = Option<unsafe extern "C" fn(user: *mut c_void, level: LogLevel, text: *const c_char)>;

/// Gives so many bytes at a multiple of `alignment`, a power of two; NULL: there are none, and the call that asked is
/// OUT_OF_MEMORY. May come from any thread that calls.
pub type AllocateMemory = Option<unsafe extern "C" fn(user: *mut c_void, bytes: usize,
    alignment: usize) -> *mut c_void>;

/// Takes back what allocate_memory gave.
pub type FreeMemory = Option<unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, bytes: usize)>;

/// A callback of a layer kind of the host's own. It describes the computation with loom_layer functions and returns
/// LOOM_OK, or the status of one of them that failed. The description must depend on settings and shapes only.
/// Several threads may call it at the same time.
pub type LayerRule = Option<unsafe extern "C" fn(user: *mut c_void, layer: Layer) -> Status>;

/// Called when the library finds itself broken; the process ends when it returns.
pub type OnFatal = Option<unsafe extern "C" fn(user: *mut c_void, text: *const c_char)>;

/// An event of a training, for on_training. It lasts during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TrainingEvent {
    /// The size of the struct.
    pub struct_size: u32,
    pub phase: TrainingPhase,
    /// from 0
    pub epoch: u64,
    /// of the training
    pub epochs: u64,
    /// of the epoch, from 0
    pub batch: u64,
    /// of an epoch
    pub batches: u64,
    /// of the last batch; at TRAINING_EPOCH_END the mean of the epoch
    pub loss: f64,
    /// of the last step
    pub learning_rate: f64,
    /// a JSON object of metrics after a validation, else NULL
    pub validation: *const c_char,
    /// at TRAINING_END, else TRAINING_STOP_NOT_YET
    pub stop: TrainingStop,
}

impl Default for TrainingEvent {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// A step whose gradients the host provides, for on_shards. For each node of shards [first, first + count) that a
/// replica has summed, write the sum into the first-th part of gradients, its loss into losses[first] and count into
/// counts[first]. Counts inside a node stay 0. The event lasts during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ShardsEvent {
    /// The size of the struct.
    pub struct_size: u32,
    /// argument of loom_replica_begin() after the replica, as are the next four
    pub epoch: u64,
    /// samples of the epoch before the batch
    pub position: u64,
    pub step: u64,
    pub loss_scale: f64,
    /// the weights
    pub masters: *const c_void,
    pub masters_size: usize,
    /// of the step
    pub shards: u64,
    /// bytes of one part of gradients
    pub gradient_size: u64,
    /// to fill: `shards` parts, one after another
    pub gradients: *mut u8,
    pub gradients_count: usize,
    /// to fill: one for each shard
    pub losses: *mut f64,
    pub losses_count: usize,
    /// to fill: one for each shard, 0 at first
    pub counts: *mut u64,
    pub counts_count: usize,
}

impl Default for ShardsEvent {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// A layer that ran, for on_layer. The statistics are those of its output, or of the gradient or gap of its input.
/// The event lasts during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LayerEvent {
    /// The size of the struct.
    pub struct_size: u32,
    pub pass: PassKind,
    /// of the layer, "layers.3"
    pub path: *const c_char,
    /// its kind, "dense"
    pub layer: *const c_char,
    /// of its weights
    pub dtype: *const c_char,
    /// index of the cell that holds it
    pub cell: u64,
    /// of the call, or the number of ticks
    pub step: u64,
    pub mean: f64,
    /// standard deviation
    pub deviation: f64,
    pub greatest: f64,
    pub least: f64,
    /// values above 1e-6 in magnitude
    pub active: u64,
    /// float32 or float64, with its shape
    pub values: *const Tensor,
}

impl Default for LayerEvent {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Statistics of consecutive layers that ran, for on_window. The event lasts during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct WindowEvent {
    /// The size of the struct.
    pub struct_size: u32,
    /// in the window
    pub layers: u64,
    /// average of the means of the layers
    pub mean: f64,
    /// average of their standard deviations
    pub deviation: f64,
    /// of all values
    pub greatest: f64,
    /// of all values
    pub least: f64,
    /// average number of values above 1e-6 in magnitude
    pub active: f64,
    /// fraction of values that are not active, 0 to 1
    pub sparsity: f64,
    /// of the first layer
    pub first_step: u64,
    /// of the last layer
    pub last_step: u64,
}

impl Default for WindowEvent {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Networks of a generation that the host judges, for on_judging. The event lasts during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct JudgingEvent {
    /// The size of the struct.
    pub struct_size: u32,
    /// files (.entity), one after another
    pub networks: *const c_void,
    pub networks_size: usize,
    /// where each file ends in networks; one for each network
    pub ends: *const u64,
    pub ends_count: usize,
    /// numbers that loom_judge_fitness() gives for a network
    pub width: u64,
    /// to fill: width numbers for each network, one network after another; NaN ranks last
    pub fitness: *mut f64,
    pub fitness_count: usize,
}

impl Default for JudgingEvent {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Values with their type and shape, row-major and little-endian. A function reads a tensor that goes in, and fills
/// the memory of one that it is to write. A function that gives a tensor sets all fields, and its memory belongs to
/// the object of the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tensor {
    /// The size of the struct.
    pub struct_size: u32,
    /// type of the values
    pub element: Element,
    /// the values; the size is in bytes
    pub data: *mut c_void,
    pub data_size: usize,
    /// extents, outermost first; none for a scalar
    pub shape: *const u64,
    pub shape_count: usize,
}

impl Default for Tensor {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Callbacks of a custom layer kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KindCallbacks {
    /// The size of the struct.
    pub struct_size: u32,
    /// declares the weights by the settings; NULL: there are none
    pub declare: LayerRule,
    /// says how the output follows from the input; the shape of its result is that of the output
    pub forward: LayerRule,
    /// says how the gradient of the input follows from that of the output, and adds to those of the weights; NULL:
    /// layers of the kind do not learn. Targets go the same way
    pub backward: LayerRule,
    /// first argument of the callbacks
    pub user: *mut c_void,
}

impl Default for KindCallbacks {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Threads, instruction set, device and memory of a call or an object. No result depends on them, but for a device of
/// precision fast. A field that a call cannot use is INVALID_ARGUMENT with its name. Fields that are 0 mean the
/// default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ComputeOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// shared workers; 0: workers of its own
    pub threads: Threads,
    /// of its own workers; 0: one per physical core
    pub thread_count: i32,
    /// an instruction set by name, to compare; NULL: the best one
    pub isa: *const c_char,
    /// where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; NULL: cpu. gpu:fast and
    /// gpu:N:fast give up equal bits for speed
    pub device: *const c_char,
    /// of activations: a call that needs more is OUT_OF_MEMORY; 0: no limit
    pub max_bytes: u64,
}

impl Default for ComputeOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ModelOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// workers for loading: threads or thread_count; NULL: one per physical core
    pub compute: *const ComputeOptions,
    /// ends the call with CANCELLED
    pub cancel: Cancel,
    /// NULL: none
    pub progress: OnProgress,
    /// first argument of progress
    pub user: *mut c_void,
    /// quantises the matrices on load to this type, by name; NULL: as stored
    pub dtype: *const c_char,
    /// folders of PEFT adapters
    pub adapters: *const *const c_char,
    pub adapters_count: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SessionOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// threads, instruction set and device; NULL: defaults
    pub compute: *const ComputeOptions,
    /// how many sequences it holds at once; 0: one
    pub sequences: u32,
    /// longest sequence; 0: what the model was trained for, at most 4096
    pub context_tokens: u64,
    /// of keys and values: float32 (the default), bfloat16, int8
    pub kv_dtype: *const c_char,
    /// activations in 8 bits instead of 16: faster, a little less exact
    pub int8_activations: i32,
}

impl Default for SessionOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default: 128 tokens, the most likely token each time. The fields from plain_text on say
/// how a chat template writes the prompt; where none does (LOOM_PROMPT_RAW, ids) they are INVALID_ARGUMENT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GenerationOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// 0: 128
    pub max_tokens: u64,
    /// end-of-sequence tokens are banned before
    pub min_tokens: u64,
    /// of the draws: equal seeds give equal texts
    pub seed: u64,
    /// 0: the most likely token
    pub temperature: f32,
    /// 0 or 1: off; a small number keeps the best token alone
    pub top_p: f32,
    /// 0: off
    pub min_p: f32,
    /// 0 or 1: off
    pub typical_p: f32,
    /// 0 or 1: off
    pub repetition_penalty: f32,
    /// 0: off
    pub frequency_penalty: f32,
    /// 0: off
    pub presence_penalty: f32,
    /// 0: off
    pub top_k: i32,
    /// tokens that the penalties look back on; 0: 64, -1: all
    pub repetition_window: i32,
    /// end-of-sequence tokens are banned throughout
    pub ignore_eos: i32,
    /// the text ends before the first of them
    pub stop: *const *const c_char,
    pub stop_count: usize,
    /// drafts, what followed the same tokens before, are checked several at once: the same text in less time
    pub speculate: i32,
    /// a smaller model with the same tokens that drafts instead
    pub draft_model: Model,
    /// max_tokens is 0: the prompt is read and nothing is drawn; a max_tokens beside it is INVALID_ARGUMENT
    pub prompt_only: i32,
    /// tokens whose logits change before each draw
    pub bias_ids: *const i32,
    pub bias_ids_count: usize,
    /// added to the logits of bias_ids, one each; -infinity: never drawn
    pub biases: *const f32,
    pub biases_count: usize,
    /// tokens that end the text, beside the model's own
    pub stop_ids: *const i32,
    pub stop_ids_count: usize,
    /// how many of the best tokens loom_generator_logprobs() reports for each draw; 0: none
    pub logprobs: u32,
    /// control tokens in a question or in messages (as <|im_end|>) are read as text: for texts of strangers. Control
    /// tokens of the chat template stay
    pub plain_text: i32,
    /// in place of the model's default: the name of another template of the model, one of Loom's own (chatml, llama2,
    /// llama3, mistral, tinyllama, zephyr, plain, bitnet_instruction, bitnet_microsoft), or the text of a template
    pub chat_template: *const c_char,
    /// JSON: a list of functions that the chat template describes to the model
    pub tools: *const c_char,
    /// JSON: an object of variables that the chat template reads, as {"enable_thinking": false}
    pub template_variables: *const c_char,
    /// YYYY-MM-DD, for chat templates that write the day
    pub date: *const c_char,
    /// with LOOM_PROMPT_MESSAGES: the model continues the last message in place of answering it
    pub continue_final_message: i32,
    /// a JSON Schema that the text satisfies, or begins to satisfy where the answer is cut. At most one of this and
    /// the next three is set; what they have and Loom does not support is INVALID_ARGUMENT, by name
    pub schema: *const c_char,
    /// a grammar in llama.cpp's GBNF, likewise
    pub grammar: *const c_char,
    /// a regular expression that matches the whole text, likewise
    pub regex: *const c_char,
    /// texts of which the answer is one
    pub choices: *const *const c_char,
    pub choices_count: usize,
}

impl Default for GenerationOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NetworkOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// unknown keys are warnings, not errors; loom_network_info() lists them
    pub lenient: i32,
    /// weights that the source does not bring stay without values
    pub uninitialised: i32,
    /// of memory for weights that are drawn: OUT_OF_MEMORY beyond; 0: no limit
    pub max_bytes: u64,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NetworkSessionOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// threads, instruction set, device and memory; NULL: defaults
    pub compute: *const ComputeOptions,
    /// a forward keeps what loom_network_session_backward() needs
    pub backward: i32,
    /// above 0: attention and recurrent layers go on from call to call, as one sequence per sample of up to so many
    /// positions; not with backward
    pub context: u64,
    /// of kept keys and values: float32 (the default), bfloat16, int8
    pub kv_dtype: *const c_char,
    /// above 0: a forward keeps the inputs of each such number of cells alone, and backward computes the rest again
    pub checkpoint_every: u64,
}

impl Default for NetworkSessionOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Options and side inputs of a forward. Fields that are 0 mean none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pass {
    /// The size of the struct.
    pub struct_size: u32,
    /// dropout, batch statistics
    pub training: i32,
    /// of the random streams of dropout
    pub step: u32,
    /// of a ragged batch: valid steps of each sample, the first ones
    pub lengths: *const u64,
    pub lengths_count: usize,
    /// input of the layers that read an external one; NULL: none
    pub external: *const Tensor,
    /// of attention; NULL: none
    pub mask: *const Tensor,
    /// read between cells: ends the call with CANCELLED
    pub cancel: Cancel,
}

impl Default for Pass {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Samples that a network learns from, with classes or target values, as its loss takes them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Batch {
    /// The size of the struct.
    pub struct_size: u32,
    /// float32 or the network's element, samples first
    pub inputs: *const Tensor,
    /// int32: a class for each row of the output; float32 or the network's element: as many values for each sample as
    /// the output has. The samples come first; no shape is needed
    pub targets: *const Tensor,
}

impl Default for Batch {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Result of one step of a training.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TrainingStep {
    /// The size of the struct.
    pub struct_size: u32,
    /// of the batch, before the step
    pub loss: f64,
    /// of the step
    pub learning_rate: f64,
    /// 0 unless the config clips by it
    pub gradient_norm: f64,
    /// a loss, a gradient or an update was not finite: everything is as before
    pub skipped: i32,
    /// of a skipped step; lasts until the next call with the trainer
    pub why: *const c_char,
    pub why_size: usize,
}

impl Default for TrainingStep {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TrainingOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// threads, instruction set, device and memory; NULL: defaults
    pub compute: *const ComputeOptions,
    /// folder of the run: journal, checkpoint, model, report. NULL: none, or beside a config file
    pub out: *const c_char,
    /// where relative paths of the config start; NULL: the folder of its file
    pub folder: *const c_char,
    pub start: RunStart,
    /// in place of the config's; 0: its own
    pub epochs: u64,
    /// ends the run after the current step, with its checkpoint
    pub cancel: Cancel,
    /// NULL: none
    pub progress: OnTraining,
    /// first argument of progress and shards
    pub user: *mut c_void,
    /// gives the gradients of every step; NULL: the run computes them
    pub shards: OnShards,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EvolutionOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// threads, instruction set and device that judge networks; NULL: defaults. A device is exact, never fast
    pub compute: *const ComputeOptions,
    /// folder of the run; NULL: none, or beside a config file
    pub out: *const c_char,
    /// where relative paths of the config start; NULL: the folder of its file
    pub folder: *const c_char,
    pub start: RunStart,
    /// in place of the config's; 0: its own
    pub generations: u64,
    /// ends the run after the current generation
    pub cancel: Cancel,
    /// NULL: none
    pub progress: OnGeneration,
    /// first argument of the callbacks
    pub user: *mut c_void,
    /// judges the networks of a generation; NULL: the run does
    pub judging: OnJudging,
}

impl Default for EvolutionOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StepMeshOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// threads, instruction set and device; NULL: defaults
    pub compute: *const ComputeOptions,
    /// captured ticks that a state keeps, at most 65536; 0: none
    pub history: u64,
    /// loom_step_mesh_backward() will be called
    pub backward: i32,
    /// every tick leaves what it read, which learning by targets starts from
    pub keep_inputs: i32,
}

impl Default for StepMeshOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TickOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// 0: one
    pub ticks: u64,
    /// keeps the values of these ticks that backward needs
    pub capture: i32,
    /// dropout, batch statistics
    pub training: i32,
    /// read between cells: ends the call with CANCELLED
    pub cancel: Cancel,
}

impl Default for TickOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FileConvertOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// workers of loom_file_convert(): thread_count; NULL: one per physical core
    pub compute: *const ComputeOptions,
    /// matrices to this type, by name; NULL: as stored
    pub dtype: *const c_char,
    /// folder of an adapter to merge into the weights
    pub adapter: *const c_char,
    /// NULL: none
    pub progress: OnProgress,
    /// first argument of progress
    pub user: *mut c_void,
    /// replaces a file of another kind than the one that is written, too
    pub overwrite: i32,
}

impl Default for FileConvertOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Result of one call of loom_generator_next().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Step {
    /// The size of the struct.
    pub struct_size: u32,
    /// text that can no longer change, following the pieces before; may be empty; lasts until the next call with the
    /// generator
    pub text: *const c_char,
    pub text_size: usize,
    /// of the prompt read so far
    pub prompt_tokens: u64,
    /// drawn so far
    pub generated_tokens: u64,
    /// STOP_NOT_YET: call again
    pub stop: Stop,
}

impl Default for Step {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// A generation so far, or whole. Pointers last until the next call with the generator.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Generation {
    /// The size of the struct.
    pub struct_size: u32,
    /// without stop text and end-of-sequence token; bytes, which a model may leave without a UTF-8 end
    pub text: *const c_char,
    pub text_size: usize,
    /// drawn tokens, the end-of-sequence token not included
    pub ids: *const i32,
    pub ids_count: usize,
    pub prompt_tokens: u64,
    /// of the prompt's text that have no token in the vocabulary
    pub dropped_bytes: u64,
    /// spent on reading the prompt
    pub prefill_seconds: f64,
    /// spent on drawing
    pub decode_seconds: f64,
    pub stop: Stop,
    /// SHA-256 of the ids and the bits of the last logits; zero before the end
    pub hash: [u8; 32],
    /// tokens that were drafted; 0 without speculation
    pub drafted: u64,
    /// of these, that came true and took no pass of their own
    pub accepted: u64,
    /// of the model over drawn tokens, with their drafts
    pub passes: u64,
}

impl Default for Generation {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GraphOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// of all values of a run: more is OUT_OF_MEMORY, one value that takes all of it SIZE_OVERFLOW; 0: 16 GiB
    pub max_bytes: u64,
}

impl Default for GraphOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EncoderOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// threads, instruction set, device and memory; NULL: defaults
    pub compute: *const ComputeOptions,
    /// quantises the matrices on load to this type, by name; NULL: float32
    pub dtype: *const c_char,
    /// put before every text; the empty text puts nothing. NULL: the prompt that prompt_name names
    pub prompt: *const c_char,
    /// a prompt of the folder by its name, such as query; not beside prompt. NULL: the folder's default one, if any
    pub prompt_name: *const c_char,
}

impl Default for EncoderOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FileOpenOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// workers for loading, of an encoder, and of the sessions of a graph that name none: threads or thread_count;
    /// not for a network. NULL: one per physical core
    pub compute: *const ComputeOptions,
    /// a JSON file of what the shapes of bare tensors do not say (docs/reference/formats.md); NULL: none
    pub hints: *const c_char,
    /// ends the loading of a language model with CANCELLED
    pub cancel: Cancel,
    /// of a language model; NULL: none
    pub progress: OnProgress,
    /// first argument of progress
    pub user: *mut c_void,
    /// quantises the matrices of a language model or an encoder on load; not for other files. NULL: as stored
    pub dtype: *const c_char,
    /// unknown keys of a network's spec are warnings, not errors; not for other files
    pub lenient: i32,
}

impl Default for FileOpenOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FileExportOptions {
    /// The size of the struct.
    pub struct_size: u32,
    /// ONNX: of one sample; of size 0: the network's own
    pub input_shape: *const u64,
    pub input_shape_count: usize,
    /// networks: integer weights as the float32 values that they stand for
    pub dequantize: i32,
    /// of a file of bare tensors: a JSON file (docs/reference/formats.md); NULL: none
    pub hints: *const c_char,
    /// language models: matrices to this type, by name; NULL: as stored
    pub dtype: *const c_char,
    /// ends the call with CANCELLED
    pub cancel: Cancel,
    /// of a language model; NULL: none
    pub progress: OnProgress,
    /// first argument of progress
    pub user: *mut c_void,
    /// replaces a file of another kind than the one that is written, too
    pub overwrite: i32,
}

impl Default for FileExportOptions {
    fn default() -> Self {
        // Numbers, pointers and optional functions may all be 0.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

#[cfg(target_pointer_width = "32")]
const _: () = {
    assert!(core::mem::size_of::<TrainingEvent>() == 64);
    assert!(core::mem::offset_of!(TrainingEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(TrainingEvent, phase) == 4);
    assert!(core::mem::offset_of!(TrainingEvent, epoch) == 8);
    assert!(core::mem::offset_of!(TrainingEvent, epochs) == 16);
    assert!(core::mem::offset_of!(TrainingEvent, batch) == 24);
    assert!(core::mem::offset_of!(TrainingEvent, batches) == 32);
    assert!(core::mem::offset_of!(TrainingEvent, loss) == 40);
    assert!(core::mem::offset_of!(TrainingEvent, learning_rate) == 48);
    assert!(core::mem::offset_of!(TrainingEvent, validation) == 56);
    assert!(core::mem::offset_of!(TrainingEvent, stop) == 60);
    assert!(core::mem::size_of::<ShardsEvent>() == 88);
    assert!(core::mem::offset_of!(ShardsEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(ShardsEvent, epoch) == 8);
    assert!(core::mem::offset_of!(ShardsEvent, position) == 16);
    assert!(core::mem::offset_of!(ShardsEvent, step) == 24);
    assert!(core::mem::offset_of!(ShardsEvent, loss_scale) == 32);
    assert!(core::mem::offset_of!(ShardsEvent, masters) == 40);
    assert!(core::mem::offset_of!(ShardsEvent, masters_size) == 44);
    assert!(core::mem::offset_of!(ShardsEvent, shards) == 48);
    assert!(core::mem::offset_of!(ShardsEvent, gradient_size) == 56);
    assert!(core::mem::offset_of!(ShardsEvent, gradients) == 64);
    assert!(core::mem::offset_of!(ShardsEvent, gradients_count) == 68);
    assert!(core::mem::offset_of!(ShardsEvent, losses) == 72);
    assert!(core::mem::offset_of!(ShardsEvent, losses_count) == 76);
    assert!(core::mem::offset_of!(ShardsEvent, counts) == 80);
    assert!(core::mem::offset_of!(ShardsEvent, counts_count) == 84);
    assert!(core::mem::size_of::<LayerEvent>() == 88);
    assert!(core::mem::offset_of!(LayerEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(LayerEvent, pass) == 4);
    assert!(core::mem::offset_of!(LayerEvent, path) == 8);
    assert!(core::mem::offset_of!(LayerEvent, layer) == 12);
    assert!(core::mem::offset_of!(LayerEvent, dtype) == 16);
    assert!(core::mem::offset_of!(LayerEvent, cell) == 24);
    assert!(core::mem::offset_of!(LayerEvent, step) == 32);
    assert!(core::mem::offset_of!(LayerEvent, mean) == 40);
    assert!(core::mem::offset_of!(LayerEvent, deviation) == 48);
    assert!(core::mem::offset_of!(LayerEvent, greatest) == 56);
    assert!(core::mem::offset_of!(LayerEvent, least) == 64);
    assert!(core::mem::offset_of!(LayerEvent, active) == 72);
    assert!(core::mem::offset_of!(LayerEvent, values) == 80);
    assert!(core::mem::size_of::<WindowEvent>() == 80);
    assert!(core::mem::offset_of!(WindowEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(WindowEvent, layers) == 8);
    assert!(core::mem::offset_of!(WindowEvent, mean) == 16);
    assert!(core::mem::offset_of!(WindowEvent, deviation) == 24);
    assert!(core::mem::offset_of!(WindowEvent, greatest) == 32);
    assert!(core::mem::offset_of!(WindowEvent, least) == 40);
    assert!(core::mem::offset_of!(WindowEvent, active) == 48);
    assert!(core::mem::offset_of!(WindowEvent, sparsity) == 56);
    assert!(core::mem::offset_of!(WindowEvent, first_step) == 64);
    assert!(core::mem::offset_of!(WindowEvent, last_step) == 72);
    assert!(core::mem::size_of::<JudgingEvent>() == 40);
    assert!(core::mem::offset_of!(JudgingEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(JudgingEvent, networks) == 4);
    assert!(core::mem::offset_of!(JudgingEvent, networks_size) == 8);
    assert!(core::mem::offset_of!(JudgingEvent, ends) == 12);
    assert!(core::mem::offset_of!(JudgingEvent, ends_count) == 16);
    assert!(core::mem::offset_of!(JudgingEvent, width) == 24);
    assert!(core::mem::offset_of!(JudgingEvent, fitness) == 32);
    assert!(core::mem::offset_of!(JudgingEvent, fitness_count) == 36);
    assert!(core::mem::size_of::<Tensor>() == 24);
    assert!(core::mem::offset_of!(Tensor, struct_size) == 0);
    assert!(core::mem::offset_of!(Tensor, element) == 4);
    assert!(core::mem::offset_of!(Tensor, data) == 8);
    assert!(core::mem::offset_of!(Tensor, data_size) == 12);
    assert!(core::mem::offset_of!(Tensor, shape) == 16);
    assert!(core::mem::offset_of!(Tensor, shape_count) == 20);
    assert!(core::mem::size_of::<KindCallbacks>() == 20);
    assert!(core::mem::offset_of!(KindCallbacks, struct_size) == 0);
    assert!(core::mem::offset_of!(KindCallbacks, declare) == 4);
    assert!(core::mem::offset_of!(KindCallbacks, forward) == 8);
    assert!(core::mem::offset_of!(KindCallbacks, backward) == 12);
    assert!(core::mem::offset_of!(KindCallbacks, user) == 16);
    assert!(core::mem::size_of::<ComputeOptions>() == 40);
    assert!(core::mem::offset_of!(ComputeOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(ComputeOptions, threads) == 8);
    assert!(core::mem::offset_of!(ComputeOptions, thread_count) == 16);
    assert!(core::mem::offset_of!(ComputeOptions, isa) == 20);
    assert!(core::mem::offset_of!(ComputeOptions, device) == 24);
    assert!(core::mem::offset_of!(ComputeOptions, max_bytes) == 32);
    assert!(core::mem::size_of::<ModelOptions>() == 40);
    assert!(core::mem::offset_of!(ModelOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(ModelOptions, compute) == 4);
    assert!(core::mem::offset_of!(ModelOptions, cancel) == 8);
    assert!(core::mem::offset_of!(ModelOptions, progress) == 16);
    assert!(core::mem::offset_of!(ModelOptions, user) == 20);
    assert!(core::mem::offset_of!(ModelOptions, dtype) == 24);
    assert!(core::mem::offset_of!(ModelOptions, adapters) == 28);
    assert!(core::mem::offset_of!(ModelOptions, adapters_count) == 32);
    assert!(core::mem::size_of::<SessionOptions>() == 32);
    assert!(core::mem::offset_of!(SessionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(SessionOptions, compute) == 4);
    assert!(core::mem::offset_of!(SessionOptions, sequences) == 8);
    assert!(core::mem::offset_of!(SessionOptions, context_tokens) == 16);
    assert!(core::mem::offset_of!(SessionOptions, kv_dtype) == 24);
    assert!(core::mem::offset_of!(SessionOptions, int8_activations) == 28);
    assert!(core::mem::size_of::<GenerationOptions>() == 176);
    assert!(core::mem::offset_of!(GenerationOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(GenerationOptions, max_tokens) == 8);
    assert!(core::mem::offset_of!(GenerationOptions, min_tokens) == 16);
    assert!(core::mem::offset_of!(GenerationOptions, seed) == 24);
    assert!(core::mem::offset_of!(GenerationOptions, temperature) == 32);
    assert!(core::mem::offset_of!(GenerationOptions, top_p) == 36);
    assert!(core::mem::offset_of!(GenerationOptions, min_p) == 40);
    assert!(core::mem::offset_of!(GenerationOptions, typical_p) == 44);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_penalty) == 48);
    assert!(core::mem::offset_of!(GenerationOptions, frequency_penalty) == 52);
    assert!(core::mem::offset_of!(GenerationOptions, presence_penalty) == 56);
    assert!(core::mem::offset_of!(GenerationOptions, top_k) == 60);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_window) == 64);
    assert!(core::mem::offset_of!(GenerationOptions, ignore_eos) == 68);
    assert!(core::mem::offset_of!(GenerationOptions, stop) == 72);
    assert!(core::mem::offset_of!(GenerationOptions, stop_count) == 76);
    assert!(core::mem::offset_of!(GenerationOptions, speculate) == 80);
    assert!(core::mem::offset_of!(GenerationOptions, draft_model) == 88);
    assert!(core::mem::offset_of!(GenerationOptions, prompt_only) == 96);
    assert!(core::mem::offset_of!(GenerationOptions, bias_ids) == 100);
    assert!(core::mem::offset_of!(GenerationOptions, bias_ids_count) == 104);
    assert!(core::mem::offset_of!(GenerationOptions, biases) == 108);
    assert!(core::mem::offset_of!(GenerationOptions, biases_count) == 112);
    assert!(core::mem::offset_of!(GenerationOptions, stop_ids) == 116);
    assert!(core::mem::offset_of!(GenerationOptions, stop_ids_count) == 120);
    assert!(core::mem::offset_of!(GenerationOptions, logprobs) == 124);
    assert!(core::mem::offset_of!(GenerationOptions, plain_text) == 128);
    assert!(core::mem::offset_of!(GenerationOptions, chat_template) == 132);
    assert!(core::mem::offset_of!(GenerationOptions, tools) == 136);
    assert!(core::mem::offset_of!(GenerationOptions, template_variables) == 140);
    assert!(core::mem::offset_of!(GenerationOptions, date) == 144);
    assert!(core::mem::offset_of!(GenerationOptions, continue_final_message) == 148);
    assert!(core::mem::offset_of!(GenerationOptions, schema) == 152);
    assert!(core::mem::offset_of!(GenerationOptions, grammar) == 156);
    assert!(core::mem::offset_of!(GenerationOptions, regex) == 160);
    assert!(core::mem::offset_of!(GenerationOptions, choices) == 164);
    assert!(core::mem::offset_of!(GenerationOptions, choices_count) == 168);
    assert!(core::mem::size_of::<NetworkOptions>() == 24);
    assert!(core::mem::offset_of!(NetworkOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(NetworkOptions, lenient) == 4);
    assert!(core::mem::offset_of!(NetworkOptions, uninitialised) == 8);
    assert!(core::mem::offset_of!(NetworkOptions, max_bytes) == 16);
    assert!(core::mem::size_of::<NetworkSessionOptions>() == 40);
    assert!(core::mem::offset_of!(NetworkSessionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(NetworkSessionOptions, compute) == 4);
    assert!(core::mem::offset_of!(NetworkSessionOptions, backward) == 8);
    assert!(core::mem::offset_of!(NetworkSessionOptions, context) == 16);
    assert!(core::mem::offset_of!(NetworkSessionOptions, kv_dtype) == 24);
    assert!(core::mem::offset_of!(NetworkSessionOptions, checkpoint_every) == 32);
    assert!(core::mem::size_of::<Pass>() == 40);
    assert!(core::mem::offset_of!(Pass, struct_size) == 0);
    assert!(core::mem::offset_of!(Pass, training) == 4);
    assert!(core::mem::offset_of!(Pass, step) == 8);
    assert!(core::mem::offset_of!(Pass, lengths) == 12);
    assert!(core::mem::offset_of!(Pass, lengths_count) == 16);
    assert!(core::mem::offset_of!(Pass, external) == 20);
    assert!(core::mem::offset_of!(Pass, mask) == 24);
    assert!(core::mem::offset_of!(Pass, cancel) == 32);
    assert!(core::mem::size_of::<Batch>() == 12);
    assert!(core::mem::offset_of!(Batch, struct_size) == 0);
    assert!(core::mem::offset_of!(Batch, inputs) == 4);
    assert!(core::mem::offset_of!(Batch, targets) == 8);
    assert!(core::mem::size_of::<TrainingStep>() == 48);
    assert!(core::mem::offset_of!(TrainingStep, struct_size) == 0);
    assert!(core::mem::offset_of!(TrainingStep, loss) == 8);
    assert!(core::mem::offset_of!(TrainingStep, learning_rate) == 16);
    assert!(core::mem::offset_of!(TrainingStep, gradient_norm) == 24);
    assert!(core::mem::offset_of!(TrainingStep, skipped) == 32);
    assert!(core::mem::offset_of!(TrainingStep, why) == 36);
    assert!(core::mem::offset_of!(TrainingStep, why_size) == 40);
    assert!(core::mem::size_of::<TrainingOptions>() == 56);
    assert!(core::mem::offset_of!(TrainingOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(TrainingOptions, compute) == 4);
    assert!(core::mem::offset_of!(TrainingOptions, out) == 8);
    assert!(core::mem::offset_of!(TrainingOptions, folder) == 12);
    assert!(core::mem::offset_of!(TrainingOptions, start) == 16);
    assert!(core::mem::offset_of!(TrainingOptions, epochs) == 24);
    assert!(core::mem::offset_of!(TrainingOptions, cancel) == 32);
    assert!(core::mem::offset_of!(TrainingOptions, progress) == 40);
    assert!(core::mem::offset_of!(TrainingOptions, user) == 44);
    assert!(core::mem::offset_of!(TrainingOptions, shards) == 48);
    assert!(core::mem::size_of::<EvolutionOptions>() == 56);
    assert!(core::mem::offset_of!(EvolutionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(EvolutionOptions, compute) == 4);
    assert!(core::mem::offset_of!(EvolutionOptions, out) == 8);
    assert!(core::mem::offset_of!(EvolutionOptions, folder) == 12);
    assert!(core::mem::offset_of!(EvolutionOptions, start) == 16);
    assert!(core::mem::offset_of!(EvolutionOptions, generations) == 24);
    assert!(core::mem::offset_of!(EvolutionOptions, cancel) == 32);
    assert!(core::mem::offset_of!(EvolutionOptions, progress) == 40);
    assert!(core::mem::offset_of!(EvolutionOptions, user) == 44);
    assert!(core::mem::offset_of!(EvolutionOptions, judging) == 48);
    assert!(core::mem::size_of::<StepMeshOptions>() == 24);
    assert!(core::mem::offset_of!(StepMeshOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(StepMeshOptions, compute) == 4);
    assert!(core::mem::offset_of!(StepMeshOptions, history) == 8);
    assert!(core::mem::offset_of!(StepMeshOptions, backward) == 16);
    assert!(core::mem::offset_of!(StepMeshOptions, keep_inputs) == 20);
    assert!(core::mem::size_of::<TickOptions>() == 32);
    assert!(core::mem::offset_of!(TickOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(TickOptions, ticks) == 8);
    assert!(core::mem::offset_of!(TickOptions, capture) == 16);
    assert!(core::mem::offset_of!(TickOptions, training) == 20);
    assert!(core::mem::offset_of!(TickOptions, cancel) == 24);
    assert!(core::mem::size_of::<FileConvertOptions>() == 28);
    assert!(core::mem::offset_of!(FileConvertOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(FileConvertOptions, compute) == 4);
    assert!(core::mem::offset_of!(FileConvertOptions, dtype) == 8);
    assert!(core::mem::offset_of!(FileConvertOptions, adapter) == 12);
    assert!(core::mem::offset_of!(FileConvertOptions, progress) == 16);
    assert!(core::mem::offset_of!(FileConvertOptions, user) == 20);
    assert!(core::mem::offset_of!(FileConvertOptions, overwrite) == 24);
    assert!(core::mem::size_of::<Step>() == 40);
    assert!(core::mem::offset_of!(Step, struct_size) == 0);
    assert!(core::mem::offset_of!(Step, text) == 4);
    assert!(core::mem::offset_of!(Step, text_size) == 8);
    assert!(core::mem::offset_of!(Step, prompt_tokens) == 16);
    assert!(core::mem::offset_of!(Step, generated_tokens) == 24);
    assert!(core::mem::offset_of!(Step, stop) == 32);
    assert!(core::mem::size_of::<Generation>() == 120);
    assert!(core::mem::offset_of!(Generation, struct_size) == 0);
    assert!(core::mem::offset_of!(Generation, text) == 4);
    assert!(core::mem::offset_of!(Generation, text_size) == 8);
    assert!(core::mem::offset_of!(Generation, ids) == 12);
    assert!(core::mem::offset_of!(Generation, ids_count) == 16);
    assert!(core::mem::offset_of!(Generation, prompt_tokens) == 24);
    assert!(core::mem::offset_of!(Generation, dropped_bytes) == 32);
    assert!(core::mem::offset_of!(Generation, prefill_seconds) == 40);
    assert!(core::mem::offset_of!(Generation, decode_seconds) == 48);
    assert!(core::mem::offset_of!(Generation, stop) == 56);
    assert!(core::mem::offset_of!(Generation, hash) == 60);
    assert!(core::mem::offset_of!(Generation, drafted) == 96);
    assert!(core::mem::offset_of!(Generation, accepted) == 104);
    assert!(core::mem::offset_of!(Generation, passes) == 112);
    assert!(core::mem::size_of::<GraphOptions>() == 16);
    assert!(core::mem::offset_of!(GraphOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(GraphOptions, max_bytes) == 8);
    assert!(core::mem::size_of::<EncoderOptions>() == 20);
    assert!(core::mem::offset_of!(EncoderOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(EncoderOptions, compute) == 4);
    assert!(core::mem::offset_of!(EncoderOptions, dtype) == 8);
    assert!(core::mem::offset_of!(EncoderOptions, prompt) == 12);
    assert!(core::mem::offset_of!(EncoderOptions, prompt_name) == 16);
    assert!(core::mem::size_of::<FileOpenOptions>() == 40);
    assert!(core::mem::offset_of!(FileOpenOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(FileOpenOptions, compute) == 4);
    assert!(core::mem::offset_of!(FileOpenOptions, hints) == 8);
    assert!(core::mem::offset_of!(FileOpenOptions, cancel) == 16);
    assert!(core::mem::offset_of!(FileOpenOptions, progress) == 24);
    assert!(core::mem::offset_of!(FileOpenOptions, user) == 28);
    assert!(core::mem::offset_of!(FileOpenOptions, dtype) == 32);
    assert!(core::mem::offset_of!(FileOpenOptions, lenient) == 36);
    assert!(core::mem::size_of::<FileExportOptions>() == 48);
    assert!(core::mem::offset_of!(FileExportOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(FileExportOptions, input_shape) == 4);
    assert!(core::mem::offset_of!(FileExportOptions, input_shape_count) == 8);
    assert!(core::mem::offset_of!(FileExportOptions, dequantize) == 12);
    assert!(core::mem::offset_of!(FileExportOptions, hints) == 16);
    assert!(core::mem::offset_of!(FileExportOptions, dtype) == 20);
    assert!(core::mem::offset_of!(FileExportOptions, cancel) == 24);
    assert!(core::mem::offset_of!(FileExportOptions, progress) == 32);
    assert!(core::mem::offset_of!(FileExportOptions, user) == 36);
    assert!(core::mem::offset_of!(FileExportOptions, overwrite) == 40);
};

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(core::mem::size_of::<TrainingEvent>() == 72);
    assert!(core::mem::offset_of!(TrainingEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(TrainingEvent, phase) == 4);
    assert!(core::mem::offset_of!(TrainingEvent, epoch) == 8);
    assert!(core::mem::offset_of!(TrainingEvent, epochs) == 16);
    assert!(core::mem::offset_of!(TrainingEvent, batch) == 24);
    assert!(core::mem::offset_of!(TrainingEvent, batches) == 32);
    assert!(core::mem::offset_of!(TrainingEvent, loss) == 40);
    assert!(core::mem::offset_of!(TrainingEvent, learning_rate) == 48);
    assert!(core::mem::offset_of!(TrainingEvent, validation) == 56);
    assert!(core::mem::offset_of!(TrainingEvent, stop) == 64);
    assert!(core::mem::size_of::<ShardsEvent>() == 120);
    assert!(core::mem::offset_of!(ShardsEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(ShardsEvent, epoch) == 8);
    assert!(core::mem::offset_of!(ShardsEvent, position) == 16);
    assert!(core::mem::offset_of!(ShardsEvent, step) == 24);
    assert!(core::mem::offset_of!(ShardsEvent, loss_scale) == 32);
    assert!(core::mem::offset_of!(ShardsEvent, masters) == 40);
    assert!(core::mem::offset_of!(ShardsEvent, masters_size) == 48);
    assert!(core::mem::offset_of!(ShardsEvent, shards) == 56);
    assert!(core::mem::offset_of!(ShardsEvent, gradient_size) == 64);
    assert!(core::mem::offset_of!(ShardsEvent, gradients) == 72);
    assert!(core::mem::offset_of!(ShardsEvent, gradients_count) == 80);
    assert!(core::mem::offset_of!(ShardsEvent, losses) == 88);
    assert!(core::mem::offset_of!(ShardsEvent, losses_count) == 96);
    assert!(core::mem::offset_of!(ShardsEvent, counts) == 104);
    assert!(core::mem::offset_of!(ShardsEvent, counts_count) == 112);
    assert!(core::mem::size_of::<LayerEvent>() == 96);
    assert!(core::mem::offset_of!(LayerEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(LayerEvent, pass) == 4);
    assert!(core::mem::offset_of!(LayerEvent, path) == 8);
    assert!(core::mem::offset_of!(LayerEvent, layer) == 16);
    assert!(core::mem::offset_of!(LayerEvent, dtype) == 24);
    assert!(core::mem::offset_of!(LayerEvent, cell) == 32);
    assert!(core::mem::offset_of!(LayerEvent, step) == 40);
    assert!(core::mem::offset_of!(LayerEvent, mean) == 48);
    assert!(core::mem::offset_of!(LayerEvent, deviation) == 56);
    assert!(core::mem::offset_of!(LayerEvent, greatest) == 64);
    assert!(core::mem::offset_of!(LayerEvent, least) == 72);
    assert!(core::mem::offset_of!(LayerEvent, active) == 80);
    assert!(core::mem::offset_of!(LayerEvent, values) == 88);
    assert!(core::mem::size_of::<WindowEvent>() == 80);
    assert!(core::mem::offset_of!(WindowEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(WindowEvent, layers) == 8);
    assert!(core::mem::offset_of!(WindowEvent, mean) == 16);
    assert!(core::mem::offset_of!(WindowEvent, deviation) == 24);
    assert!(core::mem::offset_of!(WindowEvent, greatest) == 32);
    assert!(core::mem::offset_of!(WindowEvent, least) == 40);
    assert!(core::mem::offset_of!(WindowEvent, active) == 48);
    assert!(core::mem::offset_of!(WindowEvent, sparsity) == 56);
    assert!(core::mem::offset_of!(WindowEvent, first_step) == 64);
    assert!(core::mem::offset_of!(WindowEvent, last_step) == 72);
    assert!(core::mem::size_of::<JudgingEvent>() == 64);
    assert!(core::mem::offset_of!(JudgingEvent, struct_size) == 0);
    assert!(core::mem::offset_of!(JudgingEvent, networks) == 8);
    assert!(core::mem::offset_of!(JudgingEvent, networks_size) == 16);
    assert!(core::mem::offset_of!(JudgingEvent, ends) == 24);
    assert!(core::mem::offset_of!(JudgingEvent, ends_count) == 32);
    assert!(core::mem::offset_of!(JudgingEvent, width) == 40);
    assert!(core::mem::offset_of!(JudgingEvent, fitness) == 48);
    assert!(core::mem::offset_of!(JudgingEvent, fitness_count) == 56);
    assert!(core::mem::size_of::<Tensor>() == 40);
    assert!(core::mem::offset_of!(Tensor, struct_size) == 0);
    assert!(core::mem::offset_of!(Tensor, element) == 4);
    assert!(core::mem::offset_of!(Tensor, data) == 8);
    assert!(core::mem::offset_of!(Tensor, data_size) == 16);
    assert!(core::mem::offset_of!(Tensor, shape) == 24);
    assert!(core::mem::offset_of!(Tensor, shape_count) == 32);
    assert!(core::mem::size_of::<KindCallbacks>() == 40);
    assert!(core::mem::offset_of!(KindCallbacks, struct_size) == 0);
    assert!(core::mem::offset_of!(KindCallbacks, declare) == 8);
    assert!(core::mem::offset_of!(KindCallbacks, forward) == 16);
    assert!(core::mem::offset_of!(KindCallbacks, backward) == 24);
    assert!(core::mem::offset_of!(KindCallbacks, user) == 32);
    assert!(core::mem::size_of::<ComputeOptions>() == 48);
    assert!(core::mem::offset_of!(ComputeOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(ComputeOptions, threads) == 8);
    assert!(core::mem::offset_of!(ComputeOptions, thread_count) == 16);
    assert!(core::mem::offset_of!(ComputeOptions, isa) == 24);
    assert!(core::mem::offset_of!(ComputeOptions, device) == 32);
    assert!(core::mem::offset_of!(ComputeOptions, max_bytes) == 40);
    assert!(core::mem::size_of::<ModelOptions>() == 64);
    assert!(core::mem::offset_of!(ModelOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(ModelOptions, compute) == 8);
    assert!(core::mem::offset_of!(ModelOptions, cancel) == 16);
    assert!(core::mem::offset_of!(ModelOptions, progress) == 24);
    assert!(core::mem::offset_of!(ModelOptions, user) == 32);
    assert!(core::mem::offset_of!(ModelOptions, dtype) == 40);
    assert!(core::mem::offset_of!(ModelOptions, adapters) == 48);
    assert!(core::mem::offset_of!(ModelOptions, adapters_count) == 56);
    assert!(core::mem::size_of::<SessionOptions>() == 48);
    assert!(core::mem::offset_of!(SessionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(SessionOptions, compute) == 8);
    assert!(core::mem::offset_of!(SessionOptions, sequences) == 16);
    assert!(core::mem::offset_of!(SessionOptions, context_tokens) == 24);
    assert!(core::mem::offset_of!(SessionOptions, kv_dtype) == 32);
    assert!(core::mem::offset_of!(SessionOptions, int8_activations) == 40);
    assert!(core::mem::size_of::<GenerationOptions>() == 248);
    assert!(core::mem::offset_of!(GenerationOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(GenerationOptions, max_tokens) == 8);
    assert!(core::mem::offset_of!(GenerationOptions, min_tokens) == 16);
    assert!(core::mem::offset_of!(GenerationOptions, seed) == 24);
    assert!(core::mem::offset_of!(GenerationOptions, temperature) == 32);
    assert!(core::mem::offset_of!(GenerationOptions, top_p) == 36);
    assert!(core::mem::offset_of!(GenerationOptions, min_p) == 40);
    assert!(core::mem::offset_of!(GenerationOptions, typical_p) == 44);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_penalty) == 48);
    assert!(core::mem::offset_of!(GenerationOptions, frequency_penalty) == 52);
    assert!(core::mem::offset_of!(GenerationOptions, presence_penalty) == 56);
    assert!(core::mem::offset_of!(GenerationOptions, top_k) == 60);
    assert!(core::mem::offset_of!(GenerationOptions, repetition_window) == 64);
    assert!(core::mem::offset_of!(GenerationOptions, ignore_eos) == 68);
    assert!(core::mem::offset_of!(GenerationOptions, stop) == 72);
    assert!(core::mem::offset_of!(GenerationOptions, stop_count) == 80);
    assert!(core::mem::offset_of!(GenerationOptions, speculate) == 88);
    assert!(core::mem::offset_of!(GenerationOptions, draft_model) == 96);
    assert!(core::mem::offset_of!(GenerationOptions, prompt_only) == 104);
    assert!(core::mem::offset_of!(GenerationOptions, bias_ids) == 112);
    assert!(core::mem::offset_of!(GenerationOptions, bias_ids_count) == 120);
    assert!(core::mem::offset_of!(GenerationOptions, biases) == 128);
    assert!(core::mem::offset_of!(GenerationOptions, biases_count) == 136);
    assert!(core::mem::offset_of!(GenerationOptions, stop_ids) == 144);
    assert!(core::mem::offset_of!(GenerationOptions, stop_ids_count) == 152);
    assert!(core::mem::offset_of!(GenerationOptions, logprobs) == 160);
    assert!(core::mem::offset_of!(GenerationOptions, plain_text) == 164);
    assert!(core::mem::offset_of!(GenerationOptions, chat_template) == 168);
    assert!(core::mem::offset_of!(GenerationOptions, tools) == 176);
    assert!(core::mem::offset_of!(GenerationOptions, template_variables) == 184);
    assert!(core::mem::offset_of!(GenerationOptions, date) == 192);
    assert!(core::mem::offset_of!(GenerationOptions, continue_final_message) == 200);
    assert!(core::mem::offset_of!(GenerationOptions, schema) == 208);
    assert!(core::mem::offset_of!(GenerationOptions, grammar) == 216);
    assert!(core::mem::offset_of!(GenerationOptions, regex) == 224);
    assert!(core::mem::offset_of!(GenerationOptions, choices) == 232);
    assert!(core::mem::offset_of!(GenerationOptions, choices_count) == 240);
    assert!(core::mem::size_of::<NetworkOptions>() == 24);
    assert!(core::mem::offset_of!(NetworkOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(NetworkOptions, lenient) == 4);
    assert!(core::mem::offset_of!(NetworkOptions, uninitialised) == 8);
    assert!(core::mem::offset_of!(NetworkOptions, max_bytes) == 16);
    assert!(core::mem::size_of::<NetworkSessionOptions>() == 48);
    assert!(core::mem::offset_of!(NetworkSessionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(NetworkSessionOptions, compute) == 8);
    assert!(core::mem::offset_of!(NetworkSessionOptions, backward) == 16);
    assert!(core::mem::offset_of!(NetworkSessionOptions, context) == 24);
    assert!(core::mem::offset_of!(NetworkSessionOptions, kv_dtype) == 32);
    assert!(core::mem::offset_of!(NetworkSessionOptions, checkpoint_every) == 40);
    assert!(core::mem::size_of::<Pass>() == 56);
    assert!(core::mem::offset_of!(Pass, struct_size) == 0);
    assert!(core::mem::offset_of!(Pass, training) == 4);
    assert!(core::mem::offset_of!(Pass, step) == 8);
    assert!(core::mem::offset_of!(Pass, lengths) == 16);
    assert!(core::mem::offset_of!(Pass, lengths_count) == 24);
    assert!(core::mem::offset_of!(Pass, external) == 32);
    assert!(core::mem::offset_of!(Pass, mask) == 40);
    assert!(core::mem::offset_of!(Pass, cancel) == 48);
    assert!(core::mem::size_of::<Batch>() == 24);
    assert!(core::mem::offset_of!(Batch, struct_size) == 0);
    assert!(core::mem::offset_of!(Batch, inputs) == 8);
    assert!(core::mem::offset_of!(Batch, targets) == 16);
    assert!(core::mem::size_of::<TrainingStep>() == 56);
    assert!(core::mem::offset_of!(TrainingStep, struct_size) == 0);
    assert!(core::mem::offset_of!(TrainingStep, loss) == 8);
    assert!(core::mem::offset_of!(TrainingStep, learning_rate) == 16);
    assert!(core::mem::offset_of!(TrainingStep, gradient_norm) == 24);
    assert!(core::mem::offset_of!(TrainingStep, skipped) == 32);
    assert!(core::mem::offset_of!(TrainingStep, why) == 40);
    assert!(core::mem::offset_of!(TrainingStep, why_size) == 48);
    assert!(core::mem::size_of::<TrainingOptions>() == 80);
    assert!(core::mem::offset_of!(TrainingOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(TrainingOptions, compute) == 8);
    assert!(core::mem::offset_of!(TrainingOptions, out) == 16);
    assert!(core::mem::offset_of!(TrainingOptions, folder) == 24);
    assert!(core::mem::offset_of!(TrainingOptions, start) == 32);
    assert!(core::mem::offset_of!(TrainingOptions, epochs) == 40);
    assert!(core::mem::offset_of!(TrainingOptions, cancel) == 48);
    assert!(core::mem::offset_of!(TrainingOptions, progress) == 56);
    assert!(core::mem::offset_of!(TrainingOptions, user) == 64);
    assert!(core::mem::offset_of!(TrainingOptions, shards) == 72);
    assert!(core::mem::size_of::<EvolutionOptions>() == 80);
    assert!(core::mem::offset_of!(EvolutionOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(EvolutionOptions, compute) == 8);
    assert!(core::mem::offset_of!(EvolutionOptions, out) == 16);
    assert!(core::mem::offset_of!(EvolutionOptions, folder) == 24);
    assert!(core::mem::offset_of!(EvolutionOptions, start) == 32);
    assert!(core::mem::offset_of!(EvolutionOptions, generations) == 40);
    assert!(core::mem::offset_of!(EvolutionOptions, cancel) == 48);
    assert!(core::mem::offset_of!(EvolutionOptions, progress) == 56);
    assert!(core::mem::offset_of!(EvolutionOptions, user) == 64);
    assert!(core::mem::offset_of!(EvolutionOptions, judging) == 72);
    assert!(core::mem::size_of::<StepMeshOptions>() == 32);
    assert!(core::mem::offset_of!(StepMeshOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(StepMeshOptions, compute) == 8);
    assert!(core::mem::offset_of!(StepMeshOptions, history) == 16);
    assert!(core::mem::offset_of!(StepMeshOptions, backward) == 24);
    assert!(core::mem::offset_of!(StepMeshOptions, keep_inputs) == 28);
    assert!(core::mem::size_of::<TickOptions>() == 32);
    assert!(core::mem::offset_of!(TickOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(TickOptions, ticks) == 8);
    assert!(core::mem::offset_of!(TickOptions, capture) == 16);
    assert!(core::mem::offset_of!(TickOptions, training) == 20);
    assert!(core::mem::offset_of!(TickOptions, cancel) == 24);
    assert!(core::mem::size_of::<FileConvertOptions>() == 56);
    assert!(core::mem::offset_of!(FileConvertOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(FileConvertOptions, compute) == 8);
    assert!(core::mem::offset_of!(FileConvertOptions, dtype) == 16);
    assert!(core::mem::offset_of!(FileConvertOptions, adapter) == 24);
    assert!(core::mem::offset_of!(FileConvertOptions, progress) == 32);
    assert!(core::mem::offset_of!(FileConvertOptions, user) == 40);
    assert!(core::mem::offset_of!(FileConvertOptions, overwrite) == 48);
    assert!(core::mem::size_of::<Step>() == 48);
    assert!(core::mem::offset_of!(Step, struct_size) == 0);
    assert!(core::mem::offset_of!(Step, text) == 8);
    assert!(core::mem::offset_of!(Step, text_size) == 16);
    assert!(core::mem::offset_of!(Step, prompt_tokens) == 24);
    assert!(core::mem::offset_of!(Step, generated_tokens) == 32);
    assert!(core::mem::offset_of!(Step, stop) == 40);
    assert!(core::mem::size_of::<Generation>() == 136);
    assert!(core::mem::offset_of!(Generation, struct_size) == 0);
    assert!(core::mem::offset_of!(Generation, text) == 8);
    assert!(core::mem::offset_of!(Generation, text_size) == 16);
    assert!(core::mem::offset_of!(Generation, ids) == 24);
    assert!(core::mem::offset_of!(Generation, ids_count) == 32);
    assert!(core::mem::offset_of!(Generation, prompt_tokens) == 40);
    assert!(core::mem::offset_of!(Generation, dropped_bytes) == 48);
    assert!(core::mem::offset_of!(Generation, prefill_seconds) == 56);
    assert!(core::mem::offset_of!(Generation, decode_seconds) == 64);
    assert!(core::mem::offset_of!(Generation, stop) == 72);
    assert!(core::mem::offset_of!(Generation, hash) == 76);
    assert!(core::mem::offset_of!(Generation, drafted) == 112);
    assert!(core::mem::offset_of!(Generation, accepted) == 120);
    assert!(core::mem::offset_of!(Generation, passes) == 128);
    assert!(core::mem::size_of::<GraphOptions>() == 16);
    assert!(core::mem::offset_of!(GraphOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(GraphOptions, max_bytes) == 8);
    assert!(core::mem::size_of::<EncoderOptions>() == 40);
    assert!(core::mem::offset_of!(EncoderOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(EncoderOptions, compute) == 8);
    assert!(core::mem::offset_of!(EncoderOptions, dtype) == 16);
    assert!(core::mem::offset_of!(EncoderOptions, prompt) == 24);
    assert!(core::mem::offset_of!(EncoderOptions, prompt_name) == 32);
    assert!(core::mem::size_of::<FileOpenOptions>() == 64);
    assert!(core::mem::offset_of!(FileOpenOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(FileOpenOptions, compute) == 8);
    assert!(core::mem::offset_of!(FileOpenOptions, hints) == 16);
    assert!(core::mem::offset_of!(FileOpenOptions, cancel) == 24);
    assert!(core::mem::offset_of!(FileOpenOptions, progress) == 32);
    assert!(core::mem::offset_of!(FileOpenOptions, user) == 40);
    assert!(core::mem::offset_of!(FileOpenOptions, dtype) == 48);
    assert!(core::mem::offset_of!(FileOpenOptions, lenient) == 56);
    assert!(core::mem::size_of::<FileExportOptions>() == 80);
    assert!(core::mem::offset_of!(FileExportOptions, struct_size) == 0);
    assert!(core::mem::offset_of!(FileExportOptions, input_shape) == 8);
    assert!(core::mem::offset_of!(FileExportOptions, input_shape_count) == 16);
    assert!(core::mem::offset_of!(FileExportOptions, dequantize) == 24);
    assert!(core::mem::offset_of!(FileExportOptions, hints) == 32);
    assert!(core::mem::offset_of!(FileExportOptions, dtype) == 40);
    assert!(core::mem::offset_of!(FileExportOptions, cancel) == 48);
    assert!(core::mem::offset_of!(FileExportOptions, progress) == 56);
    assert!(core::mem::offset_of!(FileExportOptions, user) == 64);
    assert!(core::mem::offset_of!(FileExportOptions, overwrite) == 72);
};

#[link(name = "loom")]
extern "C" {
    /// Returns the version, "0.1.0".
    pub fn loom_version() -> *const c_char;

    /// Returns the LOOM_ABI_VERSION of the library. A program that was compiled with another one must not call other
    /// functions.
    pub fn loom_library_abi_version() -> Abi;

    /// Returns the text of the last call on this thread that failed, one line; empty before any. It lasts until the
    /// next one fails.
    pub fn loom_last_error() -> *const c_char;

    /// Returns the name of a reason that a generation ended for, as files and receipts have it: eos, stop, length,
    /// context or cancelled; "" for STOP_NOT_YET and for a number that is none.
    pub fn loom_stop_name(stop: i32) -> *const c_char;

    /// Returns the name of a reason that a training ended for, as the stop_reason of outcomes, journals and reports:
    /// finished, early_stop, stopped or diverged; "" for TRAINING_STOP_NOT_YET and for a number that is none.
    pub fn loom_training_stop_name(stop: i32) -> *const c_char;

    /// Returns the name of a status, "Busy"; "Unknown" for a number that is none.
    pub fn loom_status_name(status: i32) -> *const c_char;

    /// Gives the version of the arithmetic: results of equal versions have equal bits.
    pub fn loom_numerics_version(version: *mut u32) -> Status;

    /// Gives a JSON object: version, CPU, instruction sets, cores.
    pub fn loom_system_info(info: *mut Blob) -> Status;

    /// Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
    /// Takes seconds. (compute: thread_count and isa; NULL: defaults)
    pub fn loom_verify(compute: *const ComputeOptions, digest: *mut Blob) -> Status;

    /// Gives a JSON object with the graphics cards that options can name in their field device: adapters, each with
    /// device ("gpu:0"), name, driver, backend, kind, limits and tier. IO_ERROR with the reason in one line where
    /// there is none. With the suffix :fast (gpu:0:fast) a card or auto need not be exact: its results differ from
    /// those of other devices (docs/guide/gpu.md).
    pub fn loom_gpu_report(report: *mut Blob) -> Status;

    /// Gives what numbers become in a numeric type: encoded, with scales estimated as those of a matrix of such rows,
    /// and decoded. (columns: of a row; 0: all are one row; to: as many)
    pub fn loom_dtype_simulate(values: *const f32, values_count: usize, columns: u64, dtype: *const c_char,
        to: *mut f32, to_count: usize) -> Status;

    /// Increments the reference count of an object.
    pub fn loom_retain(handle: Handle) -> Status;

    /// Decrements the reference count of an object. At 0 the object is freed, at once or when the calls that use it
    /// have returned. The handle 0 is ignored.
    pub fn loom_release(handle: Handle) -> Status;

    /// Gives what the handle stands for.
    pub fn loom_kind_of(handle: Handle, kind: *mut Kind) -> Status;

    /// Gives the bytes of a blob; they last until it is released. A text ends with a NUL that the size does not
    /// count.
    pub fn loom_blob_view(blob: Blob, data: *mut *const c_void, data_size: *mut usize) -> Status;

    /// Makes a flag that is not set.
    pub fn loom_cancel_create(cancel: *mut Cancel) -> Status;

    /// Sets or clears the flag, from any thread.
    pub fn loom_cancel_set(cancel: Cancel, set: i32) -> Status;

    /// Starts workers. Sessions that use them at the same time take turns; no result depends on it. (count: the
    /// caller's thread included; 0: one per physical core)
    pub fn loom_threads_create(count: i32, threads: *mut Threads) -> Status;

    /// Uses the host's own workers. (count: at least 1)
    pub fn loom_threads_from_host(count: i32, run: RunWork, user: *mut c_void, threads: *mut Threads) -> Status;

    /// Reports every call that fails (LOOM_LOG_ERROR), and every lost graphics card whose work continues on the CPU
    /// (LOOM_LOG_INFO), to the host, on the thread of the call. The hook may call other functions; their failures are
    /// not reported.
    pub fn loom_set_log(log: OnLog, user: *mut c_void) -> Status;

    /// Takes the memory of tensors from the host: weights, activations, keys and values. Memory goes back to the
    /// functions that gave it. Both functions are called from several threads at once.
    pub fn loom_set_memory(allocate: AllocateMemory, free: FreeMemory, user: *mut c_void) -> Status;

    /// Reports a broken invariant of the library to the host before the process ends.
    pub fn loom_set_fatal(fatal: OnFatal, user: *mut c_void) -> Status;

    /// Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json.
    pub fn loom_tokenizer_open(path: *const c_char, tokenizer: *mut Tokenizer) -> Status;

    /// Reads a tokenizer.json from memory.
    pub fn loom_tokenizer_from_json(json: *const c_void, json_size: usize, tokenizer: *mut Tokenizer) -> Status;

    /// Reads the tokenizer of a GGUF file, an .entity or a tokenizer.json from memory.
    pub fn loom_tokenizer_from_memory(data: *const c_void, data_size: usize, tokenizer: *mut Tokenizer) -> Status;

    /// Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a text;
    /// parse_special: a marker in the text is the marker; 0: it is ordinary text)
    pub fn loom_tokenizer_encode(tokenizer: Tokenizer, text: *const c_void, text_size: usize,
        add_special_tokens: i32, parse_special: i32, ids: *mut Blob) -> Status;

    /// Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add nothing.
    pub fn loom_tokenizer_decode(tokenizer: Tokenizer, ids: *const i32, ids_count: usize, skip_special_tokens: i32,
        text: *mut Blob) -> Status;

    /// Gives one more than the greatest id.
    pub fn loom_tokenizer_vocab_size(tokenizer: Tokenizer, size: *mut u64) -> Status;

    /// Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has none.
    pub fn loom_tokenizer_id(tokenizer: Tokenizer, text: *const c_void, text_size: usize, id: *mut i32) -> Status;

    /// Gives the text of one id as the vocabulary spells it; empty for an unknown id.
    pub fn loom_tokenizer_token(tokenizer: Tokenizer, id: i32, text: *mut Blob) -> Status;

    /// Loads a language model: a GGUF file, a Hugging Face folder or an .entity.
    pub fn loom_model_open(path: *const c_char, options: *const ModelOptions, model: *mut Model) -> Status;

    /// Like loom_model_open(), for a part of a file into which a GGUF file or an .entity is embedded. (size: 0: to
    /// the end)
    pub fn loom_model_open_part(path: *const c_char, offset: u64, size: u64, options: *const ModelOptions,
        model: *mut Model) -> Status;

    /// Like loom_model_open(), for bytes, which are read during the call only.
    pub fn loom_model_from_memory(data: *const c_void, data_size: usize, options: *const ModelOptions,
        model: *mut Model) -> Status;

    /// Like loom_model_open(), for data that a callback of the host reads, on the calling thread: a GGUF file tensor
    /// by tensor, other files into memory at once. (size: of all bytes)
    pub fn loom_model_from_callback(size: u64, read: ReadAt, user: *mut c_void, options: *const ModelOptions,
        model: *mut Model) -> Status;

    /// Like loom_model_open() of a Hugging Face folder, for its files in memory: config.json, model.safetensors (or
    /// its index and shards), tokenizer.json and the others. They are read during the call only; INVALID_ARGUMENT
    /// names a file that is not read. (names: of the files; data: the files, one after the other; ends: where each
    /// ends in data)
    pub fn loom_model_from_files(names: *const *const c_char, names_count: usize, data: *const c_void,
        data_size: usize, ends: *const u64, ends_count: usize, options: *const ModelOptions,
        model: *mut Model) -> Status;

    /// Gives a JSON object: path, format, sizes, context, special tokens, what is missing.
    pub fn loom_model_info(model: Model, info: *mut Blob) -> Status;

    /// Gives the model's tokenizer; NOT_FOUND, or why it cannot be read.
    pub fn loom_model_tokenizer(model: Model, tokenizer: *mut Tokenizer) -> Status;

    /// Writes messages as the model's chat template has them: a JSON list of objects with role and content.
    pub fn loom_model_render_chat(model: Model, messages: *const c_void, messages_size: usize,
        add_generation_prompt: i32, text: *mut Blob) -> Status;

    /// Gives a JSON list of a model's adapters: name (that of their folder's place among the options, "0"), rank,
    /// alpha, matrices, parameters.
    pub fn loom_model_adapters(model: Model, list: *mut Blob) -> Status;

    /// Makes a session with empty sequences.
    pub fn loom_session_create(model: Model, options: *const SessionOptions, session: *mut Session) -> Status;

    /// Appends ids to a sequence and gives the logits that follow the last one; they last until the next call with
    /// the session. A call that fails leaves the sequence as it was.
    pub fn loom_session_feed(session: Session, sequence: u64, ids: *const i32, ids_count: usize, cancel: Cancel,
        logits: *mut *const f32, logits_count: *mut usize) -> Status;

    /// Gives the tokens of a sequence; they last until the next call with the session.
    pub fn loom_session_tokens(session: Session, sequence: u64, ids: *mut *const i32,
        ids_count: *mut usize) -> Status;

    /// Drops what follows the first length tokens of a sequence.
    pub fn loom_session_rewind(session: Session, sequence: u64, length: u64) -> Status;

    /// Copies a sequence onto another.
    pub fn loom_session_fork(session: Session, from: u64, to: u64) -> Status;

    /// Gives tokens, keys and values of a sequence as bytes.
    pub fn loom_session_snapshot(session: Session, sequence: u64, bytes: *mut Blob) -> Status;

    /// Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model.
    pub fn loom_session_restore(session: Session, sequence: u64, bytes: *const c_void, bytes_size: usize) -> Status;

    /// Gives a JSON object: instruction set, threads, context, sequences, memory.
    pub fn loom_session_info(session: Session, info: *mut Blob) -> Status;

    /// Applies these adapters of the model from now on, and no others. All sequences are then empty. (all: every
    /// adapter that the model has counts, whatever names says)
    pub fn loom_session_choose_adapters(session: Session, names: *const *const c_char, names_count: usize,
        all: i32) -> Status;

    /// Scores a text: a JSON object with the perplexity and the mean of each window. The session's first sequence is
    /// cleared. (window: tokens; 0: 512; max_windows: 0: the whole text)
    pub fn loom_session_perplexity(session: Session, text: *const c_void, text_size: usize, window: u64,
        max_windows: u64, cancel: Cancel, result: *mut Blob) -> Status;

    /// Creates a generator that continues the sequence with the given ids. Nothing is read yet.
    pub fn loom_generator_create(session: Session, prompt: *const i32, prompt_count: usize,
        options: *const GenerationOptions, generator: *mut Generator) -> Status;

    /// Creates a generator from a text or a conversation. CONTEXT_FULL for a prompt of more than 4 times the tokens
    /// that the session holds.
    pub fn loom_generator_from_text(session: Session, text: *const c_void, text_size: usize, form: PromptForm,
        options: *const GenerationOptions, generator: *mut Generator) -> Status;

    /// Returns what a generator would read, as JSON: prompt, a text, and its ids, prompt_tokens and dropped_bytes.
    /// The options count from plain_text on. CONTEXT_FULL beyond 4 times the context that the model was trained for.
    pub fn loom_model_prompt(model: Model, text: *const c_void, text_size: usize, form: PromptForm,
        options: *const GenerationOptions, prompt: *mut Blob) -> Status;

    /// Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled.
    /// At the end it does nothing.
    pub fn loom_generator_next(generator: Generator, cancel: Cancel, step: *mut Step) -> Status;

    /// Gives the generation so far.
    pub fn loom_generator_result(generator: Generator, result: *mut Generation) -> Status;

    /// Gives a JSON list with an object per drawn token: id, logprob (natural logarithm, before temperature and cuts)
    /// and top, the best tokens by the same. INVALID_STATE where the option logprobs is 0.
    pub fn loom_generator_logprobs(generator: Generator, logprobs: *mut Blob) -> Status;

    /// Begins a conversation; NO_TEMPLATE for a model without a chat template. (system: message that it begins with;
    /// NULL: none; options: of every answer)
    pub fn loom_chat_create(session: Session, system: *const c_char, options: *const GenerationOptions,
        chat: *mut Chat) -> Status;

    /// Adds a message of the user and begins the answer. After an error the conversation is as before.
    pub fn loom_chat_say(chat: Chat, text: *const c_void, text_size: usize, cancel: Cancel) -> Status;

    /// Begins an answer to the messages as they stand.
    pub fn loom_chat_answer(chat: Chat, cancel: Cancel) -> Status;

    /// Does one bounded piece of work, as loom_generator_next(). With the last one the answer joins the conversation,
    /// also when the cancel ended it early.
    pub fn loom_chat_next(chat: Chat, cancel: Cancel, step: *mut Step) -> Status;

    /// Ends an answer that runs; what it has said so far joins the conversation.
    pub fn loom_chat_stop(chat: Chat) -> Status;

    /// Gives the answer that runs, or the last one.
    pub fn loom_chat_result(chat: Chat, result: *mut Generation) -> Status;

    /// Like loom_generator_logprobs(), for the answer that runs, or the last one.
    pub fn loom_chat_logprobs(chat: Chat, logprobs: *mut Blob) -> Status;

    /// Gives the conversation as JSON: a list of messages with role and content.
    pub fn loom_chat_messages(chat: Chat, messages: *mut Blob) -> Status;

    /// Puts another conversation in its place.
    pub fn loom_chat_set_messages(chat: Chat, messages: *const c_void, messages_size: usize) -> Status;

    /// Keeps the first so many messages.
    pub fn loom_chat_rewind(chat: Chat, count: u64) -> Status;

    /// Gives a message another text and forgets what follows.
    pub fn loom_chat_edit(chat: Chat, index: u64, text: *const c_void, text_size: usize) -> Status;

    /// Writes the conversation into a file, whole or not at all. INVALID_ARGUMENT for a file that exists and holds no
    /// conversation.
    pub fn loom_chat_save(chat: Chat, path: *const c_char) -> Status;

    /// Reads a conversation from a file.
    pub fn loom_chat_load(chat: Chat, path: *const c_char) -> Status;

    /// Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring are drawn from
    /// its seed.
    pub fn loom_network_from_json(json: *const c_void, json_size: usize, options: *const NetworkOptions,
        network: *mut Network) -> Status;

    /// Makes a transformer of an arch_config.
    pub fn loom_network_from_arch(json: *const c_void, json_size: usize, network: *mut Network) -> Status;

    /// Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x, a graph in ONNX as one cell.
    pub fn loom_network_open(path: *const c_char, options: *const NetworkOptions, network: *mut Network) -> Status;

    /// Like loom_network_open(), for bytes.
    pub fn loom_network_from_memory(data: *const c_void, data_size: usize, options: *const NetworkOptions,
        network: *mut Network) -> Status;

    /// Makes a copy that shares nothing which can change.
    pub fn loom_network_clone(network: Network, copy: *mut Network) -> Status;

    /// Makes a network of one parallel cell whose branches are copies of cell 0 of each network. (combine_mode:
    /// concat, add, avg, ..., as of the kind parallel; share: the copies stand in cells of their own, which the
    /// branches link to)
    pub fn loom_network_graft(networks: *const Network, networks_count: usize, combine_mode: *const c_char,
        share: i32, grafted: *mut Network) -> Status;

    /// Writes a file, whole or not at all: .json a checkpoint, everything else .entity. INVALID_ARGUMENT for the
    /// ending of another format, and for a file that exists and holds no network. (keep_master: exact masters beside
    /// packed weights, for further training)
    pub fn loom_network_save(network: Network, path: *const c_char, keep_master: i32) -> Status;

    /// Like loom_network_save(), as bytes. (keep_master: of FORMAT_ENTITY)
    pub fn loom_network_to_bytes(network: Network, format: NetworkFormat, keep_master: i32,
        bytes: *mut Blob) -> Status;

    /// Gives the spec as JSON: every setting that is not the default, without weights. Widths have the names of other
    /// frameworks: in_features, out_features, hidden_size and the like.
    pub fn loom_network_spec(network: Network, spec: *mut Blob) -> Status;

    /// Gives a JSON object: grid, layers with kinds, types and weights, memory, input and output shape, what a
    /// lenient reader met.
    pub fn loom_network_info(network: Network, info: *mut Blob) -> Status;

    /// Gives a picture of the grid, SVG. (title: above the picture; NULL: the network's name)
    pub fn loom_network_draw(network: Network, title: *const c_char, svg: *mut Blob) -> Status;

    /// Gives the SHA-256 of all weights as text, 64 hexadecimal digits.
    pub fn loom_network_hash(network: Network, hash: *mut Blob) -> Status;

    /// Resolves links and infers all shapes from the input's, samples first; a session does so by itself.
    pub fn loom_network_prepare(network: Network, input: *const u64, input_count: usize, output: *mut *const u64,
        output_count: *mut usize) -> Status;

    /// Puts a layer, a JSON object as in a spec, into a cell, replacing the layer in it; its weights are drawn. The
    /// next forward of a session plans it again; step meshes of the network answer INVALID_STATE from then on.
    /// (address: z, y, x, l; layer: of size 0: the cell becomes empty)
    pub fn loom_network_place(network: Network, address: *const u64, address_count: usize, layer: *const c_void,
        layer_size: usize) -> Status;

    /// Gives the matrices another numeric type. Masters stay exact. The next forward of a session plans it again.
    /// (path: a layer and all below it, "layers.3"; NULL: all)
    pub fn loom_network_morph(network: Network, path: *const c_char, dtype: *const c_char) -> Status;

    /// Frees the exact masters of weights whose type holds their values.
    pub fn loom_network_release_masters(network: Network) -> Status;

    /// Adds every enabled adapter to its matrix and removes it.
    pub fn loom_network_merge_adapters(network: Network) -> Status;

    /// Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen, master.
    pub fn loom_network_weights(network: Network, list: *mut Blob) -> Status;

    /// Fills a tensor with the values of a weight, as float32 or float64. Its size must be that of the weight.
    /// (values: memory to fill; a shape must be that of the weight, or none)
    pub fn loom_network_get_weight(network: Network, name: *const c_char, values: *const Tensor) -> Status;

    /// Sets the values of a weight. NON_FINITE names the first that is not finite. (values: float32 or float64; a
    /// shape must be that of the weight, or none)
    pub fn loom_network_set_weight(network: Network, name: *const c_char, values: *const Tensor) -> Status;

    /// Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64.
    pub fn loom_network_weight_codes(network: Network, name: *const c_char, codes: *mut Blob) -> Status;

    /// Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL: all)
    pub fn loom_network_freeze(network: Network, path: *const c_char, frozen: i32) -> Status;

    /// Gives the flat index of a cell. (address: z, y, x, l)
    pub fn loom_network_index(network: Network, address: *const u64, address_count: usize, index: *mut u64) -> Status;

    /// Gives the layer of a cell, a JSON object as in a spec, without weights; NOT_FOUND for an empty cell. (address:
    /// z, y, x, l)
    pub fn loom_network_layer(network: Network, address: *const u64, address_count: usize,
        layer: *mut Blob) -> Status;

    /// Gives the structure of a network, a JSON object: every layer, nested ones included, with exact counts of
    /// parameters and bytes.
    pub fn loom_network_blueprint(network: Network, blueprint: *mut Blob) -> Status;

    /// Groups a network's weights by the layer and block in their names ("layers.3.self_attn"). A JSON object:
    /// groups, a list of prefix, layer, block and tensors, and unresolved, the names without such a prefix with the
    /// reason.
    pub fn loom_network_groups(network: Network, groups: *mut Blob) -> Status;

    /// Like loom_file_export(), for a network with its present weights. (path: FILE.onnx or FILE.safetensors)
    pub fn loom_network_export(network: Network, path: *const c_char, options: *const FileExportOptions,
        report: *mut Blob) -> Status;

    /// Makes a session.
    pub fn loom_network_session_create(network: Network, options: *const NetworkSessionOptions,
        session: *mut NetworkSession) -> Status;

    /// Runs the network. The output lasts until the next call with the session. (input: of the element in which the
    /// network computes, samples first)
    pub fn loom_network_session_forward(session: NetworkSession, input: *const Tensor, pass: *const Pass,
        output: *mut Tensor) -> Status;

    /// Names the memory of the caller that loom_network_session_run() reads and fills. It must last as long as it is
    /// bound. (input: NULL unbinds both; output: memory to fill; a shape must be that of the output, or none)
    pub fn loom_network_session_bind(session: NetworkSession, input: *const Tensor, output: *const Tensor) -> Status;

    /// Runs the network from the bound input into the bound output.
    pub fn loom_network_session_run(session: NetworkSession) -> Status;

    /// Runs the backward pass after a forward of a session with `backward`: adds to the gradients of the weights and
    /// gives that of the input, which lasts until the next call. (output_gradient: as many values as the last output)
    pub fn loom_network_session_backward(session: NetworkSession, output_gradient: *const Tensor, cancel: Cancel,
        input_gradient: *mut Tensor) -> Status;

    /// Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64.
    /// (values: memory to fill; a shape must be that of the weight, or none)
    pub fn loom_network_session_gradient(session: NetworkSession, weight: *const c_char,
        values: *const Tensor) -> Status;

    /// Sets every gradient to 0.
    pub fn loom_network_session_clear_gradients(session: NetworkSession) -> Status;

    /// Resets every sequence and state.
    pub fn loom_network_session_reset(session: NetworkSession) -> Status;

    /// Goes back to where the sequences of a session with a context had so many positions.
    pub fn loom_network_session_rewind(session: NetworkSession, length: u64) -> Status;

    /// Gives the state that the next call depends on as bytes: recurrent states, memories, keys and values.
    pub fn loom_network_session_snapshot(session: NetworkSession, bytes: *mut Blob) -> Status;

    /// Puts such a state back, into a session of the same network and options.
    pub fn loom_network_session_restore(session: NetworkSession, bytes: *const c_void, bytes_size: usize) -> Status;

    /// Gives a JSON object: threads, memory, element type, positions, states.
    pub fn loom_network_session_info(session: NetworkSession, info: *mut Blob) -> Status;

    /// Makes a network ready to learn from batches of that shape, samples first. Nobody else may change the network
    /// while it learns; calls that try answer BUSY, and a changed grid ends the training.
    pub fn loom_trainer_create(network: Network, config: *const c_void, config_size: usize, shape: *const u64,
        shape_count: usize, options: *const ComputeOptions, trainer: *mut Trainer) -> Status;

    /// Learns from one batch. (cancel: ends the step with CANCELLED; everything is then as before)
    pub fn loom_trainer_step(trainer: Trainer, batch: *const Batch, cancel: Cancel,
        step: *mut TrainingStep) -> Status;

    /// Gives the loss of a batch and the output, which lasts until the next call; no weight changes.
    pub fn loom_trainer_evaluate(trainer: Trainer, batch: *const Batch, loss: *mut f64,
        output: *mut Tensor) -> Status;

    /// Sets the epoch, from 0, for schedules that count epochs.
    pub fn loom_trainer_set_epoch(trainer: Trainer, epoch: u64) -> Status;

    /// Gives the schedule "plateau" a validation metric.
    pub fn loom_trainer_observe(trainer: Trainer, metric: f64) -> Status;

    /// Runs a whole training by a config in JSON: data, epochs, validation, checkpoints, journal. The outcome is a
    /// JSON object: stop reason, losses by epoch, hash, metrics. (network: learns where it is; 0: the config names
    /// one; samples: in place of the config's data; NULL: it names files; validation: in place of the config's own)
    pub fn loom_training_run(config: *const c_void, config_size: usize, network: Network, samples: *const Batch,
        validation: *const Batch, options: *const TrainingOptions, outcome: *mut Blob) -> Status;

    /// Like loom_training_run(), for a config file.
    pub fn loom_training_run_file(path: *const c_char, options: *const TrainingOptions, outcome: *mut Blob) -> Status;

    /// Does the run of a journal again and compares every hash, loss and metric; CORRUPT_DATA names the first line
    /// that differs. (path: a run's folder, or its journal)
    pub fn loom_training_replay(path: *const c_char, options: *const TrainingOptions, report: *mut Blob) -> Status;

    /// Opens a config in JSON, with its data and network, to compute gradients for a training of the same config
    /// elsewhere, whose callback on_shards asks for them. UNSUPPORTED with the reason where its steps cannot be
    /// divided. (options: folder and compute; other fields must be 0)
    pub fn loom_replica_create(config: *const c_void, config_size: usize, options: *const TrainingOptions,
        replica: *mut Replica) -> Status;

    /// Takes over a step: what on_shards was given.
    pub fn loom_replica_begin(replica: Replica, epoch: u64, position: u64, step: u64, loss_scale: f64,
        masters: *const c_void, masters_size: usize) -> Status;

    /// Gives the sum of the gradients of shards [first, first + count), and their share in the loss, which is not
    /// finite where the step has to be skipped. The count is a power of two that divides first, or reaches up to the
    /// last shard: a node of the tree that adds all shards.
    pub fn loom_replica_sum(replica: Replica, first: u64, count: u64, loss: *mut f64, gradients: *mut Blob) -> Status;

    /// Gives a JSON object: shards, gradient_bytes, batches of an epoch, SHA-256 of the data.
    pub fn loom_replica_info(replica: Replica, info: *mut Blob) -> Status;

    /// Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the figures of each
    /// cell's target.
    pub fn loom_trainer_info(trainer: Trainer, info: *mut Blob) -> Status;

    /// Makes a network ready to learn by targets from batches of that shape.
    pub fn loom_tween_create(network: Network, config: *const c_void, config_size: usize, shape: *const u64,
        shape_count: usize, options: *const ComputeOptions, tween: *mut Tween) -> Status;

    /// Runs the network; the output lasts until the next call. (input: of the element in which the network computes,
    /// samples first)
    pub fn loom_tween_forward(tween: Tween, input: *const Tensor, output: *mut Tensor) -> Status;

    /// Runs the rest of a step after a forward: gaps, budgets, updates. (target: as many values as the output)
    pub fn loom_tween_step(tween: Tween, target: *const Tensor, learning_rate: f64) -> Status;

    /// Gives every cell its target, the first of the three calls that loom_tween_step() makes. (target: as many
    /// values as the output)
    pub fn loom_tween_backward(tween: Tween, target: *const Tensor) -> Status;

    /// Measures how well each cell agrees with its target.
    pub fn loom_tween_budgets(tween: Tween) -> Status;

    /// Moves the weights.
    pub fn loom_tween_apply(tween: Tween, learning_rate: f64) -> Status;

    /// Gives a JSON object: the gap of the output, and of each use of a layer gap, budget and size of the update.
    pub fn loom_tween_info(tween: Tween, info: *mut Blob) -> Status;

    /// Prepares a network for ticks with such inputs, samples first.
    pub fn loom_step_mesh_create(network: Network, shape: *const u64, shape_count: usize,
        options: *const StepMeshOptions, mesh: *mut StepMesh) -> Status;

    /// Moves states by some ticks; after an error none of them has moved in that tick.
    pub fn loom_step_mesh_step(mesh: StepMesh, states: *const StepState, states_count: usize,
        options: *const TickOptions) -> Status;

    /// Goes back through captured ticks from a gradient of the last cell's output: adds to the gradients of the
    /// weights and gives that of the input of the newest tick, which lasts until the next call with the mesh; without
    /// data where that tick had no input. (output_gradient: as many values as the output; ticks: at most; 0: all)
    pub fn loom_step_mesh_backward(mesh: StepMesh, state: StepState, output_gradient: *const Tensor, ticks: u64,
        input_gradient: *mut Tensor) -> Status;

    /// Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64.
    /// (values: memory to fill; a shape must be that of the weight, or none)
    pub fn loom_step_mesh_gradient(mesh: StepMesh, weight: *const c_char, values: *const Tensor) -> Status;

    /// Sets every gradient to 0.
    pub fn loom_step_mesh_clear_gradients(mesh: StepMesh) -> Status;

    /// Gives a JSON object: cells, memory of a state, what a cell waits for that can never start.
    pub fn loom_step_mesh_info(mesh: StepMesh, info: *mut Blob) -> Status;

    /// Makes a state without outputs.
    pub fn loom_step_state_create(mesh: StepMesh, state: *mut StepState) -> Status;

    /// Sets the input of the first cell. (input: as many values as the mesh's input, of the element in which the
    /// network computes; hold: until it is replaced; 0: for the next tick alone)
    pub fn loom_step_state_set_input(state: StepState, input: *const Tensor, hold: i32) -> Status;

    /// Removes the input.
    pub fn loom_step_state_clear_input(state: StepState) -> Status;

    /// Gives the output of a cell in the last tick, until the next call with the mesh; NO_VALUE before data has
    /// reached it. (cell: its index; -1: the last one)
    pub fn loom_step_state_output(state: StepState, cell: i64, output: *mut Tensor) -> Status;

    /// No input, no outputs, no history, tick 0.
    pub fn loom_step_state_reset(state: StepState) -> Status;

    /// Creates an independent copy.
    pub fn loom_step_state_fork(state: StepState, copy: *mut StepState) -> Status;

    /// Gives the whole state as bytes that any machine reads.
    pub fn loom_step_state_snapshot(state: StepState, bytes: *mut Blob) -> Status;

    /// Puts a snapshot into a state of a mesh of the same shapes.
    pub fn loom_step_state_restore(state: StepState, bytes: *const c_void, bytes_size: usize) -> Status;

    /// Gives the SHA-256 of the whole state as text, 64 hexadecimal digits.
    pub fn loom_step_state_hash(state: StepState, hash: *mut Blob) -> Status;

    /// Gives the number of ticks since the start.
    pub fn loom_step_state_ticks(state: StepState, ticks: *mut u64) -> Status;

    /// Makes a mesh that was created with keep_inputs ready to learn by targets. (ticks: 0: through the last tick
    /// alone; above: through so many captured ones)
    pub fn loom_mesh_tween_create(mesh: StepMesh, config: *const c_void, config_size: usize, ticks: u64,
        tween: *mut MeshTween) -> Status;

    /// Moves all weights once towards targets of the last cell's outputs, one state's after another. (targets: for
    /// each state as many values as the output)
    pub fn loom_mesh_tween_step(tween: MeshTween, states: *const StepState, states_count: usize,
        targets: *const Tensor, learning_rate: f64) -> Status;

    /// Gives a network's signatures as JSON: by layer the direction of its weights. (nested: layers inside containers
    /// too)
    pub fn loom_dna_extract(network: Network, nested: i32, dna: *mut Blob) -> Status;

    /// Compares two networks layer by layer, a JSON object: overlaps, logic shifts, layers of one alone.
    pub fn loom_dna_compare(first: Network, second: Network, nested: i32, comparison: *mut Blob) -> Status;

    /// Gives that as a picture, SVG.
    pub fn loom_dna_draw(first: Network, second: Network, nested: i32, svg: *mut Blob) -> Status;

    /// Gives what differs between the specs and weights of two networks, a JSON object.
    pub fn loom_network_compare(first: Network, second: Network, differences: *mut Blob) -> Status;

    /// Makes a child of two networks. The config is a JSON object: mode blend, point or uniform, blend_alpha,
    /// split_ratio, fitness_a, fitness_b, seed. (config: of size 0: all defaults)
    pub fn loom_network_splice(first: Network, second: Network, config: *const c_void, config_size: usize,
        child: *mut Network) -> Status;

    /// Changes a network at random; its output keeps its shape. The config is the object `mutation` of an evolution,
    /// and seed, generation, individual. The report says what was done. (shape: of the input, samples first; config:
    /// of size 0: all defaults)
    pub fn loom_network_mutate(network: Network, shape: *const u64, shape_count: usize, config: *const c_void,
        config_size: usize, report: *mut Blob) -> Status;

    /// Runs a whole evolution by a config in JSON. The outcome is a JSON object.
    pub fn loom_evolution_run(config: *const c_void, config_size: usize, options: *const EvolutionOptions,
        outcome: *mut Blob) -> Status;

    /// Like loom_evolution_run(), for a config file.
    pub fn loom_evolution_run_file(path: *const c_char, options: *const EvolutionOptions,
        outcome: *mut Blob) -> Status;

    /// Opens the task of a config in JSON, with its data, to judge the networks of an evolution of the same config
    /// elsewhere, whose callback on_judging asks for it. (options: folder and compute; other fields must be 0)
    pub fn loom_judge_create(config: *const c_void, config_size: usize, options: *const EvolutionOptions,
        judge: *mut Judge) -> Status;

    /// Judges a network, given as a file (.entity), and gives its numbers for on_judging: objectives, and what
    /// novelty goes by. They last until the next call.
    pub fn loom_judge_fitness(judge: Judge, network: *const c_void, network_size: usize, numbers: *mut *const f64,
        numbers_count: *mut usize) -> Status;

    /// Gives a JSON object: `identity`, all that a run is a function of, with the SHA-256 of its files.
    pub fn loom_judge_info(judge: Judge, info: *mut Blob) -> Status;

    /// Makes the first generation: mutations of a network. The config is a JSON object: population, elites, seed,
    /// objectives, mutation, splice, species, novelty. (shape: of the input, samples first; config: of size 0: all
    /// defaults; compute: threads, thread_count and isa; NULL: defaults)
    pub fn loom_population_create(base: Network, shape: *const u64, shape_count: usize, config: *const c_void,
        config_size: usize, compute: *const ComputeOptions, population: *mut Population) -> Status;

    /// Gives the places of the members without a fitness, until the next call with the population.
    pub fn loom_population_ask(population: Population, places: *mut *const u64, places_count: *mut usize) -> Status;

    /// Gives a copy of a member.
    pub fn loom_population_network(population: Population, place: u64, network: *mut Network) -> Status;

    /// Takes the fitness of those members, more is better, NaN ranks last, and breeds the next generation. With
    /// several objectives all numbers of a member stand together. The report is a JSON object: scores, best, average,
    /// worst, hash.
    pub fn loom_population_tell(population: Population, fitness: *const f64, fitness_count: usize,
        report: *mut Blob) -> Status;

    /// Gives a copy of the network with the best score so far; NO_VALUE before the first generation.
    pub fn loom_population_best(population: Population, network: *mut Network) -> Status;

    /// Gives a JSON object: generation, best score, members with identity, parents, operations, species.
    pub fn loom_population_info(population: Population, info: *mut Blob) -> Status;

    /// Gives a population as bytes, to go on from elsewhere.
    pub fn loom_population_snapshot(population: Population, bytes: *mut Blob) -> Status;

    /// Makes a population of a snapshot; config and shape are those it was made with. (compute: threads, thread_count
    /// and isa; NULL: defaults)
    pub fn loom_population_restore(bytes: *const c_void, bytes_size: usize, shape: *const u64, shape_count: usize,
        config: *const c_void, config_size: usize, compute: *const ComputeOptions,
        population: *mut Population) -> Status;

    /// Groups points around centres (k-means by Lloyd's rounds, in double precision). A JSON object: assignment, the
    /// cluster of each point, centres, iterations, converged. (points: row-major, one point after the other; count:
    /// of points; clusters: 1 to count; max_iterations: 0: 100; plus_plus: starts far apart (k-means++); 0: drawn
    /// points; seed: of the draws)
    pub fn loom_points_cluster(points: *const f64, points_count: usize, count: u64, clusters: u64,
        max_iterations: u64, plus_plus: i32, seed: u64, result: *mut Blob) -> Status;

    /// Gives the mean silhouette of a clustering, -1 to 1: how much nearer points are to their own cluster than to
    /// the next one. (points: row-major, one point after the other; count: of points; assignment: the cluster of each
    /// point; at least two clusters)
    pub fn loom_points_silhouette(points: *const f64, points_count: usize, count: u64, assignment: *const u64,
        assignment_count: usize, value: *mut f64) -> Status;

    /// Groups points that steps of at most such a cosine distance link (single linkage). A JSON list of lists of
    /// points, in order of their first ones. (points: row-major, one point after the other; count: of points;
    /// threshold: 0 to 2)
    pub fn loom_points_group(points: *const f64, points_count: usize, count: u64, threshold: f64,
        groups: *mut Blob) -> Status;

    /// Finds models that complete each other: pairs whose cases that one of them gets right are at least such a part
    /// of all. A JSON list of {a, b, coverage, overlap, cosine}, the best first; cosine is that of
    /// loom_matches_similarity(). (right: a byte per case, 0 or 1, model by model)
    pub fn loom_matches_find(right: *const c_void, right_size: usize, models: u64, min_coverage: f64,
        matches: *mut Blob) -> Status;

    /// Gives the cosine of two models' right cases, as vectors of 0 and 1: 1 where both get the same ones right, 0
    /// where they have none in common. (first: a byte per case, 0 or 1; second: as many)
    pub fn loom_matches_similarity(first: *const c_void, first_size: usize, second: *const c_void,
        second_size: usize, cosine: *mut f64) -> Status;

    /// Adds a layer kind to those of this process. The description is a JSON object: name, help, shapes, width_key,
    /// sample_axes, and settings, a list of key, type (integer, number, boolean, choice, activation), default, min,
    /// max, choices, help. INVALID_ARGUMENT for a name that is taken.
    pub fn loom_layer_kind_register(description: *const c_void, description_size: usize,
        callbacks: *const KindCallbacks) -> Status;

    /// Takes the kind back: no callback of it comes from then on. INVALID_STATE while a network with a layer of it
    /// lives.
    pub fn loom_layer_kind_unregister(name: *const c_char) -> Status;

    /// Gives a setting of the layer: an integer, a number, 0 or 1, the index of a choice.
    pub fn loom_layer_setting(layer: Layer, key: *const c_char, value: *mut f64) -> Status;

    /// In declare: adds a weight, a vector or, with two extents, a matrix, whose rows are outputs. A fresh one is
    /// filled by a rule. (init: zeros, ones, glorot, he, uniform, normal or identity; NULL: glorot for matrices,
    /// zeros for vectors; size: half width of uniform, deviation of normal; 0: 0.1 and 0.02)
    pub fn loom_layer_declare_weight(layer: Layer, name: *const c_char, extents: *const u64, extents_count: usize,
        init: *const c_char, size: f64) -> Status;

    /// Gives what comes in: the layer's input in forward, the gradient of its output in backward. Axis 0 counts
    /// samples in this tensor and in all that are computed from it; it keeps its place.
    pub fn loom_layer_input(layer: Layer, x: *mut u64) -> Status;

    /// Names what goes out: the output in forward, the gradient of the input in backward.
    pub fn loom_layer_result(layer: Layer, tensor: u64) -> Status;

    /// In forward: keeps a tensor for backward.
    pub fn loom_layer_keep(layer: Layer, tensor: u64) -> Status;

    /// In backward: gives what forward kept, the last one first. Every kept tensor must be taken.
    pub fn loom_layer_kept(layer: Layer, tensor: *mut u64) -> Status;

    /// Gives the extents of a tensor; SHAPE_MISMATCH where there is no room for them.
    pub fn loom_layer_shape(layer: Layer, tensor: u64, extents: *mut u64, extents_count: usize,
        rank: *mut u64) -> Status;

    /// y = W x + b along the last axis, with the bits of a dense layer in every type of W.
    pub fn loom_layer_matmul(layer: Layer, x: u64, weight: *const c_char, bias: *const c_char, y: *mut u64) -> Status;

    /// dx = W^T dy; adds to the gradients of W and b.
    pub fn loom_layer_matmul_gradient(layer: Layer, x: u64, dy: u64, weight: *const c_char, bias: *const c_char,
        dx: *mut u64) -> Status;

    /// y = left right over the last two axes of two tensors whose other axes are equal, either of them transposed.
    /// Its gradients are products too.
    pub fn loom_layer_product(layer: Layer, left: u64, transpose_left: i32, right: u64, transpose_right: i32,
        y: *mut u64) -> Status;

    /// y = left + right; equal shapes.
    pub fn loom_layer_add(layer: Layer, left: u64, right: u64, y: *mut u64) -> Status;

    /// y = left right, element by element; equal shapes.
    pub fn loom_layer_multiply(layer: Layer, left: u64, right: u64, y: *mut u64) -> Status;

    /// y = x times a factor.
    pub fn loom_layer_scale(layer: Layer, x: u64, factor: f64, y: *mut u64) -> Status;

    /// Gives a tensor of the shape of another one with one value everywhere.
    pub fn loom_layer_fill(layer: Layer, like: u64, value: f64, y: *mut u64) -> Status;

    /// y = activation(x). (activation: the key of a setting of that type, or a name)
    pub fn loom_layer_activate(layer: Layer, x: u64, activation: *const c_char, y: *mut u64) -> Status;

    /// dx = dy times the activation's derivative at x. (activation: the key of a setting of that type, or a name)
    pub fn loom_layer_activate_gradient(layer: Layer, x: u64, dy: u64, activation: *const c_char,
        dx: *mut u64) -> Status;

    /// y = activation(gate) up, with the bits of swiglu. (activation: the key of a setting of that type, or a name)
    pub fn loom_layer_gated(layer: Layer, gate: u64, up: u64, activation: *const c_char, y: *mut u64) -> Status;

    /// The gradients of both. (activation: the key of a setting of that type, or a name)
    pub fn loom_layer_gated_gradient(layer: Layer, gate: u64, up: u64, dy: u64, activation: *const c_char,
        dgate: *mut u64, dup: *mut u64) -> Status;

    /// p = softmax(x / temperature) along the last axis.
    pub fn loom_layer_softmax(layer: Layer, x: u64, temperature: f64, p: *mut u64) -> Status;

    /// dx from what softmax gave.
    pub fn loom_layer_softmax_gradient(layer: Layer, p: u64, dy: u64, temperature: f64, dx: *mut u64) -> Status;

    /// y = x / sqrt(mean of x^2 + eps) gamma along the last axis. (eps: 0 to 1)
    pub fn loom_layer_rms_norm(layer: Layer, x: u64, gamma: *const c_char, eps: f64, y: *mut u64) -> Status;

    /// dx; adds to the gradient of gamma.
    pub fn loom_layer_rms_norm_gradient(layer: Layer, x: u64, dy: u64, gamma: *const c_char, eps: f64,
        dx: *mut u64) -> Status;

    /// y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. (eps: 0 to 1)
    pub fn loom_layer_layer_norm(layer: Layer, x: u64, gamma: *const c_char, beta: *const c_char, eps: f64,
        y: *mut u64) -> Status;

    /// dx; adds to the gradients of gamma and beta.
    pub fn loom_layer_layer_norm_gradient(layer: Layer, x: u64, dy: u64, gamma: *const c_char, beta: *const c_char,
        eps: f64, dx: *mut u64) -> Status;

    /// y is x with its axes in another order: axis i of y is axis axes[i] of x.
    pub fn loom_layer_permute(layer: Layer, x: u64, axes: *const u64, axes_count: usize, y: *mut u64) -> Status;

    /// y is x with other extents.
    pub fn loom_layer_reshape(layer: Layer, x: u64, extents: *const u64, extents_count: usize, y: *mut u64) -> Status;

    /// y is [first, first + count) of an axis of x. Its gradient is that of pad, and the reverse.
    pub fn loom_layer_slice(layer: Layer, x: u64, axis: u64, first: u64, count: u64, y: *mut u64) -> Status;

    /// y is x at `first` of an axis of another extent, zeros elsewhere.
    pub fn loom_layer_pad(layer: Layer, x: u64, axis: u64, first: u64, extent: u64, y: *mut u64) -> Status;

    /// y is x, whose axis has the extent 1, as often along that axis. Its gradient is the mean, times as often.
    pub fn loom_layer_repeat(layer: Layer, x: u64, axis: u64, times: u64, y: *mut u64) -> Status;

    /// y is the mean of x along an axis, which has the extent 1 then. Its gradient is the repeat of dy over as many.
    pub fn loom_layer_mean(layer: Layer, x: u64, axis: u64, y: *mut u64) -> Status;

    /// y is x with elements left out at that rate while a network trains, else x. Its gradient is the same of dy.
    /// (which: number of the dropout within the layer)
    pub fn loom_layer_dropout(layer: Layer, x: u64, rate: f64, which: u32, y: *mut u64) -> Status;

    /// y has the shape of a tensor and holds a weight's values in each of its samples, as often as they fit.
    pub fn loom_layer_weight(layer: Layer, name: *const c_char, like: u64, y: *mut u64) -> Status;

    /// In backward: adds the sum of such pieces of a tensor to a weight's gradient.
    pub fn loom_layer_add_gradient(layer: Layer, name: *const c_char, tensor: u64) -> Status;

    /// Gives how the kernels of a layer kind divide its work, a JSON object: kind, dtype, isa, cpu (rows and outputs
    /// that go together) and gpu (few_rows, few and many: rows and outputs of a workgroup), null where the kind runs
    /// on the CPU alone in that type. No bit depends on it. (kind: dense, swiglu, rnn, lstm, mha, gru, cnn1 to cnn3,
    /// convtransposed1 to convtransposed3, or attention; dtype: of the weights; isa: an instruction set by name;
    /// NULL: the best one)
    pub fn loom_layer_kind_tiles(kind: *const c_char, dtype: *const c_char, isa: *const c_char,
        sizes: *mut Blob) -> Status;

    /// Gives what a file holds, a JSON object: a language model, a network, a checkpoint. (tensors: lists the tensors
    /// of a language model)
    pub fn loom_file_inspect(path: *const c_char, tensors: i32, facts: *mut Blob) -> Status;

    /// Writes a GGUF file with the matrices of another one in a type, whole or not at all.
    pub fn loom_file_quantize(from: *const c_char, to: *const c_char, dtype: *const c_char,
        options: *const FileConvertOptions, report: *mut Blob) -> Status;

    /// Writes a language model of any format as .entity, whole or not at all.
    pub fn loom_file_convert(from: *const c_char, to: *const c_char, options: *const FileConvertOptions,
        report: *mut Blob) -> Status;

    /// Gives the JSON Schema of a file that Loom reads.
    pub fn loom_file_schema(file: SchemaKind, json: *mut Blob) -> Status;

    /// Opens a file or folder: a network (.entity, JSON, safetensors, .npz, Loom 0.8x), a language model (GGUF, a
    /// Hugging Face folder, .entity), a text encoder (the folder of a BERT) or a graph (.onnx, .entity).
    /// loom_kind_of() gives the kind of the handle. The report is a JSON object: kind, format, where each tensor of a
    /// bare file went, warnings.
    pub fn loom_file_open(path: *const c_char, options: *const FileOpenOptions, object: *mut Handle,
        report: *mut Blob) -> Status;

    /// Writes what one file holds as another: a network as .onnx or .safetensors, a language model as .gguf or as a
    /// Hugging Face folder. UNSUPPORTED, before a byte is written, names what the format cannot express. The report
    /// is a JSON object: format, bytes, tensors or nodes, SHA-256.
    pub fn loom_file_export(from: *const c_char, to: *const c_char, options: *const FileExportOptions,
        report: *mut Blob) -> Status;

    /// Gives the SHA-256 of a file's bytes, of the files of a model's folder, or the root hash of an .entity, as
    /// text: 64 hexadecimal digits. A file that has not changed since is not read again.
    pub fn loom_file_hash(path: *const c_char, hash: *mut Blob) -> Status;

    /// Gives the receipt of a generation that has ended; INVALID_STATE before, and for one that was cancelled.
    pub fn loom_generator_receipt(generator: Generator, receipt: *mut Blob) -> Status;

    /// Gives the receipt of the last answer that was complete; INVALID_STATE before one.
    pub fn loom_chat_receipt(chat: Chat, receipt: *mut Blob) -> Status;

    /// Gives the receipt of the last texts; INVALID_STATE before any.
    pub fn loom_encoder_receipt(encoder: Encoder, receipt: *mut Blob) -> Status;

    /// Computes what a receipt names again and compares: a JSON object with command, model, equal, difference (the
    /// first one, or null), hash, and the isa and device that were used: those of the receipt where this machine has
    /// them. (model: where the model is now; NULL: as in the receipt; folder: where relative paths start; NULL: the
    /// working folder; device: as in the options of a session; NULL: that of the receipt, else cpu)
    pub fn loom_receipt_replay(receipt: *const c_void, receipt_size: usize, model: *const c_char,
        folder: *const c_char, device: *const c_char, cancel: Cancel, report: *mut Blob) -> Status;

    /// Reads an .onnx file, opset 7 on, or an .entity with a graph. UNSUPPORTED lists every operation that Loom
    /// lacks.
    pub fn loom_graph_open(path: *const c_char, options: *const GraphOptions, graph: *mut Graph) -> Status;

    /// Like loom_graph_open(), for bytes, which are read during the call only; they must hold every tensor.
    pub fn loom_graph_from_memory(data: *const c_void, data_size: usize, options: *const GraphOptions,
        graph: *mut Graph) -> Status;

    /// Gives a JSON object: inputs and outputs with name, type and shape ("?": any extent) as far as the file says,
    /// opset, operations and how often, constants and their bytes.
    pub fn loom_graph_info(graph: Graph, info: *mut Blob) -> Status;

    /// Makes a session without inputs.
    pub fn loom_graph_session_create(graph: Graph, options: *const ComputeOptions,
        session: *mut GraphSession) -> Status;

    /// Names the caller's memory that runs read as an input. It must last as long as it is bound; what is in it may
    /// change between runs. Float32, float64 and int64 are read without a copy, other types are copied into wider
    /// ones by each run. A shape of no extents is that of a scalar. (name: of the input; NULL: the only one)
    pub fn loom_graph_session_bind(session: GraphSession, name: *const c_char, input: *const Tensor) -> Status;

    /// Lets go of all memory that is bound.
    pub fn loom_graph_session_unbind(session: GraphSession) -> Status;

    /// Runs the graph from the bound inputs. INVALID_ARGUMENT for an input that is not bound or of another type,
    /// SHAPE_MISMATCH for one of another shape. (cancel: read between operations: ends the call with CANCELLED)
    pub fn loom_graph_session_run(session: GraphSession, cancel: Cancel) -> Status;

    /// Gives an output of the last run without a copy; it lasts until the next call with the session that is not this
    /// one. INVALID_STATE before a run. (name: of the output; NULL: the only one)
    pub fn loom_graph_session_output(session: GraphSession, name: *const c_char, output: *mut Tensor) -> Status;

    /// Copies an output of the last run, whose bytes must be as many. (output: its name; NULL: that of the only one)
    pub fn loom_graph_session_copy_output(session: GraphSession, output: *const c_char, to: *mut u8,
        to_count: usize) -> Status;

    /// Gives the SHA-256 of all outputs of the last run as text, 64 hexadecimal digits: equal on every machine.
    pub fn loom_graph_session_hash(session: GraphSession, hash: *mut Blob) -> Status;

    /// Gives a JSON object: threads, memory that runs work in.
    pub fn loom_graph_session_info(session: GraphSession, info: *mut Blob) -> Status;

    /// Loads the folder of a BERT in the layout of sentence-transformers.
    pub fn loom_encoder_open(path: *const c_char, options: *const EncoderOptions, encoder: *mut Encoder) -> Status;

    /// Gives a JSON object: dimensions, max_tokens, layers, pooling, threads.
    pub fn loom_encoder_info(encoder: Encoder, info: *mut Blob) -> Status;

    /// Gives the encoder's tokenizer.
    pub fn loom_encoder_tokenizer(encoder: Encoder, tokenizer: *mut Tokenizer) -> Status;

    /// Gives a vector per text, one after another, and the number of tokens that were read of each; both last until
    /// the next call with the encoder. A text's vector has the same bits alone and among others. A text is cut off
    /// after max_tokens. (vectors: float32 [texts, dimensions])
    pub fn loom_encoder_embed(encoder: Encoder, texts: *const *const c_char, texts_count: usize, cancel: Cancel,
        vectors: *mut Tensor, tokens: *mut *const u64, tokens_count: *mut usize) -> Status;

    /// Calls the host after each layer of the session's passes.
    pub fn loom_network_session_watch(session: NetworkSession, layer: OnLayer, user: *mut c_void) -> Status;

    /// Calls the host after each window of `layers` layers, with their statistics. (layers: at least 1)
    pub fn loom_network_session_watch_windows(session: NetworkSession, layers: u64, window: OnWindow,
        user: *mut c_void) -> Status;

    /// Sends a report of every layer to a host that listens, by a thread that no pass waits for:
    /// "http://HOST:PORT/PATH" takes a POST of JSON each, "tanhi://HOST:PORT" a datagram; NULL ends it.
    pub fn loom_network_session_report_to(session: NetworkSession, address: *const c_char) -> Status;

    /// Calls the host after each layer of the steps of a trainer, forward and backward. UNSUPPORTED where several
    /// shards run side by side.
    pub fn loom_trainer_watch(trainer: Trainer, layer: OnLayer, user: *mut c_void) -> Status;

    /// Like loom_network_session_watch_windows(), for a trainer. (layers: at least 1)
    pub fn loom_trainer_watch_windows(trainer: Trainer, layers: u64, window: OnWindow, user: *mut c_void) -> Status;

    /// Like loom_network_session_report_to(), for a trainer.
    pub fn loom_trainer_report_to(trainer: Trainer, address: *const c_char) -> Status;

    /// Calls the host after each layer of a mesh's ticks; cells then run one after the other, with the same bits.
    pub fn loom_step_mesh_watch(mesh: StepMesh, layer: OnLayer, user: *mut c_void) -> Status;

    /// Like loom_network_session_watch_windows(), for a mesh's ticks. (layers: at least 1)
    pub fn loom_step_mesh_watch_windows(mesh: StepMesh, layers: u64, window: OnWindow, user: *mut c_void) -> Status;

    /// Like loom_network_session_report_to(), for a step mesh.
    pub fn loom_step_mesh_report_to(mesh: StepMesh, address: *const c_char) -> Status;

    /// Begins windows of so many milliseconds, now. (total_ms: what comes later is not counted)
    pub fn loom_adaptation_create(window_ms: f64, total_ms: f64, task: *const c_char,
        adaptation: *mut Adaptation) -> Status;

    /// Counts an output, which was right or not.
    pub fn loom_adaptation_record(adaptation: Adaptation, correct: i32) -> Status;

    /// The task changes now.
    pub fn loom_adaptation_mark(adaptation: Adaptation, task: *const c_char) -> Status;

    /// Gives a JSON object: windows so far, changes with accuracy before them and time to recover, accuracy,
    /// throughput, availability, score.
    pub fn loom_adaptation_info(adaptation: Adaptation, info: *mut Blob) -> Status;
}
