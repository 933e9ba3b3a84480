#include "lm/peft.h"

#include <bit>
#include <cmath>
#include <map>

#include "core/file.h"
#include "core/folder.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "core/nearest.h"
#include "io/safetensors/safetensors.h"
#include "layers/adapter.h"

namespace loom {
namespace {

struct Target {
  std::string_view name;
  TensorRole role;
};
constexpr Target kTargets[] = {{"q_proj", TensorRole::Q},       {"k_proj", TensorRole::K},
                               {"v_proj", TensorRole::V},       {"o_proj", TensorRole::O},
                               {"gate_proj", TensorRole::Gate}, {"up_proj", TensorRole::Up},
                               {"down_proj", TensorRole::Down}};
constexpr std::int64_t kMostRank = 65536;
constexpr std::string_view kPrefix = "base_model.model.", kWeight = ".weight",
                           kHalves[2] = {".lora_A.weight", ".lora_B.weight"};

// "model.layers.3.self_attn.q_proj"
std::string module_name(const TensorPlace& place) {
  std::string name = hf_name(place);
  name.resize(name.size() - kWeight.size());
  return name;
}

// The name of lora_A or lora_B beside a matrix.
std::string half_name(const TensorPlace& place, int half) {
  return fmt::format("{}{}{}", kPrefix, module_name(place), kHalves[half]);
}

// The writer points to bytes that are added to `kept`.
Result<void> add_half(SafetensorsWriter& writer, const TensorPlace& place, int half, std::size_t rows, std::size_t cols,
                      std::span<const float> values, std::vector<std::vector<std::byte>>& kept) {
  std::vector<std::byte>& bytes = kept.emplace_back(values.size() * 4);
  for (std::size_t k = 0; k < values.size(); ++k)
    store_le(bytes.data() + k * 4, std::bit_cast<std::uint32_t>(values[k]));
  return writer.add(half_name(place, half), DType::float32, {rows, cols}, bytes);
}

// f(target, its place, weight, its path) for every matrix of the blocks that an adapter may stand beside, by block and
// target.
template <class F>
void each_matrix(const DecoderModel& model, F&& f) {
  std::map<std::string, Weight*> weights;
  model.network.visit_weights([&](const std::string& path, Weight& w, Layer&) { weights[path] = &w; });
  for (std::int64_t layer = 0; layer < model.config.num_hidden_layers; ++layer)
    for (const Target& target : kTargets) {
      const TensorPlace tensor{target.role, layer};
      const NetworkPlace place = place_in_network(model.config, tensor);
      const std::string path = place.path + "." + place.weight;
      if (const auto found = weights.find(path); found != weights.end()) f(target, tensor, *found->second, path);
    }
}

Adapter* adapter_named(Weight& w, std::string_view name) {
  for (Adapter& adapter : w.adapters())
    if (adapter.name == name) return &adapter;
  return nullptr;
}

Result<std::vector<float>> values_of(const SafeTensor& t, std::size_t rows, std::size_t cols) {
  if (t.shape != std::vector<std::size_t>{rows, cols})
    return fail(Code::ShapeMismatch, "{}: {} axes, {} x {} expected", t.name, t.shape.size(), rows, cols);
  if (t.dtype != DType::float32 && t.dtype != DType::float16 && t.dtype != DType::bfloat16)
    return fail(Code::Unsupported, "{}: {} values, a float of 16 or 32 bits expected", t.name, name(t.dtype));
  auto matrix = Matrix::from_source(t.dtype, t.bytes, rows, cols);
  if (!matrix) return at(t.name, std::move(matrix).error());
  std::vector<float> values(rows * cols);
  for (std::size_t r = 0; r < rows; ++r) matrix->decode_row(r, values.data() + r * cols);
  return values;
}

Result<Json> read_config(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path, std::size_t{1} << 20));
  auto json = parse_json(text);
  if (!json) return at(path, std::move(json).error());
  return json;
}

Result<PeftConfig> parse_config(const std::string& path, const std::string& name) {
  LOOM_TRY(const Json json, read_config(path));
  const auto text = [&](std::string_view key) {
    return find(json, key) == nullptr ? nullptr : as_string(*find(json, key));
  };
  const auto flag = [&](std::string_view key) {
    return find(json, key) != nullptr && as_bool(*find(json, key)).value_or(false);
  };
  if (const std::string* type = text("peft_type"); type == nullptr || *type != "LORA")
    return fail(Code::Unsupported, "{}: peft_type LORA expected", path);
  if (const std::string* bias = text("bias"); bias != nullptr && *bias != "none")
    return fail(Code::Unsupported, "{}: trained biases", path);
  if (flag("use_dora") || flag("fan_in_fan_out"))
    return fail(Code::Unsupported, "{}: use_dora or fan_in_fan_out", path);
  for (const std::string_view key : {"rank_pattern", "alpha_pattern", "modules_to_save"})
    if (const Json* value = find(json, key); value != nullptr && !value->is_null() && !value->empty())
      return fail(Code::Unsupported, "{}: {}", path, key);
  PeftConfig config;
  config.name = name;
  const Json *rank = find(json, "r"), *alpha = find(json, "lora_alpha");
  const std::int64_t r = rank == nullptr ? 0 : as_int(*rank).value_or(0);
  const double a = alpha == nullptr ? 0 : as_number(*alpha).value_or(0);
  if (r < 1 || r > kMostRank || a == 0)
    return fail(Code::CorruptData, "{}: r from 1 to {} and lora_alpha expected", path, kMostRank);
  config.rank = static_cast<std::size_t>(r);
  // Rank-stabilised adapters are scaled by alpha / sqrt(r).
  config.alpha = flag("use_rslora") ? a * std::sqrt(static_cast<double>(r)) : a;
  config.targets.clear();
  return config;
}

}  // namespace

Result<void> add_peft(DecoderModel& model, const PeftConfig& config, std::uint64_t seed) {
  for (const std::string& wanted : config.targets)
    if (std::ranges::none_of(kTargets, [&](const Target& t) { return t.name == wanted; }))
      return fail(Code::UnknownName,
                  "target \"{}\" is not known; known: q_proj k_proj v_proj o_proj gate_proj up_proj down_proj",
                  printable(wanted));
  model.network.visit_weights([](const std::string&, Weight& w, Layer&) { w.freeze(true); });
  std::optional<Error> error;
  each_matrix(model, [&](const Target& target, const TensorPlace&, Weight& w, const std::string& path) {
    if (error || std::ranges::find(config.targets, target.name) == config.targets.end()) return;
    const auto attach = [&]() -> Result<void> {
      if (const std::size_t most = std::min(w.rows(), w.cols()); config.rank > most)
        return fail(Code::InvalidArgument, "rank {} for a matrix of {} x {}, at most {} is of use", config.rank,
                    w.rows(), w.cols(), most);
      LOOM_TRY_VOID(attach_adapter(w, {config.name, "", config.rank, config.alpha, true}));
      Adapter& adapter = w.adapters().back();
      LOOM_TRY_VOID(adapter.a.initialise(adapter.a.initial(), seed, random_site(path + "." + config.name + ".a")));
      return adapter.b.initialise(adapter.b.initial(), seed, random_site(path + "." + config.name + ".b"));
    };
    if (auto done = attach(); !done) error = std::move(done.error().in_source(path));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return model.network.prepare(Shape::of({1}));
}

Result<PeftConfig> load_peft(DecoderModel& model, const std::string& folder, const std::string& name) {
  LOOM_TRY(PeftDelta delta, PeftDelta::read(folder, model.config));
  LOOM_TRY_VOID(delta.rename(name));
  if (auto loaded = load_peft(model, delta); !loaded)
    return loaded.error().code == Code::InvalidConfig ? tl::make_unexpected(std::move(loaded).error())
                                                      : at(folder, std::move(loaded).error());
  return delta.config();
}

Result<void> load_peft(DecoderModel& model, const PeftDelta& delta) {
  const PeftConfig& config = delta.config();
  for (const PeftInfo& other : list_peft(model))
    if (other.name == config.name)
      return fail(Code::InvalidConfig, "the model has adapters named \"{}\"", printable(config.name));
  std::optional<Error> error;
  each_matrix(model, [&](const Target&, const TensorPlace& place, Weight& w, const std::string& path) {
    const PeftDelta::Pair* const pair = error ? nullptr : delta.find(place);
    if (pair == nullptr) return;
    const auto attach = [&]() -> Result<void> {
      LOOM_TRY_VOID(pair->check_shape(w.rows(), w.cols()));
      LOOM_TRY_VOID(attach_adapter(w, {config.name, "", config.rank, config.alpha, true}));
      LOOM_TRY_VOID(w.adapters().back().a.set(std::span<const float>(pair->a)));
      return w.adapters().back().b.set(std::span<const float>(pair->b));
    };
    if (auto done = attach(); !done) error = std::move(done.error().in_source(path));
  });
  if (error) {
    (void)drop_peft(model, config.name);
    return tl::make_unexpected(*std::move(error));
  }
  return model.network.prepare(Shape::of({1}));
}

Result<PeftDelta> PeftDelta::read(const std::string& folder, const ModelConfig& model) {
  LOOM_TRY(PeftConfig config, parse_config(folder + "/adapter_config.json", ""));
  LOOM_TRY(const SafetensorsFile file, SafetensorsFile::open(folder + "/adapter_model.safetensors"));
  auto delta = from_tensors(file, std::move(config), model);
  if (!delta) return at(folder, std::move(delta).error());
  return delta;
}

Result<PeftDelta> PeftDelta::parse(std::span<const std::byte> bytes, const ModelConfig& model) {
  LOOM_TRY(const SafetensorsFile file, SafetensorsFile::parse(bytes));
  const auto number = [&](const char* key) -> std::optional<Json> {
    const auto found = file.metadata().find(key);
    auto json = found == file.metadata().end() ? Result<Json>(Json()) : parse_json(found->second);
    return json && json->is_number() ? std::optional<Json>(std::move(*json)) : std::nullopt;
  };
  const auto rank = number("r"), alpha = number("lora_alpha");
  const auto name = file.metadata().find("name");
  PeftConfig config;
  const std::int64_t r = rank ? as_int(*rank).value_or(0) : 0;
  config.alpha = alpha ? as_number(*alpha).value_or(0) : 0;
  if (r < 1 || r > kMostRank || config.alpha == 0 || name == file.metadata().end() || !is_adapter_name(name->second))
    return fail(Code::CorruptData, "an adapter's name, r from 1 to {} and lora_alpha expected in its metadata",
                kMostRank);
  config.name = name->second, config.rank = static_cast<std::size_t>(r);
  return from_tensors(file, std::move(config), model);
}

Result<PeftDelta> PeftDelta::from_tensors(const SafetensorsFile& file, PeftConfig config, const ModelConfig& model) {
  PeftDelta delta;
  config.targets.clear();
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer)
    for (const Target& target : kTargets) {
      Pair pair;
      pair.place = {target.role, layer};
      const std::string name = module_name(pair.place);
      const SafeTensor *a = file.tensor(half_name(pair.place, 0)), *b = file.tensor(half_name(pair.place, 1));
      if (a == nullptr && b == nullptr) continue;
      if (a == nullptr || b == nullptr)
        return fail(Code::CorruptData, "{}: only one of lora_A and lora_B is there", name);
      if (a->shape.size() != 2 || b->shape.size() != 2)
        return fail(Code::ShapeMismatch, "{}: lora_A and lora_B have two axes", name);
      pair.cols = a->shape[1], pair.rows = b->shape[0];
      LOOM_TRY(pair.a, values_of(*a, config.rank, pair.cols));
      LOOM_TRY(pair.b, values_of(*b, pair.rows, config.rank));
      delta.pairs_.push_back(std::move(pair));
      if (std::ranges::find(config.targets, target.name) == config.targets.end())
        config.targets.emplace_back(target.name);
    }
  delta.config_ = std::move(config);
  if (2 * delta.pairs_.size() == file.tensors().size()) return delta;
  for (const SafeTensor& t : file.tensors()) {
    std::string_view name = t.name;
    for (const std::string_view half : kHalves)
      if (name.ends_with(half)) name.remove_suffix(half.size());
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    const auto place = place_from_hf(std::string(name) + std::string(kWeight));
    if (!place || delta.find(*place) == nullptr)
      return fail(Code::Unsupported, "tensor {} has no counterpart in this model", printable(t.name));
  }
  return fail(Code::CorruptData, "more tensors than pairs of lora_A and lora_B");
}

Result<std::vector<std::byte>> PeftDelta::to_bytes() const {
  SafetensorsWriter writer;
  writer.set_metadata("name", config_.name);
  writer.set_metadata("r", fmt::format("{}", config_.rank));
  writer.set_metadata("lora_alpha", dump_json(Json(config_.alpha)));
  std::vector<std::vector<std::byte>> kept;
  for (const Pair& pair : pairs_) {
    LOOM_TRY_VOID(add_half(writer, pair.place, 0, config_.rank, pair.cols, pair.a, kept));
    LOOM_TRY_VOID(add_half(writer, pair.place, 1, pair.rows, config_.rank, pair.b, kept));
  }
  return writer.to_bytes();
}

Result<void> PeftDelta::rename(const std::string& name) {
  if (!is_adapter_name(name))
    return fail(Code::InvalidConfig, "\"{}\" is no name of an adapter: 1 to 64 letters, digits, \"_\" and \"-\"",
                printable(name));
  config_.name = name;
  return {};
}

Result<void> PeftDelta::Pair::check_shape(std::size_t weight_rows, std::size_t weight_cols) const {
  if (rows == weight_rows && cols == weight_cols) return {};
  return fail(Code::ShapeMismatch, "{}: adapters for {} x {}, the weight is {} x {}", hf_name(place), rows, cols,
              weight_rows, weight_cols);
}

const PeftDelta::Pair* PeftDelta::find(const TensorPlace& place) const {
  const auto found = std::ranges::find(pairs_, place, &Pair::place);
  return found == pairs_.end() ? nullptr : &*found;
}

Result<void> PeftDelta::add_to(const TensorPlace& place, std::size_t rows, std::size_t cols, std::span<float> w) const {
  const Pair* const pair = find(place);
  if (pair == nullptr) return {};
  LOOM_TRY_VOID(pair->check_shape(rows, cols));
  const std::size_t rank = config_.rank;
  const double scale = config_.alpha / static_cast<double>(rank);
  std::vector<double> sums(cols);
  for (std::size_t r = 0; r < rows; ++r) {
    std::ranges::fill(sums, 0.0);
    for (std::size_t k = 0; k < rank; ++k) {
      const auto b = static_cast<double>(pair->b[r * rank + k]);
      for (std::size_t c = 0; c < cols; ++c) sums[c] += b * static_cast<double>(pair->a[k * cols + c]);
    }
    for (std::size_t c = 0; c < cols; ++c)
      w[r * cols + c] = static_cast<float>(static_cast<double>(w[r * cols + c]) + scale * sums[c]);
  }
  return {};
}

Result<void> save_peft(const DecoderModel& model, const PeftConfig& config, const std::string& folder,
                       const std::string& base_model) {
  SafetensorsWriter writer;
  writer.set_metadata("format", "pt");
  std::vector<std::vector<std::byte>> kept;
  Result<void> added;
  each_matrix(model, [&](const Target&, const TensorPlace& place, Weight& w, const std::string&) {
    Adapter* adapter = adapter_named(w, config.name);
    if (adapter == nullptr || !added) return;
    for (int i = 0; i < 2 && added; ++i) {
      const Weight& half = i == 0 ? adapter->a : adapter->b;
      std::vector<float> values(half.elements());
      half.decode(0, values.size(), values.data());
      added = add_half(writer, place, i, half.shape()[0], half.shape()[1], values, kept);
    }
  });
  LOOM_TRY_VOID(added);
  if (kept.empty()) return fail(Code::NotFound, "the model has no adapters named \"{}\"", config.name);
  LOOM_TRY_VOID(create_folders(folder));
  const Json json{{"peft_type", "LORA"},
                  {"task_type", "CAUSAL_LM"},
                  {"base_model_name_or_path", base_model},
                  {"r", config.rank},
                  {"lora_alpha", config.alpha},
                  {"lora_dropout", 0.0},
                  {"target_modules", config.targets},
                  {"bias", "none"},
                  {"fan_in_fan_out", false},
                  {"inference_mode", true}};
  const std::string text = dump_json(json, 2) + "\n";
  LOOM_TRY_VOID(writer.write(folder + "/adapter_model.safetensors"));
  return write_file_atomically(folder + "/adapter_config.json", std::as_bytes(std::span(text)));
}

Result<void> enable_peft(DecoderModel& model, const std::string& name, bool enabled) {
  bool found = false;
  each_matrix(model, [&](const Target&, const TensorPlace&, Weight& w, const std::string&) {
    if (Adapter* adapter = adapter_named(w, name)) adapter->enabled = enabled, found = true;
  });
  if (!found) return fail(Code::NotFound, "the model has no adapters named \"{}\"", printable(name));
  return {};
}

Result<void> drop_peft(DecoderModel& model, const std::string& name) {
  std::size_t dropped = 0;
  each_matrix(model, [&](const Target&, const TensorPlace&, Weight& w, const std::string&) {
    dropped += std::erase_if(w.adapters(), [&](const Adapter& adapter) { return adapter.name == name; });
  });
  if (dropped == 0) return fail(Code::NotFound, "the model has no adapters named \"{}\"", printable(name));
  return model.network.prepare(Shape::of({1}));
}

std::vector<PeftInfo> list_peft(const DecoderModel& model) {
  std::vector<PeftInfo> all;
  each_matrix(model, [&](const Target&, const TensorPlace&, Weight& w, const std::string&) {
    for (const Adapter& adapter : w.adapters()) {
      auto found = std::ranges::find(all, adapter.name, &PeftInfo::name);
      if (found == all.end()) {
        const std::size_t rank = adapter.a.shape()[0];
        found = all.insert(all.end(),
                           {adapter.name, adapter.enabled, rank, 0, 0, adapter.scale * static_cast<double>(rank)});
      }
      ++found->matrices, found->parameters += adapter.a.elements() + adapter.b.elements();
    }
  });
  return all;
}

}  // namespace loom
