// Drawing of trainings: a rule, its settings, a loss, a schedule, and ways of running that promise the same bits.

#include "verify/drafting.h"

#include "network/spec/spec.h"

namespace loom {

Json patch(const char* key, Json value) {
  Json p = Json::object();
  p[key] = std::move(value);
  return p;
}

bool splits(const Drafting& d, bool training) {
  return d.trial.input[0] > 1 && !measures_its_batch(d.trial.network, training);
}

bool recomputes(const Drafting& d) {
  return !any_layer(d.trial.network, [](const Json& layer) {
    const Json *mode = find(layer, "link_mode"), *skip = find(layer, "skip_from"), *type = find(layer, "type");
    return (mode != nullptr && *mode == "feed") || (skip != nullptr && skip->is_array()) ||
           layer.contains("stateful") || (type != nullptr && *type == "metacognition");
  });
}

namespace {

// A weight with several uses sums them one after the other, within each part of a batch (engine V-21): parts give other
// bits.
bool shares_weights(const Drafting& d) {
  return any_layer(d.trial.network, [](const Json& layer) {
    const Json* mode = find(layer, "link_mode");
    return layer.contains("tied_to") || (layer.contains("is_remote_link") && !(mode != nullptr && *mode == "feed"));
  });
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

}  // namespace

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

void watch_a_layer(Draw& draw, Json& network) {
  Json& layers = network["layers"];
  const std::size_t at = draw.below(layers.size());
  const std::string effect(draw.name({"gate", "noise", "intervention"}));
  const bool trains = draw.percent(50);
  Json observed = layers[at];
  if (observed.contains("is_remote_link") || observed.contains("skip_from") || observed.contains("is_disabled")) return;
  Json spec = layer_of("metacognition"), dense = layer_of("dense");
  for (const char* key : {"z", "y", "x", "l"}) {
    spec[key] = observed[key];
    observed.erase(key);
  }
  dense["input_height"] = 6, dense["output_height"] = 3;
  spec["meta_effect"] = effect, spec["meta_source"] = "stats", spec["train_meta"] = trains;
  spec["meta_network"] = std::move(dense), spec["meta_observed_layer"] = std::move(observed);
  layers[at] = std::move(spec);
}

bool is_accepted(const Json& spec, const Shape& input, bool mesh) {
  auto read = network_from_json(spec);  // with its weights: some types refuse some scales
  if (!read) return false;
  return mesh ? StepPlan::create(read->network, input).has_value()
              : ForwardPlan::create(read->network, input).has_value();
}

}  // namespace loom
