#pragma once
// The hash of what a model, a network or an adapter is made of: what a receipt names, and what `loom inspect` shows.
//   a file      SHA-256 of its bytes
//   an .entity  its root hash, which covers every section (io/entity/entity.h)
//   a folder    SHA-256 of the lines "<hash of a file>  <name>\n" in the order of the names, as `sha256sum` prints
//               them, of the files that Loom may read: *.json, *.jinja, *.safetensors, *.txt and *.model of the folder,
//               *.json, *.jinja and *.safetensors of the folders in it (as "folder/name"); hidden ones are left out

#include <atomic>
#include <string>

#include "core/error.h"
#include "core/sha256.h"

namespace loom {

enum class HashCache {
  use,   // the hash of a file that has not changed since is taken from the user's cache folder
  fresh  // every byte is read, and every section of an .entity is checked: CorruptData
};

// NotFound, IoError; LimitExceeded for a folder of more than kMostFilesHashed files; Cancelled. A file is remembered by
// its size, its number on the disk and both of its times, in loom/hashes of XDG_CACHE_HOME (default: ~/.cache). Without
// such a folder, or where it cannot be written, nothing is remembered.
Result<Digest> content_hash(const std::string& path, HashCache cache = HashCache::use,
                            const std::atomic<bool>* cancel = nullptr);
inline constexpr std::size_t kMostFilesHashed = 4096;

}  // namespace loom
