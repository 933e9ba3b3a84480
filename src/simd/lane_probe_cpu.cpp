#include "simd/lane_probe.h"

#include "simd/simd.h"

#define LOOM_TEXT_(x) #x
#define LOOM_TEXT(x) LOOM_TEXT_(x)

namespace loom::inline LOOM_TARGET {
namespace {

struct Operands {
  F32x16 a, b;
  I32x16 i, j;
};

void put(std::uint32_t* out, const I32x16& v) {
  std::int32_t lanes[kLanes];
  store(lanes, v);
  for (std::size_t k = 0; k < kLanes; ++k) out[k] = static_cast<std::uint32_t>(lanes[k]);
}
void put(std::uint32_t* out, const F32x16& v) {
  float lanes[kLanes];
  store(lanes, v);
  for (std::size_t k = 0; k < kLanes; ++k) out[k] = __builtin_bit_cast(std::uint32_t, lanes[k]);
}
void put(std::uint32_t* out, float v) { out[0] = __builtin_bit_cast(std::uint32_t, v); }
void put(std::uint32_t* out, bool v) { out[0] = v ? 1 : 0; }

#define LOOM_PROBE(name, expression)                                                    \
  {name, [](const LaneInput& in, std::uint32_t* out) {                                  \
     [[maybe_unused]] const Operands o{load(in.a), load(in.b), load(in.i), load(in.j)}; \
     put(out, expression);                                                              \
   }}
constexpr LaneProbe kProbes[] = {
    LOOM_PROBE("load f", o.a),
    LOOM_PROBE("load i", o.i),
    LOOM_PROBE("splat f", splat(in.a[3])),
    LOOM_PROBE("splat i", splat(in.i[3])),
    LOOM_PROBE("zero", zero()),
    LOOM_PROBE("zero_i", zero_i()),
    LOOM_PROBE("a + b", o.a + o.b),
    LOOM_PROBE("a - b", o.a - o.b),
    LOOM_PROBE("a * b", o.a* o.b),
    LOOM_PROBE("a / b", o.a / o.b),
    LOOM_PROBE("a * b + a", o.a* o.b + o.a),
    LOOM_PROBE("i + j", o.i + o.j),
    LOOM_PROBE("i - j", o.i - o.j),
    LOOM_PROBE("i * j", o.i* o.j),
    LOOM_PROBE("i & j", o.i & o.j),
    LOOM_PROBE("i | j", o.i | o.j),
    LOOM_PROBE("i ^ j", o.i ^ o.j),
    LOOM_PROBE("~i", ~o.i),
    LOOM_PROBE("a < b", o.a < o.b),
    LOOM_PROBE("a <= b", o.a <= o.b),
    LOOM_PROBE("a > b", o.a > o.b),
    LOOM_PROBE("a >= b", o.a >= o.b),
    LOOM_PROBE("a == b", o.a == o.b),
    LOOM_PROBE("a != b", o.a != o.b),
    LOOM_PROBE("i < j", o.i < o.j),
    LOOM_PROBE("i > j", o.i > o.j),
    LOOM_PROBE("i == j", o.i == o.j),
    LOOM_PROBE("i != j", o.i != o.j),
    LOOM_PROBE("bits", bits(o.a)),
    LOOM_PROBE("as_float", as_float(o.i)),
    LOOM_PROBE("shift_left 0", shift_left(o.i, 0)),
    LOOM_PROBE("shift_left 23", shift_left(o.i, 23)),
    LOOM_PROBE("shift_left 31", shift_left(o.i, 31)),
    LOOM_PROBE("shift_right 1", shift_right(o.i, 1)),
    LOOM_PROBE("shift_right 31", shift_right(o.i, 31)),
    LOOM_PROBE("shift_right_logical 1", shift_right_logical(o.i, 1)),
    LOOM_PROBE("shift_right_logical 31", shift_right_logical(o.i, 31)),
    LOOM_PROBE("to_float", to_float(o.i)),
    LOOM_PROBE("round_to_int", round_to_int(o.a)),
    LOOM_PROBE("select f", select(o.i < o.j, o.a, o.b)),
    LOOM_PROBE("select f by f", select(o.a < o.b, o.a, o.b)),
    LOOM_PROBE("select i", select(o.a < o.b, o.i, o.j)),
    LOOM_PROBE("any a < b", any(o.a < o.b)),
    LOOM_PROBE("any a == b", any(o.a == o.b)),
    LOOM_PROBE("min", min(o.a, o.b)),
    LOOM_PROBE("max", max(o.a, o.b)),
    LOOM_PROBE("abs", abs(o.a)),
    LOOM_PROBE("negate", negate(o.a)),
    LOOM_PROBE("sqrt", sqrt(o.a)),
    LOOM_PROBE("snap", snap(o.a)),
    LOOM_PROBE("snap one", snap(in.a[5])),
    LOOM_PROBE("fold", fold(o.a)),
    LOOM_PROBE("max_lane", max_lane(o.a)),
    LOOM_PROBE("first_lane", first_lane(o.b)),
};
#undef LOOM_PROBE

}  // namespace

extern const LaneProbes lane_probes;
const LaneProbes lane_probes = {LOOM_TEXT(LOOM_TARGET), kProbes, sizeof kProbes / sizeof kProbes[0]};

}  // namespace loom::inline LOOM_TARGET
