#include "core/system_lines.h"

#include "core/file.h"
#include "core/system.h"

#include <algorithm>

namespace loom {

// Streams of the C++ library would bring their locales into libraries, 0.4 MB.
std::vector<std::string> system_lines(const std::string& path) {
  const int file = os::open(path, os::Access::read);
  if (file < 0) return {};
  const auto text = read_stream(file, path, std::size_t{16} << 20);
  os::close(file);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; text && begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    lines.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace loom
