#include "demo.h"

namespace creature {
namespace {

constexpr std::array<Command, 5> kCommands = {{{"come here", Behaviour::come},
                                               {"dance for me", Behaviour::dance},
                                               {"sing a song", Behaviour::sing},
                                               {"sit down", Behaviour::sit},
                                               {"spin around", Behaviour::spin}}};
constexpr std::array<Command, 10> kVariants = {{{"here, come!", Behaviour::come},
                                                {"come", Behaviour::come},
                                                {"please dance", Behaviour::dance},
                                                {"dancing", Behaviour::dance},
                                                {"sing me a song", Behaviour::sing},
                                                {"singing", Behaviour::sing},
                                                {"sitt down", Behaviour::sit},
                                                {"sit", Behaviour::sit},
                                                {"turn around", Behaviour::spin},
                                                {"spinning", Behaviour::spin}}};
// Joy, energy, hunger, trust, curiosity.
constexpr std::array<std::array<int, 5>, 5> kMoods = {{{600, 800, 250, 400, 600},
                                                       {900, 900, 100, 900, 300},
                                                       {300, 400, 700, 300, 500},
                                                       {700, 300, 500, 600, 900},
                                                       {500, 600, 400, 500, 100}}};

loom::Result<void> expect(Creature& creature, View& view, std::string_view words, Touch touch) {
  for (int i = 0; i < 3; ++i) {
    LOOM_TRY(const Moment heard, creature.hear(words));
    LOOM_TRY(const Moment felt, creature.feel(touch));
    const Lesson& l = *felt.lesson;
    view.say(fmt::format("  \"{}\", then {:<5} it expects {:+.2f} → {:+.2f}   brain {}", words, name(touch),
                         l.before.expectation / 1000.0, l.after.expectation / 1000.0, view.short_hash(l.hash_after)));
    view.pause(350);
  }
  LOOM_TRY(const Moment alone, creature.hear(words));
  view.say(fmt::format("  Now the words alone: \"{}\"", words));
  view.moment(creature, alone);
  view.say("");
  view.pause(900);
  return {};
}

}  // namespace

std::span<const Command> demo_commands() { return kCommands; }
std::span<const Command> demo_variants() { return kVariants; }

loom::Result<double> obedience(Creature& creature, std::span<const Command> commands) {
  std::size_t right = 0;
  for (const Command& command : commands)
    for (const auto& mood : kMoods) {
      LOOM_TRY(const Guess guess, creature.guess(command.words, Touch::none, Mood::of(mood)));
      right += guess.best() == command.behaviour;
    }
  return static_cast<double>(right) / static_cast<double>(commands.size() * kMoods.size());
}

loom::Result<void> demonstrate(Creature& creature, View& view) {
  view.hatched(creature);
  view.say("\n  Five commands, each taught twice. Right answers are counted in five moods.\n");
  std::vector<double> taught, untaught;
  const auto examine = [&]() -> loom::Result<void> {
    LOOM_TRY(const double a, obedience(creature, kCommands));
    LOOM_TRY(const double b, obedience(creature, kVariants));
    taught.push_back(a), untaught.push_back(b);
    return {};
  };
  LOOM_TRY_VOID(examine());
  for (int round = 0; round < 2; ++round)
    for (const Command& command : kCommands) {
      LOOM_TRY(const Lesson l, creature.teach(command.words, Touch::none, command.behaviour));
      LOOM_TRY_VOID(examine());
      view.say(fmt::format("  {:<14} → {:<6}{} {:>3.0f} %  of five {:>3.0f} %  {}", command.words,
                           name(command.behaviour), view.bar(l.after.of(command.behaviour), 16, 114),
                           100 * l.after.of(command.behaviour), 100 * taught.back(), view.short_hash(l.hash_after)));
      view.pause(250);
    }
  view.say(fmt::format("\n  the words that were taught      {}  {:>3.0f} %", View::curve(taught), 100 * taught.back()));
  view.say(
      fmt::format("  said otherwise, never taught    {}  {:>3.0f} %", View::curve(untaught), 100 * untaught.back()));
  view.note("    (here, come! · please dance · dancing · sitt down · spinning ...)\n");
  view.pause(1200);

  for (const std::string_view words : {"here, come!", "please dance"}) {
    LOOM_TRY(const Moment moment, creature.hear(words));
    view.say(fmt::format("  \"{}\"", words));
    view.moment(creature, moment);
    view.say("");
    view.pause(900);
  }
  LOOM_TRY_VOID(expect(creature, view, "bath time", Touch::poke));
  LOOM_TRY_VOID(expect(creature, view, "dinner is ready", Touch::feed));
  view.mind(creature);
  view.note(fmt::format("\n  Seed {} and the same words lead to this very hash on every machine.", creature.seed()));
  return {};
}

}  // namespace creature
