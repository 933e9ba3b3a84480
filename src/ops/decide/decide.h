#pragma once
// Truth values on a graphics card, words that are 0 or 1, and operations that they decide. The host keeps truth values
// in another form: the host kernels of this file only check a card's.

#include <span>

#include "ops/formula/formula.h"

namespace loom {

enum class Decision : std::uint8_t {
  Equal,  // of two f32: a NaN is equal to nothing, greater and less than nothing
  Greater,
  Less,
  GreaterOrEqual,
  LessOrEqual,
  IsNan,  // of one f32
  Not,    // of one truth value
  And,    // of two
  Or,
  Xor,
  Choose,  // of a truth value and two of any words: the first one where it is true
};

// y [dims] of inputs that stretch to it, with their strides.
void decide(const Exec& exec, Decision how, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
            void* y);

}  // namespace loom
