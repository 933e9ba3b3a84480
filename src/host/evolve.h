#pragma once
// Evolution with its record, as `loom evolve` runs it: networks bred for a task of a config, or for a fitness that the
// caller computes. The folder of a run holds
//   lineage.jsonl   every network that was judged, with its parents    state.json    to resume from
//   best.entity     the best network so far

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/journal.h"
#include "core/run_folder.h"
#include "evolution/ensemble/ensemble.h"
#include "evolution/run/config.h"
#include "host/device.h"
#include "training/training_run.h"

namespace loom {

// In place of the config's task: the caller judges the networks (EvolveRun::ask() and tell()).
struct OutsideTask {
  Shape input;            // of a batch that networks are prepared for
  double target = 1e300;  // the score that ends the run
};

struct EvolveGeneration {
  std::uint32_t generation = 0;
  double best = 0, average = 0;  // of its scores; NaN without any
  Digest hash{};
};

struct EvolveProgress {
  const Islands::Report* report = nullptr;
  const Member* best = nullptr;       // so far; null where no network has a score
  std::uint32_t done = 0, total = 0;  // generations of this call, and at most
  double seconds = 0;
};

class EvolveRun;
struct EvolveOptions {
  std::string out{};     // folder of the run; empty: nothing is written
  std::string folder{};  // where paths in a config start that is no file; paths in a file start in its folder
  RunStart start = RunStart::fresh;
  std::size_t generations = 0;  // in place of the config's; 0: its own
  std::size_t save_every = 50;  // generations between two saves, at least 1
  bool keep_history = false;    // EvolveResult::history is filled
  std::optional<OutsideTask> outside{};
  // Gives the fitness of networks by the config's task, in their order, in place of this process (Judge, in others).
  // How many objectives and features of behaviour each has stands in `like`.
  std::function<Result<std::vector<Fitness>>(std::span<const Network* const>, const Fitness& like)> judge{};
  // Where networks are judged, a name of host/device.h: "auto" is settled for the first one, by as many passes as the
  // run has candidates. Runs are exact: InvalidArgument for precision fast, and for a task outside.
  std::string device = "cpu";
  DeviceTold device_told{};                 // hears what "auto" took
  int threads = 0;                          // 0: one per physical core; not read where there is a pool
  std::optional<Isa> isa{};                 // absent: the best one
  std::shared_ptr<ThreadPool> pool = {};    // shared with others; null: one of its own
  std::function<void(EvolveRun&)> begun{};  // when all is open, before the first generation
  std::function<Continue(const EvolveProgress&)> progress{};  // after every generation
  const std::atomic<bool>* cancel = nullptr;                  // set from any thread: the run ends after a generation
};

inline Result<void> name_device(std::string_view name, EvolveOptions& to) {
  to.device = name;
  return {};
}

struct EvolveResult {
  std::string task;
  std::uint32_t generations = 0;
  bool solved = false, stopped = false;
  std::optional<double> best;  // score; absent where no network has one
  std::string best_id;
  std::size_t evaluated = 0;
  double seconds = 0;
  int threads = 0;
  std::string hash;  // of all generations
  bool asks_for_ensemble = false;
  std::optional<EnsembleReport> ensemble;
  std::string no_ensemble;  // why there is none that was asked for
  std::vector<EvolveGeneration> history;
};

class EvolveRun {
 public:
  // The config in a file, or as JSON. Errors name the file; InvalidConfig for a task beside an outside one;
  // InvalidState, InvalidArgument of take_folder(); CorruptData, InvalidConfig for a state of another run.
  static Result<std::unique_ptr<EvolveRun>> open(const std::string& config, const EvolveOptions& options);
  static Result<std::unique_ptr<EvolveRun>> create(const Json& config, const EvolveOptions& options);

  // Solved, at the last generation, or stopped.
  bool done() const;
  bool solved() const;
  // One generation by the task, with its lines of the lineage and, when it is due, a save. InvalidState for an outside
  // task; Cancelled, errors of EvolveOptions::judge.
  Result<Islands::Report> step();
  // Like members(), for an outside task (Islands::ask()).
  std::vector<Islands::Place> ask() const { return islands_->ask(); }
  Result<Islands::Report> tell(std::span<const Fitness> told);
  // By the task, in this process. Not for an outside one.
  Result<Fitness> judge(const Candidate& candidate) { return fitness_(workers_.runner(0), candidate); }
  const Shape& input() const { return input_; }
  // Generations by the task until done().
  Result<EvolveResult> run();
  // Saves and sums up; may be followed by more steps.
  Result<EvolveResult> finish();

  const Islands& islands() const { return *islands_; }
  const EvolutionConfig& config() const { return config_; }
  const Json& identity() const { return identity_; }
  const Member* best() const { return islands_->best_member(); }

 private:
  explicit EvolveRun(EvolveOptions options) : options_(std::move(options)) {}
  static Result<std::unique_ptr<EvolveRun>> make(const Json& config, const EvolveOptions& options, std::string source);
  std::string file(const char* name) const { return options_.out + "/" + name; }
  tl::unexpected<Error> of_config(std::string_view what, Error error) const;
  Result<void> open_task(const Json& config);
  Result<Json> identity_of(Json config, const std::optional<Digest>& data) const;
  Result<Network> base() const;
  // The plan for input(); ShapeMismatch for outputs that the task cannot judge.
  Result<std::shared_ptr<const ForwardPlan>> plan_base(Network& base) const;
  Result<std::vector<Fitness>> judged_elsewhere();
  Result<Device*> device() const;
  Result<void> begin();
  Result<void> go_on();
  Result<void> save();
  using Advance = std::function<Result<Islands::Report>(const std::function<void(const Member&)>& seen)>;
  Result<Islands::Report> advance(const Advance& one);

  EvolveOptions options_;
  std::string source_, folder_;  // the config's file, for errors; where its paths start
  EvolutionConfig config_;
  std::unique_ptr<Task> task_;  // null: an outside one
  FitnessFunction fitness_;
  Shape input_;
  double target_ = 0, seconds_ = 0;
  Workers workers_;
  std::optional<Islands> islands_;
  Json identity_;  // that a state must share
  std::optional<FolderLock> lock_;
  Journal lineage_;
  std::string hash_;
  std::size_t evaluated_ = 0, since_saved_ = 0;
  std::vector<EvolveGeneration> history_;
  std::optional<Fitness> like_;  // a fitness, for its size
  std::uint32_t first_ = 0;      // generation of this call
  bool stopped_ = false;
};

// Judges networks by the task of a config, as a run of it does: for a run in another process (EvolveOptions::judge).
class Judge {
 public:
  // Errors of EvolveRun::create().
  static Result<std::unique_ptr<Judge>> create(const Json& config, const EvolveOptions& options);
  // A member that came from elsewhere; it is planned for the task. Errors of ForwardPlan::create(); what ends a run.
  Result<Fitness> fitness(Network& network);
  std::size_t objectives() const { return run_->config().objectives.size(); }
  // All that a run is a function of, its data by their hashes: two judges of one identity judge alike.
  const Json& identity() const { return run_->identity(); }

 private:
  explicit Judge(std::unique_ptr<EvolveRun> run) : run_(std::move(run)) {}
  std::unique_ptr<EvolveRun> run_;
};

// A whole run.
Result<EvolveResult> evolve_file(const std::string& config, const EvolveOptions& options);
Result<EvolveResult> evolve(const Json& config, const EvolveOptions& options);
Json to_json(const EvolveResult& result);

}  // namespace loom
