package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import welvet.abi.Abi;

/**
 * Threads, instruction set and device of a call or an object. No result depends on them.
 *
 * @param threads workers, 1 to 256; 0: one per physical core
 * @param isa an instruction set, as "avx2"; null: the best one of this processor
 * @param device "cpu" (or null), "auto", or a graphics card, as "gpu"
 */
public record Compute(int threads, String isa, String device) {
    /** Defaults: one thread per physical core, the best instruction set, the CPU. */
    public static final Compute DEFAULT = new Compute(0, null, null);

    /**
     * Makes one with a number of threads.
     *
     * @param threads workers, 1 to 256
     * @return the defaults with that number
     */
    public static Compute threads(int threads) {
        return new Compute(threads, null, null);
    }

    MemorySegment filled(Arena arena) {
        if (threads < 0) {
            throw Native.wrong("threads is " + threads + ": expected 0 to 256");
        }
        MemorySegment raw = Abi.struct(arena, Abi.COMPUTE_OPTIONS);
        raw.set(JAVA_INT, Abi.COMPUTE_OPTIONS_THREAD_COUNT, threads);
        raw.set(ADDRESS, Abi.COMPUTE_OPTIONS_ISA, Native.text(arena, isa, "isa"));
        raw.set(ADDRESS, Abi.COMPUTE_OPTIONS_DEVICE, Native.text(arena, device, "device"));
        return raw;
    }
}
