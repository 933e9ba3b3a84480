package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.List;
import welvet.abi.Abi;

/**
 * Language model: weights, tokenizer, chat template. Any number of threads may use one; each generate, stream and chat
 * has a session of its own.
 */
public final class LM extends NativeObject {
    private final LoadOptions options;

    /**
     * Loads a model.
     *
     * @param model a GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's cache
     */
    public LM(String model) {
        this(model, LoadOptions.DEFAULT);
    }

    /**
     * Loads a model with options.
     *
     * @param model a GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's cache
     * @param options those of loading
     */
    public LM(String model, LoadOptions options) {
        super(load(Hub.findModel(model), null, options));
        this.options = options;
    }

    /**
     * Loads a model from memory. Its answers have no receipt, since no file can be named.
     *
     * @param data the bytes of a GGUF file or an .entity
     * @param options those of loading
     */
    public LM(byte[] data, LoadOptions options) {
        super(load(null, data, options));
        this.options = options;
    }

    private static long load(String path, byte[] data, LoadOptions options) {
        Native.Callback<Double> callback =
            new Native.Callback<>(part -> options.progress() == null || options.progress().test(part));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Abi.struct(arena, Abi.MODEL_OPTIONS);
            raw.set(JAVA_LONG, Abi.MODEL_OPTIONS_CANCEL, Cancel.handleOf(options.cancel()));
            Abi.OnProgress told = (user, part) -> callback.call(part);
            raw.set(ADDRESS, Abi.MODEL_OPTIONS_PROGRESS, told.pointer(arena));
            raw.set(ADDRESS, Abi.MODEL_OPTIONS_DTYPE, Native.text(arena, options.dtype(), "dtype"));
            raw.set(ADDRESS, Abi.MODEL_OPTIONS_ADAPTERS, Native.texts(arena, options.adapters(), "adapters"));
            raw.set(JAVA_LONG, Abi.MODEL_OPTIONS_ADAPTERS_COUNT, options.adapters().size());
            MemorySegment source =
                path == null ? Native.bytes(arena, data) : Native.text(arena, path, "the path of the model");
            try {
                return Native.make(to -> path == null ? Abi.modelFromMemory(source, data.length, raw, to)
                    : Abi.modelOpen(source, raw, to));
            } finally {
                Reference.reachabilityFence(options);
                callback.finish();
            }
        }
    }

    /**
     * Answers or continues a text.
     *
     * @param prompt the text
     * @return the answer
     */
    public Generation generate(String prompt) {
        return generate(prompt, new Options());
    }

    /**
     * Answers or continues a text.
     *
     * @param prompt the text
     * @param options those of the answer
     * @return the answer
     */
    public Generation generate(String prompt, Options options) {
        try (TextStream stream = stream(prompt, options)) {
            return stream.finish();
        }
    }

    /**
     * Answers or continues a text, piece by piece.
     *
     * @param prompt the text
     * @param options those of the answer
     * @return the answer that is being written
     */
    public TextStream stream(String prompt, Options options) {
        int form = switch (options.form) {
            case AUTO -> Abi.PROMPT_AUTO;
            case RAW -> Abi.PROMPT_RAW;
            case CHAT -> Abi.PROMPT_CHAT;
        };
        return begin(Native.utf8(prompt), form, options);
    }

    /**
     * Answers a conversation, piece by piece.
     *
     * @param messages the conversation
     * @param options those of the answer
     * @return the answer that is being written
     */
    public TextStream stream(List<Message> messages, Options options) {
        if (options.form == Options.Form.RAW) {
            throw Native.wrong("form is RAW with a list of messages: expected CHAT or AUTO");
        }
        return begin(Native.utf8(Message.jsonOf(messages)), Abi.PROMPT_MESSAGES, options);
    }

    /**
     * Continues token ids, which are read as they are, piece by piece.
     *
     * @param ids the ids
     * @param options those of the answer
     * @return the answer that is being written
     */
    public TextStream stream(int[] ids, Options options) {
        try (Session session = new Session(this, options()); Arena arena = Arena.ofConfined()) {
            MemorySegment given = arena.allocateFrom(JAVA_INT, ids);
            MemorySegment raw = options.filled(arena);
            return new TextStream(
                session.child((handle, to) -> Abi.generatorCreate(handle, given, ids.length, raw, to)), false, options);
        }
    }

    private TextStream begin(byte[] words, int form, Options options) {
        try (Session session = new Session(this, options()); Arena arena = Arena.ofConfined()) {
            MemorySegment text = Native.bytes(arena, words);
            MemorySegment raw = options.filled(arena);
            return new TextStream(
                session.child((handle, to) -> Abi.generatorFromText(handle, text, words.length, form, raw, to)), false,
                options);
        }
    }

    LoadOptions options() {
        return options;
    }

    /** Sequence of tokens with its keys and values. */
    static final class Session extends NativeObject {
        Session(LM lm, LoadOptions options) {
            super(made(lm, options));
        }

        private static long made(LM lm, LoadOptions options) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment raw = Abi.struct(arena, Abi.SESSION_OPTIONS);
                raw.set(ADDRESS, Abi.SESSION_OPTIONS_COMPUTE, options.compute().filled(arena));
                raw.set(JAVA_LONG, Abi.SESSION_OPTIONS_CONTEXT_TOKENS, options.context());
                return lm.child((handle, to) -> Abi.sessionCreate(handle, raw, to));
            }
        }
    }

    /**
     * Begins a conversation.
     *
     * @param system message that it begins with; null: none
     * @param options those of every answer
     * @return the conversation
     */
    public Chat chat(String system, Options options) {
        return new Chat(this, system, options);
    }

    /**
     * Gives the tokenizer.
     *
     * @return the tokenizer
     */
    public Tokenizer tokenizer() {
        return new Tokenizer(child(Abi::modelTokenizer));
    }

    /**
     * Describes the model.
     *
     * @return a JSON object: path, format, sizes, context, special tokens, what is missing
     */
    public String info() {
        return text(Abi::modelInfo);
    }
}
