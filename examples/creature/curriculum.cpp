#include "curriculum.h"

#include "core/philox.h"

namespace creature {
namespace {

// In which moods, by touch, it does what of itself. An empty range is any mood.
struct Range {
  int low = 0, high = 1000;
};
struct Instinct {
  Touch touch;
  Behaviour behaviour;
  Range joy{}, energy{}, hunger{}, trust{}, curiosity{};
};
constexpr Range kLow{0, 250}, kMiddle{300, 700}, kHigh{750, 1000};
const std::array<Instinct, 12> kInstincts = {{
    {Touch::pet, Behaviour::purr, {}, {}, {}, {}, {}},
    {Touch::poke, Behaviour::hide, {}, {}, {}, {}, {}},
    {Touch::feed, Behaviour::eat, {}, {}, {}, {}, {}},
    {Touch::tickle, Behaviour::play, {}, {}, {}, {400, 1000}, {}},
    {Touch::tickle, Behaviour::hide, {}, {}, {}, {0, 300}, {}},
    // These are its instincts when nothing happens.
    {Touch::none, Behaviour::sleep, {}, kLow, {}, {300, 1000}, {}},
    {Touch::none, Behaviour::come, kMiddle, kMiddle, kHigh, {300, 1000}, {}},
    {Touch::none, Behaviour::play, kMiddle, kMiddle, kMiddle, {300, 1000}, kHigh},
    {Touch::none, Behaviour::sing, kHigh, kMiddle, kMiddle, {300, 1000}, kMiddle},
    {Touch::none, Behaviour::dance, kHigh, kHigh, kMiddle, {300, 1000}, kMiddle},
    {Touch::none, Behaviour::hide, {0, 400}, kMiddle, kMiddle, kLow, {}},
    {Touch::none, Behaviour::sit, kMiddle, kMiddle, kMiddle, {300, 1000}, kMiddle},
}};

// The numbers of one row, one after the other.
class Draw {
 public:
  Draw(const Curriculum& c, std::string_view site, int step, std::size_t row)
      : stream_{c.seed, loom::RandomDomain::Sample, c.lesson, loom::random_site(site)},
        next_((static_cast<std::uint64_t>(step) * kRows + row) * 64) {}
  std::size_t below(std::size_t bound) { return stream_.below(next_++, static_cast<std::uint32_t>(bound)); }
  int in(const Range& range) {
    return range.low + static_cast<int>(below(static_cast<std::size_t>(range.high - range.low + 1)));
  }
  Mood mood() {
    std::array<int, 5> values;
    for (int& v : values) v = in({});
    return Mood::of(values);
  }

 private:
  loom::RandomStream stream_;
  std::uint64_t next_;
};

Row instinct_row(Draw& draw) {
  const Instinct& i = kInstincts[draw.below(kInstincts.size())];
  const Mood mood =
      Mood::of({draw.in(i.joy), draw.in(i.energy), draw.in(i.hunger), draw.in(i.trust), draw.in(i.curiosity)});
  return {.situation = {"", i.touch, mood}, .aim = Row::Aim::behaviour, .behaviour = i.behaviour};
}

// Words that mean nothing are to stay so: without such rows every new sound would be taken for something that was
// taught.
Row noise_row(Draw& draw) {
  std::string words;
  for (std::size_t count = 1 + draw.below(3); count > 0; --count) {
    if (!words.empty()) words += ' ';
    for (std::size_t letters = 3 + draw.below(5); letters > 0; --letters)
      words += static_cast<char>('a' + draw.below(26));
  }
  return {.situation = {std::move(words), Touch::none, draw.mood()}, .aim = Row::Aim::nothing_special};
}

}  // namespace

std::array<Row, kRows> Curriculum::egg(int step) const {
  std::array<Row, kRows> rows;
  for (std::size_t r = 0; r < kRows; ++r) {
    Draw draw(*this, "egg", step, r);
    rows[r] = r < 8 ? instinct_row(draw) : noise_row(draw);
  }
  return rows;
}

std::array<Row, kRows> Curriculum::rows(int step, const std::optional<Row>& focus, const Memories& memories) const {
  std::array<Row, kRows> rows;
  for (std::size_t r = 0; r < kRows; ++r) {
    Draw draw(*this, "lesson", step, r);
    const Mood mood = draw.mood();  // what was taught holds in every mood
    if (r < 6 && focus) {
      rows[r] = *focus;
      rows[r].situation.mood = mood;
    } else if (r < 10 && !memories.all().empty()) {
      rows[r] = memories.all()[draw.below(memories.all().size())].row(mood);
    } else {
      rows[r] = r < 13 ? instinct_row(draw) : noise_row(draw);
    }
  }
  return rows;
}

}  // namespace creature
