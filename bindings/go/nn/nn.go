// Package nn has language models of package welvet under the names of Loom 0.8x.
package nn

import welvet "github.com/openfluke/loom/bindings/go"

// LoadTransformerFromSafetensors loads a Hugging Face folder: config.json, model.safetensors, tokenizer.json. The model
// has its weights, unlike that of Loom 0.8x, and answers by itself.
func LoadTransformerFromSafetensors(folder string) (*welvet.LM, error) {
	return welvet.Open(folder, nil)
}
