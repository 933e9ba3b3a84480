#include <algorithm>

#include "core/json.h"
#include "evolution/mutation/editor.h"
#include "evolution/weight_values.h"
#include "layers/lora/lora.h"
#include "layers/metacognition/metacognition.h"
#include "layers/sequential/sequential.h"
#include "network/plan/forward_plan.h"
#include "network/spec/clone.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

constexpr std::array<std::string_view, kNumMutations> kNames = {
    "perturb", "activation", "type", "toggle", "add_connection", "drop_connection", "dtype", "grow", "prune"};

// Layers that keep what stands inside them; nothing takes their place.
bool holds_others(Layer& layer) { return layer.kind_row().inside != Inside::None; }

class Mutator {
 public:
  Mutator(Editor& editor, const MutationConfig& config, const MutationKey& key, MutationReport& report)
      : editor_(editor), config_(config), key_(key), report_(report) {}

  Result<void> run() {
    for (std::size_t i = 0; i < network().num_cells(); ++i)
      if (!network().cell(i).is_empty()) {
        const Shape out = editor_.plan()->shape_after(i);
        LOOM_TRY_VOID(layer({i, Network::path(i)}, editor_.before(i),
                            network().cell(i).runs() ? std::optional(out) : std::nullopt));
      }
    std::size_t layers = 0;
    network().each_layer([&](std::size_t, const std::string&, Layer&) { ++layers; });
    const bool has_room = layers < config_.max_layers;
    NetworkDraws connections(config_, key_);
    if (connections.adds) count(Mutation::AddConnection, has_room && add_connection(editor_, config_, connections.add));
    if (connections.drops) count(Mutation::DropConnection, drop_connection(editor_, connections.drop));
    if (config_.dtype_rate > 0) each_layer([&](const LayerPlace& place) { return dtype(place); });
    if (config_.cell_grow_rate > 0 && has_room)
      for (std::size_t i = 0; i < network().num_cells(); ++i)
        if (network().cell(i).is_empty()) grow(i);
    if (config_.layer_prune_rate > 0) each_layer([&](const LayerPlace& place) { return prune(place); });
    return {};
  }

 private:
  Network& network() { return editor_.network(); }
  Draws draws(std::string_view path, std::string_view what) const { return Draws(config_.seed, key_, path, what); }
  void count(Mutation m, bool made) { ++(made ? report_.made : report_.skipped)[static_cast<std::size_t>(m)]; }

  // Engine E-21: perturb, activation, type, toggle, then what is nested. Shapes that are not known allow no change of
  // kind.
  Result<void> layer(const LayerPlace& place, const std::optional<Shape>& in, const std::optional<Shape>& out) {
    const LayerDraws drawn(config_, key_, place.path);
    if (drawn.perturbs) {
      LOOM_TRY_VOID(perturb(place));
    }
    if (drawn.activation) activation(place, *drawn.activation);
    if (drawn.other_kind && !holds_others(*editor_.at(place))) {
      const bool made = in && out && !place.is_adapted && type(place, *in, *out);
      count(Mutation::Type, made);
      if (made) return {};
    }
    if (drawn.toggles) count(Mutation::Toggle, editor_.toggle(place));
    return children(place, in);
  }

  Result<void> children(const LayerPlace& place, std::optional<Shape> in) {
    Layer& parent = *editor_.at(place);
    const bool is_sequence = parent.kind_row().inside == Inside::Chain,
               is_parallel = parent.kind_row().inside == Inside::Branches;
    Result<void> done;
    visit_child_places(parent, [&](const std::string& below, LayerPtr& slot) {
      if (!done) return;
      // A disabled layer does not run in a forward pass, so it has no output shape.
      std::optional<Shape> mine = is_sequence || is_parallel ? in : std::nullopt, out;
      if (mine && !slot->common.is_disabled)
        if (auto shape = slot->wired_shape(&editor_.plan()->wiring(), *mine)) out = *shape;
      done = layer(place.child(below, parent, slot), mine, out);
      if (is_sequence && in && !slot->common.is_disabled) {
        const auto next = slot->wired_shape(&editor_.plan()->wiring(), *in);
        in = next ? std::optional(*next) : std::nullopt;
      }
    });
    return done;
  }

  Result<void> perturb(const LayerPlace& place) {
    Layer& layer = *editor_.at(place);
    if (!layer.common.trainable) return {};
    bool any = false;
    Result<void> done;
    layer.visit_all_weights([&](Weight& w) {
      if (!done || w.is_tied() || w.is_frozen() || w.role() == WeightRole::Statistic || !w.has_value()) return;
      const RandomStream stream = draws(place.path, w.name()).stream();
      std::vector<double> values = values_of(w);
      perturb_values(stream, config_.weight_perturb_scale, std::span(values));
      done = w.set(std::span<const double>(values));
      any = true;
    });
    if (!done) return at(place.path, std::move(done).error());
    if (any) count(Mutation::Perturb, true);
    return {};
  }

  void activation(const LayerPlace& place, std::size_t index) {
    Layer& layer = *editor_.at(place);
    const Activation* setting = holds_others(layer) ? nullptr : activation_setting(layer);
    if (setting == nullptr) return;
    const Activation wanted = config_.activations[index];
    if (*setting == wanted) return;
    auto copy = clone_layer(layer, [&](Layer& l) { *activation_setting(l) = wanted; });
    count(Mutation::Activation,
          copy && layer.tied_to() == nullptr && !place.is_adapted && editor_.replace(place, std::move(*copy)));
  }

  bool type(const LayerPlace& place, const Shape& in, const Shape& out) {
    Layer& old = *editor_.at(place);
    Draws d = draws(place.path, "type");
    std::vector<std::string_view> kinds;
    for (const std::string& kind : config_.layer_types)
      if (kind != old.kind()) kinds.push_back(kind);
    if (kinds.empty()) return false;
    const std::string_view kind = kinds[d.below(kinds.size())];
    const Activation activation = config_.activations[d.below(config_.activations.size())];
    auto fresh = repaired_layer(kind, in, out, old.common.encoding, config_, d.seed(), activation);
    if (!fresh) return false;
    (*fresh)->common.name = old.common.name, (*fresh)->common.scatter_to = old.common.scatter_to;
    (*fresh)->common.trainable = old.common.trainable,
    (*fresh)->common.learning_rate_scale = old.common.learning_rate_scale;
    return editor_.replace(place, std::move(*fresh));
  }

  // Every layer that may be changed on its own; f says whether it took the layer away.
  void each_layer(const std::function<bool(const LayerPlace&)>& f) {
    const std::function<bool(const LayerPlace&)> visit = [&](const LayerPlace& place) {
      if (f(place)) return true;
      Layer& parent = *editor_.at(place);
      bool removed = false;  // the places after it have moved
      visit_child_places(parent, [&](const std::string& below, LayerPtr& slot) {
        if (!removed) removed = visit(place.child(below, parent, slot));
      });
      return false;
    };
    for (std::size_t i = 0; i < network().num_cells(); ++i)
      if (!network().cell(i).is_empty()) visit({i, Network::path(i)});
  }

  bool dtype(const LayerPlace& place) {
    Layer& layer = *editor_.at(place);
    Draws d = draws(place.path, "dtype");
    if (config_.dtypes.empty() || !d.chance(config_.dtype_rate)) return false;
    bool has_weights = false;
    layer.visit_weights([&](Weight& w) { has_weights = has_weights || (w.has_value() && !w.is_tied()); });
    if (!has_weights) return false;
    const auto now = std::ranges::find(config_.dtypes, layer.common.encoding.dtype);
    DType next = config_.dtypes.front();
    if (now != config_.dtypes.end()) {
      const auto index = static_cast<std::size_t>(now - config_.dtypes.begin()), last = config_.dtypes.size() - 1;
      if (last == 0) return false;
      const bool up = index == 0 || (index != last && d.chance(0.5));
      next = config_.dtypes[up ? index + 1 : index - 1];
    }
    Encoding encoding = layer.common.encoding;
    encoding.dtype = next;
    bool made = true;
    layer.visit_all_weights([&](Weight& w) {  // adapters too, as Network::morph() does
      if (w.is_tied() || !w.has_value()) return;
      made = made && w.ensure_master() && w.morph(encoding);
      w.trim_versions();  // what a network weighs must not depend on what it was
    });
    if (made) layer.common.encoding.dtype = next;
    count(Mutation::Dtype, made);
    return false;
  }

  void grow(std::size_t cell) {
    Draws d = draws(Network::path(cell), "grow");
    if (!d.chance(config_.cell_grow_rate)) return;
    const std::size_t width = editor_.before(cell).cols();
    const bool bends = d.chance(0.5);
    const Activation activation = config_.activations[d.below(config_.activations.size())];
    if (width > config_.max_adapter_weights / width) return count(Mutation::Grow, false);
    // A linear map that begins as the identity, or x + f(W x) with W = 0: the latter bends once W moves.
    Json dense{{"type", "dense"},
               {"input_height", width},
               {"output_height", width},
               {"bias", true},
               {"init", bends ? "zeros" : "identity"}};
    const bool starts_at_zero = activation != Activation::Sigmoid;  // sigmoid(0) = 0.5
    if (bends) dense["activation"] = std::string(loom::name(starts_at_zero ? activation : Activation::Tanh));
    auto layer = layer_from_json(
        bends ? Json{{"type", "sequential"}, {"residual", true}, {"sequential_layers", Json::array({dense})}} : dense);
    const bool filled = layer && initialise_weights(Network::path(cell), **layer, d.seed());
    count(Mutation::Grow, filled && editor_.replace({cell, Network::path(cell)}, std::move(*layer)));
  }

  bool prune(const LayerPlace& place) {
    Draws d = draws(place.path, "prune");
    if (!d.chance(config_.layer_prune_rate)) return false;
    std::vector<LayerPtr>* siblings =
        place.parent == nullptr ? nullptr : child_list(*place.parent, "sequential_layers");
    bool made = false;
    if (place.parent == nullptr) {
      made = editor_.replace(place, nullptr);
    } else if (siblings != nullptr && siblings->size() > 1 && !place.is_adapted) {
      const auto at = std::ranges::find_if(*siblings, [&](const LayerPtr& l) { return &l == place.slot; });
      made = at != siblings->end() &&
             editor_.remove(*place.parent, *siblings, static_cast<std::size_t>(at - siblings->begin()));
    }
    count(Mutation::Prune, made);
    return made;
  }

  Editor& editor_;
  const MutationConfig& config_;
  MutationKey key_;
  MutationReport& report_;
};

}  // namespace

std::string_view name(Mutation mutation) { return kNames[static_cast<std::size_t>(mutation)]; }

Result<std::shared_ptr<const ForwardPlan>> mutate(Network& network, const Shape& input, const MutationConfig& config,
                                                  const MutationKey& key, MutationReport* report) {
  if (config.activations.empty()) return fail(Code::InvalidConfig, "mutation: the list of activations is empty");
  MutationReport unread;
  LOOM_TRY(Editor editor, Editor::create(network, input, config.max_operations));
  LOOM_TRY_VOID(Mutator(editor, config, key, report != nullptr ? *report : unread).run());
  return editor.plan();
}

}  // namespace loom
