// The C ABI of Loom: constants, struct layouts and functions of loom.h. Made by tools/gen_bindings.py from api/loom.json.
// Structs begin with their size: Abi.struct(arena, Abi.STEP) makes one of zeros with its size set. 64-bit systems only.
package welvet;

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

public final class Abi {
    private Abi() {}

    /** The library of the property loom.library, or the system's. */
    private static final SymbolLookup LIBRARY = SymbolLookup.libraryLookup(
        System.getProperty("loom.library", System.mapLibraryName("loom")), Arena.global());

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

    // What every function returns: OK, or why it failed. loom_last_error() has the text.
    /** done */
    public static final int OK = 0;
    /** an argument is outside what the function takes */
    public static final int INVALID_ARGUMENT = 1;
    /** a configuration contradicts itself */
    public static final int INVALID_CONFIG = 2;
    /** shapes that must fit do not */
    public static final int SHAPE_MISMATCH = 3;
    /** a size is beyond what can be counted */
    public static final int SIZE_OVERFLOW = 4;
    /** a number is outside its range */
    public static final int OUT_OF_RANGE = 5;
    /** an index is outside of what it counts */
    public static final int INDEX_OUT_OF_RANGE = 6;
    /** a value is infinite or NaN */
    public static final int NON_FINITE = 7;
    /** a name means nothing here */
    public static final int UNKNOWN_NAME = 8;
    /** a key means nothing here */
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
    /** memory is not to be had */
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
    /** containers lie too deep in each other */
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

    // What a handle stands for.
    public static final int KIND_NONE = 0;
    public static final int KIND_BLOB = 1;
    public static final int KIND_CANCEL = 2;
    public static final int KIND_THREADS = 3;
    public static final int KIND_TOKENIZER = 4;
    public static final int KIND_MODEL = 5;
    public static final int KIND_SESSION = 6;
    public static final int KIND_GENERATOR = 7;

    // How a text becomes a prompt.
    /** a question for a model with a chat template, a text to continue for the others */
    public static final int PROMPT_AUTO = 0;
    /** the text is continued as it is */
    public static final int PROMPT_RAW = 1;
    /** the text is a question; NO_TEMPLATE when the model brings no template */
    public static final int PROMPT_CHAT = 2;

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

    /** Fields that are 0 mean the default. */
    public static final StructLayout MODEL_OPTIONS = MemoryLayout.structLayout(
        JAVA_INT.withName("struct_size"),
        MemoryLayout.paddingLayout(4),
        JAVA_LONG.withName("threads"),
        JAVA_LONG.withName("cancel"),
        ADDRESS.withName("progress"),
        ADDRESS.withName("user"),
        ADDRESS.withName("dtype"),
        ADDRESS.withName("adapters"),
        JAVA_LONG.withName("adapters_count")).withName("model_options");
    /** workers for loading; 0: one per physical core */
    public static final long MODEL_OPTIONS_THREADS = 8;
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
        JAVA_LONG.withName("threads"),
        JAVA_INT.withName("thread_count"),
        JAVA_INT.withName("sequences"),
        JAVA_LONG.withName("context_tokens"),
        ADDRESS.withName("kv_dtype"),
        JAVA_INT.withName("int8_activations"),
        MemoryLayout.paddingLayout(4),
        ADDRESS.withName("isa")).withName("session_options");
    /** shared workers; 0: workers of its own */
    public static final long SESSION_OPTIONS_THREADS = 8;
    /** of its own workers; 0: one per physical core */
    public static final long SESSION_OPTIONS_THREAD_COUNT = 16;
    /** how many sequences it holds at once; 0: one */
    public static final long SESSION_OPTIONS_SEQUENCES = 20;
    /** longest sequence; 0: what the model was trained for, at most 4096 */
    public static final long SESSION_OPTIONS_CONTEXT_TOKENS = 24;
    /** of keys and values: float32 (the default), bfloat16, int8 */
    public static final long SESSION_OPTIONS_KV_DTYPE = 32;
    /** activations in 8 bits instead of 16: faster, a little less exact */
    public static final long SESSION_OPTIONS_INT8_ACTIVATIONS = 40;
    /** an instruction set by name, to compare; NULL: the best one */
    public static final long SESSION_OPTIONS_ISA = 48;

    /** Fields that are 0 mean the default: 128 tokens, the most likely token each time. */
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
        JAVA_LONG.withName("stop_count")).withName("generation_options");
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

    /** What one call of loom_generator_next() did. */
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
     * text that can no longer change, behind what came before; may be empty; lasts until the next call with the
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
        MemoryLayout.paddingLayout(4)).withName("generation");
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

    /** Called on the thread of the caller, with the part that is done, from 0 to 1. Returning 0 cancels the call. */
    public interface OnProgress {
        int apply(MemorySegment user, double fraction);

        /** A pointer for C, which lasts as long as the arena. */
        default MemorySegment pointer(Arena arena) {
            return stub(OnProgress.class, this, FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_DOUBLE), arena);
        }
    }

    /** What a host's worker calls. */
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
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ADDRESS));
    }

    /**
     * Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
     * Takes seconds. (isa: an instruction set by name; NULL: the best one; threads: 0: one per physical core)
     */
    public static int verify(MemorySegment isa, int threads, MemorySegment digest) {
        try {
            return (int) CallVerify.CALL.invokeExact(isa, threads, digest);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static final class CallRetain {
        static final MethodHandle CALL = function(
            "loom_retain",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    }

    /** Counts one more owner. */
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
     * Counts one owner less; the last one ends the object, at once or when the calls that use it have returned. 0 is
     * ignored.
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

    private static final class CallGeneratorCreate {
        static final MethodHandle CALL = function(
            "loom_generator_create",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    }

    /** Prepares a generation behind what the sequence holds and the given ids. Nothing is read yet. */
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

    /** The same of a text. */
    public static int generatorFromText(long session, MemorySegment text, long textSize, int form,
        MemorySegment options, MemorySegment generator) {
        try {
            return (int) CallGeneratorFromText.CALL.invokeExact(session, text, textSize, form, options, generator);
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
}
