// gpu report: the graphics cards that Loom can compute on.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "core/json.h"
#include "host/device.h"

namespace loom::cli {
namespace {

Result<int> run_report(const CommonOptions& o) {
  LOOM_TRY(const Json report, gpu_report());
  if (o.json) {
    print_json(report);
    return kOk;
  }
  const auto text = [](const Json& of, const char* key) { return *as_string(of[key]); };
  const auto number = [](const Json& of, const char* key) { return *as_number(of[key]); };
  for (const Json& a : report["adapters"]) {
    const Json& limits = a["limits"];
    std::printf("%s  %s (%s, %s)\n  %s\n  %.0f MB in one buffer, %.0f threads and %.0f KB in a workgroup\n",
                text(a, "device").c_str(), text(a, "name").c_str(), text(a, "kind").c_str(), text(a, "backend").c_str(),
                text(a, "driver").c_str(),
                std::min(number(limits, "binding_bytes"), number(limits, "buffer_bytes")) / 1e6,
                number(limits, "threads"), number(limits, "workgroup_bytes") / 1024);
    if (const Json* const problem = find(a, "problem")) {
      std::printf("  cannot be used%s: %s\n",
                  find(a, "tier") != nullptr ? " but with --precision fast (tier fast)" : "",
                  as_string(*problem)->c_str());
      continue;
    }
    std::printf("  tier %s, sums %s, dots %s%s; %.0f shaders are known to give the bits of the CPU\n",
                text(a, "tier").c_str(), text(a, "sums").c_str(), text(a, "dots").c_str(),
                a["matrix_units"] == true ? ", units for matrices" : "", number(a["use"]["proofs"], "known"));
  }
  return kOk;
}

}  // namespace

Run gpu_command(CLI::App& app) {
  auto o = std::make_shared<CommonOptions>();
  CLI::App* const report = app.add_subcommand("report", "Adapters by number: limits, arithmetic, proofs");
  report->add_flag("--json", o->json, "As JSON");
  app.require_subcommand(1);
  return [o] { return finish(run_report(*o)); };
}

}  // namespace loom::cli
