#include "network/mesh/step_mesh.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "backend/rehearsal.h"
#include "core/checked.h"
#include "core/fp_environment.h"
#include "core/mutex.h"
#include "graph/folding.h"
#include "layers/metacognition/metacognition.h"
#include "layers/residual/residual.h"
#include "network/merge.h"
#include "network/session/network_session.h"
#include "network/session/state_store.h"
#include "ops/all.h"
#include "ops/elementwise/elementwise.h"

namespace loom {
namespace {

constexpr std::size_t kMostHistory = 65536;
// below, a cell's threads would wait more than they work
constexpr std::size_t kWorthSharingCell = std::size_t{1} << 18;
constexpr std::size_t kWorthSharingTick = std::size_t{1} << 15;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// The first error of a tick by state and cell, whichever thread met it when.
struct StepMesh::Failure {
  Mutex lock;
  std::size_t state = ~std::size_t{0}, cell = ~std::size_t{0};
  std::optional<Error> error;

  void note(const Exec& exec, std::size_t in_state, std::size_t in_cell) {
    if (!exec.status) return;
    const Mutex::Guard guard(lock);
    if (!error || in_state < state || (in_state == state && in_cell < cell))
      state = in_state, cell = in_cell, error = exec.status;
    exec.status.reset();
  }
  Result<void> result() const { return error ? Result<void>(tl::make_unexpected(*error)) : Result<void>(); }
};

Result<std::unique_ptr<StepMesh>> StepMesh::create(const Network& network, const std::shared_ptr<const StepPlan>& plan,
                                                   const StepMeshOptions& options) {
  if (options.history_capacity > kMostHistory)
    return fail(Code::LimitExceeded, "a history of {} ticks, at most {} are kept", options.history_capacity,
                kMostHistory);
  LOOM_TRY_VOID(check_device(network, options.device));
  std::unique_ptr<StepMesh> mesh(new StepMesh);
  mesh->network_ = &network, mesh->options_ = options;
  LOOM_TRY(mesh->pool_, ThreadPool::given_or_new(options.pool, options.threads));
  LOOM_TRY(mesh->alone_, ThreadPool::create(1));
  LOOM_TRY(mesh->kernels_, kernels_for(options.isa.value_or(best_isa())));
  LOOM_TRY_VOID(mesh->take_plan(plan));
  return mesh;
}

Result<void> StepMesh::check_current() const {
  if (network_->edits() == edits_) return {};
  return fail(Code::InvalidState, "the network was edited after the step mesh was created: create another step mesh");
}

Result<void> StepMesh::take_plan(std::shared_ptr<const StepPlan> plan) {
  LOOM_ASSERT(plan != nullptr);
  if (!plan->is_of(*network_))
    return fail(Code::InvalidState, "the network was edited after its step mesh was planned: plan it again");
  step_plan_ = std::move(plan);
  const FpEnvironment environment;
  const graph::FoldingBudget folding;  // one for the graphs of all layers
  const std::size_t item = bytes_of(element());
  const auto place = [&](std::size_t& total, std::size_t elements, std::size_t& at) -> Result<std::size_t> {
    LOOM_TRY(const std::size_t bytes, checked_mul(elements, item));
    at = total;
    LOOM_TRY(total, checked_add(total, round_up(bytes, Buffer::kAlignment)));
    return bytes;
  };
  std::size_t widest = 0, at = 0;
  layout_.input = step_plan_->input();
  LOOM_TRY(widest, place(layout_.port_bytes, layout_.input.elements(), at));
  for (const StepCell& cell : step_plan_->cells()) {
    CellLayout& plan = cells_.emplace_back();
    plan.cell = cell;
    LOOM_TRY(const std::size_t bytes, checked_mul(cell.output.elements(), item));
    widest = std::max(widest, bytes);  // of zeros that stand for it
    if (!cell.starts) continue;
    LOOM_TRY(plan.bytes, place(layout_.value_bytes, cell.output.elements(), plan.value));
    LOOM_TRY(plan.input_bytes, place(layout_.slot_bytes, cell.input.elements(), plan.captured));
    widest = std::max({widest, plan.bytes, plan.input_bytes});
  }
  LOOM_TRY(zeros_, Memory::create(options_.device, widest));
  LOOM_TRY_VOID(plan_skips());
  LOOM_TRY_VOID(plan_states());
  if (options_.backward) LOOM_TRY_VOID(allocate_gradients());
  LOOM_TRY_VOID(rehearse());
  share_out();
  if (options_.backward) LOOM_TRY_VOID(allocate_way());
  edits_ = network_->edits();
  return {};
}

// A skip inside a cell adds another cell's output: captured ticks keep that beside the cell's own input.
Result<void> StepMesh::plan_skips() {
  skips_.assign(step_plan_->num_sources(), StepCell::kNone);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].cell.starts || cells_[i].cell.operation == nullptr) continue;
    const Wiring& wiring = step_plan_->wiring();
    visit_running(wiring, const_cast<Layer&>(*cells_[i].cell.operation), [&](Layer& layer) {  // only read
      const std::size_t slot = wiring.source_of(layer);
      if (slot == Wiring::kNone) return;
      skips_[slot] = 0;
      skip_uses_.emplace_back(i, slot);
    });
  }
  for (std::size_t k = 0; k < skips_.size(); ++k) {
    const CellLayout& source = cells_[step_plan_->source_of_slot(k)];
    if (!source.cell.starts) skips_[k] = StepCell::kNone;  // zeros for ever
    if (skips_[k] == StepCell::kNone) continue;
    skips_[k] = layout_.slot_bytes;
    LOOM_TRY(layout_.slot_bytes, checked_add(layout_.slot_bytes, round_up(source.bytes, Buffer::kAlignment)));
  }
  return {};
}

// Creates the session states of metacognition layers. The states of recurrent layers follow after the rehearsal.
Result<void> StepMesh::plan_states() {
  constexpr std::size_t kMostWatched = std::size_t{1} << 10;  // each remembers a hundred calls
  const std::size_t slots = step_plan_->state_needs().size();
  recurrent_.resize(slots), recurrent_at_.assign(slots, StepCell::kNone);
  if (slots > kMostWatched && std::ranges::any_of(step_plan_->state_needs(), &StateNeeds::meta))
    return fail(Code::LimitExceeded,
                "{} session states beside metacognition layers, at most {} are kept in a step mesh", slots,
                kMostWatched);
  metas_ = metas_of(step_plan_->state_needs(), {});
  return {};
}

// Runs every cell in a measuring arena to find its scratch memory: on one thread, divided among all threads, and
// followed by a backward pass.
Result<void> StepMesh::rehearse() {
  std::vector<ConstView> sources = rehearsal_sources();
  back_.sources.resize(sources.size());
  Arena::Mark alone, together, backward;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].cell.starts || cells_[i].cell.operation == nullptr) continue;
    auto done = rehearse_cell(cells_[i], *alone_, sources, alone);
    if (done && pool_->threads() > 1) done = rehearse_cell(cells_[i], *pool_, sources, together);
    const BackwardTask task{&gradients_};
    if (done && options_.backward) done = rehearse_cell(cells_[i], *pool_, sources, backward, &task);
    if (!done) return under(network_->steps(i), std::move(done).error());
  }
  for (const CellLayout& plan : cells_)
    alone = alone.max({plan.input_bytes, 0}), backward = backward.max({plan.input_bytes + 2 * Buffer::kAlignment, 0});
  room_ = alone.max(together).max(backward);
  for (int w = 0; w < pool_->threads(); ++w) {
    LOOM_TRY(Arena arena, Arena::create((w == 0 ? room_ : alone).plus(Buffer::kAlignment), options_.device));
    arenas_.push_back(std::move(arena));
  }
  for (std::size_t slot = 0; slot < recurrent_.size(); ++slot) {
    const RecurrentState& state = recurrent_[slot];
    if (!state.planned || !state.stateful) continue;
    recurrent_at_[slot] = layout_.recurrent_bytes;
    layout_.recurrent_bytes +=
        round_up(state.shape.elements() * bytes_of(element()), Buffer::kAlignment) * (state.has_cell ? 2 : 1);
  }
  layout_.slot_recurrent = layout_.slot_bytes;
  layout_.slot_bytes += layout_.recurrent_bytes;
  layout_.gate_bytes = round_up(cells_.size() * sizeof(double), Buffer::kAlignment);
  return {};
}

std::vector<ConstView> StepMesh::rehearsal_sources() const {
  std::vector<ConstView> sources;
  sources.reserve(step_plan_->num_sources());
  for (std::size_t s = 0; s < step_plan_->num_sources(); ++s)
    sources.push_back({rehearsal_input(), cells_[step_plan_->source_of_slot(s)].cell.output, element()});
  return sources;
}

// `back`: a backward pass follows, with the gradients of weights, whose products pack their operands.
Result<void> StepMesh::rehearse_cell(const CellLayout& plan, ThreadPool& threads, std::span<ConstView> sources,
                                     Arena::Mark& peak, const BackwardTask* back) {
  const StepCell& cell = plan.cell;
  std::vector<MetaState> metas = metas_;
  Arena like = Arena::measuring(options_.device);  // ops take other amounts on a graphics card
  for (const bool training : {false, true}) {
    const auto pass = [&](const Exec& exec) {
      Run run(exec);
      run.wiring = &step_plan_->wiring();
      run.states.recurrent = recurrent_, run.states.metas = metas, run.cells.outputs = sources, run.training = training,
      run.seed = network_->settings.seed;
      if (back != nullptr) run.tape = &back_.tape, run.cells.gradients = back_.sources, run.gradients = back->gradients;
      const View y = exec.arena.view(cell.output, element());
      if (back == nullptr) exec.arena.view(cell.input, element());
      run_forward(*cell.operation, run, {rehearsal_input(), cell.input, element()}, y);
      if (back == nullptr) return;
      if (!exec.status) run_backward(*cell.operation, run, y, exec.arena.view(cell.input, element()), back->tween);
      exec.arena.view(cell.input, element()), exec.arena.take<std::byte>(2 * Buffer::kAlignment);  // parts of dx
    };
    auto needed = loom::rehearse({threads, *kernels_, like, nullptr, network_->settings.quantized_inputs}, pass);
    back_.tape.clear();
    if (!needed) return tl::make_unexpected(std::move(needed).error());
    peak = peak.max(*needed);
  }
  return {};
}

// Splits cells between threads: many small cells in parts, one thread each; a cell of at least 1 / (2 threads) of the
// remaining cost is shared by all threads. Taking one out lowers that bound for the others, hence the loop.
void StepMesh::share_out() {
  const auto threads = static_cast<std::size_t>(pool_->threads());
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].cell.starts) shares_.small.push_back(i);
  const auto total = [&] {
    return std::accumulate(shares_.small.begin(), shares_.small.end(), std::size_t{0},
                           [&](auto sum, auto i) { return sum + cells_[i].cell.cost; });
  };
  for (std::size_t left = total(), before = 0; threads > 1 && left != before; before = left, left = total()) {
    const auto is_large = [&](std::size_t i) {
      return cells_[i].cell.cost >= kWorthSharingCell && cells_[i].cell.cost * 2 * threads >= left;
    };
    std::ranges::copy_if(shares_.small, std::back_inserter(shares_.large), is_large);
    std::erase_if(shares_.small, is_large);
  }
  std::ranges::sort(shares_.large);
  const std::size_t all = total();
  const std::size_t parts = threads == 1 || all < kWorthSharingTick ? 1 : std::min(shares_.small.size(), 4 * threads);
  std::size_t sum = 0;
  for (std::size_t k = 0; k < shares_.small.size(); ++k) {
    sum += cells_[shares_.small[k]].cell.cost;
    if (k + 1 == shares_.small.size() || sum >= (shares_.parts.size() + 1) * (all / parts + 1))
      shares_.parts.push_back(k + 1);
  }
}

Digest StepMesh::digest() const {
  Sha256 hash;
  const auto shape = [&](const Shape& shape) {
    hash.update_u32(static_cast<std::uint32_t>(shape.rank()));
    for (const std::size_t extent : shape.extents())
      hash.update_u32(static_cast<std::uint32_t>(extent)),
          hash.update_u32(static_cast<std::uint32_t>(static_cast<std::uint64_t>(extent) >> 32));
  };
  hash.update_u32(static_cast<std::uint32_t>(bytes_of(element())));
  shape(layout_.input);
  for (const CellLayout& plan : cells_) {
    const StepCell& c = plan.cell;
    hash.update_u32(c.starts ? 1 : 0), hash.update_u32(static_cast<std::uint32_t>(c.feed)),
        hash.update_u32(static_cast<std::uint32_t>(c.link));
    shape(c.input), shape(c.output);
  }
  for (std::size_t k = 0; k < recurrent_.size(); ++k)
    if (recurrent_at_[k] != StepCell::kNone) shape(recurrent_[k].shape);
  if (options_.keep_inputs) hash.update_u32(1);  // snapshots hold more
  return hash.finish();
}

void StepMesh::forget_plan() {
  cells_.clear(), arenas_.clear(), skips_.clear(), skip_uses_.clear();
  recurrent_.clear(), recurrent_at_.clear(), metas_.clear();
  layout_ = {}, shares_ = {}, back_ = {};
}

Result<void> StepMesh::use_new_plan(std::shared_ptr<const StepPlan> plan, std::span<StepState* const> states) {
  for (const StepState* s : states)
    if (s->mesh_ != this || s->is_void()) return fail(Code::InvalidArgument, "the state belongs to another step mesh");
  const std::vector<CellLayout> before = cells_;
  const StepLayout from = layout_;
  forget_plan();
  ++plan_;
  if (auto planned = take_plan(std::move(plan)); !planned) {
    forget_plan();
    return planned;
  }
  if (before.size() != cells_.size() || !(from.input == layout_.input)) {
    forget_plan();
    return fail(Code::InvalidState, "the network has another grid or input than the one the mesh ran");
  }
  for (StepState* s : states) {
    // The input, outputs with the losses of their gates, and memories of metacognition layers are kept where shape and
    // site stay the same; recurrent states and the history start again.
    LOOM_TRY(StepState next, create_state());
    next.memory_.copy(0, s->memory_, 0, layout_.port_bytes);
    next.port_ = s->port_, next.step_count_ = s->step_count_;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (!s->present_[i] || !before[i].cell.starts || !cells_[i].cell.starts ||
          !(before[i].cell.output == cells_[i].cell.output))
        continue;
      next.memory_.copy(layout_.values_at(0) + cells_[i].value, s->memory_,
                        from.values_at(s->half_[i]) + before[i].value, cells_[i].bytes);
      next.memory_.copy(layout_.gates_at(0) + i * sizeof(double), s->memory_,
                        from.gates_at(s->half_[i]) + i * sizeof(double), sizeof(double));
      next.present_[i] = 1;
    }
    next.metas_ = metas_of(step_plan_->state_needs(), s->metas_);
    *s = std::move(next);
  }
  return {};
}

Result<StepState> StepMesh::create_state() const {
  if (cells_.empty()) return fail(Code::InvalidState, "the step mesh has no plan since an edit of its network");
  StepState s;
  s.mesh_ = this, s.plan_ = plan_;
  LOOM_TRY(s.memory_, Memory::create(options_.device, layout_.state_bytes()));
  const std::size_t kept = std::max<std::size_t>(options_.history_capacity, options_.keep_inputs ? 1 : 0);
  LOOM_TRY(s.history_, StepHistory::create(options_.device, kept, layout_.slot_bytes, cells_.size(), metas_));
  s.base_ = s.memory_.data();
  s.present_.resize(cells_.size()), s.half_.resize(cells_.size()), s.wrote_.resize(cells_.size());
  s.recurrent_ = recurrent_;
  for (std::size_t slot = 0; slot < s.recurrent_.size(); ++slot) s.recurrent_[slot].h = s.recurrent_[slot].c = nullptr;
  s.metas_ = s.pending_metas_ = metas_;
  s.sources_.resize(step_plan_->num_sources());
  s.reset();
  return s;
}

Call StepMesh::call_of(StepState& s, const StepOptions& options) const {
  Call call;
  call.wiring = &step_plan_->wiring();
  call.states.recurrent = s.recurrent_, call.states.metas = s.pending_metas_, call.cells.outputs = s.sources_;
  call.training = options.training, call.seed = network_->settings.seed,
  call.step = static_cast<std::uint32_t>(s.step_count_);
  call.watch = watch_;
  return call;
}

// Prepares the pending tick: copies of the state it changes, views of the values it reads; a captured tick records
// both.
Result<void> StepMesh::begin(StepState& s, const StepOptions& options) const {
  LOOM_TRY_VOID(check_current());
  if (s.mesh_ != this) return fail(Code::InvalidArgument, "the state belongs to another step mesh");
  if (s.is_void()) return fail(Code::InvalidState, "the mesh has taken a new plan without this state");
  if (options.capture && options_.history_capacity == 0)
    return fail(Code::InvalidState, "a tick is to be captured; history_capacity is 0");
  const Exec exec = together(options.cancel);
  s.pending_ = false, s.captured_ = options.capture;
  const bool keeps = options.capture || options_.keep_inputs;
  if (layout_.recurrent_bytes != 0) {
    copy(exec, block(s.recurrent(s.recurrent_half_), layout_.recurrent_bytes),
         block(s.recurrent(s.recurrent_half_ ^ 1u), layout_.recurrent_bytes));
    s.point_recurrent();
  }
  s.pending_metas_ = s.metas_;
  for (std::size_t k = 0; k < s.sources_.size(); ++k) {
    const std::size_t cell = step_plan_->source_of_slot(k);
    s.sources_[k] = {s.present_[cell] ? s.value(cell, s.half_[cell]) : zeros_.data(), cells_[cell].cell.output,
                     element()};
  }
  if (!keeps) return {};
  const std::size_t next = s.history_.next();
  s.history_.tick(next) = {s.step_count_, options.training};
  std::byte* const slot = s.history_.slot(next);
  std::uint8_t* const held = s.history_.held(next);
  std::ranges::copy(s.present_, held);
  held[cells_.size()] = s.port_ != StepState::Port::Absent;
  for (std::size_t k = 0; k < skips_.size(); ++k) {
    const std::size_t bytes = cells_[step_plan_->source_of_slot(k)].bytes;
    if (skips_[k] != StepCell::kNone)
      copy(exec, block(static_cast<const std::byte*>(s.sources_[k].data), bytes), block(slot + skips_[k], bytes));
  }
  if (layout_.recurrent_bytes != 0)
    copy(exec, block(s.recurrent(s.recurrent_half_), layout_.recurrent_bytes),
         block(slot + layout_.slot_recurrent, layout_.recurrent_bytes));
  if (s.history_.has_metas()) s.history_.metas(next) = s.metas_;
  return {};
}

// Returns whether a cell computes in a tick. `held` has one entry per cell and a last one for the port: whether it held
// a value when the tick began.
bool StepMesh::ran(const std::uint8_t* held, std::size_t i) const {
  const StepCell& cell = cells_[i].cell;
  const std::size_t source = cell.feed == Merge::Replace ? cell.link : i == 0 ? cells_.size() : i - 1;
  return cell.starts && held[source] != 0;
}

void StepMesh::run_cell(const Exec& exec, const Call& call, StepState& s, std::size_t i, bool capture) const {
  const CellLayout& plan = cells_[i];
  const StepCell& cell = plan.cell;
  s.wrote_[i] = 0;
  if (exec.cancel != nullptr && exec.cancel->load(std::memory_order_relaxed)) {
    exec.status = Error{Code::Cancelled, "cancelled by the caller"};
    return;
  }
  const bool has_source = i == 0 ? s.port_ != StepState::Port::Absent : s.present_[i - 1] != 0;
  const bool has_link = cell.link != StepCell::kNone && s.present_[cell.link] != 0;
  if (!(cell.feed == Merge::Replace ? has_link : has_source)) return;  // it waits, and keeps what it has
  exec.arena.clear();
  std::byte* const captured = capture ? s.history_.slot(s.history_.next()) + plan.captured : nullptr;
  ConstView x{has_link ? s.value(cell.link, s.half_[cell.link]) : nullptr, cell.input, element()};
  if (cell.feed != Merge::Replace) x = {i == 0 ? s.port() : s.value(i - 1, s.half_[i - 1]), cell.source, element()};
  if (cell.feed == Merge::Add || cell.feed == Merge::Concat) {
    ConstView link{zeros_.data(), cell.source, element()};
    if (cell.feed == Merge::Concat) link.shape = *cell.source.with_cols(cell.input.cols() - cell.source.cols());
    if (has_link) link.data = s.value(cell.link, s.half_[cell.link]);
    const View both{capture ? captured : exec.arena.take<std::byte>(plan.input_bytes), cell.input, element()};
    merge_inputs(exec, cell.feed, x, link, both);  // zeros stand for a feed that is absent
    x = both;
  } else if (capture) {
    copy(exec, x, View{captured, cell.input, element()});
  }
  // Double buffering: other cells of this tick still read the old half, and so does gate_loss(); advance() swaps them.
  const View y{s.value(i, s.half_[i] ^ 1u), cell.output, element()};
  if (cell.operation != nullptr) {
    Run run(exec, call);
    run.gate_loss = {s.gate(i, s.half_[i] ^ 1u), 1, 1, element()};
    fill_zero(exec, run.gate_loss);
    run_forward(*cell.operation, run, x, y);
    if (exec.status) exec.status->under(network_->steps(i));
  } else {
    copy(exec, x, y);
  }
  s.wrote_[i] = 1;
}

Result<void> StepMesh::forward_tick(StepState& s, const StepOptions& options) {
  LOOM_TRY_VOID(begin(s, options));
  const FpEnvironment environment;
  Failure failure;
  const Call call = call_of(s, options);
  const Exec together = this->together(options.cancel);
  const auto run = [&](const Exec& exec, std::size_t cell) {
    run_cell(exec, call, s, cell, options.capture || options_.keep_inputs);
    failure.note(exec, 0, cell);
  };
  if (watch_ != nullptr || device() != nullptr || pool_->threads() == 1) {
    if (watch_ != nullptr) watch_->begin(PassKind::Tick, s.step_count_, step_plan_->wiring());
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (cells_[i].cell.starts) run(together, i);
  } else {
    pool_->run(shares_.parts.size(), [&](std::size_t part, int worker) {
      const Exec alone = this->alone(worker, options.cancel);
      for (std::size_t k = part == 0 ? 0 : shares_.parts[part - 1]; k < shares_.parts[part]; ++k)
        run(alone, shares_.small[k]);
    });
    for (const std::size_t cell : shares_.large) run(together, cell);
  }
  s.pending_ = !failure.error;
  if (s.pending_) hear(s.pending_metas_);  // so that a snapshot of the pending tick holds what they remember
  if (failure.error && device() != nullptr) static_cast<void>(device()->check());  // see error_of_pass()
  return failure.result();
}

Result<void> StepMesh::commit(StepState& s) {
  if (s.mesh_ != this || s.is_void() || !s.pending_)
    return fail(Code::InvalidState, "commit() follows a forward_tick() of the same mesh");
  advance(s);
  return {};
}

void StepMesh::advance(StepState& s) const {
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (s.wrote_[i]) s.half_[i] ^= 1u, s.present_[i] = 1, s.wrote_[i] = 0;
  s.recurrent_half_ ^= 1u;
  std::swap(s.metas_, s.pending_metas_);
  if (s.port_ == StepState::Port::Pulse) s.port_ = StepState::Port::Absent;
  s.history_.advance(s.captured_, s.captured_ || options_.keep_inputs, options_.history_capacity);
  ++s.step_count_;
  s.pending_ = false;
}

Result<std::int64_t> StepMesh::step(StepState& state, const StepOptions& options) {
  const std::int64_t start = now_ns();
  LOOM_TRY_VOID(forward_tick(state, options));
  advance(state);
  return now_ns() - start;
}

Result<std::int64_t> StepMesh::step(std::span<StepState* const> states, const StepOptions& options) {
  const std::int64_t start = now_ns();
  const auto threads = static_cast<std::size_t>(pool_->threads());
  const auto give_up = [&] {
    for (StepState* s : states) s->pending_ = false;
  };
  give_up();
  for (StepState* s : states) {
    // This loop marks each state with pending_: a state that has the mark was passed twice.
    if (s->pending_) {
      give_up();
      return fail(Code::InvalidArgument, "one state stands twice among those that step together");
    }
    s->pending_ = true;
  }
  if (watch_ != nullptr || device() != nullptr || states.size() < threads) {
    for (StepState* s : states)
      if (auto done = forward_tick(*s, options); !done) {
        give_up();
        return tl::make_unexpected(std::move(done).error());
      }
  } else {
    for (StepState* s : states)
      if (auto done = begin(*s, options); !done) {
        give_up();
        return tl::make_unexpected(std::move(done).error());
      }
    Failure failure;
    const std::size_t parts = std::min(states.size(), 4 * threads);
    pool_->run(parts, [&](std::size_t part, int worker) {
      const FpEnvironment environment;
      const Exec alone = this->alone(worker, options.cancel);
      for (std::size_t n = part * states.size() / parts; n < (part + 1) * states.size() / parts; ++n) {
        const Call call = call_of(*states[n], options);
        for (std::size_t i = 0; i < cells_.size(); ++i) {
          if (!cells_[i].cell.starts) continue;
          run_cell(alone, call, *states[n], i, options.capture || options_.keep_inputs);
          failure.note(alone, n, i);
        }
      }
    });
    give_up();
    LOOM_TRY_VOID(failure.result());
    const FpEnvironment environment;
    for (StepState* s : states) hear(s->pending_metas_);
  }
  for (StepState* s : states) advance(*s);
  return now_ns() - start;
}

}  // namespace loom
