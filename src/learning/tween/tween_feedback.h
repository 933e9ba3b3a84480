#pragma once
// Feedback weights of mode dtp (engine 7.7): the form of difference target propagation (Lee, Zhang, Fischer & Bengio 2015) with a linear map
// that learns the forward's transpose, not an inverse.
// Every dense cell and convolution f(x) = act(W x + b) has a model of itself with weights V, c of its own, through which targets travel:
// target of x = x + V^T e', e' the layer's gap by its slopes (docs/tween.md), W itself is not read. Meulemans et al. 2020 and Ernoult et al.
// 2022 show that feedback whose Jacobian is the forward's transpose is what makes targets as good as gradients; where they descend a
// reconstruction loss to get there, V here predicts what the layer answers to noise, an error that is 0 once V = W (a weight mirror as of
// Akrout et al. 2019, by its error), and takes every step that W takes (Kolen & Pollack 1994: both synapses see the same two cells). Without
// those steps V lags where W moves most, which costs deep networks ten points (docs/tween.md).
//   feedback phase, K times a step: n normal of the input's shape, sigma n into the layer before its activation and into the model;
//   r = the layer's sums - the model's;  V += q / sigma^2 * mean over rows of r (sigma n)^T,  c += q * mean of r,
//   q = feedback_learning_rate / (1 + sqrt(inputs of a unit / rows))^2, the largest eigenvalue of the noise: stable below a rate of 2
// Other kinds keep their layerwise rule. Normal numbers: domain Noise by (site of the layer, step * K + k, element). Orders of sums are
// those of the layers.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/tween.h"

namespace loom {

struct TweenConfig;

class TweenFeedback final : public TargetMap {
 public:
  // Input and output that forward kept of the latest use of a layer that has not yet been taken back.
  struct Seen {
    ConstView x, y;
  };
  using Finder = std::function<std::optional<Seen>(const Layer&)>;

  // Models of the layers among `paths` that can have one, drawn by (seed, path.feedback). `find` is asked in passes, never in rehearsals.
  static Result<std::unique_ptr<TweenFeedback>> create(const TweenConfig& config, const TweenRules& rules, std::uint64_t seed, Element element,
                                                       const std::map<const Layer*, std::string>& paths, Finder find);
  ~TweenFeedback() override;

  void replace(const Exec& exec, const Layer& layer, const ConstView& dy, const View& dx) override;
  // One feedback phase for every layer whose input has been asked a target for, in the order of their paths. After a forward.
  Result<void> train(const Exec& threads, std::uint32_t step);

  // The weight of this layer went from `before` to `now` (engine type of its master): its model takes the same step.
  Result<void> follow(const Exec& exec, const Layer& layer, const Weight& weight, ConstTensor before, ConstTensor now);

  // visit("layers.2.feedback.weight", weight): saved beside the network, no part of it (W-63).
  void visit_weights(const std::function<void(const std::string&, Weight&)>& visit);
  std::size_t bytes() const;

 private:
  struct Map;
  TweenFeedback(const TweenConfig& config, const TweenRules& rules, std::uint64_t seed, Element element, Finder find);
  Map* map_of(const Layer& layer);
  Result<void> train_map(const Exec& threads, Map& map, const Seen& seen, std::uint32_t step);

  std::size_t repeats_;
  double noise_, rate_;
  const TweenRules& rules_;
  std::uint64_t seed_;
  Element element_;
  Finder find_;
  std::map<std::string, std::unique_ptr<Map>> maps_;  // by path
};

}  // namespace loom
