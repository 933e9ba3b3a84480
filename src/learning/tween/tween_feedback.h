#pragma once
// Difference target propagation (Lee, Zhang, Fischer & Bengio 2015; engine 7.7). Every dense cell and convolution f has a learned inverse
// G(u) = act(V u + c) of the transposed map, and the target of its input is x + G(t) - G(y). Cells of other kinds keep their backward pass.
//   feedback phase, K times a step: xn = x + sigma n;  V, c descend mean over rows of |G(f(xn)) - xn|^2 (plain gradient descent)
// Normal numbers: domain 9 by (site of the layer, step * K + k, element). Orders of sums are those of the layers.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace loom {

struct TweenConfig;

class TweenFeedback final : public TargetMap {
 public:
  // What forward left of the last use of a layer that has not yet been taken back.
  struct Seen {
    ConstView x, y;
  };
  using Finder = std::function<std::optional<Seen>(const Layer&)>;

  // `find` is asked in passes, never in rehearsals.
  TweenFeedback(const TweenConfig& config, std::uint64_t seed, Element element, std::map<const Layer*, std::string> paths, Finder find);
  ~TweenFeedback() override;

  void replace(const Exec& exec, const Layer& layer, const ConstView& dy, const View& dx) override;
  // One feedback phase for every layer that `find` knows, in the order of their paths. With the forward's tensors still in place.
  Result<void> train(const Exec& threads, std::uint32_t step);

  // visit("layers.2.feedback.weight", weight): saved beside the network, no part of it (W-63). Exists after the first forward.
  void visit_weights(const std::function<void(const std::string&, Weight&)>& visit);
  std::size_t bytes() const;

 private:
  struct Map;
  Map* map_of(const Exec& exec, const Layer& layer, const Shape& x, const Shape& y);
  Result<void> train_map(const Exec& threads, const Layer& layer, Map& map, const Seen& seen, std::uint32_t step);

  std::size_t repeats_;
  double noise_, rate_;
  std::uint64_t seed_;
  Element element_;
  std::map<const Layer*, std::string> paths_;
  Finder find_;
  std::map<std::string, std::unique_ptr<Map>> maps_;  // by path
};

}  // namespace loom
