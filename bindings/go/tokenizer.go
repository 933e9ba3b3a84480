package welvet

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Tokenizer turns text into token ids and back.
type Tokenizer struct{ *object }

// OpenTokenizer opens the tokenizer of a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json.
func OpenTokenizer(path string) (*Tokenizer, error) {
	var p pins
	defer p.Unpin()
	words := p.whole(path, "the path")
	if p.err != nil {
		return nil, p.err
	}
	o, err := made("Tokenizer", func(to *abi.Handle) abi.Status { return abi.TokenizerOpen(words, to) })
	if err != nil {
		return nil, err
	}
	return &Tokenizer{o}, nil
}

// Encode returns the ids of a text with what the model expects around one; control tokens in it are read as such.
func (t *Tokenizer) Encode(text string) ([]int32, error) { return t.EncodeWith(text, true, true) }

// EncodeWith is Encode with or without special tokens around the text and control tokens in it.
func (t *Tokenizer) EncodeWith(text string, addSpecialTokens, parseSpecial bool) ([]int32, error) {
	out, err := t.bytes(func(handle abi.Handle, to *abi.Blob) abi.Status {
		data, size := bytesOf([]byte(text))
		return abi.TokenizerEncode(handle, data, size, truth(addSpecialTokens), truth(parseSpecial), to)
	})
	if len(out) == 0 {
		return nil, err
	}
	return copied((*int32)(unsafe.Pointer(&out[0])), uintptr(len(out)/4)), nil
}

// Decode returns the text of ids.
func (t *Tokenizer) Decode(ids []int32, skipSpecialTokens bool) (string, error) {
	out, err := t.bytes(func(handle abi.Handle, to *abi.Blob) abi.Status {
		return abi.TokenizerDecode(handle, unsafe.SliceData(ids), uintptr(len(ids)), truth(skipSpecialTokens), to)
	})
	return string(out), err
}

// IDOf returns the id of a token by its text as the vocabulary spells it, and whether there is one.
func (t *Tokenizer) IDOf(token string) (id int32, ok bool, err error) {
	err = t.call(func(handle abi.Handle) abi.Status {
		data, size := bytesOf([]byte(token))
		return abi.TokenizerId(handle, data, size, &id)
	})
	if errors.Is(err, NotFound) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// Token returns the text of a token as the vocabulary spells it; empty for an unknown id.
func (t *Tokenizer) Token(id int32) (string, error) {
	out, err := t.bytes(func(handle abi.Handle, to *abi.Blob) abi.Status { return abi.TokenizerToken(handle, id, to) })
	return string(out), err
}

// VocabSize returns one more than the greatest id.
func (t *Tokenizer) VocabSize() (int, error) {
	var size uint64
	err := t.call(func(handle abi.Handle) abi.Status { return abi.TokenizerVocabSize(handle, &size) })
	runtime.KeepAlive(t)
	return int(size), err
}

// Close ends the tokenizer.
func (t *Tokenizer) Close() error { t.close(); return nil }
