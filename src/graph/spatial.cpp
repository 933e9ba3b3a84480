// Convolutions and pools. Convolutions are those of ops/conv; whole numbers are summed exactly, in f64.

#include <algorithm>
#include <cstdint>
#include <array>

#include "core/checked.h"
#include "graph/products.h"
#include "ops/conv/conv.h"
#include "ops/for_rows.h"
#include "ops/matmul/matmul.h"
#include "ops/non_finite.h"
#include "ops/pool/pool.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;
constexpr std::size_t kNowhere = ~std::size_t{0};

Result<std::vector<std::size_t>> sizes_of(const Op& op, std::string_view key, std::size_t n, std::size_t fallback,
                                          std::int64_t least) {
  const auto list = op.integers(key);
  if (list.empty()) return std::vector<std::size_t>(n, fallback);
  if (list.size() != n) return op.refuse(Code::ShapeMismatch, "{} {} for {} axes", list.size(), key, n);
  std::vector<std::size_t> sizes;
  for (const std::int64_t v : list) {
    if (v < least || v > kMostExtent) return op.refuse(Code::InvalidConfig, "{} {}", key, v);
    sizes.push_back(static_cast<std::size_t>(v));
  }
  return sizes;
}

}  // namespace

Result<Window> window_of(const Op& op, const Value& x, std::vector<std::size_t> kernel, bool ceil_mode) {
  Window w;
  if (x.rank() < 3 || kernel.size() != x.rank() - 2)
    return op.refuse(Code::ShapeMismatch, "{} axes of a window for {}", kernel.size(), text_of(x.dims));
  w.axes = x.rank() - 2, w.kernel = std::move(kernel);
  LOOM_TRY(w.stride, sizes_of(op, "strides", w.axes, 1, 1));
  LOOM_TRY(w.dilation, sizes_of(op, "dilations", w.axes, 1, 1));
  LOOM_TRY(const auto pads, sizes_of(op, "pads", 2 * w.axes, 0, 0));
  const std::string mode = op.text("auto_pad", "NOTSET");
  for (std::size_t a = 0; a < w.axes; ++a) {
    const std::size_t in = x.dims[a + 2];
    if (w.kernel[a] == 0 || in == 0) return op.refuse(Code::ShapeMismatch, "nothing on axis {}", a);
    LOOM_TRY(const std::size_t reach, checked_mul(w.dilation[a], w.kernel[a] - 1));
    w.begin.push_back(mode == "NOTSET" ? pads[a] : 0), w.end.push_back(mode == "NOTSET" ? pads[a + w.axes] : 0);
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const std::size_t out = ceil_div(in, w.stride[a]), needed = (out - 1) * w.stride[a] + reach + 1;
      const std::size_t both = needed > in ? needed - in : 0, less = both / 2;
      w.begin[a] = mode == "SAME_UPPER" ? less : both - less, w.end[a] = both - w.begin[a];
      w.out.push_back(out);
      continue;
    }
    const std::size_t padded = in + w.begin[a] + w.end[a];
    if (padded < reach + 1) return op.refuse(Code::ShapeMismatch, "a window of {} over {} elements", reach + 1, padded);
    std::size_t steps = (padded - reach - 1) / w.stride[a];
    // A last window that leaves the padded input counts where it starts inside of the input or its front padding.
    if (ceil_mode && (padded - reach - 1) % w.stride[a] != 0 && (steps + 1) * w.stride[a] < in + w.begin[a]) ++steps;
    w.out.push_back(steps + 1);
  }
  return w;
}

namespace {

ConvGeometry geometry_of(const Window& w, const Value& x) {
  ConvGeometry g;
  g.in = three(Dims(x.dims.begin() + 2, x.dims.end()), 1), g.kernel = three(w.kernel, 1), g.stride = three(w.stride, 1);
  g.dilation = three(w.dilation, 1), g.padding = three(w.begin, 0);
  return g;
}

Result<std::size_t> groups_of(const Op& op, std::size_t channels, std::size_t filters) {
  const std::int64_t groups = op.integer("group", 1);
  if (groups < 1 || groups > kMostExtent || channels % static_cast<std::size_t>(groups) != 0 ||
      filters % static_cast<std::size_t>(groups) != 0)
    return op.refuse(Code::ShapeMismatch, "{} groups of {} channels and {} filters", groups, channels, filters);
  return static_cast<std::size_t>(groups);
}

// Bounds the memory of the padded planes of one sample.
Result<void> check_stored(const Op& op, const PatchLayout& layout, std::size_t channels) {
  constexpr std::size_t kMost = std::min<std::uint64_t>(std::uint64_t{1} << 34, SIZE_MAX / 16);
  if (layout.plane() > kMost / std::max<std::size_t>(channels, 1))
    return op.refuse(Code::SizeOverflow, "padded planes of {} elements for {} channels", layout.plane(), channels);
  return {};
}

// kernel_shape repeats what the weight says.
Result<void> check_kernel(const Op& op, const Window& w) {
  LOOM_TRY(const auto said, sizes_of(op, "kernel_shape", w.axes, 0, 1));
  if (!op.has_attribute("kernel_shape") || said == w.kernel) return {};
  return op.refuse(Code::ShapeMismatch, "kernel_shape {} for a weight of {}", text_of(said), text_of(w.kernel));
}

}  // namespace

Result<Convolution> convolution_of(const Op& op, const Value& x, const Value& w) {
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank() || x.elements() == 0 || w.elements() == 0)
    return op.refuse(Code::ShapeMismatch, "{} by a weight {}", text_of(x.dims), text_of(w.dims));
  Convolution c;
  LOOM_TRY(const std::size_t groups, groups_of(op, x.dims[1], w.dims[0]));
  if (w.dims[1] != x.dims[1] / groups)
    return op.refuse(Code::ShapeMismatch, "{} by a weight {} in {} groups", text_of(x.dims), text_of(w.dims), groups);
  LOOM_TRY(c.window, window_of(op, x, Dims(w.dims.begin() + 2, w.dims.end()), false));
  LOOM_TRY_VOID(check_kernel(op, c.window));
  c.sizes = {x.dims[0], groups, x.dims[1] / groups, w.dims[0] / groups};
  LOOM_TRY(c.layout, PatchLayout::create(geometry_of(c.window, x), three(c.window.out, 1)));
  LOOM_TRY_VOID(check_stored(op, c.layout, x.dims[1]));
  c.dims = {x.dims[0], w.dims[0]};
  c.dims.insert(c.dims.end(), c.window.out.begin(), c.window.out.end());
  return c;
}

namespace {

Result<void> conv(Op& op) {
  const Value &x = op.in(0), &w = op.in(1);
  if (!is_float(x.type) || w.type != x.type)
    return op.refuse(Code::Unsupported, "of {} by {}", name_of(x.type), name_of(w.type));
  LOOM_TRY(const Convolution c, convolution_of(op, x, w));
  if (op.has(2) && (op.in(2).elements() != w.dims[0] || op.in(2).type != x.type))
    return op.refuse(Code::ShapeMismatch, "a bias {}", text_of(op.in(2).dims));
  LOOM_TRY(Value* const y, op.out(0, x.type, c.dims));
  op.has_form(0b111);
  convolve(op.exec, c.layout, c.sizes, x.data, w.data, op.has(2) ? op.in(2).data : nullptr, y->data,
           element_of_value(x));
  if (!op.measures()) round_to_type(*y);
  return {};
}

// The weight of a convolution in panels of filters. Null where it is not finite.
Result<const Matrix*> packed_weight(Op& op, const Value& w) {
  if (op.measures() && *op.packed == nullptr) {
    const std::span<const float> rows(w.as<float>(), w.elements());
    if (!std::ranges::all_of(rows, [](float v) { return loom::is_finite(v); })) return nullptr;
    LOOM_TRY(Matrix matrix, Matrix::from_floats(DType::float32, rows, w.dims[0], w.elements() / w.dims[0]));
    *op.packed = std::make_shared<Matrix>(std::move(matrix));
  }
  return static_cast<const Matrix*>(op.packed->get());
}

}  // namespace

Result<void> conv_by_matrix(Op& op) {
  LOOM_TRY(const Matrix* const matrix, packed_weight(op, op.in(1)));
  if (matrix == nullptr) return conv(op);
  const Value& x = op.in(0);
  LOOM_TRY(const Convolution c, convolution_of(op, x, op.in(1)));
  LOOM_TRY(Value* const y, op.out(0, x.type, c.dims));
  op.has_form(0b101);
  const std::size_t samples = c.sizes.samples, channels = c.sizes.channels, filters = c.sizes.filters;
  const std::size_t positions = c.layout.positions(), terms = channels * c.layout.taps(), plane = c.layout.plane();
  const float* planes = x.as<float>();
  if (!c.layout.in_place()) {
    float* const stored = op.exec.arena.take<float>(samples * channels * plane);
    store_planes(op.exec, c.layout, x.data, samples * channels, Element::f32, stored);
    planes = stored;
  }
  const Tensor patches = op.exec.arena.tensor(samples * positions, terms);
  const Tensor rows = op.exec.arena.tensor(samples * positions, filters);
  for (std::size_t b = 0; b < samples; ++b)
    unfold(op.exec, c.layout, planes + b * channels * plane, channels, 0,
           {patches.row<float>(b * positions), positions, terms, Element::f32});
  loom::matmul(op.exec, patches, std::array{MatmulJob{matrix, rows, op.has(2) ? op.in(2).as<float>() : nullptr}});
  for (std::size_t b = 0; b < samples; ++b)
    rows_to_planes(op.exec, {rows.row<float>(b * positions), positions, filters, Element::f32}, positions, 0,
                   y->as<float>() + b * filters * positions);
  return {};
}

namespace {

// x - zero point, as f64: sums of such products are exact. One zero point, or one per channel `inner` elements apart.
double* centred(Op& op, const Value& x, const Value* zero, std::size_t inner) {
  double* const to = op.exec.arena.take<double>(x.elements());
  if (op.measures()) return to;
  const std::size_t n = zero == nullptr ? 0 : zero->elements();
  for (std::size_t i = 0; i < x.elements(); ++i)
    to[i] = x.number(i) - (n == 0 ? 0.0 : zero->number(n == 1 ? 0 : i / inner % n));
  return to;
}

Result<void> conv_integer(Op& op) {
  const Value &x = op.in(0), &w = op.in(1);
  LOOM_TRY(const Convolution c, convolution_of(op, x, w));
  LOOM_TRY(Value* const y, op.out(0, Type::i32, c.dims));
  const double* const xs = centred(op, x, op.has(2) ? &op.in(2) : nullptr, x.elements());
  const double* const ws = centred(op, w, op.has(3) ? &op.in(3) : nullptr, w.elements() / w.dims[0]);
  double* const sums = op.exec.arena.take<double>(y->elements());
  convolve(op.exec, c.layout, c.sizes, xs, ws, nullptr, sums, Element::f64);
  for (std::size_t i = 0; i < y->elements() && !op.measures(); ++i)
    y->as<std::int64_t>()[i] = wrapped(Type::i32, stored<std::int64_t>(sums[i]));
  return {};
}

// x, its scale and zero point, w with these, those of y, a bias of int32.
Result<void> qlinear_conv(Op& op) {
  const Value &x = op.in(0), &w = op.in(3);
  LOOM_TRY(const Convolution c, convolution_of(op, x, w));
  LOOM_TRY(Value* const y, op.out(0, op.in(7).type, c.dims));
  if (op.in(1).elements() != 1 || op.in(6).elements() != 1 || op.in(7).elements() != 1 ||
      (op.in(4).elements() != 1 && op.in(4).elements() != w.dims[0]) || (op.has(8) && op.in(8).elements() != w.dims[0]))
    return op.refuse(Code::ShapeMismatch, "scales of {} and {}", text_of(op.in(1).dims), text_of(op.in(4).dims));
  const double* const xs = centred(op, x, &op.in(2), x.elements());
  const double* const ws = centred(op, w, &op.in(5), w.elements() / w.dims[0]);
  double* const sums = op.exec.arena.take<double>(y->elements());
  convolve(op.exec, c.layout, c.sizes, xs, ws, nullptr, sums, Element::f64);
  if (op.measures()) return {};
  const std::size_t inner = y->elements() / (c.dims[0] * c.dims[1]);
  const bool is_signed = y->type == Type::i8;
  for (std::size_t i = 0; i < y->elements(); ++i) {
    const std::size_t f = i / inner % c.dims[1];
    const double scale = op.in(1).number(0) * op.in(4).number(op.in(4).elements() == 1 ? 0 : f) / op.in(6).number(0);
    const double v = nearest_even((sums[i] + (op.has(8) ? op.in(8).number(f) : 0.0)) * scale) + op.in(7).number(0);
    y->as<std::int64_t>()[i] = stored<std::int64_t>(std::clamp(v, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0));
  }
  return {};
}

}  // namespace

Result<Convolution> transposed_convolution_of(const Op& op, const Value& x, const Value& w) {
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank() || w.dims[0] != x.dims[1] || x.elements() == 0 ||
      w.elements() == 0)
    return op.refuse(Code::ShapeMismatch, "{} by a weight {}", text_of(x.dims), text_of(w.dims));
  const std::size_t axes = x.rank() - 2;
  LOOM_TRY(const std::size_t groups, groups_of(op, x.dims[1], x.dims[1]));
  Convolution c;
  Window& win = c.window;
  win.axes = axes, win.kernel = Dims(w.dims.begin() + 2, w.dims.end());
  LOOM_TRY_VOID(check_kernel(op, win));
  LOOM_TRY(win.stride, sizes_of(op, "strides", axes, 1, 1));
  LOOM_TRY(win.dilation, sizes_of(op, "dilations", axes, 1, 1));
  LOOM_TRY(const auto pads, sizes_of(op, "pads", 2 * axes, 0, 0));
  LOOM_TRY(const auto extra, sizes_of(op, "output_padding", axes, 0, 0));
  const auto wanted = op.integers("output_shape");
  if (!wanted.empty() && wanted.size() != axes)
    return op.refuse(Code::ShapeMismatch, "an output_shape of {} extents", wanted.size());
  if (std::ranges::any_of(wanted, [](std::int64_t v) { return v < 1 || v > kMostExtent; }))
    return op.refuse(Code::InvalidConfig, "an output_shape with an extent below 1 or above {}", kMostExtent);
  const std::string mode = op.text("auto_pad", "NOTSET");
  for (std::size_t a = 0; a < axes; ++a) {
    LOOM_TRY(const std::size_t walked, checked_mul(win.stride[a], x.dims[a + 2] - 1));
    LOOM_TRY(const std::size_t reach, checked_mul(win.dilation[a], win.kernel[a] - 1));
    const std::size_t whole = walked + reach + 1 + extra[a];
    std::size_t begin = pads[a], end = pads[a + axes], beyond = 0;
    const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (!wanted.empty() || same) {
      const std::size_t out = wanted.empty() ? x.dims[a + 2] * win.stride[a]
                                             : static_cast<std::size_t>(std::max<std::int64_t>(wanted[a], 0));
      // With a kernel below the stride ONNX asks for more than the full result, and ONNX Runtime gives that one.
      if (wanted.empty() && out > whole)
        return op.refuse(Code::Unsupported, "auto_pad {} with an output of {} where {} are", mode, out, whole);
      // ConvTranspose-11: the greater half of the padding is in front, but for SAME_UPPER. An output larger than the
      // full result ends in zeros.
      const std::size_t both = whole > out ? whole - out : 0;
      begin = mode == "SAME_UPPER" ? both / 2 : both - both / 2;
      end = both - begin, beyond = out > whole ? out - whole : 0;
    } else if (mode == "VALID") {
      begin = end = 0;
    }
    if (whole < begin + end + 1) return op.refuse(Code::ShapeMismatch, "nothing comes out");
    win.begin.push_back(begin), win.end.push_back(end), win.out.push_back(whole - begin - end + beyond);
  }
  ConvGeometry g = geometry_of(win, x);
  g.transposed = true;
  LOOM_TRY(c.layout, PatchLayout::create(g, three(win.out, 1)));
  LOOM_TRY_VOID(check_stored(op, c.layout, x.dims[1]));
  c.sizes = {x.dims[0], groups, x.dims[1] / groups, w.dims[1]};
  c.dims = {x.dims[0], w.dims[1] * groups};
  c.dims.insert(c.dims.end(), win.out.begin(), win.out.end());
  return c;
}

namespace {

Result<void> conv_transpose(Op& op) {
  const Value &x = op.in(0), &w = op.in(1);
  if (!is_float(x.type) || w.type != x.type)
    return op.refuse(Code::Unsupported, "of {} by {}", name_of(x.type), name_of(w.type));
  LOOM_TRY(const Convolution c, transposed_convolution_of(op, x, w));
  if (op.has(2) && (op.in(2).elements() != c.dims[1] || op.in(2).type != x.type))
    return op.refuse(Code::ShapeMismatch, "a bias {}", text_of(op.in(2).dims));
  LOOM_TRY(Value* const y, op.out(0, x.type, c.dims));
  op.has_form(0b111);
  // The file's weight is [channel, filter, tap]; the convolution wants filters first.
  const ConvSizes turned{c.sizes.samples, c.sizes.groups, c.sizes.filters, c.sizes.channels};
  void* const ws = op.exec.arena.take<std::byte>(w.elements() * loom::bytes_of(element_of_value(x)));
  reverse_weight(op.exec, turned, c.layout.geometry().taps(), w.data, ws, element_of_value(x));
  convolve(op.exec, c.layout, c.sizes, x.data, ws, op.has(2) ? op.in(2).data : nullptr, y->data, element_of_value(x));
  if (!op.measures()) round_to_type(*y);
  return {};
}

// The taps of one axis that meet the input, [first, last), and how many meet the padded input.
struct Taps {
  std::size_t first = 0, last = 0, padded = 0;
  std::ptrdiff_t start = 0;  // place of tap 0
};
Taps taps_of(const Window& w, const Dims& in, std::size_t axis, std::size_t o) {
  Taps t;
  t.start = static_cast<std::ptrdiff_t>(o * w.stride[axis]) - static_cast<std::ptrdiff_t>(w.begin[axis]);
  // Returns the number of taps below a place.
  const auto below = [&](std::size_t place) {
    const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(place) - t.start;
    return distance <= 0 ? 0 : std::min(w.kernel[axis], ceil_div(static_cast<std::size_t>(distance), w.dilation[axis]));
  };
  t.first = below(0), t.last = below(in[axis]), t.padded = below(in[axis] + w.end[axis]);
  return t;
}

// f(value, index in the plane) for every element that a window meets. Returns how many places of the padded input the
// window has.
template <class T, class F>
std::size_t visit_window(const Window& w, const Dims& in, const T* plane, std::size_t o, F&& f) {
  std::array<Taps, 8> taps{};
  std::size_t padded = 1, met = 1;
  for (std::size_t a = w.axes; a-- > 0;) {
    taps[a] = taps_of(w, in, a, o % w.out[a]);
    o /= w.out[a];
    padded *= taps[a].padded, met *= taps[a].last - taps[a].first;
  }
  for (std::size_t k = 0; k < met; ++k) {
    std::size_t rest = k, index = 0, stride = 1;
    for (std::size_t a = w.axes; a-- > 0;) {
      const std::size_t n = taps[a].last - taps[a].first, tap = taps[a].first + rest % n;
      rest /= n;
      index += static_cast<std::size_t>(taps[a].start + static_cast<std::ptrdiff_t>(tap * w.dilation[a])) * stride;
      stride *= in[a];
    }
    f(plane[index], index);
  }
  return padded;
}

}  // namespace

Result<Window> pool_window(const Op& op) {
  if (op.in(0).rank() < 3 || op.in(0).rank() > 8)
    return op.refuse(Code::ShapeMismatch, "of {}", text_of(op.in(0).dims));
  if (op.node.op == "GlobalLpPool")  // one window, which is the plane
    return window_of(op, op.in(0), Dims(op.in(0).dims.begin() + 2, op.in(0).dims.end()), false);
  LOOM_TRY(auto kernel, sizes_of(op, "kernel_shape", op.in(0).rank() - 2, 0, 1));
  return window_of(op, op.in(0), std::move(kernel), op.integer("ceil_mode", 0) != 0);
}

namespace {

Dims pooled_dims(const Value& x, const Window& w) {
  Dims dims{x.dims[0], x.dims[1]};
  dims.insert(dims.end(), w.out.begin(), w.out.end());
  return dims;
}

}  // namespace

std::optional<PoolGeometry> pool_geometry(const Value& x, const Window& w) {
  if (!is_float(x.type) || w.axes > 3) return std::nullopt;
  for (std::size_t a = 0; a < w.axes; ++a)
    if ((w.dilation[a] != 1 && w.begin[a] != 0) || w.begin[a] >= w.kernel[a] ||
        (w.out[a] - 1) * w.stride[a] >= x.dims[a + 2] + w.begin[a])
      return std::nullopt;
  PoolGeometry g;
  g.in = three(Dims(x.dims.begin() + 2, x.dims.end()), 1), g.kernel = three(w.kernel, 1);
  g.stride = three(w.stride, 1), g.dilation = three(w.dilation, 1), g.padding = three(w.begin, 0);
  return g;
}

std::optional<PoolGeometry> average_geometry(const Op& op, const Value& x, const Window& w) {
  auto geometry = pool_geometry(x, w);
  // A last window may reach beyond the input only by the padding at the end.
  for (std::size_t a = 0; geometry && a < w.axes; ++a)
    if (w.dilation[a] != 1 || w.end[a] != w.begin[a] ||
        (w.out[a] - 1) * w.stride[a] + w.kernel[a] > x.dims[a + 2] + 2 * w.begin[a])
      geometry.reset();
  if (geometry) geometry->count_include_pad = op.integer("count_include_pad", 0) != 0;
  return geometry;
}

namespace {

Result<void> max_pool_op(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const Window w, pool_window(op));
  const Dims dims = pooled_dims(x, w);
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  if (op.wants(1)) {
    LOOM_TRY_VOID(op.out(1, Type::i64, dims));
  } else if (const auto geometry = pool_geometry(x, w)) {
    op.has_form(1);
    max_pool(op.exec, *geometry, three(w.out, 1), tensor_of(x, x.dims.back()), x.dims[0] * x.dims[1],
             tensor_of(*y, dims.back()));
    return {};
  }
  if (op.measures()) return {};
  const Dims in(x.dims.begin() + 2, x.dims.end());
  const std::size_t plane = count(in), positions = count(w.out);
  const auto strides = row_major_strides(in);
  const bool columns_first = op.integer("storage_order", 0) != 0;
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, dims[0] * dims[1], positions, [&](std::size_t p) {
      for (std::size_t o = 0; o < positions && !op.is_cancelled(); ++o) {
        T best{};
        std::size_t winner = kNowhere;
        visit_window(w, in, x.as<T>() + p * plane, o, [&](T v, std::size_t i) {
          if (winner == kNowhere || v > best) best = v, winner = i;
        });
        (*op.outs)[0].as<T>()[p * positions + o] = best;
        if (!op.wants(1)) continue;
        std::size_t index = winner == kNowhere ? 0 : winner;
        if (columns_first && winner != kNowhere) {
          index = 0;
          std::size_t step = 1;
          for (std::size_t a = 0; a < in.size(); ++a) index += winner / strides[a] % in[a] * step, step *= in[a];
        }
        (*op.outs)[1].as<std::int64_t>()[p * positions + o] = static_cast<std::int64_t>(p * plane + index);
      }
    });
  });
  return {};
}

Result<void> average_pool_op(Op& op) {
  const Value& x = op.in(0);
  if (!is_float(x.type)) return op.refuse(Code::Unsupported, "of {}", name_of(x.type));
  LOOM_TRY(const Window w, pool_window(op));
  const bool counts_padding = op.integer("count_include_pad", 0) != 0;
  const bool powers = op.node.op == "LpPool" || op.node.op == "GlobalLpPool";
  const std::int64_t p_norm = op.integer("p", 2);
  if (powers && (p_norm < 1 || p_norm > 64)) return op.refuse(Code::Unsupported, "p {}", p_norm);
  const Dims dims = pooled_dims(x, w);
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  const auto geometry = powers ? std::nullopt : average_geometry(op, x, w);
  if (geometry) {
    op.has_form(1);
    average_pool(op.exec, *geometry, three(w.out, 1), tensor_of(x, x.dims.back()), x.dims[0] * x.dims[1],
                 tensor_of(*y, dims.back()));
    if (!op.measures()) round_to_type(*y);
    return {};
  }
  if (op.measures()) return {};
  const Dims in(x.dims.begin() + 2, x.dims.end());
  const std::size_t plane = count(in), positions = count(w.out);
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, dims[0] * dims[1], positions, [&](std::size_t p) {
      for (std::size_t o = 0; o < positions && !op.is_cancelled(); ++o) {
        double sum = 0;
        std::size_t met = 0;
        const std::size_t padded = visit_window(w, in, x.as<T>() + p * plane, o, [&](T v, std::size_t) {
          const double d = static_cast<double>(v), size = d < 0 ? -d : d;
          sum += !powers ? d : p_norm == 1 ? size : p_norm == 2 ? d * d : pow64(size, static_cast<double>(p_norm));
          ++met;
        });
        if (powers)
          sum = p_norm == 1 ? sum : p_norm == 2 ? __builtin_sqrt(sum) : pow64(sum, 1 / static_cast<double>(p_norm));
        else
          sum /= static_cast<double>(counts_padding ? padded : met);
        y->as<T>()[p * positions + o] = snap(stored<T>(sum));
      }
    });
  });
  round_to_type(*y);
  return {};
}

// Whole planes: the mean, the largest element or the norm.
Result<void> global_pool(Op& op) {
  const Value& x = op.in(0);
  if (x.rank() < 2 || x.elements() == 0) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  Dims dims{x.dims[0], x.dims[1]};
  dims.resize(x.rank(), 1);
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  op.has_form(1);
  if (op.measures() && !op.is_on_card()) return {};
  const std::size_t planes = x.dims[0] * x.dims[1], n = x.elements() / planes;
  const bool largest = op.node.op == "GlobalMaxPool";
  if (is_float(x.type)) {
    largest ? largest_of_planes(op.exec, tensor_of(x, n), y->data) : mean_of_planes(op.exec, tensor_of(x, n), y->data);
    if (!op.measures()) round_to_type(*y);
    return {};
  }
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, planes, n, [&](std::size_t p) {
      const T* const from = x.as<T>() + p * n;
      double sum = largest ? static_cast<double>(from[0]) : 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto v = static_cast<double>(from[i]);
        sum = largest ? std::max(sum, v) : sum + v;
      }
      y->as<T>()[p] = snap(stored<T>(largest ? sum : sum / static_cast<double>(n)));
    });
  });
  round_to_type(*y);
  return {};
}

}  // namespace

std::span<const OpRow> spatial_rows() {
  static constexpr std::array kRows{
      OpRow{"Conv", conv, false, 2},
      OpRow{"ConvInteger", conv_integer, false, 2},
      OpRow{"QLinearConv", qlinear_conv, false, 8},
      OpRow{"ConvTranspose", conv_transpose, false, 2},
      OpRow{"MaxPool", max_pool_op},
      OpRow{"AveragePool", average_pool_op},
      OpRow{"LpPool", average_pool_op},
      OpRow{"GlobalLpPool", average_pool_op},
      OpRow{"GlobalMaxPool", global_pool},
      OpRow{"GlobalAveragePool", global_pool},
  };
  return kRows;
}

}  // namespace loom::graph
