// gpu report: the graphics cards that Loom can compute on.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "backend/webgpu/native.h"
#include "cli/commands.h"
#include "core/json.h"

namespace loom::cli {
namespace {

Result<int> run_report(const CommonOptions& o) {
  LOOM_TRY(const auto adapters, gpu::native_adapters(webgpu_library()));
  Json list = Json::array();
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const gpu::AdapterInfo& a = adapters[i];
    if (o.json)
      list.push_back(Json{{"device", fmt::format("gpu:{}", i)},
                          {"name", a.name},
                          {"driver", a.driver},
                          {"backend", a.backend},
                          {"kind", a.kind},
                          {"limits", Json{{"binding_bytes", a.limits.binding_bytes},
                                          {"buffer_bytes", a.limits.buffer_bytes},
                                          {"storage_buffers", a.limits.storage_buffers},
                                          {"workgroup_bytes", a.limits.workgroup_bytes},
                                          {"threads", a.limits.threads},
                                          {"workgroups", a.limits.workgroups}}}});
    else
      std::printf("gpu:%zu  %s (%s, %s)\n  %s\n  %.0f MB in one buffer, %u threads and %u KB in a workgroup\n", i,
                  a.name.c_str(), a.kind.c_str(), a.backend.c_str(), a.driver.c_str(),
                  static_cast<double>(std::min(a.limits.binding_bytes, a.limits.buffer_bytes)) / 1e6, a.limits.threads,
                  a.limits.workgroup_bytes / 1024);
  }
  if (o.json) print_json(Json{{"adapters", list}});
  return kOk;
}

}  // namespace

Run gpu_command(CLI::App& app) {
  auto o = std::make_shared<CommonOptions>();
  CLI::App* const report = app.add_subcommand("report", "Adapters by number, with their limits");
  report->add_flag("--json", o->json, "As JSON");
  app.require_subcommand(1);
  return [o] { return finish(run_report(*o)); };
}

}  // namespace loom::cli
