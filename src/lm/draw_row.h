#pragma once
// How a session draws the next token of a sequence (ops/draw/draw.h) by the options of a Sampler, with its bits.

#include <cstdint>
#include <span>
#include <vector>

#include "lm/sampling.h"
#include "ops/draw/draw.h"

namespace loom {

class DrawRow {
 public:
  // Returns whether set() takes these options, for sequences of at most so many tokens: no typical_p; top_k up to
  // kMostDrawn, or temperature 0; at most kMostOfEach banned ids, biases, and tokens that penalties look back on.
  static bool takes(const SamplingOptions& options, std::size_t context_tokens);
  static constexpr std::size_t kMostOfEach = 1024;
  // Returns whether it takes more than the greatest logit of ids that are not banned, of which there are few.
  static bool draws(const SamplingOptions& options);

  // The tokens of the sequence are `tokens`, then `fed`, then those that the card has chosen and nobody has read: their
  // places in the memory of choices. The options outlive this call.
  void set(const SamplingOptions& options, std::uint32_t session, std::span<const std::int32_t> tokens,
           std::span<const std::int32_t> fed, std::span<const std::uint32_t> unread = {});
  // Valid until the next set().
  const Drawing& drawing() const { return drawing_; }

 private:
  void count_window(std::size_t window, std::span<const std::int32_t> tokens, std::span<const std::int32_t> fed);

  std::vector<std::int32_t> window_;
  std::vector<std::uint32_t> unread_;
  std::vector<std::pair<std::int32_t, float>> bias_;
  std::vector<float> biases_;
  std::vector<LogitChange> changes_;
  Drawing drawing_;
};

}  // namespace loom
