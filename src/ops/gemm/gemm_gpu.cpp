#include <algorithm>
#include <span>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/gemm/gemm_gpu.h"
#include "ops/gemm/gemm.wgsl.h"
#include "ops/gemm/lay_out.wgsl.h"
#include "ops/matmul/tiles_gpu.h"
#include "ops/sums/chains_gpu.h"

namespace loom::gpu {

namespace {

constexpr std::size_t kManyTiles = 128;  // that keep a card busy

using Tile = GemmTile;

// Products of matrices of one shape, of whole chains or in chunks of 64 terms (gemm.wgsl).
struct Products {
  EachGemm each;
  Chunks chunks;
  std::size_t panel_words = 0;  // b is stored in panels
  std::size_t half_kind = 0;    // of two numbers in a word (gemm.wgsl)
  const void* bias = nullptr;

  std::size_t tiles(const Tile& tile) const {
    return each.count * ceil_div(each.m, tile.rows()) * ceil_div(each.n, tile.columns());
  }

  void record(const Exec& exec, std::size_t slices, const Tile& tile, void* c, std::size_t into) const {
    Kernel kernel("gemm", wgsl::gemm, static_cast<std::uint32_t>(tile.side * tile.side));
    kernel.reads("a", each.a.data)
        .reads("b", each.b.data)
        .reads("bias", bias == nullptr ? each.a.data : bias)
        .updates("c", c)
        .number("m", each.m)
        .number("n", each.n)
        .number("k", each.k)
        .number("block", chunks.run)
        .number("chunks", chunks.count())
        .number("chunks_of_slice", ceil_div(chunks.count(), slices))
        .number("a_row", each.a.row_stride)
        .number("a_col", each.a.col_stride)
        .number("b_row", each.b.row_stride)
        .number("b_col", each.b.col_stride)
        .number("c_row", slices == 1 ? each.c_stride : each.n)
        .number("inner", each.inner)
        .number("slices", slices)
        .fixed("side", tile.side)
        .fixed("tall", tile.tall)
        .fixed("tiles_in_memory", tile.in_memory(exec.gpu()->adapter().limits.workgroup_bytes))
        .fixed("panel_words", panel_words)
        .fixed("half_kind", half_kind)
        .fixed("has_bias", bias != nullptr)
        .fixed("causal", each.causal)
        .fixed("into", into);
    place(kernel, "a_outer", "a_step", "a_share", each.of_a);
    place(kernel, "b_outer", "b_step", "b_share", each.of_b);
    place(kernel, "c_outer", "c_step", "c_share", each.of_c);
    exec.gpu()->record(exec, kernel, slices * tiles(tile));
  }

  // Whether workgroups may share the chunks of a tile: of long chains, and all of them. A causal product stops before
  // its last chunks.
  bool is_shareable() const {
    constexpr std::size_t kFewChunks = 8;
    return each.into != Into::Partial && each.count == 1 && !each.causal && chunks.count() >= kFewChunks;
  }
  // How many share a tile: of few tiles.
  std::size_t slices(const Tile& tile) const {
    constexpr std::size_t kGroups = 4 * kManyTiles;
    return tiles(tile) >= kManyTiles ? 1 : std::min(chunks.count(), ceil_div(kGroups, tiles(tile)));
  }
  // Rows of c that are few tiles, however few they are.
  std::size_t most_shared_rows() const {
    const std::size_t across = ceil_div(each.n, std::size_t{64});
    return across >= kManyTiles ? 0 : std::min(each.m, 128 * ceil_div(kManyTiles, across));
  }

  // Chunks stay in memory until they are added.
  void record_chunks(const Exec& exec, const Tile& tile, float* parts) const {
    constexpr std::size_t kChunks = 3;
    record(exec, slices(tile), tile, parts, kChunks);
    add_chunks(exec, chunks, parts, each.into == Into::Add, bias, {each.c, each.m, each.n, Element::f32});
  }

  // The largest tile of which there are enough.
  Tile tile(bool shares) const {
    for (const Tile& tile : std::span(kGemmTiles).first(kGemmTiles.size() - 1))
      if ((shares ? slices(tile) : 1) * tiles(tile) >= (tile.tall ? 2 : 1) * kManyTiles &&
          (!tile.tall || each.m > 4 * tile.side))
        return tile;
    return kGemmTiles.back();
  }

  void record(const Exec& exec) const {
    const ArenaScope scope(exec.arena);
    if (is_shareable()) {
      const Tile tile = this->tile(true);
      float* parts = nullptr;
      if (exec.rehearsal())
        parts = take_chunks(exec, chunks.count() * most_shared_rows() * each.n);
      else if (slices(tile) > 1)
        parts = take_chunks(exec, chunks.count() * each.m * each.n);
      if (parts != nullptr && slices(tile) > 1) return record_chunks(exec, tile, parts);
    }
    record(exec, 1, tile(false), each.c, static_cast<std::size_t>(each.into));
  }

 private:
  static void place(Kernel& kernel, std::string_view outer, std::string_view step, std::string_view share,
                    const Batch& batch) {
    kernel.number(outer, batch.outer).number(step, batch.step).number(share, batch.share);
  }
};

EachGemm one_gemm(const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into) {
  return {.a = a, .b = b, .c = c.data, .c_stride = c.cols, .m = c.rows, .n = c.cols, .k = k, .into = into};
}

}  // namespace

void gemm(const Exec& exec, const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into, std::size_t block) {
  Products{one_gemm(a, b, k, c, into), {k, into == Into::Partial ? 0 : block}}.record(exec);
}

void gemm_of_each(const Exec& exec, const EachGemm& products) { Products{products, {products.k, 0}}.record(exec); }

void gemm_panels(const Exec& exec, ConstTensor x, const FloatPanels& w, const void* bias, Tensor y) {
  LOOM_ASSERT(has_float_panels(w.kind));
  Products{.each = one_gemm(Operand::of(x), {w.at, 0, 0}, x.cols, y, Into::Store),
           .chunks = {x.cols, 0},
           .panel_words = w.words,
           .half_kind = w.kind == PanelKind::Float32 ? 0 : static_cast<std::size_t>(w.kind),
           .bias = bias}
      .record(exec);
}

void lay_out(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n, float* rows) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    exec.gpu()->record(exec,
                       Kernel("lay_out", wgsl::lay_out)
                           .reads("from", parts[i].data)
                           .writes("to", rows)
                           .number("first", i * k * n)
                           .number("elements", k * n)
                           .number("cols", n)
                           .number("row_stride", parts[i].row_stride)
                           .number("col_stride", parts[i].col_stride),
                       ceil_div(k * n, Kernel::kThreads));
}

void add_column_sums(const Exec& exec, ConstTensor x, std::size_t block, void* c) {
  add_column_sums(exec, x, nullptr, block, c);
}

}  // namespace loom::gpu
