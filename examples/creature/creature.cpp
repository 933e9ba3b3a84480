#include "creature.h"

#include "core/philox.h"
#include "curriculum.h"

namespace creature {
namespace {

constexpr int kEggSteps = 400;
// In the egg all is new and much is to be learned; later a lesson should be seen to work, and not to wipe out what was
// learned before.
constexpr double kEggRate = 0.5, kRate = 0.09;

std::string name_of(std::uint32_t seed) {
  constexpr std::array<std::string_view, 12> kFirst = {"Mi", "Po", "Tu", "Lo", "Ni", "Pe",
                                                       "Bo", "Wu", "Ki", "Su", "Ra", "Fi"};
  constexpr std::array<std::string_view, 12> kSecond = {"pu", "mo",  "li",  "bi", "na", "ko",
                                                        "ri", "wen", "sha", "to", "zu", "dle"};
  const loom::RandomStream stream{seed, loom::RandomDomain::Init, 0, loom::random_site("name")};
  return std::string(kFirst[stream.below(0, kFirst.size())]) + std::string(kSecond[stream.below(1, kSecond.size())]);
}

// Returns how the animal finds a touch: -1000 (bad) to 1000 (good).
int outcome_of(Touch touch, const Mood& mood) {
  switch (touch) {
    case Touch::none: return 0;
    case Touch::pet: return 700;
    case Touch::tickle: return mood.trust >= 350 ? 500 : -500;
    case Touch::poke: return -1000;
    case Touch::feed: return 1000;
  }
  return 0;
}

}  // namespace

loom::Result<Creature> Creature::hatch(std::uint32_t seed, const Machine& machine) {
  LOOM_TRY(Brain brain, Brain::create(seed, machine));
  Creature creature(std::move(brain));
  creature.name_ = name_of(seed);
  LOOM_TRY_VOID(creature.grow_in_the_egg());
  return creature;
}

loom::Result<void> Creature::grow_in_the_egg() {
  const Curriculum curriculum{seed(), 0};
  for (int step = 0; step < kEggSteps; ++step) LOOM_TRY_VOID(brain_.step(curriculum.egg(step), kEggRate));
  return {};
}

void Creature::rename(std::string_view name) {
  if (!loom::is_utf8(name)) return;
  std::string clean;
  for (const char c : name)
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) clean += c;
  while (!clean.empty() && (clean.size() > kMaxNameBytes || clean.back() == ' ')) {
    // whole characters
    while (clean.size() > 1 && (static_cast<unsigned char>(clean.back()) & 0xc0) == 0x80) clean.pop_back();
    clean.pop_back();
  }
  if (!clean.empty()) name_ = clean;
}

loom::Result<Guess> Creature::guess(std::string_view words, Touch touch, const std::optional<Mood>& mood) {
  return brain_.guess({tidy(words), touch, mood.value_or(mood_)});
}

loom::Result<Moment> Creature::meet(std::string words, Touch touch) {
  Moment moment;
  moment.situation = {std::move(words), touch, mood_};
  LOOM_TRY(moment.guess, brain_.guess(moment.situation));
  moment.wish = moment.guess.best();
  if (moment.guess.of(moment.wish) < kSure) {
    const loom::RandomStream stream{seed(), loom::RandomDomain::Sample, moments_, loom::random_site("choice")};
    double left = static_cast<double>(stream.uniform(0));
    std::size_t b = 0;
    while (b + 1 < kBehaviours && (left -= moment.guess.sure[b]) > 0) ++b;
    moment.wish = static_cast<Behaviour>(b), moment.tries = true;
  }
  if (touch != Touch::none) mood_ = after_touch(mood_, touch);
  const bool spoken = !moment.situation.words.empty();
  if (spoken) mood_ = after_words(mood_, moment.guess.expectation, moment.guess.thousandths(moment.guess.best()));
  moment.deed = tempered(mood_, {moment.wish, !moment.tries, spoken ? moment.guess.expectation : 0}, touch);
  mood_ = after_doing(mood_, moment.deed.behaviour);
  ++moments_;
  return moment;
}

loom::Result<Moment> Creature::hear(std::string_view words) {
  std::string heard = tidy(words);
  if (heard.empty()) return wait();
  LOOM_TRY(Moment moment, meet(std::move(heard), Touch::none));
  last_ = Done{moment.situation, moment.deed.behaviour};
  return moment;
}

loom::Result<Moment> Creature::feel(Touch touch) {
  const std::optional<Done> before = last_;
  LOOM_TRY(Moment moment, meet({}, touch));
  last_ = Done{moment.situation, moment.deed.behaviour};
  if (!before || before->situation.words.empty()) return moment;
  // Words came just before: next time they will be a sign of this (Pavlov 1927).
  Lesson lesson{.kind = Lesson::Kind::followed,
                .situation = before->situation,
                .outcome = outcome_of(touch, moment.situation.mood)};
  Memory& memory = memories_.recall_or_add(lesson.situation);
  memory.outcome = memory.outcome ? (*memory.outcome + lesson.outcome) / 2 : lesson.outcome;
  const Row focus = memory.row({});
  LOOM_TRY_VOID(learn(lesson, focus, kFollowedSteps, {}));
  moment.lesson = std::move(lesson);
  return moment;
}

loom::Result<Moment> Creature::wait() {
  LOOM_TRY(Moment moment, meet({}, Touch::none));
  last_ = Done{moment.situation, moment.deed.behaviour};
  if (moment.deed.behaviour != Behaviour::sleep || memories_.all().empty()) return moment;
  // Asleep it rehearses what it knows.
  Lesson lesson{.kind = Lesson::Kind::dreamt,
                .situation = {memories_.all().back().words, memories_.all().back().touch, mood_}};
  LOOM_TRY_VOID(learn(lesson, std::nullopt, kDreamSteps, {}));
  moment.lesson = std::move(lesson);
  return moment;
}

loom::Result<std::optional<Lesson>> Creature::praise(const Watch& watch) { return react(true, watch); }
loom::Result<std::optional<Lesson>> Creature::scold(const Watch& watch) { return react(false, watch); }

loom::Result<std::optional<Lesson>> Creature::react(bool good, const Watch& watch) {
  ++moments_;
  mood_ = good ? after_praise(mood_) : after_scolding(mood_);
  // Its deeds without words or a touch depend on its mood alone, so praise for them teaches nothing.
  if (!last_ || (last_->situation.words.empty() && last_->situation.touch == Touch::none))
    return std::optional<Lesson>();
  Lesson lesson{.kind = good ? Lesson::Kind::praised : Lesson::Kind::scolded,
                .situation = last_->situation,
                .behaviour = last_->behaviour};
  Memory& memory = memories_.recall_or_add(lesson.situation);
  memory.behaviour = lesson.behaviour, memory.shunned = !good;
  const Row focus = memory.row({});
  LOOM_TRY_VOID(learn(lesson, focus, kTaughtSteps, watch));
  return std::optional<Lesson>(std::move(lesson));
}

loom::Result<Lesson> Creature::teach(std::string_view words, Touch touch, Behaviour behaviour, const Watch& watch) {
  Lesson lesson{.kind = Lesson::Kind::taught, .situation = {tidy(words), touch, mood_}, .behaviour = behaviour};
  if (lesson.situation.words.empty() && touch == Touch::none)
    return loom::fail(loom::Code::InvalidArgument, "say what it should react to");
  ++moments_;
  Memory& memory = memories_.recall_or_add(lesson.situation);
  memory.behaviour = behaviour, memory.shunned = false;
  const Row focus = memory.row({});
  mood_ = moved(mood_, {.joy = 15, .energy = -10, .hunger = 8, .trust = 10, .curiosity = 10});
  LOOM_TRY_VOID(learn(lesson, focus, kTaughtSteps, watch));
  last_ = Done{lesson.situation, behaviour};
  return lesson;
}

loom::Result<void> Creature::learn(Lesson& lesson, const std::optional<Row>& focus, int steps, const Watch& watch) {
  lesson.number = ++lessons_;
  lesson.hash_before = brain_.hash();
  LOOM_TRY(lesson.before, brain_.guess(lesson.situation));
  lesson.after = lesson.before;
  const Curriculum curriculum{seed(), lessons_};
  for (int step = 0; step < steps; ++step) {
    LOOM_TRY(lesson.last, brain_.step(curriculum.rows(step, focus, memories_), kRate));
    if (step == 0) lesson.first = lesson.last;
    lesson.steps = step + 1;
    if (!watch) continue;
    LOOM_TRY(lesson.after, brain_.guess(lesson.situation));
    watch(lesson);
  }
  LOOM_TRY(lesson.after, brain_.guess(lesson.situation));
  lesson.hash_after = brain_.hash();
  return {};
}

}  // namespace creature
