#include "host/machine.h"

#include <algorithm>
#include <fstream>

namespace loom {

std::string cpu_name() {
#if defined(__wasm__)
  return "WebAssembly";
#else
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown CPU";
#endif
}

}  // namespace loom
