#pragma once
// What a callback of a foreign kind has asked for, for one shape of the input: tensors with their shapes, and ops over
// them. Passes run a recording; the host's code has done its part by then.

#include <cstdint>
#include <functional>
#include <vector>

#include "layers/run.h"

namespace loom {

struct Recording {
  using Index = std::uint32_t;  // of a tensor
  enum class Effect : std::uint8_t {
    None,       // it writes its outputs
    Gradients,  // it adds to gradients of weights, and leaves out an output that nobody needs: it has no data
    Alias,      // its output lies where its input does
  };
  struct Op {
    Effect effect = Effect::None;
    std::vector<Index> ins, outs;
    std::function<void(const Run& run, View* tensors)> run;
  };

  std::vector<Shape> shapes;  // of the tensors; the first is what came in
  std::vector<Op> ops;
  std::vector<Index> kept;  // forward: for backward; backward: the same tensors, here
  Index result = 0;
  bool joins_rows = false;  // what lies behind the valid steps of a sample would reach the others
  // Whether tensors and ops are needed. Forward: [0] without a tape, [1] where what is kept counts. Backward: [0] for
  // the gradients of weights alone, [1] where the result counts too.
  std::vector<bool> needed[2], runs[2];

  // What a pass takes of the arena was found out for an Exec like this.
  struct Room {
    const KernelTable* kernels = nullptr;
    int threads = 0;
    Activations activations{};
    Element element{};
    bool whole = false, learns = false;
    Arena::Mark mark{};
    bool is_of(const Room& o) const {
      return kernels == o.kernels && threads == o.threads && activations == o.activations && element == o.element &&
             whole == o.whole && learns == o.learns;
    }
  };
  mutable Room room{};  // the layer's lock guards it

  // Fills in what is needed, once all ops are there.
  void settle(bool forward);
  // Runs the ops of that column. Tensors that come from outside, and the result where it counts, have data; what else
  // is needed is taken from the arena.
  void run(const Run& run, View* tensors, bool whole) const;
};

}  // namespace loom
