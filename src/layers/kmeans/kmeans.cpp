#include "layers/kmeans/kmeans.h"

#include <array>

#include "layers/activation_fields.h"
#include "layers/adapter.h"
#include "layers/tween.h"
#include "ops/gemm/gemm.h"
#include "ops/kmeans/kmeans.h"
#include "ops/softmax/softmax.h"

namespace loom {

constinit const LayerKind Kmeans::kKind{
    .id = 14,
    .name = "kmeans",
    .help = "a = softmax(-d^2 / (2 T^2)), d the distances to the centres; y = act(a) or act(sum of a times centre)",
    .shapes = "[..., in_features] -> [..., num_clusters], or the same shape where output_mode is features",
    .make = make_layer<Kmeans>,
    .width_key = "input_height",
    .fit = fit};

LayerPtr Kmeans::fit(const FitRequest& r) {
  using Output = KmeansConfig::Output;
  return std::make_unique<Kmeans>(KmeansConfig{.num_clusters = r.num_clusters,
                                               .input_height = r.width(),
                                               .output = r.in == r.out ? Output::Features : Output::Probabilities});
}

void Kmeans::fields(FieldVisitor& visit) {
  visit({"num_clusters", "Required. Number of centres"}, config_.num_clusters, {1});
  visit({"input_height|input_size|in_features", "Required. Features of the input and of a centre"},
        config_.input_height, {1});
  visit({"kmeans_temperature", "T, 1e-6 to 1e6: the smaller, the more a row belongs to one centre"},
        config_.temperature);
  visit.choice({"output_mode|kmeans_output_mode", "probabilities: a; features: the mean of the centres, weighted by a"},
               config_.output, {"probabilities", "features"});
  visit_activation(visit, config_.activation);
}

Result<void> Kmeans::build() {
  if (!(config_.temperature >= 1e-6 && config_.temperature <= 1e6))
    return fail(Code::InvalidConfig, "kmeans_temperature {}, expected 1e-6 to 1e6", config_.temperature);
  const std::size_t k = config_.num_clusters, n = config_.input_height;
  return centers_.declare("centers", WeightRole::Matrix, std::array{k, n}, {WeightInit::Rule::Glorot, n, k});
}

Result<Shape> Kmeans::output_shape(const Shape& input) const {
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "kmeans: {} input features, the centers have {}", input.cols(),
                config_.input_height);
  return gives_features() ? input : input.with_cols(config_.num_clusters);
}

void Kmeans::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  const SoftmaxRun row{0, config_.num_clusters, 1};
  const bool linear = config_.activation.is_linear();
  // Backward wants the assignment and what the activation saw.
  const bool own_a = gives_features() || (run.keeps() && !linear);
  const View a = own_a ? run.view(*x.shape.with_cols(config_.num_clusters), x.element) : y;
  const View pre = gives_features() && run.keeps() && !linear ? run.view(y.shape, y.element) : gives_features() ? y : a;
  {
    const ArenaScope decoded(run.arena());
    with_element(x.element, [&]<class T>() {
      const T* centers = adapted_values<T>(run, centers_);
      kmeans_scores(run, x, centers, t2(), a);
      softmax(run, a, 1, {&row, 1}, a);
      if (gives_features()) gemm(run, Operand::of(a), {centers, config_.input_height, 1}, config_.num_clusters, pre);
    });
  }
  if (!linear) activate(run, config_.activation, pre, y);
  run.save(x, a, pre);
}

void Kmeans::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [x, a, pre] = run.saved<3>();
  const SoftmaxRun row{0, config_.num_clusters, 1};
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = run.view(dy.shape, dy.element);
    activate_backward(run, config_.activation, pre, dy, slope);
    g = slope;
  }
  const View u = run.view(a.shape, a.element);  // the gradient of l
  with_element(x.element, [&]<class T>() {
    const T* centers = adapted_values<T>(run, centers_);
    if (gives_features()) gemm(run, Operand::of(g), {centers, 1, config_.input_height}, config_.input_height, u);
    softmax_backward(run, a, gives_features() ? ConstView(u) : g, 1, {&row, 1}, u);
    if (void* dc = run.gradients == nullptr ? nullptr : run.gradients->of(run, centers_))
      kmeans_center_gradient(run, x, centers, u, gives_features() ? a : ConstView(), gives_features() ? g : ConstView(),
                             t2(), rows_of_block(x.shape), dc);
    if (run.gradients != nullptr && is_adapted(centers_, run.adapters)) {
      each_run(x.shape.rows(), rows_of_block(x.shape), [&](std::size_t first, std::size_t rows) {
        const ArenaScope part_scope(run.arena());
        const auto part = [&](ConstTensor t) { return ConstTensor{t.row<T>(first), rows, t.cols, t.element}; };
        const View dc = run.view(centers_.shape(), x.element);
        fill_zero(run, dc);
        kmeans_center_gradient(run, part(x), centers, part(u), gives_features() ? part(a) : ConstTensor(),
                               gives_features() ? part(g) : ConstTensor(), t2(), rows, dc.data);
        adapter_gradients(run, centers_, dc);
      });
    }
    if (dx.data != nullptr) kmeans_input_gradient(run, x, centers, u, t2(), dx);
  });
}

// Centers move to or from the rows (engine L-132): probabilities by e_k (x - c_k), features by a_k e.
void Kmeans::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const auto [x, a, pre] = run.saved<3>();
  ConstView g = e;
  if (!config_.activation.is_linear()) {
    const View before = run.view(e.shape, e.element);
    target_before_activation(run, rules, config_.activation, pre, e, before);
    g = before;
  }
  View pull = run.view(a.shape, a.element);
  gives_features() ? fill_zero(run, pull) : copy(run, g, pull);
  with_element(x.element, [&]<class T>() {
    const T* centers = adapted_values<T>(run, centers_);
    if (void* dc = run.gradient(centers_))
      kmeans_center_gradient(run, x, centers, pull, gives_features() ? a : ConstView(),
                             gives_features() ? g : ConstView(), 1, rows_of_block(x.shape), dc);
    if (d.data == nullptr) return;
    gives_features() ? copy(run, g, d) : kmeans_input_gradient(run, x, centers, pull, 1, d);
  });
}

}  // namespace loom
