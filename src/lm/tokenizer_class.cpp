// As transformers 5.24 has them: models/*/tokenization_*.py and models/auto/tokenization_auto.py.

#include "lm/tokenizer_class.h"

#include <algorithm>
#include <array>

#include "core/config_reader.h"

namespace loom {
namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";  // SentencePiece's space
constexpr std::string_view kEndOfText = "<|endoftext|>";
// models/qwen2/tokenization_qwen2.py
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string_view type_of(const Json* part) {
  const Json* const type = part ? find(*part, "type") : nullptr;
  return type && as_string(*type) ? std::string_view(*as_string(*type)) : std::string_view();
}
const Json* part_of(const Json& file, std::string_view key) {
  const Json* const part = find(file, key);
  return part && !part->is_null() ? part : nullptr;
}
bool has_model(const Json& file, std::string_view type) {
  const Json* const model = part_of(file, "model");
  if (!model) return false;
  const std::string_view own = type_of(model);
  return own == type || (own.empty() && type == "BPE" && find(*model, "merges"));
}
bool has_text(const Json& part, std::string_view key, std::string_view text) {
  const Json* const value = find(part, key);
  return value && as_string(*value) && *as_string(*value) == text;
}

// Steps of a part: those of a Sequence, or the part alone.
std::vector<const Json*> steps_of(const Json* part, std::string_view list) {
  std::vector<const Json*> out;
  const Json* const inner = part && type_of(part) == "Sequence" ? find(*part, list) : nullptr;
  if (inner && inner->is_array()) {
    for (const Json& step : *inner) out.push_back(&step);
  } else if (part) {
    out.push_back(part);
  }
  return out;
}

bool is_replace_of_spaces(const Json& step) {
  const Json* const pattern = find(step, "pattern");
  return type_of(&step) == "Replace" && pattern && has_text(*pattern, "String", " ") &&
         has_text(step, "content", kBlank);
}

Result<bool> setting(const ClassSettings& settings, const char* key, bool fallback) {
  const Json* const value = find(settings.config, key);
  if (!value || value->is_null()) return fallback;
  const auto is_set = as_bool(*value);
  if (!is_set) return fail_at({key}, Code::InvalidConfig, "{}", expected("true or false", *value));
  return *is_set;
}

std::string named(const ClassSettings& settings, const char* name) {
  const auto found = settings.tokens.find(name);
  return found == settings.tokens.end() ? std::string() : found->second;
}

// ---- parts ----

Json replace_step(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}
Json metaspace(std::string_view scheme, bool split) {
  return {{"type", "Metaspace"}, {"replacement", kBlank}, {"prepend_scheme", scheme}, {"split", split}};
}
Json byte_level(bool prefix, bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", use_regex}};
}
Json byte_decoder() { return byte_level(true, true); }

void set_bpe(Json& file, Json unk, bool fuse_unk, bool byte_fallback) {
  Json& model = file["model"];
  model["type"] = "BPE", model["dropout"] = nullptr, model["unk_token"] = std::move(unk);
  model["continuing_subword_prefix"] = nullptr, model["end_of_word_suffix"] = nullptr;
  model["fuse_unk"] = fuse_unk, model["byte_fallback"] = byte_fallback, model["ignore_merges"] = false;
}

Json sentence_piece_decoder(bool strips) {
  Json steps = Json::array({replace_step(kBlank, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (strips) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", std::move(steps)}};
}

// Special tokens around a text; those without an id are left out.
void surround_by(Json& file, const std::vector<std::string>& before, const std::vector<std::string>& after) {
  Json single = Json::array(), pair = Json::array(), specials = Json::object();
  const auto add = [&](const std::string& text) {
    const std::int64_t id = token_id_of(file, text);
    if (text.empty() || id < 0) return;
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    specials[text] = {{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}};
  };
  for (const std::string& text : before) add(text);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  for (const std::string& text : after) add(text);
  pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  file["post_processor"] = {
      {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
}

// ---- SentencePiece as BPE ----

bool fits_llama(const Json& file) {
  if (!has_model(file, "BPE")) return false;
  for (const Json* step : steps_of(part_of(file, "normalizer"), "normalizers"))
    if (!is_replace_of_spaces(*step) && !(type_of(step) == "Prepend" && has_text(*step, "prepend", kBlank)))
      return false;
  const Json* const pre = part_of(file, "pre_tokenizer");
  return !pre || type_of(pre) == "Metaspace";
}

Result<void> rebuild_llama(Json& file, const ClassSettings& settings) {
  LOOM_TRY(const bool prefix, setting(settings, "add_prefix_space", true));
  LOOM_TRY(const bool legacy, setting(settings, "legacy", false));
  set_bpe(file, nullptr, true, true);
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = metaspace(!prefix ? "never" : legacy ? "always" : "first", false);
  file["decoder"] = sentence_piece_decoder(prefix);
  return {};
}

Result<void> rebuild_code_llama(Json& file, const ClassSettings& settings) {
  LOOM_TRY(const bool prefix, setting(settings, "add_prefix_space", true));
  set_bpe(file, named(settings, "unk_token"), true, true);
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = metaspace(prefix ? "first" : "never", false);
  file["decoder"] = sentence_piece_decoder(true);
  return {};
}
std::vector<std::string> code_llama_tokens(const Json&) {
  return {"\xE2\x96\x81<PRE>", "\xE2\x96\x81<MID>", "\xE2\x96\x81<SUF>", "\xE2\x96\x81<EOT>", "<FILL_ME>"};
}
void surround_code_llama(Json& file, const ClassSettings& settings) {
  surround_by(file, {named(settings, "bos_token")}, {});
}

bool fits_gemma(const Json& file) {
  const Json* const pre = part_of(file, "pre_tokenizer");
  const Json* const pattern = pre ? find(*pre, "pattern") : nullptr;
  const auto steps = steps_of(part_of(file, "normalizer"), "normalizers");
  return has_model(file, "BPE") && steps.size() == 1 && is_replace_of_spaces(*steps[0]) &&
         (!pre || (type_of(pre) == "Split" && pattern && has_text(*pattern, "String", " ")));
}
Result<void> rebuild_gemma(Json& file, const ClassSettings& settings) {
  set_bpe(file, named(settings, "unk_token"), true, true);
  file["normalizer"] = replace_step(" ", kBlank);
  file["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  file["decoder"] = sentence_piece_decoder(false);
  return {};
}

// ---- byte-level BPE ----

bool has_plain_bytes(const Json& file) {
  const Json* const pre = part_of(file, "pre_tokenizer");
  const Json* const regex = pre ? find(*pre, "use_regex") : nullptr;
  return has_model(file, "BPE") && type_of(pre) == "ByteLevel" && (!regex || as_bool(*regex).value_or(true));
}
bool fits_gpt2(const Json& file) { return has_plain_bytes(file) && !part_of(file, "normalizer"); }
Result<void> rebuild_gpt2(Json& file, const ClassSettings& settings) {
  LOOM_TRY(const bool prefix, setting(settings, "add_prefix_space", false));
  set_bpe(file, nullptr, false, false);
  file["pre_tokenizer"] = byte_level(prefix, true);
  file["decoder"] = byte_decoder();
  return {};
}
void surround_roberta(Json& file, const ClassSettings& settings) {
  surround_by(file, {named(settings, "cls_token")}, {named(settings, "sep_token")});
}

bool fits_neox(const Json& file) { return has_plain_bytes(file) && type_of(part_of(file, "normalizer")) == "NFC"; }
void surround_by_nothing(Json& file, const ClassSettings&) { surround_by(file, {}, {}); }

bool fits_qwen2(const Json& file) {
  const auto steps = steps_of(part_of(file, "pre_tokenizer"), "pretokenizers");
  if (!has_model(file, "BPE") || type_of(part_of(file, "normalizer")) != "NFC" || steps.size() != 2) return false;
  const Json* const pattern = find(*steps[0], "pattern");
  return type_of(steps[0]) == "Split" && pattern && has_text(*pattern, "Regex", kQwen2Pattern) &&
         type_of(steps[1]) == "ByteLevel";
}
Result<void> rebuild_qwen2(Json& file, const ClassSettings& settings) {
  LOOM_TRY(const bool prefix, setting(settings, "add_prefix_space", false));
  set_bpe(file, nullptr, false, false);
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", kQwen2Pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level(prefix, false)})}};
  file["decoder"] = byte_decoder();
  return {};
}

// ---- WordPiece ----

bool fits_bert(const Json& file) {
  return has_model(file, "WordPiece") && type_of(part_of(file, "normalizer")) == "BertNormalizer" &&
         type_of(part_of(file, "pre_tokenizer")) == "BertPreTokenizer";
}
Result<void> rebuild_bert(Json& file, const ClassSettings& settings) {
  LOOM_TRY(const bool lowercase, setting(settings, "do_lower_case", true));
  LOOM_TRY(const bool strip, setting(settings, "strip_accents", lowercase));
  LOOM_TRY(const bool chinese, setting(settings, "tokenize_chinese_chars", true));
  Json& model = file["model"];
  model["type"] = "WordPiece", model["unk_token"] = named(settings, "unk_token");
  model["continuing_subword_prefix"] = "##", model["max_input_chars_per_word"] = 100;
  file["normalizer"] = {{"type", "BertNormalizer"},
                        {"clean_text", true},
                        {"handle_chinese_chars", chinese},
                        {"strip_accents", strip},
                        {"lowercase", lowercase}};
  file["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  return {};
}

// ---- Unigram ----

bool fits_unigram(const Json& file) {
  const auto steps = steps_of(part_of(file, "pre_tokenizer"), "pretokenizers");
  const auto is_split = [](const Json* s) { return type_of(s) == "WhitespaceSplit" || type_of(s) == "Metaspace"; };
  return has_model(file, "Unigram") && !steps.empty() && std::ranges::all_of(steps, is_split) &&
         std::ranges::any_of(steps, [](const Json* s) { return type_of(s) == "Metaspace"; });
}
void set_unigram(Json& file, std::int64_t unk, std::string_view scheme) {
  file["model"]["type"] = "Unigram", file["model"]["unk_id"] = unk, file["model"]["byte_fallback"] = false;
  Json normalizer = nullptr;  // the character map alone stays
  for (const Json* step : steps_of(part_of(file, "normalizer"), "normalizers"))
    if (normalizer.is_null() && type_of(step) == "Precompiled") normalizer = *step;
  file["normalizer"] = std::move(normalizer);
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, metaspace(scheme, true)})}};
  file["decoder"] = metaspace(scheme, true);
}
Result<void> rebuild_t5(Json& file, const ClassSettings&) {
  set_unigram(file, 2, "always");
  return {};
}
void surround_t5(Json& file, const ClassSettings&) { surround_by(file, {}, {"</s>"}); }
std::vector<std::string> t5_tokens(const Json& config) {
  const Json* const count = find(config, "extra_ids");
  const std::int64_t n = std::clamp<std::int64_t>(count ? as_int(*count).value_or(100) : 100, 0, 10000);
  std::vector<std::string> out;
  out.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) out.push_back(fmt::format("<extra_id_{}>", i));
  return out;
}
Result<void> rebuild_xlm_roberta(Json& file, const ClassSettings& settings) {
  LOOM_TRY(const bool prefix, setting(settings, "add_prefix_space", true));
  set_unigram(file, 3, prefix ? "always" : "never");
  return {};
}
void surround_xlm_roberta(Json& file, const ClassSettings& settings) {
  surround_by(file, {named(settings, "bos_token")}, {named(settings, "eos_token")});
}

// ---- the classes ----

const std::vector<TokenizerClass>& classes() {
  static const TokenizerClass::Names of_llama = {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}},
                                     of_bert = {{"unk_token", "[UNK]"},
                                                {"sep_token", "[SEP]"},
                                                {"pad_token", "[PAD]"},
                                                {"cls_token", "[CLS]"},
                                                {"mask_token", "[MASK]"}},
                                     of_roberta = {{"bos_token", "<s>"},    {"eos_token", "</s>"},
                                                   {"sep_token", "</s>"},   {"cls_token", "<s>"},
                                                   {"unk_token", "<unk>"},  {"pad_token", "<pad>"},
                                                   {"mask_token", "<mask>"}};
  static const auto surround_bert = [](Json& file, const ClassSettings& settings) { surround_roberta(file, settings); };
  static const std::vector<std::string_view> bert_keys = {"do_lower_case", "strip_accents", "tokenize_chinese_chars"};
  static const std::vector<TokenizerClass> all = {
      {"LlamaTokenizer", of_llama, nullptr, fits_llama, rebuild_llama, nullptr, {"add_prefix_space", "legacy"}},
      {"CodeLlamaTokenizer",
       {{"unk_token", "<unk>"},
        {"bos_token", "<s>"},
        {"eos_token", "</s>"},
        {"prefix_token", "\xE2\x96\x81<PRE>"},
        {"middle_token", "\xE2\x96\x81<MID>"},
        {"suffix_token", "\xE2\x96\x81<SUF>"},
        {"eot_token", "\xE2\x96\x81<EOT>"},
        {"fill_token", "<FILL_ME>"}},
       code_llama_tokens,
       fits_llama,
       rebuild_code_llama,
       surround_code_llama,
       {"add_prefix_space"}},
      {"GemmaTokenizer",
       {{"unk_token", "<unk>"},
        {"bos_token", "<bos>"},
        {"eos_token", "<eos>"},
        {"pad_token", "<pad>"},
        {"mask_token", "<mask>"}},
       nullptr,
       fits_gemma,
       rebuild_gemma,
       nullptr,
       {}},
      {"GPT2Tokenizer",
       {{"unk_token", kEndOfText}, {"bos_token", kEndOfText}, {"eos_token", kEndOfText}},
       nullptr,
       fits_gpt2,
       rebuild_gpt2,
       nullptr,
       {"add_prefix_space"}},
      {"GPTNeoXTokenizer",
       {{"unk_token", kEndOfText}, {"bos_token", kEndOfText}, {"eos_token", kEndOfText}, {"pad_token", "<|padding|>"}},
       nullptr,
       fits_neox,
       rebuild_gpt2,
       surround_by_nothing,
       {"add_prefix_space"}},
      {"RobertaTokenizer", of_roberta, nullptr, fits_gpt2, rebuild_gpt2, surround_roberta, {"add_prefix_space"}},
      {"Qwen2Tokenizer",
       {{"unk_token", kEndOfText}, {"eos_token", kEndOfText}, {"pad_token", kEndOfText}},
       nullptr,
       fits_qwen2,
       rebuild_qwen2,
       nullptr,
       {"add_prefix_space"}},
      {"BertTokenizer", of_bert, nullptr, fits_bert, rebuild_bert, surround_bert, bert_keys},
      {"DistilBertTokenizer", of_bert, nullptr, fits_bert, rebuild_bert, surround_bert, bert_keys},
      {"T5Tokenizer",
       {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
       t5_tokens,
       fits_unigram,
       rebuild_t5,
       surround_t5,
       {"extra_ids"}},
      {"XLMRobertaTokenizer",
       of_roberta,
       nullptr,
       fits_unigram,
       rebuild_xlm_roberta,
       surround_xlm_roberta,
       {"add_prefix_space"}},
  };
  return all;
}

constexpr std::string_view kUnknown[] = {"AlbertTokenizer",      "BarthezTokenizer",    "BigBirdTokenizer",
                                         "BlenderbotTokenizer",  "CamembertTokenizer",  "CLIPTokenizer",
                                         "CodeGenTokenizer",     "CohereTokenizer",     "ConvBertTokenizer",
                                         "CpmTokenizer",         "DebertaTokenizer",    "DebertaV2Tokenizer",
                                         "DPRReaderTokenizer",   "EsmcTokenizer",       "DPRContextEncoderTokenizer",
                                         "FunnelTokenizer",      "HerbertTokenizer",    "DPRQuestionEncoderTokenizer",
                                         "LasrTokenizer",        "LayoutLMv2Tokenizer", "LayoutLMv3Tokenizer",
                                         "LayoutXLMTokenizer",   "LukeTokenizer",       "MarkupLMTokenizer",
                                         "MBartTokenizer",       "MBart50Tokenizer",    "MLukeTokenizer",
                                         "MPNetTokenizer",       "NllbTokenizer",       "NougatTokenizer",
                                         "OpenAIGPTTokenizer",   "PegasusTokenizer",    "Qwen3_5Tokenizer",
                                         "ReformerTokenizer",    "RemBertTokenizer",    "RoFormerTokenizer",
                                         "SeamlessM4TTokenizer", "Siglip2Tokenizer",    "SplinterTokenizer",
                                         "Tipsv2Tokenizer",      "UdopTokenizer",       "VideoPrismTokenizer",
                                         "WhisperTokenizer",     "XGLMTokenizer",       "XLNetTokenizer"};

std::string class_in(const Json& config) {
  const Json* const value = find(config, "tokenizer_class");
  if (!value || !as_string(*value)) return {};
  const std::string& name = *as_string(*value);
  return name.ends_with("Fast") ? name.substr(0, name.size() - 4) : name;
}

}  // namespace

const TokenizerClass* tokenizer_class(std::string_view name) {
  const auto found = std::ranges::find(classes(), name, &TokenizerClass::name);
  return found == classes().end() ? nullptr : &*found;
}

bool is_unknown_tokenizer_class(std::string_view name) {
  return std::ranges::find(kUnknown, name) != std::end(kUnknown);
}

std::string tokenizer_class_name(const Json& model_config, const Json& tokenizer_config, bool is_byte_level) {
  const Json* const type_value = find(model_config, "model_type");
  const std::string type = type_value && as_string(*type_value) ? *as_string(*type_value) : "";
  const std::string own = class_in(tokenizer_config);
  std::string declared = own.empty() ? class_in(model_config) : own;
  // Qwen2's class counts whatever a folder names, Mistral's takes tokenizer.json as it is.
  if (type == "qwen2") return "Qwen2Tokenizer";
  if (type == "mistral") return {};
  if (declared == "LlamaTokenizer" && is_byte_level) return {};
  if (declared.empty()) return type == "qwen3" ? "Qwen2Tokenizer" : type == "bert" ? "BertTokenizer" : "";
  return declared;
}

std::int64_t token_id_of(const Json& file, std::string_view text) {
  if (const Json* const added = part_of(file, "added_tokens"); added && added->is_array())
    for (const Json& token : *added)
      if (has_text(token, "content", text))
        if (const Json* const id = find(token, "id")) return as_int(*id).value_or(-1);
  const Json* const model = part_of(file, "model");
  const Json* const vocab = model ? find(*model, "vocab") : nullptr;
  if (!vocab) return -1;
  if (const Json* const id = find(*vocab, text)) return as_int(*id).value_or(-1);
  if (vocab->is_array())
    for (std::size_t i = 0; i < vocab->size(); ++i)
      if ((*vocab)[i].is_array() && !(*vocab)[i].empty() && as_string((*vocab)[i][0]) &&
          *as_string((*vocab)[i][0]) == text)
        return static_cast<std::int64_t>(i);
  return -1;
}

}  // namespace loom
