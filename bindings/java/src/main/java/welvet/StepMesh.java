package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import welvet.abi.Abi;

/**
 * Network whose cells all move at once: in each tick a cell reads the outputs of the tick before. Its users have a
 * StepState each. Calls with a mesh and its states take turns.
 */
public final class StepMesh extends NativeObject {
    /**
     * Options of a mesh.
     *
     * @param compute threads, instruction set and device; no result depends on them
     * @param history number of captured ticks that a state keeps for backward(), at most 65536
     * @param backward keeps the activations that backward() reads
     * @param keepInputs keeps the inputs of every tick, which tween() starts from
     */
    public record MeshOptions(Compute compute, long history, boolean backward, boolean keepInputs) {
        /** Best threads, no history. */
        public static final MeshOptions DEFAULT = new MeshOptions(Compute.DEFAULT, 0, false, false);
    }

    /**
     * Says how states move.
     *
     * @param count number of ticks; 0: one
     * @param capture keeps these ticks in the history of the states, for backward()
     * @param training drops in dropout layers, and uses the statistics of the batch
     */
    public record Ticks(long count, boolean capture, boolean training) {
        /**
         * Moves by so many ticks.
         *
         * @param count number of ticks
         * @return ticks that are not captured
         */
        public static Ticks of(long count) {
            return new Ticks(count, false, false);
        }
    }

    /**
     * Prepares a network for ticks.
     *
     * @param network the network
     * @param shape shape of the input, samples first
     * @param options options
     */
    public StepMesh(Network network, long[] shape, MeshOptions options) {
        super(made(network, shape, options));
    }

    private static long made(Network network, long[] shape, MeshOptions options) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Abi.struct(arena, Abi.STEP_MESH_OPTIONS);
            raw.set(ADDRESS, Abi.STEP_MESH_OPTIONS_COMPUTE, options.compute().filled(arena));
            raw.set(JAVA_LONG, Abi.STEP_MESH_OPTIONS_HISTORY, options.history());
            raw.set(JAVA_INT, Abi.STEP_MESH_OPTIONS_BACKWARD, options.backward() ? 1 : 0);
            raw.set(JAVA_INT, Abi.STEP_MESH_OPTIONS_KEEP_INPUTS, options.keepInputs() ? 1 : 0);
            MemorySegment extents = Native.longs(arena, shape);
            return network.child((handle, to) -> Abi.stepMeshCreate(handle, extents, shape.length, raw, to));
        }
    }

    /**
     * Describes the mesh.
     *
     * @return a JSON object: cells, memory of a state in bytes
     */
    public synchronized String info() {
        return text(Abi::stepMeshInfo);
    }

    /**
     * Makes a user of the mesh.
     *
     * @return a state without input and outputs
     */
    public synchronized StepState state() {
        return new StepState(this, child(Abi::stepStateCreate));
    }

    /**
     * Moves states. After an error none of them has moved in the tick that failed.
     *
     * @param ticks how they move
     * @param states the states
     */
    public void step(Ticks ticks, StepState... states) {
        step(ticks, null, states);
    }

    /**
     * Moves states.
     *
     * @param ticks how they move
     * @param cancel ends the call with CANCELLED; null: nothing does
     * @param states the states
     */
    public void step(Ticks ticks, Cancel cancel, StepState... states) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Abi.struct(arena, Abi.TICK_OPTIONS);
            raw.set(JAVA_LONG, Abi.TICK_OPTIONS_TICKS, ticks.count());
            raw.set(JAVA_INT, Abi.TICK_OPTIONS_CAPTURE, ticks.capture() ? 1 : 0);
            raw.set(JAVA_INT, Abi.TICK_OPTIONS_TRAINING, ticks.training() ? 1 : 0);
            raw.set(JAVA_LONG, Abi.TICK_OPTIONS_CANCEL, Cancel.handleOf(cancel));
            MemorySegment handles = handlesOf(arena, List.of(states));
            run(mesh -> Abi.stepMeshStep(mesh, handles, states.length, raw));
        }
    }

    static MemorySegment handlesOf(Arena arena, List<StepState> states) {
        return Native.longs(arena, states.stream().mapToLong(NativeObject::live).toArray());
    }

    /**
     * Goes back through captured ticks: adds to the gradients of the weights.
     *
     * @param state the state whose ticks are read
     * @param outputGradient gradient of the loss by the output of the last cell
     * @param ticks most ticks to go back; 0: all that were captured
     * @return the gradient of the newest tick's input; null if that tick had no input
     * @throws LoomException NO_HISTORY when the last tick was not captured
     */
    public Tensor backward(StepState state, Tensor outputGradient, long ticks) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment dy = outputGradient.filled(arena);
            return tensor((mesh, dx) -> Abi.stepMeshBackward(mesh, state.live(), dy, ticks, dx));
        }
    }

    /**
     * Gives the gradient of a weight, summed since it was last cleared.
     *
     * @param weight its name
     * @param shape its shape
     * @return the gradient
     */
    public Tensor gradient(String weight, long... shape) {
        return weight(weight, shape, Abi::stepMeshGradient);
    }

    /** Sets every gradient to 0. */
    public void clearGradients() {
        run(Abi::stepMeshClearGradients);
    }

    /**
     * Begins learning by targets.
     *
     * @param config options of docs/guide/tween.md as JSON
     * @param ticks number of captured ticks that a step goes back through; 0: the last tick alone
     * @return an object whose step() moves the weights
     */
    public synchronized MeshTween tween(String config, long ticks) {
        byte[] words = Native.utf8(config);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, words);
            return new MeshTween(this, child((mesh, to) -> Abi.meshTweenCreate(mesh, data, words.length, ticks, to)));
        }
    }
}
