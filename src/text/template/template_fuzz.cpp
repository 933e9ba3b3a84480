// The template, then a zero byte, then the JSON of its variables.

#include <cstdint>
#include <string_view>

#include "text/template/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  const auto parsed = loom::ChatTemplate::parse(std::string(text.substr(0, cut)));
  if (!parsed) return 0;
  loom::Json context = loom::Json::object();
  if (cut != std::string_view::npos)
    if (auto json = loom::parse_json(text.substr(cut + 1)); json && json->is_object()) context = *std::move(json);
  (void)parsed->render(context, {.max_steps = 100'000, .max_output_bytes = 1 << 20, .max_memory_bytes = 16 << 20},
                       loom::TemplateTime{});
  return 0;
}
