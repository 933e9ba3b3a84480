#include "telemetry/socket.h"

#include <charconv>

namespace loom {

Result<HttpUrl> parse_http_url(std::string_view url) {
  if (url.starts_with("https://"))
    return fail(Code::Unsupported, "https is not supported; a local collector takes http");
  constexpr std::string_view kScheme = "http://";
  const auto bad = [&] {
    return fail(Code::InvalidArgument, "\"{}\" given, http://host[:port][/path] expected", url.substr(0, 80));
  };
  if (!url.starts_with(kScheme)) return bad();
  for (const char c : url)
    if (c <= ' ' || c > '~') return bad();
  url.remove_prefix(kScheme.size());
  HttpUrl out;
  if (const auto slash = url.find('/'); slash != url.npos) out.path = url.substr(slash), url = url.substr(0, slash);
  if (const auto colon = url.rfind(':'); colon != url.npos) {
    const std::string_view digits = url.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
    if (error != std::errc() || end != digits.data() + digits.size() || out.port == 0) return bad();
    url = url.substr(0, colon);
  }
  out.host = url;
  return out.host.empty() ? Result<HttpUrl>(bad()) : Result<HttpUrl>(std::move(out));
}

}  // namespace loom
