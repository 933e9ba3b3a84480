#pragma once
// These are the things that the animal can do, and the ways in which it can be touched. Files and words use the names,
// so the order may change; adding one is one line.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace creature {

enum class Behaviour : std::uint8_t { sit, come, spin, dance, sing, play, purr, eat, sleep, hide };
inline constexpr std::size_t kBehaviours = 10;

struct BehaviourText {
  std::string_view name, doing;
};
inline constexpr std::array<BehaviourText, kBehaviours> kBehaviourTexts = {{
    {"sit", "sits down and looks at you"},
    {"come", "comes right up to you"},
    {"spin", "spins round and round"},
    {"dance", "dances"},
    {"sing", "sings"},
    {"play", "plays with its tail"},
    {"purr", "purrs"},
    {"eat", "eats"},
    {"sleep", "curls up and sleeps"},
    {"hide", "hides in its box"},
}};

enum class Touch : std::uint8_t { none, pet, tickle, poke, feed };
inline constexpr std::array<std::string_view, 5> kTouches = {"", "pet", "tickle", "poke", "feed"};

constexpr std::string_view name(Behaviour b) { return kBehaviourTexts[static_cast<std::size_t>(b)].name; }
constexpr std::string_view name(Touch t) { return kTouches[static_cast<std::size_t>(t)]; }

constexpr std::optional<Behaviour> behaviour_from(std::string_view text) {
  for (std::size_t b = 0; b < kBehaviours; ++b)
    if (kBehaviourTexts[b].name == text) return static_cast<Behaviour>(b);
  return std::nullopt;
}
// "" is no touch.
constexpr std::optional<Touch> touch_from(std::string_view text) {
  for (std::size_t t = 1; t < kTouches.size(); ++t)
    if (kTouches[t] == text) return static_cast<Touch>(t);
  return std::nullopt;
}

}  // namespace creature
