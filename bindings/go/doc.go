// Package welvet is Loom from Go: neural networks and language models with the same bits on every machine.
//
// A language model that answers, by its path or by a hub id that is in huggingface_hub's cache:
//
//	lm, err := welvet.Open("HuggingFaceTB/SmolLM2-360M-Instruct", nil)
//	answer, err := lm.Generate(ctx, "What is the capital of France?", nil)
//	fmt.Println(answer.Text)
//
// A network that learns, with the samples first:
//
//	net, err := welvet.NewNetwork(`{"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]}`)
//	trainer, err := welvet.NewTrainer(net, []uint64{4, 2}, `{"loss": "mse", "learning_rate": 0.1}`)
//	step, err := trainer.Step(ctx, welvet.Batch{Inputs: x, Targets: y})
//
// A failed call returns an *Error with a code and a text; errors.Is(err, welvet.NotFound) asks for a code. A context
// that is cancelled ends the call: errors.Is(err, context.Canceled) is then true as well.
//
// Any number of goroutines may use one object. Models, tokenizers and networks serve them at the same time; sessions,
// streams, chats, trainers and encoders one after another. Close ends an object; one that is forgotten ends when the
// garbage collector finds it. An object that is closed answers BadHandle.
//
// The build needs cgo, loom.h and the library: from a checkout, from CGO_CFLAGS and CGO_LDFLAGS, or with -tags
// loom_pkgconfig from pkg-config.
package welvet
