#pragma once
// Saves write a temporary file first; finds those that were left.

#include <filesystem>
#include <string>
#include <vector>

namespace loom::test {

// Temporary files of saves, anywhere below the folder.
inline std::vector<std::string> leftovers(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".part") out.push_back(entry.path().string());
  return out;
}

}  // namespace loom::test
