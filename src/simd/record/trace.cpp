#include "simd/record/trace.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "core/error.h"

namespace loom::recorder {
namespace {

thread_local Trace* current = nullptr;

Trace& trace() {
  LOOM_ASSERT(current != nullptr);
  return *current;
}

// The fraction of a number that stands for a value is the value's node.
constexpr std::uint32_t kFraction = 0x007fffffu, kExponent = 0x7f800000u;

std::string literal(float x) {
  if (std::isnan(x)) return "quiet_nan()";
  if (std::isinf(x)) return x > 0 ? "infinity()" : "neg(infinity())";
  if (x == 0 && std::signbit(x)) return "bitcast<f32>(0x80000000u)";
  if (std::abs(x) < 0x1p24f && x == std::trunc(x)) return fmt::format("{:.1f}f", x);
  if (std::abs(x) < 0x1p24f && x * 8 == std::trunc(x * 8)) return fmt::format("{}f", x);
  return fmt::format("{:a}f", x);
}
// No suffix, so that shifts take it too.
std::string literal(std::int32_t x) {
  const std::int64_t size = std::abs(std::int64_t{x});
  return (x < 0 ? "-" : "") + (size < 1024 ? fmt::format("{}", size) : fmt::format("{:#x}", size));
}

}  // namespace

Trace::Trace(std::uint32_t exponent) : tag_(exponent << 23) {
  LOOM_ASSERT(current == nullptr);
  current = this;
  constant(0.0f), constant(0);
}

Trace::~Trace() { current = nullptr; }

Node Trace::add(const Value& value) {
  const auto [it, is_new] = known_.try_emplace(value, static_cast<Node>(values_.size()));
  if (is_new) values_.push_back(value);
  return it->second;
}

bool Trace::is_operand(const void* p) const { return p >= memory_ && p < memory_ + kMaxOperands; }

float* Trace::operand(std::size_t k) {
  LOOM_ASSERT(k < kMaxOperands);
  float* const p = memory_[k];
  const auto number = static_cast<std::uint32_t>(k);
  if (!stored_.try_emplace(p, add(leaf(Leaf::Load, Kind::Float, number))).second) return p;
  for (std::uint32_t i = 0; i < kLanes; ++i) p[i] = number_of(add(leaf(Leaf::Element, Kind::Float, number << 4 | i)));
  static_assert(kLanes == 16);
  return p;
}

float Trace::number(std::size_t k) {
  return number_of(add(leaf(Leaf::Param, Kind::Float, static_cast<std::uint32_t>(k))));
}

Node constant(std::int32_t x) {
  return trace().add(Trace::leaf(Trace::Leaf::Constant, Kind::Int, static_cast<std::uint32_t>(x)));
}
Node constant(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & kExponent) != trace().tag_) return trace().add(Trace::leaf(Trace::Leaf::Constant, Kind::Float, bits));
  const Node node = bits & kFraction;
  LOOM_ASSERT(node < trace().values_.size());
  return std::signbit(x) ? operation(Kind::Float, "neg($)", node) : node;
}
float number_of(Node node) {
  LOOM_ASSERT(node <= kFraction);
  return std::bit_cast<float>(trace().tag_ | node);
}

Node operation(Kind kind, const char* form, Node a, Node b, Node c) {
  constexpr std::string_view kToInt = "bitcast<i32>($)", kToFloat = "bitcast<f32>($)";
  Trace& t = trace();
  const Trace::Value& of = t.values_[a];
  if (form == kToInt || form == kToFloat) {
    if (of.leaf == Trace::Leaf::Constant) return t.add(Trace::leaf(Trace::Leaf::Constant, kind, of.bits));
    if (of.form == (form == kToInt ? kToFloat : kToInt)) return of.operands[0];
  }
  return t.add({Trace::Leaf::None, kind, form, {a, b, c}, 0});
}
Kind kind_of(Node node) { return trace().values_[node].kind; }

float across_lanes() {
  LOOM_ASSERT(false && "a kernel that looks across lanes");
  return 0;
}

Node load(const void* p) {
  const auto it = trace().stored_.find(p);
  LOOM_ASSERT(it != trace().stored_.end());
  return it->second;
}
void store(void* p, Node node) {
  Trace& t = trace();
  t.stored_[p] = node;
  if (!t.is_operand(p)) return;
  const std::size_t offset = static_cast<std::size_t>(static_cast<float*>(p) - t.memory_[0]), k = offset / kLanes;
  LOOM_ASSERT(offset % kLanes == 0);
  t.results_[k] = node;
}

// The statements that lead to the results, in an order that follows from the results alone: in which order a compiler
// evaluates operands of the kernel's expressions shows nowhere. A value with one use is written where it is used, up to
// a line's width.
struct Trace::Text {
  static constexpr std::size_t kWidth = 100;

  explicit Text(const Trace& trace, bool is_function = false)
      : trace(trace), is_function(is_function), uses(trace.values_.size()), texts(trace.values_.size()) {
    for (const auto& [k, node] : trace.results_) ++uses[node];
    for (Node node = static_cast<Node>(uses.size()); node-- > 0;) {
      if (uses[node] == 0) continue;
      for (const Node operand : trace.values_[node].operands)
        if (operand != kNone) ++uses[operand];
    }
    for (const auto& [k, node] : trace.results_) write(node);
  }

  void write(Node node) {
    if (!texts[node].empty()) return;
    const Value& value = trace.values_[node];
    for (const Node operand : value.operands)
      if (operand != kNone) write(operand);
    switch (value.leaf) {
      case Leaf::Constant:
        texts[node] = value.kind == Kind::Float ? literal(std::bit_cast<float>(value.bits))
                                                : literal(static_cast<std::int32_t>(value.bits));
        return;
      case Leaf::Param: texts[node] = fmt::format("param({})", value.bits); return;
      case Leaf::Element: texts[node] = fmt::format("load_{}({})", value.bits >> 4, value.bits & 15); return;
      case Leaf::Load:
        texts[node] = fmt::format("x{}", value.bits);
        if (!is_function) lines += fmt::format("let x{0} = load_{0}(i);\n", value.bits);
        return;
      case Leaf::None: break;
    }
    for (;;) {
      texts[node] = filled(value);
      // The longest operand that has no name yet.
      Node longest = kNone;
      for (const Node operand : value.operands)
        if (operand != kNone && is_inline(operand) &&
            (longest == kNone || texts[operand].size() > texts[longest].size()))
          longest = operand;
      if (texts[node].size() <= kWidth || longest == kNone) break;
      give_name(longest);
    }
    if (!is_inline(node)) give_name(node);
  }

  // Whether it stands where it is used; no expression begins with a v, as names do.
  bool is_inline(Node node) const {
    return trace.values_[node].leaf == Leaf::None && uses[node] == 1 && !texts[node].starts_with('v');
  }
  void give_name(Node node) {
    std::string& text = texts[node];
    const bool in_parentheses = trace.values_[node].form.starts_with('(');
    lines += fmt::format("let v{} = {};\n", count, in_parentheses ? text.substr(1, text.size() - 2) : text);
    text = fmt::format("v{}", count++);
  }
  std::string filled(const Value& value) const {
    std::string out;
    std::size_t operand = 0;
    for (std::size_t at = 0; at < value.form.size(); ++at) {
      if (value.form[at] != '$') {
        out += value.form[at];
        continue;
      }
      // An operand that fills its place in a call does without its parentheses.
      const std::string_view text = texts[value.operands[operand++]], end = value.form.substr(at + 1, 1);
      const bool fills =
          text.starts_with('(') && (out.ends_with(", ") || out.ends_with('(')) && (end == "," || end == ")");
      out += fills ? text.substr(1, text.size() - 2) : text;
    }
    return out;
  }

  const Trace& trace;
  const bool is_function;
  std::vector<std::uint32_t> uses;
  std::vector<std::string> texts;
  std::string lines;
  int count = 0;
};

std::string Trace::statements() const {
  LOOM_ASSERT(!results_.empty());
  Text text(*this);
  for (const auto& [k, node] : results_) text.lines += fmt::format("store_{}(i, {});\n", k, text.texts[node]);
  return text.lines;
}

std::string Trace::function(std::string_view name) const {
  LOOM_ASSERT(results_.size() == 1);
  Text text(*this, true);
  std::string arguments, indented;
  for (std::uint32_t k = 0; k < kMaxOperands; ++k) {
    const auto it = known_.find(leaf(Leaf::Load, Kind::Float, k));
    if (it == known_.end() || text.uses[it->second] == 0) continue;
    arguments += fmt::format("{}x{}: f32", arguments.empty() ? "" : ", ", k);
  }
  text.lines += fmt::format("return {};\n", text.texts[results_.begin()->second]);
  for (const char c : text.lines) {
    if (indented.empty() || indented.back() == '\n') indented += "  ";
    indented += c;
  }
  return fmt::format("fn {}({}) -> f32 {{\n{}}}\n", name, arguments, indented);
}

namespace {

std::string the_same_twice(const std::function<void(Trace&)>& call,
                           const std::function<std::string(const Trace&)>& text) {
  const auto with = [&](std::uint32_t exponent) {
    Trace trace(exponent);
    call(trace);
    return text(trace);
  };
  const std::string large = with(127 + 120), small = with(127 - 120);
  LOOM_ASSERT(large == small && "no number is computed with outside of lanes");
  return large;
}

}  // namespace

std::string traced(const std::function<void(Trace&)>& call) {
  return the_same_twice(call, [](const Trace& t) { return t.statements(); });
}
std::string traced_function(std::string_view name, const std::function<void(Trace&)>& call) {
  return the_same_twice(call, [&](const Trace& t) { return t.function(name); });
}

}  // namespace loom::recorder
