package welvet;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.ToIntBiFunction;
import welvet.abi.Abi;

/** Grid of layers with their weights. Inputs and outputs have the samples first. */
public final class Network extends NativeObject {
    private NetworkSession session; // of forward()

    Network(long handle) {
        super(handle);
    }

    /**
     * Makes a network. Weights that the spec does not hold are drawn from its seed.
     *
     * @param spec a spec or checkpoint in JSON (docs/reference/layers.md)
     */
    public Network(String spec) {
        super(fromBytes(Native.utf8(spec),
            (data, to) -> Abi.networkFromJson(data, data.byteSize(), MemorySegment.NULL, to)));
    }

    /**
     * Reads a network file.
     *
     * @param path an .entity, a spec or checkpoint in JSON, a file of Loom 0.8x, or an ONNX file as one cell
     * @return the network
     */
    public static Network open(String path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, path, "the path of the network");
            return new Network(Native.make(to -> Abi.networkOpen(words, MemorySegment.NULL, to)));
        }
    }

    /**
     * Reads the contents of a file of open().
     *
     * @param contents the contents, as toBytes() gives them
     * @return the network
     */
    public static Network fromBytes(byte[] contents) {
        return new Network(fromBytes(contents,
            (data, to) -> Abi.networkFromMemory(data, data.byteSize(), MemorySegment.NULL, to)));
    }

    private static long fromBytes(byte[] contents, ToIntBiFunction<MemorySegment, MemorySegment> function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, contents);
            return Native.make(to -> function.applyAsInt(data, to));
        }
    }

    /**
     * Copies the network.
     *
     * @return a network that shares nothing with this one that can change
     */
    public Network copy() {
        return new Network(child(Abi::networkClone));
    }

    /**
     * Runs the network on samples. Threads that share it take turns; a session each runs them at the same time.
     *
     * @param input the samples
     * @return the output
     */
    public Tensor forward(Tensor input) {
        NetworkSession own;
        synchronized (this) {
            live();
            if (session == null) {
                session = session(Compute.DEFAULT, false);
            }
            own = session;
        }
        return own.forward(input);
    }

    @Override
    public synchronized void close() {
        if (session != null) {
            session.close();
        }
        super.close();
    }

    /**
     * Makes a session: activations, gradients and states of one user.
     *
     * @param compute threads, instruction set and device
     * @param backward keeps the values that backward() reads
     * @return the session
     */
    public NetworkSession session(Compute compute, boolean backward) {
        return new NetworkSession(this, compute, backward);
    }

    /**
     * Writes the network into a file, whole or not at all.
     *
     * @param path .json a checkpoint, everything else an .entity
     */
    public void save(String path) {
        withText(path, "the path of the network", (handle, words) -> Abi.networkSave(handle, words, 0));
    }

    private void withText(String text, String what, CallWithBlob function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, text, what);
            run(handle -> function.apply(handle, words));
        }
    }

    /**
     * Gives the contents of an .entity file.
     *
     * @return the contents, for fromBytes()
     */
    public byte[] toBytes() {
        return with(handle -> Native.blob(to -> Abi.networkToBytes(handle, Abi.FORMAT_ENTITY, 0, to)));
    }

    /**
     * Gives the spec, without weights.
     *
     * @return JSON: every setting that is not the default
     */
    public String spec() {
        return text(Abi::networkSpec);
    }

    /**
     * Describes the network.
     *
     * @return a JSON object: grid, layers, types, memory in bytes, shapes, warnings
     */
    public String info() {
        return text(Abi::networkInfo);
    }

    /**
     * Hashes all weights. Equal networks have equal hashes on every machine.
     *
     * @return the SHA-256, hexadecimal
     */
    public String hash() {
        return text(Abi::networkHash);
    }

    /**
     * Lists the weights.
     *
     * @return a JSON list: name, layer, role, shape, dtype, frozen, master
     */
    public String weights() {
        return text(Abi::networkWeights);
    }

    /**
     * Gives a copy of the values of a weight.
     *
     * @param name its name, as "layers.0.weight"
     * @param shape its shape
     * @return the values
     */
    public Tensor get(String name, long... shape) {
        return weight(name, shape, Abi::networkGetWeight);
    }

    /**
     * Replaces the values of a weight. A packed weight encodes them.
     *
     * @param name its name
     * @param values values in its shape
     */
    public void set(String name, Tensor values) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = values.filled(arena);
            withText(name, "the name of a weight", (handle, words) -> Abi.networkSetWeight(handle, words, raw));
        }
    }

    /**
     * Gives the matrices another numeric type. Masters stay exact.
     *
     * @param dtype the type, as "int8"
     */
    public void morph(String dtype) {
        withText(dtype, "dtype", (handle, words) -> Abi.networkMorph(handle, MemorySegment.NULL, words));
    }
}
