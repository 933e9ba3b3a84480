#include "core/system.h"

#include <cerrno>
#include <cstring>

namespace loom::os {

tl::unexpected<Error> error(const std::string& path, std::string_view what) {
  const int e = errno;
  const Code code = e == ENOENT       ? Code::NotFound
                    : is_disk_full(e) ? Code::DiskFull
                    : e == ENOMEM     ? Code::OutOfMemory
                                      : Code::IoError;
  if (what.empty()) return fail(code, "{}: {}", path, std::strerror(e));
  return fail(code, "{}: {}: {}", path, what, std::strerror(e));
}

}  // namespace loom::os
