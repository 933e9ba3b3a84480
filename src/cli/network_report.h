#pragma once
// Facts about networks that commands print: bytes per layer and type, differences of weights, a picture.

#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "network/network.h"

namespace loom::cli {

struct LayerRow {
  std::string path, kind, dtype;
  std::size_t weights = 0, resident_bytes = 0;
  bool disabled = false;
};
// Every layer that holds weights, and every cell.
std::vector<LayerRow> layer_rows(const Network& network);

struct WeightDifference {
  std::string path, note;  // note: "only in A", "shapes ... and ..."
  std::string dtype_a, dtype_b;
  double largest = 0, cosine = 1;
  bool equal = true;
  std::string text() const;
  Json to_json() const;
};
std::vector<WeightDifference> compare_weights(const Network& a, const Network& b);

// The grid as SVG: cells coloured by type, disabled ones hatched, links drawn.
std::string network_svg(const Network& network);

}  // namespace loom::cli
