#pragma once
// The world in lockstep: players who walk and call, and characters who each follow one player and are taught, by
// targets, to understand that player's call. docs/guide/lockstep.md has the rules; peer.py and peer.mjs compute the
// same world.

#include <string>
#include <vector>

#include "brain.h"

namespace lockstep {

inline constexpr int kField = 64;

struct Flip {
  int tick = 0, character = 0;
  std::string weight;
  int index = 0, bit = 0;
};

struct Player {
  int x = 0, y = 0, call = 0;
};

class Character {
 public:
  Character(int number, int players, const std::string& isa);

  int player() const { return player_; }
  Brain& brain() { return brain_; }
  // Learns from what it did last, in every fourth tick.
  void learn(int tick);
  // Looks, acts and remembers the target of what it did. Returns whether it did what it is taught.
  bool move(const Player& player);
  // A line on all of it that a tick's hash covers.
  std::string line() const;
  // Everything that line() covers, in parts: a JSON object.
  std::string state() const;

 private:
  int number_, player_, x_, y_;
  bool has_acted_ = false;
  Brain brain_;
  Inputs inputs_{};
  Outputs targets_{}, output_{};
};

class World {
 public:
  World(int players, int characters, const std::string& isa);

  // Moves the world by one tick, with an input of 0 to 26 for each player, and returns its hash.
  std::string step(const std::vector<int>& inputs, const Flip* flip);
  int tick() const { return tick_; }
  // Number of characters that did what they are taught in the last tick.
  int right() const { return right_; }
  // A JSON list with the state of each character.
  std::string state() const;

 private:
  std::vector<Player> players_;
  std::vector<Character> characters_;
  int tick_ = 0, right_ = 0;
};

}  // namespace lockstep
