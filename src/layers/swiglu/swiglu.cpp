#include "layers/swiglu/swiglu.h"

#include <algorithm>
#include <array>

#include "ops/matmul/matmul.h"

namespace loom {
namespace {

bool fits(const std::vector<float>& bias, std::size_t rows) { return bias.empty() || bias.size() == rows; }
const float* or_null(const std::vector<float>& bias) { return bias.empty() ? nullptr : bias.data(); }

}  // namespace

Result<LayerPtr> Swiglu::create(SwigluWeights w, Activation activation) {
  const std::size_t d = w.gate->cols(), n = w.gate->rows();
  if (w.up->cols() != d || w.up->rows() != n || w.down->cols() != n || w.down->rows() != d)
    return fail(Code::ShapeMismatch, "swiglu: gate is {} x {}, up {} x {}, down {} x {}", n, d, w.up->rows(), w.up->cols(), w.down->rows(),
                w.down->cols());
  if (!fits(w.gate_bias, n) || !fits(w.up_bias, n) || !fits(w.down_bias, d))
    return fail(Code::ShapeMismatch, "swiglu: a bias does not fit its matrix");
  return LayerPtr(new Swiglu(std::move(w), activation));
}

Result<Shape> Swiglu::output_shape(const Shape& input) const {
  if (input.cols() != w_.gate->cols()) return fail(Code::ShapeMismatch, "swiglu: {} input features, the gate has {}", input.cols(), w_.gate->cols());
  return input;
}

std::size_t Swiglu::scratch_bytes(const PlanSizes&, const Shape& input) const {
  const std::size_t n = w_.gate->rows(), rows = input.rows();
  return 2 * tensor_bytes(rows, n) + matmul_scratch_bytes(rows, std::max(n, input.cols()));
}

void Swiglu::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  const std::size_t rows = x.shape.rows();
  const Tensor gate = exec.arena.tensor(rows, w_.gate->rows());
  const Tensor up = exec.arena.tensor(rows, w_.up->rows());
  matmul(exec, x, std::array{MatmulJob{w_.gate.get(), gate, or_null(w_.gate_bias)}, MatmulJob{w_.up.get(), up, or_null(w_.up_bias)}});
  gated(exec, activation_, gate, up, gate);
  matmul(exec, gate, std::array{MatmulJob{w_.down.get(), y, or_null(w_.down_bias)}});
}

std::size_t Swiglu::resident_bytes() const {
  return w_.gate->resident_bytes() + w_.up->resident_bytes() + w_.down->resident_bytes() +
         (w_.gate_bias.size() + w_.up_bias.size() + w_.down_bias.size()) * sizeof(float);
}

void Swiglu::visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const {
  visit(path + ".gate", *w_.gate);
  visit(path + ".up", *w_.up);
  visit(path + ".down", *w_.down);
}

}  // namespace loom
