#include "lm/hub.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/file.h"
#include "core/nearest.h"
#include "core/path.h"

namespace loom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestId = 200;
// Ends of names that are files of Loom's formats and no ids.
constexpr std::string_view kFileEnds[] = {".gguf", ".entity", ".json",  ".safetensors", ".npz", ".npy",
                                          ".onnx", ".txt",    ".jinja", ".jsonl",       ".bin"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string hub_cache() {
  if (std::string cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  std::string home = variable("HF_HOME");
  if (home.empty()) {
    std::string caches = variable("XDG_CACHE_HOME");
    if (caches.empty()) caches = variable("HOME") + "/.cache";
    home = caches + "/huggingface";
  }
  return home + "/hub";
}

// "org", "name" and what is behind them; no name where the text can be no id.
struct Id {
  std::string org, name, below;
};
Id id_of(const std::string& text) {
  Id id;
  const std::size_t slash = text.find('/');
  if (slash == text.npos || text.size() > kLongestId) return id;
  const std::size_t end = std::min(text.find('/', slash + 1), text.size());
  const std::string org = text.substr(0, slash), name = text.substr(slash + 1, end - slash - 1);
  for (const std::string* part : {&org, &name}) {
    const auto is_allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
             c == '.';
    };
    if (part->empty() || !std::ranges::all_of(*part, is_allowed) || part->front() == '.' || part->front() == '-')
      return id;
  }
  if (end == text.size())
    for (const std::string_view ending : kFileEnds)
      if (name.ends_with(ending)) return id;
  id.org = org, id.name = name, id.below = end == text.size() ? "" : text.substr(end + 1);
  return id;
}

// Snapshots of a model, that of refs/main first, then the newest.
std::vector<fs::path> snapshots_of(const fs::path& folder) {
  std::vector<fs::path> found;
  if (const auto main = read_text_file((folder / "refs" / "main").string(), 4096)) {
    const std::size_t end = main->find_last_not_of(" \r\n\t") + 1;
    found.push_back(folder / "snapshots" / main->substr(0, end));
  }
  std::vector<std::pair<fs::file_time_type, fs::path>> others;
  std::error_code error;
  for (fs::directory_iterator at(folder / "snapshots", error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    others.emplace_back(fs::last_write_time(at->path(), ignored), at->path());
  }
  std::ranges::sort(others, std::greater<>());
  for (auto& [time, path] : others) found.push_back(std::move(path));
  return found;
}

std::vector<std::string> gguf_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".gguf") files.push_back(at->path().string());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<std::string> find_model(const std::string& name) {
  std::error_code error;
  if (fs::exists(path_of(name), error)) return name;
  const Id id = id_of(name);
  if (id.name.empty()) return name;  // the reader's own error says what is wrong with the path
  const std::string cache = hub_cache();
  for (const fs::path& snapshot : snapshots_of(path_of(cache) / ("models--" + id.org + "--" + id.name))) {
    if (!id.below.empty()) {
      if (fs::exists(snapshot / id.below, error)) return (snapshot / id.below).string();
      continue;
    }
    if (fs::is_regular_file(snapshot / "config.json", error)) return snapshot.string();
    const std::vector<std::string> files = gguf_files(snapshot);
    if (files.size() > 1)
      return fail(Code::InvalidArgument, "{}: {} has {} GGUF files: give the path of one, such as {}/{}", name,
                  snapshot.string(), files.size(), name, fs::path(files[0]).filename().string());
    if (!files.empty()) return files[0];
    if (fs::is_directory(snapshot, error)) return snapshot.string();
  }
  if (!id.below.empty()) return name;
  return fail(Code::NotFound, "{}: no such file or folder, and no model of that id in {}; to fetch it: hf download {}",
              printable(name), cache, printable(name));
}

std::string models_below(const std::string& folder) {
  if (const auto files = gguf_files(path_of(folder)); !files.empty())
    return fmt::format("; it holds {}: give the path of that file", files[0]);
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(path_of(folder), error), end; !error && at != end; at.increment(error))
    if (fs::is_regular_file(at->path() / "config.json", error)) found.push_back(at->path().string());
  std::ranges::sort(found);
  return found.empty() ? std::string() : fmt::format("; {} has one: give that folder", found[0]);
}

}  // namespace loom
