#pragma once
// Paths of std::filesystem from and to text in UTF-8; on Windows it takes text to be in the system's code page.

#include <filesystem>
#include <string>
#include <string_view>

namespace loom {

inline std::filesystem::path path_of(std::string_view text) {
  return std::filesystem::path(std::u8string(text.begin(), text.end()));
}

inline std::string text_of(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

}  // namespace loom
