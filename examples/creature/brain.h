#pragma once
// The net: kInputs -> 48 cells (tanh) -> one entry per behaviour and one for what is expected to follow. It learns by
// targets (tween, mode "layerwise": no derivative is taken), a few rows at a time, while it lives. Its bits depend on
// nothing but its seed and its lessons.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/error.h"
#include "learning/tween/tween.h"
#include "senses.h"

namespace creature {

inline constexpr std::size_t kHidden = 48, kOutputs = kBehaviours + 1, kRows = 16;

// A brain runs with these threads and kernels; no bit of it depends on them.
struct Machine {
  int threads = 1;
  std::optional<loom::Isa> isa{};
};

struct Guess {
  std::array<double, kBehaviours> sure{};  // sums to 1
  int expectation = 0;                     // -1000: a poke will follow, 1000: a treat
  std::array<float, kHidden> cells{};      // what the hidden layer did, -1 to 1

  Behaviour best() const;
  double of(Behaviour b) const { return sure[static_cast<std::size_t>(b)]; }
  int thousandths(Behaviour b) const { return static_cast<int>(of(b) * 1000); }
};

// One row of a step: what to aim at in a situation.
struct Row {
  enum class Aim : unsigned char { behaviour, anything_else, nothing_special, as_it_is };
  Situation situation{};
  Aim aim = Aim::as_it_is;
  Behaviour behaviour = Behaviour::sit;  // of the first two aims
  int expected = 0;                      // thousandths
};

struct TweenReport {
  double gap = 0;     // of the output: root of the mean square of what is missing to its target
  double budget = 0;  // how well outputs and targets agree, the mean over both layers
  double moved = 0;   // length of the weights' move
};

class Brain {
 public:
  // A new one.
  static loom::Result<Brain> create(std::uint32_t seed, const Machine& machine);
  // One that was kept. CorruptData when the network is not of this build, or a weight is not finite.
  static loom::Result<Brain> of(loom::Network network, const Machine& machine);

  loom::Result<Guess> guess(const Situation& situation);
  // One step by target propagation on kRows rows.
  loom::Result<TweenReport> step(std::span<const Row, kRows> rows, double rate);

  // SHA-256 of all weights, 64 digits.
  std::string hash() const;
  std::size_t num_weights() const;
  const loom::Network& network() const { return *network_; }

 private:
  class CellWatch;
  Brain();

 public:
  Brain(Brain&&) noexcept;
  Brain& operator=(Brain&&) noexcept;
  ~Brain();

 private:
  std::unique_ptr<loom::Network> network_;  // the sessions point at it
  std::unique_ptr<CellWatch> cells_;
  std::unique_ptr<loom::NetworkSession> thinking_;
  std::unique_ptr<loom::TweenSession> learning_;
};

}  // namespace creature
