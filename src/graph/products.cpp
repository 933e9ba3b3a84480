// Products of matrices. Those with a constant matrix of f32 go through ops/matmul, laid out once in panels; all others
// through ops/gemm. Whole numbers are summed exactly, in f64.

#include <algorithm>
#include <array>

#include "graph/products.h"
#include "ops/elementwise/elementwise.h"
#include "ops/formula/formula.h"
#include "ops/gemm/gemm_each.h"
#include "ops/matmul/matmul.h"
#include "ops/non_finite.h"
#include "ops/until_cancelled.h"

namespace loom::graph {
namespace {

// The constant matrix b [k, n] (or, turned, [n, k]) in panels of outputs. Null where there is none.
Result<const Matrix*> packed_matrix(Op& op, const Value& b, bool turned) {
  if (op.packed == nullptr || !b.constant || b.rank() != 2 || b.type != Type::f32 || b.elements() == 0) return nullptr;
  const std::tuple key{static_cast<const void*>(b.data), b.dims[0], b.dims[1], turned};
  if (!*op.packed && op.measures() && op.packs != nullptr)
    if (const auto found = op.packs->find(key); found != op.packs->end()) *op.packed = found->second;
  if (!*op.packed && op.measures()) {
    const std::size_t n = b.dims[turned ? 0 : 1], k = b.dims[turned ? 1 : 0];
    std::vector<float> rows(n * k);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < k; ++j) rows[i * k + j] = b.as<float>()[turned ? i * k + j : j * n + i];
    if (!std::ranges::all_of(rows, [](float v) { return loom::is_finite(v); })) return nullptr;
    LOOM_TRY(Matrix matrix, Matrix::from_floats(DType::float32, rows, n, k));
    *op.packed = std::make_shared<Matrix>(std::move(matrix));
    if (op.packs != nullptr) (*op.packs)[key] = *op.packed;
  }
  return static_cast<const Matrix*>(op.packed->get());
}

}  // namespace

Result<Product> product_of(const Op& op, const Value& a, const Value& b) {
  if (a.rank() == 0 || b.rank() == 0)
    return op.refuse(Code::ShapeMismatch, "{} by {}", text_of(a.dims), text_of(b.dims));
  Product p;
  p.k = a.dims.back();
  if (a.rank() > 1) p.m = a.dims[a.rank() - 2];
  if (b.rank() > 1) p.n = b.dims.back();
  if (b.dims[b.rank() - (b.rank() > 1 ? 2 : 1)] != p.k)
    return op.refuse(Code::ShapeMismatch, "{} by {}", text_of(a.dims), text_of(b.dims));
  const Dims lead_a(a.dims.begin(), a.dims.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(a.rank())));
  const Dims lead_b(b.dims.begin(), b.dims.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(b.rank())));
  LOOM_TRY(p.batch, broadcast(lead_a, lead_b));
  p.dims = p.batch;
  if (a.rank() > 1) p.dims.push_back(p.m);
  if (b.rank() > 1) p.dims.push_back(p.n);
  const std::size_t products = count(p.batch);
  if (products > (std::size_t{1} << 24))
    return op.refuse(Code::SizeOverflow, "{} by {}", text_of(a.dims), text_of(b.dims));
  p.a.resize(products), p.b.resize(products);
  walk(p.batch, stretched_strides(lead_a, p.batch), [&](std::size_t i, std::size_t at) { p.a[i] = at * p.m * p.k; });
  walk(p.batch, stretched_strides(lead_b, p.batch), [&](std::size_t i, std::size_t at) { p.b[i] = at * p.k * p.n; });
  return p;
}

namespace {

// The step from each offset to the next, if it is one.
std::optional<std::size_t> step_of_all(const std::vector<std::size_t>& offsets) {
  const std::size_t step = offsets.size() < 2 ? 0 : offsets[1];
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != i * step) return std::nullopt;
  return step;
}

template <class T>
void multiply_stacks(const Exec& exec, const Product& p, const T* a, const T* b, T* y) {
  if (p.m == 0 || p.n == 0 || p.a.empty()) return;
  const auto step_a = step_of_all(p.a), step_b = step_of_all(p.b);
  if (step_a && step_b && p.k != 0)
    return gemm_each(exec, {{a, p.k, 1}, *step_a}, {{b, p.n, 1}, *step_b}, p.a.size(), p.k,
                     {y, p.a.size() * p.m, p.n, element_of<T>});
  for (std::size_t i = 0; i < p.a.size() && !is_cancelled(exec); ++i) {
    const ArenaScope scope(exec.arena);
    const Tensor to{y + i * p.m * p.n, p.m, p.n, element_of<T>};
    if (p.k == 0)
      fill_zero(exec, to);
    else
      gemm(exec, {a + p.a[i], p.k, 1}, {b + p.b[i], p.n, 1}, p.k, to);
    if (exec.rehearsal() && i == 1) break;  // every product takes the same memory
  }
  keep_cancel(exec);
}

Result<void> multiply(Op& op, const Value& a, const Value& b, Value& y, const Product& p) {
  if (store_of(a.type) == Store::f32) {
    LOOM_TRY(const Matrix* const matrix, packed_matrix(op, b, false));
    op.has_form(matrix != nullptr ? 1 : 3);
    if (matrix != nullptr && b.rank() == 2 && a.elements() != 0) {
      loom::matmul(op.exec, tensor_of(a, p.k), std::array{MatmulJob{matrix, tensor_of(y, p.n)}});
    } else {
      multiply_stacks(op.exec, p, a.as<float>(), b.as<float>(), y.as<float>());
    }
  } else if (store_of(a.type) == Store::f64) {
    multiply_stacks(op.exec, p, a.as<double>(), b.as<double>(), y.as<double>());
  } else {
    for (std::size_t i = 0; i < p.a.size() && !op.measures(); ++i)
      for_rows(op.exec, p.m, p.n * p.k, [&](std::size_t r) {
        for (std::size_t c = 0; c < p.n && !op.is_cancelled(); ++c) {
          std::uint64_t sum = 0;
          for (std::size_t k = 0; k < p.k; ++k)
            sum += static_cast<std::uint64_t>(a.as<std::int64_t>()[p.a[i] + r * p.k + k]) *
                   static_cast<std::uint64_t>(b.as<std::int64_t>()[p.b[i] + k * p.n + c]);
          y.as<std::int64_t>()[(i * p.m + r) * p.n + c] = static_cast<std::int64_t>(sum);
        }
      });
  }
  if (!op.measures()) round_to_type(y);
  return {};
}

Result<void> matmul_op(Op& op) {
  const Value &a = op.in(0), &b = op.in(1);
  if (a.type != b.type) return op.refuse(Code::CorruptData, "{} by {}", name_of(a.type), name_of(b.type));
  LOOM_TRY(const Product p, product_of(op, a, b));
  LOOM_TRY(Value* const y, op.out(0, a.type, p.dims));
  return multiply(op, a, b, *y, p);
}

}  // namespace

Result<void> product_and_row(Op& op) {
  const Value &a = op.in(0), &b = op.in(1);
  LOOM_TRY(const Product p, product_of(op, a, b));
  LOOM_TRY(Value* const y, op.out(0, a.type, p.dims));
  LOOM_TRY(const Matrix* const matrix, packed_matrix(op, b, false));
  LOOM_ASSERT(matrix != nullptr);
  op.has_form(0b101);
  loom::matmul(op.exec, tensor_of(a, p.k), std::array{MatmulJob{matrix, tensor_of(*y, p.n), op.in(2).as<float>()}});
  return {};
}

namespace {

// y = y + c, which stretches to it.
void add_stretched(const Exec& exec, const Value& c, const Value& y) {
  FormulaStep sum;
  sum.kind = FormulaKind::Add, sum.a = 0, sum.b = 1;
  const auto of_y = row_major_strides(y.dims), of_c = stretched_strides(c.dims, y.dims);
  evaluate(exec, *Formula::create({&sum, 1}), std::array{FormulaInput{y.data, of_y}, FormulaInput{c.data, of_c}},
           y.dims, y.data, element_of_value(y));
}

// y = alpha a' b' + beta c.
Result<void> gemm_op(Op& op) {
  const Value &a = op.in(0), &b = op.in(1);
  if (a.rank() != 2 || b.rank() != 2 || a.type != b.type || !is_float(a.type))
    return op.refuse(Code::Unsupported, "{} {} by {} {}", name_of(a.type), text_of(a.dims), name_of(b.type),
                     text_of(b.dims));
  const bool turn_a = op.integer("transA", 0) != 0, turn_b = op.integer("transB", 0) != 0;
  const std::size_t m = a.dims[turn_a ? 1 : 0], k = a.dims[turn_a ? 0 : 1], n = b.dims[turn_b ? 0 : 1];
  if (b.dims[turn_b ? 1 : 0] != k || k == 0)
    return op.refuse(Code::ShapeMismatch, "{} by {}", text_of(a.dims), text_of(b.dims));
  const Dims dims{m, n};
  if (op.has(2)) {
    LOOM_TRY(const Dims both, broadcast(op.in(2).dims, dims));
    if (both != dims || op.in(2).type != a.type)
      return op.refuse(Code::ShapeMismatch, "c of {}", text_of(op.in(2).dims));
  }
  LOOM_TRY(Value* const y, op.out(0, a.type, dims));
  if (m == 0 || n == 0) return {};
  LOOM_TRY(const Matrix* const matrix,
           store_of(a.type) == Store::f32 ? packed_matrix(op, b, turn_b) : Result<const Matrix*>(nullptr));
  if (matrix != nullptr && !turn_a)
    loom::matmul(op.exec, tensor_of(a, k), std::array{MatmulJob{matrix, tensor_of(*y, n)}});
  else
    gemm(op.exec, {a.data, turn_a ? 1 : k, turn_a ? m : 1}, {b.data, turn_b ? 1 : n, turn_b ? k : 1}, k,
         tensor_of(*y, n));
  const double alpha = op.number("alpha", 1), beta = op.number("beta", 1);
  if (!op.has(2) || beta == 1) op.has_form(matrix != nullptr && !turn_a ? 0b101 : 0b111);
  if (op.is_on_card()) {
    if (alpha != 1) scale(op.exec, tensor_of(*y, n), alpha, tensor_of(*y, n));
    if (op.has(2)) add_stretched(op.exec, op.in(2), *y);
    return {};
  }
  if (op.measures()) return {};
  with_store(store_of(a.type), [&]<class T>(T) {
    if (alpha != 1)
      for (std::size_t i = 0; i < m * n; ++i) y->as<T>()[i] = snap(y->as<T>()[i] * static_cast<T>(alpha));
    if (op.has(2))
      walk(dims, stretched_strides(op.in(2).dims, dims), [&](std::size_t i, std::size_t at) {
        y->as<T>()[i] = snap(y->as<T>()[i] + op.in(2).as<T>()[at] * static_cast<T>(beta));
      });
  });
  round_to_type(*y);
  return {};
}

// Zero points come one for all or one per row of a, or per column of b.
double* less_zero_point(Op& op, const Value& x, const Value* zero, bool by_row) {
  double* const to = op.exec.arena.take<double>(x.elements());
  if (op.measures()) return to;
  const std::size_t n = zero == nullptr ? 0 : zero->elements(), cols = x.dims.back();
  const std::size_t rows = x.rank() > 1 ? x.dims[x.rank() - 2] : 1;
  for (std::size_t i = 0; i < x.elements(); ++i) {
    const std::size_t at = n <= 1 ? 0 : by_row ? i / cols % rows % n : i % cols % n;
    to[i] = x.number(i) - (n == 0 ? 0.0 : zero->number(at));
  }
  return to;
}

Result<void> matmul_integer(Op& op) {
  const Value &a = op.in(0), &b = op.in(1);
  LOOM_TRY(const Product p, product_of(op, a, b));
  LOOM_TRY(Value* const y, op.out(0, Type::i32, p.dims));
  const double* const as = less_zero_point(op, a, op.has(2) ? &op.in(2) : nullptr, true);
  const double* const bs = less_zero_point(op, b, op.has(3) ? &op.in(3) : nullptr, false);
  double* const sums = op.exec.arena.take<double>(y->elements());
  multiply_stacks(op.exec, p, as, bs, sums);
  for (std::size_t i = 0; i < y->elements() && !op.measures(); ++i)
    y->as<std::int64_t>()[i] = wrapped(Type::i32, stored<std::int64_t>(sums[i]));
  return {};
}

Result<void> qlinear_matmul(Op& op) {
  const Value &a = op.in(0), &b = op.in(3);
  LOOM_TRY(const Product p, product_of(op, a, b));
  LOOM_TRY(Value* const y, op.out(0, op.in(7).type, p.dims));
  for (const std::size_t i : {1, 4, 6, 7})
    if (op.in(i).elements() != 1)
      return op.refuse(Code::Unsupported, "a scale or zero point {}", text_of(op.in(i).dims));
  const double* const as = less_zero_point(op, a, &op.in(2), true);
  const double* const bs = less_zero_point(op, b, &op.in(5), false);
  double* const sums = op.exec.arena.take<double>(y->elements());
  multiply_stacks(op.exec, p, as, bs, sums);
  if (op.measures()) return {};
  const double scale = op.in(1).number(0) * op.in(4).number(0) / op.in(6).number(0), zero = op.in(7).number(0);
  const bool is_signed = y->type == Type::i8;
  for (std::size_t i = 0; i < y->elements(); ++i) {
    const double whole = nearest_even(sums[i] * scale);
    y->as<std::int64_t>()[i] =
        stored<std::int64_t>(std::clamp(whole + zero, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0));
  }
  return {};
}

// Axes of an ellipsis have labels of their own, counted from the last one: those of shorter terms are the last ones.
constexpr char kLastOfEllipsis = '\x1f';
constexpr std::size_t kMostOfEllipsis = 16;
bool is_of_ellipsis(char label) { return label <= kLastOfEllipsis; }
std::string ellipsis_labels(std::size_t n) {
  std::string labels;
  for (std::size_t i = n; i-- > 0;) labels += static_cast<char>(kLastOfEllipsis - i);
  return labels;
}

// A term with the labels of its ellipsis, which stands for `n` axes, in its place.
Result<std::string> without_ellipsis(const Op& op, std::string term, std::size_t n) {
  const std::size_t dots = term.find("...");
  if (dots != term.npos) term.replace(dots, 3, ellipsis_labels(n));
  if (n > kMostOfEllipsis || term.find('.') != term.npos)
    return op.refuse(Code::InvalidConfig, "a term with dots that are no single ellipsis");
  return term;
}

// The labels of the result where the equation leaves them out: those of an ellipsis, and those that appear once,
// sorted.
std::string implied_result(const std::vector<std::string>& terms) {
  std::string all, result;
  for (const std::string& term : terms) all += term;
  std::ranges::sort(all);
  for (const char c : all)
    if (is_of_ellipsis(c) ? !result.ends_with(c) : std::ranges::count(all, c) == 1) result += c;
  return result;
}

// Each label with its extent. An axis of an ellipsis stretches where its extent is 1.
Result<void> add_labels(const Op& op, std::size_t i, const std::string& term, std::string& labels, Dims& extents) {
  if (!op.has(i) || term.size() != op.in(i).rank() || op.in(i).type != op.in(0).type)
    return op.refuse(Code::ShapeMismatch, "input {} has not the axes of its term, or another type", i);
  for (std::size_t a = 0; a < term.size(); ++a) {
    const std::size_t at = labels.find(term[a]), extent = op.in(i).dims[a];
    if (at == labels.npos) {
      labels += term[a];
      extents.push_back(extent);
    } else if (is_of_ellipsis(term[a]) && extents[at] == 1)
      extents[at] = extent;
    else if (extents[at] != extent && !(is_of_ellipsis(term[a]) && extent == 1))
      return op.refuse(Code::ShapeMismatch, "two extents of one label: {} and {}", extents[at], extent);
  }
  return {};
}

}  // namespace

Result<Equation> equation_of(const Op& op) {
  std::string text = op.text("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  Equation e{std::vector<std::string>(1), "", {}, 0};
  for (const char c : text.substr(0, arrow)) {
    if (c == ',')
      e.terms.emplace_back();
    else if (is_of_ellipsis(c))
      return op.refuse(Code::InvalidConfig, "an equation with control characters");
    else
      e.terms.back() += c;
  }
  if (e.terms.size() != op.num_ins()) return op.refuse(Code::InvalidConfig, "\"{}\" for {} inputs", text, op.num_ins());
  std::string labels;
  Dims extents;
  std::size_t widest = 0;  // ellipsis
  for (std::size_t i = 0; i < e.terms.size(); ++i) {
    const std::size_t named = e.terms[i].size() - (e.terms[i].find("...") == std::string::npos ? 0 : 3);
    const std::size_t n = op.has(i) && op.in(i).rank() > named ? op.in(i).rank() - named : 0;
    LOOM_TRY(e.terms[i], without_ellipsis(op, e.terms[i], n));
    if (e.terms[i].size() > named) widest = std::max(widest, n);
    LOOM_TRY_VOID(add_labels(op, i, e.terms[i], labels, extents));
  }
  if (arrow != text.npos) {
    LOOM_TRY(e.order, without_ellipsis(op, text.substr(arrow + 2), widest));
  } else {
    e.order = implied_result(e.terms);
  }
  e.result = e.order.size();
  for (const char c : labels)
    if (e.order.find(c) == e.order.npos) e.order += c;
  for (std::size_t i = 0; i < e.order.size(); ++i) {
    const std::size_t at = labels.find(e.order[i]);
    if (at == labels.npos || e.order.find(e.order[i]) != i) return op.refuse(Code::InvalidConfig, "\"{}\"", text);
    e.walked.push_back(extents[at]);
  }
  return e;
}

std::vector<std::vector<std::size_t>> strides_of(const Op& op, const Equation& e) {
  std::vector<std::vector<std::size_t>> strides(op.num_ins(), std::vector<std::size_t>(e.order.size(), 0));
  for (std::size_t i = 0; i < e.terms.size(); ++i) {
    const auto own = row_major_strides(op.in(i).dims);
    for (std::size_t a = 0; a < e.terms[i].size(); ++a)
      if (op.in(i).dims[a] != 1) strides[i][e.order.find(e.terms[i][a])] += own[a];
  }
  return strides;
}

namespace {

constexpr std::size_t kTermsPerLook = 1 << 16;  // of an Einsum, between two looks at cancel

// Sums over the labels that the result leaves out, in the order in which they appear, in one chain in f64.
Result<void> einsum(Op& op) {
  LOOM_TRY(const Equation e, equation_of(op));
  const Dims dims(e.walked.begin(), e.walked.begin() + static_cast<std::ptrdiff_t>(e.result));
  LOOM_TRY(Value* const y, op.out(0, op.in(0).type, dims));
  if (op.measures()) return {};
  const auto strides = strides_of(op, e);
  const std::size_t inner = count(std::span(e.walked).subspan(dims.size()));
  const auto whole = row_major_strides(e.walked);
  for (std::size_t o = 0; o < y->elements() && !op.is_cancelled(); ++o) {
    double sum = 0;
    for (std::size_t k = 0; k < inner; ++k) {
      if (k % kTermsPerLook == 0 && op.is_cancelled()) break;
      double product = 1;
      for (std::size_t i = 0; i < op.num_ins(); ++i) {
        std::size_t at = 0;
        for (std::size_t a = 0; a < e.order.size(); ++a) at += (o * inner + k) / whole[a] % e.walked[a] * strides[i][a];
        product *= op.in(i).number(at);
      }
      sum += product;
    }
    with_store(store_of(y->type), [&]<class T>(T) { y->as<T>()[o] = snap(stored<T>(sum)); });
  }
  round_to_type(*y);
  return {};
}

}  // namespace

std::span<const OpRow> linear_rows() {
  static constexpr std::array kRows{
      OpRow{"MatMul", matmul_op, false, 2},
      OpRow{"Gemm", gemm_op, false, 2},
      OpRow{"MatMulInteger", matmul_integer, false, 2},
      OpRow{"QLinearMatMul", qlinear_matmul, false, 8},
      OpRow{"Einsum", einsum},
  };
  return kRows;
}

}  // namespace loom::graph
