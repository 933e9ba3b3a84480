// Discrete Fourier transforms by their definition, and the windows of signals. Cosines and sines are those of
// simd/math64.h at exact multiples of a turn; sums are kept in f64, in one chain over the samples, and rounded once.

#include <algorithm>
#include <array>

#include "graph/operation.h"
#include "ops/for_rows.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

constexpr double kTurn = 0x1.921fb54442d18p+2;
constexpr std::size_t kLongest = std::size_t{1} << 24;

// cos and sin of k turns / n.
struct Circle {
  std::vector<double> cosines, sines;
  explicit Circle(std::size_t n) : cosines(n), sines(n) {
    for (std::size_t k = 0; k < n; ++k) {
      const double angle = kTurn * static_cast<double>(k) / static_cast<double>(n);
      cosines[k] = cos64(angle), sines[k] = sin64(angle);
    }
  }
};

struct Complex {
  double re = 0, im = 0;
};

// sum over j of x[j] exp(sign i turn j bin / n). `at` gives x[j].
template <class F>
Complex coefficient(const Circle& circle, std::size_t samples, std::size_t bin, double sign, F&& at) {
  const std::size_t n = circle.cosines.size();
  Complex sum;
  for (std::size_t j = 0, k = 0; j < samples; ++j, k = (k + bin) % n) {
    const Complex x = at(j);
    const double c = circle.cosines[k], s = sign * circle.sines[k];
    sum.re += x.re * c - x.im * s, sum.im += x.re * s + x.im * c;
  }
  return sum;
}

struct Transform {
  std::size_t axis = 0, inner = 1;  // elements, of one or two numbers, between neighbours on the axis
  std::size_t in = 0, parts = 1, n = 0, out = 0, out_parts = 2;
  bool is_inverse = false, is_onesided = false;
};

Result<Transform> transform_of(Op& op) {
  const Value& x = op.in(0);
  if (x.rank() < 2 || !is_float(x.type) || x.dims.back() < 1 || x.dims.back() > 2)
    return op.refuse(Code::ShapeMismatch, "of {} {}; expected a last axis of 1 or 2", name_of(x.type), text_of(x.dims));
  Transform t;
  std::int64_t axis = op.integer("axis", op.opset < 20 ? 1 : -2);
  if (op.opset >= 20 && op.has(2)) {
    LOOM_TRY(const auto list, op.ints(2));
    if (list.size() != 1) return op.refuse(Code::ShapeMismatch, "{} axes", list.size());
    axis = list[0];
  }
  LOOM_TRY(t.axis, op.axis(axis, x.rank()));
  if (t.axis + 1 == x.rank()) return op.refuse(Code::OutOfRange, "axis {}, which holds real and imaginary parts", axis);
  t.is_inverse = op.integer("inverse", 0) != 0, t.is_onesided = op.integer("onesided", 0) != 0;
  t.in = x.dims[t.axis], t.parts = x.dims.back();
  t.n = t.is_inverse && t.is_onesided ? 2 * (std::max<std::size_t>(t.in, 1) - 1) : t.in;
  if (op.has(1)) {
    LOOM_TRY(const auto list, op.ints(1));
    if (list.size() != 1 || list[0] < 1 || list[0] > static_cast<std::int64_t>(kLongest))
      return op.refuse(Code::InvalidConfig, "a length of {}", list.empty() ? 0 : list[0]);
    t.n = static_cast<std::size_t>(list[0]);
  }
  if (t.n < 1 || t.n > kLongest) return op.refuse(Code::InvalidConfig, "a length of {}", t.n);
  if (t.is_onesided && !t.is_inverse && t.parts != 1)
    return op.refuse(Code::Unsupported, "one side of the transform of complex numbers, whose other side differs");
  t.out = t.is_onesided && !t.is_inverse ? t.n / 2 + 1 : t.n;
  t.out_parts = t.is_inverse && t.is_onesided ? 1 : 2;
  t.inner = count(std::span(x.dims).subspan(t.axis + 1)) / t.parts;
  return t;
}

template <class T>
void transform_line(const Transform& t, const Circle& circle, const T* x, T* y) {
  const auto at = [&](std::size_t j) {
    const T* const from = x + j * t.inner * t.parts;
    return Complex{static_cast<double>(from[0]), t.parts == 2 ? static_cast<double>(from[1]) : 0.0};
  };
  // The missing side of the coefficients of real numbers: conjugates; the first and the middle one are real.
  const auto mirrored = [&](std::size_t j) {
    const bool is_missing = j > t.n / 2;
    const std::size_t k = is_missing ? t.n - j : j;
    if (k >= t.in) return Complex{};
    const Complex v = at(k);
    return k == 0 || 2 * k == t.n ? Complex{v.re, 0} : Complex{v.re, is_missing ? -v.im : v.im};
  };
  const double factor = t.is_inverse ? static_cast<double>(t.n) : 1;
  for (std::size_t bin = 0; bin < t.out; ++bin) {
    const Complex sum = t.is_inverse && t.is_onesided
                            ? coefficient(circle, t.n, bin, 1, mirrored)
                            : coefficient(circle, std::min(t.in, t.n), bin, t.is_inverse ? 1 : -1, at);
    T* const to = y + bin * t.inner * t.out_parts;
    to[0] = snap(stored<T>(sum.re / factor));
    if (t.out_parts == 2) to[1] = snap(stored<T>(sum.im / factor));
  }
}

Result<void> dft(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const Transform t, transform_of(op));
  Dims dims = x.dims;
  dims[t.axis] = t.out, dims.back() = t.out_parts;
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  if (op.measures() || y->elements() == 0) return {};
  const Circle circle(t.n);
  const std::size_t lines = y->elements() / (t.out * t.out_parts);
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, lines, t.n * t.out, [&](std::size_t line) {
      const std::size_t outer = line / t.inner, inside = line % t.inner;
      transform_line(t, circle, x.as<T>() + (outer * t.in * t.inner + inside) * t.parts,
                     y->as<T>() + (outer * t.out * t.inner + inside) * t.out_parts);
    });
  });
  round_to_type(*y);
  return {};
}

// signal [N, samples, 1 or 2] -> [N, frames, bins, 2]; frames begin frame_step apart and are weighted by the window.
Result<void> stft(Op& op) {
  const Value& x = op.in(0);
  const bool has_parts = x.rank() == 3;
  if ((x.rank() != 2 && !has_parts) || !is_float(x.type) || (has_parts && (x.dims[2] < 1 || x.dims[2] > 2)))
    return op.refuse(Code::ShapeMismatch, "of {} {}", name_of(x.type), text_of(x.dims));
  LOOM_TRY(const double given_step, op.known_number(1));
  const std::size_t samples = x.dims[1], parts = has_parts ? x.dims[2] : 1;
  double length = op.has(2) ? static_cast<double>(op.in(2).elements()) : static_cast<double>(samples);
  if (op.has(3)) {
    LOOM_TRY(length, op.known_number(3));
  }
  if (!(given_step >= 1) || !(length >= 1) || length > static_cast<double>(samples) ||
      length > static_cast<double>(kLongest) || given_step > 0x1p40)
    return op.refuse(Code::InvalidConfig, "frames of {} samples, {} apart, of {}", length, given_step, samples);
  const auto n = static_cast<std::size_t>(length), step = static_cast<std::size_t>(given_step);
  if (op.has(2) && (op.in(2).elements() != n || op.in(2).type != x.type))
    return op.refuse(Code::ShapeMismatch, "a window of {} for frames of {}", text_of(op.in(2).dims), n);
  const bool is_onesided = op.integer("onesided", 1) != 0;
  if (is_onesided && parts != 1)
    return op.refuse(Code::Unsupported, "one side of the transform of complex numbers, whose other side differs");
  const std::size_t frames = (samples - n) / step + 1, bins = is_onesided ? n / 2 + 1 : n;
  LOOM_TRY(Value* const y, op.out(0, x.type, {x.dims[0], frames, bins, 2}));
  if (op.measures()) return {};
  const Circle circle(n);
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, x.dims[0] * frames, n * bins, [&](std::size_t row) {
      const T* const from = x.as<T>() + (row / frames * samples + row % frames * step) * parts;
      const auto at = [&](std::size_t j) {
        const double weight = op.has(2) ? op.in(2).number(j) : 1;
        return Complex{weight * static_cast<double>(from[j * parts]),
                       parts == 2 ? weight * static_cast<double>(from[j * parts + 1]) : 0.0};
      };
      for (std::size_t bin = 0; bin < bins; ++bin) {
        const Complex sum = coefficient(circle, n, bin, -1, at);
        T* const to = y->as<T>() + (row * bins + bin) * 2;
        to[0] = snap(stored<T>(sum.re)), to[1] = snap(stored<T>(sum.im));
      }
    });
  });
  round_to_type(*y);
  return {};
}

// a - b cos(turn) + c cos(2 turns) over a period of the size, or of one less.
Result<void> window(Op& op) {
  LOOM_TRY(const auto list, op.ints(0));
  if (list.size() != 1 || list[0] < 0 || list[0] > static_cast<std::int64_t>(kLongest))
    return op.refuse(Code::InvalidConfig, "a size of {}", list.empty() ? 0 : list[0]);
  const std::int64_t said = op.integer("output_datatype", 1);
  const Type type = said > 0 && said < 256 ? static_cast<Type>(said) : Type::none;
  if (!is_known(type)) return op.refuse(Code::Unsupported, "of type {}", said);
  struct Terms {
    double a, b, c;
  };
  const Terms w = op.node.op == "HannWindow"      ? Terms{0.5, 0.5, 0}
                  : op.node.op == "HammingWindow" ? Terms{25.0 / 46, 21.0 / 46, 0}
                                                  : Terms{0.42, 0.5, 0.08};
  const auto size = static_cast<std::size_t>(list[0]);
  const auto period = static_cast<double>(op.integer("periodic", 1) != 0 ? size : size - 1);
  LOOM_TRY(Value* const y, op.out(0, type, {size}));
  if (op.measures()) return {};
  with_store(store_of(type), [&]<class T>(T) {
    for (std::size_t i = 0; i < size; ++i) {
      const double angle = period == 0 ? kTurn / 2 : kTurn * static_cast<double>(i) / period;
      y->as<T>()[i] = snap(stored<T>(w.a - w.b * cos64(angle) + w.c * cos64(2 * angle)));
    }
  });
  round_to_type(*y);
  return {};
}

}  // namespace

std::span<const OpRow> signal_rows() {
  static constexpr std::array kRows{
      OpRow{"DFT", dft},
      OpRow{"STFT", stft, false, 2},
      OpRow{"HannWindow", window},
      OpRow{"HammingWindow", window},
      OpRow{"BlackmanWindow", window},
  };
  return kRows;
}

}  // namespace loom::graph
