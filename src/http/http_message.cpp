#include "http/http_message.h"

#include "core/json.h"
#include "core/nearest.h"

namespace loom {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> decode_url(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_blank) c = ' ';
    if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    out += c;
  }
  return out;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    return decode_url(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
  }
  return std::nullopt;
}

Result<void> split_target(std::string_view target, HttpRequest& request) {
  const std::size_t mark = target.find('?');
  if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
  auto path = decode_url(target.substr(0, mark), false);
  if (!path || path->empty() || (*path)[0] != '/')
    return fail(Code::InvalidArgument, "\"{}\" is no path of a request", printable(target));
  request.path = std::move(*path);
  return {};
}

HttpResponse http_error(int status, std::string_view message) {
  return {status, "application/json", dump_json({{"status", "error"}, {"message", message}}) + "\n"};
}

}  // namespace loom
