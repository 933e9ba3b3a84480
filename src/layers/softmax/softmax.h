#pragma once
// Ten ways to make probabilities of a row; engine 3.13. Without weights. Tree, adaptive and mixture read wider rows
// than they write.

#include "layers/layer.h"
#include "ops/softmax/softmax.h"

namespace loom {

enum class SoftmaxType : std::uint8_t {
  Standard,
  Grid,
  Hierarchical,
  Temperature,
  Gumbel,
  Masked,
  Sparse,
  Adaptive,
  Mixture,
  Entmax
};

struct SoftmaxConfig {
  SoftmaxType type = SoftmaxType::Standard;
  std::size_t input_height = 0, output_height = 0;  // 0: as they come
  double temperature = 1;                           // 0 is 1
  std::size_t rows = 0, cols = 0;                   // grid; 0 is what the other leaves
  std::vector<std::size_t> hierarchy_levels{};
  enum class Hierarchy : std::uint8_t { Leaf, Tree } hierarchy = Hierarchy::Leaf;
  double entmax_alpha = 1.5;  // 0 is 1.5
  enum class Entmax : std::uint8_t { Exact, Blend } entmax = Entmax::Exact;
  std::vector<bool> mask{};
  bool gumbel_noise = true, gumbel_hard = false;
  std::vector<std::size_t> adaptive_cutoffs{};
  std::size_t mixture_count = 0;
};

class Softmax final : public Layer {
 public:
  explicit Softmax(SoftmaxConfig config = {}) : config_(std::move(config)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  Result<Shape> output_shape(const Shape& input) const override;
  // ShapeMismatch in exec.status when the pass's mask has another shape than x.
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;

 private:
  static LayerPtr fit(const FitRequest& request);
  // The form of softmax that the settings select.
  enum class Form : std::uint8_t { Rows, Masked, Gumbel, Sparse, Entmax, Blend, Tree, Adaptive, Mixture };
  bool combines() const { return form_ >= Form::Tree; }
  Result<std::size_t> width_out(std::size_t width) const;
  // The distributions of a row of `width`: those of build(), or up to two that depend on the width, in `room`.
  std::span<const SoftmaxRun> runs(std::size_t width, std::array<SoftmaxRun, 2>& room) const;
  void combine(const Run& run, const ConstView& x, const View& y) const;
  void through_parts(const Run& run, const ConstView& p, const ConstView& q_of_tree, const ConstView& dy,
                     double temperature, const View& dx) const;
  void output_again(const Exec& exec, const ConstView& q, const View& y) const;
  SoftmaxMask mask_of(const Run& run, const ConstView& x) const;

  SoftmaxConfig config_;
  Form form_ = Form::Rows;
  double temperature_ = 1, alpha_ = 1.5;
  std::vector<SoftmaxRun> runs_;
  std::vector<std::uint8_t> seen_;
  std::size_t fixed_in_ = 0, fixed_out_ = 0;  // widths that the settings imply; 0: any
};

}  // namespace loom
