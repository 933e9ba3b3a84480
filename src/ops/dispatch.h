#pragma once
// Runs an op where its tensors are. The front of an op is a loop that runs once at most:
//   for (const Exec& host : dispatch(exec, [&] { gpu::softmax(exec, x, p); }))
//     with_element(x.element, [&]<class T>() { ... kernels of host ... });
// On a graphics card the form records the op's kernels; elsewhere, and while a shader is on trial (gpu::Call), the loop
// calls the kernels of the host.

#include "backend/webgpu/call.h"

namespace loom {

template <class F>
[[nodiscard]] gpu::Call dispatch(const Exec& exec, F&& form) {
  return gpu::Call(exec, form);
}

}  // namespace loom
