package welvet

import (
	"context"
	"encoding/json"
	"runtime"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// LoadOptions of a model. A field that is 0 means its default.
type LoadOptions struct {
	// DType quantises the matrices on load, as "int8"; empty: as stored.
	DType string
	// Compute has threads and device of each session. No result depends on them.
	Compute Compute
	// Context is the longest sequence in tokens; 0: that of the model's training, at most 4096.
	Context uint64
	// KVDType is the type of keys and values: "float32" (or empty), "bfloat16" or "int8".
	KVDType string
	// Adapters are folders of low-rank adapters as PEFT writes them.
	Adapters []string
	// Progress is called with the part that is loaded, from 0 to 1; returning false ends the call with Cancelled.
	Progress func(part float64) bool
	// Ctx ends the loading; nil: nothing does.
	Ctx context.Context
}

// LM is a language model: weights, tokenizer, chat template. Each Generate, Stream and Chat has a session of its own.
type LM struct {
	*object
	options LoadOptions
}

// Open loads a GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's cache.
func Open(model string, options *LoadOptions) (*LM, error) {
	path, err := FindModel(model)
	if err != nil {
		return nil, err
	}
	return load(options, func(p *pins, raw *abi.ModelOptions, to *abi.Model) abi.Status {
		return abi.ModelOpen(p.whole(path, "the path of the model"), raw, to)
	})
}

// FromBytes loads the bytes of a GGUF file or an .entity. Its answers have no receipt, since no file can be named.
func FromBytes(data []byte, options *LoadOptions) (*LM, error) {
	return load(options, func(p *pins, raw *abi.ModelOptions, to *abi.Model) abi.Status {
		pointer, size := bytesOf(data)
		return abi.ModelFromMemory(pointer, size, raw, to)
	})
}

func load(options *LoadOptions, function func(p *pins, raw *abi.ModelOptions, to *abi.Model) abi.Status) (*LM, error) {
	var p pins
	defer p.Unpin()
	lm := &LM{}
	if options != nil {
		lm.options = *options
	}
	raw := abi.NewModelOptions()
	p.Pin(&raw)
	raw.Dtype = p.text(lm.options.DType, "DType")
	raw.Adapters, raw.AdaptersCount = p.texts(lm.options.Adapters, "Adapters"), uintptr(len(lm.options.Adapters))
	if lm.options.Progress != nil {
		told := &callback[float64]{function: lm.options.Progress}
		raw.Progress, raw.User = onProgress, told.user(&p)
		defer told.finish()
	}
	if p.err != nil {
		return nil, p.err
	}
	ctx := lm.options.Ctx
	if ctx == nil {
		ctx = context.Background()
	}
	err := withContext(ctx, func(cancel abi.Cancel) (err error) {
		raw.Cancel = cancel
		lm.object, err = made("LM", func(to *abi.Handle) abi.Status { return function(&p, &raw, to) })
		return err
	})
	lm.options.Progress, lm.options.Ctx = nil, nil
	if err != nil {
		return nil, err
	}
	return lm, nil
}

// Close ends the model. Answers that run go on.
func (lm *LM) Close() error { lm.close(); return nil }

// Generate answers or continues a text. A context that ends it returns the answer so far and an error.
func (lm *LM) Generate(ctx context.Context, prompt string, options *Options) (*Generation, error) {
	return finished(lm.Stream(ctx, prompt, options))
}

// GenerateMessages answers a conversation.
func (lm *LM) GenerateMessages(ctx context.Context, messages []Message, options *Options) (*Generation, error) {
	return finished(lm.StreamMessages(ctx, messages, options))
}

// GenerateIDs continues token ids, which are read as they are.
func (lm *LM) GenerateIDs(ctx context.Context, ids []int32, options *Options) (*Generation, error) {
	return finished(lm.StreamIDs(ctx, ids, options))
}

// Stream is Generate piece by piece.
func (lm *LM) Stream(ctx context.Context, prompt string, options *Options) (*Stream, error) {
	form := abi.PromptAuto
	if options != nil {
		form = abi.PromptForm(options.Form)
	}
	return lm.begin(ctx, []byte(prompt), nil, form, options)
}

// StreamMessages is GenerateMessages piece by piece.
func (lm *LM) StreamMessages(ctx context.Context, messages []Message, options *Options) (*Stream, error) {
	if options != nil && options.Form == Raw {
		return nil, failed(InvalidArgument, "Form is Raw with a list of messages: expected Chatting or Auto")
	}
	data, err := json.Marshal(messages)
	if err != nil {
		return nil, err
	}
	return lm.begin(ctx, data, nil, abi.PromptMessages, options)
}

// StreamIDs is GenerateIDs piece by piece.
func (lm *LM) StreamIDs(ctx context.Context, ids []int32, options *Options) (*Stream, error) {
	return lm.begin(ctx, nil, append([]int32{}, ids...), abi.PromptRaw, options)
}

func (lm *LM) begin(ctx context.Context, text []byte, ids []int32, form abi.PromptForm,
	options *Options) (*Stream, error) {
	session, err := lm.session()
	if err != nil {
		return nil, err
	}
	defer session.close() // the generator keeps it
	var p pins
	defer p.Unpin()
	raw := options.filled(&p)
	if p.err != nil {
		return nil, p.err
	}
	generator, err := session.child("stream", func(session abi.Handle, to *abi.Handle) abi.Status {
		if ids != nil {
			return abi.GeneratorCreate(session, unsafe.SliceData(ids), uintptr(len(ids)), raw, to)
		}
		data, size := bytesOf(text)
		return abi.GeneratorFromText(session, data, size, form, raw, to)
	})
	runtime.KeepAlive(options)
	if err != nil {
		return nil, err
	}
	return &Stream{object: generator, ctx: ctx, calls: ofGenerator, hasLogprobs: raw.Logprobs > 0}, nil
}

func (lm *LM) session() (*object, error) {
	var p pins
	defer p.Unpin()
	raw := abi.NewSessionOptions()
	p.Pin(&raw)
	raw.Compute, raw.ContextTokens = lm.options.Compute.filled(&p), lm.options.Context
	raw.KvDtype = p.text(lm.options.KVDType, "KVDType")
	if p.err != nil {
		return nil, p.err
	}
	return lm.child("session", func(model abi.Handle, to *abi.Handle) abi.Status {
		return abi.SessionCreate(model, &raw, to)
	})
}

// Tokenizer returns the tokenizer.
func (lm *LM) Tokenizer() (*Tokenizer, error) {
	o, err := lm.child("Tokenizer", abi.ModelTokenizer)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{o}, nil
}

// Info describes the model: path, format, sizes, context, special tokens, what is missing.
func (lm *LM) Info() (map[string]any, error) { return record[map[string]any](lm.object, abi.ModelInfo) }
