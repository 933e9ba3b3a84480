#include "lm/tokenizer_files.h"

#include <algorithm>
#include <array>

#include "core/config_reader.h"
#include "lm/tokenizer_class.h"
#include "lm/tokenizer_parts.h"

namespace loom {
namespace {

constexpr std::size_t kLongestTokenizer = std::size_t{256} << 20;

// A file that holds an object; null without one.
Result<Json> optional_object(const FileSet& files, std::string_view name) {
  if (!files.has(name)) return Json();
  LOOM_TRY(Json json, read_json_file(files, name));
  if (!json.is_object()) return fail(Code::CorruptData, "{}: {}", files.place_of(name), expected("an object", json));
  return json;
}

// A folder with Python code of its own, whose class is none of transformers'.
Result<void> check_code(const TokenizerFolder& folder, const std::string& name) {
  const Json* const map = find(folder.config, "auto_map");
  if (!map || map->is_null() || (map->is_object() && !find(*map, "AutoTokenizer"))) return {};
  constexpr std::string_view kPlain[] = {"PreTrainedTokenizer", "TokenizersBackend"};
  if (tokenizer_class(name) || std::ranges::find(kPlain, name) != std::end(kPlain)) return {};
  return fail_at({"auto_map"}, Code::Unsupported, "a tokenizer with its own Python code is not supported");
}

// A setting that only steps of the class could follow, which the file does not have.
Result<void> check_unused(const TokenizerClass& tokenizer, const TokenizerFolder& folder) {
  const std::string steps =
      dump_json(folder.file.value("pre_tokenizer", Json())) + dump_json(folder.file.value("normalizer", Json()));
  for (const std::string_view key : tokenizer.keys) {
    const Json* const value = find(folder.config, key);
    if (!value || value->is_null() || key == "extra_ids" || key == "legacy") continue;
    const std::string own = fmt::format("\"{}\":{}",
                                        key == "do_lower_case"            ? "lowercase"
                                        : key == "tokenize_chinese_chars" ? "handle_chinese_chars"
                                                                          : key,
                                        dump_json(*value));
    if (steps.find(own) != steps.npos || *value == Json(false)) continue;
    return fail_at({std::string(key)}, Code::Unsupported,
                   "{} is set for the steps of {}, and tokenizer.json has others; remove the key or set "
                   "tokenizer_class to \"PreTrainedTokenizerFast\"",
                   shown(*value), tokenizer.name);
  }
  return {};
}

// Applies the settings to folder.file; returns whether it changes.
Result<bool> apply(TokenizerFolder& folder, const TokenizerClass* tokenizer, const std::vector<NamedToken>& names) {
  ClassSettings settings{folder.config};
  for (const NamedToken& n : names) settings.tokens[n.name] = n.token.content;
  const bool fits = tokenizer && tokenizer->fits(folder.file);
  if (tokenizer) LOOM_TRY_VOID(fits ? tokenizer->rebuild(folder.file, settings) : check_unused(*tokenizer, folder));
  LOOM_TRY(const bool changes, add_folder_tokens(folder, tokenizer, fits, names));
  if (fits && tokenizer->surround) tokenizer->surround(folder.file, settings);
  LOOM_TRY(const bool more, apply_tokenizer_settings(folder.model_config, folder.config, folder.file));
  return changes || more || fits;
}

}  // namespace

Result<FolderTokenizer> read_folder_tokenizer(const FileSet& files) {
  constexpr std::string_view kConfig = "tokenizer_config.json", kTokenizer = "tokenizer.json";
  FolderTokenizer out;
  TokenizerFolder folder;
  LOOM_TRY(folder.model_config, optional_object(files, "config.json"));
  LOOM_TRY(folder.config, optional_object(files, kConfig));
  LOOM_TRY(folder.tokens_map, optional_object(files, "special_tokens_map.json"));
  LOOM_TRY(folder.added, optional_object(files, "added_tokens.json"));
  const auto in_config = [&](Error error) { return at(files.place_of(kConfig), std::move(error)); };
  if (auto known = check_tokenizer_settings(folder.config); !known) return in_config(std::move(known).error());
  if (files.has(kTokenizer)) {
    LOOM_TRY(out.json, files.text(kTokenizer, kLongestTokenizer));
  }
  const std::string name =
      tokenizer_class_name(folder.model_config, folder.config, out.json.find("\"ByteLevel\"") != std::string::npos);
  if (is_unknown_tokenizer_class(name))
    return fail(Code::Unsupported,
                "{}: /tokenizer_class: transformers makes another tokenizer for \"{}\", which Loom does not know; "
                "\"PreTrainedTokenizerFast\" takes tokenizer.json as it is",
                files.place_of(kConfig), name);
  if (auto code = check_code(folder, name); !code) return in_config(std::move(code).error());
  const TokenizerClass* const tokenizer = tokenizer_class(name);
  auto names = named_tokens(folder, tokenizer);
  if (!names) return in_config(std::move(names).error());
  for (const NamedToken& n : *names) out.special_tokens[n.name] = n.token.content;
  const bool has_settings =
      tokenizer || !folder.config.is_null() || !folder.tokens_map.is_null() || !folder.added.is_null();
  if (out.json.empty() || !has_settings) return out;
  auto file = parse_json(out.json);
  if (!file || !file->is_object()) return out;  // whoever reads the tokenizer reports it
  folder.file = std::move(*file);
  auto changes = apply(folder, tokenizer, *names);
  if (!changes) return in_config(std::move(changes).error());
  if (*changes) out.json = dump_json(folder.file);
  return out;
}

}  // namespace loom
