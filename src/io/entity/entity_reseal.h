#pragma once
// For tests and the fuzz target: makes length, section hashes and root hash of a damaged file right again, so that the
// code after these checks is reached too.

#include <cstring>
#include <vector>

#include "core/little_endian.h"
#include "io/entity/entity_layout.h"

namespace loom {

inline void reseal(std::vector<std::byte>& file) {
  if (file.size() < kEntityHeaderBytes) return;
  store_le(file.data() + 16, static_cast<std::uint64_t>(file.size()));
  const std::size_t count = load_le<std::uint32_t>(file.data() + 24);
  if (count > (file.size() - kEntityHeaderBytes) / kEntityEntryBytes) return;
  const auto directory = std::span(file).subspan(kEntityHeaderBytes, count * kEntityEntryBytes);
  // One section may hold the whole file, so many of them would take quadratic time.
  std::size_t hashed = 0;
  for (std::size_t i = 0; i < count && hashed < 4 * file.size(); ++i) {
    std::byte* const entry = directory.data() + i * kEntityEntryBytes;
    const auto offset = load_le<std::uint64_t>(entry + 16), length = load_le<std::uint64_t>(entry + 24);
    if (offset > file.size() || length > file.size() - offset) continue;
    Sha256 hash;
    hash.update(std::span(file).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)));
    const Digest digest = hash.finish();
    std::memcpy(entry + kEntityHashInEntry, digest.data(), digest.size());
    hashed += static_cast<std::size_t>(length);
  }
  const Digest root = entity_root_hash(file, directory);
  std::memcpy(file.data() + 32, root.data(), root.size());
}

}  // namespace loom
