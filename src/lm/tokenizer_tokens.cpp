// Added tokens of a folder, in the order and with the flags that transformers gives them.

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/config_reader.h"
#include "core/nearest.h"
#include "lm/tokenizer_parts.h"

namespace loom {
namespace {

// Standard names, in the order in which transformers adds them.
constexpr std::array<std::string_view, 7> kStandardTokens = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                             "pad_token", "cls_token", "mask_token"};
bool is_standard_token(std::string_view key) {
  return std::ranges::find(kStandardTokens, key) != kStandardTokens.end();
}

Result<void> read_flag(std::string_view key, const Json& value, FolderToken& to) {
  bool* const flag = key == "single_word"  ? &to.single_word
                     : key == "lstrip"     ? &to.lstrip
                     : key == "rstrip"     ? &to.rstrip
                     : key == "normalized" ? &to.normalized
                     : key == "special"    ? &to.special
                                           : nullptr;
  if (!flag) return fail_at({printable(key)}, Code::UnknownKey, "unknown key of a token");
  const auto given = as_bool(value);
  if (!given) return fail_at({std::string(key)}, Code::InvalidConfig, "{}", expected("true or false", value));
  *flag = *given;
  return {};
}

// A token as a text, which is special, or as an object with flags. `special`: the flag where the object has none.
Result<FolderToken> token_from_json(const Json& value, bool special) {
  FolderToken out;
  if (const std::string* text = as_string(value)) {
    out.content = *text, out.special = true;
    return out;
  }
  const Json* const content = find(value, "content");
  if (!content || !as_string(*content))
    return fail(Code::InvalidConfig, "{}", expected("a token: a text, or an object with \"content\"", value));
  out.content = *as_string(*content);
  out.special = out.is_compared = special;
  for (const auto& [key, member] : value.items())
    if (key != "content" && key != "__type" && key != "id" && !member.is_null())
      LOOM_TRY_VOID(read_flag(key, member, out));
  const Json* const normalized = find(value, "normalized");
  if (!normalized || normalized->is_null()) out.normalized = !out.special;
  return out;
}

void put(std::vector<NamedToken>& names, std::string_view name, const FolderToken& token) {
  const auto found = std::ranges::find(names, name, &NamedToken::name);
  if (found != names.end())
    found->token = token;
  else
    names.push_back({std::string(name), token});
}

Result<void> add_named_group(const Json& config, const char* group, std::vector<NamedToken>& names) {
  const Json* const more = find(config, group);
  if (!more || !more->is_object()) return {};
  for (const auto& [key, value] : more->items()) {
    auto token = token_from_json(value, false);
    if (!token) return under({group, printable(key)}, std::move(token).error());
    put(names, key, *token);
  }
  return {};
}

// Adds the tokens that a config or a map names; later ones count.
Result<void> add_names(const Json& config, bool special, std::vector<NamedToken>& names) {
  if (!config.is_object()) return {};
  for (const auto& [key, value] : config.items()) {
    if (key == "add_bos_token" || key == "add_eos_token") continue;  // no names
    const bool is_standard = is_standard_token(key);
    if (is_standard && value.is_null())
      std::erase_if(names, [&](const NamedToken& n) { return n.name == key; });
    else if (is_standard || (key.ends_with("_token") && (as_string(value) || value.is_object()))) {
      auto token = token_from_json(value, special);
      if (!token) return under({printable(key)}, std::move(token).error());
      put(names, key, *token);
    }
  }
  LOOM_TRY_VOID(add_named_group(config, "extra_special_tokens", names));
  return add_named_group(config, "model_specific_special_tokens", names);
}

// ---- tokens without names ----

using TokenList = std::vector<FolderToken>;

Result<TokenList> list_of(const Json& config, const char* key, bool special) {
  TokenList out;
  const Json* const list = find(config, key);
  if (!list || list->is_null()) return out;
  if (!list->is_array()) return fail_at({key}, Code::InvalidConfig, "{}", expected("a list of tokens", *list));
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto token = token_from_json((*list)[i], special);
    if (!token) return under({key, std::to_string(i)}, std::move(token).error());
    out.push_back(std::move(*token));
  }
  return out;
}

bool has_content(const TokenList& list, std::string_view content) {
  return std::ranges::find(list, content, &FolderToken::content) != list.end();
}
bool has_compared(const TokenList& list, std::string_view content) {
  return std::ranges::any_of(list, [&](const FolderToken& t) { return t.is_compared && t.content == content; });
}
bool has_list(const Json& config, const char* key) {
  const Json* const list = find(config, key);
  return list && list->is_array();
}

// Extra special tokens of the files and of the class. `makes_special`: tokens of added_tokens.json with such a text are
// special.
struct ExtraTokens {
  TokenList list;
  bool makes_special = false;
};
Result<ExtraTokens> extra_tokens(const TokenizerFolder& folder, const TokenizerClass* tokenizer) {
  const bool reads_map = !find(folder.config, "added_tokens_decoder");
  ExtraTokens out;
  TokenList& extra = out.list;
  bool& given = out.makes_special;
  TokenList of_map;
  given = has_list(folder.config, "extra_special_tokens");
  if (given) {
    LOOM_TRY(extra, list_of(folder.config, "extra_special_tokens", false));
  }
  const Json* const names = find(folder.config, "extra_special_tokens");
  const bool has_names = names && names->is_object() && !names->empty();  // the other list then waits for the map
  if (extra.empty() && !has_names && has_list(folder.config, "additional_special_tokens")) {
    LOOM_TRY(extra, list_of(folder.config, "additional_special_tokens", false));
    given = true;
  }
  if (reads_map && has_list(folder.tokens_map, "extra_special_tokens")) {
    LOOM_TRY(of_map, list_of(folder.tokens_map, "extra_special_tokens", true));
    for (FolderToken& token : of_map)
      if (!has_content(extra, token.content)) extra.push_back(std::move(token));
    given = true;
  }
  if (given) return out;
  if (reads_map && has_list(folder.tokens_map, "additional_special_tokens")) {
    LOOM_TRY(extra, list_of(folder.tokens_map, "additional_special_tokens", true));
  } else if (has_names) {
    LOOM_TRY(extra, list_of(folder.config, "additional_special_tokens", false));
  }
  if (tokenizer && tokenizer->more_tokens)
    for (std::string& text : tokenizer->more_tokens(folder.config)) {
      FolderToken token;
      token.content = std::move(text), token.special = true;
      extra.push_back(std::move(token));
    }
  return out;
}

using TokensById = std::map<std::int64_t, FolderToken>;

Result<TokensById> tokens_of_decoder(const Json& decoder) {
  TokensById out;
  if (!decoder.is_object())
    return fail_at({"added_tokens_decoder"}, Code::InvalidConfig, "{}", expected("an object", decoder));
  for (const auto& [key, value] : decoder.items()) {
    const bool is_id =
        !key.empty() && key.size() < 10 && std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_id || !value.is_object())
      return fail_at({"added_tokens_decoder", printable(key)}, Code::InvalidConfig, "{}",
                     is_id ? expected("an object", value) : std::string("expected a token id for a key"));
    auto token = token_from_json(value, false);
    if (!token) return under({"added_tokens_decoder", printable(key)}, std::move(token).error());
    out[std::stoll(key)] = std::move(*token);
  }
  return out;
}

// Tokens of added_tokens.json and tokenizer.json, which count where the config has no added_tokens_decoder.
Result<TokensById> older_tokens(const TokenizerFolder& folder, const std::vector<NamedToken>& names,
                                const ExtraTokens& extra) {
  TokensById out;
  if (folder.added.is_object())
    for (const auto& [text, value] : folder.added.items()) {
      const auto id = as_int(value);
      if (!id) return fail_at({printable(text)}, Code::InvalidConfig, "{}", expected("a token id", value));
      FolderToken token;
      token.content = text;
      token.special = (extra.makes_special && has_compared(extra.list, text)) ||
                      std::ranges::any_of(names, [&](const NamedToken& n) {
                        return is_standard_token(n.name) && n.token.is_compared && n.token.content == text;
                      });
      token.normalized = !token.special;
      out[*id] = std::move(token);
    }
  LOOM_TRY(const TokenList own, list_of(folder.file, "added_tokens", false));
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Json* const id = find(folder.file["added_tokens"][i], "id");
    out[id ? as_int(*id).value_or(-1) : -1] = own[i];
  }
  return out;
}

// ---- ids ----

// Adds tokens as the tokenizers package does: a text of the vocabulary keeps its id, others get the next one.
class TokenAdder {
 public:
  TokenAdder(const Json& file, bool replaces) {
    const Json* const model = find(file, "model");
    vocab_ = model ? find(*model, "vocab") : nullptr;
    if (replaces) return;
    if (const auto own = list_of(file, "added_tokens", false))
      for (std::size_t i = 0; i < own->size(); ++i) {
        FolderToken token = (*own)[i];
        const Json* const id = find(file["added_tokens"][i], "id");
        token.id = id ? as_int(*id).value_or(-1) : -1;
        place_[token.content] = tokens_.size();
        tokens_.push_back(std::move(token));
      }
  }

  void add(FolderToken token) {
    if (token.content.empty()) return;
    const auto old = place_.find(token.content);
    token.id = old != place_.end() ? tokens_[old->second].id : next_id(token.content);
    if (old != place_.end()) {
      token.special = token.special || tokens_[old->second].special;  // once special, always special
      tokens_[old->second] = std::move(token);
      return;
    }
    place_[token.content] = tokens_.size();
    tokens_.push_back(std::move(token));
  }

  Json list() const {
    Json out = Json::array();
    for (const FolderToken& t : tokens_)
      out.push_back({{"id", t.id},
                     {"content", t.content},
                     {"single_word", t.single_word},
                     {"lstrip", t.lstrip},
                     {"rstrip", t.rstrip},
                     {"normalized", t.normalized},
                     {"special", t.special}});
    return out;
  }

 private:
  // Few folders have tokens that tokenizer.json does not list: the vocabulary is read for the first of them.
  void read_vocab() {
    if (std::exchange(is_read_, true) || !vocab_) return;
    if (vocab_->is_object()) {
      for (const auto& [text, id] : vocab_->items()) ids_.emplace(text, as_int(id).value_or(-1));
    } else if (vocab_->is_array()) {
      for (std::size_t i = 0; i < vocab_->size(); ++i)
        if (const Json& piece = (*vocab_)[i]; piece.is_array() && !piece.empty() && as_string(piece[0]))
          ids_.emplace(*as_string(piece[0]), i);
    }
  }
  std::int64_t next_id(const std::string& content) {
    read_vocab();
    if (const auto known = ids_.find(content); known != ids_.end()) return known->second;
    std::int64_t most = -1;
    for (const FolderToken& token : tokens_) most = std::max(most, token.id);
    return std::max(most + 1, static_cast<std::int64_t>(ids_.size()));
  }

  const Json* vocab_ = nullptr;
  bool is_read_ = false;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::vector<FolderToken> tokens_;
  std::unordered_map<std::string, std::size_t> place_;
};

}  // namespace

Result<std::vector<NamedToken>> named_tokens(const TokenizerFolder& folder, const TokenizerClass* tokenizer) {
  std::vector<NamedToken> names;
  if (tokenizer)
    for (const auto& [name, text] : tokenizer->tokens) {
      FolderToken token;
      token.content = std::string(text), token.special = true;
      names.push_back({std::string(name), std::move(token)});
    }
  LOOM_TRY_VOID(add_names(folder.config, false, names));
  if (!find(folder.config, "added_tokens_decoder")) LOOM_TRY_VOID(add_names(folder.tokens_map, true, names));
  std::ranges::stable_sort(names, {}, [](const NamedToken& n) {
    return std::ranges::find(kStandardTokens, n.name) - kStandardTokens.begin();
  });
  return names;
}

Result<bool> add_folder_tokens(TokenizerFolder& folder, const TokenizerClass* tokenizer, bool replaces,
                               std::vector<NamedToken> names) {
  LOOM_TRY(const ExtraTokens extra, extra_tokens(folder, tokenizer));
  TokensById by_id;
  if (const Json* const decoder = find(folder.config, "added_tokens_decoder"); decoder && !decoder->is_null()) {
    LOOM_TRY(by_id, tokens_of_decoder(*decoder));
  } else {
    LOOM_TRY(by_id, older_tokens(folder, names, extra));
  }
  TokenList more;
  for (const auto& [id, token] : by_id) more.push_back(token);
  for (NamedToken& n : names)  // one that is listed has the flags of the list
    if (is_standard_token(n.name))
      if (const auto listed = std::ranges::find(more, n.token.content, &FolderToken::content); listed != more.end())
        n.token = *listed;
  const Json before = folder.file.contains("added_tokens") ? folder.file["added_tokens"] : Json();
  TokenAdder adder(folder.file, replaces);
  const TokenList own = replaces ? TokenList() : list_of(folder.file, "added_tokens", false).value_or(TokenList());
  const auto is_new = [&](const FolderToken& t) {
    return !has_content(own, t.content) && !has_content(more, t.content);
  };
  for (const NamedToken& n : names)
    if (is_new(n.token)) more.push_back(n.token);
  for (const FolderToken& token : extra.list)
    if (is_new(token)) more.push_back(token);
  for (FolderToken& token : more) {
    token.special = token.special ||
                    std::ranges::any_of(names, [&](const NamedToken& n) { return n.token.content == token.content; });
    adder.add(token);
  }
  if (tokenizer && tokenizer->name == "Qwen2Tokenizer") {  // adds them once more, without other flags
    TokenList all = extra.list;
    for (const NamedToken& n : names) all.push_back(n.token);
    for (const FolderToken& token : all) {
      FolderToken plain;
      plain.content = token.content, plain.special = true;
      adder.add(std::move(plain));
    }
  }
  folder.file["added_tokens"] = adder.list();
  return folder.file["added_tokens"] != before;
}

}  // namespace loom
