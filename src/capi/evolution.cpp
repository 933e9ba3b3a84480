// Signatures, crosses, mutations and populations of loom.h.

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "core/nearest.h"
#include "core/sha256.h"
#include "evolution/dna/dna.h"
#include "evolution/population/population.h"
#include "evolution/run/config.h"
#include "host/compare.h"
#include "host/dna.h"
#include "network/spec/clone.h"

namespace loom::capi {

struct PopulationObject : Object {
  static constexpr Kind kKind = Kind::Population;
  PopulationObject(Population given, Workers lent, std::vector<std::string> names, Json config_and_shape)
      : population(std::move(given)),
        workers(std::move(lent)),
        objectives(std::move(names)),
        made_with(std::move(config_and_shape)) {}
  Population population;
  Workers workers;
  const std::vector<std::string> objectives;  // the caller's names for the numbers of a member
  const Json made_with;                       // that a snapshot must share
  std::vector<std::uint64_t> asked;
};

namespace {

// Everything but the networks that a population is a function of.
Json made_with(const PopulationSettings& settings, const Shape& input) {
  Json out = settings.json;
  out["shape"] = std::vector<std::size_t>(input.extents().begin(), input.extents().end());
  return out;
}

std::string sha256_of(const Json& state) {
  const std::string text = dump_json(state);
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return to_hex(hash.finish());
}

// CorruptData that names the key of a snapshot that was made with another config or shape, and for changed bytes. Takes
// the hash out of the state.
Result<void> check_snapshot(Json& state, const Json& expected) {
  if (!state.is_object()) return fail(Code::CorruptData, "expected the snapshot of a population, an object");
  const Json* const made = find(state, "made_with");
  if (made == nullptr || !made->is_object()) return fail_at({"made_with"}, Code::CorruptData, "is missing");
  for (const auto& [key, value] : expected.items()) {
    const Json* const got = find(*made, key);
    if (got == nullptr || *got != value)
      return fail_at({"made_with", key}, Code::CorruptData,
                     "the snapshot is of another population: expected {}, got {}", dump_json(value).substr(0, 80),
                     got == nullptr ? "none" : dump_json(*got).substr(0, 80));
  }
  const Json* const hash = find(state, "sha256");
  if (hash == nullptr || as_string(*hash) == nullptr) return fail_at({"sha256"}, Code::CorruptData, "is missing");
  const std::string saved = *as_string(*hash);
  state.erase("sha256");
  if (sha256_of(state) != saved)
    return fail_at({"sha256"}, Code::CorruptData, "the snapshot was changed: its bytes have another hash");
  return {};
}

// Two networks for a call that reads both.
struct Pair {
  TakenNetwork<Reading> first, second;
};
Result<Pair> take_pair(loom_network first, loom_network second) {
  LOOM_TRY(auto a, take_network<Reading>(first));
  LOOM_TRY(auto b, take_network<Reading>(second));
  LOOM_TRY_VOID(need_values(a.network()));
  LOOM_TRY_VOID(need_values(b.network()));
  return Pair{std::move(a), std::move(b)};
}

struct TwoDnas {
  Dna first, second;
};
Result<TwoDnas> dnas_of(const Pair& pair, bool nested) {
  LOOM_TRY(Dna first, extract_dna(pair.first.network(), {.nested = nested}));
  LOOM_TRY(Dna second, extract_dna(pair.second.network(), {.nested = nested}));
  return TwoDnas{std::move(first), std::move(second)};
}

Result<std::uint64_t> copy_of(const Network& network) {
  LOOM_TRY(Network made, clone_network(network));
  return make_handle<NetworkObject>(std::move(made), std::vector<std::string>{});
}

Result<Workers> workers_of(const loom_compute_options* compute) {
  struct {
    int threads = 0;
    std::optional<Isa> isa;
    std::shared_ptr<ThreadPool> pool;
  } options;
  LOOM_TRY_VOID(read_compute(compute, options));
  return Workers::create(options.threads, options.isa, options.pool);
}

Json report_of(const MutationReport& report) {
  Json made = Json::object(), skipped = Json::object();
  for (std::size_t i = 0; i < kNumMutations; ++i) {
    const std::string what(name(static_cast<Mutation>(i)));
    made[what] = report.made[i], skipped[what] = report.skipped[i];
  }
  return Json{{"made", std::move(made)}, {"skipped", std::move(skipped)}};
}

Json report_of(const GenerationReport& r) {
  return Json{{"generation", r.generation}, {"scores", r.scores},       {"best", r.best},
              {"average", r.average},       {"worst", r.worst},         {"best_index", r.best_index},
              {"species", r.species},       {"evaluated", r.evaluated}, {"hash", to_hex(r.hash)},
              {"summary", r.summary()}};
}

Json info_of(const Population& population) {
  Json members = Json::array();
  for (const Member& m : population.members()) {
    std::vector<std::string> parents;
    parents.reserve(m.parents.size());
    for (const MemberId& id : m.parents) parents.push_back(id.text());
    Json one{{"id", m.id.text()}, {"parents", parents}, {"operations", m.operations}, {"species", m.species}};
    one["fitness"] = m.fitness ? Json(m.fitness->objectives) : Json();
    members.push_back(std::move(one));
  }
  Json out{{"generation", population.generation()}, {"members", std::move(members)}};
  out["best_score"] = population.best() != nullptr ? Json(population.best_score()) : Json();
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_dna_extract(loom_network network, int32_t nested, loom_blob* dna) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(dna));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(const Dna found, extract_dna(taken.network(), {.nested = nested != 0}));
    LOOM_TRY(*dna, make_blob(to_json(found)));
    return {};
  });
}

loom_status loom_dna_compare(loom_network first, loom_network second, int32_t nested, loom_blob* comparison) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(comparison));
    LOOM_TRY(const Pair pair, take_pair(first, second));
    LOOM_TRY(const TwoDnas dnas, dnas_of(pair, nested != 0));
    LOOM_TRY(*comparison, make_blob(to_json(compare_dna(dnas.first, dnas.second, nested != 0))));
    return {};
  });
}

loom_status loom_dna_draw(loom_network first, loom_network second, int32_t nested, loom_blob* svg) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(svg));
    LOOM_TRY(const Pair pair, take_pair(first, second));
    LOOM_TRY(const TwoDnas dnas, dnas_of(pair, nested != 0));
    const DnaComparison comparison = compare_dna(dnas.first, dnas.second, nested != 0);
    const auto title = [](const Network& n) { return n.settings.name.empty() ? n.settings.id : n.settings.name; };
    LOOM_TRY(std::string picture, heat_map_svg(dnas.first, dnas.second, comparison, title(pair.first.network()),
                                               title(pair.second.network()), nested != 0));
    LOOM_TRY(*svg, make_blob(std::move(picture)));
    return {};
  });
}

loom_status loom_network_compare(loom_network first, loom_network second, loom_blob* differences) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(differences));
    LOOM_TRY(const Pair pair, take_pair(first, second));
    LOOM_TRY(*differences, make_blob(to_json(compare_networks(pair.first.network(), pair.second.network()))));
    return {};
  });
}

loom_status loom_network_splice(loom_network first, loom_network second, const void* config, size_t config_size,
                                loom_network* child) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(child));
    LOOM_TRY(const Json json, config_json(config, config_size));
    LOOM_TRY(const SpliceConfig wanted, splice_config_from(json));
    LOOM_TRY(const Pair pair, take_pair(first, second));
    LOOM_TRY(Network made, splice(pair.first.network(), pair.second.network(), wanted));
    LOOM_TRY(*child, make_handle<NetworkObject>(std::move(made), std::vector<std::string>{}));
    return {};
  });
}

loom_status loom_network_mutate(loom_network network, const uint64_t* shape, size_t shape_count, const void* config,
                                size_t config_size, loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const Shape input, shape_of(shape, shape_count, "shape"));
    LOOM_TRY(const Json json, config_json(config, config_size));
    LOOM_TRY(const MutationSettings wanted, mutation_config_from(json));
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    ++taken.use->values;
    LOOM_TRY_VOID(need_values(taken.network()));
    MutationReport made;
    taken.use->plans.forward.reset();
    LOOM_TRY(taken.use->plans.forward, mutate(taken.network(), input, wanted.mutation, wanted.key, &made));
    LOOM_TRY(*report, make_blob(report_of(made)));
    return {};
  });
}

loom_status loom_population_create(loom_network base, const uint64_t* shape, size_t shape_count, const void* config,
                                   size_t config_size, const loom_compute_options* compute,
                                   loom_population* population) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(population));
    LOOM_TRY(const Shape input, shape_of(shape, shape_count, "shape"));
    LOOM_TRY(const Json json, config_json(config, config_size));
    LOOM_TRY(const PopulationSettings wanted, population_config_from(json));
    LOOM_TRY(Workers workers, workers_of(compute));
    LOOM_TRY(const auto taken, take_network<Writing>(base));
    LOOM_TRY_VOID(need_values(taken.network()));
    LOOM_TRY_VOID(plan_forward(*taken.use.operator->(), input));
    LOOM_TRY(Population made, Population::create(wanted.seed, wanted.population, taken.network(), input, workers));
    LOOM_TRY(*population, make_handle<PopulationObject>(std::move(made), std::move(workers), wanted.objectives,
                                                        made_with(wanted, input)));
    return {};
  });
}

loom_status loom_population_ask(loom_population population, const uint64_t** places, size_t* places_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(places, places_count));
    LOOM_TRY(const auto p, take<PopulationObject>(population, "population"));
    const std::vector<std::size_t> open = p->population.ask();
    p->asked.assign(open.begin(), open.end());
    *places = p->asked.data(), *places_count = p->asked.size();
    return {};
  });
}

loom_status loom_population_network(loom_population population, uint64_t place, loom_network* network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(network));
    LOOM_TRY(const auto p, take<PopulationObject>(population, "population"));
    const auto members = p->population.members();
    if (place >= members.size()) return fail(Code::OutOfRange, "place {}: there are {} members", place, members.size());
    LOOM_TRY(*network, copy_of(members[static_cast<std::size_t>(place)].network));
    return {};
  });
}

loom_status loom_population_tell(loom_population population, const double* fitness, size_t fitness_count,
                                 loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const auto values, need_array(fitness, fitness_count, "fitness"));
    LOOM_TRY(const auto p, take<PopulationObject>(population, "population"));
    const std::size_t members = p->population.ask().size(), width = p->objectives.size();
    if (values.size() != members * width)
      return fail(Code::InvalidArgument, "fitness: expected {} numbers, {} ({}) of each of {} members, got {}",
                  members * width, width, printable(fmt::format("{}", fmt::join(p->objectives, ", "))), members,
                  values.size());
    std::vector<Fitness> told(members);
    for (std::size_t i = 0; i < told.size(); ++i) {
      const auto own = values.subspan(i * width, width);
      told[i].objectives.assign(own.begin(), own.end());
    }
    LOOM_TRY(const GenerationReport made, p->population.tell(told, p->workers));
    LOOM_TRY(*report, make_blob(report_of(made)));
    return {};
  });
}

loom_status loom_population_best(loom_population population, loom_network* network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(network));
    LOOM_TRY(const auto p, take<PopulationObject>(population, "population"));
    const Network* const best = p->population.best();
    if (best == nullptr) return fail(Code::NoValue, "no generation has been judged so far, or every score is NaN");
    LOOM_TRY(*network, copy_of(*best));
    return {};
  });
}

loom_status loom_population_info(loom_population population, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto p, take<PopulationObject>(population, "population"));
    LOOM_TRY(*info, make_blob(info_of(p->population)));
    return {};
  });
}

loom_status loom_population_snapshot(loom_population population, loom_blob* bytes) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(bytes));
    LOOM_TRY(const auto p, take<PopulationObject>(population, "population"));
    LOOM_TRY(Json state, p->population.state());
    state["made_with"] = p->made_with;
    state["sha256"] = sha256_of(state);
    LOOM_TRY(*bytes, make_blob(state));
    return {};
  });
}

loom_status loom_population_restore(const void* bytes, size_t bytes_size, const uint64_t* shape, size_t shape_count,
                                    const void* config, size_t config_size, const loom_compute_options* compute,
                                    loom_population* population) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(population));
    LOOM_TRY(const std::string_view saved, need_bytes(bytes, bytes_size, "bytes"));
    LOOM_TRY(Json state, parse_json(saved));
    LOOM_TRY(const Shape input, shape_of(shape, shape_count, "shape"));
    LOOM_TRY(const Json json, config_json(config, config_size));
    LOOM_TRY(const PopulationSettings wanted, population_config_from(json));
    LOOM_TRY(Workers workers, workers_of(compute));
    LOOM_TRY_VOID(check_snapshot(state, made_with(wanted, input)));
    LOOM_TRY(Population made, Population::restore(state, wanted.seed, wanted.population, input, 0));
    LOOM_TRY(*population, make_handle<PopulationObject>(std::move(made), std::move(workers), wanted.objectives,
                                                        made_with(wanted, input)));
    return {};
  });
}
