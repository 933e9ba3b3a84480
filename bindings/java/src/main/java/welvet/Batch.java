package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import welvet.abi.Abi;

/** Samples that a network learns from: target values, or classes, as its loss takes them. */
public final class Batch {
    private final Tensor inputs;
    private final float[] targets;
    private final int[] classes;

    private Batch(Tensor inputs, float[] targets, int[] classes) {
        this.inputs = inputs;
        this.targets = targets;
        this.classes = classes;
    }

    /**
     * Makes a batch of target values.
     *
     * @param inputs the samples
     * @param targets as many values per sample as the output has
     * @return the batch
     */
    public static Batch of(Tensor inputs, float... targets) {
        return new Batch(inputs, targets, null);
    }

    /**
     * Makes a batch of classes, for losses as "softmax_crossentropy".
     *
     * @param inputs the samples
     * @param classes an id from 0 per row of the output
     * @return the batch
     */
    public static Batch ofClasses(Tensor inputs, int... classes) {
        return new Batch(inputs, null, classes);
    }

    MemorySegment filled(Arena arena) {
        MemorySegment raw = Abi.struct(arena, Abi.BATCH);
        MemorySegment values =
            classes == null ? arena.allocateFrom(JAVA_FLOAT, targets) : arena.allocateFrom(JAVA_INT, classes);
        int element = classes == null ? Abi.ELEMENT_FLOAT32 : Abi.ELEMENT_INT32;
        raw.set(ADDRESS, Abi.BATCH_INPUTS, inputs.filled(arena));
        raw.set(ADDRESS, Abi.BATCH_TARGETS, Tensor.described(arena, element, values, new long[0]));
        return raw;
    }
}
