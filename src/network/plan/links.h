#pragma once
// The links and skips of a network, resolved for one kind of plan (engine V-20..V-26): forward passes or ticks of the
// step mesh, where links of the grid in mode "auto" feed and outputs may come from any cell.

#include <cstdint>
#include <vector>

#include "layers/wiring.h"
#include "network/network.h"

namespace loom {

enum class PlanKind : std::uint8_t { Forward, Steps };

struct Links {
  static constexpr std::size_t kNone = Wiring::kNone;
  // InvalidState for a network that was edited and not settled since; OutOfRange, LinkToEmpty, FeedbackLink, LinkCycle
  // with the whole path, NestingTooDeep, LimitExceeded.
  static Result<Links> resolve(const Network& network, PlanKind kind);

  // The slot of Call::cells whose output feeds a cell; kNone where none does.
  std::size_t slot_of(std::size_t cell) const { return feeds.empty() ? kNone : feeds[cell]; }
  bool is_source(std::size_t cell, std::size_t slot) const { return slot < sources.size() && sources[slot] == cell; }

  Wiring wiring;
  std::vector<std::size_t> sources;      // cells whose outputs others read, ascending; the position is the slot
  std::vector<std::size_t> source_uses;  // how many links and skips read the output of each
  std::vector<std::size_t> feeds;        // by cell; empty where no cell is fed
  std::vector<StateNeeds> state_needs;   // of the layers, then of each use of a shared one
};

// The shape that a fed cell makes of its predecessor's output and the output that feeds it.
Result<Shape> fed_shape(const Cell& cell, const Wiring& wiring, const Shape& input, const Shape& fed);

}  // namespace loom
