// Python's operators on template values.

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/template/interpreter.h"
#include "text/template/unicode.h"
#include "text/unicode/text_search.h"

namespace loom::jinja {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

const char* symbol(Op op) {
  switch (op) {
    case Op::Add: return "+";
    case Op::Sub: return "-";
    case Op::Mul: return "*";
    case Op::Div: return "/";
    case Op::FloorDiv: return "//";
    case Op::Mod: return "%";
    case Op::Pow: return "** or pow()";
    default: return "?";
  }
}

tl::unexpected<Error> overflow(Op op, std::int64_t a, std::int64_t b) {
  return fail(Code::OutOfRange, "{} {} {} does not fit in 64 bits", a, op == Op::Pow ? "**" : symbol(op), b);
}
tl::unexpected<Error> no_operator(Op op, const Value& a, const Value& b) {
  return fail(Code::TemplateError, "unsupported operand type(s) for {}: '{}' and '{}'", symbol(op), type_name(a),
              type_name(b));
}
tl::unexpected<Error> by_zero() { return fail(Code::TemplateError, "division by zero"); }

Result<Value> integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1, factor = base;
  for (std::int64_t e = exponent; e > 0; e >>= 1) {
    if ((e & 1) && __builtin_mul_overflow(result, factor, &result)) return overflow(Op::Pow, base, exponent);
    if (e > 1 && __builtin_mul_overflow(factor, factor, &factor)) return overflow(Op::Pow, base, exponent);
  }
  return Value::integer(result);
}

// Whole exponents and square roots: what no math library decides.
Result<Value> float_power(double base, double exponent) {
  if (exponent == 0.5 && base >= 0) return Value::number(std::sqrt(base));
  if (exponent != std::floor(exponent) || std::abs(exponent) > 1024)
    return fail(Code::Unsupported, "{} ** {} is not supported", base, exponent);
  if (base == 0 && exponent < 0) return fail(Code::TemplateError, "0.0 cannot be raised to a negative power");
  double result = 1, factor = base;
  for (auto e = static_cast<std::int64_t>(std::abs(exponent)); e > 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return Value::number(exponent < 0 ? 1 / result : result);
}

Result<Value> integers(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  switch (op) {
    case Op::Add: return __builtin_add_overflow(a, b, &out) ? Result<Value>(overflow(op, a, b)) : Value::integer(out);
    case Op::Sub: return __builtin_sub_overflow(a, b, &out) ? Result<Value>(overflow(op, a, b)) : Value::integer(out);
    case Op::Mul: return __builtin_mul_overflow(a, b, &out) ? Result<Value>(overflow(op, a, b)) : Value::integer(out);
    case Op::Div:
      if (b == 0) return by_zero();
      return Value::number(static_cast<double>(a) / static_cast<double>(b));
    case Op::FloorDiv:
    case Op::Mod: {
      if (b == 0)
        return fail(Code::TemplateError, "{}",
                    op == Op::Mod ? "integer modulo by zero" : "integer division or modulo by zero");
      if (a == kMin && b == -1) return op == Op::Mod ? Result<Value>(Value::integer(0)) : overflow(op, a, b);
      const std::int64_t rest = a % b, floor = a / b - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
      return Value::integer(op == Op::FloorDiv ? floor : a - floor * b);
    }
    case Op::Pow: return b >= 0 ? integer_power(a, b) : float_power(static_cast<double>(a), static_cast<double>(b));
    default: return Value();
  }
}

Result<Value> floats(Op op, double a, double b) {
  switch (op) {
    case Op::Add: return Value::number(a + b);
    case Op::Sub: return Value::number(a - b);
    case Op::Mul: return Value::number(a * b);
    case Op::Pow: return float_power(a, b);
    default: break;
  }
  if (b == 0)
    return fail(Code::TemplateError, "{}",
                op == Op::Div ? "float division by zero" : "float floor division or modulo by zero");
  if (op == Op::Div) return Value::number(a / b);
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  } else if (rest == 0) {
    rest = std::copysign(0.0, b);
  }
  if (op == Op::Mod) return Value::number(rest);
  if (quotient == 0) return Value::number(std::copysign(0.0, a / b));
  const double floor = std::floor(quotient);
  return Value::number(quotient - floor > 0.5 ? floor + 1 : floor);
}

Result<Value> join_strings(Machine& m, const Value& a, const Value& b) {
  const bool left = a.text().markup, right = b.text().markup;
  LOOM_TRY_VOID(m.heap.reserve((a.s().size() + b.s().size()) * (left == right ? 1 : 5)));  // an escape takes five bytes
  std::string out = left == right || left ? std::string(a.s()) : escape_html(a.s());
  out += left == right || right ? std::string(b.s()) : escape_html(b.s());
  return m.string(std::move(out), left || right);
}

Result<Value> repeated(Machine& m, const Value& what, std::int64_t times) {
  const auto n = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  if (what.is(Kind::String)) {
    TextBuilder text(m.heap);
    text.fill(n, what.s());
    LOOM_TRY(std::string all, text.finish());
    return m.string(std::move(all), what.text().markup);
  }
  const auto& items = what.items();
  if (!items.empty() && n > m.heap.room() / sizeof(Value) / items.size())
    return fail(Code::LimitExceeded, "a list of {} x {} items is too long", n, items.size());
  LOOM_TRY_VOID(m.heap.reserve(n * items.size() * sizeof(Value)));
  std::vector<Value> out;
  out.reserve(n * items.size());
  for (std::size_t k = 0; k < (items.empty() ? 0 : n); ++k) out.insert(out.end(), items.begin(), items.end());
  return make_sequence(m.heap, what.kind(), std::move(out));
}

}  // namespace

Result<Value> arithmetic(Machine& m, Op op, const Value& a, const Value& b) {
  LOOM_TRY_VOID(m.heap.tick());
  if (a.integral() && b.integral()) return integers(op, a.i(), b.i());
  if (a.numeric() && b.numeric()) return floats(op, a.f(), b.f());
  if (op == Op::Mod && a.is(Kind::String)) return format_percent(m, a, b);
  if (a.undefined()) return undefined_error(a);
  if (b.undefined()) return undefined_error(b);
  if (a.is(Kind::BigInt) || b.is(Kind::BigInt))
    return fail(Code::Unsupported, "arithmetic with integers beyond 64 bits is not supported");
  if (op == Op::Add) {
    if (a.is(Kind::String) && b.is(Kind::String)) return join_strings(m, a, b);
    if (a.sequence() && a.kind() == b.kind()) {
      std::vector<Value> items;
      LOOM_TRY_VOID(m.heap.reserve((a.items().size() + b.items().size()) * sizeof(Value)));
      items.reserve(a.items().size() + b.items().size());
      items.insert(items.end(), a.items().begin(), a.items().end());
      items.insert(items.end(), b.items().begin(), b.items().end());
      return make_sequence(m.heap, a.kind(), std::move(items));
    }
    if (a.is(Kind::String) || a.sequence())
      return fail(Code::TemplateError, "can only concatenate {} (not \"{}\") to {}", type_name(a), type_name(b),
                  type_name(a));
  }
  const bool left = a.is(Kind::String) || a.sequence(), right = b.is(Kind::String) || b.sequence();
  if (op == Op::Mul && left && b.integral()) return repeated(m, a, b.i());
  if (op == Op::Mul && right && a.integral()) return repeated(m, b, a.i());
  return no_operator(op, a, b);
}

Result<bool> compare(Machine& m, Op op, const Value& a, const Value& b) {
  LOOM_TRY_VOID(m.heap.tick());
  const bool numbers = a.is(Kind::Float) || b.is(Kind::Float);  // NaN: neither less nor equal
  switch (op) {
    case Op::Eq: return equal(a, b);
    case Op::Ne: return !equal(a, b);
    case Op::Lt: return less(m.heap, a, b, "<");
    case Op::Gt: return less(m.heap, b, a, ">");
    case Op::Le:
    case Op::Ge: {
      const bool le = op == Op::Le;
      if (numbers && a.numeric() && b.numeric()) return le ? a.f() <= b.f() : a.f() >= b.f();
      LOOM_TRY(const bool other, le ? less(m.heap, b, a, "<=") : less(m.heap, a, b, ">="));
      return !other;
    }
    case Op::In: return contains(m, a, b);
    default: {
      LOOM_TRY(const bool inside, contains(m, a, b));
      return !inside;
    }
  }
}

Result<bool> contains(Machine& m, const Value& item, const Value& container) {
  switch (container.kind()) {
    case Kind::String:
      if (!item.is(Kind::String))
        return fail(Code::TemplateError, "'in <string>' requires string as left operand, not {}", type_name(item));
      if (item.s().size() > container.s().size()) return false;
      LOOM_TRY_VOID(m.heap.scan(container.s().size() + item.s().size()));
      return text::Finder(item.s()).find(container.s()) != std::string_view::npos;
    case Kind::Dict:
      if (!hashable(item)) return fail(Code::TemplateError, "unhashable type: '{}'", type_name(item));
      LOOM_TRY_VOID(m.heap.tick());
      return container.dict().find(item) != nullptr;
    case Kind::Range: {
      if (!item.numeric() || item.f() != std::floor(item.f())) return false;
      const auto& r = container.as<RangeObject>();
      const auto x = static_cast<std::int64_t>(std::clamp(item.f(), -9e15, 9e15));
      return r.count > 0 && (x - r.start) % r.step == 0 && (x - r.start) / r.step >= 0 &&
             (x - r.start) / r.step < r.count;
    }
    case Kind::Undefined:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Keys:
    case Kind::Values:
    case Kind::Items:
    case Kind::Generator: {
      LOOM_TRY(const auto all, iterate(m.heap, container));
      for (const Value& v : all.items)
        if (equal(v, item)) return true;
      if (all.tail) return tl::make_unexpected(*all.tail);
      return false;
    }
    default: return fail(Code::TemplateError, "argument of type '{}' is not iterable", type_name(container));
  }
}

namespace {
struct SliceRange {
  std::int64_t start, step, count;
};

Result<SliceRange> slice_range(std::int64_t length, const Value& from, const Value& to, const Value& by) {
  for (const Value* v : {&from, &to, &by})
    if (!v->is(Kind::None) && !v->integral())
      return fail(Code::TemplateError, "slice indices must be integers or None or have an __index__ method");
  const std::int64_t step = by.is(Kind::None) ? 1 : by.i();
  if (step == 0) return fail(Code::TemplateError, "slice step cannot be zero");
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
  const auto place = [&](const Value& v, std::int64_t missing) {
    if (v.is(Kind::None)) return missing;
    const std::int64_t k = v.i() < 0 ? (v.i() < -length ? -length - 1 : v.i()) + length : v.i();
    return std::clamp(k, low, high);
  };
  const std::int64_t start = place(from, step > 0 ? low : high), stop = place(to, step > 0 ? high : low);
  std::int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  if (step < 0 && start > stop)
    count = (start - stop - 1) / (step == kMin ? std::numeric_limits<std::int64_t>::max() : -step) + 1;
  return SliceRange{start, step, count};
}

std::string slice_text(std::string_view text, const SliceRange& r) {
  std::string out;
  if (r.count == 0) return out;
  if (r.step == 1) {
    const std::size_t from = offset_of(text, static_cast<std::size_t>(r.start));
    text.remove_prefix(from);
    return std::string(text.substr(0, offset_of(text, static_cast<std::size_t>(r.count))));
  }
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < text.size(); i += decode_at(text, i).size) offsets.push_back(i);
  for (std::int64_t k = 0; k < r.count; ++k) {
    const std::size_t at = offsets[static_cast<std::size_t>(r.start + k * r.step)];
    out += text.substr(at, decode_at(text, at).size);
  }
  return out;
}
}  // namespace

Result<Value> slice(Machine& m, const Value& v, const Value& from, const Value& to, const Value& by) {
  if (v.undefined()) return undefined_error(v);
  // As any other subscript that is missing: none[:3] is what none[0] is. jinja2 does so where the value is constant.
  if (!v.is(Kind::String) && !v.sequence() && !v.is(Kind::Range))
    return m.undefined(fmt::format("'{}' object has no slices", type_name(v)));
  LOOM_TRY(const std::int64_t length, length_of(v));
  LOOM_TRY(const SliceRange r, slice_range(length, from, to, by));
  if (v.is(Kind::String)) {
    if (v.text().ascii && r.step == 1)
      return m.string(std::string(v.s().substr(static_cast<std::size_t>(r.start), static_cast<std::size_t>(r.count))),
                      v.text().markup);
    LOOM_TRY_VOID(m.heap.decode(v.s().size()));
    if (r.step != 1) LOOM_TRY_VOID(m.heap.reserve(v.s().size() * sizeof(std::size_t)));
    return m.string(slice_text(v.s(), r), v.text().markup);
  }
  if (v.is(Kind::Range)) {
    const auto& old = v.as<RangeObject>();
    const std::int64_t start = old.start + r.start * old.step, step = old.step * r.step;
    return Value::of(Kind::Range, new RangeObject(m.heap, start, start + r.count * step, step, r.count));
  }
  std::vector<Value> out;
  LOOM_TRY_VOID(m.heap.reserve(static_cast<std::size_t>(r.count) * sizeof(Value)));
  out.reserve(static_cast<std::size_t>(r.count));
  for (std::int64_t k = 0; k < r.count; ++k) out.push_back(v.items()[static_cast<std::size_t>(r.start + k * r.step)]);
  return make_sequence(m.heap, v.kind(), std::move(out));
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace loom::jinja
