#include "lm/hub.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
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

// A path from the environment, with "~/" as huggingface_hub reads it.
std::string path_in(const char* name) {
  const std::string value = variable(name);
  return value.starts_with("~/") ? variable("HOME") + value.substr(1) : value;
}

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// Names of types in a GGUF's file name, upper case: Q4_0, IQ4_XS, Q5_K_M, TQ2_0, BF16.
bool names_type(std::string_view text) {
  for (const std::string_view whole : {"F64", "F32", "F16", "BF16", "FP32", "FP16", "MXFP4", "MXFP4_MOE", "I2_S"})
    if (text == whole) return true;
  for (const std::string_view begin : {"IQ", "TQ", "Q"}) {
    if (!text.starts_with(begin)) continue;
    std::string_view rest = text.substr(begin.size());
    if (rest.empty() || rest[0] < '1' || rest[0] > '8') return false;
    // then parts of at most three characters: _K, _M, _0, _XXS
    for (rest.remove_prefix(1); !rest.empty();) {
      const std::size_t end = std::min(rest.find('_', 1), rest.size());
      if (rest[0] != '_' || end < 2 || end > 4) return false;
      rest.remove_prefix(end);
    }
    return true;
  }
  return false;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
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

// The file of a snapshot that `choice` names; empty for none. Repositories keep quantisations in folders, too.
Result<std::string> chosen_file(const std::string& snapshot, const std::string& name, const std::string& choice) {
  if (std::string path = fmt::format("{}/{}", snapshot, choice); is_file(path)) return path;
  std::vector<std::string> files = gguf_files(snapshot);
  for (const std::string& folder : paths_in(snapshot))
    if (is_directory(folder)) std::ranges::copy(gguf_files(folder), std::back_inserter(files));
  std::erase_if(files, [&](const std::string& path) { return !is_quantisation(path, choice); });
  if (files.size() > 1)
    return fail(Code::InvalidArgument, "{}: {} and {} are of that quantisation: give the path of one", name, files[0],
                files[1]);
  return files.empty() ? std::string() : files[0];
}

}  // namespace

std::string hub_home() {
  if (std::string home = path_in("HF_HOME"); !home.empty()) return home;
  std::string caches = variable("XDG_CACHE_HOME");
  if (caches.empty()) caches = variable("HOME") + "/.cache";
  return caches + "/huggingface";
}

std::string hub_cache() {
  for (const char* const name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (std::string cache = path_in(name); !cache.empty()) return cache;
  return hub_home() + "/hub";
}

HubId hub_id(const std::string& text) {
  HubId id;
  const std::size_t slash = text.find('/');
  if (slash == text.npos || text.size() > kLongestId) return id;
  const std::size_t end = std::min(text.find_first_of("/:", slash + 1), text.size());
  const std::string org = text.substr(0, slash), name = text.substr(slash + 1, end - slash - 1);
  for (const std::string* part : {&org, &name})
    if (part->empty() || !std::ranges::all_of(*part, is_allowed) || part->front() == '.' || part->front() == '-')
      return id;
  const std::string rest = end == text.size() ? "" : text.substr(end + 1);
  const bool has_choice = end < text.size() && text[end] == ':';
  if (has_choice && rest.empty()) return id;
  if (end == text.size())
    for (const std::string_view ending : kFileEnds)
      if (name.ends_with(ending)) return id;
  id.org = org, id.name = name, (has_choice ? id.choice : id.below) = rest;
  return id;
}

std::string quantisation_of(std::string_view file) {
  file = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  const std::string whole = upper(file);
  std::string_view stem = whole;
  if (!stem.ends_with(".GGUF")) return {};
  stem.remove_suffix(5);
  for (std::size_t at = 0; at < stem.size(); ++at)
    if ((at == 0 || stem[at - 1] == '-' || stem[at - 1] == '.' || stem[at - 1] == '_') && names_type(stem.substr(at)))
      return std::string(stem.substr(at));
  return {};
}

bool is_quantisation(std::string_view file, std::string_view quantisation) {
  const std::string found = quantisation_of(file);
  return !found.empty() && found == upper(quantisation);
}

Result<std::string> find_model(const std::string& name) {
  if (exists(name)) return name;
  const HubId id = hub_id(name);
  if (id.name.empty()) return name;  // the reader's own error says what is wrong with the path
  const std::string cache = hub_cache();
  for (const std::string& snapshot : snapshots_of(fmt::format("{}/models--{}--{}", cache, id.org, id.name))) {
    if (!id.below.empty()) {
      if (std::string path = fmt::format("{}/{}", snapshot, id.below); exists(path)) return path;
      continue;
    }
    if (!id.choice.empty()) {
      LOOM_TRY(std::string path, chosen_file(snapshot, name, id.choice));
      if (!path.empty()) return path;
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
  return fail(Code::NotFound, "{}: no such file or folder, and no model of that id in {}; to fetch it: loom pull {}",
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
