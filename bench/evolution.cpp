// Times a population on exclusive or, one thread, in microseconds of CPU time per network: "judge <tab> least <tab>
// median" of scoring 150 networks that were never run before (preparing them for the first pass included),
// "breed" of whole generations of 150. bench/evolution.py runs it beside neat-python.
// "clone" and "plan" copy the 150 networks; "plan" also makes the plan of each copy, as for an evolved child.
//   bench_evolution CONFIG [SECONDS_PER_ROW]

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "core/file.h"
#include "core/json.h"
#include "evolution/run/config.h"
#include "network/spec/clone.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// f() returns how many networks it handled. A time is that of two milliseconds or more: the clock's own steps are then
// small.
template <class F>
Result<void> report(const char* name, double seconds, F&& f) {
  std::vector<double> times;
  for (const double begin = cpu_seconds(); cpu_seconds() - begin < seconds || times.size() < 5;) {
    const double start = cpu_seconds();
    double taken = 0;
    std::size_t networks = 0;
    for (; taken < 0.002; taken = cpu_seconds() - start) {
      LOOM_TRY(const std::size_t more, f());
      networks += more;
    }
    times.push_back(taken * 1e6 / static_cast<double>(networks));
  }
  std::ranges::sort(times);
  fmt::print("{}\t{:.3f}\t{:.3f}\n", name, times[0], times[times.size() / 2]);
  return {};
}

Result<void> bench(const char* path, double seconds) {
  LOOM_TRY(const std::string text, read_text_file(path));
  LOOM_TRY(const Json json, parse_json(text));
  LOOM_TRY(const EvolutionConfig config, evolution_config_from(json));
  LOOM_TRY(const auto task, built_in_task(config.task));
  LOOM_TRY(const FitnessFunction fitness, fitness_of(*task, config.objectives));
  LOOM_TRY(const SpecResult base, network_from_json(config.network));
  LOOM_TRY(Workers workers, Workers::create(1));
  LOOM_TRY(Population p, Population::create(1, config.islands.population, base.network, task->input(), workers));
  LOOM_TRY_VOID(report("judge", seconds, [&]() -> Result<std::size_t> {
    for (const Member& m : p.members()) {
      LOOM_TRY_VOID(fitness(workers.runner(0), m.candidate()));
    }
    return p.members().size();
  }));
  LOOM_TRY_VOID(report("clone", seconds, [&]() -> Result<std::size_t> {
    for (const Member& m : p.members()) {
      LOOM_TRY_VOID(clone_network(m.network));
    }
    return p.members().size();
  }));
  LOOM_TRY_VOID(report("plan", seconds, [&]() -> Result<std::size_t> {
    for (const Member& m : p.members()) {
      LOOM_TRY(Network child, clone_network(m.network));
      LOOM_TRY_VOID(ForwardPlan::create(child, task->input()));
    }
    return p.members().size();
  }));
  return report("breed", seconds, [&]() -> Result<std::size_t> {
    LOOM_TRY_VOID(p.evolve(fitness, workers));
    return p.members().size();
  });
}

}  // namespace
}  // namespace loom

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto done = loom::bench(argv[1], argc > 2 ? std::atof(argv[2]) : 1);
  if (!done) fmt::print(stderr, "{}\n", done.error().text());
  return done ? 0 : 1;
}
