// config.json of transformers. Every key is one that is honoured, one that cannot change a number, or an error: a model
// that is silently read wrong is worse than one that is refused.

#include <algorithm>
#include <array>

#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "lm/model_config.h"

namespace loom {
namespace {

constexpr const char* kSupported = "llama, mistral, qwen2, qwen3, bitnet";

// Defaults of transformers' configuration classes for keys that a config.json leaves out.
struct Family {
  std::string_view type, model_class;
  std::int64_t num_key_value_heads = 0;  // 0: as many as heads
  std::int64_t sliding_window = -1;      // -1: the family has none
  // use_sliding_window, max_window_layers and layer_types choose; otherwise every layer slides
  bool slides_by_layer = false;
  double rms_norm_eps = 1e-6, rope_theta = 10000;
  std::int64_t bos_token_id = -1, eos_token_id = -1;  // -1: none
  const char* hidden_act = "silu";
};
constexpr Family kFamilies[] = {
    {.type = "llama", .model_class = "LlamaForCausalLM", .bos_token_id = 1, .eos_token_id = 2},
    {.type = "mistral",
     .model_class = "MistralForCausalLM",
     .num_key_value_heads = 8,
     .sliding_window = 4096,
     .bos_token_id = 1,
     .eos_token_id = 2},
    {.type = "qwen2",
     .model_class = "Qwen2ForCausalLM",
     .num_key_value_heads = 32,
     .sliding_window = 4096,
     .slides_by_layer = true},
    {.type = "qwen3",
     .model_class = "Qwen3ForCausalLM",
     .num_key_value_heads = 32,
     .sliding_window = 4096,
     .slides_by_layer = true},
    {.type = "bitnet",
     .model_class = "BitNetForCausalLM",
     .num_key_value_heads = 5,
     .rms_norm_eps = 1e-5,
     .rope_theta = 500000,
     .bos_token_id = 128000,
     .eos_token_id = 128001,
     .hidden_act = "relu2"},
};

// Honoured below.
constexpr std::string_view kHonoured[] = {"model_type",
                                          "architectures",
                                          "hidden_size",
                                          "intermediate_size",
                                          "num_hidden_layers",
                                          "num_attention_heads",
                                          "num_key_value_heads",
                                          "head_dim",
                                          "vocab_size",
                                          "max_position_embeddings",
                                          "rms_norm_eps",
                                          "rope_theta",
                                          "rope_scaling",
                                          "rope_parameters",
                                          "partial_rotary_factor",
                                          "sliding_window",
                                          "use_sliding_window",
                                          "max_window_layers",
                                          "layer_types",
                                          "attention_bias",
                                          "mlp_bias",
                                          "tie_word_embeddings",
                                          "hidden_act",
                                          "bos_token_id",
                                          "eos_token_id",
                                          "pad_token_id"};

// Training, bookkeeping, execution and default sampling: no effect on logits.
constexpr std::string_view kIgnorable[] = {"torch_dtype",
                                           "dtype",
                                           "transformers_version",
                                           "_name_or_path",
                                           "name_or_path",
                                           "_model_name_or_path",
                                           "_commit_hash",
                                           "model_max_length",
                                           "max_sequence_length",
                                           "use_flash_attention",
                                           "use_flash_attention_2",
                                           "use_flash_attn",
                                           "gradient_checkpointing",
                                           "use_cache",
                                           "initializer_range",
                                           "pretraining_tp",
                                           "attention_dropout",
                                           "hidden_dropout",
                                           "tokenizer_class",
                                           "_attn_implementation",
                                           "_attn_implementation_autoset",
                                           "attn_implementation",
                                           "id2label",
                                           "label2id",
                                           "problem_type",
                                           "task_specific_params",
                                           "finetuning_task",
                                           "torchscript",
                                           "use_bfloat16",
                                           "return_dict",
                                           "output_attentions",
                                           "output_hidden_states",
                                           "is_llama_config",
                                           "transformers.js_config",
                                           "unsloth_version",
                                           "unsloth_fixed",
                                           "chunk_size_feed_forward",
                                           "decoder_start_token_id",
                                           "sep_token_id",
                                           "prefix",
                                           "tf_legacy_loss",
                                           "do_sample",
                                           "early_stopping",
                                           "length_penalty",
                                           "max_length",
                                           "min_length",
                                           "num_beams",
                                           "num_beam_groups",
                                           "temperature",
                                           "top_k",
                                           "top_p",
                                           "typical_p",
                                           "repetition_penalty",
                                           "no_repeat_ngram_size",
                                           "encoder_no_repeat_ngram_size",
                                           "num_return_sequences",
                                           "diversity_penalty",
                                           "exponential_decay_length_penalty",
                                           "suppress_tokens",
                                           "begin_suppress_tokens",
                                           "bad_words_ids",
                                           "forced_bos_token_id",
                                           "forced_eos_token_id",
                                           "output_scores",
                                           "return_dict_in_generate",
                                           "remove_invalid_values",
                                           "unk_token_id"};

// Options that are off: other values change numbers.
constexpr std::string_view kMustBeOff[] = {"is_decoder",
                                           "is_encoder_decoder",
                                           "add_cross_attention",
                                           "tie_encoder_decoder",
                                           "rope_interleaved",
                                           "pruned_heads",
                                           "cross_attention_hidden_size",
                                           "use_mrope",
                                           "bias",
                                           "use_qk_norm",
                                           "num_experts"};
constexpr std::string_view kMustBeOn[] = {"is_causal"};

template <std::size_t N>
bool contains(const std::string_view (&list)[N], std::string_view key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

bool is_off(const Json& value) {
  return value.is_null() || as_bool(value) == false || value == Json(0) ||
         ((value.is_object() || value.is_array()) && value.empty());
}

// The published BitNet folder names Python files of its own, which define what transformers has by the same names.
bool names_bitnet_classes(const Json& auto_map) {
  const auto ends_with = [](const Json& v, std::string_view end) {
    const std::string* text = as_string(v);
    return text != nullptr && text->size() > end.size() &&
           text->compare(text->size() - end.size(), end.size(), end) == 0;
  };
  const auto* entries = auto_map.get_ptr<const Json::object_t*>();
  if (entries == nullptr) return false;
  for (const auto& [key, value] : *entries)
    if (!(key == "AutoConfig" && ends_with(value, ".BitNetConfig")) &&
        !(key == "AutoModelForCausalLM" && ends_with(value, ".BitNetForCausalLM")))
      return false;
  return true;
}

Result<void> check_keys(const Json& config, const std::string& type) {
  for (const auto& [key, value] : *config.get_ptr<const Json::object_t*>()) {
    if (value.is_null() || contains(kHonoured, key) || contains(kIgnorable, key)) continue;
    if (type == "bitnet" && (key == "quantization_config" || (key == "auto_map" && names_bitnet_classes(value))))
      continue;
    if (key == "quantization_config" || key == "auto_map")
      return fail_at({key}, Code::Unsupported, "{} is not supported",
                     key == "auto_map" ? "a model with its own Python code" : "a quantised Hugging Face checkpoint");
    const bool must_be_on = contains(kMustBeOn, key);
    if (!must_be_on && !contains(kMustBeOff, key))
      return fail_at({printable(key)}, Code::UnknownKey,
                     "unknown key; it might change results, so the model is refused");
    if (must_be_on ? as_bool(value) != true : !is_off(value))
      return fail_at({key}, Code::Unsupported, "{} is not supported", shown(value));
  }
  return {};
}

// Typed reads of one object's members. A missing or null member leaves `to` as it is, unless it is required.
class Fields {
 public:
  Fields(const Json& object, Steps place) : object_(object), place_(std::move(place)) {}

  const Json* get(const char* key) const {
    const Json* value = find(object_, key);
    return value && !value->is_null() ? value : nullptr;
  }
  Result<void> integer(const char* key, std::int64_t& to, bool required = false) const {
    return read(key, to, required, "an integer",
                [](const Json& v) { return v.is_number_integer() ? as_int(v) : std::nullopt; });
  }
  Result<void> number(const char* key, double& to, bool required = false) const {
    return read(key, to, required, "a number", [](const Json& v) { return as_number(v); });
  }
  Result<void> boolean(const char* key, bool& to) const {
    return read(key, to, false, "true or false", [](const Json& v) { return as_bool(v); });
  }
  Result<void> text(const char* key, std::string& to, bool required = false) const {
    return read(key, to, required, "a string",
                [](const Json& v) { return as_string(v) ? std::optional(*as_string(v)) : std::nullopt; });
  }

 private:
  template <class T, class Read>
  Result<void> read(const char* key, T& to, bool required, const char* what, Read as) const {
    const Json* value = get(key);
    if (!value && !required) return {};
    const auto found = value ? as(*value) : std::nullopt;
    if (found) {
      to = *found;
      return {};
    }
    Steps place = place_;
    place.emplace_back(key);
    return fail_at(std::move(place), Code::InvalidConfig, "{}", value ? expected(what, *value) : "is missing");
  }
  const Json& object_;
  Steps place_;
};

Result<void> check_architecture(const Json& config, const Family& family) {
  const Json* list = find(config, "architectures");
  if (!list || list->is_null()) return {};
  if (!list->is_array() || list->size() != 1 || !as_string((*list)[0]) || *as_string((*list)[0]) != family.model_class)
    return fail_at({"architectures"}, Code::Unsupported, "{}",
                   expected(fmt::format("[\"{}\"]", family.model_class), *list));
  return {};
}

// "linear", "llama3", "yarn" with their numbers; anything else changes angles in a way that is not implemented.
Result<void> read_rope(const Json& rope, const char* key_of_it, ModelConfig& c) {
  const Steps place = {key_of_it};
  if (!rope.is_object()) return fail_at(place, Code::InvalidConfig, "{}", expected("an object", rope));
  const Fields in(rope, place);
  std::string type = "default";
  LOOM_TRY_VOID(in.text("type", type));  // the older name
  LOOM_TRY_VOID(in.text("rope_type", type));
  RopeScaling& s = c.rope_scaling;
  std::vector<std::string_view> used = {"type", "rope_type", "rope_theta", "partial_rotary_factor"};
  if (type == "linear") {
    s.type = RopeScalingType::Linear;
    used.insert(used.end(), {"factor"});
  } else if (type == "llama3") {
    s.type = RopeScalingType::Llama3;
    used.insert(used.end(), {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
  } else if (type == "yarn") {
    s.type = RopeScalingType::Yarn;
    used.insert(used.end(),
                {"factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "attention_factor"});
  } else if (type != "default")
    return fail_at(place, Code::Unsupported, "type \"{}\" is not supported; linear, llama3 and yarn are",
                   printable(type));
  for (const auto& [key, value] : *rope.get_ptr<const Json::object_t*>())
    if (!value.is_null() && std::find(used.begin(), used.end(), key) == used.end())
      return fail_at({place[0], printable(key)}, Code::Unsupported, "not a key of type \"{}\"", type);
  const bool llama3 = s.type == RopeScalingType::Llama3;
  LOOM_TRY_VOID(in.number("factor", s.factor, s.type != RopeScalingType::None));
  LOOM_TRY_VOID(in.number("low_freq_factor", s.low_freq_factor, llama3));
  LOOM_TRY_VOID(in.number("high_freq_factor", s.high_freq_factor, llama3));
  if (s.type == RopeScalingType::Yarn) s.original_max_position_embeddings = c.max_position_embeddings;
  LOOM_TRY_VOID(in.integer("original_max_position_embeddings", s.original_max_position_embeddings, llama3));
  LOOM_TRY_VOID(in.number("beta_fast", s.beta_fast));
  LOOM_TRY_VOID(in.number("beta_slow", s.beta_slow));
  double attention_factor = 0;
  LOOM_TRY_VOID(in.number("attention_factor", attention_factor));
  if (in.get("attention_factor")) s.attention_factor = attention_factor;
  // Version 5 keeps these two in rope_parameters instead of at the top.
  LOOM_TRY_VOID(in.number("rope_theta", c.rope_theta));
  return in.number("partial_rotary_factor", c.partial_rotary_factor);
}

Result<void> read_positions(const Fields& in, ModelConfig& c) {
  LOOM_TRY_VOID(in.number("rope_theta", c.rope_theta));
  LOOM_TRY_VOID(in.number("partial_rotary_factor", c.partial_rotary_factor));
  const Json *older = in.get("rope_scaling"), *newer = in.get("rope_parameters");
  if (older && newer && *older != *newer)
    return fail_at({"rope_scaling"}, Code::InvalidConfig, "differs from /rope_parameters, which is given too");
  const double top_theta = c.rope_theta, top_partial = c.partial_rotary_factor;
  if (newer) LOOM_TRY_VOID(read_rope(*newer, "rope_parameters", c));
  if (older && !newer) LOOM_TRY_VOID(read_rope(*older, "rope_scaling", c));
  if ((in.get("rope_theta") && c.rope_theta != top_theta) ||
      (in.get("partial_rotary_factor") && c.partial_rotary_factor != top_partial))
    return fail_at({"rope_theta"}, Code::InvalidConfig,
                   "it or /partial_rotary_factor stands in two places with two values");
  // transformers ignores it in these families, or fails.
  if (c.partial_rotary_factor != 1)
    return fail_at({"partial_rotary_factor"}, Code::Unsupported,
                   "expected 1, since models of type {} turn whole heads, got {}", c.architecture,
                   c.partial_rotary_factor);
  return {};
}

Result<void> read_window(const Json& config, const Fields& in, const Family& family, ModelConfig& c) {
  const Json* const given = find(config, "sliding_window");
  if (family.sliding_window < 0) {
    if (given && !is_off(*given))
      return fail_at({"sliding_window"}, Code::Unsupported, "models of type {} have none", c.architecture);
  } else if (!given) {
    c.sliding_window = family.sliding_window;
  } else if (!given->is_null()) {  // null: none
    LOOM_TRY_VOID(in.integer("sliding_window", c.sliding_window));
    if (c.sliding_window < 1)
      return fail_at({"sliding_window"}, Code::InvalidConfig, "expected at least 1 or null, got {}", c.sliding_window);
  }
  std::int64_t first = 0;
  if (family.slides_by_layer) {  // the others have no such keys, and transformers ignores them
    bool use = false;
    first = 28;
    LOOM_TRY_VOID(in.boolean("use_sliding_window", use));
    LOOM_TRY_VOID(in.integer("max_window_layers", first));
    if (!use) c.sliding_window = 0;
  }
  const auto layers = static_cast<std::size_t>(c.num_hidden_layers);
  for (std::size_t i = 0; i < layers; ++i) c.layer_slides.push_back(static_cast<std::int64_t>(i) >= first);
  if (const Json* types = in.get("layer_types")) {
    if (!types->is_array() || types->size() != layers)
      return fail_at({"layer_types"}, Code::InvalidConfig, "{}",
                     expected(fmt::format("a list of {} names", layers), *types));
    for (std::size_t i = 0; i < layers; ++i) {
      const Json& t = (*types)[i];
      const std::string* kind = as_string(t);
      if (!kind || (*kind != "full_attention" && *kind != "sliding_attention"))
        return fail_at({"layer_types", std::to_string(i)}, Code::Unsupported,
                       "{} is not supported; full_attention and sliding_attention are", shown(t));
      const bool slides = *kind == "sliding_attention";
      if (slides && c.sliding_window == 0)
        return fail_at({"layer_types"}, Code::InvalidConfig, "has sliding layers, but no sliding_window is in use");
      if (!family.slides_by_layer && slides != (c.sliding_window > 0))
        return fail_at({"layer_types"}, Code::Unsupported, "the layers of a {} model are all of one kind",
                       c.architecture);
      c.layer_slides[i] = slides;
    }
  }
  const bool any = std::find(c.layer_slides.begin(), c.layer_slides.end(), 1) != c.layer_slides.end();
  if (c.sliding_window == 0 || !any) {
    c.sliding_window = 0;
    c.layer_slides.clear();
  }
  return {};
}

Result<void> read_biases(const Fields& in, ModelConfig& c) {
  bool attention = false;
  LOOM_TRY_VOID(in.boolean("attention_bias", attention));
  LOOM_TRY_VOID(in.boolean("mlp_bias", c.mlp_bias));
  // Only these classes of transformers read the two keys; the others have fixed biases and ignore them.
  if (attention && c.architecture != "llama" && c.architecture != "qwen3")
    return fail_at({"attention_bias"}, Code::Unsupported, "models of type {} have no such option", c.architecture);
  if (c.mlp_bias && c.architecture != "llama")
    return fail_at({"mlp_bias"}, Code::Unsupported, "models of type {} have no such option", c.architecture);
  c.qkv_bias = attention || c.architecture == "qwen2";
  c.o_bias = attention;
  c.qk_norm = c.architecture == "qwen3";
  c.inner_norm = c.architecture == "bitnet";
  return {};
}

// Packed ternary weights of a BitNet checkpoint (Hugging Face transformers, integrations/bitnet.py).
Result<void> read_ternary(const Json& quantization, ModelConfig& c) {
  if (!quantization.is_object())
    return fail_at({"quantization_config"}, Code::InvalidConfig, "{}", expected("an object", quantization));
  const Fields in(quantization, {"quantization_config"});
  std::string method, linear = "bitlinear", mode = "offline";
  bool use_rms_norm = false;
  LOOM_TRY_VOID(in.text("quant_method", method, true));
  LOOM_TRY_VOID(in.text("linear_class", linear));
  LOOM_TRY_VOID(in.text("quantization_mode", mode));
  LOOM_TRY_VOID(in.boolean("use_rms_norm", use_rms_norm));
  constexpr std::string_view kKnown[] = {"quant_method", "linear_class", "quantization_mode",
                                         "use_rms_norm", "rms_norm_eps", "modules_to_not_convert"};
  for (const auto& [key, value] : *quantization.get_ptr<const Json::object_t*>())
    if (!value.is_null() && !contains(kKnown, key))
      return fail_at({"quantization_config", printable(key)}, Code::UnknownKey, "unknown key; nearest: {}",
                     nearest_names(key, kKnown));
  const bool known = linear == "autobitlinear" || linear == "bitlinear";
  if (method != "bitnet" || !known || mode != "offline" || use_rms_norm)
    return fail_at({"quantization_config"}, Code::Unsupported,
                   "{} is not supported; bitnet's autobitlinear and bitlinear, offline and without a norm, are",
                   printable(dump_json(quantization)));
  c.ternary_weights = linear == "autobitlinear" ? TernaryWeights::Multiplied : TernaryWeights::Divided;
  return {};
}

Result<std::vector<std::int64_t>> token_ids(const Json& value) {
  std::vector<std::int64_t> ids;
  const auto add = [&](const Json& v) {
    const auto id = v.is_number_integer() ? as_int(v) : std::nullopt;
    if (id && *id >= 0) ids.push_back(*id);
    return id.has_value();
  };
  bool ok = true;
  if (value.is_array())
    for (const Json& v : value) ok = ok && add(v);
  else
    ok = value.is_null() || add(value);
  if (!ok) return fail_at({"eos_token_id"}, Code::InvalidConfig, "{}", expected("an id or a list of ids", value));
  return ids;
}

void sort_unique(std::vector<std::int64_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// One id, also as a list of one.
Result<void> read_token_id(const Fields& in, const char* key, std::int64_t& to) {
  const Json* value = in.get(key);
  if (!value) return {};
  if (value->is_array() && value->size() == 1) value = &(*value)[0];
  const auto id = value->is_number_integer() ? as_int(*value) : std::nullopt;
  if (!id) return fail_at({key}, Code::InvalidConfig, "{}", expected("an id", *value));
  to = *id;
  return {};
}

Result<void> read_token_ids(const Json& config, const Fields& in, const Family& family, ModelConfig& c) {
  // A default of the class, where the vocabulary has it; null means none.
  const auto by_default = [&](const char* key, std::int64_t id) {
    return find(config, key) || id >= c.vocab_size ? -1 : id;
  };
  c.bos_token_id = by_default("bos_token_id", family.bos_token_id);
  LOOM_TRY_VOID(read_token_id(in, "bos_token_id", c.bos_token_id));
  LOOM_TRY_VOID(read_token_id(in, "pad_token_id", c.pad_token_id));
  if (const std::int64_t eos = by_default("eos_token_id", family.eos_token_id); eos >= 0) c.eos_token_ids = {eos};
  if (const Json* eos = in.get("eos_token_id")) {
    LOOM_TRY(c.eos_token_ids, token_ids(*eos));
    sort_unique(c.eos_token_ids);
  }
  return {};
}

Result<void> read_sizes(const Json& config, const Fields& in, const Family& family, ModelConfig& c) {
  LOOM_TRY_VOID(in.integer("hidden_size", c.hidden_size, true));
  LOOM_TRY_VOID(in.integer("intermediate_size", c.intermediate_size, true));
  LOOM_TRY_VOID(in.integer("num_hidden_layers", c.num_hidden_layers, true));
  LOOM_TRY_VOID(in.integer("num_attention_heads", c.num_attention_heads, true));
  LOOM_TRY_VOID(in.integer("vocab_size", c.vocab_size, true));
  LOOM_TRY_VOID(in.integer("max_position_embeddings", c.max_position_embeddings, true));
  if (c.num_hidden_layers < 1 || c.num_hidden_layers > 4096)
    return fail_at({"num_hidden_layers"}, Code::InvalidConfig, "expected 1 to 4096, got {}", c.num_hidden_layers);
  if (c.num_attention_heads < 1)
    return fail_at({"num_attention_heads"}, Code::InvalidConfig, "expected at least 1, got {}", c.num_attention_heads);
  const bool by_default = family.num_key_value_heads > 0 && !find(config, "num_key_value_heads");
  c.num_key_value_heads = by_default ? family.num_key_value_heads : c.num_attention_heads;
  LOOM_TRY_VOID(in.integer("num_key_value_heads", c.num_key_value_heads));
  c.head_dim = c.architecture == "qwen3" ? 128 : c.hidden_size / c.num_attention_heads;
  if (c.architecture != "qwen3" && !in.get("head_dim") && c.hidden_size % c.num_attention_heads != 0)
    return fail_at({"hidden_size"}, Code::InvalidConfig, "{} does not divide among {} heads", c.hidden_size,
                   c.num_attention_heads);
  LOOM_TRY_VOID(in.integer("head_dim", c.head_dim));
  double eps = family.rms_norm_eps;
  LOOM_TRY_VOID(in.number("rms_norm_eps", eps));
  if (!(eps > 0) || eps > 1)
    return fail_at({"rms_norm_eps"}, Code::InvalidConfig, "expected above 0 and at most 1, got {}", eps);
  c.rms_norm_eps = static_cast<float>(eps);
  return {};
}

}  // namespace

ConfigKeys config_json_keys() { return {kHonoured, kIgnorable, kMustBeOff, kMustBeOn}; }

Result<ModelConfig> config_from_json(const Json& config) {
  if (!config.is_object()) return fail(Code::InvalidConfig, "{}", expected("an object", config));
  const Fields in(config, {});
  ModelConfig c;
  LOOM_TRY_VOID(in.text("model_type", c.architecture, true));
  const auto family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const Family& f) { return f.type == c.architecture; });
  if (family == std::end(kFamilies))
    return fail_at({"model_type"}, Code::Unsupported, "\"{}\" is not supported; supported are {}",
                   printable(c.architecture), kSupported);
  LOOM_TRY_VOID(check_architecture(config, *family));
  LOOM_TRY_VOID(check_keys(config, c.architecture));
  c.hidden_act = family->hidden_act, c.rope_theta = family->rope_theta;
  LOOM_TRY_VOID(read_sizes(config, in, *family, c));
  LOOM_TRY_VOID(read_positions(in, c));
  LOOM_TRY_VOID(read_window(config, in, *family, c));
  LOOM_TRY_VOID(read_biases(in, c));
  if (const Json* quantization = in.get("quantization_config")) LOOM_TRY_VOID(read_ternary(*quantization, c));
  LOOM_TRY_VOID(in.boolean("tie_word_embeddings", c.tie_word_embeddings));
  LOOM_TRY_VOID(in.text("hidden_act", c.hidden_act));
  if (c.hidden_act == "swish") c.hidden_act = "silu";  // two names of one function
  LOOM_TRY_VOID(read_token_ids(config, in, *family, c));
  LOOM_TRY_VOID(check(c));
  return c;
}

Result<void> add_generation_config(ModelConfig& config, const Json& generation_config) {
  LOOM_TRY_VOID(check_generation_config(generation_config));
  const Json* eos = find(generation_config, "eos_token_id");
  if (!eos) return {};
  const auto ids = token_ids(*eos);
  if (!ids) return at("generation_config", ids.error());
  for (const std::int64_t id : *ids) {
    if (id >= config.vocab_size)
      return at("generation_config",
                {Code::InvalidConfig, fmt::format("{} is outside the vocabulary of {}", id, config.vocab_size),
                 Steps{"eos_token_id"}});
    config.eos_token_ids.push_back(id);
  }
  sort_unique(config.eos_token_ids);
  return {};
}

}  // namespace loom
