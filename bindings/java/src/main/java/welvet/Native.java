package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import welvet.abi.Abi;

/** Errors, texts and arrays at the border to the library. */
final class Native {
    private Native() {}

    static {
        int found = Abi.libraryAbiVersion();
        if (found != Abi.ABI_VERSION) {
            throw new UnsatisfiedLinkError("the library has version " + found + " of the C interface, this package "
                + "needs " + Abi.ABI_VERSION + ": install the library of the same release");
        }
        Abi.lastError(); // resolved now, so that nothing comes between a failure and its text
    }

    /** Throws the error of a call. Its text belongs to the thread of the call. */
    static void check(int status) {
        if (status != Abi.OK) {
            throw new LoomException(ErrorCode.of(status), Abi.text(Abi.lastError()));
        }
    }

    static LoomException wrong(String text) {
        return new LoomException(ErrorCode.INVALID_ARGUMENT, text);
    }

    /** Makes an object by a function that fills a handle. */
    static long make(ToIntFunction<MemorySegment> function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(JAVA_LONG);
            check(function.applyAsInt(handle));
            return handle.get(JAVA_LONG, 0);
        }
    }

    /** Copies the bytes of a blob that a function makes. */
    static byte[] blob(ToIntFunction<MemorySegment> function) {
        long blob = make(function);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocate(ADDRESS);
            MemorySegment size = arena.allocate(JAVA_LONG);
            check(Abi.blobView(blob, data, size));
            return bytesAt(data.get(ADDRESS, 0), size.get(JAVA_LONG, 0));
        } finally {
            Abi.release(blob);
        }
    }

    static String text(ToIntFunction<MemorySegment> function) {
        return new String(blob(function), StandardCharsets.UTF_8);
    }

    static byte[] bytesAt(MemorySegment data, long size) {
        return size == 0 ? new byte[0] : data.reinterpret(size).toArray(JAVA_BYTE);
    }

    static int[] intsAt(MemorySegment data, long count) {
        return count == 0 ? new int[0] : data.reinterpret(count * Integer.BYTES).toArray(JAVA_INT);
    }

    static long[] longsAt(MemorySegment data, long count) {
        return count == 0 ? new long[0] : data.reinterpret(count * Long.BYTES).toArray(JAVA_LONG);
    }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Makes a text that ends with a NUL; null becomes NULL. */
    static MemorySegment text(Arena arena, String text, String what) {
        if (text == null) {
            return MemorySegment.NULL;
        }
        if (text.indexOf(0) >= 0) {
            throw wrong(what + " has a NUL in it");
        }
        return arena.allocateFrom(text);
    }

    static MemorySegment texts(Arena arena, List<String> texts, String what) {
        MemorySegment pointers = arena.allocate(ADDRESS, texts.size());
        for (int i = 0; i < texts.size(); i++) {
            pointers.setAtIndex(ADDRESS, i, text(arena, texts.get(i), what));
        }
        return pointers;
    }

    static MemorySegment bytes(Arena arena, byte[] data) {
        return arena.allocateFrom(JAVA_BYTE, data);
    }

    static MemorySegment longs(Arena arena, long[] data) {
        return arena.allocateFrom(JAVA_LONG, data);
    }

    /** Function of the caller that C calls. An exception in it ends the call and goes on after it. */
    static final class Callback<E> {
        private final Predicate<? super E> function;
        private Throwable thrown;

        Callback(Predicate<? super E> function) {
            this.function = function;
        }

        int call(E event) {
            try {
                return thrown == null && function.test(event) ? 1 : 0;
            } catch (Throwable e) { // it must not unwind through C
                thrown = e;
                return 0;
            }
        }

        /** Lets an exception of the function go on: of any kind, since other languages throw checked ones too. */
        void finish() {
            if (thrown != null) {
                Callback.<RuntimeException>raise(thrown);
            }
        }

        @SuppressWarnings("unchecked") // checked exceptions are known to the compiler alone
        private static <T extends Throwable> void raise(Throwable thrown) throws T {
            throw (T) thrown;
        }
    }
}
