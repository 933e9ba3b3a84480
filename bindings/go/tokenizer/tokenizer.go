// Package tokenizer has the tokenizer of package welvet under the names of Loom 0.8x.
package tokenizer

import welvet "github.com/openfluke/loom/bindings/go"

// Tokenizer turns text into token ids and back. Its methods panic with a *welvet.Error after Close.
type Tokenizer struct{ tokenizer *welvet.Tokenizer }

// LoadFromFile opens a tokenizer.json, a GGUF file, an .entity or a Hugging Face folder.
func LoadFromFile(path string) (*Tokenizer, error) {
	opened, err := welvet.OpenTokenizer(path)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{opened}, nil
}

// Encode returns the ids of a text. Control tokens in it are read as such.
func (t *Tokenizer) Encode(text string, addSpecialTokens bool) []uint32 {
	ids := must(t.tokenizer.EncodeWith(text, addSpecialTokens, true))
	out := make([]uint32, len(ids))
	for i, id := range ids {
		out[i] = uint32(id)
	}
	return out
}

// Decode returns the text of ids.
func (t *Tokenizer) Decode(ids []uint32, skipSpecialTokens bool) string {
	given := make([]int32, len(ids))
	for i, id := range ids {
		given[i] = int32(id)
	}
	return must(t.tokenizer.Decode(given, skipSpecialTokens))
}

// VocabSize returns one more than the greatest id.
func (t *Tokenizer) VocabSize() int { return must(t.tokenizer.VocabSize()) }

// Close ends the tokenizer.
func (t *Tokenizer) Close() error { return t.tokenizer.Close() }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
