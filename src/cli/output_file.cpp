#include "cli/output_file.h"

#include <algorithm>

#include "core/file.h"
#include "core/json.h"
#include "core/system.h"
#include "io/identify.h"

namespace loom::cli {
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
  bool (*is)(FileKind found, std::string_view text);  // whether a file is of this kind
};
template <FileKind kind>
bool is_one(FileKind found, std::string_view) {
  return found == kind;
}
constexpr Kind kKinds[] = {
    {OutputKind::model, "language model in an .entity file", is_one<FileKind::ModelEntity>},
    {OutputKind::kv, "prompt in an .entity file", is_one<FileKind::PromptEntity>},
    {OutputKind::graph, "graph in an .entity file", is_one<FileKind::GraphEntity>},
    {OutputKind::tensors, "JSON object of tensors",
     [](FileKind, std::string_view text) { return text.starts_with("{\"") && text.find(":[") != text.npos; }},
    {OutputKind::gguf, "GGUF file", is_one<FileKind::Gguf>},
    {OutputKind::svg, "SVG picture", [](FileKind, std::string_view text) { return text.starts_with("<svg"); }},
    {OutputKind::html, "HTML page", [](FileKind, std::string_view text) { return text.starts_with("<!doctype html"); }},
    {OutputKind::npy, "NPY file", is_one<FileKind::Npy>},
    {OutputKind::tensor, "JSON list of numbers", [](FileKind, std::string_view text) { return is_tensor(text); }},
    {OutputKind::network, "network", holds_a_network},
    {OutputKind::onnx, "ONNX model", is_one<FileKind::Onnx>},
    {OutputKind::safetensors, "safetensors file", is_one<FileKind::Safetensors>},
};

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) { return os::is_same_file(a, b); }

void add_overwrite(CLI::App& app, bool& overwrite) {
  app.add_flag("--overwrite", overwrite, "Replace a file of another kind, or what is read, too");
}

Result<void> check_output(const std::string& path, OutputKind kind, bool overwrite,
                          std::initializer_list<std::string_view> inputs) {
  if (overwrite || !is_file(path)) return {};
  for (const std::string_view input : inputs)
    if (is_same_file(path, std::string(input)))
      return fail(Code::InvalidArgument, "{}: is what is read; not overwritten without --overwrite", path);
  const Kind& wanted = *std::ranges::find(kKinds, kind, &Kind::kind);
  LOOM_TRY(const auto file, MappedFile::open(path));
  if (file->bytes().empty()) return {};
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  LOOM_TRY(const FileKind found, kind_of(file->bytes(), ""));  // the name says nothing about what it holds
  if (!wanted.is(found, text))
    return fail(Code::InvalidArgument, "{}: exists and is no {}; not overwritten without --overwrite", path,
                wanted.name);
  return {};
}

}  // namespace loom::cli
