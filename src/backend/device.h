#pragma once
// Where the tensors of a session lie and its ops run. Without a device that is this computer. On a device the host must not touch tensors inside a
// pass: ops record what is to be done (Exec::computes()), and results are read when the pass has ended.

#include "backend/exec.h"

namespace loom {

class Device {
 public:
  virtual ~Device() = default;
  // OutOfMemory when the device cannot give as much.
  virtual Result<Arena> arena(const Arena::Mark& bytes) = 0;
};

}  // namespace loom
