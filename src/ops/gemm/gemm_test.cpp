#include "ops/gemm/gemm.h"

#include "ops/op_test.h"

namespace loom::op_test::of_gemm {
namespace {

struct Case {
  std::size_t m, n, k;
  bool shared = false;
};
// Few rows and few terms have a way of their own.
const Case kCases[] = {{1, 1, 1},     {4, 17, 65},   {3, 1003, 130},       {65, 15, 3},         {17, 17, 17},
                       {100, 33, 70}, {15, 65, 300}, {130, 70, 200, true}, {1300, 70, 4, true}, {3, 2100, 90, true}};

// c = snap(chain), snap(c + chain) for each run of `block` terms, or the running total of a chain.
template <class T, class Term>
T expected(T c, std::size_t k, Into into, std::size_t block, Term term) {
  const std::size_t run = block == 0 ? k : block;
  for (std::size_t begin = 0; begin < k; begin += run) {
    const std::size_t count = std::min(run, k - begin);
    if (into == Into::Partial) {
      for (std::size_t at = begin; at < begin + count; at += 64) {
        T sum = 0;
        for (std::size_t i = at; i < std::min(at + 64, begin + count); ++i) sum = sum + term(i);
        c = c + sum;
      }
      continue;
    }
    const T sum = chain_sum<T>(count, [&](std::size_t i) { return term(begin + i); });
    c = snapped<T>(into == Into::Store && begin == 0 ? sum : c + sum);
  }
  return c;
}

template <class T>
void check_products() {
  for (const auto& [m, n, k, shared] : kCases)
    for (const bool turned_a : {false, true})
      for (const bool turned_b : {false, true})
        for (const auto& [into, block] : {std::pair{Into::Store, std::size_t{0}},
                                          {Into::Add, 0},
                                          {Into::Add, 16},
                                          {Into::Store, 16},
                                          {Into::Store, 100},
                                          {Into::Add, 100},
                                          {Into::Partial, 0}}) {
          const std::vector<T> a = values<T>(m * k, 1), b = values<T>(k * n, 2), before = values<T>(m * n, 3);
          const Operand left{a.data(), turned_a ? 1 : k, turned_a ? m : 1};
          const Operand right{b.data(), turned_b ? 1 : n, turned_b ? k : 1};
          std::vector<T> wanted = before;
          for (std::size_t i = 0; i < m * n; ++i)
            wanted[i] = expected(before[i], k, into, block, [&, i](std::size_t t) {
              return a[i / n * left.row_stride + t * left.col_stride] *
                     b[t * right.row_stride + i % n * right.col_stride];
            });
          EXPECT_TRUE(same(everywhere(shared,
                                      [&](const Exec& exec) {
                                        std::vector<T> c = before;
                                        gemm(exec, left, right, k, tensor(c, m, n), into, block);
                                        return c;
                                      }),
                           wanted))
              << m << "x" << n << "x" << k << (turned_a ? ", a turned" : "") << (turned_b ? ", b turned" : "")
              << ", into " << static_cast<int>(into) << ", block " << block;
        }
}
LOOM_OP_TEST(Gemm, N_03_N_05_products_by_chain64, check_products)

// Operands neither of whose strides is 1.
template <class T>
void check_strides() {
  for (const auto& [m, n, k, shared] : kCases) {
    const std::vector<T> a = values<T>(m * k * 6 + 6, 1), b = values<T>(n * k * 6 + 6, 2);
    const Operand left{a.data(), 2, 3 * m}, right{b.data(), 3, 3 * k};
    std::vector<T> wanted(m * n);
    for (std::size_t i = 0; i < m * n; ++i)
      wanted[i] = snapped<T>(chain_sum<T>(k, [&](std::size_t t) {
        return a[i / n * left.row_stride + t * left.col_stride] * b[t * right.row_stride + i % n * right.col_stride];
      }));
    EXPECT_TRUE(same(everywhere(shared,
                                [&](const Exec& exec) {
                                  std::vector<T> c(m * n);
                                  gemm(exec, left, right, k, tensor(c, m, n));
                                  return c;
                                }),
                     wanted))
        << m << "x" << n << "x" << k;
  }
}
LOOM_OP_TEST(Gemm, N_03_operands_of_any_strides, check_strides)

// Matrices one below the other are one chain.
template <class T>
void check_packed() {
  constexpr std::size_t kRows = 37, kCols = 50, kTerms = 45, kParts = 3;
  const std::vector<T> a = values<T>(kRows * kParts * kTerms, 1), b = values<T>(kParts * kTerms * kCols, 2);
  std::vector<T> wanted(kRows * kCols);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = snapped<T>(chain_sum<T>(
        kParts * kTerms, [&](std::size_t t) { return a[i / kCols * kParts * kTerms + t] * b[t * kCols + i % kCols]; }));
  EXPECT_TRUE(same(everywhere(false,
                              [&](const Exec& exec) {
                                const ArenaScope scope(exec.arena);
                                std::vector<Operand> parts;
                                for (std::size_t p = 0; p < kParts; ++p)
                                  parts.push_back({b.data() + p * kTerms * kCols, kCols, 1});
                                std::vector<T> c(wanted.size());
                                const PackedOperand packed = pack(exec, parts, kTerms, kCols, element_of<T>);
                                gemm(exec, {a.data(), kParts * kTerms, 1}, packed, tensor(c, kRows, kCols));
                                return c;
                              }),
                   wanted));
}
LOOM_OP_TEST(Gemm, N_03_packed_parts_are_one_chain, check_packed)

template <class T>
void check_column_sums() {
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1}, {65, 15}, {17, 1003}, {700, 117}})
    for (const std::size_t block : {std::size_t{0}, std::size_t{16}, std::size_t{100}}) {
      const std::vector<T> x = special_values<T>(rows * cols, 4), before = values<T>(cols, 5);
      std::vector<T> wanted = before;
      for (std::size_t i = 0; i < cols; ++i)
        wanted[i] = expected(before[i], rows, Into::Add, block, [&](std::size_t r) { return x[r * cols + i]; });
      EXPECT_TRUE(same(everywhere(rows == 700,
                                  [&](const Exec& exec) {
                                    std::vector<T> c = before;
                                    add_column_sums(exec, tensor(x, rows, cols), block, c.data());
                                    return c;
                                  }),
                       wanted))
          << rows << " rows of " << cols << ", block " << block;
    }
}
LOOM_OP_TEST(Gemm, N_05_sums_of_columns, check_column_sums)

}  // namespace
}  // namespace loom::op_test::of_gemm
