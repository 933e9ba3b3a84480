#include "network/session/network_session.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/pass_error.h"
#include "backend/rehearsal.h"
#include "backend/travel.h"
#include "core/checked.h"
#include "core/fp_environment.h"
#include "graph/folding.h"
#include "layers/metacognition/metacognition.h"
#include "ops/all.h"
#include "ops/elementwise/elementwise.h"
#include "ops/magnitude/magnitude.h"

namespace loom {

void settle_device(const Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                   NetworkSessionOptions& options) {
  if (options.choose_device == nullptr) return;
  options.device = std::exchange(options.choose_device, nullptr)(network, plan, options);
}

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

namespace {

// Lengths count steps on the second axis of the input, or on the first of one sample with two.
Result<void> check_lengths(std::span<const std::size_t> lengths, const Shape& input) {
  if (lengths.empty() || input.rank() == 0) return {};
  const bool one = input.rank() == 1 || (input.rank() == 2 && lengths.size() == 1);
  const std::size_t samples = one ? 1 : input[0];
  if (lengths.size() != samples)
    return fail(Code::ShapeMismatch, "{} lengths for {} samples, the input has the shape {}", lengths.size(), samples,
                input.text());
  const std::size_t steps = input.rank() == 1 || (one && input[0] > 1) ? input[0] : input[1];
  for (std::size_t b = 0; b < samples; ++b)
    if (lengths[b] > steps)
      return fail(Code::OutOfRange, "length {} of sample {}, the input has {} steps", lengths[b], b, steps);
  return {};
}

}  // namespace

Result<void> check_device(const Network& network, Device* device) {
  if (device == nullptr) return {};
  if (device->records() && network.settings.activations == Element::f64)
    return fail(Code::Unsupported, "networks that compute in f64 run on the CPU: no graphics card has its bits");
  if (device->records()) return {};
  std::optional<Error> error;
  network.each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    if (layer.kind_row().forward_only && !error)
      error =
          Error{Code::Unsupported,
                fmt::format("{} runs on the CPU and on graphics cards: its operations look at values", layer.kind()),
                network.steps(path)};
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return {};
}

Result<std::unique_ptr<NetworkSession>> NetworkSession::create(const Network& network,
                                                               const std::shared_ptr<const ForwardPlan>& plan,
                                                               const NetworkSessionOptions& options) {
  std::unique_ptr<NetworkSession> s(new NetworkSession);
  s->network_ = &network;
  s->options_ = options;
  settle_device(network, plan, s->options_);
  if (options.context != 0 && options.backward)
    return fail(Code::Unsupported, "a session with a context goes on from call to call: it has no backward passes");
  LOOM_TRY(s->pool_, ThreadPool::given_or_new(options.pool, options.threads));
  LOOM_TRY(s->kernels_, options.kernels != nullptr ? Result<const KernelTable*>(options.kernels)
                                                   : kernels_for(options.isa.value_or(best_isa())));
  LOOM_TRY_VOID(s->use_new_plan(plan));
  return s;
}

// Either may be null.
void NetworkSession::Watches::set(LayerWatch* own, LayerWatch* other) {
  own_ = own, other_ = other;
  both_ = BothWatches(own, other);
}

void NetworkSession::look(LayerWatch* other) {
  watches_.set(options_.backward ? options_.watch : nullptr, other);
  call_.watch = watches_.all();
}

NetworkSession::Planned NetworkSession::Planned::of(const Call& call, const Shape& input) {
  Planned planned{input, {}, call.training, call.inputs.mask != nullptr, !call.inputs.lengths.empty()};
  if (call.inputs.external != nullptr) planned.external = call.inputs.external->shape;
  return planned;
}

bool NetworkSession::Planned::holds(const Planned& call) const {
  return input == call.input && (!call.external || (external && *external == *call.external)) &&
         training == call.training && masked == call.masked && ragged == call.ragged;
}

Result<void> NetworkSession::check_current() const {
  if (is_current()) return {};
  return fail(Code::InvalidState, "the network was edited after the session was created: create another session");
}

Result<Shape> NetworkSession::output_shape(const Shape& input) const {
  LOOM_TRY_VOID(check_current());
  return plan_->output_shape(input);
}

// Sets up everything that depends on the network's layers and links.
Result<void> NetworkSession::use_new_plan(std::shared_ptr<const ForwardPlan> plan) {
  const Network& network = *network_;
  LOOM_ASSERT(plan != nullptr);
  if (!plan->is_of(network))
    return fail(Code::InvalidState, "the network was edited after its forward passes were planned: plan it again");
  plan_ = std::move(plan), edits_ = 0;  // until all is planned
  planned_.reset();
  has_forward_ = false;
  LOOM_TRY_VOID(check_device(network, options_.device));
  arena_ = Arena(options_.device);
  if (options_.backward) {
    const std::vector<const Weight*> weights = network.weights();
    if (options_.shared_gradients) {
      std::vector<std::size_t> groups;
      const Layer* last = nullptr;
      network.visit_weights([&](const std::string&, const Weight&, const Layer& layer) {
        groups.push_back(groups.empty() ? 0 : groups.back() + (&layer != last));
        last = &layer;
      });
      LOOM_TRY(gradients_, Gradients::create_shared(weights, groups, element(), options_.device));
    } else {
      LOOM_TRY(gradients_, Gradients::create(weights, element(), options_.device));
    }
    LOOM_TRY_VOID(cut_segments());
    call_.tape = &tape_;
    call_.targets = options_.targets;
    call_.gradients = &gradients_;
  }
  look(watch_);
  statistics_ = Statistics(options_.device);
  call_.statistics = &statistics_;
  cells_.assign(plan_->num_sources(), {}), d_cells_.assign(plan_->num_sources(), {});
  call_.cells = {cells_, d_cells_};
  call_.seed = network.settings.seed;
  call_.mixed = options_.mixed, call_.batches = options_.batches;
  LOOM_TRY_VOID(states_.plan(plan_->state_needs(), element(),
                             {.device = options_.device,
                              .context = options_.context,
                              .max_chunk = options_.context,
                              .kv_dtype = options_.kv_dtype}));
  call_.states = states_.slots();
  LOOM_TRY(gate_loss_, Memory::create(options_.device, sizeof(double)));
  call_.gate_loss = {gate_loss_.data(), 1, 1, element()};
  edits_ = network.edits();
  return {};
}

ConstView NetworkSession::run_forward(const Exec& exec, const ConstView& x) {
  exec.arena.clear();
  tape_.clear();
  statistics_.clear();
  fill_zero(exec, call_.gate_loss);
  if (!segments_.first.empty()) return run_segments(exec, x);
  return plan_->forward({exec, call_}, x, 0, network_->num_cells());
}

ConstView NetworkSession::run_backward(const Exec& exec, const ConstView& dy) {
  const Shape& input = planned_->input;
  View dx{nullptr, input, element()};
  if (segments_.first.empty()) {
    if (options_.input_gradient) dx = exec.arena.view(input, element());
    plan_->backward({exec, call_}, dy, dx, 0, network_->num_cells(), options_.tween);
  } else {
    if (options_.input_gradient) dx.data = segments_.gradients[0];
    segments_backward(exec, dy, dx);
  }
  return dx;
}

Result<void> NetworkSession::cut_segments() {
  std::vector<std::size_t>& first = segments_.first;
  first.clear();
  if (options_.checkpoint_every == 0) return {};
  if (plan_->num_sources() != 0 ||
      std::ranges::any_of(plan_->state_needs(), [](const StateNeeds& need) { return need.meta || need.stateful; }))
    return fail(Code::Unsupported,
                "checkpoint_every: the network has feed links, skips between cells, stateful or metacognition layers");
  std::size_t running = 0;
  for (std::size_t i = 0; i < network_->num_cells(); ++i)
    if (network_->cell(i).runs() && running++ % options_.checkpoint_every == 0) first.push_back(i);
  if (!first.empty()) first.front() = 0;
  return {};
}

// Only the last segment keeps its tape; the others leave their inputs. Who looks on sees each layer's forward now and
// not again in backward; the session's own watch, which wants forwards that keep, sees those.
ConstView NetworkSession::run_segments(const Exec& exec, const ConstView& x) {
  auto& [first, inputs, gradients, mark] = segments_;
  inputs.assign(1, x);
  const Call keeping = call_;
  call_.tape = nullptr, call_.watch = watches_.other();
  std::size_t widest = x.shape.elements();
  for (std::size_t s = 0; s + 1 < first.size() && !exec.status; ++s) {
    const ConstView& input = inputs.back();
    const auto shape = plan_->output_shape(input.shape, first[s], first[s + 1]);  // checked by prepare()
    const View output = exec.arena.view(*shape, element());
    widest = std::max(widest, shape->elements());
    const ArenaScope scope(exec.arena);
    copy(exec, plan_->forward({exec, call_}, input, first[s], first[s + 1]), output);
    inputs.push_back(output);
  }
  call_.tape = keeping.tape, call_.watch = keeping.watch;
  for (std::byte*& gradient : gradients) gradient = exec.arena.take<std::byte>(widest * bytes_of(element()));
  mark = exec.arena.mark();
  if (exec.status) return x;
  return plan_->forward({exec, call_}, inputs.back(), first.back(), network_->num_cells());
}

void NetworkSession::segments_backward(const Exec& exec, const ConstView& dy, const View& dx) {
  const auto& [first, inputs, gradients, mark] = segments_;
  const Run run(exec, call_);
  ConstView gradient = dy;
  for (std::size_t s = first.size(); s-- > 0 && !exec.status;) {
    const ConstView& input = inputs[s];
    const std::size_t end = s + 1 < first.size() ? first[s + 1] : network_->num_cells();
    if (s + 1 < first.size()) {
      exec.arena.rewind(mark);
      tape_.clear();
      Run again = run;
      again.statistics = nullptr, again.gate_loss = {}, again.watch = watches_.own();  // the rest is as the first time
      plan_->forward(again, input, first[s], end);
      if (exec.status) return;
    }
    const View next = s == 0 ? dx : View{gradients[s % 2], input.shape, element()};
    plan_->backward(run, gradient, next, first[s], end, options_.tween);
    gradient = next;
  }
}

Result<void> NetworkSession::prepare(const Shape& input) {
  LOOM_TRY_VOID(check_current());
  has_forward_ = false;  // the forward that a backward pass would belong to is void
  call_.inputs.external = call_.inputs.mask = nullptr, call_.training = false, call_.inputs.lengths = {};
  return plan_memory(input);
}

Result<void> NetworkSession::plan_memory(const Shape& input) {
  const FpEnvironment environment;
  const graph::FoldingBudget folding;  // one for the graphs of all layers
  planned_.reset();
  LOOM_TRY(output_, plan_->output_shape(input));
  const ConstView nothing{rehearsal_input(), input, element()};
  planned_ = Planned::of(call_, input);
  auto ready = rehearse(exec_with(arena_), [&](const Exec& rehearsal) {
                 const ConstView y = run_forward(rehearsal, nothing);
                 if (options_.backward && !rehearsal.status) run_backward(rehearsal, y);
               }).and_then([&](const Arena::Mark& needed) { return reserve(input, needed); });
  tape_.clear();
  if (!ready) planned_.reset();
  return ready;
}

Result<void> NetworkSession::reserve(const Shape& input, const Arena::Mark& needed) {
  if (needed.bytes() > options_.max_bytes)
    return fail(Code::OutOfMemory, "a call for inputs {} takes {:.1f} GB of memory, at most {:.1f} GB are allowed",
                input.text(), static_cast<double>(needed.bytes()) / 1e9, static_cast<double>(options_.max_bytes) / 1e9);
  arena_ = Arena(options_.device);
  auto made = Arena::create(needed, options_.device);
  if (!made) return at("activations", std::move(made).error());
  arena_ = *std::move(made);
  return states_.allocate();
}

Result<ConstView> NetworkSession::forward(const ConstView& x, const PassExtras& extras) {
  LOOM_TRY_VOID(check_current());
  if (x.element != element())
    return fail(Code::InvalidArgument, "the input is {}, the network computes in {}",
                x.element == Element::f64 ? "f64" : "f32", element() == Element::f64 ? "f64" : "f32");
  LOOM_TRY_VOID(check_lengths(extras.lengths, x.shape));
  has_forward_ = false;
  call_.training = extras.training, call_.step = extras.step, call_.first_sample = extras.first_sample;
  call_.share = extras.share, call_.loss_scale = extras.loss_scale;
  call_.inputs.lengths = extras.lengths, call_.inputs.external = extras.external, call_.inputs.mask = extras.mask;
  if (!planned_ || !planned_->holds(Planned::of(call_, x.shape))) {
    LOOM_TRY_VOID(plan_memory(x.shape));
  }
  const FpEnvironment environment;
  LOOM_TRY_VOID(states_.begin());
  const Exec now = exec_with(arena_, extras.cancel);
  if (watch_ != nullptr) watch_->begin(PassKind::Forward, call_.step, plan_->wiring());
  const ConstView y = run_forward(now, x);
  states_.end(!now.status);
  if (now.status) return error_of_pass(now);
  has_forward_ = options_.backward;
  if (call_.training) {
    LOOM_TRY_VOID(keep_statistics(now, extras.unmeasured));
  }
  return y;
}

Result<void> NetworkSession::keep_statistics(const Exec& exec, const Tensor& unmeasured) {
  Result<void> done;
  const auto hand_over = [&](const Weight& measured, auto&& set) {
    network_->visit_weights([&](const std::string& path, Weight& w, const Layer&) {
      if (&w != &measured || !done) return;
      if (Result<void> kept = set(w); !kept) done = at(path, std::move(kept).error());
    });
  };
  if (exec.records() && unmeasured.data != nullptr) {
    statistics_.each([&](const Weight& measured, const void* values) {
      check_finite(exec, {values, 1, measured.elements(), element()}, unmeasured);
      hand_over(measured, [&](Weight& w) { return w.take(exec, values); });
    });
    return done;
  }
  statistics_.visit([&](const Weight& measured, const void* values) {
    hand_over(measured, [&](Weight& w) {
      return element() == Element::f64 ? w.set(std::span(static_cast<const double*>(values), w.elements()))
                                       : w.set(std::span(static_cast<const float*>(values), w.elements()));
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
  if (!segments_.first.empty())
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

Result<ConstView> NetworkSession::backward(const ConstView& dy, const View* d_external,
                                           const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_current());
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
  const Exec now = exec_with(arena_, cancel);
  if (watch_ != nullptr)
    watch_->begin(options_.carries_targets ? PassKind::Tween : PassKind::Backward, call_.step, plan_->wiring());
  const ConstView dx = run_backward(now, dy);
  call_.d_external = nullptr;
  if (now.status) return error_of_pass(now);
  return dx;
}

Result<ConstView> NetworkSession::forward_host(const ConstView& x, const PassExtras& extras) {
  Device* const device = options_.device;
  if (device == nullptr) return forward(x, extras);
  const DeviceTurn turn(device);
  Travelling& t = travelling_;
  PassExtras there = extras;
  LOOM_TRY(const ConstView input, sent(device, x, t.input));
  if (extras.external != nullptr) {
    LOOM_TRY(t.external_view, sent(device, *extras.external, t.external));
    there.external = &t.external_view;
  }
  if (extras.mask != nullptr) {
    LOOM_TRY(t.mask_view, sent(device, *extras.mask, t.mask));
    there.mask = &t.mask_view;
  }
  LOOM_TRY(const ConstView y, forward(input, there));
  auto here = brought(device, y, t.output);
  if (!here) {
    has_forward_ = false;
    if (is_stateful()) reset();
  }
  return here;
}

Result<ConstView> NetworkSession::backward_host(const ConstView& dy, const std::atomic<bool>* cancel) {
  Device* const device = options_.device;
  if (device == nullptr) return backward(dy, nullptr, cancel);
  const DeviceTurn turn(device);
  LOOM_TRY(const ConstView there, sent(device, dy, travelling_.dy));
  LOOM_TRY(const ConstView dx, backward(there, nullptr, cancel));
  return brought(device, dx, travelling_.dx);
}

Result<ConstView> NetworkSession::host_gradient(const Weight& weight, Buffer& memory) const {
  const DeviceTurn turn(options_.device);
  return brought(options_.device, {gradients_.of(weight), Shape::of({1, weight.elements()}), element()}, memory);
}

}  // namespace loom
