#pragma once
// Feedback weights of the modes mirror and dtp (engine 7.7), through which targets travel in place of the forward ones.
// Every dense cell and convolution f(x) = act(W x + b) owns a matrix V, which has the layout of W, is drawn apart from
// it and never reads it, and a shift c. Both learn in feedback phases, feedback_steps of them in a step, from normal
// numbers of the input's shape: domain Noise by (site of the layer, step * feedback_steps + k, element). Orders of sums
// are those of the layers.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/philox.h"
#include "layers/tween.h"
#include "ops/norm/norm.h"

namespace loom {

struct TweenConfig;

class TweenFeedback : public TargetMap {
 public:
  // Input and output that forward kept of the latest use of a layer that has not yet been taken back.
  struct Seen {
    ConstView x, y;
  };
  using Finder = std::function<std::optional<Seen>(const Layer&)>;

  ~TweenFeedback() override;
  // Gives V and c, drawn by (seed, path.feedback), to the layers among `paths` that can have them, and to no others.
  // `find` is asked in passes, never in rehearsals. Phases run on the device, where there is one; weights change on the
  // host.
  Result<void> own(const std::map<const Layer*, std::string>& paths, Finder find, Device* device);
  // One feedback phase for every layer whose input has been asked a target for, in the order of their paths. After a
  // forward.
  Result<void> train(const Exec& threads, std::uint32_t step);
  // The weight of this layer went from `before` to `now` (engine type of its master).
  virtual Result<void> follow(const Exec& /*exec*/, const Layer& /*layer*/, const Weight& /*weight*/,
                              ConstTensor /*before*/, ConstTensor /*now*/) {
    return {};
  }

  // visit("layers.2.feedback.weight", weight): saved beside the network, no part of it (W-63).
  void visit_weights(const std::function<void(const std::string&, Weight&)>& visit);
  std::size_t bytes() const;

 protected:
  struct Map {
    const Layer* layer = nullptr;
    LayerPtr model;                // holds V
    LayerPtr other;                // mirror: the model without its activation, of the same weights; dtp: the activation
    Weight shift;                  // dtp: c
    std::vector<Weight*> weights;  // V, then c
    Gradients gradients;
    Arena arena;  // of a feedback phase for inputs of `planned`
    std::optional<Shape> planned;
    bool wanted = false;  // some step needs a target of its input
  };

  // `noise` and `rate` hold where the config names none.
  TweenFeedback(const TweenConfig& config, double noise, double rate, std::uint64_t seed, Element element);
  // Weights of a layer with these settings, which has neither name nor adapters.
  virtual Result<void> give_weights(Map& map, Json spec, const std::string& path) = 0;
  // Leaves in map.gradients what V and c move by, but for step_of().
  virtual void phase(const Exec& exec, Map& map, const Seen& seen, const RandomStream& stream) = 0;
  virtual double step_of(const Map& map, const Seen& seen, const Weight& weight) const = 0;
  Map* map_of(const Layer& layer);
  std::optional<Seen> seen(const Layer& layer) const { return find_(layer); }

  double noise_, rate_;
  std::uint64_t seed_;
  Element element_;

 private:
  Result<void> train_map(const Exec& threads, Map& map, const Seen& seen, std::uint32_t step);

  std::size_t repeats_;
  Finder find_;
  Device* device_ = nullptr;
  Arena host_arena_;                                  // of no scratch
  Buffer brought_;                                    // a gradient
  std::map<std::string, std::unique_ptr<Map>> maps_;  // by path
};

// Mode mirror: V is a model of W, a weight mirror (Akrout et al. 2019) that takes W's steps.
//   target of x = x + V^T e', e' the layer's gap by its slopes (docs/guide/tween.md)
//   sigma n into the layer before its activation and into the model, r = the layer's sums - the model's;
//   V += q / sigma^2 * mean over rows of r (sigma n)^T,  c += q * mean of r,
//   q = feedback_learning_rate / (1 + sqrt(inputs of a unit / rows))^2, the largest eigenvalue of the noise: stable
//     below a rate of 2
// Meulemans et al. 2020 and Ernoult et al. 2022 show that feedback whose Jacobian is the forward's transpose is what
// makes targets as good as gradients. V predicts what the layer answers to noise, an error that is 0 once V = W, and
// takes every step that W takes (Kolen & Pollack 1994: both synapses see the same two cells). Without those steps V
// lags where W moves most, which costs deep networks ten points (docs/guide/tween.md). Other kinds keep their layerwise
// rule.
class TweenMirror final : public TweenFeedback {
 public:
  TweenMirror(const TweenConfig& config, const TweenRules& rules, std::uint64_t seed, Element element);
  void replace(const Exec& exec, const Layer& layer, const ConstView& e, const View& d) override;
  Result<void> follow(const Exec& exec, const Layer& layer, const Weight& weight, ConstTensor before,
                      ConstTensor now) override;

 private:
  Result<void> give_weights(Map& map, Json spec, const std::string& path) override;
  void phase(const Exec& exec, Map& map, const Seen& seen, const RandomStream& stream) override;
  double step_of(const Map& map, const Seen& seen, const Weight& weight) const override;

  const TweenRules& rules_;
};

// Mode dtp: difference target propagation (Lee, Zhang, Fischer & Bengio 2015). G(u) = act(V^T u + c) learns to be the
// layer's inverse near its inputs.
//   target of x = x + G(y + e) - G(y)
//   xn = x + sigma n, u = f(xn); V and c descend the mean over rows of |G(u) - xn|^2 at the rate
//     feedback_learning_rate,
//     V at 1 / m of it where m, the mean over rows of the squares that a row of G reads of u, is above 1: stable below
//       a
//     rate of 1/2 for linear G, whatever the width
// A row of an image is a position. Other kinds carry gaps by their derivatives.
class TweenInverse final : public TweenFeedback {
 public:
  TweenInverse(const TweenConfig& config, std::uint64_t seed, Element element);
  void replace(const Exec& exec, const Layer& layer, const ConstView& e, const View& d) override;

 private:
  Result<void> give_weights(Map& map, Json spec, const std::string& path) override;
  void phase(const Exec& exec, Map& map, const Seen& seen, const RandomStream& stream) override;
  double step_of(const Map& map, const Seen& seen, const Weight& weight) const override;
  // sum = V^T u + c.
  void reconstruct(const Exec& exec, const Map& map, const ConstView& u, const View& sum) const;

  double clamp_;
};

}  // namespace loom
