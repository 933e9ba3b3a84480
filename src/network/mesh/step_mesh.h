#pragma once
// The step mesh (engine section 8): in one tick every cell reads the outputs of the tick before and writes its own, so
// links may lead to earlier cells, and data moves one cell per tick. The mesh is the plan of a network for one input
// shape, with the threads and the scratch memory. Everything that changes is in StepStates, of which a mesh runs any
// number: the characters of a game share one mesh. A mesh is used by one thread at a time; the bits do not depend on
// its number of threads.

#include <atomic>
#include <memory>

#include "network/network.h"
#include "network/plan/step_plan.h"
#include "network/session/pass_watch.h"
#include "network/mesh/step_state.h"

namespace loom {

struct StepMeshOptions {
  int threads = 0;           // 0: physical cores; not read where there is a pool
  std::optional<Isa> isa{};  // absent: the best of this machine
  // captured ticks that a state keeps, 0..65536; their memory is resident once written
  std::size_t history_capacity = 64;
  bool backward = false;  // backward() will be called
  // Every tick keeps its inputs, captured or not: target propagation starts from them (learning/tween/mesh_tween.h).
  // Takes the memory of one tick.
  bool keep_inputs = false;
  Device* device = nullptr;               // that stores tensors and runs ops; null: the host. Outlives the mesh
  std::shared_ptr<ThreadPool> pool = {};  // shared with other sessions, also of other threads; null: one of its own
};

struct StepOptions {
  bool capture = false;   // keep this tick's inputs for backward()
  bool training = false;  // dropout, batch statistics; running statistics stay as they are
  // read before each cell: once it is set, from any thread, the tick ends with Cancelled
  const std::atomic<bool>* cancel = nullptr;
};

// Bytes of the parts of a state, which are stored in this order: the port, two halves of outputs, two halves of
// recurrent states, two halves of the losses of gates. A slot of its history ends with the recurrent states.
struct StepLayout {
  Shape input;  // of the port
  std::size_t port_bytes = 0, value_bytes = 0, recurrent_bytes = 0, gate_bytes = 0;
  std::size_t slot_bytes = 0, slot_recurrent = 0;  // a slot; where its recurrent states begin

  std::size_t values_at(std::size_t half) const { return port_bytes + half * value_bytes; }
  std::size_t recurrent_at(std::size_t half) const { return values_at(2) + half * recurrent_bytes; }
  std::size_t gates_at(std::size_t half) const { return recurrent_at(2) + half * gate_bytes; }
  std::size_t state_bytes() const { return gates_at(2); }
};

// A gradient of the loss by what `cell` held after the tick `back` ticks ago (0: the last one).
struct StepGradient {
  std::size_t back = 0, cell = 0;
  ConstView dy;
};

// Hook of StepMesh::propagate_gaps(): sees every layer that runs again and goes back, children before their container.
class StepCarrier : public LayerWatch {
 public:
  // The layers to come are those of this cell, as it ran `back` ticks ago.
  virtual void begin_cell(std::size_t cell, std::size_t back) = 0;
};

class StepMesh {
 public:
  // A mesh of a plan, which may be shared. The network outlives the mesh, the mesh its states. InvalidState unless the
  // plan is of the network as it is; LimitExceeded, OutOfMemory.
  static Result<std::unique_ptr<StepMesh>> create(const Network& network, const std::shared_ptr<const StepPlan>& plan,
                                                  const StepMeshOptions& options = {});
  // Plans a network, const or not, for this input first: StepPlan::create() and its errors.
  static Result<std::unique_ptr<StepMesh>> create(auto& network, const Shape& input,
                                                  const StepMeshOptions& options = {}) {
    LOOM_TRY(const auto plan, StepPlan::create(network, input));
    return create(network, plan, options);
  }
  // Its values have the network's element type (M-01, G-81).
  Result<StepState> create_state() const;
  // Takes a plan of the network as it is now, after an edit (network/meta.h). These states keep the outputs of cells
  // whose shape stayed, ports, step counts and the memories of metacognition layers. Recurrent states start
  // again, captured ticks and a pending tick are dropped, gradients are 0; the caller creates a new MeshTween. All
  // other states of the mesh are void; after an error the mesh is void too.
  Result<void> use_new_plan(std::shared_ptr<const StepPlan> plan, std::span<StepState* const> states);

  // forward_tick() and commit(); returns the nanoseconds it took, a measurement.
  Result<std::int64_t> step(StepState& state, const StepOptions& options = {});
  // Like step() for one state, for many: each gets the numbers that it would get alone, and threads take whole states.
  // After an error none has moved.
  Result<std::int64_t> step(std::span<StepState* const> states, const StepOptions& options = {});
  // Computes the next tick beside the current one; may be repeated, as when the input changed. Errors of values,
  // Cancelled, InvalidState for a capture without history.
  Result<void> forward_tick(StepState& state, const StepOptions& options = {});
  // Makes the tick that was computed the current one. InvalidState without one.
  Result<void> commit(StepState& state);

  // Backpropagation through the captured ticks, newest first, at most `truncation` of them (M-10). Adds to gradients();
  // the result holds the gradients of the port, newest tick first, without data where the port was empty, valid until
  // the next call. States that a `stateful` layer passes from tick to tick are detached (L-62). The operations run
  // again on their captured inputs, so weights must be those of the captured ticks. NoHistory when a gradient's tick
  // was not captured; ShapeMismatch, OutOfRange, InvalidState; Cancelled when `*cancel` was set: gradients() then holds
  // what was added so far.
  Result<std::span<const ConstView>> backward(StepState& state, std::span<const StepGradient> gradients,
                                              std::size_t truncation = ~std::size_t{0},
                                              const std::atomic<bool>* cancel = nullptr);
  // Like backward() of several gradients, for one: that of the last tick's output of the last cell.
  Result<std::span<const ConstView>> backward(StepState& state, const ConstView& dy,
                                              std::size_t truncation = ~std::size_t{0},
                                              const std::atomic<bool>* cancel = nullptr);
  Gradients& gradients() { return gradients_; }

  // Target propagation, which a driver calls (engine M-11). prepare_gaps() takes the memory for these rules (null:
  // derivatives), and for the products that are added to `gradients`, which has the layout of the one for
  // propagate_gaps(). That takes the gap of the last cell's output back through the last tick, last cell first: from a
  // cell's input to the last outputs of the cells that it read, so that a settled mesh gives the bits of a plain
  // forward pass. The gap of a link to a cell whose turn is over is dropped. With `ticks` above 0 it goes back through
  // that many captured ticks instead, as gradients do in backward(). The gap of an output with several consumers is the
  // mean of their gaps under rules, and the sum without rules. The weights' products are added to `gradients`, a
  // Gradients of this network. The result is the gap of the port in the last tick, without data where the port was
  // empty. InvalidState without keep_inputs, prepare_gaps() or a tick; NoHistory for `ticks` without a captured one;
  // ShapeMismatch; Cancelled when `*cancel` was set: `gradients` then holds what was added so far.
  Result<void> prepare_gaps(const TweenRules* rules, Gradients& gradients);
  Result<ConstView> propagate_gaps(const StepState& state, const ConstView& gap, const TweenRules* rules,
                                   std::size_t ticks, Gradients& gradients, StepCarrier& carrier,
                                   const std::atomic<bool>* cancel = nullptr);

  // Sees every layer that runs; cells then run one after the other on the calling thread. Null: no observer.
  void watch(PassWatch* watch) { watch_ = watch; }
  const Network& network() const { return *network_; }
  const std::shared_ptr<const StepPlan>& plan() const { return step_plan_; }
  // InvalidState once the network was edited after the mesh took its plan.
  Result<void> check_current() const;
  // Digest of the shapes, links and element type that a state's snapshot belongs to; it does not depend on weights.
  Digest digest() const;
  Element element() const { return network_->settings.activations; }
  Device* device() const { return options_.device; }
  // For work between ticks: the threads and kernels, with memory of one's own.
  Exec exec_with(Arena& arena) { return {*pool_, *kernels_, arena, nullptr, network_->settings.quantized_inputs}; }
  std::size_t num_cells() const { return cells_.size(); }
  int threads() const { return pool_->threads(); }
  std::size_t history_capacity() const { return options_.history_capacity; }
  // Memory of a state; that of its history comes on top.
  std::size_t state_bytes() const { return layout_.state_bytes(); }
  std::size_t history_bytes() const { return (layout_.slot_bytes + cells_.size() + 1) * options_.history_capacity; }

 private:
  friend class StepState;
  // A cell, and where a state keeps its values.
  struct CellLayout {
    StepCell cell;
    std::size_t value = 0;     // offset of the output in either half of a state's values
    std::size_t captured = 0;  // offset of the input in a slot of the history
    std::size_t bytes = 0, input_bytes = 0;
  };
  struct Failure;
  // The threads divide the cells of a tick as this says.
  struct Shares {
    std::vector<std::size_t> large;         // cells that all threads share
    std::vector<std::size_t> small, parts;  // cells that one thread takes whole; where each part of them ends
  };
  // Memory of backward() and propagate_gaps(), which go back tick by tick and run the operations of each again.
  // Gradients of a tick's outputs and of the previous tick's outputs are stored in two halves, which are swapped after
  // each tick.
  struct BackwardState {
    Memory values, ports, recurrent;             // two halves; by tick; the states that the tick began with
    std::vector<MetaState> metas;                // likewise
    std::vector<std::uint8_t> known;             // [half * cells + cell]: holds a gradient, else zeros
    std::vector<std::uint32_t> counts;           // likewise: of how many consumers
    std::optional<const TweenRules*> gap_rules;  // the rules that prepare_gaps() was called for
    std::vector<View> sources;                   // gradients by slot of Call::cells, and the values that were read
    std::vector<ConstView> skipped;
    std::vector<ConstView> port_gradients;  // by tick: the result
    Tape tape;
  };
  // Arguments of one backward pass through ticks.
  struct BackwardTask {
    Gradients* gradients;
    const TweenRules* tween = nullptr;
    StepCarrier* carrier = nullptr;
    bool one_tick = false;  // sources are met as the last tick left them, not as it found them
    const std::atomic<bool>* cancel = nullptr;
  };

  StepMesh() = default;
  Result<void> take_plan(std::shared_ptr<const StepPlan> plan);
  void forget_plan();
  Result<void> plan_skips();
  Result<void> plan_states();
  Result<void> rehearse();
  Result<void> rehearse_cell(const CellLayout& plan, ThreadPool& threads, std::span<ConstView> sources,
                             Arena::Mark& peak, const BackwardTask* back = nullptr);
  std::vector<ConstView> rehearsal_sources() const;
  Result<void> allocate_gradients();
  Result<void> allocate_way();
  void share_out();
  Call call_of(StepState& state, const StepOptions& options) const;
  Result<void> begin(StepState& state, const StepOptions& options) const;
  void advance(StepState& state) const;
  bool ran(const std::uint8_t* held, std::size_t cell) const;
  void run_cell(const Exec& exec, const Call& call, StepState& state, std::size_t cell, bool capture) const;
  Result<void> check_gradients(const StepState& state, std::span<const StepGradient> gradients) const;
  Result<void> go_back(const StepState& state, std::span<const StepGradient> gradients, std::size_t ticks,
                       const BackwardTask& task);
  void backward_tick(const Exec& exec, const StepState& state, std::size_t back, const BackwardTask& task);
  // A slot of the history: which cells, and last whether the port, held a value when the tick began; the tensors.
  struct Captured {
    const std::uint8_t* held;
    const std::byte* memory;
  };
  void backward_cell(Run& run, const Captured& slot, std::size_t cell, std::size_t back, const BackwardTask& task);
  void pass_back(const Exec& exec, const Captured& slot, std::size_t cell, std::size_t back, const ConstView& dx,
                 const BackwardTask& task);
  void add_gradient(const Exec& exec, std::size_t half, std::size_t cell, const ConstTensor& gradient);
  View gradient_of(std::size_t half, std::size_t cell) const;
  Exec together(const std::atomic<bool>* cancel) const {
    return {*pool_, *kernels_, arenas_[0], cancel, network_->settings.quantized_inputs};
  }
  // For a cell that one thread takes whole.
  Exec alone(int worker, const std::atomic<bool>* cancel) const {
    return {*alone_, *kernels_, arenas_[static_cast<std::size_t>(worker)], cancel, network_->settings.quantized_inputs};
  }
  // Whole blocks of a state or of a slot, as a tensor.
  Tensor block(const std::byte* data, std::size_t bytes) const {
    return {const_cast<std::byte*>(data), 1, bytes / bytes_of(element()), element()};
  }

  const Network* network_ = nullptr;
  std::shared_ptr<const StepPlan> step_plan_;
  std::uint64_t edits_ = 0;  // of the network, when the plan was taken
  StepMeshOptions options_;
  std::shared_ptr<ThreadPool> pool_;
  std::unique_ptr<ThreadPool> alone_;  // without workers
  const KernelTable* kernels_ = nullptr;
  std::uint64_t plan_ = 1;  // grows with every use_new_plan()
  std::vector<CellLayout> cells_;
  StepLayout layout_;
  Shares shares_;
  mutable std::vector<Arena> arenas_;  // by worker
  Arena::Mark room_;                   // planned for arenas_[0]
  Memory zeros_;                       // these stand for values that are absent
  // by slot of Call::cells: where a slot of the history keeps what a skip reads; kNone
  std::vector<std::size_t> skips_;
  std::vector<std::pair<std::size_t, std::size_t>> skip_uses_;  // cell and slot of every skip, cells ascending
  std::vector<RecurrentState> recurrent_;  // by slot: shapes; backward() points them at its own memory
  std::vector<std::size_t> recurrent_at_;  // by slot: offset of a state that is kept; kNone
  std::vector<MetaState> metas_;           // by slot: sites
  PassWatch* watch_ = nullptr;
  Gradients gradients_;  // of backward(); propagate_gaps() is given others
  BackwardState back_;
};

}  // namespace loom
