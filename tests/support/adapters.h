#pragma once
// The adapters of a name on or off, as `"enabled"` of a spec sets them.

#include <string>

#include "lm/decoder.h"

namespace loom::test {

// Returns how many adapters have the name.
inline std::size_t enable_adapters(DecoderModel& model, const std::string& name, bool enabled) {
  std::size_t found = 0;
  model.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    for (Adapter& adapter : w.adapters())
      if (adapter.name == name) adapter.enabled = enabled, ++found;
  });
  return found;
}

}  // namespace loom::test
