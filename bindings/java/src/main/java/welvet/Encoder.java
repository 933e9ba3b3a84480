package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import welvet.abi.Abi;

/** Model that turns texts into vectors: the folder of a BERT in the layout of sentence-transformers. */
public final class Encoder extends NativeObject {
    /**
     * Loads an encoder.
     *
     * @param model its folder, or a hub id that is in huggingface_hub's cache
     */
    public Encoder(String model) {
        this(model, Compute.DEFAULT, null);
    }

    /**
     * Loads an encoder.
     *
     * @param model its folder, or a hub id that is in huggingface_hub's cache
     * @param compute threads and device
     * @param prompt text before every text; null: the folder's default one, if any
     */
    public Encoder(String model, Compute compute, String prompt) {
        super(made(Hub.findModel(model), compute, prompt));
    }

    private static long made(String path, Compute compute, String prompt) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Abi.struct(arena, Abi.ENCODER_OPTIONS);
            raw.set(ADDRESS, Abi.ENCODER_OPTIONS_COMPUTE, compute.filled(arena));
            raw.set(ADDRESS, Abi.ENCODER_OPTIONS_PROMPT, Native.text(arena, prompt, "prompt"));
            MemorySegment words = Native.text(arena, path, "the path of the model");
            return Native.make(to -> Abi.encoderOpen(words, raw, to));
        }
    }

    /**
     * Gives the vectors of texts. A text's vector has the same bits alone and among others.
     *
     * @param texts the texts
     * @return a tensor [texts, dimensions]
     */
    public Tensor embed(String... texts) {
        return embed(List.of(texts), null);
    }

    /**
     * Gives the vectors of texts.
     *
     * @param texts the texts
     * @param cancel ends the call with CANCELLED; null: nothing does
     * @return a tensor [texts, dimensions]
     */
    public Tensor embed(List<String> texts, Cancel cancel) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.texts(arena, texts, "a text");
            MemorySegment vectors = Abi.struct(arena, Abi.TENSOR);
            MemorySegment to = arena.allocate(JAVA_LONG, 2); // pointer and count of tokens
            return alone(handle -> {
                Native.check(Abi.encoderEmbed(handle, words, texts.size(), Cancel.handleOf(cancel), vectors,
                    to.asSlice(0, 8), to.asSlice(8, 8)));
                return Tensor.copied(vectors);
            });
        }
    }

    /**
     * Gives the tokenizer.
     *
     * @return the tokenizer
     */
    public Tokenizer tokenizer() {
        return new Tokenizer(child(Abi::encoderTokenizer));
    }

    /**
     * Describes the encoder.
     *
     * @return a JSON object: dimensions, max_tokens, layers, pooling, threads
     */
    public String info() {
        return text(Abi::encoderInfo);
    }
}
