// Whole evolutions of loom.h.

#include <bit>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/evolve.h"
#include "io/network_file.h"

namespace loom::capi {
namespace {

struct JudgeObject : Object {
  static constexpr Kind kKind = Kind::Judge;
  explicit JudgeObject(std::unique_ptr<Judge> given) : judge(std::move(given)) {}
  const std::unique_ptr<Judge> judge;
  std::vector<double> numbers;  // of the last fitness
};

// A fitness as numbers in a row: objectives, then behaviour.
std::vector<double> numbers_of(const Fitness& fitness) {
  std::vector<double> out = fitness.objectives;
  out.insert(out.end(), fitness.behaviour.begin(), fitness.behaviour.end());
  return out;
}

constexpr std::uint64_t kUnset = 0x7ff8'6e6f'7420'7365;  // a NaN that no computation gives

// Asks the host to judge networks.
Result<std::vector<Fitness>> ask_host(const loom_evolution_options& host, std::span<const Network* const> networks,
                                      const Fitness& like) {
  std::vector<std::byte> files;
  std::vector<std::uint64_t> ends;
  for (const Network* network : networks) {
    LOOM_TRY(const auto file, network_to_entity(*network, {.keep_master = true}));
    files.insert(files.end(), file.begin(), file.end());
    ends.push_back(files.size());
  }
  const std::size_t objectives = like.objectives.size(), width = objectives + like.behaviour.size();
  std::vector<double> numbers(networks.size() * width, std::bit_cast<double>(kUnset));
  const loom_judging_event event{.struct_size = sizeof event,
                                 .networks = files.data(),
                                 .networks_size = files.size(),
                                 .ends = ends.data(),
                                 .ends_count = ends.size(),
                                 .width = width,
                                 .fitness = numbers.data(),
                                 .fitness_count = numbers.size()};
  if (!continues(host.judging(host.user, &event), "on_judging"))
    return fail(Code::Cancelled, "judging: the callback ended the evolution");
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (std::bit_cast<std::uint64_t>(numbers[i]) == kUnset)
      return fail(Code::InvalidArgument,
                  "the callback on_judging left number {} of network {} unset: expected {} for each", i % width,
                  i / width, width);
  std::vector<Fitness> out;
  for (auto at = numbers.begin(); at != numbers.end(); at += static_cast<std::ptrdiff_t>(width)) {
    const auto behaviour = at + static_cast<std::ptrdiff_t>(objectives);
    out.push_back({{at, behaviour}, {behaviour, at + static_cast<std::ptrdiff_t>(width)}});
  }
  return out;
}

Json report_of(const EvolveProgress& p) {
  Json out{{"done", p.done}, {"total", p.total}, {"seconds", p.seconds}};
  if (p.report != nullptr) out["hash"] = to_hex(p.report->hash);
  out["best_score"] = p.best != nullptr && p.best->fitness ? Json(p.best->fitness->score()) : Json();
  out["best_id"] = p.best != nullptr ? p.best->id.text() : "";
  return out;
}

Result<EvolveOptions> options_of(const loom_evolution_options& given, const CancelOf& cancel) {
  EvolveOptions out;
  if (given.out != nullptr) out.out = given.out;
  if (given.folder != nullptr) out.folder = given.folder;
  LOOM_TRY(out.start, run_start_of(given.start));
  out.generations = static_cast<std::size_t>(given.generations);
  LOOM_TRY_VOID(read_compute(given.compute, out));
  if (given.progress != nullptr)
    out.progress = [call = given.progress, user = given.user](const EvolveProgress& p) {
      const bool goes_on = continues(call(user, dump_json(report_of(p)).c_str()), "on_generation");
      return goes_on ? Continue::yes : Continue::stop;
    };
  if (given.judging != nullptr)
    out.judge = [given](std::span<const Network* const> networks, const Fitness& like) {
      return ask_host(given, networks, like);
    };
  out.cancel = cancel.flag();
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_evolution_run(const void* config, size_t config_size, const loom_evolution_options* options,
                               loom_blob* outcome) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(outcome));
    LOOM_TRY(const std::string_view text, need_bytes(config, config_size, "config"));
    LOOM_TRY(const Json json, parse_json(text));
    LOOM_TRY(const loom_evolution_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const EvolveOptions wanted, options_of(given, cancel));
    LOOM_TRY(const EvolveResult done, evolve(json, wanted));
    LOOM_TRY_VOID(need_answers());
    LOOM_TRY(*outcome, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_evolution_run_file(const char* path, const loom_evolution_options* options, loom_blob* outcome) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(outcome));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const loom_evolution_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const EvolveOptions wanted, options_of(given, cancel));
    LOOM_TRY(const EvolveResult done, evolve_file(std::string(name), wanted));
    LOOM_TRY_VOID(need_answers());
    LOOM_TRY(*outcome, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_judge_create(const void* config, size_t config_size, const loom_evolution_options* options,
                              loom_judge* judge) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(judge));
    LOOM_TRY(const std::string_view text, need_bytes(config, config_size, "config"));
    LOOM_TRY(const Json json, parse_json(text));
    LOOM_TRY(const loom_evolution_options given, read_struct(options));
    EvolveOptions wanted;
    if (given.out != nullptr || given.start != LOOM_RUN_FRESH || given.generations != 0 || given.cancel != 0 ||
        given.progress != nullptr || given.judging != nullptr)
      return fail(Code::InvalidArgument, "a judge reads folder and compute of the options: leave the others 0");
    if (given.folder != nullptr) wanted.folder = given.folder;
    LOOM_TRY_VOID(read_compute(given.compute, wanted));
    LOOM_TRY(auto made, Judge::create(json, wanted));
    LOOM_TRY(*judge, make_handle<JudgeObject>(std::move(made)));
    return {};
  });
}

loom_status loom_judge_fitness(loom_judge judge, const void* network, size_t network_size, const double** numbers,
                               size_t* numbers_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(numbers, numbers_count));
    LOOM_TRY(const std::string_view file, need_bytes(network, network_size, "network"));
    LOOM_TRY(const auto j, take<JudgeObject>(judge, "judge"));
    LOOM_TRY(SpecResult read, network_from_entity(std::as_bytes(std::span(file))));
    LOOM_TRY(const Fitness fitness, j->judge->fitness(read.network));
    j->numbers = numbers_of(fitness);
    *numbers = j->numbers.data(), *numbers_count = j->numbers.size();
    return {};
  });
}

loom_status loom_judge_info(loom_judge judge, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto j, take<JudgeObject>(judge, "judge"));
    LOOM_TRY(*info, make_blob(Json{{"identity", j->judge->identity()}}));
    return {};
  });
}
