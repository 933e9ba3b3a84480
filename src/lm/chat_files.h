#pragma once
// The chat templates in the files of a model, in every layout that transformers has written.

#include <map>
#include <string>

#include "core/file_set.h"
#include "core/json.h"
#include "io/gguf/gguf.h"

namespace loom {

using NamedTexts = std::map<std::string, std::string>;

// Name of the template that is used by default, and of the one for prompts with tools.
constexpr std::string_view kDefaultTemplate = "default", kToolTemplate = "tool_use";

// Reads and parses a file; errors carry its path.
Result<Json> read_json_file(const std::string& path);
Result<Json> read_json_file(const FileSet& folder, std::string_view file);

// Templates by name of a "chat_template" setting: a text (named "default"), a list of {"name", "template"}, or an
// object of texts. CorruptData for anything else.
Result<NamedTexts> templates_of_setting(const Json& setting);
// Templates of a Hugging Face folder, from the first of these that has any: chat_template.jinja together with
// additional_chat_templates/NAME.jinja, tokenizer_config.json, chat_template.json.
Result<NamedTexts> folder_templates(const FileSet& folder, const Json& tokenizer_config);
// Templates of a GGUF file: tokenizer.chat_template and tokenizer.chat_template.NAME.
Result<NamedTexts> gguf_templates(const GgufFile& file);

}  // namespace loom
