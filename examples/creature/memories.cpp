#include "memories.h"

namespace creature {

Row Memory::row(const Mood& mood) const {
  Row row{.situation = {words, touch, mood}, .expected = outcome.value_or(0)};
  if (behaviour) row.aim = shunned ? Row::Aim::anything_else : Row::Aim::behaviour, row.behaviour = *behaviour;
  return row;
}

const Memory* Memories::find(const Situation& situation) const {
  for (const Memory& m : all_)
    if (m.words == situation.words && m.touch == situation.touch) return &m;
  return nullptr;
}

Memory& Memories::recall_or_add(const Situation& situation) {
  Memory memory{situation.words, situation.touch};
  if (const Memory* known = find(situation)) {
    memory = *known;
    all_.erase(all_.begin() + (known - all_.data()));
  } else if (all_.size() == kCapacity) {
    all_.erase(all_.begin());
  }
  return all_.emplace_back(std::move(memory));
}

loom::Json Memories::to_json() const {
  loom::Json list = loom::Json::array();
  for (const Memory& m : all_) {
    loom::Json one{{"words", m.words}, {"touch", name(m.touch)}};
    if (m.behaviour) one[m.shunned ? "not" : "do"] = name(*m.behaviour);
    if (m.outcome) one["outcome"] = *m.outcome;
    list.push_back(std::move(one));
  }
  return list;
}

loom::Result<Memories> Memories::from_json(const loom::Json& json) {
  const auto bad = [] { return loom::fail(loom::Code::CorruptData, "its memories cannot be read"); };
  if (!json.is_array() || json.size() > kCapacity) return bad();
  Memories memories;
  for (const loom::Json& one : json) {
    const auto text = [&](const char* key) {
      const loom::Json* value = loom::find(one, key);
      return value == nullptr ? nullptr : loom::as_string(*value);
    };
    const std::string *words = text("words"), *touch = text("touch"), *taught = text("do"), *shunned = text("not");
    if (words == nullptr || touch == nullptr || (taught != nullptr && shunned != nullptr) || *words != tidy(*words))
      return bad();
    Memory m{*words, Touch::none};
    if (!touch->empty()) {
      const auto known = touch_from(*touch);
      if (!known) return bad();
      m.touch = *known;
    }
    if (const std::string* what = taught != nullptr ? taught : shunned) {
      m.behaviour = behaviour_from(*what), m.shunned = shunned != nullptr;
      if (!m.behaviour) return bad();
    }
    if (const loom::Json* outcome = loom::find(one, "outcome")) {
      const auto n = loom::as_int(*outcome);
      if (!n || *n < -1000 || *n > 1000) return bad();
      m.outcome = static_cast<int>(*n);
    }
    memories.all_.push_back(std::move(m));
  }
  return memories;
}

}  // namespace creature
