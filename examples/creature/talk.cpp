#include "talk.h"

#include <algorithm>

namespace creature {
namespace {

constexpr std::array<std::string_view, 10> kPraise = {"good",  "yes",  "well done", "right",    "bravo",
                                                      "great", "nice", "thank you", "good boy", "good girl"};
constexpr std::array<std::string_view, 6> kScolding = {"bad", "no", "wrong", "stop", "bad boy", "bad girl"};

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

}  // namespace

loom::Result<bool> Talk::line(const std::string& text) {
  const std::string said = trimmed(text);
  if (said == "/quit" || said == "/exit" || said == "/bye") return false;
  // Teaching has an arrow, with or without its command.
  constexpr std::string_view kTeach = "/teach ";
  const std::string lesson = said.starts_with(kTeach) ? trimmed(std::string_view(said).substr(kTeach.size())) : said;
  if (const std::size_t arrow = lesson.find("->"); arrow != lesson.npos) {
    LOOM_TRY_VOID(
        teach(trimmed(std::string_view(lesson).substr(0, arrow)), trimmed(std::string_view(lesson).substr(arrow + 2))));
  } else if (said.starts_with('/')) {
    const std::size_t blank = std::min(said.find(' '), said.size());
    LOOM_TRY_VOID(command(said.substr(0, blank), trimmed(std::string_view(said).substr(blank))));
  } else {
    LOOM_TRY_VOID(live(tidy(said)));
  }
  return true;
}

loom::Result<void> Talk::live(const std::string& words) {
  const bool good = std::ranges::find(kPraise, words) != kPraise.end();
  if (good || std::ranges::find(kScolding, words) != kScolding.end()) return react(good);
  if (words == "help") return view_.help(), loom::Result<void>();
  const auto touch = touch_from(words);
  // The picture comes first, then what it learned from what happened: so nothing is shown while it learns.
  LOOM_TRY(const Moment moment, touch                              ? creature_.feel(*touch)
                                : words.empty() || words == "wait" ? creature_.wait()
                                                                   : creature_.hear(words));
  view_.moment(creature_, moment);
  if (moment.lesson) view_.lesson(*moment.lesson);
  return {};
}

loom::Result<void> Talk::react(bool good) {
  const auto watch = view_.watch();
  LOOM_TRY(const std::optional<Lesson> lesson, good ? creature_.praise(watch) : creature_.scold(watch));
  if (lesson) view_.lesson(*lesson);
  view_.praised(creature_, good, lesson.has_value());
  return {};
}

loom::Result<void> Talk::teach(const std::string& left, const std::string& right) {
  const std::string deed = tidy(right), words = tidy(left);
  const auto behaviour = behaviour_from(deed);
  if (!behaviour) {
    std::string known;
    for (const BehaviourText& b : kBehaviourTexts) known += " " + std::string(b.name);
    view_.note(fmt::format("It cannot {}. It can:{}", deed.empty() ? "do nothing on command" : deed, known));
    return {};
  }
  const auto touch = touch_from(words);
  if (words.empty()) return view_.note("Teach it like this:  come here -> come"), loom::Result<void>();
  LOOM_TRY(const Lesson lesson,
           creature_.teach(touch ? "" : words, touch.value_or(Touch::none), *behaviour, view_.watch()));
  view_.lesson(lesson);
  view_.taught(creature_, lesson);
  return {};
}

loom::Result<void> Talk::command(const std::string& word, const std::string& rest) {
  if (word == "/help") {
    view_.help();
  } else if (word == "/mind") {
    view_.mind(creature_);
  } else if (word == "/name") {
    if (!rest.empty()) creature_.rename(rest);
    view_.note(fmt::format("Its name is {}.", creature_.name()));
  } else if (word == "/save") {
    if (path_.empty()) return view_.note("This life is kept nowhere: start with --mind FILE."), loom::Result<void>();
    LOOM_TRY_VOID(creature_.save(path_));
    view_.note(fmt::format("Saved in {}.", path_));
  } else {
    view_.note(fmt::format("There is no {}: /help lists what there is.", word));
  }
  return {};
}

}  // namespace creature
