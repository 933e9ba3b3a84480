#pragma once
// Configuration of `loom evolve`, as JSON. Untrusted: every key is known or an error, every number has a range.

#include "core/json.h"
#include "evolution/population/islands.h"
#include "evolution/tasks/task.h"

namespace loom {

struct TaskConfig {
  TaskKind kind = TaskKind::Xor;
  std::string path, labels;               // of csv and idx: the file, and for idx the file of labels
  std::string target_column;              // csv; empty: the last column
  bool header = true;                     // csv
  bool values = false;                    // csv: targets are numbers
  std::size_t limit = 0;                  // the first samples of a data set; 0: all
  std::optional<Score> score;             // csv, idx, spirals; empty: the task's own
  std::optional<double> target;           // the score that ends the run; empty: the task's own
  std::size_t points = 96;                // spirals: of each arm
  std::size_t episodes = 5, steps = 500;  // cart_pole
  std::uint64_t seed = 0;                 // cart_pole: of the starts
};

struct EvolutionConfig {
  TaskConfig task;
  Json network;  // a spec, or a path
  IslandsConfig islands;
  std::uint64_t seed = 0;
  std::size_t generations = 100;
  std::vector<std::string> objectives = {"score"};
  bool ensemble = false;  // at the end, two members that complete each other are joined and judged together
};

// Objectives are those of tasks (kObjectives), or have names of a host, which gives their numbers.
enum class ObjectiveNames : std::uint8_t { OfTasks, OfHost };
// InvalidConfig, UnknownName, UnknownKey with a JSON pointer.
Result<EvolutionConfig> evolution_config_from(const Json& json, ObjectiveNames of = ObjectiveNames::OfTasks);
// The keys of a population alone, for whoever judges its networks: population, elites, seed, objectives (names of one's
// own), mutation, splice, species, novelty. UnknownKey for those of a run.
struct PopulationSettings {
  PopulationConfig population;
  std::uint64_t seed = 0;
  std::vector<std::string> objectives;  // names of the caller, who gives their numbers
  Json json;                            // every key with its value, those that were left out too
};
Result<PopulationSettings> population_config_from(const Json& json);
// An object as `mutation` of a configuration, with a seed, generation and individual beside it.
struct MutationSettings {
  MutationConfig mutation;
  MutationKey key;
};
Result<MutationSettings> mutation_config_from(const Json& json);
// mode, blend_alpha, split_ratio, fitness_a, fitness_b, seed.
Result<SpliceConfig> splice_config_from(const Json& json);
// JSON Schema (draft 2020-12) of a configuration.
Json evolution_schema();
// InvalidArgument for tasks of a file.
Result<std::unique_ptr<Task>> built_in_task(const TaskConfig& config);

}  // namespace loom
