// Drawing of trials: a network that the engine accepts, calls to run, and other ways of running that promise the same
// bits.

#include "network/spec.h"
#include "trials/language_trial.h"
#include "trials/random_network.h"

namespace loom {
namespace {

struct Drafting {
  Draw& draw;
  Trial& trial;
  Shape output;
};

Json patch(const char* key, Json value) {
  Json p = Json::object();
  p[key] = std::move(value);
  return p;
}

bool splits(const Drafting& d, bool training) {
  return d.trial.input[0] > 1 && !measures_its_batch(d.trial.network, training);
}

// A weight with several uses sums them one after the other, within each part of a batch (engine V-21): parts give other
// bits.
bool shares_weights(const Drafting& d) {
  return any_layer(d.trial.network, [](const Json& layer) {
    const Json* mode = find(layer, "link_mode");
    return layer.contains("tied_to") || (layer.contains("is_remote_link") && !(mode != nullptr && *mode == "feed"));
  });
}

bool recomputes(const Drafting& d) {
  return !any_layer(d.trial.network, [](const Json& layer) {
    const Json *mode = find(layer, "link_mode"), *skip = find(layer, "skip_from"), *type = find(layer, "type");
    return (mode != nullptr && *mode == "feed") || (skip != nullptr && skip->is_array()) ||
           layer.contains("stateful") || (type != nullptr && *type == "metacognition");
  });
}

void draft_forward(Drafting& d) {
  Json& o = d.trial.options;
  o["calls"] = d.draw.between(1, 2);
  const bool training = d.draw.percent(30);
  if (training) o["training"] = true;
  if (d.draw.percent(10)) o["watch"] = true;
  const std::size_t batch = d.trial.input[0];
  if (!splits(d, training)) return;
  const std::size_t part = d.draw.between(1, batch - 1);
  d.trial.variants.push_back(patch("part", part));
  d.trial.variants.push_back(patch("part", 1));
}

void draft_backward(Drafting& d) {
  Json& o = d.trial.options;
  if (d.draw.percent(50)) o["training"] = true;
  if (d.draw.percent(15)) o["mixed"] = std::string(d.draw.name({"bf16", "f16", "fp8"}));
  o["calls"] = d.draw.between(1, 2);
  if (recomputes(d) && !o.contains("mixed"))
    d.trial.variants.push_back(patch("checkpoint_every", d.draw.between(1, 2)));
}

Json random_optimizer(Draw& draw) {
  const std::string name(draw.name({"sgd", "sgd", "adam", "adamw", "rmsprop", "adagrad", "lion", "lbfgs"}));
  Json o{{"name", name}};
  if (name == "lbfgs") {
    o["history"] = draw.between(1, 4);
    return o;
  }
  if (name == "sgd" && draw.percent(60)) {
    o["momentum"] = 0.9;
    if (draw.percent(40))
      o["nesterov"] = true;
    else if (draw.percent(40))
      o["dampening"] = 0.3;
  }
  if ((name == "adam" || name == "adamw") && draw.percent(30)) o["amsgrad"] = true;
  if (name == "rmsprop" && draw.percent(40)) o["centered"] = true;
  if (name == "rmsprop" && draw.percent(40)) o["momentum"] = 0.5;
  if (draw.percent(30)) o["weight_decay"] = 0.01;
  if (draw.percent(15) && (name == "adamw" || o.contains("weight_decay"))) o["decay_vectors"] = true;
  return o;
}

Json random_schedule(Draw& draw) {
  const std::string name(draw.name({"constant", "step", "multi_step", "exponential", "linear", "polynomial", "cosine",
                                    "cosine_restarts", "one_cycle", "cyclic", "inverse_sqrt", "plateau"}));
  Json s{{"name", name}};
  if (name == "multi_step") s["milestones"] = Json{1, 3};
  if (name == "linear" || name == "polynomial" || name == "cosine" || name == "one_cycle") s["total"] = 5;
  if (name == "cyclic")
    s["up"] = 2, s["down"] = 1, s["cyclic_mode"] = std::string(draw.name({"triangular", "triangular2", "exp_range"}));
  if ((name == "cyclic" && s["cyclic_mode"] == "exp_range") || name == "exponential") s["gamma"] = 0.5;
  if (name == "inverse_sqrt") s["warmup"] = 2;
  if (draw.percent(25)) {
    s["warmup_steps"] = 2;
    if (draw.percent(50)) s["warmup_shape"] = "cosine";
  }
  return s;
}

// The loss, and what the output must look like for it.
Json random_loss(Draw& draw, const Shape& output) {
  const std::string name(
      draw.name({"mse", "mae", "huber", "crossentropy", "softmax_crossentropy", "softmax_crossentropy", "bce",
                 "bce_logits", "kl_div", "hinge", "multi_head_softmax_ce", "cosine", "contrastive"}));
  // it compares every row with every other
  if (name == "contrastive" && output.rows() > 512) return Json{{"name", "mse"}};
  Json loss{{"name", name}};
  if (name == "softmax_crossentropy") {
    if (draw.percent(30)) loss["label_smoothing"] = 0.1;
    if (draw.percent(20)) loss["ignore_index"] = 0;
    if (draw.percent(20) && output.cols() <= 64) {
      Json weights = Json::array();
      for (std::size_t c = 0; c < output.cols(); ++c) weights.push_back(draw.pick({0.5, 1.0, 2.0}));
      loss["class_weights"] = std::move(weights);
    }
  }
  if (name == "multi_head_softmax_ce") {
    const std::size_t first = output.cols() > 1 ? draw.between(1, output.cols() - 1) : 1;
    loss["heads"] = first < output.cols() ? Json{first, output.cols() - first} : Json{first};
  }
  return loss;
}

// Steps on one batch after another; the JSON of a training, but for network and data.
void draft_training(Drafting& d, bool tween) {
  Draw& draw = d.draw;
  Json& o = d.trial.options;
  Json config = Json::object();
  Json loss = random_loss(draw, d.output);
  const std::string loss_name = *as_string(loss["name"]);
  o["steps"] = draw.between(1, 4);
  config["learning_rate"] = draw.pick({0.001, 0.01, 0.1});
  config["schedule"] = random_schedule(draw);
  if (tween) {
    Json t{{"mode", std::string(draw.name({"chain", "layerwise", "mirror", "dtp"}))}};
    if (loss_name != "mse" && loss_name != "softmax_crossentropy") loss = Json{{"name", "mse"}};
    const bool by_derivatives = t["mode"] == "chain" || t["mode"] == "dtp",
               learns_feedback = t["mode"] == "mirror" || t["mode"] == "dtp";
    if (draw.percent(30) && !by_derivatives) t["slope"] = "sign";
    if (draw.percent(20) && !by_derivatives) t["estimate"] = "average";
    if (draw.percent(20) && !by_derivatives) t["target_scale"] = "weight_sum";
    if (draw.percent(20) && !learns_feedback) t["momentum"] = 0.0;
    if (draw.percent(20)) t["budget_threshold"] = 0.55;
    if (draw.percent(20) && t["mode"] == "layerwise") t["depth_scale_layerwise"] = true;
    if (learns_feedback && draw.percent(40)) t["feedback_steps"] = 2;
    if (learns_feedback) config["optimizer"] = Json{{"name", std::string(draw.name({"sgd", "adam", "rmsprop"}))}};
    if (recomputes(d) && !learns_feedback)
      d.trial.variants.push_back(Json{{"config", {{"tween", {{"recompute_every", draw.between(1, 2)}}}}}});
    config["tween"] = std::move(t);
  } else {
    config["optimizer"] = random_optimizer(draw);
    const bool is_lbfgs = config["optimizer"]["name"] == "lbfgs";  // which takes neither clipping nor f16
    if (draw.percent(35) && !is_lbfgs) config["clip_norm"] = draw.pick({0.1, 1.0});
    if (draw.percent(20) && !is_lbfgs) config["clip_value"] = 0.05;
    if (draw.percent(20) && !any_layer(d.trial.network, [](const Json& l) { return l.contains("activations"); }))
      config["mixed"] = is_lbfgs ? "bf16" : std::string(draw.name({"bf16", "f16", "fp8"}));
    const bool is_fp8 = config.contains("mixed") && config["mixed"] == "fp8";
    const bool apart = splits(d, true) && !shares_weights(d) && loss_name != "contrastive" && !is_fp8;
    if (draw.percent(20) && loss_name != "contrastive" && !is_lbfgs) config["shards"] = draw.between(2, 4);
    if (config.contains("shards")) {
      d.trial.variants.push_back(Json{{"config", {{"workers", 2}}}});
    } else if (apart) {
      d.trial.variants.push_back(Json{{"config", {{"micro_batch", 16}}}});
    } else if (draw.percent(20) && loss_name != "contrastive") {
      config["micro_batch"] = draw.between(1, d.trial.input[0]);
    }
    if (recomputes(d)) d.trial.variants.push_back(Json{{"config", {{"checkpoint_every", draw.between(1, 2)}}}});
  }
  if (draw.percent(15)) config["clamp_master"] = draw.percent(50) ? Json("none") : Json(0.05);
  if (draw.percent(15)) config["qat_scale"] = "frozen";
  if (draw.percent(15)) config["dtype"] = std::string(name(static_cast<DType>(draw.below(kNumTypes))));
  config["loss"] = std::move(loss);
  o["config"] = std::move(config);
}

void draft_train(Drafting& d) {
  draft_training(d, false);
  // The same steps with a stop in between.
  if (d.trial.options["steps"] != 1) d.trial.variants.push_back(patch("save_after", 1));
}
void draft_tween(Drafting& d) {
  draft_training(d, true);
  if (d.trial.options["steps"] != 1) d.trial.variants.push_back(patch("save_after", 1));
}

// The same forward from a file.
void draft_files(Drafting& d) {
  d.trial.options["calls"] = 1;
  for (const char* through : {"entity", "entity with masters", "json", "clone"})
    d.trial.variants.push_back(patch("through", through));
}

void draft_morph(Drafting& d) {
  Json types = Json::array();
  const std::size_t count = d.draw.between(1, 3);
  for (std::size_t i = 0; i < count; ++i)
    types.push_back(std::string(name(static_cast<DType>(d.draw.below(kNumTypes)))));
  d.trial.options["types"] = std::move(types);
  d.trial.variants.push_back(patch("trim", true));
  d.trial.variants.push_back(patch("direct", true));
}

void draft_mesh(Drafting& d) {
  Json& o = d.trial.options;
  o["ticks"] = d.draw.between(1, 7);
  if (d.draw.percent(60)) o["backward"] = d.draw.between(1, 4);
  if (d.draw.percent(30)) o["training"] = true;
  if (d.draw.percent(40)) o["change_input_at"] = d.draw.below(4);
  d.trial.variants.push_back(patch("through_snapshot", true));
  d.trial.variants.push_back(patch("beside", 2));  // other states of the same mesh
}

void draft_mesh_tween(Drafting& d) {
  Json& o = d.trial.options;
  o["ticks"] = d.draw.between(1, 5), o["steps"] = d.draw.between(1, 3);
  if (d.draw.percent(40)) o["history"] = d.draw.between(1, 3);
  o["tween"] = Json{{"mode", std::string(d.draw.name({"chain", "layerwise"}))}};
  if (d.draw.percent(30) && o["tween"]["mode"] != "chain") o["tween"]["slope"] = "sign";
  if (d.draw.percent(50)) o["backward"] = d.draw.between(1, 3);  // on the memory that the targets went through
}

// Puts a layer of the grid under the watch of a metacognition layer that acts on it.
void watch_a_layer(Draw& draw, Json& network) {
  Json& layers = network["layers"];
  const std::size_t at = draw.below(layers.size());
  const std::string effect(draw.name({"gate", "noise", "intervention"}));
  const bool trains = draw.percent(50);
  Json observed = layers[at];
  if (observed.contains("is_remote_link") || observed.contains("skip_from") || observed.contains("is_disabled")) return;
  Json spec = layer_of("metacognition"), dense = layer_of("dense");
  for (const char* key : {"z", "y", "x", "l"}) spec[key] = observed[key], observed.erase(key);
  dense["input_height"] = 6, dense["output_height"] = 3;
  spec["meta_effect"] = effect, spec["meta_source"] = "stats", spec["train_meta"] = trains;
  spec["meta_network"] = std::move(dense), spec["meta_observed_layer"] = std::move(observed);
  layers[at] = std::move(spec);
}

void draft_evolve(Drafting& d) {
  Json& o = d.trial.options;
  o["mutations"] = d.draw.between(1, 4);
  o["splice"] = std::string(d.draw.name({"blend", "point", "uniform"}));
  o["rates"] = d.draw.pick({0.1, 0.4, 1.0});
}

void draft_population(Drafting& d) {
  Json& o = d.trial.options;
  o["size"] = d.draw.between(3, 12);
  o["generations"] = d.draw.between(1, 3);
  o["elites"] = d.draw.below(3);
  o["splice"] = std::string(d.draw.name({"blend", "point", "uniform"}));
  o["splice_rate"] = d.draw.pick({0, 50, 100});
  o["rate"] = d.draw.pick({10, 40});
  if (d.draw.percent(40)) o["species_distance"] = 30;
  if (d.draw.percent(40)) o["novelty"] = 50;
  if (d.draw.percent(30)) o["several_objectives"] = true;
  if (o["generations"] != 1) d.trial.variants.push_back(patch("through_state", true));
}

struct Mode {
  const char* name;
  std::size_t share;  // of a hundred
  void (*draft)(Drafting&);
  bool is_mesh, trains;
  void (*draft_language)(Draw&, Trial&) = nullptr;  // in place of `draft`: the network is a language model
};

constexpr std::array kModes = {
    Mode{"forward", 17, draft_forward, false, false},
    Mode{"backward", 14, draft_backward, false, true},
    Mode{"train", 21, draft_train, false, true},
    Mode{"tween", 13, draft_tween, false, true},
    Mode{"mesh", 8, draft_mesh, true, true},
    Mode{"mesh tween", 5, draft_mesh_tween, true, true},
    Mode{"files", 5, draft_files, false, false},
    Mode{"morph", 4, draft_morph, false, false},
    Mode{"evolve", 3, draft_evolve, false, false},
    Mode{"population", 3, draft_population, false, true},
    Mode{"decoder", 4, nullptr, false, false, draft_decoder},
    Mode{"finetune", 3, nullptr, false, false, draft_finetune},
};
static_assert([] {
  std::size_t all = 0;
  for (const Mode& mode : kModes) all += mode.share;
  return all;
}() == 100);

const Mode& random_mode(Draw& draw) {
  std::size_t at = draw.below(100);
  for (const Mode& mode : kModes) {
    if (at < mode.share) return mode;
    at -= mode.share;
  }
  return kModes[0];
}

bool accepted(const Json& spec, const Shape& input, bool mesh) {
  auto read = network_from_json(spec);  // with its weights: some types refuse some scales
  if (!read) return false;
  return static_cast<bool>(mesh ? read->network.prepare_steps(input) : read->network.prepare(input));
}

}  // namespace

std::vector<std::string> trial_modes() {
  std::vector<std::string> names;
  names.reserve(std::size(kModes));
  for (const Mode& mode : kModes) names.push_back(mode.name);
  return names;
}

bool is_of_language(const Trial& trial) {
  return std::ranges::any_of(
      kModes, [&](const Mode& mode) { return mode.draft_language != nullptr && trial.mode == mode.name; });
}

Trial random_trial(std::uint64_t seed, std::uint32_t number, std::size_t* rejected) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    Draw draw(seed, number, fmt::format("trial {}", attempt));
    const Mode& mode = random_mode(draw);
    if (mode.draft_language != nullptr) {
      Trial trial;
      trial.mode = mode.name, trial.data = draw.below(1u << 30);
      mode.draft_language(draw, trial);
      if (trial_decoder(trial)) return trial;
      if (rejected != nullptr) ++*rejected;
      continue;
    }
    NetworkWish wish;
    wish.mesh = mode.is_mesh;
    wish.budget = draw.pick<std::size_t>({10'000, 60'000, 250'000, 800'000});
    wish.wide = draw.percent(20);
    if (wish.wide) wish.budget = 2'500'000;
    if (mode.trains) wish.budget /= 2;
    if (mode.draft == draft_population) wish.budget /= 10, wish.wide = false;  // it runs many
    wish.last =
        mode.trains && !mode.is_mesh ? std::string(draw.name({"", "", "", "sigmoid", "softmax"})) : std::string();
    RandomNetwork network = random_network(draw, wish);
    const bool by_targets = mode.draft == draft_tween || mode.draft == draft_mesh_tween;
    if (by_targets && draw.percent(25)) watch_a_layer(draw, network.spec);
    if (!accepted(network.spec, network.input, mode.is_mesh)) {
      if (rejected != nullptr) ++*rejected;
      continue;
    }
    Trial trial;
    trial.network = std::move(network.spec);
    trial.input.assign(network.input.extents().begin(), network.input.extents().end());
    trial.ids = network.ids;
    trial.data = draw.below(1u << 30);
    trial.inputs = draw.percent(70) ? "uniform" : draw.percent(50) ? "wide" : "thresholds";
    trial.mode = mode.name;
    if (trial.mode == "forward" && draw.percent(6)) trial.inputs = "non-finite";
    Drafting drafting{draw, trial, network.output};
    mode.draft(drafting);
    return trial;
  }
}

Json trial_to_json(const Trial& t) {
  Json json{{"mode", t.mode},     {"options", t.options},   {"input", t.input},    {"data", t.data},
            {"inputs", t.inputs}, {"variants", t.variants}, {"network", t.network}};
  if (t.ids != 0) json["ids"] = t.ids;
  return json;
}

Result<Trial> trial_from_json(const Json& json) {
  Trial t;
  const auto missing = [](const char* key) {
    return fail(Code::InvalidConfig, "trial: \"{}\" is missing or of another type", key);
  };
  const Json *mode = find(json, "mode"), *options = find(json, "options"), *input = find(json, "input"),
             *data = find(json, "data"), *inputs = find(json, "inputs"), *variants = find(json, "variants"),
             *network = find(json, "network"), *ids = find(json, "ids");
  if (mode == nullptr || as_string(*mode) == nullptr) return missing("mode");
  t.mode = *as_string(*mode);
  if (options != nullptr && !options->is_object()) return missing("options");
  if (options != nullptr) t.options = *options;
  if (input == nullptr || !input->is_array()) return missing("input");
  for (const Json& extent : *input) {
    const auto n = as_int(extent);
    if (!n || *n < 1) return missing("input");
    t.input.push_back(static_cast<std::size_t>(*n));
  }
  if (data != nullptr) t.data = static_cast<std::uint64_t>(as_int(*data).value_or(0));
  if (ids != nullptr) t.ids = static_cast<std::size_t>(as_int(*ids).value_or(0));
  if (inputs != nullptr && as_string(*inputs) != nullptr) t.inputs = *as_string(*inputs);
  if (variants != nullptr && !variants->is_array()) return missing("variants");
  if (variants != nullptr)
    for (const Json& variant : *variants) {
      if (!variant.is_object()) return missing("variants");
      t.variants.push_back(variant);
    }
  if (network == nullptr || !network->is_object()) return missing("network");
  t.network = *network;
  return t;
}

}  // namespace loom
