#pragma once
// Figures of a whole tensor, in f64 (engine L-150). Sums are lanes16 over its elements in order; two passes, the mean and then the mean
// of (v - mean)^2. NaN loses in max and min.

#include "backend/exec.h"

namespace loom {

struct TensorStats {
  double avg = 0, std = 0;  // population
  double max = 0, min = 0;
  double active = 0;        // elements with |v| > 1e-6
  double total = 0;         // elements
};

// All zero in a rehearsal.
TensorStats tensor_statistics(const Exec& exec, ConstTensor x);

}  // namespace loom
