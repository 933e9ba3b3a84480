#include "ops/update/update.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "ops/all.h"
#include "ops/finite.h"
#include "ops/for_rows.h"
#include "ops/update/rules/all.h"

namespace loom {
namespace {

template <class T>
UpdateNumbers<T> numbers_of(const UpdateRule& rule) {
  const auto c = [](double x) { return static_cast<T>(x); };
  return {.rate = c(rule.rate),
          .decay = c(rule.decay),
          .shrink = c(rule.rate * rule.decay),
          .beta1 = c(rule.beta1),
          .beta2 = c(rule.beta2),
          .alpha = c(rule.alpha),
          .eps = c(rule.eps),
          .momentum = c(rule.momentum),
          .rest1 = c(1 - rule.beta1),
          .rest2 = c(1 - rule.beta2),
          .rest = c(1 - rule.alpha),
          .undamped = c(1 - rule.dampening),
          .correct1 = c(rule.correct1),
          .correct2 = c(rule.correct2),
          .first = rule.first,
          .nesterov = rule.nesterov,
          .centered = rule.centered,
          .has_momentum = rule.momentum != 0};
}

}  // namespace

std::span<const UpdateRow> update_rows() {
  static constexpr std::array<UpdateRow, kNumUpdates> rows = {
#define LOOM_UPDATE(Rule) Rule::row(),
#include "ops/update/rules.inc"
  };
  return rows;
}

void update(const Exec& exec, const UpdateRule& rule, Tensor w, ConstTensor g, const UpdateState& state, ConstTensor failed) {
  with_element(w.element, [&]<class T>() {
    const auto kernel = exec.kernels.update.of<T>().update[static_cast<std::size_t>(rule.kind)];
    const UpdateNumbers<T> numbers = numbers_of<T>(rule);
    for_elements(exec, w.rows * w.cols, [&](std::size_t first, std::size_t count) {
      UpdateRun<T> run{w.as<T>() + first, g.as<T>() + first, {}, count, failed.as<float>()};
      for (std::size_t s = 0; s < kUpdateSlots; ++s) run.slot[s] = state[s].data == nullptr ? nullptr : state[s].as<T>() + first;
      kernel(numbers, run);
    });
  });
}

void try_update(const Exec& exec, const UpdateRule& rule, ConstTensor w, ConstTensor g, const UpdateState& state, ConstTensor bound, double most,
                Tensor outcome) {
  constexpr std::size_t kPiece = 256;
  std::atomic<bool> fine{true};
  with_element(w.element, [&]<class T>() {
    const auto kernel = exec.kernels.update.of<T>().update[static_cast<std::size_t>(rule.kind)];
    const UpdateNumbers<T> numbers = numbers_of<T>(rule);
    for_elements(exec, w.rows * w.cols, [&](std::size_t begin, std::size_t elements) {
      if (*bound.as<T>() <= static_cast<T>(most)) return;
      std::array<std::array<T, kPiece>, kUpdateSlots + 1> copies;
      for (std::size_t first = begin, end = begin + elements; first < end; first += kPiece) {
        const std::size_t n = std::min(kPiece, end - first);
        UpdateRun<T> run{copies[kUpdateSlots].data(), g.as<T>() + first, {}, n};
        std::copy_n(w.as<T>() + first, n, run.w);
        for (std::size_t s = 0; s < kUpdateSlots; ++s)
          if (state[s].data != nullptr) run.slot[s] = std::copy_n(state[s].as<T>() + first, n, copies[s].data()) - n;
        kernel(numbers, run);
        const auto finite = [n](const T* values) { return values == nullptr || all_finite<T>(n, [values](std::size_t i) { return values[i]; }); };
        if (!finite(run.w) || !std::ranges::all_of(run.slot, finite)) fine.store(false, std::memory_order_relaxed);
      }
    });
    if (exec.computes()) *outcome.as<T>() = fine ? T{0} : std::numeric_limits<T>::infinity();
  });
}

}  // namespace loom
