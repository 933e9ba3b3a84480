#pragma once
// Spec of one low-rank adapter of a layer (engine L-140).

#include "core/config_visitor.h"

namespace loom {

struct AdapterConfig {
  std::string name;    // in the names of its weights; empty: its number among the weight's adapters
  std::string weight;  // the matrix; may be empty where a layer has only one
  std::size_t rank = 8;
  double alpha = 8;  // the product counts alpha / rank times
  bool enabled = true;

  void fields(ConfigVisitor& visit) {
    visit("name", name);
    visit("weight", weight);
    visit("rank", rank, {1, 65536});
    visit("alpha", alpha);
    visit("enabled", enabled);
  }
};

}  // namespace loom
