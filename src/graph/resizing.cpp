// Resize and Upsample: nearest, linear and cubic, axis by axis, weights and sums in f64.

#include <algorithm>
#include <array>
#include <optional>

#include "graph/operation.h"
#include "ops/until_cancelled.h"

namespace loom::graph {
namespace {

struct AxisPlan {
  std::size_t axis = 0, in = 1, out = 1, taps = 1;
  std::vector<std::size_t> index;  // [out, taps]
  std::vector<double> weight;
  std::vector<bool> outside;  // [out]: beyond the region that is cropped
};

struct Setting {
  std::string mode, transform, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// Computed in T: where one element is taken, ties fall as they do in f32 in ONNX Runtime.
template <class T>
T source_place(const Setting& s, T o, T in, T out, T scale, T first, T last) {
  constexpr T kHalf = T{1} / 2;
  if (s.transform == "asymmetric") return o / scale;
  if (s.transform == "align_corners") return scale * in == 1 ? 0 : o * (in - 1) / (scale * in - 1);
  if (s.transform == "pytorch_half_pixel") return out > 1 ? (o + kHalf) / scale - kHalf : 0;
  if (s.transform == "tf_half_pixel_for_nn") return (o + kHalf) / scale;
  if (s.transform == "tf_crop_and_resize")
    return out > 1 ? first * (in - 1) + o * (last - first) * (in - 1) / (out - 1) : kHalf * (first + last) * (in - 1);
  if (s.transform == "half_pixel_symmetric") {
    const T adjust = out / (scale * in), centre = in / 2, offset = centre * (1 - adjust);
    return offset + (o + kHalf) / scale - kHalf;
  }
  return (o + kHalf) / scale - kHalf;  // half_pixel
}

std::size_t bounded(double v, std::size_t n) {
  return !(v > 0) ? 0 : v >= static_cast<double>(n - 1) ? n - 1 : static_cast<std::size_t>(v);
}

double nearest_place(const Setting& s, double v) {
  const double down = __builtin_floor(v);
  if (s.nearest == "floor") return down;
  if (s.nearest == "ceil") return __builtin_ceil(v);
  if (s.nearest == "round_prefer_ceil") return __builtin_floor(v + 0.5);
  return __builtin_ceil(v - 0.5);
}

double cubic_weight(double a, double d) {
  if (d < 0) d = -d;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// With antialias a shrinking axis looks at a window that is wider by the scale.
AxisPlan plan_axis(const Setting& s, std::size_t axis, std::size_t in, std::size_t out, double scale, double first,
                   double last) {
  AxisPlan p;
  p.axis = axis, p.in = in, p.out = out;
  const bool cubic = s.mode == "cubic", nearest = s.mode == "nearest";
  const double shrink = s.antialias && scale < 1 ? scale : 1;
  const double reach = (cubic ? 2 : 1) / shrink;
  p.taps = nearest ? 1 : 2 * static_cast<std::size_t>(__builtin_ceil(reach));
  p.index.resize(out * p.taps), p.weight.assign(out * p.taps, 1), p.outside.assign(out, false);
  for (std::size_t o = 0; o < out; ++o) {
    const auto place_in = [&]<class T>(T) {
      return static_cast<double>(source_place(s, static_cast<T>(o), static_cast<T>(in), static_cast<T>(out),
                                              static_cast<T>(scale), static_cast<T>(first), static_cast<T>(last)));
    };
    const double at = nearest ? place_in(float{}) : place_in(double{});
    if (s.transform == "tf_crop_and_resize") p.outside[o] = at < 0 || at > static_cast<double>(in - 1);
    if (nearest) {
      p.index[o] = bounded(nearest_place(s, at), in);
      continue;
    }
    const double down = __builtin_floor(at);
    double sum = 0;
    const std::size_t before = p.taps / 2 - 1;  // taps in front of the place
    for (std::size_t k = 0; k < p.taps; ++k) {
      const double place = down + static_cast<double>(k) - static_cast<double>(before), d = (place - at) * shrink;
      const double size = d < 0 ? -d : d;
      double w = cubic ? cubic_weight(s.cubic, d) : size < 1 ? 1 - size : 0;
      // Without exclude_outside a place beyond the edge counts with the value of the edge.
      if (s.exclude_outside && (place < 0 || place > static_cast<double>(in - 1))) w = 0;
      p.index[o * p.taps + k] = bounded(place, in), p.weight[o * p.taps + k] = w, sum += w;
    }
    if ((s.exclude_outside || shrink < 1) && sum != 0)
      for (std::size_t k = 0; k < p.taps; ++k) p.weight[o * p.taps + k] /= sum;
  }
  return p;
}

// The last axis: every element of a row by its own taps.
template <class T>
void resize_last(const Exec& exec, const AxisPlan& p, std::size_t rows, const T* x, T* y) {
  for_rows(exec, rows, p.out * p.taps, [&](std::size_t row) {
    if (is_cancelled(exec)) return;
    const T* const from = x + row * p.in;
    T* const to = y + row * p.out;
    if (p.taps == 1) {
      for (std::size_t o = 0; o < p.out; ++o) to[o] = from[p.index[o]];
      return;
    }
    for (std::size_t o = 0; o < p.out; ++o) {
      double sum = 0;
      for (std::size_t k = o * p.taps; k < (o + 1) * p.taps; ++k)
        sum += p.weight[k] * static_cast<double>(from[p.index[k]]);
      to[o] = snap(stored<T>(sum));
    }
  });
}

template <class T>
void resize_axis(const Exec& exec, const AxisPlan& p, std::size_t outer, std::size_t inner, const T* x, T* y) {
  if (inner == 1) return resize_last(exec, p, outer, x, y);
  for_rows(exec, outer * p.out, inner * p.taps, [&](std::size_t row) {
    if (is_cancelled(exec)) return;
    const std::size_t o = row % p.out, before = row / p.out;
    T* const to = y + row * inner;
    if (p.taps == 1) {
      std::copy_n(x + (before * p.in + p.index[o]) * inner, inner, to);
      return;
    }
    for (std::size_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < p.taps; ++k)
        sum += p.weight[o * p.taps + k] * static_cast<double>(x[(before * p.in + p.index[o * p.taps + k]) * inner + i]);
      to[i] = snap(stored<T>(sum));
    }
  });
}

struct Target {
  Dims dims;
  std::vector<double> scales, first, last;
};

// Where the sizes come from: an input of scales or one of sizes, for all axes or those named.
Result<Target> target_of(Op& op) {
  const Value& x = op.in(0);
  Target t;
  t.dims = x.dims;
  t.scales.assign(x.rank(), 1);
  t.first.assign(x.rank(), 0);
  t.last.assign(x.rank(), 1);
  std::vector<std::int64_t> axes = op.integers("axes");
  if (axes.empty())
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const bool old = op.opset < 11;
  const std::size_t scales_at = old ? 1 : 2;
  const bool by_scales = op.has(scales_at) && op.in(scales_at).elements() != 0;
  const std::size_t at = by_scales ? scales_at : 3;
  std::vector<double> given;
  if (op.has_attribute("scales") && op.has(1))
    return op.refuse(Code::InvalidConfig, "\"scales\" as an attribute and as input 1; expected one of them");
  if (op.node.op == "Upsample" && !op.has(1)) {
    if (const Attribute* const a = op.node.find("scales")) given = a->numbers;
  } else {
    LOOM_TRY_VOID(op.ints(at));  // known?
    for (std::size_t i = 0; i < op.in(at).elements(); ++i) given.push_back(op.in(at).number(i));
  }
  if (given.size() != axes.size())
    return op.refuse(Code::ShapeMismatch, "{} extents for {} axes", given.size(), axes.size());
  const bool as_scales = by_scales || old;
  const std::string policy = op.text("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    LOOM_TRY(const std::size_t axis, op.axis(axes[i], x.rank()));
    const auto in = static_cast<double>(x.dims[axis]);
    if (!(given[i] > 0) || in == 0) return op.refuse(Code::InvalidConfig, "a scale or extent of {}", given[i]);
    const double scale = as_scales ? given[i] : given[i] / in;
    if (!as_scales && policy != "stretch")
      common = common == 0 ? scale : policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
    t.scales[axis] = scale;
    const double extent = as_scales ? __builtin_floor(in * scale) : given[i];
    if (!(extent < 0x1p40)) return op.refuse(Code::SizeOverflow, "an extent of {}", extent);
    t.dims[axis] = static_cast<std::size_t>(extent);
  }
  for (std::size_t i = 0; i < axes.size() && common != 0; ++i) {
    LOOM_TRY(const std::size_t axis, op.axis(axes[i], x.rank()));
    t.scales[axis] = common;
    const double extent = __builtin_floor(common * static_cast<double>(x.dims[axis]) + 0.5);
    if (!(extent >= 0 && extent < 0x1p40)) return op.refuse(Code::SizeOverflow, "an extent of {}", extent);
    t.dims[axis] = static_cast<std::size_t>(extent);
  }
  if (op.text("coordinate_transformation_mode", "") != "tf_crop_and_resize") return t;
  LOOM_TRY_VOID(op.ints(1));
  if (op.in(1).elements() != 2 * axes.size())
    return op.refuse(Code::ShapeMismatch, "a region of {} numbers", op.in(1).elements());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    LOOM_TRY(const std::size_t axis, op.axis(axes[i], x.rank()));
    t.first[axis] = op.in(1).number(i), t.last[axis] = op.in(1).number(axes.size() + i);
  }
  return t;
}

Result<void> resize(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const Target t, target_of(op));
  Setting s;
  s.mode = op.text("mode", "nearest");
  if (s.mode == "bilinear") s.mode = "linear";
  s.transform = op.text("coordinate_transformation_mode", op.opset < 11 ? "asymmetric" : "half_pixel");
  s.nearest = op.text("nearest_mode", op.opset < 11 ? "floor" : "round_prefer_floor");
  s.cubic = op.number("cubic_coeff_a", -0.75), s.extrapolation = op.number("extrapolation_value", 0);
  s.exclude_outside = op.integer("exclude_outside", 0) != 0, s.antialias = op.integer("antialias", 0) != 0;
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic")
    return op.refuse(Code::Unsupported, "mode \"{}\"", s.mode);
  LOOM_TRY(Value* const y, op.out(0, x.type, t.dims));
  if (op.is_on_card() && s.mode == "nearest" && s.transform != "tf_crop_and_resize") {
    std::vector<AxisPlan> axes;
    axes.reserve(x.rank());
    for (std::size_t axis = 0; axis < x.rank() && *op.table == nullptr; ++axis)  // the table says it all
      axes.push_back(plan_axis(s, axis, x.dims[axis], t.dims[axis], t.scales[axis], t.first[axis], t.last[axis]));
    return take_by_table(op, *y, [&](std::size_t i) {
      std::size_t from = 0, step = 1;
      for (std::size_t axis = x.rank(); axis-- > 0; i /= t.dims[axis], step *= x.dims[axis])
        from += step * (x.dims[axis] == t.dims[axis] && t.scales[axis] == 1 ? i % t.dims[axis]
                                                                            : axes[axis].index[i % t.dims[axis]]);
      return static_cast<std::ptrdiff_t>(from);
    });
  }
  std::vector<AxisPlan> plans;
  Dims now = x.dims;
  std::size_t most = x.elements();
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (t.dims[axis] == x.dims[axis] && t.scales[axis] == 1 && s.transform != "tf_crop_and_resize") continue;
    if (!op.measures())
      plans.push_back(plan_axis(s, axis, x.dims[axis], t.dims[axis], t.scales[axis], t.first[axis], t.last[axis]));
    now[axis] = t.dims[axis];
    most = std::max(most, count(now));
  }
  const std::size_t size = bytes_of(store_of(x.type));
  std::array<std::byte*, 2> between{op.exec.arena.take<std::byte>(most * size),
                                    op.exec.arena.take<std::byte>(most * size)};
  if (op.measures() || y->elements() == 0) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    const T* from = x.as<T>();
    now = x.dims;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const AxisPlan& p = plans[i];
      T* const to = i + 1 == plans.size() ? y->as<T>() : reinterpret_cast<T*>(between[i % 2]);
      resize_axis(op.exec, p, count(std::span(now).first(p.axis)), count(std::span(now).subspan(p.axis + 1)), from, to);
      now[p.axis] = p.out, from = to;
    }
    if (plans.empty()) std::copy_n(from, y->elements(), y->as<T>());
    if (s.transform != "tf_crop_and_resize") return;
    const auto strides = row_major_strides(t.dims);
    for (std::size_t i = 0; i < y->elements(); ++i)
      for (const AxisPlan& p : plans)
        if (p.outside[i / strides[p.axis] % p.out]) y->as<T>()[i] = stored<T>(s.extrapolation);
  });
  round_to_type(*y);
  return {};
}

}  // namespace

std::span<const OpRow> resize_rows() {
  static constexpr std::array kRows{
      OpRow{"Resize", resize},
      OpRow{"Upsample", resize},
  };
  return kRows;
}

}  // namespace loom::graph
