#include <cmath>
#include <random>

#include "ops/choice/choice.h"
#include "ops/draw/draw.h"
#include "ops/draw/tight_rows_test.h"
#include "ops/draw/wide_exp.wgsl.h"
#include "ops/fold/wide.wgsl.h"
#include "ops/gpu_test.h"
#include "simd/math64.h"

namespace loom::draw_test {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;
using Random = std::mt19937_64;

// Doubles whose sums, products and quotients are normal, with bits in places where roundings err.
double some_double(Random& random) {
  const std::uint64_t mantissas[] = {0, 0xfffffffffffffu, random() & 0xfffff00000000u, random() & 0x3fu,
                                     random() >> 12};
  const std::uint64_t spans[] = {1, 30, 60, 250};
  const std::uint64_t span = spans[random() % 4];
  const std::uint64_t exponent = 1023 - span + random() % (2 * span + 1);
  if (random() % 32 == 0) return 0;
  return std::bit_cast<double>((random() & 1) << 63 | exponent << 52 | mantissas[random() % 5]);
}
float some_float(Random& random) {
  for (;;) {
    auto bits = static_cast<std::uint32_t>(random());
    if (random() % 4 == 0) bits &= 0x80ffffffu;  // subnormals, and the least normal ones
    if (const float x = std::bit_cast<float>(bits); std::isfinite(x)) return x;
  }
}

constexpr std::size_t kPairs = std::size_t{1} << 15, kResults = 8;

const std::string& body_of_arithmetic() {
  static const std::string text = gpu::joined({wgsl::wide, wgsl::wide_exp, R"(
fn put_wide(at: u32, w: Wide) {
  var bits = vec2<u32>();
  if (w.kind == 1u) { bits = vec2<u32>((w.sign << 31u) | (u32(w.exponent + 1023) << 20u) | (w.high & 0xfffffu), w.low); }
  put_y(2u * at, bits.y);
  put_y(2u * at + 1u, bits.x);
}
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  let a = wide_of_double(bits_a(2u * i + 1u), bits_a(2u * i));
  let b = wide_of_double(bits_b(2u * i + 1u), bits_b(2u * i));
  let c = wide_of(bits_c(i));
  let d = wide_of(bits_d(i));
  put_wide(i, add_wide(a, b));
  put_wide(pairs + i, multiply_wide(a, b));
  put_wide(2u * pairs + i, divide_by_float(a, c));
  var x = a;
  x.sign = 1u;
  put_wide(3u * pairs + i, exp_wide(x));
  x = b;
  x.sign = 1u;
  put_wide(4u * pairs + i, exp_wide(x));
  put_y(10u * pairs + i, float_bits_of(add_wide(c, d)));
  put_y(11u * pairs + i, float_bits_of(multiply_wide(c, d)));
  put_y(12u * pairs + i, float_bits_of(divide_by_float(d, c)));
  x = a;
  x.sign = 0u;
  var z = b;
  z.sign = 0u;
  put_y(13u * pairs + i, select(0u, 1u, is_less(x, z)));
}
)"});
  return text;
}

TEST(Gpu, arithmetic_of_f64_by_integers_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  Random random(20261130);
  std::vector<double> a(kPairs), b(kPairs);
  std::vector<float> c(kPairs), d(kPairs);
  const auto bound = [](double x) { return std::abs(x) > 0x1p-300 ? x : 0.0; };
  for (std::size_t i = 0; i < kPairs; ++i) {
    a[i] = bound(some_double(random)), b[i] = bound(some_double(random));
    if (i % 16 == 0) b[i] = -a[i];
    if (i % 16 == 1) b[i] = std::nextafter(-a[i], 0.0);
    if (i % 16 == 2) a[i] = 0.6931471805599453 * static_cast<double>(random() % 1025);  // about multiples of ln 2
    if (i % 16 == 3) a[i] = 708 + 0x1p-13 * static_cast<double>(random() % 16384);      // about the least result
    if (i % 16 == 4) b[i] = 0x1p-48 * static_cast<double>(random() >> 10);
    do c[i] = some_float(random);
    while (c[i] == 0);
    d[i] = some_float(random);
    if (i % 8 == 0) d[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(c[i]) ^ 0x80000001u);
    if (i % 8 == 1) {  // products and quotients about the least normal number
      c[i] = std::bit_cast<float>(0x3f000000u | static_cast<std::uint32_t>(random() % 0x1000000u));
      d[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random() % 0x2000000u));
    }
  }
  const auto sent = [&](const auto& numbers) {
    Memory memory = Memory::create(device, numbers.size() * sizeof(numbers[0])).value();
    memory.write(0, std::as_bytes(std::span(numbers)));
    return memory;
  };
  const Memory at = sent(a), bt = sent(b), ct = sent(c), dt = sent(d);
  std::vector<std::uint32_t> y(14 * kPairs);
  const Memory yt = sent(y);
  ASSERT_TRUE(device->dispatch(gpu::Kernel("wide_arithmetic", body_of_arithmetic())
                                   .reads("a", at.data())
                                   .reads("b", bt.data())
                                   .reads("c", ct.data())
                                   .reads("d", dt.data())
                                   .writes("y", yt.data())
                                   .fixed("pairs", kPairs),
                               kPairs / gpu::Kernel::kThreads));
  yt.read(0, std::as_writable_bytes(std::span(y)));
  ASSERT_TRUE(device->check());
  const auto double_at = [&](std::size_t k, std::size_t i) {
    return std::bit_cast<double>(std::uint64_t{y[2 * (k * kPairs + i) + 1]} << 32 | y[2 * (k * kPairs + i)]);
  };
  const auto float_at = [&](std::size_t k, std::size_t i) { return std::bit_cast<float>(y[k * kPairs + i]); };
  std::size_t wrong = 0;
  const auto check = [&](const char* name, std::size_t i, auto got, auto expected) {
    // Zeros may lose their sign.
    const bool same = got == expected || (std::isnan(got) && std::isnan(expected));
    if (!same && ++wrong <= 5) ADD_FAILURE() << name << " of pair " << i << ": " << got << ", not " << expected;
  };
  for (std::size_t i = 0; i < kPairs; ++i) {
    check("sum", i, double_at(0, i), a[i] + b[i]);
    check("product", i, double_at(1, i), a[i] * b[i]);
    check("quotient", i, double_at(2, i), a[i] / static_cast<double>(c[i]));
    check("exp", i, double_at(3, i), exp64(-std::abs(a[i])));
    check("exp", i, double_at(4, i), exp64(-std::abs(b[i])));
    check("float sum", i, float_at(10, i), c[i] + d[i]);
    check("float product", i, float_at(11, i), c[i] * d[i]);
    check("float quotient", i, float_at(12, i), d[i] / c[i]);
    check("order", i, static_cast<double>(y[13 * kPairs + i]), std::abs(a[i]) < std::abs(b[i]) ? 1.0 : 0.0);
  }
  EXPECT_EQ(wrong, 0u);
}

// A drawing with its changes, for a row of so many logits.
struct Some {
  std::vector<std::vector<float>> biases;
  std::vector<LogitChange> changes;
  std::vector<std::uint32_t> recent;
  Drawing drawing;

  Some(Random& random, std::size_t cols, std::size_t num_recent) {
    const auto one_of = [&](std::initializer_list<float> list) { return list.begin()[random() % list.size()]; };
    const std::uint32_t top_k[] = {1, 2, 20, 40, 64, 65, 200, 256, 0, 0, 0, 0};
    drawing.top_k = top_k[random() % std::size(top_k)];
    drawing.temperature = one_of({1, 0.7f, 0.1f, 3, 1e-30f, 1e30f, 1e-42f});
    drawing.top_p = one_of({1, 0.95f, 0.5f, 1e-6f, 0.999999f});
    drawing.min_p = one_of({0, 0.05f, 0.3f, 1, 1e-30f});
    drawing.repetition_penalty = one_of({1, 1.1f, 1.3f, 0.5f, 3e38f, 1e-40f});
    drawing.frequency_penalty = one_of({0, 0.1f, -0.2f, 3e38f, -3e38f, 1e-41f});
    drawing.presence_penalty = one_of({0, 0.4f, -1, -3e38f});
    drawing.seed = random(), drawing.position = static_cast<std::uint32_t>(random());
    drawing.session = static_cast<std::uint32_t>(random() % 3);
    std::vector<std::int32_t> ids;
    for (std::size_t i = random() % 90; i > 0; --i) ids.push_back(static_cast<std::int32_t>(random() % cols));
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    constexpr float kInf = std::numeric_limits<float>::infinity();
    for (const std::int32_t id : ids) {
      biases.emplace_back();
      if (random() % 4 == 0)
        for (std::size_t i = 1 + random() % 3; i > 0; --i)
          biases.back().push_back(one_of({0.5f, -2, 100, 3.4e38f, -3.4e38f, -kInf, 1e-41f, 0}));
      changes.push_back({id, static_cast<std::uint32_t>(random() % 4), random() % 8 == 0});
    }
    for (std::size_t i = 0; i < changes.size(); ++i) changes[i].biases = biases[i];
    for (std::size_t i = random() % (num_recent + 1); i > 0; --i)
      recent.push_back(static_cast<std::uint32_t>(random() % num_recent));
    drawing.changes = changes, drawing.recent = recent;
  }
};

// Rows of normal logits, of few values, of tiny ones, of huge ones, with one that is not finite.
std::vector<float> logits(Random& random, std::size_t rows, std::size_t cols, std::size_t kind) {
  std::vector<float> x = values<float>(rows * cols, static_cast<std::uint32_t>(random()), 12);
  if (kind == 1)
    for (float& v : x) v = std::round(v / 3) + (random() % 2 == 0 ? 0.0f : -0.0f);
  if (kind == 2)
    for (float& v : x) v *= random() % 2 == 0 ? 1e-39f : 1e-15f;
  if (kind == 3)
    for (float& v : x) v *= 2.8e37f;
  constexpr float kOdd[] = {INFINITY, -INFINITY, NAN, -NAN};
  if (kind == 4) x[random() % x.size()] = kOdd[random() % 4];
  return x;
}

TEST(Gpu, draws_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  Random random(20261130);
  std::size_t none = 0, all = 0;
  for (const auto& [rows, cols, times] : {std::tuple<std::size_t, std::size_t, std::size_t>{1, 1, 5},
                                          {2, 40, 10},
                                          {3, 1023, 10},
                                          {5, 1025, 15},
                                          {4, 5000, 15},
                                          {1, 49152, 15},
                                          {5, 49152, 5},
                                          {2, 128256, 10}})
    for (std::size_t n = 0; n < times; ++n) {
      SCOPED_TRACE(fmt::format("{} rows of {}, time {}", rows, cols, n));
      const Values x{rows, cols, logits(random, rows, cols, n % 5)};
      std::vector<Some> some;
      some.reserve(rows);
      for (std::size_t r = 0; r < rows; ++r) some.emplace_back(random, cols, 4);
      std::vector<Drawing> drawings;
      for (const Some& one : some) drawings.push_back(one.drawing);
      Values recent{1, 4, std::vector<float>(4)};
      for (float& id : recent.numbers)
        id = std::bit_cast<float>(random() % 5 == 0 ? -1 : static_cast<std::int32_t>(random() % cols));
      if (n % 2 == 0) recent.numbers[2] = recent.numbers[0];
      if (n % 3 == 0 && !some[0].changes.empty()) recent.numbers[1] = std::bit_cast<float>(some[0].changes[0].id);
      const Values inputs[] = {x, recent};
      const op_test::Op op = [&](const Exec& exec, Inputs t, Tensor y) {
        draw(exec, t[0], drawings, {t[1].as<std::int32_t>(), 4}, {y.as<std::int32_t>(), rows});
      };
      expect_equal(*device, inputs, 1, rows, op);
      for (const float id : op_test::run(nullptr, inputs, 1, rows, op))
        ++all, none += std::bit_cast<std::int32_t>(id) == kNoChoice;
    }
  EXPECT_LT(none, all / 2) << "mostly nothing was drawn";
}

TEST(Gpu, of_equal_logits_the_lowest_ids_are_drawn_from) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::size_t cols : {3000u, 49152u})
    for (std::uint32_t position = 0; position < 20; ++position) {
      Values x{1, cols, std::vector<float>(cols, -0.0f)};
      for (std::size_t i = 0; i < cols; i += 3) x.numbers[i] = 0.0f;
      const Drawing drawing{.temperature = 0.8f, .top_k = 100, .seed = 5, .position = position};
      const op_test::Op op = [&](const Exec& exec, Inputs t, Tensor y) {
        draw(exec, t[0], {&drawing, 1}, {}, {y.as<std::int32_t>(), 1});
      };
      expect_equal(*device, {&x, 1}, 1, 1, op);
      EXPECT_LT(std::bit_cast<std::int32_t>(op_test::run(nullptr, {&x, 1}, 1, 1, op)[0]), 100);
    }
}

// On both sides of what is decided.
TEST(Gpu, draws_of_tight_sums_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  Random random(20261201);
  constexpr std::size_t kRows = 8;
  std::size_t none = 0, all = 0;
  for (const std::size_t cols : {700u, 3000u, 3000u, 49152u}) {
    Values x{kRows, cols, {}};
    std::vector<Drawing> drawings;
    for (std::size_t r = 0; r < kRows; ++r) {
      const TightRow row = tight_row(random, cols);
      x.numbers.insert(x.numbers.end(), row.logits.begin(), row.logits.end());
      drawings.push_back(row.drawing);
    }
    const op_test::Op op = [&](const Exec& exec, Inputs t, Tensor y) {
      draw(exec, t[0], drawings, {}, {y.as<std::int32_t>(), kRows});
    };
    expect_equal(*device, {&x, 1}, 1, kRows, op);
    for (const float id : op_test::run(nullptr, {&x, 1}, 1, kRows, op))
      ++all, none += std::bit_cast<std::int32_t>(id) == kNoChoice;
  }
  EXPECT_GT(none, 2u);
  EXPECT_LT(none, all - 2);
}

}  // namespace
}  // namespace loom::draw_test
