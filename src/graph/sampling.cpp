// Planes read at places between their elements, and boxes on them: GridSample, AffineGrid (Jaderberg et al. 2015) and
// NonMaxSuppression. Places are computed in the type of the tensor, as ONNX Runtime does; sums are kept in f64, in one
// chain over the taps, the last axis fastest, and rounded once.

#include <algorithm>
#include <array>

#include "graph/operation.h"
#include "ops/for_rows.h"

namespace loom::graph {
namespace {

constexpr std::size_t kMostSampledAxes = 3, kMostTaps = 4;

enum class Edge : std::uint8_t { zeros, border, reflection };
enum class SampleMode : std::uint8_t { nearest, linear, cubic };

double clamped(double v, double low, double high) { return v < low ? low : v > high ? high : v; }

// Mirrors a place at both ends of [low, high] until it is inside.
double reflected(double v, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  if (v >= low && v <= high) return v;
  const double beyond = v < low ? low - v : v - high, turns = __builtin_floor(beyond / range);
  const double rest = beyond - turns * range;
  const bool is_even = turns - 2 * __builtin_floor(turns / 2) == 0;
  return (v < low) == is_even ? low + rest : high - rest;
}

// The elements of one axis that a place reads, -1 for none, and their weights.
struct AxisTaps {
  std::size_t n = 1;
  std::array<std::ptrdiff_t, kMostTaps> index{};
  std::array<double, kMostTaps> weight{1};
};

struct Sampler {
  SampleMode mode = SampleMode::linear;
  Edge padding = Edge::zeros;
  bool align = false;

  double low() const { return align ? 0.0 : -0.5; }
  double high(std::size_t extent) const { return static_cast<double>(extent) - (align ? 1.0 : 0.5); }

  std::ptrdiff_t element(double at, std::size_t extent) const {
    const auto last = static_cast<double>(extent) - 1;
    if (padding == Edge::border) at = clamped(at, 0, last);
    if (padding == Edge::reflection)
      at = static_cast<double>(static_cast<std::int64_t>(reflected(at, low(), high(extent))));
    return at >= 0 && at <= last ? static_cast<std::ptrdiff_t>(at) : -1;
  }

  // `given` runs from -1 to 1 over the axis.
  template <class T>
  AxisTaps taps(T given, std::size_t extent) const {
    AxisTaps t;
    const T n = static_cast<T>(extent);
    double at = static_cast<double>(align ? (given + 1) / 2 * (n - 1) : ((given + 1) * n - 1) / 2);
    if (!(at > -0x1p40 && at < 0x1p40)) at = at < 0 ? -0x1p40 : at > 0 ? 0x1p40 : 0;
    if (mode == SampleMode::nearest) at = nearest_even(at);
    // Cubic weights belong to the place as it is: its taps alone are led back, as PyTorch and ONNX Runtime have it.
    if (mode != SampleMode::cubic && (at < low() || at > high(extent))) {
      if (padding == Edge::border) at = clamped(at, 0, static_cast<double>(extent) - 1);
      if (padding == Edge::reflection) at = reflected(at, low(), high(extent));
    }
    const double down = __builtin_floor(at), part = at - down;
    if (mode == SampleMode::nearest) {
      t.index[0] = element(down, extent);
      return t;
    }
    t.n = mode == SampleMode::linear ? 2 : 4;
    const double first = down - (mode == SampleMode::linear ? 0 : 1);
    for (std::size_t k = 0; k < t.n; ++k) t.index[k] = element(first + static_cast<double>(k), extent);
    if (mode == SampleMode::linear)
      t.weight = {1 - part, part, 0, 0};
    else
      t.weight = {outer(1 + part), inner(part), inner(1 - part), outer(2 - part)};
    return t;
  }
  // Keys 1981, with a = -0.75, as GridSample fixes it.
  static double inner(double d) { return (1.25 * d - 2.25) * d * d + 1; }
  static double outer(double d) { return ((-0.75 * d + 3.75) * d - 6) * d + 3; }
};

Result<Sampler> sampler_of(const Op& op) {
  Sampler s;
  const std::string mode = op.text("mode", "linear"), padding = op.text("padding_mode", "zeros");
  s.mode = mode == "nearest" ? SampleMode::nearest : mode.ends_with("cubic") ? SampleMode::cubic : SampleMode::linear;
  s.padding = padding == "border" ? Edge::border : padding == "reflection" ? Edge::reflection : Edge::zeros;
  s.align = op.integer("align_corners", 0) != 0;
  return s;
}

// x [N, C, d...] and places [N, o..., axes], the last axis of x first -> [N, C, o...].
Result<void> grid_sample(Op& op) {
  const Value &x = op.in(0), &grid = op.in(1);
  const std::size_t axes = x.rank() < 2 ? 0 : x.rank() - 2;
  if (axes < 1 || axes > kMostSampledAxes || grid.rank() != x.rank() || grid.dims.back() != axes ||
      grid.dims[0] != x.dims[0] || !is_float(x.type) || !is_float(grid.type))
    return op.refuse(Code::ShapeMismatch, "{} at {}", text_of(x.dims), text_of(grid.dims));
  LOOM_TRY(const Sampler s, sampler_of(op));
  Dims dims{x.dims[0], x.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  if (op.measures() || y->elements() == 0) return {};
  const Dims in(x.dims.begin() + 2, x.dims.end());
  const std::size_t plane = count(in), places = count(std::span(dims).subspan(2)), channels = x.dims[1];
  if (plane == 0) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  const auto strides = row_major_strides(in);
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, x.dims[0] * places, channels * 16, [&](std::size_t row) {
      const std::size_t n = row / places, place = row % places;
      std::array<AxisTaps, kMostSampledAxes> taps;
      std::size_t all = 1;
      for (std::size_t a = 0; a < axes; ++a) {
        const double given = grid.number(row * axes + axes - 1 - a);
        taps[a] = store_of(x.type) == Store::f64 ? s.taps(given, in[a]) : s.taps(static_cast<float>(given), in[a]);
        all *= taps[a].n;
      }
      for (std::size_t c = 0; c < channels; ++c) {
        const T* const from = x.as<T>() + (n * channels + c) * plane;
        double sum = 0;
        for (std::size_t k = 0; k < all; ++k) {
          std::size_t rest = k, at = 0;
          double weight = 1;
          bool inside = true;
          for (std::size_t a = axes; a-- > 0;) {
            const std::size_t tap = rest % taps[a].n;
            rest /= taps[a].n;
            inside = inside && taps[a].index[tap] >= 0;
            if (inside) at += static_cast<std::size_t>(taps[a].index[tap]) * strides[a];
            weight *= taps[a].weight[tap];
          }
          if (inside) sum += weight * static_cast<double>(from[at]);
        }
        y->as<T>()[(n * channels + c) * places + place] = snap(stored<T>(sum));
      }
    });
  });
  round_to_type(*y);
  return {};
}

// theta [N, axes, axes + 1] -> the places [N, d..., axes] of a grid from -1 to 1 after that map.
Result<void> affine_grid(Op& op) {
  const Value& theta = op.in(0);
  LOOM_TRY(const auto size, op.ints(1));
  const std::size_t axes = size.size() < 2 ? 0 : size.size() - 2;
  if ((axes != 2 && axes != 3) || theta.rank() != 3 || theta.dims[1] != axes || theta.dims[2] != axes + 1 ||
      size[0] != static_cast<std::int64_t>(theta.dims[0]) || !is_float(theta.type) ||
      std::ranges::any_of(size, [](std::int64_t d) { return d < 0 || d > (std::int64_t{1} << 40); }))
    return op.refuse(Code::ShapeMismatch, "{} for {} extents", text_of(theta.dims), size.size());
  const bool align = op.integer("align_corners", 0) != 0;
  Dims dims{theta.dims[0]};
  for (std::size_t a = 0; a < axes; ++a) dims.push_back(static_cast<std::size_t>(size[a + 2]));
  const Dims extents(dims.begin() + 1, dims.end());
  dims.push_back(axes);
  LOOM_TRY(Value* const y, op.out(0, theta.type, dims));
  if (op.measures() || y->elements() == 0) return {};
  const auto strides = row_major_strides(extents);
  const std::size_t places = count(extents);
  with_store(store_of(theta.type), [&]<class T>(T) {
    for_rows(op.exec, theta.dims[0] * places, 16, [&](std::size_t row) {
      for (std::size_t o = 0; o < axes; ++o) {
        const std::size_t first = (row / places * axes + o) * (axes + 1);
        double sum = 0;
        for (std::size_t k = 0; k < axes; ++k) {  // x, y, z: the last axis first
          const std::size_t axis = axes - 1 - k;
          const auto i = static_cast<double>(row % places / strides[axis] % extents[axis]),
                     n = static_cast<double>(extents[axis]);
          const double at = align ? (n == 1 ? 0 : 2 * i / (n - 1) - 1) : (2 * i + 1) / n - 1;
          sum += theta.number(first + k) * at;
        }
        y->as<T>()[row * axes + o] = snap(stored<T>(sum + theta.number(first + axes)));
      }
    });
  });
  round_to_type(*y);
  return {};
}

// A box with its least corner first.
struct Box {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};
Box box_of(const float* b, bool by_centre) {
  if (by_centre) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}
bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1), width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0)) return false;
  const float both = height * width, either = a.area() + b.area() - both;
  if (both <= 0 || a.area() <= 0 || b.area() <= 0 || either <= 0) return false;
  return both / either > threshold;
}

Result<float> number_of(Op& op, std::size_t i, float fallback) {
  if (!op.has(i) || op.in(i).elements() == 0) return fallback;
  LOOM_TRY(const double v, op.known_number(i));
  return static_cast<float>(v);
}

// Boxes of each class, the highest score first and the earlier of equals, without those that overlap one before them.
Result<void> non_max_suppression(Op& op) {
  const Value &boxes = op.in(0), &scores = op.in(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.dims[2] != 4 || boxes.dims[0] != scores.dims[0] ||
      boxes.dims[1] != scores.dims[2] || boxes.type != Type::f32 || scores.type != Type::f32)
    return op.refuse(Code::ShapeMismatch, "{} with scores {}", text_of(boxes.dims), text_of(scores.dims));
  for (std::size_t i = 0; i < 2; ++i)
    if (!op.is_known(i)) LOOM_TRY_VOID(op.ints(i));  // how many are left follows from the numbers
  std::int64_t most = 0;
  if (op.has(2) && op.in(2).elements() != 0) {
    LOOM_TRY(const auto list, op.ints(2));
    most = list[0];
  }
  LOOM_TRY(const float threshold, number_of(op, 3, 0));
  LOOM_TRY(const float least, number_of(op, 4, 0));
  const bool has_least = op.has(4) && op.in(4).elements() != 0, by_centre = op.integer("center_point_box", 0) != 0;
  const std::size_t n = boxes.dims[1], classes = scores.dims[1];
  std::vector<std::int64_t> chosen;
  for (std::size_t line = 0; line < boxes.dims[0] * classes && most > 0; ++line) {
    const float* const score = scores.as<float>() + line * n;
    const float* const from = boxes.as<float>() + line / classes * n * 4;
    std::vector<std::size_t> order, kept;
    for (std::size_t i = 0; i < n; ++i)
      if (has_least ? score[i] > least : score[i] == score[i]) order.push_back(i);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
    for (const std::size_t i : order) {
      if (static_cast<std::int64_t>(kept.size()) >= most) break;
      const Box box = box_of(from + 4 * i, by_centre);
      const auto overlaps = [&](std::size_t k) { return overlap(box, box_of(from + 4 * k, by_centre), threshold); };
      if (std::ranges::any_of(kept, overlaps)) continue;
      kept.push_back(i);
      for (const std::size_t v : {line / classes, line % classes, i}) chosen.push_back(static_cast<std::int64_t>(v));
    }
  }
  LOOM_TRY(Value* const y, op.out(0, Type::i64, {chosen.size() / 3, 3}));
  if (!op.measures()) std::ranges::copy(chosen, y->as<std::int64_t>());
  return {};
}

}  // namespace

std::span<const OpRow> sampling_rows() {
  static constexpr std::array kRows{
      OpRow{"GridSample", grid_sample, false, 2},
      OpRow{"AffineGrid", affine_grid, false, 2},
      OpRow{"NonMaxSuppression", non_max_suppression, false, 2},
  };
  return kRows;
}

}  // namespace loom::graph
