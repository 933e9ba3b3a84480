#pragma once
// When a file was changed, as far as its system says: two equal stamps are those of a file that has not changed.

#include <cstdint>
#include <optional>
#include <string>

namespace loom::os {

struct FileStamp {
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  // of the file on its disk; 0 where a system has none
  // nanoseconds: when the content was last changed; when content, name or owner was, which nobody can set
  std::int64_t modified_ns = 0, changed_ns = 0;
};

std::optional<FileStamp> stamp(const std::string& path);  // of what a link leads to

}  // namespace loom::os
