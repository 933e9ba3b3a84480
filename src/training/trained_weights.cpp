#include "training/trained_weights.h"

#include <algorithm>
#include <functional>

#include "ops/all.h"
#include "ops/gap/gap.h"

namespace loom {
namespace {

// Visits the weights below a layer, with the settings of the layer and its containers about training.
void visit_trained(const std::string& path, Layer& layer, bool trainable, double scale,
                   const std::function<void(const std::string&, Weight&, bool, double)>& visit) {
  trainable = trainable && layer.common.trainable;
  scale *= layer.common.learning_rate_scale;
  layer.visit_all_weights([&](Weight& w) { visit(path + "." + w.name(), w, trainable, scale); });
  layer.visit_children([&](const std::string& below, Layer& child) {
    visit_trained(path + "." + below, child, trainable, scale, visit);
  });
}

}  // namespace

Result<TrainedWeights::Found> TrainedWeights::collect(Network& network, const MasterClamp& clamp, bool frozen_scales) {
  Found found;
  weights_.clear();
  limits_.clear();
  const Element element = network.settings.activations;
  std::optional<Error> error;
  const auto take = [&](const std::string& path, Weight& w, bool trainable, double scale) {
    if (w.role() == WeightRole::Statistic && !w.is_tied()) found.statistics.push_back(&w);
    if (error || w.is_tied() || w.role() == WeightRole::Statistic) return;
    if (!trainable) w.freeze(true);
    if (w.is_frozen()) return;
    if (auto ready = w.ensure_master(); !ready) {
      error = std::move(ready.error().in_source(path));
      return;
    }
    // Gradients and state have the element of the sums, and so has the master that they move.
    if (auto done = w.convert_master(element); !done) {
      error = std::move(done.error().in_source(path));
      return;
    }
    found.parameters.push_back({path, w.elements(), element, w.shape().rank() == 1, scale});
    weights_.push_back(&w);
    limits_.push_back(master_limit(clamp, w));
    w.freeze_scales(frozen_scales);
  };
  for (std::size_t i = 0; i < network.num_cells(); ++i)
    if (network.cell(i).layer) visit_trained(Network::path(i), *network.cell(i).layer, true, 1, take);
  if (error) return tl::make_unexpected(*std::move(error));
  if (weights_.empty()) return fail(Code::InvalidArgument, "the network has no weight to train");
  masters_.resize(weights_.size());
  gradients_.resize(weights_.size());
  const_gradients_.resize(weights_.size());
  return found;
}

std::size_t TrainedWeights::elements() const {
  std::size_t elements = 0;
  for (const Weight* w : weights_) elements += w->elements();
  return elements;
}

bool TrainedWeights::has_limits() const {
  return std::ranges::any_of(limits_, [](const std::optional<double>& limit) { return limit.has_value(); });
}

void TrainedWeights::list(const Exec& exec, Gradients& from) {
  for (std::size_t p = 0; p < weights_.size(); ++p) {
    gradients_[p] = {from.of(exec, *weights_[p]), weights_[p]->rows(), weights_[p]->cols(), from.element()};
    const_gradients_[p] = gradients_[p];
    masters_[p] = weights_[p]->master_for_update(exec);
  }
}

void TrainedWeights::clamp_masters(const Exec& exec, ConstTensor failed) const {
  for (std::size_t p = 0; p < weights_.size(); ++p)
    if (limits_[p].value_or(0) > 0) clamp(exec, *limits_[p], masters_[p], failed);
}

Result<void> TrainedWeights::commit(const Exec& exec, Weight::Values values) {
  for (Weight* w : weights_) LOOM_TRY_VOID(w->commit_update(exec, values));
  return {};
}

Result<void> TrainedWeights::fetch() {
  for (Weight* w : weights_) LOOM_TRY_VOID(w->fetch());
  return {};
}

}  // namespace loom
