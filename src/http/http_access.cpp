#include "http/http_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base64.h"

namespace loom {
namespace {

// Takes equal time for every wrong token of a length.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

bool is_authorized(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kBearer = "Bearer ", kBasic = "Basic ";
  if (authorization.starts_with(kBearer)) return same_secret(authorization.substr(kBearer.size()), token);
  if (!authorization.starts_with(kBasic)) return false;
  const auto bytes = base64_decode(authorization.substr(kBasic.size()));
  if (!bytes) return false;
  const std::string_view pair(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const std::size_t colon = pair.find(':');
  return colon != std::string_view::npos && same_secret(pair.substr(colon + 1), token);
}

// Without the port, and without the brackets of an IPv6 address.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') == host.npos ? host.npos : host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

bool is_loopback(std::string_view address) {
  if (address == "localhost" || address == "::1") return true;
  if (!address.starts_with("127.")) return false;
  return std::ranges::all_of(address, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

std::string_view without_brackets(std::string_view address) {
  const bool has_brackets = address.starts_with('[') && address.ends_with(']');
  return has_brackets ? address.substr(1, address.size() - 2) : address;
}

std::string host_and_port(std::string_view address, int port) {
  const std::string_view host = without_brackets(address);
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

bool is_allowed_origin(std::string_view origin, std::span<const std::string> allowed) {
  return !origin.empty() &&
         std::ranges::any_of(allowed, [&](const std::string& each) { return each == "*" || each == origin; });
}

bool is_origin(std::string_view text) {
  if (text == "*") return true;
  const std::size_t slashes = text.find("://");
  if (slashes == text.npos || slashes == 0) return false;
  const std::string_view host = text.substr(slashes + 3);
  return !host.empty() && host.find_first_of("/?# \t\r\n,") == host.npos;
}

int refusal(const HttpAccess& access, std::string_view token, std::span<const std::string> allowed) {
  constexpr int kBad = 400, kUnauthorized = 401, kForbidden = 403;
  if (access.is_ambiguous) return kBad;
  if (!token.empty() && !is_authorized(access.authorization, token)) return kUnauthorized;
  if (token.empty() && !is_loopback(host_name(access.host))) return kForbidden;
  if (is_allowed_origin(access.origin, allowed)) return 0;
  if (!access.fetch_site.empty() && access.fetch_site != "same-origin" && access.fetch_site != "none")
    return kForbidden;
  if (access.origin.empty()) return 0;
  const std::size_t slashes = access.origin.find("://");
  const bool same = slashes != std::string_view::npos && access.origin.substr(slashes + 3) == access.host;
  return same ? 0 : kForbidden;
}

}  // namespace loom
