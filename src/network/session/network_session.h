#pragma once
// The mutable state of a running network: activations, gradients, threads, states of layers. Many sessions may share
// one network. A step allocates nothing: its memory is planned at prepare() by rehearsing it.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "backend/device.h"
#include "network/network.h"
#include "network/plan/forward_plan.h"
#include "network/session/pass_watch.h"
#include "network/session/state_store.h"

namespace loom {

struct NetworkSessionOptions;
using DeviceChooser =
    std::function<Device*(const Network&, const std::shared_ptr<const ForwardPlan>&, const NetworkSessionOptions&)>;

struct NetworkSessionOptions {
  int threads = 0;              // 0: physical cores; not read where there is a pool
  std::optional<Isa> isa = {};  // absent: the best of this machine
  bool backward = false;        // forward keeps its values for backward
  Mixed mixed = Mixed::none;
  bool input_gradient = true;  // backward gives dx of the network's input
  // the first axis is one of samples: ShapeMismatch where a layer would take it for steps or channels
  bool batches = false;
  // Gradients of one layer at a time, which `watch` reads and clears (Gradients::create_shared).
  bool shared_gradients = false;
  // Above 0: forward keeps the input of every so many cells alone, and backward runs each of these segments again
  // (engine T-80). Not for networks with feed links or skips between cells, stateful or metacognition layers:
  // Unsupported.
  std::size_t checkpoint_every = 0;
  // Above 0: attention and recurrent layers go on from call to call, as one sequence per sample of up to so many
  // positions (engine L-74), whatever pieces it comes in. Keys and values are kept as `kv_dtype` (float32, bfloat16,
  // int8). For causal attention in float32 networks, without `backward`: Unsupported.
  std::size_t context = 0;
  DType kv_dtype = DType::float32;
  std::size_t max_bytes = ~std::size_t{0};  // of activations and scratch: a call that plans more is OutOfMemory
  // drives: sees every layer of a forward that keeps, and of backward, whoever else looks on
  LayerWatch* watch = nullptr;
  const TweenRules* tween = nullptr;  // backward carries gaps
  TargetMap* targets = nullptr;
  // backward carries gaps of targets, not gradients: observers see PassKind::Tween
  bool carries_targets = false;
  Device* device = nullptr;  // that stores tensors and runs ops; null: the host. Outlives the session
  // Chooses `device` when the session is created, for a network and its plan.
  DeviceChooser choose_device = {};
  // in place of those of `isa`, for checks against kernels of one's own. Outlives the session
  const KernelTable* kernels = nullptr;
  std::shared_ptr<ThreadPool> pool = {};  // shared with other sessions, also of other threads; null: one of its own
};

// Sets `device` by choose_device, if that is given.
void settle_device(const Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                   NetworkSessionOptions& options);

// Unsupported for a network that the device does not run whatever its input: kinds that look at values, f64. Null: the
// host, which runs every network.
Result<void> check_device(const Network& network, Device* device);

// NonFinite with the place of the first of these numbers, a tensor of that shape, that is not finite or would not be as
// `element`. Networks themselves let such numbers through, and some activations make finite ones of them.
Result<void> check_input(std::span<const double> values, const Shape& shape, Element element);

// Arguments of one call beside the input.
struct PassExtras {
  bool training = false;
  std::uint32_t step = 0;
  std::size_t first_sample = 0;               // of a batch that is run in parts
  double share = 1;                           // of the batch: what gates add to the loss (engine V-37) counts as much
  double loss_scale = 1;                      // of the dy to come: the gradient of what gates add takes it too
  std::span<const std::size_t> lengths = {};  // valid steps of each sample, the first ones (engine S-07); empty: all
  const ConstView* external = nullptr;        // stays valid until backward
  const ConstView* mask = nullptr;            // likewise
  // read between cells: once it is set, from any thread, the call ends with Cancelled
  const std::atomic<bool>* cancel = nullptr;
  // [1] of f32 on a graphics card. If given, running statistics stay on the card (Weight::take). It becomes 1 if one of
  // them is not finite; the caller then restores the network's statistics.
  Tensor unmeasured{};
};

class NetworkSession {
 public:
  // A session of a plan, which may be shared. The network must outlive the session. InvalidState unless the plan is of
  // the network as it is.
  static Result<std::unique_ptr<NetworkSession>> create(const Network& network,
                                                        const std::shared_ptr<const ForwardPlan>& plan,
                                                        const NetworkSessionOptions& options = {});
  // Plans a network, const or not, for this input first: ForwardPlan::create() and its errors.
  static Result<std::unique_ptr<NetworkSession>> create(auto& network, const Shape& input,
                                                        const NetworkSessionOptions& options = {}) {
    LOOM_TRY(const auto plan, ForwardPlan::create(network, input));
    return create(network, plan, options);
  }

  // Plans for inputs of this shape, checked against the network: forward() prepares itself when the shape changes.
  Result<void> prepare(const Shape& input);

  // x of prepare()'s shape, in the network's element type (Network::settings). The result is valid until the next call.
  // A training forward moves running statistics (batchnorm), which are weights of the network: no other session may run
  // meanwhile. ShapeMismatch, NonFinite inputs are allowed; IndexOutOfRange, Cancelled; NonFinite when statistics would
  // not be finite. With `context`, x are the next positions of the sequences: ContextFull, after which they stand where
  // they stood. After another error of a network with `stateful` layers every state is as after reset(). InvalidState
  // once the network was edited.
  Result<ConstView> forward(const ConstView& x, const PassExtras& extras = {});
  // Runs backward after a forward of a session with `backward`; dy has the output's shape. Adds to gradients() and, if
  // `d_external` is given, to the gradient of the external input, which has that input's shape; returns dx. The loss of
  // gates (engine V-37) is part of all of them. Setting `*cancel` ends it with Cancelled; what was added so far stays.
  Result<ConstView> backward(const ConstView& dy, const View* d_external = nullptr,
                             const std::atomic<bool>* cancel = nullptr);

  // Like forward() and backward(), for values on the host whatever the device: inputs are sent to the device and
  // results are read back, in one turn of the device. Results are valid until the next call of either.
  Result<ConstView> forward_host(const ConstView& x, const PassExtras& extras = {});
  Result<ConstView> backward_host(const ConstView& dy, const std::atomic<bool>* cancel = nullptr);
  // The gradient of a weight, [1, elements], in `memory` where the session runs on a device; without data: none.
  Result<ConstView> host_gradient(const Weight& weight, Buffer& memory) const;

  // State of recurrent layers (engine L-62), by number in execution order, [directions, samples, units] in the
  // network's element type. state() is what the last call left; given values are where the next call starts. A layer
  // that is `stateful` goes on from its own. Needs prepare(). OutOfRange, ShapeMismatch; InvalidArgument for a cell
  // state where there is none; Unsupported with checkpoint_every.
  std::size_t num_states() const { return states_.num_recurrent(); }
  ConstView state(std::size_t index) const { return state_view(index, false); }
  ConstView cell_state(std::size_t index) const { return state_view(index, true); }
  Result<void> set_state(std::size_t index, const ConstView& h, const ConstView* c = nullptr);
  // Returns whether a layer is `stateful`, or the session has a context: the order of calls then counts.
  bool is_stateful() const { return states_.is_stateful(); }
  // Positions that the sequences of a session with `context` have taken, and back to where there were n: OutOfRange;
  // Unsupported where recurrent layers have gone on or layers differ in their numbers of positions.
  std::size_t length() const { return states_.length(); }
  Result<void> rewind(std::size_t n) { return states_.rewind(n); }
  // Sets every state to 0; metacognition layers remember nothing.
  void reset() { states_.reset(); }
  // The next call starts from the states that the last one left, in layers that are not `stateful` too (truncated BPTT,
  // engine T-81).
  void continue_states() { states_.continue_recurrent(); }
  // Returns whether keep_states() and put_states_back() are available: on a graphics card, if recurrent states are all
  // that goes on. They work like save_state() and restore_state(), with one copy of the states that stays on the card.
  bool keeps_states_on_device() const {
    return options_.device != nullptr && options_.device->records() && states_.has_recurrent_alone();
  }
  Result<void> keep_states(const Exec& exec);
  Result<void> put_states_back(const Exec& exec);

  // Serialised state that the next call depends on (portable bytes): states of `stateful` layers, memories of
  // metacognition layers and, with `context`, caches; empty where there is none. restore_state() takes it in a session
  // of the same network and options, which is then prepared for the input of the last call. CorruptData; errors of
  // prepare(). After an error the states are those of reset().
  std::vector<std::byte> save_state();
  Result<void> restore_state(std::span<const std::byte> saved);

  // The load-balancing terms of the last forward's gates: part of the loss (engine V-37).
  double gate_loss() const {
    double value = 0;  // of either element
    gate_loss_.read(0, std::as_writable_bytes(std::span(&value, 1)).first(bytes_of(element())));
    return read_element({&value, 1, 1, element()});
  }
  // Like gate_loss(), in the memory that the pass wrote: [1].
  ConstTensor gate_figure() const { return {gate_loss_.data(), 1, 1, element()}; }
  // Memories of the metacognition layers, by number in execution order.
  std::span<MetaState> metas() { return states_.metas(); }

  // Sees every layer that runs and where passes begin, in execution order, on the calling thread (engine E-40), beside
  // the session's own `watch`. Null: no observer.
  void observe(PassWatch* watch) {
    watch_ = watch;
    look(watch);
  }
  Gradients& gradients() { return gradients_; }
  Element element() const { return network_->settings.activations; }
  Device* device() const { return options_.device; }
  const Shape& output_shape() const { return output_; }
  // The shape that the network makes of an input, checked again. InvalidState once the network was edited.
  Result<Shape> output_shape(const Shape& input) const;
  std::size_t scratch_bytes() const { return arena_.size(); }
  int threads() const { return pool_->threads(); }
  ThreadPool& pool() { return *pool_; }
  const KernelTable& kernels() const { return *kernels_; }
  // Sees every layer of the calls to come; null: the one of observe(). It must outlive them.
  void watch(LayerWatch* watch) { look(watch != nullptr ? watch : watch_); }
  // For work between passes: the threads and kernels, with memory of one's own.
  Exec exec_with(Arena& arena, const std::atomic<bool>* cancel = nullptr) {
    return {*pool_, *kernels_, arena, cancel, network_->settings.quantized_inputs};
  }
  // Takes a plan of the network as it is now, after it was edited: gradients and recurrent states start again, memories
  // of metacognition layers stay. InvalidState for another plan.
  Result<void> use_new_plan(std::shared_ptr<const ForwardPlan> plan);
  const std::shared_ptr<const ForwardPlan>& plan() const { return plan_; }
  // A session is current until its network is edited after the session took its plan; then every call is InvalidState.
  bool is_current() const { return network_->edits() == edits_; }
  Result<void> check_current() const;
  bool runs(const Network& network) const { return network_ == &network; }

 private:
  // Segments of cells, of which forward keeps the inputs alone and backward runs each again (checkpoint_every).
  struct Segments {
    std::vector<std::size_t> first;  // cells; empty: all cells run at once
    std::vector<ConstView> inputs;
    std::array<std::byte*, 2> gradients{};  // of inputs, alternating
    Arena::Mark mark;                       // after all of these: scratch of the segment that runs again
  };
  // The kind of call that memory was planned for.
  struct Planned {
    Shape input;
    std::optional<Shape> external;
    bool training = false, masked = false, ragged = false;
    static Planned of(const Call& call, const Shape& input);
    // A call without the external input takes no more memory than one with it.
    bool holds(const Planned& call) const;
  };
  // The watches that look on: the session's own, that of a call or an observer, and both as one.
  class Watches {
   public:
    void set(LayerWatch* own, LayerWatch* other);
    LayerWatch* own() const { return own_; }
    LayerWatch* other() const { return other_; }
    LayerWatch* all() { return own_ == nullptr ? other_ : other_ == nullptr ? own_ : &both_; }

   private:
    LayerWatch *own_ = nullptr, *other_ = nullptr;
    BothWatches both_;
  };

  NetworkSession() = default;
  void look(LayerWatch* other);
  Result<void> plan_memory(const Shape& input);
  Result<void> reserve(const Shape& input, const Arena::Mark& needed);
  ConstView run_forward(const Exec& exec, const ConstView& x);
  Result<void> cut_segments();
  ConstView run_segments(const Exec& exec, const ConstView& x);
  void segments_backward(const Exec& exec, const ConstView& dy, const View& dx);
  template <class Archive>
  Result<void> visit_state(Archive& archive);
  ConstView state_view(std::size_t index, bool cell) const;
  ConstView run_backward(const Exec& exec, const ConstView& dy);
  Result<void> keep_statistics(const Exec& exec, const Tensor& unmeasured);

  const Network* network_ = nullptr;
  std::shared_ptr<const ForwardPlan> plan_;
  std::uint64_t edits_ = 0;  // of the network, when the plan was taken
  NetworkSessionOptions options_;
  std::shared_ptr<ThreadPool> pool_;
  const KernelTable* kernels_ = nullptr;
  Arena arena_;
  Tape tape_;
  Segments segments_;
  Gradients gradients_;
  Statistics statistics_;
  std::vector<ConstView> cells_;  // outputs that links and skips want
  std::vector<View> d_cells_;
  Call call_;
  PassWatch* watch_ = nullptr;  // of observe()
  Watches watches_;
  StateStore states_;
  std::optional<Shape> kept_for_;  // input of the states that are kept
  Memory gate_loss_;               // one element
  // Copies of values for forward_host() and backward_host(), on a device.
  struct Travelling {
    Memory input, external, mask, dy;
    ConstView external_view, mask_view;
    Buffer output, dx;
  } travelling_;
  std::optional<Planned> planned_;
  Shape output_;
  bool has_forward_ = false;  // the tape holds a forward that no backward has taken
};

}  // namespace loom
