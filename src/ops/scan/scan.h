#pragma once
// The selective scan of S6 (Gu & Dao 2023, arXiv 2312.00752, section 3.2): D channels with N states each, whose step
// sizes dt and projections b, c change with the input. Of every sample, step by step:
//   h[n, d] = exp(dt[d] a[n, d]) h[n, d] + dt[d] x[d] b[n]        a held over the step exactly, b by Euler's rule
//   y[d] = sum_n c[n] h[n, d] + skip[d] x[d]
// x, dt, y [B * T, D], b, c [B * T, N], a [N, D] below 0, skip [D], states [B, N * D]: the channels of one n are
// contiguous, as lanes are.
//
// Sums over n are one chain, ascending. Sums over channels fold sixteen of them as lanes16 does and add the blocks in
// one chain, ascending. Sums over the steps of a sample are one chain from its last step to its first. Snapped: dt x,
// dt a, its exp, at every step h, its gradient and what a_log's has come to, a product before it meets a third factor,
// every total, and what is stored. A step past a sample's length gives 0 and leaves the state as it is.

#include "backend/exec.h"

namespace loom {

struct ScanShape {
  std::size_t batch = 0, steps = 0, channels = 0, states = 0;
  const std::size_t* lengths = nullptr;  // [B], or null: all steps are valid
  std::size_t length(std::size_t b) const { return lengths == nullptr ? steps : lengths[b]; }
};

struct Scan {
  ScanShape shape;
  ConstTensor x, dt, b, c;
  const void* a = nullptr;
  const void* skip = nullptr;
};

// a[n, d] = -exp(a_log[d, n]).
void scan_rates(const Exec& exec, const void* a_log, const ScanShape& shape, Element element, void* a);

// h is the state before the first step and becomes that after the last. `before` [B * T, N * D] keeps the state before
// each step; without data nothing is kept.
void selective_scan(const Exec& exec, const Scan& scan, Tensor h, Tensor before, Tensor y);

struct ScanGradients {
  Tensor dx, ddt;  // [B * T, D]
  Tensor db, dc;   // [B * T, N]
  Tensor da_log;   // [B, D * N], of each sample by itself
  Tensor dskip;    // [B, D], likewise
};
// Writes the gradients of a scan that kept `before`. No gradient leaves through the first state.
void selective_scan_backward(const Exec& exec, const Scan& scan, ConstTensor before, ConstTensor dy,
                             const ScanGradients& to);

// Target propagation: with dt, b and c fixed y is linear in x, y_t = sum_s K_ts x_s. d_s = sum_t K_ts e_t, and reads_s
// = sum_t of the sizes of the paths that K_ts adds, one through every n and the skip. The sum of |K_ts| itself would
// need every pair of steps; this one is another scan backwards, with |b|, |c|, |skip| and ones, and is the same where
// no two paths cancel.
void selective_scan_gap(const Exec& exec, const Scan& scan, ConstTensor e, Tensor d, Tensor reads, Tensor dskip);

template <class T>
struct ScanKernels {
  void (*rates)(std::size_t n, T* a);  // a = -exp(a)
  // Channels [first, first + count) of sample b, at most sixteen.
  void (*forward)(const Scan& scan, std::size_t b, std::size_t first, std::size_t count, const Tensor& h,
                  const Tensor& before, const Tensor& y);
  // carry, da [B, N * D] begin as 0; parts_b, parts_c [B * T, N] take the sums over these channels.
  void (*backward)(const Scan& scan, std::size_t b, std::size_t first, std::size_t count, const ConstTensor& before,
                   const ConstTensor& dy, const Tensor& carry, const Tensor& da, T* parts_b, T* parts_c,
                   const ScanGradients& to);
  // carry, paths [B, N * D] begin as 0.
  void (*gap)(const Scan& scan, std::size_t b, std::size_t first, std::size_t count, const ConstTensor& e,
              const Tensor& carry, const Tensor& paths, const Tensor& d, const Tensor& reads, const Tensor& dskip);
  // y[i] = the sum of parts[k * stride + i] over k < blocks.
  void (*add_parts)(const T* parts, std::size_t blocks, std::size_t stride, std::size_t n, T* y);
};

}  // namespace loom
