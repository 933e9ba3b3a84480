// Vocabularies as GGUF files carry them: the scheme is named, its patterns and flags are known by that name.

#include <algorithm>

#include "text/tokenizer/parts.h"
#include "text/tokenizer/pre_rules.h"

namespace loom::text {
namespace {

enum TokenType : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

// A byte-level vocabulary cuts its text by patterns, applied one after another, each to the pieces of the one before.
struct PreScheme {
  const char* names;  // separated by spaces
  const char* patterns[6];
  bool ignore_merges = false, add_bos = false, nfc = false;
};

constexpr const char* kGpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
constexpr const char* kLlama3 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kQwen2 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kQwen35 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
    "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kGpt4o =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|"
    "'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|"
    "'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kTekken =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kPunctuationRuns = "[\\p{P}\\$\\+<=>\\^~\\|]+";
// The steps of the tokenizer.json of these models.
constexpr const char* kFalconPunctuation = "[\\p{P}\\$\\+<=>\\^~\\|`]+";
constexpr const char* kLineBreak = "[\\r\\n]";
constexpr const char* kDeepSeekLetters =
    "\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}\\x{295}-\\x{"
    "2AF}\\x{370}-\\x{373}"
    "\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{"
    "3F7}-\\x{481}"
    "\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}"
    "\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}"
    "\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-"
    "\\x{1FB4}"
    "\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-"
    "\\x{1FEC}"
    "\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}"
    "\\x{2126}"
    "\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}"
    "\\x{2184}"
    "\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}"
    "\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}"
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-"
    "\\x{10CB2}"
    "\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+";
constexpr const char* kDeepSeekPunctuation =
    "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+";
constexpr const char* kDeepSeekScripts = "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+";
constexpr const char* kDeepSeek3Words =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\\r\\n]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

constexpr PreScheme kSchemes[] = {
    {"default", {kPunctuationRuns, kGpt2, "\\p{N}+|[0-9][0-9][0-9]"}},
    {"gpt-2 phi-2 mpt olmo jais trillion granite-docling jina-es jina-de jina-v2-es jina-v2-de roberta-bpe exaone4",
     {kGpt2}},
    {"smollm starcoder refact command-r codeshell exaone minerva-7b", {"\\p{N}", kGpt2}},
    {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 dbrx smaug-bpe", {kLlama3}, true, true},
    {"qwen2 deepseek-r1-qwen stablelm2 megrez hunyuan", {kQwen2}},
    {"qwen35", {kQwen35}},
    {"gpt-4o llama4", {kGpt4o}},
    {"tekken", {kTekken}, true, true},
    {"falcon", {kFalconPunctuation, kGpt2, "[0-9][0-9][0-9]"}},
    {"deepseek-llm", {kLineBreak, kDeepSeekLetters, kDeepSeekPunctuation, "\\s+$", kDeepSeekScripts, "\\p{N}"}},
    {"deepseek-coder", {kLineBreak, "\\s?\\p{L}+", "\\s?\\p{P}+", kDeepSeekScripts, "\\p{N}"}},
    {"deepseek-v3", {"\\p{N}{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+", kDeepSeek3Words}},
};

// The metadata that a kind of vocabulary requires to cut text. llama.cpp guesses some of it; a wrong guess would change
// ids without a message.
struct Needs {
  std::string_view model;
  bool merges, scores, types, unk, ends;  // ends: the tokens around a text, where they are not switched off
};
constexpr Needs kNeeds[] = {
    {"gpt2", true, false, false, false, false},  {"llama", false, true, true, false, false},
    {"gemma4", true, false, true, false, false}, {"bert", false, false, false, true, true},
    {"t5", false, true, true, true, false},
};

const PreScheme* scheme_of(std::string_view name) {
  for (const PreScheme& s : kSchemes) {
    std::string_view names = s.names;
    while (!names.empty()) {
      const std::size_t space = std::min(names.find(' '), names.size());
      if (names.substr(0, space) == name) return &s;
      names.remove_prefix(std::min(space + 1, names.size()));
    }
  }
  return nullptr;
}

class Loader {
 public:
  explicit Loader(VocabSpec spec) : spec_(std::move(spec)), parts_(std::make_unique<Tokenizer::Parts>()) {}

  Result<Tokenizer> load() {
    LOOM_TRY_VOID(check());
    LOOM_TRY_VOID(check_needs());
    LOOM_TRY_VOID(read_tokens());
    if (spec_.model == "gpt2") {
      LOOM_TRY_VOID(byte_level());
    } else if (spec_.model == "llama") {
      LOOM_TRY_VOID(sentence_piece());
    } else if (spec_.model == "gemma4") {
      LOOM_TRY_VOID(gemma());
    } else if (spec_.model == "bert") {
      LOOM_TRY_VOID(bert());
    } else if (spec_.model == "t5") {
      LOOM_TRY_VOID(unigram());
    } else {
      return fail(Code::Unsupported,
                  "tokenizer.ggml.model \"{}\" is not known, expected gpt2, llama, gemma4, bert or t5",
                  spec_.model.substr(0, 60));
    }
    parts_->bos = spec_.bos;
    parts_->eos = spec_.eos;
    return TokenizerBuilder::finish(std::move(parts_));
  }

 private:
  Result<void> check() const {
    const std::size_t n = spec_.tokens.size();
    if (n == 0) return fail(Code::CorruptData, "tokenizer.ggml.tokens is empty");
    if (!spec_.types.empty() && spec_.types.size() != n)
      return fail(Code::CorruptData, "tokenizer.ggml.token_type has {} entries for {} tokens", spec_.types.size(), n);
    if (!spec_.scores.empty() && spec_.scores.size() != n)
      return fail(Code::CorruptData, "tokenizer.ggml.scores has {} entries for {} tokens", spec_.scores.size(), n);
    for (const auto* id : {&spec_.bos, &spec_.eos, &spec_.unk, &spec_.sep, &spec_.cls})
      if (*id && (**id < 0 || static_cast<std::size_t>(**id) >= n))
        return fail(Code::OutOfRange, "tokenizer.ggml: special token id {} of {} tokens", **id, n);
    return {};
  }

  Result<void> check_needs() const {
    const auto kind = std::ranges::find(kNeeds, spec_.model, &Needs::model);
    if (kind == std::end(kNeeds)) return {};
    const bool has_cls = spec_.cls || spec_.bos || !spec_.add_bos.value_or(true);
    const bool has_sep = spec_.sep || spec_.eos || !spec_.add_sep.value_or(true);
    for (const auto& [needed, there, key] :
         {std::tuple(kind->merges, !spec_.merges.empty(), "merges"),
          std::tuple(kind->scores, !spec_.scores.empty(), "scores"),
          std::tuple(kind->types, !spec_.types.empty(), "token_type"),
          std::tuple(kind->unk, spec_.unk.has_value(), "unknown_token_id"),
          std::tuple(kind->ends, has_cls, "cls_token_id"), std::tuple(kind->ends, has_sep, "seperator_token_id")})
      if (needed && !there)
        return fail(Code::CorruptData,
                    "tokenizer.ggml.{} is missing or empty, which a \"{}\" vocabulary needs; convert the model again",
                    key, spec_.model);
    return {};
  }

  Result<void> read_tokens() {
    std::size_t bytes = 0;
    for (const auto& t : spec_.tokens) bytes += t.size();
    vocab_.reserve(spec_.tokens.size(), bytes);
    for (std::size_t i = 0; i < spec_.tokens.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      LOOM_TRY_VOID(vocab_.add(spec_.tokens[i], id));
      const std::int32_t type = spec_.types.empty() ? kNormal : spec_.types[i];
      if (type != kControl && type != kUserDefined && type != kUnknown) continue;
      if (spec_.tokens[i].size() > TokenMatcher::kMaxText) continue;
      // A marker that ends an answer is never taken from a user's text, whatever the converter wrote.
      const auto ends = end_markers();
      const bool special = type != kUserDefined || spec_.tokens[i] == "</s>" ||
                           std::find(ends.begin(), ends.end(), spec_.tokens[i]) != ends.end();
      parts_->added.push_back({spec_.tokens[i], id, false, false, false, false, special});
    }
    if (!spec_.blanks_go_with_markers.value_or(false)) return {};
    for (AddedToken& t : parts_->added)
      t.rstrip = t.content != "<unk>" && t.content != "<s>" && t.content != "<|endoftext|>";
    return {};
  }

  // "left right"; the space may itself start the right token, never the left one.
  Result<std::vector<BpeModel::Merge>> merges() const {
    std::vector<BpeModel::Merge> out;
    out.reserve(spec_.merges.size());
    for (const std::string& m : spec_.merges) {
      const std::size_t space = m.find(' ', 1);
      if (space == std::string::npos)
        return fail(Code::CorruptData, "tokenizer.ggml.merges: entry {} is \"{}\", expected two tokens", out.size(),
                    m.substr(0, 60));
      out.push_back({std::string_view(m).substr(0, space), std::string_view(m).substr(space + 1)});
    }
    return out;
  }

  void surround(bool bos_by_default) {
    if (spec_.bos && spec_.add_bos.value_or(bos_by_default)) parts_->prefix.push_back(*spec_.bos);
    if (spec_.eos && spec_.add_eos.value_or(false)) parts_->suffix.push_back(*spec_.eos);
  }

  Result<void> byte_level() {
    const std::string pre = spec_.pre.empty() ? "default" : spec_.pre;
    const PreScheme* scheme = scheme_of(pre);
    if (!scheme)
      return fail(Code::Unsupported,
                  "tokenizer.ggml.pre \"{}\" is not known: its rule for cutting text would be a guess",
                  pre.substr(0, 60));
    for (const char* pattern : scheme->patterns) {
      if (!pattern) break;
      LOOM_TRY(auto split, make_regex_split(pattern));
      parts_->pre_tokenizers.push_back(std::move(split));
    }
    BpeConfig config;
    config.bytes = true;
    config.ignore_merges = scheme->ignore_merges;
    LOOM_TRY(const auto list, merges());
    LOOM_TRY(parts_->model, BpeModel::create(std::move(vocab_), list, std::move(config), false));
    parts_->decoders.push_back(make_byte_level_decoder());
    surround(scheme->add_bos);
    return {};
  }

  void spaces_to_marks(bool prefix) {
    std::vector<NormalizerPtr> steps;
    if (prefix) steps.push_back(make_prepend(std::string(kSpaceMark)));
    steps.push_back(make_replace_text(" ", std::string(kSpaceMark)));
    parts_->normalizer = make_sequence(std::move(steps));
    parts_->decoders.push_back(make_replace_decoder({std::string(kSpaceMark), nullptr}, " "));
    parts_->decoders.push_back(make_byte_fallback_decoder());
    if (prefix) parts_->decoders.push_back(make_strip_decoder(" ", 1, 0, true));
  }

  BpeConfig text_config() const {
    BpeConfig config;
    config.byte_fallback = true;
    config.fuse_unk = true;
    if (spec_.unk) config.unk = spec_.tokens[static_cast<std::size_t>(*spec_.unk)];
    return config;
  }

  Result<void> sentence_piece() {
    LOOM_TRY(parts_->model, BpeModel::from_scores(std::move(vocab_), spec_.scores, text_config()));
    spaces_to_marks(spec_.add_space_prefix.value_or(true));
    surround(true);
    return {};
  }

  // Merges by rank over text whose spaces are marks; line breaks stand apart.
  Result<void> gemma() {
    LOOM_TRY(const auto list, merges());
    LOOM_TRY(parts_->model, BpeModel::create(std::move(vocab_), list, text_config(), false));
    LOOM_TRY(auto lines, make_regex_split("[^\\n]+|\\n+"));
    parts_->pre_tokenizers.push_back(std::move(lines));
    spaces_to_marks(spec_.add_space_prefix.value_or(false));
    surround(true);
    return {};
  }

  // Words start with a mark and continue bare.
  Result<void> bert() {
    WordPieceConfig config;
    config.continuing_prefix.clear();
    config.word_prefix = std::string(kSpaceMark);
    config.unk = spec_.unk.value_or(kNoToken);
    config.max_chars = 4096;
    LOOM_TRY(parts_->model, WordPieceModel::create(std::move(vocab_), std::move(config)));
    parts_->normalizer = make_bert_normalizer({});
    parts_->pre_tokenizers.push_back(make_white_space_split());
    parts_->pre_tokenizers.push_back(make_bert_pre_tokenizer());
    parts_->decoders.push_back(make_replace_decoder({std::string(kSpaceMark), nullptr}, " "));
    parts_->decoders.push_back(make_strip_decoder(" ", 1, 0, true));
    const auto cls = spec_.cls ? spec_.cls : spec_.bos, sep = spec_.sep ? spec_.sep : spec_.eos;
    if (cls && spec_.add_bos.value_or(true)) parts_->prefix.push_back(*cls);
    if (sep && spec_.add_sep.value_or(true)) parts_->suffix.push_back(*sep);
    return {};
  }

  Result<void> unigram() {
    UnigramConfig config;
    config.unk = spec_.unk.value_or(kNoToken);
    config.byte_fallback = true;
    LOOM_TRY(
        parts_->model,
        UnigramModel::create(std::move(vocab_), std::vector<double>(spec_.scores.begin(), spec_.scores.end()), config));
    std::vector<NormalizerPtr> steps;
    if (!spec_.precompiled_charsmap.empty()) {
      LOOM_TRY(auto charsmap, make_precompiled(spec_.precompiled_charsmap, false));
      steps.push_back(std::move(charsmap));
    }
    if (spec_.remove_extra_whitespaces.value_or(true)) steps.push_back(make_collapse_spaces(" "));
    const bool prefix = spec_.add_space_prefix.value_or(true);
    if (prefix) steps.push_back(make_prepend(std::string(kSpaceMark)));
    steps.push_back(make_replace_text(" ", std::string(kSpaceMark)));
    spaces_to_marks(prefix);
    parts_->normalizer = make_sequence(std::move(steps));
    surround(false);
    if (spec_.eos && spec_.add_eos.value_or(true) && parts_->suffix.empty()) parts_->suffix.push_back(*spec_.eos);
    return {};
  }

  VocabSpec spec_;
  Vocab vocab_;
  std::unique_ptr<Tokenizer::Parts> parts_;
};

constexpr std::string_view kEndMarkers[] = {"<|im_end|>",    "<|eot_id|>",      "<|eom_id|>",
                                            "<end_of_turn>", "<|endoftext|>",   "<|end|>",
                                            "<|return|>",    "<|end_of_text|>", "<|call|>"};

}  // namespace

std::optional<PreRules> pre_rules(std::string_view name) {
  const PreScheme* const scheme = scheme_of(name.empty() ? "default" : name);
  if (scheme == nullptr) return std::nullopt;
  PreRules rules{{}, scheme->ignore_merges, scheme->add_bos};
  for (const char* pattern : scheme->patterns)
    if (pattern != nullptr) rules.patterns.push_back(pattern);
  return rules;
}

std::span<const std::string_view> end_markers() { return kEndMarkers; }

void VocabSpec::general_name(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (lower.find("phi-3") != std::string::npos || lower.find("phi3") != std::string::npos)
    blanks_go_with_markers = true;
}

Result<Tokenizer> Tokenizer::from_vocab(VocabSpec spec) { return Loader(std::move(spec)).load(); }

}  // namespace loom::text
