// Gradients of products of matrices, convolutions and pools, by the backward functions of ops/.

#include <algorithm>

#include "graph/gradient_ops.h"
#include "graph/products.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/gemm_each.h"

namespace loom::graph {
namespace {

const std::byte* element_at(const Value& v, std::size_t i) {
  return v.as<std::byte>() + i * bytes_of(store_of(v.type));
}

// One factor's gradient: a product of matrices [rows, depth] and [depth, cols] for each product of the stack.
struct Factor {
  Operand a, b;                          // of the first product
  const std::vector<std::size_t>& of_a;  // elements from the first one to each
  const std::vector<std::size_t>& of_b;
  const std::vector<std::size_t>& to;
  std::size_t rows, depth, cols;
};

Operand moved_by(Operand operand, std::size_t elements, Store store) {
  operand.data = static_cast<const std::byte*>(operand.data) + elements * bytes_of(store);
  return operand;
}

// Products that go to the same place are added in order.
void add_products(const Exec& exec, const Factor& f, Value& to) {
  const Element element = element_of_value(to);
  const Store store = store_of(to.type);
  fill_zero(exec, {to.data, 1, to.elements(), element});
  for (std::size_t i = 0; i < f.to.size(); ++i) {
    const ArenaScope scope(exec.arena);
    const Tensor c{const_cast<std::byte*>(element_at(to, f.to[i])), f.rows, f.cols, element};
    if (f.depth != 0 && f.rows != 0 && f.cols != 0)
      gemm(exec, moved_by(f.a, f.of_a[i], store), moved_by(f.b, f.of_b[i], store), f.depth, c, Into::Add);
    if (exec.rehearsal() && i == 1) break;  // every product takes the same memory
  }
}

// Stacks of rows that meet one matrix are a taller matrix.
void join_rows(Product& p) {
  const bool same = std::ranges::all_of(p.b, [](std::size_t at) { return at == 0; });
  for (std::size_t i = 0; i < p.a.size(); ++i)
    if (!same || p.a[i] != i * p.m * p.k) return;
  p.m *= p.a.size();
  p.a.assign(1, 0), p.b.assign(1, 0);
}

Result<void> matmul_gradient(Op& op) {
  const Backward b(op);
  LOOM_TRY(Product p, product_of(op, b.x(0), b.x(1)));
  if (p.a.empty()) return op.refuse(Code::Unsupported, "of no matrices");
  join_rows(p);
  std::vector<std::size_t> of_y(p.a.size());
  for (std::size_t i = 0; i < of_y.size(); ++i) of_y[i] = i * p.m * p.n;
  const void* const dy = b.dy().data;
  if (b.wants(0)) {
    LOOM_TRY(Value* const da, b.dx(0));
    add_products(op.exec, {{dy, p.n, 1}, {b.x(1).data, 1, p.n}, of_y, p.b, p.a, p.m, p.n, p.k}, *da);
    if (!op.measures()) round_to_type(*da);
  }
  if (b.wants(1)) {
    LOOM_TRY(Value* const db, b.dx(1));
    add_products(op.exec, {{b.x(0).data, 1, p.k}, {dy, p.n, 1}, p.a, of_y, p.b, p.k, p.m, p.n}, *db);
    if (!op.measures()) round_to_type(*db);
  }
  return {};
}

void finish(const Op& op, double factor, Value& to) {
  const Tensor whole = tensor_of(to, to.elements());
  if (factor != 1) scale(op.exec, whole, factor, whole);
  if (!op.measures()) round_to_type(to);
}

// y = alpha a' b' + beta c.
Result<void> gemm_gradient(Op& op) {
  const Backward b(op);
  const bool turn_a = op.integer("transA", 0) != 0, turn_b = op.integer("transB", 0) != 0;
  const std::size_t m = b.x(0).dims[turn_a ? 1 : 0], k = b.x(0).dims[turn_a ? 0 : 1], n = b.y().dims[1];
  const double alpha = op.number("alpha", 1), beta = op.number("beta", 1);
  const void *const dy = b.dy().data, *const a = b.x(0).data, *const w = b.x(1).data;
  const Operand rows{dy, n, 1}, columns{dy, 1, n};  // dy and dy turned
  if (b.wants(0)) {
    LOOM_TRY(Value* const da, b.dx(0));
    const ArenaScope scope(op.exec.arena);
    if (turn_a)
      gemm(op.exec, turn_b ? Operand{w, 1, k} : Operand{w, n, 1}, columns, n, tensor_of(*da, m));
    else
      gemm(op.exec, rows, turn_b ? Operand{w, k, 1} : Operand{w, 1, n}, n, tensor_of(*da, k));
    finish(op, alpha, *da);
  }
  if (b.wants(1)) {
    LOOM_TRY(Value* const db, b.dx(1));
    const ArenaScope scope(op.exec.arena);
    if (turn_b)
      gemm(op.exec, columns, turn_a ? Operand{a, 1, m} : Operand{a, k, 1}, m, tensor_of(*db, k));
    else
      gemm(op.exec, turn_a ? Operand{a, m, 1} : Operand{a, 1, k}, rows, m, tensor_of(*db, n));
    finish(op, alpha, *db);
  }
  if (b.wants(2)) {
    LOOM_TRY(Value* const dc, b.dx(2));
    sum_to(op.exec, b.dy(), *dc);
    finish(op, beta, *dc);
  }
  return {};
}

Result<void> conv_gradient(Op& op) {
  const Backward b(op);
  const Op forward = b.forward();
  const bool turned = b.name() == "ConvTranspose";
  const Value &x = b.x(0), &w = b.x(1), &dy = b.dy();
  LOOM_TRY(const Convolution c, turned ? transposed_convolution_of(forward, x, w) : convolution_of(forward, x, w));
  const ConvGeometry& g = c.layout.geometry();
  LOOM_TRY(const PatchLayout reversed, PatchLayout::create(g.reversed(c.layout.extents()), g.in));
  const ConvSizes& n = c.sizes;
  const ConvSizes back{n.samples, n.groups, n.filters, n.channels};
  const Element element = element_of_value(x);
  if (b.wants(1)) {
    LOOM_TRY(Value* const dw, b.dx(1));
    fill_zero(op.exec, tensor_of(*dw, dw->elements()));
    if (turned)
      convolve_weight_gradient(op.exec, reversed, back, dy.data, x.data, false, dw->data, nullptr, element);
    else
      convolve_weight_gradient(op.exec, c.layout, n, x.data, dy.data, false, dw->data, nullptr, element);
    if (!op.measures()) round_to_type(*dw);
  }
  if (b.wants(2)) {
    LOOM_TRY(Value* const db, b.dx(2));
    fill_zero(op.exec, tensor_of(*db, db->elements()));
    convolve_bias_gradient(op.exec, n.samples, c.dims[1], count(c.window.out), dy.data, db->data, element);
    if (!op.measures()) round_to_type(*db);
  }
  if (!b.wants(0)) return {};
  LOOM_TRY(Value* const dx, b.dx(0));
  const void* ws = w.data;
  if (!turned) {
    void* const to = op.exec.arena.take<std::byte>(w.bytes());
    reverse_weight(op.exec, n, g.taps(), w.data, to, element);
    ws = to;
  }
  convolve(op.exec, reversed, back, dy.data, ws, nullptr, dx->data, element);
  if (!op.measures()) round_to_type(*dx);
  return {};
}

Result<void> pool_gradient(Op& op) {
  const Backward b(op);
  const Op forward = b.forward();
  const Value& x = b.x(0);
  LOOM_TRY(const Window w, pool_window(forward));
  const bool largest = b.name() == "MaxPool";
  const auto geometry = largest ? pool_geometry(x, w) : average_geometry(forward, x, w);
  if (!geometry || x.elements() == 0)
    return op.refuse(Code::Unsupported, "of these pads and dilations over {}", text_of(x.dims));
  LOOM_TRY(Value* const dx, b.dx(0));
  const std::size_t planes = x.dims[0] * x.dims[1];
  const ConstTensor dy = tensor_of(b.dy(), b.y().dims.back());
  const Tensor to = tensor_of(*dx, x.dims.back());
  if (largest)
    max_pool_backward(op.exec, *geometry, three(w.out, 1), tensor_of(x, x.dims.back()), planes, dy, to);
  else
    average_pool_backward(op.exec, *geometry, three(w.out, 1), planes, dy, to);
  if (!op.measures()) round_to_type(*dx);
  return {};
}

// Whole planes: the mean, or the first of the largest elements.
Result<void> global_pool_gradient(Op& op) {
  const Backward b(op);
  LOOM_TRY(Value* const dx, b.dx(0));
  if (op.measures()) return {};
  const Value& x = b.x(0);
  const std::size_t planes = x.dims[0] * x.dims[1], n = x.elements() / planes;
  const bool largest = b.name() == "GlobalMaxPool";
  with_floats(x, [&]<class T>(T) {
    for_rows(op.exec, planes, n, [&](std::size_t p) {
      const T* const from = x.as<T>() + p * n;
      T* const to = dx->as<T>() + p * n;
      const T dy = b.dy().as<T>()[p];
      std::fill_n(to, n, largest ? T{} : snap(dy / static_cast<T>(n)));
      if (largest) to[std::max_element(from, from + n) - from] = dy;
    });
  });
  round_to_type(*dx);
  return {};
}

// Every term of a sum gives dy times the other factors to each factor: in f64, in the order of the terms.
Result<void> einsum_gradient(Op& op) {
  const Backward b(op);
  const Op forward = b.forward();
  LOOM_TRY(const Equation e, equation_of(forward));
  std::vector<double*> sums(b.num_ins, nullptr);
  for (std::size_t i = 0; i < b.num_ins; ++i) {
    if (!b.wants(i)) continue;
    LOOM_TRY_VOID(b.dx(i));
    sums[i] = op.exec.arena.take<double>(b.x(i).elements());
    if (!op.measures()) std::fill_n(sums[i], b.x(i).elements(), 0.0);
  }
  if (op.measures()) return {};
  const auto strides = strides_of(forward, e);
  const std::size_t n = count(e.walked), inner = n / std::max<std::size_t>(b.y().elements(), 1);
  const auto whole = row_major_strides(e.walked);
  std::vector<std::size_t> at(b.num_ins);
  for (std::size_t k = 0; k < n && !(k % (1 << 16) == 0 && op.is_cancelled()); ++k) {
    for (std::size_t i = 0; i < b.num_ins; ++i) {
      at[i] = 0;
      for (std::size_t a = 0; a < e.order.size(); ++a) at[i] += k / whole[a] % e.walked[a] * strides[i][a];
    }
    for (std::size_t i = 0; i < b.num_ins; ++i) {
      if (sums[i] == nullptr) continue;
      double product = b.dy().number(k / inner);
      for (std::size_t j = 0; j < b.num_ins; ++j) product *= j == i ? 1.0 : b.x(j).number(at[j]);
      sums[i][at[i]] += product;
    }
  }
  for (std::size_t i = 0; i < b.num_ins; ++i) {
    if (sums[i] == nullptr) continue;
    const Value& dx = (*op.outs)[i];
    with_floats(dx, [&]<class T>(T) {
      for (std::size_t k = 0; k < dx.elements(); ++k) dx.as<T>()[k] = snap(stored<T>(sums[i][k]));
    });
    round_to_type(dx);
  }
  return {};
}

}  // namespace

std::span<const GradientRow> product_gradients() {
  static constexpr std::array kRows{
      GradientRow{"MatMul", matmul_gradient},
      GradientRow{"Gemm", gemm_gradient},
      GradientRow{"Einsum", einsum_gradient},
      GradientRow{"Conv", conv_gradient},
      GradientRow{"ConvTranspose", conv_gradient},
      GradientRow{"MaxPool", pool_gradient, 1},
      GradientRow{"AveragePool", pool_gradient, 1},
      GradientRow{"GlobalAveragePool", global_pool_gradient, 1},
      GradientRow{"GlobalMaxPool", global_pool_gradient, 1},
  };
  return kRows;
}

}  // namespace loom::graph
