#include "ops/effect/effect.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/mix/mix.h"
#include "simd/orders.h"

namespace loom {
namespace {

template <class T>
T noise_at(const RandomStream& stream, std::size_t i) {
  return static_cast<T>(2.0f * stream.uniform(i) - 1.0f);  // exact
}

// f(group, first element, elements of the group); groups are shared out.
template <class F>
void each_effect_group(const Exec& exec, ConstTensor y, ConstTensor m, F&& f) {
  const std::size_t width = y.rows * y.cols / m.rows;
  for_rows(exec, m.rows, width, [&](std::size_t g) { f(g, g * width, width); });
}

}  // namespace

void apply_effect(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor y0, ConstTensor m, Tensor y, std::size_t counted) {
  const ArenaScope scope(exec.arena);
  const Tensor gates = exec.arena.tensor(m.rows, m.cols, m.element);
  if (effect == Effect::Gate) activate(exec, Activation::Sigmoid, m, gates);
  with_element(y.element, [&]<class T>() {
    each_effect_group(exec, y0, m, [&](std::size_t g, std::size_t first, std::size_t n) {
      const T *from = y0.as<T>() + first, *said = m.row<T>(g);
      T* to = y.as<T>() + first;
      const bool plain = !(effect == Effect::Gate || said[0] > (effect == Effect::Noise ? T{0} : T{0.5}));
      if (plain && to != from) std::copy_n(from, n, to);
      if (plain) return;
      if (effect == Effect::Gate) return exec.kernels.elementwise.of<T>().scale(from, static_cast<double>(gates.row<T>(g)[0]), n, to);
      for (std::size_t i = 0; i < n; ++i)
        to[i] = effect == Effect::Noise ? snap(from[i] + said[0] * noise_at<T>(stream, counted + first + i)) : said[1 + i % (m.cols - 1)];
    });
  });
}

void apply_effect_backward(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor dy, ConstTensor y0, ConstTensor m, Tensor dy0,
                           Tensor dm, std::size_t counted) {
  const ArenaScope scope(exec.arena);
  const Tensor gates = exec.arena.tensor(m.rows, m.cols, m.element);
  if (effect == Effect::Gate) activate(exec, Activation::Sigmoid, m, gates);
  with_element(dy.element, [&]<class T>() {
    each_effect_group(exec, y0, m, [&](std::size_t g, std::size_t first, std::size_t n) {
      const T *from = dy.as<T>() + first, *said = m.row<T>(g);
      T *to = dy0.as<T>() + first, *back = dm.row<T>(g);
      std::fill_n(back, m.cols, T{0});
      if (effect == Effect::Gate) {
        back[0] = exec.kernels.mix.of<T>().dot(from, y0.as<T>() + first, n);
        return exec.kernels.elementwise.of<T>().scale(from, static_cast<double>(gates.row<T>(g)[0]), n, to);
      }
      const bool acts = said[0] > (effect == Effect::Noise ? T{0} : T{0.5});
      if (acts && effect == Effect::Noise)
        back[0] = snap(chain64<T>(0, n, [&](std::size_t i) { return from[i] * noise_at<T>(stream, counted + first + i); }));
      if (acts && effect == Effect::Intervention) {
        const std::size_t period = m.cols - 1;
        for (std::size_t j = 0; j < period && j < n; ++j)
          back[1 + j] = snap(chain64<T>(0, (n - j + period - 1) / period, [&](std::size_t i) { return from[j + i * period]; }));
        std::fill_n(to, n, T{0});
      } else if (to != from) {
        std::copy_n(from, n, to);
      }
    });
  });
  if (effect == Effect::Gate) activate_backward(exec, Activation::Sigmoid, m, dm, dm);
}

}  // namespace loom
