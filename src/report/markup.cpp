#include "report/markup.h"

#include "core/json.h"

namespace loom {

std::string html_text(std::string_view text) {
  std::string clean;
  if (!is_utf8(text)) {  // a JSON text replaces what is no UTF-8
    clean = dump_json(Json(std::string(text)));
    if (const auto back = parse_json(clean); back && as_string(*back) != nullptr) clean = *as_string(*back);
    text = clean;
  }
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      out += "\xef\xbf\xbd";
    else
      out += c;
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t characters = 0, at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;
    if (++characters > most) return std::string(text.substr(0, at)) + "…";
  }
  return std::string(text);
}

}  // namespace loom
