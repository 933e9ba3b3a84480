#pragma once
// Normalisation. Sums along a row are lanes16; sums over a channel take the positions of each sample by lanes16 (a
// single position: as it is) and the samples by chain64.
//   rms_norm    each row: y = x / sqrt(mean(x^2) + eps) * gamma                                        Zhang & Sennrich
//     2019
//   layer_norm  each row: y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * gamma + beta, two passes   Ba et al. 2016
//   group_norm  the same over the channels of a group and their positions, gamma and beta by channel   Wu & He 2018
//   batch_norm  the same over all samples and positions of a channel                                   Ioffe & Szegedy
//     2015
// Quotients by sqrt(...) are products with its reciprocal, but for rms_norm. Snapped (NaN apart): x - mean, x
// normalised, means and variances of channels, and the result.
// Below xh is x normalised, before gamma and beta; sums over a row or channel of n values:
//   dx = (g - mean(g) - xh mean(g xh)) / deviation, g = dy gamma; without mean(g) for rms_norm. Snapped: g, both means,
//     the bracket and dx.

#include "backend/exec.h"

namespace loom {

// gamma, beta [cols], of the element type of x; beta may be null. x and y may be the same memory.
void rms_norm(const Exec& exec, ConstTensor x, const void* gamma, double eps, Tensor y);
void layer_norm(const Exec& exec, ConstTensor x, const void* gamma, const void* beta, double eps, Tensor y);
// xh is written too; dx may have no data. No two of the tensors share memory.
void rms_norm_backward(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor xh,
                       Tensor dx);
void layer_norm_backward(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor xh,
                         Tensor dx);
// Both gradients of an rms_norm inside a layer: dx may be dy's memory, dgamma may be null and is added to in blocks of
// `block` rows.
void rms_norm_gradient(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor dx,
                       void* dgamma, std::size_t block);
// y[n] = gamma[n] + offset.
void offset_gains(const Exec& exec, const void* gamma, double offset, std::size_t n, Element element, void* y);

// [samples, channels, positions], row-major; rows of features are channels with one position.
struct ChannelShape {
  std::size_t samples = 1, channels = 1, positions = 1;
};

void group_norm(const Exec& exec, ConstTensor x, const ChannelShape& shape, std::size_t groups, const void* gamma,
                const void* beta, double eps, Tensor y);
void group_norm_backward(const Exec& exec, ConstTensor x, const ChannelShape& shape, std::size_t groups,
                         const void* gamma, double eps, ConstTensor dy, Tensor xh, Tensor dx);

// c[channel] = snap(c + sum of a * b), for each block of samples (0: all), ascending; without b the sum of a.
void add_channel_sums(const Exec& exec, const ChannelShape& shape, ConstTensor a, const ConstTensor* b,
                      std::size_t block, void* c);
// Both of one reading: dots takes the sums of a * b, sums those of a.
void add_both_channel_sums(const Exec& exec, const ChannelShape& shape, ConstTensor a, ConstTensor b, std::size_t block,
                           void* dots, void* sums);

// Statistics of each channel; `variance` is the biased one, deviation = sqrt(variance + eps).
struct ChannelStatistics {
  void *mean, *variance, *deviation;
};
void channel_statistics(const Exec& exec, ConstTensor x, const ChannelShape& shape, double eps,
                        const ChannelStatistics& to);
void channel_deviations(const Exec& exec, const void* variance, double eps, std::size_t channels, Element element,
                        void* deviation);
// y = a * factor_a + b * factor_b, each product snapped: running statistics.
void blend(const Exec& exec, const void* a, double factor_a, const void* b, double factor_b, std::size_t n,
           Element element, void* y);

// y = (x - mean) / deviation * gamma + beta, all by channel; without gamma (and beta) y is xh.
void batch_norm(const Exec& exec, ConstTensor x, const ChannelShape& shape, const void* mean, const void* deviation,
                const void* gamma, const void* beta, Tensor y);
// dx = gamma / deviation * (dy - mean_dy - xh * mean_dot), mean_dot = mean(dy xh); both means null: dx = gamma /
// deviation * dy.
void batch_norm_backward(const Exec& exec, ConstTensor dy, ConstTensor xh, const ChannelShape& shape, const void* gamma,
                         const void* deviation, const void* mean_dy, const void* mean_dot, Tensor dx);

template <class T>
struct NormKernels {
  void (*rms_norm_row)(const T* x, const T* gamma, double eps, std::size_t cols, T* y);
  // Rows of cols / positions channels.
  void (*layer_norm_row)(const T* x, const T* gamma, const T* beta, double eps, std::size_t cols, std::size_t positions,
                         T* y);
  void (*rms_backward_row)(const T* x, const T* gamma, const T* dy, double eps, std::size_t cols, std::size_t positions,
                           T* xh, T* dx);
  void (*layer_backward_row)(const T* x, const T* gamma, const T* dy, double eps, std::size_t cols,
                             std::size_t positions, T* xh, T* dx);
  void (*offset)(const T* x, double offset, std::size_t n, T* y);
  // Channels [begin, end); dots or sums may be null.
  void (*channel_sums)(const ChannelShape& shape, const T* a, const T* b, std::size_t begin, std::size_t end,
                       std::size_t block, T* dots, T* sums);
  void (*channel_statistics)(const ChannelShape& shape, const T* x, std::size_t begin, std::size_t end, double eps,
                             T* mean, T* variance, T* deviation);
  void (*deviations)(const T* variance, double eps, std::size_t n, T* deviation);
  void (*blend)(const T* a, double factor_a, const T* b, double factor_b, std::size_t n, T* y);
  // One sample's channels, or one of them.
  void (*batch_norm)(const T* x, const T* mean, const T* deviation, const T* gamma, const T* beta, std::size_t channels,
                     std::size_t positions, T* y);
  void (*batch_backward)(const T* dy, const T* xh, const T* gamma, const T* deviation, const T* mean_dy,
                         const T* mean_dot, std::size_t channels, std::size_t positions, T* dx);
};

}  // namespace loom
