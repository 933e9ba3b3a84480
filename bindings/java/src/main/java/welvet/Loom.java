package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.function.Predicate;
import welvet.abi.Abi;

/** This machine, the library, and whole trainings. */
public final class Loom {
    private Loom() {}

    /**
     * Gives the version of the library.
     *
     * @return "0.1.0"
     */
    public static String version() {
        return Abi.text(Abi.version());
    }

    /**
     * Describes this machine.
     *
     * @return a JSON object: version, CPU, instruction sets, cores
     */
    public static String systemInfo() {
        return Native.text(Abi::systemInfo);
    }

    /**
     * Runs the golden set, which takes seconds.
     *
     * @return its digest, equal on every machine
     */
    public static String verify() {
        return Native.text(to -> Abi.verify(MemorySegment.NULL, to));
    }

    /** Place in a training that an event reports. */
    public enum Phase {
        /** The training begins. */
        BEGIN,
        /** An epoch begins. */
        EPOCH_BEGIN,
        /** A batch begins. */
        BATCH_BEGIN,
        /** A batch has ended. */
        BATCH_END,
        /** A validation has ended. */
        VALIDATION_END,
        /** A checkpoint is written. */
        CHECKPOINT,
        /** An epoch has ended. */
        EPOCH_END,
        /** The training has ended. */
        END
    }

    /**
     * Event of a training.
     *
     * @param phase place in the training
     * @param epoch epoch, from 0
     * @param epochs epochs of the training
     * @param batch batch of the epoch, from 0
     * @param batches batches of an epoch
     * @param loss of the last batch; at EPOCH_END the mean of the epoch
     * @param learningRate of the last step
     * @param validation a JSON object of metrics after a validation, else null
     */
    public record Event(Phase phase, long epoch, long epochs, long batch, long batches, double loss,
        double learningRate, String validation) {
        static Event of(MemorySegment address) {
            MemorySegment raw = address.reinterpret(Abi.TRAINING_EVENT.byteSize());
            MemorySegment metrics = raw.get(ADDRESS, Abi.TRAINING_EVENT_VALIDATION);
            return new Event(Phase.values()[raw.get(JAVA_INT, Abi.TRAINING_EVENT_PHASE)],
                raw.get(JAVA_LONG, Abi.TRAINING_EVENT_EPOCH), raw.get(JAVA_LONG, Abi.TRAINING_EVENT_EPOCHS),
                raw.get(JAVA_LONG, Abi.TRAINING_EVENT_BATCH), raw.get(JAVA_LONG, Abi.TRAINING_EVENT_BATCHES),
                raw.get(JAVA_DOUBLE, Abi.TRAINING_EVENT_LOSS),
                raw.get(JAVA_DOUBLE, Abi.TRAINING_EVENT_LEARNING_RATE),
                metrics.equals(MemorySegment.NULL) ? null : Abi.text(metrics));
        }
    }

    /**
     * Runs a whole training.
     *
     * @param config JSON (docs/guide/training.md)
     * @param network learns in place; null: the config names one
     * @param samples used in place of the config's data; null: it names files
     * @param compute threads and device
     * @param cancel ends the run after the current step; null: nothing does
     * @param progress called with every event; false ends the run after this one; null: none
     * @return a JSON object: stop_reason, loss_history, hash, metrics
     */
    public static String train(String config, Network network, Batch samples, Compute compute, Cancel cancel,
        Predicate<? super Event> progress) {
        Native.Callback<Event> callback = new Native.Callback<>(progress == null ? event -> true : progress);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Abi.struct(arena, Abi.TRAINING_OPTIONS);
            raw.set(ADDRESS, Abi.TRAINING_OPTIONS_COMPUTE, compute.filled(arena));
            raw.set(JAVA_LONG, Abi.TRAINING_OPTIONS_CANCEL, Cancel.handleOf(cancel));
            Abi.OnTraining told = (user, event) -> callback.call(Event.of(event));
            raw.set(ADDRESS, Abi.TRAINING_OPTIONS_PROGRESS, told.pointer(arena));
            byte[] text = Native.utf8(config);
            MemorySegment data = Native.bytes(arena, text);
            MemorySegment batch = samples == null ? MemorySegment.NULL : samples.filled(arena);
            long learner = network == null ? 0 : network.live();
            try {
                return Native.text(
                    to -> Abi.trainingRun(data, text.length, learner, batch, MemorySegment.NULL, raw, to));
            } finally {
                Reference.reachabilityFence(network);
                Reference.reachabilityFence(cancel);
                callback.finish();
            }
        }
    }
}
