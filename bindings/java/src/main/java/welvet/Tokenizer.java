package welvet;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;
import welvet.abi.Abi;

/** Text to token ids and back. It never changes, so any number of threads may use one. */
public final class Tokenizer extends NativeObject {
    Tokenizer(long handle) {
        super(handle);
    }

    /**
     * Opens a tokenizer without the weights of its model.
     *
     * @param path a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json
     * @return the tokenizer
     */
    public static Tokenizer open(String path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, path, "the path");
            return new Tokenizer(Native.make(to -> Abi.tokenizerOpen(words, to)));
        }
    }

    /**
     * Gives the ids of a text with those that the model expects around one; control tokens in it are read as such.
     *
     * @param text the text
     * @return the ids
     */
    public int[] encode(String text) {
        return encode(text, true, true);
    }

    /**
     * Gives the ids of a text.
     *
     * @param text the text
     * @param addSpecialTokens adds the tokens that the model expects around a text
     * @param parseSpecial reads control tokens in the text as such, not as ordinary text
     * @return the ids
     */
    public int[] encode(String text, boolean addSpecialTokens, boolean parseSpecial) {
        byte[] words = Native.utf8(text);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, words);
            byte[] ids = with(handle -> Native.blob(to -> Abi.tokenizerEncode(handle, data, words.length,
                addSpecialTokens ? 1 : 0, parseSpecial ? 1 : 0, to)));
            return Native.intsAt(Native.bytes(arena, ids).asSlice(0), ids.length / Integer.BYTES);
        }
    }

    /**
     * Gives the text of ids.
     *
     * @param ids the ids
     * @param skipSpecialTokens leaves control tokens out
     * @return the text; bytes that are not UTF-8 become U+FFFD
     */
    public String decode(int[] ids, boolean skipSpecialTokens) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment given = arena.allocateFrom(JAVA_INT, ids);
            return text((handle, to) -> Abi.tokenizerDecode(handle, given, ids.length, skipSpecialTokens ? 1 : 0, to));
        }
    }

    /**
     * Gives the id of a token.
     *
     * @param token its text as the vocabulary spells it
     * @return the id, or none
     */
    public OptionalInt idOf(String token) {
        byte[] words = Native.utf8(token);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(JAVA_INT);
            MemorySegment data = Native.bytes(arena, words);
            int status = with(handle -> Abi.tokenizerId(handle, data, words.length, id));
            if (status == Abi.NOT_FOUND) {
                return OptionalInt.empty();
            }
            Native.check(status);
            return OptionalInt.of(id.get(JAVA_INT, 0));
        }
    }

    /**
     * Gives the text of a token as the vocabulary spells it.
     *
     * @param id its id
     * @return the text; empty for an unknown id
     */
    public String token(int id) {
        return text((handle, to) -> Abi.tokenizerToken(handle, id, to));
    }

    /**
     * Gives the size of the vocabulary.
     *
     * @return one more than the greatest id
     */
    public long vocabSize() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(JAVA_LONG);
            return with(handle -> {
                Native.check(Abi.tokenizerVocabSize(handle, size));
                return size.get(JAVA_LONG, 0);
            });
        }
    }
}
