#include "layers/rmsnorm/rmsnorm.h"

#include <array>

#include "layers/channels.h"
#include "layers/norm_eps.h"
#include "layers/tween.h"

namespace loom {

void RmsNorm::fields(FieldVisitor& visit) {
  visit("input_height|output_height", config_.input_height, {1});
  visit("rms_norm_eps|eps", config_.rms_norm_eps);
  visit("weight_offset", config_.weight_offset);
}

Result<void> RmsNorm::build() {
  LOOM_TRY_VOID(check_eps(kind(), "rms_norm_eps", config_.rms_norm_eps));
  return gamma_.declare("gamma", WeightRole::TypedVector, std::array{config_.input_height}, {WeightInit::Rule::Ones});
}

Result<Shape> RmsNorm::output_shape(const Shape& input) const {
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "rmsnorm: {} input features, gamma has {}", input.cols(), config_.input_height);
  return input;
}

template <class T>
const T* RmsNorm::gains(const Exec& exec) const {
  const T* gamma = gamma_.values<T>(exec);
  if (config_.weight_offset == 0) return gamma;
  T* sums = exec.arena.take<T>(config_.input_height);
  offset_gains(exec, gamma, config_.weight_offset, config_.input_height, element_of<T>, sums);
  return sums;
}

void RmsNorm::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  with_element(x.element, [&]<class T>() { rms_norm(exec, x, gains<T>(exec), config_.rms_norm_eps, y); });
  if (pass.keeps()) pass.tape->push(x);
}

void RmsNorm::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView x = pass.tape->pop();
  const View xh = exec.arena.view(x.shape, x.element);
  const ChannelShape rows{x.shape.rows(), x.shape.cols(), 1};
  with_element(x.element, [&]<class T>() {
    const T* const gamma = gains<T>(exec);
    rms_norm_backward(exec, x, gamma, config_.rms_norm_eps, dy, xh, dx);
    target_before_norm(exec, pass, {.shape = rows, .eps = config_.rms_norm_eps}, x, gamma, dy, dx);
  });
  add_gain_gradients(exec, pass, rows, dy, xh, gamma_, {}, rows_of_block(x.shape));
}

}  // namespace loom
