#include "lm/peft.h"

#include <bit>
#include <cmath>
#include <map>
#include <optional>

#include "core/file.h"
#include "core/folder.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "core/nearest.h"
#include "dtypes/panel_pages.h"
#include "io/safetensors/safetensors.h"
#include "layers/adapter.h"
#include "lm/peft_names.h"

namespace loom {

namespace {
constexpr PeftTarget kTargets[] = {{"q_proj", {TensorRole::Q}},       {"k_proj", {TensorRole::K}},
                                   {"v_proj", {TensorRole::V}},       {"o_proj", {TensorRole::O}},
                                   {"gate_proj", {TensorRole::Gate}}, {"up_proj", {TensorRole::Up}},
                                   {"down_proj", {TensorRole::Down}}};
}  // namespace

std::vector<PeftTarget> adapter_places(const ModelConfig& model) {
  std::vector<PeftTarget> all;
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer)
    for (const PeftTarget& target : kTargets) all.push_back({target.name, {target.place.role, layer}});
  all.push_back({"embed_tokens", {TensorRole::Embedding}});
  all.push_back({"lm_head", {TensorRole::Head}});
  return all;
}

std::string module_name(const TensorPlace& place) {
  const std::string name = hf_name(place);
  return name.substr(0, name.rfind('.'));
}

std::string half_name(const TensorPlace& place, int half) {
  constexpr std::string_view kHalves[2][2] = {{".lora_A.weight", ".lora_B.weight"},
                                              {".lora_embedding_A", ".lora_embedding_B"}};
  return fmt::format("{}{}{}", kPeftPrefix, module_name(place), kHalves[place.role == TensorRole::Embedding][half]);
}

namespace {

// Adds A and B of a matrix as PEFT names and lays them out; the writer points to bytes that are added to `kept`.
Result<void> add_halves(SafetensorsWriter& writer, const PeftDelta::Pair& pair,
                        std::vector<std::vector<std::byte>>& kept) {
  const bool embeds = pair.place.role == TensorRole::Embedding;  // PEFT's halves of a table are the other way round
  for (int half = 0; half < 2; ++half) {
    const bool is_a = (half == 0) != embeds;
    const std::vector<float>& values = is_a ? pair.a : pair.b;
    const std::size_t rows = is_a ? pair.rank : pair.rows, cols = is_a ? pair.cols : pair.rank;
    std::vector<std::byte>& bytes = kept.emplace_back(values.size() * 4);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c)
        store_le(bytes.data() + (embeds ? c * rows + r : r * cols + c) * 4,
                 std::bit_cast<std::uint32_t>(values[r * cols + c]));
    const std::vector<std::size_t> shape = embeds ? std::vector{cols, rows} : std::vector{rows, cols};
    LOOM_TRY_VOID(writer.add(half_name(pair.place, half), DType::float32, shape, bytes));
  }
  return {};
}

// f(target, weight, its path) for every matrix that an adapter may stand beside, in the order of adapter_places().
template <class F>
void each_matrix(const DecoderModel& model, F&& f) {
  std::map<std::string, Weight*> weights;
  model.network.visit_weights([&](const std::string& path, Weight& w, Layer&) { weights[path] = &w; });
  for (const PeftTarget& target : adapter_places(model.config)) {
    const NetworkPlace place = place_in_network(model.config, target.place);
    const std::string path = place.path + "." + place.weight;
    if (const auto found = weights.find(path); found != weights.end()) f(target, *found->second, path);
  }
}

Adapter* adapter_named(Weight& w, std::string_view name) {
  for (Adapter& adapter : w.adapters())
    if (adapter.name == name) return &adapter;
  return nullptr;
}

Result<void> refuse_fixed(const DecoderModel& model, std::string_view name) {
  if (std::ranges::find(model.fixed_adapters, name) == model.fixed_adapters.end()) return {};
  return fail(
      Code::Unsupported,
      "adapter \"{}\" changed the model's own tensors on load and cannot be taken away; load the model without it",
      printable(name));
}

// Returns whether one r and lora_alpha describe every pair.
bool is_uniform(const PeftConfig& config, std::span<const PeftDelta::Pair> pairs) {
  return std::ranges::all_of(pairs,
                             [&](const auto& pair) { return pair.rank == config.rank && pair.alpha == config.alpha; });
}

// Reads matrices of a model that is built.
PeftDelta::BaseMatrix base_matrices(const DecoderModel& model) {
  return [&model](const TensorPlace& place) -> Result<std::vector<float>> {
    std::vector<float> values;
    std::optional<Error> error;
    each_matrix(model, [&](const PeftTarget& target, Weight& w, const std::string&) {
      if (!(target.place == place)) return;
      const auto held = PanelHold::take(*w.matrix());
      if (!held) return void(error = held.error());
      values.resize(w.elements());
      w.decode(0, values.size(), values.data());
    });
    if (error) return tl::make_unexpected(*std::move(error));
    return values;
  };
}

}  // namespace

Result<void> add_peft(DecoderModel& model, const PeftConfig& config, std::uint64_t seed) {
  for (const std::string& wanted : config.targets)
    if (std::ranges::none_of(kTargets, [&](const PeftTarget& t) { return t.name == wanted; }))
      return fail(Code::UnknownName,
                  "target \"{}\" is not known; known: q_proj k_proj v_proj o_proj gate_proj up_proj down_proj",
                  printable(wanted));
  model.network.visit_weights([](const std::string&, Weight& w, Layer&) { w.freeze(true); });
  std::optional<Error> error;
  each_matrix(model, [&](const PeftTarget& target, Weight& w, const std::string& path) {
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
  return model.plan_again();
}

Result<PeftConfig> load_peft(DecoderModel& model, const std::string& folder, const std::string& name) {
  LOOM_TRY(PeftDelta delta, PeftDelta::read(folder, model.config));
  LOOM_TRY_VOID(delta.rename(name));
  if (auto taken = delta.take_start(base_matrices(model)); !taken) return at(folder, std::move(taken).error());
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
  std::size_t attached = 0;
  each_matrix(model, [&](const PeftTarget& target, Weight& w, const std::string& path) {
    const PeftDelta::Pair* const pair = error ? nullptr : delta.find(target.place);
    if (pair == nullptr) return;
    const auto attach = [&]() -> Result<void> {
      LOOM_TRY_VOID(pair->check_shape(w.rows(), w.cols()));
      LOOM_TRY_VOID(attach_adapter(w, {config.name, "", pair->rank, pair->alpha, true}));
      LOOM_TRY_VOID(w.adapters().back().a.set(std::span<const float>(pair->a)));
      return w.adapters().back().b.set(std::span<const float>(pair->b));
    };
    if (w.is_tied()) return;  // counted below
    if (auto done = attach(); !done) error = std::move(done.error().in_source(path));
    ++attached;
  });
  if (!error && attached != delta.pairs().size())
    error = Error{Code::Unsupported,
                  "an adapter of a head that is tied to the embedding is given when the model is loaded (--adapter)"};
  if (error) {
    (void)drop_peft(model, config.name);
    return tl::make_unexpected(*std::move(error));
  }
  return model.plan_again();
}

Result<std::vector<std::byte>> PeftDelta::to_bytes() const {
  if (is_fixed())
    return fail(Code::Unsupported,
                "the adapter changes the model's own tensors ({}) and cannot be kept beside them; merge it "
                "(loom convert MODEL OUT.entity --adapter FOLDER)",
                hf_name(places()[0]));
  SafetensorsWriter writer;
  writer.set_metadata("name", config_.name);
  if (is_uniform(config_, pairs_)) {
    writer.set_metadata("r", fmt::format("{}", config_.rank));
    writer.set_metadata("lora_alpha", dump_json(Json(config_.alpha)));
  } else {
    Json scales = Json::object();
    for (const Pair& pair : pairs_) scales[module_name(pair.place)] = pair.scale();
    writer.set_metadata("scales", dump_json(scales));
  }
  std::vector<std::vector<std::byte>> kept;
  for (const Pair& pair : pairs_) LOOM_TRY_VOID(add_halves(writer, pair, kept));
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
  const std::size_t rank = pair->rank;
  const double scale = pair->scale();
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

namespace {

// The settings of pairs: one r and lora_alpha, and patterns for the modules that differ from them.
Json settings_of(const PeftConfig& config, std::span<const PeftDelta::Pair> pairs, const std::string& base_model) {
  Json ranks = Json::object(), alphas = Json::object();
  for (const PeftDelta::Pair& pair : pairs) {
    std::string pattern = "^";
    for (const char c : module_name(pair.place)) pattern += c == '.' ? std::string("\\.") : std::string(1, c);
    if (pair.rank != config.rank) ranks[pattern] = pair.rank;
    if (pair.alpha != config.alpha) alphas[pattern] = pair.alpha;
  }
  Json json{{"peft_type", "LORA"},
            {"task_type", "CAUSAL_LM"},
            {"base_model_name_or_path", base_model},
            {"r", config.rank},
            {"lora_alpha", config.alpha},
            {"lora_dropout", 0.0},
            {"target_modules", config.targets},
            {"bias", "none"},
            {"fan_in_fan_out", false},
            {"inference_mode", true}};
  if (!ranks.empty()) json["rank_pattern"] = std::move(ranks);
  if (!alphas.empty()) json["alpha_pattern"] = std::move(alphas);
  return json;
}

}  // namespace

Result<void> save_peft(const DecoderModel& model, const PeftConfig& config, const std::string& folder,
                       const std::string& base_model) {
  SafetensorsWriter writer;
  writer.set_metadata("format", "pt");
  LOOM_TRY_VOID(refuse_fixed(model, config.name));
  std::vector<PeftDelta::Pair> pairs;
  each_matrix(model, [&](const PeftTarget& target, Weight& w, const std::string&) {
    const Adapter* const adapter = adapter_named(w, config.name);
    if (adapter == nullptr) return;
    PeftDelta::Pair pair{target.place, w.rows(), w.cols(), adapter->a.shape()[0], 0, {}, {}};
    pair.alpha = adapter->scale * static_cast<double>(pair.rank);
    // The scale of the run's own adapters is that of its settings, whatever the division rounds to.
    if (pair.rank == config.rank && config.alpha / static_cast<double>(config.rank) == adapter->scale)
      pair.alpha = config.alpha;
    pair.a.resize(adapter->a.elements()), pair.b.resize(adapter->b.elements());
    adapter->a.decode(0, pair.a.size(), pair.a.data());
    adapter->b.decode(0, pair.b.size(), pair.b.data());
    pairs.push_back(std::move(pair));
  });
  if (pairs.empty()) return fail(Code::NotFound, "the model has no adapters named \"{}\"", config.name);
  std::vector<std::vector<std::byte>> kept;
  for (const PeftDelta::Pair& pair : pairs) LOOM_TRY_VOID(add_halves(writer, pair, kept));
  LOOM_TRY_VOID(create_folders(folder));
  const std::string text = dump_json(settings_of(config, pairs, base_model), 2) + "\n";
  LOOM_TRY_VOID(writer.write(folder + "/adapter_model.safetensors"));
  return write_file_atomically(folder + "/adapter_config.json", std::as_bytes(std::span(text)));
}

Result<void> drop_peft(DecoderModel& model, const std::string& name) {
  std::size_t dropped = 0;
  LOOM_TRY_VOID(refuse_fixed(model, name));
  each_matrix(model, [&](const PeftTarget&, Weight& w, const std::string&) {
    dropped += std::erase_if(w.adapters(), [&](const Adapter& adapter) { return adapter.name == name; });
  });
  if (dropped == 0) return fail(Code::NotFound, "the model has no adapters named \"{}\"", printable(name));
  return model.plan_again();
}

std::vector<PeftInfo> list_peft(const DecoderModel& model) {
  std::vector<PeftInfo> all;
  each_matrix(model, [&](const PeftTarget&, Weight& w, const std::string&) {
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
  for (const std::string& name : model.fixed_adapters)
    if (std::ranges::find(all, name, &PeftInfo::name) == all.end()) all.push_back({name, true});
  return all;
}

}  // namespace loom
