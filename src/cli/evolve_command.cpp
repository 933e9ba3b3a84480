// evolve: networks bred for a task, from a configuration file.

#include <cmath>
#include <cstdio>

#include "cli/commands.h"
#include "core/json.h"
#include "host/evolve.h"

namespace loom::cli {
namespace {

struct EvolveFlags {
  CommonOptions common;
  std::string config, output;
  bool resume = false, overwrite = false;
  std::size_t generations = 0;
  std::size_t save_every = 50;
};

void print_result(const EvolveFlags& o, const EvolveResult& result) {
  if (!result.no_ensemble.empty() && !o.common.quiet) warn("no ensemble: " + result.no_ensemble);
  if (o.common.json) return print_json(to_json(result));
  if (o.common.quiet) return;
  std::string joined;
  if (const auto& e = result.ensemble)
    joined =
        fmt::format("ensemble of {}: {:.4f} right together, {:.4f} the better one alone (covered by either {:.4f})\n",
                    fmt::join(e->members, " and "), e->combined, e->best_member, e->coverage);
  const std::string told =
      result.best ? fmt::format("best {:.6g} ({})", *result.best, result.best_id) : "no network has a score";
  std::printf("%s: %s after %u generations, %s, %zu networks judged in %.2f s\n%shash %s\n", result.task.c_str(),
              result.solved    ? "solved"
              : result.stopped ? "interrupted"
                               : "not solved",
              result.generations, told.c_str(), result.evaluated, result.seconds, joined.c_str(), result.hash.c_str());
  if (!o.output.empty())
    std::printf("%s: %slineage.jsonl, state.json\n", o.output.c_str(), result.best ? "best.entity, " : "");
}

Result<int> run_evolve(const EvolveFlags& o) {
  EvolveOptions options{.out = o.output, .generations = o.generations, .save_every = o.save_every};
  options.start = o.resume ? RunStart::resume : o.overwrite ? RunStart::overwrite : RunStart::fresh;
  options.keep_history = o.common.json && !o.common.quiet;
  options.threads = o.common.threads, options.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(options.isa, isa_from_name(o.common.isa));
  }
  LOOM_TRY_VOID(need_exact(o.common, "evolve", "chooses by"));
  options.device = o.common.device;
  if (options.device != "auto") LOOM_TRY_VOID(open_device(o.common).map([](Device*) {}));
  options.device_told = [&](const Device*, const std::string& line) { remark(o.common, line); };
  std::optional<Progress> bar;
  options.begun = [&](EvolveRun&) {
    watch_interrupts();
    bar.emplace("evolving", o.common.quiet);
  };
  options.progress = [&](const EvolveProgress& p) {
    const auto done = static_cast<double>(p.done), all = static_cast<double>(p.total);
    bar->update(done / all, fmt::format("gen {} best {:.4f} avg {:.4f}  {:.0f} s left at most", p.report->generation,
                                        p.best != nullptr ? p.best->fitness->score() : NAN, p.report->average,
                                        p.seconds / done * (all - done)));
    return Continue::yes;
  };
  LOOM_TRY(const auto run, EvolveRun::open(o.config, options));
  while (!run->done()) LOOM_TRY_VOID(run->step());
  bar.reset();
  LOOM_TRY(const EvolveResult result, run->finish());
  print_result(o, result);
  return result.stopped ? kInterrupted : kOk;
}

}  // namespace

Run evolve_command(CLI::App& app) {
  auto o = std::make_shared<EvolveFlags>();
  add_path(app, "CONFIG", o->config,
           "JSON: task, network, population, generations, seed, mutation... (docs/guide/evolution.md)")
      ->required();
  add_path(app, "-o,--output", o->output,
           "Folder for best.entity, lineage.jsonl and state.json; made if it does not exist");
  const auto resume = app.add_flag("--resume", o->resume, "Go on from state.json in the output folder");
  app.add_flag("--overwrite", o->overwrite, "Start over in a folder that holds a run")->excludes(resume);
  app.add_option("--generations", o->generations, "In place of the configuration's")->check(whole_number(1));
  app.add_option("--save-every", o->save_every, "Generations between saves")->check(CLI::Range(1, 1000000));
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_device(app, o->common);
  add_common(app, o->common, false);
  return [o] {
    if (o->resume && o->output.empty())
      return report(Error{Code::InvalidArgument, "--resume needs --output, the folder of the run"});
    return finish(run_evolve(*o));
  };
}

}  // namespace loom::cli
