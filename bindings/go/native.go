package welvet

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// check makes a call. The text of an error belongs to a thread, so the goroutine stays on its thread meanwhile.
func check(call func() abi.Status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := call(); status != abi.OK {
		return &Error{Code: Code(status), Text: abi.Text(abi.LastError())}
	}
	return nil
}

// object owns one handle. Its finaliser releases a handle that nobody has closed.
type object struct {
	mutex  sync.Mutex
	handle abi.Handle
	kind   string
}

// made makes an object by a function that fills a handle.
func made(kind string, function func(handle *abi.Handle) abi.Status) (*object, error) {
	if found := abi.LibraryAbiVersion(); found != abi.AbiVersion {
		return nil, failed(Unsupported, "the library has version %d of the C interface, this package needs %d: "+
			"install the library of the same release", found, abi.AbiVersion)
	}
	o := &object{kind: kind}
	if err := check(func() abi.Status { return function(&o.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(o, (*object).close)
	return o, nil
}

func (o *object) close() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	runtime.SetFinalizer(o, nil)
	abi.Release(o.handle) // 0 is ignored
	o.handle = 0
}

// live returns the handle, or an error when the object is closed. The caller keeps the object alive.
func (o *object) live() (abi.Handle, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.handle == 0 {
		return 0, failed(BadHandle, "the %s is closed: make another one", o.kind)
	}
	return o.handle, nil
}

// call makes a call with the handle. Goroutines do so at the same time.
func (o *object) call(function func(handle abi.Handle) abi.Status) error {
	handle, err := o.live()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(o)
	return check(func() abi.Status { return function(handle) })
}

// alone makes a call with the handle and copies its results before another goroutine may make the next one.
func (o *object) alone(function func(handle abi.Handle) abi.Status) error {
	return o.turn(func(handle abi.Handle) error {
		return check(func() abi.Status { return function(handle) })
	})
}

// turn calls a function with the handle while no other call of this kind uses the object.
func (o *object) turn(function func(handle abi.Handle) error) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.handle == 0 {
		return failed(BadHandle, "the %s is closed: make another one", o.kind)
	}
	defer runtime.KeepAlive(o)
	return function(o.handle)
}

// recorded reads a JSON object that the library makes of the object, while no other call of turn uses it.
func (o *object) recorded(function func(handle abi.Handle, to *abi.Blob) abi.Status) (out map[string]any, err error) {
	err = o.turn(func(handle abi.Handle) error {
		data, err := blob(func(to *abi.Blob) abi.Status { return function(handle, to) })
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &out)
	})
	return out, err
}

// child makes an object of this one.
func (o *object) child(kind string, function func(parent abi.Handle, to *abi.Handle) abi.Status) (*object, error) {
	handle, err := o.live()
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(o)
	return made(kind, func(to *abi.Handle) abi.Status { return function(handle, to) })
}

// pins keeps memory of Go in place while C may read it.
type pins struct {
	runtime.Pinner
	err error
}

// text pins a text that ends with a NUL; the empty one is NULL.
func (p *pins) text(text, what string) *byte {
	if text == "" {
		return nil
	}
	return p.whole(text, what)
}

// whole pins a text that ends with a NUL.
func (p *pins) whole(text, what string) *byte {
	if strings.IndexByte(text, 0) >= 0 && p.err == nil {
		p.err = failed(InvalidArgument, "%s has a NUL in it", what)
	}
	return pinned(p, append([]byte(text), 0))
}

func (p *pins) texts(texts []string, what string) **byte {
	pointers := make([]*byte, len(texts))
	for i, text := range texts {
		pointers[i] = p.whole(text, what)
	}
	return pinned(p, pointers)
}

func pinned[T any](p *pins, values []T) *T {
	if len(values) == 0 {
		return nil
	}
	p.Pin(&values[0])
	return &values[0]
}

// bytesOf returns the pointer and the size of a text that goes in.
func bytesOf(data []byte) (unsafe.Pointer, uintptr) {
	return unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data))
}

// blob copies the bytes of a blob that a function makes.
func blob(function func(handle *abi.Blob) abi.Status) ([]byte, error) {
	o, err := made("blob", function)
	if err != nil {
		return nil, err
	}
	defer o.close()
	var data unsafe.Pointer
	var size uintptr
	err = o.call(func(handle abi.Handle) abi.Status { return abi.BlobView(handle, &data, &size) })
	if err != nil {
		return nil, err
	}
	return abi.Bytes(data, size), nil
}

// bytes copies a blob that the library makes of the object.
func (o *object) bytes(function func(handle abi.Handle, to *abi.Blob) abi.Status) ([]byte, error) {
	handle, err := o.live()
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(o)
	return blob(func(to *abi.Blob) abi.Status { return function(handle, to) })
}

// record reads JSON that the library makes of the object.
func record[T any](o *object, function func(handle abi.Handle, to *abi.Blob) abi.Status) (T, error) {
	var out T
	data, err := o.bytes(function)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// jsonOf returns a value as JSON; a text is JSON already.
func jsonOf(value any, what string) ([]byte, error) {
	switch given := value.(type) {
	case nil:
		return []byte("{}"), nil
	case string:
		return []byte(given), nil
	case []byte:
		return given, nil
	case json.RawMessage:
		return given, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, failed(InvalidArgument, "%s does not become JSON: %v", what, err)
	}
	return data, nil
}

// copied copies an array that the library owns.
func copied[T any](data *T, count uintptr) []T {
	return append(make([]T, 0, count), unsafe.Slice(data, count)...)
}

// withContext makes a call that the context may end.
func withContext(ctx context.Context, call func(cancel abi.Cancel) error) error {
	if ctx.Done() == nil {
		return call(0)
	}
	flag, err := made("cancel", abi.CancelCreate)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		abi.CancelSet(flag.handle, 1) // AfterFunc would do so after the call has begun
	}
	stop := context.AfterFunc(ctx, func() {
		_ = flag.call(func(handle abi.Handle) abi.Status { return abi.CancelSet(handle, 1) })
	})
	err = call(flag.handle)
	if stop() {
		flag.close() // else the function that runs uses it, and the finaliser releases it
	}
	runtime.KeepAlive(flag)
	if e, ok := err.(*Error); ok && e.Code == Cancelled && ctx.Err() != nil {
		return ended(ctx)
	}
	return err
}

// Compute has threads, instruction set and device of a call or an object. No result depends on them.
type Compute struct {
	// Threads is the number of workers, 1 to 256; 0: one per physical core.
	Threads int
	// ISA is an instruction set, as "avx2"; empty: the best one of this processor.
	ISA string
	// Device is "cpu" (or empty), "auto", or a graphics card, as "gpu".
	Device string
	// MaxBytes limits the memory of activations; 0: no limit.
	MaxBytes uint64
}

func (c Compute) filled(p *pins) *abi.ComputeOptions {
	if (c.Threads < 0 || c.Threads > 256) && p.err == nil {
		p.err = failed(InvalidArgument, "Threads is %d: expected 0 to 256", c.Threads)
	}
	raw := abi.NewComputeOptions()
	raw.ThreadCount, raw.MaxBytes = int32(c.Threads), c.MaxBytes
	raw.Isa, raw.Device = p.text(c.ISA, "ISA"), p.text(c.Device, "Device")
	p.Pin(&raw)
	return &raw
}

// Version returns the version of the library, "0.1.0".
func Version() string { return abi.Text(abi.Version()) }

// SystemInfo describes this machine: version, CPU, instruction sets, cores.
func SystemInfo() (map[string]any, error) {
	var out map[string]any
	data, err := blob(abi.SystemInfo)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// Verify runs the golden set, which takes seconds, and returns its digest, equal on every machine.
func Verify(compute Compute) (string, error) {
	var p pins
	defer p.Unpin()
	raw := compute.filled(&p)
	if p.err != nil {
		return "", p.err
	}
	digest, err := blob(func(to *abi.Blob) abi.Status { return abi.Verify(raw, to) })
	return string(digest), err
}
