// Drawing of trials: a network that the engine accepts, calls to run, and other ways of running that promise the same
// bits.

#include "core/nearest.h"
#include "verify/drafting.h"
#include "verify/language_trial.h"
#include "verify/random_network.h"

namespace loom {
namespace {

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

void draft_train(Drafting& d) {
  draft_training(d, false);
  // Runs these steps with a stop in between, too.
  if (d.trial.options["steps"] != 1) d.trial.variants.push_back(patch("save_after", 1));
}
void draft_tween(Drafting& d) {
  draft_training(d, true);
  if (d.trial.options["steps"] != 1) d.trial.variants.push_back(patch("save_after", 1));
}

// Compares a forward pass with that of the network from a file.
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
  TrialMode mode;
  std::size_t share;  // of a hundred
  void (*draft)(Drafting&);
  bool is_mesh, trains;
  void (*draft_language)(Draw&, Trial&) = nullptr;  // in place of `draft`: the network is a language model
};

constexpr std::array kModes = {
    Mode{TrialMode::Forward, 17, draft_forward, false, false},
    Mode{TrialMode::Backward, 14, draft_backward, false, true},
    Mode{TrialMode::Train, 21, draft_train, false, true},
    Mode{TrialMode::Tween, 13, draft_tween, false, true},
    Mode{TrialMode::Mesh, 8, draft_mesh, true, true},
    Mode{TrialMode::MeshTween, 5, draft_mesh_tween, true, true},
    Mode{TrialMode::Files, 5, draft_files, false, false},
    Mode{TrialMode::Morph, 4, draft_morph, false, false},
    Mode{TrialMode::Evolve, 3, draft_evolve, false, false},
    Mode{TrialMode::Population, 3, draft_population, false, true},
    Mode{TrialMode::Decoder, 4, nullptr, false, false, draft_decoder},
    Mode{TrialMode::Finetune, 3, nullptr, false, false, draft_finetune},
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

}  // namespace

bool is_of_language(const Trial& trial) {
  return trial.mode == TrialMode::Decoder || trial.mode == TrialMode::Finetune;
}

Trial random_trial(std::uint64_t seed, std::uint32_t number, std::size_t* rejected) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    Draw draw(seed, number, fmt::format("trial {}", attempt));
    const Mode& mode = random_mode(draw);
    if (mode.draft_language != nullptr) {
      Trial trial;
      trial.mode = mode.mode;
      trial.data = draw.below(1u << 30);
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
    if (!is_accepted(network.spec, network.input, mode.is_mesh)) {
      if (rejected != nullptr) ++*rejected;
      continue;
    }
    Trial trial;
    trial.network = std::move(network.spec);
    trial.input.assign(network.input.extents().begin(), network.input.extents().end());
    trial.ids = network.ids;
    trial.data = draw.below(1u << 30);
    trial.inputs = draw.percent(70) ? "uniform" : draw.percent(50) ? "wide" : "thresholds";
    trial.mode = mode.mode;
    if (trial.mode == TrialMode::Forward && draw.percent(6)) trial.inputs = "non-finite";
    Drafting drafting{draw, trial, network.output};
    mode.draft(drafting);
    return trial;
  }
}

Json trial_to_json(const Trial& t) {
  Json json{{"mode", name(t.mode)}, {"options", t.options},   {"input", t.input},    {"data", t.data},
            {"inputs", t.inputs},   {"variants", t.variants}, {"network", t.network}};
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
  LOOM_TRY(const std::size_t found, find_name("trial: mode", *as_string(*mode), kTrialModes));
  t.mode = static_cast<TrialMode>(found);
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
