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
    visit({"name", "Stands in the names of its weights; empty: lora and its number"}, name);
    visit({"weight", "The matrix by name; may be empty in a layer with one matrix"}, weight);
    visit({"rank", "Rows of A, columns of B"}, rank, {1, 65536});
    visit({"alpha", "B (A x) counts alpha / rank times"}, alpha);
    visit({"enabled", "false: the adapter is kept and does not count"}, enabled);
  }
};

}  // namespace loom
