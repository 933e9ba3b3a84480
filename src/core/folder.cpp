#include "core/folder.h"

#include <algorithm>
#include <cerrno>

#include "core/file.h"
#include "core/system.h"

namespace loom {

Result<void> create_folders(const std::string& path) {
  for (std::size_t end = path.find_first_of(os::kSeparators, 1);; end = path.find_first_of(os::kSeparators, end + 1)) {
    const std::string part = path.substr(0, end);
    if (!is_directory(part)) {
      if (os::make_folder(part)) {
        LOOM_TRY_VOID(sync_folder_of(part));
      } else if (errno != EEXIST) {
        return os::error(part);
      }
    }
    if (end == path.npos) break;
  }
  if (!is_directory(path)) return fail(Code::IoError, "{}: not a folder", path);
  return {};
}

Result<std::vector<std::string>> visible_names_in(const std::string& folder) {
  auto names = os::names_in(folder);
  if (!names) return os::error(folder);
  std::erase_if(*names, [](const std::string& name) { return name.starts_with('.'); });
  std::ranges::sort(*names);  // char_traits compare as unsigned bytes
  return *std::move(names);
}

}  // namespace loom
