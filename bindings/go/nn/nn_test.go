package nn_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/openfluke/loom/bindings/go/abi"
	"github.com/openfluke/loom/bindings/go/nn"
	"github.com/openfluke/loom/bindings/go/tokenizer"
)

// exported writes a folder with config.json, model.safetensors and tokenizer.json.
func exported(t *testing.T, model string) string {
	folder := filepath.Join(t.TempDir(), "SmolLM2")
	var report abi.Blob
	options := abi.NewFileExportOptions()
	options.Dtype = abi.Chars("float16")
	var pinner runtime.Pinner
	pinner.Pin(options.Dtype)
	defer pinner.Unpin()
	if status := abi.FileExport(abi.Chars(model), abi.Chars(folder), &options, &report); status != abi.OK {
		t.Fatal(abi.Text(abi.LastError()))
	}
	abi.Release(report)
	return folder
}

// The program of Loom 0.8x.
func TestNamesOfTheEarlierSystem(t *testing.T) {
	folder := filepath.Join(os.Getenv("LOOM_DATA"), "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
	file := folder
	if !testing.Short() { // 270 MB
		folder = exported(t, folder)
		file = filepath.Join(folder, "tokenizer.json")
	}
	tk, err := tokenizer.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prompt := "Once upon a"
	ids := tk.Encode(prompt, false)
	if text := tk.Decode(ids, true); text != prompt || len(ids) != 3 || tk.VocabSize() != 49152 {
		t.Fatal(text, ids, tk.VocabSize())
	}
	network, err := nn.LoadTransformerFromSafetensors(folder)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := network.Generate(context.Background(), "What is the capital of France?", nil)
	if err != nil || answer.Text != "The capital of France is Paris." {
		t.Fatal(answer, err)
	}
	tk.Close()
	defer func() {
		if recover() == nil {
			t.Fatal("a closed tokenizer encodes")
		}
	}()
	tk.Encode(prompt, false)
}
