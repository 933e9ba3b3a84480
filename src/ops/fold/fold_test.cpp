#include "ops/fold/fold.h"
#include "ops/gpu_test.h"

namespace loom::op_test::of_fold {
namespace {

constexpr Fold kFolds[] = {Fold::Sum, Fold::Mean, Fold::SumOfSquares, Fold::SumOfSizes, Fold::Largest, Fold::Smallest};

struct Case {
  std::vector<std::size_t> kept, kept_steps, reduced, reduced_steps;
};
const Case kCases[] = {{{5}, {700}, {700}, {1}},       // rows
                       {{67}, {1}, {51}, {67}},        // columns
                       {{3, 7}, {161, 1}, {23}, {7}},  // an axis in the middle
                       {{9}, {11}, {5, 11}, {99, 1}},  // two of them
                       {{}, {}, {3000}, {1}},          // all
                       {{4}, {1}, {1}, {1}}};          // nothing

std::size_t elements(const Case& c) {
  std::size_t last = 0;
  for (std::size_t a = 0; a < c.kept.size(); ++a) last += (c.kept[a] - 1) * c.kept_steps[a];
  for (std::size_t a = 0; a < c.reduced.size(); ++a) last += (c.reduced[a] - 1) * c.reduced_steps[a];
  return last + 1;
}

// Numbers that need every step of a sum in f64: sizes of all orders, sums that cancel, halves between two f32 and f64.
std::vector<float> hard(std::size_t n, std::uint32_t kind) {
  if (kind == 0) return values<float>(n, 3, 2);
  if (kind == 1) return special_values<float>(n, 4, 2);
  std::vector<float> v = values<float>(n, 5 + kind, 2);
  for (std::size_t i = 0; i < n; ++i) {
    const int power = static_cast<int>(i * 37 % (kind == 2 ? 60 : 250)) - (kind == 2 ? 30 : 125);
    v[i] = kind == 4 ? (i % 3 == 0 ? 0x1p30f : i % 3 == 1 ? -0x1p30f : 0x1p-23f) : std::ldexp(v[i], power);
    if (kind == 3 && i % 2 == 1) v[i] = -v[i - 1] * (1 + 0x1p-23f);
  }
  return v;
}

TEST(Gpu, folds_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const Case& c : kCases)
    for (std::uint32_t kind = 0; kind < 5; ++kind) {
      SCOPED_TRACE(fmt::format("{} {}", fmt::join(c.reduced, " "), kind));
      const FoldAxes kept{c.kept, c.kept_steps}, reduced{c.reduced, c.reduced_steps};
      const std::size_t n = elements(c), outputs = kept.count();
      const Values in[] = {{1, n, hard(n, kind)}};
      expect_equal(*device, in, 1, std::size(kFolds) * outputs, [&](const Exec& exec, Inputs t, Tensor y) {
        Parts parts(y);
        for (const Fold how : kFolds)
          fold(exec, how, t[0].as<float>(), kept, reduced, parts.take(1, outputs).as<float>());
      });
    }
}

// A chain in f64: what f32 loses comes back, and a mean is rounded twice.
TEST(Folds, sums_are_chains_in_f64) {
  const std::vector<float> x{0x1p30f, 1, -0x1p30f, 0x1p-23f, 3, 4, 5, 6};
  const Values in[] = {{1, x.size(), x}};
  const std::size_t kept[] = {2}, kept_steps[] = {4}, reduced[] = {4}, steps[] = {1};
  const auto got = run(nullptr, in, 1, 4, [&](const Exec& exec, Inputs t, Tensor y) {
    Parts parts(y);
    for (const Fold how : {Fold::Sum, Fold::Mean})
      fold(exec, how, t[0].as<float>(), {kept, kept_steps}, {reduced, steps}, parts.take(1, 2).as<float>());
  });
  EXPECT_EQ(got, (std::vector<float>{1 + 0x1p-23f, 18, 0.25f + 0x1p-25f, 4.5f}));
}

}  // namespace
}  // namespace loom::op_test::of_fold
