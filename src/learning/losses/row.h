#pragma once
// One row per loss, in a file of this folder: what it is divided by, which settings it reads, and how it is computed.
// The list is all.cpp; whatever else asks about a loss asks its row.

#include "learning/loss.h"
#include "ops/loss/row_scale.h"

namespace loom {

struct LossRow {
  LossKind kind;
  bool by_element = false;     // divided by the number of elements; else by that of rows
  std::string_view reads{};    // keys of LossConfig, "a|b": of all others only the default is legal
  bool takes_classes = false;  // targets may be classes
  // each row is held against all others: a batch has no parts, and the target has a gradient too
  bool across_samples = false;
  // The values of the rows into `values` [rows, 1], not weighted, and the gradients that the call asks for.
  void (*evaluate)(const Exec& exec, const LossConfig& config, const LossCall& call, const RowScale& scale,
                   Tensor values) = nullptr;
};

// In the order of LossKind.
std::span<const LossRow* const> loss_rows();

}  // namespace loom
