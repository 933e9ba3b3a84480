package welvet

import (
	"context"
	"runtime"

	"github.com/openfluke/loom/bindings/go/abi"
)

// MeshOptions of a step mesh. A field that is 0 means its default.
type MeshOptions struct {
	// Compute has threads, instruction set and device. No result depends on them.
	Compute Compute
	// History is the number of captured ticks that a state keeps for Backward, at most 65536.
	History uint64
	// Backward keeps the activations that Backward reads.
	Backward bool
	// KeepInputs keeps the inputs of every tick, which Tween starts from.
	KeepInputs bool
}

// StepMesh is a network whose cells all move at once: in each tick a cell reads the outputs of the tick before. Calls
// with a mesh and its states take turns.
type StepMesh struct{ *object }

// Mesh prepares the network for ticks with inputs of that shape, samples first.
func (n *Network) Mesh(shape []uint64, options MeshOptions) (*StepMesh, error) {
	var p pins
	defer p.Unpin()
	raw := abi.NewStepMeshOptions()
	p.Pin(&raw)
	raw.Compute, raw.History = options.Compute.filled(&p), options.History
	raw.Backward, raw.KeepInputs = truth(options.Backward), truth(options.KeepInputs)
	extents := pinned(&p, shape)
	if p.err != nil {
		return nil, p.err
	}
	o, err := n.child("StepMesh", func(network abi.Handle, to *abi.Handle) abi.Status {
		return abi.StepMeshCreate(network, extents, uintptr(len(shape)), &raw, to)
	})
	if err != nil {
		return nil, err
	}
	return &StepMesh{o}, nil
}

// Info describes the mesh: cells, memory of a state in bytes.
func (m *StepMesh) Info() (map[string]any, error) { return m.recorded(abi.StepMeshInfo) }

// part makes an object of the mesh.
func (m *StepMesh) part(kind string, function func(mesh abi.Handle, to *abi.Handle) abi.Status) (o *object, err error) {
	err = m.turn(func(mesh abi.Handle) (err error) {
		o, err = made(kind, func(to *abi.Handle) abi.Status { return function(mesh, to) })
		return err
	})
	return o, err
}

// State makes a user of the mesh, without input and outputs.
func (m *StepMesh) State() (*StepState, error) {
	o, err := m.part("StepState", abi.StepStateCreate)
	if err != nil {
		return nil, err
	}
	return &StepState{o, m}, nil
}

// Ticks says how states move.
type Ticks struct {
	// Count of ticks; 0: one.
	Count uint64
	// Capture keeps these ticks in the history of the states, for Backward.
	Capture bool
	// Training drops in dropout layers, and uses the statistics of the batch.
	Training bool
}

// Step moves states. After an error none of them has moved in the tick that failed.
func (m *StepMesh) Step(ctx context.Context, ticks Ticks, states ...*StepState) error {
	raw := abi.NewTickOptions()
	raw.Ticks, raw.Capture, raw.Training = ticks.Count, truth(ticks.Capture), truth(ticks.Training)
	handles, err := handlesOf(states)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(states)
	return withContext(ctx, func(cancel abi.Cancel) error {
		raw.Cancel = cancel
		return m.alone(func(mesh abi.Handle) abi.Status {
			return abi.StepMeshStep(mesh, first(handles), uintptr(len(handles)), &raw)
		})
	})
}

func handlesOf(states []*StepState) ([]abi.Handle, error) {
	handles := make([]abi.Handle, len(states))
	for i, state := range states {
		if state == nil {
			return nil, failed(InvalidArgument, "state %d is nil", i)
		}
		var err error
		if handles[i], err = state.live(); err != nil {
			return nil, err
		}
	}
	return handles, nil
}

func first[T any](values []T) *T {
	if len(values) == 0 {
		return nil
	}
	return &values[0]
}

// Backward goes back through at most so many captured ticks (0: all of them) from a gradient of the last cell's output:
// it adds to the gradients of the weights, and returns that of the newest tick's input, without values if that tick had
// none. NoHistory when the last tick was not captured.
func (m *StepMesh) Backward(state *StepState, outputGradient Tensor, ticks uint64) (Tensor, error) {
	var p pins
	defer p.Unpin()
	dy := outputGradient.raw(&p)
	handles, err := handlesOf([]*StepState{state})
	if err != nil {
		return Tensor{}, err
	}
	defer runtime.KeepAlive(state)
	return filled[float32](m.alone, func(mesh abi.Handle, dx *abi.Tensor) abi.Status {
		return abi.StepMeshBackward(mesh, handles[0], dy, ticks, dx)
	})
}

// Gradient returns the gradient of a weight of that shape, summed since it was last cleared.
func (m *StepMesh) Gradient(weight string, shape []uint64) (Tensor, error) {
	return m.weight(weight, shape, abi.StepMeshGradient)
}

// ClearGradients sets every gradient to 0.
func (m *StepMesh) ClearGradients() error { return m.alone(abi.StepMeshClearGradients) }

// Close ends the mesh; its states go on working until they are closed.
func (m *StepMesh) Close() error { m.close(); return nil }

// StepState is one user of a mesh: outputs of the cells, recurrent states, captured ticks.
type StepState struct {
	*object
	mesh *StepMesh
}

// turn makes a call while no other one uses the mesh.
func (s *StepState) turn(function func(state abi.Handle) abi.Status) error {
	s.mesh.mutex.Lock()
	defer s.mesh.mutex.Unlock()
	return s.call(function)
}

// SetInput sets the input of the first cell. It stays until it is replaced (hold), or for the next tick alone.
func (s *StepState) SetInput(x Tensor, hold bool) error {
	var p pins
	defer p.Unpin()
	raw := x.raw(&p)
	return s.turn(func(state abi.Handle) abi.Status { return abi.StepStateSetInput(state, raw, truth(hold)) })
}

// ClearInput removes the input.
func (s *StepState) ClearInput() error { return s.turn(abi.StepStateClearInput) }

// Output returns the output of a cell in the last tick; -1 is the last cell. NoValue before data has reached the cell.
func (s *StepState) Output(cell int) (Tensor, error) {
	return filled[float32](s.turn, func(state abi.Handle, to *abi.Tensor) abi.Status {
		return abi.StepStateOutput(state, int64(cell), to)
	})
}

// Ticks returns the number of ticks since the start.
func (s *StepState) Ticks() (ticks uint64, err error) {
	err = s.turn(func(state abi.Handle) abi.Status { return abi.StepStateTicks(state, &ticks) })
	return ticks, err
}

// Hash returns the SHA-256 of the whole state, 64 hexadecimal digits: equal on every machine.
func (s *StepState) Hash() (string, error) {
	data, err := s.whole(abi.StepStateHash)
	return string(data), err
}

// Snapshot returns the whole state, for Restore on any machine.
func (s *StepState) Snapshot() ([]byte, error) { return s.whole(abi.StepStateSnapshot) }

func (s *StepState) whole(function func(handle abi.Handle, to *abi.Blob) abi.Status) ([]byte, error) {
	s.mesh.mutex.Lock()
	defer s.mesh.mutex.Unlock()
	return s.bytes(function)
}

// Restore replaces the state by a snapshot of a state of an equal mesh.
func (s *StepState) Restore(snapshot []byte) error {
	data, size := bytesOf(snapshot)
	return s.turn(func(state abi.Handle) abi.Status { return abi.StepStateRestore(state, data, size) })
}

// Reset resets the state to its beginning: no input, no outputs, no history, tick 0.
func (s *StepState) Reset() error { return s.turn(abi.StepStateReset) }

// Fork copies the state; the copy moves on its own.
func (s *StepState) Fork() (*StepState, error) {
	s.mesh.mutex.Lock()
	defer s.mesh.mutex.Unlock()
	o, err := s.child("StepState", abi.StepStateFork)
	if err != nil {
		return nil, err
	}
	return &StepState{o, s.mesh}, nil
}

// Close ends the state.
func (s *StepState) Close() error { s.close(); return nil }

// MeshTween moves the weights of a mesh towards targets between ticks.
type MeshTween struct {
	*object
	mesh *StepMesh
}

// Tween begins learning by targets, with options of docs/guide/tween.md: JSON as a text, or any value that becomes
// JSON. A step goes back through so many captured ticks; 0: the last tick alone. The mesh keeps its inputs
// (MeshOptions.KeepInputs).
func (m *StepMesh) Tween(config any, ticks uint64) (*MeshTween, error) {
	words, err := jsonOf(config, "the config")
	if err != nil {
		return nil, err
	}
	data, size := bytesOf(words)
	o, err := m.part("MeshTween", func(mesh abi.Handle, to *abi.Handle) abi.Status {
		return abi.MeshTweenCreate(mesh, data, size, ticks, to)
	})
	if err != nil {
		return nil, err
	}
	return &MeshTween{o, m}, nil
}

// Step moves all weights once towards targets of the last cell's outputs, one state's after another.
func (t *MeshTween) Step(targets []float32, learningRate float64, states ...*StepState) error {
	var p pins
	defer p.Unpin()
	raw := Tensor{Values: targets}.raw(&p)
	handles, err := handlesOf(states)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(states)
	t.mesh.mutex.Lock()
	defer t.mesh.mutex.Unlock()
	return t.call(func(tween abi.Handle) abi.Status {
		return abi.MeshTweenStep(tween, first(handles), uintptr(len(handles)), raw, learningRate)
	})
}

// Close ends the learning.
func (t *MeshTween) Close() error { t.close(); return nil }
