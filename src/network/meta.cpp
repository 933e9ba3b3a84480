#include "network/meta.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/json.h"
#include "layers/adapter.h"
#include "layers/dense/dense.h"
#include "layers/lora/lora.h"
#include "layers/metacognition/metacognition.h"
#include "network/plan/forward_plan.h"
#include "network/plan/step_plan.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

// Target of a command: a cell, or the layer inside a metacognition layer.
struct Target {
  Metacognition* holder = nullptr;  // null: the cell itself
  std::size_t cell = 0;
  std::string place;
  Shape input, output;
};

// Plans the network as its driver does, and knows what its cells read by the last plan.
struct Planner {
  std::function<Result<void>()> plan;
  std::function<Shape(std::size_t)> input_of, output_of;
};

Result<Target> target_of(const Network& network, const MetaRule& rule, Metacognition& asking, std::size_t cell,
                         const std::string& place, const MetaState& state, const Planner& as) {
  if (rule.self_only) return Target{&asking, cell, place + ".meta_observed_layer", state.input, state.output};
  if (!(rule.param >= 0 && rule.param < 65536))
    return fail(Code::OutOfRange, "cell (0,0,{},0) is outside the grid", rule.param);
  LOOM_TRY(const std::size_t index, network.index_of({0, 0, static_cast<std::size_t>(rule.param), 0}));
  Layer* layer = network.cell(index).front();
  if (layer == nullptr) return fail(Code::LinkToEmpty, "{} is empty", network.place_text(index));
  Target t{layer_as<Metacognition>(*layer), index, Network::path(index), as.input_of(index), as.output_of(index)};
  if (t.holder != nullptr) t.place += ".meta_observed_layer";
  return t;
}

Layer& current(const Network& network, const Target& target) {
  return target.holder != nullptr ? target.holder->observed() : *network.cell(target.cell).front();
}

// The largest number of heads of 8, 4, 2, 1 that leaves each an even width.
std::size_t heads_for(std::size_t width) {
  for (const std::size_t heads : {8, 4, 2})
    if (width % (2 * heads) == 0) return heads;
  return 1;
}

Json spec_of(MetaCommand command, double param, const Shape& in, const Shape& out) {
  const std::size_t from = in.cols(), to = out.cols();
  switch (command) {
    case MetaCommand::Cnn1:
      return {{"type", "cnn1"},
              {"input_channels", in.rank() < 2 ? 1 : in[in.rank() - 2]},
              {"filters", 16},
              {"kernel_size", 3},
              {"padding", 1}};
    case MetaCommand::Rnn: return {{"type", "rnn"}, {"input_height", from}, {"output_height", to}};
    case MetaCommand::Lstm: return {{"type", "lstm"}, {"input_height", from}, {"output_height", to}};
    case MetaCommand::Softmax: return {{"type", "softmax"}};
    case MetaCommand::RmsNorm: return {{"type", "rmsnorm"}, {"input_height", from}};
    case MetaCommand::Swiglu: return {{"type", "swiglu"}, {"input_height", from}, {"output_height", 4 * from}};
    case MetaCommand::Mha:
      return {{"type", "mha"}, {"d_model", from}, {"num_heads", heads_for(from)}, {"output_dim", to}};
    case MetaCommand::Kmeans:
      return {{"type", "kmeans"},
              {"input_height", from},
              {"num_clusters", param >= 1 && param <= 65536 ? static_cast<std::size_t>(param) : to},
              {"output_mode", from == to ? "features" : "probabilities"}};
    default: return {{"type", "dense"}, {"input_height", from}, {"output_height", to}};
  }
}

Result<void> morph_by_number(Layer& layer, double param) {
  if (!(param >= 0 && param < static_cast<double>(kNumTypes)))
    return fail(Code::InvalidArgument, "type {} is none of the {}", param, kNumTypes);
  return morph_layer("", layer, static_cast<DType>(param));
}

Result<void> reset_dense(Layer& layer) {
  if (layer_as<Dense>(layer) == nullptr)
    return fail(Code::InvalidArgument, "a layer of kind {}, a dense expected", layer.kind());
  std::optional<Error> error;
  layer.visit_weights([&](Weight& w) {
    std::vector<float> values(w.elements());
    for (std::size_t i = 0; w.role() == WeightRole::Matrix && i < w.rows() && i < w.cols(); ++i)
      values[i * w.cols() + i] = 1;
    if (error) return;
    if (auto done = w.set(std::span<const float>(values)); !done) error = std::move(done).error();
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return {};
}

// Puts `cell` in the place of the target and returns what it replaced. Only the layer is exchanged where the target is
// inside another layer.
Result<Cell> exchange(Network& network, const Target& target, Cell cell) {
  if (target.holder == nullptr) return network.exchange(target.cell, std::move(cell));
  network.edit();
  return target.holder->exchange_observed(std::move(cell.layer));
}

// A lora around it holds adapters for the weights that would go.
bool is_adapted(const Network& network, const Target& target) {
  if (target.holder == nullptr) return false;
  bool found = false;
  visit_layers("", *network.cell(target.cell).layer, [&](const std::string&, Layer& layer) {
    if (layer_as<Lora>(layer) != nullptr)
      visit_layers("", layer,
                   [&](const std::string&, Layer& inner) { found |= layer_as<Metacognition>(inner) == target.holder; });
  });
  return found;
}

// Another layer in the target's place, if the network runs with it.
Result<void> replace(Network& network, const MetaRule& rule, const Target& target, const Planner& as) {
  if (is_adapted(network, target)) return fail(Code::Unsupported, "a layer inside a lora keeps its place");
  const Layer& old = current(network, target);
  Json spec = spec_of(rule.command, rule.param, target.input, target.output);
  spec["dtype"] = std::string(name(old.common.encoding.dtype));
  LOOM_TRY(LayerPtr layer, layer_from_json(spec));
  layer->common.name = old.common.name, layer->common.is_disabled = old.common.is_disabled;
  layer->common.scatter_to = old.common.scatter_to;
  LOOM_TRY(const Shape out, layer->output_shape(target.input));
  if (!(out == target.output))
    return fail(Code::ShapeMismatch, "{} gives {}, the shape {} stays", layer->kind(), out.text(),
                target.output.text());
  LOOM_TRY_VOID(initialise_weights(target.place, *layer, network.settings.seed));
  LOOM_TRY(Cell before, exchange(network, target, std::move(layer)));
  auto planned = as.plan();
  if (planned) return {};
  LOOM_TRY_VOID(exchange(network, target, std::move(before)));
  LOOM_TRY_VOID(as.plan());
  return planned;
}

Result<void> apply(Network& network, const MetaRule& rule, const Target& target, const Planner& as) {
  if (rule.command == MetaCommand::Morph) {
    if (target.holder != nullptr) return morph_by_number(target.holder->observed(), rule.param);
    LOOM_TRY(Layer* const layer, network.layer_at(target.cell));
    return morph_by_number(*layer, rule.param);
  }
  if (rule.command == MetaCommand::Reset) return reset_dense(current(network, target));
  return replace(network, rule, target, as);
}

struct Wish {
  Metacognition* asking;
  std::size_t cell, rule_index;
  std::string place;
  MetaRule rule;
  MetaState state;
};

// Moves the requests of these states to `wishes`, in order of execution and rule; the states forget them.
void take_wishes(const Network& network, std::span<MetaState> metas, std::vector<Wish>& wishes) {
  network.each_layer([&](std::size_t i, const std::string& place, Layer& layer) {
    Metacognition* const meta = layer_as<Metacognition>(layer);
    if (meta == nullptr) return;
    for (MetaState& state : metas) {  // each link that shares the layer has one of its own
      if (!state.planned || state.site != meta->site) continue;
      for (std::size_t r = 0; r < meta->rules().size(); ++r) {
        const bool is_new =
            std::ranges::none_of(wishes, [&](const Wish& w) { return w.asking == meta && w.rule_index == r; });
        if (state.queued.test(r) && is_new) wishes.push_back({meta, i, r, place, meta->rules()[r], state});
      }
      state.queued.reset();
    }
  });
}

Result<std::vector<MetaEvent>> grant(Network& network, std::span<const Wish> wishes, const Planner& as, bool& changed) {
  std::vector<MetaEvent> events;
  if (!wishes.empty()) LOOM_TRY_VOID(as.plan());  // targets are named by the shapes of this plan
  for (const Wish& wish : wishes) {
    MetaEvent event{wish.place, wish.rule.command, wish.rule.param, "", ""};
    // The layer that asks may be gone: an earlier command may have replaced its container.
    bool is_in_network = false;
    network.each_layer(
        [&](std::size_t, const std::string&, Layer& layer) { is_in_network = is_in_network || &layer == wish.asking; });
    Result<void> done =
        is_in_network ? Result<void>() : Result<void>(fail(Code::NotFound, "the layer that asked is gone"));
    if (done) {
      auto target = target_of(network, wish.rule, *wish.asking, wish.cell, wish.place, wish.state, as);
      if (target) event.target = target->place;
      done = target ? apply(network, wish.rule, *target, as)
                    : Result<void>(tl::make_unexpected(std::move(target).error()));
    }
    if (done)
      changed = true;
    else
      event.refusal = std::move(done).error().text();
    events.push_back(std::move(event));
  }
  if (changed) LOOM_TRY_VOID(as.plan());
  return events;
}

}  // namespace

Result<std::vector<MetaEvent>> commit_meta(Network& network, NetworkSession& session, const Shape& input) {
  if (!session.runs(network)) return fail(Code::InvalidState, "the session runs another network");
  std::vector<Wish> wishes;
  take_wishes(network, session.metas(), wishes);
  std::shared_ptr<const ForwardPlan> plan;
  const Planner as{[&]() -> Result<void> {
                     LOOM_TRY(plan, ForwardPlan::create(network, input));
                     return {};
                   },
                   [&](std::size_t cell) { return cell == 0 ? input : plan->shape_after(cell - 1); },
                   [&](std::size_t cell) { return plan->shape_after(cell); }};
  bool changed = false;
  LOOM_TRY(auto events, grant(network, wishes, as, changed));
  if (changed) LOOM_TRY_VOID(session.use_new_plan(plan));
  return events;
}

Result<std::vector<MetaEvent>> commit_meta(Network& network, StepMesh& mesh, std::span<StepState* const> states) {
  if (&mesh.network() != &network) return fail(Code::InvalidState, "the step mesh runs another network");
  for (const StepState* state : states)
    if (&state->mesh() != &mesh || state->is_void() || state->pending())
      return fail(Code::InvalidState, "commands are granted between two ticks of one step mesh");
  std::vector<Wish> wishes;
  for (StepState* state : states) take_wishes(network, state->metas(), wishes);
  const Shape input = mesh.plan()->input();
  std::shared_ptr<const StepPlan> plan;
  // A layer that takes the place of a link that feeds reads the predecessor alone.
  const Planner as{[&]() -> Result<void> {
                     LOOM_TRY(plan, StepPlan::create(network, input));
                     return {};
                   },
                   [&](std::size_t cell) { return plan->cells()[cell].source; },
                   [&](std::size_t cell) { return plan->cells()[cell].output; }};
  bool changed = false;
  LOOM_TRY(auto events, grant(network, wishes, as, changed));
  if (changed) LOOM_TRY_VOID(mesh.use_new_plan(plan, states));
  return events;
}

}  // namespace loom
