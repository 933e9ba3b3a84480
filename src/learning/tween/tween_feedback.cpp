#include "learning/tween/tween_feedback.h"

#include <algorithm>
#include <cmath>

#include "learning/tween/tween.h"
#include "network/spec.h"
#include "ops/elementwise/elementwise.h"
#include "ops/noise/noise.h"
#include "ops/velocity/velocity.h"

namespace loom {
namespace {

// The settings of a linear map with an activation that say what it computes; null for other kinds.
Json model_of(const Layer& layer, Element element) {
  if (!layer.kind_row().is_linear_map) return {};
  Json spec = layer_to_json(layer);
  for (const char* key : {"name", "tied_to", "adapters", "trainable", "learning_rate_scale", "init", "init_scale", "freeze_base"}) spec.erase(key);
  spec["dtype"] = element == Element::f64 ? "float64" : "float32";
  return spec;
}

}  // namespace

struct TweenFeedback::Map {
  const Layer* layer = nullptr;
  LayerPtr model, straight;      // with the layer's activation; without, of the same weights
  std::vector<Weight*> weights;  // of `model`
  Gradients gradients;
  Arena arena;                   // of a feedback phase for inputs of `planned`
  std::optional<Shape> planned;
  bool wanted = false;           // some step needs a target of its input
};

TweenFeedback::TweenFeedback(const TweenConfig& config, const TweenRules& rules, std::uint64_t seed, Element element, Finder find)
    : repeats_(config.feedback_steps), noise_(config.feedback_noise), rate_(config.feedback_learning_rate), rules_(rules), seed_(seed),
      element_(element), find_(std::move(find)) {}
TweenFeedback::~TweenFeedback() = default;

Result<std::unique_ptr<TweenFeedback>> TweenFeedback::create(const TweenConfig& config, const TweenRules& rules, std::uint64_t seed,
                                                             Element element, const std::map<const Layer*, std::string>& paths, Finder find) {
  std::unique_ptr<TweenFeedback> out(new TweenFeedback(config, rules, seed, element, std::move(find)));
  for (const auto& [layer, path] : paths) {
    Json spec = model_of(*layer, element);
    if (spec.is_null()) continue;
    auto map = std::make_unique<Map>();
    map->layer = layer;
    LOOM_TRY(map->model, layer_from_json(spec));
    spec["activation"] = "linear";
    LOOM_TRY(map->straight, layer_from_json(spec));
    LOOM_TRY_VOID(initialise_weights(path + ".feedback", *map->model, seed));
    std::vector<std::size_t> sizes;
    map->model->visit_all_weights([&](Weight& w) { w.set_slot(sizes.size()), sizes.push_back(w.elements()), map->weights.push_back(&w); });
    Result<void> tied;
    std::size_t next = 0;
    map->straight->visit_all_weights([&](Weight& w) {
      if (auto tie = w.tie(*map->weights[next++]); !tie) tied = std::move(tie);
    });
    LOOM_TRY_VOID(tied);
    LOOM_TRY(map->gradients, Gradients::create(sizes, element));
    out->maps_[path] = std::move(map);
  }
  return out;
}

TweenFeedback::Map* TweenFeedback::map_of(const Layer& layer) {
  for (const auto& [path, map] : maps_)
    if (map->layer == &layer) return map.get();
  return nullptr;
}

// The layer's own forward leaves on the tape what the model's backward needs: the slopes are taken at the layer's sums.
void TweenFeedback::replace(const Exec& exec, const Layer& layer, const ConstView& dy, const View& dx) {
  Map* const map = map_of(layer);
  if (map == nullptr) return;
  map->wanted = true;
  const ArenaScope scope(exec.arena);
  ConstView x = dx;
  if (!exec.rehearsal()) {
    const auto seen = find_(layer);
    if (!seen) return;
    x = seen->x;
  }
  Tape tape;
  Run run(exec);
  run.tape = &tape;
  layer.forward(run, x, exec.arena.view(dy.shape, dy.element));
  map->model->target(run, rules_, dy, dx);
}

Result<void> TweenFeedback::train(const Exec& threads, std::uint32_t step) {
  if (noise_ == 0 || rate_ == 0) return {};
  for (const auto& [path, map] : maps_) {
    if (!map->wanted) continue;
    if (const auto seen = find_(*map->layer)) {
      if (auto done = train_map(threads, *map, *seen, step); !done) return at(path + ".feedback", std::move(done).error());
    }
  }
  return {};
}

Result<void> TweenFeedback::train_map(const Exec& threads, Map& map, const Seen& seen, std::uint32_t step) {
  const Layer& layer = *map.layer;
  const auto run = [&](const Exec& exec, std::size_t k) {
    exec.arena.clear();
    Tape theirs, ours;
    Run sums(exec), model(exec);
    sums.tape = &theirs, model.tape = &ours, model.gradients = &map.gradients;
    const View noise = exec.arena.view(seen.x.shape, element_), y = exec.arena.view(seen.y.shape, element_), r = exec.arena.view(seen.y.shape, element_);
    normal_noise(exec, noise_, {seed_, RandomDomain::Noise, static_cast<std::uint32_t>(step * repeats_ + k), layer.site}, noise);
    layer.forward(sums, noise, y);
    const ConstView before = theirs.pop();  // the sums before the activation
    map.straight->forward(model, noise, r);
    scale(exec, r, -1, r);
    add(exec, r, before, r);
    map.gradients.clear();
    map.straight->backward(model, r, View{nullptr, seen.x.shape, element_});
  };
  if (!map.planned || !(*map.planned == seen.x.shape)) {
    map.arena = Arena::measuring();
    run({threads.pool, threads.kernels, map.arena}, 0);
    LOOM_TRY(map.arena, Arena::create(map.arena.peak()));
    map.planned = seen.x.shape;
  }
  const auto rows = static_cast<double>(layer.tween_rows(seen.x.shape, seen.y.shape));
  const double spread = 1 + std::sqrt(static_cast<double>(map.weights[0]->cols()) / rows), rate = rate_ / (spread * spread * rows);
  for (std::size_t k = 0; k < repeats_; ++k) {
    const Exec exec{threads.pool, threads.kernels, map.arena};
    run(exec, k);
    if (exec.status) return tl::make_unexpected(*exec.status);
    for (Weight* w : map.weights) {
      const double by = w->role() == WeightRole::Matrix ? rate / (noise_ * noise_) : rate;
      const Tensor to = w->master_for_update();
      add_scaled(exec, by, {map.gradients.of(*w), to.rows, to.cols, element_}, to);
      LOOM_TRY_VOID(w->commit_update(exec.pool));
    }
  }
  return {};
}

Result<void> TweenFeedback::follow(const Exec& exec, const Layer& layer, const Weight& weight, ConstTensor before, ConstTensor now) {
  Map* const map = map_of(layer);
  if (map == nullptr || !map->wanted) return {};
  const auto found = std::ranges::find(map->weights, weight.name(), [](const Weight* w) { return w->name(); });
  if (found == map->weights.end()) return {};
  Weight& model = **found;
  const Tensor to = model.master_for_update();
  const ArenaScope scope(exec.arena);
  const Tensor from = exec.arena.tensor(to.rows, to.cols, element_), by = exec.arena.tensor(to.rows, to.cols, element_);
  convert(exec, before, from), convert(exec, now, by);
  add_change(exec, from, by, to);
  if (exec.rehearsal()) return {};
  return model.commit_update(exec.pool);
}

void TweenFeedback::visit_weights(const std::function<void(const std::string&, Weight&)>& visit) {
  for (const auto& [path, map] : maps_)
    for (Weight* w : map->weights) visit(path + ".feedback." + w->name(), *w);
}

std::size_t TweenFeedback::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [path, map] : maps_) {
    bytes += map->arena.size() + map->gradients.bytes();
    for (const Weight* w : map->weights) bytes += w->resident_bytes();
  }
  return bytes;
}

}  // namespace loom
