#pragma once
// The animal: a brain, a mood, memories, and what it does when something happens. No function prints, waits or looks
// at a clock: a life is a function of the seed and of what was said and done, to the last bit of the brain.

#include <functional>
#include <optional>
#include <string>

#include "brain.h"
#include "core/sha256.h"
#include "memories.h"
#include "mood.h"

namespace creature {

// A Lesson holds the outcome of a few steps of learning.
struct Lesson {
  enum class Kind : unsigned char { taught, praised, scolded, followed, dreamt };
  Kind kind = Kind::taught;
  std::uint32_t number = 0;
  Situation situation{};
  Behaviour behaviour = Behaviour::sit;  // taught, praised, scolded
  int outcome = 0;                       // followed: what followed the words, -1000 to 1000
  Guess before{}, after{};               // in that situation
  TweenReport first{}, last{};           // of the steps
  int steps = 0;
  std::string hash_before{}, hash_after{};
};

// A Moment says how the animal took one thing that was said or done.
struct Moment {
  Situation situation{};  // with the mood in which it was met
  Guess guess{};
  Behaviour wish = Behaviour::sit;
  bool tries = false;  // not sure of anything: one was drawn
  Deed deed{};
  std::optional<Lesson> lesson{};  // the touch followed words, or it slept and dreamt
};

struct Done {
  Situation situation{};
  Behaviour behaviour = Behaviour::sit;
};

class Creature {
 public:
  static constexpr int kTaughtSteps = 10, kFollowedSteps = 8, kDreamSteps = 6;
  static constexpr double kSure = 0.4;
  static constexpr std::size_t kMaxNameBytes = 24;
  // Sees every step of a lesson, with what the brain now says in its situation.
  using Watch = std::function<void(const Lesson& so_far)>;

  // Hatches with its instincts, which it learned in the egg as everything else later.
  static loom::Result<Creature> hatch(std::uint32_t seed, const Machine& machine);
  // CorruptData for a file that is torn or no mind; NotFound, IoError.
  static loom::Result<Creature> load(const std::string& path, const Machine& machine);
  // Atomic: the file holds the new mind as a whole, or still the old one. Returns the root hash of the file.
  loom::Result<loom::Digest> save(const std::string& path) const;

  loom::Result<Moment> hear(std::string_view words);
  loom::Result<Moment> feel(Touch touch);
  loom::Result<Moment> wait();
  // For what it did last; nothing when it has not done anything.
  loom::Result<std::optional<Lesson>> praise(const Watch& watch = {});
  loom::Result<std::optional<Lesson>> scold(const Watch& watch = {});
  // InvalidArgument when there are neither words nor a touch.
  loom::Result<Lesson> teach(std::string_view words, Touch touch, Behaviour behaviour, const Watch& watch = {});

  // Returns the behaviour that it would choose, in its own mood or in another, without doing it.
  loom::Result<Guess> guess(std::string_view words, Touch touch = Touch::none,
                            const std::optional<Mood>& mood = std::nullopt);

  const std::string& name() const { return name_; }
  void rename(std::string_view name);
  std::uint32_t seed() const { return static_cast<std::uint32_t>(brain_.network().settings.seed); }
  std::uint32_t moments() const { return moments_; }
  std::uint32_t lessons() const { return lessons_; }
  const Mood& mood() const { return mood_; }
  const Memories& memories() const { return memories_; }
  const std::optional<Done>& last() const { return last_; }
  const Brain& brain() const { return brain_; }

 private:
  explicit Creature(Brain brain) : brain_(std::move(brain)) {}
  loom::Json state() const;
  loom::Result<void> set_state(const loom::Json& state);

  loom::Result<Moment> meet(std::string words, Touch touch);
  loom::Result<std::optional<Lesson>> react(bool good, const Watch& watch);
  // Fills in what happens: `focus` are the rows it is about (none: a dream), the others come from memory, instinct and
  // noise.
  loom::Result<void> learn(Lesson& lesson, const std::optional<Row>& focus, int steps, const Watch& watch);
  loom::Result<void> grow_in_the_egg();

  Brain brain_;
  std::string name_;
  std::uint32_t moments_ = 0, lessons_ = 0;
  Mood mood_;
  Memories memories_;
  std::optional<Done> last_;
};

}  // namespace creature
