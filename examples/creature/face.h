#pragma once
// The face is a picture of the animal in six lines of letters, which shows its behaviour and its mood.

#include <array>
#include <string>

#include "behaviours.h"
#include "mood.h"

namespace creature {

inline constexpr std::size_t kPictureLines = 6, kPictureColumns = 19, kFrames = 2;

struct Look {
  Behaviour behaviour = Behaviour::sit;
  Mood mood{};
  bool startled = false, puzzled = false, blinking = false;
};

// Lines of kPictureColumns columns each. Frames 0 and 1 take turns while it moves.
std::array<std::string, kPictureLines> picture(const Look& look, std::size_t frame);

// Columns of a text in a terminal: characters, of which the creature uses no wide ones.
std::size_t columns(std::string_view text);

}  // namespace creature
