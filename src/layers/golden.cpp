#include "layers/golden.h"

#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "core/sha256.h"
#include "layers/conv/conv.h"
#include "layers/pool/pool.h"
#include "ops/all.h"

namespace loom {
namespace {

// Values in [-1, 1) that are a function of the name alone.
std::vector<float> seeded(const std::string& name, std::size_t n) {
  const RandomStream stream{20260101, RandomDomain::Init, 0, random_site(name)};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 2.0f * stream.uniform(i) - 1.0f;
  return v;
}

struct GoldenLayer {
  LayerPtr layer;
  Shape input;
};

// Every option at once: a batch, two groups, strides, padding, dilation on the last axis, a bias, an activation.
Result<GoldenLayer> conv_case(const std::string& name, DType dtype, std::size_t axes, bool transposed) {
  ConvConfig c;
  c.axes = axes, c.channels = 20, c.filters = 36, c.groups = 2, c.activation = Activation::Silu;
  c.geometry.transposed = transposed;
  std::vector<std::size_t> input{2, c.channels};
  for (std::size_t a = 3 - axes; a < 3; ++a) {
    c.geometry.kernel[a] = 2 + a % 2, c.geometry.stride[a] = 2, c.geometry.padding[a] = 1;
    input.push_back(4 + a);
  }
  c.geometry.dilation[2] = 2;
  const std::size_t rows = c.filters / c.groups, cols = c.channels / c.groups * c.geometry.taps();
  std::vector<MatrixPtr> weights;
  for (std::size_t group = 0; group < c.groups; ++group) {
    LOOM_TRY(Matrix w, Matrix::from_floats(dtype, seeded(fmt::format("{}/weight.{}", name, group), rows * cols), rows, cols));
    weights.push_back(std::make_shared<const Matrix>(std::move(w)));
  }
  LOOM_TRY(LayerPtr layer, Conv::create(c, std::move(weights), seeded(name + "/bias", c.filters)));
  LOOM_TRY(const Shape shape, Shape::create(input));
  return GoldenLayer{std::move(layer), shape};
}

Result<GoldenLayer> pool_case(bool average) {
  PoolConfig c{.axes = 2, .average = average};
  c.geometry.kernel = {1, 9, 9}, c.geometry.stride = {1, 3, 2}, c.geometry.padding = {0, 4, 3}, c.geometry.ceil_mode = true;
  LOOM_TRY(LayerPtr layer, Pool::create(c));
  return GoldenLayer{std::move(layer), Shape::of({2, 3, 17, 14})};
}

Result<std::string> forward_digest(const std::string& name, const GoldenLayer& c, ThreadPool& pool, const KernelTable& kernels) {
  const std::vector<float> x = seeded(name + "/x", c.input.elements());
  LOOM_TRY(const Shape out, c.layer->output_shape(c.input));
  LOOM_TRY(Arena arena, Arena::create(c.layer->scratch_bytes({1, pool.threads()}, c.input)));
  std::vector<float> y(out.elements());
  c.layer->forward(Exec{pool, kernels, arena}, {}, {x.data(), c.input}, {y.data(), out});
  Sha256 hash;
  hash.update_floats(y);
  return to_hex(hash.finish());
}

}  // namespace

Result<std::string> layer_golden_table(Isa isa, int threads) {
  const FpEnvironment environment;
  LOOM_TRY(const auto pool, ThreadPool::create(threads));
  LOOM_TRY(const KernelTable* kernels, kernels_for(isa));
  std::string table;
  for (const bool average : {false, true}) {
    const std::string name = average ? "avgpool forward" : "maxpool forward";
    LOOM_TRY(const GoldenLayer c, pool_case(average));
    LOOM_TRY(const std::string digest, forward_digest(name, c, *pool, *kernels));
    table += name + "\t" + digest + "\n";
  }
  for (const bool transposed : {false, true})
    for (std::size_t axes = 1; axes <= 3; ++axes)
      for (std::size_t t = 0; t < kNumTypes; ++t) {
        const auto dtype = static_cast<DType>(t);
        const std::string name = fmt::format("{}{} forward {}", transposed ? "convtransposed" : "cnn", axes, loom::name(dtype));
        LOOM_TRY(const GoldenLayer c, conv_case(name, dtype, axes, transposed));
        LOOM_TRY(const std::string digest, forward_digest(name, c, *pool, *kernels));
        table += name + "\t" + digest + "\n";
      }
  return table;
}

}  // namespace loom
