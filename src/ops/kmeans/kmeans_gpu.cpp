#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "core/checked.h"
#include "ops/kmeans/kmeans_gpu.h"
#include "ops/kmeans/kmeans_center_gradient.wgsl.h"
#include "ops/kmeans/kmeans_input_gradient.wgsl.h"
#include "ops/kmeans/kmeans_scores.wgsl.h"

namespace loom::gpu {

void kmeans_scores(const Exec& exec, ConstTensor x, const void* centers, double t2, Tensor l) {
  static const std::string body = joined({wgsl::lanes, wgsl::kmeans_scores});
  exec.gpu()->record(exec,
                     Kernel("kmeans_scores", body, GpuDevice::kRowThreads)
                         .reads("x", x.data)
                         .reads("centers", centers)
                         .writes("l", l.data)
                         .number("cols", x.cols)
                         .number("clusters", l.cols)
                         .number("twice_t2", 2 * static_cast<float>(t2)),
                     x.rows * l.cols);
}

void kmeans_input_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, double t2, Tensor dx) {
  const std::size_t elements = x.rows * x.cols;
  exec.gpu()->record(exec,
                     Kernel("kmeans_input_gradient", wgsl::kmeans_input_gradient)
                         .reads("x", x.data)
                         .reads("centers", centers)
                         .reads("u", u.data)
                         .writes("dx", dx.data)
                         .number("elements", elements)
                         .number("cols", x.cols)
                         .number("clusters", u.cols)
                         .number("t2", static_cast<float>(t2)),
                     ceil_div(elements, Kernel::kThreads));
}

void kmeans_center_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, ConstTensor a,
                            ConstTensor g, double t2, std::size_t block, void* dcenters) {
  const bool with_values = a.data != nullptr;
  const std::size_t elements = u.cols * x.cols;
  exec.gpu()->record(exec,
                     Kernel("kmeans_center_gradient", wgsl::kmeans_center_gradient)
                         .reads("x", x.data)
                         .reads("centers", centers)
                         .reads("u", u.data)
                         .reads("a", with_values ? a.data : u.data)
                         .reads("g", with_values ? g.data : x.data)
                         .updates("dc", dcenters)
                         .number("elements", elements)
                         .number("rows", x.rows)
                         .number("block_rows", std::min(block, x.rows))
                         .number("cols", x.cols)
                         .number("clusters", u.cols)
                         .number("t2", static_cast<float>(t2))
                         .fixed("with_values", with_values),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
