package welvet

import (
	"context"
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Float is the type of the numbers of a tensor: float64 for networks with "activations": "f64", else float32.
type Float interface{ float32 | float64 }

// TensorOf is numbers in row-major order with their shape, samples first.
type TensorOf[T Float] struct {
	// Shape has the extents, outermost first.
	Shape []uint64
	// Values are as many as the extents multiplied.
	Values []T
}

// Tensor is a tensor of float32.
type Tensor = TensorOf[float32]

// Row returns the values of one of the outermost parts: of a sample, of a text.
func (t TensorOf[T]) Row(index int) []T {
	width := len(t.Values) / int(t.Shape[0])
	return t.Values[index*width : (index+1)*width]
}

func elementOf[T Float]() abi.Element {
	if unsafe.Sizeof(T(0)) == 8 {
		return abi.ElementFloat64
	}
	return abi.ElementFloat32
}

// raw describes the tensor to C.
func (t TensorOf[T]) raw(p *pins) *abi.Tensor {
	out := abi.NewTensor()
	p.Pin(&out)
	out.Element, out.Data = elementOf[T](), unsafe.Pointer(pinned(p, t.Values))
	out.DataSize = uintptr(len(t.Values)) * unsafe.Sizeof(T(0))
	out.Shape, out.ShapeCount = pinned(p, t.Shape), uintptr(len(t.Shape))
	return &out
}

func copiedTensor[T Float](raw *abi.Tensor) (TensorOf[T], error) {
	if raw.Element != elementOf[T]() {
		return TensorOf[T]{}, failed(ShapeMismatch, "the network computes in element %d, the input has element %d: "+
			"float32 is 1, float64 is 11", raw.Element, elementOf[T]())
	}
	return TensorOf[T]{Shape: copied(raw.Shape, raw.ShapeCount),
		Values: copied((*T)(raw.Data), raw.DataSize/unsafe.Sizeof(T(0)))}, nil
}

// filled copies the tensor that a function makes during a call, before another call may replace it. A function that
// gives no tensor leaves it without values.
func filled[T Float](call func(func(handle abi.Handle) abi.Status) error,
	function func(handle abi.Handle, to *abi.Tensor) abi.Status) (out TensorOf[T], err error) {
	var differs error
	err = call(func(handle abi.Handle) abi.Status {
		raw := abi.NewTensor()
		status := function(handle, &raw)
		if status == abi.OK && raw.Data != nil {
			out, differs = copiedTensor[T](&raw)
		}
		return status
	})
	if err == nil {
		err = differs
	}
	return out, err
}

// weight returns values of a weight, of its shape, that a function writes.
func (o *object) weight(name string, shape []uint64,
	function func(handle abi.Handle, words *byte, to *abi.Tensor) abi.Status) (Tensor, error) {
	out, err := zeros(shape)
	if err != nil {
		return out, err
	}
	var p pins
	defer p.Unpin()
	raw := out.raw(&p)
	err = o.withText(name, "the name of a weight", func(handle abi.Handle, words *byte) abi.Status {
		return function(handle, words, raw)
	})
	return out, err
}

// Network is a grid of layers with their weights. Inputs and outputs have the samples first.
type Network struct {
	*object
	once    sync.Mutex
	session *NetworkSession // of Forward
}

func madeNetwork(function func(to *abi.Handle) abi.Status) (*Network, error) {
	o, err := made("Network", function)
	if err != nil {
		return nil, err
	}
	return &Network{object: o}, nil
}

// NewNetwork makes a network of a spec or checkpoint: JSON as a text, or any value that becomes JSON. Weights that it
// does not hold are drawn from its seed.
func NewNetwork(spec any) (*Network, error) {
	text, err := jsonOf(spec, "the spec")
	if err != nil {
		return nil, err
	}
	return madeNetwork(func(to *abi.Handle) abi.Status {
		data, size := bytesOf(text)
		return abi.NetworkFromJson(data, size, nil, to)
	})
}

// OpenNetwork reads an .entity, a spec or checkpoint in JSON, a file of Loom 0.8x, or an ONNX file as one cell.
func OpenNetwork(path string) (*Network, error) {
	var p pins
	defer p.Unpin()
	words := p.whole(path, "the path of the network")
	if p.err != nil {
		return nil, p.err
	}
	return madeNetwork(func(to *abi.Handle) abi.Status { return abi.NetworkOpen(words, nil, to) })
}

// NetworkFromBytes reads the contents of a file of OpenNetwork.
func NetworkFromBytes(contents []byte) (*Network, error) {
	return madeNetwork(func(to *abi.Handle) abi.Status {
		data, size := bytesOf(contents)
		return abi.NetworkFromMemory(data, size, nil, to)
	})
}

// Clone copies the network; the copy shares nothing with it that can change.
func (n *Network) Clone() (*Network, error) {
	o, err := n.child("Network", abi.NetworkClone)
	if err != nil {
		return nil, err
	}
	return &Network{object: o}, nil
}

// Save writes the network into a file, whole or not at all: .json a checkpoint, everything else an .entity.
func (n *Network) Save(path string) error {
	return n.withText(path, "the path of the network", func(handle abi.Handle, words *byte) abi.Status {
		return abi.NetworkSave(handle, words, 0)
	})
}

// Bytes returns the contents of an .entity file, for NetworkFromBytes.
func (n *Network) Bytes() ([]byte, error) {
	return n.bytes(func(handle abi.Handle, to *abi.Blob) abi.Status {
		return abi.NetworkToBytes(handle, abi.FormatEntity, 0, to)
	})
}

// Spec returns the spec, without weights: every setting that is not the default.
func (n *Network) Spec() (map[string]any, error) {
	return record[map[string]any](n.object, abi.NetworkSpec)
}

// Info describes the network: grid, layers, types, memory in bytes, shapes, warnings.
func (n *Network) Info() (map[string]any, error) {
	return record[map[string]any](n.object, abi.NetworkInfo)
}

// Hash returns the SHA-256 of all weights, hexadecimal. Equal networks have equal hashes on every machine.
func (n *Network) Hash() (string, error) {
	out, err := n.bytes(abi.NetworkHash)
	return string(out), err
}

// Weight describes a weight.
type Weight struct {
	// Name is a path, as "layers.0.weight".
	Name string `json:"name"`
	// Shape of a dense layer's weight is outputs, inputs.
	Shape []uint64 `json:"shape"`
	// DType is its numeric type.
	DType string `json:"dtype"`
	// Role in its layer.
	Role string `json:"role"`
	// Frozen weights do not learn.
	Frozen bool `json:"frozen"`
}

// Weights lists the weights.
func (n *Network) Weights() ([]Weight, error) { return record[[]Weight](n.object, abi.NetworkWeights) }

// Get returns a copy of the values of a weight.
func (n *Network) Get(name string) (Tensor, error) {
	weights, err := n.Weights()
	for _, weight := range weights {
		if weight.Name == name {
			return n.weight(name, weight.Shape, abi.NetworkGetWeight)
		}
	}
	if err == nil {
		err = failed(NotFound, "the network has no weight %q", name)
	}
	return Tensor{}, err
}

// zeros makes a tensor that C fills.
func zeros(shape []uint64) (Tensor, error) {
	count := uint64(1)
	for _, extent := range shape {
		high, low := bits.Mul64(count, extent)
		if high != 0 || low > math.MaxInt64/8 {
			return Tensor{}, failed(SizeOverflow, "the shape %v has too many values", shape)
		}
		count = low
	}
	return Tensor{Shape: shape, Values: make([]float32, count)}, nil
}

// Set replaces the values of a weight. A packed weight encodes them.
func (n *Network) Set(name string, values Tensor) error {
	var p pins
	defer p.Unpin()
	raw := values.raw(&p)
	return n.withText(name, "the name of a weight", func(handle abi.Handle, words *byte) abi.Status {
		return abi.NetworkSetWeight(handle, words, raw)
	})
}

// Morph gives the matrices another numeric type, as "int8". Masters stay exact.
func (n *Network) Morph(dtype string) error {
	return n.withText(dtype, "dtype", func(handle abi.Handle, words *byte) abi.Status {
		return abi.NetworkMorph(handle, nil, words)
	})
}

// Forward runs the network on samples. Goroutines that share it take turns; a Session each runs them at the same time.
func (n *Network) Forward(ctx context.Context, input Tensor) (Tensor, error) {
	session, err := n.own()
	if err != nil {
		return Tensor{}, err
	}
	return session.Forward(ctx, input)
}

// own returns the session of Forward.
func (n *Network) own() (*NetworkSession, error) {
	n.once.Lock()
	defer n.once.Unlock()
	_, err := n.live()
	if err == nil && n.session == nil {
		n.session, err = n.Session(SessionOptions{})
	}
	return n.session, err
}

// Close ends the network. Sessions and trainers of it go on.
func (n *Network) Close() error {
	n.once.Lock()
	defer n.once.Unlock()
	if n.session != nil {
		n.session.close()
	}
	n.close()
	return nil
}

// SessionOptions of a session. A field that is 0 means its default.
type SessionOptions struct {
	// Compute has threads, instruction set and device. No result depends on them.
	Compute Compute
	// Backward keeps the values that Backward reads.
	Backward bool
	// Context above 0: attention and recurrent layers go on from call to call, up to so many positions.
	Context uint64
}

// NetworkSession is one user of a network: activations, gradients, states. Several may run one network at the same
// time.
type NetworkSession struct{ *object }

// Session makes a session.
func (n *Network) Session(options SessionOptions) (*NetworkSession, error) {
	var p pins
	defer p.Unpin()
	raw := abi.NewNetworkSessionOptions()
	p.Pin(&raw)
	raw.Compute, raw.Backward, raw.Context = options.Compute.filled(&p), truth(options.Backward), options.Context
	if p.err != nil {
		return nil, p.err
	}
	o, err := n.child("NetworkSession", func(network abi.Handle, to *abi.Handle) abi.Status {
		return abi.NetworkSessionCreate(network, &raw, to)
	})
	if err != nil {
		return nil, err
	}
	return &NetworkSession{o}, nil
}

// Forward runs the network on samples.
func (s *NetworkSession) Forward(ctx context.Context, input Tensor) (Tensor, error) {
	return forward(ctx, s, input)
}

// Forward64 is Forward for networks with "activations": "f64".
func (s *NetworkSession) Forward64(ctx context.Context, input TensorOf[float64]) (TensorOf[float64], error) {
	return forward(ctx, s, input)
}

func forward[T Float](ctx context.Context, s *NetworkSession, input TensorOf[T]) (out TensorOf[T], err error) {
	var p pins
	defer p.Unpin()
	raw, pass := input.raw(&p), abi.NewPass()
	err = withContext(ctx, func(cancel abi.Cancel) (err error) {
		pass.Cancel = cancel
		out, err = filled[T](s.alone, func(session abi.Handle, to *abi.Tensor) abi.Status {
			return abi.NetworkSessionForward(session, raw, &pass, to)
		})
		return err
	})
	return out, err
}

// Backward runs the backward pass after a forward: adds to the gradients of the weights and returns that of the input.
func (s *NetworkSession) Backward(ctx context.Context, outputGradient Tensor) (out Tensor, err error) {
	var p pins
	defer p.Unpin()
	raw := outputGradient.raw(&p)
	err = withContext(ctx, func(cancel abi.Cancel) (err error) {
		out, err = filled[float32](s.alone, func(session abi.Handle, to *abi.Tensor) abi.Status {
			return abi.NetworkSessionBackward(session, raw, cancel, to)
		})
		return err
	})
	return out, err
}

// Gradient returns the gradient of a weight of that shape, summed since it was last cleared.
func (s *NetworkSession) Gradient(weight string, shape []uint64) (Tensor, error) {
	return s.weight(weight, shape, abi.NetworkSessionGradient)
}

// ClearGradients sets every gradient to 0.
func (s *NetworkSession) ClearGradients() error { return s.alone(abi.NetworkSessionClearGradients) }

// Reset resets every sequence and state.
func (s *NetworkSession) Reset() error { return s.alone(abi.NetworkSessionReset) }

// Close ends the session.
func (s *NetworkSession) Close() error { s.close(); return nil }
