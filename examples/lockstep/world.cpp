#include "world.h"

#include <algorithm>
#include <stdexcept>

#include "core/sha256.h"

namespace lockstep {
namespace {

int clamped(int place) { return std::clamp(place, 0, kField - 1); }
int sign(float number) { return (number > 0) - (number < 0); }

}  // namespace

Character::Character(int number, int players, const std::string& isa)
    : number_(number),
      player_(number % players),
      x_((number * 37 + 5) % kField),
      y_((number * 53 + 11) % kField),
      brain_(static_cast<std::uint32_t>(1000 + number), isa) {}

void Character::learn(int tick) {
  if (has_acted_ && (tick + number_) % 4 == 0) brain_.learn(inputs_, targets_);
}

bool Character::move(const Player& player) {
  // Every number is a fraction that float32 holds, so no rounding is left to the language.
  const auto part = [](int number) { return static_cast<float>(number) / kField; };
  const auto is_call = [&](int call) { return player.call == call ? 1.0F : 0.0F; };
  const auto dx = static_cast<float>(player.x - x_), dy = static_cast<float>(player.y - y_);
  inputs_ = {part(player.x - x_),
             part(player.y - y_),
             is_call(0),
             is_call(1),
             is_call(2),
             part(x_),
             part(y_),
             static_cast<float>(number_ % 8) / 8};
  constexpr float kTowards[] = {0.5F, -0.5F, 0.0F};
  const float towards = kTowards[(player.call + number_) % 3];
  targets_ = {static_cast<float>(sign(dx)) * towards, static_cast<float>(sign(dy)) * towards};
  output_ = brain_.act(inputs_);
  has_acted_ = true;
  const auto step = [](float out) { return (out > 0.25F) - (out < -0.25F); };
  x_ = clamped(x_ + step(output_[0])), y_ = clamped(y_ + step(output_[1]));
  return step(output_[0]) == sign(targets_[0]) && step(output_[1]) == sign(targets_[1]);
}

std::string Character::line() const {
  return std::to_string(x_) + " " + std::to_string(y_) + " " + hexadecimal(output_) + " " + brain_.hash() + "\n";
}

std::string Character::state() const {
  std::string weights;
  for (const auto& [name, digits] : brain_.weights())
    weights += (weights.empty() ? "\"" : ", \"") + name + "\": \"" + digits + "\"";
  return "{\"place\": [" + std::to_string(x_) + ", " + std::to_string(y_) + "], \"input\": \"" + hexadecimal(inputs_) +
         "\", \"weights\": {" + weights + "}, \"output\": \"" + hexadecimal(output_) + "\"}";
}

World::World(int players, int characters, const std::string& isa) {
  for (int p = 0; p < players; ++p) players_.push_back({(p * 29 + 7) % kField, (p * 41 + 3) % kField, 0});
  characters_.reserve(static_cast<std::size_t>(characters));
  for (int c = 0; c < characters; ++c) characters_.emplace_back(c, players, isa);
}

std::string World::step(const std::vector<int>& inputs, const Flip* flip) {
  if (inputs.size() != players_.size()) throw std::runtime_error("the relay sent too few or too many inputs");
  for (Character& each : characters_) each.learn(tick_);
  if (flip != nullptr && flip->tick == tick_)
    characters_.at(static_cast<std::size_t>(flip->character))
        .brain()
        .flip(flip->weight, static_cast<std::size_t>(flip->index), static_cast<unsigned>(flip->bit));
  for (std::size_t p = 0; p < inputs.size(); ++p) {
    players_[p].x = clamped(players_[p].x + inputs[p] % 3 - 1);
    players_[p].y = clamped(players_[p].y + inputs[p] / 3 % 3 - 1);
    players_[p].call = inputs[p] / 9;
  }
  right_ = 0;
  loom::Sha256 digest;
  for (Character& each : characters_) right_ += each.move(players_[static_cast<std::size_t>(each.player())]);
  for (const Character& each : characters_) {
    const std::string line = each.line();
    digest.update(std::as_bytes(std::span(line)));
  }
  ++tick_;
  return loom::to_hex(digest.finish());
}

std::string World::state() const {
  std::string out = "[";
  for (const Character& each : characters_) out += (out.size() > 1 ? ",\n" : "") + each.state();
  return out + "]";
}

}  // namespace lockstep
