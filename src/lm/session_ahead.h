#pragma once
// Passes that a session computes before they are asked for.

#include <cstdint>
#include <deque>
#include <vector>

#include "backend/device.h"
#include "core/buffer.h"
#include "lm/sampling.h"

namespace loom {

// Drafts whose keys and values follow those of the tokens of a sequence.
struct DraftsAhead {
  std::vector<std::int32_t> ids;
  std::size_t next = 0;  // the first one that has not been fed
  Buffer logits;         // [ids, vocab_size]
};

// The passes of one sequence that Session::feed_and_choose() has begun on a card. Pass n keeps its logits in row
// n % kRows, and its choice in the element n % kRows of `ids`, from which the next pass reads the id that it feeds.
struct ChoiceRun {
  static constexpr std::size_t kMostAhead = 3, kRows = kMostAhead + 1;
  std::size_t sequence = 0;
  std::uint64_t revision = 0;  // of the sequence, when the last choice was given
  std::int32_t next = -1;      // that choice, which the first running pass feeds
  SamplingOptions sampling;    // in all of its passes
  std::uint32_t sampling_session = 0;
  std::size_t passes = 0, end = 0;  // begun, and the position after them
  bool is_kept = false;             // the logits that the last given choice came from: the sequence may go on
  bool is_stopped = false;          // a pass could not begin: it is to be fed, and gives its error, when it is due
  std::deque<ReadTicket> choices;   // reads of those that have not been given
  Memory ids, logits;
};

}  // namespace loom
