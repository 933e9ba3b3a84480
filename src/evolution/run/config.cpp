#include "evolution/run/config.h"

#include <algorithm>
#include <array>

#include "core/config_reader.h"
#include "core/config_writer.h"
#include "core/json.h"
#include "core/nearest.h"

namespace loom {
namespace {

constexpr SizeRange kAnySeed{0, 0x7fffffffffffffff};

// A task has the keys that change it, so that none is written in vain.
void task_fields(ConfigVisitor& visit, TaskConfig& c) {
  visit.choice({"name", "xor, spirals, cart_pole, csv, idx"}, c.kind, kTaskNames);
  const auto is = [&](auto... kinds) { return visit.describes() || ((c.kind == kinds) || ...); };
  if (is(TaskKind::Csv, TaskKind::Idx)) {
    visit({"path", "csv, idx: the file, beside the configuration"}, c.path);
    visit({"limit", "csv, idx: the first so many samples; 0: all"}, c.limit, {0, std::uint64_t{1} << 31});
  }
  if (is(TaskKind::Csv)) {
    visit({"target_column", "csv: by name; empty: the last"}, c.target_column);
    visit({"header", "csv: the first line names the columns"}, c.header);
    visit({"values", "csv: targets are numbers, not classes"}, c.values);
  }
  if (is(TaskKind::Idx)) visit({"labels", "idx: the file of labels"}, c.labels);
  if (is(TaskKind::Csv, TaskKind::Idx, TaskKind::Spirals)) {
    std::size_t score = c.score ? static_cast<std::size_t>(*c.score) + 1 : 0;
    visit.choice(
        {"score",
         "csv, idx, spirals: squared_error, accuracy, cross_entropy; empty: accuracy, of values squared_error"},
        score, {"", kScoreNames[0], kScoreNames[1], kScoreNames[2]});
    c.score.reset();
    if (score != 0) c.score = static_cast<Score>(score - 1);
  }
  if (is(TaskKind::Spirals)) visit({"points", "spirals: of each arm"}, c.points, {1, 65536});
  if (is(TaskKind::CartPole)) {
    visit({"episodes", "cart_pole: starts that a network is judged by"}, c.episodes, {1, 4096});
    visit({"steps", "cart_pole: of an episode at most"}, c.steps, {1, 1000000});
    visit({"seed", "cart_pole: of the starts"}, c.seed, kAnySeed);
  }
  visit({"target", "The score that ends the run. Without it: the task's own"}, c.target, {-1e300, 1e300});
}

// Lists of names as they are given; mutation_of() looks them up.
struct MutationNames {
  std::vector<std::string> layer_types, activations, dtypes;

  explicit MutationNames(const MutationConfig& c) : layer_types(c.layer_types) {
    for (const Activation a : c.activations) activations.emplace_back(loom::name(a));
    for (const DType t : c.dtypes) dtypes.emplace_back(loom::name(t));
  }
};

void mutation_fields(ConfigVisitor& visit, MutationConfig& c, MutationNames& names) {
  MutationConfig::rates(c, [&](Key key, double& rate) { visit(key, rate, {0, 1}); });
  visit({"weight_perturb_scale", "Largest step of a weight"}, c.weight_perturb_scale, {0, 1e6});
  visit({"layer_types", "Kinds that a layer may become"}, names.layer_types);
  visit({"activations", "Activations that a layer may get"}, names.activations);
  visit({"dtypes", "Numeric types, of which a mutation takes the next or the one before"}, names.dtypes);
  visit({"d_model", "Width of embeddings, and what `filters` follows from; 0: the layer's input width, at most 16"},
        c.d_model, {0, 65536});
  visit({"num_heads", "Of an mha; fewer where they do not divide the width"}, c.num_heads, {1, 1024});
  visit({"in_channels", "Channels that a sample without axes is cut into"}, c.in_channels, {1, 65536});
  visit({"filters", "Of a convolution; 0: a quarter of `d_model`"}, c.filters, {0, 65536});
  visit({"kernel_size", "Of a convolution"}, c.kernel_size, {1, 64});
  visit({"vocab_size", "Of an embedding"}, c.vocab_size, {1, 1 << 20});
  visit({"num_clusters", "Of a kmeans layer"}, c.num_clusters, {1, 65536});
  visit({"max_layers", "Nothing is added beyond"}, c.max_layers, {1, 1 << 20});
  visit({"max_operations", "Layers that run in one forward pass, each use through a link counted"}, c.max_operations,
        {1, 1 << 20});
  visit({"max_adapter_weights", "Weights of a dense layer that repairs a shape"}, c.max_adapter_weights,
        {1, std::uint64_t{1} << 31});
}

// Calls `known` for each name of a list; an error says why the name is unknown.
Result<void> look_up(const char* key, const std::vector<std::string>& names,
                     const std::function<Result<void>(const std::string&)>& known) {
  if (names.empty() || names.size() > 64)
    return fail_at({"mutation", key}, Code::InvalidConfig, "expected a list of 1 to 64 names, got {}", names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (auto done = known(names[i]); !done) return under({"mutation", key, std::to_string(i)}, std::move(done).error());
  return {};
}

Result<void> mutation_of(const MutationNames& names, MutationConfig& to) {
  const MutationConfig standard;
  const std::vector<std::string_view> kinds(standard.layer_types.begin(), standard.layer_types.end());
  to.layer_types.clear(), to.activations.clear(), to.dtypes.clear();
  LOOM_TRY_VOID(look_up("layer_types", names.layer_types, [&](const std::string& name) -> Result<void> {
    LOOM_TRY(const std::size_t kind, find_name("kind", name, kinds));
    to.layer_types.emplace_back(kinds[kind]);
    return {};
  }));
  LOOM_TRY_VOID(look_up("activations", names.activations, [&](const std::string& name) -> Result<void> {
    const auto found = activation_from_name(name);
    if (!found) return fail(Code::UnknownName, "activation \"{}\" is unknown", printable(name));
    to.activations.push_back(*found);
    return {};
  }));
  return look_up("dtypes", names.dtypes, [&](const std::string& name) -> Result<void> {
    LOOM_TRY(const DType type, dtype_from_name(name));
    if (index(type) >= kNumTypes)
      return fail(Code::InvalidConfig, "{} is a block type of language models; networks have none", loom::name(type));
    to.dtypes.push_back(type);
    return {};
  });
}

void evolution_fields(ConfigVisitor& visit, EvolutionConfig& c, MutationNames& names) {
  PopulationConfig& p = c.islands.population;
  visit.object(
      {"task", "A name, or an object. Default `xor`"}, [&](ConfigVisitor& inner) { task_fields(inner, c.task); },
      "name");
  visit.json({"network",
              "Required. The spec, or a file beside the configuration, that the first generation is made of; its "
              "output must be one that "
              "the task can score"},
             c.network);
  visit({"population", "Members of each island"}, p.size, {1, 65536});
  visit({"elites", "How many live on (0: a quarter), where there are no `species`"}, p.elites, {0, 65536});
  visit({"generations", "Generations at most"}, c.generations, {1, 1 << 30});
  visit({"seed", "Of every draw"}, c.seed, kAnySeed);
  visit({"islands", "Populations beside each other"}, c.islands.count, {1, 1024});
  visit({"migrate_every",
         "Generations after which the best of each island takes the last place of the next one; 0: never"},
        c.islands.migrate_every, {0, 1 << 30});
  visit({"objectives",
         "`score`, then any of `bytes`, `multiply_adds`: Pareto rank, then crowding distance. Scores that are not "
         "finite rank last"},
        c.objectives);
  visit.object({"mutation", "An object"}, [&](ConfigVisitor& inner) { mutation_fields(inner, p.mutation, names); });
  visit.object({"splice", "An object: how two networks become one"}, [&](ConfigVisitor& inner) {
    inner.choice({"mode", "blend, point, uniform"}, p.splice_mode, {"blend", "point", "uniform"});
    inner({"blend_alpha", "blend without `by_fitness`: share of the second network"}, p.blend_alpha, {-16, 16});
    inner({"split_ratio", "point: where the second network begins"}, p.split_ratio, {0, 1});
    inner({"by_fitness", "blend, uniform: the parents count by their scores"}, p.splice_by_fitness);
    inner({"rate", "Share of the children that have two parents"}, p.splice_rate, {0, 1});
  });
  visit.object({"species", "An object"}, [&](ConfigVisitor& inner) {
    inner({"distance",
           "Networks further apart compete in different species, of which the best member lives on; 0: there are none"},
          p.species_distance, {0, 2});
    inner({"stagnation", "Generations without a better member after which a species ends"}, p.stagnation, {1, 1 << 30});
  });
  visit.object({"novelty", "An object"}, [&](ConfigVisitor& inner) {
    inner({"weight", "Share that being different has in a rank"}, p.novelty_weight, {0, 1});
    inner({"neighbours", "Of a network, whose mean distance is its novelty"}, p.novelty_neighbours, {1, 1024});
  });
  visit({"ensemble",
         "At the end, joins the two members that cover the most cases into one network, runs it, and shows it beside "
         "the better one; where "
         "no two can be joined a warning says why"},
        c.ensemble);
}

Result<void> check_objectives(const std::vector<std::string>& names) {
  if (names.empty() || names.size() > 64)
    return fail_at({"objectives"}, Code::InvalidConfig, "expected a list of 1 to 64 names, got {}", names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      return fail_at({"objectives", std::to_string(i)}, Code::InvalidConfig, "\"{}\" stands twice",
                     printable(names[i]));
  return {};
}

// Objectives that Loom computes: the score of a task, then the bytes and multiply-adds of a network.
Result<void> look_up_objectives(std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = find_name("objective", names[i], kObjectives);
    if (!found) return under({"objectives", std::to_string(i)}, found.error());
    names[i] = kObjectives[*found];
    if (i == 0 && *found != static_cast<std::size_t>(Objective::Score))
      return fail_at({"objectives", "0"}, Code::InvalidConfig, "expected \"score\" first, got \"{}\"", names[0]);
  }
  return {};
}

// Whether an object of the configuration has a key, by its place.
bool has_key(const Json& json, const Steps& place) {
  const Json* at = &json;
  for (const std::string& step : place) {
    at = at->is_object() ? find(*at, step) : nullptr;
    if (at == nullptr) return false;
  }
  return true;
}

Result<void> without_effect(const Json& json, const Steps& place, bool is_off, std::string_view by) {
  if (!is_off || !has_key(json, place)) return {};
  return fail_at(place, Code::InvalidConfig, "has no effect {}", by);
}

using Splice = SpliceConfig::Mode;

// Keys of a splice. Where the parents count by their scores, blend_alpha is for scores that are both 0.
Result<void> check_splice_effect(const Json& json, const Steps& at, Splice mode) {
  const auto off = [&](const char* key, bool is_off, std::string_view by) {
    Steps place = at;
    place.emplace_back(key);
    return without_effect(json, place, is_off, by);
  };
  LOOM_TRY_VOID(off("split_ratio", mode != Splice::Point, "but in mode point"));
  return off("blend_alpha", mode != Splice::Blend, "but in mode blend");
}

// Keys that other settings switch off.
Result<void> check_effect(const Json& json, const EvolutionConfig& c) {
  const PopulationConfig& p = c.islands.population;
  LOOM_TRY_VOID(
      without_effect(json, {"migrate_every"}, c.islands.count == 1 && c.islands.migrate_every != 0, "with one island"));
  LOOM_TRY_VOID(without_effect(json, {"novelty", "neighbours"}, p.novelty_weight == 0, "with /novelty/weight 0"));
  LOOM_TRY_VOID(without_effect(json, {"species", "stagnation"}, p.species_distance == 0, "with /species/distance 0"));
  for (const char* key : {"mode", "blend_alpha", "split_ratio", "by_fitness"})
    LOOM_TRY_VOID(without_effect(json, {"splice", key}, p.splice_rate == 0, "with /splice/rate 0"));
  LOOM_TRY_VOID(without_effect(json, {"splice", "by_fitness"}, p.splice_mode == Splice::Point && p.splice_by_fitness,
                               "in mode point"));
  return check_splice_effect(json, {"splice"}, p.splice_mode);
}

// Checks the keys that depend on one another, and looks names up.
Result<void> check_population(const Json& json, EvolutionConfig& c, const MutationNames& names) {
  PopulationConfig& p = c.islands.population;
  LOOM_TRY_VOID(check_objectives(c.objectives));
  p.objectives = c.objectives.size();
  LOOM_TRY_VOID(mutation_of(names, p.mutation));
  if (find(json, "elites") != nullptr && p.species_distance > 0)
    return fail_at({"elites"}, Code::InvalidConfig,
                   "has no effect beside /species/distance, with which the best of each species lives on");
  LOOM_TRY_VOID(check_effect(json, c));
  if (p.elites > p.size)
    return fail_at({"elites"}, Code::InvalidConfig, "expected at most the population of {}, got {}", p.size, p.elites);
  return {};
}

}  // namespace

Result<EvolutionConfig> evolution_config_from(const Json& json, ObjectiveNames of) {
  EvolutionConfig c;
  MutationNames names(c.islands.population.mutation);
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) { evolution_fields(visit, c, names); }));
  if (!c.network.is_object() && !c.network.is_string())
    return fail_at({"network"}, Code::InvalidConfig, "{}", expected("a spec or the path of a network", c.network));
  if (of == ObjectiveNames::OfTasks) LOOM_TRY_VOID(look_up_objectives(c.objectives));
  LOOM_TRY_VOID(check_population(json, c, names));
  return c;
}

Result<PopulationSettings> population_config_from(const Json& json) {
  for (const char* const key : {"task", "network", "generations", "islands", "migrate_every", "ensemble"})
    if (find(json, key) != nullptr)
      return fail_at({key}, Code::UnknownKey, "this key belongs to a whole evolution, not to a population");
  EvolutionConfig c;
  PopulationConfig& p = c.islands.population;
  MutationNames names(p.mutation);
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) { evolution_fields(visit, c, names); }));
  LOOM_TRY_VOID(check_population(json, c, names));
  Json all = written_config([&](ConfigVisitor& visit) { evolution_fields(visit, c, names); });
  for (const char* const key : {"task", "network", "generations", "islands", "migrate_every", "ensemble"})
    all.erase(key);
  return PopulationSettings{p, c.seed, std::move(c.objectives), std::move(all)};
}

Result<MutationSettings> mutation_config_from(const Json& json) {
  MutationSettings out;
  MutationNames names(out.mutation);
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) {
    mutation_fields(visit, out.mutation, names);
    visit({"seed", "Of every draw"}, out.mutation.seed, kAnySeed);
    visit({"generation", "Part of the key of the draws"}, out.key.generation, {0, 0xffffffff});
    visit({"individual", "Likewise"}, out.key.individual, {0, 0xffffffff});
  }));
  LOOM_TRY_VOID(mutation_of(names, out.mutation));
  return out;
}

Result<SpliceConfig> splice_config_from(const Json& json) {
  SpliceConfig out;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) {
    visit.choice({"mode", "blend, point, uniform"}, out.mode, {"blend", "point", "uniform"});
    visit({"blend_alpha", "blend without fitnesses: share of the second network"}, out.blend_alpha, {-16, 16});
    visit({"split_ratio", "point: where the second network begins"}, out.split_ratio, {0, 1});
    visit({"fitness_a", "blend, uniform: of the first network"}, out.fitness_a);
    visit({"fitness_b", "blend, uniform: of the second network"}, out.fitness_b);
    visit({"seed", "Of every draw"}, out.seed, kAnySeed);
  }));
  LOOM_TRY_VOID(check_splice_effect(json, {}, out.mode));
  for (const char* key : {"fitness_a", "fitness_b"})
    LOOM_TRY_VOID(without_effect(json, {key}, out.mode == Splice::Point, "in mode point"));
  return out;
}

Json evolution_schema() {
  EvolutionConfig c;
  MutationNames names(c.islands.population.mutation);
  return file_schema("Loom evolution", {"network"}, [&](ConfigVisitor& visit) { evolution_fields(visit, c, names); });
}

Result<std::unique_ptr<Task>> built_in_task(const TaskConfig& c) {
  switch (c.kind) {
    case TaskKind::Xor: return xor_task();
    case TaskKind::Spirals: return spirals_task(c.points, c.score.value_or(Score::Accuracy), c.target.value_or(0.98));
    case TaskKind::CartPole: return cart_pole_task({c.episodes, c.steps, c.seed});
    case TaskKind::Csv:
    case TaskKind::Idx: break;
  }
  return fail(Code::InvalidArgument, "task \"{}\" is of a file", name(c.kind));
}

}  // namespace loom
