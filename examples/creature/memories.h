#pragma once
// The animal remembers a limited number of things that it was taught or that happened to it. Every lesson rehearses
// them, so that learning one thing does not wipe out the others.

#include <optional>
#include <vector>

#include "brain.h"
#include "core/json.h"

namespace creature {

// One situation that means something.
struct Memory {
  std::string words{};
  Touch touch = Touch::none;
  std::optional<Behaviour> behaviour{};  // taught, or with `shunned` scolded for
  bool shunned = false;
  std::optional<int> outcome{};  // what followed the words, -1000 to 1000

  Row row(const Mood& mood) const;
  bool operator==(const Memory&) const = default;
};

class Memories {
 public:
  static constexpr std::size_t kCapacity = 64;

  // The memory of a situation becomes the newest; the oldest one goes when there are too many.
  Memory& recall_or_add(const Situation& situation);
  const Memory* find(const Situation& situation) const;
  const std::vector<Memory>& all() const { return all_; }  // the newest last

  loom::Json to_json() const;
  // CorruptData.
  static loom::Result<Memories> from_json(const loom::Json& json);

 private:
  std::vector<Memory> all_;
};

}  // namespace creature
