// The backward pass of a graph in a cell: the graph of gradients, run over blocks of samples.

#include <algorithm>

#include "core/nearest.h"
#include "layers/graph/graph_layer.h"
#include "layers/graph/graph_values.h"
#include "ops/elementwise/elementwise.h"
#include "ops/until_cancelled.h"

namespace loom {
namespace {

constexpr std::size_t kBlock = 16;  // samples, the runs in which gradients of weights are summed (numerics N-05)

}  // namespace

// Tensors of one pass, and what it wants.
struct GraphLayer::Pass {
  ConstView x, dy;
  View dx;
  std::vector<bool> wanted;           // gradients of the weights, and last of x
  std::vector<const float*> weights;  // their values
};

graph::Model GraphLayer::with_weights_as_inputs() const {
  graph::Model model = model_;
  std::erase_if(model.body.constants, [](const auto& constant) { return constant.second.data == nullptr; });
  for (const Weight& w : weights_) model.body.inputs.push_back({w.name()});
  return model;
}

Result<graph::GradientModel> GraphLayer::differentiated(const std::vector<bool>& wanted) const {
  std::vector<std::string> of;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (wanted[i]) of.push_back(weights_[i].name());
  if (wanted.back()) of.push_back(input_.name);
  return graph::gradient_model(with_weights_as_inputs(), of);
}

// Frees the weights that "train_weights" names. A gradient has to reach each of them; "*" passes over others.
Result<void> GraphLayer::choose_trained() {
  const std::vector<std::string>& names = config_.train_weights;
  std::vector<bool> wanted(weights_.size() + 1, false);
  std::vector<std::string_view> known{"*"};
  for (const Weight& w : weights_) known.push_back(w.name());
  const bool all = names.size() == 1 && names[0] == "*";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = std::ranges::find(known, names[i]);
    if (found == known.end() || (*found == "*" && !all))
      return fail_at({"train_weights", std::to_string(i)}, Code::UnknownName,
                     "the graph has no weight \"{}\"; nearest: {}", printable(names[i]),
                     nearest_names(names[i], known));
    if (!all) wanted[static_cast<std::size_t>(found - known.begin()) - 1] = true;
  }
  if (names.empty()) return {};
  if (all) std::fill(wanted.begin(), wanted.end() - 1, true);
  auto made = differentiated(wanted);
  if (!made) return under({"train_weights"}, std::move(made).error());
  std::size_t next = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (!wanted[i]) continue;
    const bool reached = !made->gradients[next++].empty();
    if (!reached && !all)
      return fail_at({"train_weights"}, Code::Unsupported, "no gradient reaches the weight \"{}\"",
                     printable(weights_[i].name()));
    weights_[i].freeze(!reached);
  }
  return {};
}

Result<std::shared_ptr<GraphLayer::Ready>> GraphLayer::backward_ready(const Run& run, const Shape& block,
                                                                      const std::vector<bool>& wanted) const {
  auto ready = std::make_shared<Ready>();
  {
    const Mutex::Guard guard(lock_);
    for (const auto& known : backward_) {
      if (known->wanted != wanted) continue;
      ready->program = known->program, ready->gradients = known->gradients;
      if (known->input == block && known->threads == run.exec.pool.threads() && known->kernels == &run.exec.kernels &&
          known->device == run.arena().device())
        return known;
    }
  }
  ready->input = block, ready->threads = run.exec.pool.threads(), ready->kernels = &run.exec.kernels;
  ready->device = run.arena().device(), ready->wanted = wanted;
  if (ready->program == nullptr) {
    LOOM_TRY(graph::GradientModel made, differentiated(wanted));
    std::size_t next = 0;
    std::ptrdiff_t output = 0;
    for (const bool is_wanted : wanted)
      ready->gradients.push_back(is_wanted && !made.gradients[next++].empty() ? output++ : -1);
    graph::ProgramOptions options = kGraphLimits;
    options.has_gradients = true;
    LOOM_TRY(ready->program, graph::Program::create(std::move(made.model), options));
  }
  LOOM_TRY(ready->dims, dims_of_call(block, ready->calls));
  LOOM_TRY(const auto forward, plan_of(*shapes_, run, block, ready->dims));
  std::vector<graph::Value> inputs{{input_.type, ready->dims}};
  for (const graph::InputInfo& info : fixed_) {
    LOOM_TRY(graph::Value value, fixed_value(info, block));
    inputs.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < weights_.size(); ++i) inputs.push_back(weight_shape(i));
  const graph::Value& output = forward->values[forward->outputs[0]];
  inputs.push_back({output.type, output.dims});
  LOOM_TRY(ready->plan, ready->program->plan(run, inputs, nullptr));
  const Mutex::Guard guard(lock_);
  if (backward_.size() == kMostGraphPlans) backward_.erase(backward_.begin());
  backward_.push_back(ready);
  return ready;
}

Result<void> GraphLayer::differentiate_block(const Run& run, const Pass& pass, std::size_t first,
                                             std::size_t samples) const {
  const Shape& whole = pass.x.shape;
  Shape block = whole;
  if (samples != whole[0]) {
    graph::Dims extents(whole.extents().begin(), whole.extents().end());
    extents[0] = samples;
    LOOM_TRY(block, Shape::create(extents));
  }
  LOOM_TRY(const std::shared_ptr<Ready> ready, backward_ready(run, block, pass.wanted));
  const auto rows_of = [&]<class V>(const V& view) {
    const std::size_t n = view.shape.elements() / whole[0] * samples;
    const std::size_t skipped = view.shape.elements() / whole[0] * first * bytes_of(view.element);
    if constexpr (std::is_same_v<V, View>)
      return Tensor{view.template as<std::byte>() + skipped, 1, n, view.element};
    else
      return ConstTensor{view.template as<std::byte>() + skipped, 1, n, view.element};
  };
  const ArenaScope scope(run.arena());
  const graph::Plan& plan = *ready->plan;
  graph::Work work(plan);
  LOOM_TRY_VOID(give_input(run, work, plan, 0, rows_of(pass.x)));
  for (std::size_t i = 0; i < weights_.size(); ++i)
    work.give(plan.inputs[1 + fixed_.size() + i], pass.weights[i], false);
  LOOM_TRY_VOID(give_input(run, work, plan, 1 + fixed_.size() + weights_.size(), rows_of(pass.dy)));
  LOOM_TRY_VOID(graph::Program::run(run, plan, model_.opset, work));
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (!pass.wanted[i] || ready->gradients[i] < 0) continue;
    const Tensor sum{run.gradient(weights_[i]), 1, weights_[i].elements(), run.gradients->element()};
    const Tensor term = run.tensor(1, sum.cols, sum.element);
    LOOM_TRY_VOID(take_output(run, plan, work, static_cast<std::size_t>(ready->gradients[i]), term));
    add(run, sum, term, sum);
  }
  if (!pass.wanted.back()) return {};
  const Tensor dx = rows_of(pass.dx);
  if (ready->gradients.back() >= 0)
    return take_output(run, plan, work, static_cast<std::size_t>(ready->gradients.back()), dx);
  fill_zero(run, dx);  // a weight is asked for, and x does not reach the output
  return {};
}

Result<void> GraphLayer::differentiate(const Run& run, const Pass& pass) const {
  std::size_t calls = 1;
  LOOM_TRY_VOID(dims_of_call(pass.x.shape, calls));
  const std::size_t samples = pass.x.shape[0];
  const std::size_t step = calls > 1 ? 1 : run.batches ? std::min(samples, kBlock) : samples;
  for (std::size_t first = 0; first < samples; first += step) {
    // A rehearsal takes the memory of the first and of the last block.
    if (run.rehearsal() && first != 0 && first + step < samples) continue;
    LOOM_TRY_VOID(differentiate_block(run, pass, first, std::min(step, samples - first)));
    if (is_cancelled(run)) break;
  }
  return {};
}

void GraphLayer::backward(const Run& run, const ConstView& dy, const View& dx) const {
  Pass pass{run.saved(), dy, dx, {}, {}};
  for (const Weight& w : weights_) pass.wanted.push_back(run.gradients != nullptr && !w.is_frozen());
  pass.wanted.push_back(dx.data != nullptr);
  if (std::ranges::find(pass.wanted, true) == pass.wanted.end() || pass.x.shape.elements() == 0) return;
  const ArenaScope scope(run.arena());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    graph::Value value = weight_shape(i);
    float* const to = run.note<float>(weights_[i].elements());
    value.data = to;
    if (!run.rehearsal()) {
      weights_[i].decode(0, weights_[i].elements(), to);
      graph::round_to_type(value);
    }
    pass.weights.push_back(to);
  }
  if (auto done = differentiate(run, pass); !done) run.fail(std::move(done).error());
}

void GraphLayer::target(const Run& run, const TweenRules& /*rules*/, const ConstView& /*e*/, const View& d) const {
  run.saved();
  const bool learns = std::ranges::any_of(weights_, [](const Weight& w) { return !w.is_frozen(); });
  if (learns || d.data != nullptr) run.fail(no_backward(*this));
}

}  // namespace loom
