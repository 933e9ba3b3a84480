#pragma once
// The net senses three things: words as hashed letters, a touch, and the animal's mood.

#include <span>
#include <string>
#include <string_view>

#include "behaviours.h"
#include "mood.h"

namespace creature {

struct Situation {
  std::string words{};  // tidied; empty with Touch::none: nothing happens at all
  Touch touch = Touch::none;
  Mood mood{};
};

inline constexpr std::size_t kWordInputs = 256, kInputs = kWordInputs + kTouches.size() + 5;
inline constexpr std::size_t kMaxWordBytes = 96;

// Lower case without punctuation, single blanks, valid UTF-8 of at most kMaxWordBytes: the one form that is heard,
// compared and remembered.
std::string tidy(std::string_view line);

// x [kInputs]: every word and its letters by three, each added to one of kWordInputs places with a sign, both chosen by
// their hash, and the whole scaled to one length, so that the order of words does not matter and a word in another form
// is near; then one place per touch and one for silence; then the mood around 0. Only + - * / and sqrt, so the same on
// every machine.
void sense(const Situation& situation, std::span<float, kInputs> x);

}  // namespace creature
