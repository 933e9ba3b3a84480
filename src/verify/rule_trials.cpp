// Trials of two features that random_trial() seldom combines, where faults are likely. Each combination has
// a name, and a stream of its own draws it, so that the cases of random_trial() stay what they are.

#include "verify/drafting.h"
#include "verify/random_graph.h"

namespace loom {
namespace {

// The layers in a row, at the addresses of a grid of one column.
void put_layers(Draw& draw, Trial& trial, const Shape& input, std::vector<Json> layers) {
  trial.network = Json{{"depth", 1}, {"rows", 1}, {"cols", 1}, {"layers_per_cell", layers.size()}};
  trial.network["seed"] = draw.below(1'000'000);
  for (std::size_t l = 0; l < layers.size(); ++l)
    layers[l]["z"] = 0, layers[l]["y"] = 0, layers[l]["x"] = 0, layers[l]["l"] = l;
  trial.network["layers"] = std::move(layers);
  trial.input.assign(input.extents().begin(), input.extents().end());
}

Shape small_input(Draw& draw) {
  const std::size_t batch = draw.pick<std::size_t>({1, 2, 3, 5, 16, 17});
  if (draw.percent(50)) return Shape::of({batch, draw.between(1, 24)});
  const std::size_t steps = draw.between(1, 5);
  return Shape::of({batch, steps, draw.between(2, 16)});
}

// A type for all weights now and then; "float64" computes in it too.
void add_type(Draw& draw, Trial& trial, std::size_t percent = 40) {
  if (!draw.percent(percent)) return;
  const auto type = static_cast<DType>(draw.below(kNumTypes));
  trial.network["default_dtype"] = std::string(name(type));
  if (type == DType::float64 && draw.percent(70)) trial.network["activations"] = "float64";
}

// Draws a training that is saved and resumed after each of its steps.
void add_training(Draw& draw, Trial& trial, const Shape& output, bool tween) {
  trial.mode = tween ? TrialMode::Tween : TrialMode::Train;
  Drafting drafting{draw, trial, output};
  draft_training(drafting, tween);
  const std::size_t steps = draw.between(2, 4);
  trial.options["steps"] = steps;
  for (std::size_t stop = 1; stop < steps; ++stop) trial.variants.push_back(patch("save_after", stop));
}

// A layer of any kind, a reshape to rows and a dense layer: the shapes and sizes that losses take.
Shape add_head(Draw& draw, std::vector<Json>& layers, const Shape& shape) {
  if (shape.rank() > 2) {
    Json flat = layer_of("reshape");
    flat["shape"] = Json::array({shape.elements() / shape[0]});
    layers.push_back(std::move(flat));
  }
  Json dense = layer_of("dense");
  const std::size_t outputs = draw.between(2, 6);
  dense["input_height"] = shape.elements() / shape[0], dense["output_height"] = outputs;
  if (draw.percent(50)) dense["bias"] = true;
  layers.push_back(std::move(dense));
  return Shape::of({shape[0], outputs});
}

// One layer of a kind, or nothing where this input is not for it.
std::optional<RandomLayer> one_of(Draw& draw, std::string_view kind, const Shape& input) {
  Site site{draw, input, 0, 6000, 0, nullptr};
  auto layer = recipe_of(kind)->make(site);
  const bool small = layer && layer->output[0] == input[0] && layer->output.elements() <= 8000;
  return small ? std::move(layer) : std::nullopt;
}

bool draw_watched_targets(Draw& draw, Trial& trial) {
  const Shape input = small_input(draw);
  std::vector<Json> layers;
  auto watched = one_of(draw, "metacognition", input);
  if (!watched) return false;
  if (draw.percent(30)) {
    Json holder = layer_of(draw.percent(50) ? "sequential" : "parallel");
    const bool is_parallel = holder["type"] == "parallel";
    if (is_parallel) holder["combine_mode"] = "add";
    holder[is_parallel ? "parallel_branches" : "sequential_layers"] = Json::array({watched->spec});
    watched->spec = std::move(holder);
  }
  layers.push_back(std::move(watched->spec));
  const Shape output = add_head(draw, layers, watched->output);
  put_layers(draw, trial, input, std::move(layers));
  add_type(draw, trial);
  add_training(draw, trial, output, true);
  return true;
}

// A mesh that learns by targets and goes back: by gradients, or to a tick before.
bool draw_mesh_back(Draw& draw, Trial& trial) {
  trial.mode = TrialMode::MeshTween;
  if (draw.percent(50)) {
    RandomNetwork network = random_network(draw, {.budget = 8000, .wide = false, .mesh = true, .last = {}});
    if (network.output.elements() > 8000) return false;
    trial.network = std::move(network.spec), trial.ids = network.ids;
    trial.input.assign(network.input.extents().begin(), network.input.extents().end());
  } else {
    const Shape input = small_input(draw);
    const std::string kind(draw.name({"parallel", "parallel", "metacognition", "lstm", "mha", "sequential", "lora"}));
    if ((kind == "lstm" || kind == "mha") && input.rank() != 3) return false;
    auto layer = one_of(draw, kind, input);
    if (!layer) return false;
    std::vector<Json> layers{std::move(layer->spec)};
    if (draw.percent(50)) add_head(draw, layers, layer->output);
    put_layers(draw, trial, input, std::move(layers));
    add_type(draw, trial);
  }
  Json& o = trial.options;
  o["ticks"] = draw.between(1, 4), o["steps"] = draw.between(1, 3);
  o["tween"] = Json{{"mode", std::string(draw.name({"chain", "layerwise"}))}};
  if (draw.percent(60)) {
    o["backward"] = draw.between(1, 3);
    if (draw.percent(60)) o["backward_each_step"] = true;
  }
  if (draw.percent(40)) o["history"] = draw.between(1, 3);
  if (draw.percent(40)) o["rewinds"] = true;
  if (!o.contains("backward") && !o.contains("history")) trial.variants.push_back(patch("through_snapshot", true));
  return true;
}

// A layer of any kind under any rule, its weights as `type`.
bool draw_typed(Draw& draw, Trial& trial, DType type) {
  const Shape input = small_input(draw);
  const Recipe& recipe = recipes()[draw.below(recipes().size())];
  if (recipe.kind == "embedding" || (recipe.axes != 0 && recipe.axes + 1 != input.rank())) return false;
  auto layer = one_of(draw, recipe.kind, input);
  if (!layer) return false;
  std::vector<Json> layers{std::move(layer->spec)};
  const Shape output = add_head(draw, layers, layer->output);
  put_layers(draw, trial, input, std::move(layers));
  const std::size_t where = draw.below(3);
  if (where == 0) trial.network["default_dtype"] = std::string(name(type));
  if (where == 0 && type == DType::float64 && draw.percent(50)) trial.network["activations"] = "float64";
  if (where == 1) trial.network["layers"][0]["dtype"] = std::string(name(type));
  const bool tween = draw.percent(50);
  add_training(draw, trial, output, tween);
  if (where == 2) trial.options["config"]["dtype"] = std::string(name(type));
  trial.options["type"] = std::string(name(type));
  return true;
}
bool draw_float64(Draw& draw, Trial& trial) { return draw_typed(draw, trial, DType::float64); }
bool draw_any_type(Draw& draw, Trial& trial) {
  return draw_typed(draw, trial, static_cast<DType>(draw.below(kNumTypes)));
}

// A graph, and layers that learn from what it gives; or passes of it alone.
bool draw_graph(Draw& draw, Trial& trial, const RandomGraph& graph) {
  std::vector<Json> layers{graph.layer};
  const Shape output = draw.percent(70) ? add_head(draw, layers, graph.output) : graph.output;
  const bool learns = layers.size() > 1;
  put_layers(draw, trial, graph.input, std::move(layers));
  const std::size_t kind = draw.below(learns ? 4 : 2);
  Json& o = trial.options;
  if (kind == 0) {
    trial.mode = TrialMode::Mesh;
    o["ticks"] = draw.between(1, 5);
    trial.variants.push_back(patch("through_snapshot", true)), trial.variants.push_back(patch("beside", 2));
  } else if (kind == 1) {
    trial.mode = TrialMode::Forward;
    o["calls"] = draw.between(1, 2);
    if (trial.input[0] > 1) trial.variants.push_back(patch("part", draw.between(1, trial.input[0] - 1)));
    trial.variants.push_back(patch("part", 1));
  } else {
    add_type(draw, trial);
    add_training(draw, trial, output, kind == 2);
  }
  return true;
}
bool draw_einsum(Draw& draw, Trial& trial) {
  const RandomGraph graph = random_einsum(draw);
  return draw_graph(draw, trial, graph);
}
bool draw_loop(Draw& draw, Trial& trial) {
  const RandomGraph graph = random_loop(draw);
  return draw_graph(draw, trial, graph);
}

// Forward in parts of a batch, or backward too.
void add_calls(Draw& draw, Trial& trial) {
  trial.mode = TrialMode::Call;
  trial.options["calls"] = draw.between(1, 2);
  if (draw.percent(30)) trial.options["training"] = true;
  const bool training = trial.options.contains("training");
  if (draw.percent(60))
    trial.options["backward"] = true;
  else if (trial.input[0] > 1 && !measures_its_batch(trial.network, training))
    for (const std::size_t part : {std::size_t{1}, draw.between(1, trial.input[0] - 1)})
      trial.variants.push_back(patch("part", part));
}

Shape sequence_input(Draw& draw) {
  const std::size_t batch = draw.between(1, 6), steps = draw.between(1, 9);
  return Shape::of({batch, steps, draw.between(2, 20)});
}

bool draw_masks(Draw& draw, Trial& trial) {
  const Shape input = sequence_input(draw);
  auto attention = one_of(draw, "mha", input);
  if (!attention) return false;
  std::vector<Json> layers{std::move(attention->spec)};
  if (draw.percent(50)) add_head(draw, layers, attention->output);
  put_layers(draw, trial, input, std::move(layers));
  add_type(draw, trial);
  add_calls(draw, trial);
  trial.options["mask"] = input[1];
  return true;
}

bool draw_lengths(Draw& draw, Trial& trial) {
  const Shape input = sequence_input(draw);
  std::vector<Json> layers;
  Shape shape = input;
  for (std::size_t left = draw.between(1, 3); left > 0; --left) {
    const std::string kind(draw.name({"mha", "lstm", "gru", "rnn", "dense", "layernorm", "rmsnorm", "swiglu"}));
    auto layer = one_of(draw, kind, shape);
    if (!layer || layer->output.rank() != 3) return false;
    layers.push_back(std::move(layer->spec));
    shape = layer->output;
  }
  put_layers(draw, trial, input, std::move(layers));
  add_type(draw, trial);
  add_calls(draw, trial);
  Json lengths = Json::array();
  for (std::size_t b = 0; b < input[0]; ++b) lengths.push_back(draw.between(0, input[1]));
  trial.options["lengths"] = std::move(lengths);
  return true;
}

bool draw_cross_attention(Draw& draw, Trial& trial) {
  const Shape input = sequence_input(draw);
  auto attention = one_of(draw, "mha", input);
  if (!attention) return false;
  attention->spec["cross"] = true;
  for (const char* key : {"causal", "rope", "rope_style", "rope_theta", "rope_scaling", "partial_rotary_factor",
                          "sliding_window", "max_seq_len"})
    attention->spec.erase(key);
  std::vector<Json> layers;
  if (draw.percent(50)) layers.push_back(one_of(draw, "layernorm", input)->spec);
  layers.push_back(std::move(attention->spec));
  if (draw.percent(50)) add_head(draw, layers, attention->output);
  put_layers(draw, trial, input, std::move(layers));
  add_type(draw, trial);
  add_calls(draw, trial);
  const std::size_t steps = draw.between(1, 9);
  trial.options["external"] = Json{steps, input.cols()};
  if (draw.percent(40)) trial.options["mask"] = steps;
  return true;
}

bool draw_fused(Draw& draw, Trial& trial) {
  RandomNetwork network = random_network(draw, {.budget = 20'000, .wide = false, .mesh = false, .last = {}});
  if (network.output.elements() > 20'000) return false;
  trial.network = std::move(network.spec), trial.ids = network.ids;
  trial.input.assign(network.input.extents().begin(), network.input.extents().end());
  if (draw.percent(25)) watch_a_layer(draw, trial.network);
  trial.mode = TrialMode::Fused;
  Json tween{{"mode", std::string(draw.name({"chain", "layerwise"}))}};
  const bool by_rules = tween["mode"] == "layerwise";
  if (by_rules && draw.percent(30)) tween["slope"] = "sign";
  if (by_rules && draw.percent(30)) tween["estimate"] = "average";
  if (by_rules && draw.percent(30)) tween["target_scale"] = "weight_sum";
  if (draw.percent(30)) tween["momentum"] = 0.0;
  if (draw.percent(30)) tween["budget_threshold"] = 0.55;
  trial.options["tween"] = std::move(tween), trial.options["steps"] = draw.between(1, 3);
  if (draw.percent(30)) trial.options["training"] = true;
  trial.variants.push_back(patch("unfused", true));
  return true;
}

// States that go from batch to batch, and gradients that stop after some steps.
bool draw_carried(Draw& draw, Trial& trial) {
  const Shape input = sequence_input(draw);
  const std::string kind(draw.name({"rnn", "lstm", "gru"}));
  auto layer = one_of(draw, kind, input);
  if (!layer) return false;
  const bool stateful = draw.percent(60);
  if (stateful) layer->spec["stateful"] = true;
  layer->spec.erase("bidirectional");
  const std::size_t units = layer->spec["output_height"];
  layer->spec.erase("return_sequence"), layer->spec.erase("adapters");
  std::vector<Json> layers{std::move(layer->spec)};
  const Shape made = Shape::of({input[0], input[1], units});
  const bool cuts = draw.percent(50);
  Shape output = made;
  if (!cuts) output = add_head(draw, layers, made);
  put_layers(draw, trial, input, std::move(layers));
  add_type(draw, trial);
  add_training(draw, trial, output, !cuts && draw.percent(50));
  if (!cuts) return true;
  trial.options["config"]["tbptt_steps"] = draw.between(1, input[1]);
  // A repeated run would start from other states: both settings together are refused.
  std::erase_if(trial.variants, [](const Json& variant) {
    const Json* config = find(variant, "config");
    return config != nullptr && config->contains("checkpoint_every");
  });
  return true;
}

// Tensors large enough that threads divide them.
bool draw_divided(Draw& draw, Trial& trial) {
  RandomNetwork network = random_network(draw, {.budget = 1'500'000, .wide = true, .mesh = false, .last = {}});
  trial.network = std::move(network.spec), trial.ids = network.ids;
  trial.input.assign(network.input.extents().begin(), network.input.extents().end());
  if (network.output.elements() > 20'000) return false;
  const bool tween = draw.percent(60);
  add_training(draw, trial, network.output, tween);
  trial.options["steps"] = 2, trial.variants.resize(std::min<std::size_t>(trial.variants.size(), 2));
  return true;
}

struct Combination {
  const char* name;
  std::size_t share;  // of a hundred
  bool (*draw)(Draw&, Trial&);
};
constexpr std::array kCombinations = {
    Combination{"targets of a watched layer", 15, draw_watched_targets},
    Combination{"a mesh that goes back", 15, draw_mesh_back},
    Combination{"float64 resumed", 10, draw_float64},
    Combination{"any type resumed", 12, draw_any_type},
    Combination{"einsum", 7, draw_einsum},
    Combination{"loops of graphs", 7, draw_loop},
    Combination{"masks", 6, draw_masks},
    Combination{"lengths", 6, draw_lengths},
    Combination{"cross-attention", 6, draw_cross_attention},
    Combination{"fused and unfused targets", 10, draw_fused},
    Combination{"carried states", 4, draw_carried},
    Combination{"divided tensors", 2, draw_divided},
};
static_assert([] {
  std::size_t all = 0;
  for (const Combination& c : kCombinations) all += c.share;
  return all;
}() == 100);

const Combination& random_combination(Draw& draw) {
  std::size_t at = draw.below(100);
  for (const Combination& c : kCombinations) {
    if (at < c.share) return c;
    at -= c.share;
  }
  return kCombinations[0];
}

}  // namespace

std::vector<std::string> rule_combinations() {
  std::vector<std::string> names;
  names.reserve(std::size(kCombinations));
  for (const Combination& c : kCombinations) names.push_back(c.name);
  return names;
}

Trial random_rule_trial(std::uint64_t seed, std::uint32_t number, std::size_t* rejected) {
  Draw choice(seed, number, "combination");
  const Combination& combination = random_combination(choice);
  for (std::uint32_t attempt = 0;; ++attempt) {
    Draw draw(seed, number, fmt::format("combination {}", attempt));
    Trial trial;
    trial.data = draw.below(1u << 30);
    const std::size_t inputs = draw.below(10);
    trial.inputs = inputs < 7 ? "uniform" : inputs < 9 ? "thresholds" : "wide";
    if (combination.draw(draw, trial)) {
      const auto input = Shape::create(trial.input);
      if (input && is_accepted(trial.network, *input, is_mesh(trial.mode))) {
        trial.options["combination"] = combination.name;
        return trial;
      }
    }
    if (rejected != nullptr) ++*rejected;
  }
}

}  // namespace loom
