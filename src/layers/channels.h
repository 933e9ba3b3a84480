#pragma once
// Inputs with channels: axis 1 of [B, C, ...], or the last of [B, C] and [C].

#include "layers/layer.h"
#include "ops/norm/norm.h"

namespace loom {

inline ChannelShape channels_of(const Shape& x) {
  if (x.rank() == 1) return {1, x[0], 1};
  return {x[0], x[1], x.elements() / (x[0] * x[1])};
}

inline Result<Shape> check_channels(std::string_view kind, const Shape& input, std::size_t channels) {
  if (channels_of(input).channels != channels)
    return fail(Code::ShapeMismatch, "{}: an input of shape {}, expected [B, {}, ...]", kind, input.text(), channels);
  return input;
}

// Adds to the gradients of gamma and beta of a norm by channel, in blocks of 16 samples (numerics N-05).
inline void add_gain_gradients(const Run& run, const ChannelShape& s, ConstTensor dy, ConstTensor xh,
                               const Weight& gamma, const Weight& beta, std::size_t block) {
  if (run.gradients == nullptr) return;
  void* const dgamma = run.gradients->of(run, gamma);
  void* const dbeta = beta.declared() ? run.gradients->of(run, beta) : nullptr;
  if (dgamma != nullptr && dbeta != nullptr)
    add_both_channel_sums(run, s, dy, xh, block, dgamma, dbeta);
  else if (dgamma != nullptr)
    add_channel_sums(run, s, dy, &xh, block, dgamma);
  else if (dbeta != nullptr)
    add_channel_sums(run, s, dy, nullptr, block, dbeta);
}

}  // namespace loom
