// evolve: networks bred for a task, from a configuration file.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "core/file.h"
#include "data/csv/csv.h"
#include "data/idx/idx.h"
#include "evolution/ensemble/ensemble.h"
#include "evolution/run/config.h"
#include "io/network_file.h"

namespace loom::cli {
namespace {

struct EvolveFlags {
  CommonOptions common;
  std::string config, output;
  bool resume = false;
  std::size_t generations = 0;
  std::size_t save_every = 50;
};

Result<std::unique_ptr<Task>> data_task(const TaskConfig& c) {
  std::unique_ptr<Dataset> data;
  if (c.name == "csv") {
    CsvOptions options;
    options.header = c.header, options.target_column = c.target_column, options.targets = c.values ? TargetKind::values : TargetKind::classes;
    LOOM_TRY(data, open_csv(c.path, options));
  } else {
    LOOM_TRY(data, open_idx(c.path, c.labels));
  }
  const DatasetInfo& info = data->info();
  const std::size_t n = c.limit != 0 ? std::min(c.limit, info.samples) : info.samples;
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  Samples s;
  s.input = info.input, s.classes = info.classes;
  if (n != 0 && info.input.elements() > (std::size_t{1} << 30) / n)
    return fail(Code::LimitExceeded, "{}: {} samples of {}; set a limit", c.path, n, info.input.text());
  s.inputs.resize(n * info.input.elements());
  if (info.targets == TargetKind::classes)
    s.labels.resize(n);
  else
    s.outputs = info.target.elements(), s.values.resize(n * s.outputs);
  LOOM_TRY_VOID(data->read(order, {s.inputs, s.labels, s.values}));
  LOOM_TRY(const Score score, score_from_name(!c.score.empty() ? c.score : info.targets == TargetKind::classes ? "accuracy" : "squared_error"));
  return sample_task(c.name, std::move(s), score, c.target.value_or(score == Score::CrossEntropy ? 0 : 1));
}

Result<std::unique_ptr<Task>> task_of(const TaskConfig& c) { return c.name == "csv" || c.name == "idx" ? data_task(c) : built_in_task(c); }

// A network that a configuration names is found beside it.
Result<Network> base_of(const EvolutionConfig& c, const std::string& config_path) {
  if (c.network.is_object()) {
    LOOM_TRY(SpecResult spec, network_from_json(c.network));
    return std::move(spec.network);
  }
  const std::filesystem::path path = *as_string(c.network);
  LOOM_TRY(SpecResult spec, load_network(path.is_absolute() ? path.string() : (std::filesystem::path(config_path).parent_path() / path).string()));
  return std::move(spec.network);
}

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity"); }

std::string lineage_line(const Member& m) {
  Json parents = Json::array(), objectives = Json::array();
  for (const MemberId& id : m.parents) parents.push_back(id.text());
  for (const double o : m.fitness->objectives) objectives.push_back(number(o));
  return dump_json(Json{{"id", m.id.text()},
                        {"parents", std::move(parents)},
                        {"operations", m.operations},
                        {"fitness", std::move(objectives)},
                        {"hash", to_hex(network_digest(m.network, m.structure))}}) +
         "\n";
}

// lineage.jsonl of a run's folder: what a run that goes on would write again is cut off.
class LineageFile {
 public:
  static Result<LineageFile> open(const std::string& path, std::uint32_t from_generation) {
    std::string kept;
    if (from_generation > 0 && is_file(path)) {
      LOOM_TRY(const std::string text, read_text_file(path, std::size_t{1} << 31));
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        const auto json = parse_json(line);
        const std::string* id = json && find(*json, "id") != nullptr ? as_string(*find(*json, "id")) : nullptr;
        if (id == nullptr) continue;
        const std::size_t first = id->find('.');
        if (first != id->npos && std::strtoull(id->c_str() + first + 1, nullptr, 10) < from_generation) kept += line + "\n";
      }
    }
    LOOM_TRY_VOID(write_file_atomically(path, std::as_bytes(std::span(kept))));
    LineageFile out;
    out.file_ = std::fopen(path.c_str(), "ab");
    if (out.file_ == nullptr) return fail(Code::IoError, "{}: cannot be written", path);
    return out;
  }
  LineageFile() = default;
  LineageFile(LineageFile&& o) noexcept : file_(std::exchange(o.file_, nullptr)) {}
  LineageFile& operator=(LineageFile&& o) noexcept {
    std::swap(file_, o.file_);
    return *this;
  }
  ~LineageFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  void write(const Member& m) {
    const std::string line = lineage_line(m);
    ok_ = ok_ && std::fwrite(line.data(), 1, line.size(), file_) == line.size();
  }
  Result<void> flush() {
    if (!ok_ || std::fflush(file_) != 0) return fail(Code::IoError, "lineage.jsonl: cannot be written");
    return {};
  }

 private:
  std::FILE* file_ = nullptr;
  bool ok_ = true;
};

struct Saved {
  Json state;
  std::string hash;
};

class EvolveRun {
 public:
  explicit EvolveRun(const EvolveFlags& flags) : o_(flags) {}

  Result<int> run() {
    LOOM_TRY(const std::string text, read_text_file(o_.config));
    auto json = parse_json(text);
    if (!json) return at(o_.config, std::move(json).error());
    auto config = evolution_config_from(*json);
    if (!config) return at(o_.config, std::move(config).error());
    config_ = std::move(*config);
    if (o_.generations != 0) config_.generations = o_.generations;
    auto task = task_of(config_.task);
    if (!task) return at(o_.config, std::move(task).error());
    task_ = std::move(*task);
    if (config_.task.target) target_ = *config_.task.target;
    else target_ = task_->target();
    LOOM_TRY(const FitnessFunction fitness, fitness_of(*task_, config_.objectives));
    std::optional<Isa> isa;
    if (!o_.common.isa.empty()) {
      LOOM_TRY(isa, isa_from_name(o_.common.isa));
    }
    LOOM_TRY(workers_, Workers::create(o_.common.threads, isa));
    LOOM_TRY_VOID(begin());
    watch_interrupts(nullptr);
    LOOM_TRY_VOID(breed(fitness));
    return finish();
  }

 private:
  std::string file(const char* name) const { return o_.output + "/" + name; }

  Result<void> begin() {
    LOOM_TRY(Network base, base_of(config_, o_.config));
    auto prepared = base.prepare(task_->input());
    if (!prepared) return at("the network does not fit the task", std::move(prepared).error());
    std::error_code failed;
    if (!o_.output.empty()) std::filesystem::create_directories(o_.output, failed);
    if (failed) return fail(Code::IoError, "{}: {}", o_.output, failed.message());
    if (o_.resume) {
      LOOM_TRY(const std::string text, read_text_file(file("state.json"), std::size_t{1} << 31));
      LOOM_TRY(const Json saved, parse_json(text, {std::size_t{1} << 31, 256}));
      const Json *state = find(saved, "islands"), *hash = find(saved, "hash"), *seed = find(saved, "seed");
      if (state == nullptr || hash == nullptr || as_string(*hash) == nullptr || seed == nullptr || as_int(*seed) != static_cast<std::int64_t>(config_.seed))
        return fail(Code::CorruptData, "{}: not the state of a run with this seed", file("state.json"));
      hash_ = *as_string(*hash);
      LOOM_TRY(islands_, Islands::restore(*state, config_.seed, config_.islands, task_->input()));
    } else {
      LOOM_TRY(islands_, Islands::create(config_.seed, config_.islands, base, task_->input(), workers_));
    }
    if (!o_.output.empty()) {
      LOOM_TRY(lineage_, LineageFile::open(file("lineage.jsonl"), islands_->generation()));
    }
    return {};
  }

  // Each generation's hash goes into the next one's: one digest says whether two runs were the same.
  void chain(const Digest& digest) {
    Sha256 hash;
    hash.update(std::as_bytes(std::span(hash_)));
    hash.update(std::as_bytes(std::span(digest)));
    hash_ = to_hex(hash.finish());
  }

  bool solved() const {
    const Member* best = islands_->best_member();
    return best != nullptr && best->fitness->score() >= target_;
  }

  Result<void> breed(const FitnessFunction& fitness) {
    Progress bar("evolving", o_.common.quiet);
    const auto started = std::chrono::steady_clock::now();
    const std::uint32_t first = islands_->generation();
    std::size_t since_saved = 0;
    while (islands_->generation() < config_.generations && !solved() && !interrupted()) {
      const auto seen = [this](const Member& m) { lineage_->write(m); };
      LOOM_TRY(const Islands::Report report, islands_->evolve(fitness, workers_, lineage_ ? std::function<void(const Member&)>(seen) : nullptr));
      chain(report.hash);
      evaluated_ += report.evaluated;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      const auto done = static_cast<double>(islands_->generation() - first), all = static_cast<double>(config_.generations - first);
      bar.update(done / all, fmt::format("gen {} best {:.4f} avg {:.4f}  {:.0f} s left at most", report.generation, islands_->best_member() ? islands_->best_member()->fitness->score() : NAN,
                                         report.average, seconds / done * (all - done)));
      if (o_.common.json && !o_.common.quiet)
        history_.push_back(Json{{"generation", report.generation}, {"best", number(report.best)}, {"average", number(report.average)}, {"hash", to_hex(report.hash)}});
      if (!o_.output.empty() && ++since_saved >= o_.save_every) {
        since_saved = 0;
        LOOM_TRY_VOID(save());
      }
    }
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return {};
  }

  Result<void> save() {
    LOOM_TRY(Json state, islands_->state());
    const std::string text = dump_json(Json{{"seed", config_.seed}, {"generation", islands_->generation()}, {"hash", hash_}, {"islands", std::move(state)}});
    LOOM_TRY_VOID(lineage_->flush());
    LOOM_TRY_VOID(write_file_atomically(file("state.json"), std::as_bytes(std::span(text))));
    if (const Member* best = islands_->best_member()) {
      LOOM_TRY_VOID(save_network(file("best.entity"), best->network, {true}));
    }
    return {};
  }

  Result<int> finish() {
    if (!o_.output.empty()) {
      LOOM_TRY_VOID(save());
    }
    const Member* best = islands_->best_member();
    Json out{{"task", std::string(task_->name())},
             {"generations", islands_->generation()},
             {"solved", solved()},
             {"interrupted", interrupted()},
             {"best", best != nullptr ? number(best->fitness->score()) : Json(nullptr)},
             {"best_id", best != nullptr ? Json(best->id.text()) : Json(nullptr)},
             {"evaluated", evaluated_},
             {"seconds", seconds_},
             {"threads", workers_.pool().threads()},
             {"hash", hash_}};
    std::string joined;
    if (config_.ensemble && best != nullptr) {
      LOOM_TRY(const EnsembleReport e, best_ensemble(*islands_, *task_, workers_.runner(0)));
      out["ensemble"] = Json{{"members", e.members}, {"coverage", e.coverage}, {"overlap", e.overlap}, {"combined", e.combined}, {"best_member", e.best_member}};
      joined = fmt::format("ensemble of {}: {:.4f} right together, {:.4f} the better one alone (covered by either {:.4f})\n", fmt::join(e.members, " and "), e.combined,
                           e.best_member, e.coverage);
    }
    if (o_.common.json) {
      if (!history_.empty()) out["history"] = std::move(history_);
      print_json(out);
    } else if (!o_.common.quiet) {
      std::printf("%s: %s after %u generations, best %.6g (%s), %zu networks judged in %.2f s\n%shash %s\n", std::string(task_->name()).c_str(),
                  solved()        ? "solved"
                  : interrupted() ? "interrupted"
                                  : "not solved",
                  islands_->generation(), best != nullptr ? best->fitness->score() : NAN, best != nullptr ? best->id.text().c_str() : "none", evaluated_, seconds_,
                  joined.c_str(), hash_.c_str());
      if (!o_.output.empty()) std::printf("%s: best.entity, lineage.jsonl, state.json\n", o_.output.c_str());
    }
    return interrupted() ? kInterrupted : kOk;
  }

  const EvolveFlags& o_;
  EvolutionConfig config_;
  std::unique_ptr<Task> task_;
  double target_ = 0, seconds_ = 0;
  Workers workers_;
  std::optional<Islands> islands_;
  std::optional<LineageFile> lineage_;
  std::string hash_;
  std::size_t evaluated_ = 0;
  Json history_ = Json::array();
};

}  // namespace

Run evolve_command(CLI::App& app) {
  auto o = std::make_shared<EvolveFlags>();
  app.add_option("CONFIG", o->config, "JSON: task, network, population, generations, seed, mutation... (docs/evolution.md)")->required();
  app.add_option("-o,--output", o->output, "Folder for best.entity, lineage.jsonl and state.json; made if it is not there");
  app.add_flag("--resume", o->resume, "Go on from state.json in the output folder");
  app.add_option("--generations", o->generations, "In place of the configuration's")->check(whole_number());
  app.add_option("--save-every", o->save_every, "Generations between saves")->check(CLI::Range(1, 1000000));
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, false);
  return [o] {
    if (o->resume && o->output.empty()) return report(Error{Code::InvalidArgument, "--resume needs --output, the folder of the run"});
    return finish(EvolveRun(*o).run());
  };
}

}  // namespace loom::cli
