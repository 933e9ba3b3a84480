#pragma once
// The work that plans of graphs do on numbers that a file holds: folding. Sizes of values are limited elsewhere; this
// limits what is computed of them, so that no file takes longer to open than a few seconds beyond its own length.

#include "graph/folding_budget.h"
#include "graph/operation.h"

namespace loom::graph {

// Multiply-adds of an operation, or element operations of about the same time. The operation was measured: its outputs
// are declared. Saturates.
std::uint64_t work_of_op(const Op& op);

// Returns whether work_of_op() knows an operation by name. Of others it supposes that every output reads all inputs.
bool has_known_work(std::string_view op);

}  // namespace loom::graph
