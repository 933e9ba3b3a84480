#include "creature_page.h"

#include <memory>
#include <utility>

#include "talk.h"

namespace creature {
namespace {

struct Life {
  explicit Life(Creature born) : creature(std::move(born)) {}
  Life(const Life&) = delete;  // the view and the talk point at its members

  Creature creature;
  std::string seen;
  View view{Style{}, [this](std::string_view text) { seen += text; }};
  Talk talk{creature, view, "creature.entity"};
};

std::unique_ptr<Life> life;
std::string error, text;

std::nullptr_t failed(const loom::Error& why) {
  error = why.text();
  return nullptr;
}

const char* seen() {
  text = std::exchange(life->seen, {});
  return text.c_str();
}

}  // namespace
}  // namespace creature

using namespace creature;

const char* creature_page_hatch(std::uint32_t seed) {
  auto born = Creature::hatch(seed, {});
  if (!born) return failed(born.error());
  life = std::make_unique<Life>(std::move(*born));
  life->view.hatched(life->creature);
  return seen();
}

const char* creature_page_wake(const char* path) {
  auto woken = Creature::load(path, {});
  if (!woken) return failed(woken.error());
  life = std::make_unique<Life>(std::move(*woken));
  life->view.welcome_back(life->creature, "this browser");
  return seen();
}

const char* creature_page_line(const char* line) {
  if (!life) return failed({loom::Code::InvalidState, "no creature has hatched"});
  const auto lived = life->talk.line(line);
  if (!lived) return failed(lived.error());
  return seen();
}

int creature_page_keep(const char* path) {
  if (!life) return failed({loom::Code::InvalidState, "no creature has hatched"}), 0;
  const auto kept = life->creature.save(path);
  if (!kept) return failed(kept.error()), 0;
  return 1;
}

const char* creature_page_hash() {
  text = life ? life->creature.brain().hash() : std::string();
  return text.c_str();
}

const char* creature_page_name() {
  text = life ? life->creature.name() : std::string();
  return text.c_str();
}

const char* creature_page_error() { return error.c_str(); }
