package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Predicate;
import welvet.abi.Abi;

/**
 * Options of a whole evolution.
 *
 * @param compute threads, instruction set and device that judge networks; no result depends on them
 * @param out folder of the run, with lineage, checkpoint and the best network; null: none
 * @param folder folder that relative paths of the config start from; null: that of the config file, or the current one
 * @param start what happens to a run in `out`
 * @param generations number of generations, in place of the config's; 0: its own
 * @param progress called after every generation with a report, a JSON object: done, total, best_score, hash; false ends
 *     the run after this generation; null: none
 * @param cancel ends the run after the current generation; null: nothing does
 */
public record EvolveOptions(Compute compute, String out, String folder, Start start, long generations,
    Predicate<? super String> progress, Cancel cancel) {
    /** How a run treats a folder that holds one. */
    public enum Start {
        /** Begins; a folder that holds a run is an error. */
        FRESH,
        /** Continues from the last checkpoint. */
        RESUME,
        /** Begins again and overwrites the run. */
        OVERWRITE
    }

    /** Defaults: nothing is saved. */
    public static final EvolveOptions DEFAULT =
        new EvolveOptions(Compute.DEFAULT, null, null, Start.FRESH, 0, null, null);

    /**
     * Sets the folder of the run.
     *
     * @param path the folder
     * @param how what happens to a run in it
     * @return options with these
     */
    public EvolveOptions withOut(String path, Start how) {
        return new EvolveOptions(compute, path, folder, how, generations, progress, cancel);
    }

    /**
     * Sets the folder that relative paths of the config start from.
     *
     * @param path the folder
     * @return options with that folder
     */
    public EvolveOptions withFolder(String path) {
        return new EvolveOptions(compute, out, path, start, generations, progress, cancel);
    }

    /**
     * Sets the number of generations.
     *
     * @param count their number, in place of the config's
     * @return options with that number
     */
    public EvolveOptions withGenerations(long count) {
        return new EvolveOptions(compute, out, folder, start, count, progress, cancel);
    }

    /**
     * Sets threads, instruction set and device.
     *
     * @param other threads, instruction set and device
     * @return options with these
     */
    public EvolveOptions withCompute(Compute other) {
        return new EvolveOptions(other, out, folder, start, generations, progress, cancel);
    }

    /**
     * Sets the progress function.
     *
     * @param function called with the report of every generation
     * @return options with that function
     */
    public EvolveOptions withProgress(Predicate<? super String> function) {
        return new EvolveOptions(compute, out, folder, start, generations, function, cancel);
    }

    /**
     * Sets the flag that ends the run.
     *
     * @param flag the flag
     * @return options with that flag
     */
    public EvolveOptions withCancel(Cancel flag) {
        return new EvolveOptions(compute, out, folder, start, generations, progress, flag);
    }

    /** Describes the options to C, without the progress function. */
    MemorySegment filled(Arena arena) {
        MemorySegment raw = Abi.struct(arena, Abi.EVOLUTION_OPTIONS);
        raw.set(ADDRESS, Abi.EVOLUTION_OPTIONS_COMPUTE, compute.filled(arena));
        raw.set(ADDRESS, Abi.EVOLUTION_OPTIONS_OUT, Native.text(arena, out, "out"));
        raw.set(ADDRESS, Abi.EVOLUTION_OPTIONS_FOLDER, Native.text(arena, folder, "folder"));
        raw.set(JAVA_INT, Abi.EVOLUTION_OPTIONS_START, switch (start) {
            case FRESH -> Abi.RUN_FRESH;
            case RESUME -> Abi.RUN_RESUME;
            case OVERWRITE -> Abi.RUN_OVERWRITE;
        });
        raw.set(JAVA_LONG, Abi.EVOLUTION_OPTIONS_GENERATIONS, generations);
        raw.set(JAVA_LONG, Abi.EVOLUTION_OPTIONS_CANCEL, Cancel.handleOf(cancel));
        return raw;
    }
}
