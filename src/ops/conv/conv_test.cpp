#include "ops/conv/conv.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "ops/conv/conv_shapes.h"
#include "ops/gemm/gemm.h"
#include "simd/simd64.h"
#include "support/divided.h"

namespace loom {
namespace {

using test::ConvShapes;

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<T>(random.uniform(i)) - T(0.5);
  return v;
}

// Adds terms as chain64 does.
template <class T>
struct Chain {
  T total = 0, block = 0;
  std::size_t n = 0;
  void add(T term) {
    block = block + term;
    if (++n % 64 == 0) total = total + block, block = 0;
  }
  T sum() const { return n % 64 == 0 ? total : total + block; }
};

// Element c of the patch at output position o and kernel position k, by the definition alone.
template <class T>
T patch(const ConvGeometry& g, const T* plane, const ConvGeometry::Axes& o, const ConvGeometry::Axes& k) {
  std::size_t at = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto reach = static_cast<std::ptrdiff_t>(k[a] * g.dilation[a]) - static_cast<std::ptrdiff_t>(g.padding[a]);
    const auto stride = static_cast<std::ptrdiff_t>(g.stride[a]);
    std::ptrdiff_t i =
        static_cast<std::ptrdiff_t>(o[a]) * (g.transposed ? 1 : stride) + (g.transposed ? -reach : reach);
    if (g.transposed) {
      if (i < 0 || i % stride != 0) return 0;
      i /= stride;
    }
    if (i < 0 || i >= static_cast<std::ptrdiff_t>(g.in[a])) return 0;
    at = at * g.in[a] + static_cast<std::size_t>(i);
  }
  return plane[at];
}

template <class F>
void each(const ConvGeometry::Axes& n, F&& f) {
  for (std::size_t z = 0; z < n[0]; ++z)
    for (std::size_t y = 0; y < n[1]; ++y)
      for (std::size_t x = 0; x < n[2]; ++x) f(ConvGeometry::Axes{z, y, x});
}

template <class T>
class Runner {
 public:
  Runner(const ConvShapes& s, Isa isa, int threads)
      : s_(s),
        n_(s.sizes),
        pool_(ThreadPool::create(threads).value()),
        arena_(Arena::create(std::size_t{64} << 20).value()),
        exec_{*pool_, *kernels_for(isa).value(), arena_} {
    out_ = s.geometry.out().value();
    for (std::size_t a = 0; a < 3; ++a) out_[a] -= s.crop[a];
    positions_ = ConvGeometry::product(out_);
    inputs_ = ConvGeometry::product(s.geometry.in);
    taps_ = s.geometry.taps();
    x_ = random_values<T>(n_.samples * n_.groups * n_.channels * inputs_, 1);
    w_ = random_values<T>(n_.groups * n_.filters * n_.channels * taps_, 2);
    g_ = random_values<T>(n_.samples * n_.groups * n_.filters * positions_, 3);
    bias_ = random_values<T>(n_.groups * n_.filters, 4);
  }

  void check() {
    forward();
    rows();
    input_gradient();
    weight_gradient();
  }

 private:
  const T* plane(std::size_t b, std::size_t group, std::size_t c) const {
    return x_.data() + ((b * n_.groups + group) * n_.channels + c) * inputs_;
  }

  void forward() {
    std::vector<T> y(g_.size()), expected;
    const PatchLayout layout = PatchLayout::create(s_.geometry, out_).value();
    convolve(exec_, layout, n_, x_.data(), w_.data(), bias_.data(), y.data(), element_of<T>);
    for (std::size_t b = 0; b < n_.samples; ++b)
      for (std::size_t f = 0; f < n_.groups * n_.filters; ++f)
        each(out_, [&](const auto& o) {
          Chain<T> chain;
          const T* w = w_.data() + f * n_.channels * taps_;
          for (std::size_t c = 0; c < n_.channels; ++c)
            each(s_.geometry.kernel,
                 [&](const auto& k) { chain.add(*w++ * patch(s_.geometry, plane(b, f / n_.filters, c), o, k)); });
          expected.push_back(snap(snap(chain.sum()) + bias_[f]));
        });
    EXPECT_EQ(y, expected) << "forward";
  }

  // The way of quantised types: patches as rows.
  void rows() {
    const PatchLayout layout = PatchLayout::create(s_.geometry, out_).value();
    std::vector<T> stored(n_.channels * layout.plane()), patches(positions_ * n_.channels * taps_), expected;
    if (layout.in_place())
      stored.assign(x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(stored.size()));
    else
      store_planes(exec_, layout, x_.data(), n_.channels, element_of<T>, stored.data());
    const std::size_t first = positions_ / 3;
    unfold(exec_, layout, stored.data(), n_.channels, first,
           {patches.data(), positions_ - first, n_.channels * taps_, element_of<T>});
    patches.resize((positions_ - first) * n_.channels * taps_);
    std::size_t at = 0;
    each(out_, [&](const auto& o) {
      if (at++ < first) return;
      for (std::size_t c = 0; c < n_.channels; ++c)
        each(s_.geometry.kernel, [&](const auto& k) { expected.push_back(patch(s_.geometry, plane(0, 0, c), o, k)); });
    });
    EXPECT_EQ(patches, expected) << "rows";
  }

  void input_gradient() {
    std::vector<T> dx(x_.size()), w(w_.size()), expected;
    const ConvGeometry reversed = s_.geometry.reversed(out_);
    const PatchLayout layout = PatchLayout::create(reversed, s_.geometry.in).value();
    reverse_weight(exec_, n_, taps_, w_.data(), w.data(), element_of<T>);
    convolve(exec_, layout, {n_.samples, n_.groups, n_.filters, n_.channels}, g_.data(), w.data(), nullptr, dx.data(),
             element_of<T>);
    for (std::size_t b = 0; b < n_.samples; ++b)
      for (std::size_t group = 0; group < n_.groups; ++group)
        for (std::size_t c = 0; c < n_.channels; ++c)
          each(s_.geometry.in, [&](const auto& i) {
            Chain<T> chain;
            for (std::size_t f = group * n_.filters; f < (group + 1) * n_.filters; ++f) {
              const T* weight = w_.data() + (f * n_.channels + c) * taps_;
              each(s_.geometry.kernel, [&](const auto& k) {
                chain.add(*weight++ * patch(reversed, g_.data() + (b * n_.groups * n_.filters + f) * positions_, i, k));
              });
            }
            expected.push_back(snap(chain.sum()));
          });
    EXPECT_EQ(dx, expected) << "gradient of the input";
  }

  void weight_gradient() {
    std::vector<T> dw(w_.size(), T(0.25)), db(bias_.size(), T(0.5)), expected_w = dw, expected_b = db, db_alone = db;
    const bool transposed = s_.geometry.transposed;
    const ConvGeometry reversed = s_.geometry.reversed(out_);
    if (transposed)
      convolve_weight_gradient(exec_, PatchLayout::create(reversed, s_.geometry.in).value(),
                               {n_.samples, n_.groups, n_.filters, n_.channels}, g_.data(), x_.data(), true, dw.data(),
                               nullptr, element_of<T>);
    else
      convolve_weight_gradient(exec_, PatchLayout::create(s_.geometry, out_).value(), n_, x_.data(), g_.data(), false,
                               dw.data(), db.data(), element_of<T>);
    convolve_bias_gradient(exec_, n_.samples, n_.groups * n_.filters, positions_, g_.data(), db_alone.data(),
                           element_of<T>);
    for (std::size_t first = 0; first < n_.samples; first += 16) {
      const std::size_t last = std::min(first + 16, n_.samples);
      for (std::size_t f = 0; f < n_.groups * n_.filters; ++f) {
        Chain<T> sum;
        for (std::size_t b = first; b < last; ++b)
          for (std::size_t o = 0; o < positions_; ++o) sum.add(g_[(b * n_.groups * n_.filters + f) * positions_ + o]);
        expected_b[f] = snap(expected_b[f] + sum.sum());
        T* to = expected_w.data() + f * n_.channels * taps_;
        for (std::size_t c = 0; c < n_.channels; ++c)
          each(s_.geometry.kernel, [&](const auto& k) {
            Chain<T> chain;
            for (std::size_t b = first; b < last; ++b) {
              const T *x = plane(b, f / n_.filters, c), *g = g_.data() + (b * n_.groups * n_.filters + f) * positions_;
              each(transposed ? s_.geometry.in : out_, [&](const auto& o) {
                chain.add(transposed ? *x++ * patch(reversed, g, o, k) : *g++ * patch(s_.geometry, x, o, k));
              });
            }
            *to = snap(*to + chain.sum());
            ++to;
          });
      }
    }
    EXPECT_EQ(dw, expected_w) << "gradient of the weight";
    EXPECT_EQ(db_alone, expected_b) << "gradient of the bias";
    if (!transposed) {
      EXPECT_EQ(db, expected_b) << "gradient of the bias beside the weight's";
    }
  }

  const ConvShapes& s_;
  const ConvSizes& n_;
  std::unique_ptr<ThreadPool> pool_;
  Arena arena_;
  Exec exec_;
  ConvGeometry::Axes out_;
  std::size_t positions_ = 0, inputs_ = 0, taps_ = 0;
  std::vector<T> x_, w_, g_, bias_;
};

TEST(Conv, every_path_has_the_bits_of_its_definition) {  // N-04, N-05
  const FpEnvironment environment;
  for (const ConvShapes& s : test::conv_shapes())
    for (const Isa isa : usable_isas())
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(fmt::format("{}, {}, {} threads", s.name, name(isa), threads));
        const test::ExpectDivided divided(s.divides ? threads : 1);
        Runner<float>(s, isa, threads).check();
        Runner<double>(s, isa, threads).check();
      }
}

TEST(Conv, geometry_that_fits_no_memory_is_an_error) {  // S-05
  ConvGeometry g;
  g.in = {1, 3, 3};
  g.kernel = {1, 2, 2};
  g.padding = g.stride = {1, std::size_t{1} << 30, std::size_t{1} << 30};
  const auto out = g.out();
  ASSERT_TRUE(out);
  const auto layout = PatchLayout::create(g, *out);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, Code::SizeOverflow);
  g.dilation = {1, ~std::size_t{0}, 2};
  g.kernel = {1, 3, 3};
  EXPECT_FALSE(g.out());
}

}  // namespace
}  // namespace loom
