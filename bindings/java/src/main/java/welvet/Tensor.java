package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import welvet.abi.Abi;

/** Numbers in row-major order with their shape, samples first: doubles for networks with "activations": "f64". */
public final class Tensor {
    private final long[] shape;
    private final float[] floats;
    private final double[] doubles;

    private Tensor(long[] shape, float[] floats, double[] doubles) {
        int count = floats == null ? doubles.length : floats.length;
        if (countOf(shape) != count) {
            throw new LoomException(ErrorCode.SHAPE_MISMATCH,
                "the shape " + Arrays.toString(shape) + " has " + countOf(shape) + " values, got " + count);
        }
        this.shape = shape.clone();
        this.floats = floats;
        this.doubles = doubles;
    }

    /**
     * Makes a tensor. It keeps the array.
     *
     * @param shape extents, outermost first
     * @param values the values
     * @return the tensor
     */
    public static Tensor of(long[] shape, float... values) {
        return new Tensor(shape, values, null);
    }

    /**
     * Makes a tensor of doubles. It keeps the array.
     *
     * @param shape extents, outermost first
     * @param values the values
     * @return the tensor
     */
    public static Tensor ofDoubles(long[] shape, double... values) {
        return new Tensor(shape, null, values);
    }

    static int countOf(long[] shape) {
        long count = 1;
        for (long extent : shape) {
            if (extent < 0 || extent > 0 && count > Integer.MAX_VALUE / extent) {
                throw new LoomException(ErrorCode.SIZE_OVERFLOW, "the shape " + Arrays.toString(shape)
                    + " has a negative extent or more than " + Integer.MAX_VALUE + " values");
            }
            count *= extent;
        }
        return (int) count;
    }

    /**
     * Gives the extents, outermost first.
     *
     * @return a copy
     */
    public long[] shape() {
        return shape.clone();
    }

    /**
     * Gives the values.
     *
     * @return the array itself
     * @throws LoomException INVALID_STATE for a tensor of doubles
     */
    public float[] floats() {
        if (floats == null) {
            throw new LoomException(ErrorCode.INVALID_STATE, "the tensor has doubles: call doubles()");
        }
        return floats;
    }

    /**
     * Gives the values of a tensor of doubles.
     *
     * @return the array itself
     * @throws LoomException INVALID_STATE for a tensor of floats
     */
    public double[] doubles() {
        if (doubles == null) {
            throw new LoomException(ErrorCode.INVALID_STATE, "the tensor has floats: call floats()");
        }
        return doubles;
    }

    /**
     * Gives the values of one of the outermost parts: of a sample, of a text.
     *
     * @param index its place, from 0
     * @return a copy
     */
    public float[] row(int index) {
        int width = floats().length / (int) shape[0];
        return Arrays.copyOfRange(floats, index * width, (index + 1) * width);
    }

    /** Describes a copy of the values to C. */
    MemorySegment filled(Arena arena) {
        MemorySegment values =
            floats == null ? arena.allocateFrom(JAVA_DOUBLE, doubles) : arena.allocateFrom(JAVA_FLOAT, floats);
        return described(arena, floats == null ? Abi.ELEMENT_FLOAT64 : Abi.ELEMENT_FLOAT32, values, shape);
    }

    static MemorySegment described(Arena arena, int element, MemorySegment values, long[] shape) {
        MemorySegment raw = Abi.struct(arena, Abi.TENSOR);
        raw.set(JAVA_INT, Abi.TENSOR_ELEMENT, element);
        raw.set(ADDRESS, Abi.TENSOR_DATA, values);
        raw.set(JAVA_LONG, Abi.TENSOR_DATA_SIZE, values.byteSize());
        raw.set(ADDRESS, Abi.TENSOR_SHAPE, Native.longs(arena, shape));
        raw.set(JAVA_LONG, Abi.TENSOR_SHAPE_COUNT, shape.length);
        return raw;
    }

    /** Copies a tensor that the library gave. */
    static Tensor copied(MemorySegment raw) {
        long[] shape = Native.longsAt(raw.get(ADDRESS, Abi.TENSOR_SHAPE), raw.get(JAVA_LONG, Abi.TENSOR_SHAPE_COUNT));
        MemorySegment data = raw.get(ADDRESS, Abi.TENSOR_DATA).reinterpret(raw.get(JAVA_LONG, Abi.TENSOR_DATA_SIZE));
        return raw.get(JAVA_INT, Abi.TENSOR_ELEMENT) == Abi.ELEMENT_FLOAT64
            ? ofDoubles(shape, data.toArray(JAVA_DOUBLE)) : of(shape, data.toArray(JAVA_FLOAT));
    }
}
