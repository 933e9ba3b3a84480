#pragma once
// NumPy's .npz files as numpy.savez and numpy.savez_compressed write them: a ZIP archive of .npy files.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "io/npy/npy.h"

namespace loom {

// By name, without ".npy"; of the names in `wanted` alone, unless it is empty. CorruptData with the offset, a wrong CRC
// or a name that appears twice among them; LimitExceeded beyond 1 GiB of arrays that were compressed; Unsupported for
// other methods of compression, encrypted archives and beyond 4 GiB; errors of parse_npy() with the name.
Result<std::map<std::string, NpyArray>> parse_npz(std::span<const std::byte> file,
                                                  std::span<const std::string_view> wanted = {});
Result<std::map<std::string, NpyArray>> read_npz(const std::string& path,
                                                 std::span<const std::string_view> wanted = {});

}  // namespace loom
