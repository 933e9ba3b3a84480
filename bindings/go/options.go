package welvet

import "github.com/openfluke/loom/bindings/go/abi"

// Form says how a text becomes a prompt.
type Form int32

const (
	// Auto is Chat for a model with a chat template, and Raw for the others.
	Auto Form = iota
	// Raw is a text that is continued as it is.
	Raw
	// Chatting is a message for the chat template; NoTemplate when the model brings none.
	Chatting
)

// Message is one of a conversation.
type Message struct {
	// Role is "system", "user" or "assistant".
	Role string `json:"role"`
	// Content is the text.
	Content string `json:"content"`
}

// Options of an answer. A field that is 0 means its default: at most 128 tokens, the most likely token each time.
type Options struct {
	// MaxTokens is the most tokens of the answer; 0: 128.
	MaxTokens uint64
	// PromptOnly reads the prompt and draws no token.
	PromptOnly bool
	// MinTokens is a number of tokens before which the answer does not end.
	MinTokens uint64
	// Seed of the draws: equal seeds draw equal tokens.
	Seed uint64
	// Temperature 0 takes the most likely token each time.
	Temperature float32
	// TopK draws among this number of the most likely tokens; 0: among all.
	TopK int32
	// TopP draws among the most likely tokens that together have this probability; 0 or 1: among all.
	TopP float32
	// MinP draws among tokens with at least this part of the probability of the most likely one.
	MinP float32
	// TypicalP draws among the tokens of typical probability that together have this one; 0 or 1: among all.
	TypicalP float32
	// RepetitionPenalty above 1 makes the tokens of the last RepetitionWindow ones less likely.
	RepetitionPenalty float32
	// RepetitionWindow is the number of tokens that the three penalties look back on; 0: 64, -1: all.
	RepetitionWindow int32
	// FrequencyPenalty is subtracted from a token's logit for each time that it occurred in the window.
	FrequencyPenalty float32
	// PresencePenalty is subtracted from a token's logit if it occurred in the window.
	PresencePenalty float32
	// IgnoreEOS bans the tokens that end an answer.
	IgnoreEOS bool
	// Stop has texts that end the answer and are not part of it.
	Stop []string
	// StopIDs has token ids that end the answer, in addition to the model's own.
	StopIDs []int32
	// LogitBias has numbers that are added to the logits of tokens before each draw.
	LogitBias map[int32]float32
	// Logprobs is the number of the best tokens of each draw that Generation.Logprobs has; 0: none.
	Logprobs uint32
	// Speculate drafts the tokens that followed the same tokens before: the same answer in less time.
	Speculate bool
	// Draft is a smaller model with the same tokens that drafts instead.
	Draft *LM
	// Form says how a text becomes a prompt.
	Form Form
	// PlainText reads control tokens in prompts and messages as ordinary text: for texts of strangers.
	PlainText bool
	// ChatTemplate is the name of another chat template, as "chatml", or its text; empty: the model's own.
	ChatTemplate string
	// Tools is a list of functions, as JSON or any value that becomes JSON, that the chat template describes.
	Tools any
	// TemplateVariables is an object of variables that the chat template reads.
	TemplateVariables any
	// Date is YYYY-MM-DD, for chat templates that write the day.
	Date string
	// ContinueFinalMessage continues the last message of a list instead of answering it.
	ContinueFinalMessage bool
}

// filled returns the struct of C; the pins hold its memory.
func (o *Options) filled(p *pins) *abi.GenerationOptions {
	raw := abi.NewGenerationOptions()
	p.Pin(&raw)
	if o == nil {
		return &raw
	}
	raw.MaxTokens, raw.PromptOnly, raw.MinTokens, raw.Seed = o.MaxTokens, truth(o.PromptOnly), o.MinTokens, o.Seed
	raw.Temperature, raw.TopK, raw.TopP, raw.MinP, raw.TypicalP = o.Temperature, o.TopK, o.TopP, o.MinP, o.TypicalP
	raw.RepetitionPenalty, raw.RepetitionWindow = o.RepetitionPenalty, o.RepetitionWindow
	raw.FrequencyPenalty, raw.PresencePenalty, raw.IgnoreEos = o.FrequencyPenalty, o.PresencePenalty, truth(o.IgnoreEOS)
	raw.Stop, raw.StopCount = p.texts(o.Stop, "Stop"), uintptr(len(o.Stop))
	raw.StopIds, raw.StopIdsCount = pinned(p, append([]int32(nil), o.StopIDs...)), uintptr(len(o.StopIDs))
	var ids []int32
	var biases []float32
	for id, bias := range o.LogitBias { // any order: one number for each id
		ids, biases = append(ids, id), append(biases, bias)
	}
	raw.BiasIds, raw.BiasIdsCount = pinned(p, ids), uintptr(len(ids))
	raw.Biases, raw.BiasesCount = pinned(p, biases), uintptr(len(biases))
	raw.Logprobs, raw.Speculate = o.Logprobs, truth(o.Speculate || o.Draft != nil)
	if o.Draft != nil {
		var err error
		if raw.DraftModel, err = o.Draft.live(); err != nil && p.err == nil {
			p.err = err
		}
	}
	raw.PlainText, raw.ChatTemplate = truth(o.PlainText), p.text(o.ChatTemplate, "ChatTemplate")
	raw.Tools, raw.TemplateVariables = p.json(o.Tools, "Tools"), p.json(o.TemplateVariables, "TemplateVariables")
	raw.Date, raw.ContinueFinalMessage = p.text(o.Date, "Date"), truth(o.ContinueFinalMessage)
	return &raw
}

func (p *pins) json(value any, what string) *byte {
	if value == nil {
		return nil
	}
	data, err := jsonOf(value, what)
	if err != nil && p.err == nil {
		p.err = err
	}
	return p.text(string(data), what)
}

func truth(value bool) int32 {
	if value {
		return 1
	}
	return 0
}
