#include "cli/serving.h"

#include <cstdio>

#include "cli/signals.h"
#include "http/http_access.h"

namespace loom::cli {

std::string url_of(const HttpServer& server, const HttpServerOptions& options) {
  return "http://" + host_and_port(options.address, server.port());
}

Result<int> serve_until_stopped(HttpServer& server, const CommonOptions& options, const std::string& url,
                                const Json& json, const std::string& what) {
  if (options.json)
    print_json(json);
  else
    std::printf("%s\n", url.c_str());
  std::fflush(stdout);
  remark(options, what.empty() ? "serving until Ctrl-C" : fmt::format("serving {} until Ctrl-C", what));
  LOOM_TRY_VOID(server.run(interrupt_flag()));
  remark(options, fmt::format("ended by {}", end_in_order()));
  return kOk;
}

}  // namespace loom::cli
