#pragma once
// Who may ask: addresses that only this computer reaches, tokens, and pages of other sites in a browser.

#include <string_view>

namespace loom {

// "127.0.0.1", "127.x.y.z", "::1", "localhost".
bool is_loopback(std::string_view address);

// What a request says of where it comes from and goes to.
struct HttpAccess {
  std::string_view authorization, host, origin;
};

// 0 for a request that may go on, else its status. With a token: 401 unless Authorization is "Bearer TOKEN" or "Basic"
// with the token as password, so that a browser can ask for it. Without one: 403 unless Host names this computer (a
// page elsewhere may have its name point here). In any case 403 where Origin is another site than Host.
int refusal(const HttpAccess& access, std::string_view token);

}  // namespace loom
