#include "backend/webgpu/probe.h"

#include <vector>

#include "backend/webgpu/canaries.h"
#include "core/checked.h"

namespace loom::gpu {
namespace {

constexpr std::size_t kPairs = std::size_t{1} << 15;  // every pair of edge values, and as many random ones

const std::string& body() {
  static const std::string text = [] {
    std::string cases;
    for (const Canary& canary : canaries())
      cases += fmt::format("    case {}u: {{ return {}; }}\n", &canary - canaries().data(), canary.expression);
    return fmt::format(R"(
fn canary(k: u32, a: u32, b: u32) -> u32 {{
  let x = bitcast<f32>(a);
  let y = bitcast<f32>(b);
  switch (k) {{
{}    default: {{ return 0u; }}
  }}
}}
fn run(group: u32, thread: u32) {{
  let i = 64u * group + thread;
  if (i >= pairs) {{ return; }}
  for (var k = 0u; k < count; k++) {{ put_y(k * pairs + i, canary(k, bits_a(i), bits_b(i))); }}
}}
)",
                       cases);
  }();
  return text;
}

}  // namespace

Result<void> prove_arithmetic(GpuDevice& device) {
  const std::span<const Canary> all = canaries();
  std::vector<std::uint32_t> a(kPairs), b(kPairs), got(kPairs * all.size());
  fill_canary_inputs(a, b);
  LOOM_TRY(Memory left, Memory::create(&device, kPairs * 4));
  LOOM_TRY(Memory right, Memory::create(&device, kPairs * 4));
  LOOM_TRY(Memory results, Memory::create(&device, got.size() * 4));
  left.write(0, std::as_bytes(std::span(a)));
  right.write(0, std::as_bytes(std::span(b)));
  LOOM_TRY_VOID(device.dispatch(Kernel("canaries", body())
                                    .reads("a", left.data())
                                    .reads("b", right.data())
                                    .writes("y", results.data())
                                    .fixed("pairs", kPairs)
                                    .fixed("count", all.size()),
                                ceil_div(kPairs, std::size_t{Kernel::kThreads})));
  results.read(0, std::as_writable_bytes(std::span(got)));
  LOOM_TRY_VOID(device.check());
  for (std::size_t k = 0; k < all.size(); ++k)
    for (std::size_t i = 0; i < kPairs; ++i) {
      const auto expected = all[k].twin(a[i], b[i]);
      if (expected && *expected != got[k * kPairs + i])
        return fail(Code::Unsupported, "{}: its arithmetic is not exact: {} of {:08x} and {:08x} is {:08x}, not {:08x}",
                    device.adapter().name, all[k].name, a[i], b[i], got[k * kPairs + i], *expected);
    }
  return {};
}

}  // namespace loom::gpu
