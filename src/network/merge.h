#pragma once
// These functions join the output of another cell to the input of a cell that it feeds (engine V-22), for links of a
// forward pass and of the step mesh alike.

#include "layers/share/share.h"

namespace loom {

// Input shape of the operation after merging; ShapeMismatch where the two do not fit.
Result<Shape> merged_shape(Merge merge, const Shape& input, const Shape& fed);
// y = both together, of merged_shape(). Not for Replace and None, where one of the two is y.
void merge_inputs(const Exec& exec, Merge merge, const ConstView& input, const ConstView& fed, const View& y);

// The gradient of what was read, to those it came from: to_input(d) and to_fed(d), each called where it has a part.
// `input_cols` counts with Concat. The parts are gone afterwards.
template <class ToInput, class ToFed>
void split_gradient(const Exec& exec, Merge merge, const ConstTensor& d, std::size_t input_cols, ToInput&& to_input,
                    ToFed&& to_fed);

// Columns [begin, begin + cols) of d, in the arena.
Tensor columns_of(const Exec& exec, const ConstTensor& d, std::size_t begin, std::size_t cols);

template <class ToInput, class ToFed>
void split_gradient(const Exec& exec, Merge merge, const ConstTensor& d, std::size_t input_cols, ToInput&& to_input,
                    ToFed&& to_fed) {
  if (merge == Merge::Concat) {
    const ArenaScope scope(exec.arena);
    to_input(ConstTensor(columns_of(exec, d, 0, input_cols)));
    to_fed(ConstTensor(columns_of(exec, d, input_cols, d.cols - input_cols)));
    return;
  }
  if (merge != Merge::Replace) to_input(d);
  if (merge != Merge::None) to_fed(d);
}

}  // namespace loom
