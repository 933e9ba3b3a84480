#include "ops/gemm/gemm.h"

#include "dtypes/matrix.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"
#include "ops/matmul/matmul.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

// Few tiles and many, chains short and long (which workgroups share), sizes beside their multiples, either operand
// plain or transposed, all ways into c.
TEST(Gpu, gemm_products_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Size {
    std::size_t m, n, k, block;
  };
  for (const Size s : {Size{5, 3, 1, 0}, Size{67, 33, 130, 16}, Size{131, 65, 1000, 100}, Size{40, 70, 1301, 0},
                       Size{300, 520, 90, 40}, Size{770, 705, 81, 0}, Size{1030, 1100, 70, 48}})
    for (const bool turned : {false, true})
      for (const Into into : {Into::Store, Into::Add, Into::Partial}) {
        SCOPED_TRACE(fmt::format("{} {} {} by {}, {} {}", s.m, s.n, s.k, s.block, turned, static_cast<int>(into)));
        if (into == Into::Partial && s.block != 0) continue;
        const Values inputs[] = {{turned ? s.k : s.m, turned ? s.m : s.k, values<float>(s.m * s.k, 1)},
                                 {turned ? s.n : s.k, turned ? s.k : s.n, values<float>(s.k * s.n, 2)},
                                 {s.m, s.n, values<float>(s.m * s.n, 3)}};
        expect_equal(*device, inputs, s.m + 1, s.n, [&](const Exec& exec, Inputs in, Tensor y) {
          const Operand a = turned ? Operand::transposed(in[0]) : Operand::of(in[0]),
                        b = turned ? Operand::transposed(in[1]) : Operand::of(in[1]);
          const Tensor c{y.data, s.m, s.n, Element::f32}, sums{y.row(s.m), 1, s.n, Element::f32};
          copy(exec, in[2], c);
          // Partial takes panels, of which it goes on with the chain.
          const ArenaScope scope(exec.arena);
          into == Into::Partial ? gemm(exec, a, pack(exec, {&b, 1}, s.k, s.n, Element::f32), c, into)
                                : gemm(exec, a, b, s.k, c, into, s.block);
          fill(exec, sums, 0.5);
          add_column_sums(exec, in[2], s.block, sums.data);
        });
      }
}

TEST(Gpu, products_of_many_rows_with_float_weights_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16})
    for (const std::size_t outputs : {41, 1030})
      for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{9, 203}, {300, 203}, {12, 700}}) {
        SCOPED_TRACE(fmt::format("{} {} x {}, {} outputs", name(dtype), rows, cols, outputs));
        const auto matrix = Matrix::from_floats(dtype, values<float>(outputs * cols, 5), outputs, cols).value();
        const Values inputs[] = {{rows, cols, values<float>(rows * cols, 6, 2)},
                                 {1, outputs, values<float>(outputs, 7)}};
        expect_equal(*device, inputs, rows, outputs, [&](const Exec& exec, Inputs in, Tensor y) {
          const MatmulJob job{&matrix, y, in[1].as(), 0};
          matmul(exec, in[0], {&job, 1});
        });
      }
}

// One row and a few, long enough for threads that take one step at a time and two.
TEST(Gpu, products_of_few_rows_with_halves_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const DType dtype : {DType::float16, DType::bfloat16})
    for (const std::size_t cols : {40, 1003, 4100})
      for (const std::size_t rows : {1, 5}) {
        SCOPED_TRACE(fmt::format("{} {} x {}", name(dtype), rows, cols));
        const std::size_t outputs = 41;
        const auto matrix = Matrix::from_floats(dtype, values<float>(outputs * cols, 5), outputs, cols).value();
        const Values x[] = {{rows, cols, values<float>(rows * cols, 6, 2)}};
        expect_equal(*device, x, rows, outputs, [&](const Exec& exec, Inputs in, Tensor y) {
          const MatmulJob job{&matrix, y, nullptr, 0};
          matmul(exec, in[0], {&job, 1});
        });
      }
}

// A pass of many rows is planned, in which no workgroups share a sum, and one of fewer runs, in which they do.
TEST(Gpu, products_of_fewer_rows_than_were_planned_have_room) {
  LOOM_NEEDS_GPU_DEVICE(device);
  constexpr std::size_t kPlanned = 128, kRows = 60, kOutputs = 4096, kCols = 520;
  const auto matrix = Matrix::from_floats(DType::float32, values<float>(kOutputs * kCols, 5), kOutputs, kCols).value();
  const Values x{kPlanned, kCols, values<float>(kPlanned * kCols, 6)};
  expect_equal(*device, {&x, 1}, kPlanned, kOutputs, [&](const Exec& exec, Inputs in, Tensor y) {
    const std::size_t rows = exec.rehearsal() ? kPlanned : kRows;
    fill(exec, y, 0.5);
    const MatmulJob job{&matrix, {y.data, rows, kOutputs, Element::f32}, nullptr, 0};
    matmul(exec, {in[0].data, rows, kCols, Element::f32}, {&job, 1});
  });
}

}  // namespace
}  // namespace loom
