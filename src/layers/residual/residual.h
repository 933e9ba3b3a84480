#pragma once
// y = x + skip; dx = dy, dskip = dy; engine V-31, L-110. A skip from another child is added by the sequential container
// that holds both; on its own this kind adds the call's second tensor or another cell's output, and passes x through
// where it has no skip.

#include "layers/layer.h"

namespace loom {

class Residual final : public Layer {
 public:
  explicit Residual(const SkipFrom& from = {}) : from_(from) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override {
    visit({"skip_from", "Without it the input of the child before; none, external, a child's number, [z, y, x, l]"},
          from_);
  }
  Result<Shape> output_shape(const Shape& input) const override { return input; }
  Result<Shape> wired_shape(const Wiring* wiring, const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;

  const SkipFrom& from() const { return from_; }
  // Returns whether the skip is another cell's output.
  bool reads_cell() const { return from_.kind == SkipFrom::Kind::Cell; }

 private:
  static LayerPtr fit(const FitRequest& request);
  // The slot of Call::cells that this layer adds; Wiring::kNone.
  std::size_t slot_in(const Wiring* wiring) const {
    return wiring == nullptr || !reads_cell() ? Wiring::kNone : wiring->source_of(*this);
  }
  SkipFrom from_;
};

}  // namespace loom
