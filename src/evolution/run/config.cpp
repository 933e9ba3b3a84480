#include "evolution/run/config.h"

#include <algorithm>
#include <set>

#include "core/nearest.h"

namespace loom {
namespace {

// One object; every key is asked for once, what is left is an error.
class Reader {
 public:
  Reader(const Json& object, std::string pointer) : object_(object), pointer_(std::move(pointer)) {
    if (!object.is_object()) complain(Code::InvalidConfig, "", "an object expected");
  }
  const Json* take(const char* key) {
    asked_.insert(key);
    return find(object_, key);
  }
  void number(const char* key, double& to, double low, double high) {
    const Json* given = take(key);
    if (given == nullptr) return;
    const auto v = as_number(*given);
    if (!v || !(*v >= low && *v <= high)) return complain(Code::InvalidConfig, key, fmt::format("a number from {} to {} expected", low, high));
    to = *v;
  }
  void rate(const char* key, double& to) { number(key, to, 0, 1); }
  void size(const char* key, std::size_t& to, std::size_t low, std::size_t high) {
    const Json* given = take(key);
    if (given == nullptr) return;
    const auto v = as_int(*given);
    if (!v || *v < 0 || static_cast<std::uint64_t>(*v) < low || static_cast<std::uint64_t>(*v) > high)
      return complain(Code::InvalidConfig, key, fmt::format("an integer from {} to {} expected", low, high));
    to = static_cast<std::size_t>(*v);
  }
  void seed(const char* key, std::uint64_t& to) {
    const Json* given = take(key);
    if (given == nullptr) return;
    const auto v = as_int(*given);
    if (!v || *v < 0) return complain(Code::InvalidConfig, key, "an integer that is not negative expected");
    to = static_cast<std::uint64_t>(*v);
  }
  void flag(const char* key, bool& to) {
    const Json* given = take(key);
    if (given == nullptr) return;
    const auto v = as_bool(*given);
    if (!v) return complain(Code::InvalidConfig, key, "true or false expected");
    to = *v;
  }
  void text(const char* key, std::string& to) {
    const Json* given = take(key);
    if (given == nullptr) return;
    const std::string* v = as_string(*given);
    if (v == nullptr) return complain(Code::InvalidConfig, key, "a text expected");
    to = *v;
  }
  // Each text of a list goes to `add`, which may answer with an error.
  template <class F>
  void texts(const char* key, F&& add) {
    const Json* given = take(key);
    if (given == nullptr) return;
    if (!given->is_array() || given->empty() || given->size() > 64) return complain(Code::InvalidConfig, key, "a list of 1 to 64 names expected");
    for (const Json& item : *given) {
      const std::string* v = as_string(item);
      if (v == nullptr) return complain(Code::InvalidConfig, key, "a list of names expected");
      if (Result<void> done = add(*v); !done) return complain(done.error().code, key, done.error().message);
    }
  }
  void complain(Code code, std::string_view key, const std::string& message) {
    if (!error_) error_ = Error{code, pointer_ + (key.empty() ? "" : "/") + std::string(key) + ": " + message};
  }
  Result<void> finish() {
    if (object_.is_object())
      for (const auto& [key, value] : object_.items())
        if (!asked_.contains(key) && !error_) {
          std::vector<std::string_view> known(asked_.begin(), asked_.end());
          complain(Code::UnknownKey, "", fmt::format("unknown key \"{}\"; nearest: {}", key.substr(0, 40), nearest_names(key.substr(0, 40), known)));
        }
    if (error_) return tl::make_unexpected(*error_);
    return {};
  }

 private:
  const Json& object_;
  std::string pointer_;
  std::set<std::string> asked_;
  std::optional<Error> error_;
};

Result<void> check_task_name(const std::string& name) {
  constexpr std::array<std::string_view, 5> kNames = {"xor", "spirals", "cart_pole", "csv", "idx"};
  if (std::ranges::find(kNames, name) != kNames.end()) return {};
  return fail(Code::UnknownName, "task \"{}\" is unknown; known: {}", name.substr(0, 40), fmt::join(kNames, " "));
}

Result<void> read_task(const Json& json, TaskConfig& to) {
  if (const std::string* name = as_string(json)) {
    to.name = *name;
    return check_task_name(to.name);
  }
  Reader r(json, "/task");
  r.text("name", to.name);
  LOOM_TRY_VOID(check_task_name(to.name));
  // A task reads the keys that change it, so that none is written in vain.
  const bool is_csv = to.name == "csv", is_idx = to.name == "idx", is_spirals = to.name == "spirals";
  if (is_csv || is_idx) r.text("path", to.path), r.size("limit", to.limit, 0, std::size_t{1} << 31);
  if (is_csv) r.text("target_column", to.target_column), r.flag("header", to.header), r.flag("values", to.values);
  if (is_idx) r.text("labels", to.labels);
  if (is_csv || is_idx || is_spirals) r.text("score", to.score);
  if (is_spirals) r.size("points", to.points, 1, 65536);
  if (to.name == "cart_pole") r.size("episodes", to.episodes, 1, 4096), r.size("steps", to.steps, 1, 1000000), r.seed("seed", to.seed);
  double target = 0;
  if (r.take("target") != nullptr) {
    r.number("target", target, -1e300, 1e300);
    to.target = target;
  }
  return r.finish();
}

Result<void> read_mutation(const Json& json, MutationConfig& to) {
  Reader r(json, "/mutation");
  MutationConfig::rates(to, [&](const char* key, double& value) { r.rate(key, value); });
  r.number("weight_perturb_scale", to.weight_perturb_scale, 0, 1e6);
  if (find(json, "layer_types") != nullptr) to.layer_types.clear();
  r.texts("layer_types", [&](const std::string& name) -> Result<void> {
    static const MutationConfig standard;
    if (std::ranges::find(standard.layer_types, name) == standard.layer_types.end()) {
      const std::vector<std::string_view> known(standard.layer_types.begin(), standard.layer_types.end());
      return fail(Code::UnknownName, "kind \"{}\" is unknown; nearest: {}", name.substr(0, 40), nearest_names(name.substr(0, 40), known));
    }
    to.layer_types.push_back(name);
    return {};
  });
  if (find(json, "activations") != nullptr) to.activations.clear();
  r.texts("activations", [&](const std::string& name) -> Result<void> {
    const auto found = activation_from_name(name);
    if (!found) return fail(Code::UnknownName, "activation \"{}\" is unknown", name.substr(0, 40));
    to.activations.push_back(*found);
    return {};
  });
  if (find(json, "dtypes") != nullptr) to.dtypes.clear();
  r.texts("dtypes", [&](const std::string& name) -> Result<void> {
    LOOM_TRY(const DType type, dtype_from_name(name));
    if (index(type) >= kNumTypes) return fail(Code::InvalidConfig, "{} is a block type of language models; networks have none", loom::name(type));
    to.dtypes.push_back(type);
    return {};
  });
  r.size("d_model", to.d_model, 0, 65536), r.size("num_heads", to.num_heads, 1, 1024), r.size("in_channels", to.in_channels, 1, 65536);
  r.size("filters", to.filters, 0, 65536);
  r.size("kernel_size", to.kernel_size, 1, 64), r.size("vocab_size", to.vocab_size, 1, 1 << 20), r.size("num_clusters", to.num_clusters, 1, 65536);
  r.size("max_layers", to.max_layers, 1, 1 << 20), r.size("max_operations", to.max_operations, 1, 1 << 20);
  r.size("max_adapter_weights", to.max_adapter_weights, 1, std::size_t{1} << 31);
  LOOM_TRY_VOID(r.finish());
  if (to.activations.empty()) return fail(Code::InvalidConfig, "/mutation/activations: a list that is not empty expected");
  return {};
}

}  // namespace

Result<Score> score_from_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNames = {"squared_error", "accuracy", "cross_entropy"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Score>(i);
  return fail(Code::UnknownName, "score \"{}\" is unknown; nearest: {}", name.substr(0, 40), nearest_names(name.substr(0, 40), kNames));
}

Result<EvolutionConfig> evolution_config_from(const Json& json) {
  EvolutionConfig c;
  Reader r(json, "");
  PopulationConfig& p = c.islands.population;
  r.size("population", p.size, 1, 65536), r.size("elites", p.elites, 0, 65536);
  r.size("islands", c.islands.count, 1, 1024), r.size("migrate_every", c.islands.migrate_every, 0, 1 << 30);
  r.size("generations", c.generations, 1, 1 << 30);
  r.seed("seed", c.seed);
  r.flag("ensemble", c.ensemble);
  if (r.take("objectives") != nullptr) c.objectives.clear();
  r.texts("objectives", [&](const std::string& name) -> Result<void> {
    if (std::ranges::find(c.objectives, name) != c.objectives.end()) return fail(Code::InvalidConfig, "\"{}\" stands twice", name.substr(0, 40));
    c.objectives.push_back(name);
    return {};
  });
  p.objectives = c.objectives.size();
  if (const Json* network = r.take("network")) c.network = *network;
  if (!c.network.is_object() && !c.network.is_string()) r.complain(Code::InvalidConfig, "network", "a spec or the path of a network expected");
  const Json *task = r.take("task"), *mutation = r.take("mutation"), *splice = r.take("splice"), *species = r.take("species"), *novelty = r.take("novelty");
  LOOM_TRY_VOID(r.finish());
  if (task != nullptr) {
    LOOM_TRY_VOID(read_task(*task, c.task));
  }
  if (!c.task.score.empty()) {
    LOOM_TRY_VOID(score_from_name(c.task.score));
  }
  if (mutation != nullptr) {
    LOOM_TRY_VOID(read_mutation(*mutation, p.mutation));
  }
  if (splice != nullptr) {
    Reader s(*splice, "/splice");
    std::string mode = "blend";
    s.text("mode", mode), s.number("blend_alpha", p.blend_alpha, -16, 16), s.rate("split_ratio", p.split_ratio);
    s.flag("by_fitness", p.splice_by_fitness), s.rate("rate", p.splice_rate);
    LOOM_TRY_VOID(s.finish());
    LOOM_TRY(p.splice_mode, splice_mode_from_name(mode));
  }
  if (species != nullptr) {
    Reader s(*species, "/species");
    s.number("distance", p.species_distance, 0, 2), s.size("stagnation", p.stagnation, 1, 1 << 30);
    LOOM_TRY_VOID(s.finish());
  }
  if (novelty != nullptr) {
    Reader n(*novelty, "/novelty");
    n.rate("weight", p.novelty_weight), n.size("neighbours", p.novelty_neighbours, 1, 1024);
    LOOM_TRY_VOID(n.finish());
  }
  if (find(json, "elites") != nullptr && p.species_distance > 0)
    return fail(Code::InvalidConfig, "/elites: has no effect beside /species/distance, with which the best of each species lives on");
  if (p.elites > p.size) return fail(Code::InvalidConfig, "/elites: {} of a population of {}", p.elites, p.size);
  return c;
}

Result<std::unique_ptr<Task>> built_in_task(const TaskConfig& c) {
  if (c.name == "xor") return xor_task();
  if (c.name == "spirals") {
    LOOM_TRY(const Score score, score_from_name(c.score.empty() ? "accuracy" : c.score));
    return spirals_task(c.points, score, c.target.value_or(0.98));
  }
  if (c.name == "cart_pole") return cart_pole_task({c.episodes, c.steps, c.seed});
  LOOM_TRY_VOID(check_task_name(c.name));
  return fail(Code::InvalidArgument, "task \"{}\" is of a file", c.name);
}

}  // namespace loom
