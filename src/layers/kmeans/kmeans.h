#pragma once
// Soft assignment of rows to centers: a = softmax(-|x - c_k|^2 / (2 T^2)); y = act(a) or act(sum_k a_k c_k). Centers
// [K, n]; engine 3.14.

#include "layers/layer.h"

namespace loom {

struct KmeansConfig {
  std::size_t num_clusters = 0, input_height = 0;
  double temperature = 1;
  enum class Output : std::uint8_t { Probabilities, Features } output = Output::Probabilities;
  ActivationFn activation{};
};

class Kmeans final : public Layer {
 public:
  explicit Kmeans(const KmeansConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override { visit(centers_); }
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  double tween_factor(const Weight& /*weight*/) const override { return gives_features() ? 1 : 0.1; }

 private:
  static LayerPtr fit(const FitRequest& request);
  bool gives_features() const { return config_.output == KmeansConfig::Output::Features; }
  double t2() const { return config_.temperature * config_.temperature; }
  KmeansConfig config_;
  Weight centers_;
};

}  // namespace loom
