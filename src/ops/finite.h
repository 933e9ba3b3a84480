#pragma once
// Whether a tensor holds numbers alone: what trainers ask of gradients and outputs before anything moves.

#include <atomic>
#include <bit>

#include "ops/for_rows.h"

namespace loom {

// False for an infinity or a NaN anywhere; true in a rehearsal.
inline bool all_finite(const Exec& exec, ConstTensor x) {
  std::atomic<bool> bad{false};
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t count) {
      using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
      constexpr Bits kInfinite = sizeof(T) == 8 ? static_cast<Bits>(0x7ff0000000000000u) : static_cast<Bits>(0x7f800000u);
      Bits found = 0;  // integers and no early exit: compilers look at many at once
      for (std::size_t i = at; i < at + count; ++i) found |= static_cast<Bits>((std::bit_cast<Bits>(x.as<T>()[i]) & kInfinite) == kInfinite);
      if (found != 0) bad.store(true, std::memory_order_relaxed);
    });
  });
  return !bad.load();
}

}  // namespace loom
