#pragma once
// A layer that is watched (engine 3.16): figures of what it gives go to a history in the session, rules over them ask
// for changes of the network, and a small network may gate, disturb or replace its output.
//   y = effect(f(x), m), m = meta_network(source)
//   source: input x; activations f(x); stats [1, 6] of f(x): avg, std, max, min, active, total; history [1, 100, 6],
//     oldest first,
//           zeros where there is none yet
// m is read per sample for input and activations, else once for all. Backward is exact through f, the effect, and m
// where its source is input or activations; figures have no gradient. The meta network's own weights are trained only
// with train_meta. Rules look at f(x) and are heard by commit_meta() between two forwards (network/network.h); without
// a session they are silent.

#include "layers/layer.h"
#include "ops/effect/effect.h"

namespace loom {

enum class MetaCondition : std::uint8_t {
  None,
  StdAbove,
  StdBelow,
  AvgAbove,
  AvgBelow,
  MaxAbove,
  ActiveBelow,
  GradientStorm,
  GainDrift
};
enum class MetaCommand : std::uint8_t { Dense, Cnn1, Rnn, Softmax, RmsNorm, Swiglu, Mha, Lstm, Kmeans, Morph, Reset };

struct MetaRule {
  MetaCondition condition = MetaCondition::None;  // none never holds
  double threshold = 0;
  MetaCommand command = MetaCommand::Dense;
  double param = 0;          // clusters, a type's number, or the target's x without self_only
  std::size_t cooldown = 0;  // calls after one in which the rule fired
  bool self_only = true;     // the observed layer; else cell (0, 0, param, 0)

  void fields(ConfigVisitor& visit);
};

struct MetacognitionConfig {
  enum class Source : std::uint8_t { Input, Stats, History, Activations } source = Source::Input;
  Effect effect = Effect::None;
  std::vector<MetaRule> rules = {{MetaCondition::GainDrift, 0.05, MetaCommand::Reset},
                                 {MetaCondition::StdAbove, 10, MetaCommand::RmsNorm, 0, 5},
                                 {MetaCondition::ActiveBelow, 0.05, MetaCommand::Dense, 0, 10}};
  bool train_meta = false;
};

class Metacognition final : public Layer {
 public:
  explicit Metacognition(MetacognitionConfig config = {}, LayerPtr observed = nullptr, LayerPtr network = nullptr)
      : config_(std::move(config)), observed_(std::move(observed)), network_(std::move(network)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  // InvalidConfig without an observed layer, or with an effect and no meta network.
  Result<void> build() override;
  void visit_children(const std::function<void(const std::string&, Layer&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override { return wired_shape(nullptr, input); }
  Result<Shape> wired_shape(const Wiring* wiring, const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  std::optional<StateNeeds> state_needs() const override;

  // The figures of the last call join the history, and the rules look at them.
  void remember(MetaState& state) const;
  std::span<const MetaRule> rules() const { return config_.rules; }
  Layer& observed() const { return *observed_; }
  // Puts another layer in its place and gives it back.
  LayerPtr exchange_observed(LayerPtr layer);

 private:
  using Source = MetacognitionConfig::Source;
  bool has_effect() const { return config_.effect != Effect::None; }
  bool is_per_sample() const { return config_.source == Source::Input || config_.source == Source::Activations; }
  Result<Shape> observed_shape(const Wiring* wiring, const Shape& input) const;
  Shape source_shape(const Shape& x, const Shape& y) const;
  // m as the effect reads it: a row per sample, or one.
  ConstTensor by_group(const ConstView& m) const;
  ConstView source(const Exec& exec, const MetaState* state, const Tensor& now, const ConstView& x,
                   const ConstView& y) const;
  void observed_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const;

  MetacognitionConfig config_;
  LayerPtr observed_, network_;
};

// Lets the rules of all layers look at what the pass that has just ended left.
void hear(std::span<MetaState> states);

}  // namespace loom
