#pragma once
// The files of one folder by their names: a folder on disk, or bytes in memory that stand for one.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_source.h"
#include "core/error.h"

namespace loom {

class FileSet {
 public:
  static FileSet folder(std::string path);
  // `name` stands in messages where a folder has its path. Names of files are relative: "config.json".
  static FileSet memory(std::string name, std::map<std::string, std::shared_ptr<const ByteSource>> files);

  const std::string& name() const { return name_; }
  // Where a file is, for messages: "folder/config.json".
  std::string place_of(std::string_view file) const;
  bool has(std::string_view file) const;
  // NotFound, IoError.
  Result<std::shared_ptr<const ByteSource>> open(std::string_view file) const;
  // Like open(), for a name that comes from another file: OutOfRange where it leads out of the folder (path_inside()).
  Result<std::shared_ptr<const ByteSource>> open_inside(std::string_view file) const;
  // LimitExceeded for a file of more than `max_bytes`.
  Result<std::string> text(std::string_view file, std::size_t max_bytes = std::size_t{256} << 20) const;
  // Names of the files in a folder below, hidden ones left out, by their bytes; empty where there is no such folder.
  Result<std::vector<std::string>> names_below(std::string_view folder) const;
  // Files in memory that nobody has asked for; empty for a folder on disk.
  std::vector<std::string> unread() const;

 private:
  std::string name_;
  bool on_disk_ = true;
  std::map<std::string, std::shared_ptr<const ByteSource>, std::less<>> files_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace loom
