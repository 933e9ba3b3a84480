#include "io/onnx/graph_file.h"

#include "core/file.h"
#include "core/json.h"
#include "core/system.h"
#include "io/byte_reader.h"
#include "io/entity/entity.h"
#include "io/entity/entity_layout.h"
#include "layers/graph/graph_layer.h"

namespace loom {
namespace {

Result<graph::Model> model_of_entity(const EntityReader& reader) {
  LOOM_TRY_VOID(reader.verify());
  LOOM_TRY(const auto spec, reader.section("network"));
  LOOM_TRY(const Json json, parse_json(as_text(spec)));
  const Json* const graph = find(json, "graph");
  const Json* const format = graph != nullptr && graph->is_object() ? find(*graph, "format") : nullptr;
  if (format == nullptr || !format->is_string() || format->get_ref<const std::string&>() != "onnx")
    return fail(Code::CorruptData, "no graph in ONNX's format");
  LOOM_TRY(const auto bytes, reader.section("weights"));
  return parse_onnx(bytes);
}

}  // namespace

Result<graph::Model> read_graph(const Identified& file) {
  if (!file.is_graph() && file.kind != FileKind::Entity)
    return fail(Code::CorruptData, "{}: {}; expected a graph, an ONNX file or an .entity with one", file.path,
                describe(file.kind));
  const auto bytes = file.source->bytes();
  const std::size_t slash = file.path.find_last_of(os::kSeparators);
  const std::string folder = slash == file.path.npos ? "." : file.path.substr(0, slash + 1);
  auto model = file.kind == FileKind::Onnx ? parse_onnx(bytes, {folder}) : parse_graph(bytes);
  if (!model) return at(file.path, std::move(model).error());
  return model;
}

Result<graph::Model> read_graph(const std::string& path) {
  LOOM_TRY(const Identified file, identify(path));
  return read_graph(file);
}

Result<graph::Model> parse_graph(std::span<const std::byte> bytes) {
  if (!as_text(bytes).starts_with(kEntityMagic)) return parse_onnx(bytes);
  LOOM_TRY(const EntityReader reader, EntityReader::parse(bytes));
  return model_of_entity(reader);
}

std::function<Result<graph::Model>(const std::string&)> graphs_in(std::string folder) {
  return [folder = std::move(folder)](const std::string& file) -> Result<graph::Model> {
    LOOM_TRY(const std::string path, path_inside(folder.empty() ? "." : folder, file));
    return read_graph(path);
  };
}

Result<Network> network_of_graph(graph::Model model) {
  auto layer = std::make_unique<GraphLayer>();
  layer->adopt(std::move(model));
  LOOM_TRY_VOID(layer->build());
  const graph::InputInfo& input = layer->model().body.inputs[0];
  std::vector<std::size_t> sample;
  for (std::size_t i = 1; i < input.dims.size() && input.dims[i] > 0; ++i)
    sample.push_back(static_cast<std::size_t>(input.dims[i]));
  LOOM_TRY(Network network, Network::create({}));
  if (!sample.empty() && sample.size() + 1 == input.dims.size()) {
    LOOM_TRY(network.settings.input_shape, Shape::create(sample));
  }
  LOOM_TRY_VOID(network.place({}, std::move(layer)));
  return network;
}

Result<Digest> convert_onnx(const std::string& model, const std::string& output) {
  LOOM_TRY(const auto file, MappedFile::open(model));
  auto parsed = parse_onnx(file->bytes());  // without a folder: the bytes must hold every tensor
  if (!parsed) return at(model, std::move(parsed).error());
  if (auto supported = graph::check_model(*parsed); !supported) return at(model, std::move(supported).error());
  EntityWriter writer;
  LOOM_TRY(std::string spec, dump_canonical(Json{{"graph", {{"format", "onnx"}, {"opset", parsed->opset}}}}));
  LOOM_TRY_VOID(writer.add_text("network", 0, kSectionMandatory, std::move(spec)));
  LOOM_TRY_VOID(writer.add("weights", 0, kSectionMandatory, file->bytes()));
  return writer.write(output);
}

}  // namespace loom
