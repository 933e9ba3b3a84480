#pragma once
// Ops of target propagation (docs/tween.md, engine 7) beside those of backward passes. A gap is a target minus the value it is for: it has the shape
// of that value, and takes the place of a gradient. Sums along all elements of a tensor are lanes16 in f64, over rows of a matrix chain64; every
// stored value is snapped. Nothing here divides by 0: such entries become 0, "no signal".

#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"
#include "ops/softmax/softmax.h"

namespace loom {

// step * sqrt(mean(x^2)) in f64, at least 1e-3: half the width of a secant. 1 in a rehearsal.
double secant_width(const Exec& exec, ConstTensor x, double step);
// out = e * (f(x + h) - f(x - h)) / (2 h), snapped: both values, their difference, the quotient and the product. out may be e.
void secant_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, double h, ConstTensor e, Tensor out);
// The rule without slopes: the target f(x) + e is brought into the range of f (engine L-11), and the gap changes its sign where f falls.
void plain_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor e, Tensor out);
// y = sign(x) * e with sign(0) = 1; y may be e.
void signed_gap(const Exec& exec, ConstTensor x, ConstTensor e, Tensor y);

// sums[cols] = snap(sums + sum over rows of |w|).
void add_size_of_columns(const Exec& exec, ConstTensor w, void* sums);
// Row by row: d[i] = (divide ? d[i] / sums[i] : d[i]) - base[i]; 0 where sums[i] <= threshold. `base` has no data (none is subtracted), or the shape
// of d.
void close_gap(const Exec& exec, const void* sums, double threshold, bool divide, ConstTensor base, Tensor d);
// d = d brought into [-limit, limit].
void clamp(const Exec& exec, double limit, Tensor d);

// Distributions p with gaps e: out = projected(p + e) - p, where the target p + e is cut at 0 and scaled to the sum of p, run by run (an empty one
// stays p). out may be e. A gap of 0 stays 0.
void simplex_gap(const Exec& exec, ConstTensor p, ConstTensor e, std::span<const SoftmaxRun> runs, Tensor out);

// Through y = (x - mean) / s * gamma + beta the other way: out = e * s / gamma, 0 where |gamma| <= threshold. s is that of each sample's
// group of channels: sqrt(mean(x^2) + eps), or of x - mean when centred, in f64 lanes16. out may be e.
struct NormGap {
  ChannelShape shape;          // rows of features: as many channels, one position
  std::size_t groups = 1;
  bool centred = false;
  double eps = 0, threshold = 0.01;
  const void* deviation = nullptr;  // by channel, where it is known: batchnorm
};
void norm_gap(const Exec& exec, const NormGap& norm, ConstTensor x, const void* gamma, ConstTensor e, Tensor out);

// How a value a and its target t = (a + factor * e) brought into [-limit, limit] (0: no limit) agree, all in f64 lanes16.
struct Agreement {
  double dot = 0, size_a = 0, size_t_ = 0, gap = 0;  // sums of a t, a a, t t, (t - a)^2
  // (cosine + 1) / 2; 1 when both are 0, 1/2 when one is (engine W-40).
  double budget() const;
};
Agreement agreement(const Exec& exec, ConstTensor a, ConstTensor e, double factor, double limit);

// For a mixture y = sum_i p_i b_i with groups as rows of q: q[g, branch] = cosine of e and b - y over group g, 0 where one is 0; f64 lanes16.
void direction_gap(const Exec& exec, ConstTensor e, ConstTensor b, ConstTensor y, std::size_t branch, Tensor q);
// Mean over the rows of column i of p, summed in f64, rows ascending.
double mean_of_column(const Exec& exec, ConstTensor p, std::size_t i);

template <class T>
struct GapKernels {
  void (*ends)(const T* x, T h, std::size_t n, T* above, T* below);  // x + h, x - h
  void (*secant)(const T* above, const T* below, T h, const T* e, std::size_t n, T* out);  // e times the rise from f(x - h) to f(x + h)
  void (*plain)(T least, T most, const T* y, const T* slope, const T* e, std::size_t n, T* out);
  void (*with_sign)(const T* x, const T* e, std::size_t n, T* out);
  void (*sizes)(const T* w, std::size_t stride, std::size_t rows, std::size_t n, T* sums);  // n columns
  void (*close)(const T* sums, T threshold, bool divide, const T* base, std::size_t n, T* d);
  void (*clamp)(T limit, std::size_t n, T* d);
  double (*squares)(const T* x, std::size_t n, double mean);  // sum of (x - mean)^2
  double (*sum)(const T* x, std::size_t n);
  double (*cosine)(const T* e, const T* b, const T* y, std::size_t n);  // of e and b - y
  Agreement (*agreement)(const T* a, const T* e, std::size_t n, double factor, double limit);
};

}  // namespace loom
