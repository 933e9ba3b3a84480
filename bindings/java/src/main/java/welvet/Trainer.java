package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import welvet.abi.Abi;

/** Training of a network, step by step, with batches of the caller. */
public final class Trainer extends NativeObject {
    /**
     * Outcome of a step.
     *
     * @param loss of the batch, before the step
     * @param learningRate of the step
     * @param gradientNorm 0 unless the config clips by it
     * @param skipped the layer and the number that were not finite, everything is then as before; null: the step was
     *     done
     */
    public record Step(double loss, double learningRate, double gradientNorm, String skipped) {}

    /**
     * Outcome of evaluate().
     *
     * @param loss of the batch
     * @param output of the network
     */
    public record Evaluation(double loss, Tensor output) {}

    /**
     * Makes a network ready to learn. The network learns in place; nothing else may change it meanwhile.
     *
     * @param network the network
     * @param shape shape of the inputs of a batch, samples first
     * @param config JSON (docs/guide/training.md)
     */
    public Trainer(Network network, long[] shape, String config) {
        this(network, shape, config, Compute.DEFAULT);
    }

    /**
     * Makes a network ready to learn.
     *
     * @param network the network
     * @param shape shape of the inputs of a batch, samples first
     * @param config JSON (docs/guide/training.md)
     * @param compute threads and device
     */
    public Trainer(Network network, long[] shape, String config, Compute compute) {
        super(made(network, shape, Native.utf8(config), compute));
    }

    private static long made(Network network, long[] shape, byte[] config, Compute compute) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, config);
            MemorySegment extents = Native.longs(arena, shape);
            MemorySegment raw = compute.filled(arena);
            return network.child(
                (handle, to) -> Abi.trainerCreate(handle, data, config.length, extents, shape.length, raw, to));
        }
    }

    /**
     * Learns from one batch. A step with numbers that are not finite is skipped.
     *
     * @param batch the batch
     * @return the outcome
     */
    public Step step(Batch batch) {
        return step(batch, null);
    }

    /**
     * Learns from one batch.
     *
     * @param batch the batch
     * @param cancel ends the step with CANCELLED, everything is then as before; null: nothing does
     * @return the outcome
     */
    public Step step(Batch batch, Cancel cancel) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = batch.filled(arena);
            MemorySegment out = Abi.struct(arena, Abi.TRAINING_STEP);
            return alone(handle -> {
                Native.check(Abi.trainerStep(handle, raw, Cancel.handleOf(cancel), out));
                byte[] why = Native.bytesAt(out.get(ADDRESS, Abi.TRAINING_STEP_WHY),
                    out.get(JAVA_LONG, Abi.TRAINING_STEP_WHY_SIZE));
                boolean skipped = out.get(JAVA_INT, Abi.TRAINING_STEP_SKIPPED) != 0;
                return new Step(out.get(JAVA_DOUBLE, Abi.TRAINING_STEP_LOSS),
                    out.get(JAVA_DOUBLE, Abi.TRAINING_STEP_LEARNING_RATE),
                    out.get(JAVA_DOUBLE, Abi.TRAINING_STEP_GRADIENT_NORM),
                    skipped ? new String(why, StandardCharsets.UTF_8) : null);
            });
        }
    }

    /**
     * Runs the network on a batch without learning.
     *
     * @param batch the batch
     * @return loss and output
     */
    public Evaluation evaluate(Batch batch) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = batch.filled(arena);
            MemorySegment loss = arena.allocate(JAVA_DOUBLE);
            MemorySegment output = Abi.struct(arena, Abi.TENSOR);
            return alone(handle -> {
                Native.check(Abi.trainerEvaluate(handle, raw, loss, output));
                return new Evaluation(loss.get(JAVA_DOUBLE, 0), Tensor.copied(output));
            });
        }
    }

    /**
     * Sets the epoch, for schedules that count epochs.
     *
     * @param epoch from 0
     */
    public void setEpoch(long epoch) {
        run(handle -> Abi.trainerSetEpoch(handle, epoch));
    }

    /**
     * Describes the training.
     *
     * @return a JSON object: steps, skipped ones, learning rate, memory in bytes
     */
    public String info() {
        return text(Abi::trainerInfo);
    }
}
