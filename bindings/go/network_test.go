package welvet

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openfluke/loom/bindings/go/abi"
)

const spec = `{"seed": 3, "layers": [
  {"type": "dense", "input_height": 6, "output_height": 16, "activation": "tanh"},
  {"type": "dense", "input_height": 16, "output_height": 3}]}`

func values(seed uint32, shape ...uint64) Tensor {
	out, _ := zeros(shape)
	for i := range out.Values {
		seed = seed*1664525 + 1013904223
		out.Values[i] = float32(seed>>8)/(1<<23) - 1
	}
	return out
}

func network(t testing.TB) *Network {
	net, err := NewNetwork(spec)
	fail(t, err)
	return net
}

func TestNetworksRunAndComeBackFromFiles(t *testing.T) {
	net, x := network(t), values(1, 4, 6)
	y, err := net.Forward(background, x)
	fail(t, err)
	equal(t, y.Shape, []uint64{4, 3})
	path := filepath.Join(t.TempDir(), "größe.entity")
	fail(t, net.Save(path))
	read, err := OpenNetwork(path)
	fail(t, err)
	same, err := read.Forward(background, x)
	fail(t, err)
	equal(t, same, y)
	contents, err := net.Bytes()
	fail(t, err)
	again, err := NetworkFromBytes(contents)
	fail(t, err)
	first, err := net.Hash()
	fail(t, err)
	second, err := again.Hash()
	fail(t, err)
	equal(t, second, first)
	weight, err := again.Get("layers.1.weight")
	fail(t, err)
	equal(t, weight.Shape, []uint64{3, 16})
	weight.Values[0]++
	fail(t, again.Set("layers.1.weight", weight))
	changed, err := again.Hash()
	fail(t, err)
	equal(t, changed == first, false)
	fail(t, again.Morph("int8"))
	weights, err := again.Weights()
	fail(t, err)
	equal(t, weights[1].DType, "int8")
	described, err := net.Spec()
	fail(t, err)
	made, err := NewNetwork(described) // a value that becomes JSON
	fail(t, err)
	third, err := made.Hash()
	fail(t, err)
	equal(t, third, first)
}

func TestGradientsAndWideNetworks(t *testing.T) {
	session, err := network(t).Session(SessionOptions{Backward: true})
	fail(t, err)
	_, err = session.Forward(background, values(2, 1, 6))
	fail(t, err)
	dx, err := session.Backward(background, Tensor{[]uint64{1, 3}, []float32{1, 1, 1}})
	fail(t, err)
	equal(t, dx.Shape, []uint64{1, 6})
	gradient, err := session.Gradient("layers.1.weight", []uint64{3, 16})
	fail(t, err)
	equal(t, gradient.Row(0), gradient.Row(2)) // of equal output gradients
	equal(t, gradient.Values[0] != 0, true)
	fail(t, session.ClearGradients())
	gradient, err = session.Gradient("layers.1.weight", []uint64{3, 16})
	fail(t, err)
	equal(t, gradient.Values, make([]float32, 48))
	wide, err := NewNetwork(strings.Replace(spec, "{", `{"activations": "f64", `, 1))
	fail(t, err)
	session, err = wide.Session(SessionOptions{})
	fail(t, err)
	y, err := session.Forward64(background, TensorOf[float64]{[]uint64{1, 6}, make([]float64, 6)})
	fail(t, err)
	equal(t, y.Shape, []uint64{1, 3})
}

func TestTrainersLearn(t *testing.T) {
	net, x, y := network(t), values(1, 8, 6), values(7, 8, 3)
	trainer, err := NewTrainer(net, x.Shape, map[string]any{"loss": "mse", "optimizer": "adam", "learning_rate": 0.02})
	fail(t, err)
	batch := Batch{Inputs: x, Targets: y.Values}
	first, err := trainer.Step(background, batch)
	fail(t, err)
	var last Step
	for i := 0; i < 60; i++ {
		last, err = trainer.Step(background, batch)
		fail(t, err)
	}
	equal(t, last.Loss < first.Loss/4, true)
	loss, output, err := trainer.Evaluate(batch)
	fail(t, err)
	equal(t, loss < first.Loss/4, true)
	equal(t, output.Shape, []uint64{8, 3})
	ctx, cancel := context.WithCancel(background)
	cancel()
	before, _ := net.Hash()
	_, err = trainer.Step(ctx, batch)
	refused(t, err, Cancelled, "canceled")
	after, _ := net.Hash()
	equal(t, after, before)
	trainer.Close()
	_, err = trainer.Step(background, batch)
	refused(t, err, BadHandle, "the Trainer is closed")
}

func TestWholeTrainingsReportStopAndPanic(t *testing.T) {
	x := values(1, 60, 6)
	classes := make([]int32, 60)
	for i := range classes {
		for _, value := range x.Row(i)[:2] {
			if value > 0 {
				classes[i]++
			}
		}
	}
	config := map[string]any{"epochs": 8, "batch_size": 20, "loss": "softmax_crossentropy", "optimizer": "adam"}
	options := TrainOptions{Samples: &Batch{Inputs: x, Classes: classes}}
	hashes := map[any]bool{}
	for threads := 1; threads <= 2; threads++ {
		epochs := 0
		options.Network, options.Compute.Threads = network(t), threads
		options.Progress = func(event Event) bool {
			if event.Phase == EpochEnd {
				epochs++
			}
			return true
		}
		run, err := Train(background, config, options)
		fail(t, err)
		equal(t, run["stop_reason"], "finished")
		equal(t, epochs, 8)
		hashes[run["hash"]] = true
	}
	equal(t, len(hashes), 1)
	options.Progress = func(event Event) bool { return event.Epoch < 3 }
	run, err := Train(background, config, options)
	fail(t, err)
	equal(t, run["stop_reason"], "stopped")
	config["epochs"] = 1000000
	options.Progress = nil
	for _, wait := range []time.Duration{1, 10, 50} {
		ctx, cancel := context.WithTimeout(background, wait*time.Millisecond)
		_, err = Train(ctx, config, options)
		cancel()
		equal(t, errors.Is(err, context.DeadlineExceeded), true)
	}
	options.Progress = func(Event) bool { panic("mine") }
	defer func() { equal(t, recover(), "mine") }()
	_, _ = Train(background, config, options)
	t.Fatal("the panic is gone")
}

func TestErrorsNameThePlace(t *testing.T) {
	_, err := NewNetwork(`{"layers": [{"type": "dens"}]}`)
	refused(t, err, UnknownName, "/layers/0/type")
	_, err = NewNetwork(func() {})
	refused(t, err, InvalidArgument, "the spec does not become JSON")
	net := network(t)
	_, err = net.Forward(background, values(1, 1, 5))
	refused(t, err, ShapeMismatch, "5")
	_, err = net.Forward(background, Tensor{[]uint64{4, 6}, make([]float32, 3)}) // fewer values than the shape has
	refused(t, err, ShapeMismatch, "24")
	trainer, err := NewTrainer(net, []uint64{4, 6}, nil)
	fail(t, err)
	_, err = trainer.Step(background, Batch{Inputs: Tensor{[]uint64{4, 6}, make([]float32, 3)}, Targets: make([]float32, 12)})
	refused(t, err, ShapeMismatch, "")
	trainer.Close()
	session, err := net.Session(SessionOptions{Backward: true})
	fail(t, err)
	_, err = session.Gradient("layers.1.weight", []uint64{1 << 63, 4})
	refused(t, err, SizeOverflow, "too many values")
	_, err = net.Get("layers.9.weight")
	refused(t, err, NotFound, "layers.9.weight")
	refused(t, net.Set("layers.1.weight", values(1, 2)), ShapeMismatch, "")
	_, err = NewTrainer(net, []uint64{1, 6}, `{"losss": "mse"}`)
	refused(t, err, UnknownKey, "losss")
	_, err = NewTrainerOn(Compute{Threads: -1}, net, []uint64{1, 6}, nil)
	refused(t, err, InvalidArgument, "Threads is -1")
	net.Close()
	_, err = net.Forward(background, values(1, 1, 6))
	refused(t, err, BadHandle, "the Network is closed")
}

func TestGoroutinesShareNetworksAndCloseThem(t *testing.T) {
	net, x := network(t), values(1, 4, 6)
	expected, err := net.Forward(background, x)
	fail(t, err)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := 0; round < 50; round++ {
				y, err := net.Forward(background, x)
				if err == nil && y.Values[0] != expected.Values[0] || err != nil && !errors.Is(err, BadHandle) {
					t.Errorf("%v %v", y, err)
				}
			}
		}()
	}
	time.Sleep(time.Millisecond)
	net.Close() // in the middle
	group.Wait()
}

// resident returns the memory of this process in bytes.
func resident(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm on this system")
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	fail(t, err)
	return pages * os.Getpagesize()
}

func TestMemoryIsFlatOverAThousandRounds(t *testing.T) {
	x, y := values(1, 8, 6), values(7, 8, 3)
	round := func() {
		net := network(t)
		_, err := net.Forward(background, x)
		fail(t, err)
		_, err = NewNetwork("{")
		equal(t, err != nil, true)
		trainer, err := NewTrainer(net, x.Shape, `{"loss": "mse"}`)
		fail(t, err)
		_, err = trainer.Step(background, Batch{Inputs: x, Targets: y.Values})
		fail(t, err)
		trainer.Close()
		net.Close()
	}
	for i := 0; i < 200; i++ {
		round()
	}
	runtime.GC()
	before := resident(t)
	for i := 0; i < 1000; i++ {
		round()
	}
	runtime.GC()
	if grown := resident(t) - before; grown > 8<<20 {
		t.Fatalf("%d bytes more after 1 000 rounds", grown)
	}
}

func TestForgottenObjectsEnd(t *testing.T) {
	var handles []abi.Handle
	for i := 0; i < 100; i++ {
		handles = append(handles, network(t).handle)
	}
	lost := 0
	for attempt := 0; attempt < 50 && lost < 100; attempt++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
		lost = 0
		for _, handle := range handles {
			var kind abi.Kind
			if abi.KindOf(handle, &kind) == abi.ErrBadHandle {
				lost++
			}
		}
	}
	equal(t, lost >= 99, true) // the last one may still be on the stack
}

func TestTheLibrarySaysWhatItIs(t *testing.T) {
	about, err := SystemInfo()
	fail(t, err)
	equal(t, about["version"], Version())
	text, err := json.Marshal(about)
	fail(t, err)
	equal(t, len(text) > 20, true)
	equal(t, NotFound.String(), "NotFound")
}
