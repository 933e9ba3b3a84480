// Made by tools/gen_bindings.py from api/loom.json.
package welvet;

/** Reason why a call failed. */
public enum ErrorCode {
    /** An argument is outside what the function takes. */
    INVALID_ARGUMENT(1),
    /** A configuration contradicts itself. */
    INVALID_CONFIG(2),
    /** Shapes that must fit do not. */
    SHAPE_MISMATCH(3),
    /** A size overflows. */
    SIZE_OVERFLOW(4),
    /** A number is outside its range. */
    OUT_OF_RANGE(5),
    /** An index is outside of what it counts. */
    INDEX_OUT_OF_RANGE(6),
    /** A value is infinite or NaN. */
    NON_FINITE(7),
    /** A name is unknown. */
    UNKNOWN_NAME(8),
    /** A key is unknown. */
    UNKNOWN_KEY(9),
    /** There is no such file or part. */
    NOT_FOUND(10),
    /** The system refused to read or write. */
    IO_ERROR(11),
    /** No room is left on the disk. */
    DISK_FULL(12),
    /** The content makes no sense. */
    CORRUPT_DATA(13),
    /** The content is known and not supported. */
    UNSUPPORTED(14),
    /** Out of memory. */
    OUT_OF_MEMORY(15),
    /** The context of a session holds no more tokens. */
    CONTEXT_FULL(16),
    /** The model brings no chat template. */
    NO_TEMPLATE(17),
    /** A chat template failed. */
    TEMPLATE_ERROR(18),
    /** A limit that guards against hostile input was met. */
    LIMIT_EXCEEDED(19),
    /** Links lead in a circle. */
    LINK_CYCLE(20),
    /** The caller's cancel ended the call. */
    CANCELLED(21),
    /** A tensor has no values. */
    EMPTY_TENSOR(22),
    /** A link leads backwards where none may. */
    FEEDBACK_LINK(23),
    /** A link leads to an empty cell. */
    LINK_TO_EMPTY(24),
    /** Containers are nested too deep. */
    NESTING_TOO_DEEP(25),
    /** The object is not in the state that the call needs. */
    INVALID_STATE(26),
    /** There is no value so far. */
    NO_VALUE(27),
    /** There is no history so far. */
    NO_HISTORY(28),
    /** The format cannot hold the values exactly. */
    LOSSY_SAVE(29),
    /** Another thread uses the object, or this call was made from a callback of it. */
    BUSY(30),
    /** The handle is none, was released, or is of another kind. */
    BAD_HANDLE(31),
    /** The graphics card is lost with the values on it; objects of language models continue on the CPU. */
    DEVICE_LOST(32),
    /** Number that this package does not know. */
    UNKNOWN(-1);

    private final int number;

    ErrorCode(int number) {
        this.number = number;
    }

    /**
     * Gives the code of a status of the library.
     *
     * @param number the status
     * @return the code, UNKNOWN for a number that this package does not know
     */
    public static ErrorCode of(int number) {
        for (ErrorCode code : values()) {
            if (code.number == number) {
                return code;
            }
        }
        return UNKNOWN;
    }
}
