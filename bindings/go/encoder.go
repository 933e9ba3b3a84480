package welvet

import (
	"context"

	"github.com/openfluke/loom/bindings/go/abi"
)

// EncoderOptions of an encoder. A field that is 0 means its default.
type EncoderOptions struct {
	// DType quantises the matrices on load; empty: float32.
	DType string
	// Compute has threads and device. No result depends on them.
	Compute Compute
	// Prompt is put before every text; nil: the prompt that PromptName names; an empty text puts nothing.
	Prompt *string
	// PromptName names a prompt of the folder, such as "query"; empty: the folder's default one, if any.
	PromptName string
}

// Encoder turns texts into vectors: the folder of a BERT in the layout of sentence-transformers.
type Encoder struct{ *object }

// OpenEncoder loads an encoder by its path, or by a hub id that is in huggingface_hub's cache.
func OpenEncoder(model string, options *EncoderOptions) (*Encoder, error) {
	path, err := FindModel(model)
	if err != nil {
		return nil, err
	}
	if options == nil {
		options = &EncoderOptions{}
	}
	var p pins
	defer p.Unpin()
	raw := abi.NewEncoderOptions()
	p.Pin(&raw)
	raw.Compute, raw.Dtype = options.Compute.filled(&p), p.text(options.DType, "DType")
	raw.PromptName = p.text(options.PromptName, "PromptName")
	if options.Prompt != nil {
		raw.Prompt = p.whole(*options.Prompt, "Prompt")
	}
	words := p.whole(path, "the path of the model")
	if p.err != nil {
		return nil, p.err
	}
	o, err := made("Encoder", func(to *abi.Handle) abi.Status { return abi.EncoderOpen(words, &raw, to) })
	if err != nil {
		return nil, err
	}
	return &Encoder{o}, nil
}

// Embed returns the vectors of texts, [texts, dimensions]. A text's vector has the same bits alone and among others.
func (e *Encoder) Embed(ctx context.Context, texts ...string) (out Tensor, err error) {
	var p pins
	defer p.Unpin()
	words := p.texts(texts, "a text")
	if p.err != nil {
		return out, p.err
	}
	err = withContext(ctx, func(cancel abi.Cancel) (err error) {
		out, err = filled[float32](e.alone, func(encoder abi.Handle, vectors *abi.Tensor) abi.Status {
			var tokens *uint64
			var tokensCount uintptr
			return abi.EncoderEmbed(encoder, words, uintptr(len(texts)), cancel, vectors, &tokens, &tokensCount)
		})
		return err
	})
	return out, err
}

// Info describes the encoder: dimensions, max_tokens, layers, pooling, threads.
func (e *Encoder) Info() (map[string]any, error) {
	return record[map[string]any](e.object, abi.EncoderInfo)
}

// Close ends the encoder.
func (e *Encoder) Close() error { e.close(); return nil }
