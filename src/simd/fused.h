#pragma once
// A product and a sum in one instruction, where the target has one. Only for products that are exact in f32
// (ops/gemm/exact_products.h): then there is one rounding either way, and the sum has the same bits.

#include "simd/simd64.h"

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace loom::inline LOOM_TARGET {

// sum + a * b of one register; the plain target has none of these, whatever its processor has.
#if defined(__AVX512F__) && LOOM_REGISTER_BYTES == 64
inline constexpr bool kFuses = true;
template <class V>
LOOM_INLINE V fused(V sum, V a, V b) {
  return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
}
#elif defined(__FMA__) && LOOM_REGISTER_BYTES == 32
inline constexpr bool kFuses = true;
template <class V>
LOOM_INLINE V fused(V sum, V a, V b) {
  return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
}
#elif defined(__aarch64__) && LOOM_REGISTER_BYTES == 16
inline constexpr bool kFuses = true;
template <class V>
LOOM_INLINE V fused(V sum, V a, V b) {
  return (V)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
}
#else
inline constexpr bool kFuses = false;
template <class V>
LOOM_INLINE V fused(V sum, V a, V b) {
  return sum + a * b;
}
#endif

// sum + a * b, rounded once with kFused.
template <bool kFused, class V>
LOOM_INLINE V add_product(const V& sum, const V& a, const V& b) {
  if constexpr (kFused && kFuses)
    return detail::each<V>([](auto s, auto x, auto y) { return fused(s, x, y); }, sum, a, b);
  else
    return sum + a * b;
}

}  // namespace loom::inline LOOM_TARGET
