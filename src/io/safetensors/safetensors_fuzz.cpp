// Any bytes as a safetensors file: a file whose tensors are inside it, or an Error.

#include <cstdint>

#include "io/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = SafetensorsFile::parse(bytes);
  if (!file) return 0;
  for (const SafeTensor& tensor : file->tensors())
    LOOM_ASSERT(tensor.bytes.empty() || (tensor.bytes.data() >= bytes.data() &&
                                         tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + size));
  return 0;
}
