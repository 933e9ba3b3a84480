package welvet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	question = "What is the capital of France?"
	answer   = "The capital of France is Paris."
	hash     = "99554f0d" // of the README
)

var background = context.Background()

func data(t testing.TB, name string) string {
	folder := os.Getenv("LOOM_DATA")
	if folder == "" {
		t.Fatal("LOOM_DATA is not set: tools/fetch_data.sh fills that folder")
	}
	return filepath.Join(folder, name)
}

func modelPath(t testing.TB) string { return data(t, "llm/SmolLM2-135M-Instruct.Q4_1.gguf") }

func open(t testing.TB) *LM {
	lm, err := Open(modelPath(t), nil)
	fail(t, err)
	t.Cleanup(func() { lm.Close() })
	return lm
}

func fail(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, got, expected any) {
	t.Helper()
	if !reflect.DeepEqual(got, expected) {
		t.Fatalf("got %v, expected %v", got, expected)
	}
}

func refused(t testing.TB, err error, code Code, words string) {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) || !errors.Is(err, code) || !strings.Contains(failure.Text, words) {
		t.Fatalf("got %v, expected %v: ...%s...", err, code, words)
	}
}

func TestTheAnswerOfTheReadme(t *testing.T) {
	lm := open(t)
	whole, err := lm.Generate(background, question, nil)
	fail(t, err)
	equal(t, whole.Text, answer)
	equal(t, whole.Hash[:8], hash)
	equal(t, whole.StopReason, "eos")
	stream, err := lm.Stream(background, question, nil)
	fail(t, err)
	defer stream.Close()
	text, pieces := "", 0
	for piece, err := range stream.Pieces() {
		fail(t, err)
		text, pieces = text+piece, pieces+1
	}
	equal(t, text, answer)
	equal(t, pieces > 3, true)
	asked, err := lm.GenerateMessages(background, []Message{{"user", question}}, nil)
	fail(t, err)
	equal(t, asked.Hash, whole.Hash)
	receipt, err := stream.Receipt()
	fail(t, err)
	equal(t, strings.Contains(string(receipt), whole.Hash), true)
}

func TestOptionsReachTheLibrary(t *testing.T) {
	lm := open(t)
	options := &Options{MaxTokens: 6, Form: Raw, Seed: 7, Temperature: 0.8, Logprobs: 2}
	first, err := lm.Generate(background, "Once upon a time", options)
	fail(t, err)
	equal(t, len(first.IDs), 6)
	equal(t, len(first.Logprobs), 6)
	equal(t, first.StopReason, "length")
	again, err := lm.Generate(background, "Once upon a time", options)
	fail(t, err)
	equal(t, again.Hash, first.Hash)
	cut, err := lm.Generate(background, question, &Options{Stop: []string{"France"}, LogitBias: map[int32]float32{5: 1}})
	fail(t, err)
	equal(t, cut.Text+cut.StopReason, "The capital of stop")
	none, err := lm.Generate(background, question, &Options{PromptOnly: true})
	fail(t, err)
	equal(t, len(none.IDs) == 0 && none.PromptTokens > 0, true)
	_, err = lm.Generate(background, question, &Options{Stop: []string{"a\x00b"}})
	refused(t, err, InvalidArgument, "NUL")
	_, err = lm.Generate(background, question, &Options{TopP: 3})
	refused(t, err, InvalidArgument, "top_p is 3")
}

func TestChatsRemember(t *testing.T) {
	lm := open(t)
	chat, err := lm.Chat("You are brief.", &Options{MaxTokens: 20})
	fail(t, err)
	defer chat.Close()
	first, err := chat.Say(background, "My name is Ada.")
	fail(t, err)
	second, err := chat.Say(background, "What is my name?")
	fail(t, err)
	said, err := chat.Messages()
	fail(t, err)
	equal(t, said[2], Message{"assistant", first.Text})
	again, err := lm.GenerateMessages(background, said[:4], &Options{MaxTokens: 20})
	fail(t, err)
	equal(t, again.Text, second.Text)
	path := filepath.Join(t.TempDir(), "größe.json")
	fail(t, chat.Save(path))
	fail(t, chat.Rewind(1))
	fail(t, chat.Load(path))
	loaded, err := chat.Messages()
	fail(t, err)
	equal(t, loaded, said)
	stream, err := chat.Stream(background, "Count to one hundred.")
	fail(t, err)
	for _, err := range stream.Pieces() {
		fail(t, err)
		break
	}
	stream.Close() // its text so far joins the conversation
	said, err = chat.Messages()
	fail(t, err)
	equal(t, len(said), 7)
	running, err := chat.Stream(background, "Count to one thousand.")
	fail(t, err)
	next, err := chat.Say(background, "Stop.") // ends the answer that runs
	fail(t, err)
	_, err = running.Finish()
	refused(t, err, BadHandle, "the stream is closed")
	said, err = chat.Messages()
	fail(t, err)
	equal(t, said[len(said)-1].Content, next.Text)
}

func TestTokenizersGoThereAndBack(t *testing.T) {
	tk, err := OpenTokenizer(modelPath(t))
	fail(t, err)
	defer tk.Close()
	ids, err := tk.Encode("Grüße, 世界!")
	fail(t, err)
	text, err := tk.Decode(ids, true)
	fail(t, err)
	equal(t, text, "Grüße, 世界!")
	end, ok, err := tk.IDOf("<|im_end|>")
	fail(t, err)
	token, err := tk.Token(end)
	fail(t, err)
	equal(t, token, "<|im_end|>")
	equal(t, ok, true)
	_, ok, err = tk.IDOf("no such token")
	fail(t, err)
	equal(t, ok, false)
}

func TestEncodersEmbed(t *testing.T) {
	encoder, err := OpenEncoder(data(t, "minilm"), nil)
	fail(t, err)
	defer encoder.Close()
	both, err := encoder.Embed(background, "It rains.", "The sun shines.")
	fail(t, err)
	equal(t, both.Shape, []uint64{2, 384})
	alone, err := encoder.Embed(background, "The sun shines.")
	fail(t, err)
	equal(t, alone.Row(0), both.Row(1))
}

func TestContextsEndAnAnswerAtAnyMoment(t *testing.T) {
	lm := open(t)
	for _, wait := range []time.Duration{0, 1, 5, 20, 60, 150} {
		ctx, cancel := context.WithTimeout(background, wait*time.Millisecond)
		got, err := lm.Generate(ctx, question, &Options{MaxTokens: 100000, IgnoreEOS: true})
		cancel()
		refused(t, err, Cancelled, "deadline")
		equal(t, errors.Is(err, context.DeadlineExceeded), true)
		equal(t, got.StopReason, "cancelled")
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err := Open(modelPath(t), &LoadOptions{Ctx: ctx})
	refused(t, err, Cancelled, "canceled")
	equal(t, errors.Is(err, context.Canceled), true)
}

func TestProgressMayCancelOrPanic(t *testing.T) {
	var parts []float64
	lm, err := Open(modelPath(t), &LoadOptions{Progress: func(part float64) bool {
		parts = append(parts, part)
		return true
	}})
	fail(t, err)
	lm.Close()
	equal(t, len(parts) > 1, true)
	_, err = Open(modelPath(t), &LoadOptions{Progress: func(float64) bool { return false }})
	refused(t, err, Cancelled, "")
	defer func() { equal(t, recover(), "mine") }()
	_, _ = Open(modelPath(t), &LoadOptions{Progress: func(float64) bool { panic("mine") }})
	t.Fatal("the panic is gone")
}

func TestGoroutinesShareAModelAndAStream(t *testing.T) {
	lm := open(t)
	var group sync.WaitGroup
	for i := 0; i < 3; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			got, err := lm.Generate(background, question, &Options{MaxTokens: 4})
			if err != nil || got.Text != "The capital of France" {
				t.Errorf("%v %v", got, err)
			}
		}()
	}
	group.Wait()
	stream, err := lm.Stream(background, question, nil)
	fail(t, err)
	for i := 0; i < 2; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if got, err := stream.Finish(); err != nil || got.Text != answer {
				t.Errorf("%v %v", got, err)
			}
		}()
	}
	group.Wait()
}

func TestClosedObjectsAnswerBadHandle(t *testing.T) {
	lm := open(t)
	stream, err := lm.Stream(background, question, nil)
	fail(t, err)
	chat, err := lm.Chat("", nil)
	fail(t, err)
	lm.Close()
	lm.Close() // twice is harmless
	_, err = lm.Generate(background, question, nil)
	refused(t, err, BadHandle, "the LM is closed")
	_, err = lm.Tokenizer()
	refused(t, err, BadHandle, "the LM is closed")
	got, err := stream.Finish() // it keeps the model
	fail(t, err)
	equal(t, got.Text, answer)
	stream.Close()
	_, err = stream.Finish()
	refused(t, err, BadHandle, "the stream is closed")
	chat.Close()
	_, err = chat.Say(background, "x")
	refused(t, err, BadHandle, "the Chat is closed")
}

func TestErrorsHaveCodeAndText(t *testing.T) {
	_, err := Open("no/such/model.gguf", nil)
	equal(t, err.Error(), "NotFound: no/such/model.gguf: no such file or folder")
	_, err = Open("someone/no-such-model", nil)
	refused(t, err, NotFound, "to fetch it: hf download someone/no-such-model")
	_, err = Open("lm_test.go", nil)
	refused(t, err, Unsupported, "lm_test.go")
	_, err = FromBytes([]byte("not a model"), nil)
	refused(t, err, Unsupported, "")
	_, err = open(t).GenerateIDs(background, []int32{-5}, nil)
	refused(t, err, IndexOutOfRange, "-5")
	cache := t.TempDir()
	t.Setenv("HF_HUB_CACHE", cache)
	snapshot := filepath.Join(cache, "models--HuggingFaceTB--SmolLM2-360M-Instruct", "snapshots", "abc")
	fail(t, os.MkdirAll(snapshot, 0o755))
	fail(t, os.Symlink(modelPath(t), filepath.Join(snapshot, "model.gguf")))
	found, err := FindModel("HuggingFaceTB/SmolLM2-360M-Instruct")
	fail(t, err)
	equal(t, found, filepath.Join(snapshot, "model.gguf"))
}
