package welvet;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import welvet.abi.Abi;

/** Learning by targets between ticks. StepMesh.tween() makes one. */
public final class MeshTween extends NativeObject {
    private final StepMesh mesh;

    MeshTween(StepMesh mesh, long handle) {
        super(handle);
        this.mesh = mesh;
    }

    /**
     * Moves all weights once towards targets.
     *
     * @param targets targets of the last cell's outputs, one state's after another
     * @param learningRate size of the step
     * @param states the states
     */
    public void step(float[] targets, double learningRate, StepState... states) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Tensor.of(new long[] {targets.length}, targets).filled(arena);
            MemorySegment handles = StepMesh.handlesOf(arena, List.of(states));
            synchronized (mesh) {
                run(tween -> Abi.meshTweenStep(tween, handles, states.length, raw, learningRate));
            }
        }
    }
}
