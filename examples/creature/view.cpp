#include "view.h"

#include <time.h>

#include <algorithm>

namespace creature {
namespace {

constexpr std::string_view kBold = "1", kDim = "2", kWarm = "38;5;216", kGold = "38;5;221";
constexpr int kLikely = 114, kUnlikely = 179, kStepMs = 70, kBarWidth = 20;

std::string quoted(const Situation& s) { return s.words.empty() ? std::string(name(s.touch)) : '"' + s.words + '"'; }
int percent(double share) { return static_cast<int>(share * 100 + 0.5); }

// Between 0 and 1 in eight levels.
std::string_view level(double share) {
  constexpr std::array<std::string_view, 8> kLevels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kLevels[static_cast<std::size_t>(std::clamp(share * 8, 0.0, 7.0))];
}

std::string what_it_does(const Creature& c, const Moment& m) {
  const std::string& who = c.name();
  switch (m.deed.temper) {
    case Temper::tired: return fmt::format("{} is too tired to {} and curls up.", who, name(m.wish));
    case Temper::shy: return fmt::format("{} does not trust you enough to {}, and hides.", who, name(m.wish));
    case Temper::hungry: return fmt::format("{} is too hungry to {}.", who, name(m.wish));
    case Temper::afraid: return fmt::format("{} hides in its box.", who);
    case Temper::hopeful: return fmt::format("{} comes running, full of hope.", who);
    case Temper::willing: break;
  }
  const bool empty_bowl = m.deed.behaviour == Behaviour::eat && m.situation.touch != Touch::feed;
  const std::string_view doing =
      empty_bowl ? "licks its empty bowl" : kBehaviourTexts[static_cast<std::size_t>(m.deed.behaviour)].doing;
  if (m.situation.words.empty() && m.situation.touch == Touch::none)
    return fmt::format("Left alone, {} {}.", who, doing);
  if (m.tries) return fmt::format("{} is not sure what to do, and {}.", who, doing);
  return fmt::format("{} {}.", who, doing);
}

std::string_view what_it_expects(int expectation) {
  if (expectation <= -400) return "It knows what comes after these words, and is afraid.";
  if (expectation <= -250) return "Something about these words makes it uneasy.";
  if (expectation >= 400) return "It loves what comes after these words.";
  if (expectation >= 250) return "These words sound promising.";
  return "";
}

std::string about(const Lesson& l) {
  switch (l.kind) {
    case Lesson::Kind::taught: return fmt::format("{} → {}", quoted(l.situation), name(l.behaviour));
    case Lesson::Kind::praised: return fmt::format("{} → {}: that was right", quoted(l.situation), name(l.behaviour));
    case Lesson::Kind::scolded: return fmt::format("{} → {}: that was wrong", quoted(l.situation), name(l.behaviour));
    case Lesson::Kind::followed:
      return fmt::format("{} was followed by something {}", quoted(l.situation), l.outcome < 0 ? "bad" : "good");
    case Lesson::Kind::dreamt: return fmt::format("it dreams of {}", quoted(l.situation));
  }
  return "";
}

Behaviour shown_of(const Lesson& l) { return l.kind == Lesson::Kind::dreamt ? l.before.best() : l.behaviour; }

}  // namespace

void View::write(std::string_view text) {
  if (rows_since_panel_ > 0) rows_since_panel_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
  sink_(text);
}

void View::say(std::string_view text) { write(std::string(text) + "\n"); }
void View::note(std::string_view text) { say(paint(text, kDim)); }
void View::prompt() { write(paint("> ", kGold)); }

void View::typed(std::string_view line) {
  if (rows_since_panel_ > 0) rows_since_panel_ += 1 + (columns(line) + 2) / style_.columns;
}

void View::pause(int ms) const {
  if (!style_.live) return;
  const timespec time{ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&time, nullptr);  // a signal cuts it short, which is welcome
}

std::string View::paint(std::string_view text, std::string_view code) const {
  return style_.colour && !text.empty() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::string View::bar(double share, std::size_t width, int colour) const {
  constexpr std::array<std::string_view, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(8 * width) + 0.5);
  std::string full;
  for (std::size_t i = 0; i < eighths / 8; ++i) full += "█";
  full += kParts[eighths % 8];
  std::string rest;
  for (std::size_t i = (eighths + 7) / 8; i < width; ++i) rest += "·";
  return paint(full, fmt::format("38;5;{}", colour)) + paint(rest, kDim);
}

std::string View::curve(std::span<const double> levels) {
  std::string out;
  for (const double v : levels) out += level(v);
  return out;
}

std::string View::short_hash(const std::string& hash) const {
  std::string out;
  if (style_.colour) {
    // One coloured block per byte, out of the 6x6x6 cube of most terminals: people see at a glance that a brain is
    // another one.
    for (std::size_t i = 0; i < 8; i += 2) {
      const auto digit = [&](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
      out += paint("█", fmt::format("38;5;{}", 16 + (digit(hash[i]) * 16 + digit(hash[i + 1])) % 216));
    }
    out += ' ';
  }
  return out + hash.substr(0, 8);
}

std::string View::mood_line(const Mood& mood) const {
  std::string out;
  const std::array<int, 5> values = mood.values();
  for (std::size_t i = 0; i < values.size(); ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : "  ", paint(Mood::kNames[i], kDim),
                       level(static_cast<double>(values[i]) / 1000));
  return out;
}

std::string View::guess_line(const Guess& guess, Behaviour behaviour, double width) const {
  const double share = guess.of(behaviour);
  return fmt::format("{:<6}{} {:>3} %", name(behaviour),
                     bar(share, static_cast<std::size_t>(width), share >= Creature::kSure ? kLikely : kUnlikely),
                     percent(share));
}

std::string View::picture_line(const std::string& line) const { return paint(line, kWarm); }

void View::panel(const Look& look, std::array<std::string, kPictureLines> beside) {
  look_ = look;
  rows_since_panel_ = 1;
  const auto show = [&](std::size_t frame) {
    const auto lines = picture(look, frame);
    for (std::size_t i = 0; i < kPictureLines; ++i) {
      // Blanks at the end wipe out the frame before; where there is none, they would only be in the way of who compares
      // texts.
      const bool bare = !style_.live && beside[i].empty();
      write((bare ? picture_line(lines[i].substr(0, lines[i].find_last_not_of(' ') + 1))
                  : picture_line(lines[i]) + " " + beside[i]) +
            "\n");
    }
  };
  show(0);
  for (frame_ = 1; style_.live && frame_ <= 4; ++frame_) {
    pause(180);
    write(fmt::format("\033[{}A", kPictureLines));
    show(frame_);
  }
  rows_since_panel_ = kPictureLines;
}

void View::idle() {
  if (!style_.live || rows_since_panel_ == 0 || rows_since_panel_ + 1 >= style_.rows || style_.columns < 80) return;
  ++frame_;
  Look look = look_;
  look.blinking = frame_ % 7 == 0;
  const auto lines = picture(look, frame_ / 2);
  std::string out = fmt::format("\0337\033[?25l\033[{}A", rows_since_panel_);
  for (const std::string& line : lines) out += "\r" + picture_line(line) + "\033[B";
  sink_(out + "\0338\033[?25h");
}

void View::hatched(const Creature& c) {
  panel({.behaviour = Behaviour::sit, .mood = c.mood()},
        {"", fmt::format("{} has hatched.", paint(c.name(), kBold)), "It knows a poke from a pat, and not one word.",
         "Talk to it, and tell it when it does well: /help", mood_line(c.mood()),
         fmt::format("seed {}  brain {}", c.seed(), short_hash(c.brain().hash()))});
}

void View::welcome_back(const Creature& c, const std::string& path) {
  std::string last = "It has not met you yet.";
  if (c.last()) {
    const Situation& s = c.last()->situation;
    if (!s.words.empty())
      last = fmt::format("The last thing you said was \"{}\".", s.words);
    else if (s.touch != Touch::none)
      last = fmt::format("The last thing you did was to {} it.", name(s.touch));
    else
      last = "When you left, nothing was going on.";
  }
  const bool glad = c.mood().trust >= 300;
  panel({.behaviour = glad ? Behaviour::come : Behaviour::sit, .mood = c.mood()},
        {fmt::format("{} {}", paint(c.name(), kBold),
                     glad ? "knows you and comes running." : "looks up, and stays where it is."),
         last,
         fmt::format("Lessons so far: {}. Remembered: {}. Its mind is in {}.", c.lessons(), c.memories().all().size(),
                     path),
         "", mood_line(c.mood()), fmt::format("seed {}  brain {}", c.seed(), short_hash(c.brain().hash()))});
}

void View::moment(const Creature& c, const Moment& m) {
  const bool words = !m.situation.words.empty();
  const Look look{.behaviour = m.deed.behaviour,
                  .mood = c.mood(),
                  .startled = (m.situation.touch == Touch::poke && m.deed.behaviour == Behaviour::hide) ||
                              (words && m.guess.expectation <= -400),
                  .puzzled = words && m.tries && m.deed.temper == Temper::willing};
  std::array<std::size_t, kBehaviours> order;
  for (std::size_t b = 0; b < kBehaviours; ++b) order[b] = b;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return m.guess.sure[a] != m.guess.sure[b] ? m.guess.sure[a] > m.guess.sure[b] : a < b;
  });
  panel(look, {"", paint(what_it_does(c, m), kBold), std::string(words ? what_it_expects(m.guess.expectation) : ""),
               guess_line(m.guess, static_cast<Behaviour>(order[0]), kBarWidth),
               guess_line(m.guess, static_cast<Behaviour>(order[1]), kBarWidth), mood_line(c.mood())});
}

void View::praised(const Creature& c, bool good, bool learned) {
  panel({.behaviour = good ? Behaviour::purr : Behaviour::sit, .mood = c.mood()},
        {"", paint(fmt::format("{} {}.", c.name(), good ? "is proud" : "looks down"), kBold),
         learned ? "" : "But it does not know what for.", "", mood_line(c.mood()), ""});
}

void View::taught(const Creature& c, const Lesson& l) {
  const Moment shown{
      .situation = l.situation, .guess = l.after, .wish = l.behaviour, .deed = {l.behaviour, Temper::willing}};
  moment(c, shown);
}

Creature::Watch View::watch() {
  if (!style_.live) return {};
  return [this](const Lesson& l) {
    if (l.steps == 1) say(paint(fmt::format("  lesson {} · {}", l.number, about(l)), kBold));
    write(fmt::format("\r    {}   gap {:.3f}", guess_line(l.after, l.behaviour, kBarWidth), l.last.gap));
    lesson_shown_ = true;
    pause(kStepMs);
  };
}

void View::lesson(const Lesson& l) {
  if (!lesson_shown_) say(paint(fmt::format("  lesson {} · {}", l.number, about(l)), kBold));
  const std::string_view erase = lesson_shown_ ? "\r\033[K" : "";
  lesson_shown_ = false;
  const Behaviour b = shown_of(l);
  if (l.kind == Lesson::Kind::followed)
    say(fmt::format("{}    expects {} {:+.2f} → {:+.2f}", erase,
                    bar(std::abs(l.after.expectation) / 1000.0, kBarWidth, l.outcome < 0 ? 203 : kLikely),
                    l.before.expectation / 1000.0, l.after.expectation / 1000.0));
  else
    say(fmt::format("{}    {:<6}{} {} % → {} %", erase, name(b), bar(l.after.of(b), kBarWidth, kLikely),
                    percent(l.before.of(b)), percent(l.after.of(b))));
  note(fmt::format("    {} tween steps · gap {:.3f} → {:.3f} · budget {:.3f} → {:.3f}", l.steps, l.first.gap,
                   l.last.gap, l.first.budget, l.last.budget));
  say(fmt::format("    brain {} → {}", short_hash(l.hash_before), short_hash(l.hash_after)));
}

void View::mind(Creature& c) {
  say(paint(fmt::format("  The mind of {}, born of seed {}: {} moments, {} lessons", c.name(), c.seed(), c.moments(),
                        c.lessons()),
            kBold));
  const std::array<int, 5> values = c.mood().values();
  for (std::size_t i = 0; i < values.size(); ++i)
    say(fmt::format("    {:<10}{} {:>3} %", Mood::kNames[i], bar(values[i] / 1000.0, kBarWidth, kUnlikely),
                    values[i] / 10));
  const std::string hash = c.brain().hash();
  say(fmt::format("    brain     {}  {} weights", short_hash(hash), c.brain().num_weights()));
  note("    SHA-256   " + hash);

  const Situation now = c.last() ? c.last()->situation : Situation{};
  if (const auto guess = c.guess(now.words, now.touch)) {
    const bool silence = now.words.empty() && now.touch == Touch::none;
    say(fmt::format("    thinks of {}", silence ? "nothing" : quoted(now)));
    constexpr std::size_t kPerRow = 24;
    for (std::size_t row = 0; row < kHidden; row += kPerRow) {
      std::string cells = "              ";
      for (std::size_t i = row; i < row + kPerRow; ++i) {
        const double v = static_cast<double>(guess->cells[i]);
        // Blue through grey to red, or eight heights.
        const int shade = std::clamp(static_cast<int>((v + 1) * 3.5), 0, 6);
        constexpr std::array<int, 7> kHeat = {27, 33, 67, 240, 131, 167, 196};
        cells += style_.colour ? paint("██", fmt::format("38;5;{}", kHeat[static_cast<std::size_t>(shade)]))
                               : std::string(level((v + 1) / 2));
      }
      say(cells);
    }
  }
  std::string known;
  for (auto m = c.memories().all().rbegin(); m != c.memories().all().rend() && m - c.memories().all().rbegin() < 12;
       ++m) {
    std::string line = fmt::format("    {:<24}", quoted({m->words, m->touch, {}}));
    if (m->behaviour) line += fmt::format(" {} {}", m->shunned ? "not" : "→", name(*m->behaviour));
    if (m->outcome)
      line += fmt::format("{} {} it", m->behaviour ? "," : "",
                          *m->outcome < -200  ? "fears"
                          : *m->outcome > 200 ? "loves"
                                              : "does not mind");
    known += line + "\n";
  }
  say(fmt::format("    remembers {} of {} things, the newest first", c.memories().all().size(), Memories::kCapacity));
  if (!known.empty()) write(known);
}

void View::help() {
  say("  any words          say something: it answers with what it would like to do");
  say("  good, bad          tell it what you think of what it just did: it learns");
  say("  WORDS -> DEED      teach it; WORDS may be a touch: poke -> dance");
  note("    deeds: sit come spin dance sing play purr eat sleep hide");
  say("  pet tickle poke feed   touch it; said words just before become a sign of what follows");
  say("  wait (or Enter)    let it be: it does what it feels like, and dreams when it sleeps");
  say("  /mind              look into its brain");
  say("  /name NAME  /save  /help  /quit (or Ctrl-D, Ctrl-C: its mind is saved)");
}

}  // namespace creature
