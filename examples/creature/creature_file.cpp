// A mind in one file: the network as every .entity keeps it, so that `loom inspect` and all other tools read it, and a
// section "creature" with the rest of the life. Written to a side file and renamed; every section is hashed.

#include "core/json.h"
#include "creature.h"
#include "io/entity/entity.h"
#include "io/network_file.h"

namespace creature {
namespace {

constexpr std::string_view kSection = "creature";
constexpr int kFormat = 1;

loom::Json situation_json(const Situation& s) {
  return {{"words", s.words}, {"touch", name(s.touch)}, {"mood", s.mood.values()}};
}

tl::unexpected<loom::Error> bad(std::string_view what) {
  return loom::fail(loom::Code::CorruptData, "its {} cannot be read", what);
}

loom::Result<std::uint32_t> count_from(const loom::Json& state, std::string_view key) {
  const loom::Json* value = loom::find(state, key);
  const auto n = value == nullptr ? std::nullopt : loom::as_int(*value);
  if (!n || *n < 0 || *n > 0xffffffffll) return bad(key);
  return static_cast<std::uint32_t>(*n);
}

loom::Result<std::string> text_from(const loom::Json& state, std::string_view key) {
  const loom::Json* value = loom::find(state, key);
  const std::string* text = value == nullptr ? nullptr : loom::as_string(*value);
  if (text == nullptr) return bad(key);
  return *text;
}

loom::Result<Mood> mood_from(const loom::Json& state) {
  const loom::Json* list = loom::find(state, "mood");
  std::array<int, 5> values{};
  if (list == nullptr || !list->is_array() || list->size() != values.size()) return bad("mood");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto n = loom::as_int((*list)[i]);
    if (!n || *n < 0 || *n > 1000) return bad("mood");
    values[i] = static_cast<int>(*n);
  }
  return Mood::of(values);
}

loom::Result<Done> done_from(const loom::Json& json) {
  Done done;
  LOOM_TRY(done.situation.words, text_from(json, "words"));
  LOOM_TRY(const std::string touch, text_from(json, "touch"));
  LOOM_TRY(const std::string did, text_from(json, "did"));
  LOOM_TRY(done.situation.mood, mood_from(json));
  const auto touched = touch_from(touch);
  const auto behaviour = behaviour_from(did);
  if (done.situation.words != tidy(done.situation.words) || (!touched && !touch.empty()) || !behaviour)
    return bad("last deed");
  done.situation.touch = touched.value_or(Touch::none), done.behaviour = *behaviour;
  return done;
}

}  // namespace

loom::Json Creature::state() const {
  loom::Json json{{"format", kFormat},   {"name", name_},          {"moments", moments_},
                  {"lessons", lessons_}, {"mood", mood_.values()}, {"memories", memories_.to_json()}};
  if (last_) {
    json["last"] = situation_json(last_->situation);
    json["last"]["did"] = creature::name(last_->behaviour);
  }
  return json;
}

loom::Result<void> Creature::set_state(const loom::Json& state) {
  LOOM_TRY(const std::uint32_t format, count_from(state, "format"));
  if (format != kFormat)
    return loom::fail(loom::Code::Unsupported, "it is a mind of format {}, this program reads {}", format, kFormat);
  LOOM_TRY(const std::string name, text_from(state, "name"));
  rename(name);
  if (name_ != name) return bad("name");
  LOOM_TRY(moments_, count_from(state, "moments"));
  LOOM_TRY(lessons_, count_from(state, "lessons"));
  LOOM_TRY(mood_, mood_from(state));
  const loom::Json* memories = loom::find(state, "memories");
  if (memories == nullptr) return bad("memories");
  LOOM_TRY(memories_, Memories::from_json(*memories));
  if (const loom::Json* last = loom::find(state, "last")) {
    LOOM_TRY(last_, done_from(*last));
  }
  return {};
}

loom::Result<loom::Digest> Creature::save(const std::string& path) const {
  LOOM_TRY(const std::vector<std::byte> network, loom::network_to_entity(brain_.network()));
  LOOM_TRY(const loom::EntityReader reader, loom::EntityReader::parse(network));
  loom::EntityWriter writer;
  LOOM_TRY_VOID(writer.add_all(reader));
  LOOM_TRY(std::string text, loom::dump_canonical(state()));
  LOOM_TRY_VOID(writer.add_text(kSection, 0, 0, std::move(text)));
  return writer.write(path);
}

loom::Result<Creature> Creature::load(const std::string& path, const Machine& machine) {
  LOOM_TRY(const loom::EntityReader reader, loom::EntityReader::open(path));
  if (reader.find(kSection) == nullptr)
    return loom::fail(loom::Code::CorruptData, "{}: no creature lives in this file", path);
  LOOM_TRY(loom::SpecResult loaded, loom::load_network(path));
  auto brain = Brain::of(std::move(loaded.network), machine);
  if (!brain) return loom::at(path, std::move(brain).error());
  Creature creature(std::move(*brain));
  LOOM_TRY(const auto bytes, reader.section(kSection));
  const auto restored = [&]() -> loom::Result<void> {
    LOOM_TRY(const loom::Json state, loom::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    return creature.set_state(state);
  }();
  if (!restored) return loom::at(path, restored.error());
  return creature;
}

}  // namespace creature
