#include "core/file_set.h"

#include <utility>

#include "core/file.h"
#include "core/folder.h"

namespace loom {

FileSet FileSet::folder(std::string path) {
  FileSet out;
  out.name_ = std::move(path);
  return out;
}

FileSet FileSet::memory(std::string name, std::map<std::string, std::shared_ptr<const ByteSource>> files) {
  FileSet out;
  out.name_ = std::move(name);
  out.on_disk_ = false;
  for (auto& [file, source] : files) out.files_.emplace(file, std::move(source));
  return out;
}

std::string FileSet::place_of(std::string_view file) const { return fmt::format("{}/{}", name_, file); }

bool FileSet::has(std::string_view file) const {
  if (on_disk_) return is_file(place_of(file));
  asked_.emplace(file);
  return files_.contains(file);
}

Result<std::shared_ptr<const ByteSource>> FileSet::open(std::string_view file) const {
  if (on_disk_) return ByteSource::file(place_of(file));
  asked_.emplace(file);
  const auto found = files_.find(file);
  if (found == files_.end()) return fail(Code::NotFound, "{}: there is no such file", place_of(file));
  return found->second;
}

Result<std::shared_ptr<const ByteSource>> FileSet::open_inside(std::string_view file) const {
  if (!on_disk_) return open(file);
  LOOM_TRY(const std::string path, path_inside(name_, file));
  return ByteSource::file(path);
}

Result<std::string> FileSet::text(std::string_view file, std::size_t max_bytes) const {
  if (on_disk_) return read_text_file(place_of(file), max_bytes);
  LOOM_TRY(const auto source, open(file));
  const auto bytes = source->bytes();
  if (bytes.size() > max_bytes)
    return fail(Code::LimitExceeded, "{}: {} bytes, expected at most {}", place_of(file), bytes.size(), max_bytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::vector<std::string>> FileSet::names_below(std::string_view folder) const {
  if (on_disk_) {
    if (!is_directory(place_of(folder))) return std::vector<std::string>();
    return visible_names_in(place_of(folder));
  }
  std::vector<std::string> names;
  for (const auto& [file, source] : files_)
    if (file.starts_with(fmt::format("{}/", folder)) && file.find('/', folder.size() + 1) == file.npos)
      names.push_back(file.substr(folder.size() + 1));
  return names;
}

std::vector<std::string> FileSet::unread() const {
  std::vector<std::string> names;
  for (const auto& [file, source] : files_)
    if (!asked_.contains(file)) names.push_back(file);
  return names;
}

}  // namespace loom
