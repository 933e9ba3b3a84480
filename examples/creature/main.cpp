// A small animal that lives in a terminal and in one file: creature --help.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "core/file.h"
#include "demo.h"
#include "input.h"
#include "talk.h"

namespace {

using namespace creature;

constexpr char kHelp[] =
    "A small animal that lives in your terminal, learns in front of you, and keeps its mind in one file.\n"
    "\n"
    "  creature [--mind FILE] [--seed N]     live with it; its mind is ./creature.entity unless said otherwise\n"
    "  creature --script FILE | < FILE       the same without a terminal: the same script, the same brain, everywhere\n"
    "  creature --demo                       watch it being taught, some ten seconds\n"
    "\n"
    "  --mind FILE     where its mind is kept; hatched if there is none. Scripts keep none unless this is given\n"
    "  --seed N        which animal hatches (0 to 4294967295); scripts and the demo: 7; else any\n"
    "  --script FILE   lines to live through in place of the terminal; # begins a comment\n"
    "  --diary FILE    write down what you say: as a --script it leads to the same brain\n"
    "  --no-colour     plain text (also NO_COLOR)\n"
    "  --threads N, --isa NAME    how the net is run; no bit of its brain depends on it\n"
    "\n"
    "Say anything. Tell it good or bad after what it did, or teach it: come here -> come. Touch it: pet, tickle, "
    "poke,\n"
    "feed. Let it be: wait. Look into it: /mind. Ctrl-C and Ctrl-D save its mind.\n";

struct Options {
  std::string mind, script, diary;
  std::optional<std::uint32_t> seed;
  Machine machine;
  bool demo = false, colour = true;
};

template <class T>
bool number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

loom::Result<Options> read_options(std::span<char* const> arguments) {
  Options o;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view key = arguments[i];
    if (key == "--demo") {
      o.demo = true;
      continue;
    }
    if (key == "--no-colour" || key == "--no-color") {
      o.colour = false;
      continue;
    }
    const bool takes_value = key == "--mind" || key == "--script" || key == "--diary" || key == "--seed" ||
                             key == "--threads" || key == "--isa";
    if (!takes_value) return loom::fail(loom::Code::UnknownKey, "unknown option {}: creature --help", key);
    if (i + 1 == arguments.size())
      return loom::fail(loom::Code::InvalidArgument, "{} needs a value: creature --help", key);
    const std::string value = arguments[++i];
    if (key == "--mind") o.mind = value;
    if (key == "--script") o.script = value;
    if (key == "--diary") o.diary = value;
    if (key == "--seed" && !number(value, o.seed.emplace()))
      return loom::fail(loom::Code::OutOfRange, "--seed {}: 0 to 4294967295 expected", value);
    if (key == "--threads" && (!number(value, o.machine.threads) || o.machine.threads < 1 || o.machine.threads > 256))
      return loom::fail(loom::Code::OutOfRange, "--threads {}: 1 to 256 expected", value);
    if (key == "--isa") {
      LOOM_TRY(o.machine.isa, loom::isa_from_name(value));
    }
  }
  return o;
}

// The one that lives in the file, or a new one. A file that cannot be read is an error and stays as it is.
loom::Result<Creature> wake_or_hatch(const Options& o, bool& is_new) {
  is_new = o.mind.empty() || access(o.mind.c_str(), F_OK) != 0;
  if (is_new) return Creature::hatch(o.seed.value_or(7), o.machine);
  auto creature = Creature::load(o.mind, o.machine);
  if (!creature)
    return loom::fail(creature.error().code, "{}\nThe file was left as it is; --mind names another.",
                      creature.error().text());
  if (o.seed && *o.seed != creature->seed())
    return loom::fail(loom::Code::InvalidArgument, "{} lives in {} and was born of seed {}, not {}", creature->name(),
                      o.mind, creature->seed(), *o.seed);
  return creature;
}

class Diary {
 public:
  explicit Diary(const std::string& path) : file_(path.empty() ? nullptr : std::fopen(path.c_str(), "a")) {}
  ~Diary() {
    if (file_ != nullptr) std::fclose(file_);
  }
  bool is_open() const { return file_ != nullptr; }
  void add(const std::string& line) {
    if (file_ == nullptr) return;
    std::fprintf(file_, "%s\n", line.empty() ? "wait" : line.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* file_;
};

// The whole life of one start; saves at its end, and in a terminal after every line, so that nothing is lost whatever
// happens.
loom::Result<void> live(const Options& o, View& view, int fd, bool interactive) {
  bool is_new = false;
  LOOM_TRY(Creature creature, wake_or_hatch(o, is_new));
  Diary diary(o.diary);
  if (!o.diary.empty() && !diary.is_open()) return loom::fail(loom::Code::IoError, "{}: cannot be written", o.diary);
  const auto keep = [&]() -> loom::Result<void> {
    if (!o.mind.empty()) LOOM_TRY_VOID(creature.save(o.mind));
    return {};
  };
  LOOM_TRY_VOID(keep());  // a place where nothing can be kept is to be known before it is loved
  is_new ? view.hatched(creature) : view.welcome_back(creature, o.mind);

  Talk talk(creature, view, o.mind);
  Lines lines(fd);
  for (;;) {
    if (interactive) view.say(""), view.prompt();
    const auto line = interactive ? lines.next([&] { view.idle(); }) : lines.next();
    if (!line) break;
    const std::size_t text = line->find_first_not_of(" \t\r");
    const bool nothing = text == line->npos || (*line)[text] == '#';
    if (!interactive && nothing) continue;
    if (interactive)
      view.typed(*line);
    else
      view.say("\n" + view.paint("> " + *line, "38;5;221"));
    diary.add(*line);
    LOOM_TRY(const bool goes_on, talk.line(*line));
    if (interactive) LOOM_TRY_VOID(keep());
    if (!goes_on) break;
  }
  LOOM_TRY_VOID(keep());
  const std::string kept = o.mind.empty() ? std::string("not kept: there was no --mind") : "kept in " + o.mind;
  view.say(fmt::format("\n  {} curls up. Its mind is {}.", creature.name(), kept));
  view.say(fmt::format("  brain {}", creature.brain().hash()));
  return {};
}

Style style_of(const Options& o) {
  Style style;
  const char* kind = std::getenv("TERM");
  const bool terminal = isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
  style.colour = o.colour && terminal && std::getenv("NO_COLOR") == nullptr;
  style.live = terminal && (o.demo || (o.script.empty() && isatty(STDIN_FILENO) != 0));
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
    style.rows = size.ws_row, style.columns = size.ws_col;
  return style;
}

loom::Result<void> run(Options o) {
  View view(style_of(o), [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  });
  if (o.demo) {
    LOOM_TRY(Creature creature, Creature::hatch(o.seed.value_or(7), o.machine));
    return demonstrate(creature, view);
  }
  const bool interactive = o.script.empty() && isatty(STDIN_FILENO) != 0;
  if (interactive && o.mind.empty()) o.mind = "creature.entity";
  if (interactive && !o.seed && access(o.mind.c_str(), F_OK) != 0) o.seed = std::random_device()();
  const int fd = o.script.empty() ? STDIN_FILENO : open(o.script.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return loom::fail(loom::Code::NotFound, "{}: cannot be read", o.script);
  Lines::watch_signals();
  return live(o, view, fd, interactive);
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (std::string_view(arguments[i]) == "--help" || std::string_view(arguments[i]) == "-h")
      return std::fputs(kHelp, stdout), 0;
  auto options = read_options({arguments, static_cast<std::size_t>(count)});
  const auto result = options ? run(std::move(*options)) : loom::Result<void>(tl::make_unexpected(options.error()));
  if (!result) return std::fprintf(stderr, "creature: %s\n", result.error().text().c_str()), 1;
  return 0;
}
