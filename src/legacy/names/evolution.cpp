// Signatures, splices, mutations and populations of Loom 0.8x, with its keys (engine 9.2, 9.3, E-30).

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "legacy/names/own_objects.h"

namespace welvet {
namespace {

// A key of 0.8x, that of loom.h, and the default of 0.8x.
struct Named {
  const char* theirs;
  const char* ours;
  Json otherwise;
};
const std::vector<Named>& splice_keys() {
  static const std::vector<Named> keys = {{"CrossoverMode", "mode", "blend"}, {"BlendAlpha", "blend_alpha", 0.5},
                                          {"SplitRatio", "split_ratio", 0.5}, {"FitnessA", "fitness_a", 0.0},
                                          {"FitnessB", "fitness_b", 0.0},     {"Seed", "seed", 0}};
  return keys;
}
const std::vector<Named>& mutation_keys() {
  static const std::vector<Named> keys = {{"WeightPerturbRate", "weight_perturb_rate", 0.8},
                                          {"WeightPerturbScale", "weight_perturb_scale", 0.05},
                                          {"NodeMutateRate", "node_rate", 0.1},
                                          {"ConnectionAddRate", "connection_add_rate", 0.05},
                                          {"ConnectionDropRate", "connection_drop_rate", 0.02},
                                          {"ActivationMutRate", "activation_rate", 0.1},
                                          {"LayerToggleRate", "layer_toggle_rate", 0.02},
                                          {"DModel", "d_model", 0},
                                          {"DefaultNumHeads", "num_heads", 4},
                                          {"DefaultInChannels", "in_channels", 1},
                                          {"DefaultFilters", "filters", 0},
                                          {"DefaultKernelSize", "kernel_size", 3},
                                          {"DefaultVocabSize", "vocab_size", 256},
                                          {"DefaultNumClusters", "num_clusters", 8}};
  return keys;
}

Json defaults_of(const std::vector<Named>& keys) {
  Json out = Json::object();
  for (const Named& key : keys) out[key.theirs] = key.otherwise;
  return out;
}

// A config of 0.8x, which may be NULL, with the keys of loom.h. Discarded where it is no object.
Json config_of(const std::vector<Named>& keys, const Json& given) {
  Json out = Json::object();
  for (const Named& key : keys) {
    const auto found = given.find(key.theirs);
    out[key.ours] = found == given.end() ? key.otherwise : *found;
  }
  return out;
}
Json parsed(const char* text) {
  const std::string_view given = words(text);
  return given.empty() ? Json::object() : Json::parse(given, nullptr, false);
}

// Values of one input: input_shape's product, or the width of the first layer.
std::vector<std::uint64_t> input_of(loom_network network) {
  loom_blob blob = 0;
  if (loom_network_info(network, &blob) != LOOM_OK) return {};
  const Json info = Json::parse(take(blob), nullptr, false);
  std::vector<std::uint64_t> shape = {1};
  if (const auto extents = info.find("input_shape"); extents != info.end() && extents->is_array()) {
    for (const Json& extent : *extents) shape.push_back(extent.get<std::uint64_t>());
    return shape;
  }
  const std::uint64_t first[] = {0, 0, 0, 0};
  if (loom_network_layer(network, first, 4, &blob) != LOOM_OK) return {};
  const Json layer = Json::parse(take(blob), nullptr, false);
  for (const char* const name :
       {"input_height", "in_features", "input_size", "normalized_shape", "channels", "d_inner", "d_model", "features"})
    if (const auto found = layer.find(name); found != layer.end() && found->is_number_unsigned()) {
      shape.push_back(found->get<std::uint64_t>());
      return shape;
    }
  return {};
}

int64_t splice(int64_t a, int64_t b, const char* text) {
  const Json given = parsed(text);
  if (!given.is_object()) {
    failed("the config is no JSON object");
    return -1;
  }
  Json known = config_of(splice_keys(), given);
  // A config of 0.8x has every key; loom.h refuses those that its mode does not read.
  if (known["mode"] != "point") known.erase("split_ratio");
  if (known["mode"] != "blend") known.erase("blend_alpha");
  if (known["mode"] == "point") known.erase("fitness_a"), known.erase("fitness_b");
  const std::string config = known.dump();
  loom_network child = 0;
  if (loom_network_splice(handle(a), handle(b), config.data(), config.size(), &child) != LOOM_OK)
    return no_handle_of_call();
  return static_cast<int64_t>(child);
}

int64_t mutate(int64_t n, const char* text) {
  const Json given = parsed(text);
  if (!given.is_object()) {
    failed("the config is no JSON object");
    return -1;
  }
  Json config = config_of(mutation_keys(), given);
  config["seed"] = given.value("Seed", 0);
  Held child;
  if (loom_network_clone(handle(n), child.out()) != LOOM_OK) return no_handle_of_call();
  const std::vector<std::uint64_t> shape = input_of(child.get());
  if (shape.empty()) {
    failed("the network does not say how large its input is: give it an input_shape");
    return -1;
  }
  const std::string document = config.dump();
  loom_blob report = 0;
  if (loom_network_mutate(child.get(), shape.data(), shape.size(), document.data(), document.size(), &report) !=
      LOOM_OK)
    return no_handle_of_call();
  loom_release(report);
  return static_cast<int64_t>(child.keep());
}

struct People {
  std::mutex mutex;
  loom_population population = 0;
  double best = -std::numeric_limits<double>::infinity(), average = 0, worst = 0;

  People() = default;
  People(const People&) = delete;
  ~People() { loom_release(population); }
};
using Populations = OwnObjects<People, 0x73>;

int64_t new_population(int64_t seed, int size, const char* text) {
  const Json given = parsed(text);
  if (!given.is_object()) {
    failed("the config is no JSON object");
    return -1;
  }
  if (size < 1) {
    failed("a population has at least one member");
    return -1;
  }
  const std::vector<std::uint64_t> shape = input_of(handle(seed));
  if (shape.empty()) {
    failed("the network does not say how large its input is: give it an input_shape");
    return -1;
  }
  const std::string config =
      Json{{"population", size}, {"seed", given.value("Seed", 0)}, {"mutation", config_of(mutation_keys(), given)}}
          .dump();
  auto made = std::make_shared<People>();
  if (loom_population_create(handle(seed), shape.data(), shape.size(), config.data(), config.size(), nullptr,
                             &made->population) != LOOM_OK)
    return no_handle_of_call();
  return Populations::add(std::move(made));
}

Json info_of(const People& p) {
  loom_blob blob = 0;
  return loom_population_info(p.population, &blob) == LOOM_OK ? Json::parse(take(blob), nullptr, false) : Json();
}

// Fitnesses of all members; a member that loom.h knows the fitness of is not asked again.
char* evolve(People& p, const char* text) {
  const Json list = Json::parse(words(text), nullptr, false);
  const std::uint64_t* places = nullptr;
  std::size_t count = 0;
  const std::size_t members = info_of(p)["members"].size();
  if (!list.is_array() || list.size() != members)
    return failed("expected a JSON list of " + std::to_string(members) + " fitnesses");
  if (loom_population_ask(p.population, &places, &count) != LOOM_OK) return failed_call();
  std::vector<double> told;
  for (std::size_t i = 0; i < count; ++i) {
    const Json& one = list[static_cast<std::size_t>(places[i])];
    told.push_back(one.is_number() ? one.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  loom_blob report = 0;
  if (loom_population_tell(p.population, told.data(), told.size(), &report) != LOOM_OK) return failed_call();
  const Json said = Json::parse(take(report), nullptr, false);
  p.best = said.value("best", p.best), p.average = said.value("average", 0.0), p.worst = said.value("worst", 0.0);
  return done();
}

template <class F>
int64_t from_population(int64_t pop, F&& call) {
  loom_network out = 0;
  FreeLoomString(Populations::with(pop, "a population",
                                   [&](People& p) { return call(p, &out) == LOOM_OK ? done() : failed_call(); }));
  return out == 0 ? -1 : static_cast<int64_t>(out);
}

}  // namespace
}  // namespace welvet

using namespace welvet;

// [{Z, Y, X, L, Type, DType, Weights}]: names in place of the numbers of 0.8x.
char* LoomExtractDNA(int64_t n) {
  return answer([&] {
    loom_blob blob = 0;
    if (loom_dna_extract(handle(n), 0, &blob) != LOOM_OK) return failed_call();
    Json out = Json::array();
    for (const Json& each : Json::parse(take(blob), nullptr, false)) {
      Json one{{"Type", each["type"]}, {"DType", each["dtype"]}, {"Weights", each["weights"]}};
      int place[4] = {};
      if (std::sscanf(each["key"].get<std::string>().c_str(), "%d,%d,%d,%d", place, place + 1, place + 2, place + 3) ==
          4)
        one["Z"] = place[0], one["Y"] = place[1], one["X"] = place[2], one["L"] = place[3];
      out.push_back(std::move(one));
    }
    return json_text(out);
  });
}

char* LoomDefaultSpliceConfig(void) {
  return answer([] { return json_text(defaults_of(splice_keys())); });
}
int64_t LoomSpliceDNA(int64_t handleA, int64_t handleB, const char* cfgJSON) {
  return make([&] { return splice(handleA, handleB, cfgJSON); });
}
char* LoomDefaultNEATConfig(int dModel) {
  return answer([&] {
    Json out = defaults_of(mutation_keys());
    out["Seed"] = 0, out["DModel"] = dModel;
    if (dModel > 0) out["DefaultFilters"] = std::max(1, dModel / 4), out["DefaultNumHeads"] = dModel < 4 ? 1 : 4;
    return json_text(out);
  });
}
int64_t LoomNEATMutate(int64_t given, const char* cfgJSON) {
  return make([&] { return mutate(given, cfgJSON); });
}

int64_t LoomNewNEATPopulation(int64_t seed, int size, const char* cfgJSON) {
  return make([&] { return new_population(seed, size, cfgJSON); });
}
int LoomNEATPopulationSize(int64_t pop) {
  int size = -1;
  FreeLoomString(Populations::with(pop, "a population", [&](People& p) {
    size = static_cast<int>(info_of(p)["members"].size());
    return done();
  }));
  return size;
}
int64_t LoomNEATPopulationGetNetwork(int64_t pop, int index) {
  return from_population(pop, [&](People& p, loom_network* out) {
    return loom_population_network(p.population, index < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(index),
                                   out);
  });
}
char* LoomNEATPopulationEvolveWithFitnesses(int64_t pop, const char* fitnessesJSON) {
  return Populations::with(pop, "a population", [&](People& p) { return evolve(p, fitnessesJSON); });
}
int64_t LoomNEATPopulationBest(int64_t pop) {
  return from_population(pop, [](People& p, loom_network* out) { return loom_population_best(p.population, out); });
}
double LoomNEATPopulationBestFitness(int64_t pop) {
  double best = -1;
  FreeLoomString(Populations::with(pop, "a population", [&](People& p) {
    if (std::isinf(p.best)) return failed("no generation has been judged so far");
    best = p.best;
    return done();
  }));
  return best;
}
char* LoomNEATPopulationSummary(int64_t pop, int generation) {
  return Populations::with(pop, "a population", [&](People& p) {
    char line[160];
    std::snprintf(line, sizeof line, "Gen %d | best %.4f avg %.4f worst %.4f pop %zu", generation, p.best, p.average,
                  p.worst, info_of(p)["members"].size());
    return text(line);
  });
}
void LoomFreeNEATPopulation(int64_t pop) {
  make([&]() -> int64_t { return Populations::erase(pop) ? 0 : (failed("invalid handle of a population"), -1); });
}
