#include "core/folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/file.h"

namespace loom {

Result<void> create_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!is_directory(part)) {
      if (mkdir(part.c_str(), 0777) == 0) {
        LOOM_TRY_VOID(sync_folder_of(part));
      } else if (errno != EEXIST) {
        return fail(errno == ENOSPC ? Code::DiskFull : Code::IoError, "{}: {}", part, std::strerror(errno));
      }
    }
    if (end == path.npos) break;
  }
  if (!is_directory(path)) return fail(Code::IoError, "{}: not a folder", path);
  return {};
}

}  // namespace loom
