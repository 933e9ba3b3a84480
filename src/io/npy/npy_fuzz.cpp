// Any bytes as a .npy file: an array that fills its shape and comes back from what the writer makes of it, or an Error.

#include <cstdint>
#include <cstring>

#include "io/npy/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const auto array = parse_npy({reinterpret_cast<const std::byte*>(data), size});
  if (!array) return 0;
  const auto header = npy_header(array->dtype, array->shape, array->is_bool);
  LOOM_ASSERT(header.has_value());
  std::vector<std::byte> file(header->size() + array->bytes.size());
  std::memcpy(file.data(), header->data(), header->size());
  if (array->bytes.size() != 0) std::memcpy(file.data() + header->size(), array->bytes.data(), array->bytes.size());
  const auto again = parse_npy(file);
  LOOM_ASSERT(again && again->shape == array->shape && again->dtype == array->dtype &&
              again->is_bool == array->is_bool);
  LOOM_ASSERT(again->bytes.size() == array->bytes.size());
  LOOM_ASSERT(array->bytes.size() == 0 ||
              std::memcmp(again->bytes.data(), array->bytes.data(), array->bytes.size()) == 0);
  return 0;
}
