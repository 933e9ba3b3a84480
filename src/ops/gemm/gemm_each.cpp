#include "ops/gemm/gemm_each.h"

#include "ops/dispatch.h"
#include "ops/gemm/gemm_gpu.h"
#include "ops/until_cancelled.h"

namespace loom {
namespace {

Operand matrix(const Operands& all, std::size_t i, Element element) {
  Operand one = all.first;
  one.data = static_cast<const std::byte*>(one.data) + i * all.step * bytes_of(element);
  return one;
}

}  // namespace

void gemm_each(const Exec& exec, const Operands& a, const Operands& b, std::size_t count, std::size_t k, Tensor c) {
  LOOM_ASSERT(count != 0 && c.rows % count == 0);
  const std::size_t m = c.rows / count, n = c.cols;
  for (const Exec& host : dispatch(exec, [&] {
         gpu::EachGemm each;
         each.a = a.first, each.of_a.step = a.step, each.b = b.first, each.of_b.step = b.step;
         each.c = c.data, each.c_stride = n, each.of_c.step = m * n;
         each.m = m, each.n = n, each.k = k, each.count = each.inner = count;
         gpu::gemm_of_each(exec, each);
       })) {
    const std::size_t rehearsed = host.rehearsal() ? 1 : count;  // each takes the same memory
    for (std::size_t i = 0; i < rehearsed && !is_cancelled(host); ++i) {
      const ArenaScope scope(host.arena);
      auto* const to = static_cast<std::byte*>(c.data) + i * m * n * bytes_of(c.element);
      gemm(host, matrix(a, i, c.element), matrix(b, i, c.element), k, {to, m, n, c.element});
    }
    keep_cancel(host);
  }
}

}  // namespace loom
