// Ask puts a question to a language model and prints its answer as it comes:
//
//	cd examples/go && export CGO_LDFLAGS="-L$PWD/../../build -Wl,-rpath,$PWD/../../build"
//	go run . MODEL "What is the capital of France?"
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	welvet "github.com/openfluke/loom/bindings/go"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("ask: ")
	lm := must(welvet.Open(os.Args[1], nil))
	stream := must(lm.Stream(context.Background(), os.Args[2], nil))
	for piece, err := range stream.Pieces() {
		fmt.Print(must(piece, err))
	}
	fmt.Printf("\nhash %s\n", must(stream.Result()).Hash[:16])
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
