#pragma once
// y = x / 2, by element.

#include "backend/exec.h"

namespace loom {

// y may be x.
void halve(const Exec& exec, ConstTensor x, Tensor y);

template <class T>
struct HalveKernels {
  void (*halve)(const T* x, std::size_t n, T* y);
};

}  // namespace loom
