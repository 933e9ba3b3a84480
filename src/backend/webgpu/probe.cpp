#include "backend/webgpu/probe.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "backend/webgpu/canaries.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/philox.h"

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

namespace {

constexpr std::uint32_t kQuads = 256;        // of codes and of inputs, four words each
constexpr std::uint32_t kStepsToCheck = 16;  // of the threads of one workgroup
constexpr std::size_t kManyGroups = 1024;    // fill a card
constexpr std::uint32_t kMostSteps = 1 << 20;
constexpr double kLeastMs = 0.7;  // of the form by which the number of steps is chosen, beside what a read takes

// The functions of a form by another name than that of the prelude, and what products do with them.
std::string dots_body(Dots dots) {
  std::string text(text_of(dots));
  constexpr std::string_view kName = "dot_bytes";
  text.replace(text.find(kName), kName.size(), "probed_dot");
  return text + R"(
fn codes_at(i: u32) -> vec4<u32> {
  let at = 4u * (i % quads);
  return vec4<u32>(bits_codes(at), bits_codes(at + 1u), bits_codes(at + 2u), bits_codes(at + 3u));
}
fn inputs_at(i: u32) -> vec4<u32> {
  let at = 4u * (i % quads);
  return vec4<u32>(bits_inputs(at), bits_inputs(at + 1u), bits_inputs(at + 2u), bits_inputs(at + 3u));
}
fn four_dots(w: vec4<u32>, x: vec4<u32>) -> i32 {
  return probed_dot(w.x, x.x) + probed_dot(w.y, x.y) + probed_dot(w.z, x.z) + probed_dot(w.w, x.w);
}
fn run(group: u32, thread: u32) {
  let lane = 64u * group + thread;
  var sum = 0;
  for (var i = 0u; i < steps(); i++) {
    let codes = codes_at(lane + i);
    let near = inputs_at(i);
    let far = inputs_at(i + 1u);
    sum += four_dots(codes & vec4<u32>(0x0f0f0f0fu), near) + four_dots((codes >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu), far);
    sum += 3 * four_dots(codes, near);
  }
  put_y(lane, bitcast<u32>(sum));
}
)";
}

std::uint32_t dot_of(std::uint32_t a, std::uint32_t b) {
  std::int32_t sum = 0;
  for (int i = 0; i < 32; i += 8) sum += static_cast<std::int8_t>(a >> i) * static_cast<std::int8_t>(b >> i);
  return static_cast<std::uint32_t>(sum);
}

class DotsProbe {
 public:
  static Result<DotsProbe> create(GpuDevice& device) {
    DotsProbe probe(device);
    const RandomStream random{.seed = 8};
    for (std::size_t i = 0; i < probe.codes_.size(); ++i)
      probe.codes_[i] = random.word(2 * i), probe.inputs_[i] = random.word(2 * i + 1);
    // Memory of this size has a buffer of its own, which is given back: what follows is placed as without the probe.
    constexpr std::size_t kBytes = kManyGroups * Kernel::kThreads * 4;
    LOOM_TRY(probe.read_, Memory::create(&device, kBytes));
    LOOM_TRY(probe.sums_, Memory::create(&device, kBytes));
    probe.read_.write(0, std::as_bytes(std::span(probe.codes_)));
    probe.read_.write(probe.codes_.size() * 4, std::as_bytes(std::span(probe.inputs_)));
    return probe;
  }

  // Whether a form compiles and gives the right sums.
  Result<bool> is_right(Dots dots) {
    if (auto ran = dispatch(dots, kStepsToCheck, 1); !ran) {
      if (ran.error().code == Code::Unsupported) return false;
      return tl::make_unexpected(std::move(ran).error());
    }
    std::array<std::uint32_t, Kernel::kThreads> got;
    sums_.read(0, std::as_writable_bytes(std::span(got)));
    LOOM_TRY_VOID(device_->check());
    for (std::uint32_t lane = 0; lane < got.size(); ++lane)
      if (got[lane] != sum_of(lane)) return false;
    return true;
  }

  // Milliseconds until the sums of many workgroups can be read.
  Result<double> time(Dots dots, std::uint32_t steps) {
    const Clock::time_point begin = Clock::now();
    LOOM_TRY_VOID(dispatch(dots, steps, kManyGroups));
    std::byte word[4];
    sums_.read(0, word);
    LOOM_TRY_VOID(device_->check());
    return ms_since(begin);
  }

 private:
  explicit DotsProbe(GpuDevice& device) : device_(&device), codes_(4 * kQuads), inputs_(4 * kQuads) {}

  Result<void> dispatch(Dots dots, std::uint32_t steps, std::size_t groups) {
    static const std::array<std::string, kDotsNames.size()> bodies = {
        dots_body(Dots::Packed), dots_body(Dots::Integers), dots_body(Dots::Floats)};
    return device_->dispatch(Kernel("dots", bodies[static_cast<std::size_t>(dots)])
                                 .reads("codes", read_.data())
                                 .reads("inputs", read_.data() + codes_.size() * 4)
                                 .writes("y", sums_.data())
                                 .fixed("quads", kQuads)
                                 .number("steps", steps),
                             groups);
  }

  std::uint32_t sum_of(std::uint32_t lane) const {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < kStepsToCheck; ++i)
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t code = codes_[4 * ((lane + i) % kQuads) + k], near = inputs_[4 * (i % kQuads) + k],
                            far = inputs_[4 * ((i + 1) % kQuads) + k];
        sum += dot_of(code & 0x0f0f0f0f, near) + dot_of(code >> 4 & 0x0f0f0f0f, far) + 3 * dot_of(code, near);
      }
    return sum;
  }

  GpuDevice* device_;
  std::vector<std::uint32_t> codes_, inputs_;
  Memory read_, sums_;
};

}  // namespace

Result<bool> are_units_right(GpuDevice& device) {
  constexpr std::size_t kSide = 16, kWords = 8;  // 16 rows by 16 columns of 32 bytes
  constexpr std::string_view kBody = R"(
var<workgroup> rows: array<i32, 192>;  // of 8 words and 4 more
var<workgroup> columns: array<i32, 128>;
var<workgroup> sums: array<i32, 320>;
fn run(group: u32, thread: u32) {
  for (var i = thread; i < 128u; i += 32u) {
    rows[i / 8u * 12u + i % 8u] = bitcast<i32>(bits_x(i));
    columns[i] = bitcast<i32>(bits_x(128u + i));
  }
  workgroupBarrier();
  let left = subgroupMatrixLoad<subgroup_matrix_left<i8, 32, 16>, row_major>(&rows, 0u, 12u);
  let right = subgroupMatrixLoad<subgroup_matrix_right<i8, 16, 32>, col_major>(&columns, 0u, 8u);
  let once = subgroupMatrixScalarMultiply(subgroupMatrixMultiply<i32>(left, right), 255i);
  subgroupMatrixStore<row_major>(&sums, 0u, subgroupMatrixMultiplyAccumulate(left, right, once), 20u);
  workgroupBarrier();
  for (var i = thread; i < 256u; i += 32u) { put_y(i, bitcast<u32>(sums[i / 16u * 20u + i % 16u])); }
}
)";
  const RandomStream random{.seed = 9};
  std::vector<std::uint32_t> words(2 * kSide * kWords), got(kSide * kSide);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = random.word(i);
  LOOM_TRY(Memory x, Memory::create(&device, words.size() * 4));
  LOOM_TRY(Memory y, Memory::create(&device, got.size() * 4));
  x.write(0, std::as_bytes(std::span(words)));
  Kernel kernel("units", kBody, 32);
  auto ran = device.dispatch(kernel.reads("x", x.data()).writes("y", y.data()).on_matrix_units(), 1);
  if (!ran && ran.error().code == Code::Unsupported) return false;
  LOOM_TRY_VOID(std::move(ran));
  y.read(0, std::as_writable_bytes(std::span(got)));
  LOOM_TRY_VOID(device.check());
  for (std::size_t r = 0; r < kSide; ++r)
    for (std::size_t c = 0; c < kSide; ++c) {
      std::uint32_t sum = 0;
      for (std::size_t k = 0; k < kWords; ++k) sum += dot_of(words[r * kWords + k], words[(kSide + c) * kWords + k]);
      if (got[r * kSide + c] != 256 * sum) return false;
    }
  return true;
}

bool has_times(const AdapterInfo& adapter) { return !adapter.library.empty(); }

Result<void> check_dots(GpuDevice& device, Dots dots) {
  LOOM_TRY(DotsProbe probe, DotsProbe::create(device));
  LOOM_TRY(const bool is_right, probe.is_right(dots));
  if (is_right) return {};
  return fail(Code::InvalidArgument, "{}: dots by {} do not compile or give wrong sums; expected another of {}",
              device.adapter().name, name(dots), fmt::join(kDotsNames, ", "));
}

Result<Dots> find_fastest_dots(GpuDevice& device) {
  LOOM_TRY(DotsProbe probe, DotsProbe::create(device));
  struct Form {
    Dots dots;
    double ms = std::numeric_limits<double>::infinity();
  };
  std::vector<Form> right;
  for (const Dots dots : {Dots::Packed, Dots::Integers, Dots::Floats}) {
    LOOM_TRY(const bool is_right, probe.is_right(dots));
    if (is_right) right.push_back({dots});
    if (is_right && !has_times(device.adapter())) break;
  }
  if (right.empty()) return Dots::Integers;  // which the canaries then refuse
  if (right.size() == 1) return right[0].dots;

  LOOM_TRY(double of_read, probe.time(right[0].dots, 0));
  LOOM_TRY(const double again, probe.time(right[0].dots, 0));
  of_read = std::min(of_read, again);
  std::uint32_t steps = 1;
  for (;; steps *= 2) {
    LOOM_TRY(const double ms, probe.time(right[0].dots, steps));
    if (ms >= of_read + kLeastMs || steps == kMostSteps) break;
  }
  // Rounds of all forms, since the clock of a card rises; one that takes twice the time of another is out.
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round)
    for (Form& form : right) {
      if (round != 0 && form.ms > 2 * least) continue;
      LOOM_TRY(const double ms, probe.time(form.dots, steps));
      form.ms = std::min(form.ms, std::max(ms - of_read, 0.0));
      least = std::min(least, form.ms);
    }
  // Another form than the first has to be a tenth faster, so that noise does not choose it.
  const Form* best = &right[0];
  for (const Form& form : right)
    if (form.ms < 0.9 * best->ms) best = &form;
  return best->dots;
}

}  // namespace loom::gpu
