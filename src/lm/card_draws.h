#pragma once
// Whether a graphics card draws the next token of a sequence.

#include <algorithm>
#include <cstddef>

#include "lm/session_ahead.h"

namespace loom {

// A card that draws from all ids may leave a draw undecided (ops/draw/draw.h). The host then reads the logits and
// draws, and the tokens that the card has computed ahead are lost. So the card computes fewer tokens ahead after such a
// draw, and after several of them the host draws for a while.
class CardDraws {
 public:
  bool tries() const { return pause_ == 0; }
  // The most tokens that the card computes ahead.
  std::size_t ahead() const { return std::min(ahead_ / kDrawsOfOneAhead, ChoiceRun::kMostAhead); }

  // For each token: the card has drawn it, has left it undecided, or was not asked.
  void on_drawn() {
    ahead_ = std::min(ahead_ + 1, kMost);
    losses_ -= std::min<std::size_t>(losses_, 1);
    if (losses_ == 0) next_pause_ = kFirstPause;
  }
  void on_undecided() {
    ahead_ = kDrawsOfOneAhead;
    losses_ += kLoss;
    if (losses_ < kMostLosses) return;
    losses_ = kMostLosses - kLoss;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, kLastPause);
  }
  void on_host() { pause_ -= std::min<std::size_t>(pause_, 1); }

 private:
  static constexpr std::size_t kDrawsOfOneAhead = 8, kMost = ChoiceRun::kMostAhead * kDrawsOfOneAhead;
  // In draws that the card has to its credit.
  static constexpr std::size_t kLoss = 4, kMostLosses = 3 * kLoss;
  static constexpr std::size_t kFirstPause = 16, kLastPause = 256;

  std::size_t ahead_ = kMost, losses_ = 0, pause_ = 0, next_pause_ = kFirstPause;
};

}  // namespace loom
