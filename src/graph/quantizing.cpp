// To codes of few bits and back, by scales and zero points for all elements, along an axis, or by blocks of it.

#include <algorithm>
#include <array>

#include "graph/operation.h"
#include "ops/for_rows.h"

namespace loom::graph {
namespace {

struct Bounds {
  double least = 0, most = 0;
};
Result<Bounds> bounds_of(const Op& op, Type type) {
  switch (type) {
    case Type::u4: return Bounds{0, 15};
    case Type::i4: return Bounds{-8, 7};
    case Type::u8: return Bounds{0, 255};
    case Type::i8: return Bounds{-128, 127};
    case Type::u16: return Bounds{0, 65535};
    case Type::i16: return Bounds{-32768, 32767};
    default: return op.refuse(Code::Unsupported, "codes of {}", name_of(type));
  }
}

// The scale of element i: one for all, one per place on the axis, or one per block of it.
struct Scales {
  std::size_t n = 1, inner = 1, extent = 1, block = 0, blocks = 1;
  std::size_t of(std::size_t i) const {
    if (n == 1) return 0;
    const std::size_t place = i / inner % extent;
    if (block == 0) return place;
    return (i / (inner * extent) * blocks + place / block) * inner + i % inner;
  }
};
Result<Scales> scales_of(const Op& op) {
  const Value &x = op.in(0), &scale = op.in(1);
  Scales s;
  s.n = scale.elements();
  if (op.has(2) && op.in(2).dims != scale.dims && op.in(2).elements() != s.n)
    return op.refuse(Code::ShapeMismatch, "zero points of {}", text_of(op.in(2).dims));
  if (s.n == 1) return s;
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", 1), x.rank()));
  s.inner = count(std::span(x.dims).subspan(axis + 1)), s.extent = x.dims[axis];
  const std::int64_t block = op.integer("block_size", 0);
  if (block > 0) {
    s.block = static_cast<std::size_t>(block), s.blocks = (s.extent + s.block - 1) / s.block;
    Dims wanted = x.dims;
    wanted[axis] = s.blocks;
    if (scale.dims != wanted) return op.refuse(Code::ShapeMismatch, "scales of {}", text_of(scale.dims));
  } else if (s.n != s.extent) {
    return op.refuse(Code::ShapeMismatch, "{} scales for {}", s.n, text_of(x.dims));
  }
  return s;
}

Result<void> quantize(Op& op) {
  const Value& x = op.in(0);
  const std::int64_t said = op.integer("output_dtype", 0);
  const Type type = op.has(2) ? op.in(2).type : said > 0 && said < 256 ? static_cast<Type>(said) : Type::u8;
  if (op.has(2) && said != 0 && static_cast<std::int64_t>(type) != said)
    return op.refuse(Code::InvalidConfig, "output_dtype {} and zero points of {}", said, name_of(type));
  if (const std::int64_t precision = op.integer("precision", 0);
      precision != 0 && precision != static_cast<std::int64_t>(Type::f32))
    return op.refuse(Code::Unsupported, "precision {}; quotients are those of float32", precision);
  LOOM_TRY(const Scales s, scales_of(op));
  LOOM_TRY(Value* const y, op.out(0, type, x.dims));
  if (type == Type::f8e4m3fn || type == Type::f8e5m2) {
    const bool saturates = op.integer("saturate", 1) != 0;
    for (std::size_t i = 0; i < x.elements() && !op.measures(); ++i) {
      const auto v = static_cast<float>(x.number(i) / op.in(1).number(s.of(i)));
      y->as<float>()[i] = saturates ? rounded(type, v) : rounded_without_saturation(type, v);
    }
    return {};
  }
  LOOM_TRY(const Bounds b, bounds_of(op, type));
  for_elements(op.exec, x.elements(), [&](std::size_t first, std::size_t n) {
    for (std::size_t i = first; i < first + n; ++i) {
      const std::size_t at = s.of(i);
      // The quotient is one of f32, as the standard has it.
      const double v = static_cast<double>(static_cast<float>(x.number(i)) / static_cast<float>(op.in(1).number(at)));
      const double code = nearest_even(v) + (op.has(2) ? op.in(2).number(at) : 0.0);
      y->as<std::int64_t>()[i] = static_cast<std::int64_t>(code != code ? 0.0 : std::clamp(code, b.least, b.most));
    }
  });
  return {};
}

Result<void> dequantize(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const Scales s, scales_of(op));
  const std::int64_t said = op.integer("output_dtype", 0);
  const Type type = said > 0 && said < 256 ? static_cast<Type>(said) : op.in(1).type;
  if (!is_float(type)) return op.refuse(Code::Unsupported, "to {}", name_of(type));
  LOOM_TRY(Value* const y, op.out(0, type, x.dims));
  if (op.measures()) return {};
  with_store(store_of(type), [&]<class T>(T) {
    for_elements(op.exec, x.elements(), [&](std::size_t first, std::size_t n) {
      for (std::size_t i = first; i < first + n; ++i) {
        const std::size_t at = s.of(i);
        y->as<T>()[i] = snap(stored<T>((x.number(i) - (op.has(2) ? op.in(2).number(at) : 0.0)) * op.in(1).number(at)));
      }
    });
  });
  round_to_type(*y);
  return {};
}

// Scale and zero point of uint8 from the range of x, zero included.
Result<void> dynamic_quantize(Op& op) {
  const Value& x = op.in(0);
  if (x.type != Type::f32) return op.refuse(Code::Unsupported, "of {}", name_of(x.type));
  LOOM_TRY_VOID(op.out(0, Type::u8, x.dims));
  LOOM_TRY_VOID(op.out(1, Type::f32, {}));
  LOOM_TRY_VOID(op.out(2, Type::u8, {}));
  if (op.measures()) return {};
  float least = 0, most = 0;
  for (std::size_t i = 0; i < x.elements(); ++i)
    least = std::min(least, x.as<float>()[i]), most = std::max(most, x.as<float>()[i]);
  const float scale = most == least ? 1.0f : (most - least) / 255.0f;
  const double zero = std::clamp(nearest_even(static_cast<double>((0.0f - least) / scale)), 0.0, 255.0);
  std::vector<Value>& outs = *op.outs;
  outs[1].as<float>()[0] = scale, outs[2].as<std::int64_t>()[0] = stored<std::int64_t>(zero);
  for (std::size_t i = 0; i < x.elements(); ++i) {
    const double code = nearest_even(static_cast<double>(x.as<float>()[i] / scale)) + zero;
    outs[0].as<std::int64_t>()[i] = static_cast<std::int64_t>(code != code ? 0.0 : std::clamp(code, 0.0, 255.0));
  }
  return {};
}

}  // namespace

std::span<const OpRow> quantize_rows() {
  static constexpr std::array kRows{
      OpRow{"QuantizeLinear", quantize, false, 2},
      OpRow{"DequantizeLinear", dequantize, false, 2},
      OpRow{"DynamicQuantizeLinear", dynamic_quantize},
  };
  return kRows;
}

}  // namespace loom::graph
