#pragma once
// The end that commands with a server share: one line with the address, and a signal that ends the command in order.

#include <string>

#include "cli/common.h"
#include "core/json.h"
#include "http/http_server.h"

namespace loom::cli {

// "http://127.0.0.1:8080", "http://[::1]:8080": where a server that listens is reached.
std::string url_of(const HttpServer& server, const HttpServerOptions& options);

// Prints `url`, or `json` where the options ask for JSON, and serves until Ctrl-C, SIGTERM or SIGHUP. Requests under
// way are answered first. kOk then: a server has no other way to end. A second Ctrl-C ends the program at once.
Result<int> serve_until_stopped(HttpServer& server, const CommonOptions& options, const std::string& url,
                                const Json& json, const std::string& what = {});

}  // namespace loom::cli
