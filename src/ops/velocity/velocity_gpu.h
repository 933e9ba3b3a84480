#pragma once
// Forms of velocity.h on graphics cards: each records the kernels of the function of its name.

#include "ops/velocity/velocity.h"

namespace loom::gpu {

void move_rate(const Exec& exec, double base, ConstTensor figures, ConstTensor factor, Tensor rate);
void add_products(const Exec& exec, ConstTensor rate, ConstTensor g, Tensor sum, Tensor moved);
void velocity(const Exec& exec, const VelocityStep& step, ConstTensor rate, ConstTensor g, ConstTensor w, Tensor v,
              Tensor figures, Tensor failed);
void add_velocity(const Exec& exec, ConstTensor rate, ConstTensor figures, ConstTensor failed, ConstTensor v,
                  double limit, Tensor w);
void add_scaled(const Exec& exec, double factor, ConstTensor x, Tensor y);
void add_change(const Exec& exec, ConstTensor before, ConstTensor now, Tensor y);

}  // namespace loom::gpu
