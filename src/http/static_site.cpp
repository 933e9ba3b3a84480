#include "http/static_site.h"

#include <charconv>
#include <cstdint>
#include <filesystem>

#include "core/path.h"

namespace loom {
namespace {

struct ByteRange {
  std::uint64_t first = 0, last = 0;
};
enum class RangeKind : std::uint8_t { Whole, Part, Outside };

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "bytes=0-99", "bytes=100-", "bytes=-100" of a file of `size` bytes.
RangeKind parse_range(std::string_view text, std::uint64_t size, ByteRange& range) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return RangeKind::Whole;
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || text.find(',') != std::string_view::npos) return RangeKind::Whole;
  const auto first = digits(text.substr(0, dash)), last = digits(text.substr(dash + 1));
  const bool has_first = dash > 0, has_last = dash + 1 < text.size();
  if ((has_first && !first) || (has_last && !last) || (!has_first && !has_last)) return RangeKind::Whole;
  if (!has_first) {  // the last bytes
    if (*last == 0 || size == 0) return RangeKind::Outside;
    range = {*last < size ? size - *last : 0, size - 1};
    return RangeKind::Part;
  }
  if (has_last && *last < *first) return RangeKind::Whole;
  if (*first >= size) return RangeKind::Outside;
  range = {*first, has_last && *last < size ? *last : size - 1};
  return RangeKind::Part;
}

bool reads(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

HttpResponse wrong_method() {
  HttpResponse response = http_error(405, "this path takes GET");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

// The part of a path below a prefix; nothing for a path that is elsewhere.
std::optional<std::string_view> below(std::string_view path, std::string_view prefix) {
  if (!prefix.ends_with('/')) return path == prefix ? std::optional(std::string_view()) : std::nullopt;
  return path.starts_with(prefix) ? std::optional(path.substr(prefix.size())) : std::nullopt;
}

// Names a state of a file; empty where its time is unknown.
std::string etag_of(const std::string& path, std::size_t bytes) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path_of(path), error);
  return error ? std::string() : fmt::format("\"{:x}-{:x}\"", bytes, time.time_since_epoch().count());
}

// Hidden files are none of the site.
bool is_hidden(std::string_view path) { return path.find("/.") != std::string_view::npos; }

}  // namespace

std::string_view content_type_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".mjs", "text/javascript; charset=utf-8"},
      {".json", "application/json"},
      {".webmanifest", "application/manifest+json"},
      {".wasm", "application/wasm"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".md", "text/markdown; charset=utf-8"},
      {".txt", "text/plain; charset=utf-8"},
  };
  for (const auto& [end, type] : kTypes)
    if (name.ends_with(end)) return type;
  return "application/octet-stream";
}

HttpResponse file_response(const std::string& path, const HttpRequest& request) {
  if (!reads(request)) return wrong_method();
  auto file = MappedFile::open(path);
  if (!file) return http_error(404, "there is no such file");
  HttpResponse response{200, std::string(content_type_of(path))};
  response.headers.emplace_back("Accept-Ranges", "bytes");
  const std::string etag = etag_of(path, (*file)->bytes().size());
  if (!etag.empty()) response.headers.emplace_back("ETag", etag);
  if (!etag.empty() && request.if_none_match == etag) {
    response.status = 304;
    return response;
  }
  const auto bytes = (*file)->bytes();
  ByteRange range;
  const RangeKind kind = parse_range(request.range, bytes.size(), range);
  if (kind == RangeKind::Outside) {
    response = http_error(416, "the range is outside the file");
    response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", bytes.size()));
    return response;
  }
  response.part = bytes;
  if (kind == RangeKind::Part) {
    response.status = 206;
    response.part = bytes.subspan(range.first, range.last - range.first + 1);
    response.headers.emplace_back("Content-Range",
                                  fmt::format("bytes {}-{}/{}", range.first, range.last, bytes.size()));
  }
  response.file = std::move(*file);
  return response;
}

HttpResponse site_response(const std::vector<SiteFolder>& folders, const HttpRequest& request) {
  if (!reads(request)) return wrong_method();
  const std::string path = request.path.ends_with('/') ? request.path + "index.html" : request.path;
  if (is_hidden(path)) return http_error(404, "there is no such file");
  for (const SiteFolder& folder : folders) {
    const auto name = below(path, folder.prefix);
    if (!name) continue;
    const auto found = name->empty() ? Result<std::string>(folder.path) : path_inside(folder.path, *name);
    if (found && is_file(*found)) return file_response(*found, request);
  }
  return http_error(404, "there is no such file");
}

HttpResponse with_site_headers(HttpResponse response) {
  constexpr std::pair<const char*, const char*> kHeaders[] = {
      {"Cache-Control", "no-cache"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Embedder-Policy", "require-corp"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' "
       "blob:; media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
       "frame-ancestors 'none'"},
  };
  for (const auto& [name, value] : kHeaders) response.headers.emplace_back(name, value);
  return response;
}

}  // namespace loom
