// What the program of a first start has in place of everything that is not compiled yet (loom_first_program in LoomModules.cmake). Whoever calls
// it ends the program with a status that ./run knows: it builds the whole program and starts that with the same words.

#include <array>
#include <cstdlib>

#include "layers/kind.h"
#include "layers/layer.h"

extern "C" {

[[noreturn]] void loom_rest_is_needed() { std::_Exit(75); }

// Stands for any table of functions.
extern const std::array<void (*)(), 512> loom_rest_table;
constinit const std::array<void (*)(), 512> loom_rest_table = [] {
  std::array<void (*)(), 512> table{};
  table.fill(loom_rest_is_needed);
  return table;
}();

// Stands for any kind of layer, or list of kinds. No file names it.
extern const std::array<loom::LayerKind, 16> loom_rest_kinds;
constinit const std::array<loom::LayerKind, 16> loom_rest_kinds = [] {
  std::array<loom::LayerKind, 16> kinds{};
  for (loom::LayerKind& kind : kinds) {
    kind.id = -1;
    kind.make = [](const loom::LayerKind&) -> loom::LayerPtr { loom_rest_is_needed(); };
  }
  return kinds;
}();
}
