// Ops on a graphics card give the bits of the CPU kernels.

#include <set>

#include "dtypes/matrix.h"
#include "ops/attention/attention.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gather/gather.h"
#include "ops/gpu_test.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/plain_units.wgsl.h"
#include "ops/matmul/units.wgsl.h"
#include "ops/norm/norm.h"
#include "ops/rope/rope.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, rms_norm_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::size_t cols : {1, 17, 576, 1003, 2100, 33000}) {
    SCOPED_TRACE(cols);
    const Values inputs[] = {{3, cols, values<float>(3 * cols, 1, 3)}, {1, cols, values<float>(cols, 2)}};
    expect_equal(*device, inputs, 3, cols,
                 [](const Exec& exec, Inputs in, Tensor y) { rms_norm(exec, in[0], in[1].data, 1e-5, y); });
  }
}

TEST(Gpu, rope_turns_as_the_cpu_does) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const bool interleaved : {false, true}) {
    RopeConfig config;
    config.dim = 48, config.interleaved = interleaved;
    const Values x[] = {{5, 192, values<float>(5 * 192, 3)}};
    const std::uint32_t positions[] = {7, 0, 99, 3, 12};
    RopeTable tables[2] = {RopeTable::create(config, 128).value(), RopeTable::create(config, 128, device).value()};
    for (RopeTable& table : tables) table.fill(100);
    expect_equal(*device, x, 5, 192, [&](const Exec& exec, Inputs in, Tensor y) {
      const RopeTable& table = tables[exec.gpu() != nullptr];
      rope(exec, table, positions, 64, in[0], y);
      rope(exec, table, positions, 64, y, in[0]);
      rope(exec, table, positions, 64, in[0], in[0]);
      rope_sequences(exec, table, 2, 64, in[0], true);
      const std::int32_t rows[] = {0, 1, 2, 3, 4};
      take_rows(exec, in[0], rows, y);
    });
  }
}

// Ids that were uploaded before a batch was full are still valid for a kernel of the next one.
TEST(Gpu, uploads_last_until_their_kernels_have_run) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 64, cols = 48, turns = 100;
  const Values table[] = {{rows, cols, values<float>(rows * cols, 14)}};
  for (const std::size_t lone : {0, 1})  // dispatches in front, so that either kind of kernel ends a batch
    expect_equal(*device, table, turns + 2, cols, [&](const Exec& exec, Inputs in, Tensor y) {
      for (std::size_t i = 0; i < lone; ++i) fill(exec, {y.row(turns), 1, cols, Element::f32}, 1);
      for (std::size_t t = 0; t < turns; ++t) {
        scale(exec, {in[0].row(t % rows), 1, cols, Element::f32}, 0.5, {y.row(turns + 1), 1, cols, Element::f32});
        const std::int32_t id[] = {static_cast<std::int32_t>((7 * t + 3) % rows)};
        take_rows(exec, in[0], id, {y.row(t), 1, cols, Element::f32});
      }
    });
}

// Weights that are gone make room for others while ids wait for their kernel.
TEST(Gpu, uploads_outlast_weights_that_go) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 40, cols = 64;
  const Values tables[] = {{rows, cols, values<float>(rows * cols, 17)}};
  for (std::uint32_t turn = 0; turn < 3; ++turn) {
    const auto matrix = Matrix::from_floats(DType::float32, values<float>(rows * cols, 18 + turn), rows, cols).value();
    const std::int32_t first[] = {3, 1, 4}, second[] = {15, 9, 26};
    expect_equal(*device, tables, 6, cols, [&](const Exec& exec, Inputs in, Tensor y) {
      gather_rows(exec, matrix, first, 1, {y.data, 3, cols, Element::f32});
      take_rows(exec, in[0], second, {y.row(3), 3, cols, Element::f32});
    });
  }
}

// Scratch of one op is given to the next: rows of the two share memory, and not row by row.
TEST(Gpu, rows_of_tensors_that_take_turns_in_memory_are_not_mixed) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 37, narrow = 40, wide = 64;
  const Values inputs[] = {{rows, wide, values<float>(rows * wide, 15)}, {rows, wide, values<float>(rows * wide, 16)}};
  expect_equal(*device, inputs, 2 * rows, narrow, [&](const Exec& exec, Inputs in, Tensor y) {
    const Tensor first{in[0].data, rows, narrow, Element::f32}, second{in[0].data, rows, wide, Element::f32};
    scale(exec, first, 0.5, {y.data, rows, narrow, Element::f32});
    scale(exec, in[1], 0.25, second);
    scale(exec, {in[0].row(1), rows, narrow, Element::f32}, 3, {y.row(rows), rows, narrow, Element::f32});
  });
}

// Every type whose panels a graphics card reads.
std::vector<DType> device_types() {
  std::vector<DType> types;
  for (const DTypeInfo& type : kDTypes)
    if (traits(panel_layout(type.dtype).kind).inputs != PanelInputs::F64) types.push_back(type.dtype);
  return types;
}

TEST(Gpu, products_and_rows_of_every_type_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const DType dtype : device_types())
    for (const std::size_t cols : {512, 576 + 7}) {
      const std::size_t outputs = 41;
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), cols));
      auto matrix = Matrix::from_floats(dtype, values<float>(outputs * cols, 5), outputs, cols);
      if (!matrix) continue;  // blocks that do not divide the columns, types without an encoder
      for (const std::size_t rows : {1, 3, 37}) {
        const Values inputs[] = {{rows, cols, values<float>(rows * cols, 6, 2)},
                                 {1, outputs, values<float>(outputs, 7)}};
        expect_equal(*device, inputs, rows, outputs, [&](const Exec& exec, Inputs in, Tensor y) {
          const MatmulJob job{&*matrix, y, in[1].as(), 0};
          matmul(exec, in[0], {&job, 1});
        });
      }
      const std::int32_t ids[] = {40, -1, 0, 17};
      expect_equal(*device, {}, 4, cols, [&](const Exec& exec, Inputs, Tensor y) {
        gather_rows(exec, *matrix, ids, 1, y, OutOfTable::Zero);
      });
    }
}

// A block of 256 weights, and where in it its factors in f16 stand.
struct KFormat {
  DType dtype;
  std::size_t block_bytes;
  std::array<std::size_t, 2> halves;
};

std::vector<std::byte> random_blocks(std::size_t count, std::size_t block_bytes, std::span<const std::size_t> halves) {
  std::vector<std::byte> blocks(count * block_bytes);
  const RandomStream random{.seed = 8};
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(random.below(i, 256));
  for (std::size_t i = 0; i < blocks.size(); i += block_bytes)
    for (const std::size_t half : halves) blocks[i + half] = std::byte{7}, blocks[i + half + 1] = std::byte{0x1c};
  return blocks;
}

// Enough rows and outputs for tiles of each height, and neither a multiple of any.
TEST(Gpu, products_in_tiles_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t outputs = 4106;
  const auto expect_product = [&](const Matrix& matrix, std::size_t rows) {
    const Values inputs[] = {{rows, matrix.cols(), values<float>(rows * matrix.cols(), 6, 2)},
                             {1, outputs, values<float>(outputs, 7)}};
    expect_equal(*device, inputs, rows, outputs, [&](const Exec& exec, Inputs in, Tensor y) {
      const MatmulJob job{&matrix, y, in[1].as(), 0};
      matmul(exec, in[0], {&job, 1});
    });
  };
  for (const DType dtype : device_types()) {
    SCOPED_TRACE(name(dtype));
    const std::size_t cols = 256;
    const auto matrix = Matrix::from_floats(dtype, values<float>(outputs * cols, 5), outputs, cols);
    if (!matrix || !traits(matrix->layout().kind).holds_codes()) continue;
    for (const std::size_t rows : {19, 40}) expect_product(*matrix, rows);
  }
  for (const DType dtype : {DType::q4_0, DType::int8, DType::q4_1})
    for (const std::size_t rows : {40, 70, 500}) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), rows));
      const std::size_t cols = dtype == DType::int8 ? 83 : 256;
      expect_product(Matrix::from_floats(dtype, values<float>(outputs * cols, 5), outputs, cols).value(), rows);
    }
  for (const auto& [dtype, block_bytes, halves] :
       {KFormat{DType::q4_k, 144, {0, 2}}, {DType::q6_k, 210, {208, 208}}, {DType::q2_k, 84, {80, 82}}}) {
    SCOPED_TRACE(name(dtype));
    const std::vector<std::byte> blocks = random_blocks(outputs, block_bytes, halves);
    expect_product(Matrix::from_source(dtype, blocks, outputs, 256).value(), 40);
  }
  if (!test::compiler_errs()) {  // the host computes the kernels that it spoils
    EXPECT_EQ(test::refused_kernels(*device), "");
  }
}

// The kernel around the units that multiply matrices, on cards that have none: all types that it takes, one block and
// several, one matrix and two, rows and outputs that fill no tile.
TEST(Gpu, products_on_matrix_units_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  static std::set<std::string, std::less<>> texts;
  texts.clear();
  // Dawn compiles the texts with units in place of plain arithmetic (tools/compile_wgsl.mjs).
  const auto keep_text_with_units = [](std::string_view text) {
    std::string whole(text);
    const std::size_t at = whole.find(wgsl::plain_units);
    if (at == whole.npos || !texts.insert(whole).second || std::getenv("LOOM_GPU_TEXTS") == nullptr) return whole;
    std::string with_units = std::string(gpu::kMatrixUnitsHead) + whole;
    with_units.replace(with_units.find(wgsl::plain_units), std::string_view(wgsl::plain_units).size(), wgsl::units);
    (void)test::keep_text(with_units);
    return whole;
  };
  gpu::GpuOptions options;
  options.has_plain_units = true, options.alter = keep_text_with_units;
  const auto plain = test::make_gpu_device(options);
  ASSERT_NE(plain, nullptr);
  constexpr std::size_t kRows = 250, kOutputs[] = {2058, 1030};
  // Returns whether a kernel of its own was made for units.
  const auto expect_products = [&](std::span<const Matrix> matrices, Activations activations) {
    const std::size_t cols = matrices[0].cols(), known = texts.size();
    std::size_t outputs = 0;
    for (const Matrix& m : matrices) outputs += m.rows();
    const Values inputs[] = {{kRows, cols, values<float>(kRows * cols, 6, 2)},
                             {1, kOutputs[0], values<float>(kOutputs[0], 7)}};
    expect_equal(*plain, inputs, kRows, outputs, [&](const Exec& exec, Inputs in, Tensor y) {
      const Exec with{exec.pool, exec.kernels, exec.arena, exec.cancel, activations, exec.status};
      op_test::Parts parts(y);
      std::vector<MatmulJob> jobs;
      for (const Matrix& m : matrices) jobs.push_back(MatmulJob{&m, parts.take(kRows, m.rows()), in[1].as(), 0});
      matmul(with, in[0], jobs);
      ASSERT_FALSE(with.status);
    });
    return texts.size() > known;
  };
  std::set<DType> on_units;
  for (const DType dtype : device_types()) {
    SCOPED_TRACE(name(dtype));
    const auto matrix = Matrix::from_floats(dtype, values<float>(kOutputs[0] * 96, 5), kOutputs[0], 96);
    if (!matrix || !traits(matrix->layout().kind).holds_codes()) continue;
    if (expect_products(std::span(&*matrix, 1), Activations::int16)) on_units.insert(dtype);
    if (dtype == DType::q4_0 || dtype == DType::q4_1 || dtype == DType::q8_0) {
      EXPECT_TRUE(expect_products(std::span(&*matrix, 1), Activations::int8));
    }
  }
  for (const DType dtype : {DType::q4_0, DType::q4_1, DType::q8_0})
    EXPECT_TRUE(on_units.contains(dtype)) << name(dtype);
  for (const auto& [dtype, block_bytes, halves] : {KFormat{DType::q5_0, 22, {0, 0}},
                                                   {DType::q5_1, 24, {0, 2}},
                                                   {DType::q4_k, 144, {0, 2}},
                                                   {DType::q5_k, 176, {0, 2}},
                                                   {DType::q6_k, 210, {208, 208}}}) {
    SCOPED_TRACE(name(dtype));
    const std::vector<std::byte> blocks = random_blocks(kOutputs[0], block_bytes, halves);
    const std::size_t cols = block_bytes < 100 ? 32 : 256;
    const Matrix matrix = Matrix::from_source(dtype, blocks, kOutputs[0], cols).value();
    EXPECT_EQ(expect_products(std::span(&matrix, 1), Activations::int16), dtype != DType::q6_k);
  }
  for (const std::size_t cols : {32, 160}) {
    std::vector<Matrix> matrices;
    for (const std::size_t n : kOutputs)
      matrices.push_back(Matrix::from_floats(DType::q4_0, values<float>(n * cols, 5), n, cols).value());
    EXPECT_TRUE(expect_products(matrices, Activations::int16)) << cols;
  }
  if (!test::compiler_errs()) {
    EXPECT_EQ(test::refused_kernels(*plain), "");
  }
}

// Rows whose products take the codes of a block once for four: up to 32, and one more; blocks for one round of a
// workgroup and for several, the last of which is not full; one matrix, and two in one kernel.
TEST(Gpu, products_of_rows_that_share_codes_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t outputs[] = {41, 16};
  const auto expect_product = [&](std::span<const Matrix> matrices, std::size_t rows, Activations activations) {
    SCOPED_TRACE(
        fmt::format("{} rows by {} columns, activations {}", rows, matrices[0].cols(), static_cast<int>(activations)));
    const Values inputs[] = {{rows, matrices[0].cols(), values<float>(rows * matrices[0].cols(), 6, 2)},
                             {1, outputs[0], values<float>(outputs[0], 7)}};
    expect_equal(*device, inputs, rows, 57, [&](const Exec& exec, Inputs in, Tensor y) {
      const Exec with{exec.pool, exec.kernels, exec.arena, exec.cancel, activations, exec.status};
      op_test::Parts parts(y);
      std::vector<MatmulJob> jobs;
      for (std::size_t j = 0; j < 2; ++j)
        jobs.push_back(MatmulJob{&matrices[j], parts.take(rows, outputs[j]), in[1].as(), 0});
      matmul(with, in[0], jobs);
      ASSERT_FALSE(with.status);
    });
  };
  for (const DType dtype : device_types())
    for (const std::size_t cols : {512, 1056, 2176}) {
      SCOPED_TRACE(name(dtype));
      std::vector<Matrix> matrices;
      for (const std::size_t n : outputs) {
        auto made = Matrix::from_floats(dtype, values<float>(n * cols, 5), n, cols);
        if (made && traits(made->layout().kind).holds_codes()) matrices.push_back(*std::move(made));
      }
      const bool is_plain = dtype == DType::q4_0 || dtype == DType::q4_1;
      if (matrices.size() != 2 || (!is_plain && cols > 2000)) continue;
      for (const std::size_t rows : {2, 9}) expect_product(matrices, rows, Activations::int16);
      if (!is_plain) continue;
      for (const std::size_t rows : {3, 4, 8, 32, 33}) expect_product(matrices, rows, Activations::int16);
      for (const std::size_t rows : {2, 7}) expect_product(matrices, rows, Activations::int8);
    }
  for (const auto& [dtype, block_bytes, halves] :
       {KFormat{DType::q4_k, 144, {0, 2}}, {DType::q6_k, 210, {208, 208}}, {DType::q2_k, 84, {80, 82}}}) {
    SCOPED_TRACE(name(dtype));
    std::vector<Matrix> matrices;
    for (const std::size_t n : outputs) {
      const std::vector<std::byte> blocks = random_blocks(n * 5, block_bytes, halves);
      matrices.push_back(Matrix::from_source(dtype, blocks, n, 5 * 256).value());
    }
    for (const std::size_t rows : {2, 8, 31}) expect_product(matrices, rows, Activations::int16);
  }
  if (!test::compiler_errs()) {  // the host computes the kernels that it spoils
    EXPECT_EQ(test::refused_kernels(*device), "");
  }
}

// Scales of 32, 64 and 128 columns; the last one has fewer. An infinity beside columns that are none meets no sum.
TEST(Gpu, products_and_rows_of_fp4_in_groups_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t outputs = 39, cols = 1219;
  for (const std::size_t group : {32, 64, 128})
    for (const std::size_t rows : {1, 3, 37}) {
      SCOPED_TRACE(fmt::format("groups of {}, {} rows", group, rows));
      const ScaleSpan span{Granularity::Group, group};
      const auto weights = values<float>(outputs * cols, 5);
      const auto matrix = Matrix::from_quantized(quantize(DType::fp4, weights, outputs, cols, span).value()).value();
      Values inputs[] = {{rows, cols, values<float>(rows * cols, 6, 2)}, {1, outputs, values<float>(outputs, 7)}};
      if (rows > 1) inputs[0].numbers[2 * cols - 1] = __builtin_inff();  // read for columns after the last one too
      expect_equal(*device, inputs, rows, outputs, [&](const Exec& exec, Inputs in, Tensor y) {
        const MatmulJob job{&matrix, y, in[1].as(), 0};
        matmul(exec, in[0], {&job, 1});
      });
      const std::int32_t ids[] = {38, -1, 0, 17};
      expect_equal(*device, {}, 4, cols, [&](const Exec& exec, Inputs, Tensor y) {
        gather_rows(exec, matrix, ids, 0.5, y, OutOfTable::Zero);
      });
    }
}

// A workgroup for each part, where the row divides so; the last row has a prime number of blocks.
TEST(Gpu, long_rows_are_rounded_in_parts) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t outputs = 20;
  for (const std::size_t cols : {4096, 4128, 14336, 4064})
    for (const DType dtype : {DType::int4, DType::q4_0, DType::q8_0})
      for (const std::size_t rows : {1, 2, 9}) {
        SCOPED_TRACE(fmt::format("{} {} x {}", name(dtype), rows, cols));
        const auto matrix = Matrix::from_floats(dtype, values<float>(outputs * cols, 8), outputs, cols).value();
        const Values inputs[] = {{rows, cols, values<float>(rows * cols, 9, 2)}};
        expect_equal(*device, inputs, rows, outputs, [&](const Exec& exec, Inputs in, Tensor y) {
          const MatmulJob job{&matrix, y, nullptr, 0};
          matmul(exec, in[0], {&job, 1});
        });
      }
}

// The parts of an elementwise operation and of the rounding after it run in one kernel. That kernel is proved with the
// memory of all of its rows, which must not go on beyond the end of a buffer.
TEST(Gpu, parts_of_long_rows_stay_in_their_memory) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 64, cols = 14336, outputs = 20;
  const Matrix matrix = Matrix::from_floats(DType::q4_0, values<float>(outputs * cols, 8), outputs, cols).value();
  const Values inputs[] = {{rows, cols, values<float>(rows * cols, 9, 2)},
                           {rows, cols, values<float>(rows * cols, 10, 2)}};
  const auto op = [&](const Exec& exec, Inputs in, Tensor y) {
    const Tensor inner{in[0].data, rows, cols, Element::f32};
    ActivationFn silu;
    silu.kind = Activation::Silu;
    gated(exec, silu, in[0], in[1], inner);
    const MatmulJob job{&matrix, y, nullptr, 0};
    matmul(exec, inner, {&job, 1});
  };
  for (int i = 0; i < 2; ++i) expect_equal(*device, inputs, rows, outputs, op);  // each alone first, then joined
}

// Each workgroup of a product makes the rows that it needs for itself, unless they are made in the place of others or
// the workgroup has several rows.
TEST(Gpu, products_of_few_rows_begin_with_the_kernels_before_them) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t cols = 576, outputs = 80;
  for (const DType dtype : {DType::int4, DType::ternary, DType::float32, DType::fp4})
    for (const std::size_t rows : {1, 3})
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} rows {}", name(dtype), rows, in_place));
        const auto matrix = Matrix::from_floats(dtype, values<float>(outputs * cols, 31), outputs, cols).value();
        const Values inputs[] = {{rows, cols, values<float>(rows * cols, 32, 2)},
                                 {rows, cols, values<float>(rows * cols, 33, 3)},
                                 {1, cols, values<float>(cols, 34)}};
        std::uint64_t dispatches = 0;
        for (int i = 0; i < 10; ++i)  // trials come first, eight at most
          expect_equal(*device, inputs, 1, rows * (2 * cols + outputs), [&](const Exec& exec, Inputs in, Tensor y) {
            op_test::Parts parts(y);
            const Tensor kept = parts.take(rows, cols), normed = parts.take(rows, cols),
                         out = parts.take(rows, outputs), sum = in_place ? in[1] : kept;
            const std::uint64_t before = exec.gpu() == nullptr ? 0 : exec.gpu()->counters().dispatches;
            add(exec, in[0], in[1], sum);
            rms_norm(exec, sum, in[2].data, 1e-5, normed);
            const MatmulJob job{&matrix, out, nullptr, 0};
            matmul(exec, normed, {&job, 1});
            if (exec.gpu() != nullptr && !exec.rehearsal()) dispatches = exec.gpu()->counters().dispatches - before;
            if (in_place) copy(exec, sum, kept);
          });
        if (!test::compiler_errs()) {  // the host computes the kernels that it spoils
          EXPECT_EQ(dispatches, in_place || (dtype == DType::int4 && rows > 1) ? 2u : 1u);
        }
      }
}

TEST(Gpu, heads_of_attention_are_rounded_for_the_product_behind) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t heads = 6, dim = 64, outputs = 40, width = heads * dim;
  const AttentionConfig config{.heads = heads, .kv_heads = heads, .head_dim = dim};
  const auto matrix = Matrix::from_floats(DType::int4, values<float>(outputs * width, 35), outputs, width).value();
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
    SCOPED_TRACE(name(dtype));
    std::vector<KvCache> caches[2];
    for (const int on : {0, 1}) {
      KvCache::Config c{heads, dim, 256, 0, 130, dtype};
      c.device = on != 0 ? device : nullptr;
      for (int sequence = 0; sequence < 2; ++sequence) caches[on].push_back(KvCache::create(c).value());
    }
    std::size_t position = 0;
    for (const std::size_t count : {1, 70, 1, 1, 5}) {
      const std::size_t rows = 2 * count;  // of two sequences
      const Values inputs[] = {{rows, width, values<float>(rows * width, 36, 3)},
                               {rows, width, values<float>(rows * width, 37, 3)},
                               {rows, width, values<float>(rows * width, 38)}};
      expect_equal(*device, inputs, rows, width + outputs, [&](const Exec& exec, Inputs in, Tensor y) {
        op_test::Parts parts(y);
        const Tensor o = parts.take(rows, width);
        const SequenceRows runs[] = {{0, count, position, 0}, {count, count, position, 1}};
        attention(exec, config, in[0], in[1], in[2], runs, caches[exec.gpu() != nullptr], o);
        const MatmulJob job{&matrix, parts.take(rows, outputs), nullptr, 0};
        matmul(exec, o, {&job, 1});
      });
      position += count;
    }
    for (const std::size_t count : {1, 3}) {  // one sequence: all of its heads stand in a row
      const Values inputs[] = {{count, width, values<float>(count * width, 39, 3)},
                               {count, width, values<float>(count * width, 40, 3)},
                               {count, width, values<float>(count * width, 41)}};
      expect_equal(*device, inputs, count, width + outputs, [&](const Exec& exec, Inputs in, Tensor y) {
        op_test::Parts parts(y);
        const Tensor o = parts.take(count, width);
        const SequenceRows run{0, count, position, 0};
        attention(exec, config, in[0], in[1], in[2], {&run, 1}, caches[exec.gpu() != nullptr], o);
        const MatmulJob job{&matrix, parts.take(count, outputs), nullptr, 0};
        matmul(exec, o, {&job, 1});
      });
      position += count;
    }
  }
}

TEST(Gpu, elementwise_ops_and_every_activation_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t rows = 3, cols = 7001;
  const auto numbers = [&](std::uint32_t site, double size) {
    return Values{rows, cols, values<float>(rows * cols, site, size)};
  };
  const Values inputs[] = {numbers(11, 12), numbers(12, 2), numbers(13, 1)};
  expect_equal(*device, inputs, 3 * rows, cols, [&](const Exec& exec, Inputs in, Tensor y) {
    const auto part = [&](std::size_t i) { return Tensor{y.row(i * rows), rows, cols, Element::f32}; };
    add(exec, in[0], in[1], part(0));
    multiply(exec, part(0), in[2], part(0));  // in place
    scale(exec, in[0], 0.3, part(1));
    divide(exec, part(1), 7, part(1));
    add_to_rows(exec, part(1), in[2].data, part(1));
    fill(exec, part(2), 0.7);
    copy(exec, in[1], {part(2).data, 1, cols, Element::f32});
  });
  for (std::size_t kind = 0; kind < kNumActivations; ++kind) {
    const ActivationFn fn = static_cast<Activation>(kind);
    SCOPED_TRACE(name(fn.kind));
    expect_equal(*device, inputs, 5 * rows, cols, [&](const Exec& exec, Inputs in, Tensor y) {
      const auto part = [&](std::size_t i) { return Tensor{y.row(i * rows), rows, cols, Element::f32}; };
      activate(exec, fn, in[0], part(0));
      activate_backward(exec, fn, in[0], in[1], part(1));
      gated(exec, fn, in[0], in[1], part(2));
      gated_backward(exec, fn, in[0], in[1], in[2], part(3), part(4));
    });
  }
}

TEST(Gpu, attention_over_a_cache_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t heads = 6, kv_heads = 2;
  struct Case {
    std::size_t dim, window;
    double softcap;
  };
  // Threads share elements of a value in other ways beyond 64, 128 and 256 of them.
  for (const auto& [dim, window, softcap] : {Case{48, 0, 0}, Case{48, 100, 0}, Case{48, 0, 30}, Case{48, 100, 30},
                                             Case{128, 100, 0}, Case{200, 0, 0}, Case{300, 100, 0}}) {
    SCOPED_TRACE(fmt::format("dim {} window {} softcap {}", dim, window, softcap));
    const AttentionConfig config{
        .heads = heads, .kv_heads = kv_heads, .head_dim = dim, .window = window, .softcap = softcap};
    const std::size_t steps[] = {1, 130, 1, 1, 17};
    const std::size_t all = 150;
    Values inputs[] = {{all, heads * dim, values<float>(all * heads * dim, 8, 3)},
                       {all, kv_heads * dim, values<float>(all * kv_heads * dim, 9, 3)},
                       {all, kv_heads * dim, values<float>(all * kv_heads * dim, 10)}};
    // Rows before it do not see it, whatever it is.
    inputs[2].numbers[60 * kv_heads * dim + 3] = __builtin_inff();
    std::vector<KvCache> caches[2];
    for (const int on : {0, 1}) {
      KvCache::Config c{kv_heads, dim, 512, window, 130};
      c.device = on != 0 ? device : nullptr;
      caches[on].push_back(KvCache::create(c).value());
    }
    std::size_t position = 0;
    for (const std::size_t count : steps) {
      expect_equal(*device, inputs, all, heads * dim, [&](const Exec& exec, Inputs in, Tensor y) {
        // A session plans for the end of its context, where a window may begin at a better place.
        const SequenceRows run{position, count, exec.rehearsal() ? 512 - count : position, 0};
        attention(exec, config, in[0], in[1], in[2], {&run, 1}, caches[exec.gpu() != nullptr], y);
      });
      position += count;
    }
  }
}

}  // namespace
}  // namespace loom
