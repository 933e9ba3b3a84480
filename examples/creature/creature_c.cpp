#include "creature_c.h"

#include <exception>
#include <utility>

#include "creature.h"

struct creature_handle {
  creature::Creature life;
  std::string hash;
};

namespace {

thread_local std::string last_error;

tl::unexpected<loom::Error> invalid(std::string_view what) {
  return loom::fail(loom::Code::InvalidArgument, "{}", what);
}

// Runs a call and keeps its error. No exception leaves the library.
template <class T, class Call>
T guarded(T failed, Call&& call) {
  try {
    loom::Result<T> result = call();
    if (result) return *result;
    last_error = result.error().text();
  } catch (const std::exception& error) {
    last_error = error.what();
  }
  return failed;
}

loom::Result<creature::Touch> touch_of(const char* name) {
  const auto touch = creature::touch_from(name == nullptr ? "" : name);
  if (!touch)
    return loom::fail(loom::Code::UnknownName, "touch {}: expected pet, tickle, poke or feed", name ? name : "");
  return *touch;
}

// Names are literals, so their data end with a zero byte.
void write(const creature::Moment& moment, creature_deed* deed) {
  if (deed == nullptr) return;
  deed->behaviour = creature::name(moment.deed.behaviour).data();
  deed->wish = creature::name(moment.wish).data();
  deed->sureness = moment.guess.thousandths(moment.wish);
  deed->expectation = moment.guess.expectation;
  deed->has_learned = moment.lesson ? 1 : 0;
}

loom::Result<creature_t*> owned(loom::Result<creature::Creature> life) {
  if (!life) return tl::make_unexpected(std::move(life).error());
  return new creature_t{*std::move(life), {}};
}

}  // namespace

creature_t* creature_hatch(uint32_t seed) {
  return guarded<creature_t*>(nullptr, [&] { return owned(creature::Creature::hatch(seed, {})); });
}

creature_t* creature_load(const char* path) {
  return guarded<creature_t*>(nullptr, [&]() -> loom::Result<creature_t*> {
    if (path == nullptr) return invalid("path is NULL");
    return owned(creature::Creature::load(path, {}));
  });
}

int creature_save(const creature_t* creature, const char* path) {
  return guarded(0, [&]() -> loom::Result<int> {
    if (creature == nullptr || path == nullptr) return invalid("creature or path is NULL");
    LOOM_TRY_VOID(creature->life.save(path));
    return 1;
  });
}

void creature_free(creature_t* creature) { delete creature; }

int creature_hear(creature_t* creature, const char* words, creature_deed* deed) {
  return guarded(0, [&]() -> loom::Result<int> {
    if (creature == nullptr || words == nullptr) return invalid("creature or words is NULL");
    LOOM_TRY(const creature::Moment moment, creature->life.hear(words));
    write(moment, deed);
    return 1;
  });
}

int creature_feel(creature_t* creature, const char* touch, creature_deed* deed) {
  return guarded(0, [&]() -> loom::Result<int> {
    if (creature == nullptr) return invalid("creature is NULL");
    LOOM_TRY(const creature::Touch felt, touch_of(touch));
    LOOM_TRY(const creature::Moment moment, creature->life.feel(felt));
    write(moment, deed);
    return 1;
  });
}

int creature_teach(creature_t* creature, const char* words, const char* behaviour) {
  return guarded(0, [&]() -> loom::Result<int> {
    if (creature == nullptr || words == nullptr || behaviour == nullptr)
      return invalid("creature, words or behaviour is NULL");
    const auto taught = creature::behaviour_from(behaviour);
    if (!taught) return loom::fail(loom::Code::UnknownName, "behaviour {}: it cannot do this", behaviour);
    const auto touch = creature::touch_from(words);
    LOOM_TRY_VOID(creature->life.teach(touch ? "" : words, touch.value_or(creature::Touch::none), *taught));
    return 1;
  });
}

int creature_react(creature_t* creature, int is_good) {
  return guarded(0, [&]() -> loom::Result<int> {
    if (creature == nullptr) return invalid("creature is NULL");
    LOOM_TRY_VOID(is_good != 0 ? creature->life.praise() : creature->life.scold());
    return 1;
  });
}

const char* creature_hash(creature_t* creature) {
  return guarded<const char*>(nullptr, [&]() -> loom::Result<const char*> {
    if (creature == nullptr) return invalid("creature is NULL");
    creature->hash = creature->life.brain().hash();
    return creature->hash.c_str();
  });
}

const char* creature_name(const creature_t* creature) {
  return creature == nullptr ? nullptr : creature->life.name().c_str();
}

const char* creature_last_error(void) { return last_error.c_str(); }
