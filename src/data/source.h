#pragma once
// The bytes of a file that data is read from: mapped, or unpacked where it is gzip'd.

#include <memory>
#include <span>
#include <string>

#include "core/buffer.h"
#include "core/file.h"
#include "core/sha256.h"

namespace loom {

struct Source {
  std::string path;
  std::span<const std::byte> stored;  // the file as it is
  std::span<const std::byte> bytes;   // what it holds
  std::shared_ptr<const void> owner;  // keeps both alive
};

inline constexpr std::size_t kMaxUnpacked = std::size_t{1} << 30;

// Files that start with gzip's magic are unpacked: Unsupported in a build without zlib, CorruptData, LimitExceeded
// beyond `max_unpacked`.
Result<Source> open_source(const std::string& path, std::size_t max_unpacked = kMaxUnpacked);

// RFC 1952, concatenated members too, as gzip reads them. Errors as above.
Result<Buffer> gunzip(std::span<const std::byte> file, std::size_t max_bytes);

Digest sha256_of(std::initializer_list<std::span<const std::byte>> parts);

}  // namespace loom
