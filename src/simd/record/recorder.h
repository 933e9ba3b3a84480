#pragma once
// The lanes of the target `record` call these functions to record each operation in a graph of values, from which
// trace.h makes the text of a shader. Included by kernels, so without std containers. Every call belongs to the Trace
// that lives on this thread.

#include <cstdint>

namespace loom::recorder {

using Node = std::uint32_t;
enum class Kind : std::uint8_t { Float, Int, Bool };  // f32, i32, bool of WGSL

inline constexpr Node kZero = 0, kZeroInt = 1;  // the first two of every trace: +0.0 and 0
inline constexpr Node kNone = ~Node{0};

Node constant(std::int32_t x);
// A constant, or the value that the number stands for: number_of() gives numbers that do. They are positive, and can be
// handed on, negated and compared with zero; trace.h finds it out if they are computed with.
Node constant(float x);
float number_of(Node node);

// The value of a WGSL expression in which each $ is an operand; the same expression of the same operands is one value.
Node operation(Kind kind, const char* form, Node a, Node b = kNone, Node c = kNone);
Kind kind_of(Node node);

// Fails: a sum or a maximum of lanes has no form yet.
float across_lanes();

// Memory holds sixteen lanes at an address: an operand of the trace, or the value that the kernel stored last.
Node load(const void* p);
void store(void* p, Node node);

}  // namespace loom::recorder
