#include "ops/non_finite.h"
#include "ops/update/rules/all.h"
#include "ops/update/update.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
using UpdateKernel = void (*)(const UpdateNumbers<T>&, const UpdateRun<T>&);

template <class T>
constexpr UpdateKernel<T> kUpdates[kNumUpdates] = {
#define LOOM_UPDATE(Rule) Rule::update<T>,
#include "ops/update/rules.inc"
};

// Counts the values that are not finite; v may be null, which counts as none.
template <class T>
LOOM_INLINE std::uint32_t not_finite(const T* v, std::size_t n) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; v != nullptr && i < n; ++i) found += !is_finite(v[i]);
  return found;
}

template <class T>
void try_update(UpdateKind kind, const UpdateNumbers<T>& rule, const TryRun<T>& run) {
  constexpr std::size_t kPiece = 256;
  *run.outcome = 0;
  if (*run.bound <= run.most) return;
  alignas(64) T copies[kUpdateSlots + 1][kPiece];
  std::uint32_t found = 0;
  for (std::size_t first = 0; first < run.count; first += kPiece) {
    const std::size_t n = run.count - first < kPiece ? run.count - first : kPiece;
    UpdateRun<T> piece{copies[kUpdateSlots], run.g + first, {}, n};
    __builtin_memcpy(piece.w, run.w + first, n * sizeof(T));
    for (std::size_t s = 0; s < kUpdateSlots; ++s) {
      if (run.slot[s] == nullptr) continue;
      piece.slot[s] = copies[s];
      __builtin_memcpy(copies[s], run.slot[s] + first, n * sizeof(T));
    }
    kUpdates<T>[static_cast<std::size_t>(kind)](rule, piece);
    found += not_finite(piece.w, n);
    for (const T* slot : piece.slot) found += not_finite(slot, n);
  }
  if (found != 0) *run.outcome = std::numeric_limits<T>::infinity();
}

template <class T>
constexpr UpdateKernels<T> kUpdateKernels = {.update =
                                                 {
#define LOOM_UPDATE(Rule) Rule::update<T>,
#include "ops/update/rules.inc"
                                                 },
                                             .try_update = try_update<T>};

}  // namespace

extern const PerElement<UpdateKernels> update_kernels;
const PerElement<UpdateKernels> update_kernels =
    per_element<PerElement<UpdateKernels>>([]<class T> { return kUpdateKernels<T>; });

}  // namespace loom::inline LOOM_TARGET
