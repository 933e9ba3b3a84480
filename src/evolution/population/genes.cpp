#include "evolution/population/genes.h"

#include <algorithm>

#include "dtypes/float16.h"
#include "evolution/mutation/editor.h"
#include "evolution/weight_values.h"
#include "layers/lora/lora.h"
#include "layers/metacognition/metacognition.h"

namespace loom {
namespace {

constexpr std::size_t kMaxLayers = 64;  // bits of the mask in move()

std::span<float> values(Weight& w) { return {w.master_for_update().as<float>(), w.elements()}; }

bool is_plain(Weight& w) {
  return !w.is_tied() && !w.is_frozen() && w.adapters().empty() && w.dtype() == DType::float32 && !w.master().empty();
}

}  // namespace

Genes::Genes(const Network& network) {
  bool usable = true;
  for (std::size_t i = 0; i < network.num_cells() && usable; ++i) {
    if (network.cell(i).is_empty()) continue;
    Layer& layer = *network.cell(i).front();
    layer.visit_children([&](const std::string&, Layer&) { usable = false; });
    usable = usable && network.cell(i).link == nullptr && layer_as<Lora>(layer) == nullptr &&
             layer_as<Metacognition>(layer) == nullptr && layer.tied_to() == nullptr;
    if (!usable) break;
    std::string path = Network::path(i);
    const std::uint32_t site = random_site(path);
    layers_.push_back({std::move(path), site, layer.common.trainable, weights_.size(), 0});
    layer.visit_weights([&](Weight& w) {
      usable = usable && is_plain(w);
      weights_.push_back(&w);
    });
    layers_.back().last = weights_.size();
  }
  if (!usable || layers_.size() > kMaxLayers) layers_.clear(), weights_.clear();
}

Result<void> Genes::take(const Genes& a, const Genes* b, const SpliceConfig& config) {
  for (std::size_t i = 0; i < weights_.size(); ++i)
    std::ranges::copy(a.weights_[i]->master(), values(*weights_[i]).begin());
  if (b == nullptr) return {};
  const Mixer mixer(config);
  for (const Place& place : layers_) {
    std::vector<double> mine, theirs;
    const auto append = [](std::vector<double>& to, std::span<const float> from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (Weight* w : of(place)) append(mine, w->master());
    for (Weight* w : b->of(place)) append(theirs, w->master());
    mixer.mix(place.site, mine, theirs);
    std::size_t next = 0;
    for (Weight* w : of(place))
      for (float& v : values(*w)) {
        if (!is_f32(mine[next]))
          return fail(Code::NonFinite, "{}: {}: a mixed value is not a finite number", place.path, w->name());
        v = snapped(static_cast<float>(mine[next++]));
      }
  }
  return {};
}

bool Genes::move(const MutationConfig& config, const MutationKey& key, MutationReport& report) {
  if (config.activations.empty() || config.dtype_rate > 0 || config.cell_grow_rate > 0 || config.layer_prune_rate > 0)
    return false;
  if (NetworkDraws(config, key).changes_connections()) return false;
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerDraws drawn(config, key, layers_[i].path);
    if (drawn.changes_structure()) return false;
    moved |= std::uint64_t{drawn.perturbs} << i;
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Place& place = layers_[i];
    if ((moved >> i & 1) == 0 || !place.is_trainable) continue;
    bool any = false;
    for (Weight* w : of(place)) {
      if (w->role() == WeightRole::Statistic) continue;
      perturb_values(Draws(config.seed, key, place.path, w->name()).stream(), config.weight_perturb_scale, values(*w));
      for (float& v : values(*w)) v = snapped(v);
      any = true;
    }
    report.made[static_cast<std::size_t>(Mutation::Perturb)] += any;
  }
  return true;
}

Result<void> Genes::commit(ThreadPool& pool) {
  for (Weight* w : weights_) {
    LOOM_TRY_VOID(w->commit_update(pool));
  }
  return {};
}

}  // namespace loom
