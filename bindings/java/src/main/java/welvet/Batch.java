package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

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
        return new Batch(inputs, targets, new int[0]);
    }

    /**
     * Makes a batch of classes, for losses as "softmax_crossentropy".
     *
     * @param inputs the samples
     * @param classes an id from 0 per row of the output
     * @return the batch
     */
    public static Batch ofClasses(Tensor inputs, int... classes) {
        return new Batch(inputs, new float[0], classes);
    }

    MemorySegment filled(Arena arena) {
        MemorySegment raw = Abi.struct(arena, Abi.BATCH);
        raw.set(ADDRESS, Abi.BATCH_INPUTS, arena.allocateFrom(JAVA_FLOAT, inputs.floats()));
        raw.set(JAVA_LONG, Abi.BATCH_INPUTS_COUNT, inputs.floats().length);
        raw.set(ADDRESS, Abi.BATCH_SHAPE, Native.longs(arena, inputs.shape()));
        raw.set(JAVA_LONG, Abi.BATCH_SHAPE_COUNT, inputs.shape().length);
        raw.set(ADDRESS, Abi.BATCH_TARGETS, arena.allocateFrom(JAVA_FLOAT, targets));
        raw.set(JAVA_LONG, Abi.BATCH_TARGETS_COUNT, targets.length);
        raw.set(ADDRESS, Abi.BATCH_CLASSES, arena.allocateFrom(JAVA_INT, classes));
        raw.set(JAVA_LONG, Abi.BATCH_CLASSES_COUNT, classes.length);
        return raw;
    }
}
