#pragma once
// Low-rank adapters (Hu et al. 2021; engine 3.15): y += (alpha / rank) B (A x) beside any matrix W [out, in] of any
// kind, A [rank, in], B [out, rank], f32 (f64 with float64), in list order. Order of sums: h = A x and u = B h by
// chain64, then y = snap(y + scale u). Kinds that read their matrix as values (convolutions in floats, kmeans) meet
// snap(W + B (scale A)).

#include <algorithm>

#include "layers/layer.h"

namespace loom {

// Gives layer.common.adapters to the weights they name, after build(); freezes the layer's own weights if freeze_base
// says so. InvalidConfig for a rank of 0, a name that is taken or has other characters than [A-Za-z0-9_-], a weight
// that is not named although there are several; UnknownName for a weight that is no matrix of the layer.
Result<void> attach_adapters(Layer& layer);
// Like `attach_adapters()`, for one adapter of one matrix; an empty name becomes "lora0", "lora1"...
Result<void> attach_adapter(Weight& matrix, const AdapterConfig& config);
// Returns whether adapters can have this name: 1 to 64 of [A-Za-z0-9_-].
bool is_adapter_name(std::string_view name);
// Adds (alpha / rank) B A of every enabled adapter of the layer to its matrix's master and removes it; what was frozen
// is trained again. The masters and the layer's settings change, its children stay. InvalidState for a weight without a
// value or one that is tied.
Result<void> merge_adapters(Layer& layer);

// Returns whether an adapter counts: where no names are given it is enabled, else one of them.
inline bool counts(const Adapter& adapter, const std::vector<std::string>* names) {
  return names == nullptr ? adapter.enabled : std::ranges::find(*names, adapter.name) != names->end();
}
// Returns whether any adapter of the weight counts.
inline bool is_adapted(const Weight& weight, const std::vector<std::string>* names = nullptr) {
  return std::ranges::any_of(weight.adapters(), [&](const Adapter& a) { return counts(a, names); });
}

// y += what the adapters that count in this call give for x; rows of part `part` of the weight.
void adapt(const Run& run, ConstTensor x, const Weight& weight, std::size_t part, Tensor y);
// Adds to the gradients of the adapters, in blocks of `block` rows (numerics N-05), and to dx, which may have no data.
void adapt_backward(const Run& run, ConstTensor x, const Weight& weight, ConstTensor dy, Tensor dx, std::size_t block);

// Like `adapt()`, for a table of which rows are taken: y[r] += factor * scale * B[ids[r]] A.
void adapt_rows(const Run& run, const Weight& table, std::span<const std::int32_t> ids, double factor, Tensor y);
void adapt_rows_backward(const Run& run, const Weight& table, std::span<const std::int32_t> ids, double factor,
                         ConstTensor dy, std::size_t block);

// W + sum of B (scale A), row-major: the weight's own values where nothing is added, else in the arena.
template <class T>
const T* adapted_values(const Run& run, const Weight& weight);
// From the gradient of those values: dB += scale dW A^T, dA += scale B^T dW. Call it once per block of samples.
void adapter_gradients(const Run& run, const Weight& weight, ConstTensor dw);

// f(first, count) for each run of `block` of n items.
template <class F>
void each_run(std::size_t n, std::size_t block, F&& f) {
  for (std::size_t first = 0; first < n; first += block) f(first, std::min(block, n - first));
}

}  // namespace loom
