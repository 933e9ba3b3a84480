// Any text as config.json, any bytes as the metadata of a GGUF: a config whose sizes can be multiplied, or an Error.

#include <cstdint>

#include "core/json.h"
#include "lm/model_config.h"
#include "lm/tensor_names.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const auto check = [](const Result<ModelConfig>& config) {
    if (!config || config->num_hidden_layers > 64) return;
    for (const TensorPlace& place : expected_tensors(*config))
      for (const std::size_t extent : expected_shape(*config, place.role)) LOOM_ASSERT(extent > 0);
  };
  if (const auto json = parse_json(std::string_view(reinterpret_cast<const char*>(data), size)))
    check(config_from_json(*json));
  if (const auto file = GgufFile::parse(std::span(reinterpret_cast<const std::byte*>(data), size)))
    check(config_from_gguf(*file));
  return 0;
}
