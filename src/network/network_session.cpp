#include "network/network_session.h"

#include "core/fp_environment.h"
#include "ops/all.h"

namespace loom {

Result<std::unique_ptr<NetworkSession>> NetworkSession::create(const Network& network, const NetworkSessionOptions& options) {
  std::unique_ptr<NetworkSession> s(new NetworkSession);
  s->network_ = &network;
  s->options_ = options;
  LOOM_TRY(s->pool_, ThreadPool::create(options.threads > 0 ? options.threads : ThreadPool::default_threads()));
  LOOM_TRY(s->kernels_, kernels_for(options.isa.value_or(best_isa())));
  if (options.backward) {
    std::vector<std::size_t> sizes;
    network.visit_weights([&](const std::string&, const Weight& w, const Layer&) { sizes.push_back(w.elements()); });
    LOOM_TRY(s->gradients_, Gradients::create(sizes, s->element()));
    s->pass_.tape = &s->tape_;
    s->pass_.gradients = &s->gradients_;
  }
  s->cells_.resize(network.num_cell_sources()), s->d_cells_.resize(network.num_cell_sources());
  s->pass_.cells = s->cells_, s->pass_.d_cells = s->d_cells_;
  s->pass_.seed = network.settings.seed;
  return s;
}

ConstView NetworkSession::run_forward(const Exec& exec, const ConstView& x) {
  arena_.rewind(0);
  tape_.clear();
  return network_->forward(exec, pass_, x, 0, network_->num_cells());
}

ConstView NetworkSession::run_backward(const Exec& exec, const ConstView& dy) {
  const View dx = arena_.view(*input_, element());
  network_->backward(exec, pass_, dy, dx, 0, network_->num_cells());
  return dx;
}

Result<void> NetworkSession::prepare(const Shape& input) {
  const FpEnvironment environment;
  LOOM_TRY(output_, network_->output_shape(input, 0, network_->num_cells()));
  has_forward_ = false;
  input_.reset();
  arena_ = Arena::measuring();
  const ConstView nothing{nullptr, input, element()};
  input_ = input;
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
  auto arena = Arena::create(arena_.peak());
  if (!arena) {
    input_.reset();
    return tl::make_unexpected(std::move(arena).error());
  }
  arena_ = std::move(*arena);
  return {};
}

Result<ConstView> NetworkSession::forward(const ConstView& x, const PassExtras& extras) {
  if (x.element != element()) return fail(Code::InvalidArgument, "the input is {}, the network computes in {}", x.element == Element::f64 ? "f64" : "f32", element() == Element::f64 ? "f64" : "f32");
  pass_.training = extras.training, pass_.step = extras.step, pass_.lengths = extras.lengths, pass_.external = extras.external;
  if (!input_ || !(*input_ == x.shape)) {
    LOOM_TRY_VOID(prepare(x.shape));
  }
  const FpEnvironment environment;
  const Exec now = exec();
  const ConstView y = run_forward(now, x);
  has_forward_ = options_.backward && !now.status;
  if (now.status) return tl::make_unexpected(*now.status);
  return y;
}

Result<ConstView> NetworkSession::backward(const ConstView& dy) {
  if (!has_forward_) return fail(Code::InvalidState, "backward needs a forward before it, in a session that was created for backward passes");
  if (!(dy.shape == output_) || dy.element != element())
    return fail(Code::ShapeMismatch, "a gradient of shape {}, the output has {}", dy.shape.text(), output_.text());
  has_forward_ = false;
  const FpEnvironment environment;
  const Exec now = exec();
  const ConstView dx = run_backward(now, dy);
  if (now.status) return tl::make_unexpected(*now.status);
  return dx;
}

}  // namespace loom
