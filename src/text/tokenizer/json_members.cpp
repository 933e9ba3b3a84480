#include "text/tokenizer/json_members.h"

#include <algorithm>

#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"

namespace loom::text {
namespace {

using NameList = std::span<const std::string_view>;
constexpr std::string_view kFile[] = {"added_tokens", "normalizer", "pre_tokenizer",         "post_processor",
                                      "decoder",      "model",      "encode_special_tokens", "chat_control_tokens"};
// Texts are cut and filled up only where a call of transformers asks for it.
constexpr std::string_view kFileNoEffect[] = {"version", "truncation", "padding"};
constexpr std::string_view kAddedToken[] = {"id",     "content",    "single_word", "lstrip",
                                            "rstrip", "normalized", "special"};
constexpr std::string_view kBertNormalizer[] = {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"};
constexpr std::string_view kStripNormalizer[] = {"strip_left", "strip_right"};
constexpr std::string_view kPrecompiled[] = {"precompiled_charsmap"};
constexpr std::string_view kReplace[] = {"pattern", "content"};
constexpr std::string_view kPrepend[] = {"prepend"};
constexpr std::string_view kNormalizers[] = {"normalizers"};
constexpr std::string_view kByteLevel[] = {"add_prefix_space", "use_regex"};
constexpr std::string_view kOffsets[] = {"trim_offsets"};
constexpr std::string_view kByteLevelNoEffect[] = {"add_prefix_space", "trim_offsets", "use_regex"};
constexpr std::string_view kDelimiter[] = {"delimiter"};
constexpr std::string_view kMetaspace[] = {"replacement", "add_prefix_space", "prepend_scheme", "split"};
constexpr std::string_view kMetaspaceDecoder[] = {"replacement", "add_prefix_space", "prepend_scheme"};
constexpr std::string_view kOldReplacement[] = {"str_rep"};  // the replacement once more
constexpr std::string_view kMetaspaceNoEffect[] = {"str_rep", "split"};
constexpr std::string_view kPreTokenizers[] = {"pretokenizers"};
constexpr std::string_view kSplit[] = {"pattern", "behavior", "invert"};
constexpr std::string_view kBehavior[] = {"behavior"};
constexpr std::string_view kDigitsMembers[] = {"individual_digits"};
constexpr std::string_view kLength[] = {"length"};
constexpr std::string_view kAround[] = {"sep", "cls"};
constexpr std::string_view kRobertaNoEffect[] = {"trim_offsets", "add_prefix_space"};
constexpr std::string_view kTemplate[] = {"single", "special_tokens"};
constexpr std::string_view kPair[] = {"pair"};  // pairs of texts are not encoded
constexpr std::string_view kProcessors[] = {"processors"};
constexpr std::string_view kSuffix[] = {"suffix"};
constexpr std::string_view kWordPieceDecoder[] = {"prefix", "cleanup"};
constexpr std::string_view kCtc[] = {"pad_token", "word_delimiter_token", "cleanup"};
constexpr std::string_view kDecoders[] = {"decoders"};
constexpr std::string_view kStripDecoder[] = {"content", "start", "stop"};
constexpr std::string_view kBpe[] = {"dropout",
                                     "unk_token",
                                     "continuing_subword_prefix",
                                     "end_of_word_suffix",
                                     "fuse_unk",
                                     "byte_fallback",
                                     "ignore_merges",
                                     "vocab",
                                     "merges"};
constexpr std::string_view kWordPiece[] = {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word",
                                           "vocab"};
constexpr std::string_view kWordLevel[] = {"unk_token", "vocab"};
constexpr std::string_view kUnigram[] = {"unk_id", "byte_fallback", "vocab"};

constexpr ComponentMembers kComponents[] = {
    {"", "", kFile, kFileNoEffect},
    {"added_tokens", "", kAddedToken, {}},
    {"normalizer", "BertNormalizer", kBertNormalizer, {}},
    {"normalizer", "ByteLevel", {}, {}},
    {"normalizer", "Lowercase", {}, {}},
    {"normalizer", "NFC", {}, {}},
    {"normalizer", "NFD", {}, {}},
    {"normalizer", "NFKC", {}, {}},
    {"normalizer", "NFKD", {}, {}},
    {"normalizer", "Nmt", {}, {}},
    {"normalizer", "Precompiled", kPrecompiled, {}},
    {"normalizer", "Prepend", kPrepend, {}},
    {"normalizer", "Replace", kReplace, {}},
    {"normalizer", "Sequence", kNormalizers, {}},
    {"normalizer", "Strip", kStripNormalizer, {}},
    {"normalizer", "StripAccents", {}, {}},
    {"pre_tokenizer", "BertPreTokenizer", {}, {}},
    {"pre_tokenizer", "ByteLevel", kByteLevel, kOffsets},
    {"pre_tokenizer", "CharDelimiterSplit", kDelimiter, {}},
    {"pre_tokenizer", "Digits", kDigitsMembers, {}},
    {"pre_tokenizer", "FixedLength", kLength, {}},
    {"pre_tokenizer", "Metaspace", kMetaspace, kOldReplacement},
    {"pre_tokenizer", "Punctuation", kBehavior, {}},
    {"pre_tokenizer", "Sequence", kPreTokenizers, {}},
    {"pre_tokenizer", "Split", kSplit, {}},
    {"pre_tokenizer", "UnicodeScripts", {}, {}},
    {"pre_tokenizer", "Whitespace", {}, {}},
    {"pre_tokenizer", "WhitespaceSplit", {}, {}},
    {"post_processor", "BertProcessing", kAround, {}},
    {"post_processor", "ByteLevel", {}, kByteLevelNoEffect},
    {"post_processor", "RobertaProcessing", kAround, kRobertaNoEffect},
    {"post_processor", "Sequence", kProcessors, {}},
    {"post_processor", "TemplateProcessing", kTemplate, kPair},
    {"decoder", "BPEDecoder", kSuffix, {}},
    {"decoder", "ByteFallback", {}, {}},
    {"decoder", "ByteLevel", {}, kByteLevelNoEffect},
    {"decoder", "CTC", kCtc, {}},
    {"decoder", "Fuse", {}, {}},
    {"decoder", "Metaspace", kMetaspaceDecoder, kMetaspaceNoEffect},
    {"decoder", "Replace", kReplace, {}},
    {"decoder", "Sequence", kDecoders, {}},
    {"decoder", "Strip", kStripDecoder, {}},
    {"decoder", "WordPiece", kWordPieceDecoder, {}},
    {"model", "BPE", kBpe, {}},
    {"model", "Unigram", kUnigram, {}},
    {"model", "WordLevel", kWordLevel, {}},
    {"model", "WordPiece", kWordPiece, {}},
};

bool is_listed(NameList list, std::string_view name) { return std::ranges::find(list, name) != list.end(); }

// The row of a component, or null. A model without a type is one of the older files.
const ComponentMembers* row_of(std::string_view part, const Json& spec) {
  const Json* const type = find(spec, "type");
  std::string_view name = type && as_string(*type) ? std::string_view(*as_string(*type)) : std::string_view();
  if (part == "model" && name.empty())
    name = find(spec, "merges")                     ? "BPE"
           : find(spec, "unk_id")                   ? "Unigram"
           : find(spec, "max_input_chars_per_word") ? "WordPiece"
                                                    : "";
  const auto found = std::ranges::find_if(
      kComponents, [&](const ComponentMembers& row) { return row.part == part && row.type == name; });
  return found == std::end(kComponents) ? nullptr : found;
}

Result<void> check_component(std::string_view part, const Json& spec, int depth) {
  const ComponentMembers* const row = row_of(part, spec);
  if (!row || !spec.is_object() || depth > 32) return {};
  for (const auto& [key, value] : spec.items()) {
    if ((key == "type" && !row->type.empty()) || is_listed(row->read, key) || is_listed(row->no_effect, key)) continue;
    const std::string place =
        part.empty() ? std::string("tokenizer") : fmt::format("{}{}{}", part, row->type.empty() ? "" : " ", row->type);
    return fail(Code::UnknownKey, "{}: unknown key \"{}\" with the value {}; it might change tokens", place,
                printable(key), shown(value));
  }
  if (row->type != "Sequence") return {};
  const Json* const inner = find(spec, row->read[0]);
  if (inner && inner->is_array())
    for (const Json& step : *inner) LOOM_TRY_VOID(check_component(part, step, depth + 1));
  return {};
}

}  // namespace

std::span<const ComponentMembers> component_members() { return kComponents; }

Result<void> check_members(const Json& tokenizer) {
  LOOM_TRY_VOID(check_component("", tokenizer, 0));
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder", "model"})
    if (const Json* const spec = find(tokenizer, part)) LOOM_TRY_VOID(check_component(part, *spec, 0));
  const Json* const added = find(tokenizer, "added_tokens");
  if (added && added->is_array())
    for (const Json& token : *added) LOOM_TRY_VOID(check_component("added_tokens", token, 0));
  return {};
}

}  // namespace loom::text
