#pragma once
// Updates of weights from gradients, element by element in the weights' own type (f32, or f64 for float64): no sums.
// Each rule stands with its equation, what it keeps per element (slots) and the settings it reads in a file of rules/,
// whose list is rules/all.h. Snapped: w, g with its decay, first moments; second moments at 2^-100 (2^-960 in f64).
// Nothing that is smaller can reach a bit of w, so a host that flushes subnormals gives the same weights.

#include <array>
#include <span>

#include "backend/exec.h"
#include "ops/update/rule.h"

namespace loom {

// The rows of all rules, by UpdateKind.
std::span<const UpdateRow> update_rows();

// The slots that a rule keeps of one weight, in the order in which its row names them. A slot without data is not kept.
using UpdateState = std::array<Tensor, kUpdateSlots>;

// One step of the rule. All tensors have w's element and as many elements. `failed` [1] of f32, or without data: where
// it is not 0 nothing moves.
void update(const Exec& exec, const UpdateRule& rule, Tensor w, ConstTensor g, const UpdateState& state,
            ConstTensor failed = {});
// Gradients whose bound [1] is at most `most` are known to be harmless.
struct UpdateTrial {
  UpdateRule rule;
  ConstTensor w, g;
  UpdateState state;
  ConstTensor bound;
  double most = 0;
};
// outcomes [1, number of trials], of w's element: infinity where update() would leave anything but finite numbers, else
// 0. It is tried on copies, a piece at a time, and not where the gradient is harmless. Scratch: one number for each
// 1 024 elements.
void try_updates(const Exec& exec, std::span<const UpdateTrial> trials, Tensor outcomes);

template <class T>
struct UpdateKernels {
  void (*update[kNumUpdates])(const UpdateNumbers<T>& rule, const UpdateRun<T>& run);
  void (*try_update)(UpdateKind kind, const UpdateNumbers<T>& rule, const TryRun<T>& run);
};

}  // namespace loom
