#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "learning/tween/tween.h"
#include "learning/tween/tween_feedback.h"
#include "network/spec/spec.h"
#include "ops/elementwise/elementwise.h"
#include "ops/noise/noise.h"
#include "ops/velocity/velocity.h"

namespace loom {

TweenMirror::TweenMirror(const TweenConfig& config, const TweenRules& rules, std::uint64_t seed, Element element)
    : TweenFeedback(config, 1, 1, seed, element), rules_(rules) {}

Result<void> TweenMirror::give_weights(Map& map, Json spec, const std::string& path) {
  LOOM_TRY(map.model, layer_from_json(spec));
  spec["activation"] = "linear";
  LOOM_TRY(map.other, layer_from_json(spec));
  LOOM_TRY_VOID(initialise_weights(path, *map.model, seed_));
  map.model->visit_all_weights([&](Weight& w) { map.weights.push_back(&w); });
  Result<void> tied;
  std::size_t next = 0;
  map.other->visit_all_weights([&](Weight& w) {
    if (auto tie = w.tie(*map.weights[next++]); !tie) tied = std::move(tie);
  });
  return tied;
}

// The layer's own forward writes the values for the model's backward to the tape: slopes are taken at the layer's sums.
void TweenMirror::replace(const Exec& exec, const Layer& layer, const ConstView& e, const View& d) {
  Map* const map = map_of(layer);
  if (map == nullptr) return;
  map->wanted = true;
  const ArenaScope scope(exec.arena);
  ConstView x = d;
  if (!exec.rehearsal()) {
    const auto latest = seen(layer);
    if (!latest) return;
    x = latest->x;
  }
  Tape tape;
  Run run(exec);
  run.tape = &tape;
  layer.forward(run, x, exec.arena.view(e.shape, e.element));
  map->model->target(run, rules_, e, d);
}

void TweenMirror::phase(const Exec& exec, Map& map, const Seen& seen, const RandomStream& stream) {
  Tape theirs, ours;
  Run sums(exec), model(exec);
  sums.tape = &theirs, model.tape = &ours, model.gradients = &map.gradients;
  const View noise = exec.arena.view(seen.x.shape, element_), y = exec.arena.view(seen.y.shape, element_),
             r = exec.arena.view(seen.y.shape, element_);
  normal_noise(exec, noise_, stream, noise);
  map.layer->forward(sums, noise, y);
  const ConstView before = theirs.pop();  // the sums before the activation
  map.other->forward(model, noise, r);
  scale(exec, r, -1, r);
  add(exec, r, before, r);
  map.other->backward(model, r, View{nullptr, seen.x.shape, element_});
}

double TweenMirror::step_of(const Map& map, const Seen& seen, const Weight& weight) const {
  const auto rows = static_cast<double>(map.layer->tween_rows(seen.x.shape, seen.y.shape));
  const double spread = 1 + std::sqrt(static_cast<double>(map.weights[0]->cols()) / rows),
               rate = rate_ / (spread * spread * rows);
  return weight.role() == WeightRole::Matrix ? rate / (noise_ * noise_) : rate;
}

Result<void> TweenMirror::follow(const Exec& exec, const Layer& layer, const Weight& weight, ConstTensor before,
                                 ConstTensor now) {
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

}  // namespace loom
