#pragma once
// The view prints everything that people see. In a terminal it moves: bars grow step by step as the net learns, and the
// picture is alive while a line is awaited. Otherwise it is plain text, a function of the life alone.

#include <functional>
#include <string>

#include "creature.h"
#include "face.h"

namespace creature {

struct Style {
  bool colour = false;
  bool live = false;  // a terminal of `rows` by `columns`: moves, and takes its time
  std::size_t rows = 24, columns = 80;
};

class View {
 public:
  using Sink = std::function<void(std::string_view)>;
  View(Style style, Sink sink) : style_(style), sink_(std::move(sink)) {}

  void hatched(const Creature& creature);
  void welcome_back(const Creature& creature, const std::string& path);
  void moment(const Creature& creature, const Moment& moment);
  void praised(const Creature& creature, bool good, bool learned);
  void taught(const Creature& creature, const Lesson& lesson);
  // The page of /mind.
  void mind(Creature& creature);
  void help();
  void note(std::string_view text);
  void say(std::string_view text);  // a line
  void prompt();
  // A line was typed, and its end echoed by the terminal.
  void typed(std::string_view line);

  // Shows a lesson while it goes on; the same lines as lesson() at its end.
  Creature::Watch watch();
  void lesson(const Lesson& lesson);

  // Redraws the last picture in place: its next frame.
  void idle();
  void pause(int ms) const;
  const Style& style() const { return style_; }

  // A bar of `width` columns for a share of 0 to 1, and a row of levels, each 0 to 1.
  std::string bar(double share, std::size_t width, int colour) const;
  static std::string curve(std::span<const double> levels);
  // Eight digits, with their colours in front where there are such.
  std::string short_hash(const std::string& hash) const;
  std::string paint(std::string_view text, std::string_view code) const;

 private:
  void write(std::string_view text);
  void panel(const Look& look, std::array<std::string, kPictureLines> beside);
  std::string picture_line(const std::string& line) const;
  std::string mood_line(const Mood& mood) const;
  std::string guess_line(const Guess& guess, Behaviour behaviour, double width) const;

  Style style_;
  Sink sink_;
  Look look_;
  std::size_t rows_since_panel_ = 0;  // 0: there is none
  std::size_t frame_ = 0;
  bool lesson_shown_ = false;  // by watch(), so that lesson() completes it
};

}  // namespace creature
