#include "hub.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace loom_godot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestId = 200;  // bytes

fs::path path_of(const std::string& name) { return fs::path(std::u8string(name.begin(), name.end())); }
std::string text_of(const fs::path& path) {
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
}

bool is_present(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_id(const std::string& name) {
  for (const char* end : {".gguf", ".entity", ".safetensors", ".json", ".onnx", ".bin", ".pt", ".pth"}) {
    if (name.ends_with(end)) return false;
  }
  if (name.size() > kLongestId || std::string(".~-/").find(name.front()) != std::string::npos) return false;
  return name.back() != '/' && std::ranges::count(name, '/') <= 1 && name.find('\\') == std::string::npos &&
         name.find(':') == std::string::npos;
}

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

fs::path cache_folder() {
  if (const char* cache = setting("HF_HUB_CACHE")) return path_of(cache);
  if (const char* home = setting("HF_HOME")) return path_of(home) / "hub";
  if (const char* cache = setting("XDG_CACHE_HOME")) return path_of(cache) / "huggingface" / "hub";
  const char* home = setting("HOME");
  if (!home) home = setting("USERPROFILE");
  return path_of(home ? home : ".") / ".cache" / "huggingface" / "hub";
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) out.push_back(*at);
  std::ranges::sort(out);
  return out;
}

// Lists the snapshots of a model, that of its main revision first.
std::vector<fs::path> snapshots(const fs::path& folder) {
  std::vector<fs::path> out;
  std::ifstream revision(folder / "refs" / "main");
  if (std::string name; revision >> name) out.push_back(folder / "snapshots" / path_of(name));
  for (fs::path& each : entries(folder / "snapshots")) out.push_back(std::move(each));
  return out;
}

}  // namespace

loom::Result<std::string> find_model(const std::string& name) {
  if (name.empty()) return loom::Error(LOOM_INVALID_ARGUMENT, "the path of a model is empty");
  if (is_present(path_of(name))) return name;
  if (!is_id(name)) return loom::Error(LOOM_NOT_FOUND, name + ": no such file or folder");
  std::string folder = "models--";
  for (const char c : name) folder += c == '/' ? std::string("--") : std::string(1, c);
  const fs::path cache = cache_folder();
  for (const fs::path& snapshot : snapshots(cache / path_of(folder))) {
    if (is_present(snapshot / "config.json")) return text_of(snapshot);
    std::vector<fs::path> files = entries(snapshot);
    std::erase_if(files, [](const fs::path& file) { return file.extension() != ".gguf"; });
    if (files.size() == 1) return text_of(files.front());
    if (files.size() > 1) {
      return loom::Error(LOOM_INVALID_ARGUMENT, name + ": " + text_of(snapshot) + " has " +
                                                    std::to_string(files.size()) + " GGUF files: give the path of one");
    }
  }
  return loom::Error(LOOM_NOT_FOUND, name + ": no such file or folder, and it is not in " + text_of(cache) +
                                         "; to fetch it: hf download " + name);
}

}  // namespace loom_godot
