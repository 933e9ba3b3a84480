#pragma once
// The largest GGUF file that runs in the free memory of this computer.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pull/repository.h"

namespace loom::pull {

// The cost of a position of the context, from the keys at the beginning of a GGUF file.
struct CacheShape {
  std::uint64_t layers = 0, kv_heads = 0, key_length = 0, value_length = 0;
  std::uint64_t context = 0;  // positions of the model's training; 0: not given
  std::uint64_t bytes_per_position() const { return layers * kv_heads * (key_length + value_length) * 4; }
};
// Reads the first bytes of a file of `size` bytes. Unsupported when the keys are not among them.
Result<CacheShape> read_cache_shape(std::span<const std::byte> front, std::uint64_t size);

// Bytes that this computer, or the container, has free for programs, also in its cache of files; nothing where that is
// not known.
std::optional<std::uint64_t> free_memory();
// The line "MemAvailable: N kB" of /proc/meminfo.
std::optional<std::uint64_t> read_available(std::string_view meminfo);

// Bytes that a control group leaves: memory.max less memory.current, in which inactive files of memory.stat count as
// free. Nothing for "max", no limit.
std::optional<std::uint64_t> read_group(std::string_view max, std::string_view current, std::string_view stat);

// The first of `models`, the largest first, that fits beside `cache_bytes`; null for none.
const RemoteFile* largest_that_fits(const std::vector<RemoteFile>& models, std::uint64_t cache_bytes,
                                    std::uint64_t free_bytes);

}  // namespace loom::pull
