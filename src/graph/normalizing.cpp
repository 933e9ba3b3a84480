// Normalisation. Layer norms of vectors are those of ops/norm; elsewhere means and variances are summed in f64, in one
// chain, and two passes.

#include <algorithm>
#include <array>

#include "graph/operation.h"
#include "ops/affine/affine.h"
#include "ops/for_rows.h"
#include "ops/norm/norm.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

// The numbers of a vector that belongs to an operation, one per channel.
Result<void> expect_vector(const Op& op, std::size_t i, std::size_t n) {
  if (op.in(i).elements() == n && is_float(op.in(i).type)) return {};
  return op.refuse(Code::ShapeMismatch, "input {} of {}, {} numbers expected", i, text_of(op.in(i).dims), n);
}

// Packs the channels' constants: means, scales, biases. Null where they are no constants, or the input is not f32.
const std::vector<float>* packed_channels(Op& op, double eps) {
  bool fits = op.packed != nullptr && op.in(0).type == Type::f32;
  for (std::size_t i = 1; fits && i < 5; ++i) fits = op.in(i).constant;
  if (!fits) return nullptr;
  if (*op.packed == nullptr && op.measures()) {
    const std::size_t channels = op.in(0).dims[1];
    auto numbers = std::make_shared<std::vector<float>>(3 * channels);
    for (std::size_t c = 0; c < channels; ++c) {
      (*numbers)[c] = static_cast<float>(op.in(3).number(c));
      (*numbers)[channels + c] = static_cast<float>(op.in(1).number(c) / __builtin_sqrt(op.in(4).number(c) + eps));
      (*numbers)[2 * channels + c] = static_cast<float>(op.in(2).number(c));
    }
    *op.packed = std::move(numbers);
  }
  return static_cast<const std::vector<float>*>(op.packed->get());
}

Result<void> batch_normalization(Op& op) {
  const Value& x = op.in(0);
  if (op.integer("training_mode", 0) != 0) return op.refuse(Code::Unsupported, "in training");
  if (x.rank() < 2 || !is_float(x.type)) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  const std::size_t channels = x.dims[1];
  for (std::size_t i = 1; i < 5; ++i) LOOM_TRY_VOID(expect_vector(op, i, channels));
  const double eps = op.number("epsilon", 1e-5);
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (x.elements() == 0) return {};
  const std::size_t inner = x.elements() / (x.dims[0] * channels);
  if (inner != 1 && op.integer("spatial", 1) == 0) return op.refuse(Code::Unsupported, "spatial 0");
  if (const auto* const numbers = packed_channels(op, eps); numbers != nullptr) {
    op.has_form(1);
    LOOM_TRY(const void* const at, op.placed(*numbers));
    affine(op.exec, x.as<float>(), x.dims[0], channels, inner, static_cast<const float*>(at), y->as<float>());
    return {};
  }
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, x.dims[0] * channels, inner, [&](std::size_t row) {
      const std::size_t c = row % channels;
      const double factor = op.in(1).number(c) / __builtin_sqrt(op.in(4).number(c) + eps);
      const auto mean = static_cast<T>(op.in(3).number(c)), scale = static_cast<T>(factor),
                 bias = static_cast<T>(op.in(2).number(c));
      const T* const from = x.as<T>() + row * inner;
      T* const to = y->as<T>() + row * inner;
      for (std::size_t i = 0; i < inner; ++i) to[i] = snap((from[i] - mean) * scale + bias);
    });
  });
  round_to_type(*y);
  return {};
}

struct Moments {
  double mean = 0, inverse = 0;  // 1 / sqrt(variance + eps)
};
template <class T>
Moments moments(const T* x, std::size_t n, double eps, bool centred) {
  double sum = 0, squares = 0;
  if (centred)
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  return {mean, 1 / __builtin_sqrt(squares / static_cast<double>(n) + eps)};
}

// All axes from the given one on are a row; scale and bias stretch to it.
Result<void> layer_normalization(Op& op) {
  const Value& x = op.in(0);
  const bool centred = op.node.op == "LayerNormalization";
  if (!is_float(x.type)) return op.refuse(Code::Unsupported, "of {}", name_of(x.type));
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", -1), x.rank()));
  const Dims row(x.dims.begin() + static_cast<std::ptrdiff_t>(axis), x.dims.end());
  const std::size_t n = count(row), rows = n == 0 ? 0 : x.elements() / n;
  for (std::size_t i = 1; i < 3; ++i) {
    if (!op.has(i)) continue;
    LOOM_TRY(const Dims both, broadcast(op.in(i).dims, x.dims));
    if (both != x.dims || store_of(op.in(i).type) != store_of(x.type))
      return op.refuse(Code::ShapeMismatch, "input {} of {}", i, text_of(op.in(i).dims));
  }
  const double eps = op.number("epsilon", 1e-5);
  LOOM_TRY_VOID(op.out_like(0, x));
  Dims kept(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  kept.resize(x.rank(), 1);
  const Type figures = x.type == Type::f64 ? Type::f64 : Type::f32;
  for (const std::size_t i : {1, 2})
    if (op.wants(i)) LOOM_TRY_VOID(op.out(i, figures, kept));
  // Vectors as long as a row, the usual case, go through ops/norm.
  const bool plain = op.in(1).elements() == n && (!op.has(2) || op.in(2).elements() == n);
  if (plain && centred && n != 0 && !op.wants(1) && !op.wants(2)) {
    Value& normal = (*op.outs)[0];
    op.has_form(0b111);
    layer_norm(op.exec, tensor_of(x, n), op.in(1).data, op.has(2) ? op.in(2).data : nullptr, eps, tensor_of(normal, n));
    if (!op.measures()) round_to_type(normal);
    return {};
  }
  if (op.measures()) return {};
  Value& y = (*op.outs)[0];
  const auto offsets = [&](std::size_t i) {
    std::vector<std::size_t> at(op.has(i) ? x.elements() : 0);
    if (op.has(i))
      walk(x.dims, stretched_strides(op.in(i).dims, x.dims), [&](std::size_t k, std::size_t o) { at[k] = o; });
    return at;
  };
  const auto scales = plain ? std::vector<std::size_t>() : offsets(1),
             biases = plain ? std::vector<std::size_t>() : offsets(2);
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, rows, n, [&](std::size_t r) {
      const T* const from = x.as<T>() + r * n;
      T* const to = y.as<T>() + r * n;
      const Moments m = moments(from, n, eps, centred);
      for (std::size_t i = 0; i < n; ++i) {
        const double scale = static_cast<double>(op.in(1).as<T>()[plain ? i : scales[r * n + i]]);
        const double bias = op.has(2) ? static_cast<double>(op.in(2).as<T>()[plain ? i : biases[r * n + i]]) : 0.0;
        to[i] = snap(stored<T>((static_cast<double>(from[i]) - m.mean) * m.inverse * scale + bias));
      }
      const std::array<double, 2> given{m.mean, m.inverse};
      for (const std::size_t i : {1, 2}) {
        if (!op.wants(i)) continue;
        if (figures == Type::f64)
          (*op.outs)[i].as<double>()[r] = snap(given[i - 1]);
        else
          (*op.outs)[i].as<float>()[r] = snap(static_cast<float>(given[i - 1]));
      }
    });
  });
  round_to_type(y);
  return {};
}

// Planes of a sample's channels, in groups: one channel each for instance normalisation.
Result<void> group_normalization(Op& op) {
  const Value& x = op.in(0);
  if (x.rank() < 3 || !is_float(x.type) || x.elements() == 0)
    return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  const std::size_t channels = x.dims[1];
  const bool single = op.node.op == "InstanceNormalization";
  const std::int64_t given = single ? static_cast<std::int64_t>(channels) : op.integer("num_groups", 1);
  if (given < 1 || given > static_cast<std::int64_t>(channels) || channels % static_cast<std::size_t>(given) != 0)
    return op.refuse(Code::ShapeMismatch, "{} groups of {} channels", given, channels);
  const auto groups = static_cast<std::size_t>(given);
  const bool by_group = !single && op.opset < 21 && op.in(1).elements() == groups;
  for (const std::size_t i : {1, 2}) LOOM_TRY_VOID(expect_vector(op, i, by_group ? groups : channels));
  const double eps = op.number("epsilon", 1e-5);
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  const std::size_t inner = x.elements() / (x.dims[0] * channels), n = channels / groups * inner;
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, x.dims[0] * groups, n, [&](std::size_t row) {
      const T* const from = x.as<T>() + row * n;
      const Moments m = moments(from, n, eps, true);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = by_group ? row % groups : row % groups * (channels / groups) + i / inner;
        const double v =
            (static_cast<double>(from[i]) - m.mean) * m.inverse * op.in(1).number(at) + op.in(2).number(at);
        y->as<T>()[row * n + i] = snap(stored<T>(v));
      }
    });
  });
  round_to_type(*y);
  return {};
}

// Local response normalisation over neighbouring channels (Krizhevsky et al. 2012).
Result<void> lrn(Op& op) {
  const Value& x = op.in(0);
  const std::int64_t size = op.integer("size", 0);
  if (x.rank() < 2 || size < 1 || x.elements() == 0 || !is_float(x.type))
    return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  const double alpha = op.number("alpha", 1e-4), beta = op.number("beta", 0.75), bias = op.number("bias", 1);
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  const auto channels = static_cast<std::int64_t>(x.dims[1]), before = (size - 1) / 2, after = size - 1 - before;
  const std::size_t inner = x.elements() / (x.dims[0] * x.dims[1]);
  with_store(store_of(x.type), [&]<class T>(T) {
    for (std::size_t i = 0; i < x.elements(); ++i) {
      const auto c = static_cast<std::int64_t>(i / inner % x.dims[1]);
      double sum = 0;
      for (std::int64_t k = std::max<std::int64_t>(0, c - before); k <= std::min(channels - 1, c + after); ++k) {
        const auto v = static_cast<double>(x.as<T>()[i + static_cast<std::size_t>(k - c) * inner]);
        sum += v * v;
      }
      const double power = pow64(bias + alpha / static_cast<double>(size) * sum, beta);
      y->as<T>()[i] = snap(stored<T>(static_cast<double>(x.as<T>()[i]) / power));
    }
  });
  round_to_type(*y);
  return {};
}

}  // namespace

std::span<const OpRow> norm_rows() {
  static constexpr std::array kRows{
      OpRow{"BatchNormalization", batch_normalization, false, 5},
      OpRow{"LayerNormalization", layer_normalization, false, 2},
      OpRow{"RMSNormalization", layer_normalization, false, 2},
      OpRow{"InstanceNormalization", group_normalization, false, 3},
      OpRow{"GroupNormalization", group_normalization, false, 3},
      OpRow{"LRN", lrn},
  };
  return kRows;
}

}  // namespace loom::graph
