#pragma once
// A layer of a kind that a host program registered. The ops that its callbacks request are recorded once for each shape
// of the input, and every pass runs that recording. A rehearsal and the passes after it therefore run the same ops,
// whatever the host program does. A planned pass runs no code of the host program.

#include <memory>
#include <vector>

#include "core/mutex.h"
#include "layers/foreign/foreign_kind.h"
#include "layers/foreign/recording.h"
#include "layers/layer.h"

namespace loom {

class ForeignLayer final : public Layer {
 public:
  explicit ForeignLayer(const ForeignKind& kind);
  ~ForeignLayer() override;

  const ForeignKind& foreign() const { return kind_; }
  const std::vector<ForeignValue>& values() const { return values_; }
  std::vector<std::unique_ptr<Weight>>& weights() { return weights_; }
  const std::vector<std::unique_ptr<Weight>>& weights() const { return weights_; }

  const LayerKind& kind_row() const override { return kind_; }
  void fields(FieldVisitor& visit) override;
  // InvalidState where the kind was removed before this layer was made; InvalidConfig for a setting outside of its
  // range; what the host's declare() answers.
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  std::size_t sample_rank() const override { return kind_.description.sample_axes; }
  // That of the result of the host's forward().
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;

 private:
  // Both passes for one shape, the second once it is asked for.
  struct Plan {
    Shape input;
    std::vector<ForeignValue> values;  // settings may change after build()
    std::shared_ptr<const Recording> forward, backward;
  };
  using Pass = std::shared_ptr<const Recording> Plan::*;
  Result<std::shared_ptr<const Recording>> recorded(const Shape& input, Pass pass) const;
  Result<std::shared_ptr<const Recording>> record(const Shape& input, Pass pass) const;
  template <class F>
  void run_planned(const Recording& recording, const Run& run, Element element, bool whole, const F& pass) const;
  void run_forward(const Recording& recording, const Run& run, const ConstView& x, const View& y) const;
  Error of_callback(Error error, std::string_view callback) const;

  const ForeignKind& kind_;
  const bool alive_;  // its kind was registered when it was made
  std::vector<ForeignValue> values_;
  std::vector<std::unique_ptr<Weight>> weights_;
  mutable Mutex lock_;  // of what follows
  mutable std::vector<Plan> plans_;
};

}  // namespace loom
