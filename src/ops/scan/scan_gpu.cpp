#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/scan/rates.wgsl.h"
#include "ops/scan/scan_gpu.h"
#include "ops/scan/scan.wgsl.h"
#include "ops/scan/scan_backward.wgsl.h"
#include "ops/scan/scan_gap.wgsl.h"
#include "ops/scan/scan_projections.wgsl.h"
#include "ops/scan/step.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

std::string scan_body(std::string_view run) { return recorder::math_function("exp_f") + joined({wgsl::step, run}); }

// Adds the arguments of all kernels, and the size of their grid.
Kernel& with_scan(const Exec& exec, const Scan& scan, Kernel& kernel) {
  const ScanShape& s = scan.shape;
  const bool has_lengths = s.lengths != nullptr;
  const void* lengths = scan.x.data;
  if (has_lengths && !exec.rehearsal()) {
    const std::vector<std::uint32_t> words(s.lengths, s.lengths + s.batch);
    lengths = exec.gpu()->upload(exec, std::span(words));
  }
  return kernel.reads("x", scan.x.data)
      .reads("dt", scan.dt.data)
      .reads("b", scan.b.data)
      .reads("c", scan.c.data)
      .reads("a", scan.a)
      .reads("skip", scan.skip)
      .reads("lengths", lengths)
      .number("batch", s.batch)
      .number("steps", s.steps)
      .number("channels", s.channels)
      .number("states", s.states)
      .fixed("has_lengths", has_lengths);
}

std::uint64_t groups_of_channels(const ScanShape& s) { return ceil_div(s.batch * s.channels, Kernel::kThreads); }

}  // namespace

void scan_rates(const Exec& exec, const void* a_log, const ScanShape& s, void* a) {
  static const std::string body = recorder::math_function("exp_f") + std::string(wgsl::rates);
  exec.gpu()->record(exec,
                     Kernel("scan_rates", body)
                         .reads("a_log", a_log)
                         .writes("a", a)
                         .number("channels", s.channels)
                         .number("states", s.states),
                     ceil_div(s.channels * s.states, Kernel::kThreads));
}

void selective_scan(const Exec& exec, const Scan& scan, Tensor h, Tensor before, Tensor y) {
  static const std::string body = scan_body(wgsl::scan);
  const bool keeps = before.data != nullptr;
  Kernel kernel("scan", body);
  kernel.updates("h", h.data).writes("before", keeps ? before.data : h.data).writes("y", y.data).fixed("keeps", keeps);
  exec.gpu()->record(exec, with_scan(exec, scan, kernel), groups_of_channels(scan.shape));
}

void selective_scan_backward(const Exec& exec, const Scan& scan, ConstTensor before, ConstTensor dy,
                             const ScanGradients& to) {
  static const std::string steps = scan_body(wgsl::scan_backward), sums = scan_body(wgsl::scan_projections);
  const ScanShape& s = scan.shape;
  const ArenaScope scope(exec.arena);
  void *const carry = exec.arena.take<float>(s.batch * s.states * s.channels), *const slopes = exec.arena.take<float>(
                                                                                   s.batch * s.steps * s.states *
                                                                                   s.channels);
  Kernel kernel("scan_backward", steps);
  kernel.reads("before", before.data)
      .reads("dy", dy.data)
      .updates("carry", carry)
      .writes("slopes", slopes)
      .writes("dx", to.dx.data)
      .writes("ddt", to.ddt.data)
      .updates("da_log", to.da_log.data)
      .writes("dskip", to.dskip.data);
  exec.gpu()->record(exec, with_scan(exec, scan, kernel), groups_of_channels(s));
  Kernel projections("scan_projections", sums);
  projections.reads("before", before.data)
      .reads("dy", dy.data)
      .reads("slopes", slopes)
      .writes("db", to.db.data)
      .writes("dc", to.dc.data);
  exec.gpu()->record(exec, with_scan(exec, scan, projections),
                     ceil_div(s.batch * s.steps * s.states, Kernel::kThreads));
}

void selective_scan_gap(const Exec& exec, const Scan& scan, ConstTensor e, Tensor d, Tensor reads, Tensor dskip) {
  static const std::string body = scan_body(wgsl::scan_gap);
  const ArenaScope scope(exec.arena);
  const std::size_t states = scan.shape.batch * scan.shape.states * scan.shape.channels;
  void *const carry = exec.arena.take<float>(states), *const paths = exec.arena.take<float>(states);
  Kernel kernel("scan_gap", body);
  kernel.reads("e", e.data)
      .updates("carry", carry)
      .updates("paths", paths)
      .writes("d", d.data)
      .writes("reads", reads.data)
      .writes("dskip", dskip.data);
  exec.gpu()->record(exec, with_scan(exec, scan, kernel), groups_of_channels(scan.shape));
}

}  // namespace loom::gpu
