#pragma once
// The samples of a batch of sequences may have different numbers of valid steps.

#include "layers/layer.h"

namespace loom {

// lengths [batch], or null where all steps are valid; false, and ShapeMismatch or OutOfRange in the run, where those of
// the call do not fit.
inline bool lengths_of(const Run& run, std::string_view kind, std::size_t batch, std::size_t steps,
                       const std::size_t*& lengths) {
  const std::span<const std::size_t> given = run.inputs.lengths;
  lengths = nullptr;
  if (given.empty() || run.rehearsal()) return true;
  if (given.size() != batch) {
    run.exec.status =
        Error{Code::ShapeMismatch, fmt::format("{}: {} lengths for {} samples", kind, given.size(), batch)};
    return false;
  }
  for (std::size_t b = 0; b < batch; ++b)
    if (given[b] > steps) {
      run.exec.status = Error{Code::OutOfRange, fmt::format("{}: length {} of sample {}, the input has {} steps", kind,
                                                            given[b], b, steps)};
      return false;
    }
  lengths = given.data();
  return true;
}

// For kinds that join the steps of a sample and cannot leave some out: steps after the valid ones would affect them.
// Returns true, with Unsupported in the run, where the call gives lengths.
inline bool refuses_lengths(const Run& run, std::string_view kind) {
  if (run.inputs.lengths.empty()) return false;
  run.fail({Code::Unsupported, fmt::format("{}: lengths of samples, whose steps this layer joins", kind)});
  return true;
}
// Like `refuses_lengths()` above, for kinds that join `rows` rows: one row for each sample leaves no steps to leave
// out.
inline bool refuses_lengths(const Run& run, std::string_view kind, std::size_t rows) {
  return rows != run.inputs.lengths.size() && refuses_lengths(run, kind);
}

}  // namespace loom
