#include "io/output_file.h"

#include <algorithm>

#include "core/file.h"
#include "core/json.h"
#include "core/system.h"
#include "io/identify.h"

namespace loom {
namespace {

// A tensor as a JSON list: other lists, as messages, hold objects.
bool is_tensor(std::string_view text) {
  const std::size_t first = text.find_first_not_of("[ \t\r\n");
  if (!text.starts_with('[') || first == text.npos) return false;
  constexpr std::string_view kWords[] = {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""};
  const std::string_view value = text.substr(first);
  return value[0] == '-' || (value[0] >= '0' && value[0] <= '9') ||
         std::ranges::any_of(kWords, [&](std::string_view word) { return value.starts_with(word); });
}

// Neither a language model nor a checkpoint, which holds more than a network; of JSON a spec.
bool holds_a_network(FileKind found, std::string_view text) {
  if (found != FileKind::Json) return found == FileKind::NetworkEntity || found == FileKind::Loom08Entity;
  const auto json = parse_json(text);
  return json && find(*json, "layers") != nullptr;
}

struct Kind {
  OutputKind kind;
  const char* name;
  std::string_view endings[2];                        // that its files are expected to have
  bool (*is)(FileKind found, std::string_view text);  // whether a file is of this kind
};
template <FileKind kind>
bool is_one(FileKind found, std::string_view) {
  return found == kind;
}
constexpr Kind kKinds[] = {
    {OutputKind::model, "language model in an .entity file", {".entity"}, is_one<FileKind::ModelEntity>},
    {OutputKind::kv, "prompt in an .entity file", {".entity"}, is_one<FileKind::PromptEntity>},
    {OutputKind::graph, "graph in an .entity file", {".entity"}, is_one<FileKind::GraphEntity>},
    {OutputKind::tensors,
     "JSON object of tensors",
     {".json"},
     [](FileKind, std::string_view text) { return text.starts_with("{\"") && text.find(":[") != text.npos; }},
    {OutputKind::gguf, "GGUF file", {".gguf"}, is_one<FileKind::Gguf>},
    {OutputKind::svg,
     "SVG picture",
     {".svg"},
     [](FileKind, std::string_view text) { return text.starts_with("<svg"); }},
    {OutputKind::html,
     "HTML page",
     {".html", ".htm"},
     [](FileKind, std::string_view text) { return text.starts_with("<!doctype html"); }},
    {OutputKind::npy, "NPY file", {".npy"}, is_one<FileKind::Npy>},
    {OutputKind::tensor,
     "JSON list of numbers",
     {".json"},
     [](FileKind, std::string_view text) { return is_tensor(text); }},
    {OutputKind::network, "network", {".entity", ".json"}, holds_a_network},
    {OutputKind::onnx, "ONNX model", {".onnx"}, is_one<FileKind::Onnx>},
    {OutputKind::safetensors, "safetensors file", {".safetensors"}, is_one<FileKind::Safetensors>},
};

// Endings of formats that Loom reads only, or not at all.
constexpr std::string_view kOthers[] = {".npz", ".csv", ".tsv", ".pt", ".pth", ".pkl", ".h5", ".keras"};

}  // namespace

std::string ending_of(const std::string& path) {
  const std::size_t dot = path.find_last_of("./\\");
  if (dot == path.npos || path[dot] != '.') return {};
  std::string ending = path.substr(dot);
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return ending;
}

Result<void> check_ending(const std::string& path, OutputKind kind) {
  const std::string ending = ending_of(path);
  if (ending.empty()) return {};
  const Kind& wanted = *std::ranges::find(kKinds, kind, &Kind::kind);
  const auto has_it = [&](const Kind& k) { return std::ranges::find(k.endings, ending) != std::end(k.endings); };
  const bool is_known = std::ranges::any_of(kKinds, has_it) || std::ranges::find(kOthers, ending) != std::end(kOthers);
  if (!is_known || has_it(wanted)) return {};
  return fail(Code::InvalidArgument, "{}: a file that ends in {} is no {}; expected {}{}{}", path, ending, wanted.name,
              wanted.endings[0], wanted.endings[1].empty() ? "" : " or ", wanted.endings[1]);
}

Result<void> check_output(const std::string& path, OutputKind kind, bool overwrite,
                          std::initializer_list<std::string_view> inputs, std::string_view option) {
  if (overwrite || !is_file(path)) return check_ending(path, kind);
  for (const std::string_view input : inputs)
    if (os::is_same_file(path, std::string(input)))
      return fail(Code::InvalidArgument, "{}: is what is read; not overwritten without {}", path, option);
  const Kind& wanted = *std::ranges::find(kKinds, kind, &Kind::kind);
  LOOM_TRY(const auto file, MappedFile::open(path));
  if (file->bytes().empty()) return check_ending(path, kind);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  LOOM_TRY(const FileKind found, kind_of(file->bytes(), ""));  // the name says nothing about what it holds
  if (!wanted.is(found, text))
    return fail(Code::InvalidArgument, "{}: exists and is no {}; not overwritten{}{}", path, wanted.name,
                option.empty() ? ": remove it first" : " without ", option);
  return check_ending(path, kind);
}

}  // namespace loom
