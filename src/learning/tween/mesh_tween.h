#pragma once
// Target propagation in the step mesh (engine M-11): a network learns between its ticks. The gap of the last cell's
// output goes back through what the cells read and made in the last tick, each to the source it read from; rules,
// budgets and updates are those of TweenSession (tween.h), in mode chain or layerwise. A mesh that a held input has
// settled moves its weights by the same bits as a TweenSession of the same network; gaps that travel further back in
// time require MeshTweenOptions::ticks.

#include <memory>
#include <span>
#include <vector>

#include "learning/tween/tween.h"
#include "network/mesh/step_mesh.h"

namespace loom {

struct MeshTweenOptions {
  // 0: the last tick alone. Every cell aims from the output it holds now; a link that leads to a later cell, or to the
  // cell itself, carries nothing. Above 0: through so many of the captured ticks, a gap going to what its source held
  // one tick earlier: feedback learns too, and moving inputs meet the outputs they led to. Updates of a weight in
  // several ticks are summed, later ticks first.
  std::size_t ticks = 0;
};

// A use of a layer in a step: as of TweenSession, with the state it was in and how many ticks ago.
struct MeshTweenUse : TweenUse {
  std::size_t state = 0, back = 0;
};

class MeshTween {
 public:
  // The mesh runs this network and was created with keep_inputs; both outlive the driver, one per mesh. Errors of
  // TweenSession::create; Unsupported for the modes mirror and dtp and for recompute_every; InvalidState where the
  // network was edited and the mesh has not taken a new plan.
  static Result<std::unique_ptr<MeshTween>> create(Network& network, StepMesh& mesh, const TweenConfig& config,
                                                   const MeshTweenOptions& options = {});
  ~MeshTween();

  // Takes targets of the last cell's output, after a tick and before the next, and moves all weights once. Nothing else
  // of the network may run meanwhile. The operations run again on what they read, by the weights as they are now.
  // NoValue before data reached the last cell, NoHistory for `ticks` without a captured tick, InvalidState after a tick
  // of another mesh or none; errors of a target as in TweenSession::step. NonFinite leaves every weight as it was when
  // a product is not finite. Setting `*cancel` from any thread ends the step with Cancelled, and weights and velocities
  // are as before it.
  Result<void> step(StepState& state, const TweenTarget& target, double learning_rate,
                    const std::atomic<bool>* cancel = nullptr);
  // A crowd of one network: the mean of what each would move, each by its own budgets; states in the order given.
  Result<void> step(std::span<StepState* const> states, std::span<const TweenTarget> targets, double learning_rate,
                    const std::atomic<bool>* cancel = nullptr);

  // Uses in the last step, by state, tick, cell; children before their container.
  std::span<const MeshTweenUse> uses() const { return uses_; }
  double output_gap() const { return output_gap_; }  // mean over the states
  double loss() const { return loss_; }              // likewise
  // Target less value of the last state's input, without data where it had none.
  ConstView input_gap() const { return input_gap_; }
  std::span<TweenVelocity> velocities() { return core_->velocities(); }
  const TweenConfig& config() const { return core_->config(); }

 private:
  class Carrier;
  MeshTween() = default;
  Result<void> set_up(Network& network, StepMesh& mesh, const TweenConfig& config);
  Result<void> move_towards(StepState& state, const TweenTarget& target, const std::atomic<bool>* cancel);
  void list_uses();

  std::unique_ptr<TweenSession> core_;  // cells, rules, updates; no session of its own
  std::unique_ptr<Carrier> carrier_;
  StepMesh* mesh_ = nullptr;
  MeshTweenOptions options_;
  std::vector<std::size_t> position_;  // by cell: among the executed ones
  struct Place {
    std::size_t state, back;
  };
  std::vector<Place> places_;  // by use
  std::vector<std::size_t> order_;
  std::vector<MeshTweenUse> uses_;
  std::size_t state_ = 0, back_ = 0;  // that the carrier is in
  double output_gap_ = 0, loss_ = 0;
  ConstView input_gap_;
};

}  // namespace loom
