package welvet;

import static welvet.Checks.SPEC;
import static welvet.Checks.data;
import static welvet.Checks.equal;
import static welvet.Checks.holds;
import static welvet.Checks.refused;
import static welvet.Checks.values;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** Step meshes and graphs. */
public class MeshesTest {
    // By welvet in Python: the state after two ticks, and the outputs of Silero VAD.
    private static final String MESH_HASH = "2c5312e62e006752eff7a7ddcfa6e856597965b9cf5f97276aae5a48b588113e";
    private static final String GRAPH_HASH = "c79b1b6f63f75619c08cc1b93b79302565545197f926d6b443e1a1b6f705a69a";

    private static final long[] SHAPE = {1, 6};

    public void testMeshesMoveInTicks() {
        Tensor x = values(1, SHAPE);
        try (Network net = new Network(SPEC);
                StepMesh mesh = new StepMesh(net, SHAPE, new StepMesh.MeshOptions(Compute.DEFAULT, 4, true, true));
                StepState state = mesh.state()) {
            holds(mesh.info().contains("cells"), mesh.info());
            refused(state::output, ErrorCode.NO_VALUE, "");
            refused(() -> state.setInput(values(1, 1, 5), true), ErrorCode.SHAPE_MISMATCH, "");
            state.setInput(x, true);
            mesh.step(new StepMesh.Ticks(2, true, false), state);
            equal(state.output().floats(), net.forward(x).floats()); // the input has come through both layers
            equal(state.ticks(), 2L);
            equal(state.hash(), MESH_HASH);
            StepState copy = state.fork();
            mesh.step(new StepMesh.Ticks(1, true, false), state, copy);
            equal(copy.hash(), state.hash());
            copy.reset();
            byte[] snapshot = state.snapshot();
            copy.restore(snapshot);
            equal(copy.hash(), state.hash());
            refused(() -> copy.restore(Arrays.copyOf(snapshot, 40)), ErrorCode.CORRUPT_DATA, "");
            mesh.backward(state, Tensor.of(new long[] {1, 3}, 1, 1, 1), 0);
            Tensor gradient = mesh.gradient("layers.1.weight", 3, 16);
            equal(gradient.row(0), gradient.row(2)); // of equal output gradients
            holds(gradient.floats()[0] != 0, gradient);
            mesh.clearGradients();
            copy.close();
            refused(() -> mesh.step(StepMesh.Ticks.of(1), state, copy), ErrorCode.BAD_HANDLE, "the StepState is closed");
        }
    }

    private static float gap(StepMesh mesh, StepState[] states, float[] targets) {
        mesh.step(StepMesh.Ticks.of(2), states);
        float sum = 0;
        for (int i = 0; i < states.length; i++) {
            float[] y = states[i].output().floats();
            for (int j = 0; j < y.length; j++) {
                sum += (y[j] - targets[3 * i + j]) * (y[j] - targets[3 * i + j]);
            }
        }
        return sum;
    }

    public void testMeshesLearnByTargets() {
        try (Network net = new Network(SPEC);
                StepMesh mesh = new StepMesh(net, SHAPE, new StepMesh.MeshOptions(Compute.DEFAULT, 0, false, true));
                MeshTween tween = mesh.tween("{\"mode\": \"layerwise\"}", 0)) {
            StepState[] states = new StepState[4];
            float[] targets = new float[12];
            for (int i = 0; i < states.length; i++) {
                states[i] = mesh.state();
                states[i].setInput(values(i, SHAPE), true);
                targets[3 * i] = 0.5f;
                targets[3 * i + 1] = -0.5f;
            }
            float before = gap(mesh, states, targets);
            for (int i = 0; i < 50; i++) {
                tween.step(targets, 0.1, states);
                gap(mesh, states, targets);
            }
            float after = gap(mesh, states, targets);
            holds(after < before / 4, after);
            refused(() -> tween.step(new float[5], 0.1, states), ErrorCode.SHAPE_MISMATCH, "");
        }
    }

    public void testGraphsRunByName() throws IOException {
        String path = data("vad/silero_vad.onnx");
        float[] sound = new float[512];
        for (int i = 0; i < sound.length; i++) {
            sound[i] = (i * 7919 % 201 - 100) / 250f;
        }
        Map<String, Value> inputs = new TreeMap<>(Map.of("input", Value.of(new long[] {1, 512}, sound), "state",
            Value.of(new long[] {2, 1, 128}, new float[256]), "sr", Value.ofLongs(new long[0], 16000)));
        try (Graph graph = Graph.open(path);
                Graph again = Graph.fromBytes(Files.readAllBytes(Path.of(path)), Compute.threads(1), 0)) {
            holds(graph.info().contains("\"sr\""), graph.info());
            refused(graph::hash, ErrorCode.INVALID_STATE, "");
            Map<String, Value> out = graph.run(inputs, "output", "stateN");
            equal(graph.hash(), GRAPH_HASH);
            equal(out.get("output").shape(), new long[] {1, 1});
            equal(again.run(inputs, "stateN").get("stateN").floats(), out.get("stateN").floats());
            refused(() -> graph.run(Map.of("other", inputs.get("input"))), ErrorCode.INVALID_ARGUMENT, "");
            refused(() -> graph.run(Map.of("input", new Value(Value.Type.FLOAT32, SHAPE, "text"))),
                ErrorCode.INVALID_ARGUMENT, "input input: data is String");
            inputs.put("sr", Value.of(new long[0], 1));
            refused(() -> graph.run(inputs), ErrorCode.INVALID_ARGUMENT, "");
            inputs.remove("sr");
            refused(() -> graph.run(inputs), ErrorCode.INVALID_ARGUMENT, "");
        }
        Graph closed = Graph.open(path);
        closed.close();
        refused(() -> closed.run(inputs), ErrorCode.BAD_HANDLE, "the Graph is closed");
    }
}
