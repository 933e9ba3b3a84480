package welvet;

import java.util.List;
import java.util.function.DoublePredicate;

/**
 * Options of loading a model.
 *
 * @param dtype numeric type that the matrices are quantised to on load, as "int8"; null: as stored
 * @param compute threads and device of each session
 * @param context longest sequence in tokens; 0: that of the model's training, at most 4096
 * @param adapters folders of low-rank adapters as PEFT writes them
 * @param progress called with the part that is loaded, from 0 to 1; false ends the call with CANCELLED; null: none
 * @param cancel ends the loading with CANCELLED; null: nothing does
 */
public record LoadOptions(String dtype, Compute compute, long context, List<String> adapters, DoublePredicate progress,
    Cancel cancel) {
    /** Defaults. */
    public static final LoadOptions DEFAULT = new LoadOptions(null, Compute.DEFAULT, 0, List.of(), null, null);

    /**
     * Sets the progress function.
     *
     * @param function called with the part that is loaded, from 0 to 1
     * @return options with that function
     */
    public LoadOptions withProgress(DoublePredicate function) {
        return new LoadOptions(dtype, compute, context, adapters, function, cancel);
    }

    /**
     * Sets the flag that ends the loading.
     *
     * @param flag the flag
     * @return options with that flag
     */
    public LoadOptions withCancel(Cancel flag) {
        return new LoadOptions(dtype, compute, context, adapters, progress, flag);
    }

    /**
     * Sets threads and device.
     *
     * @param other threads and device of each session
     * @return options with these
     */
    public LoadOptions withCompute(Compute other) {
        return new LoadOptions(dtype, other, context, adapters, progress, cancel);
    }
}
