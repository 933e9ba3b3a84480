#include "lm/hub.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/file.h"
#include "core/file_stamp.h"
#include "core/folder.h"
#include "core/nearest.h"

namespace loom {
namespace {

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

// "org", "name" and the rest; no name where the text can be no id.
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

bool exists(const std::string& path) { return os::stamp(path).has_value(); }

// Paths of what a folder holds; none where there is no such folder.
std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> paths;
  if (const auto names = visible_names_in(folder))
    for (const std::string& name : *names) paths.push_back(fmt::format("{}/{}", folder, name));
  return paths;
}

// Snapshots of a model, that of refs/main first, then the newest.
std::vector<std::string> snapshots_of(const std::string& folder) {
  std::vector<std::string> found;
  if (const auto main = read_text_file(folder + "/refs/main", 4096)) {
    const std::size_t end = main->find_last_not_of(" \r\n\t") + 1;
    found.push_back(fmt::format("{}/snapshots/{}", folder, main->substr(0, end)));
  }
  std::vector<std::pair<std::int64_t, std::string>> others;
  for (std::string& path : paths_in(folder + "/snapshots")) {
    const auto when = os::stamp(path);
    others.emplace_back(when ? when->modified_ns : 0, std::move(path));
  }
  std::ranges::sort(others, std::greater<>());
  for (auto& [time, path] : others) found.push_back(std::move(path));
  return found;
}

std::vector<std::string> gguf_files(const std::string& folder) {
  std::vector<std::string> files = paths_in(folder);
  std::erase_if(files, [](const std::string& path) { return !path.ends_with(".gguf"); });
  return files;
}

}  // namespace

Result<std::string> find_model(const std::string& name) {
  if (exists(name)) return name;
  const Id id = id_of(name);
  if (id.name.empty()) return name;  // the reader's own error says what is wrong with the path
  const std::string cache = hub_cache();
  for (const std::string& snapshot : snapshots_of(fmt::format("{}/models--{}--{}", cache, id.org, id.name))) {
    if (!id.below.empty()) {
      if (std::string path = fmt::format("{}/{}", snapshot, id.below); exists(path)) return path;
      continue;
    }
    if (is_file(snapshot + "/config.json")) return snapshot;
    const std::vector<std::string> files = gguf_files(snapshot);
    if (files.size() > 1)
      return fail(Code::InvalidArgument, "{}: {} has {} GGUF files: give the path of one, such as {}/{}", name,
                  snapshot, files.size(), name, files[0].substr(snapshot.size() + 1));
    if (!files.empty()) return files[0];
    if (is_directory(snapshot)) return snapshot;
  }
  if (!id.below.empty()) return name;
  return fail(Code::NotFound, "{}: no such file or folder, and no model of that id in {}; to fetch it: hf download {}",
              printable(name), cache, printable(name));
}

std::string models_below(const std::string& folder) {
  if (const auto files = gguf_files(folder); !files.empty())
    return fmt::format("; it holds {}: give the path of that file", files[0]);
  for (const std::string& path : paths_in(folder))
    if (is_file(path + "/config.json")) return fmt::format("; {} has one: give that folder", path);
  return {};
}

}  // namespace loom
