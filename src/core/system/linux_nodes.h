#pragma once
// Finds the memory nodes of a machine as Linux describes them.

#include <span>
#include <string>
#include <vector>

namespace loom::os {

// Nodes that have memory, of `allowed` ones, and one of the processors `cpus`. `devices` is /sys/devices, or a copy of
// another machine's.
std::vector<int> nodes_of(const std::string& devices, std::span<const int> cpus, std::span<const int> allowed);

}  // namespace loom::os
