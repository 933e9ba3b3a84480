// Ask puts a question to a language model and prints its answer as it comes:
//
//	cd examples/go
//	export CGO_CFLAGS=-I$PWD/../../include CGO_LDFLAGS="-L$PWD/../../build -Wl,-rpath,$PWD/../../build"
//	go run . MODEL "What is the capital of France?"
//
// build is where libloom.so was built (cmake --build build --target loom_shared).
package main

import (
	"fmt"
	"os"
	"unsafe"

	"loom"
)

func ask(path string, question string) error {
	var model loom.Model
	var session loom.Session
	var generator loom.Generator
	if err := loom.Check(func() loom.Status { return loom.ModelOpen(loom.Chars(path), nil, &model) }); err != nil {
		return err
	}
	defer loom.Release(model)
	if err := loom.Check(func() loom.Status { return loom.SessionCreate(model, nil, &session) }); err != nil {
		return err
	}
	defer loom.Release(session)
	words := []byte(question)
	if err := loom.Check(func() loom.Status {
		return loom.GeneratorFromText(session, unsafe.Pointer(unsafe.SliceData(words)), uintptr(len(words)),
			loom.PromptAuto, nil, &generator)
	}); err != nil {
		return err
	}
	defer loom.Release(generator)
	for step := loom.NewStep(); step.Stop == loom.StopNotYet; {
		if err := loom.Check(func() loom.Status { return loom.GeneratorNext(generator, 0, &step) }); err != nil {
			return err
		}
		os.Stdout.Write(loom.Bytes(unsafe.Pointer(step.Text), step.TextSize))
	}
	answer := loom.NewGeneration()
	if err := loom.Check(func() loom.Status { return loom.GeneratorResult(generator, &answer) }); err != nil {
		return err
	}
	fmt.Printf("\nhash %x\n", answer.Hash[:8])
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: ask MODEL QUESTION")
		os.Exit(2)
	}
	if err := ask(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "ask:", err)
		os.Exit(1)
	}
}
