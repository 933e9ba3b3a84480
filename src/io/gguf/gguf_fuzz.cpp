// Any bytes as a GGUF file: a file whose tensors are inside it, or an Error.

#include <cstdint>

#include "io/gguf/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = GgufFile::parse(bytes);
  if (!file) return 0;
  for (const GgufValue& value : file->metadata()) {
    (void)as_int(value), (void)as_number(value), (void)as_bool(value), (void)as_string(value);
    (void)as_strings(value), (void)as_ints(value), (void)as_floats(value);
  }
  for (const GgufTensor& tensor : file->tensors()) {
    LOOM_ASSERT(tensor.bytes.empty() || (tensor.bytes.data() >= bytes.data() &&
                                         tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + size));
    LOOM_ASSERT(file->tensor(tensor.name) == &tensor);
  }
  return 0;
}
