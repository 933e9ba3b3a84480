#pragma once
// Effects of a small network on a tensor (engine L-153). y and y0 are cut into as many groups as m [groups, k] has
// rows:
//   gate          y = y0 * sigmoid(m_0)
//   noise         y = snap(y0 + max(0, m_0) * (2 u - 1)), u uniform of the stream by the element's number
//   intervention  where m_0 > 0.5: y_i = m[1 + i mod (k - 1)], i counted within the group
// The gradients are those of these formulas; dots over a group are chain64. A NaN in m_0 adds no noise and intervenes
// nowhere.

#include "backend/exec.h"
#include "core/philox.h"

namespace loom {

enum class Effect : std::uint8_t { None, Gate, Noise, Intervention };

// y may be y0. `stream` serves noise alone, from number `counted` on.
void apply_effect(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor y0, ConstTensor m, Tensor y,
                  std::size_t counted = 0);
// Writes dy0 and dm; dy0 may be dy.
void apply_effect_backward(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor dy, ConstTensor y0,
                           ConstTensor m, Tensor dy0, Tensor dm, std::size_t counted = 0);

template <class T>
struct EffectGroup {
  Effect effect;
  const RandomStream* stream;
  std::uint64_t first;  // number of the group's first element in the stream
  const T *m, *gate;    // m of the group; sigmoid(m_0), for gates alone
  std::size_t n, columns;
};
template <class T>
struct EffectKernels {
  void (*apply)(const EffectGroup<T>& group, const T* y0, T* y);
  // dm of a gate is that of sigmoid(m_0).
  void (*backward)(const EffectGroup<T>& group, const T* dy, const T* y0, T* dy0, T* dm);
};

}  // namespace loom
