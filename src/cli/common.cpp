#include "cli/common.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/console.h"
#include "cli/terminal_text.h"
#include "core/json.h"
#include "host/device.h"
#include "ops/all.h"

namespace loom::cli {

void add_quiet(CLI::App& app, CommonOptions& options) {
  app.add_flag("-q,--quiet", options.quiet, "No progress bars and notes on stderr");
}

void add_common(CLI::App& app, CommonOptions& options, bool runs_model) {
  app.add_option("-t,--threads", options.threads, "Threads (default: one per physical core)")
      ->check(CLI::Range(1, ThreadPool::kMaxThreads));
  app.add_option("--isa", options.isa,
                 fmt::format("Instruction set: {} (default: the best one; same bits with each)", isa_names(", ")))
      ->check(isa_name());
  add_quiet(app, options);
  if (!runs_model) return;
  add_device(app, options);
  app.add_option("--activations", options.activations,
                 "Inputs of quantised weights: int16 (answers as with exact inputs) or int8 (longer prompts faster)")
      ->check(CLI::IsMember({"int16", "int8"}))
      ->capture_default_str();
  app.add_option("--kv-dtype", options.kv_dtype,
                 "Keys and values of the context: float32, or in half or a quarter of its memory bfloat16 or int8")
      ->check(CLI::IsMember({"float32", "bfloat16", "int8"}))
      ->capture_default_str();
  app.add_option("--ctx", options.context,
                 fmt::format("Context in tokens (default: the model's, at most {})", kDefaultContext))
      ->check(CLI::Range(1, 1 << 24));
  add_path(app, "--adapter", options.adapters,
           "Folder of a low-rank adapter in PEFT's format; may be given several times");
  app.add_option("--use-adapters", options.use_adapters,
                 "Names of the adapters to apply, of those in MODEL and of --adapter (0, 1..), with commas; - for none "
                 "(default: all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("NAMES");
  add_model_dtype(app, options);
}

void add_device(CLI::App& app, CommonOptions& options) {
  app.add_option("--device", options.device,
                 "Where it runs: cpu, gpu, gpu:N of loom gpu report, or auto, the faster one (same bits on each)")
      ->check(not_empty())
      ->capture_default_str();
  app.add_option("--precision", options.precision,
                 "Of a graphics card: strict, the bits of the CPU, or fast, close to them and not the same on each")
      ->check(CLI::IsMember({"strict", "fast"}))
      ->capture_default_str();
}

namespace {

// A name of what --device and --precision say, as f(name) takes it.
template <class F>
auto with_device(const CommonOptions& options, F&& f) -> decltype(f(std::string())) {
  const auto asked = [&] {
    const bool is_fast = options.precision == name(Precision::Fast);
    return fmt::format("--device {}{}", options.device, is_fast ? " --precision fast" : "");
  };
  const auto named = with_precision(options.device, options.precision);
  if (!named) return fail(Code::InvalidArgument, "{}: {}", asked(), named.error().text());
  auto done = f(*named);
  if (!done) return fail(Code::InvalidArgument, "{}: {}", asked(), done.error().text());
  return done;
}

void warn_of(const Device* device) {
  if (precision_of(device) == Precision::Fast)
    warn("results of --precision fast are not those of other devices: no hash of them proves anything");
}

template <class Options>
Result<void> device_of_session(const CommonOptions& options, Options& session, double passes) {
  LOOM_TRY_VOID(with_device(options, [&](const std::string& name) {
    return loom::name_device(name, session, passes,
                             [quiet = options.quiet](const Device* chosen, const std::string& line) {
                               if (!quiet) std::fprintf(stderr, "loom: %s\n", line.c_str());
                               warn_of(chosen);
                             });
  }));
  warn_of(session.device);
  return {};
}

}  // namespace

Result<Device*> open_device(const CommonOptions& options) {
  if (options.device == "auto")
    return fail(Code::InvalidArgument,
                "--device auto: this command cannot choose a device; expected cpu, gpu or gpu:N");
  LOOM_TRY(Device* const device, with_device(options, device_from_name));
  warn_of(device);
  return device;
}

Result<void> need_exact(const CommonOptions& options, std::string_view command, std::string_view does) {
  if (options.precision != name(Precision::Fast) && !is_fast_name(options.device)) return {};
  return fail(Code::InvalidArgument, "{} {} bits, and those of --precision fast are not those of other devices",
              command, does);
}

std::string hash_note(Precision precision) {
  return precision == Precision::Fast ? " (precision fast: of no other device)" : "";
}

Result<void> name_device(const CommonOptions& options, NetworkSessionOptions& session, double passes) {
  return device_of_session(options, session, passes);
}

Result<void> name_device(const CommonOptions& options, graph::RunnerOptions& session, double passes) {
  return device_of_session(options, session, passes);
}

Result<NetworkSessionOptions> session_options(const CommonOptions& options) {
  NetworkSessionOptions session;
  session.threads = options.threads;
  if (!options.isa.empty()) {
    LOOM_TRY(session.isa, isa_from_name(options.isa));
  }
  LOOM_TRY_VOID(name_device(options, session));
  return session;
}

void add_model_dtype(CLI::App& app, CommonOptions& options) {
  app.add_option(
         "--dtype", options.dtype,
         "Turn the weights into another type on load: any of the 21 (float64 to binary), q8_0, q4_0, q4_1, tq2_0")
      ->check(dtype_name());
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? std::string("the value is empty") : std::string(); }, "",
      "not empty");
}

CLI::Validator whole_number(std::uint64_t least) {
  const auto check = [least](std::string& text) -> std::string {
    constexpr std::string_view kLargest = "18446744073709551615";
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    const std::string_view number = std::string_view(text).substr(std::min(text.size(), text.find_first_not_of('0')));
    const bool fits =
        digits && (number.size() < kLargest.size() || (number.size() == kLargest.size() && number <= kLargest));
    if (fits && std::strtoull(text.c_str(), nullptr, 10) >= least) return {};
    return fmt::format("{} is no whole number from {} to {}", text, least, kLargest);
  };
  return CLI::Validator(check, "", "whole number");
}

CLI::Validator port_number() {
  const auto check = [](std::string& text) -> std::string {
    constexpr std::size_t kDigits = 5;
    constexpr unsigned long kLargest = 65535;
    const bool is_digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    if (is_digits && text.size() <= kDigits && std::strtoul(text.c_str(), nullptr, 10) <= kLargest) return {};
    return fmt::format("{} is no port, expected a whole number from 0 to {}", text, kLargest);
  };
  return CLI::Validator(check, "", "port");
}

CLI::Validator number_within(double low, double high) {
  const auto check = [low, high](std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return {};
    return fmt::format("{} is no number from {} to {}", text, low, high);
  };
  return CLI::Validator(check, "", "number");
}

Result<DType> network_dtype_from_name(std::string_view text) {
  std::string known;
  for (std::size_t i = 0; i < kNumTypes; ++i) known += fmt::format("{}{}", i == 0 ? "" : " ", kDTypes[i].name);
  const auto type = dtype_from_name(text);
  if (!type) return fail(Code::InvalidArgument, "numeric type \"{}\" is unknown; known: {}", text.substr(0, 40), known);
  if (index(*type) >= kNumTypes)
    return fail(Code::InvalidArgument, "{} is a block type of language models; networks have: {}", name(*type), known);
  return *type;
}

namespace {

// Refuses what `read` refuses, with its message.
template <class F>
CLI::Validator readable_by(F read, const char* what) {
  const auto check = [read](std::string& text) {
    const auto value = read(text);
    return value ? std::string() : value.error().text();
  };
  return CLI::Validator(check, "", what);
}

}  // namespace

CLI::Validator isa_name() {
  const auto usable = [](std::string_view text) -> Result<Isa> {
    LOOM_TRY(const Isa isa, isa_from_name(text));
    LOOM_TRY_VOID(kernels_for(isa));
    return isa;
  };
  return readable_by(usable, "instruction set");
}
CLI::Validator dtype_name() { return readable_by(dtype_from_name, "numeric type"); }
CLI::Validator network_dtype_name() { return readable_by(network_dtype_from_name, "numeric type"); }

void warn(const std::string& text) { std::fprintf(stderr, "loom: warning: %s\n", terminal_text(text).c_str()); }

CLI::Option* add_max_memory(CLI::App& app, CommonOptions& options) {
  return app
      .add_option("--max-memory", options.max_memory,
                  "Most bytes that a network's drawn weights, or a call, may take: 6G, 500M, ...")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Validator(
          [](std::string& text) -> std::string {
            const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
            return digits >= 1 && digits <= 18 ? "" : text + " is no number of bytes";
          },
          "", "bytes"))
      ->default_str("4G");
}

void add_max_step_memory(CLI::App& app, CommonOptions& options) {
  options.max_memory = ~std::uint64_t{0};
  add_max_memory(app, options)
      ->description("Most bytes that the activations and scratch of a step may take: 6G, 500M, ...")
      ->default_str("no limit");
}

void add_network_flags(CLI::App& app, CommonOptions& options, bool& lenient) {
  app.add_flag("--lenient", lenient, "Unknown keys are warnings");
  app.add_flag("--json", options.json, "One JSON object on stdout");
  add_max_memory(app, options);
  add_common(app, options, false);
}

int finish(const Result<int>& status) {
  if (const std::string refused = refused_on_cards(); !refused.empty()) warn(refused);
  return status ? *status : report(status.error());
}

int report(const Error& error) {
  std::fprintf(stderr, "loom: %s\n", terminal_text(error.text()).c_str());
  switch (error.code) {
    case Code::InvalidArgument: return kUsage;
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
    case Code::UnknownName:
    case Code::NestingTooDeep:
    case Code::LinkCycle:
    case Code::FeedbackLink:
    case Code::LinkToEmpty:
    case Code::EmptyTensor:
    case Code::NonFinite:
    case Code::LimitExceeded:
    case Code::TemplateError:
    case Code::NoTemplate:
    case Code::OutOfRange: return kBadFile;
    default: return kFailed;
  }
}

Result<int> naming(std::initializer_list<std::string_view> files, Result<int> status) {
  if (status) return status;
  const Code code = status.error().code;
  if (code == Code::InvalidArgument || code == Code::Cancelled) return status;
  for (const std::string_view file : files)
    if (!file.empty() && status.error().text().find(file) != std::string::npos) return status;
  return at(std::string(*files.begin()), std::move(status).error());
}

void remark(const CommonOptions& options, const std::string& text) {
  if (!options.quiet) std::fprintf(stderr, "loom: %s\n", terminal_text(text).c_str());
}

Colours colours() {
  if (!knows_escapes(kOutput) || std::getenv("NO_COLOR") != nullptr) return {};
  return {"\033[2m", "\033[1m", "\033[32m", "\033[0m"};
}

bool stderr_is_terminal() { return is_terminal(kErrors); }

Progress::Progress(std::string_view label, bool quiet, std::chrono::milliseconds delay)
    : label_(terminal_text(label)),
      shown_(!quiet && knows_escapes(kErrors)),
      from_(std::chrono::steady_clock::now() + delay) {}

Progress::~Progress() {
  if (shown_ && last_ >= 0) std::fprintf(stderr, "\r\033[K");
}

void Progress::update(double fraction, const std::string& note) {
  const int percent = static_cast<int>(fraction * 100);
  const auto now = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds kNotePause{200};
  if (!shown_ || now < from_ || (percent == last_ && (note.empty() || now - told_ < kNotePause))) return;
  last_ = percent, told_ = now;
  // A line as wide as the terminal would wrap, and the next \r begin in its second half.
  const int columns = terminal_size(kErrors).columns - 1;
  const int width = columns < 60 ? 10 : 30, full = percent * width / 100;
  const int rest = width + 9;  // " [", "] ", "100%" and a blank
  const std::string label = clip_front(label_, std::max(columns - rest - display_width(note), columns - rest - 20));
  const std::string bar = fmt::format("{} [{:#>{}}{:.>{}}] {:3}% ", label, "", full, "", width - full, percent);
  std::fprintf(stderr, "\r%s%s\033[K", bar.c_str(), clip_back(note, columns - display_width(bar)).c_str());
}

Result<LanguageModel> open_model(const std::string& path, const CommonOptions& options) {
  watch_interrupts();
  ModelOptions model;
  model.decoder.cancel = &interrupt_flag();
  model.threads = options.threads;
  if (!options.dtype.empty()) {
    LOOM_TRY(model.decoder.dtype, dtype_from_name(options.dtype));
  }
  model.adapters = options.adapters;
  std::optional<Progress> bar(std::in_place, "loading " + path, options.quiet);
  model.decoder.progress = [&](std::size_t done, std::size_t total) {
    bar->update(static_cast<double>(done) / static_cast<double>(total));
    return !interrupted();
  };
  LOOM_TRY(LanguageModel loaded, load_language_model(path, model));
  bar.reset();
  if (model.decoder.dtype == DType::int8)
    remark(options, "int8 has one scale per row; q8_0, of the same size, has one per 32 values and answers better");
  return loaded;
}

void add_speculate(CLI::App& app, std::string& speculate) {
  add_path(app, "--speculate", speculate,
           "Check several drafted tokens at once, for the same text in less time; drafts come from ngram, what "
           "followed these words before, or from a smaller MODEL with the same tokens")
      ->type_name("ngram|MODEL");
}

Result<std::shared_ptr<Drafter>> open_drafter(const std::string& speculate, const LanguageModel& model,
                                              const Session& session, const CommonOptions& options) {
  if (speculate.empty()) return std::shared_ptr<Drafter>();
  if (speculate == "ngram") return std::make_shared<NgramDrafter>();
  CommonOptions own = options;
  own.adapters.clear(), own.dtype.clear();
  auto draft = open_model(speculate, own);
  if (!draft) return at("--speculate", std::move(draft).error());
  return ModelDrafter::create(*draft, model, session);
}

Json speculation_json(const SpeculationCounts& counts) {
  return Json{{"drafted", counts.drafted}, {"accepted", counts.accepted}, {"passes", counts.passes}};
}

Result<std::unique_ptr<Session>> open_session(const LanguageModel& model, const CommonOptions& options,
                                              std::size_t sequences, std::size_t chunk_rows) {
  SessionOptions session;
  if (chunk_rows != 0) session.chunk_rows = chunk_rows;
  session.threads = options.threads;
  LOOM_TRY_VOID(device_of_session(options, session, kManyPasses));
  session.context_tokens = options.context;
  session.sequences = sequences;
  session.on_loss = [](const std::string& line) { warn(line); };
  LOOM_TRY(session.activations, activations_from_name(options.activations));
  LOOM_TRY(session.kv_dtype, dtype_from_name(options.kv_dtype));
  if (!options.use_adapters.empty())
    session.adapters =
        options.use_adapters == std::vector<std::string>{"-"} ? std::vector<std::string>() : options.use_adapters;
  if (!options.isa.empty()) {
    LOOM_TRY(session.isa, isa_from_name(options.isa));
  }
  const std::int64_t trained = model.decoder->config.max_position_embeddings;
  if (!options.quiet && options.context > static_cast<std::size_t>(trained))
    std::fprintf(stderr,
                 "loom: a context of %zu tokens is more than the %lld that the model was trained for: what is written "
                 "beyond them is likely to be noise\n",
                 options.context, static_cast<long long>(trained));
  watch_interrupts();
  auto made = Session::create(model.decoder, session);
  if (!made && made.error().code == Code::NotFound)
    return fail(Code::InvalidArgument, "--use-adapters: {}", made.error().text());
  return made;
}

Result<std::string> read_input(const std::string& text, const std::string& file) {
  if (file.empty()) return text;
  constexpr std::size_t kLargest = std::size_t{2} << 30;
  return file == "-" ? read_stream(kInput, "standard input", kLargest) : read_text_file(file, kLargest);
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
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && value < (std::int64_t{1} << 31); ++i)
      value = value * 10 + (text[i] - '0');
    if (i == begin || value >= (std::int64_t{1} << 31))
      return fail(Code::InvalidArgument, "\"{}\" at position {} is no token id", text.substr(begin, 20), begin);
    ids.push_back(static_cast<std::int32_t>(value));
  }
  if (ids.empty()) return fail(Code::InvalidArgument, "no token ids given");
  return ids;
}

void warn_dropped(std::size_t bytes) {
  if (bytes > 0) warn(fmt::format("{} bytes of the text have no token in this vocabulary and were left out", bytes));
}

void print_json(const Json& value) { std::printf("%s\n", terminal_json(dump_json(value, 1)).c_str()); }

}  // namespace loom::cli
