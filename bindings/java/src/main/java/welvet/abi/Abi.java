// The C ABI of Loom: constants, struct layouts and functions of loom.h. Made by tools/gen_bindings.py from api/loom.json.
// Structs begin with their size: Abi.struct(arena, Abi.STEP) makes one of zeros with its size set. 64-bit systems only.
package welvet.abi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Constants, struct layouts and functions of loom.h, for what the package welvet leaves out. */
public final class Abi {
    private Abi() {}

    private static final SymbolLookup LIBRARY = library();

    /** Finds the library that the property loom.library or the variable WELVET_LIBRARY names, or that of the system. */
    private static SymbolLookup library() {
        String system = System.mapLibraryName("loom");
        String variable = System.getenv("WELVET_LIBRARY");
        String name = System.getProperty("loom.library", variable == null || variable.isEmpty() ? system : variable);
        try {
            return SymbolLookup.libraryLookup(name, Arena.global());
        } catch (IllegalArgumentException e) {
            throw new UnsatisfiedLinkError(name + " cannot be loaded: set WELVET_LIBRARY to the path of " + system);
        }
    }

    private static MethodHandle function(String name, FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(LIBRARY.find(name).orElseThrow(), type);
    }

    /** A struct of zeros with its size set. */
    public static MemorySegment struct(Arena arena, StructLayout layout) {
        MemorySegment made = arena.allocate(layout);
        made.set(JAVA_INT, 0, (int) layout.byteSize());
        return made;
    }

    /** A text of the library that ends with a NUL. */
    public static String text(MemorySegment address) {
        return address.reinterpret(Long.MAX_VALUE).getString(0);
    }

    private static MemorySegment stub(Class<?> kind, Object target, FunctionDescriptor type, Arena arena) {
        try {
            MethodType call = type.toMethodType();
            MethodHandle apply = MethodHandles.lookup().findVirtual(kind, "apply", call).bindTo(target);
            return Linker.nativeLinker().upcallStub(apply, type, arena);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    // Version of this interface. Libraries of an equal version serve programs of older headers, whose structs may be
    // smaller.
    /** compared with loom_library_abi_version() when a program loads the library */
    public static final int ABI_VERSION = 1;

    // Status of a call: OK, or the reason why it failed. loom_last_error() has the text.
    /** done */
    public static final int OK = 0;
    /** an argument is outside what the function takes */
    public static final int INVALID_ARGUMENT = 1;
    /** a configuration contradicts itself */
    public static final int INVALID_CONFIG = 2;
    /** shapes that must fit do not */
    public static final int SHAPE_MISMATCH = 3;
    /** a size overflows */
    public static final int SIZE_OVERFLOW = 4;
    /** a number is outside its range */
    public static final int OUT_OF_RANGE = 5;
    /** an index is outside of what it counts */
    public static final int INDEX_OUT_OF_RANGE = 6;
    /** a value is infinite or NaN */
    public static final int NON_FINITE = 7;
    /** a name is unknown */
    public static final int UNKNOWN_NAME = 8;
    /** a key is unknown */
    public static final int UNKNOWN_KEY = 9;
    /** there is no such file or part */
    public static final int NOT_FOUND = 10;
    /** the system refused to read or write */
    public static final int IO_ERROR = 11;
    /** no room is left on the disk */
    public static final int DISK_FULL = 12;
    /** the content makes no sense */
    public static final int CORRUPT_DATA = 13;
    /** the content is known and not supported */
    public static final int UNSUPPORTED = 14;
    /** out of memory */
    public static final int OUT_OF_MEMORY = 15;
    /** the context of a session holds no more tokens */
    public static final int CONTEXT_FULL = 16;
    /** the model brings no chat template */
    public static final int NO_TEMPLATE = 17;
    /** a chat template failed */
    public static final int TEMPLATE_ERROR = 18;
    /** a limit that guards against hostile input was met */
    public static final int LIMIT_EXCEEDED = 19;
    /** links lead in a circle */
    public static final int LINK_CYCLE = 20;
    /** the caller's cancel ended the call */
    public static final int CANCELLED = 21;
    /** a tensor has no values */
    public static final int EMPTY_TENSOR = 22;
    /** a link leads backwards where none may */
    public static final int FEEDBACK_LINK = 23;
    /** a link leads to an empty cell */
    public static final int LINK_TO_EMPTY = 24;
    /** containers are nested too deep */
    public static final int NESTING_TOO_DEEP = 25;
    /** the object is not in the state that the call needs */
    public static final int INVALID_STATE = 26;
    /** there is no value so far */
    public static final int NO_VALUE = 27;
    /** there is no history so far */
    public static final int NO_HISTORY = 28;
    /** the format cannot hold the values exactly */
    public static final int LOSSY_SAVE = 29;
    /** another thread uses the object, or this call was made from a callback of it */
    public static final int BUSY = 30;
    /** the handle is none, was released, or is of another kind */
    public static final int BAD_HANDLE = 31;
    /** the graphics card is lost with the values on it; objects of language models continue on the CPU */
    public static final int DEVICE_LOST = 32;

    // Kind of the object that a handle refers to.
    public static final int KIND_NONE = 0;
    public static final int KIND_BLOB = 1;
    public static final int KIND_CANCEL = 2;
    public static final int KIND_THREADS = 3;
    public static final int KIND_TOKENIZER = 4;
    public static final int KIND_MODEL = 5;
    public static final int KIND_SESSION = 6;
    public static final int KIND_GENERATOR = 7;
    public static final int KIND_NETWORK = 8;
    public static final int KIND_NETWORK_SESSION = 9;
    public static final int KIND_TRAINER = 10;
    public static final int KIND_STEP_MESH = 11;
    public static final int KIND_STEP_STATE = 12;
    public static final int KIND_TWEEN = 13;
    public static final int KIND_MESH_TWEEN = 14;
    public static final int KIND_POPULATION = 15;
    public static final int KIND_CHAT = 16;
    public static final int KIND_REPLICA = 17;
    public static final int KIND_LAYER = 18;
    public static final int KIND_GRAPH = 19;
    public static final int KIND_GRAPH_SESSION = 20;
    public static final int KIND_ENCODER = 21;
    public static final int KIND_ADAPTATION = 22;
    public static final int KIND_JUDGE = 23;

    // The type of a tensor's numbers, numbered as in ONNX files. Values follow each other, little-endian; two codes
    // of 4 bits share a byte, the first one in the low bits.
    /** unspecified */
    public static final int ELEMENT_NONE = 0;
    public static final int ELEMENT_FLOAT32 = 1;
    public static final int ELEMENT_UINT8 = 2;
    public static final int ELEMENT_INT8 = 3;
    public static final int ELEMENT_UINT16 = 4;
    public static final int ELEMENT_INT16 = 5;
    public static final int ELEMENT_INT32 = 6;
    public static final int ELEMENT_INT64 = 7;
    /** a byte each, 0 or 1 */
    public static final int ELEMENT_BOOL = 9;
    public static final int ELEMENT_FLOAT16 = 10;
    public static final int ELEMENT_FLOAT64 = 11;
    public static final int ELEMENT_UINT32 = 12;
    public static final int ELEMENT_UINT64 = 13;
    public static final int ELEMENT_BFLOAT16 = 16;
    public static final int ELEMENT_FLOAT8_E4M3FN = 17;
    public static final int ELEMENT_FLOAT8_E5M2 = 19;
    public static final int ELEMENT_UINT4 = 21;
    public static final int ELEMENT_INT4 = 22;

    // How a training treats a folder that holds a run.
    /** begins; a folder that holds a run is INVALID_ARGUMENT */
    public static final int RUN_FRESH = 0;
    /** continues from the last checkpoint, or begins where there is none */
    public static final int RUN_RESUME = 1;
    /** begins again and overwrites the run */
    public static final int RUN_OVERWRITE = 2;

    // The place in a training that an event reports.
    public static final int TRAINING_BEGIN = 0;
    public static final int TRAINING_EPOCH_BEGIN = 1;
    public static final int TRAINING_BATCH_BEGIN = 2;
    public static final int TRAINING_BATCH_END = 3;
    public static final int TRAINING_VALIDATION_END = 4;
    public static final int TRAINING_CHECKPOINT = 5;
    public static final int TRAINING_EPOCH_END = 6;
    public static final int TRAINING_END = 7;

    // Why a training ended.
    /** it continues */
    public static final int TRAINING_STOP_NOT_YET = 0;
    /** after its last epoch */
    public static final int TRAINING_STOP_FINISHED = 1;
    /** validations no longer improved */
    public static final int TRAINING_STOP_EARLY_STOP = 2;
    /** a callback or cancel ended it; it can be resumed */
    public static final int TRAINING_STOP_STOPPED = 3;
    /** values were not finite; the outcome has a message */
    public static final int TRAINING_STOP_DIVERGED = 4;

    // A pass over the layers of a network.
    public static final int PASS_FORWARD = 0;
    /** gradients */
    public static final int PASS_BACKWARD = 1;
    /** of a step mesh */
    public static final int PASS_TICK = 2;
    /** gaps of target propagation */
    public static final int PASS_TWEEN = 3;

    // A file that Loom reads.
    /** the spec of a network */
    public static final int SCHEMA_NETWORK = 0;
    /** the config of a training */
    public static final int SCHEMA_TRAINING = 1;
    /** the config of an evolution */
    public static final int SCHEMA_EVOLUTION = 2;

    // How a network becomes bytes.
    /** the binary format: every weight as it is */
    public static final int FORMAT_ENTITY = 0;
    /** a JSON checkpoint: the spec, and packed weights in Base64 */
    public static final int FORMAT_JSON = 1;

    // How much a message matters.
    /** a call failed */
    public static final int LOG_ERROR = 1;
    /** a lost graphics card whose work continues on the CPU */
    public static final int LOG_INFO = 3;

    // How a text becomes a prompt.
    /** a question for a model with a chat template, a text to continue for the others */
    public static final int PROMPT_AUTO = 0;
    /** the text is continued as it is */
    public static final int PROMPT_RAW = 1;
    /** the text is a question; NO_TEMPLATE when the model brings no template */
    public static final int PROMPT_CHAT = 2;
    /** the text is a conversation for the chat template: a JSON list of messages with role and content */
    public static final int PROMPT_MESSAGES = 3;

    // Why a generation ended.
    /** it goes on */
    public static final int STOP_NOT_YET = 0;
    /** an end-of-sequence token */
    public static final int STOP_EOS = 1;
    /** a stop string */
    public static final int STOP_TEXT = 2;
    /** max_tokens */
    public static final int STOP_LENGTH = 3;
    /** the context is full */
    public static final int STOP_CONTEXT = 4;
    /** the caller's cancel */
    public static final int STOP_CANCELLED = 5;

    /** An event of a training, for on_training. It lasts during the call. */
    public static final StructLayout TRAINING_EVENT = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("phase"),
        JAVA_LONG.withName("epoch"),
        JAVA_LONG.withName("epochs"),
        JAVA_LONG.withName("batch"),
        JAVA_LONG.withName("batches"),
        JAVA_DOUBLE.withName("loss"),
        JAVA_DOUBLE.withName("learning_rate"),
        ADDRESS.withName("validation"),
        JAVA_INT.withName("stop"),
        MemoryLayout.paddingLayout(4)).withName("training_event");
    public static final long TRAINING_EVENT_PHASE = 4;
    /** from 0 */
    public static final long TRAINING_EVENT_EPOCH = 8;
    /** of the training */
    public static final long TRAINING_EVENT_EPOCHS = 16;
    /** of the epoch, from 0 */
    public static final long TRAINING_EVENT_BATCH = 24;
    /** of an epoch */
    public static final long TRAINING_EVENT_BATCHES = 32;
    /** of the last batch; at TRAINING_EPOCH_END the mean of the epoch */
    public static final long TRAINING_EVENT_LOSS = 40;
    /** of the last step */
    public static final long TRAINING_EVENT_LEARNING_RATE = 48;
    /** a JSON object of metrics after a validation, else NULL */
    public static final long TRAINING_EVENT_VALIDATION = 56;
    /** at TRAINING_END, else TRAINING_STOP_NOT_YET */
    public static final long TRAINING_EVENT_STOP = 64;

    /**
     * A step whose gradients the host provides, for on_shards. For each node of shards [first, first + count) that a
     * replica has summed, write the sum into the first-th part of gradients, its loss into losses[first] and count
     * into counts[first]. Counts inside a node stay 0. The event lasts during the call.
     */
    public static final StructLayout SHARDS_EVENT = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("epoch"),
        JAVA_LONG.withName("position"),
        JAVA_LONG.withName("step"),
        JAVA_DOUBLE.withName("loss_scale"),
        ADDRESS.withName("masters"),
        JAVA_LONG.withName("masters_size"),
        JAVA_LONG.withName("shards"),
        JAVA_LONG.withName("gradient_size"),
        ADDRESS.withName("gradients"),
        JAVA_LONG.withName("gradients_count"),
        ADDRESS.withName("losses"),
        JAVA_LONG.withName("losses_count"),
        ADDRESS.withName("counts"),
        JAVA_LONG.withName("counts_count")).withName("shards_event");
    /** argument of loom_replica_begin() after the replica, as are the next four */
    public static final long SHARDS_EVENT_EPOCH = 8;
    /** samples of the epoch before the batch */
    public static final long SHARDS_EVENT_POSITION = 16;
    public static final long SHARDS_EVENT_STEP = 24;
    public static final long SHARDS_EVENT_LOSS_SCALE = 32;
    /** the weights */
    public static final long SHARDS_EVENT_MASTERS = 40;
    public static final long SHARDS_EVENT_MASTERS_SIZE = 48;
    /** of the step */
    public static final long SHARDS_EVENT_SHARDS = 56;
    /** bytes of one part of gradients */
    public static final long SHARDS_EVENT_GRADIENT_SIZE = 64;
    /** to fill: `shards` parts, one after another */
    public static final long SHARDS_EVENT_GRADIENTS = 72;
    public static final long SHARDS_EVENT_GRADIENTS_COUNT = 80;
    /** to fill: one for each shard */
    public static final long SHARDS_EVENT_LOSSES = 88;
    public static final long SHARDS_EVENT_LOSSES_COUNT = 96;
    /** to fill: one for each shard, 0 at first */
    public static final long SHARDS_EVENT_COUNTS = 104;
    public static final long SHARDS_EVENT_COUNTS_COUNT = 112;

    /**
     * A layer that ran, for on_layer. The statistics are those of its output, or of the gradient or gap of its input.
     * The event lasts during the call.
     */
    public static final StructLayout LAYER_EVENT = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("pass"),
        ADDRESS.withName("path"),
        ADDRESS.withName("layer"),
        ADDRESS.withName("dtype"),
        JAVA_LONG.withName("cell"),
        JAVA_LONG.withName("step"),
        JAVA_DOUBLE.withName("mean"),
        JAVA_DOUBLE.withName("deviation"),
        JAVA_DOUBLE.withName("greatest"),
        JAVA_DOUBLE.withName("least"),
        JAVA_LONG.withName("active"),
        ADDRESS.withName("values")).withName("layer_event");
    public static final long LAYER_EVENT_PASS = 4;
    /** of the layer, "layers.3" */
    public static final long LAYER_EVENT_PATH = 8;
    /** its kind, "dense" */
    public static final long LAYER_EVENT_LAYER = 16;
    /** of its weights */
    public static final long LAYER_EVENT_DTYPE = 24;
    /** index of the cell that holds it */
    public static final long LAYER_EVENT_CELL = 32;
    /** of the call, or the number of ticks */
    public static final long LAYER_EVENT_STEP = 40;
    public static final long LAYER_EVENT_MEAN = 48;
    /** standard deviation */
    public static final long LAYER_EVENT_DEVIATION = 56;
    public static final long LAYER_EVENT_GREATEST = 64;
    public static final long LAYER_EVENT_LEAST = 72;
    /** values above 1e-6 in magnitude */
    public static final long LAYER_EVENT_ACTIVE = 80;
    /** float32 or float64, with its shape */
    public static final long LAYER_EVENT_VALUES = 88;

    /** Statistics of consecutive layers that ran, for on_window. The event lasts during the call. */
    public static final StructLayout WINDOW_EVENT = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("layers"),
        JAVA_DOUBLE.withName("mean"),
        JAVA_DOUBLE.withName("deviation"),
        JAVA_DOUBLE.withName("greatest"),
        JAVA_DOUBLE.withName("least"),
        JAVA_DOUBLE.withName("active"),
        JAVA_DOUBLE.withName("sparsity"),
        JAVA_LONG.withName("first_step"),
        JAVA_LONG.withName("last_step")).withName("window_event");
    /** in the window */
    public static final long WINDOW_EVENT_LAYERS = 8;
    /** average of the means of the layers */
    public static final long WINDOW_EVENT_MEAN = 16;
    /** average of their standard deviations */
    public static final long WINDOW_EVENT_DEVIATION = 24;
    /** of all values */
    public static final long WINDOW_EVENT_GREATEST = 32;
    /** of all values */
    public static final long WINDOW_EVENT_LEAST = 40;
    /** average number of values above 1e-6 in magnitude */
    public static final long WINDOW_EVENT_ACTIVE = 48;
    /** fraction of values that are not active, 0 to 1 */
    public static final long WINDOW_EVENT_SPARSITY = 56;
    /** of the first layer */
    public static final long WINDOW_EVENT_FIRST_STEP = 64;
    /** of the last layer */
    public static final long WINDOW_EVENT_LAST_STEP = 72;

    /** Networks of a generation that the host judges, for on_judging. The event lasts during the call. */
    public static final StructLayout JUDGING_EVENT = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("networks"),
        JAVA_LONG.withName("networks_size"),
        ADDRESS.withName("ends"),
        JAVA_LONG.withName("ends_count"),
        JAVA_LONG.withName("width"),
        ADDRESS.withName("fitness"),
        JAVA_LONG.withName("fitness_count")).withName("judging_event");
    /** files (.entity), one after another */
    public static final long JUDGING_EVENT_NETWORKS = 8;
    public static final long JUDGING_EVENT_NETWORKS_SIZE = 16;
    /** where each file ends in networks; one for each network */
    public static final long JUDGING_EVENT_ENDS = 24;
    public static final long JUDGING_EVENT_ENDS_COUNT = 32;
    /** numbers that loom_judge_fitness() gives for a network */
    public static final long JUDGING_EVENT_WIDTH = 40;
    /** to fill: width numbers for each network, one network after another; NaN ranks last */
    public static final long JUDGING_EVENT_FITNESS = 48;
    public static final long JUDGING_EVENT_FITNESS_COUNT = 56;

    /**
     * Values with their type and shape, row-major and little-endian. A function reads a tensor that goes in, and
     * fills the memory of one that it is to write. A function that gives a tensor sets all fields, and its memory
     * belongs to the object of the call.
     */
    public static final StructLayout TENSOR = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("element"),
        ADDRESS.withName("data"),
        JAVA_LONG.withName("data_size"),
        ADDRESS.withName("shape"),
        JAVA_LONG.withName("shape_count")).withName("tensor");
    /** type of the values */
    public static final long TENSOR_ELEMENT = 4;
    /** the values; the size is in bytes */
    public static final long TENSOR_DATA = 8;
    public static final long TENSOR_DATA_SIZE = 16;
    /** extents, outermost first; none for a scalar */
    public static final long TENSOR_SHAPE = 24;
    public static final long TENSOR_SHAPE_COUNT = 32;

    /** Callbacks of a custom layer kind. */
    public static final StructLayout KIND_CALLBACKS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("declare"),
        ADDRESS.withName("forward"),
        ADDRESS.withName("backward"),
        ADDRESS.withName("user")).withName("kind_callbacks");
    /** declares the weights by the settings; NULL: there are none */
    public static final long KIND_CALLBACKS_DECLARE = 8;
    /** says how the output follows from the input; the shape of its result is that of the output */
    public static final long KIND_CALLBACKS_FORWARD = 16;
    /**
     * says how the gradient of the input follows from that of the output, and adds to those of the weights; NULL:
     * layers of the kind do not learn. Targets go the same way
     */
    public static final long KIND_CALLBACKS_BACKWARD = 24;
    /** first argument of the callbacks */
    public static final long KIND_CALLBACKS_USER = 32;

    /**
     * Threads, instruction set, device and memory of a call or an object. No result depends on them, but for a device
     * of precision fast. A field that a call cannot use is INVALID_ARGUMENT with its name. Fields that are 0 mean the
     * default.
     */
    public static final StructLayout COMPUTE_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("threads"),
        JAVA_INT.withName("thread_count"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("isa"),
        ADDRESS.withName("device"),
        JAVA_LONG.withName("max_bytes")).withName("compute_options");
    /** shared workers; 0: workers of its own */
    public static final long COMPUTE_OPTIONS_THREADS = 8;
    /** of its own workers; 0: one per physical core */
    public static final long COMPUTE_OPTIONS_THREAD_COUNT = 16;
    /** an instruction set by name, to compare; NULL: the best one */
    public static final long COMPUTE_OPTIONS_ISA = 24;
    /**
     * where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; NULL: cpu. gpu:fast and
     * gpu:N:fast give up equal bits for speed
     */
    public static final long COMPUTE_OPTIONS_DEVICE = 32;
    /** of activations: a call that needs more is OUT_OF_MEMORY; 0: no limit */
    public static final long COMPUTE_OPTIONS_MAX_BYTES = 40;

    /** Fields that are 0 mean the default. */
    public static final StructLayout MODEL_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        JAVA_LONG.withName("cancel"),
        ADDRESS.withName("progress"),
        ADDRESS.withName("user"),
        ADDRESS.withName("dtype"),
        ADDRESS.withName("adapters"),
        JAVA_LONG.withName("adapters_count")).withName("model_options");
    /** workers for loading: threads or thread_count; NULL: one per physical core */
    public static final long MODEL_OPTIONS_COMPUTE = 8;
    /** ends the call with CANCELLED */
    public static final long MODEL_OPTIONS_CANCEL = 16;
    /** NULL: none */
    public static final long MODEL_OPTIONS_PROGRESS = 24;
    /** first argument of progress */
    public static final long MODEL_OPTIONS_USER = 32;
    /** quantises the matrices on load to this type, by name; NULL: as stored */
    public static final long MODEL_OPTIONS_DTYPE = 40;
    /** folders of PEFT adapters */
    public static final long MODEL_OPTIONS_ADAPTERS = 48;
    public static final long MODEL_OPTIONS_ADAPTERS_COUNT = 56;

    /** Fields that are 0 mean the default. */
    public static final StructLayout SESSION_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        JAVA_INT.withName("sequences"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("context_tokens"),
        ADDRESS.withName("kv_dtype"),
        JAVA_INT.withName("int8_activations"),
        MemoryLayout.paddingLayout(4)).withName("session_options");
    /** threads, instruction set and device; NULL: defaults */
    public static final long SESSION_OPTIONS_COMPUTE = 8;
    /** how many sequences it holds at once; 0: one */
    public static final long SESSION_OPTIONS_SEQUENCES = 16;
    /** longest sequence; 0: what the model was trained for, at most 4096 */
    public static final long SESSION_OPTIONS_CONTEXT_TOKENS = 24;
    /** of keys and values: float32 (the default), bfloat16, int8 */
    public static final long SESSION_OPTIONS_KV_DTYPE = 32;
    /** activations in 8 bits instead of 16: faster, a little less exact */
    public static final long SESSION_OPTIONS_INT8_ACTIVATIONS = 40;

    /**
     * Fields that are 0 mean the default: 128 tokens, the most likely token each time. The fields from plain_text on
     * say how a chat template writes the prompt; where none does (LOOM_PROMPT_RAW, ids) they are INVALID_ARGUMENT.
     */
    public static final StructLayout GENERATION_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("max_tokens"),
        JAVA_LONG.withName("min_tokens"),
        JAVA_LONG.withName("seed"),
        JAVA_FLOAT.withName("temperature"),
        JAVA_FLOAT.withName("top_p"),
        JAVA_FLOAT.withName("min_p"),
        JAVA_FLOAT.withName("typical_p"),
        JAVA_FLOAT.withName("repetition_penalty"),
        JAVA_FLOAT.withName("frequency_penalty"),
        JAVA_FLOAT.withName("presence_penalty"),
        JAVA_INT.withName("top_k"),
        JAVA_INT.withName("repetition_window"),
        JAVA_INT.withName("ignore_eos"),
        ADDRESS.withName("stop"),
        JAVA_LONG.withName("stop_count"),
        JAVA_INT.withName("speculate"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("draft_model"),
        JAVA_INT.withName("prompt_only"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("bias_ids"),
        JAVA_LONG.withName("bias_ids_count"),
        ADDRESS.withName("biases"),
        JAVA_LONG.withName("biases_count"),
        ADDRESS.withName("stop_ids"),
        JAVA_LONG.withName("stop_ids_count"),
        JAVA_INT.withName("logprobs"),
        JAVA_INT.withName("plain_text"),
        ADDRESS.withName("chat_template"),
        ADDRESS.withName("tools"),
        ADDRESS.withName("template_variables"),
        ADDRESS.withName("date"),
        JAVA_INT.withName("continue_final_message"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("schema"),
        ADDRESS.withName("grammar"),
        ADDRESS.withName("regex"),
        ADDRESS.withName("choices"),
        JAVA_LONG.withName("choices_count")).withName("generation_options");
    /** 0: 128 */
    public static final long GENERATION_OPTIONS_MAX_TOKENS = 8;
    /** end-of-sequence tokens are banned before */
    public static final long GENERATION_OPTIONS_MIN_TOKENS = 16;
    /** of the draws: equal seeds give equal texts */
    public static final long GENERATION_OPTIONS_SEED = 24;
    /** 0: the most likely token */
    public static final long GENERATION_OPTIONS_TEMPERATURE = 32;
    /** 0 or 1: off; a small number keeps the best token alone */
    public static final long GENERATION_OPTIONS_TOP_P = 36;
    /** 0: off */
    public static final long GENERATION_OPTIONS_MIN_P = 40;
    /** 0 or 1: off */
    public static final long GENERATION_OPTIONS_TYPICAL_P = 44;
    /** 0 or 1: off */
    public static final long GENERATION_OPTIONS_REPETITION_PENALTY = 48;
    /** 0: off */
    public static final long GENERATION_OPTIONS_FREQUENCY_PENALTY = 52;
    /** 0: off */
    public static final long GENERATION_OPTIONS_PRESENCE_PENALTY = 56;
    /** 0: off */
    public static final long GENERATION_OPTIONS_TOP_K = 60;
    /** tokens that the penalties look back on; 0: 64, -1: all */
    public static final long GENERATION_OPTIONS_REPETITION_WINDOW = 64;
    /** end-of-sequence tokens are banned throughout */
    public static final long GENERATION_OPTIONS_IGNORE_EOS = 68;
    /** the text ends before the first of them */
    public static final long GENERATION_OPTIONS_STOP = 72;
    public static final long GENERATION_OPTIONS_STOP_COUNT = 80;
    /** drafts, what followed the same tokens before, are checked several at once: the same text in less time */
    public static final long GENERATION_OPTIONS_SPECULATE = 88;
    /** a smaller model with the same tokens that drafts instead */
    public static final long GENERATION_OPTIONS_DRAFT_MODEL = 96;
    /** max_tokens is 0: the prompt is read and nothing is drawn; a max_tokens beside it is INVALID_ARGUMENT */
    public static final long GENERATION_OPTIONS_PROMPT_ONLY = 104;
    /** tokens whose logits change before each draw */
    public static final long GENERATION_OPTIONS_BIAS_IDS = 112;
    public static final long GENERATION_OPTIONS_BIAS_IDS_COUNT = 120;
    /** added to the logits of bias_ids, one each; -infinity: never drawn */
    public static final long GENERATION_OPTIONS_BIASES = 128;
    public static final long GENERATION_OPTIONS_BIASES_COUNT = 136;
    /** tokens that end the text, beside the model's own */
    public static final long GENERATION_OPTIONS_STOP_IDS = 144;
    public static final long GENERATION_OPTIONS_STOP_IDS_COUNT = 152;
    /** how many of the best tokens loom_generator_logprobs() reports for each draw; 0: none */
    public static final long GENERATION_OPTIONS_LOGPROBS = 160;
    /**
     * control tokens in a question or in messages (as &lt;|im_end|&gt;) are read as text: for texts of strangers.
     * Control tokens of the chat template stay
     */
    public static final long GENERATION_OPTIONS_PLAIN_TEXT = 164;
    /**
     * in place of the model's default: the name of another template of the model, one of Loom's own (chatml, llama2,
     * llama3, mistral, tinyllama, zephyr, plain, bitnet_instruction, bitnet_microsoft), or the text of a template
     */
    public static final long GENERATION_OPTIONS_CHAT_TEMPLATE = 168;
    /** JSON: a list of functions that the chat template describes to the model */
    public static final long GENERATION_OPTIONS_TOOLS = 176;
    /** JSON: an object of variables that the chat template reads, as {"enable_thinking": false} */
    public static final long GENERATION_OPTIONS_TEMPLATE_VARIABLES = 184;
    /** YYYY-MM-DD, for chat templates that write the day */
    public static final long GENERATION_OPTIONS_DATE = 192;
    /** with LOOM_PROMPT_MESSAGES: the model continues the last message in place of answering it */
    public static final long GENERATION_OPTIONS_CONTINUE_FINAL_MESSAGE = 200;
    /**
     * a JSON Schema that the text satisfies, or begins to satisfy where the answer is cut. At most one of this and
     * the next three is set; what they have and Loom does not support is INVALID_ARGUMENT, by name
     */
    public static final long GENERATION_OPTIONS_SCHEMA = 208;
    /** a grammar in llama.cpp's GBNF, likewise */
    public static final long GENERATION_OPTIONS_GRAMMAR = 216;
    /** a regular expression that matches the whole text, likewise */
    public static final long GENERATION_OPTIONS_REGEX = 224;
    /** texts of which the answer is one */
    public static final long GENERATION_OPTIONS_CHOICES = 232;
    public static final long GENERATION_OPTIONS_CHOICES_COUNT = 240;

    /** Fields that are 0 mean the default. */
    public static final StructLayout NETWORK_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("lenient"),
        JAVA_INT.withName("uninitialised"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("max_bytes")).withName("network_options");
    /** unknown keys are warnings, not errors; loom_network_info() lists them */
    public static final long NETWORK_OPTIONS_LENIENT = 4;
    /** weights that the source does not bring stay without values */
    public static final long NETWORK_OPTIONS_UNINITIALISED = 8;
    /** of memory for weights that are drawn: OUT_OF_MEMORY beyond; 0: no limit */
    public static final long NETWORK_OPTIONS_MAX_BYTES = 16;

    /** Fields that are 0 mean the default. */
    public static final StructLayout NETWORK_SESSION_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        JAVA_INT.withName("backward"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("context"),
        ADDRESS.withName("kv_dtype"),
        JAVA_LONG.withName("checkpoint_every")).withName("network_session_options");
    /** threads, instruction set, device and memory; NULL: defaults */
    public static final long NETWORK_SESSION_OPTIONS_COMPUTE = 8;
    /** a forward keeps what loom_network_session_backward() needs */
    public static final long NETWORK_SESSION_OPTIONS_BACKWARD = 16;
    /**
     * above 0: attention and recurrent layers go on from call to call, as one sequence per sample of up to so many
     * positions; not with backward
     */
    public static final long NETWORK_SESSION_OPTIONS_CONTEXT = 24;
    /** of kept keys and values: float32 (the default), bfloat16, int8 */
    public static final long NETWORK_SESSION_OPTIONS_KV_DTYPE = 32;
    /**
     * above 0: a forward keeps the inputs of each such number of cells alone, and backward computes the rest again
     */
    public static final long NETWORK_SESSION_OPTIONS_CHECKPOINT_EVERY = 40;

    /** Options and side inputs of a forward. Fields that are 0 mean none. */
    public static final StructLayout PASS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("training"),
        JAVA_INT.withName("step"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("lengths"),
        JAVA_LONG.withName("lengths_count"),
        ADDRESS.withName("external"),
        ADDRESS.withName("mask"),
        JAVA_LONG.withName("cancel")).withName("pass");
    /** dropout, batch statistics */
    public static final long PASS_TRAINING = 4;
    /** of the random streams of dropout */
    public static final long PASS_STEP = 8;
    /** of a ragged batch: valid steps of each sample, the first ones */
    public static final long PASS_LENGTHS = 16;
    public static final long PASS_LENGTHS_COUNT = 24;
    /** input of the layers that read an external one; NULL: none */
    public static final long PASS_EXTERNAL = 32;
    /** of attention; NULL: none */
    public static final long PASS_MASK = 40;
    /** read between cells: ends the call with CANCELLED */
    public static final long PASS_CANCEL = 48;

    /** Samples that a network learns from, with classes or target values, as its loss takes them. */
    public static final StructLayout BATCH = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("inputs"),
        ADDRESS.withName("targets")).withName("batch");
    /** float32 or the network's element, samples first */
    public static final long BATCH_INPUTS = 8;
    /**
     * int32: a class for each row of the output; float32 or the network's element: as many values for each sample as
     * the output has. The samples come first; no shape is needed
     */
    public static final long BATCH_TARGETS = 16;

    /** Result of one step of a training. */
    public static final StructLayout TRAINING_STEP = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_DOUBLE.withName("loss"),
        JAVA_DOUBLE.withName("learning_rate"),
        JAVA_DOUBLE.withName("gradient_norm"),
        JAVA_INT.withName("skipped"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("why"),
        JAVA_LONG.withName("why_size")).withName("training_step");
    /** of the batch, before the step */
    public static final long TRAINING_STEP_LOSS = 8;
    /** of the step */
    public static final long TRAINING_STEP_LEARNING_RATE = 16;
    /** 0 unless the config clips by it */
    public static final long TRAINING_STEP_GRADIENT_NORM = 24;
    /** a loss, a gradient or an update was not finite: everything is as before */
    public static final long TRAINING_STEP_SKIPPED = 32;
    /** of a skipped step; lasts until the next call with the trainer */
    public static final long TRAINING_STEP_WHY = 40;
    public static final long TRAINING_STEP_WHY_SIZE = 48;

    /** Fields that are 0 mean the default. */
    public static final StructLayout TRAINING_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        ADDRESS.withName("out"),
        ADDRESS.withName("folder"),
        JAVA_INT.withName("start"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("epochs"),
        JAVA_LONG.withName("cancel"),
        ADDRESS.withName("progress"),
        ADDRESS.withName("user"),
        ADDRESS.withName("shards")).withName("training_options");
    /** threads, instruction set, device and memory; NULL: defaults */
    public static final long TRAINING_OPTIONS_COMPUTE = 8;
    /** folder of the run: journal, checkpoint, model, report. NULL: none, or beside a config file */
    public static final long TRAINING_OPTIONS_OUT = 16;
    /** where relative paths of the config start; NULL: the folder of its file */
    public static final long TRAINING_OPTIONS_FOLDER = 24;
    public static final long TRAINING_OPTIONS_START = 32;
    /** in place of the config's; 0: its own */
    public static final long TRAINING_OPTIONS_EPOCHS = 40;
    /** ends the run after the current step, with its checkpoint */
    public static final long TRAINING_OPTIONS_CANCEL = 48;
    /** NULL: none */
    public static final long TRAINING_OPTIONS_PROGRESS = 56;
    /** first argument of progress and shards */
    public static final long TRAINING_OPTIONS_USER = 64;
    /** gives the gradients of every step; NULL: the run computes them */
    public static final long TRAINING_OPTIONS_SHARDS = 72;

    /** Fields that are 0 mean the default. */
    public static final StructLayout EVOLUTION_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        ADDRESS.withName("out"),
        ADDRESS.withName("folder"),
        JAVA_INT.withName("start"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("generations"),
        JAVA_LONG.withName("cancel"),
        ADDRESS.withName("progress"),
        ADDRESS.withName("user"),
        ADDRESS.withName("judging")).withName("evolution_options");
    /** threads, instruction set and device that judge networks; NULL: defaults. A device is exact, never fast */
    public static final long EVOLUTION_OPTIONS_COMPUTE = 8;
    /** folder of the run; NULL: none, or beside a config file */
    public static final long EVOLUTION_OPTIONS_OUT = 16;
    /** where relative paths of the config start; NULL: the folder of its file */
    public static final long EVOLUTION_OPTIONS_FOLDER = 24;
    public static final long EVOLUTION_OPTIONS_START = 32;
    /** in place of the config's; 0: its own */
    public static final long EVOLUTION_OPTIONS_GENERATIONS = 40;
    /** ends the run after the current generation */
    public static final long EVOLUTION_OPTIONS_CANCEL = 48;
    /** NULL: none */
    public static final long EVOLUTION_OPTIONS_PROGRESS = 56;
    /** first argument of the callbacks */
    public static final long EVOLUTION_OPTIONS_USER = 64;
    /** judges the networks of a generation; NULL: the run does */
    public static final long EVOLUTION_OPTIONS_JUDGING = 72;

    /** Fields that are 0 mean the default. */
    public static final StructLayout STEP_MESH_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        JAVA_LONG.withName("history"),
        JAVA_INT.withName("backward"),
        JAVA_INT.withName("keep_inputs")).withName("step_mesh_options");
    /** threads, instruction set and device; NULL: defaults */
    public static final long STEP_MESH_OPTIONS_COMPUTE = 8;
    /** captured ticks that a state keeps, at most 65536; 0: none */
    public static final long STEP_MESH_OPTIONS_HISTORY = 16;
    /** loom_step_mesh_backward() will be called */
    public static final long STEP_MESH_OPTIONS_BACKWARD = 24;
    /** every tick leaves what it read, which learning by targets starts from */
    public static final long STEP_MESH_OPTIONS_KEEP_INPUTS = 28;

    /** Fields that are 0 mean the default. */
    public static final StructLayout TICK_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("ticks"),
        JAVA_INT.withName("capture"),
        JAVA_INT.withName("training"),
        JAVA_LONG.withName("cancel")).withName("tick_options");
    /** 0: one */
    public static final long TICK_OPTIONS_TICKS = 8;
    /** keeps the values of these ticks that backward needs */
    public static final long TICK_OPTIONS_CAPTURE = 16;
    /** dropout, batch statistics */
    public static final long TICK_OPTIONS_TRAINING = 20;
    /** read between cells: ends the call with CANCELLED */
    public static final long TICK_OPTIONS_CANCEL = 24;

    /** Fields that are 0 mean the default. */
    public static final StructLayout FILE_CONVERT_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        ADDRESS.withName("dtype"),
        ADDRESS.withName("adapter"),
        ADDRESS.withName("progress"),
        ADDRESS.withName("user"),
        JAVA_INT.withName("overwrite"),
        MemoryLayout.paddingLayout(4)).withName("file_convert_options");
    /** workers of loom_file_convert(): thread_count; NULL: one per physical core */
    public static final long FILE_CONVERT_OPTIONS_COMPUTE = 8;
    /** matrices to this type, by name; NULL: as stored */
    public static final long FILE_CONVERT_OPTIONS_DTYPE = 16;
    /** folder of an adapter to merge into the weights */
    public static final long FILE_CONVERT_OPTIONS_ADAPTER = 24;
    /** NULL: none */
    public static final long FILE_CONVERT_OPTIONS_PROGRESS = 32;
    /** first argument of progress */
    public static final long FILE_CONVERT_OPTIONS_USER = 40;
    /** replaces a file of another kind than the one that is written, too */
    public static final long FILE_CONVERT_OPTIONS_OVERWRITE = 48;

    /** Result of one call of loom_generator_next(). */
    public static final StructLayout STEP = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("text"),
        JAVA_LONG.withName("text_size"),
        JAVA_LONG.withName("prompt_tokens"),
        JAVA_LONG.withName("generated_tokens"),
        JAVA_INT.withName("stop"),
        MemoryLayout.paddingLayout(4)).withName("step");
    /**
     * text that can no longer change, following the pieces before; may be empty; lasts until the next call with the
     * generator
     */
    public static final long STEP_TEXT = 8;
    public static final long STEP_TEXT_SIZE = 16;
    /** of the prompt read so far */
    public static final long STEP_PROMPT_TOKENS = 24;
    /** drawn so far */
    public static final long STEP_GENERATED_TOKENS = 32;
    /** STOP_NOT_YET: call again */
    public static final long STEP_STOP = 40;

    /** A generation so far, or whole. Pointers last until the next call with the generator. */
    public static final StructLayout GENERATION = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("text"),
        JAVA_LONG.withName("text_size"),
        ADDRESS.withName("ids"),
        JAVA_LONG.withName("ids_count"),
        JAVA_LONG.withName("prompt_tokens"),
        JAVA_LONG.withName("dropped_bytes"),
        JAVA_DOUBLE.withName("prefill_seconds"),
        JAVA_DOUBLE.withName("decode_seconds"),
        JAVA_INT.withName("stop"),
        MemoryLayout.sequenceLayout(32, JAVA_BYTE).withName("hash"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("drafted"),
        JAVA_LONG.withName("accepted"),
        JAVA_LONG.withName("passes")).withName("generation");
    /** without stop text and end-of-sequence token; bytes, which a model may leave without a UTF-8 end */
    public static final long GENERATION_TEXT = 8;
    public static final long GENERATION_TEXT_SIZE = 16;
    /** drawn tokens, the end-of-sequence token not included */
    public static final long GENERATION_IDS = 24;
    public static final long GENERATION_IDS_COUNT = 32;
    public static final long GENERATION_PROMPT_TOKENS = 40;
    /** of the prompt's text that have no token in the vocabulary */
    public static final long GENERATION_DROPPED_BYTES = 48;
    /** spent on reading the prompt */
    public static final long GENERATION_PREFILL_SECONDS = 56;
    /** spent on drawing */
    public static final long GENERATION_DECODE_SECONDS = 64;
    public static final long GENERATION_STOP = 72;
    /** SHA-256 of the ids and the bits of the last logits; zero before the end */
    public static final long GENERATION_HASH = 76;
    /** tokens that were drafted; 0 without speculation */
    public static final long GENERATION_DRAFTED = 112;
    /** of these, that came true and took no pass of their own */
    public static final long GENERATION_ACCEPTED = 120;
    /** of the model over drawn tokens, with their drafts */
    public static final long GENERATION_PASSES = 128;

    /** Fields that are 0 mean the default. */
    public static final StructLayout GRAPH_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("max_bytes")).withName("graph_options");
    /** of all values of a run: more is OUT_OF_MEMORY, one value that takes all of it SIZE_OVERFLOW; 0: 16 GiB */
    public static final long GRAPH_OPTIONS_MAX_BYTES = 8;

    /** Fields that are 0 mean the default. */
    public static final StructLayout ENCODER_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        ADDRESS.withName("dtype"),
        ADDRESS.withName("prompt"),
        ADDRESS.withName("prompt_name")).withName("encoder_options");
    /** threads, instruction set, device and memory; NULL: defaults */
    public static final long ENCODER_OPTIONS_COMPUTE = 8;
    /** quantises the matrices on load to this type, by name; NULL: float32 */
    public static final long ENCODER_OPTIONS_DTYPE = 16;
    /** put before every text; the empty text puts nothing. NULL: the prompt that prompt_name names */
    public static final long ENCODER_OPTIONS_PROMPT = 24;
    /**
     * a prompt of the folder by its name, such as query; not beside prompt. NULL: the folder's default one, if any
     */
    public static final long ENCODER_OPTIONS_PROMPT_NAME = 32;

    /** Fields that are 0 mean the default. */
    public static final StructLayout FILE_OPEN_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("compute"),
        ADDRESS.withName("hints"),
        JAVA_LONG.withName("cancel"),
        ADDRESS.withName("progress"),
        ADDRESS.withName("user"),
        ADDRESS.withName("dtype"),
        JAVA_INT.withName("lenient"),
        MemoryLayout.paddingLayout(4)).withName("file_open_options");
    /**
     * workers for loading, of an encoder, and of the sessions of a graph that name none: threads or thread_count; not
     * for a network. NULL: one per physical core
     */
    public static final long FILE_OPEN_OPTIONS_COMPUTE = 8;
    /** a JSON file of what the shapes of bare tensors do not say (docs/reference/formats.md); NULL: none */
    public static final long FILE_OPEN_OPTIONS_HINTS = 16;
    /** ends the loading of a language model with CANCELLED */
    public static final long FILE_OPEN_OPTIONS_CANCEL = 24;
    /** of a language model; NULL: none */
    public static final long FILE_OPEN_OPTIONS_PROGRESS = 32;
    /** first argument of progress */
    public static final long FILE_OPEN_OPTIONS_USER = 40;
    /** quantises the matrices of a language model or an encoder on load; not for other files. NULL: as stored */
    public static final long FILE_OPEN_OPTIONS_DTYPE = 48;
    /** unknown keys of a network's spec are warnings, not errors; not for other files */
    public static final long FILE_OPEN_OPTIONS_LENIENT = 56;

    /** Fields that are 0 mean the default. */
    public static final StructLayout FILE_EXPORT_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("input_shape"),
        JAVA_LONG.withName("input_shape_count"),
        JAVA_INT.withName("dequantize"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("hints"),
        ADDRESS.withName("dtype"),
        JAVA_LONG.withName("cancel"),
        ADDRESS.withName("progress"),
        ADDRESS.withName("user"),
        JAVA_INT.withName("overwrite"),
        MemoryLayout.paddingLayout(4)).withName("file_export_options");
    /** ONNX: of one sample; of size 0: the network's own */
    public static final long FILE_EXPORT_OPTIONS_INPUT_SHAPE = 8;
    public static final long FILE_EXPORT_OPTIONS_INPUT_SHAPE_COUNT = 16;
    /** networks: integer weights as the float32 values that they stand for */
    public static final long FILE_EXPORT_OPTIONS_DEQUANTIZE = 24;
    /** of a file of bare tensors: a JSON file (docs/reference/formats.md); NULL: none */
    public static final long FILE_EXPORT_OPTIONS_HINTS = 32;
    /** language models: matrices to this type, by name; NULL: as stored */
    public static final long FILE_EXPORT_OPTIONS_DTYPE = 40;
    /** ends the call with CANCELLED */
    public static final long FILE_EXPORT_OPTIONS_CANCEL = 48;
    /** of a language model; NULL: none */
    public static final long FILE_EXPORT_OPTIONS_PROGRESS = 56;
    /** first argument of progress */
    public static final long FILE_EXPORT_OPTIONS_USER = 64;
    /** replaces a file of another kind than the one that is written, too */
    public static final long FILE_EXPORT_OPTIONS_OVERWRITE = 72;

    /**
     * Called on the calling thread with the fraction that is done, from 0 to 1. Return 1 to continue, 0 to cancel the
     * call.
     */
    public interface OnProgress {
        int apply(MemorySegment user, double fraction);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnProgress.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_DOUBLE), arena);
        }
    }

    /**
     * Called on the calling thread with each event of a training. Return 1 to continue, 0 to stop training after this
     * event.
     */
    public interface OnTraining {
        int apply(MemorySegment user, MemorySegment event);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnTraining.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
        }
    }

    /**
     * Called on the calling thread for each step of a training whose gradients other processes compute. Fill
     * gradients, losses and counts of the event. Return 1 to continue, 0 to stop the training before this step.
     */
    public interface OnShards {
        int apply(MemorySegment user, MemorySegment event);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnShards.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
        }
    }

    /**
     * Called on the calling thread after each generation with its report, a JSON object. Return 1 to continue, 0 to
     * end the evolution.
     */
    public interface OnGeneration {
        int apply(MemorySegment user, MemorySegment report);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnGeneration.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
        }
    }

    /**
     * Called on the calling thread after each layer of a pass, children before their container. Return 1 to continue,
     * 0 to end the watch.
     */
    public interface OnLayer {
        int apply(MemorySegment user, MemorySegment event);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnLayer.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
        }
    }

    /** Called on the calling thread after each window of layers. Return 1 to continue, 0 to end the watch. */
    public interface OnWindow {
        int apply(MemorySegment user, MemorySegment event);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnWindow.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
        }
    }

    /**
     * Called on the calling thread for each generation of an evolution whose networks other processes judge. Fill the
     * fitness of the event. Return 1 to continue, 0 to end the evolution with CANCELLED.
     */
    public interface OnJudging {
        int apply(MemorySegment user, MemorySegment event);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnJudging.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
        }
    }

    /** Reads up to `size` bytes from `offset` on into `to` and returns how many, 0 for none; -1 is a failure. */
    public interface ReadAt {
        long apply(MemorySegment user, long offset, MemorySegment to, long size);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(ReadAt.class, this, FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG), arena);
        }
    }

    /** Function that a worker of the host calls. */
    public interface Work {
        void apply(MemorySegment job, int worker);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(Work.class, this, FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT), arena);
        }
    }

    /**
     * Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns when all
     * have returned.
     */
    public interface RunWork {
        void apply(MemorySegment user, MemorySegment work, MemorySegment job, int workers);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(RunWork.class, this, FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS, JAVA_INT), arena);
        }
    }

    /** Takes one line. */
    public interface OnLog {
        void apply(MemorySegment user, int level, MemorySegment text);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnLog.class, this, FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT, ADDRESS), arena);
        }
    }

    /**
     * Gives so many bytes at a multiple of `alignment`, a power of two; NULL: there are none, and the call that asked
     * is OUT_OF_MEMORY. May come from any thread that calls.
     */
    public interface AllocateMemory {
        MemorySegment apply(MemorySegment user, long bytes, long alignment);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(AllocateMemory.class, this, FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG), arena);
        }
    }

    /** Takes back what allocate_memory gave. */
    public interface FreeMemory {
        void apply(MemorySegment user, MemorySegment memory, long bytes);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(FreeMemory.class, this, FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, JAVA_LONG), arena);
        }
    }

    /**
     * A callback of a layer kind of the host's own. It describes the computation with loom_layer functions and
     * returns LOOM_OK, or the status of one of them that failed. The description must depend on settings and shapes
     * only. Several threads may call it at the same time.
     */
    public interface LayerRule {
        int apply(MemorySegment user, long layer);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(LayerRule.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG), arena);
        }
    }

    /** Called when the library finds itself broken; the process ends when it returns. */
    public interface OnFatal {
        void apply(MemorySegment user, MemorySegment text);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnFatal.class, this, FunctionDescriptor.ofVoid(ADDRESS, ADDRESS), arena);
        }
    }

    private static final class CallVersion {
        static final MethodHandle CALL = function(
            "loom_version",
            FunctionDescriptor.of(ADDRESS));
    }

    /** Returns the version, "0.1.0". */
    public static MemorySegment version() {
        try {
            return (MemorySegment) CallVersion.CALL.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLibraryAbiVersion {
        static final MethodHandle CALL = function(
            "loom_library_abi_version",
            FunctionDescriptor.of(JAVA_INT));
    }

    /**
     * Returns the LOOM_ABI_VERSION of the library. A program that was compiled with another one must not call other
     * functions.
     */
    public static int libraryAbiVersion() {
        try {
            return (int) CallLibraryAbiVersion.CALL.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLastError {
        static final MethodHandle CALL = function(
            "loom_last_error",
            FunctionDescriptor.of(ADDRESS));
    }

    /**
     * Returns the text of the last call on this thread that failed, one line; empty before any. It lasts until the
     * next one fails.
     */
    public static MemorySegment lastError() {
        try {
            return (MemorySegment) CallLastError.CALL.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStopName {
        static final MethodHandle CALL = function(
            "loom_stop_name",
            FunctionDescriptor.of(ADDRESS, JAVA_INT));
    }

    /**
     * Returns the name of a reason that a generation ended for, as files and receipts have it: eos, stop, length,
     * context or cancelled; "" for STOP_NOT_YET and for a number that is none.
     */
    public static MemorySegment stopName(int stop) {
        try {
            return (MemorySegment) CallStopName.CALL.invokeExact(stop);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainingStopName {
        static final MethodHandle CALL = function(
            "loom_training_stop_name",
            FunctionDescriptor.of(ADDRESS, JAVA_INT));
    }

    /**
     * Returns the name of a reason that a training ended for, as the stop_reason of outcomes, journals and reports:
     * finished, early_stop, stopped or diverged; "" for TRAINING_STOP_NOT_YET and for a number that is none.
     */
    public static MemorySegment trainingStopName(int stop) {
        try {
            return (MemorySegment) CallTrainingStopName.CALL.invokeExact(stop);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStatusName {
        static final MethodHandle CALL = function(
            "loom_status_name",
            FunctionDescriptor.of(ADDRESS, JAVA_INT));
    }

    /** Returns the name of a status, "Busy"; "Unknown" for a number that is none. */
    public static MemorySegment statusName(int status) {
        try {
            return (MemorySegment) CallStatusName.CALL.invokeExact(status);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNumericsVersion {
        static final MethodHandle CALL = function(
            "loom_numerics_version",
            FunctionDescriptor.of(JAVA_INT, ADDRESS));
    }

    /** Gives the version of the arithmetic: results of equal versions have equal bits. */
    public static int numericsVersion(MemorySegment version) {
        try {
            return (int) CallNumericsVersion.CALL.invokeExact(version);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSystemInfo {
        static final MethodHandle CALL = function(
            "loom_system_info",
            FunctionDescriptor.of(JAVA_INT, ADDRESS));
    }

    /** Gives a JSON object: version, CPU, instruction sets, cores. */
    public static int systemInfo(MemorySegment info) {
        try {
            return (int) CallSystemInfo.CALL.invokeExact(info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallVerify {
        static final MethodHandle CALL = function(
            "loom_verify",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    }

    /**
     * Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
     * Takes seconds. (compute: thread_count and isa; NULL: defaults)
     */
    public static int verify(MemorySegment compute, MemorySegment digest) {
        try {
            return (int) CallVerify.CALL.invokeExact(compute, digest);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGpuReport {
        static final MethodHandle CALL = function(
            "loom_gpu_report",
            FunctionDescriptor.of(JAVA_INT, ADDRESS));
    }

    /**
     * Gives a JSON object with the graphics cards that options can name in their field device: adapters, each with
     * device ("gpu:0"), name, driver, backend, kind, limits and tier. IO_ERROR with the reason in one line where
     * there is none. With the suffix :fast (gpu:0:fast) a card or auto need not be exact: its results differ from
     * those of other devices (docs/guide/gpu.md).
     */
    public static int gpuReport(MemorySegment report) {
        try {
            return (int) CallGpuReport.CALL.invokeExact(report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallDtypeSimulate {
        static final MethodHandle CALL = function(
            "loom_dtype_simulate",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG));
    }

    /**
     * Gives what numbers become in a numeric type: encoded, with scales estimated as those of a matrix of such rows,
     * and decoded. (columns: of a row; 0: all are one row; to: as many)
     */
    public static int dtypeSimulate(MemorySegment values, long valuesCount, long columns, MemorySegment dtype,
        MemorySegment to, long toCount) {
        try {
            return (int) CallDtypeSimulate.CALL.invokeExact(values, valuesCount, columns, dtype, to, toCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallRetain {
        static final MethodHandle CALL = function(
            "loom_retain",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Increments the reference count of an object. */
    public static int retain(long handle) {
        try {
            return (int) CallRetain.CALL.invokeExact(handle);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallRelease {
        static final MethodHandle CALL = function(
            "loom_release",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /**
     * Decrements the reference count of an object. At 0 the object is freed, at once or when the calls that use it
     * have returned. The handle 0 is ignored.
     */
    public static int release(long handle) {
        try {
            return (int) CallRelease.CALL.invokeExact(handle);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallKindOf {
        static final MethodHandle CALL = function(
            "loom_kind_of",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives what the handle stands for. */
    public static int kindOf(long handle, MemorySegment kind) {
        try {
            return (int) CallKindOf.CALL.invokeExact(handle, kind);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallBlobView {
        static final MethodHandle CALL = function(
            "loom_blob_view",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Gives the bytes of a blob; they last until it is released. A text ends with a NUL that the size does not count.
     */
    public static int blobView(long blob, MemorySegment data, MemorySegment dataSize) {
        try {
            return (int) CallBlobView.CALL.invokeExact(blob, data, dataSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallCancelCreate {
        static final MethodHandle CALL = function(
            "loom_cancel_create",
            FunctionDescriptor.of(JAVA_INT, ADDRESS));
    }

    /** Makes a flag that is not set. */
    public static int cancelCreate(MemorySegment cancel) {
        try {
            return (int) CallCancelCreate.CALL.invokeExact(cancel);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallCancelSet {
        static final MethodHandle CALL = function(
            "loom_cancel_set",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    }

    /** Sets or clears the flag, from any thread. */
    public static int cancelSet(long cancel, int set) {
        try {
            return (int) CallCancelSet.CALL.invokeExact(cancel, set);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallThreadsCreate {
        static final MethodHandle CALL = function(
            "loom_threads_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
    }

    /**
     * Starts workers. Sessions that use them at the same time take turns; no result depends on it. (count: the
     * caller's thread included; 0: one per physical core)
     */
    public static int threadsCreate(int count, MemorySegment threads) {
        try {
            return (int) CallThreadsCreate.CALL.invokeExact(count, threads);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallThreadsFromHost {
        static final MethodHandle CALL = function(
            "loom_threads_from_host",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Uses the host's own workers. (count: at least 1) */
    public static int threadsFromHost(int count, MemorySegment run, MemorySegment user, MemorySegment threads) {
        try {
            return (int) CallThreadsFromHost.CALL.invokeExact(count, run, user, threads);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSetLog {
        static final MethodHandle CALL = function(
            "loom_set_log",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    }

    /**
     * Reports every call that fails (LOOM_LOG_ERROR), and every lost graphics card whose work continues on the CPU
     * (LOOM_LOG_INFO), to the host, on the thread of the call. The hook may call other functions; their failures are
     * not reported.
     */
    public static int setLog(MemorySegment log, MemorySegment user) {
        try {
            return (int) CallSetLog.CALL.invokeExact(log, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSetMemory {
        static final MethodHandle CALL = function(
            "loom_set_memory",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Takes the memory of tensors from the host: weights, activations, keys and values. Memory goes back to the
     * functions that gave it. Both functions are called from several threads at once.
     */
    public static int setMemory(MemorySegment allocate, MemorySegment free, MemorySegment user) {
        try {
            return (int) CallSetMemory.CALL.invokeExact(allocate, free, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSetFatal {
        static final MethodHandle CALL = function(
            "loom_set_fatal",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    }

    /** Reports a broken invariant of the library to the host before the process ends. */
    public static int setFatal(MemorySegment fatal, MemorySegment user) {
        try {
            return (int) CallSetFatal.CALL.invokeExact(fatal, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerOpen {
        static final MethodHandle CALL = function(
            "loom_tokenizer_open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    }

    /** Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json. */
    public static int tokenizerOpen(MemorySegment path, MemorySegment tokenizer) {
        try {
            return (int) CallTokenizerOpen.CALL.invokeExact(path, tokenizer);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerFromJson {
        static final MethodHandle CALL = function(
            "loom_tokenizer_from_json",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Reads a tokenizer.json from memory. */
    public static int tokenizerFromJson(MemorySegment json, long jsonSize, MemorySegment tokenizer) {
        try {
            return (int) CallTokenizerFromJson.CALL.invokeExact(json, jsonSize, tokenizer);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerFromMemory {
        static final MethodHandle CALL = function(
            "loom_tokenizer_from_memory",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Reads the tokenizer of a GGUF file, an .entity or a tokenizer.json from memory. */
    public static int tokenizerFromMemory(MemorySegment data, long dataSize, MemorySegment tokenizer) {
        try {
            return (int) CallTokenizerFromMemory.CALL.invokeExact(data, dataSize, tokenizer);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerEncode {
        static final MethodHandle CALL = function(
            "loom_tokenizer_encode",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS));
    }

    /**
     * Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a text;
     * parse_special: a marker in the text is the marker; 0: it is ordinary text)
     */
    public static int tokenizerEncode(long tokenizer, MemorySegment text, long textSize, int addSpecialTokens,
        int parseSpecial, MemorySegment ids) {
        try {
            return (int) CallTokenizerEncode.CALL.invokeExact(tokenizer, text, textSize, addSpecialTokens,
                parseSpecial, ids);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerDecode {
        static final MethodHandle CALL = function(
            "loom_tokenizer_decode",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS));
    }

    /** Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add nothing. */
    public static int tokenizerDecode(long tokenizer, MemorySegment ids, long idsCount, int skipSpecialTokens,
        MemorySegment text) {
        try {
            return (int) CallTokenizerDecode.CALL.invokeExact(tokenizer, ids, idsCount, skipSpecialTokens, text);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerVocabSize {
        static final MethodHandle CALL = function(
            "loom_tokenizer_vocab_size",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives one more than the greatest id. */
    public static int tokenizerVocabSize(long tokenizer, MemorySegment size) {
        try {
            return (int) CallTokenizerVocabSize.CALL.invokeExact(tokenizer, size);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerId {
        static final MethodHandle CALL = function(
            "loom_tokenizer_id",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has none. */
    public static int tokenizerId(long tokenizer, MemorySegment text, long textSize, MemorySegment id) {
        try {
            return (int) CallTokenizerId.CALL.invokeExact(tokenizer, text, textSize, id);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTokenizerToken {
        static final MethodHandle CALL = function(
            "loom_tokenizer_token",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));
    }

    /** Gives the text of one id as the vocabulary spells it; empty for an unknown id. */
    public static int tokenizerToken(long tokenizer, int id, MemorySegment text) {
        try {
            return (int) CallTokenizerToken.CALL.invokeExact(tokenizer, id, text);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelOpen {
        static final MethodHandle CALL = function(
            "loom_model_open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Loads a language model: a GGUF file, a Hugging Face folder or an .entity. */
    public static int modelOpen(MemorySegment path, MemorySegment options, MemorySegment model) {
        try {
            return (int) CallModelOpen.CALL.invokeExact(path, options, model);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelOpenPart {
        static final MethodHandle CALL = function(
            "loom_model_open_part",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Like loom_model_open(), for a part of a file into which a GGUF file or an .entity is embedded. (size: 0: to the
     * end)
     */
    public static int modelOpenPart(MemorySegment path, long offset, long size, MemorySegment options,
        MemorySegment model) {
        try {
            return (int) CallModelOpenPart.CALL.invokeExact(path, offset, size, options, model);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelFromMemory {
        static final MethodHandle CALL = function(
            "loom_model_from_memory",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Like loom_model_open(), for bytes, which are read during the call only. */
    public static int modelFromMemory(MemorySegment data, long dataSize, MemorySegment options, MemorySegment model) {
        try {
            return (int) CallModelFromMemory.CALL.invokeExact(data, dataSize, options, model);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelFromCallback {
        static final MethodHandle CALL = function(
            "loom_model_from_callback",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Like loom_model_open(), for data that a callback of the host reads, on the calling thread: a GGUF file tensor
     * by tensor, other files into memory at once. (size: of all bytes)
     */
    public static int modelFromCallback(long size, MemorySegment read, MemorySegment user, MemorySegment options,
        MemorySegment model) {
        try {
            return (int) CallModelFromCallback.CALL.invokeExact(size, read, user, options, model);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelFromFiles {
        static final MethodHandle CALL = function(
            "loom_model_from_files",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Like loom_model_open() of a Hugging Face folder, for its files in memory: config.json, model.safetensors (or
     * its index and shards), tokenizer.json and the others. They are read during the call only; INVALID_ARGUMENT
     * names a file that is not read. (names: of the files; data: the files, one after the other; ends: where each
     * ends in data)
     */
    public static int modelFromFiles(MemorySegment names, long namesCount, MemorySegment data, long dataSize,
        MemorySegment ends, long endsCount, MemorySegment options, MemorySegment model) {
        try {
            return (int) CallModelFromFiles.CALL.invokeExact(names, namesCount, data, dataSize, ends, endsCount,
                options, model);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelInfo {
        static final MethodHandle CALL = function(
            "loom_model_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: path, format, sizes, context, special tokens, what is missing. */
    public static int modelInfo(long model, MemorySegment info) {
        try {
            return (int) CallModelInfo.CALL.invokeExact(model, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelTokenizer {
        static final MethodHandle CALL = function(
            "loom_model_tokenizer",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the model's tokenizer; NOT_FOUND, or why it cannot be read. */
    public static int modelTokenizer(long model, MemorySegment tokenizer) {
        try {
            return (int) CallModelTokenizer.CALL.invokeExact(model, tokenizer);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelRenderChat {
        static final MethodHandle CALL = function(
            "loom_model_render_chat",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS));
    }

    /** Writes messages as the model's chat template has them: a JSON list of objects with role and content. */
    public static int modelRenderChat(long model, MemorySegment messages, long messagesSize, int addGenerationPrompt,
        MemorySegment text) {
        try {
            return (int) CallModelRenderChat.CALL.invokeExact(model, messages, messagesSize, addGenerationPrompt,
                text);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelAdapters {
        static final MethodHandle CALL = function(
            "loom_model_adapters",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives a JSON list of a model's adapters: name (that of their folder's place among the options, "0"), rank,
     * alpha, matrices, parameters.
     */
    public static int modelAdapters(long model, MemorySegment list) {
        try {
            return (int) CallModelAdapters.CALL.invokeExact(model, list);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionCreate {
        static final MethodHandle CALL = function(
            "loom_session_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Makes a session with empty sequences. */
    public static int sessionCreate(long model, MemorySegment options, MemorySegment session) {
        try {
            return (int) CallSessionCreate.CALL.invokeExact(model, options, session);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionFeed {
        static final MethodHandle CALL = function(
            "loom_session_feed",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Appends ids to a sequence and gives the logits that follow the last one; they last until the next call with the
     * session. A call that fails leaves the sequence as it was.
     */
    public static int sessionFeed(long session, long sequence, MemorySegment ids, long idsCount, long cancel,
        MemorySegment logits, MemorySegment logitsCount) {
        try {
            return (int) CallSessionFeed.CALL.invokeExact(session, sequence, ids, idsCount, cancel, logits,
                logitsCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionTokens {
        static final MethodHandle CALL = function(
            "loom_session_tokens",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Gives the tokens of a sequence; they last until the next call with the session. */
    public static int sessionTokens(long session, long sequence, MemorySegment ids, MemorySegment idsCount) {
        try {
            return (int) CallSessionTokens.CALL.invokeExact(session, sequence, ids, idsCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionRewind {
        static final MethodHandle CALL = function(
            "loom_session_rewind",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    }

    /** Drops what follows the first length tokens of a sequence. */
    public static int sessionRewind(long session, long sequence, long length) {
        try {
            return (int) CallSessionRewind.CALL.invokeExact(session, sequence, length);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionFork {
        static final MethodHandle CALL = function(
            "loom_session_fork",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    }

    /** Copies a sequence onto another. */
    public static int sessionFork(long session, long from, long to) {
        try {
            return (int) CallSessionFork.CALL.invokeExact(session, from, to);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionSnapshot {
        static final MethodHandle CALL = function(
            "loom_session_snapshot",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** Gives tokens, keys and values of a sequence as bytes. */
    public static int sessionSnapshot(long session, long sequence, MemorySegment bytes) {
        try {
            return (int) CallSessionSnapshot.CALL.invokeExact(session, sequence, bytes);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionRestore {
        static final MethodHandle CALL = function(
            "loom_session_restore",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    /** Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model. */
    public static int sessionRestore(long session, long sequence, MemorySegment bytes, long bytesSize) {
        try {
            return (int) CallSessionRestore.CALL.invokeExact(session, sequence, bytes, bytesSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionInfo {
        static final MethodHandle CALL = function(
            "loom_session_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: instruction set, threads, context, sequences, memory. */
    public static int sessionInfo(long session, MemorySegment info) {
        try {
            return (int) CallSessionInfo.CALL.invokeExact(session, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionChooseAdapters {
        static final MethodHandle CALL = function(
            "loom_session_choose_adapters",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT));
    }

    /**
     * Applies these adapters of the model from now on, and no others. All sequences are then empty. (all: every
     * adapter that the model has counts, whatever names says)
     */
    public static int sessionChooseAdapters(long session, MemorySegment names, long namesCount, int all) {
        try {
            return (int) CallSessionChooseAdapters.CALL.invokeExact(session, names, namesCount, all);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallSessionPerplexity {
        static final MethodHandle CALL = function(
            "loom_session_perplexity",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /**
     * Scores a text: a JSON object with the perplexity and the mean of each window. The session's first sequence is
     * cleared. (window: tokens; 0: 512; max_windows: 0: the whole text)
     */
    public static int sessionPerplexity(long session, MemorySegment text, long textSize, long window,
        long maxWindows, long cancel, MemorySegment result) {
        try {
            return (int) CallSessionPerplexity.CALL.invokeExact(session, text, textSize, window, maxWindows, cancel,
                result);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGeneratorCreate {
        static final MethodHandle CALL = function(
            "loom_generator_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Creates a generator that continues the sequence with the given ids. Nothing is read yet. */
    public static int generatorCreate(long session, MemorySegment prompt, long promptCount, MemorySegment options,
        MemorySegment generator) {
        try {
            return (int) CallGeneratorCreate.CALL.invokeExact(session, prompt, promptCount, options, generator);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGeneratorFromText {
        static final MethodHandle CALL = function(
            "loom_generator_from_text",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS));
    }

    /**
     * Creates a generator from a text or a conversation. CONTEXT_FULL for a prompt of more than 4 times the tokens
     * that the session holds.
     */
    public static int generatorFromText(long session, MemorySegment text, long textSize, int form,
        MemorySegment options, MemorySegment generator) {
        try {
            return (int) CallGeneratorFromText.CALL.invokeExact(session, text, textSize, form, options, generator);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallModelPrompt {
        static final MethodHandle CALL = function(
            "loom_model_prompt",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS));
    }

    /**
     * Returns what a generator would read, as JSON: prompt, a text, and its ids, prompt_tokens and dropped_bytes. The
     * options count from plain_text on. CONTEXT_FULL beyond 4 times the context that the model was trained for.
     */
    public static int modelPrompt(long model, MemorySegment text, long textSize, int form, MemorySegment options,
        MemorySegment prompt) {
        try {
            return (int) CallModelPrompt.CALL.invokeExact(model, text, textSize, form, options, prompt);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGeneratorNext {
        static final MethodHandle CALL = function(
            "loom_generator_next",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /**
     * Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled.
     * At the end it does nothing.
     */
    public static int generatorNext(long generator, long cancel, MemorySegment step) {
        try {
            return (int) CallGeneratorNext.CALL.invokeExact(generator, cancel, step);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGeneratorResult {
        static final MethodHandle CALL = function(
            "loom_generator_result",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the generation so far. */
    public static int generatorResult(long generator, MemorySegment result) {
        try {
            return (int) CallGeneratorResult.CALL.invokeExact(generator, result);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGeneratorLogprobs {
        static final MethodHandle CALL = function(
            "loom_generator_logprobs",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives a JSON list with an object per drawn token: id, logprob (natural logarithm, before temperature and cuts)
     * and top, the best tokens by the same. INVALID_STATE where the option logprobs is 0.
     */
    public static int generatorLogprobs(long generator, MemorySegment logprobs) {
        try {
            return (int) CallGeneratorLogprobs.CALL.invokeExact(generator, logprobs);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatCreate {
        static final MethodHandle CALL = function(
            "loom_chat_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Begins a conversation; NO_TEMPLATE for a model without a chat template. (system: message that it begins with;
     * NULL: none; options: of every answer)
     */
    public static int chatCreate(long session, MemorySegment system, MemorySegment options, MemorySegment chat) {
        try {
            return (int) CallChatCreate.CALL.invokeExact(session, system, options, chat);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatSay {
        static final MethodHandle CALL = function(
            "loom_chat_say",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG));
    }

    /** Adds a message of the user and begins the answer. After an error the conversation is as before. */
    public static int chatSay(long chat, MemorySegment text, long textSize, long cancel) {
        try {
            return (int) CallChatSay.CALL.invokeExact(chat, text, textSize, cancel);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatAnswer {
        static final MethodHandle CALL = function(
            "loom_chat_answer",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /** Begins an answer to the messages as they stand. */
    public static int chatAnswer(long chat, long cancel) {
        try {
            return (int) CallChatAnswer.CALL.invokeExact(chat, cancel);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatNext {
        static final MethodHandle CALL = function(
            "loom_chat_next",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /**
     * Does one bounded piece of work, as loom_generator_next(). With the last one the answer joins the conversation,
     * also when the cancel ended it early.
     */
    public static int chatNext(long chat, long cancel, MemorySegment step) {
        try {
            return (int) CallChatNext.CALL.invokeExact(chat, cancel, step);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatStop {
        static final MethodHandle CALL = function(
            "loom_chat_stop",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Ends an answer that runs; what it has said so far joins the conversation. */
    public static int chatStop(long chat) {
        try {
            return (int) CallChatStop.CALL.invokeExact(chat);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatResult {
        static final MethodHandle CALL = function(
            "loom_chat_result",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the answer that runs, or the last one. */
    public static int chatResult(long chat, MemorySegment result) {
        try {
            return (int) CallChatResult.CALL.invokeExact(chat, result);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatLogprobs {
        static final MethodHandle CALL = function(
            "loom_chat_logprobs",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Like loom_generator_logprobs(), for the answer that runs, or the last one. */
    public static int chatLogprobs(long chat, MemorySegment logprobs) {
        try {
            return (int) CallChatLogprobs.CALL.invokeExact(chat, logprobs);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatMessages {
        static final MethodHandle CALL = function(
            "loom_chat_messages",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the conversation as JSON: a list of messages with role and content. */
    public static int chatMessages(long chat, MemorySegment messages) {
        try {
            return (int) CallChatMessages.CALL.invokeExact(chat, messages);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatSetMessages {
        static final MethodHandle CALL = function(
            "loom_chat_set_messages",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    /** Puts another conversation in its place. */
    public static int chatSetMessages(long chat, MemorySegment messages, long messagesSize) {
        try {
            return (int) CallChatSetMessages.CALL.invokeExact(chat, messages, messagesSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatRewind {
        static final MethodHandle CALL = function(
            "loom_chat_rewind",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /** Keeps the first so many messages. */
    public static int chatRewind(long chat, long count) {
        try {
            return (int) CallChatRewind.CALL.invokeExact(chat, count);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatEdit {
        static final MethodHandle CALL = function(
            "loom_chat_edit",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    /** Gives a message another text and forgets what follows. */
    public static int chatEdit(long chat, long index, MemorySegment text, long textSize) {
        try {
            return (int) CallChatEdit.CALL.invokeExact(chat, index, text, textSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatSave {
        static final MethodHandle CALL = function(
            "loom_chat_save",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Writes the conversation into a file, whole or not at all. INVALID_ARGUMENT for a file that exists and holds no
     * conversation.
     */
    public static int chatSave(long chat, MemorySegment path) {
        try {
            return (int) CallChatSave.CALL.invokeExact(chat, path);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatLoad {
        static final MethodHandle CALL = function(
            "loom_chat_load",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Reads a conversation from a file. */
    public static int chatLoad(long chat, MemorySegment path) {
        try {
            return (int) CallChatLoad.CALL.invokeExact(chat, path);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkFromJson {
        static final MethodHandle CALL = function(
            "loom_network_from_json",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring are drawn from
     * its seed.
     */
    public static int networkFromJson(MemorySegment json, long jsonSize, MemorySegment options,
        MemorySegment network) {
        try {
            return (int) CallNetworkFromJson.CALL.invokeExact(json, jsonSize, options, network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkFromArch {
        static final MethodHandle CALL = function(
            "loom_network_from_arch",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Makes a transformer of an arch_config. */
    public static int networkFromArch(MemorySegment json, long jsonSize, MemorySegment network) {
        try {
            return (int) CallNetworkFromArch.CALL.invokeExact(json, jsonSize, network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkOpen {
        static final MethodHandle CALL = function(
            "loom_network_open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x, a graph in ONNX as one cell.
     */
    public static int networkOpen(MemorySegment path, MemorySegment options, MemorySegment network) {
        try {
            return (int) CallNetworkOpen.CALL.invokeExact(path, options, network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkFromMemory {
        static final MethodHandle CALL = function(
            "loom_network_from_memory",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Like loom_network_open(), for bytes. */
    public static int networkFromMemory(MemorySegment data, long dataSize, MemorySegment options,
        MemorySegment network) {
        try {
            return (int) CallNetworkFromMemory.CALL.invokeExact(data, dataSize, options, network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkClone {
        static final MethodHandle CALL = function(
            "loom_network_clone",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Makes a copy that shares nothing which can change. */
    public static int networkClone(long network, MemorySegment copy) {
        try {
            return (int) CallNetworkClone.CALL.invokeExact(network, copy);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkGraft {
        static final MethodHandle CALL = function(
            "loom_network_graft",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, JAVA_INT, ADDRESS));
    }

    /**
     * Makes a network of one parallel cell whose branches are copies of cell 0 of each network. (combine_mode:
     * concat, add, avg, ..., as of the kind parallel; share: the copies stand in cells of their own, which the
     * branches link to)
     */
    public static int networkGraft(MemorySegment networks, long networksCount, MemorySegment combineMode, int share,
        MemorySegment grafted) {
        try {
            return (int) CallNetworkGraft.CALL.invokeExact(networks, networksCount, combineMode, share, grafted);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSave {
        static final MethodHandle CALL = function(
            "loom_network_save",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT));
    }

    /**
     * Writes a file, whole or not at all: .json a checkpoint, everything else .entity. INVALID_ARGUMENT for the
     * ending of another format, and for a file that exists and holds no network. (keep_master: exact masters beside
     * packed weights, for further training)
     */
    public static int networkSave(long network, MemorySegment path, int keepMaster) {
        try {
            return (int) CallNetworkSave.CALL.invokeExact(network, path, keepMaster);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkToBytes {
        static final MethodHandle CALL = function(
            "loom_network_to_bytes",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS));
    }

    /** Like loom_network_save(), as bytes. (keep_master: of FORMAT_ENTITY) */
    public static int networkToBytes(long network, int format, int keepMaster, MemorySegment bytes) {
        try {
            return (int) CallNetworkToBytes.CALL.invokeExact(network, format, keepMaster, bytes);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSpec {
        static final MethodHandle CALL = function(
            "loom_network_spec",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives the spec as JSON: every setting that is not the default, without weights. Widths have the names of other
     * frameworks: in_features, out_features, hidden_size and the like.
     */
    public static int networkSpec(long network, MemorySegment spec) {
        try {
            return (int) CallNetworkSpec.CALL.invokeExact(network, spec);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkInfo {
        static final MethodHandle CALL = function(
            "loom_network_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives a JSON object: grid, layers with kinds, types and weights, memory, input and output shape, what a lenient
     * reader met.
     */
    public static int networkInfo(long network, MemorySegment info) {
        try {
            return (int) CallNetworkInfo.CALL.invokeExact(network, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkDraw {
        static final MethodHandle CALL = function(
            "loom_network_draw",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Gives a picture of the grid, SVG. (title: above the picture; NULL: the network's name) */
    public static int networkDraw(long network, MemorySegment title, MemorySegment svg) {
        try {
            return (int) CallNetworkDraw.CALL.invokeExact(network, title, svg);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkHash {
        static final MethodHandle CALL = function(
            "loom_network_hash",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the SHA-256 of all weights as text, 64 hexadecimal digits. */
    public static int networkHash(long network, MemorySegment hash) {
        try {
            return (int) CallNetworkHash.CALL.invokeExact(network, hash);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkPrepare {
        static final MethodHandle CALL = function(
            "loom_network_prepare",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Resolves links and infers all shapes from the input's, samples first; a session does so by itself. */
    public static int networkPrepare(long network, MemorySegment input, long inputCount, MemorySegment output,
        MemorySegment outputCount) {
        try {
            return (int) CallNetworkPrepare.CALL.invokeExact(network, input, inputCount, output, outputCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkPlace {
        static final MethodHandle CALL = function(
            "loom_network_place",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    /**
     * Puts a layer, a JSON object as in a spec, into a cell, replacing the layer in it; its weights are drawn. The
     * next forward of a session plans it again; step meshes of the network answer INVALID_STATE from then on.
     * (address: z, y, x, l; layer: of size 0: the cell becomes empty)
     */
    public static int networkPlace(long network, MemorySegment address, long addressCount, MemorySegment layer,
        long layerSize) {
        try {
            return (int) CallNetworkPlace.CALL.invokeExact(network, address, addressCount, layer, layerSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkMorph {
        static final MethodHandle CALL = function(
            "loom_network_morph",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Gives the matrices another numeric type. Masters stay exact. The next forward of a session plans it again.
     * (path: a layer and all below it, "layers.3"; NULL: all)
     */
    public static int networkMorph(long network, MemorySegment path, MemorySegment dtype) {
        try {
            return (int) CallNetworkMorph.CALL.invokeExact(network, path, dtype);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkReleaseMasters {
        static final MethodHandle CALL = function(
            "loom_network_release_masters",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Frees the exact masters of weights whose type holds their values. */
    public static int networkReleaseMasters(long network) {
        try {
            return (int) CallNetworkReleaseMasters.CALL.invokeExact(network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkMergeAdapters {
        static final MethodHandle CALL = function(
            "loom_network_merge_adapters",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Adds every enabled adapter to its matrix and removes it. */
    public static int networkMergeAdapters(long network) {
        try {
            return (int) CallNetworkMergeAdapters.CALL.invokeExact(network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkWeights {
        static final MethodHandle CALL = function(
            "loom_network_weights",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen, master. */
    public static int networkWeights(long network, MemorySegment list) {
        try {
            return (int) CallNetworkWeights.CALL.invokeExact(network, list);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkGetWeight {
        static final MethodHandle CALL = function(
            "loom_network_get_weight",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Fills a tensor with the values of a weight, as float32 or float64. Its size must be that of the weight.
     * (values: memory to fill; a shape must be that of the weight, or none)
     */
    public static int networkGetWeight(long network, MemorySegment name, MemorySegment values) {
        try {
            return (int) CallNetworkGetWeight.CALL.invokeExact(network, name, values);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSetWeight {
        static final MethodHandle CALL = function(
            "loom_network_set_weight",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Sets the values of a weight. NON_FINITE names the first that is not finite. (values: float32 or float64; a
     * shape must be that of the weight, or none)
     */
    public static int networkSetWeight(long network, MemorySegment name, MemorySegment values) {
        try {
            return (int) CallNetworkSetWeight.CALL.invokeExact(network, name, values);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkWeightCodes {
        static final MethodHandle CALL = function(
            "loom_network_weight_codes",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64. */
    public static int networkWeightCodes(long network, MemorySegment name, MemorySegment codes) {
        try {
            return (int) CallNetworkWeightCodes.CALL.invokeExact(network, name, codes);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkFreeze {
        static final MethodHandle CALL = function(
            "loom_network_freeze",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT));
    }

    /** Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL: all) */
    public static int networkFreeze(long network, MemorySegment path, int frozen) {
        try {
            return (int) CallNetworkFreeze.CALL.invokeExact(network, path, frozen);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkIndex {
        static final MethodHandle CALL = function(
            "loom_network_index",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Gives the flat index of a cell. (address: z, y, x, l) */
    public static int networkIndex(long network, MemorySegment address, long addressCount, MemorySegment index) {
        try {
            return (int) CallNetworkIndex.CALL.invokeExact(network, address, addressCount, index);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkLayer {
        static final MethodHandle CALL = function(
            "loom_network_layer",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives the layer of a cell, a JSON object as in a spec, without weights; NOT_FOUND for an empty cell. (address:
     * z, y, x, l)
     */
    public static int networkLayer(long network, MemorySegment address, long addressCount, MemorySegment layer) {
        try {
            return (int) CallNetworkLayer.CALL.invokeExact(network, address, addressCount, layer);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkBlueprint {
        static final MethodHandle CALL = function(
            "loom_network_blueprint",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives the structure of a network, a JSON object: every layer, nested ones included, with exact counts of
     * parameters and bytes.
     */
    public static int networkBlueprint(long network, MemorySegment blueprint) {
        try {
            return (int) CallNetworkBlueprint.CALL.invokeExact(network, blueprint);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkGroups {
        static final MethodHandle CALL = function(
            "loom_network_groups",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Groups a network's weights by the layer and block in their names ("layers.3.self_attn"). A JSON object: groups,
     * a list of prefix, layer, block and tensors, and unresolved, the names without such a prefix with the reason.
     */
    public static int networkGroups(long network, MemorySegment groups) {
        try {
            return (int) CallNetworkGroups.CALL.invokeExact(network, groups);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkExport {
        static final MethodHandle CALL = function(
            "loom_network_export",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Like loom_file_export(), for a network with its present weights. (path: FILE.onnx or FILE.safetensors) */
    public static int networkExport(long network, MemorySegment path, MemorySegment options, MemorySegment report) {
        try {
            return (int) CallNetworkExport.CALL.invokeExact(network, path, options, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionCreate {
        static final MethodHandle CALL = function(
            "loom_network_session_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Makes a session. */
    public static int networkSessionCreate(long network, MemorySegment options, MemorySegment session) {
        try {
            return (int) CallNetworkSessionCreate.CALL.invokeExact(network, options, session);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionForward {
        static final MethodHandle CALL = function(
            "loom_network_session_forward",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Runs the network. The output lasts until the next call with the session. (input: of the element in which the
     * network computes, samples first)
     */
    public static int networkSessionForward(long session, MemorySegment input, MemorySegment pass,
        MemorySegment output) {
        try {
            return (int) CallNetworkSessionForward.CALL.invokeExact(session, input, pass, output);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionBind {
        static final MethodHandle CALL = function(
            "loom_network_session_bind",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Names the memory of the caller that loom_network_session_run() reads and fills. It must last as long as it is
     * bound. (input: NULL unbinds both; output: memory to fill; a shape must be that of the output, or none)
     */
    public static int networkSessionBind(long session, MemorySegment input, MemorySegment output) {
        try {
            return (int) CallNetworkSessionBind.CALL.invokeExact(session, input, output);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionRun {
        static final MethodHandle CALL = function(
            "loom_network_session_run",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Runs the network from the bound input into the bound output. */
    public static int networkSessionRun(long session) {
        try {
            return (int) CallNetworkSessionRun.CALL.invokeExact(session);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionBackward {
        static final MethodHandle CALL = function(
            "loom_network_session_backward",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Runs the backward pass after a forward of a session with `backward`: adds to the gradients of the weights and
     * gives that of the input, which lasts until the next call. (output_gradient: as many values as the last output)
     */
    public static int networkSessionBackward(long session, MemorySegment outputGradient, long cancel,
        MemorySegment inputGradient) {
        try {
            return (int) CallNetworkSessionBackward.CALL.invokeExact(session, outputGradient, cancel, inputGradient);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionGradient {
        static final MethodHandle CALL = function(
            "loom_network_session_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
     * memory to fill; a shape must be that of the weight, or none)
     */
    public static int networkSessionGradient(long session, MemorySegment weight, MemorySegment values) {
        try {
            return (int) CallNetworkSessionGradient.CALL.invokeExact(session, weight, values);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionClearGradients {
        static final MethodHandle CALL = function(
            "loom_network_session_clear_gradients",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Sets every gradient to 0. */
    public static int networkSessionClearGradients(long session) {
        try {
            return (int) CallNetworkSessionClearGradients.CALL.invokeExact(session);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionReset {
        static final MethodHandle CALL = function(
            "loom_network_session_reset",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Resets every sequence and state. */
    public static int networkSessionReset(long session) {
        try {
            return (int) CallNetworkSessionReset.CALL.invokeExact(session);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionRewind {
        static final MethodHandle CALL = function(
            "loom_network_session_rewind",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /** Goes back to where the sequences of a session with a context had so many positions. */
    public static int networkSessionRewind(long session, long length) {
        try {
            return (int) CallNetworkSessionRewind.CALL.invokeExact(session, length);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionSnapshot {
        static final MethodHandle CALL = function(
            "loom_network_session_snapshot",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the state that the next call depends on as bytes: recurrent states, memories, keys and values. */
    public static int networkSessionSnapshot(long session, MemorySegment bytes) {
        try {
            return (int) CallNetworkSessionSnapshot.CALL.invokeExact(session, bytes);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionRestore {
        static final MethodHandle CALL = function(
            "loom_network_session_restore",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    /** Puts such a state back, into a session of the same network and options. */
    public static int networkSessionRestore(long session, MemorySegment bytes, long bytesSize) {
        try {
            return (int) CallNetworkSessionRestore.CALL.invokeExact(session, bytes, bytesSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionInfo {
        static final MethodHandle CALL = function(
            "loom_network_session_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: threads, memory, element type, positions, states. */
    public static int networkSessionInfo(long session, MemorySegment info) {
        try {
            return (int) CallNetworkSessionInfo.CALL.invokeExact(session, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerCreate {
        static final MethodHandle CALL = function(
            "loom_trainer_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Makes a network ready to learn from batches of that shape, samples first. Nobody else may change the network
     * while it learns; calls that try answer BUSY, and a changed grid ends the training.
     */
    public static int trainerCreate(long network, MemorySegment config, long configSize, MemorySegment shape,
        long shapeCount, MemorySegment options, MemorySegment trainer) {
        try {
            return (int) CallTrainerCreate.CALL.invokeExact(network, config, configSize, shape, shapeCount, options,
                trainer);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerStep {
        static final MethodHandle CALL = function(
            "loom_trainer_step",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Learns from one batch. (cancel: ends the step with CANCELLED; everything is then as before) */
    public static int trainerStep(long trainer, MemorySegment batch, long cancel, MemorySegment step) {
        try {
            return (int) CallTrainerStep.CALL.invokeExact(trainer, batch, cancel, step);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerEvaluate {
        static final MethodHandle CALL = function(
            "loom_trainer_evaluate",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Gives the loss of a batch and the output, which lasts until the next call; no weight changes. */
    public static int trainerEvaluate(long trainer, MemorySegment batch, MemorySegment loss, MemorySegment output) {
        try {
            return (int) CallTrainerEvaluate.CALL.invokeExact(trainer, batch, loss, output);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerSetEpoch {
        static final MethodHandle CALL = function(
            "loom_trainer_set_epoch",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /** Sets the epoch, from 0, for schedules that count epochs. */
    public static int trainerSetEpoch(long trainer, long epoch) {
        try {
            return (int) CallTrainerSetEpoch.CALL.invokeExact(trainer, epoch);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerObserve {
        static final MethodHandle CALL = function(
            "loom_trainer_observe",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_DOUBLE));
    }

    /** Gives the schedule "plateau" a validation metric. */
    public static int trainerObserve(long trainer, double metric) {
        try {
            return (int) CallTrainerObserve.CALL.invokeExact(trainer, metric);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainingRun {
        static final MethodHandle CALL = function(
            "loom_training_run",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Runs a whole training by a config in JSON: data, epochs, validation, checkpoints, journal. The outcome is a
     * JSON object: stop reason, losses by epoch, hash, metrics. (network: learns where it is; 0: the config names
     * one; samples: in place of the config's data; NULL: it names files; validation: in place of the config's own)
     */
    public static int trainingRun(MemorySegment config, long configSize, long network, MemorySegment samples,
        MemorySegment validation, MemorySegment options, MemorySegment outcome) {
        try {
            return (int) CallTrainingRun.CALL.invokeExact(config, configSize, network, samples, validation, options,
                outcome);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainingRunFile {
        static final MethodHandle CALL = function(
            "loom_training_run_file",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Like loom_training_run(), for a config file. */
    public static int trainingRunFile(MemorySegment path, MemorySegment options, MemorySegment outcome) {
        try {
            return (int) CallTrainingRunFile.CALL.invokeExact(path, options, outcome);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainingReplay {
        static final MethodHandle CALL = function(
            "loom_training_replay",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Does the run of a journal again and compares every hash, loss and metric; CORRUPT_DATA names the first line
     * that differs. (path: a run's folder, or its journal)
     */
    public static int trainingReplay(MemorySegment path, MemorySegment options, MemorySegment report) {
        try {
            return (int) CallTrainingReplay.CALL.invokeExact(path, options, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallReplicaCreate {
        static final MethodHandle CALL = function(
            "loom_replica_create",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Opens a config in JSON, with its data and network, to compute gradients for a training of the same config
     * elsewhere, whose callback on_shards asks for them. UNSUPPORTED with the reason where its steps cannot be
     * divided. (options: folder and compute; other fields must be 0)
     */
    public static int replicaCreate(MemorySegment config, long configSize, MemorySegment options,
        MemorySegment replica) {
        try {
            return (int) CallReplicaCreate.CALL.invokeExact(config, configSize, options, replica);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallReplicaBegin {
        static final MethodHandle CALL = function(
            "loom_replica_begin",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS, JAVA_LONG));
    }

    /** Takes over a step: what on_shards was given. */
    public static int replicaBegin(long replica, long epoch, long position, long step, double lossScale,
        MemorySegment masters, long mastersSize) {
        try {
            return (int) CallReplicaBegin.CALL.invokeExact(replica, epoch, position, step, lossScale, masters,
                mastersSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallReplicaSum {
        static final MethodHandle CALL = function(
            "loom_replica_sum",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Gives the sum of the gradients of shards [first, first + count), and their share in the loss, which is not
     * finite where the step has to be skipped. The count is a power of two that divides first, or reaches up to the
     * last shard: a node of the tree that adds all shards.
     */
    public static int replicaSum(long replica, long first, long count, MemorySegment loss, MemorySegment gradients) {
        try {
            return (int) CallReplicaSum.CALL.invokeExact(replica, first, count, loss, gradients);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallReplicaInfo {
        static final MethodHandle CALL = function(
            "loom_replica_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: shards, gradient_bytes, batches of an epoch, SHA-256 of the data. */
    public static int replicaInfo(long replica, MemorySegment info) {
        try {
            return (int) CallReplicaInfo.CALL.invokeExact(replica, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerInfo {
        static final MethodHandle CALL = function(
            "loom_trainer_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the figures of each
     * cell's target.
     */
    public static int trainerInfo(long trainer, MemorySegment info) {
        try {
            return (int) CallTrainerInfo.CALL.invokeExact(trainer, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTweenCreate {
        static final MethodHandle CALL = function(
            "loom_tween_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Makes a network ready to learn by targets from batches of that shape. */
    public static int tweenCreate(long network, MemorySegment config, long configSize, MemorySegment shape,
        long shapeCount, MemorySegment options, MemorySegment tween) {
        try {
            return (int) CallTweenCreate.CALL.invokeExact(network, config, configSize, shape, shapeCount, options,
                tween);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTweenForward {
        static final MethodHandle CALL = function(
            "loom_tween_forward",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Runs the network; the output lasts until the next call. (input: of the element in which the network computes,
     * samples first)
     */
    public static int tweenForward(long tween, MemorySegment input, MemorySegment output) {
        try {
            return (int) CallTweenForward.CALL.invokeExact(tween, input, output);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTweenStep {
        static final MethodHandle CALL = function(
            "loom_tween_step",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_DOUBLE));
    }

    /** Runs the rest of a step after a forward: gaps, budgets, updates. (target: as many values as the output) */
    public static int tweenStep(long tween, MemorySegment target, double learningRate) {
        try {
            return (int) CallTweenStep.CALL.invokeExact(tween, target, learningRate);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTweenBackward {
        static final MethodHandle CALL = function(
            "loom_tween_backward",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives every cell its target, the first of the three calls that loom_tween_step() makes. (target: as many values
     * as the output)
     */
    public static int tweenBackward(long tween, MemorySegment target) {
        try {
            return (int) CallTweenBackward.CALL.invokeExact(tween, target);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTweenBudgets {
        static final MethodHandle CALL = function(
            "loom_tween_budgets",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Measures how well each cell agrees with its target. */
    public static int tweenBudgets(long tween) {
        try {
            return (int) CallTweenBudgets.CALL.invokeExact(tween);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTweenApply {
        static final MethodHandle CALL = function(
            "loom_tween_apply",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_DOUBLE));
    }

    /** Moves the weights. */
    public static int tweenApply(long tween, double learningRate) {
        try {
            return (int) CallTweenApply.CALL.invokeExact(tween, learningRate);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTweenInfo {
        static final MethodHandle CALL = function(
            "loom_tween_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: the gap of the output, and of each use of a layer gap, budget and size of the update. */
    public static int tweenInfo(long tween, MemorySegment info) {
        try {
            return (int) CallTweenInfo.CALL.invokeExact(tween, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshCreate {
        static final MethodHandle CALL = function(
            "loom_step_mesh_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Prepares a network for ticks with such inputs, samples first. */
    public static int stepMeshCreate(long network, MemorySegment shape, long shapeCount, MemorySegment options,
        MemorySegment mesh) {
        try {
            return (int) CallStepMeshCreate.CALL.invokeExact(network, shape, shapeCount, options, mesh);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshStep {
        static final MethodHandle CALL = function(
            "loom_step_mesh_step",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Moves states by some ticks; after an error none of them has moved in that tick. */
    public static int stepMeshStep(long mesh, MemorySegment states, long statesCount, MemorySegment options) {
        try {
            return (int) CallStepMeshStep.CALL.invokeExact(mesh, states, statesCount, options);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshBackward {
        static final MethodHandle CALL = function(
            "loom_step_mesh_backward",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Goes back through captured ticks from a gradient of the last cell's output: adds to the gradients of the
     * weights and gives that of the input of the newest tick, which lasts until the next call with the mesh; without
     * data where that tick had no input. (output_gradient: as many values as the output; ticks: at most; 0: all)
     */
    public static int stepMeshBackward(long mesh, long state, MemorySegment outputGradient, long ticks,
        MemorySegment inputGradient) {
        try {
            return (int) CallStepMeshBackward.CALL.invokeExact(mesh, state, outputGradient, ticks, inputGradient);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshGradient {
        static final MethodHandle CALL = function(
            "loom_step_mesh_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
     * memory to fill; a shape must be that of the weight, or none)
     */
    public static int stepMeshGradient(long mesh, MemorySegment weight, MemorySegment values) {
        try {
            return (int) CallStepMeshGradient.CALL.invokeExact(mesh, weight, values);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshClearGradients {
        static final MethodHandle CALL = function(
            "loom_step_mesh_clear_gradients",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Sets every gradient to 0. */
    public static int stepMeshClearGradients(long mesh) {
        try {
            return (int) CallStepMeshClearGradients.CALL.invokeExact(mesh);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshInfo {
        static final MethodHandle CALL = function(
            "loom_step_mesh_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: cells, memory of a state, what a cell waits for that can never start. */
    public static int stepMeshInfo(long mesh, MemorySegment info) {
        try {
            return (int) CallStepMeshInfo.CALL.invokeExact(mesh, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateCreate {
        static final MethodHandle CALL = function(
            "loom_step_state_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Makes a state without outputs. */
    public static int stepStateCreate(long mesh, MemorySegment state) {
        try {
            return (int) CallStepStateCreate.CALL.invokeExact(mesh, state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateSetInput {
        static final MethodHandle CALL = function(
            "loom_step_state_set_input",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT));
    }

    /**
     * Sets the input of the first cell. (input: as many values as the mesh's input, of the element in which the
     * network computes; hold: until it is replaced; 0: for the next tick alone)
     */
    public static int stepStateSetInput(long state, MemorySegment input, int hold) {
        try {
            return (int) CallStepStateSetInput.CALL.invokeExact(state, input, hold);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateClearInput {
        static final MethodHandle CALL = function(
            "loom_step_state_clear_input",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Removes the input. */
    public static int stepStateClearInput(long state) {
        try {
            return (int) CallStepStateClearInput.CALL.invokeExact(state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateOutput {
        static final MethodHandle CALL = function(
            "loom_step_state_output",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives the output of a cell in the last tick, until the next call with the mesh; NO_VALUE before data has
     * reached it. (cell: its index; -1: the last one)
     */
    public static int stepStateOutput(long state, long cell, MemorySegment output) {
        try {
            return (int) CallStepStateOutput.CALL.invokeExact(state, cell, output);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateReset {
        static final MethodHandle CALL = function(
            "loom_step_state_reset",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** No input, no outputs, no history, tick 0. */
    public static int stepStateReset(long state) {
        try {
            return (int) CallStepStateReset.CALL.invokeExact(state);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateFork {
        static final MethodHandle CALL = function(
            "loom_step_state_fork",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Creates an independent copy. */
    public static int stepStateFork(long state, MemorySegment copy) {
        try {
            return (int) CallStepStateFork.CALL.invokeExact(state, copy);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateSnapshot {
        static final MethodHandle CALL = function(
            "loom_step_state_snapshot",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the whole state as bytes that any machine reads. */
    public static int stepStateSnapshot(long state, MemorySegment bytes) {
        try {
            return (int) CallStepStateSnapshot.CALL.invokeExact(state, bytes);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateRestore {
        static final MethodHandle CALL = function(
            "loom_step_state_restore",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    /** Puts a snapshot into a state of a mesh of the same shapes. */
    public static int stepStateRestore(long state, MemorySegment bytes, long bytesSize) {
        try {
            return (int) CallStepStateRestore.CALL.invokeExact(state, bytes, bytesSize);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateHash {
        static final MethodHandle CALL = function(
            "loom_step_state_hash",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the SHA-256 of the whole state as text, 64 hexadecimal digits. */
    public static int stepStateHash(long state, MemorySegment hash) {
        try {
            return (int) CallStepStateHash.CALL.invokeExact(state, hash);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepStateTicks {
        static final MethodHandle CALL = function(
            "loom_step_state_ticks",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the number of ticks since the start. */
    public static int stepStateTicks(long state, MemorySegment ticks) {
        try {
            return (int) CallStepStateTicks.CALL.invokeExact(state, ticks);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallMeshTweenCreate {
        static final MethodHandle CALL = function(
            "loom_mesh_tween_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /**
     * Makes a mesh that was created with keep_inputs ready to learn by targets. (ticks: 0: through the last tick
     * alone; above: through so many captured ones)
     */
    public static int meshTweenCreate(long mesh, MemorySegment config, long configSize, long ticks,
        MemorySegment tween) {
        try {
            return (int) CallMeshTweenCreate.CALL.invokeExact(mesh, config, configSize, ticks, tween);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallMeshTweenStep {
        static final MethodHandle CALL = function(
            "loom_mesh_tween_step",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_DOUBLE));
    }

    /**
     * Moves all weights once towards targets of the last cell's outputs, one state's after another. (targets: for
     * each state as many values as the output)
     */
    public static int meshTweenStep(long tween, MemorySegment states, long statesCount, MemorySegment targets,
        double learningRate) {
        try {
            return (int) CallMeshTweenStep.CALL.invokeExact(tween, states, statesCount, targets, learningRate);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallDnaExtract {
        static final MethodHandle CALL = function(
            "loom_dna_extract",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));
    }

    /**
     * Gives a network's signatures as JSON: by layer the direction of its weights. (nested: layers inside containers
     * too)
     */
    public static int dnaExtract(long network, int nested, MemorySegment dna) {
        try {
            return (int) CallDnaExtract.CALL.invokeExact(network, nested, dna);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallDnaCompare {
        static final MethodHandle CALL = function(
            "loom_dna_compare",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS));
    }

    /** Compares two networks layer by layer, a JSON object: overlaps, logic shifts, layers of one alone. */
    public static int dnaCompare(long first, long second, int nested, MemorySegment comparison) {
        try {
            return (int) CallDnaCompare.CALL.invokeExact(first, second, nested, comparison);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallDnaDraw {
        static final MethodHandle CALL = function(
            "loom_dna_draw",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS));
    }

    /** Gives that as a picture, SVG. */
    public static int dnaDraw(long first, long second, int nested, MemorySegment svg) {
        try {
            return (int) CallDnaDraw.CALL.invokeExact(first, second, nested, svg);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkCompare {
        static final MethodHandle CALL = function(
            "loom_network_compare",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** Gives what differs between the specs and weights of two networks, a JSON object. */
    public static int networkCompare(long first, long second, MemorySegment differences) {
        try {
            return (int) CallNetworkCompare.CALL.invokeExact(first, second, differences);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSplice {
        static final MethodHandle CALL = function(
            "loom_network_splice",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Makes a child of two networks. The config is a JSON object: mode blend, point or uniform, blend_alpha,
     * split_ratio, fitness_a, fitness_b, seed. (config: of size 0: all defaults)
     */
    public static int networkSplice(long first, long second, MemorySegment config, long configSize,
        MemorySegment child) {
        try {
            return (int) CallNetworkSplice.CALL.invokeExact(first, second, config, configSize, child);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkMutate {
        static final MethodHandle CALL = function(
            "loom_network_mutate",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Changes a network at random; its output keeps its shape. The config is the object `mutation` of an evolution,
     * and seed, generation, individual. The report says what was done. (shape: of the input, samples first; config:
     * of size 0: all defaults)
     */
    public static int networkMutate(long network, MemorySegment shape, long shapeCount, MemorySegment config,
        long configSize, MemorySegment report) {
        try {
            return (int) CallNetworkMutate.CALL.invokeExact(network, shape, shapeCount, config, configSize, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallEvolutionRun {
        static final MethodHandle CALL = function(
            "loom_evolution_run",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Runs a whole evolution by a config in JSON. The outcome is a JSON object. */
    public static int evolutionRun(MemorySegment config, long configSize, MemorySegment options,
        MemorySegment outcome) {
        try {
            return (int) CallEvolutionRun.CALL.invokeExact(config, configSize, options, outcome);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallEvolutionRunFile {
        static final MethodHandle CALL = function(
            "loom_evolution_run_file",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Like loom_evolution_run(), for a config file. */
    public static int evolutionRunFile(MemorySegment path, MemorySegment options, MemorySegment outcome) {
        try {
            return (int) CallEvolutionRunFile.CALL.invokeExact(path, options, outcome);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallJudgeCreate {
        static final MethodHandle CALL = function(
            "loom_judge_create",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Opens the task of a config in JSON, with its data, to judge the networks of an evolution of the same config
     * elsewhere, whose callback on_judging asks for it. (options: folder and compute; other fields must be 0)
     */
    public static int judgeCreate(MemorySegment config, long configSize, MemorySegment options, MemorySegment judge) {
        try {
            return (int) CallJudgeCreate.CALL.invokeExact(config, configSize, options, judge);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallJudgeFitness {
        static final MethodHandle CALL = function(
            "loom_judge_fitness",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Judges a network, given as a file (.entity), and gives its numbers for on_judging: objectives, and what novelty
     * goes by. They last until the next call.
     */
    public static int judgeFitness(long judge, MemorySegment network, long networkSize, MemorySegment numbers,
        MemorySegment numbersCount) {
        try {
            return (int) CallJudgeFitness.CALL.invokeExact(judge, network, networkSize, numbers, numbersCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallJudgeInfo {
        static final MethodHandle CALL = function(
            "loom_judge_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: `identity`, all that a run is a function of, with the SHA-256 of its files. */
    public static int judgeInfo(long judge, MemorySegment info) {
        try {
            return (int) CallJudgeInfo.CALL.invokeExact(judge, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationCreate {
        static final MethodHandle CALL = function(
            "loom_population_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Makes the first generation: mutations of a network. The config is a JSON object: population, elites, seed,
     * objectives, mutation, splice, species, novelty. (shape: of the input, samples first; config: of size 0: all
     * defaults; compute: threads, thread_count and isa; NULL: defaults)
     */
    public static int populationCreate(long base, MemorySegment shape, long shapeCount, MemorySegment config,
        long configSize, MemorySegment compute, MemorySegment population) {
        try {
            return (int) CallPopulationCreate.CALL.invokeExact(base, shape, shapeCount, config, configSize, compute,
                population);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationAsk {
        static final MethodHandle CALL = function(
            "loom_population_ask",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Gives the places of the members without a fitness, until the next call with the population. */
    public static int populationAsk(long population, MemorySegment places, MemorySegment placesCount) {
        try {
            return (int) CallPopulationAsk.CALL.invokeExact(population, places, placesCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationNetwork {
        static final MethodHandle CALL = function(
            "loom_population_network",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** Gives a copy of a member. */
    public static int populationNetwork(long population, long place, MemorySegment network) {
        try {
            return (int) CallPopulationNetwork.CALL.invokeExact(population, place, network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationTell {
        static final MethodHandle CALL = function(
            "loom_population_tell",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Takes the fitness of those members, more is better, NaN ranks last, and breeds the next generation. With
     * several objectives all numbers of a member stand together. The report is a JSON object: scores, best, average,
     * worst, hash.
     */
    public static int populationTell(long population, MemorySegment fitness, long fitnessCount,
        MemorySegment report) {
        try {
            return (int) CallPopulationTell.CALL.invokeExact(population, fitness, fitnessCount, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationBest {
        static final MethodHandle CALL = function(
            "loom_population_best",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a copy of the network with the best score so far; NO_VALUE before the first generation. */
    public static int populationBest(long population, MemorySegment network) {
        try {
            return (int) CallPopulationBest.CALL.invokeExact(population, network);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationInfo {
        static final MethodHandle CALL = function(
            "loom_population_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: generation, best score, members with identity, parents, operations, species. */
    public static int populationInfo(long population, MemorySegment info) {
        try {
            return (int) CallPopulationInfo.CALL.invokeExact(population, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationSnapshot {
        static final MethodHandle CALL = function(
            "loom_population_snapshot",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a population as bytes, to go on from elsewhere. */
    public static int populationSnapshot(long population, MemorySegment bytes) {
        try {
            return (int) CallPopulationSnapshot.CALL.invokeExact(population, bytes);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPopulationRestore {
        static final MethodHandle CALL = function(
            "loom_population_restore",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Makes a population of a snapshot; config and shape are those it was made with. (compute: threads, thread_count
     * and isa; NULL: defaults)
     */
    public static int populationRestore(MemorySegment bytes, long bytesSize, MemorySegment shape, long shapeCount,
        MemorySegment config, long configSize, MemorySegment compute, MemorySegment population) {
        try {
            return (int) CallPopulationRestore.CALL.invokeExact(bytes, bytesSize, shape, shapeCount, config,
                configSize, compute, population);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPointsCluster {
        static final MethodHandle CALL = function(
            "loom_points_cluster",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Groups points around centres (k-means by Lloyd's rounds, in double precision). A JSON object: assignment, the
     * cluster of each point, centres, iterations, converged. (points: row-major, one point after the other; count: of
     * points; clusters: 1 to count; max_iterations: 0: 100; plus_plus: starts far apart (k-means++); 0: drawn points;
     * seed: of the draws)
     */
    public static int pointsCluster(MemorySegment points, long pointsCount, long count, long clusters,
        long maxIterations, int plusPlus, long seed, MemorySegment result) {
        try {
            return (int) CallPointsCluster.CALL.invokeExact(points, pointsCount, count, clusters, maxIterations,
                plusPlus, seed, result);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPointsSilhouette {
        static final MethodHandle CALL = function(
            "loom_points_silhouette",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives the mean silhouette of a clustering, -1 to 1: how much nearer points are to their own cluster than to the
     * next one. (points: row-major, one point after the other; count: of points; assignment: the cluster of each
     * point; at least two clusters)
     */
    public static int pointsSilhouette(MemorySegment points, long pointsCount, long count, MemorySegment assignment,
        long assignmentCount, MemorySegment value) {
        try {
            return (int) CallPointsSilhouette.CALL.invokeExact(points, pointsCount, count, assignment,
                assignmentCount, value);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallPointsGroup {
        static final MethodHandle CALL = function(
            "loom_points_group",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS));
    }

    /**
     * Groups points that steps of at most such a cosine distance link (single linkage). A JSON list of lists of
     * points, in order of their first ones. (points: row-major, one point after the other; count: of points;
     * threshold: 0 to 2)
     */
    public static int pointsGroup(MemorySegment points, long pointsCount, long count, double threshold,
        MemorySegment groups) {
        try {
            return (int) CallPointsGroup.CALL.invokeExact(points, pointsCount, count, threshold, groups);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallMatchesFind {
        static final MethodHandle CALL = function(
            "loom_matches_find",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS));
    }

    /**
     * Finds models that complete each other: pairs whose cases that one of them gets right are at least such a part
     * of all. A JSON list of {a, b, coverage, overlap, cosine}, the best first; cosine is that of
     * loom_matches_similarity(). (right: a byte per case, 0 or 1, model by model)
     */
    public static int matchesFind(MemorySegment right, long rightSize, long models, double minCoverage,
        MemorySegment matches) {
        try {
            return (int) CallMatchesFind.CALL.invokeExact(right, rightSize, models, minCoverage, matches);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallMatchesSimilarity {
        static final MethodHandle CALL = function(
            "loom_matches_similarity",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives the cosine of two models' right cases, as vectors of 0 and 1: 1 where both get the same ones right, 0
     * where they have none in common. (first: a byte per case, 0 or 1; second: as many)
     */
    public static int matchesSimilarity(MemorySegment first, long firstSize, MemorySegment second, long secondSize,
        MemorySegment cosine) {
        try {
            return (int) CallMatchesSimilarity.CALL.invokeExact(first, firstSize, second, secondSize, cosine);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerKindRegister {
        static final MethodHandle CALL = function(
            "loom_layer_kind_register",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Adds a layer kind to those of this process. The description is a JSON object: name, help, shapes, width_key,
     * sample_axes, and settings, a list of key, type (integer, number, boolean, choice, activation), default, min,
     * max, choices, help. INVALID_ARGUMENT for a name that is taken.
     */
    public static int layerKindRegister(MemorySegment description, long descriptionSize, MemorySegment callbacks) {
        try {
            return (int) CallLayerKindRegister.CALL.invokeExact(description, descriptionSize, callbacks);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerKindUnregister {
        static final MethodHandle CALL = function(
            "loom_layer_kind_unregister",
            FunctionDescriptor.of(JAVA_INT, ADDRESS));
    }

    /**
     * Takes the kind back: no callback of it comes from then on. INVALID_STATE while a network with a layer of it
     * lives.
     */
    public static int layerKindUnregister(MemorySegment name) {
        try {
            return (int) CallLayerKindUnregister.CALL.invokeExact(name);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerSetting {
        static final MethodHandle CALL = function(
            "loom_layer_setting",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Gives a setting of the layer: an integer, a number, 0 or 1, the index of a choice. */
    public static int layerSetting(long layer, MemorySegment key, MemorySegment value) {
        try {
            return (int) CallLayerSetting.CALL.invokeExact(layer, key, value);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerDeclareWeight {
        static final MethodHandle CALL = function(
            "loom_layer_declare_weight",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_DOUBLE));
    }

    /**
     * In declare: adds a weight, a vector or, with two extents, a matrix, whose rows are outputs. A fresh one is
     * filled by a rule. (init: zeros, ones, glorot, he, uniform, normal or identity; NULL: glorot for matrices, zeros
     * for vectors; size: half width of uniform, deviation of normal; 0: 0.1 and 0.02)
     */
    public static int layerDeclareWeight(long layer, MemorySegment name, MemorySegment extents, long extentsCount,
        MemorySegment init, double size) {
        try {
            return (int) CallLayerDeclareWeight.CALL.invokeExact(layer, name, extents, extentsCount, init, size);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerInput {
        static final MethodHandle CALL = function(
            "loom_layer_input",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives what comes in: the layer's input in forward, the gradient of its output in backward. Axis 0 counts
     * samples in this tensor and in all that are computed from it; it keeps its place.
     */
    public static int layerInput(long layer, MemorySegment x) {
        try {
            return (int) CallLayerInput.CALL.invokeExact(layer, x);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerResult {
        static final MethodHandle CALL = function(
            "loom_layer_result",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /** Names what goes out: the output in forward, the gradient of the input in backward. */
    public static int layerResult(long layer, long tensor) {
        try {
            return (int) CallLayerResult.CALL.invokeExact(layer, tensor);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerKeep {
        static final MethodHandle CALL = function(
            "loom_layer_keep",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /** In forward: keeps a tensor for backward. */
    public static int layerKeep(long layer, long tensor) {
        try {
            return (int) CallLayerKeep.CALL.invokeExact(layer, tensor);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerKept {
        static final MethodHandle CALL = function(
            "loom_layer_kept",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** In backward: gives what forward kept, the last one first. Every kept tensor must be taken. */
    public static int layerKept(long layer, MemorySegment tensor) {
        try {
            return (int) CallLayerKept.CALL.invokeExact(layer, tensor);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerShape {
        static final MethodHandle CALL = function(
            "loom_layer_shape",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** Gives the extents of a tensor; SHAPE_MISMATCH where there is no room for them. */
    public static int layerShape(long layer, long tensor, MemorySegment extents, long extentsCount,
        MemorySegment rank) {
        try {
            return (int) CallLayerShape.CALL.invokeExact(layer, tensor, extents, extentsCount, rank);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerMatmul {
        static final MethodHandle CALL = function(
            "loom_layer_matmul",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /** y = W x + b along the last axis, with the bits of a dense layer in every type of W. */
    public static int layerMatmul(long layer, long x, MemorySegment weight, MemorySegment bias, MemorySegment y) {
        try {
            return (int) CallLayerMatmul.CALL.invokeExact(layer, x, weight, bias, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerMatmulGradient {
        static final MethodHandle CALL = function(
            "loom_layer_matmul_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /** dx = W^T dy; adds to the gradients of W and b. */
    public static int layerMatmulGradient(long layer, long x, long dy, MemorySegment weight, MemorySegment bias,
        MemorySegment dx) {
        try {
            return (int) CallLayerMatmulGradient.CALL.invokeExact(layer, x, dy, weight, bias, dx);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerProduct {
        static final MethodHandle CALL = function(
            "loom_layer_product",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));
    }

    /**
     * y = left right over the last two axes of two tensors whose other axes are equal, either of them transposed. Its
     * gradients are products too.
     */
    public static int layerProduct(long layer, long left, int transposeLeft, long right, int transposeRight,
        MemorySegment y) {
        try {
            return (int) CallLayerProduct.CALL.invokeExact(layer, left, transposeLeft, right, transposeRight, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerAdd {
        static final MethodHandle CALL = function(
            "loom_layer_add",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** y = left + right; equal shapes. */
    public static int layerAdd(long layer, long left, long right, MemorySegment y) {
        try {
            return (int) CallLayerAdd.CALL.invokeExact(layer, left, right, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerMultiply {
        static final MethodHandle CALL = function(
            "loom_layer_multiply",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** y = left right, element by element; equal shapes. */
    public static int layerMultiply(long layer, long left, long right, MemorySegment y) {
        try {
            return (int) CallLayerMultiply.CALL.invokeExact(layer, left, right, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerScale {
        static final MethodHandle CALL = function(
            "loom_layer_scale",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS));
    }

    /** y = x times a factor. */
    public static int layerScale(long layer, long x, double factor, MemorySegment y) {
        try {
            return (int) CallLayerScale.CALL.invokeExact(layer, x, factor, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerFill {
        static final MethodHandle CALL = function(
            "loom_layer_fill",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS));
    }

    /** Gives a tensor of the shape of another one with one value everywhere. */
    public static int layerFill(long layer, long like, double value, MemorySegment y) {
        try {
            return (int) CallLayerFill.CALL.invokeExact(layer, like, value, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerActivate {
        static final MethodHandle CALL = function(
            "loom_layer_activate",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** y = activation(x). (activation: the key of a setting of that type, or a name) */
    public static int layerActivate(long layer, long x, MemorySegment activation, MemorySegment y) {
        try {
            return (int) CallLayerActivate.CALL.invokeExact(layer, x, activation, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerActivateGradient {
        static final MethodHandle CALL = function(
            "loom_layer_activate_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** dx = dy times the activation's derivative at x. (activation: the key of a setting of that type, or a name) */
    public static int layerActivateGradient(long layer, long x, long dy, MemorySegment activation, MemorySegment dx) {
        try {
            return (int) CallLayerActivateGradient.CALL.invokeExact(layer, x, dy, activation, dx);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerGated {
        static final MethodHandle CALL = function(
            "loom_layer_gated",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * y = activation(gate) up, with the bits of swiglu. (activation: the key of a setting of that type, or a name)
     */
    public static int layerGated(long layer, long gate, long up, MemorySegment activation, MemorySegment y) {
        try {
            return (int) CallLayerGated.CALL.invokeExact(layer, gate, up, activation, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerGatedGradient {
        static final MethodHandle CALL = function(
            "loom_layer_gated_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /** The gradients of both. (activation: the key of a setting of that type, or a name) */
    public static int layerGatedGradient(long layer, long gate, long up, long dy, MemorySegment activation,
        MemorySegment dgate, MemorySegment dup) {
        try {
            return (int) CallLayerGatedGradient.CALL.invokeExact(layer, gate, up, dy, activation, dgate, dup);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerSoftmax {
        static final MethodHandle CALL = function(
            "loom_layer_softmax",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS));
    }

    /** p = softmax(x / temperature) along the last axis. */
    public static int layerSoftmax(long layer, long x, double temperature, MemorySegment p) {
        try {
            return (int) CallLayerSoftmax.CALL.invokeExact(layer, x, temperature, p);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerSoftmaxGradient {
        static final MethodHandle CALL = function(
            "loom_layer_softmax_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS));
    }

    /** dx from what softmax gave. */
    public static int layerSoftmaxGradient(long layer, long p, long dy, double temperature, MemorySegment dx) {
        try {
            return (int) CallLayerSoftmaxGradient.CALL.invokeExact(layer, p, dy, temperature, dx);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerRmsNorm {
        static final MethodHandle CALL = function(
            "loom_layer_rms_norm",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_DOUBLE, ADDRESS));
    }

    /** y = x / sqrt(mean of x^2 + eps) gamma along the last axis. (eps: 0 to 1) */
    public static int layerRmsNorm(long layer, long x, MemorySegment gamma, double eps, MemorySegment y) {
        try {
            return (int) CallLayerRmsNorm.CALL.invokeExact(layer, x, gamma, eps, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerRmsNormGradient {
        static final MethodHandle CALL = function(
            "loom_layer_rms_norm_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_DOUBLE, ADDRESS));
    }

    /** dx; adds to the gradient of gamma. */
    public static int layerRmsNormGradient(long layer, long x, long dy, MemorySegment gamma, double eps,
        MemorySegment dx) {
        try {
            return (int) CallLayerRmsNormGradient.CALL.invokeExact(layer, x, dy, gamma, eps, dx);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerLayerNorm {
        static final MethodHandle CALL = function(
            "loom_layer_layer_norm",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_DOUBLE, ADDRESS));
    }

    /** y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. (eps: 0 to 1) */
    public static int layerLayerNorm(long layer, long x, MemorySegment gamma, MemorySegment beta, double eps,
        MemorySegment y) {
        try {
            return (int) CallLayerLayerNorm.CALL.invokeExact(layer, x, gamma, beta, eps, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerLayerNormGradient {
        static final MethodHandle CALL = function(
            "loom_layer_layer_norm_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_DOUBLE, ADDRESS));
    }

    /** dx; adds to the gradients of gamma and beta. */
    public static int layerLayerNormGradient(long layer, long x, long dy, MemorySegment gamma, MemorySegment beta,
        double eps, MemorySegment dx) {
        try {
            return (int) CallLayerLayerNormGradient.CALL.invokeExact(layer, x, dy, gamma, beta, eps, dx);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerPermute {
        static final MethodHandle CALL = function(
            "loom_layer_permute",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** y is x with its axes in another order: axis i of y is axis axes[i] of x. */
    public static int layerPermute(long layer, long x, MemorySegment axes, long axesCount, MemorySegment y) {
        try {
            return (int) CallLayerPermute.CALL.invokeExact(layer, x, axes, axesCount, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerReshape {
        static final MethodHandle CALL = function(
            "loom_layer_reshape",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** y is x with other extents. */
    public static int layerReshape(long layer, long x, MemorySegment extents, long extentsCount, MemorySegment y) {
        try {
            return (int) CallLayerReshape.CALL.invokeExact(layer, x, extents, extentsCount, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerSlice {
        static final MethodHandle CALL = function(
            "loom_layer_slice",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** y is [first, first + count) of an axis of x. Its gradient is that of pad, and the reverse. */
    public static int layerSlice(long layer, long x, long axis, long first, long count, MemorySegment y) {
        try {
            return (int) CallLayerSlice.CALL.invokeExact(layer, x, axis, first, count, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerPad {
        static final MethodHandle CALL = function(
            "loom_layer_pad",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** y is x at `first` of an axis of another extent, zeros elsewhere. */
    public static int layerPad(long layer, long x, long axis, long first, long extent, MemorySegment y) {
        try {
            return (int) CallLayerPad.CALL.invokeExact(layer, x, axis, first, extent, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerRepeat {
        static final MethodHandle CALL = function(
            "loom_layer_repeat",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /** y is x, whose axis has the extent 1, as often along that axis. Its gradient is the mean, times as often. */
    public static int layerRepeat(long layer, long x, long axis, long times, MemorySegment y) {
        try {
            return (int) CallLayerRepeat.CALL.invokeExact(layer, x, axis, times, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerMean {
        static final MethodHandle CALL = function(
            "loom_layer_mean",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    }

    /**
     * y is the mean of x along an axis, which has the extent 1 then. Its gradient is the repeat of dy over as many.
     */
    public static int layerMean(long layer, long x, long axis, MemorySegment y) {
        try {
            return (int) CallLayerMean.CALL.invokeExact(layer, x, axis, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerDropout {
        static final MethodHandle CALL = function(
            "loom_layer_dropout",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, JAVA_INT, ADDRESS));
    }

    /**
     * y is x with elements left out at that rate while a network trains, else x. Its gradient is the same of dy.
     * (which: number of the dropout within the layer)
     */
    public static int layerDropout(long layer, long x, double rate, int which, MemorySegment y) {
        try {
            return (int) CallLayerDropout.CALL.invokeExact(layer, x, rate, which, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerWeight {
        static final MethodHandle CALL = function(
            "loom_layer_weight",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /** y has the shape of a tensor and holds a weight's values in each of its samples, as often as they fit. */
    public static int layerWeight(long layer, MemorySegment name, long like, MemorySegment y) {
        try {
            return (int) CallLayerWeight.CALL.invokeExact(layer, name, like, y);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerAddGradient {
        static final MethodHandle CALL = function(
            "loom_layer_add_gradient",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    /** In backward: adds the sum of such pieces of a tensor to a weight's gradient. */
    public static int layerAddGradient(long layer, MemorySegment name, long tensor) {
        try {
            return (int) CallLayerAddGradient.CALL.invokeExact(layer, name, tensor);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallLayerKindTiles {
        static final MethodHandle CALL = function(
            "loom_layer_kind_tiles",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Gives how the kernels of a layer kind divide its work, a JSON object: kind, dtype, isa, cpu (rows and outputs
     * that go together) and gpu (few_rows, few and many: rows and outputs of a workgroup), null where the kind runs
     * on the CPU alone in that type. No bit depends on it. (kind: dense, swiglu, rnn, lstm, mha, gru, cnn1 to cnn3,
     * convtransposed1 to convtransposed3, or attention; dtype: of the weights; isa: an instruction set by name; NULL:
     * the best one)
     */
    public static int layerKindTiles(MemorySegment kind, MemorySegment dtype, MemorySegment isa,
        MemorySegment sizes) {
        try {
            return (int) CallLayerKindTiles.CALL.invokeExact(kind, dtype, isa, sizes);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallFileInspect {
        static final MethodHandle CALL = function(
            "loom_file_inspect",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ADDRESS));
    }

    /**
     * Gives what a file holds, a JSON object: a language model, a network, a checkpoint. (tensors: lists the tensors
     * of a language model)
     */
    public static int fileInspect(MemorySegment path, int tensors, MemorySegment facts) {
        try {
            return (int) CallFileInspect.CALL.invokeExact(path, tensors, facts);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallFileQuantize {
        static final MethodHandle CALL = function(
            "loom_file_quantize",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Writes a GGUF file with the matrices of another one in a type, whole or not at all. */
    public static int fileQuantize(MemorySegment from, MemorySegment to, MemorySegment dtype, MemorySegment options,
        MemorySegment report) {
        try {
            return (int) CallFileQuantize.CALL.invokeExact(from, to, dtype, options, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallFileConvert {
        static final MethodHandle CALL = function(
            "loom_file_convert",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Writes a language model of any format as .entity, whole or not at all. */
    public static int fileConvert(MemorySegment from, MemorySegment to, MemorySegment options, MemorySegment report) {
        try {
            return (int) CallFileConvert.CALL.invokeExact(from, to, options, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallFileSchema {
        static final MethodHandle CALL = function(
            "loom_file_schema",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
    }

    /** Gives the JSON Schema of a file that Loom reads. */
    public static int fileSchema(int file, MemorySegment json) {
        try {
            return (int) CallFileSchema.CALL.invokeExact(file, json);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallFileOpen {
        static final MethodHandle CALL = function(
            "loom_file_open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Opens a file or folder: a network (.entity, JSON, safetensors, .npz, Loom 0.8x), a language model (GGUF, a
     * Hugging Face folder, .entity), a text encoder (the folder of a BERT) or a graph (.onnx, .entity).
     * loom_kind_of() gives the kind of the handle. The report is a JSON object: kind, format, where each tensor of a
     * bare file went, warnings.
     */
    public static int fileOpen(MemorySegment path, MemorySegment options, MemorySegment object,
        MemorySegment report) {
        try {
            return (int) CallFileOpen.CALL.invokeExact(path, options, object, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallFileExport {
        static final MethodHandle CALL = function(
            "loom_file_export",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Writes what one file holds as another: a network as .onnx or .safetensors, a language model as .gguf or as a
     * Hugging Face folder. UNSUPPORTED, before a byte is written, names what the format cannot express. The report is
     * a JSON object: format, bytes, tensors or nodes, SHA-256.
     */
    public static int fileExport(MemorySegment from, MemorySegment to, MemorySegment options, MemorySegment report) {
        try {
            return (int) CallFileExport.CALL.invokeExact(from, to, options, report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallFileHash {
        static final MethodHandle CALL = function(
            "loom_file_hash",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    }

    /**
     * Gives the SHA-256 of a file's bytes, of the files of a model's folder, or the root hash of an .entity, as text:
     * 64 hexadecimal digits. A file that has not changed since is not read again.
     */
    public static int fileHash(MemorySegment path, MemorySegment hash) {
        try {
            return (int) CallFileHash.CALL.invokeExact(path, hash);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGeneratorReceipt {
        static final MethodHandle CALL = function(
            "loom_generator_receipt",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the receipt of a generation that has ended; INVALID_STATE before, and for one that was cancelled. */
    public static int generatorReceipt(long generator, MemorySegment receipt) {
        try {
            return (int) CallGeneratorReceipt.CALL.invokeExact(generator, receipt);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallChatReceipt {
        static final MethodHandle CALL = function(
            "loom_chat_receipt",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the receipt of the last answer that was complete; INVALID_STATE before one. */
    public static int chatReceipt(long chat, MemorySegment receipt) {
        try {
            return (int) CallChatReceipt.CALL.invokeExact(chat, receipt);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallEncoderReceipt {
        static final MethodHandle CALL = function(
            "loom_encoder_receipt",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the receipt of the last texts; INVALID_STATE before any. */
    public static int encoderReceipt(long encoder, MemorySegment receipt) {
        try {
            return (int) CallEncoderReceipt.CALL.invokeExact(encoder, receipt);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallReceiptReplay {
        static final MethodHandle CALL = function(
            "loom_receipt_replay",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
    }

    /**
     * Computes what a receipt names again and compares: a JSON object with command, model, equal, difference (the
     * first one, or null), hash, and the isa and device that were used: those of the receipt where this machine has
     * them. (model: where the model is now; NULL: as in the receipt; folder: where relative paths start; NULL: the
     * working folder; device: as in the options of a session; NULL: that of the receipt, else cpu)
     */
    public static int receiptReplay(MemorySegment receipt, long receiptSize, MemorySegment model,
        MemorySegment folder, MemorySegment device, long cancel, MemorySegment report) {
        try {
            return (int) CallReceiptReplay.CALL.invokeExact(receipt, receiptSize, model, folder, device, cancel,
                report);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphOpen {
        static final MethodHandle CALL = function(
            "loom_graph_open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Reads an .onnx file, opset 7 on, or an .entity with a graph. UNSUPPORTED lists every operation that Loom lacks.
     */
    public static int graphOpen(MemorySegment path, MemorySegment options, MemorySegment graph) {
        try {
            return (int) CallGraphOpen.CALL.invokeExact(path, options, graph);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphFromMemory {
        static final MethodHandle CALL = function(
            "loom_graph_from_memory",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Like loom_graph_open(), for bytes, which are read during the call only; they must hold every tensor. */
    public static int graphFromMemory(MemorySegment data, long dataSize, MemorySegment options, MemorySegment graph) {
        try {
            return (int) CallGraphFromMemory.CALL.invokeExact(data, dataSize, options, graph);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphInfo {
        static final MethodHandle CALL = function(
            "loom_graph_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives a JSON object: inputs and outputs with name, type and shape ("?": any extent) as far as the file says,
     * opset, operations and how often, constants and their bytes.
     */
    public static int graphInfo(long graph, MemorySegment info) {
        try {
            return (int) CallGraphInfo.CALL.invokeExact(graph, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionCreate {
        static final MethodHandle CALL = function(
            "loom_graph_session_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Makes a session without inputs. */
    public static int graphSessionCreate(long graph, MemorySegment options, MemorySegment session) {
        try {
            return (int) CallGraphSessionCreate.CALL.invokeExact(graph, options, session);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionBind {
        static final MethodHandle CALL = function(
            "loom_graph_session_bind",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Names the caller's memory that runs read as an input. It must last as long as it is bound; what is in it may
     * change between runs. Float32, float64 and int64 are read without a copy, other types are copied into wider ones
     * by each run. A shape of no extents is that of a scalar. (name: of the input; NULL: the only one)
     */
    public static int graphSessionBind(long session, MemorySegment name, MemorySegment input) {
        try {
            return (int) CallGraphSessionBind.CALL.invokeExact(session, name, input);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionUnbind {
        static final MethodHandle CALL = function(
            "loom_graph_session_unbind",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Lets go of all memory that is bound. */
    public static int graphSessionUnbind(long session) {
        try {
            return (int) CallGraphSessionUnbind.CALL.invokeExact(session);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionRun {
        static final MethodHandle CALL = function(
            "loom_graph_session_run",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    }

    /**
     * Runs the graph from the bound inputs. INVALID_ARGUMENT for an input that is not bound or of another type,
     * SHAPE_MISMATCH for one of another shape. (cancel: read between operations: ends the call with CANCELLED)
     */
    public static int graphSessionRun(long session, long cancel) {
        try {
            return (int) CallGraphSessionRun.CALL.invokeExact(session, cancel);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionOutput {
        static final MethodHandle CALL = function(
            "loom_graph_session_output",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Gives an output of the last run without a copy; it lasts until the next call with the session that is not this
     * one. INVALID_STATE before a run. (name: of the output; NULL: the only one)
     */
    public static int graphSessionOutput(long session, MemorySegment name, MemorySegment output) {
        try {
            return (int) CallGraphSessionOutput.CALL.invokeExact(session, name, output);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionCopyOutput {
        static final MethodHandle CALL = function(
            "loom_graph_session_copy_output",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG));
    }

    /**
     * Copies an output of the last run, whose bytes must be as many. (output: its name; NULL: that of the only one)
     */
    public static int graphSessionCopyOutput(long session, MemorySegment output, MemorySegment to, long toCount) {
        try {
            return (int) CallGraphSessionCopyOutput.CALL.invokeExact(session, output, to, toCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionHash {
        static final MethodHandle CALL = function(
            "loom_graph_session_hash",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the SHA-256 of all outputs of the last run as text, 64 hexadecimal digits: equal on every machine. */
    public static int graphSessionHash(long session, MemorySegment hash) {
        try {
            return (int) CallGraphSessionHash.CALL.invokeExact(session, hash);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallGraphSessionInfo {
        static final MethodHandle CALL = function(
            "loom_graph_session_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: threads, memory that runs work in. */
    public static int graphSessionInfo(long session, MemorySegment info) {
        try {
            return (int) CallGraphSessionInfo.CALL.invokeExact(session, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallEncoderOpen {
        static final MethodHandle CALL = function(
            "loom_encoder_open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
    }

    /** Loads the folder of a BERT in the layout of sentence-transformers. */
    public static int encoderOpen(MemorySegment path, MemorySegment options, MemorySegment encoder) {
        try {
            return (int) CallEncoderOpen.CALL.invokeExact(path, options, encoder);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallEncoderInfo {
        static final MethodHandle CALL = function(
            "loom_encoder_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives a JSON object: dimensions, max_tokens, layers, pooling, threads. */
    public static int encoderInfo(long encoder, MemorySegment info) {
        try {
            return (int) CallEncoderInfo.CALL.invokeExact(encoder, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallEncoderTokenizer {
        static final MethodHandle CALL = function(
            "loom_encoder_tokenizer",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Gives the encoder's tokenizer. */
    public static int encoderTokenizer(long encoder, MemorySegment tokenizer) {
        try {
            return (int) CallEncoderTokenizer.CALL.invokeExact(encoder, tokenizer);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallEncoderEmbed {
        static final MethodHandle CALL = function(
            "loom_encoder_embed",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS));
    }

    /**
     * Gives a vector per text, one after another, and the number of tokens that were read of each; both last until
     * the next call with the encoder. A text's vector has the same bits alone and among others. A text is cut off
     * after max_tokens. (vectors: float32 [texts, dimensions])
     */
    public static int encoderEmbed(long encoder, MemorySegment texts, long textsCount, long cancel,
        MemorySegment vectors, MemorySegment tokens, MemorySegment tokensCount) {
        try {
            return (int) CallEncoderEmbed.CALL.invokeExact(encoder, texts, textsCount, cancel, vectors, tokens,
                tokensCount);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionWatch {
        static final MethodHandle CALL = function(
            "loom_network_session_watch",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Calls the host after each layer of the session's passes. */
    public static int networkSessionWatch(long session, MemorySegment layer, MemorySegment user) {
        try {
            return (int) CallNetworkSessionWatch.CALL.invokeExact(session, layer, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionWatchWindows {
        static final MethodHandle CALL = function(
            "loom_network_session_watch_windows",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Calls the host after each window of `layers` layers, with their statistics. (layers: at least 1) */
    public static int networkSessionWatchWindows(long session, long layers, MemorySegment window,
        MemorySegment user) {
        try {
            return (int) CallNetworkSessionWatchWindows.CALL.invokeExact(session, layers, window, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallNetworkSessionReportTo {
        static final MethodHandle CALL = function(
            "loom_network_session_report_to",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Sends a report of every layer to a host that listens, by a thread that no pass waits for:
     * "http://HOST:PORT/PATH" takes a POST of JSON each, "tanhi://HOST:PORT" a datagram; NULL ends it.
     */
    public static int networkSessionReportTo(long session, MemorySegment address) {
        try {
            return (int) CallNetworkSessionReportTo.CALL.invokeExact(session, address);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerWatch {
        static final MethodHandle CALL = function(
            "loom_trainer_watch",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /**
     * Calls the host after each layer of the steps of a trainer, forward and backward. UNSUPPORTED where several
     * shards run side by side.
     */
    public static int trainerWatch(long trainer, MemorySegment layer, MemorySegment user) {
        try {
            return (int) CallTrainerWatch.CALL.invokeExact(trainer, layer, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerWatchWindows {
        static final MethodHandle CALL = function(
            "loom_trainer_watch_windows",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Like loom_network_session_watch_windows(), for a trainer. (layers: at least 1) */
    public static int trainerWatchWindows(long trainer, long layers, MemorySegment window, MemorySegment user) {
        try {
            return (int) CallTrainerWatchWindows.CALL.invokeExact(trainer, layers, window, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallTrainerReportTo {
        static final MethodHandle CALL = function(
            "loom_trainer_report_to",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Like loom_network_session_report_to(), for a trainer. */
    public static int trainerReportTo(long trainer, MemorySegment address) {
        try {
            return (int) CallTrainerReportTo.CALL.invokeExact(trainer, address);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshWatch {
        static final MethodHandle CALL = function(
            "loom_step_mesh_watch",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Calls the host after each layer of a mesh's ticks; cells then run one after the other, with the same bits. */
    public static int stepMeshWatch(long mesh, MemorySegment layer, MemorySegment user) {
        try {
            return (int) CallStepMeshWatch.CALL.invokeExact(mesh, layer, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshWatchWindows {
        static final MethodHandle CALL = function(
            "loom_step_mesh_watch_windows",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Like loom_network_session_watch_windows(), for a mesh's ticks. (layers: at least 1) */
    public static int stepMeshWatchWindows(long mesh, long layers, MemorySegment window, MemorySegment user) {
        try {
            return (int) CallStepMeshWatchWindows.CALL.invokeExact(mesh, layers, window, user);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallStepMeshReportTo {
        static final MethodHandle CALL = function(
            "loom_step_mesh_report_to",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** Like loom_network_session_report_to(), for a step mesh. */
    public static int stepMeshReportTo(long mesh, MemorySegment address) {
        try {
            return (int) CallStepMeshReportTo.CALL.invokeExact(mesh, address);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallAdaptationCreate {
        static final MethodHandle CALL = function(
            "loom_adaptation_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_DOUBLE, JAVA_DOUBLE, ADDRESS, ADDRESS));
    }

    /** Begins windows of so many milliseconds, now. (total_ms: what comes later is not counted) */
    public static int adaptationCreate(double windowMs, double totalMs, MemorySegment task,
        MemorySegment adaptation) {
        try {
            return (int) CallAdaptationCreate.CALL.invokeExact(windowMs, totalMs, task, adaptation);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallAdaptationRecord {
        static final MethodHandle CALL = function(
            "loom_adaptation_record",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    }

    /** Counts an output, which was right or not. */
    public static int adaptationRecord(long adaptation, int correct) {
        try {
            return (int) CallAdaptationRecord.CALL.invokeExact(adaptation, correct);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallAdaptationMark {
        static final MethodHandle CALL = function(
            "loom_adaptation_mark",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /** The task changes now. */
    public static int adaptationMark(long adaptation, MemorySegment task) {
        try {
            return (int) CallAdaptationMark.CALL.invokeExact(adaptation, task);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallAdaptationInfo {
        static final MethodHandle CALL = function(
            "loom_adaptation_info",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    }

    /**
     * Gives a JSON object: windows so far, changes with accuracy before them and time to recover, accuracy,
     * throughput, availability, score.
     */
    public static int adaptationInfo(long adaptation, MemorySegment info) {
        try {
            return (int) CallAdaptationInfo.CALL.invokeExact(adaptation, info);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
