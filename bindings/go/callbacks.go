package welvet

/*
#cgo CFLAGS: -I${SRCDIR}/../../include
#include <loom/loom.h>
extern int32_t welvetOnProgress(void* user, double fraction);
extern int32_t welvetOnTraining(void* user, loom_training_event* event);
extern int32_t welvetOnGeneration(void* user, char* report);
*/
import "C"

import (
	"encoding/json"
	"runtime/cgo"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// callback is a function of the caller that C calls. A panic in it ends the call and goes on after it.
type callback[E any] struct {
	function func(E) bool
	panicked bool
	value    any
	handle   cgo.Handle
}

// user registers the callback; the pointer is the first argument of the functions below.
func (c *callback[E]) user(p *pins) unsafe.Pointer {
	c.handle = cgo.NewHandle(c)
	p.Pin(&c.handle)
	return unsafe.Pointer(&c.handle)
}

// call calls the function; a panic is kept, since it must not unwind through C.
func (c *callback[E]) call(event E) (goesOn C.int32_t) {
	if c.panicked {
		return 0
	}
	c.panicked = true
	defer func() {
		if c.panicked {
			c.value, goesOn = recover(), 0
		}
	}()
	if c.function(event) {
		goesOn = 1
	}
	c.panicked = false
	return goesOn
}

// finish lets a panic of the function go on. There is no value after runtime.Goexit, which goes on by itself.
func (c *callback[E]) finish() {
	c.handle.Delete()
	if c.panicked && c.value != nil {
		panic(c.value)
	}
}

//export welvetOnProgress
func welvetOnProgress(user unsafe.Pointer, fraction C.double) C.int32_t {
	return (*(*cgo.Handle)(user)).Value().(*callback[float64]).call(float64(fraction))
}

//export welvetOnTraining
func welvetOnTraining(user unsafe.Pointer, event *C.loom_training_event) C.int32_t {
	given := (*abi.TrainingEvent)(unsafe.Pointer(event))
	out := Event{Phase: Phase(given.Phase), Epoch: given.Epoch, Epochs: given.Epochs, Batch: given.Batch,
		Batches: given.Batches, Loss: given.Loss, LearningRate: given.LearningRate}
	if given.Validation != nil {
		out.Validation = abi.Text(given.Validation)
	}
	return (*(*cgo.Handle)(user)).Value().(*callback[Event]).call(out)
}

//export welvetOnGeneration
func welvetOnGeneration(user unsafe.Pointer, report *C.char) C.int32_t {
	var out map[string]any
	_ = json.Unmarshal([]byte(C.GoString(report)), &out) // the library writes JSON
	return (*(*cgo.Handle)(user)).Value().(*callback[map[string]any]).call(out)
}

var (
	onProgress   = unsafe.Pointer(C.welvetOnProgress)
	onTraining   = unsafe.Pointer(C.welvetOnTraining)
	onGeneration = unsafe.Pointer(C.welvetOnGeneration)
)
