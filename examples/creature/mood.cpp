#include "mood.h"

namespace creature {

Mood moved(const Mood& mood, const Mood& by) {
  std::array<int, 5> now = mood.values();
  const std::array<int, 5> d = by.values();
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = std::clamp(now[i] + d[i], 0, 1000);
  return Mood::of(now);
}

Mood after_touch(const Mood& mood, Touch touch) {
  switch (touch) {
    case Touch::none: break;
    case Touch::pet: return moved(mood, {.joy = 110, .energy = -10, .hunger = 0, .trust = 70, .curiosity = 0});
    // Being tickled is fun among friends only.
    case Touch::tickle:
      return moved(mood, {.joy = mood.trust >= 350 ? 140 : -90,
                          .energy = -30,
                          .hunger = 0,
                          .trust = mood.trust >= 350 ? 30 : -40,
                          .curiosity = 30});
    case Touch::poke: return moved(mood, {.joy = -170, .energy = 40, .hunger = 0, .trust = -110, .curiosity = -20});
    case Touch::feed:
      return moved(mood, {.joy = 40 + mood.hunger / 6, .energy = 30, .hunger = -350, .trust = 50, .curiosity = 0});
  }
  return mood;
}

Mood after_words(const Mood& mood, int expectation, int sureness) {
  // Words that lead to nothing it knows are interesting; what it knows well is not.
  const int novelty = sureness < 400 ? 40 : -15;
  return moved(mood, {.joy = expectation * 3 / 20,
                      .energy = std::abs(expectation) / 25,
                      .hunger = 0,
                      .trust = 0,
                      .curiosity = novelty});
}

Mood after_doing(const Mood& mood, Behaviour behaviour) {
  Mood by{.joy = 0, .energy = -14, .hunger = 10, .trust = 0, .curiosity = 0};
  switch (behaviour) {
    case Behaviour::spin:
    case Behaviour::dance:
    case Behaviour::play: by.joy = 25, by.energy = -40, by.hunger = 18; break;
    case Behaviour::sing: by.joy = 20, by.energy = -22; break;
    case Behaviour::sleep: by.energy = 300, by.curiosity = 40; break;
    case Behaviour::purr: by.joy = 15; break;
    case Behaviour::hide: by.energy = 5, by.trust = 12; break;  // nothing bad happens in a box
    default: break;
  }
  return moved(mood, by);
}

Mood after_praise(const Mood& mood) {
  return moved(mood, {.joy = 90, .energy = 0, .hunger = 0, .trust = 50, .curiosity = 10});
}
Mood after_scolding(const Mood& mood) {
  return moved(mood, {.joy = -80, .energy = 0, .hunger = 0, .trust = -25, .curiosity = 10});
}

Deed tempered(const Mood& mood, const Wish& wished, Touch touch) {
  const Behaviour wish = wished.behaviour;
  // Fear is stronger than what was taught; hope only fills the place of not knowing.
  if (wished.expectation <= (wished.sure ? -700 : -400))
    return {Behaviour::hide, wish == Behaviour::hide ? Temper::willing : Temper::afraid};
  if (wished.expectation >= 400 && !wished.sure) return {Behaviour::come, Temper::hopeful};
  const bool quiet =
      wish == Behaviour::sit || wish == Behaviour::eat || wish == Behaviour::sleep || wish == Behaviour::hide;
  if (quiet) return {wish, Temper::willing};
  if (mood.energy < 90 && touch != Touch::poke) return {Behaviour::sleep, Temper::tired};
  if (mood.trust < 180) return {Behaviour::hide, Temper::shy};
  if (mood.hunger > 930 && wish != Behaviour::come && wish != Behaviour::purr) return {Behaviour::sit, Temper::hungry};
  return {wish, Temper::willing};
}

}  // namespace creature
