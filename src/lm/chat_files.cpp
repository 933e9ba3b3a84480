#include "lm/chat_files.h"

#include <algorithm>

#include "core/file.h"
#include "io/gguf/gguf_keys.h"

namespace loom {
namespace {

constexpr std::size_t kLongestTemplate = std::size_t{16} << 20;
constexpr const char* kSetting = "chat_template";

tl::unexpected<Error> no_template(std::string_view where) {
  return fail(Code::CorruptData,
              "chat_template{}: expected a text, a list of {{\"name\", \"template\"}}, or an object of texts", where);
}

Result<std::vector<std::string>> template_files(const FileSet& folder, std::string_view below) {
  LOOM_TRY(std::vector<std::string> names, folder.names_below(below));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".jinja"); });
  return names;
}

}  // namespace

Result<Json> read_json_file(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path));
  auto json = parse_json(text);
  if (!json) return at(path, std::move(json).error());
  return json;
}

Result<Json> read_json_file(const FileSet& folder, std::string_view file) {
  LOOM_TRY(const std::string text, folder.text(file));
  auto json = parse_json(text);
  if (!json) return at(folder.place_of(file), std::move(json).error());
  return json;
}

Result<NamedTexts> templates_of_setting(const Json& setting) {
  NamedTexts out;
  if (setting.is_null()) return out;
  if (const std::string* text = as_string(setting)) {
    out.emplace(kDefaultTemplate, *text);
  } else if (setting.is_object()) {
    for (const auto& [name, source] : setting.items()) {
      if (!as_string(source)) return no_template("/" + name);
      out[name] = *as_string(source);
    }
  } else if (setting.is_array()) {
    for (std::size_t i = 0; i < setting.size(); ++i) {
      const Json *name = find(setting[i], "name"), *source = find(setting[i], "template");
      if (!name || !source || !as_string(*name) || !as_string(*source)) return no_template(fmt::format("/{}", i));
      out[*as_string(*name)] = *as_string(*source);
    }
  } else {
    return no_template("");
  }
  return out;
}

Result<NamedTexts> folder_templates(const FileSet& folder, const Json& tokenizer_config) {
  constexpr std::string_view kTemplate = "chat_template.jinja", kMore = "additional_chat_templates";
  constexpr std::string_view kOfProcessors = "chat_template.json";  // before transformers 5
  NamedTexts out;
  if (folder.has(kTemplate)) {
    LOOM_TRY(out[std::string(kDefaultTemplate)], folder.text(kTemplate, kLongestTemplate));
  }
  LOOM_TRY(const std::vector<std::string> names, template_files(folder, kMore));
  for (const std::string& name : names) {
    LOOM_TRY(out[name.substr(0, name.size() - 6)], folder.text(fmt::format("{}/{}", kMore, name), kLongestTemplate));
  }
  if (!out.empty()) return out;
  const Json* setting = find(tokenizer_config, kSetting);
  if (setting && !setting->is_null()) {
    auto found = templates_of_setting(*setting);
    if (!found) return at(folder.place_of("tokenizer_config.json"), std::move(found).error());
    return found;
  }
  if (!folder.has(kOfProcessors)) return out;
  LOOM_TRY(const Json json, read_json_file(folder, kOfProcessors));
  setting = find(json, kSetting);
  auto found = templates_of_setting(setting ? *setting : Json());
  if (!found) return at(folder.place_of(kOfProcessors), std::move(found).error());
  return found;
}

Result<NamedTexts> gguf_templates(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  NamedTexts out;
  const GgufKeys in(file);
  for (const GgufValue& value : file.metadata()) {
    if (!value.key.starts_with(kKey)) continue;
    const std::string_view rest = value.key.substr(kKey.size());
    if (!rest.empty() && rest[0] != '.') continue;  // tokenizer.chat_templates lists the names
    std::string text;
    LOOM_TRY_VOID(in.text(value.key, text));
    if (!text.empty()) out[std::string(rest.empty() ? kDefaultTemplate : rest.substr(1))] = std::move(text);
  }
  return out;
}

}  // namespace loom
