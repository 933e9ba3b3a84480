#pragma once
// Tensors, by their shapes, and ops that a custom kind's callback requested for one shape of the input. Passes run the
// recording without code of the host program.

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
    Alias,      // its output shares the memory of its input
  };
  struct Op {
    Effect effect = Effect::None;
    std::vector<Index> ins, outs;
    std::function<void(const Run& run, View* tensors)> run;
  };

  std::vector<Shape> shapes;  // of the tensors; the first is what came in
  std::vector<Op> ops;
  std::vector<Index> kept;  // forward: for backward; backward: their indices in this recording
  Index result = 0;
  bool joins_rows = false;  // steps after the valid ones of a sample would affect them
  // Mark the tensors and ops that are needed. Forward: [0] without a tape, [1] with the kept tensors. Backward: [0] for
  // the gradients of weights alone, [1] for the result too.
  std::vector<bool> needed[2], runs[2];

  // Arena memory that a pass takes, as measured for an Exec like this.
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

  // Fills in `needed` and `runs`, once all ops are recorded.
  void settle(bool forward);
  // Runs the ops of that column. Tensors from outside have data, and so has the result where it counts; all other
  // tensors that are needed are taken from the arena.
  void run(const Run& run, View* tensors, bool whole) const;
};

}  // namespace loom
