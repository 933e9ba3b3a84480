#include "pull/repository.h"

#include <algorithm>

#include "core/json.h"
#include "core/nearest.h"

namespace loom::pull {
namespace {

constexpr std::size_t kMostFiles = 100'000, kLongestPath = 1024, kLongestEtag = 128;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<std::uint64_t> size_in(const Json& object) {
  const Json* const size = find(object, "size");
  const auto value = size == nullptr ? std::nullopt : as_int(*size);
  return value && *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

std::string text_in(const Json& object, std::string_view key) {
  const Json* const value = find(object, key);
  const std::string* const text = value == nullptr ? nullptr : as_string(*value);
  return text == nullptr ? std::string() : *text;
}

Result<RemoteFile> read_file(const Json& entry) {
  RemoteFile file;
  file.path = text_in(entry, "rfilename");
  if (!is_safe_path(file.path))
    return fail(Code::CorruptData, "the file \"{}\" is no path inside a folder", printable(file.path));
  file.bytes = size_in(entry);
  file.hash = text_in(entry, "blobId");
  if (!is_hex(file.hash, 40)) file.hash.clear();
  if (const Json* const large = find(entry, "lfs"); large != nullptr && large->is_object()) {
    file.hash = text_in(*large, "sha256");
    if (!is_hex(file.hash, 64)) file.hash.clear();
    if (const auto bytes = size_in(*large)) file.bytes = bytes;
  }
  return file;
}

}  // namespace

std::optional<std::uint64_t> read_count(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath) return false;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    if (std::ranges::any_of(part, [](char c) { return static_cast<unsigned char>(c) < 32 || c == '\\' || c == 127; }))
      return false;
    if (end == path.size()) return true;
    at = end + 1;
  }
}

bool is_revision(std::string_view text) {
  return is_safe_path(text) && text.size() <= 200 && text[0] != '-' && text[0] != '.' &&
         std::ranges::all_of(
             text, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '/'; });
}

Result<Repository> read_repository(std::string_view json) {
  LOOM_TRY(const Json root, parse_json(json, {.max_bytes = std::size_t{64} << 20, .max_depth = 32}));
  Repository out;
  out.commit = text_in(root, "sha");
  if (!is_hex(out.commit, 40))
    return fail(Code::CorruptData, "\"sha\" is \"{}\", expected the 40 hexadecimal digits of a commit",
                printable(out.commit));
  const Json* const files = find(root, "siblings");
  if (files == nullptr || !files->is_array())
    return fail(Code::CorruptData, "\"siblings\" is missing, expected the list of files");
  if (files->size() > kMostFiles)
    return fail(Code::LimitExceeded, "{} files, at most {} are read", files->size(), kMostFiles);
  for (const Json& entry : *files) {
    LOOM_TRY(RemoteFile file, read_file(entry));
    out.files.push_back(std::move(file));
  }
  std::ranges::sort(out.files, {}, &RemoteFile::path);
  const auto twice = std::ranges::adjacent_find(out.files, {}, &RemoteFile::path);
  if (twice != out.files.end())
    return fail(Code::CorruptData, "the file \"{}\" is listed twice", printable(twice->path));
  return out;
}

Result<FileHead> read_file_head(const WebAnswer& answer) {
  FileHead out;
  std::string etag = answer.header("x-linked-etag");
  if (etag.empty()) etag = answer.header("etag");
  std::string_view name = etag;
  if (name.starts_with("W/")) name.remove_prefix(2);
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  const auto is_part = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
  if (name.empty() || name.size() > kLongestEtag || name[0] == '.' || !std::ranges::all_of(name, is_part))
    return fail(Code::CorruptData, "the ETag is \"{}\", expected letters and digits", printable(etag));
  out.etag = name;
  const std::string linked = answer.header("x-linked-size"), length = answer.header("content-length");
  const bool is_redirect = answer.status >= 300 && answer.status < 400;
  const std::string& size = !linked.empty() || is_redirect ? linked : length;
  out.bytes = read_count(size);
  if (!size.empty() && !out.bytes) return fail(Code::CorruptData, "the size \"{}\" is no number", printable(size));
  return out;
}

std::optional<ContentRange> read_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t dash = text.find('-'), slash = text.find('/');
  if (dash == text.npos || slash == text.npos || slash < dash) return std::nullopt;
  const auto first = read_count(text.substr(0, dash)), last = read_count(text.substr(dash + 1, slash - dash - 1)),
             all = read_count(text.substr(slash + 1));
  if (!first || !last || !all || *first > *last || *last >= *all) return std::nullopt;
  return ContentRange{*first, *last, *all};
}

std::string origin_of(std::string_view url) {
  const std::size_t colon = url.find("://");
  if (colon == url.npos) return {};
  const std::string scheme = lower(url.substr(0, colon));
  if (scheme != "http" && scheme != "https") return {};
  std::string_view host = url.substr(colon + 3);
  host = host.substr(0, std::min(host.find_first_of("/?#"), host.size()));
  if (host.empty() || host.find_first_of("@\\ ") != host.npos) return {};  // a name and a password are not read
  std::string text = lower(host);
  const std::string_view usual = scheme == "https" ? ":443" : ":80";
  if (text.ends_with(usual)) text.resize(text.size() - usual.size());
  return text.empty() ? std::string() : scheme + "://" + text;
}

bool is_private_origin(std::string_view origin) {
  if (origin.starts_with("https://")) return true;
  for (const std::string_view own : {"http://localhost", "http://127.0.0.1", "http://[::1]"})
    if (origin == own || (origin.starts_with(own) && origin[own.size()] == ':')) return true;
  return false;
}

std::string url_encoded(std::string_view text, bool keep_slashes) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain || (c == '/' && keep_slashes))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace loom::pull
