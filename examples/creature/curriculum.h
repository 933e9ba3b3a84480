#pragma once
// A curriculum fills the rows of one step of learning. Everything is drawn by Philox from (seed, lesson, step, row), so
// no generator has a state.

#include <array>
#include <optional>

#include "brain.h"
#include "memories.h"

namespace creature {

struct Curriculum {
  std::uint32_t seed = 0, lesson = 0;

  // Rows of a step in the egg: instincts, and noise.
  std::array<Row, kRows> egg(int step) const;
  // Six rows of the focus, four memories, three instincts, three of noise; what is missing (focus, memories) is taken
  // by the next kind.
  std::array<Row, kRows> rows(int step, const std::optional<Row>& focus, const Memories& memories) const;
};

}  // namespace creature
