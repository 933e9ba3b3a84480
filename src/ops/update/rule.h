#pragma once
// The rules of updates share these structs. They hold plain numbers, since kernels include this header too.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace loom {

enum class UpdateKind : std::uint8_t {
#define LOOM_UPDATE(Rule) Rule,
#include "ops/update/rules.inc"
};
inline constexpr std::size_t kUpdateSlots = 3, kNumUpdates = 0
#define LOOM_UPDATE(Rule) +1
#include "ops/update/rules.inc"
    ;

// The numbers of one step on the host.
struct UpdateRule {
  UpdateKind kind = UpdateKind::Sgd;
  double rate = 0, decay = 0;
  double beta1 = 0, beta2 = 0, alpha = 0, eps = 0, momentum = 0, dampening = 0;
  double correct1 = 1, correct2 = 1;  // 1 - b^t
  bool first = false;                 // t is 1
  bool nesterov = false, centered = false, amsgrad = false;
};

// The numbers for a kernel, each rounded once to the element type.
template <class T>
struct UpdateNumbers {
  T rate, decay, shrink;  // shrink = rate decay
  T beta1, beta2, alpha, eps, momentum;
  T rest1, rest2, rest, undamped;  // 1 - beta1, 1 - beta2, 1 - alpha, 1 - dampening
  T correct1, correct2;
  bool first, nesterov, centered, has_momentum;
};

template <class T>
struct UpdateRun {
  T* w;
  const T* g;
  T* slot[kUpdateSlots];  // null: this rule has fewer
  std::size_t count;
  const float* failed = nullptr;  // where it points to another number than 0 nothing moves
};

// Like UpdateRun, tried on copies.
template <class T>
struct TryRun {
  const T *w, *g, *slot[kUpdateSlots];
  std::size_t count;
  const T* bound;  // where it is at most `most` nothing is tried
  T most;
  T* outcome;  // 0, or infinity
};

// No element of a weight and its slots is larger.
struct UpdateSizes {
  double weight = std::numeric_limits<double>::infinity();
  double slot[kUpdateSlots] = {};
};

struct UpdateSlots {
  const char* name[kUpdateSlots] = {};  // null: not kept
};

// The host checks the settings of a rule, names its slots and bounds its results by this row.
struct UpdateRow {
  const char* name;
  // settings, "a|b": all others have to stand at their defaults. All rules read weight_decay
  const char* reads;
  double beta1, beta2, eps, decay;  // defaults
  UpdateSlots (*slots)(const UpdateRule& rule);
  // Bounds on the sizes after one update from those before, by the equations; rounding is the caller's. No element of g
  // is larger than `gradient`.
  void (*grow)(const UpdateRule& rule, double gradient, UpdateSizes& sizes);
};

constexpr double larger_of(double a, double b) { return a > b ? a : b; }

}  // namespace loom
