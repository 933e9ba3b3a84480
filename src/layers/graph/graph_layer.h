#pragma once
// A graph of operations as a layer: what is no chain of kinds, read from an ONNX file or written in the spec.
//   x [B, ...], an input of the graph -> y [B, ...], one of its outputs.
// Tensors of the graph keep their own types; x becomes the input's type (whole numbers are cut towards zero, as ids
// are) and the output becomes the network's. A graph whose input begins with an axis of 1 runs once for each sample.
// Its other inputs have fixed values. Float constants of more than one number are the layer's weights: counted, hashed
// and saved with it, and frozen but for those that "train_weights" names. Backward runs the graph of gradients
// (graph/gradient.h) over sixteen samples at a time, forward values included, so that parts of a batch give the bits of
// the whole. Engine 3.18.

#include <map>
#include <optional>

#include "core/json.h"
#include "core/mutex.h"
#include "graph/gradient.h"
#include "graph/plan.h"
#include "layers/layer.h"

namespace loom {

struct GraphConfig {
  Json graph{};                              // graph/graph_json.h, or the name of its file
  std::string input, output;                 // empty: the only one; any value of a node may come out
  Json fixed{};                              // values of other inputs, by name
  std::vector<std::string> train_weights{};  // names, or "*" alone for all that a gradient reaches
};

class GraphLayer final : public Layer {
 public:
  explicit GraphLayer(GraphConfig config = {}) : config_(std::move(config)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  // The file that the spec names; null: the graph stands in the spec.
  const std::string* file() const { return as_string(config_.graph); }
  // Takes the graph of that file, with the values of its weights. build() follows.
  void adopt(graph::Model model);
  // Besides the errors of the graph: InvalidConfig with the names to choose from where an input has no value or an
  // output is not chosen; CorruptData for a name that no node before it gives.
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override {
    for (Weight& w : weights_) visit(w);
  }
  // Errors of the operations; Unsupported where a shape follows from numbers that only a run knows.
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override {
    return input_.has_shape && !input_.dims.empty() ? input_.dims.size() - 1 : 0;
  }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  // Unsupported, with their names, for operations that carry no gradient.
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  // Unsupported, unless nobody asks for a target.
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;

  // As build() left it: weights are constants without data.
  const graph::Model& model() const { return model_; }

 private:
  // A plan for inputs of one shape on as many threads, which decide about scratch memory, and the values of runs that
  // are over.
  struct Ready {
    Shape input;
    int threads = 1;
    const KernelTable* kernels = nullptr;
    const Device* device = nullptr;
    graph::Dims dims;                               // of one call
    std::size_t calls = 1;                          // one for each sample, or one
    std::vector<bool> wanted{};                     // of a backward pass: gradients of the weights, and last of x
    std::vector<std::ptrdiff_t> gradients{};        // likewise: outputs of the plan, -1 for none
    std::shared_ptr<const graph::Program> program;  // whose nodes the plan points to
    std::shared_ptr<const graph::Plan> plan;
    Mutex lock{};
    std::vector<std::unique_ptr<graph::Work>> idle{};
  };
  struct KnownShape {
    Shape input, output;
  };

  Result<void> choose_inputs();
  Result<void> choose_output();
  Result<void> declare_weights();
  bool have_values() const;
  bool are_current() const;
  Result<std::shared_ptr<const graph::Program>> bind() const;
  Result<graph::Value> fixed_value(const graph::InputInfo& info, const Shape& x) const;
  graph::Value weight_shape(std::size_t i) const {
    const auto extents = weights_[i].shape().extents();
    return {weight_types_[i], {extents.begin(), extents.end()}};
  }
  // The extents of one call, and how many there are.
  Result<graph::Dims> dims_of_call(const Shape& input, std::size_t& calls) const;
  Result<std::shared_ptr<const graph::Plan>> plan_of(const graph::Program& program, const Exec& like,
                                                     const Shape& input, const graph::Dims& dims) const;
  Result<std::shared_ptr<Ready>> ready_for(const Exec& exec, const Shape& input) const;
  Result<void> run_once(const Run& run, Ready& ready, const ConstTensor& x, const Tensor& y) const;
  // The graph whose weights are inputs, after the others.
  graph::Model with_weights_as_inputs() const;
  Result<graph::GradientModel> differentiated(const std::vector<bool>& wanted) const;
  Result<void> choose_trained();
  Result<std::shared_ptr<Ready>> backward_ready(const Run& run, const Shape& block,
                                                const std::vector<bool>& wanted) const;
  struct Pass;
  Result<void> differentiate(const Run& run, const Pass& pass) const;
  Result<void> differentiate_block(const Run& run, const Pass& pass, std::size_t first, std::size_t samples) const;

  GraphConfig config_;
  graph::Model model_;
  graph::InputInfo input_;               // that x becomes
  std::vector<graph::InputInfo> fixed_;  // the others
  std::vector<Weight> weights_;
  std::vector<graph::Type> weight_types_;
  std::map<std::string, graph::Value> brought_;  // of weights, until build()

  // Made while a network is planned, and again when weights change. Sessions share it.
  std::shared_ptr<const graph::Program> shapes_;  // weights are inputs, so that no shape follows from one
  mutable Mutex lock_;
  mutable std::vector<KnownShape> known_;
  mutable std::shared_ptr<const graph::Program> program_;
  mutable std::vector<std::shared_ptr<const void>> versions_;  // of the weights in program_
  mutable std::vector<std::shared_ptr<Ready>> ready_;          // of program_
  mutable std::vector<std::shared_ptr<Ready>> backward_;
};

}  // namespace loom
