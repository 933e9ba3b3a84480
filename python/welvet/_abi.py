"""The C ABI for ctypes. Made by tools/gen_bindings.py from api/loom.json."""

from __future__ import annotations

from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int32,
                    c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p, sizeof)

# Version of this interface. Libraries of an equal version serve programs of older headers, whose structs may be smaller.
ABI_VERSION = 1

# Status of a call: OK, or the reason why it failed. loom_last_error() has the text.
OK = 0
INVALID_ARGUMENT = 1
INVALID_CONFIG = 2
SHAPE_MISMATCH = 3
SIZE_OVERFLOW = 4
OUT_OF_RANGE = 5
INDEX_OUT_OF_RANGE = 6
NON_FINITE = 7
UNKNOWN_NAME = 8
UNKNOWN_KEY = 9
NOT_FOUND = 10
IO_ERROR = 11
DISK_FULL = 12
CORRUPT_DATA = 13
UNSUPPORTED = 14
OUT_OF_MEMORY = 15
CONTEXT_FULL = 16
NO_TEMPLATE = 17
TEMPLATE_ERROR = 18
LIMIT_EXCEEDED = 19
LINK_CYCLE = 20
CANCELLED = 21
EMPTY_TENSOR = 22
FEEDBACK_LINK = 23
LINK_TO_EMPTY = 24
NESTING_TOO_DEEP = 25
INVALID_STATE = 26
NO_VALUE = 27
NO_HISTORY = 28
LOSSY_SAVE = 29
BUSY = 30
BAD_HANDLE = 31
DEVICE_LOST = 32

# Kind of the object that a handle refers to.
KIND_NONE = 0
KIND_BLOB = 1
KIND_CANCEL = 2
KIND_THREADS = 3
KIND_TOKENIZER = 4
KIND_MODEL = 5
KIND_SESSION = 6
KIND_GENERATOR = 7
KIND_NETWORK = 8
KIND_NETWORK_SESSION = 9
KIND_TRAINER = 10
KIND_STEP_MESH = 11
KIND_STEP_STATE = 12
KIND_TWEEN = 13
KIND_MESH_TWEEN = 14
KIND_POPULATION = 15
KIND_CHAT = 16
KIND_REPLICA = 17
KIND_LAYER = 18
KIND_GRAPH = 19
KIND_GRAPH_SESSION = 20
KIND_ENCODER = 21
KIND_ADAPTATION = 22
KIND_JUDGE = 23

# The type of a tensor's numbers, numbered as in ONNX files. Values follow each other, little-endian; two codes of 4 bits share a byte, the first one in the low bits.
ELEMENT_NONE = 0
ELEMENT_FLOAT32 = 1
ELEMENT_UINT8 = 2
ELEMENT_INT8 = 3
ELEMENT_UINT16 = 4
ELEMENT_INT16 = 5
ELEMENT_INT32 = 6
ELEMENT_INT64 = 7
ELEMENT_BOOL = 9
ELEMENT_FLOAT16 = 10
ELEMENT_FLOAT64 = 11
ELEMENT_UINT32 = 12
ELEMENT_UINT64 = 13
ELEMENT_BFLOAT16 = 16
ELEMENT_FLOAT8_E4M3FN = 17
ELEMENT_FLOAT8_E5M2 = 19
ELEMENT_UINT4 = 21
ELEMENT_INT4 = 22

# How a training treats a folder that holds a run.
RUN_FRESH = 0
RUN_RESUME = 1
RUN_OVERWRITE = 2

# The place in a training that an event reports.
TRAINING_BEGIN = 0
TRAINING_EPOCH_BEGIN = 1
TRAINING_BATCH_BEGIN = 2
TRAINING_BATCH_END = 3
TRAINING_VALIDATION_END = 4
TRAINING_CHECKPOINT = 5
TRAINING_EPOCH_END = 6
TRAINING_END = 7

# Why a training ended.
TRAINING_STOP_NOT_YET = 0
TRAINING_STOP_FINISHED = 1
TRAINING_STOP_EARLY_STOP = 2
TRAINING_STOP_STOPPED = 3
TRAINING_STOP_DIVERGED = 4

# A pass over the layers of a network.
PASS_FORWARD = 0
PASS_BACKWARD = 1
PASS_TICK = 2
PASS_TWEEN = 3

# A file that Loom reads.
SCHEMA_NETWORK = 0
SCHEMA_TRAINING = 1
SCHEMA_EVOLUTION = 2

# How a network becomes bytes.
FORMAT_ENTITY = 0
FORMAT_JSON = 1

# How much a message matters.
LOG_ERROR = 1
LOG_INFO = 3

# How a text becomes a prompt.
PROMPT_AUTO = 0
PROMPT_RAW = 1
PROMPT_CHAT = 2
PROMPT_MESSAGES = 3

# Why a generation ended.
STOP_NOT_YET = 0
STOP_EOS = 1
STOP_TEXT = 2
STOP_LENGTH = 3
STOP_CONTEXT = 4
STOP_CANCELLED = 5

STATUS_NAMES = {
    0: "Ok",
    1: "InvalidArgument",
    2: "InvalidConfig",
    3: "ShapeMismatch",
    4: "SizeOverflow",
    5: "OutOfRange",
    6: "IndexOutOfRange",
    7: "NonFinite",
    8: "UnknownName",
    9: "UnknownKey",
    10: "NotFound",
    11: "IoError",
    12: "DiskFull",
    13: "CorruptData",
    14: "Unsupported",
    15: "OutOfMemory",
    16: "ContextFull",
    17: "NoTemplate",
    18: "TemplateError",
    19: "LimitExceeded",
    20: "LinkCycle",
    21: "Cancelled",
    22: "EmptyTensor",
    23: "FeedbackLink",
    24: "LinkToEmpty",
    25: "NestingTooDeep",
    26: "InvalidState",
    27: "NoValue",
    28: "NoHistory",
    29: "LossySave",
    30: "Busy",
    31: "BadHandle",
    32: "DeviceLost",
}


class TrainingEvent(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("phase", c_int32),
        ("epoch", c_uint64),
        ("epochs", c_uint64),
        ("batch", c_uint64),
        ("batches", c_uint64),
        ("loss", c_double),
        ("learning_rate", c_double),
        ("validation", c_char_p),
        ("stop", c_int32),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class ShardsEvent(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("epoch", c_uint64),
        ("position", c_uint64),
        ("step", c_uint64),
        ("loss_scale", c_double),
        ("masters", c_void_p),
        ("masters_size", c_size_t),
        ("shards", c_uint64),
        ("gradient_size", c_uint64),
        ("gradients", POINTER(c_uint8)),
        ("gradients_count", c_size_t),
        ("losses", POINTER(c_double)),
        ("losses_count", c_size_t),
        ("counts", POINTER(c_uint64)),
        ("counts_count", c_size_t),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class WindowEvent(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("layers", c_uint64),
        ("mean", c_double),
        ("deviation", c_double),
        ("greatest", c_double),
        ("least", c_double),
        ("active", c_double),
        ("sparsity", c_double),
        ("first_step", c_uint64),
        ("last_step", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class JudgingEvent(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("networks", c_void_p),
        ("networks_size", c_size_t),
        ("ends", POINTER(c_uint64)),
        ("ends_count", c_size_t),
        ("width", c_uint64),
        ("fitness", POINTER(c_double)),
        ("fitness_count", c_size_t),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class Tensor(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("element", c_int32),
        ("data", c_void_p),
        ("data_size", c_size_t),
        ("shape", POINTER(c_uint64)),
        ("shape_count", c_size_t),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class ComputeOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_uint64),
        ("thread_count", c_int32),
        ("isa", c_char_p),
        ("device", c_char_p),
        ("max_bytes", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class GenerationOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("max_tokens", c_uint64),
        ("min_tokens", c_uint64),
        ("seed", c_uint64),
        ("temperature", c_float),
        ("top_p", c_float),
        ("min_p", c_float),
        ("typical_p", c_float),
        ("repetition_penalty", c_float),
        ("frequency_penalty", c_float),
        ("presence_penalty", c_float),
        ("top_k", c_int32),
        ("repetition_window", c_int32),
        ("ignore_eos", c_int32),
        ("stop", POINTER(c_char_p)),
        ("stop_count", c_size_t),
        ("speculate", c_int32),
        ("draft_model", c_uint64),
        ("prompt_only", c_int32),
        ("bias_ids", POINTER(c_int32)),
        ("bias_ids_count", c_size_t),
        ("biases", POINTER(c_float)),
        ("biases_count", c_size_t),
        ("stop_ids", POINTER(c_int32)),
        ("stop_ids_count", c_size_t),
        ("logprobs", c_uint32),
        ("plain_text", c_int32),
        ("chat_template", c_char_p),
        ("tools", c_char_p),
        ("template_variables", c_char_p),
        ("date", c_char_p),
        ("continue_final_message", c_int32),
        ("schema", c_char_p),
        ("grammar", c_char_p),
        ("regex", c_char_p),
        ("choices", POINTER(c_char_p)),
        ("choices_count", c_size_t),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class NetworkOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("lenient", c_int32),
        ("uninitialised", c_int32),
        ("max_bytes", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class TrainingStep(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("loss", c_double),
        ("learning_rate", c_double),
        ("gradient_norm", c_double),
        ("skipped", c_int32),
        ("why", c_void_p),
        ("why_size", c_size_t),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class TickOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("ticks", c_uint64),
        ("capture", c_int32),
        ("training", c_int32),
        ("cancel", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class Step(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("text", c_void_p),
        ("text_size", c_size_t),
        ("prompt_tokens", c_uint64),
        ("generated_tokens", c_uint64),
        ("stop", c_int32),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class Generation(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("text", c_void_p),
        ("text_size", c_size_t),
        ("ids", POINTER(c_int32)),
        ("ids_count", c_size_t),
        ("prompt_tokens", c_uint64),
        ("dropped_bytes", c_uint64),
        ("prefill_seconds", c_double),
        ("decode_seconds", c_double),
        ("stop", c_int32),
        ("hash", c_uint8 * 32),
        ("drafted", c_uint64),
        ("accepted", c_uint64),
        ("passes", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class GraphOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("max_bytes", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class LayerEvent(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("pass", c_int32),
        ("path", c_char_p),
        ("layer", c_char_p),
        ("dtype", c_char_p),
        ("cell", c_uint64),
        ("step", c_uint64),
        ("mean", c_double),
        ("deviation", c_double),
        ("greatest", c_double),
        ("least", c_double),
        ("active", c_uint64),
        ("values", POINTER(Tensor)),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class SessionOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("sequences", c_uint32),
        ("context_tokens", c_uint64),
        ("kv_dtype", c_char_p),
        ("int8_activations", c_int32),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class NetworkSessionOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("backward", c_int32),
        ("context", c_uint64),
        ("kv_dtype", c_char_p),
        ("checkpoint_every", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class Pass(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("training", c_int32),
        ("step", c_uint32),
        ("lengths", POINTER(c_uint64)),
        ("lengths_count", c_size_t),
        ("external", POINTER(Tensor)),
        ("mask", POINTER(Tensor)),
        ("cancel", c_uint64),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class Batch(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("inputs", POINTER(Tensor)),
        ("targets", POINTER(Tensor)),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class StepMeshOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("history", c_uint64),
        ("backward", c_int32),
        ("keep_inputs", c_int32),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class EncoderOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("dtype", c_char_p),
        ("prompt", c_char_p),
        ("prompt_name", c_char_p),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)

OnProgress = CFUNCTYPE(c_int32, c_void_p, c_double)

OnTraining = CFUNCTYPE(c_int32, c_void_p, POINTER(TrainingEvent))

OnShards = CFUNCTYPE(c_int32, c_void_p, POINTER(ShardsEvent))

OnGeneration = CFUNCTYPE(c_int32, c_void_p, c_char_p)

OnLayer = CFUNCTYPE(c_int32, c_void_p, POINTER(LayerEvent))

OnWindow = CFUNCTYPE(c_int32, c_void_p, POINTER(WindowEvent))

OnJudging = CFUNCTYPE(c_int32, c_void_p, POINTER(JudgingEvent))

ReadAt = CFUNCTYPE(c_int64, c_void_p, c_uint64, c_void_p, c_size_t)

Work = CFUNCTYPE(None, c_void_p, c_int32)

RunWork = CFUNCTYPE(None, c_void_p, Work, c_void_p, c_int32)

OnLog = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)

AllocateMemory = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)

FreeMemory = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)

LayerRule = CFUNCTYPE(c_int32, c_void_p, c_uint64)

OnFatal = CFUNCTYPE(None, c_void_p, c_char_p)


class KindCallbacks(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("declare", LayerRule),
        ("forward", LayerRule),
        ("backward", LayerRule),
        ("user", c_void_p),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class ModelOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("cancel", c_uint64),
        ("progress", OnProgress),
        ("user", c_void_p),
        ("dtype", c_char_p),
        ("adapters", POINTER(c_char_p)),
        ("adapters_count", c_size_t),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class TrainingOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("out", c_char_p),
        ("folder", c_char_p),
        ("start", c_int32),
        ("epochs", c_uint64),
        ("cancel", c_uint64),
        ("progress", OnTraining),
        ("user", c_void_p),
        ("shards", OnShards),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class EvolutionOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("out", c_char_p),
        ("folder", c_char_p),
        ("start", c_int32),
        ("generations", c_uint64),
        ("cancel", c_uint64),
        ("progress", OnGeneration),
        ("user", c_void_p),
        ("judging", OnJudging),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class FileConvertOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("dtype", c_char_p),
        ("adapter", c_char_p),
        ("progress", OnProgress),
        ("user", c_void_p),
        ("overwrite", c_int32),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class FileOpenOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compute", POINTER(ComputeOptions)),
        ("hints", c_char_p),
        ("cancel", c_uint64),
        ("progress", OnProgress),
        ("user", c_void_p),
        ("dtype", c_char_p),
        ("lenient", c_int32),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


class FileExportOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("input_shape", POINTER(c_uint64)),
        ("input_shape_count", c_size_t),
        ("dequantize", c_int32),
        ("hints", c_char_p),
        ("dtype", c_char_p),
        ("cancel", c_uint64),
        ("progress", OnProgress),
        ("user", c_void_p),
        ("overwrite", c_int32),
    ]

    def __init__(self, **values: object) -> None:
        super().__init__(struct_size=sizeof(self.__class__), **values)


def declare(library: CDLL) -> None:
    """Declares the parameters of every function to ctypes."""
    _declare(library, "loom_version", c_char_p, [])
    _declare(library, "loom_library_abi_version", c_int32, [])
    _declare(library, "loom_last_error", c_char_p, [])
    _declare(library, "loom_stop_name", c_char_p, [c_int32])
    _declare(library, "loom_training_stop_name", c_char_p, [c_int32])
    _declare(library, "loom_status_name", c_char_p, [c_int32])
    _declare(library, "loom_numerics_version", c_int32, [POINTER(c_uint32)])
    _declare(library, "loom_system_info", c_int32, [POINTER(c_uint64)])
    _declare(library, "loom_verify", c_int32, [POINTER(ComputeOptions), POINTER(c_uint64)])
    _declare(library, "loom_gpu_report", c_int32, [POINTER(c_uint64)])
    _declare(library, "loom_dtype_simulate", c_int32,
             [POINTER(c_float), c_size_t, c_uint64, c_char_p, POINTER(c_float), c_size_t])
    _declare(library, "loom_retain", c_int32, [c_uint64])
    _declare(library, "loom_release", c_int32, [c_uint64])
    _declare(library, "loom_kind_of", c_int32, [c_uint64, POINTER(c_int32)])
    _declare(library, "loom_blob_view", c_int32, [c_uint64, POINTER(c_void_p), POINTER(c_size_t)])
    _declare(library, "loom_cancel_create", c_int32, [POINTER(c_uint64)])
    _declare(library, "loom_cancel_set", c_int32, [c_uint64, c_int32])
    _declare(library, "loom_threads_create", c_int32, [c_int32, POINTER(c_uint64)])
    _declare(library, "loom_threads_from_host", c_int32, [c_int32, RunWork, c_void_p, POINTER(c_uint64)])
    _declare(library, "loom_set_log", c_int32, [OnLog, c_void_p])
    _declare(library, "loom_set_memory", c_int32, [AllocateMemory, FreeMemory, c_void_p])
    _declare(library, "loom_set_fatal", c_int32, [OnFatal, c_void_p])
    _declare(library, "loom_tokenizer_open", c_int32, [c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_tokenizer_from_json", c_int32, [c_void_p, c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_tokenizer_from_memory", c_int32, [c_void_p, c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_tokenizer_encode", c_int32,
             [c_uint64, c_void_p, c_size_t, c_int32, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_tokenizer_decode", c_int32,
             [c_uint64, POINTER(c_int32), c_size_t, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_tokenizer_vocab_size", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_tokenizer_id", c_int32, [c_uint64, c_void_p, c_size_t, POINTER(c_int32)])
    _declare(library, "loom_tokenizer_token", c_int32, [c_uint64, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_model_open", c_int32, [c_char_p, POINTER(ModelOptions), POINTER(c_uint64)])
    _declare(library, "loom_model_open_part", c_int32,
             [c_char_p, c_uint64, c_uint64, POINTER(ModelOptions), POINTER(c_uint64)])
    _declare(library, "loom_model_from_memory", c_int32,
             [c_void_p, c_size_t, POINTER(ModelOptions), POINTER(c_uint64)])
    _declare(library, "loom_model_from_callback", c_int32,
             [c_uint64, ReadAt, c_void_p, POINTER(ModelOptions), POINTER(c_uint64)])
    _declare(library, "loom_model_from_files", c_int32,
             [POINTER(c_char_p), c_size_t, c_void_p, c_size_t, POINTER(c_uint64), c_size_t, POINTER(ModelOptions), POINTER(c_uint64)])
    _declare(library, "loom_model_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_model_tokenizer", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_model_render_chat", c_int32, [c_uint64, c_void_p, c_size_t, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_model_adapters", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_session_create", c_int32, [c_uint64, POINTER(SessionOptions), POINTER(c_uint64)])
    _declare(library, "loom_session_feed", c_int32,
             [c_uint64, c_uint64, POINTER(c_int32), c_size_t, c_uint64, POINTER(POINTER(c_float)), POINTER(c_size_t)])
    _declare(library, "loom_session_tokens", c_int32,
             [c_uint64, c_uint64, POINTER(POINTER(c_int32)), POINTER(c_size_t)])
    _declare(library, "loom_session_rewind", c_int32, [c_uint64, c_uint64, c_uint64])
    _declare(library, "loom_session_fork", c_int32, [c_uint64, c_uint64, c_uint64])
    _declare(library, "loom_session_snapshot", c_int32, [c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_session_restore", c_int32, [c_uint64, c_uint64, c_void_p, c_size_t])
    _declare(library, "loom_session_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_session_choose_adapters", c_int32, [c_uint64, POINTER(c_char_p), c_size_t, c_int32])
    _declare(library, "loom_session_perplexity", c_int32,
             [c_uint64, c_void_p, c_size_t, c_uint64, c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_generator_create", c_int32,
             [c_uint64, POINTER(c_int32), c_size_t, POINTER(GenerationOptions), POINTER(c_uint64)])
    _declare(library, "loom_generator_from_text", c_int32,
             [c_uint64, c_void_p, c_size_t, c_int32, POINTER(GenerationOptions), POINTER(c_uint64)])
    _declare(library, "loom_model_prompt", c_int32,
             [c_uint64, c_void_p, c_size_t, c_int32, POINTER(GenerationOptions), POINTER(c_uint64)])
    _declare(library, "loom_generator_next", c_int32, [c_uint64, c_uint64, POINTER(Step)])
    _declare(library, "loom_generator_result", c_int32, [c_uint64, POINTER(Generation)])
    _declare(library, "loom_generator_logprobs", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_chat_create", c_int32, [c_uint64, c_char_p, POINTER(GenerationOptions), POINTER(c_uint64)])
    _declare(library, "loom_chat_say", c_int32, [c_uint64, c_void_p, c_size_t, c_uint64])
    _declare(library, "loom_chat_answer", c_int32, [c_uint64, c_uint64])
    _declare(library, "loom_chat_next", c_int32, [c_uint64, c_uint64, POINTER(Step)])
    _declare(library, "loom_chat_stop", c_int32, [c_uint64])
    _declare(library, "loom_chat_result", c_int32, [c_uint64, POINTER(Generation)])
    _declare(library, "loom_chat_logprobs", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_chat_messages", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_chat_set_messages", c_int32, [c_uint64, c_void_p, c_size_t])
    _declare(library, "loom_chat_rewind", c_int32, [c_uint64, c_uint64])
    _declare(library, "loom_chat_edit", c_int32, [c_uint64, c_uint64, c_void_p, c_size_t])
    _declare(library, "loom_chat_save", c_int32, [c_uint64, c_char_p])
    _declare(library, "loom_chat_load", c_int32, [c_uint64, c_char_p])
    _declare(library, "loom_network_from_json", c_int32,
             [c_void_p, c_size_t, POINTER(NetworkOptions), POINTER(c_uint64)])
    _declare(library, "loom_network_from_arch", c_int32, [c_void_p, c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_network_open", c_int32, [c_char_p, POINTER(NetworkOptions), POINTER(c_uint64)])
    _declare(library, "loom_network_from_memory", c_int32,
             [c_void_p, c_size_t, POINTER(NetworkOptions), POINTER(c_uint64)])
    _declare(library, "loom_network_clone", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_graft", c_int32,
             [POINTER(c_uint64), c_size_t, c_char_p, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_network_save", c_int32, [c_uint64, c_char_p, c_int32])
    _declare(library, "loom_network_to_bytes", c_int32, [c_uint64, c_int32, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_network_spec", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_draw", c_int32, [c_uint64, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_network_hash", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_prepare", c_int32,
             [c_uint64, POINTER(c_uint64), c_size_t, POINTER(POINTER(c_uint64)), POINTER(c_size_t)])
    _declare(library, "loom_network_place", c_int32, [c_uint64, POINTER(c_uint64), c_size_t, c_void_p, c_size_t])
    _declare(library, "loom_network_morph", c_int32, [c_uint64, c_char_p, c_char_p])
    _declare(library, "loom_network_release_masters", c_int32, [c_uint64])
    _declare(library, "loom_network_merge_adapters", c_int32, [c_uint64])
    _declare(library, "loom_network_weights", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_get_weight", c_int32, [c_uint64, c_char_p, POINTER(Tensor)])
    _declare(library, "loom_network_set_weight", c_int32, [c_uint64, c_char_p, POINTER(Tensor)])
    _declare(library, "loom_network_weight_codes", c_int32, [c_uint64, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_network_freeze", c_int32, [c_uint64, c_char_p, c_int32])
    _declare(library, "loom_network_index", c_int32, [c_uint64, POINTER(c_uint64), c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_network_layer", c_int32, [c_uint64, POINTER(c_uint64), c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_network_blueprint", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_groups", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_export", c_int32,
             [c_uint64, c_char_p, POINTER(FileExportOptions), POINTER(c_uint64)])
    _declare(library, "loom_network_session_create", c_int32,
             [c_uint64, POINTER(NetworkSessionOptions), POINTER(c_uint64)])
    _declare(library, "loom_network_session_forward", c_int32,
             [c_uint64, POINTER(Tensor), POINTER(Pass), POINTER(Tensor)])
    _declare(library, "loom_network_session_bind", c_int32, [c_uint64, POINTER(Tensor), POINTER(Tensor)])
    _declare(library, "loom_network_session_run", c_int32, [c_uint64])
    _declare(library, "loom_network_session_backward", c_int32, [c_uint64, POINTER(Tensor), c_uint64, POINTER(Tensor)])
    _declare(library, "loom_network_session_gradient", c_int32, [c_uint64, c_char_p, POINTER(Tensor)])
    _declare(library, "loom_network_session_clear_gradients", c_int32, [c_uint64])
    _declare(library, "loom_network_session_reset", c_int32, [c_uint64])
    _declare(library, "loom_network_session_rewind", c_int32, [c_uint64, c_uint64])
    _declare(library, "loom_network_session_snapshot", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_session_restore", c_int32, [c_uint64, c_void_p, c_size_t])
    _declare(library, "loom_network_session_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_trainer_create", c_int32,
             [c_uint64, c_void_p, c_size_t, POINTER(c_uint64), c_size_t, POINTER(ComputeOptions), POINTER(c_uint64)])
    _declare(library, "loom_trainer_step", c_int32, [c_uint64, POINTER(Batch), c_uint64, POINTER(TrainingStep)])
    _declare(library, "loom_trainer_evaluate", c_int32, [c_uint64, POINTER(Batch), POINTER(c_double), POINTER(Tensor)])
    _declare(library, "loom_trainer_set_epoch", c_int32, [c_uint64, c_uint64])
    _declare(library, "loom_trainer_observe", c_int32, [c_uint64, c_double])
    _declare(library, "loom_training_run", c_int32,
             [c_void_p, c_size_t, c_uint64, POINTER(Batch), POINTER(Batch), POINTER(TrainingOptions), POINTER(c_uint64)])
    _declare(library, "loom_training_run_file", c_int32, [c_char_p, POINTER(TrainingOptions), POINTER(c_uint64)])
    _declare(library, "loom_training_replay", c_int32, [c_char_p, POINTER(TrainingOptions), POINTER(c_uint64)])
    _declare(library, "loom_replica_create", c_int32,
             [c_void_p, c_size_t, POINTER(TrainingOptions), POINTER(c_uint64)])
    _declare(library, "loom_replica_begin", c_int32,
             [c_uint64, c_uint64, c_uint64, c_uint64, c_double, c_void_p, c_size_t])
    _declare(library, "loom_replica_sum", c_int32,
             [c_uint64, c_uint64, c_uint64, POINTER(c_double), POINTER(c_uint64)])
    _declare(library, "loom_replica_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_trainer_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_tween_create", c_int32,
             [c_uint64, c_void_p, c_size_t, POINTER(c_uint64), c_size_t, POINTER(ComputeOptions), POINTER(c_uint64)])
    _declare(library, "loom_tween_forward", c_int32, [c_uint64, POINTER(Tensor), POINTER(Tensor)])
    _declare(library, "loom_tween_step", c_int32, [c_uint64, POINTER(Tensor), c_double])
    _declare(library, "loom_tween_backward", c_int32, [c_uint64, POINTER(Tensor)])
    _declare(library, "loom_tween_budgets", c_int32, [c_uint64])
    _declare(library, "loom_tween_apply", c_int32, [c_uint64, c_double])
    _declare(library, "loom_tween_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_step_mesh_create", c_int32,
             [c_uint64, POINTER(c_uint64), c_size_t, POINTER(StepMeshOptions), POINTER(c_uint64)])
    _declare(library, "loom_step_mesh_step", c_int32, [c_uint64, POINTER(c_uint64), c_size_t, POINTER(TickOptions)])
    _declare(library, "loom_step_mesh_backward", c_int32,
             [c_uint64, c_uint64, POINTER(Tensor), c_uint64, POINTER(Tensor)])
    _declare(library, "loom_step_mesh_gradient", c_int32, [c_uint64, c_char_p, POINTER(Tensor)])
    _declare(library, "loom_step_mesh_clear_gradients", c_int32, [c_uint64])
    _declare(library, "loom_step_mesh_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_step_state_create", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_step_state_set_input", c_int32, [c_uint64, POINTER(Tensor), c_int32])
    _declare(library, "loom_step_state_clear_input", c_int32, [c_uint64])
    _declare(library, "loom_step_state_output", c_int32, [c_uint64, c_int64, POINTER(Tensor)])
    _declare(library, "loom_step_state_reset", c_int32, [c_uint64])
    _declare(library, "loom_step_state_fork", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_step_state_snapshot", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_step_state_restore", c_int32, [c_uint64, c_void_p, c_size_t])
    _declare(library, "loom_step_state_hash", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_step_state_ticks", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_mesh_tween_create", c_int32, [c_uint64, c_void_p, c_size_t, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_mesh_tween_step", c_int32,
             [c_uint64, POINTER(c_uint64), c_size_t, POINTER(Tensor), c_double])
    _declare(library, "loom_dna_extract", c_int32, [c_uint64, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_dna_compare", c_int32, [c_uint64, c_uint64, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_dna_draw", c_int32, [c_uint64, c_uint64, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_network_compare", c_int32, [c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_network_splice", c_int32, [c_uint64, c_uint64, c_void_p, c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_network_mutate", c_int32,
             [c_uint64, POINTER(c_uint64), c_size_t, c_void_p, c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_evolution_run", c_int32,
             [c_void_p, c_size_t, POINTER(EvolutionOptions), POINTER(c_uint64)])
    _declare(library, "loom_evolution_run_file", c_int32, [c_char_p, POINTER(EvolutionOptions), POINTER(c_uint64)])
    _declare(library, "loom_judge_create", c_int32, [c_void_p, c_size_t, POINTER(EvolutionOptions), POINTER(c_uint64)])
    _declare(library, "loom_judge_fitness", c_int32,
             [c_uint64, c_void_p, c_size_t, POINTER(POINTER(c_double)), POINTER(c_size_t)])
    _declare(library, "loom_judge_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_population_create", c_int32,
             [c_uint64, POINTER(c_uint64), c_size_t, c_void_p, c_size_t, POINTER(ComputeOptions), POINTER(c_uint64)])
    _declare(library, "loom_population_ask", c_int32, [c_uint64, POINTER(POINTER(c_uint64)), POINTER(c_size_t)])
    _declare(library, "loom_population_network", c_int32, [c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_population_tell", c_int32, [c_uint64, POINTER(c_double), c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_population_best", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_population_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_population_snapshot", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_population_restore", c_int32,
             [c_void_p, c_size_t, POINTER(c_uint64), c_size_t, c_void_p, c_size_t, POINTER(ComputeOptions), POINTER(c_uint64)])
    _declare(library, "loom_points_cluster", c_int32,
             [POINTER(c_double), c_size_t, c_uint64, c_uint64, c_uint64, c_int32, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_points_silhouette", c_int32,
             [POINTER(c_double), c_size_t, c_uint64, POINTER(c_uint64), c_size_t, POINTER(c_double)])
    _declare(library, "loom_points_group", c_int32,
             [POINTER(c_double), c_size_t, c_uint64, c_double, POINTER(c_uint64)])
    _declare(library, "loom_matches_find", c_int32, [c_void_p, c_size_t, c_uint64, c_double, POINTER(c_uint64)])
    _declare(library, "loom_matches_similarity", c_int32, [c_void_p, c_size_t, c_void_p, c_size_t, POINTER(c_double)])
    _declare(library, "loom_layer_kind_register", c_int32, [c_void_p, c_size_t, POINTER(KindCallbacks)])
    _declare(library, "loom_layer_kind_unregister", c_int32, [c_char_p])
    _declare(library, "loom_layer_setting", c_int32, [c_uint64, c_char_p, POINTER(c_double)])
    _declare(library, "loom_layer_declare_weight", c_int32,
             [c_uint64, c_char_p, POINTER(c_uint64), c_size_t, c_char_p, c_double])
    _declare(library, "loom_layer_input", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_result", c_int32, [c_uint64, c_uint64])
    _declare(library, "loom_layer_keep", c_int32, [c_uint64, c_uint64])
    _declare(library, "loom_layer_kept", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_shape", c_int32,
             [c_uint64, c_uint64, POINTER(c_uint64), c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_layer_matmul", c_int32, [c_uint64, c_uint64, c_char_p, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_layer_matmul_gradient", c_int32,
             [c_uint64, c_uint64, c_uint64, c_char_p, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_layer_product", c_int32,
             [c_uint64, c_uint64, c_int32, c_uint64, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_layer_add", c_int32, [c_uint64, c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_multiply", c_int32, [c_uint64, c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_scale", c_int32, [c_uint64, c_uint64, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_fill", c_int32, [c_uint64, c_uint64, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_activate", c_int32, [c_uint64, c_uint64, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_layer_activate_gradient", c_int32,
             [c_uint64, c_uint64, c_uint64, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_layer_gated", c_int32, [c_uint64, c_uint64, c_uint64, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_layer_gated_gradient", c_int32,
             [c_uint64, c_uint64, c_uint64, c_uint64, c_char_p, POINTER(c_uint64), POINTER(c_uint64)])
    _declare(library, "loom_layer_softmax", c_int32, [c_uint64, c_uint64, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_softmax_gradient", c_int32,
             [c_uint64, c_uint64, c_uint64, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_rms_norm", c_int32, [c_uint64, c_uint64, c_char_p, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_rms_norm_gradient", c_int32,
             [c_uint64, c_uint64, c_uint64, c_char_p, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_layer_norm", c_int32,
             [c_uint64, c_uint64, c_char_p, c_char_p, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_layer_norm_gradient", c_int32,
             [c_uint64, c_uint64, c_uint64, c_char_p, c_char_p, c_double, POINTER(c_uint64)])
    _declare(library, "loom_layer_permute", c_int32,
             [c_uint64, c_uint64, POINTER(c_uint64), c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_layer_reshape", c_int32,
             [c_uint64, c_uint64, POINTER(c_uint64), c_size_t, POINTER(c_uint64)])
    _declare(library, "loom_layer_slice", c_int32,
             [c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_pad", c_int32, [c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_repeat", c_int32, [c_uint64, c_uint64, c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_mean", c_int32, [c_uint64, c_uint64, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_dropout", c_int32, [c_uint64, c_uint64, c_double, c_uint32, POINTER(c_uint64)])
    _declare(library, "loom_layer_weight", c_int32, [c_uint64, c_char_p, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_layer_add_gradient", c_int32, [c_uint64, c_char_p, c_uint64])
    _declare(library, "loom_layer_kind_tiles", c_int32, [c_char_p, c_char_p, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_file_inspect", c_int32, [c_char_p, c_int32, POINTER(c_uint64)])
    _declare(library, "loom_file_quantize", c_int32,
             [c_char_p, c_char_p, c_char_p, POINTER(FileConvertOptions), POINTER(c_uint64)])
    _declare(library, "loom_file_convert", c_int32,
             [c_char_p, c_char_p, POINTER(FileConvertOptions), POINTER(c_uint64)])
    _declare(library, "loom_file_schema", c_int32, [c_int32, POINTER(c_uint64)])
    _declare(library, "loom_file_open", c_int32,
             [c_char_p, POINTER(FileOpenOptions), POINTER(c_uint64), POINTER(c_uint64)])
    _declare(library, "loom_file_export", c_int32, [c_char_p, c_char_p, POINTER(FileExportOptions), POINTER(c_uint64)])
    _declare(library, "loom_file_hash", c_int32, [c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_generator_receipt", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_chat_receipt", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_encoder_receipt", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_receipt_replay", c_int32,
             [c_void_p, c_size_t, c_char_p, c_char_p, c_char_p, c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_graph_open", c_int32, [c_char_p, POINTER(GraphOptions), POINTER(c_uint64)])
    _declare(library, "loom_graph_from_memory", c_int32,
             [c_void_p, c_size_t, POINTER(GraphOptions), POINTER(c_uint64)])
    _declare(library, "loom_graph_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_graph_session_create", c_int32, [c_uint64, POINTER(ComputeOptions), POINTER(c_uint64)])
    _declare(library, "loom_graph_session_bind", c_int32, [c_uint64, c_char_p, POINTER(Tensor)])
    _declare(library, "loom_graph_session_unbind", c_int32, [c_uint64])
    _declare(library, "loom_graph_session_run", c_int32, [c_uint64, c_uint64])
    _declare(library, "loom_graph_session_output", c_int32, [c_uint64, c_char_p, POINTER(Tensor)])
    _declare(library, "loom_graph_session_copy_output", c_int32, [c_uint64, c_char_p, POINTER(c_uint8), c_size_t])
    _declare(library, "loom_graph_session_hash", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_graph_session_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_encoder_open", c_int32, [c_char_p, POINTER(EncoderOptions), POINTER(c_uint64)])
    _declare(library, "loom_encoder_info", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_encoder_tokenizer", c_int32, [c_uint64, POINTER(c_uint64)])
    _declare(library, "loom_encoder_embed", c_int32,
             [c_uint64, POINTER(c_char_p), c_size_t, c_uint64, POINTER(Tensor), POINTER(POINTER(c_uint64)), POINTER(c_size_t)])
    _declare(library, "loom_network_session_watch", c_int32, [c_uint64, OnLayer, c_void_p])
    _declare(library, "loom_network_session_watch_windows", c_int32, [c_uint64, c_uint64, OnWindow, c_void_p])
    _declare(library, "loom_network_session_report_to", c_int32, [c_uint64, c_char_p])
    _declare(library, "loom_trainer_watch", c_int32, [c_uint64, OnLayer, c_void_p])
    _declare(library, "loom_trainer_watch_windows", c_int32, [c_uint64, c_uint64, OnWindow, c_void_p])
    _declare(library, "loom_trainer_report_to", c_int32, [c_uint64, c_char_p])
    _declare(library, "loom_step_mesh_watch", c_int32, [c_uint64, OnLayer, c_void_p])
    _declare(library, "loom_step_mesh_watch_windows", c_int32, [c_uint64, c_uint64, OnWindow, c_void_p])
    _declare(library, "loom_step_mesh_report_to", c_int32, [c_uint64, c_char_p])
    _declare(library, "loom_adaptation_create", c_int32, [c_double, c_double, c_char_p, POINTER(c_uint64)])
    _declare(library, "loom_adaptation_record", c_int32, [c_uint64, c_int32])
    _declare(library, "loom_adaptation_mark", c_int32, [c_uint64, c_char_p])
    _declare(library, "loom_adaptation_info", c_int32, [c_uint64, POINTER(c_uint64)])


def _declare(library: CDLL, name: str, returns: type[c_char_p] | type[c_int32], params: list[type]) -> None:
    function = getattr(library, name)
    function.restype = returns
    function.argtypes = params
