#include "evolution/population/runner.h"

#include <algorithm>

#include "backend/pass_error.h"
#include "backend/rehearsal.h"
#include "backend/travel.h"
#include "core/fp_environment.h"
#include "network/session/network_session.h"
#include "ops/all.h"

namespace loom {

Result<std::unique_ptr<Runner>> Runner::create(std::optional<Isa> isa, Device* device) {
  std::unique_ptr<Runner> r(new Runner);
  LOOM_TRY(r->pool_, ThreadPool::create(1));
  LOOM_TRY(r->kernels_, kernels_for(isa.value_or(best_isa())));
  LOOM_TRY(r->host_.arena, Arena::create(std::size_t{1} << 16));
  r->device_.device = device, r->device_.arena = Arena(device);
  return r;
}

void Runner::use(const Candidate& candidate) {
  const Network& network = candidate.network;
  network_ = &network;
  plan_ = &candidate.plan;
  host_.planned.reset();
  device_.planned.reset();
  runs_on_device_ = device_.device != nullptr && check_device(network, device_.device);
  is_chain_ = chain_.read(network);
  if (!is_chain_ || runs_on_device_) cells_.assign(plan_->num_sources(), {});
}

Run Runner::run_on(const Exec& exec) {
  Run run(exec);
  run.cells.outputs = cells_, run.seed = network_->settings.seed;
  return run;
}

Result<void> Runner::plan(Place& place, const Shape& input) {
  place.planned.reset();
  LOOM_TRY_VOID(plan_->output_shape(input));
  const ConstView nothing{rehearsal_input(), input, network_->settings.activations};
  const auto pass = [&](const Exec& exec) { plan_->forward(run_on(exec), nothing, 0, network_->num_cells()); };
  LOOM_TRY(const Arena::Mark needed, rehearse(exec(place), pass));
  if (!place.arena.holds(needed)) {
    LOOM_TRY(place.arena, Arena::create({2 * needed.tensors, 2 * needed.notes}, place.device));
  }
  place.planned = input;
  return {};
}

Result<ConstView> Runner::forward_at(Place& place, const ConstView& x) {
  if (!place.planned || !(*place.planned == x.shape)) {
    LOOM_TRY_VOID(plan(place, x.shape));
  }
  place.arena.clear();
  const Exec now = exec(place);
  const ConstView y = plan_->forward(run_on(now), x, 0, network_->num_cells());
  if (now.status) return error_of_pass(now);
  return y;
}

Result<ConstView> Runner::forward_on_device(const ConstView& x) {
  const DeviceTurn turn(device_.device);
  LOOM_TRY(const ConstView input, sent(device_.device, x, input_));
  LOOM_TRY(const ConstView y, forward_at(device_, input));
  return brought(device_.device, y, output_);
}

Result<ConstView> Runner::forward_on_host(const ConstView& x) {
  if (is_chain_ && chain_.takes(x.shape)) return chain_.forward(*kernels_, x);
  if (is_chain_) cells_.assign(plan_->num_sources(), {});  // the general way says what is wrong
  return forward_at(host_, x);
}

Result<ConstView> Runner::forward(const ConstView& x) {
  if (x.element != network_->settings.activations)
    return fail(Code::InvalidArgument, "the input is of another element type than the network's");
  const FpEnvironment environment;
  if (runs_on_device_) {
    auto y = forward_on_device(x);
    if (y || y.error().code != Code::Unsupported) return y;
    runs_on_device_ = false;
  }
  return forward_on_host(x);
}

Result<Workers> Workers::create(int threads, std::optional<Isa> isa, std::shared_ptr<ThreadPool> pool, Device* device) {
  Workers w;
  LOOM_TRY(w.pool_, ThreadPool::given_or_new(std::move(pool), threads));
  for (int i = 0; i < w.pool_->threads(); ++i) {
    LOOM_TRY(auto runner, Runner::create(isa, device));
    w.runners_.push_back(std::move(runner));
  }
  return w;
}

}  // namespace loom
