#pragma once
// The lanes of the target `record`, under the names of src/simd/simd.h, in whose place kernels of this target include
// it (the folder stands first on their include path). Sixteen lanes are one value of a shader, and an operation writes
// down its WGSL: floats by the functions of backend/webgpu/wgsl/prelude.wgsl alone, integers by operators.
//
// A kernel that looks across lanes cannot be traced, except by any(): no shader has the branches that any() chooses, so
// sin and cos are those of |x| < 2048.

#include "simd/orders.h"
#include "simd/record/recorder.h"

namespace loom::inline LOOM_TARGET {

struct F32x16 {
  recorder::Node node = recorder::kZero;
};
struct I32x16 {  // also masks, which are conditions of WGSL until they meet integers
  recorder::Node node = recorder::kZeroInt;
};

LOOM_INLINE F32x16 load(const float* p) { return {recorder::load(p)}; }
LOOM_INLINE I32x16 load(const std::int32_t* p) { return {recorder::load(p)}; }
LOOM_INLINE void store(float* p, const F32x16& v) { recorder::store(p, v.node); }
LOOM_INLINE void store(std::int32_t* p, const I32x16& v) { recorder::store(p, v.node); }

LOOM_INLINE F32x16 splat(float x) { return {recorder::constant(x)}; }
LOOM_INLINE I32x16 splat(std::int32_t x) { return {recorder::constant(x)}; }
LOOM_INLINE F32x16 zero() { return {}; }
LOOM_INLINE I32x16 zero_i() { return {}; }

namespace detail {
template <class... A>
LOOM_INLINE F32x16 float_of(const char* form, const A&... a) {
  return {recorder::operation(recorder::Kind::Float, form, a.node...)};
}
template <class... A>
LOOM_INLINE I32x16 int_of(const char* form, const A&... a) {
  return {recorder::operation(recorder::Kind::Int, form, a.node...)};
}
template <class... A>
LOOM_INLINE I32x16 bool_of(const char* form, const A&... a) {
  return {recorder::operation(recorder::Kind::Bool, form, a.node...)};
}
LOOM_INLINE bool is_bool(const I32x16& a) { return recorder::kind_of(a.node) == recorder::Kind::Bool; }
// All bits set or clear, as elsewhere.
LOOM_INLINE I32x16 as_int(const I32x16& a) { return is_bool(a) ? int_of("select(0, -1, $)", a) : a; }
LOOM_INLINE I32x16 as_bool(const I32x16& a) { return is_bool(a) ? a : bool_of("($ != 0)", a); }
}  // namespace detail

#define LOOM_LANE_FUNCTION(name, form) \
  LOOM_INLINE F32x16 name(const F32x16& a, const F32x16& b) { return detail::float_of(form, a, b); }
LOOM_LANE_FUNCTION(operator+, "add($, $)")
LOOM_LANE_FUNCTION(operator-, "sub($, $)")
LOOM_LANE_FUNCTION(operator*, "mul($, $)")
LOOM_LANE_FUNCTION(operator/, "div($, $)")
LOOM_LANE_FUNCTION(min, "min_f($, $)")
LOOM_LANE_FUNCTION(max, "max_f($, $)")
#undef LOOM_LANE_FUNCTION

#define LOOM_LANE_FUNCTION(name, form) \
  LOOM_INLINE F32x16 name(const F32x16& a) { return detail::float_of(form, a); }
LOOM_LANE_FUNCTION(abs, "abs_f($)")
LOOM_LANE_FUNCTION(negate, "neg($)")
LOOM_LANE_FUNCTION(sqrt, "root($)")
LOOM_LANE_FUNCTION(snap, "snap($)")
#undef LOOM_LANE_FUNCTION

#define LOOM_LANE_COMPARE(op, form) \
  LOOM_INLINE I32x16 operator op(const F32x16& a, const F32x16& b) { return detail::bool_of(form, a, b); }
LOOM_LANE_COMPARE(<, "less($, $)")
LOOM_LANE_COMPARE(<=, "less_equal($, $)")
LOOM_LANE_COMPARE(>, "greater($, $)")
LOOM_LANE_COMPARE(>=, "greater_equal($, $)")
LOOM_LANE_COMPARE(==, "equal($, $)")
LOOM_LANE_COMPARE(!=, "not_equal($, $)")
#undef LOOM_LANE_COMPARE

LOOM_INLINE I32x16 is_nan(const F32x16& a) { return detail::bool_of("is_nan($)", a); }
LOOM_INLINE I32x16 is_finite(const F32x16& a) { return detail::bool_of("is_finite($)", a); }

// Operators of i32 wrap in WGSL too.
#define LOOM_LANE_OPERATOR(op, make)                                    \
  LOOM_INLINE I32x16 operator op(const I32x16& a, const I32x16& b) {    \
    return make("($ " #op " $)", detail::as_int(a), detail::as_int(b)); \
  }
LOOM_LANE_OPERATOR(+, detail::int_of)
LOOM_LANE_OPERATOR(-, detail::int_of)
LOOM_LANE_OPERATOR(*, detail::int_of)
LOOM_LANE_OPERATOR(<, detail::bool_of)
LOOM_LANE_OPERATOR(>, detail::bool_of)
LOOM_LANE_OPERATOR(==, detail::bool_of)
LOOM_LANE_OPERATOR(!=, detail::bool_of)
#undef LOOM_LANE_OPERATOR

LOOM_INLINE I32x16 operator&(const I32x16& a, const I32x16& b) {
  if (detail::is_bool(a) && detail::is_bool(b)) return detail::bool_of("($ && $)", a, b);
  if (detail::is_bool(a)) return detail::int_of("select(0, $, $)", b, a);
  if (detail::is_bool(b)) return detail::int_of("select(0, $, $)", a, b);
  return detail::int_of("($ & $)", a, b);
}
LOOM_INLINE I32x16 operator|(const I32x16& a, const I32x16& b) {
  if (detail::is_bool(a) && detail::is_bool(b)) return detail::bool_of("($ || $)", a, b);
  return detail::int_of("($ | $)", detail::as_int(a), detail::as_int(b));
}
LOOM_INLINE I32x16 operator^(const I32x16& a, const I32x16& b) {
  if (detail::is_bool(a) && detail::is_bool(b)) return detail::bool_of("($ != $)", a, b);
  return detail::int_of("($ ^ $)", detail::as_int(a), detail::as_int(b));
}
LOOM_INLINE I32x16 operator~(const I32x16& a) {
  return detail::is_bool(a) ? detail::bool_of("!$", a) : detail::int_of("~$", a);
}

LOOM_INLINE I32x16 bits(const F32x16& a) { return detail::int_of("bitcast<i32>($)", a); }
LOOM_INLINE F32x16 as_float(const I32x16& a) { return detail::float_of("bitcast<f32>($)", detail::as_int(a)); }
LOOM_INLINE I32x16 shift_left(const I32x16& a, int n) {
  return detail::int_of("($ << $)", detail::as_int(a), splat(n));
}
LOOM_INLINE I32x16 shift_right(const I32x16& a, int n) {
  return detail::int_of("($ >> $)", detail::as_int(a), splat(n));
}
LOOM_INLINE I32x16 shift_right_logical(const I32x16& a, int n) {
  return detail::int_of("bitcast<i32>(bitcast<u32>($) >> $)", detail::as_int(a), splat(n));
}
LOOM_INLINE F32x16 to_float(const I32x16& a) { return detail::float_of("to_float_i($)", detail::as_int(a)); }
LOOM_INLINE I32x16 round_to_int(const F32x16& a) { return detail::int_of("round_to_int($)", a); }

LOOM_INLINE F32x16 select(const I32x16& m, const F32x16& a, const F32x16& b) {
  return detail::float_of("select_f($, $, $)", detail::as_bool(m), a, b);
}
LOOM_INLINE I32x16 select(const I32x16& m, const I32x16& a, const I32x16& b) {
  if (detail::is_bool(a) && detail::is_bool(b)) return detail::bool_of("select($, $, $)", b, a, detail::as_bool(m));
  return detail::int_of("select($, $, $)", detail::as_int(b), detail::as_int(a), detail::as_bool(m));
}

LOOM_INLINE bool any(const I32x16&) { return false; }
LOOM_INLINE float fold(const F32x16&) { return recorder::across_lanes(); }
LOOM_INLINE float max_lane(const F32x16&) { return recorder::across_lanes(); }
// Stands for the value, as splat() of it does.
LOOM_INLINE float first_lane(const F32x16& v) { return recorder::number_of(v.node); }

}  // namespace loom::inline LOOM_TARGET
