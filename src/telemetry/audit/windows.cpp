#include "telemetry/audit.h"

#include <windows.h>

#include "backend/cpu/isa.h"
#include "core/json.h"
#include "core/system.h"

namespace loom {
namespace {

// A value of the registry that is text; empty where there is none.
std::string registry_text(const char* key, const char* value) {
  char text[256] = {};
  DWORD bytes = sizeof text;
  if (RegGetValueA(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_SZ, nullptr, text, &bytes) != ERROR_SUCCESS) return {};
  return text;
}

}  // namespace

// Neither caches, GPUs, disks nor networks are asked about.
Json system_audit(const AuditOptions& options) {
  Json isas = Json::array();
  for (const Isa isa : usable_isas()) isas.push_back(name(isa));
  Json cpu{{"physical_cores", os::physical_cores()}};
  const std::string model = registry_text("HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", "ProcessorNameString");
  if (!model.empty()) cpu["name"] = model;
  SYSTEM_INFO system{};
  GetNativeSystemInfo(&system);
  cpu["logical_cores"] = system.dwNumberOfProcessors;
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof memory;
  GlobalMemoryStatusEx(&memory);
  const std::string release = registry_text("SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion", "CurrentBuildNumber");
  Json out{{"os", Json{{"name", "Windows"}, {"release", release}, {"machine", "x86_64"}}},
           {"cpu", std::move(cpu)},
           {"caches", Json::array()},
           {"memory", Json{{"total_bytes", memory.ullTotalPhys}, {"available_bytes", memory.ullAvailPhys}}},
           {"gpus", Json::array()},
           {"disks", Json::array()},
           {"isas", std::move(isas)}};
  if (options.include_network) out["network"] = Json::array();
  return out;
}

}  // namespace loom
