#include "text/tokenizer/json_writer.h"

#include <algorithm>
#include <unordered_map>

#include "core/json.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/parts.h"
#include "text/tokenizer/pre_rules.h"

namespace loom::text {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // the mark of a space in SentencePiece vocabularies
using Ids = std::unordered_map<std::string_view, std::size_t>;

Json merge_list(const std::vector<std::string>& merges) {
  Json out = Json::array();
  for (const std::string& m : merges) {
    const std::size_t space = std::min(m.find(' ', 1), m.size());
    out.push_back(Json::array({m.substr(0, space), m.substr(std::min(space + 1, m.size()))}));
  }
  return out;
}

// SentencePiece merges the pair whose product has the best score: every way to put a token together is a merge, the
// best product first.
Json merges_by_score(const VocabSpec& vocab, const Ids& ids) {
  struct Merge {
    float score;
    std::size_t left, right;
  };
  std::vector<Merge> all;
  for (std::size_t i = 0; i < vocab.tokens.size(); ++i) {
    const std::string_view token = vocab.tokens[i];
    if (vocab.types[i] != 1 || ids.at(token) != i) continue;
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left != ids.end() && right != ids.end()) all.push_back({vocab.scores[i], left->second, right->second});
    }
  }
  std::ranges::stable_sort(all, std::greater<>(), &Merge::score);
  Json out = Json::array();
  for (const Merge& m : all) out.push_back(Json::array({vocab.tokens[m.left], vocab.tokens[m.right]}));
  return out;
}

Json vocabulary(const Ids& ids, const VocabSpec& vocab) {
  Json out = Json::object();
  for (std::size_t i = 0; i < vocab.tokens.size(); ++i)
    if (ids.at(vocab.tokens[i]) == i) out.get_ptr<Json::object_t*>()->emplace_back(vocab.tokens[i], i);
  return out;
}

Json added_tokens(const VocabSpec& vocab) {
  Json out = Json::array();
  constexpr std::int32_t kUnknown = 2, kControl = 3, kUserDefined = 4;
  const auto ends = end_markers();
  for (std::size_t i = 0; i < vocab.types.size(); ++i) {
    const std::int32_t type = vocab.types[i];
    const std::string& text = vocab.tokens[i];
    if ((type != kUnknown && type != kControl && type != kUserDefined) || text.size() > TokenMatcher::kMaxText)
      continue;
    const bool special = type != kUserDefined || text == "</s>" || std::ranges::find(ends, text) != ends.end();
    const bool takes_blanks =
        vocab.blanks_go_with_markers.value_or(false) && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
    out.push_back({{"id", i},
                   {"content", text},
                   {"single_word", false},
                   {"lstrip", false},
                   {"rstrip", takes_blanks},
                   {"normalized", false},
                   {"special", special}});
  }
  return out;
}

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

// <s> before and </s> after a text, as the tokenizer itself puts them.
Json post_processor(const VocabSpec& vocab, bool bos_by_default, bool is_byte_level) {
  const bool bos = vocab.bos && vocab.add_bos.value_or(bos_by_default),
             eos = vocab.eos && vocab.add_eos.value_or(false);
  if (!bos && !eos) return is_byte_level ? byte_level(false) : Json();
  Json single = Json::array(), pair = Json::array(), specials = Json::object();
  const auto token = [&](std::optional<std::int32_t> id, int type) {
    const std::string& text = vocab.tokens[static_cast<std::size_t>(*id)];
    specials[text] = {{"id", text}, {"ids", Json::array({*id})}, {"tokens", Json::array({text})}};
    return Json{{"SpecialToken", {{"id", text}, {"type_id", type}}}};
  };
  for (int part = 0; part < 2; ++part) {
    const Json sequence{{"Sequence", {{"id", part == 0 ? "A" : "B"}, {"type_id", part}}}};
    for (Json* to : {&single, &pair}) {
      if (part == 1 && to == &single) continue;
      if (bos) to->push_back(token(vocab.bos, part));
      to->push_back(sequence);
      if (eos) to->push_back(token(vocab.eos, part));
    }
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
}

Json replace(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

Json model(Json unk, bool byte_fallback, bool ignore_merges, Json vocabulary, Json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", std::move(unk)},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", byte_fallback},
          {"byte_fallback", byte_fallback},
          {"ignore_merges", ignore_merges},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

Result<Json> byte_level_json(const VocabSpec& vocab, const Ids& ids) {
  const auto rules = pre_rules(vocab.pre);
  if (!rules) return fail(Code::Unsupported, "tokenizer.ggml.pre \"{}\" is not known", vocab.pre.substr(0, 60));
  Json steps = Json::array();
  for (const char* pattern : rules->patterns)
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  steps.push_back(byte_level(false));
  return Json{{"normalizer", nullptr},
              {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}},
              {"post_processor", post_processor(vocab, rules->add_bos, true)},
              {"decoder", byte_level(true)},
              {"model", model(nullptr, false, rules->ignore_merges, vocabulary(ids, vocab), merge_list(vocab.merges))}};
}

Json sentence_piece_json(const VocabSpec& vocab, const Ids& ids) {
  const bool prefix = vocab.add_space_prefix.value_or(true);
  Json before = Json::array(),
       after = Json::array({replace(kSpace, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (prefix) before.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  before.push_back(replace(" ", kSpace));
  if (prefix) after.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  const Json unk = vocab.unk ? Json(vocab.tokens[static_cast<std::size_t>(*vocab.unk)]) : Json();
  return Json{{"normalizer", {{"type", "Sequence"}, {"normalizers", std::move(before)}}},
              {"pre_tokenizer", nullptr},
              {"post_processor", post_processor(vocab, true, false)},
              {"decoder", {{"type", "Sequence"}, {"decoders", std::move(after)}}},
              {"model", model(unk, true, false, vocabulary(ids, vocab), merges_by_score(vocab, ids))}};
}

}  // namespace

Result<TokenizerFiles> write_tokenizer_files(const VocabSpec& vocab) {
  LOOM_TRY_VOID(Tokenizer::from_vocab(vocab).map([](const Tokenizer&) {}));
  if (vocab.model != "gpt2" && vocab.model != "llama")
    return fail(Code::Unsupported, "a \"{}\" vocabulary has no tokenizer.json; gpt2 and llama vocabularies have",
                vocab.model);
  Ids ids;
  for (std::size_t i = 0; i < vocab.tokens.size(); ++i) ids.emplace(vocab.tokens[i], i);
  Json rest;
  if (vocab.model == "gpt2") {
    LOOM_TRY(rest, byte_level_json(vocab, ids));
  } else {
    rest = sentence_piece_json(vocab, ids);
  }
  Json json{{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added_tokens(vocab)}};
  for (auto& [key, value] : rest.items()) json[key] = std::move(value);
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false},
              {"model_max_length", 1000000000}};
  for (const auto& [key, id] : {std::pair("bos_token", vocab.bos), std::pair("eos_token", vocab.eos),
                                std::pair("unk_token", vocab.unk), std::pair("pad_token", vocab.pad)})
    if (id && *id >= 0 && static_cast<std::size_t>(*id) < vocab.tokens.size())
      config[key] = vocab.tokens[static_cast<std::size_t>(*id)];
  TokenizerFiles files{dump_json(json) + "\n", dump_json(config, 2) + "\n"};
  LOOM_TRY_VOID(Tokenizer::from_json(files.tokenizer_json).map([](const Tokenizer&) {}));
  return files;
}

}  // namespace loom::text
