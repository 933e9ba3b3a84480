// The C ABI of Loom: constants, layouts of structs, functions. Made by tools/gen_bindings.py from api/loom.json.

/** compared with loom_library_abi_version() when a program loads the library */
export declare const ABI_VERSION: 1;
/**
 * Version of this interface. Libraries of an equal version serve programs of older headers, whose structs may be
 * smaller.
 */
export type Abi =
  1;

/** done */
export declare const OK: 0;
/** an argument is outside what the function takes */
export declare const INVALID_ARGUMENT: 1;
/** a configuration contradicts itself */
export declare const INVALID_CONFIG: 2;
/** shapes that must fit do not */
export declare const SHAPE_MISMATCH: 3;
/** a size overflows */
export declare const SIZE_OVERFLOW: 4;
/** a number is outside its range */
export declare const OUT_OF_RANGE: 5;
/** an index is outside of what it counts */
export declare const INDEX_OUT_OF_RANGE: 6;
/** a value is infinite or NaN */
export declare const NON_FINITE: 7;
/** a name is unknown */
export declare const UNKNOWN_NAME: 8;
/** a key is unknown */
export declare const UNKNOWN_KEY: 9;
/** there is no such file or part */
export declare const NOT_FOUND: 10;
/** the system refused to read or write */
export declare const IO_ERROR: 11;
/** no room is left on the disk */
export declare const DISK_FULL: 12;
/** the content makes no sense */
export declare const CORRUPT_DATA: 13;
/** the content is known and not supported */
export declare const UNSUPPORTED: 14;
/** out of memory */
export declare const OUT_OF_MEMORY: 15;
/** the context of a session holds no more tokens */
export declare const CONTEXT_FULL: 16;
/** the model brings no chat template */
export declare const NO_TEMPLATE: 17;
/** a chat template failed */
export declare const TEMPLATE_ERROR: 18;
/** a limit that guards against hostile input was met */
export declare const LIMIT_EXCEEDED: 19;
/** links lead in a circle */
export declare const LINK_CYCLE: 20;
/** the caller's cancel ended the call */
export declare const CANCELLED: 21;
/** a tensor has no values */
export declare const EMPTY_TENSOR: 22;
/** a link leads backwards where none may */
export declare const FEEDBACK_LINK: 23;
/** a link leads to an empty cell */
export declare const LINK_TO_EMPTY: 24;
/** containers are nested too deep */
export declare const NESTING_TOO_DEEP: 25;
/** the object is not in the state that the call needs */
export declare const INVALID_STATE: 26;
/** there is no value so far */
export declare const NO_VALUE: 27;
/** there is no history so far */
export declare const NO_HISTORY: 28;
/** the format cannot hold the values exactly */
export declare const LOSSY_SAVE: 29;
/** another thread uses the object, or this call was made from a callback of it */
export declare const BUSY: 30;
/** the handle is none, was released, or is of another kind */
export declare const BAD_HANDLE: 31;
/** the graphics card is lost with the values on it; objects of language models continue on the CPU */
export declare const DEVICE_LOST: 32;
/** Status of a call: OK, or the reason why it failed. loom_last_error() has the text. */
export type Status =
  0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 | 24 |
  25 | 26 | 27 | 28 | 29 | 30 | 31 | 32;

export declare const KIND_NONE: 0;
export declare const KIND_BLOB: 1;
export declare const KIND_CANCEL: 2;
export declare const KIND_THREADS: 3;
export declare const KIND_TOKENIZER: 4;
export declare const KIND_MODEL: 5;
export declare const KIND_SESSION: 6;
export declare const KIND_GENERATOR: 7;
export declare const KIND_NETWORK: 8;
export declare const KIND_NETWORK_SESSION: 9;
export declare const KIND_TRAINER: 10;
export declare const KIND_STEP_MESH: 11;
export declare const KIND_STEP_STATE: 12;
export declare const KIND_TWEEN: 13;
export declare const KIND_MESH_TWEEN: 14;
export declare const KIND_POPULATION: 15;
export declare const KIND_CHAT: 16;
export declare const KIND_REPLICA: 17;
export declare const KIND_LAYER: 18;
export declare const KIND_GRAPH: 19;
export declare const KIND_GRAPH_SESSION: 20;
export declare const KIND_ENCODER: 21;
export declare const KIND_ADAPTATION: 22;
export declare const KIND_JUDGE: 23;
/** Kind of the object that a handle refers to. */
export type Kind =
  0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23;

/** unspecified */
export declare const ELEMENT_NONE: 0;
export declare const ELEMENT_FLOAT32: 1;
export declare const ELEMENT_UINT8: 2;
export declare const ELEMENT_INT8: 3;
export declare const ELEMENT_UINT16: 4;
export declare const ELEMENT_INT16: 5;
export declare const ELEMENT_INT32: 6;
export declare const ELEMENT_INT64: 7;
/** a byte each, 0 or 1 */
export declare const ELEMENT_BOOL: 9;
export declare const ELEMENT_FLOAT16: 10;
export declare const ELEMENT_FLOAT64: 11;
export declare const ELEMENT_UINT32: 12;
export declare const ELEMENT_UINT64: 13;
export declare const ELEMENT_BFLOAT16: 16;
export declare const ELEMENT_FLOAT8_E4M3FN: 17;
export declare const ELEMENT_FLOAT8_E5M2: 19;
export declare const ELEMENT_UINT4: 21;
export declare const ELEMENT_INT4: 22;
/**
 * The type of a tensor's numbers, numbered as in ONNX files. Values follow each other, little-endian; two codes of 4
 * bits share a byte, the first one in the low bits.
 */
export type Element =
  0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 9 | 10 | 11 | 12 | 13 | 16 | 17 | 19 | 21 | 22;

/** begins; a folder that holds a run is INVALID_ARGUMENT */
export declare const RUN_FRESH: 0;
/** continues from the last checkpoint, or begins where there is none */
export declare const RUN_RESUME: 1;
/** begins again and overwrites the run */
export declare const RUN_OVERWRITE: 2;
/** How a training treats a folder that holds a run. */
export type RunStart =
  0 | 1 | 2;

export declare const TRAINING_BEGIN: 0;
export declare const TRAINING_EPOCH_BEGIN: 1;
export declare const TRAINING_BATCH_BEGIN: 2;
export declare const TRAINING_BATCH_END: 3;
export declare const TRAINING_VALIDATION_END: 4;
export declare const TRAINING_CHECKPOINT: 5;
export declare const TRAINING_EPOCH_END: 6;
export declare const TRAINING_END: 7;
/** The place in a training that an event reports. */
export type TrainingPhase =
  0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** it continues */
export declare const TRAINING_STOP_NOT_YET: 0;
/** after its last epoch */
export declare const TRAINING_STOP_FINISHED: 1;
/** validations no longer improved */
export declare const TRAINING_STOP_EARLY_STOP: 2;
/** a callback or cancel ended it; it can be resumed */
export declare const TRAINING_STOP_STOPPED: 3;
/** values were not finite; the outcome has a message */
export declare const TRAINING_STOP_DIVERGED: 4;
/** Why a training ended. */
export type TrainingStop =
  0 | 1 | 2 | 3 | 4;

export declare const PASS_FORWARD: 0;
/** gradients */
export declare const PASS_BACKWARD: 1;
/** of a step mesh */
export declare const PASS_TICK: 2;
/** gaps of target propagation */
export declare const PASS_TWEEN: 3;
/** A pass over the layers of a network. */
export type PassKind =
  0 | 1 | 2 | 3;

/** the spec of a network */
export declare const SCHEMA_NETWORK: 0;
/** the config of a training */
export declare const SCHEMA_TRAINING: 1;
/** the config of an evolution */
export declare const SCHEMA_EVOLUTION: 2;
/** A file that Loom reads. */
export type SchemaKind =
  0 | 1 | 2;

/** the binary format: every weight as it is */
export declare const FORMAT_ENTITY: 0;
/** a JSON checkpoint: the spec, and packed weights in Base64 */
export declare const FORMAT_JSON: 1;
/** How a network becomes bytes. */
export type NetworkFormat =
  0 | 1;

/** a call failed */
export declare const LOG_ERROR: 1;
/** a lost graphics card whose work continues on the CPU */
export declare const LOG_INFO: 3;
/** How much a message matters. */
export type LogLevel =
  1 | 3;

/** a question for a model with a chat template, a text to continue for the others */
export declare const PROMPT_AUTO: 0;
/** the text is continued as it is */
export declare const PROMPT_RAW: 1;
/** the text is a question; NO_TEMPLATE when the model brings no template */
export declare const PROMPT_CHAT: 2;
/** the text is a conversation for the chat template: a JSON list of messages with role and content */
export declare const PROMPT_MESSAGES: 3;
/** How a text becomes a prompt. */
export type PromptForm =
  0 | 1 | 2 | 3;

/** it goes on */
export declare const STOP_NOT_YET: 0;
/** an end-of-sequence token */
export declare const STOP_EOS: 1;
/** a stop string */
export declare const STOP_TEXT: 2;
/** max_tokens */
export declare const STOP_LENGTH: 3;
/** the context is full */
export declare const STOP_CONTEXT: 4;
/** the caller's cancel */
export declare const STOP_CANCELLED: 5;
/** Why a generation ended. */
export type Stop =
  0 | 1 | 2 | 3 | 4 | 5;

/** Any of the handles below. 0n stands for none. */
export type Handle = bigint;
/** Bytes that a function returns: a text, ids, a snapshot. */
export type Blob = Handle;
/** A flag that ends one long call from another thread. */
export type Cancel = Handle;
/** Workers that any number of sessions share. */
export type Threads = Handle;
/** Text to token ids and back. Immutable. */
export type Tokenizer = Handle;
/** A language model: weights, tokenizer, chat template. Immutable. */
export type Model = Handle;
/** Sequences of tokens with their keys and values, over one model. */
export type Session = Handle;
/** One generation, step by step, over one session. */
export type Generator = Handle;
/** A conversation over a session. */
export type Chat = Handle;
/**
 * A grid of layers with their weights. Calls that change it answer BUSY while another thread runs it, and the other
 * way round.
 */
export type Network = Handle;
/** One user of a network: activations, gradients, states. Several may run one network at the same time. */
export type NetworkSession = Handle;
/** A network that learns, step by step. */
export type Trainer = Handle;
/** A network that moves in ticks: in each every cell reads what the others left in the tick before. */
export type StepMesh = Handle;
/** One user of a step mesh: outputs of the cells, recurrent states, captured ticks. */
export type StepState = Handle;
/** A network that learns by targets, in single calls. */
export type Tween = Handle;
/** A step mesh that learns by targets between its ticks. */
export type MeshTween = Handle;
/** Networks that are judged, mixed and changed, generation by generation. */
export type Population = Handle;
/** A network that computes gradients for a training in another process. */
export type Replica = Handle;
/** A graph of operations, as an ONNX file holds one. Immutable. */
export type Graph = Handle;
/** One user of a graph: plans, memory, inputs and outputs. Several may run one graph at the same time. */
export type GraphSession = Handle;
/** A model that turns texts into vectors. */
export type Encoder = Handle;
/** Measures how fast accuracy recovers after the task changes. */
export type Adaptation = Handle;
/**
 * A layer of a kind of the host's own, in one call of a callback. It lasts until the callback returns, and need not
 * be released.
 */
export type Layer = Handle;
/** The task of an evolution that runs in another process. */
export type Judge = Handle;

export interface Field {
  readonly offset: number;
  readonly size: number;
  /** A pointer and a size have 4 bytes in wasm32 and 8 in lp64; u8 may be an array of them. */
  readonly kind: 'i32' | 'u32' | 'i64' | 'u64' | 'f32' | 'f64' | 'u8' | 'size' | 'pointer';
}
export interface Layout<Name extends string> {
  readonly size: number;
  readonly fields: Readonly<Record<'struct_size' | Name, Field>>;
}
export interface Layouts {
  /** An event of a training, for on_training. It lasts during the call. */
  readonly training_event: Layout<
    'phase' | 'epoch' | 'epochs' | 'batch' | 'batches' | 'loss' | 'learning_rate' | 'validation' | 'stop'
  >;
  /**
   * A step whose gradients the host provides, for on_shards. For each node of shards [first, first + count) that a
   * replica has summed, write the sum into the first-th part of gradients, its loss into losses[first] and count into
   * counts[first]. Counts inside a node stay 0. The event lasts during the call.
   */
  readonly shards_event: Layout<
    'epoch' | 'position' | 'step' | 'loss_scale' | 'masters' | 'masters_size' | 'shards' | 'gradient_size' |
    'gradients' | 'gradients_count' | 'losses' | 'losses_count' | 'counts' | 'counts_count'
  >;
  /**
   * A layer that ran, for on_layer. The statistics are those of its output, or of the gradient or gap of its input.
   * The event lasts during the call.
   */
  readonly layer_event: Layout<
    'pass' | 'path' | 'layer' | 'dtype' | 'cell' | 'step' | 'mean' | 'deviation' | 'greatest' | 'least' | 'active' |
    'values'
  >;
  /** Statistics of consecutive layers that ran, for on_window. The event lasts during the call. */
  readonly window_event: Layout<
    'layers' | 'mean' | 'deviation' | 'greatest' | 'least' | 'active' | 'sparsity' | 'first_step' | 'last_step'
  >;
  /** Networks of a generation that the host judges, for on_judging. The event lasts during the call. */
  readonly judging_event: Layout<
    'networks' | 'networks_size' | 'ends' | 'ends_count' | 'width' | 'fitness' | 'fitness_count'
  >;
  /**
   * Values with their type and shape, row-major and little-endian. A function reads a tensor that goes in, and fills
   * the memory of one that it is to write. A function that gives a tensor sets all fields, and its memory belongs to
   * the object of the call.
   */
  readonly tensor: Layout<
    'element' | 'data' | 'data_size' | 'shape' | 'shape_count'
  >;
  /** Callbacks of a custom layer kind. */
  readonly kind_callbacks: Layout<
    'declare' | 'forward' | 'backward' | 'user'
  >;
  /**
   * Threads, instruction set, device and memory of a call or an object. No result depends on them, but for a device
   * of precision fast. A field that a call cannot use is INVALID_ARGUMENT with its name. Fields that are 0 mean the
   * default.
   */
  readonly compute_options: Layout<
    'threads' | 'thread_count' | 'isa' | 'device' | 'max_bytes'
  >;
  /** Fields that are 0 mean the default. */
  readonly model_options: Layout<
    'compute' | 'cancel' | 'progress' | 'user' | 'dtype' | 'adapters' | 'adapters_count'
  >;
  /** Fields that are 0 mean the default. */
  readonly session_options: Layout<
    'compute' | 'sequences' | 'context_tokens' | 'kv_dtype' | 'int8_activations'
  >;
  /**
   * Fields that are 0 mean the default: 128 tokens, the most likely token each time. The fields from plain_text on
   * say how a chat template writes the prompt; where none does (LOOM_PROMPT_RAW, ids) they are INVALID_ARGUMENT.
   */
  readonly generation_options: Layout<
    'max_tokens' | 'min_tokens' | 'seed' | 'temperature' | 'top_p' | 'min_p' | 'typical_p' | 'repetition_penalty' |
    'frequency_penalty' | 'presence_penalty' | 'top_k' | 'repetition_window' | 'ignore_eos' | 'stop' | 'stop_count' |
    'speculate' | 'draft_model' | 'prompt_only' | 'bias_ids' | 'bias_ids_count' | 'biases' | 'biases_count' |
    'stop_ids' | 'stop_ids_count' | 'logprobs' | 'plain_text' | 'chat_template' | 'tools' | 'template_variables' |
    'date' | 'continue_final_message' | 'schema' | 'grammar' | 'regex' | 'choices' | 'choices_count'
  >;
  /** Fields that are 0 mean the default. */
  readonly network_options: Layout<
    'lenient' | 'uninitialised' | 'max_bytes'
  >;
  /** Fields that are 0 mean the default. */
  readonly network_session_options: Layout<
    'compute' | 'backward' | 'context' | 'kv_dtype' | 'checkpoint_every'
  >;
  /** Options and side inputs of a forward. Fields that are 0 mean none. */
  readonly pass: Layout<
    'training' | 'step' | 'lengths' | 'lengths_count' | 'external' | 'mask' | 'cancel'
  >;
  /** Samples that a network learns from, with classes or target values, as its loss takes them. */
  readonly batch: Layout<
    'inputs' | 'targets'
  >;
  /** Result of one step of a training. */
  readonly training_step: Layout<
    'loss' | 'learning_rate' | 'gradient_norm' | 'skipped' | 'why' | 'why_size'
  >;
  /** Fields that are 0 mean the default. */
  readonly training_options: Layout<
    'compute' | 'out' | 'folder' | 'start' | 'epochs' | 'cancel' | 'progress' | 'user' | 'shards'
  >;
  /** Fields that are 0 mean the default. */
  readonly evolution_options: Layout<
    'compute' | 'out' | 'folder' | 'start' | 'generations' | 'cancel' | 'progress' | 'user' | 'judging'
  >;
  /** Fields that are 0 mean the default. */
  readonly step_mesh_options: Layout<
    'compute' | 'history' | 'backward' | 'keep_inputs'
  >;
  /** Fields that are 0 mean the default. */
  readonly tick_options: Layout<
    'ticks' | 'capture' | 'training' | 'cancel'
  >;
  /** Fields that are 0 mean the default. */
  readonly file_convert_options: Layout<
    'compute' | 'dtype' | 'adapter' | 'progress' | 'user' | 'overwrite'
  >;
  /** Result of one call of loom_generator_next(). */
  readonly step: Layout<
    'text' | 'text_size' | 'prompt_tokens' | 'generated_tokens' | 'stop'
  >;
  /** A generation so far, or whole. Pointers last until the next call with the generator. */
  readonly generation: Layout<
    'text' | 'text_size' | 'ids' | 'ids_count' | 'prompt_tokens' | 'dropped_bytes' | 'prefill_seconds' |
    'decode_seconds' | 'stop' | 'hash' | 'drafted' | 'accepted' | 'passes'
  >;
  /** Fields that are 0 mean the default. */
  readonly graph_options: Layout<
    'max_bytes'
  >;
  /** Fields that are 0 mean the default. */
  readonly encoder_options: Layout<
    'compute' | 'dtype' | 'prompt' | 'prompt_name'
  >;
  /** Fields that are 0 mean the default. */
  readonly file_open_options: Layout<
    'compute' | 'hints' | 'cancel' | 'progress' | 'user' | 'dtype' | 'lenient'
  >;
  /** Fields that are 0 mean the default. */
  readonly file_export_options: Layout<
    'input_shape' | 'input_shape_count' | 'dequantize' | 'hints' | 'dtype' | 'cancel' | 'progress' | 'user' |
    'overwrite'
  >;
}
/** Sizes and offsets in bytes: of WebAssembly with 32 bits, and of systems with 64. */
export declare const wasm32: Layouts;
export declare const lp64: Layouts;
export declare const layouts: { readonly wasm32: Layouts; readonly lp64: Layouts };

/**
 * Called on the calling thread with the fraction that is done, from 0 to 1. Return 1 to continue, 0 to cancel the
 * call.
 */
export type OnProgress<Pointer = number> = (user: Pointer, fraction: number) => number;

/**
 * Called on the calling thread with each event of a training. Return 1 to continue, 0 to stop training after this
 * event.
 */
export type OnTraining<Pointer = number> = (user: Pointer, event: Pointer) => number;

/**
 * Called on the calling thread for each step of a training whose gradients other processes compute. Fill gradients,
 * losses and counts of the event. Return 1 to continue, 0 to stop the training before this step.
 */
export type OnShards<Pointer = number> = (user: Pointer, event: Pointer) => number;

/**
 * Called on the calling thread after each generation with its report, a JSON object. Return 1 to continue, 0 to end
 * the evolution.
 */
export type OnGeneration<Pointer = number> = (user: Pointer, report: Pointer) => number;

/**
 * Called on the calling thread after each layer of a pass, children before their container. Return 1 to continue, 0
 * to end the watch.
 */
export type OnLayer<Pointer = number> = (user: Pointer, event: Pointer) => number;

/** Called on the calling thread after each window of layers. Return 1 to continue, 0 to end the watch. */
export type OnWindow<Pointer = number> = (user: Pointer, event: Pointer) => number;

/**
 * Called on the calling thread for each generation of an evolution whose networks other processes judge. Fill the
 * fitness of the event. Return 1 to continue, 0 to end the evolution with CANCELLED.
 */
export type OnJudging<Pointer = number> = (user: Pointer, event: Pointer) => number;

/** Reads up to `size` bytes from `offset` on into `to` and returns how many, 0 for none; -1 is a failure. */
export type ReadAt<Pointer = number> = (user: Pointer, offset: bigint, to: Pointer, size: Pointer) => bigint;

/** Function that a worker of the host calls. */
export type Work<Pointer = number> = (job: Pointer, worker: number) => void;

/**
 * Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns when all have
 * returned.
 */
export type RunWork<Pointer = number> = (user: Pointer, work: Pointer, job: Pointer, workers: number) => void;

/** Takes one line. */
export type OnLog<Pointer = number> = (user: Pointer, level: LogLevel, text: Pointer) => void;

/**
 * Gives so many bytes at a multiple of `alignment`, a power of two; NULL: there are none, and the call that asked is
 * OUT_OF_MEMORY. May come from any thread that calls.
 */
export type AllocateMemory<Pointer = number> = (user: Pointer, bytes: Pointer, alignment: Pointer) => Pointer;

/** Takes back what allocate_memory gave. */
export type FreeMemory<Pointer = number> = (user: Pointer, memory: Pointer, bytes: Pointer) => void;

/**
 * A callback of a layer kind of the host's own. It describes the computation with loom_layer functions and returns
 * LOOM_OK, or the status of one of them that failed. The description must depend on settings and shapes only. Several
 * threads may call it at the same time.
 */
export type LayerRule<Pointer = number> = (user: Pointer, layer: Layer) => Status;

/** Called when the library finds itself broken; the process ends when it returns. */
export type OnFatal<Pointer = number> = (user: Pointer, text: Pointer) => void;

/** The functions as they are exported; pointers are numbers in wasm32. */
export interface Functions<Pointer = number> {
  /** Returns the version, "0.1.0". */
  loom_version(): Pointer;
  /**
   * Returns the LOOM_ABI_VERSION of the library. A program that was compiled with another one must not call other
   * functions.
   */
  loom_library_abi_version(): Abi;
  /**
   * Returns the text of the last call on this thread that failed, one line; empty before any. It lasts until the next
   * one fails.
   */
  loom_last_error(): Pointer;
  /**
   * Returns the name of a reason that a generation ended for, as files and receipts have it: eos, stop, length,
   * context or cancelled; "" for STOP_NOT_YET and for a number that is none.
   */
  loom_stop_name(stop: number): Pointer;
  /**
   * Returns the name of a reason that a training ended for, as the stop_reason of outcomes, journals and reports:
   * finished, early_stop, stopped or diverged; "" for TRAINING_STOP_NOT_YET and for a number that is none.
   */
  loom_training_stop_name(stop: number): Pointer;
  /** Returns the name of a status, "Busy"; "Unknown" for a number that is none. */
  loom_status_name(status: number): Pointer;
  /** Gives the version of the arithmetic: results of equal versions have equal bits. */
  loom_numerics_version(version: Pointer): Status;
  /** Gives a JSON object: version, CPU, instruction sets, cores. */
  loom_system_info(info: Pointer): Status;
  /**
   * Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
   * Takes seconds. (compute: thread_count and isa; NULL: defaults)
   */
  loom_verify(compute: Pointer, digest: Pointer): Status;
  /**
   * Gives a JSON object with the graphics cards that options can name in their field device: adapters, each with
   * device ("gpu:0"), name, driver, backend, kind, limits and tier. IO_ERROR with the reason in one line where there
   * is none. With the suffix :fast (gpu:0:fast) a card or auto need not be exact: its results differ from those of
   * other devices (docs/guide/gpu.md).
   */
  loom_gpu_report(report: Pointer): Status;
  /**
   * Gives what numbers become in a numeric type: encoded, with scales estimated as those of a matrix of such rows,
   * and decoded. (columns: of a row; 0: all are one row; to: as many)
   */
  loom_dtype_simulate(
    values: Pointer,
    values_count: Pointer,
    columns: bigint,
    dtype: Pointer,
    to: Pointer,
    to_count: Pointer,
  ): Status;
  /** Increments the reference count of an object. */
  loom_retain(handle: Handle): Status;
  /**
   * Decrements the reference count of an object. At 0 the object is freed, at once or when the calls that use it have
   * returned. The handle 0 is ignored.
   */
  loom_release(handle: Handle): Status;
  /** Gives what the handle stands for. */
  loom_kind_of(handle: Handle, kind: Pointer): Status;
  /**
   * Gives the bytes of a blob; they last until it is released. A text ends with a NUL that the size does not count.
   */
  loom_blob_view(blob: Blob, data: Pointer, data_size: Pointer): Status;
  /** Makes a flag that is not set. */
  loom_cancel_create(cancel: Pointer): Status;
  /** Sets or clears the flag, from any thread. */
  loom_cancel_set(cancel: Cancel, set: number): Status;
  /**
   * Starts workers. Sessions that use them at the same time take turns; no result depends on it. (count: the caller's
   * thread included; 0: one per physical core)
   */
  loom_threads_create(count: number, threads: Pointer): Status;
  /** Uses the host's own workers. (count: at least 1) */
  loom_threads_from_host(count: number, run: Pointer, user: Pointer, threads: Pointer): Status;
  /**
   * Reports every call that fails (LOOM_LOG_ERROR), and every lost graphics card whose work continues on the CPU
   * (LOOM_LOG_INFO), to the host, on the thread of the call. The hook may call other functions; their failures are
   * not reported.
   */
  loom_set_log(log: Pointer, user: Pointer): Status;
  /**
   * Takes the memory of tensors from the host: weights, activations, keys and values. Memory goes back to the
   * functions that gave it. Both functions are called from several threads at once.
   */
  loom_set_memory(allocate: Pointer, free: Pointer, user: Pointer): Status;
  /** Reports a broken invariant of the library to the host before the process ends. */
  loom_set_fatal(fatal: Pointer, user: Pointer): Status;
  /** Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json. */
  loom_tokenizer_open(path: Pointer, tokenizer: Pointer): Status;
  /** Reads a tokenizer.json from memory. */
  loom_tokenizer_from_json(json: Pointer, json_size: Pointer, tokenizer: Pointer): Status;
  /** Reads the tokenizer of a GGUF file, an .entity or a tokenizer.json from memory. */
  loom_tokenizer_from_memory(data: Pointer, data_size: Pointer, tokenizer: Pointer): Status;
  /**
   * Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a text;
   * parse_special: a marker in the text is the marker; 0: it is ordinary text)
   */
  loom_tokenizer_encode(
    tokenizer: Tokenizer,
    text: Pointer,
    text_size: Pointer,
    add_special_tokens: number,
    parse_special: number,
    ids: Pointer,
  ): Status;
  /** Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add nothing. */
  loom_tokenizer_decode(
    tokenizer: Tokenizer,
    ids: Pointer,
    ids_count: Pointer,
    skip_special_tokens: number,
    text: Pointer,
  ): Status;
  /** Gives one more than the greatest id. */
  loom_tokenizer_vocab_size(tokenizer: Tokenizer, size: Pointer): Status;
  /** Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has none. */
  loom_tokenizer_id(tokenizer: Tokenizer, text: Pointer, text_size: Pointer, id: Pointer): Status;
  /** Gives the text of one id as the vocabulary spells it; empty for an unknown id. */
  loom_tokenizer_token(tokenizer: Tokenizer, id: number, text: Pointer): Status;
  /** Loads a language model: a GGUF file, a Hugging Face folder or an .entity. */
  loom_model_open(path: Pointer, options: Pointer, model: Pointer): Status;
  /**
   * Like loom_model_open(), for a part of a file into which a GGUF file or an .entity is embedded. (size: 0: to the
   * end)
   */
  loom_model_open_part(path: Pointer, offset: bigint, size: bigint, options: Pointer, model: Pointer): Status;
  /** Like loom_model_open(), for bytes, which are read during the call only. */
  loom_model_from_memory(data: Pointer, data_size: Pointer, options: Pointer, model: Pointer): Status;
  /**
   * Like loom_model_open(), for data that a callback of the host reads, on the calling thread: a GGUF file tensor by
   * tensor, other files into memory at once. (size: of all bytes)
   */
  loom_model_from_callback(size: bigint, read: Pointer, user: Pointer, options: Pointer, model: Pointer): Status;
  /**
   * Like loom_model_open() of a Hugging Face folder, for its files in memory: config.json, model.safetensors (or its
   * index and shards), tokenizer.json and the others. They are read during the call only; INVALID_ARGUMENT names a
   * file that is not read. (names: of the files; data: the files, one after the other; ends: where each ends in data)
   */
  loom_model_from_files(
    names: Pointer,
    names_count: Pointer,
    data: Pointer,
    data_size: Pointer,
    ends: Pointer,
    ends_count: Pointer,
    options: Pointer,
    model: Pointer,
  ): Status;
  /** Gives a JSON object: path, format, sizes, context, special tokens, what is missing. */
  loom_model_info(model: Model, info: Pointer): Status;
  /** Gives the model's tokenizer; NOT_FOUND, or why it cannot be read. */
  loom_model_tokenizer(model: Model, tokenizer: Pointer): Status;
  /** Writes messages as the model's chat template has them: a JSON list of objects with role and content. */
  loom_model_render_chat(
    model: Model,
    messages: Pointer,
    messages_size: Pointer,
    add_generation_prompt: number,
    text: Pointer,
  ): Status;
  /**
   * Gives a JSON list of a model's adapters: name (that of their folder's place among the options, "0"), rank, alpha,
   * matrices, parameters.
   */
  loom_model_adapters(model: Model, list: Pointer): Status;
  /** Makes a session with empty sequences. */
  loom_session_create(model: Model, options: Pointer, session: Pointer): Status;
  /**
   * Appends ids to a sequence and gives the logits that follow the last one; they last until the next call with the
   * session. A call that fails leaves the sequence as it was.
   */
  loom_session_feed(
    session: Session,
    sequence: bigint,
    ids: Pointer,
    ids_count: Pointer,
    cancel: Cancel,
    logits: Pointer,
    logits_count: Pointer,
  ): Status;
  /** Gives the tokens of a sequence; they last until the next call with the session. */
  loom_session_tokens(session: Session, sequence: bigint, ids: Pointer, ids_count: Pointer): Status;
  /** Drops what follows the first length tokens of a sequence. */
  loom_session_rewind(session: Session, sequence: bigint, length: bigint): Status;
  /** Copies a sequence onto another. */
  loom_session_fork(session: Session, from: bigint, to: bigint): Status;
  /** Gives tokens, keys and values of a sequence as bytes. */
  loom_session_snapshot(session: Session, sequence: bigint, bytes: Pointer): Status;
  /** Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model. */
  loom_session_restore(session: Session, sequence: bigint, bytes: Pointer, bytes_size: Pointer): Status;
  /** Gives a JSON object: instruction set, threads, context, sequences, memory. */
  loom_session_info(session: Session, info: Pointer): Status;
  /**
   * Applies these adapters of the model from now on, and no others. All sequences are then empty. (all: every adapter
   * that the model has counts, whatever names says)
   */
  loom_session_choose_adapters(session: Session, names: Pointer, names_count: Pointer, all: number): Status;
  /**
   * Scores a text: a JSON object with the perplexity and the mean of each window. The session's first sequence is
   * cleared. (window: tokens; 0: 512; max_windows: 0: the whole text)
   */
  loom_session_perplexity(
    session: Session,
    text: Pointer,
    text_size: Pointer,
    window: bigint,
    max_windows: bigint,
    cancel: Cancel,
    result: Pointer,
  ): Status;
  /** Creates a generator that continues the sequence with the given ids. Nothing is read yet. */
  loom_generator_create(
    session: Session,
    prompt: Pointer,
    prompt_count: Pointer,
    options: Pointer,
    generator: Pointer,
  ): Status;
  /**
   * Creates a generator from a text or a conversation. CONTEXT_FULL for a prompt of more than 4 times the tokens that
   * the session holds.
   */
  loom_generator_from_text(
    session: Session,
    text: Pointer,
    text_size: Pointer,
    form: PromptForm,
    options: Pointer,
    generator: Pointer,
  ): Status;
  /**
   * Returns what a generator would read, as JSON: prompt, a text, and its ids, prompt_tokens and dropped_bytes. The
   * options count from plain_text on. CONTEXT_FULL beyond 4 times the context that the model was trained for.
   */
  loom_model_prompt(
    model: Model,
    text: Pointer,
    text_size: Pointer,
    form: PromptForm,
    options: Pointer,
    prompt: Pointer,
  ): Status;
  /**
   * Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled. At
   * the end it does nothing.
   */
  loom_generator_next(generator: Generator, cancel: Cancel, step: Pointer): Status;
  /** Gives the generation so far. */
  loom_generator_result(generator: Generator, result: Pointer): Status;
  /**
   * Gives a JSON list with an object per drawn token: id, logprob (natural logarithm, before temperature and cuts)
   * and top, the best tokens by the same. INVALID_STATE where the option logprobs is 0.
   */
  loom_generator_logprobs(generator: Generator, logprobs: Pointer): Status;
  /**
   * Begins a conversation; NO_TEMPLATE for a model without a chat template. (system: message that it begins with;
   * NULL: none; options: of every answer)
   */
  loom_chat_create(session: Session, system: Pointer, options: Pointer, chat: Pointer): Status;
  /** Adds a message of the user and begins the answer. After an error the conversation is as before. */
  loom_chat_say(chat: Chat, text: Pointer, text_size: Pointer, cancel: Cancel): Status;
  /** Begins an answer to the messages as they stand. */
  loom_chat_answer(chat: Chat, cancel: Cancel): Status;
  /**
   * Does one bounded piece of work, as loom_generator_next(). With the last one the answer joins the conversation,
   * also when the cancel ended it early.
   */
  loom_chat_next(chat: Chat, cancel: Cancel, step: Pointer): Status;
  /** Ends an answer that runs; what it has said so far joins the conversation. */
  loom_chat_stop(chat: Chat): Status;
  /** Gives the answer that runs, or the last one. */
  loom_chat_result(chat: Chat, result: Pointer): Status;
  /** Like loom_generator_logprobs(), for the answer that runs, or the last one. */
  loom_chat_logprobs(chat: Chat, logprobs: Pointer): Status;
  /** Gives the conversation as JSON: a list of messages with role and content. */
  loom_chat_messages(chat: Chat, messages: Pointer): Status;
  /** Puts another conversation in its place. */
  loom_chat_set_messages(chat: Chat, messages: Pointer, messages_size: Pointer): Status;
  /** Keeps the first so many messages. */
  loom_chat_rewind(chat: Chat, count: bigint): Status;
  /** Gives a message another text and forgets what follows. */
  loom_chat_edit(chat: Chat, index: bigint, text: Pointer, text_size: Pointer): Status;
  /**
   * Writes the conversation into a file, whole or not at all. INVALID_ARGUMENT for a file that exists and holds no
   * conversation.
   */
  loom_chat_save(chat: Chat, path: Pointer): Status;
  /** Reads a conversation from a file. */
  loom_chat_load(chat: Chat, path: Pointer): Status;
  /**
   * Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring are drawn from
   * its seed.
   */
  loom_network_from_json(json: Pointer, json_size: Pointer, options: Pointer, network: Pointer): Status;
  /** Makes a transformer of an arch_config. */
  loom_network_from_arch(json: Pointer, json_size: Pointer, network: Pointer): Status;
  /**
   * Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x, a graph in ONNX as one cell.
   */
  loom_network_open(path: Pointer, options: Pointer, network: Pointer): Status;
  /** Like loom_network_open(), for bytes. */
  loom_network_from_memory(data: Pointer, data_size: Pointer, options: Pointer, network: Pointer): Status;
  /** Makes a copy that shares nothing which can change. */
  loom_network_clone(network: Network, copy: Pointer): Status;
  /**
   * Makes a network of one parallel cell whose branches are copies of cell 0 of each network. (combine_mode: concat,
   * add, avg, ..., as of the kind parallel; share: the copies stand in cells of their own, which the branches link
   * to)
   */
  loom_network_graft(
    networks: Pointer,
    networks_count: Pointer,
    combine_mode: Pointer,
    share: number,
    grafted: Pointer,
  ): Status;
  /**
   * Writes a file, whole or not at all: .json a checkpoint, everything else .entity. INVALID_ARGUMENT for the ending
   * of another format, and for a file that exists and holds no network. (keep_master: exact masters beside packed
   * weights, for further training)
   */
  loom_network_save(network: Network, path: Pointer, keep_master: number): Status;
  /** Like loom_network_save(), as bytes. (keep_master: of FORMAT_ENTITY) */
  loom_network_to_bytes(network: Network, format: NetworkFormat, keep_master: number, bytes: Pointer): Status;
  /**
   * Gives the spec as JSON: every setting that is not the default, without weights. Widths have the names of other
   * frameworks: in_features, out_features, hidden_size and the like.
   */
  loom_network_spec(network: Network, spec: Pointer): Status;
  /**
   * Gives a JSON object: grid, layers with kinds, types and weights, memory, input and output shape, what a lenient
   * reader met.
   */
  loom_network_info(network: Network, info: Pointer): Status;
  /** Gives a picture of the grid, SVG. (title: above the picture; NULL: the network's name) */
  loom_network_draw(network: Network, title: Pointer, svg: Pointer): Status;
  /** Gives the SHA-256 of all weights as text, 64 hexadecimal digits. */
  loom_network_hash(network: Network, hash: Pointer): Status;
  /** Resolves links and infers all shapes from the input's, samples first; a session does so by itself. */
  loom_network_prepare(
    network: Network,
    input: Pointer,
    input_count: Pointer,
    output: Pointer,
    output_count: Pointer,
  ): Status;
  /**
   * Puts a layer, a JSON object as in a spec, into a cell, replacing the layer in it; its weights are drawn. The next
   * forward of a session plans it again; step meshes of the network answer INVALID_STATE from then on. (address: z,
   * y, x, l; layer: of size 0: the cell becomes empty)
   */
  loom_network_place(
    network: Network,
    address: Pointer,
    address_count: Pointer,
    layer: Pointer,
    layer_size: Pointer,
  ): Status;
  /**
   * Gives the matrices another numeric type. Masters stay exact. The next forward of a session plans it again. (path:
   * a layer and all below it, "layers.3"; NULL: all)
   */
  loom_network_morph(network: Network, path: Pointer, dtype: Pointer): Status;
  /** Frees the exact masters of weights whose type holds their values. */
  loom_network_release_masters(network: Network): Status;
  /** Adds every enabled adapter to its matrix and removes it. */
  loom_network_merge_adapters(network: Network): Status;
  /** Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen, master. */
  loom_network_weights(network: Network, list: Pointer): Status;
  /**
   * Fills a tensor with the values of a weight, as float32 or float64. Its size must be that of the weight. (values:
   * memory to fill; a shape must be that of the weight, or none)
   */
  loom_network_get_weight(network: Network, name: Pointer, values: Pointer): Status;
  /**
   * Sets the values of a weight. NON_FINITE names the first that is not finite. (values: float32 or float64; a shape
   * must be that of the weight, or none)
   */
  loom_network_set_weight(network: Network, name: Pointer, values: Pointer): Status;
  /** Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64. */
  loom_network_weight_codes(network: Network, name: Pointer, codes: Pointer): Status;
  /** Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL: all) */
  loom_network_freeze(network: Network, path: Pointer, frozen: number): Status;
  /** Gives the flat index of a cell. (address: z, y, x, l) */
  loom_network_index(network: Network, address: Pointer, address_count: Pointer, index: Pointer): Status;
  /**
   * Gives the layer of a cell, a JSON object as in a spec, without weights; NOT_FOUND for an empty cell. (address: z,
   * y, x, l)
   */
  loom_network_layer(network: Network, address: Pointer, address_count: Pointer, layer: Pointer): Status;
  /**
   * Gives the structure of a network, a JSON object: every layer, nested ones included, with exact counts of
   * parameters and bytes.
   */
  loom_network_blueprint(network: Network, blueprint: Pointer): Status;
  /**
   * Groups a network's weights by the layer and block in their names ("layers.3.self_attn"). A JSON object: groups, a
   * list of prefix, layer, block and tensors, and unresolved, the names without such a prefix with the reason.
   */
  loom_network_groups(network: Network, groups: Pointer): Status;
  /** Like loom_file_export(), for a network with its present weights. (path: FILE.onnx or FILE.safetensors) */
  loom_network_export(network: Network, path: Pointer, options: Pointer, report: Pointer): Status;
  /** Makes a session. */
  loom_network_session_create(network: Network, options: Pointer, session: Pointer): Status;
  /**
   * Runs the network. The output lasts until the next call with the session. (input: of the element in which the
   * network computes, samples first)
   */
  loom_network_session_forward(session: NetworkSession, input: Pointer, pass: Pointer, output: Pointer): Status;
  /**
   * Names the memory of the caller that loom_network_session_run() reads and fills. It must last as long as it is
   * bound. (input: NULL unbinds both; output: memory to fill; a shape must be that of the output, or none)
   */
  loom_network_session_bind(session: NetworkSession, input: Pointer, output: Pointer): Status;
  /** Runs the network from the bound input into the bound output. */
  loom_network_session_run(session: NetworkSession): Status;
  /**
   * Runs the backward pass after a forward of a session with `backward`: adds to the gradients of the weights and
   * gives that of the input, which lasts until the next call. (output_gradient: as many values as the last output)
   */
  loom_network_session_backward(
    session: NetworkSession,
    output_gradient: Pointer,
    cancel: Cancel,
    input_gradient: Pointer,
  ): Status;
  /**
   * Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
   * memory to fill; a shape must be that of the weight, or none)
   */
  loom_network_session_gradient(session: NetworkSession, weight: Pointer, values: Pointer): Status;
  /** Sets every gradient to 0. */
  loom_network_session_clear_gradients(session: NetworkSession): Status;
  /** Resets every sequence and state. */
  loom_network_session_reset(session: NetworkSession): Status;
  /** Goes back to where the sequences of a session with a context had so many positions. */
  loom_network_session_rewind(session: NetworkSession, length: bigint): Status;
  /** Gives the state that the next call depends on as bytes: recurrent states, memories, keys and values. */
  loom_network_session_snapshot(session: NetworkSession, bytes: Pointer): Status;
  /** Puts such a state back, into a session of the same network and options. */
  loom_network_session_restore(session: NetworkSession, bytes: Pointer, bytes_size: Pointer): Status;
  /** Gives a JSON object: threads, memory, element type, positions, states. */
  loom_network_session_info(session: NetworkSession, info: Pointer): Status;
  /**
   * Makes a network ready to learn from batches of that shape, samples first. Nobody else may change the network
   * while it learns; calls that try answer BUSY, and a changed grid ends the training.
   */
  loom_trainer_create(
    network: Network,
    config: Pointer,
    config_size: Pointer,
    shape: Pointer,
    shape_count: Pointer,
    options: Pointer,
    trainer: Pointer,
  ): Status;
  /** Learns from one batch. (cancel: ends the step with CANCELLED; everything is then as before) */
  loom_trainer_step(trainer: Trainer, batch: Pointer, cancel: Cancel, step: Pointer): Status;
  /** Gives the loss of a batch and the output, which lasts until the next call; no weight changes. */
  loom_trainer_evaluate(trainer: Trainer, batch: Pointer, loss: Pointer, output: Pointer): Status;
  /** Sets the epoch, from 0, for schedules that count epochs. */
  loom_trainer_set_epoch(trainer: Trainer, epoch: bigint): Status;
  /** Gives the schedule "plateau" a validation metric. */
  loom_trainer_observe(trainer: Trainer, metric: number): Status;
  /**
   * Runs a whole training by a config in JSON: data, epochs, validation, checkpoints, journal. The outcome is a JSON
   * object: stop reason, losses by epoch, hash, metrics. (network: learns where it is; 0: the config names one;
   * samples: in place of the config's data; NULL: it names files; validation: in place of the config's own)
   */
  loom_training_run(
    config: Pointer,
    config_size: Pointer,
    network: Network,
    samples: Pointer,
    validation: Pointer,
    options: Pointer,
    outcome: Pointer,
  ): Status;
  /** Like loom_training_run(), for a config file. */
  loom_training_run_file(path: Pointer, options: Pointer, outcome: Pointer): Status;
  /**
   * Does the run of a journal again and compares every hash, loss and metric; CORRUPT_DATA names the first line that
   * differs. (path: a run's folder, or its journal)
   */
  loom_training_replay(path: Pointer, options: Pointer, report: Pointer): Status;
  /**
   * Opens a config in JSON, with its data and network, to compute gradients for a training of the same config
   * elsewhere, whose callback on_shards asks for them. UNSUPPORTED with the reason where its steps cannot be divided.
   * (options: folder and compute; other fields must be 0)
   */
  loom_replica_create(config: Pointer, config_size: Pointer, options: Pointer, replica: Pointer): Status;
  /** Takes over a step: what on_shards was given. */
  loom_replica_begin(
    replica: Replica,
    epoch: bigint,
    position: bigint,
    step: bigint,
    loss_scale: number,
    masters: Pointer,
    masters_size: Pointer,
  ): Status;
  /**
   * Gives the sum of the gradients of shards [first, first + count), and their share in the loss, which is not finite
   * where the step has to be skipped. The count is a power of two that divides first, or reaches up to the last
   * shard: a node of the tree that adds all shards.
   */
  loom_replica_sum(replica: Replica, first: bigint, count: bigint, loss: Pointer, gradients: Pointer): Status;
  /** Gives a JSON object: shards, gradient_bytes, batches of an epoch, SHA-256 of the data. */
  loom_replica_info(replica: Replica, info: Pointer): Status;
  /**
   * Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the figures of each
   * cell's target.
   */
  loom_trainer_info(trainer: Trainer, info: Pointer): Status;
  /** Makes a network ready to learn by targets from batches of that shape. */
  loom_tween_create(
    network: Network,
    config: Pointer,
    config_size: Pointer,
    shape: Pointer,
    shape_count: Pointer,
    options: Pointer,
    tween: Pointer,
  ): Status;
  /**
   * Runs the network; the output lasts until the next call. (input: of the element in which the network computes,
   * samples first)
   */
  loom_tween_forward(tween: Tween, input: Pointer, output: Pointer): Status;
  /** Runs the rest of a step after a forward: gaps, budgets, updates. (target: as many values as the output) */
  loom_tween_step(tween: Tween, target: Pointer, learning_rate: number): Status;
  /**
   * Gives every cell its target, the first of the three calls that loom_tween_step() makes. (target: as many values
   * as the output)
   */
  loom_tween_backward(tween: Tween, target: Pointer): Status;
  /** Measures how well each cell agrees with its target. */
  loom_tween_budgets(tween: Tween): Status;
  /** Moves the weights. */
  loom_tween_apply(tween: Tween, learning_rate: number): Status;
  /** Gives a JSON object: the gap of the output, and of each use of a layer gap, budget and size of the update. */
  loom_tween_info(tween: Tween, info: Pointer): Status;
  /** Prepares a network for ticks with such inputs, samples first. */
  loom_step_mesh_create(
    network: Network,
    shape: Pointer,
    shape_count: Pointer,
    options: Pointer,
    mesh: Pointer,
  ): Status;
  /** Moves states by some ticks; after an error none of them has moved in that tick. */
  loom_step_mesh_step(mesh: StepMesh, states: Pointer, states_count: Pointer, options: Pointer): Status;
  /**
   * Goes back through captured ticks from a gradient of the last cell's output: adds to the gradients of the weights
   * and gives that of the input of the newest tick, which lasts until the next call with the mesh; without data where
   * that tick had no input. (output_gradient: as many values as the output; ticks: at most; 0: all)
   */
  loom_step_mesh_backward(
    mesh: StepMesh,
    state: StepState,
    output_gradient: Pointer,
    ticks: bigint,
    input_gradient: Pointer,
  ): Status;
  /**
   * Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
   * memory to fill; a shape must be that of the weight, or none)
   */
  loom_step_mesh_gradient(mesh: StepMesh, weight: Pointer, values: Pointer): Status;
  /** Sets every gradient to 0. */
  loom_step_mesh_clear_gradients(mesh: StepMesh): Status;
  /** Gives a JSON object: cells, memory of a state, what a cell waits for that can never start. */
  loom_step_mesh_info(mesh: StepMesh, info: Pointer): Status;
  /** Makes a state without outputs. */
  loom_step_state_create(mesh: StepMesh, state: Pointer): Status;
  /**
   * Sets the input of the first cell. (input: as many values as the mesh's input, of the element in which the network
   * computes; hold: until it is replaced; 0: for the next tick alone)
   */
  loom_step_state_set_input(state: StepState, input: Pointer, hold: number): Status;
  /** Removes the input. */
  loom_step_state_clear_input(state: StepState): Status;
  /**
   * Gives the output of a cell in the last tick, until the next call with the mesh; NO_VALUE before data has reached
   * it. (cell: its index; -1: the last one)
   */
  loom_step_state_output(state: StepState, cell: bigint, output: Pointer): Status;
  /** No input, no outputs, no history, tick 0. */
  loom_step_state_reset(state: StepState): Status;
  /** Creates an independent copy. */
  loom_step_state_fork(state: StepState, copy: Pointer): Status;
  /** Gives the whole state as bytes that any machine reads. */
  loom_step_state_snapshot(state: StepState, bytes: Pointer): Status;
  /** Puts a snapshot into a state of a mesh of the same shapes. */
  loom_step_state_restore(state: StepState, bytes: Pointer, bytes_size: Pointer): Status;
  /** Gives the SHA-256 of the whole state as text, 64 hexadecimal digits. */
  loom_step_state_hash(state: StepState, hash: Pointer): Status;
  /** Gives the number of ticks since the start. */
  loom_step_state_ticks(state: StepState, ticks: Pointer): Status;
  /**
   * Makes a mesh that was created with keep_inputs ready to learn by targets. (ticks: 0: through the last tick alone;
   * above: through so many captured ones)
   */
  loom_mesh_tween_create(
    mesh: StepMesh,
    config: Pointer,
    config_size: Pointer,
    ticks: bigint,
    tween: Pointer,
  ): Status;
  /**
   * Moves all weights once towards targets of the last cell's outputs, one state's after another. (targets: for each
   * state as many values as the output)
   */
  loom_mesh_tween_step(
    tween: MeshTween,
    states: Pointer,
    states_count: Pointer,
    targets: Pointer,
    learning_rate: number,
  ): Status;
  /**
   * Gives a network's signatures as JSON: by layer the direction of its weights. (nested: layers inside containers
   * too)
   */
  loom_dna_extract(network: Network, nested: number, dna: Pointer): Status;
  /** Compares two networks layer by layer, a JSON object: overlaps, logic shifts, layers of one alone. */
  loom_dna_compare(first: Network, second: Network, nested: number, comparison: Pointer): Status;
  /** Gives that as a picture, SVG. */
  loom_dna_draw(first: Network, second: Network, nested: number, svg: Pointer): Status;
  /** Gives what differs between the specs and weights of two networks, a JSON object. */
  loom_network_compare(first: Network, second: Network, differences: Pointer): Status;
  /**
   * Makes a child of two networks. The config is a JSON object: mode blend, point or uniform, blend_alpha,
   * split_ratio, fitness_a, fitness_b, seed. (config: of size 0: all defaults)
   */
  loom_network_splice(first: Network, second: Network, config: Pointer, config_size: Pointer, child: Pointer): Status;
  /**
   * Changes a network at random; its output keeps its shape. The config is the object `mutation` of an evolution, and
   * seed, generation, individual. The report says what was done. (shape: of the input, samples first; config: of size
   * 0: all defaults)
   */
  loom_network_mutate(
    network: Network,
    shape: Pointer,
    shape_count: Pointer,
    config: Pointer,
    config_size: Pointer,
    report: Pointer,
  ): Status;
  /** Runs a whole evolution by a config in JSON. The outcome is a JSON object. */
  loom_evolution_run(config: Pointer, config_size: Pointer, options: Pointer, outcome: Pointer): Status;
  /** Like loom_evolution_run(), for a config file. */
  loom_evolution_run_file(path: Pointer, options: Pointer, outcome: Pointer): Status;
  /**
   * Opens the task of a config in JSON, with its data, to judge the networks of an evolution of the same config
   * elsewhere, whose callback on_judging asks for it. (options: folder and compute; other fields must be 0)
   */
  loom_judge_create(config: Pointer, config_size: Pointer, options: Pointer, judge: Pointer): Status;
  /**
   * Judges a network, given as a file (.entity), and gives its numbers for on_judging: objectives, and what novelty
   * goes by. They last until the next call.
   */
  loom_judge_fitness(
    judge: Judge,
    network: Pointer,
    network_size: Pointer,
    numbers: Pointer,
    numbers_count: Pointer,
  ): Status;
  /** Gives a JSON object: `identity`, all that a run is a function of, with the SHA-256 of its files. */
  loom_judge_info(judge: Judge, info: Pointer): Status;
  /**
   * Makes the first generation: mutations of a network. The config is a JSON object: population, elites, seed,
   * objectives, mutation, splice, species, novelty. (shape: of the input, samples first; config: of size 0: all
   * defaults; compute: threads, thread_count and isa; NULL: defaults)
   */
  loom_population_create(
    base: Network,
    shape: Pointer,
    shape_count: Pointer,
    config: Pointer,
    config_size: Pointer,
    compute: Pointer,
    population: Pointer,
  ): Status;
  /** Gives the places of the members without a fitness, until the next call with the population. */
  loom_population_ask(population: Population, places: Pointer, places_count: Pointer): Status;
  /** Gives a copy of a member. */
  loom_population_network(population: Population, place: bigint, network: Pointer): Status;
  /**
   * Takes the fitness of those members, more is better, NaN ranks last, and breeds the next generation. With several
   * objectives all numbers of a member stand together. The report is a JSON object: scores, best, average, worst,
   * hash.
   */
  loom_population_tell(population: Population, fitness: Pointer, fitness_count: Pointer, report: Pointer): Status;
  /** Gives a copy of the network with the best score so far; NO_VALUE before the first generation. */
  loom_population_best(population: Population, network: Pointer): Status;
  /** Gives a JSON object: generation, best score, members with identity, parents, operations, species. */
  loom_population_info(population: Population, info: Pointer): Status;
  /** Gives a population as bytes, to go on from elsewhere. */
  loom_population_snapshot(population: Population, bytes: Pointer): Status;
  /**
   * Makes a population of a snapshot; config and shape are those it was made with. (compute: threads, thread_count
   * and isa; NULL: defaults)
   */
  loom_population_restore(
    bytes: Pointer,
    bytes_size: Pointer,
    shape: Pointer,
    shape_count: Pointer,
    config: Pointer,
    config_size: Pointer,
    compute: Pointer,
    population: Pointer,
  ): Status;
  /**
   * Groups points around centres (k-means by Lloyd's rounds, in double precision). A JSON object: assignment, the
   * cluster of each point, centres, iterations, converged. (points: row-major, one point after the other; count: of
   * points; clusters: 1 to count; max_iterations: 0: 100; plus_plus: starts far apart (k-means++); 0: drawn points;
   * seed: of the draws)
   */
  loom_points_cluster(
    points: Pointer,
    points_count: Pointer,
    count: bigint,
    clusters: bigint,
    max_iterations: bigint,
    plus_plus: number,
    seed: bigint,
    result: Pointer,
  ): Status;
  /**
   * Gives the mean silhouette of a clustering, -1 to 1: how much nearer points are to their own cluster than to the
   * next one. (points: row-major, one point after the other; count: of points; assignment: the cluster of each point;
   * at least two clusters)
   */
  loom_points_silhouette(
    points: Pointer,
    points_count: Pointer,
    count: bigint,
    assignment: Pointer,
    assignment_count: Pointer,
    value: Pointer,
  ): Status;
  /**
   * Groups points that steps of at most such a cosine distance link (single linkage). A JSON list of lists of points,
   * in order of their first ones. (points: row-major, one point after the other; count: of points; threshold: 0 to 2)
   */
  loom_points_group(
    points: Pointer,
    points_count: Pointer,
    count: bigint,
    threshold: number,
    groups: Pointer,
  ): Status;
  /**
   * Finds models that complete each other: pairs whose cases that one of them gets right are at least such a part of
   * all. A JSON list of {a, b, coverage, overlap, cosine}, the best first; cosine is that of
   * loom_matches_similarity(). (right: a byte per case, 0 or 1, model by model)
   */
  loom_matches_find(
    right: Pointer,
    right_size: Pointer,
    models: bigint,
    min_coverage: number,
    matches: Pointer,
  ): Status;
  /**
   * Gives the cosine of two models' right cases, as vectors of 0 and 1: 1 where both get the same ones right, 0 where
   * they have none in common. (first: a byte per case, 0 or 1; second: as many)
   */
  loom_matches_similarity(
    first: Pointer,
    first_size: Pointer,
    second: Pointer,
    second_size: Pointer,
    cosine: Pointer,
  ): Status;
  /**
   * Adds a layer kind to those of this process. The description is a JSON object: name, help, shapes, width_key,
   * sample_axes, and settings, a list of key, type (integer, number, boolean, choice, activation), default, min, max,
   * choices, help. INVALID_ARGUMENT for a name that is taken.
   */
  loom_layer_kind_register(description: Pointer, description_size: Pointer, callbacks: Pointer): Status;
  /**
   * Takes the kind back: no callback of it comes from then on. INVALID_STATE while a network with a layer of it
   * lives.
   */
  loom_layer_kind_unregister(name: Pointer): Status;
  /** Gives a setting of the layer: an integer, a number, 0 or 1, the index of a choice. */
  loom_layer_setting(layer: Layer, key: Pointer, value: Pointer): Status;
  /**
   * In declare: adds a weight, a vector or, with two extents, a matrix, whose rows are outputs. A fresh one is filled
   * by a rule. (init: zeros, ones, glorot, he, uniform, normal or identity; NULL: glorot for matrices, zeros for
   * vectors; size: half width of uniform, deviation of normal; 0: 0.1 and 0.02)
   */
  loom_layer_declare_weight(
    layer: Layer,
    name: Pointer,
    extents: Pointer,
    extents_count: Pointer,
    init: Pointer,
    size: number,
  ): Status;
  /**
   * Gives what comes in: the layer's input in forward, the gradient of its output in backward. Axis 0 counts samples
   * in this tensor and in all that are computed from it; it keeps its place.
   */
  loom_layer_input(layer: Layer, x: Pointer): Status;
  /** Names what goes out: the output in forward, the gradient of the input in backward. */
  loom_layer_result(layer: Layer, tensor: bigint): Status;
  /** In forward: keeps a tensor for backward. */
  loom_layer_keep(layer: Layer, tensor: bigint): Status;
  /** In backward: gives what forward kept, the last one first. Every kept tensor must be taken. */
  loom_layer_kept(layer: Layer, tensor: Pointer): Status;
  /** Gives the extents of a tensor; SHAPE_MISMATCH where there is no room for them. */
  loom_layer_shape(layer: Layer, tensor: bigint, extents: Pointer, extents_count: Pointer, rank: Pointer): Status;
  /** y = W x + b along the last axis, with the bits of a dense layer in every type of W. */
  loom_layer_matmul(layer: Layer, x: bigint, weight: Pointer, bias: Pointer, y: Pointer): Status;
  /** dx = W^T dy; adds to the gradients of W and b. */
  loom_layer_matmul_gradient(
    layer: Layer,
    x: bigint,
    dy: bigint,
    weight: Pointer,
    bias: Pointer,
    dx: Pointer,
  ): Status;
  /**
   * y = left right over the last two axes of two tensors whose other axes are equal, either of them transposed. Its
   * gradients are products too.
   */
  loom_layer_product(
    layer: Layer,
    left: bigint,
    transpose_left: number,
    right: bigint,
    transpose_right: number,
    y: Pointer,
  ): Status;
  /** y = left + right; equal shapes. */
  loom_layer_add(layer: Layer, left: bigint, right: bigint, y: Pointer): Status;
  /** y = left right, element by element; equal shapes. */
  loom_layer_multiply(layer: Layer, left: bigint, right: bigint, y: Pointer): Status;
  /** y = x times a factor. */
  loom_layer_scale(layer: Layer, x: bigint, factor: number, y: Pointer): Status;
  /** Gives a tensor of the shape of another one with one value everywhere. */
  loom_layer_fill(layer: Layer, like: bigint, value: number, y: Pointer): Status;
  /** y = activation(x). (activation: the key of a setting of that type, or a name) */
  loom_layer_activate(layer: Layer, x: bigint, activation: Pointer, y: Pointer): Status;
  /** dx = dy times the activation's derivative at x. (activation: the key of a setting of that type, or a name) */
  loom_layer_activate_gradient(layer: Layer, x: bigint, dy: bigint, activation: Pointer, dx: Pointer): Status;
  /** y = activation(gate) up, with the bits of swiglu. (activation: the key of a setting of that type, or a name) */
  loom_layer_gated(layer: Layer, gate: bigint, up: bigint, activation: Pointer, y: Pointer): Status;
  /** The gradients of both. (activation: the key of a setting of that type, or a name) */
  loom_layer_gated_gradient(
    layer: Layer,
    gate: bigint,
    up: bigint,
    dy: bigint,
    activation: Pointer,
    dgate: Pointer,
    dup: Pointer,
  ): Status;
  /** p = softmax(x / temperature) along the last axis. */
  loom_layer_softmax(layer: Layer, x: bigint, temperature: number, p: Pointer): Status;
  /** dx from what softmax gave. */
  loom_layer_softmax_gradient(layer: Layer, p: bigint, dy: bigint, temperature: number, dx: Pointer): Status;
  /** y = x / sqrt(mean of x^2 + eps) gamma along the last axis. (eps: 0 to 1) */
  loom_layer_rms_norm(layer: Layer, x: bigint, gamma: Pointer, eps: number, y: Pointer): Status;
  /** dx; adds to the gradient of gamma. */
  loom_layer_rms_norm_gradient(layer: Layer, x: bigint, dy: bigint, gamma: Pointer, eps: number, dx: Pointer): Status;
  /** y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. (eps: 0 to 1) */
  loom_layer_layer_norm(layer: Layer, x: bigint, gamma: Pointer, beta: Pointer, eps: number, y: Pointer): Status;
  /** dx; adds to the gradients of gamma and beta. */
  loom_layer_layer_norm_gradient(
    layer: Layer,
    x: bigint,
    dy: bigint,
    gamma: Pointer,
    beta: Pointer,
    eps: number,
    dx: Pointer,
  ): Status;
  /** y is x with its axes in another order: axis i of y is axis axes[i] of x. */
  loom_layer_permute(layer: Layer, x: bigint, axes: Pointer, axes_count: Pointer, y: Pointer): Status;
  /** y is x with other extents. */
  loom_layer_reshape(layer: Layer, x: bigint, extents: Pointer, extents_count: Pointer, y: Pointer): Status;
  /** y is [first, first + count) of an axis of x. Its gradient is that of pad, and the reverse. */
  loom_layer_slice(layer: Layer, x: bigint, axis: bigint, first: bigint, count: bigint, y: Pointer): Status;
  /** y is x at `first` of an axis of another extent, zeros elsewhere. */
  loom_layer_pad(layer: Layer, x: bigint, axis: bigint, first: bigint, extent: bigint, y: Pointer): Status;
  /** y is x, whose axis has the extent 1, as often along that axis. Its gradient is the mean, times as often. */
  loom_layer_repeat(layer: Layer, x: bigint, axis: bigint, times: bigint, y: Pointer): Status;
  /** y is the mean of x along an axis, which has the extent 1 then. Its gradient is the repeat of dy over as many. */
  loom_layer_mean(layer: Layer, x: bigint, axis: bigint, y: Pointer): Status;
  /**
   * y is x with elements left out at that rate while a network trains, else x. Its gradient is the same of dy.
   * (which: number of the dropout within the layer)
   */
  loom_layer_dropout(layer: Layer, x: bigint, rate: number, which: number, y: Pointer): Status;
  /** y has the shape of a tensor and holds a weight's values in each of its samples, as often as they fit. */
  loom_layer_weight(layer: Layer, name: Pointer, like: bigint, y: Pointer): Status;
  /** In backward: adds the sum of such pieces of a tensor to a weight's gradient. */
  loom_layer_add_gradient(layer: Layer, name: Pointer, tensor: bigint): Status;
  /**
   * Gives how the kernels of a layer kind divide its work, a JSON object: kind, dtype, isa, cpu (rows and outputs
   * that go together) and gpu (few_rows, few and many: rows and outputs of a workgroup), null where the kind runs on
   * the CPU alone in that type. No bit depends on it. (kind: dense, swiglu, rnn, lstm, mha, gru, cnn1 to cnn3,
   * convtransposed1 to convtransposed3, or attention; dtype: of the weights; isa: an instruction set by name; NULL:
   * the best one)
   */
  loom_layer_kind_tiles(kind: Pointer, dtype: Pointer, isa: Pointer, sizes: Pointer): Status;
  /**
   * Gives what a file holds, a JSON object: a language model, a network, a checkpoint. (tensors: lists the tensors of
   * a language model)
   */
  loom_file_inspect(path: Pointer, tensors: number, facts: Pointer): Status;
  /** Writes a GGUF file with the matrices of another one in a type, whole or not at all. */
  loom_file_quantize(from: Pointer, to: Pointer, dtype: Pointer, options: Pointer, report: Pointer): Status;
  /** Writes a language model of any format as .entity, whole or not at all. */
  loom_file_convert(from: Pointer, to: Pointer, options: Pointer, report: Pointer): Status;
  /** Gives the JSON Schema of a file that Loom reads. */
  loom_file_schema(file: SchemaKind, json: Pointer): Status;
  /**
   * Opens a file or folder: a network (.entity, JSON, safetensors, .npz, Loom 0.8x), a language model (GGUF, a
   * Hugging Face folder, .entity), a text encoder (the folder of a BERT) or a graph (.onnx, .entity). loom_kind_of()
   * gives the kind of the handle. The report is a JSON object: kind, format, where each tensor of a bare file went,
   * warnings.
   */
  loom_file_open(path: Pointer, options: Pointer, object: Pointer, report: Pointer): Status;
  /**
   * Writes what one file holds as another: a network as .onnx or .safetensors, a language model as .gguf or as a
   * Hugging Face folder. UNSUPPORTED, before a byte is written, names what the format cannot express. The report is a
   * JSON object: format, bytes, tensors or nodes, SHA-256.
   */
  loom_file_export(from: Pointer, to: Pointer, options: Pointer, report: Pointer): Status;
  /**
   * Gives the SHA-256 of a file's bytes, of the files of a model's folder, or the root hash of an .entity, as text:
   * 64 hexadecimal digits. A file that has not changed since is not read again.
   */
  loom_file_hash(path: Pointer, hash: Pointer): Status;
  /** Gives the receipt of a generation that has ended; INVALID_STATE before, and for one that was cancelled. */
  loom_generator_receipt(generator: Generator, receipt: Pointer): Status;
  /** Gives the receipt of the last answer that was complete; INVALID_STATE before one. */
  loom_chat_receipt(chat: Chat, receipt: Pointer): Status;
  /** Gives the receipt of the last texts; INVALID_STATE before any. */
  loom_encoder_receipt(encoder: Encoder, receipt: Pointer): Status;
  /**
   * Computes what a receipt names again and compares: a JSON object with command, model, equal, difference (the first
   * one, or null), hash, and the isa and device that were used: those of the receipt where this machine has them.
   * (model: where the model is now; NULL: as in the receipt; folder: where relative paths start; NULL: the working
   * folder; device: as in the options of a session; NULL: that of the receipt, else cpu)
   */
  loom_receipt_replay(
    receipt: Pointer,
    receipt_size: Pointer,
    model: Pointer,
    folder: Pointer,
    device: Pointer,
    cancel: Cancel,
    report: Pointer,
  ): Status;
  /**
   * Reads an .onnx file, opset 7 on, or an .entity with a graph. UNSUPPORTED lists every operation that Loom lacks.
   */
  loom_graph_open(path: Pointer, options: Pointer, graph: Pointer): Status;
  /** Like loom_graph_open(), for bytes, which are read during the call only; they must hold every tensor. */
  loom_graph_from_memory(data: Pointer, data_size: Pointer, options: Pointer, graph: Pointer): Status;
  /**
   * Gives a JSON object: inputs and outputs with name, type and shape ("?": any extent) as far as the file says,
   * opset, operations and how often, constants and their bytes.
   */
  loom_graph_info(graph: Graph, info: Pointer): Status;
  /** Makes a session without inputs. */
  loom_graph_session_create(graph: Graph, options: Pointer, session: Pointer): Status;
  /**
   * Names the caller's memory that runs read as an input. It must last as long as it is bound; what is in it may
   * change between runs. Float32, float64 and int64 are read without a copy, other types are copied into wider ones
   * by each run. A shape of no extents is that of a scalar. (name: of the input; NULL: the only one)
   */
  loom_graph_session_bind(session: GraphSession, name: Pointer, input: Pointer): Status;
  /** Lets go of all memory that is bound. */
  loom_graph_session_unbind(session: GraphSession): Status;
  /**
   * Runs the graph from the bound inputs. INVALID_ARGUMENT for an input that is not bound or of another type,
   * SHAPE_MISMATCH for one of another shape. (cancel: read between operations: ends the call with CANCELLED)
   */
  loom_graph_session_run(session: GraphSession, cancel: Cancel): Status;
  /**
   * Gives an output of the last run without a copy; it lasts until the next call with the session that is not this
   * one. INVALID_STATE before a run. (name: of the output; NULL: the only one)
   */
  loom_graph_session_output(session: GraphSession, name: Pointer, output: Pointer): Status;
  /** Copies an output of the last run, whose bytes must be as many. (output: its name; NULL: that of the only one) */
  loom_graph_session_copy_output(session: GraphSession, output: Pointer, to: Pointer, to_count: Pointer): Status;
  /** Gives the SHA-256 of all outputs of the last run as text, 64 hexadecimal digits: equal on every machine. */
  loom_graph_session_hash(session: GraphSession, hash: Pointer): Status;
  /** Gives a JSON object: threads, memory that runs work in. */
  loom_graph_session_info(session: GraphSession, info: Pointer): Status;
  /** Loads the folder of a BERT in the layout of sentence-transformers. */
  loom_encoder_open(path: Pointer, options: Pointer, encoder: Pointer): Status;
  /** Gives a JSON object: dimensions, max_tokens, layers, pooling, threads. */
  loom_encoder_info(encoder: Encoder, info: Pointer): Status;
  /** Gives the encoder's tokenizer. */
  loom_encoder_tokenizer(encoder: Encoder, tokenizer: Pointer): Status;
  /**
   * Gives a vector per text, one after another, and the number of tokens that were read of each; both last until the
   * next call with the encoder. A text's vector has the same bits alone and among others. A text is cut off after
   * max_tokens. (vectors: float32 [texts, dimensions])
   */
  loom_encoder_embed(
    encoder: Encoder,
    texts: Pointer,
    texts_count: Pointer,
    cancel: Cancel,
    vectors: Pointer,
    tokens: Pointer,
    tokens_count: Pointer,
  ): Status;
  /** Calls the host after each layer of the session's passes. */
  loom_network_session_watch(session: NetworkSession, layer: Pointer, user: Pointer): Status;
  /** Calls the host after each window of `layers` layers, with their statistics. (layers: at least 1) */
  loom_network_session_watch_windows(session: NetworkSession, layers: bigint, window: Pointer, user: Pointer): Status;
  /**
   * Sends a report of every layer to a host that listens, by a thread that no pass waits for: "http://HOST:PORT/PATH"
   * takes a POST of JSON each, "tanhi://HOST:PORT" a datagram; NULL ends it.
   */
  loom_network_session_report_to(session: NetworkSession, address: Pointer): Status;
  /**
   * Calls the host after each layer of the steps of a trainer, forward and backward. UNSUPPORTED where several shards
   * run side by side.
   */
  loom_trainer_watch(trainer: Trainer, layer: Pointer, user: Pointer): Status;
  /** Like loom_network_session_watch_windows(), for a trainer. (layers: at least 1) */
  loom_trainer_watch_windows(trainer: Trainer, layers: bigint, window: Pointer, user: Pointer): Status;
  /** Like loom_network_session_report_to(), for a trainer. */
  loom_trainer_report_to(trainer: Trainer, address: Pointer): Status;
  /** Calls the host after each layer of a mesh's ticks; cells then run one after the other, with the same bits. */
  loom_step_mesh_watch(mesh: StepMesh, layer: Pointer, user: Pointer): Status;
  /** Like loom_network_session_watch_windows(), for a mesh's ticks. (layers: at least 1) */
  loom_step_mesh_watch_windows(mesh: StepMesh, layers: bigint, window: Pointer, user: Pointer): Status;
  /** Like loom_network_session_report_to(), for a step mesh. */
  loom_step_mesh_report_to(mesh: StepMesh, address: Pointer): Status;
  /** Begins windows of so many milliseconds, now. (total_ms: what comes later is not counted) */
  loom_adaptation_create(window_ms: number, total_ms: number, task: Pointer, adaptation: Pointer): Status;
  /** Counts an output, which was right or not. */
  loom_adaptation_record(adaptation: Adaptation, correct: number): Status;
  /** The task changes now. */
  loom_adaptation_mark(adaptation: Adaptation, task: Pointer): Status;
  /**
   * Gives a JSON object: windows so far, changes with accuracy before them and time to recover, accuracy, throughput,
   * availability, score.
   */
  loom_adaptation_info(adaptation: Adaptation, info: Pointer): Status;
}
