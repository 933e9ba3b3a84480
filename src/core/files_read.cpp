#include "core/files_read.h"

#include <algorithm>

namespace loom {

thread_local FilesRead* FilesRead::current_ = nullptr;

void FilesRead::note(const std::string& path) {
  if (current_ == nullptr || std::ranges::find(current_->paths_, path) != current_->paths_.end()) return;
  current_->paths_.push_back(path);
}

}  // namespace loom
