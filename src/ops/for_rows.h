#pragma once
// Runs one call per row, on the threads only when there is enough to share.

#include "backend/exec.h"

namespace loom {

template <class F>
void for_rows(const Exec& exec, std::size_t rows, std::size_t cols, F&& f) {
  constexpr std::size_t kWorthSharing = 32768;  // elements; below it waking the workers takes longer than the work
  if (rows * cols < kWorthSharing) {
    for (std::size_t r = 0; r < rows; ++r) f(r);
    return;
  }
  const std::size_t limit = static_cast<std::size_t>(exec.pool.threads()) * 4;
  const std::size_t parts = rows < limit ? rows : limit;
  exec.pool.run(parts, [&](std::size_t part) {
    for (std::size_t r = part * rows / parts; r < (part + 1) * rows / parts; ++r) f(r);
  });
}

}  // namespace loom
