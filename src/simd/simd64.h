#pragma once
// Sixteen f64 lanes beside the f32 ones of simd.h, with the same names, so that a kernel is written once as a template
// over its element type.

#include <type_traits>

#include "simd/math64.h"
#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

namespace native {
inline constexpr std::size_t kBytes64 = kRegisterBytes < 8 ? 8 : kRegisterBytes;
using F64 [[gnu::vector_size(kBytes64), gnu::may_alias]] = double;
using I64 [[gnu::vector_size(kBytes64), gnu::may_alias]] = std::int64_t;
using F64Memory [[gnu::vector_size(kBytes64), gnu::may_alias, gnu::aligned(8)]] = double;  // at any address
}  // namespace native
inline constexpr std::size_t kRegisterLanes64 = native::kBytes64 / 8;
inline constexpr std::size_t kRegisters64 = kLanes / kRegisterLanes64;

struct F64x16 {
  native::F64 r[kRegisters64];
};
struct I64x16 {
  native::I64 r[kRegisters64];
};

template <class T>
struct LanesOf;
template <>
struct LanesOf<float> {
  using type = F32x16;
};
template <>
struct LanesOf<double> {
  using type = F64x16;
};
// Sixteen lanes of T.
template <class T>
using Lanes = typename LanesOf<T>::type;

namespace detail {
template <class Out, class F, class... A>
LOOM_INLINE Out each64(F f, const A&... a) {
  Out out;
  for (std::size_t i = 0; i < kRegisters64; ++i) out.r[i] = f(a.r[i]...);
  return out;
}
}  // namespace detail

LOOM_INLINE F64x16 load(const double* p) {
  F64x16 v;
  for (std::size_t i = 0; i < kRegisters64; ++i)
    v.r[i] = *reinterpret_cast<const native::F64Memory*>(p + i * kRegisterLanes64);
  return v;
}
LOOM_INLINE void store(double* p, const F64x16& v) {
  for (std::size_t i = 0; i < kRegisters64; ++i)
    *reinterpret_cast<native::F64Memory*>(p + i * kRegisterLanes64) = v.r[i];
}
LOOM_INLINE F64x16 splat(double x) {
  F64x16 v;
  for (auto& r : v.r) r = x - native::F64{};
  return v;
}
template <class T>
LOOM_INLINE Lanes<T> zeros() {
  Lanes<T> v;
  for (auto& r : v.r) r = std::remove_reference_t<decltype(r)>{};
  return v;
}

// A table of kernels per element type (backend/exec.h): make() gives that of T, for the types that the target has.
template <class Table>
constexpr Table per_element(auto make) {
  const auto f32 = make.template operator()<float>();
  const auto f64 = make.template operator()<double>();
  return {f32, f64};
}

#define LOOM_LANE_OPERATOR(op)                                                  \
  LOOM_INLINE F64x16 operator op(const F64x16& a, const F64x16& b) {            \
    return detail::each64<F64x16>([](auto x, auto y) { return x op y; }, a, b); \
  }
LOOM_LANE_OPERATOR(+)
LOOM_LANE_OPERATOR(-)
LOOM_LANE_OPERATOR(*)
LOOM_LANE_OPERATOR(/)
#undef LOOM_LANE_OPERATOR

#define LOOM_LANE_COMPARE(op)                                                                  \
  LOOM_INLINE I64x16 operator op(const F64x16& a, const F64x16& b) {                           \
    return detail::each64<I64x16>([](auto x, auto y) { return (native::I64)(x op y); }, a, b); \
  }
LOOM_LANE_COMPARE(<)
LOOM_LANE_COMPARE(<=)
LOOM_LANE_COMPARE(>)
LOOM_LANE_COMPARE(>=)
LOOM_LANE_COMPARE(==)
LOOM_LANE_COMPARE(!=)
#undef LOOM_LANE_COMPARE

LOOM_INLINE I64x16 operator&(const I64x16& a, const I64x16& b) {
  return detail::each64<I64x16>([](auto x, auto y) { return x & y; }, a, b);
}
LOOM_INLINE F64x16 select(const I64x16& m, const F64x16& a, const F64x16& b) {
  return detail::each64<F64x16>([](auto mm, auto x, auto y) { return mm ? x : y; }, m, a, b);
}
LOOM_INLINE F64x16 min(const F64x16& a, const F64x16& b) { return select(a < b, a, b); }
LOOM_INLINE F64x16 max(const F64x16& a, const F64x16& b) { return select(a > b, a, b); }
LOOM_INLINE F64x16 abs(const F64x16& a) {
  return detail::each64<F64x16>([](auto x) { return (native::F64)((native::I64)x & 0x7fffffffffffffff); }, a);
}
LOOM_INLINE F64x16 negate(const F64x16& a) {
  return detail::each64<F64x16>(
      [](auto x) { return (native::F64)((native::I64)x ^ static_cast<std::int64_t>(0x8000000000000000u)); }, a);
}
LOOM_INLINE I64x16 is_nan(const F64x16& a) {
  return detail::each64<I64x16>([](auto x) { return (native::I64)((native::I64)x > 0x7ff0000000000000); }, abs(a));
}
LOOM_INLINE I64x16 is_finite(const F64x16& a) {
  return detail::each64<I64x16>([](auto x) { return (native::I64)((native::I64)x < 0x7ff0000000000000); }, abs(a));
}
LOOM_INLINE F64x16 sqrt(const F64x16& a) {
  return detail::each64<F64x16>(
      [](native::F64 x) {
        for (std::size_t i = 0; i < kRegisterLanes64; ++i) x[i] = __builtin_sqrt(x[i]);
        return x;
      },
      a);
}

LOOM_INLINE F64x16 snap(const F64x16& a) {
  const F64x16 kept = select(abs(a) < splat(kSnap64), zeros<double>(), a);
  return select(a == a, kept, splat(__builtin_bit_cast(double, kQuietNan64)));
}

// Adds the lanes in the order in which fold() of f32 lanes does.
LOOM_INLINE double fold(const F64x16& v) {
  alignas(64) double a[kLanes];
  store(a, v);
  return fold(a);
}
LOOM_INLINE double max_lane(const F64x16& v) {
  alignas(64) double a[kLanes];
  store(a, v);
  double m = -__builtin_huge_val();
  for (std::size_t j = 0; j < kLanes; ++j) m = a[j] > m ? a[j] : m;
  return m;
}

// Elementary functions lane by lane: f64 is for checks and statistics, not for speed.
#define LOOM_LANE_FUNCTION(name, scalar)                          \
  LOOM_INLINE F64x16 name(const F64x16& v) {                      \
    alignas(64) double a[kLanes];                                 \
    store(a, v);                                                  \
    for (std::size_t j = 0; j < kLanes; ++j) a[j] = scalar(a[j]); \
    return load(a);                                               \
  }
LOOM_LANE_FUNCTION(exp, exp64)
LOOM_LANE_FUNCTION(log, log64)
LOOM_LANE_FUNCTION(tanh, tanh64)
LOOM_LANE_FUNCTION(sigmoid, sigmoid64)
LOOM_LANE_FUNCTION(erf, erf64)
LOOM_LANE_FUNCTION(expm1, expm1_64)
LOOM_LANE_FUNCTION(log1p, log1p64)
LOOM_LANE_FUNCTION(sin, sin64)
LOOM_LANE_FUNCTION(cos, cos64)
#undef LOOM_LANE_FUNCTION
LOOM_INLINE F64x16 pow(const F64x16& x, const F64x16& y) {
  alignas(64) double a[kLanes], b[kLanes];
  store(a, x), store(b, y);
  for (std::size_t j = 0; j < kLanes; ++j) a[j] = pow64(a[j], b[j]);
  return load(a);
}

}  // namespace loom::inline LOOM_TARGET
