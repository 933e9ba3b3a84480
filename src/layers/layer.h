#pragma once
// The interface of every layer kind. A layer is equations written as calls of ops: forward, backward, and the rule by
// which targets travel. It is const while it runs and holds its settings and weights; it reaches everything that
// changes through the Run (layers/run.h).

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layers/adapter_config.h"
#include "layers/fields.h"
#include "layers/kind.h"
#include "layers/run.h"

namespace loom {

// State that a session keeps for a layer: asked for when a plan is made, found again through Run::state_of().
struct StateNeeds {
  std::size_t slot = 0;
  AttentionConfig attention;      // of a cache; without heads: none
  std::size_t max_positions = 0;  // that attention takes; 0: as many as there are
  RopeConfig rope;
  bool uses_rope = false;
  bool recurrent = false;  // a RecurrentState, no cache
  bool stateful = false;   // whose values calls hand on
  bool meta = false;       // a MetaState, no cache
  std::uint32_t site = 0;  // of the layer with the MetaState: stays when slots move
};

// Settings that every cell and child has (engine 5.2).
struct CommonSettings {
  std::string name;
  bool is_disabled = false, trainable = true;
  double learning_rate_scale = 1;
  Encoding encoding;
  std::string init;                     // empty: the network's
  double init_scale = 0;                // 0: the network's
  std::vector<std::size_t> scatter_to;  // of a branch of grid_scatter: [z, y, x]
  std::vector<AdapterConfig> adapters;
  bool freeze_base = true;  // a layer with adapters trains these alone
};

struct TweenRules;

class Layer {
 public:
  virtual ~Layer() = default;
  virtual const LayerKind& kind_row() const = 0;
  std::string_view kind() const { return kind_row().name; }
  // Visits every key of this kind; `common` is visited by the caller.
  virtual void fields(FieldVisitor& visit) = 0;
  // Validates the settings and declares the weights. InvalidConfig, ShapeMismatch, SizeOverflow.
  virtual Result<void> build() { return {}; }
  virtual void visit_weights(const std::function<void(Weight&)>& /*visit*/) {}
  // Visits these weights, each followed by the halves of its adapters.
  void visit_all_weights(const std::function<void(Weight&)>& visit);
  // visit("sequential_layers.0", child)
  virtual void visit_children(const std::function<void(const std::string&, Layer&)>& /*visit*/) {}

  // ShapeMismatch names what came and what was expected.
  virtual Result<Shape> output_shape(const Shape& input) const = 0;
  // Like output_shape(), inside a network: what runs other cells or adds their outputs finds them in the wiring of a
  // plan. Null: none.
  virtual Result<Shape> wired_shape(const Wiring* /*wiring*/, const Shape& input) const { return output_shape(input); }
  // The fewest axes of one sample, before which a batch has an axis of its own: 2 of a sequence [steps, features]. 0:
  // rows of any number.
  virtual std::size_t sample_rank() const { return 0; }
  // y = f(x), y of output_shape(x.shape). x and y do not overlap; with a tape both stay until backward.
  virtual void forward(const Run& run, const ConstView& x, const View& y) const = 0;
  // Takes from the tape the values that forward stored. Writes dx (unless dx.data is null) and adds to the gradients of
  // the weights.
  virtual void backward(const Run& run, const ConstView& dy, const View& dx) const = 0;
  // Like `backward()`, for target propagation (layers/tween.h): e = target of y - y, d = target of x - x. The gradients
  // are the sums whose means, times tween_factor() and a rate, move the weights. Kinds that only move, choose or add
  // values carry gaps as they carry gradients.
  virtual void target(const Run& run, const TweenRules& /*rules*/, const ConstView& e, const View& d) const {
    backward(run, e, d);
  }
  // For target propagation: the number of rows over which the products of an update are averaged, and the kind's factor
  // of a weight.
  virtual std::size_t tween_rows(const Shape& /*x*/, const Shape& y) const { return y.rows(); }
  virtual double tween_factor(const Weight& /*weight*/) const { return 1; }
  // The state that a session keeps for this layer, without its children; none for most kinds. The plan sets the slot.
  virtual std::optional<StateNeeds> state_needs() const { return {}; }

  // The embedding whose table is this layer's weight (engine L-102); null for kinds that cannot share one.
  virtual LayerRef* tied_to() { return nullptr; }
  // The operation whose output this layer's output is: the last child of a sequence, the target of a share.
  virtual const Layer& last_operation(const Wiring* /*wiring*/) const { return *this; }

  CommonSettings common;
  std::uint32_t site = 0;  // of random streams: the layer's path, set by Network::settle() (engine N-08)

 protected:
  // Rows that belong to sixteen samples: the runs in which gradients of weights are summed (numerics N-05).
  static std::size_t rows_of_block(const Shape& x) { return 16 * (x.rank() < 2 ? 1 : x.rows() / x[0]); }
};

template <class L, auto... Settings>
LayerPtr make_layer(const LayerKind& /*kind*/) {
  return std::make_unique<L>(Settings...);
}

// The layer as what it is; null for every other kind.
template <class L>
L* layer_as(Layer& layer) {
  return &layer.kind_row() == &L::kKind ? static_cast<L*>(&layer) : nullptr;
}
template <class L>
const L* layer_as(const Layer& layer) {
  return layer_as<L>(const_cast<Layer&>(layer));
}

// The error of targets that would go through a kind without a rule for them (LayerKind::forward_only).
Error no_backward(const Layer& layer);

// Containers and networks run a layer by these two functions, so that hooks see it. With rules, backward carries
// targets instead of gradients.
void run_forward(const Layer& layer, const Run& run, const ConstView& x, const View& y);
void run_backward(const Layer& layer, const Run& run, const ConstView& dy, const View& dx,
                  const TweenRules* rules = nullptr);
// The end of these two, for what has run under a layer's name: hooks see it.
void ran_forward(const Layer& layer, const Run& run, const ConstView& x, const ConstView& y);
void ran_backward(const Layer& layer, const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules);

// Every layer below `layer`, itself first, with its path; weights likewise as "path.weight".
void visit_layers(const std::string& path, Layer& layer, const std::function<void(const std::string&, Layer&)>& visit);
void visit_weights(const std::string& path, Layer& layer,
                   const std::function<void(const std::string&, Weight&, Layer&)>& visit);

// Every layer that runs when this one does: what shares borrow too, disabled children not.
void visit_running(const Wiring& wiring, Layer& layer, const std::function<void(Layer&)>& visit);

// Fills every weight that has no value, by its layer's rule and a function of (seed, path) (engine J-02), in the
// layer's type.
Result<void> initialise_weights(const std::string& path, Layer& layer, std::uint64_t seed);
// The weight of that name; null when the layer has none.
Weight* find_weight(Layer& layer, std::string_view name);

}  // namespace loom
