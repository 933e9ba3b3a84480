#pragma once
// The interface of every layer kind. A layer is equations written as calls of ops; it is const while it runs, holds its settings and
// weights, and leaves what changes (caches, positions, what backward needs) to the session behind a Pass.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/exec.h"
#include "layers/adapter_config.h"
#include "layers/fields.h"
#include "layers/metacognition/meta_state.h"
#include "layers/weight.h"
#include "ops/attention/attention.h"
#include "ops/rope/rope.h"
#include "ops/rounding/rounding.h"

namespace loom {

// What forward keeps for backward: views of tensors in the arena, taken back in the opposite order.
class Tape {
 public:
  void push(const ConstView& view) { views_.push_back(view); }
  ConstView pop() {
    LOOM_ASSERT(!views_.empty());
    const ConstView view = views_.back();
    views_.pop_back();
    return view;
  }
  std::size_t size() const { return views_.size(); }
  void clear() { views_.clear(); }

 private:
  std::vector<ConstView> views_;
};

// Gradients of all weights of a network, by slot; shapes are the weights'.
class Gradients {
 public:
  static Result<Gradients> create(std::span<const std::size_t> elements, Element element);
  // Slots of one group lie side by side, every group at the same place: for a watch that takes the gradients of a layer, its group, as soon
  // as its backward pass is done, and clears them.
  static Result<Gradients> create_shared(std::span<const std::size_t> elements, std::span<const std::size_t> groups, Element element);
  // Null when the gradient of this weight is not wanted.
  void* of(const Weight& weight) const;
  // For one product that covers the whole gradient: where it goes, and whether the first since clear() may store instead of adding.
  struct Target {
    void* data;
    bool fresh;
  };
  Target target(const Exec& exec, const Weight& weight) const;
  Element element() const { return element_; }
  void clear();
  void clear(const Weight& weight);
  // Something was added since the last clear().
  bool written(const Weight& weight) const { return !slots_.empty() && !weight.is_frozen() && !slots_[weight.slot()].fresh; }
  std::size_t bytes() const { return memory_.size(); }

 private:
  struct Slot {
    void* data;
    std::size_t bytes;
    bool fresh;  // stands for zeros that have not been written yet
  };
  Buffer memory_;
  mutable std::vector<Slot> slots_;
  Element element_ = Element::f32;
};

// New values of weights that a training forward measures (WeightRole::Statistic). A layer is const while it runs, so they wait here
// for the session to hand them over afterwards.
class Statistics {
 public:
  // Where the new values of this weight go.
  void* put(const Weight& weight);
  // What was put for it since the last clear(): a layer that runs twice in a step goes on from its own. Null: nothing.
  const void* latest(const Weight& weight) const;
  // visit(weight, values) of those that were put since the last clear().
  void visit(const std::function<void(const Weight&, const void*)>& visit) const;
  void clear();

 private:
  struct Entry {
    const Weight* weight;
    std::vector<double> memory;  // room for either element type
    bool written;
  };
  std::vector<Entry> entries_;  // kept from step to step
};

// State of a recurrent layer in a session, [directions, samples, units]: forward begins with it (with 0 unless it continues) and leaves
// the state after the last step. A rehearsal plans the extents; the session then supplies the memory.
struct RecurrentState {
  void* h = nullptr;
  void* c = nullptr;       // lstm
  Shape shape;
  bool has_cell = false, stateful = false, planned = false;
  bool continues = false;  // this call starts from what lies here

  void plan(const std::array<std::size_t, 3>& extents, bool cell, bool keeps_state) {
    has_cell = cell, stateful = keeps_state;
    const auto wanted = Shape::create(extents);
    if (!wanted || (planned && *wanted == shape)) return;
    shape = *wanted, planned = true;
    h = c = nullptr, continues = false;
  }
};

class Layer;

// Sees every layer that runs, children before their container; it cannot change a number. Views are valid during the call, with a tape
// until the backward pass.
class LayerWatch {
 public:
  virtual ~LayerWatch() = default;
  virtual void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) = 0;
  virtual void after_backward(const Layer& layer, const ConstView& dy, const ConstView& dx) = 0;  // dx may have no data
};

struct TweenRules;

// Other ways for the target of a layer's input than its backward pass (difference target propagation, engine 7.7).
class TargetMap {
 public:
  virtual ~TargetMap() = default;
  // May write dx, which has data and holds what the backward pass left there.
  virtual void replace(const Exec& exec, const Layer& layer, const ConstView& dy, const View& dx) = 0;
};

// What one sweep brings along beside the tensor.
struct Pass {
  std::span<const std::int32_t> ids;               // input of an embedding, one per row
  std::span<const SequenceRows> runs;              // rows of each sequence, when a session keeps caches
  std::span<const std::uint32_t> positions;        // one per row
  std::span<RopeTable* const> rope_tables;         // by state slot of the layer
  std::span<KvCache* const> caches;                // [slot * runs.size() + run]

  Tape* tape = nullptr;                            // forward leaves what backward needs; null: nothing is kept
  Gradients* gradients = nullptr;                  // backward adds to them; null: of the input only
  bool training = false;                           // dropout, batch statistics
  bool batches = false;                            // the first axis is one of samples: a layer may not take it for another
  Statistics* statistics = nullptr;                // a training forward leaves running statistics there; null: they stay as they are
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::size_t first_sample = 0;                    // of the batch that these samples are a part of: random streams count from there
  double share = 1;                                // of the batch that these samples are: gates add as much of their terms to the loss
  double loss_scale = 1;                           // of dy, and so of all gradients (engine T-70)
  Mixed mixed = Mixed::none;                       // what tensors are rounded to between cells (engine 6.8)
  std::span<RecurrentState> recurrent;             // by state slot; empty: state starts at 0 and is dropped
  std::span<const std::size_t> lengths;            // valid positions of each sample of a sequence; empty: all
  std::span<MetaState> metas;                      // by state slot; empty: nothing is remembered
  double* gate_loss = nullptr;                     // forward adds the load-balancing terms of its gates (engine V-37)
  const ConstView* external = nullptr;             // a second input: keys and values of cross-attention, an external skip
  const ConstView* mask = nullptr;                 // [samples, keys] of the same element type: a key whose entry is not above 0 is seen by nobody
  const View* d_external = nullptr;                // its gradient, added to
  std::span<ConstView> cells;                // outputs that links and skips want, by number; without data until the cell has run
  std::span<View> d_cells;                   // their gradients, added to
  LayerWatch* watch = nullptr;                     // null: nobody looks
  const TweenRules* tween = nullptr;               // backward carries gaps to targets instead of gradients (layers/tween.h)
  TargetMap* targets = nullptr;

  bool keeps() const { return tape != nullptr; }
};

// State that a session keeps for a layer: asked for at prepare(), found again by `slot`.
struct StateNeeds {
  std::size_t slot = 0;
  AttentionConfig attention;
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
  std::string init;        // empty: the network's
  double init_scale = 0;   // 0: the network's
  std::vector<std::size_t> scatter_to;  // of a branch of grid_scatter: [z, y, x]
  std::vector<AdapterConfig> adapters;
  bool freeze_base = true;  // a layer with adapters trains these alone
};

class Link;
class Lora;
class Metacognition;
class Residual;

// An output of another cell: `slot` is its number in Pass::cells, given at prepare().
struct CellSource {
  std::array<std::size_t, 4> address{};
  std::size_t slot = 0;
  std::optional<Shape> shape{};  // while a network is being prepared
  bool prepared = false;
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::string_view kind() const = 0;
  // Visits every key of this kind; `common` is visited by the caller.
  virtual void fields(FieldVisitor& visit) = 0;
  // Validates the settings and declares the weights. InvalidConfig, ShapeMismatch, SizeOverflow.
  virtual Result<void> build() { return {}; }
  virtual void visit_weights(const std::function<void(Weight&)>& /*visit*/) {}
  // Those, each followed by the halves of its adapters.
  void visit_all_weights(const std::function<void(Weight&)>& visit);
  // visit("sequential_layers.0", child)
  virtual void visit_children(const std::function<void(const std::string&, Layer&)>& /*visit*/) {}

  // ShapeMismatch names what came and what was expected.
  virtual Result<Shape> output_shape(const Shape& input) const = 0;
  // The fewest axes of one sample, before which a batch has an axis of its own: 2 of a sequence [steps, features]. 0: rows of any number.
  virtual std::size_t sample_rank() const { return 0; }
  // y = f(x), y of output_shape(x.shape). x and y do not overlap; with a tape both stay until backward.
  virtual void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const = 0;
  // Takes from the tape what forward left there. Writes dx (unless dx.data is null) and adds to the gradients of the weights.
  virtual void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const = 0;
  // Target propagation (layers/tween.h): over how many rows the products of an update are averaged, and the kind's factor of a weight.
  virtual std::size_t tween_rows(const Shape& /*x*/, const Shape& y) const { return y.rows(); }
  virtual double tween_factor(const Weight& /*weight*/) const { return 1; }
  // Gives the layer state slots from `next` on and reports what each needs; children are asked by the caller.
  virtual void assign_state(std::size_t& /*next*/, std::vector<StateNeeds>& /*needs*/) {}

  // Kinds that containers and the network treat in a way of their own.
  virtual Link* as_link() { return nullptr; }
  virtual Residual* as_residual() { return nullptr; }
  virtual Lora* as_lora() { return nullptr; }
  virtual Metacognition* as_metacognition() { return nullptr; }
  // The embedding whose table is this layer's weight (engine L-102); null for kinds that cannot share one.
  virtual LayerRef* tied_to() { return nullptr; }
  const Link* as_link() const { return const_cast<Layer*>(this)->as_link(); }
  const Residual* as_residual() const { return const_cast<Layer*>(this)->as_residual(); }
  // The operation whose output this layer's output is: the last child of a sequence, the target of a link.
  virtual const Layer& last_operation() const { return *this; }

  CommonSettings common;
  std::uint32_t site = 0;  // of random streams: the layer's path, set at prepare() (engine N-08)

 protected:
  // Rows that belong to sixteen samples: the runs in which gradients of weights are summed (numerics N-05).
  static std::size_t rows_of_block(const Shape& x) { return 16 * (x.rank() < 2 ? 1 : x.rows() / x[0]); }
  // Where random streams stand at the first element of x.
  static std::size_t first_element(const Pass& pass, const Shape& x) { return x.rank() == 0 ? 0 : pass.first_sample * (x.elements() / x[0]); }
};

// How containers and networks run a layer, so that a watch sees it.
void run_forward(const Layer& layer, const Exec& exec, const Pass& pass, const ConstView& x, const View& y);
void run_backward(const Layer& layer, const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx);

// Every layer below `layer`, itself first, with its path; weights likewise as "path.weight".
void visit_layers(const std::string& path, Layer& layer, const std::function<void(const std::string&, Layer&)>& visit);
void visit_weights(const std::string& path, Layer& layer, const std::function<void(const std::string&, Weight&, Layer&)>& visit);

// Every layer that runs when this one does: what share links borrow too (after prepare()), disabled children not.
void visit_running(Layer& layer, const std::function<void(Layer&)>& visit);

// Fills every weight that has no value, by its layer's rule and a function of (seed, path) (engine J-02), in the layer's type.
Result<void> initialise_weights(const std::string& path, Layer& layer, std::uint64_t seed);
// The weight of that name; null when the layer has none.
Weight* find_weight(Layer& layer, std::string_view name);

}  // namespace loom
