#pragma once
// Shared by all commands: options, exit codes, progress on a terminal, Ctrl-C.

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "host/device.h"
#include "lm/generator.h"
#include "network/session/network_session.h"

namespace loom::cli {

enum Exit : int { kOk = 0, kFailed = 1, kUsage = 2, kBadFile = 3, kOutOfMemory = 4, kInterrupted = 130 };

struct CommonOptions {
  int threads = 0;
  std::string isa, device = "cpu", precision = "strict", activations = "int16", kv_dtype = "float32";
  std::size_t context = 0;
  std::string dtype;
  std::vector<std::string> adapters, use_adapters;
  std::uint64_t max_memory = std::uint64_t{4} << 30;  // of commands that look at networks by other people
  bool quiet = false;
  bool json = false;
};

// Adds --quiet alone, for commands that compute nothing with threads.
void add_quiet(CLI::App& app, CommonOptions& options);
// Adds -t, --isa, --quiet and, for commands that run a model, --device, --activations, --kv-dtype, --ctx, --adapter,
// --use-adapters and --dtype.
void add_common(CLI::App& app, CommonOptions& options, bool runs_model);
// --device and --precision, and what they name; null: this computer. Warns of a device that is not exact.
void add_device(CLI::App& app, CommonOptions& options);
Result<Device*> open_device(const CommonOptions& options);
// InvalidArgument for precision fast, of a command that compares bits, or goes by them.
Result<void> need_exact(const CommonOptions& options, std::string_view command, std::string_view does = "compares");
// Returns a note to print after a hash: empty, or that no other device gives this hash.
std::string hash_note(Precision precision);
// Sets the device of a session by --device and --precision. `auto` is chosen for this number of passes, and reported
// unless --quiet.
Result<void> name_device(const CommonOptions& options, NetworkSessionOptions& session, double passes = kManyPasses);
Result<void> name_device(const CommonOptions& options, graph::RunnerOptions& session, double passes);
// Threads, instruction set and device of a training.
Result<NetworkSessionOptions> session_options(const CommonOptions& options);
// --dtype of commands that read a language model's weights.
void add_model_dtype(CLI::App& app, CommonOptions& options);

// --max-memory: what the weights that a spec asks for, and one call, may take.
CLI::Option* add_max_memory(CLI::App& app, CommonOptions& options);
// Like add_max_memory(), without a limit unless one is given.
void add_max_step_memory(CLI::App& app, CommonOptions& options);
// --lenient, --json, --max-memory and what add_common() adds: of commands that read networks and run no language model.
void add_network_flags(CLI::App& app, CommonOptions& options, bool& lenient);

// An empty value is an error (often an unset shell variable); it does not mean that the option is absent.
CLI::Validator not_empty();
// An option that names a file or a folder, or several of them.
template <class T>
CLI::Option* add_path(CLI::App& app, const std::string& names, T& path, const std::string& what) {
  return app.add_option(names, path, what)->check(not_empty());
}

// Digits alone, from `least` to 2^64 - 1: CLI11 wraps negative numbers of unsigned options and clips large ones.
CLI::Validator whole_number(std::uint64_t least = 0);
CLI::Validator port_number();  // 0 to 65535
// Neither NaN nor outside low to high.
CLI::Validator number_within(double low, double high);

// Names that are typed: what is no name of its kind is wrong usage, where in a file it is a bad file.
CLI::Validator isa_name();
CLI::Validator dtype_name();
CLI::Validator network_dtype_name();  // of the 21 alone
// The same of a name that is no option's whole value. InvalidArgument.
Result<DType> network_dtype_from_name(std::string_view text);

// Prints the error as one line on stderr and maps it to an exit code.
int report(const Error& error);
// A line on stderr for a person, unless --quiet.
void remark(const CommonOptions& options, const std::string& text);
// "loom: warning: TEXT" on stderr.
void warn(const std::string& text);
// An error of what stands in files names one of them: the first, where it names none. Usage and a cancel are no fault
// of a file.
Result<int> naming(std::initializer_list<std::string_view> files, Result<int> status);
// The exit status of a command: its own, or that of its error. Warns of a graphics card that errs.
int finish(const Result<int>& status);

// Escapes to colour text; empty unless stdout is a terminal that knows them and NO_COLOR is unset.
struct Colours {
  const char *dim = "", *bold = "", *green = "", *reset = "";
};
Colours colours();
bool stderr_is_terminal();

// A bar on stderr, on a terminal only and never wider than it. It is drawn again after each percent and, with another
// note, after a fifth of a second. A label that is too long loses its beginning. With a delay the bar is shown only
// when the work takes longer.
class Progress {
 public:
  Progress(std::string_view label, bool quiet, std::chrono::milliseconds delay = {});
  ~Progress();
  void update(double fraction, const std::string& note = {});

 private:
  std::string label_;
  bool shown_;
  int last_ = -1;
  std::chrono::steady_clock::time_point from_, told_{};
};

// Ctrl-C, SIGTERM and SIGHUP set the flag (a second Ctrl-C ends the program), which calls that run long take as their
// cancel. Without a watch they end the program. clear_interrupt() forgets Ctrl-C alone.
void watch_interrupts();
bool interrupted();
int interrupt_descriptor();                 // readable while interrupted(), for poll()
const std::atomic<bool>& interrupt_flag();  // what interrupted() reads, for long work that takes a flag
void clear_interrupt();

Result<LanguageModel> open_model(const std::string& path, const CommonOptions& options);
Result<std::unique_ptr<Session>> open_session(const LanguageModel& model, const CommonOptions& options,
                                              std::size_t sequences = 1, std::size_t chunk_rows = 0);  // 0: the default
// --speculate: "ngram" or the path of a smaller model.
void add_speculate(CLI::App& app, std::string& speculate);
// Opens the drafter of a session (lm/speculation.h); null for an empty text.
Result<std::shared_ptr<Drafter>> open_drafter(const std::string& speculate, const LanguageModel& model,
                                              const Session& session, const CommonOptions& options);
Json speculation_json(const SpeculationCounts& counts);

// "-p" text, "--file" or, with "-", standard input. IoError for a standard input that is closed or cannot be read.
Result<std::string> read_input(const std::string& text, const std::string& file);
// "1,2,3" or blanks between.
Result<std::vector<std::int32_t>> parse_ids(const std::string& text);

void print_json(const Json& value);
// One line on stderr when a text held bytes that the vocabulary has no token for; nothing for 0.
void warn_dropped(std::size_t bytes);

}  // namespace loom::cli
