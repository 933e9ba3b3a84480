#pragma once
// L-BFGS over the whole data (engine T-24; Nocedal & Wright 2006, algorithms 7.4 and 3.1): the two-loop recursion over
// the last `history` pairs s, y with H0 = (s.y) / (y.y), pairs with s.y <= 1e-10 dropped, then Armijo backtracking (c
// 1e-4) that begins at the learning rate and halves it at most 20 times. Vectors are f64, all weights one after the
// other; dots are chain64 over them.

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "backend/exec.h"

namespace loom {

class Lbfgs {
 public:
  struct Pair {
    std::vector<double> s, y;
  };
  struct Outcome {
    double loss = 0;  // at the weights that are left
    // false: the gradient is 0, or no try lowered the loss enough; the weights are as before, and no pairs are kept
    bool moved = false;
    int tries = 0;
  };
  // Gives the loss of the weights as they are and fills the gradients.
  using Evaluate = std::function<Result<double>()>;

  // InvalidConfig unless history is 1 to 1000.
  static Result<Lbfgs> create(std::size_t history = 10);

  // One step; evaluate runs once before it and once per try, the last of them at the weights that are left.
  // InvalidArgument for a rate that is not above 0 and finite, ShapeMismatch when weights and gradients differ in size
  // or element or the number of all elements changed, NonFinite when loss or gradient is not finite at the start
  // (weights unchanged), or evaluate's error; a try that is NonFinite went too far.
  Result<Outcome> step(std::span<const Tensor> weights, std::span<const ConstTensor> gradients, double learning_rate,
                       const Evaluate& evaluate);

  // The oldest first: what a checkpoint holds.
  const std::deque<Pair>& pairs() const { return pairs_; }
  // LimitExceeded for more pairs than history, ShapeMismatch for vectors of different lengths.
  Result<void> restore(std::deque<Pair> pairs);

 private:
  std::vector<double> direction(std::span<const double> g) const;
  void remember(std::span<const double> moved, std::span<const double> before, std::span<const double> after);

  std::size_t history_ = 10;
  std::deque<Pair> pairs_;
};

}  // namespace loom
