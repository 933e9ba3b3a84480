#include "host/mesh_run.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/checked.h"
#include "core/json.h"
#include "host/run_network.h"
#include "learning/tween/mesh_tween.h"
#include "network/meta.h"
#include "network/mesh/step_mesh.h"
#include "training/weight_hash.h"

namespace loom {
namespace {

constexpr std::size_t kMostMeshTicks = std::size_t{1} << 20;
constexpr std::size_t kMostMeshHistory = 65536;

// MeshNumbers in the element type of a network.
class MeshNumbers {
 public:
  ConstView take(std::span<const double> values, const Shape& shape, Element element) {
    if (element == Element::f64) {
      wide_.assign(values.begin(), values.end());
      return {wide_.data(), shape, element};
    }
    narrow_.assign(values.begin(), values.end());
    return {narrow_.data(), shape, element};
  }

 private:
  std::vector<double> wide_;
  std::vector<float> narrow_;
};

// The shape without its first axis; it has two or more.
Shape without_first(const Shape& shape) { return Shape::create(shape.extents().subspan(1)).value(); }

Digest hash_of_view(const ConstView& view) {
  Sha256 hash;
  hash.update(std::span(view.as<std::byte>(), view.shape.elements() * bytes_of(view.element)));
  return hash.finish();
}

std::vector<double> numbers_of(const ConstView& view) {
  std::vector<double> out(view.shape.elements());
  with_element(view.element, [&]<class T>() { std::copy_n(view.as<T>(), out.size(), out.begin()); });
  return out;
}

// One run of a mesh, tick by tick.
class MeshRunner {
 public:
  MeshRunner(Network& network, const TensorValues& inputs, const MeshRunOptions& o)
      : network_(network), inputs_(inputs), o_(o) {}

  Result<MeshRun> run(const std::function<void(const MeshTick&)>& on_tick) {
    LOOM_TRY_VOID(check_options());
    LOOM_TRY_VOID(create_mesh());
    LOOM_TRY(StepState state, mesh_->create_state());
    if (!o_.state.empty())
      if (auto restored = state.restore(std::as_bytes(std::span(o_.state))); !restored)
        return at(o_.state_name, std::move(restored).error());
    for (std::size_t i = 0; i < ticks_; ++i) {
      auto tick = one_tick(state, i);
      run_.stopped = !tick && tick.error().code == Code::Cancelled && i > 0;
      if (run_.stopped) break;
      if (!tick) return tl::make_unexpected(std::move(tick).error());
      if (on_tick) on_tick(*tick);
      run_.ticks.push_back(*std::move(tick));
    }
    if (const auto y = state.output(); y && run_.ticks.back().has_output) run_.ticks.back().values = numbers_of(*y);
    if (o_.backward && !run_.stopped) LOOM_TRY_VOID(go_back(state));
    if (o_.learn) run_.weights = weight_hash(network_);
    const std::vector<std::byte> saved = state.snapshot();
    run_.snapshot.assign(reinterpret_cast<const char*>(saved.data()), saved.size());
    return std::move(run_);
  }

 private:
  Result<void> check_options() const {
    if (o_.by_tick && o_.pulse)
      return fail(Code::InvalidArgument, "a pulse is one tick's input, and inputs by tick are given: choose one");
    if (o_.learn && o_.backward)
      return fail(Code::InvalidArgument,
                  "gradients go through ticks of equal weights, and learning moves them: choose "
                  "learning or backward");
    const bool aims = o_.learn || o_.backward;
    if (aims && o_.targets.values.empty()) return fail(Code::InvalidArgument, "learning and backward need targets");
    if (!aims && !o_.targets.values.empty())
      return fail(Code::InvalidArgument, "targets are read by learning and backward alone");
    if (o_.through != 0 && !o_.learn && !o_.backward)
      return fail(Code::InvalidArgument, "ticks to go back have no effect without learning or backward");
    if (o_.keeps_input && (o_.state.empty() || o_.by_tick || o_.pulse))
      return fail(Code::InvalidArgument, "an input is kept from a state, and neither by tick nor as a pulse");
    if (!(o_.learning_rate > 0) || !std::isfinite(o_.learning_rate))
      return fail(Code::InvalidArgument, "the learning rate is {}: expected a number above 0", o_.learning_rate);
    return {};
  }

  Result<void> create_mesh() {
    Shape input = inputs_.shape;
    if (o_.by_tick) {
      if (input.rank() < 2)
        return fail(Code::ShapeMismatch, "inputs by tick have the shape {}: expected ticks, samples and more",
                    input.text());
      input = without_first(input);
    }
    ticks_ = o_.ticks != 0 ? o_.ticks : o_.by_tick ? inputs_.shape[0] : 1;
    if (ticks_ > kMostMeshTicks)
      return fail(Code::InvalidArgument, "{} ticks: expected at most {}", ticks_, kMostMeshTicks);
    if (o_.by_tick && ticks_ > inputs_.shape[0])
      return fail(Code::ShapeMismatch, "{} ticks, the inputs have {}", ticks_, inputs_.shape[0]);
    if (auto checked = check_input(inputs_.values, inputs_.shape, network_.settings.activations); !checked)
      return at(o_.input_name, std::move(checked).error());
    LOOM_TRY(const auto plan, StepPlan::create(network_, input));
    const std::size_t history = o_.through != 0 ? std::min(o_.through, ticks_) : o_.backward ? ticks_ : 0;
    if (history > kMostMeshHistory)
      return fail(Code::LimitExceeded, "{} captured ticks: expected at most {}; go back fewer", history,
                  kMostMeshHistory);
    LOOM_TRY(mesh_, StepMesh::create(network_, plan,
                                     {.threads = o_.threads,
                                      .isa = o_.isa,
                                      .history_capacity = history,
                                      .backward = o_.backward,
                                      .keep_inputs = o_.learn}));
    if (mesh_->state_bytes() + mesh_->history_bytes() > o_.max_bytes)
      return fail(Code::OutOfMemory, "a state with {} captured ticks takes {} bytes, at most {} are allowed", history,
                  mesh_->state_bytes() + mesh_->history_bytes(), o_.max_bytes);
    const StepCell& last = mesh_->plan()->cells().back();
    if (o_.outputs && last.starts && last.output.elements() > o_.max_bytes / sizeof(double) / ticks_)
      return fail(Code::OutOfMemory, "outputs {} of {} ticks take more than the {} bytes that are allowed",
                  last.output.text(), ticks_, o_.max_bytes);
    if (last.starts && !o_.targets.values.empty()) LOOM_TRY_VOID(targets_of(last.output, 0).map([](auto) {}));
    if (o_.learn) LOOM_TRY_VOID(make_tween());
    captures_ = history != 0;
    run_.input_shape = input, run_.cells = mesh_->num_cells(), run_.threads = mesh_->threads();
    const auto warnings = mesh_->plan()->warnings();
    run_.warnings.assign(warnings.begin(), warnings.end());
    return {};
  }

  Result<void> make_tween() {
    LOOM_TRY(tween_, MeshTween::create(network_, *mesh_, o_.tween, {.ticks = o_.through}));
    return {};
  }

  Result<MeshTick> one_tick(StepState& state, std::size_t i) {
    if (o_.by_tick || (i == 0 && !o_.keeps_input)) LOOM_TRY_VOID(set_input(state, i));
    LOOM_TRY_VOID(mesh_->step(state, {.capture = captures_, .cancel = o_.cancel}));
    MeshTick tick;
    tick.tick = state.step_count();
    auto y = state.output();
    if (!y && y.error().code != Code::NoValue) return tl::make_unexpected(std::move(y).error());
    if (y) LOOM_TRY_VOID(look(*y, i, tick));
    if (y && o_.learn) {
      LOOM_TRY(const ConstView target, target_of(*y, i));
      LOOM_TRY_VOID(tween_->step(state, {.values = target}, o_.learning_rate, o_.cancel));
    }
    LOOM_TRY_VOID(commit(state));
    tick.state_hash = state.hash();
    return tick;
  }

  Result<void> set_input(StepState& state, std::size_t i) {
    const std::size_t count = run_.input_shape.elements();
    const auto values = std::span(inputs_.values).subspan(o_.by_tick ? i * count : 0, count);
    return state.set_input(input_.take(values, run_.input_shape, mesh_->element()), !o_.pulse);
  }

  // Changes that metacognition layers asked for; the driver of targets is made again after one.
  Result<void> commit(StepState& state) {
    StepState* const states[] = {&state};
    LOOM_TRY(const auto events, commit_meta(network_, *mesh_, states));
    const bool changed = std::ranges::any_of(events, [](const MetaEvent& e) { return e.refusal.empty(); });
    return changed && o_.learn ? make_tween() : Result<void>();
  }

  Result<void> look(const ConstView& y, std::size_t i, MeshTick& tick) {
    run_.output_shape = y.shape;
    tick.has_output = true, tick.shape = y.shape, tick.output_hash = hash_of_view(y);
    std::vector<double> values = numbers_of(y);
    double sum = 0;
    for (const double v : values) sum += v, tick.is_finite = tick.is_finite && std::isfinite(v);
    const auto [least, largest] = std::ranges::minmax(values);
    tick.least = least, tick.largest = largest, tick.mean = sum / static_cast<double>(values.size());
    if (!o_.targets.values.empty()) {
      LOOM_TRY(const auto targets, targets_of(y.shape, i));
      double squares = 0;
      for (std::size_t k = 0; k < values.size(); ++k) squares += (values[k] - targets[k]) * (values[k] - targets[k]);
      tick.error = squares / static_cast<double>(values.size());
    }
    if (o_.outputs) tick.values = std::move(values);
    return {};
  }

  // Targets of a tick: the same for each, or those of this one.
  Result<std::span<const double>> targets_of(const Shape& output, std::size_t i) const {
    const TensorValues& t = o_.targets;
    const std::size_t count = output.elements();
    if (t.shape == output) return std::span(t.values);
    if (t.shape.rank() > 1 && t.shape[0] >= ticks_ && without_first(t.shape) == output)
      return std::span(t.values).subspan(i * count, count);
    return at(o_.targets_name, Error{Code::ShapeMismatch,
                                     fmt::format("targets of the shape {}: expected {}, or these for each of {} ticks",
                                                 t.shape.text(), output.text(), ticks_)});
  }
  Result<ConstView> target_of(const ConstView& y, std::size_t i) {
    LOOM_TRY(const auto values, targets_of(y.shape, i));
    return target_.take(values, y.shape, y.element);
  }

  // Gradients of the mean squared error of the last tick.
  Result<void> go_back(StepState& state) {
    LOOM_TRY(const ConstView y, state.output());
    LOOM_TRY(const auto targets, targets_of(y.shape, ticks_ - 1));
    std::vector<double> dy(targets.size());
    with_element(y.element, [&]<class T>() {
      for (std::size_t k = 0; k < dy.size(); ++k)
        dy[k] = 2 * (static_cast<double>(y.as<T>()[k]) - targets[k]) / static_cast<double>(dy.size());
    });
    const ConstView slope = target_.take(dy, y.shape, y.element);
    LOOM_TRY_VOID(mesh_->backward(state, slope, o_.through == 0 ? ~std::size_t{0} : o_.through, o_.cancel));
    network_.visit_weights([&](const std::string& path, Weight& w, Layer&) { add_gradient(path, w); });
    return {};
  }

  void add_gradient(const std::string& path, const Weight& w) {
    const Gradients& all = mesh_->gradients();
    if (!all.written(w)) return;
    const ConstView g{all.of(w), Shape::of({1, w.elements()}), all.element()};
    double squares = 0;
    with_element(g.element, [&]<class T>() {
      for (std::size_t k = 0; k < w.elements(); ++k) {
        const auto v = static_cast<double>(g.as<T>()[k]);
        squares += v * v;
      }
    });
    run_.gradients.push_back({path, std::sqrt(squares), hash_of_view(g)});
  }

  Network& network_;
  const TensorValues& inputs_;
  const MeshRunOptions& o_;
  MeshRun run_;
  std::size_t ticks_ = 0;
  bool captures_ = false;
  std::unique_ptr<StepMesh> mesh_;
  std::unique_ptr<MeshTween> tween_;  // goes before the mesh
  MeshNumbers input_, target_;
};

}  // namespace

Result<MeshRun> run_mesh(Network& network, const TensorValues& inputs, const MeshRunOptions& options,
                         const std::function<void(const MeshTick&)>& on_tick) {
  if (inputs.values.size() != inputs.shape.elements())
    return fail(Code::ShapeMismatch, "{} values for the shape {}", inputs.values.size(), inputs.shape.text());
  return MeshRunner(network, inputs, options).run(on_tick);
}

Json to_json(const MeshTick& t) {
  Json out{{"tick", t.tick}, {"has_output", t.has_output}, {"state_hash", to_hex(t.state_hash)}};
  if (!t.has_output) return out;
  out["output_hash"] = to_hex(t.output_hash);
  if (t.is_finite) {  // JSON has no others
    out["least"] = t.least, out["mean"] = t.mean, out["largest"] = t.largest;
    if (t.error) out["error"] = *t.error;
  }
  if (!t.values.empty()) out["output"] = nested_json({t.values.data(), t.shape, Element::f64});
  return out;
}

Json to_json(const MeshRun& run) {
  Json ticks = Json::array(), gradients = Json::array();
  for (const MeshTick& tick : run.ticks) ticks.push_back(to_json(tick));
  for (const MeshGradient& g : run.gradients)
    gradients.push_back({{"weight", g.path}, {"norm", g.norm}, {"hash", to_hex(g.hash)}});
  Json out{{"input_shape", run.input_shape.extents()}, {"cells", run.cells}, {"threads", run.threads}};
  if (std::ranges::any_of(run.ticks, &MeshTick::has_output)) out["output_shape"] = run.output_shape.extents();
  out["warnings"] = run.warnings;
  out["ticks"] = std::move(ticks);
  if (!run.gradients.empty()) out["gradients"] = std::move(gradients);
  if (run.weights) out["weights_hash"] = to_hex(*run.weights);
  out["stopped"] = run.stopped;
  out["hash"] = run.ticks.empty() ? std::string() : to_hex(run.ticks.back().state_hash);
  return out;
}

}  // namespace loom
