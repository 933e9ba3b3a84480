#pragma once
// The animal is taught in view, by itself, in a few seconds: five commands, one touch, and what two words are a sign
// of.

#include "creature.h"
#include "view.h"

namespace creature {

// obedience() returns the share of a set of commands that the animal would obey, over all of kMoods: 0 to 1.
struct Command {
  std::string_view words;
  Behaviour behaviour;
};
loom::Result<double> obedience(Creature& creature, std::span<const Command> commands);

// Five commands, and the same meant in words that are never taught.
std::span<const Command> demo_commands();
std::span<const Command> demo_variants();

loom::Result<void> demonstrate(Creature& creature, View& view);

}  // namespace creature
