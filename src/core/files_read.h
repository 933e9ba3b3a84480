#pragma once
// Lists the files that this thread opens through core/file.h while the object lives: what a result was read from. Lists
// nest, and the innermost one hears.

#include <string>
#include <vector>

namespace loom {

class FilesRead {
 public:
  FilesRead() : outer_(current_) { current_ = this; }
  ~FilesRead() { current_ = outer_; }
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  // In the order in which they were opened first.
  const std::vector<std::string>& paths() const { return paths_; }
  // Called for every file that was opened.
  static void note(const std::string& path);

 private:
  static thread_local FilesRead* current_;
  FilesRead* outer_;
  std::vector<std::string> paths_;
};

}  // namespace loom
