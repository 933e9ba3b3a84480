#pragma once
// The functions of wgsl/prelude.wgsl beside their twins on the CPU: what a device is asked before its results count,
// and what tests walk. Everything is bits, so that neither side has to carry a subnormal or a NaN in a float.

#include <cstdint>
#include <optional>
#include <span>

namespace loom::gpu {

struct Canary {
  const char* name;
  const char* expression;  // WGSL: a u32, of a: u32, b: u32 and the same bits as x: f32, y: f32
  // The bits that it gives; nullopt where the prelude promises none.
  std::optional<std::uint32_t> (*twin)(std::uint32_t a, std::uint32_t b);
};

std::span<const Canary> canaries();

// Fills a and b, of one length: every pair of edge values first (2^14 of them), then random bits, every other pair of
// which is near in exponent and often in value, so that sums cancel and round.
void fill_canary_inputs(std::span<std::uint32_t> a, std::span<std::uint32_t> b);

}  // namespace loom::gpu
