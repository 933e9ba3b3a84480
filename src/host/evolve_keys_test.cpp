// Every key of an evolution's config changes an evolution, or is listed with the reason why it does not.

#include <map>

#include "core/json.h"
#include "host/evolve.h"
#include "support/files.h"

namespace loom::host_evolve_test {
namespace {

// Places of all keys of a schema, "species.distance".
void keys_of(const Json& schema, const std::string& before, std::vector<std::string>& keys) {
  const Json* properties = find(schema, "properties");
  if (properties == nullptr) return;
  for (const auto& [key, value] : properties->items()) {
    const std::string place = before.empty() ? key : before + "." + key;
    keys.push_back(place);
    keys_of(value, place, keys);
    for (const char* choice : {"oneOf", "anyOf"})
      if (const Json* forms = find(value, choice); forms != nullptr && forms->is_array())
        for (const Json& form : *forms) keys_of(form, place, keys);
  }
}

Json small_evolution() {
  return {{"task", {{"name", "spirals"}, {"points", 20}, {"target", 1e9}}},
          {"population", 12},
          {"generations", 4},
          {"seed", 4},
          {"network",
           {{"seed", 1},
            {"layers",
             {{{"type", "dense"}, {"input_height", 2}, {"output_height", 4}, {"activation", "tanh"}},
              {{"type", "dense"}, {"input_height", 4}, {"output_height", 2}}}}}}};
}

// Returns the results of an evolution: the hash of its last generation, its scores and what it joined; or why it is
// refused.
std::string outcome(const Json& config) {
  EvolveOptions options;
  options.threads = 1, options.keep_history = true;
  const auto result = evolve(config, options);
  if (!result) return "refused: " + result.error().text();
  Json said = to_json(*result);
  for (const char* key : {"seconds", "duration_ms", "generations_per_second"}) said.erase(key);
  return dump_json(said);
}

struct Shown {
  const char* room;
  const char* change;
};
const std::map<std::string, Shown>& shown_keys() {
  static const std::map<std::string, Shown> keys{
      {"task", {"{}", R"({"task":"xor"})"}},
      {"task.name", {"{}", R"({"task":{"name":"xor","points":null}})"}},
      {"task.target", {"{}", R"({"task":{"target":0.1}})"}},
      {"task.points", {"{}", R"({"task":{"points":30}})"}},
      {"task.score", {"{}", R"({"task":{"score":"cross_entropy"}})"}},
      {"network", {"{}", R"({"network":{"seed":2}})"}},
      {"population", {"{}", R"({"population":13})"}},
      {"elites", {"{}", R"({"elites":6})"}},
      {"generations", {"{}", R"({"generations":5})"}},
      {"seed", {"{}", R"({"seed":5})"}},
      {"islands", {"{}", R"({"islands":2})"}},
      {"migrate_every", {R"({"islands":3})", R"({"migrate_every":1})"}},
      {"objectives", {"{}", R"({"objectives":["score","bytes"]})"}},
      {"mutation", {"{}", R"({"mutation":{"weight_perturb_rate":0.1}})"}},
      {"mutation.weight_perturb_scale", {"{}", R"({"mutation":{"weight_perturb_scale":3}})"}},
      {"mutation.activations", {R"({"mutation":{"activation_rate":1}})", R"({"mutation":{"activations":["relu"]}})"}},
      {"mutation.dtypes", {R"({"mutation":{"dtype_rate":1}})", R"({"mutation":{"dtypes":["float32","int8"]}})"}},
      {"mutation.layer_types", {R"({"mutation":{"node_rate":1}})", R"({"mutation":{"layer_types":["dense"]}})"}},
      {"splice", {"{}", R"({"splice":{"mode":"uniform"}})"}},
      {"splice.mode", {"{}", R"({"splice":{"mode":"uniform"}})"}},
      {"splice.blend_alpha", {R"({"splice":{"by_fitness":false}})", R"({"splice":{"blend_alpha":0.9}})"}},
      {"splice.split_ratio", {R"({"splice":{"mode":"point"}})", R"({"splice":{"split_ratio":0.9}})"}},
      {"splice.by_fitness", {R"({"splice":{"mode":"uniform"}})", R"({"splice":{"by_fitness":false}})"}},
      {"splice.rate", {"{}", R"({"splice":{"rate":0.1}})"}},
      {"species", {"{}", R"({"species":{"distance":0.2}})"}},
      {"species.distance", {"{}", R"({"species":{"distance":0.2}})"}},
      {"species.stagnation", {R"({"generations":8,"species":{"distance":0.05}})", R"({"species":{"stagnation":1}})"}},
      {"novelty", {"{}", R"({"novelty":{"weight":0.9}})"}},
      {"novelty.weight", {"{}", R"({"novelty":{"weight":0.9}})"}},
      {"novelty.neighbours", {R"({"novelty":{"weight":1}})", R"({"novelty":{"neighbours":1}})"}},
      {"ensemble", {"{}", R"({"ensemble":true})"}}};
  return keys;
}

// Keys of other tasks, and settings of single mutations, which draws of a few generations may miss.
std::string reason_for(const std::string& key) {
  if (key.starts_with("task.")) return "a key of another task, which this one refuses: evolution/run/config_test";
  if (key.starts_with("mutation.") && key.ends_with("_rate")) return "a chance: evolution/mutation/mutation_test";
  if (key.starts_with("mutation.")) return "the shape of what a mutation adds: evolution/mutation/mutation_test";
  return {};
}

TEST(EveryEvolutionKey, ChangesAnEvolutionOrIsListedWithTheReason) {
  std::vector<std::string> keys;
  keys_of(evolution_schema(), "", keys);
  EXPECT_GE(keys.size(), 50u);
  for (const std::string& key : keys) {
    const auto shown = shown_keys().find(key);
    if (shown == shown_keys().end()) {
      EXPECT_NE(reason_for(key), "") << key << ": say how an evolution shows it, or why none does";
      continue;
    }
    Json config = small_evolution();
    config.merge_patch(parse_json(shown->second.room).value());
    const std::string before = outcome(config);
    config.merge_patch(parse_json(shown->second.change).value());
    EXPECT_NE(outcome(config), before) << key;
  }
  for (const auto& [key, shown] : shown_keys())
    EXPECT_NE(std::ranges::find(keys, key), keys.end()) << key << " is no key any more";
}

}  // namespace
}  // namespace loom::host_evolve_test
