#include <algorithm>

#include "text/tokenizer/parts.h"

#include "core/json.h"
#include "text/tokenizer/json_members.h"

namespace loom::text {
namespace {

constexpr std::size_t kMaxJson = std::size_t{256} << 20;

Result<TokenId> token_id(const Json& value, std::string_view where) {
  const auto id = as_int(value);
  if (!id || *id < 0 || *id > kMaxTokenId)
    return fail(Code::OutOfRange, "{}: a token id is {}, expected 0..{}", where, dump_json(value).substr(0, 40),
                kMaxTokenId);
  return static_cast<TokenId>(*id);
}

Result<Vocab> vocab_from_json(const Json& model, std::string_view where) {
  const Json* spec = find(model, "vocab");
  const auto* members = spec ? spec->get_ptr<const Json::object_t*>() : nullptr;
  if (!members) return fail(Code::CorruptData, "{}: \"vocab\" is missing or no object", where);
  Vocab vocab;
  vocab.reserve(members->size(), members->size() * 8);
  for (const auto& [text, value] : *members) {
    LOOM_TRY(const auto id, token_id(value, where));
    if (vocab.has(id)) return fail(Code::CorruptData, "{}: token id {} appears twice", where, id);
    LOOM_TRY_VOID(vocab.add(text, id));
  }
  return vocab;
}

// Merges come as "left right" or as ["left", "right"].
Result<std::vector<BpeModel::Merge>> merges_from_json(const Json& model) {
  const Json* spec = find(model, "merges");
  if (!spec || !spec->is_array()) return fail(Code::CorruptData, "model BPE: \"merges\" is missing or no list");
  std::vector<BpeModel::Merge> merges;
  merges.reserve(spec->size());
  for (const Json& m : *spec) {
    const std::size_t i = merges.size();
    if (const auto* text = as_string(m)) {
      if (text->starts_with("#version")) continue;  // the first line of a merges.txt
      const std::size_t space = text->find(' ');
      if (space == std::string::npos || text->find(' ', space + 1) != std::string::npos)
        return fail(Code::CorruptData, "model BPE: merge {} is \"{}\", expected two tokens", i, text->substr(0, 60));
      merges.push_back({std::string_view(*text).substr(0, space), std::string_view(*text).substr(space + 1)});
      continue;
    }
    const auto* left = m.is_array() && m.size() == 2 ? as_string(m[0]) : nullptr;
    const auto* right = left ? as_string(m[1]) : nullptr;
    if (!right) return fail(Code::CorruptData, "model BPE: merge {} is no pair of tokens", i);
    merges.push_back({*left, *right});
  }
  return merges;
}

Result<std::unique_ptr<Model>> bpe_from_json(const Json& spec, bool bytes) {
  BpeConfig config;
  config.bytes = bytes;
  if (const Json* unk = find(spec, "unk_token"); unk && as_string(*unk)) config.unk = *as_string(*unk);
  if (const Json* dropout = find(spec, "dropout"); dropout && !dropout->is_null() && as_number(*dropout) != 0)
    return fail(Code::Unsupported, "model BPE: dropout {} makes tokens random; set it to null in the file",
                dump_json(*dropout).substr(0, 40));
  LOOM_TRY(config.continuing_prefix, json_text(spec, "continuing_subword_prefix", ""));
  LOOM_TRY(config.end_suffix, json_text(spec, "end_of_word_suffix", ""));
  LOOM_TRY(config.fuse_unk, json_bool(spec, "fuse_unk", false));
  LOOM_TRY(config.byte_fallback, json_bool(spec, "byte_fallback", false));
  LOOM_TRY(config.ignore_merges, json_bool(spec, "ignore_merges", false));
  LOOM_TRY(auto vocab, vocab_from_json(spec, "model BPE"));
  LOOM_TRY(const auto merges, merges_from_json(spec));
  LOOM_TRY(auto model, BpeModel::create(std::move(vocab), merges, std::move(config), true));
  return std::unique_ptr<Model>(std::move(model));
}

Result<std::unique_ptr<Model>> unigram_from_json(const Json& spec) {
  const Json* list = find(spec, "vocab");
  if (!list || !list->is_array()) return fail(Code::CorruptData, "model Unigram: \"vocab\" is missing or no list");
  Vocab vocab;
  vocab.reserve(list->size(), list->size() * 8);
  std::vector<double> scores;
  for (const Json& entry : *list) {
    const auto* text = entry.is_array() && entry.size() == 2 ? as_string(entry[0]) : nullptr;
    const auto score = text ? as_number(entry[1]) : std::nullopt;
    if (!score) return fail(Code::CorruptData, "model Unigram: entry {} is no [text, score]", scores.size());
    LOOM_TRY_VOID(vocab.add(*text, static_cast<TokenId>(scores.size())));
    scores.push_back(*score);
  }
  UnigramConfig config;
  LOOM_TRY(config.byte_fallback, json_bool(spec, "byte_fallback", false));
  LOOM_TRY(const auto unk, json_int(spec, "unk_id", -1));
  if (unk >= static_cast<std::int64_t>(scores.size()))
    return fail(Code::OutOfRange, "model Unigram: unk_id {} of {} tokens", unk, scores.size());
  config.unk = unk < 0 ? kNoToken : static_cast<TokenId>(unk);
  LOOM_TRY(auto model, UnigramModel::create(std::move(vocab), std::move(scores), config));
  return std::unique_ptr<Model>(std::move(model));
}

Result<std::unique_ptr<Model>> word_piece_from_json(const Json& spec) {
  WordPieceConfig config;
  LOOM_TRY(config.continuing_prefix, json_text(spec, "continuing_subword_prefix", "##"));
  LOOM_TRY(const auto max_chars, json_int(spec, "max_input_chars_per_word", 100));
  LOOM_TRY(const auto unk, json_text(spec, "unk_token", "[UNK]"));
  if (max_chars < 0) return fail(Code::OutOfRange, "model WordPiece: max_input_chars_per_word is {}", max_chars);
  config.max_chars = static_cast<std::size_t>(std::min<std::int64_t>(max_chars, 4096));
  LOOM_TRY(auto vocab, vocab_from_json(spec, "model WordPiece"));
  config.unk = vocab.find(unk);
  LOOM_TRY(auto model, WordPieceModel::create(std::move(vocab), std::move(config)));
  return std::unique_ptr<Model>(std::move(model));
}

Result<std::unique_ptr<Model>> word_level_from_json(const Json& spec) {
  LOOM_TRY(const auto unk, json_text(spec, "unk_token", "<unk>"));
  LOOM_TRY(auto vocab, vocab_from_json(spec, "model WordLevel"));
  const TokenId id = vocab.find(unk);
  return std::unique_ptr<Model>(std::make_unique<WordLevelModel>(std::move(vocab), id));
}

Result<std::unique_ptr<Model>> model_from_json(const Json& spec, bool bytes) {
  LOOM_TRY(auto type, json_text(spec, "type", ""));
  if (type.empty())
    type = find(spec, "merges")                     ? "BPE"
           : find(spec, "unk_id")                   ? "Unigram"
           : find(spec, "max_input_chars_per_word") ? "WordPiece"
                                                    : "";
  if (type == "BPE") return bpe_from_json(spec, bytes);
  if (type == "Unigram") return unigram_from_json(spec);
  if (type == "WordPiece") return word_piece_from_json(spec);
  if (type == "WordLevel") return word_level_from_json(spec);
  return fail(Code::Unsupported, "model \"{}\" is not known, expected BPE, Unigram, WordPiece or WordLevel",
              type.substr(0, 60));
}

// Tokens before and after the text.
struct Surround {
  std::vector<TokenId> before, after;
};
constexpr std::size_t kMaxSurround = 1024;
tl::unexpected<Error> too_many() {
  return fail(Code::LimitExceeded, "post_processor: more than {} tokens around the text", kMaxSurround);
}

Result<Surround> template_from_json(const Json& spec) {
  const Json* single = find(spec, "single");
  const Json* special = find(spec, "special_tokens");
  if (!single || !single->is_array())
    return fail(Code::CorruptData, "post_processor TemplateProcessing: \"single\" is missing or no list");
  Surround out;
  int sequences = 0;
  for (const Json& piece : *single) {
    if (find(piece, "Sequence")) {
      ++sequences;
      continue;
    }
    const Json* token = find(piece, "SpecialToken");
    const Json* name = token ? find(*token, "id") : nullptr;
    if (!name || !as_string(*name))
      return fail(Code::CorruptData, "post_processor TemplateProcessing: a piece is neither Sequence nor SpecialToken");
    const Json* entry = special ? find(*special, *as_string(*name)) : nullptr;
    const Json* ids = entry ? find(*entry, "ids") : nullptr;
    if (!ids || !ids->is_array())
      return fail(Code::CorruptData, "post_processor TemplateProcessing: no ids for \"{}\"",
                  as_string(*name)->substr(0, 60));
    for (const Json& value : *ids) {
      LOOM_TRY(const auto id, token_id(value, "post_processor TemplateProcessing"));
      if (out.before.size() + out.after.size() >= kMaxSurround) return too_many();
      (sequences == 0 ? out.before : out.after).push_back(id);
    }
  }
  if (sequences != 1)
    return fail(Code::Unsupported,
                "post_processor TemplateProcessing: the text appears {} times in \"single\", expected once", sequences);
  return out;
}

// Bert and Roberta: ["[CLS]", 101] and the like.
Result<TokenId> pair_id(const Json& spec, std::string_view key) {
  const Json* pair = find(spec, key);
  if (!pair || !pair->is_array() || pair->size() != 2)
    return fail(Code::CorruptData, "post_processor: \"{}\" is no [text, id]", key);
  return token_id((*pair)[1], "post_processor");
}

Result<void> add_post_processor(const Json& spec, Surround& around, int depth) {
  LOOM_TRY(const auto type, json_text(spec, "type", ""));
  if (type == "ByteLevel") return {};  // moves offsets only
  Surround mine;
  if (type == "TemplateProcessing") {
    LOOM_TRY(mine, template_from_json(spec));
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    LOOM_TRY(const auto cls, pair_id(spec, "cls"));
    LOOM_TRY(const auto sep, pair_id(spec, "sep"));
    mine = {{cls}, {sep}};
  } else if (type == "Sequence") {
    if (depth > 32) return fail(Code::LimitExceeded, "post_processor Sequence is nested deeper than 32");
    const Json* list = find(spec, "processors");
    if (!list || !list->is_array())
      return fail(Code::CorruptData, "post_processor Sequence has no list \"processors\"");
    for (const Json& s : *list) LOOM_TRY_VOID(add_post_processor(s, around, depth + 1));
    return {};
  } else {
    return fail(Code::Unsupported, "post_processor \"{}\" is not known", type.substr(0, 60));
  }
  if (around.before.size() + mine.before.size() + around.after.size() + mine.after.size() > kMaxSurround)
    return too_many();
  around.before.insert(around.before.begin(), mine.before.begin(), mine.before.end());
  around.after.insert(around.after.end(), mine.after.begin(), mine.after.end());
  return {};
}

Result<std::vector<AddedToken>> added_from_json(const Json& list) {
  std::vector<AddedToken> out;
  if (!list.is_array()) return fail(Code::CorruptData, "added_tokens is {}, expected a list", list.type_name());
  for (const Json& spec : list) {
    AddedToken t;
    LOOM_TRY(t.content, json_text(spec, "content", ""));
    const Json* id = find(spec, "id");
    LOOM_TRY(t.id, token_id(id ? *id : Json(), "added_tokens"));
    LOOM_TRY(t.single_word, json_bool(spec, "single_word", false));
    LOOM_TRY(t.lstrip, json_bool(spec, "lstrip", false));
    LOOM_TRY(t.rstrip, json_bool(spec, "rstrip", false));
    LOOM_TRY(t.special, json_bool(spec, "special", false));
    LOOM_TRY(t.normalized, json_bool(spec, "normalized", !t.special));
    out.push_back(std::move(t));
  }
  return out;
}

Result<std::vector<std::string>> control_tokens_from_json(const Json& list) {
  std::vector<std::string> out;
  if (!list.is_array())
    return fail(Code::CorruptData, "chat_control_tokens is {}, expected a list of texts", list.type_name());
  for (const Json& text : list) {
    if (!as_string(text))
      return fail(Code::CorruptData, "chat_control_tokens holds {}, expected texts", text.type_name());
    out.push_back(*as_string(text));
  }
  return out;
}

// Returns a member that exists and is not null, else null.
const Json* component(const Json& root, std::string_view key) {
  const Json* v = find(root, key);
  return v && !v->is_null() ? v : nullptr;
}

}  // namespace

Result<Tokenizer> Tokenizer::from_json(std::string_view text) {
  LOOM_TRY(const auto root, parse_json(text, {kMaxJson, 256}));
  LOOM_TRY_VOID(check_members(root));
  auto parts = std::make_unique<Parts>();
  // Settings of tokenizer_config.json that a tokenizer.json has no member for; only Loom writes them into this file.
  LOOM_TRY(parts->encode_special_tokens, json_bool(root, "encode_special_tokens", false));
  if (const Json* spec = component(root, "chat_control_tokens")) {
    LOOM_TRY(parts->control_tokens, control_tokens_from_json(*spec));
  }
  if (const Json* spec = component(root, "normalizer")) {
    LOOM_TRY(parts->normalizer, Normalizer::from_json(*spec));
  }
  const Json* model = component(root, "model");
  if (!model) return fail(Code::CorruptData, "no \"model\" in the tokenizer");
  // Only merges work on bytes directly; the other models see byte-level characters.
  bool bytes = false;
  const bool may_use_bytes = find(*model, "merges") != nullptr &&
                             json_text(*model, "continuing_subword_prefix", "").value_or("").empty() &&
                             json_text(*model, "end_of_word_suffix", "").value_or("").empty() &&
                             !json_bool(*model, "byte_fallback", false).value_or(false);
  if (const Json* spec = component(root, "pre_tokenizer"))
    LOOM_TRY_VOID(pre_tokenizers_from_json(*spec, parts->pre_tokenizers, may_use_bytes ? &bytes : nullptr));
  LOOM_TRY(parts->model, model_from_json(*model, bytes));
  if (const Json* spec = component(root, "post_processor")) {
    Surround around;
    LOOM_TRY_VOID(add_post_processor(*spec, around, 0));
    parts->prefix = std::move(around.before);
    parts->suffix = std::move(around.after);
  }
  if (const Json* spec = component(root, "decoder")) {
    LOOM_TRY_VOID(decoders_from_json(*spec, parts->decoders));
  } else {
    parts->decoders.push_back(make_join_decoder());
  }
  if (const Json* spec = component(root, "added_tokens")) {
    LOOM_TRY(parts->added, added_from_json(*spec));
    for (AddedToken& t : parts->added)  // a token of the vocabulary keeps its id
      if (const TokenId id = parts->model->vocab().find(t.content); id != kNoToken) t.id = id;
  }
  if (!parts->prefix.empty()) parts->bos = parts->prefix.front();
  if (!parts->suffix.empty()) parts->eos = parts->suffix.back();
  return TokenizerBuilder::finish(std::move(parts));
}

}  // namespace loom::text
