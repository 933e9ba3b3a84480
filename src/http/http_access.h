#pragma once
// Who may ask: addresses that only this computer reaches, tokens, and pages of other sites in a browser.

#include <span>
#include <string>
#include <string_view>

namespace loom {

// "127.0.0.1", "127.x.y.z", "::1", "localhost".
bool is_loopback(std::string_view address);

// "::1" of "[::1]"; other text as it is.
std::string_view without_brackets(std::string_view address);
// "127.0.0.1:80", "[::1]:80", as an URL has them. The address may be in brackets.
std::string host_and_port(std::string_view address, int port);

// The headers of a request that say where it comes from and goes to.
struct HttpAccess {
  std::string_view authorization, host, origin;
  std::string_view fetch_site{};  // Sec-Fetch-Site, which browsers send with every request of a page
  bool is_ambiguous = false;      // one of these headers is there more than once
};

// 0 for a request that may go on, else its status. 400 where a header is ambiguous (RFC 9112, 3.2). With a token: 401
// unless Authorization is "Bearer TOKEN" or "Basic" with the token as password, so that a browser can ask for it.
// Without one: 403 unless Host names this computer (the name of another page may resolve to this computer). In any case
// 403 where Origin is another site than Host, and where Sec-Fetch-Site is neither same-origin nor none (an address that
// a person typed): images and scripts of another page name no Origin. Neither counts where `allowed` has the Origin.
int refusal(const HttpAccess& access, std::string_view token, std::span<const std::string> allowed = {});

// Whether the list has the origin, or "*". No origin is in no list.
bool is_allowed_origin(std::string_view origin, std::span<const std::string> allowed);
// "*", or scheme://host with an optional port and nothing after it, as browsers send it.
bool is_origin(std::string_view text);

}  // namespace loom
