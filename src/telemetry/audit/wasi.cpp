#include "telemetry/audit.h"

#include "backend/cpu/isa.h"
#include "core/json.h"

namespace loom {

Json system_audit(const AuditOptions&) {
  Json isas = Json::array();
  for (const Isa isa : usable_isas()) isas.push_back(name(isa));
  return Json{{"os", Json{{"name", "wasi"}}}, {"isas", std::move(isas)}};
}

}  // namespace loom
