package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import java.util.function.LongToIntFunction;
import welvet.abi.Abi;

/**
 * Object of the library. {@link #close()} ends it; one that is forgotten ends when the garbage collector finds it. An
 * object that is closed throws BAD_HANDLE.
 */
public abstract class NativeObject implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final AtomicLong handle;
    private final Cleaner.Cleanable cleanable;

    NativeObject(long handle) {
        AtomicLong kept = new AtomicLong(handle); // not this object, which would never be found
        this.handle = kept;
        cleanable = CLEANER.register(this, () -> Abi.release(kept.getAndSet(0)));
    }

    /** Ends the object, after the call that runs with it. Objects that were made from it go on. */
    @Override
    public synchronized void close() {
        cleanable.clean();
    }

    /** Gives the handle; the caller keeps the object reachable. */
    final long live() {
        long value = handle.get();
        if (value == 0) {
            String kind = getClass().getSimpleName();
            throw new LoomException(ErrorCode.BAD_HANDLE, "the " + kind + " is closed: make another one");
        }
        return value;
    }

    /** Makes a call with the handle. Threads do so at the same time. */
    final <T> T with(LongFunction<T> function) {
        try {
            return function.apply(live());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Makes a call and copies its results before another thread may make the next one. */
    final synchronized <T> T alone(LongFunction<T> function) {
        return with(function);
    }

    final void run(LongToIntFunction function) {
        alone(value -> {
            Native.check(function.applyAsInt(value));
            return null;
        });
    }

    /** Gives a text that the library makes of the object. */
    final String text(CallWithBlob function) {
        return with(value -> Native.text(blob -> function.apply(value, blob)));
    }

    /** Makes the handle of an object that is made of this one. */
    final long child(CallWithBlob function) {
        return with(value -> Native.make(to -> function.apply(value, to)));
    }

    /** Gives a copy of the tensor that a call describes; null if it describes none. */
    final Tensor tensor(CallWithBlob function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Abi.struct(arena, Abi.TENSOR);
            return alone(value -> {
                Native.check(function.apply(value, raw));
                return raw.get(ADDRESS, Abi.TENSOR_DATA).address() == 0 ? null : Tensor.copied(raw);
            });
        }
    }

    /** Gives numbers in the shape of a weight, which a call writes. */
    final Tensor weight(String name, long[] shape, CallWithWeight function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(JAVA_FLOAT, Tensor.countOf(shape));
            MemorySegment raw = Tensor.described(arena, Abi.ELEMENT_FLOAT32, values, shape);
            MemorySegment words = Native.text(arena, name, "the name of a weight");
            run(value -> function.apply(value, words, raw));
            return Tensor.of(shape, values.toArray(JAVA_FLOAT));
        }
    }

    /** Function of the library that takes a handle and fills another one, or a tensor. */
    interface CallWithBlob {
        int apply(long handle, MemorySegment to);
    }

    /** Function of the library that writes the numbers of a weight. */
    interface CallWithWeight {
        int apply(long handle, MemorySegment name, MemorySegment to);
    }
}
