// Any text as a receipt: read, or refused; nothing that it names is opened.

#include <cstdint>

#include "host/receipt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const auto json = parse_json(std::string_view(reinterpret_cast<const char*>(data), size), kReceiptLimits);
  if (!json) return 0;
  is_intact(*json);
  if (const auto receipt = receipt_from_json(*json); receipt)
    LOOM_ASSERT(receipt->generation.sampling.logit_bias.size() <= size);
  return 0;
}
