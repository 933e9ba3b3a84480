// bench matrix: every layer kind in every type, with scalar code and the best instruction set, one thread and more, and
// on a card, forward and backward.

#include "cli/bench_matrix.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "core/numerics_version.h"
#include "dtypes/matrix.h"
#include "host/machine.h"
#include "verify/golden_parity.h"
#include "ops/all.h"

namespace loom::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct MatrixOptions {
  CommonOptions common;
  std::string kind, dtype, pass;
  double seconds = 60;
  bool csv = false;
};

struct Setting {
  Isa isa;
  int threads;
  Device* device = nullptr;
  std::string name_of_device = {};
  // In place of the instruction set, where there is a device.
  std::string text() const { return device != nullptr ? name_of_device : std::string(name(isa)); }
  std::string label() const { return device != nullptr ? text() : fmt::format("{} {}t", text(), threads); }
};

struct Timing {
  double least_us = 0, median_us = 0;
  std::size_t runs = 0;  // 0: the device has no form for it
};

// One kind in one type and pass.
struct Row {
  std::string_view kind, dtype, pass;
  std::size_t rows = 0, resident_bytes = 0;
  std::vector<Timing> timings;  // per setting
  ParityResult parity;
  bool same_bits = true;  // in all settings
};

struct Case {
  const GoldenLayer* layer;
  DType dtype;
};

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Result<std::vector<Case>> chosen(const MatrixOptions& o) {
  std::optional<DType> only;
  if (!o.dtype.empty()) {
    LOOM_TRY(only, dtype_from_name(o.dtype));
  }
  std::vector<Case> cases;
  std::set<std::string> kinds;
  for (const GoldenLayer& layer : golden_layers()) {
    const std::string_view kind = layer.name.substr(0, layer.name.find(' '));
    kinds.emplace(kind);
    if (!o.kind.empty() && o.kind != kind && o.kind != layer.name) continue;
    for (std::size_t t = 0; t < kNumTypes; ++t) {
      const auto dtype = static_cast<DType>(t);
      if (only ? dtype == *only || (!layer.typed && t == 0) : layer.typed || t == 0) cases.push_back({&layer, dtype});
    }
  }
  if (cases.empty())
    return fail(Code::InvalidArgument, "--kind \"{}\" is unknown; known: {}", o.kind, fmt::join(kinds, " "));
  return cases;
}

// Runs for `seconds`, three times at least after one that warms up.
Result<Timing> time_pass(const Case& c, const Network& network, const Setting& s, bool backward, double seconds) {
  NetworkSessionOptions options{s.threads, s.isa, backward};
  options.device = s.device;
  LOOM_TRY(const Shape shape, Shape::create(c.layer->input));
  LOOM_TRY(const auto session, NetworkSession::create(network, shape, options));
  const std::vector<float> x = golden_input(*c.layer);
  PassExtras extras;
  extras.training = c.layer->training, extras.step = 3;
  std::vector<float> dy;
  std::vector<double> us;
  const auto begin = Clock::now();
  for (std::size_t run = 0; run <= 3 || since(begin) < seconds; ++run) {
    auto start = Clock::now();
    LOOM_TRY(const ConstView y, session->forward_host({x.data(), shape}, extras));
    if (backward) {
      dy.resize(y.shape.elements(), 0.5f);
      start = Clock::now();
      LOOM_TRY_VOID(session->backward_host({dy.data(), y.shape}));
    }
    if (run > 0) us.push_back(since(start) * 1e6);
  }
  std::sort(us.begin(), us.end());
  return Timing{us.front(), us[us.size() / 2], us.size()};
}

Result<Row> measure(const Case& c, const Network& network, bool backward, std::span<const Setting> settings,
                    double seconds) {
  Row row;
  row.kind = c.layer->name, row.dtype = c.layer->typed ? name(c.dtype) : "-",
  row.pass = backward ? "backward" : "forward";
  LOOM_TRY(const Shape shape, Shape::create(c.layer->input));
  row.rows = shape.rows();
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {  // as release_masters() leaves them
    row.resident_bytes += w.resident_bytes() - w.master().size_bytes() - w.master64().size_bytes();
  });
  LOOM_TRY(const GoldenRun exact, run_golden_exact(*c.layer, network, backward));
  const auto result = [&](const GoldenRun& r) -> const std::vector<double>& { return backward ? r.dx : r.y; };
  std::vector<double> first;
  for (const Setting& s : settings) {
    const auto run = run_golden(*c.layer, network, backward, s.threads, s.isa, s.device);
    if (!run && s.device != nullptr && run.error().code == Code::Unsupported) {
      row.timings.emplace_back();
      continue;
    }
    if (!run) return tl::make_unexpected(run.error());
    if (first.empty()) first = result(*run);
    row.same_bits = row.same_bits && first == result(*run);
    LOOM_TRY(const Timing timing, time_pass(c, network, s, backward, seconds));
    row.timings.push_back(timing);
  }
  row.parity = compare_parity(first, result(exact), parity_bound(*c.layer, c.dtype));
  return row;
}

std::string parity_text(const Row& r) { return r.same_bits ? std::string(name(r.parity.parity)) : "SETTINGS DIFFER"; }

void print_table(std::span<const Row> rows, std::span<const Setting> settings) {
  std::printf("%-22s %-9s %-8s %5s %10s", "kind", "type", "pass", "rows", "bytes");
  for (const Setting& s : settings) std::printf(" %12s", s.label().c_str());
  std::printf("  %-9s %s\n", "parity", "error");
  for (const Row& r : rows) {
    std::printf("%-22s %-9s %-8s %5zu %10zu", std::string(r.kind).c_str(), std::string(r.dtype).c_str(),
                std::string(r.pass).c_str(), r.rows, r.resident_bytes);
    for (const Timing& t : r.timings) t.runs == 0 ? std::printf(" %12s", "-") : std::printf(" %9.1f us", t.median_us);
    std::printf("  %-9s %.1e\n", parity_text(r).c_str(), r.parity.error);
  }
}

void print_csv(std::span<const Row> rows, std::span<const Setting> settings) {
  std::printf("kind,type,pass,isa,threads,least_us,median_us,runs,rows,panel_rows,resident_bytes,parity,error\n");
  for (const Row& r : rows)
    for (std::size_t i = 0; i < settings.size(); ++i)
      std::printf("%s\n",
                  fmt::format("{},{},{},{},{},{:.3f},{:.3f},{},{},{},{},{},{:.3e}", r.kind, r.dtype, r.pass,
                              settings[i].text(), settings[i].threads, r.timings[i].least_us, r.timings[i].median_us,
                              r.timings[i].runs, r.rows, kPanelRows, r.resident_bytes, parity_text(r), r.parity.error)
                      .c_str());
}

void print_all(std::span<const Row> rows, std::span<const Setting> settings) {
  Json list = Json::array();
  for (const Row& r : rows) {
    Json timings = Json::array();
    for (std::size_t i = 0; i < settings.size(); ++i)
      timings.push_back(Json{{settings[i].device != nullptr ? "device" : "isa", settings[i].text()},
                             {"threads", settings[i].threads},
                             {"least_us", r.timings[i].least_us},
                             {"median_us", r.timings[i].median_us},
                             {"runs", r.timings[i].runs}});
    list.push_back(Json{{"kind", r.kind},
                        {"type", r.dtype},
                        {"pass", r.pass},
                        {"rows", r.rows},
                        {"resident_bytes", r.resident_bytes},
                        {"parity", name(r.parity.parity)},
                        {"error", r.parity.error},
                        {"same_bits", r.same_bits},
                        {"timings", std::move(timings)}});
  }
  print_json(Json{{"cpu", cpu_name()},
                  {"numerics_version", kNumericsVersion},
                  {"tiles", Json{{"panel_rows", kPanelRows}, {"block_columns", kBlockCols}}},
                  {"rows", std::move(list)}});
}

Result<int> run(const MatrixOptions& o) {
  if (o.csv && o.common.json) return fail(Code::InvalidArgument, "--csv and --json cannot both be given");
  LOOM_TRY(const std::vector<Case> cases, chosen(o));
  const int threads = o.common.threads > 0 ? o.common.threads : ThreadPool::default_threads();
  Isa best = best_isa();
  if (!o.common.isa.empty()) {
    LOOM_TRY(best, isa_from_name(o.common.isa));
  }
  std::vector<Setting> settings;
  const bool has_scalar = kernels_for(Isa::scalar).has_value();
  if (!has_scalar)
    remark(o.common, "this build has no scalar code, so its columns are left out; cmake --preset release builds it");
  for (const Isa isa : {has_scalar ? Isa::scalar : best, best})
    for (const int t : {1, threads})
      if (std::ranges::none_of(settings, [&](const Setting& s) { return s.isa == isa && s.threads == t; }))
        settings.push_back({isa, t});
  LOOM_TRY_VOID(need_exact(o.common, "bench matrix"));
  LOOM_TRY(Device* const device, open_device(o.common));
  if (device != nullptr) settings.push_back({best, threads, device, o.common.device});
  std::vector<bool> passes;
  if (o.pass != "backward") passes.push_back(false);
  if (o.pass != "forward") passes.push_back(true);
  watch_interrupts();
  std::vector<Row> rows;
  const auto begin = Clock::now();
  {
    Progress bar("bench matrix", o.common.quiet);
    std::size_t left = cases.size() * passes.size();
    const std::size_t total = left;
    for (const Case& c : cases) {
      LOOM_TRY(const Network network, golden_network(*c.layer, c.dtype));
      for (const bool backward : passes) {
        if (interrupted()) break;
        bar.update(static_cast<double>(total - left) / static_cast<double>(total), std::string(c.layer->name));
        const double each = std::max(0.0, o.seconds - since(begin)) / static_cast<double>(left-- * settings.size());
        auto row = measure(c, network, backward, settings, each);
        if (!row) return at(fmt::format("{} {}", c.layer->name, name(c.dtype)), std::move(row).error());
        rows.push_back(std::move(*row));
      }
    }
  }
  if (o.common.json)
    print_all(rows, settings);
  else if (o.csv)
    print_csv(rows, settings);
  else
    print_table(rows, settings);
  if (!o.common.quiet) std::fprintf(stderr, "%s: %zu rows in %.1f s\n", cpu_name().c_str(), rows.size(), since(begin));
  if (interrupted()) return kInterrupted;
  return std::ranges::all_of(rows, [](const Row& r) { return r.same_bits; }) ? kOk : kFailed;
}

}  // namespace

Run bench_matrix_command(CLI::App& app) {
  auto o = std::make_shared<MatrixOptions>();
  app.add_option("--kind", o->kind, "One layer kind (default: all)")->check(not_empty());
  app.add_option("--dtype", o->dtype, "One of the 21 types (default: all)")->check(network_dtype_name());
  app.add_option("--pass", o->pass, "forward or backward (default: both)")
      ->check(CLI::IsMember({"forward", "backward"}));
  app.add_option("--seconds", o->seconds, "Time to spend; every pass runs three times at least")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_option("-t,--threads", o->common.threads, "The larger number of threads (default: one per physical core)")
      ->check(CLI::Range(1, ThreadPool::kMaxThreads));
  app.add_option("--isa", o->common.isa,
                 "Instruction set beside scalar, where the build has that (default: the best one)")
      ->check(isa_name());
  add_device(app, o->common);
  app.add_flag("--csv", o->csv, "One line per pass and setting, with least and median");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  app.add_flag("-q,--quiet", o->common.quiet, "No progress bar and notes on stderr");
  return [o] { return finish(run(*o)); };
}

}  // namespace loom::cli
