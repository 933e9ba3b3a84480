package welvet;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongToIntFunction;
import welvet.abi.Abi;

/** One user of a mesh: outputs of the cells, recurrent states, captured ticks. StepMesh.state() makes one. */
public final class StepState extends NativeObject {
    private final StepMesh mesh;

    StepState(StepMesh mesh, long handle) {
        super(handle);
        this.mesh = mesh;
    }

    /** Makes a call while no other one uses the mesh. */
    private void turn(LongToIntFunction function) {
        synchronized (mesh) {
            run(function);
        }
    }

    /**
     * Sets the input of the first cell.
     *
     * @param x numbers in the shape of the mesh
     * @param hold keeps the input until it is replaced; false removes it after the next tick
     */
    public void setInput(Tensor x, boolean hold) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = x.filled(arena);
            turn(state -> Abi.stepStateSetInput(state, raw, hold ? 1 : 0));
        }
    }

    /** Removes the input. */
    public void clearInput() {
        turn(Abi::stepStateClearInput);
    }

    /**
     * Gives the output of the last cell in the last tick.
     *
     * @return the output
     * @throws LoomException NO_VALUE before data has reached the cell
     */
    public Tensor output() {
        return output(-1);
    }

    /**
     * Gives the output of a cell in the last tick.
     *
     * @param cell its index in the order of addresses; -1: the last one
     * @return the output
     * @throws LoomException NO_VALUE before data has reached the cell
     */
    public Tensor output(int cell) {
        synchronized (mesh) {
            return tensor((state, to) -> Abi.stepStateOutput(state, cell, to));
        }
    }

    /**
     * Counts the ticks since the start.
     *
     * @return their number
     */
    public long ticks() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ticks = arena.allocate(JAVA_LONG);
            turn(state -> Abi.stepStateTicks(state, ticks));
            return ticks.get(JAVA_LONG, 0);
        }
    }

    /**
     * Hashes the whole state. The hash is equal on every machine.
     *
     * @return the SHA-256, hexadecimal
     */
    public String hash() {
        synchronized (mesh) {
            return text(Abi::stepStateHash);
        }
    }

    /**
     * Gives the whole state.
     *
     * @return bytes for restore(), on any machine
     */
    public byte[] snapshot() {
        synchronized (mesh) {
            return with(state -> Native.blob(to -> Abi.stepStateSnapshot(state, to)));
        }
    }

    /**
     * Replaces the state.
     *
     * @param snapshot bytes of snapshot(), of a state of an equal mesh
     */
    public void restore(byte[] snapshot) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, snapshot);
            turn(state -> Abi.stepStateRestore(state, data, snapshot.length));
        }
    }

    /** Resets the state to its beginning: no input, no outputs, no history, tick 0. */
    public void reset() {
        turn(Abi::stepStateReset);
    }

    /**
     * Copies the state.
     *
     * @return a state of the same mesh, which moves on its own
     */
    public StepState fork() {
        synchronized (mesh) {
            return new StepState(mesh, child(Abi::stepStateFork));
        }
    }
}
