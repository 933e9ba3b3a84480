#include "io/network_tensors.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/json.h"
#include "network/spec/clone.h"

namespace loom {
namespace network_tensors {
namespace {

bool stores_plainly(DType dtype) {
  return dtype == DType::float64 || dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

std::vector<std::size_t> shape_of(const Weight& w) { return {w.shape().extents().begin(), w.shape().extents().end()}; }

// The codes of a weight whose type is a plain float.
Result<QuantizedMatrix> codes_of(const std::string& path, const Weight& w) {
  if (!w.has_value()) return fail_at(path_steps(path), Code::NoValue, "the weight has no value");
  auto codes = w.quantized();
  if (!codes) return at(path, std::move(codes).error());
  const bool has_factors = std::ranges::any_of(codes->scales, [](double s) { return s != 1; });
  if (stores_plainly(codes->dtype) && !has_factors) return codes;
  return fail_at(path_steps(path), Code::Unsupported,
                 "{} weights have scales that safetensors lacks; --dequantize writes their values as float32, .entity "
                 "keeps them",
                 name(codes->dtype));
}

}  // namespace
}  // namespace network_tensors

Result<std::size_t> save_network_tensors(const std::string& path, const Network& given,
                                         const TensorExportOptions& options) {
  std::optional<Network> wide;  // the same in float32
  if (options.dequantize) {
    LOOM_TRY(wide, clone_network(given));
    std::optional<Error> error;
    wide->visit_weights([&](const std::string& place, Weight& w, Layer&) {
      if (error || network_tensors::stores_plainly(w.dtype())) return;
      if (auto done = w.ensure_master(); !done) error = std::move(done.error().in_source(place));
    });
    if (error) return tl::make_unexpected(*std::move(error));
    LOOM_TRY_VOID(wide->morph_all(DType::float32));
  }
  const Network& network = wide ? *wide : given;
  std::vector<QuantizedMatrix> kept;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> places;
  std::optional<Error> error;
  network.visit_weights([&](const std::string& place, const Weight& w, const Layer&) {
    if (error) return;
    auto codes = network_tensors::codes_of(place, w);
    if (!codes) {
      error = std::move(codes).error();
      return;
    }
    kept.push_back(std::move(*codes));
    places.emplace_back(place, network_tensors::shape_of(w));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  SafetensorsWriter writer;
  for (std::size_t i = 0; i < kept.size(); ++i)
    LOOM_TRY_VOID(writer.add(places[i].first, kept[i].dtype, places[i].second, kept[i].codes));
  LOOM_TRY(std::string spec, dump_canonical(network_to_json(network)));
  writer.set_metadata("format", "pt");
  writer.set_metadata(kNetworkMetadata, std::move(spec));
  LOOM_TRY_VOID(writer.write(path));
  return kept.size();
}

bool holds_network(const SafetensorsFile& file) { return file.metadata().contains(kNetworkMetadata); }

Result<SpecResult> network_from_tensors(const SafetensorsFile& file, const SpecOptions& options) {
  const auto spec = file.metadata().find(kNetworkMetadata);
  if (spec == file.metadata().end())
    return fail(Code::NotFound, "__metadata__ holds no {}, the spec of a network", kNetworkMetadata);
  SpecOptions reading = options;
  reading.initialise = false;
  auto result = network_from_json(std::string_view(spec->second), reading);
  if (!result) return at(std::string("__metadata__/") + kNetworkMetadata, std::move(result).error());
  std::size_t used = 0;
  std::optional<Error> error;
  const auto restore = [&](const std::string& path, Weight& w, const Layer& layer) -> Result<void> {
    const SafeTensor* tensor = file.tensor(path);
    if (tensor == nullptr) return fail(Code::NotFound, "the file has no such tensor");
    if (!std::ranges::equal(tensor->shape, w.shape().extents()))
      return fail(Code::ShapeMismatch, "shape [{}] in the file, {} in the network", fmt::join(tensor->shape, ", "),
                  w.shape().text());
    QuantizedMatrix codes;
    codes.dtype = tensor->dtype, codes.rows = w.rows(), codes.cols = w.cols(), codes.span = {Granularity::Tensor};
    if (!network_tensors::stores_plainly(codes.dtype))
      return fail(Code::CorruptData, "type {}: expected float64, float32, float16 or bfloat16", name(codes.dtype));
    if (w.role() == WeightRole::Matrix && codes.dtype != layer.common.encoding.dtype)
      return fail(Code::CorruptData, "{} in the file, the network says {}", name(codes.dtype),
                  name(layer.common.encoding.dtype));
    codes.codes.assign(tensor->bytes.begin(), tensor->bytes.end());
    ++used;
    return w.restore(codes, layer.common.encoding);
  };
  result->network.visit_weights([&](const std::string& path, Weight& w, const Layer& layer) {
    if (error) return;
    if (auto done = restore(path, w, layer); !done) error = std::move(done.error().in_source(path));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  if (used != file.tensors().size())
    return fail(Code::CorruptData, "{} of {} tensors belong to no weight of the network", file.tensors().size() - used,
                file.tensors().size());
  return result;
}

}  // namespace loom
