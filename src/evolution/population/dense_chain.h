#pragma once
// Small networks whose running cells are all dense layers, the common case of neuro-evolution, written down as the
// calls of kernels that their forward pass is. Nothing is rehearsed, shared out or watched, so a network that never ran
// before runs in the time of its arithmetic; the kernels, and so the bits, are those of Network::forward().

#include <vector>

#include "network/network.h"
#include "ops/matmul/dense_calls.h"

namespace loom {

class DenseChain {
 public:
  // Writes down a network, which stays as it is while the chain runs. False when it is none: another kind of layer,
  // adapters, f64, types that quantise their input.
  bool read(const Network& network);
  // An input that forward() may run: false where shapes do not fit, or outputs are many.
  bool takes(const Shape& input);
  // x as takes() saw it; the result is valid until the next call.
  ConstView forward(const KernelTable& kernels, const ConstView& x);

 private:
  std::vector<DenseCall> calls_;
  std::size_t widest_ = 0;  // outputs of any call
  Shape input_, output_;    // that takes() saw last, for a network of as many outputs
  bool has_output_ = false;
  std::vector<float> values_;  // of two neighbouring cells
};

}  // namespace loom
