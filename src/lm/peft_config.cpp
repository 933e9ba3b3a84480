#include "lm/peft_config.h"

#include <algorithm>
#include <cmath>

#include "core/config_reader.h"
#include "core/file.h"
#include "core/nearest.h"

namespace loom {
namespace {

constexpr std::int64_t kMostRank = 65536;
constexpr std::string_view kMerge =
    "merge the adapter with PEFT (merge_and_unload, save_pretrained) and load the merged folder";

using enum LoraFieldUse;
constexpr LoraField kFields[] = {
    {"peft_type", Read, ""},
    {"task_type", Read, ""},
    {"r", Read, ""},
    {"lora_alpha", Read, ""},
    {"target_modules", Read, ""},
    {"exclude_modules", Read, ""},
    {"layers_to_transform", Read, ""},
    {"layers_pattern", Read, ""},
    {"rank_pattern", Read, ""},
    {"alpha_pattern", Read, ""},
    {"use_rslora", Read, ""},
    {"use_dora", Read, ""},
    {"lora_bias", Read, ""},
    {"bias", Read, ""},
    {"modules_to_save", Read, ""},
    {"trainable_token_indices", Read, ""},
    {"ensure_weight_tying", Read, ""},
    {"init_lora_weights", Read, ""},
    {"auto_mapping", NoEffect, "names Python classes for PEFT's own loader"},
    {"base_model_name_or_path", NoEffect, "the base is the model that was given"},
    {"revision", NoEffect, "the base is the model that was given"},
    {"peft_version", NoEffect, "bookkeeping"},
    {"inference_mode", NoEffect, "whether PEFT lets the adapter be trained"},
    {"lora_dropout", NoEffect, "training only"},
    {"fan_in_fan_out", NoEffect, "PEFT turns it off for linear layers, and these models have no others"},
    {"loftq_config", NoEffect, "read with init_lora_weights \"loftq\" only, which is refused"},
    {"eva_config", NoEffect, "how A started before training; the file holds the trained A"},
    {"corda_config", NoEffect, "read with init_lora_weights \"corda\" only, which is refused"},
    {"lora_ga_config", NoEffect, "read with init_lora_weights \"lora_ga\" only, which is refused"},
    {"runtime_config", NoEffect, "where PEFT keeps weights while it loads"},
    {"megatron_core", NoEffect, "read with megatron_config only"},
    {"qalora_group_size", NoEffect, "read with use_qalora only"},
    {"megatron_config", MustBeOff, "parallel layers of Megatron"},
    {"layer_replication", MustBeOff, "a base model with repeated layers"},
    {"target_parameters", MustBeOff, "adapters of parameters without a module"},
    {"use_qalora", MustBeOff, "adapters of pooled inputs"},
    {"use_bdlora", MustBeOff, "block-diagonal adapters"},
    {"alora_invocation_tokens", MustBeOff, "adapters that count from a token on"},
    {"arrow_config", MustBeOff, "a router between adapters"},
    {"kasa_config", MustBeOff, "adapters with singular values"},
    {"monteclora_config", MustBeOff, "sampled adapters"},
    {"velora_config", MustBeOff, "compressed activations"},
    {"enable_lora", MustBeOff, "adapters of parts of a fused matrix (PEFT before 0.3)"},
    {"merge_weights", NoEffect, "whether PEFT before 0.3 merged in eval()"},
};

bool is_unset(const Json& v) {
  return v.is_null() || as_bool(v) == false || ((v.is_object() || v.is_array() || v.is_string()) && v.empty());
}

Error unsupported(std::string_view key, const Json& value, std::string_view what) {
  return {Code::Unsupported, fmt::format("{} is not supported ({}); {}", shown(value), what, kMerge),
          Steps{std::string(key)}};
}

Result<bool> matches(const text::Regex& regex, std::string_view name) {
  text::RegexMatcher matcher(regex, name);
  text::Match match;
  return matcher.next(match);
}

bool ends_in(std::string_view module, std::string_view name) {
  return module == name ||
         (module.size() > name.size() && module.ends_with(name) && module[module.size() - name.size() - 1] == '.');
}

bool any_ends_in(std::string_view module, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return ends_in(module, name); });
}

// The layer's number in "model.layers.3.mlp.up_proj", with the text before it; nullopt for modules outside of layers.
std::optional<std::pair<std::string_view, std::int64_t>> layer_of(std::string_view module) {
  for (std::size_t dot = module.find('.'); dot != module.npos; dot = module.find('.', dot + 1)) {
    const std::size_t end = module.find('.', dot + 1);
    if (end == module.npos) return std::nullopt;
    const std::string_view part = module.substr(dot + 1, end - dot - 1);
    if (part.empty() || part.size() > 6 || part.find_first_not_of("0123456789") != part.npos) continue;
    std::int64_t number = 0;
    for (const char c : part) number = number * 10 + (c - '0');
    return std::pair(module.substr(0, dot), number);
  }
  return std::nullopt;
}

}  // namespace

std::span<const LoraField> lora_fields() { return kFields; }

// Reads the fields of one adapter_config.json.
class LoraReader {
 public:
  LoraReader(const Json& json, const ModelConfig& model) : json_(json), model_(model) {}

  Result<LoraSettings> read() {
    LOOM_TRY_VOID(check_keys());
    LOOM_TRY_VOID(read_kind());
    LOOM_TRY_VOID(read_numbers());
    LOOM_TRY_VOID(read_targets());
    LOOM_TRY_VOID(read_layers());
    LOOM_TRY_VOID(read_patterns("rank_pattern", s_.ranks_));
    LOOM_TRY_VOID(read_patterns("alpha_pattern", s_.alphas_));
    LOOM_TRY_VOID(read_start());
    LOOM_TRY(s_.modules_to_save, names("modules_to_save"));
    for (const std::string& name : s_.modules_to_save) {
      LOOM_TRY(auto pattern, compiled("modules_to_save", "\\A(?:.*\\.)?(?:" + name + ")(?:\\..*)?\\z"));
      s_.saved_patterns_.push_back(std::move(pattern));
    }
    LOOM_TRY_VOID(read_tokens());
    return std::move(s_);
  }

 private:
  // Null where the field is absent, null or empty.
  const Json* get(std::string_view key) const {
    const Json* value = find(json_, key);
    return value == nullptr || value->is_null() || (value->is_structured() && value->empty()) ? nullptr : value;
  }
  Error wrong(std::string_view key, std::string_view what, const Json& value) const {
    return {Code::CorruptData, expected(what, value), Steps{std::string(key)}};
  }
  Result<bool> flag(std::string_view key) const {
    const Json* value = get(key);
    if (value == nullptr) return false;
    const auto set = as_bool(*value);
    if (!set) return tl::make_unexpected(wrong(key, "true or false", *value));
    return *set;
  }

  Result<void> check_keys() const {
    if (!json_.is_object()) return fail(Code::CorruptData, "{}", expected("an object", json_));
    for (const auto& [key, value] : *json_.get_ptr<const Json::object_t*>()) {
      const auto field = std::ranges::find(kFields, key, &LoraField::name);
      if (field != std::end(kFields) && field->use != MustBeOff) continue;
      if (is_unset(value)) continue;
      if (field == std::end(kFields))
        return fail_at({printable(key)}, Code::UnknownKey,
                       "unknown key with the value {}; it might change results, so the adapter is refused; {}",
                       shown(value), kMerge);
      return tl::make_unexpected(unsupported(key, value, field->reason));
    }
    return {};
  }

  Result<void> read_kind() const {
    const Json* type = find(json_, "peft_type");
    const std::string* text = type == nullptr ? nullptr : as_string(*type);
    if (text == nullptr || *text != "LORA")
      return fail_at({"peft_type"}, Code::Unsupported, "{}",
                     expected("\"LORA\"", type == nullptr ? Json(nullptr) : *type));
    if (const Json* task = get("task_type"); task != nullptr && *task != Json("CAUSAL_LM"))
      return fail_at({"task_type"}, Code::Unsupported, "{}: an adapter of another kind of model",
                     expected("\"CAUSAL_LM\"", *task));
    const Json* bias = get("bias");
    for (const char* known : {"none", "all", "lora_only"})
      if (bias == nullptr || *bias == Json(known)) return {};
    return tl::make_unexpected(wrong("bias", "\"none\", \"all\" or \"lora_only\"", *bias));
  }

  Result<void> read_numbers() {
    const Json *rank = find(json_, "r"), *alpha = find(json_, "lora_alpha");
    const std::int64_t r = rank == nullptr ? 0 : as_int(*rank).value_or(0);
    const double a = alpha == nullptr ? 0 : as_number(*alpha).value_or(0);
    if (r < 1 || r > kMostRank || a == 0)
      return fail(Code::CorruptData, "r from 1 to {} and a lora_alpha other than 0 expected, got {} and {}", kMostRank,
                  rank == nullptr ? "none" : shown(*rank), alpha == nullptr ? "none" : shown(*alpha));
    s_.rank = static_cast<std::size_t>(r), s_.alpha = a;
    LOOM_TRY(s_.rank_stabilised, flag("use_rslora"));
    LOOM_TRY(s_.dora, flag("use_dora"));
    LOOM_TRY(s_.bias_of_b, flag("lora_bias"));
    LOOM_TRY(s_.keeps_tie, flag("ensure_weight_tying"));
    return {};
  }

  // A list of names; empty where the field is absent.
  Result<std::vector<std::string>> names(std::string_view key) const {
    std::vector<std::string> all;
    const Json* value = get(key);
    if (value == nullptr) return all;
    const Json one = Json::array({*value});
    for (const Json& name : value->is_array() ? *value : one) {
      if (!as_string(name)) return tl::make_unexpected(wrong(key, "a list of names", *value));
      all.push_back(*as_string(name));
    }
    return all;
  }
  Result<text::Regex> compiled(std::string_view key, const std::string& pattern) const {
    auto regex = text::Regex::compile(pattern);
    if (!regex) return under({std::string(key)}, std::move(regex).error());
    return regex;
  }

  // Names of modules, or one regular expression for the whole name.
  Result<void> read_names(std::string_view key, std::vector<std::string>& to, std::optional<text::Regex>& pattern) {
    const Json* value = get(key);
    if (value != nullptr && value->is_string()) {
      LOOM_TRY(pattern, compiled(key, "\\A(?:" + *as_string(*value) + ")\\z"));
      return {};
    }
    LOOM_TRY(to, names(key));
    return {};
  }
  Result<void> read_targets() {
    LOOM_TRY_VOID(read_names("exclude_modules", s_.excluded_, s_.excluded_pattern_));
    const Json* value = get("target_modules");
    if (value == nullptr) {  // PEFT's default of these families
      if (model_.architecture == "bitnet")
        return fail_at({"target_modules"}, Code::CorruptData, "is missing, and PEFT has no default for bitnet");
      s_.targets_ = {"q_proj", "v_proj"};
      return {};
    }
    const std::string* text = as_string(*value);
    s_.all_linear_ = text != nullptr && folded_name(*text) == folded_name("all-linear");
    if (s_.all_linear_) return {};
    return read_names("target_modules", s_.targets_, s_.target_pattern_);
  }

  Result<void> read_layers() {
    LOOM_TRY(s_.layers_pattern_, names("layers_pattern"));
    const Json* value = get("layers_to_transform");
    if (value == nullptr && !s_.layers_pattern_.empty())
      return fail_at({"layers_pattern"}, Code::CorruptData, "needs layers_to_transform");
    if (value == nullptr) return {};
    LOOM_TRY(s_.layers_, integers("layers_to_transform", *value));
    if (s_.target_pattern_ || s_.all_linear_)
      return fail_at({"layers_to_transform"}, Code::CorruptData, "cannot go with target_modules as one text");
    return {};
  }
  Result<std::vector<std::int64_t>> integers(std::string_view key, const Json& value) const {
    std::vector<std::int64_t> all;
    const Json one = Json::array({value});
    for (const Json& number : value.is_array() ? value : one) {
      const auto read = number.is_number_integer() ? as_int(number) : std::nullopt;
      if (!read || *read < 0) return tl::make_unexpected(wrong(key, "integers from 0", value));
      all.push_back(*read);
    }
    return all;
  }

  Result<void> read_patterns(std::string_view key, std::vector<LoraPattern>& to) {
    const Json* value = get(key);
    if (value == nullptr) return {};
    if (!value->is_object()) return tl::make_unexpected(wrong(key, "an object", *value));
    for (const auto& [pattern, number] : *value->get_ptr<const Json::object_t*>()) {
      const auto given = as_number(number);
      const bool is_rank = key == "rank_pattern";
      if (!given || (is_rank && (!number.is_number_integer() || *given < 1 || *given > kMostRank)))
        return fail_at({std::string(key), printable(pattern)}, Code::CorruptData, "{}",
                       expected(is_rank ? "a rank from 1 to 65536" : "a number", number));
      LOOM_TRY(text::Regex regex, compiled(key, "\\A(?:.*\\.)?(?:" + pattern + ")\\z"));
      to.push_back({std::move(regex), *given});
    }
    return {};
  }

  Result<void> read_start() {
    const Json* value = get("init_lora_weights");
    if (value == nullptr || as_bool(*value)) return {};
    const std::string* text = as_string(*value);
    if (text == nullptr) return tl::make_unexpected(wrong("init_lora_weights", "true, false or a name", *value));
    const std::string lower = folded_name(*text);
    if (s_.bias_of_b)
      return fail_at({"lora_bias"}, Code::CorruptData, "cannot go with init_lora_weights {}", shown(*value));
    if (*text == "pissa") s_.start = LoraStart::Pissa;
    if (lower == "olora") s_.start = LoraStart::Olora;
    // Those start A and B alone, which the file holds.
    for (const std::string_view plain : {"gaussian", "mica", "eva", "orthogonal"})
      if (lower == plain) return {};
    if (s_.start != LoraStart::None) return {};
    const std::string_view why = text->starts_with("pissa_niter_") ? "PEFT draws its start again on every load"
                                 : text->starts_with("corda") || *text == "lora_ga"
                                     ? "the start depends on data that the adapter does not hold"
                                 : *text == "loftq" ? "the base is quantised by bitsandbytes on load"
                                                    : "";
    if (why.empty())
      return fail_at(
          {"init_lora_weights"}, Code::CorruptData, "{}",
          expected("true, false, \"gaussian\", \"eva\", \"olora\", \"pissa\", \"orthogonal\" or \"mica\"", *value));
    return fail_at({"init_lora_weights"}, Code::Unsupported,
                   "{} is not supported ({}); save the adapter with save_pretrained(..., "
                   "path_initial_model_for_weight_conversion=...), or {}",
                   shown(*value), why, kMerge);
  }

  Result<void> read_tokens() {
    const Json* value = get("trainable_token_indices");
    if (value == nullptr) return {};
    const std::string key = "trainable_token_indices";
    const Json by_name = value->is_object() ? *value : Json{{"embed_tokens", *value}};
    for (const auto& [name, ids] : *by_name.get_ptr<const Json::object_t*>()) {
      const bool is_head = ends_in("lm_head", name);
      if (!is_head && !ends_in("model.embed_tokens", name))
        return fail_at({key, printable(name)}, Code::Unsupported,
                       "not a table of tokens; embed_tokens and lm_head are");
      if (!ids.is_array()) return tl::make_unexpected(wrong(key, "lists of ids", *value));
      LOOM_TRY(s_.trainable_tokens[is_head ? "lm_head" : "model.embed_tokens"], integers(key, ids));
    }
    return {};
  }

  const Json& json_;
  const ModelConfig& model_;
  LoraSettings s_;
};

Result<LoraSettings> LoraSettings::read(const std::string& folder, const ModelConfig& model) {
  const std::string path = folder + "/adapter_config.json";
  LOOM_TRY(const std::string text, read_text_file(path, std::size_t{1} << 20));
  auto json = parse_json(text);
  if (!json) return at(path, std::move(json).error());
  auto settings = LoraReader(*json, model).read();
  if (!settings) return at(path, std::move(settings).error());
  return settings;
}

Result<bool> LoraSettings::has_adapter(std::string_view module) const {
  if (excluded_pattern_) {
    LOOM_TRY(const bool excluded, matches(*excluded_pattern_, module));
    if (excluded) return false;
  }
  if (any_ends_in(module, excluded_)) return false;
  LOOM_TRY(const bool saved, is_saved(module));
  if (saved) return false;
  return is_targeted(module);
}

Result<bool> LoraSettings::is_targeted(std::string_view module) const {
  if (all_linear_) return layer_of(module).has_value();
  if (target_pattern_) return matches(*target_pattern_, module);
  if (std::ranges::find(targets_, module) != targets_.end()) return true;
  if (!any_ends_in(module, targets_)) return false;
  return is_in_layers(module);
}

Result<bool> LoraSettings::is_in_layers(std::string_view module) const {
  if (!layers_) return true;
  const auto layer = layer_of(module);
  if (!layer || std::ranges::find(*layers_, layer->second) == layers_->end()) return false;
  if (layers_pattern_.empty()) return true;
  for (const std::string& name : layers_pattern_) {
    auto regex = text::Regex::compile("\\A(?:.*\\.)?(?:" + name + ")\\z");
    if (!regex) return under({"layers_pattern"}, std::move(regex).error());
    LOOM_TRY(const bool found, matches(*regex, layer->first));
    if (found) return true;
  }
  return false;
}

Result<bool> LoraSettings::is_saved(std::string_view module) const {
  for (const text::Regex& pattern : saved_patterns_) {
    LOOM_TRY(const bool found, matches(pattern, module));
    if (found) return true;
  }
  return false;
}

namespace {
Result<std::optional<double>> first_match(const std::vector<LoraPattern>& patterns, std::string_view module) {
  for (const LoraPattern& pattern : patterns) {
    LOOM_TRY(const bool found, matches(pattern.regex, module));
    if (found) return pattern.value;
  }
  return std::nullopt;
}
}  // namespace

Result<std::size_t> LoraSettings::rank_of(std::string_view module) const {
  LOOM_TRY(const auto found, first_match(ranks_, module));
  return found ? static_cast<std::size_t>(*found) : rank;
}

Result<double> LoraSettings::alpha_of(std::string_view module, std::size_t module_rank) const {
  LOOM_TRY(const auto found, first_match(alphas_, module));
  const double own = found.value_or(alpha);
  return rank_stabilised ? own * std::sqrt(static_cast<double>(module_rank)) : own;
}

}  // namespace loom
