// Calls times calls in Go as calls.c does in C.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	welvet "github.com/openfluke/loom/bindings/go"
)

const (
	groups  = 300
	calls   = 200
	answers = 120
	tokens  = 16
	spec    = `{"seed": 1, "layers": [
		{"type": "dense", "input_height": 8, "output_height": 8, "activation": "tanh"},
		{"type": "dense", "input_height": 8, "output_height": 4}]}`
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func show(what string, times []int64) {
	slices.Sort(times)
	fmt.Println(what, times[0], times[len(times)/2])
}

func main() {
	ctx := context.Background()
	var times []int64
	network := must(welvet.NewNetwork(json.RawMessage(spec)))
	session := must(network.Session(welvet.SessionOptions{Compute: welvet.Compute{Threads: 1}}))
	x := welvet.Tensor{Shape: []uint64{1, 8}, Values: make([]float32, 8)}
	for range groups {
		start := time.Now()
		for range calls {
			must(session.Forward(ctx, x))
		}
		times = append(times, time.Since(start).Nanoseconds()/calls)
	}
	show("forward", times)
	lm := must(welvet.Open(os.Args[1], &welvet.LoadOptions{Compute: welvet.Compute{Threads: 1}}))
	times = nil
	var hash string
	for range answers {
		start := time.Now()
		stream := must(lm.Stream(ctx, "Once upon a time", &welvet.Options{MaxTokens: tokens, Form: welvet.Raw}))
		for piece, err := range stream.Pieces() {
			must(piece, err)
		}
		hash = must(stream.Result()).Hash
		stream.Close()
		times = append(times, time.Since(start).Nanoseconds()/tokens)
	}
	show("token", times)
	fmt.Println("hash", hash[:16])
}
