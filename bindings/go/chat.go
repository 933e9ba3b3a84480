package welvet

import (
	"context"
	"encoding/json"
	"runtime"
	"sync/atomic"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Chat is a conversation: messages in, answers out. Tokens that the model has read are not read again.
type Chat struct {
	*object
	hasLogprobs bool
	last        atomic.Pointer[Stream] // the last answer, which may still run
}

// Chat begins a conversation, with a system message or none (""). The options are those of every answer.
func (lm *LM) Chat(system string, options *Options) (*Chat, error) {
	session, err := lm.session()
	if err != nil {
		return nil, err
	}
	defer session.close() // the chat keeps it
	var p pins
	defer p.Unpin()
	raw, words := options.filled(&p), p.text(system, "system")
	if p.err != nil {
		return nil, p.err
	}
	o, err := session.child("Chat", func(session abi.Handle, to *abi.Handle) abi.Status {
		return abi.ChatCreate(session, words, raw, to)
	})
	runtime.KeepAlive(options)
	if err != nil {
		return nil, err
	}
	return &Chat{object: o, hasLogprobs: raw.Logprobs > 0}, nil
}

// Say adds a message of the user and answers it. A context that ends it returns the answer so far, which joins the
// conversation, and an error.
func (c *Chat) Say(ctx context.Context, text string) (*Generation, error) {
	return finished(c.Stream(ctx, text))
}

// Stream is Say piece by piece. The answer ends when its stream is closed, and when the next one begins.
func (c *Chat) Stream(ctx context.Context, text string) (*Stream, error) {
	return c.begin(ctx, func(handle abi.Handle, cancel abi.Cancel) abi.Status {
		data, size := bytesOf([]byte(text))
		return abi.ChatSay(handle, data, size, cancel)
	})
}

// Answer answers the messages as they stand.
func (c *Chat) Answer(ctx context.Context) (*Stream, error) { return c.begin(ctx, abi.ChatAnswer) }

func (c *Chat) begin(ctx context.Context, function func(abi.Handle, abi.Cancel) abi.Status) (*Stream, error) {
	if old := c.last.Swap(nil); old != nil {
		old.Close()
	}
	err := withContext(ctx, func(cancel abi.Cancel) error {
		return c.alone(func(handle abi.Handle) abi.Status { return function(handle, cancel) })
	})
	if err != nil {
		return nil, err
	}
	o, err := c.child("stream", func(chat abi.Handle, to *abi.Handle) abi.Status {
		*to = chat
		return abi.Retain(chat)
	})
	if err != nil {
		return nil, err
	}
	stream := &Stream{object: o, ctx: ctx, calls: ofChat, hasLogprobs: c.hasLogprobs, isChat: true}
	c.last.Store(stream)
	return stream, nil
}

// Messages returns the conversation.
func (c *Chat) Messages() ([]Message, error) { return record[[]Message](c.object, abi.ChatMessages) }

// SetMessages replaces the conversation.
func (c *Chat) SetMessages(messages []Message) error {
	text, err := json.Marshal(messages)
	if err != nil {
		return err
	}
	return c.alone(func(handle abi.Handle) abi.Status {
		data, size := bytesOf(text)
		return abi.ChatSetMessages(handle, data, size)
	})
}

// Rewind keeps the first count messages.
func (c *Chat) Rewind(count uint64) error {
	return c.alone(func(handle abi.Handle) abi.Status { return abi.ChatRewind(handle, count) })
}

// Edit replaces the text of a message and drops the messages after it.
func (c *Chat) Edit(index uint64, text string) error {
	return c.alone(func(handle abi.Handle) abi.Status {
		data, size := bytesOf([]byte(text))
		return abi.ChatEdit(handle, index, data, size)
	})
}

// Save writes the conversation into a file, whole or not at all.
func (c *Chat) Save(path string) error { return c.file(path, abi.ChatSave) }

// Load replaces the conversation by that of a file.
func (c *Chat) Load(path string) error { return c.file(path, abi.ChatLoad) }

func (c *Chat) file(path string, function func(abi.Handle, *byte) abi.Status) error {
	return c.object.withText(path, "the path", function)
}

// withText makes a call with a text that ends with a NUL.
func (o *object) withText(text, what string, function func(abi.Handle, *byte) abi.Status) error {
	var p pins
	defer p.Unpin()
	words := p.whole(text, what)
	if p.err != nil {
		return p.err
	}
	return o.alone(func(handle abi.Handle) abi.Status { return function(handle, words) })
}

// Close ends the conversation.
func (c *Chat) Close() error { c.close(); return nil }
