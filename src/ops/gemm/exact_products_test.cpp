#include "ops/gemm/exact_products.h"

#include <atomic>

#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"
#include "ops/op_test.h"
#include "ops/rounding/rounding.h"

namespace loom::op_test::of_exact_products {
namespace {

// Numbers of 2^low to 2^high in size, every fifth 0, rounded to the type; none: as they are.
std::vector<float> rounded(std::size_t n, std::uint32_t site, Mixed to, int low, int high) {
  std::vector<float> v = values<float>(n, site), exponents = values<float>(n, site + 100);
  for (std::size_t i = 0; i < n; ++i) {
    const float power = static_cast<float>(low) + (exponents[i] + 1) / 2 * static_cast<float>(high - low);
    v[i] = i % 5 == 4 ? 0 : std::ldexp(1 + std::abs(v[i]), static_cast<int>(power)) * (v[i] < 0 ? -1.0f : 1.0f);
  }
  const auto pool = ThreadPool::create(1).value();
  Arena arena = Arena::create(1 << 20).value();
  round_activations(Exec{*pool, *kernels_for(usable_isas().front()).value(), arena}, tensor(v, 1, n), to);
  return v;
}

ValueBits bits_of(const std::vector<float>& v) {
  ValueBits bits;
  kernels_for(best_isa()).value()->gemm.of<float>().add_bits(v.data(), v.size(), bits);
  return bits;
}

// The kernels of a target in which fused products are counted.
std::atomic<int> fused_calls;
decltype(GemmKernels<float>::fused_panels) counted_panels;
struct CountedKernels {
  PerElement<GemmKernels> gemm;
  KernelTable table;

  explicit CountedKernels(const KernelTable& plain) : gemm(plain.gemm), table(with_gemm(plain, gemm)) {
    counted_panels = gemm.f32.fused_panels, fused_calls = 0;
    if (counted_panels != nullptr)
      gemm.f32.fused_panels = [](const GemmTask<float>& task, std::size_t begin, std::size_t end, std::size_t row,
                                 std::size_t rows) {
        ++fused_calls;
        counted_panels(task, begin, end, row, rows);
      };
  }
  CountedKernels(const CountedKernels&) = delete;

 private:
  template <class K>
  static const K& pick(const K& given, const PerElement<GemmKernels>& gemm) {
    if constexpr (std::is_same_v<K, PerElement<GemmKernels>>)
      return gemm;
    else
      return given;
  }
  static KernelTable with_gemm(const KernelTable& t, const PerElement<GemmKernels>& gemm) {
    return {
#define LOOM_KERNELS(name, Kernels) .name = pick(t.name, gemm),
#define LOOM_ELEMENT_KERNELS(name, Kernels) .name = pick(t.name, gemm),
#include "ops/kernels.inc"
    };
  }
};

struct Product {
  std::vector<float> c;
  bool fused = false;
};
Product product(Isa isa, int threads, const std::vector<float>& a, const std::vector<float>& b, std::size_t m,
                std::size_t n, std::size_t k, FactorKind given, bool turned = false, Into into = Into::Store,
                std::size_t block = 0) {
  const FpEnvironment environment;
  const auto pool = ThreadPool::create(threads).value();
  Arena arena = Arena::create(std::size_t{64} << 20).value();
  const CountedKernels counted(*kernels_for(isa).value());
  Product result{values<float>(m * n, 3)};
  const Operand left = turned ? Operand{a.data(), 1, m} : Operand{a.data(), k, 1};
  gemm(Exec{*pool, counted.table, arena}, left, {b.data(), n, 1}, k, tensor(result.c, m, n), into, block, given);
  result.fused = fused_calls != 0;
  return result;
}
bool has_fused(Isa isa) { return kernels_for(isa).value()->gemm.of<float>().fused_panels != nullptr; }

TEST(ExactProducts, x86_with_fused_instructions_has_fused_kernels) {
  for (const Isa isa : usable_isas()) {
    const std::string_view target = name(isa);
    const bool wanted = target.starts_with("avx") || target == "amx" || target.starts_with("neon");
    EXPECT_EQ(has_fused(isa), wanted) << target;
    EXPECT_EQ(kernels_for(isa).value()->gemm.of<double>().fused_panels, nullptr);
  }
}

// Every product of two numbers whose bits pass is the exact one, and sums of such products that overflow, cancel or
// round are those of two instructions.
TEST(ExactProducts, numbers_whose_bits_pass_have_exact_products) {
  std::size_t passed = 0, refused = 0;
  const RandomStream random{.seed = 5};
  for (std::uint64_t i = 0; i < 400000; ++i) {
    const PhiloxBlock words = random.block(i);
    const auto number = [&](std::uint32_t word, std::uint32_t cut) {
      return std::bit_cast<float>(word & ~((1u << cut % 24) - 1));
    };
    const float a = number(words[0], words[2]), b = number(words[1], words[2] >> 8);
    const float unfused = a * b;
    const bool is_exact = static_cast<double>(unfused) == static_cast<double>(a) * static_cast<double>(b);
    if (!are_products_exact(bits_of({a}), bits_of({b}))) {
      ++refused;
      continue;
    }
    ++passed;
    ASSERT_TRUE(is_exact && std::isfinite(unfused)) << a << " * " << b;
    const float c = std::bit_cast<float>(words[3]), sum = c + unfused, at_once = std::fma(a, b, c);
    if (!std::isnan(c)) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(sum), std::bit_cast<std::uint32_t>(at_once)) << a << " * " << b;
    }
  }
  EXPECT_GT(passed, 50000u);
  EXPECT_GT(refused, 50000u);
}

TEST(ExactProducts, the_borders_of_the_range) {
  const auto pass = [](float a, float b) { return are_products_exact(bits_of({a, 0.0f}), bits_of({b, -0.0f})); };
  EXPECT_TRUE(pass(0x1p-63f, 0x1p-63f));
  EXPECT_FALSE(pass(0x1p-63f, 0x1p-64f));
  EXPECT_TRUE(pass(0x1.fp63f, 0x1.fp63f));
  EXPECT_FALSE(pass(0x1p63f, 0x1p64f));
  EXPECT_TRUE(pass(0x1.ffep0f, 0x1.ffep0f));   // 12 bits each
  EXPECT_FALSE(pass(0x1.fffp0f, 0x1.ffep0f));  // 13 and 12
  EXPECT_FALSE(pass(0x1p-130f, 0x1p60f));      // subnormal
  EXPECT_TRUE(pass(0, 0));
  for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(pass(special, 1) || pass(1, special) || pass(-special, 0));
}

// The kernel for exact products beside the one for any, with exponents from one end of the range to the other.
TEST(ExactProducts, fused_products_have_the_bits_of_unfused_ones) {  // N-03
  struct Size {
    std::size_t m, n, k;
  };
  for (const auto& [to, low, high] : {std::tuple{Mixed::bf16, -51, 60}, {Mixed::bf16, -8, 3}, {Mixed::f16, -24, 15}})
    for (const auto& [m, n, k] : {Size{32, 32, 1}, {33, 70, 65}, {100, 37, 200}, {131, 333, 300}})
      for (const bool turned : {false, true})
        for (const auto& [into, block] : {std::pair{Into::Store, std::size_t{0}},
                                          {Into::Add, 0},
                                          {Into::Add, 16},
                                          {Into::Store, 100},
                                          {Into::Partial, 0}}) {
          const auto a = rounded(m * k, 1, to, low, high), b = rounded(k * n, 2, to, low, high);
          for (const Isa isa : usable_isas()) {
            const Product plain = product(isa, 1, a, b, m, n, k, FactorKind::Any, turned, into, block);
            EXPECT_FALSE(plain.fused);
            for (const int threads : {1, 3}) {
              const Product fused = product(isa, threads, a, b, m, n, k, FactorKind::Rounded, turned, into, block);
              EXPECT_EQ(fused.fused, has_fused(isa) && into != Into::Partial && k > 4) << name(isa) << ", k " << k;
              EXPECT_TRUE(same(fused.c, plain.c)) << name(isa) << " " << m << "x" << n << "x" << k;
            }
          }
        }
}

TEST(ExactProducts, large_fused_products_have_the_bits_of_unfused_ones) {  // N-03
  constexpr std::size_t kRows = 2048, kCols = 512, kTerms = 1344;
  for (const auto& [to, low, high] : {std::tuple{Mixed::bf16, -51, 60}, {Mixed::f16, -14, 3}}) {
    const auto a = rounded(kRows * kTerms, 1, to, low, high), b = rounded(kTerms * kCols, 2, to, low, high);
    const std::vector<float> wanted = product(usable_isas().back(), 2, a, b, kRows, kCols, kTerms, FactorKind::Any).c;
    for (const Isa isa : usable_isas())
      for (const int threads : {1, 2, 4}) {
        if (!has_fused(isa)) continue;
        const test::ExpectDivided divided(threads);
        const Product fused = product(isa, threads, a, b, kRows, kCols, kTerms, FactorKind::Rounded);
        EXPECT_TRUE(fused.fused);
        EXPECT_TRUE(same(fused.c, wanted)) << name(isa) << ", threads " << threads;
      }
  }
}

// One number that is too long, too large, too small or none, wherever it is, ends in the products of two instructions.
TEST(ExactProducts, one_number_that_does_not_fit_is_found) {
  constexpr std::size_t kRows = 65, kCols = 50, kTerms = 700;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto a = rounded(kRows * kTerms, 1, Mixed::bf16, -30, 30), b = rounded(kTerms * kCols, 2, Mixed::bf16, -30, 30);
  const Isa isa = best_isa();
  for (const float bad : {1 + 0x1p-23f, 0x1p120f, -0x1p-120f, 0x1p-140f, kInfinity, std::nanf("")})
    for (const bool in_b : {false, true})
      for (const std::size_t at : {std::size_t{0}, std::size_t{17001}, kTerms * (in_b ? kCols : kRows) - 1}) {
        std::vector<float> left = a, right = b;
        (in_b ? right : left)[at] = bad;
        const Product found = product(isa, 3, left, right, kRows, kCols, kTerms, FactorKind::Rounded);
        EXPECT_FALSE(found.fused) << bad << " at " << at;
        EXPECT_TRUE(same(found.c, product(isa, 1, left, right, kRows, kCols, kTerms, FactorKind::Any).c));
      }
}

TEST(ExactProducts, numbers_of_24_bits_are_not_fused) {
  const auto a = values<float>(100 * 70, 1), b = values<float>(70 * 64, 2);
  const auto short_a = rounded(100 * 70, 1, Mixed::bf16, -8, 3);
  for (const Isa isa : usable_isas()) {
    EXPECT_FALSE(product(isa, 1, a, b, 100, 64, 70, FactorKind::Rounded).fused);
    EXPECT_FALSE(product(isa, 1, short_a, b, 100, 64, 70, FactorKind::Rounded).fused);
  }
}

}  // namespace
}  // namespace loom::op_test::of_exact_products
