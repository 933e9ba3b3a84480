#include "network/network_session.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/checked.h"
#include "core/fp_environment.h"
#include "layers/metacognition/metacognition.h"
#include "ops/all.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

Result<void> check_input(std::span<const double> values, const Shape& shape, Element element) {
  const auto passes = [&](double v) {
    return std::isfinite(element == Element::f32 ? static_cast<double>(static_cast<float>(v)) : v);
  };
  const auto bad = std::ranges::find_if_not(values, passes);
  if (bad == values.end()) return {};
  std::vector<std::size_t> place(shape.rank());
  auto rest = static_cast<std::size_t>(bad - values.begin());
  for (std::size_t axis = shape.rank(); axis-- > 0; rest /= shape[axis]) place[axis] = rest % shape[axis];
  return fail(Code::NonFinite, "number [{}] is {}{}, a finite number expected", fmt::join(place, ", "), *bad,
              std::isfinite(*bad) ? ", beyond float32" : "");
}

Result<std::unique_ptr<NetworkSession>> NetworkSession::create(const Network& network,
                                                               const NetworkSessionOptions& options) {
  std::unique_ptr<NetworkSession> s(new NetworkSession);
  s->network_ = &network;
  s->options_ = options;
  if (options.context != 0 && options.backward)
    return fail(Code::Unsupported, "a session with a context goes on from call to call: it has no backward passes");
  LOOM_TRY(s->pool_, ThreadPool::create(options.threads > 0 ? options.threads : ThreadPool::default_threads()));
  LOOM_TRY(s->kernels_, options.kernels != nullptr ? Result<const KernelTable*>(options.kernels)
                                                   : kernels_for(options.isa.value_or(best_isa())));
  LOOM_TRY_VOID(s->adopt());
  return s;
}

// The session's own watch and one more, of which either may be absent.
void NetworkSession::look(LayerWatch* other) {
  own_ = options_.backward ? options_.watch : nullptr, other_ = other;
  both_ = BothWatches(own_, other_);
  call_.watch = own_ == nullptr ? other_ : other_ == nullptr ? own_ : &both_;
}

// Sets up everything that depends on the network's layers as its last prepare() left them.
Result<void> NetworkSession::adopt() {
  const Network& network = *network_;
  if (options_.backward) {
    std::vector<std::size_t> sizes;
    network.visit_weights(
        [&](const std::string&, const Weight& w, const Layer&) { sizes.push_back(w.is_frozen() ? 0 : w.elements()); });
    if (options_.shared_gradients) {
      std::vector<std::size_t> groups;
      const Layer* last = nullptr;
      network.visit_weights([&](const std::string&, const Weight&, const Layer& layer) {
        groups.push_back(groups.empty() ? 0 : groups.back() + (&layer != last));
        last = &layer;
      });
      LOOM_TRY(gradients_, Gradients::create_shared(sizes, groups, element(), options_.device));
    } else {
      LOOM_TRY(gradients_, Gradients::create(sizes, element(), options_.device));
    }
    LOOM_TRY_VOID(cut_segments());
    call_.tape = &tape_;
    call_.targets = options_.targets;
    call_.gradients = &gradients_;
  }
  look(watch_);
  statistics_ = Statistics(options_.device);
  call_.statistics = &statistics_;
  cells_.assign(network.num_cell_sources(), {}), d_cells_.assign(network.num_cell_sources(), {});
  call_.cells = {cells_, d_cells_};
  call_.seed = network.settings.seed;
  call_.mixed = options_.mixed, call_.batches = options_.batches;
  LOOM_TRY_VOID(states_.adopt(network, {.device = options_.device,
                                        .context = options_.context,
                                        .max_chunk = options_.context,
                                        .kv_dtype = options_.kv_dtype}));
  call_.states = states_.slots();
  LOOM_TRY(gate_loss_, Memory::create(options_.device, sizeof(double)));
  call_.gate_loss = {gate_loss_.data(), 1, 1, element()};
  input_.reset();
  has_forward_ = false;
  return {};
}

ConstView NetworkSession::run_forward(const Exec& exec, const ConstView& x) {
  arena_.clear();
  tape_.clear();
  statistics_.clear();
  fill_zero(exec, call_.gate_loss);
  if (!segments_.empty()) return run_segments(exec, x);
  return network_->forward({exec, call_}, x, 0, network_->num_cells());
}

ConstView NetworkSession::run_backward(const Exec& exec, const ConstView& dy) {
  View dx{nullptr, *input_, element()};
  if (segments_.empty()) {
    if (options_.input_gradient) dx = arena_.view(*input_, element());
    network_->backward({exec, call_}, dy, dx, 0, network_->num_cells(), options_.tween);
  } else {
    if (options_.input_gradient) dx.data = segment_gradients_[0];
    segments_backward(exec, dy, dx);
  }
  return dx;
}

Result<void> NetworkSession::cut_segments() {
  segments_.clear();
  if (options_.checkpoint_every == 0) return {};
  if (network_->num_cell_sources() != 0 ||
      std::ranges::any_of(network_->state_needs(), [](const StateNeeds& need) { return need.meta || need.stateful; }))
    return fail(Code::Unsupported,
                "checkpoint_every: the network has feed links, skips between cells, stateful or metacognition layers");
  std::size_t running = 0;
  for (std::size_t i = 0; i < network_->num_cells(); ++i)
    if (network_->cell(i).runs() && running++ % options_.checkpoint_every == 0) segments_.push_back(i);
  if (!segments_.empty()) segments_.front() = 0;
  return {};
}

// Only the last segment keeps its tape; the others leave their inputs. Who looks on sees each layer's forward now and
// not again in backward; the session's own watch, which wants forwards that keep, sees those.
ConstView NetworkSession::run_segments(const Exec& exec, const ConstView& x) {
  segment_inputs_.assign(1, x);
  const Call keeping = call_;
  call_.tape = nullptr, call_.watch = other_;
  std::size_t widest = x.shape.elements();
  for (std::size_t s = 0; s + 1 < segments_.size() && !exec.status; ++s) {
    const ConstView& input = segment_inputs_.back();
    const auto shape = network_->output_shape(input.shape, segments_[s], segments_[s + 1]);  // checked at prepare()
    const View output = arena_.view(*shape, element());
    widest = std::max(widest, shape->elements());
    const ArenaScope scope(arena_);
    copy(exec, network_->forward({exec, call_}, input, segments_[s], segments_[s + 1]), output);
    segment_inputs_.push_back(output);
  }
  call_.tape = keeping.tape, call_.watch = keeping.watch;
  for (std::byte*& gradient : segment_gradients_) gradient = arena_.take<std::byte>(widest * bytes_of(element()));
  segment_mark_ = arena_.mark();
  if (exec.status) return x;
  return network_->forward({exec, call_}, segment_inputs_.back(), segments_.back(), network_->num_cells());
}

void NetworkSession::segments_backward(const Exec& exec, const ConstView& dy, const View& dx) {
  const Run run(exec, call_);
  ConstView gradient = dy;
  for (std::size_t s = segments_.size(); s-- > 0 && !exec.status;) {
    const ConstView& input = segment_inputs_[s];
    const std::size_t end = s + 1 < segments_.size() ? segments_[s + 1] : network_->num_cells();
    if (s + 1 < segments_.size()) {
      arena_.rewind(segment_mark_);
      tape_.clear();
      Run again = run;
      again.statistics = nullptr, again.gate_loss = {}, again.watch = own_;  // the rest is as the first time
      network_->forward(again, input, segments_[s], end);
      if (exec.status) return;
    }
    const View next = s == 0 ? dx : View{segment_gradients_[s % 2], input.shape, element()};
    network_->backward(run, gradient, next, segments_[s], end, options_.tween);
    gradient = next;
  }
}

Result<void> NetworkSession::prepare(const Shape& input) {
  call_.inputs.external = call_.inputs.mask = nullptr, call_.training = false, call_.inputs.lengths = {};
  return plan(input);
}

Result<void> NetworkSession::plan(const Shape& input) {
  const FpEnvironment environment;
  LOOM_TRY(output_, network_->output_shape(input, 0, network_->num_cells()));
  has_forward_ = false;
  input_.reset();
  arena_ = Arena::measuring();
  // Placeholder base address for planning: never dereferenced, non-null because ops do pointer arithmetic on it, above
  // every address of the measuring arena.
  const ConstView nothing{reinterpret_cast<const void*>((~std::uintptr_t{0} >> 2) * 3 / 64 * 64), input, element()};
  input_ = input;
  external_.reset();
  if (call_.inputs.external != nullptr) external_ = call_.inputs.external->shape;
  training_ = call_.training, masked_ = call_.inputs.mask != nullptr, ragged_ = !call_.inputs.lengths.empty();
  {
    const Exec rehearsal = exec();
    const ConstView y = run_forward(rehearsal, nothing);
    if (options_.backward && !rehearsal.status) run_backward(rehearsal, y);
    if (rehearsal.status) {
      input_.reset();
      return tl::make_unexpected(*rehearsal.status);
    }
  }
  tape_.clear();
  if (arena_.peak().bytes() > options_.max_bytes) {
    input_.reset();
    return fail(Code::OutOfMemory, "a call for inputs {} takes {:.1f} GB of memory, at most {:.1f} GB are allowed",
                input.text(), static_cast<double>(arena_.peak().bytes()) / 1e9,
                static_cast<double>(options_.max_bytes) / 1e9);
  }
  auto arena = Arena::create(arena_.peak(), options_.device);
  auto states = states_.allocate();
  if (!arena || !states) {
    input_.reset();
    return tl::make_unexpected(arena ? std::move(states).error() : std::move(arena).error());
  }
  arena_ = std::move(*arena);
  return {};
}

Result<ConstView> NetworkSession::forward(const ConstView& x, const PassExtras& extras) {
  if (x.element != element())
    return fail(Code::InvalidArgument, "the input is {}, the network computes in {}",
                x.element == Element::f64 ? "f64" : "f32", element() == Element::f64 ? "f64" : "f32");
  call_.training = extras.training, call_.step = extras.step, call_.first_sample = extras.first_sample;
  call_.share = extras.share, call_.loss_scale = extras.loss_scale;
  call_.inputs.lengths = extras.lengths, call_.inputs.external = extras.external, call_.inputs.mask = extras.mask;
  const bool planned =
      input_ && *input_ == x.shape &&
      (call_.inputs.external == nullptr || (external_ && *external_ == call_.inputs.external->shape)) &&
      training_ == call_.training && masked_ == (call_.inputs.mask != nullptr) &&
      ragged_ == !call_.inputs.lengths.empty();
  if (!planned) {
    LOOM_TRY_VOID(plan(x.shape));
  }
  const FpEnvironment environment;
  LOOM_TRY_VOID(states_.begin());
  const Exec now = exec();
  if (watch_ != nullptr) watch_->begin(PassKind::Forward, call_.step);
  const ConstView y = run_forward(now, x);
  hear(states_.metas());
  has_forward_ = options_.backward && !now.status;
  states_.end(!now.status);
  if (now.status) return tl::make_unexpected(*now.status);
  if (call_.training) {
    LOOM_TRY_VOID(keep_statistics());
  }
  return y;
}

Result<void> NetworkSession::keep_statistics() {
  Result<void> done;
  statistics_.visit([&](const Weight& measured, const void* values) {
    network_->visit_weights([&](const std::string& path, Weight& w, const Layer&) {
      if (&w != &measured || !done) return;
      auto set = element() == Element::f64 ? w.set(std::span(static_cast<const double*>(values), w.elements()))
                                           : w.set(std::span(static_cast<const float*>(values), w.elements()));
      if (!set) done = at(path, std::move(set).error());
    });
  });
  return done;
}

ConstView NetworkSession::state_view(std::size_t index, bool cell) const {
  const RecurrentState& state = states_.recurrent(index);
  return {cell ? state.c : state.h, state.shape, element()};
}

Result<void> NetworkSession::set_state(std::size_t index, const ConstView& h, const ConstView* c) {
  if (index >= num_states()) return fail(Code::OutOfRange, "state {} of {}", index, num_states());
  const RecurrentState& state = states_.recurrent(index);
  if (state.h == nullptr) return fail(Code::InvalidState, "states exist after prepare()");
  if (!segments_.empty())
    return fail(Code::Unsupported,
                "a state given to a session with checkpoint_every, whose backward runs layers again from zeros");
  if (c != nullptr && !state.has_cell) return fail(Code::InvalidArgument, "a cell state for a layer that has none");
  for (const ConstView* given : {&h, c})
    if (given != nullptr && (!(given->shape == state.shape) || given->element != element()))
      return fail(Code::ShapeMismatch, "a state of shape {}, the layer's is {}", given->shape.text(),
                  state.shape.text());
  const std::size_t bytes = state.shape.elements() * bytes_of(element());
  const auto bytes_at = [bytes](const void* data) { return std::span(static_cast<const std::byte*>(data), bytes); };
  states_.set_recurrent(index, bytes_at(h.data), c != nullptr ? bytes_at(c->data) : std::span<const std::byte>());
  return {};
}

Result<ConstView> NetworkSession::backward(const ConstView& dy, const View* d_external) {
  if (!has_forward_)
    return fail(Code::InvalidState,
                "backward needs a forward before it, in a session that was created for backward passes");
  if (!(dy.shape == output_) || dy.element != element())
    return fail(Code::ShapeMismatch, "a gradient of shape {}, the output has {}", dy.shape.text(), output_.text());
  if (d_external != nullptr) {
    if (call_.inputs.external == nullptr)
      return fail(Code::InvalidArgument, "the gradient of an external input is asked for; forward had none");
    if (d_external->data == nullptr || !(d_external->shape == call_.inputs.external->shape) ||
        d_external->element != element())
      return fail(Code::ShapeMismatch, "a gradient of shape {} for an external input of shape {}",
                  d_external->shape.text(), call_.inputs.external->shape.text());
  }
  has_forward_ = false;
  call_.d_external = d_external;
  const FpEnvironment environment;
  const Exec now = exec();
  if (watch_ != nullptr) watch_->begin(options_.carries_targets ? PassKind::Tween : PassKind::Backward, call_.step);
  const ConstView dx = run_backward(now, dy);
  call_.d_external = nullptr;
  if (now.status) return tl::make_unexpected(*now.status);
  return dx;
}

}  // namespace loom
