#include "host/evolve.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/file.h"
#include "core/folder.h"
#include "core/json.h"
#include "core/path.h"
#include "data/csv/csv.h"
#include "data/idx/idx.h"
#include "evolution/run/state.h"
#include "io/network_file.h"
#include "io/onnx/graph_file.h"
#include "training/checkpoint.h"

namespace loom {
namespace {

// Returns the place of a file that a configuration names: beside it.
std::string path_in(const std::string& folder, const std::string& path) {
  const std::filesystem::path given = path_of(path);
  return given.is_absolute() ? path : text_of(path_of(folder) / given);
}

struct OpenTask {
  std::unique_ptr<Task> task;
  std::optional<Digest> data;  // of the files that it reads
};

Result<OpenTask> data_task(const TaskConfig& c, const std::string& folder) {
  const std::string path = path_in(folder, c.path);
  std::unique_ptr<Dataset> data;
  if (c.kind == TaskKind::Csv) {
    CsvOptions options;
    options.header = c.header, options.target_column = c.target_column,
    options.targets = c.values ? TargetKind::values : TargetKind::classes;
    LOOM_TRY(data, open_csv(path, options));
  } else {
    LOOM_TRY(data, open_idx(path, path_in(folder, c.labels)));
  }
  const DatasetInfo& info = data->info();
  const std::size_t n = c.limit != 0 ? std::min(c.limit, info.samples) : info.samples;
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  TaskSamples s;
  s.input = info.input, s.classes = info.classes;
  if (n != 0 && info.input.elements() > (std::size_t{1} << 30) / n)
    return fail(Code::LimitExceeded, "{}: {} samples of {}; set a limit", path, n, info.input.text());
  s.inputs.resize(n * info.input.elements());
  if (info.targets == TargetKind::classes)
    s.labels.resize(n);
  else {
    s.outputs = info.target.elements();
    s.values.resize(n * s.outputs);
  }
  LOOM_TRY_VOID(data->read(order, {s.inputs, s.labels, s.values}));
  const Score score = c.score.value_or(info.targets == TargetKind::classes ? Score::Accuracy : Score::SquaredError);
  LOOM_TRY(auto task,
           sample_task(c.kind, std::move(s), score, c.target.value_or(score == Score::CrossEntropy ? 0 : 1)));
  return OpenTask{std::move(task), info.sha256};
}

Result<OpenTask> task_of(const TaskConfig& c, const std::string& folder) {
  if (is_of_file(c.kind)) return data_task(c, folder);
  LOOM_TRY(auto task, built_in_task(c));
  return OpenTask{std::move(task), {}};
}

Json finite_or_name(double v) {
  return std::isfinite(v) ? Json(v) : Json(std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}

Json lineage_line(const Member& m) {
  Json parents = Json::array(), objectives = Json::array();
  for (const MemberId& id : m.parents) parents.push_back(id.text());
  for (const double o : m.fitness->objectives) objectives.push_back(finite_or_name(o));
  return {{"id", m.id.text()},
          {"parents", std::move(parents)},
          {"operations", m.operations},
          {"fitness", std::move(objectives)},
          {"hash", to_hex(network_digest(m.network, m.structure))}};
}

}  // namespace

tl::unexpected<Error> EvolveRun::of_config(std::string_view what, Error error) const {
  if (what.empty() && source_.empty()) return tl::make_unexpected(std::move(error));
  return at(what.empty()      ? source_
            : source_.empty() ? std::string(what)
                              : fmt::format("{}: {}", source_, what),
            std::move(error));
}

Result<std::unique_ptr<EvolveRun>> EvolveRun::open(const std::string& config, const EvolveOptions& options) {
  LOOM_TRY(const std::string text, read_text_file(config));
  auto json = parse_json(text);
  if (!json) return at(config, std::move(json).error());
  return make(*json, options, config);
}

Result<std::unique_ptr<EvolveRun>> EvolveRun::create(const Json& config, const EvolveOptions& options) {
  return make(config, options, "");
}

Result<std::unique_ptr<EvolveRun>> EvolveRun::make(const Json& config, const EvolveOptions& options,
                                                   std::string source) {
  if (options.save_every == 0) return fail(Code::InvalidArgument, "save_every: 0 generations between two saves");
  std::unique_ptr<EvolveRun> run(new EvolveRun(options));
  run->folder_ = source.empty() ? options.folder : text_of(path_of(source).parent_path());
  run->source_ = std::move(source);
  auto read = evolution_config_from(config, options.outside ? ObjectiveNames::OfHost : ObjectiveNames::OfTasks);
  if (!read) return run->of_config("", std::move(read).error());
  run->config_ = std::move(*read);
  if (options.generations != 0) run->config_.generations = options.generations;
  LOOM_TRY_VOID(run->open_task(config));
  LOOM_TRY(Device* const device, run->device());
  LOOM_TRY(run->workers_, Workers::create(options.threads, options.isa, options.pool, device));
  LOOM_TRY_VOID(run->begin());
  if (options.begun) options.begun(*run);
  return run;
}

Result<void> EvolveRun::open_task(const Json& config) {
  if (options_.outside) {
    if (find(config, "task") != nullptr)
      return of_config("", {Code::InvalidConfig, "given beside a task outside", Steps{"task"}});
    input_ = options_.outside->input, target_ = options_.outside->target;
    LOOM_TRY(identity_, identity_of(config, {}));
    identity_["input"] = input_.extents();
    return {};
  }
  auto opened = task_of(config_.task, folder_);
  if (!opened) return of_config("", std::move(opened).error());
  task_ = std::move(opened->task);
  LOOM_TRY(identity_, identity_of(config, opened->data));
  input_ = task_->input(), target_ = config_.task.target.value_or(task_->target());
  LOOM_TRY(fitness_, fitness_of(*task_, config_.objectives));
  return {};
}

// Everything a run is a function of; more generations do not make it another run. Files count as their bytes.
Result<Json> EvolveRun::identity_of(Json config, const std::optional<Digest>& data) const {
  config.erase("generations");
  Json out{{"config", std::move(config)}};
  if (data) out["data"] = to_hex(*data);
  if (const std::string* network = as_string(config_.network)) {
    LOOM_TRY(const auto file, MappedFile::open(path_in(folder_, *network)));
    Sha256 hash;
    hash.update(file->bytes());
    out["network"] = to_hex(hash.finish());
  }
  return out;
}

Result<Network> EvolveRun::base() const {
  const bool inside = config_.network.is_object();
  auto spec = inside ? network_from_json(config_.network, {.read_graph = graphs_in(folder_)})
                     : load_network(path_in(folder_, *as_string(config_.network)));
  if (!spec && inside) return of_config("network", std::move(spec).error());
  if (!spec) return tl::make_unexpected(std::move(spec).error());
  return std::move(spec->network);
}

Result<std::shared_ptr<const ForwardPlan>> EvolveRun::plan_base(Network& base) const {
  LOOM_TRY(auto plan, ForwardPlan::create(base, input_));
  if (task_ == nullptr) return plan;
  LOOM_TRY(const Shape output, plan->output_shape(input_));
  LOOM_TRY_VOID(task_->check_output(output));
  return plan;
}

Result<Device*> EvolveRun::device() const {
  const std::string& name = options_.device;
  if (name == "cpu") return nullptr;
  if (is_fast_name(name))
    return fail(Code::InvalidArgument, "device \"{}\": an evolution is exact, its hash is that of every other device",
                name);
  if (task_ == nullptr)
    return fail(Code::InvalidArgument, "device \"{}\": a task outside is judged by its host; expected no device", name);
  NetworkSessionOptions chosen{.threads = options_.threads};
  chosen.pool = options_.pool;
  const auto candidates = static_cast<double>(config_.islands.count) *
                          static_cast<double>(config_.islands.population.size) *
                          static_cast<double>(config_.generations);
  LOOM_TRY_VOID(name_device(name, chosen, candidates, options_.device_told));
  if (!chosen.choose_device) return chosen.device;
  LOOM_TRY(Network network, base());
  const auto plan = plan_base(network);
  if (!plan) return of_config("the network does not fit the task", plan.error());
  return chosen.choose_device(network, *plan, chosen);
}

Result<void> EvolveRun::begin() {
  LOOM_TRY(Network network, base());
  // Members keep the shape of its output: what fits now does so to the end.
  if (auto fits = plan_base(network); !fits)
    return of_config("the network does not fit the task", std::move(fits).error());
  LOOM_TRY_VOID(check_start(options_.out, options_.start, kEvolutionRun));
  if (!options_.out.empty()) {
    LOOM_TRY_VOID(create_folders(options_.out));
    LOOM_TRY(RunFolder taken, take_folder(options_.out, options_.start, kEvolutionRun));
    lock_ = std::move(taken.lock);
    // a run that was killed before its first save has an empty lineage or none, and starts over
    if (taken.resumes) return go_on();
  }
  LOOM_TRY(islands_, Islands::create(config_.seed, config_.islands, network, input_, workers_));
  if (options_.out.empty()) return {};
  LOOM_TRY_VOID(remove_older(options_.out, kEvolutionRun));
  LOOM_TRY(lineage_, Journal::create(file("lineage.jsonl")));
  return save();
}

Result<void> EvolveRun::go_on() {
  const std::string path = file("state.json");
  LOOM_TRY(const std::string text, read_text_file(path, std::size_t{1} << 31));
  auto state = parse_evolution_state(text);
  if (!state) return at(path, std::move(state).error());
  LOOM_TRY_VOID(check_identity(path, &state->identity, identity_));
  auto islands = Islands::restore(state->islands, config_.seed, config_.islands, input_);
  if (!islands) return at(path, std::move(islands).error());
  islands_ = std::move(*islands), hash_ = std::move(state->hash), first_ = islands_->generation();
  LOOM_TRY(lineage_, Journal::resume(file("lineage.jsonl"), state->lineage));
  return {};
}

bool EvolveRun::solved() const { return best() != nullptr && best()->fitness->score() >= target_; }

bool EvolveRun::done() const {
  return stopped_ || solved() || islands_->generation() >= config_.generations ||
         (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed));
}

Result<Islands::Report> EvolveRun::step() {
  if (task_ == nullptr) return fail(Code::InvalidState, "the task is outside: tell() takes its fitness");
  if (options_.judge) {
    LOOM_TRY(const std::vector<Fitness> told, judged_elsewhere());
    return tell(told);
  }
  return advance([&](const auto& seen) { return islands_->evolve(fitness_, workers_, seen); });
}

Result<std::vector<Fitness>> EvolveRun::judged_elsewhere() {
  const auto places = ask();
  if (places.empty()) return std::vector<Fitness>();
  std::vector<const Network*> asked;
  asked.reserve(places.size());
  for (const Islands::Place& place : places) asked.push_back(&islands_->member(place).network);
  if (!like_) {
    LOOM_TRY(like_, judge(islands_->member(places[0]).candidate()));
  }
  return options_.judge(asked, *like_);
}

Result<Islands::Report> EvolveRun::tell(std::span<const Fitness> told) {
  return advance([&](const auto& seen) { return islands_->tell(told, workers_, seen); });
}

Result<Islands::Report> EvolveRun::advance(const Advance& one) {
  const auto started = std::chrono::steady_clock::now();
  Result<void> written;
  const auto seen = [&](const Member& m) {
    if (written) written = lineage_.write(lineage_line(m));
  };
  LOOM_TRY(Islands::Report report, one(lineage_.is_open() ? std::function<void(const Member&)>(seen) : nullptr));
  LOOM_TRY_VOID(std::move(written));
  // Each generation's hash goes into the next one's: one digest says whether two runs were the same.
  Sha256 hash;
  hash.update(std::as_bytes(std::span(hash_)));
  hash.update(std::as_bytes(std::span(report.hash)));
  hash_ = to_hex(hash.finish());
  evaluated_ += report.evaluated;
  if (options_.keep_history) history_.push_back({report.generation, report.best, report.average, report.hash});
  if (!options_.out.empty() && ++since_saved_ >= options_.save_every) LOOM_TRY_VOID(save());
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const EvolveProgress told{&report, best(), islands_->generation() - first_,
                            std::max(static_cast<std::uint32_t>(config_.generations), first_) - first_, seconds_};
  if (options_.progress && options_.progress(told) == Continue::stop) stopped_ = true;
  return report;
}

Result<EvolveResult> EvolveRun::run() {
  while (!done()) {
    const auto report = step();
    if (report) continue;
    // Who judged elsewhere has ended it, between two generations: the run can go on from this state.
    if (report.error().code == Code::Cancelled && !options_.out.empty()) LOOM_TRY_VOID(save());
    return tl::make_unexpected(report.error());
  }
  return finish();
}

Result<void> EvolveRun::save() {
  since_saved_ = 0;
  LOOM_TRY(Json state, islands_->state());
  LOOM_TRY(JournalMark mark, lineage_.sync());
  const std::string text = evolution_state_text({identity_, std::move(mark), hash_, std::move(state)});
  LOOM_TRY_VOID(write_file_atomically(file("state.json"), std::as_bytes(std::span(text))));
  if (const Member* member = best()) {
    LOOM_TRY_VOID(save_network(file("best.entity"), member->network, {true}));
  }
  return {};
}

Result<EvolveResult> EvolveRun::finish() {
  if (!options_.out.empty()) LOOM_TRY_VOID(save());
  EvolveResult result;
  result.task = task_ != nullptr ? loom::name(task_->kind()) : "outside";
  result.generations = islands_->generation();
  result.solved = solved();
  result.stopped = stopped_ || (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed));
  if (best() != nullptr) result.best = best()->fitness->score(), result.best_id = best()->id.text();
  result.evaluated = evaluated_, result.seconds = seconds_, result.threads = workers_.pool().threads();
  result.hash = hash_, result.history = history_;
  result.asks_for_ensemble = config_.ensemble && best() != nullptr;
  if (!result.asks_for_ensemble) return result;
  // The run has ended well and its files stand, whether or not two of its members can be joined.
  if (task_ == nullptr) {
    result.no_ensemble = "the cases of a task outside are not known";
  } else if (auto joined = best_ensemble(*islands_, *task_, workers_.runner(0)); joined) {
    result.ensemble = std::move(*joined);
  } else {
    result.no_ensemble = joined.error().text();
  }
  return result;
}

Result<std::unique_ptr<Judge>> Judge::create(const Json& config, const EvolveOptions& options) {
  LOOM_TRY(auto run, EvolveRun::create(config, options));
  if (options.outside) return fail(Code::InvalidArgument, "a task outside is judged by its host");
  return std::unique_ptr<Judge>(new Judge(std::move(run)));
}

Result<Fitness> Judge::fitness(Network& network) {
  LOOM_TRY(const auto plan, ForwardPlan::create(network, run_->input()));
  return run_->judge({network, *plan});
}

Result<EvolveResult> evolve_file(const std::string& config, const EvolveOptions& options) {
  LOOM_TRY(const auto run, EvolveRun::open(config, options));
  return run->run();
}

Result<EvolveResult> evolve(const Json& config, const EvolveOptions& options) {
  LOOM_TRY(const auto run, EvolveRun::create(config, options));
  return run->run();
}

Json to_json(const EvolveResult& r) {
  Json out{{"task", r.task},
           {"generations", r.generations},
           {"solved", r.solved},
           {"interrupted", r.stopped},
           {"best", r.best ? finite_or_name(*r.best) : Json(nullptr)},
           {"best_id", r.best ? Json(r.best_id) : Json(nullptr)},
           {"evaluated", r.evaluated},
           {"seconds", r.seconds},
           {"threads", r.threads},
           {"hash", r.hash}};
  if (r.asks_for_ensemble) out["ensemble"] = nullptr;
  if (r.ensemble)
    out["ensemble"] = Json{{"members", r.ensemble->members},
                           {"coverage", r.ensemble->coverage},
                           {"overlap", r.ensemble->overlap},
                           {"combined", r.ensemble->combined},
                           {"best_member", r.ensemble->best_member}};
  if (r.history.empty()) return out;
  Json history = Json::array();
  for (const EvolveGeneration& g : r.history)
    history.push_back(Json{{"generation", g.generation},
                           {"best", finite_or_name(g.best)},
                           {"average", finite_or_name(g.average)},
                           {"hash", to_hex(g.hash)}});
  out["history"] = std::move(history);
  return out;
}

}  // namespace loom
