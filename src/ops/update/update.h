#pragma once
// Element-wise updates of optimisers (learning/optimizer.h has the equations): no sums. w, g with its decay and first moments are snapped; second
// moments at 2^-100 (2^-960 in f64).

#include <array>

#include "backend/exec.h"

namespace loom {

enum class UpdateKind : std::uint8_t { Sgd, Adam, AdamW, RmsProp, Adagrad, Lion };
inline constexpr std::size_t kUpdateSlots = 3;

// The numbers of one step, in f64 until a kernel rounds them to its type.
struct UpdateRule {
  UpdateKind kind = UpdateKind::Sgd;
  double rate = 0, decay = 0;
  double beta1 = 0, beta2 = 0, alpha = 0, eps = 0, momentum = 0, dampening = 0;
  double correct1 = 1, correct2 = 1;  // 1 - b^t
  bool first = false;                 // t is 1
  bool nesterov = false, centered = false;
};

template <class T>
struct UpdateRun {
  T* w;
  const T* g;
  std::array<T*, kUpdateSlots> slot;  // null: this optimiser has fewer
  std::size_t count;
};

template <class T>
struct UpdateKernels {
  void (*update)(const UpdateRule& rule, const UpdateRun<T>& run);
};

}  // namespace loom
