#pragma once
// Which element of a row is the greatest: the next token of a language model that writes without chance.

#include <span>

#include "backend/exec.h"

namespace loom {

// The choice of a row in which an element is not finite.
inline constexpr std::int32_t kNoChoice = -1;

// ids[r] = the column of the greatest element of row r that is not `banned`, the lowest one on ties, where -0 equals
// +0; 0 where all are banned. On a device the ids are in its memory. The banned columns are in host memory; those
// outside of a row ban nothing.
void choose(const Exec& exec, ConstTensor x, std::span<const std::int32_t> banned, std::span<std::int32_t> ids);

template <class T>
struct ChoiceKernels {
  std::int32_t (*greatest)(const T* x, std::size_t n, const std::int32_t* banned, std::size_t num_banned);
};

}  // namespace loom
