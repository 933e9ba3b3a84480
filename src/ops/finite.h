#pragma once
// Checks that all elements of a tensor are finite: trainers check gradients and outputs before any weight moves.

#include <atomic>

#include "ops/all.h"
#include "ops/for_rows.h"
#include "ops/magnitude/magnitude.h"

namespace loom {

// False for an infinity or a NaN anywhere; true in a rehearsal.
inline bool all_finite(const Exec& exec, ConstTensor x) {
  std::atomic<bool> bad{false};
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t count) {
      float failed = 0;
      exec.kernels.magnitude.of<T>().check(x.as<T>() + at, count, &failed);
      if (failed != 0) bad.store(true, std::memory_order_relaxed);
    });
  });
  return !bad.load();
}

}  // namespace loom
