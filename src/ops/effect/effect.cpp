#include "ops/effect/effect.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/effect/effect_gpu.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

// f<T>(group, first element) for the groups of y, which are shared out.
template <class F>
void each_effect_group(const Exec& exec, Effect effect, const RandomStream& stream, std::size_t counted, ConstTensor y,
                       ConstTensor m, F&& f) {
  const ArenaScope scope(exec.arena);
  const Tensor gates = exec.arena.tensor(m.rows, m.cols, m.element);
  if (effect == Effect::Gate) activate(exec, Activation::Sigmoid, m, gates);
  const std::size_t n = y.rows * y.cols / m.rows;
  with_element(y.element, [&]<class T>() {
    for_rows(exec, m.rows, n, [&](std::size_t g) {
      f(EffectGroup<T>{.effect = effect,
                       .stream = &stream,
                       .first = counted + g * n,
                       .m = m.row<T>(g),
                       .gate = gates.row<T>(g),
                       .n = n,
                       .columns = m.cols},
        g, g * n);
    });
  });
}

}  // namespace

void apply_effect(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor y0, ConstTensor m, Tensor y,
                  std::size_t counted) {
  for (const Exec& host : dispatch(exec, [&] { gpu::apply_effect(exec, effect, stream, y0, m, y, counted); }))
    each_effect_group(host, effect, stream, counted, y0, m,
                      [&]<class T>(const EffectGroup<T>& group, std::size_t, std::size_t at) {
                        host.kernels.effect.of<T>().apply(group, y0.as<T>() + at, y.as<T>() + at);
                      });
}

void apply_effect_backward(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor dy, ConstTensor y0,
                           ConstTensor m, Tensor dy0, Tensor dm, std::size_t counted) {
  for (const Exec& host : dispatch(exec, [&] {
         gpu::apply_effect_backward(exec, effect, stream, dy, y0, m, dy0, dm, counted);
         if (effect == Effect::Gate) activate_backward(exec, Activation::Sigmoid, m, dm, dm);
       })) {
    each_effect_group(
        host, effect, stream, counted, y0, m, [&]<class T>(const EffectGroup<T>& group, std::size_t g, std::size_t at) {
          host.kernels.effect.of<T>().backward(group, dy.as<T>() + at, y0.as<T>() + at, dy0.as<T>() + at, dm.row<T>(g));
        });
    if (effect == Effect::Gate) activate_backward(host, Activation::Sigmoid, m, dm, dm);
  }
}

}  // namespace loom
