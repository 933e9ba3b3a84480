#include "host/convert.h"

#include <set>

#include "core/file.h"
#include "core/json.h"
#include "core/system.h"
#include "dtypes/block_formats.h"
#include "io/gguf/gguf_writer.h"
#include "io/network_file.h"
#include "legacy/files/write.h"
#include "lm/language_model.h"
#include "lm/model_entity.h"

namespace loom {
namespace {

Result<std::uint64_t> size_of_file(const std::string& path) {
  const auto file = os::info(path);
  return file ? Result<std::uint64_t>(file->bytes) : os::error(path);
}

Result<std::vector<std::byte>> requantized(const GgufTensor& t, DType dtype, const Stop& stop) {
  LOOM_TRY(const Matrix m, Matrix::from_source(t.dtype, t.bytes, t.dims[0], t.dims[1], {}, nullptr, stop));
  LOOM_TRY(const std::size_t stride, row_bytes(dtype, m.cols()));
  std::vector<std::byte> out(stride * m.rows());
  std::vector<float> row(m.cols());
  StopCheck check(stop);
  for (std::size_t r = 0; r < m.rows() && !check.before(m.cols()); ++r) {
    m.decode_row(r, row.data());
    LOOM_TRY_VOID(encode_row(dtype, row, out.data() + r * stride));
  }
  LOOM_TRY_VOID(check.end());
  return out;
}

}  // namespace

Result<QuantizeFileResult> quantize_file(const std::string& model, const std::string& output,
                                         const QuantizeFileOptions& options) {
  auto opened = GgufFile::open(model);
  if (!opened) return tl::make_unexpected(std::move(opened).error());
  if (!ggml_type(options.dtype))
    return fail(Code::Unsupported,
                "GGUF has no type for {}: expected float32, float16, bfloat16, q8_0, q4_0, q4_1 or tq2_0",
                name(options.dtype));
  const GgufFile& file = *opened;
  GgufWriter writer;
  for (const GgufValue& value : file.metadata()) writer.copy(value);
  QuantizeFileResult result{output, 0, file.tensors().size(), 0, options.dtype};
  for (const GgufTensor& t : file.tensors()) {
    const bool matrix = t.rank == 2 && t.dims[1] % info(options.dtype).block_elements == 0;
    if (!matrix || t.dtype == options.dtype) {
      LOOM_TRY_VOID(writer.add_tensor(t.name, t.dtype, t.shape(), t.bytes));
      continue;
    }
    const auto produce = [&t, &options, &result]() -> Result<std::vector<std::byte>> {
      const auto cancelled = [] { return fail(Code::Cancelled, "interrupted; nothing was written"); };
      ++result.quantized;
      if (options.progress && !options.progress(result.quantized, result.tensors)) return cancelled();
      auto bytes = requantized(t, options.dtype, options.stop);
      if (options.stop && options.stop()) return cancelled();
      if (!bytes) return at(std::string(t.name), std::move(bytes).error());
      return bytes;
    };
    LOOM_TRY_VOID(writer.add_tensor(t.name, options.dtype, t.shape(), produce));
  }
  LOOM_TRY_VOID(writer.write(output));
  LOOM_TRY(result.bytes, size_of_file(output));
  return result;
}

Json to_json(const QuantizeFileResult& r) {
  return {{"output", r.output},
          {"bytes", r.bytes},
          {"tensors", r.tensors},
          {"quantized", r.quantized},
          {"dtype", name(r.dtype)}};
}

namespace {

Result<std::vector<PeftDelta>> read_beside(const std::vector<std::string>& folders, ModelContents& model) {
  std::set<std::string> names;
  for (const PeftDelta& adapter : model.adapters) names.insert(adapter.config().name);
  std::vector<PeftDelta> read;
  for (const std::string& folder : folders) {
    LOOM_TRY(PeftDelta adapter, PeftDelta::read(folder, model.source.config));
    const std::size_t end = folder.find_last_not_of(os::kSeparators) + 1;
    const std::string name = folder.substr(0, end).substr(folder.substr(0, end).find_last_of(os::kSeparators) + 1);
    if (auto renamed = adapter.rename(name); !renamed) return at(folder, std::move(renamed).error());
    if (!names.insert(name).second)
      return fail(Code::InvalidConfig, "{}: the model has adapters named \"{}\"", folder, name);
    // Such an adapter is refused when the file is written.
    if (!adapter.is_fixed())
      if (auto settled = adapter.settle(model.source); !settled) return at(folder, std::move(settled).error());
    read.push_back(std::move(adapter));
  }
  return read;
}

}  // namespace

Result<ConvertModelResult> convert_model(const std::string& model, const std::string& output,
                                         const ConvertModelOptions& options) {
  ModelEntityOptions entity;
  entity.threads = options.threads, entity.dtype = options.dtype;
  entity.progress = options.progress, entity.stop = options.stop;
  LOOM_TRY(ModelContents contents, read_model(model));
  std::optional<PeftDelta> adapter;
  double share = 1;
  if (!options.adapter.empty()) {
    LOOM_TRY(adapter, PeftDelta::read(options.adapter, contents.source.config));
    if (auto settled = adapter->settle_to_merge(contents.source); !settled)
      return at(options.adapter, std::move(settled).error());
    entity.adapter = &*adapter, entity.adapter_share = &share;
  }
  LOOM_TRY(const std::vector<PeftDelta> beside, read_beside(options.beside, contents));
  entity.beside = beside;
  ConvertModelResult result{output, 0, contents.source.tensors.size(), {}, {}};
  LOOM_TRY(result.root, write_model_entity(output, contents, entity));
  if (adapter) result.adapter_share = share;
  LOOM_TRY(const auto written, MappedFile::open(output));
  result.bytes = written->bytes().size();
  return result;
}

namespace {

// A checkpoint has the weights in their types alone.
std::vector<std::string> masters_of(const Network& network) {
  std::vector<std::string> lost;
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    const bool is_exact = w.role() != WeightRole::Matrix || w.dtype() == DType::float32 || w.dtype() == DType::float64;
    if (w.has_master() && !is_exact) lost.push_back(path + ": its exact master");
  });
  return lost;
}

Result<Digest> write_version_1(const std::string& output, const Network& network, bool allow_loss,
                               std::vector<std::string>& losses) {
  LOOM_TRY(auto written, loom08::write_entity(network, {allow_loss}));
  LOOM_TRY_VOID(write_file_atomically(output, written.bytes));
  losses = std::move(written.losses);
  Sha256 hash;
  hash.update(written.bytes);
  return hash.finish();
}

}  // namespace

Result<ConvertNetworkResult> convert_network(const std::string& input, const std::string& output,
                                             const ConvertNetworkOptions& options) {
  const bool is_json = output.ends_with(".json");
  if (!is_json && !output.ends_with(".entity"))
    return fail(Code::Unsupported, "{}: a network becomes FILE.entity or FILE.json", output);
  LOOM_TRY(const SpecResult loaded, load_network(input));
  ConvertNetworkResult result{output, 0, {}, loaded.warnings};
  if (!is_json && options.entity_version == 1) {
    std::vector<std::string> losses;
    LOOM_TRY(result.hash, write_version_1(output, loaded.network, options.allow_loss, losses));
    result.losses.insert(result.losses.end(), losses.begin(), losses.end());
  } else {
    if (is_json)
      for (std::string& line : masters_of(loaded.network)) result.losses.push_back(std::move(line));
    if (!result.losses.empty() && !options.allow_loss)
      return fail(Code::LossySave, "{}: not kept: {}{}", output, result.losses[0],
                  result.losses.size() == 1 ? "" : fmt::format(", and {} more", result.losses.size() - 1));
    LOOM_TRY(result.hash, save_network(output, loaded.network, {.keep_master = true}));
  }
  LOOM_TRY(result.bytes, size_of_file(output));
  return result;
}

Json to_json(const ConvertNetworkResult& r) {
  return {{"output", r.output}, {"bytes", r.bytes}, {"hash", to_hex(r.hash)}, {"losses", r.losses}};
}

Json to_json(const ConvertModelResult& r) {
  Json out{{"output", r.output}, {"bytes", r.bytes}, {"tensors", r.tensors}, {"root_hash", to_hex(r.root)}};
  if (r.adapter_share) out["adapter_share"] = *r.adapter_share;
  return out;
}

}  // namespace loom
