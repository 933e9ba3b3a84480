package welvet;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import welvet.abi.Abi;

/** ONNX model of opset 7 or later: tensors in by name, tensors out. Threads that share one take turns. */
public final class Graph extends NativeObject {
    private final Session session;

    /** User of the graph. */
    private static final class Session extends NativeObject {
        Session(long handle) {
            super(handle);
        }
    }

    private Graph(long handle, Compute compute) {
        super(handle);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = compute.filled(arena);
            session = new Session(child((graph, to) -> Abi.graphSessionCreate(graph, raw, to)));
        }
    }

    /**
     * Reads a file.
     *
     * @param path an .onnx file, or an .entity with one
     * @return the graph
     * @throws LoomException UNSUPPORTED lists every operation that Loom lacks
     */
    public static Graph open(String path) {
        return open(path, Compute.DEFAULT, 0);
    }

    /**
     * Reads a file.
     *
     * @param path an .onnx file, or an .entity with one
     * @param compute threads, instruction set and device; no result depends on them
     * @param maxBytes most bytes of all values of a run; 0: 16 GiB
     * @return the graph
     * @throws LoomException UNSUPPORTED lists every operation that Loom lacks
     */
    public static Graph open(String path, Compute compute, long maxBytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, path, "the path of the graph");
            return made(arena, compute, maxBytes, (options, to) -> Abi.graphOpen(words, options, to));
        }
    }

    /**
     * Reads the contents of a file, which must hold every tensor.
     *
     * @param contents the contents
     * @param compute threads, instruction set and device; no result depends on them
     * @param maxBytes most bytes of all values of a run; 0: 16 GiB
     * @return the graph
     */
    public static Graph fromBytes(byte[] contents, Compute compute, long maxBytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, contents);
            return made(arena, compute, maxBytes,
                (options, to) -> Abi.graphFromMemory(data, contents.length, options, to));
        }
    }

    private static Graph made(Arena arena, Compute compute, long maxBytes,
            BiFunction<MemorySegment, MemorySegment, Integer> function) {
        MemorySegment options = Abi.struct(arena, Abi.GRAPH_OPTIONS);
        options.set(JAVA_LONG, Abi.GRAPH_OPTIONS_MAX_BYTES, maxBytes);
        return new Graph(Native.make(to -> function.apply(options, to)), compute);
    }

    /**
     * Describes the graph.
     *
     * @return a JSON object: inputs and outputs with name, type and shape ("?": any extent), opset, operations and how
     *     often, constants and their bytes
     */
    public String info() {
        return text(Abi::graphInfo);
    }

    /**
     * Runs the graph and gives some of its outputs.
     *
     * @param inputs values by name
     * @param outputs names of the outputs to copy
     * @return the outputs by name
     * @throws LoomException INVALID_ARGUMENT for an input that is missing, unknown or of another type, SHAPE_MISMATCH
     *     for one of another shape
     */
    public Map<String, Value> run(Map<String, Value> inputs, String... outputs) {
        return run(inputs, null, outputs);
    }

    /**
     * Runs the graph and gives some of its outputs.
     *
     * @param inputs values by name
     * @param cancel ends the call with CANCELLED; null: nothing does
     * @param outputs names of the outputs to copy
     * @return the outputs by name
     */
    public Map<String, Value> run(Map<String, Value> inputs, Cancel cancel, String... outputs) {
        live();
        try (Arena arena = Arena.ofConfined()) {
            return session.alone(handle -> {
                try {
                    for (Map.Entry<String, Value> input : new TreeMap<>(inputs).entrySet()) {
                        MemorySegment words = Native.text(arena, input.getKey(), "the name of an input");
                        Native.check(Abi.graphSessionBind(handle, words,
                            input.getValue().filled(arena, input.getKey())));
                    }
                    Native.check(Abi.graphSessionRun(handle, Cancel.handleOf(cancel)));
                } finally {
                    Abi.graphSessionUnbind(handle); // before the memory ends
                }
                Map<String, Value> out = new TreeMap<>();
                for (String name : outputs) {
                    MemorySegment raw = Abi.struct(arena, Abi.TENSOR);
                    Native.check(Abi.graphSessionOutput(handle, Native.text(arena, name, "the name of an output"), raw));
                    out.put(name, Value.copied(raw));
                }
                return out;
            });
        }
    }

    /**
     * Hashes all outputs of the last run. The hash is equal on every machine, and that of `loom run`.
     *
     * @return the SHA-256, hexadecimal
     * @throws LoomException INVALID_STATE before a run
     */
    public String hash() {
        live();
        return session.alone(handle -> Native.text(to -> Abi.graphSessionHash(handle, to)));
    }

    @Override
    public synchronized void close() {
        session.close();
        super.close();
    }
}
