// Any bytes as a JSON network or an old .entity: what is written as version 1 is read again, and written once more it
// is the same file.

#include <cstdint>

#include "io/byte_reader.h"
#include "legacy/files/write.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  SpecOptions options;
  options.max_weights = 1 << 16;
  const auto read = loom08::is_entity(bytes) ? loom08::network_from_entity(bytes, options)
                                             : network_from_json(as_text(bytes), options);
  if (!read) return 0;
  const auto first = loom08::write_entity(read->network, {.allow_loss = true});
  if (!first) return 0;
  const auto again = loom08::network_from_entity(first->bytes, options);
  LOOM_ASSERT(again.has_value());
  const auto second = loom08::write_entity(again->network, {.allow_loss = true});
  LOOM_ASSERT(second.has_value());
  const auto third =
      loom08::write_entity(loom08::network_from_entity(second->bytes, options)->network, {.allow_loss = true});
  LOOM_ASSERT(third.has_value() && third->bytes == second->bytes);
  return 0;
}
