// Hints and a safetensors file by anybody: the first bytes say how long the hints are.

#include "core/json.h"
#include "io/bare_network.h"
#include "io/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t length = std::min<std::size_t>(data[0] | data[1] << 8, size - 2);
  const std::string_view text(reinterpret_cast<const char*>(data + 2), length);
  const auto hints = loom::parse_json(text);
  const auto file = loom::SafetensorsFile::parse(std::as_bytes(std::span(data + 2 + length, size - 2 - length)));
  if (!file) return 0;
  std::vector<loom::BareTensor> tensors;
  for (const loom::SafeTensor& t : file->tensors()) tensors.push_back({t.name, t.dtype, t.shape, t.bytes, nullptr});
  const auto made =
      loom::network_from_bare(std::move(tensors), hints ? *hints : loom::Json(), {.max_weights = 1 << 20});
  return made ? 0 : static_cast<int>(made.error().text().empty());
}
