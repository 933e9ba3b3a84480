#pragma once
// Forms of norm.h on graphics cards: each records the kernels of the function of its name.

#include "ops/norm/norm.h"

namespace loom::gpu {

void rms_norm(const Exec& exec, ConstTensor x, const void* gamma, double eps, Tensor y);
void group_norm(const Exec& exec, ConstTensor x, const ChannelShape& shape, std::size_t groups, const void* gamma,
                const void* beta, double eps, Tensor y);
// Rows of `cols` elements of layer_norm and group_norm (`centred`) or rms_norm; row r has gains of group r % groups.
struct NormRows {
  bool centred = false;
  std::size_t rows = 0, cols = 0, positions = 1, groups = 1;
};
void norm_backward(const Exec& exec, const NormRows& s, ConstTensor x, const void* gamma, double eps, ConstTensor dy,
                   Tensor xh, Tensor dx);
void offset_gains(const Exec& exec, const void* gamma, double offset, std::size_t n, void* y);
void add_channel_sums(const Exec& exec, const ChannelShape& shape, ConstTensor a, const ConstTensor* b,
                      std::size_t block, void* c);
void channel_statistics(const Exec& exec, ConstTensor x, const ChannelShape& shape, double eps,
                        const ChannelStatistics& to);
void channel_deviations(const Exec& exec, const void* variance, double eps, std::size_t channels, void* deviation);
void blend(const Exec& exec, const void* a, double factor_a, const void* b, double factor_b, std::size_t n, void* y);
void batch_norm(const Exec& exec, ConstTensor x, const ChannelShape& shape, const void* mean, const void* deviation,
                const void* gamma, const void* beta, Tensor y);
void batch_norm_backward(const Exec& exec, ConstTensor dy, ConstTensor xh, const ChannelShape& shape, const void* gamma,
                         const void* deviation, const void* mean_dy, const void* mean_dot, Tensor dx);

}  // namespace loom::gpu
