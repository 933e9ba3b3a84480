#pragma once
// The context in which a layer runs, beside its tensors: the Exec that computes, the side inputs of the call, the state
// of the layer, and the tape for values that backward reads. A layer changes nothing but what it reaches through its
// Run.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/exec.h"
#include "layers/gradients.h"
#include "layers/metacognition/meta_state.h"
#include "layers/wiring.h"
#include "ops/attention/attention.h"
#include "ops/rope/rope.h"
#include "ops/rounding/rounding.h"

namespace loom {

class Layer;

// Tensors that forward keeps for backward: views into the arena, taken back in the opposite order.
class Tape {
 public:
  void push(const ConstView& view) { views_.push_back(view); }
  ConstView pop() {
    LOOM_ASSERT(!views_.empty());
    const ConstView view = views_.back();
    views_.pop_back();
    return view;
  }
  // The last N, in the order in which they were pushed.
  template <std::size_t N>
  std::array<ConstView, N> pop() {
    std::array<ConstView, N> views;
    for (std::size_t i = N; i-- > 0;) views[i] = pop();
    return views;
  }
  const ConstView& last() const { return views_.back(); }
  std::size_t size() const { return views_.size(); }
  void clear() { views_.clear(); }

 private:
  std::vector<ConstView> views_;
};

// State of a recurrent layer in a session, [directions, samples, units]: forward begins with it (with 0 unless it
// continues) and leaves the state after the last step. A rehearsal plans the extents; the session then supplies the
// memory.
struct RecurrentState {
  void* h = nullptr;
  void* c = nullptr;  // lstm
  Shape shape;
  bool has_cell = false, stateful = false, planned = false;
  bool continues = false;  // this call starts from these values

  void plan(const std::array<std::size_t, 3>& extents, bool cell, bool keeps_state) {
    has_cell = cell, stateful = keeps_state;
    const auto wanted = Shape::create(extents);
    if (!wanted || (planned && *wanted == shape)) return;
    shape = *wanted, planned = true;
    h = c = nullptr, continues = false;
  }
};

// State of an attention layer in a session: a cache for each sequence. Where a call names no sequences
// (SideInputs::sequences), every sample continues after the `length` positions of earlier calls. A rehearsal plans the
// numbers of samples and steps. The session supplies the caches and counts the steps when the call has ended.
struct AttentionState {
  std::vector<KvCache> caches;      // by sequence
  const RopeTable* rope = nullptr;  // reaches as far as the call does
  std::size_t limit = 0;            // positions of a sequence at most
  std::size_t length = 0;
  std::size_t samples = 0;  // of the call that was rehearsed last,
  SequenceRows rehearsed;   // and the rows of one of them, at the end of the longest sequence
};

// Inputs beside the tensor, the same for all layers of a call.
struct SideInputs {
  std::span<const std::int32_t> ids;         // input of an embedding, one per row
  std::span<const SequenceRows> sequences;   // rows of each sequence, where they are not those of the samples
  std::span<const std::uint32_t> positions;  // one per row, beside sequences
  std::span<const std::size_t> lengths;      // valid positions of each sample of a sequence; empty: all
  const ConstView* external = nullptr;       // a second tensor: keys and values of cross-attention, an external skip
  // [samples, keys] of the same element type: keys with an entry <= 0 are masked out
  const ConstView* mask = nullptr;
};

// State that a session keeps for its layers between calls, by slot (Wiring::state_of). Empty: state starts at 0 and is
// dropped.
struct StateSlots {
  std::span<AttentionState> attention;
  std::span<RecurrentState> recurrent;
  std::span<MetaState> metas;

  // The slots from `first` on.
  StateSlots from(std::size_t first) const;
};

// Outputs of cells that links and skips read, by number, and their gradients, added to. Without data until the cell has
// run.
struct CellTensors {
  std::span<ConstView> outputs;
  std::span<View> gradients;
};

// Sees every layer that runs, children before their container; it cannot change a number. Views are valid during the
// call, with a tape until the backward pass.
class LayerWatch {
 public:
  virtual ~LayerWatch() = default;
  // Rehearsals are seen too, where views have shapes alone.
  virtual bool sees_rehearsals() const { return false; }
  virtual void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) = 0;
  virtual void after_backward(const Layer& layer, const ConstView& dy, const ConstView& dx) = 0;  // dx may have no data
  // Like `after_backward()`, for targets: e = target of y - y; `rate` [1] is the mean gate weight of the branches that
  // contain the layer; no data: 1.
  virtual void after_target(const Layer& layer, const ConstView& e, const ConstView& d, ConstTensor /*rate*/) {
    after_backward(layer, e, d);
  }
};

// Overrides how the target of a layer's input is computed (difference target propagation, engine 7.7).
class TargetMap {
 public:
  virtual ~TargetMap() = default;
  // May write d, which has data and holds the result of the layer's own rule.
  virtual void replace(const Exec& exec, const Layer& layer, const ConstView& e, const View& d) = 0;
};

// Arguments of one call of a network, passed to every layer.
struct Call {
  SideInputs inputs{};
  StateSlots states{};
  CellTensors cells{};
  const Wiring* wiring = nullptr;  // where links and skips lead and states are: of the plan that runs
  std::uint64_t seed = 0;          // of random streams, with `step` and the layer's site
  std::uint32_t step = 0;
  // position of the first of these samples in the whole batch: random streams count from it
  std::size_t first_sample = 0;
  bool training = false;  // dropout, batch statistics
  // the first axis is one of samples: a layer may not take it for another
  bool batches = false;
  Mixed mixed = Mixed::none;  // what tensors are rounded to between cells (engine 6.8)
  // of the batch that these samples are: gates add as much of their terms to the loss
  double share = 1;
  double loss_scale = 1;           // of dy, and so of all gradients (engine T-70)
  Tape* tape = nullptr;            // forward stores values for backward; null: nothing is kept
  Gradients* gradients = nullptr;  // of weights, added to by backward; null: not computed
  // where a training forward leaves running statistics; null: they stay as they are
  Statistics* statistics = nullptr;
  // [1]: forward adds the load-balancing terms of its gates (engine V-37)
  Tensor gate_loss{};
  const View* d_external = nullptr;  // the gradient of inputs.external, added to; null: not computed
  LayerWatch* watch = nullptr;
  TargetMap* targets = nullptr;
  // names of the adapters that count in this call; null: those that are enabled
  const std::vector<std::string>* adapters = nullptr;
};

// A call on its way through the layers: what every equation computes with. It stands for its Exec wherever an op wants
// one.
struct Run : Call {
  explicit Run(const Exec& on) : exec(on) {}
  Run(const Exec& on, const Call& call) : Call(call), exec(on) {}
  operator const Exec&() const { return exec; }

  Arena& arena() const { return exec.arena; }
  bool rehearsal() const { return exec.rehearsal(); }
  View view(const Shape& shape, Element element) const { return exec.arena.view(shape, element); }
  Tensor tensor(std::size_t rows, std::size_t cols, Element element = Element::f32) const {
    return exec.arena.tensor(rows, cols, element);
  }
  template <class T>
  T* take(std::size_t count) const {
    return exec.arena.take<T>(count);
  }
  // Memory for what only the host reads and writes.
  template <class T>
  T* note(std::size_t count) const {
    return exec.arena.note<T>(count);
  }
  // The call ends with this error, unless another came first.
  void fail(Error error) const {
    if (!exec.status) exec.status = std::move(error);
  }

  // A backward pass follows.
  bool keeps() const { return tape != nullptr; }
  // Whether a result may take the place of what it is made of: not where a backward run wants that, nor on a card,
  // where each workgroup of a product makes its inputs once more (GpuDevice::record).
  bool may_replace() const { return !keeps() && !exec.records(); }
  // For backward, which gets them from saved(); nothing where none follows.
  template <class... Views>
  void save(const Views&... views) const {
    if (keeps()) (tape->push(views), ...);
  }
  template <std::size_t N>
  std::array<ConstView, N> saved() const {
    return tape->pop<N>();
  }
  ConstView saved() const { return tape->pop(); }
  // Returns the state that the session keeps for a layer; null where it keeps none.
  template <class State>
  State* state_of(const Layer& layer, std::span<State> states) const {
    if (states.empty() || wiring == nullptr) return nullptr;
    const std::size_t slot = wiring->state_of(layer);
    return slot < states.size() ? &states[slot] : nullptr;
  }
  // Returns the memory of the gradient of this weight; null when the gradient is not computed.
  void* gradient(const Weight& weight) const { return gradients == nullptr ? nullptr : gradients->of(exec, weight); }
  // Position of the random streams of this call at the first element of x.
  std::size_t first_element(const Shape& x) const { return x.rank() == 0 ? 0 : first_sample * (x.elements() / x[0]); }

  const Exec& exec;
};

}  // namespace loom
