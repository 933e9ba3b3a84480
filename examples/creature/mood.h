#pragma once
// The mood is how the animal feels: five numbers in whole thousandths, 0 to 1000, so that a mood is the same on every
// machine and in every file. Time passes by what happens, not by the clock: a life that is repeated word by word is
// the same life.

#include <algorithm>
#include <array>
#include <string_view>

#include "behaviours.h"

namespace creature {

struct Mood {
  int joy = 600, energy = 800, hunger = 250, trust = 400, curiosity = 600;

  static constexpr std::array<std::string_view, 5> kNames = {"joy", "energy", "hunger", "trust", "curiosity"};
  std::array<int, 5> values() const { return {joy, energy, hunger, trust, curiosity}; }
  static Mood of(const std::array<int, 5>& v) { return {v[0], v[1], v[2], v[3], v[4]}; }
  bool operator==(const Mood&) const = default;
};

// Moves of several numbers at once; each stays within 0 to 1000.
Mood moved(const Mood& mood, const Mood& by);

Mood after_touch(const Mood& mood, Touch touch);
// `expectation`: what the net says will follow these words, -1000 (a poke) to 1000 (a treat); `sureness` of its answer,
// 0 to 1000.
Mood after_words(const Mood& mood, int expectation, int sureness);
Mood after_doing(const Mood& mood, Behaviour behaviour);
Mood after_praise(const Mood& mood);
Mood after_scolding(const Mood& mood);

// The mood may change a wish of the net into another behaviour; the temper names the reason.
enum class Temper : unsigned char { willing, tired, shy, hungry, afraid, hopeful };
struct Deed {
  Behaviour behaviour;
  Temper temper;
};
struct Wish {
  Behaviour behaviour = Behaviour::sit;
  bool sure = true;
  int expectation = 0;  // as above; 0 without words
};
Deed tempered(const Mood& mood, const Wish& wish, Touch touch);

}  // namespace creature
