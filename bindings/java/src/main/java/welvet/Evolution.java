package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.function.ToIntBiFunction;
import welvet.abi.Abi;

/** Whole evolutions, and their single operations on networks. A Population asks the caller how good networks are. */
public final class Evolution {
    private Evolution() {}

    /**
     * Runs a whole evolution, whose task judges the networks: one of the config's names, or data of a file. A run that
     * the progress function or the flag of the options ends is "interrupted", and RESUME continues it.
     *
     * @param config JSON (docs/guide/evolution.md)
     * @param options options
     * @return the outcome, a JSON object: generations, best, interrupted, hash
     */
    public static String run(String config, EvolveOptions options) {
        byte[] text = Native.utf8(config);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, text);
            return run(options, (raw, to) -> Abi.evolutionRun(data, text.length, raw, to));
        }
    }

    /**
     * Runs a whole evolution by a config file.
     *
     * @param path the file
     * @param options options
     * @return the outcome of run()
     */
    public static String runFile(String path, EvolveOptions options) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, path, "the path of the config");
            return run(options, (raw, to) -> Abi.evolutionRunFile(words, raw, to));
        }
    }

    private static String run(EvolveOptions options, ToIntBiFunction<MemorySegment, MemorySegment> function) {
        Native.Callback<String> callback =
            new Native.Callback<>(options.progress() == null ? report -> true : options.progress());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = options.filled(arena);
            Abi.OnGeneration told = (user, report) -> callback.call(Abi.text(report));
            raw.set(ADDRESS, Abi.EVOLUTION_OPTIONS_PROGRESS, told.pointer(arena));
            return Native.text(to -> function.applyAsInt(raw, to));
        } finally {
            Reference.reachabilityFence(options);
            callback.finish();
        }
    }

    /**
     * Changes a network at random. Its output keeps its shape.
     *
     * @param network the network, which changes in place
     * @param shape shape of its input, samples first
     * @param config JSON like `mutation` of docs/guide/evolution.md, with seed, generation and individual
     * @return a JSON object: what was done, and what was skipped
     */
    public static String mutate(Network network, long[] shape, String config) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment extents = Native.longs(arena, shape);
            MemorySegment data = Native.bytes(arena, Native.utf8(config));
            return network.text(
                (handle, to) -> Abi.networkMutate(handle, extents, shape.length, data, data.byteSize(), to));
        }
    }

    /**
     * Makes a child of two networks.
     *
     * @param first a network
     * @param second another one
     * @param config JSON with mode ("blend", "point" or "uniform"), blend_alpha, split_ratio, fitness_a, fitness_b, seed
     * @return the child
     */
    public static Network splice(Network first, Network second, String config) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, Native.utf8(config));
            return second.with(other -> new Network(first.child(
                (handle, to) -> Abi.networkSplice(handle, other, data, data.byteSize(), to))));
        }
    }

    /**
     * Gives the signatures of a network: the direction of the weights of each layer.
     *
     * @param network the network
     * @param nested includes layers inside of layers
     * @return a JSON list: key, path, type, dtype, weights
     */
    public static String dna(Network network, boolean nested) {
        return network.text((handle, to) -> Abi.dnaExtract(handle, nested ? 1 : 0, to));
    }

    /**
     * Compares the signatures of two networks.
     *
     * @param first a network
     * @param second another one
     * @param nested includes layers inside of layers
     * @return a JSON object: overlaps, logic shifts, layers of one network alone
     */
    public static String compareDna(Network first, Network second, boolean nested) {
        return second.with(other -> first.text((handle, to) -> Abi.dnaCompare(handle, other, nested ? 1 : 0, to)));
    }

    /**
     * Draws the comparison of compareDna().
     *
     * @param first a network
     * @param second another one
     * @param nested includes layers inside of layers
     * @return the picture, SVG
     */
    public static String drawDna(Network first, Network second, boolean nested) {
        return second.with(other -> first.text((handle, to) -> Abi.dnaDraw(handle, other, nested ? 1 : 0, to)));
    }

    /**
     * Compares the specs and weights of two networks.
     *
     * @param first a network
     * @param second another one
     * @return a JSON object of the differences; `equal` is true or false
     */
    public static String compare(Network first, Network second) {
        return second.with(other -> first.text((handle, to) -> Abi.networkCompare(handle, other, to)));
    }
}
