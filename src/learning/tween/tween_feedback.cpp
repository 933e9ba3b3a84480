#include "learning/tween/tween_feedback.h"

#include "backend/pass_error.h"
#include "backend/rehearsal.h"
#include "backend/travel.h"
#include "core/json.h"
#include "learning/tween/tween.h"
#include "network/spec/spec.h"
#include "ops/velocity/velocity.h"

namespace loom {
namespace {

// The settings of a linear map with an activation that say what it computes; null for other kinds.
Json model_of(const Layer& layer, Element element) {
  if (!layer.kind_row().is_linear_map) return {};
  Json spec = layer_to_json(layer);
  for (const char* key :
       {"name", "tied_to", "adapters", "trainable", "learning_rate_scale", "init", "init_scale", "freeze_base"})
    spec.erase(key);
  spec["dtype"] = element == Element::f64 ? "float64" : "float32";
  return spec;
}

}  // namespace

TweenFeedback::TweenFeedback(const TweenConfig& config, double noise, double rate, std::uint64_t seed, Element element)
    : noise_(config.feedback_noise.value_or(noise)),
      rate_(config.feedback_learning_rate.value_or(rate)),
      seed_(seed),
      element_(element),
      repeats_(config.feedback_steps) {}
TweenFeedback::~TweenFeedback() = default;

Result<void> TweenFeedback::own(const std::map<const Layer*, std::string>& paths, Finder find, Device* device) {
  find_ = std::move(find), device_ = device;
  maps_.clear();
  for (const auto& [layer, path] : paths) {
    Json spec = model_of(*layer, element_);
    if (spec.is_null()) continue;
    auto map = std::make_unique<Map>();
    map->layer = layer;
    LOOM_TRY_VOID(give_weights(*map, std::move(spec), path + ".feedback"));
    LOOM_TRY(map->gradients,
             Gradients::create(std::vector<const Weight*>(map->weights.begin(), map->weights.end()), element_, device));
    maps_[path] = std::move(map);
  }
  return {};
}

TweenFeedback::Map* TweenFeedback::map_of(const Layer& layer) {
  for (const auto& [path, map] : maps_)
    if (map->layer == &layer) return map.get();
  return nullptr;
}

Result<void> TweenFeedback::train(const Exec& threads, std::uint32_t step) {
  if (noise_ == 0 || rate_ == 0) return {};
  for (const auto& [path, map] : maps_) {
    if (!map->wanted) continue;
    if (const auto seen = find_(*map->layer)) {
      if (auto done = train_map(threads, *map, *seen, step); !done)
        return at(path + ".feedback", std::move(done).error());
    }
  }
  return {};
}

Result<void> TweenFeedback::train_map(const Exec& threads, Map& map, const Seen& seen, std::uint32_t step) {
  const auto run = [&](const Exec& exec, std::size_t k) {
    exec.arena.clear();
    map.gradients.clear();
    phase(exec, map, seen,
          {seed_, RandomDomain::Noise, static_cast<std::uint32_t>(step * repeats_ + k), map.layer->site});
  };
  if (!map.planned || !(*map.planned == seen.x.shape)) {
    LOOM_TRY(const Arena::Mark needed, rehearse(threads, [&](const Exec& rehearsal) { run(rehearsal, 0); }));
    LOOM_TRY(map.arena, Arena::create(needed, device_));
    map.planned = seen.x.shape;
  }
  for (std::size_t k = 0; k < repeats_; ++k) {
    const Exec exec{threads.pool, threads.kernels, map.arena};
    run(exec, k);
    if (exec.status) return error_of_pass(exec);
    const Exec here{threads.pool, threads.kernels, host_arena_};
    for (Weight* w : map.weights) {
      const Tensor to = w->master_for_update();
      LOOM_TRY(const ConstView g,
               brought(device_, {map.gradients.of(*w), Shape::of({to.rows, to.cols}), element_}, brought_));
      add_scaled(here, step_of(map, seen, *w), {g.data, to.rows, to.cols, element_}, to);
      LOOM_TRY_VOID(w->commit_update(here.pool));
    }
  }
  return {};
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
