#pragma once
// Kernels as WGSL: a kernel of the target `record` is called with operands that are no memory, and what it does to them
// becomes the statements of a shader that does it to element i. So a formula is written once, for the CPU.
//
//   const auto& k = record::elementwise_kernels.f32;
//   traced([&](Trace& t) { k.gated(fn, t.operand(0), t.operand(1), t.n(), t.operand(2)); })
//
//   let x0 = load_0(i);
//   let x1 = load_1(i);
//   ...
//   store_2(i, snap(mul(v3, x1)));
//
// The shader around it begins with the prelude and has load_K(i) -> f32 and store_K(i, f32) for each operand that is
// read or written, and param(K) -> f32 for each number.

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simd/orders.h"
#include "simd/record/recorder.h"

namespace loom::recorder {

// One call of a kernel. While it lives, what lanes do on this thread belongs to it; one at a time.
class Trace {
 public:
  // The biased exponent of numbers that stand for values: traced() says which.
  explicit Trace(std::uint32_t exponent);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // A pointer to kLanes elements, to read and to write, for the kernel alone. Operands k, k + 1, ... are contiguous.
  // A single number that a kernel reads is load_K(0) to load_K(15), whatever i is.
  static constexpr std::size_t kMaxOperands = 32;
  float* operand(std::size_t k);
  // A number that is known when the shader runs: param(k).
  float number(std::size_t k);
  // The number of elements with which a kernel goes once through its loops.
  static constexpr std::size_t n() { return kLanes; }

  std::string statements() const;
  std::string function(std::string_view name) const;

 private:
  friend Node constant(std::int32_t x);
  friend Node constant(float x);
  friend float number_of(Node node);
  friend Node operation(Kind kind, const char* form, Node a, Node b, Node c);
  friend Kind kind_of(Node node);
  friend Node load(const void* p);
  friend void store(void* p, Node node);

  enum class Leaf : std::uint8_t { None, Constant, Load, Element /* of an operand */, Param };
  struct Value {
    Leaf leaf;
    Kind kind;
    std::string_view form;  // of an operation
    std::array<Node, 3> operands;
    std::uint32_t bits;  // of a constant; the number of an operand, of an element or of a parameter
    auto operator<=>(const Value&) const = default;
  };
  static Value leaf(Leaf leaf, Kind kind, std::uint32_t bits) { return {leaf, kind, {}, {kNone, kNone, kNone}, bits}; }
  struct Text;  // of the values that a result needs

  Node add(const Value& value);
  bool is_operand(const void* p) const;

  const std::uint32_t tag_;
  alignas(64) float memory_[kMaxOperands][kLanes];
  std::vector<Value> values_;
  std::map<Value, Node> known_;
  std::map<const void*, Node> stored_;   // at an address, by the kernel or as what an operand holds
  std::map<std::size_t, Node> results_;  // by operand
};

// Calls twice, and the kernel may not tell the calls apart. Numbers that are known when the shader runs are very large
// in one and very small in the other: whatever comes of computing with one outside of lanes, or of comparing one with
// anything but zero, shows as a difference.
std::string traced(const std::function<void(Trace&)>& call);
// Traces the call as a function of the operands that it reads, which returns the one that it writes.
std::string traced_function(std::string_view name, const std::function<void(Trace&)>& call);

}  // namespace loom::recorder
