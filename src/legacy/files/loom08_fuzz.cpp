// Any bytes as a network of Loom 0.8x, .entity or checkpoint: a network whose weights all have values, or an Error.

#include <cstdint>

#include "core/json.h"
#include "io/byte_reader.h"
#include "legacy/files/loom08.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  SpecOptions options;
  options.max_weights = 1 << 16;
  auto read = [&]() -> Result<SpecResult> {
    if (loom08::is_entity(bytes)) return loom08::network_from_entity(bytes, options);
    LOOM_TRY(Json document, parse_json(as_text(bytes)));
    if (!loom08::is_checkpoint(document)) return fail(Code::CorruptData, "no checkpoint of 0.8x");
    return loom08::network_from_checkpoint(std::move(document), options);
  }();
  if (!read) return 0;
  read->network.visit_weights([](const std::string&, const Weight& w, const Layer&) { LOOM_ASSERT(w.has_value()); });
  return 0;
}
