// Whole evolutions of loom.h.

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/evolve.h"

namespace loom::capi {
namespace {

Json report_of(const EvolveProgress& p) {
  Json out{{"done", p.done}, {"total", p.total}, {"seconds", p.seconds}};
  if (p.report != nullptr) out["hash"] = to_hex(p.report->hash);
  out["best_score"] = p.best != nullptr && p.best->fitness ? Json(p.best->fitness->score()) : Json();
  out["best_id"] = p.best != nullptr ? p.best->id.text() : "";
  return out;
}

Result<EvolveOptions> options_of(const loom_evolve_options& given, const CancelOf& cancel) {
  EvolveOptions out;
  if (given.out != nullptr) out.out = given.out;
  if (given.folder != nullptr) out.folder = given.folder;
  LOOM_TRY(out.start, run_start_of(given.start));
  out.generations = static_cast<std::size_t>(given.generations);
  LOOM_TRY_VOID(read_workers(given, out));
  if (given.progress != nullptr)
    out.progress = [call = given.progress, user = given.user](const EvolveProgress& p) {
      return call(user, dump_json(report_of(p)).c_str()) != 0 ? Continue::yes : Continue::stop;
    };
  out.cancel = cancel.flag();
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_evolve(const void* config, size_t config_size, const loom_evolve_options* options,
                        loom_blob* outcome) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(outcome));
    LOOM_TRY(const std::string_view text, need_bytes(config, config_size, "config"));
    LOOM_TRY(const Json json, parse_json(text));
    LOOM_TRY(const loom_evolve_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const EvolveOptions wanted, options_of(given, cancel));
    LOOM_TRY(const EvolveResult done, evolve(json, wanted));
    LOOM_TRY(*outcome, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_evolve_file(const char* path, const loom_evolve_options* options, loom_blob* outcome) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(outcome));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const loom_evolve_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const EvolveOptions wanted, options_of(given, cancel));
    LOOM_TRY(const EvolveResult done, evolve_file(std::string(name), wanted));
    LOOM_TRY(*outcome, make_blob(to_json(done)));
    return {};
  });
}
