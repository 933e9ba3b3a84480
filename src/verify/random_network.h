#pragma once
// Random networks: cells of a grid filled by the recipes, with links, skips, ties and empty cells between them.

#include <functional>

#include "verify/recipes.h"
#include "verify/trial.h"

namespace loom {

struct RandomNetwork {
  Json spec;
  Shape input, output;
  std::size_t ids = 0;
};

struct NetworkWish {
  std::size_t budget = 100'000;  // multiplications of a forward
  bool wide = false;             // a matrix large enough that threads divide it
  bool mesh = false;             // links of the grid lead anywhere
  std::string last;              // activation that the output shall have; empty: any
};

RandomNetwork random_network(Draw& draw, const NetworkWish& wish);

// Returns whether any layer of a spec answers true, children included.
bool any_layer(const Json& spec, const std::function<bool(const Json&)>& is);
// Returns whether results depend on more than each sample: batch statistics, gate balance, figures of metacognition,
// states carried on.
bool measures_its_batch(const Json& spec, bool training);

}  // namespace loom
