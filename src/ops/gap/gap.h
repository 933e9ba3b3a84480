#pragma once
// Ops of target propagation (docs/guide/tween.md, engine 7) beside those of backward passes. A gap is a target minus
// the value it is for: it has the shape of that value, and takes the place of a gradient. Sums along all elements of a
// tensor or a group are lanes16 in the element type, over rows of a matrix chain64; every stored value is snapped.
// No op divides by 0: such entries become 0, "no signal". A figure of a whole tensor is left in a tensor of a
// few elements, of the element type, which later ops read.

#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"
#include "ops/softmax/softmax.h"

namespace loom {

// width [1] = step * sqrt(mean(x^2)), at least 1e-3: half the width of a secant.
void secant_width(const Exec& exec, ConstTensor x, double step, Tensor width);
// out = e * (f(x + h) - f(x - h)) / (2 h), snapped: both values, their difference, the quotient and the product. h is
// the element of `width`; out may be e.
void secant_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor width, ConstTensor e, Tensor out);
// The rule without slopes: the target f(x) + e is brought into the range of f (engine L-11), and the gap changes its
// sign where f falls.
void plain_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor e, Tensor out);
// y = sign(x) * e with sign(0) = 1; y may be e.
void signed_gap(const Exec& exec, ConstTensor x, ConstTensor e, Tensor y);

// sums[cols] = snap(sums + sum over rows of |w|).
void add_size_of_columns(const Exec& exec, ConstTensor w, void* sums);
// Row by row: d[i] = (divide ? d[i] / sums[i] : d[i]) - base[i]; 0 where sums[i] <= threshold. `base` has no data (none
// is subtracted), or the shape of d.
void close_gap(const Exec& exec, const void* sums, double threshold, bool divide, ConstTensor base, Tensor d);
// d = d brought into [-limit, limit], but as it was where `failed` [1] of f32, if it has data, is not 0.
void clamp(const Exec& exec, double limit, Tensor d, ConstTensor failed = {});

// Distributions p with gaps e: out = projected(p + e) - p, where the target p + e is cut at 0 and scaled to the sum of
// p, run by run (an empty one stays p). out may be e. A gap of 0 stays 0.
void simplex_gap(const Exec& exec, ConstTensor p, ConstTensor e, std::span<const SoftmaxRun> runs, Tensor out);

// Through y = (x - mean) / s * gamma + beta the other way: out = e * s / gamma, 0 where |gamma| <= threshold. s is that
// of each sample's group of channels: sqrt(mean(x^2) + eps), or of x - mean when centred. out may be e.
struct NormGap {
  ChannelShape shape;  // rows of features: as many channels, one position
  std::size_t groups = 1;
  bool centred = false;
  double eps = 0, threshold = 0.01;
  const void* deviation = nullptr;  // by channel, where it is known: batchnorm
};
void norm_gap(const Exec& exec, const NormGap& norm, ConstTensor x, const void* gamma, ConstTensor e, Tensor out);

// Measures how well a value a agrees with its target t, which is a + factor * e brought into [-limit, limit] (limit 0:
// no limit). figures [kGapFigures] are: (cosine(a, t) + 1) / 2, which is 1 when both are 0 and 1/2 when one is (engine
// W-40); sqrt(mean((t - a)^2)) (W-41); 1 where the first is not below `threshold`, else 0. `failed` [1] of f32 is
// raised to 1 where the second is not finite.
enum GapFigure : std::uint8_t { kBudget, kGapSize, kMoves };
inline constexpr std::size_t kGapFigures = 3;
struct Aim {
  double factor = 1, limit = 0, threshold = 0;
};
void gap_figures(const Exec& exec, ConstTensor a, ConstTensor e, const Aim& aim, Tensor figures, Tensor failed);

// For a mixture y = sum_i p_i b_i with groups as rows of q: q[g, branch] = cosine of e and b - y over group g, 0 where
// one is 0.
void direction_gap(const Exec& exec, ConstTensor e, ConstTensor b, ConstTensor y, std::size_t branch, Tensor q);
// mean [1] = the mean over the rows of column i of p by chain64, times the element of `factor` where it has data.
void mean_of_column(const Exec& exec, ConstTensor p, std::size_t i, ConstTensor factor, Tensor mean);

// norm_gap() gives its kernel one such task for each group of `width` channels.
template <class T>
struct NormGapTask {
  const T *x, *gamma, *deviation, *e;  // deviation by channel, or null
  T* out;
  std::size_t width, positions;
  T eps, threshold;
  bool centred;
};

inline constexpr double kLeastSecantWidth = 1e-3;

template <class T>
struct GapKernels {
  void (*squares)(const T* x, std::size_t n, T* lanes);  // a block of sum_blocks()
  void (*width)(const T* squares, std::size_t n, T step, T* width);
  void (*ends)(const T* x, const T* h, std::size_t n, T* above, T* below);  // x + h, x - h
  // e times the rise from f(x - h) to f(x + h)
  void (*secant)(const T* above, const T* below, const T* h, const T* e, std::size_t n, T* out);
  void (*plain)(T least, T most, const T* y, const T* slope, const T* e, std::size_t n, T* out);
  void (*with_sign)(const T* x, const T* e, std::size_t n, T* out);
  void (*sizes)(const T* w, std::size_t stride, std::size_t rows, std::size_t n, T* sums);  // n columns
  void (*close)(const T* sums, T threshold, bool divide, const T* base, std::size_t n, T* d);
  void (*clamp)(T limit, const float* failed, std::size_t n, T* d);
  void (*simplex)(const T* p, const T* e, std::size_t n, T* out);
  void (*norm)(const NormGapTask<T>& task);
  void (*cosine)(const T* e, const T* b, const T* y, std::size_t n, T* to);  // of e and b - y
  // a block of four sums: a t, a a, t t, (t - a)^2
  void (*agreement)(const T* a, const T* e, std::size_t n, T factor, T limit, T* lanes);
  void (*figures)(const T* sums, std::size_t n, T threshold, T* figures, float* failed);
  void (*column_mean)(const T* p, std::size_t rows, std::size_t cols, const T* factor, T* mean);
};

}  // namespace loom
