#pragma once
// Every operation of simd.h over sixteen lanes, one table per SIMD target, so that a test can hold each target to plain
// C++.

#include <cstddef>
#include <cstdint>

namespace loom {

struct LaneInput {
  float a[16], b[16];
  std::int32_t i[16], j[16];
};
struct LaneProbe {
  const char* name;
  // out: the bits of sixteen lanes; results of one number fill lane 0
  void (*run)(const LaneInput& in, std::uint32_t* out);
};
struct LaneProbes {
  const char* target;
  const LaneProbe* probes;
  std::size_t count;
};
struct LaneProbesList {
  const LaneProbes* tables[8];
  std::size_t count;
  const LaneProbes* const* begin() const { return tables; }
  const LaneProbes* const* end() const { return tables + count; }
};
LaneProbesList runnable_lane_probes();

}  // namespace loom
