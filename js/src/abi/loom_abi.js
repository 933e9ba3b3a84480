// The C ABI of Loom: constants, and offsets of the fields of structs. Made by tools/gen_bindings.py from api/loom.json.

// Version of this interface. Libraries of an equal version serve programs of older headers, whose structs may be smaller.
export const ABI_VERSION = 1;

// Status of a call: OK, or the reason why it failed. loom_last_error() has the text.
export const OK = 0;
export const INVALID_ARGUMENT = 1;
export const INVALID_CONFIG = 2;
export const SHAPE_MISMATCH = 3;
export const SIZE_OVERFLOW = 4;
export const OUT_OF_RANGE = 5;
export const INDEX_OUT_OF_RANGE = 6;
export const NON_FINITE = 7;
export const UNKNOWN_NAME = 8;
export const UNKNOWN_KEY = 9;
export const NOT_FOUND = 10;
export const IO_ERROR = 11;
export const DISK_FULL = 12;
export const CORRUPT_DATA = 13;
export const UNSUPPORTED = 14;
export const OUT_OF_MEMORY = 15;
export const CONTEXT_FULL = 16;
export const NO_TEMPLATE = 17;
export const TEMPLATE_ERROR = 18;
export const LIMIT_EXCEEDED = 19;
export const LINK_CYCLE = 20;
export const CANCELLED = 21;
export const EMPTY_TENSOR = 22;
export const FEEDBACK_LINK = 23;
export const LINK_TO_EMPTY = 24;
export const NESTING_TOO_DEEP = 25;
export const INVALID_STATE = 26;
export const NO_VALUE = 27;
export const NO_HISTORY = 28;
export const LOSSY_SAVE = 29;
export const BUSY = 30;
export const BAD_HANDLE = 31;
export const DEVICE_LOST = 32;

// Kind of the object that a handle refers to.
export const KIND_NONE = 0;
export const KIND_BLOB = 1;
export const KIND_CANCEL = 2;
export const KIND_THREADS = 3;
export const KIND_TOKENIZER = 4;
export const KIND_MODEL = 5;
export const KIND_SESSION = 6;
export const KIND_GENERATOR = 7;
export const KIND_NETWORK = 8;
export const KIND_NETWORK_SESSION = 9;
export const KIND_TRAINER = 10;
export const KIND_STEP_MESH = 11;
export const KIND_STEP_STATE = 12;
export const KIND_TWEEN = 13;
export const KIND_MESH_TWEEN = 14;
export const KIND_POPULATION = 15;
export const KIND_CHAT = 16;
export const KIND_REPLICA = 17;
export const KIND_LAYER = 18;
export const KIND_GRAPH = 19;
export const KIND_GRAPH_SESSION = 20;
export const KIND_ENCODER = 21;
export const KIND_ADAPTATION = 22;
export const KIND_JUDGE = 23;

// The type of a tensor's numbers, numbered as in ONNX files. Values follow each other, little-endian; two codes of 4 bits share a byte, the first one in the low bits.
export const ELEMENT_NONE = 0;
export const ELEMENT_FLOAT32 = 1;
export const ELEMENT_UINT8 = 2;
export const ELEMENT_INT8 = 3;
export const ELEMENT_UINT16 = 4;
export const ELEMENT_INT16 = 5;
export const ELEMENT_INT32 = 6;
export const ELEMENT_INT64 = 7;
export const ELEMENT_BOOL = 9;
export const ELEMENT_FLOAT16 = 10;
export const ELEMENT_FLOAT64 = 11;
export const ELEMENT_UINT32 = 12;
export const ELEMENT_UINT64 = 13;
export const ELEMENT_BFLOAT16 = 16;
export const ELEMENT_FLOAT8_E4M3FN = 17;
export const ELEMENT_FLOAT8_E5M2 = 19;
export const ELEMENT_UINT4 = 21;
export const ELEMENT_INT4 = 22;

// How a training treats a folder that holds a run.
export const RUN_FRESH = 0;
export const RUN_RESUME = 1;
export const RUN_OVERWRITE = 2;

// The place in a training that an event reports.
export const TRAINING_BEGIN = 0;
export const TRAINING_EPOCH_BEGIN = 1;
export const TRAINING_BATCH_BEGIN = 2;
export const TRAINING_BATCH_END = 3;
export const TRAINING_VALIDATION_END = 4;
export const TRAINING_CHECKPOINT = 5;
export const TRAINING_EPOCH_END = 6;
export const TRAINING_END = 7;

// Why a training ended.
export const TRAINING_STOP_NOT_YET = 0;
export const TRAINING_STOP_FINISHED = 1;
export const TRAINING_STOP_EARLY_STOP = 2;
export const TRAINING_STOP_STOPPED = 3;
export const TRAINING_STOP_DIVERGED = 4;

// A pass over the layers of a network.
export const PASS_FORWARD = 0;
export const PASS_BACKWARD = 1;
export const PASS_TICK = 2;
export const PASS_TWEEN = 3;

// A file that Loom reads.
export const SCHEMA_NETWORK = 0;
export const SCHEMA_TRAINING = 1;
export const SCHEMA_EVOLUTION = 2;

// How a network becomes bytes.
export const FORMAT_ENTITY = 0;
export const FORMAT_JSON = 1;

// How much a message matters.
export const LOG_ERROR = 1;
export const LOG_INFO = 3;

// How a text becomes a prompt.
export const PROMPT_AUTO = 0;
export const PROMPT_RAW = 1;
export const PROMPT_CHAT = 2;
export const PROMPT_MESSAGES = 3;

// Why a generation ended.
export const STOP_NOT_YET = 0;
export const STOP_EOS = 1;
export const STOP_TEXT = 2;
export const STOP_LENGTH = 3;
export const STOP_CONTEXT = 4;
export const STOP_CANCELLED = 5;

// Sizes and offsets in bytes: of WebAssembly with 32 bits, and of systems with 64. A bundler drops what is not imported.
export const wasm32 = {
  training_event: {
    size: 64,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      phase: { offset: 4, size: 4, kind: 'i32' },
      epoch: { offset: 8, size: 8, kind: 'u64' },
      epochs: { offset: 16, size: 8, kind: 'u64' },
      batch: { offset: 24, size: 8, kind: 'u64' },
      batches: { offset: 32, size: 8, kind: 'u64' },
      loss: { offset: 40, size: 8, kind: 'f64' },
      learning_rate: { offset: 48, size: 8, kind: 'f64' },
      validation: { offset: 56, size: 4, kind: 'pointer' },
      stop: { offset: 60, size: 4, kind: 'i32' },
    },
  },
  shards_event: {
    size: 88,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      epoch: { offset: 8, size: 8, kind: 'u64' },
      position: { offset: 16, size: 8, kind: 'u64' },
      step: { offset: 24, size: 8, kind: 'u64' },
      loss_scale: { offset: 32, size: 8, kind: 'f64' },
      masters: { offset: 40, size: 4, kind: 'pointer' },
      masters_size: { offset: 44, size: 4, kind: 'size' },
      shards: { offset: 48, size: 8, kind: 'u64' },
      gradient_size: { offset: 56, size: 8, kind: 'u64' },
      gradients: { offset: 64, size: 4, kind: 'pointer' },
      gradients_count: { offset: 68, size: 4, kind: 'size' },
      losses: { offset: 72, size: 4, kind: 'pointer' },
      losses_count: { offset: 76, size: 4, kind: 'size' },
      counts: { offset: 80, size: 4, kind: 'pointer' },
      counts_count: { offset: 84, size: 4, kind: 'size' },
    },
  },
  layer_event: {
    size: 88,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      pass: { offset: 4, size: 4, kind: 'i32' },
      path: { offset: 8, size: 4, kind: 'pointer' },
      layer: { offset: 12, size: 4, kind: 'pointer' },
      dtype: { offset: 16, size: 4, kind: 'pointer' },
      cell: { offset: 24, size: 8, kind: 'u64' },
      step: { offset: 32, size: 8, kind: 'u64' },
      mean: { offset: 40, size: 8, kind: 'f64' },
      deviation: { offset: 48, size: 8, kind: 'f64' },
      greatest: { offset: 56, size: 8, kind: 'f64' },
      least: { offset: 64, size: 8, kind: 'f64' },
      active: { offset: 72, size: 8, kind: 'u64' },
      values: { offset: 80, size: 4, kind: 'pointer' },
    },
  },
  window_event: {
    size: 80,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      layers: { offset: 8, size: 8, kind: 'u64' },
      mean: { offset: 16, size: 8, kind: 'f64' },
      deviation: { offset: 24, size: 8, kind: 'f64' },
      greatest: { offset: 32, size: 8, kind: 'f64' },
      least: { offset: 40, size: 8, kind: 'f64' },
      active: { offset: 48, size: 8, kind: 'f64' },
      sparsity: { offset: 56, size: 8, kind: 'f64' },
      first_step: { offset: 64, size: 8, kind: 'u64' },
      last_step: { offset: 72, size: 8, kind: 'u64' },
    },
  },
  judging_event: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      networks: { offset: 4, size: 4, kind: 'pointer' },
      networks_size: { offset: 8, size: 4, kind: 'size' },
      ends: { offset: 12, size: 4, kind: 'pointer' },
      ends_count: { offset: 16, size: 4, kind: 'size' },
      width: { offset: 24, size: 8, kind: 'u64' },
      fitness: { offset: 32, size: 4, kind: 'pointer' },
      fitness_count: { offset: 36, size: 4, kind: 'size' },
    },
  },
  tensor: {
    size: 24,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      element: { offset: 4, size: 4, kind: 'i32' },
      data: { offset: 8, size: 4, kind: 'pointer' },
      data_size: { offset: 12, size: 4, kind: 'size' },
      shape: { offset: 16, size: 4, kind: 'pointer' },
      shape_count: { offset: 20, size: 4, kind: 'size' },
    },
  },
  kind_callbacks: {
    size: 20,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      declare: { offset: 4, size: 4, kind: 'pointer' },
      forward: { offset: 8, size: 4, kind: 'pointer' },
      backward: { offset: 12, size: 4, kind: 'pointer' },
      user: { offset: 16, size: 4, kind: 'pointer' },
    },
  },
  compute_options: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      threads: { offset: 8, size: 8, kind: 'u64' },
      thread_count: { offset: 16, size: 4, kind: 'i32' },
      isa: { offset: 20, size: 4, kind: 'pointer' },
      device: { offset: 24, size: 4, kind: 'pointer' },
      max_bytes: { offset: 32, size: 8, kind: 'u64' },
    },
  },
  model_options: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      cancel: { offset: 8, size: 8, kind: 'u64' },
      progress: { offset: 16, size: 4, kind: 'pointer' },
      user: { offset: 20, size: 4, kind: 'pointer' },
      dtype: { offset: 24, size: 4, kind: 'pointer' },
      adapters: { offset: 28, size: 4, kind: 'pointer' },
      adapters_count: { offset: 32, size: 4, kind: 'size' },
    },
  },
  session_options: {
    size: 32,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      sequences: { offset: 8, size: 4, kind: 'u32' },
      context_tokens: { offset: 16, size: 8, kind: 'u64' },
      kv_dtype: { offset: 24, size: 4, kind: 'pointer' },
      int8_activations: { offset: 28, size: 4, kind: 'i32' },
    },
  },
  generation_options: {
    size: 176,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      max_tokens: { offset: 8, size: 8, kind: 'u64' },
      min_tokens: { offset: 16, size: 8, kind: 'u64' },
      seed: { offset: 24, size: 8, kind: 'u64' },
      temperature: { offset: 32, size: 4, kind: 'f32' },
      top_p: { offset: 36, size: 4, kind: 'f32' },
      min_p: { offset: 40, size: 4, kind: 'f32' },
      typical_p: { offset: 44, size: 4, kind: 'f32' },
      repetition_penalty: { offset: 48, size: 4, kind: 'f32' },
      frequency_penalty: { offset: 52, size: 4, kind: 'f32' },
      presence_penalty: { offset: 56, size: 4, kind: 'f32' },
      top_k: { offset: 60, size: 4, kind: 'i32' },
      repetition_window: { offset: 64, size: 4, kind: 'i32' },
      ignore_eos: { offset: 68, size: 4, kind: 'i32' },
      stop: { offset: 72, size: 4, kind: 'pointer' },
      stop_count: { offset: 76, size: 4, kind: 'size' },
      speculate: { offset: 80, size: 4, kind: 'i32' },
      draft_model: { offset: 88, size: 8, kind: 'u64' },
      prompt_only: { offset: 96, size: 4, kind: 'i32' },
      bias_ids: { offset: 100, size: 4, kind: 'pointer' },
      bias_ids_count: { offset: 104, size: 4, kind: 'size' },
      biases: { offset: 108, size: 4, kind: 'pointer' },
      biases_count: { offset: 112, size: 4, kind: 'size' },
      stop_ids: { offset: 116, size: 4, kind: 'pointer' },
      stop_ids_count: { offset: 120, size: 4, kind: 'size' },
      logprobs: { offset: 124, size: 4, kind: 'u32' },
      plain_text: { offset: 128, size: 4, kind: 'i32' },
      chat_template: { offset: 132, size: 4, kind: 'pointer' },
      tools: { offset: 136, size: 4, kind: 'pointer' },
      template_variables: { offset: 140, size: 4, kind: 'pointer' },
      date: { offset: 144, size: 4, kind: 'pointer' },
      continue_final_message: { offset: 148, size: 4, kind: 'i32' },
      schema: { offset: 152, size: 4, kind: 'pointer' },
      grammar: { offset: 156, size: 4, kind: 'pointer' },
      regex: { offset: 160, size: 4, kind: 'pointer' },
      choices: { offset: 164, size: 4, kind: 'pointer' },
      choices_count: { offset: 168, size: 4, kind: 'size' },
    },
  },
  network_options: {
    size: 24,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      lenient: { offset: 4, size: 4, kind: 'i32' },
      uninitialised: { offset: 8, size: 4, kind: 'i32' },
      max_bytes: { offset: 16, size: 8, kind: 'u64' },
    },
  },
  network_session_options: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      backward: { offset: 8, size: 4, kind: 'i32' },
      context: { offset: 16, size: 8, kind: 'u64' },
      kv_dtype: { offset: 24, size: 4, kind: 'pointer' },
      checkpoint_every: { offset: 32, size: 8, kind: 'u64' },
    },
  },
  pass: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      training: { offset: 4, size: 4, kind: 'i32' },
      step: { offset: 8, size: 4, kind: 'u32' },
      lengths: { offset: 12, size: 4, kind: 'pointer' },
      lengths_count: { offset: 16, size: 4, kind: 'size' },
      external: { offset: 20, size: 4, kind: 'pointer' },
      mask: { offset: 24, size: 4, kind: 'pointer' },
      cancel: { offset: 32, size: 8, kind: 'u64' },
    },
  },
  batch: {
    size: 12,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      inputs: { offset: 4, size: 4, kind: 'pointer' },
      targets: { offset: 8, size: 4, kind: 'pointer' },
    },
  },
  training_step: {
    size: 48,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      loss: { offset: 8, size: 8, kind: 'f64' },
      learning_rate: { offset: 16, size: 8, kind: 'f64' },
      gradient_norm: { offset: 24, size: 8, kind: 'f64' },
      skipped: { offset: 32, size: 4, kind: 'i32' },
      why: { offset: 36, size: 4, kind: 'pointer' },
      why_size: { offset: 40, size: 4, kind: 'size' },
    },
  },
  training_options: {
    size: 56,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      out: { offset: 8, size: 4, kind: 'pointer' },
      folder: { offset: 12, size: 4, kind: 'pointer' },
      start: { offset: 16, size: 4, kind: 'i32' },
      epochs: { offset: 24, size: 8, kind: 'u64' },
      cancel: { offset: 32, size: 8, kind: 'u64' },
      progress: { offset: 40, size: 4, kind: 'pointer' },
      user: { offset: 44, size: 4, kind: 'pointer' },
      shards: { offset: 48, size: 4, kind: 'pointer' },
    },
  },
  evolution_options: {
    size: 56,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      out: { offset: 8, size: 4, kind: 'pointer' },
      folder: { offset: 12, size: 4, kind: 'pointer' },
      start: { offset: 16, size: 4, kind: 'i32' },
      generations: { offset: 24, size: 8, kind: 'u64' },
      cancel: { offset: 32, size: 8, kind: 'u64' },
      progress: { offset: 40, size: 4, kind: 'pointer' },
      user: { offset: 44, size: 4, kind: 'pointer' },
      judging: { offset: 48, size: 4, kind: 'pointer' },
    },
  },
  step_mesh_options: {
    size: 24,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      history: { offset: 8, size: 8, kind: 'u64' },
      backward: { offset: 16, size: 4, kind: 'i32' },
      keep_inputs: { offset: 20, size: 4, kind: 'i32' },
    },
  },
  tick_options: {
    size: 32,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      ticks: { offset: 8, size: 8, kind: 'u64' },
      capture: { offset: 16, size: 4, kind: 'i32' },
      training: { offset: 20, size: 4, kind: 'i32' },
      cancel: { offset: 24, size: 8, kind: 'u64' },
    },
  },
  file_convert_options: {
    size: 28,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      dtype: { offset: 8, size: 4, kind: 'pointer' },
      adapter: { offset: 12, size: 4, kind: 'pointer' },
      progress: { offset: 16, size: 4, kind: 'pointer' },
      user: { offset: 20, size: 4, kind: 'pointer' },
      overwrite: { offset: 24, size: 4, kind: 'i32' },
    },
  },
  step: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      text: { offset: 4, size: 4, kind: 'pointer' },
      text_size: { offset: 8, size: 4, kind: 'size' },
      prompt_tokens: { offset: 16, size: 8, kind: 'u64' },
      generated_tokens: { offset: 24, size: 8, kind: 'u64' },
      stop: { offset: 32, size: 4, kind: 'i32' },
    },
  },
  generation: {
    size: 120,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      text: { offset: 4, size: 4, kind: 'pointer' },
      text_size: { offset: 8, size: 4, kind: 'size' },
      ids: { offset: 12, size: 4, kind: 'pointer' },
      ids_count: { offset: 16, size: 4, kind: 'size' },
      prompt_tokens: { offset: 24, size: 8, kind: 'u64' },
      dropped_bytes: { offset: 32, size: 8, kind: 'u64' },
      prefill_seconds: { offset: 40, size: 8, kind: 'f64' },
      decode_seconds: { offset: 48, size: 8, kind: 'f64' },
      stop: { offset: 56, size: 4, kind: 'i32' },
      hash: { offset: 60, size: 32, kind: 'u8' },
      drafted: { offset: 96, size: 8, kind: 'u64' },
      accepted: { offset: 104, size: 8, kind: 'u64' },
      passes: { offset: 112, size: 8, kind: 'u64' },
    },
  },
  graph_options: {
    size: 16,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      max_bytes: { offset: 8, size: 8, kind: 'u64' },
    },
  },
  encoder_options: {
    size: 20,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      dtype: { offset: 8, size: 4, kind: 'pointer' },
      prompt: { offset: 12, size: 4, kind: 'pointer' },
      prompt_name: { offset: 16, size: 4, kind: 'pointer' },
    },
  },
  file_open_options: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 4, size: 4, kind: 'pointer' },
      hints: { offset: 8, size: 4, kind: 'pointer' },
      cancel: { offset: 16, size: 8, kind: 'u64' },
      progress: { offset: 24, size: 4, kind: 'pointer' },
      user: { offset: 28, size: 4, kind: 'pointer' },
      dtype: { offset: 32, size: 4, kind: 'pointer' },
      lenient: { offset: 36, size: 4, kind: 'i32' },
    },
  },
  file_export_options: {
    size: 48,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      input_shape: { offset: 4, size: 4, kind: 'pointer' },
      input_shape_count: { offset: 8, size: 4, kind: 'size' },
      dequantize: { offset: 12, size: 4, kind: 'i32' },
      hints: { offset: 16, size: 4, kind: 'pointer' },
      dtype: { offset: 20, size: 4, kind: 'pointer' },
      cancel: { offset: 24, size: 8, kind: 'u64' },
      progress: { offset: 32, size: 4, kind: 'pointer' },
      user: { offset: 36, size: 4, kind: 'pointer' },
      overwrite: { offset: 40, size: 4, kind: 'i32' },
    },
  },
};
export const lp64 = {
  training_event: {
    size: 72,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      phase: { offset: 4, size: 4, kind: 'i32' },
      epoch: { offset: 8, size: 8, kind: 'u64' },
      epochs: { offset: 16, size: 8, kind: 'u64' },
      batch: { offset: 24, size: 8, kind: 'u64' },
      batches: { offset: 32, size: 8, kind: 'u64' },
      loss: { offset: 40, size: 8, kind: 'f64' },
      learning_rate: { offset: 48, size: 8, kind: 'f64' },
      validation: { offset: 56, size: 8, kind: 'pointer' },
      stop: { offset: 64, size: 4, kind: 'i32' },
    },
  },
  shards_event: {
    size: 120,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      epoch: { offset: 8, size: 8, kind: 'u64' },
      position: { offset: 16, size: 8, kind: 'u64' },
      step: { offset: 24, size: 8, kind: 'u64' },
      loss_scale: { offset: 32, size: 8, kind: 'f64' },
      masters: { offset: 40, size: 8, kind: 'pointer' },
      masters_size: { offset: 48, size: 8, kind: 'size' },
      shards: { offset: 56, size: 8, kind: 'u64' },
      gradient_size: { offset: 64, size: 8, kind: 'u64' },
      gradients: { offset: 72, size: 8, kind: 'pointer' },
      gradients_count: { offset: 80, size: 8, kind: 'size' },
      losses: { offset: 88, size: 8, kind: 'pointer' },
      losses_count: { offset: 96, size: 8, kind: 'size' },
      counts: { offset: 104, size: 8, kind: 'pointer' },
      counts_count: { offset: 112, size: 8, kind: 'size' },
    },
  },
  layer_event: {
    size: 96,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      pass: { offset: 4, size: 4, kind: 'i32' },
      path: { offset: 8, size: 8, kind: 'pointer' },
      layer: { offset: 16, size: 8, kind: 'pointer' },
      dtype: { offset: 24, size: 8, kind: 'pointer' },
      cell: { offset: 32, size: 8, kind: 'u64' },
      step: { offset: 40, size: 8, kind: 'u64' },
      mean: { offset: 48, size: 8, kind: 'f64' },
      deviation: { offset: 56, size: 8, kind: 'f64' },
      greatest: { offset: 64, size: 8, kind: 'f64' },
      least: { offset: 72, size: 8, kind: 'f64' },
      active: { offset: 80, size: 8, kind: 'u64' },
      values: { offset: 88, size: 8, kind: 'pointer' },
    },
  },
  window_event: {
    size: 80,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      layers: { offset: 8, size: 8, kind: 'u64' },
      mean: { offset: 16, size: 8, kind: 'f64' },
      deviation: { offset: 24, size: 8, kind: 'f64' },
      greatest: { offset: 32, size: 8, kind: 'f64' },
      least: { offset: 40, size: 8, kind: 'f64' },
      active: { offset: 48, size: 8, kind: 'f64' },
      sparsity: { offset: 56, size: 8, kind: 'f64' },
      first_step: { offset: 64, size: 8, kind: 'u64' },
      last_step: { offset: 72, size: 8, kind: 'u64' },
    },
  },
  judging_event: {
    size: 64,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      networks: { offset: 8, size: 8, kind: 'pointer' },
      networks_size: { offset: 16, size: 8, kind: 'size' },
      ends: { offset: 24, size: 8, kind: 'pointer' },
      ends_count: { offset: 32, size: 8, kind: 'size' },
      width: { offset: 40, size: 8, kind: 'u64' },
      fitness: { offset: 48, size: 8, kind: 'pointer' },
      fitness_count: { offset: 56, size: 8, kind: 'size' },
    },
  },
  tensor: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      element: { offset: 4, size: 4, kind: 'i32' },
      data: { offset: 8, size: 8, kind: 'pointer' },
      data_size: { offset: 16, size: 8, kind: 'size' },
      shape: { offset: 24, size: 8, kind: 'pointer' },
      shape_count: { offset: 32, size: 8, kind: 'size' },
    },
  },
  kind_callbacks: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      declare: { offset: 8, size: 8, kind: 'pointer' },
      forward: { offset: 16, size: 8, kind: 'pointer' },
      backward: { offset: 24, size: 8, kind: 'pointer' },
      user: { offset: 32, size: 8, kind: 'pointer' },
    },
  },
  compute_options: {
    size: 48,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      threads: { offset: 8, size: 8, kind: 'u64' },
      thread_count: { offset: 16, size: 4, kind: 'i32' },
      isa: { offset: 24, size: 8, kind: 'pointer' },
      device: { offset: 32, size: 8, kind: 'pointer' },
      max_bytes: { offset: 40, size: 8, kind: 'u64' },
    },
  },
  model_options: {
    size: 64,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      cancel: { offset: 16, size: 8, kind: 'u64' },
      progress: { offset: 24, size: 8, kind: 'pointer' },
      user: { offset: 32, size: 8, kind: 'pointer' },
      dtype: { offset: 40, size: 8, kind: 'pointer' },
      adapters: { offset: 48, size: 8, kind: 'pointer' },
      adapters_count: { offset: 56, size: 8, kind: 'size' },
    },
  },
  session_options: {
    size: 48,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      sequences: { offset: 16, size: 4, kind: 'u32' },
      context_tokens: { offset: 24, size: 8, kind: 'u64' },
      kv_dtype: { offset: 32, size: 8, kind: 'pointer' },
      int8_activations: { offset: 40, size: 4, kind: 'i32' },
    },
  },
  generation_options: {
    size: 248,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      max_tokens: { offset: 8, size: 8, kind: 'u64' },
      min_tokens: { offset: 16, size: 8, kind: 'u64' },
      seed: { offset: 24, size: 8, kind: 'u64' },
      temperature: { offset: 32, size: 4, kind: 'f32' },
      top_p: { offset: 36, size: 4, kind: 'f32' },
      min_p: { offset: 40, size: 4, kind: 'f32' },
      typical_p: { offset: 44, size: 4, kind: 'f32' },
      repetition_penalty: { offset: 48, size: 4, kind: 'f32' },
      frequency_penalty: { offset: 52, size: 4, kind: 'f32' },
      presence_penalty: { offset: 56, size: 4, kind: 'f32' },
      top_k: { offset: 60, size: 4, kind: 'i32' },
      repetition_window: { offset: 64, size: 4, kind: 'i32' },
      ignore_eos: { offset: 68, size: 4, kind: 'i32' },
      stop: { offset: 72, size: 8, kind: 'pointer' },
      stop_count: { offset: 80, size: 8, kind: 'size' },
      speculate: { offset: 88, size: 4, kind: 'i32' },
      draft_model: { offset: 96, size: 8, kind: 'u64' },
      prompt_only: { offset: 104, size: 4, kind: 'i32' },
      bias_ids: { offset: 112, size: 8, kind: 'pointer' },
      bias_ids_count: { offset: 120, size: 8, kind: 'size' },
      biases: { offset: 128, size: 8, kind: 'pointer' },
      biases_count: { offset: 136, size: 8, kind: 'size' },
      stop_ids: { offset: 144, size: 8, kind: 'pointer' },
      stop_ids_count: { offset: 152, size: 8, kind: 'size' },
      logprobs: { offset: 160, size: 4, kind: 'u32' },
      plain_text: { offset: 164, size: 4, kind: 'i32' },
      chat_template: { offset: 168, size: 8, kind: 'pointer' },
      tools: { offset: 176, size: 8, kind: 'pointer' },
      template_variables: { offset: 184, size: 8, kind: 'pointer' },
      date: { offset: 192, size: 8, kind: 'pointer' },
      continue_final_message: { offset: 200, size: 4, kind: 'i32' },
      schema: { offset: 208, size: 8, kind: 'pointer' },
      grammar: { offset: 216, size: 8, kind: 'pointer' },
      regex: { offset: 224, size: 8, kind: 'pointer' },
      choices: { offset: 232, size: 8, kind: 'pointer' },
      choices_count: { offset: 240, size: 8, kind: 'size' },
    },
  },
  network_options: {
    size: 24,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      lenient: { offset: 4, size: 4, kind: 'i32' },
      uninitialised: { offset: 8, size: 4, kind: 'i32' },
      max_bytes: { offset: 16, size: 8, kind: 'u64' },
    },
  },
  network_session_options: {
    size: 48,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      backward: { offset: 16, size: 4, kind: 'i32' },
      context: { offset: 24, size: 8, kind: 'u64' },
      kv_dtype: { offset: 32, size: 8, kind: 'pointer' },
      checkpoint_every: { offset: 40, size: 8, kind: 'u64' },
    },
  },
  pass: {
    size: 56,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      training: { offset: 4, size: 4, kind: 'i32' },
      step: { offset: 8, size: 4, kind: 'u32' },
      lengths: { offset: 16, size: 8, kind: 'pointer' },
      lengths_count: { offset: 24, size: 8, kind: 'size' },
      external: { offset: 32, size: 8, kind: 'pointer' },
      mask: { offset: 40, size: 8, kind: 'pointer' },
      cancel: { offset: 48, size: 8, kind: 'u64' },
    },
  },
  batch: {
    size: 24,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      inputs: { offset: 8, size: 8, kind: 'pointer' },
      targets: { offset: 16, size: 8, kind: 'pointer' },
    },
  },
  training_step: {
    size: 56,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      loss: { offset: 8, size: 8, kind: 'f64' },
      learning_rate: { offset: 16, size: 8, kind: 'f64' },
      gradient_norm: { offset: 24, size: 8, kind: 'f64' },
      skipped: { offset: 32, size: 4, kind: 'i32' },
      why: { offset: 40, size: 8, kind: 'pointer' },
      why_size: { offset: 48, size: 8, kind: 'size' },
    },
  },
  training_options: {
    size: 80,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      out: { offset: 16, size: 8, kind: 'pointer' },
      folder: { offset: 24, size: 8, kind: 'pointer' },
      start: { offset: 32, size: 4, kind: 'i32' },
      epochs: { offset: 40, size: 8, kind: 'u64' },
      cancel: { offset: 48, size: 8, kind: 'u64' },
      progress: { offset: 56, size: 8, kind: 'pointer' },
      user: { offset: 64, size: 8, kind: 'pointer' },
      shards: { offset: 72, size: 8, kind: 'pointer' },
    },
  },
  evolution_options: {
    size: 80,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      out: { offset: 16, size: 8, kind: 'pointer' },
      folder: { offset: 24, size: 8, kind: 'pointer' },
      start: { offset: 32, size: 4, kind: 'i32' },
      generations: { offset: 40, size: 8, kind: 'u64' },
      cancel: { offset: 48, size: 8, kind: 'u64' },
      progress: { offset: 56, size: 8, kind: 'pointer' },
      user: { offset: 64, size: 8, kind: 'pointer' },
      judging: { offset: 72, size: 8, kind: 'pointer' },
    },
  },
  step_mesh_options: {
    size: 32,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      history: { offset: 16, size: 8, kind: 'u64' },
      backward: { offset: 24, size: 4, kind: 'i32' },
      keep_inputs: { offset: 28, size: 4, kind: 'i32' },
    },
  },
  tick_options: {
    size: 32,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      ticks: { offset: 8, size: 8, kind: 'u64' },
      capture: { offset: 16, size: 4, kind: 'i32' },
      training: { offset: 20, size: 4, kind: 'i32' },
      cancel: { offset: 24, size: 8, kind: 'u64' },
    },
  },
  file_convert_options: {
    size: 56,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      dtype: { offset: 16, size: 8, kind: 'pointer' },
      adapter: { offset: 24, size: 8, kind: 'pointer' },
      progress: { offset: 32, size: 8, kind: 'pointer' },
      user: { offset: 40, size: 8, kind: 'pointer' },
      overwrite: { offset: 48, size: 4, kind: 'i32' },
    },
  },
  step: {
    size: 48,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      text: { offset: 8, size: 8, kind: 'pointer' },
      text_size: { offset: 16, size: 8, kind: 'size' },
      prompt_tokens: { offset: 24, size: 8, kind: 'u64' },
      generated_tokens: { offset: 32, size: 8, kind: 'u64' },
      stop: { offset: 40, size: 4, kind: 'i32' },
    },
  },
  generation: {
    size: 136,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      text: { offset: 8, size: 8, kind: 'pointer' },
      text_size: { offset: 16, size: 8, kind: 'size' },
      ids: { offset: 24, size: 8, kind: 'pointer' },
      ids_count: { offset: 32, size: 8, kind: 'size' },
      prompt_tokens: { offset: 40, size: 8, kind: 'u64' },
      dropped_bytes: { offset: 48, size: 8, kind: 'u64' },
      prefill_seconds: { offset: 56, size: 8, kind: 'f64' },
      decode_seconds: { offset: 64, size: 8, kind: 'f64' },
      stop: { offset: 72, size: 4, kind: 'i32' },
      hash: { offset: 76, size: 32, kind: 'u8' },
      drafted: { offset: 112, size: 8, kind: 'u64' },
      accepted: { offset: 120, size: 8, kind: 'u64' },
      passes: { offset: 128, size: 8, kind: 'u64' },
    },
  },
  graph_options: {
    size: 16,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      max_bytes: { offset: 8, size: 8, kind: 'u64' },
    },
  },
  encoder_options: {
    size: 40,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      dtype: { offset: 16, size: 8, kind: 'pointer' },
      prompt: { offset: 24, size: 8, kind: 'pointer' },
      prompt_name: { offset: 32, size: 8, kind: 'pointer' },
    },
  },
  file_open_options: {
    size: 64,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      compute: { offset: 8, size: 8, kind: 'pointer' },
      hints: { offset: 16, size: 8, kind: 'pointer' },
      cancel: { offset: 24, size: 8, kind: 'u64' },
      progress: { offset: 32, size: 8, kind: 'pointer' },
      user: { offset: 40, size: 8, kind: 'pointer' },
      dtype: { offset: 48, size: 8, kind: 'pointer' },
      lenient: { offset: 56, size: 4, kind: 'i32' },
    },
  },
  file_export_options: {
    size: 80,
    fields: {
      struct_size: { offset: 0, size: 4, kind: 'u32' },
      input_shape: { offset: 8, size: 8, kind: 'pointer' },
      input_shape_count: { offset: 16, size: 8, kind: 'size' },
      dequantize: { offset: 24, size: 4, kind: 'i32' },
      hints: { offset: 32, size: 8, kind: 'pointer' },
      dtype: { offset: 40, size: 8, kind: 'pointer' },
      cancel: { offset: 48, size: 8, kind: 'u64' },
      progress: { offset: 56, size: 8, kind: 'pointer' },
      user: { offset: 64, size: 8, kind: 'pointer' },
      overwrite: { offset: 72, size: 4, kind: 'i32' },
    },
  },
};
export const layouts = { wasm32, lp64 };
