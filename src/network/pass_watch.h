#pragma once
// A watch that is told where in a run the layers it sees stand.

#include "layers/layer.h"

namespace loom {

enum class PassKind : std::uint8_t { Forward, Backward, Tick };

class PassWatch : public LayerWatch {
 public:
  // A pass begins; `step` is that of the call (PassExtras::step) or the ticks of the state so far.
  virtual void begin(PassKind kind, std::uint64_t step) = 0;
};

}  // namespace loom
