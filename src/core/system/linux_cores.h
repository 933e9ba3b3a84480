#pragma once
// Counts the cores of a processor as Linux describes it.

#include <span>
#include <string>

namespace loom::os {

struct Cores {
  int physical = 1, performance = 1;  // system.h has their meaning
};
// `devices` is /sys/devices, or a copy of another machine's; `cpus` are the numbers of the hyper-threads that the
// process may use.
Cores count_cores(const std::string& devices, std::span<const int> cpus);

}  // namespace loom::os
