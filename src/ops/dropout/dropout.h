#pragma once
// y = x m / (1 - rate), m = 1 where u >= rate, u from Philox's domain 2 by element (Srivastava et al. 2014; engine
// L-112). Its gradient is the same function of dy.

#include "backend/exec.h"
#include "core/philox.h"

namespace loom {

// rate in [0, 1); y may be x. `first` is the number of x's first element in the stream.
void dropout(const Exec& exec, ConstTensor x, double rate, const RandomStream& stream, Tensor y, std::size_t first = 0);

template <class T>
struct DropoutKernels {
  // y = x / keep where the uniform number of the element, counted from `first`, is at least `least`, else x * 0 / keep.
  void (*dropout)(const T* x, T least, T keep, const RandomStream& stream, std::uint64_t first, std::size_t n, T* y);
};

}  // namespace loom
