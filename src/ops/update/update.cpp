#include "ops/update/update.h"

#include <vector>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/magnitude/magnitude.h"
#include "ops/update/update_gpu.h"
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

void update(const Exec& exec, const UpdateRule& rule, Tensor w, ConstTensor g, const UpdateState& state,
            ConstTensor failed) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::update(exec, rule.kind, numbers_of<float>(rule), w, g, state, failed); }))
    with_element(w.element, [&]<class T>() {
      const auto kernel = host.kernels.update.of<T>().update[static_cast<std::size_t>(rule.kind)];
      const UpdateNumbers<T> numbers = numbers_of<T>(rule);
      for_elements(host, w.rows * w.cols, [&](std::size_t first, std::size_t count) {
        UpdateRun<T> run{w.as<T>() + first, g.as<T>() + first, {}, count, failed.as<float>()};
        for (std::size_t s = 0; s < kUpdateSlots; ++s)
          run.slot[s] = state[s].data == nullptr ? nullptr : state[s].as<T>() + first;
        kernel(numbers, run);
      });
    });
}

void try_updates(const Exec& exec, std::span<const UpdateTrial> trials, Tensor outcomes) {
  if (trials.empty()) return;
  for (const Exec& host : dispatch(exec, [&] {
         std::vector<UpdateNumbers<float>> numbers;
         for (const UpdateTrial& trial : trials) numbers.push_back(numbers_of<float>(trial.rule));
         gpu::try_updates(exec, trials, numbers, outcomes);
       }))
    with_element(trials[0].w.element, [&]<class T>() {
      const UpdateKernels<T>& kernels = host.kernels.update.of<T>();
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const UpdateTrial& trial = trials[i];
        const ArenaScope scope(host.arena);
        const UpdateNumbers<T> numbers = numbers_of<T>(trial.rule);
        const std::size_t n = trial.w.rows * trial.w.cols;
        T* const pieces = host.arena.take<T>(pieces_of(n));
        for_pieces(host, n, [&](std::size_t piece, std::size_t first, std::size_t count) {
          TryRun<T> run{.w = trial.w.as<T>() + first,
                        .g = trial.g.as<T>() + first,
                        .slot = {},
                        .count = count,
                        .bound = trial.bound.as<T>(),
                        .most = static_cast<T>(trial.most),
                        .outcome = pieces + piece};
          for (std::size_t s = 0; s < kUpdateSlots; ++s)
            run.slot[s] = trial.state[s].data == nullptr ? nullptr : trial.state[s].as<T>() + first;
          kernels.try_update(trial.rule.kind, numbers, run);
        });
        if (host.computes()) host.kernels.magnitude.of<T>().largest(pieces, pieces_of(n), outcomes.as<T>() + i);
      }
    });
}

}  // namespace loom
