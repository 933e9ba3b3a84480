package welvet;

import java.nio.file.Path;
import java.util.Objects;
import welvet.abi.Abi;

/** Assertions, data and small networks of the tests. */
final class Checks {
    static final String SPEC = """
        {"seed": 3, "layers": [
          {"type": "dense", "input_height": 6, "output_height": 16, "activation": "tanh"},
          {"type": "dense", "input_height": 16, "output_height": 3}]}""";

    private Checks() {}

    static void equal(Object got, Object expected) {
        if (!Objects.deepEquals(got, expected)) {
            throw new AssertionError("got " + got + ", expected " + expected);
        }
    }

    static void holds(boolean value, Object shown) {
        if (!value) {
            throw new AssertionError(shown);
        }
    }

    static <T extends Throwable> T thrown(Class<T> kind, Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            if (kind.isInstance(e)) {
                return kind.cast(e);
            }
            throw new AssertionError("another exception", e);
        }
        throw new AssertionError("no exception, expected " + kind.getSimpleName());
    }

    static void refused(Runnable call, ErrorCode code, String words) {
        LoomException error = thrown(LoomException.class, call);
        holds(error.code() == code && error.text().contains(words), error);
    }

    static String data(String name) {
        String folder = System.getenv("LOOM_DATA");
        if (folder == null) {
            throw new AssertionError("LOOM_DATA is not set: tools/fetch_data.sh fills that folder");
        }
        return Path.of(folder, name).toString();
    }

    static String model() {
        return data("llm/SmolLM2-135M-Instruct.Q4_1.gguf");
    }

    static Tensor values(int seed, long... shape) {
        float[] out = new float[Tensor.countOf(shape)];
        int state = seed;
        for (int i = 0; i < out.length; i++) {
            state = state * 1664525 + 1013904223;
            out[i] = (float) (state >>> 8) / (1 << 23) - 1;
        }
        return Tensor.of(shape, out);
    }

    /** Waits until the garbage collector has ended the objects of these handles. */
    static boolean areGone(long[] handles) throws InterruptedException {
        for (int attempt = 0; attempt < 100; attempt++) {
            System.gc();
            Thread.sleep(20);
            int gone = 0;
            try (java.lang.foreign.Arena arena = java.lang.foreign.Arena.ofConfined()) {
                java.lang.foreign.MemorySegment kind = arena.allocate(4);
                for (long handle : handles) {
                    gone += Abi.kindOf(handle, kind) == Abi.BAD_HANDLE ? 1 : 0;
                }
            }
            if (gone == handles.length) {
                return true;
            }
        }
        return false;
    }
}
