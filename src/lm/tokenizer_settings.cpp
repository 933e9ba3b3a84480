#include "lm/tokenizer_files.h"

#include <algorithm>

#include "core/config_reader.h"
#include "core/nearest.h"
#include "lm/tokenizer_parts.h"

namespace loom {
namespace {

constexpr std::string_view kNoCall = "the default of an argument of a call that Loom does not make";
constexpr std::string_view kNoBatch = "Loom pads no texts";
constexpr std::string_view kBook = "bookkeeping";
constexpr std::string_view kSlow = "read by tokenizers without a tokenizer.json only";
constexpr TokenizerSetting kSettings[] = {
    {"add_prefix_space", SettingUse::Read, ""},
    {"added_tokens_decoder", SettingUse::Read, ""},
    {"additional_special_tokens", SettingUse::Read, ""},
    {"auto_map", SettingUse::Read, ""},
    {"chat_control_tokens", SettingUse::Read, ""},
    {"chat_template", SettingUse::Read, ""},
    {"clean_up_tokenization_spaces", SettingUse::Read, ""},
    {"clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", SettingUse::Read, ""},
    {"do_lower_case", SettingUse::Read, ""},
    {"extra_ids", SettingUse::Read, ""},
    {"extra_special_tokens", SettingUse::Read, ""},
    {"fix_mistral_regex", SettingUse::Read, ""},
    {"legacy", SettingUse::Read, ""},
    {"model_specific_special_tokens", SettingUse::Read, ""},
    {"padding_side", SettingUse::Read, ""},
    {"split_special_tokens", SettingUse::Read, ""},
    {"strip_accents", SettingUse::Read, ""},
    {"tokenize_chinese_chars", SettingUse::Read, ""},
    {"tokenizer_class", SettingUse::Read, ""},
    {"truncation_side", SettingUse::Read, ""},
    {"add_bos_token", SettingUse::Harmless, "the post_processor of tokenizer.json says what surrounds a text"},
    {"add_eos_token", SettingUse::Harmless, "the post_processor of tokenizer.json says what surrounds a text"},
    {"backend", SettingUse::Harmless, kBook},
    {"do_basic_tokenize", SettingUse::Harmless, kSlow},
    {"errors", SettingUse::Harmless, "texts are bytes; none are replaced"},
    {"files_loaded", SettingUse::Harmless, kBook},
    {"from_slow", SettingUse::Harmless, kSlow},
    {"is_local", SettingUse::Harmless, kBook},
    {"keep_accents", SettingUse::Harmless, "read by tokenizer classes that are refused"},
    {"local_files_only", SettingUse::Harmless, kBook},
    {"mask_padding_with_zero", SettingUse::Harmless, kNoBatch},
    {"max_len", SettingUse::Harmless, "an older name of model_max_length"},
    {"max_length", SettingUse::Harmless, kNoCall},
    {"model_input_names", SettingUse::Harmless, "inputs are those of the model"},
    {"model_max_length", SettingUse::Harmless, "config.json says the context; text encoders read it"},
    {"name_or_path", SettingUse::Harmless, kBook},
    {"never_split", SettingUse::Harmless, kSlow},
    {"pad_to_multiple_of", SettingUse::Harmless, kNoBatch},
    {"pad_token_type_id", SettingUse::Harmless, kNoBatch},
    {"padding", SettingUse::Harmless, kNoBatch},
    {"processor_class", SettingUse::Harmless, kBook},
    {"remove_space", SettingUse::Harmless, "read by tokenizer classes that are refused"},
    {"response_schema", SettingUse::Harmless, "about reading answers"},
    {"response_template", SettingUse::Harmless, "about reading answers"},
    {"return_token_type_ids", SettingUse::Harmless, kNoCall},
    {"sp_model_kwargs", SettingUse::Harmless, kSlow},
    {"spaces_between_special_tokens", SettingUse::Harmless, kSlow},
    {"special_tokens_map_file", SettingUse::Harmless, kBook},
    {"stride", SettingUse::Harmless, kNoCall},
    {"tokenizer_file", SettingUse::Harmless, "tokenizer.json of the folder counts"},
    {"trim_offsets", SettingUse::Harmless, "moves offsets only"},
    {"truncation", SettingUse::Harmless, kNoCall},
    {"truncation_strategy", SettingUse::Harmless, kNoCall},
    {"trust_remote_code", SettingUse::Harmless, kBook},
    {"unk_id", SettingUse::Harmless, "the model of tokenizer.json names its unknown token"},
    {"use_default_system_prompt", SettingUse::Harmless, "the chat template writes system messages"},
    {"use_fast", SettingUse::Harmless, kBook},
    {"vocab_file", SettingUse::Harmless, "tokenizer.json of the folder counts"},
    {"verbose", SettingUse::Harmless, kBook},
    {"vocab_size", SettingUse::Harmless, kBook},
    {"wordpieces_prefix", SettingUse::Harmless, kSlow},
    {"fast_tokenizer_files", SettingUse::Refused, "it chooses a file by the version of transformers"},
    {"init_inputs", SettingUse::Refused, "it holds arguments without names"},
};

// The pattern of Tekken that transformers writes over the one of older folders of Mistral.
constexpr std::string_view kMistralPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Result<bool> is_set(const Json& config, const char* key) {
  const Json* const value = find(config, key);
  if (!value || value->is_null()) return false;
  const auto flag = as_bool(*value);
  if (!flag) return fail_at({key}, Code::InvalidConfig, "{}", expected("true or false", *value));
  return *flag;
}

// Returns whether the file was written by a transformers before version 5.
bool is_before_version_5(const Json& model_config) {
  const Json* const value = find(model_config, "transformers_version");
  const std::string* const version = value ? as_string(*value) : nullptr;
  if (!version || version->empty()) return true;
  if (version->starts_with("5.0.0") && version->find_first_of("abdr", 5) != version->npos) return true;
  const std::string major = version->substr(0, version->find('.'));
  return major.size() == 1 && major[0] < '5';
}

bool is_mistral(const Json& model_config) {
  constexpr std::string_view kTypes[] = {"mistral", "mistral3", "voxtral", "ministral", "pixtral"};
  const Json* const type = find(model_config, "model_type");
  if (!type || type->is_null()) return true;
  return as_string(*type) && std::ranges::find(kTypes, *as_string(*type)) != std::end(kTypes);
}

std::size_t vocabulary_size(const Json& file) {
  const Json* const model = find(file, "model");
  const Json* const vocab = model ? find(*model, "vocab") : nullptr;
  std::size_t size = vocab ? vocab->size() : 0;
  if (const Json* const added = find(file, "added_tokens"); added && added->is_array())
    for (const Json& token : *added)
      if (const Json* const id = find(token, "id"))
        size = std::max(size, static_cast<std::size_t>(std::max<std::int64_t>(as_int(*id).value_or(0), 0)) + 1);
  return size;
}

void write_mistral_pattern(Json& file) {
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", kMistralPattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  Json& pre = file["pre_tokenizer"];
  const Json* const type = find(pre, "type");
  if (type && *type == Json("Sequence") && pre.contains("pretokenizers") && !pre["pretokenizers"].empty()) {
    pre["pretokenizers"][0] = split;
    return;
  }
  if (type && *type == Json("Metaspace"))
    pre = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  pre = {{"type", "Sequence"}, {"pretokenizers", Json::array({split, pre})}};
}

// PreTrainedTokenizerBase.clean_up_tokenization: English spacing, over the whole text.
void add_clean_up(Json& file) {
  constexpr std::string_view kPairs[][2] = {{" .", "."},     {" ?", "?"},     {" !", "!"},   {" ,", ","},
                                            {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
                                            {" 've", "'ve"}, {" 're", "'re"}};
  Json& decoder = file["decoder"];
  Json steps = Json::array();
  // Without a decoder tokens are joined by spaces, as this one does.
  steps.push_back(decoder.is_null() ? Json{{"type", "WordPiece"}, {"prefix", ""}, {"cleanup", false}} : decoder);
  steps.push_back({{"type", "Fuse"}});
  for (const auto& [from, to] : kPairs)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}});
  decoder = {{"type", "Sequence"}, {"decoders", std::move(steps)}};
}

}  // namespace

std::span<const TokenizerSetting> tokenizer_settings() { return kSettings; }

Result<void> check_tokenizer_settings(const Json& config) {
  if (!config.is_object()) return {};
  for (const auto& [key, value] : config.items()) {
    if (value.is_null() || key.ends_with("_token")) continue;
    const auto known = std::ranges::find(kSettings, key, &TokenizerSetting::key);
    if (known == std::end(kSettings))
      return fail_at({printable(key)}, Code::UnknownKey,
                     "unknown key with the value {}; it might change tokens, so the folder is refused. Remove the key "
                     "if it does not",
                     shown(value));
    if (known->use == SettingUse::Refused && !(value.is_structured() && value.empty()))
      return fail_at({key}, Code::Unsupported, "{} is not supported: {}", shown(value), known->reason);
  }
  for (const char* key : {"padding_side", "truncation_side"})
    if (const Json* const side = find(config, key);
        side && !side->is_null() && *side != Json("left") && *side != Json("right"))
      return fail_at({key}, Code::InvalidConfig, "{}", expected("\"left\" or \"right\"", *side));
  return {};
}

Result<bool> apply_tokenizer_settings(const Json& model_config, const Json& config, Json& file) {
  bool changes = false;
  LOOM_TRY(const bool cleans_up, is_set(config, "clean_up_tokenization_spaces"));
  LOOM_TRY(const bool for_all,
           is_set(config, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"));
  const Json* const model = find(file, "model");
  const Json* const type = model ? find(*model, "type") : nullptr;
  const bool is_bpe = type ? *type == Json("BPE") : model && find(*model, "merges");
  if (cleans_up && (for_all || !is_bpe)) {
    add_clean_up(file);
    changes = true;
  }
  LOOM_TRY(const bool splits, is_set(config, "split_special_tokens"));
  if (splits) file["encode_special_tokens"] = true, changes = true;
  if (const Json* const tokens = find(config, "chat_control_tokens"); tokens && !tokens->is_null()) {
    const auto is_text = [](const Json& v) { return as_string(v) != nullptr; };
    if (!tokens->is_array() || !std::ranges::all_of(*tokens, is_text))
      return fail_at({"chat_control_tokens"}, Code::InvalidConfig, "{}", expected("a list of texts", *tokens));
    file["chat_control_tokens"] = *tokens, changes = true;
  }
  LOOM_TRY(const bool fixes, is_set(config, "fix_mistral_regex"));
  const Json* const pre = find(file, "pre_tokenizer");
  if (fixes && pre && !pre->is_null() && vocabulary_size(file) > 100000 && model_config.is_object() &&
      is_mistral(model_config) && is_before_version_5(model_config)) {
    write_mistral_pattern(file);
    changes = true;
  }
  return changes;
}

}  // namespace loom
