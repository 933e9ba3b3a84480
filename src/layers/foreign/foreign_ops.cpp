// Records the ops of a custom kind's pass. Shapes are checked once, while an op is recorded; passes then run the same
// ops as every other layer.

#include <algorithm>
#include <array>
#include <cmath>

#include "core/nearest.h"
#include "layers/adapter.h"
#include "layers/channels.h"
#include "layers/foreign/foreign_pass.h"
#include "layers/linear.h"
#include "layers/norm_eps.h"
#include "ops/dropout/dropout.h"
#include "ops/gather/gather.h"
#include "ops/mix/mix.h"
#include "ops/norm/norm.h"
#include "ops/permute/permute.h"
#include "ops/slices/slices.h"
#include "ops/softmax/softmax.h"

namespace loom {
namespace {

// Undeclared where there is none.
const Weight& or_none(const Weight* weight) {
  static const Weight none;
  return weight == nullptr ? none : *weight;
}

// A tensor around one axis: [outer, extent, inner].
struct Around {
  std::size_t outer = 1, extent = 1, inner = 1;
  Around(const Shape& s, std::size_t axis) : extent(s[axis]) {
    for (std::size_t i = 0; i < axis; ++i) outer *= s[i];
    for (std::size_t i = axis + 1; i < s.rank(); ++i) inner *= s[i];
  }
};

Result<Shape> with_axis(const Shape& s, std::size_t axis, std::size_t extent) {
  std::array<std::size_t, Shape::kMaxRank> extents{};
  std::ranges::copy(s.extents(), extents.begin());
  extents[axis] = extent;
  return Shape::create(std::span(extents).first(s.rank()));
}

// Views memory as rows of `cols`.
ConstTensor rows_of(const View& v, std::size_t cols) { return {v.data, v.shape.elements() / cols, cols, v.element}; }
Tensor rows_to(const View& v, std::size_t cols) { return {v.data, v.shape.elements() / cols, cols, v.element}; }

std::byte* element_at(const View& v, std::size_t i) {
  return static_cast<std::byte*>(v.data) + i * bytes_of(v.element);
}

Result<void> need_finite(double value, std::string_view what) {
  if (std::isfinite(value)) return {};
  return fail(Code::NonFinite, "{} is {}", what, value);
}

// The values of a vector, or ones.
template <class T>
const T* gains_of(const Run& run, const Weight* gamma, std::size_t n) {
  if (gamma != nullptr) return gamma->values<T>(run);
  T* const ones = run.take<T>(n);
  fill(run, {ones, 1, n, element_of<T>}, 1);
  return ones;
}

}  // namespace

using Ref = ForeignPass::Ref;

Result<Ref> ForeignPass::matmul(Ref x, std::string_view weight, std::string_view bias) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY(const Weight* const w, matrix_of(weight));
    LOOM_TRY(const Weight* const b, vector_of(bias, w->rows()));
    if (at(i).cols() != w->cols())
      return fail(Code::ShapeMismatch, "a tensor {} meets {} {}", at(i).text(), weight, w->shape().text());
    LOOM_TRY(const Shape shape, at(i).with_cols(w->rows()));
    return emit({i}, shape, [=](const Run& run, View* t, const View& y) { linear(run, t[i], *w, or_none(b), y); });
  });
}

Result<Ref> ForeignPass::matmul_gradient(Ref x, Ref dy, std::string_view weight, std::string_view bias) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY_VOID(need(Stage::Backward, "a gradient"));
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY(const Index g, index(dy));
    LOOM_TRY(const Weight* const w, matrix_of(weight));
    LOOM_TRY(const Weight* const b, vector_of(bias, w->rows()));
    if (at(i).cols() != w->cols() || at(g).cols() != w->rows() || at(i).rows() != at(g).rows())
      return fail(Code::ShapeMismatch, "tensors {} and {} of {} {}", at(i).text(), at(g).text(), weight,
                  w->shape().text());
    LOOM_TRY(const std::size_t block, block_of(i, at(i).cols()));
    return emit(
        {i, g}, at(i),
        [=](const Run& run, View* t, const View& dx) { linear_backward(run, t[i], *w, or_none(b), t[g], dx, block); },
        Recording::Effect::Gradients);
  });
}

Result<Ref> ForeignPass::product(Ref a, bool transpose_a, Ref b, bool transpose_b) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(a));
    LOOM_TRY(const Index j, index(b));
    const Shape &s = at(i), &u = at(j);
    const std::size_t rank = s.rank();
    const auto refuse = [&] { return fail(Code::ShapeMismatch, "a product of tensors {} and {}", s.text(), u.text()); };
    if (rank < 2 || u.rank() != rank) return refuse();
    if (rank == 2)
      return fail(Code::InvalidArgument, "a product of {} and {} would join samples: matmul takes weights", s.text(),
                  u.text());
    std::array<std::size_t, Shape::kMaxRank> extents{};
    std::size_t count = 1;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      if (s[axis] != u[axis]) return refuse();
      extents[axis] = s[axis], count *= s[axis];
    }
    const std::size_t m = s[rank - (transpose_a ? 1 : 2)], k = s[rank - (transpose_a ? 2 : 1)];
    const std::size_t n = u[rank - (transpose_b ? 2 : 1)];
    if (u[rank - (transpose_b ? 1 : 2)] != k) return refuse();
    extents[rank - 2] = m, extents[rank - 1] = n;
    LOOM_TRY(const Shape shape, Shape::create(std::span(extents).first(rank)));
    const auto operand = [](std::byte* data, std::size_t rows, std::size_t cols, bool transposed) {
      const ConstTensor stored{data, transposed ? cols : rows, transposed ? rows : cols, Element::f32};
      return transposed ? Operand::transposed(stored) : Operand::of(stored);
    };
    recording_.joins_rows = true;
    return emit({i, j}, shape, [=](const Run& run, View* t, const View& y) {
      for (std::size_t p = 0; p < count; ++p)
        gemm(run, operand(element_at(t[i], p * m * k), m, k, transpose_a),
             operand(element_at(t[j], p * k * n), k, n, transpose_b), k, {element_at(y, p * m * n), m, n, y.element});
    });
  });
}

Result<Ref> ForeignPass::add(Ref a, Ref b) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const auto both, alike(a, b));
    const auto [i, j] = both;
    return emit({i, j}, at(i),
                [i = i, j = j](const Run& run, View* t, const View& y) { loom::add(run, t[i], t[j], y); });
  });
}

Result<Ref> ForeignPass::multiply(Ref a, Ref b) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const auto both, alike(a, b));
    const auto [i, j] = both;
    return emit({i, j}, at(i),
                [i = i, j = j](const Run& run, View* t, const View& y) { loom::multiply(run, t[i], t[j], y); });
  });
}

Result<Ref> ForeignPass::scale(Ref x, double factor) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY_VOID(need_finite(factor, "the factor"));
    return emit({i}, at(i), [=](const Run& run, View* t, const View& y) { loom::scale(run, t[i], factor, y); });
  });
}

Result<Ref> ForeignPass::fill(Ref like, double value) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(like));
    LOOM_TRY_VOID(need_finite(value, "the value"));
    return emit({}, Shape(at(i)), [=](const Run& run, View*, const View& y) { loom::fill(run, y, value); });
  });
}

Result<Ref> ForeignPass::activate(Ref x, std::string_view activation) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY(const ActivationFn fn, activation_of(activation));
    return emit({i}, at(i), [=](const Run& run, View* t, const View& y) { loom::activate(run, fn, t[i], y); });
  });
}

Result<Ref> ForeignPass::activate_gradient(Ref x, Ref dy, std::string_view activation) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const auto both, alike(x, dy));
    const auto [i, g] = both;
    LOOM_TRY(const ActivationFn fn, activation_of(activation));
    return emit({i, g}, at(i), [i = i, g = g, fn = fn](const Run& run, View* t, const View& dx) {
      activate_backward(run, fn, t[i], t[g], dx);
    });
  });
}

Result<Ref> ForeignPass::gated(Ref gate, Ref up, std::string_view activation) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const auto both, alike(gate, up));
    const auto [i, j] = both;
    LOOM_TRY(const ActivationFn fn, activation_of(activation));
    return emit({i, j}, at(i), [i = i, j = j, fn = fn](const Run& run, View* t, const View& y) {
      loom::gated(run, fn, t[i], t[j], y);
    });
  });
}

Result<std::pair<Ref, Ref>> ForeignPass::gated_gradient(Ref gate, Ref up, Ref dy, std::string_view activation) {
  return settled([&]() -> Result<std::pair<Ref, Ref>> {
    LOOM_TRY(const auto both, alike(gate, up));
    LOOM_TRY(const auto with_dy, alike(gate, dy));
    LOOM_TRY(const ActivationFn fn, activation_of(activation));
    LOOM_TRY_VOID(room_for_op());
    const Index i = both.first, j = both.second, g = with_dy.second;
    const Shape shape = at(i);
    const Index dgate = grow(shape, From::Op), dup = grow(shape, From::Op);
    recording_.ops.push_back({Recording::Effect::None, {i, j, g}, {dgate, dup}, [=](const Run& run, View* t) {
                                gated_backward(run, fn, t[i], t[j], t[g], t[dgate], t[dup]);
                              }});
    return std::pair(ref(dgate), ref(dup));
  });
}

Result<Ref> ForeignPass::softmax(Ref x, double temperature) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    if (!(temperature > 0 && std::isfinite(temperature)))
      return fail(Code::OutOfRange, "a temperature of {}", temperature);
    const SoftmaxRun all{0, at(i).cols(), 1};
    return emit({i}, at(i), [=](const Run& run, View* t, const View& p) {
      loom::softmax(run, t[i], temperature, std::span(&all, 1), p);
    });
  });
}

Result<Ref> ForeignPass::softmax_gradient(Ref p, Ref dy, double temperature) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const auto both, alike(p, dy));
    const auto [i, g] = both;
    if (!(temperature > 0 && std::isfinite(temperature)))
      return fail(Code::OutOfRange, "a temperature of {}", temperature);
    const SoftmaxRun all{0, at(i).cols(), 1};
    return emit({i, g}, at(i), [i = i, g = g, all, temperature](const Run& run, View* t, const View& dx) {
      softmax_backward(run, t[i], t[g], temperature, std::span(&all, 1), dx);
    });
  });
}

template <bool centred>
Result<Ref> ForeignPass::norm(Ref x, std::string_view gamma, std::string_view beta, double eps) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    const std::size_t n = at(i).cols();
    LOOM_TRY(const Weight* const gain, vector_of(gamma, n));
    LOOM_TRY(const Weight* const shift, vector_of(beta, n));
    LOOM_TRY_VOID(check_eps("norm", "eps", eps));
    return emit({i}, at(i), [=](const Run& run, View* t, const View& y) {
      with_element(y.element, [&]<class T>() {
        const T* const gains = gains_of<T>(run, gain, n);
        const T* const shifts = shift == nullptr ? nullptr : shift->values<T>(run);
        if constexpr (centred)
          loom::layer_norm(run, t[i], gains, shifts, eps, y);
        else
          loom::rms_norm(run, t[i], gains, eps, y);
      });
    });
  });
}

template <bool centred>
Result<Ref> ForeignPass::norm_gradient(Ref x, Ref dy, std::string_view gamma, std::string_view beta, double eps) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY_VOID(need(Stage::Backward, "a gradient"));
    LOOM_TRY(const auto both, alike(x, dy));
    const auto [i, g] = both;
    const std::size_t n = at(i).cols();
    LOOM_TRY(const Weight* const gain, vector_of(gamma, n));
    LOOM_TRY(const Weight* const shift, vector_of(beta, n));
    LOOM_TRY_VOID(check_eps("norm", "eps", eps));
    LOOM_TRY(const std::size_t block, block_of(i, n));
    const ChannelShape rows{at(i).rows(), n, 1};
    const auto gradient = [=, i = i, g = g](const Run& run, View* t, const View& dx) {
      const View xh = run.view(t[i].shape, t[i].element);
      with_element(xh.element, [&]<class T>() {
        const T* const gains = gains_of<T>(run, gain, n);
        if constexpr (centred)
          layer_norm_backward(run, t[i], gains, eps, t[g], xh, dx);
        else
          rms_norm_backward(run, t[i], gains, eps, t[g], xh, dx);
      });
      const ConstTensor normed = xh;
      if (gain != nullptr)
        if (void* const to = run.gradient(*gain)) add_channel_sums(run, rows, t[g], &normed, block, to);
      if (shift != nullptr)
        if (void* const to = run.gradient(*shift)) add_channel_sums(run, rows, t[g], nullptr, block, to);
    };
    return emit({i, g}, at(i), gradient, Recording::Effect::Gradients);
  });
}

Result<Ref> ForeignPass::rms_norm(Ref x, std::string_view gamma, double eps) { return norm<false>(x, gamma, "", eps); }
Result<Ref> ForeignPass::rms_norm_gradient(Ref x, Ref dy, std::string_view gamma, double eps) {
  return norm_gradient<false>(x, dy, gamma, "", eps);
}
Result<Ref> ForeignPass::layer_norm(Ref x, std::string_view gamma, std::string_view beta, double eps) {
  return norm<true>(x, gamma, beta, eps);
}
Result<Ref> ForeignPass::layer_norm_gradient(Ref x, Ref dy, std::string_view gamma, std::string_view beta, double eps) {
  return norm_gradient<true>(x, dy, gamma, beta, eps);
}

// ---- what moves values ----

Result<Ref> ForeignPass::permute(Ref x, std::span<const std::size_t> axes) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    const Shape& s = at(i);
    std::array<bool, Shape::kMaxRank> seen{};
    std::array<std::size_t, Shape::kMaxRank> extents{};
    bool fits = axes.size() == s.rank();
    for (std::size_t a = 0; fits && a < axes.size(); ++a) {
      fits = axes[a] < s.rank() && !seen[axes[a]];
      if (fits) seen[axes[a]] = true, extents[a] = s[axes[a]];
    }
    if (!fits) return fail(Code::InvalidArgument, "the axes of a tensor {} are not named once each", s.text());
    if (axes[0] != 0) return fail(Code::InvalidArgument, "axis 0 is that of the samples");
    LOOM_TRY(const Shape shape, Shape::create(std::span(extents).first(s.rank())));
    recording_.joins_rows = true;
    return emit({i}, shape, [i, order = std::vector(axes.begin(), axes.end())](const Run& run, View* t, const View& y) {
      loom::permute(run, t[i], order, y);
    });
  });
}

Result<Ref> ForeignPass::reshape(Ref x, std::span<const std::size_t> extents) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY(const Shape shape, Shape::create(extents));
    if (shape.elements() != at(i).elements())
      return fail(Code::ShapeMismatch, "a tensor {} as {}", at(i).text(), shape.text());
    if (shape.rank() < 2 || shape[0] != at(i)[0])
      return fail(Code::InvalidArgument, "a tensor {} as {}: axis 0 is that of the samples", at(i).text(),
                  shape.text());
    recording_.joins_rows = true;
    return emit(
        {i}, shape, [i](const Run& /*run*/, View* t, View& y) { y.data = t[i].data; }, Recording::Effect::Alias);
  });
}

Result<Ref> ForeignPass::slice(Ref x, std::size_t axis, std::size_t first, std::size_t count) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY_VOID(need_axis(i, axis));
    const Around a(at(i), axis);
    if (count == 0 || first > a.extent || count > a.extent - first)
      return fail(Code::OutOfRange, "{} from {} on of axis {} of a tensor {}", count, first, axis, at(i).text());
    LOOM_TRY(const Shape shape, with_axis(at(i), axis, count));
    recording_.joins_rows = true;
    return emit({i}, shape, [=](const Run& run, View* t, const View& y) {
      const std::size_t width = count * a.inner;
      move_slices(run, {a.outer, width}, t[i], {first * a.inner, a.extent * a.inner}, y, {0, width});
    });
  });
}

Result<Ref> ForeignPass::pad(Ref x, std::size_t axis, std::size_t first, std::size_t extent) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY_VOID(need_axis(i, axis));
    const Around a(at(i), axis);
    if (a.extent > extent || first > extent - a.extent)
      return fail(Code::OutOfRange, "a tensor {} at {} of an axis of {}", at(i).text(), first, extent);
    LOOM_TRY(const Shape shape, with_axis(at(i), axis, extent));
    recording_.joins_rows = true;
    return emit({i}, shape, [=](const Run& run, View* t, const View& y) {
      const std::size_t width = a.extent * a.inner;
      fill_zero(run, y);
      move_slices(run, {a.outer, width}, t[i], {0, width}, y, {first * a.inner, extent * a.inner});
    });
  });
}

Result<Ref> ForeignPass::repeat(Ref x, std::size_t axis, std::size_t times) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY_VOID(need_axis(i, axis));
    const Around a(at(i), axis);
    if (a.extent != 1) return fail(Code::ShapeMismatch, "axis {} of a tensor {}, expected 1", axis, at(i).text());
    LOOM_TRY(const Shape shape, with_axis(at(i), axis, times));
    recording_.joins_rows = true;
    return emit({i}, shape, [=](const Run& run, View* t, const View& y) {
      // As few moves as there can be: an axis may be as long as all memory.
      if (times < a.outer) {
        for (std::size_t k = 0; k < times; ++k)
          move_slices(run, {a.outer, a.inner}, t[i], {0, a.inner}, y, {k * a.inner, times * a.inner});
      } else {
        for (std::size_t k = 0; k < a.outer; ++k)
          move_slices(run, {times, a.inner}, t[i], {k * a.inner, 0}, y, {k * times * a.inner, a.inner});
      }
    });
  });
}

Result<Ref> ForeignPass::mean(Ref x, std::size_t axis) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    LOOM_TRY_VOID(need_axis(i, axis));
    const Around a(at(i), axis);
    LOOM_TRY(const Shape shape, with_axis(at(i), axis, 1));
    recording_.joins_rows = true;
    return emit({i}, shape, [=](const Run& run, View* t, const View& y) {
      mean_of_rows(run, rows_of(t[i], a.inner), a.extent, rows_to(y, a.inner));
    });
  });
}

Result<Ref> ForeignPass::dropout(Ref x, double rate, std::uint32_t which) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(x));
    if (!(rate >= 0 && rate < 1)) return fail(Code::OutOfRange, "a rate of {}, expected from 0 to below 1", rate);
    const std::uint32_t apart = which * 0x9e3779b9u;  // the first is the stream of a dropout layer
    return emit({i}, at(i), [=, layer = &layer_](const Run& run, View* t, const View& y) {
      if (!run.training || rate == 0) return copy(run, t[i], y);
      const RandomStream stream{run.seed, RandomDomain::Dropout, run.step, layer->site + apart};
      loom::dropout(run, t[i], rate, stream, y, run.first_element(t[i].shape));
    });
  });
}

Result<Ref> ForeignPass::weight(std::string_view name, Ref like) {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY(const Index i, index(like));
    LOOM_TRY(const Weight* const w, weight_of(name));
    const std::size_t n = w->elements(), room = at(i).elements() / at(i)[0];
    if (room % n != 0)
      return fail(Code::ShapeMismatch, "{} {} does not fill a tensor {}", name, w->shape().text(), at(i).text());
    const auto lay_out = [w, n](const Run& run, View*, const View& y) {
      if (is_adapted(*w, run.adapters))
        return run.fail({Code::Unsupported, fmt::format("an adapter of {}, whose values are read", w->name())});
      fill_zero(run, y);
      with_element(y.element, [&]<class T>() { add_to_rows(run, rows_of(y, n), w->values<T>(run), rows_to(y, n)); });
    };
    return emit({}, Shape(at(i)), lay_out);
  });
}

Result<void> ForeignPass::add_gradient(std::string_view name, Ref tensor) {
  return settled([&]() -> Result<void> {
    LOOM_TRY_VOID(need(Stage::Backward, "a gradient"));
    LOOM_TRY(const Index g, index(tensor));
    LOOM_TRY(const Weight* const w, weight_of(name));
    const std::size_t n = w->elements();
    LOOM_TRY(const std::size_t block, block_of(g, n));
    LOOM_TRY_VOID(room_for_op());
    recording_.ops.push_back({Recording::Effect::Gradients, {g}, {}, [=](const Run& run, View* t) {
                                if (void* const to = run.gradient(*w))
                                  add_column_sums(run, rows_of(t[g], n), block, to);
                              }});
    return {};
  });
}

}  // namespace loom
