// Any bytes as an .npz file: arrays whose bytes fill their shapes, or an Error.

#include <cstdint>

#include "io/npy/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const auto arrays = parse_npz({reinterpret_cast<const std::byte*>(data), size});
  if (!arrays) return 0;
  for (const auto& [name, array] : *arrays) {
    std::size_t elements = 1;
    for (const std::size_t extent : array.shape) elements *= extent;
    LOOM_ASSERT(array.bytes.size() >= elements * info(array.dtype).block_bytes);
  }
  return 0;
}
