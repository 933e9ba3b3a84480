#pragma once
// NumPy's .npz files as numpy.savez writes them: a ZIP archive of .npy files, not compressed.

#include <map>
#include <string>

#include "io/npy/npy.h"

namespace loom {

// By name, without ".npy". CorruptData with the offset, a wrong CRC or a name that appears twice among them;
// Unsupported for compressed (savez_compressed) and encrypted archives and beyond 4 GiB; errors of parse_npy() with the
// name.
Result<std::map<std::string, NpyArray>> parse_npz(std::span<const std::byte> file);
Result<std::map<std::string, NpyArray>> read_npz(const std::string& path);

}  // namespace loom
