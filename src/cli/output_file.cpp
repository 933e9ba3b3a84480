#include "cli/output_file.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/file.h"
#include "core/json.h"
#include "io/entity/entity.h"
#include "io/loom08/loom08.h"
#include "io/onnx/graph_file.h"
#include "io/safetensors/safetensors.h"
#include "lm/model_entity.h"

namespace loom::cli {
namespace {

using Reads = bool (*)(const std::string& path, std::string_view text);

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
bool holds_network(const std::string& path, std::string_view text) {
  if (loom08::is_entity(std::as_bytes(std::span(text)))) return true;
  if (const auto reader = EntityReader::open(path))
    return reader->find("network") != nullptr && reader->find("train") == nullptr && !is_model_entity(path) &&
           !is_graph_entity(path);
  const auto json = parse_json(text);
  return json && find(*json, "layers") != nullptr;
}

struct Kind {
  OutputKind kind;
  const char* name;
  Reads reads;  // whether a file is of this kind
};
constexpr Kind kKinds[] = {
    {OutputKind::model, "language model in an .entity file",
     [](const std::string& path, std::string_view) { return is_model_entity(path); }},
    {OutputKind::kv, "prompt in an .entity file",
     [](const std::string& path, std::string_view) {
       const auto file = EntityReader::open(path);
       return file && file->find("kvcache") != nullptr && file->sections().size() == 1;
     }},
    {OutputKind::graph, "graph in an .entity file",
     [](const std::string& path, std::string_view) { return is_graph_entity(path); }},
    {OutputKind::tensors, "JSON object of tensors",
     [](const std::string&, std::string_view text) { return text.starts_with("{\"") && text.find(":[") != text.npos; }},
    {OutputKind::gguf, "GGUF file", [](const std::string&, std::string_view text) { return text.starts_with("GGUF"); }},
    {OutputKind::svg, "SVG picture",
     [](const std::string&, std::string_view text) { return text.starts_with("<svg"); }},
    {OutputKind::html, "HTML page",
     [](const std::string&, std::string_view text) { return text.starts_with("<!doctype html"); }},
    {OutputKind::npy, "NPY file",
     [](const std::string&, std::string_view text) { return text.starts_with("\x93NUMPY"); }},
    {OutputKind::tensor, "JSON list of numbers",
     [](const std::string&, std::string_view text) { return is_tensor(text); }},
    {OutputKind::network, "network", holds_network},
    // begins with its version, then the name of the program that wrote it
    {OutputKind::onnx, "ONNX model",
     [](const std::string&, std::string_view text) { return text.starts_with("\x08") && text.substr(2, 1) == "\x12"; }},
    {OutputKind::safetensors, "safetensors file",
     [](const std::string&, std::string_view text) {
       return SafetensorsFile::parse(std::as_bytes(std::span(text))).has_value();
     }},
};

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat x{}, y{};
  return ::stat(a.c_str(), &x) == 0 && ::stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

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
  const std::string_view there(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (!wanted.reads(path, there))
    return fail(Code::InvalidArgument, "{}: exists and is no {}; not overwritten without --overwrite", path,
                wanted.name);
  return {};
}

}  // namespace loom::cli
