package welvet

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"iter"
	"unicode/utf8"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Generation is an answer of a model.
type Generation struct {
	// Text is the answer, without stop text and end-of-sequence token.
	Text string
	// IDs are its tokens.
	IDs []int32
	// StopReason is "eos", "stop", "length", "context" or "cancelled"; empty before the end.
	StopReason string
	// Hash is the SHA-256 of the ids and of the bits of the last logits, hexadecimal: equal on every machine.
	Hash string
	// PromptTokens is the number of tokens that were read before.
	PromptTokens uint64
	// PrefillSeconds is the time of reading the prompt.
	PrefillSeconds float64
	// DecodeSeconds is the time of writing the answer.
	DecodeSeconds float64
	// Drafted, Accepted and Passes count the work of Options.Speculate.
	Drafted, Accepted, Passes uint64
	// Logprobs has an object for each token, with Options.Logprobs.
	Logprobs []map[string]any
}

// calls are the functions of the library for an answer: those of a generator, or of a chat.
type calls struct {
	next     func(abi.Handle, abi.Cancel, *abi.Step) abi.Status
	result   func(abi.Handle, *abi.Generation) abi.Status
	logprobs func(abi.Handle, *abi.Blob) abi.Status
	receipt  func(abi.Handle, *abi.Blob) abi.Status
}

var (
	ofGenerator = calls{abi.GeneratorNext, abi.GeneratorResult, abi.GeneratorLogprobs, abi.GeneratorReceipt}
	ofChat      = calls{abi.ChatNext, abi.ChatResult, abi.ChatLogprobs, abi.ChatReceipt}
)

// Stream is an answer that is being written.
type Stream struct {
	*object
	ctx         context.Context
	calls       calls
	hasLogprobs bool
	isChat      bool
	stop        abi.Stop
	pending     []byte
}

// Pieces gives the pieces of text; the last one may come with an error. A loop that breaks may go on with another one.
//
//	for piece, err := range stream.Pieces() {
//		if err != nil {
//			return err
//		}
//		fmt.Print(piece)
//	}
func (s *Stream) Pieces() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			piece, more, err := s.advance()
			if (piece != "" || err != nil) && !yield(piece, err) || err != nil || !more {
				return
			}
		}
	}
}

// advance does one piece of work and returns the text that has settled, which may be empty.
func (s *Stream) advance() (piece string, more bool, err error) {
	var stop abi.Stop
	err = withContext(s.ctx, func(cancel abi.Cancel) error {
		return s.alone(func(handle abi.Handle) abi.Status {
			defer func() { stop = s.stop }()
			if s.stop != abi.StopNotYet {
				return abi.OK
			}
			step := abi.NewStep()
			status := s.calls.next(handle, cancel, &step)
			if status == abi.OK {
				s.stop = step.Stop
				s.pending = append(s.pending, unsafe.Slice((*byte)(unsafe.Pointer(step.Text)), step.TextSize)...)
				piece = s.settled()
			}
			return status
		})
	})
	if err == nil && stop == abi.StopCancelled && s.ctx.Err() != nil {
		err = ended(s.ctx)
	}
	return piece, err == nil && stop == abi.StopNotYet, err
}

// settled takes the whole characters of the buffer; at the end of the text all that is left.
func (s *Stream) settled() string {
	kept := 0
	if s.stop == abi.StopNotYet {
		for back := 1; back <= utf8.UTFMax && back <= len(s.pending); back++ {
			if tail := s.pending[len(s.pending)-back:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					kept = back
				}
				break
			}
		}
	}
	cut := len(s.pending) - kept
	text := string(s.pending[:cut])
	s.pending = append(s.pending[:0], s.pending[cut:]...)
	return text
}

// Result returns the answer so far, or the whole one after the last piece.
func (s *Stream) Result() (*Generation, error) {
	var out *Generation
	err := s.alone(func(handle abi.Handle) abi.Status {
		raw := abi.NewGeneration()
		status := s.calls.result(handle, &raw)
		if status != abi.OK {
			return status
		}
		out = &Generation{
			Text: string(abi.Bytes(unsafe.Pointer(raw.Text), raw.TextSize)), IDs: copied(raw.Ids, raw.IdsCount),
			StopReason: abi.Text(abi.StopName(raw.Stop)), Hash: hex.EncodeToString(raw.Hash[:]),
			PromptTokens: raw.PromptTokens, PrefillSeconds: raw.PrefillSeconds, DecodeSeconds: raw.DecodeSeconds,
			Drafted: raw.Drafted, Accepted: raw.Accepted, Passes: raw.Passes,
		}
		return status
	})
	if err == nil && s.hasLogprobs {
		out.Logprobs, err = record[[]map[string]any](s.object, s.calls.logprobs)
	}
	return out, err
}

// Finish writes the rest of the answer and returns the whole one. A context that ends it returns the answer so far and
// an error.
func (s *Stream) Finish() (*Generation, error) {
	for more := true; more; {
		var err error
		if _, more, err = s.advance(); err != nil {
			result, _ := s.Result()
			return result, err
		}
	}
	return s.Result()
}

// Receipt returns the receipt of a complete answer, JSON, which proves it on another machine.
func (s *Stream) Receipt() (json.RawMessage, error) {
	data, err := s.bytes(s.calls.receipt)
	return data, err
}

// Close ends the answer where it is. In a chat its text so far joins the conversation.
func (s *Stream) Close() error {
	if s.isChat {
		_ = s.alone(func(handle abi.Handle) abi.Status {
			if s.stop != abi.StopNotYet {
				return abi.OK
			}
			s.stop = abi.StopCancelled
			return abi.ChatStop(handle)
		})
	}
	s.close()
	return nil
}

func finished(stream *Stream, err error) (*Generation, error) {
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return stream.Finish()
}
