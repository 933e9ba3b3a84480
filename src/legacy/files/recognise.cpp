// Files of Loom 0.8x are recognised in every build, so that one without their readers refuses them by name.

#include <algorithm>

#include "core/json.h"
#include "core/little_endian.h"
#include "io/byte_reader.h"
#include "legacy/files/loom08.h"
#include "legacy/files/stores.h"

namespace loom::loom08 {
namespace {

bool holds_text(const Json& layer) {
  if (!layer.is_object()) return false;
  const Json* weights = find(layer, "weights");
  if (weights != nullptr && weights->is_string()) return true;
  for (const std::string_view key : kLists)
    if (const Json* list = find(layer, key);
        list != nullptr && list->is_array() && std::ranges::any_of(*list, holds_text))
      return true;
  return std::ranges::any_of(kSingles, [&](std::string_view key) {
    const Json* child = find(layer, key);
    return child != nullptr && holds_text(*child);
  });
}

}  // namespace

bool is_checkpoint(const Json& document) {
  const Json* layers = find(document, "layers");
  return layers != nullptr && layers->is_array() && std::ranges::any_of(*layers, holds_text);
}

bool is_entity(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() + 2 && as_text(bytes.first(kMagic.size())) == kMagic &&
         load_le<std::uint16_t>(bytes.data() + kMagic.size()) == kVersion;
}

}  // namespace loom::loom08
