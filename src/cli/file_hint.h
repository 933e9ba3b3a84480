#pragma once
// Advice for a path that was given where a command belongs.

#include <string>

namespace loom::cli {

// Says what a path holds and which command takes it; empty where there is no such path.
std::string file_hint(const std::string& path);

}  // namespace loom::cli
