#include "ops/conv/conv.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/checked.h"
#include "ops/all.h"
#include "ops/conv/conv_gpu.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/permute/permute.h"
#include "ops/permute/permute_gpu.h"
#include "ops/slices/slices.h"
#include "ops/until_cancelled.h"
#include "simd/orders.h"

namespace loom {
namespace {

constexpr std::size_t kMaxTile = 16;  // of ConvKernels::tile
// elements of stored planes that are made at a time: they are read from the caches
constexpr std::size_t kStored = 65536;
constexpr std::size_t kMostPitched = 4096;  // positions of a plane that is computed with what lies between its rows
constexpr std::size_t kChunkRows = 256;     // rows of g that stay in the first-level cache while all columns pass

// f(begin, end, worker) over parts of [0, n), as for_ranges_until_cancelled.
template <class F>
void for_ranges_by_worker(const Exec& exec, std::size_t n, std::size_t cost, F&& f) {
  if (!exec.computes() || n == 0) return;
  const std::size_t each = items_per_look(std::min(cost, kElementsPerLook) * 8);
  const auto until_cancelled = [&](std::size_t begin, std::size_t end, int worker) {
    for (; begin < end && !is_cancelled(exec); begin += each) f(begin, std::min(end, begin + each), worker);
  };
  if (n * cost < kWorthSharing || exec.pool.threads() == 1) {
    until_cancelled(0, n, 0);
  } else {
    const std::size_t parts = std::min<std::size_t>(n, static_cast<std::size_t>(exec.pool.threads()) * 4);
    exec.pool.run(parts, [&](std::size_t part, int worker) {
      until_cancelled(part * n / parts, (part + 1) * n / parts, worker);
    });
  }
  keep_cancel(exec);
}

// Direct convolution. A tile is up to 16 positions of y, one per lane; a kernel call computes it for all filters of a
// group, and term (c, k) of every position is at one offset from the tile's first element (PatchLayout).
template <class T>
class Convolution {
 public:
  Convolution(const Exec& exec, const PatchLayout& layout, const ConvSizes& n)
      : exec_(exec), layout_(layout), n_(n), kernels_(exec.kernels.conv.of<T>()), k_(n.channels * layout.taps()) {
    together_ = n.filters > kernels_.tile ? kManyFilterTiles : kernels_.tile / n.filters;
    pitch_ = pitch_of(layout, n.filters <= kernels_.tile);
    // Tiles keep to one row (of 16 positions or more) if 16 divides its width, or if filters are too few for gathering
    // to pay; then the last tile of a row overlaps the one before.
    by_row_ = layout.width() >= kLanes && (layout.width() % kLanes == 0 || n.filters <= kernels_.tile);
    offsets_ = exec.arena.note<std::size_t>(k_);
    gathered_ = exec.arena.note<std::size_t>(k_);
    ends_ = exec.arena.note<std::size_t>(k_);
    buffer_elements_ = pitch_ == 0 ? together_ * k_ * kLanes : n.filters * pitched_positions();
    buffers_ = exec.arena.take<T>(by_row_ ? 0 : static_cast<std::size_t>(exec.pool.threads()) * buffer_elements_);
    exec.run(1, [&](std::size_t) {
      // Blocks of chain64 count the columns of all taps, also those that a phase leaves out, so that a phase sums in
      // the order of the whole.
      layout.write_columns(n.channels, offsets_);
      for (std::size_t i = 0; i < k_; ++i)
        if (i + 1 == k_ || offsets_[i] / kChain != offsets_[i + 1] / kChain) ends_[blocks_++] = i + 1;
      layout.write_offsets(n.channels, offsets_);
      for (std::size_t i = 0; i < k_; ++i) gathered_[i] = i * kLanes;
    });
  }

  void run(const T* x, const T* w, const T* bias, T* y) {
    const std::size_t planes = n_.groups * n_.channels, stored = planes * layout_.plane();
    const std::size_t batch =
        layout_.in_place() ? n_.samples : std::clamp<std::size_t>(kStored / stored, 1, n_.samples);
    T* room = exec_.arena.template take<T>(layout_.in_place() ? 0 : batch * stored);
    for (std::size_t first = 0; first < n_.samples && !is_cancelled(exec_); first += batch) {
      const std::size_t count = std::min(batch, n_.samples - first);
      const T* from = x + first * planes * layout_.input_plane();
      if (!layout_.in_place()) store_planes(exec_, layout_, from, count * planes, element_of<T>, room);
      samples(layout_.in_place() ? from : room, count, w, bias,
              y + first * n_.groups * n_.filters * layout_.positions());
    }
  }

 private:
  // The distance of narrow rows in the stored plane where whole planes are computed at that distance, with what lies
  // between the rows, which costs less than gathering few filters' tiles; else 0.
  static std::size_t pitch_of(const PatchLayout& layout, bool few_filters) {
    if (!few_filters || layout.width() >= kLanes || layout.rows() < 2) return 0;
    const std::size_t pitch = layout.start_of_row(1);
    const bool is_even = layout.start_of_row(layout.rows() - 1) == (layout.rows() - 1) * pitch;
    const std::size_t positions = (layout.rows() - 1) * pitch + layout.width();
    return is_even && positions >= kLanes && positions <= kMostPitched && positions <= 6 * layout.positions() ? pitch
                                                                                                              : 0;
  }
  std::size_t pitched_positions() const { return (layout_.rows() - 1) * pitch_ + layout_.width(); }

  std::size_t units() const {
    return pitch_ != 0 ? 1 : by_row_ ? layout_.rows() : ceil_div(layout_.positions(), kLanes);
  }

  void samples(const T* x, std::size_t count, const T* w, const T* bias, T* y) {
    const std::size_t units_of_plane = units(), unit = pitch_ != 0 ? pitched_positions()
                                                       : by_row_   ? layout_.width()
                                                                   : kLanes;
    const std::size_t cost = k_ * n_.filters * unit / 8 + 1;
    for_ranges_by_worker(
        exec_, count * n_.groups * units_of_plane, cost, [&](std::size_t begin, std::size_t end, int worker) {
          while (begin < end) {
            const std::size_t plane = begin / units_of_plane, group = plane % n_.groups, first = begin % units_of_plane;
            const std::size_t last = std::min(units_of_plane, first + end - begin);
            ConvTask<T> task{offsets_,
                             ends_,
                             blocks_,
                             w + group * n_.filters * k_,
                             bias == nullptr ? nullptr : bias + group * n_.filters,
                             n_.filters,
                             k_,
                             y + plane * n_.filters * layout_.positions(),
                             layout_.positions()};
            const T* from = x + plane * n_.channels * layout_.plane();
            T* const buffer = buffers_ + static_cast<std::size_t>(worker) * buffer_elements_;
            pitch_ != 0 ? pitched(task, from, buffer)
            : by_row_   ? rows(task, from, first, last)
                        : flat(task, from, first, last, buffer);
            begin += last - first;
          }
        });
  }

  // A call of the kernel, or several where it is long: filters and tiles are independent of each other.
  void compute(const ConvTask<T>& task, const ConvTile<T>* tiles, std::size_t n) const {
    if (is_cancelled(exec_)) return;
    if (n * kLanes * n_.filters <= kProductsPerLook / k_) return kernels_.tiles(task, tiles, n);
    const bool is_one = n * kLanes * kernels_.tile > kProductsPerLook / k_;
    const std::size_t tiles_at_once = is_one ? 1 : n, least = is_one ? 1 : kernels_.tile;
    const std::size_t fit = kProductsPerLook / k_ / (tiles_at_once * kLanes),
                      each = std::max(least, fit / kernels_.tile * kernels_.tile);
    for (std::size_t first = 0; first < n; first += tiles_at_once)
      for (std::size_t f = 0; f < n_.filters && !is_cancelled(exec_); f += each) {
        ConvTask<T> part = task;
        part.w += f * k_, part.y += f * task.positions, part.filters = std::min(each, n_.filters - f);
        if (task.bias != nullptr) part.bias += f;
        kernels_.tiles(part, tiles + first, tiles_at_once);
      }
  }

  void rows(const ConvTask<T>& task, const T* x, std::size_t begin, std::size_t end) const {
    std::array<ConvTile<T>, kMaxTile> tiles;
    std::size_t n = 0;
    const std::size_t width = layout_.width();
    for (std::size_t r = begin; r < end; ++r) {
      const T* row = x + layout_.start_of_row(r);
      for (std::size_t at = 0; at < width; at += kLanes) {
        const std::size_t column = std::min(at, width - kLanes);
        tiles[n++] = {row + column, r * width + column, 0, kLanes};
        if (n < together_) continue;
        compute(task, tiles.data(), n);
        n = 0;
      }
    }
    if (n != 0) compute(task, tiles.data(), n);
  }

  // A plane whose rows are too narrow for tiles, as if what lies between them were positions too.
  void pitched(ConvTask<T> task, const T* x, T* buffer) const {
    std::array<ConvTile<T>, kMaxTile> tiles;
    std::size_t n = 0;
    const std::size_t positions = pitched_positions();
    T* const y = std::exchange(task.y, buffer);
    const std::size_t plane = std::exchange(task.positions, positions);
    for (std::size_t at = 0; at < positions; at += kLanes) {
      const std::size_t first = std::min(at, positions - kLanes);
      tiles[n++] = {x + first, first, 0, kLanes};
      if (n < together_ && at + kLanes < positions) continue;
      compute(task, tiles.data(), n);
      n = 0;
    }
    for (std::size_t f = 0; f < n_.filters; ++f)
      exec_.kernels.slices.of<T>().move({layout_.rows(), layout_.width()}, buffer + f * positions, {.stride = pitch_},
                                        y + f * plane, {.stride = layout_.width()});
  }

  // Tiles that read their terms in the same way and go together.
  struct Group {
    const std::size_t* offsets;
    std::array<ConvTile<T>, kMaxTile> tiles;
    std::size_t n = 0;
  };

  // Tiles of 16 consecutive positions, which may cross rows; the lanes of such a tile are not contiguous in x, so its
  // terms are gathered into `buffer`.
  void flat(ConvTask<T> task, const T* x, std::size_t begin, std::size_t end, T* buffer) const {
    Group in_place{offsets_, {}}, gathered{gathered_, {}};
    const std::size_t positions = layout_.positions(), width = layout_.width();
    const auto flush = [&](Group& group) {
      task.offsets = group.offsets;
      if (group.n != 0) compute(task, group.tiles.data(), group.n);
      group.n = 0;
    };
    for (std::size_t unit = begin; unit < end; ++unit) {
      const std::size_t at = unit * kLanes, lanes = std::min(kLanes, positions);
      const std::size_t first = std::min(at, positions - lanes);
      std::size_t row = first / width, column = first % width;
      const bool whole = lanes == kLanes && column + kLanes <= width;
      Group& group = whole ? in_place : gathered;
      ConvTile<T>& tile = group.tiles[group.n];
      tile = {x + layout_.start_of_row(row) + column, first, at - first, lanes};
      if (!whole) {
        std::array<std::size_t, kLanes> starts{};
        std::size_t start = layout_.start_of_row(row);
        for (std::size_t j = 0; j < lanes; ++j) {
          starts[j] = start + column;
          if (++column == width && j + 1 < lanes) column = 0, start = layout_.start_of_row(++row);
        }
        T* const terms = buffer + group.n * k_ * kLanes;
        kernels_.gather(x, offsets_, k_, starts.data(), lanes, terms);
        tile.from = terms;
      }
      if (++group.n == together_) flush(group);
    }
    flush(in_place);
    flush(gathered);
  }

  const Exec& exec_;
  const PatchLayout& layout_;
  const ConvSizes& n_;
  const ConvKernels<T>& kernels_;
  std::size_t k_, together_ = 1, blocks_ = 0, buffer_elements_ = 0, pitch_ = 0;
  bool by_row_ = false;
  std::size_t *offsets_ = nullptr, *gathered_ = nullptr, *ends_ = nullptr;
  T* buffers_ = nullptr;
};

bool is_depthwise(const PatchLayout& layout, const ConvSizes& n) {
  const ConvGeometry& g = layout.geometry();
  const ConvGeometry::Axes ones{1, 1, 1};
  return n.channels == 1 && n.filters == 1 && !g.transposed && g.stride == ones && g.dilation == ones &&
         g.kernel[0] == 1 && (g.kernel[1] == 3 || g.kernel[1] == 5) && g.kernel[2] > 1 && layout.taps() <= kChain &&
         layout.extents()[0] == 1 && layout.rows() == layout.extents()[1] && layout.width() >= kLanes;
}

// Each plane by itself, stored and read while it is in the first-level cache.
template <class T>
void convolve_depthwise(const Exec& exec, const PatchLayout& layout, const ConvSizes& n, const T* x, const T* w,
                        const T* bias, T* y) {
  const std::size_t taps = layout.taps(), positions = layout.positions(), cols = layout.geometry().kernel[2];
  auto* offsets = exec.arena.note<std::size_t>(taps);
  T* room = exec.arena.take<T>(layout.in_place() ? 0 : static_cast<std::size_t>(exec.pool.threads()) * layout.plane());
  exec.run(1, [&](std::size_t) { layout.write_offsets(1, offsets); });
  const StoredPlane stored = layout.stored();
  const auto compute = [&](std::size_t plane, int worker) {
    const T* from = x + plane * layout.input_plane();
    if (!layout.in_place()) {
      T* const to = room + static_cast<std::size_t>(worker) * layout.plane();
      exec.kernels.unfold.of<T>().store(stored, from, to);
      from = to;
    }
    const std::size_t group = plane % n.groups;
    const std::size_t pitch = offsets[cols] - offsets[0], each = items_per_look(taps * layout.width());
    for (std::size_t row = 0; row < layout.rows() && !is_cancelled(exec); row += each)
      exec.kernels.conv.of<T>().depthwise({.x = from + offsets[0] + row * pitch,
                                           .pitch = pitch,
                                           .w = w + group * taps,
                                           .bias = bias == nullptr ? nullptr : bias + group,
                                           .kernel_rows = layout.geometry().kernel[1],
                                           .kernel_cols = cols,
                                           .y = y + plane * positions + row * layout.width(),
                                           .rows = std::min(each, layout.rows() - row),
                                           .width = layout.width()});
  };
  for_ranges_by_worker(exec, n.samples * n.groups, taps * positions / 8 + 1,
                       [&](std::size_t begin, std::size_t end, int worker) {
                         for (std::size_t plane = begin; plane < end; ++plane) compute(plane, worker);
                       });
}

// Transposed convolution with stride: outputs with one remainder of the position by the stride (a phase) use the same
// taps, so each phase is a plain convolution with its columns of w, and its outputs are then scattered into y.
template <class T>
void convolve_phases(const Exec& exec, const PatchLayout& layout, const ConvSizes& n, const T* x, const T* w,
                     const T* bias, T* y) {
  const SlicesKernels<T>& slices = exec.kernels.slices.of<T>();
  const std::size_t filters = n.groups * n.filters, all = n.channels * layout.taps();
  const ConvGeometry::Axes whole = layout.extents(), spread = layout.spread();
  for (std::size_t i = 0; i < layout.phases() && !is_cancelled(exec); ++i) {
    const ArenaScope scope(exec.arena);
    const ConvGeometry::Axes out = layout.phase_extents(i), start = layout.phase_start(i);
    const std::size_t positions = ConvGeometry::product(out);
    if (positions == 0) continue;
    const PatchLayout phase = layout.phase(i);
    const std::size_t k = n.channels * phase.taps();
    auto* columns = exec.arena.note<std::size_t>(k);
    T* kept = exec.arena.take<T>(filters * k);
    T* sums = exec.arena.take<T>(n.samples * filters * positions);
    exec.run(1, [&](std::size_t) { phase.write_columns(n.channels, columns); });
    for_rows_until_cancelled(exec, filters, k, [&](std::size_t f) {
      exec.kernels.unfold.of<T>().patches(w + f * all, columns, 1, k, kept + f * k);
    });
    if (k != 0)
      Convolution<T>(exec, phase, n).run(x, kept, bias, sums);
    else
      for_rows_until_cancelled(exec, n.samples * filters, positions, [&](std::size_t r) {
        T* const to = sums + r * positions;
        if (bias == nullptr) return exec.kernels.elementwise.of<T>().fill(T{0}, positions, to);
        slices.move({1, positions}, bias + r % filters, {.step = 0}, to, {});
      });
    for_rows_until_cancelled(exec, n.samples * filters, positions, [&](std::size_t r) {
      const T* from = sums + r * positions;
      T* plane = y + r * ConvGeometry::product(whole);
      for (std::size_t z = 0; z < out[0]; ++z, from += out[1] * out[2])
        slices.move({out[1], out[2]}, from, {.stride = out[2]},
                    plane + ((start[0] + z * spread[0]) * whole[1] + start[1]) * whole[2] + start[2],
                    {.stride = spread[1] * whole[2], .step = spread[2]});
    });
  }
}

// The rows (sample, position) of up to sixteen samples, cut where a row of positions, a sample or a block of kChain
// ends.
std::size_t write_runs(const PatchLayout& layout, std::size_t samples, std::size_t sample_stride, ConvRun* to) {
  std::size_t n = 0, left = kChain;
  for (std::size_t b = 0; b < samples; ++b)
    for (std::size_t r = 0; r < layout.rows(); ++r) {
      const std::size_t start = b * sample_stride + layout.start_of_row(r);
      for (std::size_t at = 0; at < layout.width();) {
        const std::size_t count = std::min(layout.width() - at, left);
        left -= count;
        to[n++] = {start + at, count, left == 0};
        at += count;
        if (left == 0) left = kChain;
      }
    }
  to[n - 1].ends_block = true;
  return n;
}

// d[f, (c, k)] += chain64 over rows (sample, position) of g[row, f] patch[row, (c, k)]: sixteen filters across lanes;
// in a depthwise convolution sixteen groups.
template <class T>
class WeightGradient {
 public:
  WeightGradient(const Exec& exec, const PatchLayout& layout, const ConvSizes& n)
      : exec_(exec),
        layout_(layout),
        n_(n),
        kernels_(exec.kernels.conv.of<T>()),
        lanewise_(n.channels == 1 && n.filters == 1 && n.groups > 1) {
    columns_ = n.channels * layout.taps();
    planes_ = n.groups * n.channels;
    // Panels of sixteen filters of a group; of a depthwise convolution of sixteen groups.
    panels_ = lanewise_ ? ceil_div(n.groups, kLanes) : n.groups * ceil_div(n.filters, kLanes);
    const std::size_t most = std::min(n.samples, kSampleBlock), rows = most * layout.positions();
    offsets_ = exec.arena.note<std::size_t>(columns_);
    runs_ = exec.arena.note<ConvRun>(most * layout.rows() + rows / kChain + 1);
    g_ = exec.arena.take<T>(panels_ * rows * kLanes);
    stored_ = exec.arena.take<T>(layout.in_place() ? 0 : most * planes_ * layout.plane());
    x_ = exec.arena.take<T>(lanewise_ ? panels_ * most * layout.plane() * kLanes : 0);
    totals_ = exec.arena.take<T>(panels_ * columns_ * kLanes);
    exec.run(1, [&](std::size_t) { layout.write_offsets(n.channels, offsets_); });
  }

  // Adds the gradient of one block of at most kSampleBlock samples.
  void add_block(const T* x, const T* g, std::size_t samples, bool reversed, T* d, T* d_bias) {
    if (!layout_.in_place()) store_planes(exec_, layout_, x, samples * planes_, element_of<T>, stored_);
    const T* stored = layout_.in_place() ? x : stored_;
    const std::size_t positions = layout_.positions(), rows = samples * positions;
    interleave(g, n_.groups * n_.filters, lanewise_ ? n_.groups : n_.filters, positions, samples, g_);
    if (lanewise_) interleave(stored, n_.groups, n_.groups, layout_.plane(), samples, x_);
    std::size_t num_runs = 0;
    exec_.run(1, [&](std::size_t) {
      num_runs = write_runs(layout_, samples, lanewise_ ? layout_.plane() : planes_ * layout_.plane(), runs_);
    });
    const std::size_t tiles = ceil_div(columns_, kernels_.tile);
    for_ranges_until_cancelled(
        exec_, panels_ * tiles, rows * kernels_.tile * 2, [&](std::size_t begin, std::size_t end) {
          while (begin < end) {
            const std::size_t panel = begin / tiles, first = begin % tiles, last = std::min(tiles, first + end - begin);
            columns(stored, samples, panel, first * kernels_.tile, std::min(last * kernels_.tile, columns_), num_runs,
                    reversed, d);
            begin += last - first;
          }
        });
    if (d_bias == nullptr) return;
    for_ranges(exec_, panels_, rows * kLanes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        alignas(64) std::array<T, kLanes> total;
        kernels_.sum_rows(g_ + p * rows * kLanes, rows, total.data());
        kernels_.add_total(total.data(), lanes(p), 1, d_bias + first_filter(p));
      }
    });
  }

 private:
  std::size_t panels_of_group() const { return panels_ / n_.groups; }
  std::size_t lanes(std::size_t panel) const {
    return lanewise_ ? std::min(kLanes, n_.groups - panel * kLanes)
                     : std::min(kLanes, n_.filters - panel % panels_of_group() * kLanes);
  }
  std::size_t first_filter(std::size_t panel) const {
    return lanewise_ ? panel * kLanes : panel / panels_of_group() * n_.filters + panel % panels_of_group() * kLanes;
  }

  // planes [samples, all, n] -> [panel][sample][n][16], panels of up to 16 planes of each run of `of_group`.
  void interleave(const T* planes, std::size_t all, std::size_t of_group, std::size_t n, std::size_t samples, T* to) {
    const std::size_t per_group = ceil_div(of_group, kLanes);
    for_ranges(exec_, all / of_group * per_group * samples, n * kLanes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t panel = i / samples, sample = i % samples, first = panel % per_group * kLanes;
        const T* from = planes + (sample * all + panel / per_group * of_group + first) * n;
        kernels_.interleave(from, n, std::min(kLanes, of_group - first), n, to + i * n * kLanes);
      }
    });
  }

  void columns(const T* stored, std::size_t samples, std::size_t panel, std::size_t begin, std::size_t end,
               std::size_t num_runs, bool reversed, T* d) {
    T* total = totals_ + panel * columns_ * kLanes;
    exec_.kernels.elementwise.of<T>().fill(T{0}, (end - begin) * kLanes, total + begin * kLanes);
    const T* x = lanewise_ ? x_ + panel * samples * layout_.plane() * kLanes
                           : stored + panel / panels_of_group() * n_.channels * layout_.plane();
    const T* g = g_ + panel * samples * layout_.positions() * kLanes;
    for (std::size_t run = 0; run < num_runs;) {
      std::size_t rows = 0, stop = run;
      do rows += runs_[stop++].count;
      while (stop < num_runs && (rows < kChunkRows || !runs_[stop - 1].ends_block));
      if (is_cancelled(exec_)) return;
      kernels_.gradient({x, g, offsets_, runs_ + run, stop - run, total, lanewise_}, begin, end);
      g += rows * kLanes;
      run = stop;
    }
    const std::size_t taps = layout_.taps(), first = first_filter(panel), in_group = lanewise_ ? 0 : first % n_.filters,
                      group = lanewise_ ? 0 : first / n_.filters;
    for (std::size_t c = begin; c < end; ++c) {
      T* to = reversed && !lanewise_ ? d + ((group * n_.channels + c / taps) * n_.filters + in_group) * taps + c % taps
                                     : d + first * columns_ + c;
      kernels_.add_total(total + c * kLanes, lanes(panel), reversed && !lanewise_ ? taps : columns_, to);
    }
  }

  const Exec& exec_;
  const PatchLayout& layout_;
  const ConvSizes& n_;
  const ConvKernels<T>& kernels_;
  bool lanewise_;
  std::size_t columns_ = 0, planes_ = 0, panels_ = 0;
  std::size_t* offsets_ = nullptr;
  ConvRun* runs_ = nullptr;
  T *g_ = nullptr, *stored_ = nullptr, *x_ = nullptr, *totals_ = nullptr;
};

}  // namespace

void convolve(const Exec& exec, const PatchLayout& layout, const ConvSizes& sizes, const void* x, const void* w,
              const void* bias, void* y, Element element) {
  for (const Exec& host : dispatch(exec, [&] { gpu::convolve(exec, layout, sizes, x, w, bias, y); })) {
    const ArenaScope scope(host.arena);
    with_element(element, [&]<class T>() {
      const auto *from = static_cast<const T*>(x), *weights = static_cast<const T*>(w),
                 *offsets = static_cast<const T*>(bias);
      if (is_depthwise(layout, sizes))
        convolve_depthwise<T>(host, layout, sizes, from, weights, offsets, static_cast<T*>(y));
      else if (layout.phases() == 1)
        Convolution<T>(host, layout, sizes).run(from, weights, offsets, static_cast<T*>(y));
      else
        convolve_phases<T>(host, layout, sizes, from, weights, offsets, static_cast<T*>(y));
    });
    keep_cancel(host);
  }
}

void reverse_weight(const Exec& exec, const ConvSizes& n, std::size_t taps, const void* w, void* to, Element element) {
  for (const Exec& host : dispatch(exec, [&] {
         const std::size_t all = n.filters * n.channels * taps;
         gpu::permute(exec, w, std::array{n.groups, n.channels, n.filters, taps},
                      std::array{all, taps, n.channels * taps, std::size_t{1}}, to);
       }))
    with_element(element, [&]<class T>() {
      for_rows(host, n.groups * n.channels, n.filters * taps, [&](std::size_t row) {
        const std::size_t group = row / n.channels, c = row % n.channels;
        const T* from = static_cast<const T*>(w) + (group * n.filters * n.channels + c) * taps;
        host.kernels.slices.of<T>().move({n.filters, taps}, from, {.stride = n.channels * taps},
                                         static_cast<T*>(to) + row * n.filters * taps, {.stride = taps});
      });
    });
}

void convolve_weight_gradient(const Exec& exec, const PatchLayout& layout, const ConvSizes& n, const void* x,
                              const void* g, bool reversed, void* d, void* d_bias, Element element) {
  for (const Exec& host : dispatch(exec, [&] {
         gpu::convolve_weight_gradient(exec, layout, n, x, g, reversed, d);
         if (d_bias != nullptr)
           gpu::convolve_bias_gradient(exec, n.samples, n.groups * n.filters, layout.positions(), g, d_bias);
       })) {
    const ArenaScope scope(host.arena);
    with_element(element, [&]<class T>() {
      WeightGradient<T> gradient(host, layout, n);
      for (std::size_t b = 0; b < n.samples && !is_cancelled(host); b += kSampleBlock)
        gradient.add_block(static_cast<const T*>(x) + b * n.groups * n.channels * layout.input_plane(),
                           static_cast<const T*>(g) + b * n.groups * n.filters * layout.positions(),
                           std::min(kSampleBlock, n.samples - b), reversed, static_cast<T*>(d),
                           static_cast<T*>(d_bias));
    });
    keep_cancel(host);
  }
}

void convolve_bias_gradient(const Exec& exec, std::size_t samples, std::size_t channels, std::size_t positions,
                            const void* g, void* d, Element element) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::convolve_bias_gradient(exec, samples, channels, positions, g, d); })) {
    const ArenaScope scope(host.arena);
    with_element(element, [&]<class T>() {
      const ConvKernels<T>& kernels = host.kernels.conv.of<T>();
      const std::size_t most = std::min(samples, kSampleBlock);
      T* rows = host.arena.take<T>(ceil_div(channels, kLanes) * most * positions * kLanes);
      for_rows(host, ceil_div(channels, kLanes), samples * positions * kLanes, [&](std::size_t panel) {
        const std::size_t lanes = std::min(kLanes, channels - panel * kLanes);
        T* to = rows + panel * most * positions * kLanes;
        for (std::size_t first = 0; first < samples; first += kSampleBlock) {
          const std::size_t count = std::min(kSampleBlock, samples - first);
          for (std::size_t b = 0; b < count; ++b)
            kernels.interleave(static_cast<const T*>(g) + ((first + b) * channels + panel * kLanes) * positions,
                               positions, lanes, positions, to + b * positions * kLanes);
          alignas(64) std::array<T, kLanes> total;
          kernels.sum_rows(to, count * positions, total.data());
          kernels.add_total(total.data(), lanes, 1, static_cast<T*>(d) + panel * kLanes);
        }
      });
    });
  }
}

}  // namespace loom
