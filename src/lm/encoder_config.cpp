// config.json, modules.json and the config of the pooling.

#include <algorithm>
#include <array>

#include "core/config_reader.h"
#include "core/file.h"
#include "core/json.h"
#include "core/nearest.h"
#include "lm/chat_files.h"
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

bool is_true(const Json& object, const char* key) {
  const Json* found = find(object, key);
  return found != nullptr && as_bool(*found).value_or(false);
}

// Whether a key of a small file counts. Harmless: it changes no vector, for the reason beside it.
enum class Use : std::uint8_t { Read, Harmless };
struct FileKey {
  std::string_view name;
  Use use;
};

// A key outside the table is refused, unless its value says nothing.
Result<void> check_keys(const Json& object, std::span<const FileKey> known) {
  if (!object.is_object()) return fail(Code::CorruptData, "an object expected");
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || value == Json(false) || ((value.is_structured() || value.is_string()) && value.empty()))
      continue;
    if (std::ranges::find(known, std::string_view(key), &FileKey::name) == known.end())
      return fail_at({printable(key)}, Code::UnknownKey, "an unknown key with the value {}, which may change vectors",
                     shown(value));
  }
  return {};
}

constexpr FileKey kPoolingKeys[] = {
    {"pooling_mode", Use::Read},
    {"pooling_mode_cls_token", Use::Read},
    {"pooling_mode_mean_tokens", Use::Read},
    {"pooling_mode_max_tokens", Use::Read},
    {"pooling_mode_mean_sqrt_len_tokens", Use::Read},
    {"pooling_mode_weightedmean_tokens", Use::Read},  // refused where it is true
    {"pooling_mode_lasttoken", Use::Read},
    {"include_prompt", Use::Read},
    {"word_embedding_dimension", Use::Read},
    {"embedding_dimension", Use::Read},
};
constexpr FileKey kSentenceBertKeys[] = {
    {"max_seq_length", Use::Read},     {"do_lower_case", Use::Read},
    {"transformer_task", Use::Read},   {"modality_config", Use::Harmless},  // texts alone are embedded
    {"module_output_name", Use::Read},
};
constexpr FileKey kPromptKeys[] = {
    {"prompts", Use::Read},
    {"default_prompt_name", Use::Read},
    {"similarity_fn_name", Use::Harmless},  // of similarity(), not of vectors
    {"__version__", Use::Harmless},         // of the packages that wrote the file
    {"model_type", Use::Read},
};

Result<PoolingConfig::Mode> pooling_mode(const Json& config) {
  using Mode = PoolingConfig::Mode;
  struct Name {
    std::string_view key, name;
    Mode mode;
  };
  constexpr Name kModes[] = {{"pooling_mode_mean_tokens", "mean", Mode::Mean},
                             {"pooling_mode_cls_token", "cls", Mode::Cls},
                             {"pooling_mode_max_tokens", "max", Mode::Max},
                             {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Mode::MeanSqrtLength}};
  if (const Json* one = find(config, "pooling_mode"); one != nullptr && !one->is_null()) {
    const std::string* text = as_string(*one);
    for (const Name& known : kModes)
      if (text != nullptr && *text == known.name) return known.mode;
    return fail_at({"pooling_mode"}, Code::Unsupported, "{}",
                   expected("\"mean\", \"cls\", \"max\" or \"mean_sqrt_len_tokens\"", *one));
  }
  std::optional<Mode> mode;
  for (const auto& [key, value] : config.items()) {
    if (!key.starts_with("pooling_mode_") || !as_bool(value).value_or(true)) continue;
    const auto known = std::ranges::find(kModes, std::string_view(key), &Name::key);
    if (known == std::end(kModes)) return fail_at({key}, Code::Unsupported, "this way of pooling is not supported");
    if (mode) return fail_at({key}, Code::Unsupported, "two ways of pooling side by side are not supported");
    mode = known->mode;
  }
  if (!mode) return fail(Code::InvalidConfig, "no way of pooling is true");
  return *mode;
}

Result<void> read_pooling_file(const Json& config, std::size_t hidden_size, PoolingConfig& pooling) {
  LOOM_TRY_VOID(check_keys(config, kPoolingKeys));
  LOOM_TRY(pooling.mode, pooling_mode(config));
  if (const Json* include = find(config, "include_prompt"); include != nullptr && !include->is_null()) {
    const auto given = as_bool(*include);
    if (!given) return fail_at({"include_prompt"}, Code::InvalidConfig, "{}", expected("true or false", *include));
    pooling.include_prompt = *given;
  }
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"})
    if (const Json* size = find(config, key);
        size != nullptr && !size->is_null() && as_int(*size) != static_cast<std::int64_t>(hidden_size))
      return fail_at({key}, Code::ShapeMismatch, "{}", expected(fmt::format("hidden_size, {}", hidden_size), *size));
  return {};
}

constexpr FileKey kDenseKeys[] = {
    {"in_features", Use::Read},         {"out_features", Use::Read},      {"bias", Use::Read},
    {"activation_function", Use::Read}, {"module_input_name", Use::Read}, {"module_output_name", Use::Read},
};

// The classes of torch that a config may name, which take no arguments, and the activations of a dense layer.
Result<std::string> activation_of_class(const Json* given) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"Identity", "linear"}, {"Tanh", "tanh"}, {"ReLU", "relu"},           {"Sigmoid", "sigmoid"},
      {"GELU", "gelu_exact"}, {"SiLU", "silu"}, {"LeakyReLU", "leakyrelu"}, {"ELU", "elu"}};
  if (given == nullptr) return std::string("tanh");  // that of a Dense which names none
  if (given->is_null()) return std::string("linear");
  const std::string* const text = as_string(*given);
  const std::string name = text == nullptr ? std::string() : text->substr(text->rfind('.') + 1);
  std::string known;
  for (const auto& [each, activation] : kKnown) {
    if (text != nullptr && text->starts_with("torch.nn.") && name == each) return std::string(activation);
    known += (known.empty() ? "torch.nn." : ", torch.nn.") + std::string(each);
  }
  return fail_at({"activation_function"}, Code::Unsupported, "{}", expected("one of " + known, *given));
}

Result<EncoderModule> read_dense(const Json& config, std::size_t in) {
  LOOM_TRY_VOID(check_keys(config, kDenseKeys));
  EncoderModule out;
  out.is_dense = true, out.in = in;
  const auto size = [&](const char* key) -> Result<std::size_t> {
    const Json* const given = find(config, key);
    const std::int64_t n = given == nullptr ? 0 : as_int(*given).value_or(0);
    if (n >= 1 && n <= 65536) return static_cast<std::size_t>(n);
    return fail_at({key}, Code::InvalidConfig, "{}",
                   given == nullptr ? "is missing" : expected("an integer from 1 to 65536", *given));
  };
  LOOM_TRY(const std::size_t given, size("in_features"));
  if (given != in)
    return fail_at({"in_features"}, Code::ShapeMismatch, "{}, the module before it gives {} numbers", given, in);
  LOOM_TRY(out.out, size("out_features"));
  if (const Json* bias = find(config, "bias"); bias != nullptr) {
    if (!as_bool(*bias)) return fail_at({"bias"}, Code::InvalidConfig, "{}", expected("true or false", *bias));
    out.bias = *as_bool(*bias);
  }
  LOOM_TRY(out.activation, activation_of_class(find(config, "activation_function")));
  for (const char* key : {"module_input_name", "module_output_name"})
    if (const Json* name = find(config, key); name != nullptr && !name->is_null() && *name != "sentence_embedding")
      return fail_at({key}, Code::Unsupported, "{}", expected("\"sentence_embedding\"", *name));
  return out;
}

}  // namespace

Result<Modules> read_modules(const std::string& folder, std::size_t hidden_size) {
  Modules out;
  const std::string path = folder + "/modules.json";
  if (!is_file(path)) return out;
  LOOM_TRY(const Json modules, read_json_file(path));
  if (!modules.is_array()) return fail(Code::CorruptData, "{}: a list of modules expected", path);
  std::size_t width = hidden_size;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Json *type = find(modules[i], "type"), *place = find(modules[i], "path");
    const std::string* name = type == nullptr ? nullptr : as_string(*type);
    const std::string* below = place == nullptr ? nullptr : as_string(*place);
    if (name == nullptr || below == nullptr)
      return fail(Code::CorruptData, "{}: /{}: \"type\" and \"path\" expected", path, i);
    const Json* const kwargs = find(modules[i], "kwargs");
    if (kwargs != nullptr && !kwargs->is_null() && !kwargs->empty())
      return fail(Code::Unsupported, "{}: /{}/kwargs: {}: arguments of a call are not supported", path, i,
                  shown(*kwargs));
    const std::string kind = name->substr(name->rfind('.') + 1);
    if (kind == "Transformer" && i == 0) continue;
    if (i < 1 || (kind == "Pooling") != (i == 1) || (kind != "Pooling" && kind != "Normalize" && kind != "Dense"))
      return fail(Code::Unsupported, "{}: /{}: a module {} in this place is not supported", path, i, *name);
    if (kind == "Normalize") {
      if (i == 2)
        out.pooling.normalize = true;
      else
        out.after.emplace_back();
      continue;
    }
    LOOM_TRY(const std::string file, path_inside(folder, *below + "/config.json"));
    LOOM_TRY(const Json config, read_json_file(file));
    if (kind == "Pooling") {
      if (auto read = read_pooling_file(config, hidden_size, out.pooling); !read)
        return at(file, std::move(read).error());
      continue;
    }
    auto dense = read_dense(config, width);
    if (!dense) return at(file, std::move(dense).error());
    dense->folder = file.substr(0, file.rfind('/')), width = dense->out;
    out.after.push_back(std::move(*dense));
  }
  return out;
}

namespace {

Result<std::optional<std::size_t>> length_at(const Json& config, const char* key) {
  const Json* length = find(config, key);
  if (length == nullptr || length->is_null()) return std::nullopt;
  const auto tokens = as_number(*length);  // 1e30 stands for no limit
  if (!tokens || *tokens < 2) return fail_at({key}, Code::InvalidConfig, "{}", expected("2 or more", *length));
  return static_cast<std::size_t>(std::min(*tokens, 1e9));
}

Result<std::optional<std::size_t>> read_sentence_bert(const Json& config) {
  LOOM_TRY_VOID(check_keys(config, kSentenceBertKeys));
  if (is_true(config, "do_lower_case"))
    return fail_at({"do_lower_case"}, Code::Unsupported, "only the tokenizer may change letters");
  for (const auto& [key, usual] :
       {std::pair("transformer_task", "feature-extraction"), std::pair("module_output_name", "token_embeddings")})
    if (const Json* value = find(config, key); value != nullptr && !value->is_null() && *value != Json(usual))
      return fail_at({key}, Code::Unsupported, "{}", expected(fmt::format("\"{}\"", usual), *value));
  return length_at(config, "max_seq_length");
}

}  // namespace

Result<std::optional<std::size_t>> read_max_length(const std::string& folder) {
  if (const std::string path = folder + "/sentence_bert_config.json"; is_file(path)) {
    LOOM_TRY(const Json config, read_json_file(path));
    auto length = read_sentence_bert(config);
    if (!length) return at(path, std::move(length).error());
    if (*length) return length;
  }
  const std::string path = folder + "/tokenizer_config.json";
  if (!is_file(path)) return std::nullopt;
  LOOM_TRY(const Json settings, read_json_file(path));
  auto length = length_at(settings, "model_max_length");
  if (!length) return at(path, std::move(length).error());
  return length;
}

Result<EncoderPrompts> read_prompts(const std::string& folder) {
  EncoderPrompts prompts;
  const std::string path = folder + "/config_sentence_transformers.json";
  if (!is_file(path)) return prompts;
  LOOM_TRY(const Json config, read_json_file(path));
  if (auto known = check_keys(config, kPromptKeys); !known) return at(path, std::move(known).error());
  if (const Json* type = find(config, "model_type");
      type != nullptr && !type->is_null() && *type != Json("SentenceTransformer"))
    return fail(Code::Unsupported, "{}: /model_type: {}", path, expected("\"SentenceTransformer\"", *type));
  if (const Json* all = find(config, "prompts"); all != nullptr && !all->is_null()) {
    if (!all->is_object()) return fail(Code::InvalidConfig, "{}: /prompts: {}", path, expected("an object", *all));
    for (const auto& [name, text] : all->items()) {
      if (text.is_null()) continue;
      if (as_string(text) == nullptr)
        return fail(Code::InvalidConfig, "{}: /prompts/{}: {}", path, printable(name), expected("a text", text));
      prompts.texts[name] = *as_string(text);
    }
  }
  const Json* name = find(config, "default_prompt_name");
  if (name == nullptr || name->is_null()) return prompts;
  if (as_string(*name) == nullptr || !prompts.texts.contains(*as_string(*name)))
    return fail(Code::InvalidConfig, "{}: /default_prompt_name: {}", path,
                expected("one of the names in \"prompts\"", *name));
  prompts.default_name = *as_string(*name);
  return prompts;
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
