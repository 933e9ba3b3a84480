package welvet

import (
	"context"
	"sort"
	"sync"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Value is an input or an output of a graph.
type Value struct {
	// Shape has the extents, outermost first; none for a scalar.
	Shape []uint64
	// Data is a slice of float32, float64, a number without a fraction of 8 to 64 bits, or bool. Types that Go lacks come
	// as their codes: float16 and bfloat16 as uint16, floats of 8 bits as uint8, numbers of 4 bits two in a uint8.
	Data any
}

// GraphOptions of a graph. A field that is 0 means its default.
type GraphOptions struct {
	// Compute has threads, instruction set and device. No result depends on them.
	Compute Compute
	// MaxBytes is the most bytes of all values of a run; 0: 16 GiB.
	MaxBytes uint64
}

// Port is an input or an output of a graph.
type Port struct {
	// Name of the tensor.
	Name string `json:"name"`
	// Type of its numbers, as "float32".
	Type string `json:"type"`
	// Shape as far as the file has it: numbers, and "?" for any extent.
	Shape []any `json:"shape"`
}

// Graph is an ONNX model of opset 7 or later: tensors in by name, tensors out. Goroutines that share one take turns.
type Graph struct {
	*object
	session *object
	turns   sync.Mutex
	inputs  []Port
	outputs []Port
}

// OpenGraph reads an .onnx file, or an .entity with one. Unsupported lists every operation that Loom lacks.
func OpenGraph(path string, options GraphOptions) (*Graph, error) {
	return readGraph(options, func(p *pins, raw *abi.GraphOptions, to *abi.Graph) abi.Status {
		return abi.GraphOpen(p.whole(path, "the path of the graph"), raw, to)
	})
}

// GraphFromBytes reads the contents of a file, which must hold every tensor.
func GraphFromBytes(contents []byte, options GraphOptions) (*Graph, error) {
	data, size := bytesOf(contents)
	return readGraph(options, func(_ *pins, raw *abi.GraphOptions, to *abi.Graph) abi.Status {
		return abi.GraphFromMemory(data, size, raw, to)
	})
}

func readGraph(options GraphOptions, function func(p *pins, raw *abi.GraphOptions, to *abi.Graph) abi.Status) (*Graph, error) {
	var p pins
	defer p.Unpin()
	raw := abi.NewGraphOptions()
	raw.MaxBytes = options.MaxBytes
	p.Pin(&raw)
	compute := options.Compute.filled(&p)
	if p.err != nil {
		return nil, p.err
	}
	o, err := made("Graph", func(to *abi.Handle) abi.Status { return function(&p, &raw, to) })
	if err == nil {
		err = p.err
	}
	if err != nil {
		return nil, err
	}
	g := &Graph{object: o}
	info, err := record[struct{ Inputs, Outputs []Port }](o, abi.GraphInfo)
	if err != nil {
		return nil, err
	}
	g.inputs, g.outputs = info.Inputs, info.Outputs
	g.session, err = o.child("Graph", func(graph abi.Handle, to *abi.Handle) abi.Status {
		return abi.GraphSessionCreate(graph, compute, to)
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Inputs returns the inputs.
func (g *Graph) Inputs() []Port { return append([]Port(nil), g.inputs...) }

// Outputs returns the outputs.
func (g *Graph) Outputs() []Port { return append([]Port(nil), g.outputs...) }

// Info describes the graph: inputs, outputs, opset, operations and how often, constants and their bytes.
func (g *Graph) Info() (map[string]any, error) {
	return record[map[string]any](g.object, abi.GraphInfo)
}

// Run runs the graph and returns its outputs by name. InvalidArgument for an input that is missing, unknown or of
// another type, ShapeMismatch for one of another shape.
func (g *Graph) Run(ctx context.Context, inputs map[string]Value) (map[string]Value, error) {
	var p pins
	defer p.Unpin()
	g.turns.Lock()
	defer g.turns.Unlock()
	defer func() { _ = g.session.call(abi.GraphSessionUnbind) }() // before the memory may move again
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	sort.Strings(names) // errors name the same input each time
	for _, name := range names {
		value := inputs[name]
		raw, err := value.raw(&p, name, g.typeOf(name))
		if err != nil {
			return nil, err
		}
		words := p.whole(name, "the name of an input")
		if p.err != nil {
			return nil, p.err
		}
		if err = g.session.call(func(session abi.Handle) abi.Status { return abi.GraphSessionBind(session, words, raw) }); err != nil {
			return nil, err
		}
	}
	err := withContext(ctx, func(cancel abi.Cancel) error {
		return g.session.call(func(session abi.Handle) abi.Status { return abi.GraphSessionRun(session, cancel) })
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]Value, len(g.outputs))
	for _, port := range g.outputs {
		words := p.whole(port.Name, "the name of an output")
		var value Value
		var differs error
		err := g.session.call(func(session abi.Handle) abi.Status {
			raw := abi.NewTensor()
			status := abi.GraphSessionOutput(session, words, &raw)
			if status == abi.OK {
				value, differs = copiedValue(&raw)
			}
			return status
		})
		if err == nil {
			err = differs
		}
		if err != nil {
			return nil, err
		}
		out[port.Name] = value
	}
	return out, nil
}

// Hash returns the SHA-256 of all outputs of the last run, 64 hexadecimal digits: equal on every machine, and that of
// `loom run`. InvalidState before a run.
func (g *Graph) Hash() (string, error) {
	g.turns.Lock()
	defer g.turns.Unlock()
	data, err := g.session.bytes(abi.GraphSessionHash)
	return string(data), err
}

// Close ends the graph.
func (g *Graph) Close() error {
	g.turns.Lock()
	defer g.turns.Unlock()
	g.session.close()
	g.close()
	return nil
}

func (g *Graph) typeOf(name string) string {
	for _, port := range g.inputs {
		if port.Name == name {
			return port.Type
		}
	}
	return ""
}

// elementsOfCodes are the types that Go lacks, by their names, with the bytes of the codes that stand for them.
var elementsOfCodes = map[string]struct {
	element abi.Element
	bytes   uintptr
}{
	"float16": {abi.ElementFloat16, 2}, "bfloat16": {abi.ElementBfloat16, 2}, "float8_e4m3fn": {abi.ElementFloat8E4m3fn, 1},
	"float8_e5m2": {abi.ElementFloat8E5m2, 1}, "uint4": {abi.ElementUint4, 1}, "int4": {abi.ElementInt4, 1},
}

func (v Value) raw(p *pins, name, expected string) (*abi.Tensor, error) {
	out := abi.NewTensor()
	p.Pin(&out)
	switch data := v.Data.(type) {
	case []float32:
		describe(p, &out, abi.ElementFloat32, data)
	case []float64:
		describe(p, &out, abi.ElementFloat64, data)
	case []int8:
		describe(p, &out, abi.ElementInt8, data)
	case []int16:
		describe(p, &out, abi.ElementInt16, data)
	case []int32:
		describe(p, &out, abi.ElementInt32, data)
	case []int64:
		describe(p, &out, abi.ElementInt64, data)
	case []uint8:
		describe(p, &out, coded(expected, 1, abi.ElementUint8), data)
	case []uint16:
		describe(p, &out, coded(expected, 2, abi.ElementUint16), data)
	case []uint32:
		describe(p, &out, abi.ElementUint32, data)
	case []uint64:
		describe(p, &out, abi.ElementUint64, data)
	case []bool:
		describe(p, &out, abi.ElementBool, data)
	default:
		return nil, failed(InvalidArgument, "input %q: Data is %T: expected a slice of numbers or bool", name, v.Data)
	}
	out.Shape, out.ShapeCount = pinned(p, v.Shape), uintptr(len(v.Shape))
	return &out, nil
}

// coded returns the element of an input whose type Go lacks, if its codes have so many bytes.
func coded(expected string, bytes uintptr, otherwise abi.Element) abi.Element {
	if found, is := elementsOfCodes[expected]; is && found.bytes == bytes {
		return found.element
	}
	return otherwise
}

func describe[T any](p *pins, out *abi.Tensor, element abi.Element, data []T) {
	var one T
	out.Element, out.Data = element, unsafe.Pointer(pinned(p, data))
	out.DataSize = uintptr(len(data)) * unsafe.Sizeof(one)
}

func copiedValue(raw *abi.Tensor) (Value, error) {
	out := Value{Shape: copied(raw.Shape, raw.ShapeCount)}
	switch raw.Element {
	case abi.ElementFloat32:
		out.Data = numbers[float32](raw)
	case abi.ElementFloat64:
		out.Data = numbers[float64](raw)
	case abi.ElementInt8:
		out.Data = numbers[int8](raw)
	case abi.ElementInt16:
		out.Data = numbers[int16](raw)
	case abi.ElementInt32:
		out.Data = numbers[int32](raw)
	case abi.ElementInt64:
		out.Data = numbers[int64](raw)
	case abi.ElementUint8, abi.ElementFloat8E4m3fn, abi.ElementFloat8E5m2, abi.ElementUint4, abi.ElementInt4:
		out.Data = numbers[uint8](raw)
	case abi.ElementUint16, abi.ElementFloat16, abi.ElementBfloat16:
		out.Data = numbers[uint16](raw)
	case abi.ElementUint32:
		out.Data = numbers[uint32](raw)
	case abi.ElementUint64:
		out.Data = numbers[uint64](raw)
	case abi.ElementBool:
		out.Data = numbers[bool](raw)
	default:
		return Value{}, failed(Unsupported, "an output has element %d, which this package does not know", raw.Element)
	}
	return out, nil
}

func numbers[T any](raw *abi.Tensor) []T {
	var one T
	return copied((*T)(raw.Data), raw.DataSize/unsafe.Sizeof(one))
}
