#pragma once
// Training by target propagation (engine 7; equations, options and figures in docs/guide/tween.md). Every cell,
// children of containers too, is given a target for its output and moves its own weights towards it.
//   chain      gaps travel by the derivatives; cells near the input take larger steps, cells whose output disagrees
//     with its target none
//   layerwise  gaps travel by the rules of the kinds (layers/tween.h): no derivative is taken
//   mirror     gaps travel through feedback weights that learn the forward's transpose (tween_feedback.h), rules as
//     layerwise
//   dtp        difference target propagation: gaps travel through learned inverses, and each cell descends the distance
//     to its target by its own derivatives
// Update of a weight (W-11): v = m v + (1 - m) r g, w += v, with g the mean product of the kind's rule, r = lr * depth
// * (0.5 + 0.5 budget); nothing moves below the budget threshold. Shared weights sum what their uses give, later uses
// first, and move once (W-31). Bits: inner products are snapped; v and w are in the master's type, and so are norms of
// updates; budgets and gaps are in that of activations. Their sums are lanes16. During a pass these figures stay in
// tensors that ops read (ops/gap, ops/velocity); the host reads them at the end of a step.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/rehearsal.h"
#include "core/json_fwd.h"
#include "learning/loss.h"
#include "learning/master_clamp.h"
#include "learning/optimizer.h"
#include "layers/tween.h"
#include "learning/tween/tween_trained.h"
#include "network/session/network_session.h"

namespace loom {

// How gaps travel; ByChainRule: chain or layerwise, by `use_chain_rule`.
enum class TweenMode : std::uint8_t { ByChainRule, Chain, Layerwise, Mirror, Dtp };
inline constexpr std::string_view kTweenModes[] = {"", "chain", "layerwise|pure", "mirror", "dtp"};
// Slopes of activations in layerwise and mirror.
enum class TweenSlope : std::uint8_t { Secant, Sign };
inline constexpr std::string_view kTweenSlopes[] = {"secant", "sign"};
// How the target of an input is estimated.
enum class TweenEstimate : std::uint8_t { Difference, Average };
inline constexpr std::string_view kTweenEstimates[] = {"difference", "average"};
enum class TweenScale : std::uint8_t { None, WeightSum };
inline constexpr std::string_view kTweenScales[] = {"none", "weight_sum"};

// Settings of target propagation (engine W-01, L-06, W-61). Steps take rates as arguments and batches come from data.
struct TweenConfig {
  bool use_chain_rule = true;       // the mode where `mode` is ByChainRule
  double gradient_scale = 0.1;      // chain: targets are this far along the gradient
  double depth_scale_factor = 1.1;  // rate per cell of distance from the output, at most 8 in all
  double momentum = 0.9;
  double activation_clamp = 10;  // chain: of targets; else of gaps on their way down. 0: off
  double budget_threshold = 0.2, weight_threshold = 0.01;
  TweenEstimate estimate = TweenEstimate::Difference;
  TweenMode mode = TweenMode::ByChainRule;
  TweenSlope slope = TweenSlope::Secant;
  double slope_step = 0.5;
  TweenScale target_scale = TweenScale::None;
  bool depth_scale_layerwise = false;
  // Above 0: forward keeps the inputs of every so many cells, and the step runs each of these segments again (less
  // memory, one more forward).
  std::size_t recompute_every = 0;
  // Keeps what the velocities were until a step has gone through, one copy of the masters' size, for a step that fails
  // (see step()).
  bool undo_velocities = false;
  // mirror and dtp; without a value 1 in mirror and 0.1 in dtp
  std::size_t feedback_steps = 1;
  std::optional<double> feedback_noise{}, feedback_learning_rate{};
  double output_step = 0.5;
  OptimizerConfig optimizer;  // of the weights; its rate is the step's
  MasterClamp clamp_master;   // of every mode

  static void fields(auto& self, auto&& visit) {
    visit("use_chain_rule", self.use_chain_rule), visit("gradient_scale", self.gradient_scale);
    visit("depth_scale_factor", self.depth_scale_factor), visit("momentum", self.momentum);
    visit("activation_clamp", self.activation_clamp), visit("budget_threshold", self.budget_threshold);
    visit("weight_threshold", self.weight_threshold), visit.choice("estimate", self.estimate, kTweenEstimates);
    visit.choice("mode", self.mode, kTweenModes), visit.choice("slope", self.slope, kTweenSlopes);
    visit("slope_step", self.slope_step), visit.choice("target_scale", self.target_scale, kTweenScales);
    visit("depth_scale_layerwise", self.depth_scale_layerwise);
    visit("recompute_every", self.recompute_every), visit("feedback_steps", self.feedback_steps),
        visit("feedback_noise", self.feedback_noise);
    visit("feedback_learning_rate", self.feedback_learning_rate), visit("output_step", self.output_step);
  }
};

// The mode, never ByChainRule.
TweenMode mode_of(const TweenConfig& config);
// The name of a mode, as configs have it.
std::string_view name(TweenMode mode);

// Keys as above; absent ones keep their defaults. UnknownKey; UnknownName for a mode, slope, estimate or scale;
// InvalidConfig for a value of the wrong type (ranges: TweenSession::create).
Result<TweenConfig> tween_config_from_json(const Json& json);
// InvalidConfig with the key of a number outside its range (docs/guide/tween.md).
Result<void> check_tween(const TweenConfig& config);

// Target of the output: a tensor of its shape, or the target that a loss asks for (W-10): y - (N / 2) dL/dy for losses
// per element (mse: the tensor itself), y - rows dL/dy for losses per row (softmax_crossentropy: logits moved by
// one-hot - softmax), in the modes without feedback weights; in those the loss's own step of `output_step`.
struct TweenTarget {
  ConstView values{};                       // the output's shape and element
  std::span<const std::int64_t> classes{};  // in place of values, with a loss that takes them
  const Loss* loss = nullptr;               // null: mse
  std::span<const double> sample_weights{};
};

// One use of one layer in a step, in the order of execution; children stand before their container.
struct TweenUse {
  const std::string* path = nullptr;
  std::size_t cell = 0;  // position among the executed cells of the grid
  bool is_cell = false;  // that cell itself, no child
  double gap = 0;        // sqrt(mean((t - a)^2))
  double budget = 1;     // (cos(a, t) + 1) / 2
  bool skipped = false;
  double update_norm = 0;  // of what its weights moved by, 0 for a shared weight until its last use
};

class MeshTween;
class StepMesh;
class TweenDescent;
class TweenFeedback;

class TweenSession {
 public:
  // Creates a session of a plan; its network is initialised and outlives the session; no other session runs it during
  // apply() and step(). InvalidConfig for a setting outside its range; Unsupported as of checkpoint_every; errors of
  // NetworkSession::create(). With a device, it runs passes, targets and feedback phases of mirror and dtp; the
  // optimiser moves their weights on the host and sends them to the device.
  static Result<std::unique_ptr<TweenSession>> create(Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                                                      const TweenConfig& config,
                                                      const NetworkSessionOptions& options = {});
  // Plans for this input first: ForwardPlan::create() and its errors.
  static Result<std::unique_ptr<TweenSession>> create(Network& network, const Shape& input, const TweenConfig& config,
                                                      const NetworkSessionOptions& options = {});
  ~TweenSession();

  // Bits of a plain forward. The result is valid until the next call.
  Result<ConstView> forward(const ConstView& x, const PassExtras& extras = {});

  // Does the whole step after a forward: a cell's velocities take its products as soon as the target of its input is
  // known, so that one gap and the products of one layer are held; masters follow when every cell has gone through.
  // ShapeMismatch, InvalidState without a forward. NonFinite names the cell (L-07): every weight has the bits it had
  // before. So have the velocities with `undo_velocities`, else those that this step had reached restart from 0; mirror
  // and dtp keep the optimiser's state and the feedback weights in any case. A failure is known when all has run; a
  // loss that is not finite is found by then, too. Setting `*cancel` from any thread ends the step with Cancelled, and
  // weights, velocities, optimiser and feedback weights have the bits they had before: a velocity is then copied before
  // it moves.
  Result<void> step(const TweenTarget& target, double learning_rate, const std::atomic<bool>* cancel = nullptr);

  // Like `step()`, in three calls with the same bits (W-03). InvalidState out of order, and for recompute_every > 0,
  // for mirror and dtp, and for sessions on a device.
  Result<void> backward(const TweenTarget& target);
  Result<void> calculate_link_budgets();
  Result<void> apply(double learning_rate);
  // Return gaps after backward(): target less value of the network's input, and of the output of a use.
  ConstView input_gap() const { return input_gap_; }
  ConstView gap_of(std::size_t use) const;

  const TweenConfig& config() const { return config_; }
  // Every use that the last step gave a target, in the order of execution; none after a step that ended early. Layers
  // that only side branches read (a meta network whose effect carries no target) are not listed.
  std::span<const TweenUse> uses() const { return records_.metrics; }
  double output_gap() const { return output_gap_; }
  // Loss of the last step; 0 when it had no loss.
  double loss() const { return loss_; }
  std::span<TweenVelocity> velocities() { return trained_.velocities; }
  // mirror and dtp; null in other modes.
  TweenFeedback* feedback();
  // mirror and dtp: the optimiser; null in other modes.
  Optimizer* optimizer();
  // All there is between two steps beside the network: velocities and limits of masters, in mirror and dtp the
  // optimiser's slots and feedback weights. A checkpoint is read into it; restored() follows.
  std::vector<TweenVelocity> state();
  Result<void> restored();
  // The network was edited since, and session() has taken its new plan: all of state() is that of a beginning.
  Result<void> use_new_plan();
  NetworkSession& session() { return *session_; }
  // Memory beyond the weights: activations and scratch, products, velocities, feedback.
  std::size_t bytes() const;

 private:
  friend class MeshTween;  // runs the cells of a step mesh in place of a session's
  class Watch;
  using LayerState = TweenTrained::LayerState;
  using WeightState = TweenTrained::WeightState;
  struct Use {
    std::size_t layer = 0;
    ConstView x, y;
    bool done = false;
    Tensor figures;                                // of gap_figures()
    ConstTensor branch_rate;                       // [1], or no data: 1
    std::vector<std::byte> gap;                    // held between the calls of backward() and apply()
    std::vector<std::vector<std::byte>> products;  // likewise, by weight of the layer
    Shape gap_shape;
  };
  // A Move is the change that one use of a layer asks of one weight of that layer.
  struct Move {
    std::size_t use, slot;
    Tensor rate, figures;  // of move_rate() and, but for shared weights, velocity()
  };
  // A step records in this struct, layer by layer, its actions. The figures stay in tensors until the step has ended.
  struct Records {
    bool fused = false;                 // step() rather than its three parts
    double rate = 0;                    // the learning rate
    Figures figures;                    // of small_tensor()
    Tensor failed;                      // [1]: something of this step is not finite
    std::vector<PendingLoss> losses;    // one, or that of each state of a mesh
    Memory gap_memory;                  // output gap
    std::vector<Use> uses;              // as forward ran them
    std::vector<TweenUse> metrics;      // of these
    std::vector<std::size_t> order;     // uses as their backward passes were done
    std::vector<Move> moves;            // in that order
    std::vector<const void*> products;  // of the layer whose backward pass is done
    std::size_t current = 0;            // executed cell whose backward pass runs, counted down
    std::optional<Error> error;
  };
  enum class Stage { None, Forward, Targets, Budgets };

  TweenSession();
  // Threads and kernels with our own memory; where the products of a layer's weights come together.
  Exec work(Arena& arena);
  Gradients& collected();
  Result<void> set_rules();
  Result<void> prepare_feedback();
  Result<void> optimise();
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y);
  void after_backward(const Layer& layer, const ConstView& dy, ConstTensor branch_rate);
  Result<void> run(const TweenTarget& target, const std::atomic<bool>* cancel = nullptr);
  Result<void> run_backward(const TweenTarget& target, const std::atomic<bool>* cancel);
  // Drops the uses that got no target, so that every record of `metrics` is complete.
  void drop_uses_without_target();
  Result<ConstView> output_gap_of(const TweenTarget& target);
  Result<void> begin_step();
  // Runs f(exec) with as much scratch memory as it takes; an error of the records when there is none.
  template <class F>
  void with_scratch(F&& f);
  // The first error of ops that could not be recorded.
  void keep_error(const Exec& exec) {
    if (exec.status && !records_.error) records_.error = exec.status;
  }
  // Brings the figures of what was recorded; the error of the device where it failed.
  Result<void> fetch();
  // A tensor [1, count] that lasts as long as the step; without data when memory lacks (an error of the records).
  Tensor small_tensor(std::size_t count, Element element);
  void measure(std::size_t use, const ConstView& gap);
  double base_rate(const Use& use, const TweenUse& metrics, const Weight& weight) const;
  void move(std::size_t use, std::span<const void* const> products);
  void set_rate(const Exec& exec, const Use& use, double base, Tensor rate);
  ConstTensor product_of(const Exec& exec, const WeightState& weight, const void* product) const;
  void collect_products(WeightState& weight);
  void add_to_pending(const Exec& exec, WeightState& weight, ConstTensor rate, ConstTensor product);
  void touch(WeightState& weight, Tensor rate, Tensor figures);
  void move_velocity(const Exec& exec, WeightState& weight, ConstTensor product);
  void finish_shared();
  // w += v of all that moved, unless the step has failed by then.
  void move_weights();
  // These read the figures that the pass left in tensors. They fail with NonFinite where a figure or an update is not
  // finite.
  Result<void> read_loss();
  Result<void> read_gaps();
  Result<void> read_moves();
  // Encodes the weights that have moved; or brings velocities back to the state before the step.
  Result<void> commit();
  Result<void> finish();
  void roll_back(Code why);

  Network* network_ = nullptr;
  TweenConfig config_;
  TweenMode mode_ = TweenMode::Chain;
  bool has_feedback() const { return mode_ >= TweenMode::Mirror; }
  // Gaps travel by derivatives where no feedback weights carry them.
  bool by_derivatives() const { return mode_ == TweenMode::Chain || mode_ == TweenMode::Dtp; }
  Device* device_ = nullptr;
  TweenRules rules_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<TweenDescent> descent_;  // mirror and dtp
  std::unique_ptr<NetworkSession> session_;
  StepMesh* mesh_ = nullptr;  // of a MeshTween, which has no session
  Gradients mesh_gradients_;
  std::optional<Loss> mse_;
  Arena arena_, host_arena_;  // with a device: its arena, and host memory for the optimiser
  TweenTrained trained_;
  Records records_;
  double output_gap_ = 0, loss_ = 0;
  ConstView output_, input_gap_;
  std::uint32_t step_ = 0;  // of the last forward
  Stage stage_ = Stage::None;
};

template <class F>
void TweenSession::with_scratch(F&& f) {
  if (records_.error) return;
  const Exec exec = work(arena_);
  if (auto ready = plan_scratch(exec, f); !ready) return void(records_.error = std::move(ready).error());
  f(exec);
  keep_error(exec);
}

}  // namespace loom
