// Reads adapters: folders as PEFT writes them, and sections of an .entity.

#include <cmath>
#include <map>

#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "io/safetensors/safetensors.h"
#include "layers/adapter.h"
#include "lm/peft.h"
#include "lm/peft_names.h"

namespace loom {
namespace {

std::string extents_text(std::span<const std::size_t> shape) {
  return shape.empty() ? std::string("one value") : fmt::format("{}", fmt::join(shape, " x "));
}

// A float tensor of that shape.
Result<std::vector<float>> values_of(const SafeTensor& t, const std::vector<std::size_t>& shape) {
  if (t.shape != shape)
    return fail(Code::ShapeMismatch, "{} is {}, expected {}", t.name, extents_text(t.shape), extents_text(shape));
  if (t.dtype != DType::float32 && t.dtype != DType::float16 && t.dtype != DType::bfloat16)
    return fail(Code::Unsupported, "{}: {} values, a float of 16 or 32 bits expected", t.name, name(t.dtype));
  const std::size_t cols = shape.back(), rows = shape.size() == 1 ? 1 : shape[0];
  auto matrix = Matrix::from_source(t.dtype, t.bytes, rows, cols);
  if (!matrix) return at(t.name, std::move(matrix).error());
  std::vector<float> values(rows * cols);
  for (std::size_t r = 0; r < rows; ++r) matrix->decode_row(r, values.data() + r * cols);
  return values;
}

std::vector<float> transposed(const std::vector<float>& m, std::size_t rows, std::size_t cols) {
  std::vector<float> out(m.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) out[c * rows + r] = m[r * cols + c];
  return out;
}

std::optional<TensorRole> bias_of(TensorRole matrix) {
  switch (matrix) {
    case TensorRole::Q: return TensorRole::QBias;
    case TensorRole::K: return TensorRole::KBias;
    case TensorRole::V: return TensorRole::VBias;
    case TensorRole::O: return TensorRole::OBias;
    case TensorRole::Gate: return TensorRole::GateBias;
    case TensorRole::Up: return TensorRole::UpBias;
    case TensorRole::Down: return TensorRole::DownBias;
    default: return std::nullopt;
  }
}

}  // namespace

class PeftFolder {
 public:
  // `settings` null: a section, whose scales are given.
  PeftFolder(const ModelConfig& model, const LoraSettings* settings) : model_(model), settings_(settings) {}

  std::map<std::string, double> scales;  // of a section with several, by module

  Result<PeftDelta> read(const SafetensorsFile& file, PeftConfig config) {
    delta_.config_ = std::move(config);
    delta_.config_.targets.clear();
    for (const SafeTensor& t : file.tensors()) LOOM_TRY_VOID(sort(t));
    for (const PeftTarget& target : adapter_places(model_)) {
      const auto found = modules_.find(module_name(target.place));
      if (found == modules_.end()) continue;
      LOOM_TRY_VOID(read_module(target, found->first, found->second));
      modules_.erase(found);
    }
    if (!modules_.empty())
      return fail(Code::Unsupported, "tensor {} has no counterpart in this model",
                  printable(modules_.begin()->second.tensors.begin()->second->name));
    if (settings_ != nullptr) LOOM_TRY_VOID(check_saved());
    return std::move(delta_);
  }

 private:
  // The part that the end of a tensor's name stands for.
  enum class Part : std::uint8_t { A, B, BiasOfB, EmbeddingA, EmbeddingB, Magnitude, Tokens, Base, BaseBias, Own };
  struct Suffix {
    std::string_view text;
    Part part;
  };
  static constexpr Suffix kSuffixes[] = {{".lora_A.weight", Part::A},
                                         {".lora_B.weight", Part::B},
                                         {".lora_B.bias", Part::BiasOfB},
                                         {".lora_embedding_A", Part::EmbeddingA},
                                         {".lora_embedding_B", Part::EmbeddingB},
                                         {".lora_magnitude_vector", Part::Magnitude},
                                         {".lora_magnitude_vector.weight", Part::Magnitude},
                                         {".token_adapter.trainable_tokens_delta", Part::Tokens},
                                         {".base_layer.weight", Part::Base},
                                         {".base_layer.bias", Part::BaseBias}};
  // The tensors of one matrix.
  struct Parts {
    std::map<Part, const SafeTensor*> tensors;
    const SafeTensor* get(Part part) const {
      const auto found = tensors.find(part);
      return found == tensors.end() ? nullptr : found->second;
    }
  };

  // Puts a tensor to its module, or among the changes.
  Result<void> sort(const SafeTensor& t) {
    std::string plain = t.name;
    // bias "all" also writes the biases of modules_to_save, under the names that they have inside of PEFT.
    constexpr std::string_view kSaved = ".modules_to_save.", kReplaced = ".original_module.";
    if (plain.find(kReplaced) != plain.npos) return {};
    if (const std::size_t at = plain.find(kSaved); at != plain.npos) {
      const std::size_t end = plain.find('.', at + kSaved.size());
      if (end != plain.npos) plain.erase(at, end - at);
    }
    std::string_view rest = plain;
    if (rest.starts_with(kPeftPrefix)) rest.remove_prefix(kPeftPrefix.size());
    for (const Suffix& suffix : kSuffixes)
      if (rest.ends_with(suffix.text)) {
        rest.remove_suffix(suffix.text.size());
        if (!modules_[std::string(rest)].tensors.emplace(suffix.part, &t).second)
          return fail(Code::CorruptData, "{}: the file has this tensor twice", printable(t.name));
        return {};
      }
    const auto place = place_from_hf(rest);
    if (!place || place->layer >= model_.num_hidden_layers || settings_ == nullptr)
      return fail(Code::Unsupported, "tensor {} has no counterpart in this model", printable(t.name));
    LOOM_TRY(const bool saved, is_saved(*place));
    return change(t, *place, false, saved);
  }

  Result<bool> is_saved(const TensorPlace& place) const {
    if (settings_ == nullptr) return false;
    return settings_->is_saved(module_name(place));
  }

  Result<void> change(const SafeTensor& t, const TensorPlace& place, bool is_base, bool is_saved) {
    if (settings_ == nullptr) return fail(Code::CorruptData, "{}: a section holds halves of adapters alone", t.name);
    PeftDelta::Change to{place, expected_shape(model_, place.role), {}, {}, false, is_base, is_saved};
    LOOM_TRY(to.values, values_of(t, to.shape));
    delta_.changes_.push_back(std::move(to));
    return {};
  }

  Result<void> read_module(const PeftTarget& target, const std::string& module, const Parts& parts) {
    const TensorPlace& place = target.place;
    if (const SafeTensor* base = parts.get(Part::Base)) LOOM_TRY_VOID(change(*base, place, true, false));
    if (const SafeTensor* bias = parts.get(Part::BaseBias)) {
      const auto role = bias_of(place.role);
      if (!role) return fail(Code::Unsupported, "{}: a bias that this model cannot have", bias->name);
      LOOM_TRY_VOID(change(*bias, {*role, place.layer}, false, false));
    }
    if (const SafeTensor* tokens = parts.get(Part::Tokens)) LOOM_TRY_VOID(read_tokens(place, module, *tokens));
    const bool embeds = place.role == TensorRole::Embedding;
    const SafeTensor *a = parts.get(embeds ? Part::EmbeddingA : Part::A),
                     *b = parts.get(embeds ? Part::EmbeddingB : Part::B);
    for (const Part part : {Part::A, Part::B, Part::EmbeddingA, Part::EmbeddingB, Part::BiasOfB, Part::Magnitude})
      if (const SafeTensor* t = parts.get(part); t != nullptr && t != a && t != b)
        if ((part != Part::BiasOfB && part != Part::Magnitude) || a == nullptr || b == nullptr)
          return fail(Code::CorruptData, "{}: the two halves of an adapter of {} expected beside it",
                      printable(t->name), module);
    if (a == nullptr && b == nullptr) return {};
    if (a == nullptr || b == nullptr)
      return fail(Code::CorruptData, "{}: expected both A and B, got one of them", module);
    LOOM_TRY_VOID(read_pair(place, module, *a, *b));
    if (std::ranges::find(delta_.config_.targets, target.name) == delta_.config_.targets.end())
      delta_.config_.targets.emplace_back(target.name);
    return read_extras(module, parts);
  }

  Result<void> read_pair(const TensorPlace& place, const std::string& module, const SafeTensor& a,
                         const SafeTensor& b) {
    PeftDelta::Pair pair;
    pair.place = place;
    const std::vector<std::size_t> shape = expected_shape(model_, place.role);
    pair.rows = shape[0], pair.cols = shape[1];
    if (a.shape.size() != 2) return fail(Code::ShapeMismatch, "{}: {} axes, 2 expected", a.name, a.shape.size());
    LOOM_TRY_VOID(read_scale(module, a.shape[0], pair));
    if (place.role == TensorRole::Embedding) {  // an embedding looks up rows of A's transpose
      LOOM_TRY(const auto of_tokens, values_of(a, {pair.rank, pair.rows}));
      LOOM_TRY(const auto of_features, values_of(b, {pair.cols, pair.rank}));
      pair.b = transposed(of_tokens, pair.rank, pair.rows);
      pair.a = transposed(of_features, pair.cols, pair.rank);
    } else {
      LOOM_TRY(pair.a, values_of(a, {pair.rank, pair.cols}));
      LOOM_TRY(pair.b, values_of(b, {pair.rows, pair.rank}));
    }
    delta_.pairs_.push_back(std::move(pair));
    return {};
  }

  Result<void> read_scale(const std::string& module, std::size_t rank_of_a, PeftDelta::Pair& pair) {
    pair.rank = delta_.config_.rank, pair.alpha = delta_.config_.alpha;
    if (settings_ == nullptr) {
      if (scales.empty()) return {};
      const auto found = scales.find(module);
      if (found == scales.end()) return fail(Code::CorruptData, "{}: no scale in the section's metadata", module);
      pair.rank = rank_of_a, pair.alpha = found->second * static_cast<double>(rank_of_a);
      return {};
    }
    LOOM_TRY(const bool targeted, settings_->has_adapter(module));
    if (!targeted && !(pair.place.role == TensorRole::Head && settings_->keeps_tie && model_.tie_word_embeddings))
      return fail(Code::CorruptData,
                  "the file has an adapter of {}, but target_modules, exclude_modules, layers_to_transform and "
                  "modules_to_save of adapter_config.json leave it out",
                  module);
    LOOM_TRY(pair.rank, settings_->rank_of(module));
    LOOM_TRY(pair.alpha, settings_->alpha_of(module, pair.rank));
    // PEFT starts tables of tokens like plain LoRA, whatever the setting.
    if (pair.place.role != TensorRole::Embedding) pair.start = settings_->start;
    return {};
  }

  // DoRA's magnitudes and the bias of B.
  Result<void> read_extras(const std::string& module, const Parts& parts) {
    PeftDelta::Pair& pair = delta_.pairs_.back();
    const SafeTensor *magnitude = parts.get(Part::Magnitude), *bias = parts.get(Part::BiasOfB);
    const bool dora = settings_ != nullptr && settings_->dora, biased = settings_ != nullptr && settings_->bias_of_b;
    if (dora != (magnitude != nullptr))
      return fail(Code::CorruptData, "{}: use_dora is {}, lora_magnitude_vector is {}", module, dora,
                  magnitude != nullptr ? "there" : "missing");
    if (biased != (bias != nullptr))
      return fail(Code::CorruptData, "{}: lora_bias is {}, lora_B.bias is {}", module, biased,
                  bias != nullptr ? "there" : "missing");
    if (magnitude != nullptr) {
      const bool by_column = pair.place.role == TensorRole::Embedding;
      LOOM_TRY(pair.magnitude, values_of(*magnitude, {by_column ? pair.cols : pair.rows}));
    }
    if (bias == nullptr) return {};
    const auto role = bias_of(pair.place.role);
    if (!role) return fail(Code::Unsupported, "{}: {} cannot have a bias", bias->name, module);
    PeftDelta::Change to{{*role, pair.place.layer}, {pair.rows}, {}, {}, true};
    LOOM_TRY(to.values, values_of(*bias, to.shape));
    for (float& v : to.values) v = static_cast<float>(static_cast<double>(v) * pair.scale());
    delta_.changes_.push_back(std::move(to));
    return {};
  }

  Result<void> read_tokens(const TensorPlace& place, const std::string& module, const SafeTensor& t) {
    const auto* const tokens = settings_ == nullptr ? nullptr : &settings_->trainable_tokens;
    const auto found = tokens == nullptr ? decltype(tokens->end()){} : tokens->find(module);
    if (tokens == nullptr || found == tokens->end())
      return fail(Code::CorruptData, "{}: trainable_token_indices of adapter_config.json does not name {}", t.name,
                  module);
    if (place.role == TensorRole::Head && model_.tie_word_embeddings)
      return fail(Code::Unsupported, "{}: trained rows of a head that is tied to the embedding", t.name);
    PeftDelta::Change to{place, expected_shape(model_, place.role), {}, found->second};
    LOOM_TRY(to.values, values_of(t, {to.rows.size(), to.shape[1]}));
    for (const std::int64_t row : to.rows)
      if (row >= model_.vocab_size)
        return fail(Code::IndexOutOfRange, "trainable_token_indices: {} is outside the vocabulary of {}", row,
                    model_.vocab_size);
    delta_.changes_.push_back(std::move(to));
    return {};
  }

  // Checks that the file has the tensors that the configuration promises.
  Result<void> check_saved() const {
    const auto has_change = [&](const TensorPlace& place) {
      return std::ranges::any_of(delta_.changes_, [&](const auto& c) { return c.place == place; });
    };
    std::vector<TensorPlace> all = expected_tensors(model_);
    all.push_back({TensorRole::Head, -1});
    std::vector<std::string> unused = settings_->modules_to_save;
    for (const TensorPlace& place : all) {
      LOOM_TRY(const bool saved, is_saved(place));
      if (saved && !has_change(place))
        return fail(Code::NotFound, "modules_to_save names {}, but the file has no tensor for it", hf_name(place));
      if (saved) unused.clear();
    }
    if (!unused.empty())
      return fail(Code::Unsupported, "modules_to_save: {} has no counterpart in this model", printable(unused[0]));
    for (const auto& [module, rows] : settings_->trainable_tokens)
      if (const auto place = place_from_hf(module + ".weight"); !rows.empty() && !(place && has_change(*place)))
        return fail(Code::NotFound, "trainable_token_indices names {}, but the file has no rows for it", module);
    const bool is_table_changed =
        std::ranges::any_of(delta_.changes_,
                            [](const auto& c) { return c.place.role == TensorRole::Embedding && c.is_saved; }) ||
        delta_.find({TensorRole::Embedding, -1}) != nullptr;
    const TensorPlace head{TensorRole::Head, -1};
    if (settings_->keeps_tie && model_.tie_word_embeddings && is_table_changed && !has_change(head) &&
        delta_.find(head) == nullptr)
      return fail(Code::CorruptData, "ensure_weight_tying is true, but the file holds nothing for lm_head");
    return {};
  }

  const ModelConfig& model_;
  const LoraSettings* settings_;
  std::map<std::string, Parts> modules_;
  PeftDelta delta_;
};

Result<PeftDelta> PeftDelta::read(const std::string& folder, const ModelConfig& model) {
  LOOM_TRY(const LoraSettings settings, LoraSettings::read(folder, model));
  LOOM_TRY(const SafetensorsFile file, SafetensorsFile::open(folder + "/adapter_model.safetensors"));
  const double stretch = settings.rank_stabilised ? std::sqrt(static_cast<double>(settings.rank)) : 1;
  PeftConfig config{"", settings.rank, settings.alpha * stretch, {}};
  auto delta = PeftFolder(model, &settings).read(file, std::move(config));
  if (!delta) return at(folder, std::move(delta).error());
  return delta;
}

Result<PeftDelta> PeftDelta::parse(std::span<const std::byte> bytes, const ModelConfig& model) {
  LOOM_TRY(const SafetensorsFile file, SafetensorsFile::parse(bytes));
  const auto value = [&](const char* key) {
    const auto found = file.metadata().find(key);
    auto json = found == file.metadata().end() ? Result<Json>(Json()) : parse_json(found->second);
    return json ? std::move(*json) : Json();
  };
  const auto name = file.metadata().find("name");
  PeftConfig config;
  const std::int64_t r = as_int(value("r")).value_or(0);
  config.alpha = as_number(value("lora_alpha")).value_or(0);
  PeftFolder section(model, nullptr);
  const Json scales = value("scales");
  bool are_numbers = scales.is_null() || (scales.is_object() && !scales.empty());
  if (scales.is_object())
    for (const auto& [module, scale] : *scales.get_ptr<const Json::object_t*>()) {
      are_numbers = are_numbers && as_number(scale);
      section.scales[module] = as_number(scale).value_or(0);
    }
  const bool is_scaled = scales.is_null() ? r >= 1 && r <= 65536 && config.alpha != 0 : are_numbers;
  if (!is_scaled || name == file.metadata().end() || !is_adapter_name(name->second))
    return fail(Code::CorruptData,
                "an adapter's name, and r from 1 to 65536 and lora_alpha or scales, expected in its metadata");
  config.name = name->second, config.rank = static_cast<std::size_t>(r);
  LOOM_TRY(PeftDelta delta, section.read(file, std::move(config)));
  if (r < 1 && !delta.pairs_.empty())
    delta.config_.rank = delta.pairs_[0].rank, delta.config_.alpha = delta.pairs_[0].alpha;
  return delta;
}

}  // namespace loom
