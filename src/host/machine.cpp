#include "host/machine.h"

#include <algorithm>

#include "core/system_lines.h"

namespace loom {

std::string cpu_name() {
#if defined(__wasm__)
  return "WebAssembly";
#else
  for (const std::string& line : system_lines("/proc/cpuinfo"))
    if (line.rfind("model name", 0) == 0) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown CPU";
#endif
}

}  // namespace loom
