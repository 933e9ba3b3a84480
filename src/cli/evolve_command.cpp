// evolve: networks bred for a task, from a configuration file.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/run_folder.h"
#include "data/csv/csv.h"
#include "data/idx/idx.h"
#include "evolution/ensemble/ensemble.h"
#include "evolution/run/config.h"
#include "evolution/run/state.h"
#include "io/network_file.h"
#include "training/checkpoint.h"

namespace loom::cli {
namespace {

struct EvolveFlags {
  CommonOptions common;
  std::string config, output;
  bool resume = false, overwrite = false;
  std::size_t generations = 0;
  std::size_t save_every = 50;
};

struct OpenTask {
  std::unique_ptr<Task> task;
  std::optional<Digest> data;  // of the files that it reads
};

Result<OpenTask> data_task(const TaskConfig& c) {
  std::unique_ptr<Dataset> data;
  if (c.name == "csv") {
    CsvOptions options;
    options.header = c.header, options.target_column = c.target_column,
    options.targets = c.values ? TargetKind::values : TargetKind::classes;
    LOOM_TRY(data, open_csv(c.path, options));
  } else {
    LOOM_TRY(data, open_idx(c.path, c.labels));
  }
  const DatasetInfo& info = data->info();
  const std::size_t n = c.limit != 0 ? std::min(c.limit, info.samples) : info.samples;
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  TaskSamples s;
  s.input = info.input, s.classes = info.classes;
  if (n != 0 && info.input.elements() > (std::size_t{1} << 30) / n)
    return fail(Code::LimitExceeded, "{}: {} samples of {}; set a limit", c.path, n, info.input.text());
  s.inputs.resize(n * info.input.elements());
  if (info.targets == TargetKind::classes)
    s.labels.resize(n);
  else
    s.outputs = info.target.elements(), s.values.resize(n * s.outputs);
  LOOM_TRY_VOID(data->read(order, {s.inputs, s.labels, s.values}));
  LOOM_TRY(const Score score, score_from_name(!c.score.empty()                      ? c.score
                                              : info.targets == TargetKind::classes ? "accuracy"
                                                                                    : "squared_error"));
  LOOM_TRY(auto task,
           sample_task(c.name, std::move(s), score, c.target.value_or(score == Score::CrossEntropy ? 0 : 1)));
  return OpenTask{std::move(task), info.sha256};
}

Result<OpenTask> task_of(const TaskConfig& c) {
  if (c.name == "csv" || c.name == "idx") return data_task(c);
  LOOM_TRY(auto task, built_in_task(c));
  return OpenTask{std::move(task), {}};
}

// A network that a configuration names is found beside it.
std::string path_of(const std::string& network, const std::string& config_path) {
  const std::filesystem::path path = network;
  return path.is_absolute() ? path.string() : (std::filesystem::path(config_path).parent_path() / path).string();
}

Result<Network> base_of(const EvolutionConfig& c, const std::string& config_path) {
  const bool inside = c.network.is_object();
  auto spec = inside ? network_from_json(c.network) : load_network(path_of(*as_string(c.network), config_path));
  if (!spec && inside) return at(config_path + ": network", std::move(spec).error());
  if (!spec) return tl::make_unexpected(std::move(spec).error());
  return std::move(spec->network);
}

// Everything a run is a function of; more generations do not make it another run. Files count as their bytes.
Result<Json> identity_of(Json config, const std::optional<Digest>& data, const EvolutionConfig& c,
                         const std::string& config_path) {
  config.erase("generations");
  Json out{{"config", std::move(config)}};
  if (data) out["data"] = to_hex(*data);
  if (const std::string* network = as_string(c.network)) {
    LOOM_TRY(const auto file, MappedFile::open(path_of(*network, config_path)));
    Sha256 hash;
    hash.update(file->bytes());
    out["network"] = to_hex(hash.finish());
  }
  return out;
}

Json number(double v) {
  return std::isfinite(v) ? Json(v) : Json(std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}

Json lineage_line(const Member& m) {
  Json parents = Json::array(), objectives = Json::array();
  for (const MemberId& id : m.parents) parents.push_back(id.text());
  for (const double o : m.fitness->objectives) objectives.push_back(number(o));
  return {{"id", m.id.text()},
          {"parents", std::move(parents)},
          {"operations", m.operations},
          {"fitness", std::move(objectives)},
          {"hash", to_hex(network_digest(m.network, m.structure))}};
}

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
    task_ = std::move(task->task);
    LOOM_TRY(identity_, identity_of(std::move(*json), task->data, config_, o_.config));
    if (config_.task.target)
      target_ = *config_.task.target;
    else
      target_ = task_->target();
    LOOM_TRY(const FitnessFunction fitness, fitness_of(*task_, config_.objectives));
    std::optional<Isa> isa;
    if (!o_.common.isa.empty()) {
      LOOM_TRY(isa, isa_from_name(o_.common.isa));
    }
    LOOM_TRY(workers_, Workers::create(o_.common.threads, isa));
    LOOM_TRY_VOID(begin());
    watch_interrupts();
    LOOM_TRY_VOID(breed(fitness));
    return finish();
  }

 private:
  std::string file(const char* name) const { return o_.output + "/" + name; }

  Result<void> begin() {
    LOOM_TRY(Network base, base_of(config_, o_.config));
    // Members keep the shape of its output: what fits here does so to the end.
    if (auto fits = check_base(base); !fits)
      return at(o_.config + ": the network does not fit the task", std::move(fits).error());
    if (!o_.output.empty()) {
      LOOM_TRY_VOID(create_folders(o_.output));
      const RunStart start = o_.resume ? RunStart::resume : o_.overwrite ? RunStart::overwrite : RunStart::fresh;
      LOOM_TRY(RunFolder taken, take_folder(o_.output, start, kEvolutionRun));
      lock_ = std::move(taken.lock);
      // A run that was killed before its first save has an empty lineage and begins anew; where there is none, --resume
      // is a mistake.
      if (taken.resumes || (o_.resume && !is_file(file("lineage.jsonl")))) return go_on();
    }
    LOOM_TRY(islands_, Islands::create(config_.seed, config_.islands, base, task_->input(), workers_));
    if (o_.output.empty()) return {};
    LOOM_TRY_VOID(remove_older(o_.output, kEvolutionRun));
    LOOM_TRY(lineage_, Journal::create(file("lineage.jsonl")));
    return save();
  }

  Result<void> check_base(Network& base) const {
    LOOM_TRY_VOID(base.prepare(task_->input()));
    LOOM_TRY(const Shape output, base.output_shape(task_->input(), 0, base.num_cells()));
    return task_->check_output(output);
  }

  Result<void> go_on() {
    const std::string path = file("state.json");
    LOOM_TRY(const std::string text, read_text_file(path, std::size_t{1} << 31));
    auto state = parse_evolution_state(text);
    if (!state) return at(path, std::move(state).error());
    LOOM_TRY_VOID(check_identity(path, &state->identity, identity_));
    auto islands = Islands::restore(state->islands, config_.seed, config_.islands, task_->input());
    if (!islands) return at(path, std::move(islands).error());
    islands_ = std::move(*islands), hash_ = std::move(state->hash);
    LOOM_TRY(lineage_, Journal::resume(file("lineage.jsonl"), state->lineage));
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
      Result<void> written;
      const auto seen = [&](const Member& m) {
        if (written) written = lineage_.write(lineage_line(m));
      };
      LOOM_TRY(
          const Islands::Report report,
          islands_->evolve(fitness, workers_, lineage_.is_open() ? std::function<void(const Member&)>(seen) : nullptr));
      LOOM_TRY_VOID(std::move(written));
      chain(report.hash);
      evaluated_ += report.evaluated;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      const auto done = static_cast<double>(islands_->generation() - first),
                 all = static_cast<double>(config_.generations - first);
      bar.update(done / all, fmt::format("gen {} best {:.4f} avg {:.4f}  {:.0f} s left at most", report.generation,
                                         islands_->best_member() ? islands_->best_member()->fitness->score() : NAN,
                                         report.average, seconds / done * (all - done)));
      if (o_.common.json && !o_.common.quiet)
        history_.push_back(Json{{"generation", report.generation},
                                {"best", number(report.best)},
                                {"average", number(report.average)},
                                {"hash", to_hex(report.hash)}});
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
    LOOM_TRY(JournalMark mark, lineage_.sync());
    const std::string text = evolution_state_text({identity_, std::move(mark), hash_, std::move(state)});
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
      // The run has ended well and its files stand, whether or not two of its members can be joined.
      if (const auto e = best_ensemble(*islands_, *task_, workers_.runner(0)); !e) {
        if (!o_.common.quiet) warn("no ensemble: " + e.error().text());
        out["ensemble"] = nullptr;
      } else {
        out["ensemble"] = Json{{"members", e->members},
                               {"coverage", e->coverage},
                               {"overlap", e->overlap},
                               {"combined", e->combined},
                               {"best_member", e->best_member}};
        joined = fmt::format(
            "ensemble of {}: {:.4f} right together, {:.4f} the better one alone (covered by either {:.4f})\n",
            fmt::join(e->members, " and "), e->combined, e->best_member, e->coverage);
      }
    }
    if (o_.common.json) {
      if (!history_.empty()) out["history"] = std::move(history_);
      print_json(out);
    } else if (!o_.common.quiet) {
      const std::string told = best != nullptr
                                   ? fmt::format("best {:.6g} ({})", best->fitness->score(), best->id.text())
                                   : "no network has a score";
      std::printf("%s: %s after %u generations, %s, %zu networks judged in %.2f s\n%shash %s\n",
                  std::string(task_->name()).c_str(),
                  solved()        ? "solved"
                  : interrupted() ? "interrupted"
                                  : "not solved",
                  islands_->generation(), told.c_str(), evaluated_, seconds_, joined.c_str(), hash_.c_str());
      if (!o_.output.empty())
        std::printf("%s: %slineage.jsonl, state.json\n", o_.output.c_str(), best != nullptr ? "best.entity, " : "");
    }
    return interrupted() ? kInterrupted : kOk;
  }

  const EvolveFlags& o_;
  EvolutionConfig config_;
  std::unique_ptr<Task> task_;
  double target_ = 0, seconds_ = 0;
  Workers workers_;
  std::optional<Islands> islands_;
  Json identity_;  // that a state must share
  std::optional<FolderLock> lock_;
  Journal lineage_;
  std::string hash_;
  std::size_t evaluated_ = 0;
  Json history_ = Json::array();
};

}  // namespace

Run evolve_command(CLI::App& app) {
  auto o = std::make_shared<EvolveFlags>();
  add_path(app, "CONFIG", o->config,
           "JSON: task, network, population, generations, seed, mutation... (docs/evolution.md)")
      ->required();
  add_path(app, "-o,--output", o->output,
           "Folder for best.entity, lineage.jsonl and state.json; made if it is not there");
  const auto resume = app.add_flag("--resume", o->resume, "Go on from state.json in the output folder");
  app.add_flag("--overwrite", o->overwrite, "Begin anew in a folder that holds a run")->excludes(resume);
  app.add_option("--generations", o->generations, "In place of the configuration's")->check(whole_number(1));
  app.add_option("--save-every", o->save_every, "Generations between saves")->check(CLI::Range(1, 1000000));
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, false);
  return [o] {
    if (o->resume && o->output.empty())
      return report(Error{Code::InvalidArgument, "--resume needs --output, the folder of the run"});
    return finish(EvolveRun(*o).run());
  };
}

}  // namespace loom::cli
