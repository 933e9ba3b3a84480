#include "evolution/population/runner.h"

#include <algorithm>

#include "backend/rehearsal.h"
#include "core/fp_environment.h"
#include "ops/all.h"

namespace loom {

Result<std::unique_ptr<Runner>> Runner::create(std::optional<Isa> isa) {
  std::unique_ptr<Runner> r(new Runner);
  LOOM_TRY(r->pool_, ThreadPool::create(1));
  LOOM_TRY(r->kernels_, kernels_for(isa.value_or(best_isa())));
  LOOM_TRY(r->arena_, Arena::create(std::size_t{1} << 16));
  return r;
}

void Runner::use(const Network& network) {
  network_ = &network, is_planned_ = false;
  is_chain_ = chain_.read(network);
  if (!is_chain_) cells_.assign(network.num_cell_sources(), {});
}

Run Runner::run_on(const Exec& exec) {
  Run run(exec);
  run.cells.outputs = cells_, run.seed = network_->settings.seed;
  return run;
}

Result<void> Runner::plan(const Shape& input) {
  is_planned_ = false;
  LOOM_TRY_VOID(network_->output_shape(input, 0, network_->num_cells()));
  const ConstView nothing{rehearsal_input(), input, network_->settings.activations};
  const auto pass = [&](const Exec& exec) { network_->forward(run_on(exec), nothing, 0, network_->num_cells()); };
  LOOM_TRY(const Arena::Mark needed, rehearse(exec(), pass));
  if (!arena_.holds(needed)) {
    LOOM_TRY(arena_, Arena::create({2 * needed.tensors, 2 * needed.notes}));
  }
  planned_ = input, is_planned_ = true;
  return {};
}

Result<ConstView> Runner::forward(const ConstView& x) {
  if (x.element != network_->settings.activations)
    return fail(Code::InvalidArgument, "the input is of another element type than the network's");
  const FpEnvironment environment;
  if (is_chain_ && chain_.takes(x.shape)) return chain_.forward(*kernels_, x);
  if (is_chain_) cells_.assign(network_->num_cell_sources(), {});  // the general way says what is wrong
  if (!is_planned_ || !(planned_ == x.shape)) {
    LOOM_TRY_VOID(plan(x.shape));
  }
  arena_.clear();
  const Exec now = exec();
  const ConstView y = network_->forward(run_on(now), x, 0, network_->num_cells());
  if (now.status) return tl::make_unexpected(*now.status);
  return y;
}

Result<Workers> Workers::create(int threads, std::optional<Isa> isa, std::shared_ptr<ThreadPool> pool) {
  Workers w;
  LOOM_TRY(w.pool_, ThreadPool::given_or_new(std::move(pool), threads));
  for (int i = 0; i < w.pool_->threads(); ++i) {
    LOOM_TRY(auto runner, Runner::create(isa));
    w.runners_.push_back(std::move(runner));
  }
  return w;
}

}  // namespace loom
