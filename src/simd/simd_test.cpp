// Every operation of simd.h on every target that this CPU runs, against plain C++ on one lane at a time.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "core/philox.h"
#include "loom_targets.h"
#include "simd/lane_probe.h"
#include "simd/target.h"

namespace loom {

#define LOOM_DECLARE(variant, target) \
  namespace variant {                 \
  bool has_exact_tiles();             \
  }
LOOM_PLAIN_VARIANTS(LOOM_DECLARE)
#undef LOOM_DECLARE

}  // namespace loom

namespace loom::simd_test {
namespace {

constexpr std::uint32_t kNan = 0x7fc00000u;

std::uint32_t word(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint32_t word(std::int32_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t mask(bool b) { return b ? 0xffffffffu : 0; }
float snapped(float x) { return x != x ? std::bit_cast<float>(kNan) : std::fabs(x) < 0x1p-51f ? 0.0f : x; }

// Expected value of lane k. Each operation rounds on its own: volatile keeps this file's compiler from fusing.
struct Lane {
  float a, b;
  std::int32_t i, j;
  const LaneInput& in;
};
using Expected = std::function<std::uint32_t(const Lane&)>;

std::uint32_t folded(const float (&lanes)[16]) {
  float v[16];
  std::copy(lanes, lanes + 16, v);
  for (int n = 8; n != 0; n /= 2)
    for (int k = 0; k < n; ++k) v[k] += v[k + n];
  return word(v[0]);
}
std::uint32_t largest(const float (&lanes)[16]) {
  float m = -INFINITY;
  for (const float x : lanes)
    if (x > m) m = x;
  return word(m);
}
std::uint32_t any_of(const LaneInput& in, bool (*f)(float, float)) {
  for (int k = 0; k < 16; ++k)
    if (f(in.a[k], in.b[k])) return 1;
  return 0;
}

const std::map<std::string, Expected>& expected() {
  static const std::map<std::string, Expected> table = {
      {"load f", [](const Lane& l) { return word(l.a); }},
      {"load i", [](const Lane& l) { return word(l.i); }},
      {"splat f", [](const Lane& l) { return word(l.in.a[3]); }},
      {"splat i", [](const Lane& l) { return word(l.in.i[3]); }},
      {"zero", [](const Lane&) { return 0u; }},
      {"zero_i", [](const Lane&) { return 0u; }},
      {"a + b", [](const Lane& l) { return word(l.a + l.b); }},
      {"a - b", [](const Lane& l) { return word(l.a - l.b); }},
      {"a * b", [](const Lane& l) { return word(l.a * l.b); }},
      {"a / b", [](const Lane& l) { return word(l.a / l.b); }},
      {"a * b + a",
       [](const Lane& l) {
         const volatile float product = l.a * l.b;
         return word(product + l.a);
       }},
      {"i + j", [](const Lane& l) { return word(l.i) + word(l.j); }},
      {"i - j", [](const Lane& l) { return word(l.i) - word(l.j); }},
      {"i * j", [](const Lane& l) { return word(l.i) * word(l.j); }},
      {"i & j", [](const Lane& l) { return word(l.i) & word(l.j); }},
      {"i | j", [](const Lane& l) { return word(l.i) | word(l.j); }},
      {"i ^ j", [](const Lane& l) { return word(l.i) ^ word(l.j); }},
      {"~i", [](const Lane& l) { return ~word(l.i); }},
      {"a < b", [](const Lane& l) { return mask(l.a < l.b); }},
      {"a <= b", [](const Lane& l) { return mask(l.a <= l.b); }},
      {"a > b", [](const Lane& l) { return mask(l.a > l.b); }},
      {"a >= b", [](const Lane& l) { return mask(l.a >= l.b); }},
      {"a == b", [](const Lane& l) { return mask(l.a == l.b); }},
      {"a != b", [](const Lane& l) { return mask(l.a != l.b); }},
      {"i < j", [](const Lane& l) { return mask(l.i < l.j); }},
      {"i > j", [](const Lane& l) { return mask(l.i > l.j); }},
      {"i == j", [](const Lane& l) { return mask(l.i == l.j); }},
      {"i != j", [](const Lane& l) { return mask(l.i != l.j); }},
      {"bits", [](const Lane& l) { return word(l.a); }},
      {"as_float", [](const Lane& l) { return word(l.i); }},
      {"shift_left 0", [](const Lane& l) { return word(l.i); }},
      {"shift_left 23", [](const Lane& l) { return word(l.i) << 23; }},
      {"shift_left 31", [](const Lane& l) { return word(l.i) << 31; }},
      {"shift_right 1", [](const Lane& l) { return word(l.i >> 1); }},
      {"shift_right 31", [](const Lane& l) { return word(l.i >> 31); }},
      {"shift_right_logical 1", [](const Lane& l) { return word(l.i) >> 1; }},
      {"shift_right_logical 31", [](const Lane& l) { return word(l.i) >> 31; }},
      {"to_float", [](const Lane& l) { return word(static_cast<float>(l.i)); }},
      {"round_to_int", [](const Lane& l) { return word(static_cast<std::int32_t>(std::nearbyint(l.a))); }},
      {"select f", [](const Lane& l) { return word(l.i < l.j ? l.a : l.b); }},
      {"select f by f", [](const Lane& l) { return word(l.a < l.b ? l.a : l.b); }},
      {"select i", [](const Lane& l) { return word(l.a < l.b ? l.i : l.j); }},
      {"any a < b", [](const Lane& l) { return any_of(l.in, [](float a, float b) { return a < b; }); }},
      {"any a == b", [](const Lane& l) { return any_of(l.in, [](float a, float b) { return a == b; }); }},
      {"min", [](const Lane& l) { return word(l.a < l.b ? l.a : l.b); }},  // the second operand where a NaN takes part
      {"max", [](const Lane& l) { return word(l.a > l.b ? l.a : l.b); }},
      {"abs", [](const Lane& l) { return word(l.a) & 0x7fffffffu; }},
      {"negate", [](const Lane& l) { return word(l.a) ^ 0x80000000u; }},
      {"sqrt", [](const Lane& l) { return word(std::sqrt(l.a)); }},
      {"snap", [](const Lane& l) { return word(snapped(l.a)); }},
      {"snap one", [](const Lane& l) { return word(snapped(l.in.a[5])); }},
      {"fold", [](const Lane& l) { return folded(l.in.a); }},
      {"max_lane", [](const Lane& l) { return largest(l.in.a); }},
      {"first_lane", [](const Lane& l) { return word(l.in.b[0]); }},
  };
  return table;
}

bool one_number(const std::string& name) {
  for (const char* n : {"any a < b", "any a == b", "snap one", "fold", "max_lane", "first_lane"})
    if (name == n) return true;
  return false;
}
// Arithmetic on a NaN gives a NaN whose sign and payload differ between machines (numerics 1.3: snap makes them one). A
// splat may quiet a signalling one.
bool nan_bits_may_differ(const std::string& name) {
  for (const char* n : {"a + b", "a - b", "a * b", "a / b", "a * b + a", "sqrt", "fold", "splat f"})
    if (name == n) return true;
  return false;
}

bool is_nan(std::uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

void check(const LaneProbe& probe, const LaneInput& in, const char* target) {
  const auto found = expected().find(probe.name);
  ASSERT_NE(found, expected().end()) << probe.name << " has no rule in this test";
  std::uint32_t out[16] = {};
  probe.run(in, out);
  for (int k = 0; k < (one_number(probe.name) ? 1 : 16); ++k) {
    const std::uint32_t want = found->second({in.a[k], in.b[k], in.i[k], in.j[k], in});
    if (nan_bits_may_differ(probe.name) && is_nan(want) && is_nan(out[k])) continue;
    ASSERT_EQ(out[k], want) << target << ": " << probe.name << ", lane " << k << ", a " << in.a[k] << ", b " << in.b[k]
                            << ", i " << in.i[k] << ", j " << in.j[k];
  }
}

// Floats around every rule: zeros, thresholds of snap, subnormals, infinities, NaNs, halves, large numbers.
const std::uint32_t kFloats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0xbf000000,
                                 0xc0200000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x26000000,
                                 0xa6000000, 0x25ffffff, 0xa5ffffff, 0x26000001, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                 0xff800000, 0x7fc00000, 0xffc00001, 0x7fffffff, 0x4a800000, 0xca800000, 0x4a7fffff,
                                 0x3effffff, 0x33800000, 0x40490fdb, 0x5f000000};
const std::uint32_t kInts[] = {0,        1,        0xffffffff, 0x7fffffff, 0x80000000, 0x80000001,
                               16777216, 16777217, 16777219,   0xfeffffff, 46341,      65536};

LaneInput sample(std::uint32_t round) {
  LaneInput in;
  for (std::uint32_t k = 0; k < 16; ++k) {
    const PhiloxBlock r = philox4x32(7, {round, k, 0, 0});
    // Half the rounds take their floats from the list, the others are any bits or near one another in size.
    const bool listed = round % 2 == 0, near = round % 4 == 1;
    const auto pick = [&](std::uint32_t v) {
      return listed ? kFloats[v % std::size(kFloats)] : near ? (v & 0x80ffffffu) + 0x3f000000u : v;
    };
    in.a[k] = std::bit_cast<float>(pick(r[0])), in.b[k] = std::bit_cast<float>(pick(r[1]));
    const auto integer = [&](std::uint32_t v) {
      return static_cast<std::int32_t>(listed ? kInts[v % std::size(kInts)] : v);
    };
    in.i[k] = integer(r[2]), in.j[k] = integer(r[3]);
  }
  return in;
}

TEST(Simd, every_operation_as_in_plain_cpp_on_every_target) {  // numerics 1
  const auto list = runnable_lane_probes();
  ASSERT_GE(list.count, 1u);
  for (const LaneProbes* table : list) {
    EXPECT_EQ(table->count, expected().size());
    for (std::uint32_t round = 0; round < 4000; ++round) {
      const LaneInput in = sample(round);
      for (std::size_t p = 0; p < table->count; ++p) {
        LaneInput mine = in;
        if (std::string(table->probes[p].name) == "round_to_int")  // defined for |a| <= 2^22
          for (float& a : mine.a)
            if (!(std::fabs(a) <= 0x1p22f)) a = std::ldexp(static_cast<float>(static_cast<std::int8_t>(word(a))), -1);
        check(table->probes[p], mine, table->target);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Simd, snap_at_its_threshold) {  // numerics 1.2
  for (const LaneProbes* table : runnable_lane_probes())
    for (std::size_t p = 0; p < table->count; ++p) {
      if (std::string(table->probes[p].name) != "snap") continue;
      LaneInput in{};
      const float values[] = {0x1p-51f, -0x1p-51f, 0x1.fffffep-52f, -0x1.fffffep-52f, -0.0f, 0x1p-149f,
                              NAN,      -NAN,      INFINITY,        -INFINITY,        1.0f};
      std::copy(std::begin(values), std::end(values), in.a);
      std::uint32_t out[16];
      table->probes[p].run(in, out);
      const std::uint32_t want[] = {0x26000000, 0xa6000000, 0,          0, 0, 0, kNan, kNan,
                                    0x7f800000, 0xff800000, 0x3f800000, 0, 0, 0, 0,    0};
      for (int k = 0; k < 16; ++k) EXPECT_EQ(out[k], want[k]) << table->target << " lane " << k;
    }
}

TEST(Simd, Tiles_in_plain_code_are_exact){
#define LOOM_EXPECT(variant, target) EXPECT_TRUE(!cpu_runs(Isa::target) || variant::has_exact_tiles());
    LOOM_PLAIN_VARIANTS(LOOM_EXPECT)
#undef LOOM_EXPECT
}

TEST(Simd, Targets_run_weakest_first) {
  const auto list = runnable_lane_probes();
  ASSERT_GE(list.count, 1u);
  EXPECT_STREQ(list.tables[0]->target, "scalar");
  EXPECT_TRUE(cpu_runs(Isa::scalar));
#if defined(__x86_64__)
  EXPECT_FALSE(cpu_runs(Isa::neon));
  EXPECT_FALSE(cpu_runs(Isa::neondot));
  EXPECT_FALSE(cpu_runs(Isa::neoni8mm));
  // The compilers' own runtimes are the oracle; that of Zig knows no answer.
  __builtin_cpu_init();
  EXPECT_EQ(cpu_runs(Isa::sse4), __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3"));
  EXPECT_EQ(cpu_runs(Isa::avx2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                     __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2"));
  EXPECT_EQ(cpu_runs(Isa::avx512), __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                                       __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("f16c") &&
                                       __builtin_cpu_supports("bmi2"));
  EXPECT_TRUE(!cpu_runs(Isa::amx) || cpu_runs(Isa::avx512));
#elif defined(__aarch64__)
  EXPECT_TRUE(cpu_runs(Isa::neon));
  EXPECT_TRUE(!cpu_runs(Isa::neoni8mm) || cpu_runs(Isa::neondot));
#if defined(__linux__)
  // The system lists the features by name, too; emulators may show the file of the machine that they run on.
  std::ifstream file("/proc/cpuinfo");
  std::string words;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Features")) words = line + " ";
  if (!words.empty()) {
    EXPECT_EQ(cpu_runs(Isa::neondot), words.find(" asimddp ") != std::string::npos);
    EXPECT_EQ(cpu_runs(Isa::neoni8mm), words.find(" i8mm ") != std::string::npos);
  }
#endif
#endif
}

}  // namespace
}  // namespace loom::simd_test
