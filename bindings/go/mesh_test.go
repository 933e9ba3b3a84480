package welvet

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
)

// By welvet in Python: the state after two ticks, and the outputs of Silero VAD.
const (
	meshHash  = "2c5312e62e006752eff7a7ddcfa6e856597965b9cf5f97276aae5a48b588113e"
	graphHash = "c79b1b6f63f75619c08cc1b93b79302565545197f926d6b443e1a1b6f705a69a"
)

func TestMeshesMoveInTicks(t *testing.T) {
	net, x := network(t), values(1, 1, 6)
	expected, err := net.Forward(background, x)
	fail(t, err)
	mesh, err := net.Mesh([]uint64{1, 6}, MeshOptions{History: 4, Backward: true, KeepInputs: true})
	fail(t, err)
	defer mesh.Close()
	state, err := mesh.State()
	fail(t, err)
	defer state.Close()
	_, err = state.Output(-1)
	refused(t, err, NoValue, "")
	_, err = mesh.Backward(state, values(2, 1, 3), 0)
	refused(t, err, NoValue, "")
	refused(t, state.SetInput(values(1, 1, 5), true), ShapeMismatch, "")
	fail(t, state.SetInput(x, true))
	fail(t, mesh.Step(background, Ticks{Count: 2, Capture: true}, state))
	y, err := state.Output(-1)
	fail(t, err)
	equal(t, y, expected) // the input has come through both layers
	ticks, err := state.Ticks()
	fail(t, err)
	equal(t, ticks, uint64(2))
	before, err := state.Hash()
	fail(t, err)
	equal(t, before, meshHash)

	copied, err := state.Fork()
	fail(t, err)
	fail(t, mesh.Step(background, Ticks{Capture: true}, state, copied))
	one, err := state.Hash()
	fail(t, err)
	other, err := copied.Hash()
	fail(t, err)
	equal(t, one, other)
	fail(t, copied.Reset())
	snapshot, err := state.Snapshot()
	fail(t, err)
	fail(t, copied.Restore(snapshot))
	other, err = copied.Hash()
	fail(t, err)
	equal(t, other, one)
	refused(t, copied.Restore(snapshot[:40]), CorruptData, "")

	_, err = mesh.Backward(state, Tensor{Shape: []uint64{1, 3}, Values: []float32{1, 1, 1}}, 0)
	fail(t, err)
	gradient, err := mesh.Gradient("layers.1.weight", []uint64{3, 16})
	fail(t, err)
	if equal(t, gradient.Row(0), gradient.Row(2)); gradient.Values[0] == 0 { // of equal output gradients
		t.Fatal("expected a gradient")
	}
	fail(t, mesh.ClearGradients())
	copied.Close()
	refused(t, mesh.Step(background, Ticks{}, state, copied), BadHandle, "")
	refused(t, mesh.Step(background, Ticks{}, nil), InvalidArgument, "state 0 is nil")
}

func TestMeshesLearnByTargets(t *testing.T) {
	net := network(t)
	mesh, err := net.Mesh([]uint64{1, 6}, MeshOptions{KeepInputs: true})
	fail(t, err)
	var states []*StepState
	var targets []float32
	for i := range 4 {
		state, err := mesh.State()
		fail(t, err)
		fail(t, state.SetInput(values(uint32(i), 1, 6), true))
		states, targets = append(states, state), append(targets, 0.5, -0.5, 0)
	}
	tween, err := mesh.Tween(map[string]any{"mode": "layerwise"}, 0)
	fail(t, err)
	defer tween.Close()
	gap := func() (sum float32) {
		fail(t, mesh.Step(background, Ticks{Count: 2}, states...))
		for i, state := range states {
			y, err := state.Output(-1)
			fail(t, err)
			for j, value := range y.Values {
				sum += (value - targets[3*i+j]) * (value - targets[3*i+j])
			}
		}
		return sum
	}
	before := gap()
	for range 50 {
		fail(t, tween.Step(targets, 0.1, states...))
		gap()
	}
	if after := gap(); after > before/4 {
		t.Fatalf("the gap is %v after %v", after, before)
	}
	refused(t, tween.Step(targets[:5], 0.1, states...), ShapeMismatch, "")
}

func TestGoroutinesTakeTurnsWithAMesh(t *testing.T) {
	net := network(t)
	mesh, err := net.Mesh([]uint64{1, 6}, MeshOptions{})
	fail(t, err)
	var all sync.WaitGroup
	for i := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			x := values(uint32(i), 1, 6)
			expected, err := net.Forward(background, x)
			fail(t, err)
			state, err := mesh.State()
			fail(t, err)
			fail(t, state.SetInput(x, true))
			for range 50 {
				fail(t, mesh.Step(background, Ticks{Count: 2}, state))
				y, err := state.Output(-1)
				fail(t, err)
				equal(t, y, expected)
			}
		}()
	}
	all.Wait()
}

func sound() []float32 {
	out := make([]float32, 512)
	for i := range out {
		out[i] = float32(i*7919%201-100) / 250
	}
	return out
}

func TestGraphsRunByName(t *testing.T) {
	path := data(t, "vad/silero_vad.onnx")
	graph, err := OpenGraph(path, GraphOptions{})
	fail(t, err)
	defer graph.Close()
	equal(t, graph.Inputs()[0], Port{"input", "float32", graph.Inputs()[0].Shape})
	equal(t, len(graph.Outputs()), 2)
	_, err = graph.Hash()
	refused(t, err, InvalidState, "")
	inputs := map[string]Value{
		"input": {[]uint64{1, 512}, sound()},
		"state": {[]uint64{2, 1, 128}, make([]float32, 256)},
		"sr":    {nil, []int64{16000}},
	}
	out, err := graph.Run(background, inputs)
	fail(t, err)
	digest, err := graph.Hash()
	fail(t, err)
	equal(t, digest, graphHash)
	equal(t, out["output"].Shape, []uint64{1, 1})
	if _, is := out["stateN"].Data.([]float32); !is || len(out) != 2 {
		t.Fatalf("got %v", out)
	}
	contents, err := os.ReadFile(path)
	fail(t, err)
	again, err := GraphFromBytes(contents, GraphOptions{Compute: Compute{Threads: 1}})
	fail(t, err)
	same, err := again.Run(background, inputs)
	fail(t, err)
	equal(t, same, out)
	info, err := again.Info()
	fail(t, err)
	if text, _ := json.Marshal(info); len(text) < 100 {
		t.Fatalf("got %s", text)
	}

	_, err = graph.Run(background, map[string]Value{"input": inputs["input"]})
	refused(t, err, InvalidArgument, "")
	_, err = graph.Run(background, map[string]Value{"input": {[]uint64{1, 2}, "text"}})
	refused(t, err, InvalidArgument, `input "input": Data is string`)
	_, err = graph.Run(background, map[string]Value{"other": inputs["input"]})
	refused(t, err, InvalidArgument, "")
	_, err = graph.Run(background, map[string]Value{"input": inputs["input"], "state": inputs["state"], "sr": {nil, []float32{1}}})
	refused(t, err, InvalidArgument, "")
	_, err = OpenGraph(modelPath(t), GraphOptions{})
	if err == nil {
		t.Fatal("a language model is no graph")
	}
	fail(t, graph.Close())
	_, err = graph.Run(background, inputs)
	refused(t, err, BadHandle, "")
}
