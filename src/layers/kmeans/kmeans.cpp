#include "layers/kmeans/kmeans.h"

#include <array>

#include "layers/activation_fields.h"
#include "layers/adapter.h"
#include "layers/tween.h"
#include "ops/gemm/gemm.h"
#include "ops/kmeans/kmeans.h"
#include "ops/softmax/softmax.h"

namespace loom {

void Kmeans::fields(FieldVisitor& visit) {
  visit("num_clusters", config_.num_clusters, {1});
  visit("input_height|input_size|in_features", config_.input_height, {1});
  visit("kmeans_temperature", config_.temperature);
  visit.choice("output_mode|kmeans_output_mode", config_.output, {"probabilities", "features"});
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
    return fail(Code::ShapeMismatch, "kmeans: {} input features, the centers have {}", input.cols(), config_.input_height);
  return gives_features() ? input : input.with_cols(config_.num_clusters);
}

void Kmeans::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena, pass.keeps());
  const SoftmaxRun row{0, config_.num_clusters, 1};
  const bool linear = config_.activation.is_linear();
  // Backward wants the assignment and what the activation saw.
  const bool own_a = gives_features() || (pass.keeps() && !linear);
  const View a = own_a ? exec.arena.view(*x.shape.with_cols(config_.num_clusters), x.element) : y;
  const View pre = gives_features() && pass.keeps() && !linear ? exec.arena.view(y.shape, y.element) : gives_features() ? y : a;
  {
    const ArenaScope decoded(exec.arena);
    with_element(x.element, [&]<class T>() {
      const T* centers = adapted_values<T>(exec, centers_);
      kmeans_scores(exec, x, centers, t2(), a);
      softmax(exec, a, 1, {&row, 1}, a);
      if (gives_features()) gemm(exec, Operand::of(a), {centers, config_.input_height, 1}, config_.num_clusters, pre);
    });
  }
  if (!linear) activate(exec, config_.activation, pre, y);
  if (!pass.keeps()) return;
  for (const ConstView& kept : {x, ConstView(a), ConstView(pre)}) pass.tape->push(kept);
}

void Kmeans::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView pre = pass.tape->pop(), a = pass.tape->pop(), x = pass.tape->pop();
  const SoftmaxRun row{0, config_.num_clusters, 1};
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = exec.arena.view(dy.shape, dy.element);
    through_activation(exec, pass, config_.activation, pre, dy, slope);
    g = slope;
  }
  if (pass.tween != nullptr) return tween(exec, pass, x, a, g, dx);
  const View u = exec.arena.view(a.shape, a.element);  // the gradient of l
  with_element(x.element, [&]<class T>() {
    const T* centers = adapted_values<T>(exec, centers_);
    if (gives_features()) gemm(exec, Operand::of(g), {centers, 1, config_.input_height}, config_.input_height, u);
    softmax_backward(exec, a, gives_features() ? ConstView(u) : g, 1, {&row, 1}, u);
    if (void* dc = pass.gradients == nullptr ? nullptr : pass.gradients->of(centers_))
      kmeans_center_gradient(exec, x, centers, u, gives_features() ? a : ConstView(), gives_features() ? g : ConstView(), t2(),
                             rows_of_block(x.shape), dc);
    if (pass.gradients != nullptr && is_adapted(centers_)) {
      each_run(x.shape.rows(), rows_of_block(x.shape), [&](std::size_t first, std::size_t rows) {
        const ArenaScope run(exec.arena);
        const auto part = [&](ConstTensor t) { return ConstTensor{t.row<T>(first), rows, t.cols, t.element}; };
        const View dc = exec.arena.view(centers_.shape(), x.element);
        fill_zero(exec, dc);
        kmeans_center_gradient(exec, part(x), centers, part(u), gives_features() ? part(a) : ConstTensor(),
                               gives_features() ? part(g) : ConstTensor(), t2(), rows, dc.data);
        adapter_gradients(exec, pass, centers_, dc);
      });
    }
    if (dx.data != nullptr) kmeans_input_gradient(exec, x, centers, u, t2(), dx);
  });
}

// Centers move to or from the rows (engine L-132): probabilities by e_k (x - c_k), features by a_k e.
void Kmeans::tween(const Exec& exec, const Pass& pass, const ConstView& x, const ConstView& a, const ConstView& g, const View& dx) const {
  View pull = exec.arena.view(a.shape, a.element);
  gives_features() ? fill_zero(exec, pull) : copy(exec, g, pull);
  with_element(x.element, [&]<class T>() {
    const T* centers = adapted_values<T>(exec, centers_);
    if (void* dc = pass.gradients == nullptr ? nullptr : pass.gradients->of(centers_))
      kmeans_center_gradient(exec, x, centers, pull, gives_features() ? a : ConstView(), gives_features() ? g : ConstView(), 1, rows_of_block(x.shape), dc);
    if (dx.data == nullptr) return;
    gives_features() ? copy(exec, g, dx) : kmeans_input_gradient(exec, x, centers, pull, 1, dx);
  });
}

}  // namespace loom
