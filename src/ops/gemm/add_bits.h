#pragma once
// The kernels' side of exact_products.h.

#include "ops/gemm/exact_products.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Not inlined among the products, whose registers it would take.
[[gnu::noinline, maybe_unused]] void add_bits(const float* x, std::size_t n, ValueBits& bits) {
  I32x16 any = zero_i(), least = splat(static_cast<std::int32_t>(bits.least)), most = zero_i();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const I32x16 size = LOOM_TARGET::bits(abs(lanes.load(x + i)));
    any = any | size;
    most = select(size > most, size, most);
    least = select((size < least) & (size > zero_i()), size, least);
  });
  std::int32_t a[kLanes], l[kLanes], m[kLanes];
  store(a, any), store(l, least), store(m, most);
  for (std::size_t i = 0; i < kLanes; ++i) {
    const auto low = static_cast<std::uint32_t>(l[i]), high = static_cast<std::uint32_t>(m[i]);
    bits.any |= static_cast<std::uint32_t>(a[i]);
    bits.least = low < bits.least ? low : bits.least;
    bits.most = high > bits.most ? high : bits.most;
  }
}

}  // namespace
}  // namespace loom::inline LOOM_TARGET
