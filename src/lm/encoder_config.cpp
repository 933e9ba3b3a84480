// config.json, modules.json and the config of the pooling.

#include <algorithm>
#include <array>

#include "core/file.h"
#include "core/json.h"
#include "lm/encoder.h"
#include "lm/encoder_files.h"

namespace loom {
namespace encoder_files {
namespace {

// Keys that change no number of an encoder outside of training.
constexpr std::array kHarmless = {"_name_or_path",
                                  "architectures",
                                  "attention_probs_dropout_prob",
                                  "bos_token_id",
                                  "classifier_dropout",
                                  "dtype",
                                  "eos_token_id",
                                  "gradient_checkpointing",
                                  "hidden_dropout_prob",
                                  "id2label",
                                  "initializer_range",
                                  "label2id",
                                  "model_type",
                                  "pad_token_id",
                                  "tie_word_embeddings",
                                  "tokenizer_class",
                                  "torch_dtype",
                                  "transformers_version",
                                  "use_cache"};

Result<Json> read_json_file(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path));
  auto json = parse_json(text);
  if (!json) return at(path, std::move(json).error());
  return json;
}

bool is_true(const Json& object, const char* key) {
  const Json* found = find(object, key);
  return found != nullptr && as_bool(*found).value_or(false);
}

Result<PoolingConfig::Mode> pooling_mode(const Json& config) {
  using Mode = PoolingConfig::Mode;
  constexpr std::array<std::pair<const char*, Mode>, 4> kModes = {
      {{"pooling_mode_mean_tokens", Mode::Mean},
       {"pooling_mode_cls_token", Mode::Cls},
       {"pooling_mode_max_tokens", Mode::Max},
       {"pooling_mode_mean_sqrt_len_tokens", Mode::MeanSqrtLength}}};
  std::optional<Mode> mode;
  for (const auto& [key, value] : config.items()) {
    if (!key.starts_with("pooling_mode_") || !as_bool(value).value_or(true)) continue;
    const auto known = std::ranges::find_if(kModes, [&key](const auto& m) { return key == m.first; });
    if (known == kModes.end()) return fail_at({key}, Code::Unsupported, "this way of pooling is not supported");
    if (mode) return fail_at({key}, Code::Unsupported, "two ways of pooling side by side are not supported");
    mode = known->second;
  }
  if (!mode) return fail(Code::InvalidConfig, "no way of pooling is true");
  return *mode;
}

}  // namespace

Result<PoolingConfig> read_pooling(const std::string& folder) {
  PoolingConfig pooling;
  const std::string path = folder + "/modules.json";
  if (!is_file(path)) return pooling;
  LOOM_TRY(const Json modules, read_json_file(path));
  if (!modules.is_array()) return fail(Code::CorruptData, "{}: a list of modules expected", path);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Json *type = find(modules[i], "type"), *place = find(modules[i], "path");
    const std::string* name = type == nullptr ? nullptr : as_string(*type);
    const std::string* below = place == nullptr ? nullptr : as_string(*place);
    if (name == nullptr || below == nullptr)
      return fail(Code::CorruptData, "{}: /{}: \"type\" and \"path\" expected", path, i);
    const std::string kind = name->substr(name->rfind('.') + 1);
    if (kind == "Transformer" && i == 0) continue;
    if (kind == "Pooling" && i == 1) {
      LOOM_TRY(const std::string file, path_inside(folder, *below + "/config.json"));
      LOOM_TRY(const Json config, read_json_file(file));
      auto mode = pooling_mode(config);
      if (!mode) return at(file, std::move(mode).error());
      pooling.mode = *mode;
    } else if (kind == "Normalize" && i == 2) {
      pooling.normalize = true;
    } else {
      return fail(Code::Unsupported, "{}: /{}: a module {} in this place is not supported", path, i, *name);
    }
  }
  return pooling;
}

Result<std::optional<std::size_t>> read_max_length(const std::string& folder) {
  const std::string path = folder + "/sentence_bert_config.json";
  if (!is_file(path)) return std::nullopt;
  LOOM_TRY(const Json config, read_json_file(path));
  if (is_true(config, "do_lower_case"))
    return fail(Code::Unsupported, "{}: /do_lower_case: only the tokenizer may change letters", path);
  const Json* length = find(config, "max_seq_length");
  if (length == nullptr || length->is_null()) return std::nullopt;
  const auto tokens = as_int(*length);
  if (!tokens || *tokens < 2) return fail(Code::InvalidConfig, "{}: /max_seq_length: 2 or more expected", path);
  return static_cast<std::size_t>(*tokens);
}

Result<EncoderConfig> read_config(const std::string& folder) {
  const std::string path = folder + "/config.json";
  LOOM_TRY(const Json json, read_json_file(path));
  auto config = encoder_config_from_json(json);
  if (!config) return at(path, std::move(config).error());
  return config;
}

}  // namespace encoder_files

namespace {

// Sizes with their keys.
struct SizeKey {
  const char* key;
  std::size_t EncoderConfig::* member;
};
constexpr SizeKey kSizes[] = {{"vocab_size", &EncoderConfig::vocab_size},
                              {"hidden_size", &EncoderConfig::hidden_size},
                              {"num_hidden_layers", &EncoderConfig::num_hidden_layers},
                              {"num_attention_heads", &EncoderConfig::num_attention_heads},
                              {"intermediate_size", &EncoderConfig::intermediate_size},
                              {"max_position_embeddings", &EncoderConfig::max_position_embeddings},
                              {"type_vocab_size", &EncoderConfig::type_vocab_size}};
constexpr std::int64_t kMostOfASize = std::int64_t{1} << 24;

Result<void> read_key(EncoderConfig& config, const std::string& key, const Json& value) {
  for (const SizeKey& size : kSizes)
    if (key == size.key) {
      const auto n = as_int(value);
      if (!n || *n < 1 || *n > kMostOfASize)
        return fail_at({key}, Code::InvalidConfig, "expected an integer from 1 to {}", kMostOfASize);
      config.*size.member = static_cast<std::size_t>(*n);
      return {};
    }
  const auto is_text = [&](std::string_view wanted) {
    const std::string* text = as_string(value);
    return value.is_null() || (text != nullptr && *text == wanted);
  };
  const auto is_no = [&] { return value.is_null() || (value.is_boolean() && !as_bool(value).value_or(true)); };
  if (key == "layer_norm_eps") {
    const auto eps = as_number(value);
    if (!eps || *eps < 0 || *eps > 1) return fail_at({key}, Code::InvalidConfig, "expected a number from 0 to 1");
    config.layer_norm_eps = *eps;
  } else if (key == "hidden_act") {
    const std::string* name = as_string(value);
    if (name == nullptr) return fail_at({key}, Code::InvalidConfig, "expected a name");
    config.hidden_act = *name;
  } else if (key == "position_embedding_type") {
    if (!is_text("absolute")) return fail_at({key}, Code::Unsupported, "only absolute positions are supported");
  } else if (key == "is_decoder" || key == "add_cross_attention") {
    if (!is_no()) return fail_at({key}, Code::Unsupported, "an encoder expected");
  } else if (std::ranges::find(encoder_files::kHarmless, key) == encoder_files::kHarmless.end()) {
    return fail_at({key}, Code::UnknownKey, "an unknown key, which may change numbers");
  }
  return {};
}

}  // namespace

Result<EncoderConfig> encoder_config_from_json(const Json& json) {
  if (!json.is_object()) return fail(Code::CorruptData, "an object expected");
  const Json* type = find(json, "model_type");
  const std::string* name = type == nullptr ? nullptr : as_string(*type);
  if (name == nullptr || *name != "bert")
    return fail_at({"model_type"}, Code::Unsupported, "\"{}\": text encoders are of type bert",
                   name == nullptr ? "" : *name);
  EncoderConfig config;
  for (const auto& [key, value] : json.items()) LOOM_TRY_VOID(read_key(config, key, value));
  if (config.type_vocab_size == 0) config.type_vocab_size = 2;
  if (config.max_position_embeddings == 0) config.max_position_embeddings = 512;
  for (const SizeKey& size : kSizes)
    if (config.*size.member == 0) return fail_at({size.key}, Code::InvalidConfig, "the key is missing");
  if (config.hidden_size % config.num_attention_heads != 0)
    return fail_at({"num_attention_heads"}, Code::InvalidConfig, "{} heads do not divide {} features",
                   config.num_attention_heads, config.hidden_size);
  if (config.num_hidden_layers > 1024) return fail_at({"num_hidden_layers"}, Code::LimitExceeded, "more than 1024");
  return config;
}

}  // namespace loom
