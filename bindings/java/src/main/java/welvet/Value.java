package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import welvet.abi.Abi;

/**
 * Input or output of a graph. Types that Java lacks are the bits of those that it has: unsigned numbers those of signed
 * ones, float16 and bfloat16 shorts, floats of 8 bits bytes, truth values bytes of 0 or 1, numbers of 4 bits two in a
 * byte.
 *
 * @param type type of the numbers
 * @param shape extents, outermost first; none for a scalar
 * @param data float[], double[], byte[], short[], int[] or long[]
 */
public record Value(Type type, long[] shape, Object data) {
    /** Type of the numbers of a value. */
    public enum Type {
        /** Floats of 32 bits: float[]. */
        FLOAT32(Abi.ELEMENT_FLOAT32),
        /** Floats of 64 bits: double[]. */
        FLOAT64(Abi.ELEMENT_FLOAT64),
        /** Signed numbers of 8 bits: byte[]. */
        INT8(Abi.ELEMENT_INT8),
        /** Signed numbers of 16 bits: short[]. */
        INT16(Abi.ELEMENT_INT16),
        /** Signed numbers of 32 bits: int[]. */
        INT32(Abi.ELEMENT_INT32),
        /** Signed numbers of 64 bits: long[]. */
        INT64(Abi.ELEMENT_INT64),
        /** Numbers of 8 bits: byte[]. */
        UINT8(Abi.ELEMENT_UINT8),
        /** Numbers of 16 bits: short[]. */
        UINT16(Abi.ELEMENT_UINT16),
        /** Numbers of 32 bits: int[]. */
        UINT32(Abi.ELEMENT_UINT32),
        /** Numbers of 64 bits: long[]. */
        UINT64(Abi.ELEMENT_UINT64),
        /** Truth values: byte[]. */
        BOOL(Abi.ELEMENT_BOOL),
        /** Codes of float16: short[]. */
        FLOAT16(Abi.ELEMENT_FLOAT16),
        /** Codes of bfloat16: short[]. */
        BFLOAT16(Abi.ELEMENT_BFLOAT16),
        /** Codes of float8_e4m3fn: byte[]. */
        FLOAT8_E4M3FN(Abi.ELEMENT_FLOAT8_E4M3FN),
        /** Codes of float8_e5m2: byte[]. */
        FLOAT8_E5M2(Abi.ELEMENT_FLOAT8_E5M2),
        /** Numbers of 4 bits: byte[]. */
        UINT4(Abi.ELEMENT_UINT4),
        /** Signed numbers of 4 bits: byte[]. */
        INT4(Abi.ELEMENT_INT4);

        private final int element;

        Type(int element) {
            this.element = element;
        }

        private static Type of(int element) {
            for (Type type : values()) {
                if (type.element == element) {
                    return type;
                }
            }
            throw new LoomException(ErrorCode.UNSUPPORTED, "an output has element " + element
                + ", which this package does not know");
        }
    }

    /**
     * Makes a value of floats.
     *
     * @param shape extents, outermost first; none for a scalar
     * @param data the numbers
     * @return the value
     */
    public static Value of(long[] shape, float... data) {
        return new Value(Type.FLOAT32, shape, data);
    }

    /**
     * Makes a value of signed numbers of 64 bits.
     *
     * @param shape extents, outermost first; none for a scalar
     * @param data the numbers
     * @return the value
     */
    public static Value ofLongs(long[] shape, long... data) {
        return new Value(Type.INT64, shape, data);
    }

    /**
     * Gives the numbers of a FLOAT32.
     *
     * @return the array itself
     * @throws LoomException INVALID_STATE for another type
     */
    public float[] floats() {
        if (data instanceof float[] values) {
            return values;
        }
        throw new LoomException(ErrorCode.INVALID_STATE, "the value is " + type + ": expected FLOAT32");
    }

    /** Describes a copy of the numbers to C. */
    MemorySegment filled(Arena arena, String name) {
        MemorySegment values = switch (data) {
            case float[] numbers -> arena.allocateFrom(JAVA_FLOAT, numbers);
            case double[] numbers -> arena.allocateFrom(JAVA_DOUBLE, numbers);
            case byte[] numbers -> arena.allocateFrom(JAVA_BYTE, numbers);
            case short[] numbers -> arena.allocateFrom(JAVA_SHORT, numbers);
            case int[] numbers -> arena.allocateFrom(JAVA_INT, numbers);
            case long[] numbers -> arena.allocateFrom(JAVA_LONG, numbers);
            case null -> throw Native.wrong("input " + name + " has no data");
            default -> throw Native.wrong("input " + name + ": data is " + data.getClass().getSimpleName()
                + ", expected an array of numbers");
        };
        return Tensor.described(arena, type.element, values, shape);
    }

    /** Copies a tensor that the library gave. */
    static Value copied(MemorySegment raw) {
        Type type = Type.of(raw.get(JAVA_INT, Abi.TENSOR_ELEMENT));
        long[] shape = Native.longsAt(raw.get(ADDRESS, Abi.TENSOR_SHAPE), raw.get(JAVA_LONG, Abi.TENSOR_SHAPE_COUNT));
        MemorySegment data = raw.get(ADDRESS, Abi.TENSOR_DATA).reinterpret(raw.get(JAVA_LONG, Abi.TENSOR_DATA_SIZE));
        Object numbers = switch (type) {
            case FLOAT32 -> data.toArray(JAVA_FLOAT);
            case FLOAT64 -> data.toArray(JAVA_DOUBLE);
            case INT16, UINT16, FLOAT16, BFLOAT16 -> data.toArray(JAVA_SHORT);
            case INT32, UINT32 -> data.toArray(JAVA_INT);
            case INT64, UINT64 -> data.toArray(JAVA_LONG);
            default -> data.toArray(JAVA_BYTE);
        };
        return new Value(type, shape, numbers);
    }
}
