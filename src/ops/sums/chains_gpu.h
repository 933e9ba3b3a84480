#pragma once
// Sums by chain64 on a graphics card that many threads share: each adds a chunk of kChain terms, since those are
// independent of each other, and one more kernel adds the chunks in their order.

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/sums/add_chunks.wgsl.h"
#include "ops/sums/column_sums.wgsl.h"
#include "simd/orders.h"

namespace loom::gpu {

// How terms are cut: into runs of `run`, one chain each, and these into chunks.
struct Chunks {
  std::size_t terms, run;

  Chunks(std::size_t all, std::size_t of_run) : terms(all), run(std::max<std::size_t>(1, of_run == 0 ? all : of_run)) {}
  std::size_t of_run() const { return ceil_div(run, kChain); }
  std::size_t count() const { return terms / run * of_run() + ceil_div(terms % run, kChain); }
};

// Memory for so many sums of chunks; null where they are more than a card should hold of an op. A rehearsal stands for
// every smaller op too, also where its own needs none.
inline float* take_chunks(const Exec& exec, std::size_t elements) {
  constexpr std::size_t kMostElements = std::size_t{1} << 24;
  const std::uint64_t part_of_buffer = exec.gpu()->adapter().limits.binding_bytes / 8;
  const std::size_t most = std::min<std::uint64_t>(kMostElements, part_of_buffer / sizeof(float));
  if (elements > most && !exec.rehearsal()) return nullptr;
  return exec.arena.take<float>(std::min(elements, most));
}

// c [rows, cols] from its chunks, [chunk][rows][cols]; `adds` to what it has, and last a bias, unless it is null.
inline void add_chunks(const Exec& exec, const Chunks& chunks, const float* parts, bool adds, const void* bias,
                       Tensor c) {
  const std::size_t elements = c.rows * c.cols;
  exec.gpu()->record(exec,
                     Kernel("add_chunks", wgsl::add_chunks)
                         .reads("parts", parts)
                         .reads("bias", bias == nullptr ? parts : bias)
                         .updates("c", c.data)
                         .number("m", c.rows)
                         .number("n", c.cols)
                         .number("chunks", chunks.count())
                         .number("chunks_of_run", chunks.of_run())
                         .fixed("has_bias", bias != nullptr)
                         .fixed("into", adds),
                     ceil_div(elements, Kernel::kThreads));
}

// c[cols] = snap(c + sum over the rows of a, or of a b where b is not null) for each run of `block` rows (0: all).
inline void add_column_sums(const Exec& exec, ConstTensor a, const void* b, std::size_t block, void* c) {
  constexpr std::size_t kFewChunks = 8;
  const Chunks chunks(a.rows, block);
  const bool apart = chunks.count() >= kFewChunks;
  const ArenaScope scope(exec.arena);
  float* const parts = apart ? exec.arena.take<float>(chunks.count() * a.cols) : nullptr;
  exec.gpu()->record(exec,
                     Kernel("column_sums", wgsl::column_sums)
                         .reads("a", a.data)
                         .reads("b", b == nullptr ? a.data : b)
                         .updates("c", apart ? parts : c)
                         .number("rows", a.rows)
                         .number("cols", a.cols)
                         .number("block", chunks.run)
                         .number("chunks", chunks.count())
                         .fixed("has_b", b != nullptr)
                         .fixed("apart", apart),
                     ceil_div(apart ? chunks.count() * a.cols : a.cols, Kernel::kThreads));
  if (apart) add_chunks(exec, chunks, parts, true, nullptr, {c, 1, a.cols, Element::f32});
}

}  // namespace loom::gpu
