package welvet

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
)

const longestID = 200 // bytes

var endsOfFiles = []string{".gguf", ".entity", ".safetensors", ".json", ".onnx", ".bin", ".pt", ".pth"} // no ids

// FindModel finds a model by its path or hub id ("HuggingFaceTB/SmolLM2-360M-Instruct") and returns its path. Nothing
// is downloaded; the text of NotFound has the command that fetches a hub id.
func FindModel(name string) (string, error) {
	if name == "" {
		return "", failed(InvalidArgument, "the name of a model is empty")
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if !isID(name) {
		return "", failed(NotFound, "%s: no such file or folder", name)
	}
	cache := cacheFolder()
	for _, snapshot := range snapshots(filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))) {
		if _, err := os.Stat(filepath.Join(snapshot, "config.json")); err == nil {
			return snapshot, nil
		}
		files, _ := filepath.Glob(filepath.Join(snapshot, "*.gguf"))
		if len(files) > 1 {
			return "", failed(InvalidArgument, "%s: %s has %d GGUF files: give the path of one", name, snapshot, len(files))
		}
		if len(files) == 1 {
			return files[0], nil
		}
	}
	return "", failed(NotFound, "%s: no such file or folder, and it is not in %s; to fetch it: hf download %s", name,
		cache, name)
}

func isID(name string) bool {
	for _, end := range endsOfFiles {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return false
		}
	}
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == "" {
			return false
		}
	}
	return len(parts) <= 2 && !strings.ContainsAny(name[:1], ".~-") && len(name) <= longestID
}

func cacheFolder() string {
	if cache := os.Getenv("HF_HUB_CACHE"); cache != "" {
		return cache
	}
	if home := os.Getenv("HF_HOME"); home != "" {
		return filepath.Join(home, "hub")
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, _ := os.UserHomeDir()
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "huggingface", "hub")
}

// snapshots lists the snapshots of a model, that of its main revision first, then the newest.
func snapshots(folder string) []string {
	var found []string
	if revision, err := os.ReadFile(filepath.Join(folder, "refs", "main")); err == nil {
		found = append(found, filepath.Join(folder, "snapshots", strings.TrimSpace(string(revision))))
	}
	others, _ := filepath.Glob(filepath.Join(folder, "snapshots", "*"))
	age := func(path string) int64 {
		if about, err := os.Stat(path); err == nil {
			return about.ModTime().UnixNano()
		}
		return 0
	}
	sort.Slice(others, func(a, b int) bool { return age(others[a]) > age(others[b]) })
	return append(found, others...)
}
