#include "simd/lane_probe.h"

#include "loom_targets.h"
#include "simd/target.h"

namespace loom {

#define LOOM_DECLARE(target)           \
  namespace target {                   \
  extern const LaneProbes lane_probes; \
  }
LOOM_COMPILED_TARGETS(LOOM_DECLARE)
#undef LOOM_DECLARE

LaneProbesList runnable_lane_probes() {
  LaneProbesList list{};
#define LOOM_ADD(target) \
  if (cpu_runs(Isa::target)) list.tables[list.count++] = &target::lane_probes;
  LOOM_COMPILED_TARGETS(LOOM_ADD)
#undef LOOM_ADD
  return list;
}

}  // namespace loom
