#pragma once
// Draws the next token of a language model from its logits, with the bits of Sampler (lm/sampling.h): a graphics card
// draws by itself, so that the host reads one id and no row of logits.

#include <span>

#include "backend/exec.h"

namespace loom {

// The logit of an id that biases, penalties or a ban change.
struct LogitChange {
  std::int32_t id = 0;
  std::uint32_t count = 0;  // among the tokens that penalties look back on
  bool is_banned = false;
  std::span<const float> biases = {};  // added one after the other; -inf bans the id
};

// How the id of one row is drawn.
struct Drawing {
  float temperature = 1;    // > 0
  std::uint32_t top_k = 1;  // 1 to kMostDrawn; 0: all ids
  float top_p = 1, min_p = 0;
  float repetition_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
  std::uint64_t seed = 0;
  std::uint32_t position = 0, session = 0;     // of the random number
  std::span<const LogitChange> changes = {};   // each id once, ascending
  std::span<const std::uint32_t> recent = {};  // places in `recent` of draw(): their ids count too
};
// Candidates that a card sorts and weighs; places of `recent` in a row; words that all rows of a call may have.
inline constexpr std::size_t kMostDrawn = 256, kMostRecent = 4, kMostDrawWords = std::size_t{1} << 18;
// Columns whose weights have one sum; columns of a row whose sum has bounds (with more, top_k 0 decides less).
inline constexpr std::size_t kDrawPart = 1024, kMostDrawColumns = std::size_t{1} << 25;

// ids[r] = the id that is drawn from row r [rows, vocab] of float32 by drawings[r]; kNoChoice (ops/choice/choice.h)
// where a logit is not finite, every one is banned, or the draw is undecided. Weights are f64:
// exp64((logit - greatest) / temperature) of the best top_k ids, the lowest id first among equals. They are added in
// this order; top_p and min_p keep a beginning of them. `recent` and `ids` are in the device's memory; ids outside of a
// row change none.
//
// With top_k 0, the weights of the best kMostDrawn alone are added in their order. For the sum of all there are
// bounds: integers, which can be added in any order, round the weights of each kDrawPart columns beside the best one
// of these. The draw is decided if both bounds give the same id among the best; otherwise Sampler draws from the
// logits.
void draw(const Exec& exec, ConstTensor x, std::span<const Drawing> drawings, std::span<const std::int32_t> recent,
          std::span<std::int32_t> ids);

// Words of memory that a drawing takes in a call on a card.
std::size_t draw_words(const Drawing& drawing);

}  // namespace loom
