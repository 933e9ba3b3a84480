#include "core/system.h"

#include <cerrno>
#include <cstring>

namespace loom::os {
namespace {

// Systems name a running program's file alone; Windows reports it of every file that another program keeps from others.
std::string_view words_of(int error) { return error == ETXTBSY ? "in use by another program" : std::strerror(error); }

}  // namespace

tl::unexpected<Error> error(const std::string& path, std::string_view what) {
  const int e = errno;
  const Code code = e == ENOENT       ? Code::NotFound
                    : is_disk_full(e) ? Code::DiskFull
                    : e == ENOMEM     ? Code::OutOfMemory
                                      : Code::IoError;
  if (what.empty()) return fail(code, "{}: {}", path, words_of(e));
  return fail(code, "{}: {}: {}", path, what, words_of(e));
}

}  // namespace loom::os
