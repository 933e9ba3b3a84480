package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import welvet.abi.Abi;

/**
 * Answer of a model.
 *
 * @param text the answer, without stop text and end-of-sequence token
 * @param ids its tokens
 * @param stopReason "eos", "stop", "length", "context" or "cancelled"; empty before the end
 * @param hash SHA-256 of the ids and of the bits of the last logits, hexadecimal: equal on every machine
 * @param promptTokens number of tokens that were read before
 * @param prefillSeconds time of reading the prompt
 * @param decodeSeconds time of writing the answer
 * @param drafted number of drafted tokens
 * @param accepted number of drafted tokens that the model confirmed
 * @param passes number of passes of the model
 * @param logprobs with Options.logprobs, a JSON list with an object per token; else null
 */
public record Generation(String text, List<Integer> ids, String stopReason, String hash, long promptTokens,
    double prefillSeconds, double decodeSeconds, long drafted, long accepted, long passes, String logprobs) {
    static Generation of(MemorySegment raw, String logprobs) {
        byte[] text =
            Native.bytesAt(raw.get(ADDRESS, Abi.GENERATION_TEXT), raw.get(JAVA_LONG, Abi.GENERATION_TEXT_SIZE));
        int[] ids = Native.intsAt(raw.get(ADDRESS, Abi.GENERATION_IDS), raw.get(JAVA_LONG, Abi.GENERATION_IDS_COUNT));
        return new Generation(new String(text, StandardCharsets.UTF_8), Arrays.stream(ids).boxed().toList(),
            Abi.text(Abi.stopName(raw.get(JAVA_INT, Abi.GENERATION_STOP))),
            HexFormat.of().formatHex(raw.asSlice(Abi.GENERATION_HASH, 32).toArray(JAVA_BYTE)),
            raw.get(JAVA_LONG, Abi.GENERATION_PROMPT_TOKENS), raw.get(JAVA_DOUBLE, Abi.GENERATION_PREFILL_SECONDS),
            raw.get(JAVA_DOUBLE, Abi.GENERATION_DECODE_SECONDS), raw.get(JAVA_LONG, Abi.GENERATION_DRAFTED),
            raw.get(JAVA_LONG, Abi.GENERATION_ACCEPTED), raw.get(JAVA_LONG, Abi.GENERATION_PASSES), logprobs);
    }

    @Override
    public String toString() {
        return text;
    }
}
