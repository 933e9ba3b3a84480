#pragma once
// A folder for the files that a trial writes.

#include <stdlib.h>
#include <unistd.h>  // mkdtemp() on macOS

#include <filesystem>
#include <string>

#include "core/error.h"

namespace loom {

// A new folder among the system's temporary files; it goes with this.
class OwnFolder {
 public:
  OwnFolder() = default;
  ~OwnFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  Result<std::string> create() {
    std::error_code ignored;
    std::string name = (std::filesystem::temp_directory_path(ignored) / "loom-trial-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return fail(Code::IoError, "{}: no folder can be made", name);
    return path_ = name;
  }

 private:
  std::string path_;
};

}  // namespace loom
