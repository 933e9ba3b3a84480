#include "cli/common.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

namespace loom::cli {
namespace {

std::atomic<bool> g_interrupted{false};
std::atomic<std::atomic<bool>*> g_session_cancel{nullptr};

void on_interrupt(int) {
  if (g_interrupted.exchange(true)) _exit(kInterrupted);
  if (std::atomic<bool>* cancel = g_session_cancel.load()) cancel->store(true);
}

}  // namespace

void add_common(CLI::App& app, CommonOptions& options, bool runs_model) {
  app.add_option("-t,--threads", options.threads, "Threads (default: one per physical core)")->check(CLI::Range(1, ThreadPool::kMaxThreads));
  app.add_option("--isa", options.isa, "Instruction set: scalar, sse4, avx2, avx512, neon, wasm128 (default: the best one; same bits with each)");
  app.add_option("--activations", options.activations,
                 "Inputs of quantised weights: int16 (answers as with exact inputs) or int8 (longer prompts faster)")
      ->check(CLI::IsMember({"int16", "int8"}))
      ->capture_default_str();
  app.add_flag("-q,--quiet", options.quiet, "No progress bars and notes on stderr");
  if (!runs_model) return;
  app.add_option("--ctx", options.context, fmt::format("Context in tokens (default: the model's, at most {})", kDefaultContext))
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--adapter", options.adapters, "Folder of a low-rank adapter in PEFT's format; may be given several times");
  app.add_option("--dtype", options.dtype, "Turn the weights into another type on load: any of the 21 (float64 to binary), q8_0, q4_0, q4_1, tq2_0");
}

CLI::Validator whole_number() {
  const auto check = [](std::string& text) -> std::string {
    constexpr std::string_view kLargest = "18446744073709551615";
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    const std::string_view number = std::string_view(text).substr(std::min(text.size(), text.find_first_not_of('0')));
    if (digits && (number.size() < kLargest.size() || (number.size() == kLargest.size() && number <= kLargest))) return {};
    return fmt::format("{} is no whole number from 0 to {}", text, kLargest);
  };
  return CLI::Validator(check, "", "whole number");
}

void add_max_memory(CLI::App& app, CommonOptions& options) {
  app.add_option("--max-memory", options.max_memory, "Most bytes that a network's drawn weights, or a call, may take: 6G, 500M, ...")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("4G");
}

int report(const Error& error) {
  std::string line = error.message;   // file names may hold anything
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  std::fprintf(stderr, "loom: %s\n", line.c_str());
  switch (error.code) {
    case Code::InvalidArgument:
    case Code::UnknownName: return kUsage;
    case Code::OutOfMemory: return kOutOfMemory;
    case Code::Cancelled: return kInterrupted;
    case Code::NotFound:
    case Code::IoError:
    case Code::DiskFull:
    case Code::ContextFull:
    case Code::IndexOutOfRange:
    case Code::CorruptData:
    case Code::Unsupported:
    case Code::ShapeMismatch:
    case Code::SizeOverflow:
    case Code::InvalidConfig:
    case Code::UnknownKey:
    case Code::NonFinite:
    case Code::LimitExceeded:
    case Code::TemplateError:
    case Code::NoTemplate:
    case Code::OutOfRange: return kBadFile;
    default: return kFailed;
  }
}

Colours colours() {
  if (!isatty(STDOUT_FILENO) || std::getenv("NO_COLOR") != nullptr) return {};
  return {"\033[2m", "\033[1m", "\033[32m", "\033[0m"};
}

bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }

Progress::Progress(std::string label, bool quiet) : label_(std::move(label)), shown_(!quiet && stderr_is_terminal()) {}

Progress::~Progress() {
  if (shown_ && last_ >= 0) std::fprintf(stderr, "\r\033[K");
}

void Progress::update(double fraction, const std::string& note) {
  const int percent = static_cast<int>(fraction * 100);
  const auto now = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds kNotePause{200};
  if (!shown_ || (percent == last_ && (note.empty() || now - told_ < kNotePause))) return;
  last_ = percent, told_ = now;
  constexpr int kWidth = 30;
  const int full = percent * kWidth / 100;
  std::fprintf(stderr, "\r%s [%s%s] %3d%% %s\033[K", label_.c_str(), std::string(static_cast<std::size_t>(full), '#').c_str(),
               std::string(static_cast<std::size_t>(kWidth - full), '.').c_str(), percent, note.c_str());
}

void watch_interrupts(std::atomic<bool>* session_cancel) {
  g_session_cancel = session_cancel;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return g_interrupted; }

void clear_interrupt() {
  g_interrupted = false;
  if (std::atomic<bool>* cancel = g_session_cancel.load()) cancel->store(false);
}

Result<LanguageModel> open_model(const std::string& path, const CommonOptions& options) {
  watch_interrupts(nullptr);
  ModelOptions model;
  model.threads = options.threads;
  if (!options.dtype.empty()) {
    LOOM_TRY(model.decoder.dtype, dtype_from_name(options.dtype));
  }
  model.adapters = options.adapters;
  Progress bar("loading " + path, options.quiet);
  model.decoder.progress = [&](std::size_t done, std::size_t total) {
    bar.update(static_cast<double>(done) / static_cast<double>(total));
    return !interrupted();
  };
  return load_language_model(path, model);
}

Result<std::unique_ptr<Session>> open_session(const LanguageModel& model, const CommonOptions& options, std::size_t sequences) {
  SessionOptions session;
  session.threads = options.threads;
  session.context_tokens = options.context;
  session.sequences = sequences;
  session.activations = options.activations == "int8" ? Activations::int8 : Activations::int16;
  if (!options.isa.empty()) {
    LOOM_TRY(session.isa, isa_from_name(options.isa));
  }
  LOOM_TRY(auto opened, Session::create(model.decoder, session));
  watch_interrupts(&opened->cancel());
  return opened;
}

Result<std::string> read_input(const std::string& text, const std::string& file) {
  if (file.empty()) return text;
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return read_text_file(file, std::size_t{2} << 30);
}

Result<std::vector<std::int32_t>> parse_ids(const std::string& text) {
  std::vector<std::int32_t> ids;
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == ',' || text[i] == ' ' || text[i] == '[' || text[i] == ']' || text[i] == '\n') {
      ++i;
      continue;
    }
    std::int64_t value = 0;
    const std::size_t begin = i;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && value < (std::int64_t{1} << 31); ++i) value = value * 10 + (text[i] - '0');
    if (i == begin || value >= (std::int64_t{1} << 31))
      return fail(Code::InvalidArgument, "\"{}\" at position {} is no token id", text.substr(begin, 20), begin);
    ids.push_back(static_cast<std::int32_t>(value));
  }
  if (ids.empty()) return fail(Code::InvalidArgument, "no token ids given");
  return ids;
}

TemplateTime local_time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm t{};
  ::localtime_r(&now, &t);
  return {t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec};
}

double peak_rss_mb() {
  struct rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown CPU";
}

void print_json(const Json& value) { std::printf("%s\n", dump_json(value, 1).c_str()); }

}  // namespace loom::cli
