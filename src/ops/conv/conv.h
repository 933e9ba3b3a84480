#pragma once
// Convolutions of planes in f32 and f64, without a matrix of patches: vectorised over sixteen output positions, and
// weight (c, k) is broadcast; its inputs are at one offset from the positions (ops/unfold). The bits are those of
// unfold() and a product of matrices.

#include "ops/unfold/unfold.h"

namespace loom {

struct ConvSizes {
  std::size_t samples = 1, groups = 1;
  std::size_t channels = 1, filters = 1;  // of one group
};

// y[b, f, o] = snap(chain64 over (c, k) of w[f, c, k] patch[o, (c, k)]), then snap(+ bias[f]) where there is one.
//   x [samples, groups * channels, in...], w [groups * filters, channels, taps], y [samples, groups * filters,
//     positions]
void convolve(const Exec& exec, const PatchLayout& layout, const ConvSizes& sizes, const void* x, const void* w,
              const void* bias, void* y, Element element);

// The weight as the reversed convolution reads it: to[g, c, f, k] = w[g, f, c, k].
void reverse_weight(const Exec& exec, const ConvSizes& sizes, std::size_t taps, const void* w, void* to,
                    Element element);

// d[g, f, (c, k)] += sum over (b, o) of g[b, f, o] patch[b, o, (c, k)]: chain64 over the positions of sixteen samples,
// each block's total added and snapped, ascending (numerics N-05). With `reversed` d is laid out as [g, c, f, k]: the
// gradient of a transposed convolution, for which x and g have changed places. `d_bias`, if not null, as from
// convolve_bias_gradient() over g.
void convolve_weight_gradient(const Exec& exec, const PatchLayout& layout, const ConvSizes& sizes, const void* x,
                              const void* g, bool reversed, void* d, void* d_bias, Element element);

// d[c] += sum over (b, o) of g[b, c, o], in the same order.
void convolve_bias_gradient(const Exec& exec, std::size_t samples, std::size_t channels, std::size_t positions,
                            const void* g, void* d, Element element);

// ---- kernel side ----

// Tiles that go together where there are many filters: they share a pass over the weights, which come from beyond the
// first-level cache.
inline constexpr std::size_t kManyFilterTiles = 4;

// Sixteen outputs of a row of positions, of which the first `skip` belong to another tile.
template <class T>
struct ConvTile {
  const T* from;   // position 0 of the tile in stored channel 0
  std::size_t to;  // its index in a plane of y
  std::size_t skip;
  std::size_t count;  // lanes that exist
};
template <class T>
struct ConvTask {
  const std::size_t* offsets;  // of the k terms
  const std::size_t* ends;     // of the blocks of their chain
  std::size_t blocks;
  const T* w;     // [filters, k]
  const T* bias;  // or null
  std::size_t filters, k;
  T* y;
  std::size_t positions;  // from one filter's plane of y to the next
};
// Positions that follow each other in a stored plane and in the block's rows.
struct ConvRun {
  std::size_t from, count;
  bool ends_block;  // of kChain
};
template <class T>
struct ConvGradientTask {
  const T* x;                  // stored planes, or with `lanewise` [position][16 channels]
  const T* g;                  // [row][16 filters]
  const std::size_t* offsets;  // of the columns
  const ConvRun* runs;
  std::size_t num_runs;
  T* total;       // [column][16]
  bool lanewise;  // depthwise: lane j of x meets lane j of g
};
// One filter of a depthwise convolution over a stored plane, its steps 1 and its rows at least sixteen wide.
template <class T>
struct DepthwiseTask {
  const T* x;  // what tap 0 of the first position meets
  std::size_t pitch;
  const T* w;     // [kernel_rows, kernel_cols], at most kChain taps
  const T* bias;  // or null
  std::size_t kernel_rows, kernel_cols;
  T* y;  // [rows, width]
  std::size_t rows, width;
};
template <class T>
struct ConvKernels {
  std::size_t tile;  // filters times tiles that go together
  void (*tiles)(const ConvTask<T>&, const ConvTile<T>* tiles, std::size_t n);
  // Kernels of 3 and of 5 rows.
  void (*depthwise)(const DepthwiseTask<T>&);
  // to[k][16]: what 16 positions see of each term; `rows` says where each lane starts.
  void (*gather)(const T* x, const std::size_t* offsets, std::size_t k, const std::size_t* starts, std::size_t lanes,
                 T* to);
  // total += over the runs, columns [begin, end).
  void (*gradient)(const ConvGradientTask<T>&, std::size_t begin, std::size_t end);
  // to[r][16] = planes[j * stride + r], +0 for j >= n.
  void (*interleave)(const T* planes, std::size_t stride, std::size_t n, std::size_t rows, T* to);
  // total[16] = chain64 over rows [row][16].
  void (*sum_rows)(const T* x, std::size_t rows, T* total);
  // to[i * stride] = snap(to[i * stride] + total[i]).
  void (*add_total)(const T* total, std::size_t n, std::size_t stride, T* to);
};

}  // namespace loom
