#include "ops/scan/scan.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/scan/scan_gpu.h"
#include "ops/slices/slices.h"

namespace loom {
namespace {

constexpr std::size_t kBlock = 16;  // channels that lanes hold
// One state of one channel in one step, an exp above all, costs about as much as this many plain elements.
constexpr std::size_t kStateCost = 8;

std::size_t blocks_of(const ScanShape& s) { return (s.channels + kBlock - 1) / kBlock; }

// f(b, block, first channel, channels) for the blocks of every sample.
template <class F>
void for_blocks(const Exec& exec, const ScanShape& s, F&& f) {
  const std::size_t blocks = blocks_of(s);
  for_ranges(exec, s.batch * blocks, s.steps * s.states * kBlock * kStateCost, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t first = i % blocks * kBlock;
      f(i / blocks, i % blocks, first, s.channels - first < kBlock ? s.channels - first : kBlock);
    }
  });
}

Tensor zeros_of(const Exec& exec, std::size_t rows, std::size_t cols, Element element) {
  const Tensor t = exec.arena.tensor(rows, cols, element);
  fill_zero(exec, t);
  return t;
}

// y = the sum over blocks of `parts` [blocks, B * T, N], to which each block of channels wrote its own share.
void add_blocks(const Exec& exec, const ScanShape& s, const Tensor& parts, Tensor y) {
  with_element(y.element, [&]<class T>() {
    for_elements(exec, y.rows * y.cols, [&](std::size_t at, std::size_t n) {
      exec.kernels.scan.of<T>().add_parts(parts.as<T>() + at, blocks_of(s), y.rows * y.cols, n, y.as<T>() + at);
    });
  });
}

}  // namespace

void scan_rates(const Exec& exec, const void* a_log, const ScanShape& s, Element element, void* a) {
  for (const Exec& host : dispatch(exec, [&] { gpu::scan_rates(exec, a_log, s, a); }))
    with_element(element, [&]<class T>() {
      for_rows(host, s.states, s.channels * kStateCost, [&](std::size_t n) {
        T* const row = static_cast<T*>(a) + n * s.channels;
        host.kernels.slices.of<T>().move({1, s.channels}, static_cast<const T*>(a_log) + n, {.step = s.states}, row,
                                         {});
        host.kernels.scan.of<T>().rates(s.channels, row);
      });
    });
}

void selective_scan(const Exec& exec, const Scan& scan, Tensor h, Tensor before, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::selective_scan(exec, scan, h, before, y); }))
    with_element(y.element, [&]<class T>() {
      for_blocks(host, scan.shape, [&](std::size_t b, std::size_t, std::size_t first, std::size_t count) {
        host.kernels.scan.of<T>().forward(scan, b, first, count, h, before, y);
      });
    });
}

void selective_scan_backward(const Exec& exec, const Scan& scan, ConstTensor before, ConstTensor dy,
                             const ScanGradients& to) {
  for (const Exec& host : dispatch(exec, [&] { gpu::selective_scan_backward(exec, scan, before, dy, to); })) {
    const ScanShape& s = scan.shape;
    const std::size_t rows = s.batch * s.steps;
    const ArenaScope scope(host.arena);
    const Tensor carry = zeros_of(host, s.batch, s.states * s.channels, dy.element),
                 da = zeros_of(host, s.batch, s.states * s.channels, dy.element);
    const Tensor parts_b = host.arena.tensor(blocks_of(s) * rows, s.states, dy.element),
                 parts_c = host.arena.tensor(parts_b.rows, s.states, dy.element);
    with_element(dy.element, [&]<class T>() {
      for_blocks(host, s, [&](std::size_t b, std::size_t block, std::size_t first, std::size_t count) {
        host.kernels.scan.of<T>().backward(scan, b, first, count, before, dy, carry, da, parts_b.row<T>(block * rows),
                                           parts_c.row<T>(block * rows), to);
        host.kernels.slices.of<T>().move({count, s.states}, da.row<T>(b) + first, {.stride = 1, .step = s.channels},
                                         to.da_log.row<T>(b) + first * s.states, {.stride = s.states});
      });
    });
    add_blocks(host, s, parts_b, to.db);
    add_blocks(host, s, parts_c, to.dc);
  }
}

void selective_scan_gap(const Exec& exec, const Scan& scan, ConstTensor e, Tensor d, Tensor reads, Tensor dskip) {
  for (const Exec& host : dispatch(exec, [&] { gpu::selective_scan_gap(exec, scan, e, d, reads, dskip); })) {
    const ArenaScope scope(host.arena);
    const std::size_t states = scan.shape.states * scan.shape.channels;
    const Tensor carry = zeros_of(host, scan.shape.batch, states, e.element),
                 paths = zeros_of(host, scan.shape.batch, states, e.element);
    with_element(e.element, [&]<class T>() {
      for_blocks(host, scan.shape, [&](std::size_t b, std::size_t, std::size_t first, std::size_t count) {
        host.kernels.scan.of<T>().gap(scan, b, first, count, e, carry, paths, d, reads, dskip);
      });
    });
  }
}

}  // namespace loom
