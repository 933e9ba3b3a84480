#include "layers/foreign/recording.h"

#include <algorithm>

namespace loom {

void Recording::settle(bool forward) {
  for (const bool whole : {false, true}) {
    std::vector<bool>& tensors = needed[whole];
    std::vector<bool>& calls = runs[whole];
    tensors.assign(shapes.size(), false), calls.assign(ops.size(), false);
    tensors[result] = forward || whole;
    if (forward && whole)
      for (const Index k : kept) tensors[k] = true;
    for (std::size_t i = ops.size(); i-- > 0;) {
      const Op& op = ops[i];
      calls[i] =
          op.effect == Effect::Gradients || std::ranges::any_of(op.outs, [&](Index out) { return tensors[out]; });
      if (!calls[i]) continue;
      for (const Index in : op.ins) tensors[in] = true;
      if (op.effect != Effect::Gradients)
        for (const Index out : op.outs) tensors[out] = true;
    }
  }
}

void Recording::run(const Run& run, View* tensors, bool whole) const {
  for (std::size_t i = 0; i < ops.size() && !run.exec.status; ++i) {
    if (!runs[whole][i]) continue;
    const Op& op = ops[i];
    if (op.effect == Effect::Alias) {
      op.run(run, tensors);
      continue;
    }
    for (const Index out : op.outs)
      if (needed[whole][out] && tensors[out].data == nullptr)
        tensors[out].data = run.view(tensors[out].shape, tensors[out].element).data;
    const ArenaScope scope(run.arena());
    op.run(run, tensors);
  }
}

}  // namespace loom
