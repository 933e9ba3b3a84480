#pragma once
// Many products of plain matrices of one shape, each with the bits of gemm(): on a graphics card one kernel.

#include "ops/gemm/gemm.h"

namespace loom {

// Matrix i begins i * step elements after the first one; 0: all are the first.
struct Operands {
  Operand first;
  std::size_t step = 0;
};

// `count` products, c [count * m, n] one below the other.
void gemm_each(const Exec& exec, const Operands& a, const Operands& b, std::size_t count, std::size_t k, Tensor c);

}  // namespace loom
